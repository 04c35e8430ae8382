//! Shapes that make parsers quadratic. Bytes are counted, not seconds: at most four looks at each byte, however it is cut; a few
//! more where bare calls are looked for at each line's start.

use loopwright::core::extract::{Policy, Quoted, UnknownTool};

use crate::{
    shapes::shapes,
    support::{parse, sound, tools},
};

const SIZE: usize = 40 * 1024;

#[test]
fn each_byte_is_looked_at_four_times_at_most() {
    let known = tools(&["f"]);
    let policies = [
        Policy::default(),
        Policy { bare_json: true, unknown_tools: UnknownTool::Call, repair: false, ..Policy::default() },
        Policy { quoted_calls: Quoted::Run, bare_json: true, reasoning_calls: true, ..Policy::default() },
    ];
    let mut worst = Vec::new();
    for (name, text) in shapes(SIZE) {
        let input = text.as_bytes();
        for (which, policy) in policies.iter().enumerate() {
            for pieces in [input.len(), 97, 5].into_iter().take(if which == 0 { 3 } else { 1 }) {
                let (parsed, touched) = parse(input.chunks(pieces), Some(&known), policy);
                if pieces > 97 {
                    sound(input, &parsed);
                }
                // The few kilobytes are what may be looked at in vain before that has to stay in proportion.
                let most = if policy.bare_json { 7 } else { 4 };
                if touched > most * input.len() as u64 + 4096 {
                    worst.push((name.clone(), which, pieces, touched as f64 / input.len() as f64));
                }
            }
        }
    }
    assert_eq!(worst, [], "looks at each byte");
}
