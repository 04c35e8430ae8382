//! Reads a text in every way it can be cut and says what came out, after checking what holds for all texts: events tile
//! the input, deltas join to the call, nothing depends on the cuts.

use std::panic::{AssertUnwindSafe, catch_unwind};

use loopwright_extract::{
    Call, Dialect, Dropped, Event, Events, Grammar, Parser, Policy, ProblemKind, Quoted, Signatures, Source,
    UnknownTool, dialects, extract,
};
use serde_json::{Value, json};

/// What came out of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Reading {
    pub(crate) calls: Vec<Call>,
    pub(crate) prose: String,
    pub(crate) reasoning: String,
    pub(crate) problems: Vec<(ProblemKind, Option<usize>)>,
    /// Who owns which bytes, neighbours of one owner joined.
    pub(crate) owned: Vec<(Owner, usize, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Text,
    Reasoning,
    Call(usize),
    Markup,
    Dropped(Dropped),
}

impl Reading {
    /// Names and arguments.
    pub(crate) fn called(&self) -> Vec<(&str, Value)> {
        let value = |call: &Call| serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
        self.calls.iter().map(|call| (call.name.as_str(), value(call))).collect()
    }

    pub(crate) fn has(&self, kind: ProblemKind) -> bool {
        self.problems.iter().any(|(found, _)| *found == kind)
    }

    /// Whether a call broke in a dialect whose values escape nothing: what opens and closes doesn't balance, and no
    /// call of the reply is complete.
    pub(crate) fn in_doubt(&self) -> bool {
        let raw = |call: &Call| {
            let of = |dialect: &&Dialect| dialect.name == call.dialect;
            dialects().iter().find(of).is_some_and(|dialect| {
                let grammar = dialect.grammar;
                matches!(grammar, Grammar::Tags(_) | Grammar::Nested { .. } | Grammar::Attributes)
                    || matches!(grammar, Grammar::Pairs { .. } | Grammar::Loose { .. })
            })
        };
        let broke = |(kind, call): &(ProblemKind, Option<usize>)| {
            *kind == ProblemKind::Malformed && call.and_then(|index| self.calls.get(index)).is_some_and(raw)
        };
        self.problems.iter().any(broke)
    }

    /// The bytes dropped for this reason.
    pub(crate) fn dropped(&self, why: Dropped) -> usize {
        let of =
            |(owner, start, end): &(Owner, usize, usize)| if *owner == Owner::Dropped(why) { end - start } else { 0 };
        self.owned.iter().map(of).sum()
    }
}

/// Runs a check for each of these dialects and names all that fail it.
#[track_caller]
pub(crate) fn each(rows: impl IntoIterator<Item = &'static Dialect>, check: impl Fn(&'static Dialect)) {
    let failed: Vec<&str> = rows
        .into_iter()
        .filter(|dialect| catch_unwind(AssertUnwindSafe(|| check(dialect))).is_err())
        .map(|dialect| dialect.name)
        .collect();
    assert!(failed.is_empty(), "not so for {failed:?}");
}

/// How to read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Setup {
    pub(crate) tools: Option<Signatures>,
    pub(crate) dialects: Option<Vec<&'static str>>,
    pub(crate) policy: Policy,
}

impl Setup {
    /// Any tool, all dialects, the safe defaults.
    pub(crate) fn auto() -> Self {
        Self::default()
    }

    /// These tools are declared, each with its JSON schema.
    pub(crate) fn tools(tools: &[(&str, Value)]) -> Self {
        let mut signatures = Signatures::default();
        for (name, schema) in tools {
            signatures.add(name, schema);
        }
        Self { tools: Some(signatures), ..Self::default() }
    }

    /// Tools with nothing said of their parameters.
    pub(crate) fn names(names: &[&str]) -> Self {
        Self::tools(&names.iter().map(|name| (*name, json!({"type": "object"}))).collect::<Vec<_>>())
    }

    pub(crate) fn bare(mut self) -> Self {
        self.policy.bare_json = true;
        self
    }

    pub(crate) fn only(mut self, dialects: &[&'static str]) -> Self {
        self.dialects = Some(dialects.to_vec());
        self
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Policy)) -> Self {
        change(&mut self.policy);
        self
    }

    pub(crate) fn quoted_run(self) -> Self {
        self.with(|policy| policy.quoted_calls = Quoted::Run)
    }

    pub(crate) fn unknown_run(self) -> Self {
        self.with(|policy| policy.unknown_tools = UnknownTool::Call)
    }

    pub(crate) fn parser(&self) -> Parser {
        Parser::new(self.tools.clone(), self.dialects.as_deref(), self.policy.clone())
    }
}

