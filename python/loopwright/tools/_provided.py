"""Tools that the provider of a model runs itself: its web search, and whatever else it has, in its own form.

They stand among the tools of an agent: `Agent("anthropic:claude-sonnet-4-5", tools=[look_up, WebSearch(max_uses=3)])`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loopwright.errors import UsageError

__all__ = ["ProviderTool", "WebSearch"]


class ProviderTool:
    """A tool that the provider runs, in its own form: a mapping with its `type`."""

    def __init__(self, form: Mapping[str, Any]) -> None:
        if not isinstance(form, Mapping):
            message = f"a ProviderTool can't be {form!r:.100}"
            raise UsageError(message, "invalid_option", "give the provider's own form, as {'type': 'code_interpreter'}")
        self.form = dict(form)

    def __repr__(self) -> str:
        return f"ProviderTool({self.form!r})"


class WebSearch:
    """The web search of the model's provider: so often a run at most, in these domains alone, or in all but those."""

    def __init__(
        self,
        *,
        max_uses: int | None = None,
        allowed_domains: Sequence[str] | None = None,
        blocked_domains: Sequence[str] | None = None,
    ) -> None:
        given = {"max_uses": max_uses, "allowed_domains": allowed_domains, "blocked_domains": blocked_domains}
        self.settings: dict[str, Any] = {
            name: value if isinstance(value, (int, str)) else list(value)
            for name, value in given.items()
            if value is not None
        }

    def __repr__(self) -> str:
        return f"WebSearch({', '.join(f'{name}={value!r}' for name, value in self.settings.items())})"
