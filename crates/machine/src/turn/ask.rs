//! The requests of a turn: the first, the next, and what a request holds as things stand.
//!
//! No request goes out that a budget forbids, that the window has no room for, or that forces a choice among no tools.

use super::{
    super::{Command, Notice, Purpose, Stop},
    Asking, Phase, TurnMachine,
    calls::{holds_a_prompt, legal_history},
    emit, forces_tools,
    sanity::Checked,
    table::TurnFact,
};
use loopwright_base::{
    error::Error,
    message::{Message, Role},
    request::{Request, ToolChoice},
};
use loopwright_extract::Signatures;
use loopwright_guard::Authority;
use loopwright_wire::schema;

/// What is made of the configuration for all requests, until that changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Prepared {
    /// The request without its history.
    pub(super) template: Option<Request>,
    pub(super) signatures: Option<Signatures>,
}

impl TurnMachine {
    pub(super) fn start(&mut self, messages: Vec<Message>, out: &mut Vec<Command>) {
        if let Err(error) = self.config.check() {
            return self.fail(error, out);
        }
        let (history, mended) = legal_history(messages, &mut self.tools.ids);
        self.history = history;
        if let Some(words) = mended.words() {
            self.warn(out, "mended_history", words);
        }
        if !holds_a_prompt(&self.history) {
            let error = Error::usage("empty_prompt", "there is no prompt to answer");
            return self.fail(error.hint("give the run a message"), out);
        }
        self.core.started = self.core.now;
        self.origins.began = self.history.iter().count();
        self.senses.stuck.show(self.config.system.as_deref().unwrap_or_default());
        for message in self.history.iter().filter(|message| message.role != Role::Assistant) {
            self.senses.stuck.show_blocks(&message.content);
        }
        if self.config.guard.is_some() {
            // What one model writes to another is nobody's wish.
            let given = self.config.authority.take();
            self.origins.authority = given.unwrap_or_else(|| Authority::of(self.history.iter()));
        }
        if self.config.budget.cost.is_some() && self.config.price.is_none() {
            self.warn(out, "cost_unknown", "the price of the model is not known: the limit on the cost can't be kept");
        }
        self.tell_unenforced(out);
        self.load_first(out);
        self.tools.off = self.no_calls();
        self.core.deadline = self.core.id();
        out.push(Command::Timer { id: self.core.deadline, at: self.core.started.after(self.config.budget.wall_time) });
        self.begin(out);
    }

    /// Calls that could not run, or whose results no request could carry, are better not asked for. A caller who forces
    /// a call wants the call itself; tools of the provider need no round of ours.
    pub(super) fn no_calls(&self) -> bool {
        let forced = self.config.tool_choice.as_ref().is_some_and(forces_tools);
        let no_round = self.config.budget.tool_rounds == 0 || self.config.budget.iterations <= 1;
        no_round && !forced && self.config.provider_tools.is_empty() && !self.config.tools.is_empty()
    }

    /// The schema of the answer may hold what the provider can't be held to.
    fn tell_unenforced(&mut self, out: &mut Vec<Command>) {
        let (Some(output), Some(wire)) = (&self.config.output, self.config.context.policy.wire) else { return };
        if let Some(why) = schema::unenforced(wire, &self.config.model, output) {
            let what = "the provider can't be held to the schema of the answer";
            self.warn(
                out,
                "output_unenforced",
                format!("{what} ({why}): the model is told of it, and it is checked here"),
            );
        }
    }

    /// The first request goes out, after a look whether one was asked for.
    pub(super) fn first_round(&mut self, out: &mut Vec<Command>) {
        match self.sanity_start(out) {
            Checked::Wait => self.enter(TurnFact::OpinionAwaited, Phase::Checking(Vec::new()), out),
            Checked::Go(Some(note)) => {
                self.history.push(Message::user(note));
                self.ask(out);
            }
            Checked::Go(None) | Checked::Stop(_) => self.ask(out),
        }
    }

    /// An exchange is over, and the next request goes out.
    pub(super) fn go_on(&mut self, out: &mut Vec<Command>) {
        self.sum_up(out);
        self.ask(out);
    }

