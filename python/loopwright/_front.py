"""What an `Agent`'s groups say, as the parts that runs are made of: one place for each of its options.

A `Model` says where a model lives, a `Guard` what may run, a `Monitor` what its senses do; here each becomes what
`Prepared` sets up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ._dataclasses import replace
from ._model import Model, is_model
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .hooks import Hook

__all__ = ["NOBODY", "guard_of", "merged_settings", "over", "parts_of", "said_with"]


class _Nobody:
    """The model of an agent that was given none."""

    name = "no model"
    inline = True

    def respond(self, _: Any) -> Any:
        """Nobody answers."""
        message = "the agent has no model"
        raise UsageError(message, "no_model", 'give one to the run: agent.run(..., model="provider:model")')


NOBODY = _Nobody()


def parts_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The parts that the options of an agent say."""
    found = {name: given[name] for name in ("output_type", "name", "description", "agents", "instrument")}
    model, found["choose_model"], found["take_suggestions"] = _routed(given["model"])
    found["model"] = merged_settings(NOBODY if model is None else model, given["settings"])
    found["system"], asked = said(given["instructions"])
    found["hooks"] = given["hooks"] if not asked else asked if given["hooks"] is None else [*asked, given["hooks"]]
    found["tools"], found["provider_tools"], found["web_search"] = _of_providers(given["tools"])
    if given.get("handoffs"):
        from ._handoff import transfers

        found["tools"] = [*found["tools"], *transfers(given["handoffs"])]
    found["budget"] = budget = given["budget"]
    if budget is not None and getattr(budget, "rounds", None) == "auto":
        found["complexity"] = "auto"
    found["guard"] = guard_of(given["guard"])
    found["context"], monitor = given["context"], _monitor(given["monitor"])
    found["monitor"] = monitor
    if monitor is not None:
        found |= {"stuck": monitor.stuck, "momentum": monitor.momentum}
        found |= {"check_in": monitor.pause_every, "wind_down": monitor.warn_rounds_left}
    found |= _remembering(given["memory"])
    found["journal"] = given["journal"]
    found["durable"] = bool(getattr(given["journal"], "durable", False))
    who = {
        "summarizer": getattr(given["context"], "summarizer", None),
        "sanity": None if monitor is None else monitor.sanity,
        "supervisor": getattr(found["guard"], "supervisor", None),
        "reflector": getattr(given["memory"], "reflector", None),
    }
    if any(each is not None for each in who.values()):
        from .roles import Roles

        found["roles"] = Roles(**who)
    return found


def _routed(model: Any) -> tuple[Any, Any, bool]:
    """The model that a run begins with, who chooses another one, and whether suggestions hold."""
    if type(model).__name__ == "Router":
        from .hooks import Router

        if isinstance(model, Router):
            return model.default, model.choose, model.accept_suggestions
    return model, None, False


def merged_settings(model: Any, settings: object) -> Any:
    """A model that is asked with these settings over its own."""
    if settings is not None and not isinstance(settings, Mapping):
        message = f"settings can't be {settings!r:.100}"
        raise UsageError(message, "invalid_option", "give a dict, as {'temperature': 0.2}")
    if not settings:
        return model
    if is_model(model):
        return replace(model, settings=over(model.settings, settings))
    if type(model).__name__ == "Role":
        wrong = next((name for name in settings if name not in ("temperature", "max_tokens", "effort")), None)
        if wrong is not None:
            message = f"the settings of a Role can't hold {wrong!r:.100}"
            raise UsageError(message, "invalid_option", "give the agent a Model(..., settings={...})")
        return replace(model, **settings)
    return Model(model, settings=dict(settings))  # type: ignore[arg-type]


def over(one: Any, other: Any) -> Any:
    """Settings with others over them: headers and members of the body are merged, all else is replaced."""
    found = {**(one or {}), **(other or {})}
    headers = [each["extra_headers"] for each in (one or {}, other or {}) if each.get("extra_headers")]
    if headers and isinstance(headers[-1], Mapping):
        found["extra_headers"] = {name: value for each in headers for name, value in each.items()}
    if (one or {}).get("extra_body") and isinstance((other or {}).get("extra_body"), Mapping):
        found["extra_body"] = _merged(one["extra_body"], other["extra_body"])
    return found


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(one)
    for name, value in other.items():
        inner = found.get(name)
        found[name] = _merged(inner, value) if isinstance(inner, Mapping) and isinstance(value, Mapping) else value
    return found


def said(instructions: Any) -> tuple[str | None, list[Hook]]:
    """The instructions that never change, and who is asked for the others before each request."""
    if instructions is None or isinstance(instructions, str):
        return instructions, []
    given = [instructions] if callable(instructions) else instructions
    if not isinstance(given, Iterable) or isinstance(given, (bytes, Mapping)):
        message = f"instructions can't be {instructions!r:.100}"
        raise UsageError(message, "invalid_option", "give text, a function of a RunContext, or a list of both")
    texts: list[str] = []
    functions: list[Callable[..., Any]] = []
    for each in given:
        if callable(each):
            functions.append(each)
        elif isinstance(each, str):
            texts.append(each)
        else:
            message = f"instructions can't hold {each!r:.100}"
            raise UsageError(message, "invalid_option", "give text, a function of a RunContext, or a list of both")
    system = "\n\n".join(texts) if texts else None
    if not functions:
        return system, []
    from ._instructions import asking

    return system, [asking(functions)]


def said_with(one: Any, more: Any) -> Any:
    """Instructions of an agent, and more of them for a run."""
    if more is None:
        return one
    if one is None:
        return more

    def each_of(given: Any) -> list[Any]:
        return [given] if isinstance(given, str) or callable(given) else [*given]

    return [*each_of(one), *each_of(more)]


def _of_providers(tools: Any) -> tuple[Any, list[Any], Any]:
    """The tools that run here, and those that the provider runs: in its own form, and its search."""
    if isinstance(tools, (str, bytes, Mapping)) or not isinstance(tools, Iterable):
        return tools, [], False
    there = [*tools]
    if not any(type(each).__name__ in ("WebSearch", "ProviderTool") for each in there):
        return there, [], False
    from .tools import ProviderTool, WebSearch

    searches = [each for each in there if isinstance(each, WebSearch)]
    if len(searches) > 1:
        raise UsageError("there are two WebSearch among the tools", "invalid_option", "give one, with all its settings")
    own = [each.form for each in there if isinstance(each, ProviderTool)]
    ours = [each for each in there if not isinstance(each, (WebSearch, ProviderTool))]
    return ours, own, (searches[0].settings or True) if searches else False


def guard_of(given: Any) -> Any:
    """A `Guard`; whoever approves, given alone, is one with the usual rest."""
    if given is None:
        return None
    from .guard import Guard

    if isinstance(given, Guard) or not callable(given):
        return given
    return Guard(approve=given)


def _monitor(given: Any) -> Any:
    if given is None:
        return None
    from .monitor import Monitor

    if isinstance(given, Monitor):
        return given
    message = f"monitor can't be {given!r:.100}"
    raise UsageError(message, "invalid_option", "give a loopwright.Monitor")


def _remembering(given: Any) -> dict[str, Any]:
    """What memory there is, how it is asked, and what follows a turn."""
    if type(given).__name__ == "MemoryPolicy":
        from ._memory_policy import MemoryPolicy

        if isinstance(given, MemoryPolicy):
            recall = False if given.recall is None else dict(vars(given.recall))
            after = False if given.after is None else given.after
            return {"memory": given.store, "recall": recall, "after": after}
    return {"memory": given}
