//! Sentences that claim nothing: abstentions, and courtesy.
//!
//! That something is told nowhere is said in many ways. All of them deny that the sources tell it, or that whoever
//! speaks has found it; rules say how the words of `answers.toml` must stand to each other. A sentence that fits none
//! of them is a statement.

use loopwright_lexicon::{meanings, words};
use loopwright_verify::{
    facts,
    lexicon::{list, longest},
};

/// Words of an abstention at most; a longer sentence is a statement.
const MOST_WORDS: usize = 40;
/// Words of a sentence that is only an aside, at most.
const MOST_OF_ASIDE: usize = 12;
/// The least frequency of the words of an aside.
const COMMON: u32 = 5;
/// Words that may stand between a denial and its object.
const DENIAL_REACH: usize = 3;

/// The words of a sentence in lower case, `n't` as `not`.
fn words_of(sentence: &str) -> Vec<String> {
    let lower = sentence.to_lowercase().replace('’', "'");
    let word = |c: char| !(c.is_alphanumeric() || c == '\'');
    let mut all = Vec::new();
    for word in lower.split(word).map(|word| word.trim_matches('\'')).filter(|word| !word.is_empty()) {
        match word.strip_suffix("n't") {
            Some(verb) => all.extend([verb.to_owned(), "not".to_owned()]),
            None if word == "cannot" => all.extend(["can".to_owned(), "not".to_owned()]),
            None => all.push(word.to_owned()),
        }
    }
    all
}

/// Returns whether a sentence says that the sources do not tell something. One that cites a source is more often a
/// statement about what that does not do.
pub(super) fn is_abstention(sentence: &str, cites: bool) -> bool {
    const FORMS: [&str; 3] = ["not found in the sources", "not in these lines", "i am the offline extractive model"];
    let bare = sentence.trim_start_matches(|c: char| !c.is_alphanumeric());
    let start: String = bare.chars().take(40).collect::<String>().to_lowercase();
    if FORMS.iter().any(|form| start.starts_with(form)) {
        return true;
    }
    let said = words_of(bare);
    if said.is_empty() || said.len() > MOST_WORDS {
        return false;
    }
    let places_of = |name: &'static str| -> Vec<usize> {
        let list = list(name);
        said.iter().enumerate().filter(|(_, word)| list.contains(word.as_str())).map(|(at, _)| at).collect()
    };
    // What must not be done is a rule.
    if said.iter().any(|word| matches!(word.as_str(), "must" | "should" | "shall" | "please" | "may")) {
        return false;
    }
    let (deny, place) = (places_of("silence.deny"), places_of("silence.places"));
    let (tell, hold, matter) = (places_of("silence.tell"), places_of("silence.hold"), places_of("silence.matter"));
    let word = |at: usize| said.get(at).map_or("", String::as_str);
    let first_person = said.iter().take(4).any(|word| matches!(word.as_str(), "i" | "i'm" | "i'd" | "i've"));
    let needs_more = first_person && word(1) != "need" && said.iter().any(|word| word == "need") && !matter.is_empty();
    if deny.is_empty() {
        return (needs_more || start.starts_with("i'd need more")) && !cites;
    }
    let behind = |one: &[usize], other: &[usize]| one.iter().any(|one| other.iter().any(|other| one < other));
    let near = |one: &[usize], other: &[usize]| {
        one.iter().any(|one| other.iter().any(|other| one < other && other - one <= DENIAL_REACH))
    };
    let participle =
        |at: &&usize| word(**at).ends_with("ed") || matches!(word(**at), "said" | "told" | "spoken" | "written");
    let says_told: Vec<usize> = tell.iter().filter(participle).copied().collect();
    // "The documents don't mention it", "none of them says", "it isn't stated".
    if ((behind(&deny, &tell) || near(&tell, &deny)) && !place.is_empty()) || near(&deny, &says_told) {
        return true;
    }
    // "It is unclear from the pages."
    if !places_of("silence.alone").is_empty() && (!cites || !place.is_empty()) {
        return true;
    }
    let empty = near(&deny, &matter) || (behind(&matter, &deny) && !place.is_empty());
    let there = matches!((word(0), word(1)), ("there", "is" | "are" | "was" | "were" | "not")) || word(0) == "there's";
    // "There is no information", "the files hold no details".
    if empty && (!place.is_empty() || there || first_person || deny.first() == Some(&0)) {
        return true;
    }
    if cites {
        return false;
    }
    let seek = places_of("silence.seek");
    // "The sources don't cover it", "I couldn't find it", "nothing in the thread".
    (!place.is_empty() && !hold.is_empty() && (behind(&deny, &hold) || behind(&place, &deny)))
        || (!seek.is_empty()
            && (first_person || deny.first().is_some_and(|at| *at <= 1))
            && (behind(&deny, &seek) || near(&seek, &deny)))
        || (deny.first() == Some(&0) && place.first().is_some_and(|at| *at <= DENIAL_REACH))
}

