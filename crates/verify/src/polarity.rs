//! Whether a sentence denies what a text says, or says what the text denies.
//!
//! A sentence is read into its words and its denials: what a negation turns around, how far it reaches, and of what it
//! is said. Two sentences clash where one denies what the other states of the same thing, and no other sentence of the
//! text stands beside it as near. Where a negation can be read in two ways there is no clash: sound sentences pass.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::OnceLock,
};

pub use super::verbatim::opposed;
use super::{
    denial::{Standing, Told},
    verbatim::{Repeats, Wording},
};
use loopwright_base::text::first;
use loopwright_lexicon::{
    lines::Format,
    sentences::{Kind, sentences},
};

/// So much of what is denied must stand in the other sentence.
const MET: f64 = 0.7;
/// So much of what one of them is about must stand in the other.
const SAME_SUBJECT: f64 = 0.6;
/// So much of what stands before `…, not X` must stand in the other sentence.
const BESIDE: f64 = 0.4;
/// So much of a claim must stand in the sentence that it clashes with.
const NEAR: f64 = 0.4;
/// A word in more sentences than these tells nothing apart.
const MOST_SENTENCES: usize = 256;
/// What a number weighs against a word.
const NUMBER: usize = 2;
/// Sentences are shown up to this length.
const SHOWN: usize = 200;

/// The statements of a text.
#[derive(Debug, Default)]
pub struct Statements {
    all: Vec<Told>,
    said: Vec<String>,
    /// Read once they are asked for: few sentences are.
    wordings: Vec<OnceLock<Wording>>,
    holders: HashMap<String, Vec<usize>>,
}

impl Statements {
    /// Reads a text; a question that is answered by yes or no says what its answer makes of it.
    pub fn of_text(text: &str, format: Format) -> Self {
        let mut read = Self::default();
        let mut asked: Option<&str> = None;
        for unit in sentences(text, format) {
            if unit.kind != Kind::Prose {
                asked = None;
                continue;
            }
            let sentence = text.get(unit.bytes).unwrap_or_default();
            let before = asked.take();
            if sentence.trim_end().ends_with('?') {
                asked = Some(sentence);
                continue;
            }
            if let Some(question) = before {
                match first_word(sentence).as_str() {
                    "no" | "nope" => read.add(question, Told::read_denied(question)),
                    "yes" | "yep" | "yeah" => read.add(question, Told::read(question)),
                    _ => {}
                }
            }
            read.add(sentence, Told::read(sentence));
        }
        read
    }

    fn add(&mut self, sentence: &str, told: Option<Told>) {
        let Some(told) = told else { return };
        let at = self.all.len();
        for term in told.terms() {
            if !self.holders.contains_key(term) {
                self.holders.insert(term.to_owned(), Vec::new());
            }
            if let Some(holders) = self.holders.get_mut(term)
                && holders.len() <= MOST_SENTENCES
            {
                holders.push(at);
            }
        }
        self.said.push(sentence.to_owned());
        self.wordings.push(OnceLock::new());
        self.all.push(told);
    }
}

fn first_word(sentence: &str) -> String {
    sentence.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty()).unwrap_or_default().to_lowercase()
}

/// How near the sentences come that speak against a claim and for it, by the word that they turn on.
#[derive(Default)]
struct Weighed<'c, 't> {
    against: usize,
    common: BTreeSet<&'c str>,
    by: &'t str,
    excused: bool,
}

