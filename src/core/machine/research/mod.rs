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
mod hashing;
mod plan;
mod prompts;
mod render;
mod report;
mod rules;
mod state;
mod table;
#[cfg(test)]
mod tests;
mod write;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt::Write as _,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use act::{Hit, PageText};
pub use claims::{Contradiction, Said};
pub use config::{Explore, ResearchConfig, ResearchLimits, Style};
pub use plan::{PlanOutcome, read_plan};
pub use render::{html, markdown};
pub use report::{Line, Paragraph, Reference, Report, Section, Stopped};
pub use state::{
    Action, AskedQuery, Chunk, CycleRecord, Found, Hypothesis, Plan, PlannedBy, Refusal, ResearchState, SourcePage,
    Topic, VERSION, Vector,
};
pub use table::{TRANSITIONS, diagram, transitions};

use super::{
    Command, Event, EventKind, Id, Interrupt, Limit, Machine, MachineConfig, Notice, Outcome, Spent, Stop, Time,
    command::shorten, turn::TurnConfig,
};
use crate::core::{
    analysis::Background,
    error::{Error, Guilt, Result},
    message::{Message, Role},
    request::{History, OutputSchema, Response},
    sense::drift::BACKGROUND,
};

/// What a report and all that is known are, at the end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Researched {
    /// The report.
    pub report: Report,
    /// All that is known.
    pub state: ResearchState,
}

/// Plans that are asked for in a cycle before rules plan.
const PLANS: u32 = 2;
/// Problems that are kept.
const PROBLEMS: usize = 50;

/// Where a research stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stage {
    Idle,
    Embedding,
    Scouting,
    Searching,
    Fetching,
    Imagining,
    Measuring,
    Outlining,
    Planning,
    Vetting,
    Writing,
    Fronting,
    Ending,
    Done,
}

impl Stage {
    const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Embedding => "embedding",
            Self::Scouting => "scouting",
            Self::Searching => "searching",
            Self::Fetching => "fetching",
            Self::Imagining => "imagining",
            Self::Measuring => "measuring",
            Self::Outlining => "outlining",
            Self::Planning => "planning",
            Self::Vetting => "vetting",
            Self::Writing => "writing",
            Self::Fronting => "fronting",
            Self::Ending => "ending",
            Self::Done => "done",
        }
    }
}

/// Work that is under way, by the command that will be answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Work {
    EmbedQuery,
    Scout,
    Hits { at: usize },
    Page { slot: usize },
    Hypothesis { topic: String },
    EmbedTopics { topics: Vec<String> },
    EmbedChunks { from: usize },
    Outline,
    Plan,
    EmbedPlan { texts: Vec<String> },
    Write { section: usize },
    Review { section: usize },
    SectionHits { section: usize },
    SectionEmbed { section: usize },
    Front,
}

/// What answers it.
#[derive(Clone, Debug, PartialEq)]
enum Gave {
    Vectors(Result<Vec<Vec<f32>>>),
    Hits(Result<Vec<Hit>>),
    Page(Result<PageText>),
    /// What a model said; nothing where it failed or may not be asked.
    Words(Option<String>),
}

/// A question to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Ask {
    work: Work,
    system: String,
    prompt: String,
    temperature: f64,
    max_tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<OutputSchema>,
}

