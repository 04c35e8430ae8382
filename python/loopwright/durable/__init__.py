"""Runs on engines that remember, wait and ask across machines: DBOS, Restate, or one of your own.

`drive` runs an agent within a workflow of an engine, which is anything with the five verbs of `Engine`: step, sleep,
ask, gather, tell. `Worker` needs no engine: it carries out the runs that are queued in a Postgres. See
`docs/scaling.md`.
"""

from __future__ import annotations

from ._drive import drive
from ._engine import Answer, Engine, Question, Work, answer_to
from ._worker import Worker

__all__ = ["Answer", "Engine", "Question", "Work", "Worker", "answer_to", "drive"]
