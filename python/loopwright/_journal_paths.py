"""Places of journals: lines of text, a file of one run, or a store of many."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core
from ._urls import is_url, shown_url
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = [
    "JournalPath",
    "backend",
    "beside",
    "holds_store",
    "is_store",
    "label_of",
    "locate_journal",
    "path_of",
    "project_store",
    "text_of",
]

_SUFFIXES = (".db", ".sqlite", ".sqlite3")
_MAGIC = b"SQLite format 3\0"


class JournalPath(NamedTuple):
    """A journal: `text`, or the `path` of a file, or of a store and the name of a `run` in it."""

    path: str | None = None
    run: str | None = None
    text: str | None = None

    def head(self) -> str:
        """The first line."""
        from pathlib import Path

        if self.text is not None:
            return self.text.partition("\n")[0]
        if self.run is not None:
            head: str = backend(self.path or "").journal_text(self.path or "", self.run, 0)[0]
            return head
        try:
            with Path(self.path or "").open("rb") as file:
                return file.readline().decode(errors="replace")
        except OSError as error:
            raise self._unreadable(error) from error

    def read(self) -> str:
        """All lines. What is whole is told by their sums."""
        from pathlib import Path

        if self.text is not None:
            return self.text
        if self.run is not None:
            text: str = backend(self.path or "").journal_text(self.path or "", self.run)[0]
            return text
        try:
            # A line may have been cut inside a character.
            return Path(self.path or "").read_bytes().decode(errors="replace")
        except OSError as error:
            raise self._unreadable(error) from error

    def label(self) -> dict[str, Any]:
        """What the first line says about who started the run."""
        return label_of(_core.journal_head(self.head())[1])

    @property
    def name(self) -> str:
        """How it is called in messages."""
        return f"{self.path!r}" if self.run is None else f"run {self.run!r} of {self.path!r}"

    def _unreadable(self, error: OSError) -> UsageError:
        reason = error.strerror or str(error)
        message = f"the journal {self.path!r} can't be read: {reason}"
        return UsageError(message, "journal_not_found", "give the path of a .jsonl file that a run wrote, or its name")


def label_of(about: str | None) -> dict[str, Any]:
    """What the program that started a run said about it."""
    found = json.loads(about) if about else None
    return found if isinstance(found, dict) else {}


def text_of(label: Mapping[str, Any], name: str) -> str | None:
    """A member of a label, if it is a name."""
    value = label.get(name)
    return value if isinstance(value, str) and value.strip() else None


def is_store(journal: object) -> bool:
    """Whether a journal that is to be written is a store: a `Journal`, or a path that ends as databases do."""
    if isinstance(journal, str):
        return journal.lower().endswith(_SUFFIXES) or is_url(journal)
    from .journal import Journal

    return isinstance(journal, Journal) or (
        isinstance(journal, os.PathLike) and os.fspath(journal).lower().endswith(_SUFFIXES)
    )


def path_of(journal: str | os.PathLike[str]) -> str:
    """The path of a journal; the address of one in Postgres without its password."""
    path = os.fspath(journal)
    return shown_url(path) if is_url(path) else path


def backend(path: str) -> Any:
    """Who reads and writes the store of this path."""
    if is_url(path):
        from . import _postgres

        return _postgres
    return _core


def beside(path: str) -> Any:
    """The place for a journal beside another one: its store, or its folder."""
    from pathlib import Path

    from .journal import Journal

    return Journal(path) if is_store(path) or holds_store(path) else Path(path).parent


def project_store() -> str:
    """The store of the project: `$LOOPWRIGHT_JOURNAL`, or `.loopwright/journal.db` in the working folder."""
    from pathlib import Path

    return os.environ.get("LOOPWRIGHT_JOURNAL") or str(Path(".loopwright") / "journal.db")


def locate_journal(journal: str | os.PathLike[str] | None, run: str | None = None) -> JournalPath:
    """The journal of a run that is there to be read.

    `journal` is text, the path of a file, a store or a folder of journals, and `run` the name of a run in it or the
    beginning of one; or `journal` itself is such a name, of a run in the project's store. `None`, which the result of a
    run without a journal has, raises `no_journal`.
    """
    from pathlib import Path

    if journal is None:
        message = "the run kept no journal"
        raise UsageError(message, "no_journal", "run it with journal=True, or with a folder for journals")
    if isinstance(journal, str) and "\n" in journal:
        return JournalPath(text=journal)
    if not isinstance(journal, (str, os.PathLike)):
        message = f"a {type(journal).__name__} is no place of a journal"
        raise UsageError(message, "invalid_journal", "give a path, a folder, a run's name, or `result.journal`")
    path = path_of(journal)
    if is_url(path):
        return JournalPath(path, backend(path).journal_find(path, run))
    if is_store(journal) or holds_store(path):
        if not Path(path).exists():
            message = f"there is no journal {path!r}"
            raise UsageError(message, "journal_not_found", "give the path of a store that runs wrote to")
        return JournalPath(path, _core.journal_find(path, run))
    if Path(path).is_dir() and run is not None:
        return _in_folder(Path(path), run)
    if isinstance(journal, str) and run is None and os.sep not in path and not Path(path).exists():
        found = _by_name(path)
        if found is not None:
            return found
    return JournalPath(path)


def _by_name(name: str) -> JournalPath | None:
    """The run of the project that is called so."""
    from pathlib import Path

    if not name:
        return None
    store, folder = project_store(), Path(".loopwright") / "runs"
    if is_url(store) or Path(store).is_file():
        try:
            store = path_of(store)
            return JournalPath(store, backend(store).journal_find(store, name))
        except UsageError as error:
            if error.code != "journal_not_found":
                raise
    if folder.is_dir():
        try:
            return _in_folder(folder, name)
        except UsageError as error:
            if error.code != "journal_not_found":
                raise
    return None


def _in_folder(folder: Path, name: str) -> JournalPath:
    matches = sorted(path for path in folder.glob("*.jsonl") if path.name.startswith(name)) if name else []
    exact = [path for path in matches if path.stem == name]
    if len(exact or matches) == 1:
        return JournalPath(str((exact or matches)[0]))
    if matches:
        message = f"{name!r} may be {', '.join(path.stem for path in matches[:5])}"
        raise UsageError(message, "ambiguous_run", "write more of the name")
    message = f"there is no journal {name!r}, and no run of that name in {str(folder)!r}"
    raise UsageError(message, "journal_not_found", "give the path of a journal, or the name of a run")


def holds_store(path: str) -> bool:
    """Whether a file is one of SQLite, whatever it is called."""
    from pathlib import Path

    try:
        with Path(path).open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False
