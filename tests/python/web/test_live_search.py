"""Searches of the provider's while its answer streams: each told once when it begins and when it ends, on every wire.

The streams have the shapes of the providers' own, in pieces with pauses between them, over a real socket.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from loopwright import Agent, Model, _core, replay
from loopwright.events import ProviderDelta, RoundFinished, SearchCompleted, SearchStarted, TextDelta
from loopwright.presets import SearchStatus, verifier
from loopwright.testing import WireServer, recorded
from loopwright.tools import WebSearch

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "sk-test-0123456789"
PAUSE = 0.4
SCORED = '{"evidence": 80, "epistemology": 70, "sources": 60, "logic": 90, "verdict": "true"}'


@contextmanager
def streaming(*answers: list[list[dict[str, Any]]]) -> Iterator[str]:
    """A server that gives each request the next answer: groups of events, with a pause before every group but the first."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for groups in answers:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                read = b""
                while b"\r\n\r\n" not in read:
                    read += connection.recv(65536)
                head, _, body = read.partition(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split()[0])
                while len(body) < length:
                    body += connection.recv(65536)
                kind = b"Content-Type: text/event-stream\r\nConnection: close\r\n\r\n"
                connection.sendall(b"HTTP/1.1 200 OK\r\n" + kind)
                for at, group in enumerate(groups):
                    if at:
                        time.sleep(PAUSE)
                    lines = [
                        (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n"
                        for event in group
                    ]
                    connection.sendall("".join(lines).encode())

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()


# ---- the wires ----


def block(index: int, begun: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    grown = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    start = {"type": "content_block_start", "index": index, "content_block": begun}
    return [start, *grown, {"type": "content_block_stop", "index": index}]


def asked(index: int, ident: str, query: str) -> list[dict[str, Any]]:
    head = {"type": "server_tool_use", "id": ident, "name": "web_search", "input": {}}
    text = json.dumps({"query": query})
    pieces = ["", text[:5], text[5:]]
    return block(index, head, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces))


def found(index: int, ident: str, urls: list[str] | str) -> list[dict[str, Any]]:
    hits = [{"type": "web_search_result", "url": url, "title": url, "encrypted_content": "Eq=="} for url in urls]
    content = {"type": "web_search_tool_result_error", "error_code": urls} if isinstance(urls, str) else hits
    return block(index, {"type": "web_search_tool_result", "tool_use_id": ident, "content": content})


def said(index: int, words: str) -> list[dict[str, Any]]:
    return block(index, {"type": "text", "text": ""}, {"type": "text_delta", "text": words})


MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None}
BEGUN = [{"type": "message_start", "message": {**MESSAGE, "usage": {"input_tokens": 9, "output_tokens": 1}}}]


def ended(stop: str = "end_turn") -> list[dict[str, Any]]:
    change = {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 9}}
    return [change, {"type": "message_stop"}]


def anthropic() -> list[list[dict[str, Any]]]:
    return [
        [*BEGUN, *said(0, "Let me look. "), *asked(1, "srvtoolu_1", "oslo")],
        [*found(2, "srvtoolu_1", ["https://a.example", "https://b.example"]), *asked(3, "srvtoolu_2", "bergen")],
        found(4, "srvtoolu_2", "unavailable"),
        [*said(5, SCORED), *ended()],
    ]


def responses(*, early: bool = False) -> list[list[dict[str, Any]]]:
    """Two searches. Their queries come with their ends, or with `early` as they begin."""

    def item(ident: str, query: str, status: str, sources: int | None = None) -> dict[str, Any]:
        action: dict[str, Any] = {"type": "search", "query": query, "queries": [query]}
        if sources is not None:
            action["sources"] = [{"type": "url", "url": f"https://{n}.example"} for n in range(sources)]
        shown = {"action": action} if early or status != "in_progress" else {}
        return {"id": ident, "type": "web_search_call", "status": status, **shown}

    def begins(at: int, ident: str, query: str) -> list[dict[str, Any]]:
        added = {"type": "response.output_item.added", "output_index": at, "item": item(ident, query, "in_progress")}
        stages = ("in_progress", "searching")
        return [
            added,
            *({"type": f"response.web_search_call.{s}", "output_index": at, "item_id": ident} for s in stages),
        ]

    def ends(at: int, ident: str, query: str, status: str, sources: int | None) -> list[dict[str, Any]]:
        done = {"type": "response.web_search_call.completed", "output_index": at, "item_id": ident}
        whole = item(ident, query, status, sources)
        return [done, {"type": "response.output_item.done", "output_index": at, "item": whole}]

    text = {"type": "output_text", "text": SCORED, "annotations": []}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [text]}
    answer = {"id": "resp_1", "object": "response", "model": "m", "status": "in_progress", "output": []}
    output = [item("ws_1", "oslo", "completed", 2), item("ws_2", "bergen", "failed"), message]
    whole = {**answer, "status": "completed", "output": output, "usage": {"input_tokens": 9, "output_tokens": 9}}
    shown = {"type": "response.output_text.delta", "output_index": 2, "content_index": 0, "item_id": "msg_1"}
    return [
        [{"type": "response.created", "response": answer}, *begins(0, "ws_1", "oslo")],
        [*ends(0, "ws_1", "oslo", "completed", 2), *begins(1, "ws_2", "bergen")],
        ends(1, "ws_2", "bergen", "failed", None),
        [
            {
                "type": "response.output_item.added",
                "output_index": 2,
                "item": {**message, "status": "in_progress", "content": []},
            },
            {**shown, "delta": SCORED},
            {"type": "response.output_item.done", "output_index": 2, "item": message},
            {"type": "response.completed", "response": whole},
        ],
    ]


