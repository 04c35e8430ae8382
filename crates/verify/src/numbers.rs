//! The numbers of a text, however they are written: digits of any script, groups of thousands in any style, scales,
//! words, fractions, times, and what they count.
//!
//! What can be read in two ways (`1.000`, `2 000`) has two readings, and either will do. Values are compared as decimal
//! strings, quantities in the base unit of their kind. Work is linear in the text.

use super::{spelled, units::Unit};

/// Longer runs of digits are no numbers that anybody compares.
const LONGEST: usize = 40;
/// Groups of digits in one number.
const MOST_GROUPS: usize = 8;

/// A number in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// Where it starts, and where what belongs to it ends.
    pub bytes: std::ops::Range<usize>,
    /// The values that it may mean: of one reading all must be found.
    pub readings: Vec<Vec<String>>,
    /// What it counts, where that is a unit of measure.
    pub(super) unit: Option<Unit>,
    /// Whether it is written in words.
    pub in_words: bool,
}

/// The digit that `c` is, in any script that writes ten of them.
pub(super) fn digit(c: char) -> Option<char> {
    const ZEROS: [u32; 40] = [
        0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6, 0xE50, 0xED0, 0xF20,
        0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0,
        0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10, 0x1_D7CE, 0x1_D7D8, 0x1_D7E2, 0x1_D7EC,
    ];
    if c.is_ascii() {
        return c.is_ascii_digit().then_some(c);
    }
    let code = c as u32;
    let at = ZEROS.partition_point(|zero| *zero <= code).checked_sub(1)?;
    char::from_digit(code.checked_sub(*ZEROS.get(at)?).filter(|value| *value < 10)?, 10)
}

/// Half, quarters and the like in one character.
fn vulgar(c: char) -> Option<f64> {
    Some(match c {
        '½' => 0.5,
        '¼' => 0.25,
        '¾' => 0.75,
        '⅓' => 1.0 / 3.0,
        '⅔' => 2.0 / 3.0,
        '⅛' => 0.125,
        '⅜' => 0.375,
        '⅝' => 0.625,
        '⅞' => 0.875,
        '⅕' => 0.2,
        '⅖' => 0.4,
        '⅗' => 0.6,
        '⅘' => 0.8,
        _ => return None,
    })
}

/// All numbers of a text, in order.
pub fn numbers(text: &str) -> Vec<Number> {
    let mut all: Vec<Number> = Vec::new();
    let mut at = 0;
    // Whether the last character belongs to a word.
    let mut inside = false;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or_default();
        let found = if digit(c).is_some() || vulgar(c).is_some() {
            Some(digits(rest))
        } else if !inside && c.is_alphabetic() {
            spelled::number(rest).or_else(|| spelled::han(rest))
        } else {
            None
        };
        let Some((length, readings, in_words)) = found else {
            if inside || !c.is_alphabetic() {
                inside = c.is_alphanumeric();
                at += c.len_utf8();
            } else {
                // A word that is no number is left as a whole, unless its script has no spaces.
                let word = if c.is_ascii() { rest.bytes().take_while(u8::is_ascii_alphabetic).count() } else { 0 };
                at += word.max(c.len_utf8());
                inside = c.is_ascii();
            }
            continue;
        };
        let (start, end) = (at, at + length.max(1));
        let before = text.get(..start).unwrap_or_default();
        let after = text.get(end..).unwrap_or_default();
        let (unit, more) = Unit::around(before, after);
        let readings =
            if is_negative(before, after.get(more..).unwrap_or_default()) { negated(readings) } else { readings };
        at = end;
        inside = false;
        if !readings.is_empty() {
            all.push(Number { bytes: start..end + more, readings, unit, in_words });
        }
    }
    all
}

/// Whether the number behind `before` lies below zero: `-5`, `-$5`, `minus 5`, `5 degrees below zero`.
fn is_negative(before: &str, after: &str) -> bool {
    let bare = before.trim_end_matches(['$', '€', '£', '¥', '₹']);
    let ahead = match bare.strip_suffix(['-', '−', '–']) {
        // Between numbers it is a range, within a word a part of that, and behind a blank of a list its mark.
        Some(ahead) => {
            ahead.is_empty()
                || ahead.ends_with(|c: char| {
                    c.is_whitespace() || matches!(c, '(' | '[' | '=' | ':' | '|' | ',' | '*' | '_' | '~' | '`' | '"')
                })
        }
        None => false,
    };
    let word = |word: &str| {
        let start = before.len().saturating_sub(word.len() + 1);
        before.get(start..).is_some_and(|end| end.trim_end().eq_ignore_ascii_case(word))
    };
    ahead || word("minus") || word("negative") || after.trim_start().starts_with("below zero")
}

