//! The rules of a format.

use super::verify::Reader;
use loopwright_base::text::clip;
use loopwright_verify::citation;

impl Reader<'_> {
    /// Slack knows no double asterisks, no Markdown links and, here, no block quotes. Code is left alone.
    pub(super) fn slack(&mut self) {
        let code = citation::code(self.answer);
        let in_code = |at: usize| citation::holds(&code, at);
        let mut found: Vec<(&'static str, &str)> = Vec::new();
        let links = self.brackets.links.iter().find(|link| !in_code(link.start));
        if let Some(link) = links.and_then(|link| self.answer.get(link.clone())) {
            found.push(("MARKDOWN_LINK", link));
        }
        let (mut start, mut bold, mut quote) = (0, false, false);
        for line in self.answer.split_inclusive('\n') {
            if !quote && line.trim_start().starts_with('>') && !in_code(start) {
                quote = true;
                found.push(("BLOCKQUOTE", line));
            }
            let marks: Vec<usize> =
                line.match_indices("**").map(|(at, _)| at).filter(|at| !in_code(start + at)).collect();
            let is_bold = |pair: &[usize]| match pair {
                [open, close] => line.get(open + 2..*close).is_some_and(|inside| !inside.trim().is_empty()),
                _ => false,
            };
            if !bold && marks.windows(2).any(is_bold) {
                bold = true;
                found.push(("MARKDOWN_BOLD", line));
            }
            start += line.len();
        }
        for (code, text) in found {
            let advice = match code {
                "MARKDOWN_LINK" => "write links as <address|text>",
                "BLOCKQUOTE" => "write no lines that begin with >",
                _ => "write bold with single asterisks",
            };
            self.error(code, &format!("{advice}; found {:?}", clip(text.trim(), 80)));
        }
    }
}
