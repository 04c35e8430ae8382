//! The body of an answer, piece by piece, unpacked on the way: some gateways pack whatever was asked for.
//!
//! The size of the unpacked body counts, so that a small bomb is stopped where the limit for bodies is.

use std::time::Duration;

use bytes::Bytes;
use reqwest::{Version, header};

use super::{error_map, page::body::Body, socket::Socket};
use loopwright_base::error::{Error, Failure, FailureKind};

/// Where the pieces of an answer come from.
enum PieceSource {
    Http(reqwest::Response),
    /// One event at a time, written as a stream over HTTP writes it.
    Socket(Box<Socket>),
}

/// An answer whose body is being read.
pub(super) struct ResponseBody {
    source: PieceSource,
    packed: Option<Box<Body>>,
    most: usize,
}

impl ResponseBody {
    /// Reads the body of `answer`, at most `most` bytes of it; a failure, if its encoding is unknown.
    pub(super) fn new(answer: reqwest::Response, most: usize, host: &str) -> Result<Self, Failure> {
        let packed = match answer.headers().get(header::CONTENT_ENCODING) {
            None => None,
            Some(how) => {
                let how = how.to_str().unwrap_or("?");
                let body = Body::new(Some(how), most.saturating_add(1), host).map_err(|_| {
                    let how: String = how.trim().chars().take(40).collect();
                    let what = format!(
                        "the answer is compressed ({how}), which was not asked for: turn that off in the server"
                    );
                    Failure::new(FailureKind::InvalidBody, what)
                })?;
                body.is_packed().then(|| Box::new(body))
            }
        };
        Ok(Self { source: PieceSource::Http(answer), packed, most })
    }

    /// Reads the events that come over a WebSocket.
    pub(super) fn over(socket: Socket) -> Self {
        Self { source: PieceSource::Socket(Box::new(socket)), packed: None, most: usize::MAX }
    }

    /// The WebSocket that the events came over.
    pub(super) fn into_socket(self) -> Option<Socket> {
        match self.source {
            PieceSource::Socket(socket) => Some(*socket),
            PieceSource::Http(_) => None,
        }
    }

    /// The length of the body, if it is known.
    pub(super) fn length(&self) -> Option<u64> {
        match &self.source {
            PieceSource::Http(answer) if self.packed.is_none() => answer.content_length(),
            _ => None,
        }
    }

    /// The next piece; `None` at the end. Dropping the future loses nothing.
    pub(super) async fn chunk(&mut self, host: &str) -> Result<Option<Bytes>, Failure> {
        loop {
            let piece = match &mut self.source {
                PieceSource::Http(answer) => {
                    answer.chunk().await.map_err(|error| error_map::body_failure(&error, host))?
                }
                PieceSource::Socket(socket) => return socket.event(host).await.map(Some),
            };
            let Some(packed) = &mut self.packed else { return Ok(piece) };
            let Some(piece) = piece else {
                packed.finish().map_err(|error| broken(&error))?;
                let rest = packed.drain().map_err(|error| broken(&error))?;
                return Ok((!rest.is_empty()).then(|| rest.into()));
            };
            let all = packed.take(&piece).map_err(|error| broken(&error))?;
            let unpacked = packed.drain().map_err(|error| broken(&error))?;
            if unpacked.is_empty() && !all {
                return Err(too_long(self.most));
            }
            // The head of a packed body, or less than a whole block of it, says nothing yet.
            if !unpacked.is_empty() {
                return Ok(Some(unpacked.into()));
            }
        }
    }

    /// Reads what is left behind the last event, for so long at most: over HTTP/1.1 a connection can be used again only
    /// if its answer was read to the end, which is near.
    pub(super) async fn drain(&mut self, patience: Duration) {
        if let PieceSource::Http(answer) = &mut self.source
            && answer.version() <= Version::HTTP_11
        {
            let end = async { while let Ok(Some(_)) = answer.chunk().await {} };
            let _ = tokio::time::timeout(patience, end).await;
        }
    }
}

/// The failure of a body that is longer than it may be.
pub(super) fn too_long(most: usize) -> Failure {
    Failure::new(FailureKind::InvalidBody, format!("the answer is longer than {} MiB", most >> 20))
}

fn broken(error: &Error) -> Failure {
    Failure::new(FailureKind::InvalidBody, error.message.clone())
}
