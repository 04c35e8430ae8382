"""What both drivers share: which command goes to which method, and which event answers it.

How something is carried out, and what waits meanwhile, is for each driver to say.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from loopwright import _core
from loopwright._approval import Approval, decision_of
from loopwright._foreign import RAISED, log_raised, stopping
from loopwright._numbers import Numbers
from loopwright._plan import ASIDES
from loopwright.errors import InternalError, ModelError, UsageError
from loopwright.events import (
    ArgumentsDelta,
    ChildText,
    ReasoningDelta,
    TextDelta,
    ToolFinished,
    ToolProgress,
    from_notice,
)
from loopwright.models import ModelFailure, answer_event
from loopwright.tools._context import CancelFlag, Context

from ._work import in_thread, is_async, tried

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from loopwright._plan import Plan
    from loopwright.children import AgentPlan
    from loopwright.models import Model
    from loopwright.tools._run import Outcome

_STARTS = frozenset({"generate", "execute", "search", "recall", "query", "fetch", "embed", "consult", "hook", "choose"})
"""Commands that begin work. A question to a person is none: whoever reads may be the one who brings it."""
_NOBODY = "nobody is there to ask"
_PIECES = frozenset({TextDelta, ReasoningDelta, ArgumentsDelta})
_FAR_BEHIND = 1000
"""Events that wait for whoever reads them, beyond which they come in larger pieces."""
_LONG_PIECE = 4000
_DOUBT = "the call had started when the run broke off, and may have taken effect; shall it run again?"
_DOUBT_SECONDS = 60.0
_UNKNOWN = "the run broke off while this call was under way, and nobody knows whether it took effect"


def sees_one(ask: Callable[[Any], Any]) -> bool:
    """Whether whoever is asked sees one question at a time: a function that blocks does, until it returns."""
    return not is_async(ask) or bool(getattr(ask, "one_at_a_time", False))


class Driver:
    """What both drivers share: a run, what is under way for it, and what is to be told."""

    hub: _core.Hub
    # Under which the hub hands out what arrives for this run.
    key: int = 0

    def __init__(
        self, plan: Plan, run: _core.Run, run_id: str, deps: Any, *, watch: bool, after: Driver | None = None
    ) -> None:
        self.plan = plan
        self.run = run
        self.run_id = run_id
        self.deps = deps
        self.watch = watch
        self.inbox: deque[_core.Event] = deque()
        # How somebody wants it to end; filled from any thread.
        self.ends: deque[str] = deque()
        self.begun = False
        # What is to be told, in order; between that, the commands that begin only when all before them was heard.
        self.told: deque[Any] = deque()
        self.telling = threading.Lock()
        self.put_off: dict[int, _core.Command] = {}
        # Whether whoever reads waits for what comes next, and does not look at something that was told.
        self.reading = True
        # Events of the journal so far, and up to which of them what is told was marked.
        self.seq = self.marked = run.seq
        self.numbers = Numbers(self.seq)
        # The number of the step that whoever reads has asked for by asking for anything at all.
        self.first = self.seq + 1
        if after is not None:
            self.numbers.follow(after.numbers)
        self.outcome: _core.Ended | None = None
        self.fatal: BaseException | None = None
        self.calls: dict[int, _core.ModelCall] = {}
        # Somebody else goes on with the run.
        self.left = False
        # A person who reads one question is not asked another: sub-agents may have theirs at the same time.
        self.asking = threading.Lock()
        self.questions: set[int] = set()
        # Calls of roles, which nobody watches and nothing is kept of.
        self.asides: dict[int, _core.ModelCall] = {}
        # What tools raised, by the path of the sub-agent, the round and the call.
        self.raised: dict[tuple[str | None, int, str], BaseException] = {}
        # What a hook raised that ended the run.
        self.hook_error: BaseException | None = None
        # Questions to a person who sees one at a time: the first is put, the others wait.
        self.line: dict[int, Callable[[], None]] = {}
        # Questions of a run that broke off: nobody knows whether their time had begun.
        self.reopening = False

    def at(self, command_id: int | None) -> Plan | AgentPlan:
        """Where the model and the tools of a command are: those of the run, or of the sub-agent that gave it."""
        if self.plan.agents and command_id is not None and command_id >> 32:
            place = self.run.agent_of(command_id)
            if place is not None:
                return self.plan.agents[place[0]]
        return self.plan

    def who(self, command_id: int | None) -> tuple[str | None, str | None]:
        """The name and the path of the sub-agent that gave a command."""
        if self.plan.agents and command_id is not None and command_id >> 32:
            place = self.run.agent_of(command_id)
            if place is not None:
                return place[1], place[2]
        return None, None

    def context(self, command_id: int, call: _core.Call, flag: CancelFlag) -> Context[Any]:
        """What a tool may know about its call."""
        emit = None
        if self.watch:
            call_id, name = call.id, call.name
            agent, path = self.who(command_id)
            emit = lambda text: self.tell(ToolProgress(call_id, name, text, agent=agent, path=path))  # noqa: E731
        return Context(self.deps, run_id=self.run_id, call_id=call.id, round=call.round, emit=emit, cancel=flag)

    def tell(self, event: Any) -> None:
        """Something for whoever watches, from any thread. Where they are far behind, news of a tool's progress takes
        the place of what it said before.
        """
        if not self.watch:
            return
        told = self.told
        with self.telling:
            last = told[-1] if len(told) > _FAR_BEHIND else None
            if type(last) is type(event) is ToolProgress and last.id == event.id:
                object.__setattr__(last, "text", event.text)
                return
            self.mark()
            told.append(event)

    def tell_deltas(self, deltas: list[Any]) -> None:
        """Pieces of an answer. Where whoever watches is far behind, pieces of a block are joined: what waits to be
        read takes hardly more room than the answer itself.
        """
        self.mark()
        told = self.told
        if len(told) <= _FAR_BEHIND:
            told.extend(deltas)
            return
        with self.telling:
            for delta in deltas:
                last, kind = told[-1], type(delta)
                goes_on = kind is type(last) and kind in _PIECES and last.block == delta.block
                if goes_on and len(last.text) < _LONG_PIECE:
                    told[-1] = kind(last.text + delta.text, delta.block)
                else:
                    told.append(delta)

    def tell_pieces(self, command_id: int, deltas: list[Any]) -> None:
        """Pieces of what a sub-agent says."""
        agent, path = self.who(command_id)
        self.mark()
        for delta in deltas:
            kind = type(delta)
            if kind is TextDelta or kind is ReasoningDelta:
                thinks = kind is ReasoningDelta
                self.told.append(ChildText(delta.text, delta.block, thinks, agent=agent, path=path))

    def numbered(self, event: Any) -> Any:
        """The last event, which the driver does not tell itself."""
        self.numbers.of(self.seq)
        return self.numbers.of(event)

    def mark(self) -> None:
        """What is told from here on belongs to the newest event of the journal."""
        if self.marked != self.seq:
            self.marked = self.seq
            self.told.append(self.seq)

    def step(self, event: _core.Event) -> None:
        """Feeds the machine and carries out what it wants."""
        self.seq += 1
        self.carry_out(self.run.step(event, self.watch))

    def carry_out(self, commands: Iterable[_core.Command]) -> None:
        for command in commands:
            kind = command.kind
            if kind in _STARTS:
                if self.seq != self.first and (self.told or not self.heard_all()):
                    self.put_off_start(command)
                else:
                    self.begin_work(kind, command)
            elif kind == "emit":
                self.mark()
                event = from_notice(command.notice)  # type: ignore[arg-type]
                if type(event) is ToolFinished and event.is_error:
                    event.__dict__["_exception"] = self.raised.get((event.path, event.round, event.id))
                self.told.append(event)
            elif kind == "abort":
                if self.put_off.pop(command.id, None) is None:  # type: ignore[arg-type]
                    self.abort(command.id)  # type: ignore[arg-type]
                elif not self.put_off:
                    self.run.go_on()
            elif kind == "timer":
                self.timer(command.id, command.at)  # type: ignore[arg-type]
            elif kind == "approve":
                self.approve(command)
            elif kind == "finish":
                self.outcome = command.ended
            elif kind == "persist":
                if self.plan.durable:
                    self.run.persist()
            elif kind == "refuse":
                message = f"the machine refused an event of its own driver: {command.why}"
                raise InternalError(message, hint="please report this with the journal of the run")

    def begin_work(self, kind: str, command: _core.Command) -> None:
        """Carries out a command that begins work."""
        if kind == "generate":
            self.generate(command)
        elif kind == "execute":
            self.execute(command)
        elif kind == "hook":
            self.hook(command)
        elif kind == "search":
            self.search(command)
        elif kind == "recall":
            self.recall(command)
        elif kind == "choose":
            self.choose(command)
        else:
            self.look_up(command)

    def heard_all(self) -> bool:
        """Whether nothing keeps whoever reads from hearing at once of what begins now."""
        return self.reading

    def put_off_start(self, command: _core.Command) -> None:
        """Work waits until all that was told before it has been taken: whoever leaves by then has it not begin. The
        clock stands still meanwhile, for a slow reader is no slow run.
        """
        if not self.put_off:
            self.run.hold()
        self.put_off[command.id] = command  # type: ignore[index]
        self.told.append(command)

    def next_told(self) -> list[Any]:
        """What is to be told next, with its numbers, up to work that was put off; nothing where such work is first."""
        told, number = self.told, self.numbers.of
        batch: list[Any] = []
        # Threads may tell meanwhile.
        for _ in range(len(told)):
            if self.put_off and type(told[0]) is _core.Command:
                if not batch:
                    self.next_is_work()
                break
            item = told.popleft()
            if type(item) is not _core.Command and (event := number(item)) is not None:
                batch.append(event)
        return batch

    def next_is_work(self) -> None:
        """Work is next that was put off until whoever reads asks for what comes after it: it begins now."""
        self.begin_put_off()

    def begin_put_off(self) -> None:
        """All before it was taken: the work that was put off first begins, if anybody still wants it."""
        command = self.told.popleft()
        if self.put_off.pop(command.id, None) is None:
            return
        if not self.put_off:
            self.run.go_on()
        if self.outcome is not None or self.fatal is not None:
            return
        try:
            self.begin_work(command.kind, command)
        except BaseException as error:  # noqa: BLE001 - raised where the run is awaited
            self.fatal = error

    def go_on(self, commands: Iterable[_core.Command]) -> None:
        """Carries out what a run that broke off had not heard the end of.

        Each tool call comes by itself: one whose tool is idempotent runs again; of others nobody knows whether they
        took effect, so a person is asked.
        """
        self.begun = self.reopening = True
        if self.run.state != "running":
            self.ends.appendleft("resume")
        for command in commands:
            if command.kind == "emit" and not self.watch:
                continue
            if command.kind != "execute" or self.at(command.id).tools[command.calls[0].name].idempotent:
                self.carry_out([command])
            elif self.plan.approve is None:
                self.inbox.append(self.unknown(command))
            else:
                self.ask_again(command, self.plan.approve)
        self.reopening = False

    def in_line(self, command_id: int, ask: Callable[[Any], Any], begin: Callable[[], None], *, told: bool) -> None:
        """Asks a person with `begin`: at once, or where they see one question at a time, when it is its turn. With
        `told` the machine hears of it, whose clock stands still meanwhile.
        """
        put = _core.Event.asked
        if not sees_one(ask):
            if told and self.reopening:
                self.inbox.append(put(command_id, True, True))
            begin()
            return

        def turn() -> None:
            if told:
                # Its time begins only now: whoever watches hears until when it may be answered.
                self.arrived(put(command_id, True, True))
            begin()

        first = not self.line
        self.line[command_id] = turn
        if not first:
            if told:
                self.inbox.append(put(command_id, False))
            return
        if told and self.reopening:
            self.inbox.append(put(command_id, True, True))
        begin()

    def next_in_line(self, command_id: int) -> None:
        """A question was answered, or is not asked any more: whoever waits behind it is next."""
        head = next(iter(self.line), None)
        if self.line.pop(command_id, None) is not None and head == command_id:
            turn = next(iter(self.line.values()), None)
            if turn is not None and self.outcome is None and self.fatal is None:
                turn()

    def time_to_answer(self, command: _core.Command) -> float:
        """Seconds that a person has to answer the question of an `approve` command, from when it is put."""
        left: float = (command.at or 0.0) - self.run.now()
        return left if left > 0 else _DOUBT_SECONDS

    def doubt(self, command: _core.Command) -> Approval:
        """The question whether a call that may have taken effect shall run again."""
        call = command.calls[0]
        risk = self.at(command.id).tools[call.name].risk
        agent, path = self.who(command.id)
        return Approval(
            call.name,
            call.arguments,
            risk,
            _DOUBT,
            call.id,
            _DOUBT_SECONDS,
            around=self.plan.around,
            agent=agent,
            path=path,
        )

    def asked_in_turn(
        self, command_id: int, question: Callable[[], Approval], ask: Callable[[Any], Any]
    ) -> Callable[[], Any]:
        """What asks a person, in a thread, when those before have been answered; a question that has lapsed by then is
        not asked.
        """
        self.questions.add(command_id)

        def put() -> Any:
            with self.asking:
                return tried(ask, question()) if command_id in self.questions else None

        return put

    def unknown(self, command: _core.Command) -> _core.Event:
        """The event for a call that may have taken effect and does not run again."""
        call_id, hint = command.calls[0].id, "find out whether it took effect before you call it again"
        return _core.Event.tool_failed(command.id, call_id, "unknown", _UNKNOWN, hint)  # type: ignore[arg-type]

    def unheard(self, command_id: int, call: _core.ModelCall) -> bool:
        """Whether the machine has not heard the end of a call: it is under way, or its answer is on its way here."""
        return not call.done or self.run.asks(command_id)

    def cancelled_model(self) -> _core.Event | None:
        """Stops the model calls; gives what one of them had shown."""
        partial = None
        for command_id, call in self.calls.items():
            if self.unheard(command_id, call):
                partial = call.abort()
        self.calls.clear()
        for call in self.asides.values():
            call.abort()
        self.asides.clear()
        return partial

    def fired(self, command_id: int) -> _core.Event:
        """The event of a timer, with what a model call that is under way has shown."""
        if self.plan.agents:
            shown = {each: call.peek() for each, call in self.calls.items() if self.unheard(each, call)}
            if any(each >> 32 != command_id >> 32 for each in shown):
                # It may end the sub-agents, too.
                self.inbox.append(_core.Event.partials(list(shown.values())))
            own = [event for each, event in shown.items() if each >> 32 == command_id >> 32]
            return _core.Event.fired(command_id, own[-1] if own else None)
        under_way = [call for each, call in self.calls.items() if self.unheard(each, call)]
        return _core.Event.fired(command_id, under_way[-1].peek() if under_way else None)

    def keep_call(self, command: _core.Command, call: _core.ModelCall, *, aside: bool = False) -> None:
        """A call is under way; those that have ended are forgotten."""
        calls = self.asides if aside else self.calls
        if calls:
            for command_id, known in list(calls.items()):
                if known.done:
                    del calls[command_id]
        calls[command.id] = call  # type: ignore[index]

    def interrupted(self, how: str) -> _core.Event:
        """The event that ends the run: `cancel` at once, `after_round` when the running tools are done."""
        if how == "cancel" and self.plan.agents:
            shown = {each: call.abort() for each, call in self.calls.items() if self.unheard(each, call)}
            self.calls.clear()
            if any(each >> 32 for each in shown):
                self.step(_core.Event.partials(list(shown.values())))
            own = [event for each, event in shown.items() if not each >> 32]
            return _core.Event.interrupt(how, own[-1] if own else None)
        partial = self.cancelled_model() if how == "cancel" else None
        return _core.Event.interrupt(how, partial)

    def next_event(self) -> _core.Event | None:
        """What the machine is fed next, if there is anything. After the start, a wish to end goes before any answer:
        what a tool asks for in its last line holds before its result leads to another request.
        """
        # Who wants a pause before the start wants no request at all.
        if self.ends and (self.begun or self.ends[0] in {"pause", "resume"}):
            how = self.ends.popleft()
            if how == "pause":
                return _core.Event.pause()
            if how == "resume":
                return _core.Event.resume()
            if how == "leave":
                self.left = True
                self.run.close()
                message = "the run was suspended"
                raise UsageError(message, "suspended", "go on with Agent.resume and its journal")
            return self.interrupted(how)
        if not self.inbox:
            return None
        self.begun = True
        return self.inbox.popleft()

    def give_up(self) -> None:
        """The driver itself ends early: the journal says so, and the history stays legal. Nothing begins any more."""
        self.reading = False
        if self.outcome is None and not self.left:
            # What stopped the driver is what its caller hears of, not what else fails on the way out.
            with contextlib.suppress(Exception):
                self.step(self.interrupted("cancel"))
            # It may have ended with the very event that could not be written.
            if self.outcome is None:
                self.outcome = self.run.ended

    def aside_failed(self, command_id: int, error: BaseException) -> _core.Event:
        """A role's own model failed in whatever way: that ends no run."""
        if isinstance(error, ModelFailure):
            with contextlib.suppress(UsageError):
                return self.failed_model(command_id, error)
        return _core.Event.failed(command_id, "server", f"{type(error).__name__}: {error}"[:400])

    def model_raised(self, command_id: int, error: BaseException, *, contained: bool) -> _core.Event:
        """A model of one's own raised. Where others can go on without its answer it has failed; else the run breaks off
        with what it raised.
        """
        # A script that is used up is a fault of its test.
        if contained and getattr(error, "code", None) != "unexpected_request":
            if not isinstance(error, ModelFailure):
                logging.getLogger("loopwright.model").info("a model of one's own raised", exc_info=error)
            return self.aside_failed(command_id, error)
        if isinstance(error, ModelFailure):
            return self.failed_model(command_id, error)
        stop = stopping(error)
        if stop is not None:
            # As it is, a generator would take it for its own end, and so would whoever iterates over the events.
            text = f": {stop}" if str(stop) else ""
            message = f"the model raised {type(stop).__name__}{text}"
            raise ModelError(message, "model_raised", "raise another exception in `respond`") from error
        raise error

    def no_model(self, command: _core.Command) -> _core.Event:
        """The event for a request to a model that this agent does not have."""
        message = f"the agent has no model {command.place} for the {command.purpose}"
        return _core.Event.failed(command.id, "not_found", message)  # type: ignore[arg-type]

    def failed_model(self, command_id: int, error: ModelFailure) -> _core.Event:
        """A model of one's own failed as providers fail."""
        return _core.Event.failed(command_id, error.code, error.message, retry_after=error.retry_after)

    def decided(self, command: _core.Command, answer: object) -> _core.Event:
        """The event for what a person said, or for what went wrong while asking: that is a no."""
        try:
            if isinstance(answer, BaseException):
                raise answer
            decision, reason, arguments = decision_of(answer)
        except BaseException as error:  # noqa: BLE001 - whatever goes wrong while asking is a no
            log_raised("approval", "asking a person", error)
            decision, reason, arguments = "deny", f"asking failed: {type(error).__name__}: {error}", None
        return _core.Event.decided(command.id, command.hash, decision, reason, arguments)  # type: ignore[arg-type]

    def nobody(self, command: _core.Command) -> _core.Event:
        """The event for a question that nobody is there to hear."""
        return _core.Event.decided(command.id, command.hash, "deny", _NOBODY)  # type: ignore[arg-type]

    def executed(self, command_id: int, call: _core.Call, outcome: Outcome) -> _core.Event:
        """The event for what a tool gave. What it raised is kept here: a journal holds words."""
        failure, call_id = outcome.failure, call.id
        if failure is not None:
            if outcome.error is not None:
                self.raised[self.who(command_id)[1], call.round, call_id] = outcome.error
            return _core.Event.tool_failed(
                command_id, call_id, failure["kind"], failure["message"], failure.get("hint")
            )
        content = outcome.content
        if len(content) == 1 and content[0]["type"] == "text":
            return _core.Event.executed(command_id, call_id, content[0]["text"])
        return _core.Event.executed(command_id, call_id, content)

    def recall(self, command: _core.Command) -> None:
        """Asks memory, in a thread: a file may take its time."""
        remember = self.plan.remember
        if remember is None:
            missing = _core.Event.recall_failed(command.id, "no_memory", "the agent has no memory")  # type: ignore[arg-type]
            self.inbox.append(missing)
            return
        ask = remember.recalled
        in_thread("memory", lambda: ask(command), lambda event: self.soon(lambda: self.arrived(event)))

    def soon(self, function: Callable[[], None]) -> None:
        raise NotImplementedError

    def arrived(self, item: Any) -> None:
        raise NotImplementedError

    def generate(self, command: _core.Command) -> None:
        """Asks a model: one that is called, or a model of one's own."""
        plan = self.at(command.id) if self.plan.agents else self.plan
        endpoint, model = plan.serving(command)
        aside = command.purpose in ASIDES
        if endpoint is not None:
            shows, apart = self.watch and not aside, plan is not self.plan
            repeats = self.plan.config.repeats
            call = self.hub.generate(self.key, command, endpoint, shows, apart, repeats)
            self.keep_call(command, call, aside=aside)
            return
        if model is None:
            self.inbox.append(self.no_model(command))
            return
        if aside:
            self.begin_aside(command, model)
            return
        request: Any = command.request
        contained = plan is not self.plan or self.plan.contains(request.model)
        try:
            answer = model.respond(request)
            if inspect.isawaitable(answer):
                self.begin_model(command, answer, contained=contained)
                return
            event = answer_event(command.id, answer, request.turns)  # type: ignore[arg-type]
        except (*RAISED, SystemExit) as error:
            event = self.model_raised(command.id, error, contained=contained)  # type: ignore[arg-type]
        self.inbox.append(event)

    def begin_aside(self, command: _core.Command, model: Model) -> None:
        """Asks a role's own model."""
        raise NotImplementedError

    def begin_model(self, command: _core.Command, answer: Any, *, contained: bool) -> None:
        """Awaits what a model of one's own gave."""
        raise NotImplementedError

    def execute(self, command: _core.Command) -> None:
        raise NotImplementedError

    def ask_again(self, command: _core.Command, ask: Callable[[Any], Any]) -> None:
        raise NotImplementedError

    def abort(self, command_id: int) -> None:
        raise NotImplementedError

    def timer(self, command_id: int, at: float) -> None:
        raise NotImplementedError

    def approve(self, command: _core.Command) -> None:
        raise NotImplementedError

    def search(self, command: _core.Command) -> None:
        raise NotImplementedError

    def look_up(self, command: _core.Command) -> None:
        raise NotImplementedError

    async def looked_up(self, command: _core.Command) -> _core.Event:
        """The event that answers a search, a fetch, an embedding or a question to a part of one's own; what goes wrong
        is an answer too.
        """
        from loopwright._lookups import Lookups, look_up

        lookups = self.plan.lookups or Lookups()
        return _core.Event.from_json(await look_up(lookups, command.kind, command.id, command.wanted))  # type: ignore[arg-type]

    def hook(self, command: _core.Command) -> None:
        raise NotImplementedError

    def choose(self, command: _core.Command) -> None:
        raise NotImplementedError
