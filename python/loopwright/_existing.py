"""Runs of a name that somebody chose: begun once, and gone on with or told of by whoever comes with the name again."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core
from ._continue import Begun, resuming
from ._journal_paths import backend, is_store, locate_journal, path_of
from ._plan import place_of
from ._urls import is_url
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._plan import Plan

__all__ = ["existing"]

_AFRESH = ("run_not_begun", "invalid_journal")
"""What is said of a journal whose writer was killed before it wrote the first event."""


def existing(agent: Any, journal: Any) -> tuple[Any, Callable[[Plan], Begun]] | None:
    """The run of the agent's name that the journal holds: the agent for it, and what begins it where it ended.

    `None` where there is none, or one that was broken off before anything happened: that leaves nothing behind.
    Further attempts at an answer (`NAME-2`, …) belong to it; the last one is gone on with.
    """
    name: str = agent._run_name
    if journal is None or isinstance(journal, bool):
        message = f"whether there is a run {name!r} is told by its journal, and this one has none in a file"
        raise UsageError(message, "no_journal", "give the agent or the run journal=, the path of a store")
    if agent._given.get("handoffs"):
        message = "a run that may be handed over can't be begun or gone on with by its name"
        raise UsageError(message, "invalid_option", "leave on_existing out; and go on with agent.resume")
    # An earlier attempt may be there while a later one is none yet: another process was killed between the two.
    made = 0
    while made == 0 or _is_there(journal, name, made):
        if not _is_there(journal, name, made):
            return None
        made += 1
    at = made - 1
    text = _text_of(journal, name, at)
    if text is None:
        return None if at == 0 else _told(agent, journal, name, at - 1)
    if _core.replay(text)[0]["outcome"] is None:
        begin = _resuming(journal, name, at)
        return agent, _after(_or_told(begin, _told(agent, journal, name, at)[1]), at)
    return _told(agent, journal, name, at)


def _resuming(journal: Any, name: str, at: int) -> Callable[[Plan], Begun]:
    source, here = _source(journal, name, at), _numbered(name, at)
    if is_store(journal) and is_url(path := path_of(source)):
        from ._postgres._queue import answers_of

        answers, shown = answers_of(path, here)
        if answers:
            return resuming(source, here, answers=answers, shown=shown, stored=True)
    return resuming(source, here if is_store(journal) else None)


def _or_told(begin: Callable[[Plan], Begun], told: Callable[[Plan], Begun]) -> Callable[[Plan], Begun]:
    """Begins where a run broke off; or as it has ended, where another process has ended it meanwhile."""

    def begun(plan: Plan) -> Begun:
        try:
            return begin(plan)
        except UsageError as error:
            if error.code != "run_finished":
                raise
        return told(plan)

    return begun


def _told(agent: Any, journal: Any, name: str, at: int) -> tuple[Any, Callable[[Plan], Begun]]:
    """The end of a run that has ended: nothing of it is done again, neither what follows a turn."""
    other = copy(agent)
    other._remember, other._plans, other._like = None, {}, None
    other._hooks = {stage: each for stage, each in agent._hooks.items() if not stage.endswith("_reflect")}

    def begin(_: Plan) -> Begun:
        text = _text_of(journal, name, at) or ""
        events = _core.replay(text)[0]["events"]
        run, commands = _core.Run.fork(_numbered(name, at), text, events)
        return Begun(run, place_of(journal, name, at), _numbered(name, at), commands)

    return other, _after(begin, at)


def _after(begin: Callable[[Plan], Begun], at: int) -> Callable[[Plan], Begun]:
    """Begins behind so many attempts."""

    def begun(plan: Plan) -> Begun:
        found = begin(plan)
        found.made = at
        return found

    return begun


def _numbered(name: str, at: int) -> str:
    return name if at == 0 else f"{name}-{at + 1}"


def _source(journal: Any, name: str, at: int) -> Any:
    return journal if is_store(journal) else place_of(journal, _numbered(name, at), at)


def _is_there(journal: Any, name: str, at: int) -> bool:
    if is_store(journal):
        if is_url(path := path_of(journal)):
            return _is_kept(path, _numbered(name, at))
        from .journal import Journal

        return any(run.id == _numbered(name, at) for run in Journal(journal).runs())
    return Path(_source(journal, name, at)).exists()


def _is_kept(path: str, name: str) -> bool:
    from ._postgres import journal_has, store_at

    # A worker that has just claimed it knows that nothing has happened in it.
    hold = store_at(path).held.get(name)
    return hold.begun if hold is not None and hold.worker else journal_has(path, name)


def _text_of(journal: Any, name: str, at: int) -> str | None:
    """The lines of a run; `None` of one that nothing has happened in, which is gone then."""
    source = _source(journal, name, at)
    try:
        if is_store(journal):
            path = path_of(source)
            text: str = backend(path).journal_text(path, _numbered(name, at))[0]
        else:
            text = locate_journal(source).read()
        if _core.replay(text)[0]["events"]:
            return text
    except UsageError as error:
        if error.code not in (*_AFRESH, "journal_not_found"):
            raise
    if is_store(journal) and is_url(path_of(source)):
        from ._postgres._kept import take
        from ._postgres._store import store_at

        # One that is queued, or whose process died before it began: ours to begin.
        take(store_at(path_of(source)), _numbered(name, at)).begun = False
        return None
    # Whoever has just begun it holds it: `journal_in_use` says so.
    with suppress(FileNotFoundError):
        if is_store(journal):
            _core.journal_delete(str(source), [_numbered(name, at)])
        else:
            _core.journal_delete_file(str(source))
    return None
