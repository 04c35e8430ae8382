//! Limits of a provider beyond its wire: the forms in which it takes pictures and documents, and its parameter for the
//! effort of reasoning.
//!
//! Several providers speak one wire and do not take the same. What one does not take is said before anything is sent.

use std::{borrow::Cow, sync::Arc};

use xxhash_rust::xxh3::xxh3_64;

use loopwright_base::{
    error::{Failure, FailureKind},
    json::{Fields, Raw},
    message::{Block, Extra, Media, MediaSource, Message, Role, ToolUse, Wire},
    request::{History, Request},
};
use loopwright_models::quirks::wants_signatures;

/// Media types of pictures that models see.
const PICTURES: [&str; 5] = ["image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp"];

/// Media types of pictures that models of Gemini see.
const GEMINI_PICTURES: [&str; 6] = ["image/png", "image/jpeg", "image/jpg", "image/webp", "image/heic", "image/heif"];

/// Fails if the request holds a block that the provider takes in no form like this.
pub(super) fn check_blocks(provider: &str, request: &Request) -> Result<(), Failure> {
    for message in request.messages.iter().chain(request.system.as_deref()) {
        for block in &message.content {
            check(provider, block)?;
            let Block::ToolResult(result) = block else { continue };
            if provider != "offline" {
                result.content.iter().try_for_each(|block| check(provider, block))?;
            }
        }
    }
    Ok(())
}

fn check(provider: &str, block: &Block) -> Result<(), Failure> {
    let (kind, refused, media) = match block {
        Block::Image(media) => ("image", image(provider, &media.source), media),
        Block::Document(media) => ("document", document(provider, &media.source), media),
        _ => return Ok(()),
    };
    let Some(hint) = refused else { return Ok(()) };
    let name = media.name.as_ref().map(|name| format!(" {name:?}")).unwrap_or_default();
    let message = format!("{provider} takes no {kind} block {}{name}", media_form(media));
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

/// The media types of pictures that models of a provider see, where they are known.
fn pictures(provider: &str) -> Option<&'static [&'static str]> {
    match provider {
        "gemini" => Some(&GEMINI_PICTURES),
        "anthropic" | "openai" | "openai-chat" | "openai-responses" | "openrouter" => Some(&PICTURES),
        _ => None,
    }
}

/// The hint for a picture that the provider does not take; `None` if it is taken.
fn image(provider: &str, source: &MediaSource) -> Option<&'static str> {
    const BYTES: &str = "give its bytes (Image.from_bytes, Image.from_path)";
    match (provider, source) {
        ("offline", _) => Some("it reads text alone; take another model"),
        (_, MediaSource::Text { .. }) => Some("give PNG, JPEG, GIF or WebP"),
        (_, MediaSource::Base64 { media_type, .. })
            if pictures(provider).is_some_and(|seen| !seen.contains(&&**media_type)) =>
        {
            Some(if provider == "gemini" {
                "give PNG, JPEG, WebP, HEIC or HEIF"
            } else {
                "give PNG, JPEG, GIF or WebP"
            })
        }
        ("ollama", MediaSource::Url(_))
        | ("openai-chat" | "openrouter" | "ollama" | "vllm" | "llamacpp", MediaSource::File(_)) => Some(BYTES),
        _ => None,
    }
}

/// The hint for a document that the provider does not take; `None` if it is taken.
fn document(provider: &str, source: &MediaSource) -> Option<&'static str> {
    const TEXT: &str = "give its text (Document.from_text)";
    match (provider, source) {
        (_, MediaSource::Text { .. }) => None,
        ("anthropic", MediaSource::Base64 { media_type, .. }) if media_type != "application/pdf" => {
            Some("give a PDF, or its text (Document.from_text)")
        }
        ("openai-chat", MediaSource::Url(_)) | ("openrouter", MediaSource::File(_)) => {
            Some("give its bytes (Document.from_bytes, Document.from_path)")
        }
        ("ollama" | "vllm" | "llamacpp" | "offline", _) => Some(TEXT),
        _ => None,
    }
}

/// The request in the provider's own form, where that differs from its wire: `OpenRouter` has one parameter for the
/// effort of reasoning, whatever the model behind it calls that.
pub(super) fn adapt_request(provider: &str, request: &Request) -> Option<Request> {
    let effort = request.effort.filter(|_| provider == "openrouter")?;
    let mut own = request.clone();
    own.effort = None;
    let mut fields = Extra::for_wire(own.extra.as_deref(), Wire::OpenaiChat).cloned().unwrap_or_default();
    let mut reasoning = fields.get("reasoning").and_then(|raw| Fields::parse(raw.text()).ok()).unwrap_or_default();
    reasoning.set("effort", Raw::of(effort.name()));
    fields.set("reasoning", reasoning.to_raw());
    own.extra = Extra::of(Wire::OpenaiChat, fields);
    Some(own)
}

