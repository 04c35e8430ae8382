//! What the automaton asks of the bytes before it: how far plain text goes, what a byte is where structure is expected,
//! and the few bounded looks ahead that tell a quote inside a string from one that ends it. `None` means that more
//! bytes are needed. What goes farther than a few bytes counts them.

use super::super::next::Next;

/// No look ahead goes farther.
pub(super) const FAR: usize = 96;

/// What stands where structure is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// An ASCII byte that may mean something, or the first byte of anything else.
    Byte(u8),
    /// A typographic double quote.
    Curly,
    /// A typographic single quote.
    CurlySingle,
    /// `…`
    Ellipsis,
    /// A full-width colon or comma.
    Wide(u8),
    /// White space that JSON doesn't know, a byte order mark, a control character.
    Nothing,
}

/// How many bytes of a string hold neither `"`, nor `\`, nor a control character.
#[inline]
fn plain(input: &[u8]) -> usize {
    if input.len() < 8 { first_special(short_word(input)) } else { plain_long(input) }
}

fn plain_long(input: &[u8]) -> usize {
    const BLOCK: usize = 32;
    let special = |byte: u8| u8::from(byte == b'"') | u8::from(byte == b'\\') | u8::from(byte < 0x20);
    let mut at = 0;
    for block in input.as_chunks::<BLOCK>().0 {
        // Without an early exit the compiler turns this into vector instructions.
        if block.iter().fold(0, |any, &byte| any | special(byte)) != 0 {
            break;
        }
        at += BLOCK;
    }
    let (words, rest) = input.get(at..).unwrap_or_default().as_chunks::<8>();
    for word in words {
        let first = first_special(u64::from_le_bytes(*word));
        if first < 8 {
            return at + first;
        }
        at += 8;
    }
    at + first_special(short_word(rest))
}

/// Up to seven bytes, and zeros behind them.
#[inline]
fn short_word(bytes: &[u8]) -> u64 {
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        // The two overlap where there are fewer than eight.
        (Some(first), Some(last)) => {
            let behind = 8 * (bytes.len().min(8) - 4);
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << behind
        }
        _ => bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

/// How many of eight bytes stand before the first `"`, `\` or control character, a zero among them.
#[inline]
fn first_special(word: u64) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    // What is borrowed shows only behind the first that is found.
    let below = |word: u64, least: u64| word.wrapping_sub(ONES * least) & !word & HIGH;
    let quotes = below(word ^ (ONES * u64::from(b'"')), 1);
    let slashes = below(word ^ (ONES * u64::from(b'\\')), 1);
    ((below(word, 0x20) | quotes | slashes).trailing_zeros() / 8) as usize
}

/// How many bytes of a string are plain or whole escapes that JSON knows; `odd` is turned around for each quotation
/// mark among them.
#[inline]
pub(super) fn clean(input: &[u8], odd: &mut bool) -> usize {
    let at = plain(input);
    if input.get(at) == Some(&b'\\') { escapes(input, at, odd) } else { at }
}

