//! The choice of the model: what was chosen before the first request, and the one escalation when too little succeeds.

use serde::{Deserialize, Serialize};

use super::{Phase, TurnMachine, emit, hooks::Then};
use crate::{ChoiceMode, Command, Id, ModelChoice, Notice};
use loopwright_base::{json::Fields, text::clip};
use loopwright_monitor::momentum::{Momentum, Pace};

/// Characters of a reason that are told.
const TOLD: usize = 500;

/// The choice of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Choice {
    /// The model, where it is another than that of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    /// A stronger model has taken over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    escalated: bool,
}

impl TurnMachine {
    /// The model that requests name.
    pub(super) fn model(&self) -> &str {
        self.choice.model.as_deref().unwrap_or(&self.config.model)
    }

    /// Where it stands in the chain of those that take over; one that was chosen by its name stands in no chain.
    pub(super) const fn place(&self) -> u32 {
        if self.choice.model.is_some() { 0 } else { self.desk.acting }
    }

    /// Whoever was asked has answered; false if nobody was.
    pub(super) fn was_chosen(
        &mut self,
        id: Id,
        choice: Option<ModelChoice>,
        error: Option<String>,
        out: &mut Vec<Command>,
    ) -> bool {
        if !matches!(&*self.phase, Phase::Held(held) if held.id == id && matches!(held.then, Then::Chosen)) {
            return false;
        }
        self.phase.take();
        if let Some(error) = error {
            let message = format!("the model could not be chosen: {}", clip(&error, TOLD));
            self.warn(out, "model_not_chosen", message);
        } else if let Some(choice) = choice {
            let named = !choice.model.trim().is_empty() && choice.model.len() <= 256;
            let mode = self.config.choice.mode(choice.confidence);
            let holds = mode == ChoiceMode::Enforce || (mode == ChoiceMode::Suggest && self.config.choice.suggestions);
            self.go_on_with(choice, mode, holds && named, out);
        }
        self.first_round(out);
        true
    }

    /// After a round in which too little succeeded: a stronger model goes on, once.
    pub(super) fn escalates(&mut self, out: &mut Vec<Command>) {
        if self.choice.escalated || self.config.momentum.is_none() || self.senses.pace(&self.config) != Pace::Pause {
            return;
        }
        let Some(model) = self.config.choice.escalate_to.clone().filter(|model| model != self.model()) else { return };
        let (successes, count) = self.senses.momentum.seen(&self.config.momentum.unwrap_or_default());
        let reason = format!("{successes} of the last {count} calls succeeded");
        self.choice.escalated = true;
        // What the other model did says nothing of this one.
        self.senses.momentum = Momentum::default();
        let price = self.config.choice.escalate_price;
        let settings = self.config.choice.escalate_settings.clone();
        let choice = ModelChoice { reason, price, settings, ..ModelChoice::named(model, 1.0) };
        self.go_on_with(choice, ChoiceMode::Escalate, true, out);
    }

    fn go_on_with(&mut self, choice: ModelChoice, mode: ChoiceMode, used: bool, out: &mut Vec<Command>) {
        let instead_of = self.model().to_owned();
        let ModelChoice { model, confidence, reason, price, settings } = choice;
        let notice = Notice::ModelChosen {
            round: self.round().saturating_add(1),
            model: clip(&model, 256),
            instead_of,
            // A journal holds finite numbers alone.
            confidence: if confidence.is_finite() { confidence } else { 0.0 },
            mode: mode.name().to_owned(),
            used,
            reason: clip(&reason, TOLD),
        };
        emit(out, notice);
        if !used || model == self.model() {
            return;
        }
        if self.config.budget.cost.is_some() && price.is_none() {
            let message = format!("the price of {model:?} is not known: the limit on the cost can't be kept");
            self.warn(out, "cost_unknown", message);
        }
        self.config.price = price;
        self.choice.model = Some(model);
        match settings {
            Some(settings) => self.ask_with(&settings),
            None => {
                // The members of a body were written for another host.
                if let Some(acting) = &mut self.config.roles.acting {
                    acting.extra_body = Fields::new();
                    self.prepared.template = None;
                }
            }
        }
        // Its window is another one.
        self.forget_window();
    }
}
