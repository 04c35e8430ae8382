"""`loopwright.monitor`, by the name that it had before 0.2: found for one more version."""

from __future__ import annotations

from ._moved import warn_moved
from .monitor import *  # noqa: F403 - all that it has

warn_moved("loopwright.senses", "loopwright.monitor", stacklevel=3)
