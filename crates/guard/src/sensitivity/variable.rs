//! Variables of an environment that open something, and so are not handed to commands that a model writes.
//!
//! Environments differ from texts in two ways: a value is what stands there, never an example of one, and a variable
//! that is withheld for nothing costs little. So the detectors decide first, and where they find nothing a name that
//! promises a credential is believed, unless its value plainly is something else: a path, an address, a switch, a
//! count.

use super::{
    super::names,
    Level,
    name::{credential, is_known, is_public, key, opened_by, opens, password, secret},
    scan, shape,
    value::{hash, opaque, path},
};

/// What the signature is called that opens an address.
const SIGNING: &[&str] = &["sig", "signature"];
/// The shortest one.
const SHORTEST_SIGNATURE: usize = 16;

/// How far from the scheme of an address its password may end.
const LONGEST_LOGIN: usize = 4096;

/// Whether a variable of the environment holds something that opens something: a password, a token, a key, an address
/// with a password in it.
///
/// Names are taken as `NAME`, values as the process has them, without quotes.
pub fn is_secret_variable(name: &str, value: &str) -> bool {
    let found = |text: &str| scan::hits(text, Level::Secret).iter().any(|hit| hit.level == Level::Secret);
    let login = memchr::memmem::find_iter(value.as_bytes(), b"://")
        .any(|at| holds_login(value.as_bytes().get(at + 3..).unwrap_or_default()));
    login
        || promises(name, value).is_some()
        || sets(value)
        || is_chance(name, value)
        || found(value)
        || found(&format!("{name}={value}"))
}

/// Whether chance wrote all of a value, and the name does not say that everybody may see it.
fn is_chance(name: &str, value: &str) -> bool {
    const SHORTEST: usize = 20;
    value.len() >= SHORTEST
        && opaque(value.as_bytes())
        && !shape::words(name.as_bytes(), name.len()).iter().any(|word| names::has("variables.public", word))
}

/// Whether a name promises such a variable, of whose value nothing is known.
pub(crate) fn is_secret_name(name: &str) -> bool {
    const UNKNOWN: &str = "long1enough to be one";
    let words = shape::words(name.as_bytes(), name.len());
    let address = match words.as_slice() {
        [.., store, last] => matches!(last.as_str(), "url" | "uri") && names::has("variables.stores", store),
        _ => false,
    };
    address || words.last().is_some_and(|last| last == "dsn") || promises(name, UNKNOWN).is_some()
}

/// Whether one of the settings in a value does: `Server=db;Password=swordfish`, `-Dstore.password=changeit -Xmx1g`.
fn sets(value: &str) -> bool {
    let ends = |c: char| c.is_whitespace() || matches!(c, ';' | '&' | '?' | ',' | '"' | '\'');
    value.split(ends).filter_map(|setting| setting.split_once('=')).any(|(name, value)| {
        let signs = || shape::words(name.as_bytes(), name.len()).last().is_some_and(|last| SIGNING.contains(&&**last));
        !value.is_empty() && matches!(promises(name, value), Some(Noun::Password | Noun::Secret | Noun::Key))
            || value.len() >= SHORTEST_SIGNATURE && signs()
    })
}

/// Whether an address, from behind its scheme, has a password or a token before its host.
fn holds_login(address: &[u8]) -> bool {
    let window = address.get(..LONGEST_LOGIN).unwrap_or(address);
    let end = window.iter().position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'<' | b'>'));
    let window = window.get(..end.unwrap_or(window.len())).unwrap_or_default();
    let host = |byte: &u8| matches!(byte, b'/' | b'?' | b'#');
    let authority = window.split(host).next().unwrap_or_default();
    let Some(colon) = memchr::memchr(b':', authority) else {
        // `https://ghp_…@host`; a name alone (`https://git@host`) opens nothing.
        return memchr::memrchr(b'@', authority)
            .and_then(|at| authority.get(..at))
            .is_some_and(|user| opaque(user) || hash(user));
    };
    // A password may hold what ends a host: `app:a/b@db`. A port does not: `host:8080/x@2`.
    let behind = authority.get(colon + 1..).unwrap_or_default();
    let is_port = behind.iter().all(u8::is_ascii_digit) && behind.len() < window.len() - colon - 1;
    !is_port && !behind.is_empty() && window.get(colon + 1..).is_some_and(|rest| rest.contains(&b'@'))
}

