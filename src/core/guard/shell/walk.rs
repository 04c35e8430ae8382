//! From the syntax tree to simple commands, in the order of the text, with what variables and folders are known.

use std::{cell::Cell, collections::BTreeMap, ops::ControlFlow, ops::Range};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::{
    Input, MAX_COMMANDS, MAX_NESTING, MAX_TEXT, Redirect, RedirectKind, Script, SimpleCommand, Via, Word,
    word::{self, Value, Variables},
    wrap::{self, Inner},
};

/// Deeper trees are not read further.
const MAX_DEPTH: usize = 120;
/// All texts of one call, those inside of others included, are no longer than this together.
const MAX_TOTAL: usize = 4 * MAX_TEXT;
/// So many pipes in one text, or in one line, take the parser more than linear time.
const MAX_PIPES: usize = 1500;
const MAX_PIPES_A_LINE: usize = 250;
/// More here documents than these in one text are not read: the scanner's memory of them is small.
const MAX_HERE_DOCUMENTS: usize = 200;
/// The text is read in pieces of so many bytes, and all of it no more often than this.
const PIECE: usize = 256;
const MOST_READINGS: usize = 12;
/// No more variables, and no longer ones, are remembered.
const MAX_VARIABLES: usize = 256;
const MAX_VALUE: usize = 4096;
/// How often the parser may report that it goes on (once per hundred steps or so): in all, and after an error.
const MAX_PROGRESS: usize = 20_000;
const MAX_PROGRESS_IN_ERROR: usize = 60;

/// Where a command is found.
#[derive(Clone)]
struct Place {
    via: Via,
    elevated: bool,
    remote: bool,
    input: Input,
    nesting: usize,
    /// In the text of another command: the span of the word that holds the text.
    within: Option<Range<usize>>,
    /// The function whose body this is.
    function: Option<String>,
    pipeline: usize,
    grouped: bool,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            via: Via::Direct,
            elevated: false,
            remote: false,
            input: Input::None,
            nesting: 0,
            within: None,
            function: None,
            pipeline: 0,
            grouped: false,
        }
    }
}

struct Walk {
    script: Script,
    variables: Variables,
    cwd: Option<Word>,
    budget: usize,
    looks: usize,
    pipelines: usize,
}

impl Walk {
    fn new() -> Self {
        Self {
            script: Script::default(),
            variables: BTreeMap::new(),
            cwd: None,
            budget: MAX_TOTAL,
            looks: 0,
            pipelines: 0,
        }
    }
}

pub(super) fn script(text: &str) -> Script {
    let mut walk = Walk::new();
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    walk.text(&text[..end], &Place::default());
    if end < text.len() {
        walk.unparsed(end..text.len());
    }
    walk.script
}

pub(super) fn argv(words: &[String]) -> Script {
    let mut walk = Walk::new();
    let mut at = 0;
    let words = words.iter().map(|text| {
        let span = at..at + text.len();
        at = span.end + 1;
        Word { text: text.clone(), exact: true, pattern: false, span }
    });
    let words: Vec<Word> = words.collect();
    let span = 0..at.saturating_sub(1);
    walk.emit(words, Vec::new(), span, &Place::default());
    walk.script
}

