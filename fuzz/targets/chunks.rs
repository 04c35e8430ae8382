//! One shot against pieces: the same events once deltas are joined.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loopwright_extract::{Event, Events, Parser, Policy, Signatures};

#[path = "setup.rs"]
mod setup;

fn told<'a>(
    pieces: impl Iterator<Item = &'a [u8]>,
    tools: Option<Signatures>,
    policy: &Policy,
) -> Vec<(String, usize)> {
    let mut parser = Parser::new(tools, None, policy.clone());
    let mut all: Vec<(String, usize)> = Vec::new();
    let mut deltas: Option<(&'static str, usize)> = None;
    let mut take = |events: &Events| {
        for event in events.iter() {
            let (kind, text, span) = match event {
                Event::Text { text, span } => ("text", text, span),
                Event::Reasoning { text, span } => ("reasoning", text, span),
                Event::Arguments { json, span, .. } => ("arguments", json, span),
                other => {
                    all.push((format!("{other:?}"), 0));
                    deltas = None;
                    continue;
                }
            };
            match (&mut deltas, all.last_mut()) {
                (Some(last), Some((before, end))) if *last == (kind, span.start) => {
                    before.push_str(text);
                    *end = span.end;
                }
                _ => all.push((format!("{kind} {} {text}", span.start), span.end)),
            }
            deltas = Some((kind, span.end));
        }
    };
    let mut events = Events::new();
    for piece in pieces {
        events.clear();
        parser.feed(piece, &mut events);
        take(&events);
    }
    events.clear();
    parser.finish(&mut events);
    take(&events);
    all
}

fuzz_target!(|data: &[u8]| {
    let (policy, tools, cut, text) = setup::setup(data);
    let whole = told(std::iter::once(text), tools.clone(), &policy);
    let shown = String::from_utf8_lossy(text);
    assert_eq!(told(text.chunks(1), tools.clone(), &policy), whole, "byte by byte: {shown}");
    assert_eq!(told(text.chunks(cut), tools.clone(), &policy), whole, "in pieces of {cut}: {shown}");
    let (a, b) = text.split_at(cut.min(text.len()));
    assert_eq!(told([a, b].into_iter(), tools, &policy), whole, "at {cut}: {shown}");
});
