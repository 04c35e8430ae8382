//! What a parser may take for a call. The defaults are the safe ones.

/// What becomes of calls inside code fences, inline code and block quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quoted {
    /// They are text: the model talks about them.
    #[default]
    Ignore,
    /// They run, marked as fenced.
    Run,
}

/// What becomes of a call whose tool wasn't declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownTool {
    /// It stays text, markers and all, and a problem says so.
    #[default]
    Text,
    /// It is a call like another: the executor answers that there is no such tool.
    Call,
}

/// The knobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Calls in fences, inline code and quotes.
    pub quoted_calls: Quoted,
    /// Whether calls inside reasoning run. They don't unless asked.
    pub reasoning_calls: bool,
    /// Calls of undeclared tools. Means something only where tools are declared.
    pub unknown_tools: UnknownTool,
    /// Whether bare JSON (and a bare list of calls) counts, at the start of the reply or of a line, with a declared
    /// tool's name.
    pub bare_json: bool,
    /// Whether the text begins inside reasoning, as where the prompt ends with the opening marker.
    pub starts_in_reasoning: bool,
    /// Whether broken arguments are repaired. If not, such a call ends incomplete.
    pub repair: bool,
    /// The most calls in one text.
    pub max_calls: usize,
    /// The most bytes of one call's arguments.
    pub max_argument_bytes: usize,
    /// The deepest nesting of arguments.
    pub max_depth: usize,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            quoted_calls: Quoted::Ignore,
            reasoning_calls: false,
            unknown_tools: UnknownTool::Text,
            bare_json: false,
            starts_in_reasoning: false,
            repair: true,
            max_calls: 128,
            max_argument_bytes: 16 * 1024 * 1024,
            max_depth: 128,
        }
    }
}
