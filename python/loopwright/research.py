"""`Research`: a question, researched in cycles; a report in which every statement names its source and was checked.

::

    >>> pages = [
    ...     {"title": "Tides", "url": "tides.md", "text": "Tides are the rise and fall of the sea. The moon causes "
    ...      "most of the tide. High water comes about every 12 hours and 25 minutes on most coasts of the world."},
    ... ]
    >>> research = Research("offline:extractive", corpus=pages)
    >>> result = research.run_sync("What causes the tides?")
    >>> result.report["bibliography"][0]["url"]
    'tides.md'
    >>> result.state["cycles"] >= 1
    True

Without a model rules do all of it: they quote, and say so. With one, it plans, writes and reviews; what it writes is
held against its sources all the same.
"""

from __future__ import annotations

import copy
import html
import json
import os
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from . import _core
from ._agent_based import AgentBased, keeps_options
from ._dataclasses import dataclass, field, fields
from ._embedders import embedder_of
from ._lookups import Lookups
from ._model import is_model
from ._options import functions, settings, written
from ._run_options import varied
from .agent import Agent, RunStream
from .analysis import Z
from .budget import Budget
from .errors import UsageError
from .result import Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self, Unpack

    from ._agent_based import AgentOptions
    from ._driver import Driver
    from ._model import Model
    from ._plan import Plan
    from ._run_options import RunOptions
    from ._sync_stream import SyncStream
    from .models import Responds
    from .roles import Role
    from .tools import Tool
    from .tools._offered import Offered

    class ResearchStream(RunStream[str]):
        """The stream of a research, as type checkers see it."""

        async def __aenter__(self) -> Self:
            """Itself."""

        @property
        def result(self) -> ResearchResult:
            """What the run gave."""


__all__ = ["Research", "ResearchResult", "research_tool", "run_deep_research"]

STYLES = ("detailed", "summary", "progress")
_PROVIDERS = 100
_OFFLINE = "offline:extractive"
_BUDGET = Budget(rounds=120, tool_rounds=24, wall_time=1_800.0)


@dataclass(frozen=True, repr=False)
class ResearchResult(Result[str]):
    """What a research gives: a `Result` with its report. `final` is the report as Markdown, in the style of the run."""

    report: dict[str, Any] = field(default_factory=dict)
    """Title, abstract, sections with their statements and citations, bibliography, why it stopped, what was not found,
    contradictions. Empty if the run broke off before there was one.
    """
    state: dict[str, Any] = field(default_factory=dict)
    """All that is known: query, outline, plan, critiques, gains, coverage, results, chunks with vectors, sources."""
    style: str = "detailed"

    @property
    def markdown(self) -> str:
        """The report as Markdown, in the style of the run."""
        return self.render(self.style)

    @property
    def html(self) -> str:
        """The report as an HTML page that needs nothing beside itself."""
        return self.render(self.style, form="html")

    @property
    def json(self) -> str:
        """The report as JSON."""
        return json.dumps(self.report)

    def render(self, style: str = "detailed", *, form: str = "markdown") -> str:
        """The report in another style, as `markdown` or `html`; empty if there is none."""
        style = _style(style)
        if not self.report:
            # It declined, or broke off.
            said = self.final or ""
            return f"<!doctype html><meta charset=utf-8><p>{html.escape(said)}</p>" if said and form == "html" else said
        return _core.render_report(json.dumps(self.report), style, form)


