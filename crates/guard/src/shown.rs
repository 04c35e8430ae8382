//! Reading what opens doors: keys and settings with secrets that a command shows or copies, whatever program reads
//! them, and the addresses at which a cloud hands out the keys of its machines.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::{
    RiskLevel,
    command::{Verdict, operands, reads, searches_all},
    flow::{Weight, prints_secret, secret_file},
    handed::named_to,
    lines::goes_out,
    names,
    policy::hosts_in,
    sensitivity::is_secret_name,
    shell::{Input, RedirectKind, SimpleCommand, Word},
};

/// What the names of programs begin with that run the code that they are given.
const INTERPRETERS: &[&str] = &["python", "pypy", "node", "ruby", "perl", "php", "deno", "bun"];

/// Whether a program shows or copies what is in the files that it is given.
pub(super) fn shows(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.as_str();
    !names::has("programs.not_showing", name) && (names::has("programs.showing", name) || reads(name))
}

/// What is secret and read by a command, or handed out by an address that it names.
pub(super) fn shown(command: &SimpleCommand) -> Option<Verdict> {
    let words = command.words.get(1..).unwrap_or_default();
    let name = command.program().unwrap_or_default().to_ascii_lowercase();
    let name = name.as_str();
    // Who looks for an address in a text, or prints one, asks nobody.
    let asked = words.iter().filter(|_| goes_out(name) || !reads(name));
    let opened = command.redirects.iter().map(|redirect| &redirect.target);
    let opened = opened.filter(|word| word.text.starts_with("/dev/tcp/") || word.text.starts_with("/dev/udp/"));
    if let Some(word) = asked.chain(opened).find(|word| names_metadata(&word.text)) {
        let why = "asks a cloud for the keys of this machine".to_owned();
        return Some(Verdict { level: RiskLevel::Confirm, rule: "secret.metadata", why, span: word.span.clone() });
    }
    let redirected = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
    let mut found = redirected.filter_map(|redirect| weighed(&redirect.target, command)).collect::<Vec<_>>();
    found.extend(read_by(name, command, words));
    let texts = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::HereText);
    let texts: Vec<&Word> = texts.map(|redirect| &redirect.target).collect();
    // Whoever says the path of a key hands it on, to a loop or a variable.
    let said = words.iter().filter(|_| matches!(name, "echo" | "printf")).chain(texts.iter().copied());
    found.extend(said.filter_map(|word| weighed(word, command)).filter(|(weight, _)| *weight == Weight::Keys));
    if let Some(word) = command.words.iter().find(|word| names_variable(&word.text)) {
        found.push((Weight::Settings, word.span.clone()));
    }
    let mut given = words.iter().chain(texts);
    if let Some(word) = given.find(|word| reads(name) && mentions_secret(&word.text)) {
        found.push((Weight::Settings, word.span.clone()));
    }
    if let Some(word) = environment_of(name, words) {
        found.push((Weight::Settings, word.span.clone()));
    }
    if prints_secret(command).is_some() {
        // It is what its program is for, and it was asked for by its name.
        found.push((Weight::Settings, command.span.clone()));
    }
    if searches_all(name, words) {
        found.push((Weight::Settings, command.span.clone()));
    }
    found.into_iter().max_by_key(|(weight, _)| *weight).map(verdict)
}

pub(super) fn verdict((weight, span): Found) -> Verdict {
    let (level, why) = match weight {
        Weight::Settings => (RiskLevel::Cautious, "reads what may be secret"),
        Weight::Keys => (RiskLevel::Confirm, "reads what opens doors"),
    };
    Verdict { level, rule: "secret.read", why: why.to_owned(), span }
}

pub(super) type Found = (Weight, std::ops::Range<usize>);

