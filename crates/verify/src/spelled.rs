//! Numbers in words: `twelve`, `three hundred and five`, `a dozen`, `two thirds`, `twenty-first`, `三百`.

use super::numbers::{Read, shown};

/// At most this many words of a number.
const MOST_WORDS: usize = 12;

const SMALL: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
/// Ordinals from the third on: the first is a manner of speaking, and a second a unit of time.
const ORDINALS: [&str; 17] = [
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
];

fn scale_of(word: &str) -> Option<f64> {
    Some(match word {
        "hundred" | "hundreds" => 1e2,
        "thousand" | "thousands" => 1e3,
        "million" | "millions" | "mio" | "mn" => 1e6,
        "billion" | "billions" | "bn" | "mrd" => 1e9,
        "trillion" | "trillions" => 1e12,
        "dozen" | "dozens" => 12.0,
        "lakh" | "lakhs" => 1e5,
        "crore" | "crores" => 1e7,
        _ => return None,
    })
}

/// The scale behind a number in digits, how many bytes it takes, and whether it can be nothing else.
pub(super) fn scale(after: &str) -> (f64, usize, bool) {
    let head = after.chars().next();
    let han = match head {
        Some('千') => Some(1e3),
        Some('万' | '萬') => Some(1e4),
        Some('億' | '亿') => Some(1e8),
        _ => None,
    };
    if let Some(scale) = han {
        return (scale, 3, true);
    }
    let gap = usize::from(head.is_some_and(|c| c == ' ' || c == '-'));
    let gap = if head == Some('\u{a0}') { 2 } else { gap };
    let word: String =
        after.get(gap..).unwrap_or_default().chars().take_while(char::is_ascii_alphabetic).take(12).collect();
    if let Some(scale) = scale_of(&word.to_ascii_lowercase()) {
        return (scale, gap + word.len(), true);
    }
    let letter = match word.as_str() {
        "k" | "K" => 1e3,
        "M" => 1e6,
        "B" => 1e9,
        _ => return (1.0, 0, false),
    };
    // `512B` may be bytes.
    if gap == 0 { (letter, 1, word != "B") } else { (1.0, 0, false) }
}

/// The words at the start of `text`, in lower case, each with where it ends; joined by a space, a hyphen or a line's
/// end.
fn words(text: &str) -> Vec<(String, usize)> {
    let mut all = Vec::new();
    let mut at = 0;
    while all.len() < MOST_WORDS {
        let rest = text.get(at..).unwrap_or_default();
        let length = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        // The longest is `seventeenths`.
        if length == 0 || length > 12 {
            break;
        }
        let end = at + length;
        all.push((rest.get(..length).unwrap_or_default().to_ascii_lowercase(), end));
        let next = text.as_bytes().get(end..).unwrap_or_default();
        let gap = next.iter().take_while(|byte| matches!(byte, b' ' | b'\n' | b'-')).count();
        if gap == 0 || gap > 2 {
            break;
        }
        at = end + gap;
    }
    all
}

fn small(word: &str) -> Option<f64> {
    SMALL.iter().position(|name| *name == word).map(|value| value as f64)
}

fn tens(word: &str) -> Option<f64> {
    TENS.iter().position(|name| *name == word).map(|at| (at as f64 + 2.0) * 10.0)
}

fn ordinal(word: &str) -> Option<f64> {
    ORDINALS.iter().position(|name| *name == word).map(|at| at as f64 + 3.0)
}

/// A year in two parts and of how many words: `nineteen thirty-two`, `twenty ten`, `nineteen oh five`.
fn year(first: &str, second: &str, third: &str) -> Option<(usize, f64)> {
    let century = small(first).filter(|value| *value >= 16.0).or_else(|| (first == "twenty").then_some(20.0))?;
    let below = |word: &str| small(word).filter(|value| (1.0..10.0).contains(value));
    let (count, rest) = if let Some(decade) = tens(second) {
        below(third).map_or((2, decade), |unit| (3, decade + unit))
    } else if second == "oh" {
        (3, below(third)?)
    } else {
        (2, small(second).filter(|value| *value >= 10.0)?)
    };
    Some((count, century * 100.0 + rest))
}

