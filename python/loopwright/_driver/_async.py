"""The driver of asyncio: a run in the task of whoever awaits it, its tools as tasks beside that."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
from typing import TYPE_CHECKING, Any

from loopwright import _core
from loopwright._approval import Approval, is_yes
from loopwright._bridge import Bridge
from loopwright._foreign import RAISED, closes
from loopwright.errors import InternalError
from loopwright.models import answer_event
from loopwright.tools._context import CancelFlag
from loopwright.tools._run import CANCELLED, Outcome, cancelled, run

from ._base import Driver
from ._begin import Job, begin_later, begin_now
from ._work import GRACE, UNREADABLE, cancelling, drop, given_up, in_thread, is_async, tried, unreadable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from loopwright._plan import Plan
    from loopwright.models import Model


_PUNCTUAL = 0.002
"""Seconds that a timer of an event loop may be early."""
_FROM_OUTSIDE = "a task of the run was cancelled from outside"
_STANDSTILL = 0.02
"""Seconds between two looks at a clock that stands still."""
_TURNS = 3
"""Turns of an event loop within which it has told a task of a deadline that has passed, or of a scope that was left."""


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
        # Something was done at once since it began to pump.
        self.hurried = False
        # Whether the loop itself has called, and all others have had their turn.
        self.in_turn = False
        # Work that begins beside a reader who looks at its announcement.
        self.beside: asyncio.Handle | None = None
        # True while the next work waits for a turn of the event loop, in which a cancellation of the reader is heard.
        self.asks_loop = False
        self.timers: dict[int, asyncio.TimerHandle] = {}
        self.tasks: dict[int, dict[Job, None]] = {}
        self.ending: set[asyncio.Task[Any]] = set()
        self.bridge, self.key = Bridge.enter(self.arrived)
        self.hub = self.bridge.hub

    async def batches(
        self, start: _core.Event | list[_core.Command], signal: Any = None
    ) -> AsyncGenerator[list[Any], None]:
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
                    batch = self.next_told()
                    if not batch:
                        if self.asks_loop:
                            break
                        continue
                    self.reading = False
                    if self.put_off:
                        # The last event is told by itself: what it announces begins while it is looked at, if that
                        # takes longer than the loop needs to tell the reader of a cancellation.
                        if len(batch) > 1:
                            yield batch[:-1]
                        reader = asyncio.current_task()
                        self.begin_beside(reader, cancelling(reader), next(iter(self.told), None), _TURNS)
                        batch = batch[-1:]
                    yield batch
                    self.reading = True
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

    def heard_all(self) -> bool:
        # A task that was cancelled while it waited has not heard of it yet: nothing begins in between.
        waker = self.waker
        return self.reading and not (waker is not None and waker.cancelled())

    def begin_put_off(self) -> None:
        self.pumping, self.hurried = True, False
        try:
            super().begin_put_off()
        finally:
            self.pumping = False
        self.pump()

    def next_is_work(self) -> None:
        # The end of the reader may have been asked for while it looked at the last event. The loop tells it as soon as
        # it waits: what was to be called before comes first, and so does a timer that is due.
        over = self.outcome is not None or self.fatal is not None
        self.asks_loop = not over and self.may_be_told()
        if self.beside is not None:
            self.beside.cancel()
        if self.asks_loop:
            self.loop.call_at(self.loop.time(), self.begin_announced, self.told[0])
        else:
            self.begin_put_off()

    def may_be_told(self) -> bool:
        """Whether the reader, whose task is running, may be told to end as soon as it waits: it is marked so, or the
        loop has something to call. A loop that does not show what it has may have anything.
        """
        if getattr(asyncio.current_task(), "_must_cancel", True):
            return True
        calls, timers = getattr(self.loop, "_ready", None), getattr(self.loop, "_scheduled", None)
        if calls is None or timers is None or any(not (call is self.beside or call.cancelled()) for call in calls):
            return True
        return bool(timers) and timers[0].when() <= self.loop.time()

    def begin_beside(self, reader: asyncio.Task[Any] | None, before: int, command: Any, turns: int) -> None:
        """Begins work while the reader looks at its announcement, in so many turns of the loop; not if the reader was
        cancelled since then.
        """
        if type(command) is not _core.Command or not self.told or self.told[0] is not command:
            return
        if turns:
            self.beside = self.loop.call_soon(self.begin_beside, reader, before, command, turns - 1)
        elif not self.reading and cancelling(reader) == before:
            self.begin_announced(command)

    def begin_announced(self, command: Any) -> None:
        """Begins work whose announcement the reader has, unless that has begun since, or the reader is to leave."""
        waker = self.waker
        if not self.told or self.told[0] is not command or (waker is not None and waker.cancelled()):
            return
        self.in_turn = True
        try:
            self.begin_put_off()
        finally:
            self.in_turn = False

    def dropped(self) -> None:
        """Whoever read has gone, and nobody comes to close the run: it ends now. May be called from any thread."""
        if self.loop.is_closed() or (threading.get_ident() == self.thread and not self.pumping):
            self.abandon()
        else:
            self.soon(self.abandon)

    def abandon(self) -> None:
        """Ends the run without waiting for anybody."""
        if self.loop.is_closed():
            # A request that is on its way ends by itself, and is heard of nowhere; tasks can't be told anything.
            self.calls.clear()
            self.asides.clear()
            self.tasks.clear()
        self.give_up()
        self.let_go()

    def arrived(self, item: Any) -> None:
        """Something came from Rust, from a tool, a timer or a person: an event, or deltas."""
        if isinstance(item, list):
            self.tell_deltas(item)
            self.wake()
            return
        if type(item) is tuple:
            self.tell_pieces(*item)
            self.wake()
            return
        self.inbox.append(item)
        self.pump()

    def pump(self) -> None:
        """Feeds the machine with all that is there."""
        if self.pumping:
            return
        self.pumping, self.hurried = True, False
        try:
            inbox = self.inbox
            while self.outcome is None and (inbox or self.ends):
                # Once it has begun and nobody wants it to end, what comes first is next: a call less for each event.
                event = self.next_event() if self.ends or not self.begun else inbox.popleft()
                if event is None:
                    break
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
        """Nothing of the run is left behind: no call, no timer, no task, no hold of its journal."""
        self.let_go()
        if self.ending:
            _, left = await asyncio.wait(self.ending, timeout=GRACE)
            given_up(left)

    def let_go(self) -> None:
        """Stops all that is under way, and gives the journal back."""
        # Whoever keeps an exception keeps its frames, and with them the driver.
        self.run.close()
        self.line.clear()
        self.cancelled_model()
        self.bridge.leave(self.key)
        for handle in self.timers.values():
            handle.cancel()
        self.timers.clear()
        for command_id in list(self.tasks):
            self.abort(command_id)

    def begin_aside(self, command: _core.Command, model: Model) -> None:
        self.start(command.id, str(command.purpose), None, self.ask_aside, command.id, model, command.request)  # type: ignore[arg-type]

    def begin_model(self, command: _core.Command, answer: Any, *, contained: bool) -> None:
        work = command.id, answer, command.request, contained
        task = self.start_now(command.id, "model", None, self.ask_model, *work)  # type: ignore[arg-type]
        if not task.done():
            # Cancelled before its first step, it would leave a coroutine that nobody awaits.
            task.add_done_callback(lambda _: drop(answer))

    async def ask_aside(self, command_id: int, model: Model, request: Any) -> _core.Event:
        """Asks a role's own model, beside the loop: one that blocks holds nothing up."""
        try:
            if is_async(model.respond):
                answer = await model.respond(request)  # type: ignore[misc]
            else:
                answer = await self.in_a_thread("role", lambda: tried(model.respond, request))
                if inspect.isawaitable(answer):
                    answer = await answer
            if isinstance(answer, BaseException):
                return self.aside_failed(command_id, answer)
            return answer_event(command_id, answer, request.turns)
        except asyncio.CancelledError as error:
            if asyncio.current_task() in self.ending:
                raise
            return self.aside_failed(command_id, error)
        except RAISED as error:
            if closes(error):
                raise
            return self.aside_failed(command_id, error)

    async def ask_model(self, command_id: int, answer: Any, request: Any, contained: bool) -> _core.Event:  # noqa: FBT001
        try:
            return answer_event(command_id, await answer, request.turns)
        except asyncio.CancelledError as error:
            if not contained or asyncio.current_task() in self.ending:
                raise
            return self.model_raised(command_id, error, contained=True)
        except (*RAISED, SystemExit) as error:
            if closes(error):
                raise
            return self.model_raised(command_id, error, contained=contained)

    def in_a_thread(self, name: str, work: Callable[[], Any]) -> asyncio.Future[Any]:
        """What `work` gives, in a thread beside the loop. No coroutine: whoever awaits it must see from the traceback
        whether it is being closed itself.
        """
        given: asyncio.Future[Any] = self.loop.create_future()

        def settle(value: Any) -> None:
            if given.done():
                drop(value)
            else:
                given.set_result(value)

        in_thread(name, work, lambda value: self.soon(lambda: settle(value)))
        return given

    def start(
        self, command_id: int, what: str, flag: CancelFlag | None, function: Any, *arguments: Any
    ) -> asyncio.Task[None]:
        """Starts a task; what `function` gives is the event that answers the command."""
        return self.begin(begin_later, command_id, what, flag, function, arguments)

    def start_now(
        self, command_id: int, what: str, flag: CancelFlag | None, function: Any, *arguments: Any
    ) -> asyncio.Task[None]:
        """The same, for work that may be over at once. Other tasks get their turn all the same, and who watches is told
        of a step before the next but one is taken.
        """
        now = self.pumping and not (self.watch and self.hurried) and (self.in_turn or self.bridge.has_time(self.loop))
        self.hurried = True
        return self.begin(begin_now if now else begin_later, command_id, what, flag, function, arguments)

    def begin(
        self, begin: Any, command_id: int, what: str, flag: CancelFlag | None, function: Any, arguments: Any
    ) -> asyncio.Task[None]:
        job = Job(flag)
        self.tasks.setdefault(command_id, {})[job] = None
        work = self.work(command_id, job, function, arguments)
        task: asyncio.Task[None] = begin(self.loop, work, f"loopwright {self.run_id} {what}", self.variables)
        job.task = task
        if task.cancelled() or not task.done():
            task.add_done_callback(lambda _: self.unbegun(command_id, job, function, arguments))
        if job.dropped and not task.done():
            self.ending.add(task)
            task.cancel()
        return task

    async def work(self, command_id: int, job: Job, function: Any, arguments: Any) -> None:
        try:
            event = await function(*arguments)
        except asyncio.CancelledError:
            if self.forget(command_id, job):
                # Not we have cancelled it: the run can't know what became of the work.
                self.broken(InternalError(_FROM_OUTSIDE))
            raise
        except BaseException as error:  # noqa: BLE001 - raised where the run is awaited
            if self.forget(command_id, job):
                self.broken(error)
        else:
            if self.forget(command_id, job):
                self.arrived(event)

    def unbegun(self, command_id: int, job: Job, function: Any, arguments: Any) -> None:
        """A task is done. One that was cancelled from outside before its first step has told nobody: a tool fails, as
        one that is cancelled while it runs.
        """
        if not self.forget(command_id, job):
            return
        if function == self.run_tool:
            self.arrived(self.executed(command_id, arguments[1], Outcome([], failure=CANCELLED)))
        else:
            self.broken(InternalError(_FROM_OUTSIDE))

    def forget(self, command_id: int, job: Job) -> bool:
        """A task has ended; whether anybody still waits for what it gives."""
        self.ending.discard(job.task)
        jobs = self.tasks.get(command_id)
        if jobs is None or job not in jobs:
            return False
        del jobs[job]
        if not jobs:
            del self.tasks[command_id]
        return True

    def execute(self, command: _core.Command) -> None:
        # Several begin in the same round of the loop, before anybody is told of the first one's end.
        start = self.start_now if len(command.calls) == 1 else self.start
        for call in command.calls:
            flag = CancelFlag()
            start(command.id, f"tool {call.name}", flag, self.run_tool, command.id, call, flag)  # type: ignore[arg-type]

    async def run_tool(self, command_id: int, call: _core.Call, flag: CancelFlag) -> _core.Event:
        plan = self.at(command_id) if self.plan.agents else self.plan
        tool = plan.tools[call.name]
        try:
            context = self.context(command_id, call, flag) if tool.context_parameter else None
            outcome = await run(tool, call.arguments, context)
        except asyncio.CancelledError as error:
            if asyncio.current_task() in self.ending:
                raise
            outcome = cancelled(tool, error)
        except UNREADABLE as error:
            outcome = unreadable(error)
        return self.executed(command_id, call, outcome)

    def abort(self, command_id: int) -> None:
        if command_id in self.line and command_id not in self.tasks:
            # It has not been put yet.
            del self.line[command_id]
            return
        handle = self.timers.pop(command_id, None)
        if handle is not None:
            handle.cancel()
            return
        model = self.calls.pop(command_id, None) or self.asides.pop(command_id, None)
        if model is not None:
            model.abort()
            return
        for job in self.tasks.pop(command_id, ()):
            if job.flag is not None:
                job.flag.set()
            job.dropped = True
            if job.task is not None:
                self.ending.add(job.task)
                job.task.cancel()

    def timer(self, command_id: int, at: float) -> None:
        def fired() -> None:
            left = at - self.run.now()
            if left > _PUNCTUAL:
                # The clock stood still meanwhile, or does so now.
                self.timers[command_id] = self.loop.call_later(max(left, _STANDSTILL), fired)
                return
            self.timers.pop(command_id, None)
            self.arrived(self.fired(command_id))

        self.timers[command_id] = self.loop.call_later(max(0.0, at - self.run.now()), fired)

    def approve(self, command: _core.Command) -> None:
        ask = self.plan.approve
        if ask is None:
            self.inbox.append(self.nobody(command))
            return
        command_id: int = command.id  # type: ignore[assignment]
        patience = self.time_to_answer(command)

        def begin() -> None:
            self.start(command_id, "approval", None, self.ask_person, command, ask, self.run.now() + patience)

        self.in_line(command_id, ask, begin, told=True)

    async def ask_person(self, command: _core.Command, ask: Callable[[Any], Any], ends: float) -> _core.Event:
        who = self.who(command.id)

        def question() -> Approval:
            return Approval.of(command, self.run.now(), self.plan.around, who, ends)

        try:
            return self.decided(command, await self.answer_to(command, question, ask))
        finally:
            self.next_in_line(command.id)  # type: ignore[arg-type]

    def ask_again(self, command: _core.Command, ask: Callable[[Any], Any]) -> None:
        command_id: int = command.id  # type: ignore[assignment]

        def begin() -> None:
            self.start(command_id, "approval", None, self.run_again, command, ask)

        self.in_line(command_id, ask, begin, told=False)

    async def run_again(self, command: _core.Command, ask: Callable[[Any], Any]) -> _core.Event:
        question = self.doubt(command)
        try:
            answer = await asyncio.wait_for(self.answer_to(command, lambda: question, ask), question.expires_in)
        except asyncio.TimeoutError:
            answer = None
        finally:
            self.next_in_line(command.id)  # type: ignore[arg-type]
        if not is_yes(answer):
            return self.unknown(command)
        return await self.run_tool(command.id, command.calls[0], CancelFlag())  # type: ignore[arg-type]

    async def answer_to(
        self, command: _core.Command, question: Callable[[], Approval], ask: Callable[[Any], Any]
    ) -> Any:
        """What a person says, or what goes wrong while asking."""
        command_id: int = command.id  # type: ignore[assignment]
        try:
            if is_async(ask):
                answer = ask(question())
            else:
                # One that blocks (`input()`) holds up neither the loop nor the deadline.
                answer = await self.in_a_thread("approval", self.asked_in_turn(command_id, question, ask))
            if inspect.isawaitable(answer):
                answer = await answer
        except asyncio.CancelledError as error:
            if asyncio.current_task() in self.ending:
                raise
            answer = error
        except RAISED as error:
            if closes(error):
                raise
            answer = error
        finally:
            self.questions.discard(command_id)
        return answer

    def search(self, command: _core.Command) -> None:
        if not self.plan.gatherers:
            self.keep_call(command, self.hub.search(self.key, command, list(self.plan.folders)))
            return
        job = Job(None)
        self.tasks.setdefault(command.id, {})[job] = None  # type: ignore[arg-type]
        work, name = self.gather(command, job), f"loopwright {self.run_id} gathering"
        job.task = begin_later(self.loop, work, name, self.variables)
        job.task.add_done_callback(lambda _: self.unbegun(command.id, job, self.gather, ()))  # type: ignore[arg-type]

    async def gather(self, command: _core.Command, job: Job) -> None:
        """Asks memory and functions, and hands what they gave to the search of the folders."""
        from loopwright._gather import collect

        try:
            others, failures = await collect(self.plan.gatherers, command.question or "")
        except asyncio.CancelledError:
            self.forget(command.id, job)  # type: ignore[arg-type]
            raise
        except BaseException as error:  # noqa: BLE001 - raised where the run is awaited
            if self.forget(command.id, job):  # type: ignore[arg-type]
                self.broken(error)
            return
        if self.forget(command.id, job):  # type: ignore[arg-type]
            folders = list(self.plan.folders)
            self.keep_call(command, self.hub.search(self.key, command, folders, others, failures))

    def look_up(self, command: _core.Command) -> None:
        self.start(command.id, command.kind, None, self.looked_up, command)  # type: ignore[arg-type]

    def hook(self, command: _core.Command) -> None:
        from loopwright._hooked import ask_async

        ask_async(self, command)

    def choose(self, command: _core.Command) -> None:
        from loopwright._hooked import choose_async

        choose_async(self, command)
