//! What the results of an unchanged question have in common: learned from the last of them, for the last questions.
//!
//! A value stands in its place, among the same words. Numbers that move one way are progress. What else is new at every
//! call says nothing of what the call has come to: ids, clocks, ages, numbers that go up and down.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    noise::{GONE, is_word, next_digit},
    volatile::{WORDS, is_volatile, name_before, value_around},
};
use loopwright_base::lists::list;

/// So many questions are remembered.
const QUESTIONS: usize = 16;
/// Longer results are not learned from.
const LONGEST: usize = 8 * 1024;
/// So many values of a result are told apart; results with more of them are not learned from.
const MOST_VALUES: usize = 64;

/// A word before a count is no longer than this.
const LONGEST_WORD: usize = 12;

/// A value in its place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Place {
    hash: u64,
    /// The number, where it may be a count.
    number: Option<f64>,
    /// Whether it went up, and down.
    moved: (bool, bool),
}

/// A question, and what it was answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Question {
    call: u64,
    words: u64,
    values: Vec<Place>,
}

/// The last questions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Learned {
    questions: Vec<Question>,
}

// Numbers are read from text: none is NaN.
impl Eq for Learned {}

impl Learned {
    /// Takes the result of a call; whether it is one that came before but for what says nothing. `counted` is whether a
    /// number at the end of a word may be a count, as in `page2`; else it is a part of an id, as in `TICKET-17`.
    pub(super) fn take(&mut self, call: u64, text: &[u8], counted: bool) -> bool {
        if text.len() > LONGEST {
            return false;
        }
        let at = self.questions.iter().position(|question| question.call == call);
        let Some((words, values)) = read(text, counted) else {
            if let Some(at) = at {
                self.questions.remove(at);
            }
            return false;
        };
        let mut next = Question { call, words, values };
        let before = at.map(|at| self.questions.remove(at));
        let worn = before.is_some_and(|before| next.follows(&before));
        if self.questions.len() >= QUESTIONS {
            self.questions.remove(0);
        }
        self.questions.push(next);
        worn
    }
}

impl Question {
    /// Takes over what is known of the places; whether nothing counts on in them.
    fn follows(&mut self, before: &Self) -> bool {
        if self.words != before.words || self.values.len() != before.values.len() {
            return false;
        }
        for (value, before) in self.values.iter_mut().zip(&before.values) {
            value.moved = before.moved;
            match (value.number, before.number) {
                (Some(now), Some(then)) => {
                    value.moved.0 |= now > then;
                    value.moved.1 |= now < then;
                }
                // What was no number once counts nothing.
                _ if value.hash != before.hash => value.moved = (true, true),
                _ => {}
            }
        }
        self.values.iter().all(|value| value.moved.0 == value.moved.1)
    }
}

/// The hash of the words of a text, and its values; `None` where there are none, or too many.
fn read(text: &[u8], counted: bool) -> Option<(u64, Vec<Place>)> {
    let (mut words, mut values, mut ids) = (Vec::with_capacity(text.len()), Vec::<Place>::new(), Vec::new());
    let mut from = 0;
    while let Some(digit) = next_digit(text, from) {
        let (start, end, clock) = value_around(text, from, digit);
        if values.len() >= MOST_VALUES {
            return None;
        }
        words.extend_from_slice(&text[from..start]);
        words.push(GONE);
        let value = &text[start..end];
        // `sshd[4242]` is a process.
        let process = start > 1 && text[start - 1] == b'[' && is_word(text[start - 2]) && text.get(end) == Some(&b']');
        let hash = xxh3_64(value);
        if name_before(text, start).is_some_and(|name| is_volatile(name, &[])) {
            ids.push(hash);
        }
        let number = if clock || process { None } else { count_of(value, &text[end..], counted) };
        values.push(Place { hash, number, moved: (false, false) });
        from = end;
    }
    words.extend_from_slice(&text[from..]);
    // What is an id in one place is none the less in others.
    for value in values.iter_mut().filter(|value| ids.contains(&value.hash)) {
        value.number = None;
    }
    (!values.is_empty()).then(|| (xxh3_64(&words), values))
}

/// The number of a value that may be a count; none of clocks, ages and ids.
fn count_of(value: &[u8], behind: &[u8], counted: bool) -> Option<f64> {
    let value = std::str::from_utf8(value).ok()?.trim_end_matches('.');
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &value[digits.len()..];
    let begin = digits.find(|c: char| c.is_ascii_digit()).unwrap_or_default();
    // `page2` may count, `a7f` does not.
    let digits = if counted && unit.is_empty() && begin <= LONGEST_WORD { &digits[begin..] } else { digits };
    let number: f64 = digits.parse().ok().filter(|number: &f64| number.is_finite())?;
    let behind = behind.strip_prefix(b" ").unwrap_or_default();
    let word = behind.iter().position(|b| !b.is_ascii_alphabetic()).map_or(behind, |end| &behind[..end]);
    // Seconds, or parts of them, since 1970: from 2014 to 2039. What counts something has a word behind it.
    let is_time =
        word.is_empty() && [1e0, 1e3, 1e6, 1e9].iter().any(|parts| (1.4e9..2.2e9).contains(&(number / parts)));
    let is_age = |unit: &str| list(&WORDS, "results.ages").contains(unit);
    (!is_time && !is_age(unit) && !std::str::from_utf8(word).is_ok_and(is_age)).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of these results of one question are known to say nothing new.
    fn worn(results: &[&str], counted: bool) -> Vec<bool> {
        let mut learned = Learned::default();
        results.iter().map(|result| learned.take(7, result.as_bytes(), counted)).collect()
    }

    #[test]
    fn k5_what_changes_at_every_call_says_nothing() {
        let same = |results: &[&str]| worn(results, false)[1..].iter().all(|worn| *worn);
        assert!(same(&[r#"{"id":"a1b2"}"#, r#"{"id":"c3d4"}"#, r#"{"id":"e5f6"}"#]));
        assert!(same(&["created TICKET-17", "created TICKET-18", "created TICKET-19"]));
        assert!(same(&["up since 12:00:01, 35s", "up since 12:00:31, 65s", "up since 12:01:02, 96s"]));
        assert!(same(&["Up 3 minutes", "Up 4 minutes", "Up 5 minutes"]));
        assert!(same(&[r#"{"at":1772803772000}"#, r#"{"at":1772803795000}"#, r#"{"at":1772803799000}"#]));
        assert!(same(&["age 5m38s", "age 6m09s", "age 6m55s"]));
        assert!(same(&["PID: 20192, 20192 up, sshd[20192]", "PID: 20270, 20270 up, sshd[20270]"]));
        // A number goes up or down first; both say that it counts nothing.
        assert_eq!(worn(&["port 53908", "port 28330", "port 40111", "port 39000"], true), [false, false, true, true]);
    }

    #[test]
    fn k5_what_counts_on_is_progress() {
        let news = |results: &[&str]| worn(results, true).iter().all(|worn| !worn);
        assert!(news(&["page 2 of 30", "page 3 of 30", "page 4 of 30"]));
        assert!(news(&["3 failed, 0.12s", "2 failed, 0.31s", "1 failed, 0.11s"]));
        assert!(news(&["512MiB", "600MiB", "722MiB"]) && news(&["41%", "42%", "43%"]) && news(&["page2", "page3"]));
        assert!(news(&["state: building 1", "state: testing 1", "state: done 1"]));
        assert!(news(&["", "no number", "none at all"]));
        let rows = "1 ".repeat(MOST_VALUES + 1);
        assert!(news(&[&rows, &rows]));
    }
}
