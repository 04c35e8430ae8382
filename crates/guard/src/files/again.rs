//! What builds, tests and editors make and make again, by its name: nobody misses it.
use crate::names;

/// Whether a path, by its name or a folder in it, is what builds, tests and editors make and make again.
pub(crate) fn is_made_again(path: &str) -> bool {
    let mut parts = path.rsplit('/').filter(|part| !part.is_empty() && *part != ".");
    let Some(name) = parts.next() else { return false };
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let ending = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, ending)| ending);
    names::has("made.names", name)
        || names::has("made.folders", name)
        || matches!(stem, "tmp" | "temp" | "scratch")
        || ["tmp_", "tmp-", "temp_", "temp-"].iter().any(|start| name.starts_with(start))
        || ending.is_some_and(|ending| names::has("made.endings", ending))
        || parts.any(|part| names::has("made.folders", part))
}
