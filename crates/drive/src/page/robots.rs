//! `robots.txt` as RFC 9309 has it: the paths of a site that may be fetched.
//!
//! The file comes from anywhere, so lines, rules and patterns are bounded, and matching takes no more time than the
//! pattern and the path are long.

use std::fmt::Write as _;

/// Bytes of a file that are read, as many as the standard asks for.
pub(crate) const MAX_BYTES: usize = 500 << 10;
/// Rules that are kept at most.
const MAX_RULES: usize = 5_000;
/// The length of the longest pattern that is kept, in bytes.
const MAX_PATTERN: usize = 2_000;

/// The rules of a site for one crawler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Robots {
    /// Everything may be fetched: there is no file, or none for this crawler.
    All,
    /// Nothing may be fetched: the site could not say.
    Nothing,
    /// Patterns of paths; `true` allows.
    Rules(Vec<(bool, String)>),
}

impl Robots {
    /// Parses the rules of `text` for the crawler named `agent`: those of its own groups, or else those for everybody.
    pub(crate) fn parse(text: &str, agent: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (mut own, mut common): (Option<Vec<_>>, Option<Vec<_>>) = (None, None);
        // Whom the group that is being read is for, and whether its rules have begun.
        let (mut for_us, mut for_all, mut begun) = (false, false, true);
        for line in text.split(['\n', '\r']) {
            let line = line.split('#').next().unwrap_or_default();
            let Some((name, value)) = line.split_once(':') else { continue };
            let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
            match name.as_str() {
                "user-agent" => {
                    if std::mem::take(&mut begun) {
                        (for_us, for_all) = (false, false);
                    }
                    let token: &str = value
                        .split(|c: char| !(c.is_ascii_alphanumeric() || "_-".contains(c)))
                        .next()
                        .unwrap_or_default();
                    for_us |= token.eq_ignore_ascii_case(agent);
                    for_all |= value.starts_with('*');
                    if for_us {
                        own.get_or_insert_default();
                    }
                    if for_all {
                        common.get_or_insert_default();
                    }
                }
                "allow" | "disallow" => {
                    begun = true;
                    // An empty rule says nothing.
                    if value.is_empty() || value.len() > MAX_PATTERN {
                        continue;
                    }
                    let rule = (name == "allow", normal(value));
                    for (ours, rules) in [(for_us, &mut own), (for_all, &mut common)] {
                        if let Some(rules) = rules.as_mut().filter(|rules| ours && rules.len() < MAX_RULES) {
                            rules.push(rule.clone());
                        }
                    }
                }
                _ => {}
            }
        }
        own.or(common).map_or(Self::All, Self::Rules)
    }

    /// Returns whether a path with its query may be fetched: the longest rule that matches counts, and of equals the
    /// kinder.
    pub(crate) fn allows(&self, path: &str) -> bool {
        let rules = match self {
            Self::All => return true,
            Self::Nothing => return false,
            Self::Rules(rules) => rules,
        };
        let path = normal(path);
        if path == "/robots.txt" {
            return true;
        }
        let matching = rules.iter().filter(|(_, pattern)| matches(pattern, &path));
        matching.max_by_key(|(allow, pattern)| (pattern.len(), *allow)).is_none_or(|(allow, _)| *allow)
    }
}

/// The canonical percent-encoding of a path: plain where no escape is needed, capitals where one is.
fn normal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut bytes = text.as_bytes().iter();
    while let Some(&byte) = bytes.next() {
        let code = bytes.as_slice().get(..2).filter(|_| byte == b'%');
        let code = code.and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        match code {
            Some(code) => {
                bytes.nth(1);
                if plain(code) {
                    out.push(char::from(code));
                } else {
                    let _ = write!(out, "%{code:02X}");
                }
            }
            None if byte.is_ascii_graphic() => out.push(char::from(byte)),
            None => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// Returns whether `path` begins with `pattern`, in which `*` stands for anything and `$` at its end for the end.
fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, to_end) = pattern.strip_suffix('$').map_or((pattern, false), |pattern| (pattern, true));
    let mut parts = pattern.split('*');
    let Some(mut rest) = path.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts = parts.peekable();
    let mut starred = false;
    while let Some(part) = parts.next() {
        starred = true;
        if parts.peek().is_none() && to_end {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    starred || !to_end || rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(text: &str, path: &str) -> bool {
        Robots::parse(text, "loopwright").allows(path)
    }

    #[test]
    fn the_longest_rule_counts_and_of_equals_the_kinder() {
        let text = "User-agent: *\nAllow: /p\nDisallow: /\nDisallow: /page.html\nAllow: /page.htm$\nAllow: /page.html";
        assert!(allows(text, "/page.html"));
        assert!(allows(text, "/page"));
        assert!(!allows(text, "/x"));
        assert!(allows(text, "/robots.txt"));
    }

    #[test]
    fn our_own_groups_are_joined_and_hide_those_for_everybody() {
        let text = "user-agent: *\ndisallow: /\n\nUser-Agent: other\nUser-agent: LoopWright/2.0\ndisallow: /a\n\nuser-agent: loopwright\ndisallow: /b\n";
        assert!(allows(text, "/c"));
        assert!(!allows(text, "/a"));
        assert!(!allows(text, "/b"));
        assert!(!Robots::parse(text, "somebody").allows("/c"));
        assert!(allows("user-agent: loopwrightbot\ndisallow: /", "/"), "another name");
        assert!(allows("disallow: /", "/"), "rules of no group");
        assert!(allows("user-agent: *\ndisallow:\n", "/a"), "an empty rule forbids nothing");
        assert!(allows("user-agent: *\ndisallow: /\nuser-agent: loopwright\n", "/a"), "a group of ours without rules");
    }

    #[test]
    fn stars_ends_and_encodings() {
        let rule = |rule: &str, path: &str| !allows(&format!("User-agent:*\nDisallow: {rule} # comment"), path);
        assert!(rule("/*.gif$", "/a/b.gif"));
        assert!(!rule("/*.gif$", "/a/b.gif?x=1"));
        assert!(rule("/a*b*c", "/a-b-b-c-d"));
        assert!(!rule("/a*b*c", "/a-c-b"));
        assert!(rule("/fish", "/fish.html") && rule("/fish", "/fish/x") && !rule("/fish", "/Fish"));
        assert!(rule("/fish$", "/fish") && !rule("/fish$", "/fishing"));
        assert!(rule("*", "/") && rule("/*", "/x") && rule("*$", "/x"));
        assert!(rule("/%7ejoe", "/~joe/x") && rule("/~joe", "/%7Ejoe/x"));
        assert!(rule("/ツ", "/%E3%83%84") && rule("/%e3%83%84", "/%E3%83%84"));
        assert!(rule("/a%2fb", "/a%2Fb") && !rule("/a%2fb", "/a/b"));
        assert!(rule("/*x$", "/axbx") && rule("/%", "/%"));
    }

    #[test]
    fn hostile_files_are_no_trouble() {
        for text in [
            "\0".repeat(100_000),
            "user-agent: *\ndisallow: /".repeat(20_000),
            format!("user-agent: *\ndisallow: /{}", "*a".repeat(900)),
            format!("user-agent: *\ndisallow: {}", "/".repeat(100_000)),
            "<html>no such page</html>".to_owned(),
        ] {
            let robots = Robots::parse(&text, "loopwright");
            robots.allows(&format!("/{}", "a".repeat(8_000)));
            assert!(!matches!(&robots, Robots::Rules(rules) if rules.len() > MAX_RULES));
        }
    }
}
