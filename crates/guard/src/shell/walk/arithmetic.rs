//! What a shell evaluates a second time: in arithmetic, in subscripts, behind `-v` and in `${x@P}`, the contents of
//! variables are read as expressions, and a substitution in them runs. So a variable may stand there that the text
//! does not set, or sets to what is told to be harmless; whatever order the text runs in.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use tree_sitter::Node;

use super::{
    super::{
        super::{command::lasts, names},
        Word, word,
    },
    Place, Walk,
    reader::{MAX_DEPTH, Reader},
};

/// In place of a name: what the text does not tell, or what runs something where it is evaluated.
const UNTOLD: &str = "";

/// Where values come from and where they are evaluated.
#[derive(Default)]
pub(super) struct Flows {
    /// By name, the variables that were made of it.
    into: BTreeMap<String, Vec<String>>,
    evaluated: BTreeMap<String, Range<usize>>,
    /// Texts that hold substitutions which run only where they are evaluated.
    hidden: Vec<String>,
    /// A program may be a function of the text.
    functions: bool,
}

impl Flows {
    /// The first name that is evaluated though its value is not known to be harmless.
    fn doubtful(&self) -> Option<(&str, Range<usize>)> {
        let (mut seen, mut open) = (BTreeSet::from([UNTOLD]), vec![UNTOLD]);
        while let Some(name) = open.pop() {
            let made = self.into.get(name).into_iter().flatten().map(String::as_str);
            open.extend(made.filter(|name| seen.insert(name)));
        }
        let (name, span) = self.evaluated.iter().find(|(name, _)| seen.contains(name.as_str()))?;
        Some((name, span.clone()))
    }
}

impl Walk {
    /// Takes down what is evaluated a second time, as a command that is set up by what nobody knows.
    pub(super) fn evaluate(&mut self) {
        let Some((name, span)) = self.flows.doubtful() else { return };
        let setting = Word { text: format!("(({name}))=?"), span: span.clone(), ..Word::default() };
        let place = Place { nesting: 1, within: Some(span.clone()), ..Place::default() };
        let hidden: Vec<String> = self.flows.hidden.iter().map(|text| format!(": \"{text}\"")).collect();
        self.text_apart(&hidden.join("\n"), &place);
        self.settings = vec![setting];
        self.emit(Vec::new(), Vec::new(), span, &Place::default());
    }
}

