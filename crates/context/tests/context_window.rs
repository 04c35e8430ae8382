//! The live view: what it costs, when it changes, and that it is what a plan from scratch would be.

#![allow(clippy::print_stdout)] // figures for whoever asks for them
#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use std::{sync::Arc, time::Instant};

use loopwright_base::{
    message::{Block, Message, Role, ToolResult, ToolUse, Wire},
    workers::Workers,
};
use loopwright_context::{
    Archive, BytesPerFour, ContextWindow, Count, Fate, HIGH, LOW, Policy, compress, compress_with, is_legal, repair,
};
use loopwright_drive::threads::Threads;
use loopwright_tokens::TokenCounter;
use proptest::prelude::*;

type History = Vec<Arc<Message>>;

/// A history of reads and builds whose outputs share lines, as those of real runs do.
fn history(exchanges: usize, lines: usize) -> History {
    history_from(0, exchanges, lines)
}

fn history_from(first: usize, exchanges: usize, lines: usize) -> History {
    let mut out = vec![Arc::new(Message::text(Role::System, "be careful")), Arc::new(Message::user("fix src/main.rs"))];
    for at in first..first + exchanges {
        let id = format!("call_{at}");
        let input = format!(r#"{{"path":"src/file_{}.rs","line":{at}}}"#, at % 97);
        let call = Block::ToolUse(ToolUse::from_text(&id, "read", input));
        let text = (0..lines).fold(String::new(), |text, line| {
            // One line in three was seen before.
            let number = if line % 3 == 0 { line } else { at * 31 + line };
            format!(
                "{text}    let value_{number} = compute_{}(input, {number}); // of file {}\n",
                number % 13,
                number % 97
            )
        });
        out.push(Arc::new(Message::new(Role::Assistant, vec![Block::text("Let me look."), call])));
        out.push(Arc::new(Message::new(Role::User, vec![Block::ToolResult(ToolResult::text(&id, "read", text))])));
    }
    out
}

fn tokens(messages: &[Arc<Message>]) -> usize {
    messages.iter().map(|message| BytesPerFour.message(message)).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn c26_c06_the_window_never_overflows_and_its_prefix_stays(exchanges in 20_usize..120, budget in 2_000_usize..9_000) {
        let mut window = ContextWindow::new(budget, Policy::default());
        let (mut before, mut compactions): (History, usize) = (Vec::new(), 0);
        let mut appended = 0;
        let mut last = 0;
        for message in history(exchanges, 6) {
            appended += BytesPerFour.message(&message);
            let answers = message.tool_results().next().is_some();
            window.append(message, &mut BytesPerFour);
            // A request is made when the results are there.
            if !answers {
                continue;
            }
            let settled = window.settle(&mut BytesPerFour).unwrap().is_some();
            prop_assert!(window.tokens() <= budget);
            prop_assert_eq!(window.tokens(), tokens(window.view()));
            prop_assert!(is_legal(window.view(), None));
            if settled {
                compactions += 1;
                // It frees enough that the next one is far off.
                prop_assert!(window.tokens() <= (budget as f64 * LOW) as usize);
                prop_assert!(compactions == 1 || appended - last >= (budget as f64 * (HIGH - LOW) * 0.9) as usize);
                last = appended;
            } else {
                prop_assert_eq!(&window.view()[..before.len()], &before[..]);
            }
            before = window.view().to_vec();
        }
        prop_assert_eq!(window.compactions(), compactions);
        prop_assert!(compactions <= 1 + appended / (budget / 5));
    }

    #[test]
    fn c26_a_view_is_what_a_plan_from_scratch_gives(exchanges in 20_usize..80) {
        let all = history(exchanges, 6);
        let mut window = ContextWindow::new(4_000, Policy::default());
        for (at, message) in all.iter().enumerate() {
            window.append(message.clone(), &mut BytesPerFour);
            if window.is_full() && message.tool_results().next().is_some() {
                // Saved and read again in the middle, it goes on as before.
                window = serde_json::from_str(&serde_json::to_string(&window).unwrap()).unwrap();
                window.settle(&mut BytesPerFour).unwrap();
                let target = (4_000.0 * LOW) as usize;
                let whole = compress(
                    &all[..=at], None, target, &Policy::default(), &mut BytesPerFour, &mut Archive::new(),
                ).unwrap();
                let whole: History = whole.messages.into_iter().map(|placed| placed.message).collect();
                prop_assert_eq!(window.view(), &whole[..]);
                prop_assert!(window.report().is_some() && !window.archive().is_empty());
            }
        }
        prop_assert_eq!(window.history(), &all[..]);
    }
}

#[test]
fn c30_a_window_learns_what_new_messages_take() {
    let mut counter = TokenCounter::for_model("claude-sonnet-4-5");
    let mut plain = TokenCounter::for_model("claude-sonnet-4-5");
    let mut real = |messages: &[Arc<Message>]| {
        let known: usize = messages.iter().map(|message| plain.message(message).tokens).sum();
        known * 19 / 20 + 500
    };
    let mut window = ContextWindow::new(1_000_000, Policy::default());
    let all = history(60, 12);
    let (mut first, mut last) = (0, 0);
    for (at, message) in all.iter().enumerate() {
        window.append(message.clone(), &mut counter);
        if message.tool_results().next().is_some() {
            let truth = real(window.view());
            let off = window.expected().abs_diff(truth);
            if at > 5 {
                assert!(window.expected() + 40 >= truth, "{at}: {} {truth}", window.expected());
            }
            (first, last) = (if at < 9 { off } else { first }, off);
            window.reported(truth, &mut counter);
            assert!(window.expected().abs_diff(truth) <= 1, "{at}: {} {truth}", window.expected());
        }
    }
    assert!(last * 3 < first * 2, "what is new is known better: {first} {last}");
    // Saved, and loaded with a counter that is new: the same.
    let mut back: ContextWindow = serde_json::from_str(&serde_json::to_string(&window).unwrap()).unwrap();
    let mut other = TokenCounter::for_model("claude-sonnet-4-5");
    back.resume(&mut other);
    let more = Arc::new(Message::user("    let value_1 = compute_3(input, 7); // of file 3\n".repeat(50)));
    window.append(more.clone(), &mut counter);
    back.append(more, &mut other);
    assert_eq!(back.expected(), window.expected());
}

#[test]
fn c26_no_thrash_where_little_can_go() {
    // What must stay takes most of the budget: compactions do not come with every message.
    let mut window = ContextWindow::new(2_000, Policy::default());
    window.append(Message::text(Role::System, "x".repeat(5_200)), &mut BytesPerFour);
    for message in history(40, 4) {
        window.append(message, &mut BytesPerFour);
        if window.view().last().is_some_and(|last| last.role == Role::User) {
            window.settle(&mut BytesPerFour).unwrap();
            assert!(window.tokens() <= 2_000);
        }
    }
    assert!(window.compactions() <= 30, "{}", window.compactions());
    let mut window = ContextWindow::new(1_000, Policy::default());
    window.append(Message::text(Role::System, "x".repeat(5_200)), &mut BytesPerFour);
    let error = window.settle(&mut BytesPerFour).unwrap_err();
    assert_eq!(error.code, "budget_too_small");
}

/// Run with `cargo test --release --no-default-features --test context_window -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn speed() {
    let best = |mut work: Box<dyn FnMut() + '_>| {
        (0..7)
            .map(|_| {
                let began = Instant::now();
                work();
                began.elapsed()
            })
            .min()
            .unwrap_or_default()
    };
    let only = std::env::var("EXCHANGES").ok().and_then(|text| text.parse().ok());
    for exchanges in only.map_or_else(|| vec![1_000, 5_000, 10_000], |one: usize| vec![one; 8]) {
        let all = history(exchanges, 11);
        let bytes: usize = all.iter().map(|message| BytesPerFour.message(message) * 4).sum();
        let counts: Vec<usize> = all.iter().map(|message| BytesPerFour.message(message)).collect();
        let took = best(Box::new(|| {
            let mut archive = Archive::new();
            let done =
                compress(&all, Some(&counts), 100_000, &Policy::default(), &mut BytesPerFour, &mut archive).unwrap();
            assert!(done.report.after <= 100_000);
        }));
        println!("{} messages, {:.1} MB: {took:.1?}", all.len(), bytes as f64 / 1e6);
        let mut counter = TokenCounter::for_model("gpt-4o");
        let began = Instant::now();
        let sum: usize = all.iter().map(|message| Count::message(&mut counter, message)).sum();
        println!("  {sum} exact tokens, counted the first time in {:.1?}", began.elapsed());
        let took = best(Box::new(|| {
            let mut archive = Archive::new();
            let done = compress(&all, None, 100_000, &Policy::default(), &mut counter, &mut archive).unwrap();
            assert!(done.report.after <= 100_000);
        }));
        println!("  exact, all counts from the cache: {took:.1?}");
    }
    let mut window = ContextWindow::new(3_000_000, Policy::default());
    for message in history(10_000, 11) {
        window.append(message, &mut BytesPerFour);
    }
    let extra = history(1_000, 11);
    let began = Instant::now();
    for message in &extra {
        window.append(message.clone(), &mut BytesPerFour);
        window.settle(&mut BytesPerFour).unwrap();
        assert!(!window.view().is_empty());
    }
    println!("append and plan on a full window: {:.2?}", began.elapsed() / extra.len() as u32);
}