def chat() -> list[list[dict[str, Any]]]:
    """An answer that cites: all that this wire says of a search."""

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}

    def cites(*urls: str) -> dict[str, Any]:
        inner = [{"url": url, "title": url, "start_index": 0, "end_index": 1} for url in urls]
        return chunk({"annotations": [{"type": "url_citation", "url_citation": each} for each in inner]})

    return [
        [chunk({"role": "assistant", "content": SCORED[:9]}), cites("https://a.example")],
        [chunk({"content": SCORED[9:]}), cites("https://a.example", "https://b.example")],
        [chunk({}, "stop")],
    ]


def at(model: str, url: str, retry: Any = None) -> Agent[Any, Any]:
    return Agent(Model(model, base_url=url, api_key=KEY, retry=retry), tools=[WebSearch()])


MODELS = {
    "anthropic": "anthropic:m",
    "responses": "openai-responses:m",
    "early": "openai-responses:m",
    "chat": "openai-chat:m",
}
TWO = [("started", "oslo"), (2, "oslo", None), ("started", "bergen"), (None, "bergen", "unavailable")]
LATE = [("started", ""), (2, "oslo", None), ("started", ""), (None, "bergen", "failed")]
WIRES = {
    "anthropic": (anthropic, TWO, [0, 1, 1, 2]),
    "responses": (responses, LATE, [0, 1, 1, 2]),
    "early": (lambda: responses(early=True), [*TWO[:3], (None, "bergen", "failed")], [0, 1, 1, 2]),
    "chat": (chat, [("started", ""), (2, "", None)], [0, 2]),
}


def told(events: list[Any]) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for event in events:
        if isinstance(event, SearchStarted):
            found.append(("started", event.query))
        elif isinstance(event, SearchCompleted):
            found.append((event.results, event.query, event.error))
    return found


@pytest.fixture(params=["run", "run_sync", "stream"])
def heard(request: Any) -> Any:
    """Runs an agent in one of three ways; gives the result, and the events with when they were heard."""

    def go(agent: Agent[Any, Any], **options: Any) -> tuple[Any, list[Any], list[float]]:
        events: list[Any] = []
        times: list[float] = []

        def on_event(event: Any) -> None:
            events.append(event)
            times.append(time.monotonic())

        if request.param == "run_sync":
            return agent.run_sync("Where is Oslo?", on_event=on_event, **options), events, times

        async def main() -> Any:
            if request.param == "run":
                return await agent.run("Where is Oslo?", on_event=on_event, **options)
            async with agent.stream("Where is Oslo?", **options) as stream:
                async for event in stream:
                    on_event(event)
            return stream.result

        return asyncio.run(main()), events, times

    return go


@pytest.mark.parametrize("wire", WIRES)
def test_a11_a15_a17_a_search_is_told_as_its_block_ends_with_its_own_time(wire: str, heard: Any) -> None:
    make, wanted, pauses = WIRES[wire]
    with streaming(make()) as url:
        result, events, times = heard(at(MODELS[wire], url), journal=True)
    assert told(events) == wanted
    own = [
        (event, when)
        for event, when in zip(events, times, strict=True)
        if type(event) in (SearchStarted, SearchCompleted)
    ]
    began = own[0][1]
    for (event, when), pause in zip(own, pauses, strict=True):
        # Heard before the next group was sent, not with the end of the answer; the event says the same of itself.
        assert pause * PAUSE - 0.2 <= when - began < (pause + 1) * PAUSE
        assert abs((event.at - own[0][0].at) - (when - began)) < 0.1
    starts = [event.call_id for event, _ in own if isinstance(event, SearchStarted)]
    ends = [event for event, _ in own if isinstance(event, SearchCompleted)]
    assert starts == [event.call_id for event in ends]
    assert [event.count for event in ends] == list(range(1, len(ends) + 1))
    assert result.searches == len(ends)
    finished = next(at for at, event in enumerate(events) if isinstance(event, RoundFinished))
    assert max(events.index(event) for event, _ in own) < finished
    assert "".join(event.text for event in events if isinstance(event, TextDelta)).endswith(SCORED)
    assert result.final.endswith(SCORED)


