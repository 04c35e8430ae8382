"""Test doubles: a scripted model without any network, and a server that speaks the providers' protocols for real.

    from loopwright.testing import ScriptedModel, WireServer, call, fault, text

    agent = Agent(ScriptedModel([call("lookup", key="a"), text("done")]), tools=[lookup])

    with WireServer([call("lookup", key="a"), fault.status(529), text("done")]) as server:
        agent = Agent(Model("anthropic:any", base_url=server.url, api_key="k"), tools=[lookup])

Replies are given in order, one for each request.
"""

from __future__ import annotations

# What type checkers take for true. Names are loaded when they are first used: pytest loads this with its plugins.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from ._batches import Batch, Batches
    from ._cache import CacheRules, CacheUse, PromptCache
    from ._cassette import Cassette
    from ._crash import CrashEverywhere
    from ._real import no_real_requests
    from ._scripted import ScriptedModel, UnconsumedReplies, UnexpectedRequest
    from ._wire import Reply, WireServer, call, calls, fault, recorded, response, text

_HOMES = {
    "Batch": "_batches",
    "Batches": "_batches",
    "CacheRules": "_cache",
    "CacheUse": "_cache",
    "Cassette": "_cassette",
    "CrashEverywhere": "_crash",
    "PromptCache": "_cache",
    "Reply": "_wire",
    "ScriptedModel": "_scripted",
    "UnconsumedReplies": "_scripted",
    "UnexpectedRequest": "_scripted",
    "WireServer": "_wire",
    "call": "_wire",
    "calls": "_wire",
    "fault": "_wire",
    "no_real_requests": "_real",
    "recorded": "_wire",
    "response": "_wire",
    "text": "_wire",
}

__all__ = [
    "Batch",
    "Batches",
    "CacheRules",
    "CacheUse",
    "Cassette",
    "CrashEverywhere",
    "PromptCache",
    "Reply",
    "ScriptedModel",
    "UnconsumedReplies",
    "UnexpectedRequest",
    "WireServer",
    "call",
    "calls",
    "fault",
    "no_real_requests",
    "recorded",
    "response",
    "text",
]


if not TYPE_CHECKING:
    # Seen by a type checker, it would make each misspelt name an `Any`.

    def __getattr__(name: str) -> Any:
        home = _HOMES.get(name)
        if home is None:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        from importlib import import_module

        value = getattr(import_module(f".{home}", __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
