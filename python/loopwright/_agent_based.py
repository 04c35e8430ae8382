"""What `Grounded` and `Research` share: an agent asks within them, whose options and words are theirs."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar

from ._run_options import taken, varied
from ._words import takes_no_others
from .agent import OPTIONS
from .errors import UsageError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from typing_extensions import Self, Unpack

    from ._continue import OnDivergence
    from ._instrument import Instrumentation
    from ._model import ModelSettings
    from ._run_options import InstructionFunction, ModelLike, Place, RunOptions, ToolLike
    from ._suspend import Answer
    from .agent import Agent
    from .budget import Budget
    from .children import SubAgent
    from .context import ContextPolicy
    from .guard._guard import Approve, Guard
    from .hooks import Hook, Hooks
    from .messages import Content, Message
    from .monitor import Monitor
    from .result import Result
    from .tools import ToolSet

    class AgentOptions(TypedDict, total=False):
        """The options that are those of an `Agent`."""

        instructions: str | InstructionFunction[Any] | Sequence[str | InstructionFunction[Any]] | None
        deps_type: Any
        name: str | None
        description: str | None
        settings: ModelSettings
        budget: Budget | None
        guard: Guard | Approve | None
        context: ContextPolicy | int | bool | None
        journal: Place | None
        agents: Sequence[SubAgent | Agent[Any, Any]]
        hooks: Hook | Hooks | Sequence[Hook | Hooks] | None
        monitor: Monitor | None
        instrument: Instrumentation | bool | None

else:

    class AgentOptions(TypedDict, total=False):
        """The options that are those of an `Agent`."""


__all__ = ["AgentBased", "AgentOptions", "keeps_options"]

Found = TypeVar("Found")
"""What a run gives."""
Function = TypeVar("Function", bound="Callable[..., Any]")
_REFUSED = {
    "output_type": ("has no output_type", "use Agent for typed output"),
    "handoffs": ("does not hand its run over", "give the handoffs to an Agent that has it as a tool"),
    "session": ("goes on with no session", "give the messages of an earlier run"),
    "after": ("is not remembered", "Agent remembers; Memory.remember keeps what you like"),
}
"""Options that are an agent's alone, each with why, and what to do."""


def keeps_options(whose: str, *refused: str) -> Callable[[Function], Function]:
    """Decorates an `__init__`: a keyword that there is not is an `UnknownOption`, one of an agent's alone is refused,
    and all that it was given is kept, for `clone` and for copies.
    """

    def decorate(init: Function) -> Function:
        checked = takes_no_others(whose, (*OPTIONS, *_REFUSED, *refused))(init)

        @functools.wraps(init)
        def begin(self: Any, *values: Any, **options: Any) -> None:
            _refuse(whose, options, (*_REFUSED, *refused))
            # What can be read once is read as far as the checks do: it may have no end.
            once = {name: itertools.tee(each) for name, each in options.items() if isinstance(each, Iterator)}
            checked(self, *values, **{**options, **{name: copies[0] for name, copies in once.items()}})
            given = {**options, **{name: [*copies[1]] for name, copies in once.items()}}
            # A function: whoever looks at its parts sees no key.
            self._kept = lambda: {**dict(zip(("model",), values, strict=False)), **given}

        return begin  # type: ignore[return-value]

    return decorate


def _refuse(whose: str, given: Mapping[str, Any], refused: Sequence[str]) -> None:
    for name in refused:
        if given.get(name):
            why, hint = _REFUSED.get(name, (f"takes no {name}", "use Agent"))
            code = "invalid_handoff" if name == "handoffs" else "invalid_option"
            raise UsageError(f"{name} is for an Agent: a {whose} {why}", code, hint)


