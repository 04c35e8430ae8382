//! A call quoted in a value of another one never runs (row E5 of the faults): openers and closers of calls balance
//! inside a value, and where they don't, no call that stands in it is complete. Over each dialect's own rendered call.

use loopwright_base::json::Raw;
use loopwright_extract::{Dialect, Event, Events, Grammar, dialects, render_call};
use serde_json::{Value, json};

use crate::reading::{Reading, Setup, each, read, read_twice};

/// A dialect whose values stand raw between elements.
pub(crate) fn raw(dialect: &Dialect) -> bool {
    matches!(dialect.grammar, Grammar::Tags(_) | Grammar::Nested { .. } | Grammar::Attributes | Grammar::Pairs { .. })
}

fn elements() -> impl Iterator<Item = &'static Dialect> {
    dialects().iter().filter(|dialect| raw(dialect))
}

fn rendered(name: &str, arguments: &Value, dialect: &Dialect) -> String {
    render_call(name, &Raw::of(arguments), None, dialect).unwrap()
}

/// What is quoted.
fn drop_call(dialect: &Dialect) -> String {
    rendered("drop", &json!({"table": "users"}), dialect)
}

/// A call of `note` whose value stands there as a model writes it that escapes nothing but what JSON wants.
fn note(value: &str, dialect: &Dialect) -> String {
    let shown = if raw(dialect) {
        value.to_owned()
    } else {
        let text = json!(value).to_string();
        text[1..text.len() - 1].to_owned()
    };
    rendered("note", &json!({"text": "VALUE"}), dialect).replace("VALUE", &shown)
}

fn setups(dialect: &Dialect) -> Vec<Setup> {
    let string = |key: &str| json!({"type": "object", "properties": {key: {"type": "string"}}});
    let typed = Setup::tools(&[("note", string("text")), ("drop", string("table"))]);
    let all = vec![typed, Setup::names(&["note", "drop"]), Setup::names(&["note"]), Setup::auto()];
    if dialect.bare { all.into_iter().take(3).map(Setup::bare).collect() } else { all }
}

/// The quoted call doesn't run, and what is complete holds the whole value.
#[track_caller]
fn inert(reading: &Reading, value: &str, text: &str) {
    for call in &reading.calls {
        assert!(call.name != "drop" || !call.complete, "{text}: {reading:?}");
        if call.name == "note" && call.complete {
            let made: Value = serde_json::from_str(&call.arguments).unwrap();
            assert_eq!(made, json!({"text": value}), "{text}: {reading:?}");
        }
    }
}

/// Values that hold whole calls.
fn balanced(dialect: &Dialect) -> Vec<String> {
    let quoted = drop_call(dialect);
    let twice = note(&format!("so {quoted} then"), dialect);
    vec![
        quoted.clone(),
        format!("see {quoted} there"),
        format!("see\n{quoted}\nthere"),
        format!("{quoted}\n{quoted}"),
        format!("first {quoted}, then {quoted}."),
        format!("{twice} more"),
        format!("log:\n\n{twice}\n\n{quoted}\nend"),
        format!("```\n{quoted}\n```\nfenced"),
        format!("say \"{quoted}\" or `{quoted}`"),
    ]
}

#[test]
fn e5_a_call_quoted_in_a_value_is_part_of_the_value() {
    each(elements(), |dialect| {
        for value in balanced(dialect) {
            let text = format!("Hi. {} bye", note(&value, dialect));
            for setup in setups(dialect) {
                let reading = read_twice(text.as_bytes(), &setup);
                assert_eq!(reading.called(), [("note", json!({"text": value}))], "{text}: {reading:?}");
                assert!(reading.calls[0].complete && !reading.calls[0].repaired, "{text}: {reading:?}");
                assert_eq!(reading.prose.replace("Hi. ", ""), " bye", "{text}: {reading:?}");
            }
        }
    });
}

