//! The turn's window: what of the history goes into a request.
//!
//! Nothing is counted while the history can't be near the budget. Then a [`ContextWindow`] holds the live view; it is
//! made from the history and a few numbers, so a machine that was saved, replayed or resumed sends the same bytes. What
//! left the request comes back through a tool that the machine answers itself, from its archive.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use serde::{Deserialize, Serialize};

use super::{TurnConfig, TurnMachine, emit};
use crate::{Command, Notice, Tally, tree::LONG};
use loopwright_base::{
    error::{Error, Failure, Result},
    json::{Fields, Raw},
    message::{Block, Message, ToolFailure, ToolResult, ToolUse},
    request::{Entry, FunctionTool, History, Tool},
};
use loopwright_context::{ContextWindow, Count, Fate, HIGH, LOW, Marks, Policy, RECALL_NAMES};
use loopwright_models::window::{UNKNOWN_WINDOW, window_of};
use loopwright_tokens::{Json, TokenCounter};

/// How requests are held inside the model's window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextConfig {
    /// Whether they are.
    pub on: bool,
    /// Tokens of a request: instructions, tools and messages. `None`: the window, less room for an answer.
    pub budget: Option<usize>,
    /// Tokens of the model's window. `None`: by the model's name.
    pub window: Option<usize>,
    /// A compaction begins above this share of the budget, …
    pub high: f64,
    /// … and goes down to this.
    pub low: f64,
    /// Whether the model may get back what left, with a tool.
    pub recall: bool,
    /// How a history is compressed.
    pub policy: Policy,
    /// Whether the compactions of a long history are prepared before they are due. Runs whose journals are older than
    /// that go on without.
    #[serde(skip_serializing_if = "is_true")]
    pub prepare: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_true(on: &bool) -> bool {
    *on
}

impl Default for ContextConfig {
    fn default() -> Self {
        Self {
            on: true,
            budget: None,
            window: None,
            high: HIGH,
            low: LOW,
            recall: true,
            policy: Policy::default(),
            prepare: true,
        }
    }
}

impl TurnConfig {
    /// The name of the tool that gives back what left the window; a tool of the caller's goes first.
    pub(crate) fn recall_name(&self) -> &'static str {
        let [usual, beside] = RECALL_NAMES;
        if self.tools.iter().any(|tool| tool.name == usual) { beside } else { usual }
    }
}

/// Room for an answer where no limit is set; what the codecs ask for.
const ANSWER: usize = 16_000;

impl ContextConfig {
    /// Checks what can be checked before a run.
    pub(super) fn check(&self) -> Result<()> {
        if self.budget == Some(0) || self.window == Some(0) {
            return Err(Error::usage("invalid_number", "the context has no room for anything")
                .hint("give a budget above 0, or switch the context off"));
        }
        if !(self.high > 0.0 && self.high <= 1.0 && self.low > 0.0 && self.low < self.high) {
            return Err(Error::usage(
                "invalid_number",
                format!("the context's marks are high {} and low {}", self.high, self.low),
            )
            .hint("give shares of the budget: 0 < low < high <= 1"));
        }
        Ok(())
    }

    /// The budget, and whether it is more than a guess.
    fn budget(&self, model: &str, max_tokens: Option<u64>) -> (usize, bool) {
        if let Some(budget) = self.budget {
            return (budget, true);
        }
        let known = self.window.or_else(|| window_of(model));
        let window = known.unwrap_or(UNKNOWN_WINDOW);
        (window.saturating_sub(answer_room(window, max_tokens)).max(1), known.is_some())
    }
}

fn answer_room(window: usize, max_tokens: Option<u64>) -> usize {
    let asked = max_tokens.map(|tokens| usize::try_from(tokens).unwrap_or(usize::MAX).min(window / 4 * 3));
    asked.unwrap_or_else(|| ANSWER.min(window / 4))
}

