//! Whether two sentences say the opposite of each other, by their words alone.
//!
//! Understands nothing: two sentences must say the same of the same thing, word for word, but for one turn of meaning:
//! a negation, or one of two opposites (`enabled`, `disabled`). What may be true of both at once, because it holds on a
//! condition, of a part, or perhaps, counts as no contradiction: a false alarm is worse than a missed one.

use std::collections::BTreeSet;

use super::words::{self, Run};

/// A longer sentence says too much to be set against another.
const MAX_WORDS: usize = 40;
/// So many words in common let one more word stand behind one of them on one side: `WebSocket`, `WebSocket
/// connections`.
const ENOUGH_FOR_ONE_MORE: usize = 3;

const NEGATIONS: [&str; 35] = [
    "not", "no", "never", "cannot", "cant", "dont", "doesnt", "didnt", "isnt", "arent", "wasnt", "werent", "wont",
    "wouldnt", "shouldnt", "mustnt", "hasnt", "havent", "hadnt", "couldnt", "neednt", "neither", "nor", "none",
    "nothing", "nobody", "nowhere", "without", "lack", "lacks", "lacked", "lacking", "unable", "aint", "shant",
];

/// What is said with one of these is said with a reserve; `not always` and `not only` are, too.
const RESERVES: [&str; 30] = [
    "may",
    "might",
    "could",
    "sometimes",
    "often",
    "usually",
    "rarely",
    "seldom",
    "possibly",
    "perhaps",
    "maybe",
    "occasionally",
    "typically",
    "generally",
    "mostly",
    "partly",
    "partially",
    "almost",
    "nearly",
    "unless",
    "except",
    "otherwise",
    "although",
    "though",
    "but",
    "however",
    "instead",
    "whereas",
    "necessarily",
    "supposedly",
];

/// What follows these, up to a comma, is the circumstance of what is said.
const CIRCUMSTANCES: [&str; 16] = [
    "if", "when", "whenever", "while", "once", "until", "till", "that", "which", "who", "whose", "where", "wherever",
    "because", "as", "only",
];

/// Words that may stand in one sentence alone.
const FILLERS: [&str; 44] = [
    "default",
    "defaults",
    "feature",
    "option",
    "setting",
    "flag",
    "currently",
    "now",
    "also",
    "simply",
    "turned",
    "turn",
    "switch",
    "switched",
    "set",
    "please",
    "note",
    "always",
    "already",
    "still",
    "yet",
    "fully",
    "completely",
    "really",
    "actually",
    "ever",
    "yes",
    "automatically",
    "able",
    "today",
    "use",
    "used",
    "get",
    "gets",
    "become",
    "becomes",
    "remain",
    "remains",
    "stay",
    "stays",
    "all",
    "every",
    "any",
    "each",
];

/// How a pair of opposites is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Of a subject: `is enabled`, not `enabled plugins`, which are other plugins than the disabled ones.
    State,
    /// Of what is done.
    Deed,
    /// Of two things: which of them stands first matters.
    Relation,
}

use Way::{Deed, Relation, State};

