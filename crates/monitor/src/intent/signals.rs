//! From the words of a request to the signals in it.

use std::{collections::HashMap, ops::Range};

use loopwright_base::text::{head, tail};
use serde::{Deserialize, Serialize};

use super::{
    Evidence,
    words::{ACTS, ASKING, Act, MARKS, Mark, of_code, stem_of},
};
use loopwright_lexicon::{
    reading::{Kind, Reading, Sentence, Side, Token},
    words::is_stop_word,
};

/// What was seen in a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // each is a signal of its own
pub struct IntentSignals {
    /// Something is looked for where it is not known.
    pub is_exploratory: bool,
    /// It is about code.
    pub is_code_task: bool,
    /// A plan is asked for.
    pub is_planning_task: bool,
    /// Several steps, much at once, or more than twenty words.
    pub is_complex: bool,
    /// Something would be destroyed.
    pub is_destructive: bool,
    /// Steps that follow each other.
    pub is_multi_step: bool,
    /// Parts that don't need each other.
    pub has_independent_parts: bool,
    /// A question, and no more.
    pub is_question: bool,
    /// A reference to nothing, or an act without a target.
    pub is_ambiguous: bool,
    /// Knowledge is gathered.
    pub is_research: bool,
    /// What it does can't be called back.
    pub is_irreversible: bool,
    /// A greeting, thanks, a yes.
    pub is_conversational: bool,
}

impl IntentSignals {
    /// The names of those that hold.
    pub fn names(&self) -> Vec<&'static str> {
        let all = [
            ("is_exploratory", self.is_exploratory),
            ("is_code_task", self.is_code_task),
            ("is_planning_task", self.is_planning_task),
            ("is_complex", self.is_complex),
            ("is_destructive", self.is_destructive),
            ("is_multi_step", self.is_multi_step),
            ("has_independent_parts", self.has_independent_parts),
            ("is_question", self.is_question),
            ("is_ambiguous", self.is_ambiguous),
            ("is_research", self.is_research),
            ("is_irreversible", self.is_irreversible),
            ("is_conversational", self.is_conversational),
        ];
        all.into_iter().filter(|(_, holds)| *holds).map(|(name, _)| name).collect()
    }
}

/// The signals, and what only the vote needs.
#[derive(Default)]
pub(super) struct Seen {
    pub signals: IntentSignals,
    pub evidence: Vec<Evidence>,
    /// Code would be changed.
    pub changes_code: bool,
    /// A defect is told, nothing is asked.
    pub reports_defect: bool,
    /// Side by side by its very words.
    pub says_parallel: bool,
    pub words: usize,
    pub acts: usize,
    /// Words that carry meaning.
    pub content: usize,
    /// What to ask.
    pub question: Option<String>,
    /// The words are of a language that the lists don't know.
    pub foreign: bool,
    pub wide: bool,
}

pub(super) struct Found {
    pub(super) act: Act,
    pub(super) sentence: usize,
    /// Its own words.
    pub(super) own: Range<usize>,
    /// Where its object ends.
    pub(super) end: usize,
}

pub(super) struct Reader<'a> {
    pub(super) message: &'a str,
    pub(super) reading: &'a Reading,
    pub(super) seen: Seen,
    pub(super) acts: Vec<Found>,
    pub(super) stems: HashMap<String, String>,
    /// Something said before that a reference may mean.
    pub(super) context: bool,
    /// What was said before is about code.
    pub(super) context_of_code: bool,
}

