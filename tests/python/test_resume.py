"""Runs that go on: after a crash, beside damage, as forks; nothing that was written down is done twice."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from pathlib import Path
from typing import Any

import pytest
from killing import killed_at_moments, killed_until_it_ends
from loopwright import (
    Agent,
    ContextPolicy,
    Grounded,
    LoopwrightError,
    Messages,
    Model,
    Monitor,
    SubAgent,
    UsageError,
    replay,
    tool,
)
from loopwright.hooks import Router
from loopwright.journal import diff
from loopwright.models import Call, Response
from loopwright.testing import ScriptedModel, call, text
from ways import agent_at


@tool
def write(n: int) -> str:
    """Writes."""
    return f"wrote {n}"


@tool(idempotent=True)
def put(n: int) -> str:
    """Puts."""
    return f"put {n}"


def model(*script: Any) -> ScriptedModel:
    return ScriptedModel(list(script))


SCRIPT = [call("write", n=1), call("put", n=2), "done"]


@pytest.fixture
def lines(tmp_path: Path) -> list[str]:
    """The journal of a run with two tools."""
    result = Agent(model(*SCRIPT), tools=[write, put]).run_sync("go", journal=tmp_path / "whole.jsonl")
    assert result.final == "done"
    assert result.journal is not None
    return Path(result.journal).read_text(encoding="utf-8").splitlines(keepends=True)


def resumed(way: str, agent: Agent[Any, Any], path: Path) -> Any:
    return agent.resume_sync(path) if way == "run_sync" else asyncio.run(agent.resume(path))


@pytest.mark.parametrize("way", ["run_sync", "run"])
def test_c28_a_run_cut_behind_any_event_goes_on(tmp_path: Path, lines: list[str], way: str) -> None:
    answered = 0
    for kept in range(2, len(lines)):
        path = tmp_path / f"cut-{way}-{kept}.jsonl"
        path.write_text("".join(lines[:kept]), encoding="utf-8")
        answered += '{"generated"' in lines[kept - 1]
        result = resumed(way, Agent(model(*SCRIPT[answered:]), tools=[write, put]), path)
        assert result.final == "done"
        assert result.stop_reason == "natural"
        assert result.journal == str(path)
        # Only the call whose end is not known and whose tool is not idempotent is lost.
        started = kept == 3
        assert [found.failure for found in result.tool_calls] == ["unknown" if started else None, None]
        found = replay(path)
        assert found.identical
        assert found.damage is None
        assert found.messages == result.messages


@pytest.mark.parametrize("way", ["run_sync", "run"])
@pytest.mark.parametrize("allowed", [True, False])
def test_c28_a_call_that_may_have_taken_effect_is_asked_about(
    tmp_path: Path, lines: list[str], way: str, *, allowed: bool
) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_text("".join(lines[:3]), encoding="utf-8")
    asked = []

    def approve(question: Any) -> bool:
        asked.append(question)
        return allowed

    result = resumed(way, Agent(model(*SCRIPT[1:]), tools=[write, put], guard=approve), path)
    assert [(question.name, question.arguments) for question in asked] == [("write", {"n": 1})]
    assert "may have taken effect" in asked[0].why
    assert [found.failure for found in result.tool_calls] == [None if allowed else "unknown", None]


def test_a_line_that_was_cut_is_no_damage_and_stays(tmp_path: Path, lines: list[str]) -> None:
    for cut in (1, len(lines[4]) // 2, len(lines[4]) - 2):
        path = tmp_path / f"cut-{cut}.jsonl"
        torn = ("".join(lines[:4]) + lines[4][:cut]).encode()
        path.write_bytes(torn)
        result = Agent(model(*SCRIPT[1:]), tools=[write, put]).resume_sync(path)
        assert result.final == "done"
        assert path.read_bytes().startswith(torn)
        assert replay(path).identical
        assert replay(path).damage is None


def test_damage_is_seen_and_the_run_goes_on_beside_it(tmp_path: Path, lines: list[str]) -> None:
    for line in range(1, len(lines)):
        path = tmp_path / f"flipped-{line}.jsonl"
        data = bytearray("".join(lines).encode())
        at = len("".join(lines[:line]).encode()) + len(lines[line]) // 2
        data[at] ^= 4
        path.write_bytes(data)
        found = replay(path)
        assert found.damage is not None
        assert found.damage["line"] == line + 1
        assert found.events == line - 1
        if line == 1:
            continue
        done = sum('{"generated"' in kept for kept in lines[:line])
        agent = Agent(model(*SCRIPT[done:]), tools=[write, put])
        result = agent.resume_sync(path)
        assert result.final == "done"
        assert result.journal == str(tmp_path / f"flipped-{line}-recovered-1.jsonl")
        assert path.read_bytes() == bytes(data), "a damaged journal stays as it is"
        assert replay(result.journal or "").identical


def test_what_can_not_be_resumed_says_why(tmp_path: Path, lines: list[str]) -> None:
    agent = Agent(model("x"), tools=[write, put])

    def refused(path: Path, agent: Agent[Any, Any] = agent) -> str:
        with pytest.raises(LoopwrightError) as caught:
            agent.resume_sync(path)
        assert caught.value.hint or path.name in caught.value.message
        return caught.value.code

    assert refused(tmp_path / "whole.jsonl") == "run_finished"
    assert refused(tmp_path / "nothing.jsonl") == "journal_not_found"
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(lines[:2]), encoding="utf-8")
    assert refused(cut, Agent(model("x"), tools=[put])) == "missing_tool"
    empty = tmp_path / "empty.jsonl"
    empty.write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="empty"):
        agent.resume_sync(empty)


def test_one_process_at_a_time(tmp_path: Path, serve: Any) -> None:
    server = serve(text("word " * 100).slowly(0.02))
    path = tmp_path / "run.jsonl"

    async def main() -> str:
        running = asyncio.create_task(agent_at(server).run("go", journal=path, on_event=lambda event: None))
        while not path.exists() or path.read_bytes().count(b"\n") < 2:  # noqa: ASYNC110 - a file has no event
            await asyncio.sleep(0.01)
        with pytest.raises(UsageError) as caught:
            await agent_at(server).resume(path)
        running.cancel()
        await asyncio.wait([running])
        return caught.value.code

    assert asyncio.run(main()) == "journal_in_use"


def test_forks_go_on_with_another_result_prompt_or_model(tmp_path: Path, lines: list[str]) -> None:
    whole = tmp_path / "whole.jsonl"
    agent = Agent(model(*SCRIPT[1:]), tools=[write, put], journal=tmp_path / "forks")
    other = agent.fork_sync(whole, 3, tool_result="nothing written")
    assert other.final == "done"
    assert "nothing written" in str(other.messages[2].content)
    parting = diff(whole, other.journal or "")
    assert parting is not None
    assert (parting.seq, parting.what) == (3, "event")
    assert whole.read_text(encoding="utf-8") == "".join(lines), "the journal that is forked stays as it is"

    agent = Agent(model("else"), tools=[write, put], journal=tmp_path / "forks")
    other = asyncio.run(agent.fork(whole, 4, prompt="and now?"))
    assert [message.text for message in other.messages if message.role == "user"][-1] == "and now?"
    assert other.final == "else"
    assert replay(other.journal or "").identical

    same = Agent(model("done"), tools=[write, put]).fork_sync(whole, 5, journal=tmp_path / "same.jsonl")
    assert diff(whole, same.journal or "") is None

    for at, given, code in [(99, None, "no_such_event"), (0, None, "no_such_event"), (2, "x", "no_tool_result")]:
        with pytest.raises(UsageError) as caught:
            agent.fork_sync(whole, at, tool_result=given)
        assert caught.value.code == code and caught.value.hint


def test_a_grounded_answer_is_resumed(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("The breaker opens after 3 failures.\n", encoding="utf-8")
    grounded = Grounded("offline:extractive", sources=[tmp_path / "notes"])
    result = grounded.run_sync("When does the breaker open?", journal=tmp_path / "whole.jsonl")
    lines = (tmp_path / "whole.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    for kept in range(2, len(lines)):
        path = tmp_path / f"cut-{kept}.jsonl"
        path.write_text("".join(lines[:kept]), encoding="utf-8")
        again = grounded.resume_sync(path)
        assert again.final == result.final
        assert replay(path).identical


class Counting:
    """Calls `note` six times, with the number of results it has seen; then it is done."""

    name = "counting"

    def respond(self, request: Any) -> Any:
        done = sum(len(message.tool_results) for message in Messages(request.messages))
        time.sleep(0.001)
        return Response(calls=[Call("note", {"n": done})]) if done < 6 else "done"


def work(folder: Path, journal: Path, *, begins: bool) -> None:
    """A run whose tool leaves a line in a file, from its beginning or from its journal."""

    @tool
    def note(n: int) -> str:
        """Notes a number."""
        with (folder / "effects").open("a") as file:
            file.write(f"{n}\n")
        time.sleep(0.001)
        return f"noted {n}"

    agent = Agent(Counting(), tools=[note], monitor=Monitor(stuck=None))
    if begins:
        agent.run_sync("go", journal=journal)
    else:
        agent.resume_sync(journal)


def killed_again_and_again(folder: Path, seed: int, name: str) -> int:
    """A run that is killed at most three times; gives how often it was."""

    def goes(journal: Path, begins: bool, _seed: int) -> None:
        work(folder, journal, begins=begins)

    return killed_until_it_ends(folder, seed, name, goes, most=3, longest=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run.jsonl", "project.db"])
def test_c28_d46_killed_at_200_moments_runs_go_on_and_do_nothing_twice(tmp_path: Path, name: str) -> None:
    killed_at_moments("test_resume", tmp_path, name, kills=200, timeout=100)


@pytest.mark.parametrize("way", ["run_sync", "run"])
def test_a_run_is_not_resumed_with_another_model(tmp_path: Path, serve: Any, way: str) -> None:
    """The host would be asked for a model of somebody else's."""
    server = serve(call("put", n=1), "done", by_turn=True)
    agent = Agent(Model("anthropic:claude-sonnet-4-5", base_url=server.url, api_key="k"), tools=[put])
    whole = tmp_path / "whole.jsonl"
    agent.run_sync("go", journal=whole)
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(whole.read_text(encoding="utf-8").splitlines(keepends=True)[:3]), encoding="utf-8")
    asked = len(server.requests)
    other = Agent(Model("gemini:gemini-2.5-flash", base_url=server.url, api_key="k"), tools=[put])
    with pytest.raises(UsageError, match="gemini-2.5-flash") as caught:
        resumed(way, other, cut)
    assert (caught.value.code, "fork" in str(caught.value.hint)) == ("other_model", True)
    assert len(server.requests) == asked
    assert resumed(way, agent, cut).final == "done"


