"""Checked by `mypy --strict` and pyright, never run: streams and what is told, with the types that people expect."""

from __future__ import annotations

from dataclasses import dataclass

from loopwright import Agent, Result
from loopwright.events import Event, ReasoningDelta, RunFinished, TextDelta, ToolStarted
from loopwright.run import EndStep, ModelStep, Partial, RunIter, RunStream, SyncStream, ToolStep
from typing_extensions import assert_type


@dataclass
class City:
    """A city."""

    name: str


plain = Agent("offline:extractive")
city = Agent("offline:extractive", output_type=City)
cities = Agent("offline:extractive", output_type=list[City])


def by_if(event: Event) -> str:
    """`type` tells events apart."""
    if event.type == "text_delta":
        assert_type(event, TextDelta)
        return event.text
    if event.type == "tool_started":
        assert_type(event, ToolStarted)
        return event.name
    return "" if event.type != "run_finished" else event.result.stop_reason


def by_match(event: Event) -> str:
    """In `match`, too."""
    match event.type:
        case "reasoning_delta":
            assert_type(event, ReasoningDelta)
            return event.text
        case "run_finished":
            assert_type(event, RunFinished)
            return event.result.stop_reason
        case "warned":
            return event.code
        case _:
            return ""


async def awaited() -> None:
    """Streams in an event loop."""
    async with plain.stream("go") as stream:
        assert_type(stream, RunStream[str])
        async for text in stream.text():
            assert_type(text, str)
    assert_type(stream.result, Result[str])
    async with city.stream("go") as one:
        async for partial in one.outputs():
            assert_type(partial, Partial[City])
            assert_type(partial.value, City | None)
            assert_type(partial.done, bool)
    async with cities.stream("go") as many:
        async for item in many.items():
            assert_type(item, City)
    assert_type(many.result.output, list[City])
    city.stream("go").items()  # type: ignore[misc]  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]


def here() -> None:
    """Streams without one."""
    with plain.stream_sync("go") as stream:
        assert_type(stream, SyncStream[str])
        for event in stream:
            print(by_if(event))
    assert_type(stream.result.output, str)
    for text in plain.stream_sync("go").text():
        assert_type(text, str)
    for partial in city.stream_sync("go").outputs():
        assert_type(partial.value, City | None)
    for item in cities.stream_sync("go").items():
        assert_type(item, City)
    city.stream_sync("go").items()  # type: ignore[misc]  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]


async def step_by_step() -> City | None:
    """Steps, told apart by their `type` or their class."""
    async with city.iter("go") as run:
        assert_type(run, RunIter[City])
        async for step in run:
            assert_type(step, ModelStep | ToolStep | EndStep[City])
            match step.type:
                case "model":
                    assert_type(step, ModelStep)
                case "tool":
                    step.deny("no")
                case "end":
                    assert_type(step.result.output, City)
            if isinstance(step, ToolStep):
                step.answer({"any": "thing"})
            run.send("more")
    assert_type(run.result, Result[City])
    return run.result.output
