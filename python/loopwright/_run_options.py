"""What every way to start a run takes, and the agent that a run of such options is of.

Options hold for one run: more instructions and tools, another model, settings over those of the agent, whose run it
is. `override` changes an agent for all runs that begin within a block, as tests want it.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from ._front import merged_settings, over, said_with
from ._words import unknown
from .errors import UsageError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Generic, TypeAlias

    from typing_extensions import TypeVar

    from ._model import Model, ModelSettings
    from ._prepared import Prepared
    from .budget import Budget
    from .events import Event
    from .guard._guard import Approve
    from .hooks import Router
    from .journal import Journal
    from .messages import Content, Message
    from .models import Responds, Streams
    from .result import Messages
    from .roles import Role
    from .signal import Signal
    from .tools import ProviderTool, RunContext, Tool, WebSearch
    from .tools._sets import Toolset
    from .tools._tool import PlainFunction

    Deps = TypeVar("Deps", default=None)

    ModelLike: TypeAlias = str | Model | Responds | Streams | Router | Role
    MessagesLike: TypeAlias = Messages | Sequence[Message | Mapping[str, Any]]
    Prompt: TypeAlias = Content | Message | Sequence[Content]
    InstructionFunction: TypeAlias = Callable[[RunContext[Deps]], Any] | Callable[[], Any]
    ToolLike: TypeAlias = Tool[..., Any, Deps] | Toolset[Deps] | WebSearch | ProviderTool | PlainFunction
    Place: TypeAlias = Journal | str | os.PathLike[str] | bool

    class RunOptions(TypedDict, Generic[Deps], total=False):
        """What every way to start a run takes, beside the prompt and `deps`."""

        messages: MessagesLike | None
        """What was said before: `result.messages` of an earlier run, or a list of messages."""
        model: ModelLike
        """The model of this run."""
        instructions: str | InstructionFunction[Deps] | Sequence[str | InstructionFunction[Deps]]
        """More of them, behind those of the agent."""
        tools: Sequence[ToolLike[Deps]]
        """More of them."""
        settings: ModelSettings
        """They go before those of the agent, and those before the model's own."""
        budget: Budget | None
        """What this run may use, instead of the agent's budget."""
        approve: Approve
        """Who is asked, instead of whom the agent's guard names."""
        journal: Place | None
        """Where this run's journal goes: a file that ends in `.jsonl`, a folder, a store, or `True` for memory."""
        session: str
        """The conversation that it belongs to: where journals are kept in a store, the run goes on where the last one
        of the session and the user ended, unless `messages` says otherwise. Its memories belong to it, too."""
        user: str
        """Whose run it is: whose memories are recalled, beside everybody's, and kept (`loopwright.journal.forget`)."""
        metadata: Mapping[str, Any]
        """What the first line of its journal says about it; anything that JSON can hold."""
        on_event: Callable[[Event], object] | None
        """Called with each event; answers are streamed then."""
        signal: Signal | None
        """Ends the run from outside."""
        run_id: str
        """Its name: letters, digits, `_` and `-`. By default one that no other run has."""
        on_existing: Literal["error", "resume"]
        """What becomes of it where the journal holds a run of this `run_id`. By default the error `run_exists`; with
        `"resume"` one that broke off goes on, one that has ended gives its result, and none is begun a second time."""
        seed: int
        """The source of all jitter; without it one that follows from `run_id`, which its journal keeps."""

else:

    class RunOptions(TypedDict, total=False):
        """What every way to start a run takes, beside the prompt and `deps`."""


__all__ = ["KNOWN", "RunOptions", "override", "taken", "varied"]

KNOWN = (
    "messages",
    "model",
    "instructions",
    "tools",
    "settings",
    "budget",
    "approve",
    "journal",
    "session",
    "user",
    "metadata",
    "on_event",
    "signal",
    "run_id",
    "on_existing",
    "seed",
)
_OF_AGENT = ("model", "instructions", "tools", "settings")
_OF_RUN = ("approve", "session", "user", "metadata", "run_id", "on_existing", "seed")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def taken(whose: str, options: Mapping[str, Any], *but: str) -> None:
    """Raises an `UnknownOption` for the first option that a run does not have."""
    for name in options:
        if name not in KNOWN or name in but:
            raise unknown(whose, name, [each for each in KNOWN if each not in but])


def varied(agent: Any, options: Mapping[str, Any]) -> Any:
    """The agent that a run of these options is of."""
    found = _overridden(agent)
    changes = {name: options[name] for name in _OF_AGENT if options.get(name) is not None}
    if changes:
        found = found._changed(_with_more(found._given, changes))
    if any(options.get(name) is not None for name in _OF_RUN):
        found = _for_run(found, {name: options.get(name) for name in _OF_RUN})
    return found


