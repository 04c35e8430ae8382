//! What a value is by its form alone, whatever its name: written by chance, a hash, a UUID, something public, a
//! version, a path, code.

use super::super::{
    super::names,
    shape::{self, Shape},
};

/// Whether chance wrote it, in an alphabet of keys.
pub(in crate::sensitivity) fn opaque(value: &[u8]) -> bool {
    let shape = Shape::of(value);
    value.len() >= 12
        && value.iter().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-' | b'.' | b'~' | b'%')
        })
        && shape.digits > 0
        && shape.marks * 5 <= value.len()
        && shape.random()
        && shape::entropy(value) > 3.0
        && !shape::alphabet(value)
        && !path(value)
        && !known(value)
        && !shape::stand_in(value)
}

pub(super) fn uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value
            .iter()
            .enumerate()
            .all(|(at, byte)| if matches!(at, 8 | 13 | 18 | 23) { *byte == b'-' } else { byte.is_ascii_hexdigit() })
}

/// As long as a hash, and of its digits.
pub(in crate::sensitivity) fn hash(value: &[u8]) -> bool {
    matches!(value.len(), 32 | 40 | 56 | 64 | 96 | 128) && value.iter().all(u8::is_ascii_hexdigit)
}

/// What is public by its form: hashes that say so, public keys, certificates, addresses, pictures, numbers.
pub(in crate::sensitivity) fn known(value: &[u8]) -> bool {
    let begins = |with: &String| value.get(..with.len()).is_some_and(|it| it.eq_ignore_ascii_case(with.as_bytes()));
    if names::list("secret_values.public_beginnings").iter().any(begins) {
        return true;
    }
    // Numbers, dates, versions, addresses of machines.
    value.iter().all(|byte| {
        byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b':' | b'/' | b',' | b'_' | b'T' | b'Z' | b'+' | b'=')
    }) && value.iter().any(|byte| !byte.is_ascii_digit())
        || value.starts_with(b"0x") && value.len() <= 18
        || format(value)
        || version(value)
        || coordinate(value)
        || internet_address(value)
        || public_nkey(value)
}

/// What NATS calls an account, a user, a cluster, a server: the public half of a pair, in base 32.
fn public_nkey(value: &[u8]) -> bool {
    value.len() == 56
        && matches!(value[0], b'A' | b'C' | b'N' | b'O' | b'U' | b'X')
        && value.iter().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'2'..=b'7'))
}

/// `2001:db8::1`: groups of up to four hex digits, one row of them left out. Groups of two are something else.
fn internet_address(value: &[u8]) -> bool {
    let groups = value.split(|byte| *byte == b':');
    let long = groups.clone().filter(|group| !group.is_empty()).count();
    value.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b':')
        && groups.clone().all(|group| group.len() <= 4)
        && (long == 8 || (long >= 2 && memchr::memmem::find(value, b"::").is_some()))
        && groups.clone().any(|group| !matches!(group.len(), 0 | 2))
}

/// A version that a manifest asks for, or the tag of a field.
fn version(value: &[u8]) -> bool {
    let asked = matches!(value.first(), Some(b'^' | b'~'))
        && value.get(1).is_some_and(u8::is_ascii_digit)
        && value.contains(&b'.');
    asked || value.starts_with(b"workspace:") || value.starts_with(b"json:") || value.starts_with(b"yaml:")
}

/// `jjwt-api:0.11.2`: a library and its version.
fn coordinate(value: &[u8]) -> bool {
    let Some(colon) = memchr::memrchr(b':', value) else { return false };
    let version = &value[colon + 1..];
    let numbers =
        version.split(|byte| matches!(byte, b'.' | b'-' | b'+')).take_while(|part| part.iter().all(u8::is_ascii_digit));
    numbers.filter(|part| !part.is_empty()).count() >= 2
        && version.contains(&b'.')
        && value[..colon]
            .iter()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.' | b':'))
}

/// A format string.
fn format(value: &[u8]) -> bool {
    [&b"%s"[..], b"%d", b"%v", b"{}", b"{0}", b"\\w", b"\\d", b"[^", b"]+", b"[A-Z", b"[a-z", b"[0-9", b".*"]
        .iter()
        .any(|form| memchr::memmem::find(value, form).is_some())
}

/// A path, or the name of a file.
pub(in crate::sensitivity) fn path(value: &[u8]) -> bool {
    #[rustfmt::skip] // words, not code
    const ENDINGS: &[&[u8]] = &[
        b".txt", b".json", b".yml", b".yaml", b".pem", b".key", b".crt", b".cer", b".jks", b".p12", b".pfx",
        b".js", b".ts", b".py", b".go", b".rb", b".php", b".html", b".xml", b".conf", b".cfg", b".ini",
        b".md", b".sh", b".com", b".org", b".net", b".io", b".java", b".png", b".svg", b".jpg", b".css",
        b".log", b".env",
    ];
    value.get(1) == Some(&b':') && matches!(value.get(2), Some(b'\\')) && value[0].is_ascii_alphabetic()
        || value.starts_with(b"/") && value[1..].contains(&b'/') && Shape::of(value).run_length() > 2.6
        || value.starts_with(b"./")
        || value.starts_with(b"../")
        || value.starts_with(b"~/")
        || (value.len() < 80
            && ENDINGS.iter().any(|ending| {
                value.len() > ending.len() && value[value.len() - ending.len()..].eq_ignore_ascii_case(ending)
            }))
        || memchr::memmem::find(value, b"://").is_some()
        || (memchr::memchr_iter(b'/', value).count() > 1
            && Shape::of(value).run_length() > 3.2
            && !value.ends_with(b"="))
}

