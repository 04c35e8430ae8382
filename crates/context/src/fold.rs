//! Noise folded away: colours, progress bars, lines that repeat.
//!
//! What a terminal would show stays; what it would have overwritten goes. Runs of equal lines, and of lines that differ
//! in their numbers alone, become the first, a count, and the last; rows of a table are no such lines.

use std::{borrow::Cow, cell::LazyCell, fmt::Write as _};

use super::table::tables;

/// So many lines alike are worth a fold.
const RUN: usize = 4;

/// The lines of a text, each with its line break.
pub(super) fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n')
}

/// The text without escape sequences, with overwritten lines gone and repeated ones counted.
pub(super) fn fold(text: &str) -> Cow<'_, str> {
    let plain = plain(text);
    match repeated(&plain) {
        Some(folded) => Cow::Owned(folded),
        None => plain,
    }
}

/// What a terminal would show of `text`.
fn plain(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let overwrites =
        memchr::memchr_iter(b'\r', bytes).any(|at| !matches!(bytes.get(at + 1), Some(b'\n' | b'\r') | None));
    if memchr::memchr(0x1b, bytes).is_none() && !overwrites {
        return Cow::Borrowed(text);
    }
    let bare = without_escapes(text);
    if !overwrites {
        return bare;
    }
    let mut out = String::with_capacity(bare.len());
    for line in lines_of(&bare) {
        let body = line.trim_end_matches(['\r', '\n']);
        let end = line.get(body.len()..).unwrap_or_default();
        out.push_str(body.rsplit('\r').find(|shown| !shown.trim().is_empty()).unwrap_or_default());
        out.push_str(end);
    }
    Cow::Owned(out)
}

fn without_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(rest.get(..at).unwrap_or_default());
        rest = rest.get(at + 1..).unwrap_or_default();
        rest = rest.get(escape_length(rest)..).unwrap_or_default();
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// How many bytes after ESC belong to the sequence.
fn escape_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    match bytes.first() {
        // Control sequences end with a letter or the like.
        Some(b'[') => {
            let end = bytes.iter().skip(1).take(64).position(|byte| (0x40..0x7f).contains(byte));
            end.map_or(1, |end| end + 2)
        }
        // Titles and links end with BEL or ESC \.
        Some(b']') => match bytes.iter().take(4_096).position(|byte| matches!(byte, 0x07 | 0x1b)) {
            Some(end) if bytes.get(end) == Some(&0x07) => end + 1,
            Some(end) => end,
            None => 1,
        },
        Some(b'(' | b')') if bytes.get(1).is_some_and(u8::is_ascii) => 2,
        Some(byte) if byte.is_ascii() && !byte.is_ascii_whitespace() => 1,
        _ => 0,
    }
}

/// Whether two lines are the same but for their numbers and, where both tell how far something is, for their bars.
fn alike(a: &str, b: &str) -> bool {
    differ_in_numbers(a, b) || (tells_how_far(a) && tells_how_far(b) && without_bars(a) == without_bars(b))
}

/// Whether a line has a share such as `12%` or `3/40`.
pub(super) fn tells_how_far(line: &str) -> bool {
    let bytes = line.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    memchr::memchr2_iter(b'%', b'/', bytes)
        .any(|at| digit(at.checked_sub(1)) && (bytes.get(at) == Some(&b'%') || digit(Some(at + 1))))
}

/// A line with one mark for each run of what bars and the space around them are drawn with, and one for each number.
fn without_bars(line: &str) -> String {
    let kind = |letter: char| match letter {
        '0'..='9' => '0',
        ' ' | '\t' | '#' | '=' | '-' | '>' | '.' | '*' | '_' | '\u{2500}'..='\u{25ff}' => ' ',
        '\u{2800}'..='\u{28ff}' => '\u{2800}',
        other => other,
    };
    let mut last = None;
    let marks = line.trim_end().chars().map(kind).filter(move |kind| {
        let before = last.replace(*kind);
        !matches!(kind, '0' | ' ' | '\u{2800}') || before != Some(*kind)
    });
    marks.collect::<String>().trim().to_owned()
}

fn differ_in_numbers(a: &str, b: &str) -> bool {
    let (mut a, mut b) = (a.bytes().peekable(), b.bytes().peekable());
    loop {
        match (a.peek().copied(), b.peek().copied()) {
            (None, None) => return true,
            (Some(x), Some(y)) if x.is_ascii_digit() && y.is_ascii_digit() => {
                while a.next_if(u8::is_ascii_digit).is_some() {}
                while b.next_if(u8::is_ascii_digit).is_some() {}
            }
            (Some(x), Some(y)) if x == y => {
                a.next();
                b.next();
            }
            _ => return false,
        }
    }
}

