//! One pass over a text: the keywords of all detectors at once, then each woken detector where its keyword stands, and
//! runs of digits beside. The time is linear in the text: each look is bounded, whatever the text holds.

use std::{ops::Range, sync::OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use loopwright_base::text::{ceil_boundary, floor_boundary};
use regex::bytes::{Regex, RegexBuilder};

use super::{
    super::names,
    Hit, Level,
    detector::{self, Check, Detector, Find},
    encoded, label, personal, shape, value,
};

/// How far an expression that begins at its keyword may reach.
const REACH: usize = 16 * 1024;

struct Row {
    detector: &'static Detector,
    form: OnceLock<Option<Regex>>,
    any_case: bool,
}

impl Row {
    fn form(&self) -> Option<&Regex> {
        self.form
            .get_or_init(|| match &self.detector.find {
                Find::Here(form) | Find::Near { form, .. } => compile(form),
                Find::Label | Find::Encoded | Find::Mail | Find::Digits => None,
            })
            .as_ref()
    }
}

fn compile(form: &str) -> Option<Regex> {
    RegexBuilder::new(form).unicode(false).size_limit(1 << 24).dfa_size_limit(1 << 20).build().ok()
}

struct Scanner {
    rows: Vec<Row>,
    keywords: AhoCorasick,
    /// The rows that a keyword wakes.
    wakes: Vec<Vec<u16>>,
}

fn scanner() -> Option<&'static Scanner> {
    static SCANNER: OnceLock<Option<Scanner>> = OnceLock::new();
    SCANNER
        .get_or_init(|| {
            let rows: Vec<Row> = detector::all()
                .iter()
                .map(|detector| {
                    let any_case = match &detector.find {
                        Find::Here(form) => form.starts_with("(?i)"),
                        _ => true,
                    };
                    Row { detector, form: OnceLock::new(), any_case }
                })
                .collect();
            let mut words: Vec<String> = Vec::new();
            let mut wakes: Vec<Vec<u16>> = Vec::new();
            for (at, row) in rows.iter().enumerate() {
                for keyword in &row.detector.keywords {
                    let word = keyword.to_ascii_lowercase();
                    let place = words.iter().position(|known| *known == word).unwrap_or_else(|| {
                        words.push(word);
                        wakes.push(Vec::new());
                        words.len() - 1
                    });
                    if !wakes[place].contains(&(at as u16)) {
                        wakes[place].push(at as u16);
                    }
                }
            }
            let keywords = AhoCorasick::builder()
                .match_kind(MatchKind::Standard)
                .ascii_case_insensitive(true)
                .kind(Some(AhoCorasickKind::DFA))
                .build(&words)
                .ok()?;
            Some(Scanner { rows, keywords, wakes })
        })
        .as_ref()
}

struct Found {
    span: Range<usize>,
    row: u16,
}

/// All hits at or above a level, in order, none inside another.
pub(super) fn hits(text: &str, least: Level) -> Vec<Hit> {
    let Some(scanner) = scanner() else { return Vec::new() };
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    scanner.by_keyword(bytes, &mut found, 0);
    scanner.by_digits(bytes, &mut found);
    if found.is_empty() {
        return Vec::new();
    }
    for one in &mut found {
        one.span = floor_boundary(text, one.span.start)..ceil_boundary(text, one.span.end);
    }
    // The most telling detector names a find; what lies inside another's span is the same find.
    found.sort_by_key(|one| (one.span.start, one.row));
    let mut kept: Vec<Found> = Vec::with_capacity(found.len());
    for one in found {
        if let Some(last) = kept.last_mut()
            && one.span.start < last.span.end
        {
            let end = last.span.end.max(one.span.end);
            let level = |row: u16| scanner.rows[usize::from(row)].detector.level;
            if (level(one.row), last.row) > (level(last.row), one.row) {
                last.row = one.row;
            }
            last.span.end = end;
            continue;
        }
        kept.push(one);
    }
    kept.into_iter()
        .filter_map(|one| {
            let detector = scanner.rows.get(usize::from(one.row))?.detector;
            (detector.level >= least).then_some(Hit {
                detector: &detector.id,
                level: detector.level,
                span: one.span,
                why: &detector.why,
            })
        })
        .collect()
}

const fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether a token may begin here: behind no letter, digit or `-`, unless they end an escape as `\n` or `%20`.
fn begins(text: &[u8], start: usize) -> bool {
    let Some(before) = start.checked_sub(1).map(|at| text[at]) else { return true };
    if before == b'.' && start.checked_sub(2).is_some_and(|at| word(text[at])) {
        // The ending of a name of a file, a member of something.
        return false;
    }
    if !word(before) && before != b'-' {
        return true;
    }
    let escape = |back: usize| start.checked_sub(back).map(|at| text[at]);
    (matches!(before, b'n' | b'r' | b't') && escape(2) == Some(b'\\'))
        || (before.is_ascii_hexdigit() && escape(3) == Some(b'%'))
        || (before == b'-' && escape(2) != Some(b'-') && !escape(2).is_some_and(word))
}

impl Scanner {
    fn by_keyword(&self, text: &[u8], found: &mut Vec<Found>, depth: usize) {
        let Ok(matches) = self.keywords.try_find_overlapping_iter(text) else { return };
        let mut done = vec![0_usize; self.rows.len()];
        let mut named = 0;
        for hit in matches {
            let (start, end) = (hit.start(), hit.end());
            for &at in &self.wakes[hit.pattern().as_usize()] {
                let row = &self.rows[usize::from(at)];
                if start < done[usize::from(at)] {
                    continue;
                }
                let span = match &row.detector.find {
                    Find::Here(_) => Self::here(text, row, start..end),
                    Find::Near { back, ahead, .. } => near(text, row, start, end, *back, *ahead),
                    Find::Label => {
                        if start < named {
                            None
                        } else {
                            let (end, span) = label::look(text, start..end);
                            named = end;
                            span
                        }
                    }
                    Find::Encoded if depth < encoded::DEPTH => {
                        encoded::decoded(text, &(start..end)).and_then(|(span, inner)| {
                            // Read once, whatever it holds.
                            done[usize::from(at)] = span.end;
                            self.holds_secret(&inner, depth + 1).then_some(span)
                        })
                    }
                    Find::Mail => personal::mail(text, start),
                    Find::Encoded | Find::Digits => None,
                };
                if let Some(span) = span {
                    done[usize::from(at)] = span.end;
                    found.push(Found { span, row: at });
                }
            }
        }
    }

    fn holds_secret(&self, text: &[u8], depth: usize) -> bool {
        let mut found = Vec::new();
        self.by_keyword(text, &mut found, depth);
        found.iter().any(|one| self.rows[usize::from(one.row)].detector.level == Level::Secret)
    }

    fn here(text: &[u8], row: &Row, keyword: Range<usize>) -> Option<Range<usize>> {
        if !begins(text, keyword.start) {
            return None;
        }
        let stands = &text[keyword.clone()];
        if !row.any_case && !row.detector.keywords.iter().any(|word| word.as_bytes() == stands) {
            return None;
        }
        let window = &text[keyword.start..text.len().min(keyword.start + REACH)];
        let captures = row.form()?.captures(window)?;
        let whole = captures.get(0)?;
        let one = captures.get(1).unwrap_or(whole);
        let span = keyword.start + one.start()..keyword.start + one.end();
        // A longer word is something else.
        if row.detector.check != Check::PrivateKey
            && text.get(span.end).is_some_and(|next| word(*next) || matches!(next, b'#' | b'*'))
            && one.end() == whole.end()
        {
            return None;
        }
        let body =
            if span.start < keyword.end && span.end > keyword.end { keyword.end..span.end } else { span.clone() };
        checked(text, row.detector.check, &span, &body)
    }

    fn by_digits(&self, text: &[u8], found: &mut Vec<Found>) {
        let row_of = |id: &str| self.rows.iter().position(|row| row.detector.id == id);
        let discord = row_of("discord-bot-token");
        let mut place = 0;
        while place < text.len() {
            if text[place] == b'.'
                && text.get(place + 7) == Some(&b'.')
                && let Some(span) = three_parts(text, place)
                && let Some(row) = discord
            {
                found.push(Found { span, row: row as u16 });
            }
            if !text[place].is_ascii_digit() {
                place += 1;
                continue;
            }
            if let Some((id, span)) = personal::digits(text, place)
                && let Some(row) = row_of(id)
            {
                place = place.max(span.end);
                found.push(Found { span, row: row as u16 });
                continue;
            }
            while place < text.len() && text[place].is_ascii_digit() {
                place += 1;
            }
        }
    }
}

