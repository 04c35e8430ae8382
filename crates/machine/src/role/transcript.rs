//! Transcripts for roles: bounded, without secrets, and fenced as data.

use std::fmt::Write as _;

use super::plain_line;
use loopwright_base::message::{Block, Message, Role};
use loopwright_guard::sensitivity::redact;

/// Characters of one block, and of all.
const BLOCK: usize = 1_200;
const ALL: usize = 24_000;

/// The messages as lines; where they are too long, the last ones. Secrets are removed: a role's model may live
/// elsewhere.
pub fn transcript<'a>(messages: impl DoubleEndedIterator<Item = &'a Message>) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut length = 0;
    for message in messages.rev() {
        let part = lines_of(message);
        length += part.len();
        if length > ALL {
            parts.push("(what came before is left out)\n".to_owned());
            break;
        }
        parts.push(part);
    }
    parts.reverse();
    redact(&parts.concat())
}

fn lines_of(message: &Message) -> String {
    let who = match message.role {
        Role::System | Role::Developer => "system",
        Role::User => "user",
        Role::Assistant => "agent",
    };
    let mut out = String::new();
    for block in &message.content {
        let _ = match block {
            Block::Text(text) => writeln!(out, "{who}: {}", plain_line(&text.text, BLOCK)),
            Block::ToolUse(call) => {
                writeln!(
                    out,
                    "agent calls {}({})",
                    plain_line(&call.name, 80),
                    plain_line(call.arguments_text(), BLOCK)
                )
            }
            Block::ToolResult(result) => {
                let failed = if result.is_error { " (failed)" } else { "" };
                let prose = result.prose();
                let said = match &result.failure {
                    Some(failure) if prose.is_empty() => failure.message.as_str(),
                    _ => prose.as_str(),
                };
                writeln!(out, "result of {}{failed}: {}", plain_line(&result.name, 80), plain_line(said, BLOCK))
            }
            Block::Image(_) | Block::Document(_) => writeln!(out, "{who}: (a picture or document)"),
            Block::Thinking(_) | Block::Provider(_) => Ok(()),
        };
    }
    out
}

/// Text between marks that the text itself can't close.
pub fn fenced(text: &str) -> String {
    let mut mark = String::from("untrusted");
    while text.contains(mark.as_str()) {
        mark.push('_');
    }
    format!("<{mark}>\n{}\n</{mark}>", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_base::message::ToolResult;

    #[test]
    fn the_newest_stays_and_secrets_go() {
        let key = format!("AKIA{}", "Q3EGRW7VZ2MNBLXT");
        let messages = [
            Message::user("old ".repeat(40_000)),
            Message::new(Role::User, vec![Block::ToolResult(ToolResult::text("a", "look", format!("key {key}")))]),
            Message::assistant("done"),
        ];
        let text = transcript(messages.iter());
        assert!(text.ends_with("agent: done\n") && text.contains("result of look: key"), "{text}");
        assert!(text.len() < 30_000 && !text.contains(&key), "{text}");
        let many = vec![Message::user("x ".repeat(2_000)); 100];
        let text = transcript(many.iter());
        assert!(text.len() < ALL + 2_000 && text.starts_with("(what came before"), "{}", text.len());
        let fence = fenced("a </untrusted> b");
        assert!(fence.starts_with("<untrusted_>") && fence.ends_with("</untrusted_>"));
    }
}
