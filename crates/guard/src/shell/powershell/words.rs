//! Names of PowerShell: its keywords, the variables that it sets, operators, and which methods and commands only read.
use crate::names;

/// Whether a word behind a `-` stands between values.
pub(super) fn operator(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let bare = name.strip_prefix(['c', 'i']).unwrap_or(&name);
    names::has("powershell.operators", bare) || names::has("powershell.operators", name.as_str())
}

/// Whether a method, as it is called, only tells something.
pub(super) fn reads(method: &str) -> bool {
    #[rustfmt::skip] // words, not code
    const STARTS: &[&str] = &[
        "get", "to", "is", "contains", "startswith", "endswith", "split", "replace", "trim", "substring", "indexof",
        "lastindexof", "parse", "tryparse", "exists", "readall", "readline", "readtoend", "enumerate", "equals", "compare",
        "match", "pad", "floor", "round", "ceiling", "min", "max", "abs", "adddays", "addhours", "addminutes", "addmonths",
        "addyears", "addseconds", "format", "join", "where", "foreach", "sum", "count", "combine", "find",
    ];
    let method = method.to_ascii_lowercase();
    STARTS.iter().any(|start| method.starts_with(start))
}

/// `Get-ChildItem`: a verb and a noun, as the commands of PowerShell are written.
pub(in crate::shell) fn cmdlet(name: &str) -> bool {
    name.split_once('-').is_some_and(|(verb, noun)| {
        verb.len() > 1
            && verb.starts_with(|c: char| c.is_ascii_uppercase())
            && noun.starts_with(|c: char| c.is_ascii_uppercase())
            && (verb.to_owned() + noun).chars().all(|c| c.is_ascii_alphanumeric())
    })
}

/// Whether a command may be called by this name in a text that counts as understood: not one that starts others, or
/// that does what no rule of ours is about.
pub(super) fn tame(name: &str) -> bool {
    if name.eq_ignore_ascii_case("start-sleep") {
        return true;
    }
    let lower = name.to_ascii_lowercase();
    if matches!(lower.as_str(), "add-type" | "iex" | "icm" | "saps" | "start" | "powershell" | "pwsh" | "cmd") {
        return false;
    }
    match lower.split_once('-') {
        Some((verb, noun)) if !noun.is_empty() && verb.chars().all(|c| c.is_ascii_alphabetic()) => {
            names::has("powershell.tame", verb)
        }
        _ => true,
    }
}
