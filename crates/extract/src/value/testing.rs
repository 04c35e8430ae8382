//! A sink that writes down what it is told, and a drive that feeds a body in pieces as the parser would.

use std::ops::Range;

use super::super::{
    body::{Body, Sink, Step},
    signature::{Kind, Signature, Signatures},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    pub(crate) json: String,
    pub(crate) repaired: Vec<&'static str>,
    pub(crate) wrong: Vec<String>,
    pub(crate) complete: Option<bool>,
    pub(crate) spoiled: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) calls: Vec<Made>,
    /// Runs of bytes with one owner: `m`arkup, `s`tart, `a`rguments, `f`inish.
    pub(crate) owners: Vec<(char, usize)>,
    pub(crate) step: Step,
    pub(crate) used: usize,
}

impl Told {
    pub(crate) fn json(&self) -> &str {
        self.calls.first().map_or("", |call| &call.json)
    }
}

pub(crate) struct Recorder {
    pub(crate) calls: Vec<Made>,
    pub(crate) owners: Vec<(char, usize)>,
    pub(crate) used: usize,
    pub(crate) signatures: Signatures,
    pub(crate) room: usize,
    pub(crate) depth: usize,
    pub(crate) repairs: bool,
    /// How many bytes were looked at more than once.
    pub(crate) looked: usize,
}

impl Recorder {
    pub(crate) fn new(signatures: Signatures) -> Self {
        Self { calls: vec![], owners: vec![], used: 0, signatures, room: 1 << 24, depth: 128, repairs: true, looked: 0 }
    }

    fn own(&mut self, owner: char, bytes: usize) {
        self.used += bytes;
        match self.owners.last_mut() {
            Some((last, count)) if *last == owner && owner != 's' => *count += bytes,
            _ if bytes == 0 => {}
            _ => self.owners.push((owner, bytes)),
        }
    }

    fn open(&mut self) -> &mut Made {
        let call = self.calls.last_mut().expect("a call begins before it goes on");
        assert_eq!(call.complete, None, "a call goes on after its end");
        call
    }
}

impl Sink for Recorder {
    fn markup(&mut self, bytes: usize) {
        self.own('m', bytes);
    }
    fn start(&mut self, name: &str, id: Option<&str>, bytes: usize) -> Option<&Signature> {
        assert!(self.calls.last().is_none_or(|call| call.complete.is_some()), "a call begins inside another");
        self.own('s', bytes);
        self.calls.push(Made {
            name: name.to_owned(),
            id: id.map(str::to_owned),
            json: String::new(),
            repaired: vec![],
            wrong: vec![],
            complete: None,
            spoiled: false,
        });
        self.signatures.get(name)
    }
    fn arguments(&mut self, json: &str, bytes: usize) {
        self.own('a', bytes);
        self.open().json.push_str(json);
    }
    fn repaired(&mut self, how: &'static str) {
        self.open().repaired.push(how);
    }
    fn spoiled(&mut self, _why: &'static str) {
        self.open().spoiled = true;
    }
    fn wrong_type(&mut self, parameter: &str, declared: &Kind) {
        self.open().wrong.push(format!("{parameter}: {declared:?}"));
    }
    fn finish(&mut self, bytes: usize, complete: bool) {
        self.own('f', bytes);
        self.open().complete = Some(complete);
    }
    fn looked(&mut self, bytes: usize) {
        self.looked += bytes;
    }
    fn room(&self) -> usize {
        self.room
    }
    fn knows(&self, tool: &str) -> bool {
        tool == "g" || self.signatures.get(tool).is_some()
    }
    fn max_depth(&self) -> usize {
        self.depth
    }
    fn repairs(&self) -> bool {
        self.repairs
    }
}

/// Feeds `input` cut before each of `cuts`; what isn't taken comes again.
pub(crate) fn drive(
    body: &mut dyn Body,
    input: &[u8],
    cuts: impl IntoIterator<Item = usize>,
    sink: &mut Recorder,
) -> Told {
    let mut step = Step::More;
    let mut pieces: Vec<Range<usize>> = vec![];
    let mut start = 0;
    for cut in cuts.into_iter().chain([input.len()]) {
        pieces.push(start..cut);
        start = cut;
    }
    for piece in pieces {
        let before = sink.calls.last().map(|call| call.json.clone());
        step = body.step(&input[sink.used..piece.end], false, sink);
        if let (Some(before), true) = (before, sink.calls.len() == 1) {
            assert!(sink.calls[0].json.starts_with(&before));
        }
        assert!(sink.used <= piece.end, "took what wasn't there");
        if step != Step::More {
            break;
        }
    }
    if step == Step::More {
        step = body.step(&input[sink.used..], true, sink);
        assert_ne!(step, Step::More, "waits for bytes that won't come");
    }
    for call in &sink.calls {
        if call.complete == Some(true) {
            serde_json::from_str::<&serde_json::value::RawValue>(&call.json)
                .expect("a complete call's arguments are JSON");
            assert!(call.json.starts_with('{'), "{}", call.json);
        }
    }
    Told { calls: sink.calls.clone(), owners: sink.owners.clone(), step, used: sink.used }
}

/// Feeds `input` whole, at every split in two and byte by byte, and asserts that all say the same.
pub(crate) fn every_way(make: &dyn Fn() -> Box<dyn Body>, input: &[u8], signatures: &Signatures) -> Told {
    let one = |cuts: Vec<usize>| drive(make().as_mut(), input, cuts, &mut Recorder::new(signatures.clone()));
    let whole = one(vec![]);
    for cut in 0..input.len() {
        assert_eq!(one(vec![cut]), whole, "cut at {cut} of {}", String::from_utf8_lossy(input));
    }
    assert_eq!(one((0..input.len()).collect()), whole, "byte by byte: {}", String::from_utf8_lossy(input));
    whole
}

/// What is declared of a tool `f`.
pub(crate) fn declared(parameters: impl IntoIterator<Item = (&'static str, Kind)>) -> Signatures {
    let parameters = parameters.into_iter().map(|(name, kind)| (name.to_owned(), kind)).collect();
    let mut signatures = Signatures::default();
    signatures.insert("f", Signature { parameters, others: None });
    signatures
}
