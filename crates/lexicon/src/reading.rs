//! Text as the senses read it: sentences and words of the prose, with their places.
//!
//! Fenced code, quoted lines and raw markup are no prose and are left out; inline code and quotations are one opaque
//! word each, so that nobody is taken at the words of others. Contractions are written out (`i'll` is `i will`), which
//! lets rules speak of words alone, never of parts of words. Time is linear, memory is bounded by a window.

use loopwright_base::{text::floor_boundary, word_hash::Hashed};

use std::{
    collections::{HashMap, HashSet, VecDeque},
    ops::Range,
};

/// At most this many bytes of prose are read: more than any message of a person or end of a reply that matters.
const WINDOW: usize = 32 * 1024;
/// A quotation longer than this is taken for a stray mark.
const LONGEST_QUOTE: usize = 400;

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A word.
    Plain,
    /// A path, an identifier, a number with letters: something with a name.
    Name,
    /// Inline code.
    Code,
    /// A quotation.
    Quote,
}

/// A word of the prose.
#[derive(Clone, Debug)]
pub struct Token {
    /// In lower case, written out; empty for code and quotations.
    pub word: String,
    /// Where it starts.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// What it is.
    pub kind: Kind,
    /// A comma, colon, dash or bracket stands before it.
    pub after_mark: bool,
    /// It starts with a capital letter.
    pub capital: bool,
}

/// A sentence, a list item or a heading.
#[derive(Clone, Debug)]
pub struct Sentence {
    /// Its place in the text.
    pub bytes: Range<usize>,
    /// Its words.
    pub tokens: Range<usize>,
    /// The mark it ends with: `.`, `?`, `!`, `:`, `…`, or a blank.
    pub mark: char,
    /// It is an item of a list.
    pub item: bool,
    /// It is a heading.
    pub heading: bool,
}

/// What was read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The words, in order.
    pub tokens: Vec<Token>,
    /// The sentences, in order.
    pub sentences: Vec<Sentence>,
    /// Code, data or quoted lines were left out.
    pub has_blocks: bool,
    /// A block of code or quoted lines stands behind the last sentence.
    pub block_at_end: bool,
    /// Where colons stand, in order.
    colons: Vec<usize>,
}

/// Which end of a long text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Its beginning: what people ask for.
    Head,
    /// Its end: what a reply comes to.
    Tail,
}

struct Line {
    bytes: Range<usize>,
    /// It begins a paragraph.
    opens: bool,
    item: bool,
    heading: bool,
}

impl Reading {
    /// Reads `text` from that side.
    pub fn of(text: &str, side: Side) -> Self {
        let mut reading = Self::default();
        let lines = reading.lines(text, side);
        let mut at = 0;
        while let Some(first) = lines.get(at) {
            // A paragraph: up to the next line that opens one.
            let mut end = at + 1;
            while lines.get(end).is_some_and(|line| !line.opens) {
                end += 1;
            }
            let last = lines.get(end - 1).map_or(first.bytes.end, |line| line.bytes.end);
            reading.paragraph(text, first.bytes.start..last, first.item, first.heading);
            at = end;
        }
        reading
    }

    /// Whether a colon stands in this part of the text.
    pub fn colon_between(&self, start: usize, end: usize) -> bool {
        self.colons.get(self.colons.partition_point(|colon| *colon < start)).is_some_and(|colon| *colon < end)
    }

    /// The words of a sentence.
    pub fn words(&self, sentence: &Sentence) -> &[Token] {
        self.tokens.get(sentence.tokens.clone()).unwrap_or_default()
    }