def chain_of(url: str, **changed: str) -> Agent[Any, str]:
    """An agent with a model at each place that asks one."""
    names = {"first": "m", "fallback": "m2", "sub": "s", "sub_fallback": "s2", "summarizer": "r", **changed}

    def at(name: str, *behind: str) -> Model:
        place: Any = {"base_url": url, "api_key": "k"}
        return Model(f"openai-chat:{name}", **place, fallback=[Model(f"openai-chat:{one}", **place) for one in behind])

    helper = SubAgent("helper", "Helps.", model=at(names["sub"], names["sub_fallback"]), tools=[put])
    context = ContextPolicy(summarizer=at(names["summarizer"]))
    return Agent(at(names["first"], names["fallback"]), tools=[put], agents=[helper], context=context)


@pytest.mark.parametrize("place", ["first", "fallback", "sub", "sub_fallback", "summarizer"])
def test_a_run_goes_on_with_every_model_that_it_began_with(tmp_path: Path, serve: Any, place: str) -> None:
    server = serve(call("put", n=1), "done", by_turn=True)
    agent = chain_of(server.url)
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    agent.run_sync("go", journal=whole)
    cut.write_text("".join(whole.read_text(encoding="utf-8").splitlines(keepends=True)[:3]), encoding="utf-8")
    other = chain_of(server.url, **{place: "elsewhere"})
    with pytest.raises(UsageError, match="elsewhere") as caught:
        other.resume_sync(cut)
    assert (caught.value.code, "fork" in str(caught.value.hint)) == ("other_model", True)
    forked = other.fork_sync(whole, at=1, journal=True)
    assert (forked.final, replay(forked.journal).identical) == ("done", True)
    assert '"elsewhere"' in forked.journal.splitlines()[0]
    assert agent.resume_sync(cut).final == "done"


