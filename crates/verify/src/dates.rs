//! Dates in a text, whichever way they are written: `2024-03-05`, `5.3.2024`, `March 5, 2024`, `5th of March`.

use std::ops::Range;

use super::numbers::digit;
use loopwright_lexicon::months::MONTHS;

/// A day, a month or a year of one; what is not said is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct When {
    pub(super) year: Option<u32>,
    pub(super) month: u32,
    pub(super) day: Option<u32>,
}

/// A date in a text; day and month can change places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Date {
    pub(super) bytes: Range<usize>,
    pub(super) readings: Vec<When>,
}

/// The month of that name.
pub(super) fn month(word: &str) -> Option<u32> {
    let lower = word.trim_end_matches('.').to_ascii_lowercase();
    // Verbs, too, in lower case.
    if matches!(word, "may" | "march" | "mar") {
        return None;
    }
    let short = lower.len() == 3 || lower == "sept";
    let found = MONTHS.iter().position(|name| *name == lower || (short && name.starts_with(lower.as_str())))?;
    u32::try_from(found + 1).ok()
}

/// A word or a number with where it stands.
struct Token<'a> {
    bytes: Range<usize>,
    text: &'a str,
    number: Option<(u32, usize)>,
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut all: Vec<Token<'_>> = Vec::new();
    let mut at = 0;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or_default();
        let is_digit = digit(c).is_some();
        let length: usize = rest
            .chars()
            .take_while(|c| if is_digit { digit(*c).is_some() } else { c.is_alphabetic() })
            .map(char::len_utf8)
            .sum();
        if length == 0 {
            at += c.len_utf8();
            continue;
        }
        let part = rest.get(..length).unwrap_or_default();
        let count = part.chars().count();
        let number = (is_digit && count <= 4)
            .then(|| part.chars().filter_map(digit).collect::<String>().parse().ok())
            .flatten()
            .map(|value| (value, count));
        all.push(Token { bytes: at..at + length, text: part, number });
        at += length;
    }
    all
}

fn legal(year: Option<u32>, month: u32, day: Option<u32>) -> Option<When> {
    let fits = (1..=12).contains(&month)
        && day.is_none_or(|day| (1..=31).contains(&day))
        && year.is_none_or(|year| (1_000..=2_999).contains(&year));
    fits.then_some(When { year, month, day })
}

