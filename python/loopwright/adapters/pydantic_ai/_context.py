"""Compaction and stuck detection as capabilities of pydantic-ai."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelRequest, UserPromptPart

from loopwright._dataclasses import replace
from loopwright.adapters._calls import with_calls
from loopwright.adapters._history import from_ours, to_ours
from loopwright.adapters._senses import View, advice_for, checked_policy

from ._messages import FORM, parts_of
from ._tools import LoopwrightToolset

if TYPE_CHECKING:
    from pydantic_ai import RunContext
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import ModelRequestContext

    from loopwright import ContextPolicy
    from loopwright.monitor import StuckPolicy

__all__ = ["Compaction", "ExtractedCalls", "StuckDetection"]


class Compaction(AbstractCapability[Any]):
    """Holds each request inside a budget: `Agent(..., capabilities=[Compaction(ContextPolicy(budget=100_000))])`.

    What of a history the model is shown only grows between compactions, so that a provider's cache holds. What left the
    model gets back with the tool `recall`.
    """

    def __init__(self, policy: ContextPolicy | int, *, model: str | None = None) -> None:
        self._policy, self._model = checked_policy(policy), model
        self._view = View(self._policy, model)

    async def for_run(self, ctx: RunContext[Any]) -> Compaction:
        """One view for each run."""
        del ctx
        return Compaction(self._policy, model=self._model)

    def get_toolset(self) -> LoopwrightToolset | None:
        """The tool for what left."""
        recall = self._view.recall
        return None if recall is None else LoopwrightToolset([recall], id="loopwright-recall")

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Puts the view in the place of the history."""
        del ctx
        ours = to_ours(FORM, request_context.messages)
        view = self._view.of(ours)
        if view != ours:
            request_context.messages = from_ours(FORM, view)
        return request_context


class StuckDetection(AbstractCapability[Any]):
    """Tells a model that it repeats itself, and ends the run where it goes on: a `ModelError` (`no_progress`)."""

    def __init__(self, policy: StuckPolicy | None = None) -> None:
        self._policy = policy

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Looks at what was called since the user spoke last."""
        del ctx
        advice = advice_for(to_ours(FORM, request_context.messages, whole=False), self._policy)
        last = request_context.messages[-1]
        if advice is not None and isinstance(last, ModelRequest):
            told = replace(last, parts=[*last.parts, UserPromptPart(content=advice)])
            request_context.messages = [*request_context.messages[:-1], told]
        return request_context


class ExtractedCalls(AbstractCapability[Any]):
    """Calls that a model wrote into its text, as calls: for models that have none of their own."""

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """The answer with its calls."""
        del ctx
        parameters = request_context.model_request_parameters
        offered = [*parameters.function_tools, *parameters.output_tools]
        tools = {each.name: each.parameters_json_schema for each in offered}
        (ours,) = FORM.read(response)
        found = with_calls(ours, tools)
        return response if found is ours else replace(response, parts=parts_of(found), finish_reason="tool_call")
