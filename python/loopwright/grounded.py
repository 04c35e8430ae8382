"""`Grounded`: answers that rest on sources, checked before anybody sees them as answers."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from . import _core
from ._handoff import none_of
from ._model import is_model, machine_settings, only_first
from ._observe import GroundedStats, Observer
from ._options import functions, settings, written
from ._run_options import varied
from ._words import takes_no_others
from .agent import OPTIONS, Agent, RunStream
from .citations import CitationCheck, check_citations
from .errors import UsageError
from .result import Messages, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from typing_extensions import Self

    from ._continue import OnDivergence
    from ._model import Model
    from ._plan import Plan
    from ._suspend import Answer
    from .budget import Budget
    from .events import Event
    from .memory import Memory
    from .messages import Message
    from .models import Responds
    from .result import Result
    from .roles import Role
    from .signal import Signal
    from .tools import Tool, ToolSet
    from .tools._offered import Offered

__all__ = ["CitationCheck", "Grounded", "GroundedStats", "Source", "check_citations"]


_SOURCES = 1_000


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
        sources: Folders or files to search; a `Memory`, a `retrieve.Index`, or functions that take the question and
            give text, texts, mappings with `text` and `reference`, or `Source`s.
        profile: The format of answers: `"plain"`, `"markdown"`, `"slack"`, or a JSON schema (a mapping, or a pydantic
            model): then answers are JSON, with citations inside its texts.
        memory: A `Memory` to search, too, or the path of its file: what it recalls for the question is gathered once,
            as sources that can be cited; attempts ask it no more.
        user: Whose memories are searched, beside those that are everybody's.
        recall: How memory is asked: `hits` (8), `characters` of each, `timeout` in seconds (30); `False` for never.
        embedder: Texts to vectors: a model (`"openai:text-embedding-3-small"`, or a `Model`), or a function, sync or
            async, as `loopwright.memory.minilm()`: the folders are searched by meaning as well as by words. Vectors are
            made once, and kept with this object.
        judge: A model that judges what has passed the rules: `"provider:model"`, a `Model`, or one of your own. It may
            fail an answer, and never passes one that the rules fail.
        tools: Functions, or what `@tool` makes of them; what they give counts as a source.
        gather: How much is read and handed on: `file_sources`, `per_file`, `source_chars`, `total_chars`,
            `thread_messages`, `extensions`, `max_files`, …; `"wide"` for a whole repository.
        lengths: How long answers usually are, in characters: `short`, `long`, `long_question`.
        options: All other options of `Agent`, but no `output_type`.
    """

    @takes_no_others("Grounded", (*OPTIONS, "session", "after"))
    def __init__(
        self,
        model: str | Model | Responds | Role,
        *,
        sources: Any = (),
        profile: str | Mapping[str, Any] | type = "plain",
        tools: Iterable[Tool[..., Any, Any] | Callable[..., Any]] = (),
        memory: Memory | str | os.PathLike[str] | None = None,
        user: str | None = None,
        recall: Mapping[str, Any] | bool = True,
        judge: str | Model | Responds | None = None,
        gather: Mapping[str, Any] | str | None = None,
        lengths: Mapping[str, int] | None = None,
        embedder: Callable[[list[str]], Any] | str | Model | None = None,
        **options: Any,
    ) -> None:
        if options.get("output_type") is not None:
            message = "a grounded answer is text: it has no output_type"
            raise UsageError(message, "invalid_option", "use Agent for typed output")
        for option in ("session", "after"):
            if options.get(option) is not None:
                message = f"{option} is about what is remembered, and grounded answers are not"
                raise UsageError(message, "invalid_option", "Agent remembers; Memory.remember keeps what you like")
        recalled = _recalled(user, recall)
        folders, asked = _split(sources, user, recalled)
        if memory is not None and recall is not False:
            if isinstance(memory, (str, os.PathLike)):
                from .memory import Memory as Store

                memory = Store(memory)
            asked.append(_asked(memory, "memory", user, recalled))
        if embedder is not None:
            asked.extend(_near(embedder, tuple(folders)))
        rules: dict[str, Any] = {"gather": _limits(gather), "lengths": settings("lengths", lengths)}
        if isinstance(profile, str):
            rules["profile"] = profile
        else:
            rules["schema"] = _schema(profile)
        if judge is not None:
            rules["judge"] = _judge_config(judge)
        self._observer = Observer()
        none_of(options, "Grounded")
        self._agent = _GroundedAgent(
            model, tuple(folders), rules, gatherers=tuple(asked), judge=judge, tools=functions(tools), **options
        )

    @property
    def stats(self) -> GroundedStats:
        """How the last hundred answers of this object fared: verified at the first attempt, cited, abstained.

        Once there are 20, a rate below 0.9 is warned about in the log `loopwright.grounded`.
        """
        return self._observer.stats

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
        agent = self._for(context)
        with self._seen() as seen:
            result = seen.result = await agent.run(
                question,
                messages=_messages(history),
                deps=deps,
                budget=budget,
                on_event=on_event,
                journal=journal,
                signal=signal,
            )
        return result

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
        agent = self._for(context)
        with self._seen() as seen:
            result = seen.result = agent.run_sync(
                question,
                messages=_messages(history),
                deps=deps,
                budget=budget,
                on_event=on_event,
                journal=journal,
                signal=signal,
            )
        return result

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
        source: Result[Any] | str | os.PathLike[str],
        answers: Mapping[str, Answer] | None = None,
        *,
        run: str | None = None,
        answer: str | None = None,
        on_divergence: OnDivergence = "error",
        deps: Any = None,
        on_event: Callable[[Event], Any] | None = None,
        signal: Signal | None = None,
    ) -> Result[str]:
        """Goes on with a run that broke off; see `Agent.resume`."""
        return await self._agent.resume(
            source,
            answers,
            run=run,
            answer=answer,
            on_divergence=on_divergence,
            deps=deps,
            on_event=on_event,
            signal=signal,
        )

    def resume_sync(
        self,
        source: Result[Any] | str | os.PathLike[str],
        answers: Mapping[str, Answer] | None = None,
        *,
        run: str | None = None,
        answer: str | None = None,
        on_divergence: OnDivergence = "error",
        deps: Any = None,
        on_event: Callable[[Event], Any] | None = None,
        signal: Signal | None = None,
    ) -> Result[str]:
        """`resume` without asyncio."""
        return self._agent.resume_sync(
            source,
            answers,
            run=run,
            answer=answer,
            on_divergence=on_divergence,
            deps=deps,
            on_event=on_event,
            signal=signal,
        )

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

    def about(self, metadata: Mapping[str, Any]) -> None:
        """What the first line of each journal says from now on about whose run it is; anything that JSON can hold."""
        self._agent = varied(self._agent, {"metadata": metadata})

    def _seen(self) -> _Seen:
        return _Seen(self._observer)

    def _for(self, context: Mapping[str, str] | None) -> _GroundedAgent:
        if not context:
            return self._agent
        agent = copy.copy(self._agent)
        agent.label({str(key): str(value) for key, value in context.items()})
        return agent


