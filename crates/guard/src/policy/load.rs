//! Rules from TOML, with the place of everything that is wrong: file, line, column and rule.
//!
//! Nothing is guessed and nothing is skipped: a key that is not known, a rule without examples or an example that does
//! not hold makes the whole file an error. Each rule is held against its examples while it is read.

use std::ops::Range;

use loopwright_base::text::head;
use serde_json::{Value, json};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    PolicyError, PolicySource, Tier, Verdict,
    host::{DomainPattern, expression},
    place::{Match, PathPattern, Surroundings},
    rule::{Command, Override, Rule, Test},
    subject::Subject,
};
use crate::RiskLevel;

/// Bytes of a file, and rules in one.
const MOST_BYTES: usize = 1 << 20;
const MOST_RULES: usize = 2_000;
/// Alternatives in one condition.
const MOST_ALTERNATIVES: usize = 1_000;

const KEYS: [&str; 11] =
    ["id", "verdict", "why", "tool", "arguments", "shell", "path", "domain", "overrides", "lifts", "examples"];

const CONDITIONS: [&str; 5] = ["tool", "arguments", "shell", "path", "domain"];

type Item<'i> = Spanned<DeValue<'i>>;

/// A file, read.
pub(super) struct Loaded {
    pub(super) rules: Vec<Rule>,
    /// Whether it says that commands run fenced, or unfenced.
    pub(super) sandbox: Option<bool>,
}

/// The rules of a file.
pub(super) fn load(source: &PolicySource) -> Result<Loaded, PolicyError> {
    let mut reader = Reader { source, rule: None };
    let text = source.text.as_str();
    if text.len() > MOST_BYTES {
        return Err(reader.wrong(&(0..0), "too_large", format!("the file has more than {MOST_BYTES} bytes")));
    }
    let table = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        reader.wrong(&span, "policy_syntax", error.message().to_owned()).hint("mend the TOML at that place")
    })?;
    let mut rules = Vec::new();
    let mut sandbox = None;
    for (key, item) in table.get_ref() {
        if key.get_ref() == "sandbox" {
            sandbox = Some(reader.sandbox(item)?);
            continue;
        }
        if key.get_ref() != "rule" {
            let message = format!("there is no setting named {:?}", short(key.get_ref()));
            return Err(reader
                .wrong(&key.span(), "unknown_key", message)
                .hint("a policy is a list of [[rule]], and sandbox = true or false"));
        }
        let Some(items) = item.get_ref().as_array() else {
            return Err(reader.wrong(&key.span(), "invalid_rule", "rules are a list").hint("write [[rule]]"));
        };
        if items.len() > MOST_RULES {
            return Err(reader.wrong(&key.span(), "too_large", format!("there are more than {MOST_RULES} rules")));
        }
        for item in items {
            rules.push(reader.rule(item)?);
        }
    }
    let mut seen = std::collections::HashSet::new();
    for rule in &rules {
        if !seen.insert(rule.id.as_str()) {
            let error = PolicyError {
                rule: Some(rule.id.clone()),
                line: rule.line,
                ..reader.wrong(&(0..0), "duplicate_rule", "two rules have this id")
            };
            return Err(error.hint("give one of them another id"));
        }
    }
    reader.contradictions(&rules)?;
    Ok(Loaded { rules, sandbox })
}

/// What stands last in a command that more words may follow.
const MORE: [&str; 2] = ["…", "..."];

struct Reader<'s> {
    source: &'s PolicySource,
    rule: Option<String>,
}

