"""`Agent`: a model, tools and a budget, and runs of them."""

from __future__ import annotations

import inspect
import json
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from . import _core
from ._continue import Begun, forking, resuming
from ._plan import Plan, model_name, new_run, run_id
from ._remember import Following, recall_config, remembering
from .budget import Budget
from .errors import LoopwrightError, UsageError
from .events import RunFinished
from .messages import Message, prompt_of
from .result import Messages, Result, added, error_of, from_outcome

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence

    from ._approval import Approval
    from ._driver import AsyncDriver, Driver
    from ._output import OutputType
    from .after import AfterTurn, Work
    from .children import AgentPlan, SubAgent
    from .context import ContextPolicy
    from .events import Event
    from .guard import Approvals, Policy
    from .handle import RunHandle
    from .hooks import Hook, Hooks, ModelChoice, ModelContext
    from .memory import Memory
    from .messages import Content
    from .models import Model
    from .roles import Role, Roles
    from .senses import MomentumPolicy, StuckPolicy
    from .signal import Signal
    from .tools import Tool

__all__ = ["Agent", "RunStream"]

Output = TypeVar("Output")

_OUTPUT_ATTEMPTS = 3


class Agent(Generic[Output]):
    """A model with tools, instructions and a budget.

    ::

        agent = Agent("anthropic:claude-sonnet-4-5", tools=[search], system="Be brief.")
        result = await agent.run("What changed since 1.2?")
        print(result.final, result.stop_reason, result.usage.total)

    Args:
        model: `provider:model`, an object with a `respond` method (see `loopwright.models`), or a
            `loopwright.roles.Role` of one of them with a `fallback` chain. Providers are
            `anthropic`, `openai`, `openai-chat`, `openai-responses`, `openrouter`, `ollama`, `vllm`, `llamacpp` and
            `offline` (`offline:extractive` needs neither key nor network).
        tools: Functions, or what `@tool` makes of them.
        system: Instructions.
        budget: What a run may use.
        output_type: A type that the answer must have; `result.output` is then of that type.
        base_url: Another server than the provider's own.
        api_key: The key; otherwise the environment has it (`ANTHROPIC_API_KEY`, `OPENAI_API_KEY`, …).
        headers: Headers to add.
        approve: Who is asked before a call at or above `confirm` runs: a function, sync or async, that takes an
            `Approval` and gives `True`, `False`, `"abort"`, or a reason why not. Without one the answer is no.
        provider_tools: Tools that the provider runs, in its own form: dicts with their `type`.
        web_search: The provider's own web search: `True`, or its settings (`max_uses`, `allowed_domains`,
            `blocked_domains`).
        max_tokens: Tokens of one answer.
        temperature: Sampling temperature.
        top_p: Nucleus sampling.
        stop: Stop sequences.
        effort: How hard to think: `"low"`, `"medium"` or `"high"`.
        tool_choice: `"auto"`, `"none"`, `"any"`, or the name of a tool, for the first request.
        tool_format: How the model calls tools. `"native"` is the provider's own way. `"text"` is for models without
            one: they are told to write calls as text, in the dialect they know (`loopwright.dialect_for`), else in
            Hermes'. Or the name of a dialect (`loopwright.extraction.dialects`).
        read_markup: Whether calls that a native model writes into its text by mistake run. Quoted ones never do.
        cache: Whether the provider may cache the prompt's prefix.
        timeouts: Seconds for `connect`, `first_byte`, `idle` and `total` (90 for one request).
        retry: `attempts`, `base`, `cap`, `longest_retry_after`, `after_output`.
        policy: What may run: a `loopwright.guard.Policy`, or the path of its TOML file. Without one the built-in rules
            hold. Forbidden calls never run, whoever says so.
        approvals: Who is asked, with a memory: a `loopwright.guard.Approvals`. In place of `approve`.
        cautious: What calls at `cautious` need: `"run"` nothing (but in a shell, which is declared stricter, the words
            that `"intent"` wants), `"intent"` a word of the user that names their verb or target (else a person is
            asked), `"ask"` a person. By default `"intent"` where there are `approvals`, else `"run"`.
        workspace: What relative paths in calls start from, for the guard. By default that of the built-in tools, else
            the current folder.
        context: How requests are held inside the model's window: a `ContextPolicy`, or the tokens that a request takes
            at most; `False` sends histories as they are. Without it the window is known by the model's name.
        stuck: When repetition ends a run: a `StuckPolicy` of `loopwright.senses`, `True` for the usual one, `None` for
            never. The model is told once before.
        momentum: When too little success ends a run: a `MomentumPolicy`, `True` for the usual one, `None` for never.
        check_in: Pause with `check_in` after every so many iterations.
        approval_timeout: Seconds that a person has to answer; silence is a no.
        price: Money for a million tokens: `input`, `output`, `cache_read`, `cache_write`. Without it the tables of
            `loopwright.prices` are asked.
        journal: Where the journals of runs go: a store (`Journal("project.db")`, or a path that ends in `.db`,
            `.sqlite` or `.sqlite3`), or a folder for a file of each run.
        durable: Whether the journal is on disk before a tool with side effects starts.
        seed: The source of all jitter; 0 is another one for each run, which its journal keeps.
        name: A name for people.
        description: What it is good for, where it serves another agent as a sub-agent.
        agents: Sub-agents that the model may hand tasks to: `SubAgent`s, or agents with a `name`.
        max_children: How many sub-agents one run may start.
        max_depth: How deep they may nest: at 1 a sub-agent starts none itself.
        complexity: How hard the tasks are: `"simple"`, `"moderate"`, `"complex"`, `"breaking"`, or `"auto"`, by the
            words of each prompt. It sets the budget's `iterations`.
        labels: What the first line of each journal says about whose run it is; anything that JSON can hold.
        roles: Models and rules beside the one that acts: a `loopwright.roles.Roles`.
        hooks: Functions that are asked at stages of a run: a list of `Hook` and `Hooks` (see `loopwright.hooks`).
        choose_model: Who chooses the model of a run, before its first request: a function, sync or async, that takes a
            `ModelContext` and gives a `ModelChoice`, a name or `None`; or a `ModelChoice` for all runs.
        take_suggestions: Whether a choice that is not sure enough to be enforced, but is a suggestion, holds too.
        escalate_to: The model that goes on, once, where too little succeeds: `provider:model`.
        wind_down: From so many tool rounds left on the model is told of them, the plainer the fewer; with none left it
            is told to answer.
        memory: A `loopwright.Memory`, or the path of its file. What it knows of a prompt stands before the
            conversation, fenced as data; what follows a turn is kept in the background (`after`).
        user: Whose memories are recalled and kept, beside those that are everybody's.
        session: The session that is kept; by default that of the memory.
        recall: How memory is asked: `hits` (5), `characters` of each (400), `timeout` in seconds (5); `False` for
            never.
        after: What follows a turn: a `loopwright.after.AfterTurn`, or `False` for nothing.
    """

    _folders: tuple[str, ...] = ()

    def __init__(
        self,
        model: str | Model | Role,
        *,
        tools: Iterable[Tool[..., Any] | Callable[..., Any]] = (),
        system: str | None = None,
        budget: Budget | None = None,
        output_type: type[Output] | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        approve: Callable[[Approval], Any] | None = None,
        policy: Policy | str | os.PathLike[str] | None = None,
        approvals: Approvals | None = None,
        cautious: str | None = None,
        workspace: str | os.PathLike[str] | None = None,
        provider_tools: Sequence[Mapping[str, Any]] = (),
        web_search: bool | Mapping[str, Any] = False,
        max_tokens: int | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        stop: Sequence[str] = (),
        effort: str | None = None,
        tool_choice: str | None = None,
        tool_format: str = "native",
        read_markup: bool = True,
        cache: bool = True,
        timeouts: Mapping[str, float] | None = None,
        retry: Mapping[str, Any] | None = None,
        context: ContextPolicy | int | bool | None = None,
        stuck: StuckPolicy | bool | None = True,
        momentum: MomentumPolicy | bool | None = True,
        check_in: int | None = None,
        approval_timeout: float | None = None,
        price: Mapping[str, float] | None = None,
        journal: str | os.PathLike[str] | bool | None = None,
        durable: bool = False,
        seed: int = 0,
        name: str | None = None,
        labels: Mapping[str, Any] | None = None,
        description: str | None = None,
        agents: Iterable[SubAgent | Agent[Any]] = (),
        max_children: int = 8,
        max_depth: int = 1,
        complexity: str | None = None,
        roles: Roles | None = None,
        hooks: Hook | Hooks | Iterable[Hook | Hooks] | None = None,
        choose_model: Callable[[ModelContext], Any] | ModelChoice | None = None,
        take_suggestions: bool = False,
        escalate_to: str | None = None,
        wind_down: int = 2,
        memory: Memory | str | os.PathLike[str] | None = None,
        user: str | None = None,
        session: str | None = None,
        recall: Mapping[str, Any] | bool = True,
        after: AfterTurn | bool | None = None,
    ) -> None:
        from . import _options
        from .tools import ToolSet

        acting, model, (base_url, api_key, headers, price, max_tokens, temperature, effort) = _taken_apart(
            model, (base_url, api_key, headers, price, max_tokens, temperature, effort)
        )
        _options.check(
            system=system,
            base_url=base_url,
            api_key=api_key,
            approve=approve,
            approvals=approvals,
            cautious=cautious,
            workspace=workspace,
            max_tokens=max_tokens,
            temperature=temperature,
            top_p=top_p,
            effort=effort,
            tool_choice=tool_choice,
            tool_format=tool_format,
            timeouts=timeouts,
            retry=retry,
            check_in=check_in,
            approval_timeout=approval_timeout,
            price=price,
            seed=seed,
            name=name,
            description=description,
            max_children=max_children,
            max_depth=max_depth,
            complexity=complexity,
            wind_down=wind_down,
        )
        self.name = name
        self.budget = _checked_budget(budget) if budget is not None else Budget()
        self.journal = journal
        self._own_model: Model | None = None
        self._endpoint: _core.Endpoint | None = None
        if isinstance(model, str):
            pairs = _options.names(headers if headers is not None else {})
            limits = dict(timeouts or {})
            self._endpoint = _core.Endpoint(model, base_url=base_url, api_key=api_key, headers=pairs, **limits)
        elif isinstance(model, _core.Endpoint):
            # That of the agent whose sub-agent this one is.
            self._endpoint = model
        elif callable(getattr(model, "respond", None)) and not isinstance(model, type):
            self._own_model = cast("Model", model)
        else:
            message = f"a model is a name such as 'anthropic:MODEL' or has a respond method; {model!r} is neither"
            hint = "give an instance of the class" if isinstance(model, type) else "write provider:model"
            raise UsageError(message, "unknown_model", hint)
        self.description, self._complexity = description, complexity
        self.tools = ToolSet(tools)
        self._output: OutputType[Output] | None = None
        if output_type is not None:
            from ._output import OutputType

            self._output = OutputType(output_type)
        if approval_timeout is None:
            approval_timeout = getattr(approvals, "timeout", 60.0)
        self._approve = _approver(approve, approvals)
        guard, self._around = _guard_of(
            self.tools, policy, cautious or ("run" if approvals is None else "intent"), workspace
        )
        self._durable = durable
        self._labels = _options.labels(labels)
        self._config: dict[str, Any] = {
            "model": self._endpoint.model if self._endpoint is not None else str(getattr(model, "name", "own")),
            "system": system,
            "provider_tools": _provided(self._endpoint, provider_tools, web_search),
            "tool_choice": _tool_choice(tool_choice),
            "read_markup": bool(read_markup),
            "max_tokens": max_tokens,
            "temperature": temperature,
            "top_p": top_p,
            "stop": _options.texts("stop", stop),
            "effort": effort,
            "cache": cache,
            "retry": dict(retry or {}),
            "check_in": check_in,
            **_options.policies(stuck=stuck, momentum=momentum),
            "approval_timeout": approval_timeout,
            "guard": guard,
            "price": dict(price) if price else _price(self._endpoint),
            "seed": seed,
            "wind_down": wind_down,
        }
        held = _context(context, self._endpoint)
        if held is not None:
            self._config["context"] = held
        self._remember = remembering(memory, user, session, after, roles)
        self._config |= recall_config(self._remember, recall)
        self._config["tool_format"] = _tool_format(tool_format, self._config["model"])
        self._own_policy = policy is not None
        self._take_agents(agents, max_children, max_depth)
        self._take_roles(roles, acting, timeouts)
        # A function: whoever looks at an agent's parts sees no key.
        self._reach: Callable[[], tuple[Any, ...]] = lambda: (base_url, api_key, headers, timeouts)
        self._take_hooks(hooks, choose_model, escalate_to, take_suggestions=take_suggestions)
        self._plans: dict[tuple[bool, Budget], Plan] = {}
        # What can't work is said here, not in the middle of a program.
        self._plan(self.budget, stream=False)

    def _take_agents(self, agents: Iterable[SubAgent | Agent[Any]], most: int, depth: int) -> None:
        """The sub-agents that there are."""
        self._children_limits = (most, depth)
        self._agents: list[Agent[Any]] = []
        if agents:
            from .children import checked_agents, made

            self._agents = made(self, checked_agents(agents))
            _check_policies(self, self._agents)

    def _take_hooks(
        self, hooks: object, choose_model: object, escalate_to: str | None, *, take_suggestions: bool
    ) -> None:
        """Who is asked while a run goes on."""
        self._hooks = _hooks_of(hooks)
        inside = [stage for stage in self._hooks if not stage.endswith("_reflect")]
        if inside:
            self._config["hooks"] = inside
        self._chooser = _chooser_of(choose_model)
        self._escalate_to = escalate_to
        ask = self._chooser is not None
        if ask or escalate_to is not None:
            self._config["choice"] = {"ask": ask, "suggestions": take_suggestions, "escalate_to": escalate_to}

    @property
    def model(self) -> str:
        """How the model is shown; never holds a key."""
        return model_name(self._endpoint, self._own_model)

    def __repr__(self) -> str:
        names = ", ".join(tool.name for tool in self.tools)
        return f"<Agent {self.model} tools=[{names}]>"

    @property
    def memory(self) -> Memory | None:
        """What the agent remembers with."""
        return None if self._remember is None else self._remember.memory

    def whom(self, user: str | None = None, session: str | None = None) -> Agent[Output]:
        """The same agent, with the same memory, for another user or session."""
        from copy import copy

        if self._remember is None:
            message = "the agent has no memory"
            raise UsageError(message, "no_memory", "give it memory=Memory(...) or a path")
        other = copy(self)
        other._remember = self._remember.whom(user, session)
        other._plans = {}
        return other

    def work(self, state: str | None = None) -> list[Work]:
        """The work after turns that is `queued`, `running`, `done` or `failed`, oldest first."""
        return [] if self._remember is None else self._remember.memory.work(state)  # type: ignore[arg-type]

    async def drain(self, timeout: float = 5.0) -> list[Work]:
        """Waits for the work after turns, so many seconds at most; gives what is left of it."""
        return [] if self._remember is None else await self._remember.memory.adrain(timeout)

    def drain_sync(self, timeout: float = 5.0) -> list[Work]:
        """`drain` without asyncio."""
        return [] if self._remember is None else self._remember.memory.drain(timeout)

    async def run(
        self,
        prompt: Content | Message | Sequence[Content],
        *,
        messages: Messages | Sequence[Message | Mapping[str, Any]] | None = None,
        deps: Any = None,
        budget: Budget | None = None,
        on_event: Callable[[Event], Any] | None = None,
        journal: str | os.PathLike[str] | bool | None = None,
        signal: Signal | None = None,
    ) -> Result[Output]:
        """Runs the agent on `prompt`, in the caller's task.

        Args:
            prompt: Text, a block of `loopwright.messages`, a list of them, or a `Message`.
            messages: What was said before: `result.messages` of an earlier run, or a list of `Message`.
            deps: What tools get as `context.deps`.
            budget: What this run may use, instead of the agent's budget.
            on_event: Called with each event; answers are streamed then.
            journal: Where this run's journal goes: a file that ends in `.jsonl`, a folder, a store, or `True` for
                memory.
            signal: Ends the run from outside.

        Raises a `LoopwrightError` that carries the partial result if an error ended the run. Limits, refusals and
        interruptions raise nothing: `result.stop_reason` tells of them.
        """
        stream = self._stream(prompt, messages, deps, budget, journal, signal, watch=on_event is not None)
        return await _heard_out(stream, on_event)

    def run_sync(
        self,
        prompt: Content | Message | Sequence[Content],
        *,
        messages: Messages | Sequence[Message | Mapping[str, Any]] | None = None,
        deps: Any = None,
        budget: Budget | None = None,
        on_event: Callable[[Event], Any] | None = None,
        journal: str | os.PathLike[str] | bool | None = None,
        signal: Signal | None = None,
    ) -> Result[Output]:
        """`run` without asyncio: in scripts, threads, tests, and inside a notebook's running loop."""
        conversation = self._conversation(prompt, messages)
        limits = self._limits(prompt, budget)
        return self._driven(conversation, limits, deps, on_event, journal, signal, None)

    def _driven(
        self,
        conversation: _core.History | None,
        limits: Budget,
        deps: Any,
        on_event: Callable[[Event], Any] | None,
        journal: str | os.PathLike[str] | bool | None,  # noqa: FBT001 - a place, or `True` for memory
        signal: Signal | None,
        begin: Callable[[Plan], Begun] | None = None,
    ) -> Result[Output]:
        """Runs in the caller's thread, from a conversation or from where another run has come."""
        from ._driver import SyncDriver

        if inspect.iscoroutinefunction(on_event):
            message = "run_sync calls on_event without an event loop"
            raise UsageError(message, "invalid_callback", "give a plain function, or await run")
        watch = on_event is not None
        earlier: Result[Any] | None = None
        prompt_at = None if conversation is None else len(conversation) - 1
        driver: SyncDriver | None = None
        for attempt in range(_OUTPUT_ATTEMPTS):
            plan = self._plan(limits, stream=watch)
            place = self.journal if journal is None else journal
            begun = begin(plan) if begin is not None else self._begun(plan, place, attempt, conversation)
            begin = None
            run, path, name = begun.run, begun.path, begun.name
            driver = SyncDriver(plan, run, name, deps, watch=watch, after=driver)
            following = Following(self._remember, driver, prompt_at)
            try:
                with following, closing(driver.events(begun.start, signal)) as events:
                    for event in events:
                        if on_event is not None:
                            _heard(on_event(event))
            except LoopwrightError as error:
                self._explain(error, driver, run, plan, name, path, earlier)
                raise
            result, feedback = self._finish(driver.outcome, run, plan, name, path, earlier)
            _caused(result, driver)
            if feedback is None or attempt + 1 == _OUTPUT_ATTEMPTS:
                break
            conversation, limits = _once_more(result, earlier, feedback, limits)
            earlier = result
        self._reflect(result, deps)
        warned: list[Event] = [*following.end(result)]
        if on_event is not None:
            for event in [*warned, _last(driver, result)]:
                _heard(on_event(event))
        return cast("Result[Output]", _checked(result))

    def stream(
        self,
        prompt: Content | Message | Sequence[Content],
        *,
        messages: Messages | Sequence[Message | Mapping[str, Any]] | None = None,
        deps: Any = None,
        budget: Budget | None = None,
        journal: str | os.PathLike[str] | bool | None = None,
        signal: Signal | None = None,
    ) -> RunStream[Output]:
        """The events of a run as they happen; the run goes on while they are asked for.

        ::

            async for event in agent.stream("…"):
                match event:
                    case TextDelta(text=text):
                        print(text, end="")
                    case Reset():
                        print("(again)")
                    case RunFinished(result=result):
                        print(result.stop_reason)
        """
        return self._stream(prompt, messages, deps, budget, journal, signal, watch=True)

    def start(
        self,
        prompt: Content | Message | Sequence[Content],
        *,
        messages: Messages | Sequence[Message | Mapping[str, Any]] | None = None,
        deps: Any = None,
        budget: Budget | None = None,
        journal: str | os.PathLike[str] | bool | None = None,
        signal: Signal | None = None,
    ) -> RunHandle[Output]:
        """Starts a run that goes on by itself in the running event loop, and gives a handle of it.

        ::

            run = agent.start("…")
            run.pause()             # nothing new starts after what is under way
            run.resume()
            run.cancel()            # what was reached is the result
            result = await run
        """
        from .handle import RunHandle

        return RunHandle(self._stream(prompt, messages, deps, budget, journal, signal, watch=True))

    async def resume(
        self,
        journal: str | os.PathLike[str],
        run: str | None = None,
        *,
        deps: Any = None,
        on_event: Callable[[Event], Any] | None = None,
        signal: Signal | None = None,
    ) -> Result[Output]:
        """Goes on with a run that broke off, in its own journal, with the configuration it began with.

        Nothing that the journal holds is done again. A tool call whose start it holds and whose result it lacks runs
        again only if its tool is `idempotent`, or if a person who is asked (`approve`) says so; else the model is told
        that nobody knows whether it took effect.

        ::

            result = await agent.resume("runs/8f2c.jsonl")
            result = await agent.resume("project.db", run="8f2c")
            result = await agent.resume("8f2c")      # a run of .loopwright/journal.db or $LOOPWRIGHT_JOURNAL

        Raises `run_finished` if there is nothing to go on with, `journal_in_use` while another process runs it,
        `missing_tool` if the agent lacks a tool of the run. Where the journal is damaged, what stands before the damage
        counts, the file stays as it is, and the run goes on in a new one beside it (`result.journal`).
        """
        return await self._followed(resuming(journal, run), deps, on_event, signal)

    def resume_sync(
        self,
        journal: str | os.PathLike[str],
        run: str | None = None,
        *,
        deps: Any = None,
        on_event: Callable[[Event], Any] | None = None,
        signal: Signal | None = None,
    ) -> Result[Output]:
        """`resume` without asyncio."""
        return self._driven(None, self.budget, deps, on_event, None, signal, resuming(journal, run))

    async def fork(
        self,
        source: str | os.PathLike[str],
        at: int,
        *,
        run: str | None = None,
        prompt: Content | Message | Sequence[Content] | None = None,
        tool_result: str | None = None,
        deps: Any = None,
        on_event: Callable[[Event], Any] | None = None,
        journal: str | os.PathLike[str] | bool | None = None,
        signal: Signal | None = None,
    ) -> Result[Output]:
        """A new run that begins with the first `at` events of another one's journal and goes on from there.

        `run` names the run where `source` is a store.
        With `prompt` the messages so far are followed by another prompt; with `tool_result` the call that event `at`
        answers gave that instead; with another agent another model goes on. The other journal stays as it is.
        Tool calls that were under way at that event are treated as in `resume`.
        """
        place = self.journal if journal is None else journal
        begin = forking(source, at, place, prompt=prompt, result=tool_result, source_run=run)
        return await self._followed(begin, deps, on_event, signal)

    def fork_sync(
        self,
        source: str | os.PathLike[str],
        at: int,
        *,
        run: str | None = None,
        prompt: Content | Message | Sequence[Content] | None = None,
        tool_result: str | None = None,
        deps: Any = None,
        on_event: Callable[[Event], Any] | None = None,
        journal: str | os.PathLike[str] | bool | None = None,
        signal: Signal | None = None,
    ) -> Result[Output]:
        """`fork` without asyncio."""
        place = self.journal if journal is None else journal
        begin = forking(source, at, place, prompt=prompt, result=tool_result, source_run=run)
        return self._driven(None, self.budget, deps, on_event, None, signal, begin)

    async def _followed(
        self,
        begin: Callable[[Plan], Begun],
        deps: Any,
        on_event: Callable[[Event], Any] | None,
        signal: Signal | None,
    ) -> Result[Output]:
        watch = on_event is not None
        return await _heard_out(
            RunStream(self, None, deps, self.budget, None, signal, watch=watch, begin=begin), on_event
        )

    def _stream(
        self,
        prompt: Any,
        messages: Any,
        deps: Any,
        budget: Budget | None,
        journal: Any,
        signal: Signal | None,
        *,
        watch: bool,
    ) -> RunStream[Output]:
        conversation = self._conversation(prompt, messages)
        limits = self._limits(prompt, budget)
        place = self.journal if journal is None else journal
        return RunStream(self, conversation, deps, limits, place, signal, watch=watch)

    def _conversation(self, prompt: Any, messages: Any) -> _core.History:
        said = prompt_of(prompt)
        if not said.content or (isinstance(prompt, str) and not prompt.strip()):
            message = "the prompt is empty"
            raise UsageError(message, "empty_prompt", "say what the model shall do")
        if isinstance(messages, (str, bytes, dict)):
            message = f"messages are a list of messages, not {type(messages).__name__}"
            raise UsageError(message, "invalid_messages", "give result.messages of an earlier run")
        before = messages if isinstance(messages, Messages) else Messages(messages if messages is not None else ())
        return before._history.extended(f"[{said.to_json()}]")

    def _plan(self, budget: Budget, *, stream: bool) -> Plan:
        plan = self._plans.get((stream, budget))
        if plan is None:
            config = self._turn(budget, stream=stream)
            agents: dict[str, AgentPlan] = {}
            if self._agents:
                from .children import compose

                configs, agents = compose(self._agents, stream=stream, chains=self._chains)
                config["children"] = {"agents": configs, **self._limits_of_children()}
            machine = self._machine(config)
            tools = {tool.name: tool for tool in self.tools}
            plan = Plan(
                machine,
                self._endpoint,
                self._own_model,
                tools,
                self._approve,
                folders=self._folders,
                durable=self._durable,
                around=self._around,
                labels=self._labels,
                asked_model=self._config["model"],
                agents=agents,
                chains=self._chains,
                session=self._session(),
                hooks=self._hooks,
                chooser=self._chooser,
                chooses="choice" in self._config,
                new_endpoint=self._endpoint_at,
                remember=self._remember,
            )
            if self._escalate_to is not None:
                # What can't be reached is said before the run that needs it.
                plan.endpoint_of(self._escalate_to)
            if len(self._plans) > _KEPT_PLANS:
                self._plans.clear()
            self._plans[stream, budget] = plan
        return plan

    def _turn(self, budget: Budget, *, stream: bool) -> dict[str, Any]:
        """The configuration of its turns, sub-agents aside."""
        from dataclasses import asdict

        config = {**self._config, "stream": stream, "budget": asdict(budget)}
        config["tools"] = [
            {
                **tool.definition(),
                "schema": tool.schema,
                "risk": tool.risk,
                "read_only": tool.read_only,
                "timeout": tool.timeout,
                "max_output": tool.max_output,
            }
            for tool in self.tools
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
            return _checked_budget(budget)
        if self._complexity is None:
            return self.budget
        from dataclasses import replace

        return replace(self.budget, iterations=Budget.for_task(prompt_of(prompt), self._complexity).iterations)

    def _take_roles(self, roles: Roles | None, acting: Role | None, timeouts: Mapping[str, float] | None) -> None:
        """Who acts beside the agent's own model, and after it."""
        self.roles = roles
        self._chains: dict[str, Any] = {}
        if roles is not None or acting is not None:
            from .roles import resolved

            self._config["roles"], self._chains = resolved(roles, acting, dict(timeouts or {}))

    def _session(self) -> Any:
        """What the supervisor of earlier runs has released."""
        if self.roles is None:
            return None
        from .roles import session_of

        return session_of(self.roles)

    def _endpoint_at(self, model: str) -> _core.Endpoint:
        """The endpoint of another model: at the agent's own address if it is of the same provider."""
        base_url, api_key, headers, timeouts = self._reach()
        limits: dict[str, Any] = dict(timeouts or {})
        if self._endpoint is None or model.partition(":")[0] != self._endpoint.provider:
            return _core.Endpoint(model, **limits)
        pairs = list((headers or {}).items())
        return _core.Endpoint(model, base_url=base_url, api_key=api_key, headers=pairs, **limits)

    def _reflect(self, result: Result[Any], deps: Any) -> None:
        """The hooks after the answer: around the work that follows the turn, or alone; in the background."""
        if "pre_reflect" not in self._hooks and "post_reflect" not in self._hooks:
            return
        from .hooks._reflect import reflect, reflect_soon

        hooks = [hook for stage in self._hooks.values() for hook in stage]
        if self._remember is None or self._remember.after is None:
            reflect_soon(hooks, result, deps)
        else:
            around = lambda work: reflect(hooks, result, deps, work)  # noqa: E731
            self._remember.memory._after.surround(result.run_id, around)

    def _begun(self, plan: Plan, journal: Any, attempt: int, conversation: _core.History | None) -> Begun:
        """A run that begins."""
        name = run_id()
        run, path = new_run(plan, name, journal, attempt)
        return Begun(run, path, name, _core.Event.start(conversation if conversation is not None else []))

    def _machine(self, turn: dict[str, Any]) -> _core.MachineConfig:
        """The machine that runs, from the configuration of its turns."""
        return _core.MachineConfig.turn(json.dumps(turn))

    def _finish(
        self,
        outcome: dict[str, Any] | None,
        run: _core.Run,
        plan: Plan,
        name: str,
        path: str | None,
        earlier: Result[Any] | None,
    ) -> tuple[Result[Any], str | None]:
        """The result; and what the model should be told if its answer is not of the type."""
        assert outcome is not None, "a driver ends with an outcome"  # noqa: S101 - a fault of ours
        history = run.messages
        result = from_outcome(
            outcome,
            messages=history,
            run_id=name,
            model=plan.model_name,
            journal=path or run.journal,
            models={kind: model_name(each.endpoint, each.model) for kind, each in plan.agents.items()},
            noted=run.noted(),
        )
        if plan.session is not None:
            plan.session._add(result.roles.get("supervised", ()))
        if earlier is not None:
            result = added(earlier, result)
        error = error_of(outcome)
        feedback = None
        if self._output is not None and error is None:
            object.__setattr__(result, "output", None)
            if result.final is not None:
                from .tools import InvalidOutput

                try:
                    object.__setattr__(result, "output", self._output.parse(result.final))
                except InvalidOutput as invalid:
                    error, feedback = invalid, invalid.feedback
        if error is not None:
            error.result = result
            object.__setattr__(result, "error", error)
        return result, feedback

    def _explain(
        self,
        error: LoopwrightError,
        driver: Driver,
        run: _core.Run,
        plan: Plan,
        name: str,
        path: str | None,
        earlier: Result[Any] | None,
    ) -> None:
        """Gives an error that broke a run off what the run had reached."""
        if error.result is None and driver.outcome is not None:
            error.result = self._finish(driver.outcome, run, plan, name, path, earlier)[0]


class RunStream(Generic[Output]):
    """The events of a run. Iterate over it once; `result` is there when the iteration has ended.

    Whoever leaves the iteration early ends the run with `aclose`, or lets `async with` do it; `result` then holds what
    the run had reached.
    """

    def __init__(
        self,
        agent: Agent[Output],
        conversation: _core.History | None,
        deps: Any,
        budget: Budget,
        journal: Any,
        signal: Signal | None,
        *,
        watch: bool,
        begin: Callable[[Plan], Begun] | None = None,
    ) -> None:
        from .signal import Signal

        self._agent = agent
        self._conversation = conversation
        self._deps = deps
        self._budget = budget
        self._journal = journal
        self._signal = signal if signal is not None or not watch else Signal()
        self._watch = watch
        self._begin = begin
        self._result: Result[Any] | None = None
        self._driver: AsyncDriver | None = None
        self._path: str | None = None
        self._lines: str | None = None
        self._over = False
        self._events = self._run()

    @property
    def result(self) -> Result[Output]:
        """What the run gave."""
        if self._result is None:
            message = "the run has not ended"
            raise UsageError(message, "not_finished", "iterate over the stream to its end first")
        return cast("Result[Output]", self._result)

    def cancel(self) -> None:
        """End the run at once; its last events still come."""
        if self._signal is not None:
            self._signal.cancel()

    def interrupt(self) -> None:
        """End the run between two rounds."""
        if self._signal is not None:
            self._signal.interrupt()

    def pause(self) -> None:
        """Start nothing new after what is under way; the time of the run stands still then."""
        if self._signal is not None:
            self._signal.pause()

    def resume(self) -> None:
        """Go on after a pause."""
        if self._signal is not None:
            self._signal.resume()

    def leave(self) -> None:
        """Leaves the run as it is, for `Agent.resume`: iterating raises a `UsageError` with the code `suspended`."""
        if self._driver is not None:
            self._driver.interrupt_soon("leave")

    @property
    def state(self) -> str:
        """`running`, `pausing`, `paused` or `done`."""
        if self._driver is not None:
            return self._driver.run.state
        return "done" if self._over else "running"

    @property
    def journal(self) -> str | None:
        """Where the journal is, or its lines where it is kept in memory."""
        if self._path is not None:
            return self._path
        return self._lines if self._driver is None else self._driver.run.journal

    def events(self) -> AsyncIterator[Event]:
        """The events, each with the next `event_id`; the same as iterating over the stream itself."""
        return self._events

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events

    def __anext__(self) -> Awaitable[Event]:
        return self._events.__anext__()

    async def aclose(self) -> None:
        """Ends the run if it has not ended."""
        await self._events.aclose()  # type: ignore[attr-defined]

    async def __aenter__(self) -> RunStream[Output]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _run(self) -> AsyncIterator[Event]:
        from ._driver import AsyncDriver

        agent, conversation, limits = self._agent, self._conversation, self._budget
        earlier: Result[Any] | None = None
        prompt_at = None if conversation is None else len(conversation) - 1
        driver: AsyncDriver | None = None
        for attempt in range(_OUTPUT_ATTEMPTS):
            plan = agent._plan(limits, stream=self._watch)
            begin, self._begin = self._begin, None
            begun = begin(plan) if begin is not None else agent._begun(plan, self._journal, attempt, conversation)
            run, path, name = begun.run, begun.path, begun.name
            driver = AsyncDriver(plan, run, name, self._deps, watch=self._watch, after=driver)
            self._driver, self._path = driver, path
            following = Following(agent._remember, driver, prompt_at)
            batches = driver.batches(begun.start, self._signal)
            try:
                try:
                    with following:
                        async with aclosing(batches):
                            async for batch in batches:
                                for event in batch:
                                    yield event
                finally:
                    # Nobody is there to be paused any more, and the journal is not held.
                    self._driver, self._lines, self._over = None, run.journal, True
            except LoopwrightError as error:
                agent._explain(error, driver, run, plan, name, path, earlier)
                raise
            except BaseException:
                if driver.outcome is not None:
                    self._result = agent._finish(driver.outcome, run, plan, name, path, earlier)[0]
                raise
            result, feedback = agent._finish(driver.outcome, run, plan, name, path, earlier)
            _caused(result, driver)
            if feedback is None or attempt + 1 == _OUTPUT_ATTEMPTS:
                break
            conversation, limits = _once_more(result, earlier, feedback, limits)
            earlier = result
        agent._reflect(result, self._deps)
        warned: list[Event] = [*await following.aend(result)]
        self._result = result
        if self._watch:
            for event in [*warned, _last(driver, result)]:
                yield event
        _checked(result)


_KEPT_PLANS = 32


def _last(driver: Driver | None, result: Result[Any]) -> RunFinished:
    """The last event of a run."""
    event = RunFinished(result)
    if driver is not None:
        driver.numbered(event)
    return event


async def _heard_out(stream: RunStream[Output], on_event: Callable[[Event], Any] | None) -> Result[Output]:
    """The result of a stream, all of whose events were heard."""
    async with stream:
        async for event in stream:
            if on_event is not None:
                answer = on_event(event)
                if inspect.isawaitable(answer):
                    await answer
    return stream.result


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


def _taken_apart(model: Any, given: tuple[Any, ...]) -> tuple[Role | None, Any, tuple[Any, ...]]:
    """The role that a model is given as, if it is; the model itself, and its settings."""
    if isinstance(model, str) or not hasattr(model, "fallback"):
        return None, model, given
    from .roles import taken_apart

    return taken_apart(model, given)


def _checked(result: Result[Any]) -> Result[Any]:
    if result.error is not None:
        raise result.error
    return result


def _caused(result: Result[Any], driver: Driver) -> None:
    """An error that a hook has made says what the hook raised."""
    if result.error is not None and driver.hook_error is not None:
        result.error.__cause__ = driver.hook_error


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


def _once_more(
    result: Result[Any], earlier: Result[Any] | None, feedback: str, budget: Budget
) -> tuple[_core.History, Budget]:
    """The conversation with the feedback, and what the last attempt left of the budget."""
    from dataclasses import replace

    def spent(of: Callable[[Result[Any]], Any]) -> Any:
        return of(result) - (0 if earlier is None else of(earlier))

    messages = result.messages._history.extended(f"[{Message.user(feedback).to_json()}]")
    left = replace(
        budget,
        iterations=max(0, budget.iterations - spent(lambda result: result.rounds)),
        tool_rounds=max(0, budget.tool_rounds - spent(lambda result: result.tool_rounds)),
        wall_time=max(0.0, budget.wall_time - spent(lambda result: result.duration)),
        tokens=None if budget.tokens is None else max(0, budget.tokens - spent(lambda result: result.usage.total)),
        cost=None if budget.cost is None else max(0.0, budget.cost - spent(lambda result: result.cost or 0.0)),
    )
    return messages, left


def _checked_budget(budget: object) -> Budget:
    if isinstance(budget, Budget):
        return budget
    message = f"a budget is a Budget, not {type(budget).__name__}"
    raise UsageError(message, "invalid_budget", "give Budget(iterations=..., wall_time=..., ...)")


def _heard(answer: object) -> None:
    """What a plain `on_event` gave is nothing; a coroutine would never run, and nobody would know."""
    if inspect.isawaitable(answer):
        getattr(answer, "close", bool)()
        message = "run_sync calls on_event without an event loop, and it gave something to await"
        raise UsageError(message, "invalid_callback", "give a plain function, or await run")


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


def _price(endpoint: _core.Endpoint | None) -> dict[str, Any] | None:
    """What a model costs, where a table knows it."""
    if endpoint is None:
        return None
    from . import prices

    found = prices.of(f"{endpoint.provider}:{endpoint.model}")
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
