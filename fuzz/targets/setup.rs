//! The first two bytes choose the policy and the cut, the rest is the text.

use loopwright_extract::{Policy, Quoted, Signatures, UnknownTool};

pub(crate) fn setup(data: &[u8]) -> (Policy, Option<Signatures>, usize, &[u8]) {
    let (Some(knobs), Some(cut)) = (data.first(), data.get(1)) else {
        return (Policy::default(), None, 1, data);
    };
    let on = |bit: u8| knobs & (1 << bit) != 0;
    let policy = Policy {
        quoted_calls: if on(0) { Quoted::Run } else { Quoted::Ignore },
        reasoning_calls: on(1),
        unknown_tools: if on(2) { UnknownTool::Call } else { UnknownTool::Text },
        bare_json: on(3),
        starts_in_reasoning: on(4),
        repair: !on(5),
        max_calls: if on(6) { 2 } else { 128 },
        max_depth: 16,
        ..Policy::default()
    };
    let tools =
        on(7).then(|| {
            let mut tools = Signatures::default();
            for name in ["f", "look"] {
                tools.add(name, &serde_json::json!({"type": "object", "properties": {
                "s": {"type": "string"}, "n": {"type": "integer"}, "l": {"type": "array"}, "o": {"type": "object"},
            }}));
            }
            tools
        });
    (policy, tools, usize::from(*cut).max(1), &data[2..])
}

/// Whether it is JSON by the grammar: numbers of any size, nesting of any depth.
#[allow(dead_code)]
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
