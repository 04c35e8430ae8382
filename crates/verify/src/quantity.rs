//! Quantities: a number with its sign, its unit or the word that it counts, its bound, and what it is said for.
//!
//! One rule compares them: values in the base unit, units of the same measure, unknown words with the same words,
//! bounds of the same direction, rates of the same time or thing. What is not known is equal to nothing but itself: a
//! unit that is only in one of two texts makes two quantities of them, unless the other text names it elsewhere in its
//! statement.

use std::{collections::HashSet, ops::Range};

use super::{
    numbers::{Number, numbers, shown},
    units::{Unit, list_of, rate},
};
use loopwright_base::text::{head, tail};
use loopwright_lexicon::{
    meanings::{self, Terms},
    words,
};

/// How many bytes before a number are looked at for its bound, and behind it for its rate.
const NEAR: usize = 48;
const FAR: usize = 160;
/// Words behind a number that may say what it counts.
const COUNTED: usize = 3;

/// What a number bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Bound {
    #[default]
    None,
    /// At most, and less than.
    Upper { strict: bool },
    /// At least, and more than.
    Lower { strict: bool },
}

/// What a quantity is said for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Rate {
    /// So many seconds.
    Time(f64),
    /// A thing, as a term.
    Each(String),
}

/// A quantity in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// How many.
    pub number: Number,
    /// What it counts, as terms, where that is no known unit; words between it and its unit, too.
    pub counted: Vec<String>,
    /// The word before it, as a term, of which it may be the number: `port 80`.
    label: Option<String>,
    bound: Bound,
    rates: Vec<Rate>,
    /// Seconds between two times, of what is said to happen so often: `every 12 hours`, `twice a day`.
    pub(super) often: Option<f64>,
    /// Its unit or what it counts as it is written, as terms.
    things: Vec<String>,
    /// The words of the claim that it stands in.
    pub context: HashSet<String>,
}

/// What is said around a quantity: in its statement, and above it.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// The words of both.
    pub terms: Terms,
    /// Units that are named without a number.
    units: Vec<Unit>,
    rates: Vec<f64>,
    bounds: Vec<Bound>,
}

impl Around {
    /// Reads what is said with a statement.
    pub(super) fn add(&mut self, text: &str) {
        words::each_term(text, |term| self.terms.insert(term));
        let word = |c: char| !(c.is_alphanumeric() || matches!(c, '%' | '€' | '$' | '£' | '°' | '¥' | '₹'));
        let mut before = "";
        for part in text.split(word).filter(|part| !part.is_empty()) {
            let lower = part.to_lowercase();
            if let Some(time) = rate(&lower) {
                self.rates.push(time);
            }
            let (unit, length) = Unit::named(part, true);
            if let Some(unit) = unit
                .filter(|_| length == part.len() && part.chars().count() > 1 || !part.chars().all(char::is_alphabetic))
            {
                if let Some(seconds) = unit.seconds().filter(|_| is_each(before) || before == "the") {
                    self.rates.push(seconds);
                }
                if self.units.len() < 32 && !self.units.contains(&unit) {
                    self.units.push(unit);
                }
            }
            match lower.as_str() {
                "maximum" | "max" | "limit" | "limited" | "cap" | "capped" | "most" | "longest" | "ceiling" => {
                    self.bounds.push(Bound::Upper { strict: false });
                }
                "minimum" | "min" | "least" | "shortest" | "floor" => self.bounds.push(Bound::Lower { strict: false }),
                _ => {}
            }
            before = part;
        }
        for quantity in quantities(text) {
            // "Every 24 hours" is daily.
            self.rates.extend(quantity.often);
        }
    }

    /// Whether something is said for each such time.
    pub(super) fn has_rate(&self, seconds: f64) -> bool {
        self.rates.iter().any(|known| (known - seconds).abs() <= 1e-6 * seconds)
    }
}

