"""Recorded runs, played with the agent of today: models, tools and people answer as they did, nothing else is asked."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from loopwright._dataclasses import dataclass
from loopwright._replay import diff
from loopwright._run_options import varied
from loopwright._trace import trace
from loopwright.errors import LoopwrightError, ToolError, UsageError
from loopwright.messages import Message

from ._prompt import checked_agent
from ._recorded import events_with_commands

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loopwright import Agent, Approval, Result
    from loopwright._trace import Trace
    from loopwright.hooks import CallSubject, HookContext

    from ._recorded import Recorded

__all__ = ["Change", "Played", "first_change", "play", "play_sync"]


@dataclass(frozen=True)
class Change:
    """The first decision that changed between two runs."""

    round: int
    what: str
    """`decision` (how the run goes on), `call`, `verdict` (of the guard), `outcome` (of a call), `end`, `answer`."""
    about: str
    """What was decided about, in words."""
    before: str
    now: str
    event: int | None = None
    """The first event at which the journals differ; `loopwright fork --at` takes it."""

    def __str__(self) -> str:
        where = "" if self.event is None else f" (event {self.event})"
        return f"round {self.round}: {self.about} was {self.before}, and is {self.now} now{where}"


@dataclass(frozen=True)
class Played:
    """What became of a recorded run."""

    recorded: Recorded
    result: Result[Any] | None
    change: Change | None
    """The first decision that changed; `None` where all are the same."""
    error: LoopwrightError | None = None
    """What broke the run off, where something did."""

    @property
    def same(self) -> bool:
        """Whether all decisions, the end and the answer are as they were."""
        return self.change is None and self.error is None


async def play(agent: Agent[Any, Any], recorded: Recorded, *, deps: Any = None) -> Played:
    """Plays a recorded run: the agent of today gets the answers of models, tools and people of then.

    ::

        played = await evals.play(agent, recorded)
        print(played.same, played.change)

    No model is asked, no tool runs: a call that is not in the record fails with `not_recorded`. Instructions, tools on
    offer, policy, hooks and limits are those of the agent.

    Raises a `UsageError`: `other_machine` for a run that was no agent's, `no_answers` where no model answered.
    """
    record = _Record(checked_agent(agent), recorded)
    with agent.override(model=record.model):
        try:
            result = await record.player.run(recorded.prompt, deps=deps, **record.options)
        except LoopwrightError as error:
            return _played(recorded, error.result, error)
    return _played(recorded, result)


def play_sync(agent: Agent[Any, Any], recorded: Recorded, *, deps: Any = None) -> Played:
    """`play` without asyncio."""
    record = _Record(checked_agent(agent), recorded)
    with agent.override(model=record.model):
        try:
            result = record.player.run_sync(recorded.prompt, deps=deps, **record.options)
        except LoopwrightError as error:
            return _played(recorded, error.result, error)
    return _played(recorded, result)


class _Record:
    """What a run was answered, for the agent that plays it."""

    def __init__(self, agent: Agent[Any, Any], recorded: Recorded) -> None:
        if recorded.machine != "turn":
            message = f"the run {recorded.run} is of the {recorded.machine} machine, which no Agent plays"
            raise UsageError(message, "other_machine", "replay it: loopwright eval without an agent")
        from loopwright.testing import ScriptedModel

        self.model = ScriptedModel.from_journal(recorded.text)
        # Its name says what is known of it: window, dialect, quirks.
        self.model.name = recorded.model
        self._results: dict[str, deque[dict[str, Any]]] = defaultdict(deque)
        self._answers: dict[str, deque[Any]] = defaultdict(deque)
        self._read(recorded.text)
        self._agent = agent
        self.options: dict[str, Any] = {"messages": recorded.before, "approve": self._approve, "journal": True}

    @property
    def player(self) -> Agent[Any, Any]:
        """The agent, as it is within `override`, with tools that answer from the record."""
        from loopwright.hooks import Hook
        from loopwright.hooks._hook import flattened

        agent = varied(self._agent, {})
        hooks = agent._given["hooks"]
        own = [] if hooks is None else flattened(hooks)
        # The innermost: it stands where the tool was.
        found: Agent[Any, Any] = agent._changed({"hooks": [*own, Hook("around_tool", self._call, timeout=None)]})
        return found

    def _read(self, text: str) -> None:
        running: dict[int, dict[str, Any]] = {}
        asked: dict[int, dict[str, Any]] = {}
        for event, commands in events_with_commands(text):
            if "executed" in event:
                done = event["executed"]
                call = next((call for call in running.get(done["id"], {}).get("calls", ())), None)
                if call is not None:
                    self._results[_key(call["tool_use"]["name"], call["tool_use"]["input"])].append(done["result"])
            elif "decided" in event:
                call = asked.get(event["decided"]["id"])
                if call is not None:
                    self._answers[_key(call["name"], call["input"])].append(event["decided"]["decision"])
            for command in commands:
                if isinstance(command, dict) and "execute" in command:
                    running[command["execute"]["id"]] = command["execute"]
                elif isinstance(command, dict) and "approve" in command:
                    asked[command["approve"]["id"]] = command["approve"]["call"]

    def _call(self, context: HookContext[CallSubject], _: Any) -> Any:
        """What a call gave."""
        call = context.subject
        results = self._results.get(_key(call.name, call.arguments))
        if not results:
            raise ToolError("the recorded run has no such call", "not_recorded")
        result = results.popleft()
        failure = result.get("failure")
        if failure is not None:
            raise ToolError(failure.get("message") or "", failure.get("kind") or "unknown")
        return Message.from_dict({"role": "user", "content": result["content"]}).content

    def _approve(self, asked: Approval) -> Any:
        """What a person said to a call; no where nobody was asked."""
        answers = self._answers.get(_key(asked.name, asked.arguments))
        if not answers:
            return "nobody was asked in the recorded run"
        answer = answers.popleft()
        if isinstance(answer, dict):
            return answer.get("deny", {}).get("reason") or False
        return answer == "allow"


def _key(name: str, arguments: Any) -> str:
    return json.dumps([name, arguments], sort_keys=True, ensure_ascii=False)


def _played(recorded: Recorded, result: Result[Any] | None, error: LoopwrightError | None = None) -> Played:
    if result is None or result.journal is None:
        return Played(recorded, result, None, error)
    change = first_change(recorded.text, result.journal)
    ends = (recorded.stop_reason, result.stop_reason), (repr(recorded.expected), repr(result.final))
    for what, (before, now) in zip(("end", "answer"), ends, strict=True):
        if change is None and before != now:
            change = Change(result.rounds, what, f"the {what}", before, now, _event(recorded.text, result.journal))
    return Played(recorded, result, change, error)


class _Decision(NamedTuple):
    """What two runs are compared by: all but `shown`, which says in words what was decided about."""

    round: int
    what: str
    subject: str
    value: str
    shown: str

    @property
    def key(self) -> tuple[Any, ...]:
        return self[:-1]


def first_change(before: str, now: str) -> Change | None:
    """The first decision by which two journals differ, by what they decided alone: times, retries and words aside."""
    for one, other in zip_longest(_decisions(trace(before)), _decisions(trace(now))):
        if one is not None and other is not None and one.key == other.key:
            continue
        told = one or other
        assert told is not None, "one of them has more"  # noqa: S101 - a fault of ours
        alike = one is not None and other is not None and (one.what, one.subject) == (other.what, other.subject)
        about = max((each.shown for each in (one, other) if each is not None), key=len) if alike else "what came next"
        then, today = (_told(each, alike=alike) for each in (one, other))
        return Change(told.round, told.what, about, then, today, _event(before, now))
    return None


def _told(decision: _Decision | None, *, alike: bool) -> str:
    if decision is None:
        return "nothing"
    return decision.value if alike else f"{decision.shown}: {decision.value}"


def _decisions(rounds: Trace) -> Iterator[_Decision]:
    for each in rounds:
        whose = f" of {each.agent}" if each.agent else ""
        if each.decision:
            value = f"{each.decision} ({each.saw})"
            yield _Decision(each.round, "decision", whose, value, f"what to do next{whose}")
        for call in each.calls:
            arguments = None if call.arguments is None else json.dumps(call.arguments, ensure_ascii=False)
            shown = f"the call {call.name}{f' {arguments}' if arguments else ''}{whose}"
            subject = f"{call.name}{whose}"
            yield _Decision(each.round, "verdict", subject, call.verdict or "nothing", shown)
            # One that did not run is told without its arguments.
            yield _Decision(each.round, "call", subject, arguments or "not run", f"the call {call.name}{whose}")
            ended = {None: "no result", True: "failed", False: "gave a result"}[call.is_error]
            yield _Decision(each.round, "outcome", subject, ended, shown)


def _event(before: str, now: str) -> int | None:
    parting = diff(before, now)
    return None if parting is None or parting.what == "machine" else parting.seq
