//! Descriptors: every connection takes one of those that a process may have open, and there is an end to them.

use std::{fs, io};

/// The limit of systems that do not say theirs.
const USUAL: usize = 256;
/// Errors of a system that has no descriptor left, for the process or at all.
const EXHAUSTED: [i32; 2] = [24, 23];

/// The most descriptors that this process may have open.
fn most() -> usize {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    soft_limit(&limits).unwrap_or(USUAL)
}

fn soft_limit(limits: &str) -> Option<usize> {
    let words = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let soft = words.split_whitespace().next()?;
    Some(if soft == "unlimited" { usize::MAX } else { soft.parse().ok()? })
}

/// Connections that may be in flight at once: three quarters of the descriptors that are free. The others are for
/// connections that are kept, and for whatever else the process opens.
pub(super) fn room() -> usize {
    let open = fs::read_dir("/proc/self/fd").map_or(USUAL / 4, Iterator::count);
    (most().saturating_sub(open) / 4 * 3).max(1)
}

/// Returns whether an error says that no descriptor is left.
pub(super) fn is_exhaustion(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|code| EXHAUSTED.contains(&code))
}

/// Returns whether no descriptor is left now: to look up a name needs some, and the system does not say what it lacked.
pub(super) fn are_exhausted() -> bool {
    fs::File::open(".").is_err_and(|error| is_exhaustion(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w30_the_limit_of_a_process_is_read() {
        let table = "Limit                     Soft Limit           Hard Limit           Units\n\
                     Max processes             127361               127361               processes\n";
        assert_eq!(soft_limit(table), None);
        let files =
            |soft: &str| format!("{table}Max open files            {soft}                1048576              files\n");
        assert_eq!(soft_limit(&files("1024")), Some(1024));
        assert_eq!(soft_limit(&files("unlimited")), Some(usize::MAX));
        assert!(room() >= 1 && most() >= 1 && !are_exhausted());
    }
}
