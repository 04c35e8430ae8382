//! What is left of the rights of root behind the fence: those of a container.
//!
//! A process without these has nothing to lose. Root reads the environment of every process (`/proc/1/environ`) past
//! Landlock, makes devices, loads modules and sets the clock; what it needs to own and change files stays. Nothing that
//! is started gets them back: a fenced thread gains no privileges.

use std::io;

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

/// Gives up, for this thread and all it starts, what a container has not.
pub(crate) fn give_up() -> io::Result<()> {
    const KEPT: [CapabilitySet; 11] = [
        CapabilitySet::CHOWN,
        CapabilitySet::DAC_OVERRIDE,
        CapabilitySet::FOWNER,
        CapabilitySet::FSETID,
        CapabilitySet::KILL,
        CapabilitySet::SETGID,
        CapabilitySet::SETUID,
        CapabilitySet::SETPCAP,
        CapabilitySet::SETFCAP,
        CapabilitySet::NET_BIND_SERVICE,
        CapabilitySet::SYS_CHROOT,
    ];
    let kept = KEPT.into_iter().fold(CapabilitySet::empty(), CapabilitySet::union);
    let mut sets = capabilities(None)?;
    if kept.contains(sets.permitted) && kept.contains(sets.inheritable) {
        return Ok(());
    }
    sets.permitted &= kept;
    sets.effective &= kept;
    sets.inheritable &= kept;
    Ok(set_capabilities(None, sets)?)
}
