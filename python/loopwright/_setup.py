"""What an `Agent` makes of its options: each is looked at, and becomes what the machine wants.

What can't work is said when the agent is made, with a `UsageError` that names the option, not in the middle of a run.
"""

from __future__ import annotations

import json
import os
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from . import _core
from .budget import Budget
from .errors import UsageError
from .models import is_own

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ._endpoints import ProviderEndpoint
    from .agent import Agent
    from .context import ContextPolicy
    from .guard._guard import Guard
    from .hooks import Hook
    from .models import Responds
    from .roles import Role
    from .tools import Tool


def _provided(
    endpoint: _core.Endpoint | None,
    provider_tools: Sequence[Mapping[str, Any]],
    web_search: bool | Mapping[str, Any],  # noqa: FBT001 - as the option is
) -> list[dict[str, Any]]:
    """The tools that the provider runs, as the machine wants them."""
    wire = endpoint.wire if endpoint is not None else "openai_chat"
    given: list[dict[str, Any]] = [{"provider": {"wire": wire, "raw": dict(tool)}} for tool in provider_tools]
    if web_search:
        given.append({"web_search": {} if web_search is True else dict(web_search)})
    return given


_PLACE = ("base_url", "api_key", "headers", "price", "timeouts", "retry", "escalate_to", "tool_format", "read_markup")
"""What a model is and where it lives: said once."""
_SETTINGS = ("max_tokens", "temperature", "top_p", "stop", "effort", "tool_choice", "cache")
"""Settings that the machine knows of an agent, which a `Role` may say before its model."""


def _asked(model: Any) -> tuple[Role | None, Any, dict[str, Any]]:
    """The role that a model is given as, if it is; the model itself, and what is said of it: by the role and by its
    `Model`, which is there as `said`.
    """
    from ._model import is_model, once

    given: dict[str, Any] = dict.fromkeys((*_PLACE, *_SETTINGS))
    acting: Role | None = None
    if is_model(model) and model.fallback:
        from .roles import Role as Acting

        model = Acting(model)
    if not isinstance(model, str) and not is_model(model) and not is_own(model) and hasattr(model, "fallback"):
        from .roles import taken_apart

        acting, model, given = taken_apart(model, given)
    if not is_model(model):
        return acting, model, {**given, "said": None}
    found = {name: once(name, given[name], getattr(model, name), "the Role") for name in _PLACE}
    settings: Mapping[str, Any] = model.settings
    found |= {name: settings.get(name) if given[name] is None else given[name] for name in _SETTINGS}
    return acting, model.name, {**found, "said": model}


def _plain(asked: Mapping[str, Any], timeouts: Mapping[str, float] | None) -> dict[str, Any]:
    """What is said of a model, to be looked at."""
    said = {**asked, "timeouts": timeouts}
    return {
        option: dict(value) if isinstance(value, MappingProxyType) else value
        for option, value in said.items()
        if option not in ("said", "headers", "stop", "read_markup")
    }


def _lives(
    model: Any, asked: Mapping[str, Any], timeouts: Mapping[str, float] | None
) -> tuple[_core.Endpoint | None, Responds | None, Callable[[], _core.Endpoint] | None]:
    """Where a model lives: at an endpoint, or it is an object of one's own. Where its key or address is not there yet,
    also who makes the endpoint once it is.
    """
    from . import _options
    from ._endpoints import reached
    from ._model import batch_of, continued_of, profile_of, rates_of, sent_headers

    if isinstance(model, str):
        limits: dict[str, Any] = {**(timeouts or {}), **rates_of(asked["said"])}
        _options.whole("the model's name", model)
        headers = dict(_options.names(asked["headers"] if asked["headers"] is not None else {}))

        endpoint, later = reached(
            model,
            base_url=asked["base_url"],
            api_key=asked["api_key"],
            headers=sent_headers(asked["said"], headers),
            profile=profile_of(asked["said"]),
            batch=batch_of(asked["said"]),
            continued=continued_of(asked["said"]),
            **limits,
        )
        return endpoint, None, later
    if isinstance(model, _core.Endpoint):
        # That of the agent whose sub-agent this one is.
        return model, None, None
    if is_own(model):
        return None, model, None
    message = f"a model is a name such as 'anthropic:MODEL' or has a respond or stream method; {model!r} is neither"
    hint = "give an instance of the class" if isinstance(model, type) else "write provider:model"
    raise UsageError(message, "unknown_model", hint)


