"""Every stage of hooks, with every answer, in every kind of function, in every way to run."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from loopwright import replay, tool
from loopwright.events import HookAnswered, HookFailed
from loopwright.hooks import STAGES, AddContext, AnswerSubject, Hook, HookContext, HookError, Replace, Veto, run_stage
from loopwright.hooks._reflect import drain
from loopwright.testing import WireServer, call, text
from ways import agent_at, run

Serve = Callable[..., WireServer]
OF_THE_RUN = [stage for stage in STAGES if not stage.endswith("reflect")]
KINDS = ["sync", "async", "inline", "callable"]


@tool(read_only=True)
def look(path: str) -> str:
    """Looks."""
    return f"content of {path}"


class Callable_:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def __call__(self, context: HookContext) -> Any:
        await asyncio.sleep(0)
        return self.answer


def hook(stage: str, answer: Any, kind: str = "sync", **options: Any) -> Hook:
    def plain(context: HookContext) -> Any:
        return answer

    async def later(context: HookContext) -> Any:
        await asyncio.sleep(0.001)
        return answer

    function: Any = {"async": later, "callable": Callable_(answer)}.get(kind, plain)
    return Hook(stage, function, name="h", inline=kind == "inline", **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stage", OF_THE_RUN)
def test_d03_a_veto_with_a_reason_at_every_stage(serve: Serve, way: str, stage: str, kind: str) -> None:
    server = serve(call("look", path="a"), text("done"))
    agent = agent_at(server, tools=[look], hooks=[hook(stage, Veto("not today"), kind)])
    result, events = run(agent, "go", way, journal=True)
    assert replay(result.journal).identical
    if stage in ("pre_tool", "post_tool"):
        assert result.stop_reason == "natural"
        assert result.tool_calls[0].failure == ("denied" if stage == "pre_tool" else "withheld")
        assert "not today" in result.messages.to_json()
        assert "content of a" not in result.messages.to_json()
    else:
        assert (result.stop_reason, result.final, result.message) == ("hook_veto", None, "not today")
        assert result.best_draft == ("done" if stage.endswith("output") else None)
    if events:
        told = [each for each in events if isinstance(each, HookAnswered)]
        assert (told[0].stage, told[0].name, told[0].answer, told[0].reason) == (stage, "h", "veto", "not today")


REPLACEMENTS: dict[str, Any] = {
    "pre_assess": "something else",
    "pre_llm": {"system": "be brief"},
    "post_llm": "what the model did not say",
    "pre_tool": {"path": "b"},
    "post_tool": "other content",
    "pre_output": "another answer",
    "post_output": "another answer",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stage", OF_THE_RUN)
def test_d03_a_replacement_at_every_stage(serve: Serve, way: str, stage: str, kind: str) -> None:
    server = serve(call("look", path="a"), text("done"))
    agent = agent_at(server, tools=[look], hooks=[hook(stage, Replace(REPLACEMENTS.get(stage, "x")), kind)])
    result, events = run(agent, "go", way, journal=True)
    assert replay(result.journal).identical
    bodies = str([each["body"] for each in server.requests])
    if stage not in REPLACEMENTS:
        assert result.final == "done", "there is nothing to replace: it is told, and the run goes on"
        if events:
            failed = [each for each in events if isinstance(each, HookFailed)]
            assert "can't replace" in failed[0].error
    elif stage == "post_llm":
        assert result.final == "what the model did not say"
        assert len(result.tool_calls) == 1, "text takes the place of the text; calls stay"
    elif stage.endswith("output"):
        assert result.final == str(result) == "another answer"
    else:
        assert result.final == "done"
        wanted = {"pre_assess": "something else", "pre_llm": "be brief", "pre_tool": "content of b"}
        assert wanted.get(stage, "other content") in bodies


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("stage", OF_THE_RUN)
def test_d45_a_run_is_cancelled_while_a_hook_hangs_at_any_stage(serve: Serve, stage: str, kind: str) -> None:
    began, release = threading.Event(), threading.Event()

    def hangs(context: HookContext) -> None:
        began.set()
        release.wait(20)

    async def hangs_later(context: HookContext) -> None:
        began.set()
        await asyncio.sleep(20)

    async def main() -> Any:
        server = serve(call("look", path="a"), text("done"))
        function = hangs if kind == "sync" else hangs_later
        handle = agent_at(server, tools=[look], hooks=[Hook(stage, function, timeout=30)]).start("go", journal=True)
        assert await asyncio.to_thread(began.wait, 5)
        handle.cancel()
        began_at = time.monotonic()
        result = await asyncio.wait_for(handle, 3)
        assert time.monotonic() - began_at < 2
        return result

    try:
        result = asyncio.run(main())
    finally:
        release.set()
    assert result.stop_reason == "cancelled"
    assert replay(result.journal).identical
    if stage.endswith("output"):
        assert result.best_draft == "done"
    if stage == "post_tool":
        assert "content of a" not in result.messages.to_json() or result.tool_calls[0].failure is None


@pytest.mark.parametrize("stage", OF_THE_RUN)
def test_d45_a_pause_waits_for_a_hook_and_goes_on_behind_it(serve: Serve, stage: str) -> None:
    began, release = threading.Event(), threading.Event()

    def slow(context: HookContext) -> None:
        began.set()
        release.wait(5)

    async def main() -> Any:
        server = serve(call("look", path="a"), text("done"))
        handle = agent_at(server, tools=[look], hooks=[Hook(stage, slow)]).start("go", journal=True)
        assert await asyncio.to_thread(began.wait, 5)
        handle.pause()
        await asyncio.sleep(0.05)
        assert handle.state == "pausing"
        requests = len(server.requests)
        release.set()
        if await asyncio.wait_for(handle.until_paused(), 3):
            await asyncio.sleep(0.05)
            assert len(server.requests) == requests
            handle.resume()
        return await asyncio.wait_for(handle, 3)

    result = asyncio.run(main())
    assert result.final == "done"
    assert replay(result.journal).identical


@pytest.mark.parametrize("stage", OF_THE_RUN)
def test_d03_a_hook_that_blocks_holds_up_neither_the_loop_nor_other_runs(serve: Serve, stage: str) -> None:
    names: set[str] = set()

    def blocks(context: HookContext) -> None:
        names.add(threading.current_thread().name)
        time.sleep(0.15)

    async def main() -> float:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.ensure_future(tick())
        servers = [serve(call("look", path="a"), text("done")) for _ in range(4)]
        began = time.monotonic()
        runs = [agent_at(each, tools=[look], hooks=[Hook(stage, blocks)]).run("go") for each in servers]
        results = await asyncio.gather(*runs)
        took = time.monotonic() - began
        ticking.cancel()
        assert {each.final for each in results} == {"done"}
        assert ticks > 5
        return took

    asyncio.run(main())
    assert threading.main_thread().name not in names


@pytest.mark.parametrize("kind", ["sync", "async", "inline"])
def test_d03_hooks_see_the_callers_context_variables(serve: Serve, way: str, kind: str) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")
    seen: list[str] = []

    def plain(context: HookContext) -> None:
        seen.append(variable.get())

    async def later(context: HookContext) -> None:
        seen.append(variable.get())

    variable.set("ann")
    hooks = [Hook("pre_llm", later if kind == "async" else plain, inline=kind == "inline")]
    result, _ = run(agent_at(serve("done"), hooks=hooks), "go", way)
    assert result.final == "done"
    assert seen == ["ann"]


@pytest.mark.parametrize("on_error", ["skip", "stop"])
@pytest.mark.parametrize("stage", OF_THE_RUN)
def test_d03_a_late_hook_is_skipped_or_stops_as_it_says(serve: Serve, way: str, stage: str, on_error: str) -> None:
    release = threading.Event()
    server = serve(call("look", path="a"), text("done"))
    hooks = [Hook(stage, lambda _: release.wait(5) and None, timeout=0.05, on_error=on_error, name="h")]
    agent = agent_at(server, tools=[look], hooks=hooks)
    try:
        if on_error == "skip":
            assert run(agent, "go", way)[0].final == "done"
        else:
            with pytest.raises(HookError) as caught:
                run(agent, "go", way)
            assert "within 0.05 s" in caught.value.message
            assert caught.value.result is not None
            assert caught.value.result.stop_reason == "hook_failed"
    finally:
        release.set()


@pytest.mark.parametrize("stage", ["pre_reflect", "post_reflect"])
def test_d03_the_stages_after_the_answer_never_fail_the_run(serve: Serve, way: str, stage: str) -> None:
    seen: list[str] = []

    def breaks(context: HookContext) -> None:
        seen.append(context.stage)
        raise ValueError("it broke")

    for answer in (Veto("no"), Replace("x"), AddContext("y")):
        result, _ = run(agent_at(serve("done"), hooks=[hook(stage, answer)]), "go", way)
        assert result.final == "done"
    result, _ = run(agent_at(serve("done"), hooks=[Hook(stage, breaks, on_error="stop")]), "go", way)
    assert result.final == "done"
    assert drain()
    assert seen == [stage]
    replies = run_stage([hook("pre_reflect", Veto("no"))], "pre_reflect", AnswerSubject("x", "natural"))
    assert [(each.answer, each.text) for each in replies] == [("veto", "no")]


def test_d03_two_runs_of_one_hook_do_not_mix(serve: Serve) -> None:
    seen: dict[str, list[str]] = {}

    async def note(context: HookContext) -> None:
        await asyncio.sleep(0.001)
        seen.setdefault(context.run_id, []).append(context.stage)

    async def main() -> list[Any]:
        hooks = [Hook(stage, note) for stage in OF_THE_RUN]
        agents = [agent_at(serve(call("look", path="a"), text("done")), tools=[look], hooks=hooks) for _ in range(8)]
        return await asyncio.gather(*(agent.run("go") for agent in agents))

    results = asyncio.run(main())
    assert len({str(stages) for stages in seen.values()}) == 1
    assert set(seen) == {result.run_id for result in results}
