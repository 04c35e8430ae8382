//! What is left of a call that broke off, in a grammar whose strings are known: it reaches to the call's own end, and
//! no marker in a string is one. Where quotes don't pair off, the first marker counts, in a string or not.

/// The most bytes looked at.
const MOST: usize = 1024;
/// The most brackets too many.
const EXCESS: usize = 8;
/// The most white space between a call's end and the marker behind it.
const SPACE: usize = 64;
/// The longest key that shows that a call goes on behind what closed it too early.
const KEY: usize = 64;

/// Where it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    More,
    At(usize),
    /// Nowhere near.
    Nowhere,
}

/// What the next byte stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum In {
    Nothing,
    /// A string between the grammar's own quotes.
    Quotes,
    /// A string of JSON.
    String,
}

/// A look for the end; it remembers how much of the held bytes it has seen.
#[derive(Debug, Clone)]
pub(super) struct Left {
    pub(super) why: &'static str,
    /// The grammar's own quotes; empty where it has none.
    quote: &'static [u8],
    /// What closes a call, or opens another.
    marks: [&'static [&'static str]; 2],
    /// How many braces are open, if the last one ends the call.
    braces: Option<usize>,
    /// What opens another call behind such a brace.
    opens: Option<&'static [u8]>,
    at: usize,
    within: In,
    /// The first marker, in a string.
    first: Option<usize>,
}

/// Whether `input` begins with one of `marks`; `None` if it still may.
fn marked<const N: usize>(marks: [&'static [&'static str]; N], input: &[u8], last: bool) -> Option<bool> {
    let mut open = false;
    for mark in marks.iter().copied().flatten().filter(|mark| !mark.is_empty()) {
        if input.starts_with(mark.as_bytes()) {
            return Some(true);
        }
        open |= !last && mark.as_bytes().starts_with(input);
    }
    if open { None } else { Some(false) }
}

/// How many bytes of brackets too many stand between a call's end, at the front of `input`, and one of `marks`; `None`
/// if more has to be known.
pub(super) fn excess<const N: usize>(marks: [&'static [&'static str]; N], input: &[u8], last: bool) -> Option<usize> {
    let space = |from: usize| {
        let rest = input.get(from..).unwrap_or_default();
        from + rest.iter().take(SPACE).take_while(|byte| byte.is_ascii_whitespace()).count()
    };
    let from = space(0);
    let run = input.get(from..).unwrap_or_default().iter().take(EXCESS);
    let end = from + run.take_while(|byte| matches!(byte, b'}' | b']' | b')')).count();
    if end == from && (last || from < input.len()) {
        return Some(0);
    }
    let mark = input.get(space(end)..).unwrap_or_default();
    if mark.is_empty() && !last {
        return None;
    }
    marked(marks, mark, last).map(|found| if found && end > from { end } else { 0 })
}

/// Whether a comma, a key and its colon stand here: what was closed before them was closed too early. Where keys stand
/// without quotes, `bare` is what opens another call, and no key. `None` if more has to be known.
pub(super) fn goes_on(input: &[u8], last: bool, bare: Option<&[u8]>) -> Option<bool> {
    let unsure = if last { Some(false) } else { None };
    let solid = |from: usize| {
        let rest = input.get(from..).unwrap_or_default();
        from + rest.iter().take(SPACE).take_while(|byte| byte.is_ascii_whitespace()).count()
    };
    let comma = solid(0);
    match input.get(comma) {
        None => return unsure,
        Some(b',') => {}
        Some(_) => return Some(false),
    }
    let mut at = solid(comma + 1);
    let quoted = match input.get(at) {
        None => return unsure,
        Some(byte) => *byte == b'"',
    };
    if !quoted {
        let Some(call) = bare else { return Some(false) };
        let rest = input.get(at..).unwrap_or_default();
        if rest.starts_with(call) {
            return Some(false);
        }
    }
    at += usize::from(quoted);
    let key = input.get(at..).unwrap_or_default().iter().take(KEY);
    let length =
        key.take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'$')).count();
    if length == 0 && at < input.len() {
        return Some(false);
    }
    at += length;
    if quoted {
        match input.get(at) {
            None => return unsure,
            Some(b'"') => at += 1,
            Some(_) => return Some(false),
        }
    }
    input.get(solid(at)).map_or(unsure, |byte| Some(*byte == b':'))
}

