"""Helpers of the end-to-end tests: agents at a wire server, three ways to run them, a look at what is left behind."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from loopwright import Agent, Model, Result
from loopwright.hooks import Router
from loopwright.testing import WireServer

WIRES = {
    "anthropic": "anthropic:test",
    "chat": "openai-chat:test",
    "responses": "openai-responses:test",
    "gemini": "gemini:test",
    "bedrock": "bedrock:test",
}
LEFT_BARE = pytest.mark.filterwarnings("ignore:RunStream of:ResourceWarning")
"""Of tests that leave streams to themselves on purpose; what those are told is looked at in `test_drawn.py`."""
KEY = "sk-test-5f0c2e7a9b31"
OF_MODELS = ("retry", "timeouts", "price", "tool_format", "read_markup", "escalate_to")


def history_of(body: dict[str, Any], wire: str) -> list[Any]:
    """The history of a request's body, piece by piece: what is new stands behind what was there."""
    if wire == "gemini":
        return [(each["role"], part) for each in body["contents"] for part in each["parts"]]
    if wire == "bedrock":
        return [(each["role"], part) for each in body["messages"] for part in each["content"]]
    found: list[Any] = body["input" if wire == "responses" else "messages"]
    return found


def model_of(request: dict[str, Any]) -> str:
    """The model that a request asks: its body says so, or its address."""
    path: str = request["path"]
    if path.startswith("/model/"):
        return path.split("/")[2]
    named: str = request["body"].get("model") or path.rsplit("/", 1)[-1].partition(":")[0]
    return named


def streams(request: dict[str, Any]) -> bool:
    """Whether a request asks for a stream: its body says so, or its address."""
    path = request["path"]
    return bool(request["body"].get("stream")) or ":stream" in path or path.endswith("/converse-stream")


def tools_of(body: dict[str, Any]) -> list[Any]:
    """The tools that a request's body offers, one by one."""
    listed = [*body.get("tools", ()), *body.get("toolConfig", {}).get("tools", ())]
    return [one for each in listed for one in each.get("functionDeclarations", [each.get("toolSpec", each)])]


def forbids_tools(body: dict[str, Any]) -> bool:
    """Whether the body of a request lets the model call no tool."""
    none = {"functionCallingConfig": {"mode": "NONE"}}
    return body.get("toolConfig") == none or body.get("tool_choice") in ("none", {"type": "none"})


def words(count: int) -> str:
    """A text of so many words, none of which comes again: an answer that repeats itself would be cut."""
    return " ".join(f"word-{at * 7919 % 1_000_003:x}" for at in range(count))


def program(code: str, *arguments: object) -> subprocess.Popen[str]:
    """A Python process of its own; what it says is kept."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def agent_at(server: WireServer, wire: str = "anthropic", *, choose: Any = None, **options: Any) -> Agent[Any, Any]:
    """An agent whose model is the server. What is said of a model is said of that one; `choose` chooses another."""
    place = {name: options.pop(name) for name in OF_MODELS if name in options}
    model = Model(WIRES[wire], base_url=server.url, api_key=KEY, **place)
    return Agent(model if choose is None else Router(choose, default=model), **options)


def run(agent: Agent[Any, Any], prompt: Any, way: str, **options: Any) -> tuple[Result[Any], list[Any]]:
    """Runs the agent in one of three ways; gives the result and the events, of which only `stream` has any."""
    if way == "run_sync":
        return agent.run_sync(prompt, **options), []
    if way == "run":
        return asyncio.run(agent.run(prompt, **options)), []

    async def main() -> tuple[Result[Any], list[Any]]:
        stream = agent.stream(prompt, **options)
        events = [event async for event in stream]
        return stream.result, events

    return asyncio.run(main())


def eventually(condition: Callable[[], bool], seconds: float = 3.0) -> bool:
    """Whether something comes true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.005)
    return condition()


def open_files() -> set[str]:
    """What this process has open: sockets and pipes by their number, so that a reused descriptor is seen."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            found.add(f"{name} {os.readlink(f'/proc/self/fd/{name}')}")
        except OSError:
            pass
    return found


def threads() -> set[str]:
    """Python's threads by name, but for the one in which connections to servers of tools live: it ends with the process."""
    return {thread.name for thread in threading.enumerate()} - {"loopwright mcp"}


def unmarked(value: Any) -> Any:
    """A part of a body without its marks for caches."""
    if isinstance(value, dict):
        return {key: unmarked(each) for key, each in value.items() if key != "cache_control"}
    if isinstance(value, list):
        return [unmarked(each) for each in value]
    return value
