//! A question to a person that is open, about a call or about its result.
//!
//! The time to answer begins when the person sees it: where another question is in front of them, it waits without a
//! deadline until it is put. The time of the run goes on meanwhile.

use serde::{Deserialize, Serialize};

use crate::{Command, Id, Time};
use loopwright_guard::RiskLevel;

/// A question to a person that is open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Question {
    pub(super) id: Id,
    /// What ends the time to answer; 0 while it waits to be put.
    pub(super) timer: Id,
    /// The place of the call.
    pub(super) call: usize,
    pub(super) hash: String,
    pub(super) expires: Time,
    /// How much harm the call may do, as it was told.
    #[serde(default)]
    pub(super) risk: RiskLevel,
}

impl Question {
    /// Whether that timer ends it.
    pub(super) const fn lapses_with(&self, timer: Id) -> bool {
        timer != 0 && self.timer == timer
    }

    /// Nobody needs its timer any more.
    pub(super) fn stop_timer(&self, out: &mut Vec<Command>) {
        if self.timer != 0 {
            out.push(Command::Abort { id: self.timer });
        }
    }

    /// Nobody is asked any more.
    pub(super) fn take_back(&self, out: &mut Vec<Command>) {
        out.push(Command::Abort { id: self.id });
        self.stop_timer(out);
    }

    /// It waits behind another: no time runs.
    pub(super) fn waits(&mut self, out: &mut Vec<Command>) {
        self.stop_timer(out);
        self.timer = 0;
        self.expires = Time(u64::MAX);
    }

    /// It is put now, where it had to wait.
    pub(super) fn is_put(&mut self, timer: Id, expires: Time, out: &mut Vec<Command>) {
        if self.timer == 0 {
            self.timer = timer;
            self.expires = expires;
            out.push(Command::Timer { id: timer, at: expires });
        }
    }
}
