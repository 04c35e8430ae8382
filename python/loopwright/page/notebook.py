"""What notebooks show of results, messages, traces and reports: HTML without scripts, and Markdown.

What is shown is described once, as blocks, and written twice. Text becomes part of HTML or Markdown in `_text` and
`_plain` alone: secrets are taken out of it there, and what has a meaning in either is escaped.
"""

from __future__ import annotations

import html
import json
import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from loopwright.guard import redact_json

from .words import arguments_of, counted, in_words, kind_of, number, plain, safe, said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["as_html", "as_markdown"]

_LONG = 600
_DEEP = 4
_ROWS = 300
_PICTURE = re.compile(r"image/(?:png|jpeg|gif|webp)")
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
_CITED = re.compile(r"\[([^\[\]\n]{1,300})\]")
_LINES = re.compile(r":\d+(?:-\d+)?$")
_MARKS = re.compile(r"([\\`*_{}\[\]()#+\-.!|~>$:@])")


class _Link(NamedTuple):
    text: str
    to: str


class _Bar(NamedTuple):
    text: str
    share: float


class _Picture(NamedTuple):
    media_type: str
    data: str


class _Mark(NamedTuple):
    """What is linked to, and what stands there."""

    name: str
    text: str


class _Fold(NamedTuple):
    title: str
    inside: Any


class _Table(NamedTuple):
    head: Sequence[str]
    rows: Iterable[Sequence[Any]]


class _Frame(NamedTuple):
    """A page of its own, with what it says as Markdown."""

    page: str
    said: str


class _Note(NamedTuple):
    text: str


_Block: TypeAlias = "str | _Link | _Bar | _Picture | _Mark | _Fold | _Table | _Frame | _Note | list[Any]"


def as_html(thing: object) -> str | None:
    """The thing for notebooks that show HTML; `None` of what is best shown in words."""
    blocks = _blocks(thing)
    if blocks is None:
        return None
    style = "font:14px/1.5 system-ui,sans-serif;max-width:60em;overflow-wrap:break-word"
    return f'<div style="{style}">{"".join(_html(each) for each in blocks)}</div>'


def as_markdown(thing: object) -> str | None:
    """The thing for whatever shows Markdown."""
    blocks = _blocks(thing)
    return None if blocks is None else "\n\n".join(_markdown(each) for each in blocks)


def _blocks(thing: object) -> Iterable[_Block] | None:
    make: Callable[[Any], Iterable[_Block]] | None = kind_of(thing, _BLOCKS)
    return None if make is None else make(thing)


def _text(text: str) -> str:
    return html.escape(safe(text))


def _html(block: _Block) -> str:
    line = "border-bottom:1px solid rgba(128,128,128,.3);padding:.25em .6em;text-align:left;vertical-align:top"
    if isinstance(block, str):
        return f'<div style="white-space:pre-wrap">{_text(block)}</div>'
    if isinstance(block, list):
        # Text and links as one.
        whole = "".join(_text(each) if isinstance(each, str) else _html(each) for each in block)
        return f'<div style="white-space:pre-wrap">{whole}</div>'
    if isinstance(block, _Link):
        return f'<a href="{_text(block.to)}" rel="noopener noreferrer">{_text(block.text)}</a>'
    if isinstance(block, _Mark):
        return f'<span id="{_text(block.name)}">{_text(block.text)}</span>'
    if isinstance(block, _Note):
        return f'<div style="opacity:.75;font-size:.9em;margin:.3em 0">{_text(block.text)}</div>'
    if isinstance(block, _Bar):
        width = f"{100 * min(1.0, max(0.0, block.share)):.1f}%"
        bar = f'<div style="background:#3b82f6;opacity:.6;height:.4em;min-width:1px;width:{width}"></div>'
        return f"<div>{_text(block.text)}</div>{bar}"
    if isinstance(block, _Picture):
        source = f"data:{_text(block.media_type)};base64,{html.escape(block.data)}"
        return f'<img alt="a picture of the conversation" style="max-width:20em;max-height:15em" src="{source}">'
    if isinstance(block, _Fold):
        return f"<details><summary>{_text(block.title)}</summary>{_html(block.inside)}</details>"
    if isinstance(block, _Frame):
        style = "width:100%;height:30em;border:1px solid rgba(128,128,128,.4)"
        return f'<iframe sandbox="" title="the report" style="{style}" srcdoc="{html.escape(block.page)}"></iframe>'
    head = "".join(f'<th style="{line}">{_text(each)}</th>' for each in block.head)
    cells = (["".join((f'<td style="{line}">', _html(cell), "</td>")) for cell in row] for row in block.rows)
    rows = "".join("".join(("<tr>", *row, "</tr>")) for row in cells)
    head = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f'<table style="border-collapse:collapse">{head}<tbody>{rows}</tbody></table>'


