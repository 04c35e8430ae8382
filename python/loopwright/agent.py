"""`Agent`: a model, tools and a budget, and runs of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, overload

from ._continue import forking, resuming
from ._front import parts_of
from ._plan import model_name
from ._run_options import override
from ._running import Running
from ._stream import RunStream, _heard_out
from ._suspend import shown_by
from ._typed import Deps, NewOutput, Output
from ._words import also_called, options_of, takes_no_others
from .errors import UsageError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from typing_extensions import Self, TypeForm, Unpack

    from ._continue import OnDivergence
    from ._handoff import Handoff
    from ._instrument import Instrumentation
    from ._memory_policy import MemoryPolicy
    from ._model import ModelSettings
    from ._run_options import InstructionFunction, ModelLike, Place, Prompt, RunOptions, ToolLike
    from ._suspend import Answer
    from ._sync_stream import SyncStream
    from .after import Work
    from .budget import Budget
    from .children import SubAgent
    from .context import ContextPolicy
    from .guard._guard import Approve, Guard
    from .handle import RunHandle
    from .hooks import Hook, Hooks
    from .machine import Call, Command, MachineConfig, MachineEvent
    from .memory import Memory
    from .messages import Content, Message
    from .monitor import Monitor
    from .result import Result
    from .steps import RunIter

__all__ = ["Agent", "RunStream"]

_TEXT = str
"""The type of answers that are text."""
_NONE: ModelSettings = {}


@also_called(
    **dict.fromkeys(("invoke", "kickoff", "run_stream_sync"), "run_sync(...)"),
    **dict.fromkeys(("ainvoke", "arun"), "await run(...)"),
    **dict.fromkeys(("run_stream", "run_stream_events", "astream", "stream_events", "iter"), "stream(...)"),
    **dict.fromkeys(("tool_plain", "tool"), "@tool of loopwright, and Agent(tools=[...])"),
    **dict.fromkeys(("as_tool", "to_tool"), "Agent(agents=[...]) of the one that calls it"),
    no_real_requests="with loopwright.testing.no_real_requests():",
    bind_tools="Agent(tools=[...])",
    with_structured_output="Agent(output_type=...)",
    system_prompt="Agent(instructions=[function])",
    output_validator="a check in the output_type",
)
class Agent(Running[Deps, Output]):
    """A model with tools, instructions and a budget. It never changes: threads and tasks may share it.

    ::

        agent = Agent("anthropic:claude-sonnet-4-5", instructions="Be brief.", tools=[search])
        result = await agent.run("What changed since 1.2?")
        print(result.output, result.stop_reason, result.usage.total_tokens)

    A keyword that there is not is an `UnknownOption` (a `TypeError`, too) that gives the right word. What can't work is
    said when the agent is made; only keys are looked for when a run begins (`check` looks at once).

    Args:
        model: `provider:model`; a `Model`, which also says where it lives, how it is asked and who takes over; an
            object with a `respond` method (`Responds`); or a `loopwright.hooks.Router`, which chooses one for each run.
            Without one every run has to say it. The providers are in `docs/providers.md`; `offline:extractive` needs
            neither key nor network.
        instructions: Text; a function, sync or async, that takes a `RunContext` (or nothing) and gives text or `None`,
            asked before each request; or a list of both. What never changes comes first, so that the provider's cache
            holds.
        tools: Functions, or what `@tool` makes of them; toolsets, whose tools are listed when a run begins
            (`loopwright.mcp.http`, `loopwright.mcp.stdio`); and what the provider runs itself
            (`loopwright.tools.WebSearch`, `loopwright.tools.ProviderTool`).
        output_type: A type that the answer must have: a class, a list, a union or whatever else pydantic knows;
            `result.output` is then of that type. `Annotated[City, Output(attempts=2)]` says how it is asked for.
        deps_type: The type of what each run is given as `deps`, for type checkers: tools and instructions get it as
            `context.deps`.
        name: A name for people, and for the agent that has it as a sub-agent.
        description: What it is good for, where it serves another agent as a sub-agent.
        settings: Parameters of the requests: `temperature`, `max_tokens`, `effort`, `tool_choice`, … They go before
            those of a `Model`, and those of a run before them.
        budget: What a run may use.
        guard: What may run, who is asked, and the fence around commands: a `Guard`. A function that takes an `Approval`
            is a guard with the usual rest.
        context: How requests are held inside the model's window: a `ContextPolicy`, or the tokens that a request takes
            at most; `False` sends histories as they are. Without it the window is known by the model's name.
        memory: A `Memory`, the path of its file, or a `loopwright.memory.MemoryPolicy`, which also says how it is asked
            and what follows a turn.
        journal: Where the journals of runs go: a store (`Journal("project.db")`, or a path that ends in `.db`,
            `.sqlite` or `.sqlite3`), or a folder for a file of each run.
        agents: Sub-agents that the model may hand tasks to: `SubAgent`s, or agents with a `name`.
        handoffs: Agents that the model may hand the run over to, which go on with it: agents with a `name`, or
            `Handoff`s.
        hooks: Functions that are asked at stages of a run, or stand around its requests and calls: a list of `Hook` and
            `Hooks` (see `loopwright.hooks`).
        monitor: What its senses do: when repetition or too little success ends a run, when it pauses, who looks whether
            it is sane: a `Monitor`.
        instrument: Whether runs are traced by OpenTelemetry: an `Instrumentation`, `True` for the usual one, `False`
            for never. By default as `instrument_all` says.
    """

    if not TYPE_CHECKING:

        def __class_getitem__(cls, given: Any) -> Any:
            # The type of its output may be left out, as for type checkers.
            return super().__class_getitem__(given if isinstance(given, tuple) else (given, str))

    @takes_no_others("Agent")
    def __init__(
        self,
        model: ModelLike | None = None,
        *,
        instructions: str | InstructionFunction[Deps] | Sequence[str | InstructionFunction[Deps]] | None = None,
        tools: Sequence[ToolLike[Deps]] = (),
        output_type: TypeForm[Output] = _TEXT,  # type: ignore[assignment]
        deps_type: TypeForm[Deps] = None,  # type: ignore[assignment]  # noqa: RUF013
        name: str | None = None,
        description: str | None = None,
        settings: ModelSettings = _NONE,
        budget: Budget | None = None,
        guard: Guard | Approve | None = None,
        context: ContextPolicy | int | bool | None = None,
        memory: Memory | MemoryPolicy | str | os.PathLike[str] | None = None,
        journal: Place | None = None,
        agents: Sequence[SubAgent | Agent[Any, Any]] = (),
        handoffs: Sequence[Agent[Deps, Output] | Agent[None, Output] | Handoff[Deps, Output]] = (),
        hooks: Hook | Hooks | Sequence[Hook | Hooks] | None = None,
        monitor: Monitor | None = None,
        instrument: Instrumentation | bool | None = None,
    ) -> None:
        given = {
            "model": model,
            "instructions": instructions,
            "tools": tools if isinstance(tools, (str, bytes, dict)) or not hasattr(tools, "__iter__") else [*tools],
            "output_type": output_type,
            "deps_type": deps_type,
            "name": name,
            "description": description,
            "settings": settings,
            "budget": budget,
            "guard": guard,
            "context": context,
            "memory": memory,
            "journal": journal,
            "agents": agents,
            "handoffs": handoffs,
            "hooks": hooks,
            "monitor": monitor,
            "instrument": instrument,
        }
        # A function: whoever looks at an agent's parts sees no key.
        self._kept = lambda: given
        self._set_up(**parts_of(given))

    @overload
    def clone(self, *, output_type: TypeForm[NewOutput], **options: Any) -> Agent[Deps, NewOutput]: ...
    @overload
    def clone(self, **options: Any) -> Self: ...
    def clone(self, **options: Any) -> Any:
        """Another agent, which differs in these options of `Agent` alone."""
        from ._words import unknown

        for option in options:
            if option not in self._given:
                raise unknown("Agent", option, self._given)
        return self._changed(options)

    @takes_no_others("override")
    def override(
        self,
        *,
        model: ModelLike | None = None,
        tools: Sequence[ToolLike[Deps]] | None = None,
        instructions: str | InstructionFunction[Deps] | Sequence[str | InstructionFunction[Deps]] | None = None,
        settings: ModelSettings | None = None,
        deps: Any = None,
        everywhere: bool = False,
    ) -> AbstractContextManager[None]:
        """Another model, other tools, instructions, settings or deps for all runs that begin inside: for tests.

        ::

            with agent.override(model=ScriptedModel(["Hello."])):
                application.answer("Hi")

        It holds in this task and those it starts; `everywhere=True` holds in all threads. Sub-agents, and agents that a
        run is handed over to, get the model, too: one script for all of them. What is not given stays as it is.
        """
        given = {"model": model, "tools": tools, "instructions": instructions, "settings": settings, "deps": deps}
        changes = {name: value for name, value in given.items() if value is not None}
        return override(self, changes, everywhere=everywhere)

    def check(self) -> list[str]:
        """Looks at once for what a run would look for: raises `missing_key`, `missing_endpoint` or `missing_setting`
        with all models that lack one, fallbacks, roles, sub-agents and handoffs too. Gives what is not known of the
        model, in words: its price, its window.
        """
        self._keyed()
        return self._unknown()

    def machine(self, budget: Budget | None = None) -> MachineConfig:
        """What decides in its runs, for drivers of one's own and for engines that run it elsewhere: instructions,
        tools, limits and rules. It holds no key and no folder of this host, and is the same on each that makes the same
        agent.

        ::

            machine = TurnMachine(agent.machine(), run="order-17")
        """
        from .machine import apart_from_host, config_from_json

        limits = self.budget if budget is None else self._limits("", budget)
        return config_from_json(apart_from_host(self._plan(limits, stream=False).config.to_json()))

    async def carry_out(
        self,
        command: Command,
        call: Call | None = None,
        *,
        run_id: str = "run",
        deps: Any = None,
        journal: str = "",
    ) -> MachineEvent:
        """Carries out one command of a machine and gives the event that answers it: a request to a model, a call of a
        tool, hooks, a question to whoever approves. What fails is an event too, where the machine can decide about it.

        ::

            machine = TurnMachine(agent.machine(), run="order-17")
            for command in machine.step(MachineEvent.start(messages)):
                if command.kind == "generate":
                    event = await agent.carry_out(command, run_id="order-17")

        Args:
            command: What the machine wants. Timers and what it tells are for whoever drives it.
            call: Which call of an `execute` that has several; each is answered by an event of its own.
            run_id: The name of the run, which tools see.
            deps: What tools get as `context.deps`.
            journal: The lines of the run so far (`TurnMachine.take_journal`): by them it is known which sub-agent a
                command came from, and whether paths of a call lead elsewhere by links. Without them a command is one of
                the run's own.
        """
        from .durable._carry import carry_out

        self._keyed()
        plan = self._plan(self.budget, stream=False)
        return await carry_out(plan, command, call, run_id, deps, lambda: journal)

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

    def whom(self, user: str | None = None, session: str | None = None) -> Agent[Deps, Output]:
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

    @overload
    async def run(
        self: Agent[None, Output], prompt: Prompt, *, deps: None = None, **options: Unpack[RunOptions[None]]
    ) -> Result[Output]: ...
    @overload
    async def run(self, prompt: Prompt, *, deps: Deps, **options: Unpack[RunOptions[Deps]]) -> Result[Output]: ...
    async def run(self, prompt: Prompt, *, deps: Any = None, **options: Any) -> Result[Output]:
        """Runs the agent on `prompt`, in the caller's task.

        Args:
            prompt: Text, a block of `loopwright.messages`, a list of them, or a `Message`.
            deps: What tools and instructions get as `context.deps`.
            options: `RunOptions`: `messages` (what was said before), `model`, `instructions`, `tools`, `settings`,
                `budget`, `approve`, `journal`, `session`, `user`, `metadata`, `on_event`, `signal`, `run_id`, `seed`.

        Raises a `LoopwrightError` that carries the partial result if an error ended the run. Limits, refusals and
        interruptions raise nothing: `result.stop_reason` tells of them.
        """
        on_event = options.pop("on_event", None)
        return await _heard_out(self._stream("run", prompt, deps, options, watch=on_event is not None), on_event)

    @overload
    def run_sync(
        self: Agent[None, Output], prompt: Prompt, *, deps: None = None, **options: Unpack[RunOptions[None]]
    ) -> Result[Output]: ...
    @overload
    def run_sync(self, prompt: Prompt, *, deps: Deps, **options: Unpack[RunOptions[Deps]]) -> Result[Output]: ...
    def run_sync(self, prompt: Prompt, *, deps: Any = None, **options: Any) -> Result[Output]:
        """`run` without asyncio: in scripts, threads, tests, and inside a notebook's running loop."""
        return self._run_sync(prompt, deps, options)

    @overload
    def stream(
        self: Agent[None, Output], prompt: Prompt, *, deps: None = None, **options: Unpack[RunOptions[None]]
    ) -> RunStream[Output]: ...
    @overload
    def stream(self, prompt: Prompt, *, deps: Deps, **options: Unpack[RunOptions[Deps]]) -> RunStream[Output]: ...
    def stream(self, prompt: Prompt, *, deps: Any = None, **options: Any) -> RunStream[Output]:
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
        return self._stream("stream", prompt, deps, options, watch=True)

    @overload
    def stream_sync(
        self: Agent[None, Output], prompt: Prompt, *, deps: None = None, **options: Unpack[RunOptions[None]]
    ) -> SyncStream[Output]: ...
    @overload
    def stream_sync(self, prompt: Prompt, *, deps: Deps, **options: Unpack[RunOptions[Deps]]) -> SyncStream[Output]: ...
    def stream_sync(self, prompt: Prompt, *, deps: Any = None, **options: Any) -> SyncStream[Output]:
        """`stream` without asyncio: in scripts, threads, tests, and inside a notebook's running loop.

        ::

            with agent.stream_sync("…") as stream:
                for text in stream.text():
                    print(text)
            print(stream.result.usage.total_tokens)
        """
        return self._stream_sync(prompt, deps, options)

    @overload
    def start(
        self: Agent[None, Output], prompt: Prompt, *, deps: None = None, **options: Unpack[RunOptions[None]]
    ) -> RunHandle[Output]: ...
    @overload
    def start(self, prompt: Prompt, *, deps: Deps, **options: Unpack[RunOptions[Deps]]) -> RunHandle[Output]: ...
    def start(self, prompt: Prompt, *, deps: Any = None, **options: Any) -> RunHandle[Output]:
        """Starts a run that goes on by itself in the running event loop, and gives a handle of it.

        ::

            run = agent.start("…")
            run.pause()             # nothing new starts after what is under way
            run.resume()
            run.cancel()            # what was reached is the result
            result = await run
        """
        from .handle import RunHandle

        return RunHandle(self._stream("start", prompt, deps, options, watch=True))

    @overload
    def iter(
        self: Agent[None, Output], prompt: Prompt, *, deps: None = None, **options: Unpack[RunOptions[None]]
    ) -> RunIter[Output]: ...
    @overload
    def iter(self, prompt: Prompt, *, deps: Deps, **options: Unpack[RunOptions[Deps]]) -> RunIter[Output]: ...
    def iter(self, prompt: Prompt, *, deps: Any = None, **options: Any) -> RunIter[Output]:
        """A run step by step: what the model answered, each call before it runs, the end.

        ::

            async with agent.iter("…") as run:
                async for step in run:
                    if step.type == "tool" and step.name == "delete":
                        step.deny("nothing is deleted today")
                    elif step.type == "end":
                        print(step.result.output)
        """
        from .steps import RunIter

        return RunIter(self._stream("iter", prompt, deps, options, watch=True))

    @overload
    async def resume(
        self: Agent[None, Output],
        source: Result[Any] | str | os.PathLike[str],
        answers: Mapping[str, Answer] | None = None,
        *,
        run: str | None = None,
        answer: Content | Message | Sequence[Content] | None = None,
        on_divergence: OnDivergence = "error",
        deps: None = None,
        **options: Unpack[RunOptions[None]],
    ) -> Result[Output]: ...
    @overload
    async def resume(
        self,
        source: Result[Any] | str | os.PathLike[str],
        answers: Mapping[str, Answer] | None = None,
        *,
        run: str | None = None,
        answer: Content | Message | Sequence[Content] | None = None,
        on_divergence: OnDivergence = "error",
        deps: Deps,
        **options: Unpack[RunOptions[Deps]],
    ) -> Result[Output]: ...
    async def resume(
        self,
        source: Result[Any] | str | os.PathLike[str],
        answers: Mapping[str, Answer] | None = None,
        *,
        run: str | None = None,
        answer: Content | Message | Sequence[Content] | None = None,
        on_divergence: OnDivergence = "error",
        deps: Any = None,
        **options: Any,
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
            result = await agent.resume(result, {result.pending[0].call_id: True})

        With `answers` a run goes on that was left while a person decides (`Guard(approve="suspend")`), in any process.
        By the `call_id` of each of `result.pending` they are `True`, `False`, the reason of a no, or `Edit({...})` with
        other arguments. Calls without an answer are asked about as the agent's guard says; with `"suspend"` the run is
        left again. Raises `no_such_call` for an answer that it does not wait for.

        With an `answer` a run goes on that has ended: it asked something, paused for a check-in or a check of its
        sanity, went round in circles or met a limit (`result.message` says which). It goes on with all messages and
        the answer, as a new run with a budget of its own, in a journal beside the old one. With another `budget` and
        no answer it is told to go on.

        A version whose rules decide otherwise than the one that wrote the journal raises `journal_diverged`, with the
        event and the reason. With `on_divergence="fork"` the run goes on from that event under the rules of this
        version, in a new journal beside the old one (`result.journal`), which stays as it is; tool calls that the old
        one holds behind that event are not made again.

        Raises `run_finished` if there is nothing to go on with, `run_not_ended` if it waits for no answer,
        `journal_in_use` while another process runs it, `missing_tool` if the agent lacks a tool of the run,
        `other_model` if it has another model. Where the journal is damaged, what stands before the damage counts, the
        file stays as it is, and the run goes on in a new one beside it (`result.journal`).
        """
        shown = shown_by(source)
        more = options.get("budget") is not None
        begin = partial(resuming, on_divergence=on_divergence, answer=answer, answers=answers, shown=shown, more=more)
        return await self._gone_on("resume", begin, source, run, deps, options)

    @overload
    def resume_sync(
        self: Agent[None, Output],
        source: Result[Any] | str | os.PathLike[str],
        answers: Mapping[str, Answer] | None = None,
        *,
        run: str | None = None,
        answer: Content | Message | Sequence[Content] | None = None,
        on_divergence: OnDivergence = "error",
        deps: None = None,
        **options: Unpack[RunOptions[None]],
    ) -> Result[Output]: ...
    @overload
    def resume_sync(
        self,
        source: Result[Any] | str | os.PathLike[str],
        answers: Mapping[str, Answer] | None = None,
        *,
        run: str | None = None,
        answer: Content | Message | Sequence[Content] | None = None,
        on_divergence: OnDivergence = "error",
        deps: Deps,
        **options: Unpack[RunOptions[Deps]],
    ) -> Result[Output]: ...
    def resume_sync(
        self,
        source: Result[Any] | str | os.PathLike[str],
        answers: Mapping[str, Answer] | None = None,
        *,
        run: str | None = None,
        answer: Content | Message | Sequence[Content] | None = None,
        on_divergence: OnDivergence = "error",
        deps: Any = None,
        **options: Any,
    ) -> Result[Output]:
        """`resume` without asyncio."""
        shown = shown_by(source)
        more = options.get("budget") is not None
        begin = partial(resuming, on_divergence=on_divergence, answer=answer, answers=answers, shown=shown, more=more)
        return self._gone_on_sync("resume_sync", begin, source, run, deps, options)

    @overload
    async def fork(
        self: Agent[None, Output],
        source: Result[Any] | str | os.PathLike[str],
        at: int,
        *,
        run: str | None = None,
        prompt: Content | Message | Sequence[Content] | None = None,
        tool_result: str | None = None,
        deps: None = None,
        **options: Unpack[RunOptions[None]],
    ) -> Result[Output]: ...
    @overload
    async def fork(
        self,
        source: Result[Any] | str | os.PathLike[str],
        at: int,
        *,
        run: str | None = None,
        prompt: Content | Message | Sequence[Content] | None = None,
        tool_result: str | None = None,
        deps: Deps,
        **options: Unpack[RunOptions[Deps]],
    ) -> Result[Output]: ...
    async def fork(
        self,
        source: Result[Any] | str | os.PathLike[str],
        at: int,
        *,
        run: str | None = None,
        prompt: Content | Message | Sequence[Content] | None = None,
        tool_result: str | None = None,
        deps: Any = None,
        **options: Any,
    ) -> Result[Output]:
        """A new run that begins with the first `at` events of another one's journal and goes on from there.

        `run` names the run where `source` is a store.
        With `prompt` the messages so far are followed by another prompt; with `tool_result` the call that event `at`
        answers gave that instead; with another agent another model goes on. The other journal stays as it is.
        Tool calls that were under way at that event are treated as in `resume`.
        """
        begin = self._forking(at, prompt, tool_result, options)
        return await self._gone_on("fork", begin, source, run, deps, options)

    @overload
    def fork_sync(
        self: Agent[None, Output],
        source: Result[Any] | str | os.PathLike[str],
        at: int,
        *,
        run: str | None = None,
        prompt: Content | Message | Sequence[Content] | None = None,
        tool_result: str | None = None,
        deps: None = None,
        **options: Unpack[RunOptions[None]],
    ) -> Result[Output]: ...
    @overload
    def fork_sync(
        self,
        source: Result[Any] | str | os.PathLike[str],
        at: int,
        *,
        run: str | None = None,
        prompt: Content | Message | Sequence[Content] | None = None,
        tool_result: str | None = None,
        deps: Deps,
        **options: Unpack[RunOptions[Deps]],
    ) -> Result[Output]: ...
    def fork_sync(
        self,
        source: Result[Any] | str | os.PathLike[str],
        at: int,
        *,
        run: str | None = None,
        prompt: Content | Message | Sequence[Content] | None = None,
        tool_result: str | None = None,
        deps: Any = None,
        **options: Any,
    ) -> Result[Output]:
        """`fork` without asyncio."""
        begin = self._forking(at, prompt, tool_result, options)
        return self._gone_on_sync("fork_sync", begin, source, run, deps, options)

    def _forking(self, at: int, prompt: Any, tool_result: str | None, options: Mapping[str, Any]) -> Any:
        place = self.journal if options.get("journal") is None else options["journal"]

        def begin(source: Any, run: str | None) -> Any:
            given = options.get("budget") is not None
            return forking(source, at, place, prompt=prompt, result=tool_result, source_run=run, budget=given)

        return begin

    def __reduce__(self) -> tuple[Any, ...]:
        if type(self).__reduce__ is Agent.__reduce__ and type(self) is not Agent:
            message = f"a {type(self).__name__} can't be pickled"
            raise TypeError(message)
        whom = None if self._remember is None else (self._remember.user, self._remember.session)
        return (_again, (self._given, whom))

    def __copy__(self) -> Self:
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __deepcopy__(self, _: Any) -> Self:
        # Nothing of it changes.
        return self


def _again(given: dict[str, Any], whom: tuple[Any, Any] | None) -> Agent[Any, Any]:
    made: Agent[Any, Any] = Agent(**given)
    return made if whom is None else made.whom(*whom)


OPTIONS = options_of(Agent.__init__)
"""The names of an agent's options."""
