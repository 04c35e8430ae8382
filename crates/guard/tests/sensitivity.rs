//! What `core::guard::sensitivity` finds, and what it leaves alone: values made up from documented formats, lines that
//! look like them, and any text at all.

use loopwright_guard::sensitivity::{
    Labels, Level, Sensitivity, classify, classify_from, detectors, redact, redact_json, redact_with_hits,
};
use loopwright_testing::fill::Dice;
use proptest::prelude::*;

const FORMATS: &str = include_str!("../../../tests/data/secrets/formats.tsv");
const CONTEXTS: &str = include_str!("../../../tests/data/secrets/contexts.tsv");
const LABELLED: &str = include_str!("../../../tests/data/secrets/labelled.tsv");
const LOOKALIKES: &str = include_str!("../../../tests/data/secrets/lookalikes.txt");

/// Lines that are tuned on, and lines that are held out.
fn halves(file: &str) -> [Vec<&str>; 2] {
    let mut halves = [Vec::new(), Vec::new()];
    for (at, line) in file.lines().enumerate() {
        halves[at % 2].push(line);
    }
    halves
}

fn share(found: usize, all: usize) -> f64 {
    found as f64 / all.max(1) as f64
}

#[test]
fn every_detector_finds_its_example_and_nobody_finds_its_counterexample() {
    let mut wrong = Vec::new();
    for detector in detectors() {
        let (example, near_miss) = (Dice(7).fill(&detector.example), Dice(7).fill(&detector.counterexample));
        let found = classify(&example).hits;
        if !found.iter().any(|hit| hit.detector == detector.id && hit.level == detector.level) {
            wrong.push((&detector.id, example, found));
        }
        let found = classify(&near_miss).hits;
        if !found.is_empty() {
            wrong.push((&detector.id, near_miss, found));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn d12_every_documented_format_is_found_and_named() {
    let mut dice = Dice(7);
    let mut wrong = Vec::new();
    for line in FORMATS.lines() {
        let (detector, format) = line.split_once('\t').unwrap();
        // Chance may spell a word; most of five must do.
        let values: Vec<String> = (0..5).map(|_| dice.fill(format)).collect();
        let named = |value: &&String| {
            let class = classify(value);
            class.level == Level::Secret && class.hits.iter().any(|hit| hit.detector == detector)
        };
        if values.iter().filter(named).count() < 4 {
            wrong.push((detector, values[0].clone(), classify(&values[0]).hits));
        }
        assert!(detectors().any(|known| known.id == detector), "{detector}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn d12_secrets_of_providers_are_found_in_lines_of_all_kinds() {
    let mut dice = Dice(11);
    for (half, formats) in halves(FORMATS).into_iter().enumerate() {
        let (mut found, mut all, mut missed) = (0, 0, Vec::new());
        for line in formats {
            let format = line.split_once('\t').unwrap().1;
            for context in CONTEXTS.lines() {
                let text = context.replace("\\n", "\n").replace("{value}", &dice.fill(format));
                all += 1;
                if classify(&text).level == Level::Secret {
                    found += 1;
                } else {
                    missed.push(text);
                }
            }
        }
        println!("providers, half {half}: {found} of {all}");
        assert!(share(found, all) >= 0.97, "half {half}: {found} of {all}: {missed:#?}");
    }
}

#[test]
fn d12_values_behind_telling_names_are_found() {
    let mut dice = Dice(13);
    for (half, lines) in halves(LABELLED).into_iter().enumerate() {
        let (mut found, mut all, mut missed) = (0, 0, Vec::new());
        for line in lines {
            for _ in 0..6 {
                let text = dice.fill(line);
                all += 1;
                if classify(&text).level == Level::Secret {
                    found += 1;
                } else {
                    missed.push(text);
                }
            }
        }
        println!("labelled, half {half}: {found} of {all}");
        assert!(share(found, all) >= 0.93, "half {half}: {found} of {all}: {missed:#?}");
    }
}

#[test]
fn d12_secrets_of_clusters_are_found_in_any_order() {
    for text in [
        "apiVersion: v1\ndata:\n  extra: YWRtaW46cGFzc3dvcmQ=\nkind: secret\nmetadata:\n  name: x\n",
        "apiVersion: v1\nkind: 'Secret'\ntype: Opaque\ndata:\n  # base64\n  key: bXlwYXNzd29yZA==\n",
        "kind: Secret\ntype: kubernetes.io/dockercfg\ndata:\n  .dockercfg: |\n    eyJhdXRocyI6eyJodHRwczovL3gvdjEv\n",
    ] {
        assert_eq!(classify(text).level, Level::Secret, "{text}");
    }
    for text in [
        "kind: Service\nmetadata:\n  name: aGVsbG8gd29ybGQh\n",
        "apiVersion: v1\nkind: Secret\ntype: Opaque\ndata: {}\n",
    ] {
        assert!(classify(text).level < Level::Secret, "{text}");
    }
}

#[test]
fn d12_what_only_looks_like_a_secret_is_left_alone() {
    let mut dice = Dice(17);
    for (half, lines) in halves(LOOKALIKES).into_iter().enumerate() {
        let (mut all, mut wrong) = (0, Vec::new());
        for line in lines {
            for _ in 0..4 {
                let text = dice.fill(line);
                all += 1;
                let class = classify(&text);
                if class.level > Level::Normal {
                    wrong.push((text, class.hits));
                }
            }
        }
        println!("lookalikes, half {half}: {} of {all}", wrong.len());
        assert!(share(wrong.len(), all) <= 0.01, "half {half}: {} of {all}: {wrong:#?}", wrong.len());
    }
}

#[test]
fn d12_personal_data_is_sensitive_and_passes_its_checks() {
    let found = |text: &str| -> Vec<&'static str> {
        let class = classify(text);
        assert!(class.hits.iter().all(|hit| hit.level == Level::Sensitive), "{text}: {class:?}");
        class.hits.iter().map(|hit| hit.detector).collect()
    };
    for (text, detector) in [
        ("write to grace.hopper@navy.mil", "mail-address"),
        ("card 4012 8888 8888 1881 exp 09/28", "card-number"),
        ("card 5555555555554444", "card-number"),
        ("amex 3782-822463-10005", "card-number"),
        ("IBAN DE89 3704 0044 0532 0130 00", "iban"),
        ("GB82WEST12345698765432", "iban"),
        ("call +49 30 901820 today", "phone-number"),
        ("ring +44 20 7946 0018", "phone-number"),
        ("SSN 536-90-4399", "national-id"),
    ] {
        assert_eq!(found(text), [detector], "{text}");
    }
    for text in [
        "card 4012 8888 8888 1882",
        "IBAN DE89 3704 0044 0532 0130 01",
        "SSN 000-12-3456",
        "SSN 987-65-4320",
        "noreply@github.com",
        "user@example.com",
        "logo@2x.png",
        "git@github.com",
        "1234567890123456",
        "+0 123",
        "2026-01-12 09:14:55",
    ] {
        assert_eq!(found(text), Vec::<&str>::new(), "{text}");
    }
}

#[test]
fn x21_a_text_is_as_sensitive_as_its_hits_and_its_label() {
    let secret = format!("ghp_{}", Dice(3).string(36, "an"));
    let mail = "grace.hopper@navy.mil";
    let level = |text: &str, label: Option<Level>| classify_from(text, label).level;
    // Nothing known: normal. Public only where a label says so.
    assert_eq!(level("just some regular text", None), Level::Normal);
    assert_eq!(level("", None), Level::Normal);
    assert_eq!(level("just some regular text", Some(Level::Public)), Level::Public);
    // The stricter of the two.
    assert_eq!(level(mail, Some(Level::Public)), Level::Sensitive);
    assert_eq!(level(mail, Some(Level::Secret)), Level::Secret);
    assert_eq!(level(&secret, Some(Level::Public)), Level::Secret);
    assert_eq!(level("plain", Some(Level::Sensitive)), Level::Sensitive);
    assert!(Level::Public < Level::Normal && Level::Normal < Level::Sensitive && Level::Sensitive < Level::Secret);
}

#[test]
fn d11_watched_tools_are_looked_at_and_a_label_may_raise_them() {
    let mut labels = Labels::default();
    for tool in ["memory_search", "db_query", "browser", "computer"] {
        assert!(labels.watches(tool), "{tool}");
        // Watched is not sensitive: what they give is what it holds.
        assert_eq!(labels.of(tool), Some(Level::Normal));
    }
    assert!(!labels.watches("read_file"));
    labels.set("crm", Level::Sensitive);
    assert_eq!(labels.of("crm"), Some(Level::Sensitive));
    assert_eq!(Labels::none().of("browser"), None);
}

#[test]
fn redacting_names_what_was_there_and_keeps_the_rest() {
    let token = format!("ghp_{}", Dice(5).string(36, "an"));
    let done = redact_with_hits(&format!("push with {token}, then mail grace.hopper@navy.mil"));
    assert_eq!(done.text, "push with [redacted:github-token], then mail [redacted:mail-address]");
    assert_eq!(done.hits.len(), 2);
    assert_eq!(redact("nothing to see"), "nothing to see");
}

#[test]
fn json_stays_json() {
    let token = format!("sk-ant-api03-{}AA", Dice(5).string(93, "url"));
    let text = format!(
        "{{\"password\":\"tr0ub4dor&3\",\"args\":\"{{\\\"token\\\":\\\"{token}\\\"}}\",\"n\":4012888888881881,\"key\":\"-----BEGIN RSA PRIVATE KEY-----\\nMIIE{}\\n-----END RSA PRIVATE KEY-----\\n\"}}",
        Dice(9).string(200, "b64")
    );
    let lines = format!("{text}\n{{\"plain\":1}}\n");
    let redacted = redact_json(&lines);
    assert_eq!(redacted.lines().count(), 2);
    for line in redacted.lines() {
        let _: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
    assert!(redacted.ends_with("{\"plain\":1}\n"));
    for part in ["tr0ub4dor", "sk-ant", "4012888888881881", "MIIE"] {
        assert!(!redacted.contains(part), "{part} in {redacted}");
    }
}

#[test]
fn long_texts_are_read_whole() {
    let token = format!("glpat-{}", Dice(5).string(20, "an"));
    let filler = "A line of prose about keys, tokens and passwords that says nothing of any of them.\n".repeat(125_000);
    let text = format!("{token}\n{filler}{token}\n");
    assert!(text.len() > 10_000_000);
    let class = classify(&text);
    assert_eq!(class.hits.len(), 2);
    assert_eq!(&text[class.hits[1].span.clone()], token);
}

/// What a redacted text must be.
fn clean(text: &str) -> Result<(), TestCaseError> {
    let redacted = redact_with_hits(text);
    let left: Sensitivity = classify(&redacted.text);
    prop_assert!(left.level < Level::Sensitive, "{:?} -> {:?} holds {:?}", text, redacted.text, left.hits);
    prop_assert_eq!(redact(&redacted.text), redacted.text.clone(), "of {:?}", text);
    let mut end = 0;
    for hit in redacted.hits.iter().chain(&classify(text).hits) {
        let found = text.get(hit.span.clone());
        prop_assert!(found.is_some_and(|found| !found.is_empty()), "{:?} in {:?}", hit, text);
        end = end.max(hit.span.end);
    }
    let mut last = 0;
    for hit in classify(text).hits {
        prop_assert!(hit.span.start >= last, "overlap in {:?}", text);
        last = hit.span.end;
    }
    prop_assert!(end <= text.len());
    Ok(())
}

/// Pieces that make, break and overlap secrets when they are put beside one another.
fn piece() -> impl Strategy<Value = String> {
    let formats: Vec<&str> = FORMATS.lines().filter_map(|line| Some(line.split_once('\t')?.1)).collect();
    let labelled: Vec<&str> = LABELLED.lines().collect();
    let glue = vec![
        "\"",
        "'",
        "\n",
        "\\n",
        "=",
        ":",
        " ",
        "",
        "-",
        "_",
        "[redacted:",
        "]",
        "[redacted:jwt]",
        "password",
        "token=",
        "api_key: ",
        "é",
        "日本",
        "🔑",
        "\u{300}",
        "://",
        "@",
        ":",
        "user:",
        "https://",
        "Bearer ",
        "basic ",
        "eyJ",
        "-----BEGIN",
        " PRIVATE KEY-----",
        "-----END",
        "==",
        "sig=",
        "AccountKey=",
        "4111111111111111",
        "DE89370400440532013000",
        "cGFzc3dvcm",
        "cGFzc3dvcmQ9dHIwdWI0ZG9yJjM",
        "+49 30 901820",
        "a@b.co",
        "{",
        "}",
        "<",
        ">",
        "\\",
        "\u{0}",
        "%20",
    ];
    prop_oneof![
        (any::<u64>(), prop::sample::select(formats)).prop_map(|(seed, format)| Dice(seed | 1).fill(format)),
        (any::<u64>(), prop::sample::select(labelled)).prop_map(|(seed, line)| Dice(seed | 1).fill(line)),
        prop::sample::select(glue).prop_map(str::to_owned),
        (any::<u64>(), 0_usize..30).prop_map(|(seed, length)| Dice(seed | 1).string(length, "url")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn d12_redaction_leaves_no_hit_and_is_idempotent(pieces in prop::collection::vec(piece(), 1..14)) {
        clean(&pieces.concat())?;
    }

    #[test]
    fn d12_cut_anywhere_redaction_leaves_no_hit(pieces in prop::collection::vec(piece(), 1..6), cut in any::<prop::sample::Index>()) {
        let text = pieces.concat();
        let chars: Vec<char> = text.chars().collect();
        let at = cut.index(chars.len() + 1);
        clean(&chars[at..].iter().collect::<String>())?;
        clean(&chars[..at].iter().collect::<String>())?;
    }

    #[test]
    fn d12_no_text_around_names_and_ties_is_too_strange(parts in prop::collection::vec(prop::sample::select(vec![
        "password", "api_key", "token", "SECRET_KEY", "-----BEGIN RSA PRIVATE KEY-----", "Authorization: Bearer ", "=", ":", ": ", ", ", "(", ")",
        "{", "[]byte{", "1, ", "0x1f", "[", "]", "\"", "'", "`", "\\", "\n", "\\n", "<", ">", "</", "://", "@", "$", "${", "%", "é", "\u{1F600}", "\0", " ",
        "eyJ", "kind: Secret\ndata:\n", "curl -u ", "|", ">-", "!", "...", "value=", "b", "a1B2c3D4e5F6g7H8", "===", "<![CDATA[", "new ", "#",
    ]), 0..24), text in any::<String>()) {
        let text = parts.concat() + &text;
        let class = classify(&text);
        for hit in &class.hits {
            prop_assert!(text.get(hit.span.clone()).is_some_and(|found| !found.is_empty()), "{text:?}");
        }
    }

    #[test]
    fn d12_any_text_is_read_without_a_panic(text in any::<String>()) {
        clean(&text)?;
    }

    #[test]
    fn redacted_json_is_json(pieces in prop::collection::vec(piece(), 1..8), name in "[a-z_]{1,12}") {
        let text = serde_json::json!({ name: pieces.concat(), "password": pieces.concat(), "list": pieces }).to_string();
        let redacted = redact_json(&text);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&redacted).is_ok(), "{redacted}");
        prop_assert!(classify(&redacted).level < Level::Sensitive, "{text} -> {redacted}");
    }
}

#[test]
fn d12_values_behind_names_in_settings_forms_and_what_php_writes() {
    for text in [
        "MYSQL_ROOT_PASSWORD=root",
        "      POSTGRES_PASSWORD: admin",
        "curl -d 'user=ada&password=macaron&x=1'",
        "verifyPassword: '1234567890Aa$',",
        "alter user sys identified by MyDBPasswd container=all;",
        "const secret = 'xbja vgc6 gv4i i4qq h5ct 6stz ytcp ksiz'",
        "export GF_AUTH_GOOGLE_CLIENT_SECRET=newS3cretKey",
        r#"a:2:{s:6:"paypal";s:4:"live";s:15:"paypal_password";s:16:"HF4TNTTXUD6YQREH";}"#,
        "Consumer Secret: ``D+EdQ-gs$-%@2Nu7``",
    ] {
        assert_eq!(classify(text).level, Level::Secret, "{text}");
    }
    for text in [
        "password: root",
        "if password=root then",
        "MYSQL_ROOT_PASSWORD=changeme",
        "POSTGRES_PASSWORD=$ADMIN",
        "PASSWORD_FIELD=admin",
        "?password=password&user=x",
        "verifyPassword(user, password)",
        "user identified by username",
        "secret = 'this will only take some time from each'",
        "password = 'open your mind past that wall'",
        r#"s:8:"password";s:0:"";"#,
        "the ``secret`` option",
    ] {
        assert_ne!(classify(text).level, Level::Secret, "{text}");
    }
}

/// Keys of Azure carry a mark in the middle or at the end, or stand beside the name of their host.
#[test]
fn d39_keys_of_azure_are_found_by_their_marks_and_by_their_hosts() {
    let mut dice = Dice(2026);
    for template in [
        "{52:an}JQQJ99BAC{11:an}AAABACOG{4:an}",
        "{52:an}JQQJ99ALA{11:an}AAAAAZMP{6:an}==",
        "{52:an}JQQJ9DCKC{11:an}AAAAmsql{4:an}",
        "{52:an}JQQJ9HCKC{11:an}AAAAAZFR{4:an}",
        "{33:b64}+AEhB{5:an}=",
        "{33:b64}+ASbC{5:an}=",
        "{33:b64}AZEGD{5:an}=",
        "{76:b64}+ABa{6:an}==",
    ] {
        for _ in 0..8 {
            let key = dice.fill(template);
            for line in [key.clone(), format!("curl -H \"x: {key}\""), format!("[{key}]"), format!("a\n{key}\nb")] {
                let found = classify(&line);
                assert_eq!(found.level, Level::Secret, "{line}");
                assert!(!redact(&line).contains(&key), "{line}");
            }
        }
    }
    for template in [
        "new CosmosClient(\"https://shop.documents.azure.com:443/\", \"{86:b64}==\")",
        "az login --host shop.servicebus.windows.net --sas {43:b64}=",
        "docker login shop.azurecr.io shop {43:b64}=",
    ] {
        let line = dice.fill(template);
        assert_eq!(classify(&line).level, Level::Secret, "{line}");
    }
    for line in [
        "https://shop.documents.azure.com:443/",
        "shop.servicebus.windows.net sha256 ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0",
        "image: shop.azurecr.io/app@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "JQQJ99 is where the mark stands",
    ] {
        assert!(classify(line).level < Level::Secret, "{line}");
    }
}

/// Passwords that people choose, in the syntaxes that public sets hold them in, beside what only has the same form.
#[test]
fn d12_passwords_in_calls_commands_and_settings_are_found() {
    for text in [
        "\"passphrase\": \"correct horse 9 battery\"",
        "variable \"db_password\" {\n  type = string\n  default = \"Terr4form!\"\n}",
        "[mysql]\nuser = root\npassword = m4ria_root",
        "password = correcthorse9",
        "ENV DB_PASS hunter22",
        "db.password = Kx82mQp",
        "app.jwtSecret= JWTSuperSecretKey77",
        "login('ada@corp.io', 'L0velace!')",
        "ftp.login('up', 'ftpL0gin9')",
        "DriverManager.getConnection(url, \"scott\", \"t1g3rLily\");",
        "mysqli_connect(\"localhost\", \"root\", \"r00tMy5\")",
        "val secret = \"sc4laS3cret99\"",
        "requests.get(url, auth=(\"svc\", \"Requ3sts!\"))",
        "HTTPBasicAuth('svc', 'b4sicAuth')",
        ".basic_auth(\"svc\", Some(\"reqw3stPw\"))",
        "jwt.sign(payload, 'n0deJwtS3cret')",
        "openssl enc -aes-256-cbc -k En0ughSalt! -in a -out b",
        "7z x a.7z -p7zSecret99",
        "net use \\\\srv\\share /user:corp\\bob B0bWin10",
        "az login --service-principal -u app -p x8K~mQ9vL4pR7 --tenant t",
        "smbclient //srv/share -U bob%sm8Pass9",
        "ldapsearch -D cn=admin -w ld4pBind9 -b dc=x",
        "influx -username admin -password 1nfluxPw",
        "echo 'root:r00tme99' | chpasswd",
        "username admin password 0 c1scoPass",
        "requirepass r3disConf9",
        "<password><![CDATA[cd4ta!Pw]]></password>",
        "<property name=\"passWord\"><value>spr1ngB</value></property>",
        "AUTHKEY = 'vkidSQkgAHc='",
        "alter user sys identified by MYDBPasswd container=all;",
    ] {
        assert_eq!(classify(text).level, Level::Secret, "{text}");
        assert_ne!(redact(text), text, "{text}");
    }
    for text in [
        "\"passphrase\": \"enter the words again\"",
        "\"passphrase\": \"must have many words\"",
        "variable \"db_password\" {\n  type = string\n  sensitive = true\n}",
        "password = base64_password",
        "password = \"os.environ['X']\"",
        "password: 'getenv(X)'",
        "ENV COMPASS north9",
        "ENV DB_PASSWORD None",
        "app.secret = SecretManager",
        "login('ada@corp.io', password)",
        "ftp.login(user, pw)",
        "DriverManager.getConnection(url, user, password);",
        "requests.get(url, auth=(user, password))",
        "requests.get(url, auth=(\"user\", \"password\"))",
        "jwt.sign(payload, process.env.JWT_SECRET)",
        "az login --service-principal -u app -p $SECRET --tenant t",
        "ldapsearch -W -D cn=admin -b dc=x",
        "echo \"$USER:$PASS\" | chpasswd",
        "requirepass yourpassword",
        "<password><![CDATA[]]></password>",
        "'password' => 'required|min:8|confirmed',",
        "return t.password||t.token||(t.key=\"k\"+n)",
        "Access denied for user 'root'@'localhost' (using password: YES)**",
        "create_user(password: @password, password_confirmation: @password).tap(&:confirm)",
        "userPassword: !!str",
        "login.password=Kennwort",
        "STATUS_PASSWORD_EXPIRED = 3221225585",
        "monkey = \"banana\"",
    ] {
        assert_ne!(classify(text).level, Level::Secret, "{text}");
    }
}

/// Names of passwords and of what machines make, in all the ways that names and values are tied, beside what keeps a
/// place.
#[test]
fn d12_values_of_several_names_at_once_and_passwords_told_in_a_sentence_are_found() {
    for text in [
        "user, password = \"bob\", \"s3cr3t-Kx71\"",
        "user, passwd := \"root\", \"Rt66-long\"",
        "const [user, pass] = ['root', 'Gr8tWall!9']",
        "my ($user, $pass) = ('u', 'Pq8!mm2z');",
        "let (user, password) = (\"a, b\", \"Zk81!kslq\");",
        "password, user = \"Zk81!kslq\", \"bob\"",
        "host, port, self.password = f(1, 2), 5432, 'Zk81!kslq'",
        "The admin password is Kq7-tree-99, please do not share it.",
        "The password is tr0ub4dor&3.",
        "my password was: hunter2!",
        "Your token is now ghx0129ASKLqoqwe1982jsk",
        "Cookie: theme=dark; sessionid=vg9tyc7div0v5dkyrgzbd1b2hpngondp",
        "Set-Cookie: connect.sid=s%3AaKjs82jdka92jdkwl10dkw.kd92; Path=/",
        "new SecretKeySpec(\"ZtAuaQMRG7p7QIoH\".getBytes(), \"AES\")",
        "DBI->connect($dsn, 'root', 'Pr7-camel!')",
        "machine ftp.test login bob password Wz9-klop\n",
    ] {
        assert_eq!(classify(text).level, Level::Secret, "{text}");
    }
    for text in [
        "user, password = line.split(':')",
        "user, password = 'bob', get_password()",
        "user, password = \"Zk81!kslq\", \"password\"",
        "a, token_type, b = 'x', 'bearer', 'z'",
        "The password is too short.",
        "The password is base64-encoded",
        "password is 12-character minimum",
        "The password is sha256-hashed with a salt",
        "the password is <your-password1>",
        "the password was not found (404)",
        "Cookie: csrftoken=aKjs82jdka92jdkwl10dkw; lang=en",
        "Cookie: sessionid=${SESSION}",
        "key: deps-1f3a9c5d7e2b4a6f8091a2b3c4d5e6f708192a3b",
        "machine example.com login anonymous password anonymous@",
        "<PasswordField v-model=\"form.password\" :rules=\"passwordRules\" />",
        "new SecretKeySpec(key.getBytes(), \"AES\")",
    ] {
        assert!(classify(text).level < Level::Secret, "{text}: {:?}", classify(text).hits);
    }
}

#[test]
fn d12_every_name_is_read_in_every_syntax() {
    #[rustfmt::skip] // lines, not code
    const TIES: &[&str] = &[
        "{n} = \"{v}\"", "{n}='{v}'", "{n}={v}", "{n}: {v}", "  {n}: \"{v}\"", "\"{n}\": \"{v}\",", "'{n}' => '{v}',",
        "<{n}>{v}</{n}>", "tool --{n} {v}", "tool --{n}={v}", "export {n}={v}", "      - {n}={v}", "{n} = {v}",
        "{n} := \"{v}\"", "const {n} = '{v}';", "props.put(\"{n}\", \"{v}\");", "cfg['{n}'] = '{v}'",
        "{ user: bob, {n}: {v} }", "- name: {n}\n  value: {v}", "<add key=\"{n}\" value=\"{v}\"/>",
        "docker run -e {n}={v} img", "https://x.corp/a?u=1&{n}={v}", "Server=x;{n}={v};Y=1", "if {n} == \"{v}\":",
        "connect(host, {n}=\"{v}\", x=1)", "$env:{n} = \"{v}\"", "{n}: string = \"{v}\";",
    ];
    let chosen = ["hunter22", "S0mmer2023!", "Xk29fjQ7", "correcthorse9"];
    let made = ["9f8d7c6b5a4e3d2c1b0a9f8e7d6c5b4a", "Zk29LmQ8xVt4Rb7Wn3Yp"];
    let kept = ["changeme", "${X}", "<your-value>", "xxxxxxxx", "your_password_here", "{{ x }}", "$VALUE", "********"];
    let line = |tie: &str, name: &str, value: &str| tie.replace("{n}", name).replace("{v}", value);
    for (names, values) in [
        (&["password", "passwd", "pwd", "db_pass", "DB_PASSWORD", "userPassword", "passphrase"][..], &chosen[..]),
        (&["secret_key", "auth_token", "api-key", "clientSecret", "ACCESS_TOKEN", "accountKey"][..], &made[..]),
    ] {
        for name in names {
            for tie in TIES {
                for value in values {
                    let text = line(tie, name, value);
                    assert_eq!(classify(&text).level, Level::Secret, "{text}");
                }
                for value in kept {
                    let text = line(tie, name, value);
                    assert_ne!(classify(&text).level, Level::Secret, "{text}");
                }
            }
        }
    }
}

#[test]
fn g9_a_word_that_exempts_one_name_exempts_no_other() {
    let mut dice = Dice(29);
    let mut missed = Vec::new();
    for name in [
        "CURSOR_API_KEY",
        "NEXT_AUTH_SECRET",
        "FB_PAGE_ACCESS_TOKEN",
        "cursorApiKey",
        "nextAuthSecret",
        "NEXT_BILLING_SECRET",
        "CURSOR_ACME_TOKEN",
        "CURSOR_SECRET",
        "PAGE_SECRET",
        "REGISTRY_TOKEN",
        "CACHE_TOKEN",
        "CACHE_AUTH_TOKEN",
        "JSON_WEB_TOKEN_SECRET",
        "SORT_SERVICE_API_KEY",
        "PRIMARY_ACCESS_KEY",
        "OBJECT_STORAGE_SECRET",
        "SEQUENCE_DB_SECRET",
        "HOT_RELOAD_AUTH_TOKEN",
        "MASK_SERVICE_CLIENT_SECRET",
        "PUBLIC_BUCKET_SECRET_KEY",
        "AUTHOR_API_KEY",
        "COMPLETION_API_KEY",
        "GITHUB_TOKEN_NEXT",
        "API_KEY_CURSOR",
        "page_token_secret",
        "csrf_secret",
    ] {
        for (before, between, behind) in
            [("", "=", ""), ("", ": \"", "\""), ("const ", " = '", "';"), ("--", " '", "'")]
        {
            let text = format!("{before}{name}{between}{}{behind}", dice.fill("{32:an}"));
            if classify(&text).level != Level::Secret {
                missed.push(text);
            }
        }
    }
    for name in ["NEXT_DB_PASSWORD", "CURSOR_PASSWORD", "next_admin_password", "PAGINATION_DB_PASSWORD"] {
        for value in ["Tr0ub4dor-{4:num}", "kx{6:num}Qp"] {
            let text = format!("{name}='{}'", dice.fill(value));
            if classify(&text).level != Level::Secret {
                missed.push(text);
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn g9_names_that_say_that_their_value_may_be_known_exempt_themselves() {
    let mut dice = Dice(31);
    let mut wrong = Vec::new();
    for name in [
        "nextToken",
        "next_page_token",
        "pageToken",
        "continuationToken",
        "cursor_token",
        "csrf_token",
        "XSRF-TOKEN",
        "authenticity_token",
        "idempotency_key",
        "cache_key",
        "sort_key",
        "primary_key",
        "partitionKey",
        "objectKey",
        "public_key",
        "PUBLIC_API_KEY",
        "NEXT_PUBLIC_SITE_KEY",
        "stripe_publishable_key",
        "publicKeyToken",
        "routing_key",
        "encrypted_password",
        "key_fingerprint",
        "secret_sha256",
        "eos_token",
    ] {
        for (between, behind) in [("=", ""), (": \"", "\""), (" = '", "';")] {
            let text = format!("{name}{between}{}{behind}", dice.fill("{32:an}"));
            let class = classify(&text);
            if class.level > Level::Normal {
                wrong.push((text, class.hits));
            }
        }
    }
    for text in [
        "errorInvalidAccessToken: 'auth/invalid-access-token'",
        "\"enterNewPassword\": \"Introduce\"",
        "\"error_wrong_password\": \"Falsch!\"",
        "\"forgot_your_password\": \"Vergessen?\"",
        "max_completion_tokens = 4096",
    ] {
        let class = classify(text);
        if class.level > Level::Normal {
            wrong.push((text.to_owned(), class.hits));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
