//! Limits on bytes that are no text: what is left out doesn't depend on the cuts.

use crate::reading::{Setup, read_bytes};

#[test]
fn d17_a_limit_amid_bytes_that_are_no_utf8_cuts_the_same_wherever_the_input_is_cut() {
    for text in [
        &b"<tool_call>{\"name\":\"y\",\"arguments\":{\"a\":\"\xc0\xc0`x\"}}"[..],
        b"<tool_call>{\"name\":\"y\",\"arguments\":{\"a\":\"\xc0`x\xff\xffyz\"}}</tool_call> t",
        b"[TOOL_CALLS]y[ARGS]{\"a\":\"\xe2\x82`x\xf0\x9f\xffyz\", \"b\":\"\xff\"} t",
        b"<|tool_call>call:f{a:\"\xc0`x\"}",
        b"<function=y><parameter=a>\xc0`x\xff\xff1234</parameter></function> t",
    ] {
        for most in 0..24 {
            for repair in [true, false] {
                let setup = Setup::auto().with(|policy| (policy.max_argument_bytes, policy.repair) = (most, repair));
                let reading = read_bytes(text, &setup);
                assert!(reading.calls.iter().all(|call| call.arguments.len() <= most), "{most}: {reading:?}");
            }
        }
    }
}
