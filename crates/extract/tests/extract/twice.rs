//! What closes something and stands there twice is one (row E2 of the faults), in every dialect of elements.

use loopwright_base::json::Raw;
use loopwright_extract::{Dialect, Grammar, dialects, render_call};
use serde_json::{Value, json};

use crate::{
    quoted_values::raw,
    reading::{Setup, each, read},
};

fn elements() -> impl Iterator<Item = &'static Dialect> {
    dialects().iter().filter(|dialect| raw(dialect))
}

fn rendered(arguments: &Value, dialect: &Dialect) -> String {
    render_call("read", &Raw::of(arguments), None, dialect).unwrap()
}

/// What closes a value of this parameter.
fn closer(dialect: &Dialect, parameter: &str) -> String {
    match dialect.grammar {
        Grammar::Tags(tags) => tags.parameter_end.to_owned(),
        Grammar::Pairs { value, .. } => value.1.to_owned(),
        Grammar::Nested { prefix } => format!("{prefix}</{parameter}>"),
        _ => "<|close|>argument<|sep|>".to_owned(),
    }
}

fn setups() -> [Setup; 3] {
    let schema = json!({"type": "object", "properties": {
        "path": {"type": "string"}, "n": {"type": "integer"},
    }});
    [Setup::tools(&[("read", schema)]), Setup::names(&["read"]), Setup::auto()]
}

#[test]
fn e2_a_value_closed_twice_is_closed_once() {
    each(elements(), |dialect| {
        let arguments = json!({"path": "a.clj", "n": 3});
        let call = rendered(&arguments, dialect);
        for parameter in ["path", "n"] {
            let closer = closer(dialect, parameter);
            let value = if parameter == "path" { "a.clj" } else { "3" };
            let from = call.find(value).unwrap();
            let at = from + call[from..].find(&closer).unwrap() + closer.len();
            for between in ["", "\n", " ", "\n\n"] {
                for times in 1..=2 {
                    let again = format!("{between}{closer}").repeat(times);
                    let text = format!("Hi. {}{again}{} bye", &call[..at], &call[at..]);
                    for setup in setups() {
                        let reading = read(&text, &setup);
                        assert_eq!(reading.called(), [("read", arguments.clone())], "{text}: {reading:?}");
                        assert!(reading.calls[0].complete && reading.calls[0].repaired, "{text}: {reading:?}");
                        assert_eq!(reading.prose.replace("Hi. ", ""), " bye", "{text}: {reading:?}");
                    }
                    let strict = setups()[0].clone().with(|policy| policy.repair = false);
                    assert!(!read(&text, &strict).calls[0].complete, "{text}");
                }
            }
        }
    });
}

#[test]
fn e2_a_key_closed_twice_is_closed_once() {
    each(elements().filter(|dialect| matches!(dialect.grammar, Grammar::Pairs { .. })), |dialect| {
        let Grammar::Pairs { key, .. } = dialect.grammar else { return };
        let call = rendered(&json!({"path": "a.clj"}), dialect);
        let text = call.replacen(key.1, &format!("{}{}", key.1, key.1), 1);
        for setup in setups() {
            let reading = read(&text, &setup);
            assert_eq!(reading.called(), [("read", json!({"path": "a.clj"}))], "{text}: {reading:?}");
            assert!(reading.calls[0].complete && reading.calls[0].repaired, "{text}: {reading:?}");
        }
    });
}

#[test]
fn e2_a_call_closed_twice_is_closed_once() {
    each(dialects(), |dialect| {
        let call = rendered(&json!({"path": "a.clj"}), dialect);
        let Some(closer) = dialect.close.iter().find(|close| !close.is_empty() && call.contains(**close)) else {
            return;
        };
        for between in ["", "\n"] {
            let text = format!("Hi. {} bye", call.replacen(closer, &format!("{closer}{between}{closer}"), 1));
            let reading = read(&text, &Setup::names(&["read"]));
            assert_eq!(reading.called(), [("read", json!({"path": "a.clj"}))], "{text}: {reading:?}");
            assert!(reading.calls[0].complete, "{text}: {reading:?}");
            assert_eq!(reading.prose, "Hi.  bye", "{text}: {reading:?}");
        }
    });
}

#[test]
fn e2_what_is_rendered_is_read_back_where_a_value_ends_with_a_closer() {
    each(elements(), |dialect| {
        for end in ["path", "n"].map(|parameter| closer(dialect, parameter)) {
            for value in [format!("x{end}"), format!("x\n{end}\n"), end.clone(), format!("{end}{end}")] {
                let arguments = json!({"path": value});
                let reading = read(&rendered(&arguments, dialect), &setups()[0]);
                assert_eq!(reading.called(), [("read", arguments.clone())], "{reading:?}");
                assert!(reading.calls[0].complete && !reading.calls[0].repaired, "{reading:?}");
            }
        }
    });
}
