//! From the words of a request to the signals in it.

use std::{collections::HashMap, ops::Range};

use serde::{Deserialize, Serialize};

use super::{
    Evidence,
    words::{
        ACTS, ALL_OF_IT, ASKING, AT_HAND, Act, MANY, MARKS, Mark, NAMELESS, PRONOUNS, among, of_code, of_data, stem_of,
    },
};
use crate::core::{
    retrieve::words::is_stop_word,
    sense::reading::{Kind, Reading, Sentence, Side, Token},
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

struct Found {
    act: Act,
    sentence: usize,
    /// Its own words.
    own: Range<usize>,
    /// Where its object ends.
    end: usize,
}

struct Reader<'a> {
    message: &'a str,
    reading: &'a Reading,
    seen: Seen,
    acts: Vec<Found>,
    stems: HashMap<String, String>,
    /// Something said before that a reference may mean.
    context: bool,
    /// What was said before is about code.
    context_of_code: bool,
}

pub(super) fn read(message: &str, reading: &Reading, history: &[&str]) -> Seen {
    let context = history.iter().any(|text| {
        let end = (0..=text.len().min(2_000)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or_default();
        crate::core::retrieve::words::terms(text.get(..end).unwrap_or_default()).len() > 1
    });
    let context_of_code = history.iter().rev().take(2).any(|text| {
        let start =
            (text.len().saturating_sub(4_000)..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or_default();
        let reading = Reading::of(text.get(start..).unwrap_or_default(), Side::Tail);
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

    fn note(&mut self, signal: &str, words: Range<usize>) {
        if self.seen.evidence.len() < 32 {
            self.seen.evidence.push(Evidence { signal: signal.to_owned(), words });
        }
    }

    fn note_tokens(&mut self, signal: &str, tokens: Range<usize>) {
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
        if !among(ASKING, first) {
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

    fn object(&self, act: &Found) -> &'a [Token] {
        self.reading.tokens.get(act.own.end..act.end).unwrap_or_default()
    }

    fn code(&mut self) {
        let reading = self.reading;
        let mut strong: Option<usize> = None;
        let mut weak = 0;
        for (at, token) in reading.tokens.iter().enumerate() {
            let sure = match token.kind {
                Kind::Code => true,
                Kind::Name => is_code_name(&token.word),
                _ => match of_code(stem_of(&token.word, &mut self.stems)) {
                    Some(true) => true,
                    Some(false) => {
                        weak += 1;
                        false
                    }
                    None => false,
                },
            };
            if sure && strong.is_none() {
                strong = Some(at);
            }
        }
        let acts_on_code = self.acts.iter().find(|found| found.act == Act::Code).map(|found| found.own.clone());
        let sure_act = acts_on_code.clone().filter(|own| {
            // "fix dinner", "program the oven": only with something of code, except where no other meaning is.
            reading.tokens.get(own.start).is_some_and(|token| among("refactor|debug|reimplement|lint|memoize|deduplicate|modularize|typecheck|dockerize|containerize|rebase|bisect|transpile|backport|rebase|monkeypatch|hotfix", token))
        });
        let code_block = reading.has_blocks && self.message.contains("```");
        self.seen.signals.is_code_task =
            strong.is_some() || sure_act.is_some() || weak >= 2 || code_block || (weak >= 1 && acts_on_code.is_some());
        if self.seen.signals.is_code_task {
            match (sure_act, strong) {
                (Some(own), _) => self.note_tokens("code_task", own),
                (None, Some(at)) => self.note_tokens("code_task", at..at + 1),
                _ => {}
            }
        }
        let changes = self.acts.iter().any(|found| {
            let acts_on = |tokens: &[Token], stems: &mut HashMap<String, String>| {
                tokens.iter().any(|token| match token.kind {
                    Kind::Code => true,
                    Kind::Name => is_code_name(&token.word),
                    _ => of_code(stem_of(&token.word, stems)).is_some(),
                })
            };
            match found.act {
                Act::Code => true,
                Act::Change => acts_on(self.object(found), &mut HashMap::new()),
                // A file, a table, a cache: gone or not, no code has changed.
                Act::Remove | Act::Destroy => {
                    let object = self.object(found);
                    let data = object.iter().any(|token| of_data(stem_of(&token.word, &mut HashMap::new())));
                    is_piece_of_code(object) || (acts_on(object, &mut HashMap::new()) && !data)
                }
                _ => false,
            }
        });
        // "Fix it", and what was said before is code.
        let refers = self.context_of_code
            && self.acts.iter().any(|found| {
                let object = self.object(found);
                matches!(found.act, Act::Code | Act::Change)
                    && (object.is_empty() || object.iter().take(2).any(|token| among(PRONOUNS, token)))
                    && !object.iter().any(|token| among("into|to", token))
            });
        self.seen.signals.is_code_task |= refers;
        self.seen.changes_code = refers || (changes && self.seen.signals.is_code_task);
        let broken = reading.tokens.iter().position(|token| {
            among("bug|broken|fails|failing|crash|crashes|crashing|crashed|regression|segfault|segfaults|exception|traceback|error|errors|bugs|hangs|leaks|undefined|deadlock", token)
        });
        if let Some(at) = broken
            && self.acts.is_empty()
            && !self.seen.signals.is_question
            && self.seen.signals.is_code_task
        {
            self.seen.reports_defect = true;
            self.note_tokens("defect", at..at + 1);
        }
    }

    fn destruction(&mut self) {
        let mut own = Vec::new();
        let mut irreversible = false;
        for found in &self.acts {
            let object = self.object(found);
            let data = object.iter().any(|token| of_data(stem_of(&token.word, &mut self.stems)));
            let head_is_code = is_piece_of_code(object);
            let inline = object.iter().any(|token| {
                token.kind == Kind::Code
                    && is_destructive_code(self.message.get(token.start..token.end).unwrap_or_default())
            });
            let code_names = object.iter().any(|token| token.kind != Kind::Plain);
            match found.act {
                Act::Destroy => {
                    own.push(found.own.clone());
                    irreversible |= !head_is_code;
                }
                Act::Remove
                    if (data && !head_is_code)
                        || (object.iter().any(|t| among(ALL_OF_IT, t)) && !head_is_code && !code_names) =>
                {
                    own.push(found.own.clone());
                    irreversible = true;
                }
                _ if inline => {
                    own.push(found.own.clone());
                    irreversible = true;
                }
                _ => {}
            }
        }
        for tokens in own {
            self.seen.signals.is_destructive = true;
            self.note_tokens("destructive", tokens);
        }
        for found in &self.acts {
            if found.act == Act::Outward {
                let everyday = self.object(found).iter().any(|token| {
                    among("test|tests|song|joke|function|flag|loop|script|tests|query|command|program", token)
                });
                irreversible |= !everyday;
            }
        }
        let mark = marked(&self.reading.tokens, Mark::Irreversible);
        if let Some((at, length)) = mark.filter(|_| !self.acts.is_empty()) {
            irreversible = true;
            self.note_tokens("irreversible", at..at + length);
        }
        self.seen.signals.is_irreversible = irreversible;
    }

    fn looking(&mut self) {
        let exploring = marked(&self.reading.tokens, Mark::Exploring);
        let mut research = None;
        let mut explore = None;
        for found in &self.acts {
            let object = self.object(found);
            match found.act {
                // "Find out how sessions are stored in this repo": looking around, not reading up.
                Act::Research
                    if exploring.is_some()
                        || self.acts.iter().any(|one| one.act == Act::Explore)
                            && self
                                .reading
                                .tokens
                                .get(found.own.start)
                                .is_some_and(|token| among("find|analyze|analyse|study|assess|evaluate", token)) =>
                {
                    explore = explore.or(Some(found.own.clone()));
                }
                Act::Research => research = research.or(Some(found.own.clone())),
                Act::Explore => {
                    let asks = object.iter().any(|token| among("why|how|where|which|what|whether|who|whatever", token));
                    let deep = self.reading.tokens.get(found.own.start).is_some_and(|token| among("explore|investigate|trace|inspect|scan|diagnose|audit|grep|hunt|scour|pinpoint|browse|dig|track|poke|get|familiarize|walk|map|examine|understand|uncover|survey", token));
                    let of_code = object
                        .iter()
                        .any(|token| token.kind != Kind::Plain || of_code(&stem_plain(&token.word)).is_some());
                    let wide =
                        object.iter().any(|token| among("all|every|any|codebase|repo|repository|project", token));
                    if asks || deep || of_code || wide || exploring.is_some() {
                        explore = explore.or(Some(found.own.clone()));
                    }
                }
                _ => {}
            }
        }
        // "Explain how the codebase is organised": looking, whatever the verb.
        if explore.is_none()
            && let Some((at, length)) = exploring
            && self.acts.iter().any(|found| {
                found.act == Act::Other
                    && self
                        .object(found)
                        .iter()
                        .any(|t| among("how|where|which|overview|structure|what|architecture|why", t))
            })
            && self.reading.tokens.iter().any(|t| {
                among(
                    "codebase|repo|repository|project|code|source|modules|files|places|usages|uses|references|callers",
                    t,
                )
            })
        {
            explore = Some(at..at + length);
        }
        if let Some(own) = research {
            self.seen.signals.is_research = true;
            self.note_tokens("research", own);
        }
        if let Some(own) = explore {
            self.seen.signals.is_exploratory = true;
            self.note_tokens("exploratory", own);
        }
    }

    fn planning(&mut self) {
        let plan = self.acts.iter().find(|found| found.act == Act::Plan).map(|found| found.own.clone());
        let product = marked(&self.reading.tokens, Mark::Planning).map(|(at, length)| at..at + length);
        let makes = self.acts.iter().any(|found| matches!(found.act, Act::Change | Act::Other | Act::Plan));
        let own = plan.or_else(|| product.filter(|_| makes && !self.seen.signals.is_question));
        if let Some(own) = own {
            self.seen.signals.is_planning_task = true;
            self.note_tokens("planning_task", own);
        }
    }

    /// How many steps there are, and whether they need each other.
    fn shape(&mut self) {
        let tokens = &self.reading.tokens;
        let steps = self.acts.iter().filter(|found| !self.is_idle(found)).count();
        let ordered = marked(tokens, Mark::Ordered);
        let items: Vec<&Sentence> = self.reading.sentences.iter().filter(|s| s.item).collect();
        let numbered = items
            .iter()
            .filter(|s| {
                let line =
                    self.message.get(..s.bytes.start).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
                line.trim().starts_with(|c: char| c.is_ascii_digit())
            })
            .count();
        let acting_items =
            items.iter().filter(|s| self.acts.iter().any(|found| s.tokens.contains(&found.own.start))).count();
        let refers_back = self.acts.iter().skip(1).any(|found| {
            let object = self.object(found);
            object.iter().take(2).any(|t| among("it|them|that|those|result|results|these|this", t))
                || object
                    .windows(2)
                    .any(|two| two[0].word == "the" && among("result|results|output|findings|answer|summary", &two[1]))
        });
        let strong = tokens
            .iter()
            .enumerate()
            .find(|(_, t)| among("simultaneously|independently|separately|concurrently|meanwhile", t))
            .map(|(at, _)| at..at + 1)
            .or_else(|| {
                (0..tokens.len())
                    .find(|&at| {
                        let word = |at: usize| tokens.get(at).map_or("", |t| t.word.as_str());
                        (word(at) == "in" && word(at + 1) == "parallel")
                            || (word(at) == "at"
                                && word(at + 1) == "the"
                                && word(at + 2) == "same"
                                && word(at + 3) == "time")
                    })
                    .map(|at| at..at + 2)
            });
        let beside = marked(tokens, Mark::Independent);
        let counted =
            tokens.iter().any(|t| among("first|firstly", t)) && tokens.iter().any(|t| among("second|secondly", t));
        let then =
            ordered.is_some_and(|(at, _)| tokens.get(at).is_some_and(|t| !among("finally|lastly", t)) && (at > 0));
        let research_parts = self.acts.iter().any(|found| found.act == Act::Research && parts(self.object(found)) >= 2);
        let bullets = acting_items >= 2 && numbered == 0;
        let mut independent = None;
        if let Some(own) =
            strong.filter(|_| steps >= 2 || research_parts || !self.acts.is_empty() && self.seen.words > 5)
        {
            self.seen.says_parallel = true;
            independent = Some(own);
        } else if !then && !refers_back {
            let firm = |at: usize, length: usize| {
                length > 1 && tokens.get(at + length - 1).is_some_and(|t| among("also|as|addition", t))
            };
            if let Some((at, length)) =
                beside.filter(|(at, length)| steps >= 2 || (steps == 1 && *at > 1 && firm(*at, *length)))
            {
                independent = Some(at..at + length);
            } else if counted && steps >= 2 {
                independent = tokens.iter().position(|t| among("second|secondly", t)).map(|at| at..at + 1);
            } else if research_parts {
                independent =
                    self.acts.iter().find(|found| found.act == Act::Research).map(|found| found.own.start..found.end);
            } else if bullets && steps >= 2 {
                independent = items.first().map(|s| s.tokens.clone());
            }
        }
        let split = independent.is_some();
        if let Some(own) = independent {
            self.seen.signals.has_independent_parts = true;
            self.note_tokens("independent_parts", own);
        }
        let multi = (steps >= 2 && !split)
            || numbered >= 2 && !self.acts.is_empty()
            || (then && steps >= 1 && self.seen.words > 6);
        if multi {
            self.seen.signals.is_multi_step = true;
            match ordered {
                Some((at, length)) => self.note_tokens("multi_step", at..at + length),
                None => {
                    if let Some(own) = self.acts.get(1).map(|found| found.own.clone()) {
                        self.note_tokens("multi_step", own);
                    }
                }
            }
        }
        let wide = marked(tokens, Mark::Wide);
        self.seen.wide = wide.is_some();
        let long = self.seen.words > 20;
        if !self.acts.is_empty() && (multi || long || wide.is_some() || steps >= 3) {
            self.seen.signals.is_complex = true;
            if let Some((at, length)) = wide {
                self.note_tokens("complex", at..at + length);
            } else if long {
                self.note_tokens("complex", 0..tokens.len());
            }
        }
    }

    /// "Help me", "go ahead": opens a request, and is no step of it.
    fn is_idle(&self, found: &Found) -> bool {
        let first = self.reading.tokens.get(found.own.start);
        first.is_some_and(|t| {
            among("help|try|make|let|keep|use|do|proceed|continue|wait|say|ensure|confirm|pretend|act|imagine", t)
        }) && self.acts.len() > 1
            && self.object(found).iter().filter(|t| is_content(t)).count() < 2
            || first.is_some_and(|t| {
                among(
                    "ensure|make|keep|use|wait|allow|prevent|let|report|reply|say|answer|confirm|handle|support|try",
                    t,
                )
            }) && self.acts.first().is_some_and(|one| one.own != found.own)
    }

    fn ambiguity(&mut self) {
        if self.context || self.seen.signals.is_conversational {
            return;
        }
        let tokens = &self.reading.tokens;
        if tokens.iter().all(|t| !t.word.chars().any(char::is_alphanumeric) && t.kind == Kind::Plain) {
            self.seen.signals.is_ambiguous = true;
            self.seen.question = Some("What would you like to have done?".to_owned());
            return;
        }
        if self.reading.has_blocks {
            return;
        }
        let mut hit: Option<(Range<usize>, String)> = None;
        for found in &self.acts {
            let Some(first) = tokens.get(found.own.start) else { continue };
            let own = tokens.get(found.own.clone()).unwrap_or_default();
            let verb = own.iter().map(|t| t.word.as_str()).collect::<Vec<_>>().join(" ");
            let object = self.object(found);
            let behind = tokens.get(found.end..).unwrap_or_default();
            let antecedent = tokens.get(..found.own.start).unwrap_or_default().iter().enumerate().any(|(at, t)| {
                (t.kind != Kind::Plain || is_content(t))
                    && !among(NAMELESS, t)
                    && !among(ALL_OF_IT, t)
                    && !self.acts.iter().any(|one| one.own.contains(&at))
                    && !among("please|help|hey|hi|hello|quickly|just|now|anyone|maybe", t)
            });
            let named = object.iter().any(|t| t.kind != Kind::Plain);
            let content: Vec<&Token> =
                object.iter().filter(|t| t.kind != Kind::Plain || (is_content(t) && !among(VAGUE, t))).collect();
            // "Translate this: good morning."
            let given = object.iter().skip(1).any(|t| t.after_mark && is_content(t))
                && object.iter().take(3).any(|t| among("this|these|following|below", t))
                || behind.iter().any(|t| t.kind == Kind::Quote)
                || (self.reading.sentences.get(found.sentence).is_some_and(|s| s.mark == ':') && !behind.is_empty());
            if antecedent || given {
                continue;
            }
            let destroys = matches!(found.act, Act::Destroy | Act::Remove);
            let head =
                object.iter().find(|t| !among("all|of|the|a|an|to|with|for|in|on|at|up|my|our|your|please|just", t));
            let pronoun = head.filter(|t| among(PRONOUNS, t));
            if named && pronoun.is_none() {
                continue;
            }
            let next = head.and_then(|head| object.iter().skip_while(|t| t.start != head.start).nth(1));
            if let Some(pronoun) = pronoun {
                let at = tokens.iter().position(|t| t.start == pronoun.start).unwrap_or(found.own.end);
                let noun = next.filter(|t| is_content(t) && !t.after_mark);
                let demonstrative = among("this|that|these|those", pronoun);
                if demonstrative && noun.is_some_and(|t| among(AT_HAND, t)) {
                    continue;
                }
                if demonstrative && noun.is_some() {
                    // "this function", and none is shown; "that the tests pass" is no reference.
                    let reference = content.len() <= 3
                        && !among("check|ensure|verify|make|confirm|say|tell|show|explain that", first);
                    if reference && hit.is_none() {
                        let name = noun.map_or("", |t| t.word.as_str());
                        hit = Some((at..at + 2, format!("Which {name} do you mean?")));
                    }
                    continue;
                }
                // "that the tests pass" is a clause; "that again" is a reference.
                let clause = pronoun.word == "that"
                    && next.is_some_and(|t| {
                        is_content(t) || among("the|a|an|all|it|there|every|my|our|your|no|each|you|we|i", t)
                    })
                    && !next.is_some_and(|t| among(VAGUE, t));
                if content.len() < 3 && !clause && hit.is_none() {
                    hit = Some((at..at + 1, format!("What does “{}” refer to?", pronoun.word)));
                }
                continue;
            }
            let nameless = (!content.is_empty() && content.iter().all(|t| among(NAMELESS, t)))
                || (content.first().is_some_and(|t| among(NAMELESS, t))
                    && object.iter().any(|t| among("talked|discussed|mentioned|said|spoke", t)));
            let transitive = !matches!(found.act, Act::Other)
                || among(
                    "summarize|summarise|explain|describe|proofread|rephrase|paraphrase|review|convert|calculate|verify|define|open|save|export|import",
                    first,
                );
            let all = object.iter().any(|t| among(ALL_OF_IT, t));
            let many = destroys
                && content.len() == 1
                && content.iter().all(|t| among(MANY, t))
                && !object.iter().any(|t| among("my|our|all|every|whole|entire", t));
            let nothing = content.is_empty()
                && (transitive || all || among("do|help|handle|use|make|give|try|start|check|get|keep", first))
                && !among(
                    "search|explore|look|browse|go|run|test|plan|call|order|post|program|code|move|turn|set|build|deploy|launch|file|patch|bring",
                    first,
                );
            let bare_help = first.word == "help" && content.is_empty() && self.acts.len() == 1;
            if (nothing || nameless || many || bare_help)
                && hit.is_none()
                && !(content.is_empty() && self.acts.len() > 1 && !destroys)
            {
                let question = if destroys {
                    format!("What exactly should I {verb}?")
                } else if bare_help {
                    "What do you need help with?".to_owned()
                } else if nameless {
                    let name = content.first().map_or("it", |t| t.word.as_str());
                    format!("Which {name} do you mean?")
                } else {
                    format!("What should I {verb}?")
                };
                let end = if content.is_empty() { found.own.end } else { found.end };
                hit = Some((found.own.start..end, question));
            }
        }
        if self.acts.is_empty() && hit.is_none() {
            hit = self.empty_words();
        }
        if let Some((own, question)) = hit {
            self.seen.signals.is_ambiguous = true;
            self.note_tokens("ambiguous", own);
            self.seen.question = Some(question);
        }
    }

    /// A question or a remark about nothing: "how does it work?", "it's broken", "something with the thing".
    fn empty_words(&self) -> Option<(Range<usize>, String)> {
        let tokens = &self.reading.tokens;
        let telling = tokens
            .iter()
            .filter(|t| t.kind != Kind::Plain || (is_content(t) && !among(NAMELESS, t) && !among(ALL_OF_IT, t) && !among(VAGUE, t)))
            .filter(|t| !among("work|works|working|happen|happens|happened|mean|means|broken|wrong|go|goes|going|wait|still|doing|help|need|want|fails|failing|like|look|looks|weird|bad|slow|good|right|possible|come|say|said|think|thing|fix|idea", t))
            .count();
        if telling > 0 {
            return None;
        }
        let at = tokens.iter().position(|t| {
            among(PRONOUNS, t) || among(NAMELESS, t) || among("something|anything|stuff|everything|whatever|somehow", t)
        });
        let personal = tokens.iter().any(|t| among("you|your|yourself|i|me|my", t))
            && !tokens.iter().any(|t| among("help|something|stuff|thing|things|that|this|it", t));
        if personal {
            return None;
        }
        if let Some(at) = at {
            let word = tokens.get(at).map_or("it", |t| t.word.as_str());
            return Some((at..at + 1, format!("What does “{word}” refer to?")));
        }
        let short = tokens.len() <= 4;
        (short && self.seen.content <= 1 && tokens.iter().any(|t| among("why|how|help|when|where|what|which|who", t)))
            .then(|| (0..tokens.len(), "What would you like to know?".to_owned()))
    }
}

/// Words that say no more of what is wanted.
const VAGUE: &str = "better|nicer|good|great|changes|change|improvements|improvement|stuff|things|thing|something|somehow|whatever|asap|quickly|now|again|\
    properly|right|work|working|usual|magic|faster|cleaner|please|today|carefully|immediately|permanently|somewhere|anything|everything|nice|prettier|bit|little|lot|way|some|done|up|pretty|awesome|well|real|quick|forever|completely|entirely|ready|cool|safely";

fn is_content(token: &Token) -> bool {
    token.word.len() > 1 && !is_stop_word(&token.word) && token.word.chars().any(char::is_alphanumeric)
}

/// Whether what an act is on is a piece of a text of code: to take it out is to edit.
fn is_piece_of_code(object: &[Token]) -> bool {
    const PIECES: &str = "unused|dead|import|imports|function|functions|comment|comments|line|lines|whitespace|parameter|parameters|button|class|method|variable|variables|semicolon|semicolons|dependency|argument|flag|warning|warnings|test|tests|redundant|duplicate|duplicated|trailing|print|prints|debug|word|words|sentence|paragraph|section|space|spaces|field|spacing|punctuation|accents|background|stop|typo|deprecated";
    object.iter().find(|token| token.kind != Kind::Plain || is_content(token)).is_some_and(|token| among(PIECES, token))
}

fn stem_plain(word: &str) -> String {
    crate::core::retrieve::words::terms(word).into_iter().next().unwrap_or_default()
}

/// A file of code, a path, an identifier; not a version, a price or an abbreviation.
fn is_code_name(word: &str) -> bool {
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

fn is_destructive_code(code: &str) -> bool {
    let lower = code.trim_matches('`').trim().to_lowercase();
    [
        "rm ",
        "sudo rm",
        "drop ",
        "delete ",
        "truncate ",
        "git reset --hard",
        "git push --force",
        "git push -f",
        "git clean -",
        "mkfs",
        "dd if=",
        "shred ",
    ]
    .iter()
    .any(|start| lower.starts_with(start))
}

/// How many things an object lists.
fn parts(object: &[Token]) -> usize {
    let idiom = object
        .windows(3)
        .any(|three| three[1].word == "and" && among("pros|trial|supply|research|black|terms", &three[0]));
    let joints = object
        .iter()
        .enumerate()
        .filter(|(at, token)| {
            *at > 0
                && (among("and|vs|versus|against|with|or", token)
                    || (token.after_mark && is_content(token) && at + 1 < object.len()))
        })
        .count();
    if idiom { 1 } else { 1 + joints }
}

fn marked(tokens: &[Token], wanted: Mark) -> Option<(usize, usize)> {
    (0..tokens.len())
        .find_map(|at| MARKS.all_at(tokens, at).find(|(mark, _)| *mark == wanted).map(|(_, length)| (at, length)))
}