/// The noun of a name that promises a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noun {
    Password,
    /// A secret, a token, credentials.
    Secret,
    /// A key that opens something: `API_KEY`.
    Key,
    /// A word that does so only at the end of a name: `DEPLOY_KEY`, `REDISCLI_AUTH`; not `KEY_BINDINGS`, `AUTH_MODE`.
    Last,
    /// A word that ends like a key: `SSHKEY`, and `LACKEY`.
    Joined,
    /// A word that may mean one: `STRIPE_SK`, `AUTH_HEADER`, `EOS_TOKEN`. Only what chance wrote counts.
    Chance,
}

fn noun(words: &[String], at: usize) -> Option<Noun> {
    let word = words.get(at)?.as_str();
    let before = words.get(..at).unwrap_or_default();
    let is_last = at + 1 == words.len();
    let of_vocabulary = || before.last().is_some_and(|word| names::has("secret_values.of_vocabularies", word));
    let one = word.strip_suffix('s').unwrap_or(word);
    let found = match word {
        _ if names::has("variables.secret", word) => Noun::Secret,
        _ if is_last && names::has("variables.secret_last", word) => Noun::Last,
        "auth" | "oauth" => Noun::Chance,
        _ if is_last && names::has("variables.chance_last", word) => Noun::Chance,
        _ if one == "token" && of_vocabulary() => Noun::Chance,
        _ if names::has("secret_values.no_passwords", word) => Noun::Chance,
        _ if password(word) || word.len() > 4 && word.ends_with("pass") => Noun::Password,
        _ if secret(word) || credential(word) => Noun::Secret,
        _ if opens(word) => Noun::Key,
        _ if one == "key" => {
            if opened_by(before) {
                Noun::Key
            } else {
                Noun::Last
            }
        }
        _ if key(word) => Noun::Joined,
        _ => return None,
    };
    (is_last || !matches!(found, Noun::Last | Noun::Joined)).then_some(found)
}

/// The noun by which a name says that the value is a credential, if the value does not say otherwise.
fn promises(name: &str, value: &str) -> Option<Noun> {
    // The folders that shells are in and were in.
    if matches!(name, "PWD" | "OLDPWD") {
        return None;
    }
    let words = shape::words(name.as_bytes(), name.len());
    let nouns = || (0..words.len()).rev().filter_map(|at| Some((at, noun(&words, at)?)));
    let (at, noun) = nouns().find(|(_, noun)| *noun != Noun::Chance).or_else(|| nouns().next())?;
    let (before, behind) = (words.get(..at).unwrap_or_default(), words.get(at + 1..).unwrap_or_default());
    let is = |words: &[String], list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let bytes = value.as_bytes();
    // `VAPID_PUBLIC_KEY`, `CACHE_KEY`: the word before says that it may be known.
    let known = match noun {
        Noun::Key => is_public(&words, at),
        Noun::Last => is_known(&words, at),
        _ => false,
    };
    // `MAX_TOKENS=4096`, `TOKEN_BUDGET=8k`: how many, not which.
    let counts = noun != Noun::Password
        && (!behind.is_empty()
            || words.get(at).is_some_and(|word| word.ends_with('s'))
            || is(before, &["max", "min", "num", "count", "limit"]));
    let by_chance = value.split_whitespace().any(|word| opaque(word.as_bytes()));
    let otherwise = is_switch(value)
        || is_place(bytes)
        || is_address(bytes)
        || known
        || counts && is_count(bytes)
        || !by_chance && (noun == Noun::Chance || behind.iter().any(|word| names::has("secrets.about", word)))
        || noun == Noun::Joined && bytes.len() < if bytes.iter().any(u8::is_ascii_digit) { 8 } else { 16 };
    (!otherwise).then_some(noun)
}

/// `true`, `off`, `1`: something is to be done or not.
fn is_switch(value: &str) -> bool {
    ["true", "false", "yes", "no", "on", "off", "none", "null", "0", "1"]
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word))
}

/// `4096`, `0.5`, `8k`, `30min`.
fn is_count(value: &[u8]) -> bool {
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'_')).count();
    let unit = value.get(digits..).unwrap_or_default();
    value.len() < 10
        && value.first().is_some_and(u8::is_ascii_digit)
        && unit.len() <= 3
        && unit.iter().all(u8::is_ascii_alphabetic)
}

/// Where something lies. What lies there is guarded where it is read.
fn is_place(value: &[u8]) -> bool {
    let begins = [&b"/"[..], b"./", b"../", b"~/"].iter().any(|with| value.starts_with(with))
        || value.get(1) == Some(&b':') && value.get(2) == Some(&b'\\');
    begins && path(value)
}

