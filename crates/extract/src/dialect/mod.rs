//! The one table of what models write: each dialect's markers and grammar, each reasoning markup, each inert region.
//! Parser, renderer, `dialect_for` and the docs are all read off it; where two rows share a marker, the first row whose
//! [`First`] holds wins.

mod docs;
mod family;
mod first;
mod regions;
mod table;

use std::sync::{LazyLock, OnceLock};

use loopwright_base::error::{Error, Result};

use super::attributes::{ARGUMENT, ARGUMENT_END};

pub use docs::dialect_table;
pub use family::{dialect_for, starts_in_reasoning};
pub(crate) use first::Glances;
pub(super) use first::in_name;
pub use first::{First, Verdict};
pub(crate) use regions::call_separators;
pub use regions::{Frame, Inert, Reasoning, frames, inert_regions, reasoning_markups, turn_ends};
pub use table::dialects;
pub(crate) use table::rows;

/// How a region of calls is written between its markers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grammar {
    /// JSON objects that hold a name and arguments: one, several joined by white space, `;` or `,`, or an array of
    /// them.
    Object {
        /// Keys under which the name may stand; the first one is written.
        name: &'static [&'static str],
        /// Keys under which the arguments may stand; the first one is written.
        arguments: &'static [&'static str],
        /// Whether they are written inside an array.
        array: bool,
    },
    /// JSON whose one key is the tool's name: `[{"NAME": {..}}]`.
    Keyed,
    /// A name, then a separator, then the arguments as JSON.
    Named {
        /// What stands before the name (`function<sep>`, `functions.`); may be missing when read.
        before: &'static str,
        /// What stands between name and JSON, the written one first; an empty one may be missing when read.
        between: &'static [&'static str],
        /// Whether the JSON stands in a code fence.
        fenced: bool,
        /// Whether `:IDX` follows the name, which together are the call's id.
        indexed: bool,
        /// What stands between the name and an id that may come before `between` (`[CALL_ID]`); empty where there is
        /// none.
        id: &'static str,
    },
    /// Elements: `<invoke name="N"><parameter name="K">V</parameter></invoke>` and its relatives.
    Tags(Tags),
    /// `NAME` and then pairs: `<arg_key>K</arg_key><arg_value>V</arg_value>`.
    Pairs {
        /// What stands between the name and the first pair (a newline, `<tool_sep>`, nothing).
        after_name: &'static str,
        /// Key opener and closer.
        key: (&'static str, &'static str),
        /// Value opener and closer.
        value: (&'static str, &'static str),
        /// What is written between two pieces (a newline or nothing); any white space is read.
        gap: &'static str,
    },
    /// `[f(a=1, b="x"), g()]`, or calls on lines of their own; Python literals, and JSON's.
    Python {
        /// Whether the list stands in brackets when written.
        brackets: bool,
    },
    /// `call:NAME{k:<quote>text<quote>,n:42}`: bare keys, strings between `quote`s.
    Loose {
        /// What stands on both sides of a string.
        quote: &'static str,
    },
    /// `to=functions.NAME <|constrain|>json<|message|>{..}`: a header, then JSON.
    Harmony,
    /// Nested elements named by keys, each with a prefix: `<KEY>V</KEY>`, arrays and objects by the schema.
    Nested {
        /// What stands before each tag.
        prefix: &'static str,
    },
    /// `<|open|>argument key="K" type="string"<|sep|>V<|close|>argument<|sep|>`.
    Attributes,
}

