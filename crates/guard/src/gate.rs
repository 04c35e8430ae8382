//! The gate before a call: the strictest of policy, risk, and the sensitivity of what would leave.
//!
//! Safe calls run. Cautious ones run where the person's own words name them, if that is asked for. Calls at confirm are
//! asked about, dangerous ones always. An allow of a policy answers the question of risk up to what its tier may lift;
//! nothing answers the question about a dangerous call, an unreadable line or a secret but a person.

use crate::names;
use std::{collections::BTreeSet, ops::Range};

use loopwright_base::{message::ToolUse, text::clip};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Authority, DeclaredRisk, Part, Risk, RiskContext, RiskLevel, assess_arguments, assess_risk,
    disguise::{disguise, host_in_words, visible},
    lines::takes_files,
    links::{Links, names_paths},
    policy::{
        Place, Policy, Subject, Surroundings, Verdict, is_here,
        subject::{base_name, words_of},
    },
    records::enter,
    sensitivity::{self, Level},
};

/// What cautious calls need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cautious {
    /// Nothing, where their tool is declared so. Where it is declared stricter and only the arguments say less, as in
    /// a shell, it is as with `Intent`.
    #[default]
    Run,
    /// A word of the user that names their verb or their target, of a line each program or target; else a person is
    /// asked.
    Intent,
    /// A person.
    Ask,
}

/// What a guard goes by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GuardConfig {
    /// The rules.
    pub policy: Policy,
    /// Where calls would run.
    pub around: Surroundings,
    /// What cautious calls need.
    pub cautious: Cautious,
    /// Tools whose arguments say all there is to know: a shell that is declared `confirm` may list a folder without a
    /// question.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub by_arguments: BTreeSet<String>,
}

/// What decided about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// A rule of a policy.
    Policy,
    /// How much harm it may do.
    Risk,
    /// The person's words, or that they say nothing of it.
    Intent,
    /// A shell line that can't be read.
    Unparsed,
    /// What it would send out.
    Sensitivity,
    /// That the model was shown the very call, and may only quote it.
    Quotation,
    /// Something in it that a person can't see, or that looks like something else.
    Disguise,
    /// Where its values come from.
    Origin,
}

/// What the gate says of a call, and what it saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// What may be done with it.
    pub verdict: Verdict,
    /// How much harm it may do.
    pub risk: RiskLevel,
    /// What decided.
    pub by: DecidedBy,
    /// The rules that decided: `tier:id` of a policy, `risk:id` of the risk rules.
    pub rules: Vec<String>,
    /// The part of the call that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Its bytes in the shell line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Range<usize>>,
    /// Why, in words.
    pub why: String,
    /// What it would touch, in words: files with the kind of their place, hosts. Only where a person is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touches: Vec<String>,
    /// Whether a person is asked about a call that holds a secret, or one would leave: a yes is never kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// Whether it may name paths, of which somebody has to see where they lead. It isn't written down: who reads a
    /// judgement looks.
    #[serde(skip, default = "yes")]
    pub names_paths: bool,
}

const fn yes() -> bool {
    true
}

impl Judgement {
    /// Whether a person is asked.
    pub fn asks(&self) -> bool {
        self.verdict == Verdict::Ask
    }
}

/// What is known about a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The level that its author gave it.
    pub risk: RiskLevel,
    /// Whether its arguments say all there is to know, so that they may also say that a call is safe.
    pub by_arguments: bool,
}

/// Judges a call.
pub fn judge(config: &GuardConfig, authority: &Authority, tool: &str, input: &Value, declared: Declared) -> Judgement {
    let around = &config.around;
    let context = RiskContext::of(around);
    let subject = Subject::new(tool, input, around);
    decide(config, authority, &subject, declared, &context, &Links::new())
}

