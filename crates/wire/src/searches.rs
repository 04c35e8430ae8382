//! What providers say of searches of their own: that one was begun, with which query, and what came of it.
//!
//! Streams tell it block by block, whole answers all at once; both are read here, so that what is told while an answer
//! streams is known again in the answer.

use std::collections::HashSet;

use loopwright_base::{
    json::{Fields, Raw},
    message::{Block, ProviderBlock, Wire},
    request::{ProviderSearch, Response, SearchEnd},
};

/// The id of the one search of an answer that shows only what it cites, and has no id itself.
const CITED: &str = "search";

/// What a block says of a search; `place` is the block's place in the answer.
pub fn of_block(block: &Fields, place: usize) -> Option<ProviderSearch> {
    let kind = block.get_str("type")?;
    let filled = |key: &str| block.get_str(key).filter(|text| !text.is_empty());
    if let Some(id) = filled("tool_use_id") {
        // The result of an MCP call does not name the tool; nobody waits for it where that was no search.
        let searches = kind.contains("search") || kind.starts_with("mcp");
        return searches.then(|| ProviderSearch { id, query: None, end: Some(result_end(block)) });
    }
    let searches = kind.contains("search") || filled("name").is_some_and(|name| name.contains("search"));
    if !searches || !ProviderBlock::runs_tool(&kind) {
        return None;
    }
    let asked = block.get("input").or_else(|| block.get("action")).and_then(|raw| Fields::parse(raw.text()).ok());
    let asked = asked.unwrap_or_default();
    let end = block.get_str("status").filter(|status| !matches!(status.as_str(), "in_progress" | "searching"));
    let end = end.map(|status| SearchEnd {
        results: asked.get("sources").or_else(|| block.get("results")).and_then(length),
        error: (status != "completed").then_some(status),
    });
    let id = filled("id").unwrap_or_else(|| place.to_string());
    Some(ProviderSearch { id, query: Some(query_in(asked, block)), end })
}

/// The searches of an answer, in order.
pub fn of_response(response: &Response) -> Vec<ProviderSearch> {
    let mut found: Vec<ProviderSearch> = Vec::new();
    for (place, block) in response.message.content.iter().enumerate() {
        if let Block::Provider(block) = block
            && let Ok(fields) = Fields::parse(block.raw.text())
        {
            found.extend(of_block(&fields, place));
        }
    }
    let extra = response.extra.as_deref().filter(|extra| extra.wire == Wire::OpenaiChat);
    let cited = extra.and_then(|extra| {
        let choice = extra.fields.get("choices")?.to::<Vec<Fields>>().ok()?.into_iter().next()?;
        cited_in(choice.get("message")?.to::<Fields>().ok()?.get("annotations")?)
    });
    found.extend(cited.map(|results| of_citations(&response.id, Some(results))));
    let extra = response.extra.as_deref().filter(|extra| extra.wire == Wire::Gemini);
    found.extend(extra.and_then(|extra| {
        let candidate = extra.fields.get("candidates")?.to::<Vec<Fields>>().ok()?.into_iter().next()?;
        of_grounding(&response.id, candidate.get("groundingMetadata")?)
    }));
    found
}

/// The search of an answer of Gemini, from its `groundingMetadata`; `None` if there was none.
pub fn of_grounding(answer: &str, metadata: &Raw) -> Option<ProviderSearch> {
    let metadata = Fields::parse(metadata.text()).ok()?;
    let queries = metadata.get("webSearchQueries")?.to::<Vec<String>>().ok()?;
    let id = if answer.is_empty() { CITED } else { answer }.to_owned();
    let end = SearchEnd { results: metadata.get("groundingChunks").and_then(length), error: None };
    Some(ProviderSearch { id, query: Some(queries.into_iter().next()?), end: Some(end) })
}

/// The search of an answer that shows only what it cites: begun, or ended with so many sources.
pub fn of_citations(answer: &str, results: Option<u64>) -> ProviderSearch {
    let id = if answer.is_empty() { CITED } else { answer }.to_owned();
    let end = results.map(|results| SearchEnd { results: Some(results), error: None });
    ProviderSearch { id, query: Some(String::new()), end }
}

/// How many pages annotations cite; `None` if there are none.
pub fn cited_in(annotations: &Raw) -> Option<u64> {
    let annotations = annotations.to::<Vec<Fields>>().ok()?;
    let urls = annotations.iter().filter_map(|one| one.get("url_citation")?.to::<Fields>().ok()?.get_str("url"));
    let urls: HashSet<String> = urls.collect();
    (!urls.is_empty()).then_some(urls.len() as u64)
}

/// The first string among the arguments: what a search was for.
pub fn query_of(input: &Raw) -> String {
    let fields = Fields::parse(input.text()).unwrap_or_default();
    ["query", "q", "pattern", "url"]
        .iter()
        .find_map(|key| fields.get_str(key))
        .or_else(|| fields.iter().find_map(|(_, value)| value.string()))
        .unwrap_or_default()
}

fn query_in(mut asked: Fields, block: &Fields) -> String {
    let several = asked.get("queries").or_else(|| block.get("queries"));
    let first = several.and_then(|queries| queries.to::<Vec<String>>().ok()?.into_iter().next());
    asked.take("type");
    let query = query_of(&asked.to_raw());
    if query.is_empty() { first.unwrap_or_default() } else { query }
}

fn result_end(block: &Fields) -> SearchEnd {
    let content = block.get("content");
    let failed = content.and_then(|content| Fields::parse(content.text()).ok()).filter(|content| {
        content.get("error_code").is_some() || content.get_str("type").is_some_and(|kind| kind.ends_with("_error"))
    });
    let code = failed.map(|content| content.get_str("error_code").unwrap_or_else(|| "unavailable".to_owned()));
    let error = code.or_else(|| block.get("is_error").is_some_and(|raw| raw.text() == "true").then(|| "error".into()));
    SearchEnd { results: content.and_then(length).filter(|_| error.is_none()), error }
}

fn length(list: &Raw) -> Option<u64> {
    list.to::<Vec<Raw>>().ok().map(|list| list.len() as u64)
}
