//! Answers that the server keeps by their ids, as the Responses API does, for requests that go on from one.

use std::collections::BTreeMap;

use serde_json::json;

use super::script::{Answer, Reply};
use loopwright_base::{
    json::{Fields, Raw},
    message::{Extra, Wire},
};
use loopwright_wire::encode_response;

/// The member of a request that names the answer which it goes on from.
const PREVIOUS: &str = "previous_response_id";

/// Conversations by the ids of the answers that they end with.
#[derive(Debug, Default)]
pub(super) struct StoredAnswers {
    answers: BTreeMap<String, Vec<Raw>>,
    /// What was forgotten, wherever it was kept: `None` stands for all.
    forgotten: Vec<Option<String>>,
}

/// The last answer that was given over a WebSocket, which its server has in memory: its id and its conversation.
#[derive(Debug, Default)]
pub(super) struct LastAnswer {
    answer: Option<(String, Vec<Raw>)>,
    /// How much had been forgotten when it was given.
    since: usize,
}

impl LastAnswer {
    /// Forgets it, as a server does after a request that has failed.
    pub(super) fn forget(&mut self) {
        self.answer = None;
    }
}

/// A request with the whole of its conversation.
#[derive(Debug)]
pub(super) struct Resumed {
    /// The body as it would be if nothing had been left out.
    pub(super) body: String,
    previous: Option<String>,
    items: Vec<Raw>,
    stores: bool,
}

impl StoredAnswers {
    /// The last answer of a connection, if it has this id and was not forgotten since.
    fn last<'a>(&self, last: &'a LastAnswer, id: &str) -> Option<&'a Vec<Raw>> {
        let since = self.forgotten.get(last.since..).unwrap_or_default();
        let is_forgotten = since.iter().any(|gone| gone.as_ref().is_none_or(|gone| gone == id));
        last.answer.as_ref().filter(|(known, _)| known == id && !is_forgotten).map(|(_, items)| items)
    }

    /// The request with what it goes on from; the body of a refusal where that is not known.
    pub(super) fn resumed(&self, fields: &Fields, last: Option<&LastAnswer>) -> Result<Resumed, String> {
        let mut members = fields.clone();
        let new = members.get("input").map(|input| match input.string() {
            Some(text) => vec![Raw::of(&json!({"role": "user", "content": text}))],
            None => input.to().unwrap_or_default(),
        });
        let previous = members.take_str(PREVIOUS);
        let held = |id: &String| last.and_then(|last| self.last(last, id)).or_else(|| self.answers.get(id));
        let known = previous.as_ref().map(|id| held(id).ok_or_else(|| unknown(id))).transpose()?;
        let items: Vec<Raw> = known.into_iter().flatten().cloned().chain(new.into_iter().flatten()).collect();
        members.put("input", &items);
        // What is not forbidden is kept.
        let stores = members.get("store").is_none_or(|store| store.text() != "false");
        Ok(Resumed { body: members.to_raw().text().to_owned(), previous, items, stores })
    }

    /// Keeps the answer to a request under its id, if it comes whole; returns the reply with what an answer says of it.
    pub(super) fn keep(
        &mut self,
        resumed: Resumed,
        mut reply: Reply,
        (model, number): (&str, usize),
        last: Option<&mut LastAnswer>,
    ) -> Reply {
        let Some(mut response) = reply.answer.response() else { return reply };
        if response.id.is_empty() {
            response.id = format!("resp_{number}");
        }
        if response.model.is_empty() {
            model.clone_into(&mut response.model);
        }
        let Resumed { previous, mut items, stores, .. } = resumed;
        let mut said = Extra::for_wire(response.extra.as_deref(), Wire::OpenaiResponses).cloned().unwrap_or_default();
        said.put(PREVIOUS, &previous);
        response.extra = Extra::of(Wire::OpenaiResponses, said);
        if (stores || last.is_some()) && reply.fault.is_none() {
            let written = Fields::parse(&encode_response(Wire::OpenaiResponses, &response)).unwrap_or_default();
            items.extend(written.get("output").and_then(|output| output.to::<Vec<Raw>>().ok()).unwrap_or_default());
            if let Some(last) = last {
                *last = LastAnswer { answer: Some((response.id.clone(), items.clone())), since: self.forgotten.len() };
            }
            if stores {
                self.answers.insert(response.id.clone(), items);
            }
        }
        reply.answer = Answer::Message(Box::new(response));
        reply
    }

    /// Forgets one answer, or all.
    pub(super) fn forget(&mut self, id: Option<&str>) {
        self.answers.retain(|known, _| id.is_some_and(|id| id != known));
        self.forgotten.push(id.map(str::to_owned));
    }

    /// The conversations, as JSON.
    pub(super) fn to_json(&self) -> String {
        Raw::of(&self.answers).text().to_owned()
    }
}

fn unknown(id: &str) -> String {
    let message = format!("Previous response with id '{id}' not found.");
    let (kind, code) = ("invalid_request_error", "previous_response_not_found");
    json!({"error": {"message": message, "type": kind, "param": PREVIOUS, "code": code}}).to_string()
}