/// The window of a turn, as it is saved; all else follows from the history.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Window {
    /// Once something was counted.
    marks: Option<Marks>,
    /// The round whose request was refused as too long.
    refused: u32,
    /// It was said that the window is a guess.
    warned: bool,
    /// The summarizer's words of the last compaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    words: Option<String>,
    /// The budget of the configuration, and whether it is more than a guess.
    #[serde(skip)]
    budget: OnceLock<(usize, bool)>,
    /// Tokens at most of what is not the history, once they were wanted.
    #[serde(skip)]
    beside: Option<usize>,
    /// Messages of the history that were looked through for media, and what was found.
    #[serde(skip_serializing_if = "is_nothing")]
    media: (usize, usize),
    #[serde(skip)]
    live: Option<Box<Live>>,
    /// What a run that is saved keeps of it, so that it need not be made from the history to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    resting: Option<Box<Resting>>,
}

/// A live window that is saved.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Resting {
    taken: usize,
    bytes: usize,
    tokens: usize,
    /// The view, where it is another than the history.
    view: Option<Vec<Shown>>,
}

/// A message of a view.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Shown {
    /// One of the history.
    Given(usize),
    /// One that was made.
    Made(Arc<Message>),
}

fn is_nothing(media: &(usize, usize)) -> bool {
    media.0 == 0
}

impl PartialEq for Window {
    fn eq(&self, other: &Self) -> bool {
        (&self.marks, self.refused, self.warned, &self.words)
            == (&other.marks, other.refused, other.warned, &other.words)
    }
}

impl Clone for Window {
    fn clone(&self) -> Self {
        let (marks, words, resting) = (self.marks.clone(), self.words.clone(), self.resting.clone());
        Self { marks, refused: self.refused, warned: self.warned, words, media: self.media, resting, ..Self::default() }
    }
}

/// What is made from the history.
#[derive(Debug)]
struct Live {
    window: ContextWindow,
    counter: TokenCounter,
    /// Messages of the history that it has, and their bytes.
    taken: usize,
    bytes: usize,
    /// The view, once it is another than the history, and which messages of that it has.
    view: Option<History>,
    places: Vec<Option<usize>>,
}

/// No text has more tokens than this for each byte of its JSON, by any count of ours.
const MOST_PER_BYTE: usize = 3;
/// No picture or document of unknown size counts for more.
const MOST_MEDIA: usize = 6_000;

impl TurnMachine {
    fn budget_of_context(&self) -> (usize, bool) {
        let (config, model) = (&self.config, self.model());
        *self.window.budget.get_or_init(|| config.context.budget(model, config.max_tokens))
    }

    /// Before anything else: a machine that was saved gets back what it had made.
    pub(super) fn wake_window(&mut self) {
        if self.window.marks.is_some() && self.window.live.is_none() {
            self.window.live = self.wake_view().map(Box::new);
            self.enliven();
        }
    }

    /// Lays the live window beside what is saved, …
    pub(crate) fn rest_window(&mut self) {
        if let Some(live) = self.window.live.as_deref() {
            self.window.resting = live.rest().map(Box::new);
        }
    }

    /// … and takes it back: a machine that goes on is never saved with one that is old.
    pub(crate) fn unrest_window(&mut self) {
        if self.window.live.is_some() {
            self.window.resting = None;
        }
    }

    /// The live window from its view alone, as it was saved.
    fn wake_view(&mut self) -> Option<Live> {
        let Resting { taken, bytes, tokens, view: shown } = *self.window.resting.take()?;
        let marks = self.window.marks.clone()?;
        let entries = self.history.entries().get(..taken)?;
        let (mut view, mut places) = (History::new(), Vec::new());
        for each in shown.iter().flatten() {
            match each {
                Shown::Given(at) => {
                    view.push_entry(Arc::clone(entries.get(*at)?));
                    places.push(Some(*at));
                }
                Shown::Made(message) => {
                    view.push(message.clone());
                    places.push(None);
                }
            }
        }
        let mut live = self.empty();
        let messages: Vec<Arc<Message>> = view.entries().iter().map(|entry| entry.message().clone()).collect();
        let new = entries.get(marks.since()..)?.iter().map(|entry| entry.message().clone());
        live.window = live.window.restore_view(marks, messages, tokens, new, &mut live.counter);
        Some(Live { taken, bytes, view: shown.is_some().then_some(view), places, ..live })
    }

    /// What left the view may be asked for: it has to be there.
    pub(super) fn rouse_for(&mut self, calls: &[ToolUse]) {
        if calls.iter().any(|call| call.name == self.recall_name()) {
            self.rouse();
        }
    }

