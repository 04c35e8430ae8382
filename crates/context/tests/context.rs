//! The promises of `core::context`, over generated histories.

use std::sync::Arc;

use loopwright_base::message::{Block, Message, Role, Thinking, ToolResult, ToolUse, Wire};
use loopwright_context::{Archive, BytesPerFour, Compressed, Count, Fate, Policy, compress, is_legal, shown};
use proptest::prelude::*;

type History = Vec<Arc<Message>>;

/// One stretch of a history.
#[derive(Clone, Debug)]
enum Part {
    User(String),
    Said(String),
    Calls(Vec<(u8, String)>, bool, Option<String>),
    // What a provider refuses.
    Orphan,
    Unanswered,
    Empty,
}

/// A line of a tool's output. Templates rather than patterns: drawing text by pattern takes most of a test's time.
fn line((kind, n): (u8, u16)) -> String {
    match kind {
        0 => format!("src/{}.rs:{}: let some_{} = {};", n % 7, n % 100, n % 50, n),
        1 => "error: something failed in src/main.rs".to_owned(),
        2 => "    pub fn common_line_of_all_results(value: usize) -> usize {".to_owned(),
        3 => format!("\u{1b}[3{}mcolour\u{1b}[0m\r{}%", n % 8, n % 100),
        4 => "é世 ".repeat(usize::from(n % 20)),
        5 => String::new(),
        _ => format!("line {} of {}", n % 10, n % 3),
    }
}

fn output() -> impl Strategy<Value = String> {
    let lines = prop::collection::vec((0_u8..9, any::<u16>()), 0..60);
    (0_u8..8, lines).prop_map(|(kind, lines)| match kind {
        0 => {
            let items: Vec<u16> = lines.iter().map(|(_, n)| *n).collect();
            serde_json::json!({"text": "x".repeat(items.len() * 9), "items": items}).to_string()
        }
        1 => "the same output every time\n".repeat(30),
        2 => "long".repeat(lines.len() * 20),
        _ => lines.into_iter().map(line).collect::<Vec<_>>().join("\n"),
    })
}

fn words(most: usize) -> impl Strategy<Value = String> {
    (1..most, 0_usize..4).prop_map(|(count, kind)| {
        let tail = ["", " must not touch src/lib.rs", " because it is so", "\n\nsecond part"];
        format!("{}{}", "some words ".repeat(count), tail.get(kind).unwrap_or(&""))
    })
}

fn part(broken: bool) -> impl Strategy<Value = Part> {
    let bad = u32::from(broken);
    prop_oneof![
        2 => words(8).prop_map(Part::User),
        2 => words(40).prop_map(Part::Said),
        8 => (prop::collection::vec((0_u8..6, output()), 1..4), any::<bool>(), prop::option::of(words(20)))
            .prop_map(|(calls, split, thinking)| Part::Calls(calls, split, thinking)),
        bad => Just(Part::Orphan),
        bad => Just(Part::Unanswered),
        bad => Just(Part::Empty),
    ]
}

fn history(parts: Vec<Part>) -> History {
    let mut out: Vec<Message> =
        vec![Message::text(Role::System, "be careful"), Message::user("fix src/main.rs please")];
    for (at, part) in parts.into_iter().enumerate() {
        match part {
            Part::User(text) => out.push(Message::user(text + "!")),
            Part::Said(text) => out.push(Message::assistant(text + ".")),
            Part::Calls(calls, split, thinking) => {
                let mut content = Vec::new();
                if let Some(text) = thinking {
                    let signature = Some(format!("sig{at}"));
                    content.push(Block::Thinking(Thinking { text, signature, redacted: None, extra: None }));
                }
                let mut results = Vec::new();
                for (n, (tool, output)) in calls.into_iter().enumerate() {
                    let id = format!("call_{at}_{n}");
                    let input = serde_json::json!({"path": format!("src/f{tool}.rs"), "n": tool}).to_string();
                    content.push(Block::ToolUse(ToolUse::from_text(&id, "read", input)));
                    results.push(Block::ToolResult(ToolResult::text(&id, "read", output)));
                }
                out.push(Message::new(Role::Assistant, content));
                if split {
                    out.extend(results.into_iter().map(|result| Message::new(Role::User, vec![result])));
                } else {
                    out.push(Message::new(Role::User, results));
                }
            }
            Part::Orphan => {
                let result = ToolResult::text(format!("none_{at}"), "x", "lost");
                out.push(Message::new(Role::User, vec![Block::ToolResult(result), Block::text("and words")]));
            }
            Part::Unanswered => {
                let call = ToolUse::from_text("again", "run", "{}".into());
                out.push(Message::new(Role::Assistant, vec![Block::ToolUse(call)]));
            }
            Part::Empty => out.push(Message::user("")),
        }
    }
    out.into_iter().map(Arc::new).collect()
}

