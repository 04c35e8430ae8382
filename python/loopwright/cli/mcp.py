"""`loopwright mcp serve`: an agent, its tools, answers from folders and native rooms, for other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from loopwright.errors import UsageError

from .agent_file import load_agent

if TYPE_CHECKING:
    import argparse

__all__ = ["mcp"]


def mcp(arguments: argparse.Namespace) -> int:
    """Serves until the client goes, or until it is interrupted; gives the exit code."""
    from loopwright.mcp import check_installed

    check_installed()
    for folder in arguments.folders:
        if not Path(folder).exists():
            raise UsageError(f"there is no folder {folder!r}", "no_folder", "give --in a folder that is there")
    agent = None if arguments.agent is None else load_agent(arguments.agent)
    from loopwright.mcp._serve import AgentServer

    server = AgentServer(
        arguments.name,
        agent=agent,
        folders=arguments.folders,
        model=arguments.model or "offline:extractive",
        rooms=not arguments.no_rooms,
        log_level="WARNING",
    )
    if arguments.http is None:
        server.run("stdio")
        return 0
    sys.stderr.write(f"serving at http://{arguments.host}:{arguments.http}/mcp\n")
    server.run("streamable-http", host=arguments.host, port=arguments.http)
    return 0
