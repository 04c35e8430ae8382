"""Searching: a corpus at hand, the web by several engines, the provider's own search, or any function.

    search = Brave()                                  # the key is in BRAVE_API_KEY
    hits = await search.search("lift of swept wings", k=8)
    agent = Agent(model, tools=[search.as_tool()])

Each has a time limit, repeats what the service was too busy for, leaves it alone after failures in a row, and keeps a
log. What comes back is bounded and without markup, whatever was sent. See `docs/research.md`.
"""

from __future__ import annotations

from ._base import Search, as_search
from ._engines import Brave, SearXNG, Tavily
from ._hit import Hit, SearchRecord
from ._local import LocalCorpus
from ._provider import ProviderSearch

__all__ = [
    "Brave",
    "Hit",
    "LocalCorpus",
    "ProviderSearch",
    "SearXNG",
    "Search",
    "SearchRecord",
    "Tavily",
    "as_search",
]
