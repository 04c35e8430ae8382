//! Properties over random bytes and random mixtures of markers, fragments and calls.

use loopwright_base::message::ToolUse;
use loopwright_extract::{
    Policy, Quoted, UnknownTool, dialects, frames, inert_regions, reasoning_markups, render_calls, turn_ends,
};
use proptest::prelude::*;

use crate::support::{parse, sound, tools};

/// Every marker of the table.
fn markers() -> Vec<&'static str> {
    let mut all = Vec::new();
    for dialect in dialects() {
        all.extend(dialect.open.iter().chain(dialect.close).copied());
        if let Some((open, close)) = dialect.section {
            all.extend(open.iter().chain(close).copied());
        }
    }
    for row in reasoning_markups() {
        all.extend(row.open.iter().chain(row.close).copied());
    }
    for row in inert_regions() {
        all.extend(row.open.iter().chain(row.close).copied());
    }
    for row in frames() {
        all.extend(row.open.iter().chain(row.close).copied());
    }
    all.extend(turn_ends());
    all.retain(|marker| !marker.is_empty());
    all.sort_unstable();
    all.dedup();
    all
}

const PIECES: &[&str] = &[
    "\n",
    "\n\n",
    " ",
    "`",
    "``",
    "```",
    "~~~",
    "\n```\n",
    "> ",
    "- ",
    "1. ",
    "    ",
    "a",
    "word ",
    "\u{e9}",
    "\u{1f680}",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    ":",
    ",",
    "=",
    "<",
    ">",
    "/",
    "name",
    "arguments",
    "{\"name\":\"look\",\"arguments\":{}}",
    "{\"name\":\"look\",\"arguments\":{\"at\":\"<tool_call>`\"}}",
    "{\"name\": \"rm\", \"arguments\": {\"x\": [1, {\"y\": null}]}}",
    "[{\"name\":\"look\",\"arguments\":{}},{\"name\":\"rm\",\"arguments\":{\"a\":1}}]",
    "<function=look>",
    "</function>",
    "<parameter=at>",
    "</parameter>",
    "<invoke name=\"look\">",
    "<parameter name=\"at\">",
    "</invoke>",
    "look",
    "rm",
    "[look(at=\"x\")]",
    "[look(at='x'), rm(y=[1,{2:3}])]",
    "look(at=1)",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "functions.look:0",
    "to=functions.look",
    "call:look{",
    "json",
    "<|constrain|>json<|message|>",
    "<tool_call>\n<function=look>\n<parameter=at>\nsea\n</parameter>\n</function>\n</tool_call>",
    "<tool_call>\n{\"name\": \"look\", \"arguments\": {\"at\": \"sea\"}}\n</tool_call>",
    "<tool_cal",
    "<|",
    "</",
    "<\u{ff5c}",
];

const BROKEN: &[&[u8]] = &[b"\xff", b"\xe2\x82", b"\xf0\x9f", b"\xc3", b"\x80\x80", b"\0", b"\xed\xa0\x80"];

fn input() -> impl Strategy<Value = Vec<u8>> {
    let marker = prop::sample::select(markers()).prop_map(|text| text.as_bytes().to_vec());
    let piece = prop::sample::select(PIECES).prop_map(|text| text.as_bytes().to_vec());
    let broken = prop::sample::select(BROKEN).prop_map(<[u8]>::to_vec);
    let noise = prop::collection::vec(any::<u8>(), 0..6);
    let one = prop_oneof![6 => marker, 8 => piece, 1 => broken, 1 => noise];
    prop::collection::vec(one, 0..24).prop_map(|pieces| pieces.concat())
}

fn policy() -> impl Strategy<Value = Policy> {
    (any::<[bool; 6]>(), prop::sample::select(&[1, 3, 128][..]), prop::sample::select(&[80, 1000, 1 << 24][..]))
        .prop_map(|([quoted, reasoning, unknown, bare, starts, repair], max_calls, max_argument_bytes)| Policy {
            quoted_calls: if quoted { Quoted::Run } else { Quoted::Ignore },
            reasoning_calls: reasoning,
            unknown_tools: if unknown { UnknownTool::Call } else { UnknownTool::Text },
            bare_json: bare,
            starts_in_reasoning: starts,
            repair,
            max_calls,
            max_argument_bytes,
            max_depth: 4,
        })
}

fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases.max(2000), failure_persistence: None, ..usual }
}

