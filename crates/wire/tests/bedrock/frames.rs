//! Frames: their checksums, their headers, damage of every kind.

use loopwright_base::error::FailureKind;
use loopwright_wire::{
    frames::{DAMAGED, EXCEPTION, Frames, encode_frame},
    sse::Event,
};
use serde_json::{Value, json};

fn all(bytes: &[u8], chunk: usize) -> Result<Vec<Event>, loopwright_base::error::Failure> {
    let (mut frames, mut events) = (Frames::default(), Vec::new());
    for chunk in bytes.chunks(chunk) {
        frames.feed(chunk);
        while let Some(event) = frames.next_event()? {
            events.push(event);
        }
    }
    frames.finish()?;
    Ok(events)
}

/// A frame of these headers (name, kind of value, its bytes as they stand), packed here by hand.
fn frame(headers: &[(&str, u8, &[u8])], payload: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    for (name, kind, value) in headers {
        packed.push(u8::try_from(name.len()).unwrap());
        packed.extend_from_slice(name.as_bytes());
        packed.push(*kind);
        packed.extend_from_slice(value);
    }
    let length = |bytes: usize| u32::try_from(bytes).unwrap().to_be_bytes();
    let mut frame = [length(16 + packed.len() + payload.len()), length(packed.len())].concat();
    frame.extend_from_slice(&crc(&frame).to_be_bytes());
    frame.extend_from_slice(&packed);
    frame.extend_from_slice(payload);
    frame.extend_from_slice(&crc(&frame).to_be_bytes());
    frame
}

/// CRC-32 as its definition has it, bit by bit.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 })
    })
}

fn text(value: &str) -> Vec<u8> {
    [u16::try_from(value.len()).unwrap().to_be_bytes().as_slice(), value.as_bytes()].concat()
}

#[test]
fn the_example_of_the_specification_is_read() {
    // An empty message, as the specification's test vectors have it.
    let empty = [0, 0, 0, 0x10, 0, 0, 0, 0, 0x05, 0xc2, 0x48, 0xeb, 0x7d, 0x98, 0xc8, 0xff];
    assert_eq!(all(&empty, 16).unwrap(), [Event::default()]);
    assert_eq!(frame(&[], b""), empty);
}

#[test]
fn frames_are_read_in_every_chunking_with_headers_of_every_kind() {
    let kind = text("messageStart");
    let headers: [(&str, u8, &[u8]); 11] = [
        (":message-type", 7, &text("event")),
        ("true", 0, b""),
        ("false", 1, b""),
        ("byte", 2, b"1"),
        ("short", 3, b"12"),
        ("int", 4, b"1234"),
        ("long", 5, b"12345678"),
        ("bytes", 6, &text("any")),
        ("time", 8, b"12345678"),
        ("uuid", 9, b"1234567890123456"),
        (":event-type", 7, &kind),
    ];
    let mut bytes = frame(&headers, br#"{"role":"assistant"}"#);
    bytes.extend(encode_frame("metadata", "{\"\u{fc}\":1}"));
    for chunk in [1, 2, 3, 7, 13, 64, 10_000] {
        let events = all(&bytes, chunk).unwrap();
        let names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
        assert_eq!(names, ["messageStart", "metadata"], "{chunk}");
        assert_eq!(events[1].data, "{\"\u{fc}\":1}");
    }
}

/// Headers whose values are borrowed.
fn of<'a>(headers: &'a [(&'a str, u8, Vec<u8>)]) -> Vec<(&'a str, u8, &'a [u8])> {
    headers.iter().map(|(name, kind, value)| (*name, *kind, value.as_slice())).collect()
}

#[test]
fn exceptions_and_errors_become_events_that_name_them() {
    let exception = [(":exception-type", 7, text("throttlingException")), (":message-type", 7, text("exception"))];
    let error = [
        (":error-code", 7, text("internalError")),
        (":error-message", 7, text("out of order")),
        (":message-type", 7, text("error")),
    ];
    let mut bytes = frame(&of(&exception), br#"{"message":"slow down"}"#);
    bytes.extend(frame(&of(&error), b""));
    bytes.extend(encode_frame(EXCEPTION, r#"{"__type":"validationException","message":"no"}"#));
    let events = all(&bytes, 5).unwrap();
    let read: Vec<Value> = events.iter().map(|event| serde_json::from_str(&event.data).unwrap()).collect();
    assert!(events.iter().all(|event| event.name == EXCEPTION));
    assert_eq!(read[0], json!({"__type": "throttlingException", "message": "slow down"}));
    assert_eq!(read[1], json!({"__type": "internalError", "message": "out of order"}));
    assert_eq!(read[2], json!({"__type": "validationException", "message": "no"}));
}

#[test]
fn every_damaged_byte_is_told_and_no_event_is_made_of_it() {
    let good = encode_frame("contentBlockDelta", r#"{"delta":{"text":"hi"},"contentBlockIndex":0}"#);
    for at in 0..good.len() {
        for bit in [0x01, 0x80] {
            let mut bytes = good.clone();
            bytes[at] ^= bit;
            let failure = all(&bytes, 11).unwrap_err();
            assert_eq!((failure.kind, failure.code.as_deref()), (FailureKind::InvalidBody, Some(DAMAGED)), "{at}");
            assert!(failure.message.contains("damaged") && failure.hint.is_some(), "{}", failure.message);
        }
    }
    for cut in 1..good.len() {
        assert_eq!(all(&good[..cut], 7).unwrap_err().kind, FailureKind::Cut, "{cut}");
    }
    // Lengths that can't be, under right checksums.
    for (length, headers) in [(15_u32, 0_u32), (16, 1), (u32::MAX, 0), (20, 5)] {
        let mut bytes = [length.to_be_bytes(), headers.to_be_bytes()].concat();
        bytes.extend_from_slice(&crc(&bytes).to_be_bytes());
        bytes.extend_from_slice(&[0; 16]);
        assert_eq!(all(&bytes, 64).unwrap_err().code.as_deref(), Some(DAMAGED), "{length} {headers}");
    }
    let odd: [(&str, u8, &[u8]); 3] = [("x", 10, b""), ("x", 7, b"\0\x09ab"), (":event-type", 4, b"1234")];
    for header in odd {
        assert_eq!(all(&frame(&[header], b"{}"), 64).unwrap_err().code.as_deref(), Some(DAMAGED), "{header:?}");
    }
    assert!(all(&frame(&[], b"\xff"), 64).is_err());
}
