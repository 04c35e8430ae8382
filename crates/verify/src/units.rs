//! Units of measure next to a number, so that thirty seconds are no thirty minutes and sixty of them are one.
//!
//! The units are those of `crates/verify/src/units.toml`, with the prefixes of the SI. A word that stands in no table
//! is no unit that is known, and none here.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use toml::de::{DeTable, DeValue};

use super::numbers::shown;
use loopwright_base::lists::{Lists, lists};

const TABLE: &str = include_str!("units.toml");

/// A unit: what it measures, and how many of the base unit it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    pub(super) measure: &'static str,
    pub(super) factor: f64,
    /// What is added for a base that begins elsewhere: degrees Celsius.
    offset: f64,
    /// Another factor that is in use: a kilobyte of 1,024.
    other: f64,
    /// Seconds of the time that it is said for: miles per hour.
    pub(super) per: Option<f64>,
}

#[derive(Debug, Default)]
struct Units {
    signs: HashMap<String, Unit>,
    names: HashMap<String, Unit>,
    rates: HashMap<String, f64>,
}

static UNITS: LazyLock<Units> =
    LazyLock::new(|| DeTable::parse(TABLE).map(|table| Units::read(table.get_ref())).unwrap_or_default());

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(number) => number.as_str().parse().ok(),
        DeValue::Integer(number) => number.as_str().parse().ok(),
        _ => None,
    }
}

impl Units {
    fn read(table: &DeTable<'_>) -> Self {
        let section = |name: &str| {
            let section = table.get(name).and_then(|section| section.get_ref().as_table());
            section.into_iter().flatten().map(|(name, value)| (name.get_ref().to_string(), value.get_ref()))
        };
        let seconds = |name: &str| {
            let named = table.get("names").and_then(|names| names.get_ref().as_table()?.get(name));
            named.and_then(|unit| number(unit.get_ref().as_array()?.get(1)?.get_ref()))
        };
        let unit = |value: &DeValue<'_>| {
            let parts = value.as_array()?;
            let part = |at: usize| parts.get(at).and_then(|part| number(part.get_ref()));
            // The table is read once, and its names stay.
            let measure: &'static str = Box::leak(parts.first()?.get_ref().as_str()?.to_owned().into_boxed_str());
            let factor = part(1)?;
            let per = parts.get(4).and_then(|part| seconds(part.get_ref().as_str()?));
            Some(Unit { measure, factor, offset: part(2).unwrap_or(0.0), other: part(3).unwrap_or(factor), per })
        };
        let scaled = |unit: Unit, by: f64| Unit { factor: unit.factor * by, other: unit.other * by, ..unit };
        let mut units = Self::default();
        for (sign, value) in section("si") {
            let Some(base) = unit(value) else { continue };
            for (prefix, by) in section("prefixes").filter_map(|(prefix, by)| Some((prefix, number(by)?))) {
                units.signs.insert(format!("{prefix}{sign}"), scaled(base, by));
            }
            units.signs.insert(sign, base);
        }
        units.signs.extend(section("signs").filter_map(|(sign, value)| Some((sign, unit(value)?))));
        for (name, value) in section("names") {
            let Some(base) = unit(value) else { continue };
            for (prefix, by) in section("long").filter_map(|(prefix, by)| Some((prefix, number(by)?))) {
                units.names.entry(format!("{prefix}{name}")).or_insert(scaled(base, by));
            }
            units.names.insert(name, base);
        }
        for (word, name) in section("rates") {
            let time = name.as_str().and_then(|name| if name == "night" { Some(86_400.0) } else { seconds(name) });
            units.rates.extend(time.map(|time| (word, time)));
        }
        units
    }
}

/// A list of the table.
pub(super) fn list_of(name: &str) -> &'static HashSet<String> {
    static LISTS: LazyLock<Lists> = LazyLock::new(|| lists(TABLE));
    static NONE: LazyLock<HashSet<String>> = LazyLock::new(HashSet::new);
    LISTS.get(name).unwrap_or(&NONE)
}

/// Seconds of the time that a word says something for: `annual`, `daily`.
pub(super) fn rate(word: &str) -> Option<f64> {
    UNITS.rates.get(word).copied()
}

impl Unit {
    /// A part of a whole.
    pub(super) fn share() -> Option<Self> {
        UNITS.names.get("share").copied()
    }

    /// Seconds, of a unit of time.
    pub(super) fn seconds(self) -> Option<f64> {
        match self.measure {
            "time" => Some(self.factor),
            "night" => Some(86_400.0),
            _ => None,
        }
    }

    /// Whether it is a hundredth of some currency: "20 cents".
    pub(super) fn is_cent(self) -> bool {
        self.measure == "cent"
    }

