//! What is left of a call that broke off, as its own grammar reads it: words are passed over to the next element, and
//! elements are read on as if nothing had happened, but nobody hears of them. So a value of a broken call ends where
//! that of a sound one would: what stands in it is data, calls of any dialect too.

use super::{
    body::{Sink, Step},
    desk::REMAINS,
    members::{self, Next},
    signature::{Kind, Signature},
    until::{Class, Marks, Search},
};

/// Why a region fails in which a call was announced and neither an element nor its end followed. It may have been talk.
pub(super) const TALK: &str = "words where the parameters of a call should stand";

/// Why one fails whose remains have no end.
pub(super) const ENDLESS: &str = "a broken call without an end";

/// What is left of a call that broke off, on its way.
#[derive(Debug, Default, Clone)]
pub(super) struct Remains {
    pub(super) search: Search,
    /// Elements of it are being read, for nobody.
    pub(super) on: bool,
    /// Whether the end of an element stands in it.
    pub(super) markup: bool,
    /// Whether the call was one, and no text.
    heard: bool,
}

impl Remains {
    /// The open call breaks off. One that broke off before goes on being broken.
    pub(super) fn begin(&mut self, why: &'static str, sink: &mut dyn Sink) {
        self.search = Search::default();
        if self.on {
            return;
        }
        self.markup = false;
        self.heard = sink.hears();
        if self.heard {
            sink.broken(0, why);
        }
    }

    /// An element of it begins: it is read as it would be in a sound call.
    pub(super) fn read_on(&mut self, sink: &mut dyn Sink) {
        if self.heard && !self.on {
            sink.dropping();
        }
        self.on = true;
    }

    /// Who is told of its elements.
    pub(super) fn mute<'a>(&self, sink: &'a mut dyn Sink) -> Mute<'a> {
        Mute { sink, heard: self.heard, over: false }
    }

    /// Why a region fails where they go no further.
    pub(super) fn endless(&self) -> &'static str {
        if self.on { ENDLESS } else { TALK }
    }

    /// It ends with so many bytes.
    pub(super) fn end(&self, bytes: usize, sink: &mut dyn Sink) {
        if self.heard {
            sink.dropped(bytes, REMAINS);
        } else {
            sink.finish(bytes, false);
        }
    }
}

/// Goes through a body's states as far as the input reaches; `true` beside the input: it is the last. What is left of a
/// broken call is read for nobody, until that call is over.
pub(super) fn run<B>(
    body: &mut B,
    remains: impl Fn(&mut B) -> &mut Remains,
    next: impl Fn(&mut B, &[u8], bool, &mut dyn Sink) -> Next,
    (input, last): (&[u8], bool),
    sink: &mut dyn Sink,
) -> Step {
    members::run(input, |rest| {
        if !remains(body).on {
            return next(body, rest, last, sink);
        }
        let mut mute = remains(body).mute(sink);
        let came = next(body, rest, last, &mut mute);
        remains(body).on &= !mute.over;
        came
    })
}

/// Lets no word of a call through, but how many bytes it has. What it doesn't pass on nobody says of a call's inside:
/// the grammars of elements look for nothing in vain (`vain`, `may_look`), `dropping` is said before this begins, and
/// `repaired_behind` and `spoiled_behind` speak of a call that is over, and so is this.
pub(super) struct Mute<'a> {
    sink: &'a mut dyn Sink,
    heard: bool,
    /// The call is over.
    pub(super) over: bool,
}

impl Sink for Mute<'_> {
    fn markup(&mut self, bytes: usize) {
        self.sink.markup(bytes);
    }

    fn start(&mut self, name: &str, id: Option<&str>, bytes: usize) -> Option<&Signature> {
        self.over = true;
        self.sink.start(name, id, bytes)
    }

    fn arguments(&mut self, _json: &str, bytes: usize) {
        self.sink.markup(bytes);
    }

    fn repaired(&mut self, _how: &'static str) {}

    fn torn(&mut self) {
        self.sink.torn();
    }

    fn wrong_type(&mut self, _parameter: &str, _declared: &Kind) {}

    fn finish(&mut self, bytes: usize, _complete: bool) {
        self.over = true;
        if self.heard {
            self.sink.markup(bytes);
        } else {
            self.sink.finish(bytes, false);
        }
    }

    fn broken(&mut self, bytes: usize, _why: &'static str) {
        self.sink.markup(bytes);
    }

    fn dropped(&mut self, bytes: usize, _why: &'static str) {
        self.over = true;
        self.sink.markup(bytes);
    }

    fn looked(&mut self, bytes: usize) {
        self.sink.looked(bytes);
    }

    fn room(&self) -> usize {
        self.sink.room()
    }

    fn hears(&self) -> bool {
        false
    }

    fn asks(&self) -> bool {
        self.sink.asks()
    }

    fn declares(&self, tool: &str, parameter: &str) -> bool {
        self.sink.declares(tool, parameter)
    }

    fn knows(&self, tool: &str) -> bool {
        self.sink.knows(tool)
    }

    fn balances(&mut self, marks: &Marks, opens: Class, behind: usize) -> Option<bool> {
        self.sink.balances(marks, opens, behind)
    }

    fn max_depth(&self) -> usize {
        self.sink.max_depth()
    }

    fn repairs(&self) -> bool {
        self.sink.repairs()
    }
}
