//! A rule, and what it matches.
//!
//! All conditions of a rule must hold; within one condition one of its alternatives is enough. A rule that permits
//! matches only what is certain and what it covers whole; a rule that forbids or asks matches as soon as something
//! in a call may be what it means.
//! in a call may be what it means.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use super::{
    Tier, Verdict,
    host::DomainPattern,
    place::{Match, PathPattern, Place},
    subject::{Part, Subject, Word, base_name},
};
use crate::{
    RiskLevel,
    command::{Told, is_harmless_setting},
    names::fits,
};

/// A rule, ready to match.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) id: String,
    pub(super) tier: Tier,
    pub(super) verdict: Verdict,
    pub(super) why: String,
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) tools: Vec<String>,
    pub(super) arguments: Vec<(String, Test)>,
    pub(super) shell: Vec<Command>,
    pub(super) paths: Vec<PathPattern>,
    pub(super) domains: Vec<DomainPattern>,
    pub(super) overrides: Vec<Override>,
    pub(super) lifts: RiskLevel,
    /// Its conditions as they are written, by their keys.
    pub(super) said: BTreeMap<String, Value>,
}

/// A command as a rule writes it.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pub(super) words: Vec<String>,
    /// Whether more words may follow where the rule permits: `…` stands last. Where it forbids or asks they always may.
    pub(super) more: bool,
}

impl Command {
    /// Whether these very words are a command's, and no word beyond them has it write or run something. `Runs` alone
    /// counts where the rule says which paths may be written.
    fn permits(&self, part: &Part, paths: bool) -> bool {
        // Variables that are set before a command are words of it, unless they say no more than how something is shown.
        let settings = part.settings.iter().map(|setting| (setting.text.as_str(), setting.exact));
        let named = self.words.iter().take_while(|word| is_assignment(word)).count();
        let set = if named == 0 {
            part.settings.iter().all(|setting| is_harmless_setting(&setting.text))
        } else {
            named == part.settings.len()
                && self.words.iter().zip(settings).all(|(want, (text, sure))| sure && want == text)
        };
        let wanted = &self.words[named..];
        let count = if self.more { wanted.len() <= part.words.len() } else { wanted.len() == part.words.len() };
        let same = || wanted.iter().zip(&part.words).all(|(want, word)| word.exact && word.text == *want);
        let within = |told: &Told| told.at < wanted.len() || paths && !told.runs;
        set && count && same() && (!self.more || part.told.iter().all(within))
    }
}

/// A rule of a lower tier that is set aside.
#[derive(Clone, Debug)]
pub(super) struct Override {
    pub(super) id: String,
    /// Of this tier alone: `project:make`.
    pub(super) tier: Option<Tier>,
    /// Where it is written.
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Override {
    /// Whether a rule of the tier `own` means this one by it.
    pub(super) fn means(&self, own: Tier, tier: Tier, id: &str) -> bool {
        tier < own && self.id == id && self.tier.is_none_or(|named| named == tier)
    }

    /// Whether what it names comes and goes with the folder or the person, so that it need not be there.
    pub(super) fn may_lack(&self) -> bool {
        self.tier.is_some_and(|tier| tier > Tier::BuiltIn)
    }
}

/// What an argument must be.
#[derive(Clone, Debug)]
pub(super) enum Test {
    Equals(Vec<Value>),
    Prefix(Vec<String>),
    Regex(Vec<Regex>),
    Present(bool),
}

impl Rule {
    /// Whether the rule matches this part of the call.
    pub(super) fn matches(&self, subject: &Subject, part: &Part) -> Match {
        if !self.tools.is_empty() && !self.tools.iter().any(|pattern| fits(pattern, &subject.tool)) {
            return Match::No;
        }
        let permits = self.verdict == Verdict::Allow;
        if permits && subject.unparsed.is_some() {
            // What nobody understands nobody has allowed.
            return Match::No;
        }
        let beside = subject.beside.as_ref().filter(|_| permits);
        let mut sure = Match::Yes;
        for (name, test) in &self.arguments {
            if !test.holds(subject.argument(name), permits) {
                return Match::No;
            }
            // What permits a line by its letters must permit each of its commands.
            if permits && subject.is_shell(name) && !test.holds(Some(&Value::String(part.text.clone())), permits) {
                return Match::No;
            }
        }
        if !self.shell.is_empty() {
            sure = sure.min(self.shell_matches(part, permits));
        }
        if !self.paths.is_empty() {
            let one =
                |place: &Place| self.paths.iter().map(|pattern| pattern.matches(place)).max().unwrap_or(Match::No);
            // What permits means what is reached; what forbids or asks means a link by both of its names.
            let best = |place: &Place| {
                let called = place.as_called().filter(|_| !permits);
                one(place).max(called.map_or(Match::No, one))
            };
            let over = if permits {
                // Every path must be covered.
                part.paths.iter().chain(beside.iter().flat_map(|beside| &beside.paths)).map(best).min()
            } else {
                part.paths.iter().map(best).max()
            };
            sure = sure.min(over.unwrap_or(Match::No));
        }
        if !self.domains.is_empty() {
            let best =
                |host: &String| self.domains.iter().map(|domain| domain.matches(host)).max().unwrap_or(Match::No);
            let over = if permits {
                part.hosts.iter().chain(beside.iter().flat_map(|beside| &beside.hosts)).map(best).min()
            } else {
                part.hosts.iter().map(best).max()
            };
            sure = sure.min(over.unwrap_or(Match::No));
        }
        if permits && sure == Match::Perhaps { Match::No } else { sure }
    }

