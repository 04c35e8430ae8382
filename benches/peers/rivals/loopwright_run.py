"""Loopwright: `Agent` as its users have it, with policy, budget and journal left at their defaults."""

import _path  # noqa: F401
import harness
from loopwright import Agent, Budget, tool


@tool(read_only=True)
async def lookup(key: str) -> str:
    """Look a key up."""
    return harness.answer(key)


def scripted_model(turns: int):
    try:
        from loopwright.testing import ScriptedModel
    except ImportError as error:
        raise harness.Unavailable(f"no scripted model: {error}") from error
    return ScriptedModel.calling("lookup", list(harness.scripted(turns)), final=harness.FINAL)


async def build(options):
    budget = Budget(tool_rounds=1_000, iterations=1_000, wall_time=600)
    if options.offline:
        agent = Agent(scripted_model(options.turns), tools=[lookup], budget=budget)
    else:
        agent = Agent("openai-chat:fake", base_url=options.base_url, api_key="k", tools=[lookup], budget=budget)

    async def run() -> harness.Outcome:
        result = await agent.run(harness.PROMPT)
        return harness.Outcome(result.final or "", 0)

    async def stream() -> harness.Outcome:
        events, final = 0, ""
        async for event in agent.stream(harness.PROMPT):
            events += 1
            final = getattr(getattr(event, "result", None), "final", None) or final
        return harness.Outcome(final, events)

    return stream if options.stream else run


if __name__ == "__main__":
    harness.main("loopwright", ["loopwright"], build)