fn is_each(word: &str) -> bool {
    matches!(word.to_ascii_lowercase().as_str(), "per" | "a" | "an" | "each" | "every" | "once" | "one")
}

/// All quantities of a text, in order.
pub(super) fn quantities(text: &str) -> Vec<Quantity> {
    let mut found = numbers(text);
    share_units(text, &mut found);
    join_parts(text, &mut found);
    let starts: Vec<usize> = found.iter().map(|one| one.bytes.start).chain([text.len()]).collect();
    let mut all: Vec<Quantity> = Vec::with_capacity(found.len());
    // "8 in 24 hours".
    let within: Vec<Option<f64>> = found
        .iter()
        .map(|one| {
            let lead = tail(text.get(..one.bytes.start)?, NEAR).trim_end();
            let time = one
                .unit
                .and_then(Unit::seconds)
                .filter(|_| [" in", " within", " per", " in any"].iter().any(|word| lead.ends_with(word)))?;
            Some(time * value_of(one)?)
        })
        .collect();
    for (at, mut number) in found.into_iter().enumerate() {
        let next = starts.get(at + 1).copied().unwrap_or(text.len());
        let behind = text.get(number.bytes.end..).unwrap_or_default();
        let written = text.get(number.bytes.clone()).unwrap_or_default();
        let mut counted = Vec::new();
        let part = value_of(&number).is_some_and(|value| 0.0 < value && value < 1.0);
        if number.unit.is_none() && number.in_words && part {
            // "Half an hour" is so much of it, else it is a part.
            let known = number.readings.len() > 1 && is_part(&written.to_lowercase(), behind);
            let of = behind.strip_prefix(" of").unwrap_or(behind);
            let of = of.strip_prefix(" an ").or_else(|| of.strip_prefix(" a "));
            if let Some((of, (Some(unit), length))) = of.map(|of| (of, Unit::named(of, true))) {
                number.unit = Some(unit);
                number.bytes.end += behind.len() - of.len() + length;
                number.readings.truncate(1);
            } else if let Some((start, unit)) = one_and(text, &number) {
                number.unit = Some(unit);
                number.bytes.start = start;
                number.readings = vec![vec![shown(1.0 + value_of(&number).unwrap_or(0.5))]];
            } else if known {
                number.unit = Unit::share();
                number.readings.truncate(1);
            }
        }
        let behind = text.get(number.bytes.end..).unwrap_or_default();
        let before = tail(text.get(..number.bytes.start).unwrap_or_default(), NEAR);
        if number.unit.is_none() {
            counted = words_behind(behind, &mut number);
        }
        let things = words::terms(head(behind, NEAR)).into_iter().take(COUNTED);
        let things: Vec<String> = words::terms(written).into_iter().chain(things).collect();
        let label = label(before);
        let bound = bound(before, behind);
        let mut rates: Vec<Rate> = number.unit.and_then(|unit| unit.per).map(Rate::Time).into_iter().collect();
        let end = next.max(number.bytes.end);
        if number.unit.is_none() {
            let next = within.get(at + 1).copied().flatten();
            rates.extend(next.filter(|_| end - number.bytes.end <= COUNTED * 8).map(Rate::Time));
        }
        if !is_clock(&number) {
            rates.extend(rates_in(head(text.get(number.bytes.end..end).unwrap_or_default(), FAR)));
        }
        let often = often(&number, &counted, before, &rates).filter(|_| bound == Bound::None);
        all.push(Quantity { number, counted, label, bound, rates, often, things, context: HashSet::new() });
    }
    all
}

fn is_clock(number: &Number) -> bool {
    number.readings.first().and_then(|one| one.first()).is_some_and(|value| value.contains(':'))
}

fn value_of(number: &Number) -> Option<f64> {
    number.readings.first()?.first()?.parse().ok()
}

