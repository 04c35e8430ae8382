"""`Agent`: a model, tools and a budget, and runs of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

from ._continue import forking, resuming
from ._instrument import checked
from ._plan import model_name
from ._remember import recall_config, remembering
from ._running import Running
from ._setup import (
    _approver,
    _asked,
    _bounded,
    _checked_budget,
    _context,
    _further,
    _guard_of,
    _homes,
    _lives,
    _plain,
    _price,
    _provided,
    _tool_choice,
    _tool_format,
    _total,
    _usual_budget,
)
from ._stream import RunStream, _heard_out
from ._typed import Output
from .errors import UsageError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from typing_extensions import TypeForm

    from ._approval import Approval
    from ._continue import OnDivergence
    from ._instrument import Instrumentation
    from ._model import Model
    from ._sync_stream import SyncStream
    from .after import AfterTurn, Work
    from .budget import Budget
    from .children import SubAgent
    from .context import ContextPolicy
    from .events import Event
    from .guard import Approvals, Guard, Policy
    from .handle import RunHandle
    from .hooks import Hook, Hooks, ModelChoice, ModelContext
    from .memory import Memory
    from .messages import Content, Message
    from .models import Responds
    from .result import Messages, Result
    from .roles import Role, Roles
    from .senses import MomentumPolicy, Monitor, StuckPolicy
    from .signal import Signal
    from .tools import Tool
    from .tools._sets import Toolset

__all__ = ["Agent", "RunStream"]

_TEXT = cast("type[str]", None)
"""No type of answers: an agent whose answers are text, for type checkers too."""


class Agent(Running[Output]):
    """A model with tools, instructions and a budget.

    ::

        agent = Agent("anthropic:claude-sonnet-4-5", tools=[search], system="Be brief.")
        result = await agent.run("What changed since 1.2?")
        print(result.final, result.stop_reason, result.usage.total_tokens)

    Args:
        model: `provider:model`; a `Model`, which also says where it lives, how it is asked and who takes over; an
            object with a `respond` method (`Responds`); or a `loopwright.roles.Role` of one of them. The providers are
            in `docs/providers.md`; `offline:extractive` needs neither key nor network.
        tools: Functions, or what `@tool` makes of them; and toolsets, whose tools are listed when a run begins
            (`loopwright.mcp.http`, `loopwright.mcp.stdio`).
        system: Instructions.
        budget: What a run may use.
        output_type: A type that the answer must have: a class, a list, a union or whatever else pydantic knows;
            `result.output` is then of that type. Left out, answers are text.
        base_url: Another server than the provider's own. This and what else says where the model lives is said here or
            at its `Model`: an error where both say different things.
        api_key: The key, or a function that gives it before each request; otherwise the environment has it
            (`ANTHROPIC_API_KEY`, `OPENAI_API_KEY`, …).
        headers: Headers to add.
        approve: Who is asked before a call at or above `confirm` runs: a function, sync or async, that takes an
            `Approval` and gives `True`, `False`, `"abort"`, or a reason why not. Without one the answer is no.
        provider_tools: Tools that the provider runs, in its own form: dicts with their `type`.
        web_search: The provider's own web search: `True`, or its settings (`max_uses`, `allowed_domains`,
            `blocked_domains`).
        max_tokens: Tokens of one answer. This and the settings below go before those of a `Model`.
        temperature: Sampling temperature.
        top_p: Nucleus sampling.
        stop: Stop sequences.
        effort: How hard to think: `"low"`, `"medium"` or `"high"`.
        tool_choice: `"auto"`, `"none"`, `"any"`, or the name of a tool, for the first request.
        tool_format: How the model calls tools. `"native"`, the default, is the provider's own way. `"text"` is for
            models without one: they are told to write calls as text, in the dialect they know
            (`loopwright.dialect_for`), else in Hermes'. Or the name of a dialect (`loopwright.extraction.dialects`).
        read_markup: Whether calls that a model writes into its text run although it has tool calls of its own. By
            default only those of a model of your own, an object, do. With a `tool_format` they are always read. A call
            that stands in what the model was shown (a result, a page, a memory, the user's message) is a quotation and
            stays text, as one in quotes does.
        cache: Whether the provider is asked to cache the prompt's prefix; by default it is. `"1h"`: for an hour, where
            it can. `False` asks for nothing: a provider that caches by itself, as OpenAI and Gemini do, goes on.
        timeouts: Seconds for `connect`, `first_byte`, `idle` and `total` (90 for one request).
        retry: `attempts`, `base`, `cap`, `longest_retry_after`, `after_output`.
        policy: What may run: a `loopwright.guard.Policy`, or the path of its TOML file. Without one the built-in rules
            hold. Forbidden calls never run, whoever says so.
        guard: A `loopwright.guard.Guard`: what this page says of `approve`, `policy`, `approvals`, `cautious`,
            `workspace` and `approval_timeout`, said in one place, `sandbox`, the fence around commands, and
            `commands`, what programs do that the guard does not know.
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
        monitor: What the run does with what its senses say: a `Monitor`; `Monitor(intent="act")` lets it ask first and
            tell the model how the request is best taken up, `Monitor(intent="off")` looks at no words.
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
            words of each prompt. It sets the budget's `rounds`.
        labels: What the first line of each journal says about whose run it is; anything that JSON can hold.
        roles: Models and rules beside the one that acts: a `loopwright.roles.Roles`.
        hooks: Functions that are asked at stages of a run: a list of `Hook` and `Hooks` (see `loopwright.hooks`).
        choose_model: Who chooses the model of a run, before its first request: a function, sync or async, that takes a
            `ModelContext` and gives a `ModelChoice`, a name or `None`; or a `ModelChoice` for all runs.
        take_suggestions: Whether a choice that is not sure enough to be enforced, but is a suggestion, holds too.
        escalate_to: The model that goes on, once, where too little succeeds: `provider:model`, or a `Model`.
        wind_down: From so many tool rounds left on the model is told of them, the plainer the fewer; with none left it
            is told to answer.
        memory: A `loopwright.Memory`, or the path of its file. What it knows of a prompt stands before the
            conversation, fenced as data; what follows a turn is kept in the background (`after`).
        user: Whose memories are recalled and kept, beside those that are everybody's.
        session: The session that is kept; by default that of the memory.
        recall: How memory is asked: `hits` (5), `characters` of each (400), `timeout` in seconds (5); `False` for
            never.
        after: What follows a turn: a `loopwright.after.AfterTurn`, or `False` for nothing.
        instrument: Whether runs are traced by OpenTelemetry: an `Instrumentation`, `True` for the usual one, `False`
            for never. By default as `instrument_all` says.
    """

    def __init__(
        self,
        model: str | Model | Responds | Role,
        *,
        tools: Iterable[Tool[..., Any] | Toolset | Callable[..., Any]] = (),
        system: str | None = None,
        budget: Budget | None = None,
        output_type: TypeForm[Output] = _TEXT,  # type: ignore[assignment]
        base_url: str | None = None,
        api_key: str | Callable[[], str] | None = None,
        headers: Mapping[str, str] | None = None,
        approve: Callable[[Approval], Any] | None = None,
        guard: Guard | None = None,
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
        tool_format: str | None = None,
        read_markup: bool | None = None,
        cache: bool | Literal["1h"] | None = None,
        timeouts: Mapping[str, float] | None = None,
        retry: Mapping[str, Any] | None = None,
        context: ContextPolicy | int | bool | None = None,
        stuck: StuckPolicy | bool | None = True,
        momentum: MomentumPolicy | bool | None = True,
        check_in: int | None = None,
        monitor: Monitor | None = None,
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
        escalate_to: str | Model | None = None,
        wind_down: int = 2,
        memory: Memory | str | os.PathLike[str] | None = None,
        user: str | None = None,
        session: str | None = None,
        recall: Mapping[str, Any] | bool = True,
        after: AfterTurn | bool | None = None,
        instrument: Instrumentation | bool | None = None,
    ) -> None:
        from . import _options
        from .guard._guard import asked_of_guard, decided_sandbox
        from .tools._sets import split

        judged: dict[str, Any] = {"approve": approve, "policy": policy, "approvals": approvals, "cautious": cautious}
        judged, sandbox, commands = asked_of_guard(
            guard, {**judged, "workspace": workspace, "approval_timeout": approval_timeout}
        )
        approve, policy, approvals, cautious, workspace, approval_timeout = judged.values()
        given = {
            "base_url": base_url,
            "api_key": api_key,
            "headers": headers,
            "price": price,
            "timeouts": timeouts,
            "retry": retry,
            "escalate_to": escalate_to,
            "tool_format": tool_format,
            "read_markup": read_markup,
            "max_tokens": max_tokens,
            "temperature": temperature,
            "top_p": top_p,
            "stop": stop,
            "effort": effort,
            "tool_choice": tool_choice,
            "cache": cache,
        }
        acting, model, asked = _asked(model, roles, given)
        timeouts = _total(asked["timeouts"], acting)
        _options.check(
            system=system,
            approve=approve,
            approvals=approvals,
            cautious=cautious,
            workspace=workspace,
            check_in=check_in,
            monitor=monitor,
            approval_timeout=approval_timeout,
            seed=seed,
            name=name,
            description=description,
            max_children=max_children,
            max_depth=max_depth,
            complexity=complexity,
            wind_down=wind_down,
            **_plain(asked, timeouts),
        )
        self.name = name
        self._instrument = checked(instrument)
        self._acting, self._said = acting, asked["said"]
        self._endpoint, self._own_model = _lives(model, asked, timeouts)
        usual = _usual_budget(self._endpoint)
        self.budget = _bounded(_checked_budget(budget) if budget is not None else usual, acting)
        self.journal = journal
        self.description, self._complexity = description, complexity
        self.tools, self._toolsets = split(tools)
        self._output = None
        if output_type is not None:
            from ._output import OutputType

            self._output = OutputType(output_type)
        if approval_timeout is None:
            approval_timeout = getattr(approvals, "timeout", 60.0)
        self._approve = _approver(approve, approvals)
        rules, self._around, fenced = _guard_of(
            self.tools, policy, cautious or ("run" if approvals is None else "intent"), workspace, commands
        )
        self._sandbox = decided_sandbox(sandbox, fenced)
        self._durable = durable
        self._labels = _options.labels(labels)
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
            "approval_timeout": approval_timeout,
            "guard": rules,
            "price": dict(asked["price"]) if asked["price"] else _price(self._endpoint),
            "seed": seed or 0,
            "wind_down": 2 if wind_down is None else wind_down,
        }
        homes = _homes(model, asked)
        held = _context(context, self._endpoint)
        if held is not None:
            self._config["context"] = held
        self._remember = remembering(memory, user, session, after, roles, homes)
        self._config |= recall_config(self._remember, recall)
        self._config["tool_format"] = _tool_format(asked["tool_format"], self._config["model"])
        if further := _further(asked, given):
            self._config["roles"] = {"acting": further}
        self._own_policy = policy is not None
        self._take_agents(agents, max_children, max_depth)
        self._take_toolsets()
        self._take_roles(roles, acting, timeouts, homes)
        # A function: whoever looks at an agent's parts sees no key.
        self._reach = lambda: {**asked, "timeouts": timeouts}
        self._take_hooks(hooks, choose_model, asked["escalate_to"], take_suggestions=take_suggestions)
        self._plans = {}
        # What can't work is said here, not in the middle of a program.
        self._plan(self.budget, stream=False)

    @property
    def model(self) -> str:
        """How the model is shown; never holds a key."""
        return model_name(self._endpoint, self._own_model)

    def __repr__(self) -> str:
        names = ", ".join([*self.tools.names, *(f"{each.name}: …" for each in self._toolsets)])
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

            async with agent.stream("…") as stream:
                async for event in stream:
                    match event.type:
                        case "text_delta":
                            print(event.text, end="")
                        case "reset":
                            print("(again)")
                        case "run_finished":
                            print(event.result.stop_reason)
        """
        return self._stream(prompt, messages, deps, budget, journal, signal, watch=True)

    def stream_sync(
        self,
        prompt: Content | Message | Sequence[Content],
        *,
        messages: Messages | Sequence[Message | Mapping[str, Any]] | None = None,
        deps: Any = None,
        budget: Budget | None = None,
        journal: str | os.PathLike[str] | bool | None = None,
        signal: Signal | None = None,
    ) -> SyncStream[Output]:
        """`stream` without asyncio: in scripts, threads, tests, and inside a notebook's running loop.

        ::

            with agent.stream_sync("…") as stream:
                for text in stream.text():
                    print(text)
            print(stream.result.usage.total_tokens)
        """
        return self._stream_sync(prompt, messages, deps, budget, journal, signal)

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
        answer: Content | Message | Sequence[Content] | None = None,
        on_divergence: OnDivergence = "error",
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
            result = await agent.resume("8f2c", answer="the second one")

        With an `answer` a run goes on that has ended: it asked something, paused for a check-in or a check of its
        sanity, went round in circles or met a limit (`result.message` says which). It goes on with all messages and
        the answer, as a new run with a budget of its own, in a journal beside the old one.

        A version whose rules decide otherwise than the one that wrote the journal raises `journal_diverged`, with the
        event and the reason. With `on_divergence="fork"` the run goes on from that event under the rules of this
        version, in a new journal beside the old one (`result.journal`), which stays as it is; tool calls that the old
        one holds behind that event are not made again.

        Raises `run_finished` if there is nothing to go on with, `run_not_ended` if it waits for no answer,
        `journal_in_use` while another process runs it, `missing_tool` if the agent lacks a tool of the run,
        `other_model` if it has another model. Where the journal is damaged, what stands before the damage counts, the
        file stays as it is, and the run goes on in a new one beside it (`result.journal`).
        """
        return await self._followed(resuming(journal, run, on_divergence, answer), deps, on_event, signal)

    def resume_sync(
        self,
        journal: str | os.PathLike[str],
        run: str | None = None,
        *,
        answer: Content | Message | Sequence[Content] | None = None,
        on_divergence: OnDivergence = "error",
        deps: Any = None,
        on_event: Callable[[Event], Any] | None = None,
        signal: Signal | None = None,
    ) -> Result[Output]:
        """`resume` without asyncio."""
        return self._driven(
            None, self.budget, deps, on_event, None, signal, resuming(journal, run, on_divergence, answer)
        )

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
