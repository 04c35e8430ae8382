//! The dialect of a model by its name: of all patterns that the name holds the longest decides, and where it names a
//! family and a version, the row that goes on from the nearest version below. So a version that came later than the
//! table is read as the last one that is known.

use std::sync::OnceLock;

use super::{Dialect, dialect_named, dialects};

/// A major and a minor version.
type Version = (u16, u16);

/// No version has more digits before or behind its point.
const MOST_DIGITS: usize = 2;

/// A family of models, and the dialect that it writes from a version on, up to where another one goes on.
#[derive(Debug, Clone, Copy)]
struct Since {
    family: &'static str,
    version: Version,
    dialect: &'static str,
}

/// The families, as `families.txt` has them: a name, a version, a dialect.
fn families() -> &'static [Since] {
    static ALL: OnceLock<Vec<Since>> = OnceLock::new();
    let read = |line: &'static str| {
        let mut words = line.split(' ');
        let (family, version, dialect) = (words.next()?, words.next()?, words.next()?);
        let (major, minor) = version.split_once('.')?;
        Some(Since { family, version: (major.parse().ok()?, minor.parse().ok()?), dialect })
    };
    ALL.get_or_init(|| include_str!("families.txt").lines().filter_map(read).collect())
}

/// The dialect that a model is known to write, by its name as its maker, a hub or a server spells it; `None` if nothing
/// is known.
pub fn dialect_for(model: &str) -> Option<&'static Dialect> {
    let name = plain(model);
    let mut best: Option<(usize, &Dialect)> = dialect_named(model).map(|dialect| (model.len(), dialect));
    for dialect in dialects() {
        for pattern in dialect.patterns {
            let pattern = plain(pattern);
            if name.contains(&pattern) && best.is_none_or(|(length, _)| pattern.len() > length) {
                best = Some((pattern.len(), dialect));
            }
        }
    }
    let mut nearest: Vec<&Since> = Vec::new();
    for since in families() {
        if version_of(model, since.family).is_none_or(|version| version < since.version) {
            continue;
        }
        match nearest.iter_mut().find(|other| other.family == since.family) {
            Some(known) if known.version < since.version => *known = since,
            Some(_) => {}
            None => nearest.push(since),
        }
    }
    for since in nearest {
        let length = plain(since.family).len() + written_length(since.version);
        if best.is_none_or(|(known, _)| length > known) {
            best = dialect_named(since.dialect).map(|dialect| (length, dialect)).or(best);
        }
    }
    best.map(|(_, dialect)| dialect)
}

/// Whether the raw reply of a model is known to begin inside reasoning, since its template ends the prompt with the
/// opener. `reasoning.txt` has the names: of one line all words stand in the model's name.
pub fn starts_in_reasoning(model: &str) -> bool {
    let name = plain(model);
    let mut lines = include_str!("reasoning.txt").lines();
    lines.any(|line| line.split(' ').all(|word| name.contains(&plain(word))))
}

/// How many characters a version has that is written out, its point among them.
fn written_length((major, minor): Version) -> usize {
    let digits = |number: u16| number.to_string().len();
    digits(major) + if minor > 0 { 1 + digits(minor) } else { 0 }
}

/// The highest version that stands behind the name of a family in a model's name.
fn version_of(model: &str, family: &str) -> Option<Version> {
    let joined = |c| if joins(c) { '-' } else { c };
    let model: Vec<char> = model.chars().flat_map(char::to_lowercase).map(joined).collect();
    let family: Vec<char> = family.chars().filter(|c| *c != '-').collect();
    let starts = (0..model.len()).filter(|at| at.checked_sub(1).is_none_or(|before| !is_letter(model.get(before))));
    starts.filter_map(|at| behind(model.get(at..)?, &family)).filter_map(version).max()
}

fn is_letter(character: Option<&char>) -> bool {
    character.is_some_and(|c| c.is_alphanumeric())
}

/// What stands behind the family's name at the front, whatever joins its words.
fn behind<'a>(mut rest: &'a [char], family: &[char]) -> Option<&'a [char]> {
    for letter in family {
        while rest.first() == Some(&'-') {
            rest = rest.get(1..)?;
        }
        rest = rest.strip_prefix(std::slice::from_ref(letter))?;
    }
    Some(rest)
}

