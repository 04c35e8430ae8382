"""Recorded runs as cases: the prompt of each, and what came of it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright import _core
from loopwright._dataclasses import dataclass, field
from loopwright._journal_paths import holds_store, is_store, locate_journal
from loopwright._replay import naming
from loopwright._trace import parsed
from loopwright.result import Messages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loopwright._journal_paths import JournalPath
    from loopwright.messages import Message

__all__ = ["Recorded", "dataset", "events_with_commands", "recorded"]


@dataclass(frozen=True)
class Recorded:
    """A run that has ended, as a case: what was asked, and what came of it."""

    run: str
    """Its name."""
    place: str
    """Where its journal is, for people."""
    prompt: Message
    before: Messages
    """What was said before the prompt."""
    expected: str | None
    """Its answer; `None` where it had none."""
    stop_reason: str
    model: str
    machine: str
    """What ran it: `turn`, `grounded` or `research`."""
    text: str = field(repr=False)
    """The lines of its journal."""


def recorded(journal: str | os.PathLike[str], run: str | None = None) -> list[Recorded]:
    """The runs of a store, of a folder of journals, or of one journal (a path, or its lines), the oldest first.

    ::

        for case in evals.recorded("runs.db"):
            print(case.run, case.prompt.text, case.expected)

    Runs that have not ended are left out. `run` names one of a store, or begins its name.
    """
    return [case for case in map(_case, _places(journal, run)) if case is not None]


def _places(journal: str | os.PathLike[str], run: str | None) -> Iterator[JournalPath]:
    path = os.fspath(journal)
    if run is None and "\n" not in path:
        if holds_store(path) or (is_store(journal) and Path(path).exists()):
            from loopwright.journal import Journal

            yield from (locate_journal(journal, each.id) for each in reversed(Journal(path).runs()))
            return
        if Path(path).is_dir():
            yield from (locate_journal(each) for each in sorted(Path(path).glob("*.jsonl"), key=_begun))
            return
    yield locate_journal(journal, run)


def _begun(path: Path) -> tuple[float, str]:
    return path.stat().st_mtime, path.name


def _case(place: JournalPath) -> Recorded | None:
    with naming(place):
        text = place.read()
        run, _, machine = _core.journal_head(text.partition("\n")[0])
    kind, made = next(iter(json.loads(machine).items()))
    started: list[dict[str, Any]] = []
    outcome: dict[str, Any] | None = None
    for event, commands in events_with_commands(text):
        if "start" in event:
            started = event["start"]["messages"]
        for command in commands:
            if isinstance(command, dict) and "finish" in command:
                outcome = command["finish"]["outcome"]
    if outcome is None or not started:
        return None
    said = Messages(started)
    turn = made.get("turn", made)
    return Recorded(
        run=run,
        place=place.path or "",
        prompt=said[-1],
        before=Messages(started[:-1]),
        expected=outcome.get("final"),
        stop_reason=outcome["stop"],
        model=str(turn.get("model", "")),
        machine=kind,
        text=text,
    )


def events_with_commands(text: str) -> Iterator[tuple[dict[str, Any], list[Any]]]:
    """Each event of a journal with the commands that it gave, up to the first line that is not whole."""
    for line in text.splitlines()[1:]:
        step = parsed(line)
        if not isinstance(step, dict):
            return
        if "event" in step:
            kind = step["event"]["kind"]
            yield (kind if isinstance(kind, dict) else {kind: {}}), step["commands"]


def dataset(journal: str | os.PathLike[str], run: str | None = None) -> Any:
    """The same as a `Dataset` of `pydantic-evals`: the answer of each run is what is expected, letter by letter.

    ::

        evals.dataset("runs.db").to_file("cases.yaml")

    Where a conversation went on, what was said before is in the `metadata` of its case. Raises `missing_extra` and
    `wrong_version`.
    """
    from ._packages import need_pydantic_evals

    need_pydantic_evals("loopwright.evals.dataset")
    from pydantic_evals import Case, Dataset
    from pydantic_evals.evaluators import EqualsExpected

    def case(one: Recorded) -> Any:
        about = {"journal": one.place, "stop_reason": one.stop_reason, "model": one.model}
        if len(one.before):
            about["messages"] = one.before.to_json()
        return Case(name=one.run, inputs=one.prompt.text, expected_output=one.expected, metadata=about)

    name = Path(os.fspath(journal)).stem if "\n" not in os.fspath(journal) else "journal"
    typed = Dataset[str, Any, Any]
    return typed(name=name, cases=[case(each) for each in recorded(journal, run)], evaluators=[EqualsExpected()])
