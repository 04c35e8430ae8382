//! Whether a call is what the user asked for, by where its values come from.

use std::ops::ControlFlow;

use loopwright_base::text::clip;
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Origin, Shown, ToolEffect, ToolFlow,
    address::{host_of, is_address},
    plain::{is_short_number, words},
    shown::{RUN, Spot, is_sign},
    tool::CANCELS,
};
use crate::{
    Authority, DecidedBy, Judgement, RiskLevel, names, policy::Verdict, policy::subject::words_of, sensitivity,
};

/// Values of a call that are looked at one by one; the others are one text.
const MOST_VALUES: usize = 200;
/// Bytes of the name that an address begins with.
const LONGEST_NAME: usize = 64;
/// Further values of a call that a question speaks of.
const MOST_TOLD: usize = 8;
/// Bytes between two values that stand side by side in a text.
const BESIDE: usize = 80;
/// Parts of an address that are looked for in what was shown.
const MOST_PARTS: usize = 64;

/// A call, and what is known of its tool.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// What it does.
    pub flow: &'a ToolFlow,
    /// The arguments.
    pub input: &'a Value,
    /// The other tools, by name and by what they do.
    pub beside: &'a [(&'a str, &'a ToolFlow)],
}

/// What a yes to a question about an origin covers: values of the same place, for the same tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreed {
    tool: String,
    argument: String,
    call_id: String,
    /// The place in a structure; empty in a text.
    path: String,
    /// The number of the text.
    text: usize,
    /// Bytes before it in the text.
    at: usize,
}

impl Agreed {
    fn covers(&self, other: &Self) -> bool {
        let place = if self.path.is_empty() {
            self.text == other.text && self.at.abs_diff(other.at) <= BESIDE
        } else {
            self.path == other.path
        };
        let same = self.tool == other.tool && self.argument == other.argument && self.call_id == other.call_id;
        same && place && self.path.is_empty() == other.path.is_empty()
    }
}

/// Why a person is asked about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong: `flow.text`, `flow.entry`, `flow.address`, `flow.unasked`, `flow.private`, `flow.carried`.
    pub rule: &'static str,
    /// The value.
    pub value: String,
    /// Why, in words.
    pub why: String,
    /// What a yes covers.
    pub agreed: Vec<Agreed>,
}

impl Finding {
    /// Two findings about a call as one question.
    fn with(mut self, other: Self) -> Self {
        self.why = format!("{}; {}", self.why, other.why);
        self.agreed.extend(other.agreed);
        self
    }

    /// Has a judgement ask, where it would let the call run.
    pub fn raise(&self, judged: &mut Judgement) {
        judged.rules.insert(0, self.rule.to_owned());
        if judged.verdict != Verdict::Allow {
            if judged.verdict == Verdict::Ask {
                judged.why = format!("{}; {}", self.why, judged.why);
            }
            return;
        }
        judged.verdict = Verdict::Ask;
        judged.by = DecidedBy::Origin;
        judged.risk = judged.risk.max(RiskLevel::Confirm);
        judged.part = Some(self.value.clone()).filter(|value| !value.is_empty());
        judged.span = None;
        judged.why.clone_from(&self.why);
    }
}

/// One value of a call.
struct Argument {
    /// The argument that holds it.
    name: String,
    text: String,
    words: Vec<String>,
    /// Words that may stand beside its number; empty for what is no number of a thing.
    beside: Vec<String>,
}

impl Argument {
    /// Whether a word of the argument's name is on a list.
    fn is(&self, list: &str) -> bool {
        words_of(&self.name).any(|word| names::has(list, &word))
    }

    /// Whether it is a text for people: facts may be told in it, addresses and whole sentences of others may not.
    fn is_content(&self) -> bool {
        self.is("flows.contents") && !self.is("flows.numbering") && !self.is("flows.targets")
    }
}

/// Looks for what in a call comes from others, or what nobody asked for, once a text of others was shown. What a
/// person has said yes to is not asked about again.
pub fn trace(shown: &Shown, authority: &Authority, call: &Call<'_>, agreed: &[Agreed]) -> Option<Finding> {
    if !shown.has_untrusted() {
        return None;
    }
    let given = values(call);
    if !call.flow.acts() {
        return given.iter().find_map(|given| carried(shown, given));
    }
    let tracing = Tracing { shown, authority, call, agreed, intended: is_intended(shown, authority, call, &given) };
    let mut all = given.iter().filter_map(|given| tracing.judge(given));
    let found = all.next().map(|first| all.take(MOST_TOLD).fold(first, Finding::with));
    found.or_else(|| tracing.private(&given)).or_else(|| tracing.unasked())
}

