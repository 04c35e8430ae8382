//! The shapes of providers' batches: how one is made, looked at, read and cancelled.
//!
//! OpenAI takes a file of requests, one in each line, and gives a file of answers and one of errors
//! (<https://platform.openai.com/docs/api-reference/batch>); Anthropic takes them in the call and gives answers at an
//! address (<https://docs.claude.com/en/api/creating-message-batches>). Answers come in any order.

use std::{collections::HashMap, fmt::Write as _};

use bytes::Bytes;
use reqwest::{Method, Url, header::HeaderValue};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    batch::{Follower, Waiter},
    exchange::{Outgoing, unreadable},
};
use loopwright_base::{
    error::{Failure, FailureKind},
    json::{Fields, Raw},
    request::Response,
};
use loopwright_models::batches::BatchForm;
use loopwright_wire as wire;

/// The size of the longest answer that is read, in bytes: the results of a batch as large as it may be.
const MOST_BYTES: usize = 2 << 30;

/// The answers of a batch that is done.
pub(super) struct Answers {
    /// By the names of their requests.
    pub(super) known: HashMap<String, Result<Response, Failure>>,
    /// The failure of those that are not among them.
    pub(super) rest: Failure,
}

/// Makes a batch of these requests; gives its id.
pub(super) async fn create(follower: &Follower, waiting: &[Waiter]) -> Result<String, Failure> {
    let body = match follower.rules.form {
        BatchForm::Anthropic => {
            let one = |one: &Waiter| format!("{{\"custom_id\":{},\"params\":{}}}", json!(one.ticket), one.body);
            format!("{{\"requests\":[{}]}}", waiting.iter().map(one).collect::<Vec<_>>().join(","))
        }
        BatchForm::Openai => {
            let url = follower.endpoint.url.as_ref().map_or("", Url::path);
            // The name of the interface is the same whatever address it is reached at.
            let interface = if url.ends_with("/responses") { "/v1/responses" } else { "/v1/chat/completions" };
            let mut lines = String::new();
            for one in waiting {
                let (name, body) = (json!(one.ticket), &one.body);
                let _ = writeln!(
                    lines,
                    "{{\"custom_id\":{name},\"method\":\"POST\",\"url\":\"{interface}\",\"body\":{body}}}"
                );
            }
            let file = field(&exchange(follower, upload(follower, &lines)?).await?, follower, "id")?;
            json!({"input_file_id": file, "endpoint": interface, "completion_window": "24h"}).to_string()
        }
    };
    let made = exchange(follower, Outgoing::post(address(follower, "")?, body)).await?;
    field(&made, follower, "id")
}

/// The answers of a batch; `None` while the provider works on it.
pub(super) async fn look(follower: &Follower, id: &str, waiting: &[Waiter]) -> Result<Option<Answers>, Failure> {
    let body = exchange(follower, get(address(follower, &format!("/{id}"))?)).await?;
    let batch: Value =
        serde_json::from_slice(&body).map_err(|_| unreadable(&follower.endpoint, &body, "this is no batch"))?;
    let text = |name: &str| batch.get(name).and_then(Value::as_str);
    let mut answers = Answers {
        known: HashMap::new(),
        rest: Failure::new(FailureKind::InvalidBody, format!("the batch {id} has no answer to this request")),
    };
    let results = match follower.rules.form {
        BatchForm::Anthropic => match text("processing_status") {
            Some("ended") => vec![address(follower, &format!("/{id}/results"))?],
            Some(_) => return Ok(None),
            None => return Err(unreadable(&follower.endpoint, &body, "this is no batch")),
        },
        BatchForm::Openai => {
            if !ended(follower, &batch, waiting, &mut answers)? {
                return Ok(None);
            }
            let files = ["output_file_id", "error_file_id"].into_iter().filter_map(text);
            files.map(|file| beside(follower, &format!("/files/{file}/content"))).collect::<Result<_, _>>()?
        }
    };
    for url in results {
        read_lines(follower, &exchange(follower, get(url)).await?, &mut answers);
    }
    Ok(Some(answers))
}

/// Whether an OpenAI batch has ended. Requests that it left without an answer get the failure that its status means.
fn ended(follower: &Follower, batch: &Value, waiting: &[Waiter], answers: &mut Answers) -> Result<bool, Failure> {
    match batch.get("status").and_then(Value::as_str) {
        Some("completed") => {}
        Some("failed") => refused(follower, batch, waiting, answers),
        Some(how @ ("expired" | "cancelled")) => answers.rest = unanswered(how),
        Some("validating" | "in_progress" | "finalizing" | "cancelling") => return Ok(false),
        _ => return Err(unreadable(&follower.endpoint, batch.to_string().as_bytes(), "this is no state of a batch")),
    }
    Ok(true)
}

/// Cancels a batch that nobody waits for; if that fails, so be it.
pub(super) async fn cancel(follower: &Follower, id: &str) {
    if let Ok(url) = address(follower, &format!("/{id}/cancel")) {
        let _ = exchange(follower, Outgoing::post(url, "{}")).await;
    }
}

fn get(url: Url) -> Outgoing {
    Outgoing { method: Method::GET, ..Outgoing::post(url, Bytes::new()) }
}

async fn exchange(follower: &Follower, out: Outgoing) -> Result<Bytes, Failure> {
    follower.client.exchange::<MOST_BYTES>(&follower.endpoint, &out, 1, &follower.limits).await
}

