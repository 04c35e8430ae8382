//! Requests in both directions.
//!
//! The history stands last in the body and is joined from messages that were each written once, so a request that only
//! grew repeats all bytes of the one before. A member that the common shape can hold only in another form (a `stop`
//! that is a string, an effort without a name of ours) is kept as it was, and is written again while it still means
//! what the request says.

use std::{borrow::Cow, fmt::Write as _};

use serde::Deserialize;

use loopwright_base::{
    error::{Error, Result},
    json::{Fields, Raw},
    message::{Extra, Role},
    request::{Effort, FunctionTool, OutputSchema, Request, Tool, ToolChoice, WebSearch},
};
use loopwright_models::{profile::Profile, quirks::takes_completion_limit};

use super::{
    super::{names::legal_name, object::Object},
    WIRE,
    message::{self, encode_in_request, encode_message},
    object::{ORIGINAL, inner, kept, quoted, same_json, wire_key},
    own,
};

/// Note: a streamed request that did not ask for usage.
const NO_USAGE: &str = "@no_usage";
/// Note: a request that came with what goes out in another form: a user right behind the result of a tool, illegal
/// names.
const AS_IT_CAME: &str = "@as_it_came";
const SEARCH: &str = "web_search_options";
const WITH_USAGE: &str = r#"{"include_usage":true}"#;
const LIMITS: [&str; 2] = ["max_completion_tokens", "max_tokens"];

/// What a member of the body says, in our own shape. Members are read and compared through this one table, so that
/// decoding and encoding can't disagree.
#[derive(Debug, PartialEq)]
enum Said {
    Nothing,
    Number(f64),
    Flag(bool),
    Texts(Vec<String>),
    Choice(ToolChoice),
    Effort(Effort),
    Output(OutputSchema),
}

/// The members of [`Said`].
const MEMBERS: [&str; 8] = [
    "temperature",
    "top_p",
    "stop",
    "tool_choice",
    "parallel_tool_calls",
    "reasoning_effort",
    "response_format",
    "stream",
];

/// What `raw` says under `key`; `Nothing` where we have no word for it.
fn read(key: &str, raw: &Raw) -> Said {
    match key {
        "temperature" | "top_p" => raw.to().map_or(Said::Nothing, Said::Number),
        "parallel_tool_calls" | "stream" => raw.to().map_or(Said::Nothing, Said::Flag),
        "stop" => match raw.string() {
            Some(text) => Said::Texts(vec![text]),
            None => match raw.to::<Vec<String>>() {
                Ok(texts) if !texts.is_empty() => Said::Texts(texts),
                _ => Said::Nothing,
            },
        },
        "tool_choice" => read_choice(raw).map_or(Said::Nothing, Said::Choice),
        "reasoning_effort" => match raw.string().as_deref() {
            Some("low") => Said::Effort(Effort::Low),
            Some("medium") => Said::Effort(Effort::Medium),
            Some("high") => Said::Effort(Effort::High),
            _ => Said::Nothing,
        },
        "response_format" => read_output(raw).map_or(Said::Nothing, Said::Output),
        _ => Said::Nothing,
    }
}

/// What the request says under `key`.
fn said(request: &Request, key: &str) -> Said {
    match key {
        "temperature" => request.temperature.map_or(Said::Nothing, Said::Number),
        "top_p" => request.top_p.map_or(Said::Nothing, Said::Number),
        "parallel_tool_calls" => request.parallel_tool_calls.map_or(Said::Nothing, Said::Flag),
        "stream" => request.stream.map_or(Said::Nothing, Said::Flag),
        "stop" if request.stop.is_empty() => Said::Nothing,
        "stop" => Said::Texts(request.stop.clone()),
        "tool_choice" => request.tool_choice.clone().map_or(Said::Nothing, Said::Choice),
        "reasoning_effort" => request.effort.map_or(Said::Nothing, Said::Effort),
        "response_format" => request.output.clone().map_or(Said::Nothing, Said::Output),
        _ => Said::Nothing,
    }
}

/// Lets the request say it.
fn say(request: &mut Request, key: &str, said: Said) {
    match (key, said) {
        ("temperature", Said::Number(number)) => request.temperature = Some(number),
        ("top_p", Said::Number(number)) => request.top_p = Some(number),
        ("parallel_tool_calls", Said::Flag(flag)) => request.parallel_tool_calls = Some(flag),
        ("stream", Said::Flag(flag)) => request.stream = Some(flag),
        ("stop", Said::Texts(texts)) => request.stop = texts,
        ("tool_choice", Said::Choice(choice)) => request.tool_choice = Some(choice),
        ("reasoning_effort", Said::Effort(effort)) => request.effort = Some(effort),
        ("response_format", Said::Output(output)) => request.output = Some(output),
        _ => {}
    }
}

