//! The analyse and update stage: a document imagined for each topic, vectors, the chunks that are kept, and the gain of
//! the cycle.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    ResearchMachine, Stage, StageWork,
    act::UnjudgedChunk,
    claims::claims,
    hashing, prompts,
    state::{AskedQuery, Chunk, CycleRecord, Hypothesis, Topic, UnkeptChunk, Vector},
};
use crate::Command;
use loopwright_base::{error::Result, text::clip};
use loopwright_lexicon::words;
use loopwright_retrieve::analysis::{
    self, Coverage, Gains, LatentPolicy, SelectPolicy, Selected, StopPolicy, StopRule, Trend, TrendPolicy,
};

/// Texts that go to an embedder at once.
const BATCH: usize = 64;
/// Chunks that a query of a plan chooses among.
const NEAREST: usize = 60;
/// Chunks of a cluster that are worth a name.
const MIN_CLUSTER: usize = 3;
/// Labels of latent topics that a planner is given.
const LABELS: usize = 5;

/// The purpose of a round of measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measuring {
    /// The results of the set-up, against the question.
    First,
    /// The results of the set-up, against the new outline.
    Baseline,
    /// The results of a cycle.
    Cycle,
}

/// The answer of the user's own analyser.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct OwnAnalysis {
    /// The coverage of topics, 0 to 1; those that it leaves out are measured.
    coverage: BTreeMap<String, f32>,
    /// Enough was found; without a value the rules decide.
    enough: Option<bool>,
    /// The reason, in words for the report.
    why: String,
}

fn query_vector(asked: &AskedQuery, hashes: bool) -> Option<Vec<f32>> {
    let vector = asked.vector.clone().or_else(|| hashes.then(|| Vector(hashing::hash_vector(&asked.query))));
    vector.filter(|vector| !vector.is_empty()).map(|vector| vector.0)
}

impl ResearchMachine {
    pub(super) fn pass(&self) -> Measuring {
        if self.state.outline.is_empty() {
            Measuring::First
        } else if self.state.last_coverage_vector.is_none() {
            Measuring::Baseline
        } else {
            Measuring::Cycle
        }
    }

    /// The topics that chunks are measured against; before there is an outline, the question.
    pub(super) fn topics(&self) -> Vec<Topic> {
        if self.state.outline.is_empty() {
            vec![Topic { topic: self.state.query.clone(), subtopics: Vec::new() }]
        } else {
            self.state.outline.clone()
        }
    }

    /// Imagines a document for each topic that has none. One that is there stays: it is frozen.
    pub(super) fn ask_documents(&mut self, out: &mut Vec<Command>) {
        for topic in self.topics() {
            if self.state.hypotheses.contains_key(&topic.topic) {
                continue;
            }
            if self.config.without_model {
                self.set_document(&topic.topic, None);
                continue;
            }
            let prompt = prompts::about_topic(&self.state.query, &topic.line());
            let ask = super::ModelQuestion {
                work: StageWork::Hypothesis { topic: topic.topic.clone() },
                system: prompts::HYPOTHESIS.to_owned(),
                prompt,
                temperature: 0.4,
                max_tokens: 512,
                output: None,
            };
            self.ask(ask, out);
        }
    }

    /// Stores the document of a topic; without one its own words stand for it.
    pub(super) fn set_document(&mut self, topic: &str, document: Option<String>) {
        let document = document.filter(|text| text.chars().any(char::is_alphanumeric));
        let (model, text) = match document {
            Some(text) => (self.config.turn.model.clone(), clip(text.trim(), 8_000)),
            None => (String::new(), self.line_of(topic)),
        };
        self.state.hypotheses.insert(topic.to_owned(), Hypothesis { model, text, vector: None });
    }

    fn line_of(&self, topic: &str) -> String {
        let known = self.state.outline.iter().find(|one| one.topic == topic);
        known.map_or_else(|| topic.to_owned(), Topic::line)
    }

