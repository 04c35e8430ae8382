"""The inputs of a case as a prompt, and the agent that is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopwright.errors import UsageError

if TYPE_CHECKING:
    from loopwright import Agent

__all__ = ["checked_agent", "prompt_of"]


def checked_agent(agent: Any) -> Agent[Any, Any]:
    """The agent, if it is one; a `UsageError` otherwise."""
    from loopwright.agent import Agent

    if not isinstance(agent, Agent):
        message = f"a {type(agent).__name__} can't be evaluated"
        raise UsageError(message, "invalid_agent", "give a loopwright.Agent")
    return agent


def prompt_of(inputs: Any) -> Any:
    """Text, messages and blocks as they are; anything else as JSON."""
    from loopwright import messages

    blocks = (str, messages.Message, messages.Text, messages.Image, messages.Document)
    listed = inputs if isinstance(inputs, list) else [inputs]
    if listed and all(isinstance(each, blocks) for each in listed):
        return inputs
    from pydantic_core import to_json

    return to_json(inputs).decode()
