"""Our `AgentServer` as the server that the official conformance suite of MCP looks at: `mcp_server.py FOLDER PORT`.

The suite wants a server with fixtures of fixed names. Those that are tools as ours are (text, pictures, failures,
progress) are tools of an agent, called through its guard. The rest (resources, prompts, completions, sampling,
questions of every kind) are those of the official package's own fixture, in FOLDER, added to our server.
"""

from __future__ import annotations

import asyncio
import base64
import sys

import mcp.server
import mcp.server.mcpserver
from loopwright import Agent, Image, RunContext, tool
from loopwright.mcp import AgentServer
from loopwright.testing import ScriptedModel
from loopwright.tools import Text

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)


@tool(read_only=True)
def test_simple_text() -> str:
    """A text."""
    return "This is a simple text response for testing."


@tool(read_only=True)
def test_image_content() -> list[object]:
    """A picture."""
    return [Image(PIXEL)]


@tool(read_only=True)
def test_error_handling() -> str:
    """Fails."""
    message = "This tool intentionally returns an error for testing"
    raise RuntimeError(message)


@tool(read_only=True)
async def test_tool_with_progress(context: RunContext) -> list[object]:
    """Says how far it is."""
    for done in (0, 50, 100):
        context.emit(f"{done} of 100: {done} done")
        await asyncio.sleep(0.05)
    return [Text("done")]


AGENT = Agent(
    ScriptedModel(["ok"]),
    name="scripted",
    tools=[test_simple_text, test_image_content, test_error_handling, test_tool_with_progress],
)


class Judged(AgentServer):
    """The fixture's server is one of ours."""

    def __init__(self, *names: str, **options: object) -> None:
        super().__init__(*names, agent=AGENT, rooms=False, **options)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    mcp.server.MCPServer = mcp.server.mcpserver.MCPServer = Judged
    from mcp_everything_server.server import main

    main(["--port", sys.argv[2], "--log-level", "WARNING"])
