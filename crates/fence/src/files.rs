//! Landlock's part of the fence: files, TCP, and signals to processes outside.
//!
//! Landlock only grants. To leave a private folder out, the folder above it is not granted, but each of its other
//! entries is; a link is passed over, since what it leads to is granted where it really stands, or is not. Names stay
//! listed everywhere: `ls ~` works, and shows that there is an `.ssh`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope, make_bitflags,
};

use crate::{Fence, table::table};

/// The newest interface whose rights are used; older kernels hold what they know of it.
const NEWEST: ABI = ABI::V6;
/// Entries of a folder beside a private one that are looked at.
const MOST_ENTRIES: usize = 20_000;

const READ: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | ReadDir | Execute});
const LIST: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadDir});
/// All that a folder is changed by but devices: who may make one as root reaches the disk.
const WRITE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{
    WriteFile | Truncate | RemoveDir | RemoveFile | MakeDir | MakeReg | MakeSock | MakeFifo | MakeSym | Refer
});
/// What makes and removes names in a folder, and writes none of its files.
const NAMES: BitFlags<AccessFs> =
    make_bitflags!(AccessFs::{RemoveDir | RemoveFile | MakeDir | MakeReg | MakeFifo | MakeSym | Refer});
const DEVICE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{IoctlDev});
/// What a path that is no folder may be granted.
const FILE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | Execute | WriteFile | Truncate | IoctlDev});

/// Restricts this thread to reading, to see whether the kernel does it; gives the version of its interface.
pub(crate) fn probe() -> Result<u32, String> {
    let mut rules = Rules(created(false).map_err(|error| format!("Landlock refuses: {error}"))?);
    rules.grant(Path::new("/"), READ).map_err(|error| format!("Landlock refuses: {error}"))?;
    let status = rules.0.restrict_self().map_err(|error| format!("Landlock refuses: {error}"))?;
    match (status.landlock, status.ruleset) {
        (LandlockStatus::NotImplemented, _) => Err("the kernel has no Landlock".to_owned()),
        (LandlockStatus::NotEnabled, _) => Err("Landlock is not switched on in this kernel (lsm=)".to_owned()),
        (_, RulesetStatus::NotEnforced) => Err("Landlock holds nothing here".to_owned()),
        (LandlockStatus::Available { effective_abi, kernel_abi }, _) => {
            Ok(kernel_abi.and_then(|abi| u32::try_from(abi).ok()).unwrap_or(effective_abi as u32))
        }
    }
}

/// Restricts this thread and all it starts.
pub(crate) fn restrict(fence: &Fence) -> io::Result<()> {
    let mut rules = Rules(created(fence.network)?);
    rules.grant(Path::new("/"), LIST)?;
    rules.grant_around(Path::new("/"), &fence.private())?;
    for path in &fence.read {
        rules.grant(path, READ)?;
    }
    for path in fence.writable() {
        rules.grant(path, READ | WRITE)?;
    }
    for path in &fence.names {
        rules.grant(path, NAMES)?;
    }
    for path in devices() {
        rules.grant(&path, READ | WRITE | DEVICE)?;
    }
    let status = rules.0.restrict_self().map_err(io::Error::other)?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(io::Error::other("Landlock holds nothing here"));
    }
    Ok(())
}

fn created(network: bool) -> io::Result<RulesetCreated> {
    let rules = Ruleset::default().handle_access(AccessFs::from_all(NEWEST)).map_err(io::Error::other)?;
    let rules = rules.scope(Scope::from_all(NEWEST)).map_err(io::Error::other)?;
    let rules = if network { Ok(rules) } else { rules.handle_access(AccessNet::from_all(NEWEST)) };
    rules.and_then(Ruleset::create).map_err(io::Error::other)
}

struct Rules(RulesetCreated);

impl Rules {
    /// Grants what can be granted on a path; one that is not there is passed over.
    fn grant(&mut self, path: &Path, access: BitFlags<AccessFs>) -> io::Result<()> {
        let Ok(descriptor) = PathFd::new(path) else { return Ok(()) };
        let access = if path.is_dir() { access } else { access & FILE };
        if !access.is_empty() {
            (&mut self.0).add_rule(PathBeneath::new(descriptor, access)).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Grants reading of all that lies below `folder`, but what is private.
    fn grant_around(&mut self, folder: &Path, private: &[PathBuf]) -> io::Result<()> {
        if private.iter().any(|path| path == folder) {
            return Ok(());
        }
        if !private.iter().any(|path| path.starts_with(folder)) {
            return self.grant(folder, READ);
        }
        let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
        for entry in entries.flatten().take(MOST_ENTRIES) {
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.grant_around(&entry.path(), private)?;
            }
        }
        Ok(())
    }
}

/// The devices that every command may use.
pub(crate) fn devices() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for written in &table().files.devices {
        let Some(start) = written.strip_suffix('*') else {
            found.push(PathBuf::from(written));
            continue;
        };
        let (folder, name) = start.rsplit_once('/').unwrap_or(("", start));
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        found.extend(entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(name)).map(|e| e.path()));
    }
    found
}
