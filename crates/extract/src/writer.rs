//! Writes events: text that is always whole UTF-8, deltas joined within one batch, markup and problems in a place that
//! does not depend on how the input was cut.

use super::{
    call::{Call, Source},
    event::{Dropped, Events, Item, Problem, ProblemKind, Span},
    utf8,
};

/// Whose words text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Voice {
    /// The reply's.
    #[default]
    Prose,
    /// The reasoning's.
    Reasoning,
}

/// What was begun and waits for its end: a cut character, a run of broken bytes, a stretch of markup.
#[derive(Debug, Default)]
pub(super) struct Writer {
    /// How many items were in the batch when this feeding began; older ones are never touched.
    floor: usize,
    voice: Voice,
    cut: [u8; 4],
    cut_length: usize,
    cut_at: usize,
    broken: Option<Span>,
    markup: Option<Span>,
    /// Whether any of the above is there.
    pending: bool,
}

impl Writer {
    pub(super) fn begin(&mut self, out: &Events) {
        self.floor = out.items.len();
    }

    /// Text that stands at `at`, cut anywhere.
    pub(super) fn text(&mut self, voice: Voice, mut bytes: &[u8], mut at: usize, out: &mut Events) {
        if bytes.is_empty() {
            return;
        }
        if self.pending {
            if voice != self.voice || self.markup.is_some() {
                self.settle(out);
            }
            while self.cut_length > 0
                && let Some((byte, rest)) = bytes.split_first()
            {
                if self.join(*byte, out) {
                    bytes = rest;
                    at += 1;
                }
            }
        }
        self.voice = voice;
        while !bytes.is_empty() {
            match utf8::text(bytes) {
                Ok(text) => {
                    self.push(text, Span { start: at, end: at + text.len() }, out);
                    return;
                }
                Err(error) => {
                    let (valid, rest) = bytes.split_at_checked(error.valid_up_to()).unwrap_or((bytes, &[]));
                    if let Ok(text) = std::str::from_utf8(valid)
                        && !text.is_empty()
                    {
                        self.push(text, Span { start: at, end: at + text.len() }, out);
                    }
                    at += valid.len();
                    let Some(bad) = error.error_len() else {
                        self.hold(rest, at);
                        return;
                    };
                    self.replace(Span { start: at, end: at + bad }, out);
                    at += bad;
                    bytes = rest.get(bad..).unwrap_or_default();
                }
            }
        }
    }

    /// Markers and the white space between them.
    pub(super) fn markup(&mut self, span: Span, out: &mut Events) {
        if span.start == span.end {
            return;
        }
        match &mut self.markup {
            Some(markup) if markup.end == span.start => markup.end = span.end,
            _ => {
                self.settle(out);
                self.markup = Some(span);
                self.pending = true;
            }
        }
    }

    pub(super) fn problem(&mut self, problem: Problem, out: &mut Events) {
        self.settle(out);
        out.items.push(Item::Problem(Box::new(problem)));
    }

    pub(super) fn started(
        &mut self,
        index: usize,
        name: &str,
        dialect: &'static str,
        source: Source,
        span: Span,
        out: &mut Events,
    ) {
        self.settle(out);
        let start = out.text.len();
        out.text.push_str(name);
        out.items.push(Item::CallStarted { index, name: start..out.text.len(), dialect, source, span });
    }

    pub(super) fn arguments(&mut self, index: usize, json: &str, span: Span, out: &mut Events) {
        if self.pending {
            self.settle(out);
        }
        let start = out.text.len();
        out.text.push_str(json);
        let end = out.text.len();
        if out.items.len() > self.floor
            && let Some(Item::Arguments { index: before, json, span: owned }) = out.items.last_mut()
            && *before == index
            && json.end == start
            && owned.end == span.start
        {
            json.end = end;
            owned.end = span.end;
            return;
        }
        out.items.push(Item::Arguments { index, json: start..end, span });
    }

