//! Pages as text, and requests to search engines, for `loopwright.web` and `loopwright.search`.

use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyList},
};
use serde::Deserialize;

use super::{convert, errors, runtime};
use loopwright_base::error::Result as CoreResult;
use loopwright_drive::{
    fetch::{self, FetchOptions, Page},
    http::Client,
    page::{self, PageText, ReadOptions},
    web_call::{self, WebAnswer, WebCall},
};

/// How a page is fetched and read.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PageOptions {
    timeout: f64,
    max_bytes: usize,
    max_redirects: usize,
    allow_private: bool,
    robots: bool,
    refuse_longer: bool,
    max_chars: usize,
    sentences: usize,
    inline_links: bool,
}

impl PageOptions {
    pub(super) fn parse(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        convert::parse(value, "options")
    }

    fn fetch(&self) -> FetchOptions {
        FetchOptions {
            max_bytes: self.max_bytes,
            timeout: self.timeout,
            max_redirects: self.max_redirects,
            allow_private: self.allow_private,
            robots: self.robots,
            text_only: true,
            refuse_longer: self.refuse_longer,
        }
    }

    fn read(&self) -> ReadOptions {
        ReadOptions { max_chars: self.max_chars, sentences: self.sentences, inline_links: self.inline_links }
    }
}

/// A page and its text.
pub(super) type Read = CoreResult<Box<(Page, PageText)>>;

/// Fetches a page and reads it, the latter where it holds nobody up.
pub(super) async fn page_text(client: Client, url: String, options: PageOptions) -> Read {
    let page = fetch::fetch_page(&client, &url, &options.fetch()).await?;
    if page.status >= 400 {
        let message = format!("{} answered {}", page.url, page.status);
        let error = loopwright_base::error::Error::new(loopwright_base::error::Fault::Tool, "http_status", message);
        return Err(error.hint("check the address, or try another page"));
    }
    let read = tokio::task::spawn_blocking(move || {
        let text = page::read_page(&page, &options.read())?;
        Ok(Box::new((page, text)))
    });
    read.await
        .unwrap_or_else(|_| Err(loopwright_base::error::Error::internal("internal", "the page could not be read")))
}

/// A page as a dict; places count characters.
pub(super) fn page_object(py: Python<'_>, read: Read) -> PyResult<Bound<'_, PyAny>> {
    let read = read.map_err(|error| errors::exception(&error))?;
    let (page, text) = *read;
    let document = &text.document;
    let of_text = &document.text;
    let mut bytes: Vec<usize> = document.links.iter().flat_map(|(place, _)| [place.start, place.end]).collect();
    bytes.extend(text.passages.iter().flat_map(|passage| [passage.bytes.start, passage.bytes.end]));
    bytes.sort_unstable();
    bytes.dedup();
    let (mut from, mut count) = (0, 0);
    let counted: Vec<(usize, usize)> = bytes
        .into_iter()
        .map(|byte| {
            count += of_text.get(from..byte).map_or(0, |part| part.chars().count());
            from = byte.max(from);
            (byte, count)
        })
        .collect();
    let character = |byte: usize| {
        let found = counted.binary_search_by_key(&byte, |(byte, _)| *byte).ok();
        found.and_then(|at| counted.get(at)).map_or(0, |(_, count)| *count)
    };
    let out = PyDict::new(py);
    out.set_item("url", &page.url)?;
    out.set_item("status", page.status)?;
    out.set_item("content_type", &page.content_type)?;
    out.set_item("size", page.body.len())?;
    out.set_item("title", &document.title)?;
    out.set_item("text", of_text)?;
    out.set_item("charset", text.charset)?;
    out.set_item("broken", text.broken)?;
    out.set_item("truncated", text.truncated)?;
    out.set_item("published", &document.published)?;
    out.set_item("description", &document.description)?;
    out.set_item("language", &document.language)?;
    out.set_item("canonical", &document.canonical)?;
    let links = document.links.iter().map(|(place, url)| (character(place.start), character(place.end), url));
    out.set_item("links", PyList::new(py, links.collect::<Vec<_>>())?)?;
    let passages = text.passages.iter().map(|one| {
        let place = (character(one.bytes.start), character(one.bytes.end));
        (place, (one.bytes.start, one.bytes.end), one.heading.as_str(), (one.line, one.end_line))
    });
    out.set_item("passages", PyList::new(py, passages.collect::<Vec<_>>())?)?;
    Ok(out.into_any())
}

/// Fetches a page and reads it as text. Blocks, with the interpreter free for others.
#[pyfunction]
pub(super) fn fetch_text<'py>(py: Python<'py>, url: &str, options: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let options = PageOptions::parse(options)?;
    let handle = runtime::handle(py)?;
    let client = runtime::client(py)?;
    let read = py.detach(|| handle.block_on(page_text(client, url.to_owned(), options)));
    page_object(py, read)
}

/// Reads bytes that came from anywhere as the page at `url`.
#[pyfunction]
pub(super) fn read_text<'py>(
    py: Python<'py>,
    body: &Bound<'py, PyBytes>,
    url: &str,
    content_type: Option<String>,
    options: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = PageOptions::parse(options)?;
    let bytes = body.as_bytes();
    let truncated = bytes.len() > options.max_bytes;
    let body = bytes.get(..options.max_bytes).unwrap_or(bytes).to_vec();
    let url = url.to_owned();
    let read = py.detach(move || {
        let page = Page { url, status: 200, content_type, body: body.into(), truncated };
        page::read_page(&page, &options.read()).map(|text| Box::new((page, text)))
    });
    page_object(py, read)
}

pub(super) async fn answer(client: Client, call: WebCall) -> CoreResult<WebAnswer> {
    web_call::web_call(&client, &call).await
}

/// Status, seconds to wait, body.
pub(super) fn answer_object(py: Python<'_>, answer: CoreResult<WebAnswer>) -> PyResult<Bound<'_, PyAny>> {
    let answer = answer.map_err(|error| errors::exception(&error))?;
    let whole = (answer.status, answer.retry_after, PyBytes::new(py, &answer.body));
    Ok(whole.into_pyobject(py)?.into_any())
}

/// Makes a request. Blocks, with the interpreter free for others.
#[pyfunction]
pub(super) fn web_request<'py>(py: Python<'py>, call: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let call: WebCall = convert::parse(call, "request")?;
    let handle = runtime::handle(py)?;
    let client = runtime::client(py)?;
    let answer = py.detach(|| handle.block_on(answer(client, call)));
    answer_object(py, answer)
}
