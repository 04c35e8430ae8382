"""The calls that a run waits for which has not ended, read from the lines of its journal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from loopwright import _core
from loopwright._suspend import IN_DOUBT, open_questions, work_kind
from loopwright.errors import LoopwrightError
from loopwright.machine import turn_of
from loopwright.tools._offered import turn_at

from .words import arguments_of

if TYPE_CHECKING:
    from loopwright._approval import Kind
    from loopwright._suspend import Question

__all__ = ["pending_of"]

_WHY = {"external": "its work is done elsewhere", "in_doubt": IN_DOUBT}


def pending_of(text: str, events: int, machine: str) -> list[dict[str, Any]]:
    """Each call that a person, or work done elsewhere, has to answer before the run goes on; none of a journal that
    this version decides otherwise.
    """
    turn = turn_of(json.loads(machine))
    try:
        run, commands = _core.Run.fork("shown", text, events)
    except LoopwrightError:
        return []

    def kind_of(command: _core.Command, call: _core.Call) -> Kind | None:
        place = run.agent_of(command.id or 0)
        tools = turn_at(turn, "" if place is None else place[0]).get("tools", ())
        told = next((each for each in tools if each["name"] == call.name), None)
        told = told or json.loads(run.tool_of(command.id or 0, call.name) or "null") or {}
        return work_kind(deferred=told.get("deferred"), idempotent=told.get("read_only"))

    return [_told(each) for each in open_questions(run, commands, kind_of)]


def _told(question: Question) -> dict[str, Any]:
    call, why = question.call, _WHY.get(question.kind) or question.command.why or ""
    return {
        "kind": question.kind,
        "call_id": question.name,
        "name": call.name,
        "arguments": call.arguments,
        "why": why,
        "said": f"{call.name}({arguments_of(call.arguments)}) [{question.name}]: {why}",
    }
