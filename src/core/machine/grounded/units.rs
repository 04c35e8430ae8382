//! Units of measure next to a number, so that thirty seconds are no thirty minutes and sixty of them are one.

use super::numbers::shown;

/// What kind of thing a unit measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Measure {
    Time,
    Bytes,
    Length,
    Mass,
    Share,
    Euro,
    Dollar,
    Pound,
}

/// A unit: what it measures, and how many of the base unit it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit {
    pub(super) measure: Measure,
    factor: f64,
    /// Another factor that is in use: a kilobyte of 1,024.
    other: f64,
}

impl Unit {
    const fn new(measure: Measure, factor: f64) -> Self {
        Self { measure, factor, other: factor }
    }

    /// So many of the unit, in its base unit, in each way that it is understood.
    pub(super) fn amounts(self, value: &str) -> [(Measure, String); 2] {
        let value: f64 = value.parse().unwrap_or(0.0);
        [(self.measure, shown(value * self.factor)), (self.measure, shown(value * self.other))]
    }

    /// The unit of the number between `before` and `after`, and how many bytes of `after` it takes.
    pub(super) fn around(before: &str, after: &str) -> (Option<Self>, usize) {
        let money = match before.trim_end_matches(['~', ' ', '\u{a0}']).chars().next_back() {
            Some('$') => Some(Measure::Dollar),
            Some('€') => Some(Measure::Euro),
            Some('£') => Some(Measure::Pound),
            _ => None,
        };
        if let Some(money) = money {
            return (Some(Self::new(money, 1.0)), 0);
        }
        let gap: usize = after
            .chars()
            .take_while(|c| matches!(c, ' ' | '-' | '\u{a0}' | '\u{202f}' | '\n'))
            .take(2)
            .map(char::len_utf8)
            .sum();
        let rest = after.get(gap..).unwrap_or_default();
        let sign = rest.chars().next().and_then(|c| {
            Some(match c {
                '%' | '％' | '٪' => Self::new(Measure::Share, 0.01),
                '‰' => Self::new(Measure::Share, 0.001),
                '€' => Self::new(Measure::Euro, 1.0),
                '$' => Self::new(Measure::Dollar, 1.0),
                '£' => Self::new(Measure::Pound, 1.0),
                _ => return None,
            })
        });
        if let Some(sign) = sign {
            return (Some(sign), gap + rest.chars().next().map_or(0, char::len_utf8));
        }
        let length: usize = rest.chars().take_while(|c| c.is_alphabetic()).take(13).map(char::len_utf8).sum();
        let word = rest.get(..length).unwrap_or_default();
        if word == "per" && rest.starts_with("per cent") {
            return (Some(Self::new(Measure::Share, 0.01)), gap + 8);
        }
        // A letter behind a gap is as often a word.
        let unit = Self::named(word).filter(|_| gap == 0 || word.len() > 1 || !matches!(word, "d" | "m" | "B" | "g"));
        (unit, if unit.is_some() { gap + length } else { 0 })
    }

    fn named(word: &str) -> Option<Self> {
        use Measure::{Bytes, Dollar, Euro, Length, Mass, Pound, Share, Time};
        let exact = match word {
            "ns" => Self::new(Time, 1e-9),
            "us" | "µs" | "μs" => Self::new(Time, 1e-6),
            "ms" => Self::new(Time, 1e-3),
            "s" => Self::new(Time, 1.0),
            "h" => Self::new(Time, 3_600.0),
            "d" => Self::new(Time, 86_400.0),
            "B" => Self::new(Bytes, 1.0),
            "kB" | "KB" => Self { measure: Bytes, factor: 1e3, other: 1_024.0 },
            "MB" => Self { measure: Bytes, factor: 1e6, other: 1_048_576.0 },
            "GB" => Self { measure: Bytes, factor: 1e9, other: 1_073_741_824.0 },
            "TB" => Self { measure: Bytes, factor: 1e12, other: 1_099_511_627_776.0 },
            "KiB" => Self::new(Bytes, 1_024.0),
            "MiB" => Self::new(Bytes, 1_048_576.0),
            "GiB" => Self::new(Bytes, 1_073_741_824.0),
            "TiB" => Self::new(Bytes, 1_099_511_627_776.0),
            "mm" => Self::new(Length, 1e-3),
            "cm" => Self::new(Length, 1e-2),
            "m" => Self::new(Length, 1.0),
            "km" => Self::new(Length, 1e3),
            "mg" => Self::new(Mass, 1e-6),
            "g" => Self::new(Mass, 1e-3),
            "kg" => Self::new(Mass, 1.0),
            "USD" => Self::new(Dollar, 1.0),
            "EUR" => Self::new(Euro, 1.0),
            "GBP" => Self::new(Pound, 1.0),
            _ => {
                let lower = word.to_lowercase();
                let singular = lower.strip_suffix('s').unwrap_or(&lower);
                return Some(match singular {
                    "nanosecond" => Self::new(Time, 1e-9),
                    "microsecond" => Self::new(Time, 1e-6),
                    "millisecond" => Self::new(Time, 1e-3),
                    "second" | "sec" => Self::new(Time, 1.0),
                    "minute" | "min" => Self::new(Time, 60.0),
                    "hour" | "hr" => Self::new(Time, 3_600.0),
                    "day" => Self::new(Time, 86_400.0),
                    "week" => Self::new(Time, 604_800.0),
                    "month" => Self::new(Time, 2_629_800.0),
                    "year" => Self::new(Time, 31_557_600.0),
                    "byte" => Self::new(Bytes, 1.0),
                    "kilobyte" => Self { measure: Bytes, factor: 1e3, other: 1_024.0 },
                    "megabyte" => Self { measure: Bytes, factor: 1e6, other: 1_048_576.0 },
                    "gigabyte" => Self { measure: Bytes, factor: 1e9, other: 1_073_741_824.0 },
                    "terabyte" => Self { measure: Bytes, factor: 1e12, other: 1_099_511_627_776.0 },
                    "millimetre" | "millimeter" => Self::new(Length, 1e-3),
                    "centimetre" | "centimeter" => Self::new(Length, 1e-2),
                    "metre" | "meter" => Self::new(Length, 1.0),
                    "kilometre" | "kilometer" => Self::new(Length, 1e3),
                    "gram" => Self::new(Mass, 1e-3),
                    "kilogram" | "kilo" => Self::new(Mass, 1.0),
                    "tonne" => Self::new(Mass, 1e3),
                    "percent" | "pct" => Self::new(Share, 0.01),
                    "dollar" => Self::new(Dollar, 1.0),
                    "euro" => Self::new(Euro, 1.0),
                    _ => return None,
                });
            }
        };
        Some(exact)
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
        assert!(amount("3", " users").is_none() && amount("3", " d").is_none() && amount("3", "").is_none());
        assert_eq!(Unit::around("costs $", "").0, Unit::around("", " dollars").0);
    }
}
