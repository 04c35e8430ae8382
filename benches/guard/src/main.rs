//! `cargo run --release [list.jsonl …]`: what of each list is caught, and how long a call takes; then how time grows
//! with texts that are made to be hard. `exam list.jsonl.gz …` draws labelled lists (`exam.rs`).

mod exam;

use std::{collections::BTreeMap, fs, hint::black_box, time::Instant};

use loopwright_guard::{RiskContext, RiskLevel, assess_shell, shell};

fn main() {
    let context = RiskContext::default();
    let mut lists: Vec<String> = std::env::args().skip(1).collect();
    if lists.first().is_some_and(|first| first == "exam") {
        return exam::draw(&lists[1..]).expect("lists of labelled lines");
    }
    if lists.is_empty() {
        lists = ["../../../shared/data/commands/cases.jsonl", "../../tests/data/commands/cases.jsonl", "../../tests/data/commands/second.jsonl", "../../tests/data/commands/third.jsonl", "../../tests/data/commands/fourth.jsonl", "../../tests/data/commands/fifth.jsonl", "../../tests/data/commands/sixth.jsonl", "../../tests/data/commands/seventh.jsonl", "../../tests/data/commands/eighth.jsonl", "../../tests/data/commands/ninth.jsonl", "../../tests/data/commands/tenth.jsonl", "../../tests/data/commands/eleventh.jsonl", "../../tests/data/commands/twelfth.jsonl", "../../tests/data/commands/thirteenth.jsonl", "../../tests/data/commands/fourteenth.jsonl", "../../tests/data/commands/fifteenth.jsonl", "../../tests/data/commands/sixteenth.jsonl", "../../tests/data/commands/seventeenth.jsonl", "../../tests/data/commands/eighteenth.jsonl"]
            .map(str::to_owned)
            .to_vec();
    }
    println!("| list | destructive | caught | harmless | alarms | median µs | 99 % µs |\n| --- | --- | --- | --- | --- | --- | --- |");
    for list in lists {
        let Ok(text) = fs::read_to_string(&list) else {
            println!("| {list} is not there |");
            continue;
        };
        let mut parts: BTreeMap<String, Vec<(String, bool)>> = BTreeMap::new();
        for line in text.lines() {
            let case: serde_json::Value = serde_json::from_str(line).expect("a case");
            let held = if case["held_out"].as_bool() == Some(true) { ", held out" } else { "" };
            let command = case["command"].as_str().unwrap_or_default().to_owned();
            parts.entry(format!("{list}{held}")).or_default().push((command, case["expected"] == "deny"));
        }
        for (name, cases) in parts {
            let mut times = Vec::new();
            let (mut deny, mut caught, mut alarms) = (0_usize, 0_usize, 0_usize);
            for (command, destructive) in &cases {
                let risk = assess_shell(command, &context);
                let alarm = risk.level >= RiskLevel::Confirm;
                deny += usize::from(*destructive);
                caught += usize::from(*destructive && alarm);
                alarms += usize::from(!destructive && alarm);
                if alarm != *destructive && std::env::var_os("SHOW_WRONG").is_some() {
                    eprintln!("{destructive} {command:?} {} {}", risk.level.name(), risk.rule);
                }
                let start = Instant::now();
                for _ in 0..20 {
                    black_box(assess_shell(black_box(command), &context));
                }
                times.push(start.elapsed().as_nanos() as f64 / 20_000.0);
            }
            times.sort_by(f64::total_cmp);
            let harmless = cases.len() - deny;
            let percent = |part: usize, of: usize| part as f64 * 100.0 / of.max(1) as f64;
            println!(
                "| {name} | {deny} | {:.1} % | {harmless} | {:.1} % | {:.1} | {:.1} |",
                percent(caught, deny),
                percent(alarms, harmless),
                times[times.len() / 2],
                times[times.len() * 99 / 100]
            );
        }
    }
    println!("\n| hard text | 4 KB µs | 16 KB µs | 64 KB µs | 256 KB µs |\n| --- | --- | --- | --- | --- |");
    for unit in [
        "ls -la src; ", "a;", "a|", "(", "x=(", "$(", "\"$(", "{a,", "if a; then ", "<<E ", "cat <<E\nx\nE\n", "python -c 'import os; ", "x {} ", "${a:-", "'", "[[ ", "case x in a) ", "){", "bash -c ", "\\", "`", "sudo ", "x=$x$x;", "echo $(a);", "a b ", "for i in a b; do ",
        "python -c \"os.system('x')\";", "é ", "> x ", "&& ", "echo {a,b}{c,d} ", "f() { f | f; };",
    ] {
        let mut row = format!("| `{}` |", unit.replace('\n', "⏎").replace('|', "\\|"));
        for size in [4_usize, 16, 64, 256] {
            let text = unit.repeat(size * 1024 / unit.len());
            let start = Instant::now();
            if std::env::var_os("PARSE").is_some() { black_box(shell::parse(&text)); } else { black_box(assess_shell(&text, &context)); }
            row.push_str(&format!(" {:.0} |", start.elapsed().as_nanos() as f64 / 1000.0));
        }
        println!("{row}");
    }
}
