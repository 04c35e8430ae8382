//! Requests as an endpoint takes them: what its profile refuses is left out or asked for in another way, and told.

use std::borrow::Cow;

use super::{
    endpoint::Endpoint,
    provenance::adapt_provenance,
    provider_limits::{adapt_effort, adapt_history},
};
use loopwright_base::{
    json::{Fields, Raw},
    message::{Block, Extra, Role, Thinking, Wire},
    parameter::{Parameter, SEED},
    request::{Caching, Request, Tool, ToolChoice, WebSearch},
};
use loopwright_models::{
    profile::{AnswerForm, Profile},
    quirks::{Sampling, keeps_for_an_hour},
};
use loopwright_wire::{anthropic::with_marks, schema::in_words};

/// The member of an Anthropic body that asks for thinking.
const THINKING: &str = "thinking";

/// A request as an endpoint takes it.
pub(super) struct Adapted<'r> {
    pub(super) request: Cow<'r, Request>,
    /// Changes of the request, in words for people: parameters that were left out or asked for in another way.
    pub(super) notes: Vec<String>,
}

/// The request as the endpoint takes it.
pub(super) fn adapted<'r>(endpoint: &Endpoint, profile: &Profile, request: &'r Request) -> Adapted<'r> {
    let mut adapted = Adapted { request: Cow::Borrowed(request), notes: Vec::new() };
    let named = || format!("{} with {}", endpoint.name, request.model);
    adapt_tools(endpoint, profile, request, &mut adapted);
    // The search of `OpenAI`'s chat is no tool of the body, and Gemini's choice is one among functions.
    let is_apart = |tool: &Tool| match endpoint.wire {
        Wire::OpenaiChat => matches!(tool, Tool::WebSearch(_)),
        Wire::Gemini => !matches!(tool, Tool::Function(_)),
        _ => false,
    };
    let chooses = request.tool_choice.is_some() && !request.tools.is_empty();
    if adapted.request.tools.iter().all(is_apart) && (chooses || request.parallel_tool_calls.is_some()) {
        // They say nothing where there are no tools, and some hosts refuse them there.
        let own = adapted.request.to_mut();
        own.parallel_tool_calls = None;
        if chooses {
            own.tool_choice = None;
        }
    }
    for parameter in Parameter::ALL {
        let refused = !parameter.is_written_otherwise()
            && parameter.is_in(&adapted.request)
            && profile.refuses(parameter.name(), request.effort.is_some());
        if refused {
            parameter.leave_out(adapted.request.to_mut());
            adapted.notes.push(format!("{} takes no {}: it was left out", named(), parameter.name()));
        }
    }
    if let (Some(asked), Some(limit)) = (adapted.request.temperature, profile.body.temperature_limit.map(f64::from))
        && asked > limit
    {
        adapted.request.to_mut().temperature = Some(limit);
        adapted.notes.push(format!("{} takes no temperature above {limit}: it was asked with {limit}", named()));
    }
    if profile.body.include_own_tools
        && let Some(own) = including_own_tools(&adapted.request)
    {
        adapted.request = Cow::Owned(own);
    }
    if profile.sampling == Sampling::One && adapted.request.temperature.is_some() && adapted.request.top_p.is_some() {
        adapted.request.to_mut().top_p = None;
        adapted.notes.push(format!("{} takes no top_p beside a temperature: it was left out", named()));
    }
    if profile.body.shown_stops && adapted.request.stop.iter().any(|stop| stop.trim().is_empty()) {
        adapted.request.to_mut().stop.retain(|stop| !stop.trim().is_empty());
        adapted.notes.push(format!("{} takes no stop of blanks alone: it was left out", named()));
    }
    if let Some(limit) = profile.body.stop_limit
        && let Some(behind) = adapted.request.stop.len().checked_sub(limit).filter(|behind| *behind > 0)
    {
        adapted.request.to_mut().stop.truncate(limit);
        adapted.notes.push(format!("{} takes {limit} values of stop: the last {behind} were left out", named()));
    }
    if request.cache == Caching::Hour && !keeps_an_hour(endpoint, profile, &request.model) {
        adapted.notes.push(format!("{} has no cache of an hour: it was asked for its usual one", named()));
    }
    let form = answer_form(profile, request);
    if let Some(output) = request.output.as_ref().filter(|_| form != Some(AnswerForm::Schema)) {
        let own = adapted.request.to_mut();
        own.output = None;
        own.instruct(&in_words(&output.schema));
        let how = if form == Some(AnswerForm::Json) {
            let mut passed = Fields::from_iter([("response_format".to_owned(), json_object())]);
            // The caller's own word stands last.
            own.passed().into_iter().flat_map(Fields::iter).for_each(|(name, value)| passed.set(name, value.clone()));
            own.pass(passed);
            "JSON mode and the instructions ask for it"
        } else {
            "the instructions alone ask for it"
        };
        adapted.notes.push(format!("{} takes no schema of an answer: {how}, and it is checked here", named()));
    }
    if let Some(own) = adapt_provenance(endpoint, profile, &adapted.request) {
        adapted.request = Cow::Owned(own);
    }
    if endpoint.wire == Wire::Anthropic
        && let Some(own) = without_budget(&adapted.request)
    {
        adapted.request = Cow::Owned(own);
        adapted.notes.push(format!("{} takes no thinking behind calls without any: it was left out", named()));
    }
    for adapt in [adapt_effort, adapt_history] {
        if let Some(own) = adapt(profile, endpoint.wire, &adapted.request) {
            adapted.request = Cow::Owned(own);
        }
    }
    if endpoint.wire == Wire::Anthropic
        && let Some(own) = with_marks(profile.body.cache_marks.unwrap_or_default(), &adapted.request)
    {
        adapted.request = Cow::Owned(own);
    }
    adapted
}

