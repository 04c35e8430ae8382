//! What a window remembers of its history, and the compaction that it prepares before it is due.
//!
//! A long history is planned by what still stands and what is new ([`Aside`] has the rest). While a window fills, the
//! next plan is made piece by piece, a share with each message, so that no message pays for all of it; the plan is the
//! same as if it were made in one go.

use std::sync::{Arc, OnceLock};

use super::{
    archive::Archive,
    aside::{Aside, Left},
    compress::{self, Planned, WANTS_ALL, plan},
    count::Count,
    facts::{self, Facts, Order},
    ids::{Names, Renaming, with_names},
    inside,
    mended::Mended,
    pace::{AtOnce, Pieces, at_once},
    pairs::{self, Repair, Rest},
    plan::Aim,
    policy::Policy,
    report::{Entry, Fate, Report},
    salience::Tier,
    units::Kind,
    weigh::by_age,
};
use loopwright_base::{
    error::Result,
    message::{Message, Role, Wire},
};

/// How far ahead of the high mark a compaction is prepared, as shares of the budget.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lead {
    /// So much before the high mark …
    pub(super) before: f64,
    /// … and so much deeper than the low one, as what comes in between stays whole.
    pub(super) deeper: f64,
}

impl Lead {
    pub(super) const fn of(high: f64, low: f64) -> Self {
        let before = (0.6 * (high - low)).min(0.25 * low);
        Self { before, deeper: before * 1.15 }
    }

    /// Whether so much comes in between that it is worth the trouble.
    pub(super) fn is_worth_it(self, budget: usize) -> bool {
        self.before * budget as f64 >= 256.0
    }
}

/// A unit that is left aside, for the report.
#[derive(Clone, Copy, Debug)]
struct Gone {
    place: usize,
    ordinal: usize,
    kind: Kind,
}

/// Everything that was appended, and what was seen of it.
#[derive(Clone, Debug)]
pub(super) struct History {
    messages: Vec<Arc<Message>>,
    counts: Vec<usize>,
    facts: Vec<Facts>,
    wire: Option<Wire>,
    order: Order,
    /// Where it is not legal: whether nothing but ids is wrong, …
    renaming: Option<Renaming>,
    /// … and where more is, how it stands before a plan is made.
    mended: Option<Mended>,
    /// The first message that a person or the model says.
    begun: Option<usize>,
    aside: Aside,
    /// The messages that are not left aside, and how many units before each are; nothing while none is.
    places: Vec<usize>,
    skipped: Vec<usize>,
    gone: Vec<Gone>,
    /// What was left aside when nothing was any more, for a report of then; and how often that came.
    past: Vec<Gone>,
    forgot: usize,
}

/// How a history went on before a plan of it was made.
pub(super) enum Before {
    Same,
    Ended(Rest),
    Was(Option<Mended>),
}

/// What a plan is wanted for.
pub(super) struct Given<'a> {
    pub(super) messages: usize,
    pub(super) aims: &'a [Aim],
    pub(super) policy: &'a Policy,
    pub(super) archive: &'a Archive,
    /// How many of the last messages the archive is to hold in any case.
    pub(super) keep: usize,
}

impl History {
    pub(super) fn new(wire: Option<Wire>) -> Self {
        Self {
            messages: Vec::new(),
            counts: Vec::new(),
            facts: Vec::new(),
            wire,
            order: Order::new(wire),
            renaming: None,
            mended: None,
            begun: None,
            aside: Aside::default(),
            places: Vec::new(),
            skipped: Vec::new(),
            gone: Vec::new(),
            past: Vec::new(),
            forgot: 0,
        }
    }

    pub(super) fn push(&mut self, message: Arc<Message>, tokens: usize, facts: Facts) {
        self.order.goes_on(&facts);
        if let Some(renaming) = &mut self.renaming {
            renaming.goes_on(self.messages.len(), &message, &facts);
        }
        if !self.aside.is_empty() {
            self.places.push(self.messages.len());
            self.skipped.push(self.aside.units);
        }
        if self.begun.is_none() && matches!(facts.role, Role::User | Role::Assistant) {
            self.begun = Some(self.messages.len());
        }
        self.messages.push(message);
        self.counts.push(tokens);
        self.facts.push(facts);
        self.follow();
    }

