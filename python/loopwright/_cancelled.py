"""Runs that are cancelled by their name, from another process and before they begin: a mark beside the journal.

One thread of a process looks for marks while runs of a chosen name are under way in it, twice a second.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ._journal_paths import backend, holds_store, is_store
from ._run_options import run_name
from ._urls import is_url

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["cancel", "watch"]

_PAUSE = 0.5
"""Seconds between two looks."""


def _marks(path: str) -> Path:
    """The folder of the marks beside a journal: of a store, or of the files of a folder."""
    if path.endswith(".jsonl"):
        return Path(path).parent / ".cancel"
    return Path(f"{path}.cancel") if is_store(path) or holds_store(path) else Path(path) / ".cancel"


def cancel(path: str, name: str) -> None:
    """Marks a run as cancelled. The mark stays until the run has ended by it."""
    if is_url(path):
        backend(path).cancel(path, run_name(name))
        return
    marks = _marks(path)
    marks.mkdir(parents=True, exist_ok=True)
    (marks / (run_name(name) or "")).touch()


class _Watch:
    """The runs of this process that may be cancelled by name, and the thread that looks."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.runs: dict[tuple[Path, str], Callable[[str], None]] = {}
        self.thread: threading.Thread | None = None

    def add(self, place: tuple[Path, str], end: Callable[[str], None]) -> None:
        with self.lock:
            self.runs[place] = end
            if self.thread is None or not self.thread.is_alive():
                self.thread = threading.Thread(target=self.look_on, name="loopwright cancels", daemon=True)
                self.thread.start()

    def look_on(self) -> None:
        while True:
            time.sleep(_PAUSE)
            with self.lock:
                if not self.runs:
                    self.thread = None
                    return
                runs = dict(self.runs)
            for marks in {marks for marks, _ in runs}:
                # Most often nobody has cancelled anything, and there is no folder.
                with suppress(OSError):
                    for name in os.listdir(marks):  # noqa: PTH208 - names alone
                        if (end := runs.get((marks, name))) is not None:
                            end("cancel")


_watch = _Watch()


def watch(path: str, name: str, end: Callable[[str], None]) -> Callable[[bool], None]:
    """Calls `end` when a run is cancelled by its name, at once where it was before. Gives what stops that: with `True`
    where the run has ended, and the mark with it.
    """
    if is_url(path):
        stop_watching: Callable[[bool], None] = backend(path).watch(path, name, end)
        return stop_watching
    place = _marks(path), name
    mark = place[0] / name
    if mark.exists():
        end("cancel")
    _watch.add(place, end)

    def stop(ended: bool) -> None:  # noqa: FBT001 - called in one place
        with _watch.lock:
            _watch.runs.pop(place, None)
        if ended:
            mark.unlink(missing_ok=True)

    return stop
