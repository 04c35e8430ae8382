"""A worker of Restate for the agent that is killed, and the run as the server tells of it."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import hypercorn.asyncio
import hypercorn.config
import restate
from loopwright.durable import answer_to
from loopwright.durable.restate import people, run
from shop import PROMPT, agent, told

PORT = 9192


def serve() -> None:
    """Serves the workflow until it is killed."""
    shop = restate.Workflow("Shop")

    @shop.main()
    async def main(context: restate.WorkflowContext, prompt: str) -> str:
        return told(await run(context, agent(), prompt))

    people(shop)
    config = hypercorn.config.Config()
    config.bind, config.loglevel = [f"127.0.0.1:{PORT}"], "CRITICAL"
    asyncio.run(hypercorn.asyncio.serve(restate.app(services=[shop]), config))


def asked(url: str, given: Any = None, *, method: str = "POST", timeout: float = 2.0) -> Any:
    """What the server answers, parsed; `None` where it has no answer, or not yet."""
    # A handler without input takes no type of one.
    body, kind = (None, {}) if given is None else (json.dumps(given).encode(), {"content-type": "application/json"})
    request = urllib.request.Request(url, body, kind, method=method)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            text = answer.read()
            return json.loads(text) if text else True
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return None


def register(admin: str) -> None:
    """Tells the server of the worker, once it is there."""
    while asked(f"{admin}/deployments", {"uri": f"http://127.0.0.1:{PORT}", "force": True}, timeout=10) is None:
        time.sleep(0.1)


def until_it_ends(ingress: str, run_id: str, kill: Callable[[], None]) -> str:
    """Begins a run once, and answers as a person would who sees the question; `kill` is called meanwhile."""
    place = f"{ingress}/Shop/{run_id}"
    while asked(f"{place}/main/send", PROMPT) is None:
        time.sleep(0.05)
    while True:
        ended = asked(f"{ingress}/restate/workflow/Shop/{run_id}/output", method="GET")
        if ended is not None:
            return str(ended)
        kill()
        question = asked(f"{place}/question", timeout=0.5)
        if question:
            asked(f"{place}/answer", {"id": question["id"], **answer_to(question, said=True)}, timeout=0.5)
        time.sleep(0.02)
