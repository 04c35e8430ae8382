"""What means something else to a loop, a generator or a coroutine is an exception like any other in code of somebody
else's: models, tools, hooks, sources, searches, approvers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from handbook import GOOD, QUESTION, TIDES, Raises
from loopwright import Agent, Grounded, Model, ModelError, Research, replay, tool
from loopwright.hooks import Hook, HookError, Router
from loopwright.models import Call, Response
from loopwright.testing import ScriptedModel

WAYS = ["sync", "async", "stream"]
ERRORS = [StopIteration("it is over"), StopAsyncIteration("it is over"), GeneratorExit("it is over")]
pytestmark = [
    pytest.mark.timeout(30),
    pytest.mark.parametrize("way", WAYS),
    pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__),
]


def run(agent: Any, way: str, prompt: str = "go", **options: Any) -> Any:
    async def streamed() -> Any:
        async with agent.stream(prompt, **options) as stream:
            async for _ in stream:
                pass
            return stream.result

    if way == "stream" and hasattr(agent, "stream"):
        return asyncio.run(streamed())
    return agent.run_sync(prompt, **options) if way == "sync" else asyncio.run(agent.run(prompt, **options))


def told(error: BaseException, text: str) -> bool:
    """Whether a text says what was raised. Python itself leaves the words of some out."""
    return type(error).__name__ in text and ("it is over" in text or f"raised {type(error).__name__}" in text)


@tool(read_only=True)
def look() -> str:
    """Looks."""
    return "seen"


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("later", [False, True])
def test_a_model_that_raises_it_breaks_the_run_off_by_name(
    tmp_path: Path, way: str, error: BaseException, later: bool, at: int
) -> None:
    path = tmp_path / "one.jsonl"
    model = Raises(error, later=later, at=at, before=Response("", [Call("look", {})]))
    with pytest.raises(ModelError, match="it is over") as caught:
        run(Agent(model, tools=[look]), way, journal=path)
    assert type(error).__name__ in str(caught.value)
    assert caught.value.code == "model_raised" and caught.value.hint
    assert model.asked == at
    assert caught.value.__cause__ is not None
    # The journal tells how it ended, as after any other exception.
    again = replay(path)
    assert again.identical and again.outcome is not None and again.outcome["stop"] == "cancelled"


@pytest.mark.parametrize("later", [False, True])
def test_a_judge_that_raises_it_is_told_and_the_answer_stands(
    docs: Path, way: str, error: BaseException, later: bool
) -> None:
    grounded = Grounded(
        Model(ScriptedModel([GOOD]), retry={"attempts": 1}), sources=docs, judge=Raises(error, later=later)
    )
    result = run(grounded, way, QUESTION)
    assert result.final == GOOD
    assert any(told(error, warning) for warning in result.warnings), result.warnings


@pytest.mark.parametrize("kind", ["plain", "async", "handed"])
def test_a_tool_that_raises_it_has_failed_and_the_run_goes_on(way: str, error: BaseException, kind: str) -> None:
    async def later() -> str:
        raise error

    @tool(name="bad")
    async def bad_async() -> str:
        """Raises."""
        raise error

    @tool(name="bad")
    def bad_plain() -> str:
        """Raises."""
        raise error

    @tool(name="bad")
    def bad_handed() -> Any:
        """Hands out what raises."""
        return later()

    bad = {"plain": bad_plain, "async": bad_async, "handed": bad_handed}[kind]
    result = run(Agent(ScriptedModel([Response("", [Call("bad", {})]), "Done."]), tools=[bad]), way)
    assert result.final == "Done."
    (call,) = result.tool_calls
    assert call.failure == "exception" and told(error, result.messages[-2].text or str(result.messages[-2]))


@pytest.mark.parametrize("kind", ["inline", "thread", "async"])
@pytest.mark.parametrize("on_error", ["skip", "stop"])
def test_a_hook_that_raises_it_has_failed(way: str, error: BaseException, kind: str, on_error: str) -> None:
    def plain(_: Any) -> None:
        raise error

    async def later(_: Any) -> None:
        raise error

    hook = Hook("pre_llm", later if kind == "async" else plain, inline=kind == "inline", on_error=on_error)
    agent = Agent(ScriptedModel(["Done."]), hooks=[hook])
    if on_error == "skip":
        assert run(agent, way).final == "Done."
        return
    with pytest.raises(HookError) as caught:
        run(agent, way)
    assert told(error, str(caught.value))


@pytest.mark.parametrize("kind", ["plain", "async", "handed"])
def test_who_is_asked_and_raises_it_has_said_no(way: str, error: BaseException, kind: str) -> None:
    ran = []

    @tool(risk="dangerous")
    def wipe() -> str:
        """Wipes."""
        ran.append(1)
        return "gone"

    async def later(_: Any = None) -> Any:
        raise error

    def plain(_: Any) -> Any:
        raise error

    approve = {"plain": plain, "async": later, "handed": lambda _: later()}[kind]
    agent = Agent(ScriptedModel([Response("", [Call("wipe", {})]), "Done."]), tools=[wipe], guard=approve)
    result = run(agent, way)
    assert result.final == "Done." and not ran
    (call,) = result.tool_calls
    assert call.failure is not None


@pytest.mark.parametrize("kind", ["plain", "async", "handed", "generator"])
def test_a_source_that_raises_it_is_among_the_warnings(docs: Path, way: str, error: BaseException, kind: str) -> None:

    async def later(_: Any = None) -> Any:
        raise error

    def plain(_: Any) -> Any:
        raise error

    def generator(_: Any) -> Any:
        yield "one"
        raise error

    source = {"plain": plain, "async": later, "handed": lambda _: later(), "generator": generator}[kind]
    grounded = Grounded("offline:extractive", sources=[docs, source])
    result = run(grounded, way, QUESTION)
    assert "3 times" in result.final
    assert any(told(error, warning) for warning in result.warnings), result.warnings


@pytest.mark.parametrize("kind", ["plain", "async", "generator"])
def test_a_search_that_raises_it_hides_no_other(way: str, error: BaseException, kind: str) -> None:
    async def later(_: str) -> Any:
        raise error

    def plain(_: str) -> Any:
        raise error

    def generator(_: str) -> Any:
        yield TIDES
        raise error

    search = {"plain": plain, "async": later, "generator": generator}[kind]
    made = Research("offline:extractive", search=[search, lambda _: [TIDES]], fetch=lambda _: TIDES["text"])
    result = run(made, way, "What causes the tides?")
    assert result.report["sections"]


def test_a_chooser_of_models_that_raises_it_leaves_the_model(way: str, error: BaseException) -> None:
    def choose(_: Any) -> Any:
        raise error

    assert run(Agent(Router(choose, default=ScriptedModel(["Done."]))), way).final == "Done."
