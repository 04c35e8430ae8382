"""Two sub-agents at once, watched while they work; then a run that is paused.

python examples/sub_agents.py [MODEL]      without a model scripts play all three: no key, no network
"""

from __future__ import annotations

import asyncio
import sys

from loopwright import Agent, Budget, SubAgent, tool
from loopwright.events import AgentFinished, AgentStarted, Paused, ToolStarted
from loopwright.models import Call
from loopwright.testing import ScriptedModel, call, calls


@tool(read_only=True)
async def read_shelf(shelf: str) -> str:
    """Reads what stands on a shelf."""
    await asyncio.sleep(0.1)
    return {"glazes": "celadon, tenmoku", "clays": "stoneware, porcelain"}[shelf]


def librarian(name: str, shelf: str) -> SubAgent:
    """A sub-agent that reads one shelf."""
    script = [call("read_shelf", shelf=shelf), f"On the shelf of {shelf} I found what we need."]
    model = sys.argv[1] if len(sys.argv) > 1 else ScriptedModel(script)
    return SubAgent(name, f"knows the shelf of {shelf}", tools=[read_shelf], model=model)


async def main() -> None:
    """Runs it."""
    both = calls(
        Call("spawn", {"agent": "glazes", "task": "Which glazes are there?"}),
        Call("spawn", {"agent": "clays", "task": "Which clays are there?"}),
    )
    agent = Agent(
        sys.argv[1] if len(sys.argv) > 1 else ScriptedModel([both, "Two glazes and two clays."]),
        agents=[librarian("glazes", "glazes"), librarian("clays", "clays")],
        budget=Budget(rounds=8),
    )
    run = agent.start("Look at both shelves at once.")
    paused = False
    async for event in run.events():
        match event:
            case AgentStarted(child=child, task=task):
                print(f"{child} begins: {task}")
            case ToolStarted(name="read_shelf", path=path):
                print(f"{path} reads")
                if not paused:
                    paused = True
                    run.pause()
            case Paused():
                print("the run stands still")
                run.resume()
            case AgentFinished(child=child, stop_reason=stop):
                print(f"{child} has ended: {stop}")
            case _:
                pass
    result = await run
    print(result.final, f"[{result.stop_reason}; {result.rounds} requests of {agent.budget.rounds}]")


if __name__ == "__main__":
    asyncio.run(main())
