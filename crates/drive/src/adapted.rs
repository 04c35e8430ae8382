//! Requests as an endpoint takes them: what its profile refuses is left out or asked for in another way, and told.

use std::borrow::Cow;

use super::{
    cache_marks::with_marks,
    endpoint::Endpoint,
    provenance::adapt_provenance,
    provider_limits::{adapt_effort, adapt_history},
};
use loopwright_base::{json::Raw, message::Extra, parameter::Parameter, request::Request};
use loopwright_models::profile::{AnswerForm, Profile};
use loopwright_wire::schema::in_words;

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
    for parameter in Parameter::ALL {
        let refused = !parameter.is_written_otherwise()
            && parameter.is_in(request)
            && profile.refuses(parameter.name(), request.effort.is_some());
        if refused {
            parameter.leave_out(adapted.request.to_mut());
            adapted.notes.push(format!("{} takes no {}: it was left out", named(), parameter.name()));
        }
    }
    let form = answer_form(profile, request);
    if let Some(output) = request.output.as_ref().filter(|_| form != Some(AnswerForm::Schema)) {
        let own = adapted.request.to_mut();
        own.output = None;
        own.instruct(&in_words(&output.schema));
        let how = if form == Some(AnswerForm::Json) {
            let mut fields = Extra::for_wire(own.extra.as_deref(), endpoint.wire).cloned().unwrap_or_default();
            fields.set("response_format", Raw::of(&serde_json::json!({"type": "json_object"})));
            own.extra = Extra::of(endpoint.wire, fields);
            "JSON mode and the instructions ask for it"
        } else {
            "the instructions alone ask for it"
        };
        adapted.notes.push(format!("{} takes no schema of an answer: {how}, and it is checked here", named()));
    }
    if let Some(own) = adapt_provenance(endpoint, profile, &adapted.request) {
        adapted.request = Cow::Owned(own);
    }
    for adapt in [adapt_effort, adapt_history, with_marks] {
        if let Some(own) = adapt(profile, endpoint.wire, &adapted.request) {
            adapted.request = Cow::Owned(own);
        }
    }
    adapted
}

/// The form in which the request's answer is asked for; `None`: by the instructions.
pub(super) fn answer_form(profile: &Profile, request: &Request) -> Option<AnswerForm> {
    let fits = |form: &&AnswerForm| **form == AnswerForm::Schema || profile.json_with_tools || request.tools.is_empty();
    profile.output.iter().find(fits).copied()
}
