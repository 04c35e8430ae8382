//! Bounds on processes, files and the blame for memory, set from outside on a child that has just begun.
//!
//! They are set a moment after the start: a shell that has not read its line has started nothing by then.

use std::fs;

use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::table::table;

/// Bounds a child; what can't be set is left as it is.
pub(crate) fn bound(child: u32) {
    let Some(pid) = i32::try_from(child).ok().and_then(Pid::from_raw) else { return };
    let limits = table().limits;
    // The kernel counts all processes of the user, whoever started them.
    let processes = if limits.processes == 0 { 0 } else { running() + limits.processes };
    for (resource, most) in
        [(Resource::Nproc, processes), (Resource::Fsize, limits.file_size), (Resource::Nofile, limits.open_files)]
    {
        if most > 0 {
            lower(pid, resource, most);
        }
    }
    // No image of the memory of what failed, with all that was in it.
    let current = rustix::process::getrlimit(Resource::Core);
    let _ = prlimit(Some(pid), Resource::Core, Rlimit { current: Some(0), ..current });
    if limits.memory_blame > 0 {
        let _ = fs::write(format!("/proc/{child}/oom_score_adj"), limits.memory_blame.to_string());
    }
}

fn lower(pid: Pid, resource: Resource, most: u64) {
    let now = rustix::process::getrlimit(resource);
    let least = |limit: Option<u64>| Some(limit.map_or(most, |limit| limit.min(most)));
    let _ = prlimit(Some(pid), resource, Rlimit { current: least(now.current), maximum: least(now.maximum) });
}

/// Processes and threads of this machine: behind the slash in `0.50 0.40 0.30 2/345 6789`.
fn running() -> u64 {
    let told = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    told.split(['/', ' ']).nth(4).and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #[test]
    fn running_counts_at_least_this_process() {
        assert!(super::running() > 0);
    }
}
