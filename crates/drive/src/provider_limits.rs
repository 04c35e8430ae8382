//! Requests as a host takes them, by its profile: the forms of pictures and documents, the parameter for the effort of
//! reasoning, where instructions may stand, ids of calls.
//!
//! Several providers speak one wire and do not take the same. What one does not take is said before anything is sent.

use std::borrow::Cow;

use xxhash_rust::xxh3::xxh3_64;

use super::endpoint::Endpoint;
use loopwright_base::{
    error::{Failure, FailureKind},
    json::{Fields, Raw},
    message::{Block, Extra, Media, MediaSource, Message, Role, ToolUse, Wire},
    request::Request,
};
use loopwright_models::{
    profile::{MediaForm, MediaRules, Profile},
    quirks::wants_signatures,
};

/// Fails if the request holds a block that the endpoint takes in no form like this.
pub(super) fn check_blocks(endpoint: &Endpoint, profile: &Profile, request: &Request) -> Result<(), Failure> {
    for message in request.messages.iter().chain(request.system.as_deref()) {
        for block in &message.content {
            check(endpoint, profile, block)?;
            let Block::ToolResult(result) = block else { continue };
            if endpoint.wire != Wire::Offline {
                result.content.iter().try_for_each(|block| check(endpoint, profile, block))?;
            }
        }
    }
    Ok(())
}

fn check(endpoint: &Endpoint, profile: &Profile, block: &Block) -> Result<(), Failure> {
    let (kind, refused, media) = match block {
        Block::Image(media) => ("image", image(profile, &media.source), media),
        Block::Document(media) => ("document", document(profile, &media.source), media),
        _ => return Ok(()),
    };
    let Some(hint) = refused else { return Ok(()) };
    let name = media.name.as_ref().map(|name| format!(" {name:?}")).unwrap_or_default();
    let message = format!("{} takes no {kind} block {}{name}", endpoint.name, media_form(media));
    Err(Failure::new(FailureKind::UnsupportedBlock, message).hint(hint))
}

fn media_form(media: &Media) -> Cow<'static, str> {
    match &media.source {
        MediaSource::Base64 { media_type, .. } => format!("with bytes of {media_type}").into(),
        MediaSource::Text { .. } => "of text".into(),
        MediaSource::Url(_) => "at an address".into(),
        MediaSource::File(_) => "by the id of a file".into(),
    }
}

/// Whether one of `forms` is the form of `source`, with bytes of one of the types of pictures, or of documents; none
/// are all.
fn is_taken(forms: &[MediaForm], profile: &Profile, is_picture: bool, source: &MediaSource) -> bool {
    let mut types =
        profile.media.media_types.iter().filter(|known| known.starts_with("image/") == is_picture).peekable();
    match source {
        MediaSource::Base64 { media_type, .. } => {
            forms.contains(&MediaForm::Bytes) && (types.peek().is_none() || types.any(|known| known == media_type))
        }
        MediaSource::Url(_) => forms.contains(&MediaForm::Address),
        MediaSource::File(_) => forms.contains(&MediaForm::File),
        MediaSource::Text { .. } => false,
    }
}

/// The hint for a picture that the endpoint does not take; `None` if it is taken.
fn image(profile: &Profile, source: &MediaSource) -> Option<&'static str> {
    let MediaRules { pictures, media_types, .. } = &profile.media;
    if is_taken(pictures, profile, true, source) {
        return None;
    }
    Some(match source {
        _ if pictures.is_empty() => "it reads text alone; take another model",
        MediaSource::Text { .. } | MediaSource::Base64 { .. }
            if media_types.iter().any(|known| known == "image/heic") =>
        {
            "give PNG, JPEG, WebP, HEIC or HEIF"
        }
        MediaSource::Text { .. } | MediaSource::Base64 { .. } => "give PNG, JPEG, GIF or WebP",
        MediaSource::Url(_) | MediaSource::File(_) => "give its bytes (Image.from_bytes, Image.from_path)",
    })
}

/// The hint for a document that the endpoint does not take; `None` if it is taken.
fn document(profile: &Profile, source: &MediaSource) -> Option<&'static str> {
    let documents = &profile.media.documents;
    if matches!(source, MediaSource::Text { .. }) || is_taken(documents, profile, false, source) {
        return None;
    }
    Some(match source {
        _ if !documents.contains(&MediaForm::Bytes) => "give its text (Document.from_text)",
        MediaSource::Base64 { .. } => "give a PDF, or its text (Document.from_text)",
        _ => "give its bytes (Document.from_bytes, Document.from_path)",
    })
}

