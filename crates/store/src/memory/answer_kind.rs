//! The kind of answer that a question asks for and a text holds: a time or a number.

/// The kinds of answers that a text holds, or a question asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AnswerKinds {
    time: bool,
    number: bool,
}

/// Words of time.
const TIMES: [&str; 52] = [
    "ago",
    "april",
    "august",
    "autumn",
    "birthday",
    "christmas",
    "day",
    "days",
    "december",
    "evening",
    "fall",
    "february",
    "friday",
    "january",
    "july",
    "june",
    "last",
    "march",
    "monday",
    "month",
    "months",
    "morning",
    "next",
    "night",
    "november",
    "october",
    "past",
    "recently",
    "saturday",
    "september",
    "since",
    "soon",
    "spring",
    "summer",
    "sunday",
    "thursday",
    "today",
    "tomorrow",
    "tonight",
    "tuesday",
    "upcoming",
    "wednesday",
    "week",
    "weekend",
    "weekends",
    "weeks",
    "winter",
    "year",
    "yearly",
    "years",
    "yesterday",
    "yet",
];
/// Words of quantity.
const NUMBERS: [&str; 17] = [
    "couple", "dozen", "eight", "few", "five", "four", "half", "nine", "once", "one", "seven", "several", "six", "ten",
    "three", "twice", "two",
];

fn is_among(sorted: &[&str], word: &[u8]) -> bool {
    sorted.binary_search_by(|other| other.as_bytes().cmp(word)).is_ok()
}

impl AnswerKinds {
    /// The kinds of answers that a text holds.
    pub(super) fn of(text: &str) -> Self {
        let mut tells = Self::default();
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| (1..=10).contains(&word.len())) {
            if word.bytes().next().is_some_and(|b| b.is_ascii_digit()) {
                tells.number = true;
                tells.time |= word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
                continue;
            }
            let mut lower = [0_u8; 10];
            let Some(lower) = lower.get_mut(..word.len()) else { continue };
            lower.copy_from_slice(word.as_bytes());
            lower.make_ascii_lowercase();
            tells.time |= is_among(&TIMES, lower);
            tells.number |= is_among(&NUMBERS, lower);
        }
        tells
    }

    /// The kinds of answers that a question asks for.
    pub(super) fn asked(query: &str) -> Self {
        let mut words = query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let mut asked = Self::default();
        // The question itself may come late: "In the end, when did …".
        let mut before_last = "";
        for word in words.by_ref().take(64) {
            asked.time |= word.eq_ignore_ascii_case("when");
            if before_last.eq_ignore_ascii_case("how") {
                asked.time |= word.eq_ignore_ascii_case("long");
                asked.number |= ["many", "much", "often", "old"].iter().any(|other| word.eq_ignore_ascii_case(other));
            }
            before_last = word;
        }
        asked
    }

    /// Returns whether a text holds the kind of answer that was asked for.
    pub(super) const fn answers(self, asked: Self) -> bool {
        (self.time && asked.time) || (self.number && asked.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted() {
        assert!(TIMES.is_sorted() && NUMBERS.is_sorted());
    }

    #[test]
    fn times_and_numbers_answer_those_who_ask_for_them() {
        let time = AnswerKinds { time: true, number: false };
        let number = AnswerKinds { time: false, number: true };
        assert_eq!(AnswerKinds::of("We met last Week!"), time);
        assert_eq!(AnswerKinds::of("It has 3 rooms"), number);
        assert_eq!(AnswerKinds::of("in 2023"), AnswerKinds { time: true, number: true });
        assert_eq!(AnswerKinds::of("the someone often lasts"), AnswerKinds::default());
        assert_eq!(AnswerKinds::asked("When did Ann leave?"), time);
        assert_eq!(AnswerKinds::asked("How long, and how many?"), AnswerKinds { time: true, number: true });
        assert_eq!(AnswerKinds::asked("How was it? Many came."), AnswerKinds::default());
        assert!(time.answers(AnswerKinds { time: true, number: true }) && !time.answers(number));
        assert_eq!(AnswerKinds::of(""), AnswerKinds::default());
    }
}
