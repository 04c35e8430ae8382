//! Which body reads which grammar.

use super::{
    attributes::AttributesBody,
    body::Body,
    dialect::{Dialect, Grammar},
    harmony::Harmony,
    loose::Loose,
    named::Named,
    nested::NestedBody,
    object::{Keyed, Object},
    pairs::PairsBody,
    python::Python,
    tags::TagsBody,
    titled::Titled,
};

/// A body that a parser may keep: parsers move between threads.
pub(super) type Boxed = Box<dyn Body + Send + Sync>;

/// A fresh body for a region of a dialect. `bare`: nothing but the call's shape says that it is one; `opened`: a marker
/// stands before it.
pub(super) fn body_for(dialect: &'static Dialect, bare: bool, opened: bool) -> Boxed {
    let body = of_grammar(dialect, bare, opened);
    if dialect.title.is_empty() { body } else { Box::new(Titled::new(dialect.title, body)) }
}

fn of_grammar(dialect: &'static Dialect, bare: bool, opened: bool) -> Boxed {
    match dialect.grammar {
        Grammar::Object { name, arguments, array } => {
            let object = Object::new(name, arguments, array).of(dialect);
            Box::new(if bare { object.shaped() } else { object })
        }
        Grammar::Keyed => Box::new(Keyed::new().of(dialect)),
        Grammar::Named { before, between, fenced, indexed, id } => {
            Box::new(Named::new(before, between, fenced, indexed, id).of(dialect))
        }
        Grammar::Tags(tags) => {
            let body = TagsBody::new(tags);
            Box::new(if opened { body } else { body.bare() })
        }
        Grammar::Python { .. } => Box::new(Python::of(dialect)),
        Grammar::Pairs { after_name, key, value, gap } => Box::new(PairsBody::new(after_name, key, value, gap)),
        Grammar::Loose { quote } => Box::new(Loose::new(quote).of(dialect)),
        Grammar::Nested { prefix } => Box::new(NestedBody::new(prefix)),
        Grammar::Attributes => Box::new(AttributesBody::new()),
        Grammar::Harmony => Box::new(Harmony::new().of(dialect)),
    }
}
