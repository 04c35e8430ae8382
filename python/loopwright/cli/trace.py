"""The phases of a grounded answer: how long each took and what came of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from loopwright._dataclasses import dataclass
from loopwright.guard import redact, redact_json

from .journals import journal_of
from .screen import Style
from .text import clean, one_line, plural, seconds, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopwright import Result

    from .screen import Screen

__all__ = ["PhaseTrace", "show_trace", "summary", "trace_of"]

_TEXT_AT = 21
"""The column at which a row's text begins."""


@dataclass(frozen=True)
class PhaseTrace:
    """A phase that is done."""

    phase: str
    attempt: int
    duration: float
    output: Any
    tokens: int


def trace_of(phases: Sequence[PhaseTrace]) -> list[dict[str, Any]]:
    """For JSON."""
    told = [dict(vars(phase)) for phase in phases]
    found: list[dict[str, Any]] = json.loads(redact_json(json.dumps(told, default=str)))
    return found


def show_trace(result: Result[Any], phases: Sequence[PhaseTrace], screen: Screen) -> None:
    """The trace, on stdout."""

    def row(name: str, duration: str, text: str) -> None:
        line = redact(f"  {name:<9} {duration:>7}  {text}")
        screen.answer(wrap(line, screen.columns, margin=_TEXT_AT) if screen.out_is_live else line)

    screen.answer("")
    screen.answer("Trace", style=Style.BOLD)
    for phase in phases:
        name = one_line(phase.phase) + (f" {phase.attempt}" if phase.attempt > 1 else "")
        row(name, seconds(phase.duration), summary(phase, clean(result.model)))
        for issue in _issues(phase.output):
            row("", "", issue)
    attempts = f" after {plural(result.attempts, 'attempt')}" if result.attempts else ""
    row("ended", seconds(result.duration), f"{result.stop_reason}{attempts}")
    journal = journal_of(result)
    if journal is not None:
        row("journal", "", journal)


def summary(phase: PhaseTrace, model: str = "") -> str:
    """What came of a phase, in a few words."""
    output = phase.output if isinstance(phase.output, dict) else {}
    if "error" in output:
        return f"failed: {one_line(str(output['error']))}"
    if phase.phase == "gather":
        files, matched = plural(_count(output, "files_seen"), "file"), _count(output, "files_matched")
        if not _count(output, "sources"):
            return f"looked through {files}, found nothing"
        sources = plural(_count(output, "sources"), "source")
        return f"looked through {files}, found something in {matched:,}, kept {sources}"
    if phase.phase == "act":
        parts = [model] if model else []
        parts.append(plural(_count(output, "rounds"), "request"))
        if _count(output, "tool_calls"):
            parts.append(plural(_count(output, "tool_calls"), "tool call"))
        if phase.tokens:
            parts.append(plural(phase.tokens, "token"))
        parts.append(plural(_count(output, "characters"), "character"))
        return ", ".join(parts)
    if phase.phase == "verify":
        issues = output.get("issues")
        count = len(issues) if isinstance(issues, list) else 0
        how = "passed" if output.get("passed") else "did not pass"
        return f"{how}, {plural(count, 'remark')}" if count else how
    return ", ".join(f"{one_line(str(name))} {one_line(str(value))}" for name, value in output.items())


def _issues(output: Any) -> list[str]:
    issues = output.get("issues") if isinstance(output, dict) else None
    if not isinstance(issues, list):
        return []
    return [
        f"{one_line(str(issue.get('severity', '')))} {one_line(str(issue.get('code', '')))}: "
        f"{one_line(str(issue.get('message', '')))}"
        for issue in issues
        if isinstance(issue, dict)
    ]


def _count(output: dict[str, Any], name: str) -> int:
    value = output.get(name, 0)
    return value if isinstance(value, int) else 0