class AgentBased(Generic[Found]):
    """What asks by an agent of its own."""

    _agent: Any
    _kept: Callable[[], dict[str, Any]]
    _metadata: Mapping[str, Any] | None = None
    _without: tuple[str, ...] = ("session",)
    """Options of a run that it does not take."""

    def clone(self, **options: Any) -> Self:
        """Another one, which differs in these options alone."""
        other = type(self)(**{**self._kept(), **options})
        if self._metadata is not None:
            other.about(self._metadata)
        return other

    @takes_no_others("override")
    def override(
        self,
        *,
        model: ModelLike | None = None,
        tools: Sequence[ToolLike[Any]] | None = None,
        instructions: str | InstructionFunction[Any] | Sequence[str | InstructionFunction[Any]] | None = None,
        settings: ModelSettings | None = None,
        deps: Any = None,
        everywhere: bool = False,
    ) -> AbstractContextManager[None]:
        """Another model, other tools, instructions, settings or deps for all runs that begin inside: for tests. See
        `Agent.override`; a judge is asked nothing where the model is another one.
        """
        return self._agent.override(  # type: ignore[no-any-return]
            model=model, tools=tools, instructions=instructions, settings=settings, deps=deps, everywhere=everywhere
        )

    def check(self) -> list[str]:
        """Looks at once for what a run would look for; see `Agent.check`."""
        return varied(self._agent, {}).check()  # type: ignore[no-any-return]

    @property
    def model(self) -> str:
        """How the model is shown; never holds a key."""
        return self._agent.model  # type: ignore[no-any-return]

    @property
    def tools(self) -> ToolSet:
        """The tools."""
        return self._agent.tools  # type: ignore[no-any-return]

    @property
    def budget(self) -> Budget:
        """What a run may use."""
        return self._agent.budget  # type: ignore[no-any-return]

    def about(self, metadata: Mapping[str, Any]) -> None:
        """What the first line of each journal says from now on about whose run it is; anything that JSON can hold."""
        self._agent, self._metadata = varied(self._agent, {"metadata": metadata}), metadata

    async def resume(
        self,
        source: Result[Any] | str | os.PathLike[str],
        answers: Mapping[str, Answer] | None = None,
        *,
        run: str | None = None,
        answer: Content | Message | Sequence[Content] | None = None,
        on_divergence: OnDivergence = "error",
        deps: Any = None,
        **options: Unpack[RunOptions[Any]],
    ) -> Found:
        """Goes on with a run that broke off; see `Agent.resume`."""
        self._check("resume", options)
        told: Any = {"run": run, "answer": answer, "on_divergence": on_divergence, "deps": deps, **options}
        return await self._agent.resume(source, answers, **told)  # type: ignore[no-any-return]

    def resume_sync(
        self,
        source: Result[Any] | str | os.PathLike[str],
        answers: Mapping[str, Answer] | None = None,
        *,
        run: str | None = None,
        answer: Content | Message | Sequence[Content] | None = None,
        on_divergence: OnDivergence = "error",
        deps: Any = None,
        **options: Unpack[RunOptions[Any]],
    ) -> Found:
        """`resume` without asyncio."""
        self._check("resume_sync", options)
        told: Any = {"run": run, "answer": answer, "on_divergence": on_divergence, "deps": deps, **options}
        return self._agent.resume_sync(source, answers, **told)  # type: ignore[no-any-return]

    async def fork(
        self,
        source: Result[Any] | str | os.PathLike[str],
        at: int,
        *,
        run: str | None = None,
        prompt: Content | Message | Sequence[Content] | None = None,
        tool_result: str | None = None,
        deps: Any = None,
        **options: Unpack[RunOptions[Any]],
    ) -> Found:
        """A new run that begins as another one did; see `Agent.fork`."""
        self._check("fork", options)
        told: Any = {"run": run, "prompt": prompt, "tool_result": tool_result, "deps": deps, **options}
        return await self._agent.fork(source, at, **told)  # type: ignore[no-any-return]

    def fork_sync(
        self,
        source: Result[Any] | str | os.PathLike[str],
        at: int,
        *,
        run: str | None = None,
        prompt: Content | Message | Sequence[Content] | None = None,
        tool_result: str | None = None,
        deps: Any = None,
        **options: Unpack[RunOptions[Any]],
    ) -> Found:
        """`fork` without asyncio."""
        self._check("fork_sync", options)
        told: Any = {"run": run, "prompt": prompt, "tool_result": tool_result, "deps": deps, **options}
        return self._agent.fork_sync(source, at, **told)  # type: ignore[no-any-return]

    def _check(self, whose: str, options: Mapping[str, Any]) -> None:
        """Raises a `UsageError` for what such a run does not take."""
        taken(whose, options, *self._without)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self._kept(), self._metadata)

    def __deepcopy__(self, _: Any) -> Self:
        return self.clone()


def _again(kind: type[Any], given: dict[str, Any], metadata: Mapping[str, Any] | None) -> Any:
    made = kind(**given)
    if metadata is not None:
        made.about(metadata)
    return made