    /// Asks for the vectors of new topics and fresh chunks.
    pub(super) fn measure(&mut self, out: &mut Vec<Command>) {
        let lacking: Vec<(String, String)> = self
            .topics()
            .iter()
            .filter_map(|topic| {
                let hypothesis = self.state.hypotheses.get(&topic.topic)?;
                hypothesis.vector.is_none().then(|| (topic.topic.clone(), hypothesis.text.clone()))
            })
            .collect();
        if !lacking.is_empty() {
            let texts = lacking.iter().flat_map(|(topic, document)| [self.line_of(topic), document.clone()]).collect();
            let topics = lacking.into_iter().map(|(topic, _)| topic).collect();
            self.embed(texts, StageWork::EmbedTopics { topics }, out);
        }
        // Hashed words are hashed again; what an embedder failed at is asked for once more.
        let known = std::mem::take(&mut self.state.unkept_chunks);
        let (bare, known) = known.into_iter().partition::<Vec<_>, _>(|one| one.vector.is_empty());
        self.state.unkept_chunks = known;
        self.fresh.extend(bare.into_iter().map(|one| UnjudgedChunk {
            chunk: one.chunk,
            vector: one.vector,
            section: None,
        }));
        let texts: Vec<String> = self.fresh.iter().map(|fresh| Self::embedded_text(&fresh.chunk)).collect();
        for (batch, texts) in texts.chunks(BATCH).enumerate() {
            self.embed(texts.to_vec(), StageWork::EmbedChunks { from: batch * BATCH }, out);
        }
    }

    /// The vector of a topic is the mean of its own and that of its document: neither is used alone.
    pub(super) fn topics_embedded(
        &mut self,
        topics: &[String],
        vectors: Result<Vec<Vec<f32>>>,
        out: &mut Vec<Command>,
    ) {
        match vectors {
            Ok(vectors) => {
                for (topic, pair) in topics.iter().zip(vectors.chunks(2)) {
                    let [line, document] = pair else { continue };
                    if let Some(hypothesis) = self.state.hypotheses.get_mut(topic) {
                        hypothesis.vector = Some(Vector(hashing::mean(line, document)));
                    }
                }
            }
            Err(error) => self.problem(format!("topics could not be embedded: {error}"), out),
        }
    }

    pub(super) fn chunks_embedded(&mut self, from: usize, vectors: Result<Vec<Vec<f32>>>, out: &mut Vec<Command>) {
        match vectors {
            Ok(vectors) => {
                for (fresh, vector) in self.fresh.iter_mut().skip(from).zip(vectors) {
                    fresh.vector = Vector(vector);
                }
            }
            Err(error) => self.problem(format!("some passages could not be embedded: {error}"), out),
        }
    }

    fn width(&self) -> Option<usize> {
        self.state.query_embedding.as_ref().map(|vector| vector.0.len())
    }

    /// Keeps the best of the new chunks, and measures the gain of the cycle.
    pub(super) fn update(&mut self) {
        let pass = self.pass();
        let cycle = if pass == Measuring::Cycle { self.state.cycles + 1 } else { 1 };
        let fresh = std::mem::take(&mut self.fresh).into_iter();
        let mut read = std::mem::take(&mut self.state.unkept_chunks);
        read.extend(fresh.map(|one| UnkeptChunk { chunk: one.chunk, vector: one.vector }));
        let width = self.width();
        let vectors: Vec<Vec<f32>> = read.iter_mut().map(|one| std::mem::take(&mut one.vector.0)).collect();
        let (names, topics) = self.topic_vectors();
        let good = analysis::usable(&vectors, width);
        let chosen = self.choose(&vectors, &good, &names, &topics);
        let (mut accepted, mut new_claims) = (0, 0);
        for (at, topic, one) in &chosen {
            let (Some(read), Some(vector)) = (read.get(*at), vectors.get(*at)) else { continue };
            let chunk =
                Chunk { topic: topic.clone(), cycle, score: one.score, novelty: one.novelty, ..read.chunk.clone() };
            accepted += 1;
            for claim in claims(&chunk.text) {
                new_claims += usize::from(self.state.claims.insert(claim));
            }
            self.state.chunk_embedding_cache.insert(chunk.key(), Vector(vector.clone()));
            self.state.all_chunks.push(chunk);
        }
        let seen = read.iter().filter(|one| one.chunk.cycle == 0).count();
        for one in read.iter_mut().filter(|one| one.chunk.cycle == 0) {
            one.chunk.cycle = cycle;
        }
        self.return_unchosen(read, vectors, &chosen.into_iter().map(|(at, ..)| at).collect(), &topics);
        if let Some(record) = self.state.history.last_mut().filter(|_| pass == Measuring::Baseline) {
            // The outline of the set-up: what was read for the question is judged by it.
            (record.accepted, record.claims) = (record.accepted + accepted, record.claims + new_claims);
        } else {
            let pages = std::mem::take(&mut self.pages_read);
            let record = CycleRecord { cycle, pages, seen, accepted, claims: new_claims, ..CycleRecord::default() };
            self.state.history.push(record);
        }
    }