/// From nothing: each message looked at and counted exactly by a counter that has seen none of it, the plan, and what
/// came of it let go. Run like [`speed`].
#[test]
#[ignore = "a measurement"]
fn speed_from_nothing() {
    let all = history(10_000, 11);
    // The vocabulary is loaded once in a process.
    let _loaded = TokenCounter::for_model("gpt-4o").text("x");
    for many in [1, 2, 4] {
        let workers = Threads::at_most(many);
        let mut took: Vec<_> = (0..15)
            .map(|_| {
                let mut counter = TokenCounter::for_model("gpt-4o");
                let began = Instant::now();
                let (policy, mut archive) = (Policy::default(), Archive::new());
                let done = compress_with(&all, None, 100_000, &policy, &mut counter, &mut archive, &workers).unwrap();
                assert!(done.report.after <= 100_000);
                drop((done, archive));
                began.elapsed()
            })
            .collect();
        took.sort_unstable();
        println!("{} messages, {many} threads: best {:.1?}, half {:.1?}", all.len(), took[0], took[7]);
    }
}

/// So many threads, whatever the machine has.
struct Always(usize);

impl Workers for Always {
    fn count(&self) -> usize {
        self.0
    }

    fn run(&self, work: &(dyn Fn(usize) + Sync)) {
        std::thread::scope(|scope| {
            (1..self.0).for_each(|number| drop(scope.spawn(move || work(number))));
            work(0);
        });
    }
}

