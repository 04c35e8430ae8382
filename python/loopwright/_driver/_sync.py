"""The driver without an event loop: a run in the calling thread, its tools in threads."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from loopwright import _core
from loopwright._approval import Approval, is_yes
from loopwright._foreign import RAISED, closes
from loopwright.models import answer_event
from loopwright.tools._context import CancelFlag
from loopwright.tools._errors import ToolTimeout
from loopwright.tools._run import Outcome, cancelled, run_here, run_later

from ._base import Driver
from ._side import SideLoop
from ._work import UNREADABLE, cancelling, drop, in_thread, is_async, tried, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from loopwright._plan import Plan
    from loopwright.models import Model
    from loopwright.tools import Tool

_PATIENCE = 0.05
"""Seconds between two looks for Ctrl-C."""
_LONG_PATIENCE = 1.0
"""The same in threads that Ctrl-C does not reach."""


def _task_around() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


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
        self.side: SideLoop | None = None
        self.closed = False
        # The task of a running event loop that is held up meanwhile, and how often somebody wanted it cancelled before.
        self.around = _task_around()
        self.cancelled_before = cancelling(self.around)
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
                self.feed()
                while self.told:
                    yield from self.next_told()
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

    def next_is_work(self) -> None:
        self.heed_cancellation()
        self.begin_put_off()

    def heed_cancellation(self) -> None:
        """Ends the run where the task was cancelled in which it holds up an event loop."""
        if cancelling(self.around) > self.cancelled_before:
            # Ctrl-C under `asyncio.run` only cancels the task, which can't be told while this thread is busy.
            raise asyncio.CancelledError

    def wait(self) -> None:
        """Waits for what comes next: an answer, a tool, a timer. Short waits, so that Ctrl-C gets through."""
        self.heed_cancellation()
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
            if type(item) is _core.Event:
                self.inbox.append(item)
                continue
            # Notices of earlier events are told before this delta.
            if self.inbox:
                self.feed()
            if isinstance(item, list):
                self.tell_deltas(item)
            elif type(item) is tuple:
                self.tell_pieces(*item)
            else:
                self.inbox.append(item)

    def feed(self) -> None:
        """Feeds the machine with all that is there."""
        while self.outcome is None and (event := self.next_event()) is not None:
            self.step(event)

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
        # Whoever keeps an exception keeps its frames, and with them the driver.
        self.run.close()
        self.line.clear()
        self.limits.clear()
        self.cancelled_model()
        for command_id in [*self.flags, *self.tasks, *self.asked]:
            self.abort(command_id)
        self.hub.close()
        if self.side is not None:
            self.side.close()

    def loop_beside(self) -> SideLoop:
        if self.side is None:
            self.side = SideLoop()
        return self.side

    def begin_model(self, command: _core.Command, answer: Any, *, contained: bool) -> None:
        self.start(command.id, self.ask_model(command.id, answer, command.request, contained))  # type: ignore[arg-type]

    def begin_aside(self, command: _core.Command, model: Model) -> None:
        """Asks a role's own model in a thread: one that blocks holds nothing up."""
        command_id: int = command.id  # type: ignore[assignment]
        request: Any = command.request

        def told(answer: Any) -> None:
            if self.closed:
                drop(answer)
            elif inspect.isawaitable(answer):
                self.soon(lambda: self.start(command_id, self.hear(command_id, answer, heard)))
            else:
                heard(answer)

        def heard(answer: Any) -> None:
            self.arrived(event_of(answer))

        def event_of(answer: Any) -> _core.Event:
            if isinstance(answer, BaseException):
                return self.aside_failed(command_id, answer)
            try:
                return answer_event(command_id, answer, request.turns)
            except Exception as error:  # noqa: BLE001 - as above
                return self.aside_failed(command_id, error)

        in_thread("role", lambda: tried(model.respond, request), told)

    async def ask_model(self, command_id: int, answer: Any, request: Any, contained: bool) -> None:  # noqa: FBT001
        try:
            event = answer_event(command_id, await answer, request.turns)
        except asyncio.CancelledError as error:
            if not contained or command_id not in self.tasks:
                raise
            event = self.model_raised(command_id, error, contained=True)
        except (*RAISED, SystemExit) as error:
            if closes(error):
                raise
            event = self.model_raised(command_id, error, contained=contained)
        self.arrived(event)

    async def hear(self, command_id: int, answer: Any, done: Callable[[Any], None]) -> None:
        """Awaits an answer in the loop beside; `done` hears it, or what was raised instead."""
        try:
            said = await answer
        except asyncio.CancelledError as error:
            if command_id not in self.tasks:
                raise
            said = error
        except RAISED as error:
            if closes(error):
                raise
            said = error
        done(said)

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

    def named(self, tool: Tool[..., Any]) -> None:
        """Gives the task that calls it the name of its tool."""
        task = asyncio.current_task()
        if task is not None:
            task.set_name(f"loopwright {self.run_id} tool {tool.name}")

    def run_beside(self, command_id: int, call: _core.Call, flag: CancelFlag) -> None:
        tool = self.at(command_id).tools[call.name]
        context = self.context(command_id, call, flag)

        async def work() -> None:
            self.named(tool)
            try:
                outcome = await tool.run(call.arguments, context)
            except asyncio.CancelledError as error:
                if command_id not in self.tasks:
                    raise
                outcome = cancelled(tool, error)
            except UNREADABLE as error:
                outcome = unreadable(error)
            self.arrived(self.executed(command_id, call, outcome))

        self.start(command_id, work())

    def run_in_thread(self, command_id: int, call: _core.Call, flag: CancelFlag) -> None:
        tool = self.at(command_id).tools[call.name]
        context = self.context(command_id, call, flag)
        settled = threading.Lock()

        def settle(outcome: Outcome) -> None:
            if settled.acquire(blocking=False):
                self.arrived(self.executed(command_id, call, outcome))

        def work() -> None:
            try:
                try:
                    given = run_here(tool, call.arguments, context)
                except UNREADABLE as error:
                    given = unreadable(error)
                if isinstance(given, Outcome):
                    settle(given)
                else:
                    self.soon(lambda: self.go_on_beside(command_id, tool, given, flag, settle))
            except BaseException as error:  # noqa: BLE001 - a fault of ours, told as one
                self.broken(error)

        in_thread(f"tool {tool.name}", work)
        if tool.timeout is not None:
            error = ToolTimeout(f"{tool.name!r} gave no result within {tool.timeout:g} s", hint="ask for less at once")
            failure = {"kind": error.code, "message": error.message, "hint": error.hint}

            def late() -> None:
                if not flag.is_set:
                    flag.set()
                    settle(Outcome([], failure=failure, error=error))

            self.limits.append((self.run.now() + tool.timeout, late))

    def go_on_beside(
        self, command_id: int, tool: Tool[..., Any], given: Any, flag: CancelFlag, settle: Callable[[Outcome], None]
    ) -> None:
        """A plain function has handed out an awaitable: a decorator in between often does."""

        async def wait() -> None:
            self.named(tool)
            try:
                outcome = await run_later(tool, given)
            except asyncio.CancelledError as error:
                if command_id not in self.tasks:
                    raise
                outcome = cancelled(tool, error)
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
        if command_id in self.line:
            # Later: those behind it may be of no use any more, too.
            self.soon(lambda: self.next_in_line(command_id))
        model = self.calls.pop(command_id, None) or self.asides.pop(command_id, None)
        self.asked.pop(command_id, None)
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
        command_id: int = command.id  # type: ignore[assignment]
        who, patience = self.who(command_id), self.time_to_answer(command)

        def begin() -> None:
            ends = self.run.now() + patience

            def question() -> Approval:
                return Approval.of(command, self.run.now(), self.plan.around, who, ends)

            def done(answer: Any) -> None:
                self.arrived(self.decided(command, answer))
                self.soon(lambda: self.next_in_line(command_id))

            self.put(question, command, ask, done)

        self.in_line(command_id, ask, begin, told=True)

    def ask_again(self, command: _core.Command, ask: Callable[[Any], Any]) -> None:
        self.in_line(command.id, ask, lambda: self.put_again(command, ask), told=False)  # type: ignore[arg-type]

    def put_again(self, command: _core.Command, ask: Callable[[Any], Any]) -> None:
        question, settled = self.doubt(command), threading.Lock()

        def settle(answer: Any) -> None:
            if not settled.acquire(blocking=False):
                return
            self.soon(lambda: self.next_in_line(command.id))  # type: ignore[arg-type]
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

        def heard(answer: Any) -> None:
            if inspect.isawaitable(answer):
                self.start(command.id, self.hear(command.id, answer, done))  # type: ignore[arg-type]
            else:
                done(answer)

        def told(answer: Any) -> None:
            self.questions.discard(command.id)
            if self.closed:
                drop(answer)
            else:
                self.soon(lambda: heard(answer))

        if is_async(ask):
            heard(tried(ask, question()))
        else:
            # One that blocks (`input()`) does not hold up the deadline.
            in_thread("approval", self.asked_in_turn(command.id, question, ask), told)  # type: ignore[arg-type]

    def search(self, command: _core.Command) -> None:
        if not self.plan.gatherers:
            self.keep_call(command, self.hub.search(self.key, command, list(self.plan.folders)))
            return
        from loopwright._gather import collect

        async def work() -> None:
            others, failures = await collect(self.plan.gatherers, command.question or "")
            self.soon(lambda: search(others, failures))

        def search(others: str, failures: list[str]) -> None:
            if command.id in self.tasks:
                self.keep_call(command, self.hub.search(self.key, command, list(self.plan.folders), others, failures))

        self.start(command.id, work())  # type: ignore[arg-type]

    def look_up(self, command: _core.Command) -> None:
        async def work() -> None:
            self.arrived(await self.looked_up(command))

        self.start(command.id, work())  # type: ignore[arg-type]

    def hook(self, command: _core.Command) -> None:
        from loopwright._hooked import ask_sync

        ask_sync(self, command)

    def choose(self, command: _core.Command) -> None:
        from loopwright._hooked import choose_sync

        choose_sync(self, command)