/// Opposites, as they are written.
const OPPOSITES: [(Way, &[&str], &[&str]); 51] = [
    (State, &["enabled"], &["disabled"]),
    (State, &["on"], &["off"]),
    (State, &["true"], &["false"]),
    (State, &["required", "mandatory", "obligatory", "compulsory", "necessary"], &["optional", "voluntary"]),
    (State, &["allowed", "permitted"], &["forbidden", "prohibited", "disallowed", "denied", "banned"]),
    (State, &["public"], &["private"]),
    (State, &["open"], &["closed", "shut"]),
    (State, &["visible"], &["hidden"]),
    (State, &["synchronous", "sync"], &["asynchronous", "async"]),
    (State, &["included"], &["excluded", "omitted"]),
    (State, &["accepted"], &["rejected", "refused"]),
    (State, &["kept", "retained", "preserved"], &["deleted", "discarded", "dropped", "removed", "erased"]),
    (State, &["ascending"], &["descending"]),
    (State, &["inclusive"], &["exclusive"]),
    (State, &["lowercase"], &["uppercase"]),
    (State, &["present"], &["absent", "missing"]),
    (State, &["full"], &["empty"]),
    (State, &["alive"], &["dead"]),
    (State, &["guilty"], &["innocent"]),
    (State, &["same", "identical", "equal"], &["different", "unequal"]),
    (State, &["right", "correct"], &["wrong", "incorrect"]),
    (State, &["online"], &["offline"]),
    (State, &["automatic"], &["manual"]),
    (State, &["permanent"], &["temporary"]),
    (State, &["local"], &["remote"]),
    (State, &["cheap"], &["expensive"]),
    (State, &["encrypted"], &["plaintext"]),
    (State, &["successful"], &["unsuccessful"]),
    (State, &["hot"], &["cold"]),
    (State, &["wet"], &["dry"]),
    (State, &["safe", "harmless"], &["unsafe", "dangerous", "harmful"]),
    (State, &["free"], &["paid"]),
    (State, &["early"], &["late"]),
    (
        Deed,
        &["increases", "increase", "increased", "raises"],
        &["decreases", "decrease", "decreased", "reduces", "lowers"],
    ),
    (Deed, &["rises", "rise", "rose", "risen", "grows", "grew"], &["falls", "fell", "fallen", "shrinks", "shrank"]),
    (Deed, &["accepts", "accept"], &["rejects", "reject", "refuses", "refuse"]),
    (
        Deed,
        &["allows", "allow", "permits", "permit"],
        &["forbids", "forbid", "prohibits", "prohibit", "disallows", "denies"],
    ),
    (Deed, &["enables", "enable"], &["disables", "disable"]),
    (Deed, &["includes", "include"], &["excludes", "exclude", "omits", "omit"]),
    (
        Deed,
        &["keeps", "keep", "retains", "retain", "preserves"],
        &["deletes", "delete", "discards", "discard", "drops", "erases"],
    ),
    (Deed, &["shows", "show"], &["hides", "hide"]),
    (Deed, &["passes", "passed", "succeeds", "succeeded", "succeed"], &["fails", "failed", "fail"]),
    (Deed, &["won", "wins"], &["lost", "loses"]),
    (Deed, &["improves", "improve", "improved"], &["worsens", "worsen", "worsened"]),
    (Relation, &["before", "prior"], &["after"]),
    (Relation, &["above"], &["below", "under", "beneath"]),
    (Relation, &["more", "greater", "higher", "larger", "bigger"], &["less", "fewer", "lower", "smaller"]),
    (Relation, &["faster", "quicker"], &["slower"]),
    (Relation, &["older"], &["newer", "younger"]),
    (Relation, &["earlier"], &["later"]),
    (Relation, &["longer"], &["shorter"]),
];

/// Prefixes that turn a word around.
const TURNING: [&str; 7] = ["un", "in", "im", "ir", "il", "dis", "non"];

/// What stands at a place of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// A word with a meaning, and whether it touches the one with a meaning before it.
    Word {
        term: String,
        touches: bool,
    },
    Pole {
        pair: usize,
        first: bool,
    },
}

/// What a sentence says, as far as it can be set against another.
#[derive(Clone, Debug, Default)]
pub struct Stance {
    pieces: Vec<Piece>,
    turns: usize,
    /// The words of its circumstances, as they are written.
    circumstances: BTreeSet<String>,
}

