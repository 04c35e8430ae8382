//! `generationConfig`, both ways: limits, sampling, the schema of the answer, how long to think.

use serde_json::{Value, json};

use super::{members_of, parsed};
use crate::{
    notes::wire_key,
    numbers::{number, take_number},
    object::Object,
};
use loopwright_base::{
    error::Result,
    json::{Fields, Raw},
    request::{Effort, OutputSchema, Request},
};
use loopwright_models::quirks::thinks_by_budget;

const JSON: &str = "application/json";
const EFFORTS: [Effort; 3] = [Effort::Low, Effort::Medium, Effort::High];

/// The configuration of a request; what else stands in it is kept. `None` if there is nothing to say.
pub(super) fn encode_config(request: &Request, extra: Option<&Fields>, written: &Fields) -> Result<Option<String>> {
    let kept = members_of(extra, "generationConfig");
    let mut config = Object::new();
    if let Some(limit) = request.max_tokens {
        config.raw("maxOutputTokens", &limit.to_string());
    }
    for (key, value) in [("temperature", request.temperature), ("topP", request.top_p)] {
        if let Some(value) = value {
            config.raw(key, &number(key, value, written)?);
        }
    }
    if !request.stop.is_empty() {
        config.raw("stopSequences", Raw::of(&request.stop).text());
    }
    if let Some(output) = &request.output {
        config.text("responseMimeType", JSON);
        config.raw("responseJsonSchema", output.schema.text());
    }
    if let Some(effort) = request.effort {
        config.raw("thinkingConfig", Raw::of(&thinking(effort, &request.model)).text());
    }
    config.rest(Some(&kept), wire_key);
    Ok((!config.is_empty()).then(|| config.end()))
}

/// How long a model of that name thinks: by a level, or by a number of tokens. Its thoughts are to be shown.
fn thinking(effort: Effort, model: &str) -> Value {
    if !thinks_by_budget(model) {
        return json!({"thinkingLevel": effort.name(), "includeThoughts": true});
    }
    let budget = match effort {
        Effort::Low => 1_024,
        Effort::Medium => 8_192,
        Effort::High => 24_576,
    };
    json!({"thinkingBudget": budget, "includeThoughts": true})
}

/// Takes what our own shape can hold out of `generationConfig`, into the request, and leaves the rest.
pub(super) fn take_config(fields: &mut Fields, request: &mut Request, written: &mut Fields) {
    let Some(mut config) = fields.get("generationConfig").and_then(parsed) else { return };
    let members = config.len();
    request.max_tokens = config.take_as("maxOutputTokens");
    request.temperature = take_number(&mut config, "temperature", written);
    request.top_p = take_number(&mut config, "topP", written);
    if let Some(stop) = config.get("stopSequences").and_then(|raw| raw.to::<Vec<String>>().ok())
        && !stop.is_empty()
    {
        config.take("stopSequences");
        request.stop = stop;
    }
    request.output = take_output(&mut config);
    request.effort =
        EFFORTS.into_iter().find(|effort| config.take_if("thinkingConfig", &thinking(*effort, &request.model)));
    if config.is_empty() && members > 0 {
        fields.take("generationConfig");
    } else {
        fields.set("generationConfig", config.to_raw());
    }
}

fn take_output(config: &mut Fields) -> Option<OutputSchema> {
    if config.get_str("responseMimeType").as_deref() != Some(JSON) {
        return None;
    }
    let schema = config.take("responseJsonSchema")?;
    config.take("responseMimeType");
    // The wire has no name for a schema; other wires insist on one.
    Some(OutputSchema { name: "output".into(), schema, strict: None, description: None })
}
