//! Cuts a text into passages of a few sentences, each a place in the text: what is embedded, ranked and cited.
//!
//! A passage never runs over a heading, and knows the headings it stands under. Lines of code and rows of tables count
//! less than sentences; whatever is longer than a bound is cut, so that one endless line is many passages.

use std::ops::Range;

use loopwright_base::text::head;
use loopwright_lexicon::{
    lines::Format,
    sentences::{Kind, Sentence, sentences},
};

/// Sentences in a passage.
pub const SENTENCES: usize = 4;
/// This many lines of code or rows of a table weigh as much as a sentence.
const LINES: usize = 3;
/// No passage is longer, in bytes.
pub const MAX_BYTES: usize = 4_000;
/// At most this many bytes of headings are kept for a passage.
const MAX_HEADING: usize = 300;

/// A few sentences of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Its place in the text.
    pub bytes: Range<usize>,
    /// Its first line, counted from 1.
    pub line: usize,
    /// Its last line.
    pub end_line: usize,
    /// The headings it stands under, outermost first, joined by ` > `.
    pub heading: String,
}

impl Passage {
    /// The passage of `text`, which must be the text that was cut.
    pub fn text<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.bytes.clone()).unwrap_or_default()
    }
}

/// Cuts `text` into passages of `most` sentences (at least one), in order.
pub fn passages(text: &str, format: Format, most: usize) -> Vec<Passage> {
    let most = most.max(1).saturating_mul(LINES);
    let mut cutter = Cutter { text, all: Vec::new(), open: None, weight: 0, headings: Vec::new() };
    for unit in sentences(text, format) {
        if unit.kind == Kind::Heading {
            cutter.close();
            cutter.heading(&unit);
            continue;
        }
        let weight = if unit.kind == Kind::Prose { LINES } else { 1 };
        let longer = cutter.open.as_ref().is_some_and(|open| unit.bytes.end - open.bytes.start > MAX_BYTES);
        if cutter.weight + weight > most || longer {
            cutter.close();
        }
        cutter.take(&unit, weight);
    }
    cutter.close();
    cutter.all
}

struct Cutter<'a> {
    text: &'a str,
    all: Vec<Passage>,
    open: Option<Passage>,
    weight: usize,
    headings: Vec<(usize, &'a str)>,
}

impl Cutter<'_> {
    fn close(&mut self) {
        self.all.extend(self.open.take());
        self.weight = 0;
    }

    fn heading(&mut self, unit: &Sentence) {
        let line = self.text.get(unit.bytes.clone()).unwrap_or_default();
        let marks = line.bytes().take_while(|byte| *byte == b'#').count();
        // One that is underlined has no marks.
        let level = if marks == 0 { 1 } else { marks };
        self.headings.retain(|(other, _)| *other < level);
        self.headings.push((level, line.trim_matches(['#', ' ', '\t'])));
    }

    fn path(&self) -> String {
        let mut path = String::new();
        for (_, title) in &self.headings {
            let room = MAX_HEADING.saturating_sub(path.len() + 3);
            let title = head(title, room);
            if !title.is_empty() {
                path.push_str(if path.is_empty() { "" } else { " > " });
                path.push_str(title);
            }
        }
        path
    }

    fn take(&mut self, unit: &Sentence, weight: usize) {
        self.weight += weight;
        if let Some(open) = &mut self.open {
            open.bytes.end = unit.bytes.end;
            open.end_line = unit.end_line;
            return;
        }
        // A single unit may be longer than a passage: a line of code has no sentences to cut at.
        let mut start = unit.bytes.start;
        while unit.bytes.end - start > MAX_BYTES {
            let cut = start + head(self.text.get(start..).unwrap_or_default(), MAX_BYTES).len();
            self.all.push(Passage {
                bytes: start..cut,
                line: unit.line,
                end_line: unit.end_line,
                heading: self.path(),
            });
            start = cut;
        }
        self.open = Some(Passage {
            bytes: start..unit.bytes.end,
            line: unit.line,
            end_line: unit.end_line,
            heading: self.path(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b19_four_sentences_with_their_place() {
        let text = "One is 1.5 m long. Two is two. Three? Four!\nFive goes on.\n\nSix ends.\n";
        let all = passages(text, Format::Text, SENTENCES);
        let texts: Vec<&str> = all.iter().map(|passage| passage.text(text)).collect();
        assert_eq!(texts, ["One is 1.5 m long. Two is two. Three? Four!", "Five goes on.\n\nSix ends."]);
        assert_eq!((all[1].line, all[1].end_line), (2, 4));
        assert_eq!(&text[all[1].bytes.clone()], texts[1]);
    }

    #[test]
    fn b19_headings_part_passages_and_name_them() {
        let text = "# Wings\n\nThey lift.\n\n## Heat\n\nIt warms.\n\n# Tail\n\nIt steers.\n";
        let all = passages(text, Format::Markdown, 4);
        let seen: Vec<(&str, &str)> = all.iter().map(|one| (one.heading.as_str(), one.text(text))).collect();
        assert_eq!(seen, [("Wings", "They lift."), ("Wings > Heat", "It warms."), ("Tail", "It steers.")]);
    }

    #[test]
    fn endless_lines_are_many_passages_and_nothing_is_lost() {
        for (text, format) in [
            ("x".repeat(1 << 20), Format::Text),
            ("é".repeat(1 << 19), Format::Code),
            ("word ".repeat(1 << 18), Format::Markdown),
            (format!("```\n{}", "y".repeat(100_000)), Format::Markdown),
            (format!("| {} |", "z".repeat(100_000)), Format::Markdown),
        ] {
            let all = passages(&text, format, 4);
            assert!(all.iter().all(|one| one.bytes.len() <= MAX_BYTES + 8), "{format:?}");
            assert!(all.windows(2).all(|two| two[0].bytes.end <= two[1].bytes.start));
            let kept: usize = all.iter().map(|one| one.text(&text).len()).sum();
            assert!(kept + 20 >= text.trim_end().len().min(text.len()) - all.len() * 2, "{kept} of {}", text.len());
        }
    }

    #[test]
    fn hostile_markdown_is_cut_too() {
        for text in ["#", "# ", "####### x", "", "\n\n\n", "```", "|", "| | |\n| - |", "\u{feff}# x\ny"] {
            for passage in passages(text, Format::Markdown, 0) {
                assert!(text.get(passage.bytes.clone()).is_some());
            }
        }
    }
}