/// The phase that listeners know of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Open {
    phase: String,
    attempt: u32,
    since: Time,
}

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
    pending: BTreeMap<Id, Work>,
    /// Models that are being asked, and those that will be.
    asked: BTreeMap<Id, Ask>,
    queue: VecDeque<Ask>,
    #[serde(skip)]
    ready: VecDeque<(Work, Gave)>,
    open: Option<Open>,
    /// Hits of each search that is under way, and the places of their queries.
    hits: Vec<Option<Vec<Hit>>>,
    searched: Vec<usize>,
    slots: Vec<act::Slot>,
    fresh: Vec<act::Fresh>,
    /// Digests of texts that were cut up.
    texts: BTreeSet<u64>,
    pages_read: usize,
    scouted: Vec<String>,
    outlined: Option<Vec<Topic>>,
    planned: Option<PlanOutcome>,
    plan_attempts: u32,
    /// What was wrong with the last plan.
    plan_problem: Option<String>,
    query_vectors: BTreeMap<String, Vector>,
    sections: Vec<write::SectionWork>,
    report: Option<Box<Report>>,
    front_prompt: String,
    front_prompts: u32,
    failed_searches: usize,
    search_error: Option<Error>,
    answered: bool,
    without_temperature: bool,
    without_schema: bool,
    stop_words: Option<Stopped>,
    limit: Option<Limit>,
    ending: Option<Stop>,
    started: Time,
    now: Time,
    deadline: Id,
    spent: Spent,
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
            plan_problem: None,
            query_vectors: BTreeMap::new(),
            sections: Vec::new(),
            report: None,
            front_prompt: String::new(),
            front_prompts: 0,
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
            spent: Spent::default(),
            outcome: Outcome::new(Stop::Error),
            #[cfg(test)]
            trail: Vec::new(),
        }
    }

    /// All that is known.
    pub const fn state(&self) -> &ResearchState {
        &self.state
    }

    /// What it has used so far.
    pub(crate) const fn spent(&self) -> &Spent {
        &self.spent
    }

    /// The history: the question, and at the end the report.
    pub const fn history(&self) -> &History {
        &self.history
    }

    /// Where it stands: a state of [`transitions`].
    pub const fn phase(&self) -> &'static str {
        self.stage.name()
    }

    fn issue(&mut self, work: Work) -> Id {
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
        self.open = Some(Open { phase: phase.to_owned(), attempt, since: self.now });
        emit(out, Notice::PhaseStarted { phase: phase.to_owned(), attempt });
    }

    fn end(&mut self, output: Value, out: &mut Vec<Command>) {
        if let Some(Open { phase, attempt, since }) = self.open.take() {
            emit(out, Notice::PhaseFinished { phase, attempt, duration: self.now.since(since), output });
        }
    }

    fn status(&self, text: String, out: &mut Vec<Command>) {
        emit(out, Notice::Status { cycle: self.state.cycles + 1, text });
    }

    fn problem(&mut self, message: String, out: &mut Vec<Command>) {
        emit(out, Notice::Warning { code: "research_problem".to_owned(), message: message.clone() });
        if self.state.problems.len() < PROBLEMS {
            self.state.problems.push(message);
        }
    }

    fn stopped(&mut self, rule: &str, words: &str) {
        if self.stop_words.is_none() {
            self.stop_words = Some(Stopped { rule: rule.to_owned(), words: words.to_owned() });
        }
    }

    fn start(&mut self, messages: Vec<Message>, out: &mut Vec<Command>) {
        self.started = self.now;
        if let Err(error) = self.config.check() {
            self.outcome.error = Some(error);
            self.go("refused", Stage::Done, out);
            return self.finish(Stop::Error, out);
        }
        let asked = messages.last().filter(|last| last.role == Role::User).map(Message::prose);
        let Some(query) = asked.filter(|query| query.chars().any(char::is_alphanumeric)) else {
            let error = Error::usage("empty_prompt", "there is no question to research");
            self.outcome.error = Some(error.hint("end the messages with one of the user's that holds text"));
            self.go("refused", Stage::Done, out);
            return self.finish(Stop::Error, out);
        };
        self.history = messages.into_iter().collect();
        query.trim().clone_into(&mut self.state.query);
        self.deadline = self.id();
        out.push(Command::Timer { id: self.deadline, at: self.started.after(self.config.turn.budget.wall_time) });
        self.begin("setup", 1, out);
        self.go("start", Stage::Embedding, out);
        let texts = std::iter::once(self.state.query.as_str()).chain(BACKGROUND).map(|text| shorten(text, 8_000));
        self.embed(texts.collect(), Work::EmbedQuery, out);
    }

    /// The question's vector; without one there is nothing to measure with, and the run ends.
    fn query_embedded(&mut self, vectors: Result<Vec<Vec<f32>>>, out: &mut Vec<Command>) {
        let vectors = vectors.and_then(|vectors| {
            crate::core::analysis::cosine(
                vectors.first().map(Vec::as_slice).unwrap_or_default(),
                vectors.first().map(Vec::as_slice).unwrap_or_default(),
            )?;
            Ok(vectors)
        });
        match vectors {
            Ok(vectors) => {
                let (query, strangers) =
                    vectors.split_first().map_or((&[][..], &[][..]), |(one, rest)| (&one[..], rest));
                self.state.query_embedding = Some(Vector(query.to_vec()));
                self.state.background = Background::measure(strangers).ok();
                self.go("embedded", Stage::Scouting, out);
                if self.config.without_model {
                    return;
                }
                let schema = serde_json::json!({
                    "type": "object", "required": ["queries"],
                    "properties": {"queries": {"type": "array", "items": {"type": "string"}}},
                });
                let ask = Ask {
                    work: Work::Scout,
                    system: prompts::SCOUT.to_owned(),
                    prompt: format!("Question: {}", self.state.query),
                    temperature: 0.4,
                    max_tokens: 512,
                    output: Some(plan::output("queries", &schema)),
                };
                self.ask(ask, out);
            }
            Err(error) => {
                let message = format!("the question could not be embedded: {}", error.message);
                self.fail(Error { message, ..error }, out);
            }
        }
    }

    fn outline(&mut self, out: &mut Vec<Command>) {
        if self.config.without_model || self.state.all_chunks.is_empty() {
            return;
        }
        let schema = serde_json::json!({
            "type": "object", "required": ["outline"],
            "properties": {"outline": {"type": "array", "items": {
                "type": "object", "required": ["topic", "subtopics"],
                "properties": {"topic": {"type": "string"}, "subtopics": {"type": "array", "items": {"type": "string"}}},
            }}},
        });
        let ask = Ask {
            work: Work::Outline,
            system: prompts::outliner(),
            prompt: prompts::findings(&self.state, 50, 10_000),
            temperature: 0.2,
            max_tokens: 1_024,
            output: Some(plan::output("outline", &schema)),
        };
        self.ask(ask, out);
    }

    /// The outline of a model; topics that are near to each other count once.
    fn read_outline(&self, answer: &str) -> Option<Vec<Topic>> {
        let object = write::object_of(answer)?;
        let mut topics: Vec<Topic> = Vec::new();
        for one in object.get("outline")?.as_array()?.iter().take(8) {
            let topic = plan::clean(one.get("topic").and_then(Value::as_str).unwrap_or_default(), 120);
            let known = topics.iter().any(|known| self.alike(&known.topic, &topic));
            if topic.chars().any(char::is_alphanumeric) && !known && topics.len() < 5 {
                let mut subtopics = plan::texts(one.get("subtopics"));
                subtopics.truncate(4);
                topics.push(Topic { topic, subtopics });
            }
        }
        (!topics.is_empty()).then_some(topics)
    }

    /// Whether two queries or topics are the same but for details.
    fn alike(&self, one: &str, other: &str) -> bool {
        let least = self.config.limits.repeated;
        let vector = |text: &str| self.query_vectors.get(text).map(|vector| &vector.0);
        let embedded = || {
            let both = vector(one).zip(vector(other));
            let least = self.config.near.at(self.state.background.as_ref()).unwrap_or(least);
            both.is_some_and(|(one, other)| hashing::near(one, other) >= least)
        };
        hashing::near(&hashing::hashed(one), &hashing::hashed(other)) >= least || embedded()
    }

    /// The earlier query that this one repeats, among those that were sent and `others`.
    fn repeated(&self, query: &str, others: &[String]) -> Option<String> {
        let sent = self.state.queries.iter().map(|one| one.query.as_str());
        sent.chain(others.iter().map(String::as_str)).find(|other| self.alike(query, other)).map(str::to_owned)
    }

    fn plan(&mut self, out: &mut Vec<Command>) {
        let cycle = self.state.cycles + 1;
        if self.plan_attempts == 0 {
            self.begin("plan", cycle, out);
            self.plan_problem = None;
        }
        self.plan_attempts += 1;
        self.planned = None;
        if self.config.without_model || self.plan_attempts > PLANS {
            self.planned = Some(self.rule_plan());
            return;
        }
        let latent: Vec<String> = self.latent().into_iter().map(|(label, _)| label).collect();
        let left = self.config.turn.budget.research_cycles.saturating_sub(self.state.cycles);
        let given = plan::Summary { state: &self.state, trend: self.trend(), latent: &latent, cycles_left: left };
        let mut prompt = plan::summary(&given);
        if let Some(problem) = &self.plan_problem {
            let _ = write!(prompt, "\n\nYour last answer was of no use: {problem}. Answer again.");
        }
        let ask = Ask {
            work: Work::Plan,
            system: prompts::PLANNER.to_owned(),
            prompt,
            temperature: 0.2,
            max_tokens: 1_024,
            output: Some(plan::output("plan", &plan::schema())),
        };
        self.ask(ask, out);
    }

    fn rule_plan(&self) -> PlanOutcome {
        let latent = self.latent();
        let planning = rules::Planning {
            state: &self.state,
            trend: self.trend(),
            latent: &latent,
            most_topics: self.config.limits.topics,
        };
        let plan = rules::plan(&planning, |query, others| self.repeated(query, others).is_some());
        if plan.plan.is_empty() { PlanOutcome::Finished(plan) } else { PlanOutcome::Actions(plan) }
    }

    /// What a plan came to.
    fn planned(&mut self, out: &mut Vec<Command>) {
        match self.planned.take() {
            None => {
                // No answer: a limit ends it, a failure leaves it to the rules.
                if self.limit.is_some() {
                    self.end(serde_json::json!({"outcome": "limit"}), out);
                    self.go("limit", Stage::Writing, out);
                    return self.write(out);
                }
                self.plan_attempts = PLANS;
                self.go("invalid", Stage::Planning, out);
                self.plan(out);
            }
            Some(PlanOutcome::Invalid(problem)) => {
                self.problem(format!("a plan could not be read: {}", shorten(&problem, 200)), out);
                self.plan_problem = Some(problem);
                self.go("invalid", Stage::Planning, out);
                self.plan(out);
            }
            Some(PlanOutcome::Finished(plan)) => {
                self.remember(plan);
                self.end(serde_json::json!({"outcome": "finished", "critique": self.state.plan.critique}), out);
                self.stopped("planner_finished", "the plan was that nothing is left to look for");
                self.go("finished", Stage::Writing, out);
                self.write(out);
            }
            Some(PlanOutcome::Actions(plan)) => {
                let mut texts: Vec<String> = plan
                    .plan
                    .iter()
                    .map(|action| match action {
                        Action::Search { query, .. } => query.clone(),
                        Action::AddToOutline { topic, .. } => topic.clone(),
                    })
                    .chain(self.state.queries.iter().map(|one| one.query.clone()))
                    .chain(self.state.outline.iter().map(|one| one.topic.clone()))
                    .filter(|text| !self.query_vectors.contains_key(text))
                    .collect();
                texts.sort_unstable();
                texts.dedup();
                self.planned = Some(PlanOutcome::Actions(plan));
                self.go("plan", Stage::Vetting, out);
                // Hashed words are compared anyhow.
                if self.config.embedder.is_some() && !texts.is_empty() {
                    self.embed(texts.clone(), Work::EmbedPlan { texts }, out);
                }
            }
        }
    }

    fn remember(&mut self, plan: Plan) {
        if !plan.critique.is_empty() {
            self.state.critique_history.push(plan.critique.clone());
        }
        let refused = std::mem::take(&mut self.state.plan.refused);
        self.state.plan = Plan { refused, ..plan };
    }

    /// Takes of a plan what is new; refuses the rest, with reasons that the next plan sees.
    fn vetted(&mut self, out: &mut Vec<Command>) {
        let Some(PlanOutcome::Actions(plan)) = self.planned.take() else {
            self.planned = None;
            return;
        };
        let by_rules = plan.by == PlannedBy::Rules;
        let mut refused = Vec::new();
        let mut queries: Vec<String> = Vec::new();
        let mut accepted: Vec<Action> = Vec::new();
        let mut refuse = |what: &str, reason: String| refused.push(Refusal { what: shorten(what, 200), reason });
        for action in &plan.plan {
            match action {
                Action::AddToOutline { topic, subtopics } => {
                    if let Some(known) = self.state.outline.iter().find(|known| self.alike(&known.topic, topic)) {
                        refuse(topic, format!("the outline holds {:?} already", known.topic));
                    } else if self.state.outline.len() >= self.config.limits.topics {
                        refuse(topic, format!("the outline is full: {} topics", self.state.outline.len()));
                    } else {
                        self.state.outline.push(Topic { topic: topic.clone(), subtopics: subtopics.clone() });
                        accepted.push(action.clone());
                    }
                }
                Action::Search { query, target_outline_topic } => {
                    if let Some(known) = self.repeated(query, &queries) {
                        refuse(query, format!("too near to {:?}, which was asked before", shorten(&known, 200)));
                    } else if queries.len() >= self.config.limits.searches {
                        refuse(query, format!("a plan has at most {} searches", self.config.limits.searches));
                    } else {
                        let topic = act::target(&self.state.outline, target_outline_topic);
                        let target_outline_topic = topic.map(|topic| topic.topic.clone()).unwrap_or_default();
                        queries.push(query.clone());
                        accepted.push(Action::Search { query: query.clone(), target_outline_topic });
                    }
                }
            }
        }
        // A new topic that nothing is searched for would stay empty.
        for action in accepted.clone() {
            let Action::AddToOutline { topic, .. } = action else { continue };
            let searched = accepted.iter().any(
                |one| matches!(one, Action::Search { target_outline_topic, .. } if *target_outline_topic == topic),
            );
            if !searched && self.repeated(&topic, &queries).is_none() {
                queries.push(topic.clone());
                accepted.push(Action::Search { query: topic.clone(), target_outline_topic: topic });
            }
        }
        if self.plan_attempts > 1 {
            self.state.plan.refused.extend(refused);
        } else {
            // Those of the cycle before have been told.
            self.state.plan.refused = refused;
        }
        if accepted.is_empty() {
            if by_rules {
                self.remember(plan);
                self.end(serde_json::json!({"outcome": "nothing left", "refused": self.state.plan.refused}), out);
                self.stopped("nothing_left", "every further query would repeat an earlier one");
                self.go("nothing left", Stage::Writing, out);
                return self.write(out);
            }
            self.plan_problem =
                Some("every action of it was refused: see there why, and ask for something else".to_owned());
            self.go("all refused", Stage::Planning, out);
            return self.plan(out);
        }
        self.remember(Plan { plan: accepted.clone(), ..plan });
        let output = serde_json::json!({
            "outcome": "actions", "by": self.state.plan.by, "critique": self.state.plan.critique,
            "actions": accepted, "refused": self.state.plan.refused,
        });
        self.end(output, out);
        self.go("actions", Stage::Searching, out);
        self.act(&accepted, out);
    }

    /// Puts a question to a model, as soon as there is room.
    fn ask(&mut self, ask: Ask, out: &mut Vec<Command>) {
        self.queue.push_back(ask);
        self.send(out);
    }

    /// Sends what the budget and the number of calls at once allow.
    fn send(&mut self, out: &mut Vec<Command>) {
        let budget = self.config.turn.budget.clone();
        // Where tokens or money are counted, one call at a time: none can use what another counts on.
        let most = if budget.tokens.is_some() || budget.cost.is_some() { 1 } else { self.config.limits.parallel };
        while self.asked.len() < most {
            let Some(ask) = self.queue.pop_front() else { return };
            let mut spent = self.spent.clone();
            spent.iterations = spent.iterations.saturating_add(self.asked.len() as u32);
            if let Some(limit) = spent.next_request_exceeds(&budget, self.elapsed(), (ask.prompt.len() / 4) as u64) {
                if self.limit.is_none() {
                    self.limit = Some(limit);
                    let name = limit.stop().name();
                    self.stopped(name, &format!("the budget of the run is used up ({})", name.replace('_', " ")));
                    let message = "the budget of the run is used up; the rest is done by rules".to_owned();
                    emit(out, Notice::Warning { code: name.to_owned(), message });
                }
                self.ready.push_back((ask.work, Gave::Words(None)));
                continue;
            }
            let mut left = budget.remaining(&self.spent, self.elapsed());
            (left.iterations, left.tool_rounds) = (1, 0);
            let turn = TurnConfig {
                system: Some(match &self.config.turn.system {
                    Some(system) if !system.trim().is_empty() => format!("{system}\n\n{}", ask.system),
                    _ => ask.system.clone(),
                }),
                tools: Vec::new(),
                provider_tools: Vec::new(),
                tool_format: None,
                tool_choice: None,
                max_tokens: Some(ask.max_tokens.max(self.config.turn.max_tokens.unwrap_or(0))),
                temperature: (!self.without_temperature).then_some(ask.temperature),
                output: ask.output.clone().filter(|_| !self.without_schema),
                stream: false,
                stuck: None,
                momentum: None,
                check_in: None,
                budget: left,
                ..self.config.turn.clone()
            };
            let messages: History = [Message::user(ask.prompt.clone())].into_iter().collect();
            let id = self.issue(ask.work.clone());
            self.asked.insert(id, ask);
            out.push(Command::Spawn { id, config: Box::new(MachineConfig::Turn(turn)), messages });
        }
    }

    /// A model has answered.
    fn child(&mut self, id: Id, child: Outcome, out: &mut Vec<Command>) {
        let Some(work) = self.pending.remove(&id) else { return self.drop_answer() };
        let ask = self.asked.remove(&id);
        let round = self.spent.iterations;
        self.spent.add_child(&child.spent);
        self.outcome.dropped += child.dropped;
        self.outcome.roles.add(*child.roles);
        self.outcome.iterations.extend(child.iterations.into_iter().map(|mut iteration| {
            iteration.iteration += round;
            iteration
        }));
        if self.stage == Stage::Ending {
            return;
        }
        let said = child.r#final.or(child.best_draft).filter(|text| !text.trim().is_empty());
        if said.is_some() {
            self.answered = true;
        } else if let Some(error) = child.error {
            let told = error.message.to_lowercase();
            // Some models take no temperature, some servers no schema: then without.
            let temperature = told.contains("temperature") && !self.without_temperature;
            let schema =
                ["response_format", "json_schema", "output_format", "text.format"].iter().any(|w| told.contains(w));
            if let Some(ask) = ask.filter(|_| temperature || (schema && !self.without_schema)) {
                self.without_temperature |= temperature;
                self.without_schema |= schema;
                self.queue.push_front(ask);
                return self.send(out);
            }
            if !self.answered && error.guilt != Guilt::Model {
                // The model has never been reached: that is no accident on the way.
                return self.fail(error, out);
            }
            self.problem(format!("the model failed: {}", shorten(&error.to_string(), 200)), out);
        }
        self.ready.push_back((work, Gave::Words(said)));
        self.send(out);
    }

    fn handle(&mut self, work: Work, gave: Gave, out: &mut Vec<Command>) {
        let words = |gave| if let Gave::Words(words) = gave { words } else { None };
        match (work, gave) {
            (Work::EmbedQuery, Gave::Vectors(vectors)) => self.query_embedded(vectors, out),
            (Work::EmbedTopics { topics }, Gave::Vectors(vectors)) => self.topics_embedded(&topics, vectors, out),
            (Work::EmbedChunks { from }, Gave::Vectors(vectors)) => self.chunks_embedded(from, vectors, out),
            (Work::EmbedPlan { texts }, Gave::Vectors(vectors)) => match vectors {
                Ok(vectors) => {
                    let good = texts.into_iter().zip(vectors).filter(|(_, vector)| !vector.is_empty());
                    self.query_vectors.extend(good.map(|(text, vector)| (text, Vector(vector))));
                }
                Err(error) => self.problem(format!("queries could not be embedded: {error}"), out),
            },
            (Work::SectionEmbed { section }, Gave::Vectors(vectors)) => self.section_embedded(section, vectors, out),
            (Work::Hits { at }, Gave::Hits(hits)) => self.hits(at, hits, out),
            (Work::SectionHits { section }, Gave::Hits(hits)) => self.section_hits(section, hits, out),
            (Work::Page { slot }, Gave::Page(page)) => {
                self.page(slot, page);
                if let Some(section) = self.slots.get(slot).and_then(|slot| slot.section) {
                    self.section_pages(section, out);
                }
            }
            (Work::Scout, gave) => {
                let said = words(gave).and_then(|said| write::object_of(&said));
                let mut queries = plan::texts(said.as_ref().and_then(|object| object.get("queries")));
                queries.truncate(3);
                self.scouted = queries;
            }
            (Work::Hypothesis { topic }, gave) => self.imagined(&topic, words(gave)),
            (Work::Outline, gave) => self.outlined = words(gave).and_then(|said| self.read_outline(&said)),
            (Work::Plan, gave) => self.planned = words(gave).map(|said| read_plan(&said)),
            (Work::Write { section }, gave) => self.written(section, words(gave), out),
            (Work::Review { section }, gave) => self.reviewed(section, words(gave).as_deref(), out),
            (Work::Front, gave) => self.fronted(words(gave).as_deref(), out),
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
                for query in rules::broad(&self.state.query) {
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
                self.imagine(out);
            }
            Stage::Imagining => {
                self.go("topics", Stage::Measuring, out);
                self.measure(out);
            }
            Stage::Measuring => self.analysed(out),
            Stage::Outlining => {
                let by_rules = self.config.without_model && !self.state.all_chunks.is_empty();
                // Where a model gave no outline there is one topic: the question.
                let topics = self.outlined.take().unwrap_or_else(|| {
                    if by_rules { rules::outline(&self.state) } else { rules::fallback(&self.state) }
                });
                self.state.outline = topics;
                let shown: Vec<&str> = self.state.outline.iter().map(|topic| topic.topic.as_str()).collect();
                self.status(format!("The report will cover: {}.", shown.join("; ")), out);
                self.go("outline", Stage::Imagining, out);
                self.imagine(out);
            }
            Stage::Planning => self.planned(out),
            Stage::Vetting => self.vetted(out),
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

    fn natural_stop(&mut self) -> Stop {
        if let Some(limit) = self.limit {
            return limit.stop();
        }
        let said = self.report.as_ref().is_some_and(|report| !report.is_empty());
        if said {
            return Stop::Verified;
        }
        match self.search_error.take().filter(|_| self.state.sources.is_empty()) {
            Some(error) if self.failed_searches as u64 == self.outcome.searches => {
                let message = format!("every search failed; the last: {}", error.message);
                self.outcome.error = Some(Error { message, ..error });
                Stop::Error
            }
            _ => Stop::Abstained,
        }
    }

    /// Ends with an error.
    fn fail(&mut self, error: Error, out: &mut Vec<Command>) {
        self.outcome.error = Some(error);
        let why = if self.stage == Stage::Embedding || self.stage == Stage::Scouting { "failed" } else { "interrupt" };
        self.wind_up(why, Stop::Error, None, out);
    }

    /// Ends early: children are told and awaited, all else is given up.
    fn wind_up(&mut self, why: &'static str, stop: Stop, partial: Option<Box<Response>>, out: &mut Vec<Command>) {
        self.queue.clear();
        self.ready.clear();
        self.ending = Some(stop);
        let mut partial = partial;
        for id in self.pending.keys().copied().collect::<Vec<_>>() {
            if self.asked.contains_key(&id) {
                out.push(Command::Interrupt { id, how: Interrupt::Cancel, partial: partial.take() });
            } else {
                self.pending.remove(&id);
                out.push(Command::Abort { id });
            }
        }
        self.go(why, Stage::Ending, out);
    }

    fn interrupt(&mut self, how: Interrupt, partial: Option<Box<Response>>, out: &mut Vec<Command>) {
        match self.stage {
            Stage::Idle => {
                self.go("interrupt", Stage::Done, out);
                self.finish(Stop::Cancelled, out);
            }
            Stage::Ending | Stage::Done => {}
            _ => {
                let stop = if how == Interrupt::Cancel { Stop::Cancelled } else { Stop::UserInterrupt };
                self.stopped(stop.name(), "somebody ended it");
                self.wind_up("interrupt", stop, partial, out);
            }
        }
    }

    fn fired(&mut self, timer: Id, partial: Option<Box<Response>>, out: &mut Vec<Command>) {
        if timer != self.deadline {
            return self.drop_answer();
        }
        self.deadline = 0;
        if self.stage == Stage::Ending {
            return;
        }
        let name = Stop::WallTime.name();
        self.stopped(name, "the time of the run was up");
        emit(out, Notice::Warning { code: name.to_owned(), message: "the time of the run was up".to_owned() });
        self.wind_up("interrupt", Stop::WallTime, partial, out);
    }

    fn finish(&mut self, stop: Stop, out: &mut Vec<Command>) {
        if self.deadline != 0 {
            out.push(Command::Abort { id: self.deadline });
        }
        let report = match self.report.take() {
            Some(report) => *report,
            None => self.assembled(),
        };
        let text = markdown(&report, self.config.style);
        let complete = stop == Stop::Verified || stop.is_limit() || stop == Stop::UserInterrupt;
        let said = !report.is_empty();
        let output = serde_json::json!({
            "sections": report.sections.len(), "cited": report.bibliography.len(), "stopped": report.stopped,
        });
        self.end(output, out);
        let set_up = self.is_set_up();
        let outcome = &mut self.outcome;
        if said && complete {
            // Every statement in it has passed the check, however early it ended.
            outcome.verified = Some(true);
            outcome.r#final = Some(text.clone());
        } else {
            outcome.verified = Some(false);
            outcome.best_draft = said.then(|| text.clone());
            if stop == Stop::Abstained {
                outcome.r#final = Some(text.clone());
            }
        }
        outcome.sources = report::evidence(&report.bibliography, &self.state);
        outcome.attempts = self.state.cycles;
        outcome.stop = stop;
        outcome.duration = self.now.since(self.started);
        outcome.spent = self.spent.clone();
        if let Some(text) = &outcome.r#final {
            outcome.transcript.clone_from(text);
            self.history.push(Message::assistant(text.clone()));
        }
        if set_up || said {
            outcome.research = Some(Box::new(Researched { report, state: self.state.clone() }));
        }
        self.stage = Stage::Done;
        out.push(Command::Finish { outcome: Box::new(outcome.clone()) });
    }

    fn drop_answer(&mut self) {
        self.outcome.dropped += 1;
    }

    fn answer(&mut self, id: Id, gave: Gave) {
        let fits = matches!(
            (self.pending.get(&id), &gave),
            (
                Some(
                    Work::EmbedQuery
                        | Work::EmbedTopics { .. }
                        | Work::EmbedChunks { .. }
                        | Work::EmbedPlan { .. }
                        | Work::SectionEmbed { .. }
                ),
                Gave::Vectors(_)
            ) | (Some(Work::Hits { .. } | Work::SectionHits { .. }), Gave::Hits(_))
                | (Some(Work::Page { .. }), Gave::Page(_))
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
                self.answer(id, Gave::Vectors(vectors.map(all)));
            }
            (EventKind::Hits { id, hits }, _) => self.answer(id, Gave::Hits(hits)),
            (EventKind::Fetched { id, page }, _) => self.answer(id, Gave::Page(page)),
            (EventKind::Child { id, outcome, .. }, _) => self.child(id, *outcome, &mut out),
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
                Work::EmbedQuery
                | Work::EmbedTopics { .. }
                | Work::EmbedChunks { .. }
                | Work::EmbedPlan { .. }
                | Work::SectionEmbed { .. } => "vectors".to_owned(),
                Work::Hits { .. } | Work::SectionHits { .. } => "a search".to_owned(),
                Work::Page { .. } => "a page".to_owned(),
                Work::Scout => "the first queries".to_owned(),
                Work::Hypothesis { topic } => format!("a document imagined for {:?}", shorten(topic, 80)),
                Work::Outline => "the outline".to_owned(),
                Work::Plan => format!("the plan of cycle {}", self.state.cycles + 1),
                Work::Write { section } => format!("section {}", section + 1),
                Work::Review { section } => format!("the review of section {}", section + 1),
                Work::Front => "title and abstract".to_owned(),
            })
            .collect()
    }

    fn is_finished(&self) -> bool {
        self.stage == Stage::Done
    }
}

impl ResearchMachine {
    /// Whether it is under way.
    fn works(&self) -> bool {
        !matches!(self.stage, Stage::Idle | Stage::Done)
    }
}

fn emit(out: &mut Vec<Command>, notice: Notice) {
    out.push(Command::Emit { notice });
}

fn refuse(code: &'static str, message: &str) -> Command {
    Command::Refuse { error: Error::usage(code, message) }
}
