//! Reading HTTP/1.1 requests from a connection: heads by `httparse`, bodies by length or in chunks, all bounded.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf},
    net::TcpStream,
};

/// The size of the longest head that is read, in bytes.
const MAX_HEAD: usize = 64 << 10;
/// The size of the longest body that is read, in bytes.
const MAX_BODY: usize = 64 << 20;

/// A request as it came.
#[derive(Debug)]
pub(super) struct RawRequest {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    pub(super) keep_alive: bool,
}

impl RawRequest {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The reason why no request could be read.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// The client is gone.
    Gone,
    /// The request is invalid; the status and words to answer with.
    Wrong(u16, &'static str),
}

impl From<io::Error> for Unreadable {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// A stream whose bytes are counted as they are read.
#[derive(Debug)]
pub(super) struct CountedStream {
    pub(super) stream: TcpStream,
    read: Arc<AtomicU64>,
}

impl AsyncRead for CountedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.read.fetch_add((buffer.filled().len() - before) as u64, Ordering::Relaxed);
        read
    }
}

impl AsyncWrite for CountedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A connection with the bytes that were read ahead.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: CountedStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, read: Arc<AtomicU64>) -> Self {
        Self { stream: CountedStream { stream, read }, buffer: Vec::new() }
    }

    /// The stream, with what was read of it already.
    pub(super) fn into_parts(self) -> (CountedStream, Vec<u8>) {
        (self.stream, self.buffer)
    }

    async fn more(&mut self) -> Result<(), Unreadable> {
        if self.stream.read_buf(&mut self.buffer).await? == 0 { Err(Unreadable::Gone) } else { Ok(()) }
    }

    /// Waits, for ever if `time` is `None`; false if the client goes away meanwhile.
    pub(super) async fn wait(&mut self, time: Option<Duration>) -> bool {
        let gone = async {
            // A client that sends its next requests ahead is not gone; what it sends is bounded.
            while self.buffer.len() <= MAX_HEAD && self.more().await.is_ok() {}
        };
        match time {
            Some(time) if time.is_zero() => true,
            Some(time) => tokio::time::timeout(time, gone).await.is_err(),
            None => {
                gone.await;
                false
            }
        }
    }

    /// Ends the connection so that the client can read the answer: closing at once, while it still sends, would
    /// reset the connection and take the answer along.
    pub(super) async fn finish(&mut self) {
        let drain = async {
            if self.stream.shutdown().await.is_ok() {
                let mut rest = vec![0; 16 << 10];
                while self.stream.read(&mut rest).await.is_ok_and(|read| read > 0) {}
            }
        };
        let _ = tokio::time::timeout(Duration::from_millis(500), drain).await;
    }

    /// The next request.
    pub(super) async fn request(&mut self) -> Result<RawRequest, Unreadable> {
        let (mut raw, head) = loop {
            if let Some(found) = parse_head(&self.buffer)? {
                break found;
            }
            if self.buffer.len() > MAX_HEAD {
                return Err(Unreadable::Wrong(431, "the request's head is too long"));
            }
            self.more().await?;
        };
        self.buffer.drain(..head);
        if raw.header("expect").is_some_and(|expect| expect.eq_ignore_ascii_case("100-continue")) {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        let chunked =
            raw.header("transfer-encoding").is_some_and(|coding| coding.to_ascii_lowercase().contains("chunked"));
        raw.body = if chunked {
            self.chunks().await?
        } else {
            let length = match raw.header("content-length") {
                Some(text) => {
                    text.trim().parse().map_err(|_| Unreadable::Wrong(400, "the content length is no number"))?
                }
                None => 0,
            };
            self.bytes(length).await?
        };
        Ok(raw)
    }

    async fn bytes(&mut self, length: usize) -> Result<Vec<u8>, Unreadable> {
        if length > MAX_BODY {
            return Err(Unreadable::Wrong(413, "the request's body is too long"));
        }
        while self.buffer.len() < length {
            self.more().await?;
        }
        let rest = self.buffer.split_off(length);
        Ok(std::mem::replace(&mut self.buffer, rest))
    }

    async fn line(&mut self) -> Result<Vec<u8>, Unreadable> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.buffer) {
                let mut line: Vec<u8> = self.buffer.drain(..=end).collect();
                line.truncate(end);
                return Ok(line.trim_ascii().to_vec());
            }
            if self.buffer.len() > MAX_HEAD {
                return Err(Unreadable::Wrong(400, "a line of the request's body is too long"));
            }
            self.more().await?;
        }
    }

    async fn chunks(&mut self) -> Result<Vec<u8>, Unreadable> {
        let mut body = Vec::new();
        loop {
            let line = self.line().await?;
            let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
            let size = std::str::from_utf8(digits).ok().and_then(|text| usize::from_str_radix(text, 16).ok());
            let size = size.ok_or(Unreadable::Wrong(400, "a chunk of the request's body has no size"))?;
            if size == 0 {
                while !self.line().await?.is_empty() {}
                return Ok(body);
            }
            if size > MAX_BODY - body.len() {
                return Err(Unreadable::Wrong(413, "the request's body is too long"));
            }
            body.extend(self.bytes(size).await?);
            self.line().await?;
        }
    }
}

/// The head and its length, once it is whole.
fn parse_head(buffer: &[u8]) -> Result<Option<(RawRequest, usize)>, Unreadable> {
    let mut headers = [httparse::EMPTY_HEADER; 100];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(buffer) {
        Ok(httparse::Status::Partial) => Ok(None),
        Err(_) => Err(Unreadable::Wrong(400, "this is no HTTP/1.1 request")),
        Ok(httparse::Status::Complete(length)) => {
            let headers: Vec<(String, String)> = request
                .headers
                .iter()
                .map(|header| (header.name.to_ascii_lowercase(), String::from_utf8_lossy(header.value).into_owned()))
                .collect();
            let connection = headers.iter().find(|(name, _)| name == "connection").map(|(_, value)| value.as_str());
            let keep_alive = match connection {
                Some(value) => !value.eq_ignore_ascii_case("close"),
                None => request.version == Some(1),
            };
            let raw = RawRequest {
                method: request.method.unwrap_or_default().to_owned(),
                path: request.path.unwrap_or_default().to_owned(),
                headers,
                body: Vec::new(),
                keep_alive,
            };
            Ok(Some((raw, length)))
        }
    }
}
