"""What a research run measures: which chunks are worth keeping, coverage, gain, trend, enough, and latent topics.

    chosen = select(topic_vectors, chunk_vectors, kept_vectors)
    covered = dict(zip(topics, coverage(topic_vectors, chunk_vectors)))
    rule = enough(gains, accepted=len(chosen))

Vectors are those of any embedder: a NumPy array of two dimensions, a list of arrays, or lists of numbers. Arrays of
32-bit floats are read where they lie, nothing is copied; other types are converted. NumPy is not needed. See
`docs/analysis.md`.
"""

from __future__ import annotations

import json
import math
from enum import Enum
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import Background
from ._dataclasses import dataclass, field
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "Background",
    "Cluster",
    "LatentPolicy",
    "SelectPolicy",
    "Selected",
    "StopPolicy",
    "StopRule",
    "Thresholds",
    "Trend",
    "TrendPolicy",
    "Z",
    "coverage",
    "enough",
    "gain",
    "latent",
    "nearest",
    "select",
    "trend",
    "usable",
]


@dataclass(frozen=True)
class Z:
    """A threshold in standard deviations above the embedder's own background.

    >>> round(Z(2).cosine(Background(mean=0.5, deviation=0.05)), 3)
    0.6
    """

    value: float

    def cosine(self, background: Background) -> float:
        """The threshold as a cosine."""
        return _core.analysis_cut(_cut(self), background, False)


def _cut(cut: float | Z) -> str:
    return _dumps(_plain(cut), "threshold")


def _plain(cut: float | Z | None) -> Any:
    if cut is None:
        return None
    return {"z": cut.value} if isinstance(cut, Z) else {"cosine": cut}


def _dumps(value: Any, name: str) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"invalid {name}: {error}", "invalid_value", "give finite numbers") from error


def _background(background: Background | None) -> Any:
    if background is None:
        return None
    return {"mean": background.mean, "deviation": background.deviation, "pairs": background.pairs}


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _rows(value: Any) -> Any:
    """What the compiled part reads: buffers and tensors become arrays, or bytes where there is no NumPy."""
    if isinstance(value, (list, tuple)) or hasattr(value, "__array_interface__"):
        return list(value) if isinstance(value, tuple) else value
    try:
        view = memoryview(value)
    except TypeError:
        view = None
    if view is not None:
        if view.format != "f" or view.ndim != 2:  # noqa: PLR2004 - rows of columns
            message = f"a buffer of {view.ndim} dimensions and format {view.format!r} holds no vectors"
            raise UsageError(message, "invalid_value", "give 32-bit floats in two dimensions")
        shape = view.shape or (0, 0)
        return view.tobytes(), shape[0]
    if hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        try:
            import numpy as np  # type: ignore[import-not-found,unused-ignore]
        except ImportError as error:
            message = f"{type(value).__name__} can't be read without NumPy"
            raise UsageError(message, "missing_package", "pip install numpy, or give lists of numbers") from error
        return np.from_dlpack(value) if hasattr(value, "__dlpack__") else np.asarray(value)
    return list(value) if hasattr(value, "__iter__") and not isinstance(value, (str, bytes, dict)) else value


@dataclass(frozen=True)
class Thresholds:
    """The cuts of a research; `original` and `measured` are presets."""

    novel: float | Z
    """A cluster is new where no topic is as near as this."""
    epsilon: float | Z
    """Returns are diminishing where gains are below this."""
    near: float | Z
    """A query repeats another that is at least as near as this."""

    @classmethod
    def original(cls) -> Thresholds:
        """Absolute cosines, tuned on one embedder: 0.65, 0.005, 0.8."""
        return cls(novel=0.65, epsilon=0.005, near=0.8)

    @classmethod
    def measured(cls) -> Thresholds:
        """In units of the embedder's own background: the same with every embedder."""
        return cls(novel=Z(3.0), epsilon=Z(0.04), near=Z(5.0))


@dataclass(frozen=True)
class SelectPolicy:
    """How chunks are chosen."""

    relevance: float = 0.65
    """Weight of relevance; novelty has the rest."""
    top: int = 15
    """Chunks chosen at most."""
    least: float | Z | None = None
    """Chunks whose best topic is farther than this are left out."""
    copy: float | Z | None = 0.995
    """Chunks as near as this to what is kept are copies, and left out."""
    background: Background | None = None
    """What `Z` is measured in."""

    def as_dict(self) -> dict[str, Any]:
        """The policy as plain values."""
        plain = _given(
            relevance=self.relevance,
            top=self.top,
            least=_plain(self.least),
            background=_background(self.background),
        )
        # No threshold is a choice here, not an omission.
        return {**plain, "copy": _plain(self.copy)}


