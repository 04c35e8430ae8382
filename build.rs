//! Hands the Cargo profile, the compiler and whether counts of ordinary runs were used to
//! `loopwright.machine.build_info`.

use std::{env, path::Path, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=LOOPWRIGHT_COMMIT");
    // The folder of this script's output stands in that of the profile: target/[triple/]fast/build/loopwright-1234/out.
    let out = env::var("OUT_DIR").unwrap_or_default();
    let profile = Path::new(&out).ancestors().nth(3).and_then(Path::file_name).and_then(|name| name.to_str());
    println!("cargo::rustc-env=LOOPWRIGHT_PROFILE={}", profile.unwrap_or_default());
    let compiler = env::var("RUSTC").ok().and_then(|rustc| Command::new(rustc).arg("--version").output().ok());
    let version = compiler.map(|told| String::from_utf8_lossy(&told.stdout).trim().to_owned());
    println!("cargo::rustc-env=LOOPWRIGHT_COMPILER={}", version.unwrap_or_default());
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    println!("cargo::rustc-env=LOOPWRIGHT_COUNTS={}", flags.contains("profile-use="));
}
