//! What a provider takes beyond what its wire can say: pictures and documents by the way they are given, and how it wants
//! to be told how hard to think.
//!
//! Several providers speak one wire and do not take the same. What one does not take is said before anything is sent.

use std::borrow::Cow;

use crate::core::{
    error::{Failure, FailureKind},
    json::{Fields, Raw},
    message::{Block, Extra, Media, Source, Wire},
    request::Request,
};

/// Pictures that models see.
const PICTURES: [&str; 5] = ["image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp"];

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
    let message = format!("{provider} takes no {kind} block {}{name}", how(media));
    Err(Failure::new(FailureKind::UnsupportedBlock, message).hint(hint))
}

fn how(media: &Media) -> Cow<'static, str> {
    match &media.source {
        Source::Base64 { media_type, .. } => format!("with bytes of {media_type}").into(),
        Source::Text { .. } => "of text".into(),
        Source::Url(_) => "at an address".into(),
        Source::File(_) => "by the id of a file".into(),
    }
}

/// Why a picture is not taken: what to do instead.
fn image(provider: &str, source: &Source) -> Option<&'static str> {
    const BYTES: &str = "give its bytes (Image.from_bytes, Image.from_path)";
    match (provider, source) {
        ("offline", _) => Some("it reads text alone; take another model"),
        (_, Source::Text { .. }) => Some("give PNG, JPEG, GIF or WebP"),
        (
            "anthropic" | "openai" | "openai-chat" | "openai-responses" | "openrouter",
            Source::Base64 { media_type, .. },
        ) if !PICTURES.contains(&media_type.as_str()) => Some("give PNG, JPEG, GIF or WebP"),
        ("ollama", Source::Url(_))
        | ("openai-chat" | "openrouter" | "ollama" | "vllm" | "llamacpp", Source::File(_)) => Some(BYTES),
        _ => None,
    }
}

/// Why a document is not taken: what to do instead.
fn document(provider: &str, source: &Source) -> Option<&'static str> {
    const TEXT: &str = "give its text (Document.from_text)";
    match (provider, source) {
        (_, Source::Text { .. }) => None,
        ("anthropic", Source::Base64 { media_type, .. }) if media_type != "application/pdf" => {
            Some("give a PDF, or its text (Document.from_text)")
        }
        ("openai-chat", Source::Url(_)) | ("openrouter", Source::File(_)) => {
            Some("give its bytes (Document.from_bytes, Document.from_path)")
        }
        ("ollama" | "vllm" | "llamacpp" | "offline", _) => Some(TEXT),
        _ => None,
    }
}

/// The request as this provider wants it, where that is not as its wire says: `OpenRouter` has one parameter for how hard
/// to think, whatever the model behind it calls that.
pub(super) fn fitted(provider: &str, request: &Request) -> Option<Request> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{message::Message, message::Role, request::Effort};

    fn media(source: Source) -> Media {
        Media { source, name: Some("a".into()), extra: None }
    }

    fn refused(provider: &str, block: Block) -> bool {
        let mut request = Request::default();
        request.messages.push(Message::new(Role::User, vec![block]));
        check_blocks(provider, &request).is_err()
    }

    #[test]
    fn d47_each_provider_takes_what_it_takes() {
        let bytes = |kind: &str| Source::Base64 { media_type: kind.into(), data: "eHg=".into() };
        let (url, file) = (|| Source::Url("https://x.org/a".into()), || Source::File("f".into()));
        let text = || Source::Text { media_type: "text/plain".into(), data: "x".into() };
        for (provider, png, tiff, at, by_id) in [
            ("anthropic", true, false, true, true),
            ("openai-responses", true, false, true, true),
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
        assert!(fitted("openai-chat", &request).is_none() && fitted("openrouter", &Request::default()).is_none());
        let own = fitted("openrouter", &request).unwrap();
        assert_eq!(own.effort, None);
        let fields = Extra::for_wire(own.extra.as_deref(), Wire::OpenaiChat).unwrap();
        assert_eq!(fields.get("reasoning").unwrap().text(), r#"{"effort":"high"}"#);
    }
}
