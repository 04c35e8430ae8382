"""The parts of an `Agent` that runs start from: its machine's configuration, its plans, and what they need to go.

A plan is made once for each budget and kept. Agents of other kinds run another machine by giving another `_machine`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, cast

from . import _core
from ._model import Model, is_model, machine_settings, only_first, profile_of, rates_of
from ._options import check, written
from ._plan import Plan
from ._setup import _bounded, _check_policies, _checked_budget, _chooser_of, _hooks_of, _price
from ._typed import Output
from .budget import Budget
from .errors import UsageError
from .messages import prompt_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ._endpoints import ProviderEndpoint
    from ._instrument import Instrumentation
    from ._output import OutputType
    from ._remember import Remembering
    from .agent import Agent
    from .children import AgentPlan, SubAgent
    from .guard import Sandbox
    from .models import Responds
    from .roles import Role, Roles
    from .tools import ToolSet
    from .tools._offered import Offered
    from .tools._sets import Places, Toolset


_KEPT_PLANS = 32


class Prepared(Generic[Output]):
    """What an agent is made of."""

    _folders: tuple[str, ...] = ()
    _instrument: Instrumentation | Literal[False] | None = None
    _called: str | None = None

    budget: Budget
    name: str | None
    _acting: Role | None
    journal: str | os.PathLike[str] | bool | None
    tools: ToolSet
    _agents: list[Agent[Any]]
    _approve: Callable[[Any], Any] | None
    _around: tuple[str | None, str | None]
    _sandbox: bool | Sandbox | None
    _complexity: str | None
    _config: dict[str, Any]
    _durable: bool
    _endpoint: _core.Endpoint | None
    _labels: Mapping[str, Any]
    _output: OutputType[Output] | None
    _own_model: Responds | None
    _said: Model | None
    _plans: dict[Any, Plan]
    _toolsets: tuple[Toolset, ...] = ()
    _places: Places
    _reach: Callable[[], dict[str, Any]]
    _remember: Remembering | None

    def _take_agents(self, agents: Iterable[SubAgent | Agent[Any]], most: int, depth: int) -> None:
        """The sub-agents that there are."""
        self._children_limits = (most, depth)
        self._agents: list[Agent[Any]] = []
        if agents:
            from .children import checked_agents, made

            self._agents = made(cast("Agent[Any]", self), checked_agents(agents))
            _check_policies(cast("Agent[Any]", self), self._agents)

    def _take_hooks(
        self, hooks: object, choose_model: object, escalate_to: str | Model | None, *, take_suggestions: bool
    ) -> None:
        """Who is asked while a run goes on."""
        self._hooks = _hooks_of(hooks)
        inside = [stage for stage in self._hooks if not stage.endswith("_reflect")]
        if inside:
            self._config["hooks"] = inside
        self._chooser = _chooser_of(choose_model)
        check(escalate_to=escalate_to)
        self._chosen: dict[str, Model] = {}
        self._escalate_to = self._named(escalate_to) if is_model(escalate_to) else escalate_to
        ask = self._chooser is not None
        if ask or escalate_to is not None:
            self._config["choice"] = {"ask": ask, "suggestions": take_suggestions, "escalate_to": self._escalate_to}

    def _named(self, model: Model) -> str:
        """The name under which a `Model` goes on in requests; it is known by that from now on."""
        only_first(model, "which is chosen")
        if self._chosen.setdefault(model.name, model) != model:
            message = f"two models of the name {model.name} are chosen, and live or are asked otherwise"
            raise UsageError(message, "invalid_option", "choose one of them, or give one to another provider's name")
        return model.name

    def _take_roles(
        self,
        roles: Roles | None,
        acting: Role | None,
        timeouts: Mapping[str, float] | None,
        homes: Sequence[ProviderEndpoint],
    ) -> None:
        """Who acts beside the agent's own model, and after it."""
        self.roles = roles
        self._chains: dict[str, Any] = {}
        if roles is not None or acting is not None:
            from .roles import resolved

            config, self._chains = resolved(roles, acting, dict(timeouts or {}), homes)
            self._config["roles"] = {**self._config.get("roles", {}), **config}

    def _take_toolsets(self) -> None:
        """Who is asked for tools when a run begins: for the agent itself, and for its sub-agents."""
        self._places = {}
        if self._toolsets or self._agents:
            from .tools._sets import kinds_of

            self._places = kinds_of(self.tools, self._toolsets, self._agents, lambda agent: agent._places)

    def _recalled(self, turn: Mapping[str, Any], budget: Budget, *, stream: bool) -> tuple[Plan, Offered]:
        """The plan of a run that goes on with what its journal says it was offered; nobody is asked for it."""
        from .tools._offered import recall

        offered = recall(self._places, turn)
        return self._plan(budget, stream=stream, offered=offered), offered

    def _plan(self, budget: Budget, *, stream: bool, offered: Offered | None = None) -> Plan:
        key = (stream, budget, offered.key) if offered is not None else (stream, budget)
        plan = self._plans.get(key)
        if plan is None:
            offers = self.tools if offered is None else offered.of("", self.tools)
            config = self._turn(budget, stream=stream, tools=offers)
            agents: dict[str, AgentPlan] = {}
            if self._agents:
                from .children import compose

                configs, agents = compose(self._agents, stream=stream, chains=self._chains, offered=offered)
                config["children"] = {"agents": configs, **self._limits_of_children()}
            if self._escalate_to is not None:
                there = self._endpoint_at(self._escalate_to) if ":" in self._escalate_to else self._endpoint
                price, settings = self._price_and_settings(self._escalate_to, there)
                config["choice"] = {**config["choice"], "escalate_price": price, "escalate_settings": settings}
            machine = self._machine(config)
            tools = {tool.name: tool for tool in offers}
            plan = Plan(
                machine,
                self._endpoint,
                self._own_model,
                tools,
                self._approve,
                folders=self._folders,
                durable=self._durable,
                around=self._around,
                sandbox=self._sandbox,
                labels=self._labels,
                asked_model=self._config["model"],
                agents=agents,
                chains=self._chains,
                session=self._session(),
                hooks=self._hooks,
                chooser=self._chooser,
                chooses="choice" in self._config,
                new_endpoint=self._endpoint_at,
                named=self._named,
                price_and_settings=self._price_and_settings,
                remember=self._remember,
                recall=partial(self._recalled, budget=budget, stream=stream) if self._places else None,
            )
            if self._escalate_to is not None:
                # What can't be reached is said before the run that needs it.
                plan.endpoint_of(self._escalate_to)
            if len(self._plans) > _KEPT_PLANS:
                self._plans.clear()
            self._plans[key] = plan
        return plan

    def _turn(self, budget: Budget, *, stream: bool, tools: ToolSet) -> dict[str, Any]:
        """The configuration of its turns, sub-agents aside."""
        config = {**self._config, "stream": stream, "budget": budget._config()}
        config["tools"] = [
            {
                **tool.definition(),
                "schema": tool.schema,
                "risk": tool.risk,
                "read_only": tool.read_only,
                "timeout": tool.timeout,
                "max_output": tool.max_output,
                "flow": _core.tool_flow(
                    tool.name, tool.read_only, tool.trust, None if tool.effects is None else sorted(tool.effects)
                ),
            }
            for tool in tools
        ]
        if self._output is not None:
            name = "".join(c if c.isalnum() else "_" for c in self._output.name)[:60] or "output"
            config["output"] = {"name": name, "schema": self._output.schema}
        return config

    def _limits_of_children(self) -> dict[str, int]:
        most, depth = self._children_limits
        return {"most": most, "depth": depth}

    def _limits(self, prompt: Any, budget: Budget | None) -> Budget:
        """What a run on this prompt may use."""
        if budget is not None:
            return _bounded(_checked_budget(budget), self._acting)
        if self._complexity is None or self.budget.gives_rounds:
            return self.budget
        from dataclasses import replace

        limits = replace(self.budget, rounds=Budget.for_task(prompt_of(prompt), self._complexity).rounds)
        return _bounded(limits, self._acting)

    def _session(self) -> Any:
        """What the supervisor of earlier runs has released."""
        if self.roles is None:
            return None
        from .roles import session_of

        return session_of(self.roles)

    def _endpoint_at(self, model: str) -> _core.Endpoint:
        """The endpoint of another model: that of a `Model` that was chosen, or at the agent's own address if it is of
        the same provider.
        """
        asked = self._reach()
        limits: dict[str, Any] = dict(asked["timeouts"] or {})
        if (chosen := self._chosen.get(model)) is not None:
            return chosen._endpoint(chosen.api_key, limits)
        if self._endpoint is None or model.partition(":")[0] != self._endpoint.provider:
            return _core.Endpoint(model, **limits)
        limits.update(rates_of(asked["said"]))
        return _core.Endpoint(
            model,
            base_url=asked["base_url"],
            api_key=asked["api_key"],
            headers=list((asked["headers"] or {}).items()),
            profile=profile_of(asked["said"]),
            **limits,
        )

    def _price_and_settings(self, model: str, there: _core.Endpoint | None) -> tuple[Any, dict[str, Any] | None]:
        """What a model costs that lives there, and its own settings, if it is a `Model` that was chosen."""
        chosen = self._chosen.get(model)
        if chosen is None:
            return _price(there, model), None
        price = dict(chosen.price) if chosen.price else _price(there, model)
        return price, machine_settings(chosen.settings)

    def _machine(self, turn: dict[str, Any]) -> _core.MachineConfig:
        """The machine that runs, from the configuration of its turns."""
        return _core.MachineConfig.turn(written(turn))
