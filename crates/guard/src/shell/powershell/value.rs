//! Values of PowerShell where a shell would look for a program: told by the variables in them.

use super::super::Word;
use crate::names;

/// Whether what stands where a shell expects a program can only be a value of PowerShell: all its variables are those
/// of PowerShell, or are given their value there. Any other may hold the name of a program, and a shell would run it.
pub(in crate::shell) fn is_value(text: &str, word: &Word, known_to_the_shell: impl Fn(&str) -> bool) -> bool {
    let mut parts = word.text.split('$');
    let plain = parts.next().is_some_and(|start| !start.contains('`'));
    plain
        && parts.all(|part| {
            let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(part.len());
            let (name, behind) = part.split_at(end);
            let own = name == "_"
                || behind.starts_with(':')
                || names::has("powershell.automatic", &format!("${name}").to_lowercase());
            !name.is_empty() && !behind.contains('`') && (own || !known_to_the_shell(name) && is_given(text, name))
        })
}

/// `$name = …`, `foreach ($name in …)`, `param($name)`: no other shell gives a variable its value so.
fn is_given(text: &str, name: &str) -> bool {
    let (text, name) = (text.to_ascii_lowercase(), format!("${}", name.to_ascii_lowercase()));
    text.match_indices(&name).any(|(at, _)| {
        let behind = &text[at + name.len()..];
        let next = behind.trim_start_matches([' ', '\t']);
        let before = text[..at].trim_end_matches([' ', '\t', '\r', '\n']);
        next.starts_with('=') && !behind.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            || before.ends_with('(') && behind.starts_with(char::is_whitespace) && next.starts_with("in ")
            || text[..at].contains("param") && before.ends_with(['(', ',', ']']) && next.starts_with([')', ','])
    })
}
