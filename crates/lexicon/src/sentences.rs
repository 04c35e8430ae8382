//! Cuts a text into the units that can be quoted: sentences, headings, list items, table rows, lines of code.
//!
//! Every unit is a place in the text with exact line numbers; a sentence wrapped over lines is one unit. Abbreviations,
//! decimals, file names and inline code do not end a sentence.

use std::ops::Range;

use super::lines::{Content, Directive, Fence, Format, Lines, heading, is_border, underlined};

/// A sentence longer than this is cut at white space.
const MAX_SENTENCE: usize = 800;

/// Words of the term of a definition, at most.
const MAX_TERM_WORDS: usize = 8;

/// Words of the name of a field, at most.
const MAX_FIELD_WORDS: usize = 3;

/// Words with which a sentence leans on the one before it.
const LEANING: [&str; 20] = [
    "it ",
    "this ",
    "they ",
    "these ",
    "those ",
    "that ",
    "its ",
    "their ",
    "he ",
    "she ",
    "however",
    "therefore",
    "then ",
    "such ",
    "both ",
    "thus ",
    "but ",
    "and ",
    "also ",
    "so ",
];

/// Whether a sentence leans on the one before it, and says little alone.
pub fn leans(sentence: &str) -> bool {
    let start: String = sentence.chars().take(80).collect::<String>().to_lowercase();
    LEANING.iter().any(|word| start.starts_with(word)) || is_then(&start)
}

/// Whether a sentence says what is so "then", and not itself when that is: "The range is then largest."
fn is_then(start: &str) -> bool {
    let then = [" is then ", " are then ", " was then ", " were then "].iter().find_map(|then| start.find(then));
    then.and_then(|at| start.get(..at)).is_some_and(|before| {
        !before.split(|c: char| !c.is_alphanumeric()).any(|word| matches!(word, "if" | "when" | "once" | "after"))
    })
}

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A sentence, also in a list item or a comment.
    Prose,
    /// A heading.
    Heading,
    /// A row of a table.
    Row,
    /// The row of a table that names its columns.
    Columns,
    /// A line of code.
    Code,
    /// What the lines below it, further in, tell of: the term of a definition, the signature of a function.
    Term,
}

/// A unit that can be quoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// Its place in the text, marks of lists and quotes at its start left out.
    pub bytes: Range<usize>,
    /// Its first line, counted from 1.
    pub line: usize,
    /// Its last line.
    pub end_line: usize,
    /// What it is.
    pub kind: Kind,
    /// Which paragraph, list item or fence of the text it belongs to.
    pub block: usize,
}

/// The units of `text`, in order; it may be a piece of something longer, and begin inside a code fence.
pub fn sentences(text: &str, format: Format) -> Vec<Sentence> {
    units(text, format, format.has_headings() && starts_in_fence(text))
}

/// The units of Markdown that is whole.
pub fn of_whole(text: &str) -> Vec<Sentence> {
    units(text, Format::Markdown, false)
}

/// What the lines further in than a directive, or than a line that ends with `::`, are.
struct Inner {
    indent: usize,
    content: Content,
    /// Whether only options (`:name: value`) have come so far.
    at_head: bool,
}

/// What a reader of Markdown and reStructuredText knows of the lines above.
#[derive(Default)]
struct Above {
    inner: Option<Inner>,
    /// The indent of the directive whose lines are read like any other: further in none is code by its indent alone.
    within: Option<usize>,
    /// The fences of directives whose lines are read like any other.
    open: Vec<(char, usize)>,
    /// Borders of the table that is being read.
    borders: usize,
}

