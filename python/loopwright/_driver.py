"""Drivers: they carry the commands of a run out and feed back what happened. They decide nothing.

`AsyncDriver` lives in the caller's own task: tools run as tasks beside it, cancellation and context variables behave
as asyncio people expect. `SyncDriver` needs no event loop: it waits in Rust with the interpreter free for others.
"""

from __future__ import annotations

import asyncio
import atexit
import inspect
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from . import _core
from ._approval import Approval, decision_of
from ._bridge import Bridge
from .errors import InternalError
from .events import ToolProgress, from_notice
from .models import ModelFailure, answer_json
from .tools._context import CancelFlag, Context
from .tools._run import Outcome, run_here

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from ._plan import Plan

atexit.register(_core.shutdown)

__all__ = ["AsyncDriver", "Driver", "SyncDriver"]

_NOBODY = "nobody is there to ask"
_GRACE = 5.0
"""Seconds that tools have to end after they were cancelled."""


class Driver:
    """What both drivers share: a run, what is under way for it, and what is to be told."""

    def __init__(self, plan: Plan, run: _core.Run, run_id: str, deps: Any, *, watch: bool) -> None:
        self.plan = plan
        self.run = run
        self.run_id = run_id
        self.deps = deps
        self.watch = watch
        self.inbox: deque[_core.Event] = deque()
        self.told: deque[Any] = deque()
        self.outcome: dict[str, Any] | None = None
        self.fatal: BaseException | None = None
        self.calls: dict[int, _core.ModelCall] = {}

    def context(self, call: _core.Call, flag: CancelFlag) -> Context[Any]:
        """What a tool may know about its call."""
        emit = None
        if self.watch:
            call_id, name = call.id, call.name
            emit = lambda text: self.tell(ToolProgress(call_id, name, text))  # noqa: E731
        return Context(
            self.deps, run_id=self.run_id, call_id=call.id, round=call.round, emit=emit, cancel=flag
        )

    def tell(self, event: Any) -> None:
        """Something for whoever watches."""
        if self.watch:
            self.told.append(event)

    def step(self, event: _core.Event) -> None:
        """Feeds the machine and carries out what it wants."""
        for command in self.run.step(event, self.watch):
            kind = command.kind
            if kind == "generate":
                self.generate(command)
            elif kind == "execute":
                self.execute(command)
            elif kind == "emit":
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
            elif kind == "refuse":
                message = f"the machine refused an event of its own driver: {command.why}"
                raise InternalError(message, hint="please report this with the journal of the run")

    def cancelled_model(self) -> _core.Event | None:
        """Stops the model calls; gives what one of them had shown."""
        partial = None
        for call in self.calls.values():
            if not call.done:
                partial = call.abort()
        self.calls.clear()
        return partial

    def keep_call(self, command: _core.Command, call: _core.ModelCall) -> None:
        """A call is under way; those that have ended are forgotten."""
        for command_id in [command_id for command_id, known in self.calls.items() if known.done]:
            del self.calls[command_id]
        self.calls[command.id] = call  # type: ignore[index]

    def interrupt(self, how: str) -> None:
        """Ends the run: `cancel` at once, `after_round` when the running tools are done."""
        partial = self.cancelled_model() if how == "cancel" else None
        self.inbox.append(_core.Event.interrupt(how, partial))

    def failed_model(self, command_id: int, error: BaseException) -> _core.Event:
        """A model of one's own failed: as a provider's failure if it says so, else the run's end."""
        if isinstance(error, ModelFailure):
            return _core.Event.failed(command_id, error.code, error.message, retry_after=error.retry_after)
        raise error

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

    def generate(self, command: _core.Command) -> None:
        raise NotImplementedError

    def execute(self, command: _core.Command) -> None:
        raise NotImplementedError

    def abort(self, command_id: int) -> None:
        raise NotImplementedError

    def timer(self, command_id: int, at: float) -> None:
        raise NotImplementedError

    def approve(self, command: _core.Command) -> None:
        raise NotImplementedError

    def search(self, command: _core.Command) -> None:
        raise NotImplementedError


