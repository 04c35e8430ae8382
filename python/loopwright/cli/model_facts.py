"""What is known of models and their providers, from the tables and from what would be sent."""

from __future__ import annotations

import re
from typing import Any

from loopwright import _core
from loopwright._dataclasses import dataclass, field
from loopwright.errors import LoopwrightError, UsageError

__all__ = ["ModelFacts", "ProviderState", "facts_of", "provider_state", "providers"]

_KNOWN = re.compile(r"known are ([\w, -]+);")
_NOTE = re.compile(r"adapted: \S+ with \S+ (.+)", re.DOTALL)
_ASKED: Any = {
    "temperature": 1.5,
    "top_p": 0.5,
    "stop": [f"stop {number}" for number in range(6)],
    "seed": 1,
    "effort": "low",
    "parallel_tool_calls": False,
    "tool_choice": "probe",
    "max_tokens": 100,
    "cache": "1h",
}
"""Every parameter that a host may refuse, where that is so with more than it takes."""
_OWN_WIRE = {"openai": "openai-responses"}
"""Providers that are spoken to otherwise at another address, and who is spoken to as they are at their own."""

_ELSEWHERE = {"openai-chat"}
"""Providers that take other things at another address."""


@dataclass(frozen=True)
class ProviderState:
    """A provider, and whether it can be asked from here."""

    name: str
    host: str | None
    """Where it is; `None` where that is not known."""
    wire: str | None
    missing: str | None
    """What is not set, in words; `None` if it can be asked."""


@dataclass(frozen=True)
class ModelFacts:
    """What is known of a model."""

    provider: ProviderState
    window: int | None
    price: dict[str, float | None] | None
    dialect: str | None
    """How it writes calls into text, where it is known to."""
    replaced: list[str] | None = field(default=None)
    """Parameters that are left out or asked for otherwise; `None` where that can't be said."""


def providers() -> list[str]:
    """The names of all providers."""
    try:
        _core.Endpoint("nobody:none")
    except UsageError as error:
        found = _KNOWN.search(error.hint or "")
        return found[1].split(", ") if found else []
    return []


def provider_state(name: str, model: str = "any") -> ProviderState:
    """Whether a provider can be asked: no request is sent. Raises `unknown_provider`."""
    model = "extractive" if name == "offline" else model
    try:
        endpoint = _core.Endpoint(f"{name}:{model}")
        return ProviderState(name, endpoint.host, endpoint.wire, None)
    except UsageError as error:
        if not error.code.startswith("missing_"):
            raise
        missing = error.message.rpartition(": ")[2]
    try:
        endpoint = _core.Endpoint(f"{name}:{model}", api_key="none")
    except UsageError:
        return ProviderState(name, None, None, missing)
    return ProviderState(name, endpoint.host, endpoint.wire, missing)


def facts_of(model: str) -> ModelFacts:
    """What is known of `provider:model`. Raises a `UsageError` for what is no such name."""
    from loopwright import prices
    from loopwright.extraction import dialect_for

    provider, _, name = model.partition(":")
    if not name:
        _core.Endpoint(model)
    price = prices.of(model)
    return ModelFacts(
        provider_state(provider, name),
        _core.window_of(model),
        None if price is None else price._asdict(),
        dialect_for(name),
        _replaced(provider, name),
    )


def _replaced(provider: str, name: str) -> list[str] | None:
    """What is left out or asked for otherwise: asked of a server on this machine, which speaks as the provider does."""
    from dataclasses import make_dataclass
    from typing import Annotated

    from loopwright import Agent, Model, Output, tool
    from loopwright.testing import WireServer, text
    from loopwright.tools import WebSearch

    if provider == "offline":
        return []
    if provider in _ELSEWHERE:
        return None

    @tool(read_only=True)
    def probe(number: int) -> int:
        """Gives the number."""
        return number

    answer = make_dataclass("Answer", [("number", int)])
    runs: list[dict[str, Any]] = [
        {"settings": _ASKED, "tools": [probe]},
        {"output_type": Annotated[answer, Output(mode="native")]},
        {"tools": [WebSearch()]},
    ]
    notes: list[str] = []
    try:
        with WireServer([text('{"number": 1}')], repeat_last=True) as server:
            asked = Model(f"{_OWN_WIRE.get(provider, provider)}:{name}", base_url=server.url, api_key="none")
            for options in runs:
                agent: Agent[Any, Any] = Agent(asked, **options)
                notes += [each for each in agent.run_sync("1").warnings if each not in notes]
    except LoopwrightError:
        return None
    return [found[1] for found in map(_NOTE.fullmatch, notes) if found is not None]
