//! Whatever is fed: no panic, every byte has one owner, a complete call holds one JSON object, the work stays in proportion.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loopwright_extract::{Event, Events, Parser};

#[path = "setup.rs"]
mod setup;

fuzz_target!(|data: &[u8]| {
    let (policy, tools, _, text) = setup::setup(data);
    let mut parser = Parser::new(tools, None, policy);
    let mut events = Events::new();
    parser.feed(text, &mut events);
    parser.finish(&mut events);
    let mut at = 0;
    for event in events.iter() {
        let owned = match event {
            Event::Text { text: said, span } | Event::Reasoning { text: said, span } => {
                assert_eq!(said, String::from_utf8_lossy(&text[span.start..span.end]));
                Some(span)
            }
            Event::CallStarted { span, .. } | Event::Arguments { span, .. } | Event::Markup { span } => Some(span),
            Event::CallFinished { call, span } => {
                if call.complete {
                    assert!(
                        call.arguments.trim_ascii_start().starts_with('{') && setup::is_json(&call.arguments),
                        "{call:?}"
                    );
                }
                Some(span)
            }
            Event::Problem(problem) => problem.dropped.map(|_| problem.span),
        };
        if let Some(span) = owned {
            assert_eq!(span.start, at);
            at = span.end;
        }
    }
    assert_eq!(at, text.len());
    assert!(parser.touched() <= 4 * text.len() as u64 + 8192);
});