/// The request with a history in the order that the host accepts, where that is stricter than its wire. Of servers that
/// speak Chat Completions only OpenAI's own are known to take instructions anywhere; others take them first alone, so
/// inside a history they are the user's words. Mistral takes ids of nine letters and digits. Newer models of Gemini
/// refuse calls without a signature, which calls of other models have not.
pub(super) fn adapt_history(host: &str, wire: Wire, request: &Request) -> Option<Request> {
    if wire == Wire::Gemini {
        let unsigned = wants_signatures(&request.model) && request.messages.iter().any(is_unsigned);
        return unsigned.then(|| {
            let messages = request.messages.in_dialect("signatures of gemini", with_signature);
            Request { messages, ..request.clone() }
        });
    }
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let is_of = |domain: &str| name == domain || name.strip_suffix(domain).is_some_and(|sub| sub.ends_with('.'));
    if wire != Wire::OpenaiChat || ["openai.com", "openai.azure.com"].into_iter().any(is_of) {
        return None;
    }
    let instructs = |message: &Message| matches!(message.role, Role::System | Role::Developer);
    let first = request.messages.iter().take_while(|message| instructs(message)).count();
    let inside = request.messages.behind(first).any(instructs);
    let short_ids = is_of("mistral.ai");
    if !inside && !short_ids {
        return None;
    }
    let mut own = request.clone();
    if short_ids {
        own.messages = own.messages.in_dialect("ids of mistral", with_short_ids);
    }
    if inside {
        let mut messages = History::new();
        for (at, entry) in own.messages.entries().iter().enumerate() {
            if at >= first && instructs(entry.message()) {
                messages.push(Message { role: Role::User, ..Message::clone(entry.message()) });
            } else {
                messages.push_entry(Arc::clone(entry));
            }
        }
        own.messages = messages;
    }
    Some(own)
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

/// The message with ids of nine letters and digits: such ids stay, others become the same ones every time.
fn with_short_ids(message: &Message) -> Message {
    let mut message = message.clone();
    for block in &mut message.content {
        let id = match block {
            Block::ToolUse(call) => &mut call.id,
            Block::ToolResult(result) => &mut result.id,
            _ => continue,
        };
        if id.len() != SHORT_ID || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            *id = short_id(id);
        }
    }
    message
}

const SHORT_ID: usize = 9;

fn short_id(id: &str) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut left = xxh3_64(id.as_bytes());
    let mut short = String::with_capacity(SHORT_ID);
    for _ in 0..SHORT_ID {
        let digit = usize::try_from(left % 62).ok().and_then(|at| DIGITS.get(at)).copied().unwrap_or(b'0');
        short.push(char::from(digit));
        left /= 62;
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_base::{message::ToolResult, request::Effort};

    #[test]
    fn w2_mistral_gets_ids_of_nine_letters_and_digits() {
        let mut request = Request::default();
        request.messages.push(Message::user("go"));
        let ids = ["call_0", "", "aB3dE6gH9", "functions.f:0"];
        let calls = ids.iter().map(|id| Block::ToolUse(ToolUse::from_text(*id, "f", "{}".to_owned())));
        request.messages.push(Message::new(Role::Assistant, calls.collect()));
        let results = ids.iter().map(|id| Block::ToolResult(ToolResult::text(*id, "f", "1")));
        request.messages.push(Message::new(Role::User, results.collect()));
        let own = adapt_history("api.mistral.ai:443", Wire::OpenaiChat, &request).unwrap();
        let uses: Vec<String> = own.messages.iter().flat_map(Message::tool_uses).map(|call| call.id.clone()).collect();
        let answers: Vec<String> =
            own.messages.iter().flat_map(Message::tool_results).map(|result| result.id.clone()).collect();
        assert_eq!(uses, answers);
        assert_eq!(uses[2], "aB3dE6gH9");
        assert_eq!(uses.iter().collect::<std::collections::HashSet<_>>().len(), ids.len());
        assert!(uses.iter().all(|id| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())), "{uses:?}");
        for host in ["api.openai.com:443", "localhost:8000", "notmistral.ai:443"] {
            assert!(adapt_history(host, Wire::OpenaiChat, &request).is_none(), "{host}");
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
        let adapted = adapt_history("h:1", Wire::Gemini, &request).unwrap();
        let found: Vec<Option<String>> = adapted
            .messages
            .iter()
            .flat_map(Message::tool_uses)
            .map(|call| gemini_fields(call).get_str("thoughtSignature"))
            .collect();
        assert_eq!(found, [Some(NO_SIGNATURE.to_owned()), None, Some("own".to_owned()), None]);
        let older = Request { model: "gemini-2.5-flash".into(), ..request };
        assert!(adapt_history("h:1", Wire::Gemini, &older).is_none());
    }

    #[test]
    fn w3_instructions_inside_a_history_are_the_users_words_but_at_openai() {
        let mut request = Request::default();
        for (role, text) in [(Role::System, "a"), (Role::User, "b"), (Role::System, "c"), (Role::Developer, "d")] {
            request.messages.push(Message::text(role, text));
        }
        let own = adapt_history("localhost:8000", Wire::OpenaiChat, &request).unwrap();
        let roles: Vec<Role> = own.messages.iter().map(|message| message.role).collect();
        assert_eq!(roles, [Role::System, Role::User, Role::User, Role::User]);
        for host in ["api.openai.com:443", "me.openai.azure.com:443"] {
            assert!(adapt_history(host, Wire::OpenaiChat, &request).is_none(), "{host}");
        }
        assert!(adapt_history("localhost:1", Wire::Anthropic, &request).is_none());
    }

    fn media(source: MediaSource) -> Media {
        Media { source, name: Some("a".into()), extra: None }
    }

    fn refused(provider: &str, block: Block) -> bool {
        let mut request = Request::default();
        request.messages.push(Message::new(Role::User, vec![block]));
        check_blocks(provider, &request).is_err()
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
        assert!(
            adapt_request("openai-chat", &request).is_none()
                && adapt_request("openrouter", &Request::default()).is_none()
        );
        let own = adapt_request("openrouter", &request).unwrap();
        assert_eq!(own.effort, None);
        let fields = Extra::for_wire(own.extra.as_deref(), Wire::OpenaiChat).unwrap();
        assert_eq!(fields.get("reasoning").unwrap().text(), r#"{"effort":"high"}"#);
    }
}
