//! What holds of every example of every record, however it is written and whatever stands around it.

use serde_json::json;

use super::records;
use crate::{
    Authority, Declared, GuardConfig, RiskContext, RiskLevel, assess_shell, judge,
    policy::{Policy, PolicySource, Tier, Verdict},
};

fn found(line: &str) -> (RiskLevel, &'static str) {
    let risk = assess_shell(line, &RiskContext::default());
    (risk.level, risk.rule)
}

/// The examples that are a program and plain words.
fn plain() -> Vec<&'static str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " -_./:@,+%=".contains(c);
    let lines = records().all.iter().flat_map(|record| &record.examples).map(|(_, line)| line.as_str());
    // What sets a variable is no program, and quotes make one of a keyword.
    let first = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let lines: Vec<&str> = lines
        .filter(|line| line.chars().all(is_plain) && !first(line).contains('=') && first(line) != "time")
        .collect();
    assert!(lines.len() > 800, "{}", lines.len());
    lines
}

/// Holds what is told of lines against what each is to be; shows those that are another.
fn hold(lines: impl Iterator<Item = (String, String)>, is: impl Fn(&str, &str) -> bool) {
    let wrong: Vec<String> = lines
        .filter(|(plain, other)| !is(plain, other))
        .map(|(plain, other)| format!("{plain} {:?}, but {other} {:?}", found(&plain), found(&other)))
        .collect();
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

fn same(plain: &str, other: &str) -> bool {
    found(plain) == found(other)
}

fn same_level(plain: &str, other: &str) -> bool {
    found(plain).0 == found(other).0
}

#[test]
fn quotes_change_no_verdict() {
    let ways: [fn(&str) -> String; 5] = [
        |word| format!("'{word}'"),
        |word| format!("\"{word}\""),
        |word| format!("$'{word}'"),
        |word| word.chars().flat_map(|c| ['\\', c]).collect(),
        |word| format!("{}''{}", &word[..1], &word[1..]),
    ];
    let written = |line: &str, way: fn(&str) -> String| {
        line.split(' ').filter(|word| !word.is_empty()).map(way).collect::<Vec<_>>().join(" ")
    };
    hold(plain().into_iter().flat_map(|line| ways.map(|way| (line.to_owned(), written(line, way)))), same);
}

#[test]
fn gaps_change_no_verdict() {
    let gaps = ["  ", "\t", " \\\n", "\\\n ", " \\\n\\\n  "];
    hold(plain().into_iter().flat_map(|line| gaps.map(|gap| (line.to_owned(), line.replace(' ', gap)))), same);
}

#[test]
fn wrappers_and_env_change_no_verdict() {
    let around = [
        "env {}",
        "env LANG=C {}",
        "LANG=C {}",
        "timeout 5 {}",
        "nice {}",
        "sh -c '{}'",
        "({})",
        "{ {}; }",
        "if true; then {}; fi",
        "for i in 1; do {}; done",
        "! {}",
    ];
    let wrapped = |line: &str| around.map(|around| (line.to_owned(), around.replace("{}", line)));
    hold(plain().into_iter().flat_map(wrapped), same_level);
    // What these do beside is not known to be nothing.
    let wrapped = |line: &str| {
        ["eval '{}'", "f() { {}; }; f", "trap '{}' EXIT", "xargs {}"]
            .map(|around| (line.to_owned(), around.replace("{}", line)))
    };
    hold(plain().into_iter().flat_map(wrapped), |plain, other| found(other).0 >= found(plain).0);
}

#[test]
fn the_order_of_parts_changes_no_verdict() {
    let lines = plain();
    let pairs = lines.iter().zip(lines.iter().skip(37).chain(&lines));
    for joint in ["; ", " && ", " || ", "\n"] {
        let both = |(one, other): (&&str, &&str)| (format!("{one}{joint}{other}"), format!("{other}{joint}{one}"));
        hold(pairs.clone().map(both), same_level);
    }
    // A line is as bad as its worst part.
    let worst = |(one, other): (&&str, &&str)| (format!("{one}; {other}"), found(one).0.max(found(other).0));
    let wrong: Vec<_> = pairs.map(worst).filter(|(line, worst)| found(line).0 < *worst).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn words_that_ask_or_are_added_pardon_nothing() {
    let words = ["--help", "-h", "--version", "/?", "help", "x", "--zzz", "--help x", "> /dev/null", "2>&1"];
    let more = |line: &'static str| words.map(|word| (line.to_owned(), format!("{line} {word}")));
    // Who prints its help for a subcommand is asked for that and nothing else.
    let held = |plain: &str, other: &str| found(other).0 >= found(plain).0 || found(other).1 == "shell.help";
    let harmful = plain().into_iter().filter(|line| found(line).0 >= RiskLevel::Confirm);
    hold(harmful.flat_map(more), held);
}

#[test]
fn a_word_that_nobody_knows_makes_no_line_safe_that_was_not() {
    let more = |line: &'static str| ["--zzz", "x", "-Z"].map(|word| (line.to_owned(), format!("{line} {word}")));
    hold(plain().into_iter().flat_map(more), |plain, other| {
        found(plain).0 == RiskLevel::Safe || found(other).0 > RiskLevel::Safe
    });
}

#[test]
fn policies_that_ask_or_forbid_never_loosen() {
    let judged = |policy: Policy, line: &str| {
        let config = GuardConfig { policy, ..GuardConfig::default() };
        let declared = Declared { risk: RiskLevel::Confirm, by_arguments: true };
        judge(&config, &Authority::default(), "shell", &json!({ "command": line }), declared).verdict
    };
    let mut wrong = Vec::new();
    for record in &records().all {
        let name = record.names.first().map(String::as_str).unwrap_or_default();
        let Some((_, line)) = record.examples.iter().find(|(_, line)| line.split(' ').next() == Some(name)) else {
            continue;
        };
        for (verdict, least) in [("ask", Verdict::Ask), ("forbid", Verdict::Forbid)] {
            let text = format!(
                "[[rule]]\nid = \"r\"\nverdict = \"{verdict}\"\nshell = [{name:?}]\n\
                 examples.match = [\"{name} a\"]\nexamples.no_match = [\"zzz\"]\n"
            );
            let source = PolicySource { tier: Tier::Project, name: "p".to_owned(), text };
            // Names that no shell takes for a word are no programs of a rule.
            let Ok(policy) = Policy::built_in().with(source) else { continue };
            let (before, after) = (judged(Policy::built_in(), line), judged(policy, line));
            if after < before || after < least {
                wrong.push(format!("{verdict} {line}: {before:?} {after:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
