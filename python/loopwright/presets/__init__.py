"""Loops that are ready to use, made of the same parts that are there for everybody.

from loopwright.presets import verifier

verification = verifier("anthropic:claude-sonnet-4-5").run_sync("The Eiffel Tower is 330 m high.")
print(verification.scores, verification.searches)
"""

from __future__ import annotations

from ._verifier import Scores, SearchStatus, Verification, Verifier, complexity_of, parse_scores, verifier

__all__ = [
    "Scores",
    "SearchStatus",
    "Verification",
    "Verifier",
    "complexity_of",
    "parse_scores",
    "verifier",
]
