"""Messages: nothing that a provider wrote is lost, and what people write has one form."""

import copy
import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopwright import Agent, Message, Messages, Model, ModelError, UsageError, tool, wire
from loopwright import Image as ToolImage
from loopwright.messages import (
    Base64,
    Document,
    Extra,
    FileId,
    Image,
    PlainText,
    ProviderBlock,
    Text,
    Thinking,
    ToolFailure,
    ToolResult,
    ToolUse,
    Url,
    block_from_dict,
    block_from_json,
    block_to_json,
)
from loopwright.testing import ScriptedModel, WireServer, recorded
from loopwright.tools import Text as ToolText

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)

# JSON text as no two writers would write it.
ODD = [
    "1.50",
    "1e2",
    "-0",
    "123456789012345678901234567890",
    '"\\u00e9\\/"',
    "[ 1 ,2]",
    '{"a" : 1, "a":2}',
    '{"b":{ "x":[1.0 , null]}}',
    '"\\ud800"',
    "1E400",
]

texts = st.text(st.characters(exclude_categories=["Cs"]))
raws = st.one_of(
    st.sampled_from(ODD),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=8,
    ).map(json.dumps),
)
wires = st.sampled_from(["anthropic", "openai_chat", "openai_responses", "gemini", "offline"])


def as_object(members: dict[str, str]) -> str:
    return "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{value}" for key, value in members.items()) + "}"


extras = st.none() | st.builds(Extra, wires, st.dictionaries(texts, raws, max_size=3).map(as_object))
optional = st.none() | texts
sources = st.one_of(
    st.builds(Base64, texts, texts), st.builds(PlainText, texts, texts), st.builds(Url, texts), st.builds(FileId, texts)
)
inner = st.one_of(
    st.builds(Text, texts, extras),
    st.builds(Image, sources, optional, extras),
    st.builds(Document, sources, optional, extras),
    st.builds(ProviderBlock, wires, raws),
)
forms = st.sampled_from(["auto", "text", "parts"])
failures = st.none() | st.builds(ToolFailure, texts, texts, optional)
blocks = st.one_of(
    inner,
    st.builds(Thinking, texts, optional, optional, extras),
    st.builds(ToolUse, texts, texts, raws, optional, extras),
    st.builds(ToolResult, texts, texts, st.lists(inner, max_size=2), forms, st.booleans(), failures, extras),
)
roles = st.sampled_from(["system", "developer", "user", "assistant"])
messages = st.builds(Message, roles, st.lists(blocks, max_size=4), forms, extras)


@given(messages)
def test_the_canonical_form_is_lossless(message: Message) -> None:
    text = message.to_json()
    back = Message.from_json(text)
    assert back == message
    assert back.to_json() == text
    assert pickle.loads(pickle.dumps(message)) == message  # noqa: S301 - our own
    assert copy.deepcopy(message) == message
    # What is raw stands in it as it was written.
    for block in message.content:
        if isinstance(block, ToolUse):
            assert f'"input":{block.arguments_json}' in text
        if isinstance(block, ProviderBlock):
            assert f'"raw":{block.raw}' in text


@given(st.lists(messages, max_size=3))
def test_messages_stay_what_they_are_in_rust(several: list[Message]) -> None:
    kept = Messages(several)
    assert kept == several
    assert kept.to_json() == f"[{','.join(message.to_json() for message in several)}]"
    assert Messages.from_json(kept.to_json()) == kept
    assert pickle.loads(pickle.dumps(kept)) == kept  # noqa: S301 - our own
    both = kept + kept + several
    assert list(both) == several * 3
    assert list(kept) == several


@given(texts, raws, wires)
def test_blocks_alone(text: str, raw: str, name: str) -> None:
    for block in (Text(text), ToolUse("c", text, raw), ProviderBlock(name, raw)):
        assert block_from_json(block_to_json(block)) == block


