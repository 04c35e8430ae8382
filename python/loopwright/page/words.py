"""What `repr()` says of results, messages and settings: a few words on one line, as the call that would make it where
there is one. Secrets are taken out of each text before it is cut, so that no cut hides one from the search.
"""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from loopwright.cli.text import clean
from loopwright.guard import redact, redact_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["arguments_of", "counted", "in_words", "kind_of", "number", "plain", "safe", "said", "short"]

_MOST = 1_000_000
_LOOKED_AT = 20_000
_SHORT = 60
_SAID = 30
_MESSAGES = 4
_LONGEST = 320


def safe(text: str, limit: int = _LOOKED_AT) -> str:
    """`text` for people: without secrets and control characters, and no longer than `limit`."""
    # What is cut off here lies far behind what is shown.
    found = clean(redact(text[:_MOST]))
    left = max(len(text) - limit, len(found) - limit)
    return found if left <= 0 else f"{found[:limit]}… ({counted(left, 'character')} more)"


def short(text: str, limit: int = _SHORT) -> str:
    """The beginning of `text` on one line."""
    found = " ".join(clean(redact(text[:_LOOKED_AT])).split())
    return found if len(found) <= limit else found[: limit - 1] + "…"


def plain(value: object) -> Any:
    """A value as JSON has it, without secrets: also those that only the name of their key gives away."""
    if isinstance(value, str):
        return redact(value)
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json")
    try:
        text = json.dumps(value, default=_default)
    except (TypeError, ValueError, RecursionError):
        return redact(f"{value!r:.20000}")
    return json.loads(redact_json(text))


def _default(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    return list(value) if isinstance(value, (set, frozenset, tuple)) else str(value)


def number(value: float) -> str:
    """A number as people write it."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}" if abs(value) < 1 else f"{value:,.2f}"


def counted(count: int, name: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{count:,} {name}" if count == 1 else f"{count:,} {name}s"


def arguments_of(given: object, limit: int = _SHORT) -> str:
    """The arguments of a call, as Python writes them."""
    found = plain(given)
    written = ", ".join(f"{k}={v!r}" for k, v in found.items()) if isinstance(found, dict) else repr(found)
    return short(written, limit)


def said(message: dict[str, Any]) -> Iterable[tuple[str, str]]:
    """Who says what in a message of the canonical form, block by block."""
    for block in message.get("content", ()):
        kind, role = block.get("type"), str(message.get("role"))
        if kind == "text":
            yield role, str(block.get("text", ""))
        elif kind == "thinking":
            yield f"{role} thinks", str(block.get("text", ""))
        elif kind == "tool_use":
            yield f"{role} → {block.get('name')}", json.dumps(block.get("input"), ensure_ascii=False)
        elif kind == "tool_result":
            inside = {"role": "tool", "content": block.get("content", ())}
            yield "tool", "\n".join(text for _, text in said(inside))
        else:
            yield role, f"({kind})"


def kind_of(thing: object, table: dict[str, Any]) -> Any:
    """What a table says of the class of a thing, by the name of the class or of one that it comes from."""
    return next((table[kind.__name__] for kind in type(thing).__mro__ if kind.__name__ in table), None)


def in_words(thing: object) -> str:
    """The `repr()` of a thing."""
    made: Callable[[Any], Iterable[str]] = kind_of(thing, _WORDS)
    written = f"{type(thing).__name__}({', '.join(made(thing))})"
    return redact(written if len(written) <= _LONGEST else written[: _LONGEST - 2] + "…)")


def _result(result: Any) -> Iterable[str]:
    yield "ok" if result.final is not None else repr(result.stop_reason)
    if result.verified is not None:
        yield f"verified={result.verified}"
    yield f"rounds={result.rounds}"
    yield f"tokens={result.usage.total_tokens}"
    if result.cost is not None:
        yield f"cost={result.cost:.4g}"
    output = vars(result).get("output") if result.ok else result.best_draft
    if output is not None:
        words = output if isinstance(output, str) else repr(output)
        yield f"output={short(words)!r}" if isinstance(output, str) else f"output={short(words)}"
    if result.final is None and result.message:
        yield f"message={short(result.message)!r}"


def _research(result: Any) -> Iterable[str]:
    report = result.report
    if not report:
        yield from _result(result)
        return
    said = [each for section in report["sections"] for part in section["paragraphs"] for each in part]
    yield repr(short(report["title"]))
    yield f"sections={len(report['sections'])}"
    yield f"sources={len(report['bibliography'])}"
    yield f"verified {sum(bool(each['cites']) for each in said)} of {len(said)}"


def _messages(messages: Any) -> Iterable[str]:
    count = len(messages)
    at = list(range(count))
    if count > _MESSAGES:
        at = [*at[: _MESSAGES - 1], -1, count - 1]
    words = []
    for index in at:
        if index < 0:
            words.append(f"{count - _MESSAGES} more")
            continue
        for who, text in said(messages[index].to_dict()):
            if "→" in who:
                words.append(f"{who}({arguments_of(json.loads(text), _SAID)})")
            elif "thinks" not in who:
                words.append(f"{who} {short(text, _SAID)!r}")
    yield f"{count}: {', '.join(words)}" if count else "0"


def _trace(rounds: Any) -> Iterable[str]:
    yield counted(len(rounds), "round")
    yield f"{max((each.at + each.duration for each in rounds), default=0.0):.1f} s"


def _replay(replay: Any) -> Iterable[str]:
    yield "identical" if replay.identical else "damaged" if replay.damage else "diverged"
    yield f"run={short(replay.run)!r}"
    yield f"events={replay.events}"
    if replay.outcome:
        yield f"rounds={replay.outcome['spent']['iterations']}"
        yield f"ended={replay.outcome['stop']!r}"


def _report(report: Any) -> Iterable[str]:
    yield f"before={report.before}, after={report.after}, budget={report.budget}"
    fates = [entry.fate for entry in report.entries]
    yield from (f"{fate}={fates.count(fate)}" for fate in dict.fromkeys(fates))


def _compressed(found: Any) -> Iterable[str]:
    yield counted(len(found.messages), "message")
    yield f"{found.report.before} -> {found.report.after} tokens of {found.report.budget}"


def _tool(tool: Any) -> Iterable[str]:
    yield tool.name
    usual = {"read_only": False, "risk": "safe" if tool.read_only else "cautious", "idempotent": tool.read_only}
    for name in ("risk", "read_only", "idempotent", "timeout", "max_output", "trust", "effects"):
        value = getattr(tool, name)
        if value != usual.get(name):
            yield f"{name}={sorted(value) if name == 'effects' else value!r}"


def _request(request: Any) -> Iterable[str]:
    yield repr(request.model)
    yield f"messages={request.messages!r}"
    names = [next(iter(tool.values())).get("name", next(iter(tool))) for tool in request.tools]
    shown = {"tools": names, "tool_choice": request.tool_choice, "max_tokens": request.max_tokens}
    yield from (f"{name}={short(repr(value))}" for name, value in shown.items() if value)


_WORDS: dict[str, Callable[[Any], Iterable[str]]] = {
    "Result": _result,
    "ResearchResult": _research,
    "Messages": _messages,
    "Trace": _trace,
    "Replay": _replay,
    "Report": _report,
    "Compressed": _compressed,
    "Tool": _tool,
    "Request": _request,
}
