//! Long text made short by its structure: the lines that matter stay, the rest is counted.
//!
//! Lines are chosen in one fixed order (head, tail, errors, lines with names in use, definitions), so that a larger
//! limit keeps all that a smaller one does. Of a table its head stays and its rows are whole. JSON stays valid JSON. No
//! character is ever cut in two.

use std::fmt::Write as _;

use loopwright_base::text::{head, tail};

use super::{fold::lines_of, prune::shorten_json, table::tables, terms, weigh::Weights};

/// The longest piece of a line that is kept of a longer one.
const LINE: usize = 240;

/// A text, or the beginning and the end of a long one: at most `bytes` of each.
pub(super) fn ends(text: &str, bytes: usize) -> (&str, &str) {
    if text.len() <= 2 * bytes { (text, "") } else { (head(text, bytes), tail(text, bytes)) }
}

/// Beginning and end of a long line.
fn middle_out(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let head = head(text, bytes * 2 / 3);
    let tail = tail(text, bytes / 3);
    format!("{head} […{} bytes…] {tail}", text.len() - head.len() - tail.len())
}

/// `text` in about `limit` bytes. `weights` says how much names are in use.
pub(super) fn shorten(text: &str, limit: usize, weights: &impl Weights) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    if let Some(json) = shorten_json(text, limit) {
        return json;
    }
    let lines: Vec<&str> = lines_of(text).collect();
    if lines.len() < 3 {
        return middle_out(text, limit);
    }
    match chosen(&lines, 0, limit, weights) {
        Some(short) if short.len() < text.len() => short,
        Some(_) => text.to_owned(),
        None => middle_out(text, limit),
    }
}

/// What matters of the lines of `text` behind its first `from`, in about `limit` bytes.
pub(super) fn shorten_behind(text: &str, from: usize, limit: usize, weights: &impl Weights) -> Option<String> {
    chosen(&lines_of(text).collect::<Vec<_>>(), from, limit, weights)
}

fn chosen(lines: &[&str], from: usize, limit: usize, weights: &impl Weights) -> Option<String> {
    let cells = cells(lines);
    let chosen = choose(lines, &cells, from, limit, weights);
    if chosen.iter().all(|kept| !kept) {
        return None;
    }
    let mut out = String::with_capacity(limit + limit / 4);
    let mut gone = 0;
    for ((line, kept), cells) in lines.iter().zip(chosen).zip(cells).skip(from) {
        if kept {
            gap(&mut out, gone);
            gone = 0;
            if line.len() > LINE && cells == Cells::None {
                out.push_str(&middle_out(line.trim_end(), LINE));
                out.push('\n');
            } else {
                out.push_str(line);
            }
        } else {
            gone += 1;
        }
    }
    gap(&mut out, gone);
    Some(out)
}

fn gap(out: &mut String, lines: usize) {
    if lines > 0 {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        let _ = writeln!(out, "[…{lines}]");
    }
}

/// What a line is to a table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cells {
    None,
    Head,
    Row,
}

fn cells(lines: &[&str]) -> Vec<Cells> {
    let mut cells = vec![Cells::None; lines.len()];
    for table in tables(lines) {
        for (range, kind) in [(table.head, Cells::Head), (table.rows, Cells::Row)] {
            cells.get_mut(range).into_iter().flatten().for_each(|cell| *cell = kind);
        }
    }
    cells
}

