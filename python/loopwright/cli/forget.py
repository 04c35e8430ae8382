"""`loopwright forget`: deletes the runs and memories of a user, after it has shown them and was told to."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from loopwright._journal_paths import project_store
from loopwright.errors import UsageError

from .exit_codes import INTERRUPTED, OK
from .screen import Screen, Style
from .text import clean, one_line

if TYPE_CHECKING:
    import argparse

    from loopwright.journal import ForgetReport

__all__ = ["forget"]


def forget(arguments: argparse.Namespace) -> int:
    """Shows what would go, asks, and deletes it; gives the exit code."""
    from loopwright.journal import forget

    screen = Screen(bare=arguments.json)
    journals, memory = _places(arguments)
    for place in [*journals, *([] if memory is None else [memory])]:
        screen.note(f"looking in {one_line(place)}")
    plan = forget(arguments.user, journal=journals, memory=memory, dry_run=True)
    if arguments.dry_run:
        _show(plan, screen, json_wanted=arguments.json)
        return OK
    if not arguments.yes and not _agreed(plan, screen):
        screen.say("nothing was deleted")
        return INTERRUPTED
    _show(forget(arguments.user, journal=journals, memory=memory), screen, json_wanted=arguments.json)
    return OK


def _places(arguments: argparse.Namespace) -> tuple[list[str], str | None]:
    """The journals and the memory that are named; without any, the store of the project as both."""
    if arguments.journal or arguments.memory is not None:
        return arguments.journal, arguments.memory
    store = project_store()
    if not Path(store).is_file():
        message = f"there is no store {store!r}"
        raise UsageError(message, "store_not_found", "say where to look, with --journal and --memory")
    return [store], store


def _agreed(plan: ForgetReport, screen: Screen) -> bool:
    """Whether a person who saw the plan says yes."""
    if not (screen.asks and sys.stdin.isatty()):
        message = "there is no terminal to ask a person on, and nothing was deleted"
        raise UsageError(message, "not_confirmed", "give --yes to delete without a question, --dry-run to look")
    screen.say(clean(str(plan)), whole=True)
    screen.ask("Delete it for good? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _show(report: ForgetReport, screen: Screen, *, json_wanted: bool) -> None:
    if json_wanted:
        screen.answer(json.dumps(report.to_dict()))
        return
    first, *others = clean(str(report)).splitlines()
    screen.answer(first, style=Style.BOLD)
    for line in others:
        screen.answer(line)
