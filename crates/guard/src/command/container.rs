//! What a container is given of the machine that it runs on: folders and sockets that are mounted, and rights.

use crate::shell::Word;

/// Whether a container gets what hands it the machine: `-v /:/host`, `--mount type=bind,src=/,…`, the socket of the
/// engine, a folder of keys, `--cap-add=ALL`.
pub(super) fn given_the_machine(words: &[Word]) -> bool {
    words.iter().enumerate().any(|(at, word)| {
        let before = at.checked_sub(1).and_then(|at| words.get(at)).map_or("", |word| word.text.as_str());
        let value = |names: &[&str]| {
            names.iter().find_map(|name| {
                let joined = || word.text.strip_prefix(name).and_then(|rest| rest.strip_prefix('='));
                if before == *name { Some(word.text.as_str()) } else { joined() }
            })
        };
        let volume = value(&["-v", "--volume"]).and_then(|volume| volume.split_once(':')).map(|(source, _)| source);
        let mount = || {
            let mut parts = value(&["--mount"])?.split(',');
            parts.find_map(|part| part.strip_prefix("src=").or_else(|| part.strip_prefix("source=")))
        };
        volume.or_else(mount).is_some_and(is_the_machine)
            || value(&["--cap-add"]).is_some_and(|right| {
                let right = right.to_ascii_uppercase();
                matches!(right.strip_prefix("CAP_").unwrap_or(&right), "ALL" | "SYS_ADMIN" | "SYS_MODULE")
            })
    })
}

fn is_the_machine(source: &str) -> bool {
    matches!(source, "/" | "/etc" | "/root" | "/boot") || source.ends_with("/docker.sock") || source.ends_with("/.ssh")
}
