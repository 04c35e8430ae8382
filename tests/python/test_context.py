"""Histories made to fit, in all three shapes."""

from __future__ import annotations

import copy
import json
import pickle
import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loopwright import Message, UsageError
from loopwright.context import Archive, ContextWindow, assemble, compress, estimate, recall_tool
from loopwright.messages import Text, ToolResult, ToolUse
from loopwright.tokens import count_tokens

SHAPES = ("canonical", "anthropic", "openai_chat")

# A history, before it has a shape: what is said, and calls with what they gave.
outputs = st.one_of(
    st.lists(
        st.sampled_from(["a = compute_value(1)", "error: it failed", "src/main.rs:10: used", "", "é世界"]), max_size=60
    ).map("\n".join),
    st.text(max_size=300),
    st.lists(st.integers(), max_size=80).map(json.dumps),
    st.just("the very same output of a build\n" * 40),
)
parts = st.lists(
    st.one_of(
        st.tuples(st.just("user"), st.text(min_size=1, max_size=60).filter(str.strip)),
        st.tuples(st.just("said"), st.text(min_size=1, max_size=200).filter(str.strip)),
        st.tuples(st.just("calls"), st.lists(outputs, min_size=1, max_size=3)),
        st.tuples(st.just("calls"), st.lists(outputs, min_size=1, max_size=3)),
    ),
    max_size=16,
)
fits = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def shaped(parts, shape):
    """The history in one of the shapes."""
    history = [say("user", "fix src/main.rs and do not touch tests/", shape)]
    for at, (kind, value) in enumerate(parts):
        if kind != "calls":
            history.append(say("user" if kind == "user" else "assistant", value, shape))
            continue
        calls = [(f"call_{at}_{n}", {"path": f"src/file_{n}.rs", "at": at}, output) for n, output in enumerate(value)]
        if shape == "canonical":
            uses = (ToolUse.of(id, "read", arguments) for id, arguments, _ in calls)
            history.append(Message.assistant(*uses))
            history.append(Message.user(*(ToolResult(id, "read", (Text(output),)) for id, _, output in calls)))
        elif shape == "anthropic":
            uses = [{"type": "tool_use", "id": id, "name": "read", "input": arguments} for id, arguments, _ in calls]
            thinking = {"type": "thinking", "thinking": "hm", "signature": f"sig{at}"}
            unknown = {"type": "future_block", "weight": 1.50}
            history.append({"role": "assistant", "content": [thinking, *uses]})
            if at % 5 == 4:
                history[-1]["content"].append(unknown)
            results = [{"type": "tool_result", "tool_use_id": id, "content": output} for id, _, output in calls]
            history.append({"role": "user", "content": results})
        else:
            uses = [
                {"id": id, "type": "function", "function": {"name": "read", "arguments": json.dumps(arguments)}}
                for id, arguments, _ in calls
            ]
            history.append({"role": "assistant", "content": None, "tool_calls": uses})
            history.extend({"role": "tool", "tool_call_id": id, "content": output} for id, _, output in calls)
    return history


def say(role, text, shape):
    if shape == "canonical":
        return Message.user(text) if role == "user" else Message.assistant(text)
    return {"role": role, "content": text}


def pairs_are_whole(messages, shape):
    """Every use has its result directly behind it, and every result its use."""
    open_ids: set[str] = set()
    for message in messages:
        if shape == "canonical":
            uses = [block.call_id for block in message.tool_uses]
            results = [block.call_id for block in message.tool_results]
        elif shape == "anthropic":
            blocks = message["content"] if isinstance(message["content"], list) else []
            uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
            results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        else:
            uses = [call["id"] for call in message.get("tool_calls") or ()]
            results = [message["tool_call_id"]] if message["role"] == "tool" else []
        for id in results:
            assert id in open_ids
            open_ids.remove(id)
        if not results:
            assert not open_ids
        open_ids |= set(uses)


