"""Keys are never seen: not in a repr, an error, an event, a journal or a traceback."""

from __future__ import annotations

import asyncio
import logging
import traceback
from typing import Any

import pytest
from loopwright import Agent, LoopwrightError, Model, tool
from loopwright.testing import ScriptedModel, call, fault, recorded
from ways import WIRES, run

SECRET = "sk-very-secret-0123456789abcdef"
HEADER = "header-secret-9876543210"


@tool(read_only=True)
def look(query: str) -> str:
    """Look."""
    return query


def agent_of(server: Any, wire: str, **options: Any) -> Agent[Any, Any]:
    return Agent(
        Model(WIRES[wire], base_url=server.url, api_key=SECRET, headers={"x-team": HEADER}, retry={"base": 0.01}),
        tools=[look],
        **options,
    )


def clean(*shown: Any) -> None:
    for each in shown:
        for text in (str(each), repr(each)):
            assert SECRET not in text
            assert HEADER not in text


def test_the_key_arrives_and_is_not_seen(
    serve: Any, wire: str, way: str, tmp_path: Any, caplog: Any, capfd: Any
) -> None:
    server = serve(fault.status(500), call("look", query="a"), "done", key=SECRET)
    caplog.set_level(logging.DEBUG)
    agent = agent_of(server, wire, journal=tmp_path)
    result, events = run(agent, "go", way)
    assert result.final == "done", "the server wants the key"
    clean(agent, agent.model, vars(agent), agent._endpoint, result, vars(result), *events, caplog.text)
    assert SECRET not in str(server.requests)
    clean(*(path.read_text() for path in tmp_path.iterdir()), *capfd.readouterr())
    assert len(list(tmp_path.iterdir())) == 1


def test_a_provider_that_shows_the_key_back(serve: Any, wire: str, way: str, tmp_path: Any) -> None:
    echo = (
        f'{{"error": {{"message": "Incorrect API key provided: {SECRET} {HEADER}", "type": "invalid_request_error"}}}}'
    )
    for status in (401, 400, 500):
        server = serve(recorded(status, "application/json", echo), repeat_last=True)
        with pytest.raises(LoopwrightError) as caught:
            run(agent_of(server, wire), "go", way, journal=tmp_path / f"{way}{wire}{status}.jsonl")
        error = caught.value
        clean(error, vars(error), error.result, vars(error.result), "".join(traceback.format_exception(error)))
        clean((tmp_path / f"{way}{wire}{status}.jsonl").read_text())


def test_a_key_with_odd_characters_is_refused_unseen() -> None:
    for bad in (f"{SECRET}\n", f"{SECRET}\u00e9\u4e2d", f"a\x00{SECRET}"):
        try:
            agent = Agent(Model("anthropic:x", api_key=bad))
        except LoopwrightError as error:
            clean(error, "".join(traceback.format_exception(error)))
        else:
            clean(agent, vars(agent))


def test_a_key_in_the_address(serve: Any) -> None:
    server = serve(fault.status(403), repeat_last=True)
    with_key = server.url.replace("http://", f"http://user:{SECRET}@")
    try:
        agent = Agent(Model("ollama:x", base_url=f"{with_key}/?key={SECRET}"))
        clean(agent, vars(agent))
        agent.run_sync("go")
    except LoopwrightError as error:
        clean(error, error.result, "".join(traceback.format_exception(error)))


def test_keys_from_the_environment(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve("hi", key=SECRET)
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    agent = Agent(Model("anthropic:x", base_url=server.url))
    result = asyncio.run(agent.run("go", journal=True))
    assert result.final == "hi"
    clean(agent, vars(agent), result, result.journal)


def test_deps_are_in_no_journal() -> None:
    class Deps:
        def __repr__(self) -> str:
            return SECRET

    agent = Agent(ScriptedModel([call("look", query="a"), "ok"]), tools=[look])
    clean(agent.run_sync("go", deps=Deps(), journal=True).journal)
