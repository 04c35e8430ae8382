"""Runs on engines that remember, wait and ask across machines: DBOS, Restate, or one of your own.

`drive` runs an agent within a workflow of an engine, which is anything with the five verbs of `Engine`: step, sleep,
ask, gather, tell. See `docs/scaling.md`.
"""

from __future__ import annotations

from ._drive import drive
from ._engine import Answer, Engine, Question, Work, answer_to

__all__ = ["Answer", "Engine", "Question", "Work", "answer_to", "drive"]
