"""The options that an agent had in 0.1. They are still taken, each with a warning that gives today's word."""

from __future__ import annotations

import functools
import inspect
import warnings
from typing import TYPE_CHECKING, Any, TypeVar

from ._words import today, unknown

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["OPTIONS", "takes_old_words"]

Function = TypeVar("Function", bound="Callable[..., Any]")

OPTIONS = frozenset(
    {
        "system",
        "base_url",
        "api_key",
        "headers",
        "approve",
        "policy",
        "approvals",
        "cautious",
        "workspace",
        "provider_tools",
        "web_search",
        "max_tokens",
        "temperature",
        "top_p",
        "stop",
        "effort",
        "tool_choice",
        "tool_format",
        "read_markup",
        "cache",
        "timeouts",
        "retry",
        "stuck",
        "momentum",
        "check_in",
        "approval_timeout",
        "price",
        "durable",
        "seed",
        "labels",
        "max_children",
        "max_depth",
        "complexity",
        "roles",
        "choose_model",
        "take_suggestions",
        "escalate_to",
        "wind_down",
        "user",
        "session",
        "recall",
        "after",
    }
)


def takes_old_words(function: Function) -> Function:
    """The `__init__` of an agent: words of 0.1 are kept beside its options, others are an error."""
    known = [name for name in inspect.signature(function).parameters if name != "self"]

    @functools.wraps(function)
    def begin(self: Any, *values: Any, **given: Any) -> None:
        before: dict[str, Any] = {}
        for name in [name for name in given if name not in known]:
            if name not in OPTIONS:
                raise unknown("Agent", name, known)
            before[name] = given.pop(name)
        if before:
            words = ", ".join(f"{name} ({today(name)})" for name in before)
            warnings.warn(f"options of an Agent have other names now: {words}", DeprecationWarning, stacklevel=2)
        self._kept = lambda: ({}, before)
        function(self, *values, **given)

    return begin  # type: ignore[return-value]
