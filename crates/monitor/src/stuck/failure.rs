//! Failures that a tool tells in words: many return what a shell said, and mark nothing.

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
    if !matches!(first, b'E' | b'e' | b'T' | b'f' | b'F' | b'<') {
        return false;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_in_words() {
        for text in [
            "Exit code 127\n/bin/bash: x: not found",
            " <returncode>1</returncode>\n<output>",
            "Error: not enough seats",
            "exit code: -9",
            "Traceback (most recent call last):\n",
        ] {
            assert!(is_told(text), "{text}");
        }
        for text in ["", "Exit code 0", "<returncode>0</returncode>", "Errors: none", "Ended", "ok\nError: no"] {
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
