"""The journals of many runs in one file: what runs there are, what happened in them, and files of single runs.

    from loopwright import Agent, Journal
    from loopwright.testing import ScriptedModel

    journal = Journal("project.db")
    Agent(ScriptedModel(["Hello."]), journal=journal).run_sync("Say hello.")
    for run in journal.runs():
        print(run.id, run.state, run.prompt)

Runs of one process share one writer; other processes may write other runs of the same file at the same time.
"""

from __future__ import annotations

import contextlib
import json
import os
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core
from ._cache import CacheEntry
from ._dataclasses import dataclass
from ._fields import made
from ._forget import ForgetReport, aforget, forget
from ._journal_paths import JournalPath, backend, locate_journal, path_of
from ._plan import run_id as named
from ._replay import Diff, Replay, diff, replay
from ._run_options import run_name
from ._trace import RoundTrace, trace
from ._urls import is_url
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from typing_extensions import Self

    from ._approval import Approval
    from ._stop_reason import StopReason
    from ._suspend import Answer
    from .events import Event, UnknownEvent
    from .messages import Message

__all__ = [
    "CacheEntry",
    "Diff",
    "ForgetReport",
    "Journal",
    "Replay",
    "RoundTrace",
    "RunInfo",
    "aforget",
    "diff",
    "events_of",
    "forget",
    "replay",
    "trace",
]


@dataclass(frozen=True)
class RunInfo:
    """A run of a store. `state` is `running`, `finished`, or `broken off`: nobody writes it any more, and it can be
    resumed.
    """

    id: str
    begun: datetime
    ended: datetime | None
    model: str
    prompt: str
    """How the prompt begins."""
    state: str
    stop_reason: StopReason | None
    cost: float | None
    tokens: int | None
    events: int


