"""An agent of each framework over its own client and over our adapter: one run, and what became of it.

    python one_run.py FRAMEWORK theirs|ours fault NAME
    python one_run.py FRAMEWORK theirs|ours cpu URL TURNS

It prints one line: how the run ended, or the CPU time of a turn in microseconds.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import warnings
from pathlib import Path

os.environ["LANGSMITH_TRACING"] = "false"
os.environ["LITELLM_LOG"] = "ERROR"
warnings.filterwarnings("ignore")
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "python"), str(HERE.parents[1] / "tests" / "python" / "adapters")]

from loopwright import Model  # noqa: E402

CALLED: list[str] = []


def weather(city: str) -> str:
    """How the weather is in a city."""
    CALLED.append(city)
    return f"sunny in {city}, {len(CALLED)}"


def ours_at(url: str) -> Model:
    return Model("openai-chat:test", base_url=url, api_key="k")


def pydantic_ai(url: str, side: str):
    from pydantic_ai import Agent
    from pydantic_ai.usage import UsageLimits

    if side == "ours":
        from loopwright.adapters.pydantic_ai import LoopwrightModel

        model = LoopwrightModel(ours_at(url))
    else:
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        model = OpenAIChatModel("test", provider=OpenAIProvider(base_url=f"{url}/v1", api_key="k"))
    agent = Agent(model, tools=[weather])

    async def run(streamed: bool) -> str:
        limits = UsageLimits(request_limit=None)
        if not streamed:
            return (await agent.run("How is Oslo?", usage_limits=limits)).output
        async with agent.iter("How is Oslo?", usage_limits=limits) as steps:
            async for node in steps:
                if Agent.is_model_request_node(node):
                    async with node.stream(steps.ctx) as events:
                        async for _ in events:
                            pass
        return steps.result.output

    return run


def langchain(url: str, side: str):
    from langchain.agents import create_agent

    if side == "ours":
        from loopwright.adapters.langchain import ChatLoopwright

        model = ChatLoopwright(model=ours_at(url))
    else:
        from langchain_openai import ChatOpenAI

        model = ChatOpenAI(model="test", base_url=f"{url}/v1", api_key="k")
    agent = create_agent(model, [weather])
    config = {"recursion_limit": 1_000_000}

    async def run(streamed: bool) -> str:
        asked = {"messages": [("user", "How is Oslo?")]}
        if not streamed:
            return (await agent.ainvoke(asked, config))["messages"][-1].text
        async for mode, each in agent.astream(asked, config, stream_mode=["messages", "values"]):
            last = each if mode == "values" else None
        return last["messages"][-1].text

    return run


def openai_agents(url: str, side: str):
    import agents

    agents.set_tracing_disabled(True)
    if side == "ours":
        from loopwright.adapters.openai_agents import LoopwrightModel

        model = LoopwrightModel(ours_at(url))
    else:
        from openai import AsyncOpenAI

        client = AsyncOpenAI(base_url=f"{url}/v1", api_key="k")
        model = agents.OpenAIChatCompletionsModel(model="test", openai_client=client)
    agent = agents.Agent(name="a", model=model, tools=[agents.function_tool(weather)])

    async def run(streamed: bool) -> str:
        if not streamed:
            return (await agents.Runner.run(agent, "How is Oslo?", max_turns=1_000_000)).final_output
        stream = agents.Runner.run_streamed(agent, "How is Oslo?", max_turns=1_000_000)
        async for _ in stream.stream_events():
            pass
        return stream.final_output

    return run


def litellm(url: str, side: str):
    """Litellm has no agent: the loop is the plainest one."""
    import litellm as library

    if side == "ours":
        from loopwright.adapters.litellm import register

        register()
        place = {"model": "loopwright/openai-chat:test", "api_base": url, "api_key": "k"}
    else:
        place = {"model": "openai/test", "api_base": f"{url}/v1", "api_key": "k"}
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tools = [{"type": "function", "function": {"name": "weather", "description": "Weather.", "parameters": schema}}]

    async def asked(messages: list, streamed: bool):
        if not streamed:
            found = await library.acompletion(messages=messages, tools=tools, **place)
        else:
            stream = await library.acompletion(messages=messages, tools=tools, stream=True, **place)
            found = library.stream_chunk_builder([each async for each in stream])
        return found.choices[0].message

    async def run(streamed: bool) -> str:
        messages: list = [{"role": "user", "content": "How is Oslo?"}]
        while True:
            said = await asked(messages, streamed)
            messages.append(said)
            if not said.tool_calls:
                return said.content
            for call in said.tool_calls:
                given = weather(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": given})

    return run


FRAMEWORKS = {"pydantic-ai": pydantic_ai, "langchain": langchain, "openai-agents": openai_agents, "litellm": litellm}


def fault(make, side: str, name: str) -> str:
    from adapter_cases import ANSWER, CALL, FAULTS, PIECES
    from loopwright.testing import WireServer, call

    streamed = not name.startswith("h")
    with WireServer([FAULTS[name], call("weather", **CALL), PIECES]) as server:
        try:
            said = asyncio.run(asyncio.wait_for(make(server.url, side)(streamed), 60))
        except BaseException as error:
            return f"run ends: {type(error).__name__}"
        if said != ANSWER:
            return f"wrong answer: {said[:40]!r}" if said else "empty answer"
        return "survived" if len(CALLED) == 1 else f"survived, {len(CALLED)} calls"


def cpu(make, side: str, url: str, turns: int) -> float:
    async def measured() -> float:
        run = make(url, side)
        await run(False)
        before = time.process_time()
        await run(False)
        return (time.process_time() - before) / (turns + 1) * 1e6

    return asyncio.run(measured())


def main(framework: str, side: str, what: str, *rest: str) -> None:
    make = FRAMEWORKS[framework]
    found = fault(make, side, rest[0]) if what == "fault" else cpu(make, side, rest[0], int(rest[1]))
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
