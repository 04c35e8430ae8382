//! Metadata of a page (title, date, language, address), and its links made absolute.

use html5ever::Attribute;
use loopwright_base::text::head;
use reqwest::Url;

use super::{super::element::attribute, PageReader, visible};

const MAX_URL: usize = 2_000;

impl PageReader {
    pub(super) fn absolute_url(&self, href: &str) -> Option<String> {
        let href = href.trim();
        if href.is_empty() || href.len() > MAX_URL || href.starts_with('#') {
            return None;
        }
        let url = match &self.base {
            Some(base) => base.join(href).ok()?,
            None => Url::parse(href).ok()?,
        };
        matches!(url.scheme(), "http" | "https" | "mailto" | "ftp").then(|| url.into())
    }

    pub(super) fn meta(&mut self, attributes: &[Attribute]) {
        let Some(content) = attribute(attributes, "content") else { return };
        let name = attribute(attributes, "property")
            .or_else(|| attribute(attributes, "name"))
            .or_else(|| attribute(attributes, "itemprop"));
        let slot = match name.unwrap_or_default().to_ascii_lowercase().as_str() {
            "og:title" | "twitter:title" | "dc.title" | "citation_title" => &mut self.social_title,
            "description" | "og:description" | "dc.description" => &mut self.document.description,
            "article:published_time"
            | "og:published_time"
            | "date"
            | "dc.date"
            | "dcterms.date"
            | "datepublished"
            | "citation_publication_date"
            | "citation_date"
            | "pubdate"
            | "publish-date" => &mut self.document.published,
            _ => return,
        };
        let text = one_line(content, 1_000);
        if !text.is_empty() {
            slot.get_or_insert(text);
        }
    }

    pub(super) fn base_url(&mut self, attributes: &[Attribute]) {
        if let Some(url) =
            attribute(attributes, "href").and_then(|href| self.absolute_url(href)).and_then(|url| Url::parse(&url).ok())
        {
            self.base = Some(url);
        }
    }

    pub(super) fn link_tag(&mut self, attributes: &[Attribute]) {
        let is_canonical = attribute(attributes, "rel").is_some_and(|rel| rel.eq_ignore_ascii_case("canonical"));
        if is_canonical && let Some(url) = attribute(attributes, "href").and_then(|href| self.absolute_url(href)) {
            self.document.canonical.get_or_insert(url);
        }
    }
}

pub(super) fn one_line(text: &str, most: usize) -> String {
    let text = visible(text);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    head(&text, most).to_owned()
}
