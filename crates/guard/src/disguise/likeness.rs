//! Letters that look like others: names of hosts, programs and files that read as what they are not.
//!
//! The tables are those of Unicode's report on security (UTS 39). A word that is whole in one script is what it says,
//! but for hosts and programs, whose names the world knows in Latin letters.

use icu_properties::props::Script;
use unicode_normalization::UnicodeNormalization;
use unicode_security::{MixedScript, RestrictionLevel, RestrictionLevelDetection, skeleton};

use super::character::script;

/// Characters of a name that are compared.
const LONGEST: usize = 1_024;

/// What a word reads as, if letters of several scripts make it look like plain ones: `p\u{430}ypal`. A sign that looks
/// like a slash counts, too.
pub(super) fn of_word(text: &str) -> Option<String> {
    if text.is_ascii() || text.len() > LONGEST {
        return None;
    }
    let mixed = |run: &str| {
        run.contains(|c: char| c.is_ascii_alphabetic()) && run.contains(is_borrowed) && reads_plain(run).is_some()
    };
    let slash =
        |c: char| !c.is_ascii() && !c.is_alphanumeric() && !is_wide_form(c) && matches!(plain(c), Some('/' | '\\'));
    // `–rf`: what is meant as an option and is none.
    let dash = |text: &str| {
        let mut signs = text.chars();
        let first = signs.next().filter(|c| !c.is_ascii() && !is_wide_form(*c)).and_then(plain);
        first == Some('-') && signs.next().is_some_and(|c| c.is_ascii_alphabetic())
    };
    let found = text.split(|c: char| !c.is_alphanumeric()).any(mixed) || text.contains(slash) || dash(text);
    found.then(|| text.chars().map(read_as).collect())
}

/// What a name that is known in plain letters reads as, if it is written in others: `\u{441}\u{440}` for `cp`.
pub(super) fn of_name(text: &str) -> Option<String> {
    if text.is_ascii() || text.len() > LONGEST {
        return None;
    }
    reads_plain(text).filter(|_| text.contains(is_borrowed))
}

/// What is wrong with the name of a host, in words: what it reads as, or that nobody can read it.
pub(super) fn of_host(host: &str) -> Option<String> {
    if host.is_ascii() && !is_encoded(host) || host.len() > LONGEST {
        return None;
    }
    let Some((ascii, written)) = both_forms(host) else {
        return Some("holds what no host can be called".to_owned());
    };
    if !is_encoded(&ascii) {
        return Some(format!("is {ascii}, in other letters"));
    }
    let known = written.rsplit('.').next().is_some_and(str::is_ascii);
    for label in written.split('.').filter(|label| !label.is_ascii()) {
        if !label.is_single_script() && label.detect_restriction_level() > RestrictionLevel::HighlyRestrictive {
            return Some(match reads_plain(label) {
                Some(plain) => format!("mixes letters of several scripts and reads as {plain:?}"),
                None => "mixes letters of several scripts".to_owned(),
            });
        }
        // Below a domain of its own script it is what it says.
        if let Some(plain) = reads_plain(label).filter(|_| known && label.contains(is_borrowed)) {
            return Some(format!("reads as {plain:?}"));
        }
    }
    None
}

/// A host as the network calls it and as people read it; `None` where it can't be one.
pub(crate) fn both_forms(host: &str) -> Option<(String, String)> {
    let ascii = idna::domain_to_ascii(host).ok()?;
    let (written, read) = idna::domain_to_unicode(host);
    read.ok()?;
    Some((ascii, written))
}

/// Whether a host is spelled in the letters that the network uses for others.
pub(crate) fn is_encoded(host: &str) -> bool {
    host.split('.').any(|label| label.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("xn--")))
}

/// Whether a letter is one of another script, or a form of a Latin one: ligatures, letters for formulas.
fn is_borrowed(c: char) -> bool {
    let form = || std::iter::once(c).nfkc().all(|c| c.is_ascii());
    !c.is_ascii() && c.is_alphabetic() && (script(c) != Script::Latin || form())
}

/// Forms for texts in Chinese or Japanese, as wide as their letters.
const fn is_wide_form(c: char) -> bool {
    matches!(c, '\u{ff01}'..='\u{ffee}')
}

/// What a letter reads as. Plain ones stay what they are, where the tables would make others of them (`rn` of `m`).
fn read_as(c: char) -> String {
    let form: String = std::iter::once(c).nfkc().collect();
    if form.is_ascii() { form } else { skeleton(c.encode_utf8(&mut [0; 4])).collect() }
}

/// What a text reads as, where that is plain.
fn reads_plain(text: &str) -> Option<String> {
    let read: String = text.chars().map(read_as).collect();
    read.is_ascii().then_some(read)
}

/// The one plain sign that another one looks like.
fn plain(c: char) -> Option<char> {
    let read = read_as(c);
    let mut signs = read.chars();
    signs.next().filter(|sign| sign.is_ascii() && signs.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g10_words_that_look_like_others_are_found() {
        for text in [
            "p\u{430}ypal",
            "src/\u{456}ndex.js",
            "\u{fb01}le.txt",
            "a\u{2044}b",
            "etc\u{2215}passwd",
            "\u{2013}rf",
            "\u{1d5c9}aypal",
        ] {
            assert!(of_word(text).is_some(), "{text}");
        }
        for text in [
            "отчёт_v2.docx",
            "файлv2",
            "сор",
            "Łódź.txt",
            "ısıtma.txt",
            "straße",
            "报告：第一章.txt",
            "a／b",
            "第1章",
            "2020–2021.pdf",
            "Don’t.txt",
            "メモA",
            "naïve",
            "καφέ",
            "x²",
        ] {
            assert_eq!(of_word(text), None, "{text}");
        }
        for (text, plain) in [("\u{441}\u{440}", "cp"), ("g\u{456}t", "git"), ("\u{ff52}\u{ff4d}", "rm")] {
            assert_eq!(of_name(text).as_deref(), Some(plain), "{text}");
        }
        for text in ["поиск", "検索", "søg", "grep"] {
            assert_eq!(of_name(text), None, "{text}");
        }
    }

    #[test]
    fn g10_hosts_that_look_like_others_are_found() {
        for host in [
            "p\u{430}ypal.com",
            "xn--pypal-4ve.com",
            "xn--80ak6aa92e.com",
            "\u{430}\u{440}\u{440}\u{4cf}\u{435}.com",
            "\u{ff47}oogle.com",
            "xn--a.com",
            "login.micr\u{3bf}soft.com",
            "goog\u{200b}le.com",
        ] {
            assert!(of_host(host).is_some(), "{host}");
        }
        for host in [
            "example.com",
            "münchen.de",
            "xn--mnchen-3ya.de",
            "пример.рф",
            "xn--e1afmkfd.xn--p1ai",
            "россия.com",
            "例え.jp",
            "日本語アルファabc.jp",
            "한국.kr",
            "مثال.إختبار",
            "ουτοπία.gr",
            "my_host.local",
        ] {
            assert_eq!(of_host(host), None, "{host}");
        }
    }
}
