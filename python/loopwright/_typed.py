"""The type of a run's answer, as type checkers see it: the same parameter for agents, streams and results."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultedTypeVar

    Output = DefaultedTypeVar("Output", default=str)
    """What an answer is parsed into: text, unless `output_type` says otherwise."""
else:
    # The default means nothing at run time, and importing the package costs less without typing_extensions.
    Output = TypeVar("Output")

__all__ = ["Output"]
