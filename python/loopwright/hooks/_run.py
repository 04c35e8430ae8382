"""Asking hooks: one after the other, each within its time, whatever they do.

Plain functions run in threads that are kept for a moment and used again, so that one that hangs holds up nobody; async
ones run in the run's own loop. What a hook raises, and what is no answer, is its failure.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from loopwright import _core
from loopwright._awaited import carried
from loopwright._dataclasses import dataclass
from loopwright._effects import Beside, Raised, TimeUp, Within, attempt
from loopwright._threads import drop
from loopwright._user_code import RAISED, log_raised
from loopwright.errors import UsageError

from ._answers import clean, spoken
from ._context import HookContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from loopwright._effects import Work

    from ._context import Subject
    from ._hook import Hook

__all__ = ["Asked", "HookReply", "Late", "asking", "asking_all", "run_stage", "run_stage_async"]

_MOST_WORDS = 2_000


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

    __slots__ = ("clock", "command", "deps", "error", "hooks", "place", "replies", "run_id", "who")

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


def timed(hook: Hook, context: HookContext) -> Any:
    """What an inline hook gives; its lateness is noticed, not prevented."""
    started, function = time.monotonic(), cast("Callable[[HookContext], Any]", hook.function)
    try:
        value = function(context)
    except RAISED as error:
        return error
    if hook.timeout is not None and time.monotonic() - started > hook.timeout:
        drop(value)
        return late(hook)
    if value is not None and inspect.isawaitable(value):
        drop(value)
        return TypeError("an inline hook gave something to await")
    return value


# ---- those that take their time ----


def asking(hook: Hook, *given: Any) -> Work:
    """What a hook answers within its time, or what went wrong."""
    if hook.inline:
        return timed(hook, given[0])
    ends = None if hook.timeout is None else time.monotonic() + hook.timeout
    if hook.is_async:
        sent = attempt(hook.function, *given)
    else:
        sent = yield _until(ends, Beside(None, partial(hook.function, *given)))
    if inspect.isawaitable(sent):
        sent = yield _until(ends, sent)
    if type(sent) is not Raised:
        return sent
    return late(hook) if isinstance(sent.error, TimeUp) else sent.error


def _until(ends: float | None, effect: Any) -> Any:
    return effect if ends is None else Within(ends - time.monotonic(), effect)


def asking_all(asked: Asked) -> Work:
    """Asks the hooks of a command that are left, in their order."""
    while (hook := asked.next) is not None:
        asked.take(hook, (yield from asking(hook, asked.context())))


# ---- outside of a run ----


async def run_stage_async(
    hooks: Iterable[Hook], stage: str, subject: Subject, *, run_id: str = "", deps: Any = None
) -> list[HookReply]:
    """`run_stage` in an event loop."""
    replies: list[HookReply] = []
    for hook in hooks:
        if hook.stage != stage:
            continue
        value = await carried(asking(hook, HookContext(stage, run_id, deps, subject=subject)))
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
