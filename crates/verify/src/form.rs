//! What of an answer is form and claims nothing, and what must stand in a source to the letter.
//!
//! Mentions, channels, dates and links of Slack, links of Markdown, marks of HTML, emoji and signs of lists are form.
//! Addresses, code and quotations are taken out as they are written. One pass over the text, whatever it holds.

use std::ops::Range;

use super::citation::{self, Brackets};
use loopwright_retrieve::marks::tag;

/// A mark or an address is no longer than this.
const LONGEST: usize = 2_000;

/// What must stand in a source to the letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exact {
    /// A web or mail address.
    Address,
    /// Code within a line, or a line of a fenced block.
    Code,
    /// Words between quotation marks.
    Quote,
}

/// An answer taken apart.
#[derive(Debug, Default)]
pub struct Form {
    /// What is form; with whether a new line of a list begins there.
    pub marks: Vec<(Range<usize>, bool)>,
    /// What must stand in a source, and where it is written.
    pub exact: Vec<(Exact, Range<usize>)>,
    /// Where emoji end.
    pub signs: Vec<usize>,
}

/// Takes an answer apart.
pub fn read(text: &str, brackets: &Brackets) -> Form {
    let mut form = Form::default();
    let code = citation::code(text);
    let mut cited = brackets.citations.iter().map(|one| &one.bytes).peekable();
    let fenced = citation::fenced(text);
    for range in &code {
        let inside = text.get(range.clone()).unwrap_or_default();
        let is_fence = citation::holds(&fenced, range.start);
        let bare = if is_fence { inside.trim() } else { inside.trim_matches('`').trim() };
        let is_border = is_fence && (bare.starts_with("```") || bare.starts_with("~~~"));
        if !is_border && says_something(bare) {
            form.exact.push((Exact::Code, range.clone()));
        }
    }
    let mut links = brackets.links.iter().peekable();
    let mut at = 0;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        if let Some(range) = code.get(code.partition_point(|range| range.end <= at)).filter(|range| range.start <= at) {
            at = range.end;
            continue;
        }
        // What a citation names is none of the sentence.
        while cited.next_if(|one| one.end <= at).is_some() {}
        if let Some(one) =
            cited.peek().filter(|one| one.start <= at && !links.clone().any(|link| link.start == one.start))
        {
            at = one.end;
            continue;
        }
        while links.next_if(|link| link.start < at).is_some() {}
        let rest = text.get(at..).unwrap_or_default();
        let end = match c {
            '<' => form.angle(text, at),
            '[' if links.peek().is_some_and(|link| link.start == at) => {
                let link = links.next().cloned().unwrap_or(at..at);
                form.link(text, &link)
            }
            ':' => shortcode(text, at).map(|end| form.mark(text, at..end)),
            '"' | '“' | '„' | '«' => form.quote(text, at, c),
            c if is_sign(c) => {
                let length: usize = rest.chars().take_while(|c| is_sign(*c)).map(char::len_utf8).sum();
                Some(form.mark(text, at..at + length))
            }
            c if c.is_ascii_digit()
                && rest.get(1..).is_some_and(|rest| rest.trim_start_matches('\u{fe0f}').starts_with('\u{20e3}')) =>
            {
                let length: usize = rest.chars().take_while(|c| !c.is_whitespace()).take(3).map(char::len_utf8).sum();
                Some(form.mark(text, at..at + length))
            }
            c if c.is_alphanumeric() => {
                let length: usize = rest.chars().take_while(|c| in_word(*c)).map(char::len_utf8).sum();
                match address(rest) {
                    Some(length) => {
                        form.exact.push((Exact::Address, at..at + length));
                        form.marks.push((at..at + length, false));
                        Some(at + length)
                    }
                    None => Some(at + length.max(c.len_utf8())),
                }
            }
            _ => None,
        };
        at = end.unwrap_or(at + c.len_utf8());
    }
    form.marks.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    form
}

impl Form {
    /// Takes what stands at a place for form; at the beginning of a line it begins an item.
    fn mark(&mut self, text: &str, range: Range<usize>) -> usize {
        let before = text.get(..range.start).unwrap_or_default();
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        let leads = before.get(line..).is_some_and(|before| before.trim().is_empty());
        let end = range.end;
        self.signs.push(end);
        self.marks.push((range, leads));
        end
    }

    /// What stands between angle brackets: a mention, a channel, a date or a link of Slack, an address, a mark of HTML.
    fn angle(&mut self, text: &str, at: usize) -> Option<usize> {
        let rest = text.get(at + 1..)?;
        let length = rest.bytes().take(LONGEST).take_while(|byte| *byte != b'\n').position(|byte| byte == b'>')?;
        let inside = rest.get(..length)?;
        let end = at + length + 2;
        if inside.starts_with(['@', '#', '!']) {
            self.marks.push((at..end, false));
            return Some(end);
        }
        let place = inside.split('|').next().unwrap_or_default();
        if address(place).is_some() {
            self.exact.push((Exact::Address, at + 1..at + 1 + place.len()));
            // The text of a link is part of the sentence.
            let shown = if place.len() < inside.len() { at + 1 + place.len() + 1 } else { end - 1 };
            self.marks.push((at..shown, false));
            self.marks.push((end - 1..end, false));
            return Some(shown);
        }
        let length = tag(text.get(at..)?);
        (length > 0).then(|| {
            self.marks.push((at..at + length, false));
            at + length
        })
    }

