//! Statements of a text, by rule and without a model: facts, relations between entities, preferences.
//!
//! Only plain statements count: no question, no request, nothing in quotes or fences of others. A rule that is not sure
//! says nothing.

use std::sync::LazyLock;

use loopwright_base::text::head;
use regex::Regex;

use super::super::{
    names,
    wishes::{asks, confirms, is_passing, is_wish, may_last, quotes},
};
use loopwright_lexicon::{
    lines::Format,
    sentences::{Kind, sentences},
    words::is_stop_word,
};

/// The length of the longest statement, in characters; longer text tells a story and states nothing in particular.
const LONGEST: usize = 400;
/// Statements of one text at most.
const MOST: usize = 24;

/// A sentence of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sentence {
    pub text: String,
    /// The sentence states something that stays true.
    pub states: bool,
    /// The sentence states a preference.
    pub prefers: bool,
    /// The sentence asks for something to be told: it says nothing itself.
    pub asks: bool,
    /// The sentence stands in quotation marks that another one has opened.
    quoted: bool,
}

/// The sentences of a text, with the kind of each. `own`: the writer speaks of themselves.
pub(super) fn classify_sentences(text: &str, own: bool) -> Vec<Sentence> {
    let text = head(text, 32_768);
    let mut all = Vec::new();
    for unit in sentences(text, Format::Markdown) {
        if unit.kind != Kind::Prose {
            continue;
        }
        let unit_begin = unit.bytes.start;
        let sentence = text.get(unit.bytes).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        if sentence.is_empty() {
            continue;
        }
        let fits = sentence.chars().count() <= LONGEST && !sentence.ends_with('?');
        // A quotation may have begun in a sentence before.
        let inside = text.get(..unit_begin).unwrap_or_default().matches('"').count() % 2 == 1;
        let prefers = own && fits && !inside && !quotes(&sentence) && prefers(&sentence);
        let states = fits && !prefers && states(&sentence, own);
        let asks = sentence.ends_with('?') || asks(&sentence);
        all.push(Sentence { text: sentence, states, prefers, asks, quoted: inside });
        if all.len() >= 200 {
            break;
        }
    }
    if own {
        let may = |one: &Sentence| one.text.chars().count() <= LONGEST;
        let is_idle = |one: &Sentence| !one.asks && one.text.split_whitespace().count() < 3;
        // Where something else is wanted, a wish may be about that alone.
        let alone =
            all.iter().all(|one| one.states || one.prefers || is_idle(one) || may(one) && is_wish(&one.text, true));
        let confirmed: Vec<bool> =
            (0..all.len()).map(|at| all.get(at + 1).is_some_and(|next| may(next) && confirms(&next.text))).collect();
        for (one, confirmed) in all.iter_mut().zip(confirmed).filter(|(one, _)| may(one)) {
            if !one.quoted && is_wish(&one.text, alone) || confirmed && may_last(&one.text) {
                (one.states, one.prefers, one.asks) = (false, true, false);
            }
        }
    }
    let mut left = MOST;
    for one in &mut all {
        if one.states || one.prefers {
            if left == 0 {
                (one.states, one.prefers) = (false, false);
            } else {
                left -= 1;
            }
        }
    }
    all
}

/// An expression that is part of the program.
fn rule(pattern: &str) -> Option<Regex> {
    Regex::new(pattern).ok()
}

fn any(rules: &[Option<Regex>], text: &str) -> bool {
    rules.iter().flatten().any(|rule| rule.is_match(text))
}

/// Beginnings of requests.
static ASKS: LazyLock<[Option<Regex>; 2]> = LazyLock::new(|| {
    [
        rule(
            r"(?i)^(?:please|can|could|would|will|should|shall|may|might|do|does|did|is|are|was|were|what|which|who|whose|when|where|why|how|let's|let us|help|tell|show|give|find|write|make|create|add|remove|delete|fix|run|explain|summari[sz]e|translate|list|check|look|search|read|open|use|remind|continue|go on|thanks|thank|hello|hi|hey|ok|okay|yes|no|sure|if|suppose|imagine|assume|say)\b",
        ),
        rule(
            r"(?i)^(?:i|we)(?:'d| would)? (?:want|need|like|wish) (?:you|to)\b|^(?:i|we)'d like\b|^i (?:wonder|guess|am asking|was wondering)\b",
        ),
    ]
});

