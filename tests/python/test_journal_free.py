"""N13: the journal is free when a run has ended, by whatever exception, while the traceback lives."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, LoopwrightError, UsageError, tool
from loopwright.hooks import Hook
from loopwright.journal import Journal
from loopwright.models import Call, Response
from loopwright.testing import ScriptedModel

pytestmark = pytest.mark.timeout(30)


@tool
def work() -> str:
    """Works."""
    return "done"


class Raising:
    """A model that asks for a tool, and then raises."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error

    def respond(self, request: Any) -> Any:
        if self.error is not None and request.turns:
            raise self.error
        return Response("", [Call("work", {})]) if not request.turns else "done"


def run(agent: Agent[Any, Any], way: str, journal: Any, on_event: Any) -> Any:
    async def streamed() -> Any:
        stream = agent.stream("go", journal=journal)
        async for event in stream:
            on_event(event)
        return stream.result

    if way == "sync":
        return agent.run_sync("go", journal=journal, on_event=on_event)
    return asyncio.run(streamed() if way == "stream" else agent.run("go", journal=journal, on_event=on_event))


@pytest.mark.parametrize("way", ["sync", "async", "stream"])
@pytest.mark.parametrize("kind", ["file", "store"])
@pytest.mark.parametrize("error", [LookupError("mine"), MemoryError(), KeyboardInterrupt(), SystemExit(3)], ids=repr)
@pytest.mark.parametrize("where", ["reader", "model", "hook"])
def test_n13_the_journal_is_free_while_the_traceback_lives(
    tmp_path: Path, way: str, kind: str, error: BaseException, where: str
) -> None:
    place = tmp_path / ("runs.db" if kind == "store" else "one.jsonl")
    journal: Any = Journal(place) if kind == "store" else place

    def reads(event: Any) -> None:
        if where == "reader" and type(event).__name__ == "ToolFinished":
            raise error

    def hook(_: Any) -> None:
        raise error

    if where == "hook" and not isinstance(error, Exception):
        pytest.skip("a hook that ends the process is a hook that has failed")
    hooks = [Hook("post_tool", hook, on_error="stop", inline=True)] if where == "hook" else []
    agent: Agent[Any, Any] = Agent(Raising(error if where == "model" else None), tools=[work], hooks=hooks)
    held: list[BaseException] = []
    try:
        run(agent, way, journal, reads)
    except BaseException as raised:
        held.append(raised)
    assert held
    with pytest.raises(UsageError) as caught:
        Agent(ScriptedModel(["x"]), tools=[work], hooks=hooks).resume_sync(journal)
    assert "has ended" in str(caught.value), caught.value


def test_n13_a_run_that_ended_well_lets_its_journal_go_while_its_parts_are_held(tmp_path: Path) -> None:
    place = tmp_path / "one.jsonl"
    agent = Agent(ScriptedModel(["done"]))

    async def main() -> Any:
        stream = agent.stream("go", journal=place)
        reader = stream.__aiter__()
        events = [event async for event in reader]
        return stream, reader, events

    held = asyncio.run(main())
    with pytest.raises(LoopwrightError, match="has ended"):
        agent.resume_sync(place)
    assert held