fn tree_of(text: &str) -> Result<Tree, usize> {
    let pipes = text.bytes().filter(|byte| *byte == b'|').count();
    if pipes > MAX_PIPES_A_LINE
        && (pipes > MAX_PIPES
            || text.lines().any(|line| line.bytes().filter(|byte| *byte == b'|').count() > MAX_PIPES_A_LINE))
    {
        return Err(0);
    }
    // The grammar's scanner, written in C, looks every character up in tables meant for bytes. It gets ASCII alone:
    // a byte for each byte, so that what it finds holds for the text as it is.
    let bytes = legible(text);
    let documents = bytes.windows(2).filter(|pair| *pair == b"<<").count();
    if documents > MAX_HERE_DOCUMENTS {
        return Err(0);
    }
    let mut parser = Parser::new();
    if parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_err() {
        return Err(0);
    }
    let (mut steps, mut in_error, mut reached) = (0, 0, 0);
    // Some texts make the scanner look to the end at every step: it is handed pieces, and no more of them than a text
    // that can be read would need.
    let mut pieces = 64 + MOST_READINGS * bytes.len() / PIECE;
    let gave_up = Cell::new(false);
    let mut progress = |state: &ParseState| {
        steps += 1;
        if state.has_error() {
            in_error += 1;
        } else {
            reached = state.current_byte_offset();
        }
        if gave_up.get() || steps > MAX_PROGRESS || in_error > MAX_PROGRESS_IN_ERROR {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut read = |at: usize, _| {
        if pieces == 0 {
            gave_up.set(true);
            return &[] as &[u8];
        }
        pieces -= 1;
        bytes.get(at..bytes.len().min(at.saturating_add(PIECE))).unwrap_or_default()
    };
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    if gave_up.get() {
        return Err(0);
    }
    tree.ok_or(reached)
}

/// The text as the grammar gets it: ASCII, and words that begin with a brace (`{a,b}`), which it would take for a group,
/// with letters in place of their braces.
fn legible(text: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = text.bytes().map(|byte| if byte.is_ascii() && byte != 0 { byte } else { b'z' }).collect();
    if !bytes.contains(&b'{') {
        return bytes;
    }
    for run in bytes.split_mut(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')')) {
        if let [b'{', next, ..] = run
            && *next != b'}'
            && !run.contains(&b'$')
        {
            run.iter_mut().filter(|byte| matches!(byte, b'{' | b'}')).for_each(|byte| *byte = b'z');
        }
    }
    bytes
}

impl Walk {
    fn unparsed(&mut self, span: Range<usize>) {
        if self.script.unparsed.is_none() {
            self.script.unparsed = Some(span);
        }
    }

    /// Reads a whole text: the one given, or one found inside.
    fn text(&mut self, text: &str, place: &Place) {
        let whole = place.within.clone().unwrap_or(0..text.len());
        if place.nesting > MAX_NESTING || text.len() > self.budget {
            return self.unparsed(whole);
        }
        self.budget -= text.len();
        if text.contains('\0') {
            self.unparsed(whole.clone());
        }
        match tree_of(text) {
            Ok(tree) => Reader { walk: self, text }.node(tree.root_node(), place, 0),
            Err(reached) => {
                self.unparsed(whole);
                // What stands before the place that was too hard still counts.
                let mut end = reached.min(text.len());
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
                if end > 0
                    && let Ok(tree) = tree_of(&text[..end])
                {
                    Reader { walk: self, text: &text[..end] }.node(tree.root_node(), place, 0)
                } else {
                    Input::Piped(String::new())
                }
            }
        };
    }

    /// Takes down one simple command, and those that it runs.
    fn emit(&mut self, words: Vec<Word>, redirects: Vec<Redirect>, span: Range<usize>, place: &Place) -> Input {
        if self.script.commands.len() >= MAX_COMMANDS {
            self.unparsed(span);
            return Input::Piped(String::new());
        }
        let here = redirects.iter().rfind(|redirect| redirect.kind == RedirectKind::HereText);
        let input = match here {
            Some(here) => Input::Known(here.target.clone()),
            None if redirects.iter().any(|redirect| redirect.kind == RedirectKind::Read) => Input::None,
            None => place.input.clone(),
        };
        let command = SimpleCommand {
            words,
            redirects,
            input,
            span: span.clone(),
            via: place.via,
            elevated: place.elevated,
            remote: place.remote,
            cwd: self.cwd.clone(),
            pipeline: place.pipeline,
            grouped: place.grouped,
        };
        let output = output_of(&command);
        let inner = wrap::inner(&command);
        let read: Vec<Redirect> = if inner.is_empty() {
            Vec::new()
        } else {
            command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read).cloned().collect()
        };
        let folder = folder_after(&command);
        self.script.commands.push(command);
        if place.nesting >= MAX_NESTING {
            if !inner.is_empty() {
                self.unparsed(span);
            }
            return output;
        }
        for Inner { words, text, via, elevated, remote, input } in inner {
            let mut place = Place {
                via,
                elevated: place.elevated || elevated,
                remote: place.remote || remote,
                input,
                nesting: place.nesting + 1,
                within: Some(span.clone()),
                function: place.function.clone(),
                pipeline: place.pipeline,
                grouped: false,
            };
            if let Some(text) = text {
                place.within = Some(text.span.clone());
                // What it does to variables and folders stays in there.
                let outer = (self.variables.clone(), self.cwd.clone());
                self.text(&text.text, &place);
                (self.variables, self.cwd) = outer;
            } else {
                // What a wrapper reads, the wrapped program reads.
                let passed = matches!(via, Via::Wrapper | Via::Remote).then(|| read.clone()).unwrap_or_default();
                self.emit(words, passed, span.clone(), &place);
            }
        }
        match folder {
            Folder::Stays => {}
            Folder::Is(word) => self.cwd = Some(word),
            Folder::Unknown => self.cwd = Some(Word { text: "?".to_owned(), span, ..Word::default() }),
        }
        output
    }
}

