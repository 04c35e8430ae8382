//! Reading of pages: bytes unpacked and decoded, markup as text, text in passages.
//!
//! Pages are hostile: reading one takes time and memory in proportion to its bytes, whatever they are, and fails with a
//! typed error or not at all.

mod blocks;
pub(super) mod body;
mod charset;
mod css;
mod element;
mod hidden;
mod html;
mod lines;
pub(super) mod robots;
mod sheet;
mod tokens;

pub use html::{Document, read_html};
pub use lines::visible_lines;

use self::tokens::Syntax;
use super::fetch::Page;
use loopwright_base::{
    error::{Error, Fault, Result},
    text::head,
};
use loopwright_lexicon::lines::Format;
use loopwright_retrieve::passages::{Passage, SENTENCES, passages};

/// Options of reading a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Characters of the text that are kept at most.
    pub max_chars: usize,
    /// Sentences in a passage; with 0, no passages are made.
    pub sentences: usize,
    /// Links are written out in the text.
    pub inline_links: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { max_chars: 40_000, sentences: SENTENCES, inline_links: false }
    }
}

/// A page as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageText {
    /// The text and metadata of the page.
    pub document: Document,
    /// The encoding of the page's bytes.
    pub charset: &'static str,
    /// Some bytes were invalid and became replacement characters.
    pub broken: bool,
    /// There is more text than `max_chars`.
    pub truncated: bool,
    /// The text in passages, with their places in it.
    pub passages: Vec<Passage>,
}

/// The kind of text that a content type names; `None` if it names none.
fn text_kind(content_type: &str) -> Option<&'static str> {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    Some(match kind.as_str() {
        "" => "",
        "text/html" => "html",
        "application/xhtml+xml" | "application/vnd.wap.xhtml+xml" => "xhtml",
        "text/markdown" | "text/x-markdown" => "markdown",
        "application/json"
        | "application/xml"
        | "application/javascript"
        | "application/ecmascript"
        | "application/yaml"
        | "application/x-yaml"
        | "application/toml"
        | "application/x-ndjson"
        | "application/sql"
        | "application/x-sh"
        | "text/css"
        | "text/javascript"
        | "text/xml"
        | "text/csv" => "code",
        kind if kind.ends_with("+json") || kind.ends_with("+xml") || kind.ends_with("+yaml") => "code",
        kind if kind.starts_with("text/") => "text",
        _ => return None,
    })
}

fn not_text(url: &str, what: &str) -> Error {
    Error::new(Fault::Tool, "not_text", format!("{url} is {what}, not text"))
        .hint("look for a page with the same content")
}

/// Refuses a content type that is no text, before its body is read.
pub(super) fn check_type(url: &str, content_type: Option<&str>) -> Result<()> {
    let given = content_type.unwrap_or_default();
    // Servers that do not know say so: then the bytes tell.
    if given.trim().to_ascii_lowercase().starts_with("application/octet-stream") || text_kind(given).is_some() {
        return Ok(());
    }
    let shown: String = given.split(';').next().unwrap_or_default().chars().take(80).collect();
    Err(not_text(url, &shown))
}

/// Returns whether a text begins with an element of HTML, behind comments.
fn begins_with_element(text: &str) -> bool {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    while let Some((_, after)) = rest.strip_prefix("<!--").and_then(|comment| comment.split_once("-->")) {
        rest = after.trim_start();
    }
    let Some(tag) = rest.strip_prefix('<') else { return false };
    let name = tag.find(|c: char| !c.is_ascii_alphanumeric()).and_then(|end| tag.split_at_checked(end));
    name.is_some_and(|(name, after)| {
        after.starts_with(|c: char| c.is_ascii_whitespace() || matches!(c, '>' | '/'))
            && element::is_of_html(&name.to_ascii_lowercase())
    })
}

