"""Forgetting a user: the runs, what was saved of them, and the memories, by one call.

::

    report = loopwright.journal.forget("sam", journal="runs.db", memory="m.db")
    print(report)

Whose run it is stands in the first line of its journal (`user=` of the run, of `whom` or of the agent). A run without a
user is one's own where memory knows it as such, or where it was forked from a run that is.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core
from ._dataclasses import asdict, dataclass
from ._journal_paths import backend, holds_store, is_store, label_of, path_of, text_of
from ._plan import writing
from ._urls import is_url
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from typing import TypeAlias

    from .journal import Journal
    from .memory import Memory

    JournalPlace: TypeAlias = "Journal | str | os.PathLike[str]"

__all__ = ["ForgetReport", "Remainder", "aforget", "forget"]


@dataclass(frozen=True)
class Remainder:
    """Something that stays."""

    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


@dataclass(frozen=True)
class ForgetReport:
    """What went of a user, or would go; and what stays."""

    user: str
    dry_run: bool
    """Whether nothing was deleted: this is what would go."""
    runs: tuple[str, ...] = ()
    """The names of the runs, those of its sub-agents within each."""
    files: tuple[str, ...] = ()
    """The files that held one run each."""
    memories: tuple[int, ...] = ()
    """The numbers of the memories, and of what was derived from them."""
    relations: int = 0
    """Relations that rested on none of the memories."""
    work: int = 0
    """Pieces of work after turns that waited, were under way or had failed."""
    audit: int = 0
    """Records of the audit that lost name and details."""
    stays: tuple[Remainder, ...] = ()
    """What may hold words of the user and was left, and why."""
    similar: tuple[str, ...] = ()
    """Users whose names differ in nothing but case, white space and composition. Nothing of theirs goes."""

    @property
    def known(self) -> bool:
        """Whether anything was kept of the user."""
        return bool(self.runs or self.memories or self.relations or self.work or self.audit)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data for JSON."""
        return {"known": self.known, **asdict(self)}

    def __str__(self) -> str:
        counts = {
            "run": len(self.runs),
            "memory": len(self.memories),
            "relation": self.relations,
            "piece of work": self.work,
            "record of the audit": self.audit,
        }
        told = [_counted(number, name) for name, number in counts.items() if number]
        gone = ", ".join(told) if told else "nothing is kept"
        lines = [f"{'would forget' if self.dry_run else 'forgotten'} of {self.user}: {gone}"]
        lines += [f"stays: {each}" for each in self.stays]
        lines += [f"another user: {name}" for name in self.similar]
        return "\n".join(lines)


_PLURALS = {"memory": "memories", "piece of work": "pieces of work", "record of the audit": "records of the audit"}


def _counted(number: int, name: str) -> str:
    return f"{number} {name if number == 1 else _PLURALS.get(name, name + 's')}"


def forget(
    user: str,
    *,
    journal: JournalPlace | Iterable[JournalPlace] | None = None,
    memory: Memory | str | os.PathLike[str] | None = None,
    dry_run: bool = False,
) -> ForgetReport:
    """Deletes the runs of a user from journals and all that a memory keeps of that one; no byte of it is left there.

    There is no way back: `dry_run=True` tells what would go. A journal is a store, a folder or a file, or several of
    these; what was recovered beside it counts as part of it. Sub-agents' runs are in the run that started them. A run
    forked from one of the user's goes too unless it says that it is another user's: that stays, and `stays` says so.
    Users are told apart letter by letter.

    Raises:
        UsageError: `journal_in_use`, one of the runs is under way: nothing was deleted. `erase_unfinished`, another
            connection reads what a file was before: the same call finishes it. `damaged_store`, it can't be told whose
            runs a store holds: nothing was deleted.
    """
    if not isinstance(user, str) or not user.strip():
        raise UsageError(f"a user can't be {user!r:.100}", "invalid_value", "name the user to forget")
    if journal is None and memory is None:
        message = "there is no place to forget the user in"
        raise UsageError(message, "invalid_value", "give journal=, memory=, or both")
    entries = [entry for place in _places(journal) for entry in _entries(place)]
    with _opened(memory) as opened:
        kept = None if opened is None else opened.forget_user(user, dry_run=True)
        his = _runs_of(user, entries, frozenset(() if kept is None else kept.runs))
        stays = list(_left(user, entries, his))
        under_way = [entry for entry in his if entry.state == "running"]
        if dry_run:
            stays += [Remainder(entry.called, "it is under way, and nothing goes until it ends") for entry in under_way]
        elif under_way:
            message = f"{_counted(len(under_way), 'run')} of {user!r} under way: {_some(under_way)}"
            raise UsageError(message, "journal_in_use", "end them, or wait; nothing was deleted")
        else:
            # Memory goes last: it knows of runs whose journals name nobody.
            _delete(his)
            if opened is not None:
                kept = opened.forget_user(user)
                why = "words that were erased stand in lines of people's own"
                stays += [Remainder(path, why) for path in kept.left_in]
    own = [entry for entry in his if entry.state != "running"]
    return ForgetReport(
        user,
        dry_run,
        tuple(dict.fromkeys(entry.run for entry in own)),
        tuple(entry.path for entry in own if not entry.stored),
        *((), 0, 0, 0) if kept is None else (tuple(kept), kept.relations, kept.work, kept.audit),
        stays=tuple(stays),
        similar=tuple(sorted({*(() if kept is None else kept.similar), *_similar(user, entries)})),
    )


async def aforget(
    user: str,
    *,
    journal: JournalPlace | Iterable[JournalPlace] | None = None,
    memory: Memory | str | os.PathLike[str] | None = None,
    dry_run: bool = False,
) -> ForgetReport:
    """`forget`, to be awaited."""
    from asyncio import to_thread

    return await to_thread(forget, user, journal=journal, memory=memory, dry_run=dry_run)


