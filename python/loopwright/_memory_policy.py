"""`MemoryPolicy`: how a run remembers: from which memory, what it is asked, and what follows a turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._dataclasses import dataclass, field
from ._repr import given_repr
from .errors import UsageError

if TYPE_CHECKING:
    import os

    from .after import AfterTurn
    from .memory import Memory
    from .roles import RoleLike

__all__ = ["MemoryPolicy", "Recall"]


@dataclass(frozen=True)
class Recall:
    """How memory is asked for what a prompt is about."""

    hits: int = 5
    """So many memories at most."""
    characters: int = 400
    """Of each at most."""
    timeout: float = 5.0
    """Seconds; without an answer by then the run goes on without."""


@dataclass(frozen=True, repr=False)
class MemoryPolicy:
    """How an agent remembers: `Agent(model, memory=MemoryPolicy("memory.db", recall=Recall(hits=3)))`.

    What the memory knows of a prompt stands before the conversation, fenced as data; what follows a turn is kept in
    the background. A `Memory`, or the path of its file, given as `memory=` is a policy with the usual rest.
    """

    store: Memory | str | os.PathLike[str]
    """The memory, or the path of its file."""
    recall: Recall | None = field(default_factory=Recall)
    """How it is asked; `None` for never."""
    after: AfterTurn | bool | None = True
    """What follows a turn: an `AfterTurn`, `True` for the usual one, `None` for nothing."""
    reflector: RoleLike | None = None
    """Who looks back on turns: `"rules"`, a model, or a `loopwright.roles.Role`. Naming one turns reflection on."""

    def __post_init__(self) -> None:
        if self.recall is not None and not isinstance(self.recall, Recall):
            message = f"recall of a MemoryPolicy can't be {self.recall!r:.100}"
            raise UsageError(message, "invalid_option", "give a loopwright.memory.Recall, or None for never")

    def __repr__(self) -> str:
        return given_repr(self)
