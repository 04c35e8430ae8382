//! What the tests of the guard on commands share.

use loopwright_guard::{RiskContext, RiskLevel, assess_shell};

/// All of the first are asked about, and none of the second.
pub(crate) fn held(asked: &[&str], let_pass: &[&str]) {
    let level = |command: &str| assess_shell(command, &RiskContext::default());
    for command in asked {
        assert!(level(command).level >= RiskLevel::Confirm, "let pass: {command}: {:?}", level(command));
    }
    for command in let_pass {
        assert!(level(command).level < RiskLevel::Confirm, "asked about: {command}: {:?}", level(command));
    }
}
