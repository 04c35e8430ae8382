"""Calls that a model writes into its text, in an agent: read where they are meant, answered where they are unknown, and
never the answer of a run.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from loopwright import Agent, Model, ModelError, tool
from loopwright.extraction import dialects, extract, render_call
from loopwright.testing import ScriptedModel, WireServer, text


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"rain in {city}"


CALL = {"name": "weather", "arguments": {"city": "Turku"}}


def _run(*replies: str, tool_format: str | None = None) -> tuple[Any, ScriptedModel]:
    model = ScriptedModel([text(reply) for reply in replies])
    agent = Agent(Model(model, tool_format=tool_format), tools=[weather])
    return agent.run_sync("How is the weather in Turku?"), model


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps(CALL),
        json.dumps(CALL, indent=2),
        f"\n  {json.dumps(CALL)}\n",
        f"I look it up.\n{json.dumps(CALL)}",
        json.dumps([CALL]),
        json.dumps({"name": "weather", "parameters": {"city": "Turku"}}),
    ],
)
def test_s06_d08_bare_json_of_a_declared_tool_is_a_call(reply: str) -> None:
    result, _ = _run(reply, "It rains.")
    assert [(call.name, call.arguments, call.failure) for call in result.tool_calls] == [
        ("weather", {"city": "Turku"}, None)
    ]
    assert result.final == "It rains."


@pytest.mark.parametrize(
    "reply",
    [
        f"```json\n{json.dumps(CALL)}\n```",
        f"One would write `{json.dumps(CALL)}` here.",
        f"> {json.dumps(CALL)}",
        f"A call such as {json.dumps(CALL)} asks for it.",
        json.dumps({"name": "Turku", "arguments": {"population": 200_000}}),
        json.dumps({"city": "Turku", "weather": "rain"}),
        'weather(city="Turku") is what I would call.',
        json.dumps({"name": "weather", "description": "The weather of a city.", "parameters": {"type": "object"}}),
    ],
)
def test_s06_d08_json_that_is_talked_about_is_text(reply: str) -> None:
    result, _ = _run(reply)
    assert (result.tool_calls, result.final) == ([], reply)


@pytest.mark.parametrize(
    "dialect", [name for name in dialects() if name not in ("json", "json-array", "pythonic", "phi-4-mini")]
)
def test_s06_an_unknown_name_is_answered_like_a_native_one(dialect: str) -> None:
    reply = render_call({"name": "forecast", "arguments": {"city": "Turku"}}, dialect)
    result, model = _run(reply, "There is no such tool.", tool_format=dialect)
    assert [(call.name, call.failure) for call in result.tool_calls] == [("forecast", "unknown_tool")]
    assert result.final == "There is no such tool."
    assert "forecast" in model.requests[1].to_json()


@pytest.mark.parametrize(
    "reply", ["<tool_call>", "<tool_call></tool_call>", '<tool_call>{"x": 1}</tool_call>', "[TOOL_CALLS]"]
)
def test_s06_a_run_never_ends_with_markup_as_its_answer(reply: str) -> None:
    result, model = _run(reply, "It rains.")
    assert result.final == "It rains."
    assert "did not run" in model.requests[1].last_text
    with pytest.raises(ModelError) as caught:
        _run(reply, reply)
    assert caught.value.code == "markup_answer"
    assert caught.value.result.final is None
    assert caught.value.result.best_draft == reply


@pytest.mark.parametrize(
    "reply",
    [
        "I look it up.\n<tool_call>\nweather of Turku, please\n</tool_call>",
        "One moment.\n<|tool_calls_section_begin|>??<|tool_calls_section_end|>",
        'weather<|tool_call_argument_begin|>{"city": "Turku"}<|tool_call_end|>',
        "Let me see.\n<\uff5cDSML\uff5cfunction_calls>\n",
    ],
)
def test_e4_an_opener_that_comes_to_nothing_is_told_once_in_the_dialects_words(reply: str) -> None:
    result, model = _run(reply, "It rains.", tool_format="kimi-k2")
    assert result.final == "It rains."
    told = model.requests[1].last_text
    assert "did not run" in told and render_call({"name": "get_weather", "arguments": {}}, "kimi-k2")[:20] in told
    with pytest.raises(ModelError) as caught:
        _run(reply, reply, tool_format="kimi-k2")
    assert caught.value.code == "markup_answer"
    problems = [(problem.kind, reply.encode()[slice(*problem.span)]) for problem in extract(reply).problems]
    assert any(kind == "unread" and opener for kind, opener in problems), problems


def test_e4_an_answer_about_markup_is_an_answer() -> None:
    for reply in (
        "The marker <tool_call> opens a call.",
        "These open calls:\n<tool_call> opens one of Hermes, `<TOOLCALL>` one of Nemotron.",
        "```\n<tool_call>\nno call\n```",
    ):
        result, _ = _run(reply)
        assert (result.final, result.tool_calls) == (reply, [])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("{all of it}", "a key without a value"),
        ('{"city": }', "a key without a value"),
        ('{"city": ...}', "an ellipsis"),
        ('{"city": "5" south of Turku"}', "quotation marks that don't pair off"),
        ('{"city": "Turku" or so}', "words stand behind the end of a string"),
    ],
)
def test_e6_a_call_that_was_guessed_does_not_run_and_is_said_to_be_unclear(arguments: str, reason: str) -> None:
    ran: list[str] = []

    @tool
    def weather(city: str | None = None) -> str:
        """The weather of a city."""
        ran.append(str(city))
        return "rain"

    reply = f'<tool_call>{{"name": "weather", "arguments": {arguments}}}</tool_call>'
    model = ScriptedModel([text(reply), text("It rains.")])
    result = Agent(Model(model, tool_format="hermes"), tools=[weather]).run_sync("How is the weather in Turku?")
    assert (ran, result.final) == ([], "It rains.")
    assert [call.failure for call in result.tool_calls] == ["invalid_arguments"]
    assert reason in model.requests[1].to_json()


ELEMENTS = [name for name in dialects() if re.search(r"(param|parameter|arg_value)>", render_call(CALL, name))]


@pytest.mark.parametrize("dialect", ELEMENTS)
@pytest.mark.parametrize("closers", [1, 2, 3])
def test_a_call_behind_closers_that_a_value_holds_does_not_run(dialect: str, closers: int) -> None:
    """A file that is written holds the end of a call and then a whole call: which is whose can't be told."""
    whole = render_call({"name": "note", "arguments": {"words": "BODY"}}, dialect)
    inner = render_call({"name": "erase", "arguments": {"words": "all"}}, dialect)
    end = whole.split("BODY")[1]
    ends = re.findall(r"<[^<>]*>|\n", end)
    held = "".join(ends[: sum(1 for _ in ends) if closers == 3 else closers])
    reply = whole.replace("BODY", f"first {held} {inner} last")
    ran: list[str] = []

    @tool
    def note(words: str) -> str:
        """Notes."""
        ran.append(f"note {words}")
        return "noted"

    @tool
    def erase(words: str) -> str:
        """Erases."""
        ran.append(f"erase {words}")
        return "erased"

    model = ScriptedModel([text(reply), text("Well.")])
    result = Agent(Model(model, tool_format=dialect), tools=[note, erase]).run_sync("Note it.")
    assert "erase all" not in ran, reply
    assert all(call.endswith("last") for call in ran), ran
    assert result.final == "Well."