impl Above {
    /// What a line is by those above it; `None` where it is to be read by itself.
    fn content(&mut self, content: &str, indent: usize) -> Option<Content> {
        self.within = self.within.filter(|outer| indent > *outer);
        let inner = self.inner.as_mut()?;
        if indent <= inner.indent {
            self.inner = None;
            return None;
        }
        let option = content.trim_start().strip_prefix(':').is_some_and(|rest| rest.contains(':'));
        inner.at_head &= option;
        if inner.at_head {
            return Some(Content::Nothing);
        }
        let content = inner.content;
        if !matches!(content, Content::Code | Content::Nothing) && !inner.at_head {
            self.inner = None;
        }
        matches!(content, Content::Code | Content::Nothing).then_some(content)
    }

    /// Whether a line opens or closes the fence of a directive whose lines are none of code, and the one it opens.
    fn fence<'a>(&mut self, line: &'a str) -> (bool, Option<Directive<'a>>) {
        let line = line.trim();
        let Some(mark) = line.chars().next().filter(|c| matches!(c, '`' | '~' | ':')) else { return (false, None) };
        let count = line.chars().take_while(|c| *c == mark).count();
        if count < 3 {
            return (false, None);
        }
        if let Some(directive) = Directive::of_fence(line).filter(|one| one.content() != Content::Code) {
            self.open.push((mark, count));
            return (true, Some(directive));
        }
        let closes = line.len() == count && self.open.last().is_some_and(|open| open.0 == mark && count >= open.1);
        if closes {
            self.open.pop();
        }
        (closes || mark == ':', None)
    }

    fn enter(&mut self, indent: usize, content: Content) {
        if !matches!(content, Content::Code | Content::Nothing) {
            self.within = self.within.or(Some(indent));
        }
        self.inner = Some(Inner { indent, content, at_head: true });
    }
}

/// Whether a line is the term of a definition: few words or a question, what they mean further in on the next line;
/// behind a literal that stands alone an empty line may come first.
fn is_term(content: &str, indent: usize, rest: &str) -> bool {
    let deeper = |next: &str| {
        let inside = next.trim_start();
        let is_said = mark_of(inside) == 0 && inside.starts_with(char::is_alphabetic)
            || inside.starts_with(['"', '`', '*'])
            || inside.starts_with(':') && inside.contains(":`");
        is_said && next.len() - inside.len() >= indent + 2
    };
    let bare = content.trim();
    let is_literal = bare.starts_with('`') && bare.ends_with('`') && !bare.contains(' ');
    let next = rest.lines().find(|next| !is_literal || !next.trim().is_empty());
    // "Name:" is a term only where it is no sentence that leads to something.
    let is_name = !bare.ends_with(':') || bare.starts_with(['`', '*', '"']) || !bare.contains(' ');
    next.is_some_and(deeper)
        && is_name
        && !bare.ends_with("::")
        && !bare.ends_with(['.', ',', ';', '\\', '('])
        && (bare.ends_with('?') || bare.split_whitespace().count() <= MAX_TERM_WORDS)
        && mark_of(bare) == 0
}

