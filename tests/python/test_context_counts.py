"""Whoever counts a history gives the same number: `count_tokens`, `TokenCounter`, `compress`, and a `ContextWindow`.

Over histories of all three shapes with what stands in them now and then: long numbers, members in any order, parts
that only a provider knows, contents of nothing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loopwright import Message, UsageError
from loopwright.context import ContextWindow, assemble, compress, estimate
from loopwright.messages import Text, ToolResult, ToolUse
from loopwright.tokens import TokenCounter, count_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

LONG = int("7" * 400)
EXACT = ("gpt-4o", "gpt-4", None)
MODELS = (*EXACT, "claude-sonnet-4-5", "claude-opus-4-8", "gpt-oss-120b", "a-model-nobody-knows")

texts = st.one_of(
    st.sampled_from(("", " ", "\n", "Let me look.", "日本語 é́", "\u2028\x00\x7f", '{"a": [1, 2', "x" * 300)),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=40),
)
numbers = st.one_of(
    st.integers(-(2**70), 2**70),
    st.sampled_from((LONG, -LONG, 2**64, -(2**63) - 1, 10**23)),
    st.floats(allow_nan=False, allow_infinity=False),
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=8,
)
inputs = st.dictionaries(texts, values, max_size=4)
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGP8z4APMOGVHbHSAEEsAROxCnMTAAAAAElFTkSuQmCC"


def reasoning() -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        texts.map(lambda text: {"type": "thinking", "thinking": text, "signature": "c2ln"}),
        st.just({"type": "redacted_thinking", "data": "R" * 60}),
    )


def anthropic_parts() -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        texts.map(lambda text: {"type": "text", "text": text}),
        values.map(lambda value: {"type": "a_future_block", "value": value, "a": 1}),
        st.just({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}),
        st.just({"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}),
        texts.map(lambda text: {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}),
        texts.map(
            lambda text: {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": text},
                "citations": {"enabled": True},
            }
        ),
    )


@st.composite
def anthropic(draw: Callable[[Any], Any]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = [{"role": "user", "content": "Do it."}]
    for at in range(draw(st.integers(0, 4))):
        # Reasoning is the model's alone: whoever puts histories right refuses it elsewhere.
        own = st.one_of(anthropic_parts().filter(lambda part: "document" not in part["type"]), reasoning())
        said = draw(st.lists(own, max_size=2))
        uses = [
            {"type": "tool_use", "id": f"u{at}_{n}", "name": draw(st.sampled_from(("read", "a-b"))), "input": given}
            for n, given in enumerate(draw(st.lists(inputs, max_size=2)))
        ]
        if not uses:
            out.append({"role": "user", "content": draw(st.one_of(texts, st.lists(anthropic_parts(), max_size=3)))})
            continue
        out.append({"role": "assistant", "content": [*said, *uses]})
        found = st.one_of(texts, st.lists(texts.map(lambda text: {"type": "text", "text": text}), max_size=2))
        results = [{"type": "tool_result", "tool_use_id": use["id"], "content": draw(found)} for use in uses]
        if draw(st.booleans()):
            results[0]["is_error"] = True
        if draw(st.booleans()):
            del results[-1]["content"]
        out.append({"role": "user", "content": results})
    return out


@st.composite
def chat(draw: Callable[[Any], Any]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = [{"role": draw(st.sampled_from(("system", "developer"))), "content": "Be brief."}]
    parts = st.one_of(
        texts.map(lambda text: {"type": "text", "text": text}),
        st.just({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}", "detail": "low"}}),
        st.just({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}),
    )
    for at in range(draw(st.integers(0, 4))):
        calls = [
            {
                "id": f"u{at}_{n}",
                "type": "function",
                "function": {"name": "read", "arguments": draw(st.sampled_from((json.dumps(given), "", "{", "null")))},
            }
            for n, given in enumerate(draw(st.lists(inputs, max_size=2)))
        ]
        if not calls:
            one: dict[str, Any] = {"role": "user", "content": draw(st.one_of(texts, st.lists(parts, max_size=3)))}
            if draw(st.booleans()):
                one["name"] = "anna"
            out.append(one)
            continue
        said: dict[str, Any] = {"role": "assistant", "content": draw(st.one_of(st.none(), texts)), "tool_calls": calls}
        extra = draw(st.sampled_from((None, "refusal", "reasoning_content")))
        if extra:
            said[extra] = draw(texts)
        out.append(said)
        out.extend({"role": "tool", "tool_call_id": call["id"], "content": draw(texts)} for call in calls)
    return out


@st.composite
def canonical(draw: Callable[[Any], Any]) -> list[Message]:
    out = [Message.user("Do it.")]
    for at in range(draw(st.integers(0, 4))):
        uses = [ToolUse.of(f"u{at}_{n}", "read", given) for n, given in enumerate(draw(st.lists(inputs, max_size=2)))]
        if not uses:
            out.append(Message.user(draw(texts)))
            continue
        out.append(Message.assistant(Text(draw(texts)), *uses))
        out.append(Message.user(*(ToolResult(use.call_id, "read", (Text(draw(texts)),)) for use in uses)))
    return out


SHAPES: dict[str, st.SearchStrategy[list[Any]]] = {
    "anthropic": anthropic(),
    "openai_chat": chat(),
    "canonical": canonical(),
}


def alone(messages: list[Any]) -> int:
    """How many results share a message with others: on Chat Completions each is one."""
    shared = 0
    for message in messages:
        content = message.to_dict()["content"] if isinstance(message, Message) else message.get("content")
        found = [part for part in content or () if isinstance(part, dict) and part["type"] == "tool_result"]
        shared += max(len(found) - 1, 0)
    return shared


@pytest.mark.parametrize("shape", SHAPES)
def test_c30_whoever_counts_gives_the_same_number(shape: str) -> None:
    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(history=SHAPES[shape], model=st.sampled_from(MODELS))
    def holds(history: list[Any], model: str | None) -> None:
        bound = count_tokens(history, model=model, upper_bound=True)
        found = TokenCounter(model).count(history)
        assert (found.upper_bound, found.tokens) == (bound, count_tokens(history, model=model))
        total = estimate(history, model=model, shape=shape)
        assert compress(history, 10**9, model=model, shape=shape).report.before == total
        window = ContextWindow(10**9, model, shape=shape)
        window.append(*history)
        # What a provider refuses is put right as it comes, so the view may cost something else.
        assert window.tokens == (estimate(window.messages, model=model, shape=shape) if window.repairs else total)
        if found.exact and "a_future_block" not in str(history):
            assert total == bound + 4 * alone(history)
        else:
            assert bound <= total

    holds()


@pytest.mark.parametrize(
    "part", [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, {"type": "redacted_thinking", "data": "R"}]
)
def test_c30_reasoning_of_nobody_is_counted_and_not_put_right(part: dict[str, Any]) -> None:
    history = [{"role": "user", "content": "Do it."}, {"role": "user", "content": [part]}]
    assert count_tokens(history, model="gpt-4o") > count_tokens(history[:1], model="gpt-4o")
    for refuses in (
        lambda: compress(history, 10**9, model="gpt-4o", shape="anthropic"),
        lambda: ContextWindow(10**9, "gpt-4o", shape="anthropic").append(*history),
    ):
        with pytest.raises(UsageError, match="only a model's message may hold reasoning") as refused:
            refuses()
        assert refused.value.code == "invalid_message"


@pytest.mark.parametrize("number", [LONG, -LONG, int("9" * 300), 2**64, 1e22, -0.0], ids=str)
@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5"])
def test_c30_a_number_counts_as_it_is_written(number: float, model: str) -> None:
    use = {"type": "tool_use", "id": "a", "name": "f", "input": {"z": number, "a": 1}}
    history = [{"role": "user", "content": "go"}, {"role": "assistant", "content": [use]}]
    text = json.dumps(use["input"], separators=(",", ":"))
    empty = [history[0], {"role": "assistant", "content": [{**use, "input": {}}]}]
    added = count_tokens(history, model) - count_tokens(empty, model)
    written = count_tokens(text, model) - count_tokens("{}", model)
    assert abs(added - written) <= 1
    done = compress(history, 100_000, model=model)
    assert done.messages == history
    assert done.report.before >= count_tokens(history, model, upper_bound=True)


def test_c26_a_pin_that_names_no_message_is_an_error_that_names_it() -> None:
    history = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "Done."}]
    for pin, named in (([2], "pin 2 "), ([0, 9, 7], "pin 9 "), ([10**12], f"pin {10**12} ")):
        with pytest.raises(UsageError, match=named) as failed:
            compress(history, 1_000, {"pin": pin})
        assert failed.value.code == "invalid_policy"
        with pytest.raises(UsageError, match=named):
            assemble(history, goal="Go.", budget=1_000, policy={"pin": pin})
    with pytest.raises(UsageError, match="-1"):
        compress(history, 1_000, {"pin": [-1]})
    with pytest.raises(UsageError, match="pin -1 "):
        assemble(history, goal="Go.", budget=1_000, policy={"pin": [-1]})
    with pytest.raises(UsageError, match="pin 0 "):
        compress([], 1_000, {"pin": [0]})
    assert compress(history, 1_000, {"pin": [0, 1]}).messages == history
    # A window grows: its pins may name what is still to come.
    window = ContextWindow(1_000, policy={"pin": [1]}, shape="openai_chat")
    window.append(*history)
    assert window.messages == history


CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
WRONG: list[tuple[Any, str]] = [
    ([{"role": "user", "content": "a"}, {"role": "user", "contnet": "b"}], "message 1 has a member 'contnet'"),
    ([{"role": "user", "parts": [{"text": "a"}]}, {"role": "model", "prats": []}], "message 1 has a member 'prats'"),
    ([{"role": "user", "content": [{"type": "text", "txt": "a"}]}], "message 0: block 0 of its content has no text"),
    ([{"role": "assistant", "content": "", "tool_calls": [CALL], "nmae": 1}], "message 0 has a member 'nmae'"),
    ([{"type": "function_call", "name": "f", "arguments": "{}", "callid": "a"}], "message 0 has a member 'callid'"),
    ([{"role": "usr", "content": "a"}], "message 0 has the role 'usr'"),
    ([{"role": "user", "content": 5}], "message 0: its content is 5"),
    (["a"], "message 0 is 'a'"),
    ({"role": "user", "contnet": "a"}, "message 0 has a member 'contnet'"),
    ({"messages": [{"role": "user", "contnet": "a"}], "tools": []}, "message 0 has a member 'contnet'"),
    ({"mesages": []}, "a request has messages, and this one has 'mesages'"),
    (None, "messages are a list of messages, not NoneType"),
    (7, "messages are a list of messages, not int"),
]


@pytest.mark.parametrize(("given_", "says"), WRONG, ids=[says for _, says in WRONG])
def test_c1_what_is_no_message_is_an_error_that_names_it_and_no_number(given_: Any, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        count_tokens(given_)
    assert caught.value.code == "invalid_messages"
    assert says in caught.value.message
    assert caught.value.hint


def test_c1_a_history_counts_the_same_in_whichever_form_it_is_written() -> None:
    gemini = [{"role": "user", "parts": [{"text": "Hello there."}]}]
    responses = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello there."}]}]
    ours = [Message.user("Hello there.")]
    counts = {count_tokens(each) for each in (gemini, responses, ours, {"contents": gemini}, {"input": responses})}
    assert counts == {count_tokens([{"role": "user", "content": "Hello there."}])} == {count_tokens(ours[0])}
