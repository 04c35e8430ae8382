//! A sink that writes down what a grammar says, for tests of grammars written in JSON, and ways to feed one.

use super::{
    body::{Body, Sink, Step},
    signature::{Kind, Signature},
};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Heard {
    pub(super) name: String,
    pub(super) id: Option<String>,
    pub(super) json: String,
    pub(super) mends: Vec<&'static str>,
    pub(super) complete: Option<bool>,
}

#[derive(Debug, Clone)]
pub(super) struct Probe {
    pub(super) calls: Vec<Heard>,
    pub(super) markup: usize,
    pub(super) bytes: usize,
    pub(super) repairs: bool,
    pub(super) room: usize,
    pub(super) deepest: usize,
    /// The open call must not run.
    pub(super) spoilt: bool,
}

impl Probe {
    pub(super) fn new() -> Self {
        Self { calls: Vec::new(), markup: 0, bytes: 0, repairs: true, room: 1 << 24, deepest: 128, spoilt: false }
    }

    fn open(&mut self) -> &mut Heard {
        let call = self.calls.last_mut().expect("a call has begun");
        assert_eq!(call.complete, None, "the call has ended");
        call
    }
}

impl Sink for Probe {
    fn markup(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.markup += bytes;
    }

    fn start(&mut self, name: &str, id: Option<&str>, bytes: usize) -> Option<&Signature> {
        assert!(self.calls.iter().all(|call| call.complete.is_some()), "two calls open");
        self.bytes += bytes;
        self.calls.push(Heard { name: name.to_owned(), id: id.map(str::to_owned), ..Heard::default() });
        None
    }

    fn arguments(&mut self, json: &str, bytes: usize) {
        self.bytes += bytes;
        self.open().json.push_str(json);
    }

    fn repaired(&mut self, how: &'static str) {
        assert!(self.repairs, "mended where it is forbidden");
        let mends = &mut self.open().mends;
        assert!(!mends.contains(&how), "told twice: {how}");
        mends.push(how);
        mends.sort_unstable();
    }

    fn spoiled(&mut self, _why: &'static str) {
        self.spoilt = true;
    }

    fn wrong_type(&mut self, _parameter: &str, _declared: &Kind) {}

    fn finish(&mut self, bytes: usize, complete: bool) {
        self.bytes += bytes;
        let complete = complete && !std::mem::take(&mut self.spoilt);
        self.open().complete = Some(complete);
    }

    fn room(&self) -> usize {
        self.room
    }

    fn max_depth(&self) -> usize {
        self.deepest
    }

    fn repairs(&self) -> bool {
        self.repairs
    }
}

/// Feeds `pieces`; what isn't taken comes again with the next.
pub(super) fn feed<'a>(
    body: &mut dyn Body,
    mut probe: Probe,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Probe, Step) {
    let mut held = Vec::new();
    for piece in pieces {
        held.extend_from_slice(piece);
        let before = probe.bytes;
        let step = body.step(&held, false, &mut probe);
        let taken = probe.bytes - before;
        assert!(taken <= held.len(), "more taken than given");
        held.drain(..taken);
        if step != Step::More {
            return (probe, step);
        }
    }
    let before = probe.bytes;
    let step = body.step(&held, true, &mut probe);
    assert!(probe.bytes - before <= held.len(), "more taken than given");
    assert_ne!(step, Step::More, "nothing follows");
    (probe, step)
}

/// Feeds `text` whole, cut in two everywhere, and byte by byte; each way must say the same.
pub(super) fn every_way(make: &dyn Fn() -> Box<dyn Body>, probe: &Probe, text: &[u8]) -> (Probe, Step) {
    let whole = feed(make().as_mut(), probe.clone(), [text]);
    let same = |(other, step): (Probe, Step), how: &dyn Fn() -> String| {
        assert_eq!(other.calls, whole.0.calls, "{}: {}", how(), String::from_utf8_lossy(text));
        assert_eq!(step, whole.1, "{}: {}", how(), String::from_utf8_lossy(text));
        assert_eq!(other.bytes, whole.0.bytes, "{}: {}", how(), String::from_utf8_lossy(text));
        assert_eq!(other.markup, whole.0.markup, "{}: {}", how(), String::from_utf8_lossy(text));
    };
    for cut in 0..=text.len() {
        let (front, back) = text.split_at(cut);
        same(feed(make().as_mut(), probe.clone(), [front, back]), &|| format!("cut at {cut}"));
    }
    same(feed(make().as_mut(), probe.clone(), text.chunks(1)), &|| "byte by byte".to_owned());
    whole
}
