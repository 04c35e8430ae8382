//! What a turn tells of the words it begins with.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod turn_support;

use loopwright_base::message::{Message, Role};
use loopwright_machine::{Command, Event, EventKind, Machine, Notice, Time, turn::TurnMachine};
use turn_support::config;

fn notices(messages: Vec<Message>, base: u64) -> (Vec<Notice>, bool) {
    let mut machine = TurnMachine::new(config(), base);
    let commands = machine.step(Event { at: Time(0), kind: EventKind::Start { messages } });
    let asked = commands.iter().any(|command| matches!(command, Command::Generate { .. }));
    let told = commands.into_iter().filter_map(|command| match command {
        Command::Emit { notice } => Some(notice),
        _ => None,
    });
    (told.collect(), asked)
}

#[test]
fn d31_d37_x05_the_intent_is_told_and_words_stop_nothing() {
    let (told, asked) = notices(vec![Message::user("Delete it.")], 0);
    assert!(asked, "words never stop a turn");
    let found = told.iter().find_map(|notice| match notice {
        Notice::IntentAssessed { decision, signals, evidence, question, .. } => {
            Some((decision, signals, evidence, question))
        }
        _ => None,
    });
    let (decision, signals, evidence, question) = found.unwrap();
    assert_eq!(decision, "ask_first");
    assert!(signals.iter().any(|signal| signal == "is_ambiguous"));
    assert!(evidence.contains(&("destructive".to_owned(), "Delete".to_owned())), "{evidence:?}");
    assert!(question.is_some());
}

#[test]
fn x06_a_turn_has_nobody_to_hand_work_to() {
    let (told, _) = notices(vec![Message::user("Explore the repository and tell me how the scheduler works")], 0);
    let planned = told
        .iter()
        .any(|notice| matches!(notice, Notice::IntentAssessed { decision, plan: true, .. } if decision == "direct"));
    assert!(planned, "{told:?}");
}

#[test]
fn d39_x24_a_change_of_goal_is_told_once() {
    let goal = "Refactor the authentication module of our web app to use signed tokens";
    let drifts = |messages: &[&str]| {
        let mut history = vec![Message::user(goal), Message::text(Role::Assistant, "Which algorithm?")];
        for message in messages {
            history.push(Message::user(*message));
            history.push(Message::text(Role::Assistant, "Done."));
        }
        history.pop();
        let (told, asked) = notices(history, 0);
        assert!(asked);
        told.into_iter().filter(|notice| matches!(notice, Notice::GoalDrifted { .. })).count()
    };
    assert_eq!(drifts(&["Use RS256 to sign the tokens"]), 0);
    assert_eq!(drifts(&["What should I cook for dinner with chicken and rice?"]), 1);
    assert_eq!(
        drifts(&["What should I cook for dinner with chicken and rice?", "and a dessert with strawberries?"]),
        0
    );
}

#[test]
fn the_words_of_a_child_are_not_assessed() {
    let (told, asked) = notices(vec![Message::user("Delete it.")], 7_000);
    assert!(asked && !told.iter().any(|notice| matches!(notice, Notice::IntentAssessed { .. })));
}
