"""Loopwright: `Agent` as its users have it, policy and budget on, and a journal on disk for every run."""

import atexit
import itertools
import json
import os
import shutil
import tempfile

import _path  # noqa: F401
import harness
from loopwright import Agent, Budget, Model, tool
from loopwright.events import RunFinished
from loopwright.models import Call, Response


@tool(read_only=True)
async def lookup(key: str) -> str:
    """Look a key up."""
    return harness.answer(key)


class Scripted:
    """A model in memory. It knows where the conversation is because runs come one after another here."""

    def __init__(self, turns: int) -> None:
        self.script = itertools.cycle(harness.scripted(turns))

    async def respond(self, _request: object) -> Response:
        arguments = next(self.script)
        if arguments is None:
            return Response(harness.FINAL)
        return Response(calls=[Call("lookup", json.loads(arguments))])


async def build(options):
    budget = Budget(tool_rounds=1_000, rounds=1_000, wall_time=600)
    if options.offline:
        if options.runs > 1:
            raise harness.Unavailable("the in-memory model serves one run at a time")
        agent = Agent(Scripted(options.turns), tools=[lookup], budget=budget)
    else:
        # `run.py` removes what all processes wrote, at the end.
        kept = os.environ.get("JOURNALS")
        journals = tempfile.mkdtemp(prefix="journals-", dir=kept)
        if kept is None:
            atexit.register(shutil.rmtree, journals, ignore_errors=True)
        agent = Agent(
            Model("openai-chat:fake", base_url=options.base_url, api_key="k"),
            tools=[lookup],
            budget=budget,
            journal=journals,
        )

    async def run() -> harness.Outcome:
        result = await agent.run(harness.PROMPT)
        return harness.Outcome(result.final or "", 0)

    async def stream() -> harness.Outcome:
        events, final = 0, ""
        async for event in agent.stream(harness.PROMPT):
            events += 1
            if isinstance(event, RunFinished):
                final = event.result.final or ""
        return harness.Outcome(final, events)

    return stream if options.stream else run


if __name__ == "__main__":
    harness.main("loopwright", ["loopwright"], build)
