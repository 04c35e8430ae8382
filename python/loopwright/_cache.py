"""What providers' caches gave of a run's prompts, and what kept them from giving more: a view of the run's journal."""

from __future__ import annotations

import json
from typing import Any

from . import _core
from ._dataclasses import dataclass
from ._journal_paths import locate_journal
from ._replay import naming
from .errors import UsageError
from .prices import Price, of

__all__ = ["CacheEntry", "cache_of", "entries"]

_ALMOST = 0.9
"""A cache that gives so much of what it was sent before has kept it: some count in steps, some round."""


@dataclass(frozen=True)
class CacheEntry:
    """What a cache gave of one request. Tokens are the provider's, money is in the currency of the price."""

    agent: str | None
    """The sub-agent that asked, `explore#1`; `None` for the run itself."""
    purpose: str
    """`executor`, or the role that asked."""
    model: str
    input_tokens: int
    hit_tokens: int
    """Tokens of the input that came from the cache."""
    written_tokens: int
    """Tokens that went into the cache, where the provider counts them."""
    again_tokens: int
    """Tokens that the request before had sent already, and that were read anew."""
    why: str
    """`first` without a request before, `new` where all that was sent before came from the cache, `compacted` or
    `changed` where the prompt no longer begins as it did, `missed` where it does and the cache gave less.
    """
    changed: str | None
    """The first place that differs: `tools[3]`, `system`, `messages[2]`."""
    byte: int | None
    """The first byte that differs, in the prompt's canonical form."""
    cost: float | None
    """What reading tokens anew cost more than the cache would have; `None` where the price is not known."""


def cache_of(journal: str | None, run: str | None = None) -> list[CacheEntry]:
    """An entry for each request of a journal that was answered: a path, or its lines as text; or the run of a store."""
    if journal is None:
        message = "the run kept no journal, and what its prompts were is a view of it"
        raise UsageError(message, "no_journal", "run it with journal=True, or with a folder for journals")
    lines = "\n" in journal or journal.endswith(".jsonl")
    place = locate_journal(journal, None if lines else run)
    with naming(place):
        return list(entries(place.read()).values())


def entries(journal: str) -> dict[int, CacheEntry]:
    """The entries of a journal's lines, by the numbers of their requests."""
    _, _, machine = _core.journal_head(journal)
    turn = json.loads(machine).get("turn") or {}
    price = Price(**turn["price"]) if turn.get("price") else None
    found = {}
    before: dict[tuple[Any, ...], int] = {}
    for prompt in _core.prompts(journal):
        usage = prompt["usage"]
        if usage is None:
            continue
        key = (prompt["agent"], prompt["purpose"], prompt["model"])
        known = price if prompt["agent"] is None and prompt["purpose"] == "executor" else of(prompt["model"])
        found[prompt["id"]] = _entry(prompt, usage, before.get(key), known)
        before[key] = usage["input"]
    return found


def _entry(prompt: dict[str, Any], usage: dict[str, int], before: int | None, price: Price | None) -> CacheEntry:
    hit, tokens = usage["cache_read"], usage["input"]
    again = 0 if before is None else max(0, min(before, tokens) - hit)
    changed = prompt["changed"]
    if before is None:
        why = "first"
    elif changed is not None:
        why = "compacted" if prompt["compacted"] else "changed"
    elif hit >= _ALMOST * before:
        why, again = "new", 0
    else:
        why = "missed"
    cost = None
    if price is not None:
        read = price.input if price.cache_read is None else price.cache_read
        cost = again * (price.input - read) / 1e6
    return CacheEntry(
        agent=prompt["agent"],
        purpose=prompt["purpose"],
        model=prompt["model"],
        input_tokens=tokens,
        hit_tokens=hit,
        written_tokens=usage["cache_write"],
        again_tokens=again,
        why=why,
        changed=changed,
        byte=None if changed is None else prompt["same"],
        cost=cost,
    )
