//! Whether a run goes round in circles: from the hashes of its calls and their results.
//!
//! A call counts only together with its result: the same test run after each edit is work, the same call with the same
//! result is not. A record costs the same after a hundred and after a million, memory is bounded, and the same records
//! give the same verdicts on any machine.

mod failure;
mod lags;
mod learned;
mod noise;
mod past;
mod periods;
mod policy;
mod role;
mod sentences;
mod shown;
mod step;
mod text;
mod verdict;
mod volatile;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use learned::Learned;
use past::{Entry, Past};
use periods::Periods;
pub use policy::{Action, StuckPolicy, ToolRules};
use role::Known;
use shown::Shown;
pub use step::Step;
use step::{Says, call_hashes, join};
pub use text::{REPEATED_TEXT, TextLoop};
pub use verdict::{Member, Pattern, Verdict};
use volatile::gives_next;

use loopwright_base::message::{Block, ToolResult, ToolUse};

/// Tools that are known at once to need a service that is down.
const MOST_DOWN: usize = 16;
/// What tells a round of waiting from others.
const WAITING: u64 = 0x7761_6974;
/// In so many of the rounds that brought nothing it must have been learned.
const LEAST_LEARNED: u64 = 2;
/// Classes of errors that are counted at once.
const MOST_CLASSES: usize = 16;

/// A class of error, and how often it came since something new succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Errors {
    class: u64,
    tool: u64,
    count: u64,
    first: u64,
}

/// What was found last, as short as can be: words are made when somebody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Found {
    pattern: Pattern,
    period: usize,
    rounds: u64,
    first: u64,
    mark: u64,
}

/// One round as the detector sees it.
struct Round<'a> {
    print: u64,
    /// Whether it brought nothing that was not learned to say nothing, or known.
    worn: Worn,
    exact: u64,
    call: u64,
    slot: u16,
    arguments: &'a str,
    calls: usize,
}

/// Finds repetition in what a run does and says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StuckDetector {
    policy: StuckPolicy,
    periods: Periods,
    past: Past,
    errors: Vec<Errors>,
    state: Option<u64>,
    unchanged: u64,
    stale: u64,
    spoken: u64,
    said: String,
    text: TextLoop,
    found: Option<Found>,
    #[serde(default, skip_serializing_if = "Shown::is_empty")]
    shown: Shown,
    #[serde(default)]
    learned: Learned,
    /// Tools whose services were down when they were called last.
    #[serde(default)]
    down: Vec<u64>,
    /// Rounds in a row that brought nothing, and those among them of which it was learned.
    #[serde(default)]
    worn: (u64, u64),
}

/// What a round brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Worn {
    /// What is known to the letter, but for noise.
    Known,
    /// What was learned to say nothing.
    Learned,
    /// News.
    Not,
}

impl Default for StuckDetector {
    fn default() -> Self {
        Self::new(StuckPolicy::default())
    }
}

impl StuckDetector {
    /// A detector that has seen nothing.
    pub fn new(policy: StuckPolicy) -> Self {
        let text = TextLoop::new(policy.text);
        Self {
            policy,
            periods: Periods::default(),
            past: Past::default(),
            errors: Vec::new(),
            state: None,
            unchanged: 0,
            stale: 0,
            spoken: 0,
            said: String::new(),
            text,
            found: None,
            shown: Shown::default(),
            learned: Learned::default(),
            down: Vec::new(),
            worn: (0, 0),
        }
    }

    /// The thresholds.
    pub const fn policy(&self) -> &StuckPolicy {
        &self.policy
    }

    /// Takes a text that the model is shown and did not write: what a call says of it is what the call is about.
    /// Results are taken with their steps.
    pub fn show(&mut self, text: &str) {
        self.shown.take(text.as_bytes());
    }

