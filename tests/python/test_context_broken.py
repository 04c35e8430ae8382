"""Histories that a provider refuses, in a window before any compaction; and instructions where Anthropic refuses them."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from loopwright import Message, UsageError
from loopwright.context import ContextWindow, compress
from loopwright.messages import Text, ToolResult, ToolUse
from loopwright.tokens import count_tokens

GO = {"role": "user", "content": "go"}
END = {"role": "user", "content": "end"}
TERSE = {"role": "system", "content": "Be terse."}


def use(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "f", "input": {}} for id in ids]}


def result(id: str, content: Any = "out") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content}


def gave(*ids: str, words: str = "") -> dict[str, Any]:
    return {"role": "user", "content": [*map(result, ids), *([{"type": "text", "text": words}] if words else [])]}


def said(text: Any, role: str = "assistant") -> dict[str, Any]:
    return {"role": role, "content": text}


def asked(*ids: str) -> dict[str, Any]:
    calls = [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def told(id: str, content: str = "out") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


def roles(messages: list[dict[str, Any]], *, ending: bool = False) -> str:
    """What stands, a letter for each message, where an API would take it; uses at the very end may wait."""
    letters, waiting, seen = "", [], set()
    for message in messages:
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        assert blocks or str(content or "").strip() or message.get("tool_calls"), "an empty message"
        ids = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if message["role"] == "tool":
            ids = [message["tool_call_id"]]
        kinds = [block["type"] == "tool_result" for block in blocks]
        assert kinds == sorted(kinds, reverse=True), "results stand behind words"
        for id in ids:
            assert id in waiting, f"a result of {id} without a use"
            waiting.remove(id)
        if message["role"] != "tool" and not (kinds and all(kinds)):
            assert not waiting, f"{waiting} wait while others speak"
        for block in [*blocks, *(message.get("tool_calls") or ())]:
            if block["type"] in {"tool_use", "function"}:
                assert block["id"] not in seen, "an id twice"
                seen.add(block["id"])
                waiting.append(block["id"])
        letters += message["role"][0]
    assert not waiting or ending, f"{waiting} wait"
    return letters


ANTHROPIC = {
    "a result of nothing": ([GO, said("hi"), gave("z"), END], {2: "answers no tool use"}),
    "a result of nothing with words": ([GO, said("hi"), gave("z", words="so"), END], {2: "answers no tool use"}),
    "no result": ([GO, use("a"), END], {1: "had no result"}),
    "one result less": ([GO, use("a", "b"), gave("b"), END], {1: "had no result"}),
    "one result less and words": ([GO, use("a", "b"), gave("b", words="and"), said("ok")], {1: "had no result"}),
    "no result, and the model goes on": ([GO, use("a"), said("well"), END], {1: "had no result"}),
    "a late result": ([GO, use("a"), END, gave("a"), said("ok")], {1: "had no result", 3: "came late"}),
    "a result twice": ([GO, use("a"), gave("a"), gave("a"), said("ok")], {3: "has its result"}),
    "an id twice, and a result of nothing": (
        [GO, use("a"), gave("a"), use("a"), gave("a"), gave("z"), END],
        {3: "was used before", 5: "answers no tool use"},
    ),
    "an empty message": ([GO, said(""), END], {1: "empty"}),
    "the model first": ([said("hi"), GO], {0: "spoke first"}),
    "blank text": ([GO, said([{"type": "text", "text": " "}, {"type": "text", "text": "so"}]), END], {1: "blank text"}),
    "words first": (
        [GO, use("a"), {"role": "user", "content": [{"type": "text", "text": "so"}, result("a")]}, said("ok")],
        {2: "stand before its text"},
    ),
}
CHAT = {
    "a result of nothing": ([GO, said("hi"), told("z"), END], {2: "answers no tool use"}),
    "no result": ([GO, asked("a", "b"), told("b"), END], {1: "had no result"}),
    "a late result": ([GO, asked("a"), END, told("a"), said("ok")], {1: "had no result", 3: "came late"}),
    "a result twice": ([GO, asked("a"), told("a"), told("a"), said("ok")], {3: "has its result"}),
    "an empty message": ([GO, said(""), END], {1: "empty"}),
    "a list of no calls": ([GO, {**said("hi"), "tool_calls": []}, END], {1: "empty list"}),
}


@pytest.mark.parametrize(
    ("shape", "history", "repairs"),
    [
        *(pytest.param("anthropic", *case, id=f"anthropic, {name}") for name, case in ANTHROPIC.items()),
        *(pytest.param("openai_chat", *case, id=f"openai_chat, {name}") for name, case in CHAT.items()),
    ],
)
def test_c26_a_window_of_a_broken_history_is_one_that_a_provider_takes(shape, history, repairs):
    before = copy.deepcopy(history)
    window = ContextWindow(10_000, "gpt-4o", shape=shape)
    seen: list[str] = []
    for at, message in enumerate(history):
        window.append(message)
        view = window.messages
        roles(view, ending=at + 1 < len(history))
        written = [json.dumps(each) for each in view]
        assert written[: len(seen)] == seen, "what stood has changed"
        seen = written
    assert window.compactions == 0
    assert history == before
    found = dict(window.repairs)
    assert found.keys() == repairs.keys()
    for at, what in repairs.items():
        assert what in found[at]
    assert window.tokens >= count_tokens(window.messages, model="gpt-4o", upper_bound=True)
    # Nothing of it is lost.
    here = json.dumps([seen, [json.loads(window.archive.get(handle).to_json()) for handle in window.archive.handles]])
    assert here.count('"out') >= json.dumps(history).count('"out"')
    # Saved and loaded, and replayed, it is the same.
    again = ContextWindow.from_json(window.to_json(), "gpt-4o", shape=shape)
    assert again.messages == window.messages
    assert again.repairs == window.repairs
    replayed = ContextWindow(10_000, "gpt-4o", shape=shape)
    replayed.replay(history)
    assert replayed.messages == window.messages
    # A compaction puts it right from the originals.
    window.compact()
    assert window.messages == compress(history, 6_000, model="gpt-4o", shape=shape).messages


def test_c26_what_came_since_a_compaction_is_put_right_too():
    for shape, call, back in (("anthropic", use, gave), ("openai_chat", asked, told)):
        window = ContextWindow(4_000, "gpt-4o", shape=shape)
        window.append(GO)
        seen, compactions = [], 0
        for at in range(300):
            window.append(call(f"c{at}"))
            if at % 3:
                window.append(back(f"c{at}"))
            if at % 7 == 0:
                window.append(said(f"words {at} " * 20, "user"), back(f"c{at}"), back("of nothing"))
            view = window.messages
            assert count_tokens(view, model="gpt-4o", upper_bound=True) <= min(window.tokens, 4_000)
            roles(view, ending=True)
            written = [json.dumps(each) for each in view]
            if window.compactions == compactions:
                assert written[: len(seen)] == seen
            seen, compactions = written, window.compactions
        assert compactions > 2


def test_c26_a_window_names_what_makes_no_sense():
    window = ContextWindow(10_000)
    window.append(Message.user("go"))
    with pytest.raises(UsageError, match="message 1 .*only a model's message may hold a tool use"):
        window.append(Message.user(ToolUse.of("a", "f", {})))
    assert len(window) == 1
    with pytest.raises(UsageError, match="message 0"):
        ContextWindow(10_000).replay([Message.user(ToolUse.of("a", "f", {}))])


@pytest.mark.parametrize("role", ["system", "developer"])
@pytest.mark.parametrize("model", [None, "claude-sonnet-4-5", "claude-opus-4-8"])
def test_c26_instructions_that_anthropic_refuses_are_the_users_and_said(role, model):
    """Later ones are the user's; models since Opus 4.8 take `system` directly behind what a user said."""
    told = {**TERSE, "role": role}
    history = [GO, said("hi"), told, END, told, said("ok")]
    before = copy.deepcopy(history)
    done = compress(history, 10_000, model=model, shape="anthropic")
    takes = model == "claude-opus-4-8" and role == "system"
    changed = {2} if takes else {2, 4}
    theirs = {**TERSE, "role": "user"}
    assert done.messages == [theirs if at in changed else message for at, message in enumerate(history)]
    assert {at for at, what in done.report.repairs if "instructions" in what} == changed
    assert history == before == done.expand()
    again = compress(done.messages, 10_000, model=model, shape="anthropic")
    assert (again.messages, again.report.repairs) == (done.messages, [])
    window = ContextWindow(10_000, model, shape="anthropic")
    window.append(*history)
    assert window.messages == done.messages
    assert {at for at, _ in window.repairs} == changed
    window.compact()
    assert window.messages == done.messages