#[test]
fn c26_however_many_threads_look_at_a_history_the_same_comes_out() {
    let long = long_run(99, 1_500);
    let few: History = (0..5)
        .map(|at| Arc::new(Message::user(format!("word{at} said {at}7 times, and not in vain. ").repeat(9_000))))
        .collect();
    for (all, budget) in [(long, 20_000), (few, 2_000_000)] {
        for model in ["gpt-4o", "claude-sonnet-4-5"] {
            let mut counter = TokenCounter::for_model(model);
            let mut archive = Archive::new();
            let policy = Policy { wire: Some(Wire::Anthropic), ..Policy::default() };
            let alone = compress(&all, None, budget, &policy, &mut counter, &mut archive).unwrap();
            for many in [2, 3, 16] {
                let (mut other, mut kept) = (TokenCounter::for_model(model), Archive::new());
                // What a counter knew before it knows afterwards, too.
                let _known = other.text(&"something of its own, long enough to be remembered. ".repeat(9));
                for _ in 0..2 {
                    let done =
                        compress_with(&all, None, budget, &policy, &mut other, &mut kept, &Always(many)).unwrap();
                    assert_eq!(done.report, alone.report, "{model}, {many} threads");
                    assert_eq!(done.messages, alone.messages);
                    assert!(kept.iter().eq(archive.iter()));
                    assert_eq!(other.remembered(), counter.remembered() + 1);
                }
                let mut none = Archive::new();
                let known = compress_with(&all, None, budget, &policy, &mut BytesPerFour, &mut none, &Always(many));
                let plain = compress(&all, None, budget, &policy, &mut BytesPerFour, &mut Archive::new());
                assert_eq!(known.unwrap().report, plain.unwrap().report);
            }
        }
    }
}

