"""A model that follows a script, without any network."""

from __future__ import annotations

import inspect
from collections import deque
from typing import TYPE_CHECKING, Any

from loopwright.errors import ModelError, UsageError
from loopwright.models import Call, Response

from ._wire import Reply, listed

if TYPE_CHECKING:
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

    A step is text, a `Response`, what `text`, `call` and `calls` of this package give, an exception (raised), or a
    function of the request that gives one of these. `requests` keeps what was asked; `assert_complete` fails if a step
    is left. Without a wire there are no faults of one: raise a `ModelFailure`, or take a `WireServer`.

    With `by_turn` the step is chosen by the number of answers in the history, so that many runs can share the model.
    """

    name = "scripted"

    def __init__(self, steps: Iterable[Any], *, by_turn: bool = False, keep_requests: bool = True) -> None:
        self._steps = [_playable(step) for step in listed("steps", steps)]
        self._left = deque(self._steps)
        self._by_turn = by_turn
        self._keep = keep_requests
        self._cache: dict[int, Response] = {}
        self.requests: list[Request] = []

    def respond(self, request: Request) -> Any:
        """The next step."""
        if self._keep:
            self.requests.append(request)
        if self._by_turn:
            turn = request.turns
            if turn >= len(self._steps):
                raise UnexpectedRequest(self._used_up())
            step = self._steps[turn]
        else:
            try:
                # One step for each request, also where threads share the model.
                step = self._left.popleft()
            except IndexError:
                raise UnexpectedRequest(self._used_up()) from None
        return self._answer(step, request)

    def assert_complete(self) -> None:
        """Fails if a step of the script was not asked for."""
        if self._left and not self._by_turn:
            message = f"{len(self._left)} of {len(self._steps)} replies were not asked for: {list(self._left)!r}"
            raise UnconsumedReplies(message)

    def _used_up(self) -> str:
        return f"the script of {len(self._steps)} replies is used up; the model was asked once more"

    def _answer(self, step: Any, request: Request) -> Any:
        if inspect.isawaitable(step):
            return self._in_time(step, request)
        if isinstance(step, BaseException):
            raise step
        if isinstance(step, Reply):
            return _from_reply(_playable(step))
        if callable(step) and not isinstance(step, (str, Response)):
            function: Callable[[Request], Any] = step
            return self._answer(function(request), request)
        return step

    async def _in_time(self, step: Awaitable[Any], request: Request) -> Any:
        return self._answer(await step, request)


def _playable(step: Any) -> Any:
    if isinstance(step, Reply) and (step.fault is not None or "recorded" in (step.answer or {})):
        message = "a scripted model has no wire, so faults and recorded bodies mean nothing to it"
        raise UsageError(message, "invalid_script", "use a WireServer, or a ModelFailure as the step")
    return step


def _from_reply(reply: Reply) -> Any:
    answer = reply.answer or {"text": "ok"}
    if "text" in answer:
        return Response(answer["text"])
    if "tool_uses" in answer:
        uses = answer["tool_uses"]
        return Response(uses["text"], [Call(use["name"], use["input"], use.get("id", "")) for use in uses["calls"]])
    return answer["message"]
