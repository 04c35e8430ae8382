//! Connections: HTTP/1.1 with keep-alive, one task for each, no state but counters and the runs already struck.
//!
//! Streams are chunked and written event by event, as providers send them; a client that can't keep up sees
//! several events in one read, which is also what happens in practice.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::answer::{self, DELTAS, FINAL, Stream};
use crate::plan::{self, Fault, Plan};

const MAX_REQUEST: usize = 64 << 20;

/// What the server counted since it started, or since the last `GET /reset`.
#[derive(Default)]
pub struct Shared {
    requests: AtomicU64,
    connections: AtomicU64,
    faults: AtomicU64,
    struck: Mutex<HashSet<String>>,
}

impl Shared {
    /// True for the first call with this run id only.
    fn strike(&self, run: &str) -> bool {
        let fresh = self.struck.lock().unwrap_or_else(PoisonError::into_inner).insert(run.to_owned());
        self.faults.fetch_add(u64::from(fresh), Ordering::Relaxed);
        fresh
    }

    fn stats(&self) -> String {
        format!(
            r#"{{"requests":{},"connections":{},"faults":{}}}"#,
            self.requests.load(Ordering::Relaxed),
            self.connections.load(Ordering::Relaxed),
            self.faults.load(Ordering::Relaxed)
        )
    }

    fn reset(&self) {
        for counter in [&self.requests, &self.connections, &self.faults] {
            counter.store(0, Ordering::Relaxed);
        }
    }
}

/// Accepts connections for ever.
///
/// # Errors
/// Only if the listener itself breaks.
pub async fn serve(listener: TcpListener) -> io::Result<()> {
    let shared = Arc::new(Shared::default());
    loop {
        let (socket, _) = listener.accept().await?;
        shared.connections.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::clone(&shared);
        // A connection that breaks is the client's affair.
        tokio::spawn(async move { drop(connection(socket, &shared).await) });
    }
}

struct Head {
    post: bool,
    path: String,
    length: usize,
    close: bool,
    bytes: usize,
}

/// Reads the head of a request; `Ok(None)` if more bytes are needed.
fn head(buffer: &[u8]) -> io::Result<Option<Head>> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    let status = request.parse(buffer).map_err(io::Error::other)?;
    let httparse::Status::Complete(bytes) = status else { return Ok(None) };
    let mut found = Head {
        post: request.method == Some("POST"),
        path: request.path.unwrap_or_default().to_owned(),
        length: 0,
        close: false,
        bytes,
    };
    for header in request.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            let text = std::str::from_utf8(header.value).map_err(io::Error::other)?;
            found.length = text.trim().parse().map_err(io::Error::other)?;
        } else if header.name.eq_ignore_ascii_case("connection") {
            found.close = header.value.eq_ignore_ascii_case(b"close");
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(io::Error::other("chunked requests are not supported"));
        }
    }
    if found.length > MAX_REQUEST { Err(io::Error::other("request too long")) } else { Ok(Some(found)) }
}

async fn connection(mut socket: TcpStream, shared: &Shared) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let mut buffer = Vec::with_capacity(16 << 10);
    loop {
        let head = loop {
            if let Some(head) = head(&buffer)? {
                break head;
            }
            if socket.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        };
        let end = head.bytes + head.length;
        buffer.reserve(end.saturating_sub(buffer.len()));
        while buffer.len() < end {
            if socket.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        }
        let keep = respond(&mut socket, shared, &head, &buffer[head.bytes..end]).await?;
        if head.close || !keep {
            return Ok(());
        }
        buffer.drain(..end);
    }
}

/// Answers one request; false if the connection can't be used any more.
async fn respond(socket: &mut TcpStream, shared: &Shared, head: &Head, body: &[u8]) -> io::Result<bool> {
    if !head.post {
        if head.path == "/reset" {
            shared.reset();
        }
        return whole(socket, 200, &shared.stats()).await;
    }
    let Some(plan) = Plan::from_path(&head.path) else {
        return whole(socket, 404, r#"{"error":{"message":"no such path","type":"invalid_request_error"}}"#).await;
    };
    shared.requests.fetch_add(1, Ordering::Relaxed);
    let turn = plan::assistant_turns(body);
    let stream = plan::wants_stream(body);
    let usage = plan::wants_usage(body).then_some(body.len());
    if plan.latency_ms > 0 {
        tokio::time::sleep(Duration::from_millis(plan.latency_ms)).await;
    }
    let fault = plan.fault.filter(|_| turn == 0 && shared.strike(&plan.run));
    match fault {
        Some(Fault::Status(status)) => return whole(socket, status, &answer::error(status)).await,
        Some(Fault::BadJson) => {
            let broken = [answer::arguments(0, 0).trim_end_matches("\"}").to_owned()];
            return if stream {
                events(socket, &Stream::new().calls(&broken).finish("tool_calls", usage)).await
            } else {
                whole(socket, 200, &answer::tool_turn(&broken, body.len())).await
            };
        }
        Some(Fault::EarlyError) if stream => return events(socket, &Stream::new().broken()).await,
        Some(Fault::MidError) if stream => return events(socket, &Stream::new().text(FINAL, 2).broken()).await,
        Some(Fault::MidCut) if stream => return cut(socket, &Stream::new().text(FINAL, 2).cut()).await,
        Some(Fault::EarlyError | Fault::MidError | Fault::MidCut) => {
            return whole(socket, 500, &answer::error(500)).await;
        }
        None => {}
    }
    if turn < plan.turns {
        let arguments: Vec<String> = (0..plan.parallel).map(|call| answer::arguments(turn, call)).collect();
        if stream {
            events(socket, &Stream::new().calls(&arguments).finish("tool_calls", usage)).await
        } else {
            whole(socket, 200, &answer::tool_turn(&arguments, body.len())).await
        }
    } else if stream {
        events(socket, &Stream::new().text(FINAL, DELTAS).finish("stop", usage)).await
    } else {
        whole(socket, 200, &answer::final_turn(body.len())).await
    }
}

async fn whole(socket: &mut TcpStream, status: u16, body: &str) -> io::Result<bool> {
    let reason = match status {
        200 => "OK",
        404 => "Not Found",
        429 => "Too Many Requests",
        529 => "Overloaded",
        _ => "Internal Server Error",
    };
    let retry = if status == 429 { "retry-after: 1\r\n" } else { "" };
    let answer = format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: application/json\r\nx-request-id: req_fake\r\nopenai-version: 2020-10-01\r\n{retry}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(answer.as_bytes()).await?;
    Ok(true)
}

const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\nx-request-id: req_fake\r\ntransfer-encoding: chunked\r\n\r\n";

fn chunk(event: &str) -> String {
    format!("{:x}\r\n{event}\r\n", event.len())
}

/// A whole stream, one write for each event.
async fn events(socket: &mut TcpStream, events: &[String]) -> io::Result<bool> {
    socket.write_all(STREAM_HEAD.as_bytes()).await?;
    for event in events {
        socket.write_all(chunk(event).as_bytes()).await?;
    }
    socket.write_all(b"0\r\n\r\n").await?;
    Ok(true)
}

/// The beginning of a stream, and then a reset instead of an end.
async fn cut(socket: &mut TcpStream, events: &[String]) -> io::Result<bool> {
    socket.write_all(STREAM_HEAD.as_bytes()).await?;
    for event in events {
        socket.write_all(chunk(event).as_bytes()).await?;
    }
    // A reset throws away what the peer hasn't read yet: let it read first.
    tokio::time::sleep(Duration::from_millis(100)).await;
    socket.set_zero_linger()?;
    Ok(false)
}