/// The rule of a view: what the last plan of the originals gave, with what came since as it came, but under ids of its
/// own.
fn assert_is_a_plan(window: &ContextWindow, all: &[Arc<Message>], policy: &Policy, count: &mut dyn Count) {
    let report = window.report().unwrap();
    let planned = report.entries.len();
    let whole = compress(&all[..planned], None, report.budget, policy, count, &mut Archive::new()).unwrap();
    assert_eq!(report, &whole.report, "the report of {planned} messages");
    let mut view: History = whole.messages.into_iter().map(|placed| placed.message).collect();
    let (named, _) = repair(all, policy.wire).unwrap();
    assert_eq!(named.len(), all.len());
    view.extend(named.into_iter().skip(planned).map(|placed| placed.message));
    assert_eq!(window.view(), &view[..]);
}

/// A long run of which most leaves: what a window leaves aside, and what it prepares ahead, changes nothing.
fn long_run(seed: u64, exchanges: usize) -> History {
    let mut state = seed | 1;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut out = vec![Arc::new(Message::text(Role::System, "be careful")), Arc::new(Message::user("fix src/main.rs"))];
    for at in 0..exchanges {
        if random(40) == 0 {
            let said = ["never touch tests/", "and then look at src/lib.rs", "go on", "you must keep api_v2 stable"];
            out.push(Arc::new(Message::user(said[random(4) as usize])));
        }
        if random(90) == 0 {
            out.push(Arc::new(Message::text(Role::System, "a note in between")));
        }
        let many = 1 + random(2);
        let mut content = vec![];
        if random(3) == 0 {
            content.push(Block::Thinking(loopwright_base::message::Thinking {
                text: "let me think about it for a while".into(),
                ..Default::default()
            }));
        }
        content.push(Block::text("Let me look."));
        for call in 0..many {
            let input = format!(r#"{{"path":"src/file_{}.rs"}}"#, random(300));
            content.push(Block::ToolUse(ToolUse::from_text(format!("call_{at}_{call}"), "read", input)));
        }
        out.push(Arc::new(Message::new(Role::Assistant, content)));
        for call in 0..many {
            let lines = random(14) as usize;
            let text = (0..lines).fold(String::new(), |text, line| {
                let number = if random(3) == 0 { line as u64 } else { random(5_000) };
                format!("{text}    let value_{number} = compute_{}(input, {number});\n", number % 13)
            });
            let result = ToolResult::text(format!("call_{at}_{call}"), "read", text);
            out.push(Arc::new(Message::new(Role::User, vec![Block::ToolResult(result)])));
        }
        if random(30) == 0 {
            out.push(Arc::new(Message::assistant("That is done; the next step is clear.")));
        }
    }
    out
}

#[test]
fn c26_c06_what_is_prepared_and_left_aside_changes_nothing() {
    for (seed, budget, attention) in [(7, 9_000, 200), (12_345, 6_000, 120), (5, 14_000, 2_048)] {
        let policy = Policy { attention, ..Policy::default() };
        let all = long_run(seed, 500);
        let mut window = ContextWindow::new(budget, policy.clone());
        let (mut made, mut prepared, mut aside) = (0, 0, 0);
        let mut before: History = Vec::new();
        // Another that is saved and read again all the time, so that nothing of it is prepared, and one that keeps all.
        let mut other = ContextWindow::new(budget, policy.clone());
        for (at, message) in all.iter().enumerate() {
            window.append(message.clone(), &mut BytesPerFour);
            if at % 61 == 0 {
                other = serde_json::from_str(&serde_json::to_string(&other).unwrap()).unwrap();
            }
            other.append(message.clone(), &mut BytesPerFour);
            if all.get(at + 1).is_some_and(|next| next.role != Role::Assistant) {
                continue;
            }
            let settled = window.settles(&mut BytesPerFour).unwrap();
            assert_eq!(other.settles(&mut BytesPerFour).unwrap(), settled, "{at}");
            assert!(window.tokens() <= budget && is_legal(window.view(), None));
            assert_eq!(window.tokens(), tokens(window.view()));
            if settled {
                made += 1;
                let report = window.report().unwrap();
                assert!(window.tokens() <= (budget as f64 * LOW) as usize, "{at}: {}", window.tokens());
                prepared += usize::from(report.entries.len() < at + 1);
                aside += usize::from(report.entries.len() > attention * 2);
                assert_is_a_plan(&window, &all[..=at], &policy, &mut BytesPerFour);
                assert_eq!(other.view(), window.view(), "{at}");
                assert_eq!(other.marks(), window.marks());
                assert_eq!(
                    other.archive().iter().collect::<Vec<_>>(),
                    window.archive().iter().collect::<Vec<_>>(),
                    "{at}"
                );
            } else {
                assert_eq!(&window.view()[..before.len()], &before[..]);
            }
            before = window.view().to_vec();
        }
        println!("{made} compactions, {prepared} of them prepared");
        assert!(made > 5 && prepared * 2 > made, "{made} {prepared}");
        assert!(aside > 0 || attention > 1_000);
        // A window that replays it all has the same view, and goes on alike.
        let mut again = ContextWindow::new(budget, policy.clone());
        again.replay(all.iter().cloned(), &mut BytesPerFour);
        assert_eq!(again.view(), window.view());
        let mut restored = ContextWindow::new(budget, policy.clone());
        restored.restore(window.marks().clone(), all.iter().cloned(), &mut BytesPerFour).unwrap();
        assert_eq!(restored.view(), window.view());
        assert_eq!(restored.marks(), window.marks());
    }
}

/// The same history with other ids; `id` is asked with the number of the exchange and of the call in it.
fn with_ids(all: &[Arc<Message>], id: impl Fn(usize, usize) -> String) -> History {
    let rename = |name: &mut String| {
        let mut parts = name.split('_').skip(1).map(|part| part.parse().unwrap());
        *name = id(parts.next().unwrap(), parts.next().unwrap_or(0));
    };
    let renamed = |message: &Arc<Message>| {
        let mut message = (**message).clone();
        for block in &mut message.content {
            match block {
                Block::ToolUse(call) => rename(&mut call.id),
                Block::ToolResult(result) => rename(&mut result.id),
                _ => {}
            }
        }
        Arc::new(message)
    };
    all.iter().map(renamed).collect()
}

/// Notes how often it was asked for a message.
struct Asked(usize);

impl Count for Asked {
    fn text(&mut self, text: &str) -> usize {
        BytesPerFour.text(text)
    }

    fn message(&mut self, message: &Message) -> usize {
        self.0 += 1;
        BytesPerFour.message(message)
    }
}

#[test]
fn c26_c06_ids_that_repeat_are_left_aside_and_change_nothing() {
    type Naming = fn(usize, usize) -> String;
    let namings: [(&str, Naming, Option<Wire>); 4] = [
        ("one id for all calls of a turn on", |_, call| format!("call_{call}"), None),
        ("one id for all calls", |_, _| "call_0".into(), Some(Wire::OpenaiChat)),
        ("ids of their own up to the middle", |at, call| format!("call_{}_{call}", at.min(150)), Some(Wire::Anthropic)),
        ("ids that others would become", |at, call| ["a", "a_2", "b", "a_2_2"][(at + call) % 4].into(), None),
    ];
    for (what, naming, wire) in namings {
        for (seed, budget, attention) in [(7, 9_000, 100), (12_345, 6_000, 80)] {
            let policy = Policy { attention, wire, ..Policy::default() };
            let all = with_ids(&long_run(seed, 450), naming);
            let mut window = ContextWindow::new(budget, policy.clone());
            let mut other = ContextWindow::new(budget, policy.clone());
            let mut asked = Asked(0);
            let (mut made, mut aside, mut counted) = (0, 0, Vec::new());
            let mut before: History = Vec::new();
            for (at, message) in all.iter().enumerate() {
                window.append(message.clone(), &mut asked);
                if at % 61 == 0 {
                    other = serde_json::from_str(&serde_json::to_string(&other).unwrap()).unwrap();
                }
                other.append(message.clone(), &mut BytesPerFour);
                if at % (all.len() / 4) == 0 {
                    counted.push(asked.0);
                }
                if all.get(at + 1).is_some_and(|next| next.role != Role::Assistant) {
                    continue;
                }
                let settled = window.settles(&mut asked).unwrap();
                assert_eq!(other.settles(&mut BytesPerFour).unwrap(), settled, "{what}, {at}");
                assert!(is_legal(window.view(), wire), "{what}, {at}");
                if !settled {
                    assert_eq!(&window.view()[..before.len()], &before[..], "{what}, {at}");
                }
                before = window.view().to_vec();
                if settled {
                    made += 1;
                    aside += usize::from(window.report().unwrap().entries.len() > attention * 4);
                    let changes = window.last_changes();
                    assert_eq!(changes.0, window.report().unwrap().repairs.len(), "{what}, {at}");
                    for fate in [Fate::Kept, Fate::Shortened, Fate::Dropped, Fate::Summarised] {
                        assert_eq!(window.tally(fate), other.tally(fate), "{what}, {at}, {fate:?}");
                    }
                    if made % 3 == 1 {
                        assert_is_a_plan(&window, &all[..=at], &policy, &mut BytesPerFour);
                    }
                    assert_eq!(other.view(), window.view(), "{what}, {at}");
                    assert!(window.archive().iter().eq(other.archive().iter()), "{what}, {at}");
                }
            }
            assert!(made > 5 && aside > 2, "{what}: {made} {aside}");
            // What a message costs does not grow with the history: counted are those that stand, not all.
            let [early, late] = [2, 3].map(|quarter| counted[quarter + 1] - counted[quarter]);
            assert!(late < early + early / 3, "{what}: {early} then {late} counts");
        }
    }
}

#[test]
fn c26_a_report_stays_whole_when_what_comes_is_no_history() {
    let stray = ToolResult::text("nobody asked", "read", "x".repeat(400));
    let mut window = ContextWindow::new(6_000, Policy { attention: 120, ..Policy::default() });
    let mut looked = 0;
    for (at, message) in long_run(7, 400).into_iter().enumerate() {
        window.append(message, &mut BytesPerFour);
        if window.view().last().is_some_and(|last| last.role == Role::User) {
            window.settles(&mut BytesPerFour).unwrap();
        }
        if at % 50 != 49 || window.compactions() == 0 {
            continue;
        }
        // Reports are put together when they are asked for: here after what was left aside had to be forgotten.
        let before = window.clone().report().unwrap().clone();
        let mut other = window.clone();
        for _ in 0..60 {
            other.append(Message::new(Role::User, vec![Block::ToolResult(stray.clone())]), &mut BytesPerFour);
        }
        assert_eq!(other.report().unwrap(), &before, "{at}");
        looked += 1;
    }
    assert!(looked > 10, "{looked}");
}

/// Processor time of this thread, in nanoseconds: others that run at the same time do not count.
fn processor_time() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(0)
}