    fn shell_matches(&self, part: &Part, permits: bool) -> Match {
        if part.words.is_empty() {
            return Match::No;
        }
        if permits {
            let writes = self.paths.is_empty()
                && part.writes.iter().any(|place| !place.raw.starts_with("/dev/null") && !place.raw.starts_with('&'));
            let permits = |line: &Command| line.permits(part, !self.paths.is_empty());
            // What a command writes to is not said by its words.
            return if !writes && self.shell.iter().any(permits) { Match::Yes } else { Match::No };
        }
        self.shell.iter().map(|line| begins_in_effect(&line.words, &part.words)).max().unwrap_or(Match::No)
    }

    /// Whether this rule, which forbids or asks, means every call that `allow` of the same file permits.
    pub(super) fn undoes(&self, allow: &Self) -> bool {
        let words = |line: &Command| -> Vec<Word> {
            line.words.iter().map(|word| Word { text: word.clone(), exact: true }).collect()
        };
        let means = |line: &Command| {
            let words = words(line);
            self.shell.iter().any(|mine| begins_in_effect(&mine.words, &words) == Match::Yes)
        };
        let same = |name: &String| self.said.get(name) == allow.said.get(name);
        let shell = self.shell.is_empty() || !allow.shell.is_empty() && allow.shell.iter().all(means);
        shell && self.said.keys().filter(|name| *name != "shell").all(same)
    }
}

/// Whether a command is what a prefix means, whatever stands between: folders before the program's name, settings
/// before it, options before the next word.
fn begins_in_effect(prefix: &[String], words: &[Word]) -> Match {
    let mut words = words.iter().skip_while(|word| is_assignment(&word.text));
    let (Some(program), Some(first)) = (prefix.first(), words.next()) else { return Match::No };
    let mut sure = Match::Yes;
    if !first.exact {
        sure = Match::Perhaps;
    } else if base_name(&first.text) != base_name(program) && first.text != *program {
        return Match::No;
    }
    let rest: Vec<&Word> = words.collect();
    let mut at = 0;
    for want in prefix.iter().skip(1) {
        let mut after_option = false;
        let mut found = false;
        while let Some(word) = rest.get(at) {
            at += 1;
            if word.text == *want {
                found = true;
                break;
            }
            if !word.exact {
                // It may be the word, or anything.
                sure = Match::Perhaps;
                found = true;
                break;
            }
            if word.text.starts_with('-') {
                after_option = true;
                continue;
            }
            // The value of an option; a word that is none ends it, unless an option is meant.
            if after_option || want.starts_with('-') {
                after_option = false;
                continue;
            }
            return Match::No;
        }
        if !found {
            return Match::No;
        }
    }
    sure
}

/// `NAME=value`
fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| is_name(name))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl Test {
    fn holds(&self, value: Option<&Value>, all: bool) -> bool {
        let Some(value) = value.filter(|value| !value.is_null()) else {
            return matches!(self, Self::Present(false))
                || matches!(self, Self::Equals(wanted) if value == Some(&Value::Null) && wanted.contains(&Value::Null));
        };
        match self {
            Self::Present(wanted) => *wanted,
            Self::Equals(wanted) => wanted.iter().any(|wanted| same(wanted, value)),
            Self::Prefix(prefixes) => {
                each(value, all, |text| prefixes.iter().any(|prefix| text.starts_with(prefix.as_str())))
            }
            Self::Regex(expressions) => each(value, all, |text| expressions.iter().any(|one| one.is_match(text))),
        }
    }
}

/// Whether it holds of the value as text; of a list, of all elements or of any.
fn each(value: &Value, all: bool, holds: impl Fn(&str) -> bool) -> bool {
    let one = |value: &Value| match value {
        Value::String(text) => holds(text),
        other => holds(&other.to_string()),
    };
    match value {
        Value::Array(items) if all => !items.is_empty() && items.iter().all(one),
        Value::Array(items) => items.iter().any(one),
        other => one(other),
    }
}

/// Equal, with 1 and 1.0 the same.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| a.total_cmp(&b).is_eq())
        }
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tools_have_wildcards() {
        for (pattern, name, wanted) in [
            ("shell", "shell", true),
            ("shell", "shells", false),
            ("*", "any", true),
            ("db_*", "db_query", true),
            ("db_*", "xdb_query", false),
            ("*_file", "write_file", true),
            ("*_file", "write_file_now", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "abcbc", true),
            ("a*b*c", "acb", false),
        ] {
            assert_eq!(fits(pattern, name), wanted, "{pattern} {name}");
        }
    }

    #[test]
    fn x08_a_prefix_sees_through_options_and_folders() {
        let words = |line: &str| -> Vec<Word> {
            let word = |text: &str| Word { text: text.to_owned(), exact: !text.contains('$') };
            line.split(' ').map(word).collect()
        };
        let push = ["git".to_owned(), "push".to_owned()];
        for (line, wanted) in [
            ("git push", Match::Yes),
            ("git push origin main", Match::Yes),
            ("/usr/bin/git push", Match::Yes),
            ("GIT_DIR=x git push", Match::Yes),
            ("git -C dir push", Match::Yes),
            ("git --no-pager push", Match::Yes),
            ("git status push", Match::No),
            ("git", Match::No),
            ("gitk push", Match::No),
            ("git $WHAT", Match::Perhaps),
            ("$GIT push", Match::Perhaps),
            ("git log $X push", Match::No),
        ] {
            assert_eq!(begins_in_effect(&push, &words(line)), wanted, "{line}");
        }
        let force = ["git".to_owned(), "push".to_owned(), "--force".to_owned()];
        assert_eq!(begins_in_effect(&force, &words("git push origin main --force")), Match::Yes);
        assert_eq!(begins_in_effect(&force, &words("git push origin main")), Match::No);
    }
}
