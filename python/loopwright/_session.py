"""Conversations of a session: a run goes on where the last one of its name ended, in the store of its journals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core
from ._journal_paths import backend, is_store, locate_journal, path_of, text_of
from ._replay import naming
from ._urls import is_url

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["said_before"]


def said_before(options: Mapping[str, Any], place: Any, labels: Mapping[str, Any]) -> Any:
    """What was said before a run: `messages`, or those of its session's last run. `None` where nothing was, or where
    journals are not kept in a store.
    """
    messages, session = options.get("messages"), options.get("session")
    if messages is not None or session is None or place is None or isinstance(place, bool) or not is_store(place):
        return messages
    path = path_of(place)
    there = is_url(path) or Path(path).exists()
    last = backend(path).journal_last_of(path, session, text_of(labels, "user")) if there else None
    if last is None:
        return None
    from .result import Messages

    whole = locate_journal(place, last)
    with naming(whole):
        return Messages(_core.replay(whole.read())[1])
