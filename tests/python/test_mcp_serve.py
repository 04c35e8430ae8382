"""Our side as a server, looked at by the official client, over real pipes and real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import time

import pytest

pytest.importorskip("mcp")
from loopwright import mcp
from loopwright.cli.main import main
from mcp import Client, StdioServerParameters
from test_mcp import free_port

SHOP = '''
from loopwright import Agent, Image, RunContext, tool
from loopwright.testing import ScriptedModel, call, text

print("this goes to nobody who reads messages")

@tool(read_only=True)
def stock(part: str) -> dict:
    """How many there are."""
    print("nor does this")
    return {"part": part, "count": 3}

@tool
async def cut(context: RunContext) -> str:
    """Cuts."""
    context.emit("1 of 2: half")
    context.emit("2 of 2: done")
    return "cut"

@tool(risk="dangerous")
def wipe() -> str:
    """Wipes."""
    raise AssertionError

@tool
def broken() -> str:
    """Breaks."""
    raise ValueError("out of order")

steps = [call("stock", part="nut"), text("There are 3.")]
agent = Agent(ScriptedModel(steps), tools=[stock, cut, wipe, broken], name="shop", description="Knows the stock.")
nothing = 3
'''


@pytest.fixture
def shop(tmp_path):
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "rules.md").write_text("# Rules\n\nOnly Mrs Vogel may sign contracts above 5000 euros.\n")
    return tmp_path


def arguments(shop):
    return ["-m", "loopwright", "mcp", "serve", str(shop / "shop.py:agent"), "--in", str(shop / "docs")]


@contextlib.contextmanager
def served(way, shop):
    """What the official client connects to."""
    if way == "stdio":
        environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
        yield StdioServerParameters(command=sys.executable, args=arguments(shop), env=environment)
        return
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, *arguments(shop), "--http", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        import socket

        ends = time.monotonic() + 20
        while time.monotonic() < ends:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("way", ["stdio", "http"])
def test_an_agent_its_tools_answers_and_rooms_are_offered_in_both_eras(shop, way, mode):
    told = []

    async def progress(progress, total, message):
        told.append((progress, total, message))

    async def go(there):
        async with Client(there, mode=mode) as client:
            listed = {each.name: each for each in (await client.list_tools()).tools}
            found = {}
            for name, given in {
                "stock": {"part": "nut"},
                "wipe": {},
                "broken": {},
                "shop": {"prompt": "How many nuts are there?"},
                "count": {"text": "hello world"},
                "extract": {"text": '<tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>'},
                "assess": {"name": "population", "arguments": {"city": "Oslo"}},
                "compress": {"messages": [{"role": "user", "content": "hello"}], "budget": 200},
                "ask": {"question": "Who may sign contracts?"},
            }.items():
                found[name] = await client.call_tool(name, given)
            found["wrong"] = await client.call_tool("stock", {"parts": 3})
            found["empty"] = await client.call_tool("shop", {"prompt": " "})
            await client.call_tool("cut", {}, progress_callback=progress)
            return listed, found

    with served(way, shop) as there:
        listed, found = asyncio.run(go(there))
    names = ["ask", "assess", "broken", "compress", "count", "cut", "extract", "shop", "stock", "wipe"]
    assert list(listed) == names
    assert listed["stock"].annotations.read_only_hint
    assert listed["wipe"].annotations.destructive_hint
    assert listed["shop"].description == "Knows the stock."
    assert found["stock"].structured_content == {"part": "nut", "count": 3}
    assert found["shop"].structured_content == {"answer": "There are 3.", "stop_reason": "natural"}
    assert found["count"].content[0].text == "2"
    assert found["extract"].structured_content == {"prose": "", "calls": [{"name": "f", "arguments": {"x": 1}}]}
    assert found["assess"].structured_content["level"] == "cautious"
    assert "hello" in found["compress"].content[0].text
    assert "Vogel" in found["ask"].structured_content["answer"]
    for name, words in {
        "wipe": "denied",
        "broken": "out of order",
        "wrong": "invalid_arguments",
        "empty": "prompt",
    }.items():
        assert found[name].is_error
        assert words in found[name].content[0].text
    assert told == [(1.0, 2.0, "half"), (2.0, 2.0, "done")]


def test_our_client_and_our_server_understand_each_other(shop):
    from loopwright import Agent
    from loopwright.testing import ScriptedModel, call, text

    with served("http", shop) as there:
        server = mcp.http(there, name="ours")
        model = ScriptedModel([call("stock", part="bolt"), text("ok")])
        result = Agent(model, tools=[server]).run_sync("Is the bolt there?")
        server.close()
    assert '{\\"part\\":\\"bolt\\",\\"count\\":3}' in " ".join(each.to_json() for each in result.messages)


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("shop.py", "names no agent"),
        ("none.py:agent", "there is no file"),
        ("shop.py:clerk", "there is no 'clerk'"),
        ("shop.py:nothing", "is a int, no Agent"),
        ("no_such_module_anywhere:agent", "there is no module"),
    ],
)
def test_what_names_no_agent_is_said(shop, monkeypatch, capsys, named, words):
    monkeypatch.chdir(shop)
    assert main(["mcp", "serve", named]) == 2
    assert words in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_said(capsys):
    assert main(["mcp", "serve", "--in", "no/such/folder"]) == 2
    assert "no/such/folder" in capsys.readouterr().err