def _plain(text: str, *, inline: bool = False) -> str:
    written = _MARKS.sub(r"\\\1", html.escape(safe(text), quote=False))
    return " ".join(written.split()) if inline else written.replace("\n", "  \n")


def _markdown(block: _Block, *, inline: bool = False) -> str:
    if isinstance(block, str):
        return _plain(block, inline=inline)
    if isinstance(block, list):
        return "".join(_markdown(each, inline=inline) for each in block)
    if isinstance(block, _Table):
        if inline:
            return "; ".join(": ".join(_markdown(cell, inline=True) for cell in row) for row in block.rows)
        rows = [[_markdown(cell, inline=True) for cell in row] for row in block.rows]
        head = [_plain(each, inline=True) for each in block.head] or [""] * (len(rows[0]) if rows else 1)
        lines = [head, ["---"] * len(head), *rows]
        return "\n".join(f"| {' | '.join(row)} |" for row in lines)
    if isinstance(block, _Fold):
        title, inside = _plain(block.title, inline=True), _markdown(block.inside, inline=inline)
        return f"{title}: {inside}" if inline else f"{title}:\n\n{inside}"
    if isinstance(block, _Note):
        return f"*{_plain(block.text, inline=True)}*"
    if isinstance(block, _Picture):
        return f"({_plain(block.media_type)})"
    if isinstance(block, _Frame):
        return _plain(block.said)
    return _plain(block.text, inline=inline)


def _value(value: Any, depth: int = 0) -> _Block:
    """A value of JSON: what has names as a table."""
    if isinstance(value, dict) and value and depth < _DEEP:
        return _Table((), [(str(name), _value(each, depth + 1)) for name, each in list(value.items())[:_ROWS]])
    if isinstance(value, list) and value and depth < _DEEP and any(isinstance(each, (dict, list)) for each in value):
        return _Table((), [(str(at), _value(each, depth + 1)) for at, each in enumerate(value[:_ROWS])])
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _folded(text: str) -> _Block:
    return text if len(text) <= _LONG else _Fold(f"{text[:80]}… ({len(text):,} characters)", text)


def _result(result: Any) -> Iterable[_Block]:
    anchor = "loopwright-" + sha256(result.run_id.encode()).hexdigest()[:8]
    output = vars(result).get("output")
    if result.final is None and (output is None or isinstance(output, str)):
        yield str(result)
    elif isinstance(output, str):
        yield _with_links(output, result.sources, anchor)
    else:
        yield _value(plain(output))
    yield _Note(" · ".join(_figures(result)))
    calls = result.tool_calls
    if calls:
        rows = [
            (call.name, arguments_of(call.arguments, _LONG), f"{call.duration:.2f} s", call.failure or "done")
            for call in calls[:_ROWS]
        ]
        yield _Fold(counted(len(calls), "call"), _Table(("call", "arguments", "time", "came of it"), rows))
    if result.sources:
        sources = [
            (_Mark(f"{anchor}-{at}", f"{at}"), _source(source), _folded(source.text))
            for at, source in enumerate(result.sources[:_ROWS], 1)
        ]
        yield _Fold(counted(len(result.sources), "source"), _Table(("", "source", "text"), sources))
    if result.warnings:
        yield _Fold(counted(len(result.warnings), "warning"), "\n".join(result.warnings))


def _figures(result: Any) -> Iterable[str]:
    yield "done" if result.final is not None else f"ended: {result.stop_reason}"
    if result.verified is not None:
        yield "verified" if result.verified else "not verified"
    yield counted(result.rounds, "round")
    yield counted(result.usage.total_tokens, "token")
    if result.cost is not None:
        yield f"cost {number(result.cost)}"
    yield f"{result.duration:.1f} s"
    yield result.model


def _is_web(address: str) -> bool:
    return address.startswith(("https://", "http://"))


def _source(source: Any) -> _Block:
    return _Link(source.reference, source.reference) if _is_web(source.reference) else str(source)


def _with_links(text: str, sources: Sequence[Any], anchor: str) -> _Block:
    """An answer whose citations lead to what they cite."""
    # Secrets go first: between two pieces none would be found.
    text, parts, at = safe(text), [], 0
    places: dict[str, int] = {}
    for place, source in enumerate(sources, 1):
        places.setdefault(source.reference, place)
    cites = [found[1] for found in _CITED.finditer(text)]
    if not any(_LINES.sub("", each) in places for each in cites):
        # Sources stand in the order in which they are cited, whatever their numbers were.
        numbers = dict.fromkeys(each for each in cites if each.isdecimal())
        places = dict(zip(numbers, range(1, len(sources) + 1), strict=False))
    for found in _CITED.finditer(text):
        cited = places.get(found[1]) or places.get(_LINES.sub("", found[1]))
        if cited is None:
            continue
        reference = sources[cited - 1].reference
        to = reference if _is_web(reference) else f"#{anchor}-{cited}"
        parts += [text[at : found.start()], _Link(found[0], to)]
        at = found.end()
    return [*parts, text[at:]] if parts else text


