"""Asking hooks: one after the other, each within its time, whatever they do.

Plain functions run in threads that are kept for a moment and used again, so that one that hangs holds up nobody; async
ones run in the run's own loop. What a hook raises, and what is no answer, is its failure.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import os
import queue
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loopwright import _core
from loopwright._foreign import RAISED, log_raised
from loopwright.errors import UsageError

from ._answers import clean, spoken
from ._context import HookContext

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from ._context import Subject
    from ._hook import Hook

__all__ = ["Asked", "HookReply", "Late", "in_worker", "run_stage", "run_stage_async", "tried"]

_IDLE = 2.0
"""Seconds that a thread waits for more to do."""
_MOST_WORDS = 2_000
_LAPSED = object()
"""What stands for the answer of a hook whose time is up."""


class Late(Exception):
    """A hook gave no answer in time."""


@dataclass(frozen=True)
class HookReply:
    """What a hook answered: `continue`, `replace`, `veto`, `add_context` or `failed`; `text` says more."""

    name: str
    answer: str
    text: str = ""
    stop: bool = False


class Asked:
    """The hooks of a `hook` command, and what they have said so far."""

    __slots__ = ("clock", "command", "deps", "error", "hooks", "place", "replies", "run_id", "token", "who")

    def __init__(
        self,
        command: _core.Command,
        hooks: list[Hook],
        run_id: str,
        deps: Any,
        clock: Callable[[], float],
        who: tuple[str | None, str | None] = (None, None),
    ) -> None:
        self.command = command
        self.hooks = hooks
        self.run_id = run_id
        self.deps = deps
        self.clock = clock
        # The name and the path of the sub-agent whose stage it is.
        self.who = who
        self.place = 0
        self.replies: list[tuple[str, str, str, bool]] = []
        self.error: BaseException | None = None
        # Names the hook whose answer is waited for.
        self.token: object = None

    @property
    def next(self) -> Hook | None:
        """The hook whose turn it is."""
        return self.hooks[self.place] if self.place < len(self.hooks) else None

    def context(self) -> HookContext:
        """What the next hook is shown."""
        command = self.command
        agent, path = self.who
        return HookContext(
            command.stage or "", self.run_id, self.deps, command=command, clock=self.clock, agent=agent, path=path
        )

    def take(self, hook: Hook, value: object) -> None:
        """Takes a hook's answer, or what went wrong instead."""
        self.place += 1
        try:
            if isinstance(value, BaseException):
                raise value
            kind, text = spoken(value)
            if kind != "continue":
                self.command = self.command.after(kind, text)
        except BaseException as error:  # noqa: BLE001 - whatever a hook does is its failure
            kind, text = "failed", words(error)
            if not isinstance(error, Late):
                log_raised("hooks", f"the hook {clean(hook.name)}", error)
            if hook.stops:
                self.error = error
        self.replies.append((clean(hook.name), kind, text, hook.stops))
        if kind == "veto" or (kind == "failed" and hook.stops):
            self.place = len(self.hooks)

    def event(self) -> _core.Event:
        """What the machine is told."""
        return _core.Event.hooked(self.command.id or 0, self.replies)


def words(error: BaseException) -> str:
    """What went wrong, for people."""
    if isinstance(error, Late):
        return str(error)
    if isinstance(error, UsageError) and error.code in ("invalid_answer", "invalid_replacement"):
        return clean(str(error))[:_MOST_WORDS]
    try:
        return clean(f"{type(error).__name__}: {error}")[:_MOST_WORDS]
    except Exception:  # noqa: BLE001 - an exception that can't be shown
        return type(error).__name__


def late(hook: Hook) -> Late:
    """The failure of a hook whose time is up."""
    return Late(f"it gave no answer within {hook.timeout:g} s")


def tried(function: Callable[[Any], Any], argument: Any) -> Any:
    """What a function gives, or what it raises."""
    try:
        return function(argument)
    except BaseException as error:  # noqa: BLE001 - handed to who waits
        return error


def timed(hook: Hook, context: HookContext) -> Any:
    """What an inline hook gives; its lateness is noticed, not prevented."""
    started = time.monotonic()
    try:
        value = hook.function(context)
    except RAISED as error:
        return error
    if time.monotonic() - started > hook.timeout:
        drop(value)
        return late(hook)
    if value is not None and inspect.isawaitable(value):
        drop(value)
        return TypeError("an inline hook gave something to await")
    return value


def drop(value: object) -> None:
    """Closes a coroutine that nobody will await."""
    if inspect.iscoroutine(value):
        value.close()


# ---- threads that are used again ----

_lock = threading.Lock()
_idle: list[_Worker] = []


