"""What providers do wrong, over all wires and in three ways to run, with the default settings."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import pytest
from loopwright import Agent, LoopwrightError, ProviderError, Result, replay, tool
from loopwright.events import Reset, Retry, TextDelta
from loopwright.models import Call
from loopwright.testing import Reply, call, calls, fault, text
from ways import agent_at, run, tools_of

ANSWER = "The answer is forty-two, as everybody knows by now."
# More events than pieces of a whole answer's usual size give, so that a fault strikes in the middle on every wire.
PIECES = dataclasses.replace(text(ANSWER), piece=6)
CALLS: list[str] = []


@tool(read_only=True)
def look(query: str) -> str:
    """Look."""
    CALLS.append(query)
    return query.upper()


@pytest.fixture(autouse=True)
def _nothing_called() -> None:
    CALLS.clear()


def watched(agent: Agent[Any, Any], way: str) -> tuple[Result[Any], list[Any]]:
    """A run whose requests are streamed, in each of the three ways."""
    events: list[Any] = []
    if way == "stream":
        return run(agent, "go", way)
    result, _ = run(agent, "go", way, on_event=events.append)
    return result, events


# The faults of the matrix: what strikes the first request, and whether it is streamed.
STATUSES = {429: "rate_limited", 500: "server", 529: "overloaded"}
MATRIX: dict[str, tuple[bool, list[Reply]]] = {
    **{f"h{status}": (False, [fault.status(status)]) for status in STATUSES},
    "badjson": (False, [calls(Call("look", '{"query": "fo'))]),
    "stream badjson": (True, [calls(Call("look", '{"query": "fo'))]),
    "stream earlyerr": (True, [fault.error_event(after=0)]),
    "stream miderr": (True, [PIECES.but(fault.error_event(after=5))]),
    "stream midcut": (True, [PIECES.but(fault.cut(after=5))]),
}


@pytest.mark.parametrize("name", list(MATRIX))
def test_all_faults_of_the_matrix_are_survived_by_default(serve: Any, wire: str, way: str, name: str) -> None:
    streamed, struck = MATRIX[name]
    server = serve(*struck, call("look", query="forty-two"), text(ANSWER))
    agent = agent_at(server, wire, tools=[look])
    result, events = watched(agent, way) if streamed else run(agent, "go", way)
    assert result.final == ANSWER
    assert result.stop_reason == "natural"
    assert CALLS == ["forty-two"], "a tool ran twice, or on broken arguments"
    assert server.pending == 0
    if "badjson" in name:
        assert [each.failure is None for each in result.tool_calls] == [False, True]
    else:
        assert result.iterations[0]["attempts"] == 2
        assert result.transcript == ANSWER
    if name in {"stream miderr", "stream midcut"}:
        at = [type(event) for event in events].index(Reset)
        assert any(isinstance(event, TextDelta) for event in events[:at])


@pytest.mark.parametrize("name", list(MATRIX))
def test_faults_in_the_middle_of_a_run_repeat_no_tool(serve: Any, wire: str, name: str) -> None:
    streamed, struck = MATRIX[name]
    server = serve(call("look", query="a"), *struck, text(ANSWER))
    agent = agent_at(server, wire, tools=[look], retry={"base": 0.01})
    result, _ = watched(agent, "run_sync") if streamed else run(agent, "go", "run_sync")
    assert result.final == ANSWER
    assert CALLS == ["a"]


MORE = {
    "closes": fault.closes(),
    "empty": fault.empty(),
    "not json": fault.not_json(),
    "malformed": fault.malformed(),
    "ends": text(ANSWER).but(fault.ends(after=3)),
    "503": fault.status(503),
    "408": fault.status(408),
}


@pytest.mark.parametrize("name", list(MORE))
def test_more_faults_are_survived(serve: Any, wire: str, way: str, name: str) -> None:
    server = serve(MORE[name], text(ANSWER))
    result, _ = watched(agent_at(server, wire, retry={"base": 0.01}), way)
    assert result.final == ANSWER
    assert result.iterations[0]["attempts"] == 2


def test_a_stream_that_falls_silent_is_given_up(serve: Any, wire: str) -> None:
    server = serve(PIECES.but(fault.stalls(after=5)), text(ANSWER))
    agent = agent_at(server, wire, timeouts={"idle": 0.2}, retry={"base": 0.01})
    began = time.monotonic()
    result, events = watched(agent, "stream")
    assert result.final == ANSWER
    assert 0.2 <= time.monotonic() - began < 3
    assert Reset in [type(event) for event in events]


def test_bytes_may_come_in_any_pieces(serve: Any, wire: str) -> None:
    words = "Größe, 北京, 🎉 and more of it."
    for size in (1, 3, 7):
        server = serve(Reply({"text": words}, chunk=size))
        result, events = watched(agent_at(server, wire), "stream")
        assert result.final == words
        assert "".join(event.text for event in events if isinstance(event, TextDelta)) == words


def test_retry_after_is_honoured(serve: Any, wire: str) -> None:
    server = serve(fault.status(429, retry_after=0.4), text(ANSWER))
    began = time.monotonic()
    _, events = watched(agent_at(server, wire), "stream")
    assert 0.4 <= time.monotonic() - began < 2
    assert [event.delay for event in events if isinstance(event, Retry)] == [0.4]


def test_runs_that_fail_together_do_not_come_back_together(serve: Any) -> None:
    def delays(**options: Any) -> set[float]:
        server = serve(fault.status(500), text(ANSWER), fault.status(500), text(ANSWER))
        agent = agent_at(server)
        found = [run(agent, "go", "stream", **options)[1] for _ in range(2)]
        return {event.delay for events in found for event in events if isinstance(event, Retry)}

    assert len(delays()) == 2
    assert len(delays(seed=7)) == 1


def test_a_wait_of_minutes_is_not_waited_for(serve: Any, way: str) -> None:
    server = serve(fault.status(429, retry_after=300), text(ANSWER))
    with pytest.raises(ProviderError) as caught:
        run(agent_at(server), "go", way)
    assert caught.value.code == "rate_limited"
    assert caught.value.result is not None
    assert caught.value.result.stop_reason == "error"


def test_the_provider_says_whether_to_try_again(serve: Any, wire: str, way: str) -> None:
    server = serve(fault.status(529, should_retry=False), text(ANSWER))
    with pytest.raises(ProviderError) as caught:
        run(agent_at(server, wire), "go", way)
    assert (caught.value.code, len(server.requests)) == ("overloaded", 1)
    server = serve(fault.status(400, should_retry=True), text(ANSWER))
    result, _ = run(agent_at(server, wire), "go", way)
    assert (result.final, len(server.requests)) == (ANSWER, 2)


def test_too_early_is_tried_again(serve: Any, wire: str) -> None:
    server = serve(fault.status(425), text(ANSWER))
    assert run(agent_at(server, wire), "go", "run_sync")[0].final == ANSWER


def test_an_error_says_what_was_answered(serve: Any, wire: str, way: str, tmp_path: Any) -> None:
    path = tmp_path / "a journal.jsonl"
    server = serve(fault.status(429, retry_after=300))
    with pytest.raises(ProviderError) as caught:
        run(agent_at(server, wire, journal=path), "go", way)
    error = caught.value
    assert (error.status, error.retry_after) == (429, 300.0)
    assert error.request_id
    assert error.result is not None
    assert error.result.error is error
    assert replay(path).identical
    # Journals of runs that ended so before it was said hold the same commands.
    assert '"answered"' not in path.read_text()
    for status, code in [(401, "auth"), (403, "permission"), (404, "not_found"), (402, "quota"), (418, "bad_request")]:
        with pytest.raises(LoopwrightError) as caught_too:
            run(agent_at(serve(fault.status(status)), wire), "go", way)
        told = caught_too.value
        assert (told.code, told.status, told.retry_after) == (code, status, None)
    quick = {"attempts": 2, "base": 0.0}
    with pytest.raises(ProviderError) as worn_out:
        run(agent_at(serve(*[fault.status(500)] * 2), wire, retry=quick), "go", way)
    assert worn_out.value.status == 500


def test_an_error_without_an_answer_has_no_status(serve: Any, way: str) -> None:
    with pytest.raises(ProviderError) as caught:
        run(agent_at(serve(fault.closes()), retry={"attempts": 1}), "go", way)
    assert (caught.value.status, caught.value.retry_after, caught.value.request_id) == (None, None, None)


def test_what_can_not_be_repaired_is_not_repeated(serve: Any, wire: str, way: str) -> None:
    for status, code in [(400, "bad_request"), (401, "auth"), (403, "permission"), (404, "not_found"), (402, "quota")]:
        server = serve(fault.status(status, message="no, because"), text(ANSWER))
        with pytest.raises(LoopwrightError) as caught:
            run(agent_at(server, wire), "go", way)
        assert caught.value.code == code
        assert len(server.requests) == 1
        assert str(status) in caught.value.message
        assert "no, because" in caught.value.message


def test_what_was_reached_comes_with_the_error(serve: Any, wire: str, way: str) -> None:
    server = serve(calls(Call("look", {"query": "a"}), text="I look it up."), fault.status(403))
    with pytest.raises(ProviderError) as caught:
        run(agent_at(server, wire, tools=[look]), "go", way)
    result = caught.value.result
    assert result is not None
    assert result.error is caught.value
    assert result.stop_reason == "error"
    assert result.final is None
    assert result.best_draft == "I look it up."
    assert [each.name for each in result.tool_calls] == ["look"]
    assert result.usage.total_tokens > 0
    assert [message["role"] for message in result.messages.to_dicts()] == ["user", "assistant", "user"]


def test_after_all_attempts_the_error_says_what_happened(serve: Any, wire: str) -> None:
    server = serve(PIECES.but(fault.cut(after=5)), repeat_last=True)
    events: list[Any] = []
    with pytest.raises(ProviderError) as caught:
        agent_at(server, wire, retry={"base": 0.01, "attempts": 2}).run_sync("go", on_event=events.append)
    assert caught.value.code == "cut"
    result = caught.value.result
    assert result is not None
    assert result.best_draft
    assert ANSWER.startswith(result.best_draft)
    assert len(server.requests) == 2


def test_a19_a_host_that_fails_again_and_again_is_left_alone(serve: Any) -> None:
    server = serve(fault.status(500), repeat_last=True)
    agent = agent_at(server, retry={"base": 0.001, "attempts": 3})
    with pytest.raises(ProviderError) as caught:
        agent.run_sync("go")
    assert caught.value.code == "server"
    with pytest.raises(ProviderError) as caught:
        agent_at(server, retry={"attempts": 1}).run_sync("go")
    assert caught.value.code == "breaker_open"
    assert len(server.requests) == 3, "nothing was sent"


def test_a19_three_short_failures_do_not_end_a_run_that_may_try_four_times(serve: Any, wire: str, way: str) -> None:
    server = serve(fault.status(500), fault.status(502), fault.status(503), text(ANSWER))
    result, _ = run(agent_at(server, wire, retry={"base": 0.01}), "go", way)
    assert result.final == ANSWER
    assert len(server.requests) == 4
    # The breaker is closed again.
    server.push("fine")
    assert run(agent_at(server, wire, retry={"attempts": 1}), "go", way)[0].final == "fine"


def test_a19_what_opened_the_breaker_has_one_more_attempt_and_all_others_wait(serve: Any) -> None:
    server = serve(fault.status(500), repeat_last=True)
    with pytest.raises(ProviderError) as caught:
        agent_at(server, retry={"base": 0.001}).run_sync("go")
    assert caught.value.code == "server"
    assert "4 attempts" in caught.value.message
    with pytest.raises(ProviderError) as caught:
        agent_at(server, retry={"attempts": 1}).run_sync("go")
    assert caught.value.code == "breaker_open"
    assert len(server.requests) == 4


def test_a21_without_tools_if_they_are_what_the_provider_refuses(serve: Any, wire: str) -> None:
    server = serve(fault.status(400, message="tools are not supported by this model"), text(ANSWER))
    result, _ = run(agent_at(server, wire, tools=[look]), "go", "run_sync")
    assert result.final == ANSWER
    assert result.warnings
    assert tools_of(server.requests[0]["body"])
    assert not tools_of(server.requests[1]["body"])
