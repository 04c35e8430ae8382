//! Citations in an answer: where they stand, and which places they name.
//!
//! A citation is a pair of brackets that holds a source's number, `path:line`, `path:line-line`, the name of a source,
//! or several of these. Code, links and indexes such as `a[0]` are none. One pass over the text, whatever it holds.

use loopwright_base::text::head;

use std::ops::Range;

/// Brackets that hold more bytes than this are no citation.
const LONGEST: usize = 400;
/// Other brackets that hold citations.
const WIDE: (char, char) = ('【', '】');
/// Brackets that a name may hold.
const NESTED: usize = 6;
/// Numbers above this are years and the like.
const HIGHEST_NUMBER: usize = 999;
/// A range of numbers is not longer than this.
const LONGEST_RANGE: usize = 50;

/// What a citation names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A source by its number, from 1.
    Number(usize),
    /// Lines of a source by its name.
    Lines {
        /// The name.
        reference: String,
        /// The first line.
        from: usize,
        /// The last line.
        to: usize,
    },
    /// A source by its name alone.
    Whole(String),
}

/// A citation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Citation {
    /// Where it stands, brackets included.
    pub bytes: Range<usize>,
    /// What it names.
    pub places: Vec<Place>,
    /// Whether it could be something else (`word[1]`, a link): it counts only if what it names is there.
    pub doubtful: bool,
}

/// What brackets in a text are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brackets {
    /// The citations, in order.
    pub citations: Vec<Citation>,
    /// Links written `[text](address)`: where the text stands, brackets included.
    pub links: Vec<Range<usize>>,
}

/// Finds the citations of `text`; `knows` tells whether a name is that of a source.
pub fn citations(text: &str, knows: impl Fn(&str) -> bool) -> Brackets {
    let code = code(text);
    let mut code = code.iter().peekable();
    let bytes = text.as_bytes();
    let mut found = Brackets::default();
    let mut open = None;
    // Where the last pair of brackets ended that is an index: `a[0][1]` are two.
    let mut index_end = usize::MAX;
    // Names that hold brackets themselves are read as a whole.
    let mut named_end = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if at < named_end {
            continue;
        }
        while code.next_if(|range| range.end <= at).is_some() {}
        if code.peek().is_some_and(|range| range.start <= at) {
            open = None;
            continue;
        }
        match byte {
            // The brackets of Chinese and Japanese.
            0xE3 if text.get(at..).is_some_and(|rest| rest.starts_with(WIDE.0)) => {
                let inside = head(text.get(at + WIDE.0.len_utf8()..).unwrap_or_default(), LONGEST);
                let Some((inside, _)) = inside.split_once(WIDE.1).filter(|(inside, _)| !inside.contains('\n')) else {
                    continue;
                };
                if let Some(places) = places(inside, &knows) {
                    let end = at + WIDE.0.len_utf8() + inside.len() + WIDE.1.len_utf8();
                    found.citations.push(Citation { bytes: at..end, places, doubtful: false });
                    (open, named_end) = (None, end);
                }
            }
            b'[' => {
                open = Some(at);
                if let Some((end, place)) = with_brackets(text, at, &knows) {
                    found.citations.push(Citation { bytes: at..end, places: vec![place], doubtful: false });
                    (open, named_end) = (None, end);
                }
            }
            b'\n' => open = None,
            b']' => {
                let Some(start) = open.take() else { continue };
                let Some(inside) = text.get(start + 1..at) else { continue };
                let is_link = bytes.get(at + 1) == Some(&b'(');
                if is_link {
                    found.links.push(start..at + 1);
                }
                let attached = attached(text, start);
                if attached == Attached::Index || index_end == start {
                    index_end = at + 1;
                    continue;
                }
                if is_definition(bytes, start, at) {
                    continue;
                }
                if let Some(places) = places(inside, &knows) {
                    if is_link && places.iter().any(|place| matches!(place, Place::Number(_))) {
                        continue;
                    }
                    let doubtful = is_link || attached == Attached::Word;
                    found.citations.push(Citation { bytes: start..at + 1, places, doubtful });
                }
            }
            _ => {}
        }
    }
    found
}

