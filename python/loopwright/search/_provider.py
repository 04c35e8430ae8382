"""The provider's own web search: what a model of theirs searched for, found and cited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from loopwright._dataclasses import dataclass, field
from loopwright.errors import LoopwrightError, ProviderError, UsageError

from ._base import Busy, Search
from ._hit import Hit, hit_of, one_line, web_hits

if TYPE_CHECKING:
    from loopwright.messages import Message

__all__ = ["ProviderSearch", "ProviderSearches", "searches_of"]

_BUSY = ("rate_limited", "overloaded", "server")
_SEARCHES = 1_000


@dataclass
class ProviderSearches:
    """What a provider searched for in a conversation."""

    searches: list[tuple[str, list[Hit], str | None]] = field(default_factory=list)
    """For each search: the query, what it found, and the code of what went wrong, if something did."""
    cited: list[Hit] = field(default_factory=list)
    """What the answer cites, each address once; the snippet is what is cited of it."""

    @property
    def hits(self) -> list[Hit]:
        """All that was found or cited, each address once, with what is cited of it."""
        cited = {hit.url: hit for hit in self.cited}
        found: dict[str, Hit] = {}
        for _, hits, _ in self.searches:
            for hit in hits:
                known = cited.get(hit.url)
                # Some tell titles only where they cite.
                title = known.title if known and hit.title == hit.url else hit.title
                merged = Hit(title, hit.url, known.snippet if known else hit.snippet, hit.text, hit.published)
                found.setdefault(hit.url, merged)
        return list({**found, **{url: hit for url, hit in cited.items() if url not in found}}.values())


def searches_of(messages: Iterable[Message]) -> ProviderSearches:
    """What providers searched for in messages of Anthropic's and OpenAI's, found and cited."""
    from loopwright.messages import ProviderBlock, Text

    found = ProviderSearches()
    open_: dict[str, int] = {}
    cited: dict[str, Hit] = {}
    for message in messages:
        if message.role != "assistant":
            continue
        extra = getattr(message, "extra", None)
        _cite(cited, _fields(extra).get("annotations"), "")
        for block in message.content:
            if isinstance(block, ProviderBlock):
                value = block.value
                if isinstance(value, Mapping) and len(found.searches) < _SEARCHES:
                    _block(found, open_, value)
            elif isinstance(block, Text):
                fields = _fields(block.extra)
                _cite(cited, fields.get("citations"), block.text)
                _cite(cited, fields.get("annotations"), block.text)
    found.cited = list(cited.values())
    return found


def _fields(extra: Any) -> dict[str, Any]:
    fields = extra.fields if extra is not None else {}
    return fields if isinstance(fields, dict) else {}


def _block(found: ProviderSearches, open_: dict[str, int], value: Mapping[str, Any]) -> None:
    """A block of a provider's search: its beginning, its end, or both."""
    kind = value.get("type")
    if kind == "server_tool_use" and value.get("name") == "web_search":
        asked = value.get("input")
        query = asked.get("query") if isinstance(asked, Mapping) else ""
        open_[str(value.get("id"))] = len(found.searches)
        found.searches.append((one_line(query, 2_000), [], None))
    elif kind == "web_search_tool_result":
        at = open_.get(str(value.get("tool_use_id")))
        content = value.get("content")
        error = str(content.get("error_code") or "unavailable")[:100] if isinstance(content, Mapping) else None
        hits = web_hits(content, 100, snippet=(), text=(), published=("page_age",))
        if at is None:
            found.searches.append(("", hits, error))
        else:
            found.searches[at] = (found.searches[at][0], hits, error)
    elif kind == "web_search_call":
        action = value.get("action")
        action = action if isinstance(action, Mapping) else {}
        if action.get("type", "search") != "search":
            return
        queries = action.get("queries")
        query = action.get("query") or (queries[0] if isinstance(queries, list) and queries else "")
        error = None if value.get("status") in (None, "completed") else str(value.get("status"))[:100]
        hits = web_hits(action.get("sources"), 100, snippet=(), text=(), published=())
        found.searches.append((one_line(query, 2_000), hits, error))


def _cite(cited: dict[str, Hit], citations: Any, text: str) -> None:
    for citation in citations[:1000] if isinstance(citations, list) else []:
        if not isinstance(citation, Mapping):
            continue
        inner = citation.get("url_citation")
        given = inner if isinstance(inner, Mapping) else citation
        start, end = given.get("start_index"), given.get("end_index")
        said = text[start:end] if isinstance(start, int) and isinstance(end, int) and 0 <= start < end else ""
        hit = hit_of({"cited_text": said, **given}, snippet=("cited_text",), text=(), published=())
        if hit is None or not hit.url.lower().startswith(("http://", "https://")):
            continue
        known = cited.get(hit.url)
        if known is None:
            cited[hit.url] = hit
        elif hit.snippet and hit.snippet not in known.snippet:
            joined = f"{known.snippet} … {hit.snippet}" if known.snippet else hit.snippet
            cited[hit.url] = Hit(known.title, known.url, joined[:4_000])


class ProviderSearch(Search):
    """The provider's own web search, asked through one of its models: `ProviderSearch("anthropic:claude-haiku-4-5")`.

    Each search is a request to the model with nothing but the query. Hits are what the provider found and what the
    model cites of it. Works with `anthropic:` and `openai-responses:` models (`openai:` too), whose key is in the
    environment.
    """

    name = "ProviderSearch"

    def __init__(
        self,
        model: str,
        *,
        max_tokens: int = 2_000,
        base_url: str | None = None,
        api_key: str | None = None,
        settings: Mapping[str, Any] | None = None,
        timeout: float = 60.0,
        **options: Any,
    ) -> None:
        super().__init__(timeout=timeout, **options)
        from loopwright._model import Model
        from loopwright.agent import Agent
        from loopwright.budget import Budget
        from loopwright.tools import WebSearch

        if not isinstance(model, str):
            message = f"the model is {type(model).__name__}, not a name"
            raise UsageError(
                message, "unknown_model", "write provider:model; only providers have a search of their own"
            )
        self._agent: Agent[Any, Any] = Agent(
            # More time than is given here would not be used.
            Model(model, base_url=base_url, api_key=api_key, timeouts={"total": timeout}, retry={"attempts": 1}),
            instructions=_SYSTEM,
            tools=[WebSearch(**(settings or {}))],
            settings={} if max_tokens is None else {"max_tokens": max_tokens},
            budget=Budget(rounds=3, wall_time=timeout),
        )

    async def find(self, query: str, k: int) -> list[Hit]:
        try:
            result = await self._agent.run(query)
        except LoopwrightError as error:
            if error.code in _BUSY:
                raise Busy(error.message, error.code, error.hint) from error
            raise
        found = searches_of(result.messages)
        if not found.searches and not found.cited:
            message = f"{self._agent.model} did not search"
            if result.warnings:
                message = f"{message}: {result.warnings[0]}"
            raise ProviderError(message[:500], "no_search", "use a model whose provider has a web search")
        if not found.hits and (errors := [error for _, _, error in found.searches if error]):
            busy = errors[0] == "too_many_requests"
            code = "rate_limited" if busy else "search_failed"
            raise (Busy if busy else ProviderError)(
                f"the provider's search failed: {errors[0]}", code, "try again later"
            )
        return found.hits[:k]

    def __repr__(self) -> str:
        return f"<ProviderSearch {self._agent.model}>"


_SYSTEM = (
    "You are the search box of a program. Search the web for exactly the words that you are given, once. "
    "Then quote, with citations, one sentence of each useful result. Say nothing else."
)