/// A time of day in words: `half past four`, `a quarter to 9`, `noon`.
fn clock(text: &str, words: &[(String, usize)]) -> Option<Read> {
    let word = |at: usize| words.get(at).map_or("", |(word, _)| word.as_str());
    let noon = match word(0) {
        "noon" | "midday" => Some(["12:00", "12:00"]),
        "midnight" => Some(["0:00", "24:00"]),
        _ => None,
    };
    if let Some(noon) = noon {
        return Some((words.first()?.1, noon.map(|time| vec![time.to_owned()]).to_vec(), true));
    }
    let time = |hour: f64, minutes: f64, end: usize| {
        let time = (hour * 60.0 + minutes) as u32;
        let of_day = |time: u32| vec![format!("{}:{:02}", time / 60 % 24, time % 60)];
        Some((end, vec![of_day(time), of_day(time + 720)], true))
    };
    // "Eight o'clock", "seven thirty".
    if let Some(hour) = small(word(0)).filter(|hour| (1.0..=12.0).contains(hour)) {
        let end = words.first()?.1;
        if text.get(end..)?.starts_with(" o'clock") || text.get(end..)?.starts_with(" o’clock") {
            return time(hour, 0.0, end + text.get(end..)?.find("clock")? + "clock".len());
        }
        let more = match (word(1), word(2)) {
            ("fifteen", _) => Some((15.0, 1)),
            ("thirty", _) => Some((30.0, 1)),
            ("forty", "five") => Some((45.0, 2)),
            _ => None,
        };
        if let Some((minutes, last)) = more {
            return time(hour, minutes, words.get(last)?.1);
        }
    }
    let at = usize::from(word(0) == "a");
    let minutes = match word(at) {
        "half" => 30.0,
        "quarter" => 15.0,
        other => small(other).or_else(|| tens(other)).filter(|_| at == 0)?,
    };
    let past = word(at + 1) == "past";
    // "Four to six" is a range.
    if !past && (word(at + 1) != "to" || word(at) != "quarter") {
        return None;
    }
    let behind = words.get(at + 1)?.1;
    let rest = text.get(behind..)?;
    let gap = rest.len() - rest.trim_start().len();
    let digits = rest.trim_start().bytes().take_while(u8::is_ascii_digit).count();
    let (hour, end) = match small(word(at + 2)) {
        Some(hour) => (hour, words.get(at + 2)?.1),
        None if at == 0 && !matches!(word(0), "half" | "quarter") => return None,
        None => (rest.get(gap..gap + digits)?.parse().ok()?, behind + gap + digits),
    };
    if !(1.0..=12.0).contains(&hour) {
        return None;
    }
    time(hour, if past { minutes } else { -minutes }, end)
}

/// The number in words that `text` begins with.
pub(super) fn number(text: &str) -> Option<Read> {
    // What no number begins with costs nothing.
    if !text.starts_with(|c: char| "abdefhmnoqstwzABDEFHMNOQSTWZ".contains(c)) {
        return None;
    }
    let words = words(text);
    let word = |at: usize| words.get(at).map_or("", |(word, _)| word.as_str());
    if let Some(time) = clock(text, &words) {
        return Some(time);
    }
    let end = |count: usize| count.checked_sub(1).and_then(|at| words.get(at)).map_or(0, |(_, end)| *end);
    let one = |count: usize, value: f64| Some((end(count), vec![vec![shown(value)]], true));
    match (word(0), word(1), word(2)) {
        ("half", "a" | "an", third) if scale_of(third).is_some() => {
            return one(3, scale_of(third).unwrap_or(1.0) / 2.0);
        }
        ("half", ..) => return Some((end(1), vec![vec![shown(0.5)], vec!["50".to_owned()]], true)),
        ("quarter", ..) => {
            return Some((end(1), vec![vec![shown(0.25)], vec!["25".to_owned()], vec!["4".to_owned()]], true));
        }
        ("twice" | "double" | "doubles" | "doubled", ..) => return one(1, 2.0),
        ("thrice" | "triple" | "triples" | "tripled", ..) => return one(1, 3.0),
        ("a" | "an", second, _) if scale_of(second).is_some() => {
            // "A hundred thousand" is one number.
            let more = scale_of(word(2)).filter(|scale| *scale > 100.0);
            let count = if more.is_some() { 3 } else { 2 };
            return one(count, scale_of(second).unwrap_or(1.0) * more.unwrap_or(1.0));
        }
        ("a", "couple", "of") => return one(3, 2.0),
        ("a", "third", _) => {
            return Some((end(2), vec![vec![shown(1.0 / 3.0)], vec!["33".to_owned()], vec!["3".to_owned()]], true));
        }
        ("dozen" | "dozens", ..) => return one(1, 12.0),
        _ => {}
    }
    if let Some((count, year)) = year(word(0), word(1), word(2)) {
        return one(count, year);
    }
    let (mut total, mut current, mut used, mut last) = (0.0, 0.0, 0, 0.0_f64);
    let mut is_ordinal = false;
    let mut at = 0;
    while at < words.len() {
        let here = word(at);
        if let Some(value) = tens(here).filter(|_| used == 0 || last >= 100.0) {
            current += value;
            last = value;
        } else if let Some(value) = small(here).or_else(|| ordinal(here)).filter(|value| {
            used == 0 || last >= 100.0 || ((20.0..100.0).contains(&last) && *value < 10.0 && *value > 0.0)
        }) {
            current += value;
            last = value;
            is_ordinal = small(here).is_none();
        } else if used > 0
            && (20.0..100.0).contains(&last)
            && let Some(value) = ["first", "second"].iter().position(|name| *name == here)
        {
            current += value as f64 + 1.0;
            is_ordinal = true;
        } else if let Some(scale) = scale_of(here).filter(|_| used > 0 && !is_ordinal) {
            if scale >= 1_000.0 {
                total += current.max(1.0) * scale;
                current = 0.0;
            } else {
                current = current.max(1.0) * scale;
            }
            last = scale;
        } else if here == "and" && last >= 100.0 && (small(word(at + 1)).is_some() || tens(word(at + 1)).is_some()) {
            at += 1;
            continue;
        } else {
            break;
        }
        at += 1;
        used = at;
        if is_ordinal {
            break;
        }
    }
    if used == 0 {
        return None;
    }
    let value = total + current;
    // "Two thirds", "three quarters", "two and a half".
    let below = match word(used) {
        "third" | "thirds" => 3.0,
        "quarter" | "quarters" => 4.0,
        "fifths" => 5.0,
        "tenths" => 10.0,
        "halves" => 2.0,
        _ => 0.0,
    };
    if below > 0.0 && used == 1 && !is_ordinal {
        return one(2, value / below);
    }
    if word(used) == "and" && matches!(word(used + 1), "a") && word(used + 2) == "half" {
        return one(used + 3, value + 0.5);
    }
    let mut readings = vec![vec![shown(value)]];
    if is_ordinal && used == 1 {
        readings.push(vec![shown(1.0 / value)]);
    }
    Some((end(used), readings, true))
}