/// Where "an hour and a half" begins that ends with this part, and its unit.
fn one_and(text: &str, part: &Number) -> Option<(usize, Unit)> {
    let lead = text.get(..part.bytes.start)?;
    let lead = lead.strip_suffix(" and a ").or_else(|| lead.strip_suffix(" and "))?;
    let unit = lead.rsplit(' ').next()?;
    let one = lead.get(..lead.len() - unit.len())?.trim_end();
    let article = one.rsplit(|c: char| !c.is_alphanumeric()).next()?;
    let is_one = matches!(article.to_ascii_lowercase().as_str(), "a" | "an" | "one");
    let unit = Unit::named(unit, true).0.filter(|_| is_one)?;
    Some((one.len() - article.len(), unit))
}

/// Seconds between two times of what happens every so long, or so often in a time.
fn often(number: &Number, counted: &[String], before: &str, rates: &[Rate]) -> Option<f64> {
    let value = value_of(number).filter(|value| *value > 0.0)?;
    if let Some(unit) = number.unit {
        let each = before.trim_end().rsplit(' ').next()?;
        return unit.seconds().filter(|_| each.eq_ignore_ascii_case("every")).map(|seconds| seconds * value);
    }
    let times = counted.iter().all(|word| words::terms("times").contains(word) || rate(word).is_some());
    match rates {
        [Rate::Time(seconds)] if times => Some(seconds / value),
        _ => None,
    }
}

/// Whether a number in words is a part of what stands behind it: `half of`, `a third of`, not `third-party`.
fn is_part(written: &str, behind: &str) -> bool {
    let of = [" of", " a ", " an ", " the "].iter().any(|of| behind.starts_with(of));
    (written.ends_with("half") && !behind.starts_with('-'))
        || (of && ["quarter", "third"].iter().any(|part| written.ends_with(part)))
}

/// The words behind a number that say what it counts; a unit behind one or two of them is its unit.
fn words_behind(behind: &str, number: &mut Number) -> Vec<String> {
    let mut all = Vec::new();
    let mut at = 0;
    while all.len() < COUNTED {
        let rest = behind.get(at..).unwrap_or_default();
        let gap = rest.len() - rest.trim_start_matches([' ', '-', '*', '_', '\n', '\u{a0}']).len();
        let rest = rest.get(gap..).unwrap_or_default();
        let length = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’'))).unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        let lower = word.to_lowercase();
        // "On the 24th".
        if gap == 0 && at == 0 && matches!(lower.as_str(), "st" | "nd" | "rd" | "th") {
            at += length;
            continue;
        }
        if (gap == 0 && !all.is_empty())
            || word.is_empty()
            || words::is_stop_word(&lower)
            || word.starts_with(|c: char| c.is_ascii_digit())
        {
            break;
        }
        if !all.is_empty()
            && let (Some(unit), _) = Unit::named(rest, true)
            && word.chars().count() > 1
        {
            number.unit = Some(unit);
            number.bytes.end += at + gap + length;
            break;
        }
        all.extend(words::terms(word).into_iter().next());
        at += gap + length;
    }
    // "8 sharp" counts nothing.
    if all.iter().any(|term| meanings::is_thing(term)) { all } else { Vec::new() }
}

/// "6 euros 20" and "2 h 45 min" are one amount.
fn join_parts(text: &str, found: &mut Vec<Number>) {
    for at in (1..found.len()).rev() {
        let Some([first, second]) = found.get(at - 1..=at) else { continue };
        let between = text.get(first.bytes.end..second.bytes.start).unwrap_or("?");
        let named = text.get(first.bytes.clone()).is_some_and(|written| written.ends_with(char::is_alphabetic));
        let (Some(whole), Some(more), Some(unit)) = (value_of(first), value_of(second), first.unit) else { continue };
        let part = match second.unit {
            None if unit.is_money() && between == " " && (1.0..100.0).contains(&more) => more / 100.0,
            Some(less)
                if less.measure == "time"
                    && unit.measure == "time"
                    && less.factor * more < unit.factor
                    && matches!(between, " " | " and " | ", ") =>
            {
                more * less.factor / unit.factor
            }
            _ => continue,
        };
        let end = second.bytes.end;
        if let Some(first) = found.get_mut(at - 1).filter(|_| named) {
            first.readings = vec![vec![shown(whole + part)]];
            first.bytes.end = end;
            found.remove(at);
        }
    }
}

