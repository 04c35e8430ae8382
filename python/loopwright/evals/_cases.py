"""Files of cases, as pydantic-evals writes datasets: read, and each fault said with its place."""

from __future__ import annotations

import contextlib
import json
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from loopwright._dataclasses import dataclass, field
from loopwright.errors import UsageError

from ._packages import need_pydantic_evals

__all__ = ["CaseFile", "read_cases"]

_MEMBERS = ("name", "inputs", "metadata", "expected_output", "evaluators")
_NAMED = "write the name as text, or leave it out"
_WHOLE = ("$schema", "name", "cases", "evaluators", "report_evaluators")
_LINES = (".jsonl", ".ndjson")
_YAML = (".yaml", ".yml")


@dataclass(frozen=True)
class CaseFile:
    """What a file of cases holds, checked as far as its form goes."""

    path: str
    name: str
    cases: list[dict[str, Any]]
    """Each has a `name` and `inputs`; the rest may be missing."""
    evaluators: list[Any]
    """Those of all cases."""
    lines: list[int | None] = field(repr=False)
    """Where each case begins, as far as that is known."""

    @property
    def judged(self) -> bool:
        """Whether the file names evaluators."""
        return bool(self.evaluators) or any(case.get("evaluators") for case in self.cases)

    def only(self, names: list[str]) -> CaseFile:
        """The cases of these names alone."""
        if not names:
            return self
        known = [case["name"] for case in self.cases]
        for name in names:
            if name not in known:
                near = get_close_matches(name, known, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(map(repr, known[:10]))}"
                raise UsageError(f"{self.path}: there is no case {name!r}", "no_cases", hint)
        kept = [(case, line) for case, line in zip(self.cases, self.lines, strict=True) if case["name"] in names]
        return CaseFile(self.path, self.name, [case for case, _ in kept], self.evaluators, [line for _, line in kept])

    def place(self, at: int) -> str:
        """How the case at that place is called in messages."""
        return _place(self.path, at, self.cases[at].get("name"), self.lines[at])


def read_cases(path: str) -> CaseFile:
    """Reads a file of cases: YAML, JSON, or JSON lines with one case each, by its ending.

    Raises a `UsageError`: `cases_not_found`, `invalid_cases`, `no_cases`.
    """
    text, suffix = _text(path), Path(path).suffix.lower()
    if suffix in _LINES:
        rows, lines = _of_lines(path, text)
        whole: dict[str, Any] = {"cases": rows}
    elif suffix in _YAML or suffix == ".json":
        found = _yaml(path, text) if suffix in _YAML else _json(path, text)
        whole = _mapping(found, path)
        lines = _lines(text, len(whole["cases"]))
    else:
        message = f"{path!r} is no file of cases by its ending"
        raise UsageError(message, "invalid_cases", "name it .yaml, .yml, .json or .jsonl; or give a journal")
    cases: list[dict[str, Any]] = []
    for at, (case, line) in enumerate(zip(whole["cases"], lines, strict=True)):
        cases.append(_case(path, at, case, line))
    _check_names(path, cases, lines)
    if not cases:
        raise UsageError(f"{path}: there is no case in it", "no_cases", "write `cases:`, each with `inputs`")
    evaluators = _listed(whole.get("evaluators"), f"{path}: `evaluators`")
    return CaseFile(path, whole.get("name") or Path(path).stem, cases, evaluators, lines)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        message = f"there is no file {path!r}"
        raise UsageError(message, "cases_not_found", "give a file of cases, or a journal") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise UsageError(
            f"{path!r} can't be read: {reason}", "invalid_cases", "give a readable file of text"
        ) from error


def _of_lines(path: str, text: str) -> tuple[list[Any], list[int | None]]:
    rows, lines = [], []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            rows.append(_json(path, line, first=number))
            lines.append(number)
    return rows, [*lines]


