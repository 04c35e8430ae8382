"""Runs that are left in their journal while a person decides, and that go on with the answers.

`Guard(approve="suspend")` holds up no process for a person: the run ends with the stop reason `suspended`, its
questions are `result.pending`, and `Agent.resume` goes on with what the person said.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core
from ._approval import LEVELS, Approval, Edit, Returned, is_answer
from ._dataclasses import replace
from ._plan import core_of
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from typing import TypeAlias

    from ._approval import Kind
    from ._driver import Driver
    from ._plan import Plan

    Answer: TypeAlias = bool | str | Edit | Returned
    """Yes, no, the reason of a no, or other arguments; of a call whose result is not known what it gave."""

__all__ = [
    "IN_DOUBT",
    "SUSPENDS",
    "Answers",
    "approver",
    "check_answer",
    "kind_of_work",
    "leave",
    "name_of",
    "of_work",
    "open_questions",
    "path_of",
    "person_of",
    "with_answers",
    "work_kind",
]

IN_DOUBT = "the call had started when the run broke off, and may have taken effect; shall it run again?"
_ANSWERS: dict[str, tuple[tuple[type, ...], str]] = {
    "approval": ((bool, str, Edit), "True, False, a reason for a no, or Edit({...})"),
    "external": ((Returned,), "Returned(value)"),
    "in_doubt": (
        (bool, str, Returned),
        "True to run it again, False or a reason, or Returned(value) with what it gave",
    ),
}
"""What may be said to a question of a kind."""


def check_answer(name: str, kind: Kind, answer: object) -> None:
    """Raises `invalid_answers` for what can't be said to a question of that kind."""
    kinds, hint = _ANSWERS[kind]
    if not isinstance(answer, kinds) or not (isinstance(answer, Returned) or is_answer(answer)):
        message = f"the answer to the call {name!r:.100} can't be {answer!r:.100}"
        raise UsageError(message, "invalid_answers", f"its kind is {kind!r}: give {hint}")


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
        questions = {each.name: each for each in open_questions(run, there, partial(kind_of_work, run, plan))}
        for name, answer in list(self._given.items()):
            shown, question = self._shown.get(name), questions.get(name)
            if self.stored and (
                question is None or shown is None or (shown.kind, shown.hash) != (question.kind, question.hash)
            ):
                # It was taken before, or is for another question by now: a yes to a call is none to a second one.
                del self._given[name]
                continue
            if question is None or (shown is not None and shown.hash != question.hash):
                waited = f"for {', '.join(map(repr, questions))}" if questions else "for none"
                message = f"the run does not wait for an answer to the call {name!r:.100}: it waits {waited}"
                raise UsageError(message, "no_such_call", "take the call_id of each of result.pending")
            check_answer(name, question.kind, answer)
        self._in_order(questions)
        self._bound = {name: question.hash for name, question in questions.items()}

    def _in_order(self, questions: Mapping[str, Question]) -> None:
        """A machine puts its questions one after the other: an answer behind one without would be lost."""
        first: dict[int, str] = {}
        for name, question in questions.items():
            machine = (question.command.id or 0) >> 32
            if name not in self._given:
                # Where a person is there, the question is answered on the way.
                if self.rest is None or question.kind == "external":
                    first.setdefault(machine, name)
            elif machine in first and question.kind != "in_doubt":
                message = f"the call {name!r} is decided on behind {first[machine]!r}, which has no answer"
                raise UsageError(message, "answer_first", "answer that one, too, or it first")

    def said_of(self, name: str) -> Any:
        """What was said of a call that nobody here is at, once; `None` if nothing."""
        return self._given.pop(name, None)

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
    open_, there = driver.questions.open, driver.questions.elsewhere
    waits = {**open_, **{command_id: command for (command_id, _), command in there.items()}}
    found = _core.suspended(core_of(driver.run), list(waits.values()))
    if found is None:
        message = "the run can't be left while it waits for a person"
        raise UsageError(message, "not_suspended", "give Guard(approve=...) a function")
    driver.outcome, commands = found
    kind_of = partial(kind_of_work, driver.run, driver.plan)
    driver.questions.pending = [_pending(driver, each) for each in _questions(driver.run, commands, there, kind_of)]
    driver.left = True
    if driver.holds:
        kept: Any = driver.run
        kept.leave(driver.questions.pending)
    driver.run.close()


class Question(NamedTuple):
    """A question of a run that stands still."""

    kind: Kind
    name: str
    """What it is answered by."""
    command: _core.Command
    call: _core.Call

    @property
    def hash(self) -> str | None:
        """What binds an answer to this very call."""
        return self.command.hash if self.kind == "approval" else None


