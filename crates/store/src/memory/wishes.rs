//! Standing wishes in what a person says: how to answer, what to call them, what always or never to do.
//!
//! By the phrases of `wishes.toml` and by the form of the sentence: somebody is told to do something, and it is to
//! last. What is said of one thing, or of now, is a wish of the moment; what nothing tells to last is none.

use std::sync::LazyLock;

use loopwright_base::lists::lists;

use super::phrases::{Phrases, Word, read};
use loopwright_lexicon::words::each_term;

static WORDS: LazyLock<Phrases> = LazyLock::new(|| Phrases::of(lists(include_str!("wishes.toml"))));

/// Words of a sentence at most; a longer one tells a story.
const MAX_WORDS: usize = 60;
/// Words of a wish at most that nothing but its subject tells to last.
const SHORT: usize = 12;
/// Subjects that say how, and not what: they may be named alone.
const FORMS: [&str; 10] =
    ["language", "spelling", "units", "temperature", "clock", "currency", "dates", "tone", "markdown", "length"];
/// Words at most of what is said of a form.
const LONG: usize = 16;
/// Words at most that announce a wish.
const OPENING: usize = 8;
/// Words between a wish and the answers that it is about.
const NEAR: usize = 5;

/// What a wish is about, and what is wished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Topic {
    /// The subject: of one subject the newest wish counts.
    pub(super) subject: String,
    /// The choice.
    pub(super) choice: String,
    /// The choice is the one that is not wanted.
    pub(super) negative: bool,
    /// The place in the sentence, in bytes.
    pub(super) at: usize,
}

impl Topic {
    /// Returns whether two wishes can't both be met.
    pub(super) fn contradicts(&self, other: &Self) -> bool {
        self.subject == other.subject
            && if self.choice == other.choice {
                self.negative != other.negative
            } else {
                !self.negative && !other.negative
            }
    }
}

/// Returns whether a sentence is a standing wish. `alone`: nothing beside it was asked for.
pub(super) fn is_wish(sentence: &str, alone: bool) -> bool {
    if announced(sentence, alone) {
        return true;
    }
    let words = read(sentence);
    if words.len() < 2 || words.len() > MAX_WORDS {
        return false;
    }
    if let Some(settled) = settled(&words, sentence) {
        return settled;
    }
    let strong = WORDS.has("wish.strong", &words);
    if !strong && WORDS.has("wish.once", &words) {
        return false;
    }
    let mut at = begin(&words, 0);
    let question = sentence.trim_end().ends_with('?');
    if question && WORDS.at("wish.polite", &words, at).is_none() {
        return false;
    }
    let mut lasts = strong || WORDS.has("wish.lasting", &words);
    if let Some(name) = name_at(&words, at) {
        return !question && name < words.len();
    }
    if WORDS.at("wish.circumstances", &words, at).is_some()
        && let Some(comma) = words.iter().skip(at).position(|word| word.ends)
    {
        // "If a question is unclear, …" is about any of them.
        let condition = words.get(at..=at + comma).unwrap_or_default();
        lasts |= strong || WORDS.has("wish.any", condition);
        at = begin(&words, at + comma + 1);
    }
    if !question && treats(&words, at) {
        return true;
    }
    if says_of_answers(&words, at) {
        return !question;
    }
    let asked = WORDS.at("wish.asks", &words, at);
    at = begin(&words, at + asked.unwrap_or(0));
    if let Some(name) = name_at(&words, at).filter(|_| asked.is_some()) {
        return name < words.len();
    }
    let told = is_told(&words, at);
    if asked.is_some() || question {
        return told && lasts;
    }
    if (told || has_object(&words, at)) && lasts || is_form(&words, at) {
        return true;
    }
    let topics = topics(sentence);
    if topics.is_empty() {
        return false;
    }
    if strong && !told {
        // "From now on in German, please."
        return words.len() <= SHORT && WORDS.at("wish.subjects", &words, at).is_none() && !named_subject(&words, at);
    }
    let rest = words.get(at..).unwrap_or_default();
    let is_manner = WORDS.at("wish.manner", &words, at).is_some_and(|length| {
        let next = WORDS.skip("wish.first", &words, at + length);
        WORDS.at("wish.pointing", &words, next).is_none()
    });
    told && (WORDS.has("wish.answers", rest) && all_of_them(rest) || alone && is_manner && words.len() <= SHORT)
}