/// The request in the provider's own form, where that differs from its wire: `OpenRouter` has one parameter for the
/// effort of reasoning, whatever the model behind it calls that.
pub(super) fn adapt_effort(profile: &Profile, wire: Wire, request: &Request) -> Option<Request> {
    let effort = request.effort.filter(|_| profile.effort == "reasoning")?;
    let mut own = request.clone();
    own.effort = None;
    let mut fields = Extra::for_wire(own.extra.as_deref(), wire).cloned().unwrap_or_default();
    let mut reasoning = fields.get("reasoning").and_then(|raw| Fields::parse(raw.text()).ok()).unwrap_or_default();
    reasoning.set("effort", Raw::of(effort.name()));
    fields.set("reasoning", reasoning.to_raw());
    own.extra = Extra::of(wire, fields);
    Some(own)
}

/// The request with a history that the host accepts, where that is stricter than its wire: instructions inside it that
/// the host takes first alone become the user's words, and ids of calls get the length that it wants. Newer models of
/// Gemini refuse calls without a signature, which calls of other models have not.
pub(super) fn adapt_history(profile: &Profile, wire: Wire, request: &Request) -> Option<Request> {
    if wire == Wire::Gemini {
        let unsigned = wants_signatures(&request.model) && request.messages.iter().any(is_unsigned);
        return unsigned.then(|| {
            let messages = request.messages.in_dialect("signatures of gemini", with_signature);
            Request { messages, ..request.clone() }
        });
    }
    let instructs = |message: &Message| matches!(message.role, Role::System | Role::Developer);
    let first = request.messages.iter().take_while(|message| instructs(message)).count();
    let inside = !profile.instructions_inside && request.messages.behind(first).any(instructs);
    let particular = wire == Wire::OpenaiChat
        && !profile.instructions_inside
        && request.messages.iter().any(|message| plain_member(message).is_some());
    if !inside && !particular && profile.call_id.is_none() {
        return None;
    }
    let mut own = request.clone();
    if particular {
        let plain = |message: &Message| plain_member(message).unwrap_or_else(|| message.clone());
        own.messages = own.messages.in_dialect("members that all take", plain);
    }
    if let Some(length) = profile.call_id {
        own.messages = own.messages.in_dialect("ids of one length", |message| with_short_ids(message, length));
    }
    let as_words = |at: usize, message: &Message| {
        (inside && at >= first && instructs(message)).then(|| Message { role: Role::User, ..message.clone() })
    };
    if let Some(messages) = own.messages.rewritten(as_words) {
        own.messages = messages;
    }
    Some(own)
}

/// The message without what hosts that follow `OpenAI`'s chat do not take: the role `developer`, and names of speakers
/// that are not theirs. `None` where it has neither.
fn plain_member(message: &Message) -> Option<Message> {
    const NAME: &str = "name";
    let named = Extra::for_wire(message.extra.as_deref(), Wire::OpenaiChat).filter(|own| own.get(NAME).is_some());
    if named.is_none() && message.role != Role::Developer {
        return None;
    }
    let mut plain = message.clone();
    if plain.role == Role::Developer {
        plain.role = Role::System;
    }
    if let Some(fields) = named {
        let mut fields = fields.clone();
        fields.take(NAME);
        plain.extra = Extra::of(Wire::OpenaiChat, fields);
    }
    Some(plain)
}

/// The signature that Gemini's documentation gives for calls that another model wrote.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The fields of Gemini's own beside a call.
fn gemini_fields(call: &ToolUse) -> Fields {
    Extra::for_wire(call.extra.as_deref(), Wire::Gemini).cloned().unwrap_or_default()
}

/// Returns whether the first call of the message, on which the signature of all stands, has none.
fn is_unsigned(message: &Message) -> bool {
    message.tool_uses().next().is_some_and(|call| gemini_fields(call).get("thoughtSignature").is_none())
}

