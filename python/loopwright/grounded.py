"""`Grounded`: answers that rest on sources, checked before anybody sees them as answers."""

from __future__ import annotations

import copy
import json
import os
from typing import TYPE_CHECKING, Any

from . import _core
from .agent import Agent, RunStream
from .errors import UsageError
from .result import Messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .budget import Budget
    from .events import Event
    from .messages import Message
    from .models import Model
    from .result import Result
    from .signal import Signal
    from .tools import Tool, ToolSet

__all__ = ["Grounded"]


class Grounded:
    """Answers questions from folders, a conversation and tools: gather, act, verify.

    ::

        docs = Grounded("anthropic:claude-sonnet-4-5", sources=["docs"])
        result = await docs.run("How often is a failed request retried?")
        if result.verified:
            print(result.final, *result.sources)
        else:
            print(result.message)

    An answer has to cite its sources, as `[path:line]`, `[n]` or `[tool_name]`; what it cites must exist, and hold the
    numbers that stand in it. An answer that fails goes back to the model with what is wrong, at most
    `budget.verify_attempts` times. All attempts share one budget.

    Args:
        model: As for `Agent`.
        sources: Folders or files to search.
        profile: The format of answers: `"plain"`, `"markdown"` or `"slack"`.
        tools: Functions, or what `@tool` makes of them; what they give counts as a source.
        gather: How much is read and handed on: `file_sources`, `per_file`, `source_chars`, `total_chars`,
            `thread_messages`, `extensions`, `max_files`, …
        lengths: How long answers usually are, in characters: `short`, `long`, `long_question`.
        options: All other options of `Agent`, but no `output_type`.
    """

    def __init__(
        self,
        model: str | Model,
        *,
        sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
        profile: str = "plain",
        tools: Iterable[Tool[..., Any] | Callable[..., Any]] = (),
        gather: Mapping[str, Any] | None = None,
        lengths: Mapping[str, int] | None = None,
        **options: Any,
    ) -> None:
        if options.get("output_type") is not None:
            message = "a grounded answer is text: it has no output_type"
            raise UsageError(message, "invalid_option", "use Agent for typed output")
        paths = [sources] if isinstance(sources, (str, os.PathLike)) else sources
        rules = {"profile": profile, "gather": dict(gather or {}), "lengths": dict(lengths or {})}
        folders = tuple(os.fspath(path) for path in paths)
        self._agent = _GroundedAgent(model, folders, rules, tools=tools, **options)

    @property
    def model(self) -> str:
        """How the model is shown; never holds a key."""
        return self._agent.model

    @property
    def sources(self) -> tuple[str, ...]:
        """The folders and files that are searched."""
        return self._agent.folders

    @property
    def tools(self) -> ToolSet:
        """The tools."""
        return self._agent.tools

    @property
    def budget(self) -> Budget:
        """What a run may use."""
        return self._agent.budget

    def __repr__(self) -> str:
        return f"<Grounded {self.model} sources={list(self.sources)}>"

    async def run(
        self,
        question: str,
        history: Messages | Sequence[Message | Mapping[str, Any] | str] | None = None,
        *,
        context: Mapping[str, str] | None = None,
        deps: Any = None,
        budget: Budget | None = None,
        on_event: Callable[[Event], Any] | None = None,
        journal: str | os.PathLike[str] | bool | None = None,
        signal: Signal | None = None,
    ) -> Result[str]:
        """Answers `question`, in the caller's task.

        Args:
            question: The question.
            history: What was said before: `result.messages` of an earlier run, messages in the canonical form, or
                plain texts. It is searched, too.
            context: Who asks, where, in which trace (`user`, `channel`, `thread`, `trace`, …): kept in the journal.
            deps: What tools get as `context.deps`.
            budget: What this run may use.
            on_event: Called with each event; drafts stream as `TextDelta` and come whole as `Draft`.
            journal: As for `Agent.run`.
            signal: Ends the run from outside.

        `result.final` is there only if it passed (`stop_reason` `"verified"`, or `"abstained"` where the answer is that
        the sources do not hold it). Otherwise `result.message` is for people and `result.best_draft` for whoever wants
        to see it. Raises a `LoopwrightError` with the partial result if an error ended the run, for instance
        `folder_not_found`.
        """
        return await self._for(context).run(
            question,
            messages=_messages(history),
            deps=deps,
            budget=budget,
            on_event=on_event,
            journal=journal,
            signal=signal,
        )

    def run_sync(
        self,
        question: str,
        history: Messages | Sequence[Message | Mapping[str, Any] | str] | None = None,
        *,
        context: Mapping[str, str] | None = None,
        deps: Any = None,
        budget: Budget | None = None,
        on_event: Callable[[Event], Any] | None = None,
        journal: str | os.PathLike[str] | bool | None = None,
        signal: Signal | None = None,
    ) -> Result[str]:
        """`run` without asyncio: in scripts, threads, tests, and inside a notebook's running loop."""
        return self._for(context).run_sync(
            question,
            messages=_messages(history),
            deps=deps,
            budget=budget,
            on_event=on_event,
            journal=journal,
            signal=signal,
        )

    def stream(
        self,
        question: str,
        history: Messages | Sequence[Message | Mapping[str, Any] | str] | None = None,
        *,
        context: Mapping[str, str] | None = None,
        deps: Any = None,
        budget: Budget | None = None,
        journal: str | os.PathLike[str] | bool | None = None,
        signal: Signal | None = None,
    ) -> RunStream[str]:
        """The events of a run as they happen: phases, drafts, tools, and `RunFinished` at the end."""
        return self._for(context).stream(
            question, messages=_messages(history), deps=deps, budget=budget, journal=journal, signal=signal
        )

    async def resume(
        self,
        journal: str | os.PathLike[str],
        run: str | None = None,
        *,
        deps: Any = None,
        on_event: Callable[[Event], Any] | None = None,
        signal: Signal | None = None,
    ) -> Result[str]:
        """Goes on with a run that broke off; see `Agent.resume`."""
        return await self._agent.resume(journal, run, deps=deps, on_event=on_event, signal=signal)

    def resume_sync(
        self,
        journal: str | os.PathLike[str],
        run: str | None = None,
        *,
        deps: Any = None,
        on_event: Callable[[Event], Any] | None = None,
        signal: Signal | None = None,
    ) -> Result[str]:
        """`resume` without asyncio."""
        return self._agent.resume_sync(journal, run, deps=deps, on_event=on_event, signal=signal)

    def fork_sync(
        self,
        source: str | os.PathLike[str],
        at: int,
        *,
        run: str | None = None,
        prompt: str | None = None,
        tool_result: str | None = None,
        deps: Any = None,
        on_event: Callable[[Event], Any] | None = None,
        journal: str | os.PathLike[str] | bool | None = None,
        signal: Signal | None = None,
    ) -> Result[str]:
        """A new run that begins as another one did; see `Agent.fork`."""
        return self._agent.fork_sync(
            source,
            at,
            run=run,
            prompt=prompt,
            tool_result=tool_result,
            deps=deps,
            on_event=on_event,
            journal=journal,
            signal=signal,
        )

    def _for(self, context: Mapping[str, str] | None) -> _GroundedAgent:
        if not context:
            return self._agent
        agent = copy.copy(self._agent)
        agent.label({str(key): str(value) for key, value in context.items()})
        return agent


class _GroundedAgent(Agent[str]):
    """An agent whose runs are grounded answers."""

    def __init__(self, model: str | Model, folders: tuple[str, ...], rules: dict[str, Any], **options: Any) -> None:
        self._folders = folders
        self._rules = rules
        super().__init__(model, **options)

    @property
    def folders(self) -> tuple[str, ...]:
        """Where sources are looked for."""
        return self._folders

    def label(self, labels: dict[str, str]) -> None:
        """Whose runs they are."""
        self._plans = {}
        self._rules = {**self._rules, "labels": labels}

    def _machine(self, turn: dict[str, Any]) -> _core.MachineConfig:
        return _core.MachineConfig.grounded(json.dumps({"turn": turn, **self._rules}))


def _messages(history: Messages | Sequence[Message | Mapping[str, Any] | str] | None) -> Any:
    if history is None or isinstance(history, Messages):
        return history
    if isinstance(history, str):
        history = [history]
    return [
        {"role": "user", "content": [{"type": "text", "text": said}]} if isinstance(said, str) else said
        for said in history
    ]
