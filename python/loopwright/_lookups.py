"""What a research asks of the world: searches, pages, vectors. Whatever goes wrong there is an answer, too.

A provider is anything with `search(query, k)`, or a function of these two, sync or async, that gives hits: objects or
dicts with `title`, `url`, `snippet` and, where it has them, `text` and `published`. Plain functions run in threads.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from ._dataclasses import dataclass, field
from ._gather import beside, called, listed
from ._user_code import RAISED, closes, log_raised
from .errors import LoopwrightError, ProviderError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Lookups", "look_up", "vectors_of"]

_GUILT = {"UsageError": "usage", "ModelError": "model", "ToolError": "tool", "InternalError": "internal"}
_LONGEST = 4_000_000
_BATCH = 16
_PROBLEMS = 20
"""Of one corpus that are told; there may be one for each file."""
_WIDEST = 100_000
"""Numbers of a vector."""
_PATIENCE = {"query": 60.0, "fetch": 90.0, "embed": 300.0, "consult": 300.0}
"""Seconds. Searches and fetches of ours have shorter limits of their own."""


@dataclass
class Lookups:
    """Who searches, who fetches, who embeds."""

    search: tuple[Any, ...] = ()
    fetch: Callable[..., Any] | None = None
    embed: Callable[[list[str]], Any] | None = None
    parts: Mapping[str, Callable[..., Any] | None] = field(default_factory=dict)
    """A `planner` and an `analyser` of one's own."""
    patience: float = 0.0
    """Seconds that any of them may take at least."""


async def look_up(lookups: Lookups, kind: str, command_id: int, wanted: Mapping[str, Any]) -> str:
    """The event that answers a `query`, `fetch`, `embed` or `consult`, as JSON."""
    name, key, work = {
        "query": ("hits", "hits", _query),
        "fetch": ("fetched", "page", _fetch),
        "embed": ("embedded", "vectors", _embed),
        "consult": ("consulted", "answer", _consult),
    }[kind]
    problems: list[str] = []
    try:
        # What can't be written as JSON, NaN among it, is a fault of whoever gave it.
        answer = json.dumps({"Ok": await work(lookups, wanted, problems)}, allow_nan=False)
    except asyncio.CancelledError:
        raise
    except RAISED as error:
        if closes(error):
            raise
        log_raised("search", f"the {kind}", error)
        answer = json.dumps({"Err": _error(error, kind)})
    told = f',"problems":{json.dumps(problems)}' if problems else ""
    return f'{{"{name}":{{"id":{command_id},"{key}":{answer}{told}}}}}'


def _error(error: BaseException, kind: str) -> dict[str, Any]:
    if isinstance(error, LoopwrightError):
        guilt = _GUILT.get(type(error).__name__, "provider")
        found = {"guilt": guilt, "code": error.code, "message": error.message}
        return {**found, "hint": error.hint} if error.hint else found
    what = {"query": "search", "fetch": "fetch", "embed": "embedding", "consult": "part"}[kind]
    if isinstance(error, (asyncio.TimeoutError, TimeoutError)):
        return {"guilt": "provider", "code": "timeout", "message": f"the {what} took too long"}
    message = f"{type(error).__name__}: {error}"[:500]
    return {"guilt": "provider", "code": f"{what}_failed", "message": message}


async def _in_time(patience: float, function: Callable[..., Any], *arguments: Any) -> Any:
    # Made here: a task that is cancelled before its first step leaves no coroutine behind that nobody awaits.
    return await asyncio.wait_for(called(function, *arguments), patience)


def _takes_two(function: Callable[..., Any]) -> bool:
    from .search._base import takes_two

    return takes_two(function)


async def _hits(patience: float, function: Callable[..., Any], query: str, k: int) -> list[dict[str, Any]]:
    async def ask() -> list[dict[str, Any]]:
        given = await called(function, *((query, k) if _takes_two(function) else (query,)))
        if given is None:
            return []
        if isinstance(given, (str, bytes, Mapping)):
            message = f"a search gives a list of hits, this gave {given!r:.100}"
            raise UsageError(message, "invalid_hit", "give hits with title, url and snippet")
        hits, wrong = [], None
        for each in await listed(given, k):
            try:
                hits.append(_hit(each))
            except RAISED as error:
                wrong = wrong or error
        if wrong is not None and not hits:
            raise wrong
        return hits

    return await asyncio.wait_for(ask(), patience)


async def _query(lookups: Lookups, wanted: Mapping[str, Any], problems: list[str]) -> list[dict[str, Any]]:
    query, k = wanted["query"], wanted["k"]
    functions = [getattr(each, "search", each) for each in lookups.search]
    if not functions:
        message = "there is nothing to search"
        raise UsageError(message, "no_search", "give Research search=[...] or corpus=...")
    patience = max(_PATIENCE["query"], lookups.patience)
    # One that hangs or fails hides no other.
    calls = [_hits(patience, each, query, k) for each in functions]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    lists = [answer for answer in answers if not isinstance(answer, BaseException)]
    failures = [answer for answer in answers if isinstance(answer, BaseException)]
    for failure in failures:
        if not isinstance(failure, RAISED):
            raise failure
    if failures and not lists:
        raise failures[0]
    problems.extend(_problems(lookups.search, answers))
    # The first of each, then the second of each: no provider hides another.
    found: dict[str, dict[str, Any]] = {}
    for at in range(k):
        for hits in lists:
            if at < len(hits):
                found.setdefault(hits[at]["url"], hits[at])
    return list(found.values())[:k]


