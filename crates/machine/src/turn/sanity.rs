//! Whether the run is still sane is looked at every so many rounds and where something gives reason to. The rules look
//! first and at once; a model's opinion comes in the background and can only make their verdict stricter. What was
//! found goes to the model with the next results, behind all that stands already, and can pause or end the run between
//! rounds.

use serde::{Deserialize, Serialize};

use super::{Check, Phase, Trigger, TurnMachine, emit, roles::Job};
use crate::{
    Command, Notice, Purpose, Stop, Time,
    role::{ConcernKind, SanityResult, check_sanity, fenced, note_of, transcript},
};
use loopwright_base::message::{Block, Message, Role};
use loopwright_monitor::momentum::Pace;

/// An opinion about a round that is longer ago than this says nothing about where the run is now.
const FRESH: u32 = 3;

/// When was looked, and what is to be said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Watch {
    /// The round of the last check.
    checked: u32,
    /// The round of the last opinion that counted.
    heard: u32,
    /// When the user last said something.
    heard_user: Time,
    /// Momentum was slow when it was last looked at; the context was full.
    slow: bool,
    full: bool,
    /// What gave reason to look while an opinion was awaited.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waiting: Vec<Trigger>,
    /// What the model shall be told with the next results.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Loops and stuck states of which the model was told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    told: Vec<ConcernKind>,
    /// How the run ends at the next chance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop: Option<Stop>,
}

/// What becomes of a round.
pub(super) enum Checked {
    /// The next request goes out; with a note, where there is one.
    Go(Option<String>),
    /// An opinion is waited for.
    Wait,
    /// The run ends.
    Stop(Stop),
}

impl TurnMachine {
    /// The run begins: a `/sanity` in the prompt is looked after at once.
    pub(super) fn sanity_start(&mut self, out: &mut Vec<Command>) -> Checked {
        let Some(config) = &self.config.roles.sanity else { return Checked::Go(None) };
        self.desk.sanity.heard_user = self.core.now;
        let asked = self.history.last().filter(|last| last.role == Role::User).map(Message::prose).unwrap_or_default();
        let asked = asked.lines().any(|line| line.trim() == "/sanity" || line.trim_start().starts_with("/sanity "));
        let (explicit, waits) = (config.triggers.contains(&Trigger::Explicit), config.wait);
        if !asked || !explicit {
            return Checked::Go(None);
        }
        self.look(vec![Trigger::Explicit], None, out);
        // Who asks wants to hear of it: what was found before is no reason to end what has not begun.
        self.desk.sanity.stop = None;
        if waits && self.desk.asks(Purpose::Sanity) {
            return Checked::Wait;
        }
        Checked::Go(self.desk.sanity.note.take())
    }

    /// The user has decided something.
    pub(super) const fn user_spoke(&mut self) {
        self.desk.sanity.heard_user = self.core.now;
    }

    /// A round is over; `results` is the message that will carry its results.
    pub(super) fn sanity_round(&mut self, results: &Message, out: &mut Vec<Command>) -> Checked {
        let due = self.due(results);
        if !due.is_empty() {
            self.look(due, Some(results), out);
        }
        if let Some(stop) = self.desk.sanity.stop {
            return Checked::Stop(stop);
        }
        let waits = self.config.roles.sanity.as_ref().is_some_and(|sanity| sanity.wait);
        if waits && self.desk.asks(Purpose::Sanity) {
            return Checked::Wait;
        }
        Checked::Go(self.desk.sanity.note.take())
    }

    /// What gives reason to look.
    fn due(&mut self, results: &Message) -> Vec<Trigger> {
        if self.config.roles.sanity.is_none() {
            return Vec::new();
        }
        let (pace, share) = (self.senses.pace(&self.config), self.context_share(results));
        let Some(config) = &self.config.roles.sanity else { return Vec::new() };
        let round = self.core.spent.iterations;
        let watch = &self.desk.sanity;
        let since = round.saturating_sub(watch.checked);
        let mut due = Vec::new();
        if config.interval > 0 && since >= config.interval {
            due.push(Trigger::IterationCount(config.interval));
        }
        let (mut idle, mut full) = (false, watch.full);
        for trigger in &config.triggers {
            let holds = match *trigger {
                Trigger::IterationCount(count) => since >= count && config.interval != count,
                Trigger::ToolFailure => results.tool_results().any(|result| result.is_error),
                Trigger::LargeOutput(most) => results.tool_results().any(|result| longer_than(&result.content, most)),
                Trigger::UserIdle(seconds) => {
                    idle = self.core.now.since(watch.heard_user) >= seconds;
                    idle
                }
                Trigger::ContextThreshold(most) => {
                    full = share >= most;
                    full && !watch.full
                }
                Trigger::MomentumDrop => pace != Pace::Good && !watch.slow,
                // Said by the user, at the beginning.
                Trigger::Explicit => false,
            };
            if holds {
                due.push(*trigger);
            }
        }
        let watch = &mut self.desk.sanity;
        watch.slow = pace != Pace::Good;
        watch.full = full;
        if idle {
            // Looked at; the next time is as long again.
            watch.heard_user = self.core.now;
        }
        due
    }

