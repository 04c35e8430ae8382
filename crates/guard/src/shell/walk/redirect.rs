//! Redirections and here documents, with the commands that they feed.

use tree_sitter::Node;

use super::{
    super::{Input, Redirect, RedirectKind, Word, word},
    Place, documents,
    reader::Reader,
};

impl Reader<'_, '_> {
    pub(super) fn redirected(
        &mut self,
        node: Node<'_>,
        place: &Place,
        depth: usize,
        outer: &mut Vec<Redirect>,
    ) -> Input {
        let mut redirects = Vec::new();
        let mut more = Vec::new();
        let mut after = Vec::new();
        for child in Self::children(node) {
            if child.kind() == "heredoc_redirect" {
                after.extend(self.heredoc(child, place, depth, &mut redirects, &mut more));
            } else if child.kind().ends_with("_redirect") {
                self.redirect(child, place, depth, &mut redirects, &mut more);
            } else if child.is_error() {
                self.walk.unparsed(Self::span(child, place));
            }
        }
        redirects.append(outer);
        let mut output = Input::None;
        let body = node.child_by_field_name("body");
        if let Some(body) = body {
            let here = redirects.iter().rfind(|redirect| redirect.kind == RedirectKind::HereText);
            let mut inside = place.clone();
            if let Some(here) = here {
                inside.input = Input::Known(here.target.clone());
            }
            if body.kind() == "command" && !more.is_empty() {
                output = self.command_with(body, place, depth, std::mem::take(&mut redirects), more);
            } else {
                output = self.node_with(body, &inside, depth + 1, &mut redirects);
            }
        }
        if !redirects.is_empty() {
            let span = Self::span(node, place);
            let place = Place { grouped: body.is_some(), ..place.clone() };
            self.walk.emit(Vec::new(), redirects, span, &place);
        }
        for (next, piped) in after {
            let mut place = place.clone();
            if piped {
                place.input = output.clone();
            }
            output = self.node(next, &place, depth + 1);
        }
        output
    }

    /// A here document; what stands behind its start on the same line comes back, with whether it reads the output.
    fn heredoc<'n>(
        &mut self,
        node: Node<'n>,
        place: &Place,
        depth: usize,
        redirects: &mut Vec<Redirect>,
        more: &mut Vec<Word>,
    ) -> Vec<(Node<'n>, bool)> {
        let mut after = Vec::new();
        let span = Self::span(node, place);
        let quoted = Self::children(node)
            .into_iter()
            .find(|child| child.kind() == "heredoc_start")
            .is_some_and(|start| self.source(start).contains(['\'', '"', '\\']));
        let stripped = self.source(node).starts_with("<<-");
        let mut target = Word { exact: true, span: span.clone(), ..Word::default() };
        for child in Self::children(node) {
            match child.kind() {
                "heredoc_start" | "heredoc_end" => {}
                "heredoc_body" => {
                    let raw = self.source(child);
                    let tabless: String;
                    let raw = if stripped {
                        tabless = raw.lines().flat_map(|line| [line.trim_start_matches('\t'), "\n"]).collect();
                        &tabless
                    } else {
                        raw
                    };
                    let span = Self::span(child, place);
                    if quoted {
                        raw.clone_into(&mut target.text);
                    } else {
                        self.substitutions(child, place, depth);
                        self.backquoted(raw, &span, place);
                        let last = self.source(node).trim_start_matches(['<', '-', ' ', '\t']);
                        let last = last.split_whitespace().next().unwrap_or_default();
                        if documents::ends_joined(raw, last) {
                            self.walk.unparsed(span.clone());
                        }
                        target = word::expand_here(raw, &self.walk.variables, &span);
                    }
                    target.span = span;
                }
                "pipeline" => after.push((child, true)),
                "file_redirect" | "herestring_redirect" => self.redirect(child, place, depth, redirects, more),
                kind if child.is_error() || child.is_missing() => {
                    let _ = kind;
                    self.walk.unparsed(Self::span(child, place));
                }
                _ if !child.is_named() => {}
                "command" | "list" | "redirected_statement" | "subshell" | "compound_statement" | "negated_command" => {
                    after.push((child, false));
                }
                kind if kind.ends_with("statement") || kind == "variable_assignment" => after.push((child, false)),
                _ => {
                    self.substitutions(child, place, depth);
                    more.extend(self.expand(child, place));
                }
            }
        }
        redirects.push(Redirect { kind: RedirectKind::HereText, target, span });
        after
    }

    pub(super) fn redirect(
        &mut self,
        node: Node<'_>,
        place: &Place,
        depth: usize,
        redirects: &mut Vec<Redirect>,
        more: &mut Vec<Word>,
    ) {
        let span = Self::span(node, place);
        if node.kind() == "heredoc_redirect" {
            for (next, _) in self.heredoc(node, place, depth, redirects, more) {
                self.node(next, place, depth + 1);
            }
            return;
        }
        let source = self.source(node);
        let operator =
            source.trim_start_matches(|c: char| c.is_ascii_digit() || c == '{' || c == '}' || c.is_alphabetic());
        let mut words: Vec<Word> = Vec::new();
        for child in Self::children(node) {
            if child.is_error() {
                // `<>` is not in the grammar.
                if self.source(child).trim_matches('>').is_empty() {
                    continue;
                }
                self.walk.unparsed(span.clone());
            }
            if child.is_named() && child.kind() != "file_descriptor" {
                self.substitutions(child, place, depth);
                words.extend(self.expand(child, place));
            }
        }
        let kind = if node.kind() == "herestring_redirect" {
            RedirectKind::HereText
        } else if operator.starts_with("<>") {
            RedirectKind::ReadWrite
        } else if operator.starts_with("&>>") || operator.starts_with(">>") {
            RedirectKind::Append
        } else if operator.starts_with("&>") {
            RedirectKind::Write
        } else if operator.starts_with(">&") || operator.starts_with("<&") {
            // `>& file` writes a file; `>&2` and `>&-` do not.
            match words.first() {
                Some(word)
                    if operator.starts_with('>') && !word.text.chars().all(|c| c.is_ascii_digit() || c == '-') =>
                {
                    RedirectKind::Write
                }
                _ => RedirectKind::Duplicate,
            }
        } else if operator.starts_with('>') {
            RedirectKind::Write
        } else {
            RedirectKind::Read
        };
        let mut words = words.into_iter();
        let mut target = words.next().unwrap_or_else(|| Word { span: span.clone(), ..Word::default() });
        if kind == RedirectKind::HereText {
            target =
                node.child(1).map_or(target, |raw| word::expand_one(self.source(raw), &self.walk.variables, &span));
        }
        // The grammar takes words behind the target for more targets: they are arguments.
        more.extend(words);
        redirects.push(Redirect { kind, target, span });
    }
}
