//! The fence around commands: what a process and all it starts may read, write and reach, kept by the kernel.
//!
//! The guard judges what a command says; the fence holds what it does. On Linux a [`Fence`] restricts one fresh thread
//! by Landlock and seccomp and starts the command from it: both hold for a thread and all that it starts, so
//! nothing is done between `fork` and `exec`, and this process stays as free as it was. Elsewhere [`support`] says that
//! there is none.
//!
//! ```
//! use std::process::Command;
//! use loopwright_fence::{Fence, support};
//!
//! let folder = std::env::temp_dir();
//! let fence = Fence { workspace: folder.clone(), temporary: folder, ..Fence::default() };
//! if support().fences() {
//!     let mut child = fence.spawn(Command::new("true"))?;
//!     assert!(child.wait()?.success());
//! }
//! # Ok::<(), std::io::Error>(())
//! ```

// Its work are files, threads and processes.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]
// Nothing that comes from outside may end a process.
#![cfg_attr(
    not(test),
    warn(clippy::expect_used, clippy::panic, clippy::todo, clippy::unimplemented, clippy::unreachable)
)]

#[cfg(target_os = "linux")]
mod files;
mod grants;
#[cfg(target_os = "linux")]
mod limits;
mod places;
mod refusals;
#[cfg(target_os = "linux")]
mod rights;
mod spawn;
mod support;
#[cfg(target_os = "linux")]
mod system_calls;
mod table;

pub use grants::{Grants, Step};
pub use places::Environment;
pub use refusals::{Refusal, RefusalKind};
pub use spawn::Fence;
pub use support::{Support, support};
