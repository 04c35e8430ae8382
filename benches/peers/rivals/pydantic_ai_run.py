"""pydantic-ai: `Agent` with `OpenAIChatModel`, or `FunctionModel` for the loop alone."""

import _path  # noqa: F401
import harness
from pydantic_ai import Agent
from pydantic_ai.usage import UsageLimits

LIMITS = UsageLimits(request_limit=None)


def function_model(turns: int):
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    script = list(harness.scripted(turns))

    def answer(messages, _info):
        arguments = script[sum(isinstance(message, ModelResponse) for message in messages)]
        if arguments is None:
            return ModelResponse(parts=[TextPart(harness.FINAL)])
        return ModelResponse(parts=[ToolCallPart("lookup", arguments)])

    return FunctionModel(answer)


async def build(options):
    if options.offline:
        model = function_model(options.turns)
    else:
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        model = OpenAIChatModel("fake", provider=OpenAIProvider(base_url=options.base_url, api_key="k"))
    agent = Agent(model)

    @agent.tool_plain
    async def lookup(key: str) -> str:
        """Look a key up."""
        return harness.answer(key)

    async def run() -> harness.Outcome:
        result = await agent.run(harness.PROMPT, usage_limits=LIMITS)
        return harness.Outcome(result.output, 0)

    async def stream() -> harness.Outcome:
        events, final = 0, ""
        async with agent.run_stream_events(harness.PROMPT, usage_limits=LIMITS) as stream:
            async for event in stream:
                events += 1
                if event.event_kind == "agent_run_result":
                    final = event.result.output
        return harness.Outcome(final, events)

    return stream if options.stream else run


if __name__ == "__main__":
    harness.main("pydantic-ai", ["pydantic-ai-slim", "openai", "httpx2"], build)
