"""Pydantic's findings in words that a model can act on, and schemas without noise.

Both the arguments of tools and the final answers of a given type need it. Imports nothing heavy.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import ValidationError

__all__ = ["is_json", "problems_of", "shown", "summary", "without_titles"]

_MOST_PROBLEMS = 20
_LONGEST_GOT = 80
# Below these keys of a schema stand values, not schemas; "title" is data there.
_VALUES = frozenset({"default", "const", "enum", "examples", "example", "required"})
# Below these stand maps from names to schemas; "title" is a name there.
_MAPS = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})


def without_titles(schema: Any) -> Any:
    """`schema` without the titles that pydantic makes of names: they cost tokens and say nothing."""
    if isinstance(schema, list):
        return [without_titles(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    clean: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title" and isinstance(value, str):
            continue
        if key in _VALUES:
            if is_json(value):
                clean[key] = value
        elif key == "discriminator":
            # OpenAPI, not JSON schema; providers refuse it.
            continue
        elif isinstance(value, float) and not math.isfinite(value):
            # A bound that says nothing, and has no number in JSON.
            continue
        elif key in _MAPS and isinstance(value, dict):
            clean[key] = {name: without_titles(each) for name, each in value.items()}
        else:
            clean[key] = without_titles(value)
    return clean


def is_json(value: object) -> bool:
    """Whether a provider can be shown it: defaults may be infinite, and hold halves of characters."""
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def problems_of(
    error: ValidationError, given: object, *, known: Sequence[str] = (), whole: str = "arguments"
) -> list[dict[str, str]]:
    """Each wrong field once: `where` it is, `what` is wrong, what was `got`."""
    found: dict[str, dict[str, str]] = {}
    for problem in error.errors(include_url=False):
        where = _path(problem["loc"], given, missing=problem["type"] == "missing") or whole
        what = _words(problem["type"], problem["msg"], where, known)
        got = "nothing" if problem["type"] == "missing" else shown(problem["input"])
        earlier = found.get(where)
        if earlier is None:
            if len(found) >= _MOST_PROBLEMS:
                break
            found[where] = {"where": where, "what": what, "got": got}
        elif what not in earlier["what"].split("; or "):
            earlier["what"] += f"; or {what}"
    return list(found.values())


def summary(subject: str, problems: list[dict[str, str]]) -> str:
    """All problems, one a line."""
    lines = [f"- {each['where']}: {each['what']}, got {each['got']}" for each in problems]
    return "\n".join([f"{subject}:", *lines])


def shown(value: object) -> str:
    """`value` in at most a line. Hostile values stay short."""
    if isinstance(value, str):
        text = json.dumps(value[: _LONGEST_GOT + 1], ensure_ascii=False)
        return text if len(value) <= _LONGEST_GOT else f'{text[:_LONGEST_GOT]}…" ({len(value)} characters)'
    if value is None or isinstance(value, (bool, float)):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value) if value.bit_length() <= 256 else "a huge number"  # noqa: PLR2004 - fits the line
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    if isinstance(value, dict):
        names = ", ".join(str(key)[:20] for key in list(value)[:5])
        return f"an object with {names}" if value else "an empty object"
    return f"a {type(value).__name__}"


def _path(location: tuple[int | str, ...], given: object, *, missing: bool) -> str:
    """The path in what was given. Pydantic mixes in names of union branches; those are no path."""
    path = ""
    current: Any = given
    for depth, step in enumerate(location):
        last = depth == len(location) - 1
        name = str(step)[:_LONGEST_GOT]
        if isinstance(current, dict) and step in current:
            path += f".{name}" if path else name
            current = current[step]
        elif isinstance(current, (list, tuple)) and isinstance(step, int) and (step < len(current) or missing):
            path += f"[{step}]"
            current = current[step] if step < len(current) else None
        elif last and missing:
            path += f".{name}" if path else name
    return path


def _words(kind: str, message: str, where: str, known: Sequence[str]) -> str:
    if kind == "missing":
        return "is required"
    if kind == "extra_forbidden":
        import difflib

        near = difflib.get_close_matches(where, known, n=1, cutoff=0.6) if len(where) < 100 else []  # noqa: PLR2004
        return f"is no parameter; did you mean {near[0]!r}?" if near else "is no parameter"
    text = message.removeprefix("Input ").removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return text[:300]
