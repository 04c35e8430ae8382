//! What builds, tests and editors make and make again, by its name: nobody misses it.

/// Whether a path, by its name or a folder in it, is what builds, tests and editors make and make again.
pub(crate) fn is_made_again(path: &str) -> bool {
    const FOLDERS: &[&str] = &[
        "build",
        "dist",
        "out",
        "target",
        "bin",
        "obj",
        "tmp",
        "temp",
        "node_modules",
        "__pycache__",
        "coverage",
        "htmlcov",
        ".cache",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".tox",
        ".nox",
        ".next",
        ".nuxt",
        ".turbo",
        ".parcel-cache",
        ".gradle",
        ".svelte-kit",
        "logs",
        "_build",
        "cmake-build-debug",
        "cmake-build-release",
    ];
    const ENDINGS: &[&str] = &[
        "o",
        "obj",
        "a",
        "so",
        "pyc",
        "pyo",
        "class",
        "tmp",
        "temp",
        "log",
        "swp",
        "swo",
        "pid",
        "gcda",
        "gcno",
        "gcov",
        "tsbuildinfo",
        "cache",
        "tgz",
        "whl",
        "aux",
        "toc",
        "dvi",
        "synctex",
        "d",
        "rlib",
        "map",
        "orig",
        "rej",
    ];
    const NAMES: &[&str] = &[
        ".coverage",
        "coverage.xml",
        "coverage.json",
        "lcov.info",
        "junit.xml",
        "a.out",
        "core",
        "nohup.out",
        ".DS_Store",
        "Thumbs.db",
        ".eslintcache",
        ".stylelintcache",
        "index.lock",
        "CMakeCache.txt",
    ];
    let mut parts = path.rsplit('/').filter(|part| !part.is_empty() && *part != ".");
    let Some(name) = parts.next() else { return false };
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let ending = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, ending)| ending);
    NAMES.contains(&name)
        || FOLDERS.contains(&name)
        || matches!(stem, "tmp" | "temp" | "scratch")
        || ["tmp_", "tmp-", "temp_", "temp-"].iter().any(|start| name.starts_with(start))
        || ending.is_some_and(|ending| ENDINGS.contains(&ending))
        || parts.any(|part| FOLDERS.contains(&part))
}