@given(
    st.one_of(st.text(), st.binary(), raws), st.sampled_from(["anthropic", "openai_chat", "openai_responses", "gemini"])
)
def test_nothing_that_is_read_breaks_anything(body: Any, name: str) -> None:
    for attempt in (
        lambda: Message.from_json(body),
        lambda: block_from_json(body),
        lambda: Messages.from_json(body),
        lambda: wire.decode_request(name, body),
        lambda: wire.Response.from_json(body),
    ):
        try:
            attempt()
        except UsageError as error:
            assert error.code  # noqa: PT017 - any of them


def test_the_parts_of_a_message() -> None:
    message = Message.assistant(
        Thinking("hm", "signed"),
        "It is ",
        ToolUse.of("c1", "add", {"a": 1, "b": "é"}),
        Text("here."),
        ToolUse("c2", "add", "{}", invalid='{"a": '),
    )
    assert message.text == "It is here."
    assert [use.call_id for use in message.tool_uses] == ["c1", "c2"]
    assert message.tool_uses[0].arguments == {"a": 1, "b": "é"}
    assert message.tool_uses[0].arguments_json == '{"a":1,"b":"é"}'
    assert message.tool_results == []
    results = Message.user(ToolResult("c1", "add", ("3", Image.from_bytes(PNG))))
    assert results.tool_results[0].text == "3"
    assert isinstance(results.tool_results[0].content[1], Image)
    with pytest.raises(dataclasses.FrozenInstanceError):
        message.role = "user"  # type: ignore[misc]
    assert not hasattr(message, "__dict__")
    assert dict(message) == message.to_dict()  # type: ignore[call-overload]
    assert message["content"][1]["text"] == "It is "
    assert hash(message) == hash(Message.from_json(message.to_json()))


def test_failures_of_tools_are_structured() -> None:
    failed = ToolResult.failed("c", "rm", ToolFailure("denied", 'nobody said "yes"', "ask first"))
    assert failed.is_error
    assert failed.failure == ToolFailure("denied", 'nobody said "yes"', "ask first")
    shown = {"kind": "denied", "message": 'nobody said "yes"', "hint": "ask first"}
    assert json.loads(failed.text) == {"error": shown}
    assert Message.user(failed).to_dict()["content"][0]["failure"] == shown


def test_failures_look_like_those_of_a_run() -> None:
    @tool
    def broken() -> str:
        """Breaks."""
        raise ValueError("no")

    from loopwright.testing import call

    result = Agent(ScriptedModel([call("broken"), "sorry"]), tools=[broken]).run_sync("go")
    (found,) = result.messages[2].tool_results
    assert found.is_error
    assert found.failure is not None
    assert found.failure.kind == "exception"
    assert "no" in found.failure.message
    again = ToolResult.failed(found.call_id, found.name, found.failure)
    assert block_to_json(again) == block_to_json(found)


def test_tools_may_return_blocks_of_messages() -> None:
    picture, notes = Image.from_bytes(PNG), Document.from_text("notes", name="n.txt")

    @tool
    def one() -> Image:
        """One."""
        return picture

    @tool
    def several() -> Any:
        """Several."""
        return ["look:", picture, notes, Text("x" * 50_000)]

    @tool
    def half() -> Text:
        """Half of a character."""
        return Text("\ud800")

    from loopwright.testing import call

    model = ScriptedModel([call("one"), call("several"), call("half"), "seen"])
    result = Agent(model, tools=[one, several, half]).run_sync("go")
    failed = result.messages[6].tool_results[0].failure
    assert failed is not None
    assert failed.kind == "not_serialisable"
    assert result.messages[2].tool_results[0].content == (picture,)
    *first, last = result.messages[4].tool_results[0].content
    assert first == [Text("look:"), picture, notes]
    assert isinstance(last, Text)
    assert "left out" in last.text
    assert len(last.text) < 30_000


def test_numbers_are_kept_as_they_were_written() -> None:
    text = '{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{"x": 1.50, "y":1e2}}]}'
    message = Message.from_json(text)
    assert message.to_json() == text
    assert message.tool_uses[0].arguments == {"x": 1.5, "y": 100.0}
    assert '"arguments":"{\\"x\\": 1.50, \\"y\\":1e2}"' in message.to_wire("openai_chat")
    assert '{"x": 1.50, "y":1e2}' in message.to_wire("anthropic")