    /// A link of Markdown: its text is part of the sentence, its address is none.
    fn link(&mut self, text: &str, link: &Range<usize>) -> Option<usize> {
        let rest = text.get(link.end..)?.strip_prefix('(')?;
        let length = rest.bytes().take(LONGEST).take_while(|byte| *byte != b'\n').position(|byte| byte == b')')?;
        let inside = rest.get(..length)?;
        let place = inside.split_whitespace().next().unwrap_or_default().trim_matches(['<', '>']);
        if address(place).is_some() {
            let start = link.end + 1 + inside.find(place).unwrap_or(0);
            self.exact.push((Exact::Address, start..start + place.len()));
        }
        self.marks.push((link.start..link.start + 1, false));
        self.marks.push((link.end - 1..link.end + 1 + length + 1, false));
        Some(link.start + 1)
    }

    /// Words between quotation marks on one line.
    fn quote(&mut self, text: &str, at: usize, open: char) -> Option<usize> {
        let start = at + open.len_utf8();
        let before = text.get(..at)?.chars().next_back();
        if open == '"' && before.is_some_and(char::is_alphanumeric) {
            return None;
        }
        let close = match open {
            '“' => &['”', '“'][..],
            '„' => &['“', '”', '"'],
            '«' => &['»'],
            _ => &['"'],
        };
        let rest = text.get(start..)?;
        let length =
            rest.char_indices().take(LONGEST).take_while(|(_, c)| *c != '\n').find(|(_, c)| close.contains(c))?.0;
        let inside = rest.get(..length)?;
        // One or two words are a name, or a manner of speaking.
        if inside.split_whitespace().count() >= 3 {
            self.exact.push((Exact::Quote, start..start + length));
        }
        Some(start)
    }
}

/// Whether code says more than letters that stand for something.
fn says_something(code: &str) -> bool {
    code.split(|c: char| !c.is_alphanumeric()).any(|word| word.chars().count() >= 2)
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '@' | '/' | ':' | '\'' | '’')
}

/// `:white_check_mark:` that stands for itself, and where it ends.
fn shortcode(text: &str, at: usize) -> Option<usize> {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '+' | '-' | '\'');
    if text.get(..at)?.chars().next_back().is_some_and(char::is_alphanumeric) {
        return None;
    }
    let rest = text.get(at + 1..)?;
    let length: usize = rest.chars().take(64).take_while(|c| part(*c)).map(char::len_utf8).sum();
    let after = rest.get(length..)?.strip_prefix(':')?;
    (length > 0 && !after.starts_with(char::is_alphanumeric)).then_some(at + length + 2)
}

/// Whether `c` is a picture, an arrow or a sign that numbers or marks an item.
const fn is_sign(c: char) -> bool {
    matches!(c as u32,
        0x2190..=0x21FF | 0x2300..=0x23FF | 0x2460..=0x24FF | 0x25A0..=0x27BF | 0x2900..=0x297F | 0x2B00..=0x2BFF
        | 0x1F000..=0x1FAFF | 0xFE0F | 0x200D | 0x20E3 | 0xE0020..=0xE007F)
}

/// Where a word ends that stands within brackets: at the first that closes what was not opened in it.
fn closed(word: &str) -> Option<usize> {
    let (mut round, mut square) = (0_usize, 0_usize);
    for (at, c) in word.char_indices() {
        let open = if matches!(c, '(' | ')') { &mut round } else { &mut square };
        match c {
            '(' | '[' => *open += 1,
            ')' | ']' if *open == 0 => return Some(at),
            ')' | ']' => *open -= 1,
            _ => {}
        }
    }
    None
}

/// The length of the address that `text` begins with: of the web, or of a mailbox.
pub(super) fn address(text: &str) -> Option<usize> {
    let scheme = ["https://", "http://", "mailto:", "ftp://", "www."];
    let starts = |scheme: &&str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    let ends = |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '|' | '`' | '”' | '»');
    let word = text.get(..text.find(ends).unwrap_or(text.len()))?;
    let word = word.trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_', '\'', '’', '~']);
    let word = word.get(..closed(word).unwrap_or(word.len()))?.trim_end_matches(['.', ',', ';', ':', '!', '?']);
    if scheme.iter().any(starts) {
        return Some(word.len());
    }
    let (name, host) = word.split_once('@')?;
    let legal = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
    let host: &str = host.get(..host.find(|c: char| !legal(c)).unwrap_or(host.len()))?.trim_end_matches('.');
    (!name.is_empty() && name.chars().all(legal) && host.contains('.')).then_some(name.len() + 1 + host.len())
}

/// A text as what must stand there to the letter is compared: without marks of stress, white space as one blank.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        let c = match c {
            '*' | '_' | '`' | '~' | '>' | '"' | '“' | '”' | '„' | '«' | '»' => continue,
            '’' | '‘' => '\'',
            '–' | '—' | '‑' | '−' => '-',
            c if c.is_whitespace() => ' ',
            c => c,
        };
        if c != ' ' || !plain.ends_with(' ') {
            plain.extend(c.to_lowercase());
        }
    }
    plain.trim().to_owned()
}

/// An address as it is compared: without its scheme, `www.` and the slash at its end.
pub fn place(address: &str) -> String {
    let lower = address.to_lowercase();
    let mut bare = lower.as_str();
    for prefix in ["https://", "http://", "mailto:", "ftp://", "www."] {
        bare = bare.strip_prefix(prefix).unwrap_or(bare);
    }
    bare.trim_end_matches('/').to_owned()
}