class Research(AgentBased["ResearchResult"]):
    """Researches questions in cycles: plan & critique, act, analyse & update, until there is enough; then a report.

    ::

        research = Research("anthropic:claude-sonnet-4-5", corpus="docs")
        result = await research.run("How are failed requests retried?")
        print(result.markdown)

    Args:
        model: As for `Agent`; `"offline:extractive"` needs no model: rules plan, and the report is made of quotes.
        search: Whom to ask: objects with `search(query, k)` or functions like it, sync or async. A hit is an object or
            a dict with `title`, `url`, `snippet`, and `text` where the page need not be fetched.
        corpus: What is at hand: a folder, an object with `search`, or documents (a dict of names to texts; a list of
            texts, or of dicts with `title`, `url` and `text`).
        embedder: Texts to vectors: a model (`"openai:text-embedding-3-small"`, or a `Model`), or a function, sync or
            async, as `loopwright.memory.minilm()`.
            Without one words are hashed, which knows no meanings but needs nothing.
        fetch: Who fetches pages, in place of the built-in client: a function of an address, or of that and a number of
            characters, that gives text, or an object or dict with `text` and `title` (and `status`: 400 and above is
            an error); as `lambda url: fetch_page(url, allow_private=True)`.
        style: How reports are written out: `"detailed"`, `"summary"` or `"progress"`.
        limits: How much: `hits` (8), `page_chars` (40,000), `least_chars` (100), `chunk_sentences` (4),
            `section_chunks` (12), `searches` of a plan (6), `topics` (10), `rewrites` (2), `repeated` (0.8), …
        tools: Functions, or what `@tool` makes of them: a model may call them in each cycle, and what they give is a
            source like a page. With tools there need be nothing to search.
        explore: Whether topics that nobody named are looked for.
        thresholds: `"background"`: in standard deviations of the embedder's own background; `"seed"`: absolute cosines
            as they were tuned for one embedder.
        select: Which chunks are kept: `relevance` (0.65), `top` (15), …
        stop: When it is enough: the last `window` (2) gains are below `epsilon` on average; `chunks=True` and
            `claims=True` also end it where a cycle kept no passage, or none that says anything new. Cuts
            (`epsilon`, `least`, `copy`) are cosines, or `loopwright.analysis.Z` standard deviations.
        state: All that an earlier research knew (`result.state`): this one goes on with it. Its cycles count beside
            those of the earlier one, and it must be asked the same question (or none: `run()`).
        outline: The topics of the report, as texts, or as dicts with `topic` and `subtopics`; nobody else names any
            before the first plan.
        prompts: Instructions in place of the built-in ones: a dict of `"scout"`, `"imagine"`, `"outline"`, `"plan"`,
            `"write"`, `"review"`, `"front"` or `"tools"` to text. The forms that answers must have stay the same.
        planner: Who plans, in place of a model or of rules: a function of the state (a dict, without vectors), sync or
            async, that gives a plan: a dict with `plan` and perhaps `critique`, or a list of actions, or of queries.
            An empty one ends the research. One that raises leaves the cycle to the rules.
        analyser: Who judges what a cycle was worth: a function of the state that gives a dict with `coverage` (topics
            to numbers from 0 to 1, which gain and trend are made of) and `enough` (why it ends, in words, or
            `True`; `False` to go on in spite of the rules). What it leaves out is measured.
        options: Those of `Agent`: `instructions`, `settings`, `budget`, `guard`, `journal`, …; but no `output_type` and
            no `memory`.

    It has the words of an agent, too: `clone`, `override`, `check`, `resume`, `fork`, and `RunOptions` for each run.
    """

    _without = ("messages", "session")

    @keeps_options("Research", "memory", "user")
    def __init__(
        self,
        model: str | Model | Responds | Role = _OFFLINE,
        *,
        search: Any = (),
        corpus: Any = None,
        embedder: Callable[[list[str]], Any] | str | Model | None = None,
        fetch: Callable[..., Any] | None = None,
        style: str = "detailed",
        limits: Mapping[str, Any] | None = None,
        explore: bool = True,
        thresholds: str = "background",
        select: Mapping[str, Any] | None = None,
        stop: Mapping[str, Any] | None = None,
        tools: Iterable[Tool[..., Any, Any] | Callable[..., Any]] = (),
        state: Mapping[str, Any] | None = None,
        outline: Iterable[str | Mapping[str, Any]] = (),
        prompts: Mapping[str, str] | None = None,
        planner: Callable[[dict[str, Any]], Any] | None = None,
        analyser: Callable[[dict[str, Any]], Any] | None = None,
        **options: Unpack[AgentOptions],
    ) -> None:
        tools = functions(tools)
        if tools and _is_offline(model):
            raise UsageError("without a model nobody calls tools", "invalid_option", "give Research a model")
        parts = {"planner": planner, "analyser": analyser}
        vectors: Any = embedder_of(embedder)
        _check(explore, {"embedder": vectors, "fetch": fetch, **parts})
        if thresholds not in ("background", "seed"):
            message = f"thresholds can't be {thresholds!r}"
            raise UsageError(message, "invalid_option", "use 'background' or 'seed'")
        options.setdefault("budget", _BUDGET)
        providers = tuple(_providers(search, corpus))
        rules: dict[str, Any] = {
            "style": _style(style),
            "limits": settings("limits", limits),
            "explore": "latent" if explore else "off",
            "search_events": True,
            "embedder": _name(vectors),
            **_thresholds(thresholds, settings("select", select), settings("stop", stop)),
        }
        self._query = str((state or {}).get("query", ""))
        own: dict[str, Any] = {name: True for name, part in parts.items() if part is not None}
        for name, value in (("outline", _topics(outline)), ("prompts", settings("prompts", prompts))):
            own.update({name: value} if value else {})
        if state is not None:
            own["state"] = settings("state", state)
        if own:
            rules["own"] = own
        if tools and not providers:
            rules["without_search"] = True
        self._agent = _ResearchAgent(
            model,
            Lookups(providers, fetch, vectors, parts, 600.0 if corpus is not None else 0.0),
            rules,
            tools=tools,
            **options,
        )

    def __repr__(self) -> str:
        return f"<Research {self.model}>"

    def _asked(
        self, whose: str, query: str | None, style: str | None, options: Mapping[str, Any]
    ) -> tuple[Any, str, Any]:
        """Who is asked, the question (or that of the state which this goes on with), and the options of the run."""
        self._check(whose, options)
        return varied(self._agent, {}).styled(style), self._query if query is None else query, options

    async def run(
        self,
        query: str | None = None,
        style: str | None = None,
        *,
        deps: Any = None,
        **options: Unpack[RunOptions[Any]],
    ) -> ResearchResult:
        """Researches `query`, in the caller's task.

        Args:
            query: The question. Nothing changes it on the way. Where the research goes on with a `state`, that one's.
            style: How the report is written out; `result.render` gives the other styles.
            deps: What tools get as `context.deps`.
            options: `RunOptions`, as for `Agent.run`, but no `messages` and no `session`. Events are `PhaseStarted`,
                `PhaseFinished`, `Status`, `SearchCompleted`, `Draft`, ….

        Limits raise nothing: the report is made of what was found until then, and says so (`stop_reason`, and
        `report["stopped"]`). Where nothing was found the `stop_reason` is `"abstained"`. Raises a `LoopwrightError`
        if the question can't be embedded, if the model never answers, or if every search fails.
        """
        agent, asked, given = self._asked("run", query, style, options)
        return cast("ResearchResult", await agent.run(asked, deps=deps, **given))

    def run_sync(
        self,
        query: str | None = None,
        style: str | None = None,
        *,
        deps: Any = None,
        **options: Unpack[RunOptions[Any]],
    ) -> ResearchResult:
        """`run` without asyncio: in scripts, threads, tests, and inside a notebook's running loop."""
        agent, asked, given = self._asked("run_sync", query, style, options)
        return cast("ResearchResult", agent.run_sync(asked, deps=deps, **given))

    def stream(
        self,
        query: str | None = None,
        style: str | None = None,
        *,
        deps: Any = None,
        **options: Unpack[RunOptions[Any]],
    ) -> ResearchStream:
        """The events of a run as they happen: phases, status, searches, drafts, and `RunFinished` at the end."""
        agent, asked, given = self._asked("stream", query, style, options)
        return cast("ResearchStream", agent.stream(asked, deps=deps, **given))

    def stream_sync(
        self,
        query: str | None = None,
        style: str | None = None,
        *,
        deps: Any = None,
        **options: Unpack[RunOptions[Any]],
    ) -> SyncStream[str]:
        """`stream` without asyncio."""
        agent, asked, given = self._asked("stream_sync", query, style, options)
        return cast("SyncStream[str]", agent.stream_sync(asked, deps=deps, **given))


