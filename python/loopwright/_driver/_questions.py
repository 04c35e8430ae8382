"""Questions to a person: whose turn it is, how they are put, and what counts as an answer."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from loopwright import _core
from loopwright._approval import Approval, Returned, decision_of, is_yes
from loopwright._effects import Beside, Raised, TimeUp, Within, attempt
from loopwright._suspend import IN_DOUBT, Answers, asker_of, name_of, of_work, path_of
from loopwright._threads import tried
from loopwright._user_code import RAISED, log_raised
from loopwright.tools._context import CancelFlag
from loopwright.tools._run import misfit, outcome_of

from ._work import is_async
from ._works import run_tool, where_led

if TYPE_CHECKING:
    from collections.abc import Callable

    from loopwright._driver._generator import Driver
    from loopwright._effects import Work

_LOG = logging.getLogger("loopwright.approval")
_NOTHING_SAID = "the approver gave None for a call of %s, which is a no: return True, or why not"
_NOBODY = "nobody is there to ask"
_DOUBT_SECONDS = 60.0
_UNKNOWN = "the run broke off while this call was under way, and nobody knows whether it took effect"


def sees_one(ask: Callable[[Any], Any]) -> bool:
    """Whether whoever is asked sees one question at a time: a function that blocks does, until it returns."""
    return not is_async(ask) or bool(getattr(ask, "one_at_a_time", False))


class Questions:
    """The questions of a run. Of those to a person who sees one at a time the first is put, and the others wait."""

    __slots__ = ("asking", "elsewhere", "line", "open", "pending", "put", "reopening")

    def __init__(self) -> None:
        self.line: dict[int, Callable[[], None]] = {}
        # A person who reads one question is not asked another: sub-agents may have theirs at the same time.
        self.asking = threading.Lock()
        self.put: set[int] = set()
        # Those of a run that broke off: nobody knows whether their time had begun.
        self.reopening = False
        # Those that are left open for a person who answers later; and all of them, once the run was left.
        self.open: dict[int, _core.Command] = {}
        self.pending: list[Approval] = []
        # Calls whose work is done elsewhere, by their commands and ids.
        self.elsewhere: dict[tuple[int, str], _core.Command] = {}

    def approve(self, driver: Driver, command: _core.Command) -> None:
        """Asks whether a call may run."""
        ask = driver.plan.approve
        command_id: int = command.id  # type: ignore[assignment]
        if isinstance(ask, Answers):
            if self.answered(driver, command_id, command, ask):
                return
            ask = ask.rest
            if ask is None:
                self.leave_open(driver, command_id, command)
                return
        if ask is None:
            nobody = _core.Event.decided(command_id, command.hash, "deny", _NOBODY)  # type: ignore[arg-type]
            driver.inbox.append(nobody)
            return
        left: float = (command.at or 0.0) - driver.run.now()
        patience = left if left > 0 else _DOUBT_SECONDS

        def begin() -> None:
            ends = driver.run.now() + patience
            driver.start(command_id, "approval", self.ask_person, driver, command, ask, ends)

        self.in_line(driver, command_id, ask, begin, told=True)

    def answered(self, driver: Driver, command_id: int, command: _core.Command, ask: Answers) -> bool:
        """Answers a question with what a person has said, if what that person saw is still so."""
        name, call = name_of(driver.run, command), command.calls[0]
        saw = ask.saw(name, where_led(driver, command_id, call))
        said = None if saw is False else ask.answer_to(name, command)
        if said is None:
            return False
        if saw and is_yes(said):
            driver.agreed.add((command_id >> 32, call.call_id))
        driver.inbox.append(_decided(command, said))
        return True

    def leave_open(self, driver: Driver, command_id: int, command: _core.Command) -> None:
        """Puts a question to nobody: when all else has ended, the run is left."""
        # Its time begins when somebody is asked.
        driver.inbox.append(_core.Event.asked(command_id, False))
        self.open[command_id] = command

    def leaves(self, driver: Driver, command: _core.Command, call: _core.Call) -> bool:
        """Whether the work of a call is done elsewhere: it has its result, or the run is left when all has ended."""
        command_id: int = command.id  # type: ignore[assignment]
        tool = driver.known_tool(command_id, call.name)
        if tool is None or not tool.is_deferred:
            return False
        given = _said_of(driver, command, call)
        wrong = outcome_of(tool, given.value) if given is not None else misfit(tool, call.arguments)
        if wrong is not None:
            driver.inbox.append(driver.executed(command_id, call, wrong))
        elif not driver.is_kept:
            why = "the work of this tool is done elsewhere, and the run has no journal in which it could wait for that"
            driver.inbox.append(_core.Event.tool_failed(command_id, call.call_id, "no_journal", why, "do without it"))
        else:
            self.leave_call(driver, command, call)
        return True

    def leave_call(self, driver: Driver, command: _core.Command, call: _core.Call) -> None:
        """Nobody here is at a call: when all else has ended, the run is left."""
        command_id: int = command.id  # type: ignore[assignment]
        driver.inbox.append(_core.Event.elsewhere(command_id, call.call_id))
        self.elsewhere[command_id, call.call_id] = command

    def in_doubt(self, driver: Driver, command: _core.Command) -> None:
        """Decides on a call that may have taken effect: by what a person has said or says now, else nobody knows."""
        ask, call = driver.plan.approve, command.calls[0]
        command_id: int = command.id  # type: ignore[assignment]
        if isinstance(ask, Answers):
            said = _said_of(driver, command, call)
            if isinstance(said, Returned):
                outcome = outcome_of(driver.tool(command_id, call.name), said.value)
                driver.inbox.append(driver.executed(command_id, call, outcome))
                return
            if said is not None:
                ask = lambda _: said  # noqa: E731 - it was asked already
            elif ask.rest is None and driver.is_kept:
                self.leave_call(driver, command, call)
                return
            else:
                ask = ask.rest
        if ask is None:
            driver.inbox.append(unknown(command))
        else:
            self.ask_again(driver, command, ask)

    def ask_again(self, driver: Driver, command: _core.Command, ask: Callable[[Any], Any]) -> None:
        """Asks whether a call that may have taken effect shall run again."""
        command_id: int = command.id  # type: ignore[assignment]

        def begin() -> None:
            flag = CancelFlag()
            driver.start(command_id, "approval", self.run_again, driver, command, ask, flag, flag=flag)

        self.in_line(driver, command_id, ask, begin, told=False)

    def in_line(
        self, driver: Driver, command_id: int, ask: Callable[[Any], Any], begin: Callable[[], None], *, told: bool
    ) -> None:
        """Asks a person with `begin`: at once, or where they see one question at a time, when it is its turn. With
        `told` the machine hears of it, whose clock stands still meanwhile.
        """
        put = _core.Event.asked
        if not sees_one(ask):
            if told and self.reopening:
                driver.inbox.append(put(command_id, True, True))
            begin()
            return

        def turn() -> None:
            if told:
                # Its time begins only now: whoever watches hears until when it may be answered.
                driver.arrived(put(command_id, True, True))
            begin()

        first = not self.line
        self.line[command_id] = turn
        if not first:
            if told:
                driver.inbox.append(put(command_id, False))
            return
        if told and self.reopening:
            driver.inbox.append(put(command_id, True, True))
        begin()

    def next_in_line(self, driver: Driver, command_id: int) -> None:
        """A question was answered, or is not asked any more: whoever waits behind it is next."""
        head = next(iter(self.line), None)
        if self.line.pop(command_id, None) is not None and head == command_id:
            turn = next(iter(self.line.values()), None)
            if turn is not None and driver.outcome is None and driver.fatal is None:
                turn()
                driver.go()

    def unasked(self, driver: Driver, command_id: int) -> None:
        """A question that has not been put yet is put no more; one that has been lapses with its work."""
        self.put.discard(command_id)
        self.open.pop(command_id, None)
        for place in [place for place in self.elsewhere if place[0] == command_id]:
            del self.elsewhere[place]
        if command_id not in driver.jobs:
            self.line.pop(command_id, None)

    def asked_in_turn(
        self, command_id: int, question: Callable[[], Approval], ask: Callable[[Any], Any]
    ) -> Callable[[], Any]:
        """What asks a person, in a thread, when those before have been answered; a question that has lapsed by then is
        not asked.
        """
        self.put.add(command_id)

        def put() -> Any:
            with self.asking:
                return tried(ask, question()) if command_id in self.put else None

        return put

    def ask_person(self, driver: Driver, command: _core.Command, ask: Callable[[Any], Any], ends: float) -> Work:
        """The event for what a person says to a call, or for what went wrong while asking: that is a no."""
        who = asker_of(driver, command)
        call = command.calls[0]

        def question() -> Approval:
            led = where_led(driver, command.id, call)  # type: ignore[arg-type]
            return Approval.of(command, driver.run.now(), driver.plan.around, who, ends, led)

        try:
            answer = yield from self.answer_to(command.id, question, ask, None)  # type: ignore[arg-type]
            if answer is None:
                # Whoever forgot a `return` would look for long.
                _LOG.warning(_NOTHING_SAID, call.name)
            if is_yes(answer):
                driver.agreed.add((command.id >> 32, call.call_id))  # type: ignore[operator]
            return _decided(command, answer)
        finally:
            self.next_in_line(driver, command.id)  # type: ignore[arg-type]

    def run_again(self, driver: Driver, command: _core.Command, ask: Callable[[Any], Any], flag: CancelFlag) -> Work:
        """The event for a call that may have taken effect: its result, if a person says that it shall run again."""
        call = command.calls[0]
        question = of_work(driver, command, call, IN_DOUBT, name=call.call_id, kind="in_doubt", seconds=_DOUBT_SECONDS)
        try:
            answer = yield from self.answer_to(command.id, lambda: question, ask, _DOUBT_SECONDS)  # type: ignore[arg-type]
        finally:
            self.next_in_line(driver, command.id)  # type: ignore[arg-type]
        if not is_yes(answer):
            return unknown(command)
        driver.agreed.add((command.id >> 32, command.calls[0].call_id))  # type: ignore[operator]
        return (yield from run_tool(driver, command.id, command.calls[0], flag))  # type: ignore[arg-type]

    def answer_to(
        self, command_id: int, question: Callable[[], Approval], ask: Callable[[Any], Any], seconds: float | None
    ) -> Work:
        """What a person says within a time, or what goes wrong while asking."""
        ends = 0.0 if seconds is None else time.monotonic() + seconds
        try:
            if is_async(ask):
                sent = attempt(lambda: ask(question()))
            else:
                # One that blocks (`input()`) holds up neither a loop nor the deadline.
                asked: Any = Beside("approval", self.asked_in_turn(command_id, question, ask))
                sent = yield asked if seconds is None else Within(seconds, asked)
            if inspect.isawaitable(sent):
                sent = yield sent if seconds is None else Within(ends - time.monotonic(), sent)
        finally:
            self.put.discard(command_id)
        if type(sent) is not Raised:
            return sent
        error = sent.error
        if not isinstance(error, (asyncio.CancelledError, *RAISED)):
            raise error
        return None if isinstance(error, TimeUp) else error


def _said_of(driver: Driver, command: _core.Command, call: _core.Call) -> Any:
    """What was said of a call that nobody here is at; `None` if nothing."""
    ask = driver.plan.approve
    name = path_of(driver.run, command.id or 0, call.call_id)
    return ask.said_of(name) if isinstance(ask, Answers) else None


def _decided(command: _core.Command, answer: object) -> _core.Event:
    """The event for what a person said, or for what went wrong while asking: that is a no."""
    try:
        if isinstance(answer, BaseException):
            raise answer
        decision, reason, arguments = decision_of(answer)
    except BaseException as error:  # noqa: BLE001 - whatever goes wrong while asking is a no
        log_raised("approval", "asking a person", error)
        decision, reason, arguments = "deny", f"asking failed: {type(error).__name__}: {error}", None
    return _core.Event.decided(command.id, command.hash, decision, reason, arguments)  # type: ignore[arg-type]


def unknown(command: _core.Command, call: _core.Call | None = None) -> _core.Event:
    """The event for a call that may have taken effect and does not run again: the first one of a command, or `call`."""
    call_id, hint = (call or command.calls[0]).call_id, "find out whether it took effect before you call it again"
    return _core.Event.tool_failed(command.id, call_id, "unknown", _UNKNOWN, hint)  # type: ignore[arg-type]