/// Reads the pieces one after the other. With `early`, events are looked at after each feed, as a user does.
pub(crate) fn pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, setup: &Setup) -> Reading {
    let mut parser = setup.parser();
    let (mut events, mut reader) = (Events::new(), Reader::default());
    let mut length = 0;
    for piece in pieces {
        length += piece.len();
        events.clear();
        parser.feed(piece, &mut events);
        reader.take(&events);
    }
    events.clear();
    parser.finish(&mut events);
    reader.take(&events);
    reader.done(length)
}

/// Reads the text whole and in all pieces, and checks that nothing depends on the pieces.
pub(crate) fn read(text: &str, setup: &Setup) -> Reading {
    read_bytes(text.as_bytes(), setup)
}

pub(crate) fn read_bytes(text: &[u8], setup: &Setup) -> Reading {
    let mut reader = Reader::default();
    reader.take(&extract(text, setup.tools.clone(), setup.dialects.as_deref(), setup.policy.clone()));
    let whole = reader.done(text.len());
    assert_eq!(pieces([text], setup), whole, "fed whole is not what extract gives");
    let shown = || String::from_utf8_lossy(text);
    for size in [1, 2, 3, 7] {
        assert_eq!(pieces(text.chunks(size), setup), whole, "in pieces of {size}: {}", shown());
    }
    let stride = text.len() / 2_000 + 1;
    for at in (0..=text.len()).step_by(stride) {
        let (head, tail) = text.split_at(at);
        assert_eq!(
            pieces([head, tail], setup),
            whole,
            "cut at {at}: {:?} | {:?}",
            String::from_utf8_lossy(head),
            String::from_utf8_lossy(tail)
        );
    }
    whole
}

/// Reads the text whole and byte by byte: for tests of very many texts.
pub(crate) fn read_twice(text: &[u8], setup: &Setup) -> Reading {
    let whole = pieces([text], setup);
    assert_eq!(pieces(text.chunks(1), setup), whole, "byte by byte: {}", String::from_utf8_lossy(text));
    whole
}

#[derive(Default)]
struct Reader {
    reading: Reading,
    arguments: Vec<String>,
    started: Vec<(String, &'static str, Source)>,
    at: usize,
}

impl Reader {
    fn own(&mut self, owner: Owner, start: usize, end: usize) {
        assert_eq!(start, self.at, "{owner:?} {start}..{end} does not follow on {}: {:?}", self.at, self.reading.owned);
        assert!(end >= start);
        self.at = end;
        match self.reading.owned.last_mut() {
            _ if start == end => {}
            Some((last, _, until)) if *last == owner => *until = end,
            _ => self.reading.owned.push((owner, start, end)),
        }
    }

    fn take(&mut self, events: &Events) {
        for event in events.iter() {
            match event {
                Event::Text { text, span } => {
                    self.reading.prose.push_str(text);
                    self.own(Owner::Text, span.start, span.end);
                }
                Event::Reasoning { text, span } => {
                    self.reading.reasoning.push_str(text);
                    self.own(Owner::Reasoning, span.start, span.end);
                }
                Event::CallStarted { index, name, dialect, source, span } => {
                    assert_eq!(index, self.started.len(), "calls are numbered in order");
                    self.started.push((name.to_owned(), dialect, source));
                    self.arguments.push(String::new());
                    self.own(Owner::Call(index), span.start, span.end);
                }
                Event::Arguments { index, json, span } => {
                    assert_eq!(index, self.reading.calls.len(), "arguments belong to the open call");
                    self.arguments[index].push_str(json);
                    self.own(Owner::Call(index), span.start, span.end);
                }
                Event::CallFinished { call, span } => {
                    assert_eq!(call.index, self.reading.calls.len());
                    assert_eq!(call.arguments, self.arguments[call.index], "deltas join to the arguments");
                    assert_eq!((call.name.clone(), call.dialect, call.source), self.started[call.index]);
                    assert!(call.span.end >= call.span.start && call.span.end >= span.end, "{call:?} {span:?}");
                    if call.complete {
                        assert!(
                            serde_json::from_str::<&serde_json::value::RawValue>(&call.arguments).is_ok(),
                            "{call:?}"
                        );
                    }
                    self.reading.calls.push(call.clone());
                    self.own(Owner::Call(call.index), span.start, span.end);
                }
                Event::Markup { span } => self.own(Owner::Markup, span.start, span.end),
                Event::Problem(problem) => {
                    for call in self.reading.calls.iter_mut().filter(|call| Some(call.index) == problem.takes_back()) {
                        call.complete = false;
                    }
                    self.reading.problems.push((problem.kind, problem.call));
                    if let Some(why) = problem.dropped {
                        self.own(Owner::Dropped(why), problem.span.start, problem.span.end);
                    }
                }
            }
        }
    }

    fn done(self, length: usize) -> Reading {
        assert_eq!(self.at, length, "the last bytes belong to nobody: {:?}", self.reading.owned);
        assert_eq!(self.started.len(), self.reading.calls.len(), "a call was begun and never ended");
        self.reading
    }
}
