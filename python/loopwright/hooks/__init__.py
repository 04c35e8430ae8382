"""Hooks: functions of your own at twelve stages of a run, which may look, change, add and say no, or stand around its
requests and calls.

::

    from loopwright import Agent
    from loopwright.hooks import Hook, Hooks, Replace, Veto, audit

    hooks = Hooks()

    @hooks.pre_tool
    def stay_home(context):
        if "/etc" in context.subject.arguments.get("path", ""):
            return Veto("only files of the project are read")

    @hooks.around_tool
    def cached(context, call_next):
        path = context.subject.arguments["path"]
        if path not in known:
            known[path] = call_next()
        return known[path]

    agent = Agent("anthropic:claude-sonnet-4-5", tools=[read], hooks=[hooks, audit("audit.jsonl")])

Each stage's hooks run in order, each within its time limit; a hook sees what the ones before it made of the subject.
One that fails is an event (`HookFailed`), and is skipped or stops the run as it says itself.
"""

from __future__ import annotations

# What type checkers take for true. `typing` itself is slow to import.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from ._answers import AddContext, Continue, Replace, Veto
    from ._builtin import audit, capture_output, content_safety, cost, loop_detection
    from ._context import (
        AnswerSubject,
        AssessmentSubject,
        CallSubject,
        DecisionSubject,
        HookContext,
        PromptSubject,
        RequestSubject,
        ResponseSubject,
        ResultSubject,
        RoundSubject,
        Spent,
    )
    from ._hook import AROUND, STAGES, Hook, HookError, Hooks
    from ._models import ModelChoice, ModelContext, Router
    from ._run import HookReply, run_stage, run_stage_async
    from ._stages import CallModel, CallModelAsync, CallTool, CallToolAsync, ModelAnswer, RequestChanges

_HOMES = {
    "AROUND": "_hook",
    "AddContext": "_answers",
    "AnswerSubject": "_context",
    "AssessmentSubject": "_context",
    "CallModel": "_stages",
    "CallModelAsync": "_stages",
    "CallSubject": "_context",
    "CallTool": "_stages",
    "CallToolAsync": "_stages",
    "Continue": "_answers",
    "DecisionSubject": "_context",
    "Hook": "_hook",
    "HookContext": "_context",
    "HookError": "_hook",
    "HookReply": "_run",
    "Hooks": "_hook",
    "ModelAnswer": "_stages",
    "ModelChoice": "_models",
    "ModelContext": "_models",
    "PromptSubject": "_context",
    "Replace": "_answers",
    "RequestChanges": "_stages",
    "RequestSubject": "_context",
    "ResponseSubject": "_context",
    "ResultSubject": "_context",
    "RoundSubject": "_context",
    "Router": "_models",
    "STAGES": "_hook",
    "Spent": "_context",
    "Veto": "_answers",
    "audit": "_builtin",
    "capture_output": "_builtin",
    "content_safety": "_builtin",
    "cost": "_builtin",
    "loop_detection": "_builtin",
    "run_stage": "_run",
    "run_stage_async": "_run",
}

__all__ = [
    "AROUND",
    "STAGES",
    "AddContext",
    "AnswerSubject",
    "AssessmentSubject",
    "CallModel",
    "CallModelAsync",
    "CallSubject",
    "CallTool",
    "CallToolAsync",
    "Continue",
    "DecisionSubject",
    "Hook",
    "HookContext",
    "HookError",
    "HookReply",
    "Hooks",
    "ModelAnswer",
    "ModelChoice",
    "ModelContext",
    "PromptSubject",
    "Replace",
    "RequestChanges",
    "RequestSubject",
    "ResponseSubject",
    "ResultSubject",
    "RoundSubject",
    "Router",
    "Spent",
    "Veto",
    "audit",
    "capture_output",
    "content_safety",
    "cost",
    "loop_detection",
    "run_stage",
    "run_stage_async",
]


if not TYPE_CHECKING:
    # Seen by a type checker, it would make each misspelt name an `Any`.

    def __getattr__(name: str) -> Any:
        home = _HOMES.get(name)
        if home is None:
            message = f"module 'loopwright.hooks' has no attribute {name!r}"
            raise AttributeError(message)
        from importlib import import_module

        value = getattr(import_module(f".{home}", __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
