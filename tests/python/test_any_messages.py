"""Histories in the form of any provider, as plain dicts, wherever messages are taken."""

from __future__ import annotations

from typing import Any

import pytest
from loopwright import Agent, Message, Messages, UsageError
from loopwright.context import ContextWindow, compress, estimate
from loopwright.messages import Image
from loopwright.testing import ScriptedModel

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "How many?"}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "count", "arguments": '{"of":"bolts"}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "120"},
    {"role": "assistant", "content": "120."},
]
ANTHROPIC = [
    {"role": "user", "content": "How many?"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "count", "input": {"of": "bolts"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "120"}]},
    {"role": "assistant", "content": "120."},
]
RESPONSES = [
    {"role": "user", "content": "How many?"},
    {"type": "function_call", "call_id": "c1", "name": "count", "arguments": '{"of":"bolts"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "120"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "120.", "annotations": []}]},
]
GEMINI = [
    {"role": "user", "parts": [{"text": "How many?"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "count", "args": {"of": "bolts"}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "count", "response": {"output": "120"}}}]},
    {"role": "model", "parts": [{"text": "120."}]},
]


@pytest.mark.parametrize(
    "history", [CHAT, ANTHROPIC, RESPONSES, GEMINI], ids=["chat", "anthropic", "responses", "gemini"]
)
def test_a_history_is_read_whoever_wrote_it(history: list[Any]) -> None:
    found = Messages(history)
    said = [message for message in found if message.role != "system"]
    assert [message.role for message in said] == ["user", "assistant", "user", "assistant"]
    assert (said[0].text, said[-1].text) == ("How many?", "120.")
    assert [(use.name, use.arguments) for use in said[1].tool_uses] == [("count", {"of": "bolts"})]
    assert [result.text for result in said[2].tool_results] == ["120"]
    assert said[1].tool_uses[0].call_id == said[2].tool_results[0].call_id
    assert Messages(found.to_dicts()) == found
    model = ScriptedModel(["As I said."])
    assert Agent(model).run_sync("Sure?", messages=history).output == "As I said."
    assert len(model.requests[0].messages) == len(found) + 1


def test_n4_the_plainest_history_of_all() -> None:
    history = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]
    assert [message.text for message in Messages(history)] == ["hi", "Hello."]
    mixed = Messages([Message.user("hi"), {"role": "assistant", "content": "Hello."}, Message.user("more")])
    assert [message.text for message in mixed] == ["hi", "Hello.", "more"]


def test_our_own_dicts_with_a_plain_one_behind_them_lose_nothing() -> None:
    before = Messages(CHAT).to_dicts()
    found = Messages([*before, {"role": "user", "content": "plain"}])
    assert found[:-1] == list(Messages(CHAT)) and found[-1].text == "plain"


def test_pictures_are_read_in_each_form() -> None:
    data = "iVBORw0KGgo="
    ours = Messages([Message("user", (Image.from_bytes(b"\x89PNG", "image/png"), "What is it?"))]).to_dicts()
    anthropic = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    chat = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
    answer = {"role": "assistant", "content": "A dot."}
    for first in (*ours, *({"role": "user", "content": [each]} for each in (anthropic, chat))):
        found = Messages([first, answer])
        assert type(found[0].content[0]).__name__ == "Image" and found[1].text == "A dot."


def test_an_answer_of_anthropic_may_stand_in_its_history_whole() -> None:
    answer = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [{"type": "text", "text": "Hello.", "citations": None}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    assert [message.text for message in Messages([{"role": "user", "content": "hi"}, answer])] == ["hi", "Hello."]


@pytest.mark.parametrize(
    ("history", "says"),
    [
        ([{"role": "user", "contnet": "hi"}], "message 0 has a member 'contnet'.*did you mean content"),
        (
            [*CHAT[:2], {"role": "user", "content": "x", "tool_cals": []}],
            "message 2 has a member 'tool_cals'.*tool_calls",
        ),
        ([{"role": "user", "parts": [{"text": "x"}], "content": "x"}], "message 0 has a member 'content'"),
        ([{"role": "user", "content": "x"}, {"role": "model", "parts": [{"text": "x"}]}], "message 0 has a member"),
        ([CHAT[2], ANTHROPIC[2]], "message 0 is in the form of Chat Completions, message 1 in that of Anthropic"),
        ([GEMINI[0], RESPONSES[1]], "message 0 is in the form of Gemini, message 1 in that of Responses"),
        ([{"content": "hi"}], "message 0 has no role"),
        ([{}], "message 0 has no role"),
        ([{"type": "human", "content": "hi"}], "message 0 has"),
        ([{"role": "user", "content": ["x"]}], "message 0: block 0 of its content is 'x'"),
        ([{"role": "alien", "content": "hi"}], "unknown role"),
        ([{"role": "user", "content": 3}], "message 0: its content is 3"),
        ([{"role": "user", "content": "hi"}, 3], "hold 3"),
        ({"role": "user", "content": "hi"}, "put it into a list"),
        ("hi", "put it into a list"),
    ],
)
def test_what_no_form_has_is_named_with_its_place(history: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        Messages(history)
    assert caught.value.code == "invalid_messages"
    # Nothing of the reader's own words.
    assert not any(word in str(caught.value) for word in ("expected", "line 1", "serde", "invalid type"))


HI_GEMINI = [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": [{"text": "yes"}]}]
HI_RESPONSES = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "yes"}]},
]
HI = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]


def window_of(history: list[Any]) -> list[Any]:
    window = ContextWindow(10_000)
    window.append(*history)
    return list(window.messages)


def fitted(history: list[Any]) -> list[Any]:
    return compress(history, 10_000).messages


@pytest.mark.parametrize("history", [HI_GEMINI, HI_RESPONSES, HI], ids=["gemini", "responses", "chat"])
@pytest.mark.parametrize("read", [window_of, fitted], ids=["window", "compress"])
def test_c1_no_form_is_read_as_empty_where_a_history_is_made_to_fit(read: Any, history: list[Any]) -> None:
    assert [text_of(message) for message in read(history)] == ["hi", "yes"]
    assert estimate(history) > 4


def text_of(message: Any) -> str:
    return str(message["content"] if isinstance(message, dict) else message.content[0].text)


@pytest.mark.parametrize("shape", [None, "anthropic", "openai_chat", "canonical"])
def test_c1_a_mistyped_key_is_named_with_its_place(shape: str | None) -> None:
    wrong = [{"role": "user", "content": [{"type": "text", "text": "a"}]}, {"role": "user", "contnet": "hi"}]
    window = ContextWindow(10_000, shape=shape or "canonical")
    window.append(wrong[0])
    for read in (lambda: compress(wrong, 100, shape=shape), lambda: estimate(wrong, shape=shape)):
        with pytest.raises(UsageError, match="message 1 has a member 'contnet'") as caught:
            read()
        assert caught.value.code == "invalid_messages"
        assert caught.value.hint == "did you mean content?"
    with pytest.raises(UsageError, match="has a member 'contnet'"):
        window.append(wrong[1])
    assert len(window.messages) == 1


def test_c1_a_mixture_is_named_with_both_forms() -> None:
    tool_use = {"type": "tool_use", "id": "a", "name": "x", "input": {}}
    mixed = [*HI, {"role": "assistant", "content": [tool_use]}, {"role": "tool", "tool_call_id": "a", "content": "x"}]
    for read in (lambda: compress(mixed, 100), lambda: Messages(mixed)):
        with pytest.raises(UsageError, match=r"message 3 is in the form of Chat Completions.*Anthropic") as caught:
            read()
        assert caught.value.code == "invalid_messages"
