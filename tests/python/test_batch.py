"""Requests of many runs in batches, over real sockets: the same results as by themselves, for half the price."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, LoopwrightError, Model, UsageError, prices, tool
from loopwright.events import TextDelta
from loopwright.hooks import Router
from loopwright.testing import Batches, WireServer, call, fault, text

MODELS = ["openai-chat:gpt-4o", "openai-responses:gpt-4o", "anthropic:claude-sonnet-4-5"]
QUICK = {"gather": 0.05, "poll": 0.02, "longest_poll": 0.05}
RETRY = {"base": 0.001, "cap": 0.001}


@tool(read_only=True)
def doubled(word: str) -> str:
    """A word twice."""
    return word * 2


def model(name: str, server: WireServer, **options: Any) -> Model:
    given: dict[str, Any] = {"api_key": "k", "batch": QUICK, "retry": RETRY, **options}
    return Model(name, base_url=server.url, **given)


def until(happened: Any) -> None:
    for _ in range(2_000):
        if happened():
            return
        time.sleep(0.005)
    pytest.fail("it never happened")


@pytest.mark.parametrize("name", MODELS)
def test_a_thousand_runs_go_in_waves_and_give_what_they_give_by_themselves(name: str) -> None:
    script = [call("doubled", word="ab"), text("It is abab.")]

    async def all_of(agent: Agent[Any, Any]) -> list[Any]:
        return await asyncio.gather(*[agent.run(f"Question {n}?") for n in range(1_000)])

    with WireServer(script, by_turn=True) as server:
        live = asyncio.run(all_of(Agent(model(name, server, batch=False), tools=[doubled])))
    with WireServer(script, by_turn=True, batches=Batches(polls=2)) as server:
        found = asyncio.run(all_of(Agent(model(name, server, batch={**QUICK, "gather": 2.0}), tools=[doubled])))
        batches = server.batches
        paths = [request["path"] for request in server.requests]
    assert {result.stop_reason for result in found} == {"natural"}
    for one, other in zip(live, found, strict=True):
        assert (
            (one.final, one.usage, len(one.tool_calls))
            == (other.final, other.usage, len(other.tool_calls))
            != ("", 0, 0)
        )
        assert [each.text for each in one.messages] == [each.text for each in other.messages]
        assert other.cost == pytest.approx(one.cost / 2)
    # Two requests of each run, in few batches; a name stands for one request.
    names = [each for batch in batches for each in batch.names]
    assert len(names) == len(set(names)) == 2_000
    assert len(batches) <= 12, [len(batch.names) for batch in batches]
    assert not [path for path in paths if path.endswith(("/messages", "/responses", "/chat/completions"))]


@pytest.mark.parametrize("name", MODELS)
def test_the_price_is_that_of_the_dated_table(name: str) -> None:
    whole, half = prices.of(name), prices.of(name, batch=True)
    assert whole is not None and half is not None and half.input == whole.input / 2 and half.output == whole.output / 2
    assert prices.of("mistral:m", batch=True) is None and prices.of("gpt-4o", batch=True) is None
    with WireServer([text("Yes.")]) as server:
        result = Agent(model(name, server)).run_sync("Is it?")
        used = {"input": result.usage.input_tokens, "output": result.usage.output_tokens}
        assert result.cost == pytest.approx(half.cost(**used))
    with WireServer([text("Yes.")]) as server:
        result = Agent(model(name, server, price={"input": 1.0, "output": 1.0})).run_sync("Is it?")
        assert result.cost == pytest.approx(result.usage.total_tokens / 1e6), "what somebody says it costs, it costs"


@pytest.mark.parametrize("name", MODELS)
def test_requests_that_failed_in_a_batch_are_tried_again_in_another(name: str) -> None:
    with WireServer([fault.status(429), text("Yes.")]) as server:
        assert Agent(model(name, server)).run_sync("Is it?").final == "Yes."
        assert [len(batch.names) for batch in server.batches] == [1, 1]
        first, second = (batch.names[0] for batch in server.batches)
        assert first != second, "another attempt has another name"
    with WireServer([fault.status(400, message="no such thing")], repeat_last=True) as server:
        with pytest.raises(LoopwrightError) as failed:
            Agent(model(name, server)).run_sync("Is it?")
        assert failed.value.code == "bad_request" and "no such thing" in str(failed.value)
        assert getattr(failed.value, "status", None) == 400, "that of the request, not of the file it stands in"
        assert len(server.batches) == 1
    for end in ("expired", "canceled", "lost"):
        with WireServer([text("Yes.")], batches=Batches(ends={0: end})) as server:  # type: ignore[dict-item]
            result = Agent(model(name, server)).run_sync("Is it?")
            assert (result.final, len(server.batches)) == ("Yes.", 2), end
    with WireServer([], batches=Batches(ends=dict.fromkeys(range(9), "expired"))) as server:
        with pytest.raises(LoopwrightError) as failed:
            Agent(model(name, server, retry={**RETRY, "attempts": 2})).run_sync("Is it?")
        assert failed.value.code == "server" and len(server.batches) == 2


@pytest.mark.parametrize("name", MODELS[:2])
def test_a_request_that_is_none_takes_no_other_with_it(name: str) -> None:
    async def both(agent: Agent[Any, Any]) -> list[Any]:
        return await asyncio.gather(*[agent.run(f"{n}?") for n in range(3)], return_exceptions=True)

    with WireServer([text("Yes.")], repeat_last=True, batches=Batches(ends={1: "invalid"})) as server:
        found = asyncio.run(both(Agent(model(name, server))))
        assert sorted(type(each).__name__ for each in found) == ["ProviderError", "Result", "Result"]
        wrong = next(each for each in found if isinstance(each, LoopwrightError))
        assert wrong.code == "bad_request" and "this line is none" in str(wrong)
        assert [len(batch.names) for batch in server.batches] == [3, 2]


def test_a_batch_that_cannot_be_made_fails_its_requests() -> None:
    with WireServer([text("Yes.")], key="right") as server:
        with pytest.raises(LoopwrightError) as failed:
            Agent(model(MODELS[0], server, api_key="wrong-key-123")).run_sync("Is it?")
        assert failed.value.code == "auth" and "wrong-key-123" not in str(failed.value)
        assert Agent(model(MODELS[0], server, api_key=lambda: "right")).run_sync("Is it?").final == "Yes."


@pytest.mark.parametrize("name", MODELS)
def test_whoever_watches_sees_the_answer_in_one_piece(name: str) -> None:
    seen: list[str] = []

    def watch(event: Any) -> None:
        if isinstance(event, TextDelta):
            seen.append(event.text)

    with WireServer([text("A long answer that streams elsewhere.")]) as server:
        Agent(model(name, server)).run_sync("Is it?", on_event=watch)
    assert seen == ["A long answer that streams elsewhere."]


def test_threads_share_a_batch() -> None:
    with WireServer([text("Yes.")], repeat_last=True) as server:
        agent = Agent(model(MODELS[2], server, batch={**QUICK, "gather": 1.0}))
        threads = [threading.Thread(target=agent.run_sync, args=(f"{n}?",)) for n in range(5)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert [len(batch.names) for batch in server.batches] == [5]


@pytest.mark.parametrize("name", MODELS)
def test_a_batch_is_cancelled_when_nobody_waits_any_more(name: str) -> None:
    async def given_up(server: WireServer) -> None:
        agent = Agent(model(name, server))
        runs = [agent.start(f"{n}?") for n in range(2)]
        await asyncio.to_thread(until, lambda: server.batches and server.batches[0].polls)
        runs[0].cancel()
        assert (await runs[0]).stop_reason == "cancelled"
        polls = server.batches[0].polls
        await asyncio.to_thread(until, lambda: server.batches[0].polls > polls + 1)
        assert not server.batches[0].cancelled, "the other one waits"
        runs[1].cancel()
        await runs[1]
        await asyncio.to_thread(until, lambda: server.batches[0].cancelled)

    with WireServer([text("Yes.")], repeat_last=True, batches=Batches(polls=10_000)) as server:
        asyncio.run(given_up(server))
        assert len(server.batches) == 1


PROGRAM = """
import asyncio, sys
from loopwright import Agent, Model

