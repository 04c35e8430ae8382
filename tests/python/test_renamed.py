"""Names that fields had before are errors that say what they are called now; data that was written under them is read."""

from __future__ import annotations

import copy
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, Approval, Budget, Result, SubAgent, Usage, events, tool
from loopwright._words import UnknownOption
from loopwright.events import (
    AgentFinished,
    ApprovalDecided,
    ToolStarted,
    ToolUseDelta,
    from_dict,
    from_notice,
    to_dict,
)
from loopwright.extraction import ExtractedCall
from loopwright.hooks import CallSubject
from loopwright.journal import events_of
from loopwright.messages import ToolResult, ToolUse
from loopwright.models import Call
from loopwright.run import ToolCall
from loopwright.testing import ScriptedModel, call


@tool(read_only=True)
def double(n: int) -> int:
    """Twice a number."""
    return 2 * n


def result() -> Result[str]:
    return Agent(ScriptedModel([call("double", n=4), "8"]), tools=[double], budget=Budget(rounds=3)).run_sync("Go.")


def test_whoever_reads_an_old_name_is_told_todays() -> None:
    used = Usage(input_tokens=3, output_tokens=2, cache_read_tokens=1)
    for old, new in [("input", "input_tokens"), ("output", "output_tokens"), ("total", "total_tokens")]:
        with pytest.raises(AttributeError, match=rf"Usage\.{old} is now Usage\.{new}"):
            getattr(used, old)
        assert hasattr(used, new) and not hasattr(used, old)
    (made,) = result().tool_calls
    assert (made.name, made.arguments, made.round, made.failure) == ("double", {"n": 4}, 1, None)
    for old, new in [("id", "call_id"), ("input", "arguments"), ("iteration", "round")]:
        with pytest.raises(AttributeError, match=rf"ToolCall\.{old} is now ToolCall\.{new}"):
            getattr(made, old)


def test_whoever_gives_an_old_name_is_told_todays() -> None:
    for make in (
        lambda: Budget(iterations=3),  # type: ignore[call-arg]
        lambda: dataclasses.replace(Budget(rounds=5), iterations=4),  # type: ignore[call-arg]
    ):
        with pytest.raises(UnknownOption, match="here it is rounds") as caught:
            make()
        assert caught.value.message == "Budget has no option iterations"
    with pytest.raises(UnknownOption, match="here it is instructions"):
        SubAgent("scout", system="Look.")  # type: ignore[call-arg]


def test_new_names_travel() -> None:
    used, limits = Usage(input_tokens=3, output_tokens=4), Budget(rounds=7)
    assert copy.deepcopy(used) == used and copy.deepcopy(limits) == limits
    assert dataclasses.replace(limits, tokens=9) == Budget(rounds=7, tokens=9)
    assert used.total_tokens == 7 and not Budget().gives_rounds


def test_results_that_were_saved_under_the_old_names_are_read() -> None:
    ours = result()
    plain = json.loads(json.dumps(ours.to_dict()))
    assert Result.from_dict(plain).tool_calls == ours.tool_calls
    plain["usage"] = {"input": 3, "output": 4, "cache_read": 0, "cache_write": 0, "reasoning": 0}
    (made,) = plain["tool_calls"]
    plain["tool_calls"] = [
        {"id": made["call_id"], "name": "double", "input": {"n": 4}, "iteration": 1, "at": 0.0, "duration": 0.0}
    ]
    read = Result.from_dict(plain)
    assert read.usage == Usage(input_tokens=3, output_tokens=4)
    assert read.tool_calls == [ToolCall(made["call_id"], "double", {"n": 4}, 1, 0.0, 0.0)]


@pytest.mark.parametrize(
    ("one", "names"),
    [
        (ToolStarted("c1", "double", {"n": 4}, 1), {"id": "call_id", "input": "arguments"}),
        (ApprovalDecided("c1", True, "so"), {"id": "call_id"}),
        (ToolUseDelta("c1", "double"), {"id": "call_id"}),
        (Call("double", {"n": 4}, "c1"), {"id": "call_id"}),
        (ToolUse("c1", "double", '{"n":4}'), {"id": "call_id", "input": "arguments", "input_json": "arguments_json"}),
        (ToolResult("c1", "double"), {"id": "call_id"}),
        (ExtractedCall(0, "double", "{}", "c1", "hermes", "tagged", (0, 2), False, True), {"id": "call_id"}),
        (Approval("rm", {}, "confirm", "so", "c1", 5.0), {"tool": "name"}),
        (CallSubject("c1", "double", {"n": 4}), {"id": "call_id"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_call_has_the_same_names_everywhere_and_those_before_say_so(one: object, names: dict[str, str]) -> None:
    for old, new in names.items():
        assert hasattr(one, new)
        with pytest.raises(AttributeError, match=rf"\.{old} is now {type(one).__name__}\.{new}"):
            getattr(one, old)


def test_events_that_were_saved_under_the_old_names_are_read() -> None:
    event = ToolStarted("c1", "double", {"n": 4}, 1)
    assert to_dict(event) == {"type": "tool_started", "event_id": 0, "call_id": "c1", "name": "double",
                              "arguments": {"n": 4}, "round": 1}  # fmt: skip
    before = {"type": "tool_started", "event_id": 0, "id": "c1", "name": "double", "input": {"n": 4}, "round": 1}
    assert from_dict(before) == event == from_notice(before)
    saved = {"type": "child_finished", "id": "c1", "child": "a", "name": "a", "stop": "natural", "is_error": False}
    more = {"usage": {}, "cost": None, "requests": 1, "duration": 0.1, "excerpt": ""}
    finished = from_dict({**saved, **more})
    assert isinstance(finished, AgentFinished) and finished.stop_reason == "natural"


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("ApprovalAsked", "ApprovalRequested"),
        ("ChildStarted", "AgentStarted"),
        ("ChildFinished", "AgentFinished"),
        ("Warning", "Warned"),
    ],
)
def test_whoever_wants_an_event_by_the_name_before_is_told_todays(before: str, now: str) -> None:
    told = rf"loopwright\.events\.{before} is now loopwright\.events\.{now}"
    with pytest.raises(ImportError, match=told):
        getattr(events, before)
    with pytest.raises(ImportError, match=told):
        exec(f"from loopwright.events import {before}")  # noqa: S102 - as a program would
    assert now in events.__all__ and before not in events.__all__
    assert not hasattr(events, "NeverAnEvent")


def test_events_are_read_under_the_types_before_and_journals_keep_them(tmp_path: Path) -> None:
    warned = events.Warned("slow", "it is slow")
    assert to_dict(warned)["type"] == "warned"
    for told in ("warning", "warned"):
        assert from_dict({"type": told, "code": "slow", "message": "it is slow"}) == warned
    assert from_notice({"type": "warning", "code": "slow", "message": "it is slow"}) == warned
    child = SubAgent("scout", "looks", model=ScriptedModel(["seen"]))
    script = ScriptedModel([call("spawn", agent="scout", task="see"), "done"])
    heard: list[Any] = []
    Agent(script, agents=[child]).run_sync("go", journal=tmp_path / "one.jsonl", on_event=heard.append)
    assert {"agent_started", "agent_finished"} <= {event.type for event in heard}
    written = (tmp_path / "one.jsonl").read_text(encoding="utf-8")
    assert '"child_started"' in written and '"agent_started"' not in written
    listed = [event.type for event in events_of(tmp_path / "one.jsonl")]
    assert [kind for kind in listed if kind.startswith("agent_")] == ["agent_started", "agent_finished"]
