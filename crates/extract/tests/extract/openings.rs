//! Where reasoning opens (row E1 of the faults): where a line begins, or behind markup; in the middle of a line the
//! text talks of it.

use loopwright_extract::{Reasoning, reasoning_markups};

use crate::reading::{Setup, read};

fn opener(row: &Reasoning) -> &'static str {
    row.open[0].trim_end()
}

#[test]
fn e1_reasoning_does_not_open_in_the_middle_of_a_line() {
    for row in reasoning_markups() {
        let (open, close) = (opener(row), row.close[0]);
        for text in [
            format!("To stop it, remove {open} from the template. Then it answers.\n\nDone."),
            format!("Remove {open}.\nThe rest stays."),
            format!("It ends with {open}\nso the model thinks first."),
            format!("Models write {open} and {close} around it."),
            format!("- the marker {open} opens it\n- the rest is prose"),
            format!("the{open}marker"),
            format!("# {open}\ntext"),
        ] {
            let reading = read(&text, &Setup::auto());
            assert_eq!((&*reading.prose, &*reading.reasoning), (&*text, ""), "{}: {reading:?}", row.name);
        }
    }
}

#[test]
fn e1_reasoning_opens_where_a_line_begins_or_behind_markup() {
    for row in reasoning_markups() {
        let (open, close) = (row.open[0], row.close[0]);
        let call = "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>";
        for (before, prose) in [
            (String::new(), ""),
            ("  ".to_owned(), "  "),
            ("Let me see.\n".to_owned(), "Let me see.\n"),
            (format!("{open}one{close}"), ""),
            (format!("{open}one{close} "), " "),
            (format!("Hi. {call}"), "Hi. "),
            (format!("Hi. {call} "), "Hi.  "),
        ] {
            let text = format!("{before}{open}hm{close}So.");
            let reading = read(&text, &Setup::auto());
            assert_eq!(reading.prose, format!("{prose}So."), "{}: {text} {reading:?}", row.name);
            assert!(reading.reasoning.ends_with("hm"), "{}: {text} {reading:?}", row.name);
        }
    }
}

#[test]
fn e1_a_message_behind_the_end_of_another_may_be_reasoning() {
    for end in ["<|end|>", "<|return|>"] {
        let text = format!("Hello{end}<|start|>assistant<|channel|>analysis<|message|>hm<|end|>So.");
        assert_eq!(read(&text, &Setup::auto()).reasoning, "hm");
    }
}
