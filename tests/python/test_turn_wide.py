"""What holds over a whole run with its sub-agents: hooks, questions to people, pauses and what is watched."""

from __future__ import annotations

import asyncio
import io
import json
import threading
import time
from typing import Any

import pytest
from loopwright import Agent, Approval, Budget, ContextPolicy, Guard, Model, Monitor, SubAgent, events, replay, tool
from loopwright.cli.screen import Screen
from loopwright.cli.show import Watcher
from loopwright.events import ChildText, Paused, Reset, TextDelta
from loopwright.guard import Approvals
from loopwright.hooks import Hook, HookContext, Hooks, cost, loop_detection
from loopwright.models import Call, Response
from loopwright.monitor import StuckPolicy
from loopwright.roles import Role, Sanity
from loopwright.testing import ScriptedModel, call, calls, fault, text
from ways import KEY, WIRES, agent_at, eventually, run


def spawn(agent: str = "explore", task: str = "find it") -> Call:
    return Call("spawn", {"agent": agent, "task": task})


@tool(read_only=True)
def read(path: str) -> str:
    """Reads."""
    return f"content of {path}"


def used(tokens: int, said: Any) -> Response:
    return Response("" if isinstance(said, list) else said, said if isinstance(said, list) else [], input_tokens=tokens)


# ---- hooks see the whole run ----


def test_d04_x01_cost_counts_all_that_a_run_has_started(way: str) -> None:
    """Each alone is under the limit; together they are not."""

    def child() -> ScriptedModel:
        return ScriptedModel([used(400_000, [Call("read", {"path": "a"})]), used(400_000, "done")])

    agents = [SubAgent(name, tools=[read], model=child()) for name in ("a", "b", "c")]
    parent = ScriptedModel([used(400_000, [spawn("a"), spawn("b"), spawn("c")]), "all done"])
    limit = cost(1.0, price={"input": 1.0, "output": 1.0})
    result, _ = run(Agent(parent, agents=agents, hooks=limit), "go", way, budget=Budget(rounds=30))
    assert result.stop_reason == "hook_veto"
    # One request may be under way for each when the limit is passed; none begins after it.
    assert result.usage.input_tokens <= 1_600_000
    assert {each.result.stop_reason for each in result.children} == {"hook_veto"}
    assert parent.requests and len(parent.requests) == 1, "the run itself may not ask again"


def test_d03_a_hook_knows_whose_stage_it_is(way: str) -> None:
    seen: list[tuple[str, str | None, str | None, int]] = []

    def note(context: HookContext) -> None:
        seen.append((context.stage, context.agent, context.path, context.spent.iterations))

    hooks = Hooks([Hook("pre_llm", note), Hook("post_tool", note)])
    explore = SubAgent("explore", tools=[read], model=ScriptedModel([call("read", path="a"), "found"]))
    result, _ = run(Agent(ScriptedModel([calls(spawn()), "ok"]), agents=[explore], hooks=hooks), "go", way)
    assert result.final == "ok"
    assert [each[:3] for each in seen] == [
        ("pre_llm", None, None),
        ("pre_llm", "explore", "explore"),
        ("post_tool", "explore", "explore"),
        ("pre_llm", "explore", "explore"),
        ("post_tool", None, None),
        ("pre_llm", None, None),
    ]
    assert [each[3] for each in seen] == [1, 2, 2, 3, 3, 4], "requests of the whole run"


@pytest.mark.parametrize("action", ["tell", "deny", "stop"])
def test_d04_siblings_that_read_one_file_are_no_loop(way: str, action: str) -> None:
    agents = [
        SubAgent(name, tools=[read], model=ScriptedModel([call("read", path="same.md"), f"{name} is done"]))
        for name in ("a", "b", "c", "d")
    ]
    parent = ScriptedModel([calls(*(spawn(each.name, f"read it, {each.name}") for each in agents)), "all read"])
    agent = Agent(parent, agents=agents, hooks=loop_detection(action=action))
    result, _ = run(agent, "go", way, budget=Budget(rounds=30))
    assert result.final == "all read"
    assert [each.result.final for each in result.children] == [f"{name} is done" for name in "abcd"]
    assert all(each.result.tool_calls[0].failure is None for each in result.children)


