//! Where a secret may stand: behind what offers it in place of something missing, before its name, in text that holds
//! text, among the arguments of a call; and what stands in such places without being one.

use loopwright_guard::sensitivity::{Level, classify, redact};

fn found(texts: &[&str]) {
    for text in texts {
        assert_eq!(classify(text).level, Level::Secret, "{text}");
        assert!(classify(&redact(text)).level < Level::Secret, "{text}");
    }
}

fn left_alone(texts: &[&str]) {
    for text in texts {
        assert!(classify(text).level < Level::Secret, "{text}: {:?}", classify(text).hits);
    }
}

#[test]
fn d12_what_stands_in_for_a_missing_value_is_the_value() {
    found(&[
        "const token = process.env.API_TOKEN || 'k29LmQ8xVt4Rb7Wn3Ypz';",
        "API_TOKEN = os.getenv('API_TOKEN') or \"k29LmQ8xVt4Rb7Wn3Ypz\"",
        "let secret = given ?? \"k29LmQ8xVt4Rb7Wn3Ypz\";",
        "const password = isDev ? 'tr0ub4dor&3' : 'tr0ub4dor&4';",
        "DATABASE_URL: postgresql://${DB_USER:-app}:${DB_PASSWORD:-tr0ub4dor3x}@${DB_HOST:-db}/app",
    ]);
    left_alone(&[
        "const token = process.env.API_TOKEN || '';",
        "const password = given || 'password';",
        "let secret = given ?? other.secret;",
        "password: ${DB_PASSWORD:-}",
        "const label = password ? 'Change your password' : 'Set a password';",
    ]);
}

#[test]
fn d12_a_value_may_stand_before_its_name() {
    found(&[
        r#"{"value": "tr0ub4dor&3", "name": "DB_PASSWORD"}"#,
        r#"{"name": "DB_PASSWORD", "value": "tr0ub4dor&3"}"#,
        "  - value: tr0ub4dor3x\n    name: DB_PASSWORD\n",
        "if (\"tr0ub4dor&3\".equals(password)) {",
        "if ('tr0ub4dor&3' == $password) {",
    ]);
    left_alone(&[
        r#"{"value": "${DB_PASSWORD}", "name": "DB_PASSWORD"}"#,
        r#"{"name": "DB_PASSWORD", "value": ""}"#,
        r#"{"label": "tr0ub4dor&3", "name": "DB_PASSWORD"}"#,
        "if (\"text\".equals(passwordField.getKind())) {",
    ]);
}

