//! Programs that take commands of their own, a line each, from an argument or their input: `sftp`, `lftp`, `smbclient`,
//! `hbase shell`, `tclsh`, caches spoken to over `nc`. A line that begins with a verb that destroys is asked about.

use super::Verdict;
use crate::{
    RiskLevel, names,
    shell::{Input, SimpleCommand, Word},
};

/// How programs of this kind are told: by an option, or by their input alone.
fn option_of(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "lftp" => &["-e", "-c"],
        "smbclient" => &["-c", "--command"],
        "ftp" | "sftp" | "ncftp" | "tftp" | "hbase" | "tclsh" | "jshell" | "parted" | "zkcli.sh" | "kcadm"
        | "cadaver" | "asterisk" | "telnet" | "nc" | "ncat" | "netcat" | "gdb" | "ldapmodify" | "diskpart" | "dos"
        | "ed" | "virsh" | "ceph" | "kadmin.local" | "zpool" | "bconsole" => &[],
        "ghci" | "emacs" | "emacsclient" => &["--eval", "-eval", "-e"],
        "osascript" => &["-e"],
        "vtysh" | "clish" | "imish" | "rtrcli" => &["-c"],
        _ => return None,
    })
}

/// Lines given to the program that destroy something.
pub(super) fn lines(name: &str, command: &SimpleCommand, words: &[Word]) -> Option<Verdict> {
    let options = option_of(name)?;
    let given = words.windows(2).filter(|pair| options.contains(&pair[0].text.as_str())).map(|pair| &pair[1]);
    let read = match &command.input {
        Input::Known(text) => Some(text),
        _ => None,
    };
    let word = given
        .chain(read)
        .find(|word| word.text.lines().flat_map(|line| line.split([';', '&'])).take(4096).any(destroys))?;
    Some(Verdict::new(RiskLevel::Confirm, "verb", "is told to delete something", word.span.clone()))
}

fn destroys(line: &str) -> bool {
    let line = line.trim().to_ascii_lowercase();
    let mut parts = line.split(|c: char| c.is_whitespace() || matches!(c, '(' | '"' | '\'' | ','));
    let first = parts.next().unwrap_or_default();
    let first = if first.is_empty() { parts.next().unwrap_or_default() } else { first };
    let rest: Vec<&str> = parts.filter(|part| !part.is_empty()).take(8).collect();
    match first {
        // The `glob` of lftp runs what follows it.
        "glob" => rest.first().is_some_and(|verb| names::has("programs.deleting_verbs", verb)),
        "mirror" => rest
            .iter()
            .any(|word| matches!(*word, "--delete" | "-e" | "-re" | "--remove-source-files" | "--delete-first")),
        "file" => rest.first() == Some(&"delete"),
        "tell" => {
            line.contains("empty") && line.contains("trash") || rest.contains(&"delete") || rest.contains(&"erase")
        }
        "%d" | "1,$d" | "g/./d" => true,
        "delete-directory" | "delete-file" | "shell-command" | "kill-emacs" => first.starts_with("delete"),
        // What a router is told not to be any more.
        "no" => rest.first().is_some_and(|what| {
            matches!(
                *what,
                "router" | "interface" | "ip" | "ipv6" | "neighbor" | "route-map" | "access-list" | "vlan" | "network"
            )
        }),
        verb => {
            names::has("programs.deleting_verbs", verb)
                || verb.starts_with("files.delete")
                || verb.starts_with("removedirectory")
        }
    }
}
