"""Events while a run goes on. The connection breaks in the middle of an answer, and the run goes on all the same.

python examples/streaming.py [MODEL]      without a model a server of ours plays one, faults and all
"""

from __future__ import annotations

import asyncio
import sys

from loopwright import Agent, Model, tool
from loopwright.testing import WireServer, call, fault, text

STORY = "It rains in Bergen today, twelve degrees. Take a coat."


@tool(read_only=True)
async def weather(city: str) -> str:
    """The weather in a city."""
    await asyncio.sleep(0.01)
    return f"{city}: rain, 12 degrees"


async def main() -> None:
    script = [call("weather", city="Bergen"), text(STORY).but(fault.cut(after=4)), text(STORY)]
    with WireServer(script, strict="any") as server:
        model = Model(sys.argv[1]) if len(sys.argv) > 1 else Model("openai-chat:scripted", base_url=f"{server.url}/v1")
        agent = Agent(model, tools=[weather])
        async with agent.stream("What is it like in Bergen?") as stream:
            async for event in stream:
                match event.type:
                    case "text_delta":
                        print(event.text, end="", flush=True)
                    case "tool_started":
                        print(f"[{event.name} {event.arguments}]")
                    case "tool_finished":
                        print(f"[-> {event.excerpt} after {event.duration:.2f} s]")
                    case "retry":
                        print(f"\n[{event.reason}; again]")
                    case "reset":
                        print("[what stood here is void]")
                    case "run_finished":
                        print(f"\n[{event.result.stop_reason}; {event.result.usage.total_tokens} tokens]")


if __name__ == "__main__":
    asyncio.run(main())