/// Returns whether what stands behind a colon is a standing wish: `One rule for all of it: weights in grams.`
fn announced(sentence: &str, alone: bool) -> bool {
    let Some((head, tail)) = sentence.split_once(": ") else { return false };
    let head = read(head);
    if head.len() > OPENING {
        return false;
    }
    let at = begin(&head, 0);
    if WORDS.at("wish.opens", &head, at).is_some() {
        return is_wish(tail, alone) || WORDS.has("wish.rules", &head) && is_form(&read(tail), 0);
    }
    // "Evidence matters: always name the source."
    let others = WORDS.at("wish.subjects", &head, at).is_some() || WORDS.has("wish.speech", &head);
    !others && !tail.starts_with(['"', '“', '„', '«', '\'']) && is_wish(tail, false)
}

/// What phrases alone decide: whose words these are, and that they hold until they are taken back.
fn settled(words: &[Word], sentence: &str) -> Option<bool> {
    if WORDS.has("wish.reported", words) {
        return Some(false);
    }
    // "Amounts are net unless I say otherwise."
    let holds = WORDS.has("wish.unless", words) || WORDS.has("wish.address", words);
    (holds && !sentence.trim_end().ends_with('?')).then(|| !WORDS.has("wish.once", words))
}

/// Returns whether words say how somebody wants to be treated: `Be honest with me.`
fn treats(words: &[Word], at: usize) -> bool {
    WORDS.at("wish.manner", words, at).is_some() && words.len() <= SHORT && WORDS.has("wish.with_me", words)
}

/// Returns whether a sentence asks to be told something: it says nothing itself.
pub(super) fn asks(sentence: &str) -> bool {
    let words = read(sentence);
    WORDS.at("wish.questions", &words, begin(&words, 0)).is_some()
}

/// Returns whether a sentence says what is liked at this moment, or of things at hand.
pub(super) fn is_passing(sentence: &str) -> bool {
    let words = read(sentence);
    WORDS.has("wish.passing", &words) || WORDS.has("wish.once", &words)
}

/// The place behind what a sentence may begin with.
fn begin(words: &[Word], mut at: usize) -> usize {
    loop {
        let next = WORDS.skip("wish.strong", words, WORDS.skip("wish.leads", words, at));
        if next == at {
            return at;
        }
        at = next;
    }
}

/// Returns whether somebody is told to do something.
fn is_told(words: &[Word], at: usize) -> bool {
    if let Some(length) = WORDS.at("wish.first", words, at) {
        let at = begin(words, at + length);
        let Some(verb) = words.get(at) else { return false };
        let past = verb.text.ends_with("ed") && !verb.text.ends_with("eed");
        return WORDS.at("wish.idle", words, at).is_none()
            && !past
            && !verb.text.ends_with("ing")
            && words.len() > at + 1;
    }
    WORDS.at("wish.verbs", words, at).is_some() && WORDS.at("wish.idioms", words, at).is_none()
}

/// Returns whether a sentence says of all answers what they ought to be, or how they are wanted.
fn says_of_answers(words: &[Word], at: usize) -> bool {
    let behind = WORDS.skip("wish.of", words, at);
    if let Some(length) = WORDS.at("wish.answers", words, behind) {
        return WORDS.at("wish.ought", words, behind + length).is_some();
    }
    let Some(length) = WORDS.at("wish.wants", words, at) else { return false };
    let near = words.get(at + length..).unwrap_or_default();
    WORDS.has("wish.answers", near.get(..NEAR.min(near.len())).unwrap_or_default())
}

