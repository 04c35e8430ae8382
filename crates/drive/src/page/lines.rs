//! The text of an HTML file, line by line: each line of the text is the line of that number in the file, so that
//! citations lead to the right place.
//!
//! The tokenizer is that of fetched pages, and so is what counts as hidden; menus and banners stay. One pass over the
//! file, whatever is in it.

use html5ever::{Attribute, LocalName, tokenizer::TokenSinkResult};

use super::{
    element::{MAX_DEPTH, Role, ended_by, ended_silently, is_empty, is_foreign, is_inline, raw, role},
    hidden::{Look, hides},
    html::visible,
    sheet::Sheet,
    tokens::{self, Syntax},
};
use loopwright_base::text::PARAGRAPH;

/// The visible text of `html`, each word in its line.
pub fn visible_lines(html: &str) -> String {
    let html = html.replace("\r\n", "\n").replace('\r', " ");
    let reader = LineReader {
        out: String::with_capacity(html.len() / 2),
        sheet: Sheet::of(Syntax::Html, &html),
        ..LineReader::default()
    };
    tokens::read(Syntax::Html, &html, reader).out
}

struct LineElement {
    name: LocalName,
    role: Role,
    hidden: bool,
    /// Nothing in the element is read, whatever the elements within say of themselves.
    unread: bool,
    /// White space is kept as it is written.
    literal: bool,
    look: Look,
}

#[derive(Default)]
struct LineReader {
    out: String,
    stack: Vec<LineElement>,
    sheet: Sheet,
    /// The text that the piece shows, and the line breaks of text that were in it.
    shown: String,
    breaks: usize,
}

impl tokens::TokenHandler for LineReader {
    fn start(&mut self, name: LocalName, attributes: &[Attribute], self_closing: bool) -> TokenSinkResult<()> {
        let role = role(&name);
        let ended = ended_silently(&name, role, self.stack.iter().rev().map(|open| (&*open.name, open.role)));
        self.stack.truncate(self.stack.len().saturating_sub(ended));
        let around = Look::default();
        let around = self.stack.last().map_or(&around, |top| &top.look);
        let (hidden, look) = hides(&name, attributes, &self.sheet, around);
        let gone = self.stack.last().is_some_and(|top| top.unread) || role == Role::Skipped || hidden;
        let hidden = gone || look.veiled;
        if !hidden {
            match role {
                Role::Heading(level) => {
                    self.part_blocks();
                    self.shown.extend(std::iter::repeat_n('#', usize::from(level)));
                    self.shown.push(' ');
                }
                Role::Item => {
                    self.part_blocks();
                    self.shown.push_str("- ");
                }
                _ => self.part(role),
            }
        }
        let names = || self.stack.iter().rev().map(|open| &*open.name);
        let raw = raw(&name, names());
        let foreign = self_closing && is_foreign(&name, names());
        let hides = hidden && !self.hidden();
        if !is_empty(role) && !foreign && (self.stack.len() < MAX_DEPTH || raw.is_some() || hides) {
            let literal = role == Role::Literal || self.stack.last().is_some_and(|top| top.literal);
            self.stack.push(LineElement { name, role, hidden, unread: gone, literal, look });
            return raw.unwrap_or(TokenSinkResult::Continue);
        }
        TokenSinkResult::Continue
    }

    fn end(&mut self, name: &str) {
        let open = || self.stack.iter().rev().map(|open| (&*open.name, open.role));
        if let Some(back) = ended_by(name, open()) {
            if is_inline(role(name)) && open().take(back).any(|(_, role)| !is_inline(role)) {
                // What is of a sentence does not end the paragraphs that began in it.
                let at = self.stack.len().saturating_sub(back + 1);
                self.stack.remove(at);
            } else {
                self.stack.truncate(self.stack.len().saturating_sub(back + 1));
            }
        }
        if !self.hidden() {
            self.part(role(name));
        }
    }

    fn text(&mut self, text: &str) {
        self.breaks += text.bytes().filter(|byte| *byte == b'\n').count();
        if self.hidden() {
            self.shown.extend(text.chars().filter(|c| *c == '\n'));
        } else {
            let literal = self.stack.last().is_some_and(|top| top.literal);
            let mut owed = self.before().is_empty() || self.before().ends_with(char::is_whitespace);
            for c in visible(text).chars() {
                // How far a line is from the margin means nothing, and neither do two spaces.
                let blank = matches!(c, ' ' | '\t' | '\u{c}');
                if literal || !(blank && owed) {
                    self.shown.push(c);
                }
                owed = blank || c == '\n';
            }
        }
    }

    /// Hands over the text of a piece, with the line breaks that stood in its tags before it.
    fn passed(&mut self, piece: &str) {
        let all = piece.bytes().filter(|byte| *byte == b'\n').count();
        self.out.extend(std::iter::repeat_n('\n', all.saturating_sub(self.breaks)));
        self.out.push_str(&self.shown);
        self.shown.clear();
        self.breaks = 0;
    }
}

impl LineReader {
    fn hidden(&self) -> bool {
        self.stack.last().is_some_and(|top| top.hidden)
    }

    /// Separates two elements: words of two elements are two words, and blocks are paragraphs, though they stand in one
    /// line.
    fn part(&mut self, role: Role) {
        match role {
            Role::Inline | Role::Code | Role::Link | Role::Raised => {}
            Role::Void | Role::Cell { .. } | Role::Break | Role::Picture | Role::Math | Role::Formula => {
                if !self.shown.ends_with([' ', '\n', '#', '-']) {
                    self.shown.push(' ');
                }
            }
            _ => self.part_blocks(),
        }
    }

