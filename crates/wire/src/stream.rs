//! A streamed answer from its bytes: server-sent events or frames, then the codec of the wire.
//!
//! Bytes may be cut anywhere. Nothing is lost, and the result does not depend on where they were cut.

use super::{Decode, flat, frames::Frames, halves::Halves, sse, stream_decoder};
use loopwright_base::{
    error::{Failure, FailureKind, Result},
    message::{Usage, Wire},
    request::{Delta, Response},
};

/// How the events of a stream are packed.
enum Packed {
    Sse(sse::Parser),
    Frames(Frames),
}

impl Packed {
    fn feed(&mut self, bytes: &[u8]) {
        match self {
            Self::Sse(events) => events.feed(bytes),
            Self::Frames(frames) => frames.feed(bytes),
        }
    }

    fn next_event(&mut self) -> Result<Option<sse::Event>, Failure> {
        match self {
            Self::Sse(events) => events.next_event(),
            Self::Frames(frames) => frames.next_event(),
        }
    }

    fn finish(&mut self) -> Result<Option<sse::Event>, Failure> {
        match self {
            Self::Sse(events) => events.finish(),
            Self::Frames(frames) => frames.finish(),
        }
    }
}

/// Bytes in, deltas out, one response at the end.
pub struct Stream {
    events: Packed,
    halves: Halves,
    decoder: Box<dyn Decode>,
    /// Whether what still comes is of no interest: the last event was seen, or something went wrong behind the end of
    /// the answer.
    over: bool,
}

impl Stream {
    /// A stream of `wire`.
    pub fn new(wire: Wire) -> Self {
        let events = match wire {
            Wire::Bedrock => Packed::Frames(Frames::default()),
            _ => Packed::Sse(sse::Parser::default()),
        };
        Self { events, halves: Halves::default(), decoder: stream_decoder(wire), over: false }
    }

    /// Takes bytes, appends what is new to `deltas`.
    pub fn feed(&mut self, bytes: &[u8], deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        if !self.over {
            self.events.feed(bytes);
        }
        while !self.over {
            let taken = match self.events.next_event() {
                Ok(Some(event)) => self.take(&event, deltas),
                Ok(None) => break,
                Err(failure) => Err(failure),
            };
            match taken {
                Err(_) if self.decoder.is_ended() => self.over = true,
                taken => taken?,
            }
            self.over |= self.decoder.is_done();
        }
        Ok(())
    }

    fn take(&mut self, event: &sse::Event, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        // Some gateways keep a connection awake by events without data.
        if event.data.trim_ascii().is_empty() {
            return Ok(());
        }
        flat(&event.data)?;
        self.decoder.event(&event.name, &self.halves.joined(&event.data), deltas)
    }

    /// Whether the wire's last event has been seen: what may follow is of no interest.
    pub fn is_done(&self) -> bool {
        self.over || self.decoder.is_done()
    }

    /// Whether the end of the answer was said: it stands, whatever becomes of the stream.
    pub fn is_ended(&self) -> bool {
        self.decoder.is_ended()
    }

    /// The bytes have ended: the answer, or why there is none.
    pub fn finish(&mut self, deltas: &mut Vec<Delta>) -> Result<Response, Failure> {
        if self.over {
            return self.decoder.finish();
        }
        // A server may leave out the last empty line.
        let last = match self.events.finish() {
            Ok(Some(event)) => self.take(&event, deltas),
            Ok(None) => Ok(()),
            Err(failure) => Err(failure),
        };
        match last {
            Err(_) if self.decoder.is_ended() => self.decoder.finish(),
            // What can't be read here is an event, or a character, of which only the beginning came.
            Err(failure) if failure.kind == FailureKind::InvalidBody => {
                Err(Failure::new(FailureKind::Cut, "the stream broke off inside an event"))
            }
            Err(failure) => Err(failure),
            Ok(()) => self.decoder.finish(),
        }
    }

    /// The usage that was reported since this was last asked.
    pub fn reported(&mut self) -> Option<Usage> {
        self.decoder.reported()
    }

    /// What has come so far.
    pub fn partial(&self) -> Option<Response> {
        self.decoder.partial()
    }
}

/// Tells of a delta that says something.
pub(crate) fn tell(delta: Delta, deltas: &mut Vec<Delta>) {
    let silent = matches!(&delta, Delta::Text { text, .. } | Delta::Reasoning { text, .. } if text.is_empty());
    if !silent {
        deltas.push(delta);
    }
}
