"""The page of a run: one HTML file with its style, its script and the run as JSON.

The JSON is the only thing in the file that comes from a run. It can't end its element, for `<`, `>` and `&` are written
as escapes; the script makes text of it and nothing else, and the page's own policy forbids the browser anything more.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from loopwright._journal_paths import locate_journal
from loopwright._replay import diff, naming
from loopwright.cli.text import clean
from loopwright.guard import redact_json

from .run import RunReader
from .words import counted

if TYPE_CHECKING:
    import os

__all__ = ["data_of", "page_of"]

_LONGEST = 20_000
_ROUNDS = 500
_PARTS = {
    "event": "what happened is not the same",
    "commands": "the same happened, and the machines decided otherwise",
    "machine": "they were set up otherwise",
    "end": "one of them goes on",
}


def page_of(
    journal: str | os.PathLike[str],
    run: str | None = None,
    *,
    against: str | os.PathLike[str] | None = None,
    against_run: str | None = None,
) -> str:
    """The page of a journal: a path, its lines, a store and the name of a run in it, or a run of the project by name.

    With `against` it also shows where the two runs part.
    """
    return _page(data_of(journal, run, against=against, against_run=against_run))


def data_of(
    journal: str | os.PathLike[str],
    run: str | None = None,
    *,
    against: str | os.PathLike[str] | None = None,
    against_run: str | None = None,
) -> dict[str, Any]:
    """What the page shows, without secrets."""
    data = _read(journal, run)
    if against is not None:
        other = _read(against, against_run)
        found = diff(journal, against, left_run=run, right_run=against_run)
        parts = None if found is None else {"seq": found.seq, "both": [_parsed(found.left), _parsed(found.right)]}
        if parts is not None and found is not None:
            parts["words"] = _PARTS.get(found.what, found.what)
        data["other"] = {
            "run": other["run"],
            "answer": other["answer"],
            "figures": other["figures"],
            "parts": parts,
            "rounds": _side_by_side(data["rows"], other["rows"]),
        }
    shown: dict[str, Any] = _fit(json.loads(redact_json(json.dumps(data))))
    return shown


def _read(journal: str | os.PathLike[str], run: str | None) -> dict[str, Any]:
    place = locate_journal(journal, run)
    with naming(place):
        return RunReader(place.read()).data


def _parsed(text: str | None) -> Any:
    """What stands in JSON: escaped text would hide secrets."""
    try:
        found = json.loads(text or '"nothing"')
    except ValueError:
        return text
    return [_parsed(each) if isinstance(each, str) else each for each in found] if isinstance(found, list) else found


def _side_by_side(left: list[dict[str, Any]], right: list[dict[str, Any]]) -> list[list[Any]]:
    """The rounds of two runs, each with what the model said and called, and whether that is the same."""
    one, other = _rounds(left), _rounds(right)
    size = max(len(one), len(other))
    pairs = [[each[at] if at < len(each) else "" for each in (one, other)] for at in range(size)]
    return [[at, *pair, pair[0] == pair[1]] for at, pair in enumerate(pairs[:_ROUNDS], 1)]


def _rounds(rows: list[dict[str, Any]]) -> list[str]:
    found = []
    for row in rows:
        if row["kind"] == "round" and not row["lane"]:
            calls = [f"{part['title']}({part['said']})" for part in row["parts"] if part["kind"] == "call"]
            found.append("\n".join(text for text in (row.get("text", ""), *calls) if text))
    return found


def _fit(value: Any) -> Any:
    """The data as the script shows it: texts without control characters, none longer than a person reads."""
    if isinstance(value, str):
        text = clean(value)
        left = len(text) - _LONGEST
        return text if left <= 0 else f"{text[:_LONGEST]}… ({counted(left, 'character')} more in the journal)"
    if isinstance(value, list):
        return [_fit(each) for each in value]
    if not isinstance(value, dict):
        return value
    told = {name: _fit(each) for name, each in value.items()}
    if "fields" in told:
        told["fields"] = [[name, _written(each)] for name, each in told["fields"]]
    if "both" in told:
        told["both"] = [_written(each) for each in told["both"]]
    if "arguments" in told:
        told["arguments"] = _written(told["arguments"])
    return told


def _written(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, (str, int, float)) for each in value):
        return ", ".join(map(str, value))
    written: str = _fit(json.dumps(value, indent=1, ensure_ascii=False))
    return written


def _page(data: dict[str, Any]) -> str:
    here = files(__package__)
    style, script, frame = (here.joinpath(f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js", "html"))
    written = json.dumps(data, separators=(",", ":"))
    for mark in "<>&":
        written = written.replace(mark, f"\\u{ord(mark):04x}")
    told = {"style-sum": _sum(style), "script-sum": _sum(script), "style": style, "script": script, "data": written}
    pieces = frame.split("@@")
    return "".join(told[piece] if at % 2 else piece for at, piece in enumerate(pieces))


def _sum(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