/// A number in base64, six characters of a time, and a signature, around the first dot: the token of a Discord bot.
fn three_parts(text: &[u8], dot: usize) -> Option<Range<usize>> {
    let part = |byte: u8| word(byte) || byte == b'-';
    let start = (0..dot).rev().take(29).take_while(|at| part(text[*at])).last()?;
    let end = (dot + 8..text.len()).take(60).take_while(|at| part(text[*at])).last()? + 1;
    let formed = (23..=28).contains(&(dot - start))
        && (27..=45).contains(&(end - dot - 8))
        && text[dot + 1..dot + 7].iter().all(|byte| part(*byte))
        && matches!(text[start], b'M' | b'N' | b'O');
    (formed && random(&text[start..end])).then_some(start..end)
}

fn near(text: &[u8], row: &Row, start: usize, end: usize, back: usize, ahead: usize) -> Option<Range<usize>> {
    let from = start.saturating_sub(back);
    let window = &text[from..text.len().min(end + ahead)];
    let form = row.form()?;
    form.captures_iter(window).find_map(|captures| {
        let one = captures.iter().skip(1).flatten().next().or_else(|| captures.get(0))?;
        let span = from + one.start()..from + one.end();
        checked(text, row.detector.check, &span, &span).map(|span| shape::whole(text, span))
    })
}

fn checked(text: &[u8], check: Check, span: &Range<usize>, body: &Range<usize>) -> Option<Range<usize>> {
    let value = &text[span.clone()];
    let body = &text[body.clone()];
    let holds = match check {
        Check::None => true,
        Check::Whole => !text[span.end..].starts_with(b"..."),
        Check::Real => !shape::stand_in(body),
        Check::Entropy => !shape::stand_in(body) && shape::entropy(body) * 10.0 >= f64::from(entropy_of(body.len())),
        Check::Chosen => {
            !shape::stand_in(body)
                && body
                    .iter()
                    .any(|byte| byte.is_ascii_digit() || matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'&' | b'*'))
        }
        Check::Random => !shape::stand_in(body) && random(body),
        Check::Jwt => jwt(value),
        Check::Basic => basic(value),
        Check::Password => value != b"password" && password(value),
        Check::Address => password(value) && address(text, span),
        Check::PrivateKey => return private_key(text, span),
    };
    holds.then(|| span.clone())
}

/// Short strings can't have much entropy: what is asked of them, in tenths of bits.
const fn entropy_of(length: usize) -> u32 {
    match length {
        0..=9 => 15,
        10..=15 => 22,
        16..=23 => 25,
        _ => 28,
    }
}

fn random(value: &[u8]) -> bool {
    let shape = shape::Shape::of(value);
    shape.random() && shape::entropy(value) >= 2.8
}

fn jwt(value: &[u8]) -> bool {
    let header = value.split(|byte| *byte == b'.').next().unwrap_or_default();
    let header = shape::base64(&header[..header.len().min(4000)], 3000);
    let text = String::from_utf8_lossy(&header);
    let text = text.trim();
    text.starts_with('{')
        && text.ends_with('}')
        && !text.contains("\"none\"")
        && ["\"alg\"", "\"typ\"", "\"enc\"", "\"kid\""].iter().any(|member| text.contains(member))
}

pub(super) fn basic(value: &[u8]) -> bool {
    let decoded = shape::base64(value, 300);
    let Some(colon) = memchr::memchr(b':', &decoded) else { return false };
    std::str::from_utf8(&decoded).is_ok_and(|text| !text.contains(char::is_control))
        && decoded.len() > colon + 2
        && !shape::masked(&decoded[colon + 1..])
}

fn password(value: &[u8]) -> bool {
    let plain = matches!(value, b"passwd" | b"pwd" | b"PASSWORD" | b"Password" | b"PASS" | b"x-oauth-basic");
    value.len() > 2
        && !plain
        && !shape::masked(value)
        && !shape::sequence(value)
        && !matches!(value[0], b'$' | b'<' | b'[' | b'{' | b'%')
        && memchr::memmem::find(value, super::redact::MARK).is_none()
}