    /// Looks at all of it, where the history has just become one that no provider would take.
    fn follow(&mut self) {
        if self.order.is_broken() && self.renaming.is_none() {
            self.renaming = Some(Renaming::of(self.wire, &self.messages, &self.facts));
        }
        if self.mended.is_some() || self.renaming.as_ref().is_some_and(|renaming| !renaming.holds()) {
            self.mended.get_or_insert_with(|| Mended::new(self.wire)).follow(&self.messages);
        }
    }

    /// Whether the history is legal but for ids that stand twice, and may end here.
    fn may_end(&self) -> bool {
        self.order.may_end() || self.renaming.as_ref().is_some_and(Renaming::may_end)
    }

    /// The new ids of messages, where nothing else is wrong with the history.
    fn names(&self, places: impl Iterator<Item = usize>) -> Option<Vec<Option<Names>>> {
        let renaming = self.renaming.as_ref().filter(|renaming| renaming.holds())?;
        Some(places.map(|place| renaming.names(place)).collect())
    }

    pub(super) fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// Puts a message into a view that no plan was made of yet, as a provider takes it: under ids of its own where they
    /// repeat, which are those that a plan gives, and without what else is wrong.
    pub(super) fn show(&self, index: usize, policy: &Policy, view: &mut Vec<Arc<Message>>) {
        let Some(message) = self.messages.get(index) else { return };
        let before = view.len();
        if let Some(made) = self.mended(index) {
            let theirs = self.is_the_users(index, policy);
            view.extend(made.iter().map(|made| match inside::asks(made, policy) {
                Some(_) if theirs => inside::as_the_users(made),
                _ => made.clone(),
            }));
        } else {
            let names = self.renaming.as_ref().filter(|_| self.mended.is_none());
            view.push(match names.and_then(|renaming| renaming.names(index)) {
                Some(names) => with_names(message, &names),
                None if self.is_the_users(index, policy) => inside::as_the_users(message),
                None => message.clone(),
            });
        }
        // It may be the last of a request, and what stood once stays.
        if let Some(last) = view.get_mut(before..).and_then(<[_]>::last_mut)
            && let Some(trimmed) = pairs::trimmed(last, self.wire)
        {
            *last = trimmed;
        }
    }

    /// A plan was made of the first `messages`, which ends with `rest` where it had to pair them anew: the view goes on
    /// from there. Gives how it went on before, should nothing come of the plan.
    pub(super) fn planned(&mut self, messages: usize, rest: Option<Rest>) -> Before {
        let Some(rest) = rest else { return Before::Same };
        if let Some(mended) = self.mended.as_mut().filter(|_| messages >= self.messages.len()) {
            return Before::Ended(mended.take_over(rest));
        }
        let mut mended = Mended::new(self.wire);
        mended.follow(self.messages.get(..messages).unwrap_or(&self.messages));
        mended.take_over(rest);
        mended.follow(&self.messages);
        Before::Was(self.mended.replace(mended))
    }

    /// Nothing came of a plan.
    pub(super) fn not_planned(&mut self, before: Before) {
        match before {
            Before::Same => {}
            Before::Ended(rest) => {
                let _its = self.mended.as_mut().map(|mended| mended.take_over(rest));
            }
            Before::Was(mended) => self.mended = mended,
        }
    }

    /// How a plan of the first `messages` ends, where that is not known any more.
    pub(super) fn rest(&self, messages: usize) -> Option<Rest> {
        let facts = self.facts.get(..messages).unwrap_or(&self.facts);
        if self.mended.is_none() && facts::may_end(facts) {
            return None;
        }
        pairs::repair_all(self.messages.get(..messages).unwrap_or(&self.messages), self.wire).ok()?.2
    }

    /// What stands for a message that can't stand as it came, where more than ids is wrong with the history.
    pub(super) fn mended(&self, index: usize) -> Option<&[Arc<Message>]> {
        self.mended.as_ref()?.get(index)
    }

    /// Whether these are instructions that may not stand where they came.
    fn is_the_users(&self, index: usize, policy: &Policy) -> bool {
        let Some(message) = self.messages.get(index).filter(|_| self.begun.is_some_and(|begun| begun < index)) else {
            return false;
        };
        let before = index.checked_sub(1).and_then(|before| self.messages.get(before)).map(|before| before.role);
        inside::asks(message, policy).is_some_and(|takes| !inside::may_stand(message, takes, before, None))
    }

