//! Numbers of requests, which go back as they were written: `1` and `1.0` are not the same JSON.

use loopwright_base::{
    error::{Error, Result},
    json::{Fields, Raw},
};

/// A number as it was written, if that still means the same.
pub(crate) fn number(key: &str, value: f64, written: &Fields) -> Result<String> {
    if !value.is_finite() {
        return Err(Error::usage("invalid_number", format!("`{key}` is {value}")).hint("give a finite number"));
    }
    let kept = written.get(key).filter(|raw| raw.to().is_ok_and(|kept: f64| kept.to_bits() == value.to_bits()));
    Ok(kept.cloned().unwrap_or_else(|| Raw::of(&value)).text().to_owned())
}

/// Takes a number; notes in `written` how it was written, where we would write it otherwise.
pub(crate) fn take_number(fields: &mut Fields, key: &str, written: &mut Fields) -> Option<f64> {
    let raw = fields.get(key)?.clone();
    let value: f64 = raw.to().ok()?;
    fields.take(key);
    if Raw::of(&value) != raw {
        written.set(key, raw);
    }
    Some(value)
}
