//! One request of a machine to one model: encoded, sent, decoded; the offline model answers on the spot.

use super::{
    endpoint::Endpoint,
    http::{CallFailure, Client, Timeouts},
    in_flight::Watch,
    provider_limits::{adapt_history, adapt_request, check_blocks},
    text_call_stream::TextCallStream,
};
use loopwright_base::{
    error::{Failure, FailureKind},
    message::{Usage, Wire},
    request::{Delta, Request, Response},
};
use loopwright_wire as wire;

/// Asks the model at `endpoint`, for the `attempt`-th time. New pieces of a streamed answer go to `watch`.
pub async fn ask(
    client: &Client,
    endpoint: &Endpoint,
    timeouts: &Timeouts,
    request: &Request,
    attempt: u32,
    mut watch: impl Watch,
) -> Result<Response, CallFailure> {
    check_blocks(endpoint, request)?;
    let fitted = adapt_request(endpoint, request);
    let request = fitted.as_ref().unwrap_or(request);
    let ordered = adapt_history(&endpoint.profile, request);
    let request = ordered.as_ref().unwrap_or(request);
    if endpoint.wire == Wire::Offline {
        let response = wire::offline::answer(request);
        watch.deltas(vec![Delta::Text { block: 0, text: response.message.prose() }]);
        return Ok(response);
    }
    let body = wire::encode_to_send(endpoint.wire, request).map_err(|error| {
        let block = error.code.starts_with("unsupported_");
        let kind = if block { FailureKind::UnsupportedBlock } else { FailureKind::Usage };
        let failure = Failure::new(kind, format!("{}: {}", endpoint.name, error.message));
        CallFailure::from(Failure { hint: error.hint, ..failure })
    })?;
    let stream = request.stream.unwrap_or(false);
    let Some(written) = TextCallStream::new(request).filter(|_| stream) else {
        return client.call(endpoint, body, stream, attempt, timeouts, watch).await;
    };
    let mut reader = TextCallWatcher { calls: written, watch };
    // Apart, so that calls without it need not have the room.
    let answer = Box::pin(client.call(endpoint, body, stream, attempt, timeouts, &mut reader)).await;
    let held = reader.calls.finish();
    reader.show(held);
    answer
}

/// Reads calls out of the text before anybody sees it.
struct TextCallWatcher<'a, W> {
    calls: TextCallStream<'a>,
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
}