fn read_by(name: &str, command: &SimpleCommand, words: &[Word]) -> Vec<Found> {
    let mut words = words;
    if matches!(name, "find" | "gfind" | "fd" | "fdfind") && command.hands_on {
        // What it finds is handed to another program.
        return named_to(command).collect();
    }
    if name == "git" {
        // Any subcommand may show what it is given, but those of which it is known that they show nothing.
        let at = git_subcommand(words);
        let Some(at) = at.filter(|at| !names::has("programs.git_not_showing", words[*at].text.as_str())) else {
            return Vec::new();
        };
        let folder = words[..at].iter().position(|word| word.text == "-C").and_then(|at| words.get(at + 1));
        if let Some(found) = folder.and_then(|folder| weighed(folder, command)) {
            return vec![found];
        }
        words = &words[at + 1..];
    } else if names::has("programs.awks", name) {
        // Its program names files, and so do the variables that it is given.
        let values = words.iter().filter_map(|word| Some((word, word.text.split_once('=')?.1)));
        let values = values.map(|(word, value)| Word { text: value.to_owned(), ..word.clone() });
        let named = words.iter().filter_map(|word| named_in_code(word, command));
        let files = operands(name, words).into_iter().filter_map(|word| weighed(word, command));
        return values.filter_map(|word| weighed(&word, command)).chain(named).chain(files).collect();
    } else if INTERPRETERS.iter().any(|known| name.starts_with(known)) {
        let fed = if let Input::Known(text) = &command.input { Some(text) } else { None };
        return words.iter().chain(fed).filter_map(|word| named_in_code(word, command)).collect();
    }
    let mut found: Vec<Found> = listed_in(name, words).filter_map(|word| weighed(&word, command)).collect();
    if command.hands_on || !shows(name) {
        return found;
    }
    let mut files: Vec<&Word> = operands(name, words);
    if names::has("programs.to_last", name) && files.len() > 1 {
        files.pop();
    }
    if !names::has("programs.sought_first", name) {
        // Options name files, too: `--to-file=.env`, `--rawfile x .env`, `-f .env`.
        let joined = words.iter().filter_map(|word| Some((word, word.text.strip_prefix("--")?.split_once('=')?.1)));
        let values = joined.map(|(word, value)| Word { text: value.to_owned(), ..word.clone() });
        found.extend(values.filter_map(|word| weighed(&word, command)));
        let behind = |far: usize, option: fn(&str) -> bool| {
            words.windows(far + 1).filter(move |near| option(&near[0].text)).map(move |near| &near[far])
        };
        let is_long = |text: &str| text.starts_with("--") && !text.contains('=');
        files.extend(behind(1, is_long).chain(behind(2, is_long)));
    }
    found.extend(
        files.into_iter().filter(|word| !word.text.starts_with("--")).filter_map(|word| weighed(word, command)),
    );
    found
}

/// Whether a word of PowerShell or of `cmd` names a variable with a secret, or all of them: `$env:TOKEN`, `%TOKEN%`,
/// and on the drive that holds them `Env:`, `-Path:Env:`, `Env:,Function:`.
fn names_variable(text: &str) -> bool {
    if !text.contains([':', '%']) {
        return false;
    }
    let on_drive = |text: &str| {
        let drive = text.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("env:"));
        let name = text.get(4..).unwrap_or_default().trim_start_matches(['/', '\\']);
        drive && (name.is_empty() || name.contains(['*', '?', '[', '$']) || is_secret_name(name))
    };
    let of_cmd =
        |text: &str| text.strip_prefix('%').and_then(|text| text.strip_suffix('%')).is_some_and(is_secret_name);
    let in_text = || {
        let parts =
            text.split(['$', '{']).filter(|part| part.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("env:")));
        let names = parts.map(|part| &part[4..]);
        let end = |name: &str| name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(name.len());
        names.map(|name| &name[..end(name)]).any(is_secret_name)
    };
    let option = text.trim_start_matches('-');
    let value = option.split_once(':').filter(|_| option.len() < text.len()).map_or(option, |(_, value)| value);
    value.split(',').any(|piece| on_drive(piece) || of_cmd(piece)) || in_text()
}

