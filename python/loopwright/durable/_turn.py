"""One run of a machine on an engine: what comes in which order, what is recorded, and what a clock of work is."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from loopwright import _core
from loopwright._driver._questions import unknown
from loopwright.errors import LoopwrightError, ModelError, UsageError
from loopwright.events import from_notice
from loopwright.guard._guard import NO_TIMEOUT

from ._carry import WORK, carry_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loopwright._plan import Plan

    from ._engine import Answer, Engine, Question, Work

__all__ = ["Turn"]


class Turn:
    """One run of a machine. Its clock is work alone: the seconds that steps took, as they were recorded, and pauses
    between attempts. What a person takes is no work.
    """

    def __init__(
        self, engine: Engine, plan: Plan, config: _core.MachineConfig, *, name: str, attempt: str, deps: Any
    ) -> None:
        self.engine, self.plan, self.name, self.attempt, self.deps = engine, plan, name, attempt, deps
        self.machine = _core.TurnMachine(config, run=name)
        self.lines = ""
        self.now = 0.0
        self.timers: dict[int, float] = {}
        self.todo: list[_core.Command] = []
        self.inbox: deque[_core.Event] = deque()
        self.told: list[Any] = []
        self.ended: _core.Ended | None = None

    def past(self) -> Any:
        """The run as its lines tell of it."""
        return _core.Run.fork(self.name, self.lines, self.lines.count("\n") - 1)[0]

    async def to_the_end(self, start: _core.Event) -> _core.Ended:
        self.inbox.append(start)
        while True:
            while self.inbox and self.ended is None:
                self._step(self.inbox.popleft())
            if self.told:
                told, self.told = self.told, []
                await self.engine.tell(told)
            if self.ended is not None:
                return self.ended
            work = [command for command in self.todo if command.kind in WORK]
            if work:
                self.todo = [command for command in self.todo if command.kind not in WORK]
                await self._work(work)
            elif self.todo:
                await self._ask(self.todo.pop(0))
            else:
                await self._wait()

    def _step(self, event: _core.Event) -> None:
        """Feeds the machine, and takes down what it wants."""
        commands = self.machine.step(event, self.now)
        self.lines += self.machine.take_journal()
        for command in commands:
            kind, number = command.kind, command.id or 0
            if kind in WORK or kind == "approve":
                self.todo.append(command)
            elif kind == "timer":
                self.timers[number] = command.at or 0.0
            elif kind == "abort":
                self.timers.pop(number, None)
                self.todo = [each for each in self.todo if each.id != number]
            elif kind == "emit":
                self.told.append(from_notice(command.notice or {}))
            elif kind == "finish":
                self.ended = command.ended
            elif kind == "refuse":
                message = f"the machine refused an event: {command.why}"
                raise UsageError(message, "refused", "the engine gave a record of another run, or of another version")

    # ---- work ----

    async def _work(self, commands: list[_core.Command]) -> None:
        """All that the machine waits for at the same time. Its events are fed in the order of commands and calls."""
        mine = all(self._repeats(*each) for each in _each(commands)) or await self._fence()
        steps = [self._step_of(command, call, mine) for command, call in _each(commands)]
        if len(steps) == 1:
            records = [await self.engine.step(*steps[0])]
        else:
            records = await self.engine.gather(steps)
        self._take(records)

    def _repeats(self, command: _core.Command, call: _core.Call | None) -> bool:
        """Whether work may be done again after a crash: a request, a look; a call whose tool says so."""
        if command.kind != "execute" or call is None:
            return True
        tool = self._tools(command).get(call.name)
        return tool is not None and tool.idempotent

    def _tools(self, command: _core.Command) -> Any:
        place = self.past().agent_of(command.id or 0) if (command.id or 0) >> 32 else None
        return self.plan.tools if place is None else self.plan.agents[place[0]].tools

    async def _fence(self) -> bool:
        """Whether nobody before has come so far. Each attempt at the run leaves a token of its own, before anything can
        change: who finds another one knows that the work may have taken effect.
        """

        async def token() -> str:
            return json.dumps(self.attempt)

        return bool(json.loads(await self.engine.step("fence", token)) == self.attempt)

    def _step_of(self, command: _core.Command, call: _core.Call | None, mine: bool) -> tuple[str, Work]:  # noqa: FBT001
        name = command.kind if call is None else call.name
        if mine or self._repeats(command, call):
            return name, self._recorded(command, call)

        async def doubt() -> str:
            return json.dumps([json.loads(unknown(command, call).to_json()), 0.0])

        return name, doubt

    def _recorded(self, command: _core.Command, call: _core.Call | None, seconds: float | None = None) -> Work:
        """What is recorded of some work: the event that answers it, and the seconds that it took."""

        async def work() -> str:
            began = time.monotonic()
            try:
                event = await self._within(seconds, command, call)
            except Exception as error:  # noqa: BLE001 - raised where the run is awaited, each time that it is played
                return json.dumps({"raised": _in_words(error)})
            took = 0.0 if command.kind == "approve" else round(time.monotonic() - began, 6)
            text = json.dumps([None if event is None else json.loads(event.to_json()), took])
            return text if len(text) <= self.engine.limit else json.dumps({"bytes": len(text), "of": command.kind})

        return work

    async def _within(self, seconds: float | None, command: _core.Command, call: _core.Call | None) -> Any:
        work = carry_out(self.plan, command, call, self.name, self.deps, lambda: self.lines)
        if seconds is None:
            return await work
        try:
            return await asyncio.wait_for(work, seconds)
        except asyncio.TimeoutError:
            return None

    def _take(self, records: list[str]) -> None:
        """Feeds what was recorded: timers that are due by then come first."""
        events, took = [], 0.0
        for record in map(json.loads, records):
            if isinstance(record, dict):
                raise _failed(record, self.engine.limit)
            events.append(_core.Event.from_json(json.dumps(record[0])))
            took = max(took, record[1])
        self.now += took
        self._ring()
        self.inbox.extend(events)

    # ---- time and people ----

    def _ring(self) -> None:
        for _, number in sorted((at, number) for number, at in self.timers.items() if at <= self.now):
            if self.timers.pop(number, None) is not None:
                self.inbox.append(_core.Event.fired(number))

    async def _wait(self) -> None:
        """Nothing is left to do but to wait for a timer."""
        if not self.timers:
            message = "the run waits for nothing that an engine can bring"
            raise UsageError(message, "refused", "please report this with the journal of the run")
        at = min(self.timers.values())
        if at > self.now:
            await self.engine.sleep(at - self.now)
            self.now = at
        self._ring()

    async def _ask(self, command: _core.Command) -> None:
        """Asks a person, for whom no clock of the run goes on: a function that the agent has, or the engine."""
        left = max(0.0, (command.at or 0.0) - self.now)
        seconds = None if left >= NO_TIMEOUT / 2 else left
        if callable(self.plan.approve):
            record = json.loads(await self.engine.step("approve", self._recorded(command, None, seconds)))
            if isinstance(record, dict):
                raise _failed(record, self.engine.limit)
            event = None if record[0] is None else _core.Event.from_json(json.dumps(record[0]))
        else:
            event = await self._answer(command, seconds)
        if event is not None:
            self.inbox.append(event)
            return
        # Silence is a no for that call alone: its own timer is over, and no other.
        number = max((number for number, at in self.timers.items() if at == command.at), default=None)
        if number is not None:
            del self.timers[number]
            self.inbox.append(_core.Event.fired(number))

    async def _answer(self, command: _core.Command, seconds: float | None) -> _core.Event | None:
        call, place = command.calls[0], None
        if (command.id or 0) >> 32:
            place = self.past().agent_of(command.id or 0)
        question: Question = {
            "id": command.id or 0,
            "run_id": self.engine.run_id,
            "call_id": call.call_id,
            "name": call.name,
            "arguments": call.arguments,
            "risk": command.risk or "dangerous",
            "why": command.why or "",
            "hash": command.hash or "",
            "agent": None if place is None else place[1],
        }
        while True:
            answer: Answer | None = await self.engine.ask(question, seconds)
            if answer is None:
                return None
            # An answer to another call is none to this one.
            if answer["hash"] == question["hash"]:
                reason, arguments = answer.get("reason"), answer.get("arguments")
                return _core.Event.decided(question["id"], question["hash"], answer["decision"], reason, arguments)


def _each(commands: list[_core.Command]) -> Iterator[tuple[_core.Command, _core.Call | None]]:
    """Commands; of those that have calls, each call."""
    for command in commands:
        if command.kind == "execute":
            for call in command.calls:
                yield command, call
        else:
            yield command, None


def _in_words(error: Exception) -> dict[str, Any]:
    if isinstance(error, LoopwrightError):
        return {"message": error.message, "code": error.code, "hint": error.hint}
    return {"message": f"{type(error).__name__}: {error}"[:2_000], "code": "model_raised", "hint": None}


def _failed(record: dict[str, Any], limit: int) -> LoopwrightError:
    """What a step raised, or that its record is larger than the engine takes."""
    if "raised" in record:
        said = record["raised"]
        kind = ModelError if said["code"] == "model_raised" else UsageError
        return kind(said["message"], said["code"], said["hint"])
    message = f"a step {record['of']!r} gave {record['bytes']} bytes, and the engine takes {limit}"
    return UsageError(
        message, "payload_too_large", "let tools give less: max_output=, a path in place of what it holds"
    )