def open_questions(
    run: _core.Run, commands: Sequence[_core.Command], kind_of: Callable[[_core.Command, _core.Call], Kind | None]
) -> list[Question]:
    """The questions of a run that goes on with those open commands, and those behind them."""
    waits = [
        command
        for command in commands
        if command.kind == "approve" or (command.kind == "execute" and kind_of(command, command.calls[0]))
    ]
    found = _core.suspended(core_of(run), waits)
    open_ = {(command.id, command.calls[0].call_id) for command in waits}
    return [] if found is None else list(_questions(run, found[1], open_, kind_of))


def _questions(
    run: _core.Run,
    commands: Iterable[_core.Command],
    open_: Collection[tuple[int | None, str]],
    kind_of: Callable[[_core.Command, _core.Call], Kind | None],
) -> Iterator[Question]:
    """The questions of commands: of a command that is open itself, those of its calls that are."""
    begun = {command_id for command_id, _ in open_}
    for command in commands:
        if command.kind == "approve":
            yield Question("approval", name_of(run, command), command, command.calls[0])
            continue
        for call in command.calls:
            kind = kind_of(command, call)
            # What has not begun is in no doubt.
            is_ahead = kind == "external" and command.id not in begun
            if kind is not None and (is_ahead or (command.id, call.call_id) in open_):
                yield Question(kind, path_of(run, command.id or 0, call.call_id), command, call)


def name_of(run: _core.Run, command: _core.Command) -> str:
    """The name that a question is answered by: the id of the call; of a sub-agent's, behind its path.

    With arguments that a person has changed it is another question, and has another name: an answer to the first is
    none to it.
    """
    command_id, call_id = command.id or 0, command.calls[0].call_id
    name = path_of(run, command_id, call_id)
    return f"{name}#{(command.hash or '')[:8]}" if run.is_edited(command_id, call_id) else name


def path_of(run: _core.Run, command_id: int, call_id: str) -> str:
    """The name of a call: its id; of a sub-agent's, behind its path."""
    found = run.agent_of(command_id) if command_id >> 32 else None
    return call_id if found is None else f"{found[2]}/{call_id}"


def kind_of_work(run: _core.Run, plan: Plan, command: _core.Command, call: _core.Call) -> Kind | None:
    """What a call waits for whose result is not known when a run goes on; `None` where it simply runs."""
    command_id = command.id or 0
    place = run.agent_of(command_id) if command_id >> 32 else None
    tool = (plan.tools if place is None else plan.agents[place[0]].tools).get(call.name)
    if tool is not None:
        return work_kind(deferred=tool.is_deferred, idempotent=tool.idempotent)
    told = json.loads(run.tool_of(command_id, call.name) or "null")
    return None if told is None else work_kind(deferred=told.get("deferred"), idempotent=told.get("read_only"))


def work_kind(*, deferred: object, idempotent: object) -> Kind | None:
    """What a call of such a tool waits for whose result is not known."""
    return "external" if deferred else None if idempotent else "in_doubt"


def _pending(driver: Driver, question: Question) -> Approval:
    command, call = question.command, question.call
    if question.kind == "approval":
        from ._driver._works import where_led

        led = where_led(driver, command.id, call)  # type: ignore[arg-type]
        asked = Approval.of(command, driver.run.now(), driver.plan.around, asker_of(driver, command), led=led)
        return replace(asked, call_id=question.name, expires_in=None)
    why = IN_DOUBT if question.kind == "in_doubt" else "its work is done elsewhere"
    return of_work(driver, command, call, why, name=question.name, kind=question.kind)


def of_work(
    driver: Driver,
    command: _core.Command,
    call: _core.Call,
    why: str,
    *,
    name: str,
    kind: Kind,
    seconds: float | None = None,
) -> Approval:
    """The question of a call whose result is not known."""
    agent, path = asker_of(driver, command)
    return Approval(
        call.name,
        call.arguments,
        driver.tool(command.id, call.name).risk,
        why,
        name,
        seconds,
        around=driver.plan.around,
        agent=agent,
        path=path,
        kind=kind,
    )


def _rank(risk: str | None) -> int:
    return LEVELS.index(risk) if risk in LEVELS else len(LEVELS)


def asker_of(driver: Driver, command: _core.Command) -> tuple[str | None, str | None]:
    """The name and the path of who wants a call: a sub-agent, or the agent that the run was handed over to."""
    agent, path = driver.who(command.id)
    handed = driver.plan.labels.get("handed_off_to")
    return (handed[-1], None) if agent is None and handed else (agent, path)
