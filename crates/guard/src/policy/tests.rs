use proptest::prelude::*;
use serde_json::json;

use super::*;

fn around() -> Surroundings {
    Surroundings::of_examples()
}

fn source(tier: Tier, text: &str) -> PolicySource {
    PolicySource { tier, name: "rules.toml".to_owned(), text: text.to_owned() }
}

fn policy(tier: Tier, text: &str) -> Policy {
    Policy::of(vec![source(tier, text)]).unwrap()
}

fn rule(id: &str, verdict: &str, rest: &str, matches: &str, no_match: &str) -> String {
    format!(
        "[[rule]]\nid = \"{id}\"\nverdict = \"{verdict}\"\n{rest}\nexamples.match = [{matches}]\nexamples.no_match = [{no_match}]\n"
    )
}

fn shell(id: &str, verdict: &str, words: &str) -> String {
    let mut line: Vec<String> = serde_json::from_str(words).unwrap();
    line.retain(|word| word != "…");
    rule(id, verdict, &format!("shell = {words}"), &format!("{:?}", line.join(" ")), "\"true\"")
}

fn line(policy: &Policy, line: &str) -> (Option<Verdict>, Vec<String>) {
    let ruling = policy.rule_on("shell", &json!({"command": line}), &around());
    (ruling.verdict, ruling.rules)
}

#[test]
fn x08_the_rules_that_are_shipped_load() {
    assert!(Policy::built_in().rules().count() > 0);
    let ruling = Policy::built_in().rule_on("write_file", &json!({"path": ".loopwright/policy.toml"}), &around());
    assert_eq!((ruling.verdict, ruling.rules), (Some(Verdict::Ask), vec!["built_in:policy-files".to_owned()]));
}