    fn lines(&mut self, text: &str, side: Side) -> VecDeque<Line> {
        let mut kept: VecDeque<Line> = VecDeque::new();
        let (mut held, mut start, mut opens) = (0, 0, true);
        let mut fence: Option<(u8, usize)> = None;
        for piece in text.split_inclusive('\n') {
            let here = start;
            start += piece.len();
            let whole = piece.trim_end();
            let content = whole.trim_start();
            let indent = whole.len() - content.len();
            let bar = content.bytes().take_while(|b| matches!(b, b'`' | b'~')).count();
            let mark = content.as_bytes().first().copied().unwrap_or_default();
            if let Some((open, length)) = fence {
                if bar >= length && mark == open && content.len() == bar {
                    fence = None;
                }
                continue;
            }
            if bar >= 3 && !content.get(bar..).unwrap_or_default().contains('`') {
                fence = Some((mark, bar));
                (self.has_blocks, self.block_at_end, opens) = (true, true, true);
                continue;
            }
            if content.is_empty() {
                opens = true;
                continue;
            }
            if mark == b'>' || mark == b'|' || (opens && indent >= 4 && !is_item(content)) {
                (self.has_blocks, self.block_at_end, opens) = (true, true, true);
                continue;
            }
            let hashes = content.bytes().take_while(|b| *b == b'#').count();
            let heading = (1..=6).contains(&hashes) && content.as_bytes().get(hashes) == Some(&b' ');
            let item = !heading && is_item(content);
            let skip = if heading { hashes } else { item_mark(content) };
            let bytes = here + indent + skip..here + whole.len();
            // A capital letter behind a line that ended is a new thought; a wrapped line goes on.
            let first = content.chars().next().unwrap_or_default();
            let new = opens || heading || item || (first.is_uppercase() && !content.starts_with("I "));
            self.block_at_end = false;
            held += bytes.len();
            kept.push_back(Line { bytes, opens: new, item, heading });
            opens = heading;
            if held > WINDOW {
                match side {
                    Side::Head => break,
                    Side::Tail => {
                        while held > WINDOW && kept.len() > 1 {
                            held -= kept.pop_front().map_or(0, |line| line.bytes.len());
                        }
                    }
                }
            }
        }
        for line in &mut kept {
            // One endless line: its end, or its beginning.
            if line.bytes.len() > WINDOW {
                match side {
                    Side::Head => line.bytes.end = floor_boundary(text, line.bytes.start + WINDOW),
                    Side::Tail => line.bytes.start = floor_boundary(text, line.bytes.end - WINDOW),
                }
            }
        }
        kept
    }

