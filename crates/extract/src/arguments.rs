//! The arguments of a call written as JSON, in each form that models use: an object, a string that holds one, `null`,
//! nothing. What comes out is always the text of one object, piece by piece; what can't be an object fails.

use super::{
    json::{Json, Looks, Mend, patience},
    next::Next,
};

/// Why arguments, or a call, can't be read.
pub(super) const TOO_DEEP: &str = "nested too deep";
pub(super) const TOO_LARGE: &str = "too large";
pub(super) const BROKEN: &str = "broken, and repairs are off";
const LOST_END: &str = "another call begins where the rest of the arguments should stand";
pub(super) const NO_OBJECT: &str = "the arguments are no JSON object";

/// Why a call must not run whose strings may end somewhere else.
const UNBALANCED: &str = "quotation marks that don't pair off: it isn't known where a string ends";
/// The mends that put something where nothing stood, and why a call must not run that needs one.
const GUESSES: [(Mend, &str); 3] = [
    (Mend::Words, "words stand behind the end of a string"),
    (Mend::MissingValue, "a key without a value"),
    (Mend::Ellipsis, "an ellipsis stands for arguments that aren't there"),
];

/// No more stray marks stand before an object.
const MOST_STRAYS: usize = 64;
/// No literal is longer, with the white space around it.
const LONGEST_WORD: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    Begin,
    Object,
    /// An object that stands in quotes without being escaped; the closing quote is still to come.
    ClosingQuote(u8),
    /// A JSON string that holds the object.
    Text,
    /// Before the second bracket of an empty array.
    Brackets,
    /// A literal, or text that should be one.
    Word {
        quoted: bool,
    },
    /// Behind a literal that says that there are none; yet they may follow.
    None,
}

/// What stands where arguments should, as far as it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strays {
    More,
    /// An object, behind so many bytes.
    Object(usize),
    No,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    More,
    Done,
    Failed(&'static str),
}

/// The limits and leave that arguments are read under.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leave {
    pub(super) room: usize,
    pub(super) repairs: bool,
}

/// One call's arguments on their way through.
#[derive(Debug, Clone)]
pub(super) struct Arguments {
    json: Json,
    form: Form,
    /// Of what a string holds, what the object's automaton hasn't read.
    text: Vec<u8>,
    /// How many bytes of the string that is.
    kept: usize,
    word: Vec<u8>,
    raw_quote: Option<u8>,
    mends: u32,
    told: u32,
    /// Up to where white space was seen before the form is known: behind a first quote or bracket, and behind the brace
    /// after it.
    blank: (usize, usize),
    /// How many bytes of a string must be there before it is taken apart again.
    patience: usize,
    /// How many stray marks were seen in front, and what was seen behind them.
    strays: usize,
    ahead: Looks,
    next: Next,
    /// Something had to be mended, and mending is off.
    broken: bool,
    /// How many bytes were looked at more than once.
    looks: usize,
}

