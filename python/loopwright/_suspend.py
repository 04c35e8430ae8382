"""Runs that are left in their journal while a person decides, and that go on with the answers.

`Guard(approve="suspend")` holds up no process for a person: the run ends with the stop reason `suspended`, its
questions are `result.pending`, and `Agent.resume` goes on with what the person said.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _core
from ._approval import LEVELS, Approval, Edit, Returned, is_answer
from ._dataclasses import replace
from ._plan import core_of
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from ._driver import Driver
    from ._plan import Plan

    Answer: TypeAlias = bool | str | Edit | Returned
    """Yes, no, the reason of a no, or other arguments; of work that is done elsewhere what it gave."""

__all__ = ["SUSPENDS", "Answers", "approver", "external_name", "leave", "name_of", "person_of", "with_answers"]


class Answers:
    """Answers that a person gave while the run was left, by `call_id`; `shown` is what that person saw, where it is
    known. `rest` is asked about other calls; where nobody is, the run is left again.
    """

    def __init__(
        self,
        answers: Mapping[str, Any],
        rest: Callable[[Any], Any] | None = None,
        shown: Mapping[str, Approval] | None = None,
        *,
        stored: bool = False,
    ) -> None:
        self.rest = rest
        self.stored = stored
        self._given = dict(answers)
        self._shown = shown or {}
        # The hashes of the calls that wait, by the names of their questions: an answer is for that very call.
        self._bound: dict[str, str | None] = {}
        # Arguments that a person wrote, by call, with the risk agreed to: nobody is asked twice about the same.
        self._edited: dict[str, tuple[Any, str]] = {}

    def bind(self, run: _core.Run, commands: _core.Event | list[_core.Command], plan: Plan) -> None:
        """Binds each answer to the question that it is for. Raises a `UsageError` with the code `no_such_call` for one
        that the run does not wait for, `answer_first` for one behind a question that has none.
        """
        if not self._given:
            return
        there = commands if isinstance(commands, list) else []
        waits = [command for command in there if command.kind == "approve" or _elsewhere(run, plan, command)]
        found = _core.suspended(core_of(run), waits)
        questions: dict[str, tuple[_core.Command, str | None]] = {}
        for command in () if found is None else found[1]:
            if command.kind == "approve":
                questions[name_of(run, command)] = command, command.hash
            for call in _elsewhere(run, plan, command):
                questions[_path_of(run, command.id or 0, call.call_id)] = command, None
        for name, answer in self._given.items():
            shown, (question, hash_) = self._shown.get(name), questions.get(name, (None, None))
            if self.stored and (question is None or shown is None or shown.hash != hash_):
                # It was taken before, or is for another call by now.
                continue
            if question is None or (shown is not None and shown.hash != hash_):
                waited = f"for {', '.join(map(repr, questions))}" if questions else "for none"
                message = f"the run does not wait for an answer to the call {name!r:.100}: it waits {waited}"
                raise UsageError(message, "no_such_call", "take the call_id of each of result.pending")
            if isinstance(answer, Returned) != (question.kind == "execute"):
                message = f"the answer to the call {name!r:.100} can't be {answer!r:.100}"
                hint = "give Returned(value) for the kind 'external', and True, False or a reason for the others"
                raise UsageError(message, "invalid_answers", hint)
        self._in_order({name: question for name, (question, _) in questions.items()})
        self._bound = {name: hash_ for name, (_, hash_) in questions.items()}

    def _in_order(self, questions: Mapping[str, _core.Command]) -> None:
        """A machine puts its questions one after the other: an answer behind one without would be lost."""
        first: dict[int, str] = {}
        for name, question in questions.items():
            machine = (question.id or 0) >> 32
            if name not in self._given:
                # Where a person is there, the question is answered on the way.
                if self.rest is None or question.kind == "execute":
                    first.setdefault(machine, name)
            elif machine in first:
                message = f"the call {name!r} is decided on behind {first[machine]!r}, which has no answer"
                raise UsageError(message, "answer_first", "answer that one, too, or it first")

    def returned(self, name: str) -> Returned | None:
        """What work gave that was done elsewhere, once; `None` if nothing."""
        said = self._given.get(name)
        return self._given.pop(name) if isinstance(said, Returned) else None

    def answer_to(self, name: str, command: _core.Command) -> Any:
        """What a person said to a question, once; `None` if nothing."""
        hash_ = self._bound.pop(name, None)
        if name in self._given and hash_ is not None and hash_ == command.hash:
            said = self._given.pop(name)
            if isinstance(said, Edit):
                # As a journal holds them, and as the next question shows them.
                self._edited[command.calls[0].call_id] = (json.loads(json.dumps(said.arguments)), command.risk or "")
            return said
        arguments, risk = self._edited.pop(command.calls[0].call_id, (None, ""))
        if risk and command.calls[0].arguments == arguments and _rank(command.risk) <= _rank(risk):
            return True
        return None

    def saw(self, name: str, led: Mapping[str, Any] | None) -> bool | None:
        """Whether the person saw where the links of a call lead; `None` where that is not known."""
        shown = self._shown.get(name)
        return None if shown is None else dict(shown.links) == ({} if led is None else dict(led["links"]))


SUSPENDS = Answers({})
"""Nobody is asked while the run is under way."""


def with_answers(
    now: Callable[[Any], Any] | Answers | None,
    answers: object,
    shown: Mapping[str, Approval] | None = None,
    *,
    stored: bool = False,
) -> Answers:
    """Who is asked in a run that goes on with answers."""
    if not isinstance(answers, Mapping):
        message = f"answers can't be {answers!r:.100}"
        raise UsageError(message, "invalid_answers", "give a dict: {result.pending[0].call_id: True}; run= names a run")
    for name, answer in answers.items():
        if not isinstance(name, str) or not (isinstance(answer, Returned) or is_answer(answer)):
            message = f"the answer to the call {name!r:.100} can't be {answer!r:.100}"
            hint = "give True, False, the reason of a no, Edit({...}) with other arguments, or Returned(value)"
            raise UsageError(message, "invalid_answers", hint)
    return Answers(answers, person_of(now), shown, stored=stored)


def shown_by(source: Any) -> dict[str, Approval]:
    """What a person saw in the result of a run that was left; nothing of any other source."""
    from .result import Result

    return {each.call_id: each for each in source.pending} if isinstance(source, Result) else {}


def approver(given: Any) -> Any:
    """Who is asked, from what a guard or a run says."""
    return SUSPENDS if isinstance(given, str) else given


def person_of(approve: Any) -> Callable[[Any], Any] | None:
    """Who is asked while the run is under way."""
    found: Callable[[Any], Any] | None = approve.rest if isinstance(approve, Answers) else approve
    return found


def leave(driver: Driver) -> None:
    """Leaves a run that stands still: what it has reached is its outcome, and its questions are kept."""
    questions = driver.questions
    waits = {**questions.open, **{place[0]: command for place, command in questions.elsewhere.items()}}
    found = _core.suspended(core_of(driver.run), list(waits.values()))
    if found is None:
        message = "the run can't be left while it waits for a person"
        raise UsageError(message, "not_suspended", "give Guard(approve=...) a function")
    driver.outcome, commands = found
    questions.pending = [asked for command in commands for asked in _pending(driver, command)]
    driver.left = True
    if driver.holds:
        kept: Any = driver.run
        kept.leave(questions.pending)
    driver.run.close()


def name_of(run: _core.Run, command: _core.Command) -> str:
    """The name that a question is answered by: the id of the call; of a sub-agent's, behind its path.

    With arguments that a person has changed it is another question, and has another name: an answer to the first is
    none to it.
    """
    command_id, call_id = command.id or 0, command.calls[0].call_id
    name = _path_of(run, command_id, call_id)
    return f"{name}#{(command.hash or '')[:8]}" if run.is_edited(command_id, call_id) else name


def _path_of(run: _core.Run, command_id: int, call_id: str) -> str:
    found = run.agent_of(command_id) if command_id >> 32 else None
    return call_id if found is None else f"{found[2]}/{call_id}"


def external_name(driver: Driver, command_id: int, call_id: str) -> str:
    """The name by which the result of work is given that is done elsewhere."""
    return _path_of(driver.run, command_id, call_id)


def _elsewhere(run: _core.Run, plan: Plan, command: _core.Command) -> list[_core.Call]:
    """The calls of a command whose work is done elsewhere."""
    if command.kind != "execute":
        return []
    found: list[_core.Call] = []
    command_id = command.id or 0
    place = run.agent_of(command_id) if command_id >> 32 else None
    tools = plan.tools if place is None else plan.agents[place[0]].tools
    for call in command.calls:
        tool = tools.get(call.name)
        told = run.tool_of(command_id, call.name) if tool is None else None
        if tool.is_deferred if tool is not None else told is not None and json.loads(told).get("deferred"):
            found.append(call)
    return found


def _pending(driver: Driver, command: _core.Command) -> list[Approval]:
    if command.kind == "approve":
        return [_question(driver, command)]
    command_id, there = command.id or 0, driver.questions.elsewhere
    is_open = any(known == command_id for known, _ in there)
    calls = _elsewhere(driver.run, driver.plan, command)
    agent, path = driver.who(command_id)
    return [
        Approval(
            call.name,
            call.arguments,
            driver.tool(command_id, call.name).risk,
            "its work is done elsewhere",
            external_name(driver, command_id, call.call_id),
            float("inf"),
            around=driver.plan.around,
            agent=agent,
            path=path,
            kind="external",
        )
        for call in calls
        if not is_open or (command_id, call.call_id) in there
    ]


def _question(driver: Driver, command: _core.Command) -> Approval:
    from ._driver._works import where_led

    led = where_led(driver, command.id, command.calls[0])  # type: ignore[arg-type]
    who = asker_of(driver, command)
    asked = Approval.of(command, driver.run.now(), driver.plan.around, who, led=led)
    return replace(asked, call_id=name_of(driver.run, command), expires_in=float("inf"))


def _rank(risk: str | None) -> int:
    return LEVELS.index(risk) if risk in LEVELS else len(LEVELS)


def asker_of(driver: Driver, command: _core.Command) -> tuple[str | None, str | None]:
    """The name and the path of who wants a call: a sub-agent, or the agent that the run was handed over to."""
    agent, path = driver.who(command.id)
    handed = driver.plan.labels.get("handed_off_to")
    return (handed[-1], None) if agent is None and handed else (agent, path)