class Journal(os.PathLike[str]):
    """A file of SQLite that holds the journals of runs, made when the first one is written; or a database of Postgres,
    which many processes and machines share.

    Give it, a path that ends in `.db`, `.sqlite` or `.sqlite3`, or an address (`postgresql://…`), as `journal=` to an
    agent or a run. A password in an address stays in this process: elsewhere it is `PGPASSWORD` or that of `~/.pgpass`.
    """

    def __init__(self, path: str | os.PathLike[str], *, durable: bool = False) -> None:
        self.path = path_of(path)
        self.durable = durable
        """Whether what is written is on disk before a tool with side effects starts."""

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"Journal({self.path!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the file as soon as no run writes to it."""
        backend(self.path).journal_close(self.path)

    def runs(self) -> list[RunInfo]:
        """All runs, the newest first."""
        if not is_url(self.path) and not Path(self.path).exists():
            return []

        def when(stamp: int | None) -> datetime | None:
            return None if stamp is None else datetime.fromtimestamp(stamp / 1000, timezone.utc)

        def info(told: dict[str, Any]) -> RunInfo:
            begun = when(told["begun"]) or datetime.fromtimestamp(0, timezone.utc)
            return made(RunInfo, told, id=told["run"], begun=begun, ended=when(told["ended"]), stop_reason=told["stop"])

        return [info(told) for told in json.loads(backend(self.path).journal_runs(self.path))]

    def find(self, run: str | None = None) -> str:
        """The name of the run that `run` is the beginning of; without it, of the only run there is."""
        return locate_journal(self, run).run or ""

    def about(self, run: str | None = None) -> dict[str, Any]:
        """What a run was told about itself: its `metadata`, `user` and `session`."""
        return locate_journal(self, run).label()

    def text(self, run: str | None = None) -> str:
        """The lines of a run, as a file of its own would have them."""
        return locate_journal(self, run).read()

    def events(self, run: str | None = None) -> list[Event | UnknownEvent]:
        """What a run told while it went on, but for the pieces of answers."""
        return events_of(self, run)

    def delete(self, run: str) -> None:
        """Deletes a run that nobody writes to, so that nothing of it is left in the file. There is no way back.

        The store is written anew for that, which takes as long as copying it. `erase_unfinished` says that another
        connection was in the way: the run is listed without its events until the same call finishes it. Of a file of
        one run, or of one in a folder of such files, what was saved beside it (`NAME.jsonl.saved`) goes too.
        """
        place = locate_journal(self.path, run)
        if place.run is not None:
            backend(self.path).journal_delete(self.path, [place.run])
            return
        path, name = Path(place.path or ""), ""
        # One whose first line is damaged is called as its file is.
        with contextlib.suppress(UsageError):
            name = _core.journal_head(place.head())[0]
        if not run or not (name.startswith(run) or path.stem.startswith(run)):
            raise UsageError(f"{str(path)!r} holds no run {run!r}", "journal_not_found", "give the name of its run")
        _core.journal_delete_file(str(path))

    def cancel(self, run_id: str) -> None:
        """Ends the run of this name with what it has reached, within a second, in whichever process it is under way;
        one that has not begun yet ends when it begins. It must be the `run_id` that somebody chose for it.
        """
        from ._cancelled import cancel

        cancel(self.path, run_id)

    def start(
        self,
        prompt: str | Message,
        *,
        run_id: str | None = None,
        queue: str = "default",
        user: str | None = None,
        session: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> str:
        """Queues a run for the workers of a journal in Postgres, and gives its name. Raises `run_exists` where there is
        one of the name `run_id`: nothing is begun twice.
        """
        from ._options import labels
        from ._postgres import _queue
        from .messages import prompt_of

        self._shared("is queued")
        said = prompt_of(prompt)
        if not said.content or (isinstance(prompt, str) and not prompt.strip()):
            raise UsageError("the prompt is empty", "empty_prompt", "say what the model shall do")
        name = run_name(run_id) or named()
        options = {"user": user, "session": session, "metadata": labels(metadata) or None}
        told = {"prompt": prompt if isinstance(prompt, str) else json.loads(said.to_json())}
        _queue.add(
            self.path, name, queue, {**told, **{key: value for key, value in options.items() if value is not None}}
        )
        return name

    def pending(self, run_id: str) -> list[Approval]:
        """The calls of a run in Postgres that was left until people decide on them."""
        from ._postgres import _queue

        self._shared("shows what it waits for")
        return _queue.pending(self.path, run_id)

    def answer(self, run_id: str, answers: Mapping[str, Answer]) -> None:
        """Says what people decided on the calls of a run in Postgres, from any process: by the `call_id` of each of
        `pending`. A worker goes on with a queued run then, and whoever resumes another one.
        """
        from ._postgres import _queue

        self._shared("is answered")
        _queue.answer(self.path, run_id, answers)

    def _shared(self, what: str) -> None:
        if not is_url(self.path):
            message = f"a run of {self.path!r} {what} by whoever has the file"
            hint = "with a journal in a file: agent.run(..., run_id=), agent.resume(path, answers, run=)"
            raise UsageError(message, "not_shared", f"give Journal('postgresql://…'); {hint}")

    def export(self, run: str, path: str | os.PathLike[str]) -> None:
        """Writes a run into a new `.jsonl` file."""
        text = self.text(run)
        with Path(path).open("x", encoding="utf-8", newline="") as file:
            file.write(text)

    def import_run(self, journal: str | os.PathLike[str]) -> str:
        """Takes in a run from a `.jsonl` file or its lines, as far as it is whole; gives its name."""
        name: str = backend(self.path).journal_import(self.path, locate_journal(journal).read())
        return name


def events_of(journal: str | os.PathLike[str], run: str | None = None) -> list[Event | UnknownEvent]:
    """What a run told while it went on, from its journal: a path, a store and the name of a run, or lines.

    The pieces of answers (`TextDelta` and the like) are not in journals. All others have the `event_id` they had.
    """
    from ._event_ids import events_of

    place: JournalPath = locate_journal(journal, run)
    return events_of(place.read())
