"""A worker of DBOS for the agent that is killed."""

from __future__ import annotations

import asyncio
from typing import Any

from dbos import DBOS, SetWorkflowID
from loopwright import durable
from loopwright.durable.dbos import DBOSEngine, answer, pending
from shop import PROMPT, agent, told


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
        handle = await DBOS.start_workflow_async(shop, PROMPT)
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
