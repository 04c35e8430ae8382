//! Drawing a machine's table of transitions.

/// A table as a Mermaid state diagram: one arrow from state to state, with all events that take it.
pub(super) fn draw(table: &[(&str, &str, &str)]) -> String {
    let mut lines = vec!["stateDiagram-v2".to_owned(), "    [*] --> idle".to_owned()];
    let mut drawn: Vec<(&str, &str)> = Vec::new();
    for (from, _, to) in table {
        if drawn.contains(&(from, to)) {
            continue;
        }
        drawn.push((from, to));
        let mut events: Vec<&str> = Vec::new();
        events.extend(table.iter().filter(|line| line.0 == *from && line.2 == *to).map(|line| line.1));
        lines.push(format!("    {from} --> {to}: {}", events.join(", ")));
    }
    lines.push("    done --> [*]\n".to_owned());
    lines.join("\n")
}
