"""Vectors of texts, by a provider's model.

    vectors = await embed("openai:text-embedding-3-small", ["a dog", "a hound"])
    vectors = embed_sync("ollama:nomic-embed-text", texts, cache="vectors.db")

The same client asks as for models: keys from the environment, proxies, time limits, retries, circuit breakers. Texts go
in as few requests as the provider takes, several of them at once; what was embedded before is not asked for again. See
`docs/providers.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from . import _core
from ._dataclasses import replace
from ._model import Model, is_model, once
from ._options import whole
from ._vector_cache import content_key, shared_cache
from .errors import ProviderError, UsageError
from .result import Usage

if TYPE_CHECKING:
    import os

__all__ = ["Embeddings", "ModelEmbedder", "embed", "embed_sync"]


class Embeddings(list[list[float]]):
    """One vector for each text, in their order: a list, with what it took.

    >>> made = Embeddings([[0.6, 0.8]], model="openai:text-embedding-3-small", usage=Usage(input_tokens=2))
    >>> len(made), made.usage.input_tokens
    (1, 2)
    """

    model: str
    """`provider:model`."""
    usage: Usage
    """What the provider has counted; nothing for vectors that were known."""
    cost: float | None
    """What that cost in US dollars; `None` where the price is not known."""

    def __init__(self, vectors: Iterable[list[float]], *, model: str, usage: Usage, cost: float | None = None) -> None:
        super().__init__(vectors)
        self.model = model
        self.usage = usage
        self.cost = cost


async def embed(
    model: str | Model,
    texts: Iterable[str],
    *,
    base_url: str | None = None,
    api_key: str | Callable[[], str] | None = None,
    dimensions: int | None = None,
    batch: int | None = None,
    cache: bool | str | os.PathLike[str] = True,
) -> Embeddings:
    """Vectors of texts by a model, one for each, in their order.

    ::

        vectors = await embed("openai:text-embedding-3-small", ["a dog", "a hound"])
        print(len(vectors), vectors.usage.input_tokens, vectors.cost)

    An empty text is a `UsageError` (`empty_text`), as is a provider without an interface for vectors
    (`no_embeddings`). An answer with too few vectors, or of different lengths, is a `ProviderError` (`invalid_body`).

    Args:
        model: `provider:model`, or a `Model`, whose `timeouts` and `retry` hold here, too.
        texts: The texts.
        base_url: Another server than the provider's own.
        api_key: The key, or a function that gives it; else it comes from the environment.
        dimensions: How long the vectors shall be, where the model lets that be chosen.
        batch: Texts of one request at most; by default as many as the provider takes.
        cache: Whether vectors are kept in memory, up to 64 MiB; the path of a file keeps them there as well.
    """
    from ._gather import beside
    from ._native_future import native_result

    asking = _Asking(model, texts, base_url, api_key, dimensions, batch, cache)
    missing: list[str] = await beside(asking.look) if asking.waits else asking.look()
    made = await native_result(partial(asking.begin, missing)) if missing else ([], 0)
    found: Embeddings = await beside(asking.answer, *made) if asking.waits else asking.answer(*made)
    return found


def embed_sync(
    model: str | Model,
    texts: Iterable[str],
    *,
    base_url: str | None = None,
    api_key: str | Callable[[], str] | None = None,
    dimensions: int | None = None,
    batch: int | None = None,
    cache: bool | str | os.PathLike[str] = True,
) -> Embeddings:
    """`embed` without an event loop; other threads go on meanwhile.

    >>> from loopwright.testing import WireServer
    >>> with WireServer() as server:
    ...     made = embed_sync("openai:text-embedding-3-small", ["a dog", "a boat"], base_url=server.url, api_key="k")
    >>> len(made), made.usage.input_tokens
    (2, 4)
    """
    asking = _Asking(model, texts, base_url, api_key, dimensions, batch, cache)
    missing = asking.look()
    return asking.answer(*(_core.embed_texts(asking.endpoint, missing, asking.options) if missing else ([], 0)))


class _Asking:
    """What is asked for, and what is known of it already."""

    def __init__(
        self,
        model: str | Model,
        texts: Iterable[str],
        base_url: str | None,
        api_key: str | Callable[[], str] | None,
        dimensions: int | None,
        batch: int | None,
        cache: bool | str | os.PathLike[str],  # noqa: FBT001 - as the option is
    ) -> None:
        said = _model(model, base_url, api_key)
        self._texts = _checked(texts)
        extra = dict(said.settings.get("extra_body") or {}) or None
        self.options = {
            name: value
            for name, value in {
                "dimensions": _count("dimensions", dimensions),
                "batch": _count("batch", batch),
                "retry": None if said.retry is None else dict(said.retry),
                "extra_body": extra,
            }.items()
            if value is not None
        }
        try:
            self.endpoint = said._endpoint(said.api_key)  # noqa: SLF001 - a part of ours
        except UsageError as error:
            if error.code == "missing_key":
                # No key helps where no vectors can be had: with nothing to ask for, only that is said.
                _core.embed_texts(said._endpoint("none"), [], self.options)  # noqa: SLF001 - likewise
            raise
        self._name = f"{self.endpoint.provider}:{self.endpoint.model}"
        self._price = said.price
        # Only a file is waited for.
        self.waits = not isinstance(cache, bool)
        self._cache = None if cache is False else shared_cache(None if cache is True else cache)
        maker = f"{self._name} at {self.endpoint.address_digest}, {dimensions}, {extra}"
        self._keys = [content_key(maker, text) for text in self._texts]
        self._known: dict[bytes, list[float]] = {}
        self._missing: dict[bytes, str] = {}

    def look(self) -> list[str]:
        """The texts whose vectors have to be made, each once."""
        from ._real_requests import check_host

        wanted = dict(zip(self._keys, self._texts, strict=True))
        self._known = {} if self._cache is None else self._cache.found(wanted)
        self._missing = {key: text for key, text in wanted.items() if key not in self._known}
        if self._missing:
            check_host(self.endpoint.host, f"embed by {self._name}")
        return list(self._missing.values())

    def begin(self, missing: list[str], hub: _core.Hub, key: int) -> _core.WebTask:
        return hub.embed(key, self.endpoint, missing, self.options)

    def answer(self, vectors: list[list[float]], tokens: int) -> Embeddings:
        made = dict(zip(self._missing, vectors, strict=True))
        if self._cache is not None and made:
            self._cache.keep(made)
        known = {**self._known, **made}
        if len({len(vector) for vector in known.values()}) > 1:
            message = f"{self._name} gives vectors of another length than those in the cache"
            raise ProviderError(message, "invalid_body", "begin a new cache: the model has changed")
        # Equal texts share no list: one may be changed.
        found = [list(known[key]) for key in self._keys]
        return Embeddings(found, model=self._name, usage=Usage(input_tokens=tokens), cost=self._cost(tokens, made))

    def _cost(self, tokens: int, made: Mapping[bytes, Any]) -> float | None:
        from . import prices

        price = prices.of(self._name) if self._price is None else prices.Price(self._price["input"], 0.0)
        # Some count no tokens.
        if made and not tokens and not (price is not None and price.input == 0):
            return None
        return None if price is None else price.cost(input=tokens)


def _model(model: str | Model, base_url: str | None, api_key: str | Callable[[], str] | None) -> Model:
    """The model with what is said of its place."""
    if not is_model(model):
        return Model(model, base_url=base_url, api_key=api_key)
    if model.fallback:
        message = f"{model.name} has a fallback, and vectors of two models can't be compared"
        raise UsageError(message, "invalid_option", "leave fallback out")
    places: dict[str, Any] = {
        "base_url": once("base_url", base_url, model.base_url, "embed"),
        "api_key": once("api_key", api_key, model.api_key, "embed"),
    }
    return replace(model, **places)


def _checked(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, (str, bytes, Mapping)) or not isinstance(texts, Iterable):
        message = f"texts are a list of texts, not {type(texts).__name__}"
        raise UsageError(message, "invalid_value", "give a list: embed(model, [text])")
    found = list(texts)
    for place, text in enumerate(found):
        if not isinstance(text, str):
            message = f"text number {place} (from 0) is {type(text).__name__}"
            raise UsageError(message, "invalid_value", "give a str for each text")
        whole(f"text number {place} (from 0)", text)
        if not text:
            message = f"text number {place} (from 0) is empty, and no provider makes a vector of nothing"
            raise UsageError(message, "empty_text", "leave empty texts out")
    return found


def _count(what: str, number: object) -> int | None:
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number < 1 << 31:
        raise UsageError(f"{what} can't be {number!r:.100}", "invalid_option", "give a whole number from 1 up")
    return number


class ModelEmbedder:
    """A model that makes vectors, as a function of texts: what `embedder="provider:model"` stands for."""

    def __init__(self, model: str | Model, *, batch: int | None = None) -> None:
        self._batch = batch
        self._model = _model(model, None, None)
        self.name = self._model.name

    def endpoint(self) -> _core.Endpoint:
        """Where the model lives; raises a `UsageError` where its key or address is not set."""
        return self._model._endpoint(self._model.api_key)  # noqa: SLF001 - ours

    def __call__(self, texts: list[str]) -> list[list[float]]:
        return embed_sync(self._model, texts, batch=self._batch)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"
