"""What the events of a run say of its answer while it is written: its text, what it holds so far, its elements.

Each class is fed with every event and says what is to be given for it. Nothing here knows how events are had: streams
with and without an event loop give the same.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Generic, Protocol, TypeVar, cast, get_args, get_origin

from ._dataclasses import dataclass
from ._growing_json import GrowingJson
from ._typed import Output
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._output import OutputType
    from .events import Event
    from .result import Result

__all__ = ["Given", "Items", "Outputs", "Partial", "Texts"]

T = TypeVar("T")
Given_co = TypeVar("Given_co", covariant=True)

_SHARE = 128
"""An answer is looked at again when it has grown by this part of it: what that costs stays in proportion to it."""


@dataclass(frozen=True)
class Partial(Generic[Output]):
    """What an answer holds so far."""

    data: Any
    """Plain data, mended where it is not whole yet; without an `output_type` the text."""
    value: Output | None = None
    """The same as the `output_type`, once it fits that; `None` until then."""
    done: bool = False
    """Whether the run has ended with this answer: `value` is then what `result.output` is."""


class Given(Protocol[Given_co]):
    """What is given for events."""

    def feed(self, event: Event) -> Sequence[Given_co]:
        """The run tells an event; what is given for it."""


class _Written:
    """The pieces of the answer among what a run tells: of its text, or of the arguments of the call that it is."""

    __slots__ = ("_block", "_tool")

    def __init__(self, output: OutputType[Any] | None) -> None:
        self._tool = None if output is None else output.tool
        # The block of the call.
        self._block: int | None = None

    def begin(self) -> None:
        """The answer is begun anew."""
        self._block = None

    def of(self, event: Event) -> str | None:
        """The next piece of the answer, if the event is one."""
        match event.type:
            case "text_delta" if self._tool is None:
                return event.text
            case "tool_use_delta" if self._block is None and event.name == self._tool:
                self._block = event.block
            case "arguments_delta" if event.block == self._block:
                return event.text
        return None


class Texts:
    """All text of the answer so far, again and again. What a reset makes void is followed by an empty text."""

    __slots__ = ("_last", "_text")

    def __init__(self) -> None:
        self._text = ""
        self._last = ""

    def feed(self, event: Event) -> list[str]:
        match event.type:
            case "text_delta":
                self._text += event.text
                return self._give(self._text)
            case "reset" if event.path is None:
                self._text = ""
                return self._give("")
            case "round_started" if event.path is None:
                self._text = ""
            case "run_finished":
                final = event.result.final
                return [] if final is None else self._give(final)
        return []

    def _give(self, text: str) -> list[str]:
        if text == self._last:
            return []
        self._last = text
        return [text]


class Outputs(Generic[Output]):
    """What the answer holds so far, whenever that has changed."""

    __slots__ = ("_json", "_last", "_output", "_seen", "_text", "_written")

    def __init__(self, output: OutputType[Output] | None) -> None:
        self._output = output
        self._last: Partial[Output] | None = None
        self._written = _Written(output)
        self._begin()

    def _begin(self) -> None:
        self._text = ""
        self._written.begin()
        self._json = GrowingJson(lists=self._output is None or self._output.wrapped)
        # How long the text was when it was looked at.
        self._seen = 0

    def feed(self, event: Event) -> list[Partial[Output]]:
        match event.type:
            case "reset" | "round_started" if event.path is None:
                self._begin()
            case "run_finished":
                return self._end(event.result)
            case _ if (piece := self._written.of(event)) is not None:
                return self._grown(piece)
        return []

    def _grown(self, piece: str) -> list[Partial[Output]]:
        self._text += piece
        if self._output is None:
            return self._give(Partial(self._text, cast("Output", self._text)))
        if self._output.asked.call is not None:
            # What a function is to be given is no part of what it gives.
            return []
        self._json.add(piece)
        length = len(self._text)
        if (length - self._seen) * _SHARE >= self._seen or self._json.over:
            self._seen = length
            return self._so_far(self._output)
        return []

    def _so_far(self, output: OutputType[Output]) -> list[Partial[Output]]:
        data = self._json.so_far()
        if output.wrapped and isinstance(data, dict):
            if data.keys() != {"value"}:
                return []
            data = data["value"]
        if data is None or (self._last is not None and _same(data, self._last.data)):
            return []
        return self._give(Partial(data, output.fitting(data)))

    def _end(self, result: Result[Any]) -> list[Partial[Output]]:
        if result.final is None or result.error is not None:
            return []
        if self._output is None or self._output.asked.call is not None:
            data: object = result.final
        else:
            data = self._output.parsed(result.final)[1]
        return self._give(Partial(data, result.output, done=True))

    def _give(self, partial: Partial[Output]) -> list[Partial[Output]]:
        self._last = partial
        return [partial]


class Items(Generic[T]):
    """The elements of a list, each once, as soon as it is whole. From one on that is not of the type they wait until
    the run has ended, or until another answer takes its place.
    """

    __slots__ = ("_element", "_given", "_halted", "_json", "_output", "_passed", "_written")

    def __init__(self, output: OutputType[list[T]] | None) -> None:
        annotation = None if output is None else output.annotation
        while get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        if output is None or (annotation is not list and get_origin(annotation) is not list):
            said = "text" if output is None else output.name
            message = f"only lists have items, and the output_type of this agent is {said}"
            hint = "give Agent an output_type=list[…], or read outputs() or text()"
            raise UsageError(message, "no_items", hint)
        from ._output import OutputType

        self._output = output
        self._element: OutputType[T] = OutputType(next(iter(get_args(annotation)), Any))
        # What was given in the whole run, and what has passed of the answer that is under way, by their data.
        self._given: Counter[str] = Counter()
        self._written = _Written(output)
        self._begin()

    def _begin(self) -> None:
        self._written.begin()
        self._json = GrowingJson()
        self._passed: Counter[str] = Counter()
        # The number of the list whose elements wait.
        self._halted = 0

    def feed(self, event: Event) -> list[T]:
        match event.type:
            case "reset" | "round_started" if event.path is None:
                self._begin()
            case "run_finished":
                return self._rest(event.result)
            case _ if (piece := self._written.of(event)) is not None and self._output.asked.call is None:
                return self._grown(piece)
        return []

    def _grown(self, piece: str) -> list[T]:
        items: list[T] = []
        for number, text in self._json.add(piece):
            if number != self._halted and not self._take(text, items):
                self._halted = number
        return items

    def _take(self, text: str, items: list[T]) -> bool:
        """An element that is whole; whether it can be given."""
        try:
            data = json.loads(text)
            value = self._element.check(data)
        except (ValueError, RecursionError):
            # Whatever is no JSON is mended when all of it is there.
            return False
        except Exception:  # noqa: BLE001 - what is wrong with it the model is told, once its answer is whole
            return False
        if self._is_new(data):
            items.append(value)
        return True

    def _is_new(self, data: object) -> bool:
        key = json.dumps(data, sort_keys=True, default=repr)
        self._passed[key] += 1
        if self._passed[key] <= self._given[key]:
            return False
        self._given[key] += 1
        return True

    def _rest(self, result: Result[Any]) -> list[T]:
        """What of the answer was not given while it was written."""
        if result.final is None or result.error is not None:
            return []
        if self._output.asked.call is not None:
            return list(result.output)
        values, data = self._output.parsed(result.final)
        self._passed = Counter()
        listed = data if isinstance(data, list) and len(data) == len(values) else values
        return [value for value, each in zip(values, listed, strict=True) if self._is_new(each)]


def _same(data: object, other: object) -> bool:
    """Whether plain data is the same; `True` is not 1."""
    return data == other and json.dumps(data) == json.dumps(other)
