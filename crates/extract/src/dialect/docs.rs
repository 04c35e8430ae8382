//! The table as people read it, in Markdown.

use std::fmt::Write as _;

use super::{dialects, frames, inert_regions, reasoning_markups, turn_ends};

/// The dialects with an example each, the reasoning markups, the inert regions and the frames, as Markdown tables.
pub fn dialect_table() -> String {
    let mut text = String::from("| dialect | written by | a call | read |\n| --- | --- | --- | --- |\n");
    for dialect in dialects() {
        let read = if dialect.bare { "where asked" } else { "always" };
        // Writing to a string can't fail.
        let _ = writeln!(text, "| `{}` | {} | {} | {read} |", dialect.name, dialect.models, code(&dialect.example()));
    }
    let mut regions = |title: &str, rows: Vec<(&str, &[&str], &[&str])>| {
        let _ = writeln!(text, "\n| {title} | begins | ends |\n| --- | --- | --- |");
        for (models, open, close) in rows {
            let list = |markers: &[&str]| markers.iter().map(|marker| code(marker)).collect::<Vec<_>>().join(", ");
            let _ = writeln!(text, "| {models} | {} | {} |", list(open), list(close));
        }
    };
    regions("reasoning", reasoning_markups().iter().map(|row| (row.models, row.open, row.close)).collect());
    regions("tool results", inert_regions().iter().map(|row| (row.models, row.open, row.close)).collect());
    regions("frames of visible text", frames().iter().map(|row| (row.models, row.open, row.close)).collect());
    let ends: Vec<String> = turn_ends().iter().map(|end| code(end)).collect();
    let _ = writeln!(text, "\nMarkup at a reply's end, where it ends a turn: {}.", ends.join(", "));
    text
}

/// Text as code in a table's cell: HTML, since a cell holds no line end and Markdown's code no bar.
fn code(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('|', "&#124;");
    let text = text.replace('`', "&#96;").replace('*', "&#42;").replace('_', "&#95;").replace('[', "&#91;");
    format!("<code>{}</code>", text.replace('\n', "<br>"))
}
