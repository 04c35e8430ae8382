"""The agent that is killed: a request that fails, four looks at once, a note, a sub-agent, a payment that a
person allows. Each call leaves a line in a file.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from pathlib import Path
from typing import Any

from loopwright import Agent, RunContext, tool
from loopwright.models import Call, ModelFailure, Response
from loopwright.testing import ScriptedModel, call

PROMPT = "Pay 1, please, and note 1 and 9."
LOOKS = [call("look", n=n) for n in range(4)]


def effect(context: RunContext[Any], name: str) -> None:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(f"{context.run_id} {name} {context.idempotency_key}\n")


async def worked(longest: float) -> None:
    await asyncio.sleep(random.uniform(0.0, longest))  # noqa: S311 - moments


@tool(read_only=True)
async def look(context: RunContext[None], n: int) -> str:
    """Looks."""
    await worked(0.15)
    effect(context, f"look {n}")
    return f"saw {n}"


@tool
async def note(context: RunContext[None], n: int) -> str:
    """Writes something down."""
    await worked(0.01)
    effect(context, f"note {n}")
    await worked(0.15)
    return f"noted {n}"


@tool(risk="confirm")
async def pay(context: RunContext[None], n: int) -> str:
    """Pays."""
    await worked(0.01)
    effect(context, f"pay {n}")
    await worked(0.15)
    return f"paid {n}"


def agent() -> Agent[None, str]:
    first: list[int] = []

    async def busy(_: Any) -> Any:
        """A model that is overloaded at first; a worker that comes later may find it free."""
        first.append(1)
        await worked(0.01)
        if len(first) == 1:
            raise ModelFailure("busy", "overloaded", retry_after=0.02)
        return LOOKS

    # Its report tells how many tokens it took: those of a `Response` do not depend on what it was told.
    answers = [Response("", [Call("note", {"n": 9})]), Response("helped")]
    helper = Agent(ScriptedModel(answers, by_turn=True), tools=[note], name="helper", description="helps")
    script = [busy, call("note", n=1), call("spawn", agent="helper", task="note 9"), call("pay", n=1), "All done."]
    return Agent(ScriptedModel(script, by_turn=True, keep_requests=False), tools=[look, note, pay], agents=[helper])


def told(result: Any) -> str:
    """How a run ended, as JSON: what is compared."""
    return json.dumps({"final": result.output, "stop": result.stop_reason, "said": result.messages.to_json()})