/// The elements of one family of XML-like markup.
///
/// Values stand as they are, nothing in them is escaped, so raw text can't say everything: not a closing element
/// followed by what may follow one, and without a schema not the string `42`. Readers take two other forms of any of
/// these dialects, which can: `string="false"` after a parameter's name (`<parameter=K string="false">`), where the
/// value is JSON, with `\u003c` for each `<`, and `string="true"`, where it is text whatever it looks like; or one JSON
/// object for all arguments in place of the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tags {
    /// Around the name in the call's opening element: (`<invoke name="`, `">`), (`<function=`, `>`).
    pub call: (&'static str, &'static str),
    /// The call's closing element.
    pub call_end: &'static str,
    /// Around the key: (`<parameter name="`, `">`), (`<parameter=`, `>`).
    pub parameter: (&'static str, &'static str),
    /// A parameter's closing element.
    pub parameter_end: &'static str,
    /// Whether one newline after the opening and one before the closing element are stripped, and written.
    pub newlines: bool,
    /// Whether a `string="true|false"` attribute follows the key and says whether the value is text or JSON.
    pub string_attribute: bool,
    /// Whether a value may stand in `<![CDATA[..]]>`.
    pub cdata: bool,
    /// Namespace prefixes that may stand before the element names when read (`antml:`).
    pub prefixes: &'static [&'static str],
}

/// One dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// Its name here: lower case, words joined by `-`.
    pub name: &'static str,
    /// Who writes it, for people.
    pub models: &'static str,
    /// Beginnings or parts of lower-case model names that write it, for `dialect_for`.
    pub patterns: &'static [&'static str],
    /// The dialect of which it is another form: each is read where the other is named.
    pub form_of: &'static str,
    /// The section around all calls of a reply, if there is one: spellings of opener and closer, the written ones
    /// first.
    pub section: Option<(&'static [&'static str], &'static [&'static str])>,
    /// Whether a call may stand without the section, or the section be left open.
    pub section_optional: bool,
    /// Spellings of what opens a call; the written one first. An empty spelling says that a call may begin with one of
    /// `first`'s strings and nothing before it; the body gets these strings too.
    pub open: &'static [&'static str],
    /// Spellings of what closes it; the written one first, an empty one where nothing is written. Reading tolerates a
    /// missing one where the grammar shows the end.
    pub close: &'static [&'static str],
    /// What ends the message that its calls stand in, words behind them or not; empty where nothing does.
    pub message_end: &'static str,
    /// What tells it from others with the same opener.
    pub first: First,
    /// What ends a title: between the opener and the rest the tool's name stands once more, then one of these, the
    /// written one first. Empty where there is none.
    pub title: &'static [&'static str],
    /// What stands inside.
    pub grammar: Grammar,
    /// What is written between an opener and the body, and between the body and a closer (a newline, a space, nothing).
    pub padding: &'static str,
    /// Whether it needs no markers, or only ordinary words, and is therefore read only where the policy asks for bare
    /// calls.
    pub bare: bool,
}

impl Dialect {
    /// Whether it is read where the dialect of this name is: it is that one, or another form of it.
    pub(super) fn answers_to(&self, name: &str) -> bool {
        let other = || dialect_named(name).is_some_and(|other| !self.name.is_empty() && other.form_of == self.name);
        self.name == name || (!self.form_of.is_empty() && self.form_of == name) || other()
    }

    /// Whether its values escape nothing: they stand raw between elements, or between marks that may stand in them.
    pub(super) const fn is_raw(&self) -> bool {
        matches!(
            self.grammar,
            Grammar::Tags(_)
                | Grammar::Nested { .. }
                | Grammar::Attributes
                | Grammar::Pairs { .. }
                | Grammar::Loose { .. }
        )
    }