/// The sentence of `texts` that `claim` turns around; `None` if there is none, or one that says the same is as near.
pub fn denied<'a>(claim: &str, texts: &[&'a Statements]) -> Option<&'a str> {
    if claim.trim_end().ends_with('?') {
        return None;
    }
    let wording = Wording::read(claim);
    let claim = Told::read(claim)?;
    let terms = claim.terms();
    if let Some(repeated) = repeated(&wording, &claim, &terms, texts) {
        return repeated;
    }
    let total: usize = terms.iter().map(|term| weight(term)).sum();
    let mut weighed: BTreeMap<&str, Weighed<'_, 'a>> = BTreeMap::new();
    // First what speaks against it, for most claims nothing; then what stands beside it.
    for text in texts {
        for at in text.near(&terms) {
            let Some(said) = text.all.get(at) else { continue };
            let turned = clashes(&claim, said);
            if turned.is_empty() {
                continue;
            }
            let common: BTreeSet<&str> = terms.intersection(&said.terms()).copied().collect();
            let near: usize = common.iter().map(|term| weight(term)).sum();
            if (near as f64) < NEAR * total as f64 {
                continue;
            }
            for term in turned {
                let slot = weighed.entry(term).or_default();
                if near > slot.against {
                    (slot.against, slot.common) = (near, common.clone());
                    slot.by = text.shown(at);
                }
            }
        }
    }
    for (term, slot) in &mut weighed {
        let stands: Vec<Standing> = claim.standings(term).collect();
        let subject = claim.about(term).unwrap_or_default();
        for text in texts {
            for at in text.holders.get(*term).into_iter().flatten() {
                let Some(said) = text.all.get(*at) else { continue };
                let same = said.standings(term).any(|standing| stands.contains(&standing));
                if !same && said.standings(term).all(|standing| standing != Standing::Open) {
                    continue;
                }
                let mut common: BTreeSet<&str> = terms.intersection(&said.terms()).copied().collect();
                if said.begins_with_pronoun && same {
                    common.extend(&subject);
                }
                let near: usize = common.iter().map(|term| weight(term)).sum();
                // What says more of the claim than what speaks against it is what it rests on.
                slot.excused |= near >= slot.against || (same && !common.is_subset(&slot.common));
            }
        }
    }
    weighed.into_values().find(|slot| !slot.excused).map(|slot| slot.by)
}

/// The sentence that a claim repeats word for word but for one turn of meaning; `None` if it repeats none, and nothing
/// inside if it says the same as one, or one that is not the same speaks for it.
#[allow(clippy::option_option, reason = "no repetition, a sound one, a turned one")]
fn repeated<'a>(
    wording: &Wording,
    claim: &Told,
    terms: &BTreeSet<&str>,
    texts: &[&'a Statements],
) -> Option<Option<&'a str>> {
    let mut turned: Option<(&str, &'a str)> = None;
    let mut others: Vec<&Told> = Vec::new();
    for text in texts {
        for at in text.near(terms) {
            let (Some(said), Some(told)) = (text.wording(at), text.all.get(at)) else { continue };
            match wording.repeats(said) {
                Some((Repeats::Same, _)) => return Some(None),
                // Of two things that have opposite names the text may tell the same.
                Some((Repeats::Other, on)) if texts.iter().any(|text| text.holders.contains_key(on)) => {}
                Some((Repeats::Denied | Repeats::Opposite | Repeats::Other, on)) => {
                    turned.get_or_insert((on, text.shown(at)));
                }
                None => others.push(told),
            }
        }
    }
    let (on, by) = turned?;
    // Another sentence may say in other words what the claim says.
    let stands: Vec<Standing> = claim.standings(on).collect();
    let speaks_for =
        |said: &&Told| said.standings(on).any(|standing| stands.contains(&standing)) && terms.is_subset(&said.terms());
    Some(if others.iter().any(speaks_for) { None } else { Some(by) })
}

impl Statements {
    fn shown(&self, at: usize) -> &str {
        first(self.said.get(at).map(String::as_str).unwrap_or_default(), SHOWN)
    }

    fn wording(&self, at: usize) -> Option<&Wording> {
        Some(self.wordings.get(at)?.get_or_init(|| Wording::read(self.said.get(at).map_or("", String::as_str))))
    }

    /// The sentences that hold one of the terms, without those that nearly all do.
    fn near(&self, terms: &BTreeSet<&str>) -> BTreeSet<usize> {
        let holders = |term: &&str| self.holders.get(*term).filter(|holders| holders.len() <= MOST_SENTENCES);
        terms.iter().filter_map(holders).flatten().copied().collect()
    }
}

fn weight(term: &str) -> usize {
    if is_number(term) { NUMBER } else { 1 }
}

fn is_number(term: &str) -> bool {
    term.starts_with(|c: char| c.is_ascii_digit())
}

/// The words on which two sentences clash: denied by one of them, stated by the other.
fn clashes<'a>(claim: &'a Told, said: &'a Told) -> BTreeSet<&'a str> {
    let mut all = one_way(claim, said);
    all.extend(one_way(said, claim));
    all
}