fn units(text: &str, format: Format, in_fence: bool) -> Vec<Sentence> {
    let mut reader = Reader { text, all: Vec::new(), open: None, block: 0 };
    let mut fence = Fence::default();
    if in_fence {
        fence.read("```");
    }
    let is_markup = format == Format::Markup;
    let mut above = Above::default();
    let mut after_blank = true;
    let (mut skip_rule, mut in_quote) = (false, false);
    let mut lines = Lines::new(text).peekable();
    while let Some(line) = lines.next() {
        let content = line.text.trim_end();
        let indent = content.len() - content.trim_start().len();
        let inner = line.start + indent..line.start + content.len();
        let blank = content.is_empty();
        if std::mem::take(&mut skip_rule) {
            after_blank = true;
            continue;
        }
        let here = |reader: &mut Reader<'_>, kind| reader.unit(inner.clone(), line.number, kind);
        let quoted = std::mem::replace(&mut in_quote, content.trim_start().starts_with('>'));
        let next = lines.peek().map(|next| next.text.trim_end());
        if format == Format::Code {
            if blank {
                reader.close();
            } else if let Some(mark) = comment_mark(content.trim_start()) {
                let rest = content.trim_start().get(mark..).unwrap_or_default();
                let place = inner.start + mark..inner.end;
                if fence.read(rest) {
                    reader.close();
                } else if fence.is_open() {
                    reader.unit(place, line.number, Kind::Code);
                } else if heading(rest).is_some() {
                    reader.unit(place, line.number, Kind::Heading);
                    reader.close();
                } else {
                    let list = mark_of(rest);
                    reader.prose(place.start + list..place.end, line.number, list > 0);
                }
            } else {
                fence = Fence::default();
                here(&mut reader, Kind::Code);
            }
        } else if is_markup
            && !fence.is_open()
            && !blank
            && let Some(is) = above.content(content, indent)
        {
            if is == Content::Code {
                here(&mut reader, Kind::Code);
            }
        } else if is_markup
            && !fence.is_open()
            && let (true, directive) = above.fence(content)
        {
            reader.close();
            if let Some(one) = directive.filter(|one| one.content() == Content::Version) {
                reader.prose(place_of(text, one.name).start..inner.end, line.number, true);
            } else if let Some(one) = directive {
                if one.content() == Content::Nothing {
                    above.open.pop();
                    fence.read(content);
                    skip_to_end(&mut lines, &mut fence);
                } else if !one.argument.is_empty() {
                    reader.unit(place_of(text, one.argument), line.number, Kind::Term);
                }
            }
            after_blank = true;
            continue;
        } else if fence.read(content) {
            reader.close();
        } else if blank {
            if !fence.is_open() {
                reader.close();
            }
        } else if fence.is_open() {
            here(&mut reader, Kind::Code);
        } else if is_markup && let Some(directive) = Directive::read(content) {
            reader.close();
            let is = directive.content();
            above.enter(indent, is);
            match is {
                Content::Version => {
                    above.inner = None;
                    reader.prose(place_of(text, directive.name).start..inner.end, line.number, true);
                }
                Content::Prose | Content::Described if !directive.argument.is_empty() => {
                    let kind = if is == Content::Prose { Kind::Prose } else { Kind::Term };
                    reader.unit(place_of(text, directive.argument), line.number, kind);
                }
                _ => {}
            }
            after_blank = true;
            continue;
        } else if is_markup && is_border(content) {
            reader.close();
            above.borders = (above.borders + 1) % 3;
            if let Some(last) = reader.all.last_mut().filter(|last| last.kind == Kind::Row && above.borders == 2) {
                last.kind = Kind::Columns;
            }
        } else if above.borders > 0 && !content.trim_start().starts_with(['|', '+']) && content.trim().contains("  ") {
            here(&mut reader, Kind::Row);
        } else if heading(content).is_some() {
            here(&mut reader, Kind::Heading);
            reader.close();
        } else if underlined(content, after_blank, next).is_some() {
            here(&mut reader, Kind::Heading);
            reader.close();
            above.inner = None;
            skip_rule = true;
        } else if content.trim_start().starts_with('|') {
            if content.chars().any(char::is_alphanumeric) {
                here(&mut reader, Kind::Row);
            } else if let Some(last) = reader.all.last_mut().filter(|last| last.kind == Kind::Row) {
                last.kind = Kind::Columns;
            }
        } else if content.trim_start().starts_with(">>> ") && is_markup {
            above.enter(indent.saturating_sub(1), Content::Code);
            here(&mut reader, Kind::Code);
            above.inner = None;
        } else if after_blank
            && indent >= 4
            && above.within.is_none()
            && reader.all.last().is_none_or(|last| last.kind == Kind::Code)
        {
            here(&mut reader, Kind::Code);
        } else if !content.chars().any(char::is_alphanumeric)
            || is_link_definition(content.trim_start())
            || (is_markup && is_label(content.trim()))
        {
            reader.close();
        } else if is_markup && after_blank && is_term(content, indent, text.get(line.end()..).unwrap_or_default()) {
            here(&mut reader, Kind::Term);
            reader.close();
        } else if is_markup && let Some(name) = field_of(content.trim_start()) {
            reader.unit(inner.start + 1..inner.start + 1 + name, line.number, Kind::Term);
            reader.prose(inner.start + name + 2..inner.end, line.number, true);
        } else {
            let mark = mark_of(content.trim_start());
            if is_markup && content.ends_with("::") {
                above.enter(indent, Content::Code);
            }
            reader.prose(inner.start + mark..inner.end, line.number, mark > 0 && !(quoted && in_quote));
        }
        after_blank = blank;
    }
    reader.close();
    reader.all
}

