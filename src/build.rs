//! How the module was built, for `loopwright.machine.build_info`.

use pyo3::prelude::*;

/// The features that this module was built with.
const FEATURES: [(&str, bool); 1] = [("pdf", cfg!(feature = "pdf"))];

/// How a module was built.
#[pyclass(frozen, get_all, module = "loopwright._core")]
pub(super) struct BuildInfo {
    /// The version of the package.
    version: &'static str,
    /// The Cargo profile: `fast`, `release`, `dist`, ….
    profile: &'static str,
    /// Whether the compiler was told what ordinary runs do.
    counts: bool,
    /// The features of the crate.
    features: Vec<&'static str>,
    /// The compiler, with its version.
    compiler: &'static str,
    /// The commit, where the build was told it.
    commit: Option<&'static str>,
}

#[pymethods]
impl BuildInfo {
    fn __repr__(&self) -> String {
        let Self { version, profile, counts, features, compiler, commit } = self;
        let (counts, features) = (if *counts { "True" } else { "False" }, features.join("', '"));
        let commit = commit.map_or_else(|| "None".to_owned(), |commit| format!("'{commit}'"));
        format!(
            "BuildInfo(version='{version}', profile='{profile}', counts={counts}, features=['{features}'], \
             compiler='{compiler}', commit={commit})"
        )
    }
}

/// How this module was built.
#[pyfunction]
pub(super) fn build_info() -> BuildInfo {
    BuildInfo {
        version: env!("CARGO_PKG_VERSION"),
        profile: env!("LOOPWRIGHT_PROFILE"),
        counts: env!("LOOPWRIGHT_COUNTS") == "true",
        features: FEATURES.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect(),
        compiler: env!("LOOPWRIGHT_COMPILER"),
        commit: option_env!("LOOPWRIGHT_COMMIT").filter(|commit| !commit.is_empty()),
    }
}
