"""Arguments that are no JSON object: mended alike in native calls and in calls written as text, or told to the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from answers import Provider
from loopwright import Agent, Model, Result, replay, tool
from loopwright.extraction import extract
from loopwright.models import Call, Response
from loopwright.testing import response, text
from ways import KEY, WIRES, agent_at, run

OSLO = '{"city":"Oslo"}'
MENDED = {
    "encoded twice": (json.dumps(OSLO), {"city": "Oslo"}),
    "in quotes that nothing escapes": (f"'{OSLO}'", {"city": "Oslo"}),
    "a newline in a string": ('{"city":"Os\nlo"}', {"city": "Os\nlo"}),
    "single quotes": ("{'city':'Oslo'}", {"city": "Oslo"}),
    "a key without quotes, a comma too many": ('{city: "Oslo",}', {"city": "Oslo"}),
    "a literal of Python": ('{"city": None}', {"city": None}),
    "a bracket too many": (OSLO + "}", {"city": "Oslo"}),
    "null": ("null", {}),
    "null in quotes": ('"null"', {}),
    "an empty text in quotes": ('""', {}),
    "an empty array": ("[]", {}),
    "None": ("None", {}),
}
FENCED = {
    "a fence": (f"```json\n{OSLO}\n```", {"city": "Oslo"}),
    "a fence without a word": (f"```\n{OSLO}```", {"city": "Oslo"}),
    "a bracket missing in a fence": ('```json\n{"city":"Oslo"\n```', {"city": "Oslo"}),
}
REFUSED = {
    "cut in a value": '{"city":"Os',
    "cut before the bracket": '{"city":"Oslo"',
    "cut before a value": '{"city": ',
    "an open fence": f"```json\n{OSLO}",
    "two objects": OSLO + OSLO,
    "two objects in one string": '{"city":"Oslo}{"city":"Rome"}',
    "words behind": f"{OSLO} and so on",
    "words before": f"Here: {OSLO}",
    "closed too early": '{"city": {}}, "more": 1}',
    "a list": "[1]",
    "a list of one object": f"[{OSLO}]",
    "a text": '"Oslo"',
    "a number": "5",
    "a closing bracket": "}",
}
asked: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_asked() -> None:
    asked.clear()


@tool(read_only=True)
def look(city: Any = "everywhere") -> str:
    """Looks at a city."""
    asked.append(city)
    return "seen"


def native(wire: str, arguments: str, way: str = "stream", **options: Any) -> tuple[Result[Any], list[Any]]:
    """A run in which the model calls `look` over the wire; gives its result and what was sent."""
    if wire == "gemini":
        try:
            json.loads(arguments)
        except ValueError:
            pytest.skip("arguments on this wire are JSON, whatever the model wrote")
    provider = Provider(wire, [("look", arguments)])
    try:
        result, _ = run(
            Agent(Model(WIRES[wire], base_url=provider.url, api_key=KEY), tools=[look]), "Go.", way, **options
        )
    finally:
        provider.server.shutdown()
        provider.server.server_close()
    assert result.final == "Done."
    return result, provider.bodies


@pytest.mark.parametrize(("written", "meant"), (MENDED | FENCED).values(), ids=MENDED | FENCED)
def test_w5_arguments_of_a_native_call_are_mended(
    wire: str, tmp_path: Path, written: str, meant: dict[str, Any]
) -> None:
    result, _ = native(wire, written, journal=tmp_path / "run.jsonl")
    assert asked == [meant.get("city", "everywhere")]
    assert [(each.arguments, each.failure) for each in result.tool_calls] == [(meant, None)]
    assert replay(tmp_path / "run.jsonl").identical


@pytest.mark.parametrize(("written", "meant"), (MENDED | FENCED).values(), ids=MENDED | FENCED)
def test_w5_an_answer_that_is_not_streamed_is_mended(written: str, meant: dict[str, Any]) -> None:
    result, _ = native("chat", written, "run_sync")
    assert [(each.arguments, each.failure) for each in result.tool_calls] == [(meant, None)]


@pytest.mark.parametrize(("written", "meant"), MENDED.values(), ids=MENDED)
def test_w5_native_calls_and_calls_in_text_are_mended_alike(serve: Any, written: str, meant: dict[str, Any]) -> None:
    marked = f'<tool_call>\n{{"name": "look", "arguments": {written}}}\n</tool_call>'
    server = serve(text(marked), text("Done."))
    in_text = agent_at(server, "chat", tools=[look], read_markup=True).run_sync("Go.")
    result, _ = native("chat", written)
    assert [each.arguments for each in in_text.tool_calls] == [each.arguments for each in result.tool_calls] == [meant]
    sent = [message.to_dict()["content"][0]["input"] for message in (in_text.messages[1], result.messages[1])]
    assert sent == [meant, meant]
    told = [problem.message for problem in extract(marked).problems if problem.kind == "repaired"]
    warned = [warning for warning in result.warnings if warning.startswith("repaired_call")]
    assert bool(warned) == bool(told)
    assert all(how in warned[0] for how in told)
    assert [each for each in in_text.warnings if each.startswith("repaired_call")] == warned


@pytest.mark.parametrize("written", REFUSED.values(), ids=REFUSED)
def test_w5_arguments_that_can_only_be_guessed_are_told_to_the_model(wire: str, written: str) -> None:
    result, sent = native(wire, written)
    assert asked == []
    assert [each.failure for each in result.tool_calls] == ["invalid_arguments"]
    assert "invalid_arguments" in json.dumps(sent[1])
    assert not [warning for warning in result.warnings if "repaired_call" in warning]


@pytest.mark.parametrize("written", ['{ "city":  "Oslo" }', '{"city":"\\u004fslo"}', '{"city": 1.50, "city": 1e2}'])
def test_w5_valid_arguments_stay_as_they_were_written(written: str) -> None:
    result, sent = native("chat", written)
    assert [each.failure for each in result.tool_calls] == [None]
    (reply,) = [each for each in sent[1]["messages"] if each["role"] == "assistant"]
    assert reply["tool_calls"][0]["function"]["arguments"] == written
    assert not result.warnings


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_w5_what_a_cut_answer_holds_is_not_mended(serve: Any, wire: str) -> None:
    server = serve(response(Response("", [Call("look", "{'city':'Oslo'}")], stop="max_tokens")), text("Done."))
    result = agent_at(server, wire, tools=[look]).run_sync("Go.")
    assert asked == []
    assert [each.failure for each in result.tool_calls] == ["invalid_arguments"]
