//! Dates in text: `8 May, 2023`, `May 8th 2023`, `June 2023`, `2023-05-08`, as days that can be compared.

use loopwright_lexicon::months::{MONTHS, days};

/// The first and the last day of a date, in days since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DateRange {
    pub first: i64,
    pub last: i64,
}

impl DateRange {
    fn day(year: i64, month: i64, day: i64) -> Option<Self> {
        let last = days(year, month + 1, 1) - days(year, month, 1);
        let day = (1..=last).contains(&day).then(|| days(year, month, day))?;
        Some(Self { first: day, last: day })
    }

    fn month(year: i64, month: i64) -> Self {
        Self { first: days(year, month, 1), last: days(year, month + 1, 1) - 1 }
    }

    /// The day of a time in seconds since 1970.
    pub(super) fn of(seconds: f64) -> i64 {
        (seconds / 86_400.0).floor() as i64
    }

    /// The weight of a memory of `day` for a question about these days.
    pub(super) fn nearness(self, day: i64) -> f32 {
        // Clocks stand in zones: a day off is the same day.
        let slack = i64::from(self.first == self.last);
        let off = (self.first - slack - day).max(day - self.last - slack).max(0);
        match off {
            0 => 0.5,
            1..=10 => 0.2,
            _ => 0.0,
        }
    }
}

/// The year, the month and the day of a day since 1970.
fn civil(day: i64) -> (i64, i64, i64) {
    let mut year = 1970 + day / 366;
    while days(year + 1, 1, 1) <= day {
        year += 1;
    }
    while days(year, 1, 1) > day {
        year -= 1;
    }
    let month = (1..=12).rev().find(|month| days(year, *month, 1) <= day).unwrap_or(1);
    (year, month, day - days(year, month, 1) + 1)
}

/// A time as a date: `2023-05-08`.
pub(super) fn shown(seconds: f64) -> String {
    let (year, month, day) = civil(DateRange::of(seconds.clamp(-LIMIT, LIMIT)));
    format!("{year:04}-{month:02}-{day:02}")
}

/// Seconds around 1970 in which there are dates.
const LIMIT: f64 = 3e11;
/// Words of days that are told from today.
const DAYS: [(&str, i64); 4] = [("today", 0), ("tonight", 0), ("yesterday", -1), ("tomorrow", 1)];
/// Spans of time, with the days of each.
const SPANS: [(&str, i64); 4] = [("day", 1), ("week", 7), ("month", 30), ("year", 365)];
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const NUMBERS: [&str; 10] = ["a", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/// The first days that a text tells from today: `yesterday`, `last week`, `three days ago`, `on Monday`.
pub(super) fn relative(text: &str, now: f64, longest: usize) -> Option<DateRange> {
    let end = text.char_indices().map(|(at, _)| at).find(|&at| at >= longest).unwrap_or(text.len());
    let lower = text.get(..end).unwrap_or_default().to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let today = DateRange::of(now.clamp(-LIMIT, LIMIT));
    let span = |word: &str| SPANS.iter().find(|(name, _)| *name == word.strip_suffix('s').unwrap_or(word)).copied();
    for (at, word) in words.iter().enumerate() {
        if let Some((_, by)) = DAYS.iter().find(|(name, _)| name == word) {
            return Some(DateRange { first: today + by, last: today + by });
        }
        let next = |by: usize| words.get(at + by).copied().unwrap_or_default();
        if let Some((_, length)) = span(next(1)).filter(|_| next(2) == "ago") {
            let count = NUMBERS.iter().position(|name| name == word).and_then(|at| i64::try_from(at + 1).ok());
            let count = count.or_else(|| word.parse().ok().filter(|count| (1..1_000).contains(count)))?;
            let (middle, slack) = (today - count * length, if length == 1 { 0 } else { length / 2 });
            return Some(DateRange { first: middle - slack, last: middle + slack });
        }
        let back = match *word {
            "last" => 1,
            "this" => 0,
            _ => continue,
        };
        let (year, month, _) = civil(today);
        let monday = today - (today + 3).rem_euclid(7);
        match next(1) {
            "week" => {
                let first = monday - 7 * back;
                return Some(DateRange { first, last: first + 6 });
            }
            "month" => {
                let (year, month) = if month > back { (year, month - back) } else { (year - 1, 12) };
                return Some(DateRange::month(year, month));
            }
            "year" => return Some(DateRange { first: days(year - back, 1, 1), last: days(year - back + 1, 1, 1) - 1 }),
            word => {
                let weekday = WEEKDAYS.iter().position(|name| *name == word).and_then(|at| i64::try_from(at).ok());
                let Some(weekday) = weekday else { continue };
                // The newest such day before today.
                let day = today - 1 - (today - 1 + 3 - weekday).rem_euclid(7);
                return Some(DateRange { first: day, last: day });
            }
        }
    }
    None
}

/// Returns whether a text tells a time from the day on which it was said.
pub(super) fn is_relative(text: &str) -> bool {
    let next = |text: &str| {
        let lower = text.to_lowercase();
        ["next ", "in a ", "in two "].iter().any(|begin| {
            lower.match_indices(begin).any(|(at, _)| {
                let word =
                    lower.get(at + begin.len()..).and_then(|rest| rest.split(|c: char| !c.is_alphanumeric()).next());
                word.is_some_and(|word| {
                    SPANS.iter().any(|(name, _)| word.starts_with(name)) || WEEKDAYS.contains(&word)
                })
            })
        })
    };
    text.len() <= 4_096 && (relative(text, 0.0, text.len()).is_some() || next(text))
}

fn month_of(word: &str) -> Option<i64> {
    let whole = |month: &&str| month.eq_ignore_ascii_case(word);
    let short =
        |month: &&str| word.len() >= 3 && month.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    let at = MONTHS.iter().position(|month| whole(month) || short(month))?;
    i64::try_from(at + 1).ok()
}

fn year_of(word: &str) -> Option<i64> {
    (word.len() == 4).then(|| word.parse().ok()).flatten().filter(|year| (1900..2200).contains(year))
}

fn day_of(word: &str) -> Option<i64> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let rest = word.get(digits.len()..).unwrap_or_default();
    let ordinal = ["", "st", "nd", "rd", "th"].iter().any(|end| end.eq_ignore_ascii_case(rest));
    if !ordinal || digits.len() > 2 {
        return None;
    }
    digits.parse().ok().filter(|day| (1..=31).contains(day))
}