/// A citation that opens at `start` and names a source whose own name holds brackets, and where it ends.
fn with_brackets(text: &str, start: usize, knows: &impl Fn(&str) -> bool) -> Option<(usize, Place)> {
    let near = head(text.get(start + 1..)?, LONGEST).split('\n').next()?;
    let mut ends = near.match_indices(']').map(|(end, _)| end);
    let first = ends.next()?;
    let nested = near.get(..first)?.contains('[');
    let ends = std::iter::once(first).filter(|_| nested).chain(ends).take(NESTED);
    for end in ends {
        let inside = near.get(..end)?.trim();
        let after = start + 1 + end + 1;
        if knows(inside) {
            return Some((after, Place::Whole(inside.to_owned())));
        }
        if let Some((reference, lines)) = inside.rsplit_once(':')
            && reference.contains(['[', ']'])
            && knows(reference)
            && let Some((from, to)) = lines_of(lines)
        {
            return Some((after, Place::Lines { reference: reference.to_owned(), from, to }));
        }
    }
    None
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attached {
    No,
    Word,
    Index,
}

/// Whether brackets that open at `start` touch a word, and whether that word looks like the name of an array.
fn attached(text: &str, start: usize) -> Attached {
    let before = text.get(..start).unwrap_or_default();
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | ')' | '$' | '@');
    match before.chars().next_back() {
        Some(c) if word(c) => {}
        _ => return Attached::No,
    }
    let length = before.chars().rev().take(LONGEST).take_while(|c| word(*c) || matches!(c, '.' | ':')).count();
    let name: String = before.chars().rev().take(length).collect();
    // A year is the name of no array, and scripts without blanks have no words of their own.
    let counts = name.chars().all(|c| c.is_ascii_digit());
    let unspaced = name.starts_with(|c: char| matches!(c as u32, 0x3040..=0x30FF | 0x3400..=0x9FFF | 0xAC00..=0xD7AF));
    let natural = counts
        || unspaced
        || length >= 3 && name.chars().all(char::is_alphabetic) && !name.chars().rev().skip(1).any(char::is_uppercase);
    if natural { Attached::Word } else { Attached::Index }
}

/// `[1]: address` at the start of a line.
fn is_definition(bytes: &[u8], start: usize, end: usize) -> bool {
    bytes.get(end + 1) == Some(&b':')
        && (start == 0 || bytes.get(start - 1) == Some(&b'\n'))
        && bytes.get(start + 1..end).is_some_and(|inside| inside.iter().all(|b| b.is_ascii_digit() || *b == b'^'))
}

fn places(inside: &str, knows: &impl Fn(&str) -> bool) -> Option<Vec<Place>> {
    if inside.len() > LONGEST {
        return None;
    }
    // A footnote names a source by its number.
    let mut inside = inside.trim();
    inside = inside.strip_prefix('^').filter(|rest| rest.bytes().all(|b| b.is_ascii_digit())).unwrap_or(inside);
    for word in ["sources ", "source ", "Sources ", "Source "] {
        inside = inside.strip_prefix(word).unwrap_or(inside);
    }
    // A path may hold a comma: the whole first.
    if knows(inside) {
        return Some(vec![Place::Whole(inside.to_owned())]);
    }
    if let Some((reference, lines)) = inside.rsplit_once(':')
        && knows(reference)
        && let Some((from, to)) = lines_of(lines)
    {
        return Some(vec![Place::Lines { reference: reference.to_owned(), from, to }]);
    }
    let mut all = Vec::new();
    for part in inside.split([',', ';']) {
        part_places(part.trim(), knows, &mut all)?;
    }
    Some(all)
}

fn part_places(part: &str, knows: &impl Fn(&str) -> bool, all: &mut Vec<Place>) -> Option<()> {
    if let Some((from, to)) = lines_of(part) {
        if let Some(Place::Lines { reference, .. }) = all.last() {
            // `[a.md:3, 5]`: another line of the same file.
            let reference = reference.clone();
            all.push(Place::Lines { reference, from, to });
        } else if to <= HIGHEST_NUMBER && to - from < LONGEST_RANGE && !part.starts_with('L') {
            all.extend((from..=to).map(Place::Number));
        } else {
            return None;
        }
        return Some(());
    }
    if knows(part) {
        all.push(Place::Whole(part.to_owned()));
        return Some(());
    }
    if let Some((reference, lines)) = part.rsplit_once(':').or_else(|| part.rsplit_once('#'))
        && (knows(reference) || could_be_name(reference))
        && let Some((from, to)) = lines_of(lines)
    {
        all.push(Place::Lines { reference: reference.to_owned(), from, to });
        return Some(());
    }
    let extension = part.rsplit_once('.').map_or("", |(_, extension)| extension);
    if could_be_name(part)
        && (2..=5).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_lowercase())
    {
        all.push(Place::Whole(part.to_owned()));
        return Some(());
    }
    None
}

/// `12`, `12-14`, `L12`, `L12-L14`; never zero, never backwards.
fn lines_of(text: &str) -> Option<(usize, usize)> {
    let number = |text: &str| {
        let digits = text.strip_prefix('L').unwrap_or(text);
        let legal = (1..=9).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|number| legal && *number > 0)
    };
    match text.split_once(['-', '–']) {
        Some((from, to)) => {
            let (from, to) = (number(from.trim())?, number(to.trim())?);
            (from <= to).then_some((from, to))
        }
        None => number(text).map(|line| (line, line)),
    }
}