#[test]
fn x08_the_strictest_rule_over_every_command_holds() {
    let text = shell("push", "forbid", r#"["git", "push"]"#)
        + &shell("git", "allow", r#"["git", "…"]"#)
        + &shell("ls", "allow", r#"["ls", "…"]"#)
        + &shell("make", "ask", r#"["make"]"#);
    let policy = policy(Tier::User, &text);
    assert_eq!(line(&policy, "git status"), (Some(Verdict::Allow), vec!["user:git".into()]));
    assert_eq!(line(&policy, "git status; ls -l"), (Some(Verdict::Allow), vec!["user:git".into(), "user:ls".into()]));
    assert_eq!(line(&policy, "git push"), (Some(Verdict::Forbid), vec!["user:push".into()]));
    assert_eq!(line(&policy, "ls | git push"), (Some(Verdict::Forbid), vec!["user:push".into()]));
    assert_eq!(line(&policy, "ls && make"), (Some(Verdict::Ask), vec!["user:make".into()]));
    assert_eq!(line(&policy, "make; git push"), (Some(Verdict::Forbid), vec!["user:push".into()]));
    assert_eq!(line(&policy, "ls; cargo test"), (None, vec![]), "an allow must cover every command");
    assert_eq!(line(&policy, "cargo test"), (None, vec![]));
    let ruling = policy.rule_on("shell", &json!({"command": "ls && make all"}), &around());
    assert_eq!((ruling.part.as_deref(), ruling.span), (Some("make all"), Some(6..14)));
}

#[test]
fn x08_the_strictest_tier_holds_unless_a_higher_one_overrides_by_name() {
    let ask = source(Tier::Project, &shell("make", "ask", r#"["make"]"#));
    let allow = source(Tier::User, &shell("make-ok", "allow", r#"["make"]"#));
    let both = Policy::of(vec![ask.clone(), allow]).unwrap();
    assert_eq!(line(&both, "make").0, Some(Verdict::Ask));
    let text = shell("make-ok", "allow", r#"["make", "test"]"#).replace("verdict", "overrides = \"make\"\nverdict");
    let over = Policy::of(vec![ask.clone(), source(Tier::User, &text)]).unwrap();
    assert_eq!(line(&over, "make test").0, Some(Verdict::Allow));
    assert_eq!(line(&over, "make install").0, Some(Verdict::Ask), "only for the calls that it matches");
    let same = Policy::of(vec![ask, source(Tier::Project, &text)]).unwrap_err();
    assert_eq!(same.code, "unknown_rule", "no tier overrides itself");
}

#[test]
fn x08_an_override_of_a_rule_that_is_not_there_is_an_error_at_its_place() {
    let over =
        |names: &str| shell("ok", "allow", r#"["make"]"#).replace("verdict", &format!("overrides = {names}\nverdict"));
    let ask = source(Tier::Project, &shell("make", "ask", r#"["make"]"#));
    let of = |sources: Vec<PolicySource>| Policy::of(sources).map_err(|error| (error.code, error.line, error.column));
    let user = |names: &str| source(Tier::User, &over(names));
    assert_eq!(of(vec![ask.clone(), user(r#"["make", "mkae"]"#)]).unwrap_err(), ("unknown_rule", 3, 22));
    assert_eq!(of(vec![user("\"make\"")]).unwrap_err(), ("unknown_rule", 3, 13));
    let admin = source(Tier::Admin, &shell("make", "ask", r#"["make"]"#));
    assert_eq!(of(vec![admin, user("\"make\"")]).unwrap_err().0, "unknown_rule", "no tier overrides one above it");
    assert_eq!(of(vec![user("\"admin:make\"")]).unwrap_err(), ("invalid_rule", 3, 13));
    assert_eq!(of(vec![user("\"projct:make\"")]).unwrap_err(), ("unknown_level", 3, 13));
    assert_eq!(
        of(vec![user("\"built_in:make\"")]).unwrap_err().0,
        "unknown_rule",
        "what is shipped does not come and go"
    );
    // The order of the files is none of the tiers'.
    for sources in [vec![ask.clone(), user("\"make\"")], vec![user("\"make\""), ask.clone()]] {
        assert_eq!(line(&of(sources).unwrap(), "make").0, Some(Verdict::Allow));
    }
    // Rules of projects come and go with the folder.
    assert_eq!(line(&of(vec![user("\"project:make\"")]).unwrap(), "make").0, Some(Verdict::Allow));
    assert_eq!(line(&of(vec![ask, user("\"project:make\"")]).unwrap(), "make").0, Some(Verdict::Allow));
    let message = Policy::of(vec![user("\"make\"")]).unwrap_err().to_string();
    assert!(message.contains("rules.toml:3:13") && message.contains("\"make\""), "{message}");
}

#[test]
fn d10_a_domain_may_be_told_by_how_it_begins_where_nothing_is_allowed_by_it() {
    let text = |verdict: &str, prefix: &str| {
        rule(
            "ads",
            verdict,
            &format!("domain = {{ prefix = \"{prefix}\" }}"),
            "\"https://ads.x.test/a\"",
            "\"https://x.test/ads.\"",
        )
    };
    let policy = policy(Tier::User, &text("forbid", "ads."));
    let fetch = |url: &str| policy.rule_on("fetch", &json!({"url": url}), &around()).verdict;
    assert_eq!(fetch("https://ADS.example.org/"), Some(Verdict::Forbid));
    assert_eq!(fetch("https://adsx.example.org/"), None, "the dot is a dot");
    assert_eq!(fetch("https://good.test/?u=ads.example.org"), None);
    let wrong = |text: &str| Policy::of(vec![source(Tier::User, text)]).unwrap_err();
    assert_eq!((wrong(&text("allow", "ads.")).code, wrong(&text("allow", "ads.")).line), ("invalid_domain", 4));
    assert_eq!(wrong(&text("forbid", "")).code, "invalid_domain");
}

#[test]
fn x08_what_forbids_needs_no_certainty_and_what_allows_does() {
    let text = shell("push", "forbid", r#"["git", "push"]"#) + &shell("git", "allow", r#"["git", "…"]"#);
    let policy = policy(Tier::User, &text);
    assert_eq!(line(&policy, "git -C x push").0, Some(Verdict::Forbid));
    assert_eq!(line(&policy, "/usr/bin/git push").0, Some(Verdict::Forbid));
    assert_eq!(line(&policy, "git $WHAT").0, Some(Verdict::Ask));
    assert_eq!(line(&policy, "./git status").0, None, "another program of the same name");
}

#[test]
fn d10_commands_inside_of_code_meet_the_rules() {
    let policy = policy(Tier::User, &shell("push", "forbid", r#"["git", "push"]"#));
    let mut wrong = Vec::new();
    for text in [
        r#"python -c "import os; os.system('git push')""#,
        r#"python3 -c 'import subprocess; subprocess.run(["git", "-C", "lib", "push"])'"#,
        r#"python3 -c 'import subprocess as s; s.check_call("git push origin main", shell=True)'"#,
        r#"python3 -c 'import subprocess; subprocess.run(["bash", "-c", "git push"])'"#,
        r#"python3 -c 'import subprocess; subprocess.run(["sh", "-c", "cd lib && git push"])'"#,
        r#"python3 -c 'import os; os.execvp("git", ["git", "push"])'"#,
        r#"python3 -c 'import os; os.system(" ".join(["git", "push"]))'"#,
        r#"python3 -c 'import subprocess; subprocess.run("git push".split())'"#,
        r#"python3 -c "exec('import os; os.system(\'git push\')')""#,
        "python3 <<'E'\nimport os\nos.system(\"python3 -c 'import os; os.system(\\\"git push\\\")'\")\nE",
        "python3 <<'E'\nimport os\nos.system('git push')\nE",
        "echo 'import os; os.system(\"git push\")' | python3",
        r#"bash -c "git push""#,
        r"sh -c 'env A=1 git push'",
        r"env -S 'git push'",
        "echo origin | xargs git push",
        r#"ruby -e 'system("git push")'"#,
        r#"ruby -e 'system("git", "push")'"#,
        r"ruby -e '`git push`'",
        r"ruby -e 'exec *%w[git push]'",
        r#"perl -e 'system("git push")'"#,
        r#"perl -e 'exec "git", "push"'"#,
        r"perl -e 'print qx(git push)'",
        r#"node -e 'require("child_process").execSync("git push")'"#,
        r#"node -e 'require("child_process").spawnSync("git", ["push", "origin"])'"#,
        r#"node -e 'const {execSync: e} = require("child_process"); e("git push")'"#,
        r#"bun eval 'Bun.spawnSync(["git", "push"])'"#,
        r#"php -r 'system("git push");'"#,
        r#"lua -e 'os.execute("git push")'"#,
        r#"Rscript -e 'system("git push")'"#,
        r#"awk 'BEGIN { system("git push") }'"#,
        r"psql -c '\! git push'",
        r"vim -c '!git push' -c q",
        r#"sudo bash -c 'python3 -c "import os; os.system(\"git push\")"'"#,
        "git -c alias.p=push p",
        "find . -maxdepth 0 -exec git push \\;",
        "timeout 5 git push",
    ] {
        wrong.extend((line(&policy, text).0 != Some(Verdict::Forbid)).then_some(text));
    }
    // It may be a push: a person is asked.
    for text in [
        r#"python3 -c 'import subprocess, sys; subprocess.run(["git", sys.argv[1]])' push"#,
        r#"python3 -c 'import os, sys; os.system(f"git {sys.argv[1]}")' push"#,
        r#"node -e 'require("child_process").spawnSync("git", [process.argv[1]])' push"#,
    ] {
        wrong.extend((line(&policy, text).0 != Some(Verdict::Ask)).then_some(text));
    }
    for text in [
        r#"python3 -c 'print("git push")'"#,
        r#"python3 -c 'import subprocess; subprocess.run(["git", "status"])'"#,
        r#"node -e 'console.log("git push")'"#,
        "bash -c 'echo git push'",
    ] {
        wrong.extend(line(&policy, text).0.is_some().then_some(text));
    }
    assert_eq!(wrong, Vec::<&str>::new());
    let tool = |tool: &str, input: serde_json::Value| policy.rule_on(tool, &input, &around());
    let code = json!({"code": "import subprocess\nsubprocess.run(['git', 'push'])"});
    let ruling = tool("run_python", code);
    assert_eq!((ruling.verdict, ruling.part.as_deref()), (Some(Verdict::Forbid), Some("git push")));
    assert_eq!(tool("write_file", json!({"path": "a.py", "source": "os.system('git push')"})).verdict, None);
}

#[test]
fn d10_what_permits_covers_the_commands_inside_of_code_too() {
    let text = shell("python", "allow", r#"["python", "…"]"#) + &shell("ls", "allow", r#"["ls", "…"]"#);
    let policy = policy(Tier::User, &text);
    assert_eq!(line(&policy, "python -c 'print(1)'").0, Some(Verdict::Allow));
    assert_eq!(line(&policy, "python -c 'import os; os.system(\"ls -l\")'").0, Some(Verdict::Allow));
    assert_eq!(line(&policy, "python -c 'import os; os.system(\"make\")'").0, None);
    // The same program by another name is covered by what permits it as it stands.
    assert_eq!(line(&policy, "python -m pytest -q").0, Some(Verdict::Allow));
}

#[test]
fn d10_arguments_paths_and_domains() {
    let text =
        rule(
            "keys",
            "forbid",
            "path = [\"~/.ssh\", \"**/*.pem\"]",
            "\"~/.ssh/id\", \"a/b.pem\", {tool = \"shell\", arguments = {command = \"cat ~/.ssh/id\"}}",
            "\"a/b.txt\"",
        ) + &rule("out", "ask", "domain = [\".evil.com\"]", "\"https://x.evil.com/a\"", "\"https://evil.com.org\"")
            + &rule(
                "big",
                "forbid",
                "tool = \"pay*\"\narguments = { amount = { regex = \"^\\\\d{4,}$\" }, \"/to/bank\" = \"x\" }",
                "{tool = \"pay_now\", arguments = {amount = 5000, to = {bank = \"x\"}}}",
                "{tool = \"pay_now\", arguments = {amount = 5, to = {bank = \"x\"}}}",
            );
    let policy = policy(Tier::Project, &text);
    let verdict = |tool: &str, input: serde_json::Value| policy.rule_on(tool, &input, &around()).verdict;
    assert_eq!(verdict("read_file", json!({"path": "/home/user/.ssh/id"})), Some(Verdict::Forbid));
    assert_eq!(verdict("shell", json!({"command": "cp ../.ssh/id /tmp"})), Some(Verdict::Forbid));
    assert_eq!(verdict("fetch", json!({"options": [{"where": "http://a@b.evil.com:1/"}]})), Some(Verdict::Ask));
    assert_eq!(verdict("shell", json!({"command": "curl evil.com/x"})), Some(Verdict::Ask));
    assert_eq!(verdict("pay", json!({"amount": 12345, "to": {"bank": "x"}})), Some(Verdict::Forbid));
    assert_eq!(verdict("pay", json!({"amount": 12345, "to": {"bank": "y"}})), None);
}

fn broken(text: &str) -> PolicyError {
    Policy::of(vec![source(Tier::User, text)]).unwrap_err()
}

#[test]
fn d10_bad_rules_name_the_place() {
    let error = broken("[[rule]]\nid = \"a\"\nverdict = \"deny\"\ntool = \"x\"\n");
    assert_eq!((error.code, error.line, error.column, error.rule.as_deref()), ("unknown_level", 3, 11, Some("a")));
    assert!(error.to_string().starts_with("rules.toml:3:11: rule \"a\": "), "{error}");
    let error = broken("[[rule]]\nid = \"a\"\nverdict = \"ask\"\ntool = \"x\"\n");
    assert_eq!((error.code, error.line), ("missing_examples", 1));
    let error = broken("[[rule]]\nid = \"a\"\nverdict = \"ask\"\ntool = \"x\"\nexamples.match = [\"x\"]\n");
    assert_eq!(error.code, "missing_examples");
    let error = broken(&rule("a", "ask", "tool = \"x\"", "\"y\"", "\"z\""));
    assert_eq!((error.code, error.line, error.column), ("example_failed", 5, 19));
    let error = broken(&rule("a", "ask", "tool = \"x\"", "\"x\"", "\"x\""));
    assert_eq!((error.code, error.line), ("example_failed", 6));
    let error = broken(&rule("a", "ask", "arguments = { q = { regex = \"(\" } }", "{}", "{}"));
    assert_eq!((error.code, error.line), ("invalid_regex", 4));
    assert_eq!(broken("[[rule]\n").code, "policy_syntax");
    assert_eq!(broken("\n\nx = \n").line, 3);
    assert_eq!(broken("[[rules]]\nid = \"a\"\n").code, "unknown_key");
    assert_eq!(broken("[[rule]]\nid = \"a\"\nverdict = \"ask\"\ntol = \"x\"\n").code, "unknown_key");
    assert_eq!(broken("[[rule]]\nid = \"a\"\nverdict = \"ask\"\n").code, "invalid_rule");
    assert_eq!(broken("[[rule]]\nverdict = \"ask\"\n").code, "invalid_rule");
    assert_eq!(
        broken(&rule("a", "allow", "tool = \"x\"\nlifts = \"dangerous\"", "\"x\"", "\"y\"")).code,
        "invalid_rule"
    );
    assert_eq!(broken(&rule("a", "allow", "tool = \"x\"\nlifts = \"fatal\"", "\"x\"", "\"y\"")).code, "unknown_level");
    let twice = shell("a", "ask", r#"["x"]"#);
    assert_eq!(broken(&(twice.clone() + &twice)).code, "duplicate_rule");
    // What was loaded before stays in force.
    let before = policy(Tier::User, &twice);
    assert!(before.with(source(Tier::Admin, "[[")).is_err());
    assert_eq!(line(&before, "x").0, Some(Verdict::Ask));
}

#[test]
fn x08_a_policy_travels_with_its_run_and_is_not_changed_on_the_way() {
    let policy = policy(Tier::User, &shell("a", "ask", r#"["x"]"#));
    let text = serde_json::to_string(&policy).unwrap();
    let back: Policy = serde_json::from_str(&text).unwrap();
    assert_eq!(back, policy);
    let error = serde_json::from_str::<Policy>(&text.replace("\\\"ask\\\"", "\\\"allow\\\"")).unwrap_err();
    assert!(error.to_string().contains(CHANGED), "{error}");
}

#[test]
fn d10_padding_hides_nothing() {
    let text = rule("keys", "forbid", "path = \"~/.ssh\"", "\"~/.ssh/id\"", "\"a\"")
        + &shell("all", "allow", r#"["cat", "…"]"#).replace("\"true\"", "\"ls\"");
    let policy = policy(Tier::User, &text);
    let verdict = |input: serde_json::Value| policy.rule_on("shell", &input, &around());
    let folder = |folder: &str| verdict(json!({"command": "cat x", "cwd": folder})).verdict;
    assert_eq!(folder("."), Some(Verdict::Allow));
    assert_eq!(folder("~/.ssh"), Some(Verdict::Forbid));
    let many: Vec<String> = (0..5_000).map(|at| format!("/a/{at}")).collect();
    assert_eq!(verdict(json!({"command": "cat x", "paths": many})).verdict, None);
    let line = format!("cat {}", many.join(" "));
    assert_eq!(verdict(json!({"command": line})).verdict, None, "what nobody reads nobody allows");
    let subject = Subject::new("read", &json!({"paths": many}), &around());
    assert!(subject.unparsed.is_some());
}

#[test]
fn d10_large_calls_take_little_time() {
    let text: String = (0..50)
        .map(|at| {
            rule(&format!("r{at}"), "ask", &format!("path = \"**/x{at}*/**\""), &format!("\"a/x{at}/y\""), "\"a\"")
        })
        .collect();
    let policy = policy(Tier::User, &text);
    let paths: Vec<String> = (0..2_000).map(|at| format!("/a/{at}")).collect();
    let line = "cat a b c;".repeat(4_000);
    // Minutes where it were quadratic: the runner's time limit is the assertion.
    assert_eq!(policy.rule_on("shell", &json!({"command": line, "paths": paths}), &around()).verdict, None);
}

#[test]
fn g8_an_allow_means_its_very_words() {
    let of = |words: &str| policy(Tier::User, &shell("r", "allow", words));
    let allows = |words: &str, text: &str| line(&of(words), text).0 == Some(Verdict::Allow);
    let mut wrong = Vec::new();
    for (words, text, wanted) in [
        (r#"["rm", "-rf", "build"]"#, "rm -rf build", true),
        (r#"["rm", "-rf", "build"]"#, "rm -rf 'build'", true),
        (r#"["rm", "-rf", "build"]"#, "rm -rf build ../x", false),
        (r#"["rm", "-rf", "build"]"#, "rm -rf build*", false),
        (r#"["rm", "-rf", "build"]"#, "rm -rf", false),
        (r#"["rm", "-rf", "build"]"#, "/bin/rm -rf build", false),
        (r#"["rm", "-rf", "build"]"#, "rm -rf build > log", false),
        (r#"["rm", "-rf", "build"]"#, "rm -rf build; rm -rf build", true),
        (r#"["rm", "-rf", "build"]"#, "echo ../x | xargs rm -rf build", false),
        (r#"["make", "test", "…"]"#, "make test", true),
        (r#"["make", "test", "…"]"#, "make test -j 4 V=1", true),
        (r#"["make", "test", "..."]"#, "make test all", true),
        (r#"["make", "test", "…"]"#, "make tests", false),
        (r#"["make", "test", "…"]"#, "make -j4 test", false),
        (r#"["git", "log", "…"]"#, "git log --oneline -n 3 main", true),
        (r#"["git", "log", "…"]"#, "git log --output=f", false),
        (r#"["git", "log", "…"]"#, "git log --output f", false),
        (r#"["git", "log", "…"]"#, "git log --outp=f", false),
        (r#"["git", "log", "…"]"#, "git log main > f", false),
        (r#"["git", "log", "--output=f", "…"]"#, "git log --output=f main", true),
        (r#"["git", "log", "--output=f", "…"]"#, "git log --output=g main", false),
        (r#"["git", "log", "--output=f", "…"]"#, "git log --output=f --output=g", false),
        (r#"["git", "log", "--output", "…"]"#, "git log --output f", true),
        (r#"["git", "…"]"#, "git -c core.pager=x log", false),
        (r#"["sort", "…"]"#, "sort -u a", true),
        (r#"["sort", "…"]"#, "sort a -oa", false),
        (r#"["sort", "-o", "…"]"#, "sort -o b a", true),
        (r#"["uniq", "…"]"#, "uniq a", true),
        (r#"["uniq", "…"]"#, "uniq a b", false),
        (r#"["sed", "-n", "…"]"#, "sed -n 3p a", true),
        (r#"["sed", "-n", "…"]"#, "sed -n 'w b' a", false),
        (r#"["curl", "-sS", "…"]"#, "curl -sS https://a.example/x", true),
        (r#"["curl", "-sS", "…"]"#, "curl -sS https://a.example/x -o ~/.bashrc", false),
        (r#"["curl", "-sS", "…"]"#, "curl -sS https://a.example/x -so f", false),
        (r#"["ls", "…"]"#, "LANG=C ls -l", true),
        (r#"["ls", "…"]"#, "LD_PRELOAD=./x.so ls -l", false),
        (r#"["ls", "…"]"#, "FOO=bar ls -l", false),
        (r#"["FOO=bar", "ls", "…"]"#, "FOO=bar ls -l", true),
        (r#"["FOO=bar", "ls", "…"]"#, "FOO=baz ls -l", false),
        (r#"["FOO=bar", "ls", "…"]"#, "ls -l", false),
    ] {
        if allows(words, text) != wanted {
            wrong.push((words, text));
        }
    }
    assert_eq!(wrong, []);
    // What forbids or asks needs no such sign, and may have it.
    let forbid = policy(Tier::User, &shell("r", "forbid", r#"["git", "push", "…"]"#));
    assert_eq!(line(&forbid, "git -C lib push origin").0, Some(Verdict::Forbid));
}

#[test]
fn g8_a_rule_that_says_which_paths_permits_to_write_those() {
    let text = rule(
        "r",
        "allow",
        "shell = [\"sort\", \"…\"]\npath = \"out\"",
        "\"sort out/a -o out/b\"",
        "\"sort out/a -o b\", \"sort out/a -ob\", \"sort out/a > b\"",
    );
    let policy = policy(Tier::User, &text);
    assert_eq!(line(&policy, "sort out/a > out/b").0, Some(Verdict::Allow));
    assert_eq!(line(&policy, "sort -o ~/.bashrc out/a").0, None);
}

#[test]
fn g8_rules_that_can_not_hold_are_errors_with_a_way_out() {
    for words in [r#"["…"]"#, r#"["git", "…", "log"]"#, r#"["git", "...", "…"]"#] {
        let error = broken(&rule("a", "allow", &format!("shell = {words}"), "\"git log\"", "\"ls\""));
        assert_eq!((error.code, error.line), ("invalid_rule", 4), "{words}");
        assert!(error.hint.unwrap().contains("may follow"), "{words}");
    }
    let short = broken(&rule("a", "allow", r#"shell = ["git", "log"]"#, "\"git log -3\"", "\"ls\""));
    assert_eq!((short.code, short.line), ("example_failed", 5));
    assert!(short.hint.as_deref().unwrap().contains('…'), "{short:?}");
    let far = broken(&rule("a", "allow", r#"shell = ["git", "log"]"#, "\"ls\"", "\"git\""));
    assert!(!far.hint.as_deref().unwrap().contains('…'), "{far:?}");
    for (strict, words, undone) in [
        ("forbid", r#"["git", "push"]"#, true),
        ("ask", r#"["git"]"#, true),
        ("forbid", r#"["git", "push", "--force"]"#, false),
        ("forbid", r#"["git", "pull"]"#, false),
    ] {
        let both = shell("no", strict, words) + &shell("yes", "allow", r#"["git", "push", "…"]"#);
        let found = Policy::of(vec![source(Tier::User, &both)]).map(|_| ());
        let error = found.err().map(|error| (error.code, error.line, error.rule, error.hint.is_some()));
        assert_eq!(error, undone.then(|| ("contradictory_rule", 7, Some("yes".to_owned()), true)), "{strict} {words}");
    }
    // Where the other one says less in another condition, both have their calls.
    let pushes = shell("no", "forbid", r#"["git", "push"]"#).replace("shell =", "tool = \"other\"\nshell =");
    let pushes = pushes.replace("\"git push\"", "{tool = \"other\", arguments = {command = \"git push\"}}");
    let both = pushes + &shell("yes", "allow", r#"["git", "push"]"#);
    assert!(Policy::of(vec![source(Tier::User, &both)]).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn x08_a_rule_that_forbids_never_loosens(
        rules in prop::collection::vec((0..3_usize, 0..5_usize, 0..4_usize, any::<bool>()), 0..6),
        forbid in (0..5_usize, 0..4_usize, any::<bool>()),
        commands in prop::collection::vec((0..6_usize, 0..3_usize), 1..4),
    ) {
        const TIERS: [Tier; 4] = [Tier::BuiltIn, Tier::Project, Tier::User, Tier::Admin];
        const WORDS: [&str; 5] = [r#"["git"]"#, r#"["git", "push"]"#, r#"["ls"]"#, r#"["make"]"#, r#"["cat", "x"]"#];
        const PROGRAMS: [&str; 6] = ["git push", "git", "ls", "make", "cat x", "$P"];
        const ARGUMENTS: [&str; 3] = ["", " -f", " $Y"];
        let lower: Vec<(usize, usize)> = rules.iter().enumerate().map(|(id, (_, _, tier, _))| (id, *tier)).collect();
        let written = |id: usize, verdict: &str, words: usize, tier: usize, over: bool| {
            let text = shell(&format!("r{id}"), verdict, WORDS[words]);
            let below = lower.iter().filter(|(_, other)| *other < tier).map(|(id, _)| format!("\"r{id}\""));
            let below: Vec<String> = below.collect();
            let over = over && !below.is_empty();
            let text = if over {
                text.replace("verdict", &format!("overrides = [{}]\nverdict", below.join(", ")))
            } else {
                text
            };
            source(TIERS[tier], &text)
        };
        let sources: Vec<PolicySource> = rules
            .iter()
            .enumerate()
            .map(|(at, (verdict, words, tier, over))| {
                written(at, ["allow", "ask", "forbid"][*verdict], *words, *tier, *over)
            })
            .collect();
        let call: Vec<String> =
            commands.iter().map(|(program, rest)| format!("{}{}", PROGRAMS[*program], ARGUMENTS[*rest])).collect();
        let call = call.join("; ");
        let before = Policy::of(sources.clone()).unwrap();
        let mut more = sources;
        more.push(written(99, "forbid", forbid.0, forbid.1, forbid.2));
        let after = Policy::of(more).unwrap();
        // No verdict leaves it to risk, which is looser than no allow: what an allow lifts is what counts.
        let strict = |policy: &Policy| match line(policy, &call).0 {
            Some(Verdict::Allow) => 0,
            None => 1,
            Some(Verdict::Ask) => 2,
            Some(Verdict::Forbid) => 3,
        };
        prop_assert!(strict(&after) >= strict(&before), "{call}");
    }

    #[test]
    fn d10_no_text_is_too_strange(text in ".{0,200}", tool in ".{0,20}") {
        let _ = Policy::of(vec![source(Tier::User, &text)]);
        let policy = Policy::built_in();
        policy.rule_on(&tool, &json!({"command": text, "path": text}), &around());
        policy.rule_on(&tool, &json!({"url": [text.clone()], "x": {"y": text}}), &around());
    }
}

#[test]
fn sandbox_is_said_by_the_highest_tier_and_taken_away_by_no_project() {
    let (on, off) = ("sandbox = true", "sandbox = false");
    let of = |sources: &[(Tier, &str)]| {
        Policy::of(sources.iter().map(|(tier, text)| source(*tier, text)).collect()).map(|policy| policy.sandbox())
    };
    assert_eq!(of(&[]).unwrap(), None);
    assert_eq!(of(&[(Tier::User, off)]).unwrap(), Some((Tier::User, false)));
    assert_eq!(of(&[(Tier::Admin, on), (Tier::User, off)]).unwrap(), Some((Tier::Admin, true)));
    assert_eq!(of(&[(Tier::User, off), (Tier::Project, on)]).unwrap(), Some((Tier::User, false)));
    assert_eq!(of(&[(Tier::User, off), (Tier::User, on)]).unwrap(), Some((Tier::User, true)));
    for (tier, text) in [(Tier::Project, off), (Tier::BuiltIn, off), (Tier::User, "sandbox = 1")] {
        let error = of(&[(tier, text)]).unwrap_err();
        assert!(error.line == 1 && error.hint.is_some(), "{error:?}");
    }
}