impl Arguments {
    pub(super) fn new(max_depth: usize, closers: &'static [&'static str], next: Next) -> Self {
        Self {
            json: Json::new(max_depth, closers).before(next),
            form: Form::Begin,
            text: Vec::new(),
            kept: 0,
            word: Vec::new(),
            raw_quote: None,
            mends: 0,
            told: 0,
            blank: (1, 0),
            patience: 0,
            strays: 0,
            ahead: Looks::default(),
            next,
            broken: false,
            looks: 0,
        }
    }

    /// Tries again with the next byte what couldn't be decided.
    pub(super) fn hurry(&mut self) {
        self.patience = 0;
        self.json.hurry();
    }

    /// How many bytes were looked at more than once since this was asked last.
    pub(super) fn looks(&mut self) -> usize {
        std::mem::take(&mut self.looks) + std::mem::take(&mut self.ahead.count) + self.json.looks()
    }

    /// Tells once of each kind of mend so far.
    pub(super) fn tell(&mut self, repairs: bool, mut how: impl FnMut(&'static str)) {
        if !repairs {
            return;
        }
        let mends = self.json.kinds() | self.mends;
        let news = mends & !self.told;
        if news != 0 {
            for mend in Mend::ALL {
                if news & mend.bit() != 0 {
                    how(mend.describe());
                }
            }
            self.told = mends;
        }
    }

    /// Reads on from the first byte that isn't white space. `say` gets JSON and how many bytes of `input` were read up
    /// to it. Gives how many bytes were read.
    pub(super) fn step(
        &mut self,
        input: &[u8],
        last: bool,
        leave: Leave,
        say: &mut dyn FnMut(&str, usize),
    ) -> (usize, Verdict) {
        let mut at = 0;
        if !leave.repairs {
            self.json.strict();
        }
        loop {
            if self.form == Form::Object && self.raw_quote.is_none() {
                self.json.in_place();
            }
            self.judge(leave);
            let rest = input.get(at..).unwrap_or_default();
            match self.form {
                Form::Begin => match self.begin(rest, last) {
                    Ok(Some(bytes)) => at += bytes,
                    Ok(None) => return (at, Verdict::More),
                    Err(verdict) => {
                        if verdict == Verdict::Done {
                            self.none(leave, at, say);
                        }
                        return (at, verdict);
                    }
                },
                Form::Object => {
                    let (bytes, verdict) = self.object(rest, last, leave, at, say);
                    at += bytes;
                    match (verdict, self.raw_quote) {
                        (Verdict::Done, Some(quote)) => self.form = Form::ClosingQuote(quote),
                        _ => return (at, verdict),
                    }
                }
                Form::ClosingQuote(quote) => {
                    let Some(&byte) = rest.first() else {
                        return (at, if last { Verdict::Done } else { Verdict::More });
                    };
                    if byte.is_ascii_whitespace() {
                        at += 1;
                        continue;
                    }
                    return (at + usize::from(byte == quote), Verdict::Done);
                }
                Form::Text => {
                    let (bytes, verdict) = self.inner(rest, last, leave, at, say);
                    return (at + bytes, verdict);
                }
                Form::Brackets => {
                    at += 1;
                    self.strays = 0;
                    self.form = Form::None;
                }
                Form::Word { quoted } => {
                    let (bytes, verdict) = self.word(rest, last, quoted);
                    at += bytes;
                    if verdict != Verdict::Done {
                        return (at, verdict);
                    }
                    self.strays = 0;
                    self.form = Form::None;
                }
                Form::None => match self.stray(rest, last) {
                    Strays::More => return (at, Verdict::More),
                    Strays::Object(bytes) => {
                        at += bytes;
                        self.mend(Mend::Stray);
                        self.form = Form::Object;
                    }
                    Strays::No => {
                        self.none(leave, at, say);
                        return (at, Verdict::Done);
                    }
                },
            }
        }
    }

    /// Why a call with these must not run, though its end is known.
    pub(super) fn spoilt(&self) -> Option<&'static str> {
        if self.json.too_deep() {
            Some(TOO_DEEP)
        } else if self.broken || self.json.broken() {
            Some(BROKEN)
        } else if self.json.lost() {
            Some(LOST_END)
        } else if self.json.unbalanced() {
            Some(UNBALANCED)
        } else {
            GUESSES.iter().find(|(mend, _)| self.has(*mend)).map(|(_, why)| *why)
        }
    }

    /// Whether the next call of the list begins behind them, its first key's quotation mark read with them.
    pub(super) fn resumed(&self) -> bool {
        self.json.resumed()
    }

    /// Whether this was mended.
    pub(super) fn has(&self, what: Mend) -> bool {
        (self.json.kinds() | self.mends) & what.bit() != 0
    }

    /// Nobody hears of these arguments: only where they end matters.
    pub(super) fn forget(&mut self) {
        self.json.forget();
    }

    fn mend(&mut self, what: Mend) {
        self.mends |= what.bit();
    }

    /// Where something had to be mended and mending is off, they are read to their end and no more of them is said.
    fn judge(&mut self, leave: Leave) {
        if self.mends != 0 && !leave.repairs && !self.broken {
            self.broken = true;
            self.json.mute();
        }
    }

    /// There are no arguments.
    fn none(&mut self, leave: Leave, at: usize, say: &mut dyn FnMut(&str, usize)) {
        self.judge(leave);
        say(if self.broken { "" } else { "{}" }, at);
    }

    /// Whether the arguments stand behind marks that mean nothing, and not the next call of a list.
    fn stray(&mut self, rest: &[u8], last: bool) -> Strays {
        let literal = self.form == Form::None;
        let on = rest.get(self.strays..rest.len().min(MOST_STRAYS)).unwrap_or_default();
        let strays = |byte: &&u8| {
            byte.is_ascii_whitespace() || (!literal && matches!(byte, b',' | b'}' | b']' | b')' | b':' | b'='))
        };
        let more = on.iter().take_while(strays).count();
        self.looks += (more + 1).min(on.len());
        self.strays += more;
        let here = rest.get(self.strays..).unwrap_or_default();
        match here.first() {
            None if last => Strays::No,
            None if self.strays < MOST_STRAYS => Strays::More,
            // A comma behind a closer parts this call from the next, whatever that is.
            Some(b'{') if self.next.has_siblings() && parts(rest.get(..self.strays).unwrap_or_default()) => Strays::No,
            Some(b'{') if self.strays < MOST_STRAYS => {
                self.ahead.again(here);
                match self.next.sibling(here, last, &mut self.ahead) {
                    None => Strays::More,
                    Some(true) => Strays::No,
                    Some(false) => Strays::Object(self.strays),
                }
            }
            _ => Strays::No,
        }
    }

    /// Decides on the form. `Err(Done)` means that there are no arguments.
    fn begin(&mut self, rest: &[u8], last: bool) -> Result<Option<usize>, Verdict> {
        let more = || if last { Err(Verdict::Failed(NO_OBJECT)) } else { Ok(None) };
        // What was seen to be white space isn't looked at again.
        let solid = |from: &mut usize| {
            let rest = rest.get(*from..).unwrap_or_default();
            let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            *from += blank;
            (blank < rest.len()).then_some(*from)
        };
        match rest.first() {
            None => return more(),
            Some(b'{') => {
                self.form = Form::Object;
                return Ok(Some(0));
            }
            Some(&quote @ (b'"' | b'\'')) => {
                let Some(first) = solid(&mut self.blank.0) else {
                    return if rest.len() > 64 { Err(Verdict::Failed(NO_OBJECT)) } else { more() };
                };
                if rest.get(first) != Some(&b'{') {
                    self.form = if quote == b'"' && rest.get(first) == Some(&b'\\') {
                        Form::Text
                    } else {
                        Form::Word { quoted: true }
                    };
                    return Ok(Some(1));
                }
                self.blank.1 = self.blank.1.max(first + 1);
                let Some(second) = solid(&mut self.blank.1) else {
                    return if rest.len() > 128 { Err(Verdict::Failed(NO_OBJECT)) } else { more() };
                };
                // In a string each quote of the object would be escaped.
                if quote == b'\'' || rest.get(second) == Some(&b'"') {
                    self.mend(Mend::Quotes);
                    self.raw_quote = Some(quote);
                    self.form = Form::Object;
                    return Ok(Some(first));
                }
                self.form = Form::Text;
                return Ok(Some(1));
            }
            Some(b'[') => {
                let Some(first) = solid(&mut self.blank.0) else {
                    return if rest.len() > 64 { Err(Verdict::Failed(NO_OBJECT)) } else { more() };
                };
                if rest.get(first) != Some(&b']') {
                    return Err(Verdict::Failed(NO_OBJECT));
                }
                self.mend(Mend::NoArguments);
                self.form = Form::Brackets;
                return Ok(Some(first));
            }
            Some(b',' | b'}' | b']' | b')' | b':' | b'=') => match self.stray(rest, last) {
                Strays::More => return Ok(None),
                Strays::Object(bytes) => {
                    self.mend(Mend::Stray);
                    self.form = Form::Object;
                    return Ok(Some(bytes));
                }
                Strays::No if matches!(rest.first(), Some(b',' | b'}' | b']')) => {
                    self.mend(Mend::NoArguments);
                    return Err(Verdict::Done);
                }
                Strays::No => return Err(Verdict::Failed(NO_OBJECT)),
            },
            Some(byte) if byte.is_ascii_alphabetic() => self.form = Form::Word { quoted: false },
            Some(_) => return Err(Verdict::Failed(NO_OBJECT)),
        }
        Ok(Some(0))
    }

    fn object(
        &mut self,
        rest: &[u8],
        last: bool,
        leave: Leave,
        base: usize,
        say: &mut dyn FnMut(&str, usize),
    ) -> (usize, Verdict) {
        let direct = self.json.direct(rest);
        if !direct.is_empty() {
            say(direct, base + direct.len());
            if direct.len() == rest.len() && !self.json.ended() {
                return (rest.len(), Verdict::More);
            }
        }
        let read = direct.len() + self.json.owed();
        let at = read + self.json.run(rest.get(read..).unwrap_or_default(), last);
        (at, self.hand_out(last, leave, base + at, say))
    }

    /// The way of a piece in the middle of a string: what of its front can go out as it stands. It counts as read.
    #[inline]
    pub(super) fn glide<'a>(&mut self, input: &'a [u8]) -> &'a str {
        if self.form == Form::Object { self.json.glide(input) } else { "" }
    }

    /// Passes on what can't change any more.
    fn hand_out(&mut self, last: bool, leave: Leave, at: usize, say: &mut dyn FnMut(&str, usize)) -> Verdict {
        let ended = self.json.ended();
        self.json.take(last || ended, |text| say(text, at));
        if self.json.held() > leave.room {
            Verdict::Failed(TOO_LARGE)
        } else if ended {
            Verdict::Done
        } else {
            Verdict::More
        }
    }

    /// Takes a JSON string's inside apart and reads the object that it holds. Only what the object's automaton has read
    /// counts as read, so that nothing depends on how much of the string came with it.
    fn inner(
        &mut self,
        rest: &[u8],
        last: bool,
        leave: Leave,
        base: usize,
        say: &mut dyn FnMut(&str, usize),
    ) -> (usize, Verdict) {
        if !last && rest.len() < self.patience {
            return (0, Verdict::More);
        }
        // Up to where the string was taken apart, and up to where that was read.
        let mut at = std::mem::take(&mut self.kept);
        let mut read_to = 0;
        let mut ended = false;
        // What was taken apart and not read is asked once more.
        let mut again = at > 0;
        loop {
            let mut plain = 0;
            if !std::mem::take(&mut again) {
                let here = rest.get(at..).unwrap_or_default();
                match here.first() {
                    None => break,
                    Some(b'"') => {
                        at += 1;
                        ended = true;
                    }
                    Some(b'\\') => match unescape(here, last, &mut self.text) {
                        Some((bytes, lone)) => {
                            at += bytes;
                            if lone {
                                self.mend(Mend::Surrogate);
                            } else if !is_escape(here.get(..bytes).unwrap_or_default()) {
                                self.mend(Mend::Escape);
                            }
                        }
                        None => break,
                    },
                    Some(_) => {
                        plain = if self.json.untouched() {
                            1
                        } else {
                            memchr::memchr2(b'"', b'\\', here).unwrap_or(here.len())
                        };
                        self.text.extend_from_slice(here.get(..plain).unwrap_or_default());
                        at += plain;
                    }
                }
            }
            self.judge(leave);
            if self.json.untouched() {
                match self.text.trim_ascii_start().first() {
                    Some(b'{') => {}
                    None if !ended && self.text.len() <= 64 => continue,
                    _ => return (at, Verdict::Failed(NO_OBJECT)),
                }
            }
            let mut read = 0;
            if !self.json.ended() {
                if last {
                    // All that can be known is known, however patient the automaton was.
                    self.json.hurry();
                }
                read = self.json.run(&self.text, ended);
                self.looks += read;
                self.text.drain(..read);
            }
            if self.json.ended() {
                self.text.clear();
            }
            read_to = match self.text.len() {
                0 => at,
                // What is left stands as it was written.
                unread if unread <= plain => at - unread,
                _ => read_to + self.written(rest.get(read_to..).unwrap_or_default(), read, last),
            };
            if ended {
                // The string is whole, so what it leaves open was meant to be closed.
                self.json.finish();
                break;
            }
        }
        // What wasn't read comes again.
        self.patience = if at > read_to { patience(at - read_to) } else { 0 };
        self.kept = at - read_to;
        let at = if ended { at } else { read_to };
        let verdict = match self.hand_out(ended, leave, base + at, say) {
            // The string goes on behind the object.
            Verdict::Done if !ended => Verdict::More,
            verdict => verdict,
        };
        if verdict == Verdict::Done {
            // The arguments reach to the end of their string, whatever stands behind the object.
            say("", base + at);
        }
        (at, verdict)
    }

    /// How many bytes of a string's inside make the first `length` bytes of its text.
    fn written(&mut self, rest: &[u8], length: usize, last: bool) -> usize {
        let unread = self.text.len();
        let mut at = 0;
        loop {
            let here = rest.get(at..).unwrap_or_default();
            let bytes = match here.first() {
                Some(b'\\') => unescape(here, last, &mut self.text).map_or(0, |(bytes, _)| bytes),
                Some(byte) => {
                    self.text.push(*byte);
                    1
                }
                None => 0,
            };
            if bytes == 0 || self.text.len() - unread > length {
                self.text.truncate(unread);
                self.looks += at;
                return at;
            }
            at += bytes;
        }
    }

    fn word(&mut self, rest: &[u8], last: bool, quoted: bool) -> (usize, Verdict) {
        let ends = |byte: u8| {
            if quoted { byte == b'"' || byte == b'\'' } else { !byte.is_ascii_alphabetic() }
        };
        let length = rest.iter().position(|&byte| ends(byte)).unwrap_or(rest.len());
        let reach = LONGEST_WORD - self.word.len().min(LONGEST_WORD);
        // No literal holds other characters, and none may be cut in two.
        if let Some(at) = rest.iter().take(length.min(reach)).position(|byte| !byte.is_ascii()) {
            return (at, Verdict::Failed(NO_OBJECT));
        }
        if length > reach {
            return (reach, Verdict::Failed(NO_OBJECT));
        }
        self.word.extend_from_slice(rest.get(..length).unwrap_or_default());
        if length == rest.len() && !last {
            return (length, Verdict::More);
        }
        let none = match self.word.trim_ascii() {
            b"" => quoted,
            b"null" | b"None" | b"undefined" | b"nil" => true,
            _ => false,
        };
        let closer = usize::from(quoted && length < rest.len());
        (length + closer, if none { Verdict::Done } else { Verdict::Failed(NO_OBJECT) })
    }
}

