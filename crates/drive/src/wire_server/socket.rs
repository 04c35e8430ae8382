//! The server's side of a WebSocket: the same answers and faults as over HTTP, an event in each message.

use std::{sync::Arc, time::Duration};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::protocol::{Message, Role},
};

use super::{
    ConnectionGuard, Shared, answer,
    rates::{Arrival, Counter},
    remember,
    render::{self, Ending, Rendered},
    request::{Connection, CountedStream, RawRequest},
    send,
    stored::LastAnswer,
    wrong_key,
};
use crate::socket::{accepting, frame_limits};
use loopwright_base::{json::Fields, message::Wire};

/// Events behind which nothing comes.
const LAST: [&str; 4] = ["response.completed", "response.incomplete", "response.failed", "error"];

/// Whether a request asks for a WebSocket to the Responses API.
pub(super) fn is_opening(raw: &RawRequest) -> bool {
    let path = raw.path.split('?').next().unwrap_or_default().trim_end_matches('/');
    raw.method == "GET"
        && path.ends_with("/responses")
        && raw.header("upgrade").is_some_and(|to| to.eq_ignore_ascii_case("websocket"))
}

/// Opens a WebSocket, or refuses it, and answers what comes over it.
pub(super) async fn serve(mut connection: Connection, head: RawRequest, shared: &Arc<Shared>) {
    let (refuse, limit) = {
        let state = shared.state();
        (state.script.refuse_sockets, state.script.socket_answers.unwrap_or(usize::MAX))
    };
    let wire = Wire::OpenaiResponses;
    let refused = refuse.map(|status| render::error(wire, status, "no WebSocket opens here", 0, &[]));
    if let Some(refused) = wrong_key(shared, &head, wire, 0).or(refused) {
        if send(&mut connection, refused).await {
            connection.finish().await;
        }
        return;
    }
    let key = head.header("sec-websocket-key").unwrap_or_default();
    let opened = format!(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\
         sec-websocket-accept: {}\r\n\r\n",
        accepting(key)
    );
    if connection.stream.write_all(opened.as_bytes()).await.is_err() {
        return;
    }
    let _open = ConnectionGuard::new(&shared.sockets, &shared.total_sockets);
    let mut cut = shared.cut.subscribe();
    let (stream, ahead) = connection.into_parts();
    let frames = WebSocketStream::from_partially_read(stream, ahead, Role::Server, Some(frame_limits())).await;
    let mut served = ServedSocket { frames, head, last: LastAnswer::default(), left: limit };
    tokio::select! {
        () = served.serve(shared) => {}
        _ = cut.changed() => {}
    }
}

struct ServedSocket {
    frames: WebSocketStream<CountedStream>,
    /// The request that opened it.
    head: RawRequest,
    last: LastAnswer,
    /// Answers until the connection has reached its limit.
    left: usize,
}

impl ServedSocket {
    async fn serve(&mut self, shared: &Shared) {
        loop {
            let text = match self.frames.next().await {
                Some(Ok(Message::Text(text))) => text.as_str().to_owned(),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                _ => return,
            };
            // It counts as under way until its answer was sent.
            let arrival = shared.rates.as_ref().map(Counter::arrive);
            let (delay, rendered) = self.answer(shared, text, arrival.as_ref());
            if !self.wait(Some(delay)).await || !self.send(rendered).await {
                return;
            }
        }
    }

