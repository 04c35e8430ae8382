//! Bytes go missing in the middle of a reply: the first call stops anywhere, and the second begins right behind it.
//! Neither may run with what the other was given, whatever had to be mended. Each text whole and byte by byte, in every
//! dialect.

use loopwright_base::message::ToolUse;
use loopwright_extract::{dialects, render_calls};
use serde_json::json;

use crate::reading::{Setup, each, read, read_twice};

#[test]
fn d08_two_calls_never_run_as_one_wherever_the_first_stops() {
    let uses = [
        ToolUse::from_text("", "first_tool", json!({"early": "x", "more": "y"}).to_string()),
        ToolUse::from_text("", "second_tool", json!({"late": "z", "last": "w"}).to_string()),
    ];
    each(dialects().iter().filter(|row| !row.bare), |dialect| {
        let text = render_calls(&uses, dialect).unwrap();
        let setup = Setup::names(&["first_tool", "second_tool"]);
        let sound = read(&text, &setup);
        assert_eq!(sound.calls.len(), 2, "{text}: {sound:?}");
        let (from, to, next) = (sound.calls[0].span.start, sound.calls[0].span.end, sound.calls[1].span.start);
        for cut in (from + 1..to).filter(|cut| text.is_char_boundary(*cut)) {
            let text = format!("{}{}", &text[..cut], &text[next..]);
            let reading = read_twice(text.as_bytes(), &setup);
            for call in reading.calls.iter().filter(|call| call.complete) {
                let others: &[&str] = if call.name == "first_tool" {
                    &["second_tool", "late", "last"]
                } else {
                    &["first_tool", "early", "more"]
                };
                assert!(!others.iter().any(|other| call.arguments.contains(other)), "{text}: {reading:?}");
            }
        }
    });
}

#[test]
fn d17_what_a_reply_that_broke_often_costs_is_the_same_at_every_cut() {
    let value = "x".repeat(1_200);
    let text = format!(
        "Hi. <function=ff>\n<parameter=gam>\n\u{e9}x\n</parameter>\n</function>\n<function=gg>\n<parameter=beta>\n{value}\n</parameter>\n\
         <parameter=gam>\nnull\n</parameter>\n<parameter=alpha>\n{{\"k\": \"v\"}}\n</parameter>\n</function>\n\
         <function=hh><function=hh>\n<parameter=alpha>\n1\n</parameter>\n</function>\n Bye."
    );
    let reading = read(&text, &Setup::auto());
    assert!(reading.in_doubt() && reading.calls.iter().all(|call| !call.complete), "{reading:?}");
    let count = |name: &str| reading.calls.iter().filter(|call| call.name == name).count();
    assert_eq!((count("ff"), count("gg"), count("hh")), (1, 1, 2), "{reading:?}");
}

#[test]
fn d17_a_name_that_no_tool_has_before_one_that_a_tool_has_is_read_the_same_at_every_cut() {
    let text = r#"<|tools_prefix|>[{":"Oslo","ff": {"a":1}}]<|tools_suffix|> Bye."#;
    let reading = read(text, &Setup::names(&["ff"]));
    assert!(reading.calls.iter().all(|call| !call.complete), "{reading:?}");
    assert_eq!(reading.prose, " Bye.", "{reading:?}");
}

#[test]
fn d08_two_calls_as_python_never_run_as_one_behind_a_quote_without_partner() {
    for (open, close) in [
        ("<|tool_call_start|>", "<|tool_call_end|>"),
        ("<|python_start|>", "<|python_end|>"),
        ("<function_calls>\n", "\n</function_calls>"),
    ] {
        for broken in ["a=\"x \"y, b=1", "a=\"x y, b=1", "a=\"x y\"\", b=1", "a=\"x y\"b ,=1"] {
            let text = format!("{open}[ff({broken})]{close}\n{open}[gg(c=7, d=\"wake up\")]{close} Bye.");
            for setup in [Setup::auto(), Setup::names(&["ff", "gg"])] {
                let reading = read(&text, &setup);
                assert!(!reading.calls.iter().any(|call| call.complete && call.name == "ff"), "{text}: {reading:?}");
                assert_eq!(reading.prose, " Bye.", "{text}: {reading:?}");
            }
        }
    }
}

#[test]
fn d08_a_short_name_glued_to_a_word_that_was_cut_is_another_call() {
    for head in ["gg(b=2", "gg( b = 2", "gg()", "f(b=2"] {
        let text = format!("<|tool_call_start|>[ff(a=\"x \"y{head}), hh(c=\"z\")]<|tool_call_end|> Bye.");
        let reading = read(&text, &Setup::names(&["ff", "gg", "f", "hh"]));
        assert!(!reading.calls.iter().any(|call| call.complete && call.name == "ff"), "{text}: {reading:?}");
    }
    // What only ends like a tool's name, and is no call.
    let text = "<|tool_call_start|>[ff(a=\"say \"if(x == 1) and elif(y)\" now\")]<|tool_call_end|> Bye.";
    let reading = read(text, &Setup::names(&["ff", "f", "if"]));
    assert!(reading.calls[0].name == "ff" && reading.calls[0].repaired, "{reading:?}");
}

#[test]
fn d08_a_call_whose_parenthesis_another_ones_closed_does_not_run() {
    for (open, close) in [("<|tool_call_start|>", "<|tool_call_end|>"), ("<|python_start|>", "<|python_end|>")] {
        let broken = format!("{open}[ff(a=\"gg(b=7, c=\"wake up\")]{close} Bye.");
        let reading = read(&broken, &Setup::auto());
        assert!(!reading.calls.iter().any(|call| call.complete), "{broken}: {reading:?}");
        // Code within a string is one value.
        let sound = format!("{open}[ff(a=\"gg(b=7, c='wake up'\")]{close} Bye.");
        let reading = read(&sound, &Setup::auto());
        assert_eq!(reading.called(), [("ff", json!({"a": "gg(b=7, c='wake up'"}))], "{sound}: {reading:?}");
        assert!(reading.calls[0].complete && !reading.calls[0].repaired, "{sound}: {reading:?}");
    }
}