/// Which lines stay.
fn choose(lines: &[&str], cells: &[Cells], from: usize, limit: usize, weights: &impl Weights) -> Vec<bool> {
    let mut ranked: Vec<(f32, usize)> = Vec::with_capacity(lines.len());
    let last = lines.len() - 1;
    let mut seen = terms::Set::default();
    for (at, (line, cells)) in lines.iter().zip(cells).enumerate() {
        let body = head(line.trim(), 2 * LINE);
        if at < from {
            terms::names(body, |name| {
                seen.insert(terms::key(name));
            });
            continue;
        }
        // The number of an empty line says nothing.
        if body.len() < 3 || body.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let mut score = 0.0_f32;
        terms::names(body, |name| {
            let key = terms::key(name);
            // A name counts once: the second line that holds it says less.
            let fresh = if seen.insert(key) { 1.0 } else { 0.15 };
            score += fresh * weights.weight(key).unwrap_or(0.08).min(3.0);
        });
        if terms::tells_of_error(body) {
            score += 1.5;
        }
        if is_definition(body) {
            score += 0.6;
        }
        if at == 0 || at == last {
            score += 1.0;
        } else if at < 3 || at + 3 > last {
            score += 0.4;
        }
        let cost = body.len().min(LINE) + 10;
        ranked.push((if *cells == Cells::Head { f32::MAX } else { score / cost as f32 }, at));
    }
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut chosen = vec![false; lines.len()];
    let mut used = 0;
    for (_, at) in ranked {
        let most = if cells.get(at) == Some(&Cells::None) { LINE } else { usize::MAX };
        let length = lines.get(at).map_or(0, |line| line.len().min(most) + 8);
        if used + length > limit {
            break;
        }
        used += length;
        if let Some(slot) = chosen.get_mut(at) {
            *slot = true;
        }
    }
    chosen
}

fn is_definition(line: &str) -> bool {
    const STARTS: [&str; 16] = [
        "def ",
        "class ",
        "fn ",
        "pub ",
        "impl ",
        "struct ",
        "enum ",
        "trait ",
        "function ",
        "export ",
        "interface ",
        "type ",
        "const ",
        "async def ",
        "func ",
        "@@ ",
    ];
    // Line numbers as `cat -n` writes them do not count.
    let line = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == '\t' || c == ' ' || c == ':' || c == '|');
    STARTS.iter().any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::terms::Map;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn errors_and_ends_stay() {
        let mut text = String::from("$ cargo test\n");
        for n in 0..400 {
            let _ = writeln!(text, "test case number {n} ok");
        }
        text.push_str("error[E0308]: mismatched types\n");
        for _ in 0..400 {
            text.push_str("some more noise here\n");
        }
        text.push_str("exit code 101\n");
        let short = shorten(&text, 400, &Map::<f32>::default());
        assert!(short.len() < 500, "{}", short.len());
        for kept in ["$ cargo test", "error[E0308]", "exit code 101"] {
            assert!(short.contains(kept), "{short}");
        }
    }

    #[test]
    fn json_stays_json() {
        let items: Vec<Value> = (0..500).map(|n| serde_json::json!({"id": n, "body": "x".repeat(200)})).collect();
        let text = Value::Array(items).to_string();
        let short = shorten(&text, 600, &Map::<f32>::default());
        assert!(short.len() <= 600, "{short}");
        assert!(serde_json::from_str::<Value>(&short).is_ok(), "{short}");
    }

    proptest! {
        #[test]
        fn never_longer_and_never_cuts_a_character(text in "(\\PC|\n|\r\n|\u{1b}){0,400}", limit in 0_usize..300) {
            let short = shorten(&text, limit, &Map::<f32>::default());
            prop_assert!(short.len() <= text.len() || short.len() <= limit + 64);
        }

        #[test]
        fn a_larger_limit_keeps_all_that_a_smaller_one_does(
            lines in prop::collection::vec("[a-z_./0-9 ]{0,60}", 3..60), small in 50_usize..400, more in 0_usize..400,
        ) {
            let text = lines.join("\n");
            let lines: Vec<&str> = lines_of(&text).collect();
            let cells = cells(&lines);
            let few = choose(&lines, &cells, 0, small, &Map::<f32>::default());
            let many = choose(&lines, &cells, 0, small + more, &Map::<f32>::default());
            prop_assert!(few.iter().zip(&many).all(|(few, many)| *many || !few));
        }
    }
}