    /// Sends the next request, or ends the run if the budget forbids it.
    pub(super) fn ask(&mut self, out: &mut Vec<Command>) {
        if !self.holds_round(out) {
            self.ask_now(out);
        }
    }

    pub(super) fn ask_now(&mut self, out: &mut Vec<Command>) {
        self.flush_added();
        self.core.said.drain(..).for_each(|message| self.history.push(message));
        if let Err(error) = self.fit(out) {
            self.outcome.error = Some(error);
            return self.finish(Stop::ContextWindow, out);
        }
        if let Some(limit) = self.next_request_exceeds() {
            return self.stop_at(limit, out);
        }
        self.core.spent.iterations += 1;
        let round = self.round();
        emit(out, Notice::RoundStarted { round, model: self.model().to_owned() });
        let id = self.core.id();
        let asking = Asking {
            id,
            attempt: 1,
            since: self.core.now,
            visible: false,
            last_failure: None,
            before: 0,
            unsent: 0,
            waits: 0,
            held: None,
            said: None,
        };
        self.send(asking, out);
    }

    /// A request goes out.
    pub(super) fn issue(&mut self, mut asking: Asking, request: Box<Request>, out: &mut Vec<Command>) {
        if self.config.budget.tokens.is_some() {
            let prompt = self.prompt_estimate().saturating_sub(self.desk.reserved());
            asking.held = request.max_tokens.map(|most| most.saturating_add(prompt));
        }
        let (id, attempt, place) = (asking.id, asking.attempt, self.place());
        out.push(Command::Generate { id, purpose: Purpose::Executor, place, attempt, request });
        self.enter(TurnFact::RequestSent, Phase::Asking(asking), out);
    }

    /// The request whose answer is read: what it showed, and how it said that calls are written.
    pub(super) fn request_read(&mut self) -> Request {
        if let Some(mut request) = self.hooks.replaced.as_deref().cloned() {
            if self.tools.finder.is_some() && !request.tools.is_empty() {
                request.tools = self.readable_tools();
            }
            return request;
        }
        let mut request = self.template().clone();
        request.messages = self.fronted();
        request.tools = if self.tools.left_out { std::sync::Arc::default() } else { self.readable_tools() };
        request
    }

    /// The request without its history.
    pub(super) fn template(&mut self) -> &Request {
        if self.prepared.template.is_none() {
            let mut request = self.first_request();
            if !self.front.is_empty() {
                request.system = self.fronted_system();
            }
            if self.offers_recall() {
                request.tools = request.tools.iter().cloned().chain([self.recall_tool()]).collect();
                request.tool_format.clone_from(&self.config.tool_format);
                request.read_markup = self.reads_markup();
            }
            if !self.tools.loaded.is_empty() {
                request.tools = request.tools.iter().cloned().chain(self.loaded_tools()).collect();
            }
            self.prepared.template = Some(request);
        }
        self.prepared.template.get_or_insert_with(Request::default)
    }

    /// The next request, as it stands.
    pub(super) fn request_now(&mut self) -> Request {
        let mut request = self.template().clone();
        request.messages = self.fronted();
        if let Some(model) = &self.choice.model {
            request.model.clone_from(model);
        }
        if self.round() > 1 && self.config.tool_choice.as_ref().is_some_and(forces_tools) {
            // A forced tool is for the first request only; forced again it would never let the model answer.
            request.tool_choice = None;
        }
        if let Some(tools) = self.tools.without_search(&request.tools) {
            request.tools = tools.into();
        }
        if self.tools.left_out {
            request.tools = std::sync::Arc::default();
        } else if let Some(choice) = self.answer_choice(&request) {
            request.tool_choice = Some(choice);
        } else if self.tools.off && !request.tools.is_empty() {
            request.tool_choice = Some(ToolChoice::None);
        }
        if request.tools.is_empty() {
            // Providers refuse a choice among no tools.
            request.tool_choice = None;
        }
        if let Some(left) = self.room_for_answer() {
            request.max_tokens = Some(request.max_tokens.map_or(left, |most| most.min(left)));
        }
        request
    }
}