/// The dates of a text, in order.
pub(super) fn dates(text: &str) -> Vec<Date> {
    // Most texts hold none, and need not be taken apart.
    let all = tokens(text);
    let mut found: Vec<Date> = Vec::new();
    let gap = |at: usize| match (all.get(at), all.get(at + 1)) {
        (Some(one), Some(next)) => text.get(one.bytes.end..next.bytes.start).unwrap_or("\n\n"),
        _ => "\n\n",
    };
    let number = |at: usize| all.get(at).and_then(|token| token.number);
    let near = |gap: &str| gap.len() <= 3 && gap.chars().all(|c| c == ' ' || c == ',' || c == '.' || c == '\n');
    let year = |at: usize| number(at).filter(|(_, count)| *count == 4).map(|(value, _)| value);
    let day = |at: usize| number(at).filter(|(_, count)| *count <= 2).map(|(value, _)| value);
    let mut at = 0;
    while at < all.len() {
        let (mut readings, mut last, mut month_named) = (Vec::new(), at, false);
        if let (Some(a), Some(b), Some(c)) = (number(at), number(at + 1), number(at + 2))
            && gap(at) == gap(at + 1)
            && matches!(gap(at), "-" | "/" | "." | ". " | "‑" | "–")
        {
            if a.1 == 4 && b.1 <= 2 && c.1 <= 2 {
                readings.extend(legal(Some(a.0), b.0, Some(c.0)));
            } else if a.1 <= 2 && b.1 <= 2 && c.1 == 4 {
                readings.extend(legal(Some(c.0), b.0, Some(a.0)));
                readings.extend(legal(Some(c.0), a.0, Some(b.0)).filter(|_| gap(at) != "."));
            }
            last = at + 2;
        } else if let (Some(a), Some(b)) = (number(at), number(at + 1))
            && a.1 <= 2
            && b.1 == 4
            && gap(at) == "/"
            && (at == 0 || !gap(at - 1).ends_with('/'))
        {
            readings.extend(legal(Some(b.0), a.0, None));
            last = at + 1;
        } else if let Some(name) =
            all.get(at).filter(|token| token.number.is_none()).and_then(|token| month(token.text))
        {
            // "5 March", "5th of March" begin before the month.
            let mut first = at;
            let mut of_day = None;
            for (back, between) in [(1, None), (2, Some("th")), (2, Some("of")), (3, Some("of"))] {
                let Some(start) = at.checked_sub(back) else { continue };
                let between = between.is_none_or(|word| {
                    let word = if back == 2 && word == "th" { ["th", "st", "nd", "rd"].as_slice() } else { &["of"] };
                    all.get(at - 1).is_some_and(|token| word.contains(&token.text))
                });
                if between && (start..at).all(|at| near(gap(at))) && of_day.is_none() && day(start).is_some() {
                    (first, of_day) = (start, day(start));
                }
            }
            if let Some(before) = found.last()
                && all.get(first).is_some_and(|token| token.bytes.start < before.bytes.end)
            {
                (first, of_day) = (at, None);
            }
            let mut end = at;
            if of_day.is_none() && near(gap(at)) && day(at + 1).is_some() {
                of_day = day(at + 1);
                end = at + 1;
                let suffix = all.get(end + 1).is_some_and(|token| ["th", "st", "nd", "rd"].contains(&token.text));
                end += usize::from(suffix && gap(end).is_empty());
            }
            let of_year = if near(gap(end)) { year(end + 1) } else { None };
            end += usize::from(of_year.is_some());
            if of_day.is_some() || of_year.is_some() {
                readings.extend(legal(of_year, name, of_day));
                month_named = true;
                at = first;
                last = end;
            }
        }
        // "3–14 March", "from 3 to 14 March": the first day is one of the same month.
        let dash = at.checked_sub(1).filter(|before| matches!(gap(*before).trim(), "-" | "–" | "—"));
        let word = at.checked_sub(2).filter(|_| all.get(at - 1).is_some_and(|token| token.text == "to"));
        let ranges = month_named && readings.iter().any(|one| one.day.is_some());
        if let Some((token, day)) = dash.or(word).filter(|_| ranges).and_then(|at| Some((all.get(at)?, day(at)?)))
            && found.last().is_none_or(|last| last.bytes.end <= token.bytes.start)
        {
            let readings = readings.iter().map(|one| When { day: Some(day), ..*one }).collect();
            found.push(Date { bytes: token.bytes.clone(), readings });
        }
        if let (false, Some(one), Some(other)) = (readings.is_empty(), all.get(at), all.get(last)) {
            found.push(Date { bytes: one.bytes.start..other.bytes.end, readings });
        }
        at = last + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x16_dates_have_one_form() {
        let day = |year, month, day| When { year, month, day };
        let whole = day(Some(2024), 3, Some(5));
        for text in [
            "2024-03-05",
            "2024/3/5",
            "5.3.2024",
            "05.03.2024",
            "March 5, 2024",
            "5 March 2024",
            "5th of March 2024",
            "Mar. 5th, 2024",
            "٢٠٢٤-٠٣-٠٥",
            "It came on March 5, 2024 at 3.",
        ] {
            let found = dates(text);
            assert!(found.len() == 1 && found[0].readings.contains(&whole), "{text}: {found:?}");
        }
        for text in ["3–14 March 2024", "from 3 to 14 March 2024"] {
            let days: Vec<_> = dates(text).iter().map(|one| one.readings[0].day).collect();
            assert_eq!(days, [Some(3), Some(14)], "{text}");
        }
        assert_eq!(dates("in March 2024")[0].readings, [day(Some(2024), 3, None)]);
        assert_eq!(dates("in 03/2024,")[0].readings, [day(Some(2024), 3, None)]);
        assert!(dates("13/2024").is_empty());
        assert_eq!(dates("3/5/2024")[0].readings.len(), 2);
        assert!(dates("you may 5x it; 1.2.3; 10-20; March on; v2024").is_empty());
        dates(&"1-".repeat(100_000));
        dates(&"may 1 ".repeat(50_000));
    }
}