    /// What was put right of what was appended: of the first `planned` by a plan, of the others as they stand before
    /// one is made.
    pub(super) fn repairs(&self, planned: usize, policy: &Policy) -> Vec<Repair> {
        let mut repairs = match (&self.mended, &self.renaming) {
            (Some(mended), _) => mended.repairs().to_vec(),
            (None, Some(renaming)) => renaming.repairs(self.messages.len(), &self.messages),
            (None, None) => Vec::new(),
        };
        let theirs = (0..self.messages.len()).filter(|index| self.is_the_users(*index, policy));
        repairs.extend(theirs.map(inside::said));
        let is_trimmed =
            |index: &usize| self.messages.get(*index).is_some_and(|it| pairs::trimmed(it, self.wire).is_some());
        repairs.extend((planned..self.messages.len()).filter(is_trimmed).map(pairs::said_trimmed));
        repairs.sort_by_key(|repair| repair.message);
        repairs
    }

    pub(super) fn counts(&self) -> &[usize] {
        &self.counts
    }

    pub(super) fn get(&self, index: usize) -> Option<(&Arc<Message>, usize)> {
        self.messages.get(index).zip(self.counts.get(index).copied())
    }

    pub(super) const fn len(&self) -> usize {
        self.messages.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(super) fn into_parts(self) -> (Vec<Arc<Message>>, Vec<usize>) {
        (self.messages, self.counts)
    }

    /// Nothing is left aside any more.
    pub(super) fn forget(&mut self) {
        self.aside = Aside::default();
        self.places = Vec::new();
        self.skipped = Vec::new();
        if !self.gone.is_empty() {
            self.past = std::mem::take(&mut self.gone);
            self.forgot += 1;
        }
    }

    /// From now on these are left aside; their places are those of the last plan.
    pub(super) fn leave(&mut self, left: &[Left]) {
        if left.is_empty() || !self.may_end() {
            return;
        }
        if self.aside.is_empty() {
            self.places = (0..self.messages.len()).collect();
            self.skipped = vec![0; self.messages.len()];
        }
        let mut stays = vec![true; self.places.len()];
        for each in left {
            let place = self.places.get(each.messages.start).copied().unwrap_or_default();
            let places = self.places.get(each.messages.clone()).unwrap_or_default();
            let before = places.iter().filter_map(|place| self.counts.get(*place)).sum();
            self.aside.add(each, place, before);
            for at in each.messages.clone() {
                if let Some(stay) = stays.get_mut(at) {
                    *stay = false;
                }
                let place = self.places.get(at).copied().unwrap_or_default();
                self.gone.push(Gone { place, ordinal: each.ordinal, kind: each.kind });
            }
        }
        let mut starts = left.iter().map(|each| each.messages.start).peekable();
        let (mut kept, mut before) = (0, 0);
        for (at, stay) in stays.into_iter().enumerate() {
            while starts.next_if(|start| *start <= at).is_some() {
                before += 1;
            }
            if !stay {
                continue;
            }
            if let (Some(place), Some(skipped)) = (self.places.get(at).copied(), self.skipped.get(at).copied())
                && let (Some(to), Some(units)) = (self.places.get_mut(kept), self.skipped.get_mut(kept))
            {
                (*to, *units) = (place, skipped + before);
                kept += 1;
            }
        }
        self.places.truncate(kept);
        self.skipped.truncate(kept);
    }

    /// What a plan of the first `messages` looks at.
    fn taken(&self, messages: usize) -> Taken {
        let places = self.places.get(..self.places.partition_point(|place| *place < messages)).unwrap_or_default();
        let pick =
            |at: &usize| Some((self.messages.get(*at)?.clone(), *self.counts.get(*at)?, self.facts.get(*at)?.clone()));
        let mut taken = Taken {
            messages: Vec::with_capacity(places.len()),
            counts: Vec::with_capacity(places.len()),
            facts: Vec::with_capacity(places.len()),
            aside: self.aside.clone(),
            places: places.to_vec(),
            skipped: self.skipped.get(..places.len()).unwrap_or_default().to_vec(),
            names: if self.aside.is_empty() { self.names(0..messages) } else { self.names(places.iter().copied()) },
        };
        let mut add = |(message, tokens, facts)| {
            taken.messages.push(message);
            taken.counts.push(tokens);
            taken.facts.push(facts);
        };
        if self.aside.is_empty() {
            (0..messages).filter_map(|at| pick(&at)).for_each(&mut add);
        } else {
            places.iter().filter_map(pick).for_each(&mut add);
        }
        taken
    }

    /// Makes sure that what is left aside may be.
    fn check(&mut self, wire: Option<Wire>) {
        if self.wire != wire {
            self.wire = wire;
            self.order = Order::new(wire);
            for facts in &self.facts {
                self.order.goes_on(facts);
            }
            (self.renaming, self.mended) = (None, None);
            self.follow();
        }
        if !self.aside.is_empty() && !self.may_end() {
            self.forget();
        }
    }

    /// A plan, in one go.
    pub(super) fn plan(&mut self, given: &Given<'_>, count: &mut dyn Count) -> Result<Planned> {
        self.check(given.policy.wire);
        if !self.aside.is_empty() {
            let taken = self.taken(given.messages);
            let base = count.base();
            match at_once(plan(taken.given(base, given), &mut AtOnce(count))) {
                Err(error) if error.code == WANTS_ALL => self.forget(),
                done => return done,
            }
        }
        let names = self.names(0..given.messages.min(self.messages.len()));
        let slice = |len: usize| given.messages.min(len);
        let given = compress::Given {
            messages: self.messages.get(..slice(self.messages.len())).unwrap_or_default(),
            facts: self.facts.get(..slice(self.facts.len())).unwrap_or_default(),
            counts: self.counts.get(..slice(self.counts.len())).unwrap_or_default(),
            base: count.base(),
            aims: given.aims,
            policy: given.policy,
            archive: given.archive,
            keep: given.keep,
            aside: &Aside::default(),
            places: &[],
            skipped: &[],
            names: names.as_deref(),
        };
        at_once(plan(given, &mut AtOnce(count)))
    }
}

/// What a plan looks at, held by itself.
struct Taken {
    messages: Vec<Arc<Message>>,
    counts: Vec<usize>,
    facts: Vec<Facts>,
    aside: Aside,
    places: Vec<usize>,
    skipped: Vec<usize>,
    names: Option<Vec<Option<Names>>>,
}

impl Taken {
    fn given<'a>(&'a self, base: usize, given: &Given<'a>) -> compress::Given<'a> {
        compress::Given {
            messages: &self.messages,
            facts: &self.facts,
            counts: &self.counts,
            base,
            aims: given.aims,
            policy: given.policy,
            archive: given.archive,
            keep: given.keep,
            aside: &self.aside,
            places: &self.places,
            skipped: &self.skipped,
            names: self.names.as_deref(),
        }
    }
}

/// A compaction in the making.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    work: Option<Pieces<Planned>>,
    /// What the whole of it takes, about; from the last one on, as that took.
    whole: Option<usize>,
}

