//! What people have said may run: rules from files, in tiers, each with examples that are checked when it is loaded.
//!
//! Of all rules that match any part of a call the strictest holds: forbid before ask before allow, whatever their
//! tiers. An allow counts only if every simple command of a line is allowed. A higher tier may say otherwise by name:
//! a rule can override rules of lower tiers, for the calls that it matches itself. Where no rule matches, risk decides.

mod host;
mod load;
mod place;
mod rule;
pub(crate) mod subject;

use std::{
    collections::HashSet,
    fmt,
    ops::Range,
    sync::{Arc, LazyLock},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use xxhash_rust::xxh3::xxh3_128;

use super::RiskLevel;
pub(crate) use host::{hosts_in, is_here};
use loopwright_base::error::Error;
use place::Match;
pub(crate) use place::Place;
pub use place::{PathClass, Surroundings};
use rule::{Override, Rule};
pub(crate) use subject::Subject;

/// Rules of a policy, over all its files.
const MOST_RULES: usize = 10_000;

/// Whose rules they are, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Shipped with the package.
    BuiltIn,
    /// Of the folder that is worked in; whoever wrote that folder wrote them.
    Project,
    /// Of the person.
    User,
    /// Of whoever runs the machine.
    Admin,
}

impl Tier {
    /// The name in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BuiltIn => "built_in",
            Self::Project => "project",
            Self::User => "user",
            Self::Admin => "admin",
        }
    }

    /// The tier of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "built_in" | "built-in" | "builtin" => Some(Self::BuiltIn),
            "project" => Some(Self::Project),
            "user" => Some(Self::User),
            "admin" => Some(Self::Admin),
            _ => None,
        }
    }
}

/// What may be done with a call, from loose to strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It may run.
    Allow,
    /// A person is asked.
    Ask,
    /// It may not run.
    Forbid,
}

impl Verdict {
    /// The name in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Forbid => "forbid",
        }
    }

    /// The verdict of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "allow" => Some(Self::Allow),
            "ask" => Some(Self::Ask),
            "forbid" => Some(Self::Forbid),
            _ => None,
        }
    }
}

/// A file that is no policy: what is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// A stable name for programs.
    pub code: &'static str,
    /// The file.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The rule's id, where it is known.
    pub rule: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl PolicyError {
    #[must_use]
    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: ", self.file, self.line, self.column)?;
        if let Some(rule) = &self.rule {
            write!(f, "rule {rule:?}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for PolicyError {}

impl From<PolicyError> for Error {
    fn from(error: PolicyError) -> Self {
        let plain = Self::usage(error.code, error.to_string());
        match error.hint {
            Some(hint) => plain.hint(hint),
            None => plain,
        }
    }
}

/// A file of rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicySource {
    /// Whose it is.
    pub tier: Tier,
    /// What errors call it.
    pub name: String,
    /// The TOML text.
    pub text: String,
}

/// A rule, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleInfo {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub tier: Tier,
    /// What it says.
    pub verdict: Verdict,
    /// Why, in its author's words.
    pub why: String,
    /// Its file.
    pub file: String,
    /// Its line.
    pub line: usize,
}

/// What the rules say of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// The strictest verdict; `None` if the rules leave it to risk.
    pub verdict: Option<Verdict>,
    /// The rules that decided, as `tier:id`.
    pub rules: Vec<String>,
    /// The part of the call that decided.
    pub part: Option<String>,
    /// Its bytes in the shell line.
    pub span: Option<Range<usize>>,
    /// Why, in words.
    pub why: String,
    /// Up to which level an allow answers the question that risk would ask.
    pub lifts: RiskLevel,
}

/// Rules in tiers.
#[derive(Clone)]
pub struct Policy(Arc<Inner>);

struct Inner {
    sources: Vec<PolicySource>,
    rules: Vec<Rule>,
    sandbox: Option<(Tier, bool)>,
    digest: String,
}

impl Policy {
    /// The rules that the package ships.
    pub fn built_in() -> Self {
        // Read once: each machine and each journal has these rules.
        static BUILT_IN: LazyLock<Policy> = LazyLock::new(|| {
            let text = include_str!("built_in.toml").to_owned();
            let source = PolicySource { tier: Tier::BuiltIn, name: "<built-in>".to_owned(), text };
            // The file is ours, and a test reads it.
            Policy::of(vec![source]).unwrap_or_else(|_| Policy::empty())
        });
        BUILT_IN.clone()
    }

    /// No rules: risk alone decides.
    pub fn empty() -> Self {
        Self(Arc::new(Inner { sources: Vec::new(), rules: Vec::new(), sandbox: None, digest: digest_of(&[]) }))
    }

