//! What a host takes of requests to a model: read once for each endpoint, from `providers.toml` and `models.toml`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use loopwright_base::{message::Wire, parameter::Parameter, request::WebSearch};

use super::{
    provider::begins_with_any,
    quirks::{Sampling, sampling, takes_completion_limit, takes_tools_or_search},
};

/// A form in which an answer of a schema can be asked for. The instructions alone are always left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerForm {
    /// The provider is given the schema, and may hold the model to it.
    Schema,
    /// JSON mode: any object; the schema stands in the instructions.
    Json,
}

/// A form in which pictures and documents go out, beside text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaForm {
    /// Bytes of a media type.
    Bytes,
    /// An address that the provider fetches.
    Address,
    /// The id of a file that the provider has.
    File,
}

/// What a host's own web search takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchForm {
    /// A search without limits.
    Free,
    /// A number of searches.
    MaxUses,
    /// Domains that alone are searched.
    AllowedDomains,
    /// Domains that are not searched.
    BlockedDomains,
    /// A search beside tools of the request.
    BesideTools,
}

/// What goes back to a host of the reasoning that it gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningBack {
    /// Nothing: it is refused.
    Never,
    /// The reasoning of messages with calls.
    #[default]
    WithCalls,
    /// All of it.
    Always,
    /// All of it; a message with calls is refused without it, and gets some where it has none.
    Required,
}

/// How the reasoning that a host gave goes back to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReasoningRules {
    /// What goes back.
    #[serde(default)]
    pub back: ReasoningBack,
    /// The member of a message in which it goes back; `None`: the one it came in.
    #[serde(default)]
    pub member: Option<String>,
    /// Beginnings of the names of models that reason unasked, where the host requires reasoning.
    #[serde(default)]
    pub models: Vec<String>,
}

/// The forms in which a host takes pictures and documents, beside text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MediaRules {
    /// The forms in which pictures are taken.
    pub pictures: Vec<MediaForm>,
    /// The forms in which documents are taken.
    pub documents: Vec<MediaForm>,
    /// The media types of pictures and of documents that are taken as bytes; none of a kind: all of it is.
    pub media_types: Vec<String>,
}

/// What bodies hold at a host, those of the Anthropic wire above all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BodyRules {
    /// The address alone names the model: no body does.
    pub model_in_address: bool,
    /// Members that stand in every body, unless the request has others.
    pub fixed: Map<String, Value>,
    /// How many places of a prompt may be marked to be kept; none of them: the wire or the model's name says it.
    pub cache_marks: Option<usize>,
    /// The highest temperature that is taken; none: whatever is asked goes out.
    pub temperature_limit: Option<u32>,
    /// How many stop sequences are taken; none: all that are asked go out.
    pub stop_limit: Option<usize>,
    /// Stop sequences of blanks alone are refused.
    pub shown_stops: bool,
    /// On the wire of Gemini, tools of the host's own stand beside others only where they are asked for.
    pub include_own_tools: bool,
    /// Of the tokens of a minute the limit of an answer counts, however short the answer is.
    pub limit_counts: bool,
}

/// What a host takes of requests to a model. Whoever reads one has held its fields against `profile_fields.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The name of the limit of an answer, on the wire of `OpenAI`'s chat.
    pub limit: String,
    /// Parameters that are left out, since they would be refused.
    #[serde(default)]
    pub refuses: Vec<String>,
    /// The forms in which an answer of a schema can be asked for, the best first.
    #[serde(default)]
    pub output: Vec<AnswerForm>,
    /// An answer of a schema, or JSON mode, may stand beside tools.
    #[serde(default = "yes")]
    pub json_with_tools: bool,
    /// Beginnings of the names of models that take schemas; none: all do.
    #[serde(default)]
    pub schema_models: Vec<String>,
    /// How many letters and digits an id of a call has; `None`: any id of the wire is taken.
    pub call_id: Option<usize>,
    /// A user's message may stand right behind the result of a tool.
    pub user_behind_result: bool,
    /// Instructions may stand inside a history.
    pub instructions_inside: bool,
    /// The name of the effort of reasoning.
    #[serde(default = "usual_effort")]
    pub effort: String,
    /// What goes back of the reasoning that the host gave.
    #[serde(default)]
    pub reasoning: ReasoningRules,
    /// The place of the seed of sampling in a body, its names parted by full stops; empty where there is none.
    #[serde(default)]
    pub seed: String,
    /// The forms in which pictures and documents are taken.
    #[serde(flatten)]
    pub media: MediaRules,
    /// What the host's own web search takes; nothing: there is none.
    #[serde(default)]
    pub search: Vec<SearchForm>,
    /// What bodies of the Anthropic wire hold.
    #[serde(default)]
    pub body: BodyRules,
    /// Whether the model takes parameters of sampling.
    #[serde(skip)]
    pub sampling: Sampling,
}