fn negated(readings: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let negate = |value: String| if value == "0" || value.contains(':') { value } else { format!("-{value}") };
    readings.into_iter().map(|reading| reading.into_iter().map(negate).collect()).collect()
}

/// What a number is made of: its length in bytes, its readings, and whether it is written in words.
pub(super) type Read = (usize, Vec<Vec<String>>, bool);

/// Groups of digits with what stands between them.
struct Run {
    groups: Vec<String>,
    marks: Vec<char>,
    /// Where each group ends.
    ends: Vec<usize>,
}

fn groups(text: &str) -> Run {
    let mut read = Run { groups: vec![String::new()], marks: Vec::new(), ends: vec![0] };
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if let Some(digit) = digit(c) {
            if let (Some(group), Some(end)) = (read.groups.last_mut(), read.ends.last_mut()) {
                group.push(digit);
                *end = at + c.len_utf8();
            }
            continue;
        }
        let next = chars.peek().and_then(|(_, next)| digit(*next)).is_some();
        if !next || read.groups.len() >= MOST_GROUPS || !is_mark(c) {
            break;
        }
        if is_space(c) {
            let after = text.get(at + c.len_utf8()..).unwrap_or_default();
            let run = after.chars().take_while(|c| digit(*c).is_some()).count();
            let follows = after.chars().nth(run).is_some_and(|c| c.is_alphabetic() && !is_scale_letter(c));
            let first = read.groups.first().is_some_and(|first| (1..=3).contains(&first.len()));
            if run != 3 || !first || follows {
                break;
            }
        }
        // All spaces are one mark, and so are all apostrophes.
        read.marks.push(match c {
            c if is_space(c) => ' ',
            '’' => '\'',
            c => c,
        });
        read.groups.push(String::new());
        read.ends.push(at);
    }
    read
}

const fn is_mark(c: char) -> bool {
    matches!(c, '.' | ',' | '_' | '\'' | '’' | '٬' | '٫' | '，' | '．') || is_space(c)
}

const fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}' | '\u{2007}')
}

const fn is_scale_letter(c: char) -> bool {
    matches!(c, 'k' | 'K' | 'M' | 'm' | 'b' | 'B')
}

fn digits(text: &str) -> Read {
    if let Some(value) = text.chars().next().and_then(vulgar) {
        return (text.chars().next().map_or(1, char::len_utf8), vec![vec![shown(value)]], false);
    }
    if let Some(read) = clock(text) {
        return read;
    }
    let read = groups(text);
    let length = read.ends.last().copied().unwrap_or(1);
    if read.groups.iter().map(String::len).sum::<usize>() > LONGEST {
        return (length, Vec::new(), false);
    }
    let mut readings = readings(&read);
    let after = text.get(length..).unwrap_or_default();
    // `1½`, `1/2`.
    if let Some(part) = after.chars().next().and_then(vulgar)
        && let Some(whole) = value_of(&readings)
    {
        let length = length + after.chars().next().map_or(1, char::len_utf8);
        return (length, vec![vec![shown(whole + part)]], false);
    }
    if let Some(rest) = after.strip_prefix(['/', '⁄'])
        && rest.starts_with(|c: char| digit(c).is_some())
        && read.groups.len() == 1
    {
        let below = groups(rest);
        let next = rest.get(below.ends.first().copied().unwrap_or(1)..).unwrap_or_default();
        let (above, under) = (read.groups.first(), below.groups.first());
        if below.groups.len() == 1
            && !next.starts_with('/')
            && let (Some(above), Some(under)) = (above, under)
            && let (Ok(x), Ok(y)) = (above.parse::<f64>(), under.parse::<f64>())
            && y > 0.0
            && under.len() <= 3
            && above.len() <= 3
        {
            let length = length + 1 + below.ends.first().copied().unwrap_or(1);
            return (length, vec![vec![shown(x / y)], vec![normal(above), normal(under)]], false);
        }
    }
    let (scale, more, sure) = spelled::scale(after);
    if more > 0 {
        let scaled: Vec<Vec<String>> = readings
            .iter()
            .filter_map(|one| value_of(std::slice::from_ref(one)))
            .map(|v| vec![shown(v * scale)])
            .collect();
        if !scaled.is_empty() {
            let mut both = scaled;
            if !sure {
                both.append(&mut readings);
            }
            return (length + more, both, false);
        }
    }
    (length, readings, false)
}

