"""Loops that are ready to use, made of the same parts that are there for everybody.

from loopwright.presets import verifier

verification = verifier("anthropic:claude-sonnet-4-5").run_sync("The Eiffel Tower is 330 m high.")
print(verification.scores, verification.searches)
"""

from __future__ import annotations

from ._free import FREE_MODELS, free_roles
from ._verifier import Scores, SearchStatus, Verification, Verifier, complexity_of, parse_scores, verifier

__all__ = [
    "FREE_MODELS",
    "Scores",
    "SearchStatus",
    "Verification",
    "Verifier",
    "complexity_of",
    "free_roles",
    "parse_scores",
    "verifier",
]
