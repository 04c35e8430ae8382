//! The arguments of a command, told apart: flags, options with their values, and the rest.
//! Which options take a value is for the caller to say.

use super::super::Word;

/// The arguments of a command, told apart.
#[derive(Debug, Default)]
pub(crate) struct Options<'w> {
    /// Options without a value; those written together (`-rf`) one by one, as `-r` and `-f`.
    pub(crate) flags: Vec<&'w str>,
    /// The letters of flags.
    pub(crate) letters: String,
    /// Options with their value; those among letters written together without their dash.
    pub(crate) values: Vec<(&'w str, &'w Word)>,
    /// Options with their value behind an equals sign.
    pub(crate) equals: Vec<(&'w str, &'w str)>,
    /// The other arguments.
    pub(crate) rest: Vec<&'w Word>,
}

impl<'w> Options<'w> {
    /// Reads `words` (without the program). `valued` lists, parted by blanks, the options that take a value.
    pub(crate) fn read(words: &'w [Word], valued: &str) -> Self {
        let mut options = Self::default();
        let takes = |name: &str| valued.split(' ').any(|valued| valued == name);
        let mut words = words.iter();
        let mut plain = false;
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            if plain || !text.starts_with('-') || text == "-" {
                options.rest.push(word);
            } else if text == "--" {
                plain = true;
            } else if let Some(long) = text.strip_prefix("--") {
                if let Some((name, value)) = long.split_once('=') {
                    options.equals.push((&text[..name.len() + 2], value));
                    options.flags.push(&text[..name.len() + 2]);
                } else if takes(text) {
                    if let Some(value) = words.next() {
                        options.values.push((text, value));
                    }
                } else {
                    options.flags.push(text);
                }
            } else if takes(text) {
                match words.next() {
                    Some(value) => options.values.push((text, value)),
                    None => options.flags.push(text),
                }
            } else {
                options.flags.push(text);
                for (at, letter) in text.char_indices().skip(1) {
                    let mut name = [b'-', 0, 0, 0, 0];
                    let length = 1 + letter.encode_utf8(&mut name[1..]).len();
                    let name = std::str::from_utf8(&name[..length]).unwrap_or("-");
                    if takes(name) {
                        let end = at + letter.len_utf8();
                        let value = if end < text.len() { None } else { words.next() };
                        match value {
                            Some(value) => options.values.push((&text[at..end], value)),
                            None => options.equals.push((&text[at..end], &text[end..])),
                        }
                        break;
                    }
                    options.letters.push(letter);
                }
            }
        }
        options
    }

    /// Whether the option was given, as a letter or by its long name (or the beginning of that, as GNU allows).
    pub(crate) fn has(&self, letter: char, long: &str) -> bool {
        self.letters.contains(letter) && letter != '\0'
            || !long.is_empty()
                && self
                    .flags
                    .iter()
                    .any(|flag| *flag == long || flag.len() >= 3 && flag.starts_with("--") && long.starts_with(*flag))
    }

    /// Whether this very option was given, with a value or without.
    pub(crate) fn word(&self, name: &str) -> bool {
        self.flags.contains(&name)
            || self.values.iter().any(|(option, _)| is(option, name))
            || self.equals.iter().any(|(option, _)| is(option, name))
    }

    /// The value of an option.
    pub(crate) fn value(&self, name: &str) -> Option<&'w str> {
        let spaced = self.values.iter().find(|(option, _)| is(option, name)).map(|(_, value)| value.text.as_str());
        spaced.or_else(|| self.equals.iter().find(|(option, _)| is(option, name)).map(|(_, value)| *value))
    }
}

fn is(option: &str, name: &str) -> bool {
    option == name || name.strip_prefix('-') == Some(option)
}
