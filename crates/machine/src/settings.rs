//! Settings of requests to one model, beyond those that all models of a turn share.

use serde::{Deserialize, Serialize};

use loopwright_base::{
    json::{Fields, Raw, is_default},
    parameter::{Parameter, SEED},
    request::{Caching, Effort, Request},
};

/// Settings of the requests to a model. What is `None` is asked for as it was before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSettings {
    /// Tokens of one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Stop sequences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Vec<String>>,
    /// The effort of reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// The time for which the provider may cache the prompt's prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<Caching>,
    /// Several calls may stand in one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// The seed of the model's sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// Members of the body, an object that is merged over everything else.
    #[serde(skip_serializing_if = "is_default")]
    pub extra_body: Fields,
    /// Parameters that are left out, by their names, even where there is a usual value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub omit: Vec<String>,
}

impl ModelSettings {
    /// Writes these settings into a request.
    pub fn apply(&self, request: &mut Request) {
        request.max_tokens = self.max_tokens.or(request.max_tokens);
        request.temperature = self.temperature.or(request.temperature);
        request.top_p = self.top_p.or(request.top_p);
        request.effort = self.effort.or(request.effort);
        request.cache = self.cache.unwrap_or(request.cache);
        request.parallel_tool_calls = self.parallel_tool_calls.or(request.parallel_tool_calls);
        if let Some(stop) = &self.stop {
            request.stop.clone_from(stop);
        }
        for parameter in self.omitted() {
            parameter.leave_out(request);
            if parameter == Parameter::Limit {
                request.max_tokens = None;
            }
        }
        let mut passed = self.extra_body.clone();
        if let Some(seed) = self.seed {
            passed.set(SEED, Raw::of(&seed));
        }
        if !passed.is_empty() {
            request.pass(passed);
        }
    }

    /// Removes a parameter of these settings.
    pub fn remove(&mut self, parameter: Parameter) {
        match parameter {
            Parameter::ParallelToolCalls => self.parallel_tool_calls = None,
            Parameter::Seed => self.seed = None,
            _ => {}
        }
    }

    /// The parameters that are left out.
    pub fn omitted(&self) -> impl Iterator<Item = Parameter> {
        self.omit.iter().filter_map(|name| Parameter::named(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w11_w20_settings_of_a_model_are_written_into_its_requests() {
        let usual =
            Request { temperature: Some(0.2), max_tokens: Some(600), cache: Caching::Usual, ..Request::default() };
        let mut request = usual.clone();
        ModelSettings::default().apply(&mut request);
        assert_eq!(request, usual, "nothing is said");
        let given = r#"{"top_p":0.5,"stop":["END"],"seed":7,"cache":false,"extra_body":{"a":{"b":1}},
            "omit":["temperature","max_tokens"]}"#;
        let settings: ModelSettings = serde_json::from_str(given).unwrap();
        settings.apply(&mut request);
        let sent = (request.temperature, request.max_tokens, request.top_p, request.cache);
        assert_eq!(sent, (None, None, Some(0.5), Caching::Off));
        assert_eq!(request.stop, ["END"]);
        let caching = |value: &str| serde_json::from_str::<Caching>(value).map_err(|error| error.to_string());
        assert_eq!(caching("\"1h\""), Ok(Caching::Hour));
        assert_eq!(caching("\"2h\""), Err("cache is true, false or \"1h\", not \"2h\"".to_owned()));
        let passed = request.passed().unwrap();
        assert_eq!((passed.get("a").unwrap().text(), passed.get(SEED).unwrap().text()), (r#"{"b":1}"#, "7"));
        assert!(Parameter::Seed.is_in(&request));
        Parameter::Seed.leave_out(&mut request);
        assert!(!Parameter::Seed.is_in(&request));
        assert_eq!(serde_json::to_string(&ModelSettings::default()).unwrap(), "{}");
    }
}