def test_c26_instructions_outlast_what_stands_around_them():
    """However small the budget: and where their neighbours left, they stand where the model takes them."""
    long = "a line of some length to be left out\n" * 60
    history = [GO]
    for at in range(12):
        history += [said(f"look {at} {long}", "user"), {**TERSE, "content": f"Rule {at}."}, said(f"seen {at} {long}")]
    history += [said("Now finish.", "user")]
    for model in ("claude-sonnet-4-5", "claude-opus-4-8"):
        total = compress(history, 1 << 40, model=model, shape="anthropic").report.before
        for share in (0.5, 0.1, 0.04):
            done = compress(history, int(total * share), model=model, shape="anthropic")
            here = {
                message["content"]: message["role"] for message in done.messages if isinstance(message["content"], str)
            }
            assert all(f"Rule {at}." in here for at in range(12))
            found = [message["role"] for message in done.messages]
            for at, each in enumerate(found):
                if each == "system":
                    assert model == "claude-opus-4-8"
                    assert (found[at - 1], found[at + 1]) == ("user", "assistant")
            assert done.expand() == history


def test_c26_instructions_that_stand_first_are_let_be():
    history = [TERSE, GO, said("hi"), END]
    done = compress(history, 10_000, shape="anthropic")
    assert (done.messages, done.report.repairs) == (history, [])
    # In the other shapes they may stand anywhere.
    history = [GO, said("hi"), TERSE, END]
    assert compress(history, 10_000, shape="openai_chat").messages == history
    ours = [Message.user("go"), Message.assistant("hi"), Message("system", ("Be terse.",)), Message.user("end")]
    assert compress(ours, 10_000).messages == ours
    # Whoever knows better says so.
    history = [GO, TERSE, said("hi"), END]
    for takes in (True, False):
        done = compress(history, 10_000, shape="anthropic", policy={"instructions_inside": takes})
        assert (done.messages == history) is takes


