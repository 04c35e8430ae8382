"""Functions around a request of the model and around a call of a tool, in all ways to run."""

from __future__ import annotations

from collections.abc import Callable

from loopwright.hooks import CallModel, CallModelAsync, HookContext, Hooks, RequestSubject
from loopwright.models import ModelFailure
from loopwright.testing import WireServer, fault
from loopwright.wire import Response
from ways import agent_at, run

Serve = Callable[..., WireServer]


def test_d03_a_request_is_made_again_and_answered_from_a_cache(serve: Serve, wire: str, way: str) -> None:
    hooks = Hooks()
    kept: dict[str, Response] = {}
    failed: list[str] = []

    @hooks.around_model
    def cache(context: HookContext[RequestSubject], call_next: CallModel) -> Response:
        key = context.subject.text
        if key not in kept:
            kept[key] = call_next()
        return kept[key]

    @hooks.around_model
    async def again(context: HookContext[RequestSubject], call_next: CallModelAsync) -> Response:
        try:
            return await call_next()
        except ModelFailure as failure:
            failed.append(failure.code)
            return await call_next(temperature=0.5)

    server = serve(fault.status(503), "It is sunny.")
    agent = agent_at(server, wire, hooks=hooks)
    first, _ = run(agent, "How is the weather?", way)
    second, _ = run(agent, "How is the weather?", way)
    assert [first.output, second.output] == ["It is sunny."] * 2
    assert failed == ["overloaded"]
    assert len(server.requests) == 2
    assert first.usage.total_tokens > 0
    assert second.usage.total_tokens == 0