impl Stance {
    /// Reads a sentence; `None` for one that nothing can be set against.
    pub fn read(sentence: &str) -> Option<Self> {
        let sentence = sentence.trim();
        if sentence.ends_with('?') {
            return None;
        }
        let found = tokens(sentence, MAX_WORDS);
        if found.len() < 2 || found.len() > MAX_WORDS {
            return None;
        }
        let mut stance = Self::default();
        let (mut within, mut touches) = (false, false);
        for (at, token) in found.iter().enumerate() {
            let word = token.word.as_str();
            let next = found.get(at + 1);
            let then = next.map_or("", |next| next.word.as_str());
            within &= !token.after_comma;
            touches &= !token.after_comma && !token.after_mark;
            if RESERVES.contains(&word) {
                return None;
            }
            if CIRCUMSTANCES.contains(&word) && !(word == "as" && then == "well") {
                within = true;
            }
            if within {
                stance.circumstances.insert(token.word.clone());
                continue;
            }
            if NEGATIONS.contains(&word) {
                if matches!(then, "only" | "just" | "always" | "necessarily" | "merely" | "simply") {
                    return None;
                }
                // "No later than" is a bound.
                let bound = word == "no" && matches!(then, "later" | "more" | "less" | "fewer" | "earlier");
                stance.turns += usize::from(!bound);
                touches = false;
                continue;
            }
            let before = at.checked_sub(1).and_then(|at| found.get(at));
            if let Some((pair, first)) = pole(word, before, next) {
                stance.pieces.push(Piece::Pole { pair, first });
                touches = true;
                continue;
            }
            let terms = words::terms(&token.surface);
            match terms.into_iter().next() {
                Some(term) if !FILLERS.contains(&word) => {
                    stance.pieces.push(Piece::Word { term, touches });
                    touches = true;
                }
                Some(_) => {}
                None => touches = false,
            }
        }
        (stance.pieces.len() >= 2).then_some(stance)
    }

    /// Whether something in it could turn the meaning of another around, rather than the other way about.
    pub fn is_turned(&self) -> bool {
        self.turns > 0
            || self.pieces.iter().any(|piece| match piece {
                Piece::Pole { .. } => true,
                Piece::Word { term, .. } => TURNING.iter().any(|prefix| term.starts_with(prefix)),
            })
    }

    fn words(&self) -> BTreeSet<&str> {
        self.pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Word { term, .. } => Some(term.as_str()),
                Piece::Pole { .. } => None,
            })
            .collect()
    }

    /// The pairs of opposites in it, each with its side and the words before it; `None` where both sides are there.
    fn poles(&self) -> Option<Vec<(usize, bool, BTreeSet<&str>)>> {
        let mut all: Vec<(usize, bool, BTreeSet<&str>)> = Vec::new();
        let mut before = BTreeSet::new();
        for piece in &self.pieces {
            match piece {
                Piece::Word { term, .. } => {
                    before.insert(term.as_str());
                }
                Piece::Pole { pair, .. } if all.iter().any(|(known, ..)| known == pair) => return None,
                Piece::Pole { pair, first } => all.push((*pair, *first, before.clone())),
            }
        }
        all.sort_by_key(|(pair, ..)| *pair);
        Some(all)
    }

    /// Whether a word stands right behind another one with a meaning, and before none.
    fn ends_a_compound(&self, wanted: &str) -> bool {
        let at = self.pieces.iter().position(|piece| matches!(piece, Piece::Word { term, .. } if term == wanted));
        let Some(at) = at else { return false };
        let behind = matches!(self.pieces.get(at), Some(Piece::Word { touches: true, .. }));
        behind && !matches!(self.pieces.get(at + 1), Some(Piece::Word { touches: true, .. }))
    }
}