def _homes(model: Any, asked: Mapping[str, Any]) -> list[ProviderEndpoint]:
    """Where models of the same provider are reached, too."""
    from ._endpoints import ProviderEndpoint
    from ._model import rates_of

    if not isinstance(model, str):
        return []
    profile = asked["said"].profile if asked["said"] is not None else None
    provider = model.partition(":")[0]
    rates = rates_of(asked["said"])
    return [ProviderEndpoint(provider, asked["base_url"], asked["api_key"], asked["headers"], profile, rates)]


def _further(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of the acting model that the machine has no place for elsewhere, as it wants them."""
    said = asked["said"]
    if said is None:
        return {}
    from ._model import machine_settings

    found = machine_settings(said.settings)
    return {name: value for name, value in found.items() if name not in _SETTINGS}


def _hooks_of(hooks: object) -> dict[str, list[Hook]]:
    """The hooks by stage."""
    if hooks is None:
        return {}
    from .hooks import AROUND, Hooks

    found = Hooks(hooks)
    stages = {stage: found.at(stage) for stage in found.stages}
    # What becomes of functions around something is told by the machine at the stages beside it.
    for around, beside in AROUND.items():
        if around in stages:
            stages.update({stage: stages.get(stage, []) for stage in beside})
    return stages


def _chooser_of(choose: object) -> Hook | None:
    """Who chooses the model, with a time limit."""
    if choose is None:
        return None
    from .hooks import Hook, ModelChoice

    if isinstance(choose, ModelChoice):
        choice = choose
        return Hook("pre_assess", lambda _: choice, name="choose_model")
    if not callable(choose):
        message = f"choose of a Router can't be {choose!r:.100}"
        raise UsageError(message, "invalid_option", "give a function that takes a ModelContext, or a ModelChoice")
    return Hook("pre_assess", choose, name="choose_model")


def _total(timeouts: Mapping[str, float] | None, acting: Role | None) -> Mapping[str, float] | None:
    """The time limits of requests: of all of one, what the role that acts has."""
    if acting is None or acting.timeout is None:
        return timeouts
    return {"total": acting.timeout, **(timeouts or {})}


def _bounded(budget: Budget, acting: Role | None) -> Budget:
    """What a run may use: no more than who acts may."""
    if acting is None or acting.budget is None:
        return budget
    from .roles import bounded

    return bounded(budget, acting)


_BATCH_TIME = 26 * 3600.0
"""Seconds for a run whose requests are answered within a day, where nobody has said how long it may take."""


def _usual_budget(endpoint: _core.Endpoint | None) -> Budget:
    """What a run may use where nobody has said it."""
    return _usual(_BATCH_TIME if endpoint is not None and endpoint.batch else None)


@cache
def _usual(wall_time: float | None) -> Budget:
    return Budget() if wall_time is None else Budget(wall_time=wall_time)


def _checked_budget(budget: object) -> Budget:
    if isinstance(budget, Budget):
        return budget
    message = f"a budget is a Budget, not {type(budget).__name__}"
    raise UsageError(message, "invalid_budget", "give Budget(rounds=..., wall_time=..., ...)")


def _guard_of(
    tools: Iterable[Tool[..., Any, Any]], given: Guard
) -> tuple[dict[str, Any], tuple[str | None, str | None], tuple[str, bool] | None]:
    """What judges the calls, where they run, and what the policy says of the fence around them."""
    from .guard._guard import answering

    if given.policy is None:
        rules, written = _built_in()
    else:
        from .guard._policy import policy_of

        rules = policy_of(given.policy)
        written = json.loads(rules.to_json())
    places = [place for tool in tools if (place := getattr(tool, "workspace", None)) is not None]
    home = os.path.expanduser("~")  # noqa: PTH111 - a fifth of the time that a `Path` takes
    place = given.workspace if given.workspace is not None else places[0] if places else None
    folder = os.getcwd() if place is None else _whole_path(place)  # noqa: PTH109 - likewise
    around = (home if os.path.isabs(home) else None, folder)  # noqa: PTH117 - likewise
    commands: Any = given.commands
    records = {"commands": json.loads(commands._core.to_json())} if commands is not None else {}
    guard = {
        "policy": written,
        "around": {"home": around[0], "workspace": folder, **records},
        "cautious": given.on_cautious or ("run" if answering(given) is None else "intent"),
        "by_arguments": sorted(tool.name for tool in tools if getattr(tool, "by_arguments", False)),
    }
    return guard, around, rules.sandbox


def _whole_path(place: str | os.PathLike[str]) -> str:
    from pathlib import Path

    return str(Path(place).absolute())


@cache
def _built_in() -> tuple[_core.Policy, dict[str, Any]]:
    """The policy of whoever gives none, and as the machine reads it."""
    rules = _core.Policy.built_in()
    return rules, json.loads(rules.to_json())


def _check_policies(parent: Agent[Any, Any], agents: Iterable[Agent[Any, Any]]) -> None:
    """The calls of sub-agents are judged by the policy of the run: another one would be lost without a word."""
    for agent in agents:
        if agent._own_policy and agent._config["guard"]["policy"] != parent._config["guard"]["policy"]:
            message = (
                f"the sub-agent {agent.name!r} has a policy of its own, and its calls are judged by that of the run"
            )
            raise UsageError(message, "invalid_option", "give the policy to the agent that starts it")
        own = agent._config["guard"]["around"].get("commands")
        if own is not None and own != parent._config["guard"]["around"].get("commands"):
            message = f"the sub-agent {agent.name!r} says of programs what the run that starts it does not"
            raise UsageError(message, "invalid_option", "give Guard(commands=...) to the agent that starts it")
        if agent._sandbox is not None and agent._sandbox != parent._sandbox:
            message = f"the sub-agent {agent.name!r} says of the fence what the run that starts it does not"
            raise UsageError(message, "invalid_option", "give Guard(sandbox=...) to the agent that starts it")
        lost: dict[str, Any] = {"hooks": agent._hooks, "guard.approve": agent._approve, "a Router": agent._chooser}
        lost["escalate_to"] = agent._escalate_to
        for option, value in lost.items():
            if value and value is not getattr(parent, "_approve", None):
                message = (
                    f"the sub-agent {agent.name!r} has {option} of its own, which a run of another agent does not ask"
                )
                raise UsageError(message, "invalid_option", f"give {option} to the agent that starts it")
        _check_policies(parent, agent._agents)


def _price(endpoint: _core.Endpoint | None, model: str | None = None) -> dict[str, Any] | None:
    """What a model costs, where a table knows it: that of the endpoint, or another one of its provider."""
    if endpoint is None:
        return None
    from . import prices

    name = endpoint.model if model is None else model.removeprefix(f"{endpoint.provider}:")
    found = prices.of(f"{endpoint.provider}:{name}", batch=endpoint.batch)
    return None if found is None else found._asdict()


def _context(given: ContextPolicy | int | bool | None, endpoint: _core.Endpoint | None) -> dict[str, Any] | None:  # noqa: FBT001
    """How requests are held inside the window, as the machine wants it."""
    wire = endpoint.wire if endpoint is not None else None
    if given is False or (given is None and wire == "offline"):
        return {"on": False}
    if given is None or given is True:
        return {"policy": {"wire": wire}} if wire is not None else None
    from .context import ContextPolicy

    if isinstance(given, int):
        given = ContextPolicy(budget=given)
    elif not isinstance(given, ContextPolicy):
        message = f"context can't be {given!r:.100}"
        raise UsageError(message, "invalid_option", "give a ContextPolicy, a number of tokens, or False")
    return given._config(wire)


def _tool_format(given: str | None, model: str) -> str | None:
    """The dialect in which calls are written; `None` for the provider's own way."""
    if given is None or given == "native":
        return None
    return (_core.dialect_for(model) or "hermes") if given == "text" else given


def _tool_choice(choice: str | None) -> Any:
    if choice is None or choice in ("auto", "none", "any"):
        return choice
    return {"tool": choice}
