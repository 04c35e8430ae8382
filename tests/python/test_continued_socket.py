"""Requests over a WebSocket, over real sockets: what is new is sent, and whatever dies, nothing is lost."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, Model, SubAgent, UsageError, replay, tool
from loopwright.errors import ProviderError
from loopwright.events import Retry, TextDelta
from loopwright.models import Call
from loopwright.roles import Role
from loopwright.testing import Reply, WireServer, calls, fault, recorded, text
from loopwright.tools.builtin import builtin_tools
from test_continued import LONG, model, new_of, once, page, reader, script, sent, size, told, turn

STORED = {"settings": {"extra_body": {"store": True}}}


def over(server: WireServer, **options: Any) -> Model:
    return model(server, continued="websocket", **options)


def named(server: WireServer) -> list[bool]:
    return ["previous_response_id" in body for body in sent(server)]


def ways(server: WireServer) -> list[str]:
    return [request["method"] for request in server.requests]


def results(server: WireServer) -> list[str]:
    """The ids of the results of tools that were sent, in order."""
    return [
        item["call_id"] for body in sent(server) for item in body["input"] if item.get("type") == "function_call_output"
    ]


def wait(until: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not until() and time.monotonic() < end:
        time.sleep(0.01)
    assert until()


def settle(server: WireServer, sockets: int = 0) -> None:
    """Waits until so many sockets are open: the server hears of an end a little later than the client."""
    wait(lambda: server.open_sockets == sockets)


def plain(journal: Any) -> list[Any]:
    """The lines of a journal, but for the words of failures, which name a connection, and the pauses behind them."""

    apart = ("message", "reason", "delay", "request_id")

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: bare(each) for key, each in value.items() if key not in apart}
        return [bare(each) for each in value] if isinstance(value, list) else value

    return [bare(line) for line in told(journal)]


@tool(read_only=True)
def note(number: int) -> str:
    """Reads one line of the book."""
    return f"Line {number}."


def measured(agent: Any, call: Any) -> tuple[float, float, float]:
    """How much 200 turns send over a WebSocket, by bodies and by bytes of the connection, and over HTTP, for what is
    new.
    """
    lines = [*[calls(call(n), text=f"I read page {n}.") for n in range(1, 200)], text("I have read it.")]
    figures = []
    for continued in (False, True, "websocket"):
        with WireServer(lines, by_turn=True, stored=True) as server:
            result = agent(server, continued).run_sync("Read it.")
            assert (result.final, result.rounds, result.warnings) == ("I have read it.", 200, [])
            figures.append((sent(server), server.bytes_read))
    (whole, _), (stored, _), (short, read) = figures
    new = new_of(whole)
    by = {"new": new, "whole": sum(map(size, whole)), "http": sum(map(size, stored)), "socket": sum(map(size, short))}
    print(
        f"{by}, bytes of the connection {read}: {by['socket'] / new:.3f}, {read / new:.3f}, HTTP {by['http'] / new:.3f}"
    )
    return by["socket"] / new, read / new, by["http"] / new


@pytest.mark.parametrize("stream", [False, True])
def test_a_run_of_two_hundred_turns_sends_what_is_new(stream: bool) -> None:
    on_event = (lambda event: None) if stream else None
    with WireServer(script(200), by_turn=True, stored=True) as server:
        usual = reader(server, continued=False).run_sync("Read it.", on_event=on_event, journal=True)
        whole = sent(server)
    with WireServer(script(200), by_turn=True, stored=True) as server:
        result = reader(server, continued="websocket").run_sync("Read it.", on_event=on_event, journal=True)
        short, read = sent(server), server.bytes_read
        assert (set(ways(server)), server.total_sockets, server.total_connections) == ({"WEBSOCKET"}, 1, 1)
        assert results(server) == [f"call_{number}" for number in range(1, 200)]
        assert server.stored == {}, "nothing is stored"
        settle(server)
    assert (result.final, result.stop_reason, len(short)) == ("I have read it.", "natural", 200)
    assert [each.text for each in usual.messages] == [each.text for each in result.messages]
    assert told(usual.journal) == told(result.journal)
    assert replay(result.journal).messages[-1].text == "I have read it."
    bodies, connection = sum(map(size, short)) / new_of(whole), read / new_of(whole)
    print(f"bodies {bodies:.3f}, bytes of the connection {connection:.3f} of what is new")
    assert bodies <= 1.2 and connection <= 1.2
    assert all((len(body["input"]), body["type"], body["store"]) == (1, "response.create", False) for body in short)
    assert not any("stream" in body for body in short) and not result.warnings


@pytest.mark.slow
def test_what_is_sent_each_time_is_small_where_results_are_not(tmp_path: Path) -> None:
    def agent(server: WireServer, continued: Any, tools: list[Any]) -> Agent[Any, Any]:
        return Agent(model(server, continued=continued), context=False, tools=tools, budget=LONG)

    for number in range(1, 200):
        lines = (" ".join(f"word{number * 7919 + at + line}" for at in range(10)) for line in range(0, 600, 10))
        (tmp_path / f"{number}.txt").write_text("\n".join(lines))
    small = measured(
        lambda *given: agent(*given, tools=[note]), lambda n: Call("note", {"number": n}, call_id=f"call_{n}")
    )
    files = measured(
        lambda *given: agent(*given, tools=builtin_tools(tmp_path)),
        lambda n: Call("read_file", {"path": f"{n}.txt"}, call_id=f"call_{n}"),
    )
    # Instructions, tools and parameters go along each time: the provider carries them over neither way.
    assert all(socket <= http * 1.05 for socket, _, http in (small, files))


@pytest.mark.parametrize("mode", [True, "websocket"])
def test_what_is_shown_while_it_comes_is_the_same(mode: Any) -> None:
    def seen(continued: Any) -> list[str]:
        shown: list[str] = []

        def listen(event: Any) -> None:
            if isinstance(event, TextDelta):
                shown.append(event.text)

        with WireServer([replace(each, piece=4) for each in script(4)], by_turn=True, stored=True) as server:
            Agent(model(server, continued=continued), tools=[page], budget=LONG).run_sync("Read it.", on_event=listen)
        return shown

    assert len(seen(False)) > 4 and seen(mode) == seen(False)


@pytest.mark.parametrize("stream", [False, True])
def test_a_socket_that_is_cut_between_turns_takes_nothing_with_it(stream: bool) -> None:
    on_event = (lambda event: None) if stream else None
    runs: list[int] = []

    def run(cuts: tuple[int, ...], **options: Any) -> tuple[Any, WireServer]:
        runs.clear()
        with WireServer(script(9), by_turn=True, stored=True) as server:

            @tool(read_only=True)
            def page(number: int) -> str:
                """Reads one page."""
                runs.append(number)
                if number in cuts:
                    server.cut_sockets()
                    settle(server)
                return f"Page {number}."

            agent = Agent(model(server, **options), tools=[page], budget=LONG)
            result = agent.run_sync("Read it.", on_event=on_event, journal=True)
            settle(server)
            return result, server

    usual, _ = run((), continued=False)
    result, server = run((3, 6), continued="websocket")
    assert (result.final, runs, result.warnings) == ("I have read it.", list(range(1, 9)), [])
    assert named(server) == [False, True, True, False, True, True, False, True, True]
    assert [len(body["input"]) for body in sent(server)] == [1, 1, 1, 10, 1, 1, 19, 1, 1]
    once(sent(server)[6]["input"], 6)
    assert server.total_sockets == 3 and told(usual.journal) == told(result.journal)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("broken", [fault.cut(after=3), fault.ends(after=3), fault.closes()])
def test_a_socket_that_dies_in_an_answer_is_a_dropped_stream(broken: Reply, stream: bool) -> None:
    on_event = (lambda event: None) if stream else None
    lines = [turn(1), turn(2), turn(3).but(broken), turn(3), text("I have read it.")]

    def run(**options: Any) -> tuple[Any, WireServer, list[int]]:
        runs: list[int] = []

        @tool
        def page(number: int) -> str:
            """Writes one page."""
            runs.append(number)
            return f"Page {number}."

        with WireServer(lines, stored=True) as server:
            agent = Agent(model(server, **options), tools=[page], budget=LONG)
            result = agent.run_sync("Read it.", on_event=on_event, journal=True)
            settle(server)
            return result, server, runs

    usual, _, _ = run(continued=True)
    result, server, runs = run(continued="websocket")
    assert (result.final, runs) == ("I have read it.", [1, 2, 3])
    places = list(zip(named(server), [len(body["input"]) for body in sent(server)], strict=True))
    assert places == [(False, 1), (True, 1), (True, 1), (False, 7), (True, 1)]
    # Over HTTP an answer that nobody watches comes in one piece, and a connection that is closed under a request was
    # one that others had left: there nothing has failed.
    if stream and broken != fault.closes():
        assert plain(result.journal) == plain(usual.journal)
        assert sum('"failed"' in line for line in str(result.journal).splitlines()) == 1
    once(sent(server)[3]["input"], 2)
    assert server.total_sockets == 2


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_is_forgotten_takes_nothing_with_it(stream: bool) -> None:
    on_event = (lambda event: None) if stream else None
    with WireServer(script(9), by_turn=True, stored=True) as server:

        @tool(read_only=True)
        def page(number: int) -> str:
            """Reads one page."""
            if number in (3, 6):
                server.forget()
            return f"Page {number}."

        result = Agent(over(server), tools=[page], budget=LONG).run_sync("Read it.", on_event=on_event)
        assert (result.final, result.rounds) == ("I have read it.", 9)
        places = list(zip(named(server), [len(body["input"]) for body in sent(server)], strict=True))
        assert places[3:5] == [(True, 1), (False, 10)] and places[7:9] == [(True, 1), (False, 19)]
        assert server.total_sockets == 1, "the socket is still good"
        assert [each for each in result.warnings if "had not kept the last answer" in each] == [
            "adapted: openai-responses had not kept the last answer: the whole history was sent"
        ]


def test_a_connection_that_has_reached_its_limit_is_followed_by_another_one() -> None:
    with WireServer(script(10), by_turn=True, stored=True, socket_answers=4) as server:
        result = Agent(over(server), tools=[page], budget=LONG).run_sync("Read it.", journal=True)
        assert (result.final, result.rounds, result.warnings) == ("I have read it.", 10, [])
        assert named(server) == [False, True, True, True, True, False, True, True, True, True, False, True]
        assert server.total_sockets == 3
        settle(server)
    with WireServer(script(10), by_turn=True) as server:
        usual = Agent(model(server, continued=False), tools=[page], budget=LONG).run_sync("Read it.", journal=True)
    assert told(usual.journal) == told(result.journal)


@pytest.mark.parametrize("status", [400, 403, 404, 405, 426, 501])
def test_a_server_without_sockets_is_asked_over_http(status: int) -> None:
    with WireServer(script(5), by_turn=True, stored=True, refuse_sockets=status) as server:
        result = Agent(over(server), tools=[page], budget=LONG).run_sync("Read it.")
        assert result.final == "I have read it."
        assert ways(server) == ["POST"] * 5 and named(server) == [False, True, True, True, True]
        once(max(server.stored.values(), key=len), 4)
        said = [each for each in result.warnings if "opened no WebSocket" in each]
        assert len(said) == 1 and f"answered {status}" in said[0]


def test_an_opening_that_fails_is_tried_twice_at_most() -> None:
    with WireServer(script(5), by_turn=True, stored=True, refuse_sockets=503) as server:
        result = Agent(over(server), tools=[page], budget=LONG).run_sync("Read it.")
        assert result.final == "I have read it." and ways(server) == ["POST"] * 5
        assert len([each for each in result.warnings if "opened no WebSocket" in each]) == 1


def test_what_fails_over_http_too_is_not_asked_twice() -> None:
    with WireServer(script(3), by_turn=True, stored=True, key="right") as server:
        with pytest.raises(UsageError, match="answered 401") as wrong:
            Agent(over(server), tools=[page]).run_sync("Read it.")
        assert wrong.value.code == "auth" and server.requests == []
    with WireServer(script(3)) as server:
        pass
    with pytest.raises(ProviderError) as failed:
        Agent(over(server), tools=[page]).run_sync("Read it.")
    assert failed.value.code == "connect"


@pytest.mark.parametrize("options", [{}, STORED])
def test_a_refusal_of_a_request_is_what_it_is_over_http(options: dict[str, Any]) -> None:
    lines = [turn(1), fault.status(429, retry_after="0"), turn(2), fault.status(500), turn(3), text("I have read it.")]

    def run(continued: Any) -> tuple[Any, WireServer]:
        with WireServer(lines, stored=True) as server:
            agent = Agent(model(server, continued=continued, **options), tools=[page], budget=LONG)
            return agent.run_sync("Read it.", journal=True), server

    (usual, _), (result, server) = run(True), run("websocket")
    assert (usual.final, result.final) == ("I have read it.", "I have read it.")
    assert plain(usual.journal) == plain(result.journal)
    # What is stored outlives a refusal; what was in memory does not.
    assert named(server) == ([False, *[True] * 5] if options else [False, True, False, True, False, True])
    with WireServer([turn(1), fault.status(400, message="No.")], stored=True) as server:
        with pytest.raises(ProviderError, match=r"answered 400: No\.") as failed:
            Agent(over(server), tools=[page]).run_sync("Read it.")
        assert failed.value.code == "bad_request"


@pytest.mark.parametrize(("silent", "limit"), [(fault.hangs(), "first_byte"), (fault.stalls(after=3), "idle")])
def test_silence_ends_as_over_http(silent: Reply, limit: str) -> None:
    with WireServer([turn(1), turn(2).but(silent), turn(2), text("I have read it.")], stored=True) as server:
        asked = over(server, timeouts={limit: 0.3})
        seen: list[Any] = []
        result = Agent(asked, tools=[page], budget=LONG).run_sync("Read it.", on_event=seen.append)
        assert result.final == "I have read it."
        assert [limit.replace("_", "-") in each.reason for each in seen if isinstance(each, Retry)] == [True]
        assert named(server) == [False, True, False, True] and server.total_sockets == 2


def test_a_cancelled_run_leaves_no_socket_open() -> None:
    async def main(server: WireServer) -> None:
        agent = Agent(over(server), tools=[page], budget=LONG)
        task = asyncio.create_task(agent.run("Read it."))
        await asyncio.to_thread(wait, lambda: len(server.requests) == 2)
        assert server.open_sockets == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(settle, server)

    with WireServer([turn(1), turn(2).slowly(0.05)], stored=True) as server:
        asyncio.run(main(server))
    # Between two answers as well.
    with WireServer(script(3), by_turn=True, stored=True) as server:
        started = threading.Event()

        @tool(name="page")
        async def waits(number: int) -> str:
            """Reads one page."""
            started.set()
            await asyncio.sleep(60)
            return ""

        async def between() -> None:
            task = asyncio.create_task(Agent(over(server), tools=[waits]).run("Read it."))
            await asyncio.to_thread(started.wait, 10)
            assert server.open_sockets == 1
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.to_thread(settle, server)

        asyncio.run(between())


def test_runs_and_their_sub_agents_have_sockets_of_their_own() -> None:
    delegate = calls(
        Call("spawn", {"agent": "scout", "task": "Read three pages."}, call_id="call_0"),
        Call("spawn", {"agent": "scout", "task": "Read three more."}, call_id="call_9"),
    )
    with WireServer([delegate, turn(1), turn(2), text("Done.")], by_turn=True, stored=True) as parents:
        with WireServer(script(4), by_turn=True, stored=True) as children:
            scout = SubAgent("scout", model=over(children), tools=[page])
            agent = Agent(over(parents), tools=[page], agents=[scout], budget=LONG)

            async def both() -> list[Any]:
                return await asyncio.gather(*[agent.run(f"Question {number}?") for number in range(2)])

            found = asyncio.run(both())
            assert [result.final for result in found] == ["Done.", "Done."]
            assert [result.warnings for result in found] == [[], []]
            for server, chains, turns in ((parents, 2, 4), (children, 4, 4)):
                assert (set(ways(server)), server.total_sockets) == ({"WEBSOCKET"}, chains)
                assert named(server).count(False) == chains and len(sent(server)) == chains * turns
                # What the model said itself never goes back.
                assert not [item for body in sent(server) for item in body["input"] if item.get("role") == "assistant"]
                settle(server)


def test_a_role_goes_on_over_a_socket() -> None:
    with WireServer([turn(1), turn(2), text("One."), turn(3), text("Two.")], stored=True) as server:
        agent = Agent(Role(over(server)), tools=[page], budget=LONG)
        assert [agent.run_sync("Read it.").final for _ in range(2)] == ["One.", "Two."]
        assert named(server) == [False, True, True, False, True] and server.total_sockets == 2
        settle(server)


def test_a_server_that_takes_no_notice_of_the_answer_is_asked_with_the_whole() -> None:
    with WireServer([turn(1), "I know nothing.", turn(2), turn(3), "I have read it."]) as server:
        result = Agent(over(server), tools=[page], budget=LONG).run_sync("Read it.")
        assert result.final == "I have read it."
        assert named(server) == [False, True, False, False, False]
        once(sent(server)[-1]["input"], 3)


def test_what_the_caller_says_of_the_state_goes_over_http() -> None:
    with WireServer([turn(1), "One."], stored=True) as server:
        settings = {"extra_body": {"conversation": "conv_1"}}
        assert Agent(over(server, settings=settings), tools=[page]).run_sync("Read it.").final == "One."
        assert ways(server) == ["POST", "POST"] and server.total_sockets == 0


def test_nothing_need_be_stored() -> None:
    with WireServer(script(6), by_turn=True, stored=True) as server:
        settings = {"extra_body": {"store": False}}
        assert Agent(over(server, settings=settings), tools=[page], budget=LONG).run_sync("Read it.").final
        assert named(server) == [False, *[True] * 5] and server.stored == {}
        assert all(body["store"] is False for body in sent(server))


def test_a_journal_of_a_run_over_a_socket_resumes(tmp_path: Path) -> None:
    place = tmp_path / "run.jsonl"
    with WireServer(script(6), by_turn=True, stored=True) as server:
        whole = Agent(over(server), tools=[page], budget=LONG).run_sync("Read it.", journal=True)
        lines = str(whole.journal).splitlines(keepends=True)
        answers = [at for at, line in enumerate(lines) if '"generated"' in line]
        place.write_text("".join(lines[: answers[2] + 1]))
        before = len(sent(server))
        assert Agent(over(server), tools=[page], budget=LONG).resume_sync(place).final == "I have read it."
        assert [len(body["input"]) for body in sent(server)[before:]] == [10, 1, 1]


def test_a_wrong_option_is_an_error() -> None:
    for name in ("anthropic:claude-sonnet-4-5", "openai-chat:gpt-5", "gemini:gemini-2.5-pro"):
        with pytest.raises(UsageError, match="continued can't be 'websocket': .* keeps no answers") as failed:
            Model(name, continued="websocket")
        assert failed.value.code == "invalid_option" and "openai-responses:MODEL" in str(failed.value)
    for wrong in ("socket", 1, None):
        with pytest.raises(UsageError, match="continued can't be") as failed:
            Model("openai:gpt-5", continued=wrong)  # type: ignore[arg-type]
        assert failed.value.code == "invalid_option" and "'websocket'" in str(failed.value.hint)
    with pytest.raises(UsageError, match="can't go together"):
        Model("openai:gpt-5", continued="websocket", batch=True)
    assert "continued='websocket'" in repr(Model("openai:gpt-5", continued="websocket"))


def test_recorded_events_are_read_over_a_socket() -> None:
    """As in the guide "WebSocket mode": an error event whose error is an object of its own."""
    error = {"type": "error", "error": {"type": "server_error", "code": "server_error", "message": "Try again."}}
    body = f"data: {json.dumps(error)}\n\n"
    with WireServer([turn(1), recorded(200, "text/event-stream", body), turn(2), "Done."], stored=True) as server:
        result = Agent(over(server), tools=[page], budget=LONG).run_sync("Read it.")
        assert result.final == "Done." and len(sent(server)) == 4