/// Whether two sentences say the opposite of each other.
pub fn disagree(one: &Stance, other: &Stance) -> bool {
    if one.circumstances != other.circumstances {
        return false;
    }
    let (Some(poles), Some(others)) = (one.poles(), other.poles()) else { return false };
    if !poles.iter().map(|(pair, ..)| pair).eq(others.iter().map(|(pair, ..)| pair)) {
        return false;
    }
    let (words, theirs) = (one.words(), other.words());
    let common = words.intersection(&theirs).count();
    let mine: Vec<&str> = words.difference(&theirs).copied().collect();
    let only: Vec<&str> = theirs.difference(&words).copied().collect();
    let mut turns = one.turns + other.turns;
    let mut shared = common + poles.len();
    match (&mine[..], &only[..]) {
        ([], []) => {}
        ([mine], [only]) if turned(mine, only) => {
            turns += 1;
            shared += 1;
        }
        ([more], []) if common >= ENOUGH_FOR_ONE_MORE && one.may_say_more(more) => {}
        ([], [more]) if common >= ENOUGH_FOR_ONE_MORE && other.may_say_more(more) => {}
        _ => return false,
    }
    // "It is enabled" and "It is disabled" speak of two things.
    if shared < 2 || common == 0 {
        return false;
    }
    for ((pair, first, before), (_, same, preceding)) in poles.iter().zip(&others) {
        let mut turned = first != same;
        if OPPOSITES.get(*pair).is_some_and(|(way, ..)| *way == Relation) {
            let straight = before.intersection(preceding).count();
            let crossed = before.iter().filter(|word| theirs.contains(*word) && !preceding.contains(*word)).count();
            // "A before B" is "B after A".
            if crossed > straight {
                turned = !turned;
            } else if crossed == straight && crossed > 0 {
                return false;
            }
        }
        turns += usize::from(turned);
    }
    turns % 2 == 1
}

impl Stance {
    fn may_say_more(&self, word: &str) -> bool {
        !word.bytes().any(|byte| byte.is_ascii_digit()) && self.ends_a_compound(word)
    }
}

/// Whether one word is the other with a prefix that turns it around.
fn turned(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    short.len() >= 4 && long.strip_suffix(short).is_some_and(|prefix| TURNING.contains(&prefix))
}

/// The pair of opposites that a word belongs to, and its side, where it is said of what the sentence is about.
fn pole(word: &str, before: Option<&Token>, next: Option<&Token>) -> Option<(usize, bool)> {
    let find = |(pair, (_, first, second)): (usize, &(Way, &[&str], &[&str]))| {
        if first.contains(&word) { Some((pair, true)) } else { second.contains(&word).then_some((pair, false)) }
    };
    let (pair, first) = OPPOSITES.iter().enumerate().find_map(find)?;
    let (way, ..) = OPPOSITES.get(pair)?;
    if *way != State {
        return Some((pair, first));
    }
    let ends = |next: &Token| next.after_comma || next.after_mark;
    let attributive = next.is_some_and(|next| {
        !ends(next) && !next.word.ends_with("ly") && !words::terms(&next.surface).is_empty() && next.word != "default"
    });
    if attributive {
        return None;
    }
    if matches!(word, "on" | "off") {
        const SWITCHED: [&str; 12] =
            ["is", "are", "be", "was", "were", "turned", "switched", "set", "stays", "remains", "defaults", "to"];
        let said = before.is_some_and(|before| SWITCHED.contains(&before.word.as_str()));
        let alone = next.is_none_or(|next| ends(next) || matches!(next.word.as_str(), "by" | "in" | "for" | "and"));
        return (said && alone).then_some((pair, first));
    }
    Some((pair, first))
}

/// Whether one of two words, as they are written, is the opposite of the other.
pub fn are_opposites(one: &str, other: &str) -> bool {
    turned(one, other)
        || OPPOSITES.iter().any(|(_, first, second)| {
            first.contains(&one) && second.contains(&other) || first.contains(&other) && second.contains(&one)
        })
}

/// A word as it stands in a sentence.
pub struct Token {
    /// In lower case, without apostrophes.
    pub word: String,
    /// As it is written.
    pub surface: String,
    /// Whether a comma or semicolon stands before it.
    pub after_comma: bool,
    /// Whether any other mark stands before it.
    pub after_mark: bool,
    /// Whether a sentence could end before it.
    pub after_stop: bool,
}

