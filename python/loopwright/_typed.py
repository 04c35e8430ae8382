"""The type of a run's answer, as type checkers see it: the same parameter for agents, streams and results."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultedTypeVar

    Deps = DefaultedTypeVar("Deps", default=None, contravariant=True)  # noqa: PLC0105
    """What each run is given for its tools and instructions: nothing, unless `deps_type` says otherwise."""
    Output = DefaultedTypeVar("Output", default=str, covariant=True)  # noqa: PLC0105
    """What an answer is parsed into: text, unless `output_type` says otherwise."""
else:
    # The defaults mean nothing at run time, and importing the package costs less without typing_extensions.
    Deps = TypeVar("Deps", contravariant=True)  # noqa: PLC0105
    Output = TypeVar("Output", covariant=True)  # noqa: PLC0105

NewOutput = TypeVar("NewOutput")
"""That of another agent."""

__all__ = ["Deps", "NewOutput", "Output"]