/// "10 to 20 seconds": the first number is of the unit of the second, and "$5–10" the other way about.
fn share_units(text: &str, found: &mut [Number]) {
    for at in (1..found.len()).rev() {
        let Some([first, second]) = found.get_mut(at - 1..=at) else { continue };
        let between = text.get(first.bytes.end..second.bytes.start).unwrap_or("?");
        let joint = between.trim_matches(['$', '€', '£', '¥', '₹']).trim();
        if !matches!(joint, "-" | "–" | "—" | "to" | "and" | "or" | "," | "through") {
            continue;
        }
        if first.unit.is_none() {
            first.unit = second.unit;
        }
        // "9–11 am".
        if let (Some(hour), Some(other)) = (first.readings.first(), second.readings.first())
            && let ([hour], [other]) = (hour.as_slice(), other.as_slice())
            && let (Ok(hour), Some((late, "00"))) = (hour.parse::<u32>(), other.split_once(':'))
            && let Ok(late) = late.parse::<u32>()
            && hour <= 12
            && joint != "and"
        {
            let of_day = if late > 12 && hour + 12 < late { vec![hour, hour + 12] } else { vec![hour] };
            first.readings = of_day.into_iter().map(|hour| vec![format!("{hour}:00")]).collect();
        }
    }
    for at in 1..found.len() {
        let Some([first, second]) = found.get_mut(at - 1..=at) else { continue };
        let between = text.get(first.bytes.end..second.bytes.start).unwrap_or("?").trim();
        if second.unit.is_none() && matches!(between, "-" | "–" | "—" | "to") {
            second.unit = first.unit;
        }
    }
}

/// The word right before a number.
fn label(before: &str) -> Option<String> {
    let bare = before.trim_end_matches([' ', '#', '*', '_', ':', '=', '-', '\u{a0}']);
    let word = bare.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
    words::terms(word).into_iter().next()
}

