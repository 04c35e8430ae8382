//! Status and headers of an HTTP answer: how long to wait, the request's id, and the kind of body that follows.

use std::time::{SystemTime, UNIX_EPOCH};

use loopwright_lexicon::months::{MONTHS, days};
use reqwest::header::{self, HeaderMap};

/// The kind of body that the headers promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyKind {
    Events,
    Json,
    Html,
    /// The headers do not say; the first byte decides.
    Unknown,
}

pub(super) fn body_kind(headers: &HeaderMap) -> BodyKind {
    let Some(text) = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()) else {
        return BodyKind::Unknown;
    };
    let essence = text.split(';').next().unwrap_or_default().trim();
    let is = |name: &str| essence.eq_ignore_ascii_case(name);
    if is("text/event-stream") || is("application/vnd.amazon.eventstream") {
        BodyKind::Events
    } else if is("application/json") || essence.to_ascii_lowercase().ends_with("+json") {
        BodyKind::Json
    } else if is("text/html") || is("application/xhtml+xml") {
        BodyKind::Html
    } else {
        BodyKind::Unknown
    }
}

/// The kind of a body whose headers do not say, by its first bytes; `stream` is what was asked for. A byte order mark
/// before them says nothing.
pub(super) fn sniff(first: &[u8], stream: bool) -> BodyKind {
    let first = first.strip_prefix("\u{feff}".as_bytes()).unwrap_or(first);
    let first = first.trim_ascii_start();
    match first.first() {
        _ if first.starts_with(b"event:") || first.starts_with(b"data:") => BodyKind::Events,
        Some(b'{' | b'[') => BodyKind::Json,
        Some(b'<') => BodyKind::Html,
        _ if stream => BodyKind::Events,
        _ => BodyKind::Json,
    }
}

/// The provider's id of the request.
pub(super) fn request_id(headers: &HeaderMap) -> Option<String> {
    ["request-id", "x-request-id", "x-ms-request-id", "apim-request-id", "x-amzn-requestid", "cf-ray"]
        .iter()
        .find_map(|name| headers.get(*name)?.to_str().ok())
        .map(|id| id.chars().take(200).collect())
}

/// The kind of error that AWS names in a header.
pub(super) fn error_type(headers: &HeaderMap) -> Option<String> {
    let name = loopwright_wire::exception_name(headers.get("x-amzn-errortype")?.to_str().ok()?).trim();
    (!name.is_empty()).then(|| name.chars().take(100).collect())
}

/// Returns whether the provider says that the same request may succeed later.
pub(super) fn should_retry(headers: &HeaderMap) -> Option<bool> {
    let value = headers.get("x-should-retry")?.to_str().ok()?.trim();
    [(true, "true"), (false, "false")].into_iter().find(|(_, word)| value.eq_ignore_ascii_case(word)).map(|(is, _)| is)
}

/// Seconds that the provider asks us to wait: `retry-after-ms`, or `retry-after` in seconds or as a date, which is
/// read against the server's own clock where the answer shows that.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<f64> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().filter(|seconds| seconds.is_finite());
    if let Some(milliseconds) = text("retry-after-ms").and_then(number) {
        return Some((milliseconds / 1000.0).max(0.0));
    }
    let after = text("retry-after")?;
    if let Some(seconds) = number(after) {
        return Some(seconds.max(0.0));
    }
    let then = http_date(after)?;
    let now = text("date").and_then(http_date).or_else(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(since.as_secs()).ok()
    })?;
    Some((then - now).max(0) as f64)
}

