"""The agent that is killed, on DBOS: a request that fails, four looks at once, a note, a sub-agent, a payment that a
person allows. Each call leaves a line in a file.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from pathlib import Path
from typing import Any

from dbos import DBOS, SetWorkflowID
from loopwright import Agent, RunContext, durable, tool
from loopwright.durable.dbos import DBOSEngine, answer, pending
from loopwright.models import Call, ModelFailure, Response
from loopwright.testing import ScriptedModel, call

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


def launch(url: str) -> Any:
    """DBOS, and the workflow that runs the agent."""
    DBOS(
        config={
            "name": "loopwright-kill",
            "system_database_url": url,
            "application_version": "1",
            "executor_id": "one",
            "log_level": "ERROR",
            "run_admin_server": False,
            "notification_listener_polling_interval_sec": 0.02,
        }
    )

    @DBOS.workflow(name="shop")
    async def shop(prompt: str) -> str:
        return told(await durable.drive(agent(), prompt, engine=DBOSEngine()))

    DBOS.launch()
    return shop


async def run(url: str, run_id: str, ready: Any) -> str:
    """Begins a run, or goes on with it; and answers, as a person would who sees the question."""
    shop = launch(url)
    with SetWorkflowID(run_id):
        handle = await DBOS.start_workflow_async(shop, "Pay 1, please, and note 1 and 9.")
    ready()

    async def person() -> None:
        while True:
            question = await pending(run_id, 60.0)
            if question is not None:
                await answer(question, said=True)
            await asyncio.sleep(0.02)

    asking = asyncio.ensure_future(person())
    try:
        return str(await handle.get_result())
    finally:
        asking.cancel()
