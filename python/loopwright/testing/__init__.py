"""Test doubles: a scripted model without any network, and a server that speaks the providers' protocols for real.

    from loopwright.testing import ScriptedModel, WireServer, call, fault, text

    agent = Agent(ScriptedModel([call("lookup", key="a"), text("done")]), tools=[lookup])

    with WireServer([call("lookup", key="a"), fault.status(529), text("done")]) as server:
        agent = Agent("anthropic:any", base_url=server.url, api_key="k", tools=[lookup])

Replies are given in order, one for each request.
"""

from __future__ import annotations

from ._batches import Batch, Batches
from ._cache import CacheRules, CacheUse, PromptCache
from ._scripted import ScriptedModel, UnconsumedReplies, UnexpectedRequest
from ._wire import Reply, WireServer, call, calls, fault, recorded, response, text

__all__ = [
    "Batch",
    "Batches",
    "CacheRules",
    "CacheUse",
    "PromptCache",
    "Reply",
    "ScriptedModel",
    "UnconsumedReplies",
    "UnexpectedRequest",
    "WireServer",
    "call",
    "calls",
    "fault",
    "recorded",
    "response",
    "text",
]