class AsyncDriver(Driver):
    """Drives a run in the task that iterates over `events`."""

    def __init__(self, plan: Plan, run: _core.Run, run_id: str, deps: Any, *, watch: bool) -> None:
        super().__init__(plan, run, run_id, deps, watch=watch)
        self.loop = asyncio.get_running_loop()
        self.waker: asyncio.Future[None] | None = None
        self.timers: dict[int, asyncio.TimerHandle] = {}
        self.tasks: dict[int, list[asyncio.Task[Any]]] = {}
        self.flags: dict[asyncio.Task[Any], CancelFlag] = {}
        self.ending: set[asyncio.Task[Any]] = set()
        self.bridge, self.key = Bridge.enter(self.arrived)

    async def events(self, start: _core.Event, signal: Any = None) -> AsyncIterator[Any]:
        """Runs to the end; gives what is told on the way."""
        listener = signal.attach(self.interrupt_soon) if signal is not None else None
        try:
            self.step(start)
            while True:
                while self.inbox and self.outcome is None:
                    self.step(self.inbox.popleft())
                while self.told:
                    yield self.told.popleft()
                if self.outcome is not None:
                    return
                if self.fatal is not None:
                    raise self.fatal
                if not self.inbox:
                    self.waker = self.loop.create_future()
                    try:
                        await self.waker
                    finally:
                        self.waker = None
        except BaseException:
            # Cancelled, closed or broken: the journal says so, and the history stays legal.
            if self.outcome is None:
                self.interrupt("cancel")
                self.step(self.inbox.pop())
            raise
        finally:
            if listener is not None:
                listener()
            await self.close()

    def arrived(self, item: Any) -> None:
        """Something came from Rust, from a tool, a timer or a person."""
        if type(item) is _core.Event:
            self.inbox.append(item)
        else:
            self.told.append(item)
        self.wake()

    def wake(self) -> None:
        waker = self.waker
        if waker is not None and not waker.done():
            waker.set_result(None)

    def tell(self, event: Any) -> None:
        super().tell(event)
        self.wake()

    def interrupt_soon(self, how: str) -> None:
        """`interrupt`, from any thread."""

        def interrupt() -> None:
            self.interrupt(how)
            self.wake()

        self.loop.call_soon_threadsafe(interrupt)

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
        plan = self.plan
        if plan.endpoint is not None:
            self.keep_call(command, self.bridge.hub.generate(self.key, command, plan.endpoint, self.watch))
            return
        request = command.request
        answer = plan.model.respond(request)  # type: ignore[union-attr, arg-type]
        if inspect.isawaitable(answer):
            self.start(command.id, self.ask_model(command.id, answer, request))  # type: ignore[arg-type]
        else:
            self.inbox.append(_core.Event.generated(command.id, answer_json(answer, request.turns)))  # type: ignore

    async def ask_model(self, command_id: int, answer: Any, request: Any) -> _core.Event:
        try:
            return _core.Event.generated(command_id, answer_json(await answer, request.turns))
        except ModelFailure as error:
            return self.failed_model(command_id, error)

    def start(self, command_id: int, coroutine: Any, flag: CancelFlag | None = None) -> None:
        task = self.loop.create_task(coroutine)
        self.tasks.setdefault(command_id, []).append(task)
        if flag is not None:
            self.flags[task] = flag
        task.add_done_callback(lambda task: self.ended(command_id, task))

    def ended(self, command_id: int, task: asyncio.Task[Any]) -> None:
        self.flags.pop(task, None)
        self.ending.discard(task)
        tasks = self.tasks.get(command_id)
        aborted = tasks is None or task not in tasks
        if not aborted:
            tasks.remove(task)  # type: ignore[union-attr]
            if not tasks:
                del self.tasks[command_id]
        if task.cancelled():
            if not aborted:
                # Somebody else cancelled a task of ours: the run can't know what became of it.
                self.fatal = InternalError("a task of the run was cancelled from outside")
                self.wake()
            return
        error = task.exception()
        if error is not None:
            if not aborted:
                self.fatal = error
                self.wake()
        elif not aborted and task.result() is not None:
            self.arrived(task.result())

    def execute(self, command: _core.Command) -> None:
        for call in command.calls:
            flag = CancelFlag()
            self.start(command.id, self.run_tool(command.id, call, flag), flag)  # type: ignore[arg-type]

    async def run_tool(self, command_id: int, call: _core.Call, flag: CancelFlag) -> _core.Event:
        tool = self.plan.tools[call.name]
        try:
            outcome = await tool.run(call.arguments, self.context(call, flag))
        except asyncio.CancelledError:
            if flag.is_set or self.outcome is not None:
                raise
            # The tool let a cancellation of its own escape; nobody cancelled the call.
            failure = {"kind": "exception", "message": "CancelledError: the tool was cancelled by itself"}
            outcome = Outcome([], failure=failure)
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
        for task in self.tasks.pop(command_id, ()):
            flag = self.flags.get(task)
            if flag is not None:
                flag.set()
            self.ending.add(task)
            task.cancel()

    def timer(self, command_id: int, at: float) -> None:
        def fired() -> None:
            self.timers.pop(command_id, None)
            self.arrived(_core.Event.fired(command_id))

        self.timers[command_id] = self.loop.call_later(max(0.0, at - self.run.now()), fired)

    def approve(self, command: _core.Command) -> None:
        self.start(command.id, self.ask_person(command))  # type: ignore[arg-type]

    async def ask_person(self, command: _core.Command) -> _core.Event:
        question = Approval.of(command, self.run.now())
        if self.plan.approve is None:
            decision, reason = "deny", _NOBODY
        else:
            try:
                answer = self.plan.approve(question)
                if inspect.isawaitable(answer):
                    answer = await answer
                decision, reason = decision_of(answer)
            except Exception as error:  # noqa: BLE001 - whatever goes wrong while asking is a no
                decision, reason = "deny", f"asking failed: {type(error).__name__}: {error}"
        return _core.Event.decided(command.id, command.hash, decision, reason)  # type: ignore[arg-type]

    def search(self, command: _core.Command) -> None:
        self.keep_call(command, self.bridge.hub.search(self.key, command, list(self.plan.folders)))