/// Whether the password of an address may be one: `postgres://user:pass@host/db` only shows the form.
fn address(text: &[u8], span: &Range<usize>) -> bool {
    let value = &text[span.clone()];
    // `host:8080#part`, not `user:12#4`.
    let part = value.iter().take_while(|byte| byte.is_ascii_digit()).count() > 1 && value.contains(&b'#');
    if part || value::stands_for(value) {
        return false;
    }
    let before = &text[..span.start.saturating_sub(1)];
    let user = &before[memchr::memrchr(b'/', before).map_or(0, |at| at + 1)..];
    let behind = text.get(span.end + 1..).unwrap_or_default();
    let end = behind.iter().position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')));
    let host = behind[..end.unwrap_or(behind.len())].to_ascii_lowercase();
    let only_shown = host.split(|byte| *byte == b'.').any(|part| {
        let letters = part.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        matches!(
            &part[..letters],
            b"example" | b"host" | b"hostname" | b"dbhost" | b"yourhost" | b"myhost" | b"domain" | b"path"
        ) && part[letters..].iter().all(u8::is_ascii_digit)
    });
    // What nobody writes to show a form: `chakkA12+`.
    let of = |wanted: fn(&u8) -> bool| usize::from(value.iter().any(wanted));
    let kinds =
        of(u8::is_ascii_lowercase) + of(u8::is_ascii_uppercase) + of(u8::is_ascii_digit) + of(u8::is_ascii_punctuation);
    if kinds >= 3 + usize::from(value.contains(&b'%'))
        && value.len() >= 8
        && !value.iter().any(|byte| matches!(byte, b'{' | b'<' | b'$' | b'(' | b'_'))
        && memchr::memchr_iter(b'%', value)
            .all(|at| value.get(at + 1..at + 3).is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit)))
    {
        return true;
    }
    // `user:secret123@api.example.com`: nobody who only shows the form puts digits behind a word.
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let made_up =
        digits >= 2 && value.len() >= 8 && value.iter().filter(|byte| byte.is_ascii_alphabetic()).count() >= 4;
    if digits > 0 && (!only_shown || made_up) && !shape::names(value) {
        return true;
    }
    let user_shown = user.is_empty() || user.iter().any(|byte| matches!(byte, b'%' | b'$' | b'{' | b'<')) || {
        let words = shape::words(user, 6);
        !words.is_empty() && words.iter().all(|word| names::has("secret_values.shown_users", word))
    };
    if shape::names(value) {
        // `admin:password@db.internal` is one, `user:password@localhost` is none.
        return !only_shown && !user_shown && value != user && !matches!(value, b"foo" | b"bar" | b"baz");
    }
    !(only_shown || host.is_empty() && user_shown)
}

/// From the header to the end of the key: to its last line, or as far as it goes on in base64.
fn private_key(text: &[u8], header: &Range<usize>) -> Option<Range<usize>> {
    let rest = &text[header.end..text.len().min(header.end + REACH)];
    if let Some(end) = memchr::memmem::find(rest, b"-----END").or_else(|| memchr::memmem::find(rest, b"---- END"))
        && memchr::memmem::find(&rest[..end], b"-----BEGIN").is_none()
    {
        let body = rest[..end].iter().filter(|byte| byte.is_ascii_alphanumeric()).count();
        // Of a key that is cut off nothing can be made.
        if body < 24 || memchr::memmem::find(&rest[..end], b"...").is_some() {
            return None;
        }
        let line = rest.get(end + 8..).unwrap_or_default();
        let close = memchr::memmem::find(&line[..line.len().min(80)], b"----").map_or(0, |at| at + 4);
        let mut close = header.end + end + 8 + close;
        while text.get(close) == Some(&b'-') {
            close += 1;
        }
        return Some(header.start..close);
    }
    let mut end = 0;
    let mut body = 0;
    for (at, byte) in rest.iter().enumerate() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' | b'=' => {
                body += 1;
                end = at + 1;
            }
            b'\n' | b'\r' | b' ' | b'\t' | b'\\' | b'"' | b'\'' | b',' if at - end < 12 => {}
            _ => break,
        }
    }
    let rest_of_line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let alone = rest_of_line.iter().all(u8::is_ascii_whitespace);
    if alone || (body >= 24 && !rest.starts_with(b"\"") && !rest.starts_with(b"'")) {
        return Some(header.start..header.end + if body >= 24 { end } else { 0 });
    }
    (text[header.clone()].starts_with(b"LS0") || text[header.clone()].starts_with(b"tLS")).then(|| header.clone())
}
