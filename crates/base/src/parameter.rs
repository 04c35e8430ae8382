//! Parameters that may be left out of a request, by the names that the wires give them.

use std::sync::LazyLock;

use super::{
    lists::{Lists, list, lists},
    request::{Request, ToolChoice},
};

/// A parameter without which a request still asks for the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parameter {
    /// Sampling temperature.
    Temperature,
    /// Nucleus sampling.
    TopP,
    /// Stop sequences.
    Stop,
    /// Several calls in one answer.
    ParallelToolCalls,
    /// The effort of reasoning.
    Effort,
    /// A call that is forced.
    ToolChoice,
    /// The form of the answer: its schema, or JSON.
    Output,
    /// Options of the stream.
    StreamOptions,
    /// The limit of the answer, whose name differs.
    Limit,
    /// The seed of sampling.
    Seed,
}

/// The seed of sampling among the members that a request passes on ([`Request::passed`]): each host has its own place
/// for it.
pub const SEED: &str = "@seed";

/// How many words may stand between a parameter and what refuses it.
const NEAR: usize = 6;

static NAMES: LazyLock<Lists> = LazyLock::new(|| lists(include_str!("parameters.toml")));

/// The names of all parameters on the wires.
fn names() -> impl Iterator<Item = (&'static str, Parameter)> {
    Parameter::ALL
        .into_iter()
        .flat_map(|parameter| list(&NAMES, parameter.name()).iter().map(move |name| (name.as_str(), parameter)))
}

