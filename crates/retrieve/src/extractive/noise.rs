//! What says nothing: boilerplate, and what stands word for word on each page of a place.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// What stands on every page and says nothing.
static BOILERPLATE: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    const SIGNS: [&str; 20] = [
        "all rights reserved",
        "copyright ©",
        "© 20",
        "copyright (c)",
        "click here",
        "cookie policy",
        "privacy policy",
        "terms of service",
        "terms of use",
        "subscribe to our",
        "sign up for",
        "log in to",
        "skip to content",
        "table of contents",
        "back to top",
        "last updated",
        "share this",
        "follow us",
        "read more",
        "powered by",
    ];
    AhoCorasick::builder().ascii_case_insensitive(true).build(SIGNS).ok()
});

/// Whether a sentence belongs to a page and says nothing of its subject.
pub(super) fn is_boilerplate(text: &str) -> bool {
    text.len() < 160 && BOILERPLATE.as_ref().is_some_and(|signs| signs.is_match(text))
}