/// The text with its runs folded; `None` if it has none.
fn repeated(text: &str) -> Option<String> {
    let lines: Vec<&str> = lines_of(text).collect();
    let mut out = String::new();
    let (mut start, mut copied) = (0, 0);
    let tables = LazyCell::new(|| tables(&lines));
    let in_table = |at: usize| {
        let next = tables.partition_point(|table| table.rows.end <= at);
        tables.get(next).is_some_and(|table| table.rows.contains(&at))
    };
    while let Some(first) = lines.get(start) {
        let mut same = lines.iter().skip(start + 1).take_while(|line| alike(first, line)).count();
        if same + 1 >= RUN && in_table(start) {
            same = lines.iter().skip(start + 1).take_while(|line| first == *line).count();
        }
        let bytes: usize = lines.iter().skip(start + 1).take(same).map(|line| line.len()).sum();
        if same + 1 >= RUN && bytes > 60 && first.trim().len() > 1 {
            lines.iter().take(start + 1).skip(copied).for_each(|line| out.push_str(line));
            let exact = lines.get(start + same) == Some(first);
            let kind = if exact { "the same" } else { "alike" };
            let _ = writeln!(out, "[…{} lines {kind}]", if exact { same } else { same - 1 });
            if !exact {
                out.push_str(lines.get(start + same).copied().unwrap_or_default());
            }
            copied = start + same + 1;
        }
        start += same + 1;
    }
    if copied == 0 {
        return None;
    }
    lines.iter().skip(copied).for_each(|line| out.push_str(line));
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn terminals_show_the_end() {
        assert_eq!(fold("\u{1b}[1;31mred\u{1b}[0m \u{1b}]0;title\u{7}x"), "red x");
        assert_eq!(fold("10%\r50%\r100%\ndone\r\n"), "100%\ndone\r\n");
        assert_eq!(fold("a\u{1b}"), "a");
    }

    #[test]
    fn runs_are_counted() {
        let text = (0..100).fold(String::new(), |text, n| format!("{text}Downloading part {n} of 100\n"));
        assert_eq!(fold(&text), "Downloading part 0 of 100\n[…98 lines alike]\nDownloading part 99 of 100\n");
        let text = "retrying the connection\n".repeat(50) + "done\n";
        assert_eq!(fold(&text), "retrying the connection\n[…49 lines the same]\ndone\n");
    }

    #[test]
    fn c26_rows_of_tables_are_no_lines_alike() {
        let rows = |row: fn(usize) -> String| (1..40).map(row).collect::<String>();
        for text in [
            format!("| no | volts |\n|----|-------|\n{}", rows(|n| format!("| {n} | {} |\n", n * 37))),
            format!("no,volts,amps\n{}", rows(|n| format!("{n},{},{}\n", n * 37, n * 3))),
            rows(|n| format!("{{\"no\": {n}, \"volts\": {}}}\n", n * 37)),
            rows(|n| format!("{n}\t{}\t{}\n", n * 37, n * 3)),
        ] {
            assert_eq!(fold(&text), text);
        }
        // What is the same in every row is counted.
        let text = format!("no,volts,amps\n{}", "1,2,3 and so on, row by row\n".repeat(20));
        assert!(fold(&text).contains("[…19 lines the same]"));
    }

    #[test]
    fn c26_bars_that_grow_line_by_line_are_counted() {
        let bar = |n: usize| format!("Fetching {n}% {}\n", "#".repeat(n / 2));
        let text: String = (0..=100).map(bar).collect();
        assert_eq!(fold(&text), format!("{}[…99 lines alike]\n{}", bar(0), bar(100)));
        let bar = |n: usize| format!("step {n}/40 [{}>{}]\n", "=".repeat(n), " ".repeat(40 - n));
        let text: String = (1..=40).map(bar).collect();
        assert_eq!(fold(&text), format!("{}[…38 lines alike]\n{}", bar(1), bar(40)));
        let bar = |n: usize| format!("{:3}%|{}{}| {n}/20 [00:{n:02}]\n", n * 5, "█".repeat(n), " ".repeat(20 - n));
        let text: String = (0..=20).map(bar).collect();
        assert_eq!(fold(&text), format!("{}[…19 lines alike]\n{}", bar(0), bar(20)));
        // What is no bar stays, however much alike it looks.
        for text in ["a -- b\n", "a -- b -- c\n", "    }\n", "  }\n}\n", "| x | - |\n"].map(|line| line.repeat(3)) {
            assert_eq!(fold(&text), text);
        }
        let listed = "  - one of these, which is long enough\n- one of these, which is long enough\n".repeat(4);
        assert_eq!(fold(&listed), listed);
    }

    proptest! {
        #[test]
        fn folding_never_fails(text in "(\\PC|\n|\r|\u{1b}\\[|\u{1b}\\]|[0-9]){0,200}") {
            let folded = fold(&text).into_owned();
            let escapes = |text: &str| text.matches('\u{1b}').count();
            prop_assert!(escapes(&folded) <= escapes(&text));
            prop_assert!(folded.len() <= text.len() + 32);
        }
    }
}
