"""Events while a run goes on. The connection breaks in the middle of an answer, and the run goes on all the same."""

from __future__ import annotations

import asyncio

from loopwright import Agent, Model, tool
from loopwright.events import Reset, Retry, RunFinished, TextDelta, ToolFinished, ToolStarted
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
        agent = Agent(Model("openai-chat:scripted", base_url=f"{server.url}/v1"), tools=[weather])
        async for event in agent.stream("What is it like in Bergen?"):
            match event:
                case TextDelta(text=words):
                    print(words, end="", flush=True)
                case ToolStarted(name=name, arguments=arguments):
                    print(f"[{name} {arguments}]")
                case ToolFinished(excerpt=excerpt, duration=seconds):
                    print(f"[-> {excerpt} after {seconds:.2f} s]")
                case Retry(reason=reason):
                    print(f"\n[{reason}; again]")
                case Reset():
                    print("[what stood here is void]")
                case RunFinished(result=result):
                    print(f"\n[{result.stop_reason}; {result.usage.total_tokens} tokens]")


if __name__ == "__main__":
    asyncio.run(main())