/// Seconds since 1970 of a date in one of the three forms that HTTP knows: `Sun, 06 Nov 1994 08:49:37 GMT`,
/// `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`.
pub(super) fn http_date(text: &str) -> Option<i64> {
    let parts: Vec<&str> = text.split([' ', ',', '-']).filter(|part| !part.is_empty()).take(7).collect();
    let ([_, day, name, year, clock, "GMT" | "UTC"] | [_, name, day, clock, year]) = parts[..] else { return None };
    let day: i64 = day.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = i64::try_from(
        MONTHS.iter().position(|month| month.get(..3).is_some_and(|short| short.eq_ignore_ascii_case(name)))?,
    )
    .ok()?
        + 1;
    let year = match (year.len(), year.parse::<i64>().ok()?) {
        (2, year @ 70..=99) => 1900 + year,
        (2, year @ 0..=69) => 2000 + year,
        (4, year @ 1970..) => year,
        _ => return None,
    };
    let mut clock = clock.split(':').map(|part| part.parse::<i64>().ok().filter(|n| (0..=60).contains(n)));
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if clock.next().is_some() {
        return None;
    }
    Some(days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn dates_are_read() {
        assert_eq!(http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(http_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(http_date("Thu, 29 Feb 2024 12:00:00 GMT"), Some(1_709_208_000));
        // What servers of long ago wrote must still be read (RFC 9110, 5.6.7).
        assert_eq!(http_date("Sunday, 06-Nov-94 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(http_date("Sun Nov  6 08:49:37 1994"), Some(784_111_777));
        assert_eq!(http_date("Thursday, 29-Feb-24 12:00:00 GMT"), Some(1_709_208_000));
        for wrong in [
            "",
            "tomorrow",
            "Sun, 06 Nov 1994",
            "Sun, 99 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 06 Nov 1994 08:49:37 PST",
            "Sun, 06 Nov 1969 08:49:37 GMT",
            "Sun, 06 Nov 194 08:49:37 GMT",
            "Sun Nov 6 08:49:37",
            "Sun Nov 6 08:49:37:00 1994",
            "Sun, 06 Nov 1994 08:49:37 GMT and more",
        ] {
            assert_eq!(http_date(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn how_long_to_wait() {
        let after = |pairs: &[(&'static str, &'static str)]| retry_after(&headers(pairs));
        assert_eq!(after(&[("retry-after", "7")]), Some(7.0));
        assert_eq!(after(&[("retry-after", "0.5")]), Some(0.5));
        assert_eq!(after(&[("retry-after", "-3")]), Some(0.0));
        assert_eq!(after(&[("retry-after", "NaN")]), None);
        assert_eq!(after(&[("retry-after", "9"), ("retry-after-ms", "1500")]), Some(1.5));
        let date = ("date", "Sun, 06 Nov 1994 08:49:07 GMT");
        assert_eq!(after(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), date]), Some(30.0));
        assert_eq!(after(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]), Some(0.0), "long past");
        assert_eq!(after(&[]), None);
    }

    #[test]
    fn whether_to_try_again() {
        let said = |value| should_retry(&headers(&[("x-should-retry", value)]));
        assert_eq!((said("true"), said(" False "), said("maybe"), said("")), (Some(true), Some(false), None, None));
        assert_eq!(should_retry(&headers(&[])), None);
    }

    #[test]
    fn what_kind_of_body() {
        let kind = |value| body_kind(&headers(&[("content-type", value)]));
        assert_eq!(kind("text/event-stream; charset=utf-8"), BodyKind::Events);
        assert_eq!(kind("Application/JSON"), BodyKind::Json);
        assert_eq!(kind("application/problem+json"), BodyKind::Json);
        assert_eq!(kind("text/html; charset=x"), BodyKind::Html);
        assert_eq!(kind("text/plain"), BodyKind::Unknown);
        assert_eq!(sniff(b" \n{", true), BodyKind::Json);
        assert_eq!(sniff(b"<!doctype", true), BodyKind::Html);
        assert_eq!(sniff(b"data: {", true), BodyKind::Events);
        assert_eq!(sniff(b"data: {", false), BodyKind::Events);
        assert_eq!(sniff(b"data", false), BodyKind::Json);
        assert_eq!(sniff(b"date: {", false), BodyKind::Json);
        assert_eq!(sniff("\u{feff}{".as_bytes(), true), BodyKind::Json);
    }
}