/// Judges a call as what it reaches: with the links among the paths that it names, which
/// [`named_paths`](crate::named_paths) gives.
pub fn judge_led(
    config: &GuardConfig,
    authority: &Authority,
    tool: &str,
    input: &Value,
    declared: Declared,
    links: &Links,
) -> Judgement {
    let around = &config.around;
    let context = RiskContext::of(around);
    let mut subject = Subject::new(tool, input, around);
    subject.follow(links, around);
    let mut judged = decide(config, authority, &subject, declared, &context, links);
    if let Some(leads) = leads(&subject) {
        judged.why = joined(&leads, &judged.why);
    }
    judged
}

/// Where the first path of a call leads that is a link, in words.
pub fn leads_to(tool: &str, input: &Value, around: &Surroundings, links: &Links) -> Option<String> {
    let mut subject = Subject::new(tool, input, around);
    subject.follow(links, around);
    leads(&subject)
}

fn leads(subject: &Subject) -> Option<String> {
    let mut led = subject.all().flat_map(|part| &part.paths).filter_map(|place| Some((place, place.leads()?)));
    let (place, real) = led.next()?;
    Some(format!("{} leads to {}", visible(&clip(&place.raw, 100)), visible(&clip(real, 200))))
}

/// How much harm a call may do, and what the gate does with it where nobody has written rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    /// How much harm it may do, the part of the call that says so, and why.
    pub risk: Risk,
    /// The rule that decided; of what the gate sees beyond risk `secret:…`, `text.hidden` and the like.
    pub rule: String,
    /// Whether a person is asked, whatever the task says.
    pub asks: bool,
}

/// Judges a call as the gate does under the rules that are shipped, and says how much harm it may do. A tool that
/// declares nothing is cautious.
pub fn assess(tool: &str, input: &Value, declared: Option<DeclaredRisk>, context: &RiskContext) -> Assessment {
    let mut risk = assess_arguments(tool, input, declared, context);
    let around = Surroundings {
        home: context.home.clone(),
        workspace: context.cwd.clone().or_else(|| context.workspace.clone()),
        commands: context.commands,
    };
    let declared = declared.unwrap_or_default();
    // What the task has to name is a question of its own: only calls that it can't answer for count here.
    let level = if declared.by_arguments { declared.level.min(RiskLevel::Cautious) } else { declared.level };
    let declared = Declared { risk: level, by_arguments: declared.by_arguments };
    let config = GuardConfig { around, ..GuardConfig::default() };
    let subject = Subject::new(tool, input, &config.around);
    let judged = decide(&config, &Authority::default(), &subject, declared, context, &Links::new());
    let mut rule = risk.rule.to_owned();
    let asks = judged.asks();
    let known = risk.asks();
    if judged.by == DecidedBy::Disguise || asks && !known {
        let first = judged.rules.first().map(String::as_str).unwrap_or_default();
        first.strip_prefix("risk:").unwrap_or(first).clone_into(&mut rule);
        risk.level = risk.level.max(judged.risk);
        risk.why = judged.why;
        let place = judged.part.zip(judged.span);
        risk.part = place.and_then(|(text, span)| {
            let argument = argument_with("", input, &text, &span)?;
            Some(Part { argument, span, text })
        });
    }
    Assessment { risk, rule, asks }
}

/// As [`assess`], for a call of a run, whose arguments a model may have written so that nobody can read them.
pub fn assess_call(call: &ToolUse, declared: Option<DeclaredRisk>, context: &RiskContext) -> Assessment {
    let risk = assess_risk(call, declared, context);
    if risk.rule == "call.unparsed" {
        return Assessment { rule: risk.rule.to_owned(), risk, asks: true };
    }
    assess(&call.name, &call.input.value(), declared, context)
}

/// The argument that holds this text at these bytes, as a path: `edits[0].new`.
fn argument_with(path: &str, value: &Value, part: &str, span: &Range<usize>) -> Option<String> {
    match value {
        Value::String(text) => (text.get(span.clone()) == Some(part)).then(|| path.to_owned()),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(at, item)| argument_with(&format!("{path}[{at}]"), item, part, span))
        }
        Value::Object(members) => members.iter().find_map(|(name, member)| {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            argument_with(&path, member, part, span)
        }),
        _ => None,
    }
}

