"""W31: JSON that a model, a provider or a page wrote, and values that can't be written: never a bare error."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, Approval, LoopwrightError, ModelError, UsageError, replay, tool
from loopwright._json import read, read_shown, written
from loopwright.extraction import find_json
from loopwright.guard import Edit
from loopwright.hooks import Hook
from loopwright.models import Call, Response
from loopwright.testing import ScriptedModel, WireServer, calls
from loopwright.tools import InvalidOutput
from ways import agent_at

pytestmark = pytest.mark.timeout(60)
LONG = "9" * 5_000
UNFIT = {
    "long": f'{{"n": {LONG}}}',
    "long below": f'{{"n": {{"a": [1, {{"b": -{LONG}}}]}}}}',
    "infinite": '{"n": 1e999}',
    "infinite by digits": f'{{"n": [1{"0" * 400}.0]}}',
    "half": '{"n": "\\ud800"}',
    "half of a name": '{"n": {"\\udc00": 1}}',
    "deep": f'{{"n": {"[" * 5_000}{"]" * 5_000}}}',
    "NaN, cut": '{"n": NaN',
    "no text as a key": "{1: 2}",
}


@pytest.mark.parametrize("arguments", UNFIT.values(), ids=UNFIT)
@pytest.mark.parametrize("way", ["sync", "async", "stream"])
def test_w31_arguments_that_no_tool_can_be_given_are_told_to_the_model(
    tmp_path: Path, wire: str, way: str, arguments: str
) -> None:
    ran: list[Any] = []

    @tool
    def work(n: Any) -> str:
        """Works."""
        ran.append(n)
        return "ok"

    heard: list[Any] = []
    place = tmp_path / "one.jsonl"
    with WireServer([calls(Call("work", arguments)), calls(Call("work", {"n": 1})), "done"]) as server:
        agent = agent_at(server, wire, tools=[work], hooks=[Hook("post_llm", heard.append, inline=True)])

        async def streamed() -> Any:
            stream = agent.stream("go", journal=place)
            async for _ in stream:
                pass
            return stream.result

        if way == "sync":
            result = agent.run_sync("go", journal=place)
        else:
            result = asyncio.run(streamed() if way == "stream" else agent.run("go", journal=place))
    assert result.final == "done"
    assert ran == [1]
    assert [each.failure for each in result.tool_calls] == ["invalid_arguments", None]
    assert len(heard) == 3
    assert result.messages.to_dicts()
    assert replay(place).identical


@pytest.mark.parametrize(
    "value", [10**5_000, float("nan"), float("inf"), {1}, b"x"], ids=lambda value: type(value).__name__
)
def test_w31_changed_arguments_that_have_no_json_form_are_a_no(value: Any) -> None:
    ran: list[Any] = []

    @tool(risk="dangerous")
    def wipe(n: Any) -> str:
        """Wipes."""
        ran.append(n)
        return "gone"

    def approve(question: Approval) -> Any:
        return Edit({"n": value})

    model = ScriptedModel([Response("", [Call("wipe", {"n": 1})]), "done"])
    result = Agent(model, tools=[wipe], guard=approve).run_sync("go")
    assert result.final == "done" and not ran
    assert result.tool_calls[0].failure is not None


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    "value",
    [10**5_000, {"a": [10**6_000]}, CIRCLE, {10**5_000: 1}, {(1, 2): 3}, object(), b"bytes", [b"x"], range(10**9)],
    ids=["long", "long below", "circle", "long key", "tuple key", "object", "bytes", "bytes below", "range"],
)
@pytest.mark.parametrize("plain", [True, False])
def test_w31_a_result_that_can_not_be_written_is_the_tools_failure(value: Any, plain: bool) -> None:
    @tool(name="give")
    async def give_later() -> Any:
        """Gives."""
        return value

    @tool(name="give")
    def give() -> Any:
        """Gives."""
        return value

    for way in (Agent.run_sync, lambda agent, prompt: asyncio.run(agent.run(prompt))):
        model = ScriptedModel([Response("", [Call("give", {})]), "done"])
        result = way(Agent(model, tools=[give if plain else give_later]), "go")
        assert result.final == "done"
        assert result.tool_calls[0].failure in {"not_serialisable", "exception"}


@pytest.mark.parametrize("value", [10**5_000, {1}, float("nan"), CIRCLE], ids=["long", "set", "NaN", "circle"])
def test_w31_a_model_of_ones_own_that_gives_no_json_is_named(tmp_path: Path, value: Any) -> None:
    @tool
    def work(n: Any) -> str:
        """Works."""
        return "ok"

    agent = Agent(ScriptedModel([Response("", [Call("work", {"n": value})]), "done"]), tools=[work])
    with pytest.raises(LoopwrightError) as caught:
        agent.run_sync("go", journal=tmp_path / "one.jsonl")
    assert caught.value.code == "invalid_answer" and caught.value.hint
    with pytest.raises(UsageError, match="has ended"):
        agent.resume_sync(tmp_path / "one.jsonl")


@pytest.mark.parametrize("answer", [LONG, f'{{"value": {LONG}}}', f'{{"a": [{LONG}]}}', '{"value": [1e999]}'])
@pytest.mark.parametrize("kind", [int, dict[str, Any], list[int]], ids=str)
def test_w31_a_typed_answer_that_python_can_not_hold_is_sent_back(answer: str, kind: Any) -> None:
    with pytest.raises(InvalidOutput):
        Agent(ScriptedModel([answer] * 3), output_type=kind).run_sync("go")


def test_w31_what_was_found_in_a_text_is_a_typed_error() -> None:
    with pytest.raises(ModelError) as caught:
        _ = find_json(f'{{"n": {LONG}}}').value
    assert caught.value.code == "unreadable_json"


@pytest.mark.parametrize(
    "text",
    [LONG, f"[{LONG}]", "NaN", "[-Infinity]", "1e400", "-1E+999", "[" * 100_000, "", "{", b"\xff\xfe\xfa", "{1:2}"],
)
def test_w31_one_reader_for_what_others_wrote(text: Any) -> None:
    with pytest.raises(ModelError) as caught:
        read(text, "the text")
    assert caught.value.code == "unreadable_json" and "the text" in caught.value.message


def test_w31_the_reader_takes_what_is_json() -> None:
    assert read('{"a": 1, "a": [2.5e3, -1e-400, "1e999", "é"]}', "it") == {"a": [2500.0, -0.0, "1e999", "é"]}
    assert read(b'\xef\xbb\xbf{"a": 1}', "it") == {"a": 1}
    assert read(f'"{LONG}"', "it") == LONG
    assert read_shown(f'{{"n": [{LONG}, 7]}}') == {"n": [LONG, 7]}
    for value in (CIRCLE, {1}, float("nan"), 10**5_000):
        with pytest.raises(UsageError):
            written(value, "it")


def test_w31_a_search_provider_that_answers_with_no_json_is_the_providers_fault() -> None:
    from loopwright import ProviderError
    from loopwright.search._hit import parsed

    for body in (f'{{"n": {LONG}}}', "[" * 50_000, '{"n": NaN}', "[]", "\udcff".encode("utf-8", "surrogateescape")):
        with pytest.raises(ProviderError) as caught:
            parsed(body if isinstance(body, bytes) else body.encode(), "it")
        assert caught.value.code == "invalid_body"
    assert json.dumps(parsed(b'{"n": 1}', "it")) == '{"n": 1}'


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ('{"n": 1}', {"n": 1}),
        (' {"n": [1, {"a": "\u00e9\\n"}]}\n', {"n": [1, {"a": "\u00e9\n"}]}),
        ('{"n": 12345678901234567890123}', {"n": 12345678901234567890123}),
        ('{"n": 1, "n": 2}', {"n": 2}),
        ("{}", {}),
        ("", {}),
        (" \n", {}),
        ("{broken", None),
        ("[1]", None),
        ("null", {}),
        ('"{}"', {}),
        ('{"n": NaN}', {"n": None}),
        ('{"n": NaN', None),
        ('{"n": 1e999}', None),
        (f'{{"n": {LONG}}}', None),
        ("[" * 100_000, None),
    ],
)
def test_w5_arguments_of_a_model_of_ones_own_may_be_the_text_of_an_object(way: str, given: str, taken: Any) -> None:
    got: list[Any] = []

    @tool
    def work(n: Any = None) -> str:
        """Works."""
        got.append(n)
        return "ok"

    agent = Agent(ScriptedModel([Response("", [Call("work", given)]), "done"]), tools=[work])
    result = agent.run_sync("go") if way == "sync" else asyncio.run(agent.run("go"))
    assert result.final == "done"
    call = result.tool_calls[0]
    if taken is None:
        assert (got, call.failure) == ([], "invalid_arguments")
    else:
        assert (got, call.failure, call.arguments) == ([taken.get("n")], None, taken)
