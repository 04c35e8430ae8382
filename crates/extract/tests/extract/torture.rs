//! What each dialect must survive: several calls, prose everywhere, missing closers, no arguments, markup in values.

use loopwright_base::{json::Raw, message::ToolUse};
use loopwright_extract::{
    Dialect, Dropped, Grammar, ProblemKind, dialects, frames, inert_regions, reasoning_markups, render_call,
    render_calls,
};
use serde_json::{Value, json};

use crate::reading::{Owner, Reading, Setup, each, pieces, read};

fn schema() -> Value {
    json!({"type": "object", "properties": {
        "n": {"type": "integer"}, "text": {"type": "string"}, "list": {"type": "array", "items": {"type": "string"}},
    }})
}

fn setup(dialect: &Dialect) -> Setup {
    let setup = Setup::tools(&[("f", schema()), ("g", schema()), ("now", schema())]);
    if dialect.bare { setup.bare() } else { setup }
}

fn call(dialect: &Dialect, name: &str, arguments: &Value) -> String {
    render_call(name, &Raw::of(arguments), None, dialect).unwrap()
}

#[track_caller]
fn expect(reading: &Reading, calls: &[(&str, Value)], dialect: &Dialect, text: &str) {
    assert_eq!(reading.called(), calls, "{}: {text}", dialect.name);
    assert!(reading.calls.iter().all(|call| call.complete && !call.repaired), "{}: {text}\n{reading:?}", dialect.name);
}