fn could_be_name(text: &str) -> bool {
    let first = |c: char| c.is_alphanumeric() || matches!(c, '.' | '/' | '_' | '~');
    text.starts_with(first)
        && text.chars().any(char::is_alphabetic)
        && !text.chars().any(|c| c.is_whitespace() || matches!(c, '=' | '(' | ')' | '{' | '}' | '"' | '\''))
}

/// Where code stands in Markdown: fenced blocks, and what stands between equal runs of backticks on a line.
pub fn code(text: &str) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    each_line(text, |line, start, fenced| {
        if fenced {
            all.push(start..start + line.len());
        } else {
            inline_code(line, start, &mut all);
        }
    });
    all
}

/// Where fenced blocks stand, line by line.
pub fn fenced(text: &str) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    each_line(text, |line, start, fenced| all.extend(fenced.then(|| start..start + line.len())));
    all
}

/// Whether one of the `ranges`, which are in order, holds `at`.
pub fn holds(ranges: &[Range<usize>], at: usize) -> bool {
    let behind = ranges.partition_point(|range| range.start <= at);
    behind.checked_sub(1).and_then(|last| ranges.get(last)).is_some_and(|range| range.contains(&at))
}

/// Calls `take` with each line, its place, and whether it belongs to a fenced block.
fn each_line<'a>(text: &'a str, mut take: impl FnMut(&'a str, usize, bool)) {
    let mut fence: Option<(u8, usize)> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_start();
        let mark = content.bytes().next().filter(|byte| matches!(byte, b'`' | b'~'));
        let marks = content.bytes().take_while(|byte| Some(*byte) == mark).count();
        let is_mark = marks >= 3 && (mark == Some(b'~') || !content.get(marks..).unwrap_or_default().contains('`'));
        match (fence, mark) {
            (Some((open, least)), Some(mark)) if is_mark && open == mark && marks >= least => fence = None,
            (Some(_), _) => {}
            (None, Some(mark)) if is_mark => fence = Some((mark, marks)),
            (None, _) => {
                take(line, start, false);
                start += line.len();
                continue;
            }
        }
        take(line, start, true);
        start += line.len();
    }
}

