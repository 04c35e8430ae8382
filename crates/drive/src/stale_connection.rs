//! Requests over connections that are kept: a server may close one in the moment in which a request goes out on it.
//!
//! Such a request was not answered, and says nothing about the server: it goes again at once, over another connection, and
//! is no attempt of anybody's. One that fails on a connection made for it has failed.

use std::{
    cell::Cell,
    task::{Context, Poll},
};

use reqwest::{Client, Error, Request, Response};
use tower_layer::Layer;
use tower_service::Service;

use super::error_map;

/// A connection that is found closed is forgotten. Where so many are, something else is the matter.
const MOST_CLOSED: usize = 5;

tokio::task_local! {
    /// Whether the request that is being sent had a connection made for it.
    static MADE: Cell<bool>;
}

/// Sends `request`, and where its connection was closed under it what `again` gives, if it can be sent again.
pub(super) async fn execute(
    client: &Client,
    mut request: Request,
    again: impl Fn() -> Option<Request>,
) -> Result<Response, Error> {
    for _ in 0..MOST_CLOSED {
        let one = async { (client.execute(request).await, MADE.with(Cell::get)) };
        request = match MADE.scope(Cell::new(false), one).await {
            (Err(error), false) if error_map::closed_unanswered(&error) => match again() {
                Some(next) => next,
                None => return Err(error),
            },
            (sent, _) => return sent,
        }
    }
    client.execute(request).await
}

/// Notes that a connection is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noting;

impl<S> Layer<S> for Noting {
    type Service = Noted<S>;

    fn layer(&self, inner: S) -> Noted<S> {
        Noted(inner)
    }
}

/// What makes connections, and tells of it.
#[derive(Clone, Debug)]
pub(super) struct Noted<S>(S);

impl<S: Service<R>, R> Service<R> for Noted<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: R) -> S::Future {
        // Outside of a request nobody asks.
        let _ = MADE.try_with(|made| made.set(true));
        self.0.call(request)
    }
}
