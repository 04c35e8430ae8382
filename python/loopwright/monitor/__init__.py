"""Whether a loop is going anywhere, and what a request asks for: rules over hashes and words, never a model.

    detector = StuckDetector()
    for call, result in run:
        if verdict := detector.record(call, result):
            print(verdict.sentence)

Each sense works alone; the turn machine uses them all (see `docs/monitor.md`).
"""

from __future__ import annotations

from ._drift import Drift, DriftEvent, DriftState, Embedder, GoalDrift
from ._intent import SUB_AGENTS, Evidence, Intent, IntentDecision, IntentSignals, assess_intent
from ._momentum import Breakpoint, Momentum, MomentumPolicy, Standing, continuation
from ._monitor import Monitor
from ._signals import NextStep, Signal, SignalKind, Signals, Span, next_step, signals
from ._stuck import Action, Member, Pattern, StuckDetector, StuckPolicy, ToolRules, Verdict

__all__ = [
    "SUB_AGENTS",
    "Action",
    "Breakpoint",
    "Drift",
    "DriftEvent",
    "DriftState",
    "Embedder",
    "Evidence",
    "GoalDrift",
    "Intent",
    "IntentDecision",
    "IntentSignals",
    "Member",
    "Momentum",
    "MomentumPolicy",
    "Monitor",
    "NextStep",
    "Pattern",
    "Signal",
    "SignalKind",
    "Signals",
    "Span",
    "Standing",
    "StuckDetector",
    "StuckPolicy",
    "ToolRules",
    "Verdict",
    "assess_intent",
    "continuation",
    "next_step",
    "signals",
]