fn bound(before: &str, behind: &str) -> Bound {
    let lower = before.to_lowercase();
    let mut bare = lower.trim_end_matches([' ', '*', '_', '$', '€', '£', '¥', '₹', '~', '\u{a0}', '(', '-', '−']);
    // "At most every 6 hours" leaves 6 or more between.
    let every = bare.ends_with(" every");
    bare = bare.strip_suffix("every").map_or(bare, str::trim_end);
    for filler in ["about", "around", "a total of", "the", "a", "an", "is", "of", "roughly", "approximately"] {
        let cut = bare.strip_suffix(filler).filter(|cut| cut.ends_with(' '));
        if ["of", "is"].contains(&filler)
            && ["maximum", "minimum", "limit"].iter().any(|word| bare.ends_with(&format!("{word} {filler}")))
        {
            break;
        }
        bare = cut.map_or(bare, str::trim_end);
    }
    let ends = |name: &str| {
        let longest = list_of(name).iter().filter(|phrase| {
            bare.strip_suffix(phrase.as_str())
                .is_some_and(|rest| !phrase.ends_with(char::is_alphabetic) || !rest.ends_with(char::is_alphanumeric))
        });
        longest.map(String::len).max().unwrap_or(0)
    };
    // "Larger uploads than".
    let compared = bare.strip_suffix(" than").and_then(|rest| {
        rest.split_whitespace().rev().take(4).find_map(|word| {
            let is = |name: &str| list_of(name).contains(&format!("{word} than"));
            if is("before.over") {
                Some(Bound::Lower { strict: true })
            } else {
                is("before.under").then_some(Bound::Upper { strict: true })
            }
        })
    });
    let found = [
        (usize::from(compared.is_some()), compared.unwrap_or_default()),
        (ends("before.upper"), Bound::Upper { strict: false }),
        (ends("before.under"), Bound::Upper { strict: true }),
        (ends("before.lower"), Bound::Lower { strict: false }),
        (ends("before.over"), Bound::Lower { strict: true }),
    ];
    if let Some((length, bound)) = found.into_iter().filter(|(length, _)| *length > 0).max_by_key(|(length, _)| *length)
    {
        let rest = bare.get(..bare.len() - length).unwrap_or_default().trim_end();
        // "Can't be over", "mustn't weigh more than".
        // Of an amount, not of a time: "hasn't gone after three days".
        let far =
            list_of("before.over").iter().chain(list_of("before.under")).any(|phrase| bare.ends_with(phrase.as_str()));
        let near = rest.rsplit([',', ';', '.', ':']).next().unwrap_or_default().split_whitespace().rev();
        let denied = near.take(if far { 2 } else { 1 }).any(|word| {
            matches!(word, "not" | "never" | "cannot" | "no") || word.ends_with("n't") || word.ends_with("n’t")
        }) || every;
        return match bound {
            Bound::Upper { .. } if denied => Bound::Lower { strict: false },
            Bound::Lower { .. } if denied => Bound::Upper { strict: false },
            bound => bound,
        };
    }
    let after = behind.to_lowercase();
    // The thing that is counted may stand between: "8 characters or more".
    let after = head(&after, NEAR);
    let clause = after.split(['.', ';', ',', '(', '\n']).next().unwrap_or_default();
    let starts = |name: &str| {
        list_of(name).iter().any(|phrase| {
            let sign = !phrase.starts_with(char::is_alphabetic);
            clause.match_indices(phrase.as_str()).any(|(at, _)| {
                let rest = clause.get(at + phrase.len()..).unwrap_or_default();
                let ahead = clause.get(..at).unwrap_or_default();
                let near = ahead.split_whitespace().count() <= if sign { 0 } else { 2 } && !(sign && at > 0);
                let joins = phrase == "plus" && rest.trim_start().starts_with(char::is_alphanumeric);
                near && !joins && (sign || (ahead.ends_with([' ', '-']) && !rest.starts_with(char::is_alphanumeric)))
            })
        })
    };
    if starts("after.upper") {
        Bound::Upper { strict: false }
    } else if starts("after.lower") {
        Bound::Lower { strict: false }
    } else {
        Bound::None
    }
}

/// What is said of the number before `text`: per what.
fn rates_in(text: &str) -> Vec<Rate> {
    let clause = text.split(['.', ',', ';', '\n']).next().unwrap_or_default();
    let mut all = Vec::new();
    let (mut before, mut spans) = (String::new(), false);
    let mut rest = clause;
    while let Some(start) = rest.find(char::is_alphanumeric) {
        let slash = rest.get(..start).is_some_and(|gap| gap.ends_with('/'));
        rest = rest.get(start..).unwrap_or_default();
        let length = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        let lower = word.to_lowercase();
        let time = Unit::named(rest, !slash).0.and_then(Unit::seconds);
        // "Per item and day".
        let each = matches!(before.as_str(), "per" | "each" | "every") || (before == "and" && !all.is_empty());
        match time {
            Some(time) if slash || each || (!spans && matches!(before.as_str(), "a" | "an")) => {
                all.push(Rate::Time(time));
            }
            None if slash
                || each
                || (matches!(before.as_str(), "a") && matches!(lower.as_str(), "head" | "person" | "piece")) =>
            {
                all.extend(words::terms(word).into_iter().next().map(Rate::Each));
            }
            _ => all.extend(rate(&lower).map(Rate::Time)),
        }
        // "It takes about an hour" says how long, not how often.
        if !matches!(lower.as_str(), "a" | "an") {
            spans = list_of("amount.before").contains(&lower);
        }
        before = lower;
        rest = rest.get(length..).unwrap_or_default();
    }
    all
}

