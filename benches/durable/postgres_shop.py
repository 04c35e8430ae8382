"""What workers of a journal in Postgres run: the agent that is killed, and one of many short runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from loopwright import Agent, Budget, RunContext, tool
from loopwright.guard import Guard
from loopwright.models import Call, Response
from shop import agent as shop

killed = shop()._changed({"guard": Guard(approve="suspend")})
"""It is left until a person decides."""


@tool
async def count(context: RunContext[None], n: int) -> str:
    """Leaves a line in a file."""
    if (effects := os.environ.get("EFFECTS")) is not None:
        with Path(effects).open("a") as file:  # noqa: ASYNC230 - a line
            file.write(f"{context.run_id} count {n} {os.getpid()}\n")
    return "x" * int(os.environ.get("RESULT", "10"))


class Counts:
    """A model that answers at once: so many calls, one a turn."""

    name = "counts"

    def __init__(self, number: int) -> None:
        self.number = number

    async def respond(self, request: Any) -> Response:
        at = request.turns
        return Response("", [Call("count", {"n": at})]) if at < self.number else Response("Done.")


def turns(number: int) -> Agent[Any, Any]:
    """An agent that takes so many turns, one call each."""
    return Agent(Counts(number), tools=[count], budget=Budget(rounds=number + 1, tool_rounds=number + 1))


short = turns(int(os.environ.get("TURNS", "2")))
