//! Secrets that are given to a function by their place: logins, connections, ciphers, signatures. No name stands at the
//! value's side, so the function's name must tell.

use super::super::detector::{Check, Detector, near};

pub(super) const TABLE: &[Detector] = &[
    near(
        "basic-auth-call",
        "a password that is given to a login",
        &["BasicAuth(", "DigestAuth(", "basic_auth(", "auth=("],
        (0, 200),
        r#"(?i)^(?:(?:basic|digest)_?auth|auth=)\(\s{0,3}[bru]?["'][^"'\s{}$<>]{1,60}["']\s{0,3},\s{0,3}(?:Some\(|[bru])?["']([^"'\s{}$<>]{4,80})["']\s{0,3}\)"#,
    )
    .check(Check::Real),
    near(
        "connection-call",
        "a password that is given to a login",
        &["getConnection(", "mysqli_connect(", "mysql_connect(", "new mysqli(", "new PDO(", "ftp_login(", "DBI->connect("],
        (0, 320),
        r#"^(?:getConnection|mysqli?_connect|new mysqli|new PDO|ftp_login|DBI->connect)\([^()\n]{1,160},\s{0,3}["'][^"'\n]{1,60}["']\s{0,3},\s{0,3}["']([^"'\s]{4,80})["']\s{0,3}[,)]"#,
    )
    .check(Check::Real),
    near(
        "token-signing-call",
        "what tokens are signed with",
        &["jwt.sign(", "jwt.verify(", "jwt.encode(", "jwt.decode("],
        (0, 240),
        r#"^jwt\.(?:sign|verify|encode|decode)\([^"'\n]{1,120},\s{0,3}["'`]([^"'`\s{}$<>]{6,100})["'`]"#,
    )
    .check(Check::Real),
    near(
        "cipher-key-call",
        "a key that a cipher is given",
        &["SecretKeySpec(", "AES.new(", "Fernet(", "createCipheriv(", "createHmac(", "hmac.new("],
        (0, 200),
        r#"^(?:SecretKeySpec|AES\.new|Fernet|hmac\.new|create(?:Cipheriv|Hmac)\(\s{0,2}["'][\w-]{2,30}["']\s{0,2},)\(?\s{0,3}b?["']([^"'\s{}$<>]{8,120})["']"#,
    )
    .check(Check::Real),
    near(
        "login-call",
        "a password that is given to a login",
        &["login("],
        (0, 160),
        r#"^login\(\s{0,3}["'][\w.+-]{1,60}(?:@[\w.-]{3,60}["']\s*,\s*["']([^"'\s{}$<>]{6,80})["']|["']\s*,\s*["']([A-Za-z]{1,40}[\d!@#%^&*][^"'\s{}$<>]{2,80})["']\s*\))"#,
    )
    .check(Check::Password),
    near(
        "connection-arguments",
        "a password that is given to a login",
        &["connect(", "Connection(", "new maxdb(", "pg.DB(", "FTP(", "_passwd(", "_auth_password(", "imap_open(", "PasswordAuthentication(", "Credentials(", "AuthenticationToken("],
        (0, 260),
        r#"(?i)^(?:connect|connection|new maxdb|pg\.db|ftp|_passwd|_auth_password|imap_open|passwordauthentication|credentials|authenticationtoken)\((?:[^()"'\n]{0,40}(?:"[^"\n]{0,120}"|'[^'\n]{0,120}')?,\s{0,3}){0,5}["'][^"'\s:/]{1,60}["']\s{0,3},\s{0,3}(?:password:\s{0,2})?["']([^"'\s{}<>()/,]{6,80})["']\s{0,3}(?:\.toCharArray\(\)|\.getBytes\(\))?[,)]"#,
    )
    .check(Check::Chosen),
    near(
        "bind-call",
        "a password that is given to a login",
        &["bind("],
        (0, 240),
        r#"^bind\(\s{0,3}(?:[$\w.>-]{1,40},\s{0,3})?["'](?i:cn|uid|dc|ou)=[^"'\n]{1,120}["']\s{0,3},\s{0,3}["']([^"'\s{}<>]{4,80})["']"#,
    )
    .check(Check::Real),
    near(
        "key-call",
        "a key that a cipher or a signature is given",
        &["setPrivateKey(", "createSecretKey(", "createPrivateKey(", "checkPrivateKey(", "asKey(", "cookieParser(", "signedCookies(", "JSONCookie(", "jwtVerify(", "hmacShaKeyFor(", "HMAC256(", "HMAC384(", "HMAC512(", "SignedString(", "PasswordEncoder(", "getHMAC(", "HmacSHA256(", "HmacSHA512(", "AES.encrypt(", "AES.decrypt("],
        (0, 200),
        r#"^\w{2,16}(?:\.\w{2,8})?\((?:\s{0,3}(?:[\w.]{1,40}|'[^'\n]{1,80}'|"[^"\n]{1,80}")\s{0,3},)?\s{0,3}(?:\[\]byte\(|b)?["'`]([^"'`\s{}<>]{8,120})["'`]"#,
    )
    .check(Check::Chosen),
    near(
        "comparing-call",
        "a secret that another is held against",
        &["strcmp(", "strcasecmp(", "hash_equals(", "compare_digest(", "secure_compare(", "timingSafeEqual("],
        (0, 200),
        r#"(?i)^\w{6,16}\(\s{0,3}(?:[$\w.>-]{0,40}(?:pass|pwd|secret|token|auth|key)\w{0,16}\s{0,3},\s{0,3}b?["']([^"'\s{}<>]{6,120})["']|b?["']([^"'\s{}<>]{6,120})["']\s{0,3},\s{0,3}[$\w.>-]{0,40}(?:pass|pwd|secret|token|auth|key))"#,
    )
    .check(Check::Chosen),
];
