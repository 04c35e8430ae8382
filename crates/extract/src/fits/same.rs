//! When two values of JSON are the same: numbers by what they are, however they are written; objects in whatever order.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Whether two values are equal as JSON Schema has it: `1` is `1.0`.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => number(one, other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|other| same(one, other)))
        }
        _ => one == other,
    }
}

fn number(one: &Number, other: &Number) -> bool {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => one.as_f64().partial_cmp(&other.as_f64()) == Some(Ordering::Equal),
        _ => false,
    }
}

/// The integer that a number is.
fn whole(number: &Number) -> Option<i128> {
    let exact = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    #[allow(clippy::cast_possible_truncation)] // what a float this small is, it is exactly
    exact.or_else(|| {
        number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e38).map(|float| float as i128)
    })
}

/// Whether a number is a whole multiple of another.
pub(super) fn multiple(value: &Number, of: &Number) -> bool {
    if let (Some(value), Some(of)) = (whole(value), whole(of)) {
        return of == 0 || value % of == 0;
    }
    let (Some(value), Some(of)) = (value.as_f64(), of.as_f64()) else { return true };
    let times = value / of;
    // Tenths are no binary fractions.
    of == 0.0 || !times.is_finite() || (times - times.round()).abs() <= 1e-9 * times.abs().max(1.0)
}

/// A value as text that is the same for values that are.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Number(number) => whole(number).map_or_else(|| number.to_string(), |whole| whole.to_string()),
        Value::Array(items) => format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => {
            let mut fields: Vec<_> =
                fields.iter().map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), plain(value))).collect();
            fields.sort_unstable();
            format!("{{{}}}", fields.join(","))
        }
        _ => value.to_string(),
    }
}
