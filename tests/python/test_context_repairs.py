"""What a provider would refuse of a history: put right and said, or named."""

from __future__ import annotations

import copy

import pytest
from loopwright import Message, UsageError
from loopwright.context import ContextWindow, compress
from loopwright.messages import Thinking
from loopwright.tokens import count_tokens

GO = {"role": "user", "content": "go"}


def test_c26_a_list_of_no_calls_is_left_out_and_said():
    history = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "Hello.", "tool_calls": [], "refusal": None},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "assistant", "content": "Bye.", "name": "bob", "tool_calls": []},
        {"role": "user", "content": "end"},
    ]
    before = copy.deepcopy(history)
    done = compress(history, 10_000)
    assert done.messages == [
        history[0],
        {"role": "assistant", "content": "Hello.", "refusal": None},
        {"role": "assistant", "content": "Bye.", "name": "bob"},
        history[4],
    ]
    assert history == before == done.expand()
    assert {at for at, what in done.report.repairs if "empty list" in what} == {1, 2, 3}
    assert {at for at, what in done.report.repairs if "was empty" in what} == {2}
    assert compress(done.messages, 10_000).report.repairs == []
    window = ContextWindow(10_000, shape="openai_chat")
    window.append(*history)
    window.compact()
    assert window.messages == done.messages


A_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
A_USE = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
A_THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}


def spoke(content, **more):
    return {"role": "assistant", "content": content, **more}


def used(**changes):
    """A model's message with one call that has some of its members changed, or none of those that are `None`."""
    changed = {**A_CALL, **changes}
    return spoke(None, tool_calls=[{key: value for key, value in changed.items() if value is not None}])


@pytest.mark.parametrize(
    ("messages", "at", "said", "want"),
    [
        ([used(type=None)], 1, "lacks its type", [used()]),
        ([used(function={"name": "f"})], 1, "arguments", [used()]),
        ([used(function={"name": "f", "arguments": None})], 1, "arguments", [used()]),
        (
            [used(function={"name": "f", "arguments": {"x": [1, 2.50]}})],
            1,
            "arguments",
            [used(function={"name": "f", "arguments": '{"x":[1,2.5]}'})],
        ),
        (
            [used(), {"role": "tool", "tool_call_id": "c", "content": None}],
            2,
            "its content is nothing",
            [used(), {"role": "tool", "tool_call_id": "c", "content": ""}],
        ),
        (
            [used(), {"role": "tool", "tool_call_id": "c"}],
            2,
            "its content is nothing",
            [used(), {"role": "tool", "tool_call_id": "c", "content": ""}],
        ),
    ],
)
def test_c26_what_chat_completions_refuses_is_put_right_and_said(messages, at, said, want):
    answer = [] if messages[-1]["role"] == "tool" else [{"role": "tool", "tool_call_id": "c", "content": "out"}]
    history = [GO, *messages, *answer, {"role": "user", "content": "end"}]
    before = copy.deepcopy(history)
    done = compress(history, 10_000, shape="openai_chat")
    assert [(place, said in what) for place, what in done.report.repairs] == [(at, True)]
    assert done.messages == [GO, *want, *answer, {"role": "user", "content": "end"}]
    assert done.expand() == history == before
    assert compress(done.messages, 10_000, shape="openai_chat").report.repairs == []


@pytest.mark.parametrize(
    ("content", "want"),
    [
        ([A_THOUGHT], None),
        ([{"type": "text", "text": "So."}, A_THOUGHT], [{"type": "text", "text": "So."}]),
        (
            [{"type": "text", "text": "So."}, A_THOUGHT, {"type": "text", "text": " "}],
            [{"type": "text", "text": "So."}],
        ),
        (
            [{"type": "text", "text": "So."}, {"type": "redacted_thinking", "data": "R"}],
            [{"type": "text", "text": "So."}],
        ),
    ],
)
def test_c26_reasoning_that_nothing_follows_is_left_out_and_said(content, want):
    history = [GO, spoke(content), {"role": "user", "content": "end"}]
    done = compress(history, 10_000, shape="anthropic")
    assert any(at == 1 and "reasoning at its end" in what for at, what in done.report.repairs)
    assert done.messages == [GO, *([spoke(want)] if want else []), {"role": "user", "content": "end"}]
    assert done.expand() == history
    assert compress(done.messages, 10_000, shape="anthropic").report.repairs == []
    whole = [GO, spoke([A_THOUGHT, {"type": "text", "text": "So."}]), {"role": "user", "content": "end"}]
    assert compress(whole, 10_000, shape="anthropic").messages == whole


