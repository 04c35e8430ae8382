"""Extraction from Python: the promises as properties over random texts, and what people call."""

from __future__ import annotations

import doctest
import itertools
import json
import random
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopwright import LoopwrightError, ModelError, UsageError, extraction, tool
from loopwright.extraction import (
    ArgumentsDelta,
    CallFinished,
    CallStarted,
    Markup,
    Problem,
    ReasoningDelta,
    TextDelta,
    ToolCallParser,
    dialect_for,
    dialects,
    extract,
    extract_json,
    find_json,
    render_call,
    render_calls,
    render_results,
    repair_json,
    strip_tool_markup,
)

EXAMPLES = dialects()
PIECES = st.sampled_from(
    [
        *EXAMPLES.values(),
        "<think>",
        "</think>",
        "<tool_call>",
        "</tool_call>",
        "<function=f>",
        "<parameter=x>",
        "</parameter>",
        "</function>",
        '{"name": "get_weather", "arguments": {"city": "</tool_call>"}}',
        "`",
        "```",
        "\n",
        "\n> ",
        "[TOOL_CALLS]",
        "<",
        "\u00e9\U0001f30d",
        "<tool_response>x</tool_response>",
        "plain words. ",
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=12).map("".join)


def merged(events: list[Any]) -> list[Any]:
    """Events as plain tuples, deltas that follow each other joined."""
    found: list[list[Any]] = []
    for event in events:
        start, end = event.span
        match event:
            case TextDelta() | ReasoningDelta():
                key, text = [event.type], event.text
            case ArgumentsDelta():
                key, text = [event.type, event.index], event.text
            case CallStarted():
                key, text = [event.type, event.index, event.name, event.dialect, event.source], ""
            case CallFinished():
                one = event.call
                key = [event.type, one.name, one.arguments_json, one.complete, one.repaired, one.span, one.call_id]
                text = ""
            case Markup():
                key, text = [event.type], ""
            case Problem():
                key, text = [event.type, event.kind, event.message, event.call, event.dropped], ""
        if (
            found
            and found[-1][0] == key
            and found[-1][3] == start
            and event.type in ("text", "reasoning", "arguments", "markup")
        ):
            found[-1][1] += text
            found[-1][3] = end
        else:
            found.append([key, text, start, end])
    return [tuple(map(str, each)) for each in found]


def whole(text: str | bytes, **options: Any) -> list[Any]:
    parser = ToolCallParser(**options)
    return [*parser.feed(text), *parser.finish()]


@given(
    TEXTS,
    st.randoms(use_true_random=False),
    st.sampled_from([{}, {"tools": ["get_weather"], "bare_json": True}, {"quoted_calls": "run"}]),
)
def test_d08_any_split_gives_the_same_events(text: str, dice: random.Random, options: dict[str, Any]) -> None:
    data = text.encode("utf-8", "surrogatepass")
    parser = ToolCallParser(**options)
    events: list[Any] = []
    at = 0
    while at < len(data):
        step = dice.choice([1, 1, 2, 3, 7, 40])
        events += parser.feed(data[at : at + step])
        at += step
    events += parser.finish()
    assert merged(events) == merged(whole(data, **options))


@given(TEXTS)
def test_d09_spans_tile_the_text_and_prose_is_byte_identical(text: str) -> None:
    data = text.encode("utf-8", "replace")
    found = extract(data)
    at = 0
    for region in found.spans:
        assert region.start == at
        assert region.end > region.start
        at = region.end
    assert at == len(data)
    prose = b"".join(data[region.start : region.end] for region in found.spans if region.owner == "text")
    assert prose.decode() == found.prose
    covered = [call.span for call in found.calls]
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(covered)), "a byte makes one call"


@given(st.binary(max_size=400))
def test_d08_no_bytes_do_harm(data: bytes) -> None:
    found = extract(data)
    assert sum(region.end - region.start for region in found.spans) == len(data)
    for call in found.calls:
        assert (call.arguments is not None) == call.complete


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
    | PIECES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc_", min_size=1, max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.sampled_from(sorted(EXAMPLES)), st.dictionaries(st.text("abc_", min_size=1, max_size=6), JSON, max_size=4))