    /// The chunks to keep, by their places in `vectors`, each with its topic: for each query of the plan the best of
    /// those that are nearest to it, up to half of all; then the best for the topics of the outline.
    fn choose(
        &mut self,
        vectors: &[Vec<f32>],
        good: &[usize],
        names: &[String],
        topics: &[Vec<f32>],
    ) -> Vec<(usize, String, Selected)> {
        let of = |at: &usize| vectors.get(*at).map(Vec::as_slice).unwrap_or_default();
        let policy = SelectPolicy { background: self.state.background, ..self.config.select.clone() };
        let mut kept = self.kept();
        let mut chosen: Vec<(usize, String, Selected)> = Vec::new();
        let mut take = |rows: &[&[f32]], from: &[usize], top: usize, names: &[String]| {
            let from: Vec<usize> = from.iter().copied().filter(|at| chosen.iter().all(|one| one.0 != *at)).collect();
            let candidates: Vec<&[f32]> = from.iter().map(of).collect();
            let before: Vec<&[f32]> = kept.iter().map(Vec::as_slice).collect();
            let policy = SelectPolicy { top, ..policy.clone() };
            // With nothing to measure against nothing can be judged, and nothing is kept.
            let found = analysis::select(rows, &candidates[..], &before[..], &policy).unwrap_or_default();
            for one in found {
                let Some(at) = from.get(one.chunk) else { continue };
                kept.push(of(at).to_vec());
                chosen.push((*at, names.get(one.topic).cloned().unwrap_or_default(), one));
            }
            chosen.len()
        };
        let queries = self.plan_vectors(names, topics);
        let share = (policy.top / 2).checked_div(queries.len()).unwrap_or(0).max(1);
        let mut count = 0;
        for (topic, query) in queries {
            let mut near: Vec<(f32, usize)> = good.iter().map(|at| (hashing::cosine(&query, of(at)), *at)).collect();
            near.sort_by(|a, b| b.0.total_cmp(&a.0));
            let near: Vec<usize> = near.into_iter().take(NEAREST).map(|(_, at)| at).collect();
            count = take(&[&query], &near, share.min(policy.top - count), &[topic]);
        }
        let rows: Vec<&[f32]> = topics.iter().map(Vec::as_slice).collect();
        take(&rows, good, policy.top - count, names);
        chosen
    }

    /// The vectors of the queries of this plan, each with the topic that it serves: that which it names, else the
    /// nearest.
    fn plan_vectors(&mut self, names: &[String], topics: &[Vec<f32>]) -> Vec<(String, Vec<f32>)> {
        let (cycle, hashes) = (self.state.cycles + 1, self.config.embedder.is_none());
        if self.pass() != Measuring::Cycle {
            return Vec::new();
        }
        let mut found = Vec::new();
        for asked in self.state.queries.iter_mut().filter(|asked| asked.cycle == cycle) {
            let Some(vector) = query_vector(asked, hashes) else { continue };
            if asked.topic.is_empty() {
                let near = topics.iter().map(|topic| hashing::cosine(topic, &vector)).zip(names);
                let nearest = near.max_by(|a, b| a.0.total_cmp(&b.0));
                asked.topic = nearest.map(|(_, name)| name.clone()).unwrap_or_default();
            }
            found.push((asked.topic.clone(), vector));
        }
        found
    }

