"""Types of memory: notes, hits, their provenance, and neighbours in the graph.

Plain frozen data; `Memory` makes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from ._dataclasses import dataclass
from ._fields import each_of, made

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from .messages import Message

Kind: TypeAlias = Literal["episodic", "semantic", "procedural", "reflection"]
"""What happened, what is so, how it is done, what was learned from looking back."""
Trust: TypeAlias = Literal["untrusted", "unverified", "user", "verified"]
"""From outside; nobody said; the user said so; checked. Least first."""


class Note(TypedDict, total=False):
    """Something to remember, for `Memory.remember_many`: the arguments of `Memory.remember`."""

    text: str
    kind: Kind
    session: str | None
    speaker: str | None
    category: str | None
    tags: Sequence[str]
    entities: Sequence[str] | None
    source: str | None
    trust: Trust
    importance: float | None
    at: datetime | float | None
    expires: datetime | float | None
    derived_from: Sequence[int]
    user: str | None


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that was found, or that is asked about."""

    id: int
    text: str
    score: float
    """How well it fits, compared with the other hits."""
    kind: Kind
    session: str
    speaker: str | None
    category: str | None
    tags: tuple[str, ...]
    entities: tuple[str, ...]
    source: str | None
    """Where it comes from; `Memory.why` knows all sources."""
    trust: Trust
    importance: float
    at: float | None
    """When it happened, in seconds since 1970, where that is known."""
    stored_at: float
    age: float
    """Seconds since it happened, or since it was stored."""
    seen: int
    """How often it was said."""
    found_by: tuple[str, ...]
    """Why it was found: the words of the query that it holds."""
    user: str | None = None
    """Whose it is; `None`: everybody's."""
    sensitivity: Literal["normal", "sensitive"] = "normal"
    """Whether it holds what belongs to persons. What opens something is never kept."""
    used: int = 0
    """How often a run was given it."""
    superseded_by: int | None = None
    """What took its place: it says what was so."""

    @classmethod
    def _of(cls, said: Mapping[str, Any]) -> Hit:
        # What wasn't searched for has no score.
        return made(cls, {"score": 0.0, "age": 0.0, "found_by": (), **said})


@dataclass(frozen=True, slots=True)
class Source:
    """A source of a memory."""

    source: str
    trust: Trust
    at: float
    """When it said so, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a memory comes from."""

    id: int
    text: str
    kind: Kind
    session: str
    state: Literal["live", "superseded", "forgotten", "merged"]
    trust: Trust
    """That of the telling it was stored from; each source has its own."""
    sources: tuple[Source, ...]
    derived_from: tuple[Provenance, ...]
    """What it was made from, and that from, down to the first; each stands here once."""
    derived: tuple[int, ...]
    """What was made from it."""
    merged_into: int | None
    superseded_by: int | None
    """What took its place."""
    at: float | None
    stored_at: float
    changed_at: float
    seen: int

    @classmethod
    def _of(cls, said: Mapping[str, Any]) -> Provenance:
        derived_from = tuple(cls._of(one) for one in said["derived_from"])
        return made(cls, said, sources=each_of(Source, said["sources"]), derived_from=derived_from)

    def __str__(self) -> str:
        return "\n".join(self._lines(0))

    def _lines(self, depth: int) -> list[str]:
        sources = ", ".join(f"{one.source} ({one.trust})" for one in self.sources) or "no source"
        line = f"{'  ' * depth}{self.id} {self.kind}, {self.trust}, {self.state}, from {sources}: {self.text[:80]}"
        return [line, *(line for one in self.derived_from for line in one._lines(depth + 1))]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An entity next to another."""

    entity: str
    relation: str
    inverse: bool
    """Whether the relation points from this entity to the one that was asked for."""
    of: str
    """The entity in between, or the one that was asked for."""
    distance: int
    trust: Trust
    """That of the weakest step on the way."""
    sources: tuple[str, ...]
    memories: tuple[int, ...]
    """The memories that say so."""


class Forgotten(list[int]):
    """The numbers of the memories that went, and how much else did."""

    relations: int
    """Relations that rested on none of the memories."""
    work: int
    """Pieces of work after turns that waited, were under way or had failed."""
    audit: int
    """Records of the audit that named the user or a run of that one."""
    left_in: tuple[str, ...]
    """Files of preferences in which erased words still stand, in lines that are people's own."""
    similar: tuple[str, ...]
    """Users whose names differ from the one that was given in nothing but case, white space and composition. They are
    users of their own, and nothing of theirs went."""
    runs: tuple[str, ...]
    """The runs that memory knew as the user's. Their journals are kept by themselves."""

    @classmethod
    def _of(cls, said: Mapping[str, Any]) -> Forgotten:
        gone = cls(said["memories"])
        gone.relations, gone.work, gone.audit = (said.get(name, 0) for name in ("relations", "work", "audit"))
        gone.left_in = tuple(said["left_in"])
        gone.similar, gone.runs = (tuple(said.get(name, ())) for name in ("similar", "runs"))
        for path in gone.left_in:
            import logging

            logging.getLogger("loopwright.memory").warning("words that were erased still stand in %s", path)
        return gone

    @property
    def known(self) -> bool:
        """Whether anything was kept of the user."""
        return bool(self or self.relations or self.work or self.audit)


@dataclass(frozen=True, slots=True)
class Injection:
    """Memories as text for a model, fenced as data."""

    text: str
    """Empty where nothing was found."""
    hits: tuple[Hit, ...]

    def message(self) -> Message:
        """The text as a message of the user."""
        from .messages import Message

        return Message.user(self.text)

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.hits)


@dataclass(frozen=True, slots=True)
class Consolidated:
    """What `Memory.consolidate` did."""

    merged: int
    """Memories that were merged into others that say the same."""
    promoted: tuple[int, ...]
    """New facts, made from episodes that say the same again and again."""
    expired: int
