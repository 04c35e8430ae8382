//! One event of a stream, looked at without copying what is not needed.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::invalid;
use loopwright_base::{
    error::{Failure, Result},
    json::{Fields, Raw},
};

/// The members that matter, of whatever type they are: an unknown event may use them as it likes.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) output_index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) item_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) content_index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) summary_index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) delta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) refusal: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) part: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) action: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

pub(super) fn string(raw: Option<&RawValue>, what: &str) -> Result<String, Failure> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
        .ok_or_else(|| invalid(format!("an event of the stream lacks its `{what}`, or it is no string")))
}

pub(super) fn index(raw: Option<&RawValue>, what: &str) -> Result<u64, Failure> {
    raw.and_then(|raw| raw.get().parse().ok())
        .ok_or_else(|| invalid(format!("an event of the stream lacks its `{what}`, or it is no index")))
}

/// An index that some servers leave out where there is only one.
pub(super) fn index_or_first(raw: Option<&RawValue>, what: &str) -> Result<u64, Failure> {
    if raw.is_some() { index(raw, what) } else { Ok(0) }
}

pub(super) fn object(raw: Option<&RawValue>, what: &str) -> Result<(Raw, Fields), Failure> {
    let fail = || invalid(format!("an event of the stream lacks its `{what}`, or it is no object"));
    let raw = raw.and_then(|raw| Raw::parse(raw.get()).ok()).ok_or_else(fail)?;
    let fields = Fields::parse(raw.text()).map_err(|_| fail())?;
    Ok((raw, fields))
}