/// A copy of a window begins anew; what comes out is the same.
impl Clone for Ahead {
    fn clone(&self) -> Self {
        Self { work: None, whole: self.whole }
    }
}

/// What a plan costs for each token that it looks at, before it is known better.
const PER_TOKEN: usize = 40;
/// The least that is done at a time.
const LEAST: usize = 10_000;

impl Ahead {
    pub(super) const fn is_idle(&self) -> bool {
        self.work.is_none()
    }

    pub(super) fn forget(&mut self) {
        self.work = None;
    }

    /// Begins with a plan.
    pub(super) fn begin(&mut self, history: &mut History, given: &Given<'_>, count: &mut dyn Count) {
        history.check(given.policy.wire);
        let taken = history.taken(given.messages);
        let newest = taken.counts.iter().rev().take(given.policy.attention);
        self.whole.get_or_insert_with(|| newest.sum::<usize>().saturating_mul(PER_TOKEN));
        let Given { messages, keep, .. } = *given;
        let (policy, archive, base) = (given.policy.clone(), given.archive.clone(), count.base());
        let aims = given.aims.to_vec();
        self.work = Some(Pieces::new(move |mut desk| async move {
            let given = Given { messages, aims: &aims, policy: &policy, archive: &archive, keep };
            plan(taken.given(base, &given), &mut desk).await
        }));
    }

    /// Does its share where `new` of `room` tokens were filled.
    pub(super) fn go_on(&mut self, new: usize, room: usize, count: &mut dyn Count) {
        let Some(work) = &mut self.work else { return };
        let left = self.whole.unwrap_or_default().saturating_sub(work.spent());
        let share = left as f64 * 1.25 * new as f64 / room.max(1) as f64;
        work.go_on((share as usize).max(LEAST), count);
    }

