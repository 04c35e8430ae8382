"""What the tests of all adapters have in common: the eight stream faults, a tool, a model at a server."""

from __future__ import annotations

import dataclasses
from typing import Any

from loopwright import Model, tool
from loopwright.models import Call, Response
from loopwright.testing import Reply, WireServer, calls, fault, text
from loopwright.testing._wire import response

ANSWER = "Fine: it is sunny in Oslo now, as everybody knows."
PIECES = dataclasses.replace(text(ANSWER), piece=6)
CALL = {"city": "Oslo"}
STATUSES = (429, 500, 529)

FAULTS: dict[str, Reply] = {
    **{f"h{status}": fault.status(status) for status in STATUSES},
    "cut arguments": calls(Call("weather", '{"city": "Os')),
    "early error": fault.error_event(after=0),
    "error amid a text": PIECES.but(fault.error_event(after=5)),
    "torn amid a text": PIECES.but(fault.cut(after=5)),
    "torn amid a call": dataclasses.replace(
        response(Response("Let me look.", [Call("weather", CALL)], reasoning="Where is Oslo?")), piece=6
    ).but(fault.cut(after=9)),
}
"""What strikes the first request, by name."""


def weather(city: str) -> str:
    """How the weather is in a city."""
    ASKED.append(city)
    return f"sunny in {city}"


OURS = tool(read_only=True)(weather)
ASKED: list[str] = []
"""The cities that were asked about."""


def model_at(server: WireServer, wire: str, **options: Any) -> Model:
    """A model that lives at a server, and does not wait long before it tries again."""
    names = {"anthropic": "anthropic:test", "chat": "openai-chat:test", "responses": "openai-responses:test"}
    return Model(names[wire], base_url=server.url, api_key="sk-test", retry={"base": 0.01}, **options)