/// The words of a sentence, one more than `most` at most.
pub fn tokens(sentence: &str, most: usize) -> Vec<Token> {
    let mut all = Vec::new();
    let mut end = 0;
    words::each_run(sentence, |start, run| {
        let (Run::Word(surface) | Run::Pairs(surface)) = run;
        let between = sentence.get(end..start).unwrap_or_default();
        end = start + surface.len();
        if all.len() > most {
            return;
        }
        let word: String = surface.chars().filter(|c| !matches!(c, '\'' | '’')).flat_map(char::to_lowercase).collect();
        all.push(Token {
            word,
            surface: surface.to_owned(),
            after_comma: between.contains([',', ';']),
            after_mark: between.contains([':', '=', '(', ')', '|', '–', '—', '/']),
            after_stop: between.contains(['.', '!', '?', '…']),
        });
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contradicts(one: &str, other: &str) -> bool {
        let (Some(one), Some(other)) = (Stance::read(one), Stance::read(other)) else { return false };
        let said = disagree(&one, &other);
        assert_eq!(said, disagree(&other, &one));
        said
    }

    #[test]
    fn opposites_in_words_alone_contradict() {
        for (one, other) in [
            ("The cache is enabled by default.", "By default, the cache is disabled."),
            ("The API supports streaming.", "The API does not support streaming."),
            ("The API supports streaming.", "Streaming is not supported by the API."),
            ("The API supports streaming.", "Streaming is unsupported by the API."),
            ("Backups run before the deployment.", "Backups run after the deployment."),
            ("`debug` defaults to true.", "The default of `debug` is false."),
            ("Requests are encrypted.", "Requests are never encrypted."),
            ("Logging is turned on by default.", "Logging is off by default."),
            ("Users can delete their accounts.", "Users cannot delete their accounts."),
            ("A key is required.", "A key is optional."),
            ("A key is required.", "A key isn't required."),
            ("The plugin is compatible with Python 3.12.", "The plugin is incompatible with Python 3.12."),
            ("The gateway supports WebSocket connections.", "The gateway doesn't support WebSocket."),
            ("Old logs are kept after 30 days.", "Old logs are deleted after 30 days."),
            ("Comments are allowed in the file.", "Comments are forbidden in the file."),
            ("The index is public.", "The index is private."),
            ("Light is faster than sound.", "Light is slower than sound."),
            ("The method works without a key.", "The method works with a key."),
            ("If the disk is full, writes fail.", "If the disk is full, writes succeed."),
        ] {
            assert!(contradicts(one, other), "{one} / {other}");
        }
    }

    #[test]
    fn what_can_both_be_true_does_not_contradict() {
        for (one, other) in [
            ("The cache is enabled in production.", "The cache is disabled in tests."),
            ("The cache is enabled by default.", "The response cache is disabled by default."),
            ("The cache is disabled.", "The cache is not enabled."),
            ("Logs are written before the request is sent.", "The request is sent after logs are written."),
            ("Files that are tracked are kept.", "Files that are not tracked are kept."),
            ("Enabled plugins are loaded at start.", "Disabled plugins are loaded at start."),
            ("The tool supports Windows.", "The tool does not support Windows 7."),
            ("The client retries requests.", "The client does not retry requests that changed something."),
            ("If the server answers, the client waits.", "If the server does not answer, the client waits."),
            ("The server responds.", "The server may not respond."),
            ("The API supports streaming.", "The API not only supports streaming but batches too."),
            ("The API supports streaming.", "The API supports streaming."),
            ("Does the API support streaming?", "The API does not support streaming."),
            ("Alice supports the plan.", "Bob does not support the plan."),
            ("The cache is enabled unless debug is set.", "The cache is disabled unless debug is set."),
            ("It is enabled.", "It is disabled."),
            ("The file is sent no later than noon.", "The file is sent later than noon."),
            ("Version 2 supports plugins.", "Version 1 does not support plugins."),
            ("Sound is slower than light.", "Light is faster than sound."),
            ("The left pane is open.", "The right pane is closed."),
        ] {
            assert!(!contradicts(one, other), "{one} / {other}");
        }
    }
}