    pub(super) fn finished(&mut self, call: Box<Call>, span: Span, out: &mut Events) {
        self.settle(out);
        out.items.push(Item::CallFinished(call, span));
    }

    /// Ends what was begun.
    pub(super) fn settle(&mut self, out: &mut Events) {
        if !self.pending {
            return;
        }
        if self.cut_length > 0 {
            self.replace(Span { start: self.cut_at, end: self.cut_at + self.cut_length }, out);
            self.cut_length = 0;
        }
        self.say_broken(out);
        if let Some(span) = self.markup.take() {
            out.items.push(Item::Markup(span));
        }
        self.pending = false;
    }

    /// One more byte for a cut character; `false` if it doesn't belong to it.
    fn join(&mut self, byte: u8, out: &mut Events) -> bool {
        let mut whole = self.cut;
        let length = self.cut_length + 1;
        if let Some(place) = whole.get_mut(self.cut_length) {
            *place = byte;
        }
        let span = Span { start: self.cut_at, end: self.cut_at + length };
        match std::str::from_utf8(whole.get(..length).unwrap_or_default()) {
            Ok(text) => {
                self.cut_length = 0;
                self.push(text, span, out);
                true
            }
            Err(error) if error.error_len().is_none() && length < whole.len() => {
                self.cut = whole;
                self.cut_length = length;
                true
            }
            Err(_) => {
                let span = Span { start: self.cut_at, end: self.cut_at + self.cut_length };
                self.cut_length = 0;
                self.replace(span, out);
                false
            }
        }
    }

    fn hold(&mut self, bytes: &[u8], at: usize) {
        self.cut_length = bytes.len().min(self.cut.len());
        for (place, byte) in self.cut.iter_mut().zip(bytes) {
            *place = *byte;
        }
        self.cut_at = at;
        self.pending = true;
    }

    fn push(&mut self, text: &str, span: Span, out: &mut Events) {
        if self.pending {
            self.say_broken(out);
        }
        self.append(text, span, out);
    }

    fn append(&mut self, text: &str, span: Span, out: &mut Events) {
        let start = out.text.len();
        out.text.push_str(text);
        let end = out.text.len();
        if out.items.len() > self.floor
            && let (Some(Item::Text(range, owned)), Voice::Prose)
            | (Some(Item::Reasoning(range, owned)), Voice::Reasoning) = (out.items.last_mut(), self.voice)
            && range.end == start
            && owned.end == span.start
        {
            range.end = end;
            owned.end = span.end;
            return;
        }
        out.items.push(match self.voice {
            Voice::Prose => Item::Text(start..end, span),
            Voice::Reasoning => Item::Reasoning(start..end, span),
        });
    }

    /// Bytes that are no UTF-8.
    fn replace(&mut self, span: Span, out: &mut Events) {
        match &mut self.broken {
            Some(broken) if broken.end == span.start => broken.end = span.end,
            _ => {
                self.say_broken(out);
                self.broken = Some(span);
            }
        }
        self.pending = true;
        self.append("\u{FFFD}", span, out);
    }

    fn say_broken(&mut self, out: &mut Events) {
        if let Some(span) = self.broken.take() {
            out.items.push(Item::Problem(Box::new(problem(
                ProblemKind::InvalidUtf8,
                format!("{} bytes are no UTF-8; U+FFFD stands in their place", span.end - span.start),
                span,
            ))));
        }
    }
}

/// A problem that is about no call and owns no bytes.
pub(super) fn problem(kind: ProblemKind, message: String, span: Span) -> Problem {
    Problem { kind, message, span, call: None, dropped: None }
}

/// A problem that owns its bytes.
pub(super) fn dropped(kind: ProblemKind, message: String, span: Span, call: Option<usize>, why: Dropped) -> Problem {
    Problem { kind, message, span, call, dropped: Some(why) }
}
