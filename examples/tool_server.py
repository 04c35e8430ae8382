"""A server of tools, and an agent of another program that uses it, over the Model Context Protocol.

python examples/tool_server.py                   an agent that asks this very file, as a server, by standard streams
python examples/tool_server.py MODEL             with a real model
python examples/tool_server.py --serve           the server, for any client; --serve 8000 by HTTP

Needs `pip install 'loopwright[mcp]'`.
"""

from __future__ import annotations

import sys

from loopwright import Agent, Approval, ToolError, mcp, tool
from loopwright.events import Event, ToolFinished
from loopwright.testing import ScriptedModel, call, text

STOCK = {"bolts": 120, "nuts": 80}


@tool(read_only=True)
def stock(part: str) -> int:
    """How many of a part there are."""
    if part not in STOCK:
        raise ToolError(f"{part} are not kept", hint=f"there are {', '.join(STOCK)}")
    return STOCK[part]


@tool
def take(part: str, number: int) -> str:
    """Take parts out of the store."""
    STOCK[part] -= number
    return f"{STOCK[part]} {part} are left"


def serve() -> None:
    """Each tool is offered, and what the agent may not do no client may."""
    server = mcp.AgentServer("store", agent=Agent("offline:extractive", name="store", tools=[stock, take]), rooms=False)
    if len(sys.argv) > 2:
        server.run("streamable-http", port=int(sys.argv[2]))
    else:
        server.run("stdio")


def approve(question: Approval) -> bool | str:
    """A server that says nothing else of a tool is asked about."""
    print(f"? {question.name} {question.arguments}: {question.why}")
    return question.arguments["number"] <= 50 or "at most 50 at a time"


def tell(event: Event) -> None:
    if isinstance(event, ToolFinished):
        print(f"* {event.name}: {event.excerpt}")


def main() -> None:
    script = [
        call("store_stock", part="bolts"),
        call("store_take", part="bolts", number=20),
        call("store_stock", part="screws"),
        text("I took 20 bolts; 100 are left. Screws are not kept."),
    ]
    store = mcp.stdio(sys.executable, __file__, "--serve", name="store", read_only=["stock"], trust="trusted")
    try:
        model: str | ScriptedModel = sys.argv[1] if len(sys.argv) > 1 else ScriptedModel(script)
        agent = Agent(model, tools=[store.prefixed("store")], guard=approve)
        print(agent.run_sync("Take 20 bolts, and say how many screws there are.", on_event=tell).text)
    finally:
        store.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve()
    else:
        main()