    /// The vector of a query that was sent, as far as it is known.
    pub(super) fn query_vector(&self, asked: &AskedQuery) -> Option<Vec<f32>> {
        query_vector(asked, self.config.embedder.is_none())
    }

    /// A chunk that waits for the next cycle.
    pub(super) fn unkept(&self, chunk: Chunk, vector: Vec<f32>) -> UnkeptChunk {
        UnkeptChunk { chunk, vector: Vector(if self.config.embedder.is_none() { Vec::new() } else { vector }) }
    }

    /// Puts the chunks that were not chosen back for the next cycle. Of too many those go that are farthest from
    /// question and topics.
    fn return_unchosen(
        &mut self,
        read: Vec<UnkeptChunk>,
        vectors: Vec<Vec<f32>>,
        chosen: &HashSet<usize>,
        topics: &[Vec<f32>],
    ) {
        let left = read.into_iter().zip(vectors).enumerate().filter(|(at, _)| !chosen.contains(at));
        let mut left: Vec<(f32, Chunk, Vec<f32>)> = left.map(|(_, (one, vector))| (0.0, one.chunk, vector)).collect();
        let most = self.config.limits.unkept_chunks;
        if left.len() > most {
            let query = self.state.query_embedding.as_ref().map(|vector| &vector.0);
            let rows: Vec<&Vec<f32>> = topics.iter().chain(query).collect();
            for (score, _, vector) in &mut left {
                *score = rows.iter().map(|row| hashing::cosine(row, vector)).fold(-1.0, f32::max);
            }
            left.sort_by(|a, b| b.0.total_cmp(&a.0));
            left.truncate(most);
        }
        self.state.unkept_chunks = left.into_iter().map(|(_, chunk, vector)| self.unkept(chunk, vector)).collect();
    }

    /// The coverage of each topic by the kept chunks.
    fn coverage_of_topics(&self) -> (Vec<String>, Vec<f32>) {
        let (names, topics) = self.topic_vectors();
        let covered = analysis::coverage(&topics, &self.kept()).unwrap_or_default();
        (names, covered.into_iter().map(|value| value.max(0.0)).collect())
    }

    fn record_coverage(&mut self, own: &BTreeMap<String, f32>) {
        let (names, mut covered) = self.coverage_of_topics();
        for (name, covered) in names.iter().zip(&mut covered) {
            *covered = own.get(name).map_or(*covered, |own| own.clamp(0.0, 1.0));
        }
        let mean = covered.iter().sum::<f32>() / covered.len().max(1) as f32;
        let first = self.state.last_coverage_vector.is_none();
        let now = Coverage::new(names, covered);
        let mut gains = Gains {
            history: std::mem::take(&mut self.state.information_gain_history),
            last: self.state.last_coverage_vector.take(),
        };
        let gained = gains.record(now);
        self.state.information_gain_history = if first { vec![1.0] } else { gains.history };
        self.state.last_coverage_vector = gains.last;
        if let Some(record) = self.state.history.last_mut() {
            (record.gain, record.coverage) = (gained, mean);
        }
    }

    /// The topics that have a vector.
    fn topic_vectors(&self) -> (Vec<String>, Vec<Vec<f32>>) {
        let topics = self.topics();
        let vectors: Vec<Vec<f32>> = topics.iter().map(|topic| self.state.topic_vector(&topic.topic)).collect();
        let good = analysis::usable(&vectors, self.width());
        let names = good.iter().filter_map(|at| topics.get(*at)).map(|topic| topic.topic.clone()).collect();
        (names, good.iter().filter_map(|at| vectors.get(*at)).cloned().collect())
    }

    fn kept(&self) -> Vec<Vec<f32>> {
        let all = self.state.kept_vectors();
        analysis::usable(&all, self.width()).iter().filter_map(|at| all.get(*at)).cloned().collect()
    }

    pub(super) fn trend(&self) -> Trend {
        let stop = StopPolicy { background: self.state.background, ..self.config.stop };
        let epsilon = stop.epsilon().unwrap_or(TrendPolicy::default().epsilon);
        analysis::trend(&self.state.information_gain_history, &TrendPolicy { epsilon, ..self.config.trend })
    }