/// Each append to a full window and the plan after it, over a long run. Run as [`speed`] is.
#[test]
#[ignore = "a measurement"]
fn speed_of_each_append() {
    let first = history(10_000, 11);
    let more = history_from(10_000, 10_000, 11);
    let mut counter = TokenCounter::for_model("gpt-4o");
    let mut window = ContextWindow::new(100_000, Policy::default());
    for message in first {
        window.append(message, &mut counter);
        window.settles(&mut counter).unwrap();
    }
    let compactions = window.compactions();
    let (mut wall, mut busy) = (Vec::new(), Vec::new());
    let idle =
        (0..1_000).map(|_| 0_u64.wrapping_sub(processor_time()).wrapping_add(processor_time())).min().unwrap_or(0);
    for message in more.into_iter().skip(2) {
        let (began, before) = (Instant::now(), processor_time());
        window.append(message, &mut counter);
        window.settles(&mut counter).unwrap();
        busy.push((processor_time() - before).saturating_sub(idle) as f64 / 1e3);
        wall.push(began.elapsed().as_secs_f64() * 1e6);
    }
    println!("{} appends, {} compactions", wall.len(), window.compactions() - compactions);
    for (what, mut took) in [("processor", busy), ("wall, with the clocks", wall)] {
        let mean = took.iter().sum::<f64>() / took.len() as f64;
        took.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
        let [half, most, p99, p999, max] = [0.5, 0.9, 0.99, 0.999, 1.0].map(at);
        println!(
            "us, {what}: mean {mean:.1}, p50 {half:.1}, p90 {most:.1}, p99 {p99:.1}, p99.9 {p999:.1}, max {max:.1}"
        );
    }
}

