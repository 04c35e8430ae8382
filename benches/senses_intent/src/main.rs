//! `stems`: reads lines, writes their terms as the senses see them, for `pack.py`.

use std::io::{BufRead, BufWriter, Write, stdin, stdout};

fn main() -> std::io::Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    for line in stdin().lock().lines() {
        writeln!(out, "{}", loopwright::core::retrieve::words::terms(&line?).join(" "))?;
    }
    Ok(())
}
