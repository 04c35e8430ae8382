//! Plan and critique: the summary for a planner, and the outcome of its answer.
//!
//! An answer gives actions, or says that the research is finished, or can't be read; these are three different things.
//! An empty plan ends the research only where it stands in a whole answer of the right form.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::state::{Action, PlannedBy, ResearchPlan, ResearchState};
use loopwright_base::{json::Raw, request::OutputSchema, text::clip};
use loopwright_extract::extract_json;
use loopwright_retrieve::analysis::Trend;

/// Characters of a query, a topic, a critique, a thought; longer ones are cut.
const QUERY: usize = 300;
const TOPIC: usize = 120;
const WORDS: usize = 2_000;
/// Actions at most, and subtopics; more are left out.
const ACTIONS: usize = 12;
const SUBTOPICS: usize = 6;
/// Queries and critiques of the history that the summary shows.
const SHOWN_QUERIES: usize = 60;
const SHOWN_CRITIQUES: usize = 3;

/// The outcome of a planner's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanOutcome {
    /// The planner wants these actions.
    Actions(ResearchPlan),
    /// The planner says that nothing is left to do.
    Finished(ResearchPlan),
    /// The answer can't be read; the reason, in words for its author.
    Invalid(String),
}

/// The schema of plans.
pub(super) fn schema() -> Value {
    let text = serde_json::json!({"type": "string"});
    serde_json::json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["critique", "thought", "plan"],
        "properties": {
            "critique": text,
            "thought": text,
            "plan": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["action"],
                    "properties": {
                        "action": {"type": "string", "enum": ["SEARCH", "ADD_TO_OUTLINE"]},
                        "query": text,
                        "target_outline_topic": text,
                        "topic": text,
                        "subtopics": {"type": "array", "items": text},
                    },
                },
            },
        },
    })
}

/// A schema as a request carries it. Providers need not hold the model to it: the answer is checked here.
pub(super) fn output(name: &str, schema: &Value) -> OutputSchema {
    OutputSchema { name: name.to_owned(), schema: Raw::of(schema), strict: None, description: None }
}

/// Reads the answer of a planner.
pub fn read_plan(answer: &str) -> PlanOutcome {
    let found = match extract_json(answer, None) {
        Ok(found) => found,
        Err(none) => {
            let problem = none.problems.first().map_or("it holds no JSON", |one| one.what.as_str());
            return PlanOutcome::Invalid(format!("the answer is no plan: {}", clip(problem, 200)));
        }
    };
    if !found.complete {
        return PlanOutcome::Invalid("the JSON breaks off before its end; write a shorter plan".to_owned());
    }
    let Ok(Value::Object(object)) = serde_json::from_str::<Value>(&found.json) else {
        return PlanOutcome::Invalid("the answer is JSON, but no object".to_owned());
    };
    let words = |key: &str| object.get(key).and_then(Value::as_str).map(|text| one_line(text, WORDS));
    let (Some(critique), Some(thought)) = (words("critique"), words("thought")) else {
        return PlanOutcome::Invalid("`critique` and `thought` must be there, as text".to_owned());
    };
    let Some(actions) = object.get("plan").and_then(Value::as_array) else {
        return PlanOutcome::Invalid("`plan` must be there, as a list of actions".to_owned());
    };
    let mut plan = Vec::new();
    for (at, action) in actions.iter().take(ACTIONS).enumerate() {
        match read_action(action) {
            Ok(action) => plan.push(action),
            Err(problem) => return PlanOutcome::Invalid(format!("action {}: {problem}", at + 1)),
        }
    }
    let plan = ResearchPlan { critique, thought, plan, refused: Vec::new(), by: PlannedBy::Model };
    if plan.plan.is_empty() { PlanOutcome::Finished(plan) } else { PlanOutcome::Actions(plan) }
}

fn read_action(action: &Value) -> Result<Action, String> {
    let name = action.get("action").and_then(Value::as_str).unwrap_or_default();
    // Parameters may stand in an object of their own.
    let field = |key: &str| action.get(key).or_else(|| action.get("parameters").and_then(|inner| inner.get(key)));
    let text = |key: &str, most: usize| {
        let text = field(key).and_then(Value::as_str).map(|text| one_line(text, most));
        text.filter(|text| text.chars().any(char::is_alphanumeric))
    };
    match name.trim().to_ascii_uppercase().as_str() {
        "SEARCH" => {
            let query = text("query", QUERY).ok_or("SEARCH needs a `query`")?;
            Ok(Action::Search { query, target_outline_topic: text("target_outline_topic", TOPIC).unwrap_or_default() })
        }
        "ADD_TO_OUTLINE" => {
            let topic = text("topic", TOPIC).ok_or("ADD_TO_OUTLINE needs a `topic`")?;
            Ok(Action::AddToOutline { topic, subtopics: texts(field("subtopics")) })
        }
        other => Err(format!("there is no action {:?}; use SEARCH or ADD_TO_OUTLINE", clip(other, 40))),
    }
}

/// The texts of a list, each on one line.
pub(super) fn texts(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let texts = list.iter().filter_map(Value::as_str).map(|text| one_line(text, TOPIC));
    texts.filter(|text| text.chars().any(char::is_alphanumeric)).take(SUBTOPICS).collect()
}

/// Text on one line, cut; marks that could pass for something else in a prompt are gone with the lines.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|c| !c.is_control()).take(most).collect()
}

/// The input of the summary beside the state.
pub(super) struct PlannerSummary<'a> {
    pub(super) state: &'a ResearchState,
    pub(super) trend: Trend,
    /// The last cycle brought next to nothing.
    pub(super) is_dry: bool,
    /// Labels of topics that nobody named.
    pub(super) latent: &'a [String],
    pub(super) cycles_left: u32,
}

