//! What can be compared between a sentence and the source it rests on: numbers, amounts, dates, names and words.

use std::collections::HashSet;

use super::{
    dates::{Date, When, dates, month},
    held::Held,
    numbers::{Number, digit, numbers},
    quantity::{Quantity, frequencies, implicit, quantities},
};
use loopwright_base::{
    sources::{Source, SourceKind},
    text::tail,
};
use loopwright_lexicon::{lines::Format, meanings::Terms, words};

/// The quantities, dates and words of a text.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// What it says, statement by statement.
    pub held: Held,
    /// Every value that a number may mean.
    numbers: HashSet<String>,
    dates: HashSet<When>,
    /// The words of it.
    pub terms: Terms,
    /// Whether it holds letters of scripts without capitals.
    caseless: bool,
}

impl Facts {
    /// The facts of a text that is no source.
    pub fn of_text(text: &str) -> Self {
        let mut facts = Self { held: Held::read(text, "", Format::Markdown, 1), ..Self::default() };
        facts.add(text);
        facts
    }

    /// The facts of a source, with its headings.
    pub fn of_source(source: &Source) -> Self {
        let format = match source.kind {
            SourceKind::File => Format::of_path(&source.reference),
            SourceKind::Thread | SourceKind::Web | SourceKind::Tool | SourceKind::Memory => Format::Markdown,
        };
        let mut facts =
            Self { held: Held::read(&source.text, &source.heading, format, source.line), ..Self::default() };
        facts.held.add(named(&source.reference), "", (0, usize::MAX));
        facts.add(&source.text);
        facts.add(&source.heading);
        facts.add(named(&source.reference));
        facts
    }

    /// What stands on some lines, and above them.
    #[must_use]
    pub fn of_lines(&self, from: usize, to: usize) -> Self {
        let mut facts = Self { held: self.held.of_lines(from, to), ..Self::default() };
        let mut above = HashSet::new();
        for one in std::mem::take(&mut facts.held.all) {
            facts.add(&one.said);
            if above.insert(one.above.clone()) {
                facts.add(&one.above);
            }
            facts.held.all.push(one);
        }
        facts
    }

    fn add(&mut self, text: &str) {
        self.numbers.extend(numbers(text).into_iter().flat_map(|number| number.readings).flatten());
        self.dates.extend(dates(text).into_iter().flat_map(|date| date.readings));
        self.caseless |= text.chars().any(is_caseless);
        words::each_term(text, |term| self.terms.insert(term));
    }

    /// Whether the quantity stands in a statement here.
    fn holds(&self, claimed: &Quantity) -> bool {
        // What can be read as several numbers may stand here as these.
        let mut several = claimed.number.readings.iter().filter(|reading| reading.len() > 1);
        let as_often = |seconds: f64| self.held.all.iter().any(|one| one.around.has_rate(seconds));
        self.held.with(claimed).next().is_some()
            || claimed.often.is_some_and(as_often)
            || several.any(|reading| reading.iter().all(|value| self.numbers.contains(value)))
    }

    /// Whether the date stands here; a part that is not said of it here must stand somewhere else.
    pub(super) fn holds_date(&self, date: &Date) -> bool {
        let stands = |part: Option<u32>| part.is_none_or(|part| self.numbers.contains(&part.to_string()));
        date.readings.iter().any(|day| {
            self.dates.iter().any(|other| {
                let same = |one: Option<u32>, other: Option<u32>| match (one, other) {
                    (Some(one), Some(other)) => one == other,
                    (one, None) => stands(one),
                    (None, Some(_)) => true,
                };
                other.month == day.month && same(day.year, other.year) && same(day.day, other.day)
            })
        })
    }
}

/// What a reference says of what it names. That something is page 3 of a file, the 17th memory or source 2 says where
/// it stands and nothing about it.
fn named(reference: &str) -> &str {
    let name = reference.split_once('#').map_or(reference, |(name, _)| name);
    match name.strip_prefix("source ") {
        Some(place) if place.bytes().all(|byte| byte.is_ascii_digit()) => "",
        _ => name,
    }
}

/// What a sentence claims that can be counted: its quantities, its dates, and how often something is.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "nearly all are quantities")]
pub enum Claimed {
    /// A number with what it counts.
    Quantity(Quantity),
    /// A day, month or year.
    Date(Date),
    /// How often something happens: its place in the text, and the seconds between.
    Often(std::ops::Range<usize>, f64),
}

impl Claimed {
    /// Whether the facts hold it.
    pub fn stands_in(&self, facts: &Facts) -> bool {
        match self {
            Self::Quantity(quantity) => facts.holds(quantity),
            Self::Date(date) => facts.holds_date(date),
            Self::Often(_, seconds) => facts.held.all.iter().any(|one| one.around.has_rate(*seconds)),
        }
    }

