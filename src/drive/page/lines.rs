//! The text of an HTML file, line by line: each line of the text is the line of that number in the file, so that
//! citations lead to the right place.
//!
//! The tokenizer is that of fetched pages, and so is what counts as hidden; menus and banners stay. One pass over the
//! file, whatever is in it.

use html5ever::{Attribute, LocalName, tokenizer::TokenSinkResult};

use super::{
    element::{MAX_DEPTH, REACH, Role, ended_silently, is_empty, is_foreign, is_hidden, raw, role},
    hidden::Sheet,
    html::is_invisible,
    tokens,
};

/// What readers see of `html`, each word in its line.
pub fn visible_lines(html: &str) -> String {
    let html = html.replace("\r\n", "\n").replace('\r', " ");
    tokens::read(&html, Reader { out: String::with_capacity(html.len() / 2), ..Reader::default() }).out
}

struct Open {
    name: LocalName,
    role: Role,
    hidden: bool,
}

#[derive(Default)]
struct Reader {
    out: String,
    stack: Vec<Open>,
    sheet: Sheet,
    /// What the piece shows, and how many line breaks of text were in it.
    shown: String,
    breaks: usize,
}

impl tokens::Reader for Reader {
    fn start(&mut self, name: LocalName, attributes: &[Attribute], self_closing: bool) -> TokenSinkResult<()> {
        let role = role(&name);
        let ended = ended_silently(role, self.stack.iter().rev().map(|open| (&*open.name, open.role)));
        self.stack.truncate(self.stack.len().saturating_sub(ended));
        let hidden =
            self.hidden() || role == Role::Skipped || is_hidden(attributes) || self.sheet.hides(&name, attributes);
        if !hidden {
            match role {
                Role::Heading(level) => {
                    self.part();
                    self.shown.extend(std::iter::repeat_n('#', usize::from(level)));
                    self.shown.push(' ');
                }
                Role::Item => {
                    self.part();
                    self.shown.push_str("- ");
                }
                Role::Inline | Role::Code | Role::Link | Role::Raised => {}
                _ => self.part(),
            }
        }
        let names = || self.stack.iter().rev().map(|open| &*open.name);
        let raw = raw(&name, names());
        let foreign = self_closing && is_foreign(&name, names());
        if !is_empty(role) && !foreign && (self.stack.len() < MAX_DEPTH || raw.is_some()) {
            self.stack.push(Open { name, role, hidden });
            return raw.unwrap_or(TokenSinkResult::Continue);
        }
        TokenSinkResult::Continue
    }

    fn end(&mut self, name: &str) {
        let found = self.stack.iter().rev().take(REACH).position(|open| &*open.name == name);
        if let Some(back) = found {
            self.stack.truncate(self.stack.len().saturating_sub(back + 1));
        }
        if !self.hidden() && !matches!(role(name), Role::Inline | Role::Code | Role::Link | Role::Raised) {
            self.part();
        }
    }

    fn text(&mut self, text: &str) {
        self.breaks += text.bytes().filter(|byte| *byte == b'\n').count();
        if self.hidden() {
            if self.stack.last().is_some_and(|top| &*top.name == "style") {
                self.sheet.read(text);
            }
            self.shown.extend(text.chars().filter(|c| *c == '\n'));
        } else {
            self.shown.extend(text.chars().filter(|c| *c == '\n' || !is_invisible(*c)));
        }
    }

    /// Hands over what a piece showed, with the line breaks that stood in its tags before it.
    fn passed(&mut self, piece: &str) {
        let all = piece.bytes().filter(|byte| *byte == b'\n').count();
        self.out.extend(std::iter::repeat_n('\n', all.saturating_sub(self.breaks)));
        self.out.push_str(&self.shown);
        self.shown.clear();
        self.breaks = 0;
    }
}

impl Reader {
    fn hidden(&self) -> bool {
        self.stack.last().is_some_and(|top| top.hidden)
    }

    /// Words of two elements are two words.
    fn part(&mut self) {
        if !self.shown.ends_with([' ', '\n', '#', '-']) {
            self.shown.push(' ');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::growth::grows_in_line;

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