@pytest.mark.parametrize("wire", WIRES)
def test_a11_the_journal_has_each_search_at_its_time_and_replays(wire: str, heard: Any) -> None:
    make, wanted, pauses = WIRES[wire]
    with streaming(make()) as url:
        result, _, _ = heard(at(MODELS[wire], url), journal=True)
    lines = [json.loads(line) for line in result.journal.splitlines()[1:]]
    log = []
    for line in lines:
        for command in line["commands"]:
            notice = command["emit"]["notice"] if "emit" in command else {}
            if notice.get("type") in ("search_started", "search_completed"):
                log.append((notice["query"], notice["round"], line["event"]["at"] / 1e6))
    assert [query for query, _, _ in log] == [each[1] for each in wanted]
    for (_, round_, when), pause in zip(log, pauses, strict=True):
        assert round_ == 1
        assert pause * PAUSE - 0.2 <= when - log[0][2] < (pause + 1) * PAUSE
    assert replay(result.journal).identical


@pytest.mark.parametrize("wire", WIRES)
def test_a15_without_a_stream_the_same_is_told_behind_the_answer(wire: str) -> None:
    make, wanted, _ = WIRES[wire]
    name = {"anthropic": "anthropic", "chat": "openai_chat"}.get(wire, "openai_responses")
    text = "".join(
        (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n"
        for group in make()
        for event in group
    )
    answer, _ = _core.decode_stream(name, [text.encode()])
    body = json.loads(_core.encode_response(name, answer))
    with WireServer([recorded(200, "application/json", body)]) as server:
        events: list[Any] = []
        result = at(MODELS[wire], server.url).run_sync("Where is Oslo?", on_event=events.append)
    known = [("started", each[1]) for each in wanted if each[0] != "started"]
    ends = [each for each in wanted if each[0] != "started"]
    assert told(events) == [each for pair in zip(known, ends, strict=True) for each in pair]
    assert result.searches == len(ends)


def test_a15_a_search_that_goes_on_in_the_next_answer_is_told_once(heard: Any) -> None:
    first = [[*BEGUN, *asked(0, "srvtoolu_1", "oslo"), *ended("pause_turn")]]
    second = [BEGUN, [*found(0, "srvtoolu_1", ["https://a.example"]), *said(1, SCORED), *ended()]]
    with streaming(first, second) as url:
        result, events, _ = heard(at("anthropic:m", url))
    assert told(events) == [("started", "oslo"), (1, "oslo", None)]
    assert [event.round for event in events if isinstance(event, (SearchStarted, SearchCompleted))] == [1, 2]
    assert result.searches == 1


def test_a15_a_search_whose_answer_breaks_off_ends_and_comes_again_as_another(heard: Any) -> None:
    whole = [[*BEGUN, *asked(0, "srvtoolu_2", "oslo")], [*found(1, "srvtoolu_2", []), *said(2, SCORED), *ended()]]
    with streaming([[*BEGUN, *asked(0, "srvtoolu_1", "oslo")]], whole) as url:
        result, events, _ = heard(at("anthropic:m", url, retry={"attempts": 2, "base": 0.01}), journal=True)
    assert told(events) == [("started", "oslo"), (None, "oslo", "cut"), ("started", "oslo"), (0, "oslo", None)]
    assert replay(result.journal).identical


def test_a15_a_cancelled_run_ends_its_open_search() -> None:
    events: list[Any] = []

    async def main() -> Any:
        with streaming([[*BEGUN, *asked(0, "srvtoolu_1", "oslo")], [*ended()]]) as url:
            stream = at("anthropic:m", url).stream("Where is Oslo?", journal=True)
            async with stream:
                async for event in stream:
                    events.append(event)
                    if isinstance(event, SearchStarted):
                        stream.cancel()
            return stream.result

    result = asyncio.run(main())
    assert told(events) == [("started", "oslo"), (None, "oslo", "cut")]
    assert replay(result.journal).identical


def test_a17_a_verification_logs_each_search_at_its_own_time_whoever_watches() -> None:
    for on_event in (None, [].append):
        with streaming(anthropic()) as url:
            made = verifier(Model("anthropic:m", base_url=url, api_key=KEY))
            verification = made.run_sync("Oslo is the capital of Norway.", on_event=on_event)
        first, second = verification.searches
        assert (first.query, second.query, second.error) == ("oslo", "bergen", "unavailable")
        assert 0.5 * PAUSE < second.at - first.at < 1.5 * PAUSE
    assert verification.verdict == "true"


def test_a17_the_status_of_a_search_comes_before_its_results() -> None:
    seen: list[tuple[Any, float]] = []
    with streaming(anthropic()) as url:
        made = verifier(Model("anthropic:m", base_url=url, api_key=KEY))
        made.run_sync("Oslo is a capital.", on_event=lambda event: seen.append((event, time.monotonic())))
    status = [(event.state, event.query, event.results) for event, _ in seen if isinstance(event, SearchStatus)]
    assert status == [
        ("started", "oslo", None),
        ("finished", "oslo", 2),
        ("started", "bergen", None),
        ("failed", "bergen", None),
    ]
    times = [when for event, when in seen if isinstance(event, SearchStatus)]
    assert times[1] - times[0] > 0.5 * PAUSE
    assert any(isinstance(event, ProviderDelta) for event, _ in seen)