#[test]
fn calls_in_parallel() {
    each(dialects(), |dialect| {
        let expected =
            [("f", json!({"n": 1})), ("g", json!({"text": "x", "list": ["a", "b"]})), ("f", json!({"n": 1}))];
        let uses: Vec<_> =
            expected.iter().map(|(name, json)| ToolUse::from_text("", *name, json.to_string())).collect();
        let text = render_calls(&uses, dialect).unwrap();
        let reading = read(&text, &setup(dialect));
        expect(&reading, &expected, dialect, &text);
        assert_eq!(reading.prose.trim(), "", "{}: {text}", dialect.name);
        let places: Vec<_> = reading.calls.iter().map(|call| (call.span.start, call.span.end)).collect();
        assert!(places.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{}: {places:?}", dialect.name);
    });
}

#[test]
fn prose_before_between_and_after() {
    each(dialects(), |dialect| {
        let (one, two) = (call(dialect, "f", &json!({"n": 1})), call(dialect, "g", &json!({"text": "x"})));
        let prose = ["Let me see: 1 < 2 & {a} [b].\n", "\nAnd then, *again*:\n", "\n\nThat's all, \"folks\" <3.\n"];
        let text = format!("{}{one}{}{two}{}", prose[0], prose[1], prose[2]);
        let reading = read(&text, &setup(dialect));
        expect(&reading, &[("f", json!({"n": 1})), ("g", json!({"text": "x"}))], dialect, &text);
        assert_eq!(reading.prose, prose.concat(), "{}: {text}", dialect.name);
    });
}

#[test]
fn no_arguments() {
    each(dialects(), |dialect| {
        let text = call(dialect, "now", &json!({}));
        let reading = read(&text, &setup(dialect));
        expect(&reading, &[("now", json!({}))], dialect, &text);
        assert_eq!(reading.prose, "", "{}: {text}", dialect.name);
    });
}

#[test]
fn the_closers_are_missing() {
    each(dialects(), |dialect| {
        let mut text = call(dialect, "f", &json!({"n": 1, "text": "x"}));
        let whole = text.clone();
        if let Some((_, close)) = dialect.section {
            text.truncate(text.len() - close[0].len());
        }
        let without_section = text.clone();
        text.truncate(text.len() - dialect.close[0].len());
        // Where nothing but the closer shows that no further argument follows, the call is not complete without it.
        let shown = !matches!(dialect.grammar, Grammar::Pairs { .. } | Grammar::Attributes);
        for text in [without_section.as_str(), text.as_str(), text.trim_end()] {
            let reading = read(text, &setup(dialect));
            if shown || text == without_section {
                expect(&reading, &[("f", json!({"n": 1, "text": "x"}))], dialect, text);
            } else {
                assert!(reading.calls.len() == 1 && !reading.calls[0].complete, "{}: {reading:?}", dialect.name);
            }
            assert_eq!(reading.prose.trim(), "", "{}: {text}", dialect.name);
        }
        // Cut anywhere it is at most one call, and never one with other arguments that is complete.
        for at in (0..whole.len()).filter(|at| whole.is_char_boundary(*at)) {
            let reading = read(&whole[..at], &setup(dialect));
            assert!(reading.calls.len() <= 1, "{}: {}", dialect.name, &whole[..at]);
            for call in reading.calls.iter().filter(|call| call.complete && !call.repaired) {
                let value: Value = serde_json::from_str(&call.arguments).unwrap();
                assert_eq!(value, json!({"n": 1, "text": "x"}), "{}: {}", dialect.name, &whole[..at]);
            }
        }
    });
}

#[test]
fn sections_are_optional() {
    each(dialects(), |dialect| {
        let Some((open, close)) = dialect.section else { return };
        assert!(dialect.section_optional);
        let whole = call(dialect, "f", &json!({"n": 1}));
        let bare = whole.strip_prefix(open[0]).and_then(|rest| rest.strip_suffix(close[0])).unwrap();
        let reading = read(&format!("A{bare}B"), &setup(dialect));
        expect(&reading, &[("f", json!({"n": 1}))], dialect, bare);
        assert_eq!(reading.prose, "AB", "{}", dialect.name);
        for open in open {
            for close in close {
                let text = format!("A{open}{bare}{close}B");
                let reading = read(&text, &setup(dialect));
                expect(&reading, &[("f", json!({"n": 1}))], dialect, &text);
                assert_eq!(reading.prose, "AB", "{}", dialect.name);
            }
        }
        // Nothing called.
        let text = format!("A{}{}B", open[0], close[0]);
        let reading = read(&text, &setup(dialect));
        assert_eq!((reading.calls.len(), reading.prose.as_str()), (0, "AB"), "{}: {text}", dialect.name);
    });
}

#[test]
fn every_spelling_of_a_marker() {
    each(dialects(), |dialect| {
        let text = call(dialect, "f", &json!({"n": 1}));
        for open in dialect.open.iter().filter(|open| !open.is_empty() && !dialect.open[0].is_empty()) {
            for close in dialect.close.iter().filter(|close| !close.is_empty() && !dialect.close[0].is_empty()) {
                let text = text.replacen(dialect.open[0], open, 1).replacen(dialect.close[0], close, 1);
                let reading = read(&text, &setup(dialect));
                expect(&reading, &[("f", json!({"n": 1}))], dialect, &text);
                assert_eq!(reading.prose, "", "{}: {text}", dialect.name);
            }
        }
    });
}

#[test]
fn white_space_between_the_pieces() {
    each(dialects().iter().filter(|row| !row.open[0].is_empty() && !row.close[0].is_empty()), |dialect| {
        let whole = call(dialect, "f", &json!({"n": 1}));
        let padded = whole.replacen(dialect.open[0], &format!("{}\n  ", dialect.open[0]), 1).replacen(
            dialect.close[0],
            &format!("  \n{}", dialect.close[0]),
            1,
        );
        let reading = read(&padded, &setup(dialect));
        expect(&reading, &[("f", json!({"n": 1}))], dialect, &padded);
        assert_eq!(reading.prose, "", "{}: {padded}", dialect.name);
    });
}

#[test]
fn calls_of_every_dialect_in_a_value_of_every_other() {
    each(dialects(), |outer| {
        for inner in dialects() {
            let value = format!("see {} there", call(inner, "g", &json!({"n": 2})));
            let text = call(outer, "f", &json!({"text": value, "n": 1}));
            let reading = crate::reading::pieces([text.as_bytes()], &setup(outer));
            expect(&reading, &[("f", json!({"text": value, "n": 1}))], outer, &text);
        }
    });
}

#[test]
fn quoted_in_every_way_nothing_runs() {
    each(dialects(), |dialect| {
        let call = call(dialect, "f", &json!({"n": 1}));
        for text in [format!("So:\n```\n{call}\n```\n"), format!("So:\n~~~\n{call}\n~~~\nand on\n")] {
            let reading = read(&text, &setup(dialect));
            assert_eq!((reading.calls.len(), reading.prose.as_str()), (0, text.as_str()), "{}", dialect.name);
        }
        if !call.contains('\n') && !call.contains('`') && !dialect.bare {
            for text in [format!("So: `{call}`, see?"), format!("> {call}\n"), format!("a\n> > {call}\nb")] {
                let reading = read(&text, &setup(dialect));
                assert_eq!((reading.calls.len(), reading.prose.as_str()), (0, text.as_str()), "{}", dialect.name);
            }
        }
    });
}

#[test]
fn d22_reasoning_is_not_text_and_runs_nothing() {
    for markup in reasoning_markups() {
        for open in markup.open {
            for close in markup.close {
                for dialect in dialects().iter().step_by(7) {
                    let call = call(dialect, "f", &json!({"n": 1}));
                    if markup.close.iter().any(|close| call.contains(close)) {
                        continue;
                    }
                    let text = format!("{open}I might {call} or not{close}Well.");
                    let reading = read(&text, &setup(dialect));
                    assert_eq!(reading.calls, [], "{}: {text}", markup.name);
                    assert_eq!(reading.prose, "Well.", "{}: {text}", markup.name);
                    assert_eq!(reading.reasoning, format!("I might {call} or not"), "{}: {text}", markup.name);
                }
            }
        }
    }
}

#[test]
fn echoed_results_are_inert() {
    for region in inert_regions() {
        for (at, open) in region.open.iter().enumerate() {
            for (beside, close) in region.close.iter().enumerate() {
                // Each opener and each closer once, not every pair.
                if at % region.close.len() != beside && beside % region.open.len() != at {
                    continue;
                }
                for dialect in dialects().iter().skip(at % 5).step_by(5) {
                    let call = call(dialect, "f", &json!({"n": 1}));
                    if region.close.iter().any(|close| call.contains(close)) {
                        continue;
                    }
                    let text = format!("Before. {open}>\n{call}\n{close}After.");
                    let reading = read(&text, &setup(dialect));
                    assert_eq!(reading.calls, [], "{}: {text}", region.name);
                    assert_eq!(reading.prose, "Before. After.", "{}: {text}", region.name);
                    assert!(reading.has(ProblemKind::ToolResult) && reading.dropped(Dropped::ToolResult) > call.len());
                }
                // Open to the end of the text.
                let text = format!("Before. {open} <tool_call>{{\"name\": \"f\", \"arguments\": {{}}}}</tool_call>");
                let reading = read(&text, &Setup::auto());
                assert_eq!((reading.calls.len(), reading.prose.as_str()), (0, "Before. "), "{}: {text}", region.name);
            }
        }
    }
}

#[test]
fn frames_go_and_what_stands_in_them_stays() {
    for frame in frames() {
        for open in frame.open {
            for close in frame.close {
                let text = format!("{open}Visible, with `code` and 1 < 2.{close}");
                let reading = read(&text, &Setup::auto());
                assert_eq!(reading.prose, "Visible, with `code` and 1 < 2.", "{}: {text}", frame.name);
                assert_eq!(reading.owned[0].0, Owner::Markup);
                // The closer alone is nothing, unless it ends reasoning as well.
                if !reasoning_markups().iter().any(|row| row.close.contains(close)) {
                    assert_eq!(read(close, &Setup::auto()).prose, *close);
                }
            }
        }
    }
}

#[test]
fn d08_a_limit_cuts_at_the_same_byte_however_the_text_comes() {
    each(dialects(), |dialect| {
        let arguments = json!({"city": "Oslo é🌍", "days": 3, "l": [1.5, "x"], "deep": {"a": true}});
        let uses = vec![ToolUse::from_text("", "f", arguments.to_string()); 2];
        let text = format!("{} x\n", render_calls(&uses, dialect).unwrap());
        for most in (0..40).chain([55, 70, 90]) {
            let setup = setup(dialect).with(|policy| policy.max_argument_bytes = most);
            let whole = pieces([text.as_bytes()], &setup);
            for size in [1, 2, 7, 23] {
                assert_eq!(pieces(text.as_bytes().chunks(size), &setup), whole, "{} {most} {size}", dialect.name);
            }
        }
    });
}

#[test]
fn d08_a_limit_on_arguments_is_none_on_other_members() {
    let text = "<tool_call>\n{\"name\": \"f\", \"argument- {\"city\":\"Oslo\",\"days\":3}, \"note\": \"long enough\"}\n</tool_call> x";
    for most in [0, 1, 5, 30] {
        let setup = Setup::auto().with(|policy| policy.max_argument_bytes = most);
        assert_eq!(pieces(text.as_bytes().chunks(1), &setup), pieces([text.as_bytes()], &setup), "{most}");
    }
}

#[test]
fn a_long_call_over_its_limit_is_cut_and_dropped_even_if_it_comes_at_once() {
    each(dialects(), |dialect| {
        let long = "x".repeat(200_000);
        let text = format!("{} after\n", call(dialect, "f", &json!({"text": long, "n": 1})));
        let small = setup(dialect).with(|policy| policy.max_argument_bytes = 1000);
        let whole = pieces([text.as_bytes()], &small);
        assert_eq!(whole, pieces(text.as_bytes().chunks(777), &small), "{}", dialect.name);
        assert!(whole.has(ProblemKind::ArgumentsTooLarge), "{}", dialect.name);
        assert_eq!(whole.prose.trim(), "after", "{}", dialect.name);
        assert!(whole.calls.iter().all(|call| !call.complete && call.arguments.len() <= 1000), "{}", dialect.name);
        // Text however long, if nobody declared its tool.
        let text = format!("{} after\n", call(dialect, "rm", &json!({"text": long, "n": 1})));
        let whole = pieces([text.as_bytes()], &small);
        assert_eq!((whole.prose.as_str(), whole.calls.len()), (text.as_str(), 0), "{}", dialect.name);
    });
}

#[test]
fn limits_give_a_problem_and_no_error() {
    each(dialects(), |dialect| {
        let text = call(dialect, "f", &json!({"text": "x".repeat(300), "n": 1}));
        let small = setup(dialect).with(|policy| policy.max_argument_bytes = 100);
        let reading = read(&format!("{text}\n"), &small);
        assert!(
            reading.calls.iter().all(|call| !call.complete && call.arguments.len() <= 100),
            "{}: {reading:?}",
            dialect.name
        );
        assert!(reading.has(ProblemKind::ArgumentsTooLarge), "{}: {reading:?}", dialect.name);
        let uses: Vec<_> = (0..5).map(|n| ToolUse::from_text("", "f", json!({"n": n}).to_string())).collect();
        let text = render_calls(&uses, dialect).unwrap();
        let reading = read(&text, &setup(dialect).with(|policy| policy.max_calls = 3));
        assert_eq!(reading.calls.iter().filter(|call| call.complete).count(), 3, "{}: {reading:?}", dialect.name);
        assert!(reading.has(ProblemKind::TooManyCalls), "{}: {reading:?}", dialect.name);
        let text = call(dialect, "f", &json!({"deep": [[[[[[[[[["x"]]]]]]]]]]}));
        let reading = read(&text, &setup(dialect).with(|policy| policy.max_depth = 5));
        // Between elements it is text like any other that isn't JSON.
        let is_text = reading.called().iter().all(|(_, arguments)| arguments["deep"].is_string());
        assert!(is_text || reading.calls.iter().all(|call| !call.complete), "{}: {reading:?}", dialect.name);
        assert!(is_text || reading.has(ProblemKind::TooDeep), "{}: {reading:?}", dialect.name);
    });
}

#[test]
fn unknown_tools_stay_text_in_every_dialect() {
    each(dialects(), |dialect| {
        let unknown = call(dialect, "format_disk", &json!({"n": 1}));
        let known = call(dialect, "f", &json!({"n": 2}));
        let text = format!("{unknown}\n{known}");
        let reading = read(&text, &setup(dialect));
        let names: Vec<_> = reading.calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["f"], "{}: {text}", dialect.name);
        assert!(reading.prose.contains("format_disk"), "{}: {reading:?}", dialect.name);
        assert!(dialect.bare || reading.has(ProblemKind::UnknownTool), "{}: {reading:?}", dialect.name);
        if !dialect.bare {
            let run = read(&text, &setup(dialect).unknown_run());
            assert_eq!(run.calls.len(), 2, "{}: {text}", dialect.name);
        }
    });
}

