//! Hooks of Rust users: async functions, run in order, each with a time limit; one that fails is skipped or stops the
//! run, as it says itself.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use super::in_flight::catch_panic;
use loopwright_machine::{HookAnswer, HookReply, HookStage, HookSubject, check_answer};

type HookFn = Arc<dyn Fn(HookSubject) -> Pin<Box<dyn Future<Output = HookAnswer> + Send>> + Send + Sync>;

/// A hook: a name, a stage, a function, and whether its failure stops the run.
#[derive(Clone)]
pub struct Hook {
    name: String,
    stage: HookStage,
    timeout: f64,
    stops: bool,
    run: HookFn,
}

impl Hook {
    /// A hook named `name` at `stage`, with 5 seconds; skipped if it fails.
    pub fn new<F, R>(name: impl Into<String>, stage: HookStage, run: F) -> Self
    where
        F: Fn(HookSubject) -> R + Send + Sync + 'static,
        R: Future<Output = HookAnswer> + Send + 'static,
    {
        let run: HookFn = Arc::new(move |subject| Box::pin(run(subject)));
        Self { name: name.into(), stage, timeout: 5.0, stops: false, run }
    }

    /// Sets the seconds that the hook may take.
    #[must_use]
    pub const fn timeout(mut self, seconds: f64) -> Self {
        self.timeout = seconds;
        self
    }

    /// Sets whether a failure or a timeout of the hook stops the run.
    #[must_use]
    pub const fn stops_on_error(mut self, stops: bool) -> Self {
        self.stops = stops;
        self
    }

    /// The stage at which the hook runs.
    pub const fn stage(&self) -> HookStage {
        self.stage
    }

    async fn ask(&self, subject: &mut HookSubject) -> HookAnswer {
        let failed = |error: String| HookAnswer::Failed { error, stop: self.stops };
        let run = Arc::clone(&self.run);
        let shown = subject.clone();
        let seconds = if self.timeout.is_finite() { self.timeout.clamp(0.0, 1e9) } else { 1e9 };
        let answer =
            tokio::time::timeout(Duration::from_secs_f64(seconds), catch_panic(async move { run(shown).await }));
        let answer = match answer.await {
            Err(_) => return failed(format!("it gave no answer within {seconds} s")),
            Ok(Err(words)) => return failed(format!("it broke down: {words}")),
            Ok(Ok(answer)) => answer,
        };
        let checked = check_answer(self.stage, &answer).and_then(|()| match &answer {
            HookAnswer::Replace { value } => subject.replace(value),
            _ => Ok(()),
        });
        checked.map_or_else(|error| failed(error.to_string()), |()| answer)
    }
}

/// Runs the hooks of a stage in order: each sees what the ones before it made of the subject. A veto and a failure that
/// stops the run are the last word.
pub async fn run_hooks(hooks: Vec<Hook>, mut subject: HookSubject) -> Vec<HookReply> {
    let mut replies = Vec::with_capacity(hooks.len());
    for hook in hooks {
        let answer = hook.ask(&mut subject).await;
        let last = matches!(answer, HookAnswer::Veto { .. } | HookAnswer::Failed { stop: true, .. });
        replies.push(HookReply { name: hook.name, answer });
        if last {
            break;
        }
    }
    replies
}