/// Returns whether words say which form something is to have, with nobody who does anything: `Distances in
/// kilometres.`, `British spelling only.` What follows behind a comma says why.
fn is_form(words: &[Word], at: usize) -> bool {
    let rest = words.get(at..).unwrap_or_default();
    let end = rest.iter().skip(1).position(|word| word.ends).map_or(rest.len(), |end| end + 2);
    let clause = rest.get(..end).unwrap_or_default();
    let happens = |word: &Word| word.text.len() > 4 && word.text.ends_with("ed") && !word.text.ends_with("eed");
    let given = WORDS.at("wish.given", clause, 0);
    if clause.len() < 2
        || clause.len() > LONG
        || is_told(words, at)
        || WORDS.at("wish.subjects", words, at).is_some()
        || given.is_none_or(|length| WORDS.at("wish.ought", clause, length).is_none())
            && WORDS.has("wish.happens", clause)
        || clause.iter().any(happens)
    {
        return false;
    }
    if let Some(length) = given {
        return ["wish.shaped", "wish.ought"].iter().any(|list| WORDS.at(list, clause, length).is_some());
    }
    let forms = topics_of(clause);
    let Some(form) = forms.iter().find(|topic| FORMS.contains(&topic.subject.as_str())) else { return false };
    // "Milk yields in kilos": of all of them, in that form.
    let many = (0..2).any(|at| {
        let is_many = clause.get(at).is_some_and(|word| word.text.len() > 3 && word.text.ends_with('s'));
        is_many && WORDS.at("wish.shaped", clause, at + 1).is_some()
    });
    // The form itself stands first.
    let second = clause.get(1).map_or(usize::MAX, |word| word.to);
    many || WORDS.has("wish.insists", rest) && form.at < second
}

/// Returns whether a sentence says of the one before it that it holds always.
pub(super) fn confirms(sentence: &str) -> bool {
    let words = read(sentence);
    words.len() <= SHORT
        && !sentence.trim_end().ends_with('?')
        && (WORDS.has("wish.confirms", &words) || words.len() <= 3 && WORDS.has("wish.strong", &words))
}

/// Returns whether a sentence holds what somebody else has said, in quotation marks.
pub(super) fn quotes(sentence: &str) -> bool {
    sentence.split_whitespace().count() > read(sentence).len() + 2
}

/// Returns whether a sentence tells somebody to do something of a kind that may hold always.
pub(super) fn may_last(sentence: &str) -> bool {
    let words = read(sentence);
    let at = begin(&words, 0);
    !sentence.trim_end().ends_with('?')
        && words.len() > 1
        && words.len() <= MAX_WORDS
        && !WORDS.has("wish.once", &words)
        && (is_told(&words, at)
            || has_object(&words, at)
            || WORDS.at("wish.subjects", &words, at).is_none() && !WORDS.has("wish.happens", &words))
}

/// Returns whether a sentence begins with a word and what is done to something with it: `Correct my mistakes …`.
fn has_object(words: &[Word], at: usize) -> bool {
    words.get(at).is_some_and(|verb| {
        !verb.ends
            && !["s", "ed", "ing", "ly"].iter().any(|end| verb.text.ends_with(end))
            && ["wish.subjects", "wish.circumstances", "wish.idle", "wish.happens", "wish.questions", "wish.small"]
                .iter()
                .all(|list| WORDS.at(list, words, at).is_none())
    }) && WORDS.at("wish.objects", words, at + 1).is_some()
}

/// Returns whether answers of all times are meant: nothing says which ones.
fn all_of_them(words: &[Word]) -> bool {
    WORDS.find("wish.answers", words).is_some_and(|at| {
        let before = at.checked_sub(1).and_then(|at| words.get(at)).map(|word| word.text.as_str());
        before.is_none_or(|word| !matches!(word, "these" | "those" | "the" | "two" | "three" | "some"))
    })
}