/// Returns whether a sentence is only polite, leads to what follows, or asks: it holds nothing but words of courtesy,
/// words without a meaning, and such as the `question` holds.
pub(super) fn is_courtesy(sentence: &str, question: impl Fn(&str) -> bool, told: impl Fn(&str) -> bool) -> bool {
    let bare = sentence.trim_matches(|c: char| !c.is_alphanumeric() && c != '?' && c != ':');
    if bare.ends_with('?') {
        return true;
    }
    let lower = bare.to_lowercase().replace('’', "'");
    let said = words_of(bare);
    // A word alone is no sentence.
    if said.len() == 1 && !bare.chars().any(|c| c.is_ascii_digit()) {
        return true;
    }
    if is_aside(bare, &said, told) {
        return true;
    }
    let particle = said.first().is_some_and(|word| matches!(word.as_str(), "yes" | "no" | "yep" | "nope" | "correct"));
    if !particle && longest(&lower, "courtesy").is_empty() && !bare.ends_with(':') {
        return false;
    }
    let courteous = list("courteous");
    let phrase = longest(&lower, "courtesy");
    said.iter().skip(usize::from(particle)).all(|word| {
        let bare = word.split('\'').next().unwrap_or_default();
        words::is_stop_word(word)
            || words::is_stop_word(bare)
            || courteous.contains(bare)
            || phrase.split(|c: char| !c.is_alphanumeric()).any(|known| known == bare)
            || (!particle && bare.chars().all(char::is_alphabetic) && question(bare))
    })
}

/// Returns whether a short sentence speaks of whoever asks or answers, and not of what the sources tell: "I hope she
/// feels better soon!" One that allows or orders something is a statement.
fn is_aside(sentence: &str, said: &[String], told: impl Fn(&str) -> bool) -> bool {
    let counts = !facts::claimed(sentence).is_empty() || !facts::names(sentence).is_empty();
    let word = |at: usize| said.get(at).map_or("", String::as_str);
    let orders = (0..3).any(|at| list("duties").contains(word(at)) && (at == 0 || word(at - 1) != "no"));
    let speaks = said.iter().any(|word| list("persons").contains(word.as_str()));
    let greets = !longest(&sentence.to_lowercase(), "courtesy").is_empty();
    if said.len() > MOST_OF_ASIDE || counts || orders || !(sentence.ends_with('!') || speaks || greets) {
        return false;
    }
    let content: Vec<&String> = said.iter().filter(|word| !words::is_stop_word(word)).collect();
    let of_it = content.iter().filter(|word| told(word)).count();
    // What is rarely said is no manner of speaking.
    let common = |word: &&String| words::terms(word).iter().all(|term| meanings::commonness(term) >= COMMON);
    2 * of_it <= content.len() && (greets || content.iter().filter(|word| !told(word)).all(common))
}

/// Places in a sentence where another one begins: "…, but …", "…; …".
pub(super) fn parts(sentence: &str) -> Vec<&str> {
    const JOINTS: [&str; 8] = [", but ", "; ", ", however", ", though ", ", although ", " — ", " – ", " but "];
    let mut all = Vec::new();
    let mut rest = sentence;
    while let Some((at, joint)) = JOINTS.iter().filter_map(|joint| rest.find(joint).map(|at| (at, joint))).min() {
        let (part, behind) = rest.split_at(at);
        all.push(part);
        rest = behind.get(joint.len()..).unwrap_or_default();
    }
    all.push(rest);
    all
}
