"""A model that follows a script, without any network."""

from __future__ import annotations

import inspect
import json
from collections import deque
from typing import TYPE_CHECKING, Any

from loopwright import _core
from loopwright._dataclasses import replace
from loopwright.errors import ModelError, UsageError
from loopwright.models import Call, Response

from ._pieces import pieces_of
from ._wire import Reply, called, listed

if TYPE_CHECKING:
    import os
    from collections.abc import Awaitable, Callable, Iterable

    from loopwright._core import Request

__all__ = ["ScriptedModel", "UnconsumedReplies", "UnexpectedRequest"]


class UnexpectedRequest(ModelError):
    """The script is used up, and the model is asked once more."""

    default_code = "unexpected_request"


class UnconsumedReplies(AssertionError):
    """The run is over, and the script is not."""


class ScriptedModel:
    """Answers with what the script says, in order.

    >>> from loopwright import Agent
    >>> model = ScriptedModel(["There are 120."])
    >>> Agent(model).run_sync("How many bolts?").final
    'There are 120.'
    >>> model.assert_complete()

    A step is text, a `Response`, a `Call` or a list of them, what `text`, `call` and `calls` of this package give, an
    exception (raised), or a function of the request that gives one of these. `requests` keeps what was asked;
    `assert_complete` fails if a step is left. Without a wire there are no faults of one: raise a `ModelFailure`, or
    take a `WireServer`.

    Where somebody watches the run, texts come in pieces of `piece` characters. Tokens of requests and answers are
    counted as `loopwright.tokens.count_tokens` does; those of a `Response` are what it says.

    With `by_turn` the step is chosen by the number of answers in the history, so that many runs can share the model.
    """

    name = "scripted"
    inline = True

    def __init__(
        self, steps: Iterable[Any], *, by_turn: bool = False, keep_requests: bool = True, piece: int = 8
    ) -> None:
        if isinstance(piece, bool) or not isinstance(piece, int) or piece < 1:
            message = f"piece can't be {piece!r:.100}"
            raise UsageError(message, "invalid_option", "give the number of characters of a piece, from 1 up")
        self._steps = [_playable(step) for step in listed("steps", steps)]
        self._left = deque(self._steps)
        self._by_turn = by_turn
        self._keep = keep_requests
        self._piece = piece
        self.requests: list[Request] = []

    @classmethod
    def from_journal(cls, journal: str | os.PathLike[str], run: str | None = None, *, piece: int = 8) -> ScriptedModel:
        """A model that gives the answers which a run has got, as its journal holds them: texts, calls, why they stop,
        and usage, those to sub-agents among them, in the order of the requests. Attempts that failed are left out, and
        so is what roles beside the run were asked.

        `journal` is a path, its lines, or a store; `run` names the run of a store.
        """
        from ._journal import answers_of

        return cls(answers_of(journal, run), piece=piece)

    def __repr__(self) -> str:
        return f"<ScriptedModel of {len(self._steps)} steps, {len(self.requests)} requests>"

    def __getstate__(self) -> dict[str, Any]:
        """What another process gets: the script, and nothing of what was asked here."""
        return {**self.__dict__, "requests": []}

    def respond(self, request: Request, /) -> Any:
        """The next step, whole."""
        return self._answer(self._next(request), request)

    def stream(self, request: Request, /) -> Any:
        """The next step, in pieces."""
        answer = self._answer(self._next(request), request)
        if inspect.isawaitable(answer):
            return self._pieces_in_time(answer)
        return pieces_of(answer, self._piece)

    def assert_complete(self) -> None:
        """Fails if a step of the script was not asked for."""
        if self._left and not self._by_turn:
            message = f"{len(self._left)} of {len(self._steps)} replies were not asked for: {list(self._left)!r}"
            raise UnconsumedReplies(message)

    def _next(self, request: Request) -> Any:
        if self._keep:
            self.requests.append(request)
        if self._by_turn:
            turn = request.turns
            if turn >= len(self._steps):
                raise UnexpectedRequest(self._used_up(request))
            return self._steps[turn]
        try:
            # One step for each request, also where threads share the model.
            return self._left.popleft()
        except IndexError:
            raise UnexpectedRequest(self._used_up(request)) from None

    def _used_up(self, request: Request) -> str:
        said = f"the script of {len(self._steps)} replies is used up; the model was asked once more"
        return f"{said}, behind {request.last_text!r:.80}"

    def _answer(self, step: Any, request: Request) -> Any:
        if inspect.isawaitable(step):
            return self._in_time(step, request)
        if isinstance(step, BaseException):
            raise step
        if isinstance(step, str):
            return _counted(Response(step), request)
        if isinstance(step, Response):
            return step
        if callable(step):
            function: Callable[[Request], Any] = step
            return self._answer(function(request), request)
        if isinstance(step, (Reply, Call, list, tuple)):
            answer = _answer_of(_playable(step))
            return _counted(answer, request) if isinstance(answer, Response) else answer
        return step

    async def _in_time(self, step: Awaitable[Any], request: Request) -> Any:
        return self._answer(await step, request)

    async def _pieces_in_time(self, answer: Awaitable[Any]) -> Any:
        return pieces_of(await answer, self._piece)


def _playable(step: Any) -> Any:
    if isinstance(step, Reply) and (step.fault is not None or "recorded" in (step.answer or {})):
        message = "a scripted model has no wire, so faults and recorded bodies mean nothing to it"
        raise UsageError(message, "invalid_script", "use a WireServer, or a ModelFailure as the step")
    if isinstance(step, (list, tuple)):
        called(*step)
    return step


def _answer_of(step: Any) -> Any:
    if isinstance(step, Call):
        return Response(calls=[step])
    if isinstance(step, (list, tuple)):
        return Response(calls=called(*step))
    answer = step.answer or {"text": "ok"}
    if "text" in answer:
        return Response(answer["text"])
    if "tool_uses" in answer:
        uses = answer["tool_uses"]
        return Response(uses["text"], [Call(use["name"], use["input"], use.get("id", "")) for use in uses["calls"]])
    return answer["message"]


def _counted(answer: Response, request: Request) -> Response:
    """The answer with the tokens that it and its request are."""
    words = [answer.reasoning, answer.text]
    for call in answer.calls:
        arguments = call.arguments
        words += [call.name, arguments if isinstance(arguments, str) else _json(arguments)]
    said = sum(_tokens(word) for word in words if word)
    return replace(answer, input_tokens=_core.count_tokens(request), output_tokens=max(said, 1))


def _json(arguments: Any) -> str:
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        # What is wrong with it is said where it is written.
        return ""


def _tokens(text: str) -> int:
    return _core.count_tokens(text.encode("utf-8", "replace").decode())