/// The message with a signature on its first call.
fn with_signature(message: &Message) -> Message {
    let mut message = message.clone();
    if is_unsigned(&message)
        && let Some(call) = message.content.iter_mut().find_map(|block| match block {
            Block::ToolUse(call) => Some(call),
            _ => None,
        })
    {
        let mut fields = gemini_fields(call);
        fields.put("thoughtSignature", NO_SIGNATURE);
        call.extra = Extra::of(Wire::Gemini, fields);
    }
    message
}

/// The message with ids of so many letters and digits: such ids stay, others become the same ones every time.
fn with_short_ids(message: &Message, length: usize) -> Message {
    let mut message = message.clone();
    for block in &mut message.content {
        let id = match block {
            Block::ToolUse(call) => &mut call.id,
            Block::ToolResult(result) => &mut result.id,
            _ => continue,
        };
        if id.len() != length || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            *id = short_id(id, length);
        }
    }
    message
}

fn short_id(id: &str, length: usize) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut left = xxh3_64(id.as_bytes());
    let mut short = String::with_capacity(length);
    for _ in 0..length {
        let digit = usize::try_from(left % 62).ok().and_then(|at| DIGITS.get(at)).copied().unwrap_or(b'0');
        short.push(char::from(digit));
        left /= 62;
    }
    short
}

#[cfg(test)]
mod tests {
    use super::super::endpoint::EndpointOptions;
    use super::*;
    use loopwright_base::{message::ToolResult, request::Effort};

    fn endpoint(provider: &str, base: Option<&str>) -> Endpoint {
        if provider == "offline" {
            return Endpoint::offline();
        }
        let options = EndpointOptions {
            base_url: base.map(str::to_owned),
            api_key: Some("k".to_owned()),
            ..EndpointOptions::default()
        };
        Endpoint::resolve(&format!("{provider}:m"), &options, |_| None).unwrap().0
    }

    fn at(host: &str, request: &Request) -> Option<Request> {
        let endpoint = endpoint("openai-chat", Some(&format!("https://{host}")));
        adapt_history(&endpoint.profile(), endpoint.wire, request)
    }

