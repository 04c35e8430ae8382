//! Marks that the engine itself puts around what it adds to a conversation, so that nobody takes it for words of the user.

/// What text that a hook adds begins with: neither the user nor the guard takes it for the user's words.
pub const CONTEXT_MARK: &str = "[Context from the hook";

/// What is trusted of memory, as it stands in instructions.
pub const MEMORY: &str = "memory";

/// The memory that stands at the end of such instructions.
pub fn memory_in(instructions: &str) -> Option<&str> {
    let (_, memory) = instructions.rsplit_once(&format!("<{MEMORY}>\n"))?;
    Some(memory.rsplit_once(&format!("\n</{MEMORY}>")).map_or(memory, |(memory, _)| memory))
}
