//! What of a fence this machine has, tried once on a thread of its own.

use std::sync::OnceLock;

/// What keeps a fence here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Support {
    /// The version of Landlock's interface, where the kernel has it and it is on.
    pub landlock: Option<u32>,
    /// Whether system calls can be filtered.
    pub seccomp: bool,
    /// Why there is no fence, where there is none.
    pub missing: Option<String>,
}

impl Support {
    /// Whether commands can be fenced.
    pub fn fences(&self) -> bool {
        self.landlock.is_some()
    }

    /// What the fence can't hold here, in words; empty where it holds all.
    pub fn gaps(&self) -> Vec<&'static str> {
        let Some(abi) = self.landlock else { return Vec::new() };
        let mut found = Vec::new();
        for (wanted, gap) in [
            (2, "files can't be moved between folders"),
            (3, "files outside can be emptied, though not written"),
            (6, "signals reach processes outside"),
        ] {
            if abi < wanted {
                found.push(gap);
            }
        }
        if !self.seccomp {
            found.push(if abi < 4 { "the network is open" } else { "only TCP is closed of the network" });
        }
        found
    }
}

/// What of a fence this machine has.
pub fn support() -> &'static Support {
    static SUPPORT: OnceLock<Support> = OnceLock::new();
    SUPPORT.get_or_init(probe)
}

#[cfg(target_os = "linux")]
fn probe() -> Support {
    let probed = std::thread::Builder::new()
        .name("fence-probe".to_owned())
        .spawn(|| (crate::files::probe(), crate::system_calls::restrict(false, false).is_ok()))
        .and_then(|thread| thread.join().map_err(|_| std::io::Error::other("the probe ended early")));
    match probed {
        Ok((Ok(abi), seccomp)) => Support { landlock: Some(abi), seccomp, missing: None },
        Ok((Err(why), seccomp)) => Support { landlock: None, seccomp, missing: Some(why) },
        Err(error) => Support { missing: Some(format!("it could not be tried: {error}")), ..Support::default() },
    }
}

#[cfg(not(target_os = "linux"))]
fn probe() -> Support {
    Support { missing: Some("only Linux has what it is built from".to_owned()), ..Support::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_name_what_an_older_kernel_leaves_open() {
        let of = |landlock, seccomp| Support { landlock, seccomp, missing: None }.gaps();
        assert!(of(Some(6), true).is_empty() && of(None, false).is_empty());
        assert_eq!(of(Some(4), true), ["signals reach processes outside"]);
        assert_eq!(of(Some(6), false), ["only TCP is closed of the network"]);
        assert_eq!(of(Some(1), false).len(), 4);
    }

    #[test]
    fn support_says_why_where_there_is_no_fence() {
        let found = support();
        assert_eq!(found.fences(), found.missing.is_none(), "{found:?}");
    }
}