def test_c26_what_a_compaction_said_to_have_no_result_is_not_said_twice():
    """A model's uses of which one never got its result, when the view is compacted: in all that comes after, too."""
    for shape, call, back in (("anthropic", use, gave), ("openai_chat", asked, told)):
        for late in (False, True):
            window = ContextWindow(700, "gpt-4o", shape=shape)
            window.append(GO)
            compactions = 0
            for at in range(40):
                window.append(call(f"a{at}", f"b{at}"), back(f"b{at}"), said("words " * at, "user") if at % 3 else END)
                roles(window.messages)
                window.append(said("so " * 30), call(f"c{at}", f"d{at}"), back(f"d{at}"))
                seen = [json.dumps(message) for message in window.messages]
                roles(window.messages, ending=True)
                compactions = window.compactions
                again = ContextWindow.from_json(window.to_json(), "gpt-4o", shape=shape)
                for each in (window, again):
                    each.append(*([back(f"c{at}")] if late else []), said("and on"))
                    roles(each.messages)
                assert again.messages == window.messages
                if window.compactions == compactions:
                    assert [json.dumps(message) for message in window.messages][: len(seen)] == seen
            assert compactions > 3


def test_c26_a_use_that_waits_again_when_a_late_result_has_moved_gets_its_own():
    """A late result says that the last use has none; a compaction puts it to its use, so that the last use waits again."""
    for shape, call, back in (("anthropic", use, gave), ("openai_chat", asked, told)):
        history = [GO, call("a"), END, call("b"), back("a"), back("b"), said("so"), END]
        window = ContextWindow(10_000, "gpt-4o", shape=shape)
        window.append(*history[:5])
        assert [(at, "no result" in what) for at, what in window.repairs] == [(1, True), (3, True), (4, False)]
        window.compact()
        assert roles(window.messages, ending=True).endswith("a")
        assert [at for at, _ in window.repairs] == [4]
        window.append(*history[5:])
        roles(window.messages)
        assert window.messages == compress(history, 10_000, model="gpt-4o", shape=shape).messages
        assert [at for at, _ in window.repairs] == [4]
        assert json.dumps(window.messages).count('"out"') == 2


def test_c26_an_answer_that_ends_in_white_space_may_be_the_last_of_a_request():
    """Anthropic refuses to go on from it; it is trimmed when it comes, and stays so, as a cache may hold it."""
    window = ContextWindow(10_000, "claude-sonnet-4-5", shape="anthropic")
    window.append(GO, said("I think\n\n"))
    assert window.messages == [GO, said("I think")]
    window.append(END, said([{"type": "text", "text": "Well. "}]))
    assert window.messages == [GO, said("I think"), END, said([{"type": "text", "text": "Well."}])]
    assert [(at, "white space" in what) for at, what in window.repairs] == [(1, True), (3, True)]
    window.compact()
    history = [GO, said("I think\n\n"), END, said([{"type": "text", "text": "Well. "}])]
    assert window.messages == compress(history, 6_000, model="claude-sonnet-4-5", shape="anthropic").messages
    for shape in ("openai_chat", "canonical"):
        other = ContextWindow(10_000, shape=shape)
        each = [Message.user("go"), Message.assistant("I think\n")] if shape == "canonical" else [GO, said("I think\n")]
        other.append(*each)
        assert other.messages == each


def test_c26_blank_text_beside_results_leaves_with_them():
    """Words beside results stay when the results leave; blank text is no words, and would stand as an empty message."""
    back = Message.user(ToolResult("a", "f", (Text("so it was\n" * 400),)), Text(" "))
    history = [Message.user("go"), Message.assistant(ToolUse.of("a", "f", {})), back]
    for at in range(3):
        history += [Message.assistant(ToolUse.of(f"c{at}", "f", {})), Message.user(ToolResult(f"c{at}", "f", ()))]
    for budget in range(60, 400, 20):
        for message in compress([*history, Message.user("end")], budget).messages:
            assert any(not isinstance(block, Text) or block.text.strip() for block in message.content)


def test_c26_instructions_behind_a_use_without_a_result_are_the_users_too():
    window = ContextWindow(10_000, shape="anthropic")
    window.append(GO, use("a"), TERSE, said("ok"))
    assert [message["role"] for message in window.messages] == ["user", "assistant", "user", "user", "assistant"]
    roles(window.messages)
