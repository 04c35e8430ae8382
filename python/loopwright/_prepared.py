"""The parts of an `Agent` that runs start from: its machine's configuration, its plans, and what they need to go.

A plan is made once for each budget and kept. Agents of other kinds run another machine by giving another `_machine`.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from json import dumps
from typing import TYPE_CHECKING, Any, Generic, Literal, cast

from . import _core
from ._dataclasses import replace
from ._instrument import checked
from ._journal_paths import path_of
from ._model import Model, is_model, machine_settings, only_first, profile_of, rates_of
from ._options import check, written
from ._plan import Plan, model_name
from ._remember import recall_config, remembering
from ._setup import (
    _asked,
    _bounded,
    _check_policies,
    _checked_budget,
    _chooser_of,
    _context,
    _further,
    _guard_of,
    _homes,
    _hooks_of,
    _lives,
    _plain,
    _price,
    _provided,
    _tool_choice,
    _tool_format,
    _total,
    _usual_budget,
)
from ._suspend import approver
from ._typed import Deps, Output
from ._urls import is_url
from .budget import Budget
from .errors import UsageError
from .messages import prompt_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ._endpoints import ProviderEndpoint, Unreached
    from ._instrument import Instrumentation
    from ._output import OutputType
    from ._remember import Remembering
    from ._suspend import Answers
    from .agent import Agent
    from .children import AgentPlan, SubAgent
    from .guard import Sandbox
    from .models import Responds
    from .roles import Role, Roles
    from .tools import ToolSet
    from .tools._offered import Offered
    from .tools._sets import Places, Toolset


_KEPT_PLANS = 32


class Prepared(Generic[Deps, Output]):
    """What an agent is made of."""

    _folders: tuple[str, ...] = ()
    _instrument: Instrumentation | Literal[False] | None = None
    _called: str | None = None
    _like: Any = None
    """The agent whose plans this one shares, where it differs in who asks and is asked alone."""
    _run_name: str | None = None
    """How its runs are called."""
    _on_existing: str = "error"
    """What becomes of a run whose name is there."""
    _kept: Callable[[], dict[str, Any]]
    """Its options as they were given."""

    budget: Budget
    name: str | None
    _acting: Role | None
    journal: str | os.PathLike[str] | bool | None
    tools: ToolSet
    _agents: list[Agent[Any, Any]]
    # The model that an `override` has put into the place of its own.
    _replaced: Any = None
    _approve: Callable[[Any], Any] | Answers | None
    _around: tuple[str | None, str | None]
    _sandbox: bool | Sandbox | None
    _complexity: str | None
    _config: dict[str, Any]
    _durable: bool
    _endpoint: _core.Endpoint | None
    _labels: Mapping[str, Any]
    _output: OutputType[Output] | None
    _own_model: Responds | None
    _unkeyed: Callable[[], _core.Endpoint] | None
    """Makes the endpoint, where its key was not there when the agent was made."""
    _said: Model | None
    _plans: dict[Any, Plan]
    _toolsets: tuple[Toolset, ...] = ()
    _places: Places
    _each_round: Places
    _reach: Callable[[], dict[str, Any]]
    _remember: Remembering | None

    def _set_up(
        self,
        model: Any,
        *,
        tools: Any = (),
        system: Any = None,
        budget: Any = None,
        output_type: Any = str,
        guard: Any = None,
        provider_tools: Any = (),
        web_search: Any = False,
        context: Any = None,
        stuck: Any = True,
        momentum: Any = True,
        check_in: Any = None,
        monitor: Any = None,
        journal: Any = None,
        durable: Any = False,
        name: Any = None,
        description: Any = None,
        agents: Any = (),
        complexity: Any = None,
        roles: Any = None,
        hooks: Any = None,
        choose_model: Any = None,
        take_suggestions: Any = False,
        wind_down: Any = 2,
        memory: Any = None,
        recall: Any = True,
        after: Any = None,
        instrument: Any = None,
    ) -> None:
        """Makes of the parts that an agent's options say what runs start from."""
        from . import _options
        from .guard._guard import checked_guard, deadline_of, decided_sandbox
        from .tools._sets import split

        judged = checked_guard(guard)
        acting, model, asked = _asked(model)
        timeouts = _total(asked["timeouts"], acting)
        asked_of_groups = {
            "instructions": system,
            "guard.approve": judged.approve,
            "guard.on_cautious": judged.on_cautious,
            "guard.workspace": judged.workspace,
            "guard.timeout": judged.timeout,
            "monitor.pause_every": check_in,
            "monitor.warn_rounds_left": wind_down,
        }
        check(monitor=monitor, name=name, description=description, **asked_of_groups, **_plain(asked, timeouts))
        self.name = name
        self._instrument = checked(instrument)
        self._acting, self._said = acting, asked["said"]
        self._endpoint, self._own_model, self._unkeyed = _lives(model, asked, timeouts)
        usual = _usual_budget(self._endpoint)
        self.budget = _bounded(_checked_budget(budget) if budget is not None else usual, acting)
        self.journal = path_of(journal) if is_url(journal) else journal
        self.description, self._complexity = description, complexity
        self.tools, self._toolsets = split(tools)
        self._output = None
        if output_type is not None and output_type is not str:
            from ._output import output_of

            self._output = output_of(output_type)
            if self._output.asked.by_call:
                from ._answer_tool import with_answer

                self.tools = with_answer(self.tools, self._output)
        self._approve = approver(judged.approve)
        rules, self._around, fenced = _guard_of(self.tools, judged)
        self._sandbox = decided_sandbox(judged.sandbox, fenced)
        self._durable = durable
        self._labels = {}
        self._config = {
            "model": self._endpoint.model if self._endpoint is not None else str(getattr(model, "name", "own")),
            "system": system,
            "provider_tools": _provided(self._endpoint, provider_tools, web_search),
            "tool_choice": _tool_choice(asked["tool_choice"]),
            "read_markup": self._endpoint is None if asked["read_markup"] is None else bool(asked["read_markup"]),
            "max_tokens": asked["max_tokens"],
            "temperature": asked["temperature"],
            "top_p": asked["top_p"],
            "stop": _options.texts("stop", () if asked["stop"] is None else asked["stop"]),
            "effort": asked["effort"],
            "cache": True if asked["cache"] is None else asked["cache"],
            "retry": {name: each for name, each in (asked["retry"] or {}).items() if each is not None},
            "check_in": check_in,
            **({} if monitor is None else {"intent": monitor.intent}),
            **_options.policies(stuck=stuck, momentum=momentum),
            "approval_timeout": deadline_of(judged),
            "guard": rules,
            "price": dict(asked["price"]) if asked["price"] else _price(self._endpoint),
            "seed": 0,
            "wind_down": 2 if wind_down is None else wind_down,
        }
        homes = _homes(model, asked)
        held = _context(context, self._endpoint)
        if held is not None:
            self._config["context"] = held
        self._remember = remembering(memory, after, roles, homes)
        self._config |= recall_config(self._remember, recall)
        self._config["tool_format"] = _tool_format(asked["tool_format"], self._config["model"])
        if further := _further(asked):
            self._config["roles"] = {"acting": further}
        self._own_policy = judged.policy is not None
        self._take_agents(agents)
        self._take_toolsets()
        self._take_roles(roles, acting, timeouts, homes)
        # A function: whoever looks at an agent's parts sees no key.
        self._reach = lambda: {**asked, "timeouts": timeouts}
        self._take_hooks(hooks, choose_model, asked["escalate_to"], take_suggestions=take_suggestions)
        self._plans = {}
        # What can't work is said here, not in the middle of a program.
        self._plan(self.budget, stream=False)

    @property
    def _given(self) -> dict[str, Any]:
        return self._kept()

    def _take_agents(self, agents: Iterable[SubAgent | Agent[Any, Any]]) -> None:
        """The sub-agents that there are."""
        self._agents: list[Agent[Any, Any]] = []
        if agents:
            from .children import checked_agents, made

            self._agents = made(cast("Agent[Any, Any]", self), checked_agents(agents))
            _check_policies(cast("Agent[Any, Any]", self), self._agents)

    def _changed(self, changes: Mapping[str, Any]) -> Any:
        """The same with other options."""
        from ._front import parts_of

        other = copy(self)
        given = {**self._given, **changes}
        other._kept = lambda: given
        other._like, other._config = None, {}
        other._set_up(**parts_of(given))
        if self._remember is not None and other._remember is not None:
            # Whose agent it is.
            other._remember = other._remember.whom(self._remember.user, self._remember.session)
        return other

    def _take_hooks(
        self, hooks: object, choose_model: object, escalate_to: str | Model | None, *, take_suggestions: bool
    ) -> None:
        """Who is asked while a run goes on."""
        self._hooks = _hooks_of(hooks)
        inside = [stage for stage in self._hooks if not stage.endswith("_reflect") and not stage.startswith("around_")]
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
        name: Any = model.name
        if self._chosen.setdefault(name, model) != model:
            message = f"two models of the name {name} are chosen, and live or are asked otherwise"
            raise UsageError(message, "invalid_option", "choose one of them, or give one to another provider's name")
        return name  # type: ignore[no-any-return]

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
        self._unreached: list[Unreached] = []
        if roles is not None or acting is not None:
            from .roles import resolved

            config, self._chains, self._unreached = resolved(roles, acting, dict(timeouts or {}), homes)
            self._config["roles"] = {**self._config.get("roles", {}), **config}

    def _take_toolsets(self) -> None:
        """Who is asked for tools, when a run begins or before each request: for the agent itself, and for its
        sub-agents.
        """
        self._places, self._each_round = {}, {}
        if self._toolsets or self._agents:
            from .tools._sets import kinds_of

            once = tuple(each for each in self._toolsets if not each.is_dynamic)
            always = tuple(each for each in self._toolsets if each.is_dynamic)
            self._places = kinds_of(self.tools, once, self._agents, lambda agent: agent._places)
            self._each_round = kinds_of(self.tools, always, self._agents, lambda agent: agent._each_round)

    def _keyed(self) -> None:
        """Looks for the keys and addresses that were not there when the agent was made. Raises a `UsageError`
        (`missing_key`, `missing_endpoint`, `missing_setting`) that names each model which can't be reached.
        """
        found = self._reach_all()[0]
        if found:
            from ._endpoints import unreached_error

            raise unreached_error(found)

    def _reach_all(self) -> tuple[list[tuple[str, UsageError]], bool]:
        """Reaches the models that could not be when the agent was made. Gives what went wrong, each with whose model it
        is, and whether something has changed.
        """
        if self._like is not None:
            told: tuple[list[tuple[str, UsageError]], bool] = self._like._reach_all()
            self._endpoint, self._agents, self._unkeyed = self._like._endpoint, self._like._agents, None
            return told
        found: list[tuple[str, UsageError]] = []
        before, changed = self._endpoint, False
        if self._unkeyed is not None:
            try:
                self._endpoint, self._unkeyed = self._unkeyed(), None
            except UsageError as error:
                found.append(("", error))
            else:
                self._shared(before, self._endpoint)
                changed = True
        for each in [*self._unreached]:
            try:
                each.put(each.make())
            except UsageError as error:
                found.append((each.what, error))
            else:
                self._unreached.remove(each)
                changed = True
        for agent in self._agents:
            # One that is asked where this one is was told of already.
            lacks, is_new = agent._reach_all()
            found += [(f"the sub-agent {agent.name}, {what}".rstrip(", "), error) for what, error in lacks]
            changed = changed or is_new
        if changed:
            self._plans = {}
        return found + self._handed_lacks(), changed

    def _embeds_with(self, embedder: Any) -> None:
        """Looks whether a model that makes vectors can be reached."""
        if callable(make := getattr(embedder, "endpoint", None)):
            self._reachable("the embedder", embedder.name, make)

    def _handed_lacks(self) -> list[tuple[str, UsageError]]:
        """What the agents lack that a run may be handed over to."""
        if not self._given.get("handoffs") or self._replaced is not None:
            return []
        from ._handoff import handoffs_of

        return [
            (f"the agent {handoff.agent.name}, {what}".rstrip(", "), error)
            for handoff in handoffs_of(self._given["handoffs"])
            for what, error in handoff.agent._reach_all()[0]
        ]

    def _reachable(self, what: str, model: str, make: Callable[[], _core.Endpoint] | None = None) -> _core.Endpoint:
        """The endpoint of a model that may be asked later; one that stands in for it where it can't be reached yet."""
        from ._endpoints import NOT_SET, Unreached, reached

        make = make or partial(self._endpoint_at, model)
        try:
            return make()
        except UsageError as error:
            if error.code not in NOT_SET:
                raise
        what = f"{what} {model}"
        if all(each.what != what for each in self._unreached):
            self._unreached.append(Unreached(what, make, lambda _: None))
        return reached(model)[0]

    def _shared(self, before: _core.Endpoint | None, now: _core.Endpoint | None) -> None:
        """Sub-agents that are asked where their agent is have its endpoint."""
        for agent in self._agents:
            if agent._endpoint is before:
                agent._endpoint, agent._plans = now, {}
                agent._shared(before, now)

    def _unknown(self) -> list[str]:
        """What is not known of the model, in words."""
        found = []
        name = model_name(self._endpoint, self._own_model)
        if self._endpoint is not None and self._config.get("price") is None:
            found.append(f"the price of {name} is not known: give Model(price=...) for costs and budgets of money")
        if self._endpoint is not None and _core.window_of(self._config["model"]) is None:
            found.append(f"the window of {name} is not known: give ContextPolicy(window=...)")
        return found

    def _recalled(self, turn: Mapping[str, Any], budget: Budget, *, stream: bool) -> tuple[Plan, Offered]:
        """The plan of a run that goes on with what its journal says it was offered; nobody is asked for it."""
        from .tools._offered import recall

        offered = recall(self._places, turn)
        return self._plan(budget, stream=stream, offered=offered), offered

    def _label(self) -> dict[str, Any]:
        """What journals say about whose run it is: who memory takes it for, wherever that was said."""
        named = () if self._remember is None else (("user", self._remember.user), ("session", self._remember.session))
        return {**self._labels, **{name: value for name, value in named if value is not None}}

    def _plan(self, budget: Budget, *, stream: bool, offered: Offered | None = None) -> Plan:
        if self._like is not None:
            like = self._like._plan(budget, stream=stream, offered=offered)
            return replace(
                cast("Plan", like),
                approve=self._approve,
                labels=self._label(),
                remember=self._remember,
                recall=like.recall and partial(self._recalled, budget=budget, stream=stream),
            )
        key = (stream, budget, offered.key) if offered is not None else (stream, budget)
        plan = self._plans.get(key)
        if plan is None:
            offers = self.tools if offered is None else offered.of("", self.tools)
            config = self._turn(budget, stream=stream, tools=offers)
            agents: dict[str, AgentPlan] = {}
            if self._agents:
                from .children import compose

                configs, agents = compose(self._agents, stream=stream, chains=self._chains, offered=offered)
                config["children"] = {"agents": configs, **budget._of_children()}
            if self._escalate_to is not None:
                apart = ":" in self._escalate_to
                there = self._reachable("escalate_to", self._escalate_to) if apart else self._endpoint
                price, settings = self._price_and_settings(self._escalate_to, there)
                config["choice"] = {**config["choice"], "escalate_price": price, "escalate_settings": settings}
            tools = {tool.name: tool for tool in offers}
            hooks = self._with_ours(tools, agents)
            if len(hooks) > len(self._hooks):
                config["hooks"] = [stage for stage in hooks if not stage.endswith("_reflect")]
            machine = self._machine(config)
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
                labels=self._label(),
                asked_model=self._config["model"],
                agents=agents,
                chains=self._chains,
                session=self._session(),
                hooks=hooks,
                each_round=self._each_round,
                chooser=self._chooser,
                chooses="choice" in self._config,
                new_endpoint=self._endpoint_at,
                named=self._named,
                price_and_settings=self._price_and_settings,
                remember=self._remember,
                recall=partial(self._recalled, budget=budget, stream=stream) if self._places else None,
            )
            if self._escalate_to is not None and ":" not in self._escalate_to:
                # What can't be reached is said before the run that needs it.
                plan.endpoint_of(self._escalate_to)
            if len(self._plans) > _KEPT_PLANS:
                self._plans.clear()
            self._plans[key] = plan
        return plan

    def _with_ours(self, tools: Mapping[str, Any], agents: Mapping[str, AgentPlan]) -> dict[str, list[Any]]:
        """The hooks by stage, and the stages at which the package itself is asked."""
        ours = ["pre_llm"] if self._each_round else []
        every = [*tools.values(), *(tool for plan in agents.values() for tool in plan.tools.values())]
        if self._each_round or any(callable(tool.asks) for tool in every):
            ours.append("pre_tool")
        return {**{stage: [] for stage in ours}, **self._hooks} if ours else self._hooks

    def _turn(self, budget: Budget, *, stream: bool, tools: ToolSet) -> dict[str, Any]:
        """The configuration of its turns, sub-agents aside."""
        from .tools._toolset import told

        config = {**self._config, "stream": stream, "budget": budget._config()}
        config["tools"] = [told(tool) for tool in tools]
        if self._output is not None and not self._output.asked.by_call:
            name = "".join(c if c.isalnum() else "_" for c in self._output.name)[:60] or "output"
            if self._output.asked.mode == "text":
                said = f"Answer with one JSON value of this schema, and nothing else:\n{dumps(self._output.schema)}"
                config["system"] = said if not config["system"] else f"{config['system']}\n\n{said}"
            else:
                config["output"] = {"name": name, "schema": self._output.schema}
        return config

    def _limits(self, prompt: Any, budget: Budget | None) -> Budget:
        """What a run on this prompt may use."""
        given = self.budget if budget is None else _checked_budget(budget)
        complexity = "auto" if given.rounds == "auto" else self._complexity if budget is None else None
        if complexity is None or given.gives_rounds:
            return given if budget is None else _bounded(given, self._acting)
        limits = replace(given, rounds=Budget.for_task(prompt_of(prompt), complexity).rounds)
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
