"""`loopwright mcp serve`: an agent, its tools, answers from folders and native rooms, for other programs."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright.errors import UsageError

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
    agent = None if arguments.agent is None else loaded(arguments.agent)
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


def loaded(where: str) -> Any:
    """The agent that `FILE:NAME` or `MODULE:NAME` names. Raises a `UsageError` that says what is not there."""
    from loopwright.agent import Agent

    place, _, name = where.rpartition(":")
    if not place or not name:
        raise UsageError(f"{where!r} names no agent", "invalid_agent", "write FILE:NAME, such as shop.py:agent")
    try:
        found = getattr(_module(place), name)
    except AttributeError:
        raise UsageError(f"there is no {name!r} in {place!r}", "invalid_agent", "name a variable of it") from None
    if not isinstance(found, Agent):
        message = f"{where!r} is a {type(found).__name__}, no Agent"
        raise UsageError(message, "invalid_agent", "name a variable that holds an Agent")
    return found


def _module(place: str) -> Any:
    path = Path(place)
    if path.suffix != ".py":
        sys.path.insert(0, str(Path.cwd()))
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as error:
            raise UsageError(
                f"there is no module {place!r}: {error}", "invalid_agent", "name a file or module"
            ) from None
    if not path.is_file():
        raise UsageError(f"there is no file {place!r}", "invalid_agent", "name the file that holds the agent")
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None, "it is a file of Python"  # noqa: S101 - a fault of ours
    assert spec.loader is not None, "it is a file of Python"  # noqa: S101 - a fault of ours
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