def test_s06_a_model_with_calls_of_its_own_is_told_that_markup_does_not_run() -> None:
    written = f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>"
    with WireServer([text(written), text("It rains.")]) as server:
        agent = Agent(Model("openai:gpt-5", base_url=server.url, api_key="k"), tools=[weather])
        result = agent.run_sync("How is the weather in Turku?")
        assert "did not run" in json.dumps(server.requests[-1]["body"])
    assert (result.final, result.tool_calls) == ("It rains.", [])


def test_s06_without_tools_markup_is_a_text_like_any() -> None:
    written = f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>"
    assert Agent(ScriptedModel([text(written)])).run_sync("Show me a call.").final == written


ran: list[tuple[str, str]] = []


@tool
def note(text: str) -> str:
    """Takes a note."""
    ran.append(("note", text))
    return "noted"


@tool
def drop(table: str) -> str:
    """Drops a table."""
    ran.append(("drop", table))
    return "dropped"


def _written(name: str, key: str, value: str, dialect: str) -> str:
    """A call as a model writes it that escapes nothing."""
    return render_call({"name": name, "arguments": {key: "VALUE"}}, dialect).replace("VALUE", value)


# Those whose values stand raw between elements.
ELEMENTS = [name for name in dialects() if '"VALUE"' not in _written("note", "text", "VALUE", name)]
ELEMENTS = [name for name in ELEMENTS if name not in {"gemma-4", "functiongemma"}]