fn one_way<'a>(denying: &'a Told, stating: &'a Told) -> BTreeSet<&'a str> {
    let mut all = BTreeSet::new();
    if denying.denials.is_empty() {
        return all;
    }
    let (held, stated) = (stating.terms(), stating.stated());
    let denied = denying.terms();
    let share = |words: &BTreeSet<&str>, of: &BTreeSet<&str>| {
        if words.is_empty() { 1.0 } else { words.intersection(of).count() as f64 / words.len() as f64 }
    };
    for denial in &denying.denials {
        if denial.duty != stating.duty {
            continue;
        }
        let scope = denying.terms_of(&denial.scope);
        let subject = denying.terms_of(&denial.subject);
        let least = if denial.whole { 1.0 } else { MET };
        if share(&scope, &stated) < least
            || (denial.whole && share(&subject, &held) < 1.0)
            || share(&denying.terms_of(&denial.beside), &held) < BESIDE
            || !denying.exact(denial).is_subset(&held)
        {
            continue;
        }
        for head in denial.heads.iter().filter_map(|at| denying.words.get(*at)) {
            if stating.standing(&head.term) != Standing::Stated {
                continue;
            }
            let same = subject.is_empty()
                || share(&subject, &held) >= SAME_SUBJECT
                || stating.about(&head.term).is_some_and(|about| share(&about, &denied) >= SAME_SUBJECT);
            if same {
                all.insert(head.term.as_str());
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_testing::growth::grows_in_line;

    fn turns(claim: &str, source: &str) -> bool {
        denied(claim, &[&Statements::of_text(source, Format::Markdown)]).is_some()
    }

    #[test]
    fn what_turns_a_source_around_is_denied_by_it() {
        let mut missed = Vec::new();
        for (claim, source) in [
            ("It did not open in 1932.", "The Sydney Harbour Bridge opened in 1932."),
            ("The bridge opened in 1932.", "The bridge did not open in 1932."),
            ("The bridge didn't open in 1932.", "The bridge opened in March 1932 with a parade."),
            ("The bridge didn’t open in 1932.", "The bridge opened in 1932."),
            ("The bridge never opened in 1932.", "The bridge was opened in 1932."),
            ("The tool no longer supports Python 3.9.", "The tool supports Python 3.9 and later."),
            ("The tool supports Python 3.9.", "The tool no longer supports Python 3.9."),
            ("The team failed to win the cup in 1998.", "The team won the cup in 1998."),
            ("The team won the cup in 1998.", "The team failed to win the cup in 1998."),
            ("The mayor denied that the bridge opened in 1932.", "The bridge opened in 1932."),
            ("The bridge opened in 1932.", "Officials denied that the bridge opened in 1932."),
            ("Neither the bridge nor the tunnel opened in 1932.", "The bridge and the tunnel opened in 1932."),
            ("The tunnel opened in 1932.", "Neither the bridge nor the tunnel opened in 1932."),
            ("The method works without a key.", "The method works with a key."),
            ("The method works with a key.", "The method works without a key."),
            ("The cache is not enabled by default.", "By default, the cache is enabled."),
            ("The cache is enabled by default.", "The cache isn't enabled by default."),
            ("No request is retried.", "Each request is retried 3 times."),
            ("Requests are retried 3 times.", "No request is retried."),
            ("The API supports streaming.", "Streaming is not supported by the API."),
            ("The API does not support streaming.", "Streaming is supported by the API."),
            ("It is not true that the bridge opened in 1932.", "The bridge opened in 1932."),
            ("The bridge did not fail to open in 1932.", "The bridge did not open in 1932."),
            ("The bridge opened in 1932.", "In 1932, the bridge did not open."),
            ("The bridge opened in 1931.", "The bridge opened in 1932, not in 1931."),
            ("The bridge did not, however, open in 1932.", "The bridge opened in 1932."),
            ("You must not restart the server.", "You must restart the server."),
            ("It supports streaming.", "Does it support streaming? No, it sends whole answers."),
            ("It does not support streaming.", "Does it support streaming? Yes."),
            ("Logs are not kept for 30 days.", "Logs are kept for 30 days. Audit logs are not kept."),
            ("Die Brücke wurde 1932 nicht eröffnet.", "Die Brücke wurde 1932 eröffnet."),
            ("El puente no abrió en 1932.", "El puente abrió en 1932."),
            ("The bridge did not open, or so they say, in 1932.", "The bridge opened in 1932."),
            ("Nobody survived the crash of 1932.", "Two people survived the crash of 1932."),
            ("When the bridge did not open, it rained.", "When the bridge opened, it rained."),
            ("Only the bridge never opened in 1932.", "Only the bridge opened in 1932."),
            ("The bridge was closed in 1932.", "The bridge was open in 1932."),
            ("The lift falls with the angle of attack.", "The lift rises with the angle of attack."),
        ] {
            if !turns(claim, source) {
                missed.push(format!("{claim} | {source} | {:?} | {:?}", Told::read(claim), Told::read(source)));
            }
        }
        assert!(missed.is_empty(), "{missed:#?}");
    }

    #[test]
    fn sound_sentences_with_a_negation_pass() {
        let mut wrong = Vec::new();
        for (claim, source) in [
            ("It did not open in 1932.", "The bridge did not open in 1932."),
            ("It did not open in 1932.", "The bridge never opened in 1932."),
            ("The bridge failed to open in 1932.", "The bridge did not open in 1932."),
            ("It opened in 1932.", "The bridge did not open in 1931 but in 1932."),
            ("It opened in 1932.", "The bridge did not open until 1932."),
            ("It did not open until 1932.", "The bridge opened in 1932."),
            ("It did not open before 1932.", "The bridge opened in 1932."),
            ("It opened in 1932.", "The bridge opened in 1932, not in 1931."),
            ("The bridge opened in 1932.", "The bridge did not fail to open in 1932."),
            ("It opened in 1932.", "The bridge opened in 1932 and was never painted."),
            ("It was never painted.", "The bridge opened in 1932 and was never painted."),
            ("The bridge, which was not painted, opened in 1932.", "The bridge opened in 1932. It was not painted."),
            ("It opened in 1932.", "The bridge opened in 1932. The tunnel did not open."),
            ("The tunnel did not open in 1932.", "The bridge opened in 1932. The tunnel did not open."),
            ("POST requests are not retried.", "Only GET requests are retried."),
            ("POST requests are not retried.", "GET requests are retried. POST requests are never retried."),
            ("Did it not open in 1932?", "The bridge opened in 1932."),
            ("It opened in 1932.", "Did the bridge not open in 1932? It opened in 1932."),
            ("The tool supports Windows.", "The tool does not support Windows 7."),
            ("Each request needs a key.", "A request without a key is refused."),
            ("The server answers within 3 seconds.", "If the server does not answer, the client waits 3 seconds."),
            ("Keys are shared by all servers.", "You must not share your keys."),
            ("Alice signed in 1932.", "Bob did not sign in 1932."),
            ("The right pane is open.", "The left pane is not open."),
            ("It not only opened in 1932 but was painted, too.", "The bridge opened in 1932 and was painted."),
            ("No more than 3 requests are sent.", "Up to 3 requests are sent."),
            ("No, it opened in 1932.", "The bridge opened in 1932."),
            ("It may not have opened in 1932.", "The bridge opened in 1932."),
            ("The file is sent no later than noon.", "The file is sent at noon."),
            ("Not all requests are retried.", "GET requests are retried."),
            ("Streaming is supported.", "Is streaming supported? Yes. Are batches supported? No."),
            ("The cache holds ten pages.", "The cache does not hold what was opened. It holds ten pages."),
            ("He went home.", "He did not want to go home. But he went home."),
            ("It is not uncommon.", "It is common."),
            ("The north tower is high.", "The south tower is high. So is the north tower."),
            ("John found the flowers.", "John could not find the flowers. By the fence John found the flowers."),
            ("John found the flowers.", "John never found the flowers. Later John went out and found the flowers."),
            ("The bridge did not open in May.", "The bridge opened in May. No: the bridge did not open in May."),
        ] {
            if turns(claim, source) {
                wrong.push(format!("{claim} | {source} | {:?} | {:?}", Told::read(claim), Told::read(source)));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn any_text_is_its_own_witness() {
        for text in [
            "The bridge did not open in 1932. It opened in 1933, not before. Nobody denied that it failed to open.",
            "No, never. Not without a key, nor with none. It does not. Neither did.",
            "not not not no no never without without failed to failed to denied that denied that",
        ] {
            assert!(!turns(text, text), "{text}");
            for sentence in text.split_inclusive('.') {
                assert!(!turns(sentence, text), "{sentence} | {text}");
            }
        }
    }

    #[test]
    fn hostile_texts_take_linear_time() {
        for piece in
            ["not ", "did not open or ", "not open, ", "denied that ", "The bridge did not open. ", "Is it? No. "]
        {
            grows_in_line(piece, 2_000, |size| {
                let text = piece.repeat(size / piece.len());
                let read = Statements::of_text(&text, Format::Markdown);
                denied(&text, &[&read]);
                denied("The bridge opened.", &[&read]);
            });
        }
    }
}
