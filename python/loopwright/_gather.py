"""What a grounded answer rests on besides files and the conversation: memories, indexes, and functions."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import threading
from collections.abc import AsyncIterable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ._awaited import awaited
from ._effects import Beside, given_of
from ._user_code import RAISED, closes, log_raised
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FunctionSource", "IndexSource", "MemorySource", "beside", "called", "collect", "gatherer", "listed"]

_HITS = 8
_PATIENCE = 30.0
_LONG_PATIENCE = 300.0
"""Seconds for what embeds whole folders, once."""
_LONGEST = 200_000
_PIECES = 1_000
"""Pieces of one source; one may give them without end."""
_WHOLE = 8_000_000
"""Characters of all its pieces."""
_KINDS = ("thread", "file", "web", "tool", "memory")


class MemorySource:
    """What a memory recalls for the question: what belongs to everybody, and to `user`."""

    def __init__(
        self,
        memory: Any,
        hits: int = _HITS,
        *,
        user: str | None = None,
        characters: int = _LONGEST,
        patience: float = _PATIENCE,
    ) -> None:
        self.name = "memory"
        self.patience = patience
        self._memory = memory
        self._hits = hits
        self._user = user or ""
        self._characters = characters

    async def find(self, question: str) -> list[dict[str, Any]]:
        found = await beside(functools.partial(self._memory.recall, user=self._user), question, self._hits)
        return [_document("memory", f"memory#{hit.id}", hit.text[: self._characters], found=True) for hit in found]


class IndexSource:
    """The best passages of a `loopwright.retrieve.Index`."""

    def __init__(self, index: Any, hits: int = _HITS) -> None:
        self.name = "index"
        self._index = index
        self._hits = hits

    async def find(self, question: str) -> list[dict[str, Any]]:
        found = await beside(self._index.search, question, self._hits)
        return [_document("file", f"index#{hit.id + 1}", hit.text, found=True) for hit in found]


async def called(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives, whichever kind it is; one that is no coroutine runs in a thread.

    One that wants the process to end fails: it ends no loop that is not its own. One that never ends keeps neither the
    loop nor the process from ending.
    """
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        answer = function(*arguments)
    else:
        answer = await beside(function, *arguments)
    if not inspect.isawaitable(answer):
        return answer
    try:
        return await answer
    except (SystemExit, KeyboardInterrupt) as error:
        raise _ending(error) from error


