//! The subset of JSON schema that a provider holds a model to.
//!
//! Providers that compile a schema into a grammar take a part of JSON schema and refuse the request for the rest. What
//! goes out is that part: objects are closed, bounds that the provider does not know stand in the description, where
//! the model reads them. Whoever asked checks the answer against the schema as it was given. A schema with something
//! that the part can't say (an object that must stay open, recursion where there is none) goes into the instructions,
//! or goes out unenforced.

mod described;
mod narrow;
mod subset;

pub(super) use self::described::without_blank_descriptions;
use self::{narrow::narrowed, subset::Subset};
use loopwright_base::{
    json::Raw,
    message::Wire,
    request::{FunctionTool, OutputSchema, Request, Tool},
};
use loopwright_models::quirks::takes_tools_or_schema;

/// The request as `wire` takes it, where that is not as it is: the schemas that the provider is to enforce, in its
/// subset.
pub(super) fn fitted(wire: Wire, request: &Request) -> Option<Request> {
    let strict = |tool: &Tool| matches!(tool, Tool::Function(FunctionTool { strict: Some(true), .. }));
    let has_tools = request.tools.iter().any(strict);
    let output = request.output.as_ref().filter(|output| is_enforced(wire, output));
    let subset = Subset::of(wire, &request.model).filter(|_| has_tools || output.is_some())?;
    let mut fitted = request.clone();
    // What the provider allows of all schemas together is spent first on the answer, then on the tools in their order.
    let mut room = subset.room;
    if let Some(output) = output {
        match narrowed(subset, &mut room, &output.schema) {
            Ok(_) if wire == Wire::Gemini && !request.tools.is_empty() && takes_tools_or_schema(&request.model) => {
                fitted.output = None;
                fitted.instruct(&in_words(&output.schema));
            }
            Ok(schema) => fitted.output = Some(OutputSchema { schema, ..output.clone() }),
            Err(_) if always_enforces(wire) => {
                fitted.output = None;
                fitted.instruct(&in_words(&output.schema));
            }
            Err(_) => fitted.output = Some(OutputSchema { strict: Some(false), ..output.clone() }),
        }
    }
    if has_tools {
        let mut tools = request.tools.to_vec();
        let functions = tools.iter_mut().filter_map(|tool| match tool {
            Tool::Function(tool) if tool.strict == Some(true) => Some(tool),
            _ => None,
        });
        for (nth, tool) in functions.enumerate() {
            match narrowed(subset, &mut room, &tool.schema).ok().filter(|_| nth < subset.strict_tools) {
                Some(schema) => tool.schema = schema,
                // Left out, one wire would take it for true.
                None => tool.strict = (wire != Wire::Anthropic).then_some(false),
            }
        }
        fitted.tools = tools.into();
    }
    Some(fitted)
}

/// Whether the provider holds the model to every schema of an answer.
const fn always_enforces(wire: Wire) -> bool {
    matches!(wire, Wire::Anthropic | Wire::Gemini | Wire::Bedrock)
}

/// Whether the provider holds the model to the schema of an answer.
fn is_enforced(wire: Wire, output: &OutputSchema) -> bool {
    always_enforces(wire) || output.strict == Some(true)
}

/// Why a provider will not be asked to enforce the schema of an answer, in words; `None` if it will, or never is.
pub fn unenforced(wire: Wire, model: &str, output: &OutputSchema) -> Option<String> {
    let subset = Subset::of(wire, model).filter(|_| is_enforced(wire, output))?;
    narrowed(subset, &mut subset.room.clone(), &output.schema).err()
}

/// A schema as part of the instructions.
pub fn in_words(schema: &Raw) -> String {
    format!("Answer with one JSON value of this schema, and nothing before or behind it:\n{}", schema.text())
}