def test_d08_what_is_rendered_is_read_back(dialect: str, arguments: dict[str, Any]) -> None:
    try:
        written = render_call({"name": "look_up", "arguments": arguments}, dialect)
    except UsageError as error:
        assert error.code == "unwritable"  # noqa: PT017 - most values can be written, and then they come back
        return
    schema = {"type": "object", "properties": {name: declared(value) for name, value in arguments.items()}}
    found = extract(written, tools={"look_up": schema}, dialects=dialect, bare_json=True)
    assert [(call.name, call.arguments) for call in found.calls] == [("look_up", arguments)]
    assert found.calls[0].complete
    assert found.prose.strip() == ""


def declared(value: Any) -> dict[str, Any]:
    """A schema for a value, as strict as a tool's."""
    match value:
        case bool():
            return {"type": "boolean"}
        case str():
            return {"type": "string"}
        case int():
            return {"type": "integer"}
        case float():
            return {"type": "number"}
        case None:
            return {"type": "null"}
        case list():
            return (
                {"type": "array", "items": {"anyOf": [declared(each) for each in value]}}
                if value
                else {"type": "array"}
            )
        case _:
            return {"type": "object", "properties": {name: declared(each) for name, each in value.items()}}


def test_d08_arguments_stream_and_are_typed_by_the_schema() -> None:
    @tool
    def write(path: str, lines: int, draft: bool) -> None:
        """Write."""

    parser = ToolCallParser([write])
    text = "<function=write>\n<parameter=path>\n{42}\n</parameter>\n<parameter=lines>\n123456789012345678901234567890\n</parameter>\n<parameter=draft>\nTrue\n</parameter>\n</function>"
    early = [event for event in parser.feed(text[:36]) if isinstance(event, ArgumentsDelta)]
    assert "".join(event.text for event in early).startswith('{"path":"{4')
    (finished,) = [event for event in [*parser.feed(text[36:]), *parser.finish()] if isinstance(event, CallFinished)]
    assert finished.call.arguments == {"path": "{42}", "lines": 123456789012345678901234567890, "draft": True}


def test_d08_tools_are_taken_in_every_shape() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string"}}}
    written = "<function=f>\n<parameter=x>\n1\n</parameter>\n</function>"

    def f(x: str) -> None:
        """F."""

    shapes: list[Any] = [
        {"f": schema},
        [("f", schema)],
        [{"name": "f", "input_schema": schema}],
        [{"type": "function", "function": {"name": "f", "parameters": schema}}],
        [{"name": "f", "parameters": schema}],
        [tool(f)],
        [f],
    ]
    for shape in shapes:
        assert extract(written, shape).calls[0].arguments == {"x": "1"}, shape
    assert extract(written, ["f"]).calls[0].arguments == {"x": 1}
    assert extract(written, ["g"]).prose == written
    assert [problem.kind for problem in extract(written, ["g"]).problems] == ["unknown_tool"]
    assert extract(written, ["g"], unknown_tool="call").calls[0].name == "f"
    for wrong in ("f", [3], [{"no": "name"}], [""], {"f": object()}):
        with pytest.raises(UsageError):
            extract(written, wrong)  # type: ignore[arg-type]