async def beside(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a plain function gives, called in a thread of its own that nobody has to wait for."""

    def work() -> Any:
        try:
            return function(*arguments)
        except (StopIteration, SystemExit, KeyboardInterrupt) as error:
            raise _ending(error) from error

    return given_of(await awaited(Beside(f"loopwright {getattr(function, '__name__', 'work')}", work)))


async def listed(given: Any, most: int, enough: Callable[[Any], bool] | None = None) -> list[Any]:
    """At most `most` of what something gives, however slow or endless it is: what is iterated over runs beside, and is
    left when nobody waits for it any more. `enough` sees each piece and may end it earlier.
    """
    if isinstance(given, AsyncIterable):
        return await _awaited(given, most, enough)
    if isinstance(given, (list, tuple)) and enough is None:
        return list(given[:most])
    left = threading.Event()

    def take() -> list[Any]:
        found: list[Any] = []
        if most < 1:
            return found
        for each in given:
            found.append(each)
            if len(found) >= most or left.is_set() or (enough is not None and enough(each)):
                break
        return found

    try:
        return list(await beside(take))
    finally:
        left.set()


def _ending(error: BaseException) -> RuntimeError:
    return RuntimeError(f"{type(error).__name__}: {error}")


async def _awaited(given: AsyncIterable[Any], most: int, enough: Callable[[Any], bool] | None) -> list[Any]:
    found: list[Any] = []
    pieces = given.__aiter__()
    try:
        while len(found) < most and not (found and enough and enough(found[-1])):
            try:
                found.append(await pieces.__anext__())
            except StopAsyncIteration:
                break
    except (SystemExit, KeyboardInterrupt) as error:
        raise _ending(error) from error
    finally:
        close = getattr(pieces, "aclose", None)
        if close is not None:
            await close()
    return found


class FunctionSource:
    """What a function gives for the question: text, texts, mappings with `text`, or `Source`s."""

    def __init__(self, function: Callable[[str], Any]) -> None:
        self.name = str(getattr(function, "__name__", type(function).__name__))
        self._function = function

    async def find(self, question: str) -> list[dict[str, Any]]:
        given = await called(self._function, question)
        if given is None:
            return []
        if isinstance(given, (str, Mapping)) or not isinstance(given, (Iterable, AsyncIterable)):
            given = [given]
        left = _WHOLE

        def enough(piece: Any) -> bool:
            nonlocal left
            left -= len(piece) if isinstance(piece, str) else 100
            return left <= 0

        pieces = await listed(given, _PIECES, enough)
        return [self._piece(at, piece, len(pieces)) for at, piece in enumerate(pieces, 1)]

    def _piece(self, at: int, piece: Any, count: int) -> dict[str, Any]:
        reference = self.name if count == 1 else f"{self.name}#{at}"
        if isinstance(piece, str):
            return _document("tool", reference, piece, found=True)
        if not isinstance(piece, Mapping):
            names = ("kind", "reference", "text", "url")
            piece = {name: getattr(piece, name) for name in names if hasattr(piece, name)}
        text = piece.get("text")
        if not isinstance(text, str):
            raise UsageError(
                f"{self.name} gave a source without text", "invalid_source", "give text, or a mapping with it"
            )
        kind = piece.get("kind", "web" if "url" in piece else "tool")
        return _document(str(kind), str(piece.get("reference") or piece.get("url") or reference), text, found=True)


def _document(kind: str, reference: str, text: str, *, found: bool) -> dict[str, Any]:
    if kind not in _KINDS:
        raise UsageError(f"there is no kind of source named {kind!r}", "invalid_source", f"use {', '.join(_KINDS)}")
    # A lone surrogate is no text that JSON could carry.
    text = text[:_LONGEST].encode("utf-8", "replace").decode()
    # What is given as a file goes through the ranking of files only where it is one.
    return {"kind": kind, "reference": reference[:500], "text": text, "found": found and kind != "file"}


def gatherer(source: Any, user: str | None = None, recall: Mapping[str, Any] | None = None) -> Any:
    """A source that is asked, from what a caller gave; `None` if it is none."""
    from .memory import Memory
    from .retrieve import Index

    if isinstance(source, Memory):
        shape = dict(recall or {})
        patience = float(shape.pop("timeout", _PATIENCE))
        return MemorySource(source, user=user, patience=patience, **shape)
    if isinstance(source, Index):
        return IndexSource(source)
    if callable(source) and not isinstance(source, type):
        return FunctionSource(source)
    return None


def patience_of(source: Any) -> float:
    """Seconds that a source may take."""
    patience: float = getattr(source, "patience", _PATIENCE)
    return _LONG_PATIENCE if source.name == "embedder" else patience


async def collect(sources: tuple[Any, ...], question: str) -> tuple[str, list[str]]:
    """What all of them give, as JSON, and which failed, and why: a run goes on without them."""

    async def ask(source: Any) -> tuple[list[dict[str, Any]], str | None]:
        try:
            return await asyncio.wait_for(source.find(question), patience_of(source)), None
        except asyncio.CancelledError:
            raise
        except asyncio.TimeoutError:
            return [], f"{source.name}: gave nothing within {patience_of(source):g} s"
        except RAISED as error:
            if closes(error):
                raise
            log_raised("sources", f"the source {source.name}", error)
            return [], _plain(f"{source.name}: {type(error).__name__}: {error}"[:400])

    answers = await asyncio.gather(*(ask(source) for source in sources))
    documents = [document for found, _ in answers for document in found]
    return json.dumps(documents), [failure for _, failure in answers if failure is not None]


def _plain(text: str) -> str:
    """Without lone surrogates, which no JSON could carry."""
    return text.encode("utf-8", "replace").decode()
