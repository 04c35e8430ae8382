"""Runs that are left in their journal while a person decides, and that go on with the answers.

`Guard(approve="suspend")` holds up no process for a person: the run ends with the stop reason `suspended`, its
questions are `result.pending`, and `Agent.resume` goes on with what the person said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import _core
from ._approval import LEVELS, Approval, Edit, is_answer
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from ._driver import Driver

    Answer: TypeAlias = bool | str | Edit
    """Yes, no, the reason of a no, or other arguments."""

__all__ = ["SUSPENDS", "Answers", "answering", "leave", "person_of"]

_NEVER = float("inf")


class Answers:
    """Answers that a person gave while the run was left, by `call_id`. `rest` is asked about other calls; where nobody
    is, the run is left again.
    """

    def __init__(self, answers: Mapping[str, Any], rest: Callable[[Any], Any] | None = None) -> None:
        self.rest = rest
        self._given = dict(answers)
        # What each is bound to, of those that have not been put: the hash of the call.
        self._bound: dict[str, str | None] = {}
        # What a person wrote instead: it is judged anew, and nobody is asked twice about the same.
        self._edited: dict[str, tuple[Any, str]] = {}

    def bind(self, run: _core.Run, commands: _core.Event | list[_core.Command]) -> None:
        """Binds each answer to the question that it is for. Raises a `UsageError` with the code `no_such_call` for one
        that the run does not wait for.
        """
        if not self._given:
            return
        commands = commands if isinstance(commands, list) else []
        found = _core.suspended(run, [command for command in commands if command.kind == "approve"])
        known = {_name(run, command): command.hash for command in (() if found is None else found[1])}
        for name in self._given:
            if name not in known:
                waits = f"for {', '.join(map(repr, known))}" if known else "for none"
                message = f"the run does not wait for an answer to the call {name!r:.100}: it waits {waits}"
                raise UsageError(message, "no_such_call", "take the call_id of each of result.pending")
        self._bound = known

    def answer_to(self, name: str, command: _core.Command) -> Any:
        """What a person said to a question, once; `None` if nothing."""
        hash_ = self._bound.pop(name, None)
        if name in self._given and hash_ is not None and hash_ == command.hash:
            said = self._given.pop(name)
            if isinstance(said, Edit):
                self._edited[name] = (said.arguments, command.risk or LEVELS[-1])
            return said
        arguments, risk = self._edited.pop(name, (None, ""))
        if risk and command.calls[0].arguments == arguments and _rank(command.risk) <= _rank(risk):
            return True
        return None


SUSPENDS = Answers({})
"""Nobody is asked while the run is under way."""


def answering(now: Callable[[Any], Any] | Answers | None, answers: object) -> Answers:
    """Who is asked in a run that goes on with answers."""
    if not isinstance(answers, Mapping):
        message = f"answers can't be {answers!r:.100}"
        raise UsageError(message, "invalid_answers", "give a dict: {result.pending[0].call_id: True}; run= names a run")
    for name, answer in answers.items():
        if not isinstance(name, str) or not is_answer(answer):
            message = f"the answer to the call {name!r:.100} can't be {answer!r:.100}"
            hint = "give True, False, the reason of a no, or Edit({...}) with other arguments"
            raise UsageError(message, "invalid_answers", hint)
    return Answers(answers, person_of(now))


def person_of(approve: Any) -> Callable[[Any], Any] | None:
    """Who is asked while the run is under way."""
    found: Callable[[Any], Any] | None = approve.rest if isinstance(approve, Answers) else approve
    return found


def name_of(driver: Driver, command: _core.Command) -> str:
    """The name that a question is answered by."""
    return _name(driver.run, command)


def leave(driver: Driver) -> None:
    """Leaves a run that stands still: what it has reached is its outcome, and its questions are kept."""
    questions = driver.questions
    found = _core.suspended(driver.run, list(questions.open.values()))
    if found is None:
        message = "the run can't be left while it waits for a person"
        raise UsageError(message, "not_suspended", "give Guard(approve=...) a function")
    driver.outcome, commands = found
    questions.pending = [_pending(driver, command) for command in commands]
    driver.left = True
    driver.run.close()


def _name(run: _core.Run, command: _core.Command) -> str:
    """The id of the call; of a sub-agent's, behind its path."""
    found = run.agent_of(command.id) if command.id is not None and command.id >> 32 else None
    call_id = command.calls[0].call_id
    return call_id if found is None else f"{found[2]}/{call_id}"


def _pending(driver: Driver, command: _core.Command) -> Approval:
    from ._driver._works import where_led

    led = where_led(driver, command.id, command.calls[0])  # type: ignore[arg-type]
    who = driver.who(command.id)
    asked = Approval.of(command, driver.run.now(), driver.plan.around, who, _NEVER, led)
    return replace(asked, call_id=name_of(driver, command))


def _rank(risk: str | None) -> int:
    return LEVELS.index(risk) if risk in LEVELS else len(LEVELS)
