"""The debug trace of a run, round by round: a view of the events in its journal, nothing more."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import _core
from ._dataclasses import dataclass, field
from ._journal_paths import locate_journal
from ._renamed import renamed
from ._replay import naming
from ._repr import shown
from .errors import UsageError

if TYPE_CHECKING:
    import os

__all__ = ["CallTrace", "RoundTrace", "Trace", "trace"]

_SHIFT = 32


@renamed(id="call_id", input="arguments")
@dataclass
class CallTrace:
    """A tool call of a round."""

    call_id: str
    name: str
    arguments: Any
    written: bool
    """Whether it stood in the text as markup; else it came in the provider's own way."""
    verdict: str = ""
    """What the guard said: `allow`, `ask` or `forbid`."""
    is_error: bool | None = None
    """Whether it failed; `None` if it has no result."""
    length: int = 0
    """Characters of its result."""
    excerpt: str = ""
    duration: float = 0.0
    """Seconds."""


@dataclass
class RoundTrace:
    """A request to the model, its answer, and what was made of it."""

    run: str
    """The turn's id."""
    machine: int
    """Which machine of the run: 0 is the first, others were started by it."""
    round: int
    model: str
    at: float
    """Seconds from the run's start to the request."""
    tools: list[str]
    """The tools on offer."""
    stream: bool
    """Whether the answer was streamed."""
    emission: str
    """How its text came out: `streamed` as it was written, `streamed without calls` where text is looked through for
    calls before it is shown, `whole`; `held` where hooks see it before it counts.
    """
    messages: int = 0
    """Messages of the request."""
    attempts: int = 1
    duration: float = 0.0
    text: int = 0
    """Characters of prose in the answer."""
    reasoning: int = 0
    """Characters of reasoning."""
    stop: str = ""
    """Why the answer ended, as the provider says."""
    usage: dict[str, int] = field(default_factory=dict)
    decision: str = ""
    rule: str = ""
    saw: str = ""
    calls: list[CallTrace] = field(default_factory=list)
    hooks: list[str] = field(default_factory=list)
    """Hooks that answered or failed, as `stage name: answer`."""
    notes: list[str] = field(default_factory=list)
    """Retries, resets, warnings, compactions, choices of the model."""
    agent: str = ""
    """The sub-agent whose round it is."""


@shown
class Trace(list[RoundTrace]):
    """The rounds of a run, in order."""


def trace(journal: str | os.PathLike[str], run: str | None = None) -> Trace:
    """The rounds of a journal: a path, or its lines as text; or the run of a store; or a run of the project by its
    name. What stands before damage counts.

    ::

        for round in loopwright.journal.trace("runs/8f2c.jsonl"):
            print(round.round, round.decision, [call.name for call in round.calls])
    """
    place = locate_journal(journal, run)
    with naming(place):
        text = place.read()
        name, _, machine = _core.journal_head(text)
        whole = _core.replay(text, None)[0]["events"]
    reader = _Reader(name, json.loads(machine))
    for line in text.split("\n")[1:]:
        if reader.lines >= whole:
            break
        found = parsed(line)
        if isinstance(found, dict) and found.get("seq") == reader.lines + 1:
            reader.lines += 1
            reader.take(found)
    return Trace(reader.rounds)


def trace_of(journal: str | None, run: str) -> Trace:
    """The trace of a result's journal."""
    if journal is None:
        message = "the run kept no journal, and the trace is a view of it"
        raise UsageError(message, "no_journal", "run it with journal=True, or with a folder for journals")
    lines = "\n" in journal or journal.endswith(".jsonl")
    return trace(journal, None if lines else run)


def parsed(line: str) -> Any:
    try:
        found = json.loads(line)
        return json.loads(found["escaped"]) if "escaped" in found else found
    except (ValueError, TypeError):
        return None


