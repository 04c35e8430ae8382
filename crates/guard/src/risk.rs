//! How much harm a call may do, and which part of it says so.
//!
//! A tool declares a level; the arguments of a call can only raise it. Shell text is parsed and judged command by
//! command, code and SQL are read as such, paths by where they lead. The same call always gets the same answer, in
//! microseconds, and the answer names the rule and the part that decided.

use std::ops::Range;

use serde_json::Value;

use super::{
    RiskLevel,
    code::{self, Language},
    command::{self, Ground, Verdict},
    files, flow, names,
    paths::{RiskContext, place},
    records::enter,
    shell::{self, Script, SimpleCommand, Word},
    sql,
};
use loopwright_base::{
    json::{DEEPEST_TREE, nested_deeper},
    message::ToolUse,
    text::clip,
};

/// The judgement of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Risk {
    /// How much harm it may do.
    pub level: RiskLevel,
    /// The id of the rule that decided, such as `shell.rm.recursive`.
    pub rule: &'static str,
    /// The part of the call that decided; `None` if it was the tool's own level.
    pub part: Option<Part>,
    /// A sentence for people.
    pub why: String,
}

/// A part of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The argument, as a path: `command`, `edits[0].path`. Empty for plain text.
    pub argument: String,
    /// The bytes of that argument's text.
    pub span: Range<usize>,
    /// The text there.
    pub text: String,
}

/// A tool, as far as its calls' risk goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeclaredRisk {
    /// The level that the tool declares.
    pub level: RiskLevel,
    /// Whether the arguments say all there is to know, so that a shell line may also be less than what is declared.
    pub by_arguments: bool,
}

impl Risk {
    fn of(verdict: Verdict, argument: &str, text: &str, subject: &str) -> Self {
        let mut span = verdict.span;
        span.end = span.end.min(text.len());
        span.start = span.start.min(span.end);
        let shown = text.get(span.clone()).unwrap_or_default();
        let why = format!("{subject} {}.", verdict.why);
        Self {
            level: verdict.level,
            rule: verdict.rule,
            part: Some(Part { argument: argument.to_owned(), text: shown.to_owned(), span }),
            why,
        }
    }

    /// Whether something is gone for good by it, though its level is no more than cautious: a person is asked.
    pub fn loses(&self) -> bool {
        self.level == RiskLevel::Cautious && command::LOSES.contains(&self.rule)
    }

    /// Whether a person is asked for this alone, whatever the task says.
    pub fn asks(&self) -> bool {
        self.level >= RiskLevel::Confirm || self.loses()
    }

    fn rank(&self) -> (RiskLevel, bool) {
        (self.level, self.loses())
    }

    /// The stricter of two, the first if they are alike.
    pub(super) fn or(self, other: Self) -> Self {
        if other.rank() > self.rank() || self.rule.is_empty() { other } else { self }
    }
}

/// The risk of shell text.
pub fn assess_shell(text: &str, context: &RiskContext) -> Risk {
    let _records = enter(context.commands);
    shell_risk(text, "", context)
}

fn shell_risk(text: &str, argument: &str, context: &RiskContext) -> Risk {
    script_risk(&shell::parse(text), text, argument, context)
}

pub(super) fn script_risk(script: &Script, text: &str, argument: &str, context: &RiskContext) -> Risk {
    let ground = Ground::new(context);
    let mut worst = Risk {
        level: RiskLevel::Safe,
        rule: "shell.empty",
        part: Some(Part { argument: argument.to_owned(), span: 0..text.len(), text: text.to_owned() }),
        why: "It runs nothing.".to_owned(),
    };
    let mut any = false;
    for command in &script.commands {
        let verdict = command::judge(command, &ground);
        if verdict.rank() > worst.rank() || !any {
            worst = Risk::of(verdict, argument, text, &subject(command));
            any = true;
        }
        if worst.level == RiskLevel::Dangerous {
            break;
        }
    }
    if worst.level < RiskLevel::Dangerous
        && let Some(verdict) = flow::judge(script, text)
    {
        worst = worst.or(Risk::of(verdict, argument, text, "This command"));
    }
    if let Some(span) = &script.fork_bomb {
        let verdict = Verdict {
            level: RiskLevel::Dangerous,
            rule: "shell.fork_bomb",
            why: "starts itself until the machine stands still".to_owned(),
            span: span.clone(),
        };
        worst = worst.or(Risk::of(verdict, argument, text, "This function"));
    }
    if let Some(span) = script.unparsed.as_ref().filter(|_| !sql::is_whole(text)) {
        let verdict = Verdict {
            level: RiskLevel::Confirm,
            rule: "shell.unparsed",
            why: "cannot be read as shell text".to_owned(),
            span: span.clone(),
        };
        worst = worst.or(Risk::of(verdict, argument, text, "This part"));
    }
    worst
}

fn subject(command: &SimpleCommand) -> String {
    match command.program() {
        Some(name) if name.len() <= 40 => format!("`{name}`"),
        _ => "This command".to_owned(),
    }
}

