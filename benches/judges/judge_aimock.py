"""aimock, fake servers of many providers: each wire asked for plain answers, tools, parallel calls, typed answers and
errors, whole and streamed, and under chaos of its own making.

One server plays all of them; a run has a test id of its own there, so that its chaos and its counts are its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loopwright import Agent, LoopwrightError, Model, tool
from outcome import Cell

HERE = Path(__file__).resolve().parent
CLI = HERE / "node_modules/@copilotkit/aimock/dist/cli.js"
ENVIRONMENT = {
    "AZURE_OPENAI_API_VERSION": "2024-10-21",
    "VERTEX_PROJECT": "p",
    "GOOGLE_CLOUD_PROJECT": "p",
    "GOOGLE_CLOUD_LOCATION": "us-central1",
    "VERTEX_ACCESS_TOKEN": "k",
    "AWS_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "secret",
}
WIRES = {
    "anthropic": ("anthropic:claude-sonnet-4-5", ""),
    "openai_chat": ("openai-chat:gpt-4.1", "/v1"),
    "openai_responses": ("openai-responses:gpt-4.1", "/v1"),
    "gemini": ("gemini:gemini-2.5-flash", ""),
    "vertex": ("vertex:gemini-2.5-flash", ""),
    "bedrock": ("bedrock:anthropic.claude-sonnet-4-5-20250929-v1:0", ""),
    "azure": ("azure:gpt-4.1", ""),
    "openrouter": ("openrouter:openai/gpt-4.1", "/api/v1"),
    "ollama": ("ollama:qwen3", "/v1"),
}


@tool(read_only=True)
def population(city: str) -> int:
    "How many people live in a city."
    return {"Oslo": 717_710, "Bergen": 291_940}[city]


@dataclass(frozen=True)
class Case:
    """What is asked, and how the run ends: with this answer, or with one of these codes."""

    prompt: str
    final: str = ""
    codes: frozenset[str] = frozenset()
    calls: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    chaos: dict[str, float] = field(default_factory=dict)


HELLO = "Hello! Here is an answer that is long enough for several pieces."
CASES = {
    "plain": Case("Say hello.", HELLO),
    "reasoning": Case("Think first.", "Nine."),
    "tools": Case("How many people live in Oslo?", "717,710 people live in Oslo.", calls=("Oslo",)),
    "parallel": Case("Compare Oslo and Bergen.", "Oslo is larger.", calls=("Oslo", "Bergen")),
    "busy once": Case("Be busy once.", "Back again."),
    "a wrong key": Case("Refuse the key.", codes=frozenset({"auth"})),
    "a bad request": Case("Refuse the request.", codes=frozenset({"bad_request"})),
    "a rate limit for ever": Case("Be slow down for ever.", codes=frozenset({"rate_limited"})),
    "chaos: drop": Case("Say hello.", HELLO, chaos={"dropRate": 0.4}),
    "chaos: malformed": Case("Say hello.", HELLO, chaos={"malformedRate": 0.4}),
    "chaos: disconnect": Case("Say hello.", HELLO, chaos={"disconnectRate": 0.4}),
    "chaos: rate limit": Case("Say hello.", HELLO, chaos={"rateLimitRate": 0.4}),
    "chaos: latency": Case("Say hello.", HELLO, chaos={"latencyMs": 200}),
}


@contextmanager
def server() -> Iterator[str]:
    """aimock on a port of this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    node = os.environ.get("NODE", "node")
    command = [node, str(CLI), "-p", str(port), "-f", str(HERE / "aimock.json"), "--strict", "--log-level", "silent"]
    with subprocess.Popen(command) as running:
        try:
            for _ in range(100):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1)
                    break
                except OSError:
                    time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            running.terminate()


def run(url: str, wire: str, name: str, streamed: bool) -> Cell:
    case = CASES[name]
    model, path = WIRES[wire]
    # A breaker guards a model at a host: what one case breaks is no other's concern.
    model += f"-{sorted(CASES).index(name)}{'ws'[streamed]}"
    test = f"{wire}-{name}-{streamed}".replace(" ", "-").replace(":", "")
    if case.chaos:
        body = json.dumps(case.chaos).encode()
        headers = {"X-Test-Id": test, "content-type": "application/json"}
        urllib.request.urlopen(urllib.request.Request(f"{url}/__aimock/chaos", body, headers), timeout=5)
    retry = {"attempts": 10 if case.chaos else 3, "base": 0.05, "cap": 0.5}
    headers = {"X-Test-Id": test}
    seen: list[str] = []
    wrong: list[str] = []
    key = {} if wire in ("bedrock", "vertex") else {"api_key": "k"}
    final, ended = "", ""
    try:
        agent = Agent(Model(model, base_url=url + path, headers=headers, retry=retry, **key), tools=[population])
        result = asyncio.run(_streamed(agent, case.prompt)) if streamed else agent.run_sync(case.prompt)
        final = result.final or ""
        ended = result.error.code if result.error is not None else str(result.stop_reason)
        seen = [call.arguments["city"] for call in result.tool_calls]
    except LoopwrightError as error:
        ended = f"{error.code}"
        if not case.codes:
            wrong.append(f"{error!r:.200}")
    if case.codes and ended not in case.codes:
        wrong.append(f"ended as {ended}, not {' or '.join(sorted(case.codes))}")
    if case.final and final != case.final and not wrong:
        wrong.append(f"ended as {ended} with {final!r:.100}")
    if not case.codes and tuple(seen) != case.calls and not wrong:
        wrong.append(f"called {seen}")
    return Cell("aimock", wire, f"{name}, {'streamed' if streamed else 'whole'}", wrong)


async def _streamed(agent: Agent[Any], prompt: str) -> Any:
    async with agent.stream(prompt) as stream:
        async for _ in stream:
            pass
        return stream.result


def cells(only: str = "") -> list[Cell]:
    os.environ.update(ENVIRONMENT)
    jobs = [(w, c, s) for w in WIRES for c in CASES for s in (False, True) if only in f"{w} {c}"]
    with server() as url, ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda job: run(url, *job), jobs))


if __name__ == "__main__":
    for cell in cells(sys.argv[1] if len(sys.argv) > 1 else ""):
        if cell.wrong:
            print(cell.wire, "|", cell.case, "|", "; ".join(cell.wrong))