@pytest.mark.parametrize("dialect", ELEMENTS)
@pytest.mark.parametrize("how", ["tool_format", "read_markup"])
def test_e5_a_call_quoted_in_a_value_never_runs(dialect: str, how: str) -> None:
    quoted = _written("drop", "table", "users", dialect)
    closers = quoted[quoted.index("users") + len("users") :].lstrip()
    odd = [quoted.replace("drop", name) for name in ("<name>", "drop<!--x-->", 'drop="<name>"', "d" * 300)]
    whole = [quoted, f"{quoted}\n{quoted}", _written("note", "text", quoted, dialect), *odd]
    doubtful = [closers, f"{quoted} {closers}", f"{closers} {quoted}", f"{odd[0]} {closers}", f"{odd[1]}\n{closers}\n"]
    for inner in [*whole, *doubtful]:
        value = f"see {inner} ok"
        ran.clear()
        options: dict[str, Any] = {"tool_format": dialect} if how == "tool_format" else {"read_markup": True}
        model = ScriptedModel([text(_written("note", "text", value, dialect)), text("Done.")])
        Agent(Model(model, **options), tools=[note, drop]).run_sync("Note how calls are written.")
        assert ran in ([("note", value)], []), inner
        if inner in whole:
            assert ran, inner


@pytest.mark.parametrize("dialect", ELEMENTS)
def test_e5_closers_behind_a_call_take_back_that_it_is_complete(dialect: str) -> None:
    quoted = _written("drop", "table", "users", dialect)
    closers = quoted[quoted.index("users") + len("users") :].lstrip()
    for inner in (closers, f"{quoted} {closers}", f"{closers} {quoted}"):
        value = f"see {inner} ok"
        found = extract(_written("note", "text", value, dialect), ["note", "drop"])
        for one in found.calls:
            assert not one.complete or one.arguments == {"text": value}, inner
        assert found.problems or found.calls[0].complete, inner
    sound = _written("note", "text", "all is well", dialect)
    (only,) = extract(f"{sound}\nThat was it.", ["note", "drop"]).calls
    assert only.complete


@pytest.mark.parametrize("dialect", [name for name in dialects() if name not in ("json", "json-array", "pythonic")])
def test_e5_a_call_that_broke_off_before_its_arguments_never_runs(dialect: str) -> None:
    ran: list[str] = []

    @tool
    def drop(table: str = "") -> str:
        """Drops a table."""
        ran.append(table)
        return "dropped"

    written = render_call({"name": "drop", "arguments": {"table": "users"}}, dialect)
    for end in range(1, len(written)):
        found = extract(written[:end], [drop], dialect)
        if not found.calls or found.calls[0].complete:
            continue
        model = ScriptedModel([text(written[:end]), text("Done.")])
        result = Agent(Model(model, tool_format=dialect), tools=[drop]).run_sync("Drop it.")
        assert ran == [], written[:end]
        assert [call.failure for call in result.tool_calls] == ["invalid_arguments"]


def test_e5_a_call_beside_a_broken_one_is_told_and_never_runs() -> None:
    broken = "<tool_call>\n<function=weather>\nsay\n<parameter=city>\nTurku\n</parameter>\n</function>\n</tool_call>"
    whole = broken.replace("say\n", "")
    result, model = _run(f"{whole}\n{broken}", "It is unclear.", tool_format="qwen3-coder")
    assert [call.failure for call in result.tool_calls] == ["invalid_arguments"] * 2
    told = str([message.to_dict() for message in model.requests[1].messages])
    assert "it is not clear where this call ends" in told
    assert "the call broke off" in told