def test_what_python_can_not_parse_is_still_kept() -> None:
    deep = "[" * 200_000 + "]" * 200_000
    message = Message.assistant(ToolUse("c", "f", deep), ProviderBlock("anthropic", "9" * 10_000))
    assert Message.from_json(message.to_json()) == message
    with pytest.raises(ModelError, match="nested too deeply"):
        message.tool_uses[0].arguments  # noqa: B018
    with pytest.raises(ModelError, match="parsed"):
        message.content[1].value  # type: ignore[union-attr]  # noqa: B018


def test_images(tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    file.write_bytes(PNG)
    image = Image.from_path(file)
    assert (image.media_type, image.data, image.url) == ("image/png", PNG, None)
    assert image == Image.from_bytes(PNG) == Image.from_path(str(file))
    assert Image.from_url("https://e.org/a.png").url == "https://e.org/a.png"
    assert Image.from_file_id("f1").source == FileId("f1")
    assert Image.from_bytes(b"BM..", "image/bmp").media_type == "image/bmp"
    with pytest.raises(UsageError, match="no picture"):
        Image.from_bytes(b"hello")
    (tmp_path / "b.png").write_bytes(b"hello")
    with pytest.raises(UsageError, match=r"b\.png"):
        Image.from_path(tmp_path / "b.png")
    with pytest.raises(UsageError, match="No such file"):
        Image.from_path(tmp_path / "missing.png")
    with pytest.raises(UsageError, match="no base64"):
        Image(Base64("image/png", "§")).data  # noqa: B018
    assert "Base64('image/png', 24 characters)" in repr(image)


def test_documents(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7")
    pdf = Document.from_path(tmp_path / "a.pdf")
    assert (pdf.media_type, pdf.data, pdf.name) == ("application/pdf", b"%PDF-1.7", "a.pdf")
    (tmp_path / "n.md").write_text("# Äpfel", encoding="utf-8")
    notes = Document.from_path(tmp_path / "n.md")
    assert notes.source == PlainText("text/markdown", "# Äpfel")
    assert notes.data == "# Äpfel".encode()
    assert Document.from_bytes(b"plain").media_type == "text/plain"
    assert Document.from_bytes(b"\x00\x01", "application/zip").media_type == "application/zip"
    # Text by its name, but not by its bytes.
    assert isinstance(Document.from_bytes(b"\xff\xfe\x00", name="a.txt").source, Base64)
    assert Document.from_text("x", name="n").source == PlainText("text/plain", "x")
    assert Document.from_url("https://e.org/a.pdf").url == "https://e.org/a.pdf"
    for unknown in (b"\x00\x01", b"\xff"):
        with pytest.raises(UsageError, match="media_type"):
            Document.from_bytes(unknown)
    with pytest.raises(UsageError, match="directory"):
        Document.from_path(tmp_path)


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda: Message("robot", ("x",)), "no role 'robot'"),  # type: ignore[arg-type]
        (lambda: Message.user(5), "not int"),  # type: ignore[arg-type]
        (lambda: Message.user({"type": "strange"}), "strange"),
        (lambda: Message.user({"type": "text"}), "text"),
        (lambda: Message.user("\ud800").to_json(), "surrogate"),
        (lambda: Message.user(Text(5)).to_json(), "string"),  # type: ignore[arg-type]
        (lambda: Message.from_json("{"), "invalid message"),
        (lambda: Message.from_json("[]"), "invalid message"),
        (lambda: Message.from_json(b"\xff"), "UTF-8"),
        (lambda: Message.from_dict({"role": "user"}), "content"),
        (lambda: Message.from_dict({"role": "user", "content": [{1, 2}]}), "set"),
        (lambda: block_from_dict({"type": "text", "text": float("nan")}), "JSON"),
        (lambda: Message.assistant(ToolUse("c", "f", "{'a': 1}")).to_json(), "invalid arguments"),
        (lambda: Message.assistant(ToolUse("c", "f", '1},{"x":2')).to_json(), "invalid arguments"),
        (lambda: Message.assistant(ToolUse("c", "f", {})).to_json(), "JSON text"),  # type: ignore[arg-type]
        (lambda: Message.assistant(ProviderBlock("anthropic", "")).to_json(), "invalid block"),
        (lambda: wire.Request("m", [], extra={"a": 1}), "Extra.of"),  # type: ignore[arg-type]
        (lambda: Message.assistant(ProviderBlock("nowhere", "{}")).to_json(), "nowhere"),
        (lambda: Message("user", ("x",), extra=Extra("anthropic", "[]")).to_json(), "object"),
        (lambda: Message("user", ("x",), extra={"a": 1}).to_json(), "Extra.of"),  # type: ignore[arg-type]
        (lambda: Message.user(Image("a.png")).to_json(), "not str"),  # type: ignore[arg-type]
        (lambda: Message.user(ToolResult("a", content=(ToolResult("b"),))), "another one"),
        (lambda: Messages("text"), "list of messages"),  # type: ignore[arg-type]
        (lambda: Messages([5]), "not int"),  # type: ignore[list-item]
        (lambda: Messages.from_json("{}"), "invalid messages"),
        (lambda: ToolUse.of("c", "f", {1, 2}), "arguments of 'f'"),
    ],
)
def test_errors_say_what_is_wrong(attempt: Any, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        attempt()
    assert words in str(caught.value)


def test_prompts_of_all_kinds() -> None:
    model = ScriptedModel(["ok"], by_turn=True)
    agent = Agent(model)
    prompts: list[tuple[Any, Message]] = [
        ("hi", Message.user("hi")),
        (Text("hi"), Message.user("hi")),
        (Message.user("a", "b"), Message.user("a", "b")),
        ({"type": "text", "text": "hi"}, Message.user("hi")),
        ({"role": "user", "content": [{"type": "text", "text": "hi"}]}, Message.user("hi")),
        (["look:", ToolImage(PNG), ToolText("?")], Message.user("look:", Image.from_bytes(PNG), "?")),
        (("look:", Image.from_bytes(PNG)), Message.user("look:", Image.from_bytes(PNG))),
    ]
    for prompt, expected in prompts:
        assert agent.run_sync(prompt).messages[0] == expected
    for empty in ("", " \n", [], Message.user()):
        with pytest.raises(UsageError, match="empty"):
            agent.run_sync(empty)
    for wrong in (5, None, ["x", 5]):
        with pytest.raises(UsageError) as caught:
            agent.run_sync(wrong)  # type: ignore[arg-type]
        assert caught.value.code == "invalid_prompt"


def test_what_was_said_before_comes_in_all_forms() -> None:
    model = ScriptedModel(["one", "two"], by_turn=True)
    agent = Agent(model)
    first = agent.run_sync("hi").messages
    expected = [*first, Message.user("and?"), Message.assistant("two")]
    for before in (first, list(first), first.to_dicts(), tuple(first), Messages.from_json(first.to_json())):
        assert agent.run_sync("and?", messages=before).messages == expected
    assert len(first) == 2
    assert first[-1] == Message.assistant("one")
    assert first[:1] == [Message.user("hi")]
    with pytest.raises(IndexError, match="2 messages, none at 2"):
        first[2]
    with pytest.raises(UsageError, match="not str"):
        agent.run_sync("and?", messages="hi")  # type: ignore[arg-type]


def test_models_of_ones_own_may_answer_with_messages() -> None:
    answer = Message.assistant(ProviderBlock("anthropic", '{"type":"new","x": 1.50}'), "done")

    class Own:
        def respond(self, request: Any) -> Any:
            sent = wire.Request.from_json(request.to_json())
            assert sent.messages == [Message.user("hi")]
            return answer if request.last_text == "hi" else None

    assert Agent(Own()).run_sync("hi").messages[-1] == answer

    class Whole:
        def respond(self, request: Any) -> Any:
            return wire.Response(answer, stop="end_turn", usage=wire.Usage(3, 4))

    result = Agent(Whole()).run_sync("hi")
    assert (result.messages[-1], result.usage.total_tokens) == (answer, 7)


# What a provider wrote goes back to it byte for byte.

SEARCH = '{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query": "q", "n":1.50}}'
FOUND = '{"type":"web_search_tool_result","tool_use_id":"s1","content":[{"u":1e2,"encrypted_content":"\\u00e9"}]}'
FUTURE = '{"type":"hologram", "depth":1.0,"of":{"b":2,"a":[ ]}}'


def sent_bodies(server: WireServer) -> list[str]:
    """The bodies as they came over the socket."""
    return [each["body"] for each in json.loads(server._running.requests())]


@pytest.mark.parametrize("keep", ["as they are", "list", "json", "pickle"])
def test_a_continued_run_sends_the_blocks_of_the_provider_byte_for_byte(keep: str) -> None:
    blocks = [
        '{"type":"thinking","thinking":"hm","signature":"c2ln"}',
        SEARCH,
        FOUND,
        FUTURE,
        '{"type":"text","text":"Norway","citations":[{"type":"web_search_result_location","n":1.50}]}',
    ]
    answer = (
        '{"id":"m1","type":"message","role":"assistant","model":"m","content":['
        + ",".join(blocks)
        + '],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":2}}'
    )
    with WireServer([recorded(200, "application/json", answer), "you are welcome"]) as server:
        agent = Agent(Model("anthropic:m", base_url=server.url, api_key="k"))
        first = agent.run_sync("who won?")
        before: Any = first.messages
        kinds = [type(block) for block in before[1].content]
        assert kinds == [Thinking, ProviderBlock, ProviderBlock, ProviderBlock, Text]
        assert [block.raw for block in before[1].content[1:4]] == blocks[1:4]
        assert before[1].content[3].kind == "hologram"
        assert before[1].content[3].value["depth"] == 1.0
        assert before[1].content[4].extra.fields["citations"][0]["n"] == 1.5
        if keep == "list":
            before = list(before)
        elif keep == "json":
            before = Messages.from_json(before.to_json())
        elif keep == "pickle":
            before = pickle.loads(pickle.dumps(before))  # noqa: S301 - our own
        agent.run_sync("thanks", messages=before)
        _, second = sent_bodies(server)
    for raw in blocks[1:4]:
        assert raw in second
    assert '"signature":"c2ln"' in second
    assert '"n":1.50' in second
    said = json.loads(second)["messages"]
    assert said[1]["content"] == [json.loads(raw) for raw in blocks]
    assert [each["role"] for each in said] == ["user", "assistant", "user"]


members = st.dictionaries(texts.filter(lambda key: key not in ("type", "role", "id")), raws, max_size=3)


@given(members)
def test_unknown_blocks_survive_byte_for_byte_on_each_wire(odd: dict[str, str]) -> None:
    block = as_object({"type": '"hologram_of_2031"', **odd})
    said = '{"type":"text","text":"x"}'
    bodies = {
        "anthropic": f'{{"model":"m","max_tokens":9,"messages":[{{"role":"user","content":[{block}]}},'
        f'{{"role":"assistant","content":[{said},{block}]}},{{"role":"user","content":"go on"}}]}}',
        "openai_chat": f'{{"model":"m","messages":[{{"role":"user","content":[{said},{block}]}}]}}',
        "openai_responses": f'{{"model":"m","input":[{{"role":"user","content":"x"}},{block}]}}',
        "gemini": f'{{"contents":[{{"role":"user","parts":[{{"text":"x"}},{block}]}}]}}',
    }
    for name, text in bodies.items():
        request = wire.decode_request(name, text)
        found = [each for message in request.messages for each in message.content if isinstance(each, ProviderBlock)]
        assert [each.raw for each in found] == [block] * text.count("hologram_of_2031"), name
        assert all(each.kind == "hologram_of_2031" for each in found)
        # Through Python's own objects, and out again.
        again = wire.Request("m", list(request.messages), max_tokens=9)
        assert again.to_wire(name).count(block) == len(found), name
        for other in set(bodies) - {name}:
            assert "hologram" not in again.to_wire(other)