/// Leaves out the tools that the endpoint has not: those in the form of another wire, a web search that it has not, or
/// not within these limits, and its own beside those of the request where they stand alone.
fn adapt_tools(endpoint: &Endpoint, profile: &Profile, request: &Request, adapted: &mut Adapted<'_>) {
    let named = || format!("{} with {}", endpoint.name, request.model);
    let searches = |tool: &Tool| !matches!(tool, Tool::WebSearch(asked) if !profile.can_search(asked));
    let is_function = |tool: &Tool| matches!(tool, Tool::Function(_));
    let alone = profile.searches_alone() && request.tools.iter().any(is_function);
    let fits =
        |tool: &Tool| foreign_wire(endpoint.wire, tool).is_none() && searches(tool) && (!alone || is_function(tool));
    for tool in request.tools.iter().filter(|tool| !fits(tool)) {
        let what = if let Some(foreign) = foreign_wire(endpoint.wire, tool) {
            format!("takes no tool in the form of {}", foreign.name())
        } else if !searches(tool) {
            let how = if profile.can_search(&WebSearch::default()) { " within these limits" } else { "" };
            format!("has no web search of its own{how}")
        } else if matches!(tool, Tool::WebSearch(_)) {
            "has no web search of its own beside tools of the request".to_owned()
        } else {
            "takes no tool of its own beside those of the request".to_owned()
        };
        adapted.notes.push(format!("{} {what}: it was left out", named()));
    }
    if !adapted.notes.is_empty() {
        let own = adapted.request.to_mut();
        own.tools = own.tools.iter().filter(|tool| fits(tool)).cloned().collect();
    }
}

/// The request with the member of Gemini's `toolConfig` that asks for tools of the provider's own beside others, where
/// it has both (ai.google.dev/gemini-api/docs/tool-combination).
fn including_own_tools(request: &Request) -> Option<Request> {
    const CONFIG: &str = "toolConfig";
    let functions = request.tools.iter().filter(|tool| matches!(tool, Tool::Function(_))).count();
    (functions > 0 && functions < request.tools.len()).then_some(())?;
    let mut own = request.clone();
    // What is usual is no mode there.
    own.tool_choice = own.tool_choice.filter(|choice| *choice != ToolChoice::Auto);
    let mut fields = Extra::for_wire(own.extra.as_deref(), Wire::Gemini).cloned().unwrap_or_default();
    let mut config = fields.get(CONFIG).and_then(|raw| Fields::parse(raw.text()).ok()).unwrap_or_default();
    config.put("includeServerSideToolInvocations", &true);
    fields.set(CONFIG, config.to_raw());
    own.extra = Extra::of(Wire::Gemini, fields);
    Some(own)
}

/// Returns whether the host can be asked to cache the prompt's prefix for an hour.
fn keeps_an_hour(endpoint: &Endpoint, profile: &Profile, model: &str) -> bool {
    match endpoint.wire {
        Wire::Anthropic => profile.body.cache_marks > Some(0),
        Wire::Bedrock => profile.body.cache_marks != Some(0) && keeps_for_an_hour(model),
        Wire::Offline => true,
        _ => false,
    }
}

