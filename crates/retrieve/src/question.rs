//! What a question asks for: its words, and the kind of thing that answers it.

use std::collections::HashSet;

use super::{
    asked::{
        Asked, asked, asks_bound, asks_change, bounds, counted, counts, example, holds, list, noun, says, synonyms,
    },
    way::{self, Way},
};
use loopwright_lexicon::{
    tongues,
    words::{self, Word},
};

/// At most this many words of a question count.
const MAX_NEEDS: usize = 48;

/// What the last part of a dotted name counts at least.
const MEMBER: f64 = 0.6;

/// A word of the question.
pub(super) struct Need {
    pub(super) word: Word,
    /// Other words that would do, stemmed.
    pub(super) others: Vec<&'static HashSet<String>>,
    /// What it weighs before its rarity is known.
    pub(super) weight: f64,
    /// Whether its absence is worth telling.
    pub(super) nameable: bool,
}

impl Need {
    /// How much of the word stands in a unit, given its text and terms.
    pub(super) fn met_in(&self, text: &str, terms: &HashSet<String>) -> f64 {
        let met = self.met_by(terms);
        if met < 0.7 && has_shape(&self.word.whole, text) { 0.7 } else { met }
    }

    /// How much of the word stands among `terms`: 1 is all.
    pub(super) fn met_by(&self, terms: &HashSet<String>) -> f64 {
        if terms.contains(&self.word.whole) {
            return 1.0;
        }
        if !self.word.parts.is_empty() {
            let held = || self.word.parts.iter().filter(|part| terms.contains(*part));
            // A number alone is no part of a name.
            let met = if held().any(|part| part.contains(char::is_alphabetic)) { held().count() } else { 0 };
            let share = 0.9 * met as f64 / self.word.parts.len() as f64;
            // `notices` is what `connection.notices` is of a connection.
            let ends =
                self.word.surface.contains('.') && self.word.parts.last().is_some_and(|last| terms.contains(last));
            return if ends { share.max(MEMBER) } else { share };
        }
        if self.others.iter().any(|group| group.iter().any(|other| terms.contains(other))) {
            return 0.7;
        }
        // `config` and `configuration` have different stems.
        let stem = self.word.whole.as_str();
        let alike = |term: &String| {
            let (short, long) = if term.len() < stem.len() { (term.as_str(), stem) } else { (stem, term.as_str()) };
            let agent =
                long.strip_prefix(short).is_some_and(|end| matches!(end, "r" | "er" | "or")) && short.len() >= 4;
            agent || short.len() >= 5 && long.len() <= short.len() + 6 && long.starts_with(short)
        };
        if stem.len() >= 4 && terms.iter().any(alike) { 0.7 } else { 0.0 }
    }
}

/// Whether `text` holds a thing of the kind that `word` names, without naming it: `1.22` is a version.
fn has_shape(word: &str, text: &str) -> bool {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    match word {
        "version" => (1..bytes.len()).any(|at| bytes.get(at) == Some(&b'.') && digit(at - 1) && digit(at + 1)),
        "zone" | "timezon" => ["UTC", "GMT", "CET", "PST", "EST"].iter().any(|zone| text.contains(zone)),
        "price" | "cost" | "fee" => text.contains(['$', '€', '£']) || text.contains("USD") || text.contains("EUR"),
        "email" | "mail" => text.contains('@') && text.contains('.'),
        "url" | "link" | "websit" | "homepag" => text.contains("://"),
        "percentag" | "percent" => text.contains('%'),
        "year" => (3..bytes.len()).any(|at| (at - 3..=at).all(digit)),
        _ => false,
    }
}

/// A question taken apart.
pub(super) struct Question {
    /// As it was asked.
    text: String,
    pub(super) needs: Vec<Need>,
    asked: Vec<Asked>,
    /// What it wants counted, stemmed, and whether it asks how far something may go.
    counted: Option<String>,
    bound: bool,
    /// How it asks for a way to do something, if it does, and whether hardly a word of it says which.
    way: Option<Way>,
    vague: bool,
    /// Whether it is in another language than English: then words meet only as they are written.
    pub(super) unstemmed: bool,
    /// Whether it asks for what was changed.
    pub(super) asks_change: bool,
    /// Whether it asks what something is called.
    pub(super) asks_name: bool,
    /// Whether it asks for what stands in a table.
    pub(super) asks_table: bool,
}