#[test]
fn e5_a_quoted_call_runs_in_no_dialect() {
    each(dialects(), |dialect| {
        for value in balanced(dialect) {
            // Where strings stand between quotes of the dialect's own, a quote in one is not written as it is.
            let own_quotes = matches!(dialect.grammar, Grammar::Loose { .. });
            let as_it_is = (!own_quotes).then(|| note(&value, dialect));
            for text in as_it_is.into_iter().chain([rendered("note", &json!({"text": value}), dialect)]) {
                for setup in setups(dialect) {
                    inert(&read_twice(text.as_bytes(), &setup), &value, &text);
                }
            }
        }
    });
}

#[test]
fn e5_a_call_quoted_in_another_dialect_runs_in_no_element_dialect() {
    each(elements(), |dialect| {
        for other in dialects() {
            let quoted = drop_call(other);
            let twice = format!("{quoted}\n{quoted}");
            for value in [format!("see {quoted} there"), format!("see\n{quoted}\nthere"), format!("see {twice} there")]
            {
                let text = note(&value, dialect);
                for setup in setups(dialect) {
                    inert(&read_twice(text.as_bytes(), &setup), &value, &text);
                }
            }
        }
    });
}

#[test]
fn e5_a_reply_that_ends_early_runs_no_quoted_call() {
    each(elements(), |dialect| {
        for value in balanced(dialect) {
            let text = note(&value, dialect);
            for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
                for setup in setups(dialect).into_iter().take(2) {
                    inert(&read_twice(&text.as_bytes()[..end], &setup), &value, &text[..end]);
                }
            }
        }
    });
}

#[test]
fn e5_a_call_quoted_in_part_runs_nothing() {
    each(elements(), |dialect| {
        let quoted = drop_call(dialect);
        for at in (1..quoted.len()).filter(|at| quoted.is_char_boundary(*at)) {
            let (head, tail) = quoted.split_at(at);
            for value in [format!("see {head} there"), format!("{head}\n{quoted} end")] {
                let text = format!("{} bye", note(&value, dialect));
                for setup in setups(dialect).into_iter().take(2) {
                    inert(&read_twice(text.as_bytes(), &setup), &value, &text);
                }
            }
            for value in [format!("see {tail} there"), format!("{tail}\n")] {
                let text = format!("{} bye", note(&value, dialect));
                for setup in setups(dialect).into_iter().take(2) {
                    let reading = read_twice(text.as_bytes(), &setup);
                    let runs = reading.calls.iter().any(|call| call.name == "drop" && call.complete);
                    assert!(!runs, "{text}: {reading:?}");
                }
            }
        }
    });
}

/// The markers, words and spaces of a rendered call.
fn parts(text: &str) -> Vec<&str> {
    let ends = |before: char, next: char| {
        matches!(before, '>' | '\n' | ' ')
            || matches!(next, '<' | ']' | '\n')
            || before.is_alphanumeric() && next == ' '
    };
    let mut found = Vec::new();
    let mut from = 0;
    for ((_, before), (at, next)) in text.char_indices().zip(text.char_indices().skip(1)) {
        if ends(before, next) {
            found.push(&text[from..at]);
            from = at;
        }
    }
    found.push(&text[from..]);
    found
}

#[test]
fn e5_any_pieces_in_a_row_of_a_quoted_call_are_the_whole_value_or_nothing_is_complete() {
    each(elements(), |dialect| {
        let quoted = drop_call(dialect);
        let parts = parts(&quoted);
        let setup = setups(dialect).remove(0);
        for from in 0..parts.len() {
            for to in from + 1..=parts.len() {
                let piece = parts[from..to].concat();
                for value in [piece.clone(), format!("see {piece}"), format!("{piece} ok"), format!("a\n{piece}\nb")] {
                    let text = note(&value, dialect);
                    let reading = crate::reading::pieces([text.as_bytes()], &setup);
                    for call in reading.calls.iter().filter(|call| call.complete) {
                        let made: Value = serde_json::from_str(&call.arguments).unwrap();
                        let made = (call.name.as_str(), made["text"].as_str().map(str::trim));
                        // A value that ends with its own closer can't be told from one that is closed twice.
                        let closed_twice =
                            value.trim().strip_suffix(&own_closer(dialect)).filter(|_| call.repaired).map(str::trim);
                        let whole = made == ("note", Some(value.trim()));
                        assert!(whole || made == ("note", closed_twice), "{text}: {reading:?}");
                    }
                }
            }
        }
    });
}

