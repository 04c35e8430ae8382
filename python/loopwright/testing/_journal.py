"""What models answered in a run, from its journal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from loopwright._journal_paths import locate_journal
from loopwright._replay import naming
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
            try:
                step = json.loads(line)
            except ValueError:
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