/// Whether a comma stands behind a closer.
fn parts(strays: &[u8]) -> bool {
    let closer = strays.iter().position(|byte| matches!(byte, b'}' | b']'));
    closer.and_then(|at| strays.get(at..)).is_some_and(|rest| rest.contains(&b','))
}

/// Decodes the escape at the front into `out`. Gives its length and whether half a surrogate pair was replaced; `None`
/// where more bytes are needed.
pub(super) fn unescape(rest: &[u8], last: bool, out: &mut Vec<u8>) -> Option<(usize, bool)> {
    let unit = |at: usize| {
        let digits = rest.get(at..at + 4)?;
        digits.iter().try_fold(0, |value, &byte| Some(value << 4 | char::from(byte).to_digit(16)?))
    };
    let Some(&byte) = rest.get(1) else {
        if last {
            out.push(b'\\');
            return Some((1, false));
        }
        return None;
    };
    let plain = match byte {
        b'"' | b'\\' | b'/' | b'\'' => byte,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => {
            let Some(value) = unit(2) else {
                // Four digits may still come.
                let cut = rest.get(2..).unwrap_or_default();
                if !last && cut.len() < 4 && cut.iter().all(u8::is_ascii_hexdigit) {
                    return None;
                }
                out.extend_from_slice(b"\\u");
                return Some((2, false));
            };
            let (value, length, lone) = match value {
                0xd800..=0xdbff => {
                    if rest.len() < 12 && !last && maybe_low(rest.get(6..).unwrap_or_default()) {
                        return None;
                    }
                    match (rest.get(6..8), unit(8)) {
                        (Some(b"\\u"), Some(low @ 0xdc00..=0xdfff)) => {
                            (0x1_0000 + ((value - 0xd800) << 10) + (low - 0xdc00), 12, false)
                        }
                        _ => (0xfffd, 6, true),
                    }
                }
                0xdc00..=0xdfff => (0xfffd, 6, true),
                _ => (value, 6, false),
            };
            let character = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            return Some((length, lone));
        }
        _ => {
            out.push(b'\\');
            return Some((1, false));
        }
    };
    out.push(plain);
    Some((2, false))
}

/// Whether this is an escape that JSON knows.
pub(super) fn is_escape(text: &[u8]) -> bool {
    text.len() > 2 || matches!(text, [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't'])
}

/// Whether this may become the escape of a low surrogate.
fn maybe_low(rest: &[u8]) -> bool {
    rest.iter().enumerate().all(|(at, byte)| match at {
        0 => *byte == b'\\',
        1 => *byte == b'u',
        _ => byte.is_ascii_hexdigit(),
    })
}