    /// Returns whether the last cycle behind the set-up brought nothing, or next to nothing.
    pub(super) fn is_dry(&self) -> bool {
        let policy = StopPolicy { background: self.state.background, ..self.config.stop };
        let small = |gain: f32| policy.epsilon().is_ok_and(|epsilon| gain < epsilon);
        let last = self.state.history.last().filter(|last| last.cycle > 1);
        last.is_some_and(|last| last.accepted == 0 || last.gain.is_some_and(small))
    }

    /// The rule by which there is enough, if one says so.
    pub(super) fn enough(&self, accepted: usize, claims: usize) -> Option<StopRule> {
        let policy = StopPolicy { background: self.state.background, ..self.config.stop };
        analysis::enough(&self.state.information_gain_history, &policy, Some(accepted), Some(claims))
    }

    /// The latent topics: labels, and their relevance to the question.
    pub(super) fn latent(&self) -> Vec<(String, f32)> {
        if self.config.explore == super::config::Explore::Off || self.state.outline.is_empty() {
            return Vec::new();
        }
        let all = self.state.kept_vectors();
        let good = analysis::usable(&all, self.width());
        let vectors: Vec<&[f32]> = good.iter().filter_map(|at| all.get(*at)).map(Vec::as_slice).collect();
        let (_, topics) = self.topic_vectors();
        let rows: Vec<&[f32]> = topics.iter().map(Vec::as_slice).collect();
        let policy =
            LatentPolicy { background: self.state.background, least: MIN_CLUSTER, ..self.config.latent.clone() };
        let clusters = analysis::latent(&vectors[..], &rows[..], &policy).unwrap_or_default();
        let avoid: std::collections::HashSet<String> = words::terms(&self.state.query).into_iter().collect();
        let relevant = super::rules::relevance(&self.state.query, &self.state.all_chunks);
        let label = |cluster: &analysis::Cluster| {
            let places = cluster.members.iter().filter_map(|at| good.get(*at));
            let chunks: Vec<_> = places.filter_map(|at| self.state.all_chunks.get(*at)).take(5).collect();
            let label = super::rules::distinctive_words(&chunks, &self.state.all_chunks, &avoid, 3).join(" ");
            let places = cluster.members.iter().filter_map(|at| good.get(*at));
            let best = places.filter_map(|at| relevant.get(*at)).copied().fold(0.0, f32::max);
            (label, best)
        };
        let known: Vec<HashSet<String>> =
            self.state.outline.iter().map(|topic| words::terms(&topic.line()).into_iter().collect()).collect();
        // What shares half of its words with a topic is part of it.
        let repeats = |label: &str| {
            let terms = words::terms(label);
            let shared = |topic: &HashSet<String>| terms.iter().filter(|term| topic.contains(*term)).count();
            known.iter().any(|topic| 2 * shared(topic) >= terms.len())
                || self.state.outline.iter().any(|topic| self.is_repetition(&topic.topic, label))
        };
        let novel = clusters.iter().filter(|cluster| cluster.novel).map(label);
        let mut found: Vec<(String, f32)> = Vec::new();
        for (label, best) in novel {
            if found.len() < LABELS && !label.is_empty() && !repeats(&label) && found.iter().all(|one| one.0 != label) {
                found.push((label, best));
            }
        }
        found
    }

    /// Asks for vectors. Without an embedder of the driver's they are there at once.
    pub(super) fn embed(&mut self, texts: Vec<String>, work: StageWork, out: &mut Vec<Command>) {
        if self.config.embedder.is_none() {
            let vectors = texts.iter().map(|text| hashing::hash_vector(text)).collect();
            self.ready.push_back((work, super::WorkAnswer::Vectors(Ok(vectors))));
            return;
        }
        let id = self.issue(work);
        out.push(Command::Embed { id, texts });
    }

