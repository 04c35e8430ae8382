//! What to say so that a model goes on: derived from where it stands, never a fixed prompt.

use serde::{Deserialize, Serialize};

/// Where a loop stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Standing {
    /// What the model said it would do next.
    pub next_step: Option<String>,
    /// Whether the last calls succeeded; `None` before any.
    pub succeeded: Option<bool>,
    /// What failed, in words, where something did.
    pub failure: Option<String>,
    /// Whether it seems stuck: a verdict of the detector, or momentum that is slow.
    pub stuck: bool,
}

/// What to say next; the first of these that applies: the stated next step, "Continue." after calls that succeeded, a
/// word about the failure, a word of reflection, nothing.
pub fn continuation(standing: &Standing) -> Option<String> {
    if let Some(step) = standing.next_step.as_deref().map(str::trim).filter(|step| !step.is_empty()) {
        return Some(format!("Proceed with: {step}"));
    }
    match standing.succeeded {
        Some(true) => Some("Continue.".to_owned()),
        Some(false) => {
            let failure = standing.failure.as_deref().map(str::trim).filter(|failure| !failure.is_empty());
            Some(match failure {
                Some(failure) => format!("The last call failed: {failure}. Reassess and try another way."),
                None => "The last call failed. Reassess and try another way.".to_owned(),
            })
        }
        _ if standing.stuck => Some("Take a step back: what is the state now, and what should happen next?".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c19_the_order_is_fixed() {
        let mut standing = Standing {
            next_step: Some(" read the file ".into()),
            succeeded: Some(true),
            failure: Some("disk full".into()),
            stuck: false,
        };
        assert_eq!(continuation(&standing).as_deref(), Some("Proceed with: read the file"));
        standing.next_step = Some(" ".into());
        assert_eq!(continuation(&standing).as_deref(), Some("Continue."));
        standing.succeeded = Some(false);
        assert!(continuation(&standing).is_some_and(|text| text.contains("disk full")));
        standing.failure = None;
        assert!(continuation(&standing).is_some_and(|text| text.contains("failed")));
        let standing = Standing { stuck: true, ..Standing::default() };
        assert!(continuation(&standing).is_some_and(|text| text.contains("step back")));
        assert_eq!(continuation(&Standing::default()), None);
    }
}
