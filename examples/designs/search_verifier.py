"""A claim, verified with a search engine: searches told live, counted and timed, and a verdict with or without them.

The provider and its search are played by a server on a real socket; with `anthropic:claude-sonnet-4-5` and a key the
rest stays as it is.
"""

from __future__ import annotations

import asyncio
from typing import Any

from loopwright import Model
from loopwright.events import RoundFinished, TextDelta
from loopwright.presets import SearchStatus, Verification, verifier
from loopwright.testing import Reply, WireServer, fault, response, text

SCORED = 'It holds.\n```json\n{"evidence": 90, "epistemology": 80, "sources": 70, "logic": 90, "verdict": "true"}\n```'
FOUND = {"type": "web_search_result", "url": "https://example.org/bridge", "title": "Bridge", "encrypted_content": "Ek"}
BROKEN = {"type": "web_search_tool_result_error", "error_code": "unavailable"}


def searched(query: str, words: str, *, stop: str = "end_turn", found: Any = (FOUND,)) -> Reply:
    """An answer during which the provider searched, in the shape that Anthropic's answers have."""
    asked = {"type": "server_tool_use", "id": f"srvtoolu_{query}", "name": "web_search", "input": {"query": query}}
    gave = {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{query}", "content": found}
    content: list[Any] = [{"type": "provider", "wire": "anthropic", "raw": raw} for raw in (asked, gave)]
    content.append({"type": "text", "text": words})
    usage = {"input": 400, "output": 60, "provider_tool_uses": 1}
    return response({"model": "", "message": {"role": "assistant", "content": content}, "stop": stop, "usage": usage})


async def verify(claim: str, *replies: Reply) -> None:
    with WireServer(replies, strict="any") as server:
        check = verifier(Model("anthropic:scripted", base_url=server.url, api_key="none"))
        async for event in check.stream(claim):
            match event:
                case SearchStatus(state=state, query=query, count=count):
                    print(f"[search {state}: {query or '…'}; {count} so far]")
                case TextDelta(text=words):
                    print(words, end="", flush=True)
                case RoundFinished(round=number, duration=seconds):
                    print(f"\n[round {number} took {seconds:.3f} s]")
                case Verification() as verdict:
                    print(f"{verdict.findings['verdict']}, {verdict.scores.overall} of 100")
                    print(*(f"! {warning}\n" for warning in verdict.warnings), end="")
                    print(f"[{verdict.complexity}: {len(verdict.searches)} searches, {verdict.result.rounds} rounds]\n")


async def main() -> None:
    claim = "The bridge of Bergen opened in 1932."
    # The provider pauses its own turn, and goes on where it stopped.
    await verify(claim, searched("opened", "Let me see. ", stop="pause_turn"), searched("1932", SCORED))
    # The engine is down, then it is not even allowed: the verdict is worth less, but it is there.
    await verify(claim, searched("opened", SCORED, found=BROKEN))
    await verify(claim, fault.status(400, message="web_search is not enabled"), text(SCORED))


if __name__ == "__main__":
    asyncio.run(main())
