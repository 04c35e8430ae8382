//! The research: plan & critique → act → analyse & update → enough? → report.
//!
//! A question is searched for broadly and an outline drawn; each cycle then plans what is missing, searches and reads,
//! keeps what is relevant and new, and measures what that was worth. The report says nothing that its sources do not
//! hold. All that is known stands in one state; every stage issues all of its work at once and goes on when that is
//! answered, so the order of answers changes nothing. Without a model rules do the same.

mod act;
mod analyse;
mod check;
mod claims;
mod config;
mod ending;
mod hashing;
mod models;
mod plan;
mod planning;
mod prompts;
mod render;
mod report;
mod rules;
mod searches;
mod setup;
mod stage;
mod state;
mod table;
#[cfg(test)]
mod tests;
mod tools;
mod write;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use act::{Hit, PageText};
pub use claims::{Contradiction, SourcedSentence};
pub use config::{Explore, OwnParts, ResearchConfig, ResearchLimits, Style};
pub use plan::{PlanOutcome, read_plan};
pub use render::{html, markdown};
pub use report::{CitedStatement, Paragraph, Reference, Report, Section, StopReport};
use stage::{ModelQuestion, OpenPhase, Stage, StageWork, WorkAnswer};
pub use state::{
    Action, AskedQuery, Chunk, CycleRecord, Hypothesis, PlannedBy, Refusal, ResearchPlan, ResearchState, SearchHit,
    SourcePage, Topic, UnkeptChunk, VERSION, Vector,
};
pub use table::{TRANSITIONS, diagram, transitions};

use super::{
    BudgetUsage, Command, Event, EventKind, Id, Limit, Machine, Notice, Outcome, Stop, Time,
    command::{emit, refuse},
};
use loopwright_base::{error::Error, request::History, text::clip};

/// The report and the state of a research that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResearchResult {
    /// The report.
    pub report: Report,
    /// All that is known.
    pub state: ResearchState,
}

/// Problems that are kept.
const PROBLEMS: usize = 50;

/// The machine of a research.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResearchMachine {
    config: ResearchConfig,
    base: Id,
    issued: u32,
    stage: Stage,
    state: ResearchState,
    history: History,
    /// Commands without an answer.
    pending: BTreeMap<Id, StageWork>,
    /// Models that are being asked, and those that will be.
    asked: BTreeMap<Id, ModelQuestion>,
    queue: VecDeque<ModelQuestion>,
    #[serde(skip)]
    ready: VecDeque<(StageWork, WorkAnswer)>,
    open: Option<OpenPhase>,
    /// Hits of each search that is under way, and the places of their queries.
    hits: Vec<Option<Vec<Hit>>>,
    searched: Vec<usize>,
    slots: Vec<act::PendingPage>,
    fresh: Vec<act::UnjudgedChunk>,
    /// Digests of texts that were cut up.
    texts: BTreeSet<u64>,
    pages_read: usize,
    scouted: Vec<String>,
    outlined: Option<Vec<Topic>>,
    planned: Option<PlanOutcome>,
    plan_attempts: u32,
    /// Cycles of the research that this one goes on with.
    #[serde(default)]
    begun: u32,
    /// The answer of the user's own analyser about the cycle, while it is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own_analysis: Option<analyse::OwnAnalysis>,
    /// The problem of the last plan.
    plan_problem: Option<String>,
    query_vectors: BTreeMap<String, Vector>,
    sections: Vec<write::SectionWork>,
    report: Option<Box<Report>>,
    front_prompt: String,
    front_prompts: u32,
    /// The results of tools in this cycle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    called: Vec<act::PendingPage>,
    failed_searches: usize,
    search_error: Option<Error>,
    answered: bool,
    without_temperature: bool,
    without_schema: bool,
    stop_words: Option<StopReport>,
    limit: Option<Limit>,
    ending: Option<Stop>,
    started: Time,
    now: Time,
    deadline: Id,
    spent: BudgetUsage,
    outcome: Outcome,
    #[cfg(test)]
    #[serde(skip)]
    trail: Vec<(&'static str, &'static str, &'static str)>,
}