/// Where the subcommand of Git stands.
pub(super) fn git_subcommand(words: &[Word]) -> Option<usize> {
    let valued = |word: &Word| matches!(word.text.as_str(), "-C" | "-c" | "--git-dir" | "--work-tree");
    (0..words.len())
        .find(|at| !words[*at].text.starts_with('-') && !at.checked_sub(1).is_some_and(|at| valued(&words[at])))
}

/// The files whose lines a program takes for patterns or names, and may show: `grep -f FILE`, `file -fFILE`,
/// `xargs -a FILE`, `du --files0-from=FILE`.
fn listed_in<'w>(name: &str, words: &'w [Word]) -> impl Iterator<Item = Word> + use<'w> {
    let (letter, long) = match name {
        "xargs" | "gxargs" | "parallel" => ('a', "--arg-file"),
        name if names::has("programs.reading_names_from", name) => ('\0', "--files0-from"),
        "find" | "gfind" => ('\0', "-files0-from"),
        _ => ('f', "--file"),
    };
    let takes = letter != 'f'
        || names::has("programs.sought_first", name)
        || names::has("programs.awks", name)
        || matches!(name, "file" | "date" | "jq" | "ggrep");
    let letters = |text: &str| text.starts_with('-') && !text.starts_with("--");
    words.iter().enumerate().filter(move |_| takes).filter_map(move |(at, word)| {
        let text = word.text.as_str();
        if text == long || letters(text) && text.ends_with(letter) {
            return words.get(at + 1).cloned();
        }
        let joined = text.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
        let joined = joined.or_else(|| text.split_once(letter).filter(|_| letters(text)).map(|(_, rest)| rest));
        joined.map(|joined| Word { text: joined.to_owned(), ..word.clone() })
    })
}

/// The word by which a program is told to show variables that are kept for others: `ps e`, `jq env`, `ENVIRON` of awk.
fn environment_of<'w>(name: &str, words: &'w [Word]) -> Option<&'w Word> {
    let names = |word: &&Word, wanted: &str, before: &[char], after: &[char]| {
        word.text.match_indices(wanted).any(|(at, _)| {
            let part = |c: char| c.is_alphanumeric() || c == '_';
            let prior = word.text[..at].chars().next_back();
            let next = word.text[at + wanted.len()..].chars().next();
            !prior.is_some_and(|c| part(c) || before.contains(&c))
                && !next.is_some_and(|c| part(c) || after.contains(&c))
        })
    };
    match name {
        // What stands behind the container is for its `ps`.
        "docker" | "podman" if words.iter().any(|word| word.text == "top") => {
            let at = words.iter().position(|word| word.text == "top").unwrap_or_default();
            environment_of("ps", words.get(at + 2..).unwrap_or_default())
        }
        "ps" => {
            let valued = |at: usize| {
                at.checked_sub(1).is_some_and(|before| {
                    let text = words[before].text.as_str();
                    text.starts_with("--") || text.starts_with('-') && text.ends_with(|c| "oOCpuUtgGsqNk".contains(c))
                })
            };
            let shows = |(at, word): &(usize, &Word)| {
                word.text.contains('e') && word.text.bytes().all(|byte| byte.is_ascii_alphabetic()) && !valued(*at)
            };
            // Where `ps` is that of a BSD, a letter behind a dash does it.
            let letter = |word: &&Word| {
                let letters = word.text.strip_prefix('-').unwrap_or_default();
                letters.contains('E') && letters.bytes().all(|byte| byte.is_ascii_alphabetic() && byte != b'o')
            };
            let mut found = words.iter().enumerate().find(shows).map(|(_, word)| word);
            found = found.or_else(|| words.iter().find(letter));
            found
        }
        _ if names::has("programs.querying", name) => words.iter().find(|word| {
            let mut called = names::list("programs.environment").iter();
            names(word, "$ENV", &[], &[]) || called.any(|wanted| names(word, wanted, &['.', '"', '$'], &['"', ':']))
        }),
        _ if names::has("programs.awks", name) => words.iter().find(|word| names(word, "ENVIRON", &[], &[])),
        _ => None,
    }
}