/// The risk of a call: what the tool declares, raised by what the arguments say.
pub fn assess_risk(call: &ToolUse, tool: Option<DeclaredRisk>, context: &RiskContext) -> Risk {
    // What is nested deeper than a tree of values may be would be looked at as nothing.
    let deep = nested_deeper(call.input.text(), DEEPEST_TREE).then(|| call.input.text());
    if let Some(text) = call.invalid.as_deref().or(deep) {
        let verdict = Verdict {
            level: RiskLevel::Confirm,
            rule: "call.unparsed",
            why: "cannot be read as JSON".to_owned(),
            span: 0..text.len(),
        };
        return declared(&call.name, tool).or(Risk::of(verdict, "", text, "What the model wrote as arguments"));
    }
    assess_arguments(&call.name, &call.input.value(), tool, context)
}

/// As [`assess_risk`], for a name and arguments.
pub fn assess_arguments(name: &str, arguments: &Value, tool: Option<DeclaredRisk>, context: &RiskContext) -> Risk {
    let _records = enter(context.commands);
    let risk = assess_work(name, arguments, tool, context);
    match beyond_fence(arguments) {
        Some(asked) => risk.or(asked),
        None => risk,
    }
}

/// The risk of a call that asks to be let through the fence: a person is asked each time, whoever allowed the line, and
/// no yes to it is kept under the kind of its paths.
fn beyond_fence(arguments: &Value) -> Option<Risk> {
    const ARGUMENT: &str = "beyond_fence";
    let asked = arguments.get(ARGUMENT)?;
    let text = match asked {
        Value::Null => return None,
        Value::Array(items) if items.is_empty() => return None,
        Value::Array(items) => items.iter().map(|item| item.as_str().unwrap_or("?")).collect::<Vec<_>>().join(", "),
        Value::String(text) if text.is_empty() => return None,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Some(Risk {
        level: RiskLevel::Dangerous,
        rule: "fence.beyond",
        part: Some(Part { argument: ARGUMENT.to_owned(), span: 0..text.len(), text: text.clone() }),
        why: format!("It asks to be let through the fence, for all of this session: {}.", clip(&text, 200)),
    })
}

/// What the tool declares, raised by what the other arguments say.
fn assess_work(name: &str, arguments: &Value, tool: Option<DeclaredRisk>, context: &RiskContext) -> Risk {
    let declared = declared(name, tool);
    if tool.is_some_and(|tool| tool.by_arguments) {
        let nothing = Risk { level: RiskLevel::Safe, rule: "", part: None, why: String::new() };
        let said = nothing.or_arguments(name, arguments, context);
        if !said.rule.is_empty() {
            return said;
        }
    }
    declared.or_arguments(name, arguments, context)
}

fn declared(name: &str, tool: Option<DeclaredRisk>) -> Risk {
    let level = tool.map_or_else(RiskLevel::default, |tool| tool.level);
    let why = if tool.is_some() {
        format!("The tool {name:?} is declared {}.", level.name())
    } else {
        format!("The tool {name:?} declares nothing, so it counts as {}.", level.name())
    };
    Risk { level, rule: "tool.declared", part: None, why }
}

/// What a tool does, as its name says.
pub(super) struct Nature {
    shell: bool,
    code: Option<Language>,
    sql: bool,
    deletes: bool,
    writes: bool,
}

pub(super) fn nature(name: &str) -> Nature {
    let mut words: Vec<String> = Vec::new();
    let mut before = '_';
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && before.is_lowercase() || words.is_empty() {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(last) = words.last_mut()
        {
            last.extend(c.to_lowercase());
        }
        before = c;
    }
    let holders: Vec<&str> = words.iter().flat_map(|word| names::holders(word)).copied().collect();
    let has = |list: &str| holders.contains(&list);
    let code = if has("tools.python") {
        Some(Language::Python)
    } else if has("tools.javascript") {
        Some(Language::JavaScript)
    } else {
        has("tools.ruby").then_some(Language::Ruby)
    };
    Nature {
        shell: code.is_none() && has("tools.shell"),
        code,
        sql: has("tools.sql"),
        deletes: has("tools.deleting"),
        writes: has("tools.writing"),
    }
}

/// More texts than these in one call are not looked at.
const MAX_TEXTS: usize = 2048;

impl Risk {
    fn or_arguments(self, name: &str, arguments: &Value, context: &RiskContext) -> Self {
        let nature = nature(name);
        let mut worst = self;
        let mut seen = 0;
        // Arguments within arguments, without recursion.
        let mut open: Vec<(String, String, &Value)> = vec![(String::new(), String::new(), arguments)];
        while let Some((path, key, value)) = open.pop() {
            if worst.level == RiskLevel::Dangerous {
                break;
            }
            match value {
                Value::Object(fields) => {
                    for (field, value) in fields.iter().rev() {
                        let path = if path.is_empty() { field.clone() } else { format!("{path}.{field}") };
                        open.push((path, field.to_ascii_lowercase(), value));
                    }
                }
                Value::Array(values) => {
                    let strings: Option<Vec<String>> =
                        values.iter().map(|value| value.as_str().map(str::to_owned)).collect();
                    if let Some(words) = strings.filter(|words| words.len() > 1)
                        && is_command(&key, &nature)
                    {
                        worst = worst.or(words_risk(&words, &path, context));
                    }
                    for (at, value) in values.iter().enumerate().rev().take(MAX_TEXTS) {
                        open.push((format!("{path}[{at}]"), key.clone(), value));
                    }
                }
                Value::String(text) => {
                    seen += 1;
                    if seen > MAX_TEXTS {
                        let verdict = Verdict {
                            level: RiskLevel::Confirm,
                            rule: "call.unparsed",
                            why: "holds more than is looked at".to_owned(),
                            span: 0..text.len(),
                        };
                        return worst.or(Risk::of(verdict, &path, text, "The call"));
                    }
                    if let Some(risk) = text_risk(text, &path, &key, &nature, context) {
                        worst = worst.or(risk);
                    }
                }
                _ => {}
            }
        }
        worst
    }
}

pub(super) fn is_command(key: &str, nature: &Nature) -> bool {
    names::has("tools.lines", key) || nature.shell && names::has("tools.lines_of_shell", key)
}

/// The language of the code that an argument holds, if it holds any.
pub(super) fn code_of(key: &str, nature: &Nature) -> Option<Language> {
    let code_key = matches!(
        key,
        "code" | "python" | "source" | "script" | "python_code" | "cell" | "program" | "snippet" | "javascript"
    );
    nature
        .code
        .or((code_key && !nature.writes).then_some(Language::Python))
        .filter(|_| code_key || key.is_empty() || matches!(key, "input" | "text" | "content") && nature.code.is_some())
}

fn words_risk(words: &[String], path: &str, context: &RiskContext) -> Risk {
    let text = words.join(" ");
    script_risk(&shell::parse_words(words), &text, path, context)
}

fn text_risk(text: &str, path: &str, key: &str, nature: &Nature, context: &RiskContext) -> Option<Risk> {
    if is_command(key, nature) {
        return Some(shell_risk(text, path, context));
    }
    let mut worst: Option<Risk> = None;
    let mut keep = |risk: Risk| {
        if worst.as_ref().is_none_or(|worst| worst.rank() < risk.rank()) {
            worst = Some(risk);
        }
    };
    let sql_key = matches!(key, "sql" | "statement" | "statements" | "query" | "queries" | "sql_query");
    let is_sql = key == "sql"
        || sql_key && nature.sql
        || sql_key && sql::looks_like(text)
        || nature.sql && sql::looks_like(text) && key != "content";
    if let Some(found) = is_sql.then(|| sql::judge(text)).flatten() {
        let verdict = Verdict { level: found.level, rule: found.rule, why: found.why.to_owned(), span: found.span };
        keep(Risk::of(verdict, path, text, "This statement"));
    }
    if matches!(key, "method" | "http_method" | "request_method" | "verb") && text.trim().eq_ignore_ascii_case("delete")
    {
        let verdict = Verdict {
            level: RiskLevel::Confirm,
            rule: "http.delete",
            why: "asks a server to delete something".to_owned(),
            span: 0..text.len(),
        };
        keep(Risk::of(verdict, path, text, "This request"));
    }
    if let Some(language) = code_of(key, nature) {
        let command = SimpleCommand::nothing(0..text.len());
        let word = Word { text: String::new(), exact: true, span: 0..text.len(), ..Word::default() };
        let ground = Ground::new(context);
        for act in code::acts(text, language) {
            if let Some(verdict) = command::act_verdict(&act, &word, &command, &ground) {
                keep(Risk::of(verdict, path, text, "This code"));
            }
        }
    }
    let path_key = names::has("tools.paths", key);
    if path_key
        && (nature.writes || nature.deletes)
        && text.len() < 4096
        && !text.contains('\n')
        && !text.contains("://")
    {
        let source = matches!(key, "from" | "src" | "source" | "source_path" | "old_path");
        let place = place(text, true, context);
        let many = text.contains(['*', '?']);
        let (level, rule, verb) = if nature.deletes {
            (files::delete(place, many, many).max(RiskLevel::Confirm), "file.delete", "would delete")
        } else if source {
            (RiskLevel::Cautious, "file.write", "would take")
        } else {
            (files::write(place).max(outside(place, context)), "file.write", "would write")
        };
        let verdict = Verdict { level, rule, why: format!("{verb} in {}", place.words()), span: 0..text.len() };
        keep(Risk::of(verdict, path, text, "The call"));
    }
    worst
}

/// A tool that writes files belongs into the workspace.
#[allow(clippy::match_same_arms)] // tried in order
fn outside(place: super::paths::Place, context: &RiskContext) -> RiskLevel {
    use super::paths::Place;
    match place {
        Place::Nowhere | Place::Temporary | Place::Workspace => RiskLevel::Cautious,
        Place::WholeWorkspace | Place::WholeHome | Place::Home | Place::Unknown => RiskLevel::Confirm,
        Place::Elsewhere if context.workspace.is_some() => RiskLevel::Confirm,
        Place::Elsewhere => RiskLevel::Cautious,
        Place::Private | Place::System | Place::Root => RiskLevel::Confirm,
        Place::Device => RiskLevel::Dangerous,
    }
}
