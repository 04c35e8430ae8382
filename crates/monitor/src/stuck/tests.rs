use proptest::prelude::*;

use super::*;

fn step(name: &str, arguments: &str, result: &str) -> Step {
    Step::of_text((name, arguments), result, false, None, Known::default())
}

fn take(detector: &mut StuckDetector, name: &str, arguments: &str, result: &str) -> Option<Pattern> {
    let step = detector.step_of_text((name, arguments), result, false, None);
    detector.record_step(name, arguments, &step, None);
    detector.verdict().map(|verdict| verdict.pattern)
}

fn fail(detector: &mut StuckDetector, name: &str, arguments: &str, error: &str) -> Option<Pattern> {
    let step = detector.step_of_text((name, arguments), error, true, None);
    detector.record_step(name, arguments, &step, None);
    detector.verdict().map(|verdict| verdict.pattern)
}

#[test]
fn c25_the_same_call_with_the_same_result_three_times() {
    let mut detector = StuckDetector::default();
    assert_eq!(take(&mut detector, "ls", r#"{"a":1,"b":2}"#, "x"), None);
    assert_eq!(take(&mut detector, "ls", r#"{"b":2,"a":1}"#, "x"), None);
    assert_eq!(take(&mut detector, "ls", r#"{"a": 1, "b": 2}"#, "x"), Some(Pattern::RepeatedCall));
    let verdict = detector.verdict().unwrap();
    assert_eq!((verdict.rounds, verdict.first, verdict.last), (3, 1, 3));
    assert!(verdict.sentence.contains("`ls` was called 3 times"), "{}", verdict.sentence);
    assert_eq!(take(&mut detector, "ls", r#"{"a":1,"b":2}"#, "y"), None, "a new result is news");
}

#[test]
fn x20_a_change_between_is_work() {
    let mut detector = StuckDetector::default();
    for n in 0..50 {
        assert_eq!(take(&mut detector, "edit", &format!("{{\"text\":\"v{n}\"}}"), "ok"), None);
        assert_eq!(take(&mut detector, "test", "{}", "2 failed"), None);
    }
    let mut detector = StuckDetector::default();
    for n in 0..50 {
        assert_eq!(take(&mut detector, "edit", &format!("{{\"text\":\"v{n}\"}}"), "ok"), None);
        assert_eq!(fail(&mut detector, "test", "{}", "2 failed"), None);
    }
    let mut detector = StuckDetector::default();
    for state in 0..50 {
        detector.record_step("test", "{}", &step("test", "{}", "2 failed"), Some(state));
        assert!(!detector.is_stuck());
    }
}

#[test]
fn x20_paging_and_polling_with_news_are_work() {
    let mut detector = StuckDetector::default();
    for n in 0..200 {
        assert_eq!(take(&mut detector, "status", "{}", &format!("{n} of 200 done")), None);
    }
}

#[test]
fn c25_the_same_class_of_error_three_times() {
    let mut detector = StuckDetector::default();
    assert_eq!(fail(&mut detector, "read", r#"{"p":"/a"}"#, "line 3: no such file: /a"), None);
    assert_eq!(fail(&mut detector, "read", r#"{"p":"/b/c"}"#, "line 4: no such file: /b/c"), None);
    assert_eq!(fail(&mut detector, "read", r#"{"p":"d"}"#, "line 5: no such file: /d"), Some(Pattern::RepeatedError));
    assert_eq!(fail(&mut detector, "read", r#"{"p":"d"}"#, "permission denied"), None);
    assert_eq!(take(&mut detector, "ls", "{}", "d"), None);
    for n in 0..2 {
        assert_eq!(fail(&mut detector, "read", &format!("{{\"p\":{n}}}"), "line 5: no such file: /d"), None);
    }
}

#[test]
fn c25_errors_are_counted_over_what_is_known() {
    let mut detector = StuckDetector::default();
    take(&mut detector, "ls", "{}", "a b");
    for n in 0..2 {
        assert_eq!(fail(&mut detector, "run", &format!("{{\"n\":{n}}}"), "no"), None);
        assert_eq!(take(&mut detector, "ls", "{}", "a b"), None);
    }
    assert_eq!(fail(&mut detector, "run", r#"{"n":3}"#, "no"), Some(Pattern::RepeatedError));
}

#[test]
fn c25_noise_in_arguments_makes_no_difference() {
    for arguments in [
        |n: u32| format!("{{\"q\":\"x\",\"attempt\":{n}}}"),
        |n| format!("{{\"attempt\":{n}}}"),
        |n| format!("{{\"q\":\"x\",\"now\":{}}}", 1_700_000_000 + n),
        |n| format!("{{\"cmd\":\"ls\",\"description\":\"Try {n}\"}}"),
        |n| format!("{{\"q\":\"x\",\"requestId\":\"123e4567-e89b-12d3-a456-42661417{n:04}\"}}"),
    ] {
        let mut detector = StuckDetector::default();
        assert_eq!(take(&mut detector, "f", &arguments(1), "same"), None);
        assert_eq!(take(&mut detector, "f", &arguments(2), "same"), None);
        assert_eq!(take(&mut detector, "f", &arguments(3), "same"), Some(Pattern::NearDuplicate), "{}", arguments(1));
    }
}

#[test]
fn k1_what_was_shown_is_what_a_call_is_about() {
    let id = |n: u64| format!("123e4567-e89b-12d3-a456-42661417{n:04}");
    let decide = |n: u64| format!("{{\"request_id\":\"{}\",\"decision\":\"yes\"}}", id(n));
    let grade = |n: u64| format!("{{\"attempt\":{n},\"mark\":\"pass\"}}");
    let list = format!("{:?}", (0..8).map(|n| (id(n), format!("attempt: {n}"))).collect::<Vec<_>>());
    for by_user in [false, true] {
        let mut detector = StuckDetector::default();
        if by_user {
            detector.show(&list);
            detector.reset();
        } else {
            assert_eq!(take(&mut detector, "list", "{}", &list), None);
        }
        for n in 0..8 {
            assert_eq!(take(&mut detector, "decide", &decide(n), "ok"), None, "{by_user} {n}");
            assert_eq!(take(&mut detector, "grade", &grade(n), "ok"), None, "{by_user} {n}");
        }
        // Those that were made up are still noise, and so is what the results of their own calls say of them.
        for n in 100..102 {
            assert_eq!(take(&mut detector, "decide", &decide(n), &format!("no request {}", id(n))), None);
        }
        assert_eq!(take(&mut detector, "decide", &decide(102), &id(103)), None);
        for n in [104, 105] {
            assert_eq!(take(&mut detector, "decide", &decide(n), "no request"), None);
        }
        assert_eq!(take(&mut detector, "decide", &decide(106), "no request"), Some(Pattern::NearDuplicate));
    }
}

#[test]
fn k1_a_new_id_asks_a_tool_that_acts_for_one_act_more() {
    let names = ["request_id", "traceId", "correlation-id", "idempotency_key", "nonce", "now", "tool_call_id"];
    let ids: [fn(u64) -> String; 4] = [
        |n| format!("123e4567-e89b-12d3-a456-42661417{n:04}"),
        |n| format!("{:040x}", u128::from(n + 1) * 0x9e37_79b9_7f4a_7c15_9e37),
        |n| format!("507f1f77bcf86cd7994390{n:02x}"),
        |n| format!("2026-01-02T03:04:{n:02}Z"),
    ];
    // What is made up for each try tells no read from another, nor does a result that only says it again.
    let found = |tool: &str, said: bool, name: &str, id: fn(u64) -> String| {
        let policy = StuckPolicy::default().with_acting(["approve", "search"].into_iter());
        let mut detector = StuckDetector::new(policy);
        (1..=8).find_map(|n| {
            let arguments = format!("{{\"what\":\"yes\",\"{name}\":\"{}\"}}", id(n));
            let result = if said { format!("{}: the same", id(n)) } else { "the same".to_owned() };
            take(&mut detector, tool, &arguments, &result).map(|pattern| (n, pattern))
        })
    };
    for name in names {
        for id in ids {
            for said in [false, true] {
                assert_eq!(found("approve", said, name, id), None, "{name} {}", id(0));
                let duplicate = is_made_up_id(name, &id(0)).then_some((3, Pattern::NearDuplicate));
                for tool in ["search", "f"] {
                    assert_eq!(found(tool, said, name, id), duplicate, "{tool} {name} {}", id(0));
                }
            }
        }
    }
    // Failures are the same whatever was asked.
    let mut detector = StuckDetector::new(StuckPolicy::default().with_acting(["approve"].into_iter()));
    let failures = (1..=3).map(|n| {
        let arguments = format!("{{\"what\":\"yes\",\"request_id\":\"{}\"}}", ids[0](n));
        fail(&mut detector, "approve", &arguments, &format!("no request {}", ids[0](n)))
    });
    assert_eq!(failures.last().flatten(), Some(Pattern::RepeatedError));
}

/// Ids have the forms of ids; keys, nonces and times have any.
fn is_made_up_id(name: &str, value: &str) -> bool {
    !name.to_ascii_lowercase().ends_with("id") || !value.contains(':')
}

#[test]
fn k1_a_number_that_counts_no_tries_is_data() {
    for (numbers, found) in [
        (vec![417, 288, 901, 32, 77, 1005, 64, 58], false),
        ((1001..1009).collect(), false),
        ((0..8).collect::<Vec<u64>>(), true),
        (vec![1, 2, 3], true),
        (vec![2, 2, 3, 4], true),
    ] {
        let mut detector = StuckDetector::default();
        let verdicts = numbers.iter().filter_map(|n| take(&mut detector, "f", &format!("{{\"attempt\":{n}}}"), "ok"));
        assert_eq!(verdicts.count() > 0, found, "{numbers:?}");
    }
}

#[test]
fn k1_a_value_that_is_new_in_its_place_is_news_whatever_it_looks_like() {
    let values: [fn(u64) -> String; 18] = [
        |n| format!("123e4567-e89b-12d3-a456-42661417{n:04}"),
        |n| format!("{:040x}", u128::from(n + 1) * 0x9e37_79b9_7f4a_7c15_9e37),
        |n| format!("507f1f77bcf86cd7994390{n:02x}"),
        |n| format!("2026-01-02T03:04:{n:02}Z"),
        |n| format!("12:34:{n:02}"),
        |n| format!("{}", 1_700_000_000 + n),
        |n| format!("/tmp/run{n}.log"),
        |n| format!("/tmp/tmpa{n}b7c9d1/out"),
        |n| format!("attempt-{n}.txt"),
        |n| format!("try {n}"),
        |n| format!("sam{n}@example.org"),
        |n| format!("01ARZ3NDEKTSV4RRFFQ69G5FA{n}"),
        |n| format!("10.0.0.{n}"),
        |n| format!("#ff00{n:02x}"),
        |n| format!("req_{n}ABC9xyz2"),
        |n| format!("0x7f00aa{n:02x}"),
        |n| format!("curl -H 'X-Request-Id: {n}' host"),
        |n| format!("{n} ms"),
    ];
    let places: [fn(&str) -> String; 6] = [
        |value| format!("{{\"order\":\"{value}\"}}"),
        |value| format!("{{\"uuid\":\"{value}\",\"decision\":\"yes\"}}"),
        |value| format!("{{\"command\":\"{value}\"}}"),
        |value| format!("{{\"where\":{{\"path\":[\"a\",\"{value}\"]}},\"attempt\":1}}"),
        |value| format!("{{\"request_id\":\"{value}\"}}"),
        |value| format!("not JSON {value}"),
    ];
    for (at, value) in values.iter().enumerate() {
        for place in &places {
            let mut detector = StuckDetector::default();
            for n in 0..8 {
                let arguments = place(&value(n));
                assert_eq!(take(&mut detector, "approve", &arguments, "ok"), None, "{at}: {arguments}");
            }
        }
    }
}

#[test]
fn k1_long_arguments_are_compared_whole() {
    let mut detector = StuckDetector::default();
    for n in 0..8 {
        let text = format!("{}{n}{}", "a".repeat(20_000), "b".repeat(20_000));
        assert_eq!(take(&mut detector, "write", &format!("{{\"text\":\"{text}\"}}"), "ok"), None);
    }
}

#[test]
fn c25_no_change_of_state() {
    let mut detector = StuckDetector::default();
    for n in 1..=7 {
        let (arguments, result) = (format!("{{\"n\":{n}}}"), format!("r{n}"));
        detector.record_step("f", &arguments, &step("f", &arguments, &result), Some(7));
        assert_eq!(detector.verdict().map(|verdict| verdict.pattern), (n >= 5).then_some(Pattern::NoChange));
    }
    detector.record_step("f", "{}", &step("f", "{}", "r"), Some(8));
    assert!(!detector.is_stuck());
}

#[test]
fn c25_monologue() {
    let mut detector = StuckDetector::default();
    detector.record_text("I think.");
    detector.record_text("");
    detector.record_text("I think more.");
    assert!(!detector.is_stuck());
    detector.record_text("I think even more.");
    assert_eq!(detector.verdict().unwrap().pattern, Pattern::Monologue);
    take(&mut detector, "f", "{}", "r");
    assert!(!detector.is_stuck());
}

#[test]
fn rules_for_single_tools() {
    let rules = |rules: ToolRules| {
        let policy = StuckPolicy { tools: [("poll".to_owned(), rules)].into(), ..StuckPolicy::default() };
        StuckDetector::new(policy)
    };
    let found_at = |mut detector: StuckDetector| (1..=30).find(|_| take(&mut detector, "poll", "{}", "wait").is_some());
    assert_eq!(found_at(StuckDetector::default()), Some(3));
    assert_eq!(found_at(rules(ToolRules { polling: true, ..ToolRules::default() })), None);
    assert_eq!(found_at(rules(ToolRules { ignore: true, ..ToolRules::default() })), None);
    assert_eq!(found_at(rules(ToolRules { repeats: Some(10), ..ToolRules::default() })), Some(10));
    assert_eq!(found_at(rules(ToolRules { repeats: Some(2), ..ToolRules::default() })), Some(2));
    // A cycle around a poll is a poll; one around something ignored is the rest.
    let mut detector = rules(ToolRules { polling: true, ..ToolRules::default() });
    let mut ignoring = rules(ToolRules { ignore: true, ..ToolRules::default() });
    for n in 1..=10 {
        for detector in [&mut detector, &mut ignoring] {
            take(detector, "sleep", "{}", "");
            take(detector, "poll", "{}", "wait");
        }
        assert!(!detector.is_stuck());
        assert_eq!(ignoring.is_stuck(), n >= 3);
    }
    let one = StuckPolicy { rounds: 1, ..StuckPolicy::default() };
    assert_eq!(one.check().unwrap_err().code, "invalid_number");
    assert!(StuckPolicy::off().check().is_ok());
}

#[test]
fn calls_of_one_round_count_once_and_their_order_says_nothing() {
    use loopwright_base::message::{ToolResult, ToolUse};
    let pair = |name: &str| (ToolUse::from_text("", name, "{}".into()), ToolResult::text("", name, name));
    let (a, b) = (pair("a"), pair("b"));
    let mut detector = StuckDetector::default();
    for n in 1..=3 {
        let mut round = vec![&a, &b];
        if n == 2 {
            round = vec![&b, &b, &a];
        }
        detector.record_round(round.into_iter().map(|(call, result)| (call, result)), None);
        assert_eq!(detector.is_stuck(), n == 3);
    }
    assert!(detector.goes_on_with([&b.0, &a.0].into_iter()));
    assert!(!detector.goes_on_with([&a.0].into_iter()));
}

#[test]
fn x20_rounds_that_bring_nothing_new_change_nothing() {
    use loopwright_base::message::{ToolResult, ToolUse};
    let pair = |name: &str| (ToolUse::from_text("", name, "{}".into()), ToolResult::text("", name, name));
    let mut detector = StuckDetector::default();
    let mut found = None;
    for (at, name) in ["a", "b", "c", "a", "c", "b", "b", "a", "c"].into_iter().enumerate() {
        let (call, result) = pair(name);
        detector.record_round([(&call, &result)].into_iter(), None);
        found = found.or(detector.verdict().map(|verdict| (at + 1, verdict.pattern)));
    }
    assert_eq!(found, Some((8, Pattern::NoChange)));
}

/// Feeds steps given as numbers; gives the record at which something is found.
fn found_at(steps: impl Iterator<Item = u64>) -> Option<(usize, Verdict)> {
    let mut detector = StuckDetector::default();
    for (at, number) in steps.enumerate() {
        let arguments = format!("{{\"i\":{number}}}");
        detector.record_step("f", &arguments, &step("f", &arguments, "ok"), None);
        if let Some(verdict) = detector.verdict() {
            return Some((at + 1, verdict));
        }
    }
    None
}

proptest! {
    #[test]
    fn c25_cycles_are_found_when_their_third_round_completes(
        period in 1_usize..=64, tail in prop::collection::vec(1_000_u64..2_000, 0..100), start in 0_usize..64,
    ) {
        // A tail without repetition of its own.
        let mut seen = std::collections::HashSet::new();
        let tail: Vec<u64> = tail.into_iter().filter(|step| seen.insert(*step)).collect();
        let cycle = (0..period * 3).map(|at| ((at + start) % period) as u64);
        let (at, verdict) = found_at(tail.iter().copied().chain(cycle)).unwrap();
        prop_assert_eq!(at, tail.len() + 3 * period);
        prop_assert_eq!((verdict.members.len(), verdict.rounds), (period, 3));
        prop_assert_eq!(verdict.pattern, if period == 1 { Pattern::RepeatedCall } else { Pattern::Cycle });
        prop_assert_eq!(verdict.first as usize, tail.len() + 1);
        let shorter = tail.iter().copied().chain((0..period * 3 - 1).map(|at| ((at + start) % period) as u64));
        prop_assert!(found_at(shorter).is_none());
    }

    /// Whatever came before, from whatever alphabet: found with the first step that ends three rounds, and no other.
    #[test]
    fn c25_never_earlier_and_never_later(steps in prop::collection::vec(0_u64..3, 0..60)) {
        let expected = (1..=steps.len()).find(|end| {
            (1..=64).any(|period| end.checked_sub(3 * period).is_some_and(|start| {
                let tail = &steps[start..*end];
                tail.iter().zip(&tail[period..]).all(|(a, b)| a == b)
            }))
        });
        prop_assert_eq!(found_at(steps.into_iter()).map(|(at, _)| at), expected);
    }

    #[test]
    fn c25_results_that_change_are_never_stuck(names in prop::collection::vec(0_usize..3, 1..150), seed in any::<u32>()) {
        let mut detector = StuckDetector::default();
        for (at, name) in names.into_iter().enumerate() {
            let result = format!("{} items", u64::from(seed) + at as u64);
            prop_assert_eq!(take(&mut detector, ["a", "b", "c"][name], "{}", &result), None);
        }
    }

    #[test]
    fn saved_and_loaded_the_rest_is_the_same(
        steps in prop::collection::vec((0_u64..4, any::<bool>()), 0..200), cut in 0_usize..200, text in "[ab \n]{0,60}",
    ) {
        let mut detector = StuckDetector::default();
        let mut loaded = None;
        for (at, (number, failed)) in steps.into_iter().enumerate() {
            if at == cut {
                let saved = serde_json::to_string(&detector).unwrap();
                let back: StuckDetector = serde_json::from_str(&saved).unwrap();
                prop_assert_eq!(&back, &detector);
                loaded = Some(back);
            }
            let arguments = format!("{{\"i\":{number}}}");
            let step = Step::of_text(("f", &arguments), "ok", failed, None, Known::default());
            for detector in std::iter::once(&mut detector).chain(loaded.as_mut()) {
                detector.record_step("f", &arguments, &step, None);
                detector.feed(&text);
            }
            if let Some(loaded) = &loaded {
                prop_assert_eq!(loaded.verdict(), detector.verdict());
            }
        }
    }

    #[test]
    fn a_stream_is_read_the_same_whatever_its_pieces(
        piece in "[a-c é\n`-]{1,40}", times in 1_usize..120, before in "[ -~\n]{0,80}", cuts in prop::collection::vec(1_usize..50, 1..20),
    ) {
        let text = format!("{before}{}", piece.repeat(times));
        let mut whole = StuckDetector::default();
        whole.feed(&text);
        let mut pieces = StuckDetector::default();
        let mut rest = text.as_str();
        for cut in cuts.into_iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let end = (cut.min(rest.len())..=rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap();
            pieces.feed(&rest[..end]);
            rest = &rest[end..];
        }
        prop_assert_eq!(whole.verdict(), pieces.verdict());
    }

    #[test]
    fn no_text_is_too_strange(name in ".{0,20}", arguments in ".{0,200}", result in ".{0,200}", failed in any::<bool>()) {
        let mut detector = StuckDetector::default();
        for _ in 0..4 {
            let step = detector.step_of_text((&name, &arguments), &result, failed, None);
            detector.record_step(&name, &arguments, &step, None);
            detector.record_text(&result);
            detector.feed(&arguments);
            detector.verdict();
        }
    }

    #[test]
    fn c25_noise_never_changes_a_verdict(
        calls in prop::collection::vec((0_usize..3, 0_u32..1_000, any::<u32>()), 1..60),
    ) {
        // The same calls with other noise have the same verdicts, but for the name of the pattern.
        let run = |salt: u32| {
            let mut detector = StuckDetector::default();
            calls.iter().map(|(kind, number, noise)| {
                let noise = noise ^ salt;
                let arguments = match kind {
                    0 => format!("{{\"q\":{},\"attempt\":{}}}", number % 2, noise % 3),
                    1 => format!("{{\"q\":{},\"trace_id\":\"{noise:032x}\"}}", number % 2),
                    _ => format!("{{\"cmd\":\"cat x {}\",\"description\":\"{noise}\"}}", number % 2),
                };
                take(&mut detector, "f", &arguments, "same").is_some()
            }).collect::<Vec<_>>()
        };
        prop_assert_eq!(run(0), run(0x5a5a_1234));
    }
}

#[test]
fn repeated_lines_phrases_and_tokens() {
    let looping = |text: &str| {
        let mut detector = StuckDetector::default();
        detector.feed(text);
        detector.verdict().map(|verdict| (verdict.pattern, verdict.members[0].arguments.clone()))
    };
    let found = looping(&"I will now check the file again.\n".repeat(20)).unwrap();
    assert_eq!(found.0, Pattern::RepeatedText);
    assert!(found.1.contains("check the file"), "{}", found.1);
    assert!(looping(&"the ".repeat(100)).is_some());
    assert!(looping(&"WatchonWatchonYouTube".repeat(30)).is_some());
    assert!(looping(&"ja".repeat(300)).is_some());
    assert!(looping(&format!("Well. {}", "Ich denke, daß das nicht geht – noch einmal. ".repeat(12))).is_some());
    let paragraph = "First I look at the parser, then at the printer, then at the tests that hold both to each other. \
                     What they have in common is the table; the table is what I have to change, and the tests will tell. ";
    assert!(looping(&paragraph.repeat(5)).is_some());
    let interleaved = ["Wait, let me look at this once more.\n", "No.\n"].repeat(20).concat();
    assert!(looping(&interleaved).is_some());
    for fine in [
        "-".repeat(300),
        "| --- | --- |\n".repeat(20),
        "0, 0, 0, 0, ".repeat(30),
        "I will check. ".repeat(6),
        format!("```\n{}```\n", "    null,\n".repeat(30)),
        (0..200).map(|n| format!("{n}. item number {n} of the list")).collect::<Vec<_>>().join("\n"),
        include_str!("mod.rs").to_owned(),
        include_str!("noise.rs").to_owned(),
        include_str!("tests.rs").replace("```", ""),
    ] {
        assert_eq!(looping(&fine), None, "{}", &fine[..60]);
    }
}

fn looping(text: &str) -> bool {
    StuckDetector::default().feed(text)
}

#[test]
fn k2_a_moving_counter_hides_no_loop() {
    let each = |times: std::ops::Range<u32>, say: &dyn Fn(u32) -> String| times.map(say).collect::<String>();
    assert!(looping(&each(1..40, &|n| format!("Attempt {n}: let me read the configuration once more to be sure. "))));
    assert!(looping(&each(9..60, &|n| format!("Versuch {n}, ich lese die Datei noch einmal von vorn.\n"))));
    assert!(looping(&each(1..40, &|n| format!("我再检查一次配置文件，这是第{n}次尝试，结果应该一样。"))));
    let ends = ["!", "?", " \u{2026}.", "..", "."];
    assert!(looping(&each(0..40, &|n| format!("Now I really have to look at it again{} ", ends[n as usize % 5]))));
    // Clauses that are joined in another way each time.
    let joints = [", ", "; ", " - ", "... ", "\n", ": ", " \u{2014} "];
    let clauses =
        ["the parcel was last seen on Monday", "today is Thursday", "that makes three days", "so it is not lost"];
    assert!(looping(&each(0..80, &|n| format!("{}{}", clauses[n as usize % 4], joints[(n * n) as usize % 7]))));
    // What numbers tell of batch work is no repetition.
    for fine in [
        each(1001..1041, &|n| format!("Order {n} was refunded with {} EUR and the customer was told. ", n * 7 % 90)),
        each(1..41, &|n| format!("{n}. File {n}: ok\n")),
        each(1..30, &|n| format!("- Step {n} of the checklist is done, with {} findings in all.\n", n * 13 % 7)),
    ] {
        assert!(!looping(&fine), "{}", &fine[..60]);
    }
}

#[test]
fn k4_drawings_tables_and_code_are_no_loops() {
    for fine in [
        "| unit tests | passed | none |\n".repeat(40),
        "│ worker    │ idle     │\n├───────────┼──────────┤\n".repeat(30),
        "═".repeat(400),
        "+----------+----------+\n| a        | b        |\n".repeat(20),
        "    values.append(compute(row))\n".repeat(20),
        "console.log(\"checking the next\");\n".repeat(20),
        "2026-01-02,Oslo,12.5,ok,north\n".repeat(25),
        "passed\tpassed\tpassed\tskipped\n".repeat(25),
    ] {
        assert!(!looping(&fine), "{}", fine.lines().next().unwrap());
        // Without an end it is one all the same.
        assert!(looping(&fine.repeat(40)), "{}", fine.lines().next().unwrap());
    }
}

#[test]
fn k3_services_that_fail_are_no_loop() {
    let mut detector = StuckDetector::default();
    for n in 0..12 {
        assert_eq!(fail(&mut detector, "fetch", &format!("{{\"order\":{n}}}"), "HTTP 503 Service Unavailable"), None);
        assert_eq!(fail(&mut detector, "fetch", "{}", "429 Too Many Requests, retry after 3 s"), None);
    }
    // What is done meanwhile is waiting; what was found before begins anew.
    for _ in 0..3 {
        take(&mut detector, "ls", "{}", "a b");
    }
    assert!(detector.is_stuck());
    for _ in 0..9 {
        assert_eq!(fail(&mut detector, "fetch", "{}", "connection refused"), None);
        assert_eq!(take(&mut detector, "sleep", "{\"seconds\":10}", ""), None);
    }
    let last = (0..3).map(|_| take(&mut detector, "ls", "{}", "a b")).last().flatten();
    assert_eq!(last, Some(Pattern::RepeatedCall));
}

#[test]
fn k5_fresh_ids_hide_no_loop() {
    let send = "{\"to\":\"sam@example.org\",\"text\":\"The order is late.\"}";
    let found = |tool: &str, arguments: &str, result: &dyn Fn(u32) -> String| {
        let mut detector = StuckDetector::new(StuckPolicy::default().with_acting(["send", "next_job"].into_iter()));
        (1..=12).find_map(|n| take(&mut detector, tool, arguments, &result(n)).map(|pattern| (n, pattern)))
    };
    let id = |n: u32| format!("{:x}", u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let named: [&dyn Fn(u32) -> String; 3] = [
        &|n| format!("{{\"ok\":true,\"messageId\":\"{}\"}}", id(n)),
        &|n| format!("restarted, pid {}", 4000 + n * 7),
        &|n| format!("{{\"hits\":0,\"took\":{n},\"ts\":{}}}", 1_700_000_000 + n),
    ];
    for result in named {
        assert_eq!(found("send", send, result), Some((3, Pattern::RepeatedCall)), "{}", result(1));
    }
    // What is learned from the answers before.
    let unnamed: [&dyn Fn(u32) -> String; 3] =
        [&|n| format!("{{\"id\":\"{}\"}}", id(n)), &|n| format!("Created TICKET-{}.", 1034 + n), &|n| {
            format!("queued as {}", id(n))
        }];
    for result in unnamed {
        assert_eq!(found("send", send, result), Some((6, Pattern::NearDuplicate)), "{}", result(1));
        // What comes next is what such a tool is called for.
        assert_eq!(found("next_job", "{\"queue\":\"mail\"}", result), None, "{}", result(1));
    }
    for progress in ["page {n} of 30", "{\"progress\": {n}}", "{n} pods ready", "{\"state\":\"up\",\"jobs_left\":{n}}"]
    {
        let result = |n: u32| progress.replace("{n}", &n.to_string());
        assert_eq!(found("watch", send, &result), None, "{progress}");
    }
    // What a tool declares.
    let rules = ToolRules { volatile: vec!["visitors".into()], ..ToolRules::default() };
    let policy = StuckPolicy { tools: [("page".to_owned(), rules)].into(), ..StuckPolicy::default() };
    let mut detector = StuckDetector::new(policy);
    let last = (0..3).map(|n| take(&mut detector, "page", "{}", &format!("{{\"visitors\": {n}, \"a\": 1}}"))).last();
    assert_eq!(last.flatten(), Some(Pattern::RepeatedCall));
}

#[test]
fn k5_a_row_of_errors_is_not_ended_by_a_fresh_id() {
    let mut detector = StuckDetector::default();
    let rounds = (1..=3).map(|n| {
        take(&mut detector, "login", "{\"user\":\"sam\"}", &format!("{{\"token\":\"a{n}b{n}c{n}d{n}\"}}"));
        fail(&mut detector, "orders", &format!("{{\"token\":\"a{n}b{n}c{n}d{n}\"}}"), "403 Forbidden")
    });
    assert_eq!(rounds.last().flatten(), Some(Pattern::RepeatedError));
}