/// What the gate does with a call: the one place where it is decided.
fn decide(
    config: &GuardConfig,
    authority: &Authority,
    subject: &Subject,
    declared: Declared,
    context: &RiskContext,
    links: &Links,
) -> Judgement {
    let _records = enter(context.commands);
    let mut judged = by_risk(config, authority, subject, declared, context, links);
    by_sensitivity(subject, &mut judged);
    by_disguise(subject, &mut judged);
    let ruling = config.policy.rule_on_subject(subject);
    match ruling.verdict {
        Some(Verdict::Allow) => {
            let lifted = matches!(judged.by, DecidedBy::Risk | DecidedBy::Intent) && judged.risk <= ruling.lifts;
            if lifted {
                judged.verdict = Verdict::Allow;
                judged.by = DecidedBy::Policy;
                judged.rules = ruling.rules;
                judged.why = ruling.why;
            }
        }
        // The same verdict keeps the reason that names the danger; the rules are named beside it.
        Some(verdict) if verdict > judged.verdict || judged.risk < RiskLevel::Confirm => {
            judged.verdict = verdict;
            judged.by = DecidedBy::Policy;
            judged.rules = ruling.rules;
            judged.part = ruling.part;
            judged.span = ruling.span;
            judged.why = ruling.why;
        }
        Some(_) => {
            judged.rules.extend(ruling.rules);
            judged.why = joined(&judged.why, &ruling.why);
        }
        None => {}
    }
    if judged.asks() {
        judged.touches = touches(subject);
        judged.secret |= holds_secret(subject);
    }
    judged.why = visible(&judged.why);
    judged
}

/// What can't be seen is asked about, whatever it does: nobody can agree to what they don't read.
fn by_disguise(subject: &Subject, judged: &mut Judgement) {
    let Some(found) = disguise(subject) else { return };
    let harmful = judged.risk >= RiskLevel::Confirm;
    judged.risk = judged.risk.max(RiskLevel::Confirm);
    judged.verdict = Verdict::Ask;
    judged.by = DecidedBy::Disguise;
    judged.rules.insert(0, format!("risk:{}", found.rule));
    judged.why = joined(&found.why, &judged.why);
    // The part that is dangerous for itself stays what is pointed at.
    if !harmful {
        let (span, part) = found.part.map_or((None, None), |(span, text)| (Some(span), Some(text)));
        judged.span = span.filter(|_| found.in_line);
        judged.part = part;
    }
}

/// Whether a secret stands in the arguments, wherever it goes.
fn holds_secret(subject: &Subject) -> bool {
    let mut texts = Vec::new();
    strings(&subject.input, &mut texts);
    texts.into_iter().any(|text| sensitivity::classify(text).level == Level::Secret)
}

/// Something that a call would send out.
struct Leaving {
    level: Level,
    detector: &'static str,
    what: &'static str,
    to: String,
}

/// The most sensitive thing that would leave this machine with the call, if it goes anywhere.
fn leaving(subject: &Subject) -> Option<Leaving> {
    let to = destination(subject)?;
    let mut worst: Option<Leaving> = None;
    let mut texts = Vec::new();
    strings(&subject.input, &mut texts);
    for text in texts {
        for hit in sensitivity::classify(text).hits {
            if worst.as_ref().is_none_or(|worst| worst.level < hit.level) {
                worst = Some(Leaving { level: hit.level, detector: hit.detector, what: hit.why, to: to.clone() });
            }
        }
    }
    worst
}

/// All texts of the arguments; their depth is bounded by the parser.
fn strings<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(members) => members.values().for_each(|member| strings(member, found)),
        _ => {}
    }
}

/// Where a call would send something; `None` for calls that stay here.
fn destination(subject: &Subject) -> Option<String> {
    let mut hosts = subject.all().flat_map(|part| &part.hosts);
    if let Some(host) = hosts.find(|host| !is_here(host)) {
        return Some(clip(host, 100));
    }
    let sends = !subject.runs_lines() && words_of(&subject.tool).any(|word| names::has("tools.sending", word.as_str()));
    sends.then(|| format!("wherever {} sends it", subject.tool))
}

