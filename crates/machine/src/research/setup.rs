//! The set-up: the question, its vector, the first queries, and the outline that is drawn from their results.
//!
//! Nothing changes the question from here on. Without a vector for it there is nothing to measure with, and the run
//! ends.

use serde_json::Value;

use super::{
    ModelQuestion, ResearchMachine, Stage, StageWork, Topic, Vector, act, hashing::cosine, plan, prompts, write,
};
use crate::{Command, Stop};
use loopwright_base::{
    error::{Error, Result},
    message::{Message, Role},
    text::clip,
};
use loopwright_monitor::drift::BACKGROUND;
use loopwright_retrieve::analysis::Background;
use loopwright_wire::offline;

/// The least similarity of two vectors of one text by one embedder.
const SAME: f32 = 0.99;

impl ResearchMachine {
    pub(super) fn start(&mut self, messages: Vec<Message>, out: &mut Vec<Command>) {
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
        if self.config.without_model && offline::asks_to_create(&query) {
            self.go("refused", Stage::Done, out);
            return self.decline(offline::CREATES_NOTHING, out);
        }
        if let Some(state) = self.config.own.state.take() {
            if state.query != query.trim() {
                let message = format!("the state is that of {:?}", clip(&state.query, 100));
                self.outcome.error =
                    Some(Error::usage("other_question", message).hint("ask what it was asked, or give no state"));
                self.go("refused", Stage::Done, out);
                return self.finish(Stop::Error, out);
            }
            self.begun = state.cycles;
            self.state = *state;
            let known = self.state.all_chunks.iter().chain(self.state.unkept_chunks.iter().map(|one| &one.chunk));
            self.texts = known.map(|chunk| act::digest(&chunk.text)).collect();
        }
        let outline = std::mem::take(&mut self.config.own.outline);
        if !outline.is_empty() {
            self.state.outline = outline;
        }
        query.trim().clone_into(&mut self.state.query);
        self.deadline = self.id();
        out.push(Command::Timer { id: self.deadline, at: self.started.after(self.config.turn.budget.wall_time) });
        self.begin("setup", 1, out);
        self.go("start", Stage::Embedding, out);
        let texts = std::iter::once(self.state.query.as_str()).chain(BACKGROUND).map(|text| clip(text, 8_000));
        self.embed(texts.collect(), StageWork::EmbedQuery, out);
    }

    /// Takes the question's vector; without one there is nothing to measure with, and the run ends.
    pub(super) fn query_embedded(&mut self, vectors: Result<Vec<Vec<f32>>>, out: &mut Vec<Command>) {
        let vectors = vectors.and_then(|vectors| {
            loopwright_retrieve::analysis::cosine(
                vectors.first().map(Vec::as_slice).unwrap_or_default(),
                vectors.first().map(Vec::as_slice).unwrap_or_default(),
            )?;
            Ok(vectors)
        });
        match vectors {
            Ok(vectors) => {
                let (query, strangers) =
                    vectors.split_first().map_or((&[][..], &[][..]), |(one, rest)| (&one[..], rest));
                let before = self.state.query_embedding.replace(Vector(query.to_vec()));
                if before.is_some_and(|before| cosine(&before.0, query) < SAME) {
                    let error = Error::usage("other_embedder", "the vectors of the state are another embedder's");
                    return self.fail(error.hint("go on with the embedder that the research began with"), out);
                }
                self.state.background = Background::measure(strangers).ok();
                if self.state.last_coverage_vector.is_some() && !self.state.outline.is_empty() {
                    // What is known need not be searched for broadly again.
                    self.end(serde_json::json!({"queries": [], "background": self.state.background}), out);
                    self.go("known", Stage::Planning, out);
                    return self.plan(out);
                }
                self.go("embedded", Stage::Scouting, out);
                if self.config.without_model {
                    return;
                }
                let schema = serde_json::json!({
                    "type": "object", "required": ["queries"],
                    "properties": {"queries": {"type": "array", "items": {"type": "string"}}},
                });
                let ask = ModelQuestion {
                    work: StageWork::Scout,
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

    pub(super) fn outline(&mut self, out: &mut Vec<Command>) {
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
        let ask = ModelQuestion {
            work: StageWork::Outline,
            system: prompts::outliner(),
            prompt: prompts::findings(&self.state, 50, 10_000),
            temperature: 0.2,
            max_tokens: 1_024,
            output: Some(plan::output("outline", &schema)),
        };
        self.ask(ask, out);
    }

    /// Reads the outline of a model; topics that are near to each other count once.
    pub(super) fn read_outline(&self, answer: &str) -> Option<Vec<Topic>> {
        let object = write::object_of(answer)?;
        let mut topics: Vec<Topic> = Vec::new();
        for one in object.get("outline")?.as_array()?.iter().take(8) {
            let topic = plan::one_line(one.get("topic").and_then(Value::as_str).unwrap_or_default(), 120);
            let known = topics.iter().any(|known| self.is_repetition(&known.topic, &topic));
            if topic.chars().any(char::is_alphanumeric) && !known && topics.len() < 5 {
                let mut subtopics = plan::texts(one.get("subtopics"));
                subtopics.truncate(4);
                topics.push(Topic { topic, subtopics });
            }
        }
        (!topics.is_empty()).then_some(topics)
    }
}
