"""Passages to search in: by words, by what the best of them say, by the directions of the corpus, and by an embedder.

::

    >>> index = Index(["The wait between attempts doubles.", "Oslo lies by a fjord.", "Requests are tried again."])
    >>> [hit.text for hit in index.search("How long does it wait?", k=1)]
    ['The wait between attempts doubles.']
    >>> index.missing("Does a zebra wait?")
    ['zebra']

No model is needed. BM25 finds, RM3 feedback asks again with the words of the best passages, latent semantic analysis
ranks by what words have in common in this corpus; their scores are added, and passages take over from their nearest
neighbours. With an embedder (a model such as `"openai:text-embedding-3-small"`, `loopwright.memory.minilm()`, any
function from texts to vectors) its cosine is the fourth. The same passages and query give the same hits, bit for bit.
Figures are in `docs/grounded.md`.
"""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Mapping
from operator import index
from typing import TYPE_CHECKING, Any

from . import _core
from ._dataclasses import dataclass
from ._embedders import embedder_of
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from typing_extensions import Self

    from ._embedders import Embedder
    from ._model import Model

__all__ = ["Hit", "Index", "Quote", "Quoted", "fuse", "quote", "topics"]

_FORMAT = "loopwright.retrieve"
_VERSION = 1
_BATCH = 256


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found."""

    id: int
    """Its place among all, in the order of adding."""
    text: str
    score: float
    """How well it fits; comparable within one search only."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of a source."""

    source: int
    """The source's number, from 1."""
    line: int
    end_line: int
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Quoted:
    """An answer made of quotes, by words alone: not an LLM's."""

    text: str
    """The quotes with their places; or what was not found."""
    quotes: tuple[Quote, ...]
    """Empty where the sources hold no answer."""
    missing: tuple[str, ...]
    """Words of the question that stand in no source."""
    coverage: float
    """The support of the sources: how much of the question, weighted by rarity, stands together, from 0 to 1."""

    def __bool__(self) -> bool:
        return bool(self.quotes)


def quote(question: str, sources: Iterable[Any], *, least_coverage: float | None = None, most: int = 3) -> Quoted:
    """What sources say to a question, in their own sentences: what the offline model (not an LLM) answers.

    >>> said = quote("How long is the wait?", ["The wait doubles from 200 ms.", "Oslo lies by a fjord."])
    >>> said.text, bool(quote("Who is the king of Spain?", ["The wait doubles."]))
    ('The wait doubles from 200 ms. [source 1:1]', False)

    Sources are as for `check_citations`. Below `least_coverage` it says nothing: the default was measured, see
    `docs/grounded.md`.
    """
    from .citations import sources_json

    said = json.loads(_core.quote_sources(question, sources_json(sources), least_coverage, most))
    quotes = tuple(Quote(**one) for one in said["quotes"])
    return Quoted(said["text"], quotes, tuple(said["missing"]), said["coverage"])


def topics(texts: Iterable[str], most: int = 8) -> list[str]:
    """The words that mark texts, most telling first.

    >>> topics(["The cache holds pages. Pages of the cache are small."], most=2)
    ['cache', 'pages']
    """
    from .citations import whole

    return _core.retrieve_topics([whole(text) for text in texts], most)


def fuse(rankings: Iterable[Sequence[int]], k: int = 10, *, weights: Sequence[float] | None = None) -> list[int]:
    """Joins rankings of anything that has a number, each best first, by reciprocal rank.

    >>> fuse([[3, 1, 2], [1, 3, 9]], k=2)
    [1, 3]
    """
    count = _count(k, "k", 0)
    try:
        lists = [[index(one) for one in ranking] for ranking in rankings]
    except TypeError as error:
        message = f"a ranking is no list of whole numbers: {error}"
        raise UsageError(message, "invalid_value", "give lists of numbers, each best first") from error
    wrong = next((one for ranking in lists for one in ranking if not 0 <= one < 1 << 63), None)
    if wrong is not None:
        raise UsageError(f"{wrong} is no number of a ranking", "invalid_value", "give whole numbers from 0")
    try:
        shares = [1.0] * len(lists) if weights is None else [float(weight) for weight in weights]
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"invalid weights: {error}", "invalid_value", "give a number for each ranking") from error
    if not all(math.isfinite(share) and share >= 0 for share in shares):
        raise UsageError("a weight is below 0, or no number", "invalid_value", "give finite numbers from 0")
    if len(shares) != len(lists):
        raise UsageError(
            "there must be a weight for each ranking", "invalid_value", "give as many weights as rankings, or none"
        )
    return [number for number, _ in _core.retrieve_fuse(list(zip(lists, shares, strict=True)), count)]