impl Quantity {
    /// Whether this quantity, of a claim, is `said`, in a statement with `around` it. `alike` tells whether a word of
    /// the claim means something that is said there.
    pub fn is(&self, said: &Self, around: &Around, alike: impl Fn(&str) -> bool) -> bool {
        self.same_value(said, around)
            && self.same_thing(said, around, &alike)
            && self.same_bound(said, around)
            && self.same_rate(said, around, &alike)
    }

    /// Whether it is said for each such time.
    pub(super) fn is_each(&self, seconds: f64) -> bool {
        self.rates.contains(&Rate::Time(seconds))
    }

    /// Whether it is a number in words of a few things.
    pub fn is_small_count(&self) -> bool {
        let few = |value: &str| value.parse::<f64>().is_ok_and(|value| (2.0..=12.0).contains(&value));
        self.number.in_words
            && self.number.unit.is_none()
            && self.bound == Bound::None
            && Self::values(&self.number).all(few)
    }

    /// Whether it may be the number of a version: `3.2`.
    pub fn is_version(&self) -> bool {
        self.number.unit.is_none()
            && self.counted.is_empty()
            && Self::values(&self.number).any(|value| value.contains('.'))
    }

    /// Whether it counts what the other one counts.
    pub fn counts_as(&self, other: &Self) -> bool {
        let mine: Terms = self.things.iter().cloned().collect();
        other.counted.iter().any(|word| mine.say(word))
    }

    /// Whether both measure the same.
    pub fn measures_as(&self, other: &Self) -> bool {
        match (self.number.unit, other.number.unit) {
            (Some(unit), Some(other)) => unit.measure == other.measure,
            (None, None) => {
                // "8 to 17" may be times of day.
                let hour = |one: &Self| is_clock(&one.number) || (one.counted.is_empty() && !one.number.in_words);
                (is_clock(&self.number) == is_clock(&other.number) || (hour(self) && hour(other)))
                    && (self.counted.is_empty()
                        || other.counted.is_empty()
                        || self.counted.iter().any(|word| other.counted.contains(word)))
            }
            _ => false,
        }
    }