/// The same from a backslash on.
fn escapes(input: &[u8], mut at: usize, odd: &mut bool) -> usize {
    while input.get(at) == Some(&b'\\') {
        let length = match input.get(at + 1) {
            Some(b'"') => {
                *odd = !*odd;
                2
            }
            Some(b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
            Some(b'u') => match unit(input, at) {
                Some(0xd800..=0xdbff) if matches!(unit(input, at + 6), Some(0xdc00..=0xdfff)) => 12,
                Some(0xd800..=0xdfff) | None => 0,
                Some(_) => 6,
            },
            _ => 0,
        };
        if length == 0 {
            break;
        }
        at += length;
        at += plain(input.get(at..).unwrap_or_default());
    }
    at
}

/// What the `\uXXXX` at `at` stands for.
fn unit(input: &[u8], at: usize) -> Option<u16> {
    match input.get(at..at + 6)? {
        [b'\\', b'u', digits @ ..] => {
            digits.iter().try_fold(0, |value, &byte| Some(value << 4 | char::from(byte).to_digit(16)? as u16))
        }
        _ => None,
    }
}

/// The same for strings in other quotes.
pub(super) fn plain_of_any(input: &[u8]) -> usize {
    let special = |byte: u8| matches!(byte, b'"' | b'\\' | b'\'' | b'`' | 0..0x20 | 0xc2 | 0xe2 | 0xe3 | 0xef);
    input.iter().position(|&byte| special(byte)).unwrap_or(input.len())
}

/// How many bytes end with a whole character, or with one that can't become whole.
pub(super) fn whole_characters(text: &[u8]) -> usize {
    let len = text.len();
    for back in 1..=3.min(len) {
        let needs = match text.get(len - back) {
            Some(0xc2..=0xdf) => 2,
            Some(0xe0..=0xef) => 3,
            Some(0xf0..=0xf4) => 4,
            Some(0x80..=0xbf) => continue,
            _ => 0,
        };
        return if needs > back { len - back } else { len };
    }
    len
}

pub(super) fn class(rest: &[u8], last: bool) -> Option<(Class, usize)> {
    let first = rest.first().copied().unwrap_or_default();
    if first < 0x80 {
        let nothing = first < 0x20 && !matches!(first, b'\n' | b'\r' | b'\t');
        return Some((if nothing { Class::Nothing } else { Class::Byte(first) }, 1));
    }
    let needs = match first {
        0xc2 => 2,
        0xe2 | 0xe3 | 0xef => 3,
        _ => return Some((Class::Byte(first), 1)),
    };
    if rest.len() < needs && !last && rest.iter().skip(1).all(|byte| (0x80..0xc0).contains(byte)) {
        return None;
    }
    let class = match rest.get(..needs) {
        Some([0xc2, 0xa0 | 0x85] | [0xe3, 0x80, 0x80] | [0xef, 0xbb, 0xbf]) => Class::Nothing,
        Some([0xe2, 0x80, 0x80..=0x8f | 0xa8 | 0xa9 | 0xaf] | [0xe2, 0x81, 0x9f | 0xa0]) => Class::Nothing,
        Some([0xe2, 0x80, 0x9c..=0x9f]) => Class::Curly,
        Some([0xe2, 0x80, 0x98..=0x9b] | [0xc2, 0xb4]) => Class::CurlySingle,
        Some([0xe2, 0x80, 0xa6]) => Class::Ellipsis,
        Some([0xef, 0xbc, 0x9a]) => Class::Wide(b':'),
        Some([0xef, 0xbc, 0x8c]) => Class::Wide(b','),
        _ => return Some((Class::Byte(first), 1)),
    };
    Some((class, needs))
}

/// Whether something stands here that ends the region: one of `closers`, or with `markers` what looks like a marker.
pub(super) fn foreign(rest: &[u8], last: bool, closers: &[&str], markers: bool) -> Option<bool> {
    let mut unsure = false;
    for closer in closers.iter().map(|closer| closer.as_bytes()).filter(|closer| !closer.is_empty()) {
        if rest.starts_with(closer) {
            return Some(true);
        }
        unsure |= closer.starts_with(rest);
    }
    if markers && rest.first() == Some(&b'<') {
        match rest.get(1) {
            Some(b'/' | b'|') => return Some(true),
            // U+FF5C, the bar of DeepSeek's markers.
            Some(0xef) => match rest.get(2..4) {
                Some([0xbd, 0x9c]) => return Some(true),
                None => unsure |= b"\xbd\x9c".starts_with(rest.get(2..).unwrap_or_default()),
                _ => {}
            },
            None => unsure = true,
            _ => {}
        }
    }
    if unsure && !last { None } else { Some(false) }
}

/// The byte after the first one; 0 if there is none.
pub(super) fn second(rest: &[u8], last: bool) -> Option<u8> {
    match rest.get(1) {
        Some(&byte) => Some(byte),
        None if last => Some(0),
        None => None,
    }
}

/// How long the ellipsis is that stands here, if one does.
pub(super) fn ellipsis(rest: &[u8], last: bool) -> Option<Option<usize>> {
    if rest.starts_with("…".as_bytes()) {
        return Some(Some("…".len()));
    }
    if rest.starts_with(b"...") {
        return Some(Some(3));
    }
    if !last && b"...".starts_with(rest) { None } else { Some(None) }
}

/// Counts looks ahead. What one found out isn't looked for again as long as the same bytes stand at the front.
#[derive(Debug, Clone, Default)]
pub(crate) struct Looks {
    /// How many bytes were looked at.
    pub(crate) count: usize,
    /// Where the front is kept, which look comes next, and what those before found out of these bytes.
    front: usize,
    next: usize,
    known: Vec<Known>,
}

/// That of the bytes from a place on so many are not what was looked for, and whether the next one is.
#[derive(Debug, Clone, Copy)]
struct Known {
    at: usize,
    seen: usize,
    found: bool,
}

impl Looks {
    /// The same question is asked once more of `rest`, or for the first time.
    pub(crate) fn again(&mut self, rest: &[u8]) {
        self.front = rest.as_ptr() as usize;
        self.next = 0;
    }

    /// It was answered.
    pub(crate) fn settle(&mut self) {
        self.known.clear();
    }
}

/// Where the first byte stands that `wanted` accepts, in `reach`. `looks` counts those looked at.
fn find(reach: &[u8], looks: &mut Looks, wanted: impl Fn(u8) -> bool) -> Option<usize> {
    let at = (reach.as_ptr() as usize).wrapping_sub(looks.front);
    let known = looks.known.get(looks.next).filter(|known| known.at == at).copied();
    if known.is_none() {
        looks.known.truncate(looks.next);
    }
    let Known { seen, found, .. } = known.unwrap_or(Known { at, seen: 0, found: false });
    let mut now = Known { at, seen, found };
    if !found {
        let news = reach.get(seen..).unwrap_or_default();
        let place = news.iter().position(|&byte| wanted(byte));
        looks.count += place.map_or(news.len(), |at| at + 1);
        now = Known { at, seen: seen + place.unwrap_or(news.len()), found: place.is_some() };
    }
    match looks.known.get_mut(looks.next) {
        Some(known) => *known = now,
        None => looks.known.push(now),
    }
    looks.next += 1;
    now.found.then_some(now.seen)
}

/// Skips white space and gives the rest; `None` if it doesn't end within reach.
fn solid<'a>(rest: &'a [u8], last: bool, looks: &mut Looks) -> Option<&'a [u8]> {
    let reach = rest.get(..FAR).unwrap_or(rest);
    match find(reach, looks, |byte| !byte.is_ascii_whitespace()) {
        Some(at) => rest.get(at..),
        None if last || rest.len() >= FAR => Some(&[]),
        None => None,
    }
}

