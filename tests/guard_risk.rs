//! The guard's risk, measured on lists of commands and held to what it promises.

use std::{collections::BTreeMap, fs, path::Path};

use loopwright::core::guard::{Risk, RiskContext, RiskLevel, assess_shell};
use serde_json::Value;

struct Case {
    set: String,
    command: String,
    deny: bool,
    held_out: bool,
}

fn cases(path: &str) -> Option<Vec<Case>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let Ok(text) = fs::read_to_string(&path) else {
        println!("skipped: {} is not there", path.display());
        return None;
    };
    let read = |line: &str| {
        let case: Value = serde_json::from_str(line).expect("a case");
        Case {
            set: case["set"].as_str().unwrap_or_default().to_owned(),
            command: case["command"].as_str().expect("a command").to_owned(),
            deny: case["expected"] == "deny",
            held_out: case["held_out"].as_bool().unwrap_or(false),
        }
    };
    Some(text.lines().map(read).collect())
}

fn risk(command: &str) -> Risk {
    assess_shell(command, &RiskContext::default())
}

/// Caught of the destructive, alarms on the harmless, and the wrong ones.
fn measure<'c>(cases: impl Iterator<Item = &'c Case>) -> (f64, f64, Vec<(&'c Case, Risk)>) {
    let (mut destructive, mut caught, mut harmless, mut alarms) = (0_u32, 0_u32, 0_u32, 0_u32);
    let mut wrong = Vec::new();
    for case in cases {
        let risk = risk(&case.command);
        let alarm = risk.level >= RiskLevel::Confirm;
        if case.deny {
            destructive += 1;
            caught += u32::from(alarm);
        } else {
            harmless += 1;
            alarms += u32::from(alarm);
        }
        if alarm != case.deny {
            wrong.push((case, risk));
        }
    }
    (f64::from(caught) / f64::from(destructive.max(1)), f64::from(alarms) / f64::from(harmless.max(1)), wrong)
}

fn report(name: &str, cases: &[&Case]) -> (f64, f64) {
    let (caught, alarms, wrong) = measure(cases.iter().copied());
    let destructive = cases.iter().filter(|case| case.deny).count();
    println!(
        "{name}: {destructive} destructive, {:.1} % caught; {} harmless, {:.1} % alarms",
        caught * 100.0,
        cases.len() - destructive,
        alarms * 100.0
    );
    if std::env::var_os("SHOW_WRONG").is_some() {
        let mut sets: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (case, risk) in &wrong {
            sets.entry(&case.set).or_default().push(format!(
                "{:?} -> {} {} {}",
                case.command,
                risk.level.name(),
                risk.rule,
                risk.why
            ));
        }
        for (set, wrong) in sets {
            println!("  {set}\n    {}", wrong.join("\n    "));
        }
    }
    (caught, alarms)
}

#[test]
fn c15_destructive_commands_of_the_shared_sample_are_caught() {
    let Some(cases) = cases("../shared/data/commands/cases.jsonl") else { return };
    let (caught, alarms) = report("shared sample", &cases.iter().collect::<Vec<_>>());
    assert!(caught >= 0.95 && alarms <= 0.03, "{caught} {alarms}");
}

#[test]
fn c15_destructive_commands_of_our_own_list_are_caught() {
    let Some(cases) = cases("tests/data/commands/cases.jsonl") else { return };
    let open: Vec<&Case> = cases.iter().filter(|case| !case.held_out).collect();
    let held: Vec<&Case> = cases.iter().filter(|case| case.held_out).collect();
    let (caught, alarms) = report("own list, looked at", &open);
    assert!(caught >= 0.95 && alarms <= 0.03, "{caught} {alarms}");
    if std::env::var_os("SHOW_WRONG").is_none() {
        let (caught, alarms) = report("own list, held out", &held);
        assert!(caught >= 0.95 && alarms <= 0.03, "{caught} {alarms}");
    }
}