    /// What it may be found by: its values, as they are written and in the base unit, for a second where it is said for
    /// a time. Two quantities that are equal have one in common.
    pub(super) fn keys(&self) -> impl Iterator<Item = String> + '_ {
        Self::values(&self.number).flat_map(|value| {
            let mut all = vec![value.to_owned()];
            if let Some((hour, "00")) = value.split_once(':') {
                all.extend(of_day(hour).map(|hour| hour.to_string()));
            } else {
                all.extend(of_day(value).map(|hour| hour.to_string()));
            }
            let amounts = self.number.unit.map(|unit| unit.amounts(value));
            for (measure, amount) in amounts.into_iter().flatten() {
                for rate in &self.rates {
                    if let (Rate::Time(time), Ok(amount)) = (rate, amount.parse::<f64>()) {
                        all.push(format!("{measure} {:.4e} each", amount / time));
                    }
                }
                all.extend((measure == "share").then(|| amount.clone()));
                all.extend(self.number.unit.filter(|unit| unit.is_money()).map(|_| format!("money {amount}")));
                all.push(format!("{measure} {amount}"));
            }
            for rate in &self.rates {
                if let (None, Rate::Time(time), Ok(value)) = (self.number.unit, rate, value.parse::<f64>()) {
                    all.push(format!("{:.4e} each", value / time));
                }
            }
            all
        })
    }

    fn values(number: &Number) -> impl Iterator<Item = &str> {
        number.readings.iter().filter(|reading| reading.len() == 1).flatten().map(String::as_str)
    }

    fn same_value(&self, said: &Self, around: &Around) -> bool {
        let (mine, theirs) = (self.number.unit, said.number.unit);
        let divide =
            |one: &Self| one.rates.iter().find_map(|rate| if let Rate::Time(time) = rate { Some(*time) } else { None });
        // Said for different times, both are compared for a second.
        let (each, other) = match (divide(self), divide(said)) {
            (Some(mine), Some(theirs)) => (mine, theirs),
            _ => (1.0, 1.0),
        };
        Self::values(&self.number).any(|value| {
            Self::values(&said.number).any(|known| match (mine, theirs) {
                // "16 degrees" are of any scale.
                (Some(mine), Some(theirs)) if mine.measure == "degree" && theirs.measure == "temperature" => {
                    value == known
                }
                (Some(mine), Some(theirs))
                    if mine.is_cent() != theirs.is_cent() && mine.is_money() && theirs.is_money() =>
                {
                    near(&mine.amounts(value)[0].1, each, &theirs.amounts(known)[0].1, other)
                }
                (Some(mine), Some(theirs)) => {
                    mine.measure == theirs.measure
                        && mine.amounts(value).iter().any(|one| {
                            theirs.amounts(known).iter().any(|other_one| near(&one.1, each, &other_one.1, other))
                        })
                }
                (Some(mine), None) => {
                    let named = around.units.iter().filter(|unit| unit.measure == mine.measure);
                    named.flat_map(|unit| unit.amounts(known)).any(|known| mine.amounts(value).contains(&known))
                }
                (None, _) => {
                    // "8 to 17" may be times of day.
                    let same_hour = |one: &str, other: &str| {
                        one.strip_suffix(":00")
                            .is_some_and(|hour| of_day(hour).is_some() && of_day(hour) == of_day(other))
                    };
                    let hours = theirs.is_none_or(|unit| unit.seconds() == Some(3_600.0));
                    near(value, each, known, other)
                        || (self.counted.is_empty() && same_hour(known, value))
                        || (said.counted.is_empty() && hours && same_hour(value, known))
                        || (self.counted.is_empty()
                            && said.counted.is_empty()
                            && hours
                            && known.parse::<u32>().is_ok_and(|hour| (13..=24).contains(&hour))
                            && of_day(value).is_some_and(|hour| Some(hour) == of_day(known)))
                }
            })
        })
    }

    fn same_thing(&self, said: &Self, around: &Around, alike: impl Fn(&str) -> bool) -> bool {
        if self.number.unit.is_some() || self.counted.is_empty() {
            return true;
        }
        let known = |word: &String| said.counted.contains(word) || around.terms.contains(word) || alike(word);
        // "Unused days: up to 6 move on": what is counted stands elsewhere in the claim.
        let named = || {
            said.things
                .iter()
                .any(|thing| self.context.contains(thing) && !thing.starts_with(|c: char| c.is_ascii_digit()))
        };
        self.counted.iter().any(known) || named() || (self.label.is_some() && self.label == said.label)
    }

    fn same_bound(&self, said: &Self, around: &Around) -> bool {
        let theirs = match said.bound {
            Bound::None => around
                .bounds
                .first()
                .copied()
                .filter(|first| around.bounds.iter().all(|one| one == first))
                .unwrap_or_default(),
            bound => bound,
        };
        match (self.bound, theirs) {
            (Bound::None, _)
            | (Bound::Upper { .. }, Bound::Upper { .. })
            | (Bound::Lower { .. }, Bound::Lower { .. }) => true,
            (Bound::Upper { strict } | Bound::Lower { strict }, Bound::None) => !strict,
            _ => false,
        }
    }

    fn same_rate(&self, said: &Self, around: &Around, alike: impl Fn(&str) -> bool) -> bool {
        self.rates.iter().all(|mine| match mine {
            // Times were compared with the values.
            Rate::Time(time) => said.rates.iter().any(|rate| matches!(rate, Rate::Time(_))) || around.has_rate(*time),
            Rate::Each(word) => said.rates.contains(mine) || around.terms.contains(word) || alike(word),
        })
    }
}