/// Where the commands after this one run.
enum Folder {
    Stays,
    Is(Word),
    Unknown,
}

fn folder_after(command: &SimpleCommand) -> Folder {
    match command.program() {
        Some("cd" | "pushd")
            if matches!(
                command.via,
                Via::Direct | Via::Function | Via::Substitution | Via::ShellText | Via::Eval | Via::Stdin | Via::Remote
            ) =>
        {
            let target = command.words.iter().skip(1).find(|word| !word.text.starts_with('-') || word.text == "-");
            match target {
                None => Folder::Is(Word { text: "~".to_owned(), exact: true, ..Word::default() }),
                Some(word) if word.text == "-" || word.pattern => Folder::Unknown,
                Some(word) if word.text.starts_with(['/', '~', '$']) => Folder::Is(word.clone()),
                Some(word) => match &command.cwd {
                    Some(before) if !before.exact && !before.text.starts_with(['$', '~']) => Folder::Unknown,
                    Some(before) => Folder::Is(Word {
                        text: format!("{}/{}", before.text, word.text),
                        exact: word.exact && before.exact,
                        ..word.clone()
                    }),
                    None => Folder::Is(word.clone()),
                },
            }
        }
        Some("popd") => Folder::Unknown,
        _ => Folder::Stays,
    }
}

fn output_of(command: &SimpleCommand) -> Input {
    let name = command.program().unwrap_or_default();
    let exact = command.words.iter().all(|word| word.exact && !word.pattern);
    if name == "cat"
        && command.words.iter().skip(1).all(|word| word.text == "-")
        && let Input::Known(text) = &command.input
    {
        return Input::Known(text.clone());
    }
    if matches!(name, "echo" | "printf") && exact {
        let words: Vec<&str> =
            std::iter::once(name).chain(command.words.iter().skip(1).map(|word| word.text.as_str())).collect();
        if let Some(text) = word::printed(&words) {
            return Input::Known(Word { text, exact: true, pattern: false, span: command.span.clone() });
        }
    }
    Input::Piped(name.to_owned())
}

struct Reader<'w, 't> {
    walk: &'w mut Walk,
    text: &'t str,
}