/// Whether text, a quote, and then one of `ends` follow.
fn quoted(rest: &[u8], quote: u8, last: bool, ends: &[u8], looks: &mut Looks) -> Option<bool> {
    let reach = rest.get(..FAR).unwrap_or(rest);
    let stop = find(reach, looks, |byte| byte == quote || byte == b'\\' || byte < 0x20);
    match stop {
        Some(0) => Some(false),
        Some(at) if reach.get(at) == Some(&quote) => {
            let after = solid(rest.get(at + 1..).unwrap_or_default(), last, looks)?;
            Some(after.first().is_some_and(|byte| ends.contains(byte)))
        }
        Some(_) => Some(false),
        None if last || rest.len() >= FAR => Some(false),
        None => None,
    }
}

/// Whether `text":` follows.
pub(crate) fn quoted_key(rest: &[u8], last: bool, looks: &mut Looks) -> Option<bool> {
    key_in(rest, b'"', last, looks)
}

/// The same for any quote.
pub(crate) fn key_in(rest: &[u8], quote: u8, last: bool, looks: &mut Looks) -> Option<bool> {
    quoted(rest, quote, last, b":", looks)
}

/// The key in quotes that follows, and what stands behind its colon.
#[allow(clippy::type_complexity)] // two pieces of the input, if there are any
pub(crate) fn first_key<'a>(rest: &'a [u8], last: bool, looks: &mut Looks) -> Option<Option<(&'a [u8], &'a [u8])>> {
    let rest = solid(rest, last, looks)?;
    let Some((&quote @ (b'"' | b'\''), inside)) = rest.split_first() else { return Some(None) };
    let reach = inside.get(..FAR).unwrap_or(inside);
    match find(reach, looks, |byte| byte == quote || byte == b'\\' || byte < 0x20) {
        Some(at) if reach.get(at) == Some(&quote) => {
            let after = solid(inside.get(at + 1..).unwrap_or_default(), last, looks)?;
            let Some((b':', behind)) = after.split_first() else { return Some(None) };
            Some(Some((reach.get(..at).unwrap_or_default(), solid(behind, last, looks)?)))
        }
        Some(_) => Some(None),
        None if last || inside.len() >= FAR => Some(None),
        None => None,
    }
}

