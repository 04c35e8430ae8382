//! Requests beside those for a model's answer: they go the same way, and their answers are read whole, as bytes.

use std::{pin::Pin, sync::Arc};

use bytes::Bytes;
use reqwest::{
    Method, Request, Response as HttpResponse, Url,
    header::{self, HeaderMap, HeaderValue},
};
use tokio::time::Sleep;

use super::{
    body::{ResponseBody, too_long},
    endpoint::Endpoint,
    http::{ActiveCall, BrokenBody, Client, Timeouts},
    in_flight::Watch,
    pace::{Demand, Spent},
    socket::SocketSlot,
    turns::Turn,
};
use loopwright_base::{
    error::{Failure, FailureKind},
    json::Fields,
    text::first,
};
use loopwright_wire as wire;

/// The size of the longest answer that is read, in bytes: some thousand vectors.
pub(super) const MOST_BYTES: usize = 256 << 20;

/// Characters of an answer that are quoted where it can't be read.
const QUOTED_CHARS: usize = 200;

/// The body of a request, and what it takes of the tokens of a minute.
#[derive(Clone, Debug)]
pub struct SentBody {
    /// The body.
    pub bytes: Bytes,
    /// The tokens; of a body of which nothing else is known a quarter of its bytes.
    pub demand: Demand,
}

impl SentBody {
    /// Another text of the same request: a provider counts the same tokens.
    pub(super) fn with(&self, text: &str) -> Self {
        Self { bytes: text.to_owned().into(), demand: self.demand }
    }
}

impl<B: Into<Bytes>> From<B> for SentBody {
    fn from(body: B) -> Self {
        let bytes = body.into();
        let tokens = bytes.len() as u64 / 4;
        Self { bytes, demand: Demand { tokens, ..Demand::default() } }
    }
}

/// A request that goes out: what `Client` sends of it beside the headers of its endpoint.
pub(super) struct Outgoing {
    pub(super) method: Method,
    pub(super) url: Url,
    /// The type of the body, where that is not JSON.
    pub(super) content_type: Option<HeaderValue>,
    pub(super) body: Bytes,
    /// The tokens that it takes with its answer.
    pub(super) demand: Demand,
    /// The place of the WebSocket that it goes over, where it goes over one.
    pub(super) slot: Option<Arc<SocketSlot>>,
}

impl Outgoing {
    pub(super) fn post(url: Url, body: impl Into<Bytes>) -> Self {
        Self { method: Method::POST, url, content_type: None, body: body.into(), demand: Demand::default(), slot: None }
    }

    /// The request with the headers of its endpoint.
    pub(super) fn request(&self, headers: &HeaderMap) -> Request {
        let mut request = Request::new(self.method.clone(), self.url.clone());
        request.headers_mut().clone_from(headers);
        if let Some(kind) = &self.content_type {
            request.headers_mut().insert(header::CONTENT_TYPE, kind.clone());
        }
        if let Some(slot) = &self.slot {
            slot.ask_for_upgrade(request.headers_mut());
        }
        if self.method != Method::GET {
            *request.body_mut() = Some(self.body.clone().into());
        }
        request
    }
}

/// A way to send a request and to read its answer.
pub(super) trait Exchange {
    type Answer;

    /// The tokens that an answer says it took; none where it doesn't say.
    fn tokens(_: &Self::Answer) -> Spent {
        Spent::default()
    }

    async fn exchange<W: Watch>(
        call: &mut ActiveCall<'_, W>,
        client: &Client,
        out: &Outgoing,
        turn: &mut Turn,
    ) -> Result<Self::Answer, BrokenBody>;
}

impl<R: ReadAnswer> Exchange for R {
    type Answer = R::Answer;

    fn tokens(answer: &R::Answer) -> Spent {
        R::tokens(answer)
    }

    async fn exchange<W: Watch>(
        call: &mut ActiveCall<'_, W>,
        client: &Client,
        out: &Outgoing,
        turn: &mut Turn,
    ) -> Result<R::Answer, BrokenBody> {
        call.run::<R>(client, out, turn).await
    }
}

/// A way to read the answer to a call over HTTP that succeeded.
pub(super) trait ReadAnswer {
    type Answer;

    /// The tokens that an answer says it took; none where it doesn't say.
    fn tokens(_: &Self::Answer) -> Spent {
        Spent::default()
    }

    async fn read<W: Watch>(
        call: &mut ActiveCall<'_, W>,
        sent: reqwest::Response,
        sleep: Pin<&mut Sleep>,
    ) -> Result<Self::Answer, BrokenBody>;
}

/// An answer as bytes, so many at most.
struct WholeBody<const MOST: usize>;

impl<const MOST: usize> ReadAnswer for WholeBody<MOST> {
    type Answer = Bytes;

    async fn read<W: Watch>(
        call: &mut ActiveCall<'_, W>,
        sent: HttpResponse,
        mut sleep: Pin<&mut Sleep>,
    ) -> Result<Bytes, BrokenBody> {
        let whole = |failure: Failure| (failure, None);
        let mut sent = ResponseBody::new(sent, MOST, &call.endpoint.host).map_err(whole)?;
        let mut body = Vec::new();
        while let Some(piece) = call.piece(&mut sent, sleep.as_mut()).await.map_err(whole)? {
            body.extend_from_slice(&piece);
            if body.len() > MOST {
                return Err(whole(too_long(MOST)));
            }
        }
        Ok(body.into())
    }
}

impl Client {
    /// Sends a request to a provider for the `attempt`-th time (from 1), and gives the body of its answer, which has
    /// `MOST` bytes at most.
    pub(super) async fn exchange<const MOST: usize>(
        &self,
        endpoint: &Endpoint,
        out: &Outgoing,
        attempt: u32,
        limits: &Timeouts,
    ) -> Result<Bytes, Failure> {
        let call = ActiveCall::unwatched(endpoint, limits);
        self.attempt::<_, WholeBody<MOST>>(call, out, attempt).await.map_err(|failed| failed.failure)
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
