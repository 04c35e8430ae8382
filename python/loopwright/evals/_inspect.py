"""An agent as an agent and a solver of `inspect-ai`.

Requests go through a model of inspect's that hands them on to the agent's own: so inspect sees each with its usage,
logs it, and holds the run to its limits. Calls of tools are told to its transcript.
"""

from __future__ import annotations

import logging
from contextvars import ContextVar
from datetime import datetime, timezone
from functools import cache
from typing import TYPE_CHECKING, Any

from loopwright._front import said_with
from loopwright._run_options import taken, varied
from loopwright.errors import UsageError
from loopwright.hooks import Hook

from ._inspect_messages import answer_of, conversation, failure, from_ours, output_of, tools_of
from ._packages import need_inspect
from ._prompt import checked_agent

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from loopwright import Agent, Result
    from loopwright.hooks import CallModelAsync, CallSubject, CallToolAsync, HookContext, RequestSubject

__all__ = ["solver"]

_log = logging.getLogger("loopwright.evals")
_answering: ContextVar[Callable[[], Awaitable[Any]]] = ContextVar("_answering")
"""What asks the agent's own model, for the model of inspect's that stands before it."""
_HIDDEN = ("model", "messages")


def solver(agent: Agent[Any, Any], *, deps: Any = None, inspect_model: bool = False, **options: Any) -> Any:
    """The agent as an agent of `inspect-ai`, which takes it as a solver, too.

    ::

        task = Task(dataset=samples, solver=evals.solver(agent), scorer=includes())

    The messages of a sample are the conversation so far; those of the run are added. Each request and each call of a
    tool is an event in the log; `output.metadata["loopwright"]` tells the reason to stop, the run's id and its cost.

    Args:
        agent: An `Agent`. It stays as it is, and keeps its model.
        deps: What tools and instructions get as `context.deps`, in every sample.
        inspect_model: Whether the model that inspect runs with (`--model`) answers instead of the agent's own: with
            inspect's settings, retries and cache.
        options: Options of each run, as `agent.run` takes them: `model`, `budget`, `journal`, `approve`, …

    Raises a `UsageError`: `missing_extra`, `wrong_version`, `invalid_agent`, `unknown_option`.
    """
    need_inspect()
    checked_agent(agent)
    taken("evals.solver", options, "messages")
    from inspect_ai.agent import agent as registered

    name = agent.name or "agent"

    async def execute(state: Any) -> Any:
        """Works on a conversation, and goes on with it."""
        before, prompt, instructions = conversation(state.messages)
        watch = _Watch(theirs=inspect_model)
        run = varied(agent, {**{each: options[each] for each in ("model",) if each in options}})
        run = run._changed({"hooks": watch.around(run._given["hooks"])})
        more = {each: value for each, value in options.items() if each not in _HIDDEN}
        if instructions is not None:
            more["instructions"] = said_with(more.get("instructions"), instructions)
        try:
            result = await run.run(prompt, deps=deps, messages=before, **more)
        except Exception:
            watch.raise_limit()
            raise
        watch.raise_limit()
        state.messages = [*state.messages, *from_ours(result.new_messages.to_dicts()[1:], result.model)]
        state.output = _ended(result)
        return state

    def stores() -> Any:
        return execute

    stores.__name__ = stores.__qualname__ = name
    return registered(name=name, description=agent.description or "")(stores)()


class _Came:
    """What the agent's own model answered to a request, or raised."""

    def __init__(self, call_next: CallModelAsync) -> None:
        self._call_next = call_next
        self.response: Any = None
        self.error: Exception | None = None

    async def answer(self) -> Any:
        """The answer, for inspect."""
        try:
            self.response = await self._call_next()
        except Exception as error:
            self.error = error
            raise
        told = self.response.to_dict()
        return output_of(told, told.get("model") or "")