/// A secret leaves only with a person's word, each time.
fn by_sensitivity(subject: &Subject, judged: &mut Judgement) {
    let Some(leaving) = leaving(subject).filter(|leaving| leaving.level == Level::Secret) else { return };
    judged.secret = true;
    judged.verdict = Verdict::Ask;
    judged.by = DecidedBy::Sensitivity;
    judged.risk = judged.risk.max(RiskLevel::Confirm);
    judged.rules.insert(0, format!("secret:{}", leaving.detector));
    judged.why = joined(&format!("it would send {} to {}", leaving.what, leaving.to), &judged.why);
}

/// Two reasons as one: a sentence loses its stop before what is added.
fn joined(one: &str, other: &str) -> String {
    format!("{}; {other}", one.trim_end_matches('.'))
}

/// What a call would touch, for the person who is asked.
fn touches(subject: &Subject) -> Vec<String> {
    const MOST: usize = 20;
    let raw = |place: &Place| {
        let raw = visible(&clip(&place.raw, 100));
        place.leads().map_or(raw.clone(), |real| format!("{raw}, which leads to {}", visible(&clip(real, 200))))
    };
    let mut found: Vec<String> = Vec::new();
    let mut push = |text: String| {
        if found.len() < MOST && !found.contains(&text) {
            found.push(text);
        }
    };
    for part in subject.all() {
        for place in &part.writes {
            push(format!("writes {} ({})", raw(place), place.class().words()));
        }
        // Of a line, bare words are files where the program takes files.
        let program = part.words.first().map(|word| base_name(&word.text)).unwrap_or_default();
        let files = !subject.runs_lines() || takes_files(program);
        for place in part.paths.iter().filter(|place| files || place.raw.contains(['/', '.', '~', '*'])) {
            if place.raw == "{}" {
                // What `xargs`, `find` and the like put in its place.
                push("files that another command names".to_owned());
                continue;
            }
            push(format!("{} ({})", raw(place), place.class().words()));
        }
        for host in &part.hosts {
            push(format!("the host {}", clip(&host_in_words(host), 200)));
        }
    }
    found
}