/// The length of the name of a field: `:param size: How much …`.
fn field_of(line: &str) -> Option<usize> {
    let (name, rest) = line.strip_prefix(':')?.split_once(':')?;
    let is_name = name.starts_with(char::is_alphabetic) && name.split(' ').count() <= MAX_FIELD_WORDS;
    (is_name && !name.contains('`') && (rest.is_empty() || rest.starts_with(' '))).then_some(name.len())
}

/// Passes over the lines of a fence that was just opened.
fn skip_to_end<'a>(lines: &mut impl Iterator<Item = super::lines::Line<'a>>, fence: &mut Fence) {
    while fence.is_open() && lines.next().is_some_and(|line| !fence.read(line.text.trim_end()) || fence.is_open()) {}
}

/// The place in `text` of a piece of it.
fn place_of(text: &str, piece: &str) -> Range<usize> {
    let start = piece.as_ptr() as usize - text.as_ptr() as usize;
    start..start + piece.len()
}

/// `(name)=` and `_name:`, to which other lines refer.
fn is_label(line: &str) -> bool {
    line.strip_prefix('(').and_then(|rest| rest.strip_suffix(")=")).is_some_and(|name| !name.contains([' ', '(']))
}

/// `[name]: address`, which only other lines make use of.
fn is_link_definition(line: &str) -> bool {
    line.starts_with('[')
        && line.split_once("]: ").is_some_and(|(name, to)| !name.contains("](") && !to.trim().contains(' '))
}

/// Whether `text`, a piece of something longer, begins inside a code fence: its first fence line closes one, or it has
/// none, and what stands before looks like code.
fn starts_in_fence(text: &str) -> bool {
    let (mut lines, mut like_code, mut bare) = (0, 0, true);
    for line in text.lines() {
        let content = line.trim();
        if content.len() > 4 && content.bytes().all(|b| b == b'~') || content.starts_with(".. ") {
            return false;
        }
        if content.starts_with("```") || content.starts_with("~~~") {
            bare = content.len() == 3;
            break;
        }
        if content.is_empty() {
            continue;
        }
        if heading(line).is_some() {
            return false;
        }
        lines += 1;
        let shape = content.ends_with([';', '{', '}', '(', ')', ',', '[', ']', '\\']) || content.contains("   ");
        like_code += usize::from(shape && !content.starts_with(['-', '*', '>', '|']));
    }
    bare && lines >= 2 && like_code * 3 >= lines * 2
}

/// The length of list and quote marks at the start of a line.
pub fn mark_of(line: &str) -> usize {
    let mut at = 0;
    // Marks can be nested: `> - [ ] item`. A line holds few of them.
    for _ in 0..8 {
        let rest = line.get(at..).unwrap_or_default();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let found = if rest.starts_with(['-', '*', '+', '•', '–', '—', '◦', '‣', '▪', '·'])
            && rest.chars().nth(1).is_some_and(char::is_whitespace)
        {
            rest.chars().next().map_or(0, char::len_utf8)
        } else if rest.starts_with("#. ") {
            2
        } else if rest.starts_with('>') || rest.starts_with(": ") {
            1
        } else if (1..=3).contains(&digits)
            && rest.get(digits..).is_some_and(|r| r.starts_with(". ") || r.starts_with(") "))
        {
            digits + 1
        } else if let Some(length) = lettered(rest) {
            length
        } else if at > 0 && (rest.starts_with("[ ] ") || rest.starts_with("[x] ")) {
            3
        } else if at > 0 && rest.starts_with("[!") {
            rest.find(']').map_or(2, |end| end + 1)
        } else {
            break;
        };
        at += found;
        at += line.get(at..).map_or(0, |rest| rest.len() - rest.trim_start().len());
    }
    at
}