place = Model(sys.argv[1], base_url=sys.argv[2], api_key="k", batch={"gather": 0.2, "poll": 0.02, "longest_poll": 0.05})

async def runs():
    await asyncio.gather(*[Agent(place).run(f"{n}?", journal=f"{sys.argv[3]}/{n}.jsonl") for n in range(3)])

asyncio.run(runs())
"""


@pytest.mark.parametrize("name", MODELS)
def test_runs_that_were_killed_pick_up_the_answers_of_their_batch(name: str, tmp_path: Path) -> None:
    journals = [tmp_path / f"{n}.jsonl" for n in range(3)]
    rules = Batches(polls=10_000)
    with WireServer([text("Yes.")], repeat_last=True, batches=rules) as server:
        child = subprocess.Popen([sys.executable, "-c", PROGRAM, name, server.url, str(tmp_path)])
        try:
            until(lambda: all(each.exists() and b'"batch":{"id"' in each.read_bytes() for each in journals))
            until(lambda: server.batches[0].polls)
        finally:
            child.kill()
            child.wait()
        assert [len(batch.names) for batch in server.batches] == [3] and not server.batches[0].cancelled
        server._batches.rules = Batches(polls=server.batches[0].polls + 3)

        async def again() -> list[Any]:
            return await asyncio.gather(*[Agent(model(name, server)).resume(each) for each in journals])

        assert [result.final for result in asyncio.run(again())] == ["Yes."] * 3
        assert len(server.batches) == 1, "nothing was sent again"
        # What a journal holds is replayed as ever.
        from loopwright import replay

        assert all(replay(str(each)).divergence is None for each in journals)


@pytest.mark.parametrize("name", MODELS)
def test_a_run_whose_batch_is_gone_sends_its_request_again(name: str, tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    with WireServer([text("Yes.")], batches=Batches(polls=10_000)) as server:
        child = subprocess.Popen([sys.executable, "-c", PROGRAM, name, server.url, str(tmp_path)])
        try:
            until(lambda: (tmp_path / "0.jsonl").exists() and b'"batch":{"id"' in (tmp_path / "0.jsonl").read_bytes())
        finally:
            child.kill()
            child.wait()
        journal = tmp_path / "0.jsonl"
    with WireServer([text("Yes.")]) as server:
        assert Agent(model(name, server)).resume_sync(journal).final == "Yes."
        assert len(server.batches) == 1


def test_a_model_of_a_chain_and_one_that_is_chosen_go_in_batches_by_themselves() -> None:
    with WireServer([fault.status(404), text("Yes.")]) as server:
        after = model(MODELS[2], server, retry=None)
        result = Agent(model(MODELS[0], server, batch=False, fallback=[after])).run_sync("Is it?")
        assert result.final == "Yes." and [batch.id for batch in server.batches] == ["msgbatch_1"]
    with WireServer([fault.status(404), text("Yes.")]) as server:
        after = model(MODELS[2], server, retry=None, batch=False)
        result = Agent(model(MODELS[0], server, fallback=[after])).run_sync("Is it?")
        assert result.final == "Yes." and [batch.id for batch in server.batches] == ["batch_1"]
    with WireServer([text("Yes.")]) as server:
        chosen = model(MODELS[1], server, retry=None)
        agent = Agent(Router(lambda _: chosen, default=model(MODELS[2], server, batch=False)))
        price = prices.of(MODELS[1], batch=True)
        result = agent.run_sync("Is it?")
        assert price is not None and len(server.batches) == 1
        used = {"input": result.usage.input_tokens, "output": result.usage.output_tokens}
        assert result.cost == pytest.approx(price.cost(**used))


def test_a_run_has_a_day_unless_somebody_says_otherwise() -> None:
    from loopwright import Budget

    place: dict[str, Any] = {"api_key": "k", "batch": True}
    assert Agent(Model(MODELS[0], **place)).budget.wall_time > 24 * 3600
    assert Agent(Model(MODELS[0], **place), budget=Budget(wall_time=5.0)).budget.wall_time == 5.0
    assert Agent(Model(MODELS[0], api_key="k")).budget.wall_time == 300.0
    shown = repr(Model(MODELS[0], api_key="k", batch={"poll": 5}))
    assert "batch={'poll': 5}" in shown and "batch" not in repr(Model(MODELS[0], api_key="k"))


@pytest.mark.parametrize(
    ("usual", "said", "time"),
    [({}, {}, 26 * 3600.0), ({"wall_time": 7.0}, {}, 7.0), ({}, {"wall_time": 90.0}, 300.0)],
    ids=["usual", "said", "said_here"],
)
def test_a_fork_in_batches_has_a_day_unless_somebody_has_said_otherwise(
    usual: dict[str, Any], said: dict[str, Any], time: float, tmp_path: Path
) -> None:
    from loopwright import Budget

    path = tmp_path / "run.jsonl"
    with WireServer([text("Yes.")], repeat_last=True) as server:
        Agent(model(MODELS[0], server, batch=False), budget=Budget(**usual)).run_sync("Is it?", journal=path)
        given = {"budget": Budget(**said)} if said else {}
        batched = Agent(model(MODELS[0], server), **given)
        forked = batched.fork_sync(path, at=1, journal=tmp_path / "fork.jsonl")
        assert forked.final == "Yes." and len(server.batches) == 1
        begun = json.loads((tmp_path / "fork.jsonl").read_text().splitlines()[0])
        assert found(begun, "wall_time") == [time]


def found(value: Any, name: str) -> list[Any]:
    """The values of members of this name, at any depth."""
    if isinstance(value, list):
        return [each for one in value for each in found(one, name)]
    if not isinstance(value, dict):
        return []
    own = [value[name]] if name in value else []
    return own + [each for one in value.values() for each in found(one, name)]


@pytest.mark.parametrize(
    ("name", "batch", "code", "words"),
    [
        ("mistral:m", True, "no_batches", "anthropic"),
        ("ollama:m", True, "no_batches", "openai"),
        (MODELS[0], "yes", "invalid_option", "batch"),
        (MODELS[0], {"pol": 1}, "invalid_option", "longest_poll"),
        (MODELS[0], {"poll": 0}, "invalid_option", "poll"),
        (MODELS[0], {"gather": float("nan")}, "invalid_option", "gather"),
    ],
)
def test_what_cannot_be_is_said_when_the_model_is_made(name: str, batch: Any, code: str, words: str) -> None:
    with pytest.raises(UsageError) as failed:
        Model(name, api_key="k", batch=batch)
    assert failed.value.code == code and words in str(failed.value), failed.value
