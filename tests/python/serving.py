"""A served model over a real socket, and the official clients of both vendors at it."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import anthropic
import openai
import uvicorn
from loopwright import Model
from loopwright.serve import app
from loopwright.testing import WireServer

HI: Any = [{"role": "user", "content": "hi"}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CHAT_TOOLS: Any = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]
CLAUDE_TOOLS: Any = [{"name": "weather", "input_schema": SCHEMA}]
RESPONSES_TOOLS: Any = [{"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}]
NAMES = {"anthropic": "anthropic:test", "chat": "openai-chat:test", "responses": "openai-responses:test"}


@dataclass
class Doors:
    """What clients see."""

    url: str
    upstream: WireServer
    gpt: openai.OpenAI
    claude: anthropic.Anthropic


def at(server: WireServer, wire: str = "chat", **options: Any) -> Model:
    """A model that lives at a server, and does not wait long before it tries again."""
    return Model(NAMES[wire], base_url=server.url, api_key="sk-upstream", retry={"base": 0.01}, **options)


@contextlib.contextmanager
def listening(application: Any) -> Iterator[str]:
    """The address of an application that is served by uvicorn."""
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        opened.listen()
        config = uvicorn.Config(application, log_level="error", lifespan="off", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{opened.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextlib.contextmanager
def doors(wire: str = "chat", *, key: str = "sk-client", model: Any = None, **options: Any) -> Iterator[Doors]:
    """A served model over a wire, whose answers a test pushes to `upstream`."""
    with WireServer() as upstream, listening(app(at(upstream, wire) if model is None else model, **options)) as url:
        with (
            openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as gpt,
            anthropic.Anthropic(base_url=url, api_key=key, max_retries=0) as claude,
        ):
            yield Doors(url, upstream, gpt, claude)


def chat_stream(gpt: openai.OpenAI, **options: Any) -> tuple[str, list[tuple[str, str]], str | None]:
    """The words, the calls and the reason of a streamed chat completion."""
    words, reason, calls = "", None, dict[int, list[str]]()
    for chunk in gpt.chat.completions.create(model="m", messages=HI, stream=True, **options):
        for choice in chunk.choices:
            words += choice.delta.content or ""
            reason = choice.finish_reason or reason
            for call in choice.delta.tool_calls or ():
                part = calls.setdefault(call.index, ["", ""])
                part[0] += call.function.name or ""
                part[1] += call.function.arguments or ""
    return words, [(name, arguments) for name, arguments in calls.values()], reason