impl ResearchMachine {
    /// A research that has not begun. `base` is added to the number of every command.
    pub fn new(config: ResearchConfig, base: Id) -> Self {
        Self {
            config,
            base,
            issued: 0,
            stage: Stage::Idle,
            state: ResearchState { version: VERSION, ..ResearchState::default() },
            history: History::new(),
            pending: BTreeMap::new(),
            asked: BTreeMap::new(),
            queue: VecDeque::new(),
            ready: VecDeque::new(),
            open: None,
            hits: Vec::new(),
            searched: Vec::new(),
            slots: Vec::new(),
            fresh: Vec::new(),
            texts: BTreeSet::new(),
            pages_read: 0,
            scouted: Vec::new(),
            outlined: None,
            planned: None,
            plan_attempts: 0,
            begun: 0,
            own_analysis: None,
            plan_problem: None,
            query_vectors: BTreeMap::new(),
            sections: Vec::new(),
            report: None,
            front_prompt: String::new(),
            front_prompts: 0,
            called: Vec::new(),
            failed_searches: 0,
            search_error: None,
            answered: false,
            without_temperature: false,
            without_schema: false,
            stop_words: None,
            limit: None,
            ending: None,
            started: Time::default(),
            now: Time::default(),
            deadline: 0,
            spent: BudgetUsage::default(),
            outcome: Outcome::new(Stop::Error),
            #[cfg(test)]
            trail: Vec::new(),
        }
    }

    /// All that is known.
    pub const fn state(&self) -> &ResearchState {
        &self.state
    }

    /// The usage so far.
    pub(crate) const fn spent(&self) -> &BudgetUsage {
        &self.spent
    }

    /// The history: the question, and at the end the report.
    pub const fn history(&self) -> &History {
        &self.history
    }