    fn before(&self) -> &str {
        if self.shown.is_empty() { &self.out } else { &self.shown }
    }

    fn part_blocks(&mut self) {
        let before = self.before();
        // What an item or a heading begins with is its own.
        if !before.is_empty() && !before.ends_with(PARAGRAPH) && !before.ends_with("- ") && !before.ends_with("# ") {
            self.shown.extend([PARAGRAPH, PARAGRAPH]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_testing::growth::grows_in_line;

    #[test]
    fn html_keeps_its_lines() {
        let html = "<html><head><style>\nb {}\n</style></head>\n<body><!-- a\nb --><p class=\n'x'>One &amp; <b>two</b>.</p>\n<script>if (a < b) {}\n</SCRIPT>1 < 2\r\n<h2>Then</h2>\n";
        let text = visible_lines(html);
        assert_eq!(text.matches('\n').count(), html.matches('\n').count(), "{text:?}");
        assert_eq!(text.lines().nth(5).map(str::trim), Some("One & two."));
        assert_eq!(text.lines().nth(7).map(str::trim), Some("1 < 2"));
        assert_eq!(text.lines().last().map(str::trim), Some("## Then"));
        assert!(!text.contains("if ("));
    }

    #[test]
    fn x15_what_nobody_sees_is_no_evidence() {
        let html = "<style>.ghost { display: none }</style><p>Seen one.</p>\n\
             <p style='display:none'>secret</p><div hidden><p>secret</p>\n<span>secret</span></div>\
             <p aria-hidden=true>secret</p><!-- secret --><script>secret</script><template>secret</template>\
             <noscript>secret</noscript><p class=ghost>secret<p>Seen two.\n\
             <span style='font-size:0'>secret</span><i style='position:absolute;left:-9999px'>secret</i>\
             <b style='color:#fff;background:#fff'>secret</b><p hidden>secret<br>secret<p>Seen three.";
        let text = visible_lines(html);
        assert!(!text.contains("secret"), "{text}");
        assert!(text.contains("Seen one.") && text.contains("Seen two.") && text.contains("Seen three."), "{text}");
        assert_eq!(text.matches('\n').count(), html.matches('\n').count());
    }

    #[test]
    fn p13_ends_that_end_nothing_bring_nothing_to_light() {
        for (before, hidden) in [
            ("<div hidden>", "</body>secret"),
            ("<div hidden>", "</html>secret</div>"),
            ("<div><table><tr><td hidden>", "</div>secret"),
            ("<div><noscript>", "</div>secret</noscript>"),
            ("<div><template>", "</div>secret</template>"),
            ("<span><div style='display:none'>", "</span>secret</div>"),
            (&"<div>".repeat(1_500), "<p hidden>secret</p><i style='opacity:0'>secret</i>"),
        ] {
            let text = visible_lines(&format!("<p>Seen.</p>{before}{hidden}"));
            assert!(text.contains("Seen.") && !text.contains("secret"), "{before:.40}{hidden}: {text}");
        }
        assert!(visible_lines("<div><table><tr><td>a</td></tr></table></div>b").contains('b'));
        assert!(visible_lines(&format!("{}<p hidden>x</p>Seen.", "<div>".repeat(1_500))).contains("Seen."));
    }

    #[test]
    fn e07_blocks_are_paragraphs_though_they_stand_in_one_line() {
        let html = "<title>Ferry</title><nav><a>Home</a> <a>Times</a></nav><h1>The ferry</h1><p>It takes 90 minutes.</p>\
             <ul><li><p>One</p><li>Two</ul><table><tr><td>a<td>b<tr><td>c<td>d</table>";
        let blocks = |html: &str| -> Vec<String> {
            let text = visible_lines(html);
            text.split(PARAGRAPH).map(|one| one.trim().to_owned()).filter(|one| !one.is_empty()).collect()
        };
        let wanted = ["Ferry", "Home Times", "# The ferry", "It takes 90 minutes.", "- One", "- Two", "a b", "c d"];
        assert_eq!(blocks(html), wanted);
        let indented =
            "<div>\n      <p>\n        It takes   90\n        minutes.\n      </p>\n<pre>  a\n    b</pre></div>";
        let text = visible_lines(indented);
        assert_eq!(text.matches('\n').count(), indented.matches('\n').count());
        assert!(text.contains("\nIt takes 90\nminutes.\n") && text.contains("  a\n    b"), "{text:?}");
    }

    #[test]
    fn x15_a_comment_may_be_as_long_as_it_likes() {
        let html = format!("<p>Seen.<!-- {}\n secret > secret --><p>Also seen.", "a = 'b' > \n".repeat(9_000));
        let text = visible_lines(&html);
        assert_eq!(text.split_whitespace().collect::<Vec<_>>(), ["Seen.", "Also", "seen."]);
        assert_eq!(text.matches('\n').count(), html.matches('\n').count());
    }

    #[test]
    fn hostile_files_take_linear_time() {
        for piece in ["<", "<script>", "<p>", "<p hidden>", "<a b=", "<!--", "</p>", "<style>", "<a \n", "&", "<li><b>"]
        {
            grows_in_line(piece, 30_000, |size| drop(visible_lines(&piece.repeat(size / piece.len()))));
        }
        grows_in_line("attributes", 10_000, |many| drop(visible_lines(&format!("<a {}>x", "b=1 ".repeat(many)))));
    }
}