fn inline_code(line: &str, offset: usize, all: &mut Vec<Range<usize>>) {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in line.match_indices('`') {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    let mut at = 0;
    while let Some(open) = runs.get(at) {
        // A run that finds no equal has none behind it either, so few searches go to the end of the line.
        let close = runs.iter().skip(at + 1).position(|run| run.len() == open.len());
        match close.and_then(|close| runs.get(at + 1 + close).map(|run| (close, run.end))) {
            Some((close, end)) => {
                all.push(offset + open.start..offset + end);
                at += close + 2;
            }
            None => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_testing::growth::grows_in_line;

    fn read(text: &str) -> Vec<Vec<Place>> {
        let knows = |name: &str| matches!(name, "a.md" | "docs/b c, d.md" | "look_up" | "thread#2");
        citations(text, knows).citations.into_iter().map(|citation| citation.places).collect()
    }
    fn lines(reference: &str, from: usize, to: usize) -> Place {
        Place::Lines { reference: reference.into(), from, to }
    }
    use Place::{Number, Whole};

    #[test]
    fn x16_names_may_hold_brackets() {
        let knows = |name: &str| matches!(name, "a]b.md" | "[draft] x.md" | "x[1].md" | "a]b].md" | "a.md");
        let read = |text: &str| -> Vec<(String, Vec<Place>)> {
            let found = citations(text, knows).citations;
            found.into_iter().map(|one| (text[one.bytes].to_owned(), one.places)).collect()
        };
        let lines = |reference: &str, from, to| vec![Place::Lines { reference: reference.into(), from, to }];
        for (text, mark, places) in [
            ("It holds [a]b.md:3].", "[a]b.md:3]", lines("a]b.md", 3, 3)),
            ("It holds [a]b].md:3-4].", "[a]b].md:3-4]", lines("a]b].md", 3, 4)),
            ("It holds [[draft] x.md:7].", "[[draft] x.md:7]", lines("[draft] x.md", 7, 7)),
            ("It holds [x[1].md:2].", "[x[1].md:2]", lines("x[1].md", 2, 2)),
            ("It holds [x[1].md].", "[x[1].md]", vec![Place::Whole("x[1].md".into())]),
        ] {
            assert_eq!(read(text), [(mark.to_owned(), places)], "{text}");
        }
        // Other brackets behind one are none of its business.
        assert_eq!(read("It holds [1] and [2]."), read("It holds [1] and [2]."));
        assert_eq!(read("It holds [a.md:1] and [a]b.md:3]. So [1].").len(), 3);
        let hostile = format!("{}{}", "[".repeat(300_000), "[]]]]]]]".repeat(100_000));
        assert!(read(&hostile).is_empty());
    }

    #[test]
    fn x16_forms_of_citations() {
        assert_eq!(read("It is so [1]."), [[Number(1)]]);
        assert_eq!(read("It is so.[1][2]"), [[Number(1)], [Number(2)]]);
        assert_eq!(read("It is so [1, 2] [3-5]"), [vec![Number(1), Number(2)], vec![Number(3), Number(4), Number(5)]]);
        assert_eq!(
            read("[a.md:3] [a.md:3-5] [a.md#L7]"),
            [[lines("a.md", 3, 3)], [lines("a.md", 3, 5)], [lines("a.md", 7, 7)]]
        );
        assert_eq!(read("[a.md:3, 9; 2]"), [[lines("a.md", 3, 3), lines("a.md", 9, 9), lines("a.md", 2, 2)]]);
        assert_eq!(read("[docs/b c, d.md:4]"), [[lines("docs/b c, d.md", 4, 4)]]);
        assert_eq!(
            read("[look_up] [look_up:2] [thread#2:1]"),
            [[Whole("look_up".into())], [lines("look_up", 2, 2)], [lines("thread#2", 1, 1)]]
        );
        assert_eq!(read("[Source 2] [source 1; a.md:1]"), [vec![Number(2)], vec![Number(1), lines("a.md", 1, 1)]]);
        assert_eq!(read("[[1]] and [see [2]]"), [[Number(1)], [Number(2)]]);
        assert_eq!(read("[made/up.md:12] [made_up.md]"), [[lines("made/up.md", 12, 12)], [Whole("made_up.md".into())]]);
        assert_eq!(read("[https://example.com/x:12]"), [[lines("https://example.com/x", 12, 12)]]);
    }

    #[test]
    fn a2_citations_as_people_and_models_write_them() {
        for text in ["It opened in 2023[1].", "于2023年发布[1]。", "発表した【1】。", "It is so.[^1]", "It is so [^1]"]
        {
            assert_eq!(read(text), [[Number(1)]], "{text}");
        }
        assert_eq!(read("所以【a.md:3】"), [[lines("a.md", 3, 3)]]);
        assert!(read("【注意】 `argv[0]` is the program, argv[0] too").is_empty());
    }

    #[test]
    fn x16_what_is_no_citation() {
        for text in [
            "a[0] a[1] x[i] f(x)[2] m[1][2] argv2[1] self.items[1]",
            "`list[1]` and ``x ` [1]``",
            "```\n[1]\n```",
            "~~~py\na [1]\n~~~",
            "[text](https://x.org) [1](https://x.org)",
            "[ ] [x] [0] [2024] [1.5] [note] [e.g.] [sic] [] [-1] [3-1] [Note: 3] [12:30] [^note]",
            "[^1]: The source.",
            "[1]: https://x.org",
            "[1\n]",
            "[1",
            "1]",
        ] {
            assert_eq!(read(text), Vec::<Vec<Place>>::new(), "{text}");
        }
        assert_eq!(citations("[t](u)", |_| false).links.first(), Some(&(0..3)));
        assert!(citations("the word[1] is", |_| false).citations[0].doubtful);
    }

    #[test]
    fn x16_places_in_the_text_are_exact() {
        let text = "Ä [1] `[2] c [3]` [4] ` [5]";
        let found: Vec<&str> =
            citations(text, |_| false).citations.iter().map(|one| &text[one.bytes.clone()]).collect();
        assert_eq!(found, ["[1]", "[4]", "[5]"]);
    }

    #[test]
    fn hostile_brackets_take_linear_time() {
        for piece in
            ["[", "]", "[]", "[1", "[1]", "[[1]]", "`", "` [1", "``` ", "```\n", "a[", "a.a[1]", "[a,", "[a:1]", "é["]
        {
            grows_in_line(piece, 30_000, |size| drop(citations(&piece.repeat(size / piece.len()), |_| false)));
        }
        // Half the square of the longest, so that twice as long is four times as much.
        let fences = |bytes: usize| (1..(2 * bytes).isqrt()).map(|n| "`".repeat(n) + " ").collect::<String>();
        grows_in_line("fences", 60_000, |size| drop(citations(&fences(size), |_| false)));
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_read(text in "([\\[\\]`(),;:0-9a#.é~ -]|a\\.md|\n|```){0,60}") {
            for citation in citations(&text, |name| name == "a.md").citations {
                proptest::prop_assert!(text.get(citation.bytes).is_some_and(|cited| cited.starts_with('[') && cited.ends_with(']')));
                proptest::prop_assert!(!citation.places.is_empty());
            }
        }
    }
}