struct Tracing<'a> {
    shown: &'a Shown,
    authority: &'a Authority,
    call: &'a Call<'a>,
    agreed: &'a [Agreed],
    /// Whether the user's words ask for what the call does.
    intended: bool,
}

impl Tracing<'_> {
    fn judge(&self, given: &Argument) -> Option<Finding> {
        let words = &given.words;
        if let Some(word) = words.iter().find(|word| is_sign(word) && self.authority.spares(word)) {
            let why = format!("you named {:?} only as what to leave alone", clip(word, 100));
            return Some(Finding { rule: "flow.address", value: clip(word, 200), why, agreed: Vec::new() });
        }
        if words.is_empty() || self.shown.names(words, &given.beside) {
            return None;
        }
        let short = words.len() <= RUN && !given.is_content();
        let spot = if short { self.shown.in_prose(words, &given.beside) } else { None };
        if let Some(spot) = spot {
            return self.found("flow.text", given, &given.text, &spot);
        }
        if short && let ControlFlow::Break(found) = self.entry(given) {
            return found;
        }
        if self.keeps(given) {
            return None;
        }
        if let Some((part, spot)) = self.shown.in_prose_partly(words, given.is_content()) {
            return self.found("flow.text", given, &part, &spot);
        }
        let address = words.iter().find(|word| is_address(word) && !self.is_known(word)).cloned();
        let target = || self.reaches() && short && given.is("flows.targets") && self.is_strange(&given.text);
        let nobody = address.or_else(|| target().then(|| given.text.clone()))?;
        let why = format!("nobody named {:?}, which the model gives as {:?}", clip(&nobody, 100), given.name);
        Some(Finding { rule: "flow.address", value: clip(&nobody, 200), why, agreed: Vec::new() })
    }

    /// A value that is one of a structure, or a part of one.
    fn entry(&self, given: &Argument) -> ControlFlow<Option<Finding>> {
        let leaves = self.shown.leaves(&given.words);
        let Some(leaf) = leaves.iter().find(|leaf| leaf.is_meant()).or(leaves.first()) else {
            let numbers = given.words.iter().all(|word| is_short_number(word));
            let spot = self.shown.in_leaf(&given.words).filter(|_| !numbers);
            let Some(spot) = spot else { return ControlFlow::Continue(()) };
            return ControlFlow::Break(self.found("flow.entry", given, &given.text, &spot));
        };
        let leads = given.words.iter().any(|word| is_address(word));
        let named = leaf.is_meant() || given.words.iter().any(|word| self.says_a_part(word));
        // One of several things is chosen by what it is, an amount is not.
        let chosen = given.is("flows.numbering") || given.is("flows.targets");
        let another = if chosen && self.reaches() { self.shown.names_another(leaf) } else { None };
        let because = match another {
            Some(another) if !leaf.is_meant() => format!("you named {another:?} of these"),
            _ if !self.intended => "nothing you said asks for it".to_owned(),
            _ if leads && !named => "you did not name it".to_owned(),
            _ => return ControlFlow::Break(None),
        };
        let source = self.shown.source(leaf.source);
        let agreed = Agreed { path: leaf.path.clone(), ..self.agreement(given, source) };
        if self.is_agreed(&agreed) {
            return ControlFlow::Break(None);
        }
        let told = source.map(Origin::told).unwrap_or_default();
        let why = format!("{:?} ({}) comes from {told}, and {because}", clip(&given.text, 100), given.name);
        ControlFlow::Break(Some(Finding {
            rule: "flow.entry",
            value: clip(&given.text, 200),
            why,
            agreed: vec![agreed],
        }))
    }

    /// Whether the user says one of the names that an address is made of: `david` of `david.lee@example.com`, or what
    /// its host begins with.
    fn says_a_part(&self, word: &str) -> bool {
        let parts = |text: &str| text.split(|c: char| !c.is_alphabetic()).map(str::to_owned).collect::<Vec<_>>();
        let Some((local, host)) = word.split_once('@') else { return false };
        let begins = |part: &str| {
            (5..=part.len().min(LONGEST_NAME)).any(|end| part.get(..end).is_some_and(|part| self.shown.said(part)))
        };
        let said = |part: &str| part.len() > 2 && self.shown.said(part) || self.shown.says_a_form_of(part);
        parts(local).iter().any(|part| said(part))
            || parts(host).iter().any(|part| !names::has("flows.hosts", part) && begins(part))
    }

    /// Whether a value looks like a name, and nobody has said any part of it.
    fn is_strange(&self, text: &str) -> bool {
        let looks = text.chars().any(|c| c.is_uppercase() || !c.is_alphabetic() && !c.is_whitespace());
        let mut parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| part.chars().count() > 2);
        looks && !parts.any(|part| words(part).iter().all(|word| self.shown.names(std::slice::from_ref(word), &[])))
    }

    /// Whether the call can't be taken back, or reaches somebody.
    fn reaches(&self) -> bool {
        self.call.flow.effects.iter().any(|effect| effect.reaches())
    }

    fn is_known(&self, word: &str) -> bool {
        self.shown.names(&[word.to_owned()], &[]) || host_of(word).is_some_and(|host| self.shown.names_host(host))
    }

    /// Whether a text goes no further than to the user's own things, and they asked for that.
    fn keeps(&self, given: &Argument) -> bool {
        !self.reaches() && self.intended && (given.is_content() || given.words.len() > RUN)
    }

    /// What a yes to this argument covers, but for the place in its source.
    fn agreement(&self, given: &Argument, source: Option<&Origin>) -> Agreed {
        Agreed {
            tool: self.call.tool.to_owned(),
            argument: given.name.clone(),
            call_id: source.map(|source| source.call_id.clone()).unwrap_or_default(),
            ..Agreed::default()
        }
    }

    fn is_agreed(&self, asked: &Agreed) -> bool {
        self.agreed.iter().any(|yes| yes.covers(asked))
    }

    fn found(&self, rule: &'static str, given: &Argument, part: &str, spot: &Spot) -> Option<Finding> {
        let source = self.shown.source(spot.source)?;
        let agreed = Agreed { text: spot.text, at: spot.at, ..self.agreement(given, Some(source)) };
        if self.is_agreed(&agreed) {
            return None;
        }
        let told = source.told();
        let part = clip(part, 200);
        let why =
            format!("{part:?} ({}) stands in {told}, which others can have written; you did not name it", given.name);
        Some(Finding { rule, value: part, why, agreed: vec![agreed] })
    }

    /// Data that belong to persons leave, and the user has not said them.
    fn private(&self, given: &[Argument]) -> Option<Finding> {
        let leaves =
            [ToolEffect::Sends, ToolEffect::Publishes].iter().any(|effect| self.call.flow.effects.contains(effect));
        if !leaves {
            return None;
        }
        given.iter().find_map(|given| {
            let hits = sensitivity::classify(&given.text).hits;
            let mut hits = hits.iter().filter(|hit| names::has("flows.private", hit.detector));
            let hit = hits.find(|hit| {
                let text = given.text.get(hit.span.clone()).unwrap_or_default();
                !words(text).iter().all(|word| self.shown.said(word))
            })?;
            let why = format!("it would send {}, which you did not ask for, after a text of others was read", hit.why);
            Some(Finding { rule: "flow.private", value: String::new(), why, agreed: Vec::new() })
        })
    }

    /// It reaches outside, and nothing the user said asks for it.
    fn unasked(&self) -> Option<Finding> {
        // A tool whose name says nothing may do anything; it is asked about by its values alone.
        let told = || {
            self.call
                .flow
                .effects
                .iter()
                .any(|effect| words_of(self.call.tool).any(|word| names::has(effect.words(), &word)))
        };
        if self.intended || !self.reaches() && !told() {
            return None;
        }
        let does: Vec<&str> = self.call.flow.effects.iter().map(|effect| effect.name()).collect();
        let why = format!(
            "nothing you said asks for {:?} ({}), and the model has read what others can have written",
            self.call.tool,
            does.join(", ")
        );
        Some(Finding { rule: "flow.unasked", value: String::new(), why, agreed: Vec::new() })
    }
}

