"""Compaction, stuck detection and calls out of text as middleware of `create_agent`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware, ModelResponse
from langchain.tools import ToolRuntime  # noqa: TC002 - looked at by LangChain
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from loopwright.adapters._history import from_ours, to_ours
from loopwright.adapters._senses import Views, advice_for, checked_policy

from ._messages import FORM
from ._parser import parsed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from langchain.agents.middleware import ModelRequest

    from loopwright import ContextPolicy
    from loopwright.monitor import StuckPolicy

__all__ = ["Compaction", "ExtractedCalls", "StuckDetection"]


class _Before(AgentMiddleware):
    """Middleware that changes a request before it is made."""

    def changed(self, request: ModelRequest) -> ModelRequest:
        """The request as it is made."""
        raise NotImplementedError

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> ModelResponse:
        """Makes the changed request."""
        return handler(self.changed(request))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        """Makes the changed request."""
        return await handler(self.changed(request))


class Compaction(_Before):
    """Holds each request inside a budget: `create_agent(..., middleware=[Compaction(ContextPolicy(budget=100_000))])`.

    The state of the graph keeps the whole history; what of it the model is shown only grows between compactions, so
    that a provider's cache holds. What left the model gets back with the tool `recall`.
    """

    def __init__(self, policy: ContextPolicy | int, *, model: str | None = None) -> None:
        super().__init__()
        policy = checked_policy(policy)
        self._views = Views(policy, model)
        self.tools = [self._recall_tool()] if policy.recall else []

    def changed(self, request: ModelRequest) -> ModelRequest:
        """The request with the view in the place of the history."""
        ours = to_ours(FORM, request.messages)
        view = self._views.of(ours)
        return request if view == ours else request.override(messages=from_ours(FORM, view))

    def _recall_tool(self) -> StructuredTool:
        views = self._views

        def recall(runtime: ToolRuntime, handle: str = "", find: str = "", from_line: int = 1) -> str:
            """Gives back what was shortened or left out of this conversation.

            Args:
                runtime: The run, whose conversation it is.
                handle: A handle from a note such as `recall("k3f9qab")`.
                find: Words to look for in everything that left; or, with a handle, in that.
                from_line: The first line wanted.
            """
            history = to_ours(FORM, runtime.state["messages"])
            return views.recall(history, handle=handle, find=find, from_line=from_line)

        return StructuredTool.from_function(recall, parse_docstring=True)


class StuckDetection(_Before):
    """Tells a model that it repeats itself, and ends the run where it goes on: a `ModelError` (`no_progress`)."""

    def __init__(self, policy: StuckPolicy | None = None) -> None:
        super().__init__()
        self._policy = policy

    def changed(self, request: ModelRequest) -> ModelRequest:
        """The request with the advice, if there is some."""
        advice = advice_for(to_ours(FORM, request.messages, whole=False), self._policy)
        return request if advice is None else request.override(messages=[*request.messages, HumanMessage(advice)])


class ExtractedCalls(AgentMiddleware):
    """Calls that a model wrote into its text, as calls: for models that have none of their own."""

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> ModelResponse:
        """The answer with its calls."""
        return _extracted(request, handler(request))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        """The answer with its calls."""
        return _extracted(request, await handler(request))


def _extracted(request: ModelRequest, response: Any) -> Any:
    if not isinstance(response, ModelResponse):
        return response
    tools = [convert_to_openai_tool(each) for each in request.tools]
    response.result = [parsed(each, tools) if isinstance(each, AIMessage) else each for each in response.result]
    return response
