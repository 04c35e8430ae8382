//! Whether a value behind a telling name is the secret itself: not a stand-in, not code, not a hash of something known.

mod form;
mod spoken;

use super::{
    label::{Tie, Value},
    name::Kind,
    shape::{self, Shape},
};
use crate::names as lists;
use form::{code, rising, row_of_numbers, uuid};
pub(super) use form::{hash, known, opaque, path};
pub(super) use spoken::spoken;
use spoken::{ends_with_noun, fake, words_alone};

/// Judges the value of a name.
pub(super) fn judge(kind: Kind, value: &[u8], name: &[u8], place: &Value) -> bool {
    // `_auth = dXNlcjpwYXNzd29yZA==`
    if place.tie != Tie::Blank
        && value.len() >= 12
        && value.len().is_multiple_of(4)
        && name.to_ascii_lowercase().ends_with(b"auth")
        && super::scan::basic(value)
    {
        return true;
    }
    // What costs least goes first: most names stand in code and prose.
    let digits = value.iter().any(u8::is_ascii_digit);
    if value.len() < 4
        || (kind == Kind::Key && (!digits || value.len() < 16))
        || (kind == Kind::Secret && !digits && value.len() < 10)
    {
        return false;
    }
    if kind == Kind::Key && made_by_chance(name) {
        let tied = place.tie == Tie::Assign && place.quoted || shape::words(name, 4).len() > 1;
        return hash(value) && tied && Shape::of(value).letters() > 0 && !shape::stand_in(value);
    }
    if place.quoted && row_of_numbers(value) {
        // All of them alike, or one behind the other, are filled in.
        let mut numbers: Vec<&[u8]> =
            value.split(|byte| matches!(byte, b',' | b' ')).filter(|one| !one.is_empty()).collect();
        let all = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        return numbers.len() * 3 > all * 2 && numbers.len() >= 8 && !rising(value);
    }
    let stands_in =
        if kind == Kind::Password { shape::masked(value) || shape::sequence(value) } else { shape::stand_in(value) };
    // A variable of the environment holds the password itself, however weak: `MYSQL_ROOT_PASSWORD=root`.
    if kind == Kind::Password && default_of_setting(value, place) {
        return true;
    }
    if place.tie != Tie::Tag && validation(value) {
        return false;
    }
    if stands_in || known(value) || memchr::memmem::find(value, super::redact::MARK).is_some() {
        return false;
    }
    if same_as_name(name, value) || names_itself(name, value) || stands_for(value) {
        return false;
    }
    // `password=:param`: what a query is given later.
    if value[0] == b':' && value[1..].iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_') {
        return false;
    }
    if !place.quoted && (code(value) || type_name(value)) {
        return false;
    }
    let named = shape::words(name, 4).len() > 1 && place.tie != Tie::Blank;
    match kind {
        Kind::Password => password(value, name, place),
        Kind::Secret => secret(value, place),
        // A name of two words (`vendor_key`) may have a hash of hex digits; a lone `key` is the key of a map.
        // `key: deps-1f3a…`: the key of a cache.
        Kind::Key
            if value.rsplit(|byte| *byte == b'-').next().is_some_and(|end| end.len() < value.len() && hash(end)) =>
        {
            false
        }
        Kind::Key => {
            drawn(value)
                || (opaque(value)
                    && (value.len() >= 20 || place.quoted && name.to_ascii_lowercase().ends_with(b"auth"))
                    && !uuid(value)
                    && !hash(value))
                || (hash(value)
                    && (named || (place.tie == Tie::Assign && place.quoted))
                    && shape::Shape::of(value).letters() > 0)
        }
    }
}

/// Salts, nonces and seeds: only long hex counts. What a page's policy calls a nonce stands in each of its answers.
fn made_by_chance(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    [&b"salt"[..], b"nonce", b"seed"].iter().any(|word| name.ends_with(word))
}