    fn paragraph(&mut self, text: &str, bytes: Range<usize>, item: bool, heading: bool) {
        let Some(body) = text.get(bytes.clone()) else { return };
        let mut open = Open { bytes: bytes.start..bytes.start, first: self.tokens.len(), item, heading };
        let mut after_mark = true;
        let mut chars = body.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let here = bytes.start + at;
            let rest = body.get(at + c.len_utf8()..).unwrap_or_default();
            let before = body.get(..at).and_then(|before| before.chars().next_back()).unwrap_or(' ');
            if let Some(length) = opaque(c, before, rest) {
                let end = here + c.len_utf8() + length;
                let kind = if c == '`' { Kind::Code } else { Kind::Quote };
                self.push(Token { word: String::new(), start: here, end, kind, after_mark, capital: false });
                after_mark = false;
                while chars.next_if(|(next, _)| bytes.start + next < end).is_some() {}
            } else if c.is_alphanumeric() || (c == '/' && rest.starts_with(|n: char| n.is_ascii_alphanumeric())) {
                let length = word_length(rest);
                let end = here + c.len_utf8() + length;
                self.word(text.get(here..end).unwrap_or_default(), here, after_mark);
                after_mark = false;
                while chars.next_if(|(next, _)| bytes.start + next < end).is_some() {}
            } else {
                let ends = match c {
                    '.' => rest.starts_with(char::is_whitespace) && !self.abbreviated(open.first),
                    '?' | '!' | '…' => rest.chars().next().is_none_or(|next| !next.is_alphanumeric()),
                    '。' | '！' | '？' => true,
                    ';' => rest.starts_with(char::is_whitespace),
                    _ => false,
                };
                if ends {
                    // Marks in a row belong together.
                    let mut mark = c;
                    let mut end = here + c.len_utf8();
                    while let Some((next, more)) =
                        chars.next_if(|(_, n)| matches!(n, '.' | '?' | '!' | '…' | ')' | '*' | '_' | '"' | '”'))
                    {
                        end = bytes.start + next + more.len_utf8();
                        if more == '?' {
                            mark = '?';
                        }
                    }
                    self.close(&mut open, text, end, mark);
                    after_mark = true;
                } else if c == ':' {
                    self.colons.push(here);
                    after_mark = true;
                } else if matches!(c, ',' | '(' | ')' | '—' | '–' | ';' | '-' | '/') {
                    after_mark = true;
                }
            }
        }
        let mark = body.trim_end_matches(['*', '_', ' ', ')', '"', '”']).chars().next_back().unwrap_or(' ');
        let mark = if body.trim_end_matches(['*', '_', ' ']).ends_with("...") { '…' } else { mark };
        self.close(&mut open, text, bytes.end, mark);
    }

    fn abbreviated(&self, first: usize) -> bool {
        self.tokens.len() > first
            && self.tokens.last().is_some_and(|last| {
                matches!(last.word.as_str(), "e.g" | "i.e" | "vs" | "dr" | "mr" | "mrs" | "ms" | "approx" | "cf" | "no")
            })
    }

    fn close(&mut self, open: &mut Open, text: &str, end: usize, mark: char) {
        if self.tokens.len() > open.first {
            let start = self.tokens.get(open.first).map_or(open.bytes.start, |token| token.start);
            let end = text.get(start..end).map_or(end, |body| start + body.trim_end().len());
            let tokens = open.first..self.tokens.len();
            let mark = match mark {
                '？' => '?',
                '！' => '!',
                '。' | ';' => '.',
                '.' | '?' | '!' | ':' | '…' => mark,
                _ => ' ',
            };
            let (item, heading) = (open.item, open.heading);
            self.sentences.push(Sentence { bytes: start..end, tokens, mark, item, heading });
        }
        open.bytes = end..end;
        open.first = self.tokens.len();
    }

    fn push(&mut self, token: Token) {
        self.tokens.push(token);
    }

    fn word(&mut self, surface: &str, start: usize, after_mark: bool) {
        let end = start + surface.len();
        let capital = surface.starts_with(char::is_uppercase);
        let lower = surface.to_lowercase().replace('’', "'");
        let mut push = |word: &str, after_mark: bool| {
            let kind = if is_name(surface) { Kind::Name } else { Kind::Plain };
            self.tokens.push(Token { word: word.to_owned(), start, end, kind, after_mark, capital });
        };
        if let Some((first, second)) = written_out(&lower) {
            push(first, after_mark);
            push(second, false);
        } else {
            push(lower.trim_end_matches("'s"), after_mark);
        }
    }
}

struct Open {
    bytes: Range<usize>,
    first: usize,
    item: bool,
    heading: bool,
}

/// The length of the mark of a list item: `- `, `* `, `1. `, `2) `, with a box to tick.
fn item_mark(content: &str) -> usize {
    let bytes = content.as_bytes();
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let mark = match bytes.get(digits) {
        Some(b'.' | b')') if (1..=3).contains(&digits) => digits + 1,
        Some(b'-' | b'*' | b'+') if digits == 0 => 1,
        _ if content.starts_with('•') => '•'.len_utf8(),
        _ => return 0,
    };
    if content.get(mark..).is_some_and(|rest| rest.starts_with(' ')) { mark } else { 0 }
}

fn is_item(content: &str) -> bool {
    item_mark(content) > 0
}

/// How far a quotation or inline code that begins with `c` reaches behind it.
fn opaque(c: char, before: char, rest: &str) -> Option<usize> {
    let close =
        match c {
            '`' | '"' => c,
            '“' | '„' => '”',
            '«' => '»',
            '「' => '」',
            '\'' | '‘' if !before.is_alphanumeric() && rest.starts_with(|n: char| !n.is_whitespace()) => {
                if c == '‘' { '’' } else { '\'' }
            }
            _ => return None,
        };
    let mut last = ' ';
    for (at, next) in rest.char_indices() {
        if at > LONGEST_QUOTE {
            return None;
        }
        if next == close || (c == '„' && next == '“') {
            let after = rest.get(at + next.len_utf8()..).unwrap_or_default();
            // An apostrophe inside a word closes nothing.
            let inside = matches!(close, '\'' | '’') && after.starts_with(char::is_alphanumeric);
            if !inside && (close != '\'' || !last.is_whitespace()) {
                return Some(at + next.len_utf8());
            }
        }
        last = next;
    }
    None
}