pub(super) fn read(message: &str, reading: &Reading, history: &[&str]) -> Seen {
    let context = history.iter().any(|text| loopwright_lexicon::words::terms(head(text, 2_000)).len() > 1);
    let context_of_code = history.iter().rev().take(2).any(|text| {
        let reading = Reading::of(tail(text, 4_000), Side::Tail);
        let mut stems = HashMap::new();
        let (mut sure, mut weak) = (text.contains("```"), 0);
        for token in &reading.tokens {
            match token.kind {
                Kind::Code => sure = true,
                Kind::Name => sure |= is_code_name(&token.word),
                _ => match of_code(stem_of(&token.word, &mut stems)) {
                    Some(true) => sure = true,
                    Some(false) => weak += 1,
                    None => {}
                },
            }
        }
        sure || weak >= 2
    });
    let mut reader = Reader {
        message,
        reading,
        seen: Seen::default(),
        acts: Vec::new(),
        stems: HashMap::new(),
        context,
        context_of_code,
    };
    reader.run();
    reader.seen
}

impl<'a> Reader<'a> {
    fn run(&mut self) {
        let reading = self.reading;
        self.seen.words = reading
            .tokens
            .iter()
            .enumerate()
            .filter(|(at, t)| *at == 0 || reading.tokens[at - 1].start != t.start)
            .count();
        self.seen.content = reading.tokens.iter().filter(|token| is_content(token)).count();
        self.talk();
        let mut questions = 0;
        for (number, sentence) in reading.sentences.iter().enumerate() {
            let before = self.acts.len();
            let asks = self.asks(sentence);
            if asks {
                questions += 1;
            } else {
                self.find_acts(number, sentence);
            }
            if !asks && self.acts.len() == before && sentence.mark == '?' {
                questions += 1;
            }
        }
        self.close_objects();
        self.seen.acts = self.acts.len();
        self.seen.signals.is_question = questions > 0 && self.acts.is_empty();
        if self.seen.signals.is_question
            && let Some(sentence) = reading.sentences.iter().find(|s| s.mark == '?').or(reading.sentences.first())
        {
            let words = reading.words(sentence);
            let start = words.first().map_or(0, |token| token.start);
            let end = words.first().map_or(0, |token| token.end);
            self.note("question", start..end);
        }
        self.code();
        self.destruction();
        self.looking();
        self.planning();
        self.shape();
        self.ambiguity();
        let known = reading
            .tokens
            .iter()
            .filter(|t| {
                t.kind == Kind::Plain && (is_stop_word(&t.word) || ACTS.at(std::slice::from_ref(*t), 0).is_some())
            })
            .count();
        self.seen.foreign = known == 0
            && self.seen.words >= 2
            && self.acts.is_empty()
            && !self.seen.signals.is_conversational
            && (self.seen.words >= 3 || !self.message.is_ascii());
    }

    pub(super) fn note(&mut self, signal: &str, words: Range<usize>) {
        if self.seen.evidence.len() < 32 {
            self.seen.evidence.push(Evidence { signal: signal.to_owned(), words });
        }
    }

    pub(super) fn note_tokens(&mut self, signal: &str, tokens: Range<usize>) {
        let all = &self.reading.tokens;
        if let (Some(first), Some(last)) = (all.get(tokens.start), tokens.end.checked_sub(1).and_then(|at| all.get(at)))
        {
            let words = first.start..last.end.max(first.end);
            self.note(signal, words);
        }
    }

    /// A message of greetings and nods alone.
    fn talk(&mut self) {
        let tokens = &self.reading.tokens;
        if tokens.is_empty() || tokens.len() > 12 {
            return;
        }
        let mut at = 0;
        let mut said = 0;
        while at < tokens.len() {
            if let Some((Mark::Talk, length)) = MARKS.at(tokens, at) {
                at += length;
                said += 1;
            } else if matches!(
                tokens.get(at).map_or("", |t| t.word.as_str()),
                "you"
                    | "so"
                    | "much"
                    | "very"
                    | "a"
                    | "lot"
                    | "for"
                    | "your"
                    | "the"
                    | "help"
                    | "there"
                    | "that"
                    | "this"
                    | "is"
                    | "it"
                    | "was"
                    | "are"
                    | "how"
                    | "all"
                    | "again"
                    | "and"
                    | "with"
                    | "everyone"
                    | "to"
                    | "me"
                    | "works"
                    | "please"
                    | "then"
                    | "just"
                    | "really"
            ) {
                at += 1;
            } else {
                return;
            }
        }
        if said > 0 {
            self.seen.signals.is_conversational = true;
            self.note_tokens("conversational", 0..tokens.len());
        }
    }