class _Worker:
    """A thread that does one thing after the other, and ends when nobody wants it for a while."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[tuple[Callable[[], Any], Callable[[Any], None]]] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="loopwright hook", daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                work, done = self.jobs.get(timeout=_IDLE)
            except queue.Empty:
                with _lock:
                    if self in _idle:
                        _idle.remove(self)
                        return
                continue
            value = work()
            with _lock:
                _idle.append(self)
            # Who waits may be gone by now.
            with contextlib.suppress(Exception):
                done(value)
            del work, done, value


def in_worker(work: Callable[[], Any], done: Callable[[Any], None]) -> None:
    """Does `work` in a thread that sees the caller's context variables; `done` gets what it gave, in that thread."""
    variables = contextvars.copy_context()
    with _lock:
        worker = _idle.pop() if _idle else None
    if worker is None:
        worker = _Worker()
    worker.jobs.put((lambda: variables.run(work), done))


def _forked() -> None:
    """In a process that was forked: its parent's threads are not here."""
    global _lock  # noqa: PLW0603
    _lock = threading.Lock()
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


# ---- in an event loop ----


async def ask(hook: Hook, context: Any) -> Any:
    """What a hook answers within its time, or what went wrong."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + hook.timeout
    if hook.inline:
        return timed(hook, context)
    if hook.is_async:
        value: Any = tried(hook.function, context)
    else:
        said: asyncio.Future[Any] = loop.create_future()

        def settle(value: Any) -> None:
            if said.done():
                drop(value)
            else:
                said.set_result(value)

        def done(value: Any) -> None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, value)

        in_worker(lambda: tried(hook.function, context), done)
        # Not `asyncio.wait`, which costs as much as the way to the thread and back.
        lapse = loop.call_at(ends, settle, _LAPSED)
        try:
            value = await said
        finally:
            lapse.cancel()
        if value is _LAPSED:
            return late(hook)
    if inspect.isawaitable(value):
        value = await _in_time(hook, value, ends - loop.time())
    return value


async def _in_time(hook: Hook, answer: Awaitable[Any], seconds: float) -> Any:
    """Not `asyncio.wait_for`: that waits for ever on a hook that swallows its cancellation."""
    task = asyncio.ensure_future(answer)
    try:
        await asyncio.wait({task}, timeout=max(0.0, seconds))
        if not task.done():
            return late(hook)
        if task.cancelled():
            return asyncio.CancelledError("the hook was cancelled, and not by the run")
        return task.exception() or task.result()
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(_forget)


def _forget(task: asyncio.Future[Any]) -> None:
    """Nobody asks what became of it."""
    if not task.cancelled():
        task.exception()


async def asked_all(asked: Asked) -> _core.Event:
    """Asks the hooks of a command in their order; gives the event that answers it."""
    while (hook := asked.next) is not None:
        asked.take(hook, await ask(hook, asked.context()))
    return asked.event()


# ---- outside of a run ----


async def run_stage_async(
    hooks: Iterable[Hook], stage: str, subject: Subject, *, run_id: str = "", deps: Any = None
) -> list[HookReply]:
    """`run_stage` in an event loop."""
    replies: list[HookReply] = []
    for hook in hooks:
        if hook.stage != stage:
            continue
        value = await ask(hook, HookContext(stage, run_id, deps, subject=subject))
        try:
            if isinstance(value, BaseException):
                raise value
            kind, text = spoken(value)
            allowed = ("continue", "veto") if stage == "pre_reflect" else ("continue",)
            if kind not in allowed:
                message = f"at {stage} a hook can't answer {kind!r}"
                raise UsageError(message, "invalid_answer", f"answer {' or '.join(allowed)}")
        except BaseException as error:  # noqa: BLE001 - whatever a hook does is its failure
            kind, text = "failed", words(error)
        reply = HookReply(hook.name, kind, text, stop=kind == "failed" and hook.stops)
        replies.append(reply)
        if kind == "veto" or reply.stop:
            break
    return replies


def run_stage(
    hooks: Iterable[Hook], stage: str, subject: Subject, *, run_id: str = "", deps: Any = None
) -> list[HookReply]:
    """Asks the hooks of a stage in order, outside of a run: those around the work after the answer, or in a test.

    A veto, and a failure of a hook with `on_error="stop"`, is the last word: nobody is asked after it.

    >>> from loopwright.hooks import AnswerSubject, Hook, Veto
    >>> hook = Hook("pre_reflect", lambda context: Veto("too short"), name="h")
    >>> run_stage([hook], "pre_reflect", AnswerSubject("42", "natural"))
    [HookReply(name='h', answer='veto', text='too short', stop=False)]
    """
    return asyncio.run(run_stage_async(hooks, stage, subject, run_id=run_id, deps=deps))