#[test]
fn a_title_says_nothing_new() {
    let call = "<|message_model|>f<|content_invoke_tool_json|>{\"name\":\"f\",\"args\":{\"n\":1}}<|end_message|>";
    let text = format!(
        "<|message_model|><|content_thinking|>Hm.<|end_message|><|message_model|><|content_text|>Hello.<|end_message|>{call}{call}"
    );
    let reading = read(&text, &Setup::auto());
    assert_eq!(reading.called(), vec![("f", json!({"n": 1})); 2]);
    assert_eq!((reading.prose.as_str(), reading.reasoning.as_str()), ("Hello.", "Hm."));
    let call = |name: &str| {
        format!(
            "<|start|>assistant to={name}<|message|><atem:function_calls>\n<atem:invoke name=\"{name}\">\n<atem:parameter name=\"n\">1</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eom|>"
        )
    };
    let text = format!(
        "<|start|>assistant to=self<|message|>Hm.<|eom|><|start|>assistant to=user<|message|>Hello.<|eom|>{}{}",
        call("f"),
        call("g")
    );
    let reading = read(&text, &Setup::auto());
    assert_eq!(reading.called(), [("f", json!({"n": 1})), ("g", json!({"n": 1}))]);
    assert_eq!((reading.prose.as_str(), reading.reasoning.as_str()), ("Hello.", "Hm."));
    // Without its end it is text.
    for text in ["<|message_model|>some words", "<|message_model|>f<|content_invoke_tool_json|>words"] {
        let reading = read(text, &Setup::auto());
        assert_eq!((reading.calls.len(), reading.prose.as_str()), (0, text));
    }
}