@dataclass(frozen=True)
class Selected:
    """A chunk that was chosen."""

    chunk: int
    """Which chunk."""
    topic: int
    """The topic that it is most relevant to."""
    score: float
    """Relevance minus redundancy, as it was when the chunk was chosen."""
    relevance: float
    """Its cosine with the topic."""
    novelty: float
    """How far it is from all that was kept before it, from 0 to 2; 1 where nothing was kept."""


def select(hyde: Any, chunks: Any, kept: Any = (), policy: SelectPolicy | None = None) -> list[Selected]:
    """The chunks that are worth keeping, best first.

    The score is 0.65 times the cosine with the best topic, minus 0.35 times the largest cosine with what is kept. What
    was chosen before in the same batch counts as kept. `hyde` holds one vector for each topic.

    >>> topic, page, copy, other = [1, 0, 0], [0.9, 0.1, 0], [0.9, 0.1, 0], [0.5, 0, 0.5]
    >>> [one.chunk for one in select([topic], [page, copy, other])]
    [0, 2]
    """
    text = _dumps((policy or SelectPolicy()).as_dict(), "policy")
    return [Selected(*one) for one in _core.analysis_select(_rows(hyde), _rows(chunks), _rows(kept), text)]


def coverage(topics: Any, chunks: Any) -> list[float]:
    """How well each topic is covered: the largest cosine of its vector with any chunk.

    >>> coverage([[1, 0], [0, 1]], [[3, 0]])
    [1.0, 0.0]
    """
    return _core.analysis_coverage(_rows(topics), _rows(chunks))


def gain(prev: Mapping[str, float], now: Mapping[str, float]) -> float | None:
    """How much a cycle changed coverage: the length of the change over the topics that both know.

    `None` where they share none.

    >>> gain({"wings": 0.1}, {"wings": 0.4, "heat": 0.9})
    0.3
    """
    found = _core.analysis_gain(_coverage(prev, "prev"), _coverage(now, "now"))
    return None if found is None else round(found, 7)


class Trend(str, Enum):
    """How gains go."""

    JUST_STARTING = "just_starting"
    """Fewer than two gains."""
    STALLING = "stalling"
    """The last ones are next to nothing: another angle is needed."""
    INCREASING = "increasing"
    """More than the one before."""
    DECREASING = "decreasing"
    """Much less than the one before."""
    STABLE = "stable"
    """About the same."""

    @property
    def words(self) -> str:
        """As a planner reads it."""
        return "Just starting." if self is Trend.JUST_STARTING else self.value.capitalize()


@dataclass(frozen=True)
class TrendPolicy:
    """When a trend is called what."""

    epsilon: float = 0.005
    """Gains below this are next to nothing."""
    window: int = 3
    """Gains whose mean is compared with that."""
    share: float = 0.75
    """A gain below this share of the one before is a decrease."""

    def as_dict(self) -> dict[str, Any]:
        """The policy as plain values."""
        return {"epsilon": self.epsilon, "window": self.window, "share": self.share}


def trend(gains: Sequence[float], policy: TrendPolicy | None = None) -> Trend:
    """The trend of gains, oldest first.

    >>> trend([0.3, 0.2]).words
    'Decreasing'
    """
    text = _dumps((policy or TrendPolicy()).as_dict(), "policy")
    return Trend(_core.analysis_trend(_numbers(gains, "gains"), text)[0])


class StopRule(str, Enum):
    """Why a research has enough."""

    DIMINISHING_RETURNS = "diminishing_returns"
    """The last cycles changed coverage next to nothing."""
    NO_NEW_CHUNK = "no_new_chunk"
    """The last cycle accepted no new chunk."""
    NO_NEW_CLAIM = "no_new_claim"
    """The last cycle supported no new claim."""


@dataclass(frozen=True)
class StopPolicy:
    """When a research has enough."""

    epsilon: float | Z = 0.005
    """Returns are diminishing where the mean of the last gains is below this."""
    window: int = 2
    """How many gains that is the mean of."""
    chunks: bool = True
    """Whether a cycle that accepted no new chunk ends the research."""
    claims: bool = True
    """Whether a cycle that supported no new claim ends the research."""
    background: Background | None = None
    """What `Z` is measured in."""

    def as_dict(self) -> dict[str, Any]:
        """The policy as plain values."""
        return _given(
            epsilon=_plain(self.epsilon),
            window=self.window,
            chunks=self.chunks,
            claims=self.claims,
            background=_background(self.background),
        )