class SyncDriver(Driver):
    """Drives a run in the calling thread. Tools run in threads; async tools in one event loop of the run's own."""

    def __init__(self, plan: Plan, run: _core.Run, run_id: str, deps: Any, *, watch: bool) -> None:
        super().__init__(plan, run, run_id, deps, watch=watch)
        self.hub = _core.Hub(wakes=False)
        self.timers: dict[int, float] = {}
        self.flags: dict[int, list[CancelFlag]] = {}
        self.tasks: dict[int, list[Any]] = {}
        self.limits: list[tuple[float, Callable[[], None]]] = []
        self.side: _SideLoop | None = None

    def events(self, start: _core.Event, signal: Any = None) -> Iterator[Any]:
        """Runs to the end; gives what is told on the way."""
        listener = signal.attach(self.interrupt_soon) if signal is not None else None
        try:
            self.step(start)
            while True:
                while self.inbox and self.outcome is None:
                    self.step(self.inbox.popleft())
                while self.told:
                    yield self.told.popleft()
                if self.outcome is not None:
                    return
                if self.fatal is not None:
                    raise self.fatal
                if not self.inbox:
                    self.wait()
        except BaseException:
            if self.outcome is None:
                self.interrupt("cancel")
                self.step(self.inbox.pop())
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
            self.inbox.append(_core.Event.fired(command_id))
        if self.inbox:
            return
        next_at = min([now + 0.2, *self.timers.values(), *(at for at, _ in self.limits)])
        self.hub.wait(max(0.0, next_at - now))
        for _, item in self.hub.drain():
            if type(item) is _core.Event:
                self.inbox.append(item)
            else:
                self.told.append(item)

    def interrupt_soon(self, how: str) -> None:
        """`interrupt`, from any thread."""
        self.inbox.append(_core.Event.interrupt(how, self.cancelled_model() if how == "cancel" else None))
        self.hub.poke()

    def tell(self, event: Any) -> None:
        super().tell(event)
        self.hub.poke()

    def arrived(self, event: _core.Event) -> None:
        """Something came from a thread."""
        self.inbox.append(event)
        self.hub.poke()

    def close(self) -> None:
        """Nothing of the run is left behind but threads of plain tools that do not end."""
        self.cancelled_model()
        for command_id in list(self.flags):
            self.abort(command_id)
        self.hub.close()
        if self.side is not None:
            self.side.close()

    def loop_beside(self) -> _SideLoop:
        if self.side is None:
            self.side = _SideLoop()
        return self.side

    def generate(self, command: _core.Command) -> None:
        plan = self.plan
        if plan.endpoint is not None:
            self.keep_call(command, self.hub.generate(0, command, plan.endpoint, self.watch))
            return
        request = command.request
        try:
            answer = plan.model.respond(request)  # type: ignore[union-attr, arg-type]
            if inspect.isawaitable(answer):
                answer = self.loop_beside().result_of(answer)
            event = _core.Event.generated(command.id, answer_json(answer, request.turns))  # type: ignore
        except ModelFailure as error:
            event = self.failed_model(command.id, error)  # type: ignore[arg-type]
        self.inbox.append(event)

    def execute(self, command: _core.Command) -> None:
        flags = self.flags.setdefault(command.id, [])  # type: ignore[arg-type]
        for call in command.calls:
            flag = CancelFlag()
            flags.append(flag)
            tool = self.plan.tools[call.name]
            if tool.is_async:
                self.run_beside(command.id, call, flag)  # type: ignore[arg-type]
            else:
                self.run_in_thread(command.id, call, flag)  # type: ignore[arg-type]

    def run_beside(self, command_id: int, call: _core.Call, flag: CancelFlag) -> None:
        tool = self.plan.tools[call.name]
        context = self.context(call, flag)

        async def work() -> None:
            try:
                outcome = await tool.run(call.arguments, context)
            except asyncio.CancelledError:
                if flag.is_set:
                    raise
                failure = {"kind": "exception", "message": "CancelledError: the tool was cancelled by itself"}
                outcome = Outcome([], failure=failure)
            self.arrived(self.executed(command_id, call.id, outcome))

        self.tasks.setdefault(command_id, []).append(self.loop_beside().start(work(), self.broken))

    def run_in_thread(self, command_id: int, call: _core.Call, flag: CancelFlag) -> None:
        import contextvars

        tool = self.plan.tools[call.name]
        context = self.context(call, flag)
        settled = threading.Lock()

        def settle(outcome: Outcome) -> None:
            if settled.acquire(blocking=False):
                self.arrived(self.executed(command_id, call.id, outcome))

        def work() -> None:
            try:
                settle(run_here(tool, call.arguments, context))
            except BaseException as error:  # noqa: BLE001 - a fault of ours, told as one
                self.broken(error)

        variables = contextvars.copy_context()
        threading.Thread(target=variables.run, args=(work,), name=f"tool {tool.name}", daemon=True).start()
        if tool.timeout is not None:
            message = f"{tool.name!r} gave no result within {tool.timeout:g} s"
            failure = {"kind": "timeout", "message": message, "hint": "ask for less at once"}

            def late() -> None:
                if not flag.is_set:
                    flag.set()
                    settle(Outcome([], failure=failure))

            self.limits.append((self.run.now() + tool.timeout, late))

    def broken(self, error: BaseException) -> None:
        self.fatal = error
        self.hub.poke()

    def abort(self, command_id: int) -> None:
        self.timers.pop(command_id, None)
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
        question = Approval.of(command, self.run.now())
        if self.plan.approve is None:
            decision, reason = "deny", _NOBODY
        else:
            try:
                answer = self.plan.approve(question)
                if inspect.isawaitable(answer):
                    answer = self.loop_beside().result_of(answer)
                decision, reason = decision_of(answer)
            except Exception as error:  # noqa: BLE001 - whatever goes wrong while asking is a no
                decision, reason = "deny", f"asking failed: {type(error).__name__}: {error}"
        self.inbox.append(_core.Event.decided(command.id, command.hash, decision, reason))  # type: ignore[arg-type]

    def search(self, command: _core.Command) -> None:
        self.keep_call(command, self.hub.search(0, command, list(self.plan.folders)))


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

        def done(future: Any) -> None:
            if not future.cancelled() and future.exception() is not None:
                broken(future.exception())

        future.add_done_callback(done)
        return future.cancel  # type: ignore[return-value]

    def result_of(self, awaitable: Any) -> Any:
        """What an awaitable gives, waited for here."""

        async def wait() -> Any:
            return await awaitable

        return asyncio.run_coroutine_threadsafe(wait(), self.loop).result()

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(_GRACE)
