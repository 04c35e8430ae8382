"""`loopwright memory` and `loopwright audit`: what a store remembers, what is under way, and what happened."""

from __future__ import annotations

import json
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright._dataclasses import asdict
from loopwright._journal_paths import project_store
from loopwright.errors import UsageError
from loopwright.guard import redact

from .exit_codes import OK
from .screen import Screen, Style
from .text import clean, fit, one_line, seconds

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable

    from loopwright import Memory

__all__ = ["audit", "memory"]


def memory(arguments: argparse.Namespace) -> int:
    """Shows or changes what a store remembers; gives the exit code."""
    views: dict[str, Callable[[Memory, argparse.Namespace, Screen], None]] = {
        "list": _list,
        "why": _why,
        "forget": _forget,
        "work": _work,
        "reflections": _reflections,
    }
    screen = Screen(bare=arguments.json)
    with _opened(arguments, read_only=arguments.view != "forget") as found:
        views[arguments.view](found, arguments, screen)
    return OK


def audit(arguments: argparse.Namespace) -> int:
    """Shows what happened; gives the exit code."""
    screen = Screen(bare=arguments.json)
    since = None if arguments.last is None else time.time() - arguments.last
    with _opened(arguments, read_only=True) as found:
        events = found.audit(
            session=arguments.session, turn=arguments.turn, type=arguments.type, since=since, limit=arguments.limit
        )
    if arguments.json:
        screen.answer(_json({"events": [asdict(event) for event in events]}))
        return OK
    if not events:
        screen.say("the audit holds no such event")
    for event in events:
        detail = json.dumps(event.detail, ensure_ascii=False)
        _line(
            screen,
            f"{_when(event.at)}  {event.type:20}  {event.turn or '-':16}  {_shown(detail)}",
            _TONES.get(event.type),
        )
    return OK


_TONES = {"run_failed": Style.RED, "work_failed": Style.RED, "work_dropped": Style.RED, "warning": Style.BOLD}


def _opened(arguments: argparse.Namespace, *, read_only: bool) -> Memory:
    from loopwright import Memory

    place = arguments.memory if arguments.memory is not None else project_store()
    if not Path(place).is_file():
        message = f"there is no store {place!r}"
        raise UsageError(message, "store_not_found", "give the path of a memory with --memory")
    try:
        return Memory(place, read_only=read_only)
    except UsageError as error:
        if error.code != "read_only_store":
            raise
        # One that an older version wrote is brought up to date, if that is allowed.
        try:
            return Memory(place)
        except UsageError:
            raise error from None


def _list(found: Memory, arguments: argparse.Namespace, screen: Screen) -> None:
    limit = arguments.limit or 50
    hits = found.recall(arguments.query, limit) if arguments.query else found.newest(limit)
    if arguments.json:
        screen.answer(_json({"memories": [asdict(hit) for hit in hits]}))
        return
    if not hits:
        screen.say("nothing is remembered")
    for hit in hits:
        kind = hit.category or hit.kind
        _line(screen, f"{hit.id:5}  {_when(hit.stored_at)}  {hit.trust:10}  {kind:12}  {_shown(hit.text)}")


def _why(found: Memory, arguments: argparse.Namespace, screen: Screen) -> None:
    why = found.why(_number(arguments))
    if arguments.json:
        screen.answer(_json(asdict(why)))
        return
    for line in str(why).splitlines():
        screen.answer(redact(clean(line)))


def _forget(found: Memory, arguments: argparse.Namespace, screen: Screen) -> None:
    gone = found.forget(_number(arguments), erase=arguments.erase)
    if arguments.json:
        screen.answer(_json({"forgotten": gone}))
    else:
        screen.answer(f"forgotten: {', '.join(map(str, gone))}")


def _work(found: Memory, arguments: argparse.Namespace, screen: Screen) -> None:
    works = found.work()
    if arguments.json:
        screen.answer(_json({"work": [asdict(one) for one in works]}))
        return
    if not works:
        screen.say("no work is known")
    for one in works:
        took = "" if one.started_at is None or one.ended_at is None else f"  {seconds(one.ended_at - one.started_at)}"
        wrong = "" if one.error is None else f"  {_shown(one.error)}"
        tone = Style.RED if one.state == "failed" else None
        _line(
            screen, f"{one.id:5}  {_when(one.queued_at)}  {one.state:7}  {one.kind:13}  {one.name}{took}{wrong}", tone
        )


def _reflections(found: Memory, arguments: argparse.Namespace, screen: Screen) -> None:
    learned = found.reflections()
    if arguments.json:
        screen.answer(_json({"reflections": [asdict(one) for one in learned]}))
        return
    if not learned:
        screen.say("nothing was learned from looking back")
    for one in learned:
        seen = f"seen {one.seen}x" + (", stale" if one.stale else "")
        _line(screen, f"{one.id:5}  {one.confidence:4.2f}  {one.category:11}  {seen:14}  {_shown(one.pattern)}")


def _number(arguments: argparse.Namespace) -> int:
    if arguments.query is None or not arguments.query.isdecimal():
        message = f"{arguments.view} needs the number of a memory"
        raise UsageError(message, "invalid_value", "loopwright memory list shows them")
    return int(arguments.query)


def _line(screen: Screen, line: str, style: str | None = None) -> None:
    screen.answer(fit(line, screen.columns) if screen.out_is_live else line, style=style)


def _shown(text: str) -> str:
    return redact(one_line(text))


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, tz=timezone.utc).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _json(value: dict[str, Any] | Iterable[Any]) -> str:
    return json.dumps(value, ensure_ascii=True)