def enough(
    history: Sequence[float],
    policy: StopPolicy | None = None,
    accepted: int | None = None,
    claims: int | None = None,
) -> StopRule | None:
    """Whether there is enough, and by which rule.

    `history` holds the gains, `accepted` and `claims` what the last cycle added; `None` where nobody counted.

    >>> enough([0.4, 0.003, 0.004])
    <StopRule.DIMINISHING_RETURNS: 'diminishing_returns'>
    >>> enough([0.4, 0.3], accepted=0)
    <StopRule.NO_NEW_CHUNK: 'no_new_chunk'>
    """
    text = _dumps((policy or StopPolicy()).as_dict(), "policy")
    for name, count in (("accepted", accepted), ("claims", claims)):
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 0):
            raise UsageError(f"{name} is {count!r:.60}", "invalid_value", "give a whole number from 0")
    try:
        rule = _core.analysis_enough(_numbers(history, "history"), text, accepted, claims)
    except (TypeError, OverflowError) as error:
        raise UsageError(f"invalid counts: {error}", "invalid_value", "give whole numbers from 0") from error
    return None if rule is None else StopRule(rule[0])


@dataclass(frozen=True)
class LatentPolicy:
    """How latent topics are found."""

    components: int = 10
    """Principal components."""
    clusters: int = 8
    """Clusters at most."""
    seed: int = 42
    """Where k-means starts."""
    novel: float | Z = 0.65
    """A cluster is novel where its centre is no nearer than this to any topic."""
    least: int = 1
    """Clusters of fewer chunks are not reported."""
    background: Background | None = None
    """What `Z` is measured in."""

    def as_dict(self) -> dict[str, Any]:
        """The policy as plain values."""
        return _given(
            components=self.components,
            clusters=self.clusters,
            seed=self.seed,
            novel=_plain(self.novel),
            least=self.least,
            background=_background(self.background),
        )


@dataclass(frozen=True)
class Cluster:
    """Chunks that are about the same thing."""

    members: list[int]
    """Its chunks, the one nearest to the centre first."""
    centre: list[float] = field(repr=False)
    """The mean direction of its chunks, of unit length."""
    topic: int | None
    """The topic of the outline that is nearest."""
    similarity: float
    """The cosine of the centre with that topic."""
    novel: bool
    """Whether no topic is near enough."""


def latent(chunks: Any, outline: Any = (), policy: LatentPolicy | None = None) -> list[Cluster]:
    """What chunks are about, and whether the outline knows: clusters, the largest first. The same every time.

    >>> chunks = [[1, 0, 0], [0.9, 0.1, 0], [0, 0, 1], [0, 0.1, 0.9]]
    >>> [(one.members, one.novel) for one in latent(chunks, [[1, 0, 0]], LatentPolicy(clusters=2))]
    [([0, 1], False), ([2, 3], True)]
    """
    text = _dumps((policy or LatentPolicy()).as_dict(), "policy")
    return [Cluster(*one) for one in _core.analysis_latent(_rows(chunks), _rows(outline), text)]


def nearest(to: Any, rows: Any) -> tuple[int, float] | None:
    """The row that is nearest to a vector, and its cosine: has this query been asked before?

    >>> nearest([1, 0], [[0, 1], [2, 0]])
    (1, 1.0)
    """
    return _core.analysis_nearest(to, _rows(rows))


def usable(rows: Any, width: int | None = None) -> list[int]:
    """The places of the vectors that will do: finite, not zero, all of one width.

    >>> usable([[1, 2], [0, 0], [float("nan"), 1], [3, 4]])
    [0, 3]
    """
    return _core.analysis_usable(_rows(rows), width)


def _numbers(values: Iterable[float], name: str) -> list[float]:
    if isinstance(values, (str, bytes)):
        raise UsageError(f"{name} is text", "invalid_value", "give a list of numbers")
    try:
        numbers = [float(value) for value in values]
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"invalid {name}: {error}", "invalid_value", "give numbers") from error
    for place, number in enumerate(numbers):
        if not math.isfinite(number):
            raise UsageError(f"{name}[{place}] is {number}", "invalid_value", "give finite numbers")
    return numbers


def _coverage(given: Mapping[str, float], name: str) -> list[tuple[str, float]]:
    try:
        pairs = list(given.items())
    except (AttributeError, TypeError) as error:
        message = f"{name} is {type(given).__name__}, not coverage"
        raise UsageError(message, "invalid_value", "give a dict of topic to number") from error
    for topic, number in pairs:
        if not isinstance(topic, str):
            raise UsageError(f"{name}: {topic!r:.60} is no topic", "invalid_value", "give a dict of topic to number")
        try:
            is_finite = math.isfinite(number)
        except (TypeError, ValueError, OverflowError) as error:
            message = f"{name}[{topic!r:.60}] is no number: {error}"
            raise UsageError(message, "invalid_value", "give a dict of topic to number") from error
        if not is_finite:
            raise UsageError(f"{name}[{topic!r:.60}] is {number}", "invalid_value", "give finite numbers")
    return pairs
