//! Server-sent events from bytes, as the WHATWG describes them
//! (<https://html.spec.whatwg.org/multipage/server-sent-events.html>).
//!
//! Any chunking, `\n`, `\r` and `\r\n`, comments, a byte order mark and a missing last empty line are fine. Each byte
//! is looked at once; one event holds at most [`MAX_EVENT_BYTES`].

use loopwright_base::error::{Failure, FailureKind, Result};

/// One event may not be longer than this.
pub const MAX_EVENT_BYTES: usize = 64 << 20;

/// One event: its name (empty if none was given) and its data lines, joined by `\n`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The event's name.
    pub name: String,
    /// The event's data.
    pub data: String,
}

/// Bytes in, events out.
#[derive(Debug, Default)]
pub struct Parser {
    buffer: Vec<u8>,
    /// Where the unread part of `buffer` begins.
    read: usize,
    /// Up to where `buffer` holds no end of line.
    searched: usize,
    started: bool,
    /// The last line ended with `\r`: a `\n` that follows belongs to it.
    after_return: bool,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
}

impl Parser {
    /// Adds bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.read > 0 {
            self.buffer.drain(..self.read);
            self.searched -= self.read;
            self.read = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole event; `None` when more bytes are needed.
    pub fn next_event(&mut self) -> Result<Option<Event>, Failure> {
        while let Some((start, end)) = self.next_line() {
            if let Some(event) = self.line(start, end)? {
                return Ok(Some(event));
            }
        }
        if self.buffer.len() - self.read + self.data.len() > MAX_EVENT_BYTES {
            return Err(too_long());
        }
        Ok(None)
    }

    /// The bytes have ended: an event that was not yet closed by an empty line.
    pub fn finish(&mut self) -> Result<Option<Event>, Failure> {
        let (start, end) = (self.read, self.buffer.len());
        self.read = end;
        self.searched = end;
        if start < end
            && let Some(event) = self.line(start, end)?
        {
            return Ok(Some(event));
        }
        self.dispatch()
    }

    fn next_line(&mut self) -> Option<(usize, usize)> {
        if !self.started {
            const MARK: &[u8] = b"\xEF\xBB\xBF";
            if self.buffer.len() < MARK.len() && MARK.starts_with(&self.buffer) {
                return None;
            }
            if self.buffer.starts_with(MARK) {
                self.read = MARK.len();
                self.searched = self.read;
            }
            self.started = true;
        }
        if self.after_return && self.read < self.buffer.len() {
            self.after_return = false;
            if self.buffer[self.read] == b'\n' {
                self.read += 1;
                self.searched = self.searched.max(self.read);
            }
        }
        let at = memchr::memchr2(b'\n', b'\r', &self.buffer[self.searched..]).map(|at| at + self.searched);
        let Some(end) = at else {
            self.searched = self.buffer.len();
            return None;
        };
        let start = self.read;
        self.after_return = self.buffer[end] == b'\r';
        self.read = end + 1;
        self.searched = self.read;
        Some((start, end))
    }

    fn line(&mut self, start: usize, end: usize) -> Result<Option<Event>, Failure> {
        let line = &self.buffer[start..end];
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], line[colon + 1..].strip_prefix(b" ").unwrap_or(&line[colon + 1..])),
            None => (line, &b""[..]),
        };
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
                if self.data.len() > MAX_EVENT_BYTES {
                    return Err(too_long());
                }
            }
            b"event" => self.name = value.to_vec(),
            // Comments (an empty field name), `id`, `retry` and unknown fields.
            _ => {}
        }
        Ok(None)
    }

    fn dispatch(&mut self) -> Result<Option<Event>, Failure> {
        let name = std::mem::take(&mut self.name);
        let data = std::mem::take(&mut self.data);
        if !std::mem::take(&mut self.has_data) {
            return Ok(None);
        }
        let text = |bytes: Vec<u8>| {
            String::from_utf8(bytes)
                .map_err(|_| Failure::new(FailureKind::InvalidBody, "an event of the stream is not UTF-8"))
        };
        Ok(Some(Event { name: text(name)?, data: text(data)? }))
    }
}

fn too_long() -> Failure {
    Failure::new(
        FailureKind::InvalidBody,
        format!("an event of the stream is longer than {} MiB", MAX_EVENT_BYTES >> 20),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(chunks: &[&[u8]]) -> Vec<(String, String)> {
        let mut parser = Parser::default();
        let mut events = Vec::new();
        for chunk in chunks {
            parser.feed(chunk);
            while let Some(event) = parser.next_event().unwrap() {
                events.push((event.name, event.data));
            }
        }
        events.extend(parser.finish().unwrap().map(|event| (event.name, event.data)));
        events
    }

    const ALL: &str = "\u{feff}: hello\r\nevent: a\r\ndata: {\"x\":1}\r\n\r\n:\n\ndata:two\ndata: lines \n\nid: 7\nretry: 3\n\
                       data\n\nevent: none\n\nevent: z\rdata: ü\u{1f680}\r\rdata: [DONE]";

    #[test]
    fn reads_what_servers_write() {
        let expected = [("a", "{\"x\":1}"), ("", "two\nlines "), ("", ""), ("z", "ü\u{1f680}"), ("", "[DONE]")];
        let events = parse(&[ALL.as_bytes()]);
        assert_eq!(events, expected.map(|(name, data)| (name.to_owned(), data.to_owned())));
    }

    #[test]
    fn every_split_gives_the_same_events() {
        let whole = parse(&[ALL.as_bytes()]);
        for at in 0..=ALL.len() {
            assert_eq!(parse(&[&ALL.as_bytes()[..at], &ALL.as_bytes()[at..]]), whole, "cut at {at}");
        }
        let bytes: Vec<&[u8]> = ALL.as_bytes().chunks(1).collect();
        assert_eq!(parse(&bytes), whole);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20)) {
            let mut parser = Parser::default();
            for chunk in &chunks {
                parser.feed(chunk);
                while let Ok(Some(_)) = parser.next_event() {}
            }
            let _ = parser.finish();
        }
    }
}
