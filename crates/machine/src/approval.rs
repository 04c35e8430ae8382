//! The hash that binds a decision to the very call that was shown.

use xxhash_rust::xxh3::xxh3_128;

use loopwright_base::message::ToolUse;

/// The hash of a call's id, tool and arguments as written.
pub fn arguments_hash(call: &ToolUse) -> String {
    let mut bytes = Vec::with_capacity(call.id.len() + call.name.len() + call.arguments_text().len() + 16);
    for part in [call.id.as_str(), call.name.as_str(), call.arguments_text()] {
        // Lengths first: no two different calls give the same bytes.
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    format!("{:032x}", xxh3_128(&bytes))
}
