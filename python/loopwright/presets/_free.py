"""Roles that cost nothing, as data: take them, or take them apart.

from loopwright import Agent, ContextPolicy, Guard, Monitor, presets

roles = presets.free_roles()
agent = Agent(
    "anthropic:claude-sonnet-4-5",
    context=ContextPolicy(summarizer=roles.summarizer),
    monitor=Monitor(sanity=roles.sanity),
    guard=Guard(supervisor=roles.supervisor),
)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopwright.roles import Role, Roles, Sanity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["FREE_MODELS", "free_roles"]

FREE_MODELS: Mapping[str, Sequence[str]] = {
    "summarizer": (
        "openrouter:meta-llama/llama-3.3-70b-instruct:free",
        "openrouter:google/gemma-3-27b-it:free",
        "openrouter:mistralai/mistral-small-3.2-24b-instruct:free",
    ),
    "sanity": (
        "openrouter:meta-llama/llama-3.3-70b-instruct:free",
        "openrouter:mistralai/mistral-small-3.2-24b-instruct:free",
        "openrouter:google/gemma-3-27b-it:free",
    ),
}
"""Models that OpenRouter has offered for nothing, by role. Such names come and go; the rules stand behind them."""

_NOTHING = {"input": 0.0, "output": 0.0}


def free_roles(
    models: Mapping[str, Sequence[str]] = FREE_MODELS,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
) -> Roles:
    """A summarizer and a sanity checker that cost nothing, and rules as the supervisor.

    Where no free model answers, the rules do. Private results go to no free model at all.

    >>> free_roles().summarizer.model
    'openrouter:meta-llama/llama-3.3-70b-instruct:free'
    >>> free_roles({"summarizer": ["ollama:qwen3"]}).sanity.model
    'rules'

    Args:
        models: The models of `summarizer` and `sanity`, in the order in which they are tried.
        base_url: Another server than OpenRouter's.
        api_key: The key; otherwise the environment has it (`OPENROUTER_API_KEY`).
    """

    def role(kind: type[Role], name: str) -> Role:
        chain = [
            Role(model, base_url=base_url, api_key=api_key, price=_NOTHING if model.endswith(":free") else None)
            for model in models.get(name, ())
        ]
        if not chain:
            return kind("rules")
        first, *others = chain
        return kind(first.model, fallback=others, base_url=base_url, api_key=api_key, price=first.price)

    return Roles(summarizer=role(Role, "summarizer"), sanity=role(Sanity, "sanity"), supervisor="rules")
