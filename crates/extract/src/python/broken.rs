//! Where what is broken in calls written as Python ends: at the bracket that closes it, as Python would count brackets.
//! What can't be found close by is not looked for further: then what follows is prose.

use super::{
    super::arguments::TOO_DEEP,
    header::{Found, Header, begins_name},
    literal::Left,
};

/// The most bytes looked at, those within strings aside; and all of them. What is only nested too deep has brackets
/// that are what they seem, so that it is followed for longer.
const MOST: usize = 1024;
const MOST_OF_ALL: usize = 16 * 1024;
/// The most white space behind a bracket that is looked past.
const SPACE: usize = 64;
/// So much is hardly anything.
const NEAR: usize = 16;

/// Where it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    More,
    /// Here.
    At(usize),
    /// Where the next call begins: its own bracket is missing.
    Next(usize),
    /// Nowhere near.
    Nowhere,
}

/// The string that a call broke in.
#[derive(Debug, Clone)]
struct Literal {
    quote: u8,
    left: Left,
    /// How many brackets are open around what it computes, if that is where it stands.
    field: Option<usize>,
    /// What was open before it.
    open: Vec<u8>,
}

/// A look ahead; it remembers how much of the held bytes it has seen.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools, reason = "what was seen, each by itself")]
pub(super) struct Broken {
    pub(super) why: &'static str,
    /// What closes what is open, the innermost last.
    open: Vec<u8>,
    /// How many of these stay open.
    keep: usize,
    /// How many are open where the next call may begin.
    base: usize,
    /// Whether it ends on its line.
    line: bool,
    /// Whether it stands between calls.
    list: bool,
    /// Whether it may be no call but prose: the next call stands on a line of its own then, or in the same list.
    unsure: bool,
    /// Whether it looks like code: it is no text then.
    code: bool,
    /// What ends the region, and so the look.
    stops: &'static [&'static str],
    at: usize,
    /// How many of the bytes seen stand within strings.
    quoted: usize,
    /// The quote that a string began with, and where its text begins.
    string: Option<(u8, usize)>,
    /// The string that the call broke in, while it may go on.
    literal: Option<Literal>,
    /// How many bytes it looks at once more, since that was none.
    again: usize,
    /// Up to here no quote of the two kinds closes a string.
    unclosed: [usize; 2],
    /// How many newlines came one after the other.
    newlines: usize,
    /// Whether the next call may begin here: a comma or a line's end stands before it.
    apart: bool,
    /// Whether a call that begins at the front is surely the next one, wherever brackets close.
    sure: bool,
    /// What looks like a call's header here, as far as it was read.
    header: Option<Header>,
    /// Where the next call begins, if the bracket is missing; or if one more is, that was opened before it.
    next: [Option<usize>; 2],
    /// Whether a quote was none: what looks like a call may stand in a string then.
    stray: bool,
    /// The most bytes seen.
    seen: usize,
}