/// `password = "user-password"`, `token: auth_token`: the value is made of the words of the name.
fn same_as_name(name: &[u8], value: &[u8]) -> bool {
    if Shape::of(value).digits > 0 || odd(value) {
        return false;
    }
    // `TRUSTSTORE_PASSWORD = "trustStorePassword"`
    let letters = |text: &[u8]| -> Vec<u8> {
        text.iter().filter(|byte| byte.is_ascii_alphabetic()).map(u8::to_ascii_lowercase).collect()
    };
    if shape::words(value, 2).len() > 1 && letters(name) == letters(value) {
        return true;
    }
    let names = shape::words(name, 16);
    let values = shape::words(value, 16);
    // `POSTGRES_PASSWORD=postgres` is the password that many have.
    let variable = name.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_');
    if variable && values.len() == 1 && values[0].len() >= 4 && !shape::names(value) {
        return false;
    }
    !values.is_empty() && values.iter().all(|word| names.contains(word))
}

/// What many leave as it came, given to a variable of the environment: `MYSQL_ROOT_PASSWORD=root`.
fn default_of_setting(value: &[u8], place: &Value) -> bool {
    place.variable
        && !place.quoted
        && (place.tie == Tie::Tight || (place.tie == Tie::Colon && place.alone))
        && std::str::from_utf8(value).is_ok_and(|value| lists::has("secret_values.defaults", value))
}

/// `required|min:8|confirmed`: what a form asks of a value.
fn validation(value: &[u8]) -> bool {
    memchr::memchr(b'|', value).is_some()
        && value.split(|byte| *byte == b'|').all(|rule| {
            let name = rule.split(|byte| *byte == b':').next().unwrap_or_default();
            name.len() >= 2 && name.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_')
        })
        && value.split(|byte| *byte == b'|').any(|rule| {
            let name = rule.split(|byte| *byte == b':').next().unwrap_or_default();
            matches!(
                name,
                b"required" | b"nullable" | b"sometimes" | b"string" | b"confirmed" | b"min" | b"max" | b"present"
            )
        })
}

/// `String!`, `Password?`: the type of a field.
fn type_name(value: &[u8]) -> bool {
    let Some((last, body)) = value.split_last() else { return false };
    matches!(last, b'!' | b'?')
        && body.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'[' | b']' | b'!'))
        && body.first().is_some_and(u8::is_ascii_alphabetic)
        && Shape::of(body).digits == 0
        && match body {
            b"String" | b"string" | b"str" | b"Int" | b"ID" | b"Boolean" | b"Text" => true,
            // `Password!` is somebody's password.
            _ => body[0].is_ascii_uppercase() && !shape::names(body),
        }
}

/// `GetPasswordData: "ec2:GetPasswordData"`.
fn names_itself(name: &[u8], value: &[u8]) -> bool {
    // `CopySourceCustomerKeyMD5: "CustomerKeyMD5"`
    if value.len() >= 8 && name.len() > value.len() && name[name.len() - value.len()..].eq_ignore_ascii_case(value) {
        return true;
    }
    let Some(before) = value.len().checked_sub(name.len() + 1) else { return false };
    name.len() >= 6 && matches!(value[before], b':' | b'.' | b'/') && value[before + 1..].eq_ignore_ascii_case(name)
}

/// `POSTGRES_PASSWORD` as a value: the name of what would stand there.
pub(super) fn stands_for(value: &[u8]) -> bool {
    let shouted = value.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_');
    shouted
        && value.contains(&b'_')
        && shape::words(value, 8).iter().any(|word| {
            matches!(
                word.as_str(),
                "password" | "passwd" | "pass" | "pwd" | "secret" | "token" | "key" | "user" | "credentials"
            )
        })
}