/// Returns whether a sentence begins with a name.
fn named_subject(words: &[Word], at: usize) -> bool {
    at > 0 && words.get(at).is_some_and(|word| word.large)
}

/// The place of the name that a person wants to be called by.
fn name_at(words: &[Word], at: usize) -> Option<usize> {
    let from = WORDS.skip("wish.first", words, at);
    let length = WORDS.at("wish.names", words, from)?;
    let name = words.get(from + length)?;
    let fits = WORDS.at("wish.not_names", words, from + length).is_none() && !name.text.ends_with("ing");
    (fits && (name.large || words.len() <= from + length + 2)).then_some(from + length)
}

/// The name that a person wants to be called by, or not.
fn name_of(words: &[Word]) -> Option<Topic> {
    let at = name_at(words, begin(words, 0))?;
    let word = words.get(at)?;
    let negative = WORDS.has("wish.negations", words.get(..at)?);
    Some(Topic { subject: "name".to_owned(), choice: word.text.clone(), negative, at: word.from })
}

/// What a wish is about.
pub(super) fn topics(sentence: &str) -> Vec<Topic> {
    topics_of(&read(sentence))
}

fn topics_of(words: &[Word]) -> Vec<Topic> {
    let scope = (0..words.len()).rev().find_map(|at| {
        let word = words.get(at).filter(|_| WORDS.at("wish.scopes", words, at).is_some())?;
        Some(word.text.trim_end_matches('s').to_owned())
    });
    let mut found: Vec<Topic> = Vec::new();
    let add = |found: &mut Vec<Topic>, topic: Topic| {
        if !found.iter().any(|known| (&known.subject, &known.choice) == (&topic.subject, &topic.choice)) {
            found.push(topic);
        }
    };
    found.extend(name_of(words));
    let names = WORDS.names("topics.");
    let (mut negative, mut only_next) = (false, false);
    let mut at = 0;
    while at < words.len() {
        if at > 0 && words.get(at - 1).is_some_and(|word| word.ends) && WORDS.at("wish.turns", words, at).is_some()
            || words.get(at).is_some_and(|word| word.text == "but")
        {
            negative = false;
        }
        let longest = names.iter().filter_map(|name| Some((WORDS.at(name, words, at)?, *name))).max_by_key(|(n, _)| *n);
        if let Some((length, name)) = longest {
            let mut parts = name.split('.').skip(1);
            let (subject, choice) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            if fits(subject, words, at) {
                let scoped = matches!(subject, "language" | "length" | "tone").then_some(scope.as_ref()).flatten();
                let counts = choice == "count";
                let choice = if counts { count_before(words, at) } else { choice.to_owned() };
                let subject = scoped.map_or_else(|| subject.to_owned(), |scope| format!("{subject} of {scope}"));
                // A number of sentences is a limit, however it is put.
                let negative = (negative || only_next) && !counts;
                let place = words.get(at).map_or(0, |word| word.from);
                add(&mut found, Topic { subject, choice, negative, at: place });
            }
            only_next = false;
            at += length;
            continue;
        }
        if let Some(length) = WORDS.at("wish.against", words, at).filter(|_| at > 1) {
            only_next = true;
            at += length;
            continue;
        }
        if let Some(length) = WORDS.at("wish.negations", words, at) {
            negative = true;
            at += length;
            continue;
        }
        at += 1;
    }
    found
}

/// Returns whether a word is of a subject where it stands.
fn fits(subject: &str, words: &[Word], at: usize) -> bool {
    match subject {
        "language" => at == 0 || (0..at).rev().take(2).any(|before| WORDS.at("wish.into", words, before).is_some()),
        "length" => WORDS.has("wish.said", words),
        "sentences" | "words" | "paragraphs" => !count_before(words, at).is_empty(),
        _ => true,
    }
}

