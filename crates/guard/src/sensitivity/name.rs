//! What a name says of its value: a password, a secret, a key of some sort, or nothing.

use super::shape;

/// What the value behind a name would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A password: people choose it.
    Password,
    /// A secret, a token, a key that opens something: a machine made it, mostly.
    Secret,
    /// A key of any sort: only what chance wrote counts.
    Key,
}

/// Behind the noun, these say that the value is about the secret, not the secret.
#[rustfmt::skip] // words, not code
pub(super) const ABOUT: &[&str] = &[
    "name", "names", "id", "ids", "identifier", "file", "filename", "files", "path", "paths", "dir", "directory",
    "folder", "url", "uri", "urls", "endpoint", "host", "hostname", "type", "types", "length", "len", "size",
    "count", "limit", "limits", "max", "min", "field", "fields", "label", "hint", "policy", "expiry", "expires",
    "expire", "expiration", "ttl", "timeout", "age", "format", "version", "prefix", "suffix", "header", "headers",
    "index", "pattern", "regex", "regexp", "rule", "rules", "error", "errors", "message", "title", "placeholder",
    "page", "form", "button", "link", "class", "manager", "provider", "service", "handler", "helper", "reset",
    "changed", "required", "enabled", "disabled", "valid", "validity", "verified", "alg", "algorithm", "algo",
    "spec", "schema", "column", "table", "method", "mode", "source", "ref", "refs", "reference", "arn", "alias",
    "usage", "scope", "scopes", "info", "status", "state", "template", "variable", "env", "word", "words",
    "board", "frame", "frames", "ring", "pair", "pairs", "up", "down", "press", "code", "codes", "event",
    "strength", "score", "date", "time", "at", "by", "location", "locator", "store", "storage", "vault", "mount",
    "volume", "request", "response", "exception", "interface", "factory", "generator", "validator", "lifetime",
    "duration", "description", "desc", "comment", "kind", "owner", "user", "username", "email", "agent", "map",
    "list", "set", "group", "role", "issuer", "audience", "callback", "redirect", "server", "domain", "realm",
    "plugin", "module", "flow", "screen", "view", "controller", "test", "tests", "stone", "note", "mapping",
    "share", "boundary", "separator", "delimiter", "position", "offset", "bits", "bytes", "encoder", "decoder",
    "expired", "incorrect", "recent", "restriction", "mismatch", "encoding", "printer", "usages", "ops", "operations", "exchange", "agreement", "derivation", "wrap",
    "wrapping", "fingerprint", "thumbprint", "checksum", "digest", "sum", "salt", "within", "days", "hours",
    "minutes", "seconds", "hash", "hashed", "nonce", "attr", "attrs", "attribute", "attributes", "filter", "query",
];

/// In front of the noun, or in it, these say that the value may be known.
#[rustfmt::skip] // words, not code
pub(super) const KNOWN: &[&str] = &[
    "public", "pub", "csrf", "xsrf", "foreign", "primary", "partition", "sort", "cache", "idempotency", "dedupe",
    "max", "min", "num", "count", "next", "page", "continuation", "cursor", "fingerprint", "thumbprint",
    "checksum", "sha", "md5", "integrity", "etag", "publickey", "publickeytoken", "pubkey", "registry",
    "composite", "natural", "unique", "hot", "i18n", "translation", "locale", "lang", "css", "html", "dom",
    "sequence", "bucket", "object", "schema", "idx", "json", "xml", "random", "host_key", "known", "dedup",
    "routing", "sharding", "shard", "sentry_public", "verify", "verifying", "nextpage", "pagination", "ansible",
    "parser", "lexer", "syntax", "eos", "bos", "pad", "unk", "mask", "keyframe", "completion", "prompt",
    "publishable", "author", "authors", "coauthor", "label", "hint", "placeholder", "tooltip", "title", "forgot",
    "error", "err", "invalid", "advice", "enter", "encrypted", "nopasswd", "authenticity",
];

/// Of those, words of pages and models: a value behind them is a secret only where chance wrote it.
#[rustfmt::skip] // words, not code
const OF_PAGES: &[&str] = &[
    "label", "hint", "placeholder", "tooltip", "title", "prompt", "completion", "css", "html", "dom", "lang",
    "locale", "i18n", "translation",
];

/// Of those, words that stand in front of a password, too: `schemaPassword`, `registry.password`.
#[rustfmt::skip] // words, not code
const OF_PASSWORDS_TOO: &[&str] = &[
    "pub", "primary", "cache", "registry", "unique", "object", "bucket", "schema", "sequence", "shard", "random",
    "known", "ansible", "author", "authors", "xml", "json", "page", "parser", "verify",
];