impl Reader<'_, '_> {
    /// Looks through a tree for variables that are set, and for all that is evaluated.
    pub(super) fn flows(&mut self, root: Node<'_>, place: &Place) {
        let mut cursor = root.walk();
        loop {
            self.flow(cursor.node(), place);
            // No reader goes as deep: its steps are at times several of the tree's.
            if cursor.depth() as usize <= 4 * MAX_DEPTH && cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
            }
        }
    }

    fn flow(&mut self, node: Node<'_>, place: &Place) {
        let source = self.source(node);
        match node.kind() {
            "function_definition" => self.walk.flows.functions = true,
            "variable_assignment" => {
                let name = source.split(['=', '[', '+']).next().unwrap_or_default();
                let value = node.child_by_field_name("value");
                self.made(name, value.into_iter().collect());
            }
            "for_statement" => {
                let mut cursor = node.walk();
                let values: Vec<_> = node.children_by_field_name("value", &mut cursor).collect();
                let name = node.child_by_field_name("variable").map_or("", |name| self.source(name));
                self.made(name, values);
            }
            "arithmetic_expansion" => self.evaluates(Self::children(node), place),
            "compound_statement" if source.starts_with("((") => self.evaluates(Self::children(node), place),
            "c_style_for_statement" => {
                let mut parts = Self::children(node);
                parts.retain(|part| !matches!(part.kind(), "do_group" | "compound_statement"));
                self.evaluates(parts, place);
            }
            "subscript" => {
                let index = node.child_by_field_name("index").filter(|index| !matches!(self.source(*index), "@" | "*"));
                self.evaluates(index.into_iter().collect(), place);
            }
            "expansion" => self.expansion(source, &Self::span(node, place)),
            "unary_expression" => {
                if let [option, named] = Self::children(node)[..]
                    && self.source(option) == "-v"
                {
                    self.named(named, place);
                }
            }
            "test_command" if source.starts_with("[[") => {
                // Both sides of `-eq` and its like are arithmetic there.
                let mut open = vec![node];
                while let Some(node) = open.pop() {
                    let parts = Self::children(node);
                    let compares =
                        |part: &Node<'_>| matches!(self.source(*part), "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge");
                    if parts.iter().any(compares) {
                        self.evaluates(parts, place);
                    } else {
                        open.extend(parts.into_iter().filter(|part| !part.kind().ends_with("substitution")));
                    }
                }
            }
            "unset_command" => Self::children(node).into_iter().skip(1).for_each(|part| self.named(part, place)),
            "command" => {
                let parts = Self::children(node);
                let texts: Vec<&str> = parts.iter().map(|part| self.source(*part)).collect();
                self.taken(&texts);
                match texts[..] {
                    ["printf", "-v", name, ..] => {
                        self.named(parts[2], place);
                        self.made(name, parts[3..].to_vec());
                    }
                    ["test", ..] => {
                        let behind = texts.windows(2).zip(&parts[1..]).filter(|(pair, _)| pair[0] == "-v");
                        behind.for_each(|(_, part)| self.named(*part, place));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// `read X`, `mapfile X`: variables that hold what stands in a file or a pipe.
    fn taken(&mut self, texts: &[&str]) {
        if let [command, rest @ ..] = texts
            && names::has("programs.taking", command)
        {
            let given = rest.iter().filter(|text| !text.starts_with('-')).map(|name| (*name).to_owned());
            let taken = given.chain(names::list("programs.taken").iter().cloned());
            self.walk.flows.into.entry(UNTOLD.to_owned()).or_default().extend(taken);
        }
    }

    fn made(&mut self, name: &str, values: Vec<Node<'_>>) {
        for source in self.sources(values, false) {
            self.walk.flows.into.entry(source).or_default().push(name.to_owned());
        }
    }

    fn evaluates(&mut self, nodes: Vec<Node<'_>>, place: &Place) {
        let Some(span) = nodes.first().map(|node| Self::span(*node, place)) else { return };
        for name in self.sources(nodes, true) {
            self.walk.flows.evaluated.entry(name).or_insert_with(|| span.clone());
        }
    }

    /// A variable that is named to a command: its subscript is evaluated.
    fn named(&mut self, node: Node<'_>, place: &Place) {
        if !matches!(node.kind(), "word" | "variable_name") || self.source(node).contains('[') {
            self.evaluates(vec![node], place);
        }
    }

    /// `${!x}`, `${x@P}`, `${x:from:length}`
    fn expansion(&mut self, source: &str, span: &Range<usize>) {
        let inside = source.strip_prefix("${").and_then(|source| source.strip_suffix('}')).unwrap_or_default();
        let (indirect, inside) = inside.strip_prefix('!').map_or((false, inside), |inside| (true, inside));
        let end = inside.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(inside.len());
        let end = if end == 0 && inside.starts_with(['@', '*']) { 1 } else { end };
        let (name, rest) = inside.split_at(end);
        let rest = rest.rsplit_once(']').filter(|_| rest.starts_with('[')).map_or(rest, |(_, rest)| rest);
        let lists = inside.ends_with(['@', '*']) || inside.ends_with("[@]") || inside.ends_with("[*]");
        let mut names = Vec::new();
        if indirect && !lists || rest.starts_with('@') && rest.contains('P') {
            names.push(name.to_owned());
        }
        if let Some(places) = rest.strip_prefix(':').filter(|rest| !rest.starts_with(['-', '=', '+', '?'])) {
            told(places, &['[', '`', '(', '\''], &mut names);
        }
        for name in names {
            self.walk.flows.evaluated.entry(name).or_insert_with(|| span.clone());
        }
    }

    /// The names that the value of some nodes hangs on.
    fn sources(&mut self, nodes: Vec<Node<'_>>, arithmetic: bool) -> Vec<String> {
        let (mut names, mut open) = (Vec::new(), nodes);
        while let Some(node) = open.pop() {
            if !node.is_named() {
                continue;
            }
            let source = self.source(node);
            match node.kind() {
                "arithmetic_expansion" | "test_operator" => {}
                "command_substitution" => match self.foreseen(node) {
                    Some(text) => told(&text, &['[', '`', '$', '='], &mut names),
                    None if self.prints_number(node) => {}
                    None => names.push(UNTOLD.to_owned()),
                },
                "process_substitution" => names.push(UNTOLD.to_owned()),
                "expansion" if source.starts_with("${#") => {}
                "expansion" => told(source, &['\'', '"', '`', '\\', '('], &mut names),
                "simple_expansion" => told(source, &[], &mut names),
                "subscript" => open.extend(node.child_by_field_name("name")),
                kind => {
                    let parts = Self::children(node);
                    if !parts.is_empty() {
                        open.extend(parts);
                        continue;
                    }
                    let at = names.len();
                    told(source, &['[', '`', '$', '='], &mut names);
                    if names.last().is_some_and(|name| name == UNTOLD) {
                        let text = source.trim_matches('\'').replace("\\$", "$").replace("\\`", "`");
                        if text.contains("$(") || text.contains('`') {
                            self.walk.flows.hidden.push(text);
                        }
                    }
                    // `for f in *`: any name; `((PATH=1))`
                    let sets = arithmetic && names[at..].iter().any(|name| lasts(name)) && self.sets(node);
                    if kind == "word" && source.contains(['*', '?']) || sets {
                        names.push(UNTOLD.to_owned());
                    }
                }
            }
        }
        names
    }

    /// Whether a name in arithmetic is given a value there.
    fn sets(&self, node: Node<'_>) -> bool {
        let before = self.text.get(..node.start_byte()).unwrap_or_default().trim_end();
        let behind = self.text.get(node.end_byte()..).unwrap_or_default().trim_start();
        let behind = behind.split_once(']').filter(|_| behind.starts_with('[')).map_or(behind, |(_, rest)| rest);
        let behind = behind.trim_start();
        let changed = behind.trim_start_matches(['+', '-', '*', '/', '%', '&', '^', '|']);
        let shifted = behind.strip_prefix("<<").or_else(|| behind.strip_prefix(">>")).unwrap_or(changed);
        let steps = |text: &str| text == "++" || text == "--";
        shifted.starts_with('=') && !shifted.starts_with("==")
            || behind.get(..2).is_some_and(steps)
            || before.len() > 1 && before.get(before.len() - 2..).is_some_and(steps)
    }

    /// What a substitution prints, where no variable has to be known for it.
    fn foreseen(&self, node: Node<'_>) -> Option<String> {
        let source = self.source(node);
        let plain = !source.get(2..).unwrap_or_default().contains('$') && !self.walk.flows.functions;
        let word = plain.then(|| word::expand_one(source, &BTreeMap::new(), &(0..0)));
        word.filter(|word| word.exact).map(|word| word.text)
    }

    /// Whether a substitution prints a number, whatever its program is given.
    fn prints_number(&self, node: Node<'_>) -> bool {
        let mut last = node;
        while last.kind() != "command" {
            let next = match last.kind() {
                "redirected_statement" => last.child_by_field_name("body"),
                "pipeline" => Self::children(last).into_iter().rfind(Node::is_named),
                "command_substitution" if last.named_child_count() == 1 => last.named_child(0),
                _ => None,
            };
            let Some(next) = next else { return false };
            last = next;
        }
        let words: Vec<&str> = self.source(last).split_whitespace().collect();
        !self.walk.flows.functions
            && match words[..] {
                ["wc" | "nproc", ..] | ["id", "-u" | "-g"] => true,
                ["seq", ref rest @ ..] => !rest.iter().any(|word| word.starts_with('-')),
                ["date", .., format] => format.trim_matches(['\'', '"']).starts_with("+%") && format.len() < 6,
                // Of several files it says which.
                ["grep", options, _] | ["grep", options, _, _] => {
                    options.strip_prefix('-').is_some_and(|letters| {
                        letters.contains('c') && letters.bytes().all(|letter| b"ciEFwvx".contains(&letter))
                    }) && !words[words.len() - 1].contains(['*', '?', '[', '{'])
                }
                ["git", "rev-list", ref rest @ ..] => rest.contains(&"--count"),
                _ => false,
            }
    }
}

/// The names in a text, and that it tells not all where it holds one of the signs.
fn told(text: &str, signs: &[char], names: &mut Vec<String>) {
    let parts = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let is_name = |part: &&str| part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    names.extend(parts.filter(is_name).map(str::to_owned));
    if text.contains(signs) {
        names.push(UNTOLD.to_owned());
    }
}
