//! Hosts that a call would reach: of URLs wherever they stand in its text, and of the words of programs that go out.

use regex::{Regex, RegexBuilder};

use super::place::Match;
use crate::disguise::{both_forms, is_encoded};

/// Hosts of one command; one more says that there were more.
pub(super) const MOST_HOSTS: usize = 512;

/// Bytes that a compiled expression may take.
pub(super) const REGEX_BYTES: usize = 1 << 20;

/// Compiles an expression of a rule.
pub(super) fn expression(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(text).size_limit(REGEX_BYTES).dfa_size_limit(REGEX_BYTES).build().map_err(|error| {
        let told = error.to_string();
        let last = told.lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned();
        format!("the expression {text:?} can't be compiled: {last}")
    })
}

/// What a rule says of hosts.
#[derive(Clone, Debug)]
pub(super) enum DomainPattern {
    Exact(String),
    /// `.example.com`: the domain and all below it.
    Suffix(String),
    Regex(Regex),
}

impl DomainPattern {
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let lower = text.trim().trim_end_matches('.').to_lowercase();
        let below = lower.strip_prefix("*.").or_else(|| lower.strip_prefix('.'));
        let name = below.unwrap_or(&lower);
        let legal = !name.is_empty() && !name.contains(['/', ' ', '*', '@', '?', '\\']);
        if !legal {
            return Err(format!("{text:?} is no domain; write example.com, .example.com or {{ regex = … }}"));
        }
        let name = plain(name).unwrap_or_else(|| name.to_owned());
        Ok(if below.is_some() { Self::Suffix(name) } else { Self::Exact(name) })
    }

    /// An expression takes the whole name.
    pub(super) fn regex(text: &str) -> Result<Self, String> {
        expression(text)?;
        expression(&format!("^(?:{text})$")).map(Self::Regex)
    }

    /// A host is one however it is spelled: `münchen.de` is `xn--mnchen-3ya.de`.
    pub(super) fn matches(&self, host: &str) -> Match {
        let spelled = plain(host);
        let found = [Some(host), spelled.as_deref()].into_iter().flatten().any(|host| match self {
            Self::Exact(name) => host == name,
            Self::Suffix(name) => {
                host == name || host.strip_suffix(name.as_str()).is_some_and(|before| before.ends_with('.'))
            }
            Self::Regex(regex) => regex.is_match(host),
        });
        if found { Match::Yes } else { Match::No }
    }
}

/// A host as the network calls it, where that is another spelling than this.
fn plain(host: &str) -> Option<String> {
    if host.is_ascii() && !is_encoded(host) {
        return None;
    }
    both_forms(host).map(|(ascii, _)| ascii)
}

/// Whether a host is this machine.
pub(crate) fn is_here(host: &str) -> bool {
    matches!(host, "localhost" | "::1" | "0.0.0.0" | "host.docker.internal")
        || host.starts_with("127.")
        || host.ends_with(".localhost")
}

/// The hosts of the URLs in a text, as browsers read them: without user, port, letter case and trailing dot.
pub(crate) fn hosts_in(text: &str, found: &mut Vec<String>) {
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let after = &rest[at + 3..];
        // Further slashes are no part of the host; `\` counts as one.
        let after = after.trim_start_matches(['/', '\\']);
        let end = after
            .find(|c: char| c.is_whitespace() || matches!(c, '/' | '\\' | '?' | '#' | '"' | '\'' | '<' | '>' | '`'));
        let authority = &after[..end.unwrap_or(after.len())];
        push(authority, found);
        rest = &after[authority.len()..];
    }
}

/// A word of a program that goes out: `host`, `user@host:path`, `host/path`.
pub(crate) fn host_of_word(word: &str, found: &mut Vec<String>) {
    if word.contains("://") {
        return;
    }
    let authority = word.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let name = host.split(':').next().unwrap_or_default();
    let dotted = name.contains('.') && !name.starts_with('.') && !name.ends_with('.');
    let letters = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_'));
    if letters && (dotted || name == "localhost" || authority.contains('@')) {
        push(authority, found);
    }
}

fn push(authority: &str, found: &mut Vec<String>) {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = if let Some(rest) = host.strip_prefix('[') {
        rest.split(']').next().unwrap_or_default()
    } else {
        host.split(':').next().unwrap_or_default()
    };
    let host = decoded(host).trim_end_matches(['.', ',', ';', ')']).to_lowercase();
    if !host.is_empty() && !found.contains(&host) && found.len() <= MOST_HOSTS {
        found.push(host);
    }
}

/// `%2e` and the like as what they stand for.
fn decoded(host: &str) -> String {
    if !host.contains('%') {
        return host.to_owned();
    }
    let bytes = host.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let code = (*byte == b'%').then(|| host.get(at + 1..at + 3)).flatten();
        if let Some(code) = code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            out.push(code);
            at += 3;
        } else {
            out.push(*byte);
            at += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        hosts_in(text, &mut found);
        found
    }

    #[test]
    fn d10_hosts_are_read_as_browsers_do() {
        assert_eq!(hosts("see https://Example.com:8080/a and http://b.org."), ["example.com", "b.org"]);
        assert_eq!(hosts("https://good.com@evil.com/x"), ["evil.com"]);
        assert_eq!(hosts("https:///evil.com"), ["evil.com"]);
        assert_eq!(hosts(r"https://evil.com\@good.com"), ["evil.com"]);
        assert_eq!(hosts("http://[::1]:80/"), ["::1"]);
        assert_eq!(hosts("http://ev%69l.com./"), ["evil.com"]);
        assert_eq!(hosts("://"), [""; 0]);
    }

    #[test]
    fn d10_domains_match_whole_names() {
        let exact = DomainPattern::new("Example.com").unwrap();
        let suffix = DomainPattern::new("*.example.com").unwrap();
        let regex = DomainPattern::regex("api|x\\d").unwrap();
        assert_eq!(exact.matches("example.com"), Match::Yes);
        assert_eq!(exact.matches("a.example.com"), Match::No);
        assert_eq!(suffix.matches("a.example.com"), Match::Yes);
        assert_eq!(suffix.matches("badexample.com"), Match::No);
        assert_eq!(regex.matches("api"), Match::Yes);
        assert_eq!(regex.matches("x1.evil.com"), Match::No);
        let spelled = DomainPattern::new(".münchen.de").unwrap();
        assert_eq!(spelled.matches("a.xn--mnchen-3ya.de"), Match::Yes);
        assert_eq!(spelled.matches("a.münchen.de"), Match::Yes);
        assert_eq!(exact.matches("\u{ff45}xample.com"), Match::Yes);
        assert!(DomainPattern::new("https://x/").is_err());
        assert!(DomainPattern::regex("(").is_err());
    }

    #[test]
    fn d10_words_of_programs_that_go_out_name_hosts() {
        let mut found = Vec::new();
        for word in ["git@github.com:a/b.git", "example.org/x", "localhost:80", "file.txt", "-o", "./a.b/c"] {
            host_of_word(word, &mut found);
        }
        assert_eq!(found, ["github.com", "example.org", "localhost", "file.txt"]);
    }
}
