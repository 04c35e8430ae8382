"""Calls that a model wrote into its text, for chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage
from langchain_core.output_parsers import BaseGenerationOutputParser

from loopwright.adapters._calls import with_calls

from ._messages import FORM, answered

if TYPE_CHECKING:
    from langchain_core.outputs import Generation

__all__ = ["CallParser", "parsed"]


class CallParser(BaseGenerationOutputParser[AIMessage]):
    """An output parser: `model | CallParser(tools=[search])` gives the answer with the calls that its text holds.

    For models that write calls instead of making them, whichever dialect they write. `tools` are what
    `loopwright.extraction.extract` takes; without them any name counts.
    """

    tools: Any = None

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> AIMessage:
        """The answer with its calls."""
        del partial
        return parsed(getattr(result[0], "message", None) or AIMessage(result[0].text), self.tools)


def parsed(message: AIMessage, tools: Any) -> AIMessage:
    """The answer with its calls; the very same where its text holds none."""
    (ours,) = FORM.read(message)
    found = with_calls(ours, tools)
    if found is ours:
        return message
    made = answered(found)
    return message.model_copy(update={"content": made.content, "tool_calls": made.tool_calls})