    /// Makes from the whole history what so far has its view alone.
    fn rouse(&mut self) {
        if self.window.live.as_ref().is_some_and(|live| live.window.has_view_alone()) {
            self.window.live = None;
            self.enliven();
        }
    }

    /// Makes the history's view fit a request. What can't be is an error.
    pub(super) fn fit(&mut self, out: &mut Vec<Command>) -> Result<()> {
        if !self.config.context.on {
            return Ok(());
        }
        let (budget, known) = self.budget_of_context();
        if self.window.live.is_none() && self.at_most() <= (budget as f64 * self.config.context.high) as usize {
            return Ok(());
        }
        let born = self.window.live.is_none();
        self.enliven();
        if self.window.live.as_ref().is_some_and(|live| live.window.is_full()) {
            self.rouse();
        }
        let words = self.words_so_far();
        let Some(live) = &mut self.window.live else { return Ok(()) };
        let made = live.window.compactions();
        let (before, had) = if born { (live.window.uncompacted(), 0) } else { (live.window.expected(), made) };
        let fits = if live.window.is_full() {
            // What is a guess, or an upper bound of what is known, is no reason to give up.
            let given = self.config.context.budget.is_some() || self.config.context.window.is_some();
            let slack = if given { 1.0 } else { live.counter.slack() };
            let most = (live.window.budget() as f64 * slack) as usize;
            let said = self.window.words.clone();
            live.with_words(words, said, &mut self.window.words, |window, counter| {
                window.settle_to(most, counter).map(drop)
            })
        } else {
            Ok(())
        };
        let now = live.window.compactions();
        if now > had {
            // What the run before has sent already begins as it did then: there is nothing to tell.
            let as_before = now == made && self.round() == 0;
            self.compacted("full", (!as_before).then_some(before), out);
            if !known && !std::mem::replace(&mut self.window.warned, true) {
                let message = format!(
                    "the window of the model {:?} is not known; {UNKNOWN_WINDOW} tokens are assumed (set it with context)",
                    self.config.model
                );
                self.warn(out, "context_unknown", message);
            }
        }
        match fits {
            Err(error) if known => Err(error),
            Err(error) => {
                if !std::mem::replace(&mut self.window.warned, true) {
                    let message = format!("{error}; the window of the model is not known, so it is sent all the same");
                    self.warn(out, "context_unknown", message);
                }
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Tokens of the next request at most, without counting. Costs what is new.
    fn at_most(&mut self) -> usize {
        let config = &self.config;
        let beside = self.window.beside.unwrap_or_else(|| {
            let tools: usize = self.shown_tools().map(|tool| super::limits::tool_bytes(tool) + 64).sum();
            let provider: usize = config.provider_tools.iter().map(|tool| Raw::of(tool).text().len()).sum();
            let system = config.system.as_ref().map_or(0, String::len);
            tools + provider + system + self.front.bytes() + 64 * 16
        });
        self.window.beside = Some(beside);
        let text = self.history.bytes() + beside;
        let inside = |block: &Block| match block {
            Block::ToolResult(result) => result.content.iter().filter(|part| part.is_media()).count(),
            block => usize::from(block.is_media()),
        };
        let (seen, media) = &mut self.window.media;
        *media += self.history.behind(*seen).flat_map(|message| &message.content).map(inside).sum::<usize>();
        *seen = self.history.len();
        text.saturating_mul(MOST_PER_BYTE).saturating_add(media.saturating_mul(MOST_MEDIA))
    }

    /// The live window, with all of the history.
    fn enliven(&mut self) {
        let first = self.window.live.is_none();
        if first {
            let live = self.make();
            self.window.live = Some(Box::new(live));
        }
        let Some(live) = &mut self.window.live else { return };
        if first {
            live.make_view(&self.history);
        }
        live.take(&self.history);
        self.window.marks = Some(live.window.marks().clone());
    }

    /// A window of this turn with nothing in it.
    fn empty(&self) -> Live {
        let context = &self.config.context;
        let mut counter = TokenCounter::for_model(self.model());
        let template = self.first_request();
        let system = template.system.as_deref().map_or(0, |system| Count::message(&mut counter, system));
        let mut tools = template.tools.to_vec();
        tools.extend(context.recall.then(|| self.recall_tool()));
        tools.extend(self.loaded_tools());
        let mut policy = context.policy.clone();
        // A view is made again with the words that it was made with.
        if self.window.words.is_some() {
            policy.summary.clone_from(&self.window.words);
        }
        policy.reserve = policy.reserve.saturating_add(self.front.tokens(&mut counter));
        policy.reserve = policy.reserve.saturating_add(system).saturating_add(tools_tokens(&tools, &mut counter));
        let (budget, _) = self.budget_of_context();
        let window = ContextWindow::with_marks(budget, policy, context.high, context.low).keeping_all();
        let window = if context.prepare { window } else { window.unprepared() };
        Live { window, counter, taken: 0, bytes: 0, view: None, places: Vec::new() }
    }

    fn make(&self) -> Live {
        let Live { mut window, mut counter, .. } = self.empty();
        let history = self.history.entries().iter().map(|entry| entry.message().clone());
        match self.window.marks.clone() {
            // What could be made once can be made again.
            Some(marks) => drop(window.restore(marks, history, &mut counter)),
            None => window.replay(history, &mut counter),
        }
        let (taken, bytes) = (self.history.len(), self.history.bytes());
        Live { window, counter, taken, bytes, view: None, places: Vec::new() }
    }

    /// Requests hold more or fewer tools from now on, of so many tokens.
    pub(super) fn tools_weigh(&mut self, tokens: impl FnOnce(&mut TokenCounter) -> (usize, usize)) {
        self.window.beside = None;
        let Some(live) = &mut self.window.live else { return };
        let (more, fewer) = tokens(&mut live.counter);
        let policy = live.window.policy_mut();
        policy.reserve = policy.reserve.saturating_add(more).saturating_sub(fewer);
    }

    /// What the provider counted for the request that was just answered.
    pub(super) fn reported(&mut self, tokens: u64, provider_tool_uses: u64) {
        // With tools of its own, a provider sums up several requests.
        if !self.config.context.on || provider_tool_uses > 0 {
            return;
        }
        let tokens = usize::try_from(tokens).unwrap_or(usize::MAX);
        let (budget, _) = self.budget_of_context();
        if self.window.live.is_none() && tokens <= budget / 2 {
            return;
        }
        self.enliven();
        if let Some(live) = &mut self.window.live {
            live.window.reported(tokens, &mut live.counter);
            self.window.marks = Some(live.window.marks().clone());
        }
    }

    /// The provider refused the request as too long: the window becomes smaller, once for each request. False if that
    /// does not help.
    pub(super) fn shrink(&mut self, failure: &Failure, out: &mut Vec<Command>) -> bool {
        let round = self.round();
        if !self.config.context.on || self.window.refused == round {
            return false;
        }
        self.window.refused = round;
        self.enliven();
        self.rouse();
        let max_tokens = self.config.max_tokens;
        let words = self.words_so_far();
        let Some(live) = &mut self.window.live else { return false };
        let tokens = live.window.tokens();
        let said = told(&failure.message)
            .map(|(counted, limit)| (counted, limit - answer_room(limit, max_tokens).min(limit / 4)));
        live.window.refused(said, &mut live.counter);
        // By what the provider counts, as what is left afterwards.
        let before = live.window.expected();
        let said = self.window.words.clone();
        let compacted = live.with_words(words, said, &mut self.window.words, |window, counter| window.compact(counter));
        let smaller = matches!(compacted, Ok(true)) && live.window.tokens() < tokens;
        if smaller {
            self.compacted("refused", Some(before), out);
        }
        smaller
    }

    /// After a compaction: the view is made anew, and it is told where tokens `before` it are given.
    fn compacted(&mut self, reason: &str, before: Option<usize>, out: &mut Vec<Command>) {
        let round = self.round() + u32::from(reason == "full");
        let Some(live) = &mut self.window.live else { return };
        live.make_view(&self.history);
        self.window.marks = Some(live.window.marks().clone());
        // Where nothing could be left out, nothing is told.
        if let Some(before) = before
            && live.window.expected() < before
        {
            emit(out, told_of(round, reason, before, &live.window));
        }
        // From now on the tool is on offer.
        if live.window.compactions() == 1 {
            self.prepared.template = None;
            self.prepared.signatures = None;
        }
    }

    /// The share of the context's budget that the next request takes, about; `results` are still to be added.
    pub(super) fn context_share(&mut self, results: &Message) -> f64 {
        if !self.config.context.on {
            return 0.0;
        }
        // A machine that was loaded has no window yet, and must come to the same share as the one that was saved.
        if self.window.marks.is_some() {
            self.enliven();
        }
        let (budget, _) = self.budget_of_context();
        let more: usize = results.tool_results().map(|result| result.prose().len()).sum();
        let tokens = match self.window.live.as_deref() {
            Some(live) => live.window.expected(),
            None => (self.history.bytes() + self.config.system.as_ref().map_or(0, String::len)) / 4,
        };
        (tokens + more / 4) as f64 / budget.max(1) as f64
    }

    /// Whether a step may have to go through a long history: to count it for the first time, or to compact it.
    pub(crate) fn may_compact(&self) -> bool {
        if !self.config.context.on || self.history.bytes() < LONG {
            return false;
        }
        let (budget, _) = self.budget_of_context();
        match self.window.live.as_deref() {
            // Results may be large: of what comes next, only the model's answer is sure to be small.
            Some(live) => live.window.expected() as f64 > budget as f64 * self.config.context.high * 0.75,
            None => true,
        }
    }

    /// Another model, another window: what was made for the last one goes.
    pub(super) fn forget_window(&mut self) {
        self.window = Window { warned: self.window.warned, ..Window::default() };
    }

    /// What the next request's messages are.
    pub(super) fn view(&mut self) -> History {
        let Some(live) = &mut self.window.live else { return self.history.clone() };
        live.take(&self.history);
        live.view.clone().unwrap_or_else(|| self.history.clone())
    }

    /// How often the view was made anew.
    pub(crate) fn compactions(&self) -> usize {
        // A machine that was saved knows it before it has made its window again.
        let saved = || self.window.marks.as_ref().map_or(0, Marks::compactions);
        self.window.live.as_ref().map_or_else(saved, |live| live.window.compactions())
    }

    /// What a request's prompt is made of, for whoever estimates it: messages, and their bytes.
    pub(super) fn prompt(&self) -> (impl Iterator<Item = &Message>, usize) {
        let made = self.window.live.as_deref().and_then(|live| Some((live.view.as_ref()?, live)));
        let (view, taken, bytes) = match made {
            Some((view, live)) => (view, live.taken, view.bytes() + self.history.bytes() - live.bytes),
            None => (&self.history, self.history.len(), self.history.bytes()),
        };
        (view.iter().chain(self.history.behind(taken)), bytes)
    }

    /// Whether the model may ask for what left.
    pub(super) fn offers_recall(&self) -> bool {
        let budget = &self.config.budget;
        self.config.context.recall
            && !self.tools.left_out
            && budget.tool_rounds > 0
            && budget.iterations > 1
            && self.window.live.as_ref().is_some_and(|live| live.window.compactions() > 0)
    }

    /// The name of the tool that gives back what left; a tool of the caller's goes first.
    pub(super) fn recall_name(&self) -> &'static str {
        self.config.recall_name()
    }

    pub(super) fn recall_tool(&self) -> Tool {
        Tool::Function(FunctionTool {
            name: self.recall_name().to_owned(),
            description: Some(RECALL.to_owned()),
            schema: Raw::parse(RECALL_SCHEMA.to_owned()).unwrap_or_else(|_| Raw::empty_object()),
            strict: None,
            extra: None,
        })
    }

    /// Whether replies are looked through for calls.
    pub(super) fn reads_markup(&self) -> bool {
        self.config.reads_markup()
            || (self.offers_recall() && (self.config.read_markup || self.config.tool_format.is_some()))
    }

    /// The answer to a call of our own tool; `None` if it is none.
    pub(super) fn recalled(&self, call: &ToolUse, calls: &[ToolUse]) -> Option<ToolResult> {
        if call.name != self.recall_name() || !self.offers_recall() {
            return None;
        }
        let live = self.window.live.as_deref()?;
        let fields = Fields::parse(call.input.text()).unwrap_or_default();
        let text = |key: &str| fields.get_str(key).unwrap_or_default();
        let number = |key: &str| {
            let raw = fields.get(key)?;
            raw.to::<usize>().ok().or_else(|| raw.string()?.trim().parse().ok())
        };
        let from = number("from_line").or_else(|| number("from")).unwrap_or(1);
        // What comes back must not push the rest out again, nor what is asked back beside it.
        let beside = calls.iter().filter(|call| call.name == self.recall_name()).count().max(1);
        let mut counter = TokenCounter::new(*live.counter.tokenizer());
        let found = live.window.recall_page(&text("handle"), &text("find"), from, beside, &mut counter);
        Some(match found {
            Ok(found) => ToolResult::text(&call.id, &call.name, found),
            Err(error) => {
                let failure = ToolFailure {
                    kind: error.code.to_string(),
                    message: error.message.clone(),
                    hint: error.hint.clone(),
                };
                ToolResult::failed(&call.id, &call.name, failure)
            }
        })
    }
}

impl Live {
    /// Compacts with a summarizer's words, `words` or else those of the last time; keeps those of what was done.
    fn with_words<T>(
        &mut self,
        words: Option<String>,
        said: Option<String>,
        kept: &mut Option<String>,
        compact: impl FnOnce(&mut ContextWindow, &mut TokenCounter) -> T,
    ) -> T {
        let Some(words) = words else { return compact(&mut self.window, &mut self.counter) };
        let before = self.window.policy_mut().summary.replace(words.clone());
        let had = self.window.compactions();
        let done = compact(&mut self.window, &mut self.counter);
        if self.window.compactions() > had {
            *kept = Some(words);
        } else {
            self.window.policy_mut().summary = said.or(before);
        }
        done
    }

    /// Takes what came to the history.
    fn take(&mut self, history: &History) {
        for (at, entry) in history.entries().iter().enumerate().skip(self.taken) {
            self.window.append(entry.message().clone(), &mut self.counter);
            if let Some(view) = &mut self.view {
                view.push_entry(entry.clone());
                self.places.push(Some(at));
            }
        }
        self.taken = history.len();
        self.bytes = history.bytes();
    }

    /// The view as a history, whose messages keep the wire form that they have.
    fn make_view(&mut self, history: &History) {
        if self.window.compactions() == 0 {
            return;
        }
        let known: HashMap<*const Message, (usize, &Arc<Entry>)> = history
            .entries()
            .iter()
            .enumerate()
            .map(|(at, entry)| (Arc::as_ptr(entry.message()), (at, entry)))
            .collect();
        let mut view = History::new();
        self.places.clear();
        for message in self.window.view() {
            let found = known.get(&Arc::as_ptr(message));
            match found {
                Some((_, entry)) => view.push_entry(Arc::clone(entry)),
                None => view.push(message.clone()),
            }
            self.places.push(found.map(|(at, _)| *at));
        }
        self.view = Some(view);
    }

    /// What is saved of it.
    fn rest(&self) -> Option<Resting> {
        // Where nothing of the history can be left out, it is made from that as ever.
        (self.window.marks().since() > 0).then_some(())?;
        let view = self.view.as_ref().map(|view| {
            let shown = view.entries().iter().zip(&self.places).map(|(entry, place)| match place {
                Some(at) => Shown::Given(*at),
                None => Shown::Made(entry.message().clone()),
            });
            shown.collect()
        });
        Some(Resting { taken: self.taken, bytes: self.bytes, tokens: self.window.tokens(), view })
    }
}

pub(super) fn tools_tokens(tools: &[Tool], counter: &mut TokenCounter) -> usize {
    let tools: Vec<serde_json::Value> = tools
        .iter()
        .map(|tool| match tool {
            Tool::Function(tool) => serde_json::json!({
                "name": tool.name, "description": tool.description, "parameters": tool.schema.value(),
            }),
            other => serde_json::to_value(other).unwrap_or_default(),
        })
        .collect();
    let base = Count::base(counter);
    let request = serde_json::json!({"messages": [], "tools": tools});
    counter.json(&Json::from(&request)).upper_bound.saturating_sub(base)
}

fn told_of(round: u32, reason: &str, before: usize, window: &ContextWindow) -> Notice {
    let tally = |fate: Fate| {
        let (messages, before, after) = window.tally(fate);
        Tally { messages, before, after }
    };
    let (repaired, first_changed) = window.last_changes();
    Notice::Compacted {
        round,
        reason: reason.to_owned(),
        before,
        after: window.expected(),
        budget: window.budget(),
        kept: tally(Fate::Kept),
        shortened: tally(Fate::Shortened),
        referenced: tally(Fate::Referenced),
        summarised: tally(Fate::Summarised),
        dropped: tally(Fate::Dropped),
        repaired,
        first_changed,
    }
}

/// What a provider said of a request that was too long: the tokens that it counted, and its limit.
fn told(message: &str) -> Option<(usize, usize)> {
    let lower = message.to_ascii_lowercase();
    let mut numbers: Vec<(usize, usize, usize)> = Vec::new();
    let bytes = lower.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if !byte.is_ascii_digit() {
            at += 1;
            continue;
        }
        let start = at;
        let mut value: usize = 0;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'0'..=b'9' => value = value.saturating_mul(10).saturating_add(usize::from(byte - b'0')),
                b',' | b'_' if bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => {}
                _ => break,
            }
            at += 1;
        }
        // An answer's status and the names of models are no tokens.
        let inside = start > 0
            && bytes.get(start - 1).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'-' || *byte == b'.');
        if value >= 512 && !inside {
            numbers.push((start, at, value));
        }
    }
    let mut previous = 0;
    let mut limit = None;
    for (place, (start, end, value)) in numbers.iter().enumerate() {
        let before = lower.get(previous..*start).unwrap_or_default();
        let behind = lower.get(*end..(*end + 24).min(lower.len())).unwrap_or_default();
        let behind = behind.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default();
        let names = ["maximum", "limit", "context length", "context size", "window", "> ", "only"];
        if names.iter().any(|name| before.contains(name)) || behind.trim_start().starts_with("maximum") {
            let compared = before.trim_end().ends_with('>');
            if limit.is_none() || compared {
                limit = Some((place, *value));
            }
        }
        previous = *end;
    }
    let (place, limit) = limit?;
    let others = numbers.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, (_, _, value))| *value);
    let counted = others.max()?;
    (counted > limit).then_some((counted, limit))
}

