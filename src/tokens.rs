//! Counts of tokens: of text in one call without a stop in Python, of messages as the JSON they are.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use pyo3::{
    prelude::*,
    types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString},
};

use super::{convert, errors};
use loopwright_tokens::{self as tokens, Count, JSON_DEPTH, Json, Kind, Tokenizer, o200k_base};

/// A name that Python gives: of a model, of an encoding.
pub(super) fn name_of<'a>(given: &'a Bound<'_, PyAny>, what: &str, hint: &str) -> PyResult<&'a str> {
    let wrong = |message: String| errors::usage("invalid_value", message, hint);
    let Ok(text) = given.cast::<PyString>() else {
        return Err(wrong(format!("{what} is a name, not {}", shown(given))));
    };
    text.to_str().map_err(|_| {
        wrong(format!("{what} is {}, which holds half of a character (a lone surrogate): no name does", shown(given)))
    })
}

/// The name of a model.
pub(super) fn model_of<'a>(given: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    name_of(given, "model", "give the model's name, such as 'gpt-4o'")
}

fn tokenizer(model: Option<&Bound<'_, PyAny>>, encoding: Option<&Bound<'_, PyAny>>) -> PyResult<Tokenizer> {
    let model = model.map(model_of).transpose()?;
    let encoding = encoding
        .map(|given| name_of(given, "encoding", "give o200k_base or cl100k_base, or leave it out"))
        .transpose()?;
    match (encoding, model) {
        (Some(encoding), _) => Tokenizer::named(encoding).ok_or_else(|| {
            let message = format!("no encoding is named {encoding:?}: o200k_base and cl100k_base are");
            errors::usage("invalid_value", message, "give one of these")
        }),
        (None, Some(model)) => Ok(Tokenizer::for_model(model)),
        (None, None) => Ok(Tokenizer::of(o200k_base())),
    }
}

/// A text as UTF-8 carries it: halves of characters that stand alone are U+FFFD, as `tiktoken` has it.
fn carried<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, str>> {
    if let Ok(text) = text.to_str() {
        return Ok(Cow::Borrowed(text));
    }
    let halves = text.call_method1("encode", ("utf-16", "surrogatepass"))?;
    halves.call_method1("decode", ("utf-16", "replace"))?.extract().map(Cow::Owned)
}

