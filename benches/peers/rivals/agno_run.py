"""agno: `Agent` with `OpenAILike`, no database, telemetry off."""

import os

os.environ["AGNO_TELEMETRY"] = "false"

import _path  # noqa: E402, F401
import harness  # noqa: E402
from agno.agent import Agent  # noqa: E402


class RunErrorEvent(Exception):
    """A stream that ended with this event."""


class RunStatusError(Exception):
    """A result whose status is an error."""


async def lookup(key: str) -> str:
    """Look a key up."""
    return harness.answer(key)


async def build(options):
    if options.offline:
        raise harness.Unavailable("no in-memory model in the package")
    from agno.models.openai.like import OpenAILike

    agent = Agent(model=OpenAILike(id="fake", base_url=options.base_url, api_key="k"), tools=[lookup], telemetry=False)

    async def run() -> harness.Outcome:
        result = await agent.arun(harness.PROMPT)
        check(result)
        return harness.Outcome(result.content or "", 0)

    async def stream() -> harness.Outcome:
        events, final = 0, ""
        async for event in agent.arun(harness.PROMPT, stream=True, stream_events=True):
            events += 1
            name = getattr(event, "event", "")
            if name == "RunError":
                raise RunErrorEvent(event.content)
            if name == "RunCompleted":
                final = event.content or ""
        return harness.Outcome(final, events)

    return stream if options.stream else run


def check(result) -> None:
    """Without streaming, a failed run comes back as a result that says so instead of an exception."""
    status = getattr(result.status, "value", result.status)
    if str(status).lower() == "error":
        raise RunStatusError(result.content)


if __name__ == "__main__":
    harness.main("agno", ["agno", "openai", "httpx2"], build)
