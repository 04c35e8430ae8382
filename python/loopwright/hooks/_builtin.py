"""Hooks that come with the package: audit, cost, output capture, loop detection, content safety."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import OrderedDict
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from loopwright.errors import UsageError

from ._answers import AddContext, Replace, Veto
from ._context import (
    AnswerSubject,
    AssessmentSubject,
    CallSubject,
    DecisionSubject,
    PromptSubject,
    RequestSubject,
    ResponseSubject,
    ResultSubject,
    RoundSubject,
)
from ._hook import STAGES, Hook, Hooks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from loopwright.guard import SensitivityLevel
    from loopwright.monitor import StuckDetector, StuckPolicy, Verdict

    from ._context import HookContext

__all__ = ["audit", "capture_output", "content_safety", "cost", "loop_detection"]

_SHOWN = 2_000
_LOOKED_AT = 64_000
_RUNS = 256
"""Runs of which something is kept."""

# Made once: `json.dumps` makes one for each line. What was read from JSON holds itself nowhere.
_encode = json.JSONEncoder(default=str, check_circular=False).encode


def audit(
    where: str | os.PathLike[str] | Callable[[dict[str, Any]], Any],
    *,
    stages: Sequence[str] = STAGES,
    on_error: str = "skip",
) -> Hooks:
    """Writes a line of JSON for each stage that a run passes, without secrets: to a file, or as dicts to a function.

    >>> seen = []
    >>> hooks = audit(seen.append, stages=["pre_tool"])
    >>> hooks.stages
    ['pre_tool']
    """
    if callable(where):
        write: Callable[[str], Any] = lambda line: where(json.loads(line))  # noqa: E731
    else:
        write = _appending(where)

    from loopwright._core import redact_json

    def audit(context: HookContext) -> None:
        line: dict[str, Any] = {"at": _now(), "run": context.run_id}
        if context.path is not None:
            line["agent"] = context.path
        line["stage"] = context.stage
        line["round"] = context.round
        line["elapsed"] = round(context.elapsed, 6)
        line.update(_told(context.subject))
        write(redact_json(_encode(line)))

    # A line in a file takes microseconds; what a function does nobody knows.
    inline = not callable(where)
    return Hooks([Hook(stage, audit, on_error=on_error, name="audit", inline=inline) for stage in stages])


_second: tuple[int, str] = (-1, "")
"""A second, and how it is written: the lines of a busy process share it."""


def _now() -> str:
    """The time as ISO 8601 has it, with milliseconds."""
    global _second  # noqa: PLW0603
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    known = _second
    if known[0] != seconds:
        written = datetime.fromtimestamp(seconds, timezone.utc).isoformat()
        known = _second = (seconds, written.removesuffix("+00:00"))
    return f"{known[1]}.{nanoseconds // 1_000_000:03}+00:00"


def _appending(where: str | os.PathLike[str]) -> Callable[[str], Any]:
    path = os.fspath(where)
    try:
        # Lines of several processes do not mix: each is written at once, at the end.
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError as error:
        message = f"the audit file {path!r} can't be written: {error.strerror or error}"
        raise UsageError(message, "audit_file", "give the path of a file in a folder that exists") from error
    keeper = _Open(file)

    def write(line: str) -> None:
        os.write(keeper.file, line.encode() + b"\n")

    return write


class _Open:
    """A descriptor that is closed with the last who uses it."""

    def __init__(self, file: int) -> None:
        self.file = file

    def __del__(self) -> None:
        os.close(self.file)


def _short(text: str) -> str:
    """The beginning of a text, without secrets: a cut would make one unknown that it hits."""
    from loopwright.guard import redact

    return text if len(text) <= _SHOWN else redact(text[:_LOOKED_AT])[:_SHOWN] + "…"


def _told(subject: Any) -> dict[str, Any]:
    """A subject as an audit tells of it."""
    tell = _TELL.get(type(subject))
    return tell(subject) if tell is not None else {}


def _told_response(subject: ResponseSubject) -> dict[str, Any]:
    usage = subject.usage
    return {
        "text": _short(subject.text),
        "calls": subject.calls,
        "stop": subject.stop,
        "usage": {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens},
    }


def _told_result(subject: ResultSubject) -> dict[str, Any]:
    text = subject.text
    return {
        "call_id": subject.call_id,
        "name": subject.name,
        "is_error": subject.is_error,
        "characters": len(text),
        "text": _short(text),
    }


_TELL: dict[type, Callable[[Any], dict[str, Any]]] = {
    PromptSubject: lambda subject: {"prompt": _short(subject.text)},
    AssessmentSubject: lambda subject: {
        "decision": subject.decision,
        "confidence": subject.confidence,
        "signals": subject.signals,
    },
    RoundSubject: lambda subject: {"messages": subject.messages},
    DecisionSubject: lambda subject: {"decision": subject.decision, "rule": subject.rule, "calls": subject.calls},
    RequestSubject: lambda subject: {"model": subject.model, "messages": len(subject.messages)},
    ResponseSubject: _told_response,
    CallSubject: lambda subject: {"call_id": subject.call_id, "name": subject.name, "arguments": subject.arguments},
    ResultSubject: _told_result,
    AnswerSubject: lambda subject: {"text": _short(subject.text), "stop_reason": subject.stop_reason},
}


def cost(limit: float, *, price: Mapping[str, float] | None = None) -> Hooks:
    """Lets no request go out once a run has cost `limit`, all its sub-agents included: it ends with `hook_veto`.

    The prices are those of the agent's `Model`, or `price`: money for a million tokens, `input`, `output`.
    A run whose prices nobody knows is stopped rather than let go on uncounted.

    >>> cost(0.05, price={"input": 3.0, "output": 15.0}).stages
    ['pre_llm']
    """
    if not isinstance(limit, (int, float)) or isinstance(limit, bool) or not limit >= 0:
        message = f"a limit of cost can't be {limit!r:.100}"
        raise UsageError(message, "invalid_number", "give a number from 0 up")
    if price is not None and not {"input", "output"} <= set(price):
        message = f"price can't be {dict(price)!r:.100}"
        raise UsageError(message, "invalid_option", "give a dict with input and output")

    def cost(context: HookContext) -> Veto | None:
        spent = context.spent
        so_far = spent.cost
        if price is not None:
            so_far = (spent.usage.input_tokens * price["input"] + spent.usage.output_tokens * price["output"]) / 1e6
        if so_far is None:
            if not spent.usage.total_tokens:
                return None
            message = "the price of the model is not known"
            raise UsageError(message, "cost_unknown", "give Model(name, price=...), or cost(limit, price=...)")
        return Veto(f"the run has cost {so_far:g} of {limit:g}") if so_far >= limit else None

    return Hooks([Hook("pre_llm", cost, on_error="stop", name="cost", inline=True)])


def capture_output(into: list[str] | Callable[[str], Any]) -> Hooks:
    """Passes the answer of each run on, as it is given: adds it to a list, or calls a function with it.

    >>> answers = []
    >>> capture_output(answers).stages
    ['post_output']
    """
    if not isinstance(into, list) and not callable(into):
        message = f"output can't be captured into {into!r:.100}"
        raise UsageError(message, "invalid_option", "give a list or a function")
    put: Callable[[str], Any] = into.append if isinstance(into, list) else into

    def capture_output(context: HookContext) -> None:
        put(context.subject.text)

    return Hooks([Hook("post_output", capture_output, name="capture_output", inline=isinstance(into, list))])


def loop_detection(policy: StuckPolicy | None = None, *, action: str = "tell") -> Hooks:
    """Watches what calls give for repetition, with a `StuckDetector` of its own for each run and each sub-agent.

    `action` says what becomes of it: `"tell"` tells the model, `"deny"` denies the calls that repeat themselves,
    `"stop"` ends the run with `hook_veto`. The agent's own rules (`Monitor(stuck=...)`) stand beside it.

    >>> loop_detection(action="deny").stages
    ['pre_tool', 'post_tool']
    """
    if action not in ("tell", "deny", "stop"):
        message = f"action can't be {action!r:.100}"
        raise UsageError(message, "invalid_option", "use 'tell', 'deny' or 'stop'")
    # Two sub-agents that read one file do not go in circles: each is watched by itself.
    runs: OrderedDict[tuple[str, str | None], tuple[StuckDetector, list[Verdict]]] = OrderedDict()
    lock = threading.Lock()

    def of(context: HookContext) -> tuple[StuckDetector, list[Verdict]]:
        from loopwright.monitor import StuckDetector

        run = (context.run_id, context.path)
        found = runs.get(run)
        if found is None:
            found = runs[run] = (StuckDetector(policy), [])
            while len(runs) > _RUNS:
                runs.popitem(last=False)
        runs.move_to_end(run)
        return found

    def watch(context: HookContext) -> AddContext | None:
        subject = context.subject
        result = RuntimeError(subject.text) if subject.is_error else subject.text
        with lock:
            detector, verdicts = of(context)
            verdict = detector.record((subject.name, subject.arguments), result)
            verdicts[:] = [verdict] if verdict is not None else []
        return AddContext(verdict.advice) if verdict is not None and action == "tell" else None

    def deny(context: HookContext) -> Veto | None:
        subject = context.subject
        with lock:
            _, verdicts = of(context)
            found = list(verdicts)
        names = {member.tool for verdict in found for member in verdict.members}
        return Veto(found[0].sentence) if subject.name in names else None

    def stop(context: HookContext) -> Veto | None:
        with lock:
            _, verdicts = of(context)
            return Veto(verdicts[0].sentence) if verdicts else None

    hooks = Hooks([Hook("post_tool", watch, name="loop_detection", inline=True)])
    if action == "deny":
        hooks.add(Hook("pre_tool", deny, name="loop_detection", inline=True))
    elif action == "stop":
        hooks.add(Hook("pre_llm", stop, name="loop_detection", inline=True))
    return hooks


def content_safety(
    *,
    action: str = "redact",
    level: SensitivityLevel | str = "secret",
    stages: Sequence[str] = ("post_llm", "post_tool", "pre_output"),
) -> Hooks:
    """Keeps secrets out of what the model reads and says: by detectors of `loopwright.guard`, at or above `level`.

    `"redact"` puts marks in the place of what was found, `"veto"` withholds the result or the answer; stages are
    `pre_assess`, `post_llm`, `post_tool` and `pre_output`. It fails closed: a run stops rather than go on unseen.

    >>> content_safety().stages
    ['post_llm', 'post_tool', 'pre_output']
    """
    from loopwright.guard import SensitivityLevel
    from loopwright.messages import Text

    if action not in ("redact", "veto"):
        message = f"action can't be {action!r:.100}"
        raise UsageError(message, "invalid_option", "use 'redact' or 'veto'")
    wrong = [stage for stage in stages if stage not in ("pre_assess", "post_llm", "post_tool", "pre_output")]
    if wrong or isinstance(stages, str):
        message = f"content can't be looked at in {stages!r:.100}"
        raise UsageError(message, "unknown_stage", "use pre_assess, post_llm, post_tool and pre_output")
    try:
        least = level if isinstance(level, SensitivityLevel) else SensitivityLevel[str(level).upper()]
    except KeyError:
        message = f"there is no level named {level!r:.100}"
        raise UsageError(message, "invalid_option", "use 'sensitive' or 'secret'") from None

    def content_safety(context: HookContext) -> Replace | Veto | None:
        subject = context.subject
        found: set[str] = set()
        value: Any = _without(subject.text, least, found)
        if found and isinstance(subject, ResultSubject):
            # One text: a secret may begin in one block and end in the next.
            others = [block for block in subject.message.tool_results[0].content if not isinstance(block, Text)]
            value = {"content": [_dict(block) for block in (Text(value), *others)], "is_error": subject.is_error}
        if not found:
            return None
        if action == "veto":
            return Veto(f"it holds what must not be shown: {', '.join(sorted(found))}")
        return Replace(value)

    return Hooks([Hook(stage, content_safety, on_error="stop", name="content_safety", inline=True) for stage in stages])


def _dict(block: Any) -> Any:
    from loopwright.messages import block_to_json

    return json.loads(block_to_json(block))


def _without(text: str, least: SensitivityLevel, found: set[str]) -> str:
    """The text without what is at or above the level; the detectors that found it go into `found`."""
    from loopwright.guard import classify_sensitivity

    hits = classify_sensitivity(text).hits if text else ()
    if not hits:
        return text
    pieces, at = [], 0
    for hit in hits:
        if hit.level < least:
            continue
        found.add(hit.detector)
        pieces += [text[at : hit.span[0]], f"[redacted:{hit.detector}]"]
        at = hit.span[1]
    return "".join([*pieces, text[at:]])