def test_d04_a_child_in_a_loop_is_still_one(way: str) -> None:
    child = ScriptedModel([call("read", path="a")] * 5 + ["done"])
    agent = Agent(
        ScriptedModel([calls(spawn()), "ok"]),
        agents=[SubAgent("explore", tools=[read], model=child)],
        hooks=loop_detection(StuckPolicy(repeats=2), action="deny"),
    )
    result, _ = run(agent, "go", way, budget=Budget(rounds=30))
    assert [each.failure for each in result.children[0].result.tool_calls][:3] == [None, None, "denied"]


# ---- a pause does not wait for the background ----


def hanging(serve: Any, role: str) -> tuple[Any, dict[str, Any]]:
    server = serve(text("{}").after(30), repeat_last=True)
    options = {"base_url": server.url, "api_key": KEY}
    if role == "summarizer":
        return server, {"context": ContextPolicy(summarizer=Role("openai-chat:role", **options))}
    return server, {"monitor": Monitor(sanity=Sanity("openai-chat:role", interval=1, **options))}


@pytest.mark.parametrize("role", ["summarizer", "sanity"])
def test_d45_a_pause_does_not_wait_for_a_role_in_the_background(serve: Any, role: str) -> None:
    server, roles = hanging(serve, role)
    gate = threading.Event()

    @tool(read_only=True)
    def look(n: int) -> str:
        """Looks."""
        if n == 2:
            gate.wait(5)
        if n == 3:
            time.sleep(0.2)
        return f"seen {n}"

    async def main() -> Any:
        agent = Agent(
            ScriptedModel([call("look", n=1), call("look", n=2), call("look", n=3), "the end"]),
            tools=[look],
            **roles,
        )
        handle = agent.start("go", journal=True)
        async for event in handle.events():
            if isinstance(event, events.ToolStarted) and event.arguments == {"n": 2}:
                break
        assert await asyncio.to_thread(eventually, lambda: bool(server.requests))
        handle.pause()
        gate.set()
        began = time.monotonic()
        assert await asyncio.wait_for(handle.until_paused(), 2)
        assert time.monotonic() - began < 1
        before = len(server.requests)
        await asyncio.sleep(0.1)
        assert len(server.requests) == before, "nothing new starts"
        handle.resume()
        assert await asyncio.to_thread(eventually, lambda: len(server.requests) > before)
        # The same question again, and the run did not wait for it.
        return await handle

    result = asyncio.run(asyncio.wait_for(main(), 10))
    assert result.final == "the end"
    assert replay(result.journal).identical
    if role == "summarizer":
        assert result.summaries[-1].by == "rules", "what no model has summed up, the rules do"


def test_d45_what_was_laid_aside_is_done_after_the_pause(serve: Any, tmp_path: Any) -> None:
    """In another process, too: the journal knows what was laid aside."""
    facts = [{"category": "constraint", "text": "never touch lib.rs"}]
    summed = {"facts": facts, "files": [], "errors": [], "decisions": [], "timeline": []}
    server = serve(text("{}").after(30), json.dumps(summed), repeat_last=True)
    context = ContextPolicy(summarizer=Role("openai-chat:role", base_url=server.url, api_key=KEY))
    waits = threading.Event()

    @tool(read_only=True)
    def look(n: int) -> str:
        """Looks."""
        waits.wait(0.3)
        return f"seen {n}"

    def agent(*script: Any) -> Agent[Any, Any]:
        return Agent(ScriptedModel(list(script)), tools=[look], context=context)

    async def first() -> str:
        handle = agent(call("look", n=1), call("look", n=2), "x").start("go", journal=tmp_path / "j.jsonl")
        assert await asyncio.to_thread(eventually, lambda: bool(server.requests))
        journal = await asyncio.wait_for(handle.suspend(), 3)
        assert journal is not None
        return journal

    async def second(journal: str) -> Any:
        return await agent(call("look", n=3), "the end").resume(journal)

    journal = asyncio.run(first())
    result = asyncio.run(second(journal))
    assert result.final == "the end"
    assert len(server.requests) >= 2
    assert any(each.by == "role" for each in result.summaries), result.summaries


# ---- one person, several questions ----


def questions(way: str, approve: Any, timeout: float, count: int = 3) -> Any:
    @tool(risk="confirm")
    def delete(path: str) -> str:
        """Deletes."""
        return f"{path} is gone"

    names = "abcdefgh"[:count]
    agents = [SubAgent(n, tools=[delete], model=ScriptedModel([call("delete", path=n), "ok"])) for n in names]
    parent = ScriptedModel([calls(*(spawn(n) for n in names)), "done"])
    agent = Agent(parent, agents=agents, guard=Guard(approve=approve, timeout=timeout))
    return run(agent, "delete all of them", way, budget=Budget(rounds=40), journal=True)[0]


