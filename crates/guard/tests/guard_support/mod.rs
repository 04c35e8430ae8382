//! What the tests of the guard on commands share.

// Not every test file uses all of it.
#![allow(dead_code)]

use loopwright_guard::{Authority, Declared, GuardConfig, RiskContext, RiskLevel, assess_shell, judge};
use serde_json::json;

/// Whether the built-in shell asks about a line under a task.
pub(crate) fn asked(task: &str, line: &str) -> bool {
    let declared = Declared { risk: RiskLevel::Confirm, by_arguments: true };
    let input = json!({ "command": line });
    judge(&GuardConfig::default(), &Authority::of_text(task), "shell", &input, declared).asks()
}

/// Whether it asks where the task names nothing of the line.
pub(crate) fn asked_without_a_word(line: &str) -> bool {
    asked("Look around.", line)
}

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
