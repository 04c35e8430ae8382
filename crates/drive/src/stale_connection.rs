//! Retries of requests on stale connections: a server may close a kept connection in the moment in which a request goes
//! out on it.
//!
//! Such a request was not answered, and says nothing about the server: it is sent again at once, over another
//! connection, and counts as no attempt. A request that fails on a connection made for it has failed.

use std::{
    cell::Cell,
    task::{Context, Poll},
};

use reqwest::{Client, Error, Request, Response};
use tower_layer::Layer;
use tower_service::Service;

use super::error_map;

/// Stale connections in a row after which a request is sent without another look.
const MAX_STALE: usize = 5;

tokio::task_local! {
    /// A connection was made for the request that is being sent.
    static NEW_CONNECTION: Cell<bool>;
}

/// Sends `request`; if its connection was closed under it, sends the copy that `again` returns, if there is one.
pub(super) async fn execute(
    client: &Client,
    mut request: Request,
    again: impl Fn() -> Option<Request>,
) -> Result<Response, Error> {
    for _ in 0..MAX_STALE {
        let one = async { (client.execute(request).await, NEW_CONNECTION.with(Cell::get)) };
        request = match NEW_CONNECTION.scope(Cell::new(false), one).await {
            (Err(error), false) if error_map::is_closed_unanswered(&error) => match again() {
                Some(next) => next,
                None => return Err(error),
            },
            (sent, _) => return sent,
        }
    }
    client.execute(request).await
}

/// A layer that records that a connection is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordConnections;

impl<S> Layer<S> for RecordConnections {
    type Service = RecordingConnector<S>;

    fn layer(&self, inner: S) -> RecordingConnector<S> {
        RecordingConnector(inner)
    }
}

/// A connector that records each connection it makes.
#[derive(Clone, Debug)]
pub(super) struct RecordingConnector<S>(S);

impl<S: Service<R>, R> Service<R> for RecordingConnector<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: R) -> S::Future {
        // Outside of a request nobody asks.
        let _ = NEW_CONNECTION.try_with(|made| made.set(true));
        self.0.call(request)
    }
}
