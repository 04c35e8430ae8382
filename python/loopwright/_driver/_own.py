"""Streams of models of one's own: where they are iterated over, what of them is told, and what they come to.

A plain stream is iterated over in a thread where there is an event loop, so that it holds nobody up, and in the thread
of the caller where there is none: a step between two turns of the run. An async one is iterated over in the loop.
Whoever iterated closes the stream, also where the run was left.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from collections import deque
from collections.abc import AsyncIterable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from loopwright._dataclasses import replace
from loopwright._effects import AGAIN, Beside, Raised, attempt
from loopwright._user_code import log_raised
from loopwright.errors import ModelError
from loopwright.models import Call, InvalidAnswer, Reasoning, Response, Whole, arguments_of

from ._work import is_async

if TYPE_CHECKING:
    from loopwright import _core
    from loopwright._driver._models import Asker
    from loopwright._effects import Work
    from loopwright._instrument import Entered

    Piece = str | Call | Reasoning
    """What a stream gives, before its end."""

_GIVE = "yield text, a Call, or at the end a Response"


class Written:
    """What a stream has given so far, and the answer that it comes to."""

    __slots__ = ("_blocks", "_calls", "_count", "_last", "_name", "_thought", "_turn", "_whole")

    def __init__(self, name: str, turn: int) -> None:
        self._name = name
        self._turn = turn
        # Texts that belong together, and calls, in their order.
        self._blocks: list[list[str] | Call] = []
        self._calls = 0
        self._count = 0
        self._last: Response | None = None
        self._thought: list[str] = []
        # Where a double has it.
        self._whole: Whole | None = None

    def take(self, piece: object) -> list[Piece]:
        """Takes the next piece; gives what is new of it. Calls have ids then, and arguments that JSON can carry."""
        self._count += 1
        if self._last is not None:
            raise self._wrong(f"gave {_shown(piece)} after its Response", "let the Response be the last that it yields")
        if isinstance(piece, str):
            if not piece:
                return []
            last = self._blocks[-1] if self._blocks else None
            if isinstance(last, list):
                last.append(piece)
            else:
                self._blocks.append([piece])
            return [piece]
        if isinstance(piece, Call):
            return [self._called(piece)]
        if isinstance(piece, Response):
            self._last = piece
            return self._rest(piece)
        if isinstance(piece, Reasoning):
            self._thought.append(piece.text)
            return [piece]
        if isinstance(piece, Whole):
            self._last, self._whole = Response(), piece
            return []
        raise self._wrong(f"gave {_shown(piece)} as piece {self._count}", _GIVE)

    def answer(self) -> Any:
        """The whole answer."""
        if self._whole is not None:
            return self._whole.answer
        calls = [block for block in self._blocks if isinstance(block, Call)]
        texts = ["".join(block) for block in self._blocks if isinstance(block, list)]
        last = self._last or Response()
        thought = last.reasoning or "".join(self._thought)
        whole = replace(last, text="".join(texts), calls=calls, reasoning=thought)
        if len(texts) <= 1 and (not texts or isinstance(self._blocks[0], list)):
            return whole
        # Text between calls and behind them stays where it is.
        found = whole.to_dict(self._turn)
        content = found["message"]["content"]
        asked = iter([block for block in content if block["type"] == "tool_use"])
        found["message"]["content"] = [
            *(block for block in content if block["type"] == "thinking"),
            *(
                {"type": "text", "text": "".join(block)} if isinstance(block, list) else next(asked)
                for block in self._blocks
            ),
        ]
        return found

    def _called(self, call: Call) -> Call:
        if not isinstance(call.name, str) or not call.name:
            raise self._wrong(f"gave a Call whose name is {call.name!r:.100}", "give the name of a tool")
        try:
            arguments_of(call)
        except ModelError as error:
            message = f"piece {self._count} of the stream of {self._name}: {error.message}"
            raise InvalidAnswer(message, error.code, error.hint) from error
        named = replace(call, call_id=call.call_id or f"call_{self._turn}_{self._calls}")
        self._calls += 1
        self._blocks.append(named)
        return named

    def _rest(self, last: Response) -> list[Piece]:
        """What a Response at the end has that was not there before: all or nothing."""
        before = "".join("".join(block) for block in self._blocks if isinstance(block, list))
        calls = [block for block in self._blocks if isinstance(block, Call)]
        if last.text and before and last.text != before:
            message = f"gave the text {_shown(before)}, and a Response whose text is {_shown(last.text)}"
            raise self._wrong(message, "leave `text` out of a Response at the end, or say the same")
        same = [(call.name, call.arguments) for call in last.calls] == [(call.name, call.arguments) for call in calls]
        if last.calls and calls and not same:
            raise self._wrong("gave calls, and a Response with others", "leave `calls` out of a Response at the end")
        new: list[Piece] = []
        if last.reasoning and not self._blocks and not self._thought:
            new.append(Reasoning(last.reasoning))
        if last.text and not before:
            if calls:
                self._blocks.insert(0, [last.text])
            else:
                self._blocks.append([last.text])
            new.append(last.text)
        if not calls:
            new.extend(self._called(call) for call in last.calls)
        return new

    def _wrong(self, what: str, hint: str) -> InvalidAnswer:
        return InvalidAnswer(f"the stream of {self._name} {what}", hint=hint)


def _shown(value: object) -> str:
    return f"{type(value).__name__} {value!r:.80}"


class Streamed:
    """An answer of a model of one's own that comes in pieces."""

    __slots__ = ("_apart", "_asker", "_at_once", "_called", "_driver", "_id", "_left", "_model", "_request", "_span",
                 "_waiting", "_written", "own")  # fmt: skip

    def __init__(
        self,
        asker: Asker,
        model: Any,
        request: Any,
        own: _core.OwnAnswer | None,
        span: Entered | None,
        *,
        apart: bool,
    ) -> None:
        self.own = own
        self._asker = asker
        self._driver = asker.driver
        self._id = asker.command.id
        self._model = model
        self._request = request
        self._span = span
        self._apart = apart
        self._written = Written(type(model).__name__, request.turns)
        self._at_once = bool(getattr(model, "inline", False))
        # Nobody wants it any more.
        self._left = False
        # Pieces from other threads that are not told yet, and whether the run was asked to tell them.
        self._waiting: deque[Piece] = deque()
        self._called = False

    @property
    def visible(self) -> bool:
        """Whether anybody was shown anything of it."""
        return self.own is not None and self.own.visible

    def here(self) -> Any:
        """The answer of a model that may be asked at once: `None` where it is on its way elsewhere, `Raised` where it
        failed.
        """
        if not self._at_once:
            return None
        sent = attempt(self._entered, self._begun)
        if type(sent) is Raised:
            return sent
        if not _is_plain(sent):
            self._at_once, self._model = False, _Given(sent)
            return None
        sent = attempt(self._entered, partial(self._iterate, sent))
        return sent if type(sent) is Raised else attempt(self._whole)

    def work(self) -> Work:
        """The answer, or `Raised`."""
        driver = self._driver
        stream = self._model.stream
        try:
            plain = not (is_async(stream) or inspect.isasyncgenfunction(stream) or isinstance(self._model, _Given))
            if plain and driver.in_loop:
                sent = yield Beside(None, partial(self._entered, self._beside))
            else:
                sent = attempt(self._entered if plain else _call, self._begun)
            if type(sent) is not Raised and inspect.isawaitable(sent):
                sent = yield self._awaited(partial(_the, sent))
                if type(sent) is not Raised:
                    sent = attempt(self._checked, sent)
            if isinstance(sent, AsyncIterable):
                sent = yield self._awaited(partial(self._aiterate, sent))
            elif isinstance(sent, Iterable):
                sent = yield from self._steps(sent)
            return sent if type(sent) is Raised else attempt(self._whole)
        finally:
            self._left = True

    # ---- iterating ----

    def _begun(self) -> Any:
        return self._checked(self._model.stream(self._request))

    def _checked(self, given: Any) -> Any:
        if isinstance(given, AsyncIterable) or inspect.isawaitable(given):
            return given
        if isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping)):
            return given
        message = f"stream() of {type(self._model).__name__} gave {_shown(given)}"
        raise InvalidAnswer(message, hint=f"make it a generator: {_GIVE}")

    def _beside(self) -> Any:
        """Iterates in a thread; what has to be awaited is given back."""
        given = self._begun()
        return self._iterate(given) if _is_plain(given) else given

    def _iterate(self, given: Iterable[Any]) -> None:
        iterator = iter(given)
        try:
            for piece in iterator:
                if self._left:
                    return
                self._take(piece)
        finally:
            _close(iterator)

    def _steps(self, given: Iterable[Any]) -> Work:
        """Iterates where the run is driven; others get their turn between two pieces."""
        iterator = iter(given)
        try:
            while True:
                sent = attempt(self._entered, partial(next, iterator, _END))
                if sent is _END or type(sent) is Raised:
                    return None if sent is _END else sent
                sent = attempt(self._take, sent)
                if type(sent) is Raised:
                    return sent
                yield AGAIN
        finally:
            _close(iterator)

    async def _aiterate(self, given: AsyncIterable[Any]) -> None:
        iterator = given.__aiter__()
        try:
            async for piece in iterator:
                if self._left:
                    return
                self._take(piece)
                # Who watches gets a turn, and a stream that awaits nothing can be cancelled.
                await asyncio.sleep(0)
        finally:
            close = getattr(iterator, "aclose", None)
            if close is not None:
                try:
                    await close()
                except Exception as error:  # noqa: BLE001 - what it gave counts
                    log_raised("model", "a stream that was closed", error)

    def _entered(self, function: Any) -> Any:
        return function() if self._span is None else self._span.call(function)

    def _awaited(self, function: Any) -> Any:
        return function() if self._span is None else self._span.awaited(function)

    # ---- telling ----

    def _take(self, piece: object) -> None:
        new = self._written.take(piece)
        if self.own is None:
            return
        if threading.get_ident() == self._driver.thread:
            for each in new:
                self._show(each)
            return
        self._waiting.extend(new)
        if not self._called:
            self._called = True
            self._driver.soon(self._tell)

    def _tell(self) -> None:
        # What comes from now on asks again.
        self._called = False
        while self._waiting:
            self._show(self._waiting.popleft())

    def _show(self, piece: Piece) -> None:
        if self._left or self.own is None or self.own.done:
            return
        if isinstance(piece, str):
            self._arrived(_told(self.own.text, piece))
        elif isinstance(piece, Reasoning):
            self._arrived(_told(self.own.reasoning, piece.text))
        else:
            arguments = arguments_of(piece)
            written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            self._arrived(_told(self.own.call, piece.call_id, piece.name, written))

    def _arrived(self, deltas: list[Any]) -> None:
        if deltas:
            self._asker.show((self._id, deltas) if self._apart else deltas)

    def _whole(self) -> Any:
        self._tell()
        if self.own is not None and not self.own.done:
            self._arrived(self.own.finish())
        return self._written.answer()


class _Given:
    """What a stream has handed out already, and is awaited."""

    __slots__ = ("given",)

    def __init__(self, given: Any) -> None:
        self.given = given

    def stream(self, _: Any) -> Any:
        return self.given


_END = object()


def _is_plain(given: Any) -> bool:
    return isinstance(given, Iterable) and not inspect.isawaitable(given)


def _call(function: Any) -> Any:
    return function()


async def _the(given: Any) -> Any:
    return await given


def _told(show: Any, *words: str) -> list[Any]:
    """What is shown of a piece; halves of characters, which no UTF-8 can carry, are replaced."""
    with suppress(UnicodeEncodeError):
        return show(*words)  # type: ignore[no-any-return]
    from loopwright.tools._result import clean_text

    return show(*map(clean_text, words))  # type: ignore[no-any-return]


def _close(iterator: Any) -> None:
    close = getattr(iterator, "close", None)
    if close is not None:
        try:
            close()
        except Exception as error:  # noqa: BLE001 - what it gave counts
            log_raised("model", "a stream that was closed", error)
