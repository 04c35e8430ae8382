"""Whether a loop is going anywhere: rules over hashes and words, never a model.

    detector = StuckDetector()
    for call, result in run:
        if verdict := detector.record(call, result):
            print(verdict.sentence)

Each sense works alone; the turn machine uses them all (see `docs/senses.md`).
"""

from __future__ import annotations

from ._momentum import Breakpoint, Momentum, MomentumPolicy, Standing, continuation
from ._stuck import Member, StuckDetector, StuckPolicy, ToolRules, Verdict

__all__ = [
    "Breakpoint",
    "Member",
    "Momentum",
    "MomentumPolicy",
    "Standing",
    "StuckDetector",
    "StuckPolicy",
    "ToolRules",
    "Verdict",
    "continuation",
]
