"""Which command of the machine leads to what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopwright._suspend import kind_of_work
from loopwright.errors import InternalError
from loopwright.events import ToolFinished, from_notice
from loopwright.tools._context import CancelFlag

from ._works import gather, look_up, recall, run_tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from loopwright import _core

    from ._generator import Driver

_STARTS = frozenset({"generate", "execute", "search", "recall", "query", "fetch", "embed", "consult", "hook", "choose"})
"""Commands that begin work. A question to a person is none: whoever reads may be the one who brings it."""


def carry_out(driver: Driver, commands: Sequence[_core.Command], *, kept: bool = False) -> None:
    """Carries out what the machine wants. Where a journal takes its time, what may change the world waits for it, and
    so does the end; `kept` says that it has all so far.
    """
    told = driver.told
    for at, command in enumerate(commands):
        kind = command.kind
        if driver.holds and not kept and kind in ("persist", "finish"):
            driver.hold(commands[at:])
            return
        if kind in _STARTS:
            unread = told.items or not driver.reading or (driver.waker is not None and driver.told_to_leave())
            if unread and told.seq != told.first:
                told.put_off_start(command)
            else:
                begin_work(driver, kind, command)
        elif kind == "emit":
            notice: dict[str, Any] = command.notice  # type: ignore[assignment]
            if not driver.watch and (driver.observer is None or notice["type"] not in driver.observer.wanted):
                continue
            event = from_notice(notice)
            if type(event) is ToolFinished and event.is_error:
                event.__dict__["_exception"] = driver.raised.get((event.path, event.round, event.call_id))
            if driver.observer is not None:
                driver.observer.heard(event)
            if driver.watch:
                told.mark()
                told.items.append(event)
        elif kind == "abort":
            if not told.unwanted(command.id):  # type: ignore[arg-type]
                driver.abort(command.id)  # type: ignore[arg-type]
        elif kind == "timer":
            driver.timers[command.id] = command.at  # type: ignore[index, assignment]
        elif kind == "approve":
            driver.questions.approve(driver, command)
        elif kind == "finish":
            driver.outcome = command.ended
        elif kind == "persist":
            if driver.plan.durable and not driver.holds:
                driver.run.persist()
        elif kind == "refuse":
            message = f"the machine refused an event of its own driver: {command.why}"
            raise InternalError(message, hint="please report this with the journal of the run")


def begin_work(driver: Driver, kind: str, command: _core.Command) -> None:
    """Carries out a command that begins work."""
    command_id: int = command.id  # type: ignore[assignment]
    if kind == "generate":
        driver.requests.generate(driver, command)
    elif kind == "execute":
        # Several begin in the same round of a loop, before anybody is told of the first one's end.
        now = len(command.calls) == 1
        for call in command.calls:
            if driver.questions.leaves(driver, command, call):
                continue
            flag = CancelFlag()
            driver.start(command_id, f"tool {call.name}", run_tool, driver, command_id, call, flag, flag=flag, now=now)
    elif kind == "hook":
        from loopwright._hooked import begin_hooks

        begin_hooks(driver, command)
    elif kind == "choose":
        from loopwright._hooked import begin_choice

        begin_choice(driver, command)
    elif kind == "recall":
        recall(driver, command)
    elif kind != "search":
        driver.start(command_id, kind, look_up, driver, command)
    elif driver.plan.gatherers:
        driver.start(command_id, "gathering", gather, driver, command)
    else:
        driver.requests.keep(command, driver.hub.search(driver.key, command, list(driver.plan.folders)))


def reopen(driver: Driver, commands: Iterable[_core.Command]) -> None:
    """Carries out what a run that broke off had not heard the end of.

    Each tool call comes by itself: one whose tool is idempotent runs again; of others nobody knows whether they
    took effect, so a person is asked.
    """
    driver.begun = driver.questions.reopening = True
    if driver.run.state != "running":
        driver.ends.appendleft("resume")
    for command in commands:
        if command.kind == "emit" and not driver.watch:
            continue
        is_call = command.kind == "execute"
        if is_call and kind_of_work(driver.run, driver.plan, command, command.calls[0]) == "in_doubt":
            driver.questions.in_doubt(driver, command)
        else:
            carry_out(driver, [command])
    driver.questions.reopening = False