/// Statements about the writer.
static OWN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    rule(
        r"(?i)\b(?:my|our|mine|ours)\b.*\b(?:is|are|was|were|has|have|lives?|works?|called|named|runs?|uses?|costs?|starts?|ends?|begins?|stands?|comes?|goes|likes?|loves?|means?|needs?|depends?|takes?|sits?|lies)\b|\b(?:i|we)(?:'m|'ve|'re| am| are| was| were| have| had| live| lived| work| worked| own| use| used| moved| bought| sold| met| know| study| studied| teach| run| speak| drive| play| grew| got| started| finished| married| founded| built| wrote| made| created| took| keep| kept| host| maintain| deploy| ship)\b",
    )
});

/// Statements about somebody or something with a name.
static STATES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    rule(
        r"\b(?:is|are|was|were|has|have|had|lives?|lived|works?|worked|owns?|uses?|moved|bought|met|knows?|studies|studied|teaches|runs?|depends|requires|needs|created|built|wrote|made|founded|designed|belongs|means|costs|starts|ends|likes?|loves?|prefers?|hates?|called|named)\b",
    )
});

/// Words of doubt.
static DOUBTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    rule(
        r"(?i)\b(?:maybe|perhaps|probably|might|could be|not sure|i think|i guess|seems?|hypothetically|for example|e\.g\.)\b",
    )
});

fn states(sentence: &str, own: bool) -> bool {
    let words = sentence.split_whitespace().count();
    if words < 3 || any(&*ASKS, sentence) || holds(&DOUBTS, sentence) {
        return false;
    }
    (own && holds(&OWN, sentence)) || (holds(&STATES, sentence) && !names::entities(sentence).is_empty())
}

fn holds(rule: &LazyLock<Option<Regex>>, text: &str) -> bool {
    rule.as_ref().is_some_and(|rule| rule.is_match(text))
}

/// Forms of preferences beside standing wishes.
static PREFERS: LazyLock<[Option<Regex>; 3]> = LazyLock::new(|| {
    [
        rule(
            r"(?i)\b(?:i|we) (?:really |strongly |usually |generally |always |much |do |also )*(?:prefer|like|love|enjoy|hate|dislike|detest|favou?r)\b|\b(?:i|we) (?:don't|do not|can't stand|cannot stand)(?: like| want to see| care for)?\b.*\b(?:like|stand|care for)\b|\bi can(?:'t|not) stand\b",
        ),
        rule(r"(?i)\b(?:i|we) (?:always|never) want\b"),
        rule(r"(?i)\b(?:i|we)(?:'d| would) rather\b|\bmy (?:favou?rite|preferred)\b|\b(?:i|we) tend to\b"),
    ]
});

/// Wishes of the moment, which sound like preferences.
static WISHES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    rule(
        r"(?i)\b(?:i|we)(?:'d| would) (?:like|love|prefer) (?:you )?to\b|\bwould (?:you )?like\b|\blooks? like\b|\bfeel like\b",
    )
});

fn prefers(sentence: &str) -> bool {
    sentence.split_whitespace().count() >= 3
        && !holds(&WISHES, sentence)
        && any(&*PREFERS, sentence)
        && !is_passing(sentence)
}

/// A relation that a sentence states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StatedRelation {
    pub subject: String,
    pub relation: &'static str,
    pub object: String,
}

/// A name: words written large, joined by small ones at most.
const NAME: &str = r"(?:[\p{Lu}][\w&.'’-]*(?:\s+(?:of\s+(?:the\s+)?|the\s+)?[\p{Lu}][\w&.'’-]*){0,3})";
/// A few words that name a thing.
const THING: &str = r"(?:[\w#+.'’-]+(?:\s+[\w#+.'’-]+){0,3})";