def _research(result: Any) -> Iterable[_Block]:
    if not result.report:
        yield from _result(result)
        return
    from loopwright import _core

    report = redact_json(json.dumps(result.report))
    page, words = (_core.render_report(report, result.style, form) for form in ("html", "markdown"))
    yield _Frame(page, words)
    yield _Note(" · ".join(_figures(result)))


def _messages(messages: Any) -> Iterable[_Block]:
    left = len(messages) - _ROWS
    listed = messages.to_dicts() if left <= 0 else [messages[at].to_dict() for at in range(_ROWS)]
    yield _Table(("role", "what"), [row for message in listed for row in _message(message)])
    if left > 0:
        yield _Note(f"{counted(left, 'message')} more")


def _message(message: dict[str, Any]) -> Iterable[tuple[str, _Block]]:
    for block in message.get("content", ()):
        inside = block.get("content") if block.get("type") == "tool_result" else None
        pictures = [each for each in inside or [block] if each.get("type") == "image"]
        for who, text in said({**message, "content": [block]}):
            if not pictures or inside:
                yield who, _folded(arguments_of(json.loads(text), 10 * _LONG) if "→" in who else text)
        for each in pictures:
            source = each.get("source", {}).get("base64", {})
            media, data = str(source.get("media_type")), str(source.get("data"))
            shows = _PICTURE.fullmatch(media) and _BASE64.fullmatch(data)
            yield str(message.get("role")), _Picture(media, data) if shows else f"(a picture, {media})"


def _rounds(rows: list[dict[str, Any]]) -> Iterable[_Block]:
    longest = max((row["took"] for row in rows), default=0.0) or 1.0
    most = max((row["tokens"] for row in rows), default=0) or 1
    yield _Table(
        ("round", "time", "tokens", "calls", "decision"),
        [
            (
                str(row["round"]),
                _Bar(f"{row['took']:.2f} s", row["took"] / longest),
                _Bar(f"{row['tokens']:,}", row["tokens"] / most),
                "\n".join(row["calls"]),
                row["decision"],
            )
            for row in rows[:_ROWS]
        ],
    )
    if len(rows) > _ROWS:
        yield _Note(f"{counted(len(rows) - _ROWS, 'round')} more")


def _called(name: str, verdict: str, *, failed: bool | None) -> str:
    return f"{name}: {verdict or 'not judged'}{', failed' if failed else ''}"


def _trace(rounds: Any) -> Iterable[_Block]:
    yield from _rounds(
        [
            {
                "round": f"{each.agent} {each.round}".strip(),
                "took": each.duration,
                "tokens": each.usage.get("input", 0) + each.usage.get("output", 0),
                "calls": [
                    _called(f"{call.name}({arguments_of(call.arguments)})", call.verdict, failed=call.is_error)
                    for call in each.calls
                ],
                "decision": f"{each.decision} by {each.rule}" if each.decision else "",
            }
            for each in rounds
        ]
    )


def _replay(replay: Any) -> Iterable[_Block]:
    yield _Note(in_words(replay))
    rows: list[dict[str, Any]] = []
    for step in replay.steps:
        for text in step:
            notice = json.loads(text).get("emit", {}).get("notice", {}) if text.startswith('{"emit"') else {}
            kind, last = notice.get("type"), rows[-1] if rows else {"calls": []}
            if kind == "round_started":
                rows.append({"round": notice["round"], "took": 0.0, "tokens": 0, "calls": [], "decision": ""})
            elif kind == "round_finished":
                used = notice["usage"]
                last.update(took=notice["duration"], tokens=used.get("input", 0) + used.get("output", 0))
            elif kind == "call_judged":
                last["calls"].append(_called(notice["name"], notice["verdict"], failed=None))
            elif kind == "assessed":
                last["decision"] = f"{notice['decision']} by {notice['rule']}"
    yield from _rounds(rows)


def _report(report: Any) -> Iterable[_Block]:
    yield _Bar(f"{report.before:,} tokens became {report.after:,}, budget {report.budget:,}",
               report.after / max(1, report.before))  # fmt: skip
    rows = [
        (str(each.message), each.fate, each.why, f"{each.before:,} → {each.after:,}") for each in report.entries[:_ROWS]
    ]
    yield _Fold(counted(len(report.entries), "message"), _Table(("message", "fate", "why", "tokens"), rows))
    if report.repairs:
        yield _Fold(counted(len(report.repairs), "repair"), "\n".join(f"{at}: {what}" for at, what in report.repairs))


_BLOCKS: dict[str, Callable[[Any], Iterable[_Block]]] = {
    "Result": _result,
    "ResearchResult": _research,
    "Messages": _messages,
    "Trace": _trace,
    "Replay": _replay,
    "Report": _report,
    "Compressed": lambda found: _report(found.report),
}