fn password(value: &[u8], name: &[u8], place: &Value) -> bool {
    if value.len() > 128 {
        return secret(value, place);
    }
    let shape = Shape::of(value);
    if shape.letters() + shape.digits == 0 {
        return false;
    }
    if in_fours(value) {
        return place.quoted || place.alone;
    }
    if memchr::memchr(b' ', value).is_some() {
        if place.quoted && name.to_ascii_lowercase().ends_with(b"phrase") && words_alone(value) {
            return true;
        }
        // A sentence about passwords, not one.
        let strange = value.iter().filter(|byte| byte.is_ascii_digit() || STRANGE.contains(byte)).count();
        return place.quoted && strange >= 3 && shape.digits > 0 && shape.marks * 3 < value.len();
    }
    // Words that name what stands there, and nothing else; words in another alphabet.
    let plain = shape.digits == 0 && !odd(value);
    if fake(value) || (plain && (!value.is_ascii() || shape::names(value))) {
        return false;
    }
    let masked = value.ends_with(b"*") && shape.marks == 1;
    let escape = value.starts_with(b"\\") && value.len() < 8;
    let fields = memchr::memchr_iter(b':', value).count() > 2;
    let words = shape::words(value, 8);
    let algorithm = !words.is_empty() && words.iter().all(|word| lists::has("secret_values.algorithms", word));
    if algorithm
        || masked
        || escape
        || fields
        || value[0] == b'/'
        || value.ends_with(b":")
        || value.starts_with(b"--")
        || path(value)
    {
        return false;
    }
    if place.quoted {
        return !member(value, &shape) && (shape.letters() + shape.marks > 0 || shape.digits > 5);
    }
    if shape.letters() == 0 && shape.marks == 0 {
        // `Status.WRONG_PASSWORD = 3221225578` is one of many numbers with names.
        let numbered = place.tie == Tie::Assign && !place.alone && place.setting;
        return (5..=12).contains(&shape.digits) && !numbered && !matches!(place.tie, Tie::Blank | Tie::Comma);
    }
    // Bare: a shell's or a file's value, or the name of a variable.
    let word = value.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'));
    if !word {
        return shape.letters() > 2 || shape.digits > 3;
    }
    let mixed = shape.digits > 0 && shape.letters() > 2;
    let shouted = name.iter().any(u8::is_ascii_uppercase) && !name.iter().any(u8::is_ascii_lowercase);
    if word_of_settings(value, name, place, &shape) {
        return true;
    }
    match place.tie {
        // `--password secret-A1`
        Tie::Blank if name.starts_with(b"-") && mixed => true,
        // `host=db user=app password=opensesame`
        // `…&password=macaron&…`: a form or a query as it is sent.
        Tie::Tight if place.sent && shape.lower == value.len() && value.len() >= 5 && !shape::names(value) => true,
        Tie::Tight if place.beside_user && shape.letters() >= 4 && shape.marks == 0 => true,
        Tie::Tight | Tie::Tag => mixed || (shouted && shape.marks == 0 && shape.letters() >= 4),
        Tie::Colon => {
            let small = (shape.lower == value.len() || place.alone && shape.upper == 0 && value.len() >= 6)
                && value.len() >= if place.beside_user { 4 } else { 5 }
                && (place.alone || (place.beside_user && !member(value, &shape)));
            !value.contains(&b'.') && (mixed || small || (shouted && shape.marks == 0 && shape.letters() >= 4))
        }
        // `password = base64_password`: the name of something else.
        Tie::Assign if value[value.len() - 1].is_ascii_lowercase() && ends_with_noun(value) => false,
        // `db.password = Kx82mQp`
        Tie::Assign if place.alone && place.setting && mixed && value.len() >= 6 => {
            !value.contains(&b'.') && !shape::names(value)
        }
        // `password = m4ria_root`, on a line of its own.
        Tie::Assign if place.alone && value.len() >= 7 && digits_for_letters(value) > 0 => !value.contains(&b'.'),
        // `password = correcthorse9`
        Tie::Assign if place.alone && mixed && value.len() >= 10 && !value.contains(&b'_') => {
            !value.contains(&b'.') && !shape::names(value)
        }
        _ => shape.random() || (mixed && shape.digits > 1 && !value.contains(&b'.') && value.len() >= 8),
    }
}

