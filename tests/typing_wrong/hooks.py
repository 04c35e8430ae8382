"""Mistakes in hooks: each line that is marked is refused by mypy and by pyright."""

from __future__ import annotations

from typing import Any

from loopwright.hooks import (
    AddContext,
    CallModel,
    CallModelAsync,
    CallSubject,
    CallTool,
    HookContext,
    Hooks,
    Replace,
    RequestSubject,
    RoundSubject,
    Veto,
)
from loopwright.wire import Response

hooks = Hooks()


def of_calls(context: HookContext[CallSubject]) -> None:
    print(context.subject.name)


def of_nothing() -> None: ...


def says_text(context: HookContext[RequestSubject]) -> str:
    return context.subject.text


def replaces(context: HookContext[RoundSubject]) -> Replace:
    return Replace("x")


def adds(context: HookContext[Any]) -> AddContext:
    return AddContext("x")


async def vetoes(context: HookContext[Any]) -> Veto:
    return Veto("x")


def alone(context: HookContext[RequestSubject]) -> Response:
    raise NotImplementedError


def counts(context: HookContext[RequestSubject], call_next: CallModel) -> int:
    return 3


def of_a_tool(context: HookContext[CallSubject], call_next: CallTool) -> Any:
    return call_next()


async def blocks(context: HookContext[RequestSubject], call_next: CallModel) -> Response:
    return call_next()


def changes(context: HookContext[RequestSubject], call_next: CallModel) -> Response:
    return call_next(temprature=0.0)  # E a member that there is not


async def forgets(context: HookContext[RequestSubject], call_next: CallModelAsync) -> Response:
    return call_next()  # E it is to be awaited


def of_arguments(context: HookContext[CallSubject], call_next: CallTool) -> Any:
    return call_next({"path": "/"})  # E a call runs with the arguments that were judged


hooks.pre_llm(of_calls)  # E another stage's subject
hooks.pre_llm(of_nothing)  # E it takes a context
hooks.pre_llm(says_text)  # E text is no answer
hooks.pre_reason(replaces)  # E a round can't be replaced
hooks.pre_output(adds)  # E nobody reads it any more
hooks.post_reflect(vetoes)  # E it is over
hooks.pre_llm(timeout="1")  # E seconds are a number
hooks.pre_llm(on_error="ignore")  # E there is no such way
hooks.pre_lllm(of_calls)  # E no stage
hooks.around_model(alone)  # E it takes what calls the next
hooks.around_model(counts)  # E a number is no answer
hooks.around_model(of_a_tool)  # E of a tool
hooks.around_model(blocks)  # E it would block the loop
hooks.around_tool(counts)  # E of a model
hooks.around_model(inline=True)  # E it waits
