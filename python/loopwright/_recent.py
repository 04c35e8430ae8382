"""The results of runs that have ended lately, for who shows them where a test fails. None is kept unless asked for."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections import deque
    from typing import Any

kept: deque[Any] | None = None
"""The last results, where somebody wants them."""


def note(result: Any) -> None:
    """A run has ended, or an attempt of it."""
    if kept is not None:
        kept.append(result)
