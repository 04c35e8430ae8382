//! What each wire's documentation says of the schemas that it enforces, as a table.
//!
//! Sources: "Structured outputs, JSON Schema limitations" of Anthropic, "Structured outputs, Supported schemas" of
//! OpenAI and its list for fine-tuned models, `responseJsonSchema` of the Gemini API, read in November 2026. A keyword
//! that stands nowhere here goes into the description, so that a new one is never refused.

use loopwright_base::message::Wire;

/// What a provider takes of JSON schema.
#[derive(Debug)]
pub(super) struct Subset {
    /// Keywords of every schema, beside those of structure, which are known to the walk.
    pub(super) any: &'static [&'static str],
    /// Keywords of strings.
    pub(super) string: &'static [&'static str],
    /// Keywords of numbers, whole or not.
    pub(super) number: &'static [&'static str],
    /// Keywords of arrays beside `items`.
    pub(super) array: &'static [&'static str],
    /// The values of `minItems` that it takes, where not all.
    pub(super) min_items: Option<u64>,
    /// The values of `format`.
    pub(super) formats: &'static [&'static str],
    /// Whether every property must be required.
    pub(super) all_required: bool,
    /// Whether a definition may speak of itself.
    pub(super) recursion: bool,
    /// Whether the top may be something else than an object.
    pub(super) any_root: bool,
    /// How many tools may be strict.
    pub(super) strict_tools: usize,
    /// How much there may be of what.
    pub(super) room: Room,
}

/// How much there may still be of what, in all schemas of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Properties that are not required.
    pub(super) optional: usize,
    /// Places with several types.
    pub(super) unions: usize,
    /// Properties.
    pub(super) properties: usize,
    /// Values of enums.
    pub(super) values: usize,
    /// Characters of the names of properties and definitions and the values of enums and constants.
    pub(super) letters: usize,
    /// Characters of the values of one enum that has many.
    pub(super) enum_letters: usize,
    /// Objects in each other.
    pub(super) depth: usize,
}

const FORMATS: [&str; 10] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"];

static ANTHROPIC: Subset = Subset {
    any: &["title", "description", "default"],
    string: &["format", "pattern"],
    number: &[],
    array: &["minItems"],
    min_items: Some(1),
    formats: &FORMATS,
    all_required: false,
    recursion: false,
    any_root: true,
    strict_tools: 20,
    room: Room {
        optional: 24,
        unions: 16,
        properties: usize::MAX,
        values: usize::MAX,
        letters: usize::MAX,
        enum_letters: usize::MAX,
        depth: usize::MAX,
    },
};

/// The limits of OpenAI, whichever its model.
const OPENAI_ROOM: Room = Room {
    optional: usize::MAX,
    unions: usize::MAX,
    properties: 5_000,
    values: 1_000,
    letters: 120_000,
    enum_letters: 15_000,
    depth: 10,
};

static OPENAI: Subset = Subset {
    any: &["title", "description"],
    string: &["format", "pattern"],
    number: &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
    array: &["minItems", "maxItems"],
    min_items: None,
    // Addresses are not among them.
    formats: FORMATS.split_at(9).0,
    all_required: true,
    recursion: true,
    any_root: false,
    strict_tools: usize::MAX,
    room: OPENAI_ROOM,
};

static GEMINI: Subset = Subset {
    any: &["title", "description"],
    string: &["format"],
    number: &["minimum", "maximum"],
    array: &["minItems", "maxItems"],
    min_items: None,
    formats: FORMATS.split_at(3).0,
    all_required: false,
    // Recursion is unrolled a few times, and then refused.
    recursion: false,
    any_root: true,
    strict_tools: usize::MAX,
    room: Room {
        optional: usize::MAX,
        unions: usize::MAX,
        properties: usize::MAX,
        values: usize::MAX,
        letters: usize::MAX,
        enum_letters: usize::MAX,
        depth: usize::MAX,
    },
};

static FINE_TUNED: Subset = Subset {
    any: &["title", "description"],
    string: &[],
    number: &[],
    array: &[],
    min_items: None,
    formats: &[],
    all_required: true,
    recursion: true,
    any_root: false,
    strict_tools: usize::MAX,
    room: OPENAI_ROOM,
};

impl Subset {
    /// What `model` takes over `wire`.
    pub(super) fn of(wire: Wire, model: &str) -> Option<&'static Self> {
        match wire {
            Wire::Anthropic | Wire::Bedrock => Some(&ANTHROPIC),
            Wire::OpenaiChat | Wire::OpenaiResponses if model.starts_with("ft:") => Some(&FINE_TUNED),
            Wire::OpenaiChat | Wire::OpenaiResponses => Some(&OPENAI),
            Wire::Gemini => Some(&GEMINI),
            Wire::Offline => None,
        }
    }
}

/// An enum with more values has many.
pub(super) const MANY_VALUES: usize = 250;

/// How a bound reads in a description; `{}` stands for its value.
pub(super) const WORDS: [(&str, &str); 12] = [
    ("minimum", "minimum {}"),
    ("maximum", "maximum {}"),
    ("exclusiveMinimum", "more than {}"),
    ("exclusiveMaximum", "less than {}"),
    ("multipleOf", "a multiple of {}"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
    ("minProperties", "at least {} members"),
    ("maxProperties", "at most {} members"),
    ("default", "{} unless said otherwise"),
];

/// Keywords that say nothing to a model.
pub(super) const SILENT: [&str; 5] = ["$schema", "$id", "$comment", "discriminator", "$anchor"];
