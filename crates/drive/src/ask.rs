//! One request of a machine to one model: encoded, sent, decoded; the offline model answers on the spot.

use super::{
    adapted::{Adapted, adapted, answer_form, with_passed},
    batch, continued,
    endpoint::Endpoint,
    exchange::SentBody,
    http::{CallFailure, Client, Timeouts},
    in_flight::{Watch, whole_deltas},
    pace::Held,
    provenance::sign,
    provider_limits::check_blocks,
    text_call_stream::TextCallStream,
};
use loopwright_base::{
    error::{Failure, FailureKind},
    message::{Block, MediaSource, Message, StopReason, Usage, Wire},
    parameter::Parameter,
    request::{Delta, Request, Response, Tool},
};
use loopwright_extract as extract;
use loopwright_models::profile::Profile;
use loopwright_tokens::{Json, TokenCounter};
use loopwright_wire as wire;
use std::fmt;

/// Tokens that are set aside for an answer whose length nobody limits.
const USUAL_ANSWER: u64 = 1_024;

/// Asks the model at `endpoint`, for the `attempt`-th time. New pieces of a streamed answer go to `watch`.
pub async fn ask(
    client: &Client,
    endpoint: &Endpoint,
    timeouts: &Timeouts,
    request: &Request,
    attempt: u32,
    mut watch: impl Watch,
) -> Result<Response, CallFailure> {
    // Where the address names the model, it is that of the request, as it is where the body does.
    let addressed = endpoint.names_model().then(|| endpoint.for_model(&request.model));
    let endpoint = addressed.as_ref().unwrap_or(endpoint);
    let profile = endpoint.profile();
    check_blocks(endpoint, &profile, request)?;
    let Adapted { request: mut own, notes } = adapted(endpoint, &profile, request);
    if endpoint.wire == Wire::Offline {
        let response = wire::offline::answer(&own);
        watch.deltas(vec![Delta::Text { block: 0, text: response.message.prose() }]);
        return Ok(response);
    }
    let stream = request.stream.unwrap_or(false);
    // In a batch nothing streams.
    if endpoint.is_batched() {
        own.to_mut().stream = None;
    }
    let body = wire::encode_for(&profile, endpoint.wire, &own).map_err(|error| {
        let block = error.code.starts_with("unsupported_");
        let kind = if block { FailureKind::UnsupportedBlock } else { FailureKind::Usage };
        let failure = Failure::new(kind, format!("{}: {}", endpoint.name, error.message));
        CallFailure::from(Failure { hint: error.hint, ..failure })
    })?;
    let mut body = SentBody::from(with_passed(body, &profile, &own));
    count(&mut body, endpoint, &profile, &own);
    // Apart: the reader is large, and whoever waits for an answer is moved.
    let written = if stream { TextCallStream::new(&own).map(Box::new) } else { None };
    let sent = SentRequest { request: &own, body, stream, attempt };
    let answer = if let Some(calls) = written {
        let mut reader = TextCallWatcher { calls, watch };
        let answer = send(client, endpoint, sent, timeouts, &mut reader).await;
        let held = reader.calls.finish();
        reader.show(held);
        answer
    } else {
        send(client, endpoint, sent, timeouts, watch).await
    };
    match answer {
        Ok(mut response) => {
            sign(endpoint, &request.model, &mut response);
            // Some answers do not say who gave them.
            if response.model.is_empty() {
                response.model.clone_from(&request.model);
            }
            response.adapted.splice(..0, notes);
            Ok(response)
        }
        Err(mut failed) => {
            if let Some(partial) = &mut failed.partial {
                sign(endpoint, &request.model, partial);
            }
            if let Some(response) = recovered(&own, &failed) {
                return Ok(Response { adapted: notes, ..response });
            }
            let failure = &mut failed.failure;
            let unsent = |name: &str| Parameter::named(name).is_some_and(|parameter| !parameter.is_in(&own));
            if failure.kind == FailureKind::BadRequest
                && failure.param.as_deref().is_none_or(unsent)
                && let Some(parameter) = Parameter::in_refusal(&failure.message, &own)
            {
                failure.param = Some(parameter.name().to_owned());
            }
            if let Some(parameter) = failed.failure.refused_parameter().filter(|parameter| parameter.is_in(request)) {
                endpoint.remember_refusal(parameter, answer_form(&profile, request));
            }
            Err(failed)
        }
    }
}

/// A request with its body, as it is sent.
pub(super) struct SentRequest<'a> {
    pub(super) request: &'a Request,
    pub(super) body: SentBody,
    /// Whoever watches wants an answer that streams.
    pub(super) stream: bool,
    pub(super) attempt: u32,
}

/// Sends a request: by itself, in a batch, or what is new of it.
async fn send(
    client: &Client,
    endpoint: &Endpoint,
    sent: SentRequest<'_>,
    timeouts: &Timeouts,
    mut watch: impl Watch,
) -> Result<Response, CallFailure> {
    // Each apart: what waits for them is moved several times, and these are large.
    match (&endpoint.batching, &endpoint.continuation) {
        (Some(batching), _) => {
            let line = String::from_utf8_lossy(&sent.body.bytes).into_owned();
            Box::pin(batch::ask(client, endpoint, batching, line, sent.stream, timeouts, watch)).await
        }
        (None, Some(run)) if endpoint.wire == Wire::OpenaiResponses => {
            Box::pin(continued::ask(client, endpoint, run, sent, timeouts, &mut watch)).await
        }
        (None, _) => {
            let SentRequest { body, stream, attempt, .. } = sent;
            Box::pin(client.call(endpoint, body, stream, attempt, timeouts, watch)).await
        }
    }
}