/// Two calls of each dialect with one byte put in place of another, or between two: read to the end, however they are
/// cut.
#[test]
fn d17_any_byte_anywhere_is_read_to_its_end() {
    let known = tools(&["look"]);
    let uses = [("look", r#"{"at":"sea"}"#), ("look", r#"{"at":[1,{"b":"x"}]}"#)]
        .map(|(name, arguments)| ToolUse::from_text("", name, arguments.to_owned()));
    for dialect in dialects() {
        let text = render_calls(&uses, dialect).expect("a call that every dialect can write");
        for at in 0..text.len() {
            for (which, byte) in [0, b'\n', b'"', b'`', b'<', b'[', b'}', b',', 0xff].into_iter().enumerate() {
                let taken = (at + which) % 2;
                let input = [&text.as_bytes()[..at], &[byte], &text.as_bytes()[at + taken..]].concat();
                let (whole, _) = parse([&input[..]], Some(&known), &Policy::default());
                sound(&input, &whole);
                let (cut, _) = parse(input.chunks(1), Some(&known), &Policy::default());
                assert_eq!(cut, whole, "{}: {}", dialect.name, String::from_utf8_lossy(&input));
            }
        }
    }
}

/// How much of a body was shown in vain goes by what it said, and that must not depend on the cuts.
/// Texts that were read otherwise at some of their cuts: bodies shown in vain, what is left of arguments, and
/// openings with what may open another in them.
const FOUND: [&[u8]; 4] = [
    b"[{\" \"<]ma\0\0\0\0\0\0\0\0x[ax[>[<inv<atem:invoke name=\"e name=l\xff<start>[<invoke name=l\xff<start_functmax[>[<invokep\xefn}",
    b"<|tool_call_begin|>>\n[<|tool_call\n[[",
    b"<atem:invoke name=66666\xfb<|start|>y",
    b"<tool_call><function=look><parameter=a<|start|>y</parameter></function></tool_call>",
];

#[test]
fn d17_what_was_found_to_differ_is_the_same_at_every_cut() {
    let known = tools(&["look"]);
    for unknown_tools in [UnknownTool::Text, UnknownTool::Call] {
        let policy = Policy { bare_json: true, unknown_tools, ..Policy::default() };
        for input in FOUND {
            let (whole, _) = parse([input], Some(&known), &policy);
            sound(input, &whole);
            for at in 1..input.len() {
                let (cut, _) = parse([&input[..at], &input[at..]], Some(&known), &policy);
                assert_eq!(cut, whole, "cut at {at}: {}", String::from_utf8_lossy(input));
            }
        }
    }
}

/// Of these calls the last is one too many, and breaks behind a string that the reader of JSON is patient with. How
/// much of it was shown in vain once depended on the cuts, and with it whether the echoed result behind it was read as
/// one.
const ONE_TOO_MANY: &[u8] = b"{<tool_call>[\"name\"\"f\"\":.{}}(...`....=\"E..[{f..{..[{\"name\": \"f\"\":.....{}}(\":.\"f\"\":\x00f=<...ton...>\
\"f={f..<tool_call>[{\"name\":.\"f\"\":.{}}(%..{........`....=\"E..[{f..{........`....=\"E.<tcal</atem:par}}(%..{........`....=\"E..\
[{f..{........`....=\"E.<tool_cal</atem:parameter>l>[{\"name\": \"d\"\":.{}}(\": \"f\"\":.f=<...ton...>\"feter>l>[{\"name\": \"f\"\":.{}}\
(\": \"f\"\":.f=<...ton...>\"f=<..tool_outpameter>l>[{\"name\": \"f\"\":.{}}(\": \"f\"\":.f=<...ton...>\"f={f..<tool_call>[{\"name\": \
\"f\"\":.{}<|im_system|>tool<|im_middle|>........`....=\"E.<too..eter>l";

#[test]
fn d17_a_call_too_many_that_breaks_is_the_same_at_every_cut() {
    let policy = Policy {
        quoted_calls: Quoted::Run,
        reasoning_calls: true,
        unknown_tools: UnknownTool::Call,
        bare_json: true,
        repair: false,
        max_calls: 2,
        max_depth: 16,
        ..Policy::default()
    };
    let known = tools(&["f"]);
    let (whole, _) = parse([ONE_TOO_MANY], Some(&known), &policy);
    sound(ONE_TOO_MANY, &whole);
    for at in 1..ONE_TOO_MANY.len() {
        let (cut, _) = parse([&ONE_TOO_MANY[..at], &ONE_TOO_MANY[at..]], Some(&known), &policy);
        assert_eq!(cut, whole, "cut at {at}");
    }
}

/// Another element that begins where an opening one becomes too long to be one: whether it counts once depended on how
/// much was there.
#[test]
fn d17_an_opening_element_of_the_greatest_length_is_the_same_at_every_cut() {
    for (open, further) in [
        ("<invoke name=", "<invoke "),
        ("<function=", "<function="),
        ("<function=", "<parameter="),
        ("<function=", "</function>"),
    ] {
        for length in 990..1030 {
            let text = format!("{open}{}{further}b>", "x".repeat(length - open.len()));
            let policy = Policy { bare_json: true, unknown_tools: UnknownTool::Call, ..Policy::default() };
            let (whole, _) = parse([text.as_bytes()], None, &policy);
            sound(text.as_bytes(), &whole);
            for at in (1..40).chain(980..text.len()) {
                let (first, second) = text.as_bytes().split_at(at);
                assert_eq!(parse([first, second], None, &policy).0, whole, "{open} {further} {length} cut at {at}");
            }
            assert_eq!(parse(text.as_bytes().chunks(1), None, &policy).0, whole, "{open} {further} {length}");
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn d08_spans_tile_and_no_cut_can_be_seen(
        input in input(),
        policy in policy(),
        declared in any::<bool>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let known = declared.then(|| tools(&["look"]));
        let (whole, touched) = parse([&input[..]], known.as_ref(), &policy);
        sound(&input, &whole);
        prop_assert!(touched <= 4 * input.len() as u64 + 8192, "{touched} of {}", input.len());
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in cuts {
            pieces.push(&input[from..cut]);
            from = cut;
        }
        pieces.push(&input[from..]);
        let shown = String::from_utf8_lossy(&input).into_owned();
        prop_assert_eq!(&parse(pieces, known.as_ref(), &policy).0, &whole, "{}", shown);
        prop_assert_eq!(&parse(input.chunks(1), known.as_ref(), &policy).0, &whole, "{}", shown);
    }

    #[test]
    fn random_bytes_do_no_harm(input in prop::collection::vec(any::<u8>(), 0..400)) {
        let (whole, _) = parse([&input[..]], None, &Policy::default());
        sound(&input, &whole);
        prop_assert_eq!(&parse(input.chunks(1), None, &Policy::default()).0, &whole);
    }
}