#[test]
fn e5_a_quoted_call_is_the_same_at_every_cut() {
    each(elements(), |dialect| {
        for value in balanced(dialect).into_iter().take(3) {
            read(&note(&value, dialect), &setups(dialect)[0]);
        }
    });
}

#[test]
fn e5_calls_behind_one_that_quotes_are_read() {
    each(elements(), |dialect| {
        let value = format!("see {} there", drop_call(dialect));
        let text = format!("{}\n{}", note(&value, dialect), rendered("drop", &json!({"table": "logs"}), dialect));
        let reading = read_twice(text.as_bytes(), &setups(dialect)[0]);
        let all = [("note", json!({"text": value})), ("drop", json!({"table": "logs"}))];
        assert_eq!(reading.called(), all, "{text}: {reading:?}");
        assert!(reading.calls.iter().all(|call| call.complete), "{text}: {reading:?}");
    });
}

/// Names that no tool has, and that hold markup.
const ODD_NAMES: [&str; 6] = ["<name>", "drop<!--x-->", "<a><b>", "drop=\"<name>\"", "name-of-it<br>", "&lt;name&gt;"];

#[test]
fn e5_a_quoted_call_is_part_of_the_value_whatever_name_it_has() {
    each(elements(), |dialect| {
        for other in elements() {
            let long = "d".repeat(300);
            for name in ODD_NAMES.into_iter().chain(["the name of it", long.as_str()]) {
                let quoted = drop_call(other).replace("drop", name);
                let own = other.name == dialect.name;
                for value in [format!("see {quoted} there"), format!("see\n{quoted}\n{quoted}\nthere")] {
                    let text = format!("{} bye", note(&value, dialect));
                    for setup in setups(dialect).into_iter().take(if own { 4 } else { 1 }) {
                        let reading = read_twice(text.as_bytes(), &setup);
                        inert(&reading, &value, &text);
                        assert!(!own || reading.calls[0].complete, "{text}: {reading:?}");
                    }
                }
            }
        }
    });
}

#[test]
fn e5_the_opening_of_a_call_of_any_name_that_nothing_closes_runs_nothing() {
    each(elements(), |dialect| {
        let quoted = drop_call(dialect);
        let opening = quoted[..quoted.find("users").unwrap()].replace("drop", "<name>");
        for value in [format!("see {opening}users there"), format!("{opening}users {quoted} end")] {
            let text = note(&value, dialect);
            for setup in setups(dialect) {
                inert(&read_twice(text.as_bytes(), &setup), &value, &text);
            }
        }
    });
}

/// The closing half of a call stands in the value: nothing tells it from the outer one's, but that more closers follow
/// in the prose.
#[test]
fn e5_closers_in_a_value_that_nothing_opened_there_complete_nothing() {
    each(elements(), |dialect| {
        for other in elements() {
            let quoted = drop_call(other);
            let closers = quoted[quoted.find("users").unwrap() + 5..].trim_start().to_owned();
            let odd = quoted.replace("drop", "<name>");
            for value in [
                format!("see {closers} there"),
                format!("see\n{closers}\nthere"),
                format!("see {quoted} {closers} there"),
                format!("see {closers} {quoted} there"),
                format!("see {odd} {closers} {odd} {closers} there"),
                format!("see {closers} x {closers} y {quoted} there"),
            ] {
                let text = format!("{} bye", note(&value, dialect));
                for setup in setups(dialect).into_iter().take(2) {
                    let reading = read_twice(text.as_bytes(), &setup);
                    inert(&reading, &value, &text);
                    let told = reading.calls.iter().any(|call| call.complete) || !reading.problems.is_empty();
                    assert!(told, "{text}: {reading:?}");
                }
            }
        }
    });
}