    /// Whether a sentence asks, rather than asks for something to be done.
    fn asks(&self, sentence: &Sentence) -> bool {
        let words = self.reading.words(sentence);
        let mut at = 0;
        while words.get(at).is_some_and(|t| {
            matches!(
                t.word.as_str(),
                "so" | "and" | "but" | "ok" | "okay" | "hi" | "hello" | "hey" | "also" | "well" | "please" | "then"
            )
        }) {
            at += 1;
        }
        let Some(first) = words.get(at) else { return false };
        if !ASKING.hold(&first.word) {
            return false;
        }
        let word = |at: usize| words.get(at).map_or("", |token| token.word.as_str());
        // "Can you fix it?", "Would you mind …": a request.
        if let Some((Mark::Polite, length)) = MARKS.at(words, at)
            && length > 1
        {
            let verb = at + length;
            let skip = usize::from(matches!(
                word(verb),
                "please" | "also" | "just" | "quickly" | "maybe" | "first" | "explaining" | "kindly" | "now"
            ));
            // "Can you swim?" is a question whatever; only known acts make a request.
            return ACTS.at(words, verb + skip).is_none()
                && !MARKS.at(words, verb + skip).is_some_and(|(mark, _)| mark == Mark::Polite);
        }
        match first.word.as_str() {
            "do" => {
                matches!(
                    word(at + 1),
                    "you" | "we" | "they" | "i" | "the" | "these" | "those" | "any" | "all" | "people" | "not"
                ) && sentence.mark == '?'
            }
            "when" | "where" => sentence.mark == '?' || !words.iter().skip(at + 1).any(|t| t.after_mark),
            "will" | "has" | "have" | "had" | "is" | "are" | "was" | "were" | "may" | "might" | "am" => {
                sentence.mark == '?'
                    || matches!(
                        word(at + 1),
                        "it" | "there" | "the" | "this" | "that" | "you" | "my" | "i" | "we" | "they"
                    )
            }
            _ => true,
        }
    }

    fn find_acts(&mut self, number: usize, sentence: &Sentence) {
        let tokens = &self.reading.tokens;
        let within = tokens.get(..sentence.tokens.end).unwrap_or_default();
        let mut free = true;
        let mut at = sentence.tokens.start;
        while at < sentence.tokens.end {
            let Some(token) = tokens.get(at) else { break };
            if token.after_mark
                || (at > sentence.tokens.start
                    && matches!(
                        tokens.get(at - 1).map_or("", |t| t.word.as_str()),
                        "and" | "then" | "or" | "but" | "also" | "plus" | "afterwards" | "next"
                    ))
            {
                free = true;
            }
            if let Some((Mark::Forbids, length)) = MARKS.at(within, at) {
                free = false;
                at += length;
                continue;
            }
            let polite = MARKS.all_at(within, at).find(|(mark, _)| *mark == Mark::Polite);
            let act = ACTS.at(within, at);
            // A wish stands anywhere: "the login is broken, so I need you to fix it".
            let polite = polite.filter(|(_, length)| *length > 1 || free);
            if let Some((_, length)) = polite.filter(|(_, length)| act.is_none_or(|(_, longer)| longer <= *length)) {
                free = true;
                at += length;
                continue;
            }
            if let Some((Mark::Independent | Mark::Ordered, length)) =
                MARKS.at(within, at).filter(|_| free || act.is_none())
                && length > 1
            {
                free = true;
                at += length;
                continue;
            }
            if let Some((act, length)) = act.filter(|_| free) {
                let next = tokens.get(at + length).map_or("", |t| t.word.as_str());
                let noun = matches!(
                    next,
                    "is" | "are"
                        | "was"
                        | "were"
                        | "has"
                        | "fails"
                        | "failed"
                        | "does"
                        | "keeps"
                        | "will"
                        | "should"
                        | "can"
                        | "did"
                        | "had"
                        | "have"
                ) && !(next == "have" && act == Act::Other)
                    || (at > sentence.tokens.start
                        && !token.after_mark
                        && length == 1
                        && matches!(tokens.get(at - 1).map_or("", |t| t.word.as_str()), "and" | "or")
                        && self.lists_nouns(sentence, at));
                if !noun {
                    self.acts.push(Found { act, sentence: number, own: at..at + length, end: sentence.tokens.end });
                    at += length;
                    free = false;
                    continue;
                }
            }
            free = false;
            at += 1;
        }
    }