/// Text alone, for what takes no messages.
fn text_of<'a, 'py>(given: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyString>> {
    given.cast::<PyString>().map_err(|_| {
        let message = format!("text is a str, not {}", shown(given));
        errors::usage("invalid_value", message, "give text; decode bytes first, and count messages with count_tokens")
    })
}

/// JSON without escapes of half a character, which a model may write into its arguments.
fn whole(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        let is_half = |at: usize, seconds: &[u8]| {
            let digits = escape.as_bytes().get(at..).and_then(<[u8]>::first_chunk::<4>);
            digits.is_some_and(|[slash, u, first, second]| {
                (slash, u, first | 0x20) == (&b'\\', &b'u', b'd') && seconds.contains(&second.to_ascii_lowercase())
            })
        };
        let (length, lone) = match (is_half(0, b"89ab"), is_half(6, b"cdef")) {
            (true, true) => (12, false),
            (true, false) => (6, true),
            _ if is_half(0, b"cdef") => (6, true),
            // An escaped backslash is no beginning of another escape.
            _ => (2, false),
        };
        let (escape, after) = escape.split_at_checked(length).unwrap_or((escape, ""));
        out.push_str(before);
        out.push_str(if lone { "\\ufffd" } else { escape });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// What dicts, lists, texts and numbers say, without writing them as JSON first: that would cost all of a history that
/// grows by a message. Nothing for anything else, and for what is nested deep.
fn plain(value: &Bound<'_, PyAny>, depth: usize) -> Option<Json> {
    if let Ok(text) = value.cast_exact::<PyString>() {
        return text.to_str().ok().map(|text| Json::Text(text.to_owned()));
    }
    if let Ok(dict) = value.cast_exact::<PyDict>() {
        let member = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Some((key.cast_exact::<PyString>().ok()?.to_str().ok()?.to_owned(), plain(&value, depth + 1)?))
        };
        return (depth < JSON_DEPTH).then(|| dict.iter().map(member).collect::<Option<_>>().map(Json::Object))?;
    }
    if let Ok(list) = value.cast_exact::<PyList>() {
        let items = list.iter().map(|item| plain(&item, depth + 1));
        return (depth < JSON_DEPTH).then(|| items.collect::<Option<_>>().map(Json::List))?;
    }
    let written = if value.is_none() {
        "null".to_owned()
    } else if let Ok(truth) = value.cast_exact::<PyBool>() {
        truth.is_true().to_string()
    } else if value.cast_exact::<PyInt>().is_ok()
        || value.cast_exact::<PyFloat>().is_ok_and(|number| number.value().is_finite())
    {
        value.repr().ok()?.to_str().ok()?.to_owned()
    } else {
        return None;
    };
    Some(Json::Plain(written.into()))
}

/// Anything that is no text, as JSON: dicts, lists of them, messages, lists of messages.
fn json(value: &Bound<'_, PyAny>) -> PyResult<Json> {
    fn read(text: &str) -> PyResult<Json> {
        Json::parse(text).or_else(|error| Json::parse(&whole(text)).map_err(|_| error)).map_err(|error| {
            errors::usage(
                "invalid_value",
                format!("invalid messages: {error}"),
                "give text, a message, a dict, or a list of them",
            )
        })
    }
    fn one(value: &Bound<'_, PyAny>) -> PyResult<Json> {
        if let Some(json) = plain(value, 0) {
            return Ok(json);
        }
        if value.hasattr("to_json")? {
            let text: String = value.call_method0("to_json")?.extract()?;
            return read(&text);
        }
        let text = convert::dumps(value).map_err(|error| {
            let message = format!("the messages can't be written as JSON: {}", error.value(value.py()));
            errors::usage("invalid_value", message, "give dicts with text as keys, lists, text and numbers")
        })?;
        read(&text)
    }
    match value.cast::<PyList>() {
        Ok(list) => {
            let each = |(at, item): (usize, Bound<'_, PyAny>)| {
                if item.is_instance_of::<PyString>() {
                    let message = format!("message {at} is text, and no message");
                    return Err(errors::usage("invalid_value", message, "count each text by itself, or give messages"));
                }
                one(&item)
            };
            list.iter().enumerate().map(each).collect::<PyResult<Vec<_>>>().map(Json::List)
        }
        Err(_) => one(value),
    }
}

/// How many tokens a text is, or messages are.
#[pyfunction]
#[pyo3(signature = (text_or_messages, model=None, encoding=None, upper_bound=false))]
pub(super) fn count_tokens(
    text_or_messages: &Bound<'_, PyAny>,
    model: Option<&Bound<'_, PyAny>>,
    encoding: Option<&Bound<'_, PyAny>>,
    upper_bound: bool,
) -> PyResult<usize> {
    let tokenizer = tokenizer(model, encoding)?;
    if tokenizer.is_exact()
        && let Ok(text) = text_or_messages.cast::<PyString>()
    {
        let text = &*carried(text)?;
        // While a long one is counted, others may run.
        return Ok(if text.len() < 16_384 {
            tokenizer.encoding.count(text)
        } else {
            text_or_messages.py().detach(|| tokenizer.encoding.count(text))
        });
    }
    let count = TokenCounter::from(tokenizer).count(text_or_messages)?;
    Ok(if upper_bound { count.0.upper_bound } else { count.0.tokens })
}

/// About how many tokens a text is.
#[pyfunction]
#[pyo3(signature = (text, encoding=None))]
pub(super) fn estimate_tokens(text: &Bound<'_, PyAny>, encoding: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
    let text = text_of(text)?;
    let encoding = tokenizer(None, encoding)?.encoding;
    let carried = &*carried(text)?;
    Ok(text.py().detach(|| encoding.estimate(carried)))
}

/// The tokens of a text.
#[pyfunction]
#[pyo3(signature = (text, encoding=None))]
pub(super) fn encode_tokens(text: &Bound<'_, PyAny>, encoding: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<u32>> {
    let text = text_of(text)?;
    let encoding = tokenizer(None, encoding)?.encoding;
    let carried = &*carried(text)?;
    Ok(text.py().detach(|| encoding.encode(carried)))
}

/// The text of tokens.
#[pyfunction]
#[pyo3(signature = (tokens, encoding=None))]
pub(super) fn decode_tokens(tokens: &Bound<'_, PyAny>, encoding: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
    let encoding = tokenizer(None, encoding)?.encoding;
    let tokens = numbers(tokens)?;
    if let Some(bytes) = encoding.decode(&tokens) {
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    let unknown = tokens.iter().enumerate().find(|(_, token)| encoding.decode(&[**token]).is_none());
    let message = unknown.map_or_else(
        || "one of these is no token".to_owned(),
        |(at, token)| format!("token {at} is {token}, and {} has no such token", encoding.name()),
    );
    Err(errors::usage("invalid_value", message, "give tokens of the same encoding as they were made with"))
}

/// How many tokens were reported.
fn tokens_of(given: &Bound<'_, PyAny>) -> PyResult<usize> {
    given.extract().map_err(|_| {
        let message = format!("tokens that were reported are a number, not {}", shown(given));
        errors::usage("invalid_value", message, "give a whole number of tokens from 0 up")
    })
}

/// The beginning of what Python shows of a value.
fn shown(value: &Bound<'_, PyAny>) -> String {
    let shown = value.repr().map_or_else(|_| "what can't be shown".to_owned(), |shown| shown.to_string());
    shown.chars().take(100).collect()
}

/// Tokens as Python gives them.
fn numbers(given: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    let hint = "give a list of whole numbers from 0 up, as encode_tokens gives them";
    if given.is_instance_of::<PyString>() || given.is_instance_of::<PyDict>() {
        let message = format!("tokens are a list of numbers, not {}", given.get_type().name()?);
        return Err(errors::usage("invalid_value", message, hint));
    }
    let Ok(elements) = given.try_iter() else {
        let message = format!("tokens are a list of numbers, not {}", given.get_type().name()?);
        return Err(errors::usage("invalid_value", message, hint));
    };
    let mut tokens = Vec::new();
    for (at, element) in elements.enumerate() {
        let element = element?;
        let Ok(token) = element.extract::<u32>() else {
            let message = format!("token {at} is {}, and no token", shown(&element));
            return Err(errors::usage("invalid_value", message, hint));
        };
        tokens.push(token);
    }
    Ok(tokens)
}

/// What a counter found.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct TokenCount(Count);

impl From<Count> for TokenCount {
    fn from(count: Count) -> Self {
        Self(count)
    }
}

#[pymethods]
impl TokenCount {
    /// The count, or the best estimate of it.
    #[getter]
    const fn tokens(&self) -> usize {
        self.0.tokens
    }

    /// How many tokens it may be off either way, nineteen times of twenty; 0 if it is exact.
    #[getter]
    const fn margin(&self) -> usize {
        self.0.margin
    }

    /// What it is at most, but for one time in a hundred.
    #[getter]
    const fn upper_bound(&self) -> usize {
        self.0.upper_bound
    }

    /// Whether the count is exact.
    #[getter]
    const fn exact(&self) -> bool {
        self.0.margin == 0
    }

    fn __repr__(&self) -> String {
        let Count { tokens, margin, upper_bound, .. } = self.0;
        if margin == 0 {
            return format!("<TokenCount {tokens}>");
        }
        format!("<TokenCount about {tokens} ±{margin}, at most {upper_bound}>")
    }
}

/// Counts tokens for a model and remembers what it counted.
#[pyclass(frozen, module = "loopwright._core")]
pub(super) struct TokenCounter(Mutex<tokens::TokenCounter>);

impl From<Tokenizer> for TokenCounter {
    fn from(tokenizer: Tokenizer) -> Self {
        Self(Mutex::new(tokens::TokenCounter::new(tokenizer)))
    }
}

impl TokenCounter {
    /// Nothing of Python may be touched meanwhile.
    pub(super) fn with<T>(&self, use_it: impl FnOnce(&mut tokens::TokenCounter) -> T) -> T {
        use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl TokenCounter {
    #[new]
    #[pyo3(signature = (model=None, encoding=None))]
    fn new(model: Option<&Bound<'_, PyAny>>, encoding: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(tokenizer(model, encoding)?.into())
    }

    /// A text, messages, or a whole request.
    fn count(&self, text_or_messages: &Bound<'_, PyAny>) -> PyResult<TokenCount> {
        if let Ok(text) = text_or_messages.cast::<PyString>() {
            let text = &*carried(text)?;
            return Ok(text_or_messages.py().detach(|| self.with(|counter| counter.text(text))).into());
        }
        let value = json(text_or_messages)?;
        Ok(text_or_messages.py().detach(|| self.with(|counter| counter.anchored(&value))).into())
    }

    /// What the provider reported for something that was counted as `counted`.
    fn learn(&self, counted: &Bound<'_, PyAny>, reported: &Bound<'_, PyAny>) -> PyResult<()> {
        let counted = counted.cast::<TokenCount>().map_err(|_| {
            let message = format!("counted is what `count` gave, not {}", shown(counted));
            errors::usage(
                "invalid_value",
                message,
                "give the TokenCount of what was counted; for messages use `reported`",
            )
        })?;
        let reported = tokens_of(reported)?;
        self.with(|counter| counter.learn(counted.get().0, reported));
        Ok(())
    }

    /// What the provider reported for these messages or this request: counts go on from there.
    fn reported(&self, messages: &Bound<'_, PyAny>, tokens: &Bound<'_, PyAny>) -> PyResult<()> {
        let tokens = tokens_of(tokens)?;
        let value = json(messages)?;
        messages.py().detach(|| self.with(|counter| counter.reported(&value, tokens)));
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!("<TokenCounter {}, ratio {:.2}>", self.encoding(), self.ratio())
    }

    /// The encoding: the model's own, or the one to start from.
    #[getter]
    fn encoding(&self) -> &'static str {
        self.with(|counter| counter.tokenizer().encoding.name())
    }

    /// Tokens of the model for each token of the encoding, prose and code together; 1 where it is the model's own.
    #[getter]
    fn ratio(&self) -> f64 {
        let [prose, code, ..] = self.with(|counter| counter.ratios());
        f64::midpoint(prose, code)
    }

    /// The same by kind of text.
    #[getter]
    fn ratios(&self) -> BTreeMap<&'static str, f64> {
        let ratios = self.with(|counter| counter.ratios());
        Kind::ALL.into_iter().map(Kind::name).zip(ratios).collect()
    }
}