fn histories(broken: bool) -> impl Strategy<Value = History> {
    prop::collection::vec(part(broken), 0..24).prop_map(history)
}

fn total(messages: &[Arc<Message>]) -> usize {
    messages.iter().map(|message| BytesPerFour.message(message)).sum()
}

fn fit(history: &History, budget: usize) -> Result<(Compressed, Archive), loopwright_base::error::Error> {
    let mut archive = Archive::new();
    let done = compress(history, None, budget, &Policy::default(), &mut BytesPerFour, &mut archive)?;
    Ok((done, archive))
}

fn messages(done: &Compressed) -> History {
    done.messages.iter().map(|placed| placed.message.clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn c26_never_over_budget_and_always_legal(history in histories(true), share in 0.0_f64..1.2) {
        let budget = (total(&history) as f64 * share) as usize;
        match fit(&history, budget) {
            Ok((done, _)) => {
                let out = messages(&done);
                prop_assert!(total(&out) <= budget, "{} of {budget}", total(&out));
                prop_assert_eq!(total(&out), done.report.after);
                prop_assert!(is_legal(&out, None));
                prop_assert!(out.iter().any(|message| message.prose() == "be careful"));
            }
            Err(error) => {
                prop_assert_eq!(&*error.code, "budget_too_small");
                prop_assert!(error.message.contains("message "), "{}", error);
            }
        }
    }

    #[test]
    fn c26_deterministic_and_idempotent(history in histories(true), share in 0.1_f64..1.1) {
        let budget = (total(&history) as f64 * share) as usize;
        let Ok((once, archive)) = fit(&history, budget) else { return Ok(()) };
        let (again, other) = fit(&history, budget).unwrap();
        prop_assert_eq!(&once.messages, &again.messages);
        prop_assert_eq!(&once.report, &again.report);
        let handles = |archive: &Archive| archive.iter().map(|(handle, _)| handle.to_owned()).collect::<Vec<_>>();
        prop_assert_eq!(handles(&archive), handles(&other));
        let out = messages(&once);
        let (twice, _) = fit(&out, budget).unwrap();
        prop_assert_eq!(messages(&twice), out);
        prop_assert!(twice.report.entries.iter().all(|entry| entry.fate == Fate::Kept));
    }

    #[test]
    fn c26_what_fits_is_left_alone(history in histories(false), more in 0_usize..100) {
        let (done, archive) = fit(&history, total(&history) + more).unwrap();
        prop_assert_eq!(messages(&done), history);
        prop_assert!(archive.is_empty() && done.report.first_changed.is_none());
    }

    #[test]
    fn c26_a_larger_budget_keeps_all_that_a_smaller_one_does(
        history in histories(false), small in 0.1_f64..0.9, more in 0.0_f64..0.5,
    ) {
        let budget = |share: f64| (total(&history) as f64 * share) as usize;
        let Ok((few, _)) = fit(&history, budget(small)) else { return Ok(()) };
        let (many, _) = fit(&history, budget(small + more)).unwrap();
        for (few, many) in few.report.entries.iter().zip(&many.report.entries) {
            prop_assert!(few.at.is_none() || many.at.is_some(), "{few:?} {many:?}");
            prop_assert!(few.after <= many.after, "{few:?} {many:?}");
        }
    }

    #[test]
    fn c26_nothing_is_lost(history in histories(true), share in 0.1_f64..1.0) {
        let budget = (total(&history) as f64 * share) as usize;
        let Ok((done, archive)) = fit(&history, budget) else { return Ok(()) };
        prop_assert_eq!(done.report.entries.len(), history.len());
        let saved: Archive = serde_json::from_str(&serde_json::to_string(&archive).unwrap()).unwrap();
        for (entry, given) in done.report.entries.iter().zip(&history) {
            // Every message stands there as it was, or is in the archive as it was.
            match &entry.handle {
                None => prop_assert_eq!(&done.messages[entry.at.unwrap()].message, given),
                Some(handle) => {
                    prop_assert_eq!(saved.get(handle), Some(given));
                    let text = shown(given);
                    prop_assert_eq!(saved.recall(handle, 1, usize::MAX).unwrap(), text);
                }
            }
        }
    }

    #[test]
    fn c26_no_message_grows(history in histories(false), share in 0.1_f64..1.0) {
        let budget = (total(&history) as f64 * share) as usize;
        let Ok((done, _)) = fit(&history, budget) else { return Ok(()) };
        prop_assert!(done.report.entries.iter().all(|entry| entry.after <= entry.before));
    }

    #[test]
    fn c26_reasoning_is_whole_or_gone(history in histories(false), share in 0.1_f64..1.0) {
        let budget = (total(&history) as f64 * share) as usize;
        let Ok((done, _)) = fit(&history, budget) else { return Ok(()) };
        let thoughts = |message: &Message| -> Vec<Block> {
            message.content.iter().filter(|block| matches!(block, Block::Thinking(_))).cloned().collect()
        };
        let spoke = history.iter().rposition(|message| {
            message.role == Role::User && message.content.iter().any(|block| matches!(block, Block::Text(_)))
        });
        for entry in &done.report.entries {
            let Some(now) = entry.at.map(|at| &*done.messages[at].message) else { continue };
            let (before, after) = (thoughts(&history[entry.message]), thoughts(now));
            prop_assert!(after.is_empty() || after == before);
            // Behind the user's last words the provider wants it back.
            if spoke.is_none_or(|spoke| entry.message > spoke) {
                prop_assert_eq!(after, before);
            }
        }
    }

    #[test]
    fn c26_what_is_pinned_stays_word_for_word(history in histories(false), pin in 0_usize..24, share in 0.2_f64..1.0) {
        let pin = pin % history.len();
        let policy = Policy { pin: vec![pin], ..Policy::default() };
        let budget = (total(&history) as f64 * share) as usize;
        let Ok(done) = compress(&history, None, budget, &policy, &mut BytesPerFour, &mut Archive::new()) else {
            return Ok(());
        };
        let out = messages(&done);
        prop_assert!(total(&out) <= budget && out.contains(&history[pin]));
        // So do instructions, the goal and what the user said last.
        let said = |message: &&Arc<Message>| {
            message.role == Role::User && message.content.iter().any(|block| matches!(block, Block::Text(_)))
        };
        let fixed = [history.first(), history.iter().find(said), history.iter().rev().find(said)];
        prop_assert!(fixed.into_iter().flatten().all(|message| out.contains(message)));
    }

    #[test]
    fn c26_the_last_exchanges_stay_whole_while_anything_else_can_go(history in histories(false), share in 0.3_f64..1.0) {
        let budget = (total(&history) as f64 * share) as usize;
        let Ok((done, _)) = fit(&history, budget) else { return Ok(()) };
        let calls: Vec<usize> =
            (0..history.len()).filter(|at| history[*at].tool_uses().next().is_some()).collect();
        let Some(first) = calls.iter().rev().nth(1) else { return Ok(()) };
        let touched = done.report.entries.iter().filter(|entry| entry.message >= *first).any(|entry| {
            entry.fate != Fate::Kept && history[entry.message].tool_results().next().is_some()
        });
        if touched {
            // Then all that may go is gone.
            for entry in done.report.entries.iter().filter(|entry| entry.message < *first && entry.message > 1) {
                let results = history[entry.message].tool_results().next().is_some();
                prop_assert!(!results || entry.at.is_none(), "{entry:?}");
            }
        }
    }
}

#[test]
fn c26_bad_input_is_repaired_or_named() {
    let empty: History = Vec::new();
    assert_eq!(fit(&empty, 0).unwrap().0.messages.len(), 0);
    let history = history(vec![Part::Said("x".repeat(100_000))]);
    let error = fit(&history, 0).unwrap_err();
    assert_eq!(error.code, "budget_too_small");
    assert!(error.message.contains("message 0 (instructions, "), "{error}");
    let wrong = vec![Arc::new(Message::new(Role::Assistant, vec![Block::ToolResult(ToolResult::text("a", "b", "c"))]))];
    assert!(fit(&wrong, 1_000).unwrap_err().message.contains("message 0"));
    let enormous = vec![
        Arc::new(Message::user("go")),
        Arc::new(Message::new(Role::Assistant, vec![Block::ToolUse(ToolUse::from_text("a", "cat", "{}".into()))])),
        Arc::new(Message::new(
            Role::User,
            vec![Block::ToolResult(ToolResult::text("a", "cat", "word ".repeat(1_000_000)))],
        )),
    ];
    let (done, _) = fit(&enormous, 1_000).unwrap();
    assert!(done.report.after <= 1_000);
    let policy = Policy { wire: Some(Wire::Anthropic), ..Policy::default() };
    let repaired = compress(&enormous[1..], None, usize::MAX, &policy, &mut BytesPerFour, &mut Archive::new()).unwrap();
    assert_eq!(repaired.messages[0].message.role, Role::User);
    assert_eq!(repaired.report.repairs.len(), 1);
}

fn asked(n: usize, name: &str, output: String) -> [Arc<Message>; 2] {
    let id = format!("c{n}");
    let call = ToolUse::from_text(&id, name, format!("{{\"n\":{n}}}"));
    [
        Arc::new(Message::new(Role::Assistant, vec![Block::ToolUse(call)])),
        Arc::new(Message::new(Role::User, vec![Block::ToolResult(ToolResult::text(&id, name, output))])),
    ]
}

fn readings(n: usize, lines: usize) -> String {
    (0..lines).map(|at| format!("sensor {n}-{at} gave {} volts", at * 31 % 97)).collect::<Vec<_>>().join("\n")
}

/// What stands of the result under `c{n}`.
fn stands(done: &Compressed, n: usize) -> Option<String> {
    let id = format!("c{n}");
    let mut results = done.messages.iter().flat_map(|placed| placed.message.tool_results());
    results.find(|result| result.id == id).map(ToolResult::prose)
}

#[test]
fn c17_the_last_two_results_are_whole_while_anything_else_can_go() {
    let mut history = vec![Arc::new(Message::user("Read the sensors."))];
    (0..12).for_each(|n| history.extend(asked(n, "measure", readings(n, 60))));
    let all: usize = history.iter().map(|message| BytesPerFour.message(message)).sum();
    let last: usize = history.iter().rev().take(4).map(|message| BytesPerFour.message(message)).sum();
    for budget in (last + 60..all).step_by(97) {
        let (done, _) = fit(&history, budget).unwrap();
        for n in [10, 11] {
            assert_eq!(stands(&done, n).unwrap(), readings(n, 60), "{budget}");
        }
    }
    // Where both can't, the last one is; where it can't alone, its first lines are, and how to go on.
    let (done, _) = fit(&history, last / 2 + 120).unwrap();
    assert_eq!(stands(&done, 11).unwrap(), readings(11, 60));
    let (done, archive) = fit(&history, last / 2 - 60).unwrap();
    let page = stands(&done, 11).unwrap();
    let (shown, handle) = page.rsplit_once("goes on: recall(\"").unwrap();
    let (handle, from) = handle.split_once("\", from_line=").unwrap();
    let from: usize = from.trim_end_matches(")]").parse().unwrap();
    let head: String = readings(11, 60).split_inclusive('\n').take(from - 1).collect();
    assert!(from > 5 && shown.starts_with(&head), "{page}");
    let rest: String = readings(11, 60).split_inclusive('\n').skip(from - 1).collect();
    assert_eq!(archive.recall(handle, from, usize::MAX).unwrap(), rest);
}

#[test]
fn c26_what_was_asked_back_goes_after_other_results() {
    let mut history = vec![Arc::new(Message::user("Read the sensors."))];
    (0..12).for_each(|n| history.extend(asked(n, if n == 4 { "recall" } else { "measure" }, readings(n, 60))));
    let each = BytesPerFour.message(&history[2]) + BytesPerFour.message(&history[1]);
    let (done, _) = fit(&history, each * 5).unwrap();
    assert_eq!(stands(&done, 4).unwrap(), readings(4, 60));
    assert_ne!(stands(&done, 9), Some(readings(9, 60)));
}

#[test]
fn c26_a_table_is_cut_by_rows_under_its_head() {
    let head = "| no | volts |\n|----|-------|\n";
    let rows: Vec<String> = (0..300).map(|n| format!("| {n} | {} |\n", n * 37 % 1_000)).collect();
    let table = format!("{head}{}", rows.concat());
    let mut history = vec![Arc::new(Message::user("Read the sensors."))];
    history.extend(asked(0, "measure", table.clone()));
    (1..5).for_each(|n| history.extend(asked(n, "measure", readings(n, 30))));
    let all: usize = history.iter().map(|message| BytesPerFour.message(message)).sum();
    let (done, archive) = fit(&history, all - 800).unwrap();
    let cut = stands(&done, 0).unwrap();
    assert!(cut.len() < table.len() && cut.starts_with(head) && !cut.contains("alike"), "{cut}");
    let whole = |line: &&str| table.lines().any(|row| row == *line);
    assert!(cut.lines().filter(|line| line.starts_with('|')).all(|line| whole(&line)));
    // What is asked back of it comes under the head, too.
    let handle = cut.rsplit_once("recall(\"").unwrap().1.split('"').next().unwrap();
    let page = archive.recall(handle, 103, 400).unwrap();
    assert!(page.starts_with(&format!("{head}{}{}", rows[100], rows[101])), "{page}");
}
