"""What models cost.

::

    from loopwright import prices

    prices.of("anthropic:claude-sonnet-4-5")    # Price(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)
    prices.load("prices.toml")                  # lays a table of yours over the one that is built in
    prices.as_of()                              # the day of the prices

A table is TOML: a section for each provider, in which names stand for US dollars for a million tokens; the section
`batch` says by provider which part of that requests in batches cost. The file that
`LOOPWRIGHT_PRICES` names is loaded by itself. A model that no table knows has no price, and a run with it no cost;
models that run at home (`ollama`, `vllm`, `llamacpp`, `offline`) cost nothing. `Model(price=...)` goes before tables.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from . import _core
from .errors import UsageError

__all__ = ["Price", "as_of", "load", "names", "of"]


class Price(NamedTuple):
    """US dollars for a million tokens."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None

    def cost(
        self,
        *,
        input: int = 0,  # noqa: A002 - as the field is
        output: int = 0,
        cache_read: int = 0,
        cache_write: int = 0,
        cache_write_hour: int = 0,
    ) -> float:
        """What so many tokens cost. `input` holds cached ones, too, and `cache_write` those that are kept for an hour.

        Raises a `UsageError` (`invalid_option`) for a number below 0.

        >>> Price(3.0, 15.0, 0.3).cost(input=1_000_000, output=100_000, cache_read=500_000)
        3.15
        """
        counts = (input, output, cache_read, cache_write, cache_write_hour)
        if any(count < 0 for count in counts):
            raise UsageError(f"there are no {min(counts)} tokens", "invalid_option", "give numbers from 0 up")
        return _core.cost((self.input, self.output, self.cache_read, self.cache_write), counts)


_table: _core.PriceTable | None = None


def of(model: str, *, batch: bool = False) -> Price | None:
    """The price of `provider:model`, or of a model whose provider follows from its name; `None` where it is not known.

    With `batch` it is that of requests in batches, which needs the provider's name.

    >>> of("anthropic:claude-sonnet-4-5-20250929") == of("anthropic:claude-sonnet-4-5")
    True
    >>> of("ollama:qwen3").input
    0.0
    >>> of("anthropic:no-such-model") is None
    True
    >>> of("anthropic:claude-sonnet-4-5", batch=True)
    Price(input=1.5, output=7.5, cache_read=0.15, cache_write=1.875)
    """
    if not isinstance(model, str):
        raise UsageError(f"a model's name is text, not {model!r:.100}", "invalid_value", "write provider:model")
    found = _known().of(model, batch)
    return None if found is None else Price(*found)


def load(path: str | os.PathLike[str]) -> None:
    """Lays the table of a TOML file over those that are known; it holds for agents made from then on.

    Raises `UsageError` (`invalid_prices`, `prices_not_found`) and changes nothing if it can't be read.
    """
    _load(_known(), path)


def names() -> list[str]:
    """All models that have a price: `provider:model`."""
    return _known().names()


def as_of() -> str | None:
    """The day of the prices."""
    return _known().as_of


def _known() -> _core.PriceTable:
    global _table  # noqa: PLW0603 - one table for the process
    if _table is None:
        table = _core.PriceTable()
        path = os.environ.get("LOOPWRIGHT_PRICES", "").strip()
        if path:
            _load(table, path)
        _table = table
    return _table


def _load(table: _core.PriceTable, path: str | os.PathLike[str]) -> None:
    shown = os.fspath(path)
    try:
        # Without pathlib: agents come here, and importing the package is cheap.
        with open(shown, encoding="utf-8") as file:  # noqa: PTH123
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"the price table {shown!r} can't be read: {reason}"
        raise UsageError(message, "prices_not_found", "give the path of a TOML file") from error
    try:
        table.lay(text)
    except UsageError as error:
        raise UsageError(f"{shown!r}: {error.message}", error.code, error.hint) from error
