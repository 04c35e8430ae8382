//! Side by side with the parsers of others, in one process and in turn: prints a line of JSON for each figure.
//! Figures are the thread's CPU time, the shortest of several runs: other work on the machine doesn't count.

use std::{hint::black_box, time::Duration};

use cpu_time::ThreadTime;
use loopwright_extract::{Events, Parser, Policy, repair_json};
use loopwright_extract_bench::{
    CHUNK, SIZES, broken, feed, json_call, json_prose_call, kimi_call, parser, pieces, prose, shapes, small_calls,
    small_reply, tools, xml_call,
};
use serde_json::json;

mod rivals;

/// One thing to do; says whether it came out right.
pub(crate) type Job = Box<dyn FnMut(&str) -> bool>;

/// Measured for so long, but at least a few times.
const BUDGET: Duration = Duration::from_millis(700);
/// Nobody gets more than this for one run: what would take longer is left out.
const PATIENCE: f64 = 20.0;

fn once(job: &mut Job, text: &str) -> (f64, bool) {
    let start = ThreadTime::now();
    let right = black_box(job(black_box(text)));
    (start.elapsed().as_secs_f64(), right)
}

/// Measures each in turn, round by round.
fn measure(task: &str, size: usize, text: &str, unit: (&str, u64), jobs: &mut Vec<(&'static str, Job)>) {
    let mut best = vec![(f64::INFINITY, true, 0.0); jobs.len()];
    for (round, _) in (0..).zip(std::iter::repeat_n((), 2_000_000)) {
        let mut open = false;
        for ((_, job), best) in jobs.iter_mut().zip(&mut best) {
            if best.2 > BUDGET.as_secs_f64() && (round >= 3 || best.2 > 2.0) {
                continue;
            }
            open = true;
            // Several in one go where one is hardly longer than reading the clock.
            let times = if best.0 < 3e-5 { 100 } else { 1 };
            let (mut took, mut right) = (0.0, true);
            if times == 1 {
                (took, right) = once(job, text);
            } else {
                let start = ThreadTime::now();
                for _ in 0..times {
                    right &= black_box(job(black_box(text)));
                }
                took += start.elapsed().as_secs_f64();
            }
            best.2 += took;
            best.0 = best.0.min(took / f64::from(times));
            best.1 &= right;
        }
        if !open {
            break;
        }
    }
    for ((who, _), (seconds, right, _)) in jobs.iter().zip(&best) {
        let line = json!({"task": task, "size": size, "bytes": text.len(), "who": who, "seconds": seconds,
            "unit": unit.0, "units": unit.1, "right": right});
        println!("{line}");
    }
    // A tenth of the time for a tenth of the size at best; if it grows with the square, a hundredth.
    let mut kept = best.iter();
    jobs.retain(|_| kept.next().is_some_and(|(seconds, _, _)| seconds * 10.0 < PATIENCE));
}

fn ours(size: usize, calls: usize) -> Job {
    let mut events = Events::new();
    Box::new(move |text| feed(parser(), text, size, &mut events).1 == calls)
}

fn main() {
    let only = std::env::args().nth(1);
    let wanted = |task: &str| only.as_deref().is_none_or(|only| task.starts_with(only));
    if wanted("json-chunks") {
        let mut jobs = vec![("loopwright", ours(CHUNK, 1))];
        jobs.extend(rivals::json_chunks());
        for size in SIZES {
            let text = json_call(size);
            measure("json-chunks", size, &text, ("chunk", pieces(&text, CHUNK)), &mut jobs);
        }
    }
    if wanted("kimi-chunks") {
        let mut jobs = vec![("loopwright", ours(CHUNK, 1))];
        jobs.extend(rivals::kimi_chunks());
        for size in SIZES {
            let text = kimi_call(size);
            measure("kimi-chunks", size, &text, ("chunk", pieces(&text, CHUNK)), &mut jobs);
        }
    }
    if wanted("xml-chunks") {
        let mut jobs = vec![("loopwright", ours(CHUNK, 1))];
        jobs.extend(rivals::xml_chunks());
        for size in SIZES {
            let text = xml_call(size);
            measure("xml-chunks", size, &text, ("chunk", pieces(&text, CHUNK)), &mut jobs);
        }
    }
    for (task, text) in [
        ("whole-code", json_call(200_000)),
        ("whole-prose", json_prose_call(200_000)),
        ("whole-xml", xml_call(200_000)),
    ] {
        if wanted(task) {
            let mut jobs = vec![("loopwright", ours(usize::MAX, 1))];
            jobs.extend(if task == "whole-xml" { rivals::xml_whole(1) } else { rivals::json_whole(1) });
            measure(task, 200_000, &text, ("byte", text.len() as u64), &mut jobs);
        }
    }
    if wanted("small-calls") {
        let text = small_calls(100);
        let mut jobs = vec![("loopwright", ours(usize::MAX, 100))];
        jobs.extend(rivals::json_whole(100));
        measure("small-calls", 100, &text, ("call", 100), &mut jobs);
        let mut jobs = vec![("loopwright", ours(CHUNK, 100))];
        jobs.extend(rivals::json_chunks_of(100));
        measure("small-calls-chunks", 100, &text, ("call", 100), &mut jobs);
    }
    if wanted("small-reply") {
        let text = small_reply();
        let mut jobs = vec![("loopwright", ours(usize::MAX, 1))];
        jobs.extend(rivals::json_whole(1));
        measure("small-reply", 1, &text, ("reply", 1), &mut jobs);
    }
    for (task, size) in [("text", 16_000), ("text-large", 1_000_000)] {
        if wanted(task) {
            let text = prose(size);
            let mut jobs = vec![("loopwright", ours(usize::MAX, 0))];
            jobs.extend(rivals::text());
            measure(task, size, &text, ("byte", text.len() as u64), &mut jobs);
        }
    }
    if wanted("text-chunks") {
        let text = prose(200_000);
        let mut jobs = vec![("loopwright", ours(CHUNK, 0))];
        jobs.extend(rivals::text_chunks());
        measure("text-chunks", 200_000, &text, ("chunk", pieces(&text, CHUNK)), &mut jobs);
    }
    if wanted("shape") {
        for (name, shape) in shapes() {
            let mut events = Events::new();
            let ours: Job = Box::new(move |text| {
                black_box(feed(parser(), text, CHUNK, &mut events));
                true
            });
            let mut jobs = vec![("loopwright", ours)];
            for size in [20_000, 160_000, 1_280_000] {
                let text = shape(size);
                measure(&format!("shape: {name}"), size, &text, ("chunk", pieces(&text, CHUNK)), &mut jobs);
            }
        }
    }
    if wanted("repair") {
        let ours: Job =
            Box::new(|text| serde_json::from_str::<&serde_json::value::RawValue>(&repair_json(text).json).is_ok());
        let mut jobs = vec![("loopwright", ours)];
        jobs.extend(rivals::repair());
        for size in SIZES {
            let text = broken(size);
            measure("repair", size, &text, ("byte", text.len() as u64), &mut jobs);
        }
    }
    if wanted("new") {
        let ours: Job = Box::new(|_| {
            black_box(Parser::new(None, None, Policy::default()));
            true
        });
        let tools = tools();
        let declared: Job = Box::new(move |_| {
            black_box(Parser::new(Some(tools.clone()), None, Policy::default()));
            true
        });
        measure("new", 1, "", ("parser", 1), &mut vec![("loopwright", ours), ("loopwright, one tool", declared)]);
    }
}
