"""Pictures and documents to each provider that takes them, and how hard to think, over real sockets."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, LoopwrightError, Model, UsageError, tool
from loopwright.messages import Document, Image, PlainText, Text
from loopwright.testing import WireServer, call, text
from ways import KEY, WIRES, agent_at, run, unmarked

Serve = Callable[..., WireServer]

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgAAACAAAB4iG8MwAAAABJRU5ErkJggg==")
PDF = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n%%EOF"
INLINE = base64.b64encode(PNG).decode()
PAPER = base64.b64encode(PDF).decode()

IMAGES: dict[str, dict[str, Any]] = {
    "anthropic": {
        "bytes": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": INLINE}},
        "url": {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
    },
    "chat": {
        "bytes": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{INLINE}"}},
        "url": {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
    },
    "responses": {
        "bytes": {"type": "input_image", "image_url": f"data:image/png;base64,{INLINE}"},
        "url": {"type": "input_image", "image_url": "https://example.com/a.png"},
    },
    "gemini": {
        "bytes": {"inlineData": {"mimeType": "image/png", "data": INLINE}},
        "url": {"fileData": {"mimeType": "image/png", "fileUri": "https://example.com/a.png"}},
    },
    "bedrock": {"bytes": {"image": {"format": "png", "source": {"bytes": INLINE}}}, "url": None},
}
DOCUMENTS: dict[str, dict[str, Any]] = {
    "anthropic": {
        "bytes": {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": PAPER},
            "title": "the paper.pdf",
        },
        "url": {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}},
        "text": {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "Hello."},
            "title": "note.txt",
        },
    },
    "chat": {
        "bytes": {
            "type": "file",
            "file": {"file_data": f"data:application/pdf;base64,{PAPER}", "filename": "the paper.pdf"},
        },
        "url": None,
        "text": {"type": "text", "text": '<document name="note.txt" type="text/plain">\nHello.\n</document>'},
    },
    "responses": {
        "bytes": {
            "type": "input_file",
            "file_data": f"data:application/pdf;base64,{PAPER}",
            "filename": "the paper.pdf",
        },
        "url": {"type": "input_file", "file_url": "https://example.com/a.pdf"},
        "text": {"type": "input_text", "text": '<document name="note.txt" type="text/plain">\nHello.\n</document>'},
    },
    "gemini": {
        "bytes": {"inlineData": {"mimeType": "application/pdf", "data": PAPER}},
        "url": {"fileData": {"mimeType": "application/pdf", "fileUri": "https://example.com/a.pdf"}},
        "text": {"text": '<document name="note.txt" type="text/plain">\nHello.\n</document>'},
    },
    "bedrock": {
        "bytes": {"document": {"format": "pdf", "name": "the paper pdf 95c9dbf2", "source": {"bytes": PAPER}}},
        "url": None,
        "text": {"text": '<document name="note.txt" type="text/plain">\nHello.\n</document>'},
    },
}


def blocks_of(request: dict[str, Any]) -> list[Any]:
    body = request["body"]
    if "contents" in body:
        parts: list[Any] = body["contents"][0]["parts"]
        return parts
    found: list[Any] = unmarked((body.get("messages") or body["input"])[0]["content"])
    return found


@pytest.mark.parametrize("how", ["bytes", "path", "url"])
def test_d47_a_picture_reaches_each_provider(serve: Serve, wire: str, way: str, how: str, tmp_path: Path) -> None:
    path = tmp_path / "the picture.png"
    path.write_bytes(PNG)
    picture = {
        "bytes": lambda: Image.from_bytes(PNG),
        "path": lambda: Image.from_path(path),
        "url": lambda: Image.from_url("https://example.com/a.png"),
    }[how]()
    server = serve("a dot")
    expected = IMAGES[wire]["url" if how == "url" else "bytes"]
    if expected is None:
        with pytest.raises(UsageError) as caught:
            run(agent_at(server, wire), [Text("What is this?"), picture], way)
        assert caught.value.code == "unsupported_block"
        return
    result, _ = run(agent_at(server, wire), [Text("What is this?"), picture], way)
    assert result.final == "a dot"
    assert blocks_of(server.requests[0])[1] == expected
    assert result.messages[0].content[1] == picture


@pytest.mark.parametrize("how", ["bytes", "path", "url", "text"])
def test_d47_a_document_reaches_each_provider_that_takes_it(
    serve: Serve, wire: str, way: str, how: str, tmp_path: Path
) -> None:
    path = tmp_path / "the paper.pdf"
    path.write_bytes(PDF)
    document = {
        "bytes": lambda: Document.from_bytes(PDF, name="the paper.pdf"),
        "path": lambda: Document.from_path(path),
        "url": lambda: Document.from_url("https://example.com/a.pdf"),
        "text": lambda: Document.from_text("Hello.", name="note.txt"),
    }[how]()
    server = serve("a greeting")
    agent = agent_at(server, wire)
    expected = DOCUMENTS[wire]["bytes" if how == "path" else how]
    if expected is None:
        with pytest.raises(UsageError) as caught:
            run(agent, [Text("What is this?"), document], way)
        assert caught.value.code == "unsupported_block"
        assert "takes no document block at an address" in caught.value.message
        assert WIRES[wire].partition(":")[0] in caught.value.message
        assert "from_bytes" in (caught.value.hint or "")
        assert server.requests == [], "before anything is sent"
        return
    result, _ = run(agent, [Text("What is this?"), document], way)
    assert result.final == "a greeting"
    assert blocks_of(server.requests[0])[1] == expected


@pytest.mark.parametrize("name", ["a.json", "a.yaml", "a.toml", "a.sh", "a.js", "a.sql", "a.xml", "a.rs", "Makefile"])
def test_d47_a_file_that_people_write_is_a_document_of_text(serve: Serve, wire: str, name: str, tmp_path: Path) -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        path = tmp_path / name
        path.write_bytes("one = \u00fc".encode(encoding))
        document = Document.from_path(path)
        assert isinstance(document.source, PlainText)
        assert document.source.data == "one = \u00fc"
        server = serve("read")
        agent_at(server, wire).run_sync([Text("What is this?"), document])
        assert blocks_of(server.requests[0])[1].get("type", "text") in ("document", "text", "input_text")
        sent = json.dumps(blocks_of(server.requests[0])[1])
        assert name in sent
        assert "one = " in sent


@pytest.mark.parametrize(
    ("model", "block", "named"),
    [
        ("ollama:m", Image.from_url("https://example.com/a.png"), "ollama takes no image block at an address"),
        ("ollama:m", Document.from_bytes(PDF, name="x.pdf"), "ollama takes no document block with bytes"),
        ("vllm:m", Document.from_url("https://example.com/a.pdf"), "vllm takes no document block at an address"),
        ("llamacpp:m", Image.from_file_id("file_1"), "llamacpp takes no image block by the id of a file"),
        ("openrouter:m", Image.from_file_id("file_1"), "openrouter takes no image block by the id of a file"),
        ("openai-chat:m", Image.from_bytes(b"II*\0", "image/tiff"), "openai-chat takes no image block with bytes"),
        ("anthropic:m", Document.from_bytes(b"PK\xff", "application/zip"), "anthropic takes no document block"),
        ("offline:extractive", Image.from_bytes(PNG), "offline takes no image block"),
    ],
)
def test_d47_what_a_provider_does_not_take_is_said_before_anything_is_sent(
    serve: Serve, way: str, model: str, block: Any, named: str
) -> None:
    server = serve("never")
    with pytest.raises(LoopwrightError) as caught:
        run(Agent(Model(model, base_url=server.url, api_key=KEY)), [Text("What is this?"), block], way)
    error = caught.value
    assert (type(error), error.code) == (UsageError, "unsupported_block")
    assert named in error.message
    assert error.hint
    assert error.hint not in error.message
    assert server.requests == []
    assert error.result is not None
    assert error.result.stop_reason == "error"


@pytest.mark.parametrize("kind", [Image, Document])
@pytest.mark.parametrize(
    "url", ["", " ", "a.png", "//example.com/a.png", "ftp://example.com/a", "file:///etc/passwd", "javascript:alert(1)"]
)
def test_d47_an_address_that_no_provider_can_fetch_is_said_when_it_is_given(kind: Any, url: str) -> None:
    with pytest.raises(UsageError) as caught:
        kind.from_url(url)
    assert caught.value.code == "invalid_source"
    assert "from_path" in (caught.value.hint or "")


def test_d47_an_address_that_is_the_bytes_is_sent_as_bytes(serve: Serve, wire: str, way: str) -> None:
    inline = Image.from_url("data:image/png;base64," + base64.b64encode(PNG).decode())
    assert inline == Image.from_bytes(PNG)
    assert Document.from_url("data:text/plain,a%20b%C3%BC") == Document.from_text("a b\u00fc")
    for wrong in ("data:image/png;base64,%%%", "data:image/png;base64", "data:"):
        with pytest.raises(UsageError) as caught:
            Image.from_url(wrong)
        assert caught.value.code == "invalid_source"
    server = serve("a dot")
    run(agent_at(server, wire), [Text("What is this?"), inline], way)
    assert base64.b64encode(PNG).decode() in str(blocks_of(server.requests[0])[1])


def test_d47_a_picture_that_a_tool_gives_is_seen(serve: Serve, wire: str, way: str) -> None:
    @tool
    def screenshot() -> Image:
        """Take a screenshot."""
        return Image.from_bytes(PNG)

    server = serve(call("screenshot"), text("a dot"))
    result, _ = run(agent_at(server, wire, tools=[screenshot]), "look", way)
    assert result.final == "a dot"
    assert INLINE in json.dumps(server.requests[1]["body"])


EFFORT: dict[str, Callable[[dict[str, Any]], Any]] = {
    "anthropic:m": lambda body: body["output_config"]["effort"],
    "openai-chat:m": lambda body: body["reasoning_effort"],
    "openai-responses:m": lambda body: body["reasoning"]["effort"],
    "openrouter:m": lambda body: body["reasoning"]["effort"],
    "ollama:m": lambda body: body["reasoning_effort"],
    "gemini:m": lambda body: body["generationConfig"]["thinkingConfig"]["thinkingLevel"],
    "bedrock:m": lambda body: body["outputConfig"]["effort"],
}


@pytest.mark.parametrize("effort", ["low", "medium", "high"])
@pytest.mark.parametrize("model", list(EFFORT))
def test_d48_effort_reaches_each_providers_own_parameter(serve: Serve, way: str, model: str, effort: str) -> None:
    server = serve("done")
    settings: Any = {"effort": effort}
    run(Agent(Model(model, base_url=server.url, api_key=KEY), settings=settings), "go", way)
    body = server.requests[0]["body"]
    assert EFFORT[model](body) == effort
    if model.startswith("openrouter"):
        assert "reasoning_effort" not in body


@pytest.mark.parametrize("model", list(EFFORT))
def test_d48_without_effort_nothing_is_said_of_it(serve: Serve, model: str) -> None:
    server = serve("done")
    Agent(Model(model, base_url=server.url, api_key=KEY)).run_sync("go")
    said = {"reasoning_effort", "reasoning", "output_config", "thinking", "generationConfig", "outputConfig"}
    assert not said & set(server.requests[0]["body"])
