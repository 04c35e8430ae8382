//! The budget of a run, and its usage.
//!
//! The first limit that is reached gives a typed stop reason; the text until then is kept. Attempts, phases and
//! children share one budget, so that three attempts of ten rounds can never become thirty.

use serde::{Deserialize, Serialize};

use super::Stop;
use loopwright_base::{
    error::{Error, Result},
    message::Usage,
};
use loopwright_models::price::Price;
use loopwright_monitor::{claim::ClaimSignals, intent::IntentSignals};

/// Tokens of output that must fit into the budget: OpenAI's Responses refuse a smaller limit.
const LEAST_ANSWER: u64 = 16;

/// The complexity of a task; it sets the number of iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Complexity {
    /// 3 iterations.
    Simple,
    /// 5 iterations.
    Moderate,
    /// 10 iterations.
    Complex,
    /// 15 iterations.
    Breaking,
}

impl Complexity {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Simple, Self::Moderate, Self::Complex, Self::Breaking];

    /// Model requests for a task like this.
    pub const fn iterations(self) -> u32 {
        match self {
            Self::Simple => 3,
            Self::Moderate => 5,
            Self::Complex => 10,
            Self::Breaking => 15,
        }
    }

    /// The complexity of a request, by the signals in its words. Several steps that can't be undone are the hardest; a
    /// question that nothing has to be looked up for is simple.
    pub const fn of(signals: &IntentSignals) -> Self {
        let s = signals;
        let work = s.is_code_task || s.is_exploratory || s.is_research || s.is_planning_task;
        if s.is_complex && (s.is_destructive || s.is_irreversible) {
            Self::Breaking
        } else if s.is_complex || s.has_independent_parts || (s.is_multi_step && work) {
            Self::Complex
        } else if s.is_multi_step || s.is_destructive || s.is_irreversible || (work && !s.is_question) || s.is_research
        {
            Self::Moderate
        } else {
            Self::Simple
        }
    }

    /// How many requests checking a claim deserves, by what was seen in its words: news most, then what is long or has
    /// many sides.
    pub const fn of_claim(claim: &ClaimSignals) -> Self {
        if claim.is_news {
            Self::Breaking
        } else if claim.words > 60 || claim.sentences > 3 || claim.sides > 2 {
            Self::Complex
        } else if claim.words > 12 || claim.sentences > 1 || claim.sides > 0 {
            Self::Moderate
        } else {
            Self::Simple
        }
    }

    /// The name in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Moderate => "moderate",
            Self::Complex => "complex",
            Self::Breaking => "breaking",
        }
    }

    /// The complexity of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|complexity| complexity.name() == name)
    }
}

/// The limits of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Rounds of tool calls.
    pub tool_rounds: u32,
    /// Requests to the model, repeated attempts not counted.
    pub iterations: u32,
    /// Attempts at a verified answer.
    pub verify_attempts: u32,
    /// Cycles of a research.
    pub research_cycles: u32,
    /// Questions to a person.
    pub approvals: u32,
    /// Calls of one answer that run; each call behind them is answered with the reason.
    pub calls_per_round: u32,
    /// Seconds from start to end.
    pub wall_time: f64,
    /// Tokens of all prompts and answers.
    pub tokens: Option<u64>,
    /// Money, in the currency of the prices (US dollars in the built-in table).
    pub cost: Option<f64>,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            tool_rounds: 8,
            iterations: Complexity::Complex.iterations(),
            verify_attempts: 3,
            research_cycles: 5,
            approvals: 20,
            calls_per_round: 128,
            wall_time: 300.0,
            tokens: None,
            cost: None,
        }
    }
}

impl Budget {
    /// Checks the counts that must not be zero.
    pub(super) fn check(&self) -> Result<()> {
        if self.calls_per_round == 0 {
            return Err(Error::usage("invalid_budget", "calls_per_round is 0").hint("allow at least one call"));
        }
        Ok(())
    }

    /// The budget left after `spent`, for a child that shares it.
    #[must_use]
    pub fn remaining(&self, spent: &BudgetUsage, elapsed: f64) -> Self {
        Self {
            tool_rounds: self.tool_rounds.saturating_sub(spent.tool_rounds),
            iterations: self.iterations.saturating_sub(spent.iterations),
            verify_attempts: self.verify_attempts,
            research_cycles: self.research_cycles,
            approvals: self.approvals.saturating_sub(spent.approvals),
            calls_per_round: self.calls_per_round,
            wall_time: (self.wall_time - elapsed).max(0.0),
            tokens: self.tokens.map(|tokens| tokens.saturating_sub(spent.usage.total())),
            cost: self.cost.map(|cost| (cost - spent.cost.unwrap_or(0.0)).max(0.0)),
        }
    }
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Requests to the model.
    Iterations,
    /// Rounds of tool calls.
    ToolRounds,
    /// Seconds.
    WallTime,
    /// Tokens.
    Tokens,
    /// Money.
    Cost,
    /// Questions to a person.
    Approvals,
}

impl Limit {
    /// The stop reason of the limit.
    pub const fn stop(self) -> Stop {
        match self {
            Self::Iterations => Stop::Rounds,
            Self::ToolRounds => Stop::ToolRounds,
            Self::WallTime => Stop::WallTime,
            Self::Tokens => Stop::Tokens,
            Self::Cost => Stop::Cost,
            Self::Approvals => Stop::Approvals,
        }
    }
}

