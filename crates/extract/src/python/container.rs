//! Lists, tuples, sets and dicts, and what stands between their items. What parentheses or braces hold is known by the
//! first comma or colon: until then their bracket is held, and then written as JSON has it.

use super::{
    super::{arguments::TOO_DEEP, body::Sink, sort::Sort},
    Frame, Python, Shape, State,
};

impl Python {
    pub(super) fn open(&mut self, shape: Shape, bracket: char, sink: &mut dyn Sink) -> Result<(), &'static str> {
        if self.stack.len() >= sink.max_depth() {
            return Err(TOO_DEEP);
        }
        if self.held.is_none() && matches!(shape, Shape::Parenthesis | Shape::Brace) {
            self.held = Some(self.stack.len());
        }
        let bracket_at = self.out.len();
        self.out.push(bracket);
        self.stack.push(Frame { shape, some: false, bracket: bracket_at, quotes: None });
        self.state = State::Item;
        Ok(())
    }

    /// Says what the innermost container is.
    pub(super) fn decide(&mut self, shape: Shape, bracket: &str) {
        let depth = self.stack.len();
        let Some(frame) = self.stack.last_mut() else { return };
        frame.shape = shape;
        let mut put = |at: usize, with: &str| {
            // One byte for one byte; what stands there was put there for this.
            if self.out.is_char_boundary(at) && self.out.is_char_boundary(at + 1) && at < self.out.len() {
                self.out.replace_range(at..=at, with);
            }
        };
        put(frame.bracket, bracket);
        if let (Shape::Dict, Some((before, after))) = (shape, frame.quotes) {
            put(before, "\"");
            put(after, "\"");
        }
        if self.held == Some(depth - 1) {
            self.held = None;
        }
    }

    pub(super) fn close(&mut self, bracket: Option<char>, sort: Sort, sink: &mut dyn Sink) {
        self.stack.pop();
        // A container is never a key.
        self.key = false;
        self.out.extend(bracket);
        self.wrote(sort, sink);
    }

    /// What must stand before a value, whatever it is. Says whether it is a dict's key.
    pub(super) fn before(&mut self, scalar: bool) -> Result<bool, &'static str> {
        let key = self.key;
        let Some(frame) = self.stack.last_mut() else { return Err("a value outside a call") };
        match frame.shape {
            Shape::Call => return Ok(false),
            Shape::Dict | Shape::Whole if !key => return Ok(false),
            Shape::Dict | Shape::Whole | Shape::Brace if !scalar => return Err("a key that is no string"),
            Shape::Parenthesis if frame.some => return Err("two values without a comma"),
            _ => {}
        }
        if frame.some {
            self.out.push(',');
        }
        frame.some = true;
        Ok(matches!(frame.shape, Shape::Dict | Shape::Whole))
    }

    /// Begins a number or constant, with the quotes of a key.
    pub(super) fn begin_bare(&mut self) -> Result<(), &'static str> {
        if self.before(true)? {
            self.out.push('"');
        } else if self.shape() == Some(Shape::Brace) {
            let at = self.out.len();
            self.out.push(' ');
            if let Some(frame) = self.top() {
                frame.quotes = Some((at, at));
            }
        }
        Ok(())
    }

    pub(super) fn end_bare(&mut self, sort: Sort, sink: &mut dyn Sink) {
        match self.shape() {
            Some(Shape::Dict | Shape::Whole) if self.key => self.out.push('"'),
            Some(Shape::Brace) => {
                let at = self.out.len();
                self.out.push(' ');
                if let Some(quotes) = self.top().and_then(|frame| frame.quotes.as_mut()) {
                    quotes.1 = at;
                }
            }
            _ => {}
        }
        self.wrote(sort, sink);
    }

    /// A value has been written.
    pub(super) fn wrote(&mut self, sort: Sort, sink: &mut dyn Sink) {
        self.state = State::After;
        self.line = false;
        self.sort = sort;
        if self.muted {
            if self.shape() == Some(Shape::Call) {
                self.out.clear();
                self.muted = false;
            }
            return;
        }
        let signature =
            self.signature.as_ref().filter(|_| self.stack.last().is_some_and(|frame| frame.shape == Shape::Call));
        match signature.and_then(|signature| signature.kind(&self.keyword)) {
            Some(kind) if !sort.fits(kind) => sink.wrong_type(&self.keyword, kind),
            _ => {}
        }
    }

    pub(super) fn after(&mut self, byte: u8, sink: &mut dyn Sink) -> Result<(), &'static str> {
        let Some(shape) = self.shape() else { return Err("a value outside a call") };
        match (shape, byte) {
            (Shape::Call, b',') => self.state = State::Argument,
            (Shape::List | Shape::Tuple | Shape::Set, b',') => self.state = State::Item,
            (Shape::Parenthesis, b',') => {
                self.decide(Shape::Tuple, "[");
                self.state = State::Item;
            }
            (Shape::Brace, b',') => {
                self.decide(Shape::Set, "[");
                self.state = State::Item;
            }
            (Shape::Brace, b':') => {
                self.decide(Shape::Dict, "{");
                self.out.push(':');
                self.key = false;
                self.state = State::Value;
            }
            (Shape::Dict | Shape::Whole, b':') if self.key => {
                self.out.push(':');
                self.key = false;
                self.state = State::Value;
            }
            (Shape::Dict | Shape::Whole, b',') if !self.key => {
                self.key = true;
                self.state = State::Item;
            }
            (Shape::Dict, b'}') if !self.key => self.close(Some('}'), Sort::Object, sink),
            (Shape::Whole, b'}') if !self.key => {
                self.stack.pop();
                self.key = false;
                self.state = State::After;
            }
            (Shape::List, b']') | (Shape::Tuple, b')') | (Shape::Set, b'}') => {
                self.close(Some(']'), Sort::Array, sink);
            }
            (Shape::Brace, b'}') => {
                self.decide(Shape::Set, "[");
                self.close(Some(']'), Sort::Array, sink);
            }
            (Shape::Parenthesis, b')') => {
                // Only parentheses around a value.
                self.decide(Shape::Tuple, " ");
                self.close(None, self.sort, sink);
            }
            _ => return Err("a value that goes on as something else"),
        }
        Ok(())
    }

    /// The end of a container in which nothing follows, or an item of it.
    pub(super) fn item(&mut self, byte: u8, sink: &mut dyn Sink) -> Result<usize, &'static str> {
        let Some(frame) = self.stack.last() else { return Err("a value outside a call") };
        match (frame.shape, byte) {
            (Shape::List, b']') | (Shape::Tuple, b')') | (Shape::Set, b'}') => {
                self.close(Some(']'), Sort::Array, sink);
            }
            (Shape::Parenthesis, b')') => {
                self.decide(Shape::Tuple, "[");
                self.close(Some(']'), Sort::Array, sink);
            }
            (Shape::Brace, b'}') => {
                self.decide(Shape::Dict, "{");
                self.close(Some('}'), Sort::Object, sink);
            }
            (Shape::Dict, b'}') => self.close(Some('}'), Sort::Object, sink),
            (Shape::Whole, b'}') => {
                self.stack.pop();
                self.key = false;
                self.state = State::After;
            }
            _ => return self.value(byte, sink),
        }
        Ok(1)
    }
}