class _ResearchAgent(Agent[Any, str]):
    """An agent whose runs are researches."""

    _called = "research"

    def __init__(
        self, model: str | Model | Responds | Role, lookups: Lookups, rules: dict[str, Any], **options: Any
    ) -> None:
        self._lookups = lookups
        self._rules = rules
        self._rules["without_model"] = _is_offline(model)
        super().__init__(model, **options)

    def styled(self, style: str | None) -> _ResearchAgent:
        """The same with another style."""
        return self if style is None or style == self._rules["style"] else self._with_rules(style=_style(style))

    def _with_rules(self, **rules: Any) -> _ResearchAgent:
        agent = copy.copy(self)
        agent.__dict__.update(_plans={}, _rules={**self._rules, **rules})
        return agent

    def _changed(self, changes: Mapping[str, Any]) -> Any:
        other: _ResearchAgent = super()._changed(changes)
        return other._with_rules(without_model=_is_offline(other._given["model"]))

    def _machine(self, turn: dict[str, Any]) -> _core.MachineConfig:
        return _core.MachineConfig.research(written({"turn": turn, **self._rules}))

    def _plan(self, budget: Budget, *, stream: bool, offered: Offered | None = None) -> Plan:
        plan = super()._plan(budget, stream=stream, offered=offered)
        plan.lookups = self._lookups
        self._embeds_with(self._lookups.embed)
        plan.contained = True
        return plan

    def _finish(self, driver: Driver, *given: Any) -> tuple[Result[Any], str | None]:
        result, feedback = super()._finish(driver, *given)
        outcome = driver.outcome
        found = (outcome and outcome.get("research")) or {}
        values = {each.name: getattr(result, each.name) for each in fields(Result) if each.name != "output"}
        values["output"] = vars(result).get("output")
        report = found.get("report", {})
        style = report.get("style", self._rules["style"])
        whole = ResearchResult(**values, report=report, state=found.get("state", {}), style=style)
        if whole.error is not None:
            whole.error.result = whole
        return whole, feedback


