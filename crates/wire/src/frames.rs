//! Frames of `application/vnd.amazon.eventstream`, both ways
//! (<https://smithy.io/2.0/aws/amazon-eventstream.html>).
//!
//! A frame is a prelude (its length, that of its headers, their checksum), headers, a payload and a checksum of all.
//! Any chunking is fine. A frame whose checksums are wrong is a typed failure: nothing behind it can be trusted.

use loopwright_base::{
    error::{Failure, FailureKind, Result},
    json::{Fields, Raw},
};

use crate::sse::{Event, MAX_EVENT_BYTES};

/// The lengths and their checksum.
const PRELUDE: usize = 12;
/// A frame without headers and payload.
const SHORTEST: usize = PRELUDE + CHECKSUM;
const CHECKSUM: usize = 4;
/// The name of events that tell of a failure; their data names it.
pub const EXCEPTION: &str = "exception";
/// The member of such data that names the failure.
pub(crate) const EXCEPTION_TYPE: &str = "__type";
/// The failure's code for a frame that was damaged on its way.
pub const DAMAGED: &str = "damaged_frame";

/// Bytes in, events out.
#[derive(Debug, Default)]
pub struct Frames {
    buffer: Vec<u8>,
    /// The place where the unread part of `buffer` begins.
    read: usize,
}

impl Frames {
    /// Adds bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.read);
        self.read = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole event; `None` when more bytes are needed.
    pub fn next_event(&mut self) -> Result<Option<Event>, Failure> {
        let unread = &self.buffer[self.read..];
        let Some(prelude) = unread.first_chunk::<PRELUDE>() else { return Ok(None) };
        let [length, headers, checksum] = words(prelude);
        if crc32fast::hash(&prelude[..PRELUDE - CHECKSUM]) != checksum {
            return Err(damaged("the checksum of its lengths is wrong"));
        }
        let (length, headers) = (length as usize, headers as usize);
        if length < SHORTEST || headers > length - SHORTEST || length > MAX_EVENT_BYTES {
            return Err(damaged("its lengths can't be"));
        }
        let Some(frame) = unread.get(..length) else { return Ok(None) };
        let (body, sum) = frame.split_at(length - CHECKSUM);
        if crc32fast::hash(body).to_be_bytes() != sum {
            return Err(damaged("the checksum of its bytes is wrong"));
        }
        let (headers, payload) = body[PRELUDE..].split_at(headers);
        let headers = Headers::read(headers).ok_or_else(|| damaged("its headers can't be read"))?;
        let data = std::str::from_utf8(payload).map_err(|_| damaged("its payload is not UTF-8"))?;
        let event = headers.event(data);
        self.read += length;
        Ok(Some(event))
    }

    /// The bytes have ended: a failure, if they ended inside a frame.
    pub fn finish(&mut self) -> Result<Option<Event>, Failure> {
        if self.read < self.buffer.len() {
            return Err(Failure::new(FailureKind::Cut, "the stream broke off inside a frame"));
        }
        Ok(None)
    }
}

fn words(prelude: &[u8; PRELUDE]) -> [u32; 3] {
    let (words, _) = prelude.as_chunks();
    [0, 1, 2].map(|at| words.get(at).copied().map_or(0, u32::from_be_bytes))
}

fn damaged(why: &str) -> Failure {
    let failure =
        Failure::new(FailureKind::InvalidBody, format!("a frame of the stream was damaged on its way: {why}"));
    let hint = "try again; if it stays like that, look for a proxy that changes what it passes on";
    Failure { code: Some(DAMAGED.to_owned()), ..failure.hint(hint) }
}

/// The headers of a frame that say what it is.
#[derive(Debug, Default)]
struct Headers<'a> {
    message_type: &'a str,
    event_type: &'a str,
    exception_type: &'a str,
    error_code: &'a str,
    error_message: &'a str,
}

impl<'a> Headers<'a> {
    fn read(mut bytes: &'a [u8]) -> Option<Self> {
        let mut headers = Self::default();
        while !bytes.is_empty() {
            let name = take(&mut bytes, 1)?;
            let name = std::str::from_utf8(take(&mut bytes, usize::from(name[0]))?).ok()?;
            let kind = take(&mut bytes, 1)?[0];
            let length = match kind {
                0 | 1 => 0,
                2 => 1,
                3 => 2,
                4 => 4,
                5 | 8 => 8,
                6 | 7 => usize::from(u16::from_be_bytes(*take(&mut bytes, 2)?.first_chunk()?)),
                9 => 16,
                _ => return None,
            };
            let value = take(&mut bytes, length)?;
            let slot = match name {
                ":message-type" => &mut headers.message_type,
                ":event-type" => &mut headers.event_type,
                ":exception-type" => &mut headers.exception_type,
                ":error-code" => &mut headers.error_code,
                ":error-message" => &mut headers.error_message,
                _ => continue,
            };
            *slot = std::str::from_utf8(value).ok().filter(|_| kind == 7)?;
        }
        Some(headers)
    }

    /// The event of a frame with these headers.
    fn event(&self, data: &str) -> Event {
        if !matches!(self.message_type, "exception" | "error") {
            return Event { name: self.event_type.to_owned(), data: data.to_owned() };
        }
        let mut fields = Fields::parse(data).unwrap_or_default();
        let name = if self.exception_type.is_empty() { self.error_code } else { self.exception_type };
        fields.put(EXCEPTION_TYPE, name);
        if fields.get("message").is_none() {
            fields.put("message", if self.error_message.is_empty() { data.trim() } else { self.error_message });
        }
        Event { name: EXCEPTION.to_owned(), data: fields.to_raw().text().to_owned() }
    }
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

/// The frame of an event, for servers that speak so.
pub fn encode_frame(name: &str, data: &str) -> Vec<u8> {
    let fields = (name == EXCEPTION).then(|| Fields::parse(data).unwrap_or_default());
    let kind = fields.as_ref().map(|fields| fields.get_str(EXCEPTION_TYPE).unwrap_or_default());
    let payload = fields.map(|mut fields| {
        fields.take(EXCEPTION_TYPE);
        fields.to_raw()
    });
    let payload = payload.as_ref().map_or(data, Raw::text);
    let headers = match &kind {
        Some(kind) => [(":exception-type", kind.as_str()), (":message-type", EXCEPTION)],
        None => [(":event-type", name), (":message-type", "event")],
    };
    let mut packed = Vec::new();
    for (name, value) in headers.into_iter().chain([(":content-type", "application/json")]) {
        packed.push(u8::try_from(name.len()).unwrap_or_default());
        packed.extend_from_slice(name.as_bytes());
        packed.push(7);
        packed.extend_from_slice(&u16::try_from(value.len()).unwrap_or_default().to_be_bytes());
        packed.extend_from_slice(value.as_bytes());
    }
    let length = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes();
    let mut frame = Vec::with_capacity(SHORTEST + packed.len() + payload.len());
    frame.extend_from_slice(&length(SHORTEST + packed.len() + payload.len()));
    frame.extend_from_slice(&length(packed.len()));
    let sum = crc32fast::hash(&frame);
    frame.extend_from_slice(&sum.to_be_bytes());
    frame.extend_from_slice(&packed);
    frame.extend_from_slice(payload.as_bytes());
    let sum = crc32fast::hash(&frame);
    frame.extend_from_slice(&sum.to_be_bytes());
    frame
}