impl Left {
    /// A call broke that ends before one of `marks`.
    pub(super) fn new(marks: [&'static [&'static str]; 2], why: &'static str) -> Self {
        Self { why, quote: b"", marks, braces: None, opens: None, at: 0, within: In::Nothing, first: None }
    }

    /// It ends with a brace too: so many are open, and behind the last another call may open, with `call`. Strings
    /// stand between `quote`s, as well as JSON's.
    pub(super) fn braces(self, open: usize, quote: &'static [u8], call: &'static [u8]) -> Self {
        Self { braces: Some(open), quote, opens: Some(call), ..self }
    }

    /// It broke within a string of JSON.
    pub(super) fn in_string(self) -> Self {
        Self { within: In::String, ..self }
    }

    /// It broke within a string between the grammar's own quotes.
    pub(super) fn in_quotes(self) -> Self {
        Self { within: In::Quotes, ..self }
    }

    /// How many bytes it has seen.
    pub(super) fn seen(&self) -> usize {
        self.at
    }

    /// Looks at what it hasn't seen of `input`, whose front is where it was before.
    pub(super) fn read(&mut self, input: &[u8], last: bool) -> Over {
        while let Some(&byte) = input.get(self.at)
            && self.at < MOST
        {
            let rest = input.get(self.at..).unwrap_or_default();
            if self.quote.first() == Some(&byte) && self.within != In::String {
                if rest.starts_with(self.quote) {
                    self.within = if self.within == In::Quotes { In::Nothing } else { In::Quotes };
                    self.at += self.quote.len();
                    continue;
                }
                if self.quote.starts_with(rest) && !last {
                    return Over::More;
                }
            }
            match marked(self.marks, rest, last) {
                None => return Over::More,
                Some(true) if self.within == In::Nothing => return Over::At(self.at),
                Some(true) => {
                    self.first.get_or_insert(self.at);
                }
                Some(false) => {}
            }
            match (self.within, byte) {
                (In::String, b'\\') => {
                    if rest.len() < 2 && !last {
                        return Over::More;
                    }
                    self.at += 1;
                }
                (In::String, b'"') => self.within = In::Nothing,
                (In::Nothing, b'"') => self.within = In::String,
                (In::Nothing, b'{') => self.braces = self.braces.map(|open| open + 1),
                (In::Nothing, b'}') => {
                    let open = self.braces.map(|open| open.saturating_sub(1));
                    if open == Some(0) {
                        match self.ends(rest.get(1..).unwrap_or_default(), last) {
                            None => return Over::More,
                            Some(true) => return Over::At(self.at + 1),
                            Some(false) => {}
                        }
                    }
                    self.braces = open;
                }
                _ => {}
            }
            self.at += 1;
        }
        if !last && self.at < MOST {
            return Over::More;
        }
        self.first.map_or(Over::Nowhere, Over::At)
    }

    /// Whether a call may have ended before `input`; `None` if more has to be known.
    fn ends(&self, input: &[u8], last: bool) -> Option<bool> {
        let rest = input.trim_ascii_start();
        match rest.first() {
            None if last => Some(true),
            None if input.len() <= SPACE => None,
            Some(b',') => goes_on(rest, last, self.opens).map(|on| !on),
            Some(b';') => Some(true),
            _ => marked(self.marks, rest, last),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(mut left: Left, text: &str) -> Over {
        let mut slow = left.clone();
        let whole = left.read(text.as_bytes(), true);
        for end in 0..text.len() {
            let part = slow.read(&text.as_bytes()[..end], false);
            assert!(part == Over::More || part == whole, "{text} at {end}: {part:?}, then {whole:?}");
            if part != Over::More {
                return whole;
            }
        }
        assert_eq!(slow.read(text.as_bytes(), true), whole, "{text}");
        whole
    }

    #[test]
    fn d21_brackets_too_many_stand_before_a_marker() {
        for (text, bytes) in [
            ("}<end>", 1),
            (" }\n) <end>", 0),
            ("])\n<call>", 2),
            ("<end>", 0),
            ("", 0),
            ("} x<end>", 0),
            ("x", 0),
            ("}", 0),
        ] {
            let whole = excess([&["<end>"], &["<call>"]], text.as_bytes(), true);
            assert_eq!(whole, Some(bytes), "{text}");
            for end in 0..text.len() {
                let part = excess([&["<end>"], &["<call>"]], &text.as_bytes()[..end], false);
                assert!(part.is_none() || part == whole, "{text} at {end}: {part:?}");
            }
        }
    }

    #[test]
    fn d21_what_is_left_ends_with_the_call_and_not_in_a_string() {
        let left = || Left::new([&["<end>"], &["<call>"]], "").braces(1, b"<|", b"call:");
        for (text, end) in [
            (" x}<end>", 3),
            (" x} \n<end>", 3),
            (" x}", 3),
            ("{x}}, g", 4),
            (" x} y}<end>", 6),
            ("<|}<end><|.}<end>", 12),
            ("a:<|}<end><|}<call>", 13),
            ("\"}<end>\\\"\" }<end>", 12),
            (" x<end>}", 2),
            (" x<call>", 2),
            // Quotes that don't pair off.
            ("<|}<end> and on", 3),
            ("\"}<call>", 2),
        ] {
            assert_eq!(over(left(), text), Over::At(end), "{text}");
        }
        for text in ["", " x", "<| }", &" ".repeat(2 * MOST)] {
            assert_eq!(over(left(), text), Over::Nowhere, "{text}");
        }
        // A grammar without quotes of its own has no byte that could begin one.
        assert_eq!(over(Left::new([&["<end>"], &["<call>"]], ""), "\0<end>"), Over::At(1));
        assert_eq!(over(left().in_quotes(), "<end><|}<end>"), Over::At(8));
        assert_eq!(over(left().in_string(), "<end>\"}<end>"), Over::At(7));
    }
}