class _Seen:
    """Tells the observer how a run ended, with an error or without."""

    def __init__(self, observer: Observer) -> None:
        self.result: Result[Any] | None = None
        self._observer = observer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        result = self.result if error is None else getattr(error, "result", None)
        if result is not None:
            self._observer.ended(result)


class _GroundedAgent(Agent[Any, str]):
    """An agent whose runs are grounded answers."""

    _called = "grounded"

    def __init__(
        self,
        model: str | Model | Responds | Role,
        folders: tuple[str, ...],
        rules: dict[str, Any],
        *,
        gatherers: tuple[Any, ...] = (),
        judge: str | Model | Responds | None = None,
        **options: Any,
    ) -> None:
        self._folders = folders
        self._rules = rules
        self._gatherers = gatherers
        self._judge = judge
        super().__init__(model, **options)

    def _plan(self, budget: Budget, *, stream: bool, offered: Offered | None = None) -> Plan:
        if is_model(self._judge):
            self._named(self._judge)
        plan = super()._plan(budget, stream=stream, offered=offered)
        plan.gatherers = self._gatherers
        plan.contained = True
        if self._judge is not None:
            plan.chooses = True
            if not isinstance(self._judge, str) and not is_model(self._judge):
                plan.own_models = {_judge_name(self._judge): self._judge}
        return plan

    @property
    def folders(self) -> tuple[str, ...]:
        """Where sources are looked for."""
        return self._folders

    def label(self, labels: dict[str, str]) -> None:
        """Whose runs they are."""
        self._plans = {}
        self._rules = {**self._rules, "labels": labels}

    def _machine(self, turn: dict[str, Any]) -> _core.MachineConfig:
        return _core.MachineConfig.grounded(written({"turn": turn, **self._rules}))


_RECALL = {"hits": (1, 100), "characters": (1, 20_000), "timeout": (0.001, 3_600)}