struct Rule {
    relation: &'static str,
    pattern: Option<Regex>,
}

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    // {N}: a name. {S}: a name or the writer. {T}: a name or a thing.
    let rules: [(&str, &str); 17] = [
        (
            "family_of",
            r"(?P<s>{N})(?:'s|’s) (?:brother|sister|mother|father|son|daughter|wife|husband|partner|cousin|aunt|uncle|grandmother|grandfather|twin)(?: is| was|,)?(?: called| named)? (?P<o>{N})",
        ),
        (
            "family_of",
            r"(?P<s>[Mm]y|[Oo]ur) (?:\w+ )?(?:brother|sister|mother|father|son|daughter|wife|husband|partner|cousin|aunt|uncle|grandmother|grandfather|twin)(?: is| was|,)?(?: called| named)? (?P<o>{N})",
        ),
        (
            "family_of",
            r"(?P<o>{N}) (?:is|was) (?P<s>my|our) (?:\w+ )?(?:brother|sister|mother|father|son|daughter|wife|husband|partner|cousin|aunt|uncle|twin)\b",
        ),
        (
            "part_of",
            r"(?P<s>{N}) (?:is|are|was) (?:a )?(?:part|member|division|subsidiary|module|component) of (?:the )?(?P<o>{T})",
        ),
        ("part_of", r"(?P<s>{N}) belongs to (?:the )?(?P<o>{T})"),
        ("works_at", r"(?P<s>{S}) (?:works?|worked|am employed|is employed) (?:at|for) (?:the )?(?P<o>{N})"),
        ("works_on", r"(?P<s>{S}) (?:works?|worked|am working|is working|are working) on (?:the )?(?P<o>{T})"),
        (
            "located_in",
            r"(?P<s>{S}) (?:live|lives|lived|moved|is located|are located|is based|are based|am based|is|am|stays?) (?:in|to|near) (?P<o>{N})",
        ),
        ("depends_on", r"(?P<s>{N}) (?:depends on|requires|needs|relies on) (?P<o>{T})"),
        ("created", r"(?P<s>{S}) (?:created|built|wrote|made|founded|designed|invented) (?:the |a |an )?(?P<o>{T})"),
        ("created", r"(?P<o>{N}) (?:was|were) (?:created|built|written|made|founded|designed|invented) by (?P<s>{N})"),
        ("uses", r"(?P<s>{S}) (?:uses?|runs on|run on|is written in|are written in) (?:the )?(?P<o>{T})"),
        ("knows", r"(?P<s>{S}) (?:knows?|met|is a friend of|is friends with|am friends with) (?P<o>{N})"),
        ("prefers", r"(?P<s>{S}) (?:really |strongly |much )?(?:prefers?|likes?|loves?|favou?rs?) (?P<o>{T})"),
        ("has", r"(?P<s>{S}) (?:has|have|owns?|got|bought) (?:an? |the |two |three |some )?(?P<o>{T})"),
        ("is_a", r"(?P<s>{N}) (?:is|was) an? (?P<o>{T})"),
        ("is_a", r"(?P<s>I) (?:am|was) an? (?P<o>{T})"),
    ];
    rules
        .into_iter()
        .map(|(relation, pattern)| {
            let pattern = pattern
                .replace("{S}", &format!("(?:{NAME}|I|We|we)"))
                .replace("{T}", &format!("(?:{NAME}|{THING})"))
                .replace("{N}", NAME);
            Rule { relation, pattern: rule(&format!(r"\b{pattern}")) }
        })
        .collect()
});

/// The relations that a sentence states. `writer` is the person that "I" names.
pub(super) fn relations(sentence: &str, writer: &str) -> Vec<StatedRelation> {
    let mut all: Vec<StatedRelation> = Vec::new();
    if sentence.len() > 4 * LONGEST || sentence.ends_with('?') || holds(&DOUBTS, sentence) {
        return all;
    }
    for Rule { relation, pattern } in RULES.iter() {
        let Some(pattern) = pattern else { continue };
        for found in pattern.captures_iter(sentence).take(4) {
            let part = |name: &str| found.name(name).map(|part| part.as_str()).unwrap_or_default();
            let (Some(subject), Some(object)) = (entity(part("s"), writer), entity(part("o"), writer)) else {
                continue;
            };
            if subject.eq_ignore_ascii_case(&object) || all.len() >= 12 {
                continue;
            }
            let same = |known: &StatedRelation| known.subject == subject && known.object == object;
            if !all.iter().any(same) {
                all.push(StatedRelation { subject, relation, object });
            }
        }
    }
    // Who stands in one sentence with another has to do with them.
    let names = names::entities(sentence);
    for (at, one) in names.iter().enumerate() {
        for other in names.iter().skip(at + 1) {
            let known = |found: &StatedRelation| {
                let both = [found.subject.as_str(), found.object.as_str()];
                both.iter().any(|name| name.contains(one.as_str()))
                    && both.iter().any(|name| name.contains(other.as_str()))
            };
            if all.len() < 12 && !all.iter().any(known) {
                all.push(StatedRelation { subject: one.clone(), relation: "related_to", object: other.clone() });
            }
        }
    }
    all
}

/// Words that end what names a thing.
const ENDS: [&str; 30] = [
    "and", "or", "but", "because", "since", "so", "that", "which", "who", "when", "while", "if", "with", "for", "in",
    "on", "at", "to", "from", "by", "over", "than", "as", "instead", "now", "there", "here", "very", "too", "also",
];

/// Words of time that a sentence begins with.
const TIMES: [&str; 8] = ["yesterday", "today", "tomorrow", "tonight", "lately", "recently", "currently", "nowadays"];