/// The version at the front: `3.8`, `-3`, `v3p2`, `3-1-`, `45`. What counts parameters is none (`7b`), nor is a date.
fn version(mut rest: &[char]) -> Option<Version> {
    for before in ['-', 'v'] {
        rest = rest.strip_prefix(&[before]).unwrap_or(rest);
    }
    let (major, rest) = number(rest)?;
    let part = match rest.first() {
        Some('b' | 'm') if !is_letter(rest.get(1)) => return None,
        Some('.' | 'p') => number(rest.get(1..)?),
        // `3-1-8b`, but not `3-8b`.
        Some('-') => number(rest.get(1..)?).filter(|(minor, rest)| *minor < 10 && !is_letter(rest.first())),
        _ => None,
    };
    let minor = part.filter(|(_, rest)| rest.first() != Some(&'b')).map(|(minor, _)| minor);
    Some(match minor {
        None if major >= 10 => (major / 10, major % 10),
        minor => (major, minor.unwrap_or_default()),
    })
}

/// The number at the front, if it is short enough for a version, and what stands behind it.
fn number(text: &[char]) -> Option<(u16, &[char])> {
    let digits = text.iter().take_while(|c| c.is_ascii_digit()).count();
    let value: String = text.get(..digits)?.iter().collect();
    let value = value.parse().ok().filter(|_| digits <= MOST_DIGITS)?;
    Some((value, text.get(digits..)?))
}

const fn joins(character: char) -> bool {
    matches!(character, '-' | '_' | ' ')
}

/// A name without case and without what people put between its words: `Llama-3.1`, `llama3.1` and `llama_3.1` are one.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !joins(*c)).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::dialect_named, families, starts_in_reasoning, version_of};

    #[test]
    fn e9_each_family_names_a_dialect() {
        assert!(families().len() > 30);
        for since in families() {
            assert!(dialect_named(since.dialect).is_some(), "{since:?}");
        }
    }

    #[test]
    fn e05_replies_that_begin_inside_reasoning_are_known_by_the_models_name() {
        for model in [
            "deepseek-ai/DeepSeek-R1-0528",
            "deepseek-r1:70b",
            "Qwen/QwQ-32B",
            "qwen3-235b-a22b-thinking-2507",
            "Qwen3_Next_80B_A3B_Thinking",
            "Qwen/Qwen3.5-27B",
            "allenai/Olmo-3-32B-Think",
            "MiniMaxAI/MiniMax-M2",
        ] {
            assert!(starts_in_reasoning(model), "{model}");
        }
        for model in ["", "Qwen3-8B", "Qwen3-4B-Instruct-2507", "gpt-oss-120b", "DeepSeek-V3.1", "Olmo-3-7B-Instruct"] {
            assert!(!starts_in_reasoning(model), "{model}");
        }
    }

    #[test]
    fn e9_versions_are_read_however_they_are_joined() {
        for (model, family, version) in [
            ("Qwen3.8-27B", "qwen", Some((3, 8))),
            ("qwen-3.8", "qwen", Some((3, 8))),
            ("Qwen3-8B", "qwen", Some((3, 0))),
            ("qwen3:8b", "qwen", Some((3, 0))),
            ("qwen3.10", "qwen", Some((3, 10))),
            ("qwen25-7b", "qwen", Some((2, 5))),
            ("DeepSeek-V3-0324", "deepseek-v", Some((3, 0))),
            ("deepseek-v3p2", "deepseek-v", Some((3, 2))),
            ("us.meta.llama3-1-8b-instruct-v1:0", "llama", Some((3, 1))),
            ("meta-llama/Llama-3.1-8B", "llama", Some((3, 1))),
            ("llama-7b", "llama", None),
            ("codellama-34b", "llama", None),
            ("granite-20b", "granite", None),
            ("glm-4.1v-thinking", "glm", Some((4, 1))),
            ("kimi-k2-0905", "kimi-k", Some((2, 0))),
            ("gemma-3n-e4b", "gemma", Some((3, 0))),
            ("", "qwen", None),
        ] {
            assert_eq!(version_of(model, family), version, "{model}");
        }
    }
}