/// What risk says, without rules.
fn by_risk(
    config: &GuardConfig,
    authority: &Authority,
    subject: &Subject,
    declared: Declared,
    context: &RiskContext,
    links: &Links,
) -> Judgement {
    let mut risk = super::lines::risk_of(subject, declared, context, links);
    // One file by its name is little harm, and gone for good if no build makes it again: a person is asked.
    if risk.loses {
        risk.level = RiskLevel::Confirm;
    }
    // What belongs to persons leaves only where the person's words say so; secrets are looked at behind this.
    if risk.level < RiskLevel::Cautious
        && let Some(leaving) = leaving(subject).filter(|leaving| leaving.level == Level::Sensitive)
    {
        risk.level = RiskLevel::Cautious;
        risk.rule = format!("sensitive:{}", leaving.detector);
        risk.why = format!("it would send {} to {}", leaving.what, leaving.to);
    }
    let mut judged = Judgement {
        verdict: if risk.level >= RiskLevel::Confirm { Verdict::Ask } else { Verdict::Allow },
        risk: risk.level,
        by: DecidedBy::Risk,
        rules: vec![format!("risk:{}", risk.rule)],
        part: risk.part,
        span: risk.span,
        why: risk.why,
        touches: Vec::new(),
        secret: false,
        names_paths: names_paths(subject),
    };
    if let Some(range) = &subject.unparsed {
        judged.by = DecidedBy::Unparsed;
        if judged.risk < RiskLevel::Confirm || judged.verdict < Verdict::Ask {
            judged.verdict = Verdict::Ask;
            judged.risk = judged.risk.max(RiskLevel::Confirm);
            judged.rules = vec!["risk:unparsed".to_owned()];
            judged.span = Some(range.clone());
            judged.why = String::from("a part of the call can't be read");
        }
        return judged;
    }
    if judged.risk == RiskLevel::Cautious {
        match config.cautious {
            Cautious::Run if declared.risk <= RiskLevel::Cautious => {}
            Cautious::Ask => {
                judged.verdict = Verdict::Ask;
                judged.why = format!("{}; every cautious call is asked about", judged.why);
            }
            Cautious::Run | Cautious::Intent => {
                judged.by = DecidedBy::Intent;
                if let Some(signal) = authority.names(subject) {
                    judged.why =
                        joined(&judged.why, &format!("the user's words name its {} {:?}", signal.kind, signal.word));
                } else {
                    judged.verdict = Verdict::Ask;
                    judged.why =
                        joined(&judged.why, "the user's words name neither all that it runs nor what it touches");
                }
            }
        }
    }
    judged
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::{PolicySource, Tier};

    fn config(rules: &str, tier: Tier, cautious: Cautious) -> GuardConfig {
        let source = PolicySource { tier, name: "rules".into(), text: rules.into() };
        GuardConfig {
            policy: Policy::of(vec![source]).unwrap(),
            around: Surroundings::of_examples(),
            cautious,
            ..GuardConfig::default()
        }
    }

    fn judged(config: &GuardConfig, said: &str, tool: &str, input: &Value, risk: RiskLevel) -> Judgement {
        let declared = Declared { risk, by_arguments: false };
        judge(config, &Authority::of_text(said), tool, input, declared)
    }

    fn rule(verdict: &str, rest: &str) -> String {
        format!(
            "[[rule]]\nid = \"r\"\nverdict = \"{verdict}\"\ntool = \"act\"\n{rest}\n\
             examples.match = [\"act\"]\nexamples.no_match = [\"other\"]\n"
        )
    }

    #[test]
    fn c12_x07_each_level_has_its_gate() {
        use RiskLevel::{Cautious as C, Confirm, Dangerous, Safe};
        for (cautious, said, level, wanted) in [
            (Cautious::Run, "hello", Safe, Verdict::Allow),
            (Cautious::Run, "hello", C, Verdict::Allow),
            (Cautious::Run, "act", Confirm, Verdict::Ask),
            (Cautious::Run, "act", Dangerous, Verdict::Ask),
            (Cautious::Intent, "hello", Safe, Verdict::Allow),
            (Cautious::Intent, "hello", C, Verdict::Ask),
            (Cautious::Intent, "please act", C, Verdict::Allow),
            (Cautious::Ask, "please act", C, Verdict::Ask),
            (Cautious::Ask, "please act", Safe, Verdict::Allow),
        ] {
            let judged = judged(&config("", Tier::User, cautious), said, "act", &json!({}), level);
            assert_eq!(judged.verdict, wanted, "{cautious:?} {said} {level:?}: {judged:?}");
            assert!(!judged.rules.is_empty() && !judged.why.is_empty());
        }
    }

    #[test]
    fn c16_x07_the_strictest_of_policy_and_risk_holds() {
        use RiskLevel::{Cautious as C, Confirm, Dangerous, Safe};
        for (tier, verdict, level, wanted) in [
            (Tier::User, "forbid", Safe, Verdict::Forbid),
            (Tier::User, "forbid", Dangerous, Verdict::Forbid),
            (Tier::Project, "ask", Safe, Verdict::Ask),
            (Tier::User, "allow", C, Verdict::Allow),
            (Tier::User, "allow", Confirm, Verdict::Allow),
            (Tier::Admin, "allow", Dangerous, Verdict::Ask),
            (Tier::Project, "allow", C, Verdict::Allow),
            (Tier::Project, "allow", Confirm, Verdict::Ask),
        ] {
            let config = config(&rule(verdict, ""), tier, Cautious::Intent);
            let judged = judged(&config, "hello", "act", &json!({}), level);
            assert_eq!(judged.verdict, wanted, "{tier:?} {verdict} {level:?}: {judged:?}");
        }
    }

    #[test]
    fn x07_secrets_leave_only_with_a_word_of_a_person() {
        let key = format!("AKIA{}", "Q3EGRZ7KXW5TJ2NB");
        let allow = config(&rule("allow", ""), Tier::Admin, Cautious::Run);
        let out = json!({"url": "https://example.com/", "body": format!("aws_access_key_id = {key}")});
        let found = judged(&allow, "act", "act", &out, RiskLevel::Safe);
        assert_eq!((found.verdict, found.by, found.secret), (Verdict::Ask, DecidedBy::Sensitivity, true), "{found:?}");
        let here = json!({"url": "http://localhost:80/", "body": key});
        assert_eq!(judged(&allow, "act", "act", &here, RiskLevel::Safe).verdict, Verdict::Allow);
    }

    #[test]
    fn d16_a_yes_to_what_holds_a_secret_is_for_that_call_alone_wherever_it_goes() {
        let declared = Declared { risk: RiskLevel::Confirm, by_arguments: true };
        let secret = |line: &str| {
            let input = json!({ "command": line });
            let found =
                judge(&config("", Tier::User, Cautious::Run), &Authority::of_text(""), "shell", &input, declared);
            assert_eq!(found.verdict, Verdict::Ask, "{line}");
            found.secret
        };
        let key = format!("AKIA{}", "Q3EGRZ7KXW5TJ2NB");
        assert!(secret(&format!("AWS_ACCESS_KEY_ID={key} rm -r x")));
        assert!(secret(&format!("echo {key} > ~/.aws/credentials")));
        assert!(!secret("rm -r x"));
    }

    #[test]
    fn x08_a_line_that_can_not_be_read_is_asked_about() {
        let rules = "[[rule]]\nid = \"r\"\nverdict = \"allow\"\ntool = \"shell\"\nexamples.match = [\"shell\"]\nexamples.no_match = [\"x\"]\n";
        let config = config(rules, Tier::Admin, Cautious::Run);
        let line = json!({"command": "if then ( \"$("});
        let found = judged(&config, "", "shell", &line, RiskLevel::Safe);
        assert_eq!((found.verdict, found.by), (Verdict::Ask, DecidedBy::Unparsed), "{found:?}");
    }

    #[test]
    fn c14_a_shell_that_is_declared_strict_runs_cautious_lines_only_where_they_are_wanted() {
        let config = config("", Tier::User, Cautious::Run);
        let declared = Declared { risk: RiskLevel::Confirm, by_arguments: true };
        let verdict = |said: &str, line: &str| {
            judge(&config, &Authority::of_text(said), "shell", &json!({"command": line}), declared).verdict
        };
        assert_eq!(verdict("look around", "ls -l"), Verdict::Allow);
        assert_eq!(verdict("look around", "mkdir x"), Verdict::Ask);
        assert_eq!(verdict("make a folder", "mkdir x"), Verdict::Allow);
        assert_eq!(verdict("remove it", "rm -rf src"), Verdict::Ask);
    }

    #[test]
    fn g3_g4_what_is_asked_does_not_hang_on_what_stands_around_it() {
        let read = |line: &str| {
            let input = json!({ "command": line });
            let shell = DeclaredRisk { level: RiskLevel::Confirm, by_arguments: true };
            let context = RiskContext::default();
            (assess("shell", &input, Some(shell), &context), assess("shell", &input, None, &context))
        };
        for line in [
            "rm src/main.rs",
            "mkdir -p out && rm src/main.rs",
            "rm src/main.rs && mkdir -p out",
            "env rm src/main.rs",
            "env A=b rm src/main.rs",
            "bash -c 'rm src/main.rs'",
            "sh -c 'cd src; rm main.rs'",
            "timeout 5 rm src/main.rs",
            "echo src/main.rs | xargs rm",
            "find src -name main.rs -exec rm {} \\;",
            "if true; then rm src/main.rs; fi",
            "python3 -c 'import os; os.remove(\"src/main.rs\")'",
            "cat .loopwright/policy.toml",
        ] {
            let (shell, nothing) = read(line);
            assert!(shell.asks && nothing.asks, "{line}: {shell:?}");
        }
        for line in ["ls", "mkdir -p out", "touch out/x", "git status", "rm out.o"] {
            assert!(!read(line).0.asks, "{line}");
        }
    }

    /// Lines of every kind and level: the examples of all records, and what those of a list hide in.
    fn lines() -> Vec<String> {
        const AROUND: [&str; 6] = [
            "{}",
            "mkdir -p out && {}",
            "env A=b {}",
            "({}) | cat",
            "echo a\u{202e}b; {}",
            "cat .loopwright/policy.toml; {}",
        ];
        let examples: Vec<&str> = crate::records::records()
            .all
            .iter()
            .flat_map(|record| &record.examples)
            .map(|(_, line)| line.as_str())
            .collect();
        assert!(examples.len() > 500);
        examples
            .iter()
            .enumerate()
            .flat_map(|(at, line)| [(*line).to_owned(), AROUND[at % AROUND.len()].replace("{}", line)])
            .collect()
    }

    #[test]
    fn g4_risk_and_the_gate_agree_about_every_line() {
        let config = GuardConfig::default();
        let mut wrong = Vec::new();
        for line in lines() {
            let input = json!({ "command": line });
            let declared = |risk| Declared { risk, by_arguments: true };
            let nobody = Authority::default();
            let shell = DeclaredRisk { level: RiskLevel::Confirm, by_arguments: true };
            let found = assess("shell", &input, Some(shell), &RiskContext::default());
            let gate = judge(&config, &nobody, "shell", &input, declared(RiskLevel::Confirm));
            let plain = judge(&config, &nobody, "shell", &input, declared(RiskLevel::Cautious));
            // Whether the task names what a cautious call does is a question of its own.
            let asks = if gate.by == DecidedBy::Intent { false } else { gate.asks() };
            if found.asks != asks || found.asks != plain.asks() || found.risk.asks() && !found.asks {
                wrong.push(format!("{line}: {found:?} {gate:?}"));
            }
        }
        assert_eq!(wrong, Vec::<String>::new());
    }

    #[test]
    fn g10_what_can_not_be_seen_is_asked_about_whatever_a_rule_says() {
        let rules = "[[rule]]\nid = \"r\"\nverdict = \"allow\"\nshell = [\"cat\", \"…\"]\n\
             examples.match = [\"cat a\"]\nexamples.no_match = [\"ls\"]\n";
        let config = config(rules, Tier::Admin, Cautious::Run);
        let of = |line: &str| judged(&config, "cat it", "shell", &json!({ "command": line }), RiskLevel::Safe);
        assert_eq!(of("cat ab").verdict, Verdict::Allow);
        let hidden = of("cat a\u{202e}b");
        assert_eq!((hidden.verdict, hidden.by, hidden.risk), (Verdict::Ask, DecidedBy::Disguise, RiskLevel::Confirm));
        assert_eq!((hidden.rules[0].as_str(), hidden.span), ("risk:text.hidden", Some(5..8)));
        assert!(hidden.why.contains("U+202E at character 6"), "{}", hidden.why);
        assert!(hidden.touches.iter().any(|touched| touched.contains("a\\u{202e}b")), "{:?}", hidden.touches);
        let worse = of("rm -r a\u{200b}b");
        assert_eq!((worse.risk, worse.part.as_deref()), (RiskLevel::Confirm, Some("a\u{200b}b")));
        assert!(worse.why.contains("U+200B") && worse.why.contains("deletes"), "{}", worse.why);
        let host = of("cat a && curl -sS https://xn--80ak6aa92e.com/x");
        assert!(host.why.contains("xn--80ak6aa92e.com (written аррӏе.com) reads as \"apple\""), "{}", host.why);
        assert!(host.touches.iter().any(|touched| touched.contains("аррӏе.com")), "{:?}", host.touches);
        let honest = of("cat a && curl -sS https://пример.рф/x");
        assert_ne!(honest.by, DecidedBy::Disguise, "{honest:?}");
    }
}