/// The entity that words name; nothing for words that name none.
fn entity(words: &str, writer: &str) -> Option<String> {
    if matches!(words, "I" | "We" | "we" | "my" | "My" | "our" | "Our") {
        return Some(writer.to_owned());
    }
    let mut kept: Vec<&str> = Vec::new();
    for word in words.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '#' | '+'));
        if bare.is_empty() || ENDS.contains(&bare.to_lowercase().as_str()) {
            break;
        }
        kept.push(bare);
        if word.ends_with(['.', ',', ';', ':', '!', ')']) && !word.ends_with("etc.") {
            break;
        }
    }
    // A sentence may begin with a time, or with a word that joins.
    while kept.len() > 1
        && kept
            .first()
            .is_some_and(|word| is_stop_word(&word.to_lowercase()) || TIMES.contains(&word.to_lowercase().as_str()))
    {
        kept.remove(0);
    }
    let dull = [
        "it", "this", "that", "these", "those", "he", "she", "they", "you", "been", "to", "a", "an", "the", "what",
        "there", "one",
    ];
    if kept.first().is_none_or(|word| dull.contains(&word.to_lowercase().as_str())) {
        return None;
    }
    let name = kept.join(" ");
    (name.chars().count() > 1 && name.len() <= 120).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<&'static str> {
        let kind = |one: &Sentence| {
            if one.prefers {
                "prefers"
            } else if one.states {
                "states"
            } else {
                "-"
            }
        };
        classify_sentences(text, true).iter().map(kind).collect()
    }

    #[test]
    fn d26_statements_are_told_from_questions_and_requests() {
        for text in [
            "My dog is called Biscuit.",
            "I live in Oslo.",
            "We deploy on Fridays.",
            "Our staging server runs on port 8081.",
            "Ann works at Acme.",
            "I'm a nurse.",
        ] {
            assert_eq!(kinds(text), ["states"], "{text}");
        }
        for text in [
            "What is my dog called?",
            "Please write a poem about my dog.",
            "Could you check what our server is doing.",
            "I want you to rename my file.",
            "I'd like to know what my options are.",
            "Delete all files.",
            "Thanks!",
            "Maybe my dog is ill.",
            "Is Ann at home",
        ] {
            assert_eq!(kinds(text), ["-"], "{text}");
        }
    }

    #[test]
    fn d27_preferences_are_told_from_wishes_of_the_moment() {
        for text in [
            "I prefer tabs over spaces.",
            "We really like short answers.",
            "Please always answer in French.",
            "Never use emojis.",
            "From now on, write tests first.",
            "Call me Sam.",
            "I'd rather see tables.",
            "My favourite editor is Helix.",
            "I can't stand long meetings.",
        ] {
            assert_eq!(kinds(text), ["prefers"], "{text}");
        }
        for text in [
            "I would like you to use tabs.",
            "I'd like to see the file.",
            "Do you prefer tabs?",
            "It looks like rain today.",
            "This never worked for them at all, somehow.",
        ] {
            assert!(!kinds(text).contains(&"prefers"), "{text}");
        }
    }

    #[test]
    fn d26_relations_have_types() {
        let of = |text: &str| -> Vec<(String, &'static str, String)> {
            relations(text, "Sam").into_iter().map(|found| (found.subject, found.relation, found.object)).collect()
        };
        for (text, subject, relation, object) in [
            ("Ann works at Acme Corp.", "Ann", "works_at", "Acme Corp"),
            ("I live in Oslo.", "Sam", "located_in", "Oslo"),
            ("I'm here: Ann's brother Bob is late.", "Ann", "family_of", "Bob"),
            ("My sister Clara is a vet.", "Sam", "family_of", "Clara"),
            ("Clara is a vet.", "Clara", "is_a", "vet"),
            ("Loom depends on SQLite.", "Loom", "depends_on", "SQLite"),
            ("Loom was written by Ann.", "Ann", "created", "Loom"),
            ("We use Postgres for that.", "Sam", "uses", "Postgres"),
            ("I prefer tabs over spaces.", "Sam", "prefers", "tabs"),
            ("Yesterday Ann met Bob.", "Ann", "knows", "Bob"),
            ("Ann has a red bicycle.", "Ann", "has", "red bicycle"),
            ("Loom is part of Weaver.", "Loom", "part_of", "Weaver"),
            ("Bob is working on the parser.", "Bob", "works_on", "parser"),
        ] {
            let found = of(text);
            assert!(found.contains(&(subject.to_owned(), relation, object.to_owned())), "{text}: {found:?}");
        }
        assert_eq!(of("Does Ann work at Acme?"), []);
    }
}