def test_c26_a_result_of_nothing_stays_the_only_one():
    nothing = {"type": "tool_result", "tool_use_id": "c", "content": None}
    history = [GO, spoke([A_USE]), {"role": "user", "content": [nothing]}, spoke("done")]
    done = compress(history, 10_000, shape="anthropic")
    assert {at for at, _ in done.report.repairs} == {2}
    results = [
        block for message in done.messages[1:3] for block in message["content"] if block["type"] == "tool_result"
    ]
    assert [(block["tool_use_id"], block.get("content") or "") for block in results] == [("c", "")]
    assert len(done.messages) == len(history)


@pytest.mark.parametrize(
    ("shape", "message", "what"),
    [
        ("openai_chat", used(function={"arguments": "{}"}), "has no name"),
        ("openai_chat", used(function={"name": "", "arguments": "{}"}), "has no name"),
        ("openai_chat", spoke([{"type": "image_url", "image_url": {"url": "https://e.org/a.png"}}]), "image_url"),
        ("anthropic", spoke([{**A_USE, "name": ""}]), "has no name"),
        (
            "anthropic",
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": 3}]},
            "neither text nor a list",
        ),
        (
            "anthropic",
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": ["x"]}]},
            'part of its result is "x"',
        ),
        (
            "anthropic",
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [A_USE]}]},
            "part of its result is tool_use",
        ),
    ],
)
def test_c26_what_can_not_be_put_right_is_named(shape, message, what):
    with pytest.raises(UsageError, match=f"message 1.*{what}") as caught:
        compress([GO, message, {"role": "user", "content": "end"}], 10_000, shape=shape)
    assert caught.value.code == "invalid_message"


END = {"role": "user", "content": "end"}


def answered(content, **more):
    """A history of Chat Completions in which a tool gives `content`."""
    return [GO, used(), {"role": "tool", "tool_call_id": "c", "content": content, **more}, END]


@pytest.mark.parametrize(
    ("history", "repairs", "want"),
    [
        (answered([]), {2: ["its content is nothing"]}, answered("")),
        ([GO, {**used(), "content": []}, *answered("x")[2:]], {1: ["an empty list"]}, answered("x")),
        ([GO, spoke("Hi.", tool_calls=None), END], {1: ["tool_calls are null"]}, [GO, spoke("Hi."), END]),
        ([GO, spoke("Hi.", tool_call_id="c"), END], {1: ["a tool_call_id"]}, [GO, spoke("Hi."), END]),
        (
            [{**GO, "tool_calls": None, "tool_call_id": "c", "name": "bob"}, spoke("Hi."), END],
            {0: ["a tool_call_id", "tool_calls are null"]},
            [{**GO, "name": "bob"}, spoke("Hi."), END],
        ),
        ([{**GO, "tool_calls": []}, spoke("Hi."), END], {0: ["tool_calls are an empty"]}, [GO, spoke("Hi."), END]),
    ],
)
def test_c26_members_that_chat_completions_refuses_are_left_out_and_said(history, repairs, want):
    before = copy.deepcopy(history)
    done = compress(history, 10_000, shape="openai_chat")
    assert done.messages == want
    found = done.report.repairs
    assert [at for at, _ in found] == [at for at, said in repairs.items() for _ in said]
    assert all(
        said in what
        for (_, what), said in zip(found, [each for said in repairs.values() for each in said], strict=True)
    )
    assert done.expand() == history == before
    assert compress(done.messages, 10_000, shape="openai_chat").report.repairs == []


@pytest.mark.parametrize(
    ("content", "want"),
    [
        ("so  ", "so"),
        ([{"type": "text", "text": "so\n"}], [{"type": "text", "text": "so"}]),
        (
            [{"type": "text", "text": "a "}, {"type": "text", "text": "b "}],
            [{"type": "text", "text": "a "}, {"type": "text", "text": "b"}],
        ),
    ],
)
def test_c26_white_space_at_the_end_of_an_answer_to_go_on_with_is_left_out_and_said(content, want):
    history = [GO, spoke(content)]
    done = compress(history, 10_000, shape="anthropic")
    assert done.messages == [GO, spoke(want)]
    assert [(at, "white space at its end" in what) for at, what in done.report.repairs] == [(1, True)]
    assert done.expand() == history
    assert compress(done.messages, 10_000, shape="anthropic").report.repairs == []
    # What comes last when an empty message behind it is gone is no other.
    assert compress([*history, {"role": "user", "content": ""}], 10_000, shape="anthropic").messages == done.messages
    # Elsewhere, and on Chat Completions, it may stand.
    assert compress([*history, END], 10_000, shape="anthropic").messages == [*history, END]
    assert compress(history, 10_000, shape="openai_chat").messages == history
    window = ContextWindow(10_000, shape="anthropic")
    window.append(*history)
    window.compact()
    assert window.messages == done.messages