/// The length of `a)`, `(a)` or `(1)` before a blank.
fn lettered(line: &str) -> Option<usize> {
    let open = usize::from(line.starts_with('('));
    let inside = line.get(open..)?.find(')').filter(|length| (1..=2).contains(length))?;
    let sign = line.get(open..open + inside)?;
    let counts =
        sign.bytes().all(|b| b.is_ascii_digit()) || (sign.len() == 1 && sign.bytes().all(|b| b.is_ascii_lowercase()));
    let end = open + inside + 1;
    (counts && (open == 1 || !sign.starts_with(|c: char| c.is_ascii_digit())) && line.get(end..)?.starts_with(' '))
        .then_some(end)
}

/// The length of a comment mark at the start of a line of code.
pub fn comment_mark(line: &str) -> Option<usize> {
    let mark = ["///", "//!", "//", "/**", "/*", "*/", "* ", "#!", "# ", "-- ", ";; ", "<!--"]
        .into_iter()
        .find(|mark| line.starts_with(mark))
        .map(str::len)
        .or_else(|| (line == "*" || line == "#").then_some(1))?;
    let rest = line.get(mark..)?;
    Some(mark + rest.len() - rest.trim_start().len())
}

struct Open {
    pieces: Vec<(Range<usize>, usize)>,
}

struct Reader<'a> {
    text: &'a str,
    all: Vec<Sentence>,
    /// The paragraph that is being read: the inside of each of its lines.
    open: Option<Open>,
    block: usize,
}

impl Reader<'_> {
    /// A line that is a unit of its own.
    fn unit(&mut self, bytes: Range<usize>, line: usize, kind: Kind) {
        if self.open.is_some() {
            self.close();
        }
        if self.text.get(bytes.clone()).is_some_and(|text| text.chars().any(char::is_alphanumeric)) {
            self.all.push(Sentence { bytes, line, end_line: line, kind, block: self.block });
        }
    }

    /// A line of a paragraph.
    fn prose(&mut self, bytes: Range<usize>, line: usize, starts: bool) {
        if starts {
            self.close();
        }
        if self.open.is_none() && self.all.last().is_some_and(|last| last.block == self.block) {
            self.block += 1;
        }
        let open = self.open.get_or_insert_with(|| Open { pieces: Vec::new() });
        if !bytes.is_empty() {
            open.pieces.push((bytes, line));
        }
    }

    fn close(&mut self) {
        if let Some(Open { pieces }) = self.open.take() {
            self.split(&pieces);
        }
        self.block += 1;
    }

    /// Splits a paragraph, given as the insides of its lines, into sentences.
    fn split(&mut self, pieces: &[(Range<usize>, usize)]) {
        let mut start: Option<(usize, usize)> = None;
        let mut code_until = 0;
        for (at, (bytes, line)) in pieces.iter().enumerate() {
            let content = self.text.get(bytes.clone()).unwrap_or_default();
            let next_line = pieces.get(at + 1).and_then(|(bytes, _)| self.text.get(bytes.clone()));
            let mut chars = content.char_indices().peekable();
            let mut no_more_code = false;
            while let Some((offset, c)) = chars.next() {
                let place = bytes.start + offset;
                if start.is_none() {
                    if c.is_whitespace() {
                        continue;
                    }
                    start = Some((place, *line));
                }
                if place < code_until {
                    continue;
                }
                if c == '`' && !no_more_code {
                    // Inline code is skipped whole where as many marks close it on the same line.
                    let rest = content.get(offset..).unwrap_or_default();
                    let inside = rest.trim_start_matches('`');
                    let marks = rest.get(..rest.len() - inside.len()).unwrap_or_default();
                    match inside.find(marks) {
                        Some(length) => code_until = place + 2 * marks.len() + length,
                        None => no_more_code = true,
                    }
                    continue;
                }
                let Some((first, first_line)) = start else { continue };
                let mut end = place + c.len_utf8();
                if is_end(c) {
                    while let Some(&(offset, next)) = chars.peek() {
                        if !(is_end(next) || is_closing(next)) {
                            break;
                        }
                        end = bytes.start + offset + next.len_utf8();
                        chars.next();
                    }
                    let after = self.text.get(end..bytes.end).unwrap_or_default();
                    let next = if after.trim().is_empty() { next_line.unwrap_or_default() } else { after };
                    let before = self.text.get(first..place).unwrap_or_default();
                    if !ends_here(c, before, after, next.trim_start()) {
                        continue;
                    }
                } else if !(c.is_whitespace() && place - first > MAX_SENTENCE || place - first > 2 * MAX_SENTENCE) {
                    continue;
                }
                self.push(first..end, first_line, *line);
                start = None;
            }
        }
        if let (Some((first, first_line)), Some((bytes, line))) = (start, pieces.last()) {
            self.push(first..bytes.end, first_line, *line);
        }
    }

    fn push(&mut self, bytes: Range<usize>, line: usize, end_line: usize) {
        if self.text.get(bytes.clone()).is_some_and(|text| text.chars().any(char::is_alphanumeric)) {
            self.all.push(Sentence { bytes, line, end_line, kind: Kind::Prose, block: self.block });
        }
    }
}

