"""A result as JSON, and as the few lines that follow an answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from loopwright._dataclasses import asdict
from loopwright.guard import redact

from .exit_codes import LIMIT, NEEDS_INPUT, STUCK, exit_code
from .journals import journal_of
from .screen import Style
from .text import clean, one_line, plural, seconds

if TYPE_CHECKING:
    from loopwright import LoopwrightError, Result

    from .screen import Screen

__all__ = ["error_line", "failure_json", "figures", "result_json", "show_ending", "show_words"]


def result_json(result: Result[Any], failure: LoopwrightError | None = None, **more: Any) -> str:
    """All of a result, and of the error that broke the run off, as one line of ASCII."""
    found: dict[str, Any] = {
        "final": result.final,
        "stop_reason": result.stop_reason,
        "exit_code": exit_code(result.stop_reason, failure),
        "verified": result.verified,
        "message": result.message,
        "best_draft": result.best_draft,
        "model": result.model,
        "run_id": result.run_id,
        "attempts": result.attempts,
        "rounds": result.rounds,
        "tool_rounds": result.tool_rounds,
        "searches": result.searches,
        "duration": result.duration,
        "usage": {**asdict(result.usage), "total_tokens": result.usage.total_tokens},
        "cost": result.cost,
        "sources": [asdict(source) for source in result.sources],
        "tool_calls": [asdict(call) for call in result.tool_calls],
        "iterations": result.iterations,
        "warnings": result.warnings,
        "transcript": result.transcript,
        "messages": result.messages.to_dicts(),
        "journal": result.journal,
        "error": _error(failure or result.error),
        **more,
    }
    return json.dumps(found)


def failure_json(error: LoopwrightError, code: int) -> str:
    """An error that left no result."""
    return json.dumps({"final": None, "stop_reason": "error", "exit_code": code, "error": _error(error)})


def _error(error: LoopwrightError | None) -> dict[str, Any] | None:
    if error is None:
        return None
    return {
        "code": error.code,
        "message": redact(error.message),
        "hint": None if error.hint is None else redact(error.hint),
        "kind": type(error).__name__,
        "status": error.status,
        "retry_after": error.retry_after,
        "request_id": None if error.request_id is None else redact(error.request_id),
    }


def error_line(error: LoopwrightError) -> str:
    """An error as one clear line."""
    hint = f" ({one_line(error.hint)})" if error.hint else ""
    return f"error: {one_line(error.message)}{hint}"


def show_words(result: Result[Any], screen: Screen, failure: LoopwrightError | None = None) -> None:
    """Why it ended and what to do next, where that is not plain; an error that broke it off is told by itself."""
    code = exit_code(result.stop_reason, failure)
    if not code or failure is not None:
        return
    screen.say(clean(result.message or ""), style=Style.YELLOW)
    if code in (LIMIT, NEEDS_INPUT, STUCK) and journal_of(result) is not None:
        screen.note(f'loopwright answer {result.run_id} "…"', style=Style.DIM)


def figures(result: Result[Any]) -> str:
    """What a run took, in one line."""
    took = [clean(result.model), plural(result.rounds, "request")]
    if result.tool_calls:
        took.append(plural(len(result.tool_calls), "tool call"))
    if result.usage.total_tokens:
        took.append(plural(result.usage.total_tokens, "token"))
    if result.cost:
        took.append(f"cost {result.cost:.4f}")
    took.append(seconds(result.duration))
    return " · ".join(took)


def show_ending(result: Result[Any], screen: Screen) -> None:
    """What it took, and where its journal is."""
    screen.note("")
    screen.note(f"{result.stop_reason} · {figures(result)}", style=Style.DIM)
    journal = journal_of(result)
    if journal is not None:
        screen.note(f"journal: {journal}", style=Style.DIM)