def test_d08_policies_and_limits_are_typed() -> None:
    one = '<tool_call>{"name": "f", "arguments": {"x": [[[1]]]}}</tool_call>'
    assert len(extract(one * 5, max_calls=2).calls) == 2
    assert "too_many_calls" in {problem.kind for problem in extract(one * 5, max_calls=2).problems}
    assert {"too_deep"} <= {problem.kind for problem in extract(one, max_depth=2).problems}
    assert {"arguments_too_large"} <= {problem.kind for problem in extract(one, max_argument_bytes=4).problems}
    fenced = f"```\n{one}\n```"
    assert extract(fenced).calls == ()
    assert extract(fenced, quoted_calls="run").calls[0].source == "fenced"
    thought = f"<think>{one}</think>"
    assert extract(thought).calls == ()
    assert len(extract(thought, reasoning_calls="run").calls) == 1
    assert extract(f"so{one[:0]}</think>done", starts_in_reasoning=True).prose == "done"
    bare = '{"name": "f", "arguments": {}}'
    assert extract(bare, ["f"]).prose == bare
    assert extract(bare, ["f"], bare_json=True).calls[0].source == "bare"
    for wrong in (
        {"quoted_calls": "maybe"},
        {"dialects": "klingon"},
        {"unknown_tool": "?"},
        {"max_calls": -1},
        {"max_depth": 2.5},
        {"max_depth": 501},
        {"max_depth": 10**9},
        {"max_argument_bytes": 10**30},
    ):
        with pytest.raises(UsageError):
            extract(one, **wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        extract(one, quoted=True)  # type: ignore[call-arg]


def nested(depth: int = 3000) -> dict[str, Any]:
    """Deeper than `repr()` goes."""
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("call", "place"),
    [
        (lambda: render_results([5]), "5 is no result"),  # type: ignore[list-item]
        (lambda: render_results({"content": "x"}), "results are a list"),  # type: ignore[arg-type]
        (lambda: render_results(5), "results are a list"),  # type: ignore[arg-type]
        (lambda: render_results([{"name": "f", "content": "\ud83d"}]), "surrogate"),
        (lambda: render_calls(5, "hermes"), "calls are a list"),  # type: ignore[arg-type]
        (lambda: render_call({"name": "f", "arguments": {"x": "\ud83d"}}, "hermes"), "the arguments of 'f'"),
        (lambda: render_call({"name": "f\ud83d", "arguments": {}}, "hermes"), "a call's name"),
        (lambda: render_call({"name": 5, "arguments": {}}, "hermes"), "a call's name"),
        (lambda: repair_json('{"a": "\ud83d"}'), "the text"),
        (lambda: extract_json('{"a": "\ud83d"}'), "the text"),
        (lambda: extract_json("{}", 5), "the schema"),
        (lambda: dialect_for("qwen\ud83d"), "the model"),
        (lambda: dialect_for(5), "the model"),  # type: ignore[arg-type]
        (lambda: extract("x", ["f\ud83d"]), "the tool's name"),
        (lambda: extract("x", {"f": "notschema"}), "the schema of 'f'"),
        (lambda: extract("x", {"f": {"const": float("inf")}}), "the schema of 'f' can't be written as JSON"),
        (lambda: extract("x", 5), "tools"),  # type: ignore[arg-type]
        (lambda: extract("x", dialects=5), "dialects"),  # type: ignore[arg-type]
        (lambda: extract("x", dialects=[5]), "dialects"),  # type: ignore[list-item]
        (lambda: extract("x", reasoning_calls=1), "reasoning_calls"),  # type: ignore[arg-type]
        (lambda: extract("x", bare_json="no"), "bare_json"),  # type: ignore[arg-type]
        (lambda: extract("x", repair=None), "repair"),  # type: ignore[arg-type]
        (lambda: extract("x", max_calls=True), "max_calls is True"),
        (lambda: extract("x", max_calls=10**5000), "max_calls is a value of type int"),
        (lambda: extract("x", bare_json=nested()), "bare_json is a value of type dict"),  # type: ignore[arg-type]
        (lambda: extract("x", [nested()]), "a value of type dict is no tool"),
        (lambda: render_call({"id": [], "name": "f", "arguments": {}}, "hermes"), "the id of the call of 'f'"),
        (lambda: render_results([{"name": 5, "content": "x"}]), "a result's name is int"),
        (lambda: render_results([{"id": 0, "name": "f", "content": "x"}]), "a result's id is int"),
        (lambda: render_results([{"name": "f", "result": "x"}]), "neither content nor an error"),
        (lambda: render_results([{"name": "f", "error": 5}]), "a result's message is int"),
        (lambda: render_results([{"name": "f", "error": {"kind": 5}}]), "a result's kind is int"),
        (lambda: render_results([{"name": "f", "error": {"hint": nested()}}]), "a result's hint is dict"),
    ],
)
def test_d08_what_is_given_wrongly_is_named(call: Any, place: str) -> None:
    with pytest.raises(UsageError) as caught:
        call()
    assert place in str(caught.value)


def test_d08_a_finished_parser_says_so() -> None:
    parser = ToolCallParser()
    parser.feed("x")
    parser.finish()
    with pytest.raises(UsageError, match="finished"):
        parser.feed("y")
    with pytest.raises(UsageError):
        ToolCallParser().feed(3)  # type: ignore[arg-type]


def test_d08_lone_surrogates_and_broken_bytes_are_told() -> None:
    for data in ("a\ud83db", b"a\xff\xfeb"):
        found = extract(data)
        assert found.prose.startswith("a\ufffd")
        assert found.prose.endswith("b")
        assert {problem.kind for problem in found.problems} == {"invalid_utf8"}


