//! Where data for tests stands, found from one place: a test that looks for its data where it is not would pass and say
//! nothing.

use std::path::{Path, PathBuf};

/// The folder of the project, where the manifest of the workspace stands.
pub fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What stands at `place` below the project's folder.
///
/// # Panics
/// If nothing stands there.
pub fn file(place: &str) -> PathBuf {
    let path = project().join(place);
    assert!(path.exists(), "{} is not there", path.display());
    path
}

/// What stands at `place` in the data that is shared beside the project; `None`, with a line that says so, where there
/// is none of that data.
///
/// # Panics
/// If the data is there, and nothing stands at `place`.
pub fn shared(place: &str) -> Option<PathBuf> {
    let folder = project().join("../shared/data");
    if !folder.is_dir() {
        eprintln!("skipped: there is no {}", folder.display());
        return None;
    }
    let path = folder.join(place);
    assert!(path.exists(), "{} is not there, though the data beside it is", path.display());
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_is_where_its_manifest_and_its_rooms_are() {
        assert!(file("Cargo.toml").is_file() && file("crates/base/src/lib.rs").is_file());
    }

    #[test]
    #[should_panic(expected = "is not there")]
    fn a_file_that_moved_is_missed() {
        file("no such file");
    }

    #[test]
    fn shared_data_that_moved_is_missed_where_there_is_shared_data() {
        if shared("").is_some() {
            assert!(std::panic::catch_unwind(|| shared("no such folder")).is_err());
        }
    }
}
