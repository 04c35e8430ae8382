"""Sub-agents: agents that an agent hands tasks to, each with its own instructions, tools, model and budget.

::

    from loopwright import Agent, Budget, SubAgent

    explore = SubAgent("explore", "finds things in the code and reports where they are", tools=[search_files])
    writer = SubAgent("writer", "writes text", model="anthropic:claude-haiku-4-5", budget=Budget(rounds=3))
    agent = Agent("anthropic:claude-sonnet-4-5", agents=[explore, writer])

The model starts them with the tool `spawn`; several of one reply run at once. What they use is taken from the budget
of the run. Their calls are judged by the run's policy and by the words of the person alone, and the same person is
asked. What they report reaches the model as quoted, untrusted data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._dataclasses import dataclass, field
from ._plan import of_chain
from ._renamed import renamed
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from . import _core
    from ._endpoints import Serving
    from ._model import Model
    from .agent import Agent
    from .budget import Budget
    from .models import Responds
    from .result import Named, Raised
    from .tools import Tool
    from .tools._offered import Offered
    from .tools._sets import Toolset

__all__ = ["AgentPlan", "ChildRun", "SubAgent", "compose"]


@renamed(system="instructions")
@dataclass(frozen=True)
class SubAgent:
    """A kind of sub-agent. What is not said is as for the agent that starts it; tools it has none but its own.

    ::

        SubAgent("explore", "finds things in the code", tools=[search_files], budget=Budget(rounds=4))
    """

    name: str
    """How the model calls it: letters, digits, `_` and `-`."""
    description: str = ""
    """What it is good for, for the model that starts it."""
    tools: Sequence[Tool[..., Any, Any] | Toolset | Callable[..., Any]] = ()
    """Functions, or what `@tool` makes of them."""
    instructions: str | None = None
    """Instructions."""
    model: str | Model | Responds | None = None
    """Its model, with where it lives and its settings; `None` for that of the agent that starts it."""
    budget: Budget | None = None
    """What each of its runs may use at most; never more than what is left of the run's."""
    agents: Sequence[SubAgent | Agent[Any, Any]] = ()
    """Sub-agents of its own, where the budget's `depth` allows them."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What it says otherwise of its model, be it that of the agent that starts it: `max_tokens`, `temperature`,
    `top_p`, `stop`, `effort`; and its `context`."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise UsageError(f"a sub-agent's name is text, not {self.name!r}", "invalid_agent_name", "name it")
        if not isinstance(self.description, str):
            message = f"the description of the sub-agent {self.name!r} is text, not {self.description!r}"
            raise UsageError(message, "invalid_option", "say in words what it is good for")
        wrong = sorted(set(self.options) - _OPTIONS)
        if wrong:
            message = f"a sub-agent has no option {', '.join(wrong)}"
            hint = f"it knows {', '.join(sorted(_OPTIONS))}; of a model of its own a Model says the rest"
            raise UsageError(message, "invalid_option", hint)


_SETTINGS = ("max_tokens", "temperature", "top_p", "stop", "effort")
_OPTIONS = frozenset({*_SETTINGS, "context"})


@dataclass(frozen=True)
class AgentPlan:
    """What a driver needs to carry out the commands of a sub-agent."""

    endpoint: _core.Endpoint | None
    model: Responds | None
    tools: Mapping[str, Tool[..., Any, Any]]
    chains: Mapping[str, list[Serving]] = field(default_factory=dict)
    """Where the models of its roles live."""

    def serving(self, command: _core.Command) -> Serving:
        """Where the request of a `generate` goes: an endpoint, or an object with `respond`."""
        return of_chain(self.chains, command) or (self.endpoint, self.model)


@dataclass(frozen=True)
class ChildRun:
    """A sub-agent's run that has ended."""

    name: str
    """The sub-agent."""
    path: str
    """Which of the run's children: `explore`, `explore#2`, `lead/explore`."""
    task: str
    """What it was to do."""
    call_id: str
    """The call that started it."""
    result: Any
    """What it gave: a `Result`, with its own `children`."""

    @property
    def stop_reason(self) -> str:
        """Why it ended."""
        return str(self.result.stop_reason)

    @property
    def final(self) -> str | None:
        """Its answer."""
        found: str | None = self.result.final
        return found

    def to_dict(self) -> dict[str, Any]:
        """The run as plain data for JSON."""
        return {**vars(self), "result": self.result.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ChildRun:
        """The run that `to_dict` gave as plain data."""
        from .result import Result

        return cls(data["name"], data["path"], data["task"], data["call_id"], Result.from_dict(data["result"]))

    def __repr__(self) -> str:
        return f"<ChildRun {self.path} {self.stop_reason}>"


def checked_agents(agents: object) -> list[SubAgent | Agent[Any, Any]]:
    """Sub-agents as a list, or an error that says which is none."""
    from .agent import Agent

    if isinstance(agents, (str, bytes, Mapping, SubAgent, Agent)) or not isinstance(agents, Iterable):
        message = f"agents are a list of SubAgent or Agent, not {agents!r:.100}"
        raise UsageError(message, "invalid_option", "give agents=[SubAgent(...), ...]")
    found = list(agents)
    for each in found:
        if isinstance(each, SubAgent):
            continue
        if not isinstance(each, Agent):
            message = f"a sub-agent is a SubAgent or an Agent, not {each!r:.100}"
            raise UsageError(message, "invalid_option", "give agents=[SubAgent(...), ...]")
        if not each.name:
            message = "an agent that serves as a sub-agent needs a name"
            raise UsageError(message, "invalid_agent_name", "give it one: Agent(..., name='explore')")
        if each._folders or type(each) is not Agent:
            raise UsageError("only a plain Agent can be a sub-agent", "invalid_option", "give an Agent or a SubAgent")
    return found


def made(parent: Agent[Any, Any], given: Sequence[SubAgent | Agent[Any, Any]]) -> list[Agent[Any, Any]]:
    """The agents that the sub-agents of `parent` are."""
    return [each if not isinstance(each, SubAgent) else _agent_of(parent, each) for each in given]


def _agent_of(parent: Agent[Any, Any], given: SubAgent) -> Agent[Any, Any]:
    """The agent that a `SubAgent` is: its own model, or that of its parent."""
    from .agent import Agent

    same = given.model is None
    settings: Any = {name: given.options[name] for name in _SETTINGS if name in given.options}
    # What the parent's endpoint is made of, a key among it, is nobody's to look at: it is shared as it is.
    model: Any = parent._endpoint or parent._own_model if same else given.model
    agent: Agent[Any, Any] = Agent(
        model,
        settings={} if same else settings,
        context=given.options.get("context"),
        tools=given.tools,
        instructions=given.instructions,
        budget=given.budget,
        agents=given.agents,
        name=given.name,
        description=given.description,
    )
    if same:
        for key in ("max_tokens", "temperature", "top_p", "effort", "retry", "price", "cache", "read_markup"):
            agent._config[key] = parent._config[key]
        agent._config |= _checked(settings)
        if further := parent._config.get("roles", {}).get("acting"):
            agent._config.setdefault("roles", {})["acting"] = further
    return agent


def _checked(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a sub-agent that is asked where its agent is, as the machine wants them."""
    from . import _options

    found = dict(settings)
    if "stop" in found:
        found["stop"] = _options.texts("stop", found["stop"] or ())
    _options.check(**{name: value for name, value in found.items() if name != "stop"})
    return found


def compose(
    agents: Sequence[Agent[Any, Any]],
    *,
    stream: bool,
    chains: Mapping[str, Any],
    above: str = "",
    offered: Offered | None = None,
) -> tuple[list[dict[str, Any]], dict[str, AgentPlan]]:
    """The machine's configuration of sub-agents, and what a driver needs for each kind of them."""
    configs: list[dict[str, Any]] = []
    plans: dict[str, AgentPlan] = {}
    for agent in agents:
        kind = f"{above}{agent.name}"
        offers = agent.tools if offered is None else offered.of(kind, agent.tools)
        turn = agent._turn(agent.budget, stream=stream, tools=offers)
        # What judges its calls is what judges those of the run.
        turn["guard"] = None
        turn.pop("hooks", None)
        turn.pop("choice", None)
        turn.pop("recall", None)
        nested, further = compose(agent._agents, stream=stream, chains=chains, above=f"{kind}/", offered=offered)
        if nested:
            turn["children"] = {"agents": nested, **agent.budget._of_children()}
        configs.append(
            {
                "name": agent.name,
                "description": agent.description or "",
                "turn": turn,
                "by_arguments": sorted(tool.name for tool in agent.tools if getattr(tool, "by_arguments", False)),
            }
        )
        # The supervisor is that of the run, as its policy is.
        own = {**agent._chains, **{role: chains[role] for role in ("supervisor",) if role in chains}}
        tools = {tool.name: tool for tool in offers}
        plans[kind] = AgentPlan(agent._endpoint, agent._own_model, tools, own)
        plans.update(further)
    return configs, plans


def children_of(
    outcome: _core.Ended, *, run_id: str, models: Mapping[str, Named], raised: Raised | None = None
) -> list[ChildRun]:
    """The children of a run that ended so."""
    from .result import Named, from_outcome

    found: list[ChildRun] = []
    for name, path, call, task, messages, ended in outcome.children:
        result = from_outcome(
            ended,
            messages=messages,
            run_id=run_id,
            named=models.get(_kind(path), Named("")),
            journal=None,
            models=models,
            raised=raised,
            path=path,
        )
        found.append(ChildRun(name, path, task, call, result))
    return found


def _kind(path: str) -> str:
    return "/".join(part.split("#")[0] for part in path.split("/"))