const fn yes() -> bool {
    true
}

fn usual_effort() -> String {
    "reasoning_effort".to_owned()
}

impl Profile {
    /// The profile with what the model's name decides on a wire.
    pub(super) fn of_model(mut self, wire: Wire, model: &str) -> Self {
        if wire == Wire::Gemini && takes_tools_or_search(model) {
            self.search.retain(|form| *form != SearchForm::BesideTools);
        }
        if takes_completion_limit(model) && self.limit == "max_tokens" {
            "max_completion_tokens".clone_into(&mut self.limit);
        }
        if !self.schema_models.is_empty() && !begins_with_any(model, &self.schema_models) {
            self.output.retain(|form| *form != AnswerForm::Schema);
        }
        self.reasoning.models.retain(|beginning| begins_with_any(model, std::slice::from_ref(beginning)));
        self.sampling = sampling(model);
        self
    }

    /// Records that the host refuses a parameter, beyond what was known: it has another name, the answer is asked for
    /// in the next form, or it is left out.
    pub fn learn(&mut self, parameter: Parameter, form: Option<AnswerForm>) {
        match parameter {
            Parameter::Output => self.output.retain(|known| Some(*known) != form),
            Parameter::Limit => {
                let other = if self.limit == "max_tokens" { "max_completion_tokens" } else { "max_tokens" };
                other.clone_into(&mut self.limit);
            }
            other => self.refuses.push(other.name().to_owned()),
        }
    }

    /// Returns whether the host can search the web as it is asked: a limit that it can't keep would be a wider search.
    pub fn can_search(&self, asked: &WebSearch) -> bool {
        let limits = [
            (SearchForm::MaxUses, asked.max_uses.is_some()),
            (SearchForm::AllowedDomains, !asked.allowed_domains.is_empty()),
            (SearchForm::BlockedDomains, !asked.blocked_domains.is_empty()),
        ];
        let takes = |form: SearchForm| self.search.contains(&form);
        let both = !asked.allowed_domains.is_empty() && !asked.blocked_domains.is_empty();
        takes(SearchForm::Free) && !both && limits.into_iter().all(|(form, is_asked)| !is_asked || takes(form))
    }

    /// Returns whether the host's own tools stand alone: it refuses them beside those of a request.
    pub fn searches_alone(&self) -> bool {
        self.search.contains(&SearchForm::Free) && !self.search.contains(&SearchForm::BesideTools)
    }

    /// Returns whether the host refuses a parameter: `has_effort` says whether the request asks for an effort of
    /// reasoning, with which some models take no sampling.
    pub fn refuses(&self, parameter: &str, has_effort: bool) -> bool {
        let samples = match self.sampling {
            Sampling::Taken | Sampling::One => true,
            Sampling::WithoutEffort => !has_effort,
            Sampling::Refused => false,
        };
        let is_sampling = matches!(parameter, "temperature" | "top_p");
        let is_placeless = parameter == Parameter::Seed.name() && self.seed.is_empty();
        (is_sampling && !samples) || is_placeless || self.refuses.iter().any(|refused| refused == parameter)
    }
}
