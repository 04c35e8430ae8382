//! Events joined so that the cut of the input can't be seen in them, and the checks that every parse must pass.

use loopwright_extract::{Call, Dropped, Event, Events, Parser, Policy, Problem, Signatures, Source, Span};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    Text(String, Span),
    Reasoning(String, Span),
    Started(usize, String, &'static str, Source, Span),
    Arguments(usize, String, Span),
    Finished(Call, Span),
    Markup(Span),
    Problem(Problem),
}

impl Told {
    /// The bytes it owns.
    pub(crate) fn owns(&self) -> Option<Span> {
        match self {
            Self::Text(_, span)
            | Self::Reasoning(_, span)
            | Self::Started(.., span)
            | Self::Arguments(.., span)
            | Self::Finished(_, span)
            | Self::Markup(span) => Some(*span),
            Self::Problem(problem) => problem.dropped.map(|_| problem.span),
        }
    }
}

/// All that was told of one text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Parsed {
    pub(crate) told: Vec<Told>,
}

impl Parsed {
    fn add(&mut self, events: &Events) {
        for event in events.iter() {
            let last = self.told.last_mut();
            match (event, last) {
                (Event::Text { text, span }, Some(Told::Text(before, owned)))
                | (Event::Reasoning { text, span }, Some(Told::Reasoning(before, owned)))
                    if owned.end == span.start =>
                {
                    before.push_str(text);
                    owned.end = span.end;
                }
                (Event::Arguments { index, json, span }, Some(Told::Arguments(call, before, owned))) => {
                    assert_eq!((index, span.start), (*call, owned.end));
                    before.push_str(json);
                    owned.end = span.end;
                }
                (event, _) => self.told.push(match event {
                    Event::Text { text, span } => Told::Text(text.to_owned(), span),
                    Event::Reasoning { text, span } => Told::Reasoning(text.to_owned(), span),
                    Event::CallStarted { index, name, dialect, source, span } => {
                        Told::Started(index, name.to_owned(), dialect, source, span)
                    }
                    Event::Arguments { index, json, span } => Told::Arguments(index, json.to_owned(), span),
                    Event::CallFinished { call, span } => Told::Finished(call.clone(), span),
                    Event::Markup { span } => Told::Markup(span),
                    Event::Problem(problem) => Told::Problem(problem.clone()),
                }),
            }
        }
    }

    pub(crate) fn text(&self) -> String {
        self.told
            .iter()
            .filter_map(|told| if let Told::Text(text, _) = told { Some(text.as_str()) } else { None })
            .collect()
    }

    pub(crate) fn reasoning(&self) -> String {
        self.told
            .iter()
            .filter_map(|told| if let Told::Reasoning(text, _) = told { Some(text.as_str()) } else { None })
            .collect()
    }

    pub(crate) fn calls(&self) -> Vec<&Call> {
        self.told.iter().filter_map(|told| if let Told::Finished(call, _) = told { Some(call) } else { None }).collect()
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.calls().iter().map(|call| call.name.as_str()).collect()
    }

    pub(crate) fn problems(&self) -> Vec<&Problem> {
        self.told
            .iter()
            .filter_map(|told| if let Told::Problem(problem) = told { Some(problem) } else { None })
            .collect()
    }

    pub(crate) fn dropped(&self, why: Dropped) -> Vec<Span> {
        self.problems().iter().filter(|problem| problem.dropped == Some(why)).map(|problem| problem.span).collect()
    }

    pub(crate) fn markup(&self) -> Vec<Span> {
        self.told.iter().filter_map(|told| if let Told::Markup(span) = told { Some(*span) } else { None }).collect()
    }
}

/// The tools of these names, with no parameters declared.
pub(crate) fn tools(names: &[&str]) -> Signatures {
    let mut signatures = Signatures::default();
    for name in names {
        signatures.add(name, &serde_json::json!({}));
    }
    signatures
}

/// Feeds the pieces; what is told, and how many bytes were looked at.
pub(crate) fn parse<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    tools: Option<&Signatures>,
    policy: &Policy,
) -> (Parsed, u64) {
    let mut parser = Parser::new(tools.cloned(), None, policy.clone());
    let mut parsed = Parsed::default();
    let mut events = Events::new();
    for piece in pieces {
        events.clear();
        parser.feed(piece, &mut events);
        parsed.add(&events);
    }
    events.clear();
    parser.finish(&mut events);
    parsed.add(&events);
    (parsed, parser.touched())
}

/// What must hold of every parse, whatever was fed.
pub(crate) fn sound(input: &[u8], parsed: &Parsed) {
    let mut at = 0;
    for told in &parsed.told {
        if let Some(span) = told.owns() {
            assert_eq!(span.start, at, "a gap or an overlap at {at}: {parsed:#?}");
            assert!(span.end >= span.start);
            at = span.end;
        }
        match told {
            Told::Text(text, span) | Told::Reasoning(text, span) => {
                assert_eq!(text.as_str(), String::from_utf8_lossy(&input[span.start..span.end]));
            }
            Told::Finished(call, _) => {
                let said: String = parsed
                    .told
                    .iter()
                    .filter_map(|told| match told {
                        Told::Arguments(index, json, _) if *index == call.index => Some(json.as_str()),
                        _ => None,
                    })
                    .collect();
                assert_eq!(said, call.arguments);
                if call.complete {
                    let value: Result<serde_json::Value, _> = serde_json::from_str(&call.arguments);
                    assert!(value.is_ok_and(|value| value.is_object()), "{call:?}");
                }
            }
            _ => {}
        }
    }
    assert_eq!(at, input.len(), "bytes without an owner at the end: {parsed:#?}");
    for (index, call) in parsed.calls().iter().enumerate() {
        assert_eq!(call.index, index);
    }
}

/// Parses at once, and checks that it is sound and the same for every cut in two, byte by byte and in threes.
pub(crate) fn check(input: &[u8], tools: Option<&Signatures>, policy: &Policy) -> Parsed {
    let (whole, _) = parse([input], tools, policy);
    sound(input, &whole);
    let same = |parsed: Parsed, how: &str| {
        if parsed != whole {
            let text = String::from_utf8_lossy(input);
            let (a, b): (Vec<_>, Vec<_>) =
                whole.told.iter().zip(&parsed.told).skip_while(|(a, b)| a == b).take(3).unzip();
            panic!("cut {how}\n{text}\nat once: {a:#?}\ncut: {b:#?}");
        }
    };
    same(parse(input.chunks(1), tools, policy).0, "byte by byte");
    same(parse(input.chunks(3), tools, policy).0, "in threes");
    if input.len() <= 3000 {
        for cut in 1..input.len() {
            let (a, b) = input.split_at(cut);
            same(parse([a, b], tools, policy).0, &format!("at {cut}"));
        }
    }
    whole
}

pub(crate) fn plain(input: &str) -> Parsed {
    check(input.as_bytes(), None, &Policy::default())
}