/// How far a word reaches behind its first letter: joiners count between two letters.
fn word_length(rest: &str) -> usize {
    let mut end = 0;
    let mut joined = false;
    for (at, c) in rest.char_indices() {
        if c.is_alphanumeric() || c == '_' {
            end = at + c.len_utf8();
            joined = false;
        } else if (!joined && matches!(c, '\'' | '’' | '-' | '.' | '/' | '@' | '\\'))
            || (c == ':' && rest.get(at..).is_some_and(|rest| rest.starts_with("://")))
        {
            joined = true;
        } else if joined && c == '/' {
            // An address.
        } else {
            break;
        }
    }
    end
}

fn is_name(surface: &str) -> bool {
    let mut before = ' ';
    let mut letters = 0;
    for c in surface.chars() {
        if matches!(c, '_' | '/' | '.' | '@' | '\\')
            || c.is_ascii_digit()
            || (before.is_lowercase() && c.is_uppercase())
        {
            return true;
        }
        letters += usize::from(c.is_uppercase());
        before = c;
    }
    letters >= 2 && letters == surface.chars().count() && surface != "OK"
}

/// A contraction as two words.
fn written_out(word: &str) -> Option<(&str, &'static str)> {
    match word {
        "won't" => return Some(("will", "not")),
        "can't" | "cannot" => return Some(("can", "not")),
        "shan't" => return Some(("shall", "not")),
        "let's" | "lets" => return Some(("let", "us")),
        "gonna" => return Some(("going", "to")),
        "wanna" => return Some(("want", "to")),
        "dont" => return Some(("do", "not")),
        "isnt" => return Some(("is", "not")),
        "doesnt" => return Some(("does", "not")),
        "didnt" => return Some(("did", "not")),
        "im" => return Some(("i", "am")),
        "ive" => return Some(("i", "have")),
        _ => {}
    }
    let (head, tail) = word.rsplit_once('\'')?;
    let second = match tail {
        "ll" => "will",
        "ve" => "have",
        "re" => "are",
        "m" => "am",
        "d" => "would",
        "t" => return head.strip_suffix('n').filter(|head| !head.is_empty()).map(|head| (head, "not")),
        "s" if matches!(
            head,
            "it" | "that"
                | "what"
                | "here"
                | "there"
                | "he"
                | "she"
                | "who"
                | "where"
                | "how"
                | "this"
                | "everything"
                | "something"
                | "when"
                | "why"
        ) =>
        {
            "is"
        }
        _ => return None,
    };
    (!head.is_empty()).then_some((head, second))
}

/// A list of words.
pub struct Words(HashSet<&'static str, Hashed>);

impl Words {
    /// `list` holds words separated by `|`.
    pub fn new(list: &'static str) -> Self {
        Self(list.split('|').collect())
    }

    /// Whether the word is one of them.
    pub fn hold(&self, word: &str) -> bool {
        self.0.contains(word)
    }
}

/// Phrases by their first word, the longest match first.
pub struct Phrases<T: 'static> {
    by_first: HashMap<&'static str, Vec<(Vec<&'static str>, T)>, Hashed>,
}

