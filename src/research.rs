//! Reports of researches, for `loopwright.research`.

use pyo3::prelude::*;

use super::{convert, errors};
use loopwright_machine::research::{Report, Style, html, markdown};

/// A report, as JSON, written out: `form` is `markdown` or `html`.
#[pyfunction]
pub(super) fn render_report(report: &str, style: &str, form: &str) -> PyResult<String> {
    let report: Report = convert::from_json(
        report,
        ("invalid_value", "this is no report"),
        "give what `to_json` of a report gave, unchanged",
    )?;
    let Some(style) = Style::named(style) else {
        let message = format!("{style:?} is no style");
        return Err(errors::usage("invalid_option", message, "use \"detailed\", \"summary\" or \"progress\""));
    };
    match form {
        "markdown" => Ok(markdown(&report, style)),
        "html" => Ok(html(&report, style)),
        other => Err(errors::usage(
            "invalid_option",
            format!("{other:?} is no form of a report"),
            "use \"markdown\" or \"html\"",
        )),
    }
}
