//! Recall and false hits on labelled sets, and megabytes a second on files.
//!
//!     cargo run --release --manifest-path benches/guard_sensitivity/Cargo.toml -- score set.jsonl ... [--misses N]
//!     cargo run --release --manifest-path benches/guard_sensitivity/Cargo.toml -- speed file ...
//!
//! A set is JSON lines: `{"text": "…", "secret": true}`. Only hits of the level `secret` count for the score.

use std::{fs, time::Instant};

use loopwright_guard::sensitivity::{Level, classify, redact};
use serde_json::Value;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((word, rest)) if word == "score" => score(rest),
        Some((word, rest)) if word == "speed" => speed(rest),
        _ => eprintln!("score set.jsonl ... [--misses N] | speed file ..."),
    }
}

fn score(arguments: &[String]) {
    let mut shown = 0;
    let mut files = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--misses" {
            shown = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(40);
        } else {
            files.push(argument);
        }
    }
    println!("| set | secrets | found | others | false hits |\n| --- | ---: | ---: | ---: | ---: |");
    for file in files {
        let set = fs::read_to_string(file).expect("a set that can be read");
        let (mut secrets, mut found, mut others, mut alarms) = (0, 0, 0, 0);
        let (mut missed, mut wrong) = (Vec::new(), Vec::new());
        for line in set.lines() {
            let case: Value = serde_json::from_str(line).expect("a line of JSON");
            let text = case["text"].as_str().unwrap_or_default();
            let class = classify(text);
            let hit = class.level == Level::Secret;
            if case["secret"] == Value::Bool(true) {
                secrets += 1;
                found += usize::from(hit);
                if !hit {
                    missed.push(case.clone());
                }
            } else {
                others += 1;
                alarms += usize::from(hit);
                if hit {
                    wrong.push((case.clone(), class.hits));
                }
            }
        }
        let share = |part: usize, all: usize| part as f64 * 100.0 / all.max(1) as f64;
        let name = file.rsplit('/').next().unwrap_or(file);
        println!(
            "| {name} | {secrets} | {:.1} % | {others} | {:.1} % |",
            share(found, secrets),
            share(alarms, others)
        );
        if shown > 0 {
            let cut = |text: &str| text.chars().take(300).collect::<String>().replace('\n', "\\n");
            let step = (missed.len() / shown).max(1);
            for case in missed.iter().step_by(step).take(shown) {
                println!("MISSED {} | {}", case["src"], cut(case["text"].as_str().unwrap_or_default()));
            }
            let step = (wrong.len() / shown).max(1);
            for (case, hits) in wrong.iter().step_by(step).take(shown) {
                let text = case["text"].as_str().unwrap_or_default();
                let hits: Vec<String> =
                    hits.iter().map(|hit| format!("{}:{}", hit.detector, cut(&text[hit.span.clone()]))).collect();
                println!("WRONG {} | {} | {hits:?}", case["src"], cut(text));
            }
        }
    }
}

fn speed(files: &[String]) {
    println!("| text | size | hits | classify | redact |\n| --- | ---: | ---: | ---: | ---: |");
    let rate = |name: &str, text: &str| {
        let hits = classify(text).hits.len();
        let best = |work: &dyn Fn()| {
            let seconds = (0..5)
                .map(|_| {
                    let start = Instant::now();
                    work();
                    start.elapsed().as_secs_f64()
                })
                .fold(f64::INFINITY, f64::min);
            text.len() as f64 / seconds / 1e6
        };
        let classified = best(&|| {
            std::hint::black_box(classify(text));
        });
        let redacted = best(&|| {
            std::hint::black_box(redact(text));
        });
        println!("| {name} | {:.2} MB | {hits} | {classified:.0} MB/s | {redacted:.0} MB/s |", text.len() as f64 / 1e6);
    };
    for file in files {
        let text = String::from_utf8_lossy(&fs::read(file).expect("a file that can be read")).into_owned();
        rate(file.rsplit('/').next().unwrap_or(file), &text);
    }
    for (name, piece) in [
        ("prose", "The loop takes an event, changes its own state, and answers with commands that a driver carries out.\n"),
        ("keywords", "key token secret password auth key=key token: token\n"),
        ("no spaces", "key=key=key="),
        ("headers", "-----BEGIN RSA PRIVATE KEY-----"),
        ("tokens", "eyJ-eyJ.eyJ_"),
        ("digits", "4111 1111 1111 1112 +49 30 "),
        ("signs", "a@b.c@"),
    ] {
        rate(name, &piece.repeat(4_000_000 / piece.len()));
    }
}
