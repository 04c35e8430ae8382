//! Requests beside those for a model's answer: they go the same way, and their answers are read whole, as bytes.

use std::pin::Pin;

use bytes::Bytes;
use reqwest::Response as HttpResponse;
use tokio::time::Sleep;

use super::{
    body::{ResponseBody, too_long},
    endpoint::Endpoint,
    http::{ActiveCall, BrokenBody, Client, Outgoing, ReadAnswer, Timeouts},
    in_flight::Watch,
};
use loopwright_base::{
    error::{Failure, FailureKind},
    json::Fields,
    text::first,
};
use loopwright_wire as wire;

/// The size of the longest answer that is read, in bytes: some thousand vectors, or the answers of a large batch.
const MOST_BYTES: usize = 256 << 20;

/// Characters of an answer that are quoted where it can't be read.
const QUOTED_CHARS: usize = 200;

/// An answer as bytes.
struct WholeBody;

impl ReadAnswer for WholeBody {
    type Answer = Bytes;

    async fn read<W: Watch>(
        call: &mut ActiveCall<'_, W>,
        sent: HttpResponse,
        mut sleep: Pin<&mut Sleep>,
    ) -> Result<Bytes, BrokenBody> {
        let whole = |failure: Failure| (failure, None);
        let mut sent = ResponseBody::new(sent, MOST_BYTES, &call.endpoint.host).map_err(whole)?;
        let mut body = Vec::new();
        while let Some(piece) = call.piece(&mut sent, sleep.as_mut()).await.map_err(whole)? {
            body.extend_from_slice(&piece);
            if body.len() > MOST_BYTES {
                return Err(whole(too_long(MOST_BYTES)));
            }
        }
        Ok(body.into())
    }
}

impl Client {
    /// Sends a request to a provider for the `attempt`-th time (from 1), and gives the body of its answer.
    pub(super) async fn exchange(
        &self,
        endpoint: &Endpoint,
        out: &Outgoing,
        attempt: u32,
        limits: &Timeouts,
    ) -> Result<Bytes, Failure> {
        let call = ActiveCall::unwatched(endpoint, limits);
        self.attempt::<_, WholeBody>(call, out, attempt).await.map_err(|failed| failed.failure)
    }
}

/// The failure of an answer that is not what was asked for: what it says of itself, or why it can't be read.
pub(super) fn unreadable(endpoint: &Endpoint, body: &[u8], why: &str) -> Failure {
    let text = endpoint.scrub(String::from_utf8_lossy(body.get(..4096).unwrap_or(body)).into_owned());
    // Some gateways report failures with status 200.
    if Fields::parse(&text).is_ok_and(|fields| fields.get("error").is_some_and(|error| !error.is_null())) {
        return wire::decode_failure(200, None, &text);
    }
    Failure::new(FailureKind::InvalidBody, format!("{why}: {:?}", first(text.trim(), QUOTED_CHARS)))
}