async def run_deep_research(
    query: str,
    output_style: str = "detailed",
    *,
    model: str | Model | Responds | None = None,
    search: Any = (),
    corpus: Any = None,
    **options: Any,
) -> str:
    """Researches `query` and gives the report as Markdown; `output_style` is `detailed`, `summary` or `progress`.

    Without a model that of `$LOOPWRIGHT_MODEL` is taken, else none: then the report is made of quotes.
    """
    named = model if model is not None else os.environ.get("LOOPWRIGHT_MODEL", "").strip() or _OFFLINE
    research = Research(named, search=search, corpus=corpus, style=output_style, **options)
    result = await research.run(query)
    return str(result) or result.markdown


def research_tool(research: Research) -> Callable[..., Any]:
    """A plain async function of texts that gives text: a tool for an agent, or for a server of the Model Context
    Protocol (`server.tool()(research_tool(research))`).

    >>> tool = research_tool(Research(corpus=["Tea is made of leaves. It is drunk hot."]))
    >>> tool.__name__
    'run_deep_research'
    """

    async def run_deep_research(query: str, output_style: str = "detailed") -> str:
        """Research a question in depth. Gives a report in Markdown with numbered sources.

        Args:
            query: The question.
            output_style: detailed, summary or progress.
        """
        result = await research.run(query, _style(output_style))
        return str(result) or result.markdown

    return run_deep_research