/// The usage of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetUsage {
    /// Rounds of tool calls.
    pub tool_rounds: u32,
    /// Requests to the model.
    pub iterations: u32,
    /// Questions to a person.
    pub approvals: u32,
    /// Tokens, failed and cancelled attempts included.
    pub usage: Usage,
    /// The cost, where the model's price is known.
    pub cost: Option<f64>,
    /// `cost` leaves something out: other models answered too, whose prices are not known.
    #[serde(skip_serializing_if = "loopwright_base::json::is_default")]
    pub partial: bool,
}

impl BudgetUsage {
    /// Adds the usage of an attempt.
    pub fn add(&mut self, usage: Usage, price: Option<&Price>) {
        self.add_cost(&usage, price.map(|price| price.of(&usage)));
        self.usage += usage;
    }

    /// Adds the usage of an answer: without a price it leaves a gap, whatever it says that it used.
    pub fn add_answer(&mut self, usage: Usage, price: Option<&Price>) {
        self.partial |= price.is_none() && self.cost.is_some();
        self.add(usage, price);
    }

    /// The cost of everything; `None` where the price of a part is not known.
    pub fn whole_cost(&self) -> Option<f64> {
        self.cost.filter(|_| !self.partial)
    }

    /// Adds the cost of `usage`, which is not counted yet.
    fn add_cost(&mut self, usage: &Usage, cost: Option<f64>) {
        let used = |usage: &Usage| *usage != Usage::default();
        match cost {
            Some(cost) => {
                self.partial |= self.cost.is_none() && used(&self.usage);
                self.cost = Some(self.cost.unwrap_or(0.0) + cost);
            }
            None => self.partial |= self.cost.is_some() && used(usage),
        }
    }

    /// Adds the usage of a child.
    pub fn add_child(&mut self, child: &Self) {
        self.tool_rounds += child.tool_rounds;
        self.iterations += child.iterations;
        self.approvals += child.approvals;
        self.partial |= child.partial;
        self.add_cost(&child.usage, child.cost);
        self.usage += child.usage;
    }

    /// The first limit that forbids another request whose prompt has about `prompt` tokens.
    pub fn next_request_exceeds(&self, budget: &Budget, elapsed: f64, prompt: u64) -> Option<Limit> {
        if self.iterations >= budget.iterations {
            return Some(Limit::Iterations);
        }
        self.next_attempt_exceeds(budget, elapsed, prompt)
    }

    /// The first limit that forbids another attempt at a request that is counted already.
    pub fn next_attempt_exceeds(&self, budget: &Budget, elapsed: f64, prompt: u64) -> Option<Limit> {
        if elapsed >= budget.wall_time {
            return Some(Limit::WallTime);
        }
        if budget
            .tokens
            .is_some_and(|tokens| self.usage.total().saturating_add(prompt).saturating_add(LEAST_ANSWER) > tokens)
        {
            return Some(Limit::Tokens);
        }
        if budget.cost.is_some_and(|cost| self.cost.unwrap_or(0.0) >= cost) {
            return Some(Limit::Cost);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x01_d49_a_cost_that_leaves_something_out_says_so() {
        let price = Price { input: 1.0, output: 1.0, cache_read: None, cache_write: None };
        let some = Usage { input: 1_000_000, ..Usage::default() };
        let priced = |times: usize| {
            let mut spent = BudgetUsage::default();
            (0..times).for_each(|_| spent.add(some, Some(&price)));
            spent
        };
        let mut unpriced = BudgetUsage::default();
        unpriced.add(some, None);
        assert_eq!((unpriced.cost, unpriced.partial), (None, false), "nothing is known: there is nothing to doubt");
        assert!(!serde_json::to_string(&unpriced).unwrap().contains("partial"));
        for (first, then) in [(priced(1), unpriced.clone()), (unpriced.clone(), priced(1))] {
            let mut sum = first.clone();
            sum.add_child(&then);
            assert_eq!((sum.cost, sum.partial, sum.whole_cost()), (Some(1.0), true, None));
            let mut above = BudgetUsage::default();
            above.add_child(&sum);
            assert_eq!(above.whole_cost(), None, "a gap is handed on");
        }
        let mut whole = priced(2);
        whole.add_child(&BudgetUsage::default());
        whole.add(Usage::default(), None);
        assert_eq!(whole.whole_cost(), Some(2.0), "what was not answered costs nothing");
        whole.add_answer(Usage::default(), None);
        assert_eq!(whole.whole_cost(), None, "an answer that does not say what it used may have cost something");
    }

    #[test]
    fn a14_x01_defaults() {
        let budget = Budget::default();
        assert_eq!((budget.tool_rounds, budget.iterations, budget.verify_attempts), (8, 10, 3));
        assert_eq!((budget.research_cycles, budget.wall_time), (5, 300.0));
        let iterations =
            ["simple", "moderate", "complex", "breaking"].map(|name| Complexity::named(name).unwrap().iterations());
        assert_eq!(iterations, [3, 5, 10, 15]);
    }

    #[test]
    fn x01_what_is_left_is_shared() {
        let budget = Budget { tokens: Some(100), ..Budget::default() };
        let mut spent = BudgetUsage { tool_rounds: 3, iterations: 4, ..BudgetUsage::default() };
        spent.add(Usage { input: 60, output: 10, ..Usage::default() }, None);
        let left = budget.remaining(&spent, 100.0);
        assert_eq!((left.tool_rounds, left.iterations, left.tokens), (5, 6, Some(30)));
        assert!((left.wall_time - 200.0).abs() < 1e-9);
        assert_eq!(spent.next_request_exceeds(&budget, 0.0, 10), None);
        assert_eq!(spent.next_request_exceeds(&budget, 0.0, 40), Some(Limit::Tokens));
        assert_eq!(spent.next_request_exceeds(&budget, 300.0, 0), Some(Limit::WallTime));
    }
}
