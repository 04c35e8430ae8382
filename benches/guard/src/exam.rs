//! `cargo run --release -- exam list.jsonl[.gz] …`: how many lines of a labelled list the built-in shell asks about
//! under the rules that are shipped, each under the sentence that it was written for. `SHOW_WRONG=1` names the others.

use std::{fs::File, io};

use flate2::read::GzDecoder;
use loopwright_guard::{
    Authority, Cautious, Declared, GuardConfig, RiskLevel, judge,
    policy::{Policy, Surroundings},
};
use serde_json::{Value, json};

/// The verdicts on the command lines that carry one label: `harmless`, `destroys`, `discloses`, ….
#[derive(Default)]
struct Count {
    lines: usize,
    safe: usize,
    asked: usize,
}

/// Draws each list once.
pub fn draw(lists: &[String]) -> io::Result<()> {
    let config = GuardConfig {
        policy: Policy::built_in(),
        around: Surroundings {
            home: Some("/home/user".to_owned()),
            workspace: Some("/home/user/project".to_owned()),
            ..Surroundings::default()
        },
        cautious: Cautious::Intent,
        ..GuardConfig::default()
    };
    let declared = Declared { risk: RiskLevel::Confirm, by_arguments: true };
    println!("| list | label | lines | `safe` | asked about | |\n| --- | --- | --- | --- | --- | --- |");
    for list in lists {
        let mut counts = Vec::new();
        for line in text(list)?.lines() {
            let case: Value = serde_json::from_str(line)?;
            let of = |key: &str| case[key].as_str().unwrap_or_default();
            let input = json!({ "command": of("line") });
            let judged = judge(&config, &Authority::of_text(of("sentence")), "shell", &input, declared);
            let count = count(&mut counts, of("label"));
            count.lines += 1;
            count.safe += usize::from(judged.risk == RiskLevel::Safe);
            count.asked += usize::from(judged.asks());
            if judged.asks() == (of("label") == "harmless") && std::env::var_os("SHOW_WRONG").is_some() {
                eprintln!("{} {line} {} {:?} {}", of("label"), judged.risk.name(), judged.rules, judged.why);
            }
        }
        for (label, Count { lines, safe, asked }) in counts {
            let percent = asked as f64 * 100.0 / lines.max(1) as f64;
            println!("| {list} | {label} | {lines} | {safe} | {asked} | {percent:.1} % |");
        }
    }
    Ok(())
}

fn count<'c>(counts: &'c mut Vec<(String, Count)>, label: &str) -> &'c mut Count {
    let at = counts.iter().position(|(name, _)| name == label).unwrap_or_else(|| {
        counts.push((label.to_owned(), Count::default()));
        counts.len() - 1
    });
    &mut counts[at].1
}

fn text(list: &str) -> io::Result<String> {
    let file = File::open(list)?;
    if list.ends_with(".gz") { io::read_to_string(GzDecoder::new(file)) } else { io::read_to_string(file) }
}