    /// The name of the stage: a state of [`transitions`].
    pub const fn phase(&self) -> &'static str {
        self.stage.name()
    }

    fn issue(&mut self, work: StageWork) -> Id {
        let id = self.id();
        self.pending.insert(id, work);
        id
    }

    fn id(&mut self) -> Id {
        self.issued += 1;
        self.base + Id::from(self.issued)
    }

    fn elapsed(&self) -> f64 {
        self.now.since(self.started)
    }

    /// The only way from stage to stage.
    #[allow(clippy::unused_self, reason = "tests look at the trail")]
    fn go(&mut self, why: &'static str, to: Stage, _out: &mut [Command]) {
        debug_assert!(
            TRANSITIONS.contains(&(self.stage.name(), why, to.name())),
            "{} --{why}--> {}",
            self.stage.name(),
            to.name()
        );
        #[cfg(test)]
        self.trail.push((self.stage.name(), why, to.name()));
        self.stage = to;
    }

    fn begin(&mut self, phase: &str, attempt: u32, out: &mut Vec<Command>) {
        self.open = Some(OpenPhase { phase: phase.to_owned(), attempt, since: self.now });
        emit(out, Notice::PhaseStarted { phase: phase.to_owned(), attempt });
    }

    fn end(&mut self, output: Value, out: &mut Vec<Command>) {
        if let Some(OpenPhase { phase, attempt, since }) = self.open.take() {
            emit(out, Notice::PhaseFinished { phase, attempt, duration: self.now.since(since), output });
        }
    }

    fn status(&self, text: String, out: &mut Vec<Command>) {
        emit(out, Notice::Status { cycle: self.state.cycles + 1, text });
    }

    fn problem(&mut self, message: String, out: &mut Vec<Command>) {
        if self.state.problems.contains(&message) {
            return;
        }
        if self.state.problems.len() < PROBLEMS {
            self.state.problems.push(message.clone());
            self.warn("research_problem", message, out);
        } else {
            emit(out, Notice::Warning { code: "research_problem".to_owned(), message });
        }
    }

    fn warn(&mut self, code: &str, message: String, out: &mut Vec<Command>) {
        self.outcome.warnings.push(format!("{code}: {message}"));
        emit(out, Notice::Warning { code: code.to_owned(), message });
    }

    fn stopped(&mut self, rule: &str, words: &str) {
        if self.stop_words.is_none() {
            self.stop_words = Some(StopReport { rule: rule.to_owned(), words: words.to_owned() });
        }
    }

    fn handle(&mut self, work: StageWork, gave: WorkAnswer, out: &mut Vec<Command>) {
        let words = |gave| if let WorkAnswer::Words(words) = gave { words } else { None };
        match (work, gave) {
            (StageWork::EmbedQuery, WorkAnswer::Vectors(vectors)) => self.query_embedded(vectors, out),
            (StageWork::EmbedTopics { topics }, WorkAnswer::Vectors(vectors)) => {
                self.topics_embedded(&topics, vectors, out);
            }
            (StageWork::EmbedChunks { from }, WorkAnswer::Vectors(vectors)) => self.chunks_embedded(from, vectors, out),
            (StageWork::EmbedPlan { texts }, WorkAnswer::Vectors(vectors)) => match vectors {
                Ok(vectors) => {
                    let good = texts.into_iter().zip(vectors).filter(|(_, vector)| !vector.is_empty());
                    self.query_vectors.extend(good.map(|(text, vector)| (text, Vector(vector))));
                }
                Err(error) => self.problem(format!("queries could not be embedded: {error}"), out),
            },
            (StageWork::SectionEmbed { section }, WorkAnswer::Vectors(vectors)) => {
                self.section_embedded(section, vectors, out);
            }
            (StageWork::Hits { at }, WorkAnswer::Hits(hits)) => self.hits(at, hits, out),
            (StageWork::SectionHits { section }, WorkAnswer::Hits(hits)) => self.section_hits(section, hits, out),
            (StageWork::Page { slot }, WorkAnswer::Page(page)) => {
                self.page(slot, page);
                if let Some(section) = self.slots.get(slot).and_then(|slot| slot.section) {
                    self.section_pages(section, out);
                }
            }
            (StageWork::Scout, gave) => {
                let said = words(gave).and_then(|said| write::object_of(&said));
                let mut queries = plan::texts(said.as_ref().and_then(|object| object.get("queries")));
                queries.truncate(3);
                self.scouted = queries;
            }
            (StageWork::Hypothesis { topic }, gave) => self.set_document(&topic, words(gave)),
            (StageWork::Outline, gave) => self.outlined = words(gave).and_then(|said| self.read_outline(&said)),
            (StageWork::OwnAnalysis, gave) => self.take_own_analysis(words(gave), out),
            (StageWork::Plan | StageWork::OwnPlan, gave) => self.planned = words(gave).map(|said| read_plan(&said)),
            (StageWork::Write { section }, gave) => self.written(section, words(gave), out),
            (StageWork::Review { section }, gave) => self.reviewed(section, words(gave).as_deref(), out),
            (StageWork::Front, gave) => self.take_front(words(gave).as_deref(), out),
            // What its tools gave has been taken.
            (StageWork::Tools, _) => {}
            // An answer of another kind than was asked for.
            _ => self.drop_answer(),
        }
    }

    /// All work of the stage is done.
    fn advance(&mut self, out: &mut Vec<Command>) {
        match self.stage {
            Stage::Idle | Stage::Done => {}
            Stage::Embedding => self.fail(Error::internal("no_vectors", "the question has no vector"), out),
            Stage::Scouting => {
                let mut queries = std::mem::take(&mut self.scouted);
                for query in rules::broad_queries(&self.state.query) {
                    if queries.len() < 3 && !queries.iter().any(|known| known.eq_ignore_ascii_case(&query)) {
                        queries.push(query);
                    }
                }
                self.end(serde_json::json!({"queries": queries, "background": self.state.background}), out);
                self.go("queries", Stage::Searching, out);
                let action = |query| Action::Search { query, target_outline_topic: String::new() };
                let actions: Vec<Action> = queries.into_iter().map(action).collect();
                self.act(&actions, out);
            }
            Stage::Searching => {
                self.go("hits", Stage::Fetching, out);
                self.fetch(out);
            }
            Stage::Fetching => {
                self.pages_read = self.ingest(None, out);
                let output = serde_json::json!({"pages": self.pages_read, "chunks": self.fresh.len()});
                self.end(output, out);
                self.begin("analyse", self.state.cycles + 1, out);
                self.go("pages", Stage::Imagining, out);
                self.ask_documents(out);
            }
            Stage::Imagining => {
                self.go("topics", Stage::Measuring, out);
                self.measure(out);
            }
            Stage::Measuring => self.finish_analysis(out),
            Stage::Outlining => {
                let by_rules = self.config.without_model && !self.state.all_chunks.is_empty();
                // Where a model gave no outline there is one topic: the question.
                let topics = self.outlined.take().unwrap_or_else(|| {
                    if by_rules { rules::outline(&self.state) } else { rules::question_topic(&self.state) }
                });
                self.state.outline = topics;
                let shown: Vec<&str> = self.state.outline.iter().map(|topic| topic.topic.as_str()).collect();
                self.status(format!("The report will cover: {}.", shown.join("; ")), out);
                self.go("outline", Stage::Imagining, out);
                self.ask_documents(out);
            }
            Stage::Planning => self.planned(out),
            Stage::Vetting => self.keep_new_actions(out),
            Stage::Writing => {
                self.go("sections", Stage::Fronting, out);
                self.front(out);
            }
            Stage::Fronting => {
                self.go("report", Stage::Ending, out);
            }
            Stage::Ending => {
                let stop = self.ending.unwrap_or_else(|| self.natural_stop());
                self.go("finish", Stage::Done, out);
                self.finish(stop, out);
            }
        }
    }

    fn drop_answer(&mut self) {
        self.outcome.dropped += 1;
    }

    fn answer(&mut self, id: Id, gave: WorkAnswer) {
        let fits = matches!(
            (self.pending.get(&id), &gave),
            (
                Some(
                    StageWork::EmbedQuery
                        | StageWork::EmbedTopics { .. }
                        | StageWork::EmbedChunks { .. }
                        | StageWork::EmbedPlan { .. }
                        | StageWork::SectionEmbed { .. }
                ),
                WorkAnswer::Vectors(_)
            ) | (Some(StageWork::Hits { .. } | StageWork::SectionHits { .. }), WorkAnswer::Hits(_))
                | (Some(StageWork::Page { .. }), WorkAnswer::Page(_))
                | (Some(StageWork::OwnPlan | StageWork::OwnAnalysis), WorkAnswer::Words(_))
        );
        match self.pending.remove_entry(&id) {
            Some((_, work)) if fits => self.ready.push_back((work, gave)),
            // What was asked for may still come.
            Some((id, work)) => {
                self.pending.insert(id, work);
                self.drop_answer();
            }
            None => self.drop_answer(),
        }
    }
}

