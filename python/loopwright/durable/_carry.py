"""One command of a machine carried out by itself, with what the agent has: its models, tools, hooks and memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopwright import _core
from loopwright._dataclasses import replace
from loopwright._driver._async import AsyncDriver
from loopwright._driver._commands import begin_work
from loopwright._driver._generator import ARRIVED
from loopwright._driver._works import run_tool
from loopwright.errors import UsageError
from loopwright.tools._context import CancelFlag

if TYPE_CHECKING:
    from collections.abc import Callable

    from loopwright._plan import Plan

WORK = frozenset({"generate", "execute", "search", "recall", "query", "fetch", "embed", "consult", "hook", "choose"})
"""Commands that are work; a question to a person is one where somebody is there to ask."""


class PastRun:
    """A run as its journal tells of it, made again when something is asked: which sub-agent a command came from, what
    was said before.
    """

    seq = 0
    """Its events are counted by whoever drives it."""

    def __init__(self, name: str, config: _core.MachineConfig, lines: Callable[[], str]) -> None:
        self._name, self._config, self._lines = name, config, lines
        self._run: _core.Run | None = None

    def __getattr__(self, member: str) -> Any:
        if self._run is None:
            text = self._lines()
            events = text.count("\n") - 1
            if events > 0:
                self._run = _core.Run.fork(self._name, text, events)[0]
            else:
                self._run = _core.Run(self._name, self._config)
        return getattr(self._run, member)

    def close(self) -> None:
        """Lets go of it; it wrote nothing."""
        if self._run is not None:
            self._run.close()


class OneCommand(AsyncDriver):
    """Drives no run: the event that answers one command is what it gives."""

    def go(self, why: str = ARRIVED) -> None:  # noqa: ARG002 - whatever arrived
        self.wake()

    async def event(self, command: _core.Command, call: _core.Call | None) -> _core.Event:
        """The event that answers a command; of one that has several calls, that of one call."""
        try:
            self._begin(command, call)
            while True:
                while self.starts:
                    self.begin(self.starts.popleft())
                if self.fatal is not None:
                    raise self.fatal
                if self.inbox:
                    return self.inbox.popleft()
                self.waker = self.loop.create_future()
                await self.waker
                self.waker = None
        finally:
            self.waker = None
            await self.close()

    def _begin(self, command: _core.Command, call: _core.Call | None) -> None:
        if command.kind == "approve":
            self.questions.approve(self, command)
        elif call is None:
            begin_work(self, command.kind, command)
        else:
            flag, number = CancelFlag(), command.id or 0
            self.start(number, f"tool {call.name}", run_tool, self, number, call, flag, flag=flag, now=True)


async def carry_out(
    plan: Plan,
    command: _core.Command,
    call: _core.Call | None,
    run_id: str,
    deps: Any,
    lines: Callable[[], str],
) -> _core.Event:
    """The event that answers a command."""
    asks = command.kind == "approve" and callable(plan.approve)
    if command.kind not in WORK and not asks:
        message = f"a command {command.kind!r} is nothing that an agent carries out"
        hint = "timers, questions and what is told are the driver's; the kinds of work are " + ", ".join(sorted(WORK))
        raise UsageError(message, "not_work", hint)
    if command.kind == "execute":
        calls = command.calls
        if call is None and len(calls) == 1:
            call = calls[0]
        if call is None or call.call_id not in [each.call_id for each in calls]:
            message = (
                f"the command has {len(calls)} calls, and {'none' if call is None else repr(call.call_id)} was named"
            )
            raise UsageError(message, "no_such_call", "give one of command.calls; each has an event of its own")
    past: Any = PastRun(run_id, plan.config, lines)
    # A function in place of `Answers`: those are bound to the questions of a run that was left.
    plan = plan if callable(plan.approve) else replace(plan, approve=None)
    return await OneCommand(plan, past, run_id, deps, watch=False).event(command, call)