/// Counts the tokens of a request: at most where a limit is to be kept, and roughly elsewhere.
fn count(body: &mut SentBody, endpoint: &Endpoint, profile: &Profile, request: &Request) {
    let exactly = endpoint.limits.as_ref().is_some_and(|limits| limits.tokens_per_minute.is_some());
    let counted = if exactly { prompt_tokens(request) } else { None };
    let demand = &mut body.demand;
    if let Some(prompt) = counted {
        demand.tokens = prompt.saturating_add(request.max_tokens.unwrap_or(USUAL_ANSWER));
    }
    if profile.body.limit_counts {
        let roughly = || (body.bytes.len().saturating_sub(media_bytes(request)) / 3) as u64;
        demand.limit = request.max_tokens.unwrap_or_default();
        demand.arrival = counted.unwrap_or_else(roughly).saturating_add(demand.limit);
        demand.tokens = demand.tokens.max(demand.arrival);
    }
}

/// The bytes of pictures and documents, of which providers count few tokens.
fn media_bytes(request: &Request) -> usize {
    fn bytes(block: &Block) -> usize {
        match block {
            Block::Image(media) | Block::Document(media) => match &media.source {
                MediaSource::Base64 { data, .. } => data.len(),
                _ => 0,
            },
            Block::ToolResult(result) => result.content.iter().map(bytes).sum(),
            _ => 0,
        }
    }
    request.messages.iter().flat_map(|message| &message.content).map(bytes).sum()
}

/// The tokens of what is asked, at most.
fn prompt_tokens(request: &Request) -> Option<u64> {
    let written = serde_json::to_string(request).ok()?;
    let prompt = TokenCounter::for_model(&request.model).json_at_most(&Json::parse(&written).ok()?);
    Some(prompt as u64)
}

/// The pieces of an answer to `request` that came whole from elsewhere, as who watches is shown them.
pub fn pieces_of(request: &Request, message: &Message) -> Vec<Delta> {
    let whole = whole_deltas(message);
    let Some(mut calls) = TextCallStream::new(request) else { return whole };
    let mut shown = calls.read(whole);
    shown.append(&mut calls.finish());
    shown
}

/// The pieces of an answer to a request, as who watches is shown them while they come from elsewhere.
pub struct AnswerPieces(Option<TextCallStream<'static>>);

impl fmt::Debug for AnswerPieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerPieces").finish_non_exhaustive()
    }
}

impl AnswerPieces {
    /// Those of an answer to `request`, of which nothing has come.
    pub fn new(request: Request) -> Self {
        Self(TextCallStream::keeping(request))
    }

    /// What is shown of these; the beginning of what may be a call is held back.
    pub fn read(&mut self, deltas: Vec<Delta>) -> Vec<Delta> {
        match &mut self.0 {
            Some(calls) => calls.read(deltas),
            None => deltas,
        }
    }

    /// What was held back, once nothing follows.
    pub fn finish(&mut self) -> Vec<Delta> {
        self.0.as_mut().map(TextCallStream::finish).unwrap_or_default()
    }
}

/// The answer that the model gave where its server could not read the calls in it, and we can: all of them whole, and
/// of tools on offer.
fn recovered(request: &Request, failed: &CallFailure) -> Option<Response> {
    let written = failed.failure.generation.as_ref().filter(|_| !failed.visible)?;
    let mut message = Message::assistant(written.as_str());
    let asking = Request { read_markup: true, ..request.clone() };
    let reading = extract::read_reply(&mut message, &asking, &extract::signatures(&request.tools));
    let is_offered = |name: &str| request.tools.iter().any(|tool| matches!(tool, Tool::Function(f) if f.name == name));
    let whole = message.tool_uses().all(|call| call.invalid.is_none() && is_offered(&call.name));
    (reading.calls > 0 && whole).then(|| Response {
        id: String::new(),
        model: request.model.clone(),
        message,
        stop: StopReason::ToolUse,
        usage: Usage::default(),
        extra: None,
        adapted: Vec::new(),
    })
}

/// Reads calls out of the text before anybody sees it.
struct TextCallWatcher<'a, W> {
    calls: Box<TextCallStream<'a>>,
    watch: W,
}

impl<W: Watch> TextCallWatcher<'_, W> {
    fn show(&mut self, deltas: Vec<Delta>) {
        if !deltas.is_empty() {
            self.watch.deltas(deltas);
        }
    }
}

impl<W: Watch> Watch for &mut TextCallWatcher<'_, W> {
    fn deltas(&mut self, deltas: Vec<Delta>) {
        let shown = self.calls.read(deltas);
        self.show(shown);
    }

    fn used(&mut self, usage: Usage) {
        self.watch.used(usage);
    }

    fn held(&mut self, held: Held) {
        self.watch.held(held);
    }
}
