"""What an `Agent` makes of its options: each is looked at, and becomes what the machine wants.

What can't work is said when the agent is made, with a `UsageError` that names the option, not in the middle of a run.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import _core
from .budget import Budget
from .errors import UsageError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ._approval import Approval
    from .agent import Agent
    from .context import ContextPolicy
    from .guard import Approvals
    from .hooks import Hook
    from .roles import Role, Roles
    from .tools import Tool


def _provided(
    endpoint: _core.Endpoint | None,
    provider_tools: Sequence[Mapping[str, Any]],
    web_search: bool | Mapping[str, Any],  # noqa: FBT001 - as the option is
) -> list[dict[str, Any]]:
    """The tools that the provider runs, as the machine wants them."""
    from . import _options

    wire = endpoint.wire if endpoint is not None else "openai_chat"
    given: list[dict[str, Any]] = [
        {"provider": {"wire": wire, "raw": tool}} for tool in _options.dicts("provider_tools", provider_tools)
    ]
    if web_search:
        settings = [{}] if web_search is True else _options.dicts("web_search", [web_search])
        given.append({"web_search": settings[0]})
    return given


def _taken_apart(model: Any, roles: Roles | None, given: tuple[Any, ...]) -> tuple[Role | None, Any, tuple[Any, ...]]:
    """The role that a model is given as, if it is; the model itself, and its settings."""
    if roles is not None:
        from .roles import executor_of

        model = executor_of(model, roles)
    if isinstance(model, str) or not hasattr(model, "fallback"):
        return None, model, given
    from .roles import taken_apart

    return taken_apart(model, given)


def _hooks_of(hooks: object) -> dict[str, list[Hook]]:
    """The hooks by stage."""
    if hooks is None:
        return {}
    from .hooks import Hooks

    found = Hooks(hooks)
    return {stage: found.at(stage) for stage in found.stages}


def _chooser_of(choose: object) -> Hook | None:
    """Who chooses the model, with a time limit."""
    if choose is None:
        return None
    from .hooks import Hook, ModelChoice

    if isinstance(choose, ModelChoice):
        choice = choose
        return Hook("pre_assess", lambda _: choice, name="choose_model")
    if not callable(choose):
        message = f"choose_model can't be {choose!r:.100}"
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


def _checked_budget(budget: object) -> Budget:
    if isinstance(budget, Budget):
        return budget
    message = f"a budget is a Budget, not {type(budget).__name__}"
    raise UsageError(message, "invalid_budget", "give Budget(rounds=..., wall_time=..., ...)")


def _guard_of(
    tools: Iterable[Tool[..., Any]], policy: object, cautious: str, workspace: str | os.PathLike[str] | None
) -> tuple[dict[str, Any], tuple[str | None, str | None]]:
    """What judges the calls, and where they run."""
    import os
    from pathlib import Path

    if policy is None:
        rules = _core.Policy.built_in()
    else:
        from .guard._policy import policy_of

        rules = policy_of(policy)
    places = [place for tool in tools if (place := getattr(tool, "workspace", None)) is not None]
    home = Path("~").expanduser()
    folder = str(Path(os.fspath(workspace if workspace is not None else (places or ["."])[0])).absolute())
    around = (str(home) if home.is_absolute() else None, folder)
    guard = {
        "policy": json.loads(rules.to_json()),
        "around": {"home": around[0], "workspace": folder},
        "cautious": cautious,
        "by_arguments": sorted(tool.name for tool in tools if getattr(tool, "by_arguments", False)),
    }
    return guard, around


def _approver(approve: Callable[[Approval], Any] | None, approvals: Approvals | None) -> Callable[[Any], Any] | None:
    """Who is asked."""
    if approvals is None:
        return approve
    if approve is not None:
        message = "approve and approvals both say who is asked"
        raise UsageError(message, "invalid_option", "give one of them: Approvals(approve) is both")
    return approvals


def _check_policies(parent: Agent[Any], agents: Iterable[Agent[Any]]) -> None:
    """The calls of sub-agents are judged by the policy of the run: another one would be lost without a word."""
    for agent in agents:
        if agent._own_policy and agent._config["guard"]["policy"] != parent._config["guard"]["policy"]:
            message = (
                f"the sub-agent {agent.name!r} has a policy of its own, and its calls are judged by that of the run"
            )
            raise UsageError(message, "invalid_option", "give the policy to the agent that starts it")
        lost = {"hooks": agent._hooks, "approve": agent._approve, "choose_model": agent._chooser}
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
    found = prices.of(f"{endpoint.provider}:{name}")
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


def _tool_format(given: str, model: str) -> str | None:
    """The dialect in which calls are written; `None` for the provider's own way."""
    if given == "native":
        return None
    return (_core.dialect_for(model) or "hermes") if given == "text" else given


def _tool_choice(choice: str | None) -> Any:
    if choice is None or choice in ("auto", "none", "any"):
        return choice
    return {"tool": choice}
