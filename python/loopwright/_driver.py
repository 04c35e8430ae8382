"""Drivers: they carry the commands of a run out and feed back what happened. They decide nothing.

`AsyncDriver` lives in the caller's own task: tools run as tasks beside it, cancellation and context variables behave
as asyncio people expect. `SyncDriver` needs no event loop: it waits in Rust with the interpreter free for others.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import contextvars
import inspect
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from . import _core
from ._approval import Approval, decision_of, is_yes
from ._bridge import Bridge
from ._numbers import Numbers
from .errors import InternalError, UsageError
from .events import ToolProgress, from_notice
from .models import ModelFailure, answer_json
from .tools._context import CancelFlag, Context
from .tools._run import Outcome, run, run_here, run_later

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Iterable

    from ._plan import Plan
    from .children import AgentPlan
    from .tools import Tool

atexit.register(_core.shutdown)

__all__ = ["AsyncDriver", "Driver", "SyncDriver"]

_NOBODY = "nobody is there to ask"
_GRACE = 5.0
"""Seconds that tools have to end after they were cancelled."""
_PATIENCE = 0.05
"""Seconds between two looks for Ctrl-C."""
_LONG_PATIENCE = 1.0
"""The same in threads that Ctrl-C does not reach."""
_DOUBT = "the call had started when the run broke off, and may have taken effect; shall it run again?"
_DOUBT_SECONDS = 60.0
_UNKNOWN = "the run broke off while this call was under way, and nobody knows whether it took effect"
_CANCELLED = {"kind": "exception", "message": "CancelledError: the call was cancelled, and not by the run"}


class Driver:
    """What both drivers share: a run, what is under way for it, and what is to be told."""

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
        self.told: deque[Any] = deque()
        # Events of the journal so far, and up to which of them what is told was marked.
        self.seq = self.marked = run.seq
        self.numbers = Numbers(self.seq)
        if after is not None:
            self.numbers.follow(after.numbers)
        self.outcome: dict[str, Any] | None = None
        self.fatal: BaseException | None = None
        self.calls: dict[int, _core.ModelCall] = {}
        # Somebody else goes on with the run.
        self.left = False
        # A person who reads one question is not asked another: sub-agents may have theirs at the same time.
        self.asking = threading.Lock()
        self.questions: set[int] = set()
        # What a hook raised that ended the run.
        self.hook_error: BaseException | None = None

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
        """Something for whoever watches."""
        if self.watch:
            self.mark()
            self.told.append(event)

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
            if kind == "generate":
                self.generate(command)
            elif kind == "execute":
                self.execute(command)
            elif kind == "emit":
                self.mark()
                self.told.append(from_notice(command.notice))  # type: ignore[arg-type]
            elif kind == "abort":
                self.abort(command.id)  # type: ignore[arg-type]
            elif kind == "timer":
                self.timer(command.id, command.at)  # type: ignore[arg-type]
            elif kind == "approve":
                self.approve(command)
            elif kind == "search":
                self.search(command)
            elif kind == "finish":
                self.outcome = command.outcome
            elif kind == "persist":
                if self.plan.durable:
                    self.run.persist()
            elif kind == "recall":
                self.recall(command)
            elif kind in ("query", "fetch", "embed"):
                self.look_up(command)
            elif kind == "refuse":
                message = f"the machine refused an event of its own driver: {command.why}"
                raise InternalError(message, hint="please report this with the journal of the run")
            elif kind == "hook":
                self.hook(command)
            elif kind == "choose":
                self.choose(command)

    def go_on(self, commands: Iterable[_core.Command]) -> None:
        """Carries out what a run that broke off had not heard the end of.

        Each tool call comes by itself: one whose tool is idempotent runs again; of others nobody knows whether they
        took effect, so a person is asked.
        """
        self.begun = True
        if self.run.state != "running":
            self.ends.appendleft("resume")
        for command in commands:
            if command.kind != "execute" or self.at(command.id).tools[command.calls[0].name].idempotent:
                self.carry_out([command])
            elif self.plan.approve is None:
                self.inbox.append(self.unknown(command))
            else:
                self.ask_again(command, self.plan.approve)

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
                return _tried(ask, question()) if command_id in self.questions else None

        return put

    def unknown(self, command: _core.Command) -> _core.Event:
        """The event for a call that may have taken effect and does not run again."""
        call_id, hint = command.calls[0].id, "find out whether it took effect before you call it again"
        return _core.Event.tool_failed(command.id, call_id, "unknown", _UNKNOWN, hint)  # type: ignore[arg-type]

    def cancelled_model(self) -> _core.Event | None:
        """Stops the model calls; gives what one of them had shown."""
        partial = None
        for call in self.calls.values():
            if not call.done:
                partial = call.abort()
        self.calls.clear()
        return partial

    def fired(self, command_id: int) -> _core.Event:
        """The event of a timer, with what a model call that is under way has shown."""
        if self.plan.agents:
            shown = {each: call.peek() for each, call in self.calls.items() if not call.done}
            if any(each >> 32 != command_id >> 32 for each in shown):
                # It may end the sub-agents, too.
                self.inbox.append(_core.Event.partials(list(shown.values())))
            own = [event for each, event in shown.items() if each >> 32 == command_id >> 32]
            return _core.Event.fired(command_id, own[-1] if own else None)
        under_way = [call for call in self.calls.values() if not call.done]
        return _core.Event.fired(command_id, under_way[-1].peek() if under_way else None)

    def keep_call(self, command: _core.Command, call: _core.ModelCall) -> None:
        """A call is under way; those that have ended are forgotten."""
        for command_id in [command_id for command_id, known in self.calls.items() if known.done]:
            del self.calls[command_id]
        self.calls[command.id] = call  # type: ignore[index]

    def interrupted(self, how: str) -> _core.Event:
        """The event that ends the run: `cancel` at once, `after_round` when the running tools are done."""
        if how == "cancel" and self.plan.agents:
            shown = {each: call.abort() for each, call in self.calls.items() if not call.done}
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
        """The driver itself ends early: the journal says so, and the history stays legal."""
        if self.outcome is None and not self.left:
            # What stopped the driver is what its caller hears of, not what else fails on the way out.
            with contextlib.suppress(Exception):
                self.step(self.interrupted("cancel"))

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
            decision, reason, arguments = "deny", f"asking failed: {type(error).__name__}: {error}", None
        return _core.Event.decided(command.id, command.hash, decision, reason, arguments)  # type: ignore[arg-type]

    def nobody(self, command: _core.Command) -> _core.Event:
        """The event for a question that nobody is there to hear."""
        return _core.Event.decided(command.id, command.hash, "deny", _NOBODY)  # type: ignore[arg-type]

    def executed(self, command_id: int, call_id: str, outcome: Outcome) -> _core.Event:
        """The event for what a tool gave."""
        failure = outcome.failure
        if failure is not None:
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
        """The event that answers a search, a fetch or an embedding; what goes wrong is an answer too."""
        from ._lookups import Lookups, look_up

        lookups = self.plan.lookups or Lookups()
        return _core.Event.from_json(await look_up(lookups, command.kind, command.id, command.wanted))  # type: ignore[arg-type]

    def hook(self, command: _core.Command) -> None:
        raise NotImplementedError

    def choose(self, command: _core.Command) -> None:
        raise NotImplementedError


class AsyncDriver(Driver):
    """Drives a run in the task that iterates over `batches`.

    What arrives is fed to the machine at once, where it arrives: the iterating task is woken only when there is
    something to tell, or when the run has ended.
    """

    def __init__(
        self, plan: Plan, run: _core.Run, run_id: str, deps: Any, *, watch: bool, after: Driver | None = None
    ) -> None:
        super().__init__(plan, run, run_id, deps, watch=watch, after=after)
        self.loop = asyncio.get_running_loop()
        # Tools see the context variables of the caller, wherever the event came from that starts them.
        self.variables = contextvars.copy_context()
        self.thread = threading.get_ident()
        self.waker: asyncio.Future[None] | None = None
        self.pumping = False
        self.timers: dict[int, asyncio.TimerHandle] = {}
        self.tasks: dict[int, dict[asyncio.Task[Any], CancelFlag | None]] = {}
        self.ending: set[asyncio.Task[Any]] = set()
        self.bridge, self.key = Bridge.enter(self.arrived)

    async def batches(
        self, start: _core.Event | list[_core.Command], signal: Any = None
    ) -> AsyncGenerator[deque[Any], None]:
        """Runs to the end, from its start or from the open commands of a run that broke off; gives what is told on the
        way, all that is there at once.
        """
        listener = signal.attach(self.interrupt_soon) if signal is not None else None
        try:
            if isinstance(start, list):
                self.go_on(start)
                self.pump()
            else:
                self.arrived(start)
            while True:
                while self.told:
                    batch, self.told = self.told, deque()
                    number = self.numbers.of
                    yield deque([event for item in batch if (event := number(item)) is not None])
                if self.fatal is not None:
                    raise self.fatal
                if self.outcome is not None:
                    return
                self.waker = self.loop.create_future()
                try:
                    await self.waker
                finally:
                    self.waker = None
        except BaseException:
            self.give_up()
            raise
        finally:
            if listener is not None:
                listener()
            await self.close()

    def arrived(self, item: Any) -> None:
        """Something came from Rust, from a tool, a timer or a person: an event, or deltas."""
        if isinstance(item, list):
            self.mark()
            self.told.extend(item)
            self.wake()
            return
        self.inbox.append(item)
        self.pump()

    def pump(self) -> None:
        """Feeds the machine with all that is there."""
        if self.pumping:
            return
        self.pumping = True
        try:
            while self.outcome is None and (event := self.next_event()) is not None:
                self.step(event)
        except BaseException as error:  # noqa: BLE001 - raised where the run is awaited
            self.fatal = error
        finally:
            self.pumping = False
        if self.told or self.outcome is not None or self.fatal is not None:
            self.wake()

    def wake(self) -> None:
        waker = self.waker
        if waker is not None and not waker.done():
            waker.set_result(None)

    def tell(self, event: Any) -> None:
        """As ever, from any thread: a tool may report from one that it started."""
        super().tell(event)
        if threading.get_ident() == self.thread:
            self.wake()
        else:
            self.soon(self.wake)

    def soon(self, function: Callable[[], None]) -> None:
        """Calls `function` in the loop's thread, if the loop still runs."""
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(function)

    def broken(self, error: BaseException) -> None:
        """A fault that is no tool's: raised where the run is awaited."""
        self.fatal = error
        self.wake()

    def interrupt_soon(self, how: str) -> None:
        """Ends the run, from any thread."""
        self.ends.append(how)
        self.soon(self.pump)

    async def close(self) -> None:
        """Nothing of the run is left behind: no call, no timer, no task."""
        self.cancelled_model()
        self.bridge.leave(self.key)
        for handle in self.timers.values():
            handle.cancel()
        self.timers.clear()
        for command_id in list(self.tasks):
            self.abort(command_id)
        if self.ending:
            await asyncio.wait(self.ending, timeout=_GRACE)

    def generate(self, command: _core.Command) -> None:
        plan = self.at(command.id)
        endpoint = plan.endpoint if not plan.chooses else plan.endpoint_of(command.request.model)  # type: ignore[union-attr]
        if endpoint is not None:
            quietly = plan is not self.plan
            self.keep_call(command, self.bridge.hub.generate(self.key, command, endpoint, self.watch, quietly))
            return
        request = command.request
        try:
            answer = plan.model_of(request.model).respond(request)  # type: ignore[union-attr, arg-type]
            if inspect.isawaitable(answer):
                task = self.start(command.id, "model", None, self.ask_model, command.id, answer, request)  # type: ignore[arg-type]
                # Cancelled before its first step, it would leave a coroutine that nobody awaits.
                task.add_done_callback(lambda _: _drop(answer))
                return
            event = _core.Event.generated(command.id, answer_json(answer, request.turns))  # type: ignore[union-attr, arg-type]
        except ModelFailure as error:
            event = self.failed_model(command.id, error)  # type: ignore[arg-type]
        self.inbox.append(event)

    async def ask_model(self, command_id: int, answer: Any, request: Any) -> _core.Event:
        try:
            return _core.Event.generated(command_id, answer_json(await answer, request.turns))
        except ModelFailure as error:
            return self.failed_model(command_id, error)

    def start(
        self, command_id: int, what: str, flag: CancelFlag | None, function: Any, *arguments: Any
    ) -> asyncio.Task[None]:
        """Starts a task; what `function` gives is the event that answers the command."""
        work = self.work(command_id, function, arguments)
        create = self.variables.run
        task = create(self.loop.create_task, work, name=f"loopwright {self.run_id} {what}")
        self.tasks.setdefault(command_id, {})[task] = flag
        return task

    async def work(self, command_id: int, function: Any, arguments: Any) -> None:
        task = asyncio.current_task()
        try:
            event = await function(*arguments)
        except asyncio.CancelledError:
            if self.forget(command_id, task):
                # Not we have cancelled it: the run can't know what became of the work.
                self.broken(InternalError("a task of the run was cancelled from outside"))
            raise
        except BaseException as error:  # noqa: BLE001 - raised where the run is awaited
            if self.forget(command_id, task):
                self.broken(error)
        else:
            if self.forget(command_id, task):
                self.arrived(event)

    def forget(self, command_id: int, task: Any) -> bool:
        """A task has ended; whether anybody still waits for what it gives."""
        self.ending.discard(task)
        tasks = self.tasks.get(command_id)
        if tasks is None or task not in tasks:
            return False
        del tasks[task]
        if not tasks:
            del self.tasks[command_id]
        return True

    def execute(self, command: _core.Command) -> None:
        for call in command.calls:
            flag = CancelFlag()
            self.start(command.id, f"tool {call.name}", flag, self.run_tool, command.id, call, flag)  # type: ignore[arg-type]

    async def run_tool(self, command_id: int, call: _core.Call, flag: CancelFlag) -> _core.Event:
        tool = self.at(command_id).tools[call.name]
        try:
            context = self.context(command_id, call, flag) if tool.context_parameter else None
            outcome = await run(tool, call.arguments, context)
        except asyncio.CancelledError:
            if asyncio.current_task() in self.ending:
                raise
            # The tool let a cancellation escape that was none of ours; the model may go on without it.
            outcome = Outcome([], failure=_CANCELLED)
        return self.executed(command_id, call.id, outcome)

    def abort(self, command_id: int) -> None:
        handle = self.timers.pop(command_id, None)
        if handle is not None:
            handle.cancel()
            return
        model = self.calls.pop(command_id, None)
        if model is not None:
            model.abort()
            return
        for task, flag in self.tasks.pop(command_id, {}).items():
            if flag is not None:
                flag.set()
            self.ending.add(task)
            task.cancel()

    def timer(self, command_id: int, at: float) -> None:
        def fired() -> None:
            self.timers.pop(command_id, None)
            self.arrived(self.fired(command_id))

        self.timers[command_id] = self.loop.call_later(max(0.0, at - self.run.now()), fired)

    def approve(self, command: _core.Command) -> None:
        ask = self.plan.approve
        if ask is None:
            self.inbox.append(self.nobody(command))
            return
        self.start(command.id, "approval", None, self.ask_person, command, ask)  # type: ignore[arg-type]

    async def ask_person(self, command: _core.Command, ask: Callable[[Any], Any]) -> _core.Event:
        who = self.who(command.id)

        def question() -> Approval:
            return Approval.of(command, self.run.now(), self.plan.around, who)

        return self.decided(command, await self.answer_to(command, question, ask))

    def ask_again(self, command: _core.Command, ask: Callable[[Any], Any]) -> None:
        self.start(command.id, "approval", None, self.run_again, command, ask)  # type: ignore[arg-type]

    async def run_again(self, command: _core.Command, ask: Callable[[Any], Any]) -> _core.Event:
        question = self.doubt(command)
        try:
            answer = await asyncio.wait_for(self.answer_to(command, lambda: question, ask), question.expires_in)
        except asyncio.TimeoutError:
            answer = None
        if not is_yes(answer):
            return self.unknown(command)
        return await self.run_tool(command.id, command.calls[0], CancelFlag())  # type: ignore[arg-type]

    async def answer_to(
        self, command: _core.Command, question: Callable[[], Approval], ask: Callable[[Any], Any]
    ) -> Any:
        """What a person says, or what goes wrong while asking."""
        command_id: int = command.id  # type: ignore[assignment]
        try:
            if _is_async(ask):
                answer = ask(question())
            else:
                # One that blocks (`input()`) holds up neither the loop nor the deadline.
                said: asyncio.Future[Any] = self.loop.create_future()

                def settle(value: Any) -> None:
                    if said.done():
                        _drop(value)
                    else:
                        said.set_result(value)

                put = self.asked_in_turn(command_id, question, ask)
                in_thread("approval", put, lambda value: self.soon(lambda: settle(value)))
                answer = await said
            if inspect.isawaitable(answer):
                answer = await answer
        except asyncio.CancelledError as error:
            if asyncio.current_task() in self.ending:
                raise
            answer = error
        except Exception as error:  # noqa: BLE001 - whatever goes wrong while asking is a no
            answer = error
        finally:
            self.questions.discard(command_id)
        return answer

    def search(self, command: _core.Command) -> None:
        if not self.plan.gatherers:
            self.keep_call(command, self.bridge.hub.search(self.key, command, list(self.plan.folders)))
            return
        work, name = self.gather(command), f"loopwright {self.run_id} gathering"
        task = self.variables.run(self.loop.create_task, work, name=name)
        self.tasks.setdefault(command.id, {})[task] = None  # type: ignore[arg-type]

    async def gather(self, command: _core.Command) -> None:
        """Asks memory and functions, and hands what they gave to the search of the folders."""
        from ._gather import collect

        task = asyncio.current_task()
        try:
            others, problems = await collect(self.plan.gatherers, command.question or "")
        except asyncio.CancelledError:
            self.forget(command.id, task)  # type: ignore[arg-type]
            raise
        except BaseException as error:  # noqa: BLE001 - raised where the run is awaited
            if self.forget(command.id, task):  # type: ignore[arg-type]
                self.broken(error)
            return
        if self.forget(command.id, task):  # type: ignore[arg-type]
            for problem in problems:
                self.tell(problem)
            self.keep_call(command, self.bridge.hub.search(self.key, command, list(self.plan.folders), others))

    def look_up(self, command: _core.Command) -> None:
        self.start(command.id, command.kind, None, self.looked_up, command)  # type: ignore[arg-type]

    def hook(self, command: _core.Command) -> None:
        from ._hooked import ask_async

        ask_async(self, command)

    def choose(self, command: _core.Command) -> None:
        from ._hooked import choose_async

        choose_async(self, command)