impl Parameter {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Temperature,
        Self::TopP,
        Self::Stop,
        Self::ParallelToolCalls,
        Self::Effort,
        Self::ToolChoice,
        Self::Output,
        Self::StreamOptions,
        Self::Limit,
        Self::Seed,
    ];

    /// The parameter that a provider names: `temperature`, `text.format.schema`, `stop[0]`.
    pub fn named(name: &str) -> Option<Self> {
        let fits = |known: &(&str, Self)| {
            name.strip_prefix(known.0).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        names().filter(fits).max_by_key(|(known, _)| known.len()).map(|(_, parameter)| parameter)
    }

    /// The parameter that an error speaks of first, where it names none apart: names of several words are no prose,
    /// others are quoted.
    pub fn in_words(message: &str) -> Option<Self> {
        let message = message.to_ascii_lowercase();
        let at = |name: &str| {
            // Names of several words, and those with marks, are no prose.
            let is_apart = name.contains(['_', ' ', '.']) || name.contains(|c: char| c.is_ascii_uppercase());
            let name = name.to_ascii_lowercase();
            let quoted = |(at, _): &(usize, &str)| {
                let before = message[..*at].chars().next_back();
                let after = message[at + name.len()..].chars().next();
                let quote = |c: Option<char>| c.is_some_and(|c| matches!(c, '\'' | '"' | '`'));
                let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
                // A word of its own behind a colon, or before the first one: `Unsupported parameter: temperature`.
                let said = &message[..*at];
                let colon = said.split_whitespace().next_back().filter(|word| word.ends_with(':'));
                let announced = colon.is_some_and(|word| list(&NAMES, "before_a_name").contains(word));
                let named = (colon.is_some() && !part(after) && (announced || after != Some(' ')))
                    || (said.trim().is_empty() && after == Some(':'));
                (quote(before) && quote(after)) || (is_apart && !part(before) && !part(after)) || named
            };
            message.match_indices(&*name).find(quoted).map(|(at, _)| at)
        };
        names().filter_map(|(name, parameter)| Some((at(name)?, parameter))).min().map(|(_, found)| found)
    }

    /// The parameter of `request` that a refusal names as a plain word: `temperature is not supported by this model`.
    /// Words of prose name no parameter by themselves, so one counts only where the request holds it, and where the
    /// same clause refuses close by.
    pub fn in_refusal(message: &str, request: &Request) -> Option<Self> {
        let plain = message.to_lowercase().replace(['_', '-'], " ").replace('\u{2019}', "'");
        let named = |clause: &str| {
            let words: Vec<&str> =
                clause.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).collect();
            let at = |name: &str| {
                let name: Vec<&str> = name.split(' ').collect();
                words.windows(name.len()).position(|found| found == name).map(|at| (at, at + name.len()))
            };
            let refusals: Vec<_> = list(&NAMES, "refusals").iter().filter_map(|words| at(words)).collect();
            let is_refused = |place: (usize, usize)| {
                let near = |from: usize, to: usize| to >= from && to - from <= NEAR;
                refusals.iter().any(|refusal| near(place.1, refusal.0) || near(refusal.1, place.0))
            };
            let is_plain = |name: &str| !name.contains(['.', '[']) && !name.contains(|c: char| c.is_ascii_uppercase());
            let found = names().filter(|(name, parameter)| is_plain(name) && parameter.is_in(request));
            let found = found.filter_map(|(name, parameter)| Some((at(&name.replace('_', " "))?, parameter)));
            found.filter(|(place, _)| is_refused(*place)).min().map(|(_, parameter)| parameter)
        };
        let clauses = plain.split([';', ':', '\n']).flat_map(|part| part.split(". "));
        clauses.into_iter().find_map(named)
    }

    /// The name for people, and in the tables of what hosts take.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Temperature => "temperature",
            Self::TopP => "top_p",
            Self::Stop => "stop",
            Self::ParallelToolCalls => "parallel_tool_calls",
            Self::Effort => "reasoning_effort",
            Self::ToolChoice => "tool_choice",
            Self::Output => "response_format",
            Self::StreamOptions => "stream_options",
            Self::Limit => "max_tokens",
            Self::Seed => "seed",
        }
    }

    /// Returns whether the request sets this parameter.
    pub fn is_in(self, request: &Request) -> bool {
        match self {
            Self::Temperature => request.temperature.is_some(),
            Self::TopP => request.top_p.is_some(),
            Self::Stop => !request.stop.is_empty(),
            Self::ParallelToolCalls => request.parallel_tool_calls.is_some(),
            Self::Effort => request.effort.is_some(),
            Self::ToolChoice => matches!(request.tool_choice, Some(ToolChoice::Any | ToolChoice::Tool(_))),
            Self::Output => request.output.is_some(),
            Self::StreamOptions => request.stream == Some(true),
            Self::Limit => request.max_tokens.is_some(),
            Self::Seed => request.passed().is_some_and(|passed| passed.get(SEED).is_some()),
        }
    }

    /// Returns whether a refused parameter goes out under another name or in another form, instead of being left out.
    pub const fn is_written_otherwise(self) -> bool {
        matches!(self, Self::Output | Self::StreamOptions | Self::Limit)
    }

    /// Removes the parameter from the request, unless it goes out in another form ([`Self::is_written_otherwise`]).
    pub fn leave_out(self, request: &mut Request) {
        match self {
            Self::Temperature => request.temperature = None,
            Self::TopP => request.top_p = None,
            Self::Stop => request.stop.clear(),
            Self::ParallelToolCalls => request.parallel_tool_calls = None,
            Self::Effort => request.effort = None,
            Self::ToolChoice => request.tool_choice = None,
            Self::Seed => {
                let mut passed = request.passed().cloned().unwrap_or_default();
                passed.take(SEED);
                request.pass(passed);
            }
            Self::Output | Self::StreamOptions | Self::Limit => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w6_parameters_are_known_by_the_names_of_all_wires() {
        for (name, parameter) in [
            ("temperature", Some(Parameter::Temperature)),
            ("text.format.schema", Some(Parameter::Output)),
            ("response_format.type", Some(Parameter::Output)),
            ("output_config.effort", Some(Parameter::Effort)),
            ("tool_choice.disable_parallel_tool_use", Some(Parameter::ParallelToolCalls)),
            ("stop[0]", Some(Parameter::Stop)),
            ("generation_config.stop_sequences", Some(Parameter::Stop)),
            ("generationConfig.thinkingConfig.thinkingLevel", Some(Parameter::Effort)),
            ("inferenceConfig.temperature", Some(Parameter::Temperature)),
            ("messages[1].content", None),
            ("stopped", None),
            ("", None),
        ] {
            assert_eq!(Parameter::named(name), parameter, "{name}");
        }
        for (words, parameter) in [
            ("This response_format type is unavailable now", Some(Parameter::Output)),
            ("json mode cannot be combined with tool/function calling", Some(Parameter::Output)),
            ("'temperature' does not support 0.2 with this model", Some(Parameter::Temperature)),
            ("`stop` is not supported", Some(Parameter::Stop)),
            ("the temperature in Oslo; please stop", None),
            ("my_top_p_value", None),
            ("This model doesn't support the topP field. Remove it.", Some(Parameter::TopP)),
            ("the model doesn't support the toolConfig.toolChoice.any field", Some(Parameter::ToolChoice)),
            ("does not support parameter reasoningEffort", Some(Parameter::Effort)),
            ("this model does not support the effort parameter", Some(Parameter::Effort)),
            ("a stoppage of effort", None),
            ("π'top_p'π", Some(Parameter::TopP)),
            ("Unsupported parameter: temperature", Some(Parameter::Temperature)),
            ("temperature: Extra inputs are not permitted", Some(Parameter::Temperature)),
            ("Unrecognized request argument supplied: stop is unknown", Some(Parameter::Stop)),
            ("Argument not supported on this model: temperature", Some(Parameter::Temperature)),
            ("Invalid input: temperature readings are missing", None),
            ("error: stopped", None),
            ("", None),
        ] {
            assert_eq!(Parameter::in_words(words), parameter, "{words}");
        }
        for parameter in Parameter::ALL {
            assert_eq!(Parameter::named(parameter.name()), Some(parameter));
        }
    }

    #[test]
    fn w6_a_plain_word_is_a_parameter_where_the_request_holds_it_and_a_clause_refuses_it() {
        let warm = Request { temperature: Some(0.2), ..Request::default() };
        let all = Request {
            top_p: Some(0.5),
            stop: vec!["x".into()],
            parallel_tool_calls: Some(false),
            effort: Some(crate::request::Effort::Low),
            ..warm.clone()
        };
        for (words, parameter) in [
            ("temperature is not supported by this model", Some(Parameter::Temperature)),
            ("The temperature parameter isn\u{2019}t supported.", Some(Parameter::Temperature)),
            ("This model does not support setting a temperature.", Some(Parameter::Temperature)),
            ("invalid temperature: only 1 is allowed for this model", Some(Parameter::Temperature)),
            ("Temperature is deprecated for this model.", Some(Parameter::Temperature)),
            ("Unknown field temperature", Some(Parameter::Temperature)),
            ("Bad request. Stop sequences are not supported", Some(Parameter::Stop)),
            ("Parallel tool calls are not available here", Some(Parameter::ParallelToolCalls)),
            ("top-p cannot be set", Some(Parameter::TopP)),
            ("reasoning effort is not allowed with claude-x", Some(Parameter::Effort)),
            ("This model does not support reasoning; tools do", Some(Parameter::Effort)),
            ("Invalid input: temperature readings are missing", None),
            ("the temperature in Oslo is 4. Roles are not supported", None),
            ("temperatures are not supported", None),
            ("tools are not supported", None),
            ("messages must not be empty", None),
            ("", None),
        ] {
            assert_eq!(Parameter::in_refusal(words, &all), parameter, "{words}");
            let held = parameter.filter(|parameter| parameter.is_in(&warm));
            assert_eq!(Parameter::in_refusal(words, &warm), held, "{words}");
            assert_eq!(Parameter::in_refusal(words, &Request::default()), None, "{words}");
        }
    }
}