/// Whether a bare value is code: a name with members, a call, an index, with its brackets in order.
pub(super) fn code(value: &[u8]) -> bool {
    if value.first().is_some_and(|byte| matches!(byte, b'(' | b'[' | b'{' | b'$' | b'&' | b'<')) && value.len() < 4 {
        return true;
    }
    if matches!(value.first(), Some(b')' | b'.' | b'}' | b']')) || value.starts_with(b"##") {
        return true;
    }
    // `a.token||(b.key=`: two things, of which one is taken.
    if memchr::memmem::find(value, b"||").is_some() || memchr::memmem::find(value, b"&&").is_some() {
        return true;
    }
    // `(using password: YES)**` is how a server answers.
    let answer = value.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    if matches!(&value[..answer], b"YES" | b"NO")
        && answer < value.len()
        && !value[answer..].iter().any(u8::is_ascii_alphanumeric)
    {
        return true;
    }
    // `@password).tap(`
    if matches!(value.first(), Some(b'@' | b'$')) {
        let name = value[1..].iter().take_while(|byte| byte.is_ascii_lowercase() || **byte == b'_').count();
        if name > 1 && value.get(1 + name) == Some(&b')') {
            return true;
        }
    }
    // `!!str` of YAML
    if value.starts_with(b"!!") {
        return true;
    }
    let literal = value.split(|byte| !byte.is_ascii_alphanumeric()).next().unwrap_or_default();
    if literal.len() < value.len()
        && matches!(
            literal,
            b"None" | b"null" | b"nil" | b"true" | b"false" | b"undefined" | b"NULL" | b"True" | b"False"
        )
    {
        return true;
    }
    // `body.data.password}).error`: members of something, whatever closes behind them.
    let head = value.split(|byte| matches!(byte, b'(' | b')' | b'[' | b']' | b'{' | b'}')).next().unwrap_or_default();
    let closed = value[head.len()..].starts_with(b").") || value[head.len()..].starts_with(b"]).");
    if head.len() < value.len()
        && (head.contains(&b'.') || closed)
        && head.iter().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'.' | b'_'))
    {
        return true;
    }
    let mut open: Vec<u8> = Vec::new();
    let mut brackets = 0;
    for &byte in value {
        match byte {
            b'(' | b'[' | b'{' => {
                open.push(byte);
                brackets += 1;
            }
            b')' | b']' | b'}' => {
                let fits = matches!((open.pop(), byte), (Some(b'('), b')') | (Some(b'['), b']') | (Some(b'{'), b'}'));
                if !fits {
                    return false;
                }
            }
            _ => {}
        }
    }
    if brackets > 0 {
        // In order, or cut where a text or an argument begins.
        return value.iter().all(|byte| {
            byte.is_ascii_alphanumeric()
                || matches!(
                    byte,
                    b'(' | b')'
                        | b'['
                        | b']'
                        | b'{'
                        | b'}'
                        | b'_'
                        | b'.'
                        | b':'
                        | b'$'
                        | b'>'
                        | b'-'
                        | b'*'
                        | b'!'
                        | b'?'
                        | b'@'
                        | b'+'
                        | b'='
                        | b'%'
                        | b'/'
                )
        });
    }
    // `self.token`, `Config::token`, `$this->token`, `@token`, `user.api_key!`, `f.token?`.
    let shape = Shape::of(value);
    let member = memchr::memmem::find(value, b"->").is_some()
        || memchr::memmem::find(value, b"::").is_some()
        || memchr::memmem::find(value, b"?.").is_some();
    if member {
        return true;
    }
    if value.starts_with(b"@")
        || value.starts_with(b"$")
        || value.starts_with(b"&")
        || value.starts_with(b"*")
        || value.starts_with(b"!")
    {
        return value[1..].iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
            && !shape.random();
    }
    let dotted =
        value.contains(&b'.') && value.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'));
    dotted && !value[0].is_ascii_digit() && !shape.random()
}

/// Numbers with commas between them.
pub(super) fn row_of_numbers(value: &[u8]) -> bool {
    memchr::memchr_iter(b',', value).count() >= 7
        && value.iter().all(|byte| {
            byte.is_ascii_hexdigit() || matches!(byte, b',' | b' ' | b'x' | b'X' | b'\n' | b'\r' | b'\t' | b'\\')
        })
}

/// Whether each number is one more than the last.
pub(super) fn rising(value: &[u8]) -> bool {
    let numbers: Vec<i64> = value
        .split(|byte| !byte.is_ascii_alphanumeric())
        .filter(|one| !one.is_empty())
        .filter_map(|one| {
            let one = std::str::from_utf8(one).ok()?;
            one.strip_prefix("0x").map_or_else(|| one.parse().ok(), |hex| i64::from_str_radix(hex, 16).ok())
        })
        .collect();
    let steps = numbers.windows(2).filter(|pair| pair[1] - pair[0] == 1).count();
    steps * 3 > numbers.len() * 2
}
