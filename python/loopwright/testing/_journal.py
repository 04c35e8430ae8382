"""What models answered in a run, from its journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopwright._journal_paths import locate_journal
from loopwright._replay import naming
from loopwright._trace import parsed
from loopwright.errors import UsageError

if TYPE_CHECKING:
    import os

__all__ = ["answers_of"]


def answers_of(journal: str | os.PathLike[str], run: str | None = None) -> list[dict[str, Any]]:
    """The answers to the requests of a run and of its sub-agents, in the canonical form and in their order."""
    place = locate_journal(journal, run)
    answers: dict[int, dict[str, Any] | None] = {}
    with naming(place):
        for line in place.read().splitlines():
            step = parsed(line)
            if not isinstance(step, dict):
                # The line at which the process was killed.
                break
            event = step.get("event")
            if event is None:
                continue
            kind = event["kind"]
            answered = kind.get("generated") if isinstance(kind, dict) else None
            if answered is not None and answered["id"] in answers:
                answers[answered["id"]] = answered["response"]
            for command in step["commands"]:
                asked = command.get("generate") if isinstance(command, dict) else None
                if asked is not None and asked["purpose"] == "executor":
                    answers[asked["id"]] = None
    found = [answer for answer in answers.values() if answer is not None]
    if not found:
        message = f"no model answered in the journal {place.name}"
        raise UsageError(message, "no_answers", "give the journal of a run that has got an answer")
    return found


def assert_replays(journal: Any, run: str | None = None) -> None:
    """Fails where a journal, or that of a result, does not replay as it was written."""
    from loopwright import _core
    from loopwright._replay import replay
    from loopwright.result import Result

    if isinstance(journal, Result):
        if journal.journal is None:
            message = "the run kept no journal"
            raise UsageError(message, "no_journal", "run it with journal=True, or with a folder for journals")
        lines = "\n" in journal.journal or journal.journal.endswith(".jsonl")
        run = None if lines else journal.run_id
        journal = journal.journal
    found = replay(journal, run)
    if found.identical:
        return
    what = f"line {found.damage['line']} is damaged: {found.damage['why']}" if found.damage is not None else ""
    if found.divergence is not None:
        apart = found.divergence
        what = f"event {apart['seq']} gave {apart['got']}\nwhere the journal has {apart['expected']}"
        if apart.get("reason"):
            what += f"\n{apart['reason']}"
    raise AssertionError(_core.redact(f"the journal of the run {found.run} does not replay: {what}"))