impl Machine for ResearchMachine {
    fn step(&mut self, event: Event) -> Vec<Command> {
        let mut out = Vec::new();
        self.now = self.now.max(event.at);
        match (event.kind, self.stage) {
            (_, Stage::Done) => self.drop_answer(),
            (EventKind::Start { messages }, Stage::Idle) => self.start(messages, &mut out),
            (EventKind::Start { .. }, _) => out.push(refuse("already_started", "the research has already begun")),
            (EventKind::Interrupt { how, partial }, _) => self.interrupt(how, partial, &mut out),
            (_, Stage::Idle) => out.push(refuse("not_started", "the research has not begun")),
            (EventKind::Embedded { id, vectors }, _) => {
                // One that holds what is no number is none.
                let one = |vector: Vector| Some(vector.0).filter(|all| all.iter().all(|value| value.is_finite()));
                let all = |all: Vec<Vector>| all.into_iter().map(|vector| one(vector).unwrap_or_default()).collect();
                self.answer(id, WorkAnswer::Vectors(vectors.map(all)));
            }
            (EventKind::Hits { id, hits, problems }, _) => {
                for problem in problems.into_iter().filter(|_| self.pending.contains_key(&id)).collect::<Vec<_>>() {
                    self.problem(plan::one_line(&problem, 400), &mut out);
                }
                self.answer(id, WorkAnswer::Hits(hits));
            }
            (EventKind::Fetched { id, page }, _) => self.answer(id, WorkAnswer::Page(page)),
            (EventKind::Consulted { id, answer }, _) => {
                if let Some(error) = answer.as_ref().err().filter(|_| self.pending.contains_key(&id)) {
                    self.problem(plan::one_line(&format!("a part of one's own failed: {error}"), 400), &mut out);
                }
                self.answer(id, WorkAnswer::Words(answer.ok()));
            }
            (EventKind::Child { id, outcome, messages }, _) => self.child(id, *outcome, &messages, &mut out),
            (EventKind::Fired { id, partial }, _) => self.fired(id, partial, &mut out),
            _ => self.drop_answer(),
        }
        loop {
            if let Some((work, gave)) = self.ready.pop_front() {
                self.handle(work, gave, &mut out);
            } else if self.pending.is_empty() && self.queue.is_empty() && self.works() {
                self.advance(&mut out);
            } else {
                break;
            }
        }
        out
    }

    fn waiting(&self) -> Vec<String> {
        self.pending
            .values()
            .map(|work| match work {
                StageWork::EmbedQuery
                | StageWork::EmbedTopics { .. }
                | StageWork::EmbedChunks { .. }
                | StageWork::EmbedPlan { .. }
                | StageWork::SectionEmbed { .. } => "vectors".to_owned(),
                StageWork::Hits { .. } | StageWork::SectionHits { .. } => "a search".to_owned(),
                StageWork::Page { .. } => "a page".to_owned(),
                StageWork::Scout => "the first queries".to_owned(),
                StageWork::Hypothesis { topic } => format!("a document imagined for {:?}", clip(topic, 80)),
                StageWork::Outline => "the outline".to_owned(),
                StageWork::OwnAnalysis => "the analyser".to_owned(),
                StageWork::Plan | StageWork::OwnPlan => format!("the plan of cycle {}", self.state.cycles + 1),
                StageWork::Write { section } => format!("section {}", section + 1),
                StageWork::Review { section } => format!("the review of section {}", section + 1),
                StageWork::Front => "title and abstract".to_owned(),
                StageWork::Tools => "tools".to_owned(),
            })
            .collect()
    }

    fn is_finished(&self) -> bool {
        self.stage == Stage::Done
    }
}

impl ResearchMachine {
    /// Returns whether the work is in flight.
    fn works(&self) -> bool {
        !matches!(self.stage, Stage::Idle | Stage::Done)
    }
}