    /// "tests and build": a noun that looks like a verb, in the middle of a list of nouns.
    fn lists_nouns(&self, sentence: &Sentence, at: usize) -> bool {
        let tokens = &self.reading.tokens;
        // Behind a verb there is an object or the end; a noun is followed by an ending or a verb.
        let next = tokens.get(at + 1).filter(|_| at + 1 < sentence.tokens.end);
        let before = at.checked_sub(2).and_then(|at| tokens.get(at));
        let object = next.is_some_and(|t| t.kind != Kind::Plain || is_stop_word(&t.word) || is_content(t));
        !object
            && before.is_some_and(is_content)
            && self.acts.last().is_some_and(|last| last.own.end + 1 >= at.saturating_sub(1))
            && ACTS.at(tokens, at.saturating_sub(2)).is_none()
    }

    fn close_objects(&mut self) {
        for at in 0..self.acts.len() {
            if let Some(next) = self.acts.get(at + 1).map(|next| (next.sentence, next.own.start))
                && let Some(act) = self.acts.get_mut(at)
                && next.0 == act.sentence
            {
                act.end = next.1.max(act.own.end);
            }
        }
    }

    pub(super) fn object(&self, act: &Found) -> &'a [Token] {
        self.reading.tokens.get(act.own.end..act.end).unwrap_or_default()
    }
}

pub(super) fn is_content(token: &Token) -> bool {
    // "compare X and Y": a capital by itself names something, if it is no word.
    let letter = token.capital && token.word.len() == 1 && !matches!(token.word.as_str(), "a" | "i");
    (letter || token.word.len() > 1 && !is_stop_word(&token.word)) && token.word.chars().any(char::is_alphanumeric)
}

/// A file of code, a path, an identifier; not a version, a price or an abbreviation.
pub(super) fn is_code_name(word: &str) -> bool {
    word.contains('_')
        || word.contains('/') && !word.contains("://") && !word.chars().all(|c| c.is_ascii_digit() || c == '/')
        || word.rsplit_once('.').is_some_and(|(head, end)| {
            !head.is_empty()
                && matches!(
                    end,
                    "py" | "rs"
                        | "js"
                        | "ts"
                        | "tsx"
                        | "jsx"
                        | "go"
                        | "java"
                        | "c"
                        | "h"
                        | "cpp"
                        | "cs"
                        | "rb"
                        | "php"
                        | "swift"
                        | "kt"
                        | "sh"
                        | "sql"
                        | "html"
                        | "css"
                        | "json"
                        | "yaml"
                        | "yml"
                        | "toml"
                        | "xml"
                        | "lock"
                        | "ipynb"
                        | "vue"
                        | "scss"
                        | "lua"
                        | "dart"
                        | "ex"
                        | "hs"
                )
        })
        || word == "makefile"
}

pub(super) fn marked(tokens: &[Token], wanted: Mark) -> Option<(usize, usize)> {
    (0..tokens.len())
        .find_map(|at| MARKS.all_at(tokens, at).find(|(mark, _)| *mark == wanted).map(|(_, length)| (at, length)))
}