class SyncDriver(Driver):
    """Drives a run in the calling thread. Tools run in threads; async tools in one event loop of the run's own."""

    def __init__(
        self, plan: Plan, run: _core.Run, run_id: str, deps: Any, *, watch: bool, after: Driver | None = None
    ) -> None:
        super().__init__(plan, run, run_id, deps, watch=watch, after=after)
        self.hub = _core.Hub(wakes=False)
        self.timers: dict[int, float] = {}
        self.flags: dict[int, list[CancelFlag]] = {}
        self.tasks: dict[int, list[Callable[[], None]]] = {}
        self.wanted: deque[Callable[[], None]] = deque()
        self.patience = _PATIENCE if threading.current_thread() is threading.main_thread() else _LONG_PATIENCE
        self.limits: list[tuple[float, Callable[[], None]]] = []
        self.side: _SideLoop | None = None
        self.closed = False
        # Commands whose hooks are being asked.
        self.asked: dict[int, Any] = {}

    def events(self, start: _core.Event | list[_core.Command], signal: Any = None) -> Generator[Any, None, None]:
        """Runs to the end, from its start or from the open commands of a run that broke off; gives what is told on the
        way.
        """
        listener = signal.attach(self.interrupt_soon) if signal is not None else None
        try:
            # After the start, before any answer to it, comes a signal that was given before the run began.
            if isinstance(start, list):
                self.go_on(start)
            else:
                self.inbox.append(start)
            while True:
                while self.wanted:
                    self.wanted.popleft()()
                while self.outcome is None and (event := self.next_event()) is not None:
                    self.step(event)
                while self.told:
                    told = self.numbers.of(self.told.popleft())
                    if told is not None:
                        yield told
                if self.outcome is not None:
                    return
                if self.fatal is not None:
                    raise self.fatal
                if not (self.inbox or self.ends):
                    self.wait()
        except BaseException:
            self.give_up()
            raise
        finally:
            if listener is not None:
                listener()
            self.close()

    def wait(self) -> None:
        """Waits for what comes next: an answer, a tool, a timer. Short waits, so that Ctrl-C gets through."""
        now = self.run.now()
        for late in [late for at, late in self.limits if at <= now]:
            late()
        self.limits = [limit for limit in self.limits if limit[0] > now]
        for command_id in [command_id for command_id, at in self.timers.items() if at <= now]:
            del self.timers[command_id]
            self.inbox.append(self.fired(command_id))
        if self.inbox:
            return
        next_at = min([now + self.patience, *self.timers.values(), *(at for at, _ in self.limits)])
        self.hub.wait(max(0.0, next_at - now))
        for _, item in self.hub.drain():
            if isinstance(item, list):
                self.mark()
                self.told.extend(item)
            else:
                self.inbox.append(item)

    def interrupt_soon(self, how: str) -> None:
        """Ends the run, from any thread."""
        self.ends.append(how)
        self.hub.poke()

    def soon(self, function: Callable[[], None]) -> None:
        """Calls `function` in the driver's thread, if it still runs."""
        self.wanted.append(function)
        self.hub.poke()

    def tell(self, event: Any) -> None:
        super().tell(event)
        self.hub.poke()

    def arrived(self, item: Any) -> None:
        """Something came from a thread."""
        self.inbox.append(item)
        self.hub.poke()

    def close(self) -> None:
        """Nothing of the run is left behind but threads of plain tools that do not end."""
        self.closed = True
        self.limits.clear()
        self.cancelled_model()
        for command_id in [*self.flags, *self.tasks, *self.asked]:
            self.abort(command_id)
        self.hub.close()
        if self.side is not None:
            self.side.close()

    def loop_beside(self) -> _SideLoop:
        if self.side is None:
            self.side = _SideLoop()
        return self.side

    def generate(self, command: _core.Command) -> None:
        plan = self.at(command.id)
        endpoint = plan.endpoint if not plan.chooses else plan.endpoint_of(command.request.model)  # type: ignore[union-attr]
        if endpoint is not None:
            quietly = plan is not self.plan
            self.keep_call(command, self.hub.generate(0, command, endpoint, self.watch, quietly))
            return
        request = command.request
        try:
            answer = plan.model_of(request.model).respond(request)  # type: ignore[union-attr, arg-type]
            if inspect.isawaitable(answer):
                self.start(command.id, self.ask_model(command.id, answer, request))  # type: ignore[arg-type]
                return
            event = _core.Event.generated(command.id, answer_json(answer, request.turns))  # type: ignore[union-attr, arg-type]
        except ModelFailure as error:
            event = self.failed_model(command.id, error)  # type: ignore[arg-type]
        self.inbox.append(event)

    async def ask_model(self, command_id: int, answer: Any, request: Any) -> None:
        try:
            event = _core.Event.generated(command_id, answer_json(await answer, request.turns))
        except ModelFailure as error:
            event = self.failed_model(command_id, error)
        self.arrived(event)

    def start(self, command_id: int, coroutine: Any) -> None:
        """Starts a task in the loop beside."""
        self.tasks.setdefault(command_id, []).append(self.loop_beside().start(coroutine, self.broken))

    def execute(self, command: _core.Command) -> None:
        flags = self.flags.setdefault(command.id, [])  # type: ignore[arg-type]
        for call in command.calls:
            flag = CancelFlag()
            flags.append(flag)
            tool = self.at(command.id).tools[call.name]
            if tool.is_async:
                self.run_beside(command.id, call, flag)  # type: ignore[arg-type]
            else:
                self.run_in_thread(command.id, call, flag)  # type: ignore[arg-type]

    def run_beside(self, command_id: int, call: _core.Call, flag: CancelFlag) -> None:
        tool = self.at(command_id).tools[call.name]
        context = self.context(command_id, call, flag)

        async def work() -> None:
            try:
                outcome = await tool.run(call.arguments, context)
            except asyncio.CancelledError:
                if command_id not in self.tasks:
                    raise
                outcome = Outcome([], failure=_CANCELLED)
            self.arrived(self.executed(command_id, call.id, outcome))

        self.start(command_id, work())

    def run_in_thread(self, command_id: int, call: _core.Call, flag: CancelFlag) -> None:
        tool = self.at(command_id).tools[call.name]
        context = self.context(command_id, call, flag)
        settled = threading.Lock()

        def settle(outcome: Outcome) -> None:
            if settled.acquire(blocking=False):
                self.arrived(self.executed(command_id, call.id, outcome))

        def work() -> None:
            try:
                given = run_here(tool, call.arguments, context)
                if isinstance(given, Outcome):
                    settle(given)
                else:
                    self.soon(lambda: self.go_on_beside(command_id, tool, given, flag, settle))
            except BaseException as error:  # noqa: BLE001 - a fault of ours, told as one
                self.broken(error)

        in_thread(f"tool {tool.name}", work)
        if tool.timeout is not None:
            message = f"{tool.name!r} gave no result within {tool.timeout:g} s"
            failure = {"kind": "timeout", "message": message, "hint": "ask for less at once"}

            def late() -> None:
                if not flag.is_set:
                    flag.set()
                    settle(Outcome([], failure=failure))

            self.limits.append((self.run.now() + tool.timeout, late))

    def go_on_beside(
        self, command_id: int, tool: Tool[..., Any], given: Any, flag: CancelFlag, settle: Callable[[Outcome], None]
    ) -> None:
        """A plain function has handed out an awaitable: a decorator in between often does."""

        async def wait() -> None:
            try:
                outcome = await run_later(tool, given)
            except asyncio.CancelledError:
                if command_id not in self.tasks:
                    raise
                outcome = Outcome([], failure=_CANCELLED)
            settle(outcome)

        if flag.is_set:
            # Nobody waits for it any more; a coroutine would complain that it was never awaited.
            getattr(given, "close", bool)()
        else:
            self.start(command_id, wait())

    def broken(self, error: BaseException) -> None:
        self.fatal = error
        self.hub.poke()

    def abort(self, command_id: int) -> None:
        self.timers.pop(command_id, None)
        self.questions.discard(command_id)
        self.asked.pop(command_id, None)
        model = self.calls.pop(command_id, None)
        if model is not None:
            model.abort()
        for flag in self.flags.pop(command_id, ()):
            flag.set()
        for cancel in self.tasks.pop(command_id, ()):
            cancel()

    def timer(self, command_id: int, at: float) -> None:
        self.timers[command_id] = at

    def approve(self, command: _core.Command) -> None:
        ask = self.plan.approve
        if ask is None:
            self.inbox.append(self.nobody(command))
            return
        who = self.who(command.id)

        def question() -> Approval:
            return Approval.of(command, self.run.now(), self.plan.around, who)

        self.put(question, command, ask, lambda answer: self.arrived(self.decided(command, answer)))

    def ask_again(self, command: _core.Command, ask: Callable[[Any], Any]) -> None:
        question, settled = self.doubt(command), threading.Lock()

        def settle(answer: Any) -> None:
            if not settled.acquire(blocking=False):
                return
            if is_yes(answer):
                self.soon(lambda: self.execute(command))
            else:
                self.arrived(self.unknown(command))

        self.limits.append((self.run.now() + question.expires_in, lambda: settle(None)))
        self.put(lambda: question, command, ask, settle)

    def put(
        self,
        question: Callable[[], Approval],
        command: _core.Command,
        ask: Callable[[Any], Any],
        done: Callable[[Any], None],
    ) -> None:
        """Puts a question to a person; `done` hears what was said, or what went wrong while asking."""

        async def wait(answer: Any) -> None:
            try:
                said = await answer
            except asyncio.CancelledError as error:
                if command.id not in self.tasks:
                    raise
                said = error
            except Exception as error:  # noqa: BLE001 - whatever goes wrong while asking is a no
                said = error
            done(said)

        def heard(answer: Any) -> None:
            if inspect.isawaitable(answer):
                self.start(command.id, wait(answer))  # type: ignore[arg-type]
            else:
                done(answer)

        def told(answer: Any) -> None:
            self.questions.discard(command.id)
            if self.closed:
                _drop(answer)
            else:
                self.soon(lambda: heard(answer))

        if _is_async(ask):
            heard(_tried(ask, question()))
        else:
            # One that blocks (`input()`) does not hold up the deadline.
            in_thread("approval", self.asked_in_turn(command.id, question, ask), told)  # type: ignore[arg-type]

    def search(self, command: _core.Command) -> None:
        if not self.plan.gatherers:
            self.keep_call(command, self.hub.search(0, command, list(self.plan.folders)))
            return
        from ._gather import collect

        async def work() -> None:
            others, problems = await collect(self.plan.gatherers, command.question or "")
            self.soon(lambda: search(others, problems))

        def search(others: str, problems: list[Any]) -> None:
            if command.id in self.tasks:
                for problem in problems:
                    self.tell(problem)
                self.keep_call(command, self.hub.search(0, command, list(self.plan.folders), others))

        self.start(command.id, work())  # type: ignore[arg-type]

    def look_up(self, command: _core.Command) -> None:
        async def work() -> None:
            self.arrived(await self.looked_up(command))

        self.start(command.id, work())  # type: ignore[arg-type]

    def hook(self, command: _core.Command) -> None:
        from ._hooked import ask_sync

        ask_sync(self, command)

    def choose(self, command: _core.Command) -> None:
        from ._hooked import choose_sync

        choose_sync(self, command)


