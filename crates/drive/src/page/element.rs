//! Elements of HTML: their roles in a text, and which hold content.

use html5ever::{
    Attribute, LocalName,
    tokenizer::{TokenSinkResult, states::RawKind},
};

use super::hidden::Look;

/// The depth of elements that are told apart; deeper ones are read as if they stood here.
pub(super) const MAX_DEPTH: usize = 1_000;
/// Open elements that an end tag is compared with.
pub(super) const REACH: usize = 200;

/// The role of an element in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A part of a sentence.
    Inline,
    /// An empty element that stands alone.
    Void,
    /// A block of text.
    Block,
    Heading(u8),
    List {
        ordered: bool,
    },
    Item,
    Quote,
    Literal,
    Code,
    Link,
    Table,
    Row,
    Cell {
        heading: bool,
    },
    Raised,
    Title,
    /// An element without text for readers.
    Skipped,
    /// A container around the content, unless it is within the content.
    Around,
    /// The content itself.
    Main,
    Break,
    Rule,
    Picture,
    Meta,
    BaseUrl,
    LinkTag,
    Math,
    Formula,
    Term,
    Definition,
}

pub(super) fn role(name: &str) -> Role {
    match name {
        "br" => Role::Break,
        "hr" => Role::Rule,
        "img" => Role::Picture,
        "meta" => Role::Meta,
        "base" => Role::BaseUrl,
        "link" => Role::LinkTag,
        "area" | "col" | "embed" | "input" | "source" | "track" | "wbr" | "param" | "frame" => Role::Void,
        "h1" => Role::Heading(1),
        "h2" => Role::Heading(2),
        "h3" => Role::Heading(3),
        "h4" => Role::Heading(4),
        "h5" => Role::Heading(5),
        "h6" => Role::Heading(6),
        "ul" | "menu" | "dir" => Role::List { ordered: false },
        "ol" => Role::List { ordered: true },
        "li" => Role::Item,
        "dt" => Role::Term,
        "dd" => Role::Definition,
        "blockquote" => Role::Quote,
        "pre" | "listing" | "xmp" | "plaintext" => Role::Literal,
        "code" | "kbd" | "samp" | "tt" => Role::Code,
        "a" => Role::Link,
        "table" => Role::Table,
        "tr" => Role::Row,
        "td" => Role::Cell { heading: false },
        "th" => Role::Cell { heading: true },
        "sup" => Role::Raised,
        "title" => Role::Title,
        "math" => Role::Math,
        "annotation" => Role::Formula,
        "script" | "style" | "template" | "svg" | "noscript" | "iframe" | "noembed" | "noframes" | "object"
        | "canvas" | "audio" | "video" | "select" | "option" | "button" | "textarea" | "datalist" | "dialog"
        | "map" | "applet" => Role::Skipped,
        "nav" | "header" | "footer" | "aside" | "form" | "search" => Role::Around,
        "main" | "article" => Role::Main,
        "html" | "head" | "body" | "p" | "div" | "section" | "dl" | "thead" | "tbody" | "tfoot" | "caption"
        | "colgroup" | "figure" | "figcaption" | "fieldset" | "legend" | "details" | "summary" | "address"
        | "center" | "hgroup" => Role::Block,
        _ => Role::Inline,
    }
}

/// Returns whether pages begin with an element of this name; documents of XML have others around all.
pub(super) fn is_of_html(name: &str) -> bool {
    let inline =
        || matches!(name, "b" | "i" | "u" | "em" | "strong" | "font" | "span" | "small" | "big" | "label" | "abbr");
    !matches!(name, "svg" | "math") && (role(name) != Role::Inline || inline())
}

pub(super) fn attribute<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a str> {
    attributes.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| &*attribute.value)
}

/// Classes of marks beside the text, and of what only screen readers read.
#[rustfmt::skip] // words, not code
const OUT_OF_SIGHT: &[&str] = &[
    "headerlink", "mw-editsection", "linenos", "lineno", "linenodiv",
    "sr-only", "visually-hidden", "screen-reader-text",
];