/// The first date in the beginning of a text that names a year.
pub(super) fn date(text: &str, longest: usize) -> Option<DateRange> {
    // Every date has a year: most text is done here.
    if !text.bytes().take(longest).any(|b| b.is_ascii_digit()) {
        return None;
    }
    let end = text.char_indices().map(|(at, _)| at).find(|&at| at >= longest).unwrap_or(text.len());
    let text = text.get(..end).unwrap_or_default();
    let words: Vec<&str> = text
        .split(|c: char| !(c.is_alphanumeric() || c == '-'))
        .filter(|word| !word.is_empty() && *word != "of")
        .collect();
    for (at, word) in words.iter().enumerate() {
        let mut parts = word.split('-');
        if let (Some(year), Some(month), Some(day), None) =
            (parts.next().and_then(year_of), parts.next(), parts.next(), parts.next())
            && let (Ok(month @ 1..=12), Ok(day)) = (month.parse(), day.get(..2).unwrap_or(day).parse())
            && let Some(days) = DateRange::day(year, month, day)
        {
            return Some(days);
        }
        let Some(month) = month_of(word) else { continue };
        let before = at.checked_sub(1).and_then(|at| words.get(at)).and_then(|word| day_of(word));
        let next = |by: usize| words.get(at + by).copied();
        let found = match (before, next(1).and_then(year_of), next(1).and_then(day_of), next(2).and_then(year_of)) {
            (Some(day), Some(year), ..) | (_, _, Some(day), Some(year)) => DateRange::day(year, month, day),
            (None, Some(year), ..) => Some(DateRange::month(year, month)),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_found_however_they_are_written() {
        let day = DateRange { first: 19_485, last: 19_485 };
        for text in [
            "8 May 2023",
            "on 8th of May, 2023?",
            "May 8, 2023",
            "[1:56 pm on 8 May, 2023] Ann: hi",
            "2023-05-08",
            "2023-05-08T10:00",
            "the 8th May 2023",
            "MAY 8TH 2023",
        ] {
            assert_eq!(date(text, 200), Some(day), "{text}");
        }
        assert_eq!(date("in June 2023", 200), Some(DateRange { first: 19_509, last: 19_538 }));
        assert_eq!(date("Dec 2023", 200), Some(DateRange { first: 19_692, last: 19_722 }));
        for text in [
            "",
            "may I",
            "31 February 2023",
            "May 2",
            "5 o'clock",
            "marching 2023",
            "30 2023",
            "ma 2023",
            "é 2023-13-01",
        ] {
            assert_eq!(date(text, 200), None, "{text}");
        }
        // 28 November 2026, a Saturday.
        let now = 20_785.0 * 86_400.0 + 7.0;
        for (text, first, last) in [
            ("What did I say yesterday?", 20_784, 20_784),
            ("three days ago", 20_782, 20_782),
            ("last week", 20_773, 20_779),
            ("last month", 20_727, 20_757),
            ("this year", 20_454, 20_818),
            ("on last Monday", 20_780, 20_780),
        ] {
            assert_eq!(relative(text, now, 200), Some(DateRange { first, last }), "{text}");
        }
        assert_eq!(relative("at last", now, 200), None);
        assert_eq!(shown(now), "2026-11-28");
        assert!(is_relative("We meet next Friday.") && !is_relative("We met on Friday."));
        assert_eq!(DateRange::of(19_485.0 * 86_400.0 + 5.0), 19_485);
    }
}
