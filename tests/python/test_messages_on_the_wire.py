"""Messages as the server sees them: pictures and documents through each wire, and conversations that go on."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from loopwright import Agent, Message, Messages, UsageError, tool
from loopwright import Image as ToolImage
from loopwright.messages import Document, Image, Text
from loopwright.models import Call
from loopwright.testing import ScriptedModel, call, calls
from ways import agent_at, run

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(32))
PDF = b"%PDF-1.4\n" + bytes(range(64))


@tool(read_only=True)
def look(query: str) -> str:
    """Look."""
    return query.upper()


def content_of(body: dict[str, Any], wire: str) -> list[dict[str, Any]]:
    """The blocks of the last message."""
    if wire == "gemini":
        parts: list[dict[str, Any]] = body["contents"][-1]["parts"]
        return parts
    found: list[dict[str, Any]] = body["input" if wire == "responses" else "messages"][-1]["content"]
    return found


def test_pictures_and_documents(serve: Any, wire: str) -> None:
    server = serve("a picture")
    agent = agent_at(server, wire)
    picture = Image.from_bytes(PNG)
    paper = Document.from_bytes(PDF, "application/pdf", name="paper.pdf")
    result = agent.run_sync(["What is this?", picture, paper])
    words, image, document = content_of(server.requests[0]["body"], wire)
    encoded, paper_encoded = base64.b64encode(PNG).decode(), base64.b64encode(PDF).decode()
    assert words["text"] == "What is this?"
    if wire == "anthropic":
        assert image["source"] == {"type": "base64", "media_type": "image/png", "data": encoded}
        assert document["source"] == {"type": "base64", "media_type": "application/pdf", "data": paper_encoded}
    elif wire == "chat":
        assert image["image_url"]["url"] == f"data:image/png;base64,{encoded}"
        assert document["file"]["file_data"] == f"data:application/pdf;base64,{paper_encoded}"
    elif wire == "gemini":
        assert image == {"inlineData": {"mimeType": "image/png", "data": encoded}}
        assert document == {"inlineData": {"mimeType": "application/pdf", "data": paper_encoded}}
    elif wire == "bedrock":
        assert image == {"image": {"format": "png", "source": {"bytes": encoded}}}
        assert document["document"]["format"] == "pdf"
        assert document["document"]["source"] == {"bytes": paper_encoded}
    else:
        assert image["image_url"] == f"data:image/png;base64,{encoded}"
        assert document["file_data"] == f"data:application/pdf;base64,{paper_encoded}"
    assert result.messages[0] == Message.user("What is this?", picture, paper)


def test_a_picture_at_an_address(serve: Any, wire: str) -> None:
    server = serve("ok")
    if wire == "bedrock":
        with pytest.raises(UsageError, match="takes no image block at an address"):
            agent_at(server, wire).run_sync(["See:", Image.from_url("https://example.org/a.png")])
        return
    agent_at(server, wire).run_sync(["See:", Image.from_url("https://example.org/a.png")])
    assert "https://example.org/a.png" in json.dumps(content_of(server.requests[0]["body"], wire))


def test_a_picture_that_a_tool_gives(serve: Any, wire: str, way: str) -> None:
    @tool(read_only=True)
    def draw() -> Any:
        """Draw."""
        return ["drawn:", ToolImage(PNG)]

    server = serve(call("draw"), "nice")
    result, _ = run(agent_at(server, wire, tools=[draw]), "draw", way)
    assert result.final == "nice"
    assert result.tool_calls[0].failure is None
    assert base64.b64encode(PNG).decode() in json.dumps(server.requests[1]["body"])


def test_a_conversation_goes_on(serve: Any, wire: str, way: str) -> None:
    server = serve(call("look", query="a"), "first", call("look", query="b"), "second")
    agent = agent_at(server, wire, tools=[look], instructions="Be brief.")
    one, _ = run(agent, "one", way)
    two, _ = run(agent, "two", way, messages=one.messages)
    assert (one.final, two.final) == ("first", "second")
    assert len(one.messages) == 4
    assert len(two.messages) == 8
    assert two.messages[:4] == one.messages[:4]
    body = json.dumps(server.requests[2]["body"])
    for words in ("one", "first", "two"):
        assert f'"{words}"' in body
    assert body.count("Be brief.") == 1


def test_a_conversation_is_the_same_from_json_from_dicts_and_from_messages(serve: Any, wire: str) -> None:
    before = [Message.user("one"), Message.assistant("first")]
    bodies = []
    forms: list[Any] = [
        before,
        Messages(before),
        [each.to_dict() for each in before],
        Messages.from_json(Messages(before).to_json()),
    ]
    for messages in forms:
        server = serve("ok")
        agent_at(server, wire).run_sync("two", messages=messages)
        bodies.append(server.requests[0]["body"])
    assert all(body == bodies[0] for body in bodies)
    assert "first" in str(bodies[0])


def test_a_conversation_moves_between_wires(serve: Any, wire: str) -> None:
    first = serve(calls(Call("look", {"query": "ü"}), text="Wait."), "first")
    begun = agent_at(first, wire, tools=[look]).run_sync("one")
    for other in ("anthropic", "chat", "responses", "gemini", "bedrock"):
        server = serve("second")
        result = agent_at(server, other, tools=[look]).run_sync("two", messages=begun.messages)
        assert result.final == "second"
        body = json.dumps(server.requests[0]["body"], ensure_ascii=False)
        for words in ("one", "Wait.", "Ü", "first", "two"):
            assert words in body


def test_earlier_results_stay_as_they_were() -> None:
    agent = Agent(ScriptedModel(["a", "b", "c"]))
    one = agent.run_sync("one")
    kept = one.messages.to_json()
    two = agent.run_sync("two", messages=one.messages)
    three = agent.run_sync("three", messages=one.messages)
    assert one.messages.to_json() == kept
    assert [message.text for message in two.messages] == ["one", "a", "two", "b"]
    assert [message.text for message in three.messages] == ["one", "a", "three", "c"]


def test_the_prompt_may_be_a_message(serve: Any, wire: str) -> None:
    server = serve("ok", "ok")
    agent = agent_at(server, wire)
    agent.run_sync(Message.user("hi", Text("there")))
    agent.run_sync(["hi", {"type": "text", "text": "there"}])
    one, two = (request["body"] for request in server.requests)
    assert one == two