/// The name of something in code, or code between quotes: `user.password`, `ds:ResetPassword`, `".md5(`.
fn member(value: &[u8], shape: &Shape) -> bool {
    let code = matches!(value[0], b'"' | b'\'' | b'`')
        && value.get(1).is_some_and(|next| matches!(next, b'.' | b' ' | b'+' | b','));
    let named = shape.digits == 0
        && shape.marks > 0
        && value
            .iter()
            .all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'.' | b'_' | b':' | b'/' | b'-' | b'\\'));
    let lower = shape.upper == 0 && value.contains(&b'_') && !(shape.letters() >= 8 && shape.unusual() > 5.2);
    let selector =
        matches!(value[0], b'#' | b'.') && shape.digits == 0 && !value[1..].iter().any(|byte| STRANGE.contains(byte));
    let expanded = value.starts_with(b"'$") || value.starts_with(b"\"$");
    // `"os.environ['X']"`
    let head = value.iter().take_while(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'.' | b'_')).count();
    let asked = matches!(value.get(head), Some(b'(' | b'['))
        && matches!(value[value.len() - 1], b')' | b']')
        && (value[..head].contains(&b'.') || matches!(&value[..head], b"getenv" | b"env" | b"input" | b"prompt"));
    code || selector
        || expanded
        || asked
        || (named && (lower || value.iter().any(|byte| matches!(byte, b'.' | b':' | b'/' | b'\\'))))
}

/// A word behind a name that has its line to itself, or that is an option: `dspassword=LetsDocker` in a file of
/// settings, `-Dstore.password=changeit`, `--password VelvetSweatshop`.
fn word_of_settings(value: &[u8], name: &[u8], place: &Value, shape: &Shape) -> bool {
    if place.quoted || shape.letters() != value.len() || value.len() < 5 || shape::names(value) {
        return false;
    }
    let dotted = name.contains(&b'.');
    // `repoPassword = sonatypePassword`: the name of something else.
    let named = shape.upper > 0
        && value[0].is_ascii_lowercase()
        && shape::words(value, 8).last().is_some_and(|word| shape::names(word.as_bytes()));
    if named {
        return false;
    }
    match place.tie {
        Tie::Tight => place.alone || dotted,
        Tie::Assign => place.alone && !dotted,
        Tie::Blank => name.starts_with(b"--") && value.len() >= 6 && shape.upper > 0,
        _ => false,
    }
}