    /// The answer to a message, as it would be over HTTP.
    fn answer(&mut self, shared: &Shared, text: String, arrival: Option<&Arrival>) -> (Duration, Rendered) {
        let wire = Wire::OpenaiResponses;
        let mut fields = Fields::parse(&text).unwrap_or_default();
        let kind = fields.take_str("type");
        fields.put("stream", &true);
        let RawRequest { path, headers, .. } = &self.head;
        let request = |method: &str, body: String| RawRequest {
            method: method.to_owned(),
            path: path.clone(),
            headers: headers.clone(),
            body: body.into_bytes(),
            keep_alive: true,
        };
        let asking = request("POST", fields.to_raw().text().to_owned());
        remember(shared, request("WEBSOCKET", text));
        if kind.as_deref() != Some("response.create") {
            return (Duration::ZERO, render::error(wire, 400, "only response.create is known here", 0, &[]));
        }
        if self.left == 0 {
            let (kind, code) = ("invalid_request_error", "websocket_connection_limit_reached");
            let words = "Responses websocket connection limit reached. Create a new websocket connection to continue.";
            let body = json!({"error": {"type": kind, "code": code, "message": words, "param": null}}).to_string();
            let rendered = render::whole(400, "application/json", 0, &[], &body);
            return (Duration::ZERO, Rendered { ending: Ending::Closed, ..rendered });
        }
        self.left -= 1;
        let (delay, rendered) = answer(shared, &asking, arrival, Some(&mut self.last));
        if rendered.status() != Some(200) {
            self.last.forget();
        }
        (delay, rendered)
    }

    /// Waits, for ever if `time` is `None`; false if the client goes away meanwhile.
    async fn wait(&mut self, time: Option<Duration>) -> bool {
        if time.is_some_and(|time| time.is_zero()) {
            return true;
        }
        let gone = async { while matches!(self.frames.next().await, Some(Ok(message)) if !message.is_close()) {} };
        if let Some(time) = time {
            return tokio::time::timeout(time, gone).await.is_err();
        }
        gone.await;
        false
    }

    /// Sends an answer, an event in each message; returns whether the socket can be used again.
    async fn send(&mut self, rendered: Rendered) -> bool {
        let delay = rendered.delay;
        let ending = rendered.ending;
        let mut over = false;
        let mut first = true;
        for message in messages(&rendered) {
            if !std::mem::take(&mut first) && !self.wait(Some(delay)).await {
                return false;
            }
            let kind = serde_json::from_str::<Value>(&message).ok();
            let kind = kind.as_ref().and_then(|event| event.get("type")?.as_str());
            over |= kind.is_some_and(|kind| LAST.contains(&kind));
            if self.frames.send(Message::text(message)).await.is_err() {
                return false;
            }
        }
        match ending {
            Ending::Whole if over => true,
            Ending::Whole | Ending::Closed => {
                let _ = self.frames.close(None).await;
                false
            }
            Ending::Silence => self.wait(None).await,
            Ending::Reset => {
                // What was sent shall be read before the reset overtakes it.
                self.wait(Some(Duration::from_millis(10))).await;
                let _ = self.frames.get_ref().stream.set_zero_linger();
                false
            }
        }
    }
}

/// The messages of an answer: the data of its events, or the error event that stands for a refusal.
fn messages(rendered: &Rendered) -> Vec<String> {
    let status = rendered.status();
    let body = String::from_utf8_lossy(&rendered.pieces.concat()).into_owned();
    match status {
        None => Vec::new(),
        Some(200) if body.starts_with("event:") || body.starts_with("data:") => {
            let data = |event: &str| {
                let lines = event.lines().filter_map(|line| line.strip_prefix("data: "));
                Some(lines.collect::<Vec<_>>().join("\n")).filter(|data| !data.is_empty())
            };
            body.split("\n\n").filter_map(data).collect()
        }
        Some(200) => Some(body).filter(|body| !body.is_empty()).into_iter().collect(),
        Some(status) => {
            let said: Value = serde_json::from_str(&body).unwrap_or_default();
            let error = said.get("error").cloned().unwrap_or_else(|| json!({"message": body}));
            let head = String::from_utf8_lossy(&rendered.head).into_owned();
            let headers: serde_json::Map<String, Value> = head
                .lines()
                .skip(1)
                .filter_map(|line| line.split_once(": "))
                .filter(|(name, _)| !name.starts_with("content-"))
                .map(|(name, value)| (name.to_owned(), value.into()))
                .collect();
            vec![json!({"type": "error", "status": status, "error": error, "headers": headers}).to_string()]
        }
    }
}