/// The JSON of what is said; `None` for nothing.
fn write(said: &Said) -> Option<String> {
    Some(match said {
        Said::Nothing => return None,
        // Whole numbers look as people write them.
        Said::Number(number) if number.fract() == 0.0 && number.abs() < 1e15 => format!("{number:.0}"),
        Said::Number(number) => number.to_string(),
        Said::Flag(flag) => flag.to_string(),
        Said::Texts(texts) => Raw::of(texts).text().to_owned(),
        Said::Choice(ToolChoice::Auto) => "\"auto\"".to_owned(),
        Said::Choice(ToolChoice::None) => "\"none\"".to_owned(),
        Said::Choice(ToolChoice::Any) => "\"required\"".to_owned(),
        Said::Choice(ToolChoice::Tool(name)) => {
            format!(r#"{{"type":"function","function":{{"name":{}}}}}"#, quoted(name))
        }
        Said::Effort(effort) => quoted(effort.name()),
        Said::Output(output) => write_output(output),
    })
}

fn read_choice(raw: &Raw) -> Option<ToolChoice> {
    #[derive(Deserialize)]
    struct Named {
        function: Function,
    }
    #[derive(Deserialize)]
    struct Function {
        name: String,
    }
    match raw.string().as_deref() {
        Some("auto") => Some(ToolChoice::Auto),
        Some("none") => Some(ToolChoice::None),
        Some("required" | "any") => Some(ToolChoice::Any),
        Some(_) => None,
        None => raw.to::<Named>().ok().map(|named| ToolChoice::Tool(named.function.name)),
    }
}

fn read_output(raw: &Raw) -> Option<OutputSchema> {
    let fields = Fields::parse(raw.text()).ok()?;
    if fields.get_str("type")? != "json_schema" {
        return None;
    }
    fields.get("json_schema")?.to().ok()
}

fn write_output(output: &OutputSchema) -> String {
    let mut schema = Object::with_capacity(output.schema.text().len() + 96);
    schema.text("name", &legal_name(&output.name));
    schema.raw("schema", output.schema.text());
    if let Some(strict) = output.strict {
        schema.raw("strict", if strict { "true" } else { "false" });
    }
    if let Some(description) = &output.description {
        schema.text("description", description);
    }
    format!(r#"{{"type":"json_schema","json_schema":{}}}"#, schema.end())
}

const fn limit_name(reasoning: bool) -> &'static str {
    if reasoning { LIMITS[0] } else { LIMITS[1] }
}

pub(super) fn encode(profile: &Profile, request: &Request) -> Result<String> {
    let extra = own(request.extra.as_deref());
    for message in request.system.iter().map(AsRef::as_ref).chain(request.messages.iter()) {
        message::check(message)?;
    }
    for (name, number) in [("temperature", request.temperature), ("top_p", request.top_p)] {
        if number.is_some_and(|number| !number.is_finite()) {
            return Err(Error::usage("invalid_number", format!("{name} is no finite number"))
                .hint("give a finite number, or leave it out"));
        }
    }

    let system = request.system.as_deref().map(encode_message);
    let as_it_came = extra.is_some_and(|fields| fields.get(AS_IT_CAME).is_some());
    let entries = request.messages.entries().iter();
    let history: Vec<Cow<'_, str>> = entries
        .map(|entry| {
            let message = entry.message();
            if as_it_came {
                Cow::Owned(message::encode_as_it_came(message))
            } else if profile.user_behind_result && message::says_more_than_results(message) {
                Cow::Owned(encode_message(message))
            } else {
                entry.written(WIRE, encode_in_request)
            }
        })
        .collect();
    let bytes: usize = history.iter().map(|text| text.len() + 1).sum();
    let mut object = Object::with_capacity(bytes + system.as_deref().map_or(0, str::len) + 1024);

    if !request.model.is_empty() {
        object.text("model", &request.model);
    }
    encode_tools(&mut object, request, extra)?;
    for key in MEMBERS {
        let said = said(request, key);
        if let Some(kept) = extra.and_then(|fields| fields.get(key)).filter(|kept| read(key, kept) == said) {
            object.raw(key, kept.text());
        } else if let Some(json) = write(&said) {
            object.raw(key, &json);
        }
    }
    encode_limit(&mut object, profile, request, extra);
    let asked = extra.is_some_and(|fields| fields.get("stream_options").is_some() || fields.get(NO_USAGE).is_some());
    if request.stream == Some(true) && !asked && !profile.refuses("stream_options", false) {
        object.raw("stream_options", WITH_USAGE);
    }
    // Members of the table that were not written were taken back; so was a search that is no longer among the tools.
    let mut skip = MEMBERS.to_vec();
    skip.extend(LIMITS);
    skip.extend(["tools", SEARCH]);
    object.rest(extra, |key| wire_key(key).filter(|key| !skip.contains(key)));

    let mut messages = vec![system.as_deref().unwrap_or_default()];
    let mut behind_result = false;
    for (text, entry) in history.iter().zip(request.messages.entries()) {
        let message = entry.message();
        if !as_it_came && message::says_nothing(message) {
            continue;
        }
        if behind_result && !as_it_came && !profile.user_behind_result && message::begins_with_words(message) {
            messages.push(message::BETWEEN);
        }
        behind_result = message::ends_with_result(message);
        messages.push(text);
    }
    object.list("messages", messages);
    Ok(object.end())
}

/// A limit under the name it came with, or the name that the model wants.
fn encode_limit(object: &mut Object, profile: &Profile, request: &Request, extra: Option<&Fields>) {
    let kept = |name: &str| extra.and_then(|fields| fields.get(name));
    let same = |raw: &Raw| raw.to::<u64>().ok() == request.max_tokens;
    // Both may be there; the first counts. One that is no number goes back as long as there is no number of ours.
    if let Some(counts) = LIMITS.into_iter().find_map(kept)
        && same(counts)
    {
        for name in LIMITS {
            if let Some(raw) = kept(name) {
                object.raw(name, raw.text());
            }
        }
    } else if let Some(limit) = request.max_tokens {
        let usual = match profile.limit.as_str() {
            "" => takes_completion_limit(&request.model),
            name => name == LIMITS[0],
        };
        let name = LIMITS.into_iter().find(|name| kept(name).is_some()).unwrap_or_else(|| limit_name(usual));
        let _ = write!(object.open(name), "{limit}");
    }
}

fn encode_tools(object: &mut Object, request: &Request, extra: Option<&Fields>) -> Result<()> {
    let mut tools = Vec::new();
    let mut search_wanted = false;
    for tool in request.tools.iter() {
        let text = match tool {
            Tool::Function(tool) => encode_tool(tool),
            Tool::Provider { wire, raw } if *wire == WIRE => raw.text().to_owned(),
            Tool::Provider { wire, .. } => {
                return Err(Error::usage(
                    "unsupported_tool",
                    format!("a tool in the form of {} can't be offered over Chat Completions", wire.name()),
                )
                .hint("offer it to a model of its own wire, or leave it out"));
            }
            Tool::WebSearch(search) => {
                if *search != WebSearch::default() {
                    return Err(Error::usage(
                        "unsupported_option",
                        "web search over Chat Completions can be limited neither in number nor to domains",
                    )
                    .hint("drop the limits, or use another wire"));
                }
                search_wanted = true;
                continue;
            }
        };
        tools.push(text);
    }
    if tools.is_empty() {
        if let Some(kept) = extra.and_then(|fields| fields.get("tools"))
            && decode_list(kept).is_none_or(|tools| tools.is_empty())
        {
            object.raw("tools", kept.text());
        }
    } else {
        object.list("tools", tools);
    }
    let kept = extra.and_then(|fields| fields.get(SEARCH));
    match kept {
        // Options that are no options ask for no search, and come back as they were.
        Some(kept) if search_wanted == kept.is_object() => object.raw(SEARCH, kept.text()),
        _ if search_wanted => object.raw(SEARCH, "{}"),
        _ => {}
    }
    Ok(())
}

fn encode_tool(tool: &FunctionTool) -> String {
    if let Some(raw) = own(tool.extra.as_deref()).and_then(|fields| fields.get(ORIGINAL))
        && decode_tool(raw).as_ref() == Some(tool)
    {
        return raw.text().to_owned();
    }
    write_tool(tool)
}

fn write_tool(tool: &FunctionTool) -> String {
    let extra = own(tool.extra.as_deref());
    let mut function = Object::with_capacity(tool.schema.text().len() + 160);
    function.text("name", &tool.name);
    if let Some(description) = &tool.description {
        function.text("description", description);
    }
    function.raw("parameters", tool.schema.text());
    if let Some(strict) = tool.strict {
        function.raw("strict", if strict { "true" } else { "false" });
    }
    function.rest(inner(extra, "function").as_ref(), wire_key);
    let mut object = Object::new();
    object.text("type", "function");
    object.raw("function", &function.end());
    object.rest(extra, wire_key);
    object.end()
}

/// A function; `None` for tools of other kinds.
fn decode_tool(raw: &Raw) -> Option<FunctionTool> {
    let mut fields = Fields::parse(raw.text()).ok()?;
    if fields.take_str("type").is_some_and(|kind| kind != "function") {
        return None;
    }
    let mut function = Fields::parse(fields.take("function")?.text()).ok()?;
    let mut tool = FunctionTool {
        name: function.take_str("name")?,
        description: function.take_str("description"),
        schema: function.take("parameters").filter(Raw::is_object).unwrap_or_else(no_parameters),
        strict: function.take_as("strict"),
        extra: None,
    };
    let mut rest = kept(&fields);
    if !function.is_empty() {
        rest.set("function", kept(&function).to_raw());
    }
    tool.extra = Extra::of(WIRE, rest.clone());
    if !same_json(&write_tool(&tool), raw.text()) {
        rest.set(ORIGINAL, raw.clone());
        tool.extra = Extra::of(WIRE, rest);
    }
    Some(tool)
}

/// What a function without `parameters` takes.
fn no_parameters() -> Raw {
    Raw::of(&serde_json::json!({"type": "object", "properties": {}}))
}

pub(super) fn decode(body: &str) -> Result<Request> {
    let mut fields = Fields::parse(body).map_err(|error| {
        Error::usage("invalid_body", format!("the body must be a JSON object: {error}"))
            .hint("give the body of a request as it is sent")
    })?;
    let mut request = Request::default();
    if let Some(model) = fields.get_str("model").filter(|model| !model.is_empty()) {
        request.model = model;
        fields.take("model");
    }
    let messages: Vec<Raw> = fields.take_as("messages").ok_or_else(|| {
        Error::usage("invalid_body", "the body has no list of messages").hint("give `messages`, a list")
    })?;
    let (mut behind_result, mut as_it_came) = (false, false);
    for (place, raw) in messages.iter().enumerate() {
        if behind_result && raw.text() == message::BETWEEN {
            // What stands between is put there again.
            behind_result = false;
            continue;
        }
        let message = message::decode(raw)
            .map_err(|error| Error { message: format!("messages[{place}]: {}", error.message), ..error })?;
        as_it_came |= behind_result && message::begins_with_words(&message);
        as_it_came |= message::holds_illegal_names(&message)
            || message::says_nothing(&message)
            || message::refuses_alone(&message);
        behind_result = message::ends_with_result(&message);
        if place == 0 && matches!(message.role, Role::System | Role::Developer) {
            request.system = Some(message.into());
        } else {
            request.messages.push(message);
        }
    }
    decode_tools(&mut fields, &mut request);
    for key in MEMBERS {
        let Some(raw) = fields.get(key) else { continue };
        let said = read(key, raw);
        if write(&said).is_some_and(|json| same_json(&json, raw.text())) {
            fields.take(key);
        }
        say(&mut request, key, said);
    }
    decode_limit(&mut fields, &mut request);
    let mut asked = true;
    if request.stream == Some(true) && !fields.take_if("stream_options", &serde_json::json!({"include_usage": true})) {
        asked = fields.get("stream_options").is_some();
    }
    let mut extra = kept(&fields);
    if !asked {
        extra.put(NO_USAGE, &true);
    }
    if as_it_came {
        extra.put(AS_IT_CAME, &true);
    }
    request.extra = Extra::of(WIRE, extra);
    Ok(request)
}

fn decode_tools(fields: &mut Fields, request: &mut Request) {
    let mut tools = fields.get("tools").and_then(decode_list).unwrap_or_default();
    if !tools.is_empty() {
        fields.take("tools");
    }
    match fields.get(SEARCH) {
        Some(options) if options.is_object() => {
            tools.push(Tool::WebSearch(WebSearch::default()));
            fields.take_if(SEARCH, &serde_json::json!({}));
        }
        // Not a search that we know how to ask for: written back only from what was kept.
        _ => {}
    }
    request.tools = tools.into();
}

fn decode_list(raw: &Raw) -> Option<Vec<Tool>> {
    let tools = raw.to::<Vec<Raw>>().ok()?;
    let tool = |raw| decode_tool(&raw).map_or(Tool::Provider { wire: WIRE, raw }, Tool::Function);
    Some(tools.into_iter().map(tool).collect())
}

/// The limit goes into the common shape; its name, or whatever can't be read as a limit, stays.
fn decode_limit(fields: &mut Fields, request: &mut Request) {
    let Some(name) = LIMITS.into_iter().find(|name| fields.get(name).is_some()) else { return };
    request.max_tokens = fields.get(name).and_then(|raw| raw.to().ok());
    let both = LIMITS.into_iter().all(|name| fields.get(name).is_some());
    let usual = limit_name(takes_completion_limit(&request.model));
    if let Some(limit) = request.max_tokens
        && !both
        && name == usual
        && fields.get(name).is_some_and(|raw| raw.text() == limit.to_string())
    {
        fields.take(name);
    }
}