/// The seven parts that a planner is told: query, outline, coverage, trend, latent topics, queries, critiques.
pub(super) fn summary(given: &PlannerSummary<'_>) -> String {
    let PlannerSummary { state, trend, is_dry, latent, cycles_left } = given;
    let mut text = format!("Original Query: {}\n\nReport Outline:\n", one_line(&state.query, WORDS));
    for topic in &state.outline {
        let _ = writeln!(text, "- {}", topic.line());
    }
    text.push_str("\nCurrent Topic Coverage (0 to 1, and in standard deviations above unrelated text):\n");
    if let Some(coverage) = &state.last_coverage_vector {
        for topic in &coverage.topics {
            let z = state.background.map(|background| background.z(topic.covered));
            let _ = match z {
                Some(z) => writeln!(text, "- {}: {:.2} ({z:.1})", topic.name, topic.covered),
                None => writeln!(text, "- {}: {:.2}", topic.name, topic.covered),
            };
        }
    }
    let gains: Vec<String> = state.information_gain_history.iter().map(|gain| format!("{gain:.3}")).collect();
    let _ = writeln!(text, "\nInformation Gain Trend: {} (gains: {})", trend.words(), gains.join(", "));
    if *trend == Trend::Stalling || *is_dry {
        text.push_str(if *trend == Trend::Stalling { "The research stalls" } else { "The last cycle was dry" });
        text.push_str(
            ": ask from another angle. Use creative, tangential or step-back queries, \
             not variations of those below.\n",
        );
    }
    text.push_str("\nDiscovered Latent Topics (not in the outline):\n");
    list(&mut text, latent.iter().map(String::as_str));
    text.push_str("\nExecuted Queries (near repetitions are refused):\n");
    let skipped = state.queries.len().saturating_sub(SHOWN_QUERIES);
    list(&mut text, state.queries.iter().skip(skipped).map(|one| one.query.as_str()));
    for refusal in &state.plan.refused {
        let _ = writeln!(text, "Refused: {:?}: {}", refusal.what, refusal.reason);
    }
    text.push_str("\nCritique of the Previous Cycles:\n");
    let skipped = state.critique_history.len().saturating_sub(SHOWN_CRITIQUES);
    list(&mut text, state.critique_history.iter().skip(skipped).map(String::as_str));
    let _ = write!(text, "\nCycles left: {cycles_left}");
    text
}

fn list<'a>(text: &mut String, items: impl Iterator<Item = &'a str>) {
    let before = text.len();
    for item in items {
        let _ = writeln!(text, "- {item}");
    }
    if text.len() == before {
        text.push_str("(none)\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_invalid(answer: &str) -> bool {
        matches!(read_plan(answer), PlanOutcome::Invalid(_))
    }

    #[test]
    fn x12_three_outcomes_are_three_things() {
        let actions =
            r#"{"critique":"c","thought":"t","plan":[{"action":"SEARCH","query":"q","target_outline_topic":"T"}]}"#;
        assert!(matches!(read_plan(actions), PlanOutcome::Actions(plan) if plan.plan.len() == 1));
        let done = r#"{"critique":"c","thought":"t","plan":[]}"#;
        assert!(matches!(read_plan(done), PlanOutcome::Finished(_)));
        for answer in [
            "",
            "I think we are done.",
            "[]",
            "{}",
            r#"{"plan":[]}"#,
            r#"{"critique":"c","thought":"t"}"#,
            r#"{"critique":"c","thought":"t","plan":"SEARCH"}"#,
            r#"{"critique":"c","thought":"t","plan":["#,
            r#"{"critique":"c","thought":"t","plan":[{"action":"SHELL","query":"rm -rf /"}]}"#,
            r#"{"critique":"c","thought":"t","plan":[{"action":"SEARCH"}]}"#,
            r#"{"critique":"c","thought":"t","plan":[7]}"#,
        ] {
            assert!(is_invalid(answer), "{answer}");
        }
    }

    #[test]
    fn b08_b13_json_is_found_in_fences_and_in_prose() {
        let plan = r#"{"critique":"c","thought":"t","plan":[{"action":"search","parameters":{"query":"a\nb"}}]}"#;
        for answer in [format!("```json\n{plan}\n```"), format!("Here it is: {plan} Good luck."), plan.to_owned()] {
            let PlanOutcome::Actions(plan) = read_plan(&answer) else { panic!("{answer}") };
            let query = Action::Search { query: "a b".into(), target_outline_topic: String::new() };
            assert_eq!(plan.plan, [query]);
        }
    }

    #[test]
    fn b09_b10_hostile_plans_are_bounded() {
        let search = format!(r#"{{"action":"SEARCH","query":"{}"}}"#, "x".repeat(5_000));
        let add = format!(r#"{{"action":"ADD_TO_OUTLINE","topic":"t","subtopics":[{}]}}"#, "\"s\",".repeat(99) + "1");
        let many = [search, add].join(",");
        let answer = format!(
            r#"{{"critique":"{}","thought":"t","plan":[{}]}}"#,
            "c ".repeat(9_000),
            [many.as_str(); 40].join(",")
        );
        let PlanOutcome::Actions(plan) = read_plan(&answer) else { panic!() };
        assert!(plan.plan.len() <= ACTIONS && plan.critique.len() <= WORDS);
        for action in plan.plan {
            match action {
                Action::Search { query, .. } => assert!(query.len() <= QUERY),
                Action::AddToOutline { subtopics, .. } => assert!(subtopics.len() <= SUBTOPICS),
            }
        }
    }
}