/// The key of which the opening quote stands before `inside`, and what stands behind its colon.
#[allow(clippy::type_complexity)] // two pieces of the input, if there are any
pub(crate) fn rest_of_key<'a>(inside: &'a [u8], last: bool, looks: &mut Looks) -> Option<Option<(&'a [u8], &'a [u8])>> {
    let reach = inside.get(..FAR).unwrap_or(inside);
    match find(reach, looks, |byte| matches!(byte, b'"' | b'\\' | 0..0x20)) {
        Some(at) if reach.get(at) == Some(&b'"') => {
            let after = solid(inside.get(at + 1..).unwrap_or_default(), last, looks)?;
            let Some((b':', behind)) = after.split_first() else { return Some(None) };
            Some(Some((reach.get(..at).unwrap_or_default(), solid(behind, last, looks)?)))
        }
        Some(_) => Some(None),
        None if last || inside.len() >= FAR => Some(None),
        None => None,
    }
}

/// Whether white space and then the next call of a list follow.
pub(crate) fn then_sibling(rest: &[u8], last: bool, next: Next, looks: &mut Looks) -> Option<bool> {
    if !next.has_siblings() {
        return Some(false);
    }
    next.sibling(solid(rest, last, looks)?, last, looks)
}

/// Whether behind the closer that stands here a container follows, or, perhaps behind a comma, a string that is no key.
pub(super) fn value_behind(rest: &[u8], last: bool, looks: &mut Looks) -> Option<bool> {
    let mut next = solid(rest.get(1..).unwrap_or_default(), last, looks)?;
    if matches!(next.first(), Some(b'{' | b'[')) {
        return Some(true);
    }
    if let Some((b',', behind)) = next.split_first() {
        next = solid(behind, last, looks)?;
    }
    match next.split_first() {
        Some((b'"', inside)) => Some(!quoted_key(inside, last, looks)?),
        _ => Some(false),
    }
}

/// Whether the bracket that stands here, where no array is open, ends the list around: what would go on behind one too
/// many doesn't.
pub(super) fn list_ends(rest: &[u8], last: bool, looks: &mut Looks) -> Option<bool> {
    let next = solid(rest.get(1..).unwrap_or_default(), last, looks)?;
    Some(!matches!(next.first(), Some(b',' | b'}' | b']' | b':')))
}

/// Whether a number or a bracket follows: no key begins so.
pub(super) fn value_in(rest: &[u8], last: bool, looks: &mut Looks) -> Option<bool> {
    Some(matches!(solid(rest, last, looks)?.first(), Some(b'0'..=b'9' | b'-' | b'{' | b'[')))
}

/// Whether white space and a colon follow.
pub(crate) fn colon_in(rest: &[u8], last: bool, looks: &mut Looks) -> Option<bool> {
    Some(solid(rest, last, looks)?.first() == Some(&b':'))
}

/// Whether the quotation mark that came before was one too many, and the string began with the one before it: the next
/// one ends it.
pub(super) fn doubled(rest: &[u8], key: bool, array: bool, last: bool, looks: &mut Looks) -> Option<bool> {
    let reach = rest.get(..FAR).unwrap_or(rest);
    match find(reach, looks, |byte| matches!(byte, b'"' | b'\\' | 0..0x20)) {
        Some(at) if reach.get(at) == Some(&b'"') => {
            let after = solid(rest.get(at + 1..).unwrap_or_default(), last, looks)?;
            match after.split_first() {
                Some((b':', _)) => Some(key),
                Some((b'}' | b']', _)) | None => Some(!key),
                Some((b',', behind)) if !key => next(behind, array, last, looks),
                _ => Some(false),
            }
        }
        None if !last && rest.len() < FAR => None,
        _ => Some(!key),
    }
}

