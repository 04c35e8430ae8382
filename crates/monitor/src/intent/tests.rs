use super::*;

fn decide(message: &str) -> Decision {
    assess_intent(message, &[], &SUB_AGENTS).decision
}

#[test]
fn d33_sub_agents() {
    let one = |message: &str| {
        let intent = assess_intent(message, &[], &SUB_AGENTS);
        (intent.decision, intent.sub_agents)
    };
    assert_eq!(
        one("Explore the codebase, find out how sessions are stored and refactor the session module to use redis"),
        (Decision::Delegate, vec!["explore".into(), "code".into()])
    );
    assert_eq!(
        one("Research the battery life of the Pixel 9 and the iPhone 16"),
        (Decision::Parallelize, vec!["research".into()])
    );
    assert_eq!(
        one("Explore the repository and tell me how the scheduler works"),
        (Decision::Delegate, vec!["explore".into()])
    );
    assert_eq!(
        one("Back up the users table, then drop it from the staging database"),
        (Decision::PlanWithRollback, vec!["plan".into()])
    );
}

#[test]
fn x06_without_sub_agents_it_is_direct_with_a_plan() {
    let intent = assess_intent("Explore the repository and tell me how the scheduler works", &[], &[]);
    assert_eq!((intent.decision, intent.plan, intent.sub_agents.len()), (Decision::Direct, true, 0));
}

#[test]
fn x05_destruction() {
    assert_eq!(decide("delete all completed sessions"), Decision::Direct);
    assert_eq!(decide("Delete it."), Decision::AskFirst);
    assert_eq!(decide("drop the table"), Decision::AskFirst);
    assert_eq!(decide("Stop the service, delete the old volumes and then restart it"), Decision::PlanWithRollback);
    assert_eq!(decide("How do I delete a git branch?"), Decision::Direct);
    let resolved = assess_intent("Delete it.", &["I created /tmp/report.csv for you."], &SUB_AGENTS);
    assert_eq!(resolved.decision, Decision::Direct);
}

#[test]
fn x25_a_question_is_direct() {
    for text in [
        "What is the capital of France?",
        "Why is the sky blue?",
        "what does this function do: `foo()`?",
        "How does TCP slow start work?",
        "is 17 prime?",
    ] {
        assert_eq!(decide(text), Decision::Direct, "{text}");
    }
    assert_eq!(decide("Fix it"), Decision::AskFirst);
    assert_eq!(decide("make it better"), Decision::AskFirst);
}

#[test]
fn d34_words_never_match_inside_words() {
    // "then" in authentication, "ui" in build, "rest" in restore, "row" in browser.
    let seen = assess_intent("the authentication of a linux browser was restored", &[], &SUB_AGENTS).signals;
    assert!(!seen.is_multi_step && !seen.is_destructive && !seen.has_independent_parts, "{seen:?}");
}

#[test]
fn d36_what_says_too_little_is_asked_about() {
    let intent = assess_intent("banana", &[], &SUB_AGENTS);
    assert!(intent.escalated && intent.decision == Decision::AskFirst && intent.question.is_some(), "{intent:?}");
    assert_eq!(decide(""), Decision::AskFirst);
    assert_eq!(decide("hello"), Decision::Direct);
}

#[test]
fn d31_the_words_that_decided_are_named() {
    let text = "Please purge the mail queue, then restart postfix";
    let intent = assess_intent(text, &[], &SUB_AGENTS);
    let words = |signal: &str| intent.evidence.iter().find(|e| e.signal == signal).map(|e| &text[e.words.clone()]);
    assert_eq!(words("destructive"), Some("purge"));
    assert_eq!(words("multi_step"), Some("then"));
}

proptest::proptest! {
    #[test]
    fn d31_no_text_breaks_it(text in "(\\PC|delete |it |the |and |then |fix |\\?|\\.|,|\n|`|\"|- |1\\. ){0,60}") {
        let intent = assess_intent(&text, &[], &SUB_AGENTS);
        proptest::prop_assert!((0.0..=1.0).contains(&intent.confidence));
        for one in &intent.evidence {
            proptest::prop_assert!(text.get(one.words.clone()).is_some());
        }
    }
}

/// A capital by itself names something; "A" and "I" are words.
#[test]
fn d31_letters_name_things() {
    assert_eq!(decide("Research A and also B and compare them in parallel"), Decision::Parallelize);
    assert_ne!(decide("Research A and B"), Decision::AskFirst);
    assert_ne!(decide("Check option X and option Y and pick one of them"), Decision::AskFirst);
    assert_eq!(decide("Compare them"), Decision::AskFirst);
    assert_eq!(decide("A fix. Do it"), Decision::AskFirst);
}

#[test]
fn x25_a_question_about_what_lies_open_is_answered_and_one_about_words_that_are_missing_is_not() {
    for direct in [
        "What does this do?",
        "what does this do",
        "How does this work?",
        "What is this for?",
        "Can you explain what this does?",
        "explain how this works",
        "What does this contain?",
        "why does this run twice?",
    ] {
        assert_eq!(decide(direct), Decision::Direct, "{direct}");
    }
    for ask in [
        "What does it do?",
        "how does it work?",
        "what does this mean?",
        "what is this?",
        "Fix what this does",
        "Delete this, it does not work",
        "refactor how this works",
    ] {
        assert_ne!(decide(ask), Decision::Direct, "{ask}");
    }
}
