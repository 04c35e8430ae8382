//! One request of a machine to one model: encoded, sent, decoded; the offline model answers on the spot.

use super::{
    endpoint::Endpoint,
    http::{CallFailure, Client, Timeouts},
    written::Written,
};
use crate::core::{
    error::{Failure, FailureKind},
    message::Wire,
    request::{Delta, Request, Response},
    wire,
};

/// Asks the model at `endpoint`. New pieces of a streamed answer go to `on_delta`.
pub async fn ask(
    client: &Client,
    endpoint: &Endpoint,
    timeouts: &Timeouts,
    request: &Request,
    mut on_delta: impl FnMut(Vec<Delta>) + Send,
) -> Result<Response, CallFailure> {
    if endpoint.wire == Wire::Offline {
        let response = wire::offline::answer(request);
        on_delta(vec![Delta::Text { block: 0, text: response.message.prose() }]);
        return Ok(response);
    }
    let body = wire::encode_request(endpoint.wire, request)
        .map_err(|error| CallFailure::from(Failure::new(FailureKind::Usage, error.to_string())))?;
    let stream = request.stream.unwrap_or(false);
    let Some(mut written) = Written::new(request).filter(|_| stream) else {
        return client.call(endpoint, body, stream, timeouts, on_delta).await;
    };
    let answer = client
        .call(endpoint, body, stream, timeouts, |deltas| {
            let shown = written.read(deltas);
            if !shown.is_empty() {
                on_delta(shown);
            }
        })
        .await;
    let held = written.finish();
    if !held.is_empty() {
        on_delta(held);
    }
    answer
}
