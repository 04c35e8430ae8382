//! What of a message is the person's own: documents, quotes, results of tools and our own words to a model taken out.
//! Takes time linear in the text, of which only the end is read.

use loopwright_base::{
    marks::CONTEXT_MARK,
    sources::{parse_feedback, parse_prompt},
    text::tail,
};

/// Bytes of user text that are read, from its end.
pub(crate) const MOST_TEXT: usize = 256 * 1024;

/// Words in the names of fences in which text of others stands inside user messages: `<tool_result>`, `<web-page>`.
const FENCES: [&str; 28] = [
    "result",
    "results",
    "response",
    "output",
    "outputs",
    "observation",
    "observations",
    "stdout",
    "stderr",
    "document",
    "documents",
    "context",
    "untrusted",
    "page",
    "pages",
    "webpage",
    "website",
    "quote",
    "quoted",
    "email",
    "mail",
    "article",
    "transcript",
    "attachment",
    "attachments",
    "memories",
    "memory",
    "excerpt",
];

/// How quotes open and close.
const QUOTES: [(char, &[char]); 8] = [
    ('"', &['"']),
    ('“', &['”', '“']),
    ('„', &['“', '”']),
    ('«', &['»']),
    ('»', &['«']),
    ('‘', &['’']),
    ('「', &['」']),
    ('\'', &['\'']),
];

/// How words of ours to a model begin.
const OURS: [&str; 6] = [
    "[No tool rounds are left",
    "[One tool round is left",
    "[The tokens are nearly used up",
    "[The money is nearly used up",
    "[The time is nearly up",
    "[Nobody will be asked about calls any more",
];

/// What a person wrote of a text, without documents, quotes, results of tools and our own words to a model.
pub fn own_words(text: &str) -> String {
    if text.starts_with(CONTEXT_MARK) {
        return String::new();
    }
    let asked = parse_prompt(text).map(|(_, question, _)| question);
    let text = asked.as_deref().unwrap_or(text);
    // Our own words to a model are nobody's wish.
    let ours = OURS.iter().any(|words| text.starts_with(words))
        || text.starts_with('[')
            && text.get(..60).unwrap_or(text).split_once(" tool round").is_some_and(|(count, rest)| {
                !count.contains(' ') && (rest.starts_with("s are left.") || rest.starts_with(" is left."))
            })
        || text.starts_with("[Sanity check");
    if ours || parse_feedback(text).is_some() {
        return String::new();
    }
    let mut own = without_fences(tail(text, MOST_TEXT));
    if own.lines().any(|line| line.trim_start().starts_with('>')) {
        own = own.lines().filter(|line| !line.trim_start().starts_with('>')).collect::<Vec<_>>().join("\n");
    }
    own
}

/// The text without blocks of code or of quoted text: what stands between two marks of three signs or more.
pub(super) fn without_blocks(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    // Marks that nothing closes: each is looked for once.
    let mut open: Vec<(char, usize)> = Vec::new();
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let length = if matches!(c, '`' | '~' | '"' | '\'') { run_of(text, at, c) } else { 0 };
        if length < 3 {
            let step = length.max(1) * c.len_utf8();
            kept.push_str(&text[at..at + step]);
            at += step;
            continue;
        }
        let begins = text[..at].rsplit('\n').next().is_none_or(|before| before.trim().is_empty());
        let closed = if open.iter().any(|(sign, least)| *sign == c && length >= *least) {
            None
        } else {
            closing(text, at + length, c, length)
        };
        at = match closed {
            Some(end) => end,
            // A block that begins a line and is not closed goes to the end.
            None if begins => return kept,
            None => {
                open.push((c, length));
                at + length
            }
        };
        kept.push(' ');
    }
    kept
}

/// How often a sign stands there.
fn run_of(text: &str, at: usize, sign: char) -> usize {
    text[at..].chars().take_while(|c| *c == sign).count()
}

/// The end of the mark that closes a block.
fn closing(text: &str, from: usize, sign: char, length: usize) -> Option<usize> {
    let mut at = from;
    while let Some(found) = text.get(at..)?.find(sign) {
        let run = run_of(text, at + found, sign);
        at += found + run;
        if run >= length {
            return Some(at);
        }
    }
    None
}

/// A text without what it cites: two words and more between quotes, within a paragraph.
pub(super) fn without_quotes(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for paragraph in text.split_inclusive("\n\n") {
        kept.push_str(&without_quotes_of(paragraph));
    }
    kept
}

fn without_quotes_of(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut at = 0;
    // Signs that nothing closes in the rest of the line: it is looked through once for each.
    let mut open: Vec<char> = Vec::new();
    while let Some(c) = line.get(at..).and_then(|rest| rest.chars().next()) {
        let after = at + c.len_utf8();
        let found = if open.contains(&c) { None } else { cited(line, at, c) };
        let Some(end) = found else {
            let opens = QUOTES.iter().any(|(opens, _)| *opens == c) && !is_apostrophe(line, at, c);
            if opens && !open.contains(&c) {
                open.push(c);
            }
            kept.push(c);
            at = after;
            continue;
        };
        let inner = line.get(after..end).unwrap_or_default();
        if inner.split_whitespace().nth(1).is_none() {
            kept.push_str(inner);
        }
        kept.push(' ');
        at = end + line.get(end..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
    }
    kept
}

/// Whether the sign stands within a word: `don't`.
fn is_apostrophe(line: &str, at: usize, sign: char) -> bool {
    matches!(sign, '\'' | '‘' | '"')
        && line.get(..at).and_then(|before| before.chars().next_back()).is_some_and(char::is_alphanumeric)
}

/// Where the quote that the sign at a place opens is closed. An apostrophe opens and closes none.
fn cited(line: &str, at: usize, sign: char) -> Option<usize> {
    let (_, closes) = QUOTES.iter().find(|(opens, _)| *opens == sign)?;
    if is_apostrophe(line, at, sign) {
        return None;
    }
    let apostrophe = matches!(sign, '\'' | '‘' | '"');
    let from = at + sign.len_utf8();
    let found = line.get(from..)?.char_indices().find(|(near, c)| {
        let next = line.get(from + near + c.len_utf8()..).and_then(|rest| rest.chars().next());
        closes.contains(c) && !(apostrophe && next.is_some_and(char::is_alphanumeric))
    });
    found.map(|(near, _)| from + near)
}

/// The text without what stands in fences of others.
fn without_fences(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = lower[at..].find('<') {
        let open = at + found;
        let rest = &lower[open + 1..];
        let ends = rest.bytes().take(64).position(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'-'));
        let name = ends.filter(|end| rest[*end..].starts_with(['>', ' ', '\n', '\t'])).map(|end| &rest[..end]);
        let name = name.filter(|name| name.split(['_', '-']).any(|part| FENCES.contains(&part)));
        let Some(name) = name else {
            kept.push_str(&text[at..=open]);
            at = open + 1;
            continue;
        };
        kept.push_str(&text[at..open]);
        // A fence that is not closed reaches to the end; of several closings the last one counts.
        let close = format!("</{name}");
        match lower[open..].rfind(&close).map(|end| open + end) {
            Some(end) => at = lower[end..].find('>').map_or(text.len(), |more| end + more + 1),
            None => return kept,
        }
    }
    kept.push_str(&text[at..]);
    kept
}