/// The number before a word: `three` of `three sentences`.
fn count_before(words: &[Word], at: usize) -> String {
    let before = at.checked_sub(1).and_then(|at| words.get(at)).map(|word| word.text.as_str()).unwrap_or_default();
    let numbers = ["one", "two", "three", "four", "five", "six", "seven", "ten", "single", "a"];
    if before.chars().all(|c| c.is_ascii_digit()) || numbers.contains(&before) {
        before.to_owned()
    } else {
        String::new()
    }
}

/// Keys by which wishes of the same subject find each other, and the parts of a wish with the subjects of each.
pub(super) fn subjects(sentence: &str) -> Vec<Topic> {
    let mut topics = topics(sentence);
    if topics.is_empty() {
        // The same words, for or against.
        let mut terms = std::collections::BTreeSet::new();
        let mut order = String::new();
        let words = read(sentence);
        let mut at = begin(&words, 0);
        let mut negative = false;
        while at < words.len() {
            let step = ["wish.negations", "wish.lasting", "wish.strong", "wish.leads", "wish.of"]
                .iter()
                .find_map(|list| Some((WORDS.at(list, &words, at)?, *list)));
            if let Some((length, list)) = step {
                negative |= list == "wish.negations";
                at += length;
                continue;
            }
            if let Some(word) = words.get(at) {
                each_term(&word.text, |term| {
                    terms.insert(term.to_owned());
                    order.push_str(term);
                    order.push(' ');
                });
            }
            at += 1;
        }
        let subject = terms.into_iter().collect::<Vec<_>>().join(" ");
        topics.push(Topic { subject: format!("do {subject}"), choice: order, negative, at: 0 });
    }
    // Who wants it long no longer wants so few sentences.
    let long: Vec<Topic> =
        topics.iter().filter(|one| one.subject == "length" && one.choice == "long").cloned().collect();
    for one in long {
        topics.extend(["sentences", "words", "paragraphs"].map(|of| Topic { subject: of.to_owned(), ..one.clone() }));
    }
    topics
}