/// The number in Han characters that `text` begins with; a single one below ten is a word more often than a number.
pub(super) fn han(text: &str) -> Option<Read> {
    let (mut total, mut current, mut digit, mut length, mut count) = (0.0, 0.0, 0.0, 0, 0);
    let mut scaled = false;
    for c in text.chars().take(20) {
        let value = match c {
            '〇' | '零' => 0.0,
            '一' => 1.0,
            '二' | '两' | '兩' => 2.0,
            '三' => 3.0,
            '四' => 4.0,
            '五' => 5.0,
            '六' => 6.0,
            '七' => 7.0,
            '八' => 8.0,
            '九' => 9.0,
            '十' | '百' | '千' => {
                let scale = match c {
                    '十' => 10.0,
                    '百' => 100.0,
                    _ => 1_000.0,
                };
                current += if digit == 0.0 { scale } else { digit * scale };
                (digit, scaled, count, length) = (0.0, true, count + 1, length + c.len_utf8());
                continue;
            }
            '万' | '萬' | '億' | '亿' if count > 0 => {
                let scale = if matches!(c, '万' | '萬') { 1e4 } else { 1e8 };
                total += (current + digit) * scale;
                (current, digit, scaled, count, length) = (0.0, 0.0, true, count + 1, length + c.len_utf8());
                continue;
            }
            _ => break,
        };
        if count > 0 && !scaled {
            // Digit by digit, as in 二〇二四.
            digit = digit * 10.0 + value;
        } else {
            digit = value;
        }
        count += 1;
        length += c.len_utf8();
    }
    (count >= 2).then(|| (length, vec![vec![shown(total + current + digit)]], true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x16_words_are_numbers() {
        for (text, expected, length) in [
            ("twelve tries", "12", 6),
            ("Three hundred and five", "305", 22),
            ("twenty-one", "21", 10),
            ("two thousand three hundred", "2300", 26),
            ("a dozen", "12", 7),
            ("half a million users", "500000", 14),
            ("half of it", "0.5", 4),
            ("two thirds of it", "0.666667", 10),
            ("two and a half hours", "2.5", 14),
            ("twenty-first", "21", 12),
            ("fifth", "5", 5),
            ("one million two hundred thousand", "1200000", 32),
            ("a hundred", "100", 9),
            ("twice", "2", 5),
            ("five and then", "5", 4),
            ("three four", "3", 5),
            ("nineteen thirty-two", "1932", 19),
            ("twenty ten was", "2010", 10),
            ("twenty twenty-four", "2024", 18),
            ("nineteen oh five", "1905", 16),
            ("nineteen hundred and five", "1905", 25),
            ("sixteen of twenty", "16", 7),
            ("twenty one", "21", 10),
            ("half past four", "4:30", 14),
            ("eight o'clock.", "8:00", 13),
            ("seven thirty", "7:30", 12),
            ("a quarter to 9 today", "8:45", 14),
            ("ten past three", "3:10", 14),
            ("noon and", "12:00", 4),
            ("ten to twelve", "10", 3),
        ] {
            let (end, readings, _) = number(text).unwrap();
            assert_eq!((readings[0][0].as_str(), end), (expected, length), "{text}");
        }
        for text in ["and", "often", "thousands", "a", "hundredth", "tenor", "someone"] {
            assert!(number(text).is_none(), "{text}");
        }
        assert_eq!(han("三百五十人").unwrap().1, [["350"]]);
        assert_eq!(han("二〇二四年").unwrap().1, [["2024"]]);
        assert_eq!(han("三万五千").unwrap().1, [["35000"]]);
        assert!(han("一个").is_none());
    }
}