@dataclass(frozen=True)
class _Entry:
    """A run in a journal."""

    run: str
    path: str
    stored: bool
    """Whether the journal is a store of many runs."""
    state: str
    user: str | None
    origin: str | None
    """The run that it was forked from."""

    @property
    def called(self) -> str:
        return f"run {self.run} of {self.path}" if self.stored else self.path


# ---- what there is ----


def _places(journal: JournalPlace | Iterable[JournalPlace] | None) -> list[Any]:
    if journal is None:
        return []
    given = [journal] if isinstance(journal, (str, os.PathLike)) else journal
    if not isinstance(given, Iterable):
        message = f"a journal can't be {type(journal).__name__}"
        raise UsageError(message, "invalid_value", "give a Journal, a path, or several of them")
    return list(given)


def _entries(place: JournalPlace) -> Iterator[_Entry]:
    """The runs of a journal, and of what was recovered from it."""
    if is_url(address := path_of(place)):
        for told in json.loads(backend(address).journal_labels(address)):
            yield _entry(told, address, stored=True)
        return
    path = Path(place)
    if not path.exists():
        message = f"there is no journal {str(path)!r:.200}"
        raise UsageError(message, "journal_not_found", "give a store, a folder or a file that runs wrote to")
    if path.is_dir():
        for file in sorted(path.glob("*.jsonl")):
            yield _of_file(file)
    elif is_store(place) or holds_store(str(path)):
        for store in (path, *_beside(path, r"-recovered-\d+")):
            for told in json.loads(_core.journal_labels(str(store))):
                yield _entry(told, store, stored=True)
    else:
        for file in (path, *_beside(path, r"-(recovered-)?\d+")):
            yield _of_file(file)


def _beside(path: Path, ending: str) -> list[Path]:
    """Files that were made beside one, as its name with an ending says."""
    name = re.compile(re.escape(path.stem) + ending + re.escape(path.suffix))
    return sorted(file for file in path.parent.iterdir() if name.fullmatch(file.name) and file.is_file())


def _of_file(path: Path) -> _Entry:
    with writing(str(path), "be read", "give the path of a journal that can be read"):
        return _entry(json.loads(_core.journal_file_label(str(path))), path, stored=False)


def _entry(told: dict[str, Any], path: Path | str, *, stored: bool) -> _Entry:
    label = label_of(told["about"])
    user, origin = text_of(label, "user"), text_of(label, "forked_from")
    return _Entry(told["run"] or Path(path).stem, str(path), stored, told["state"], user, origin)


def _opened(memory: Memory | str | os.PathLike[str] | None) -> AbstractContextManager[Memory | None]:
    """The memory; one that is opened for this is closed after it."""
    from .memory import Memory

    if memory is None or isinstance(memory, Memory):
        return nullcontext(memory)
    if not isinstance(memory, (str, os.PathLike)):
        message = f"a memory can't be {type(memory).__name__}"
        raise UsageError(message, "invalid_value", "give a Memory, or the path of its file")
    if not Path(memory).is_file():
        message = f"there is no memory {os.fspath(memory)!r}"
        raise UsageError(message, "store_not_found", "give the path of a file that a Memory wrote")
    return Memory(memory)


# ---- whose it is ----


def _runs_of(user: str, entries: list[_Entry], known: frozenset[str]) -> list[_Entry]:
    """The runs of a user, and those that began as one of them and are nobody else's; and runs whose deletion was not
    finished, whosever they were.
    """
    own = {entry for entry in entries if entry.user == user or (entry.user is None and entry.run in known)}
    own |= _descendants(own, [entry for entry in entries if entry.user is None])
    return [entry for entry in entries if entry in own or entry.state == "emptied"]


def _left(user: str, entries: list[_Entry], his: list[_Entry]) -> Iterator[Remainder]:
    """What may hold words of the user, and is not deleted."""
    own = set(his)
    others = _descendants(own, entries) - own
    for entry in entries:
        if entry in others:
            whose = "names no user" if entry.user is None else f"belongs to the user {entry.user!r}"
            yield Remainder(entry.called, f"it goes back to a run of {user!r}, and {whose}: delete it by its name")
        elif entry.state == "unreadable" and entry not in own:
            yield Remainder(entry.called, "its first line can't be read, so whose it is can't be told")


def _descendants(runs: set[_Entry], among: list[_Entry]) -> set[_Entry]:
    """Forks of runs, and forks of these."""
    forks: dict[str, list[_Entry]] = defaultdict(list)
    for entry in among:
        if entry.origin is not None:
            forks[entry.origin].append(entry)
    found: set[_Entry] = set()
    waiting = [entry.run for entry in runs]
    while waiting:
        new = set(forks.pop(waiting.pop(), ())) - found
        found |= new
        waiting += [entry.run for entry in new]
    return found


def _similar(user: str, entries: list[_Entry]) -> set[str]:
    key = _core.MemoryStore.user_key(user)
    return {
        entry.user
        for entry in entries
        if entry.user is not None and entry.user != user and _core.MemoryStore.user_key(entry.user) == key
    }


# ---- deleting ----


def _delete(entries: list[_Entry]) -> None:
    stores: dict[str, list[str]] = defaultdict(list)
    for entry in entries:
        if entry.stored:
            stores[entry.path].append(entry.run)
            continue
        with writing(entry.path, "be deleted", "check who may write in its folder"):
            _core.journal_delete_file(entry.path)
    for path, runs in stores.items():
        backend(path).journal_delete(path, runs)


def _some(entries: list[_Entry]) -> str:
    names = [entry.run for entry in entries]
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")  # noqa: PLR2004 - as many as one looks at