/// Whether an address that is read carries data to a host that the user did not name. One that stands in a text as it
/// is carries nothing new.
fn carried(shown: &Shown, given: &Argument) -> Option<Finding> {
    given.text.split_whitespace().find_map(|raw| carries(shown, raw))
}

fn carries(shown: &Shown, raw: &str) -> Option<Finding> {
    let address = raw.split_once("://").map_or(raw, |(_, address)| address).to_lowercase();
    let host = address.split(['/', '?', '#']).next()?.rsplit('@').next()?;
    let reaches = raw.contains("://") || host_of(&address).is_some();
    if !reaches || host.is_empty() || shown.names_host(host) || shown.holds(&address) {
        return None;
    }
    let sought = |part: &str| part.len() > 5 && !shown.said(part) && shown.holds(part);
    let parts = address.split(|c: char| !c.is_alphanumeric() && !matches!(c, '@' | '.' | '-'));
    let labels = host.split('.').chain(address.split(['/', '?', '=', '&']));
    let mut all = parts.chain(labels).take(MOST_PARTS);
    // Cut by slashes it is the same.
    let whole: String = address.get(host.len()..).unwrap_or_default().split('/').collect::<Vec<_>>().join("-");
    let data = all.find(|part| sought(part)).or_else(|| Some(whole.trim_matches('-')).filter(|part| sought(part)));
    let from_others = [host, &address].iter().any(|text| {
        let words = words(text);
        shown.in_prose_partly(&words, false).is_some() || shown.in_leaf(&words).is_some()
    });
    let what = match data {
        Some(data) => format!("it carries {:?} to {host:?}, which you did not name", clip(data, 100)),
        None if from_others && address.len() > host.len() => {
            format!("{host:?} stands in what others can have written, and this address of it stands nowhere")
        }
        None => return None,
    };
    Some(Finding { rule: "flow.carried", value: clip(&address, 200), why: what, agreed: Vec::new() })
}

