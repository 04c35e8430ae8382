//! Requests to models: each is a child turn that shares the budget of the run, as many at once as it allows.
//!
//! A model that fails leaves the matter to the rules; one that was never reached ends the run.

use super::{ModelQuestion, ResearchMachine, Stage, StageWork, WorkAnswer, tools};
use crate::{Command, Id, MachineConfig, Outcome, turn::TurnConfig};
use loopwright_base::{error::Fault, message::Message, request::History, text::clip};

impl ResearchMachine {
    /// Asks a model, as soon as there is room.
    pub(super) fn ask(&mut self, ask: ModelQuestion, out: &mut Vec<Command>) {
        self.queue.push_back(ask);
        self.send(out);
    }

    /// Sends the requests that the budget and the number of calls at once allow.
    pub(super) fn send(&mut self, out: &mut Vec<Command>) {
        let budget = self.config.turn.budget.clone();
        // Where tokens or money are counted, one call at a time: none can use what another counts on.
        let most = if budget.tokens.is_some() || budget.cost.is_some() { 1 } else { self.config.limits.parallel };
        while self.asked.len() < most {
            let Some(ask) = self.queue.pop_front() else { return };
            let mut spent = self.spent.clone();
            spent.iterations = spent.iterations.saturating_add(self.asked.len() as u32);
            if let Some(limit) = spent.next_request_exceeds(&budget, self.elapsed(), (ask.prompt.len() / 4) as u64) {
                if self.limit.is_none() {
                    self.limit = Some(limit);
                    let name = limit.stop().name();
                    self.stopped(name, &format!("the budget of the run is used up ({})", name.replace('_', " ")));
                    self.warn(name, "the budget of the run is used up; the rest is done by rules".to_owned(), out);
                }
                self.ready.push_back((ask.work, WorkAnswer::Words(None)));
                continue;
            }
            let mut left = budget.remaining(&self.spent, self.elapsed());
            let calls = ask.work == StageWork::Tools;
            if calls {
                // The rest of the run is to have some, too.
                left.iterations = (left.iterations / 2).clamp(1, tools::ROUNDS + 1);
                left.tool_rounds = left.tool_rounds.min(tools::ROUNDS);
            } else {
                (left.iterations, left.tool_rounds) = (1, 0);
            }
            // That pages are data is said whoever wrote the instructions.
            let instructions = match self.config.own.prompts.get(ask.work.prompt()) {
                Some(own) => format!("{own}\n\n{}", super::prompts::DATA),
                None => ask.system.clone(),
            };
            let turn = TurnConfig {
                system: Some(match &self.config.turn.system {
                    Some(system) if !system.trim().is_empty() => format!("{system}\n\n{instructions}"),
                    _ => instructions,
                }),
                tools: if calls { self.config.turn.tools.clone() } else { Vec::new() },
                provider_tools: Vec::new(),
                tool_format: None,
                tool_choice: None,
                max_tokens: Some(ask.max_tokens.max(self.config.turn.max_tokens.unwrap_or(0))),
                temperature: (!self.without_temperature).then_some(ask.temperature),
                output: ask.output.clone().filter(|_| !self.without_schema),
                stream: false,
                stuck: None,
                momentum: None,
                check_in: None,
                budget: left,
                ..self.config.turn.clone()
            };
            let messages: History = [Message::user(ask.prompt.clone())].into_iter().collect();
            let id = self.issue(ask.work.clone());
            self.asked.insert(id, ask);
            out.push(Command::Spawn { id, config: Box::new(MachineConfig::Turn(turn)), messages });
        }
    }

    /// A model has answered.
    pub(super) fn child(&mut self, id: Id, mut child: Outcome, messages: &History, out: &mut Vec<Command>) {
        let Some(work) = self.pending.remove(&id) else { return self.drop_answer() };
        let ask = self.asked.remove(&id);
        let round = self.spent.iterations;
        if work == StageWork::Tools {
            self.tools_called(&child, messages, out);
            let offset = (self.elapsed() - child.duration).max(0.0);
            self.outcome.tool_calls.extend(child.tool_calls.drain(..).map(|mut call| {
                call.iteration += round;
                call.at += offset;
                call
            }));
        }
        self.spent.add_child(&child.spent);
        self.outcome.dropped += child.dropped;
        self.outcome.roles.add(*child.roles);
        self.outcome.iterations.extend(child.iterations.into_iter().map(|mut iteration| {
            iteration.iteration += round;
            iteration
        }));
        if self.stage == Stage::Ending {
            return;
        }
        let said = child.r#final.or(child.best_draft).filter(|text| !text.trim().is_empty());
        if said.is_some() {
            self.answered = true;
        } else if let Some(error) = child.error {
            let told = error.message.to_lowercase();
            // Some models take no temperature, some servers no schema: then without.
            let temperature = told.contains("temperature") && !self.without_temperature;
            let schema =
                ["response_format", "json_schema", "output_format", "text.format"].iter().any(|w| told.contains(w));
            let called = work == StageWork::Tools && child.spent.tool_rounds > 0;
            if let Some(ask) = ask.filter(|_| !called).filter(|_| temperature || (schema && !self.without_schema)) {
                self.without_temperature |= temperature;
                self.without_schema |= schema;
                self.queue.push_front(ask);
                return self.send(out);
            }
            if !self.answered && error.guilt != Fault::Model {
                // The model has never been reached: that is no accident on the way.
                return self.fail(error, out);
            }
            self.problem(format!("the model failed: {}", clip(&error.to_string(), 200)), out);
        }
        self.ready.push_back((work, WorkAnswer::Words(said)));
        self.send(out);
    }
}