def _json(path: str, text: str, first: int = 1) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"{path}, line {first + error.lineno - 1}, column {error.colno}"
        raise UsageError(f"{where}: it is no JSON: {error.msg}", "invalid_cases", "mend it there") from error


def _yaml(path: str, text: str) -> Any:
    try:
        import yaml
    except ImportError:
        # It comes with either package.
        need_pydantic_evals("loopwright eval of YAML")
        raise
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = path if mark is None else f"{path}, line {mark.line + 1}, column {mark.column + 1}"
        why = getattr(error, "problem", None) or str(error)
        raise UsageError(f"{where}: it is no YAML: {why}", "invalid_cases", "mend it there") from error


def _lines(text: str, count: int) -> list[int | None]:
    """The line of each case, where the text can be looked at as YAML, which JSON is, too."""
    with contextlib.suppress(Exception):
        import yaml

        for key, value in yaml.compose(text).value:
            if key.value == "cases" and len(value.value) == count:
                return [node.start_mark.line + 1 for node in value.value]
    return [None] * count


def _mapping(found: Any, path: str) -> dict[str, Any]:
    if not isinstance(found, dict) or not isinstance(found.get("cases"), list):
        what = "has no list `cases`" if isinstance(found, dict) else f"is a {_kind(found)}, no mapping with `cases`"
        raise UsageError(f"{path}: the file {what}", "invalid_cases", "write `cases:`, each with `inputs`")
    _known(found, _WHOLE, path)
    name = found.get("name")
    if name is not None and not isinstance(name, str):
        raise UsageError(f"{path}: `name` is a {_kind(name)}, no text", "invalid_cases", _NAMED)
    return found


def _case(path: str, at: int, case: Any, line: int | None) -> dict[str, Any]:
    place = _place(path, at, case.get("name") if isinstance(case, dict) else None, line)
    if not isinstance(case, dict):
        raise UsageError(f"{place} is a {_kind(case)}, no mapping", "invalid_cases", "write at least `inputs`")
    _known(case, _MEMBERS, place)
    if "inputs" not in case:
        raise UsageError(f"{place} has no `inputs`", "invalid_cases", "write what the agent is asked")
    name = case.get("name")
    if name is not None and not isinstance(name, str):
        raise UsageError(f"{place}: `name` is a {_kind(name)}, no text", "invalid_cases", _NAMED)
    _listed(case.get("evaluators"), f"{place}: `evaluators`")
    # As pydantic-evals calls those without a name.
    return {**case, "name": name or f"Case {at + 1}"}


def _known(found: dict[str, Any], members: tuple[str, ...], place: str) -> None:
    for member in found:
        if member not in members:
            near = get_close_matches(str(member), members, 1)
            hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(members)}"
            raise UsageError(f"{place}: there is no member `{member}`", "invalid_cases", hint)


def _listed(found: Any, place: str) -> list[Any]:
    if found is not None and not isinstance(found, list):
        raise UsageError(f"{place} is a {_kind(found)}, no list", "invalid_cases", "put it into a list: [...]")
    return found or []


def _check_names(path: str, cases: list[dict[str, Any]], lines: list[int | None]) -> None:
    seen: set[str] = set()
    for at, case in enumerate(cases):
        if case["name"] in seen:
            message = f"{_place(path, at, case['name'], lines[at])}: another case is called so"
            raise UsageError(message, "invalid_cases", "give each a name of its own")
        seen.add(case["name"])


def _place(path: str, at: int, name: Any, line: int | None) -> str:
    told = [repr(name)] if isinstance(name, str) else []
    told += [] if line is None else [f"line {line}"]
    about = f" ({', '.join(told)})" if told else ""
    return f"{path}: case {at + 1}{about}"


def _kind(found: Any) -> str:
    names = {dict: "mapping", list: "list", str: "text", bool: "truth value", type(None): "null"}
    return names.get(type(found), "number" if isinstance(found, (int, float)) else type(found).__name__)
