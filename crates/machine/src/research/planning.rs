//! Planning of a cycle: a model is asked, an answer that can't be read is asked for once more, then rules plan.
//!
//! What a plan wants is held against what was asked before: repetitions are refused with reasons that the next plan
//! sees.

use loopwright_base::text::clip;

use std::fmt::Write as _;

use super::{
    Action, ModelQuestion, PlanOutcome, PlannedBy, Refusal, ResearchMachine, ResearchPlan, Stage, StageWork, Topic,
    act, hashing, plan, prompts, rules,
};
use crate::Command;

/// Plans that are asked for in a cycle before rules plan.
const PLANS: u32 = 2;

impl ResearchMachine {
    /// Returns whether two queries or topics are the same but for details.
    pub(super) fn is_repetition(&self, one: &str, other: &str) -> bool {
        let least = self.config.limits.repeated;
        let vector = |text: &str| self.query_vectors.get(text).map(|vector| &vector.0);
        let embedded = || {
            let both = vector(one).zip(vector(other));
            let least = self.config.near.at(self.state.background.as_ref()).unwrap_or(least);
            both.is_some_and(|(one, other)| hashing::cosine(one, other) >= least)
        };
        hashing::cosine(&hashing::hash_vector(one), &hashing::hash_vector(other)) >= least || embedded()
    }

    /// The earlier query that this one repeats, among those that were sent and `others`.
    pub(super) fn repeated(&self, query: &str, others: &[String]) -> Option<String> {
        let sent = self.state.queries.iter().map(|one| one.query.as_str());
        sent.chain(others.iter().map(String::as_str)).find(|other| self.is_repetition(query, other)).map(str::to_owned)
    }

    pub(super) fn plan(&mut self, out: &mut Vec<Command>) {
        let cycle = self.state.cycles + 1;
        if self.plan_attempts == 0 {
            self.begin("plan", cycle, out);
            self.plan_problem = None;
        }
        self.plan_attempts += 1;
        self.planned = None;
        if self.config.own.planner && self.plan_attempts <= PLANS {
            return self.consult("planner", StageWork::OwnPlan, out);
        }
        if self.config.without_model || self.plan_attempts > PLANS {
            self.planned = Some(self.rule_plan());
            return;
        }
        let latent: Vec<String> = self.latent().into_iter().map(|(label, _)| label).collect();
        let left = self.cycles_left();
        let given = plan::PlannerSummary {
            state: &self.state,
            trend: self.trend(),
            is_dry: self.is_dry(),
            latent: &latent,
            cycles_left: left,
        };
        let mut prompt = plan::summary(&given);
        if let Some(problem) = &self.plan_problem {
            let _ = write!(prompt, "\n\nYour last answer was of no use: {problem}. Answer again.");
        }
        let ask = ModelQuestion {
            work: StageWork::Plan,
            system: prompts::PLANNER.to_owned(),
            prompt,
            temperature: 0.2,
            max_tokens: 1_024,
            output: Some(plan::output("plan", &plan::schema())),
        };
        self.ask(ask, out);
    }

    pub(super) fn rule_plan(&self) -> PlanOutcome {
        let latent = self.latent();
        let planning = rules::RulePlanInput {
            state: &self.state,
            trend: self.trend(),
            is_dry: self.is_dry(),
            latent: &latent,
            most_topics: self.config.limits.topics,
        };
        let plan = rules::plan(&planning, |query, others| self.repeated(query, others).is_some());
        if plan.plan.is_empty() { PlanOutcome::Finished(plan) } else { PlanOutcome::Actions(plan) }
    }

    /// Takes the outcome of a plan.
    pub(super) fn planned(&mut self, out: &mut Vec<Command>) {
        match self.planned.take() {
            None => {
                // No answer: a limit ends it, a failure leaves it to the rules.
                if self.limit.is_some() {
                    self.end(serde_json::json!({"outcome": "limit"}), out);
                    self.go("limit", Stage::Writing, out);
                    return self.write(out);
                }
                self.plan_attempts = PLANS;
                self.go("invalid", Stage::Planning, out);
                self.plan(out);
            }
            Some(PlanOutcome::Invalid(problem)) => {
                self.problem(format!("a plan could not be read: {}", clip(&problem, 200)), out);
                self.plan_problem = Some(problem);
                self.go("invalid", Stage::Planning, out);
                self.plan(out);
            }
            Some(PlanOutcome::Finished(plan)) => {
                self.remember(plan);
                self.end(serde_json::json!({"outcome": "finished", "critique": self.state.plan.critique}), out);
                self.stopped("planner_finished", "the plan was that nothing is left to look for");
                self.go("finished", Stage::Writing, out);
                self.write(out);
            }
            Some(PlanOutcome::Actions(plan)) => {
                let mut texts: Vec<String> = plan
                    .plan
                    .iter()
                    .map(|action| match action {
                        Action::Search { query, .. } => query.clone(),
                        Action::AddToOutline { topic, .. } => topic.clone(),
                    })
                    .chain(self.state.queries.iter().map(|one| one.query.clone()))
                    .chain(self.state.outline.iter().map(|one| one.topic.clone()))
                    .filter(|text| !self.query_vectors.contains_key(text))
                    .collect();
                texts.sort_unstable();
                texts.dedup();
                self.planned = Some(PlanOutcome::Actions(plan));
                self.go("plan", Stage::Vetting, out);
                // Hashed words are compared anyhow.
                if self.config.embedder.is_some() && !texts.is_empty() {
                    self.embed(texts.clone(), StageWork::EmbedPlan { texts }, out);
                }
            }
        }
    }