/// The text of a page.
pub fn read_page(page: &Page, options: &ReadOptions) -> Result<PageText> {
    check_type(&page.url, page.content_type.as_deref())?;
    let content_type = page.content_type.as_deref().unwrap_or_default();
    let kind = text_kind(content_type).unwrap_or_default();
    let host = page.url.split('/').nth(2).unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    let read = charset::decode(&page.body, content_type, matches!(kind, "html" | "xhtml" | "" | "code"), host);
    let nulls = read.text.bytes().take(8192).filter(|byte| *byte == 0).count();
    if nulls > 0 && !charset::is_wide(read.charset) || read.text.starts_with("%PDF-") {
        return Err(not_text(&page.url, "something else"));
    }
    let looks_html = || {
        let head = head(read.text.trim_start(), 500).to_ascii_lowercase();
        ["<!doctype html", "<html", "<head", "<body"].iter().any(|mark| head.starts_with(mark))
            || head.starts_with("<?xml") && head.contains("<html")
            || kind.is_empty() && begins_with_element(&read.text)
    };
    let is_html = matches!(kind, "html" | "xhtml") || matches!(kind, "" | "text" | "code") && looks_html();
    let (mut document, format) = if is_html {
        let syntax = if kind == "xhtml" { Syntax::Xhtml } else { Syntax::Html };
        (html::read_as(syntax, &read.text, Some(&page.url), options.inline_links), Format::Markdown)
    } else {
        let text = html::visible(&read.text).replace('\r', "");
        let format = match kind {
            "markdown" => Format::Markdown,
            "code" => Format::Code,
            _ => Format::Text,
        };
        (Document { text, ..Document::default() }, format)
    };
    let end = document.text.char_indices().nth(options.max_chars).map(|(at, _)| at);
    if let Some(end) = end {
        document.text.truncate(end);
        document.links.retain(|(place, _)| place.end <= end);
    }
    let passages = match options.sentences {
        0 => Vec::new(),
        most => passages(&document.text, format, most),
    };
    let truncated = page.truncated || end.is_some();
    Ok(PageText { document, charset: read.charset, broken: read.broken, truncated, passages })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(content_type: &str, body: impl Into<Vec<u8>>) -> Page {
        Page {
            url: "https://example.org/x".into(),
            status: 200,
            content_type: Some(content_type.into()),
            body: body.into().into(),
            truncated: false,
        }
    }

    #[test]
    fn b18_b19_a_page_becomes_text_and_passages_in_it() {
        let html = "<title>T</title><h1>One</h1><p>A is 1. B is 2. C is 3. D is 4. E is 5.</p>";
        let read = read_page(&page("text/html", html), &ReadOptions::default()).unwrap();
        let texts: Vec<&str> = read.passages.iter().map(|one| one.text(&read.document.text)).collect();
        assert_eq!(texts, ["A is 1. B is 2. C is 3. D is 4.", "E is 5."]);
        assert_eq!(read.passages[0].heading, "One");
        assert_eq!((read.document.title.as_str(), read.charset, read.truncated), ("T", "UTF-8", false));
        let two = "<title> </title><title>One &amp; only</title><p>A.</p><title>Two</title>";
        let read = read_page(&page("text/html", two), &ReadOptions::default()).unwrap();
        assert_eq!(read.document.title, "One & only");
    }

    #[test]
    fn b18_no_more_characters_than_wanted() {
        let options = ReadOptions { max_chars: 10, ..ReadOptions::default() };
        let read = read_page(&page("text/plain; charset=utf-8", "äöü".repeat(100)), &options).unwrap();
        assert_eq!((read.document.text.chars().count(), read.truncated), (10, true));
    }

    #[test]
    fn b18_a_page_of_no_type_that_begins_with_an_element_is_html() {
        let read =
            |kind: &str, body: &str| read_page(&page(kind, body), &ReadOptions::default()).unwrap().document.text;
        for body in [
            "<p>Seen.<p hidden>Hidden.",
            " \n<!-- a --><div class=x>Seen.</div><p style='display:none'>Hidden.",
            "<title>T</title><p>Seen.",
            "<style>.x{display:none}</style><p>Seen.<i class=x>Hidden.</i>",
            "<H1>Seen.</H1>",
            "<b>Seen.</b>",
            "<table><tr><td>Seen.</table>",
        ] {
            for kind in ["", "application/octet-stream"] {
                let text = read(kind, body);
                assert!(text.contains("Seen.") && !text.contains('<') && !text.contains("Hidden"), "{body}: {text}");
            }
            assert_eq!(read("text/plain", body).trim(), body.trim(), "{body}");
        }
        for body in
            ["<svg><p>x</p></svg>", "<rss><a>x</a></rss>", "<= 5 <p>", "a < b <p>", "<note>x</note>", "<?php x ?><p>"]
        {
            assert_eq!(read("", body), body, "{body}");
        }
        let slash = read(
            "application/xhtml+xml; charset=utf-8",
            "<html><head><script/></head><body><p>Seen.</p></body></html>",
        );
        assert_eq!(slash, "Seen.");
    }

    #[test]
    fn what_is_no_text_is_a_typed_error() {
        for (content_type, body) in [
            ("image/png", b"\x89PNG".to_vec()),
            ("application/pdf", b"%PDF-1.7".to_vec()),
            ("application/zip", b"PK".to_vec()),
            ("text/html", b"a\0b".to_vec()),
            ("application/octet-stream", vec![0; 100]),
            ("", b"%PDF-1.7 x".to_vec()),
        ] {
            let error = read_page(&page(content_type, body), &ReadOptions::default()).unwrap_err();
            assert_eq!(error.code, "not_text", "{content_type}");
        }
        let html =
            read_page(&page("application/octet-stream", "<!DOCTYPE HTML><p>a"), &ReadOptions::default()).unwrap();
        assert_eq!(html.document.text, "a");
        let json = read_page(&page("application/ld+json", "{\"a\": 1}"), &ReadOptions::default()).unwrap();
        assert_eq!(json.document.text, "{\"a\": 1}");
    }
}
