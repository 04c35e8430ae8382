//! Errors of the core as exceptions of `loopwright.errors`, by fault.

use pyo3::{exceptions::PyOSError, prelude::*, sync::PyOnceLock, types::PyType};

use super::guard_sensitivity::redacted;
use loopwright_base::error::{Error, Fault};

/// The class for a fault, looked up once.
fn class(py: Python<'_>, guilt: Fault) -> PyResult<&Bound<'_, PyType>> {
    static CLASSES: [PyOnceLock<Py<PyType>>; 5] = [const { PyOnceLock::new() }; 5];
    let (slot, name) = match guilt {
        Fault::Usage => (&CLASSES[0], "UsageError"),
        Fault::Model => (&CLASSES[1], "ModelError"),
        Fault::Tool => (&CLASSES[2], "ToolError"),
        Fault::Provider => (&CLASSES[3], "ProviderError"),
        Fault::Internal => (&CLASSES[4], "InternalError"),
    };
    slot.import(py, "loopwright.errors", name)
}

/// The exception for an error.
pub(super) fn exception(error: &Error) -> PyErr {
    Python::attach(|py| match class(py, error.guilt) {
        Ok(class) => {
            // What a provider or a library says may repeat what it was given.
            let hint = error.hint.as_deref().map(redacted);
            let exception = PyErr::from_type(class.clone(), (redacted(&error.message), error.code.to_string(), hint));
            if let Some(answered) = &error.answered {
                let value = exception.value(py);
                let told = value
                    .setattr("status", answered.status)
                    .and_then(|()| value.setattr("retry_after", answered.retry_after))
                    .and_then(|()| value.setattr("request_id", answered.request_id.as_deref()));
                if let Err(failed) = told {
                    return failed;
                }
            }
            exception
        }
        Err(failed) => failed,
    })
}

/// A usage error with a code and a hint.
pub(super) fn usage(code: &'static str, message: impl Into<String>, hint: &str) -> PyErr {
    exception(&Error::usage(code, message).hint(hint))
}

/// The exception for an error of the system, with its number: by its kind alone Python would not know a disk that may
/// not be written to.
pub(super) fn system(error: &std::io::Error) -> PyErr {
    let Some(number) = error.raw_os_error() else { return PyOSError::new_err(error.to_string()) };
    let told = error.to_string();
    let told = told.strip_suffix(&format!(" (os error {number})")).unwrap_or(&told).to_owned();
    PyOSError::new_err((number, told))
}