/// What makes a time of day of a number.
const HALVES: [&str; 8] = ["am", "a.m.", "AM", "pm", "p.m.", "PM", "o'clock", "o’clock"];

/// `14:20`, `2:20 pm`, `2 pm`, `6.30 pm`, `8 o'clock`.
fn clock(text: &str) -> Option<Read> {
    let number = |text: &str, most: usize| -> Option<(u32, usize)> {
        let (mut value, mut length, mut count) = (0_u32, 0, 0);
        for c in text.chars() {
            let Some(digit) = digit(c).and_then(|digit| digit.to_digit(10)) else { break };
            (value, length, count) = (value * 10 + digit, length + c.len_utf8(), count + 1);
            if count > most {
                return None;
            }
        }
        (count > 0).then_some((value, length))
    };
    let (hour, mut length) = number(text, 2)?;
    let mut minute = None;
    // "6.30 pm" is no fraction.
    let half_of = |rest: &str| {
        let bare = rest.trim_start_matches(is_space);
        let names = |half: &&str| bare.strip_prefix(*half).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
        HALVES.into_iter().find(names).map(|half| (half, rest.len() - bare.len() + half.len()))
    };
    let mark = text.get(length..)?.chars().next();
    if let Some(rest) = text.get(length..)?.strip_prefix([':', '.'])
        && let Some((value, more)) = number(rest, 2)
        && more == 2
        && (mark == Some(':') || rest.get(more..).and_then(half_of).is_some())
    {
        minute = Some(value);
        length += 1 + more;
        if let Some(rest) = text.get(length..)?.strip_prefix(':')
            && let Some((_, more)) = number(rest, 2)
        {
            length += 1 + more;
        }
    }
    let after = text.get(length..)?;
    let (half, more) = half_of(after).unzip();
    if hour > 24 || minute.is_some_and(|minute| minute > 59) || (minute.is_none() && half.is_none()) {
        return None;
    }
    let hour = match half {
        Some(half) if half.starts_with(['p', 'P']) && hour < 12 => hour + 12,
        Some(half) if half.starts_with(['a', 'A']) && hour == 12 => 0,
        _ => hour,
    };
    let more = more.unwrap_or(0);
    let (own, minute) = (hour.to_string(), minute.unwrap_or(0));
    let mut readings = vec![vec![format!("{hour}:{minute:02}")]];
    if half.is_none_or(|half| half.starts_with('o')) {
        // It may be one of the afternoon, and a ratio.
        readings.extend((1..12).contains(&hour).then(|| vec![format!("{}:{minute:02}", hour + 12)]));
        readings.push(vec![own, minute.to_string()]);
    }
    Some((length + more, readings, false))
}