/// In front of `key`, these make it one that opens something.
#[rustfmt::skip] // words, not code
pub(super) const OPENS: &[&str] = &[
    "api", "apis", "access", "private", "priv", "encryption", "encrypt", "secret", "auth", "authentication",
    "authorization", "account", "master", "signing", "sign", "signature", "admin", "service", "app",
    "application", "consumer", "shared", "subscription", "ssh", "webhook", "client", "aes", "hmac", "rsa", "des",
    "jwt", "session", "cookie", "crypto", "cipher", "deploy", "deployment", "license", "licence", "integration",
    "write", "read", "rest", "server", "bot", "user", "customer", "merchant", "developer", "dev", "prod",
    "production", "live", "token", "oauth", "ingestion", "ingest", "instrumentation", "function", "management",
    "security", "pass", "ec", "ecdsa", "ed25519", "wallet", "hex", "aws", "gcp", "azure", "google", "openai",
    "stripe", "mailgun", "sendgrid", "twilio", "datadog", "algolia", "heroku", "github", "gitlab", "slack",
    "anthropic", "gemini", "cohere", "mistral", "twitter", "facebook", "linkedin", "dropbox", "mapbox", "maps",
    "firebase", "sentry", "rapidapi", "rails", "flask", "django", "hook", "s3", "tsig", "wp", "nonce", "logged",
    "base64", "test", "db", "storage", "connection", "feed", "installation", "agent", "sas",
];

/// Words that end in `key` and open something.
#[rustfmt::skip] // words, not code
pub(super) const OPENING_WORDS: &[&str] = &[
    "apikey", "accesskey", "secretkey", "privatekey", "privkey", "authkey", "masterkey", "signingkey",
    "encryptionkey", "accountkey", "appkey", "consumerkey", "sharedkey", "servicekey", "sessionkey", "aeskey",
    "hmackey", "clientkey", "userkey", "licensekey", "passkey", "deploykey", "subscriptionkey", "serverkey",
    "keyauth",
];

pub(super) fn password(word: &str) -> bool {
    #[rustfmt::skip] // words, not code
    const WORDS: &[&str] = &[
        "password", "passwd", "passwort", "passphrase", "passcode", "pass", "pwd", "psw", "pswd", "passw",
        "passwords", "contrasena", "pw", "passwrd", "pwds",
    ];
    WORDS.contains(&word)
        || (word.len() > 4
            && (word.ends_with("password")
                || word.ends_with("passwd")
                || word.ends_with("pwd")
                || word.ends_with("passphrase")))
        || matches!(
            word,
            "dbpass"
                | "userpass"
                | "mypass"
                | "rootpass"
                | "smtppass"
                | "adminpass"
                | "ftppass"
                | "keypass"
                | "storepass"
                | "authpass"
                | "mailpass"
                | "requirepass"
                | "sshpass"
                | "masterauth"
                | "loginpass"
        )
        || (word.starts_with("password") && word.len() < 12)
}

pub(super) fn secret(word: &str) -> bool {
    matches!(
        word,
        "secret"
            | "secrets"
            | "secrete"
            | "secretkey"
            | "apisecret"
            | "clientsecret"
            | "appsecret"
            | "consumersecret"
            | "mysecret"
            | "sharedsecret"
            | "jwtsecret"
    ) || (word.ends_with("secret") && word.len() < 24)
        || matches!(
            word,
            "token"
                | "tokens"
                | "authtoken"
                | "accesstoken"
                | "apitoken"
                | "bearertoken"
                | "refreshtoken"
                | "usertoken"
                | "oauthtoken"
                | "sessiontoken"
                | "bottoken"
        )
        || (word.ends_with("token")
            && word.len() < 20
            && !matches!(
                word,
                "publickeytoken" | "pagetoken" | "nexttoken" | "nextpagetoken" | "csrftoken" | "xsrftoken" | "maxtoken"
            ))
}

pub(super) fn credential(word: &str) -> bool {
    matches!(
        word,
        "credential"
            | "credentials"
            | "creds"
            | "cred"
            | "auth"
            | "authorization"
            | "oauth"
            | "apiauth"
            | "basicauth"
            | "userauth"
            | "bearer"
            | "authdata"
    )
}

/// `storagekey`, `functionkey`, `hapikey`: written as one word.
pub(super) fn opens(word: &str) -> bool {
    word.strip_suffix("key").is_some_and(|what| OPENS.contains(&what) || matches!(what, "hapi" | "s"))
}