@pytest.mark.parametrize("kind", ["function", "Approvals"])
def test_d15_a_question_does_not_lapse_while_another_is_in_front_of_the_person(way: str, kind: str) -> None:
    asked: list[Approval] = []

    def approve(question: Approval) -> bool:
        asked.append(question)
        time.sleep(0.35)
        return True

    result = questions(way, approve if kind == "function" else Approvals(approve, timeout=0.6, ttl=0), timeout=0.6)
    # One after the other they take longer than one of them may.
    assert len(asked) == 3
    assert [each.result.tool_calls[0].failure for each in result.children] == [None] * 3
    assert all(each.expires_in == pytest.approx(0.6, abs=0.1) for each in asked), "each has its whole time"
    assert replay(result.journal).identical


def test_d15_questions_that_can_stand_side_by_side_do() -> None:
    both = 0
    all_there = asyncio.Event()

    async def approve(_question: Approval) -> bool:
        nonlocal both
        both += 1
        if both == 3:
            all_there.set()
        await all_there.wait()
        return True

    result = questions("run", approve, timeout=2)
    assert [each.result.tool_calls[0].failure for each in result.children] == [None] * 3


def test_d15_silence_lapses_each_question_in_its_turn(way: str) -> None:
    def approve(_question: Approval) -> bool:
        time.sleep(0.5)
        return True

    began = time.monotonic()
    result = questions(way, approve, count=2, timeout=0.2)
    assert [each.result.tool_calls[0].failure for each in result.children] == ["denied"] * 2
    assert time.monotonic() - began < 2
    assert result.final == "done"


def test_d45_cancelling_takes_back_the_questions_that_wait() -> None:
    asked: list[str | None] = []
    free = threading.Event()

    def approve(question: Approval) -> bool:
        asked.append(question.path)
        free.wait(3)
        return True

    @tool(risk="confirm")
    def delete(path: str) -> str:
        """Deletes."""
        return f"{path} is gone"

    async def main() -> Any:
        agents = [SubAgent(n, tools=[delete], model=ScriptedModel([call("delete", path=n), "ok"])) for n in "ab"]
        agent = Agent(ScriptedModel([calls(spawn("a"), spawn("b")), "done"]), agents=agents, guard=approve)
        handle = agent.start("delete both", journal=True)
        assert await asyncio.to_thread(eventually, lambda: bool(asked))
        await asyncio.sleep(0.05)
        handle.cancel()
        result = await asyncio.wait_for(handle, 2)
        free.set()
        await asyncio.sleep(0.1)
        return result

    result = asyncio.run(main())
    assert result.stop_reason == "cancelled"
    assert len(asked) == 1, "nobody is asked for a run that has ended"
    assert replay(result.journal).identical


# ---- what sub-agents say, as they say it ----


def test_c31_what_a_sub_agent_says_is_told_as_it_comes(serve: Any, wire: str) -> None:
    parent = serve(calls(spawn(task="A"), spawn(task="B")), "both found")
    children = serve(text("here it is, all of it, and more of it").slowly(0.01), repeat_last=True)
    agents = [SubAgent("explore", model=Model(f"{_prefix(wire)}:test", base_url=children.url, api_key=KEY))]
    result, told = run(agent_at(parent, wire, agents=agents), "go", "stream")
    said: dict[str | None, str] = {}
    for event in told:
        if isinstance(event, ChildText):
            assert event.agent == "explore"
            said[event.path] = said.get(event.path, "") + event.text
    assert said == dict.fromkeys(("explore", "explore#2"), "here it is, all of it, and more of it")
    pieces = [event for event in told if isinstance(event, ChildText)]
    assert len(pieces) > 4, "in pieces, not at the end"
    assert "".join(event.text for event in told if isinstance(event, TextDelta)) == result.final == "both found"
    numbers = [event.event_id for event in told]
    assert numbers == sorted(set(numbers))
    again = events.from_dict(json.loads(json.dumps(events.to_dict(pieces[0]))))
    assert (again, again.event_id) == (pieces[0], pieces[0].event_id)


def _prefix(wire: str) -> str:
    return WIRES[wire].partition(":")[0]