class _Watch:
    """Tells inspect about the requests and the calls of a run; keeps the limit of inspect's that was reached."""

    def __init__(self, *, theirs: bool) -> None:
        self.limit: BaseException | None = None
        self._theirs = theirs

    def around(self, hooks: Any) -> list[Any]:
        """The hooks of an agent, with ours outermost."""
        from loopwright.hooks._hook import flattened

        own = [] if hooks is None else flattened(hooks)
        ours = (("around_model", self.asked), ("around_tool", self.called))
        return [*(Hook(stage, each, timeout=None, on_error="stop") for stage, each in ours), *own]

    def raise_limit(self) -> None:
        """Raises the limit that was reached, as inspect wants to see it."""
        if self.limit is not None:
            raise self.limit

    async def asked(self, context: HookContext[RequestSubject], call_next: CallModelAsync) -> Any:
        """A request, by way of inspect's model."""
        from inspect_ai.util import LimitExceededError

        request, came = context.subject, _Came(call_next)
        token = _answering.set(came.answer)
        try:
            shown = request.to_dict()
            messages = from_ours(shown["messages"], system=request.system)
            if self._theirs:
                return answer_of(await _theirs().generate(messages, tools=tools_of(shown.get("tools") or ())))
            await _model(request.model).generate(messages, tools=tools_of(shown.get("tools") or ()))
        except LimitExceededError as error:
            self.limit = error
            raise
        except Exception:
            if self._theirs:
                raise
            # No run is lost because a log is.
            if came.error is not None:
                # As the model raised it, so that it is retried as ever.
                raise came.error from None
            if came.response is None:
                _log.warning("inspect could not log a request of %s", request.model, exc_info=True)
        finally:
            _answering.reset(token)
        return await call_next() if came.response is None else came.response

    async def called(self, context: HookContext[CallSubject], call_next: CallToolAsync) -> Any:
        """A call of a tool, told when it has ended."""
        call, began = context.subject, datetime.now(timezone.utc)
        try:
            value = await call_next()
        except Exception as error:
            kind = getattr(error, "kind", None) or type(error).__name__
            told = {"is_error": True, "failure": {"kind": kind, "message": str(error)}}
            _tell(call, "", failure(told), began)
            raise
        _tell(call, value if isinstance(value, str) else _written(value), None, began)
        return value


def _written(value: Any) -> str:
    from pydantic_core import to_json

    return to_json(value, fallback=str).decode()


def _tell(call: CallSubject, result: str, error: Any, began: datetime) -> None:
    from inspect_ai.event import ToolEvent
    from inspect_ai.log import transcript

    ended = datetime.now(timezone.utc)
    event = ToolEvent(
        id=call.call_id,
        function=call.name,
        arguments=call.arguments,
        result=result,
        error=error,
        timestamp=began,
        completed=ended,
        working_time=(ended - began).total_seconds(),
        failed=error is not None or None,
    )
    # The only way for events of tools that are not inspect's own.
    transcript()._event(event)


def _theirs() -> Any:
    """The model that inspect runs with."""
    from inspect_ai.model import get_model

    found = get_model()
    if found.api.model_name == "none":
        message = "inspect runs with no model, and the agent's requests are to go to it"
        raise UsageError(message, "no_model", "give inspect --model, or leave inspect_model out")
    return found


@cache
def _model(name: str) -> Any:
    """The model of inspect's that hands requests on to one of ours."""
    from inspect_ai.model import GenerateConfig, ModelAPI, get_model, modelapi

    class Handing(ModelAPI):  # type: ignore[misc]
        async def generate(self, *_: Any, **__: Any) -> Any:
            return await _answering.get()()

        def max_connections(self) -> int:
            # How many run at once is up to the agent.
            return 1_000

    @modelapi(name="loopwright")  # type: ignore[untyped-decorator]
    def loopwright() -> type[ModelAPI]:
        return Handing

    return get_model(f"loopwright/{name}", memoize=False, config=GenerateConfig())


def _ended(result: Result[Any]) -> Any:
    """What a run came to, as inspect's output of a model."""
    from inspect_ai.model import ModelOutput

    output = ModelOutput.from_content(model=result.model, content=result.final or "")
    told = {"stop_reason": result.stop_reason, "run_id": result.run_id, "cost": result.cost, "message": result.message}
    output.metadata = {"loopwright": {name: value for name, value in told.items() if value is not None}}
    return output
