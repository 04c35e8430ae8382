"""`loopwright` alone, and `loopwright help`: what can be done, and the pages that hold for all commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .commands import COMMANDS, GROUPS
from .exit_codes import OK, TABLE
from .screen import Screen, Style
from .text import width, wrap

if TYPE_CHECKING:
    import argparse

__all__ = ["overview", "topic"]

_WIDE = 110
"""Columns from which on examples and what they do stand side by side."""
_ABOUT = "Loopwright: agents that work with tools, answer with sources, and can be replayed exactly."
_MORE = (
    "`loopwright help COMMAND` explains one, `loopwright help exit-codes` how commands end, `loopwright help files` "
    "where things are written."
)
_FILES = {
    "journals": (
        "what runs said, read and did, but no keys: in the store that $LOOPWRIGHT_JOURNAL names, or "
        ".loopwright/journal.db in the working folder. --journal PLACE names another store (.db), a folder for a file "
        "of each run, or a new file (.jsonl); --no-journal writes none."
    ),
    "memory": (
        "what is remembered, in the file that --memory names, and nowhere without it. `loopwright memory` and `audit` "
        "look into the project's store unless --memory names another."
    ),
    "workspace": "file tools write below --workspace alone, which is the working folder by default.",
    "policies": (
        "rules for calls are read from policy.toml in /etc/loopwright, ~/.config/loopwright (or $XDG_CONFIG_HOME) and "
        ".loopwright of the workspace; --policy FILE adds one."
    ),
    "prices": "the table that $LOOPWRIGHT_PRICES names lies over the one that is built in.",
    "model": (
        "$LOOPWRIGHT_MODEL is the model where --model names none; keys come from the environment, and `loopwright "
        "doctor` says which are there."
    ),
    "output": (
        "answers go to stdout; progress, questions and errors to stderr. NO_COLOR is honoured. LOOPWRIGHT_DEBUG=1 "
        "shows where an error came from."
    ),
}
_MARGIN = 13


def topic(arguments: argparse.Namespace) -> int:
    """Explains a command or a topic; without one, what there is. Gives the exit code."""
    name, screen = arguments.topic, Screen()
    if name is None:
        return overview()
    if name == "exit-codes":
        screen.answer(wrap(TABLE, screen.columns, margin=7))
    elif name == "files":
        screen.answer("Where things are written, and what is read:")
        for what, told in _FILES.items():
            screen.answer(wrap(f"  {what:<{_MARGIN - 2}}{told}", min(screen.columns, 120), margin=_MARGIN))
    else:
        from .arguments import parser

        parser().parse_args([name, "--help"])
    return OK


def overview() -> int:
    """Shows what can be done, with an example each; gives the exit code."""
    screen = Screen()
    screen.answer(wrap(_ABOUT, screen.columns), style=Style.BOLD)
    beside = max(width(each.example) for each in COMMANDS.values()) + 4
    for title, group in GROUPS.items():
        screen.answer("")
        screen.answer(title, style=Style.BOLD)
        for each in group.values():
            if screen.columns >= _WIDE:
                line = f"  {each.example:<{beside - 2}}{each.summary}"
                screen.answer(wrap(line, screen.columns, margin=beside))
            else:
                screen.answer(wrap(f"  {each.example}", screen.columns, margin=6))
                screen.answer(screen.styled(wrap(f"      {each.summary}", screen.columns), Style.DIM))
    screen.answer("")
    screen.answer(wrap(_MORE, screen.columns))
    return OK