    /// Its place in the text.
    pub fn bytes(&self) -> &std::ops::Range<usize> {
        match self {
            Self::Quantity(quantity) => &quantity.number.bytes,
            Self::Date(date) => &date.bytes,
            Self::Often(bytes, _) => bytes,
        }
    }

    /// As it is written in `sentence`.
    pub fn shown(&self, sentence: &str) -> String {
        sentence.get(self.bytes().clone()).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// All quantities and dates of a text.
pub(super) fn counted(text: &str) -> Vec<Claimed> {
    let dates = dates(text);
    let mut next = dates.iter().peekable();
    let mut all: Vec<Claimed> = Vec::new();
    for quantity in quantities(text) {
        let bytes = &quantity.number.bytes;
        while next.next_if(|date| date.bytes.end <= bytes.start).is_some() {}
        if next.peek().is_none_or(|date| date.bytes.start >= bytes.end) {
            all.push(Claimed::Quantity(quantity));
        }
    }
    all.extend(dates.into_iter().map(Claimed::Date));
    all
}

/// How many bytes before a number are looked at.
const NEAR: usize = 200;
/// Words before a number that make it a name of a place: "Step 2".
const COUNTERS: [&str; 8] = ["step", "option", "part", "phase", "example", "case", "method", "way"];
/// Words before a number in words that say that its things are known: "these two".
const KNOWN: [&str; 14] =
    ["the", "these", "those", "both", "all", "other", "its", "their", "our", "your", "my", "last", "next", "any"];

/// What a sentence says that can be counted: "Step 2", "(2)" and "2)" only count what is said, and so do "these two".
pub fn claimed(sentence: &str) -> Vec<Claimed> {
    let context: HashSet<String> = words::terms(sentence).into_iter().collect();
    let stated = counted(sentence).into_iter().filter_map(|one| match one {
        Claimed::Quantity(mut quantity) => {
            let says = says_something(sentence, &quantity.number) && !counts_items(sentence, &quantity);
            quantity.context.clone_from(&context);
            says.then_some(Claimed::Quantity(quantity))
        }
        other => Some(other),
    });
    let implicit = implicit(sentence, false).into_iter().map(Claimed::Quantity);
    // How often is not said by what a quantity is said for.
    let own = counted(sentence);
    let each =
        |seconds: f64| own.iter().any(|one| matches!(one, Claimed::Quantity(quantity) if quantity.is_each(seconds)));
    let often = frequencies(sentence)
        .into_iter()
        .filter(|(_, seconds)| !each(*seconds))
        .map(|(bytes, seconds)| Claimed::Often(bytes, seconds));
    stated.chain(implicit).chain(often).collect()
}

/// Whether a number only counts what is listed behind it: "two people: Ann and Bo".
fn counts_items(sentence: &str, quantity: &Quantity) -> bool {
    let behind = sentence.get(quantity.number.bytes.end..).unwrap_or_default();
    let Some((_, listed)) = behind.split_once(": ") else { return false };
    let items =
        listed.replace(" and ", ", ").split(", ").filter(|item| item.chars().any(char::is_alphanumeric)).count();
    quantity.number.unit.is_none() && quantity.number.readings.iter().any(|one| *one == [items.to_string()])
}

fn says_something(sentence: &str, number: &Number) -> bool {
    // What is far away says nothing about a number.
    let before = tail(sentence.get(..number.bytes.start).unwrap_or_default(), NEAR);
    let after = sentence.get(number.bytes.end..).unwrap_or_default();
    let written = sentence.get(number.bytes.clone()).unwrap_or_default();
    let last = before.trim_end_matches(['(', '*', '_', ' ', '\n', '\u{a0}']);
    let last = last.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase();
    // "Ten times as many" is reckoned from what is told.
    if after.starts_with(" times as ") {
        return false;
    }
    if !number.in_words {
        let short = written.chars().count() <= 2 && written.chars().all(|c| digit(c).is_some());
        let counts = COUNTERS.contains(&last.as_str()) && before.ends_with([' ', '*', '_', '\u{a0}']);
        let closes = after.starts_with(')') && before.rfind('(') <= before.rfind(')');
        return !(short && (counts || closes));
    }
    if number.readings.iter().flatten().all(|value| matches!(value.as_str(), "0" | "1")) {
        return false;
    }
    let lower = written.to_lowercase();
    // "Doubles" is a verb, a quarter a part of the year, "third," a beginning; `two-factor` and the like are names.
    let is_other = lower.starts_with("doubl") || lower.starts_with("tripl") || lower == "quarter";
    let begins = (before.trim().is_empty() || before.trim_end().ends_with(['.', '!', '?'])) && after.starts_with(',');
    let compound = number.unit.is_none()
        && (after.strip_prefix('-').is_some_and(|rest| rest.starts_with(char::is_alphabetic))
            || (before.ends_with('-') && before.trim_end_matches('-').ends_with(char::is_alphabetic)));
    let few = !lower.starts_with("tw") || lower == "two";
    let few = few
        && number.readings.len() == 1
        && number.readings.iter().flatten().all(|value| matches!(value.as_str(), "2" | "3" | "4"));
    let known = few && number.unit.is_none() && KNOWN.contains(&last.as_str());
    // A word alone is no sentence.
    let alone = sentence.split_whitespace().nth(1).is_none();
    !alone && !is_other && !begins && !compound && !known
}

/// Whether `c` is a letter of a script without capitals.
fn is_caseless(c: char) -> bool {
    !c.is_ascii() && c.is_alphabetic() && !c.is_lowercase() && !c.is_uppercase() && c as u32 >= 0x590
}

/// The proper names of a sentence, as written, with the terms they give: words with a capital that do not begin it, a
/// beginning that is a name beyond doubt, and words of scripts without capitals in a sentence of another script.
pub fn names(sentence: &str) -> Vec<(&str, String)> {
    let mut all = Vec::new();
    let mut starts = true;
    let (mut cased, mut caseless) = (0, 0);
    for c in sentence.chars() {
        cased += usize::from(c.is_lowercase() || c.is_uppercase());
        caseless += usize::from(is_caseless(c));
    }
    let dates = dates(sentence);
    let in_date = |word: &str| month(word).is_some() && !dates.is_empty();
    let is_capital = |word: &str| word.chars().next().is_some_and(char::is_uppercase);
    let bare = |word| str::trim_matches(word, |c: char| !c.is_alphanumeric());
    let mut words = sentence.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let name = bare(word);
        let ends = word.ends_with(['.', '!', '?', ':', ';']);
        let mut is_name =
            is_capital(name) && !starts && name != "I" && !name.starts_with("I'") && !name.starts_with("I’");
        if starts && is_capital(name) {
            // "Marie Curie", "PostgreSQL", "Zürich's".
            let next = words.peek().map(|next| bare(next)).unwrap_or_default();
            let ends_there = word.ends_with([',', '.', ':', ';', '!', '?']);
            let mixed = name.chars().skip(1).any(char::is_uppercase) && name.chars().any(char::is_lowercase);
            let pair = is_capital(next) && next.chars().any(char::is_lowercase) && name.chars().any(char::is_lowercase);
            let lower = name.to_lowercase();
            is_name = (pair && !ends_there && next.len() > 1 && !lower.ends_with("ly")) || mixed;
        }
        if caseless > 0 && cased >= caseless && name.chars().any(is_caseless) {
            is_name = true;
        }
        if is_name && !in_date(name) && !loopwright_lexicon::words::is_stop_word(&name.to_lowercase()) {
            // Scripts without spaces give pairs of characters: of those each counts.
            let most = if name.chars().any(is_caseless) { MOST_PAIRS } else { 1 };
            all.extend(words::terms(name).into_iter().take(most).map(|term| (name, term)));
        }
        starts = ends || (starts && name.is_empty());
    }
    all
}

/// Pairs of characters of one name that are looked for.
const MOST_PAIRS: usize = 8;

/// Whether a sentence of a script without capitals shares too few of its words with what it cites to rest on it; names
/// can't be told from other words there.
pub fn is_strange(sentence: &str, facts: &[&Facts]) -> bool {
    let letters = sentence.chars().filter(|c| c.is_alphabetic()).count();
    let caseless = sentence.chars().filter(|c| is_caseless(*c)).count();
    if caseless * 2 <= letters || !facts.iter().any(|facts| facts.caseless) {
        return false;
    }
    let terms = words::terms(sentence);
    let known = terms.iter().filter(|term| facts.iter().any(|facts| facts.terms.contains(*term))).count();
    terms.len() >= 3 && known * 3 < terms.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(sentence: &str) -> Vec<String> {
        claimed(sentence).iter().map(|one| one.shown(sentence)).collect()
    }

    fn holds(source: &str, sentence: &str) -> bool {
        let facts = Facts::of_text(source);
        claimed(sentence).iter().all(|one| one.stands_in(&facts))
    }

    #[test]
    fn x16_the_same_number_written_otherwise_is_supported() {
        for (source, sentence) in [
            ("It has 1,000 users.", "It has 1.000 users."),
            ("It has 1 000 users.", "It has 1000 users."),
            ("It has 1’000 users.", "It has one thousand users."),
            ("Three hundred people came.", "300 people came."),
            ("It holds 12 eggs.", "It holds a dozen eggs."),
            ("It waits ９０ s.", "It waits 90 seconds."),
            ("انتظر ٣٠ ثانية", "It is 30."),
            ("It waits 60 seconds.", "It waits one minute, or 1 minute."),
            ("timeout_seconds = 30", "It waits 30 seconds."),
            ("Half of them failed.", "50% of them failed."),
            ("50 % of them failed.", "Half of them failed."),
            ("A share of 0.5 failed.", "50 percent failed."),
            ("It was released on March 5, 2024.", "It came out on 2024-03-05."),
            ("Released 2024-03-05.", "It was released in March 2024, on the 5th of March."),
            ("It is tried every hour.", "It is tried after 1 hour."),
            ("The 3rd attempt is the last.", "The third attempt is the last."),
            ("It costs $5.", "It costs 5 dollars."),
            ("Between 10 and 20 s.", "It takes 10–20 seconds."),
            ("Served from 14:00.", "It is served from 2 pm."),
            ("1.5 million lines", "1,500,000 lines"),
            ("Both servers answer.", "It has two servers."),
            ("It holds 1 GB.", "It holds 1024 MB."),
        ] {
            assert!(holds(source, sentence), "{source} | {sentence} | {:?}", says(sentence));
        }
    }

    #[test]
    fn x16_another_number_is_not() {
        for (source, sentence) in [
            ("It has 1,000 users.", "It has 2.000 users."),
            ("It is retried three times.", "It is retried twelve times."),
            ("It is retried three times.", "It is retried twice."),
            ("It holds 300 pages.", "It holds three hundred and five pages."),
            ("It holds 11 eggs.", "It holds a dozen eggs."),
            ("It waits 90 s.", "It waits ８０ s."),
            ("It waits 90 s.", "It waits ٨٠ s."),
            ("It waits 90 s.", "It waits ८० s."),
            ("It waits 30 seconds.", "It waits 30 minutes."),
            ("It grew by 20 %.", "It grew by 20 million."),
            ("There are 50 users.", "50 % of them are users."),
            ("It was released on March 5, 2024.", "It was released on 2024-05-03."),
            ("It was released on March 5, 2024.", "It was released in April 2024."),
            ("The 3rd attempt is the last.", "The fourth attempt is the last."),
            ("It costs $5.", "It costs 5 euros."),
            ("The bridge has 3 lanes.", "The bridge has 3 million lanes."),
            ("A quarter of them left.", "Half of them left."),
            ("It takes 10–20 seconds.", "It takes 10–30 seconds."),
        ] {
            assert!(!holds(source, sentence), "{source} | {sentence} | {:?}", says(sentence));
        }
    }

    #[test]
    fn x16_counting_claims_nothing() {
        assert_eq!(says("**Step 2:** wait (3 s), (1) once, 2) twice, option 3."), ["3 s", "1", "twice"]);
        assert_eq!(says("It steps 2 times (up to 30), or 4."), ["2", "30", "4"]);
        assert!(
            says("The two of them use two-factor login; one of these three doubles. Third, a third-party tool.")
                .is_empty()
        );
    }

    #[test]
    fn x16_names_are_capitals_inside() {
        let found = names("The server is in Husum and I like it. It was made by (ACME)");
        assert_eq!(found, [("Husum", "husum".to_owned()), ("ACME", "acm".to_owned())]);
        assert!(names("Retries are logged. They double.").is_empty());
    }

    #[test]
    fn x16_names_of_other_scripts_and_at_the_beginning() {
        let found = |text| names(text).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(found("The director is 山田太 of Ōsaka."), ["山田太", "山田太", "Ōsaka"]);
        assert_eq!(found("It was written by Ольга Žižková."), ["Ольга", "Žižková"]);
        assert_eq!(found("Marie Curie found it. PostgreSQL keeps it."), ["Marie", "Curie", "PostgreSQL"]);
        assert_eq!(found("It was made by محمد in 2020."), ["محمد"]);
        assert!(found("Released in March 2024. Both wait.").is_empty());
        let facts = Facts::of_text("東京タワーの高さは三百三十三メートルです。");
        assert!(!is_strange("東京タワーの高さは三百三十三メートルです。", &[&facts]));
        assert!(is_strange("大阪城の建設者は豊臣秀吉でした。", &[&facts]));
    }
}