/// Whether the user's words ask for what a call does; of what deletes they name the kind of thing, too.
fn is_intended(shown: &Shown, authority: &Authority, call: &Call<'_>, given: &[Argument]) -> bool {
    let says = |word: &str| authority.says(word) || shown.says_signs(word);
    let says_any = |list: &str| names::list(list).iter().any(|word| says(word));
    call.flow.effects.iter().filter(|effect| **effect != ToolEffect::Reads).any(|effect| {
        let list = effect.words();
        let things = |name: &str| words_of(name).filter(|word| !names::has(list, word)).collect::<Vec<_>>();
        let says_thing = |name: &str| things(name).iter().any(|word| says(word));
        // What is called off is no file.
        let of_name = |list: &str| words_of(call.tool).any(|word| names::has(list, &word));
        let cancels = *effect == ToolEffect::Deletes && (of_name(CANCELS) || of_name("flows.called_off"));
        let asked = says_any(list) || cancels && says_any(CANCELS);
        // Who speaks of files to be deleted means no mail.
        let sorted = matches!(effect, ToolEffect::Deletes | ToolEffect::Writes) && !says_thing(call.tool);
        let other = sorted && call.beside.iter().any(|(name, flow)| flow.effects.contains(effect) && says_thing(name));
        let named =
            |given: &Argument| !given.is_content() && given.words.iter().any(|word| is_sign(word) && shown.said(word));
        let nothing = sorted && *effect == ToolEffect::Writes && !says_any("flows.made") && !given.iter().any(named);
        asked && !other && !nothing
    })
}

/// The values of a call's arguments.
fn values(call: &Call<'_>) -> Vec<Argument> {
    let things: Vec<String> = words_of(call.tool).collect();
    let mut found = Vec::new();
    let mut rest = String::new();
    walk(call.input, "", &mut |name, text: &str| {
        if found.len() >= MOST_VALUES {
            rest.push_str(text);
            rest.push('\n');
            return;
        }
        let own: Vec<String> = words_of(name).collect();
        let numbered = own.iter().any(|word| names::has("flows.numbering", word));
        let beside = if numbered { things.iter().chain(&own).cloned().collect() } else { Vec::new() };
        found.push(Argument { name: name.to_owned(), words: words(text), text: text.to_owned(), beside });
    });
    if !rest.is_empty() {
        found.push(Argument { name: "…".to_owned(), words: words(&rest), text: rest, beside: Vec::new() });
    }
    found
}

/// Walks the texts and numbers of a value, with the key that holds each; percent-encoded texts are read.
fn walk(value: &Value, name: &str, see: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(text) if text.contains('%') => {
            see(name, &percent_decode_str(text).decode_utf8_lossy());
        }
        Value::String(text) => see(name, text),
        Value::Number(number) => see(name, &number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| walk(item, name, see)),
        Value::Object(members) => members.iter().for_each(|(key, member)| {
            // A key that is no word is a value.
            if !key.chars().all(|c| c.is_ascii_lowercase() || c == '_') && !is_camel(key) {
                see(name, key);
            }
            walk(member, key, see);
        }),
        Value::Bool(_) | Value::Null => {}
    }
}

/// Whether a key is a name of a program: `messageId`.
fn is_camel(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_lowercase()) && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