    /// Takes the blocks of a message or result that the model did not write.
    pub fn show_blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Text(text) => self.show(&text.text),
                Block::ToolResult(result) => self.show_blocks(&result.content),
                _ => {}
            }
        }
    }

    fn known(&self, tool: &str) -> Known<'_> {
        let rules = self.policy.tools.get(tool).unwrap_or(ToolRules::usual());
        let rounds = Some(self.periods.count());
        Known { shown: Some(&self.shown), rounds, acts: rules.acts, volatile: &rules.volatile }
    }

    /// The step of a call and its result, which the model is shown.
    pub fn step(&mut self, call: &ToolUse, result: &ToolResult) -> Step {
        let mut step = Step::known(call, result, self.known(&call.name));
        self.hear_of_services(&mut step);
        if let [Block::Text(text)] = result.content.as_slice() {
            self.learn(&mut step, &call.name, &text.text);
        }
        self.show_blocks(&result.content);
        step
    }

    /// The step of a call, as its tool and arguments, and of a result that are plain text. `kind` is the kind of
    /// failure, where there is one.
    pub fn step_of_text(&mut self, call: (&str, &str), result: &str, failed: bool, kind: Option<&str>) -> Step {
        let mut step = Step::of_text(call, result, failed, kind, self.known(call.0));
        self.hear_of_services(&mut step);
        self.learn(&mut step, call.0, result);
        self.show(result);
        step
    }

    /// Hears which services are down: a tool that is left alone for that says no more than they do.
    fn hear_of_services(&mut self, step: &mut Step) {
        let at = self.down.iter().position(|tool| *tool == step.tool);
        match (step.says, at) {
            (Says::ServiceIsDown, None) if self.down.len() < MOST_DOWN => self.down.push(step.tool),
            (Says::LeftAlone, Some(_)) => step.says = Says::ServiceIsDown,
            (Says::Much, Some(at)) => {
                self.down.remove(at);
            }
            _ => {}
        }
    }

    /// Looks whether the same question was answered alike before.
    fn learn(&mut self, step: &mut Step, tool: &str, result: &str) {
        if step.failed || gives_next(tool) {
            return;
        }
        let acts = self.policy.tools.get(tool).is_some_and(|rules| rules.acts);
        // What a command prints may count on, whatever it does.
        step.worn = self.learned.take(step.call, result.as_bytes(), !acts || step.command);
    }

    /// Takes a call and its result. `state` is anything that changes when the run gets on, as a hash.
    pub fn record(&mut self, call: &ToolUse, result: &ToolResult, state: Option<u64>) {
        let step = self.step(call, result);
        self.record_step(&call.name, call.arguments_text(), &step, state);
    }

    /// Takes a call of which the hashes are known.
    pub fn record_step(&mut self, tool: &str, arguments: &str, step: &Step, state: Option<u64>) {
        let slot = self.past.slot(step.tool, tool, &self.policy);
        if step.says == Says::Nothing || self.past.rules(slot).ignore {
            return;
        }
        if step.says == Says::ServiceIsDown {
            return self.wait(slot, arguments);
        }
        let first = self.begin(state);
        let class = step.failed.then(|| self.class_of(step));
        if let Some(class) = class {
            self.count_error(class, step.tool, first);
        } else if !self.errors.is_empty() && !step.worn && !self.past.knows(step.print()) {
            self.errors.clear();
        }
        let worn = self.worn_by(step, slot);
        self.past.remember(step.print());
        let print = join(step.print(), state.unwrap_or(0));
        let round = Round { print, worn, exact: step.exact, call: step.call, slot, arguments, calls: 1 };
        self.end(&round, class, false);
    }

    /// Takes the calls of one round: what a model asked for at once, before it saw any result. Their order says
    /// nothing, and those that ended alike count once. A round that repeats only what is known changes nothing.
    pub fn record_round<'a>(&mut self, pairs: impl Iterator<Item = (&'a ToolUse, &'a ToolResult)>, state: Option<u64>) {
        let steps = pairs.map(|(call, result)| (self.step(call, result), call.name.as_str(), call.arguments_text()));
        let steps = distinct_steps(steps);
        self.record_steps(&steps, state);
    }

    /// Takes the calls of one round, as [`distinct_steps`] gives them: step, tool, arguments.
    pub fn record_steps(&mut self, round: &[(Step, &str, &str)], state: Option<u64>) {
        let mut steps: Vec<(Step, u16, &str)> = Vec::with_capacity(round.len());
        let mut down = None;
        for (step, tool, arguments) in round {
            let slot = self.past.slot(step.tool, tool, &self.policy);
            if step.says == Says::ServiceIsDown {
                down = Some((slot, *arguments));
            } else if !self.past.rules(slot).ignore {
                steps.push((*step, slot, *arguments));
            }
        }
        if let Some((slot, arguments)) = down {
            self.wait(slot, arguments);
        }
        let Some((_, slot, arguments)) = steps.first().copied() else { return };
        let first = self.begin(state);
        let mut news = false;
        let mut worn = Worn::Known;
        let mut classes = Vec::new();
        for (step, slot, _) in &steps {
            let known = self.past.knows(step.print());
            news |= !known || self.past.rules(*slot).polling;
            if step.failed {
                let class = (self.class_of(step), step.tool);
                if !classes.contains(&class) && classes.len() < MOST_CLASSES {
                    classes.push(class);
                }
            } else if !known && !step.worn {
                self.errors.clear();
            }
            worn = worn.max(self.worn_by(step, *slot));
            self.past.remember(step.print());
        }
        for (class, tool) in &classes {
            self.count_error(*class, *tool, first);
        }
        self.stale = if news { 0 } else { self.stale + 1 };
        let sum = |pick: fn(&Step) -> u64| steps.iter().fold(0_u64, |sum, (step, ..)| sum.wrapping_add(pick(step)));
        let polls = steps.iter().find(|(_, slot, _)| self.past.rules(*slot).polling).map_or(slot, |(_, slot, _)| *slot);
        let round = Round {
            print: join(sum(Step::print), state.unwrap_or(0)),
            worn,
            exact: sum(|step| step.exact),
            call: sum(|step| step.call),
            slot: polls,
            arguments,
            calls: steps.len(),
        };
        let classes = classes.into_iter().map(|(class, _)| class);
        let worst = classes.max_by_key(|class| self.errors_of(*class).map_or(0, |errors| errors.count));
        self.end(&round, worst, state.is_none());
    }

    /// A round begins; gives its number.
    fn begin(&mut self, state: Option<u64>) -> u64 {
        self.spoken = 0;
        if let Some(state) = state {
            if self.state == Some(state) {
                self.unchanged += 1;
            } else {
                self.state = Some(state);
                self.unchanged = 1;
                self.errors.clear();
            }
        }
        self.periods.count() + 1
    }

    fn end(&mut self, round: &Round<'_>, class: Option<u64>, derived: bool) {
        self.past.push(
            self.periods.count(),
            Entry::new(round.print, round.exact, round.call, round.slot, round.calls),
            round.arguments,
        );
        self.periods.push(round.print);
        self.worn = match round.worn {
            Worn::Not => (0, 0),
            Worn::Known => (self.worn.0 + 1, self.worn.1),
            Worn::Learned => (self.worn.0 + 1, self.worn.1 + 1),
        };
        self.found = self.judge(round, class, derived);
    }

    /// What a step brings.
    fn worn_by(&self, step: &Step, slot: u16) -> Worn {
        let rules = self.past.rules(slot);
        if self.past.knows(step.print()) {
            if rules.polling { Worn::Not } else { Worn::Known }
        } else if step.worn && !rules.polling && rules.repeats.is_none() {
            Worn::Learned
        } else {
            Worn::Not
        }
    }

    /// A service was down: what is done meanwhile, and done again, is waiting.
    fn wait(&mut self, slot: u16, arguments: &str) {
        let print = join(WAITING, self.periods.count());
        self.past.push(self.periods.count(), Entry::new(print, print, print, slot, 1), arguments);
        self.periods.push(print);
        (self.found, self.worn, self.stale) = (None, (0, 0), 0);
    }

    /// The class of an error; that of the tool's last error where the tool was left alone for it.
    fn class_of(&self, step: &Step) -> u64 {
        let last = || self.errors.iter().rev().find(|errors| errors.tool == step.tool);
        let before = if step.says == Says::LeftAlone { last() } else { None };
        before.map_or_else(|| step.class(), |errors| errors.class)
    }

    fn count_error(&mut self, class: u64, tool: u64, now: u64) {
        if let Some(errors) = self.errors.iter_mut().find(|errors| errors.class == class) {
            errors.count += 1;
            return;
        }
        if self.errors.len() >= MOST_CLASSES {
            self.errors.remove(0);
        }
        self.errors.push(Errors { class, tool, count: 1, first: now });
    }

    fn errors_of(&self, class: u64) -> Option<&Errors> {
        self.errors.iter().find(|errors| errors.class == class)
    }

    fn judge(&self, round: &Round<'_>, class: Option<u64>, derived: bool) -> Option<Found> {
        let rules = self.past.rules(round.slot);
        if let Some(errors) = class.and_then(|class| self.errors_of(class)) {
            let needed = if self.policy.errors == 0 { 0 } else { rules.repeats.unwrap_or(self.policy.errors) };
            if needed > 0 && errors.count >= u64::from(needed) {
                let Errors { class, count, first, .. } = *errors;
                let pattern = Pattern::RepeatedError;
                return Some(Found { pattern, period: 1, rounds: count, first, mark: class });
            }
        }
        if self.periods.any()
            && let Some(found) = self.cycle()
        {
            return Some(found);
        }
        if let Some(found) = self.worn_out() {
            return Some(found);
        }
        let (count, needed) = (if derived { self.stale } else { self.unchanged }, u64::from(self.policy.no_change));
        let holds = needed > 0 && count >= needed && (derived || self.state.is_some()) && !rules.polling;
        holds.then(|| {
            let first = (self.periods.count() + 1).saturating_sub(count);
            Found { pattern: Pattern::NoChange, period: 1, rounds: count, first, mark: 0 }
        })
    }

    /// Rounds in a row that brought nothing but what was learned to say nothing.
    fn worn_out(&self) -> Option<Found> {
        let (rounds, learned) = self.worn;
        let needed = u64::from(self.policy.no_change);
        if needed == 0 || rounds < needed || learned < LEAST_LEARNED {
            return None;
        }
        let count = self.periods.count();
        // The first answer of an only question brought something.
        let same = self.past.calls_alike(count, rounds as usize + 1);
        let (pattern, rounds) = if same { (Pattern::NearDuplicate, rounds + 1) } else { (Pattern::NoChange, rounds) };
        let mark = if same { self.past.call(count, 1).unwrap_or_default() } else { 0 };
        Some(Found { pattern, period: 1, rounds, first: (count + 1).saturating_sub(rounds), mark })
    }

    /// The shortest period that has gone through enough rounds.
    fn cycle(&self) -> Option<Found> {
        // A cycle that goes on has the same members, wherever in it the run stands.
        if let Some(last) = self.found
            && matches!(last.pattern, Pattern::RepeatedCall | Pattern::NearDuplicate | Pattern::Cycle)
            && let Some((period, rounds)) = self.periods.rounds().next()
            && period == last.period
            && rounds >= last.rounds
        {
            let same = last.pattern != Pattern::RepeatedCall || self.past.ends_alike(self.periods.count());
            let pattern = if same { last.pattern } else { Pattern::NearDuplicate };
            return Some(Found { pattern, rounds, ..last });
        }
        // A multiple of a period that was excused has the same members, and fewer rounds.
        let mut excused = 0;
        for (period, rounds) in self.periods.rounds() {
            if rounds < 2 || (excused > 0 && period % excused == 0) {
                continue;
            }
            let usual = if period == 1 { self.policy.repeats } else { self.policy.rounds };
            let needed = if usual == 0 { None } else { self.past.needed(self.periods.count(), period, usual) };
            if needed.is_some_and(|needed| rounds >= u64::from(needed)) {
                let (same, mark) = self.past.compare(self.periods.count(), period, rounds);
                let pattern = match (period, same) {
                    (1, true) => Pattern::RepeatedCall,
                    (1, false) => Pattern::NearDuplicate,
                    _ => Pattern::Cycle,
                };
                let first = self.periods.first(period);
                return Some(Found { pattern, period, rounds, first, mark });
            }
            if needed.is_none() && excused == 0 {
                excused = period;
            }
        }
        None
    }

    /// Takes a reply that holds no call.
    pub fn record_text(&mut self, text: &str) {
        self.text.end();
        if text.trim().is_empty() {
            return;
        }
        self.spoken += 1;
        self.worn = (0, 0);
        past::excerpt(text.trim()).clone_into(&mut self.said);
        self.stale = 0;
        let needed = u64::from(self.policy.monologue);
        // Fewer words change nothing about what the calls have come to.
        if needed > 0 && self.spoken >= needed {
            self.found = Some(Found {
                pattern: Pattern::Monologue,
                period: 1,
                rounds: self.spoken,
                first: self.periods.count(),
                mark: xxh3_64(self.said.as_bytes()),
            });
        }
    }

    /// Takes a piece of a reply as it streams; says whether the reply repeats itself. Where the pieces are cut makes no
    /// difference.
    pub fn feed(&mut self, delta: &str) -> bool {
        self.text.feed(delta)
    }

    /// The reply that streamed has ended.
    pub fn end_reply(&mut self) {
        self.text.end();
    }

    /// The person said something: what was said and tried before is no repetition of what comes now.
    pub fn reset(&mut self) {
        let shown = std::mem::take(&mut self.shown);
        *self = Self { shown, ..Self::new(std::mem::take(&mut self.policy)) };
    }

    /// Whether there is a verdict.
    pub const fn is_stuck(&self) -> bool {
        self.found.is_some() || self.text.is_looping()
    }

    /// What was found with the last record, if anything.
    pub fn verdict(&self) -> Option<Verdict> {
        if let Some(verdict) = self.text.verdict(self.periods.count()) {
            return Some(verdict);
        }
        let Found { pattern, period, rounds, first, .. } = self.found?;
        let members = match pattern {
            Pattern::Monologue => vec![Member { tool: String::new(), arguments: self.said.clone() }],
            _ => self.past.members(self.periods.count(), period),
        };
        Some(Verdict::new(pattern, members, rounds, first, self.periods.count()))
    }

    /// The pattern that was found, if any.
    pub fn pattern(&self) -> Option<Pattern> {
        self.found.map(|found| found.pattern)
    }

    /// What tells the pattern that was found from others, wherever in a cycle it was found.
    pub fn mark(&self) -> Option<u64> {
        self.found.map(|found| join(found.mark, found.pattern as u64))
    }

    /// Whether these calls, asked for in one round, go on with the pattern that was found.
    pub fn goes_on_with<'a>(&self, calls: impl Iterator<Item = &'a ToolUse>) -> bool {
        let Some(found) = self.found else { return false };
        let mut seen = std::collections::HashSet::new();
        let hashes = calls
            .map(|call| call_hashes(&call.name, call.arguments_text(), self.known(&call.name)).data)
            .filter(|hash| seen.insert(*hash));
        let sum = hashes.fold(0_u64, u64::wrapping_add);
        let period = if matches!(found.pattern, Pattern::Cycle) { found.period } else { 1 };
        self.past.call(self.periods.count(), period) == Some(sum)
    }
}

/// The calls of a round that ran, those with the same call and result once.
pub fn distinct_steps<'a>(steps: impl IntoIterator<Item = (Step, &'a str, &'a str)>) -> Vec<(Step, &'a str, &'a str)> {
    let mut seen = std::collections::HashSet::new();
    steps.into_iter().filter(|(step, ..)| step.says != Says::Nothing && seen.insert(step.print())).collect()
}

/// Whether each kind of ending in a round was a success: calls that failed alike count once, because the model had no
/// chance to do better before it saw the first, and a service that is down says nothing of it.
pub fn outcomes(round: &[(Step, &str, &str)]) -> impl Iterator<Item = bool> {
    let mut classes = std::collections::HashSet::new();
    let tells = |step: &Step| step.says != Says::ServiceIsDown;
    let told = round.iter().map(|(step, ..)| step).filter(move |step| tells(step));
    told.filter(move |step| !step.marked || classes.insert(step.class())).map(|step| !step.marked)
}

#[cfg(test)]
mod tests;