fn readings(read: &Run) -> Vec<Vec<String>> {
    let Run { groups, marks, .. } = read;
    let lengths: Vec<usize> = groups.iter().map(String::len).collect();
    let (first, later) = (lengths.first().copied().unwrap_or(0), lengths.get(1..).unwrap_or_default());
    let joined = |to: usize| groups.iter().take(to).map(String::as_str).collect::<String>();
    let all = groups.len();
    let apart = || vec![groups.iter().map(|group| normal(group)).collect::<Vec<_>>()];
    let point = |whole: &str, part: &str| normal(&format!("{whole}.{part}"));
    let Some(mark) = marks.first() else { return apart() };
    let is_point = |mark: char| matches!(mark, '.' | '．' | '٫');
    // Thousands, or as in India hundreds above them.
    let grouped = |first: usize, later: &[usize]| {
        (1..=3).contains(&first)
            && (later.iter().all(|length| *length == 3)
                || later.split_last().is_some_and(|(last, more)| *last == 3 && more.iter().all(|length| *length == 2)))
    };
    let last = groups.last().map_or("", String::as_str);
    if marks.iter().all(|other| other == mark) {
        let sound = grouped(first, later) && !groups.first().is_some_and(|first| first.starts_with('0'));
        return match mark {
            mark if is_point(*mark) && all == 2 => {
                let mut two = vec![vec![point(&joined(1), last)]];
                if sound && *mark != '٫' {
                    two.push(vec![normal(&joined(2))]);
                }
                two
            }
            mark if is_point(*mark) => {
                let mut two = vec![vec![groups.join(".")]];
                if sound {
                    two.push(vec![normal(&joined(all))]);
                }
                two
            }
            ',' | '，' if sound => vec![vec![normal(&joined(all))]],
            ',' | '，' if all == 2 && first <= 3 => {
                let mut two = apart();
                two.push(vec![point(&joined(1), last)]);
                two
            }
            mark if sound && is_space(*mark) => {
                let mut two = vec![vec![normal(&joined(all))]];
                two.extend(apart());
                two
            }
            _ if sound => vec![vec![normal(&joined(all))]],
            _ => apart(),
        };
    }
    // `1,234.56` and `1.234,56`: one mark for the groups, another before the fraction.
    let split = marks.split_last().is_some_and(|(last, more)| {
        matches!(last, '.' | ',' | '٫' | '．') && more.iter().all(|other| other == mark) && last != mark
    });
    if split && grouped(first, lengths.get(1..all - 1).unwrap_or_default()) {
        return vec![vec![point(&joined(all - 1), last)]];
    }
    apart()
}

/// The value of the first reading, where that is one number.
fn value_of(readings: &[Vec<String>]) -> Option<f64> {
    match readings.first()?.as_slice() {
        [one] => one.parse().ok(),
        _ => None,
    }
}

/// A value as numbers are compared.
pub(super) fn shown(value: f64) -> String {
    if value.is_finite() && value.abs() < 1e15 { normal(&format!("{value:.6}")) } else { format!("{value:.6e}") }
}

/// One form for each number: `05` is `5`, `2.50` is `2.5`; versions and addresses stay as they are.
pub(super) fn normal(number: &str) -> String {
    let mut parts = number.split('.');
    let (whole, fraction, more) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    if more.is_some() {
        return number.to_owned();
    }
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let whole = whole.trim_start_matches('0');
    let whole = format!("{sign}{}", if whole.is_empty() { "0" } else { whole });
    match fraction.map(|fraction| fraction.trim_end_matches('0')) {
        Some(fraction) if !fraction.is_empty() => format!("{whole}.{fraction}"),
        _ if whole == "-0" => "0".to_owned(),
        _ => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> String {
        numbers(text).iter().filter_map(|one| one.readings.first()).flatten().cloned().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn x16_numbers_have_one_form() {
        for (text, expected) in [
            ("1,000 and 1000, 1_000; 2.50, 05, 0.5, 007.", "1000 1000 1000 2.5 5 0.5 7"),
            ("v1.2.3 at 14:20, SHA-256, 12,34", "1.2.3 14:20 256 12 34"),
            ("1'000 1’000 1 000 1\u{202f}000 1\u{a0}000 000 1.000.000", "1000 1000 1000 1000 1000000 1.000.000"),
            ("12,34,567 and 1,234.5 and 1.234,5", "1234567 1234.5 1234.5"),
            ("９０ and ٩٠ and ९० and ۹۰ and ১২", "90 90 90 90 12"),
            ("١٬٠٠٠ and ٣٫٥", "1000 3.5"),
            ("3 million, 1.5M, 2bn, 3k, 4 thousand, 2 dozen", "3000000 1500000 2000000000 3000 4000 24"),
            ("½, 1½, 3/4 and 5⁄8", "0.5 1.5 0.75 0.625"),
            ("2:20 pm, 2 pm", "14:20 14:00"),
        ] {
            assert_eq!(first(text), expected, "{text}");
        }
        assert!(numbers(&"9".repeat(100_000)).is_empty());
        numbers(&"1 000".repeat(50_000));
        numbers(&"1,".repeat(100_000));
        numbers(&"one ".repeat(100_000));
    }

    #[test]
    fn x16_two_readings_where_there_are_two() {
        let readings = |text: &str| numbers(text)[0].readings.clone();
        assert_eq!(readings("1.000"), [["1"], ["1000"]]);
        assert_eq!(readings("12 300 times"), [vec!["12300"], vec!["12", "300"]]);
        assert_eq!(readings("1,5"), [vec!["1", "5"], vec!["1.5"]]);
    }
}