impl<T: Copy> Phrases<T> {
    /// Each line of `lists` holds phrases separated by `|`.
    pub fn new(lists: &[(T, &'static str)]) -> Self {
        let mut by_first: HashMap<&'static str, Vec<(Vec<&'static str>, T)>, Hashed> = HashMap::default();
        for (kind, list) in lists {
            for phrase in list.split('|') {
                let words: Vec<&'static str> = phrase.split_whitespace().collect();
                if let Some(first) = words.first() {
                    by_first.entry(first).or_default().push((words, *kind));
                }
            }
        }
        for list in by_first.values_mut() {
            list.sort_by_key(|(words, _)| std::cmp::Reverse(words.len()));
        }
        Self { by_first }
    }

    /// The longest phrase that begins at `at`: what it is and how many words it has.
    pub fn at(&self, tokens: &[Token], at: usize) -> Option<(T, usize)> {
        let list = self.by_first.get(tokens.get(at)?.word.as_str())?;
        let fits = |words: &[&str]| {
            tokens
                .get(at..at + words.len())
                .is_some_and(|some| some.iter().zip(words).all(|(token, w)| token.word == *w))
        };
        list.iter().find(|(words, _)| fits(words)).map(|(words, kind)| (*kind, words.len()))
    }

    /// All phrases that begin at `at`.
    pub fn all_at(&self, tokens: &[Token], at: usize) -> impl Iterator<Item = (T, usize)> {
        let list = tokens.get(at).and_then(|token| self.by_first.get(token.word.as_str()));
        list.into_iter().flatten().filter_map(move |(words, kind)| {
            let some = tokens.get(at..at + words.len())?;
            some.iter().zip(words).all(|(token, word)| token.word == *word).then_some((*kind, words.len()))
        })
    }

    /// The first phrase anywhere: what it is, where, and how many words.
    pub fn find(&self, tokens: &[Token]) -> Option<(T, usize, usize)> {
        (0..tokens.len()).find_map(|at| self.at(tokens, at).map(|(kind, length)| (kind, at, length)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let reading = Reading::of(text, Side::Tail);
        let one = |sentence: &Sentence| {
            let words: Vec<&str> =
                reading.words(sentence).iter().map(|t| if t.word.is_empty() { "_" } else { &t.word }).collect();
            format!("{}{}", words.join(" "), sentence.mark)
        };
        reading.sentences.iter().map(one).collect()
    }

    #[test]
    fn sentences_words_and_what_is_none() {
        assert_eq!(read("I'll run `a. b`, e.g. now. Don't!"), ["i will run _ e.g now.", "do not!"]);
        assert_eq!(
            read("# Plan\n- one thing\n- two\n\n> I will\n\n```\nI will\n```\nok"),
            ["plan ", "one thing ", "two ", "ok "]
        );
        assert_eq!(read("He said “I will do it.” Then left?"), ["he said _ then left?"]);
        assert_eq!(read("the users' files don't 'go away' yet..."), ["the users files do not _ yet…"]);
        assert_eq!(read("src/main.rs is v1.2. https://a.b/c is it."), ["src/main.rs is v1.2.", "https://a.b/c is it."]);
        assert_eq!(read("wrapped\nline. Next\nOther"), ["wrapped line.", "next ", "other "]);
        assert_eq!(read("日本語です。はい？"), ["日本語です.", "はい?"]);
        assert!(read("```\nI will never end").is_empty());
        assert!(read("").is_empty() && read("\u{0}…'\"`«„").is_empty());
    }

    #[test]
    fn words_are_whole() {
        let words = Words::new("done|all set|finished|internationalization|internationalizations|ü");
        for word in ["done", "all set", "finished", "internationalization", "internationalizations", "ü"] {
            assert!(words.hold(word), "{word}");
        }
        for word in ["", "don", "donee", "done|all set", "set", "internationalizatio", "u", "|"] {
            assert!(!words.hold(word), "{word}");
        }
    }

    #[test]
    fn long_texts_are_read_at_one_end() {
        let text = format!("first. {} last.", "word ".repeat(100_000));
        let tail = Reading::of(&text, Side::Tail);
        assert!(tail.tokens.len() < 10_000);
        assert_eq!(tail.tokens.last().map(|t| t.word.as_str()), Some("last"));
        let head = Reading::of(&text, Side::Head);
        assert_eq!(head.tokens.first().map(|t| t.word.as_str()), Some("first"));
        let lines = "a line\n".repeat(100_000);
        assert!(Reading::of(&lines, Side::Tail).tokens.len() < 20_000);
    }
}