/// The parts of a wish that can stand alone, each with its place.
pub(super) fn parts(sentence: &str) -> Vec<(usize, usize)> {
    let words = read(sentence);
    let mut parts = Vec::new();
    let mut from = 0;
    for at in 1..words.len() {
        let joins = words.get(at).is_some_and(|word| matches!(word.text.as_str(), "and" | "but"));
        let behind = begin(&words, at);
        if joins
            && (is_told(&words, behind) || name_at(&words, behind).is_some())
            && let (Some(before), Some(next)) = (words.get(at - 1), words.get(behind))
        {
            parts.push((from, before.to));
            from = next.from;
        }
    }
    parts.push((from, sentence.len()));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m2_standing_wishes_are_told_from_wishes_of_the_moment() {
        for text in [
            "From now on, answer in German.",
            "Please always answer in French.",
            "Never use emojis.",
            "Call me Sam.",
            "My name is Ann.",
            "Keep your answers short.",
            "Your answers should fit on one screen.",
            "I want your answers in German.",
            "Can you always answer in German?",
            "Could you please call me Sam from now on?",
            "Oh, and from now on use Celsius.",
            "From now on in German, please.",
            "When I ask for code, always use Python.",
            "I'd like you to answer in Spanish from now on.",
            "You can use emojis again.",
            "Stop using tables in your replies.",
            "Never book flights before nine.",
            "Antworte ab jetzt immer auf Deutsch.",
            "Réponds toujours en français.",
            "Always give distances in kilometres, never in miles.",
            "Distances in kilometres, please.",
            "Prices in francs and with two decimals.",
            "British spelling only, please.",
            "No jokes, please, ever.",
            "You can call me Kit.",
            "One rule for all of this: temperatures in kelvin.",
            "Before we begin: never use headings.",
            "Close every message with my initials.",
            "Warn me before each deletion.",
        ] {
            assert!(is_wish(text, false), "{text}");
        }
        for text in
            ["Answer in German.", "Be brief.", "Use metric units.", "No emojis, please.", "Don't use bullet points."]
        {
            assert!(is_wish(text, true), "{text}");
            assert!(!is_wish(text, false), "{text}");
        }
        for text in [
            "Answer this one in French.",
            "Just this once, reply in Italian.",
            "For this question, be brief.",
            "Do you always answer in German?",
            "Should I always use metric units?",
            "Never mind.",
            "Never heard of it.",
            "Always happy to help.",
            "From now on the office is closed on Fridays.",
            "By default the server listens on port 8080.",
            "In the future I want to travel.",
            "My boss always says to answer in German.",
            "Ann never uses emojis.",
            "I never said that.",
            "Call me back tomorrow.",
            "Call me when you are done.",
            "Translate this into German.",
            "Write a short poem about the sea.",
            "Give me the answers in a table for now.",
            "She wrote \"always answer in German\" on the board.",
            "My name is on the list.",
            "I go by bus.",
            "What is the weather in Oslo?",
            "Could you answer in German?",
            "The train always leaves at nine.",
            "Tell me about the tables.",
            "Distances in kilometres are what the sign shows.",
            "Prices in francs went up last year.",
            "We need prices in dollars, said the bank.",
            "My order: two tables and a lamp.",
            "Kilometres per hour?",
            "The recipe: flour, water, no salt.",
            "British weather again.",
            "You can call me tomorrow.",
            "List every country in Africa.",
        ] {
            assert!(!is_wish(text, true), "{text}");
        }
    }

    fn about(text: &str) -> Vec<String> {
        let said = |one: Topic| format!("{}{}={}", if one.negative { "-" } else { "" }, one.subject, one.choice);
        topics(text).into_iter().map(said).collect()
    }

    #[test]
    fn m2_subjects_of_wishes_are_known() {
        for (text, wanted) in [
            ("From now on answer in German.", vec!["language=german"]),
            ("Never use emojis or tables.", vec!["-emoji=any", "-tables=any"]),
            ("Use tables instead of bullet points.", vec!["tables=any", "-bullets=any"]),
            ("Answer in English, not German.", vec!["language=english", "-language=german"]),
            ("Write code comments in English.", vec!["language of comment=english"]),
            ("Keep your answers short.", vec!["length=short"]),
            ("Never write more than three sentences.", vec!["sentences=three"]),
            ("I can't stand long meetings.", vec![]),
            ("Call me Sam.", vec!["name=sam"]),
            ("Always use metric units and Celsius.", vec!["units=metric", "temperature=celsius"]),
        ] {
            assert_eq!(about(text), wanted, "{text}");
        }
    }

    #[test]
    fn m2_a_change_of_mind_is_known() {
        let contradict = |one: &str, other: &str| {
            let (one, other) = (subjects(one), subjects(other));
            one.iter().any(|one| other.iter().any(|other| one.contradicts(other)))
        };
        for (one, other) in [
            ("Always answer in German.", "Answer in English from now on."),
            ("Never use emojis.", "You can use emojis again."),
            ("Keep your answers short.", "I want long answers from now on."),
            ("Call me Sam.", "From now on call me Sammy."),
            ("Always push to main.", "Never push to main."),
            ("I prefer tabs over spaces.", "I prefer spaces over tabs."),
            ("Never write more than three sentences.", "From now on give detailed answers."),
        ] {
            assert!(contradict(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("Always answer in German.", "Please answer in German from now on."),
            ("Always answer in German.", "Write code comments in English."),
            ("Keep your answers short.", "Never write more than three sentences."),
            ("Never use miles.", "Always use metric units."),
            ("Never use emojis.", "Always use tables."),
        ] {
            assert!(!contradict(one, other), "{one} {other}");
        }
        let text = "From now on answer in German and keep your answers short.";
        let said: Vec<&str> = parts(text).into_iter().map(|(from, to)| &text[from..to]).collect();
        assert_eq!(said, ["From now on answer in German", "keep your answers short."]);
    }
}