/// One line of 50 MB, of each kind that some part of the work could stumble over; run like [`speed`].
#[test]
#[ignore = "a measurement"]
fn speed_of_one_line() {
    const BYTES: usize = 50_000_000;
    let grown = |piece: &dyn Fn(usize) -> String| {
        let mut text = String::with_capacity(BYTES + 64);
        let mut number = 0;
        while text.len() < BYTES {
            text.push_str(&piece(number));
            number += 1;
        }
        text
    };
    let kinds: [(&str, String); 13] = [
        ("one letter", "x".repeat(BYTES)),
        ("spaces", " ".repeat(BYTES)),
        ("tabs and spaces", "\t ".repeat(BYTES / 2)),
        ("words", grown(&|n| format!("word{} and so on ", n * 7_919 % 5_003))),
        ("names", grown(&|n| format!("src/a_{n}.rs "))),
        ("one name", grown(&|n| format!("/{n:x}"))),
        ("numbers in the same place", grown(&|n| format!("{n}%\r"))),
        ("colours", "\x1b[32mx\x1b[0m".repeat(BYTES / 10)),
        ("JSON, rows", format!("[{}0]", grown(&|n| format!(r#"{{"id":{n},"name":"n{n}","v":{}.5}},"#, n % 97)))),
        ("JSON, one text", format!(r#"{{"data":"{}"}}"#, "QUJD".repeat(BYTES / 4))),
        ("JSON, deep", r#"{"a":"#.repeat(BYTES / 5)),
        ("Chinese", "\u{4e16}\u{754c}\u{548c}\u{5e73}".repeat(BYTES / 12)),
        ("backslashes", "\\".repeat(BYTES)),
    ];
    let only = std::env::var("KIND").ok();
    for (name, text) in kinds {
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let call = Block::ToolUse(ToolUse::from_text("a", "read", "{}".into()));
        let all: History = vec![
            Arc::new(Message::user("Read it.")),
            Arc::new(Message::new(Role::Assistant, vec![call])),
            Arc::new(Message::new(Role::User, vec![Block::ToolResult(ToolResult::text("a", "read", text))])),
            Arc::new(Message::user("And now?")),
        ];
        for model in ["gpt-4o", "gpt-4", "claude-sonnet-4-5"] {
            let mut counter = TokenCounter::for_model(model);
            let began = Instant::now();
            let before: usize = all.iter().map(|message| Count::message(&mut counter, message)).sum();
            let counting = began.elapsed();
            let began = Instant::now();
            let mut archive = Archive::new();
            let done = compress(&all, None, 50_000, &Policy::default(), &mut counter, &mut archive).unwrap();
            let took = began.elapsed();
            println!(
                "{name}, {model}: counted in {counting:.2?}, compressed in {took:.2?}, {before} -> {}",
                done.report.after
            );
            assert!(done.report.after <= 50_000);
        }
    }
}