impl<'t> Reader<'_, 't> {
    fn span(node: Node<'_>, place: &Place) -> Range<usize> {
        place.within.clone().unwrap_or_else(|| node.byte_range())
    }

    fn source(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn children(node: Node<'_>) -> Vec<Node<'_>> {
        let mut cursor = node.walk();
        node.children(&mut cursor).collect()
    }

    /// Reads a node; what it prints comes back.
    fn node(&mut self, node: Node<'_>, place: &Place, depth: usize) -> Input {
        self.node_with(node, place, depth, &mut Vec::new())
    }

    /// Reads a node whose last command gets these redirections.
    fn node_with(&mut self, node: Node<'_>, place: &Place, depth: usize, redirects: &mut Vec<Redirect>) -> Input {
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
                let values: Vec<Word> = {
                    let mut cursor = node.walk();
                    let raws: Vec<_> = node.children_by_field_name("value", &mut cursor).collect();
                    raws.iter().flat_map(|raw| self.expand(*raw, place)).collect()
                };
                if let Some(name) = node.child_by_field_name("variable") {
                    let known = values.iter().all(|word| word.exact) && !values.is_empty();
                    let value = if known {
                        Value::Many(values.into_iter().map(|word| word.text).collect())
                    } else {
                        Value::Unknown
                    };
                    self.walk.variables.insert(self.source(name).to_owned(), value);
                }
                self.branch(|reader| {
                    reader.all(node, place, depth);
                });
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
            _ => {
                self.all(node, place, depth);
                unknown
            }
        }
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

    fn assign(&mut self, node: Node<'_>, place: &Place) {
        let source = self.source(node);
        let Some((name, raw)) = source.split_once('=') else { return };
        let (name, appends) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
        if name.contains('[') {
            let name = name.split('[').next().unwrap_or(name);
            self.walk.variables.insert(name.to_owned(), Value::Unknown);
            return;
        }
        let span = Self::span(node, place);
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
            Value::Many(values) => values.iter().map(String::len).sum::<usize>() > MAX_VALUE,
            Value::Unknown => false,
        };
        if self.walk.variables.len() < MAX_VARIABLES || self.walk.variables.contains_key(name) {
            self.walk.variables.insert(name.to_owned(), if long { Value::Unknown } else { value });
        }
    }

    fn expand(&self, node: Node<'_>, place: &Place) -> Vec<Word> {
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
        let mut more = Vec::new();
        // `X=rm Y=… program`: for the program alone, but written before it runs.
        for child in Self::children(node) {
            if child.kind().ends_with("_redirect") {
                self.redirect(child, place, depth, &mut redirects, &mut more);
            } else if child.kind() == "subshell" && !self.is_pattern(child) {
                self.node(child, place, depth + 1);
            } else {
                self.substitutions(child, place, depth);
            }
        }
        let mut words = self.words(node, place);
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
        self.walk.emit(words, redirects, span, place)
    }

    /// `read X`, `printf -v X`, `mapfile X`: the variables are no longer what they were.
    fn forget_what_is_read(&mut self, words: &[Word]) {
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

    /// Reads the substitutions inside of a word.
    fn substitutions(&mut self, node: Node<'_>, place: &Place, depth: usize) {
        if depth > MAX_DEPTH {
            return self.walk.unparsed(Self::span(node, place));
        }
        if node.is_error() || node.is_missing() {
            self.walk.unparsed(Self::span(node, place));
        }
        if matches!(node.kind(), "command_substitution" | "process_substitution") {
            self.node(node, place, depth + 1);
        } else if node.child_count() > 0 {
            for child in Self::children(node) {
                self.substitutions(child, place, depth + 1);
            }
        }
    }

    fn redirected(&mut self, node: Node<'_>, place: &Place, depth: usize, outer: &mut Vec<Redirect>) -> Input {
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

    fn command_with(
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

    fn redirect(
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

/// A value that is known by its name though not by its text.
fn stands_for_itself(text: &str) -> bool {
    let rest = ["$HOME", "$TMPDIR", "$PWD"].iter().find_map(|name| text.strip_prefix(name));
    rest.is_some_and(|rest| (rest.is_empty() || rest.starts_with('/')) && !rest.contains(['$', '`']))
}

fn joins(gap: Option<&str>) -> bool {
    let mut gap = gap.unwrap_or(" ");
    while let Some(rest) = gap.strip_prefix("\\\n").or_else(|| gap.strip_prefix("\\\r\n")) {
        gap = rest;
    }
    gap.is_empty()
}