/// Whether a path is a whole home folder, or one that all homes lie in.
pub(super) fn is_home(path: &str) -> bool {
    let root = path.starts_with('/');
    let path = path.trim_end_matches(['/', '*']);
    let of_user =
        |path: &str| ["/home/", "/Users/"].iter().any(|at| path.strip_prefix(at).is_some_and(|n| !n.contains('/')));
    matches!(path, "~" | "$HOME" | "${HOME}" | "/root" | "/home" | "/Users" | "/etc" | "~/.config")
        || root && path.is_empty()
        || of_user(path)
}

/// `$AWS_SECRET_ACCESS_KEY`: a variable that by its name holds what is secret, or one whose name is not known.
fn mentions_secret(text: &str) -> bool {
    // `${!name}`; the keys of a list, `${!list[@]}`, are no values.
    let named_by_another = |rest: &str| rest.split('}').next().is_some_and(|name| !name.contains(['[', '@', '*']));
    if text.match_indices("${!").any(|(at, sign)| named_by_another(&text[at + sign.len()..])) {
        return true;
    }
    text.split('$').skip(1).any(|rest| {
        let rest = rest.trim_start_matches('{');
        let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = &rest[..rest.find(|c| !part(c)).unwrap_or(rest.len())];
        // Lower case is what the line itself has set.
        name.len() > 1 && !name.contains(|c: char| c.is_ascii_lowercase()) && is_secret_name(name)
    })
}

/// What a piece of code names between quotes.
fn named_in_code(word: &Word, command: &SimpleCommand) -> Option<Found> {
    let pieces = word.text.split(['\'', '"', '`']).take(4_096).skip(1).step_by(2);
    let named =
        pieces.filter(|piece| !piece.contains(' ')).map(|piece| Word { text: piece.to_owned(), ..word.clone() });
    named.filter_map(|piece| weighed(&piece, command)).max_by_key(|(weight, _)| *weight)
}

/// How secret a file is that a command names, from the folder that it runs in.
pub(super) fn weighed(word: &Word, command: &SimpleCommand) -> Option<Found> {
    let text = word.text.strip_prefix("if=").unwrap_or(&word.text);
    let text = text.strip_prefix("file://").unwrap_or(text).trim_start_matches('@');
    // `git show HEAD:.env`
    let text = text.split_once(':').filter(|(before, _)| before.len() > 1).map_or(text, |(_, path)| path);
    // `ssh -i ~/.ssh/id_rsa` as one word is no file; a substitution may have blanks of its own.
    let several = word.exact && [" -", " /", " ~"].iter().any(|next| text.contains(next));
    if text.is_empty() || text.contains('\n') || several {
        return None;
    }
    let within = command.cwd.as_ref().filter(|_| !text.starts_with(['/', '~', '$']));
    let path = within.map_or_else(|| text.to_owned(), |folder| format!("{}/{text}", folder.text));
    let name = path.rsplit('/').next().unwrap_or_default();
    // Who may log in is no secret, and neither is what a key is called in a list of them.
    if path.ends_with("/etc/passwd") || name == "known_hosts" {
        return None;
    }
    let weight = secret_file(&path).or_else(|| {
        let folder = path.get(..path.len() - name.len()).unwrap_or_default();
        // `cat *` means what the folder is for; in that of somebody's own keys it means those.
        let letters = name.chars().filter(|c| !matches!(c, '*' | '?' | '[' | ']')).count();
        let means = letters > 1 || name.starts_with('.') || is_home(folder);
        let pattern = word.pattern && name.contains(['*', '?', '[']) && means;
        let kept = KEPT.iter().filter(|kept| pattern && fits(name, kept, false));
        kept.filter_map(|kept| secret_file(&format!("{folder}{kept}"))).max()
    })?;
    Some((weight, word.span.clone()))
}