/// The hour on a clock of twelve.
fn of_day(hour: &str) -> Option<u32> {
    hour.parse::<u32>().ok().filter(|hour| *hour <= 24).map(|hour| (hour + 11) % 12 + 1)
}

/// Amounts without a number: `within an hour`, `for a year`; with `all` also `an hour` and `both`, for what a claim may
/// say with a number.
pub(super) fn implicit(text: &str, all: bool) -> Vec<Quantity> {
    let mut found = Vec::new();
    let (mut last, mut before) = (String::new(), String::new());
    let mut at = 0;
    for word in text.split(|c: char| !c.is_alphabetic()) {
        let range = at..at + word.len();
        at += word.len();
        at += text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        if word.is_empty() {
            continue;
        }
        let lower = word.to_lowercase();
        let value = match lower.as_str() {
            "both" | "pair" | "couple" | "neither" if all => Some("2"),
            "once" | "single" | "one" if all => Some("1"),
            _ => None,
        };
        let is = |name: &str, word: &str| list_of(name).contains(word);
        let rest = text.get(range.end..).unwrap_or_default().trim_start();
        let next = rest.get(..rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len())).unwrap_or_default();
        let spans = all || is("amount.before", &last) || is("amount.behind", next);
        let each = matches!(before.as_str(), "a" | "an")
            || (all && matches!(before.as_str(), "per" | "each" | "every" | "one"));
        // Of half an hour, and of an hour and a half, the hour says nothing.
        let lead = if spans && each { tail(text.get(..range.start).unwrap_or_default(), NEAR) } else { "" };
        let lead = lead.to_lowercase();
        let divided = ["half", "quarter of", "quarters of", "third of", "thirds of"].iter().any(|part| {
            let bare = lead.trim_end().trim_end_matches(char::is_alphabetic).trim_end();
            bare.ends_with(part)
        }) || [" and a half", " and a quarter", " and three quarters"]
            .iter()
            .any(|more| text.get(range.end..).is_some_and(|rest| rest.starts_with(more)));
        let unit = if spans && each && !divided { Unit::named(word, true).0.filter(|_| word.len() > 1) } else { None };
        if let Some(value) = value.or(unit.map(|_| "1")) {
            let readings = vec![vec![value.to_owned()]];
            let number = Number { bytes: range.clone(), readings, unit, in_words: true };
            let lead = tail(text.get(..range.start).unwrap_or_default(), NEAR);
            let bound = if all { Bound::None } else { bound(lead, "") };
            found.push(Quantity {
                number,
                counted: Vec::new(),
                label: None,
                bound,
                rates: Vec::new(),
                often: None,
                things: Vec::new(),
                context: HashSet::new(),
            });
        }
        (last, before) = (before, lower);
    }
    found
}

/// Whether two amounts, each said for a time, are the same.
fn near(one: &str, each: f64, other: &str, for_each: f64) -> bool {
    if one == other && (each - for_each).abs() < f64::EPSILON {
        return true;
    }
    match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => {
            let (one, other) = (one / each, other / for_each);
            (one - other).abs() <= 1e-5 * one.abs().max(other.abs())
        }
        _ => false,
    }
}

/// Frequencies that are said without a number: `daily`, `every week`, and where they stand.
pub(super) fn frequencies(text: &str) -> Vec<(Range<usize>, f64)> {
    let mut all = Vec::new();
    let (mut last, mut before) = ("", "");
    let mut at = 0;
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let range = at..at + word.len();
        at += word.len();
        at += text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        if word.is_empty() {
            continue;
        }
        let lower = before.to_ascii_lowercase();
        let each = matches!(lower.as_str(), "every" | "each" | "per")
            || (matches!(lower.as_str(), "a" | "an") && last.eq_ignore_ascii_case("once"));
        let time = if each { Unit::named(word, true).0.and_then(Unit::seconds) } else { rate(&word.to_lowercase()) };
        all.extend(time.map(|time| (range, time)));
        (last, before) = (before, word);
    }
    all
}
