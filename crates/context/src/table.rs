//! Tables in text: lines of cells under the names of their columns.
//!
//! What a table is shows in its lines alone: a rule under (or around) the names, or the same number of cells line by
//! line. A record a line, as JSON, is a row that names its columns itself.

use std::ops::Range;

use super::fold::tells_how_far;

/// Fewer rows without a rule above them are no table.
const ROWS: usize = 3;

/// A table: its head (nothing where its columns have no names) and the rows under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) head: Range<usize>,
    pub(super) rows: Range<usize>,
}

/// The tables among these lines, in order.
pub(super) fn tables(lines: &[&str]) -> Vec<Table> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        match table_at(lines, at) {
            Some(table) => {
                at = table.rows.end;
                found.push(table);
            }
            None => at += 1,
        }
    }
    found
}

/// The head of the table that the line `at` is a row of.
pub(super) fn head_of(lines: &[&str], at: usize) -> Option<Range<usize>> {
    let table = tables(lines).into_iter().find(|table| table.rows.contains(&at))?;
    (!table.head.is_empty()).then_some(table.head)
}

fn table_at(lines: &[&str], at: usize) -> Option<Table> {
    let line = |at: usize| lines.get(at).copied().unwrap_or_default();
    let end = |from: usize, is_row: &dyn Fn(&str) -> bool| {
        from + lines.iter().skip(from).take_while(|line| is_row(line)).count()
    };
    let names = at + usize::from(is_rule(line(at)) && is_rule(line(at + 2)));
    let by = Cells::of(line(names));
    if is_rule(line(names + 1)) && !is_rule(line(names)) {
        let by = by?;
        let rows = names + 2..end(names + 2, &|line| by.count(line) > 0 || is_rule(line));
        return (!rows.is_empty()).then_some(Table { head: at..rows.start, rows });
    }
    if line(at).starts_with(['{', '[']) {
        let rows = at..end(at, &|line| line.starts_with(['{', '[']));
        return (rows.len() > ROWS).then_some(Table { head: at..at, rows });
    }
    let (by, first) = (by?, line(at));
    let titled = !first.bytes().any(|byte| byte.is_ascii_digit());
    // Rows of `a  b` begin with a cell for their own name at times.
    let more = usize::from(titled && by == Cells::Apart);
    let count = by.count(first);
    let rows = at + usize::from(titled)..end(at + 1, &|line| (count..=count + more).contains(&by.count(line)));
    let sure = titled || (count > 1 && by != Cells::Apart && !tells_how_far(first));
    (sure && rows.len() >= ROWS + usize::from(!titled)).then_some(Table { head: at..rows.start, rows })
}

/// What stands between cells.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cells {
    Mark(u8),
    /// Space, two or more.
    Apart,
}

impl Cells {
    /// What stands between those of a line, where it has any.
    fn of(line: &str) -> Option<Self> {
        let ways = [Self::Mark(b'|'), Self::Mark(b'\t'), Self::Mark(b';'), Self::Mark(b','), Self::Apart];
        ways.into_iter().find(|way| way.count(line) > 0)
    }

    /// How often it stands in a line.
    fn count(self, line: &str) -> usize {
        match self {
            Self::Mark(mark) => memchr::memchr_iter(mark, line.as_bytes()).count(),
            Self::Apart => line.trim().split("  ").filter(|cell| !cell.trim().is_empty()).count().saturating_sub(1),
        }
    }
}

/// Whether a line is drawn between rows.
fn is_rule(line: &str) -> bool {
    let drawn = |letter: char| matches!(letter, '-' | '=' | '\u{2500}' | '\u{2550}');
    let parts = |letter: char| drawn(letter) || letter.is_whitespace() || "+|:".contains(letter);
    line.chars().filter(|letter| drawn(*letter)).take(3).count() == 3 && line.chars().all(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(Range<usize>, Range<usize>)> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        tables(&lines).into_iter().map(|table| (table.head, table.rows)).collect()
    }

    #[test]
    fn c26_tables_are_known_by_their_lines() {
        for (text, expected) in [
            ("words\n| a | b |\n|---|:-:|\n| 1 | 2 |\n| 3 | 4 |\nend\n", Some((1..3, 3..5))),
            ("+---+---+\n| a | b |\n+===+===+\n| 1 | 2 |\n+---+---+\n", Some((0..3, 3..5))),
            (" id | name\n----+-----\n  1 | x\n  2 | y\n(2 rows)\n", Some((0..2, 2..4))),
            ("id,name,sum\n1,x,3.5\n2,y,4\n3,z,5\n", Some((0..1, 1..4))),
            ("id\tname\n1\tx\n2\ty\n3\tz\n", Some((0..1, 1..4))),
            (
                "NAME      READY   AGE\nweb-1     1/1     3d\nweb-2     0/1     4d\nweb-3     1/1     5d\n",
                Some((0..1, 1..4)),
            ),
            ("     price  count\n0  1.25      3\n1  2.25      4\n2  3.25      5\n", Some((0..1, 1..4))),
            ("1,2,3\n4,5,6\n7,8,9\n1,2,3\n", Some((0..0, 0..4))),
            ("{\"a\": 1}\n{\"a\": 2}\n{\"a\": 3}\n{\"a\": 4}\n", Some((0..0, 0..4))),
            ("Title\n-----\nwords, and more\n\n- a\n- b\n", None),
            ("step 1 of 3\nstep 2 of 3\nstep 3 of 3\nstep 3 of 3\n", None),
            ("  5%|#   | 1/20\n 10%|##  | 2/20\n 15%|### | 3/20\n 20%|####| 4/20\n", None),
        ] {
            let expected: Vec<_> = expected.into_iter().collect();
            assert_eq!(found(text), expected, "{text}");
        }
        let lines = ["id,name\n", "1,x\n", "2,y\n", "3,z\n"];
        assert_eq!(head_of(&lines, 2), Some(0..1));
        assert_eq!(head_of(&lines, 0), None);
    }
}
