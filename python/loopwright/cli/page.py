"""`loopwright show`: what happened in a run, round by round, in lines or as a page of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright.errors import UsageError
from loopwright.page.site import data_of, page_of

from . import journals
from .exit_codes import OK
from .screen import Screen, Style
from .text import fit, one_line, seconds

if TYPE_CHECKING:
    import argparse

__all__ = ["show"]


def show(arguments: argparse.Namespace) -> int:
    """Shows a run; gives the exit code."""
    screen = Screen(bare=arguments.json)
    place = journals.found(arguments.run, arguments.journal)
    named: dict[str, Any] = {}
    if arguments.against is not None:
        other = journals.found(arguments.against, arguments.journal)
        named = {"against": other.path or "", "against_run": other.run}
    if arguments.html is not None:
        _write(arguments.html, page_of(place.path or "", place.run, **named), screen)
        return OK
    data = data_of(place.path or "", place.run, **named)
    if arguments.json:
        screen.answer(json.dumps(data))
    else:
        _tell(data, screen)
    return OK


def _write(name: str, page: str, screen: Screen) -> None:
    if name == "-":
        screen.answer(page)
        return
    try:
        Path(name).write_text(page, encoding="utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        message = f"the page can't be written to {name!r}: {reason}"
        raise UsageError(message, "invalid_option", "give the path of a file: --html FILE") from error
    screen.say(f"wrote {one_line(name)}: open it in a browser")


def _tell(data: dict[str, Any], screen: Screen) -> None:
    def line(text: str, style: str | None = None) -> None:
        screen.answer(fit(one_line(text), max(screen.columns, 100)), style=style)

    line(f"run {data['run']}: {data['prompt']}", Style.BOLD)
    line("  " + ", ".join(f"{what} {said}" for what, said in data["figures"]))
    for row in data["rows"]:
        lane = f"{data['lanes'][row['lane']]}: " if row["lane"] else ""
        took = f", {seconds(row['took'])}" if row["took"] else ""
        screen.answer("")
        line(f"{lane}{row['title']}{took}", Style.BOLD)
        if row.get("text"):
            screen.answer(fit(f"  {one_line(row['text'])}", max(screen.columns, 100)))
        for part in row["parts"]:
            said = f"{part['title']} {part['said']} {part.get('verdict', '')}".strip()
            style = Style.RED if part.get("tone") == "bad" else None
            screen.answer(fit(f"  {part['kind']:<9} {one_line(said)}", max(screen.columns, 100)), style=style)
    other = data.get("other")
    if other is not None:
        parts = other["parts"]
        screen.answer("")
        if parts is None:
            line("the other run is the same, times aside")
        else:
            line(f"the other parts at event {parts['seq']}: {parts['words']}")
    elif data["answer"]:
        screen.answer(f"\n{data['answer']}")
    elif data["pending"]:
        screen.answer("\nIt waits for:")
        for each in data["pending"]:
            screen.answer(fit(f"  {one_line(each['said'])}", max(screen.columns, 100)), style=Style.YELLOW)
