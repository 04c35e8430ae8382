"""A `TokenCounter` counts wherever `count=` is taken; and a long history that is read while others count it."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from loopwright import Message, UsageError
from loopwright.context import ContextWindow, assemble, compress, estimate
from loopwright.messages import Text, ToolResult, ToolUse
from loopwright.tokens import TokenCounter

MODELS = (None, "gpt-4o", "gpt-4", "claude-sonnet-4-5", "a-model-nobody-knows")
SHAPES = ("canonical", "anthropic", "openai_chat")
TOOLS = [{"name": "read", "description": "Reads a file.", "input_schema": {"type": "object", "properties": {}}}]


def history(shape: str, exchanges: int = 40, lines: int = 30) -> list[Any]:
    """Reads of files with numbers, floats, deep members and characters of all lengths in their arguments."""
    out: list[Any] = [Message.user("Fix src/main.rs.") if shape == "canonical" else say("user", "Fix src/main.rs.")]
    for at in range(exchanges):
        id = f"call_{at}"
        given = {
            "path": f"src/fil\u00e9_{at}.rs",
            "at": at,
            "of": [at / 3, -0.0, 1e22, None, True, {"\u65e5": '"\\\n\x00'}],
        }
        text = "".join(f"    let value_{at * 7 + n} = compute_{n % 13}(input, {n});\n" for n in range(lines))
        if shape == "canonical":
            out.append(Message.assistant(Text("Let me look."), ToolUse.of(id, "read", given)))
            out.append(Message.user(ToolResult(id, "read", (Text(text),))))
        elif shape == "anthropic":
            use = {"type": "tool_use", "id": id, "name": "read", "input": given}
            out.append(say("assistant", [{"type": "text", "text": "Let me look."}, use]))
            out.append(say("user", [{"type": "tool_result", "tool_use_id": id, "content": text}]))
        else:
            call = {"id": id, "type": "function", "function": {"name": "read", "arguments": json.dumps(given)}}
            out.append({**say("assistant", "Let me look."), "tool_calls": [call]})
            out.append({"role": "tool", "tool_call_id": id, "content": text})
    return out


def say(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("shape", SHAPES)
def test_c26_a_token_counter_counts_as_its_model_does(shape: str, model: str | None) -> None:
    given, counter = history(shape), TokenCounter(model)
    total = estimate(given, model=model, tools=TOOLS)
    # What it learned from reports is a guess about requests of one kind, and no bound.
    counter.learn(counter.count(given), 2 * total)
    ratios = counter.ratios
    assert estimate(given, counter, tools=TOOLS) == total
    for budget in (total, total // 2, total // 4):
        by_model = compress(given, budget, model=model, tools=TOOLS)
        by_counter = compress(given, budget, count=counter, tools=TOOLS)
        assert by_counter.messages == by_model.messages
        assert by_counter.report == by_model.report
        assert by_counter.archive.to_json() == by_model.archive.to_json()
    put = [
        assemble(given, goal="Go.", budget=total // 2, shape=shape, **by)
        for by in ({"model": model}, {"count": counter})
    ]
    assert put[0].messages == put[1].messages
    windows = [ContextWindow(total // 2, model, shape=shape), ContextWindow(total // 2, shape=shape, count=counter)]
    for message in given:
        for window in windows:
            window.append(message)
    assert windows[0].messages == windows[1].messages
    assert windows[0].report == windows[1].report
    windows[1].reported(windows[1].tokens)
    loaded = ContextWindow.from_json(windows[1].to_json(), shape=shape, count=counter)
    assert (loaded.messages, loaded.expected) == (windows[1].messages, windows[1].expected)
    # A window learns for itself.
    assert counter.ratios == ratios


def test_c26_a_counter_may_be_shared_by_threads() -> None:
    given, counter = history("anthropic", 400, 20), TokenCounter("gpt-4o")
    want = compress(given, 20_000, model="gpt-4o").report
    found: list[bool] = []

    def work() -> None:
        for _ in range(5):
            found.append(compress(given, 20_000, count=counter).report == want)
            found.append(counter.ratio == 1.0 and counter.count("some words").tokens == 2)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 60


@pytest.mark.parametrize("shape", SHAPES)
def test_c26_a_long_history_is_planned_as_one_that_came_message_by_message(shape: str) -> None:
    given = history(shape, 600, 20)
    for model in ("gpt-4o", "claude-sonnet-4-5"):
        window = ContextWindow(60_000, model, shape=shape, policy={"attention": 300})
        window.append(*given)
        window.compact()
        assert window.report is not None
        whole = compress(given, window.report.budget, {"attention": 300}, model=model, shape=shape)
        assert whole.report == window.report
        assert whole.messages == window.messages
        assert whole.expand() == given


@pytest.mark.parametrize("shape", SHAPES)
def test_c26_what_is_wrong_in_a_long_history_is_named(shape: str) -> None:
    counter = TokenCounter("gpt-4o")
    for wrong in (say("user", 7), say("nobody", "hi"), 5, say("user", "half \ud800"), Message.user("other shape")):
        if shape == "canonical" and isinstance(wrong, Message):
            continue
        given = history(shape, 600, 20)
        given[-3] = wrong
        with pytest.raises(UsageError, match=f"message {len(given) - 3}"):
            compress(given, 20_000, count=counter, shape=shape)
    given = history(shape, 600, 20)
    assert compress(given, 20_000, count=counter, shape=shape).report.after <= 20_000


A_USE = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
A_CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("shape", "message", "what"),
    [
        ("anthropic", say("assistant", [{**A_USE, "id": None}]), "tool_use block has no id"),
        ("anthropic", say("assistant", [{**A_USE, "id": 3}]), "tool_use block has no id"),
        ("anthropic", say("assistant", [{**A_USE, "name": None}]), "tool_use block has no name"),
        ("anthropic", say("user", [{"type": "tool_result", "content": "x"}]), "tool_result block has no tool_use_id"),
        ("anthropic", say("user", [{"type": "text", "text": None}]), "text block has no text"),
        ("anthropic", say("user", [{"text": "x"}]), "has no type"),
        ("anthropic", say("user", [{"type": 3}]), "has no type"),
        ("anthropic", say("user", ["a", "b"]), 'is "a", and no dict'),
        ("openai_chat", say("user", ["a", "b"]), 'is "a", and no dict'),
        ("openai_chat", say("user", [{"type": "text", "text": None}]), "text block has no text"),
        ("openai_chat", {**say("assistant", "x"), "tool_calls": "abc"}, 'tool_calls are "abc"'),
        ("openai_chat", {**say("assistant", "x"), "tool_calls": [None]}, "is null, and no dict"),
        ("openai_chat", {**say("assistant", None), "tool_calls": [A_CALL, 7]}, "is 7, and no dict"),
    ],
)
def test_c26_what_no_provider_takes_is_named(shape: str, message: dict[str, Any], what: str) -> None:
    given = [say("user", "go"), message, say("user", "and?")]
    with pytest.raises(UsageError, match=f"message 1: .*{what}") as caught:
        compress(given, 10_000, shape=shape)
    assert caught.value.code == "invalid_message"
    window = ContextWindow(10_000, shape=shape)
    window.append(given[0])
    with pytest.raises(UsageError, match="message 1: "):
        window.append(given[1])
    assert len(window.messages) == 1


def test_c26_arguments_of_no_such_kind_are_named() -> None:
    given: list[Any] = [say("user", "go")]
    wrong: Any
    for wrong, what in (("abc", "tools are"), (3, "tools are"), ([1], "a tool is"), (["read"], "a tool is")):
        for call in (compress, assemble):
            with pytest.raises(UsageError, match=what):
                call(given, budget=100, tools=wrong)
        with pytest.raises(UsageError, match=what):
            ContextWindow(100, tools=wrong)
    nothing: Any = None
    assert compress(given, 100, tools=nothing).messages == given
    wrong = 3
    for call in (compress, assemble):
        with pytest.raises(UsageError, match="a model is"):
            call(given, budget=100, model=wrong)
        with pytest.raises(UsageError, match="archive is"):
            call(given, budget=100, archive=wrong)
    with pytest.raises(UsageError, match="a model is"):
        estimate(given, model=wrong)
    with pytest.raises(UsageError, match="message 1 is a Message; this history is one of dicts"):
        compress([*given, Message.user("y")], 100)