    /// Asks the user's own planner or analyser. It is shown the state without vectors and unkept chunks, with trend,
    /// latent topics, and coverage as it is now.
    pub(super) fn consult(&mut self, part: &str, work: StageWork, out: &mut Vec<Command>) {
        let latent: Vec<String> = self.latent().into_iter().map(|(label, _)| label).collect();
        let (names, covered) = self.coverage_of_topics();
        let unkept = std::mem::take(&mut self.state.unkept_chunks);
        let vectors = std::mem::take(&mut self.state.chunk_embedding_cache);
        let mut state = serde_json::to_value(&self.state).unwrap_or_default();
        (self.state.unkept_chunks, self.state.chunk_embedding_cache) = (unkept, vectors);
        if let Some(state) = state.as_object_mut() {
            state.retain(|key, _| !matches!(key.as_str(), "query_embedding" | "chunk_embedding_cache" | "hypotheses"));
            for asked in state.get_mut("queries").and_then(Value::as_array_mut).into_iter().flatten() {
                asked.as_object_mut().map(|asked| asked.remove("vector"));
            }
            let covered: BTreeMap<String, f32> = names.into_iter().zip(covered).collect();
            state.insert("coverage".to_owned(), serde_json::json!(covered));
            state.insert("trend".to_owned(), self.trend().name().into());
            state.insert("latent_topics".to_owned(), latent.into());
            state.insert("cycles_left".to_owned(), self.cycles_left().into());
            state.insert("plan_problem".to_owned(), self.plan_problem.clone().into());
        }
        let id = self.issue(work);
        out.push(Command::Consult { id, part: part.to_owned(), state: Box::new(state) });
    }

    /// Takes the answer of the user's own analyser; one that can't be read changes nothing.
    pub(super) fn take_own_analysis(&mut self, answer: Option<String>, out: &mut Vec<Command>) {
        match answer.map(|answer| serde_json::from_str(&answer)) {
            Some(Ok(found)) => self.own_analysis = Some(found),
            Some(Err(error)) => self.problem(format!("the analyser's answer can't be read: {error}"), out),
            None => {}
        }
    }

    /// Cycles that this run may still have.
    pub(super) fn cycles_left(&self) -> u32 {
        (self.begun + self.config.turn.budget.research_cycles).saturating_sub(self.state.cycles)
    }

    /// Goes from analysing to the next stage.
    pub(super) fn finish_analysis(&mut self, out: &mut Vec<Command>) {
        let pass = self.pass();
        if self.own_analysis.is_none() {
            self.update();
            if self.config.own.analyser && pass != Measuring::First {
                self.own_analysis = Some(OwnAnalysis::default());
                return self.consult("analyser", StageWork::OwnAnalysis, out);
            }
        }
        let own = self.own_analysis.take().unwrap_or_default();
        if pass != Measuring::First {
            self.record_coverage(&own.coverage);
            self.state.cycles += 1;
            let last = self.state.history.last().copied().unwrap_or_default();
            let output = serde_json::json!({
                "seen": last.seen, "accepted": last.accepted, "claims": last.claims, "gain": last.gain,
                "coverage": last.coverage, "trend": self.trend().name(),
            });
            self.end(output, out);
        }
        match pass {
            Measuring::First => {
                self.go("first results", Stage::Outlining, out);
                self.outline(out);
            }
            Measuring::Baseline | Measuring::Cycle => {
                let last = self.state.history.last().copied().unwrap_or_default();
                let by_rule = pass == Measuring::Cycle && own.enough.is_none();
                let rule = by_rule.then(|| self.enough(last.accepted, last.claims)).flatten();
                if own.enough == Some(true) {
                    let why = super::plan::one_line(&own.why, 300);
                    self.stopped("analyser", if why.is_empty() { "the analyser said that it is enough" } else { &why });
                    self.go("enough", Stage::Writing, out);
                    self.write(out);
                } else if let Some(rule) = rule {
                    self.stopped(rule.name(), rule.words());
                    self.go("enough", Stage::Writing, out);
                    self.write(out);
                } else if self.cycles_left() == 0 {
                    self.stopped(
                        "research_cycles",
                        &format!("all {} cycles of the budget were used", self.state.cycles - self.begun),
                    );
                    self.go("enough", Stage::Writing, out);
                    self.write(out);
                } else {
                    self.go("go on", Stage::Planning, out);
                    self.plan_attempts = 0;
                    self.plan(out);
                }
            }
        }
    }
}
