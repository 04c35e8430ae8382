"""What a grounded answer rests on besides files and the conversation: memories, indexes, and functions."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .errors import UsageError
from .events import Warning as Told

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FunctionSource", "IndexSource", "MemorySource", "collect", "gatherer"]

_HITS = 8
_PATIENCE = 30.0
_LONGEST = 200_000
_KINDS = ("thread", "file", "web", "tool", "memory")


class MemorySource:
    """What a memory recalls for the question."""

    def __init__(self, memory: Any, hits: int = _HITS) -> None:
        self.name = "memory"
        self._memory = memory
        self._hits = hits

    async def find(self, question: str) -> list[dict[str, Any]]:
        found = await asyncio.to_thread(self._memory.recall, question, self._hits)
        return [_document("memory", f"memory#{hit.id}", hit.text, found=True) for hit in found]


class IndexSource:
    """The best passages of a `loopwright.retrieve.Index`."""

    def __init__(self, index: Any, hits: int = _HITS) -> None:
        self.name = "index"
        self._index = index
        self._hits = hits

    async def find(self, question: str) -> list[dict[str, Any]]:
        found = await asyncio.to_thread(self._index.search, question, self._hits)
        return [_document("file", f"index#{hit.id + 1}", hit.text, found=True) for hit in found]


async def called(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives, whichever kind it is; one that is no coroutine runs in a thread.

    One that wants the process to end fails: it ends no loop that is not its own.
    """
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        answer = function(*arguments)
    else:
        answer = await asyncio.to_thread(_kept_in, function, *arguments)
    if not inspect.isawaitable(answer):
        return answer
    try:
        return await answer
    except (SystemExit, KeyboardInterrupt) as error:
        raise _ending(error) from error


def _kept_in(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except (SystemExit, KeyboardInterrupt) as error:
        raise _ending(error) from error


def _ending(error: BaseException) -> RuntimeError:
    return RuntimeError(f"{type(error).__name__}: {error}")


class FunctionSource:
    """What a function gives for the question: text, texts, mappings with `text`, or `Source`s."""

    def __init__(self, function: Callable[[str], Any]) -> None:
        self.name = str(getattr(function, "__name__", type(function).__name__))
        self._function = function

    async def find(self, question: str) -> list[dict[str, Any]]:
        given = await called(self._function, question)
        if given is None:
            return []
        if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
            given = [given]
        pieces = list(given)
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


def gatherer(source: Any) -> Any:
    """A source that is asked, from what a caller gave; `None` if it is none."""
    from .memory import Memory
    from .retrieve import Index

    if isinstance(source, Memory):
        return MemorySource(source)
    if isinstance(source, Index):
        return IndexSource(source)
    if callable(source) and not isinstance(source, type):
        return FunctionSource(source)
    return None


async def collect(sources: tuple[Any, ...], question: str) -> tuple[str, list[Any]]:
    """What all of them give, as JSON, and a warning for each that failed: a run goes on without it."""

    async def ask(source: Any) -> tuple[list[dict[str, Any]], Any]:
        try:
            return await asyncio.wait_for(source.find(question), _PATIENCE), None
        except asyncio.CancelledError:
            raise
        except asyncio.TimeoutError:
            return [], Told("source_failed", f"{source.name}: gave nothing within {_PATIENCE:g} s")
        except Exception as error:  # noqa: BLE001 - a source of somebody else's; the run goes on
            return [], Told("source_failed", f"{source.name}: {type(error).__name__}: {error}"[:400])

    answers = await asyncio.gather(*(ask(source) for source in sources))
    documents = [document for found, _ in answers for document in found]
    return json.dumps(documents), [warning for _, warning in answers if warning is not None]