#[test]
fn e5_a_value_shown_in_the_prose_behind_a_call_takes_nothing_back() {
    each(elements(), |dialect| {
        let (opener, closer) = (own_opener(dialect), own_closer(dialect));
        for prose in [format!("It is {opener}x{closer}."), format!("{opener}x{closer}\n{opener}y{closer}")] {
            let text = format!("{}\n\n{prose}", note("plain", dialect));
            let reading = read_twice(text.as_bytes(), &setups(dialect)[0]);
            assert_eq!(reading.called(), [("note", json!({"text": "plain"}))], "{text}: {reading:?}");
            assert!(reading.calls[0].complete, "{text}: {reading:?}");
        }
    });
}

/// What opens a value of `text`.
fn own_opener(dialect: &Dialect) -> String {
    match dialect.grammar {
        Grammar::Tags(tags) => [tags.parameter.0, "text", tags.parameter.1].concat(),
        Grammar::Pairs { value, .. } => value.0.to_owned(),
        Grammar::Nested { prefix } => format!("{prefix}<text>"),
        _ => "<|open|>argument key=\"text\"<|sep|>".to_owned(),
    }
}

/// What closes a value of `text`.
fn own_closer(dialect: &Dialect) -> String {
    match dialect.grammar {
        Grammar::Tags(tags) => tags.parameter_end.to_owned(),
        Grammar::Pairs { value, .. } => value.1.to_owned(),
        Grammar::Nested { prefix } => format!("{prefix}</text>"),
        _ => "<|close|>argument<|sep|>".to_owned(),
    }
}

#[test]
fn e5_a_closer_right_before_a_quoted_call_runs_nothing() {
    each(elements(), |dialect| {
        let (closer, quoted) = (own_closer(dialect), drop_call(dialect));
        let broken = quoted.replace("users", &format!("users{closer}"));
        let torn = quoted.replacen(&own_closer(dialect).replace("text", "table"), "", 1);
        for value in [
            format!("see {closer}{quoted} there"),
            format!("see\n{closer}\n{quoted}\nthere"),
            format!("{closer}{quoted}"),
            format!("{closer}{quoted}{quoted} end"),
            format!("{closer}{quoted} or {closer}{quoted} end"),
            format!("a {quoted} b {closer} {quoted} end"),
            format!("a {closer}{} end", note(&quoted, dialect)),
            format!("a {closer}{} end", note(&format!("b {closer}{quoted} c"), dialect)),
            format!("a {closer}{broken} end"),
            format!("a {closer}{torn} end"),
            format!("a {closer}{quoted}\n\n{} end", "long words of no matter. ".repeat(80)),
        ] {
            let text = format!("{} bye", note(&value, dialect));
            for setup in setups(dialect) {
                inert(&read_twice(text.as_bytes(), &setup), &value, &text);
            }
        }
    });
}

#[test]
fn e5_behind_a_value_that_lacks_its_closer_a_value_shown_in_prose_takes_the_calls_back() {
    each(elements().filter(|dialect| matches!(dialect.grammar, Grammar::Pairs { .. })), |dialect| {
        let whole = note("plain", dialect);
        let (opener, closer) = (own_opener(dialect), own_closer(dialect));
        let text = format!("{} So {opener}x{closer}.", whole.replacen(&closer, "", 1));
        let reading = read_twice(text.as_bytes(), &setups(dialect)[0]);
        assert!(reading.calls.iter().all(|call| !call.complete), "{text}: {reading:?}");
    });
}

/// What closes a value of `text`, its call, and what stands around that, one marker after the other.
fn closers(dialect: &Dialect) -> Vec<String> {
    let text = note("VALUE", dialect);
    let tail = text.split_once("VALUE").unwrap().1.replace("<|sep|>", "|sep|");
    let closers = tail.split_inclusive('>').map(|closer| closer.trim().replace("|sep|", "<|sep|>")).collect::<Vec<_>>();
    // Nested markers end with a bracket of their own, and those of Kimi with a separator.
    match dialect.grammar {
        Grammar::Nested { .. } => closers.chunks(2).map(<[String]>::concat).collect(),
        _ => closers,
    }
}