class _Reader:
    def __init__(self, run: str, machine: dict[str, Any]) -> None:
        turn = next((found for found in (machine.get("turn"), *_inner(machine)) if isinstance(found, dict)), {})
        self.run = run
        self.lines = 0
        self.rounds: list[RoundTrace] = []
        self.tools = [tool["name"] for tool in turn.get("tools", [])]
        self.stream = bool(turn.get("stream"))
        looked_through = bool(self.tools) and bool(turn.get("read_markup") or turn.get("tool_format"))
        self.emission = "whole"
        if self.stream:
            self.emission = "streamed without calls" if looked_through else "streamed"
        if {"post_llm", "pre_output"} & set(turn.get("hooks", [])):
            self.emission += ", held"
        self.ids: dict[str, set[str]] = {}
        # The run itself has no path; which sub-agent a machine is stands beside its first round.
        self.path = ""
        self.paths: dict[int, str] = {}
        self.lasts: dict[str, RoundTrace] = {}
        self.waiting: tuple[list[str], list[str]] = ([], [])

    @property
    def last(self) -> RoundTrace | None:
        """The round that is under way where the path leads."""
        return self.lasts.get(self.path)

    def take(self, line: dict[str, Any]) -> None:
        told = line["event"]["kind"]
        # Pauses are words alone.
        kind, event = (told, {}) if isinstance(told, str) else next(iter(told.items()))
        seconds = line["event"]["at"] / 1e6
        self.path = self.paths.get(event.get("id", 0) >> _SHIFT, "")
        if kind == "generated" and self.last is not None:
            self.answered(self.last, event["response"])
        elif kind == "executed" and self.last is not None:
            result = event["result"]
            for call in self.last.calls:
                if call.call_id == result["id"]:
                    call.length = sum(len(block.get("text", "")) for block in result["content"])
        for command in line["commands"]:
            if isinstance(command, dict):
                self.command(command, seconds)

    def answered(self, last: RoundTrace, response: dict[str, Any]) -> None:
        blocks = response["message"]["content"]
        last.text = sum(len(block["text"]) for block in blocks if block["type"] == "text")
        last.reasoning = sum(len(block.get("text", "")) for block in blocks if block["type"] == "thinking")
        stop = response["stop"]
        last.stop = stop if isinstance(stop, str) else next(iter(stop.values()))
        last.usage = response["usage"]
        self.ids[self.path] = {block["id"] for block in blocks if block["type"] == "tool_use"}

    def command(self, command: dict[str, Any], seconds: float) -> None:
        name, found = next(iter(command.items()))
        if name == "emit":
            notice, self.path = found["notice"], ""
            while notice["type"] == "child":
                notice, self.path = notice["told"], notice["path"]
            tell = getattr(self, f"on_{notice['type']}", None)
            if tell is not None:
                tell(notice)
        elif name == "generate":
            self.generate(found, seconds)
        elif name == "execute" and self.at(found) is not None:
            for each in found["calls"]:
                self.call(each["tool_use"]["id"], each["tool_use"]["name"]).arguments = each["tool_use"]["input"]

    def at(self, found: dict[str, Any]) -> RoundTrace | None:
        """The round that is under way in the machine of a command."""
        self.path = self.paths.setdefault(found["id"] >> _SHIFT, self.path)
        return self.last

    def generate(self, found: dict[str, Any], seconds: float) -> None:
        machine = found["id"] >> _SHIFT
        self.at(found)
        if found["attempt"] > 1 and self.last is not None:
            self.last.attempts = found["attempt"]
            return
        number = 1 + sum(1 for each in self.rounds if each.machine == machine)
        none = found.get("tool_choice") == "none"
        tools = [] if none else list(self.tools)
        hooks, notes = self.waiting
        self.waiting = ([], [])
        messages = found["messages"]
        self.lasts[self.path] = RoundTrace(
            self.run,
            machine,
            number,
            found["model"],
            seconds,
            tools,
            self.stream,
            self.emission,
            messages,
            hooks=hooks,
            notes=notes,
            agent=self.path,
        )
        self.rounds.append(self.lasts[self.path])

    def call(self, call_id: str, name: str) -> CallTrace:
        assert self.last is not None  # noqa: S101 - calls come after an answer
        for call in self.last.calls:
            if call.call_id == call_id:
                return call
        call = CallTrace(call_id, name, None, written=call_id not in self.ids.get(self.path, ()))
        self.last.calls.append(call)
        return call

    def hook(self, stage: str, line: str) -> None:
        before = stage in ("pre_assess", "post_assess", "pre_reason", "pre_llm")
        (self.waiting[0] if before or self.last is None else self.last.hooks).append(line)

    def note(self, line: str, *, before: bool = False) -> None:
        (self.waiting[1] if before or self.last is None else self.last.notes).append(line)

    def on_round_finished(self, notice: dict[str, Any]) -> None:
        if self.last is not None:
            self.last.duration = notice["duration"]

    def on_assessed(self, notice: dict[str, Any]) -> None:
        if self.last is None:
            return
        if notice["decision"] in ("tell", "slow", "pause_check") and self.last.decision:
            self.note(f"{notice['decision']} by {notice['rule']}: {notice['saw']}")
        else:
            self.last.decision, self.last.rule, self.last.saw = notice["decision"], notice["rule"], notice["saw"]

    def on_call_judged(self, notice: dict[str, Any]) -> None:
        if self.last is not None:
            self.call(notice["id"], notice["name"]).verdict = notice["verdict"]

    def on_tool_started(self, notice: dict[str, Any]) -> None:
        if self.last is not None:
            self.call(notice["id"], notice["name"]).arguments = notice["input"]

    def on_tool_finished(self, notice: dict[str, Any]) -> None:
        if self.last is not None:
            call = self.call(notice["id"], notice["name"])
            call.is_error, call.excerpt, call.duration = notice["is_error"], notice["excerpt"], notice["duration"]

    def on_approval_decided(self, notice: dict[str, Any]) -> None:
        said = "allowed" if notice["allowed"] else f"denied: {notice['reason']}"
        self.note(f"call {notice['id']} {said}")

    def on_retry(self, notice: dict[str, Any]) -> None:
        self.note(f"attempt {notice['attempt']} failed: {notice['reason']}")

    def on_reset(self, _: dict[str, Any]) -> None:
        self.note("what was shown is void")

    def on_warning(self, notice: dict[str, Any]) -> None:
        self.note(f"{notice['code']}: {notice['message']}")

    def on_compacted(self, notice: dict[str, Any]) -> None:
        self.note(f"compacted: {notice['before']} tokens became {notice['after']}", before=notice["reason"] == "full")

    def on_model_chosen(self, notice: dict[str, Any]) -> None:
        used = "used" if notice["used"] else "not used"
        line = f"model {notice['model']} ({notice['mode']}, {notice['confidence']:g}, {used}): {notice['reason']}"
        self.note(line, before=True)

    def on_hook_answered(self, notice: dict[str, Any]) -> None:
        reason = f" ({notice['reason']})" if notice.get("reason") else ""
        self.hook(notice["stage"], f"{notice['stage']} {notice['name']}: {notice['answer']}{reason}")

    def on_hook_failed(self, notice: dict[str, Any]) -> None:
        self.hook(notice["stage"], f"{notice['stage']} {notice['name']}: failed ({notice['error']})")


def _inner(machine: dict[str, Any]) -> list[Any]:
    """The turns inside of other machines."""
    return [found.get("turn") for found in machine.values() if isinstance(found, dict)]