def _is_offline(model: object) -> bool:
    name = model.name if is_model(model) else model
    return isinstance(name, str) and name.partition(":")[0] == "offline"


def _style(style: str) -> str:
    if style in STYLES:
        return style
    message = f"{style!r:.60} is no style"
    raise UsageError(message, "invalid_option", f"use {', '.join(STYLES[:-1])} or {STYLES[-1]}")


def _name(embedder: Any) -> str | None:
    if embedder is None:
        return None
    name = getattr(embedder, "name", None) or getattr(embedder, "__qualname__", None)
    return str(name or type(embedder).__qualname__)


def _thresholds(kind: str, select: Mapping[str, Any] | None, stop: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the machine's own values are changed to."""
    chosen: dict[str, Any] = {"relevance": 0.65, "top": 15, "copy": {"cosine": 0.995}}
    enough: dict[str, Any] = {"window": 2, "chunks": False, "claims": False}
    latent: dict[str, Any] = {}
    if kind == "seed":
        enough["epsilon"], latent["novel"], near = {"cosine": 0.005}, {"cosine": 0.65}, {"cosine": 0.8}
    else:
        chosen["least"] = {"z": 1.0}
        enough["epsilon"], latent["novel"], near = {"z": 0.04}, {"z": 4.5}, {"z": 6.0}
    return {
        "select": {**chosen, **_cuts(select or {})},
        "stop": {**enough, **_cuts(stop or {})},
        "latent": latent,
        "near": near,
    }


def _check(explore: object, functions: Mapping[str, object]) -> None:
    if not isinstance(explore, bool):
        message = f"explore can't be {explore!r:.100}"
        raise UsageError(message, "invalid_option", "give True or False")
    for name, function in functions.items():
        if function is not None and not callable(function):
            message = f"{name} can't be {function!r:.100}"
            raise UsageError(message, "invalid_option", "give a function")


def _topics(outline: Any) -> list[dict[str, Any]]:
    """Topics as the machine reads them."""
    if isinstance(outline, (str, bytes, Mapping)) or not isinstance(outline, Iterable):
        message = f"outline can't be {outline!r:.100}"
        raise UsageError(message, "invalid_option", "give a list of topics")
    topics = [{"topic": each} if isinstance(each, str) else each for each in outline]
    for each in topics:
        if not isinstance(each, Mapping) or not each.keys() <= {"topic", "subtopics"} or "topic" not in each:
            message = f"a topic of outline can't be {each!r:.100}"
            raise UsageError(message, "invalid_option", "give a text, or a dict with topic and subtopics")
    return [dict(each) for each in topics]


def _cut(value: Any) -> Any:
    if isinstance(value, Z):
        return {"z": value.value}
    return {"cosine": value} if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _cuts(given: Mapping[str, Any]) -> dict[str, Any]:
    """Thresholds as the machine reads them: a number is a cosine."""
    return {key: _cut(value) if key in ("epsilon", "least", "copy") else value for key, value in given.items()}


def _providers(search: Any, corpus: Any) -> Iterable[Any]:
    given = [search] if callable(search) or callable(getattr(search, "search", None)) else search
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        message = f"search can't be {search!r:.100}"
        raise UsageError(message, "invalid_option", "give a list of providers: objects with search(query, k)")
    listed = list(islice(given, _PROVIDERS + 1))
    if len(listed) > _PROVIDERS:
        message = f"search holds more than {_PROVIDERS} providers"
        raise UsageError(message, "invalid_option", "give fewer")
    for each in listed:
        if not callable(each) and not callable(getattr(each, "search", None)):
            message = f"{each!r:.100} can't search"
            raise UsageError(message, "invalid_option", "give an object with search(query, k), or a function")
        yield each
    if corpus is not None:
        from ._corpus import corpus_of

        yield corpus_of(corpus)