    #[test]
    fn w2_mistral_gets_ids_of_nine_letters_and_digits() {
        let mut request = Request::default();
        request.messages.push(Message::user("go"));
        let ids = ["call_0", "", "aB3dE6gH9", "functions.f:0"];
        let calls = ids.iter().map(|id| Block::ToolUse(ToolUse::from_text(*id, "f", "{}".to_owned())));
        request.messages.push(Message::new(Role::Assistant, calls.collect()));
        let results = ids.iter().map(|id| Block::ToolResult(ToolResult::text(*id, "f", "1")));
        request.messages.push(Message::new(Role::User, results.collect()));
        let own = at("api.mistral.ai:443", &request).unwrap();
        let uses: Vec<String> = own.messages.iter().flat_map(Message::tool_uses).map(|call| call.id.clone()).collect();
        let answers: Vec<String> =
            own.messages.iter().flat_map(Message::tool_results).map(|result| result.id.clone()).collect();
        assert_eq!(uses, answers);
        assert_eq!(uses[2], "aB3dE6gH9");
        assert_eq!(uses.iter().collect::<std::collections::HashSet<_>>().len(), ids.len());
        assert!(uses.iter().all(|id| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())), "{uses:?}");
        for host in ["api.openai.com:443", "localhost:8000", "notmistral.ai:443"] {
            assert!(at(host, &request).is_none(), "{host}");
        }
    }

    #[test]
    fn w3_newer_models_of_gemini_get_a_signature_on_the_calls_of_others() {
        let call = |id: &str| ToolUse::from_text(id, "f", "{}".to_owned());
        let signed = Fields::parse(r#"{"thoughtSignature":"own"}"#).unwrap();
        let own = ToolUse { extra: Extra::of(Wire::Gemini, signed), ..call("c") };
        let calls =
            |calls: &[ToolUse]| Message::new(Role::Assistant, calls.iter().cloned().map(Block::ToolUse).collect());
        let messages = [Message::user("go"), calls(&[call("a"), call("b")]), calls(&[own, call("d")])];
        let request =
            Request { model: "gemini-3-pro".into(), messages: messages.into_iter().collect(), ..Request::default() };
        let gemini = endpoint("gemini", None);
        let adapted = adapt_history(&gemini.profile(), gemini.wire, &request).unwrap();
        let found: Vec<Option<String>> = adapted
            .messages
            .iter()
            .flat_map(Message::tool_uses)
            .map(|call| gemini_fields(call).get_str("thoughtSignature"))
            .collect();
        assert_eq!(found, [Some(NO_SIGNATURE.to_owned()), None, Some("own".to_owned()), None]);
        let older = Request { model: "gemini-2.5-flash".into(), ..request };
        assert!(adapt_history(&gemini.profile(), gemini.wire, &older).is_none());
    }

    #[test]
    fn w3_instructions_inside_a_history_are_the_users_words_but_at_openai() {
        let mut request = Request::default();
        for (role, text) in [(Role::System, "a"), (Role::User, "b"), (Role::System, "c"), (Role::Developer, "d")] {
            request.messages.push(Message::text(role, text));
        }
        let own = at("localhost:8000", &request).unwrap();
        let roles: Vec<Role> = own.messages.iter().map(|message| message.role).collect();
        assert_eq!(roles, [Role::System, Role::User, Role::User, Role::User]);
        for host in ["api.openai.com:443", "me.openai.azure.com:443"] {
            assert!(at(host, &request).is_none(), "{host}");
        }
        let anthropic = endpoint("anthropic", Some("http://localhost:1"));
        assert!(adapt_history(&anthropic.profile(), anthropic.wire, &request).is_none());
    }

    fn media(source: MediaSource) -> Media {
        Media { source, name: Some("a".into()), extra: None }
    }

    fn refused(provider: &str, block: Block) -> bool {
        let mut request = Request::default();
        request.messages.push(Message::new(Role::User, vec![block]));
        let endpoint = endpoint(provider, None);
        check_blocks(&endpoint, &endpoint.profile(), &request).is_err()
    }

    #[test]
    fn d47_each_provider_takes_what_it_takes() {
        let bytes = |kind: &str| MediaSource::Base64 { media_type: kind.into(), data: "eHg=".into() };
        let (url, file) = (|| MediaSource::Url("https://x.org/a".into()), || MediaSource::File("f".into()));
        let text = || MediaSource::Text { media_type: "text/plain".into(), data: "x".into() };
        for (provider, png, tiff, at, by_id) in [
            ("anthropic", true, false, true, true),
            ("openai-responses", true, false, true, true),
            ("gemini", true, false, true, true),
            ("openai-chat", true, false, true, false),
            ("openrouter", true, false, true, false),
            ("ollama", true, true, false, false),
            ("vllm", true, true, true, false),
            ("offline", false, false, false, false),
        ] {
            let takes = |source| !refused(provider, Block::Image(media(source)));
            assert_eq!(takes(bytes("image/png")), png, "{provider}");
            assert_eq!(takes(bytes("image/tiff")), tiff, "{provider}");
            assert_eq!((takes(url()), takes(file())), (at, by_id), "{provider}");
        }
        for (provider, pdf, docx, at, by_id) in [
            ("anthropic", true, false, true, true),
            ("openai-responses", true, true, true, true),
            ("gemini", true, true, true, true),
            ("openai-chat", true, true, false, true),
            ("openrouter", true, true, true, false),
            ("ollama", false, false, false, false),
            ("offline", false, false, false, false),
        ] {
            let takes = |source| !refused(provider, Block::Document(media(source)));
            assert!(takes(text()), "{provider}");
            assert_eq!(takes(bytes("application/pdf")), pdf, "{provider}");
            assert_eq!(takes(bytes("application/x-docx")), docx, "{provider}");
            assert_eq!((takes(url()), takes(file())), (at, by_id), "{provider}");
        }
    }

    #[test]
    fn d48_openrouter_has_one_parameter_for_effort() {
        let request = Request { effort: Some(Effort::High), ..Request::default() };
        let adapted = |provider: &str, request: &Request| {
            let endpoint = endpoint(provider, None);
            adapt_effort(&endpoint.profile(), endpoint.wire, request)
        };
        assert!(adapted("openai-chat", &request).is_none() && adapted("openrouter", &Request::default()).is_none());
        let own = adapted("openrouter", &request).unwrap();
        assert_eq!(own.effort, None);
        let fields = Extra::for_wire(own.extra.as_deref(), Wire::OpenaiChat).unwrap();
        assert_eq!(fields.get("reasoning").unwrap().text(), r#"{"effort":"high"}"#);
    }
}