pub(super) fn key(word: &str) -> bool {
    matches!(word, "key" | "keys")
        || (word.ends_with("key") && (OPENING_WORDS.contains(&word) || opens(word)))
        || matches!(word, "mykey" | "keystring" | "nkey")
        // `loggedinkey`: of any such word only what chance wrote counts.
        || (word.len() > 5 && word.ends_with("key") && !matches!(word, "monkey" | "turkey" | "hockey" | "donkey" | "whiskey" | "jockey" | "hotkey" | "publickey" | "pubkey" | "rowkey" | "sortkey" | "mapkey" | "subkey" | "hashkey" | "cachekey" | "foreignkey" | "primarykey"))
}

/// What may stand behind the noun in the name of a function that takes the secret.
const TAKES: &[&str] =
    &["assign", "equals", "eq", "equal", "compare", "matches", "of", "is", "value", "append", "string", "text"];

/// A function that asks about a secret, or works on it, gets something else first.
#[rustfmt::skip] // words, not code
const ASKS: &[&str] = &[
    "check", "verify", "validate", "test", "has", "get", "find", "is", "compare", "hash", "encode",
    "decode", "encrypt", "decrypt", "assert", "expect", "generate",
];

/// What the name says; that of a function is stricter: it must take the secret, not work on it.
pub(super) fn kind_of(name: &[u8], function: bool) -> Option<Kind> {
    let mut words = shape::words(name, 16);
    // `PASSword`
    if words.iter().any(|word| word == "sword") {
        words = shape::words(&name.to_ascii_lowercase(), 16);
    }
    if function
        && (words.iter().any(|word| ASKS.contains(&word.as_str())) || words.last().is_some_and(|word| word == "pass"))
    {
        return None;
    }
    // What Java's directories call a password.
    if name.ends_with(b"SECURITY_CREDENTIALS") {
        return Some(Kind::Password);
    }
    let secret_of_a_person = words.last().is_some_and(|word| password(word));
    let mut kind = None;
    let mut noun = 0;
    let mut page = false;
    for (at, word) in words.iter().enumerate() {
        let word = word.as_str();
        if OF_PAGES.contains(&word) {
            page = true;
            continue;
        }
        if KNOWN.contains(&word) && !(secret_of_a_person && OF_PASSWORDS_TOO.contains(&word)) {
            return None;
        }
        let before = at.checked_sub(1).and_then(|before| words.get(before)).map(String::as_str);
        // `wifi_psk`; in longer names it is a word of protocols.
        let found = if password(word) || word == "psk" && at + 1 == words.len() && at < 2 {
            // `pass` alone also is what tests do; it is a noun of names such as `DB_PASS`, `smtp.pass`.
            Some(Kind::Password)
        } else if secret(word) {
            Some(Kind::Secret)
        } else if key(word) {
            let opens = OPENING_WORDS.contains(&word)
                || opens(word)
                || words[..at].iter().any(|word| OPENS.contains(&word.as_str()) || secret(word));
            Some(if opens { Kind::Secret } else { Kind::Key })
        } else if words.len() > 1 && matches!(word, "access" | "private" | "ticket") {
            Some(Kind::Key)
        } else if matches!(word, "salt" | "nonce" | "seed") {
            // Chance made it, and with it what hangs on it can be guessed.
            kind = Some(Kind::Key);
            noun = at;
            continue;
        } else if credential(word) {
            Some(if matches!(word, "auth" | "oauth") || before == Some("with") { Kind::Key } else { Kind::Secret })
        } else {
            None
        };
        if let Some(found) = found {
            kind = Some(match (kind, found) {
                (Some(Kind::Password), _) => Kind::Password,
                (Some(Kind::Secret), Kind::Key) => Kind::Secret,
                (_, found) => found,
            });
            noun = at;
        }
    }
    let kind = kind?;
    let mut behind = &words[noun + 1..];
    // `password_for_mail`: what it is for, not what is said of it.
    if let Some(end) = behind.iter().position(|word| matches!(word.as_str(), "for" | "of" | "in" | "to" | "with"))
        && end == 0
    {
        behind = &behind[..0];
    }
    // `passWord`
    if words[noun] == "pass" && behind.first().is_some_and(|word| word == "word") {
        behind = &behind[1..];
    }
    if behind.iter().any(|word| ABOUT.contains(&word.as_str()) || (function && !TAKES.contains(&word.as_str()))) {
        return None;
    }
    // `LABEL_STUDIO_API_KEY` may hold one, `label_password` holds a word.
    Some(if page { Kind::Key } else { kind })
}
