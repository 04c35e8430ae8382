"""An answer as the events of a wire, while it comes.

The codec of the wire writes them: what stands before the next piece, and behind the last one, is taken from the events
of an answer that has a mark in the piece's place. Nothing that was sent can be taken back, so calls are sent when they
are whole and mended, and of an answer that comes anew only what goes on from what was sent.
"""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING

from loopwright import wire as wires
from loopwright._dataclasses import replace
from loopwright.errors import ModelError
from loopwright.events import ReasoningDelta, Reset, TextDelta
from loopwright.messages import Message, Text, Thinking

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from loopwright.adapters._request import Answer, Piece
    from loopwright.messages import Block

__all__ = ["EventWriter", "response_of", "stamped"]

_MARK = "loopwright7c0f5b1e-here"
_WHOLE = 1 << 30
_NUMBER = re.compile(r'"sequence_number":\d+')
_CREATED = re.compile(r'"(created|created_at)":0')
_PREFIX = {"openai_chat": "chatcmpl-", "anthropic": "msg_", "openai_responses": "resp_"}
_SIGNED = frozenset({"anthropic", "bedrock", "gemini", "openai_responses"})
"""Wires whose reasoning is signed where it ends; the signature is known with the whole answer."""
_STOPS = {
    "tool_use": "tool_use",
    "output_limit": "max_tokens",
    "refusal": "refusal",
    "content_filter": "content_filter",
    "context_window": "context_window",
}
_BLOCKS: Mapping[str, type[Text | Thinking]] = {"text_delta": Text, "reasoning_delta": Thinking}


def response_of(wire: str, answer: Answer, model: str, name: str) -> wires.Response:
    """The answer as a response of the wire."""
    stop = _STOPS.get(answer.stop, "end_turn")
    return wires.Response(answer.message, stop=stop, usage=answer.usage, id=_PREFIX[wire] + name, model=model)


def stamped(text: str) -> str:
    """What the codec wrote, with the time in the place of none."""
    return _CREATED.sub(lambda found: f'"{found[1]}":{int(time.time())}', text, count=1)


class EventWriter:
    """The events of one answer."""

    def __init__(self, wire: str, model: str, name: str, *, usage: bool, whole: bool, upstream: str | None) -> None:
        self._wire, self._model, self._name, self._usage, self._whole = wire, model, name, usage, whole
        # Behind reasoning that is signed all waits, where the wire has a place for the signature.
        self._signed = wire != "openai_chat" and upstream in _SIGNED
        self._shown: list[tuple[str, list[str]]] = []
        self._earlier: tuple[Text | Thinking, ...] = ()
        self._round = 1
        self._again: str | None = None
        self._sent = 0
        self._template = ("", "")
        self.number = 0
        """How many events were sent."""

    def piece(self, piece: Piece) -> bytes:
        """What a piece adds, which may be nothing. Raises a `ModelError` (`changed`) where it can't stand behind what
        was sent.
        """
        if isinstance(piece, Reset):
            self._reset(piece.round)
            return b""
        if self._whole or not isinstance(piece, (TextDelta, ReasoningDelta)) or not piece.text:
            return b""
        if piece.type == "reasoning_delta" and self._signed:
            self._whole = not self._shown
            return b""
        text = piece.text if self._again is None else self._beyond(piece.type, piece.text)
        return self._add(piece.type, text) if text else b""

    def _reset(self, number: int) -> None:
        """What came is void, and comes again; or it is of an earlier round, and stands."""
        if number > self._round:
            self._round, self._again = number, None
            self._earlier = tuple(_BLOCKS[kind]("".join(parts)) for kind, parts in self._shown)
        elif self._shown:
            self._again = "".join(each.text for each in self._earlier if isinstance(each, Text))

    def _beyond(self, kind: str, text: str) -> str:
        """What of a piece of an answer that comes again is not sent yet; reasoning was sent once."""
        if kind == "reasoning_delta" or self._again is None:
            return ""
        came, sent = self._again + text, self._words()
        if sent.startswith(came):
            self._again = came
            return ""
        if not came.startswith(sent):
            raise _changed()
        self._again = None
        return text[len(sent) - len(came) :]

    def _add(self, kind: str, text: str) -> bytes:
        before = b""
        if not self._shown or self._shown[-1][0] != kind:
            self._shown.append((kind, []))
            before = self._opened()
        self._shown[-1][1].append(text)
        head, tail = self._template
        return before + self._written(head + json.dumps(text, ensure_ascii=False)[1:-1] + tail)

    def _opened(self) -> bytes:
        """What stands before the first piece of a block."""
        blocks = [_BLOCKS[kind]("".join(parts)) for kind, parts in self._shown[:-1]]
        marked = Message("assistant", (*blocks, _BLOCKS[self._shown[-1][0]](_MARK)))
        events = self._events(wires.Response(marked, id=_PREFIX[self._wire] + self._name, model=self._model))
        at = _marked(events)
        made = b"".join(map(self._written, events[self._sent : at]))
        self._sent = at + 1
        head, _, tail = events[at].partition(_MARK)
        self._template = (head, tail)
        return made

    def end(self, answer: Answer) -> bytes:
        """What is left of the answer: the rest of its words, its calls, why it ended and what it took."""
        said = (*self._earlier, *answer.message.content)
        if not self._shown:
            return b"".join(map(self._written, self._events(self._response(answer, said))))
        made = b""
        words = "".join(each.text for each in said if isinstance(each, Text))
        sent = self._words()
        if words.startswith(sent):
            rest = words[len(sent) :]
            made = self._add("text_delta", rest) if rest else b""
        elif words.strip() != sent.strip():
            # Blanks at an end are nobody's words.
            raise _changed()
        shown = [_BLOCKS[kind]("".join(parts)) for kind, parts in self._shown]
        shown[-1] = replace(shown[-1], text=shown[-1].text + _MARK)
        others = [each for each in said if not isinstance(each, Text) and not _is_plain(each)]
        events = self._events(self._response(answer, (*shown, *others)))
        behind = events[_marked(events) + 1 :]
        return made + b"".join(self._written(each.replace(_MARK, "")) for each in behind)

    def _response(self, answer: Answer, content: Iterable[Block]) -> wires.Response:
        whole = replace(answer, message=Message("assistant", tuple(content)))
        return response_of(self._wire, whole, self._model, self._name)

    def _words(self) -> str:
        return "".join("".join(parts) for kind, parts in self._shown if kind == "text_delta")

    def _events(self, response: wires.Response) -> list[str]:
        found = wires.encode_stream(self._wire, response, piece=_WHOLE)
        if self._wire == "openai_chat":
            kept = (data for _, data in found if self._usage or '"choices":[],"usage":' not in data)
            return [f"data: {stamped(data)}\n\n" for data in kept]
        return [f"event: {name}\ndata: {stamped(data)}\n\n" for name, data in found]

    def _written(self, event: str) -> bytes:
        if self._wire == "openai_responses":
            event = _NUMBER.sub(f'"sequence_number":{self.number}', event, count=1)
        self.number += 1
        return event.encode("utf-8", "replace")


def _is_plain(block: Block) -> bool:
    """Whether a block is reasoning that nobody has to send back."""
    return isinstance(block, Thinking) and block.signature is None and block.redacted is None


def _marked(events: list[str]) -> int:
    return next(at for at, each in enumerate(events) if _MARK in each)


def _changed() -> ModelError:
    message = "the provider's stream broke off, and its answer came anew in other words than those that were sent"
    return ModelError(message, "changed", "ask again; answers that are sent when they are whole survive this")