/// Returns whether attributes say that browsers do not show the element, or that it shows no text of the page: numbers
/// of lines, marks of headings. Styles are read by [`super::hidden`].
pub(super) fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let value = &*attribute.value;
        match &*attribute.name.local {
            "hidden" => !value.eq_ignore_ascii_case("until-found"),
            // Shown when somebody opens it.
            "popover" => true,
            "aria-hidden" => value.trim().eq_ignore_ascii_case("true"),
            "class" => words(value).any(|word| OUT_OF_SIGHT.contains(&word)),
            _ => false,
        }
    })
}

/// Returns whether a container is around the content, by its role, class or id.
pub(super) fn is_around(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let value = &*attribute.value;
        match &*attribute.name.local {
            "role" => words(value).any(|word| {
                matches!(
                    word,
                    "navigation"
                        | "banner"
                        | "contentinfo"
                        | "complementary"
                        | "search"
                        | "menu"
                        | "menubar"
                        | "alertdialog"
                        | "dialog"
                )
            }),
            "class" | "id" => words(value).any(|word| {
                let word = word.to_ascii_lowercase();
                // What says that it has a sidebar is not one.
                let whole = word.split(['-', '_']).take(8).any(|part| {
                    matches!(
                        part,
                        "has"
                            | "with"
                            | "no"
                            | "without"
                            | "is"
                            | "layout"
                            | "page"
                            | "wrapper"
                            | "container"
                            | "content"
                            | "main"
                            | "body"
                            | "open"
                            | "closed"
                            | "enabled"
                    )
                });
                !whole
                    && word.split(['-', '_']).take(8).any(|part| {
                        matches!(
                            part,
                            "nav"
                                | "navbar"
                                | "navigation"
                                | "navbox"
                                | "menu"
                                | "breadcrumb"
                                | "breadcrumbs"
                                | "sidebar"
                                | "footer"
                                | "cookie"
                                | "cookies"
                                | "cookiebanner"
                                | "consent"
                                | "gdpr"
                                | "advert"
                                | "adverts"
                                | "advertisement"
                                | "ad"
                                | "ads"
                                | "adsbygoogle"
                                | "sponsor"
                                | "sponsored"
                                | "promo"
                                | "newsletter"
                                | "subscribe"
                                | "social"
                                | "share"
                                | "sharing"
                                | "related"
                                | "recommended"
                                | "recommendations"
                                | "comments"
                                | "disqus"
                                | "pagination"
                                | "pager"
                                | "popup"
                                | "modal"
                                | "masthead"
                                | "catlinks"
                                | "printfooter"
                        )
                    })
            }),
            _ => false,
        }
    })
}

fn words(value: &str) -> impl Iterator<Item = &str> {
    value.split_ascii_whitespace().take(64)
}

/// Returns whether a new element of this name ends an open one of the other, as end tags may be left out.
fn ends(name: &str, new: Role, open: &str) -> bool {
    let section = matches!(name, "thead" | "tbody" | "tfoot");
    match open {
        "p" => !matches!(
            new,
            Role::Inline
                | Role::Void
                | Role::Break
                | Role::Picture
                | Role::Code
                | Role::Link
                | Role::Raised
                | Role::Math
                | Role::Formula
                | Role::Meta
                | Role::LinkTag
                | Role::BaseUrl
                | Role::Skipped
        ),
        "li" => new == Role::Item,
        "dt" | "dd" => matches!(new, Role::Term | Role::Definition),
        "td" | "th" => section || matches!(new, Role::Cell { .. } | Role::Row),
        "tr" => section || new == Role::Row,
        "thead" | "tbody" | "tfoot" => section,
        "caption" | "colgroup" => section || matches!(new, Role::Cell { .. } | Role::Row),
        _ => false,
    }
}

/// Returns whether an open element keeps a new one of this name from ending what is around it.
fn holds(name: &str, new: Role, open: &str, role: Role) -> bool {
    if role == Role::Table || is_closed(open) {
        return true;
    }
    if matches!(open, "p" | "thead" | "tbody" | "tfoot") {
        return false;
    }
    let in_table = matches!(new, Role::Cell { .. } | Role::Row) || matches!(name, "thead" | "tbody" | "tfoot");
    let in_list = matches!(new, Role::Item | Role::Term | Role::Definition);
    let passes = in_table || in_list && matches!(open, "div" | "address");
    !passes && matches!(role, Role::List { .. } | Role::Quote | Role::Main | Role::Around | Role::Block)
}

/// Returns whether only its own end tag ends an element.
fn is_closed(open: &str) -> bool {
    matches!(open, "template" | "noscript" | "select" | "object" | "applet")
}