fn secret(value: &[u8], place: &Value) -> bool {
    let shape = Shape::of(value);
    if place.quoted && in_fours(value) {
        return true;
    }
    // `s3cr3t`
    if place.quoted && value.len() >= 6 && shape.marks == 0 && digits_for_letters(value) >= 2 && !fake(value) {
        return true;
    }
    if value.len() < 8 || memchr::memchr(b' ', value).is_some() || path(value) {
        return false;
    }
    // Nobody's key counts up.
    let counts = shape::counting(value);
    if counts >= 9 && counts * 3 >= value.len() {
        return false;
    }
    if uuid(value) || (shape.hex && shape.digits > 0 && shape.letters() > 0 && value.len() >= 10) {
        return true;
    }
    if (value.len() >= 10 || shape.marks > 0) && shape.random() && shape::entropy(value) > 2.8 {
        return true;
    }
    let behind_name = place.quoted || !matches!(place.tie, Tie::Blank);
    // `Kerze4Turm`, `T0pS3cr3t`: a person made it up. Without quotes it may be a type: `OAuth2Token`.
    if (place.quoted || place.alone && digits_for_letters(value) > 0)
        && shape.upper > 0
        && shape.lower > 0
        && shape.digits > 0
        && shape.marks == 0
        && !fake(value)
    {
        return true;
    }
    if shape.letters() == 0 && shape.marks == 0 {
        return behind_name && (15..=64).contains(&shape.digits);
    }
    // Words that somebody made one of: longer than words are, all of one case.
    if shape.letters() == value.len() && (shape.upper == 0 || shape.lower == 0) {
        if value.len() >= 10 && shape.unusual() > 5.8 && behind_name && shape::distinct(value) >= 7 {
            return true;
        }
        let settings = place.tie == Tie::Tight && place.alone && value.len() >= 10;
        return (settings || (place.quoted && value.len() >= 15)) && shape::distinct(value) >= 4 && !fake(value);
    }
    // Long words with digits between letters; passwords with marks.
    if shape.letters() == 0 || shape.digits == 0 && !value.ends_with(b"=") {
        return false;
    }
    if behind_name && shape.marks == 0 && shape.digits >= 3 && value.len() >= 24 {
        return true;
    }
    if shape.marks == 0 && value.len() >= 10 && shape.digits >= 3 && shape.unusual() > 4.4 {
        return true;
    }
    let kinds = usize::from(shape.lower > 0)
        + usize::from(shape.upper > 0)
        + usize::from(shape.digits > 0)
        + usize::from(odd(value));
    // `CLIENT_SECRET=newS3cretKey`: a person made it up, and nobody names things like that.
    let digit_within = digits_for_letters(value) > 0;
    if place.variable
        && place.tie == Tie::Tight
        && !place.quoted
        && kinds >= 3
        && shape.marks == 0
        && value.len() >= 10
        && digit_within
    {
        return true;
    }
    if place.quoted && kinds >= 3 && value.len() >= 10 && digits_for_letters(value) >= 2 && !fake(value) {
        return true;
    }
    // `jwtSecret = JWTSuperSecretKey77`, on a line of its own in a file of settings.
    if place.alone && place.setting && kinds >= 3 && shape.marks == 0 && value.len() >= 12 && shape.upper >= 2 {
        return !fake(value) && !shape::names(value);
    }
    // `AUTHKEY = 'vkidSQkgAHc='`
    if place.quoted && value.len() >= 12 && value.len().is_multiple_of(4) && value.ends_with(b"=") && kinds >= 2 {
        return shape.upper >= 3 && shape.lower >= 3;
    }
    if place.quoted || place.tie == Tie::Tight {
        kinds >= 3 && odd(value) && !shape::names(value)
    } else {
        kinds == 4 && odd(value)
    }
}

/// `xbja vgc6 gv4i i4qq`: four groups of four and more, as application passwords and seeds are shown to people.
fn in_fours(value: &[u8]) -> bool {
    let fours = value.len() >= 19
        && (value.len() + 1).is_multiple_of(5)
        && value.iter().enumerate().all(|(at, byte)| {
            if at % 5 == 4 { *byte == b' ' } else { byte.is_ascii_lowercase() || byte.is_ascii_digit() }
        });
    // Words of four letters are words.
    fours && (Shape::of(value).digits > 1 || Shape::of(value).unusual() > 5.4)
}

/// A key that was drawn from all of a keyboard: `q4t7w!z%C*F-JaNd…`.
fn drawn(value: &[u8]) -> bool {
    let shape = Shape::of(value);
    let strange = value.iter().filter(|byte| STRANGE.contains(byte)).count();
    value.len() >= 16
        && strange >= 3
        && shape.digits >= 2
        && shape.upper >= 2
        && shape.lower >= 2
        && shape.run_length() < 2.4
        && !value.iter().any(|byte| matches!(byte, b' ' | b'(' | b')' | b'{' | b'}' | b'[' | b'\\'))
}

/// Digits that stand for letters: `sc4laS3cret`. How often one stands between letters.
fn digits_for_letters(value: &[u8]) -> usize {
    value
        .windows(3)
        .filter(|three| three[0].is_ascii_alphabetic() && three[1].is_ascii_digit() && three[2].is_ascii_lowercase())
        .count()
}

/// What passwords hold and names do not.
const STRANGE: &[u8] = b"!@#$%^&*?~";

/// Whether a password would hold it and a name would not.
fn odd(value: &[u8]) -> bool {
    value.iter().any(|byte| STRANGE.contains(byte))
}
