//! Answers of models of one's own that come in pieces: what of them is shown, and what had come where one is cut off.

use loopwright_base::{
    error::{Failure, FailureKind},
    request::{Delta, Request},
};
use loopwright_drive::{
    ask::AnswerPieces,
    in_flight::PartialReply,
    own::{scrub, scrub_event},
};
use loopwright_machine::{Command, EventKind, HookSubject};
use pyo3::prelude::*;

use super::{bridge::delta_objects, machine};

impl machine::Request {
    /// The request of a `generate` command, or that which a hook is shown.
    pub(super) fn get(&self) -> Option<&Request> {
        match &*self.0 {
            Command::Generate { request, .. } => Some(request),
            Command::Hook { subject, .. } => match &**subject {
                HookSubject::Request { request } => Some(request),
                _ => None,
            },
            _ => None,
        }
    }
}

/// An answer to a request on its way from a model of one's own.
#[pyclass(module = "loopwright._core")]
pub(super) struct OwnAnswer {
    id: u64,
    /// What is shown; nothing where the answer was not to be streamed.
    pieces: Option<AnswerPieces>,
    shown: PartialReply,
    /// The block that the last piece belongs to: whether of reasoning, and its number.
    last: Option<(bool, usize)>,
    blocks: usize,
    /// Whether anybody was shown anything.
    #[pyo3(get)]
    visible: bool,
    /// Whether it has ended, one way or the other.
    #[pyo3(get, set)]
    done: bool,
}

impl OwnAnswer {
    /// The block of the next piece of text or of reasoning.
    fn block(&mut self, thinks: bool) -> usize {
        match self.last {
            Some((thought, block)) if thought == thinks => block,
            _ => {
                let block = self.blocks;
                (self.last, self.blocks) = (Some((thinks, block)), block + 1);
                block
            }
        }
    }

    fn read<'py>(&mut self, py: Python<'py>, deltas: Vec<Delta>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let Some(pieces) = self.pieces.as_mut() else { return Ok(Vec::new()) };
        let deltas = pieces.read(deltas);
        self.show(py, deltas)
    }

    fn show<'py>(&mut self, py: Python<'py>, deltas: Vec<Delta>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.shown.add(&deltas);
        self.visible = self.visible || !deltas.is_empty();
        delta_objects(py, deltas)
    }
}

#[pymethods]
impl OwnAnswer {
    /// The answer to command `id`; with `show` its pieces are shown.
    #[new]
    #[pyo3(signature = (id, request, show=true))]
    fn new(id: u64, request: &machine::Request, show: bool) -> Self {
        let shown = request.get().filter(|request| show && request.stream == Some(true));
        let pieces = shown.map(|request| AnswerPieces::new(request.clone()));
        Self { id, pieces, shown: PartialReply::default(), last: None, blocks: 0, visible: false, done: false }
    }

    /// The deltas to show of a piece of text.
    fn text<'py>(&mut self, py: Python<'py>, text: &str) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let block = self.block(false);
        self.read(py, vec![Delta::Text { block, text: scrub(text).into_owned() }])
    }

    /// The deltas to show of a piece of reasoning.
    fn reasoning<'py>(&mut self, py: Python<'py>, text: &str) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let block = self.block(true);
        self.read(py, vec![Delta::Reasoning { block, text: scrub(text).into_owned() }])
    }

    /// The deltas to show of a call; its arguments are JSON text.
    fn call<'py>(
        &mut self,
        py: Python<'py>,
        call_id: String,
        name: String,
        arguments: &str,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let block = self.blocks;
        (self.last, self.blocks) = (None, block + 1);
        let begun = Delta::ToolUse { block, id: call_id, name };
        self.read(py, vec![begun, Delta::Arguments { block, text: scrub(arguments).into_owned() }])
    }

    /// The deltas that were held back, once nothing follows.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.done = true;
        let Some(pieces) = self.pieces.as_mut() else { return Ok(Vec::new()) };
        let deltas = pieces.finish();
        self.show(py, deltas)
    }

    /// What it has shown so far, as the event of a call that is cancelled now.
    fn peek(&self) -> machine::Event {
        let partial = self.shown.partial();
        let visible = partial.as_ref().is_some_and(|partial| !partial.message.content.is_empty());
        let failure = Failure::new(FailureKind::Cancelled, "the call was cancelled");
        machine::Event(scrub_event(EventKind::Failed { id: self.id, failure, visible, partial }))
    }

    /// The same; nothing of it is shown any more.
    fn abort(&mut self) -> machine::Event {
        self.done = true;
        self.pieces = None;
        self.peek()
    }
}
