//! A region whose opener is followed by a title: the tool's name once more, and a marker. Both are markup; what follows
//! is read as if they weren't there.

use super::{
    bodies::Boxed,
    body::{Body, Sink, Step},
    until::Seek,
};

/// The longest title.
const LONGEST: usize = 1024;

/// Some other body, behind a title.
#[derive(Clone)]
pub(super) struct Titled {
    ends: &'static [&'static str],
    past: bool,
    seeks: Vec<Seek>,
    body: Boxed,
}

impl Titled {
    pub(super) fn new(ends: &'static [&'static str], body: Boxed) -> Self {
        Self { ends, past: false, seeks: vec![Seek::default(); ends.len()], body }
    }

    /// Where the title ends in `input`, behind its marker: the first, and of several that begin alike the longest.
    /// `None` where more bytes decide.
    fn end(&mut self, input: &[u8], last: bool) -> Option<usize> {
        let ends = self.ends.iter().zip(&mut self.seeks);
        let at = ends.filter_map(|(end, seek)| seek.step(end, input)).min()?;
        let rest = input.get(at..).unwrap_or_default();
        let longest = self.ends.iter().filter(|end| rest.starts_with(end.as_bytes())).map(|end| end.len()).max()?;
        if !last && self.ends.iter().any(|end| end.len() > rest.len() && end.as_bytes().starts_with(rest)) {
            // What was found is found again.
            self.seeks.fill(Seek::default());
            return None;
        }
        Some(at + longest)
    }
}

impl Body for Titled {
    fn hurry(&mut self) {
        self.body.hurry();
    }

    fn step(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Step {
        let mut from = 0;
        if !self.past {
            // No more than a title is looked at, however much came.
            let head = input.get(..input.len().min(LONGEST)).unwrap_or_default();
            let Some(end) = self.end(head, last || head.len() == LONGEST) else {
                return if last || head.len() == LONGEST { Step::Failed("a title without end") } else { Step::More };
            };
            sink.markup(end);
            self.past = true;
            from = end;
        }
        self.body.step(input.get(from..).unwrap_or_default(), last, sink)
    }
}