/// `https://…`, of which logins and the detectors have been asked.
fn is_address(value: &[u8]) -> bool {
    let scheme =
        value.iter().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')).count();
    scheme > 1 && value.get(scheme..).is_some_and(|rest| rest.starts_with(b"://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g9_variables_that_open_something_are_secret() {
        for (name, value) in [
            ("DATABASE_URL", "postgres://app:hunter2@db.internal/orders"),
            ("DATABASE_URL", "postgres://user:password@localhost/db"),
            ("REDIS_URL", "redis://:swordfish@cache:6379/0"),
            ("MONGO_URI", "mongodb+srv://app:a/b?c@cluster0.mongodb.net/x"),
            ("HTTPS_PROXY", "http://bob:pw@proxy.corp:3128"),
            ("PIP_INDEX_URL", "https://glpat-Zk3sR8vNq2LxTf5yWb7c@gitlab.example.com/simple"),
            ("MYSQL_PWD", "root"),
            ("PGPASSWORD", "1234"),
            ("MYSQL_ROOT_PASSWORD", "password"),
            ("SMTP_PASS", "letmein"),
            ("LDAPPASS", "opensesame"),
            ("GITHUB_PAT", "abc123"),
            ("AZURE_DEVOPS_EXT_PAT", "zzzz"),
            ("OPENAI_KEY", "hidden"),
            ("SOME_API_KEY", "hidden"),
            ("apiKey", "x"),
            ("APIKEY", "x"),
            ("DEPLOY_KEY", "abc"),
            ("FOO_KEY", "short"),
            ("SSHKEY", "a1b2c3d4e5"),
            ("CURSOR_API_KEY", "key_1a2b"),
            ("NEXT_AUTH_SECRET", "s"),
            ("FB_PAGE_ACCESS_TOKEN", "EAAB"),
            ("FB_VERIFY_TOKEN", "my words"),
            ("GITHUB_TOKEN", "hidden"),
            ("TOKEN", "12345678"),
            ("SECRET_KEY_BASE", "abc"),
            ("GITHUB_TOKEN_PROD", "hidden"),
            ("REDISCLI_AUTH", "swordfish"),
            ("NPM_CONFIG__AUTH", "Ym9iOnB3"),
            ("npm_config_//registry.npmjs.org/:_authToken", "x"),
            ("GOOGLE_CREDENTIALS", "{\"type\": \"service_account\"}"),
            ("db_password", ""),
            ("SETTINGS", "Server=db;User Id=app;Password=Tr0ub4dor&3;"),
            ("PG_CONNECTION", "host=db user=app password=x1"),
            ("JAVA_OPTS", "-Djavax.net.ssl.trustStorePassword=changeit -Xmx1g"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x=y,api-key=abc"),
            ("SECRET_AUTH_FOO", "abc"),
            (
                "DEPLOY",
                "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ\n-----END OPENSSH PRIVATE KEY-----",
            ),
            ("WHATEVER", "ghp_R7dK2mXq9LbT4vWn8ZsY1cJf6HgP3aEu5oQi"),
            ("STRIPE_SK", "zX9kQ2mW7vR4tY8uB3nL6pS1"),
            ("DISCORD_BOT", "zX9kQ2mW7vR4tY8uB3nL6pS1"),
            ("AUTH_HEADER", "zX9kQ2mW7vR4tY8uB3nL6pS1"),
            ("AUTH_HEADER", "Bearer zX9kQ2mW7vR4tY8uB3nL6pS1"),
            ("OAUTH_REFRESH", "8KdPq2Lx-Zr7mTw_Yc4Nb9Vs"),
            ("PAD_TOKEN", "zX9kQ2mW7vR4tY8uB3nL6pS1"),
            ("STOP_TOKEN_SECRET", "abc"),
            ("BYPASS_PASSWORD", "abc"),
            ("ENCRYPTION_SALT", "grains"),
            ("PIN", "4711"),
            ("FERNET", "cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4="),
            ("B64", "q83vEjRWeJCrze8SNFZ4kKvN7w=="),
            ("UPLOAD", "https://files.example/a?se=2027&sig=kQ2mW7vR4tY8uB3nL6pS1zX9%3D"),
            ("UPLOAD", "https://b.s3.amazonaws.com/a?X-Amz-Signature=0123456789abcdef0123456789abcdef"),
        ] {
            assert!(is_secret_variable(name, value), "{name}={value}");
        }
    }

    #[test]
    fn g9_variables_that_only_sound_alike_are_handed_on() {
        for (name, value) in [
            ("MAX_TOKENS", "4096"),
            ("MAX_OUTPUT_TOKENS", "8k"),
            ("MAX_TOKEN", "512"),
            ("TOKEN_BUDGET", "8000"),
            ("TOKENIZERS_PARALLELISM", "false"),
            ("PATH", "/usr/local/bin:/usr/bin:/nix/store/4k8z0j3q9r7v5x1c2b6n8m0l-git-2.44.0/bin"),
            ("HOME", "/home/ada"),
            ("PWD", "/"),
            ("OLDPWD", "/tmp"),
            ("LANG", "en_US.UTF-8"),
            ("XDG_SESSION_ID", "2"),
            ("XDG_RUNTIME_DIR", "/run/user/1000"),
            ("DESKTOP_SESSION", "gnome"),
            ("SSH_AUTH_SOCK", "/tmp/ssh-XXXXabcdef/agent.1234"),
            ("SSH_AUTH_SOCK", "/run/user/1000/keyring/ssh"),
            ("SSH_CONNECTION", "10.0.0.1 52000 10.0.0.2 22"),
            ("SSH_ASKPASS", "/usr/bin/ksshaskpass"),
            ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1000/bus"),
            ("CARGO_HOME", "/root/.cargo"),
            ("VIRTUAL_ENV", "/srv/.venv"),
            ("KEYBOARD", "us"),
            ("KEYMAP", "de-latin1"),
            ("MONKEY", "george the 3rd"),
            ("KEY_BINDINGS", "vim"),
            ("CACHE_KEY", "deps-linux-3"),
            ("VAPID_PUBLIC_KEY", "BNbxGYNMhEIi9zrneh7mqV4oUanjLUK3m"),
            ("AUTH_MODE", "ldap"),
            ("AUTH_BACKEND", "ldap"),
            ("USE_AUTH", "true"),
            ("JWT_ALGORITHM", "HS256"),
            ("PASSWORD_MIN_LENGTH", "12"),
            ("PGPASSFILE", "/home/ada/.pgpass"),
            ("TOKEN_URL", "https://login.example.com/oauth/token"),
            ("GOOGLE_APPLICATION_CREDENTIALS", "/home/ada/keys/service.json"),
            ("SECRETS_MANAGER_REGION", "us-east-1"),
            ("COMPAT", "1"),
            ("PYTHONHASHSEED", "0"),
            ("RANDOM_SEED", "42"),
            ("BYPASS", "1"),
            ("BYPASS_CACHE", "all"),
            ("COMPASS", "north"),
            ("GIT_ASKPASS", "git-gui--askpass"),
            ("SSH_ASKPASS_REQUIRE", "prefer"),
            ("EOS_TOKEN", "</s>"),
            ("PAD_TOKEN", "<|endoftext|>"),
            ("UNK_TOKEN", "[UNK]"),
            ("COUNTRY_SK", "Slovakia"),
            ("CHAT_BOT", "helper"),
            ("AUTH_HEADER", "X-Forwarded-User"),
            ("OAUTH_PROVIDER", "github"),
            ("HTTP_PROXY", "http://proxy.corp:3128/a@b"),
            ("REPOSITORY", "https://git@github.com/a/b"),
            ("LS_COLORS", "rs=0:di=01;34:ln=01;36:mh=00:pi=40;33:*.tar=01;31"),
            ("HARMLESS", "shown"),
            ("EDITOR", "vim"),
            ("GIT_COMMIT", "4f2a9c1e8b7d6a5f3e2c1b0a9f8e7d6c5b4a3f2e"),
            ("BUILD_ID", "zX9kQ2mW7vR4tY8uB3nL6pS1"),
            ("TRACE_PARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
            ("SIGNING_ALG", "HS256"),
            ("PIN_VERSIONS", "strict"),
            ("DOCS", "https://example.com/a?signature=none"),
        ] {
            assert!(!is_secret_variable(name, value), "{name}={value}");
        }
    }

    #[test]
    fn g6_names_alone_promise_secrets() {
        for name in ["PASSWORD", "GITHUB_TOKEN", "API_KEY", "DATABASE_URL", "REDIS_URI", "SENTRY_DSN", "PGPASSWORD"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["HOME", "API_URL", "BASE_URL", "URL", "EOS_TOKEN", "KEY_BINDINGS", "PATH", "VAPID_PUBLIC_KEY", ""]
        {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn g9_hostile_variables_take_linear_time() {
        for piece in ["://", "://:a", "://a:b", "@", "TOKEN_", "a:1/", "key_", "password=x;"] {
            loopwright_testing::growth::grows_in_line(piece, 30_000, |size| {
                let text = piece.repeat(size / piece.len());
                is_secret_variable("X", &text);
                is_secret_variable(&text, "x");
            });
        }
    }
}