def test_a_run_that_chose_its_model_is_not_resumed_without_who_chooses(tmp_path: Path, serve: Any) -> None:
    """The name of the chosen model would go out as it was written, with its provider."""
    server = serve(call("put", n=1), "done", by_turn=True)
    model = Model("openai-chat:m", base_url=server.url, api_key="k")
    agent = Agent(Router(lambda _: "openai-chat:other", default=model), tools=[put])
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    agent.run_sync("go", journal=whole)
    lines = whole.read_text(encoding="utf-8").splitlines(keepends=True)
    cut.write_text("".join(lines[:4]), encoding="utf-8")
    with pytest.raises(UsageError, match="Router"):
        Agent(model, tools=[put]).resume_sync(cut)
    assert agent.resume_sync(cut).final == "done"
    assert {request["body"]["model"] for request in server.requests} == {"other"}


def test_a_fork_takes_settings_prices_and_who_escalates_from_its_agent(tmp_path: Path, serve: Any) -> None:
    server = serve(call("put", n=1), "done", by_turn=True)
    whole = tmp_path / "whole.jsonl"
    place: Any = {"base_url": server.url, "api_key": "k"}
    old: Any = {"temperature": 0.3, "extra_body": {"chat_template_kwargs": {"a": 1}}}
    Agent(Model("openai-chat:one", **place, settings=old, escalate_to="openai-chat:one-big"), tools=[put]).run_sync(
        "go", journal=whole
    )
    new = Model("anthropic:claude-opus-4-1", **place, settings={"max_tokens": 77})
    agent = Agent(dataclasses.replace(new, escalate_to="anthropic:two-big"), tools=[put])
    forked, alone = agent.fork_sync(whole, at=1, journal=True), agent.run_sync("go")
    body = server.requests[-3]["body"]
    assert (body["model"], body["max_tokens"], "temperature" in body) == ("claude-opus-4-1", 77, False)
    assert "chat_template_kwargs" not in body
    assert forked.cost == alone.cost and forked.cost
    assert '"anthropic:two-big"' in forked.journal.splitlines()[0]
    assert Agent(new, tools=[put]).fork_sync(whole, at=1).final == "done"
