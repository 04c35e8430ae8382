"""Keys are never seen: not in a repr, an error, an event, a journal or a traceback."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from loopwright import (
    Agent,
    ContextPolicy,
    Grounded,
    Guard,
    LoopwrightError,
    Model,
    Monitor,
    Research,
    UsageError,
    tool,
)
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


class Says:
    """A model of one's own that is asked for anything."""

    name = "says"

    def respond(self, request: Any) -> str:
        return "ok"


LATER = "openai:gpt-5"
PLACES: dict[str, tuple[Callable[[], Any], str]] = {
    "alone": (lambda: Agent(LATER), "openai needs a key"),
    "fallback": (lambda: Agent(Model(Says(), fallback=[LATER])), "the fallback openai:gpt-5"),
    "escalation": (lambda: Agent(Model(Says(), escalate_to=LATER)), "escalate_to openai:gpt-5"),
    "summarizer": (
        lambda: Agent(Says(), context=ContextPolicy(summarizer=LATER)),
        "the summarizer's model openai:gpt-5",
    ),
    "sanity": (lambda: Agent(Says(), monitor=Monitor(sanity=LATER)), "the sanity's model openai:gpt-5"),
    "supervisor": (lambda: Agent(Says(), guard=Guard(supervisor=LATER)), "the supervisor's model openai:gpt-5"),
    "sub-agent": (lambda: Agent(Says(), agents=[Agent(LATER, name="b", description="x")]), "the sub-agent b"),
    "its fallback": (
        lambda: Agent(Says(), agents=[Agent(Model(Says(), fallback=[LATER]), name="b", description="x")]),
        "the sub-agent b, the fallback openai:gpt-5",
    ),
    "handoff": (lambda: Agent(Says(), handoffs=[Agent(LATER, name="b", description="x")]), "the agent b"),
    "judge": (lambda: Grounded(Says(), judge=LATER), "the judge openai:gpt-5"),
    "a judge": (lambda: Grounded(Says(), judge=Model(LATER)), "the judge openai:gpt-5"),
    "embedder": (lambda: Grounded(Says(), sources=["."], embedder=LATER), "the embedder openai:gpt-5"),
    "vectors": (lambda: Research(corpus={"a": "text"}, embedder=LATER), "the embedder openai:gpt-5"),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_missing_key_is_told_when_a_run_begins_and_by_check_with_whose_it_is(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    make, whose = PLACES[place]
    one = make()
    for attempt in (one.check, lambda: one.run_sync("x"), lambda: one.clone(name="c").check()):
        with pytest.raises(UsageError) as caught:
            attempt()
        assert caught.value.code == "missing_key"
        assert whose in caught.value.message
        assert "OPENAI_API_KEY is not set" in caught.value.message
        assert caught.value.hint == "export OPENAI_API_KEY=..., or give Model(..., api_key=...)"
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    clean(one, vars(one), one.check())


@pytest.mark.parametrize("ran", [False, True])
def test_a_fallback_whose_address_came_later_takes_over(
    serve: Any, monkeypatch: pytest.MonkeyPatch, *, ran: bool
) -> None:
    for name in ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    first = serve(fault.status(500), repeat_last=True)
    server = serve("from the fallback", key=SECRET, repeat_last=True)
    agent = Agent(Model("ollama:x", base_url=first.url, fallback=["azure:d"], retry={"base": 0.001}))
    if ran:
        with pytest.raises(UsageError, match="the fallback azure:d"):
            agent.run_sync("go")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", SECRET)
    result = agent.run_sync("go", seed=3)
    assert (result.output, agent.run_sync("go").output) == ("from the fallback", "from the fallback")
    clean(agent, vars(agent), result)


def test_check_tells_all_that_lack_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    agent = Agent(Model(LATER, fallback=["anthropic:x", "azure:y"]), monitor=Monitor(sanity="anthropic:z"))
    with pytest.raises(UsageError) as caught:
        agent.check()
    told = caught.value.message.split("; ")
    assert [each.partition(":")[0] for each in told[1:]] == [
        "the fallback anthropic",
        "the fallback azure",
        "the sanity's model anthropic",
    ]
    assert told[0].startswith("openai needs a key")
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_ENDPOINT"):
        assert caught.value.hint is not None and f"export {name}=" in caught.value.hint
