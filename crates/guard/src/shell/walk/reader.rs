//! The nodes of the tree, one by one: what runs, in which order, with which variables known, and what may run or not.

use std::ops::Range;

use tree_sitter::Node;

use super::{
    super::{
        Input, Redirect, Via, Word,
        word::{self, Value},
    },
    Place, Walk,
};

/// So many words of loops that stand for files are kept.
const MAX_LOOPED: usize = 64;

/// The bodies of loops are read once for a value, so many times in one text; what is left is read together.
const MAX_TURNS: usize = 32;

/// Deeper trees are not read further.
pub(super) const MAX_DEPTH: usize = 120;

/// A text that is read, and what is known so far.
pub(super) struct Reader<'w, 't> {
    pub(super) walk: &'w mut Walk,
    pub(super) text: &'t str,
}

impl<'t> Reader<'_, 't> {
    pub(super) fn span(node: Node<'_>, place: &Place) -> Range<usize> {
        place.within.clone().unwrap_or_else(|| node.byte_range())
    }

    pub(super) fn source(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
        let mut cursor = node.walk();
        node.children(&mut cursor).collect()
    }

    /// Reads a node; what it prints comes back.
    pub(super) fn node(&mut self, node: Node<'_>, place: &Place, depth: usize) -> Input {
        self.node_with(node, place, depth, &mut Vec::new())
    }

    /// Reads a node whose last command gets these redirections.
    pub(super) fn node_with(
        &mut self,
        node: Node<'_>,
        place: &Place,
        depth: usize,
        redirects: &mut Vec<Redirect>,
    ) -> Input {
        let unknown = Input::Piped(String::new());
        let span = Self::span(node, place);
        if depth > MAX_DEPTH {
            self.walk.unparsed(span);
            return unknown;
        }
        if node.is_error() || node.is_missing() {
            self.walk.unparsed(span.clone());
        }
        match node.kind() {
            "comment" | "heredoc_content" => Input::None,
            "command" => self.command(node, place, depth, std::mem::take(redirects)),
            "redirected_statement" => self.redirected(node, place, depth, redirects),
            "pipeline" => {
                let parts: Vec<_> = Self::children(node).into_iter().filter(Node::is_named).collect();
                let mut place = place.clone();
                if place.pipeline == 0 {
                    self.walk.pipelines += 1;
                    place.pipeline = self.walk.pipelines;
                }
                let last = parts.len().saturating_sub(1);
                let outer = (self.walk.variables.clone(), self.walk.cwd.clone());
                for (at, part) in parts.into_iter().enumerate() {
                    let mut nowhere = Vec::new();
                    let redirects = if at == last { &mut *redirects } else { &mut nowhere };
                    place.input = self.node_with(part, &place, depth + 1, redirects);
                    (self.walk.variables, self.walk.cwd) = outer.clone();
                }
                place.input
            }
            "list" | "negated_command" => {
                let mut output = Input::None;
                let parts: Vec<_> = Self::children(node).into_iter().filter(Node::is_named).collect();
                let last = parts.len().saturating_sub(1);
                let mut nowhere = Vec::new();
                for (at, part) in parts.into_iter().enumerate() {
                    let redirects = if at == last { &mut *redirects } else { &mut nowhere };
                    output = self.node_with(part, place, depth + 1, redirects);
                }
                output
            }
            "subshell" => {
                let outer = (self.walk.variables.clone(), self.walk.cwd.clone());
                let output = self.all(node, place, depth);
                (self.walk.variables, self.walk.cwd) = outer;
                output
            }
            "command_substitution" | "process_substitution" => {
                let outer = (self.walk.variables.clone(), self.walk.cwd.clone());
                let inside = Place { via: Via::Substitution, input: Input::None, pipeline: 0, ..place.clone() };
                self.all(node, &inside, depth);
                self.escaped_within(self.source(node), &span, place);
                // `$(< file)`, `$(> file)`
                let mut redirects = Vec::new();
                for child in Self::children(node).into_iter().filter(|child| child.kind() == "file_redirect") {
                    self.redirect(child, &inside, depth, &mut redirects, &mut Vec::new());
                }
                if !redirects.is_empty() {
                    self.walk.emit(Vec::new(), redirects, span, &inside);
                }
                (self.walk.variables, self.walk.cwd) = outer;
                unknown
            }
            "variable_assignment" => {
                self.all(node, place, depth);
                self.assign(node, place);
                Input::None
            }
            "declaration_command" => {
                let output = self.all(node, place, depth);
                // Names without a value, and `$X` as an argument, may be anything.
                let words = self.words(node, place);
                self.walk.emit(words, std::mem::take(redirects), span, place);
                output
            }
            "unset_command" => {
                self.all(node, place, depth);
                for child in Self::children(node) {
                    if child.kind() == "variable_name" {
                        self.walk.variables.remove(self.source(child));
                    }
                }
                Input::None
            }
            "function_definition" => {
                let name = node.child_by_field_name("name").map(|name| self.source(name).to_owned());
                if let Some(body) = node.child_by_field_name("body") {
                    let inside = Place { via: Via::Function, function: name, ..place.clone() };
                    self.branch(|reader| {
                        reader.node(body, &inside, depth + 1);
                    });
                }
                for child in Self::children(node) {
                    if child.kind().ends_with("_redirect") {
                        self.redirect(child, place, depth, redirects, &mut Vec::new());
                    }
                }
                Input::None
            }
            "for_statement" => {
                self.for_each(node, place, depth);
                unknown
            }
            "if_statement"
            | "elif_clause"
            | "else_clause"
            | "while_statement"
            | "case_item"
            | "c_style_for_statement" => {
                self.branch(|reader| {
                    reader.all(node, place, depth);
                });
                unknown
            }
            "compound_statement" | "do_group" | "program" | "case_statement" => self.all(node, place, depth),
            kind => {
                if kind == "expansion" {
                    self.set_by_expansion(self.source(node), &span, place);
                    self.backquoted(self.source(node), &span, place);
                }
                self.all(node, place, depth);
                unknown
            }
        }
    }

    /// Reads `for` and `select`: what is done, once for each value while there are few, or with all of them at once.
    fn for_each(&mut self, node: Node<'_>, place: &Place, depth: usize) {
        let mut cursor = node.walk();
        let raws: Vec<_> = node.children_by_field_name("value", &mut cursor).collect();
        let values: Vec<Word> = raws.iter().flat_map(|raw| self.expand(*raw, place)).collect();
        let body = node.child_by_field_name("body");
        let name = node.child_by_field_name("variable").map(|name| (self.source(name), Self::span(name, place)));
        let Some((name, span)) = name else { return self.branch(|reader| drop(reader.all(node, place, depth))) };
        let first = values.first().map_or_else(String::new, |word| word.text.clone());
        self.set_for_all(name, &first, &span, place);
        let room = MAX_LOOPED.saturating_sub(self.walk.script.looped.len());
        let patterns = values.iter().filter(|word| word.pattern);
        if patterns.clone().nth(room).is_some() {
            self.walk.unparsed(Self::span(node, place));
        }
        self.walk.script.looped.extend(patterns.take(room).cloned());
        let known = values.iter().all(|word| word.exact) && !values.is_empty();
        let texts: Vec<String> = values.into_iter().map(|word| word.text).collect();
        let named = body.is_some_and(|body| self.source(body).contains(name));
        self.branch(|reader| {
            for child in Self::children(node).into_iter().filter(|child| Some(*child) != body) {
                if child.is_named() || child.is_missing() {
                    reader.node(child, place, depth + 1);
                }
            }
            // What does not hang on the value may hang on what the turn before has set.
            let most = if named { texts.len() } else { texts.len().min(2) };
            let alone = if known { most.min(MAX_TURNS.saturating_sub(reader.walk.turns)) } else { 0 };
            reader.walk.turns += alone;
            let (alone, together) = texts.split_at(alone);
            let mut values: Vec<Value> = alone.iter().map(|text| Value::Text(text.clone())).collect();
            if !known {
                values.push(Value::Unknown);
            } else if named && !together.is_empty() || values.is_empty() {
                values.push(Value::Each(together.to_vec()));
            }
            for value in values {
                reader.walk.variables.insert(name.to_owned(), value);
                if let Some(body) = body {
                    reader.node(body, place, depth + 1);
                }
            }
        });
    }

    /// Reads all children.
    fn all(&mut self, node: Node<'_>, place: &Place, depth: usize) -> Input {
        let mut output = Input::None;
        for child in Self::children(node) {
            if child.is_named() || child.is_missing() {
                output = self.node(child, place, depth + 1);
            }
        }
        output
    }

    /// What may run or not: variables and the folder that it changes are not known afterwards.
    fn branch(&mut self, run: impl FnOnce(&mut Self)) {
        let before = (self.walk.variables.clone(), self.walk.cwd.clone());
        run(self);
        let changed: Vec<String> = self
            .walk
            .variables
            .iter()
            .filter(|(name, value)| before.0.get(*name) != Some(value))
            .map(|(name, _)| name.clone())
            .collect();
        for name in changed {
            self.walk.variables.insert(name, Value::Unknown);
        }
        for name in before.0.into_keys() {
            self.walk.variables.entry(name).or_insert(Value::Unknown);
        }
        if self.walk.cwd != before.1 {
            self.walk.cwd = Some(Word { text: "?".to_owned(), ..Word::default() });
        }
    }

    pub(super) fn expand(&self, node: Node<'_>, place: &Place) -> Vec<Word> {
        word::expand(self.source(node), &self.walk.variables, &Self::span(node, place))
    }

    /// `!(*.c)`, `@(a|b)`: parentheses behind such a sign are a pattern for names.
    fn is_pattern(&self, node: Node<'_>) -> bool {
        let before = self.text.get(..node.start_byte()).unwrap_or_default();
        before.ends_with(['!', '@', '+', '*', '?'])
    }

    /// All words under a node: children that touch, or that only a continued line parts, are one word.
    fn words(&self, node: Node<'_>, place: &Place) -> Vec<Word> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for child in Self::children(node) {
            let kind = child.kind();
            if kind.ends_with("_redirect") || child.is_error() || kind == "subshell" && !self.is_pattern(child) {
                continue;
            }
            if kind == "variable_assignment" && ranges.is_empty() && node.kind() == "command" {
                continue;
            }
            let range = child.byte_range();
            if range.is_empty() {
                continue;
            }
            match ranges.last_mut() {
                Some(last) if joins(self.text.get(last.end..range.start)) => last.end = range.end,
                _ => ranges.push(range),
            }
        }
        let mut words = Vec::new();
        for range in ranges {
            let span = place.within.clone().unwrap_or_else(|| range.clone());
            words.extend(word::expand(self.text.get(range).unwrap_or_default(), &self.walk.variables, &span));
        }
        words
    }

    fn command(&mut self, node: Node<'_>, place: &Place, depth: usize, mut redirects: Vec<Redirect>) -> Input {
        let (mut more, mut settings) = (Vec::new(), Vec::new());
        // `X=rm Y=… program`: for the program alone, but written before it runs.
        for child in Self::children(node) {
            if child.kind().ends_with("_redirect") {
                self.redirect(child, place, depth, &mut redirects, &mut more);
            } else if child.kind() == "subshell" && !self.is_pattern(child) {
                self.node(child, place, depth + 1);
            } else {
                self.substitutions(child, place, depth);
                if child.kind() == "variable_assignment"
                    && let Some((name, raw)) = self.source(child).split_once('=')
                {
                    let span = Self::span(child, place);
                    self.program_of_setting(name, raw, &span, place);
                    let value = word::expand_one(raw, &self.walk.variables, &span);
                    settings.push(Word { text: format!("{name}={}", value.text), ..value });
                }
            }
        }
        let before = self.prefixed(node, place);
        let mut words = self.words(node, place);
        if let Some(before) = before {
            self.walk.variables = before;
        }
        words.extend(more);
        let span = Self::span(node, place);
        // To look for the parent walks the whole tree.
        self.walk.looks +=
            usize::from(place.function.is_some() && words.first().map(|word| &word.text) == place.function.as_ref());
        if let (Some(function), Some(word)) = (&place.function, words.first())
            && word.text == *function
            && self.walk.looks < 64
            && node.parent().is_some_and(|parent| {
                parent.kind() == "pipeline"
                    || parent.kind() == "compound_statement" && self.source(parent).contains('&')
            })
        {
            self.walk.script.fork_bomb.get_or_insert(span.clone());
        }
        self.forget_what_is_read(&words);
        self.walk.settings = settings;
        self.walk.emit(words, redirects, span, place)
    }

    /// Reads the substitutions inside of a word.
    pub(super) fn substitutions(&mut self, node: Node<'_>, place: &Place, depth: usize) {
        if depth > MAX_DEPTH {
            return self.walk.unparsed(Self::span(node, place));
        }
        if node.is_error() || node.is_missing() {
            self.walk.unparsed(Self::span(node, place));
        }
        if matches!(node.kind(), "command_substitution" | "process_substitution" | "expansion") {
            self.node(node, place, depth + 1);
        } else if node.child_count() > 0 {
            for child in Self::children(node) {
                self.substitutions(child, place, depth + 1);
            }
        }
    }

    pub(super) fn command_with(
        &mut self,
        node: Node<'_>,
        place: &Place,
        depth: usize,
        redirects: Vec<Redirect>,
        more: Vec<Word>,
    ) -> Input {
        for child in Self::children(node) {
            self.substitutions(child, place, depth);
        }
        let mut words = self.words(node, place);
        words.extend(more);
        self.walk.emit(words, redirects, Self::span(node, place), place)
    }
}

fn joins(gap: Option<&str>) -> bool {
    let mut gap = gap.unwrap_or(" ");
    while let Some(rest) = gap.strip_prefix("\\\n").or_else(|| gap.strip_prefix("\\\r\n")) {
        gap = rest;
    }
    gap.is_empty()
}
