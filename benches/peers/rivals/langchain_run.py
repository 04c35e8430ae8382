"""langchain: `create_agent` with `ChatOpenAI`, no checkpointer, LangSmith off."""

import os

os.environ["LANGSMITH_TRACING"] = os.environ["LANGCHAIN_TRACING_V2"] = "false"

import _path  # noqa: E402, F401
import harness  # noqa: E402
from langchain.agents import create_agent  # noqa: E402
from langchain_core.tools import tool  # noqa: E402

CONFIG = {"recursion_limit": 1_000_000}


@tool
async def lookup(key: str) -> str:
    """Look a key up."""
    return harness.answer(key)


def fake_model(turns: int):
    import json

    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    script = [arguments and json.loads(arguments) for arguments in harness.scripted(turns)]

    class Scripted(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools, **kwargs):
            return self

        def _generate(self, messages, stop=None, run_manager=None, **kwargs):
            turn = sum(isinstance(message, AIMessage) for message in messages)
            arguments = script[turn]
            if arguments is None:
                message = AIMessage(content=harness.FINAL)
            else:
                message = AIMessage(content="", tool_calls=[{"name": "lookup", "args": arguments, "id": f"c{turn}"}])
            return ChatResult(generations=[ChatGeneration(message=message)])

        async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
            return self._generate(messages)

    return Scripted()


async def build(options):
    if options.offline:
        model = fake_model(options.turns)
    else:
        from langchain_openai import ChatOpenAI

        model = ChatOpenAI(model="fake", base_url=options.base_url, api_key="k")
    agent = create_agent(model, tools=[lookup])
    prompt = {"messages": [{"role": "user", "content": harness.PROMPT}]}

    async def run() -> harness.Outcome:
        result = await agent.ainvoke(prompt, CONFIG)
        return harness.Outcome(result["messages"][-1].text, 0)

    async def stream() -> harness.Outcome:
        events, message, final = 0, None, ""
        async for chunk, _metadata in agent.astream(prompt, CONFIG, stream_mode="messages"):
            events += 1
            if chunk.id != message:
                message, final = chunk.id, ""
            final += chunk.text
        return harness.Outcome(final, events)

    return stream if options.stream else run


if __name__ == "__main__":
    harness.main("langchain", ["langchain", "langchain-openai", "langgraph", "openai", "httpx2"], build)