    /// The rules of these files.
    pub fn of(sources: Vec<PolicySource>) -> Result<Self, PolicyError> {
        let mut rules: Vec<Rule> = Vec::new();
        let mut sandbox = None;
        for source in &sources {
            let load::Loaded { rules: more, sandbox: said } = load::load(source)?;
            // The word of the highest tier counts; of two files of one tier, that the fence stands.
            let said = said.map(|on| (source.tier, on));
            sandbox = sandbox.max(said);
            if let Some(twice) =
                more.iter().find(|rule| rules.iter().any(|other| other.id == rule.id && other.tier == rule.tier))
            {
                return Err(PolicyError {
                    code: "duplicate_rule",
                    file: twice.file.clone(),
                    line: twice.line,
                    column: 1,
                    rule: Some(twice.id.clone()),
                    message: format!("another file of the tier {:?} has a rule with this id", twice.tier.name()),
                    hint: Some("give one of them another id".to_owned()),
                });
            }
            rules.extend(more);
            if rules.len() > MOST_RULES {
                return Err(PolicyError {
                    code: "too_large",
                    file: source.name.clone(),
                    line: 1,
                    column: 1,
                    rule: None,
                    message: format!("the policy has more than {MOST_RULES} rules"),
                    hint: None,
                });
            }
        }
        overrides_are_there(&rules)?;
        let digest = digest_of(&sources);
        Ok(Self(Arc::new(Inner { sources, rules, sandbox, digest })))
    }

    /// This policy and one more file. If the file is broken, this policy is what there is.
    pub fn with(&self, source: PolicySource) -> Result<Self, PolicyError> {
        let mut sources = self.0.sources.clone();
        sources.push(source);
        Self::of(sources)
    }

    /// The files, as they were read.
    pub fn sources(&self) -> &[PolicySource] {
        &self.0.sources
    }

    /// The rules.
    pub fn rules(&self) -> impl Iterator<Item = RuleInfo> + '_ {
        self.0.rules.iter().map(|rule| RuleInfo {
            id: rule.id.clone(),
            tier: rule.tier,
            verdict: rule.verdict,
            why: rule.why.clone(),
            file: rule.file.clone(),
            line: rule.line,
        })
    }

    /// Whether commands run fenced, by the word of the highest tier that says so, and whose word it is.
    pub fn sandbox(&self) -> Option<(Tier, bool)> {
        self.0.sandbox
    }

    /// What all its text comes to: the same text, the same digest.
    pub fn digest(&self) -> &str {
        &self.0.digest
    }

    /// What the rules say of a call.
    pub fn rule_on(&self, tool: &str, input: &serde_json::Value, around: &Surroundings) -> Ruling {
        self.rule_on_subject(&Subject::new(tool, input, around))
    }

    pub(crate) fn rule_on_subject(&self, subject: &Subject) -> Ruling {
        let mut strictest: Option<Ruling> = None;
        let mut allowed = Vec::new();
        let mut lifts = RiskLevel::Confirm;
        let mut covered = !subject.parts.is_empty();
        for part in subject.all() {
            let found = self.rules_for(subject, part);
            let aside = part.again || subject.beside.as_ref().is_some_and(|beside| std::ptr::eq(beside, part));
            let Some((verdict, deciding)) = found.filter(|(verdict, _)| !aside || *verdict > Verdict::Allow) else {
                // What stands beside commands is looked at where they are permitted; what was seen before is permitted
                // there.
                covered &= aside;
                continue;
            };
            if verdict == Verdict::Allow {
                lifts = lifts.min(deciding.iter().map(|(rule, _)| rule.lifts).max().unwrap_or_default());
                for (rule, _) in &deciding {
                    let name = named(rule);
                    if !allowed.contains(&name) {
                        allowed.push(name);
                    }
                }
                continue;
            }
            if strictest.as_ref().is_some_and(|ruling| ruling.verdict >= Some(verdict)) {
                continue;
            }
            strictest = Some(Ruling {
                verdict: Some(verdict),
                rules: deciding.iter().map(|(rule, _)| named(rule)).collect(),
                part: Some(part.text.clone()),
                span: part.span.clone(),
                why: why(&deciding, verdict),
                lifts: RiskLevel::Safe,
            });
        }
        if let Some(ruling) = strictest {
            return ruling;
        }
        let allow = covered && subject.unparsed.is_none();
        let why = if allow {
            format!("allowed by {}", allowed.join(", "))
        } else if allowed.is_empty() {
            "no rule matches".to_owned()
        } else {
            format!("{} allow only a part of it", allowed.join(", "))
        };
        Ruling {
            verdict: allow.then_some(Verdict::Allow),
            rules: if allow { allowed } else { Vec::new() },
            part: None,
            span: None,
            why,
            lifts: if allow { lifts } else { RiskLevel::Safe },
        }
    }

    /// The strictest verdict over a part, and the rules that gave it.
    fn rules_for(&self, subject: &Subject, part: &subject::Part) -> Option<(Verdict, Vec<(&Rule, Match)>)> {
        let mut found: Vec<(&Rule, Match)> = self
            .0
            .rules
            .iter()
            .map(|rule| (rule, rule.matches(subject, part)))
            .filter(|(_, sure)| *sure != Match::No)
            .collect();
        let overridden: Vec<(Tier, &Override)> = found
            .iter()
            .filter(|(_, sure)| *sure == Match::Yes)
            .flat_map(|(rule, _)| rule.overrides.iter().map(|over| (rule.tier, over)))
            .collect();
        found.retain(|(rule, _)| !overridden.iter().any(|(own, over)| over.means(*own, rule.tier, &rule.id)));
        let strictness = |rule: &Rule, sure: Match| match (rule.verdict, sure) {
            (Verdict::Forbid, Match::Perhaps) => Verdict::Ask,
            (verdict, _) => verdict,
        };
        let verdict = found.iter().map(|(rule, sure)| strictness(rule, *sure)).max()?;
        found.retain(|(rule, sure)| strictness(rule, *sure) == verdict);
        Some((verdict, found))
    }
}

