//! Failures that a tool tells in words: many return what a shell said, and mark nothing.

use loopwright_base::{lists::list, text::head};

use super::volatile::WORDS;

/// So much of an error is read for what failed.
const READ: usize = 600;

/// How results begin that are failures.
const BEGINNINGS: [&str; 9] = [
    "Error: ",
    "ERROR: ",
    "error: ",
    "Error executing ",
    "Traceback (most recent call last)",
    "fatal: ",
    "FATAL: ",
    "<tool_use_error>",
    "<error>",
];
/// What stands before the code with which a program ended.
const CODES: [&str; 5] = ["Exit code", "exit code", "<returncode>", "Exit status", "exit status"];
/// Longer errors say something.
const HEAD: usize = 200;

/// Whether a result begins by saying that the call failed.
pub(super) fn is_told(text: &str) -> bool {
    let text = text.trim_start();
    let Some(first) = text.as_bytes().first() else { return false };
    // Most results are told from failures by their first letter.
    if !matches!(first, b'E' | b'e' | b'T' | b'f' | b'F' | b'<' | b'H') {
        return false;
    }
    // The head of an answer: `HTTP/1.1 403 Forbidden`.
    if let Some((_, status)) = text.strip_prefix("HTTP/").and_then(|rest| rest.split_once(' ')) {
        return status.starts_with(['4', '5']);
    }
    let code = |name: &&str| {
        let rest = text.strip_prefix(*name).map(|rest| rest.trim_start_matches([' ', ':']));
        rest.is_some_and(|rest| rest.trim_start_matches('-').starts_with(|c: char| ('1'..='9').contains(&c)))
    };
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning)) || CODES.iter().any(code)
}

/// Whether an error says no more than that a program ended with some code: so does a search that found nothing.
pub(super) fn is_bare(text: &str) -> bool {
    const EXIT: [&str; 6] = ["exit", "exited", "returncode", "status", "code", "nonzero"];
    const STOCK: [&str; 20] = [
        "command", "with", "returned", "return", "non", "zero", "process", "failed", "failure", "error", "tool",
        "reported", "the", "a", "an", "output", "no", "stdout", "stderr", "empty",
    ];
    let among = |words: &[&str], word: &str| words.iter().any(|known| word.eq_ignore_ascii_case(known));
    let words = || {
        let words = text.split(|c: char| !c.is_alphanumeric());
        words.filter(|word| word.contains(|c: char| c.is_alphabetic()))
    };
    text.len() <= HEAD
        && words().all(|word| among(&EXIT, word) || among(&STOCK, word))
        && words().any(|word| among(&EXIT, word))
}

/// Whether an error says that a service is down, slow or busy, which says nothing about who called it. `kind` is the
/// kind of failure, where there is one.
pub(super) fn is_of_a_service(text: &str, kind: Option<&str>) -> bool {
    if kind.is_some_and(|kind| list(&WORDS, "errors.kinds").contains(kind)) {
        return true;
    }
    let text = head(text, READ).to_lowercase();
    if list(&WORDS, "errors.services").iter().any(|phrase| text.contains(phrase.as_str())) {
        return true;
    }
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    let is_status = |word: &&str| list(&WORDS, "errors.statuses").contains(*word);
    words.iter().enumerate().any(|(at, word)| {
        matches!(*word, "408" | "425" | "429" | "500" | "502" | "503" | "504" | "529")
            && (at > 0 && words.get(at - 1).is_some_and(is_status) || words.get(at + 1).is_some_and(is_status))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k3_services_that_fail() {
        for text in [
            "HTTP 503",
            "Error: 429 Too Many Requests",
            "503 server error for url https://x.example/orders/17",
            "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='x', port=443)",
            "dial tcp 10.0.0.3:5432: connect: connection refused",
            "Error code: 529 - {'type': 'overloaded_error'}",
            "curl: (28) Operation timed out after 30001 milliseconds",
        ] {
            assert!(is_of_a_service(text, None), "{text}");
        }
        assert!(is_of_a_service("", Some("timeout")) && !is_of_a_service("", Some("invalid_arguments")));
        for text in
            ["", "404 Not Found", "line 503: unexpected token", "3 of 500 rows are broken", "HTTP 401", "no such file"]
        {
            assert!(!is_of_a_service(text, None), "{text}");
        }
    }

    #[test]
    fn failures_in_words() {
        for text in [
            "Exit code 127\n/bin/bash: x: not found",
            " <returncode>1</returncode>\n<output>",
            "Error: not enough seats",
            "exit code: -9",
            "Traceback (most recent call last):\n",
            "HTTP/1.1 403 Forbidden\nDate: today",
        ] {
            assert!(is_told(text), "{text}");
        }
        for text in
            ["", "HTTP/2 200", "Exit code 0", "<returncode>0</returncode>", "Errors: none", "Ended", "ok\nError: no"]
        {
            assert!(!is_told(text), "{text}");
        }
        for text in ["Command exited with code 1", "Exit code 2\n\n[error] tool reported failure"] {
            assert!(is_bare(text), "{text}");
        }
        for text in ["", "error", "Exit code 2: no such file", "failed"] {
            assert!(!is_bare(text), "{text}");
        }
    }
}
