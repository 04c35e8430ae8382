//! Marks around text that the engine adds to a conversation, so that nobody takes it for words of the user.

/// The beginning of a text that a hook adds: nobody takes the rest for the user's words.
pub const CONTEXT_MARK: &str = "[Context from the hook";

/// The name of the element in instructions that holds trusted memories.
pub const MEMORY: &str = "memory";

/// The trusted memories at the end of `instructions`, in their element [`MEMORY`].
pub fn memory_in(instructions: &str) -> Option<&str> {
    let (_, memory) = instructions.rsplit_once(&format!("<{MEMORY}>\n"))?;
    Some(memory.rsplit_once(&format!("\n</{MEMORY}>")).map_or(memory, |(memory, _)| memory))
}