/// Returns whether an element has no content and no end tag.
pub(super) fn is_empty(role: Role) -> bool {
    matches!(role, Role::Meta | Role::BaseUrl | Role::LinkTag | Role::Break | Role::Rule | Role::Picture | Role::Void)
}

/// The tokenizer's state for an element whose content is no markup; `around` are the open elements.
pub(super) fn raw<'a>(name: &str, mut around: impl Iterator<Item = &'a str>) -> Option<TokenSinkResult<()>> {
    match name {
        "script" => Some(TokenSinkResult::RawData(RawKind::ScriptData)),
        "style" | "xmp" | "iframe" | "noembed" | "noframes" => Some(TokenSinkResult::RawData(RawKind::Rawtext)),
        "title" | "textarea" if !around.by_ref().take(REACH).any(|open| open == "svg") => {
            Some(TokenSinkResult::RawData(RawKind::Rcdata))
        }
        "plaintext" => Some(TokenSinkResult::Plaintext),
        _ => None,
    }
}

/// Returns whether an element is of a picture or a formula, where a slash ends an element.
pub(super) fn is_foreign<'a>(name: &str, around: impl Iterator<Item = &'a str>) -> bool {
    let foreign = |name: &str| matches!(name, "svg" | "math");
    foreign(name) || around.take(REACH).any(foreign)
}

/// The number of open elements, innermost first, that a new one ends though no tag says so.
pub(super) fn ended_silently<'a>(name: &str, new: Role, open: impl Iterator<Item = (&'a str, Role)>) -> usize {
    if matches!(new, Role::Inline | Role::Link | Role::Code | Role::Void | Role::Break) {
        return 0;
    }
    let mut ended = 0;
    for (back, (open, role)) in open.take(REACH).enumerate() {
        if ends(name, new, open) {
            ended = back + 1;
        } else if holds(name, new, open, role) {
            break;
        }
    }
    ended
}

/// The place of the open element, innermost first, that an end tag ends: with it end all that are open in it.
///
/// A tag in a cell ends nothing outside its table, and none in `<noscript>` or `<template>` ends what is around that.
/// The page itself does not end: what stands behind `</body>` stands where it would have stood without.
pub(super) fn ended_by<'a>(name: &str, open: impl Iterator<Item = (&'a str, Role)>) -> Option<usize> {
    if matches!(name, "html" | "body") {
        return None;
    }
    let of_table = matches!(role(name), Role::Table | Role::Row | Role::Cell { .. })
        || matches!(name, "thead" | "tbody" | "tfoot" | "caption" | "colgroup");
    for (back, (open, role)) in open.take(REACH).enumerate() {
        if open == name {
            return Some(back);
        }
        if name == "template" {
            // Whatever is open in it.
            continue;
        }
        let closed = is_closed(open)
            || role == Role::Table
            || !of_table && (open == "caption" || matches!(role, Role::Cell { .. }));
        if closed {
            return None;
        }
    }
    None
}

/// Returns whether an element is a part of a sentence: its end ends no paragraph that began in it.
pub(super) fn is_inline(role: Role) -> bool {
    matches!(role, Role::Inline | Role::Link | Role::Code | Role::Raised)
}

/// The language that a class names for a piece of code.
pub(super) fn language(attributes: &[Attribute]) -> Option<&str> {
    let class = attribute(attributes, "class")?;
    let name = words(class).find_map(|word| word.strip_prefix("language-").or_else(|| word.strip_prefix("lang-")))?;
    let fits = name.len() <= 20 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+#-.".contains(&byte));
    fits.then_some(name)
}

/// An open element.
#[derive(Debug)]
pub(super) struct OpenElement {
    pub(super) name: LocalName,
    pub(super) role: Role,
    /// Nothing in the element is read.
    pub(super) skipped: bool,
    /// Nothing in the element is read, whatever the elements within say of themselves.
    pub(super) unread: bool,
    /// The element is around the content.
    pub(super) around: bool,
    /// The element is the content.
    pub(super) main: bool,
    pub(super) literal: bool,
    pub(super) quoted: bool,
    /// The number of the next item of an ordered list.
    pub(super) number: Option<u32>,
    /// The number of lists that the element is in.
    pub(super) lists: usize,
    /// The look of the elements within.
    pub(super) look: Look,
}
