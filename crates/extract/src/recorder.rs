//! A sink that writes down what a grammar says, for tests, and a way to feed one at every split.

use super::{
    body::{Body, Sink, Step},
    signature::{Kind, Signature, Signatures},
};

/// One call as a grammar told it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Told {
    pub(super) name: String,
    pub(super) id: Option<String>,
    pub(super) json: String,
    pub(super) repaired: Vec<&'static str>,
    pub(super) wrong: Vec<String>,
    /// `None` while open.
    pub(super) complete: Option<bool>,
}

impl Told {
    pub(super) fn value(&self) -> serde_json::Value {
        serde_json::from_str(&self.json).unwrap_or_else(|error| panic!("{error}: {}", self.json))
    }
}

#[derive(Debug)]
pub(super) struct Recorder {
    pub(super) calls: Vec<Told>,
    /// How many bytes were spoken for.
    pub(super) bytes: usize,
    pub(super) markup: usize,
    pub(super) signatures: Signatures,
    pub(super) repairs: bool,
    pub(super) deltas: usize,
}

impl Recorder {
    pub(super) fn new(signatures: Signatures) -> Self {
        Self { calls: Vec::new(), bytes: 0, markup: 0, signatures, repairs: true, deltas: 0 }
    }

    fn call(&mut self) -> &mut Told {
        let call = self.calls.last_mut().expect("a call has begun");
        assert_eq!(call.complete, None, "the call has ended");
        call
    }
}

impl Sink for Recorder {
    fn markup(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.markup += bytes;
    }

    fn start(&mut self, name: &str, id: Option<&str>, bytes: usize) -> Option<&Signature> {
        assert!(self.calls.last().is_none_or(|call| call.complete.is_some()), "the call before it has not ended");
        self.bytes += bytes;
        let id = id.map(str::to_owned);
        self.calls.push(Told { name: name.to_owned(), id, ..Told::default() });
        self.signatures.get(name)
    }

    fn arguments(&mut self, json: &str, bytes: usize) {
        self.bytes += bytes;
        self.deltas += usize::from(!json.is_empty());
        self.call().json.push_str(json);
    }

    fn repaired(&mut self, how: &'static str) {
        assert!(self.repairs, "repaired where that is forbidden");
        self.call().repaired.push(how);
    }

    fn wrong_type(&mut self, parameter: &str, _declared: &Kind) {
        self.call().wrong.push(parameter.to_owned());
    }

    fn finish(&mut self, bytes: usize, complete: bool) {
        self.bytes += bytes;
        self.call().complete = Some(complete);
    }

    fn room(&self) -> usize {
        16 * 1024 * 1024
    }

    fn max_depth(&self) -> usize {
        128
    }

    fn repairs(&self) -> bool {
        self.repairs
    }
}

/// What came of feeding a body: what was told, how it ended, and how many bytes were held at most.
#[derive(Debug)]
pub(super) struct Fed {
    pub(super) told: Recorder,
    pub(super) step: Step,
    pub(super) held: usize,
}

/// Feeds `pieces` one after the other, what isn't taken again with the next.
pub(super) fn feed<'a>(body: &mut dyn Body, mut told: Recorder, pieces: impl IntoIterator<Item = &'a [u8]>) -> Fed {
    let (mut held, mut most) = (Vec::new(), 0);
    for piece in pieces {
        held.extend_from_slice(piece);
        let before = told.bytes;
        let step = body.step(&held, false, &mut told);
        let taken = told.bytes - before;
        assert!(taken <= held.len(), "spoke for more than there was");
        held.drain(..taken);
        most = most.max(held.len());
        if step != Step::More {
            return Fed { told, step, held: most };
        }
    }
    let before = told.bytes;
    let step = body.step(&held, true, &mut told);
    assert!(told.bytes - before <= held.len(), "spoke for more than there was");
    assert_ne!(step, Step::More, "nothing follows");
    Fed { told, step, held: most }
}

/// Feeds `text` whole, at every split in two and byte by byte; all must tell the same.
pub(super) fn everywhere(make: &dyn Fn() -> Box<dyn Body>, recorder: &dyn Fn() -> Recorder, text: &[u8]) -> Fed {
    let whole = feed(make().as_mut(), recorder(), [text]);
    let check = |fed: &Fed, how: &str| {
        assert_eq!(fed.told.calls, whole.told.calls, "{how}: {}", String::from_utf8_lossy(text));
        assert_eq!(fed.step, whole.step, "{how}: {}", String::from_utf8_lossy(text));
        assert_eq!(fed.told.bytes, whole.told.bytes, "{how}: {}", String::from_utf8_lossy(text));
        assert_eq!(fed.told.markup, whole.told.markup, "{how}: {}", String::from_utf8_lossy(text));
    };
    for cut in 0..=text.len() {
        let (front, back) = text.split_at(cut);
        check(&feed(make().as_mut(), recorder(), [front, back]), &format!("cut at {cut}"));
    }
    check(&feed(make().as_mut(), recorder(), text.chunks(1)), "byte by byte");
    whole
}