    /// What opens a value (1) and what closes one (-1), or what either begins with, in dialects whose values stand
    /// between elements; and what begins alike and does neither (0).
    pub(super) fn value_marks(&self) -> Vec<(String, i8)> {
        let pair = |open: &str, end: &str| [(open.to_owned(), 1), (end.to_owned(), -1)];
        match self.grammar {
            Grammar::Tags(tags) => {
                let with = |prefix: &&str| {
                    let end = tags.parameter_end.replacen("</", &format!("</{prefix}"), 1);
                    pair(end.replacen("</", "<", 1).trim_end_matches('>'), &end)
                };
                [""].iter().chain(tags.prefixes).flat_map(with).collect()
            }
            Grammar::Pairs { value, .. } => pair(value.0, value.1).to_vec(),
            Grammar::Nested { prefix } => {
                let sections = self.section.iter().flat_map(|section| section.0.iter().chain(section.1));
                let around = self.open.iter().chain(self.close).chain(sections).map(|mark| (*mark).to_owned());
                let calls = ["<invoke", "</invoke"].map(|call| format!("{prefix}{call}"));
                let neither = around.chain(calls).filter(|mark| !mark.is_empty()).map(|mark| (mark, 0));
                neither.chain(pair(&format!("{prefix}<"), &format!("{prefix}</"))).collect()
            }
            Grammar::Attributes => pair(ARGUMENT, ARGUMENT_END).to_vec(),
            _ => Vec::new(),
        }
    }

    /// What opens calls (1), or what stands around them, and what closes either (-1), in the same dialects.
    pub(super) fn call_marks(&self) -> Vec<(String, i8)> {
        let (opens, closes) = match self.grammar {
            Grammar::Tags(tags) => (tags.call.0, tags.call_end),
            _ => ("", ""),
        };
        let (begins, ends) = self.section.unwrap_or_default();
        let opening = self.open.iter().chain(begins).copied().chain([opens]);
        let closing = self.close.iter().chain(ends).copied().chain([closes]);
        let mut marks: Vec<(String, i8)> = Vec::new();
        for (mark, step) in opening.map(|mark| (mark, 1)).chain(closing.map(|mark| (mark, -1))) {
            if !mark.is_empty() && marks.iter().all(|(known, _)| known != mark) {
                marks.push((mark.to_owned(), step));
            }
        }
        marks
    }
}

/// The dialect of that name; where there is none, an error that names those there are.
pub fn known_dialect(name: &str) -> Result<&'static Dialect> {
    dialect_named(name).ok_or_else(|| {
        let known: Vec<&str> = dialects().iter().map(|dialect| dialect.name).collect();
        let shown: String = name.chars().take(100).collect();
        Error::usage("unknown_dialect", format!("there is no dialect {shown:?}"))
            .hint(format!("one of {}", known.join(", ")))
    })
}

/// The dialect of that name.
pub fn dialect_named(name: &str) -> Option<&'static Dialect> {
    dialects().iter().find(|dialect| dialect.name == name)
}

/// The dialects that are read where nobody said which one a model writes: those with markers of their own, and bare
/// JSON. Python calls without markers are left out, which lists and code have as well.
pub(crate) fn expected() -> &'static [&'static str] {
    static EXPECTED: OnceLock<Vec<&'static str>> = OnceLock::new();
    let json = |dialect: &Dialect| {
        matches!(dialect.grammar, Grammar::Object { .. }) && dialect.open.iter().all(|open| open.is_empty())
    };
    EXPECTED.get_or_init(|| dialects().iter().filter(|row| !row.bare || json(row)).map(|row| row.name).collect())
}

/// Whether a text begins with what opens a call, of whichever dialect that has markers.
pub fn opens_call(text: &str) -> bool {
    let text = text.trim_start();
    !text.starts_with(char::is_alphanumeric) && OPENERS.iter().any(|opener| text.starts_with(opener))
}

/// The marks that open calls, of all dialects.
static OPENERS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let all = dialects().iter().filter(|dialect| !dialect.bare).flat_map(|dialect| {
        let sections = dialect.section.map_or(&[][..], |(open, _)| open);
        let tag = if let Grammar::Tags(tags) = &dialect.grammar { tags.call.0 } else { "" };
        sections.iter().chain(dialect.open).copied().chain([tag])
    });
    all.filter(|opener| opener.starts_with(|c: char| !c.is_alphanumeric())).collect()
});
