//! Lists of three calls of which the one in the middle is damaged: a token of it is missing, stands twice, or changed
//! places with the next. The others are read, nothing in a string runs, and no markup of what was read is prose.

use loopwright_base::message::ToolUse;
use loopwright_extract::{Policy, dialect_named, render_calls};
use serde_json::{Value, json};

use crate::reading::{Setup, read_twice};

/// Dialects that write calls as Python does or as JSON's loose cousin: what tells their tokens apart, and what stands
/// before a name.
const ROWS: [(&str, &[&str], &str); 5] = [
    ("lfm2", &["<|tool_call_start|>", "<|tool_call_end|>"], ""),
    ("llama-4", &["<|python_start|>", "<|python_end|>"], ""),
    ("olmo-3", &["<function_calls>", "</function_calls>"], ""),
    ("gemma-4", &["<|tool_call>", "<tool_call|>", "<|\"|>"], "call:"),
    ("functiongemma", &["<start_function_call>", "<end_function_call>", "<escape>"], "call:"),
];

/// What is no call of the model's, wherever it ends up.
const EVIL: &str = "x, evil(z=1), call:evil{z:1}\nevil(z=1)";

/// A string is one token, and so is a marker or a word.
fn tokens<'a>(text: &'a str, marks: &[&str]) -> Vec<&'a str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let mark = marks.iter().copied().filter(|mark| rest.starts_with(mark)).max_by_key(|mark| mark.len());
        let length = match mark {
            Some(mark) if mark == "<|\"|>" || mark == "<escape>" => {
                rest[mark.len()..].find(mark).map_or(rest.len(), |end| mark.len() + end + mark.len())
            }
            Some(mark) => mark.len(),
            None if first == '"' => {
                let mut escaped = false;
                let end = rest.char_indices().skip(1).find(|(_, c)| {
                    let closes = *c == '"' && !escaped;
                    escaped = *c == '\\' && !escaped;
                    closes
                });
                end.map_or(rest.len(), |(end, _)| end + 1)
            }
            None if word(first) => rest.find(|c: char| !word(c)).unwrap_or(rest.len()),
            None => first.len_utf8(),
        };
        let (token, behind) = rest.split_at(length);
        tokens.push(token);
        rest = behind;
    }
    tokens
}

#[test]
fn d21_a_damaged_call_costs_no_other() {
    let names = ["ff", "gg", "hh"];
    let values = [
        [
            json!({"a": "A1", "k": {"k": EVIL}}),
            json!({"e": "B 2", "f": EVIL, "n": [1, null, {"x": 2}]}),
            json!({"g": true}),
        ],
        [json!({}), json!({"s": EVIL, "t": {"u": [EVIL, -1.5]}}), json!({"s": EVIL})],
        [json!({"a": [[1], []]}), json!({"b": "it's"}), json!({"c": null, "d": EVIL})],
    ];
    let mut wrong = Vec::new();
    for (name, marks, before) in ROWS {
        let dialect = dialect_named(name).unwrap();
        for values in &values {
            let calls: Vec<ToolUse> = names
                .iter()
                .zip(values)
                .map(|(name, value)| ToolUse::from_text("", *name, value.to_string()))
                .collect();
            let text = render_calls(&calls, dialect).unwrap();
            let tokens = tokens(&text, marks);
            assert_eq!(tokens.concat(), text);
            // From the second call's name to the third's.
            let open = if before.is_empty() { "(" } else { "{" };
            let place = |name: &str| text.find(&format!("{before}{name}{open}")).unwrap() + before.len() + 2;
            let (from, to) = (place("gg"), place("hh") - before.len() - 2);
            let mut at = 0;
            for (index, token) in tokens.iter().enumerate() {
                at += token.len();
                // The name is another tool's if it is damaged; what stands before the third call is its own.
                let behind = text[at..to.max(at)].trim_matches([',', ' ', '\n']);
                if at <= from + open.len()
                    || at > to
                    || marks.contains(&behind)
                    || behind.is_empty()
                    || behind == marks.concat()
                {
                    continue;
                }
                for how in 0..3 {
                    let mut damaged = tokens.clone();
                    match how {
                        0 => drop(damaged.remove(index)),
                        1 => damaged.insert(index, token),
                        _ => damaged.swap(index, index + 1),
                    }
                    let damaged = damaged.concat() + " Bye.";
                    for tools in [Setup::names(&["ff", "gg", "hh", "evil"]), Setup::auto()] {
                        if dialect.bare && tools.tools.is_none() {
                            continue;
                        }
                        let setup = tools.with(|policy| *policy = Policy { bare_json: true, ..Policy::default() });
                        let reading = read_twice(damaged.as_bytes(), &setup);
                        let has = |at: usize| {
                            reading.calls.iter().any(|call| {
                                let value = serde_json::from_str::<Value>(&call.arguments).ok();
                                call.name == names[at]
                                    && call.complete != reading.in_doubt()
                                    && value.as_ref() == Some(&values[at])
                            })
                        };
                        let ran = reading.calls.iter().any(|call| call.name.contains("evil") && call.complete);
                        let marked = marks.iter().any(|mark| reading.prose.contains(mark));
                        if !has(0) || !has(2) || ran || marked {
                            wrong.push(format!("{name}: {damaged}\n  {:?}\n  {:?}", reading.prose, reading.calls));
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
}
