"""One request to a model whose tools run elsewhere: the pieces of the answer, and the answer.

It is the beginning of a run: attempts, fallback, mended arguments and calls that are told to be wrong are the
engine's. The run is left where the first call of an answer is about to run, since that is for somebody else to do.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from loopwright import Agent, Budget, Message, Messages, ModelError, Monitor, Output, ToolError, Usage, UsageError
from loopwright._dataclasses import dataclass
from loopwright.events import ArgumentsDelta, ReasoningDelta, Reset, TextDelta, ToolUseDelta
from loopwright.messages import Thinking, ToolUse
from loopwright.tools import DeclaredTool

from ._history import KnownHistories

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Mapping, Sequence

    from loopwright import LoopwrightError, ModelSettings, Result
    from loopwright._run_options import ModelLike
    from loopwright.events import Event
    from loopwright.guard import Guard
    from loopwright.signal import Signal
    from loopwright.tools import RunContext

__all__ = ["Answer", "Definition", "Piece", "Requests", "Shown", "is_of_provider"]

Piece: TypeAlias = TextDelta | ReasoningDelta | ToolUseDelta | ArgumentsDelta | Reset
"""A piece of an answer. After a `Reset` all that came before is void."""

_PIECES = frozenset({"text_delta", "reasoning_delta", "tool_use_delta", "arguments_delta", "reset"})
_UNUSABLE = frozenset({"invalid_arguments", "unknown_tool"})
"""Failures of calls that nobody can run."""
_LEADING = ("system", "developer")


@dataclass(frozen=True)
class Definition:
    """A tool, as a model is told of it."""

    name: str
    description: str
    schema: dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """A whole answer. `stop` is `tool_use`, or why a run with it would have ended."""

    message: Message
    usage: Usage
    stop: str
    model: str
    cost: float | None


class Shown:
    """What the pieces of an answer have shown so far."""

    def __init__(self) -> None:
        self.texts: dict[tuple[str, int], str] = {}
        self.calls: dict[int, ToolUseDelta] = {}

    def add(self, piece: Piece) -> None:
        """Takes a piece."""
        if isinstance(piece, Reset):
            self.texts, self.calls = {}, {}
        elif isinstance(piece, ToolUseDelta):
            self.calls[piece.block] = piece
        else:
            key = (piece.type, piece.block)
            self.texts[key] = self.texts.get(key, "") + piece.text

    def is_whole(self, message: Message) -> bool:
        """Whether that is all of the message: its text, its reasoning, its calls with their arguments."""
        said = "".join(self.texts[key] for key in sorted(self.texts) if key[0] == "text_delta")
        thought = "".join(self.texts[key] for key in sorted(self.texts) if key[0] == "reasoning_delta")
        thinking = "".join(block.text for block in message.content if isinstance(block, Thinking))
        shown = [
            ToolUse(call.call_id, call.name, self.texts.get(("arguments_delta", at), "") or "{}")
            for at, call in sorted(self.calls.items())
        ]
        return said == message.text and thought == thinking and _plain(shown) == _plain(message.tool_uses)


def _plain(calls: Sequence[ToolUse]) -> list[tuple[str, str, Any]]:
    return [(call.call_id, call.name, _arguments(call)) for call in calls]


def _arguments(call: ToolUse) -> Any:
    try:
        return json.loads(call.arguments_json)
    except ValueError:
        return call.arguments_json


async def _elsewhere(_: dict[str, Any], context: RunContext[Any]) -> Any:
    """The run is left before a call runs, unless the guard forbade another call of its answer."""
    message = f"the call was not made: another one of answer {context.round} is forbidden"
    raise ToolError(message, "not_run", "make it again without the other one")


def is_of_provider(error: LoopwrightError) -> bool:
    """Whether a request failed, and not the way it was asked for."""
    return error.result is not None or not isinstance(error, UsageError)


def _type_of(schema: dict[str, Any]) -> Any:
    """The type of answers that are JSON of a schema."""
    from pydantic import WithJsonSchema

    return Annotated[Any, WithJsonSchema(schema), Output(mode="native", name="answer")]


class Requests:
    """Requests to one model. It may be shared by tasks and threads.

    Of calls that a `guard` forbids the model is told, and answers anew.
    """

    def __init__(self, model: ModelLike, guard: Guard | None = None) -> None:
        self._guarded = guard is not None
        self._plain = Agent(
            model,
            guard=guard,
            budget=Budget(wall_time=None),
            monitor=Monitor(intent="off", stuck=None, momentum=None, warn_rounds_left=0),
            context=False,
        )
        self._known: KnownHistories[Messages] = KnownHistories(Messages(), lambda before, new: before + new)
        # An agent with the tools and the schema of the last request: the next one mostly has the same.
        self._last: tuple[tuple[list[Definition], dict[str, Any] | None], Agent[Any, Any]] = (([], None), self._plain)

    @property
    def model(self) -> str:
        """How the model is shown; never holds a key."""
        return self._plain.model

    @property
    def wire(self) -> str | None:
        """What the model speaks; `None` for one of one's own."""
        endpoint = self._plain._endpoint  # noqa: SLF001 - nobody else knows
        return None if endpoint is None else endpoint.wire

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Definition] = (),
        settings: Mapping[str, Any] | None = None,
        schema: dict[str, Any] | None = None,
        signal: Signal | None = None,
    ) -> AsyncGenerator[Piece | Answer, None]:
        """The pieces of an answer as they come, and the answer; it is JSON of the `schema`, if there is one. Raises a
        `LoopwrightError` where there is none.
        """
        agent, prompt, options = self._asked(messages, tools, settings, schema)
        options["signal"] = signal
        return _streamed(agent, prompt, options, guarded=self._guarded)

    def stream_sync(
        self, messages: Sequence[Message], tools: Sequence[Definition] = (), settings: Mapping[str, Any] | None = None
    ) -> Generator[Piece | Answer, None, None]:
        """`stream` without asyncio."""
        agent, prompt, options = self._asked(messages, tools, settings)
        with agent.stream_sync(prompt, **options) as run:
            for event in run:
                if event.type == "call_judged":
                    break
                if (piece := _piece(event)) is not None:
                    yield piece
        yield _answer(run.result)

    async def answer(
        self,
        messages: Sequence[Message],
        tools: Sequence[Definition] = (),
        settings: Mapping[str, Any] | None = None,
        schema: dict[str, Any] | None = None,
    ) -> Answer:
        """The answer alone."""
        found = [each async for each in self.stream(messages, tools, settings, schema) if isinstance(each, Answer)]
        return found[-1]

    def _asked(
        self,
        messages: Sequence[Message],
        tools: Sequence[Definition],
        settings: Mapping[str, Any] | None,
        schema: dict[str, Any] | None = None,
    ) -> tuple[Agent[Any, Any], Message, dict[str, Any]]:
        """The agent, what is said to it, and what was said before."""
        told, agent = self._last
        if (list(tools), schema) != told:
            offered = [
                DeclaredTool(_elsewhere, name=each.name, description=each.description, schema=each.schema)
                for each in tools
            ]
            agent = self._plain.clone(tools=offered, **({} if schema is None else {"output_type": _type_of(schema)}))
            self._last = ((list(tools), schema), agent)
        instructions, history = _parted(messages)
        prompt = history.pop() if history and history[-1].role == "user" else Message.user("")
        # Others force a call even where there is none to make.
        given: ModelSettings = {  # type: ignore[assignment]
            name: value for name, value in (settings or {}).items() if tools or name != "tool_choice"
        }
        return agent, prompt, {"messages": self._known.of(history), "instructions": instructions, "settings": given}


