"""`loopwright worker`: carries out the runs that are queued in a Postgres."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from loopwright._journal_paths import project_store
from loopwright.durable import Worker

from .agent_file import load_agent
from .exit_codes import OK
from .screen import Screen
from .text import one_line

if TYPE_CHECKING:
    import argparse

__all__ = ["worker"]


def worker(arguments: argparse.Namespace) -> int:
    """Works until it is ended; gives the exit code."""
    screen = Screen(bare=False)
    agent = load_agent(arguments.agent)
    place = arguments.journal if arguments.journal is not None else project_store()
    found = Worker(agent, place, concurrency=arguments.concurrency, queue=arguments.queue, lease=arguments.lease)
    screen.say(f"works at {one_line(found.path)}, {arguments.concurrency} runs at once; SIGTERM hands them over")
    asyncio.run(found.run(until_empty=arguments.until_empty))
    return OK