impl Broken {
    /// A call broke, in brackets that are closed by `open`; the first `keep` of them are the list's.
    pub(super) fn call(open: Vec<u8>, keep: usize, stops: &'static [&'static str], why: &'static str) -> Self {
        Self {
            why,
            open,
            keep,
            base: keep + 1,
            line: false,
            list: false,
            unsure: false,
            code: false,
            stops,
            at: 0,
            quoted: 0,
            string: None,
            literal: None,
            again: 0,
            unclosed: [0; 2],
            newlines: 0,
            apart: false,
            sure: false,
            header: None,
            next: [None; 2],
            stray: false,
            seen: 0,
        }
    }

    /// A comma or a line's end stands before what it broke at: the next call, perhaps, and `sure` if it looks like one.
    pub(super) fn apart(self, sure: bool) -> Self {
        Self { apart: true, sure, ..self }
    }

    /// The call broke within a string.
    pub(super) fn within(mut self, quote: u8, left: Left) -> Self {
        let field = left.field.then_some(self.open.len());
        let open = self.open.clone();
        if left.field {
            self.open.push(b'}');
        }
        self.literal = Some(Literal { quote, left, field, open });
        self
    }

    /// In a list something stands where a call or the list's end should; on the same `line`, it may be.
    pub(super) fn list(line: bool, stops: &'static [&'static str], why: &'static str) -> Self {
        Self { line, list: true, apart: !line, ..Self::call(vec![b']'], 0, stops, why) }
    }

    /// Between calls that stand on lines of their own, or before the first of a region, in a list or not.
    pub(super) fn lines(list: bool, stops: &'static [&'static str], why: &'static str) -> Self {
        Self { open: Vec::new(), base: usize::from(list), apart: false, ..Self::list(false, stops, why) }
    }

    /// It may be prose.
    pub(super) fn unsure(self, unsure: bool) -> Self {
        Self { unsure, ..self }
    }

    /// Whether it may have been the list's end without its bracket: hardly anything was looked at.
    pub(super) fn near(&self) -> bool {
        self.line && self.at <= NEAR
    }

    /// How many bytes it looks at once more, since this was asked last.
    pub(super) fn again(&mut self) -> usize {
        std::mem::take(&mut self.again)
    }

    /// How many bytes it has seen.
    pub(super) fn seen(&self) -> usize {
        self.seen.max(self.at)
    }

    /// Looks at what it hasn't seen of `input`, whose front is where it was before. `knows` says whether there may be a
    /// tool of a name.
    pub(super) fn read(&mut self, input: &[u8], last: bool, knows: &dyn Fn(&str) -> bool) -> Over {
        while let Some(&byte) = input.get(self.at) {
            let deep = self.why == TOO_DEEP;
            let most = if deep || self.string.is_some() { MOST_OF_ALL } else { (MOST + self.quoted).min(MOST_OF_ALL) };
            if self.at >= most {
                return Over::Nowhere;
            }
            let rest = input.get(self.at..).unwrap_or_default();
            for stop in self.stops {
                if rest.starts_with(stop.as_bytes()) && !stop.is_empty() {
                    return self.nowhere(input, last, knows, true);
                }
                if stop.as_bytes().starts_with(rest) && !last {
                    return Over::More;
                }
            }
            if let Some(literal) = self.literal.take_if(|literal| literal.field.is_none()) {
                if !self.follow(literal, rest, last) {
                    return Over::More;
                }
                continue;
            }
            if let Some((quote, from)) = self.string {
                match byte {
                    b'\n' => self.no_string(quote, from),
                    b'\\' => {
                        if input.len() == self.at + 1 && !last {
                            return Over::More;
                        }
                        // A line that goes on does so in no string that is looked for here.
                        self.at += if input.get(self.at + 1) == Some(&b'\n') { 1 } else { 2 };
                    }
                    _ => {
                        self.at += 1;
                        if byte == quote {
                            self.string = None;
                            self.quoted += self.at - from;
                        }
                    }
                }
                continue;
            }
            let deep = self.open.len().checked_sub(self.base);
            if self.apart
                && begins_name(byte)
                && self.literal.is_none()
                && let Some(deep) = deep.filter(|deep| *deep <= usize::from(self.list))
            {
                let header = self.header.get_or_insert_with(|| Header::next(false));
                let found = header.read(rest);
                if found == Found::More && !last {
                    return Over::More;
                }
                self.again += header.seen();
                self.seen = self.seen.max(self.at + header.seen());
                self.header = None;
                self.apart = false;
                if let (Found::Call(from, to), Some(next)) = (found, self.next.get_mut(deep))
                    && !self.stray
                    && next.is_none()
                    && knows(&String::from_utf8_lossy(rest.get(from..to).unwrap_or_default()))
                {
                    if deep == 0 && (self.list || (self.sure && self.at == 0)) {
                        return Over::Next(self.at);
                    }
                    *next = Some(self.at);
                }
            }
            self.apart = match byte {
                b'\n' => true,
                b',' => !self.unsure || self.base > 0,
                b' ' | b'\t' | b'\r' => self.apart,
                _ => false,
            };
            self.code |= matches!(byte, b'=' | b'(' | b')' | b'}');
            match byte {
                b'(' => self.open.push(b')'),
                b'[' => self.open.push(b']'),
                b'{' => self.open.push(b'}'),
                b')' | b']' | b'}' => {
                    if let Some(closed) = self.open.iter().rposition(|closer| *closer == byte) {
                        let outer = closed < self.keep || (self.list && self.base == 1 && closed == 0);
                        if byte == b']' && outer && !self.unsure && self.stops.iter().any(|stop| !stop.is_empty()) {
                            // What goes on as a list does wasn't ended by it: it is one too many.
                            match rest.get(1..).unwrap_or_default().trim_ascii_start().first() {
                                None if !last && rest.len() <= SPACE => return Over::More,
                                Some(b',' | b')' | b']' | b'}' | b':') => {
                                    self.at += 1;
                                    continue;
                                }
                                _ => {}
                            }
                        }
                        if self.list && closed == 0 && self.base == 1 && self.open.len() > 1 {
                            return self.missing().unwrap_or(Over::At(self.at + 1));
                        }
                        let missing = self.missing();
                        self.open.truncate(closed);
                        self.literal.take_if(|literal| literal.field.is_some_and(|field| field > closed));
                        if let Some(literal) = self.literal.as_mut().filter(|literal| literal.field == Some(closed)) {
                            // What was computed ends, and the string's text goes on.
                            literal.field = None;
                            self.at += 1;
                            self.newlines = 0;
                            continue;
                        }
                        if closed < self.keep {
                            return missing.unwrap_or(Over::At(self.at));
                        }
                        if closed == self.keep && !(self.list && self.base == 0) {
                            return Over::At(self.at + 1);
                        }
                    }
                }
                b'"' | b'\'' => {
                    let after = self.at.checked_sub(1).and_then(|before| input.get(before));
                    // Behind a letter `'` is an apostrophe.
                    let word = (byte == b'\'' || self.literal.is_some())
                        && after.is_some_and(|before| before.is_ascii_alphanumeric() || *before >= 0x80);
                    let unclosed = self.unclosed.get(usize::from(byte == b'\'')).copied().unwrap_or_default();
                    if !word && self.at >= unclosed {
                        self.string = Some((byte, self.at + 1));
                    } else {
                        self.stray = true;
                    }
                }
                b'\n' if self.line => return Over::Nowhere,
                _ => {}
            }
            match byte {
                b'\n' if self.newlines > 0 => return Over::Nowhere,
                b'\n' => self.newlines = 1,
                b' ' | b'\t' | b'\r' => {}
                _ => self.newlines = 0,
            }
            self.at += 1;
        }
        if !last {
            return Over::More;
        }
        match self.string {
            Some((quote, from)) if self.literal.is_none() => {
                self.no_string(quote, from);
                self.read(input, last, knows)
            }
            _ => self.nowhere(input, last, knows, false),
        }
    }

    /// What looked like a string isn't closed on its line.
    fn no_string(&mut self, quote: u8, from: usize) {
        if let Some(unclosed) = self.unclosed.get_mut(usize::from(quote == b'\'')) {
            *unclosed = self.at;
        }
        self.string = None;
        self.stray = true;
        self.seen = self.seen();
        self.again += self.at - from;
        self.at = from;
        self.newlines = 0;
    }

    /// Where the next call begins, now that this one's bracket is known to be missing.
    fn missing(&self) -> Option<Over> {
        let deep = self.open.len().checked_sub(self.base)?;
        let next = *self.next.get(if self.list { deep } else { 0 })?;
        next.filter(|_| !self.stray && self.string.is_none()).map(Over::Next)
    }

    /// Nothing ends it here, unless what is taken for the string that the call broke in is none.
    fn nowhere(&mut self, input: &[u8], last: bool, knows: &dyn Fn(&str) -> bool, stopped: bool) -> Over {
        let Some(literal) = self.literal.take() else {
            if !stopped {
                return Over::Nowhere;
            }
            // What stands between calls and the marker behind them, and is no words, goes with them.
            let rest = if self.list && self.code { Over::At(self.at) } else { Over::Nowhere };
            // A bracket is open that nothing closes: the calls behind it stand beside it, and not in it.
            let within = self.next.get(1).copied().flatten();
            let beside = within.filter(|_| self.base == usize::from(self.list) && !self.open.is_empty() && !self.stray);
            return self.missing().or(beside.map(Over::Next)).unwrap_or(rest);
        };
        self.no_literal(literal);
        self.read(input, last, knows)
    }

    /// The string that the call broke in has no end: it wasn't one.
    fn no_literal(&mut self, literal: Literal) {
        self.open = literal.open;
        self.stray = true;
        self.next = [None; 2];
        self.seen = self.seen();
        self.string = None;
        self.again += self.at;
        self.at = 0;
        self.quoted = 0;
        self.newlines = 0;
    }

    /// One step through the string that the call broke in, as far as its paragraph goes. `false`: more has to be known.
    fn follow(&mut self, mut literal: Literal, rest: &[u8], last: bool) -> bool {
        let quotes = if literal.left.triple { 3 } else { 1 };
        let run = rest.iter().take(quotes).take_while(|byte| **byte == literal.quote).count();
        let cut = (run == rest.len() && run < quotes) || matches!(rest, [b'\\' | b'{']);
        if cut && !last {
            self.literal = Some(literal);
            return false;
        }
        let newlines = std::mem::take(&mut self.newlines);
        match rest {
            _ if run == quotes => {
                self.at += run;
                return true;
            }
            [b'\n', ..] if newlines > 0 => {
                self.no_literal(literal);
                return true;
            }
            [b'\n', ..] => {
                self.newlines = 1;
                self.at += 1;
            }
            [b' ' | b'\t' | b'\r', ..] => {
                self.newlines = newlines;
                self.at += 1;
            }
            [b'\\', second, ..] if *second != b'\n' => self.at += 2,
            [b'{', b'{', ..] if literal.left.format => self.at += 2,
            [b'{', ..] if literal.left.format => {
                literal.field = Some(self.open.len());
                self.open.push(b'}');
                self.at += 1;
            }
            _ => self.at += 1,
        }
        self.literal = Some(literal);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(mut broken: Broken, text: &str) -> Over {
        let mut slow = broken.clone();
        let whole = broken.read(text.as_bytes(), true, &|_| true);
        for end in 0..text.len() {
            let part = slow.read(&text.as_bytes()[..end], false, &|_| true);
            assert!(part == Over::More || part == whole, "{text} at {end}: {part:?}, then {whole:?}");
            if part != Over::More {
                return whole;
            }
        }
        assert_eq!(slow.read(text.as_bytes(), true, &|_| true), whole, "{text}");
        whole
    }

    #[test]
    fn d21_what_is_broken_ends_where_its_brackets_do() {
        let call = |text: &str| over(Broken::call(vec![b']', b')'], 1, &["<|end|>"], ""), text);
        for (text, end) in [
            (" b)]", 3),
            ("())]", 3),
            ("+c, d=[1, (2)], e={\")\": 1})]", 27),
            (".x, \"a)\\\")\" 'b)')]", 17),
            ("n't)] It's", 4),
            ("don't)]", 6),
            ("]", 0),
            ("(1]", 2),
            ("\n  b=2,\n)", 9),
        ] {
            assert_eq!(call(text), Over::At(end), "{text}");
        }
        for text in ["", "x", "x\n\n)]", "x\n \t\n)", "\")]\n", "x<|end|> )]", "((", &format!("{})", " ".repeat(1024))]
        {
            assert_eq!(call(text), if text == "\")]\n" { Over::At(2) } else { Over::Nowhere }, "{text}");
        }
        let list = |text: &str| over(Broken::list(true, &["<|end|>"], ""), text);
        assert_eq!(list(" and g()]"), Over::At(9));
        assert_eq!(list(" [1] {a: ']'} b]c"), Over::At(16));
        assert_eq!(list(" and\n]"), Over::Nowhere);
        assert_eq!(list("<|end|> ]"), Over::Nowhere);
    }

    #[test]
    fn quotes_without_partner_take_linear_time() {
        for text in ["' ".repeat(2_000), "\" '".repeat(2_000), "\\\"".repeat(2_000), "'\n".repeat(2_000)] {
            over(Broken::list(false, &[], ""), &text);
        }
    }
}