/// Whether the colon and the quotation mark that stand here changed places: a value follows them.
pub(super) fn swapped(rest: &[u8], last: bool, looks: &mut Looks) -> Option<bool> {
    if second(rest, last)? != b'"' {
        return Some(false);
    }
    let behind = rest.get(2..).unwrap_or_default();
    let value = solid(behind, last, looks)?;
    let apart = value.len() < behind.len();
    Some(match value.first() {
        Some(b'"' | b'{' | b'[') => true,
        Some(b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => apart,
        _ => false,
    })
}

/// Whether the key in which a colon came before goes on up to its closing quote.
pub(super) fn key_goes_on(rest: &[u8], last: bool, looks: &mut Looks) -> Option<bool> {
    let reach = rest.get(..FAR).unwrap_or(rest);
    match find(reach, looks, |byte| matches!(byte, b'"' | b'\\' | 0..0x20)) {
        Some(at) => match reach.get(at) {
            Some(b'"') => colon_in(rest.get(at + 1..).unwrap_or_default(), last, looks),
            byte => Some(byte == Some(&b'\\')),
        },
        None if last || rest.len() >= FAR => Some(false),
        None => None,
    }
}

/// Whether `text",` or `text"]` follows.
pub(super) fn quoted_element(rest: &[u8], last: bool, looks: &mut Looks) -> Option<bool> {
    quoted(rest, b'"', last, b",]", looks)
}

/// Whether `name:` follows, or `name":`, of which the first quote is missing.
pub(super) fn bare_key(rest: &[u8], last: bool, looks: &mut Looks) -> Option<bool> {
    let reach = rest.get(..FAR).unwrap_or(rest);
    let word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'-' | b'.') || byte >= 0x80;
    match find(reach, looks, |byte| !word(byte)) {
        Some(0) => Some(false),
        Some(at) => {
            let behind = rest.get(at..).unwrap_or_default();
            colon_in(behind.strip_prefix(b"\"").unwrap_or(behind), last, looks)
        }
        None if last || rest.len() >= FAR => Some(false),
        None => None,
    }
}

/// Whether the next member of an object follows a comma, or its end.
pub(super) fn member(rest: &[u8], last: bool, looks: &mut Looks) -> Option<bool> {
    let next = solid(rest, last, looks)?;
    match next.first() {
        Some(&quote @ (b'"' | b'\'')) => quoted(next.get(1..).unwrap_or_default(), quote, last, b":", looks),
        Some(b'}' | b']') => Some(true),
        Some(_) => bare_key(next, last, looks),
        None => Some(last),
    }
}

/// Whether the next element of an array follows a comma, or its end.
pub(super) fn element(rest: &[u8], last: bool, looks: &mut Looks) -> Option<bool> {
    let next = solid(rest, last, looks)?;
    match next.first() {
        Some(b'"' | b'\'' | b'{' | b'[' | b']' | b'-' | b'0'..=b'9') => Some(true),
        Some(_) => literal(next, last),
        None => Some(last),
    }
}

/// Whether the next of what stands in a container follows a comma, or its end.
fn next(rest: &[u8], array: bool, last: bool, looks: &mut Looks) -> Option<bool> {
    if array { element(rest, last, looks) } else { member(rest, last, looks) }
}

/// Whether a comma and an element of an array follow, or the array's end.
pub(super) fn element_behind(rest: &[u8], last: bool, looks: &mut Looks) -> Option<bool> {
    match solid(rest, last, looks)?.split_first() {
        Some((b']', _)) => Some(true),
        Some((b',', behind)) => match solid(behind, last, looks)?.split_first() {
            Some((b'"', inside)) => Some(!quoted_key(inside, last, looks)?),
            byte => Some(matches!(byte, Some((b'{' | b'[' | b'-' | b'0'..=b'9', _)))),
        },
        _ => Some(false),
    }
}

/// Whether a comma and what may stand behind it follow: the next member of an object, the next element of an array.
pub(super) fn next_behind(rest: &[u8], array: bool, last: bool, looks: &mut Looks) -> Option<bool> {
    match solid(rest, last, looks)?.split_first() {
        Some((b',', behind)) => next(behind, array, last, looks),
        _ => Some(false),
    }
}

/// Whether a comma and a key in quotes follow.
pub(super) fn key_behind(rest: &[u8], last: bool, looks: &mut Looks) -> Option<bool> {
    let Some((b',', behind)) = solid(rest, last, looks)?.split_first() else { return Some(false) };
    let Some((b'"', inside)) = solid(behind, last, looks)?.split_first() else { return Some(false) };
    quoted_key(inside, last, looks)
}

