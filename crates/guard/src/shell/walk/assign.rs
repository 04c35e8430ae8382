//! Variables: what an assignment makes of them, and what is forgotten because it is read from somewhere.

use std::ops::Range;

use tree_sitter::Node;

use super::{
    super::{
        super::command::lasts,
        MAX_TEXT, Via, Word,
        word::{self, Value, Variables},
        wrap,
    },
    Place,
    reader::Reader,
};

/// No more variables, and no longer ones, are remembered.
const MAX_VARIABLES: usize = 256;
const MAX_VALUE: usize = 4096;

impl Reader<'_, '_> {
    pub(super) fn assign(&mut self, node: Node<'_>, place: &Place) {
        let source = self.source(node);
        let Some((name, raw)) = source.split_once('=') else { return };
        let (name, appends) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
        if name.contains('[') {
            // The subscript of 0 is the variable itself, and some lists choose programs: `BASH_CMDS[ls]=./x`.
            let name = name.split('[').next().unwrap_or(name);
            self.set_for_all(name, raw, &Self::span(node, place), place);
            self.walk.variables.insert(name.to_owned(), Value::Unknown);
            return;
        }
        let span = Self::span(node, place);
        self.set_for_all(name, raw, &span, place);
        let value = if let Some(array) = node.child_by_field_name("value").filter(|value| value.kind() == "array") {
            let words: Vec<Word> = Self::children(array)
                .into_iter()
                .filter(Node::is_named)
                .flat_map(|raw| self.expand(raw, place))
                .collect();
            if words.iter().all(|word| word.exact) {
                Value::Many(words.into_iter().map(|word| word.text).collect())
            } else {
                Value::Unknown
            }
        } else {
            let word = word::expand_one(raw, &self.walk.variables, &span);
            if word.exact || stands_for_itself(&word.text) { Value::Text(word.text) } else { Value::Unknown }
        };
        let value = match (appends, self.walk.variables.get(name), value) {
            (false, _, value) => value,
            (true, Some(Value::Text(before)), Value::Text(more)) if before.len() + more.len() < MAX_TEXT => {
                Value::Text(format!("{before}{more}"))
            }
            (true, Some(Value::Many(before)), Value::Many(more)) if before.len() + more.len() < 256 => {
                Value::Many(before.iter().chain(&more).cloned().collect())
            }
            _ => Value::Unknown,
        };
        let long = match &value {
            Value::Text(text) => text.len() > MAX_VALUE,
            Value::Many(values) | Value::Each(values) => values.iter().map(String::len).sum::<usize>() > MAX_VALUE,
            Value::Unknown => false,
        };
        if self.walk.variables.len() < MAX_VARIABLES || self.walk.variables.contains_key(name) {
            self.walk.variables.insert(name.to_owned(), if long { Value::Unknown } else { value });
        }
    }

    /// `PATH=./bin; ls`, `for PATH in ./bin`, `: ${PATH:=./bin}`: a variable that decides about the commands that
    /// follow.
    pub(super) fn set_for_all(&mut self, name: &str, raw: &str, span: &Range<usize>, place: &Place) {
        self.program_of_setting(name, raw, span, place);
        if lasts(name) {
            let value = word::expand_one(raw, &self.walk.variables, span);
            self.walk.settings = vec![Word { text: format!("{name}={}", value.text), ..value }];
            self.walk.emit(Vec::new(), Vec::new(), span.clone(), place);
        }
    }

    /// `${X:=value}`, `${X=value}`: an expansion that sets its variable where it has no value.
    pub(super) fn set_by_expansion(&mut self, source: &str, span: &Range<usize>, place: &Place) {
        let Some(inside) = source.strip_prefix("${").and_then(|source| source.strip_suffix('}')) else { return };
        let end = inside.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(inside.len());
        let (name, rest) = inside.split_at(end);
        let rest = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or(rest, |(_, rest)| rest);
        if let Some(value) = rest.strip_prefix(":=").or_else(|| rest.strip_prefix('=')) {
            self.set_for_all(name, value, span, place);
        }
    }

    /// `GIT_PAGER='…' git log`: what a variable gives to other programs to run.
    pub(super) fn program_of_setting(&mut self, name: &str, raw: &str, span: &Range<usize>, place: &Place) {
        // Hardly any variable is one of those.
        if raw.is_empty()
            || !name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte.is_ascii_digit())
        {
            return;
        }
        let value = word::expand_one(raw, &self.walk.variables, span);
        let Some(text) = wrap::run_by_variable(name, &value.text) else { return };
        let within =
            Place { via: Via::ShellText, nesting: place.nesting + 1, within: Some(span.clone()), ..Place::default() };
        self.walk.text_apart(&text, &within);
    }

    /// `TMPDIR=/ rm -rf $TMPDIR/x`: a shell puts the old value in, a reader sees the new one. The old one is a
    /// temporary folder, where nothing is known of it; the new one is none the looser. Gives the variables as they
    /// were.
    pub(super) fn prefixed(&mut self, node: Node<'_>, place: &Place) -> Option<Variables> {
        let assigned = Self::children(node)
            .into_iter()
            .find(|child| child.kind() == "variable_assignment" && self.source(*child).starts_with("TMPDIR="))?;
        if self.walk.variables.contains_key("TMPDIR") {
            return None;
        }
        let before = self.walk.variables.clone();
        self.assign(assigned, place);
        Some(before)
    }

    /// `read X`, `printf -v X`, `mapfile X`: the variables are no longer what they were.
    pub(super) fn forget_what_is_read(&mut self, words: &[Word]) {
        if let Some(first) = words.first()
            && matches!(
                first.text.as_str(),
                "read" | "mapfile" | "readarray" | "printf" | "getopts" | "let" | "source" | "."
            )
            && !self.walk.variables.is_empty()
        {
            let everything = matches!(first.text.as_str(), "source" | ".");
            for (name, value) in &mut self.walk.variables {
                if everything
                    || words.iter().any(|word| word.text == *name || word.text.starts_with(&format!("{name}=")))
                {
                    *value = Value::Unknown;
                }
            }
        }
    }
}

/// A value that is known by its name though not by its text.
fn stands_for_itself(text: &str) -> bool {
    let rest = ["$HOME", "$TMPDIR", "$PWD"].iter().find_map(|name| text.strip_prefix(name));
    rest.is_some_and(|rest| (rest.is_empty() || rest.starts_with('/')) && !rest.contains(['$', '`']))
}