impl Question {
    pub(super) fn read(text: &str) -> Self {
        let lower = text.to_lowercase();
        let mut needs: Vec<Need> = Vec::new();
        // Stop words are those of English.
        let all = words::words(text);
        let mut asked = asked(&lower);
        let noun = noun(&lower);
        let lasting = asked.contains(&Asked::Duration);
        let written: Vec<String> =
            lower.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '-')).map(str::to_owned).collect();
        let empty: HashSet<&String> = written
            .iter()
            .zip(tongues::empty_words(&written))
            .filter(|(_, empty)| *empty)
            .map(|(word, _)| word)
            .collect();
        let example = example(&lower);
        let asks_row = says(&lower, "rows");
        for word in all {
            if needs.len() >= MAX_NEEDS {
                break;
            }
            if empty.contains(&word.surface.to_lowercase()) {
                continue;
            }
            if needs.iter().any(|need| need.word.whole == word.whole) {
                continue;
            }
            let surface = word.surface.to_lowercase();
            // A word with a capital inside the question is a name: `Go` is not `go`.
            let named = word.is_name();
            // The kind of thing that is asked for is none of what the question is about.
            let is_form = noun.as_ref() == Some(&surface) && asked.iter().any(|asked| matches!(asked, Asked::Name(_)));
            let is_place = asks_row && list("tables").contains(&surface);
            let soft = (list("soft").contains(&surface) || is_form || is_place) && !named
                || example.is_some_and(|start| word.start > start);
            let others = synonyms().filter(|group| group.contains(&word.whole)).collect();
            let lasts = lasting && list("lasting").contains(&surface);
            // "How do I write a comment?" is about the comment.
            let does = list("imperatives").contains(&surface) && !named;
            let weight = if soft || lasts {
                0.3
            } else if does {
                0.6
            } else {
                1.0
            };
            needs.push(Need { word, others, weight, nameable: !soft });
        }
        if needs.iter().all(|need| !need.nameable) {
            // "What does it mean?": soft words are all there is.
            for need in &mut needs {
                need.nameable = true;
                need.weight = 1.0;
            }
        }
        let few = needs.iter().filter(|need| need.nameable).count() <= 2;
        let starts =
            ["what is ", "what are ", "what's ", "what does "].iter().any(|w| lower.trim_start().starts_with(w));
        if asked.is_empty() && few && starts {
            asked.push(Asked::Meaning);
        }
        // Of "How does it work?" soft words are all there is, of "How do I start?" there is one more.
        let meant = needs.iter().filter(|need| !list("soft").contains(&need.word.surface.to_lowercase())).count();
        let way = Way::of(&lower);
        let vague = match way {
            Some(Way::Deed) => meant <= 1,
            Some(Way::Working) => meant == 0,
            None => false,
        };
        let asks_table = says(&lower, "tables");
        let (asks_name, asks_change) = (says(&lower, "titles"), asks_change(&lower));
        let (counted, bound) = (counted(&lower), asks_bound(&lower));
        let text = text.to_owned();
        let unstemmed = !empty.is_empty();
        Self { text, needs, asked, counted, bound, way, vague, unstemmed, asks_change, asks_name, asks_table }
    }

    /// Whether nothing stands between a word and the next.
    pub(super) fn are_neighbours(&self, at: usize) -> bool {
        let next = self.needs.get(at + 1).map(|next| next.word.start);
        self.needs.get(at).is_some_and(|need| Some(need.word.start + need.word.surface.len() + 1) == next)
    }

    /// Whether it asks for a way to do something with so few words that a sentence which holds them need not tell it.
    pub(super) fn is_vague(&self) -> bool {
        self.vague
    }

    /// Whether a sentence tells how something is done, for a question that asks for that.
    pub(super) fn tells_a_way(&self, text: &str, is_code: bool) -> bool {
        match self.way {
            Some(Way::Deed) => {
                is_code || way::instructs(text) || self.needs.iter().any(|need| way::does(&need.word.surface, text))
            }
            // How something is, only what stands under the right heading tells.
            Some(Way::Working) => false,
            None => true,
        }
    }

    /// What of all that is asked for `text` does not hold, though no answer can do without.
    pub(super) fn lacks(&self, text: &str, is_code: bool) -> Option<Asked> {
        let lacks = |asked: &&Asked| {
            // "How many can it …" asks what it comes to, as well as how far it may go.
            let bound = self.bound && **asked == Asked::Number && !says(&self.text, "able") && !bounds(text);
            asked.must_be_held() && (bound || !holds(**asked, text, &self.text, is_code))
        };
        let way = self.way == Some(Way::Deed) && !self.tells_a_way(text, is_code);
        self.asked.iter().find(lacks).copied().or(way.then_some(Asked::How))
    }

    /// Whether code may hold what it asks for.
    pub(super) fn may_stand_in_code(&self) -> bool {
        let may = |asked: &Asked| {
            matches!(asked, Asked::How | Asked::Default | Asked::Exception | Asked::Meaning)
                || matches!(asked, Asked::Name(_)) && says(&self.text, "asks.command")
        };
        self.asked.iter().all(may)
    }

    /// Whether it asks for the name of a function, an option and the like.
    pub(super) fn names_a_thing(&self) -> bool {
        self.asked.iter().any(|asked| matches!(asked, Asked::Name(_)))
    }

    pub(super) fn is(&self, asked: Asked) -> bool {
        self.asked.contains(&asked)
    }

    /// The words that `pick` picks, neighbours joined, as they stand in the question.
    pub(super) fn names(&self, pick: impl Fn(usize) -> bool) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let mut end = None;
        for (at, need) in self.needs.iter().enumerate() {
            if !need.nameable || !pick(at) {
                continue;
            }
            let surface = need.word.surface.trim_end_matches("'s").trim_end_matches("’s");
            let whole = surface.len() == need.word.surface.len();
            match names.last_mut() {
                Some(name) if end.is_some_and(|end| end + 1 == need.word.start) => {
                    name.push(' ');
                    name.push_str(&surface.replace('`', "'"));
                }
                _ => names.push(surface.replace('`', "'")),
            }
            end = whole.then_some(need.word.start + need.word.surface.len());
        }
        names
    }

    /// Whether `text` says what a word of the question is.
    fn defines(&self, text: &str) -> bool {
        let lower = text.to_lowercase();
        self.needs.iter().filter(|need| need.nameable).any(|need| {
            lower.split_once(&need.word.surface.to_lowercase()).is_some_and(|(before, after)| {
                let after = after.trim_start_matches(['`', '*', '"', ')', ']', 's']);
                before.len() <= 24
                    && [" is ", " are ", " means ", ": ", " sets ", " gives ", " says "]
                        .iter()
                        .any(|w| after.starts_with(w))
            })
        })
    }

    /// How well `text` is the kind of thing that is asked for: around 1.
    pub(super) fn fit(&self, text: &str, is_code: bool) -> f64 {
        let mut fit = 1.0;
        if self.way == Some(Way::Deed) {
            let other = if self.vague { 0.35 } else { 0.75 };
            fit *= if self.tells_a_way(text, is_code) { 1.25 } else { other };
            // "To load a template, …", "You can load …": the deed itself is what the sentence is about.
            let start: Vec<String> = words::terms(&text.chars().take(40).collect::<String>());
            let deed = self.needs.iter().find(|need| need.nameable).map(|need| &need.word.whole);
            if deed.is_some() && (start.first() == deed || start.get(1) == deed) {
                fit *= 1.25;
            }
        }
        for asked in &self.asked {
            fit *= match (asked, holds(*asked, text, &self.text, is_code)) {
                // A number counts what it stands with.
                (Asked::Number, true) if self.counted.as_ref().is_some_and(|thing| counts(text, thing)) => 1.7,
                (Asked::Duration | Asked::Size | Asked::Number, true) if self.bound => {
                    if bounds(text) {
                        1.6
                    } else {
                        1.2
                    }
                }
                (Asked::Duration | Asked::Size | Asked::Number, true) => 1.35,
                // Words of the question without what it asks for answer nothing.
                (Asked::Duration | Asked::Size, false) => 0.5,
                (Asked::Number | Asked::Version | Asked::Default | Asked::Exception | Asked::Name(_), false) => 0.65,
                (Asked::Why | Asked::When | Asked::Who | Asked::Version, true) => 1.3,
                (Asked::Default | Asked::Exception, true) => 1.4,
                (Asked::Name(_), true) => 1.15,
                (Asked::Where, true) => 1.25,
                (Asked::How, true) => 1.1,
                (Asked::Meaning, _) => {
                    if self.defines(text) {
                        1.4
                    } else {
                        1.0
                    }
                }
                _ => 0.95,
            };
        }
        fit
    }
}