#[test]
fn e5_a_quoted_call_behind_some_closers_of_the_outer_one_runs_nothing() {
    each(elements().filter(|dialect| matches!(dialect.grammar, Grammar::Tags(_))), |dialect| {
        let (closers, quoted) = (closers(dialect), drop_call(dialect));
        for from in 0..closers.len() {
            // All of them close the region.
            let ends = from + 1..=closers.len();
            for to in ends.filter(|to| to - from < closers.len() && (from > 0 || *to < 3)) {
                let some = closers[from..to].concat();
                for value in [format!("see {some}{quoted} there"), format!("see\n{some}\n{quoted}\nthere")] {
                    let text = format!("{} bye", note(&value, dialect));
                    for setup in setups(dialect) {
                        inert(&read_twice(text.as_bytes(), &setup), &value, &text);
                    }
                }
            }
        }
    });
}

#[test]
fn e5_calls_that_lack_their_closers_are_read_however_many() {
    // In these two what opens the next call is no end of the one at hand.
    let reads =
        |dialect: &&Dialect| dialect.name != "muse-routed" && !matches!(dialect.grammar, Grammar::Nested { .. });
    each(elements().filter(reads), |dialect| {
        let closer = own_closer(dialect).replace("text", "table");
        let whole = |at: usize| rendered("drop", &json!({"table": format!("t{at}")}), dialect);
        let cut = |at: usize| {
            let text = whole(at);
            text[..text.find(&closer).unwrap() + closer.len()].to_owned()
        };
        for count in [2, 3, 200] {
            let text = (1..count).map(|at| cut(at) + "\n").collect::<String>() + &whole(count) + " bye";
            for setup in setups(dialect).into_iter().take(2).map(|setup| setup.with(|policy| policy.max_calls = 1000)) {
                let mut parser = setup.parser();
                let (mut events, mut calls) = (Events::new(), Vec::new());
                for piece in text.as_bytes().chunks(5) {
                    parser.feed(piece, &mut events);
                }
                parser.finish(&mut events);
                for event in events.iter() {
                    if let Event::CallFinished { call, .. } = event {
                        calls.push((call.arguments.clone(), call.complete));
                    }
                }
                let all = (1..=count).map(|at| (format!("{{\"table\":\"t{at}\"}}"), true)).collect::<Vec<_>>();
                assert_eq!(calls, all, "{text}");
                assert!(parser.touched() <= 6 * text.len() as u64 + 2_000, "{}: {}", text.len(), parser.touched());
            }
        }
    });
}

/// Half calls thrown together, from a seed: what opens, closes and names, in any order.
fn halves(quoted: &str, seed: &mut u64) -> String {
    let parts = parts(quoted);
    let mut draw = |most: usize| {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(*seed >> 33).unwrap() % most
    };
    let count = 1 + draw(12);
    (0..count)
        .map(|_| match draw(5) {
            0 => quoted,
            1 => " so ",
            _ => parts[draw(parts.len())],
        })
        .collect()
}

#[test]
fn e5_where_markers_thrown_together_do_not_balance_nothing_is_complete() {
    each(elements(), |dialect| {
        let setup = setups(dialect).remove(0);
        let mut seed =
            dialect.name.bytes().fold(20_261_126_u64, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)));
        for other in elements() {
            let quoted = drop_call(if seed % 3 == 0 { other } else { dialect });
            for _ in 0..60 {
                let value = halves(&quoted, &mut seed);
                let text = note(&value, dialect);
                let reading = crate::reading::pieces([text.as_bytes()], &setup);
                let broken = reading.calls.iter().any(|call| !call.complete);
                let inner = reading.calls.iter().any(|call| call.complete && call.name == "drop");
                assert!(!(broken && inner), "{text}: {reading:?}");
            }
        }
    });
}

