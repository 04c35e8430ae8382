//! The words by which a command is told to write a file or to run a program: what a rule that permits has to name, as
//! it has to name what a redirection writes.

use super::reads::acting;
use crate::{
    records,
    shell::{SimpleCommand, Word},
};

/// A word that has a command write or run something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// Which of the command's words it is; the program's name is the first.
    pub(crate) at: usize,
    /// Whether it runs something.
    pub(crate) runs: bool,
    /// The file that is written.
    pub(crate) file: Option<Word>,
}

/// All such words of a command, as far as its program's options are known.
pub(crate) fn told(command: &SimpleCommand) -> Vec<Told> {
    let (Some(name), Some(words)) = (command.program(), command.words.get(1..)) else { return Vec::new() };
    let name = name.to_ascii_lowercase();
    let mut found = acting(&name, words);
    for told in &mut found {
        told.at = told.at.saturating_add(1);
    }
    let Some(record) = records::record(&name) else { return found };
    let plain = words.iter().position(|word| word.text == "--").unwrap_or(words.len());
    for (options, runs) in [(&record.writes, false), (&record.starts, true)] {
        let (whole, options) = options.strip_prefix("@ ").map_or((false, options.as_str()), |options| (true, options));
        for (at, word) in words.iter().enumerate().take(plain) {
            if let Some(joined) = options.split_whitespace().find_map(|option| written_by(option, whole, &word.text)) {
                let file = match joined {
                    "" => words.get(at + 1).cloned(),
                    joined => Some(Word { text: joined.to_owned(), ..word.clone() }),
                };
                found.push(Told { at: at + 1, runs, file: file.filter(|_| !runs) });
            }
        }
    }
    found
}

/// What is joined to an option in a word, if the word is that option or holds it among its letters: `--output=f`,
/// `-of`, `-sSo`. Empty where the value is the next word, or there is none. `whole` where a dash begins a whole word.
fn written_by<'w>(option: &str, whole: bool, word: &'w str) -> Option<&'w str> {
    if word == option {
        return Some("");
    }
    if whole {
        let joined = word.strip_prefix(option)?;
        return joined.strip_prefix('=').or(Some(joined).filter(|_| option.len() == 2));
    }
    if option.starts_with("--") {
        // A name may be cut short.
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        return (name.len() > 3 && name.starts_with("--") && option.starts_with(name)).then_some(value);
    }
    let letter = option.strip_prefix('-').filter(|letter| letter.len() == 1)?;
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
    letters.split_once(letter).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::parse;

    fn at(line: &str) -> Vec<(usize, bool)> {
        parse(line).commands.first().map(told).unwrap_or_default().iter().map(|told| (told.at, told.runs)).collect()
    }

    #[test]
    fn g8_words_that_write_or_run_are_found() {
        for (line, wanted) in [
            ("git log --oneline -5", vec![]),
            ("git log --output=f", vec![(2, false)]),
            ("git -C sub log --stat --output f", vec![(5, false)]),
            ("git -C sub -c core.hooksPath=x log --outpu=f", vec![(3, true), (6, false)]),
            ("git grep -Oless x", vec![(2, true)]),
            ("sort -u -o out in", vec![(2, false)]),
            ("sort -uo out in", vec![(1, false)]),
            ("uniq a", vec![]),
            ("uniq -c a b", vec![(3, false)]),
            ("sed -n 'w out' f", vec![(2, false)]),
            ("sed -n 2p f", vec![]),
            ("awk '{ print > \"f\" }' x", vec![(usize::MAX, true)]),
            ("awk '{ print $1 }' x", vec![]),
            ("curl -sSLo f https://a.example", vec![(1, false)]),
            ("curl -sSL https://a.example", vec![]),
            ("curl --outp=f https://a.example", vec![(1, false)]),
            ("go test -count=1 ./...", vec![]),
            ("go build -o f .", vec![(2, false)]),
            ("gcc -fno-omit-frame-pointer -of a.c", vec![(2, false)]),
            ("wget -q -O f https://a.example", vec![(2, false)]),
            ("rg --pre x y", vec![(1, true)]),
            ("ls -l", vec![]),
            ("tar -xzf a.tgz", vec![]),
            ("tar -xf a.tar -C f", vec![(3, false)]),
            ("tar -xf a.tar --to-command=x", vec![(3, true)]),
            ("tar -I x -xf a.tar", vec![(1, true)]),
            ("ffmpeg -i a.mp4 -progress f b.mp4", vec![(3, false)]),
            ("rsync -a -e x a b:", vec![(2, true)]),
            ("zip -r a.zip d -TT x", vec![(4, true)]),
            ("pytest -q --junitxml=f", vec![(2, false)]),
            ("pandoc a.md -F x -o f", vec![(4, false), (2, true)]),
            ("psql -c x -o f", vec![(3, false)]),
        ] {
            assert_eq!(at(line), wanted, "{line}");
        }
    }
}