const RECALL: &str = "Gives back what was shortened or left out of this conversation to save room. Notes such as \
[of 412 lines: recall(\"k3f9qab\")] and summaries name the handles; [\u{2026}37] stands for 37 lines left out, [=12] for 12 lines \
that a later output repeats. Ask here before doing work again whose result was seen before.";

const RECALL_SCHEMA: &str = r#"{"type":"object","properties":{"handle":{"type":"string","description":"A handle from a note or a summary."},"find":{"type":"string","description":"Words to look for in everything that left; or, with a handle, in that."},"from_line":{"type":"integer","description":"The first line wanted.","minimum":1}},"additionalProperties":false}"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c26_what_providers_say_of_too_long_requests() {
        for (message, expected) in [
            ("the provider answered 400: prompt is too long: 213462 tokens > 200000 maximum", Some((213_462, 200_000))),
            (
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 10000 tokens (9500 in \
                 the messages, 500 in the functions).",
                Some((10_000, 8_192)),
            ),
            (
                "the provider answered 400: The input token count (1,200,000) exceeds the maximum number of tokens allowed \
                 (1,048,576).",
                Some((1_200_000, 1_048_576)),
            ),
            ("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000", None),
            ("Your input exceeds the context window of this model.", None),
            ("the request exceeds the available context size of gpt-4096", None),
            ("", None),
        ] {
            assert_eq!(told(message), expected, "{message}");
        }
    }

    #[test]
    fn c26_budgets() {
        let context = ContextConfig::default();
        assert_eq!(context.budget("gpt-4o", None), (112_000, true));
        assert_eq!(context.budget("claude-sonnet-4-5", Some(64_000)), (136_000, true));
        assert_eq!(context.budget("gpt-4", None), (8_192 - 2_048, true));
        assert_eq!(context.budget("my-own", None), (32_768 - 8_192, false));
        assert_eq!(ContextConfig { budget: Some(900), ..context.clone() }.budget("my-own", None), (900, true));
        assert_eq!(ContextConfig { window: Some(64_000), ..context }.budget("my-own", None), (48_000, true));
    }
}