/// Marks that open and close strings alike: a call quoted in a quoted call stands outside of strings.
#[test]
fn e5_a_call_quoted_in_a_quoted_call_between_own_quotes_runs_nothing() {
    each(dialects().iter().filter(|dialect| matches!(dialect.grammar, Grammar::Loose { .. })), |dialect| {
        let mut quoted = drop_call(dialect);
        for depth in 1..5 {
            let as_it_is = rendered("note", &json!({"text": "VALUE"}), dialect).replace("VALUE", &quoted);
            for text in [as_it_is.clone(), format!("{as_it_is}\n{as_it_is}")] {
                for setup in setups(dialect) {
                    let reading = read_twice(text.as_bytes(), &setup);
                    assert!(!reading.calls.iter().any(|call| call.name == "drop" && call.complete), "{depth} {text}");
                }
            }
            quoted = rendered("drop", &json!({"table": "VALUE"}), dialect).replace("VALUE", &quoted);
        }
    });
}

/// What opens a call, and what closes one, without what stands around it.
fn call_ends(dialect: &Dialect) -> (String, String) {
    match dialect.grammar {
        Grammar::Tags(tags) => ([tags.call.0, "drop", tags.call.1].concat(), tags.call_end.to_owned()),
        _ => (dialect.open[0].to_owned(), dialect.close[0].to_owned()),
    }
}

#[test]
fn e5_behind_a_value_that_opens_or_closes_more_than_it_closes_or_opens_no_call_is_complete() {
    each(elements(), |dialect| {
        let (open, close) = call_ends(dialect);
        for talk in [
            format!("so {} and so", open.trim()),
            format!("so {} and so", close.trim()),
            format!("{close} so {open}"),
            format!("see {} there", own_opener(dialect)),
        ] {
            let text = note(&talk, dialect);
            for setup in setups(dialect).into_iter().take(2) {
                let reading = read_twice(text.as_bytes(), &setup);
                inert(&reading, &talk, &text);
                let two = format!("{text}\n{}", drop_call(dialect));
                let reading = read_twice(two.as_bytes(), &setup);
                assert!(reading.calls.iter().all(|call| !call.complete), "{two}: {reading:?}");
            }
        }
    });
}

#[test]
fn e5_a_value_of_another_markup_before_another_call_is_whole() {
    each(elements(), |dialect| {
        for value in [
            "<bean><parameter name=\"a\" value=\"b\"/><parameter name=\"c\">d</parameter></bean>",
            "<html><body><p>Hi <b>you</b></p><br><img src='x'></body></html>",
            "fn f(v: Vec<String>) -> Result<(), Box<dyn Error>> { a < b && c > d }",
            "OPEN = \"<tool_call>\"\nCLOSE = \"</tool_call>\"",
        ] {
            let text = format!("{}\n{}", note(value, dialect), drop_call(dialect));
            let reading = read_twice(text.as_bytes(), &setups(dialect)[0]);
            let all = [("note", json!({"text": value})), ("drop", json!({"table": "users"}))];
            assert_eq!(reading.called(), all, "{text}: {reading:?}");
            assert!(reading.calls.iter().all(|call| call.complete), "{text}: {reading:?}");
        }
    });
}

#[test]
fn e5_what_closes_a_call_in_words_behind_a_call_completes_nothing() {
    each(elements(), |dialect| {
        let (_, close) = call_ends(dialect);
        let whole = drop_call(dialect);
        let setup = &setups(dialect)[0];
        let reading = read_twice(format!("{whole} so {close} it ends").as_bytes(), setup);
        assert!(reading.calls.iter().all(|call| !call.complete), "{whole}: {reading:?}");
        // One of nothing but its own name stays what it was, and words without markers take nothing back.
        let reading = read_twice(format!("{whole}\n\nThat is all.").as_bytes(), setup);
        assert!(reading.calls.iter().all(|call| call.complete) && reading.calls.len() == 1, "{whole}: {reading:?}");
    });
}