async def _streamed(
    agent: Agent[Any, Any], prompt: Message, options: Any, *, guarded: bool
) -> AsyncGenerator[Piece | Answer, None]:
    async with agent.stream(prompt, **options) as run:
        judged, forbidden = False, False
        async for event in run:
            if event.type == "call_judged":
                if not guarded:
                    break
                judged, forbidden = True, forbidden or event.verdict == "forbid"
                continue
            # All calls of an answer are judged before the first of them runs.
            if judged and not forbidden:
                break
            judged = forbidden = forbidden and event.type != "round_started"
            if (piece := _piece(event)) is not None:
                yield piece
    yield _answer(run.result)


def _parted(messages: Sequence[Message]) -> tuple[list[str], list[Message]]:
    """Instructions that stand before the history, and the history; what a user says one after the other is one
    message, since the results of an answer's calls belong together.
    """
    at = next((at for at, each in enumerate(messages) if each.role not in _LEADING), len(messages))
    history: list[Message] = []
    for each in messages[at:]:
        if each.role == "user" and history and history[-1].role == "user":
            history[-1] = Message("user", (*history[-1].content, *each.content))
        else:
            history.append(each)
    return [each.text for each in messages[:at]], history


def _piece(event: Event) -> Piece | None:
    if event.type in _PIECES:
        return event  # type: ignore[return-value]
    if event.type == "round_started" and event.round > 1:
        # The model was told that its calls can't run, and answers anew.
        return Reset(event.round)
    return None


def _answer(result: Result[Any]) -> Answer:
    """The answer of a run that was left, or has ended."""
    said = next((each for each in reversed(result.new_messages) if each.role == "assistant"), None)
    wrong = {call.call_id for call in result.tool_calls if call.round == result.rounds and call.failure in _UNUSABLE}
    if said is not None and wrong:
        kept = tuple(block for block in said.content if not (isinstance(block, ToolUse) and block.call_id in wrong))
        said = Message("assistant", kept, said.form, said.extra, said.host) if kept else None
    if said is None:
        message = f"the model gave no answer that can be used: {result.message or result.stop_reason}"
        raise ModelError(message, result.stop_reason, "ask again, or ask another model")
    if isinstance(result.__dict__.get("output"), (dict, list)):
        # The model may have written words around it.
        said = Message.assistant(json.dumps(result.output, ensure_ascii=False))
    stop = "tool_use" if said.tool_uses else result.stop_reason
    return Answer(said, result.usage, stop, result.model, result.cost)