    /// Looks: by rules at once, and where there is a model, by its opinion.
    fn look(&mut self, triggers: Vec<Trigger>, results: Option<&Message>, out: &mut Vec<Command>) {
        let round = self.core.spent.iterations;
        self.desk.sanity.checked = round;
        let rules = check_sanity(
            self.history.iter().chain(results),
            Some(self.senses.stuck.policy()),
            self.config.momentum.as_ref(),
        );
        self.found(round, &triggers, "rules".to_owned(), &rules, None, out);
        if self.config.roles.of(Purpose::Sanity).is_none_or(|role| role.chain.is_empty()) {
            return;
        }
        if self.desk.asks(Purpose::Sanity) {
            for trigger in triggers {
                if !self.desk.sanity.waiting.contains(&trigger) {
                    self.desk.sanity.waiting.push(trigger);
                }
            }
            return;
        }
        let prompt = self.sanity_prompt(&rules, results);
        // Where no model may be asked, the rules have spoken already.
        let _ = self.ask_role(Job::Check { round, triggers, rules: Box::new(rules) }, prompt, out);
    }

    fn sanity_prompt(&self, rules: &SanityResult, results: Option<&Message>) -> String {
        let seen: Vec<String> =
            rules.concerns.iter().map(|concern| format!("{}: {}", concern.kind.name(), concern.text)).collect();
        let seen = if seen.is_empty() { "nothing".to_owned() } else { seen.join("; ") };
        format!(
            "Round {} of at most {}. Rules have found: {}.\nWhat was said and done:\n{}",
            self.core.spent.iterations,
            self.config.budget.iterations,
            fenced(&seen),
            fenced(&transcript(self.history.iter().chain(results)))
        )
    }

    /// A verdict is there.
    fn found(
        &mut self,
        round: u32,
        triggers: &[Trigger],
        by: String,
        result: &SanityResult,
        opinion: Option<&SanityResult>,
        out: &mut Vec<Command>,
    ) {
        let triggers: Vec<String> = triggers.iter().map(|trigger| trigger.name().to_owned()).collect();
        let report = &mut self.outcome.roles;
        report.sanity.push(Check { round, triggers: triggers.clone(), by: by.clone(), result: result.clone() });
        report.trim();
        emit(out, Notice::SanityChecked { round, triggers, by, result: result.clone() });
        let Some(config) = &self.config.roles.sanity else { return };
        let watch = &mut self.desk.sanity;
        // A model is told once of what it does before rules stop it for that; another's opinion has heard them already.
        let circles = |kind| matches!(kind, ConcernKind::Loop | ConcernKind::Stuck);
        let news = result.concerns.iter().any(|concern| circles(concern.kind) && !watch.told.contains(&concern.kind));
        let only_circles = result.concerns.iter().all(|concern| circles(concern.kind));
        let first_time = opinion.is_none() && news && only_circles;
        let says = opinion.unwrap_or(result);
        if says.should_abort && config.may_abort {
            watch.stop = Some(Stop::SanityAbort);
        } else if says.should_pause && config.may_pause && !first_time {
            watch.stop.get_or_insert(Stop::SanityPause);
        }
        for concern in &result.concerns {
            if circles(concern.kind) && !watch.told.contains(&concern.kind) {
                watch.told.push(concern.kind);
            }
        }
        if let Some(note) = note_of(result) {
            watch.note = Some(note);
        }
    }

    /// A model's opinion about a round is there.
    pub(super) fn opinion(
        &mut self,
        round: u32,
        triggers: &[Trigger],
        rules: SanityResult,
        opinion: &SanityResult,
        model: String,
        out: &mut Vec<Command>,
    ) {
        let interval = self.config.roles.sanity.as_ref().map_or(0, |sanity| sanity.interval);
        let late = self.core.spent.iterations.saturating_sub(round) > interval.max(FRESH);
        if !late && round >= self.desk.sanity.heard {
            self.desk.sanity.heard = round;
            let both = rules.stricter(opinion.clone());
            self.found(round, triggers, model, &both, Some(opinion), out);
        }
        self.rules_stand(out);
    }

    /// No opinion is awaited any more: what waited for it goes on.
    pub(super) fn rules_stand(&mut self, out: &mut Vec<Command>) {
        if !matches!(*self.phase, Phase::Checking(_)) {
            return self.look_again(out);
        }
        let Phase::Checking(mut blocks) = self.phase.take() else { return };
        self.desk.sanity.waiting.clear();
        let stop = self.desk.sanity.stop;
        if stop.is_none() {
            blocks.extend(self.desk.sanity.note.take().map(Block::text));
        }
        if !blocks.is_empty() {
            self.history.push(Message::new(Role::User, blocks));
        }
        match stop {
            Some(stop) => self.finish(stop, out),
            None => self.go_on(out),
        }
    }

    /// What gave reason to look while an opinion was awaited.
    fn look_again(&mut self, out: &mut Vec<Command>) {
        let triggers = std::mem::take(&mut self.desk.sanity.waiting);
        if !triggers.is_empty() {
            let round = self.core.spent.iterations;
            let rules =
                check_sanity(self.history.iter(), Some(self.senses.stuck.policy()), self.config.momentum.as_ref());
            let prompt = self.sanity_prompt(&rules, None);
            let _ = self.ask_role(Job::Check { round, triggers, rules: Box::new(rules) }, prompt, out);
        }
    }
}

/// Whether the texts of a result have more than so many characters.
fn longer_than(blocks: &[Block], most: usize) -> bool {
    let mut left = most;
    for block in blocks {
        let Block::Text(text) = block else { continue };
        // As many characters as bytes at most.
        let length = if text.text.len() > left { text.text.chars().count() } else { text.text.len() };
        if length > left {
            return true;
        }
        left -= length;
    }
    false
}