    /// What was planned, all of it.
    pub(super) fn finish(&mut self, count: &mut dyn Count) -> Option<Result<Planned>> {
        let mut work = self.work.take()?;
        work.go_on(usize::MAX, count);
        self.whole = Some(work.spent());
        Some(work.finish(count))
    }
}

/// What was made last, and the report of it, which is put together when it is looked at.
#[derive(Clone, Debug)]
pub(super) struct Made {
    /// Of what was planned.
    planned: Report,
    messages: usize,
    units: usize,
    /// How much was left aside, and its tokens.
    gone: usize,
    tokens: usize,
    /// How often the history had forgotten what was left aside.
    forgot: usize,
    /// How many tool uses got another id that the report of the plan does not speak of.
    renamed: usize,
    /// What came since it was planned, and its tokens.
    since: (usize, usize),
    whole: OnceLock<Report>,
}

impl Made {
    /// Of a plan of `messages` that have `units`; `named`: its report does not speak of ids.
    pub(super) fn new(planned: Report, messages: usize, units: usize, named: bool, history: &History) -> Self {
        let (gone, tokens) = (history.gone.len(), history.aside.before);
        let renaming = history.renaming.as_ref().filter(|_| named);
        let renamed = renaming.map_or(0, |renaming| renaming.count(messages));
        let since = history.counts.iter().skip(messages);
        let since = since.fold((0, 0), |sum: (usize, usize), tokens| (sum.0 + 1, sum.1.saturating_add(*tokens)));
        let forgot = history.forgot;
        Self { planned, messages, units, gone, tokens, forgot, renamed, since, whole: OnceLock::new() }
    }

    /// A report that was saved.
    pub(super) fn whole(report: Report) -> Self {
        let messages = report.entries.len();
        let (gone, tokens, since) = (0, 0, (0, 0));
        Self { planned: report, messages, units: 0, gone, tokens, forgot: 0, renamed: 0, since, whole: OnceLock::new() }
    }

    pub(super) const fn after(&self) -> usize {
        self.planned.after
    }

    /// The tokens that it saved.
    pub(super) const fn saved(&self) -> usize {
        self.planned.before.saturating_sub(self.planned.after)
    }

    pub(super) fn tally(&self, fate: Fate) -> (usize, usize, usize) {
        let first = match fate {
            Fate::Dropped => (self.gone, self.tokens, 0),
            Fate::Kept => (self.since.0, self.since.1, self.since.1),
            _ => (0, 0, 0),
        };
        let own = self.planned.entries.iter().filter(|entry| entry.fate == fate);
        own.fold(first, |sum, entry| (sum.0 + 1, sum.1.saturating_add(entry.before), sum.2.saturating_add(entry.after)))
    }

    pub(super) const fn changes(&self) -> (usize, Option<usize>) {
        (self.planned.repairs.len() + self.renamed, self.planned.first_changed)
    }

    pub(super) fn get(&self, history: &History, policy: &Policy, archive: &Archive) -> &Report {
        if self.gone == 0 && self.renamed == 0 {
            return &self.planned;
        }
        self.whole.get_or_init(|| {
            let mut entries: Vec<Option<Entry>> = vec![None; self.messages];
            for entry in &self.planned.entries {
                if let Some(slot) = entries.get_mut(entry.message) {
                    *slot = Some(entry.clone());
                }
            }
            let gone = if self.forgot == history.forgot { &history.gone } else { &history.past };
            for gone in gone.iter().take(self.gone) {
                let Some(slot) = entries.get_mut(gone.place) else { continue };
                let salience = by_age(gone.kind, self.units.saturating_sub(1 + gone.ordinal)).salience(&policy.weights);
                let known = history.messages.get(gone.place).zip(history.facts.get(gone.place));
                *slot = Some(Entry {
                    message: gone.place,
                    fate: Fate::Dropped,
                    why: compress::DROPPED.into(),
                    before: history.counts.get(gone.place).copied().unwrap_or(0),
                    after: 0,
                    at: None,
                    handle: known.and_then(|(message, facts)| archive.known(message, &facts.digits)),
                    salience,
                    tier: Tier::of(salience),
                });
            }
            let mut repairs = self.planned.repairs.clone();
            if let Some(renaming) = history.renaming.as_ref().filter(|_| self.renamed > 0) {
                repairs.extend(renaming.repairs(self.messages, &history.messages));
            }
            Report { entries: entries.into_iter().flatten().collect(), repairs, ..self.planned.clone() }
        })
    }
}