    pub(super) fn is_money(self) -> bool {
        list_of("money").contains(self.measure)
    }

    /// So many of the unit, in its base unit, in each way that it is understood.
    pub(super) fn amounts(self, value: &str) -> [(&'static str, String); 2] {
        let value: f64 = value.parse().unwrap_or(f64::NAN);
        let amount = |factor: f64| (self.measure, shown(value * factor + self.offset));
        [amount(self.factor), amount(self.other)]
    }

    /// The unit of the number between `before` and `after`, and how many bytes of `after` it takes.
    pub(super) fn around(before: &str, after: &str) -> (Option<Self>, usize) {
        let lead = before.trim_end_matches(['~', ' ', '\u{a0}', '-', '−']);
        let word = lead.rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | '*' | '_')).next().unwrap_or_default();
        let sign = word.chars().next_back().filter(|c| !c.is_alphanumeric() && *c != '%' && *c != '°');
        let sign = sign.and_then(|sign| UNITS.signs.get(sign.encode_utf8(&mut [0; 4]) as &str));
        let code =
            UNITS.signs.get(word).filter(|_| word.len() == 3 && word.bytes().all(|byte| byte.is_ascii_uppercase()));
        if let Some(money) = sign.or(code).filter(|unit| unit.is_money()) {
            return (Some(*money), 0);
        }
        let gap: usize = after
            .chars()
            .take_while(|c| matches!(c, ' ' | '-' | '\u{a0}' | '\u{202f}' | '\n'))
            .take(2)
            .map(char::len_utf8)
            .sum();
        let rest = after.get(gap..).unwrap_or_default();
        let (unit, length) = Self::named(rest, gap > 0);
        (unit, if unit.is_some() { gap + length } else { 0 })
    }

    /// The unit whose name or sign `text` begins with, and how long that is.
    pub fn named(text: &str, apart: bool) -> (Option<Self>, usize) {
        let in_sign = |c: char| {
            c.is_alphabetic()
                || matches!(c, '%' | '％' | '٪' | '‰' | '$' | '€' | '£' | '¥' | '₹' | '°' | '²' | '³' | '2' | '3')
        };
        let length: usize = text.chars().take_while(|c| in_sign(*c)).take(24).map(char::len_utf8).sum();
        let sign = text.get(..length).unwrap_or_default();
        // A letter behind a gap is as often a word.
        let doubtful = apart && matches!(sign, "d" | "B" | "A" | "y" | "N" | "J" | "u" | "p");
        if let Some(unit) = UNITS.signs.get(sign).filter(|_| !doubtful) {
            return (Some(*unit), length);
        }
        if let Some(first) = sign.chars().next().filter(|c| !c.is_alphabetic())
            && let Some(unit) = UNITS.signs.get(first.encode_utf8(&mut [0; 4]) as &str).filter(|_| first != '°')
        {
            return (Some(*unit), first.len_utf8());
        }
        let lower: String = text.chars().take(24).collect::<String>().to_lowercase();
        let word = |words: usize| {
            let mut ends = lower.match_indices(|c: char| !c.is_alphabetic()).map(|(at, _)| at).chain([lower.len()]);
            lower.get(..ends.nth(words - 1)?)
        };
        for words in [2, 1] {
            let Some(name) = word(words).filter(|name| !name.is_empty()) else { continue };
            let singular = name.strip_suffix('s').unwrap_or(name);
            if let Some(unit) = UNITS.names.get(name).or_else(|| UNITS.names.get(singular)) {
                return (Some(*unit), name.len());
            }
        }
        (None, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x16_units_are_compared_in_their_base() {
        let amount = |value: &str, after: &str| Unit::around("", after).0.map(|unit| unit.amounts(value)[0].clone());
        assert_eq!(amount("60", " seconds"), amount("1", " minute"));
        assert_eq!(amount("500", "ms"), amount("0.5", " s"));
        assert_ne!(amount("30", " seconds"), amount("30", " minutes"));
        assert_eq!(amount("50", "%"), amount("50", " percent"));
        assert_eq!(amount("50", " per cent"), amount("50", "％"));
        assert_eq!(amount("40", " kW"), amount("40000", " watts"));
        assert_ne!(amount("40", " mg"), amount("40", " µg"));
        assert_eq!(amount("0", " °C"), amount("32", " °F"));
        assert_ne!(amount("5", " miles"), amount("5", " km"));
        assert!(amount("3", " users").is_none() && amount("3", " d").is_none() && amount("3", "").is_none());
        assert_eq!(Unit::around("costs $", "").0, Unit::around("", " dollars").0);
    }
}
