"""Hooks, as type checkers see them."""

from __future__ import annotations

from typing import Any

from loopwright import Agent
from loopwright.hooks import (
    AddContext,
    AnswerSubject,
    CallModel,
    CallModelAsync,
    CallSubject,
    CallTool,
    CallToolAsync,
    Hook,
    HookContext,
    Hooks,
    Replace,
    RequestSubject,
    ResponseSubject,
    ResultSubject,
    Veto,
)
from loopwright.models import ModelFailure
from loopwright.testing import ScriptedModel
from loopwright.wire import Response

hooks = Hooks()


@hooks.pre_llm
def brief(context: HookContext[RequestSubject]) -> Replace | None:
    return Replace({"system": "Be brief."}) if context.subject.system is None else None


@hooks.post_llm(timeout=2.0, on_error="stop")
async def clean(context: HookContext[ResponseSubject]) -> Replace:
    return Replace(context.subject.text.strip())


@hooks.pre_tool(inline=True)
def stay_home(context: HookContext[CallSubject]) -> Veto | None:
    return Veto("only files of the project") if context.subject.arguments.get("path") == "/" else None


@hooks.post_tool
def shorter(context: HookContext[ResultSubject]) -> Replace | AddContext:
    return Replace(context.subject.text[:1000])


@hooks.pre_llm
@hooks.post_llm
def both(context: HookContext[RequestSubject | ResponseSubject]) -> None:
    print(context.subject.text)


@hooks.pre_output
def any_of_them(context: HookContext) -> None:
    print(context.subject, context.deps)


@hooks.on("post_output")
def by_name(context: HookContext[AnswerSubject]) -> None:
    print(context.subject.text)


@hooks.around_model
async def again(context: HookContext[RequestSubject], call_next: CallModelAsync) -> Response:
    try:
        return await call_next()
    except ModelFailure:
        return await call_next(temperature=0.0, system="Try again.")


@hooks.around_model(name="cache", on_error="stop", timeout=30.0)
def cached(context: HookContext[RequestSubject], call_next: CallModel) -> Response | str:
    return "42" if context.subject.text == "?" else call_next(max_tokens=100)


@hooks.around_tool
async def timed(context: HookContext[CallSubject], call_next: CallToolAsync) -> Any:
    return await call_next()


@hooks.around_tool
def upper(context: HookContext[CallSubject], call_next: CallTool) -> str:
    return str(call_next()).upper() + context.subject.name


Agent(ScriptedModel(["x"]), hooks=[hooks, Hook("pre_assess", lambda context: AddContext("It is Sunday."))])