def _problems(providers: tuple[Any, ...], answers: list[Any]) -> list[str]:
    """Which of several failed, and what they could not read."""
    found: list[str] = []
    for each, answer in zip(providers, answers, strict=True):
        if isinstance(answer, BaseException):
            found.append(_plain(f"{_name(each)}: {type(answer).__name__}: {answer}"))
        unread = getattr(each, "problems", None)
        if isinstance(unread, list):
            found.extend(_plain(str(problem)) for problem in unread[:_PROBLEMS])
    return found


def _name(provider: Any) -> str:
    return str(getattr(provider, "name", None) or getattr(provider, "__name__", None) or type(provider).__name__)


def _plain(text: str) -> str:
    return _text(" ".join(text.split())[:300])


def _hit(given: Any) -> dict[str, Any]:
    def of(name: str) -> Any:
        return given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)

    url = of("url")
    if not isinstance(url, str) or not url:
        message = f"a hit has a url, this has none: {given!r:.100}"
        raise UsageError(message, "invalid_hit", "give hits with title, url and snippet")
    hit = {"url": _text(url), "title": _text(of("title")), "snippet": _text(of("snippet"))}
    for name in ("text", "published"):
        value = of(name)
        if value is not None:
            hit[name] = _text(value)
    return hit


def _text(value: Any) -> str:
    """Text that JSON can hold: halves of characters are replaced."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return text[:_LONGEST].encode("utf-8", "replace").decode()


async def _fetch(lookups: Lookups, wanted: Mapping[str, Any], _: list[str]) -> dict[str, Any]:
    from .search._base import takes_two

    fetch = lookups.fetch or _fetch_text
    # `fetch_page` and whatever wraps it take the address alone.
    arguments = (wanted["url"], wanted["max_chars"]) if takes_two(fetch) else (wanted["url"],)
    page = await _in_time(_PATIENCE["fetch"], fetch, *arguments)
    if isinstance(page, str):
        page = {"text": page}
    status = page.get("status") if isinstance(page, Mapping) else getattr(page, "status", None)
    if isinstance(status, int) and status >= 400:  # noqa: PLR2004 - HTTP
        message = f"the page answered {status}"
        raise ProviderError(message, "http_status")
    found = {}
    for name in ("url", "title", "text", "published"):
        value = page.get(name) if isinstance(page, Mapping) else getattr(page, name, None)
        if value is not None:
            found[name] = _text(value)
    # Only what will be read crosses over, and a little for what the count of characters leaves open.
    found["text"] = found.get("text", "")[: wanted["max_chars"]]
    return found


async def _fetch_text(url: str, max_chars: int) -> Any:
    """A page of the web as text."""
    from .web import fetch_page

    return await fetch_page(url, max_chars=max_chars, inline_links=False)


async def _made(embed: Callable[[list[str]], Any], batch: list[str]) -> list[list[float]]:
    """The vectors of a batch, as numbers; one too many is made where there are more."""
    given = await called(embed, batch)
    rows = await listed(given, len(batch) + 1)

    def numbers() -> list[list[float]]:
        return [[float(value) for value in islice(vector, _WIDEST)] for vector in rows]

    made: list[list[float]] = await beside(numbers)
    return made


async def _embed(lookups: Lookups, wanted: Mapping[str, Any], _: list[str]) -> list[list[float]]:
    assert lookups.embed is not None  # noqa: S101 - a machine without a named embedder never asks
    texts = wanted["texts"]
    vectors: list[list[float]] = []
    for at in range(0, len(texts), _BATCH):
        vectors.extend(await vectors_of(lookups.embed, texts[at : at + _BATCH]))
    return vectors


async def vectors_of(embed: Callable[[list[str]], Any], texts: list[str]) -> list[list[float]]:
    """The vectors of some texts, one for each, all of them numbers."""
    made = await asyncio.wait_for(_made(embed, texts), _PATIENCE["embed"])
    if len(made) != len(texts):
        message = f"the embedder gave {len(made)} vectors for {len(texts)} texts"
        raise UsageError(message, "invalid_vectors", "give one vector for each text")
    if not all(math.isfinite(value) for vector in made for value in vector):
        message = "the embedder gave what is no number"
        raise UsageError(message, "invalid_vectors", "give finite numbers")
    return made


async def _consult(lookups: Lookups, wanted: Mapping[str, Any], _: list[str]) -> str:
    """What a part of one's own says of the state, as JSON in the form that the machine reads."""
    part = lookups.parts.get(wanted["part"])
    if part is None:
        message = f"the run was begun with a {wanted['part']}, and there is none"
        raise UsageError(message, "no_part", f"give Research {wanted['part']}=...")
    given = await _in_time(_PATIENCE["consult"], part, wanted["state"])
    if wanted["part"] == "planner":
        plan = {} if given is None else dict(given) if isinstance(given, Mapping) else {"plan": list(given)}
        actions = [
            {"action": "SEARCH", "query": each} if isinstance(each, str) else each for each in plan.get("plan", ())
        ]
        return json.dumps({"critique": "", "thought": "", **plan, "plan": actions})
    found = {} if given is None else dict(given)
    if isinstance(found.get("enough"), str):
        found = {**found, "enough": True, "why": found["enough"]}
    return json.dumps({key: value for key, value in found.items() if value is not None})