/// Names that a pattern is held against.
const KEPT: &[&str] = &[".env", "id_rsa", "id_ed25519", "shadow", ".netrc", ".pgpass", ".git-credentials", "environ"];

/// Whether a pattern of a shell stands for a name. What begins with a dot is meant by what begins with one, except
/// where `dots` says that any sign stands for a dot, as `find` has it.
pub(super) fn fits(pattern: &str, name: &str, dots: bool) -> bool {
    if !dots && name.starts_with('.') && !pattern.starts_with('.') || pattern.len() > 64 {
        return false;
    }
    names::fits(pattern, name)
}

/// Whether a text names an address at which a cloud hands out keys, in any of its spellings.
fn names_metadata(text: &str) -> bool {
    let text: String = text.chars().map(plain).collect();
    let mut hosts = Vec::new();
    hosts_in(&text, &mut hosts);
    let text = text.strip_prefix("/dev/tcp/").or_else(|| text.strip_prefix("/dev/udp/")).unwrap_or(&text);
    let bare = text.split(['/', '?', '#']).next().unwrap_or_default();
    let bare = bare.rsplit_once('@').map_or(bare, |(_, host)| host);
    hosts.iter().any(|host| host == "metadata") || hosts.iter().map(String::as_str).chain([bare]).any(hands_out_keys)
}

fn hands_out_keys(host: &str) -> bool {
    let host = host.trim_matches(['[', ']', '.']).to_ascii_lowercase();
    let host = host.as_str();
    if matches!(host, "instance-data" | "instance-data.ec2.internal" | "metadata.goog")
        || host.starts_with("metadata.") && (host.contains("internal") || host.contains("tencentyun"))
        || host.contains("169.254.169.254")
        || host.contains("169-254-169-254")
    {
        return true;
    }
    if let Ok(address) = host.parse::<Ipv6Addr>() {
        let [a, .., last] = address.segments();
        return a == 0xfd00 && last == 0x254 || address.to_ipv4().is_some_and(is_metadata) || {
            // An address of IPv4 within one of IPv6: `64:ff9b::a9fe:a9fe`.
            let [.., high, low] = address.segments();
            high == 0xa9fe && low == 0xa9fe
        };
    }
    let port = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    spelled(port.map_or(host, |(host, _)| host)).is_some_and(is_metadata)
}

fn is_metadata(address: Ipv4Addr) -> bool {
    address.is_link_local()
        || address == Ipv4Addr::new(100, 100, 100, 200)
        || address == Ipv4Addr::new(168, 63, 129, 16)
}

/// An address as `inet_aton` reads it: one to four numbers, each decimal, octal or hexadecimal.
fn spelled(host: &str) -> Option<Ipv4Addr> {
    let numbers: Vec<u64> = host.split('.').map(number).collect::<Option<_>>()?;
    let (last, before) = numbers.split_last()?;
    if before.len() > 3 || before.iter().any(|number| *number > 255) || host.len() < 8 {
        return None;
    }
    let room = 4 - u32::try_from(before.len()).ok()?;
    if *last >= 1 << (8 * room) {
        return None;
    }
    let high = before.iter().fold(0, |sum, number| sum << 8 | number) << (8 * room);
    u32::try_from(high | last).ok().map(Ipv4Addr::from)
}

fn number(text: &str) -> Option<u64> {
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok();
    }
    let octal = text.len() > 1 && text.starts_with('0');
    u64::from_str_radix(text, if octal { 8 } else { 10 }).ok()
}

/// Digits and dots of other widths as what they are read as.
fn plain(c: char) -> char {
    match c {
        '．' | '。' | '｡' => '.',
        '\u{ff10}'..='\u{ff19}' => char::from(b'0' + (c as u32 - 0xff10) as u8),
        other => other,
    }
}