    pub(super) fn remember(&mut self, plan: ResearchPlan) {
        if !plan.critique.is_empty() {
            self.state.critique_history.push(plan.critique.clone());
        }
        let refused = std::mem::take(&mut self.state.plan.refused);
        self.state.plan = ResearchPlan { refused, ..plan };
    }

    /// Keeps the new actions of a plan; refuses the rest, with reasons that the next plan sees.
    pub(super) fn keep_new_actions(&mut self, out: &mut Vec<Command>) {
        let Some(PlanOutcome::Actions(plan)) = self.planned.take() else {
            self.planned = None;
            return;
        };
        let by_rules = plan.by == PlannedBy::Rules;
        let mut refused = Vec::new();
        let mut queries: Vec<String> = Vec::new();
        let mut accepted: Vec<Action> = Vec::new();
        let mut refuse = |what: &str, reason: String| refused.push(Refusal { what: clip(what, 200), reason });
        for action in &plan.plan {
            match action {
                Action::AddToOutline { topic, subtopics } => {
                    if let Some(known) = self.state.outline.iter().find(|known| self.is_repetition(&known.topic, topic))
                    {
                        refuse(topic, format!("the outline holds {:?} already", known.topic));
                    } else if self.state.outline.len() >= self.config.limits.topics {
                        refuse(topic, format!("the outline is full: {} topics", self.state.outline.len()));
                    } else {
                        self.state.outline.push(Topic { topic: topic.clone(), subtopics: subtopics.clone() });
                        accepted.push(action.clone());
                    }
                }
                Action::Search { query, target_outline_topic } => {
                    if let Some(known) = self.repeated(query, &queries) {
                        refuse(query, format!("too near to {:?}, which was asked before", clip(&known, 200)));
                    } else if queries.len() >= self.config.limits.searches {
                        refuse(query, format!("a plan has at most {} searches", self.config.limits.searches));
                    } else {
                        let topic = act::topic_of(&self.state.outline, target_outline_topic);
                        let target_outline_topic = topic.map(|topic| topic.topic.clone()).unwrap_or_default();
                        queries.push(query.clone());
                        accepted.push(Action::Search { query: query.clone(), target_outline_topic });
                    }
                }
            }
        }
        // A new topic that nothing is searched for would stay empty.
        for action in accepted.clone() {
            let Action::AddToOutline { topic, .. } = action else { continue };
            let searched = accepted.iter().any(
                |one| matches!(one, Action::Search { target_outline_topic, .. } if *target_outline_topic == topic),
            );
            if !searched && self.repeated(&topic, &queries).is_none() {
                queries.push(topic.clone());
                accepted.push(Action::Search { query: topic.clone(), target_outline_topic: topic });
            }
        }
        if self.plan_attempts > 1 {
            self.state.plan.refused.extend(refused);
        } else {
            // Those of the cycle before have been told.
            self.state.plan.refused = refused;
        }
        if accepted.is_empty() {
            if by_rules {
                self.remember(plan);
                self.end(serde_json::json!({"outcome": "nothing left", "refused": self.state.plan.refused}), out);
                self.stopped("nothing_left", "every further query would repeat an earlier one");
                self.go("nothing left", Stage::Writing, out);
                return self.write(out);
            }
            self.plan_problem =
                Some("every action of it was refused: see there why, and ask for something else".to_owned());
            self.go("all refused", Stage::Planning, out);
            return self.plan(out);
        }
        self.remember(ResearchPlan { plan: accepted.clone(), ..plan });
        let output = serde_json::json!({
            "outcome": "actions", "by": self.state.plan.by, "critique": self.state.plan.critique,
            "actions": accepted, "refused": self.state.plan.refused,
        });
        self.end(output, out);
        self.go("actions", Stage::Searching, out);
        self.act(&accepted, out);
    }
}