@pytest.mark.parametrize("shape", SHAPES)
@fits
@given(parts=parts, share=st.floats(0.1, 1.1))
def test_c26_never_over_budget_in_any_shape(shape, parts, share):
    history = shaped(parts, shape)
    before = copy.deepcopy(history)
    total = estimate(history, shape=shape)
    budget = int(total * share)
    try:
        done = compress(history, budget, shape=shape)
    except UsageError as caught:
        error = caught
        done = None
    if done is None:
        assert error.code == "budget_too_small"
        assert "message " in error.message
        return
    assert history == before
    assert done.report.after <= budget
    assert estimate(done.messages, shape=shape) <= budget
    pairs_are_whole(done.messages, shape)
    # The same again, and nothing more to do.
    again = compress(copy.deepcopy(history), budget, shape=shape)
    assert again.messages == done.messages
    assert again.report == done.report
    assert compress(done.messages, budget, shape=shape).messages == done.messages
    # What stands as it was is the very same object; what does not is in the archive as it was.
    for entry in done.report.entries:
        if entry.fate == "kept":
            assert any(message is history[entry.message] for message in done.messages)
        else:
            assert entry.handle in done.archive
    if shape == "canonical":
        for entry in done.report.entries:
            if entry.handle:
                assert done.archive.get(entry.handle).to_json() == history[entry.message].to_json()


@pytest.mark.parametrize("shape", SHAPES)
@fits
@given(parts=parts, small=st.floats(0.2, 0.8), more=st.floats(0, 0.5))
def test_c26_a_larger_budget_keeps_a_superset(shape, parts, small, more):
    history = shaped(parts, shape)
    total = estimate(history, shape=shape)
    try:
        few = compress(history, int(total * small), shape=shape)
    except UsageError:
        return
    many = compress(history, int(total * (small + more)), shape=shape)
    for one, other in zip(few.report.entries, many.report.entries, strict=True):
        assert one.after <= other.after
        assert one.at is None or other.at is not None


@fits
@given(parts=parts)
def test_c26_unknown_blocks_and_signatures_survive(parts):
    history = shaped(parts, "anthropic")
    total = estimate(history, shape="anthropic")
    try:
        done = compress(history, int(total * 0.5), shape="anthropic")
    except UsageError:
        return
    given_blocks = [json.dumps(b) for m in history if isinstance(m["content"], list) for b in m["content"]]
    for message in done.messages:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] in {"thinking", "future_block"}:
                assert json.dumps(block) in given_blocks


