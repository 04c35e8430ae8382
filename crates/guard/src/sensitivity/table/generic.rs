//! Forms that belong to nobody: keys in armour, tokens that say so, passwords in addresses, labels with values, people.

use super::super::{
    Level,
    detector::{Check, Detector, Find, near, token},
};

pub(super) const TABLE: &[Detector] = &[
    token(
        "private-key",
        "a private key",
        &["-----BEGIN", "---- BEGIN"],
        r"(?i)^-----?\s?BEGIN [A-Z0-9 _]{0,60}PRIVATE KEY(?: BLOCK)?\s?-----?",
    )
    .check(Check::PrivateKey),
    token(
        "putty-key",
        "a PuTTY private key",
        &["Private-Lines:"],
        r"^Private-Lines:\s{0,3}\d{1,3}(?:\r?\n|\\n|\\r\\n)((?:[A-Za-z0-9+/=]{4,80}(?:\r?\n|\\r?\\?n|$)){1,80})",
    )
    .check(Check::None),
    token(
        "private-key-base64",
        "a private key in base64",
        &["LS0tLS1CRUdJTi", "LS0tLS1CRUdJTiB", "tLS0tLUJFR0lO"],
        r"^(?:LS0tLS1CRUdJTi|tLS0tLUJFR0lO)[A-Za-z0-9+/]{20,4000}={0,2}",
    )
    .check(Check::PrivateKey),
    // The first bytes of a key without its armour: a sequence, the version, a long number or the name of an algorithm.
    token(
        "private-key-der",
        "a private key",
        &["MIIB", "MIIC", "MIIE", "MIIJ", "MHcCAQEE", "MIGHAgEA", "MIGkAgEB"],
        r"^(?:MII[A-Za-z0-9+/]{3}IBAA(?:KB|KC)[A-Za-z0-9+/]{20,4000}|MII[A-Za-z0-9+/]{3}IBADANBgkqhkiG9w0BAQEFAASC[A-Za-z0-9+/]{8,4000}|MHcCAQEEI[A-Za-z0-9+/]{20,200}|MIGHAgEAMBMGByqGSM49[A-Za-z0-9+/]{20,200}|MIGkAgEBBD[A-Za-z0-9+/]{20,300})",
    )
    .check(Check::Whole),
    near(
        "key-store",
        "a store of keys",
        &["IBAzCC"],
        (8, 600),
        r"(?:^|[^A-Za-z0-9+/])(MII[A-Za-z0-9+/]{3}IBAzCC[A-Za-z0-9+/]{20,560})",
    )
    .check(Check::None),
    near(
        "one-time-password-secret",
        "what one-time passwords are made of",
        &["totp", "hotp", "authenticator", "otpauth://"],
        (0, 240),
        r#"(?i)^(?:(?:[th]otp|authenticator)(?:\.\w{1,24}|::\w{1,24}){0,3}\(\s{0,3}["']|otpauth://[^\s"']{0,160}?secret=)((?-i:[A-Z2-7]{16,64}))"#,
    )
    .check(Check::Real),
    near(
        "symmetric-jwk",
        "a private key",
        &["\"oct\"", "'oct'"],
        (240, 320),
        r#"(?:^|[^\w])["']?kty["']?\s{0,4}:\s{0,4}["']oct["'][^}]{0,240}?[\s,{]["']?k["']?\s{0,4}:\s{0,4}["']([A-Za-z0-9_-]{20,1000})["']|[\s,{]["']?k["']?\s{0,4}:\s{0,4}["']([A-Za-z0-9_-]{20,1000})["'][^}]{0,240}?["']?kty["']?\s{0,4}:\s{0,4}["']oct["']"#,
    )
    .check(Check::Random),
    near(
        "private-jwk",
        "a private key",
        &["\"d\"", "'d'", "d: '", "d: \"", "\"k\"", "k: '", "k: \""],
        (1, 1100),
        r#"(?:^|[^\w])["']?[dk]["']?\s{0,4}:\s{0,4}["']([A-Za-z0-9_-]{42,1000})["']"#,
    )
    .check(Check::Random),
    token(
        "jwt",
        "a signed token",
        &["eyJ", "ewog", "ewo"],
        r"^e[yw][A-Za-z0-9_-]{10,4000}\.(?:e[yw][A-Za-z0-9_-]{4,8000}(?:\.[A-Za-z0-9_-]{0,2000})?|[A-Za-z0-9_-]{0,2000}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{8,})",
    )
    .check(Check::Jwt),
    token("jwt-base64", "a signed token", &["ZXlK"], r"^ZXlK[A-Za-z0-9+/=_-]{60,4000}"),
    token(
        "ntlm-message",
        "an NTLM answer, which holds a hash",
        &["TlRMTVNTUAADAAAA"],
        r"^TlRMTVNTUAADAAAA[A-Za-z0-9+/=]{60,2000}",
    )
    .check(Check::None),
    near(
        "url-password",
        "a password in an address",
        &["://"],
        (0, 1400),
        r#"^://[^\s:/"'`<>{}\[\]\\]{0,120}:([^\s/"'`<>\\?]{1,1200}?)@[A-Za-z0-9\[%${*<]"#,
    )
    .check(Check::Address),
    near(
        "url-token",
        "a token in an address",
        &[":x-oauth-basic@"],
        (120, 0),
        r"://([A-Za-z0-9_-]{20,110}):x-oauth-basic@",
    ),
    near(
        "dsn-password",
        "a password in a data source",
        &["@tcp(", "@unix(", "@("],
        (120, 4),
        r#"([^\s"'`:/@]{2,80})@(?:tcp|unix)?\("#,
    )
    .check(Check::Password),
    near(
        "basic-auth",
        "credentials in a header",
        &["basic", "apikey"],
        (0, 400),
        r#"(?i)^(?:basic|apikey)(?:["'\s+:,]|\s|%20){1,6}([A-Za-z0-9+/_-]{6,300}={0,2})"#,
    )
    .check(Check::Basic),
    near(
        "session-cookie",
        "the cookie of a session",
        &["cookie:", "cookie\":", "cookie':"],
        (0, 700),
        r#"(?i)^cookie["']?:\s{0,3}["']?(?:[^\n;]{0,120};\s{0,2}){0,6}?(?:[\w.]{0,24}sess(?:ion)?(?:[_-]?(?:id|token|key))?|[\w.]{0,12}sid|(?:access|auth|refresh|remember|id)[_-]?token|jwt)=([A-Za-z0-9%._~+/-]{16,400})"#,
    )
    .check(Check::Random),
    near(
        "bearer-token",
        "a token in a header",
        &["bearer"],
        (0, 400),
        r#"(?i)^bearer(?:[\s"'+:=,]|%20){1,6}([A-Za-z0-9_=.~+/-]{16,400})"#,
    )
    .check(Check::Random),
    near(
        "curl-credentials",
        "credentials of a command",
        &["curl"],
        (0, 500),
        r#"(?i)^curl\b(?:[^\n]|\\\n){0,380}?\s(?:-u|--user|--proxy-user)(?:\s{1,4}|=)?["']?(?:[^\s:"'$]{0,80}["']?:["']?([^\s"':][^\s"':]{1,120})|([\w!@#.-]{12,120}):["'\s])"#,
    )
    .check(Check::Real),
    near(
        "command-password",
        "a password of a command",
        &["mysql", "sshpass", "mongo", "psql", "redis-cli", "unzip", "docker login", "podman login", "registry login", "htpasswd", "psexec", "7z", "net use", "az login", "openssl enc", "smbclient", "ldap", "http -a ", "https -a "],
        (0, 160),
        r#"(?i)^(?:sshpass\s+-p\s*|psexec\b[^\n|;]{0,80}?\s-p\s+|mysql(?:admin|dump)?\b[^\n|;]{0,80}?\s-p|redis-cli\b[^\n|;]{0,80}?\s-a\s+|mongo\w*\b[^\n|;]{0,80}?\s-p\s+|(?:docker|podman|registry) login\b[^\n|;]{0,80}?\s-p\s+|unzip\s+-P\s+|7za?\s+[a-z]\s[^\n|;]{0,80}?\s-p|net use\s[^\n|;]{0,80}?/user:\S{1,60}\s+|az login\b[^\n|;]{0,120}?\s-p\s+|smbclient\b[^\n|;]{0,80}?\s-U\s*[\w.\\-]{1,40}%|ldap(?:search|add|modify|delete|passwd)\b[^\n|;]{0,120}?\s-w\s+|https?\s-a\s+[\w.-]{1,40}:|openssl enc\b[^\n|;]{0,80}?\s-k\s+|htpasswd\s+-\w*b\w*\s+\S+\s+\S+\s+)["']?([^\s"'-][^\s"']{2,80})"#,
    )
    .check(Check::Password),
    near(
        "piped-password",
        "a password that is printed into a login",
        &["password-stdin", "passphrase-fd 0", "chpasswd"],
        (160, 20),
        r#"echo\s+(?:-n\s+|-e\s+)?["']?(?:[\w.-]{1,40}:)?([^\s"'$`|<>]{4,80})["']?\s*\|[^|\n]{0,120}(?:password-stdin|passphrase-fd 0|chpasswd)"#,
    )
    .check(Check::Password),
    near(
        "account-password",
        "a password of an account or a device",
        &["net user", "snmp-server community", "jdbc:oracle:", "password 0 ", "password 7 "],
        (0, 160),
        r#"(?i)^(?:net user\s+[^\s/*"']{1,40}\s+([^\s/*"'%$]{4,60})\s|snmp-server community\s+(\S{3,60})(?:\s|$)|password [07] (\S{4,60})(?:\s|$)|jdbc:oracle:(?:thin|oci8?):[\w.-]{1,40}/([^\s"'@/$<{%]{4,60})@)"#,
    )
    .check(Check::Password),
    near(
        "set-password",
        "a password of a variable of the environment",
        &["setenv ", "ENV "],
        (0, 160),
        r#"^(?:setenv|SETENV|ENV)\s{1,4}[A-Za-z0-9_]{0,40}(?i:password|passwd|secret|token|passphrase|_pass|_pwd|_pw)\s{1,4}["']?([^\s"'$<{=]{4,100})["']?(?:\s|$)"#,
    )
    .check(Check::Real),
    near(
        "mnemonic",
        "the words that a wallet is made from",
        &["mnemonic", "seed phrase", "seed_phrase", "seedphrase", "recovery_phrase", "recovery phrase"],
        (0, 320),
        r#"(?i)^(?:mnemonic|(?:seed|recovery)[ _]?phrase)\w{0,12}["']?\s{0,3}(?:=>|:=|=|:)\s{0,3}["'`]?((?-i:(?:[a-z]{3,8} ){11}(?:(?:[a-z]{3,8} ){3}){0,4}[a-z]{3,8}))(?:["'`\s]|$)"#,
    )
    .check(Check::None),
    near(
        "sql-password",
        "a password in a statement",
        &["identified by", "identified with", "password '", "encrypted password"],
        (0, 160),
        r#"(?i)^(?:(?:identified (?:with \w+ )?by(?: password)?|(?:encrypted )?password)\s{1,3}(?:["'`\\]{1,2}([^"'`\\\s]{3,80})["'`\\]|"([^"\\\s]{3,80})"|'([^'\\\s]{3,80})')|identified by\s{1,3}([A-Za-z][\w$#]{0,40}(?-i:\d|[a-z][A-Z]|[A-Z]{2}[a-z]{2})[\w$#]{0,40}))"#,
    )
    .check(Check::Password),
    near(
        "openssl-password",
        "a password of a command",
        &["-pass pass:", "-passin pass:", "-passout pass:"],
        (0, 120),
        r#"^-pass(?:in|out)? pass:([^\s"'\\$]{4,80})"#,
    )
    .check(Check::Password),
    near(
        "encoded-credentials",
        "credentials that are put into a header",
        &["b64encode(", "btoa(", "encode64("],
        (0, 160),
        r#"^(?:b64encode|btoa|encode64)\(\s{0,3}[bru]{0,2}["'`][\w.@+-]{2,60}:([^"'`\s:{}%]{4,80})["'`]"#,
    )
    .check(Check::Password),
    near(
        "secure-string",
        "a password in a script",
        &["ConvertTo-SecureString"],
        (0, 160),
        r#"(?i)^ConvertTo-SecureString\s+(?:-String\s+)?["']([^"'\s$]{3,80})["']"#,
    )
    .check(Check::Password),
    near(
        "network-credential",
        "a password in a script",
        &["NetworkCredential(", "PSCredential("],
        (0, 200),
        r#"(?i)^(?:Network|PS)Credential\(\s*["'][^"'\n]{0,80}["']\s*,\s*["']([^"'\n]{3,80})["']"#,
    )
    .check(Check::Password),
    near(
        "configured-password",
        "a password in a file of settings",
        &["requirepass", "masterauth", "wpa-psk", "wpa-passphrase", "rootpw", "bindpw"],
        (0, 160),
        r#"^(?:requirepass|masterauth|wpa-psk|wpa-passphrase|rootpw|bindpw)[ \t]+["']?([^\s"'$<{=]{4,100})["']?[ \t]*(?:\r?\n|$)"#,
    )
    .check(Check::Real),
    near(
        "wordpress-key",
        "a key of an installation",
        &["auth_key", "auth_salt", "logged_in_key", "logged_in_salt", "nonce_key", "nonce_salt"],
        (0, 160),
        r#"(?i)^(?:auth|logged_in|nonce)_(?:key|salt)["']\s{0,3},\s{0,12}(?:'([^'\n]{40,100})'|"([^"\n]{40,100})")"#,
    )
    .check(Check::Real),
    near(
        "net-rc",
        "a password of a machine",
        &["machine"],
        (0, 260),
        r"(?i)^machine\s+\S+\s+login\s+\S+\s+password\s+(\S{3,120}[^\s@])(?:\s|$)",
    )
    .check(Check::Password),
    near(
        "pg-pass",
        "a password of a database",
        &[":5432:", ":*:", ":3306:"],
        (80, 200),
        r"(?m)^[\w.*-]{1,80}:(?:5432|3306|\*):[\w*-]{1,60}:[\w*.-]{1,60}:([^\s:]{0,100}[A-Za-z][^\s:]{2,100})$",
    )
    .check(Check::None),
    near(
        "password-hash",
        "the hash of a password",
        &["$2a$", "$2b$", "$2y$", "$6$", "$5$", "$1$", "$argon2", "$apr1$", "$pbkdf2", "pbkdf2_sha256$", "$y$", "$krb5"],
        (0, 200),
        r"^(?:\$2[aby]\$\d\d\$[A-Za-z0-9./]{53}|\$[156]\$(?:rounds=\d+\$)?[A-Za-z0-9./]{1,16}\$[A-Za-z0-9./]{22,86}|\$apr1\$[A-Za-z0-9./]{1,8}\$[A-Za-z0-9./]{22}|\$argon2(?:id|i|d)\$[A-Za-z0-9$=,+/]{40,180}|\$pbkdf2[a-z0-9-]*\$\d+\$[A-Za-z0-9./$+=]{40,}|pbkdf2_sha256\$\d+\$[A-Za-z0-9]+\$[A-Za-z0-9+/=]{40,50}|\$krb5(?:asrep|tgs|pa)\$\d{1,2}\$[\w@.$:*-]{32,4000}|\$y\$[./A-Za-z0-9]+\$[./A-Za-z0-9]{0,86}\$[./A-Za-z0-9]{43})",
    )
    .check(Check::None),
    near(
        "kubernetes-secret",
        "a value of a Kubernetes secret",
        &["kind: secret", "kind: 'secret", "kind: \"secret", "\"secret\""],
        (700, 1200),
        r#"(?si)(?:kind["']?:\s{0,3}["']?secret["']?\s(?:.{0,600}?\n)?\s*["']?data["']?:\s*\{?\s*\n?(?:\s*\#[^\n]{0,200}\n){0,4}\s*["']?[\w.-]+["']?:\s{0,3}(?:[|>][-+]?\s{1,20})?["']?([A-Za-z0-9+/]{10,1000}={0,3})|\n\s*["']?data["']?:\s*\{?\s*\n(?:\s*\#[^\n]{0,200}\n){0,4}\s*["']?[\w.-]+["']?:\s{0,3}(?:[|>][-+]?\s{1,20})?["']?([A-Za-z0-9+/]{10,1000}={0,3})["']?,?\s.{0,500}?kind["']?:\s{0,3}["']?secret)"#,
    )
    .check(Check::Real),
    Detector {
        id: "encoded-secret",
        why: "text in base64 that holds a secret",
        level: Level::Secret,
        keywords: super::super::encoded::KEYWORDS,
        find: Find::Encoded,
        check: Check::None,
    },
    Detector {
        id: "assigned-secret",
        why: "a value that its name calls a secret",
        level: Level::Secret,
        keywords: super::super::label::KEYWORDS,
        find: Find::Label,
        check: Check::None,
    },
    Detector {
        id: "mail-address",
        why: "a person's mail address",
        level: Level::Sensitive,
        keywords: &["@"],
        find: Find::Mail,
        check: Check::None,
    },
    Detector {
        id: "phone-number",
        why: "a telephone number",
        level: Level::Sensitive,
        keywords: &[],
        find: Find::Digits,
        check: Check::None,
    },
    Detector {
        id: "card-number",
        why: "a card number that passes its check",
        level: Level::Sensitive,
        keywords: &[],
        find: Find::Digits,
        check: Check::None,
    },
    Detector {
        id: "iban",
        why: "an account number that passes its check",
        level: Level::Sensitive,
        keywords: &[],
        find: Find::Digits,
        check: Check::None,
    },
    Detector {
        id: "national-id",
        why: "a person's number with an authority",
        level: Level::Sensitive,
        keywords: &[],
        find: Find::Digits,
        check: Check::None,
    },
];