/// Whether a closer follows, or a comma and what may stand behind it.
pub(super) fn ends_behind(rest: &[u8], array: bool, last: bool, looks: &mut Looks) -> Option<bool> {
    match solid(rest, last, looks)?.split_first() {
        Some((b'}' | b']', _)) => Some(true),
        Some((b',', behind)) => next(behind, array, last, looks),
        _ => Some(false),
    }
}

/// Whether the closers that stand here do close: no quote follows them.
pub(super) fn closers(rest: &[u8], last: bool, looks: &mut Looks) -> Option<bool> {
    let reach = rest.get(..FAR).unwrap_or(rest);
    match find(reach, looks, |byte| !matches!(byte, b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t')) {
        Some(at) => Some(reach.get(at) != Some(&b'"')),
        None if last || rest.len() >= FAR => Some(true),
        None => None,
    }
}

/// How many bytes of bare words stand here between a string's end and what ends its container or begins the next member
/// of it.
pub(super) fn words(rest: &[u8], array: bool, last: bool, looks: &mut Looks) -> Option<Option<usize>> {
    let reach = rest.get(..FAR).unwrap_or(rest);
    let part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_' | b'-') || byte >= 0x80;
    let Some(at) = find(reach, looks, |byte| !part(byte)) else {
        return if last || rest.len() >= FAR { Some(None) } else { None };
    };
    let behind = rest.get(at..).unwrap_or_default();
    let ends = match behind.first() {
        Some(b'}' | b']') => closers(behind, last, looks)?,
        Some(b',') => next(behind.get(1..).unwrap_or_default(), array, last, looks)?,
        _ => false,
    };
    Some(ends.then_some(at))
}

/// How many bytes lead over a `+` into the next part of a string in parts.
pub(super) fn concatenation(rest: &[u8], last: bool, looks: &mut Looks) -> Option<Option<usize>> {
    let after = rest.get(1..).unwrap_or_default();
    let next = solid(after, last, looks)?;
    Some((next.first() == Some(&b'"')).then(|| rest.len() - next.len() + 1))
}

/// Whether a literal of JSON or Python follows.
pub(super) fn literal(rest: &[u8], last: bool) -> Option<bool> {
    let mut unsure = false;
    for word in ["true", "false", "null", "True", "False", "None"] {
        if let Some(after) = rest.strip_prefix(word.as_bytes()) {
            match after.first() {
                Some(byte) => return Some(!byte.is_ascii_alphanumeric()),
                None if last => return Some(true),
                None => return None,
            }
        }
        unsure |= word.as_bytes().starts_with(rest);
    }
    if unsure && !last { None } else { Some(false) }
}

/// Whether blanks and then one of `ends` follow, or the end of everything.
pub(super) fn then(rest: &[u8], last: bool, ends: &[u8], looks: &mut Looks) -> Option<bool> {
    let reach = rest.get(..FAR).unwrap_or(rest);
    match find(reach, looks, |byte| !matches!(byte, b' ' | b'\t' | b'\r')) {
        Some(at) => Some(reach.get(at).is_some_and(|byte| ends.contains(byte))),
        None if last => Some(true),
        None if rest.len() >= FAR => Some(false),
        None => None,
    }
}

/// Whether the bracket at the front looks like the beginning of JSON rather than of prose.
pub(crate) fn begins_container(rest: &[u8]) -> bool {
    let next = solid(rest.get(1..).unwrap_or_default(), true, &mut Looks::default()).unwrap_or_default();
    match (rest.first(), next.first()) {
        (Some(b'{'), Some(b'"' | b'\'' | b'}' | b'\\' | b'/')) | (Some(b'{' | b'['), None) => true,
        (Some(b'{'), Some(b'{')) => begins_key(next.get(1..).unwrap_or_default()),
        (Some(b'{'), Some(_)) => begins_key(next),
        (Some(b'['), Some(b'"' | b'\'' | b'{' | b'[' | b']' | b'-' | b'0'..=b'9')) => true,
        (Some(b'['), Some(_)) => literal(next, true) == Some(true) || next.starts_with("“".as_bytes()),
        _ => false,
    }
}

fn begins_key(rest: &[u8]) -> bool {
    let rest = solid(rest, true, &mut Looks::default()).unwrap_or_default();
    rest.first() == Some(&b'"')
        || rest.starts_with("“".as_bytes())
        || bare_key(rest, true, &mut Looks::default()) == Some(true)
}