/// The request without a budget for thinking that the caller passes on, where the last calls were made without any, as
/// by another host: with such a budget the provider wants thinking before them.
fn without_budget(request: &Request) -> Option<Request> {
    let thinking = request.passed()?.get(THINKING).and_then(|raw| Fields::parse(raw.text()).ok())?;
    let last = request.messages.iter().rev().find(|message| message.role == Role::Assistant)?;
    let calls = last.content.iter().any(|block| matches!(block, Block::ToolUse(_)));
    let shown =
        |thinking: &Thinking| thinking.signature.is_some() || thinking.redacted.is_some() || thinking.extra.is_some();
    let thought = matches!(last.content.first(), Some(Block::Thinking(thinking)) if shown(thinking));
    (thinking.get_str("type").as_deref() == Some("enabled") && calls && !thought).then_some(())?;
    let mut own = request.clone();
    let mut passed = request.passed()?.clone();
    passed.take(THINKING);
    own.pass(passed);
    Some(own)
}

/// The wire of a provider's own tool, if that is another than `wire`: a fallback of another provider has no such tool.
fn foreign_wire(wire: Wire, tool: &Tool) -> Option<Wire> {
    match tool {
        Tool::Provider { wire: own, .. } if *own != wire => Some(*own),
        _ => None,
    }
}

/// JSON mode, as the wire of `OpenAI`'s chat asks for it.
fn json_object() -> Raw {
    Raw::of(&serde_json::json!({"type": "json_object"}))
}

/// The body of a request with what the caller passes on: its seed at the place that the host has for it, and members
/// that are merged over everything else.
pub(super) fn with_passed(body: String, profile: &Profile, request: &Request) -> String {
    let Some(passed) = request.passed() else { return body };
    let Ok(mut members) = Fields::parse(&body) else { return body };
    let mut passed = passed.clone();
    if let Some(seed) = passed.take(SEED).filter(|_| !profile.seed.is_empty()) {
        let place =
            profile.seed.rsplit('.').fold(seed, |inner, name| Fields::from_iter([(name.to_owned(), inner)]).to_raw());
        merge(&mut members, &Fields::parse(place.text()).unwrap_or_default());
    }
    merge(&mut members, &passed);
    members.to_raw().text().to_owned()
}

/// Merges objects member by member; any other value takes the place of the one before.
fn merge(members: &mut Fields, over: &Fields) {
    for (name, value) in over.iter() {
        let inner = members.get(name).filter(|old| old.is_object() && value.is_object());
        let both = inner.and_then(|old| Some((Fields::parse(old.text()).ok()?, Fields::parse(value.text()).ok()?)));
        let value = both.map_or_else(
            || value.clone(),
            |(mut old, new)| {
                merge(&mut old, &new);
                old.to_raw()
            },
        );
        members.set(name, value);
    }
}

/// The form in which the request's answer is asked for; `None`: by the instructions.
pub(super) fn answer_form(profile: &Profile, request: &Request) -> Option<AnswerForm> {
    let takes = profile.json_with_tools || request.tools.is_empty();
    profile.output.first().copied().filter(|_| takes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w20_members_that_are_passed_on_are_merged_deep_and_the_seed_has_its_place() {
        let passed = |text: &str| {
            let mut request = Request::default();
            request.pass(Fields::parse(text).unwrap());
            request
        };
        let at = |seed: &str| Profile { seed: seed.to_owned(), ..Profile::default() };
        let body = r#"{"model":"m","options":{"a":1,"b":[1]},"messages":[]}"#;
        for (seed, given, sent) in [
            ("seed", "{}", body),
            ("seed", r#"{"@seed":7}"#, r#"{"model":"m","options":{"a":1,"b":[1]},"messages":[],"seed":7}"#),
            (
                "options.deep.seed",
                r#"{"@seed":7}"#,
                r#"{"model":"m","options":{"a":1,"b":[1],"deep":{"seed":7}},"messages":[]}"#,
            ),
            ("", r#"{"@seed":7}"#, body),
            (
                "seed",
                r#"{"options":{"b":[2],"c":{}}}"#,
                r#"{"model":"m","options":{"a":1,"b":[2],"c":{}},"messages":[]}"#,
            ),
            (
                "seed",
                r#"{"options":null,"@seed":1,"seed":2}"#,
                r#"{"model":"m","options":null,"messages":[],"seed":2}"#,
            ),
        ] {
            assert_eq!(with_passed(body.to_owned(), &at(seed), &passed(given)), sent, "{given}");
        }
        assert_eq!(with_passed(body.to_owned(), &at("seed"), &Request::default()), body);
    }
}
