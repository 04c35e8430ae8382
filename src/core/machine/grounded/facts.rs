//! What can be compared between a sentence and the source it rests on: numbers, names and words.

use std::collections::HashSet;

use crate::core::retrieve::{sources::Source, words};

/// Longer runs of digits are no numbers that anybody compares.
const LONGEST_NUMBER: usize = 40;

const NUMBER_WORDS: [&str; 13] =
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// The numbers and words of a text.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub(super) numbers: HashSet<String>,
    pub(super) terms: HashSet<String>,
}

impl Facts {
    pub(super) fn of_text(text: &str) -> Self {
        let mut facts = Self::default();
        facts.add(text);
        facts
    }

    pub(super) fn of_source(source: &Source) -> Self {
        let mut facts = Self::of_text(&source.text);
        facts.add(&source.heading);
        facts.add(&source.reference);
        facts
    }

    fn add(&mut self, text: &str) {
        self.numbers.extend(numbers(text));
        for word in text.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| (3..=6).contains(&word.len())) {
            if let Some(number) = NUMBER_WORDS.iter().position(|name| word.eq_ignore_ascii_case(name)) {
                self.numbers.insert(number.to_string());
            }
        }
        words::each_term(text, |term| {
            if !self.terms.contains(term) {
                self.terms.insert(term.to_owned());
            }
        });
    }
}

/// The numbers of a text in one form each: `1,000` and `1_000` are `1000`, `2.50` is `2.5`, `05` is `5`.
pub(super) fn numbers(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut all = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !digit(at) {
            at += 1;
            continue;
        }
        let mut number = String::new();
        loop {
            while digit(at) {
                number.push(char::from(bytes.get(at).copied().unwrap_or(b'0')));
                at += 1;
            }
            let group = digit(at + 1) && digit(at + 2) && digit(at + 3) && !digit(at + 4);
            match bytes.get(at) {
                Some(b',' | b'_' | b'\'') if group => at += 1,
                Some(b'.') if digit(at + 1) => {
                    number.push('.');
                    at += 1;
                }
                _ => break,
            }
        }
        if number.len() <= LONGEST_NUMBER {
            all.push(normal(&number));
        }
    }
    all
}

/// The numbers of a sentence that say something: "Step 2", "(2)" and "2)" only count what is said.
pub(super) fn claimed_numbers(sentence: &str) -> Vec<String> {
    const COUNTERS: [&str; 8] = ["step", "option", "part", "phase", "example", "case", "method", "way"];
    let mut all = Vec::new();
    let (mut counts, mut open) = (false, false);
    for word in sentence.split_whitespace() {
        let bare = word.trim_start_matches(['(', '*', '_']).trim_end_matches(['.', ',', ':', ';', '*', '_']);
        let digits = bare.strip_suffix(')').unwrap_or(bare);
        let is_count = (1..=2).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && (counts || (bare.ends_with(')') && !open));
        open = word.rfind('(').map_or(open, |_| true) && !word.contains(')');
        if !is_count {
            all.extend(numbers(word));
        }
        counts = COUNTERS.iter().any(|counter| bare.eq_ignore_ascii_case(counter));
    }
    all
}

fn normal(number: &str) -> String {
    let mut parts = number.split('.');
    let (whole, fraction, more) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    if more.is_some() {
        // A version or an address.
        return number.to_owned();
    }
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    match fraction.map(|fraction| fraction.trim_end_matches('0')) {
        Some(fraction) if !fraction.is_empty() => format!("{whole}.{fraction}"),
        _ => whole.to_owned(),
    }
}

/// The proper names of a sentence, words with a capital that do not begin it: as written, and the terms they give.
pub(super) fn names(sentence: &str) -> Vec<(&str, String)> {
    let mut all = Vec::new();
    let mut starts = true;
    for word in sentence.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let ends = word.ends_with(['.', '!', '?', ':', ';']);
        let capital = bare.chars().next().is_some_and(char::is_uppercase);
        if capital && !starts && bare != "I" && !bare.starts_with("I'") && !bare.starts_with("I’") {
            let lower = bare.to_lowercase();
            if !words::is_stop_word(&lower) {
                all.extend(words::terms(bare).into_iter().next().map(|term| (bare, term)));
            }
        }
        starts = ends || (starts && bare.is_empty());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x16_numbers_have_one_form() {
        assert_eq!(
            numbers("1,000 and 1000, 1_000; 2.50, 05, 0.5, 007."),
            ["1000", "1000", "1000", "2.5", "5", "0.5", "7"]
        );
        assert_eq!(
            numbers("v1.2.3 at 14:20 on 2024-05-01, SHA-256, 12,34"),
            ["1.2.3", "14", "20", "2024", "5", "1", "256", "12", "34"]
        );
        assert_eq!(numbers(&"9".repeat(100_000)), Vec::<String>::new());
        assert!(Facts::of_text("Three attempts").numbers.contains("3"));
    }

    #[test]
    fn x16_counting_claims_nothing() {
        assert_eq!(claimed_numbers("**Step 2:** wait (3 s), (1) once, 2) twice [9], option 3."), ["3", "9"]);
        assert_eq!(claimed_numbers("It steps 2 times (up to 30), or 4."), ["2", "30", "4"]);
    }

    #[test]
    fn x16_names_are_capitals_inside() {
        let found = names("The server is in Husum and I like it. It was made by (ACME)");
        assert_eq!(found, [("Husum", "husum".to_owned()), ("ACME", "acm".to_owned())]);
        assert!(names("Retries are logged. They double.").is_empty());
    }
}