fn address(follower: &Follower, rest: &str) -> Result<Url, Failure> {
    let batches = match follower.rules.form {
        BatchForm::Openai => "/batches",
        BatchForm::Anthropic => "/messages/batches",
    };
    beside(follower, &format!("{batches}{rest}"))
}

fn beside(follower: &Follower, end: &str) -> Result<Url, Failure> {
    follower.endpoint.beside(end).ok_or_else(|| {
        let message = format!("the base URL of {} is no place for batches", follower.endpoint.name);
        Failure::new(FailureKind::Usage, message)
    })
}

/// The upload of a file of requests.
fn upload(follower: &Follower, lines: &str) -> Result<Outgoing, Failure> {
    let mark = format!("loopwright-{:016x}", xxh3_64(lines.as_bytes()));
    let part = "Content-Disposition: form-data; name=";
    let body = format!(
        "--{mark}\r\n{part}\"purpose\"\r\n\r\nbatch\r\n--{mark}\r\n{part}\"file\"; filename=\"requests.jsonl\"\r\n\
        Content-Type: application/jsonl\r\n\r\n{lines}\r\n--{mark}--\r\n"
    );
    let content_type = HeaderValue::try_from(format!("multipart/form-data; boundary={mark}")).ok();
    Ok(Outgoing { content_type, ..Outgoing::post(beside(follower, "/files")?, body) })
}

fn field(body: &Bytes, follower: &Follower, name: &str) -> Result<String, Failure> {
    let found = std::str::from_utf8(body).ok().and_then(|text| Fields::parse(text).ok()?.get_str(name));
    found.ok_or_else(|| unreadable(&follower.endpoint, body, &format!("the answer has no {name}")))
}

/// The failure of a request whose batch ended without an answer to it: it can be sent again.
fn unanswered(how: &str) -> Failure {
    let message = format!("the batch ended ({how}) before this request was answered");
    Failure { code: Some(format!("batch_{how}")), ..Failure::new(FailureKind::Server, message) }
}

/// A batch that was not begun: for requests that the provider names, or for a reason that concerns all.
fn refused(follower: &Follower, batch: &Value, waiting: &[Waiter], answers: &mut Answers) {
    let none = Vec::new();
    let errors = batch.pointer("/errors/data").and_then(Value::as_array).unwrap_or(&none);
    let failure = |error: Option<&Value>| {
        let text = json!({"error": error.cloned().unwrap_or_default()}).to_string();
        let busy = text.contains("limit_exceeded");
        wire::decode_failure(if busy { 429 } else { 400 }, None, &follower.endpoint.scrub(text))
    };
    answers.rest = failure(errors.first());
    for error in errors {
        let line = error.get("line").and_then(Value::as_u64).and_then(|line| usize::try_from(line).ok());
        let Some(one) = line.and_then(|line| waiting.get(line.checked_sub(1)?)) else { continue };
        answers.known.insert(one.ticket.clone(), Err(failure(Some(error))));
        answers.rest = Failure::new(FailureKind::Server, "the batch was refused for another request in it");
    }
}

/// Reads answers, one in each line; a line that is none leaves its request without an answer.
fn read_lines(follower: &Follower, body: &[u8], answers: &mut Answers) {
    for line in String::from_utf8_lossy(body).lines() {
        let Ok(fields) = Fields::parse(line) else { continue };
        let Some(name) = fields.get_str("custom_id") else { continue };
        let answer = match follower.rules.form {
            BatchForm::Openai => of_openai(follower, &fields),
            BatchForm::Anthropic => of_anthropic(follower, &fields),
        };
        answers.known.insert(name, answer);
    }
}

fn inner(fields: &Fields, name: &str) -> Option<Fields> {
    fields.get(name).filter(|raw| !raw.is_null()).and_then(|raw| Fields::parse(raw.text()).ok())
}

fn of_openai(follower: &Follower, line: &Fields) -> Result<Response, Failure> {
    let Some(response) = inner(line, "response") else {
        let error = inner(line, "error");
        let word = |name| error.as_ref().and_then(|error| error.get_str(name)).unwrap_or_default();
        let (code, message) = (word("code"), follower.endpoint.scrub(word("message")));
        return Err(match code.strip_prefix("batch_") {
            Some(how) => Failure { message, ..unanswered(how) },
            None => wire::decode_inner_failure(&json!({"error": {"code": code, "message": message}}).to_string()),
        });
    };
    let status = response.get("status_code").and_then(|raw| raw.text().parse().ok()).unwrap_or(200);
    let body = response.get("body").map_or("", Raw::text);
    if (200..300).contains(&status) {
        return wire::decode_response(follower.endpoint.wire, body);
    }
    Err(wire::decode_failure(status, None, &follower.endpoint.scrub(body.to_owned())))
}

fn of_anthropic(follower: &Follower, line: &Fields) -> Result<Response, Failure> {
    let result = inner(line, "result").unwrap_or_default();
    match result.get_str("type").as_deref() {
        Some("succeeded") => wire::decode_response(follower.endpoint.wire, result.get("message").map_or("", Raw::text)),
        Some("errored") => {
            let error = result.get("error").map_or("", Raw::text).to_owned();
            Err(wire::decode_inner_failure(&follower.endpoint.scrub(error)))
        }
        Some("canceled") => Err(unanswered("cancelled")),
        how => Err(unanswered(how.unwrap_or("lost"))),
    }
}