class Index:
    """Passages to search in. Threads may share one.

    Args:
        texts: The passages.
        embedder: Makes vectors of texts: a model (`"openai:text-embedding-3-small"`, or a `Model`), or a function;
            those of the passages are made once, when they are added.
        feedback: Whether to ask again with the words of the best passages.
        lsa: Whether to rank by the directions of the corpus. They are found in the first search after a change (a
            second for a few thousand passages), or by `prepare`; fewer than 64 passages have none.
    """

    def __init__(
        self,
        texts: Iterable[str] = (),
        *,
        embedder: Embedder | str | Model | None = None,
        feedback: bool = True,
        lsa: bool = True,
    ) -> None:
        self._core = _core.RetrieveIndex()
        self._texts: list[str] = []
        self._vectors: list[list[float]] = []
        self._embedder: Embedder | None = embedder_of(embedder)
        self._lock = threading.Lock()
        self.feedback = feedback
        self.lsa = lsa
        self.add(texts)

    def add(self, texts: Iterable[str]) -> None:
        """Adds passages behind those that are there."""
        if isinstance(texts, str):
            texts = [texts]
        from .citations import whole

        if not hasattr(texts, "__iter__") or isinstance(texts, (bytes, Mapping)):
            message = f"passages are a list of texts, not {type(texts).__name__}"
            raise UsageError(message, "invalid_value", "give a list of texts")
        more = [whole(each) if isinstance(each, str) else each for each in texts]
        wrong = next((each for each in more if not isinstance(each, str)), None)
        if wrong is not None:
            raise UsageError(
                f"a passage is text, not {type(wrong).__name__}", "invalid_value", "give a str for each passage"
            )
        self._take(more, None if self._embedder is None else self._embed(more))

    def _take(self, texts: list[str], vectors: list[list[float]] | None) -> None:
        with self._lock:
            self._core.add(texts, vectors)
            self._texts.extend(texts)
            if vectors is not None:
                self._vectors.extend(vectors)

    def _embed(self, texts: list[str]) -> list[list[float]]:
        assert self._embedder is not None, "asked only where there is one"  # noqa: S101 - a fault of ours
        made: list[list[float]] = []
        for at in range(0, len(texts), _BATCH):
            some = texts[at : at + _BATCH]
            try:
                found = [[float(value) for value in vector] for vector in self._embedder(some)]
            except (TypeError, ValueError, OverflowError) as error:
                message = f"the embedder failed, or gave what are no vectors: {type(error).__name__}: {error}"[:400]
                raise UsageError(message, "invalid_value", "give one vector for each text") from error
            if not all(math.isfinite(value) for vector in found for value in vector):
                raise UsageError("the embedder gave what is no number", "invalid_value", "give finite numbers")
            if len(found) != len(some):
                message = f"the embedder gave {len(found)} vectors for {len(some)} texts"
                raise UsageError(message, "invalid_value", "give one vector for each text")
            made.extend(found)
        return made

    def prepare(self) -> None:
        """Does now what the first search would do."""
        if self.lsa:
            self._core.prepare()

    def search(self, query: str, k: int = 10, *, like: str | None = None) -> list[Hit]:
        """The best `k` passages, best first.

        `like` is a passage that could be the answer, written by a model perhaps: its vector is averaged with that of
        the query, and never used alone.
        """
        k = _count(k, "k", 0)
        query, vector = _words(query, "query"), None
        if self._embedder is not None and self._texts:
            asked = self._embed([query] if like is None else [query, _words(like, "like")])
            if len({len(one) for one in asked}) > 1:
                message = "the embedder gave vectors of different lengths"
                raise UsageError(message, "invalid_value", "give vectors of one length")
            vector = _mean([_unit(one) for one in asked])
        self.prepare()
        found = self._core.search(query, k, vector, feedback=self.feedback, lsa=self.lsa)
        return [Hit(at, self._texts[at], score) for at, score in found]

    def support(self, query: str) -> float:
        """How likely the passages hold an answer: how much of the query, weighted by rarity, one of the best holds.

        From 0 to 1; foreign questions score low. `quote` answers from 0.36 on, and so does the offline model.
        """
        return self._core.support(_words(query, "query"))[0]

    def quote(self, question: str, k: int = 5, *, least_support: float | None = None) -> Quoted:
        """What the best passages say to a question, in their own sentences; nothing where its support is low.

        >>> index = Index(["The wait doubles from 200 ms.", "Oslo lies by a fjord."])
        >>> index.quote("When does the wait double?").text, bool(index.quote("Who sings in the choir of Bergen?"))
        ('The wait doubles from 200 ms. [passage 1:1]', False)
        """
        from .citations import sources_json

        question = _words(question, "question")
        support, least = self._core.support(question)
        least = least if least_support is None else least_support
        if support < least:
            text = f"I found nothing that answers this in {len(self)} passages."
            return Quoted(text, (), tuple(self.missing(question)), support)
        hits: list[Hit] = []
        seen: set[str] = set()
        for hit in self.search(question, 3 * k):
            # A text that is there three times says nothing more.
            if hit.text.strip() not in seen and len(hits) < k:
                seen.add(hit.text.strip())
                hits.append(hit)
        sources = sources_json({"text": hit.text, "reference": f"passage {hit.id + 1}"} for hit in hits)
        said = json.loads(_core.quote_sources(question, sources, None, 3, trusted=True))
        quotes = tuple(Quote(**{**one, "source": hits[one["source"] - 1].id + 1}) for one in said["quotes"])
        return Quoted(said["text"], quotes, tuple(said["missing"]), support)

    def missing(self, query: str) -> list[str]:
        """The words of `query` that stand in no passage."""
        return self._core.missing(_words(query, "query"))

    def __len__(self) -> int:
        return len(self._core)

    def __repr__(self) -> str:
        return f"<Index of {len(self)} passages>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes passages and vectors to a file, as lines of JSON; what was there stays until the new one is whole."""
        with self._lock:
            texts, vectors = list(self._texts), list(self._vectors)
        head = {"format": _FORMAT, "version": _VERSION, "passages": len(texts), "embedder": _name(self._embedder)}
        place = os.fspath(path)
        draft = f"{place}.{os.getpid()}.{threading.get_ident()}.new"
        try:
            with open(draft, "w", encoding="utf-8") as file:  # noqa: PTH123
                file.write(json.dumps(head) + "\n")
                for at, text in enumerate(texts):
                    line: list[Any] = [text] if not vectors else [text, vectors[at]]
                    file.write(json.dumps(line) + "\n")
            os.replace(draft, place)  # noqa: PTH105
        except OSError as error:
            raise UsageError(
                f"the index can't be written to {place!r}: {error}",
                "index_file",
                "check that the folder is there, who may write in it, and that there is room",
            ) from error

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        embedder: Embedder | str | Model | None = None,
        feedback: bool = True,
        lsa: bool = True,
    ) -> Self:
        """An index that `save` wrote; with vectors, it needs the embedder that made them."""
        place = os.fspath(path)
        index = cls(embedder=embedder, feedback=feedback, lsa=lsa)
        try:
            with open(place, encoding="utf-8") as file:  # noqa: PTH123
                head = json.loads(file.readline())
                if head["format"] != _FORMAT or head["version"] != _VERSION:
                    raise ValueError(f"format {head['format']!r}, version {head['version']!r}")
                now = _name(index._embedder)
                if head["embedder"] != now:
                    message = f"the passages were embedded by {head['embedder']}, not by {now}"
                    raise UsageError(message, "embedder_changed", "load it with the embedder that made it")
                lines = [json.loads(line) for line in file]
            texts = [line[0] for line in lines]
            vectors = None if embedder is None else [line[1] for line in lines]
            if len(texts) != head["passages"] or not all(isinstance(text, str) for text in texts):
                raise ValueError("the file is cut off")
        except OSError as error:
            raise UsageError(
                f"the index {place!r} can't be read: {error}",
                "index_file",
                "give the path of a file that `save` wrote, and check who may read it",
            ) from error
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise UsageError(f"{place!r} is no index: {error}", "index_file", "give a file that save wrote") from error
        index._take(texts, vectors)
        return index


def _count(given: object, name: str, least: int) -> int:
    if isinstance(given, bool) or not hasattr(given, "__index__") or not least <= index(given) < 1 << 63:
        raise UsageError(f"{name} is {given!r:.60}", "invalid_value", f"give a whole number from {least}")
    return index(given)


def _words(given: object, name: str) -> str:
    if not isinstance(given, str):
        raise UsageError(f"{name} is {type(given).__name__}, not text", "invalid_value", "give text")
    from .citations import whole

    return whole(given)


def _name(embedder: Any) -> str | None:
    if embedder is None:
        return None
    return str(getattr(embedder, "name", None) or getattr(embedder, "__qualname__", type(embedder).__qualname__))


def _unit(vector: Sequence[float]) -> list[float]:
    length = sum(value * value for value in vector) ** 0.5
    return [value / length for value in vector] if length else list(vector)


def _mean(vectors: Sequence[Sequence[float]]) -> list[float]:
    return [sum(values) / len(vectors) for values in zip(*vectors, strict=True)]
