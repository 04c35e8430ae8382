"""`Grounded`: answers that rest on sources, checked before anybody sees them as answers."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from . import _core
from ._agent_based import AgentBased, keeps_options
from ._model import is_model, machine_settings, only_first
from ._observe import GroundedStats, Observer
from ._options import functions, settings, written
from ._run_options import varied
from .agent import Agent, RunStream
from .citations import CitationCheck, check_citations
from .errors import UsageError
from .result import Messages, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    from typing_extensions import Self, Unpack

    from ._agent_based import AgentOptions
    from ._model import Model
    from ._plan import Plan
    from ._run_options import RunOptions
    from ._sync_stream import SyncStream
    from .budget import Budget
    from .memory import Memory
    from .messages import Message
    from .models import Responds
    from .result import Result
    from .roles import Role
    from .tools import Tool
    from .tools._offered import Offered

    History: TypeAlias = Messages | Sequence[Message | Mapping[str, Any] | str] | None

__all__ = ["CitationCheck", "Grounded", "GroundedStats", "Source", "check_citations"]


_SOURCES = 1_000


class Grounded(AgentBased["Result[str]"]):
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
        options: Those of `Agent`: `instructions`, `settings`, `budget`, `guard`, `journal`, …; but no `output_type`.

    It has the words of an agent, too: `clone`, `override`, `check`, `resume`, `fork`, and `RunOptions` for each run.
    """

    @keeps_options("Grounded")
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
        **options: Unpack[AgentOptions],
    ) -> None:
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
    def sources(self) -> tuple[str, ...]:
        """The folders and files that are searched."""
        agent: _GroundedAgent = self._agent
        return agent.folders

    def __repr__(self) -> str:
        return f"<Grounded {self.model} sources={list(self.sources)}>"

    async def run(
        self,
        question: str,
        history: History = None,
        *,
        context: Mapping[str, str] | None = None,
        deps: Any = None,
        **options: Unpack[RunOptions[Any]],
    ) -> Result[str]:
        """Answers `question`, in the caller's task.

        Args:
            question: The question.
            history: What was said before: `result.messages` of an earlier run, a list of messages, or plain texts. It
                is searched, too.
            context: Who asks, where, in which trace (`user`, `channel`, `thread`, `trace`, …): kept in the journal.
            deps: What tools get as `context.deps`.
            options: `RunOptions`, as for `Agent.run`, but no `session`. Drafts stream as `TextDelta` and come whole as
                `Draft`.

        `result.final` is there only if it passed (`stop_reason` `"verified"`, or `"abstained"` where the answer is that
        the sources do not hold it). Otherwise `result.message` is for people and `result.best_draft` for whoever wants
        to see it. Raises a `LoopwrightError` with the partial result if an error ended the run, for instance
        `folder_not_found`.
        """
        agent, given = self._asked("run", history, context, options)
        with self._seen() as seen:
            result: Result[str] = await agent.run(question, deps=deps, **given)
            seen.result = result
        return result

    def run_sync(
        self,
        question: str,
        history: History = None,
        *,
        context: Mapping[str, str] | None = None,
        deps: Any = None,
        **options: Unpack[RunOptions[Any]],
    ) -> Result[str]:
        """`run` without asyncio: in scripts, threads, tests, and inside a notebook's running loop."""
        agent, given = self._asked("run_sync", history, context, options)
        with self._seen() as seen:
            result: Result[str] = agent.run_sync(question, deps=deps, **given)
            seen.result = result
        return result

    def stream(
        self,
        question: str,
        history: History = None,
        *,
        context: Mapping[str, str] | None = None,
        deps: Any = None,
        **options: Unpack[RunOptions[Any]],
    ) -> RunStream[str]:
        """The events of a run as they happen: phases, drafts, tools, and `RunFinished` at the end."""
        agent, given = self._asked("stream", history, context, options)
        return agent.stream(question, deps=deps, **given)

    def stream_sync(
        self,
        question: str,
        history: History = None,
        *,
        context: Mapping[str, str] | None = None,
        deps: Any = None,
        **options: Unpack[RunOptions[Any]],
    ) -> SyncStream[str]:
        """`stream` without asyncio."""
        agent, given = self._asked("stream_sync", history, context, options)
        return agent.stream_sync(question, deps=deps, **given)

    def _seen(self) -> _Seen:
        return _Seen(self._observer)

    def _asked(
        self, whose: str, history: History, context: Mapping[str, str] | None, options: Mapping[str, Any]
    ) -> tuple[_GroundedAgent, Any]:
        """Who is asked, and the options of its run."""
        self._check(whose, options)
        given = dict(options)
        if history is not None:
            if given.get("messages") is not None:
                raise UsageError("history and messages are the same", "invalid_option", "give one of them")
            given["messages"] = _messages(history)
        agent: _GroundedAgent = varied(self._agent, {})
        if context:
            agent = copy.copy(agent)
            agent.label({str(key): str(value) for key, value in context.items()})
        return agent, given


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
        # Where an `override` gives another model, no real one is asked.
        judge = self._judge if self._replaced is None else None
        name = self._named(judge) if is_model(judge) else judge
        if isinstance(name, str) and ":" in name:
            self._reachable("the judge", name)
        for each in self._gatherers:
            self._embeds_with(getattr(each, "embedder", None))
        plan = super()._plan(budget, stream=stream, offered=offered)
        plan.gatherers = self._gatherers
        plan.contained = True
        if judge is not None:
            plan.chooses = True
            if not isinstance(judge, str) and not is_model(judge):
                plan.own_models = {_judge_name(judge): judge}
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
        rules = {name: rule for name, rule in self._rules.items() if name != "judge" or self._replaced is None}
        return _core.MachineConfig.grounded(written({"turn": turn, **rules}))


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


def _messages(history: Messages | Sequence[Message | Mapping[str, Any] | str]) -> Any:
    if isinstance(history, Messages):
        return history
    if isinstance(history, str):
        history = [history]
    return [
        {"role": "user", "content": [{"type": "text", "text": said}]} if isinstance(said, str) else said
        for said in history
    ]