def test_c26_blank_text_among_the_parts_of_a_result_is_left_out_and_said():
    def gave(content):
        return [
            GO,
            spoke([A_USE]),
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": content}]},
            END,
        ]

    text = {"type": "text", "text": "out"}
    for content, want in (([{"type": "text", "text": ""}, text], [text]), ([{"type": "text", "text": ""}], [])):
        done = compress(gave(content), 10_000, shape="anthropic")
        assert done.messages == gave(want)
        assert [(at, "blank text in a result" in what) for at, what in done.report.repairs] == [(2, True)]
        assert done.expand() == gave(content)
        assert compress(done.messages, 10_000, shape="anthropic").report.repairs == []
    assert compress(gave(""), 10_000, shape="anthropic").messages == gave("")


A_PICTURE = {"type": "image_url", "image_url": {"url": "https://e.org/a.png"}}


@pytest.mark.parametrize(
    ("shape", "history", "at", "what"),
    [
        ("openai_chat", answered([A_PICTURE]), 2, "image_url, which only a user"),
        ("openai_chat", answered([{"type": "file", "file": {"file_id": "f"}}]), 2, "file, which only a user"),
        ("openai_chat", answered([{"type": "input_audio", "input_audio": {}}]), 2, "input_audio, which only a user"),
        ("openai_chat", [{"role": "system", "content": [A_PICTURE]}, GO], 0, "image_url, which only a user"),
        ("openai_chat", [{**GO, "tool_calls": [A_CALL]}], 0, "tool_calls, which only an assistant"),
        ("anthropic", [{"role": "user", "content": [{"type": "image"}]}], 0, "has no source"),
        (
            "anthropic",
            [{"role": "user", "content": [{"type": "document", "source": {"type": "url"}}]}],
            0,
            "has no url that is text",
        ),
        (
            "anthropic",
            [
                GO,
                spoke([A_USE]),
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "image"}]}],
                },
            ],
            2,
            "has no source",
        ),
    ],
)
def test_c26_what_stands_where_the_provider_takes_none_is_named(shape, history, at, what):
    with pytest.raises(UsageError, match=f"message {at}.*{what}") as caught:
        compress(history, 10_000, shape=shape)
    assert caught.value.code == "invalid_message"
    assert caught.value.hint


@pytest.mark.parametrize("given", ["{}", [1], "no JSON", 'quoted "words" \\ and more'])
def test_c26_input_that_is_no_dict_is_counted_as_it_is_written(given):
    history = [
        GO,
        spoke([{**A_USE, "input": given}]),
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "out"}]},
        {"role": "user", "content": "end"},
    ]
    for model in ("gpt-4o", "claude-sonnet-4-5"):
        whole = compress(history, 10_000, model=model, shape="anthropic")
        assert isinstance(whole.messages[1]["content"][0]["input"], dict)
        needed = whole.report.after
        assert needed >= count_tokens(whole.messages, model=model, upper_bound=True)
        assert compress(history, needed, model=model, shape="anthropic").messages == whole.messages
        with pytest.raises(UsageError, match="what must stay"):
            compress(history, needed - 1, model=model, shape="anthropic")


@pytest.mark.parametrize("member", [{"audio": {"id": "audio_1"}}, {"function_call": {"name": "f", "arguments": "{}"}}])
def test_c26_what_a_model_said_beside_its_content_is_not_nothing(member):
    history = [GO, spoke(None, **member), {"role": "user", "content": "end"}]
    done = compress(history, 10_000, shape="openai_chat")
    assert (done.messages, done.report.repairs) == (history, [])
    window = ContextWindow(10_000, shape="openai_chat")
    window.append(*history)
    assert (window.messages, window.repairs) == (history, [])
    nothing = [GO, spoke(None, **dict.fromkeys(member)), {"role": "user", "content": "end"}]
    assert {at for at, what in compress(nothing, 10_000, shape="openai_chat").report.repairs if "empty" in what} == {1}


def test_c26_reasoning_that_no_model_said_is_named():
    for shape, message in (
        ("anthropic", {"role": "user", "content": [A_THOUGHT]}),
        ("canonical", Message.user(Thinking("hm", "s"))),
    ):
        history = [Message.user("go") if shape == "canonical" else GO, message]
        with pytest.raises(UsageError, match="message 1 .*only a model's message may hold reasoning"):
            compress(history, 10_000, shape=shape)