def long_history(shape, exchanges=60):
    lines = "\n".join(f"    value_{n} = compute({n})" for n in range(40))
    return shaped([("calls", [f"src/file_{at}.rs\n{lines}\nunique_{at} = {at * 7}"]) for at in range(exchanges)], shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_c26_what_left_can_be_recalled(shape):
    history = long_history(shape)
    done = compress(history, estimate(history) // 4)
    fates = {entry.fate for entry in done.report.entries}
    assert "kept" in fates
    assert fates & {"summarised", "dropped", "shortened", "referenced"}
    handle = next(entry.handle for entry in done.report.entries if entry.handle)
    assert done.archive.recall(handle)
    assert "unique_7 = 49" in done.archive.recall(find="unique_7 =")
    saved = Archive.from_json(done.archive.to_json())
    assert saved.handles == done.archive.handles
    tool = recall_tool(saved)
    assert tool.name == "recall"
    assert tool.definition()["schema"]["properties"].keys() == {"handle", "find", "from_line"}
    with pytest.raises(Exception, match="nothing is kept under"):
        done.archive.recall("nonsense")


def test_c26_counts_may_be_ones_own():
    history = long_history("openai_chat")
    words = lambda text: len(text.split())
    total = estimate(history, words)
    done = compress(history, total // 2, count=words)
    assert estimate(done.messages, words) <= total // 2

    def broken(text):
        raise ValueError("no count today")

    with pytest.raises(ValueError, match="no count today"):
        compress(history, 100, count=broken)


def test_c26_bad_input_is_repaired_and_said_or_named():
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    history = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "user", "content": "and?"},
        {"role": "tool", "tool_call_id": "lost", "content": "x"},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": "end"},
    ]
    done = compress(history, 10_000)
    pairs_are_whole(done.messages, "openai_chat")
    assert {at for at, _ in done.report.repairs} == {1, 3, 4}
    assert "repaired" in str(done.report)
    with pytest.raises(UsageError, match="message 1"):
        compress([{"role": "user", "content": "go"}, {"role": "nobody", "content": ""}], 100)
    with pytest.raises(UsageError, match="message 0"):
        compress(history, 0)
    for wrong in ("text", {"role": "user"}, [3]):
        with pytest.raises(UsageError):
            compress(wrong, 100)
    for budget in (-1, 1.5, True):
        with pytest.raises(UsageError):
            compress(history, budget)
    with pytest.raises(UsageError, match="policy"):
        compress(history, 100, policy={"no_such": 1})
    assert compress([], 0).messages == []


def test_c17_the_report_names_tiers():
    history = long_history("anthropic")
    report = compress(history, estimate(history) // 3).report
    tiers = [entry.tier for entry in report.entries]
    assert tiers[-1] == "focus"
    assert {"memory", "project"} & set(tiers)
    assert report.first_changed is not None


@pytest.mark.parametrize("shape", SHAPES)
def test_c26_c06_the_window_grows_and_settles(shape):
    history = long_history(shape, 120)
    budget = estimate(history) // 5
    window = ContextWindow(budget, shape=shape)
    before: list = []
    compactions = 0
    for message in history:
        window.append(message)
        if role(message) == "assistant" and message is not history[-1]:
            continue
        view = window.messages
        assert estimate(view, shape=shape) <= budget
        pairs_are_whole(view, shape)
        if window.compactions == compactions:
            assert view[: len(before)] == before
        compactions = window.compactions
        before = view
    assert 2 <= compactions <= 40
    assert not window.settle()
    saved = ContextWindow.from_json(window.to_json(), shape=shape)
    assert saved.messages == window.messages
    assert "unique_3 = 21" in window.archive.recall(find="unique_3 =")
    window.summarise("All went well until now.")
    assert window.compact().after <= budget
    assert any("All went well" in str(message) for message in window.messages)


def role(message):
    return message.role if isinstance(message, Message) else message["role"]


MODELS = (None, "gpt-4o", "gpt-4", "claude-sonnet-4-5", "claude-opus-4-7", "unheard-of")
TOOLS = [
    {"name": "read", "description": "Reads a file.", "input_schema": {"type": "object", "properties": {"path": {}}}},
    {"name": "recall", "description": "Gives back what left.", "input_schema": {"type": "object"}},
]


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(parts=parts, share=st.floats(0.05, 1.2), model=st.sampled_from(MODELS), tools=st.sampled_from([[], TOOLS]))
def test_c30_never_over_budget_by_the_tokens_of_the_model(shape, parts, share, model, tools):
    history = shaped(parts, shape)
    total = estimate(history, model=model, tools=tools, shape=shape)
    budget = int(total * share)

    def real(messages):
        plain = [json.loads(m.to_json()) if isinstance(m, Message) else m for m in messages]
        return count_tokens({"messages": plain, "tools": tools}, model=model, upper_bound=True)

    assert real(history) <= total
    if model in (None, "gpt-4o", "gpt-4"):
        # Exact; only a result that shares its message with others is counted as a message of its own.
        results = sum(len(value) for kind, value in parts if kind == "calls")
        assert total - real(history) <= (0 if shape == "openai_chat" else 4 * results)
    try:
        done = compress(history, budget, model=model, tools=tools, shape=shape)
    except UsageError as error:
        too_small(error)
        return
    assert real(done.messages) <= done.report.after <= budget
    pairs_are_whole(done.messages, shape)
    assert compress(done.messages, budget, model=model, tools=tools, shape=shape).messages == done.messages


def test_c30_the_model_decides_how_tokens_are_counted():
    history = long_history("openai_chat", 10)
    exact, above = estimate(history), estimate(history, model="claude-sonnet-4-5")
    assert exact == estimate(history, model="gpt-5") == count_tokens(history)
    assert above >= count_tokens(history, model="claude-sonnet-4-5", upper_bound=True) > exact
    assert estimate(history, tools=TOOLS) == count_tokens({"messages": history, "tools": TOOLS}, upper_bound=True)
    window = ContextWindow(exact * 2, "claude-sonnet-4-5", shape="openai_chat", tools=TOOLS)
    window.append(*history)
    assert window.tokens == estimate(history, model="claude-sonnet-4-5", tools=TOOLS)
    budget = exact + estimate(history, tools=TOOLS) - exact - 1
    assert compress(history, budget, tools=TOOLS).report.after <= budget
    with pytest.raises(UsageError, match="beside the messages") as caught:
        compress([{"role": "user", "content": "hi"}], 20, tools=TOOLS)
    assert caught.value.code == "budget_too_small"
    with pytest.raises(UsageError, match="count is a function"):
        compress(history, 20, count=3)


def too_small(error):
    assert error.code == "budget_too_small"
    assert "message " in error.message or "beside the messages" in error.message


def use(id, name="f", **arguments):
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def result(id, content="out"):
    return {"type": "tool_result", "tool_use_id": id, "content": content}


def call(id, arguments="{}"):
    return {"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}}


BIG = "word and 12345 path/to/file.rs error: it failed\n" * 21_000
HOSTILE = {
    "unpaired": ("anthropic", [
        ("user", "go"), ("assistant", [use("a")]), ("user", "hm"), ("user", [result("zz")]), ("assistant", [use("b")]),
    ]),
    "two results": ("anthropic", [
        ("user", "go"), ("assistant", [use("a")]), ("user", [result("a", "1"), result("a", "2")]), ("assistant", "ok"),
    ]),
    "ids that the provider refuses": ("anthropic", [
        ("user", "go"),
        ("assistant", [use("functions.Read:0", path="a"), use("functions.Read:1")]),
        ("user", [result("functions.Read:0"), result("functions.Read:1", [{"type": "text", "text": "x" * 4_000}])]),
        ("assistant", [{"type": "tool_use", "id": "c", "name": "f", "input": None}]),
        ("user", [result("c")]),
    ]),
    "empty": ("anthropic", [("user", ""), ("assistant", []), ("user", [{"type": "text", "text": " "}])]),
    "illegal order": ("anthropic", [("assistant", "hi"), ("assistant", "hi again"), ("user", "a"), ("user", "b")]),
    "words between results": ("anthropic", [
        ("user", "go"), ("assistant", [use("a"), use("b")]),
        ("user", [{"type": "text", "text": "first"}, result("b"), {"type": "text", "text": "mid"}]),
        ("user", [result("a")]), ("assistant", "k"),
    ]),
    "signatures": ("anthropic", [
        ("user", "go"),
        ("assistant", [{"type": "thinking", "thinking": "t" * 4_000, "signature": "s" * 400}, use("a")]),
        ("user", [result("a", BIG[:9_000])]),
        ("assistant", [{"type": "redacted_thinking", "data": "d" * 4_000}, {"type": "text", "text": "k" * 3_000}]),
        ("user", "more"),
        ("assistant", [{"type": "thinking", "thinking": "w", "signature": "x"}, use("c")]),
        ("user", [result("c", "z" * 5_000)]),
    ]),
    "blocks of the provider": ("anthropic", [
        ("user", "go"),
        ("assistant", [
            {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {"q": 1}},
            {"type": "web_search_tool_result", "tool_use_id": "srv", "content": [{"encrypted_content": "e" * 5_000}]},
            {"type": "future", "weight": 1.5, "none": None},
        ]),
        ("user", [{"type": "future2", "x": [1, 2]}, {"type": "text", "text": "q"}]), ("assistant", "done"),
    ]),
    "calls of no function": ("openai_chat", [
        ("user", "go"),
        {"role": "assistant", "content": None,
         "tool_calls": [{"id": "k", "type": "custom", "custom": {"name": "x", "input": "raw"}}, call("f")]},
        {"role": "tool", "tool_call_id": "k", "content": "out"}, {"role": "tool", "tool_call_id": "f", "content": BIG[:4_000]},
        ("assistant", "fine"),
    ]),
    "a megabyte": ("openai_chat", [
        ("user", "go"), {"role": "assistant", "content": None, "tool_calls": [call("a"), call("b", "not json " + BIG[:9_000])]},
        {"role": "tool", "tool_call_id": "a", "content": BIG}, {"role": "tool", "tool_call_id": "b", "content": "fine"},
        ("user", "next"), ("assistant", BIG[:70_000]),
    ]),
    "fields of one wire": ("openai_chat", [
        {"role": "system", "content": "late"}, {"role": "user", "name": "bob smith the third", "content": [
            {"type": "input_audio", "input_audio": {"data": "AAAA" * 500, "format": "wav"}}, {"type": "text", "text": "x"}]},
        {"role": "assistant", "content": "hi", "refusal": None, "reasoning_content": "r" * 3_000},
        {"role": "assistant"}, ("developer", "mid " * 200), ("user", "z"),
    ]),
    "strange characters": ("openai_chat", [
        ("user", "\x00\x01\u2028\ufeff" * 50), {"role": "assistant", "content": None, "tool_calls": [call("a", '{"a":"\\ud800"}')]},
        {"role": "tool", "tool_call_id": "a", "content": "\x1b[31m\r\n" * 500 + "é" * 999 + "\U0001f600" * 500},
        ("assistant", "x"),
    ]),
}  # fmt: skip


def hostile(name, canonical):
    shape, items = HOSTILE[name]
    history = [{"role": item[0], "content": item[1]} if isinstance(item, tuple) else item for item in items]
    if not canonical:
        return shape, history
    window = ContextWindow(10**9, shape=shape)
    window.append(*copy.deepcopy(history))
    return "canonical", [Message.from_json(json.dumps(message)) for message in json.loads(window.to_json())["given"]]


@pytest.mark.parametrize("canonical", [False, True])
@pytest.mark.parametrize("name", HOSTILE)
def test_c26_hostile_histories_hold_every_promise(name, canonical):
    shape, history = hostile(name, canonical)
    before = copy.deepcopy(history)
    for model in ("gpt-4o", "claude-sonnet-4-5"):
        total = estimate(history, model=model, shape=shape)
        for share in (0, 0.05, 0.3, 0.6, 0.9, 1, 2):
            for pin in ([], list(range(len(history)))):
                budget = int(total * share)
                try:
                    done = compress(history, budget, {"pin": pin}, model=model, shape=shape)
                except UsageError as error:
                    too_small(error)
                    continue
                assert history == before
                out = done.messages
                if out:
                    assert count_tokens(out, model=model, upper_bound=True) <= done.report.after <= budget
                again = compress(out, budget, model=model, shape=shape)
                assert again.report.repairs == []
                if not pin:
                    assert again.messages == out
                for entry in done.report.entries:
                    if entry.fate == "kept":
                        assert any(message is history[entry.message] for message in out)
                        continue
                    # Exactly what left comes back.
                    message = history[entry.message]
                    kept = done.archive.get(entry.handle)
                    assert kept is not None
                    if canonical:
                        assert kept.to_json() == message.to_json()
                    else:
                        assert json.loads(kept.to_wire(shape)) == message
                    done.archive.recall(entry.handle)


def test_c26_ids_that_a_provider_refuses_become_ones_it_takes():
    shape, history = hostile("ids that the provider refuses", canonical=False)
    done = compress(history, 100_000, shape=shape)
    pairs_are_whole(done.messages, shape)
    ids = [block["id"] for m in done.messages for block in m["content"] if "id" in block]
    assert len(set(ids)) == 3
    assert all(id.replace("_", "").replace("-", "").isalnum() for id in ids)
    assert {at for at, _ in done.report.repairs} == {1, 2, 3}


def test_c26_calls_of_no_function_keep_their_results():
    shape, history = hostile("calls of no function", canonical=False)
    assert compress(history, 100_000, shape=shape).messages == history
    unanswered = [message for message in history if message.get("tool_call_id") != "k"]
    done = compress(unanswered, 100_000, shape=shape)
    assert {message.get("tool_call_id") for message in done.messages} == {None, "k", "f"}


def test_c26_half_characters_are_refused():
    for history in (
        [{"role": "user", "content": "\ud800"}],
        [{"role": "user", "content": [{"type": "text", "text": "\udfffx"}]}],
    ):
        with pytest.raises(UsageError) as caught:
            compress(history, 100)
        assert caught.value.code == "invalid_text"


GO = {"role": "user", "content": "go"}
CIRCLE: dict = {"role": "user", "content": "x"}
CIRCLE["self"] = CIRCLE
DEEP: dict = {}
for _ in range(5_000):
    DEEP = {"a": DEEP}
READ = {"role": "assistant", "content": [use("a")]}
ASKED = {"role": "assistant", "content": None, "tool_calls": [call("a")]}
SENSELESS = {
    "bytes": [GO, {"role": "user", "content": b"x"}],
    "bytes in a part": [GO, {"role": "user", "content": [{"type": "text", "text": b"x"}]}],
    "a circle": [GO, CIRCLE],
    "not a number": [GO, {"role": "assistant", "content": [use("a", x=float("nan"))]}],
    "nested too deeply": [GO, {"role": "assistant", "content": [use("a", x=DEEP)]}],
    "a key that is no text": [GO, {1: 2, "role": "user", "content": "x"}],
    "such a key in a part": [GO, {"role": "user", "content": [{"type": "text", "text": "x", 3: 4}]}],
    "half of a character": [GO, {"role": "user", "content": "\ud800"}],
    "nothing": [GO, None],
    "a text": [GO, "x"],
    "no role": [GO, {"content": "x"}],
    "a role of no kind": [GO, {"role": 3, "content": "x"}],
    "a set": [GO, {"role": "user", "content": {"a"}}],
    "a Message among dicts": [GO, Message.user("x")],
    "arguments that are no JSON": [Message.user("x"), Message("assistant", (ToolUse("a", "f", "{nope"),))],
    "a block of Anthropic's in Chat Completions": [GO, {"role": "user", "content": [result("a")]}, ASKED],
    "a tool's message among Anthropic's": [READ, {"role": "tool", "tool_call_id": "a", "content": "x"}],
    "tool calls among Anthropic's": [READ, ASKED],
}


@pytest.mark.parametrize("name", SENSELESS)
def test_c26_what_makes_no_sense_is_named(name):
    history = SENSELESS[name]
    shape = "openai_chat" if "in Chat Completions" in name else None
    with pytest.raises(UsageError, match="message 1"):
        compress(history, 1_000, shape=shape)
    with pytest.raises(UsageError, match="message 1"):
        estimate(history, shape=shape)


@pytest.mark.parametrize("budget", [-1, 1.5, True, None, "10", float("nan"), float("inf")])
def test_c26_what_is_no_budget_is_refused(budget):
    for make in (lambda: compress([GO], budget), lambda: ContextWindow(budget)):
        with pytest.raises(UsageError, match="a budget is a number of tokens"):
            make()


def test_c26_budgets_of_nothing_and_of_more_than_there_is():
    with pytest.raises(UsageError, match="message 0 .the goal"):
        compress([GO], 0)
    assert compress([GO], 10**40).messages == [GO]
    for marks in ({"high": float("nan")}, {"low": -1}, {"high": 9}, {"low": "x"}):
        with pytest.raises(UsageError, match="share of the budget"):
            ContextWindow(100, **marks)


@pytest.mark.parametrize("shape", SHAPES)
@fits
@given(parts=parts)
def test_c26_plain_messages_are_read_as_those_that_go_through_text(shape, parts):
    class Odd(dict):
        """A dict that is not read as it is."""

    class OddMessage(Message):
        """A message that is not, either."""

    history = shaped(parts, shape)
    if shape == "canonical":
        other = [OddMessage(m.role, m.content, m.form, m.extra) for m in history]
    else:
        other = [Odd(message) for message in history]
    budget = estimate(history, shape=shape) // 2
    assert estimate(other, shape=shape) // 2 == budget

    def told(messages):
        try:
            done = compress(messages, budget, shape=shape)
        except UsageError as error:
            return str(error)
        return done.report.to_json(), done.archive.to_json()

    assert told(history) == told(other)


def test_c26_a_report_can_be_copied_and_saved():
    report = compress(long_history("anthropic"), 2_000).report
    assert copy.deepcopy(report) == report == pickle.loads(pickle.dumps(report))  # noqa: S301 - our own
    assert report.entries == copy.copy(report).entries
    assert report != compress(long_history("anthropic"), 1_500).report
    assert str(report.before) in repr(report)


def test_the_examples_of_the_page_run():
    page = (Path(__file__).parents[2] / "docs" / "context.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(examples) == 4
    for example in examples:
        names: dict = {}
        exec(example, names)  # noqa: S102 - the page's own code
        if "fitted" in names:
            assert names["fitted"].report.after <= names["budget"]
            assert "answer_3 = 21" in names["fitted"].archive.recall(find="answer_3 =")
        elif "request" in names:
            assert names["request"].system.startswith("Be brief.")
        elif "agent" in names:
            assert names["agent"].model == "openai:gpt-4o"
        else:
            assert names["window"].messages


def test_c26_others_run_while_a_long_history_is_compacted():
    window = ContextWindow(100_000, model="claude-sonnet-4-5")
    window.append(Message.user("Read all the files."))
    for n in range(1_500):
        lines = [f"    let value_{n * 31 + at} = step_{at % 7}(input, {n * at});" for at in range(40)]
        window.append(Message.assistant(ToolUse.of(f"c{n}", "read", {"n": n})))
        window.append(Message.user(ToolResult(f"c{n}", "read", (Text("\n".join(lines)),))))
    ticks, done = [], threading.Event()

    def tick() -> None:
        while not done.wait(0.0005):
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        began = time.perf_counter()
        assert window.settle()
        ended = time.perf_counter()
    finally:
        done.set()
        thread.join()
    assert any(began < tick < ended for tick in ticks)


@pytest.mark.parametrize("content", [5, 1.5, True, {"a": 1}])
@pytest.mark.parametrize("shape", ["anthropic", "openai_chat"])
def test_c26_content_that_is_neither_text_nor_a_list_is_named(content: Any, shape: str) -> None:
    history = [{"role": "user", "content": "hi"}, {"role": "user", "content": content}]
    with pytest.raises(UsageError, match="message 1: its content is") as caught:
        compress(history, 1_000, shape=shape)
    assert caught.value.code == "invalid_message"
    assert caught.value.hint == "give text, or a list of parts"


@pytest.mark.parametrize("count", [-1, 1.5, "3", None, 10**30])
def test_c26_what_is_no_count_is_named(count: Any) -> None:
    history = [{"role": "user", "content": "hi there " * 50}] * 20
    with pytest.raises(UsageError, match="count gave") as caught:
        compress(history, 100, count=lambda _: count)
    assert caught.value.code == "invalid_count"


def test_c26_a_low_mark_above_the_high_one_is_named() -> None:
    with pytest.raises(UsageError, match=r"low is 0\.9 and high is 0\.5"):
        ContextWindow(1_000, "gpt-4o", low=0.9, high=0.5)


@pytest.mark.parametrize("policy", ["x", 3, [1], {"pin": 3}, {"keep_last": -1}, {"weights": {"sytem": 1}}])
def test_c26_what_is_no_policy_is_named(policy: Any) -> None:
    history = [{"role": "user", "content": "hi"}]
    for work in (
        lambda: compress(history, 100, policy),
        lambda: ContextWindow(100, policy=policy),
        lambda: assemble(history, budget=100, policy=policy),
    ):
        with pytest.raises(UsageError) as caught:
            work()
        assert caught.value.code == "invalid_policy"


def test_c26_the_report_says_where_a_message_stands_behind_results_that_were_added() -> None:
    history = [
        GO,
        {"role": "assistant", "content": None, "tool_calls": [call("a"), call("b"), call("c")]},
        {"role": "user", "content": "and now?"},
        {"role": "assistant", "content": "this"},
    ]
    done = compress(history, 1_000, shape="openai_chat")
    assert [message["role"] for message in done.messages] == ["user", "assistant", *["tool"] * 3, "user", "assistant"]
    assert [entry.at for entry in done.report.entries] == [0, 1, 5, 6]
    for entry in done.report.entries:
        assert entry.at is not None
        assert done.messages[entry.at] is history[entry.message]
    assert done.report.first_changed == 2
    assert done.expand() == history
