//! The months by their English names, and the days of their dates, for whoever reads dates in texts.

/// January to December, in lower case.
pub const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Days from 1970 to a date of the Gregorian calendar (Hinnant's `days_from_civil`); the month behind December is
/// January.
pub const fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 12 { (year + 1, month - 12) } else { (year, month) };
    // The year begins in March, so that the leap day is its last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The year, month and day of the date so many days from 1970 (Hinnant's `civil_from_days`).
pub const fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + later, month, day)
}

#[cfg(test)]
mod tests {
    use super::{date_of, days};

    #[test]
    fn days_follow_each_other() {
        let mut last = days(1969, 12, 31);
        assert_eq!(last, -1);
        for year in 1970..2100 {
            for month in 1..=12 {
                let first = days(year, month, 1);
                assert_eq!(first, last + 1, "{year}-{month}");
                assert_eq!(date_of(first), (year, month, 1));
                assert_eq!(date_of(last).1, (month + 10) % 12 + 1);
                last = days(year, month + 1, 1) - 1;
            }
        }
    }
}