def _with_more(given: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The options of an agent, with those of a run."""
    found: dict[str, Any] = {}
    if "model" in changes:
        found["model"] = changes["model"]
    if "instructions" in changes:
        found["instructions"] = said_with(given["instructions"], changes["instructions"])
    if "tools" in changes:
        from ._options import functions

        found["tools"] = [*given["tools"], *functions(changes["tools"])]
    if "settings" in changes:
        # Looked at where it is known whose settings they are.
        merged_settings("offline:extractive", changes["settings"])
        found["settings"] = over(given["settings"], changes["settings"])
    return found


def _for_run(agent: Prepared[Any, Any], options: Mapping[str, Any]) -> Any:
    """The same agent, whose runs are somebody's, or called so. It shares the plans of the other."""
    from . import _options

    other: Any = copy(agent)
    from ._suspend import approver

    approve, seed = options["approve"], options["seed"]
    other._run_name = run_name(options["run_id"])
    if options["on_existing"] is not None:
        other._on_existing = _of_existing(options["on_existing"], other._run_name)
    labels: dict[str, Any] = {**agent._labels, **_options.labels(options["metadata"])}
    for option in ("user", "session"):
        value = options[option]
        if value is None:
            continue
        if not isinstance(value, str) or not value.strip():
            raise UsageError(f"{option} can't be {value!r:.100}", "invalid_option", "give a name")
        _options.whole(option, value)
        labels[option] = value
    other._labels = labels
    if agent._remember is not None and (options["user"] is not None or options["session"] is not None):
        now = agent._remember
        user = now.user if options["user"] is None else options["user"]
        other._remember = now.whom(user, now.session if options["session"] is None else options["session"])
    if approve is not None:
        if not callable(approve) and approve != "suspend":
            message = f"approve can't be {approve!r:.100}"
            hint = "give a function that takes an Approval, an Approvals, or 'suspend'"
            raise UsageError(message, "invalid_option", hint)
        other._approve = approver(approve)
    if seed is not None:
        _options.check(seed=seed)
        other._config = {**agent._config, "seed": seed}
        other._plans = {}
    else:
        other._like = agent
    return other


def run_name(given: object) -> str | None:
    """The name that somebody chose for a run."""
    if given is None or (isinstance(given, str) and _NAME.fullmatch(given)):
        return given
    message = f"a run can't be called {given!r:.100}"
    raise UsageError(message, "invalid_option", "give at most 64 letters, digits, '_' and '-'")


def _of_existing(given: object, name: str | None) -> str:
    """What becomes of a run whose name is there."""
    if given == "error" or (given == "resume" and name is not None):
        return str(given)
    message = f"on_existing is 'error' or 'resume', of a run with a run_id, not {given!r:.100}"
    raise UsageError(message, "invalid_option", "give run_id=, the name of what shall be done once")


# ---- override ----

_HERE: ContextVar[Mapping[int, Mapping[str, Any]]] = ContextVar("loopwright_overrides")
_everywhere: dict[int, list[Mapping[str, Any]]] = {}


def _entry_of(agent: Any) -> Mapping[str, Any] | None:
    found = _HERE.get({}).get(id(agent))
    if found is None and (everywhere := _everywhere.get(id(agent))):
        found = everywhere[-1]
    return found


def _overridden(agent: Any) -> Any:
    """The agent as it is within the blocks of `override` that are around."""
    changed = _entry_of(agent)
    return agent if changed is None else changed["agent"]


def overridden_deps(agent: Any, deps: Any) -> Any:
    """The deps of a run within the blocks of `override` that are around."""
    changed = _entry_of(agent)
    return deps if changed is None or "deps" not in changed else changed["deps"]


@contextmanager
def override(agent: Any, changes: Mapping[str, Any], *, everywhere: bool) -> Iterator[None]:
    """Runs of `agent` that begin inside are of the changed one: in this context alone, or in all threads."""
    around = _entry_of(agent) or {}
    base = around.get("agent", agent)
    options = {name: value for name, value in changes.items() if name != "deps"}
    if "settings" in options:
        merged_settings("offline:extractive", options["settings"])
        options["settings"] = over(base._given["settings"], options["settings"])
    if "model" in options:
        # Whoever is asked beside it, too: no real model is.
        options |= _of_rules(base)
        if base._given["agents"]:
            options["agents"] = [_with_model(each, options["model"]) for each in base._given["agents"]]
    # The agent is held, so that nothing else gets its number meanwhile.
    entry: dict[str, Any] = {**around, "agent": base._changed(options) if options else base, "held": agent}
    if "model" in changes:
        entry["agent"]._replaced = changes["model"]
        # Made while it was set up: by then nobody knew that it is another model.
        entry["agent"]._plans = {}
    if "deps" in changes:
        entry["deps"] = changes["deps"]
    if everywhere:
        stack = _everywhere.setdefault(id(agent), [])
        stack.append(entry)
        try:
            yield
        finally:
            stack.remove(entry)
            if not stack:
                _everywhere.pop(id(agent), None)
        return
    token = _HERE.set({**_HERE.get({}), id(agent): entry})
    try:
        yield
    finally:
        _HERE.reset(token)


_ROLES = (("context", "summarizer"), ("monitor", "sanity"), ("guard", "supervisor"), ("memory", "reflector"))


def _of_rules(agent: Any) -> dict[str, Any]:
    """The groups of an agent whose roles are played by models, with rules in their place."""
    from ._dataclasses import replace
    from .roles import Role

    found: dict[str, Any] = {}
    for group, role in _ROLES:
        given = agent._given[group]
        who = getattr(given, role, None)
        if who is not None:
            rules = replace(who, model="rules", fallback=()) if isinstance(who, Role) else "rules"
            found[group] = replace(given, **{role: rules})
    return found


def with_model_of(agent: Any, other: Any) -> Any:
    """The other agent with the model that an `override` gives the first one: nobody asks a real one."""
    return other if agent._replaced is None else _with_model(other, agent._replaced)


def _with_model(agent: Any, model: Any) -> Any:
    from ._dataclasses import replace
    from .children import SubAgent

    if isinstance(agent, SubAgent):
        inner = [_with_model(each, model) for each in agent.agents]
        return replace(agent, model=model, agents=inner)
    changes: dict[str, Any] = {"model": model, **_of_rules(agent)}
    if agent._given["agents"]:
        changes["agents"] = [_with_model(each, model) for each in agent._given["agents"]]
    return agent._changed(changes)