const fn is_end(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…' | '。' | '！' | '？')
}

const fn is_closing(c: char) -> bool {
    matches!(c, '"' | '\'' | ')' | ']' | '}' | '”' | '’' | '»' | '*' | '_' | '」')
}

/// Whether the mark `c` after `before` ends a sentence, given the rest of the line and what comes next.
fn ends_here(c: char, before: &str, after: &str, next: &str) -> bool {
    if matches!(c, '。' | '！' | '？') {
        return true;
    }
    if !after.is_empty() && !after.starts_with(char::is_whitespace) {
        return false;
    }
    if c != '.' {
        return true;
    }
    let word =
        before.rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | '[' | '"' | '/')).next().unwrap_or(before);
    let lower = word.to_lowercase();
    // "5.2." ends a sentence, but numbers one that has said nothing yet; "p.m." is an abbreviation.
    let counts = word.bytes().any(|byte| byte.is_ascii_digit()) && before.trim() != word;
    let points = word.contains('.') && word.len() <= 4 && word.is_ascii() && !counts;
    if ABBREVIATIONS.contains(&lower.as_str()) || points {
        return next.is_empty();
    }
    let mut letters = word.chars();
    if letters.next().is_some_and(char::is_uppercase) && letters.next().is_none() && word != "I" {
        return next.is_empty();
    }
    if next.chars().next().is_some_and(char::is_lowercase) {
        // A sentence can start with a name in lower case, and such a name looks like one.
        let name = next.split_whitespace().next().unwrap_or_default();
        return name.trim_end_matches(['.', ',']).contains(['_', '(', '.', '/', '-']);
    }
    true
}

