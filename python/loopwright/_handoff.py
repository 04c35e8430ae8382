"""Handoffs: another agent goes on with the run, under its own instructions, tools and model.

The model hands over by a call of `transfer_to_NAME`. Behind that call the run goes on as a new segment: with what is
left of the budget, in a journal beside that of the first, under the guard of the first agent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from copy import copy
from json import dumps
from typing import TYPE_CHECKING, Any, Generic, Literal

from ._dataclasses import dataclass
from ._typed import Deps, Output
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import TypeForm

    from . import _core
    from .agent import Agent
    from .messages import Message
    from .result import Messages, Result
    from .tools import RunContext, Tool

__all__ = ["Handoff", "segment_of", "target_of", "transfers"]

_HISTORIES = ("all", "none", "summary")
_STRICTER = (None, "run", "intent", "ask")
_NO_NAME = re.compile(r"[^A-Za-z0-9_]+")


@dataclass(frozen=True)
class Handoff(Generic[Deps, Output]):
    """An agent that the model may hand the run over to.

    ::

        billing = Agent(model, name="billing", instructions="You settle bills.", tools=[refund])
        front = Agent(model, handoffs=[billing, Handoff(sales, description="Whoever wants to buy.")])
        result = front.run_sync("I want my money back.")
        print(result.agent, result.output)

    Args:
        agent: The agent that goes on. It needs a `name` where none is given here.
        name: What the model calls it: `transfer_to_NAME`.
        description: When it is the right one; by default the agent's own `description`.
        when: Whether it is offered, asked with the `RunContext` when a run begins.
        history: What it sees: `"all"` messages so far, `"none"` but the request that the run began with, `"summary"`:
            that request behind what is worth keeping of the rest, by rules (`loopwright.roles.summarize`), or a
            function of `Messages` that gives those.
        input_type: What the model has to say when it hands over: a class, or whatever else pydantic knows. The other
            agent sees it.
    """

    agent: Agent[Deps, Output]
    name: str | None = None
    description: str | None = None
    when: Callable[[RunContext[Any]], bool] | None = None
    history: Literal["all", "none", "summary"] | Callable[[Messages], Any] = "all"
    input_type: TypeForm[Any] | None = None

    def __post_init__(self) -> None:
        name = self.name or getattr(self.agent, "name", None)
        if not hasattr(self.agent, "run_sync") or not hasattr(self.agent, "_given"):
            message = f"a run can't be handed over to {self.agent!r:.100}"
            raise UsageError(message, "invalid_handoff", "give an Agent, or Handoff(agent, ...)")
        if not isinstance(name, str) or not name.strip():
            message = "an agent that a run is handed over to has no name"
            raise UsageError(message, "invalid_handoff", 'name it: Agent(..., name="billing"), or Handoff(..., name=)')
        if not callable(self.history) and self.history not in _HISTORIES:
            message = f"the history of a handoff can't be {self.history!r:.100}"
            raise UsageError(message, "invalid_handoff", "give 'all', 'none', 'summary' or a function of Messages")
        if self.when is not None and not callable(self.when):
            message = f"when of a handoff can't be {self.when!r:.100}"
            raise UsageError(message, "invalid_handoff", "give a function of a RunContext")
        object.__setattr__(self, "name", name)

    @property
    def tool_name(self) -> str:
        """The tool by which the model hands over."""
        name = _NO_NAME.sub("_", self.name or "").strip("_").lower()
        # Models take letters of ASCII alone.
        return f"transfer_to_{name or (self.name or '').encode().hex()}"[:64]


def handoffs_of(given: object) -> list[Handoff[Any, Any]]:
    """The handoffs of an agent, each with a tool of its own."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        message = f"handoffs can't be {given!r:.100}"
        raise UsageError(message, "invalid_handoff", "give a list of agents or of Handoff(agent, ...)")
    found = [each if isinstance(each, Handoff) else Handoff(each) for each in given]
    by_tool: dict[str, Handoff[Any, Any]] = {}
    for each in found:
        other = by_tool.setdefault(each.tool_name, each)
        if other is not each:
            message = f"two handoffs have the tool {each.tool_name}: {other.name!r} and {each.name!r}"
            raise UsageError(message, "invalid_handoff", "name one of them otherwise: Handoff(agent, name=...)")
    return found


def transfers(given: object) -> list[Any]:
    """The tools by which a model hands a run over, and the toolsets of those that are not always there."""
    from .tools._sets import Toolset

    found: list[Any] = []
    for handoff in handoffs_of(given):
        tool = _transfer(handoff)
        when = handoff.when
        if when is None:
            found.append(tool)
        else:
            found.append(Toolset([tool], name=f"handoff to {handoff.name}").filtered(_if(when)))
    return found


def _if(when: Callable[[RunContext[Any]], bool]) -> Callable[[RunContext[Any], Tool[..., Any, Any]], bool]:
    return lambda context, _: when(context)


