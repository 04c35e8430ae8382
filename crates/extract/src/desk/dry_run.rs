//! A body read ahead: how far its region goes and what was looked at for it. Nothing is said, no call begins.

use super::super::{
    body::Sink,
    policy::Policy,
    signature::{Kind, Signature, Signatures, resolved},
};

/// Runs a body to see how far its region goes, and writes nothing.
pub(crate) struct DryRun<'a> {
    pub(crate) tools: Option<&'a Signatures>,
    pub(crate) policy: &'a Policy,
    pub(crate) used: usize,
    /// Where the first call's name ended.
    pub(crate) started: Option<usize>,
    /// How many bytes were looked at more than once.
    pub(crate) looked: usize,
    /// How many of those in vain, and how many more may be before no look ahead is made.
    pub(crate) vain: usize,
    pub(crate) left: usize,
}

impl Sink for DryRun<'_> {
    fn asks(&self) -> bool {
        true
    }

    fn markup(&mut self, bytes: usize) {
        self.used += bytes;
    }

    fn start(&mut self, name: &str, _id: Option<&str>, bytes: usize) -> Option<&Signature> {
        self.used += bytes;
        self.started.get_or_insert(self.used);
        self.tools.and_then(|tools| tools.get(resolved(self.tools, name)))
    }

    fn arguments(&mut self, _json: &str, bytes: usize) {
        self.used += bytes;
    }

    fn repaired(&mut self, _how: &'static str) {}

    fn wrong_type(&mut self, _parameter: &str, _declared: &Kind) {}

    fn finish(&mut self, bytes: usize, _complete: bool) {
        self.used += bytes;
    }

    fn looked(&mut self, bytes: usize) {
        self.looked += bytes;
    }

    fn vain(&mut self, bytes: usize) {
        self.vain += bytes;
    }

    fn may_look(&self) -> bool {
        self.vain < self.left
    }

    fn room(&self) -> usize {
        usize::MAX
    }

    fn hears(&self) -> bool {
        false
    }

    fn knows(&self, tool: &str) -> bool {
        self.tools.is_none_or(|tools| tools.get(resolved(self.tools, tool)).is_some())
    }

    fn max_depth(&self) -> usize {
        self.policy.max_depth
    }

    fn repairs(&self) -> bool {
        self.policy.repair
    }
}