def in_thread(name: str, work: Callable[[], Any], done: Callable[[Any], None] | None = None) -> None:
    """Runs `work` in a thread that sees the caller's context variables and keeps no process from ending."""
    variables = contextvars.copy_context()

    def run() -> None:
        value = variables.run(work)
        if done is not None:
            done(value)

    threading.Thread(target=run, name=name, daemon=True).start()


def _tried(function: Callable[[Any], Any], argument: Any) -> Any:
    """What `function` gives, or what it raises."""
    try:
        return function(argument)
    except BaseException as error:  # noqa: BLE001 - handed to who waits
        return error


def _drop(value: object) -> None:
    """Closes a coroutine that nobody will await."""
    if inspect.iscoroutine(value):
        value.close()


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


class _SideLoop:
    """An event loop in a thread of its own, for async tools of a run that has no loop. Gone with the run."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._work, name="loopwright async tools", daemon=True)
        self.thread.start()

    def _work(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            tasks = asyncio.all_tasks(self.loop)
            for task in tasks:
                task.cancel()
            if tasks:
                self.loop.run_until_complete(asyncio.wait(tasks, timeout=_GRACE))
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()

    def start(self, coroutine: Any, broken: Callable[[BaseException], None]) -> Callable[[], None]:
        """Starts a task; gives what cancels it."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)

        wanted = False

        def cancel() -> None:
            nonlocal wanted
            wanted = True
            future.cancel()

        def done(future: Any) -> None:
            if future.cancelled():
                if not wanted:
                    broken(InternalError("a task of the run was cancelled from outside"))
            elif future.exception() is not None:
                broken(future.exception())

        future.add_done_callback(done)
        return cancel

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(_GRACE)