#[test]
fn d12_text_in_text_in_text_is_read() {
    found(&[
        r#"{"db":{"password":"tr0ub4dor&3"}}"#,
        r#""{\"db\":{\"password\":\"tr0ub4dor&3\"}}""#,
        r#""\"{\\\"db\\\":{\\\"password\\\":\\\"tr0ub4dor&3\\\"}}\"""#,
        "auth[:token] = 'k29LmQ8xVt4Rb7Wn3Ypz'",
    ]);
    left_alone(&[r#""{\"db\":{\"password\":\"\"}}""#, r#""\"{\\\"token\\\":\\\"${TOKEN}\\\"}\"""#]);
}

#[test]
fn d12_calls_that_log_in_or_sign_are_given_secrets_by_place() {
    found(&[
        "pymysql.connect('localhost', 'root', 'tr0ub4dor3')",
        "db2_connect(\"shop\", \"app\", \"tr0ub4dor3\");",
        "new PasswordAuthentication(\"app\", \"tr0ub4dor3\".toCharArray());",
        "client.bind('cn=admin,dc=corp,dc=net', 'tr0ub4dor3');",
        "JWK.asKey('k29LmQ8xVt4Rb7Wn')",
        "cookieParser.signedCookies(cookies, 'k29LmQ8xVt4Rb7Wn')",
        "if (strcmp($authToken, \"k29LmQ8xVt4Rb7Wn\") === 0) {",
        "hmac.compare_digest(b'k29LmQ8xVt4Rb7Wn', given_token)",
        "$uri = \"https://user:tr0ub4dor3x@domain.com\";",
    ]);
    left_alone(&[
        "pymysql.connect('localhost', 'root', password)",
        "signal.connect('clicked', 'button', 'handler')",
        "socket.connect('127.0.0.1', 8080)",
        "function.bind('this', 'first')",
        "jwtVerify(token, 'HS256')",
        "strcmp($key, \"name\")",
        "hmac.compare_digest(token, expected)",
        "https://user:pass@example.com/",
        "git clone https://$GITHUB_TOKEN:x-oauth-basic@github.com/o/r.git",
    ]);
}

#[test]
fn d12_secrets_that_a_person_made_up_count_behind_their_name() {
    found(&[
        "app.config['SECRET_KEY'] = 'Kerze4Turm'",
        "token: K3rzeTurm\n",
        "secret = \"s3cr3t\"",
        "password: berg_und_tal\n",
        "// password: berg_und_tal\n",
        "{user: ivan, password: soon}",
        "{user: \"ivan\", password: \"qzvx_wkrt\"}",
        "Authorization: Basic aXZhbjpixIFya3M=",
        "const PASSword = 'tr0ub4dor&3';",
        "password_for_mail = 'tr0ub4dor&3'",
        "LABEL_STUDIO_API_KEY=9f8d7c6b5a4e3d2c1b0a9f8e7d6c5b4a3f2e1d0c",
    ]);
    left_alone(&[
        "token: TokenKind",
        "    token: OAuth2Token",
        "{user: user, password: pass}",
        "(user: user, password: user.password)",
        "'CopySourceCustomerKeyMD5': 'CustomerKeyMD5',",
        "PASSWD = getpass.getpass(\"password of %s: \" % (host or \"localhost\"))",
        "secret = \"configured\"",
        "label_password: Passwort123",
        "Code.WRONG_PASSWORD = 3221225578 -> Code",
        "TRUSTSTORE_PASSWORD = \"trustStorePassword\"",
        "$keyOrPassword = 'Vendor\\Crypto\\KeyOrPassword';",
    ]);
}

#[test]
fn d12_what_is_encrypted_cut_off_or_filled_in_later_is_no_secret() {
    left_alone(&[
        "password: $$DB_PASSWORD",
        "mysqladmin ping --password=$$MYSQL_PASSWORD",
        "password = \"{cipher}1e3faa2cdab2deae117dca102e52922a\"",
        "secret='ENC[RSA,tUf83Ex0oSbDGa8vaU1hGqesODG9J4j40EgLClQYrwNT]'",
        "API_TOKEN=k29LmQ8xVt4Rb7Wn3Ypz...",
        "secret = \"2001:db8:1::ab9:C0A8:102\"",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEpQIBAAKCAQEAuyf9lNrH9ck8DmNyo3fG...\n-----END RSA PRIVATE KEY-----",
        "query = \"select 1 from u where password=:param\"",
    ]);
}

#[test]
fn d12_text_in_base64_is_read_like_any_text() {
    // `password=tr0ub4dor&3`, at each of the three places in a group; settings in YAML; a word without a value.
    found(&[
        "config: cGFzc3dvcmQ9dHIwdWI0ZG9yJjM=",
        "config: IHBhc3N3b3JkPXRyMHViNGRvciYz",
        "config: ICBwYXNzd29yZD10cjB1YjRkb3ImMw==",
        "user-data: aG9zdDogZGIKZGJfcGFzc3dvcmQ6ICJ0cjB1YjRkb3ImMyIK",
    ]);
    left_alone(&[
        "config: cGFzc3dvcmQ9JHtEQl9QQVNTV09SRH0=",
        "text: VGhlIHBhc3N3b3JkIGlzIHRvbyBzaG9ydC4=",
        "nothing: cGFzc3dvcmRwYXNzd29yZHBhc3N3b3Jk",
    ]);
    assert_eq!(redact("config: cGFzc3dvcmQ9dHIwdWI0ZG9yJjM= # old"), "config: [redacted:encoded-secret] # old");
}

#[test]
fn d12_the_public_half_of_a_pair_of_nats_is_no_secret() {
    let body = &"K7QM2XWBV5".repeat(6)[..55];
    found(&[&format!("nkey: \"S{body}\"")]);
    left_alone(&[&format!("nkey: \"U{body}\""), &format!("{{nkey: A{body}}}")]);
}

#[test]
fn d12_long_values_are_taken_whole() {
    let long = "k29LmQ8xVt4Rb7Wn3YpzH6".repeat(40);
    for form in [
        "<adminToken>{}</adminToken>",
        "API_TOKEN={}\n",
        "token: \"{}\"",
        "auth = \"vendor {}\"",
        "API_TOKEN {} x",
        "Authorization: Bearer {}",
        "Cookie: session={}; a=b",
        "https://user:{}@host.corp/x",
        "curl -u admin:{} https://x",
        "docker login -u a -p {} x",
        "kind: Secret\ndata:\n  a: {}\n",
        "the password is {} now",
    ] {
        let text = form.replace("{}", &long);
        found(&[&text]);
        assert!(!redact(&text).contains("Wn3YpzH6"), "{}", redact(&text));
    }
}