const ABBREVIATIONS: [&str; 33] = [
    "e.g", "i.e", "eg", "ie", "etc", "cf", "vs", "mr", "mrs", "ms", "dr", "prof", "st", "sr", "jr", "no", "nr", "fig",
    "eq", "sec", "ch", "vol", "pp", "ed", "al", "approx", "ca", "inc", "ltd", "co", "corp", "dept", "a.m",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn units(text: &str, format: Format) -> Vec<(usize, usize, &str)> {
        let all = sentences(text, format);
        for unit in &all {
            assert_eq!(unit.line, 1 + text[..unit.bytes.start].matches('\n').count());
            assert_eq!(unit.end_line, 1 + text[..unit.bytes.end].matches('\n').count());
        }
        all.into_iter().map(|unit| (unit.line, unit.end_line, &text[unit.bytes])).collect()
    }

    #[test]
    fn b30_a_sentence_about_then_leans_on_the_one_before() {
        assert!(leans("The range is then largest.") && leans("Its walls are thick."));
        assert!(!leans("When the moon is new the range is then largest.") && !leans("The range is larger than that."));
    }

    #[test]
    fn prose_with_abbreviations_and_decimals() {
        let text =
            "It costs 3.50 USD, e.g. in the U.S. today. See `a. B` or main.rs. Dr. Smith\nagrees! \"Really?\" Yes.\n";
        assert_eq!(
            units(text, Format::Markdown),
            [
                (1, 1, "It costs 3.50 USD, e.g. in the U.S. today."),
                (1, 1, "See `a. B` or main.rs."),
                (1, 2, "Dr. Smith\nagrees!"),
                (2, 2, "\"Really?\""),
                (2, 2, "Yes."),
            ]
        );
    }

    #[test]
    fn lists_headings_fences_and_tables() {
        let text = "# Title\nOne.\n\n- first item\n  goes on\n- [ ] second. Third.\n1. fourth\n> quoted\n> text.\n\n```sh\nrun. Now\n\n# x\n```\n| a | b |\n|---|---|\n| 1 | 2 |\nEnd\n---\n";
        assert_eq!(
            units(text, Format::Markdown),
            [
                (1, 1, "# Title"),
                (2, 2, "One."),
                (4, 5, "first item\n  goes on"),
                (6, 6, "second."),
                (6, 6, "Third."),
                (7, 7, "fourth"),
                (8, 9, "quoted\n> text."),
                (12, 12, "run. Now"),
                (14, 14, "# x"),
                (16, 16, "| a | b |"),
                (18, 18, "| 1 | 2 |"),
                (19, 19, "End"),
            ]
        );
    }

    #[test]
    fn code_by_lines_and_comments_by_sentences() {
        let text = "// How often we try. The\n// default is 3.\nconst TRIES: u32 = 3;\n\nfn main() {}\n/// # Panics\n/// - never. Yes\n/// ```\n/// go(1);\n";
        assert_eq!(
            units(text, Format::Code),
            [
                (1, 1, "How often we try."),
                (1, 2, "The\n// default is 3."),
                (3, 3, "const TRIES: u32 = 3;"),
                (5, 5, "fn main() {}"),
                (6, 6, "# Panics"),
                (7, 7, "never."),
                (7, 7, "Yes"),
                (9, 9, "go(1);"),
            ]
        );
    }

    #[test]
    fn a_piece_of_a_fence_is_code() {
        let text = "let a = b();\n  call(a);\n}\n```\nProse, at last. More.\n[a]: https://a.example\n";
        let kinds: Vec<Kind> = sentences(text, Format::Markdown).iter().map(|unit| unit.kind).collect();
        assert_eq!(kinds, [Kind::Code, Kind::Code, Kind::Prose, Kind::Prose]);
        let text = "Prose (with\nbrackets).\n```\ncode();\n";
        assert_eq!(sentences(text, Format::Markdown)[0].kind, Kind::Prose);
    }

    #[test]
    fn hostile_text_stays_linear() {
        let all = sentences(&"`".repeat(200_000), Format::Markdown);
        assert!(all.is_empty());
        let words = "word ".repeat(40_000);
        assert!(units(&words, Format::Text).iter().all(|unit| unit.2.len() <= 2 * MAX_SENTENCE + 8));
        sentences(&"> ".repeat(100_000), Format::Markdown);
        sentences(&"a. ".repeat(100_000), Format::Markdown);
        sentences(&"A. ".repeat(100_000), Format::Markdown);
    }
}
