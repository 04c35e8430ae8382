"""Whether a loop is going anywhere: rules over hashes and words, never a model."""

from __future__ import annotations

from ._drift import Drift, DriftEvent, DriftState, Embedder, GoalDrift
from ._intent import SUB_AGENTS, Evidence, Intent, IntentDecision, IntentSignals, assess_intent
from ._signals import NextStep, Signal, SignalKind, Signals, Span, next_step, signals

__all__ = [
    "SUB_AGENTS",
    "Drift",
    "DriftEvent",
    "DriftState",
    "Embedder",
    "Evidence",
    "GoalDrift",
    "Intent",
    "IntentDecision",
    "IntentSignals",
    "NextStep",
    "Signal",
    "SignalKind",
    "Signals",
    "Span",
    "assess_intent",
    "next_step",
    "signals",
]
