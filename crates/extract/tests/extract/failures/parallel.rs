//! A call whose closer was forgotten doesn't take the next one for its own text.

use loopwright_extract::ProblemKind;

use crate::reading::{Setup, read};

/// A call without its closer, and another one behind it.
const FORGOTTEN: &[&str] = &[
    "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>",
    "<longcat_tool_call>f\n<longcat_arg_key>a</longcat_arg_key>\n<longcat_arg_value>1</longcat_arg_value>\n<longcat_tool_call>bash\n<longcat_arg_key>command</longcat_arg_key>\n<longcat_arg_value>ls</longcat_arg_value>\n</longcat_tool_call>",
    "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
    "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
    "<function_calls>\n<invoke name=\"f\">\n<parameter name=\"a\">1</parameter>\n<invoke name=\"bash\">\n<parameter name=\"command\">ls</parameter>\n</invoke>\n</function_calls>",
    "<function name=\"f\"><param name=\"a\">1</param>\n<function name=\"bash\"><param name=\"command\">ls</param></function>",
];

#[test]
fn d08_a_forgotten_closer_between_calls_leaves_two() {
    for text in FORGOTTEN {
        for setup in [Setup::auto(), Setup::names(&["f", "bash"])] {
            let reading = read(text, &setup);
            let [first, second] = reading.calls.as_slice() else { panic!("{text}: {reading:?}") };
            assert_eq!((first.name.as_str(), second.name.as_str()), ("f", "bash"), "{text}");
            assert!(first.arguments == r#"{"a":1}"# || first.arguments == r#"{"a":"1"}"#, "{text}: {first:?}");
            assert_eq!(second.arguments, r#"{"command":"ls"}"#, "{text}");
            assert!(first.complete && first.repaired && reading.has(ProblemKind::Repaired), "{text}: {reading:?}");
            assert!(second.complete && !second.repaired, "{text}: {reading:?}");
            let strict = read(text, &setup.with(|policy| policy.repair = false));
            assert!(strict.calls.iter().all(|call| call.name != "f" || !call.complete), "{text}: {strict:?}");
        }
    }
}

#[test]
fn e5_words_and_another_call_behind_a_value_run_neither() {
    for text in FORGOTTEN {
        let closer = ["</arg_value>\n", "</longcat_arg_value>\n", "</parameter>\n", "</param>\n"];
        let closer = closer.iter().find(|closer| text.contains(**closer)).unwrap();
        let text = text.replacen(closer, &format!("{closer}Now.\n"), 1);
        let reading = read(&text, &Setup::names(&["f", "bash"]));
        // The value's closer may be one that it talks of, and the second call one that it quotes.
        assert_eq!(reading.calls[0].name, "f", "{text}: {reading:?}");
        assert!(reading.calls.iter().all(|call| !call.complete), "{text}: {reading:?}");
    }
}

#[test]
fn d08_what_opens_no_declared_tool_is_part_of_the_value() {
    for text in FORGOTTEN {
        let reading = read(text, &Setup::names(&["f"]));
        let [call] = reading.calls.as_slice() else { panic!("{text}: {reading:?}") };
        assert!(call.name == "f" && call.arguments.contains("bash"), "{text}: {reading:?}");
    }
}