/// A name that no rule has is a slip: what it was to set aside would go on holding, and nobody would know why.
fn overrides_are_there(rules: &[Rule]) -> Result<(), PolicyError> {
    let there: HashSet<(Tier, &str)> = rules.iter().map(|rule| (rule.tier, rule.id.as_str())).collect();
    let tiers = [Tier::BuiltIn, Tier::Project, Tier::User];
    for rule in rules {
        let lacks = |over: &&Override| {
            !over.may_lack()
                && !tiers
                    .iter()
                    .any(|tier| over.means(rule.tier, *tier, &over.id) && there.contains(&(*tier, &over.id)))
        };
        if let Some(over) = rule.overrides.iter().find(lacks) {
            let id: String = over.id.chars().take(60).collect();
            return Err(PolicyError {
                code: "unknown_rule",
                file: rule.file.clone(),
                line: over.line,
                column: over.column,
                rule: Some(rule.id.clone()),
                message: format!("below the tier {:?} there is no rule {id:?} to override", rule.tier.name()),
                hint: Some(
                    "mend the id, or load the file that has it, too; \"project:id\" names a rule that some projects have"
                        .to_owned(),
                ),
            });
        }
    }
    Ok(())
}

fn named(rule: &Rule) -> String {
    format!("{}:{}", rule.tier.name(), rule.id)
}

fn why(deciding: &[(&Rule, Match)], verdict: Verdict) -> String {
    let Some((rule, sure)) = deciding.first() else { return String::new() };
    let said = if rule.why.is_empty() { String::new() } else { format!(": {}", rule.why) };
    match (verdict, sure) {
        (Verdict::Ask, Match::Perhaps) => {
            format!("it can't be told whether {} means it{said}", named(rule))
        }
        (Verdict::Ask, _) => format!("{} asks first{said}", named(rule)),
        _ => format!("{} forbids it{said}", named(rule)),
    }
}

fn digest_of(sources: &[PolicySource]) -> String {
    let mut bytes = Vec::new();
    for source in sources {
        for part in [source.tier.name(), &source.name, &source.text] {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part.as_bytes());
        }
    }
    format!("{:032x}", xxh3_128(&bytes))
}

impl Default for Policy {
    fn default() -> Self {
        Self::built_in()
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Policy({} rules, {})", self.0.rules.len(), self.0.digest)
    }
}

impl PartialEq for Policy {
    fn eq(&self, other: &Self) -> bool {
        self.0.digest == other.0.digest
    }
}

/// A policy as journals and saved machines keep it: its text, and what that must come to.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    digest: String,
    sources: Vec<PolicySource>,
}

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written { digest: self.0.digest.clone(), sources: self.0.sources.clone() }.serialize(serializer)
    }
}

/// What the error of a policy that is not what it was says.
pub const CHANGED: &str = "the policy is not the one of the run";

impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Written::deserialize(deserializer)?;
        if digest_of(&written.sources) != written.digest {
            return Err(de::Error::custom(format!("{CHANGED}: its text does not come to {}", written.digest)));
        }
        let built_in = Self::built_in();
        if written.sources == built_in.sources() {
            return Ok(built_in);
        }
        Self::of(written.sources).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
