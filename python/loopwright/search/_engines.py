"""Search engines that are asked over HTTP: SearXNG, Brave, Tavily."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from loopwright.errors import ProviderError, UsageError

from ._base import Key, Web
from ._hit import parsed, web_hits

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._hit import Hit

__all__ = ["Brave", "SearXNG", "Tavily"]


def _address(given: str | None, name: str) -> str:
    found = given or os.environ.get(name)
    if not isinstance(found, str) or not found.strip().lower().startswith(("http://", "https://")):
        message = f"{found!r} is no address" if found else "the address is missing"
        raise UsageError(message, "invalid_url", f"give http://host:port, or set {name}")
    return found.strip().rstrip("/")


class SearXNG(Web):
    """A SearXNG instance; the JSON format must be among the `search.formats` of its settings.

    `url` is its address (or `SEARXNG_URL`); it may be in a private network, since it is yours.
    """

    name = "SearXNG"

    def __init__(
        self,
        url: str | None = None,
        *,
        engines: Iterable[str] = (),
        categories: Iterable[str] = (),
        language: str | None = None,
        time_range: str | None = None,
        safesearch: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        address = _address(url, "SEARXNG_URL")
        self._url = address if address.endswith("/search") else f"{address}/search"
        given = {
            "engines": ",".join(engines),
            "categories": ",".join(categories),
            "language": language,
            "time_range": time_range,
            "safesearch": safesearch,
        }
        self._options = {name: str(value) for name, value in given.items() if value not in (None, "")}

    _refused = "its settings do not allow the JSON format"

    async def find(self, query: str, k: int) -> list[Hit]:
        asked = {"q": query, "format": "json", **self._options}
        try:
            answer = await self._ask(self._url, query=asked, allow_private=True)
        except ProviderError as error:
            if error.code == "auth":
                raise ProviderError(error.message, "auth", "add json to search.formats in settings.yml") from error
            raise
        found = parsed(answer, self.name)
        return web_hits(found.get("results"), k, snippet=("content",), text=(), published=("publishedDate",))


class Brave(Web):
    """Brave's web search. The key is `key`, or `BRAVE_API_KEY` or `BRAVE_SEARCH_API_KEY` in the environment."""

    name = "Brave"

    def __init__(
        self,
        key: str | None = None,
        *,
        country: str | None = None,
        language: str | None = None,
        freshness: str | None = None,
        base_url: str = "https://api.search.brave.com",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._key = Key(key, ("BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"), self.name)
        self._url = f"{_address(base_url, '')}/res/v1/web/search"
        self._private = base_url != "https://api.search.brave.com"
        given = {"country": country, "search_lang": language, "freshness": freshness}
        self._options = {name: value for name, value in given.items() if value}

    async def find(self, query: str, k: int) -> list[Hit]:
        # Longer queries are refused.
        words = " ".join(query.split()[:50])[:400]
        asked = {"q": words, "count": str(min(k, 20)), "text_decorations": "false", **self._options}
        headers = {"X-Subscription-Token": self._key()}
        found = parsed(await self._ask(self._url, query=asked, headers=headers, allow_private=self._private), self.name)
        web = found.get("web")
        results = web.get("results") if isinstance(web, dict) else None
        items = []
        for item in results if isinstance(results, list) else []:
            if not isinstance(item, dict):
                continue
            extra = item.get("extra_snippets")
            parts = [item.get("description"), *(extra[:5] if isinstance(extra, list) else [])]
            items.append({**item, "description": " … ".join(part for part in parts if isinstance(part, str))})
        return web_hits(items, k, snippet=("description",), text=(), published=("page_age", "age"))


class Tavily(Web):
    """Tavily's search. The key is `key`, or `TAVILY_API_KEY` in the environment.

    `texts` asks for the text of each page as well, so that it need not be fetched.
    """

    name = "Tavily"

    def __init__(
        self,
        key: str | None = None,
        *,
        depth: str = "basic",
        topic: str = "general",
        texts: bool = False,
        include_domains: Iterable[str] = (),
        exclude_domains: Iterable[str] = (),
        base_url: str = "https://api.tavily.com",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._key = Key(key, ("TAVILY_API_KEY",), self.name)
        self._url = f"{_address(base_url, '')}/search"
        self._private = base_url != "https://api.tavily.com"
        self._options: dict[str, Any] = {"search_depth": depth, "topic": topic, "include_raw_content": texts}
        for name, domains in (("include_domains", include_domains), ("exclude_domains", exclude_domains)):
            if listed := list(domains):
                self._options[name] = listed

    async def find(self, query: str, k: int) -> list[Hit]:
        body = json.dumps({"query": query, "max_results": min(k, 20), **self._options})
        headers = {"Authorization": f"Bearer {self._key()}"}
        found = parsed(await self._ask(self._url, headers=headers, body=body, allow_private=self._private), self.name)
        return web_hits(
            found.get("results"), k, snippet=("content",), text=("raw_content",), published=("published_date",)
        )
