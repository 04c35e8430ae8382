//! What a record costs: the detector beside its hashing, over how much it has seen, and reading a stream.
//!
//!     cargo run --release --manifest-path benches/senses/Cargo.toml

use std::{hint::black_box, time::Instant};

use loopwright_base::message::{ToolResult, ToolUse};
use loopwright_monitor::stuck::{Step, StuckDetector, StuckPolicy};

/// Nanoseconds for one of `count`: the best of five.
fn best(count: usize, mut work: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_nanos() as f64 / count as f64);
    }
    best
}

/// A detector that has seen `count` steps of a kind.
fn seen(count: usize, step: impl Fn(usize) -> Step) -> StuckDetector {
    let mut detector = StuckDetector::new(StuckPolicy::default());
    for n in 0..count {
        detector.record_step("bash", "{\"command\":\"cargo test --workspace\"}", &step(n), None);
    }
    detector
}

fn mixed(n: usize) -> u64 {
    (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn main() {
    println!("a record whose hashes are known, ns:\n");
    println!("| records before | all different | all the same | a cycle of 64 | errors |");
    println!("| --- | --- | --- | --- | --- |");
    let kinds: [fn(usize) -> Step; 4] = [
        |n| Step::of_hashes(7, mixed(n), mixed(n) >> 3, false),
        |_| Step::of_hashes(7, 8, 9, false),
        |n| Step::of_hashes(7, mixed(n % 64), 9, false),
        |n| Step::of_hashes(7, mixed(n), mixed(n % 3), n % 2 == 0),
    ];
    for before in [100, 10_000, 1_000_000] {
        let cells: Vec<String> = kinds
            .iter()
            .map(|kind| {
                let mut detector = seen(before, kind);
                let mut n = before;
                let cost = best(10_000, || {
                    for _ in 0..10_000 {
                        detector.record_step("bash", "{\"command\":\"cargo test\"}", black_box(&kind(n)), None);
                        n += 1;
                    }
                    black_box(detector.is_stuck());
                });
                format!("{cost:.0}")
            })
            .collect();
        println!("| {before} | {} |", cells.join(" | "));
    }

    println!("\na record with its hashing, by the size of the result:\n");
    println!("| result | ns | GB/s | xxh3 of the same bytes, GB/s |");
    println!("| --- | --- | --- | --- |");
    let line = "    let value = self.window.get(slot).copied().unwrap_or_default(); // line 117 of 2,048\n";
    for size in [100, 2_000, 10_000, 100_000, 1_000_000, 4_000_000] {
        let text: String = line.chars().cycle().take(size).collect();
        let call = ToolUse::from_text("c", "bash", "{\"command\":\"cat src/main.rs\"}".to_owned());
        let result = ToolResult::text("c", "bash", text.clone());
        let times = (20_000_000 / size).clamp(20, 20_000);
        let mut detector = StuckDetector::default();
        let cost = best(times, || {
            for _ in 0..times {
                detector.record(black_box(&call), black_box(&result), None);
            }
        });
        let plain = best(times, || {
            for _ in 0..times {
                black_box(xxhash_rust::xxh3::xxh3_64(black_box(text.as_bytes())));
            }
        });
        println!("| {size} B | {cost:.0} | {:.1} | {:.1} |", size as f64 / cost, size as f64 / plain);
    }

    println!("\nthe hash of a call, by the size of its arguments:\n");
    println!("| arguments | ns | GB/s |\n| --- | --- | --- |");
    for size in [40, 500, 2_000, 15_000, 100_000, 1_000_000] {
        let code: String = "let x = compute(a, b);\\n".chars().cycle().take(size / 24 * 24).collect();
        let arguments = format!("{{\"path\":\"src/main.rs\",\"content\":\"{code}\"}}");
        let times = (10_000_000 / arguments.len()).clamp(20, 20_000);
        let cost = best(times, || {
            for _ in 0..times {
                black_box(Step::of_text("write", black_box(&arguments), "ok", false, None));
            }
        });
        println!("| {} B | {cost:.0} | {:.1} |", arguments.len(), arguments.len() as f64 / cost);
    }

    println!("\na stream:\n\n| text | ns a byte |\n| --- | --- |");
    let prose = include_str!("../../../README.md").replace("```", "");
    let rows: String = (0..4_000).map(|n| format!("| {n} | {} |\n", n * 7)).collect();
    for (name, text) in [("prose", prose.as_str()), ("rows of numbers", rows.as_str())] {
        let mut detector = StuckDetector::default();
        let cost = best(text.len(), || {
            for piece in text.as_bytes().chunks(32) {
                if let Ok(piece) = std::str::from_utf8(piece) {
                    detector.feed(piece);
                }
            }
            detector.end_reply();
        });
        println!("| {name} | {cost:.1} |");
    }
}