def test_d08_parsers_work_at_once_in_many_threads() -> None:
    text = "".join(EXAMPLES.values()) * 20
    expected = merged(whole(text))
    shared = ToolCallParser()
    failures: list[Any] = []

    def work() -> None:
        for _ in range(5):
            if merged(whole(text)) != expected:
                failures.append("different")
        try:
            for _ in range(50):
                shared.feed("x" * 70_000)
        except LoopwrightError as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_d23_markup_is_stripped() -> None:
    for name, example in EXAMPLES.items():
        if name not in ("json", "json-array", "pythonic", "phi-4-mini"):  # they have no markers of their own
            assert strip_tool_markup(f"Before. {example}").strip() == "Before.", name


def test_d17_render_results_takes_dicts() -> None:
    shown = render_results([{"id": "1", "name": "f", "content": {"a": 1}}, {"name": "g", "error": "no"}])
    assert '{"a":1}' in shown
    assert '"error"' in shown
    failed = render_results([{"name": "f", "error": ValueError("too late")}])
    assert '{"kind":"exception","message":"too late"}' in failed
    assert render_results([{"name": "f", "content": None, "error": None}], "hermes") == render_results(
        [{"name": "f", "content": "null"}], "hermes"
    )
    assert render_results([{"name": "f", "content": "x"}], "hermes") == "<tool_response>\nx\n</tool_response>"
    assert render_calls([], "hermes") == ""
    with pytest.raises(UsageError):
        render_call({"arguments": {}}, "hermes")
    with pytest.raises(UsageError):
        render_call({"name": "f", "arguments": [1]}, "hermes")


def test_b13_json_is_found_fenced_whole_and_embedded() -> None:
    assert extract_json('{"a": 1}') == {"a": 1}
    assert extract_json('Sure!\n```json\n{"a": 1}\n```\nAnything else?') == {"a": 1}
    assert extract_json('The plan {"a": {"b": [1, 2]}} is good.') == {"a": {"b": [1, 2]}}
    assert find_json('The plan {"a": 1} is good.').place == "embedded"
    schema = {"type": "object", "required": ["score"], "properties": {"score": {"type": "integer"}}}
    assert extract_json('First {"note": 1}, then {"score": 3}.', schema) == {"score": 3}
    with pytest.raises(ModelError, match="score"):
        extract_json('{"note": 1}', schema)
    with pytest.raises(ModelError) as caught:
        extract_json("I can't say.")
    assert caught.value.code == "no_json"


def test_a20_a_whole_answer_comes_before_the_fence_in_its_string() -> None:
    answer = json.dumps({"code": '```json\n{"wrong": true}\n```'})
    assert extract_json(answer) == json.loads(answer)


@given(st.text(max_size=60) | TEXTS)
def test_b13_repair_gives_json_whatever_comes(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    mended = repair_json(text)
    json.loads(mended.json)
    assert repair_json(mended.json).json == mended.json
    assert repair_json(mended.json).repairs == ()


@given(JSON)
def test_b13_valid_json_is_left_alone(value: Any) -> None:
    text = json.dumps(value)
    mended = repair_json(text)
    assert (mended.json, mended.repairs) == (text, ())
    assert extract_json(text) == value


def test_b13_repairs_say_what_and_where() -> None:
    mended = repair_json("{name: 'x', ok: True, list: [1, 2,], // why\n 'open': \"cut")
    assert mended.value == {"name": "x", "ok": True, "list": [1, 2], "open": "cut"}
    assert not mended.complete
    assert len(mended.repairs) >= 6
    assert all(repair.what and repair.span[0] <= repair.span[1] for repair in mended.repairs)


def test_the_examples_in_the_docstrings_run() -> None:
    failed, tried = doctest.testmod(extraction)
    assert tried > 10
    assert failed == 0


def test_d08_models_are_known_by_name() -> None:
    known = {
        "Qwen/Qwen3-Coder-480B-A35B-Instruct": "qwen3-coder",
        "deepseek-ai/DeepSeek-V3.1": "deepseek-v3.1",
        "moonshotai/Kimi-K2-Instruct": "kimi-k2",
        "openai/gpt-oss-120b": "harmony",
        "zai-org/GLM-4.5": "glm-4.5",
    }
    assert {model: dialect_for(model) for model in known} == known
    assert dialect_for("a model nobody knows") is None