impl Reader<'_> {
    fn wrong(&self, span: &Range<usize>, code: &'static str, message: impl Into<String>) -> PolicyError {
        let text = &self.source.text;
        let before = head(text, span.start);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        PolicyError {
            code,
            file: self.source.name.clone(),
            line,
            column,
            rule: self.rule.clone(),
            message: message.into(),
            hint: None,
        }
    }

    /// Whether commands run fenced: a file of the workspace, which a model may write, never takes the fence away.
    fn sandbox(&self, item: &Item<'_>) -> Result<bool, PolicyError> {
        let Some(on) = item.get_ref().as_bool() else { return Err(self.kind(item, "sandbox", "true or false")) };
        if !on && self.source.tier < Tier::User {
            let message = format!("a policy of the tier {:?} can't take the fence away", self.source.tier.name());
            let hint = "say it in ~/.config/loopwright/policy.toml, or with Guard(sandbox=False)";
            return Err(self.wrong(&item.span(), "invalid_setting", message).hint(hint));
        }
        Ok(on)
    }

    fn rule(&mut self, item: &Item<'_>) -> Result<Rule, PolicyError> {
        self.rule = None;
        let Some(table) = item.get_ref().as_table() else {
            return Err(self.wrong(&item.span(), "invalid_rule", "a rule is a table").hint("write [[rule]]"));
        };
        let start = item.span();
        let id = match table.get("id") {
            None => {
                return Err(self.wrong(&start, "invalid_rule", "the rule has no id").hint("add id = \"…\""));
            }
            Some(item) => self.text(item, "id")?,
        };
        if id.is_empty() || id.len() > 100 || id.chars().any(|c| c.is_whitespace() || c.is_control() || c == ':') {
            let message = format!("{:?} is no id", short(&id));
            return Err(self.wrong(&start, "invalid_rule", message).hint("up to 100 characters, no blanks, no colon"));
        }
        self.rule = Some(id.clone());
        for (key, _) in table {
            if !KEYS.contains(&key.get_ref().as_ref()) {
                let message = format!("there is no setting named {:?}", short(key.get_ref()));
                return Err(self.wrong(&key.span(), "unknown_key", message).hint(format!("use {}", KEYS.join(", "))));
            }
        }
        let Some(verdict) = table.get("verdict") else {
            let hint = "add verdict = \"forbid\", \"ask\" or \"allow\"";
            return Err(self.wrong(&start, "invalid_rule", "the rule has no verdict").hint(hint));
        };
        let name = self.text(verdict, "verdict")?;
        let Some(decided) = Verdict::named(&name) else {
            let message = format!("there is no verdict named {:?}", short(&name));
            return Err(self.wrong(&verdict.span(), "unknown_level", message).hint("use forbid, ask or allow"));
        };
        let texts = |reader: &Self, key: &str| table.get(key).map_or(Ok(Vec::new()), |item| reader.texts(item, key));
        let mut rule = Rule {
            id,
            tier: self.source.tier,
            verdict: decided,
            why: table.get("why").map_or(Ok(String::new()), |item| self.text(item, "why"))?,
            file: self.source.name.clone(),
            line: self.wrong(&start, "", "").line,
            tools: texts(self, "tool")?,
            arguments: Vec::new(),
            shell: Vec::new(),
            paths: Vec::new(),
            domains: Vec::new(),
            overrides: table.get("overrides").map_or(Ok(Vec::new()), |item| self.overrides(item))?,
            lifts: if self.source.tier >= Tier::User { RiskLevel::Confirm } else { RiskLevel::Cautious },
            said: std::collections::BTreeMap::new(),
        };
        for key in CONDITIONS {
            if let Some(item) = table.get(key) {
                rule.said.insert(key.to_owned(), self.value(item)?);
            }
        }
        if let Some(item) = table.get("arguments") {
            rule.arguments = self.arguments(item)?;
        }
        if let Some(item) = table.get("shell") {
            rule.shell = self.commands(item)?;
        }
        if let Some(item) = table.get("path") {
            for (text, span) in self.spanned_texts(item, "path")? {
                let pattern = PathPattern::new(&text).map_err(|why| self.wrong(&span, "invalid_path", why))?;
                rule.paths.push(pattern);
            }
        }
        if let Some(item) = table.get("domain") {
            rule.domains = self.domains(item, decided)?;
        }
        let no_condition = rule.tools.is_empty()
            && rule.arguments.is_empty()
            && rule.shell.is_empty()
            && rule.paths.is_empty()
            && rule.domains.is_empty();
        if no_condition {
            return Err(self
                .wrong(&start, "invalid_rule", "the rule has no condition: it would match every call")
                .hint("add tool, arguments, shell, path or domain; tool = \"*\" means every call"));
        }
        if let Some(item) = table.get("lifts") {
            rule.lifts = self.lifts(item, &rule)?;
        }
        if !rule.overrides.is_empty() && rule.tier == Tier::BuiltIn {
            return Err(self.wrong(&start, "invalid_rule", "the lowest tier has nothing below it to override"));
        }
        self.examples(table, &start, &rule)?;
        Ok(rule)
    }

    /// `make`, a rule of any lower tier, or `project:make`.
    fn overrides(&self, item: &Item<'_>) -> Result<Vec<Override>, PolicyError> {
        let own = self.source.tier;
        let one = |(text, span): (String, Range<usize>)| {
            let place = self.wrong(&span, "", "");
            let (tier, id) = match text.split_once(':') {
                None => (None, text.as_str()),
                Some((name, id)) => match Tier::named(name) {
                    Some(tier) if tier < own => (Some(tier), id),
                    Some(tier) => {
                        let message =
                            format!("a rule of the tier {:?} overrides none of {:?}", own.name(), tier.name());
                        let hint = "name a rule of a lower tier: built_in < project < user < admin";
                        return Err(self.wrong(&span, "invalid_rule", message).hint(hint));
                    }
                    None => {
                        let message = format!("there is no tier named {:?}", short(name));
                        let hint = "use built_in, project or user before the colon";
                        return Err(self.wrong(&span, "unknown_level", message).hint(hint));
                    }
                },
            };
            Ok(Override { id: id.to_owned(), tier, line: place.line, column: place.column })
        };
        self.spanned_texts(item, "overrides")?.into_iter().map(one).collect()
    }

    fn lifts(&self, item: &Item<'_>, rule: &Rule) -> Result<RiskLevel, PolicyError> {
        let name = self.text(item, "lifts")?;
        let level = RiskLevel::named(&name);
        let Some(level) = level else {
            let message = format!("there is no level named {:?}", short(&name));
            return Err(self.wrong(&item.span(), "unknown_level", message).hint("use cautious or confirm"));
        };
        if rule.verdict != Verdict::Allow {
            return Err(self.wrong(&item.span(), "invalid_rule", "only a rule that allows lifts a question"));
        }
        if level > rule.lifts {
            let message = format!("a rule of this tier can't lift questions about calls at {}", level.name());
            let hint = "dangerous calls are always asked about; below the user's tier so are those at confirm";
            return Err(self.wrong(&item.span(), "invalid_rule", message).hint(hint));
        }
        Ok(level)
    }

    fn text(&self, item: &Item<'_>, key: &str) -> Result<String, PolicyError> {
        item.get_ref().as_str().map(str::to_owned).ok_or_else(|| self.kind(item, key, "text"))
    }

    fn kind(&self, item: &Item<'_>, key: &str, wanted: &str) -> PolicyError {
        let message = format!("{key} is {}, not {wanted}", article(item.get_ref().type_str()));
        self.wrong(&item.span(), "invalid_rule", message).hint(format!("give {wanted}"))
    }

    /// A text, or a list of texts, each with its place; never empty.
    fn spanned_texts(&self, item: &Item<'_>, key: &str) -> Result<Vec<(String, Range<usize>)>, PolicyError> {
        let found: Vec<(String, Range<usize>)> = match item.get_ref() {
            DeValue::String(text) => vec![(text.clone().into_owned(), item.span())],
            DeValue::Array(items) => {
                items.iter().map(|item| Ok((self.text(item, key)?, item.span()))).collect::<Result<_, PolicyError>>()?
            }
            _ => return Err(self.kind(item, key, "text or a list of texts")),
        };
        self.counted(item, key, found.len())?;
        if let Some((_, span)) = found.iter().find(|(text, _)| text.trim().is_empty()) {
            return Err(self.wrong(span, "invalid_rule", format!("{key} is empty")));
        }
        Ok(found)
    }

    fn texts(&self, item: &Item<'_>, key: &str) -> Result<Vec<String>, PolicyError> {
        Ok(self.spanned_texts(item, key)?.into_iter().map(|(text, _)| text).collect())
    }

    fn counted(&self, item: &Item<'_>, key: &str, count: usize) -> Result<(), PolicyError> {
        match count {
            0 => Err(self.wrong(&item.span(), "invalid_rule", format!("{key} is an empty list"))),
            1..=MOST_ALTERNATIVES => Ok(()),
            _ => Err(self.wrong(&item.span(), "too_large", format!("{key} has more than {MOST_ALTERNATIVES} entries"))),
        }
    }

    /// A rule that permits what another one of its file forbids or asks about would never be heard.
    fn contradictions(&self, rules: &[Rule]) -> Result<(), PolicyError> {
        for allow in rules.iter().filter(|rule| rule.verdict == Verdict::Allow) {
            let Some(strict) = rules.iter().find(|rule| rule.verdict > Verdict::Allow && rule.undoes(allow)) else {
                continue;
            };
            let does = if strict.verdict == Verdict::Forbid { "forbids" } else { "asks about" };
            let message =
                format!("it allows nothing: {:?} in line {} {does} all of it", short(&strict.id), strict.line);
            let error = PolicyError {
                rule: Some(allow.id.clone()),
                line: allow.line,
                ..self.wrong(&(0..0), "contradictory_rule", message)
            };
            return Err(error.hint(format!("take one of the two out, or have {:?} say less", short(&strict.id))));
        }
        Ok(())
    }

    /// `["git", "push"]`, `["git", "log", "…"]`, or a list of such lists.
    fn commands(&self, item: &Item<'_>) -> Result<Vec<Command>, PolicyError> {
        let wanted = "a list of words such as [\"git\", \"push\"], or a list of such lists";
        let Some(items) = item.get_ref().as_array() else { return Err(self.kind(item, "shell", wanted)) };
        self.counted(item, "shell", items.len())?;
        let lists = items.iter().all(|item| item.get_ref().is_array());
        let commands = if lists {
            items.iter().map(|item| self.texts(item, "shell")).collect::<Result<Vec<_>, _>>()?
        } else {
            vec![self.texts(item, "shell")?]
        };
        for command in &commands {
            if let Some(word) = command.first().filter(|word| word.chars().any(char::is_whitespace)) {
                let message = format!("{:?} is no word of a command", short(word));
                return Err(self.wrong(&item.span(), "invalid_rule", message).hint(format!("give {wanted}")));
            }
        }
        let line = |mut words: Vec<String>| {
            let more = words.pop_if(|last| MORE.contains(&last.as_str())).is_some();
            if words.is_empty() || words.iter().any(|word| MORE.contains(&word.as_str())) {
                let message = "… stands behind a program, as the last word";
                let hint = "write [\"git\", \"log\", \"…\"]: these words, and more may follow";
                return Err(self.wrong(&item.span(), "invalid_rule", message).hint(hint));
            }
            Ok(Command { words, more })
        };
        commands.into_iter().map(line).collect()
    }

    fn domains(&self, item: &Item<'_>, verdict: Verdict) -> Result<Vec<DomainPattern>, PolicyError> {
        let one = |item: &Item<'_>| match item.get_ref() {
            DeValue::String(text) => {
                DomainPattern::new(text).map_err(|why| self.wrong(&item.span(), "invalid_domain", why))
            }
            DeValue::Table(table) if table.len() == 1 && table.contains_key("regex") => {
                let Some(value) = table.get("regex") else { return Err(self.kind(item, "domain", "text")) };
                let text = self.text(value, "regex")?;
                DomainPattern::regex(&text).map_err(|why| self.wrong(&value.span(), "invalid_regex", why))
            }
            DeValue::Table(table) if table.len() == 1 && table.contains_key("prefix") => {
                let Some(value) = table.get("prefix") else { return Err(self.kind(item, "domain", "text")) };
                let text = self.text(value, "prefix")?;
                if verdict == Verdict::Allow {
                    let message = "a prefix of a domain allows whoever registers the rest of it";
                    let hint = "allow example.com or .example.com; a prefix is for rules that forbid or ask";
                    return Err(self.wrong(&value.span(), "invalid_domain", message).hint(hint));
                }
                if text.is_empty() {
                    return Err(self.wrong(&value.span(), "invalid_domain", "prefix is empty"));
                }
                let text = format!("{}.*", regex::escape(&text.to_ascii_lowercase()));
                DomainPattern::regex(&text).map_err(|why| self.wrong(&value.span(), "invalid_regex", why))
            }
            _ => Err(self.kind(item, "domain", "text, { regex = \"…\" } or { prefix = \"…\" }")),
        };
        match item.get_ref() {
            DeValue::Array(items) => {
                self.counted(item, "domain", items.len())?;
                items.iter().map(one).collect()
            }
            _ => Ok(vec![one(item)?]),
        }
    }

    fn arguments(&self, item: &Item<'_>) -> Result<Vec<(String, Test)>, PolicyError> {
        let Some(table) = item.get_ref().as_table() else {
            return Err(self.kind(item, "arguments", "a table of names and tests"));
        };
        self.counted(item, "arguments", table.len())?;
        let mut tests = Vec::with_capacity(table.len());
        for (name, item) in table {
            let name = name.get_ref().clone().into_owned();
            match item.get_ref() {
                DeValue::Table(conditions) => {
                    self.counted(item, &name, conditions.len())?;
                    for (kind, value) in conditions {
                        tests.push((name.clone(), self.test(kind.get_ref(), kind.span(), value)?));
                    }
                }
                _ => tests.push((name, Test::Equals(vec![self.value(item)?]))),
            }
        }
        Ok(tests)
    }

    fn test(&self, kind: &str, span: Range<usize>, value: &Item<'_>) -> Result<Test, PolicyError> {
        Ok(match kind {
            "equals" => Test::Equals(vec![self.value(value)?]),
            "one_of" => {
                let Some(items) = value.get_ref().as_array() else { return Err(self.kind(value, kind, "a list")) };
                self.counted(value, kind, items.len())?;
                Test::Equals(items.iter().map(|item| self.value(item)).collect::<Result<_, _>>()?)
            }
            "prefix" => Test::Prefix(self.texts(value, kind)?),
            "regex" => {
                let compile = |(text, span): (String, Range<usize>)| {
                    expression(&text).map_err(|why| self.wrong(&span, "invalid_regex", why))
                };
                Test::Regex(self.spanned_texts(value, kind)?.into_iter().map(compile).collect::<Result<_, _>>()?)
            }
            "present" => {
                Test::Present(value.get_ref().as_bool().ok_or_else(|| self.kind(value, kind, "true or false"))?)
            }
            _ => {
                let message = format!("there is no test named {:?}", short(kind));
                return Err(self
                    .wrong(&span, "unknown_key", message)
                    .hint("use equals, one_of, prefix, regex or present"));
            }
        })
    }

    /// A value as JSON has it. Depth is bounded by the parser.
    fn value(&self, item: &Item<'_>) -> Result<Value, PolicyError> {
        Ok(match item.get_ref() {
            DeValue::String(text) => Value::String(text.clone().into_owned()),
            DeValue::Boolean(value) => Value::Bool(*value),
            DeValue::Integer(number) => {
                let found = i64::from_str_radix(number.as_str(), number.radix());
                json!(found.map_err(|_| self.wrong(&item.span(), "invalid_rule", "the number is out of range"))?)
            }
            DeValue::Float(number) => number
                .as_str()
                .parse()
                .ok()
                .and_then(serde_json::Number::from_f64)
                .map(Value::Number)
                .ok_or_else(|| self.wrong(&item.span(), "invalid_rule", "the number is out of range"))?,
            DeValue::Array(items) => Value::Array(items.iter().map(|item| self.value(item)).collect::<Result<_, _>>()?),
            DeValue::Table(table) => Value::Object(
                table
                    .iter()
                    .map(|(key, item)| Ok((key.get_ref().clone().into_owned(), self.value(item)?)))
                    .collect::<Result<_, PolicyError>>()?,
            ),
            DeValue::Datetime(_) => return Err(self.wrong(&item.span(), "invalid_rule", "arguments hold no dates")),
        })
    }

    fn examples(&self, table: &DeTable<'_>, start: &Range<usize>, rule: &Rule) -> Result<(), PolicyError> {
        let hint = "add [rule.examples] with match = […] and no_match = […]";
        let Some(examples) = table.get("examples") else {
            return Err(self.wrong(start, "missing_examples", "the rule has no examples").hint(hint));
        };
        let Some(both) = examples.get_ref().as_table() else {
            return Err(self.kind(examples, "examples", "a table with match and no_match"));
        };
        if let Some((key, _)) = both.iter().find(|(key, _)| !matches!(key.get_ref().as_ref(), "match" | "no_match")) {
            let message = format!("there is no kind of examples named {:?}", short(key.get_ref()));
            return Err(self.wrong(&key.span(), "unknown_key", message).hint("use match and no_match"));
        }
        for (key, wanted) in [("match", true), ("no_match", false)] {
            let Some(item) = both.get(key) else {
                let message = format!("the rule has no examples under {key}");
                return Err(self.wrong(&examples.span(), "missing_examples", message).hint(hint));
            };
            let Some(items) = item.get_ref().as_array() else { return Err(self.kind(item, key, "a list")) };
            if items.is_empty() {
                let message = format!("the rule has no examples under {key}");
                return Err(self.wrong(&item.span(), "missing_examples", message).hint(hint));
            }
            for item in items {
                self.example(item, wanted, rule)?;
            }
        }
        Ok(())
    }

    fn example(&self, item: &Item<'_>, wanted: bool, rule: &Rule) -> Result<(), PolicyError> {
        let named = rule.tools.iter().find(|name| !name.contains('*')).map(String::as_str);
        let (tool, input) = match item.get_ref() {
            // Text stands for what the rule is about.
            DeValue::String(text) if !rule.shell.is_empty() => {
                (named.unwrap_or("shell").to_owned(), json!({"command": text}))
            }
            DeValue::String(text) if !rule.domains.is_empty() => {
                (named.unwrap_or("fetch").to_owned(), json!({"url": text}))
            }
            DeValue::String(text) if !rule.paths.is_empty() => {
                (named.unwrap_or("read_file").to_owned(), json!({"path": text}))
            }
            DeValue::String(text) if rule.arguments.is_empty() => (text.clone().into_owned(), json!({})),
            DeValue::Table(table) => {
                if let Some((key, _)) =
                    table.iter().find(|(key, _)| !matches!(key.get_ref().as_ref(), "tool" | "arguments"))
                {
                    let message = format!("there is nothing named {:?} in a call", short(key.get_ref()));
                    return Err(self.wrong(&key.span(), "unknown_key", message).hint("use tool and arguments"));
                }
                let tool = match table.get("tool") {
                    Some(tool) => self.text(tool, "tool")?,
                    None => named.unwrap_or("shell").to_owned(),
                };
                let input = table.get("arguments").map_or(Ok(json!({})), |item| self.value(item))?;
                if !input.is_object() {
                    return Err(self.wrong(&item.span(), "invalid_rule", "the arguments of a call are a table"));
                }
                (tool, input)
            }
            _ => {
                let wanted = "a call: { tool = \"…\", arguments = { … } }";
                return Err(self.kind(item, "an example", wanted));
            }
        };
        let subject = Subject::new(&tool, &input, &Surroundings::of_examples());
        let means = |rule: &Rule| {
            let matches = |part| rule.matches(&subject, part) == Match::Yes;
            let mut parts = subject.parts.iter().chain(&subject.inside);
            if rule.verdict == Verdict::Allow {
                !subject.parts.is_empty() && parts.all(|part| part.again || matches(part))
            } else {
                parts.any(matches)
            }
        };
        if means(rule) == wanted {
            return Ok(());
        }
        let message = if wanted { "the rule does not match this example" } else { "the rule matches this example" };
        let open = || {
            let shell = rule.shell.iter().map(|line| Command { more: true, ..line.clone() }).collect();
            Rule { shell, ..rule.clone() }
        };
        let hint = if wanted && rule.verdict == Verdict::Allow && means(&open()) {
            "what allows means its very words; where more may follow, end them with \"…\""
        } else {
            "mend the rule or the example; no call has been judged by this file"
        };
        Err(self.wrong(&item.span(), "example_failed", message).hint(hint))
    }
}

fn article(kind: &str) -> String {
    let a = if kind.starts_with(['a', 'i']) { "an" } else { "a" };
    format!("{a} {kind}")
}

fn short(text: &str) -> String {
    text.chars().take(60).collect()
}
