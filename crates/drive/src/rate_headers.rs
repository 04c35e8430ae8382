//! Headers in which providers say what is left of their limits.
//!
//! Nearly all call the members of a limit `limit`, `remaining` and `reset`, somewhere in the name of a header beside
//! `ratelimit`; how they write the time differs, and can be told from how it looks.

use std::time::{SystemTime, UNIX_EPOCH};

use loopwright_lexicon::months::days;
use reqwest::header::HeaderMap;

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Requests,
    Tokens,
}

/// What is left of a limit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Quota {
    pub(super) unit: Unit,
    pub(super) left: u64,
    /// The whole of it.
    pub(super) limit: Option<u64>,
    /// The time from which the whole of it is there again.
    pub(super) until: f64,
}

/// Limits that are read of one answer.
const MOST_QUOTAS: usize = 8;

/// What is left of each limit that the headers tell; `now` is the time of our own clock.
pub(super) fn quotas(headers: &HeaderMap, now: f64) -> Vec<Quota> {
    let found = headers.iter().filter_map(|(name, value)| {
        let name = name.as_str();
        // Most headers of an answer are too short for it, and are not searched.
        let is_long = name.len() >= "ratelimit-remaining".len();
        if !is_long || !name.contains("ratelimit") || !name.contains("remaining") {
            return None;
        }
        let beside = |word| headers.get(name.replace("remaining", word))?.to_str().ok();
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| *number >= 0.0);
        Some(Quota {
            unit: if name.contains("token") { Unit::Tokens } else { Unit::Requests },
            left: number(value.to_str().ok()?)? as u64,
            limit: beside("limit").and_then(number).map(|limit| limit as u64),
            until: now + seconds_until(beside("reset")?, headers)?,
        })
    });
    found.take(MOST_QUOTAS).collect()
}

/// Seconds until a time: a number of them, a length (`6m0s`, `120ms`), a date (RFC 3339), or the seconds or
/// milliseconds since 1970.
fn seconds_until(text: &str, headers: &HeaderMap) -> Option<f64> {
    let text = text.trim();
    let now = || {
        let shown = headers.get("date").and_then(|value| value.to_str().ok()).and_then(super::answer::http_date);
        let own = || SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs_f64());
        shown.map(|seconds| seconds as f64).or_else(own)
    };
    let seconds = match text.parse::<f64>() {
        Ok(milliseconds) if milliseconds > 1e11 => milliseconds / 1000.0 - now()?,
        Ok(since) if since > 1e9 => since - now()?,
        Ok(seconds) => seconds,
        Err(_) => match length(text) {
            Some(seconds) => seconds,
            None => date(text)? - now()?,
        },
    };
    seconds.is_finite().then(|| seconds.max(0.0))
}

/// The seconds of a length such as `1h2m3.5s` or `120ms`.
fn length(text: &str) -> Option<f64> {
    let (mut rest, mut seconds) = (text, 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, behind) = rest.split_at(digits);
        let unit = behind.find(|c: char| c.is_ascii_digit()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(unit);
        seconds += number.parse::<f64>().ok()?
            * match unit {
                "d" => 86_400.0,
                "h" => 3_600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 1e-3,
                "us" | "µs" => 1e-6,
                "ns" => 1e-9,
                _ => return None,
            };
        rest = behind;
    }
    (!text.is_empty()).then_some(seconds)
}

/// Seconds since 1970 of a date such as `2026-01-27T12:00:00.5Z` or `2026-01-27T12:00:00+02:00`.
fn date(text: &str) -> Option<f64> {
    let (day, time) = text.split_once(['T', 't', ' '])?;
    let mut day = day.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (day.next()??, day.next()??, day.next()??);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let zone = time.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = time.split_at(zone);
    let mut clock = clock.split(':').map(|part| part.parse::<f64>().ok().filter(|n| (0.0..=60.0).contains(n)));
    let (hours, minutes, seconds) = (clock.next()??, clock.next()??, clock.next()??);
    let ahead = match zone.split_at(1) {
        ("Z" | "z", "") => 0.0,
        (sign, offset) => {
            let (hours, minutes) = offset.split_once(':')?;
            let minutes = hours.parse::<f64>().ok()? * 60.0 + minutes.parse::<f64>().ok()?;
            if sign == "-" { -minutes } else { minutes }
        }
    };
    Some(days(year, month, day) as f64 * 86_400.0 + (hours * 60.0 + minutes - ahead) * 60.0 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    fn read(pairs: &[(&'static str, &'static str)]) -> Vec<(Unit, u64, Option<u64>, f64)> {
        let headers = pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
        let quotas = quotas(&headers.collect(), 100.0);
        quotas.into_iter().map(|quota| (quota.unit, quota.left, quota.limit, quota.until)).collect()
    }

    #[test]
    fn what_is_left_is_read_whoever_writes_it() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        for pairs in [
            // OpenAI, Groq and who follows them.
            &[("x-ratelimit-remaining-requests", "3"), ("x-ratelimit-reset-requests", "1m30s")][..],
            &[("x-ratelimit-remaining-requests", "3"), ("x-ratelimit-reset-requests", "90")],
            // Anthropic.
            &[
                ("anthropic-ratelimit-requests-remaining", "3"),
                ("anthropic-ratelimit-requests-reset", "1994-11-06T08:51:07Z"),
                date,
            ],
            &[("ratelimit-remaining", "3"), ("ratelimit-reset", "1994-11-06T10:51:07.0+02:00"), date],
            // OpenRouter, GitHub.
            &[("x-ratelimit-remaining", "3"), ("x-ratelimit-reset", "784111867000"), date],
            &[("x-ratelimit-remaining-req-minute", "3"), ("x-ratelimit-reset-req-minute", "90s")],
        ] {
            assert_eq!(read(pairs), [(Unit::Requests, 3, None, 190.0)], "{pairs:?}");
        }
        let both = read(&[
            ("x-ratelimit-limit-requests", "60"),
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "120ms"),
            ("x-ratelimit-limit-tokens", "150000"),
            ("x-ratelimit-remaining-tokens", "149984"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ]);
        assert_eq!(both, [(Unit::Requests, 0, Some(60), 100.12), (Unit::Tokens, 149_984, Some(150_000), 460.0)]);
    }

    #[test]
    fn what_makes_no_sense_says_nothing() {
        for (left, reset) in [
            ("many", "1s"),
            ("-1", "1s"),
            ("NaN", "1s"),
            ("1", "soon"),
            ("1", ""),
            ("1", "1x"),
            ("1", "NaN"),
            ("1", "1994-13-01T0:0:0Z"),
        ] {
            assert_eq!(read(&[("x-ratelimit-remaining", left), ("x-ratelimit-reset", reset)]), [], "{left} {reset}");
        }
        assert_eq!(read(&[("x-ratelimit-remaining", "1")]), [], "until when is not known");
        let past = read(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "2020-01-01T00:00:00Z")]);
        assert_eq!(past, [(Unit::Requests, 0, None, 100.0)]);
    }
}