def _transfer(handoff: Handoff[Any, Any]) -> Tool[..., Any, Any]:
    from .tools import Tool

    def transfer(reason: str = "") -> str:  # noqa: ARG001 - for whoever reads the journal, and the agent that goes on
        return f"{handoff.name} goes on from here."

    def transfer_with(details: Any) -> str:
        return transfer(details)

    function: Callable[..., str] = transfer
    if handoff.input_type is not None:
        transfer_with.__annotations__["details"] = handoff.input_type
        function = transfer_with
    about = handoff.description or handoff.agent.description
    description = f"Hand the conversation over to {handoff.name}, who goes on with it. {about or ''}".strip()
    tool: Tool[..., Any, Any] = Tool(function, name=handoff.tool_name, description=description, risk="safe", effects=[])
    tool.hands_over = handoff
    return tool


def segment_of(first: Any, handoff: Handoff[Any, Any]) -> Any:
    """The agent of a segment: the one that goes on, for whoever the first one ran for, under its guard and hooks."""
    from ._run_options import varied, with_model_of

    found = with_model_of(first, varied(handoff.agent, {}))
    changes: dict[str, Any] = {}
    if first._given["guard"] is not None:
        changes["guard"] = _both(first._given["guard"], handoff.agent._given["guard"], str(handoff.name))
    if first._given["hooks"] is not None:
        from .hooks._hook import flattened

        own = handoff.agent._given["hooks"]
        both = [*flattened(first._given["hooks"]), *(() if own is None else flattened(own))]
        changes["hooks"] = list(dict.fromkeys(both))
    found = copy(found._changed(changes) if changes else found)
    found.name, found._run_name, found._labels = handoff.name, first._run_name, first._label()
    found._approve = found._approve if first._approve is None else first._approve
    if found._remember is None:
        found._remember = first._remember
    else:
        found._remember = found._remember.whom(found._labels.get("user"), found._labels.get("session"))
    found._plans, found._like = {}, None
    found._keyed()
    return found


def _both(first: Any, own: Any, name: str) -> Any:
    """The guard of the first agent, with what it leaves open to that of the one that goes on."""
    from ._dataclasses import fields, replace
    from ._front import guard_of

    one, other = guard_of(first), guard_of(own)
    if other is None:
        return one
    for part in ("policy", "commands", "sandbox"):
        if None not in (getattr(one, part), getattr(other, part)) and getattr(one, part) != getattr(other, part):
            message = f"the guard of {name!r} has a {part} of its own, and the run goes by that of its first agent"
            raise UsageError(message, "invalid_handoff", "give it to the agent that the run begins with")
    given = {each.name: getattr(one, each.name) for each in fields(one)}
    found = {part: getattr(other, part) if value is None else value for part, value in given.items()}
    found["on_cautious"] = max(one.on_cautious, other.on_cautious, key=_STRICTER.index)
    found["workspace"] = one.workspace if other.workspace is None else other.workspace
    return replace(one, **found)


def target_of(agent: Any, path: Iterable[str]) -> Any:
    """The agent of the segment that a journal names, from the agent that the run began with."""
    for name in path:
        offered = handoffs_of(agent._given.get("handoffs") or ())
        handoff = next((each for each in offered if each.name == name), None)
        if handoff is None:
            message = f"the run was handed over to {name!r}, and this agent has no such handoff"
            raise UsageError(message, "missing_handoff", "make the agent with the handoffs of that run")
        agent = segment_of(agent, handoff)
    return agent


def said_to(handoff: Handoff[Any, Any], result: Result[Any], prompt_at: int | None) -> tuple[_core.History, int]:
    """The messages that a segment begins with, and where among them the request is."""
    from .result import Messages

    at = _request_in(result.messages) if prompt_at is None else prompt_at
    if handoff.history == "all":
        return result.messages._history, at
    if not callable(handoff.history):
        notes = list(_notes(handoff, result, at))
        return Messages([*notes, *result.messages[at : at + 1]])._history, len(notes)
    try:
        chosen = Messages(handoff.history(result.messages))
    except UsageError:
        raise
    except Exception as error:
        message = f"the history of the handoff to {handoff.name!r} failed: {type(error).__name__}: {error}"
        raise UsageError(message, "handoff_failed", "give a function of Messages that gives messages") from error
    return chosen._history, _request_in(chosen)


def _notes(handoff: Handoff[Any, Any], result: Result[Any], at: int) -> Iterator[Message]:
    """What stands before the request of a segment that does not see all messages."""
    from .messages import Message

    if handoff.history == "summary":
        from .roles import summarize

        # The last two are the call that handed over, and its result.
        rest = [message for place, message in enumerate(result.messages[:-2]) if place != at]
        if rest:
            yield Message.user(summarize(rest).words())
    if handoff.input_type is not None:
        made = [call for call in result.tool_calls if call.name == handoff.tool_name]
        yield Message.user(f"{handoff.tool_name}: {dumps(made[-1].arguments, ensure_ascii=False)}")


def _request_in(messages: Messages) -> int:
    """The place of the last message that a person wrote."""
    from .messages import ToolResult

    written = [
        at
        for at, message in enumerate(messages)
        if message.role == "user" and not any(isinstance(block, ToolResult) for block in message.content)
    ]
    return written[-1] if written else 0