def _recalled(user: Any, recall: Any) -> dict[str, Any]:
    """How memory is asked, looked at."""
    if user is not None and (not isinstance(user, str) or not user.strip()):
        raise UsageError(f"user can't be {user!r:.100}", "invalid_option", "give a name, or None")
    if isinstance(recall, bool):
        return {}
    if not isinstance(recall, Mapping) or not set(_RECALL) >= set(recall):
        message = f"recall can't be {recall!r:.100}"
        raise UsageError(message, "invalid_option", "give a dict with hits, characters and timeout, True or False")
    for name, value in recall.items():
        least, most = _RECALL[name]
        number = isinstance(value, int) or (name == "timeout" and isinstance(value, float))
        if not number or isinstance(value, bool) or not least <= value <= most:
            message = f"recall: {name} can't be {value!r:.100}"
            raise UsageError(message, "invalid_option", f"give a number from {least} to {most}")
    return dict(recall)


def _split(sources: Any, user: str | None, recall: Mapping[str, Any]) -> tuple[list[str], list[Any]]:
    """Paths, and what is asked."""
    if isinstance(sources, (str, os.PathLike)) or not hasattr(sources, "__iter__"):
        sources = [sources]
    folders: list[str] = []
    asked: list[Any] = []
    listed = list(islice(sources, _SOURCES + 1))
    if len(listed) > _SOURCES:
        raise UsageError(f"there are more than {_SOURCES} sources", "invalid_option", "give folders, or an Index")
    for source in listed:
        if isinstance(source, (str, os.PathLike)):
            folders.append(os.fspath(source))
        else:
            asked.append(_asked(source, "sources", user, recall))
    return folders, asked


def _near(given: Any, folders: tuple[str, ...]) -> list[Any]:
    from ._embedders import embedder_of

    embedder = embedder_of(given)
    if not callable(embedder):
        message = f"embedder can't be {embedder!r:.100}"
        raise UsageError(message, "invalid_option", "give a function of a list of texts")
    from ._folder_embeddings import FolderSource

    return [FolderSource(folders, embedder)] if folders else []


def _asked(source: Any, option: str, user: str | None, recall: Mapping[str, Any]) -> Any:
    from ._gather import gatherer

    found = gatherer(source, user, recall)
    if found is None:
        message = f"{option} can't hold {source!r:.100}"
        raise UsageError(message, "invalid_option", "give paths, a Memory, a retrieve.Index, or functions")
    return found


_WIDE = {
    "file_sources": 12,
    "per_file": 6,
    "max_files": 2_000,
    "max_file_bytes": 1_000_000,
    "max_total_bytes": 64_000_000,
    "max_depth": 16,
}


def _limits(gather: Mapping[str, Any] | str | None) -> dict[str, Any]:
    if gather is None:
        return {}
    if isinstance(gather, str):
        if gather != "wide":
            raise UsageError(f"gather can't be {gather!r}", "invalid_option", "give 'wide', or a dict of limits")
        return dict(_WIDE)
    return settings("gather", gather)


def _schema(profile: Any) -> dict[str, Any]:
    if isinstance(profile, type):
        from ._output import OutputType

        schema: dict[str, Any] = OutputType(profile).schema
        return schema
    if not isinstance(profile, Mapping):
        message = f"profile can't be {profile!r:.100}"
        raise UsageError(message, "invalid_option", "use plain, markdown, slack, a JSON schema, or a pydantic model")
    return dict(profile)


def _judge_config(judge: object) -> dict[str, Any]:
    """The judge, as the machine wants it."""
    if isinstance(judge, str):
        return {"model": judge}
    if is_model(judge):
        only_first(judge, "which judges")
        return {"model": judge.name, "settings": machine_settings(judge.settings)}
    from .models import is_own

    if not is_own(judge):
        message = f"judge can't be {judge!r:.100}"
        raise UsageError(message, "invalid_option", "give provider:model, a Model, or an object with respond(request)")
    return {"model": _judge_name(judge)}


def _judge_name(judge: Any) -> str:
    return f"judge {getattr(judge, 'name', None) or type(judge).__name__}"


def _messages(history: Messages | Sequence[Message | Mapping[str, Any] | str] | None) -> Any:
    if history is None or isinstance(history, Messages):
        return history
    if isinstance(history, str):
        history = [history]
    return [
        {"role": "user", "content": [{"type": "text", "text": said}]} if isinstance(said, str) else said
        for said in history
    ]