def test_c31_what_a_sub_agent_had_said_before_its_stream_broke_is_void(serve: Any) -> None:
    parent = serve(calls(spawn()), "ok")
    child = serve(
        text("the half of it, which breaks off here").but(fault.cut(after=4)), text("the whole"), repeat_last=True
    )
    agents = [SubAgent("explore", model=Model("anthropic:test", base_url=child.url, api_key=KEY))]
    result, told = run(agent_at(parent, agents=agents), "go", "stream")
    assert result.final == "ok"
    shown = ""
    for event in told:
        if isinstance(event, Reset) and event.path == "explore":
            shown = ""
        elif isinstance(event, ChildText):
            shown += event.text
    assert shown == "the whole"


def test_c31_the_terminal_shows_who_says_what() -> None:
    states: list[str | None] = []
    screen = Screen(out=io.StringIO(), err=io.StringIO())
    screen.status = states.append  # type: ignore[method-assign]
    watcher = Watcher(screen)
    watcher(events.AgentStarted("1", "explore", "explore", "find it", "m"))
    for piece in ("I look at \x1b[31msrc/", "a.rs and\n", "then at b.rs"):
        watcher(ChildText(piece, 0, agent="explore", path="explore"))
    watcher(ChildText("hm", 0, reasoning=True, agent="explore", path="explore#2"))
    assert states[-2] is not None
    assert "explore: " in states[-2]
    assert "then at b.rs" in states[-2]
    assert "\x1b" not in states[-2] and "\n" not in states[-2]
    assert states[-1] is not None and "explore#2: thinking" in states[-1]


def test_d45_paused_is_told_once_with_children_and_roles(serve: Any) -> None:
    _, roles = hanging(serve, "summarizer")

    async def main() -> list[Any]:
        asked = asyncio.Event()

        @tool(name="read", read_only=True)
        async def read_when_asked(path: str) -> str:
            """Read a file, once somebody wants a pause: else the run may be over before."""
            await asked.wait()
            return path

        explore = SubAgent("explore", tools=[read_when_asked], model=ScriptedModel([call("read", path="a"), "found"]))
        parent = ScriptedModel([call("read", path="x"), calls(spawn()), "ok"])
        handle = Agent(parent, tools=[read], agents=[explore], **roles).start("go")
        told: list[Any] = []
        async for event in handle.events():
            told.append(event)
            if isinstance(event, events.AgentStarted):
                handle.pause()
                asked.set()
            if isinstance(event, Paused):
                handle.resume()
        assert (await handle).final == "ok"
        return told

    told = asyncio.run(asyncio.wait_for(main(), 10))
    assert sum(isinstance(event, Paused) for event in told) == 1


def test_d15_a_run_that_broke_off_with_questions_waiting_asks_them_all(tmp_path: Any, way: str) -> None:
    free = threading.Event()
    asked: list[str | None] = []

    @tool(risk="confirm")
    def delete(path: str) -> str:
        """Deletes."""
        return f"{path} is gone"

    def agent(approve: Any, *script: Any) -> Agent[Any, Any]:
        agents = [
            SubAgent(name, tools=[delete], model=ScriptedModel([call("delete", path=name), "ok"] if script else ["ok"]))
            for name in "abc"
        ]
        return Agent(ScriptedModel([*script, "done"]), agents=agents, guard=Guard(approve=approve, timeout=0.4))

    def blocks(question: Approval) -> bool:
        asked.append(question.path)
        free.wait(5)
        return False

    async def first() -> str:
        handle = agent(blocks, calls(spawn("a"), spawn("b"), spawn("c"))).start(
            "delete all", journal=tmp_path / "j.jsonl"
        )
        assert await asyncio.to_thread(eventually, lambda: bool(asked))
        await asyncio.sleep(0.1)
        text = (tmp_path / "j.jsonl").read_text()
        handle.cancel()
        await handle
        free.set()
        return text

    journal = asyncio.run(first())
    assert journal.count('"asked"') == 2, "two wait behind the one that was put"
    (tmp_path / "cut.jsonl").write_text(journal)
    asked.clear()

    def agrees(question: Approval) -> bool:
        asked.append(question.path)
        time.sleep(0.25)
        return True

    again = agent(agrees)
    result = (
        again.resume_sync(tmp_path / "cut.jsonl")
        if way == "run_sync"
        else asyncio.run(again.resume(tmp_path / "cut.jsonl"))
    )
    assert result.final == "done"
    assert sorted(each or "" for each in asked) == ["a", "b", "c"]
    assert [each.result.tool_calls[0].failure for each in result.children] == [None] * 3
    assert replay(result.journal).identical
