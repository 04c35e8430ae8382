"""Docstrings of the three common styles, read as a description and one text for each parameter.

Google (`Args:`), NumPy (`Parameters` underlined) and Sphinx (`:param name:`) may be mixed. What is no section about
parameters, results or errors stays in the description: notes and examples help a model too. Nothing here fails: text
that fits no style is description.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Docstring", "read"]


class Docstring(NamedTuple):
    """What a docstring says."""

    description: str
    parameters: dict[str, str]


_PARAMETER_SECTIONS = frozenset(
    {"args", "arguments", "parameters", "params", "keyword args", "keyword arguments", "other parameters"}
)
_DROPPED_SECTIONS = frozenset(
    {"returns", "return", "yields", "yield", "raises", "raise", "except", "exceptions", "receives", "warns"}
    | {"attributes"}
)
_KEPT_SECTIONS = frozenset(
    {"note", "notes", "example", "examples", "warning", "warnings", "see also", "references", "todo", "tip", "hint"}
)
_SECTIONS = _PARAMETER_SECTIONS | _DROPPED_SECTIONS | _KEPT_SECTIONS

_GOOGLE_ENTRY = re.compile(r"\*{0,2}(?P<name>\w+)\s*(?:\((?P<type>[^:]*)\))?\s*:(?:\s+(?P<text>.*)|$)")
_NUMPY_ENTRY = re.compile(r"(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_FIELD = re.compile(r"[:@](?P<kind>\w+)\s*(?P<argument>[^:]*):\s*(?P<text>.*)")
_PARAMETER_FIELDS = frozenset({"param", "parameter", "arg", "argument", "key", "keyword"})
_OTHER_FIELDS = frozenset(
    {"return", "returns", "rtype", "raise", "raises", "except", "exception", "type", "yield", "yields", "var", "ivar"}
)


def read(text: str | None) -> Docstring:
    """What `text` says."""
    if not text:
        return Docstring("", {})
    lines = _dedent(text)
    description: list[str] = []
    parameters: dict[str, list[str]] = {}
    position = 0
    while position < len(lines):
        line = lines[position]
        field = _field(line)
        if field is not None:
            position = _read_field(lines, position, field, parameters)
            continue
        title = line.strip().rstrip(":").lower()
        if title in _SECTIONS and _is_numpy_title(lines, position):
            end = _numpy_end(lines, position + 2)
            body = lines[position + 2 : end]
        elif title in _SECTIONS and line.rstrip().endswith(":") and _is_google_title(lines, position):
            end = _block_end(lines, position + 1, _indent(line))
            body = lines[position + 1 : end]
        else:
            description.append(line)
            position += 1
            continue
        if title in _PARAMETER_SECTIONS:
            _read_section(body, parameters)
        elif title in _KEPT_SECTIONS:
            description.extend(lines[position:end])
        position = end
    return Docstring(
        _prose(description), {name: joined for name, parts in parameters.items() if (joined := _joined(parts))}
    )


def _dedent(text: str) -> list[str]:
    lines = text.expandtabs().splitlines()
    indents = [_indent(line) for line in lines[1:] if line.strip()]
    margin = min(indents, default=0)
    return [lines[0].strip(), *(line[margin:].rstrip() for line in lines[1:])] if lines else []


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_numpy_title(lines: list[str], position: int) -> bool:
    if position + 1 >= len(lines):
        return False
    rule = lines[position + 1].strip()
    return len(rule) >= 3 and set(rule) <= {"-"}  # noqa: PLR2004 - shorter is a dash in prose


def _is_google_title(lines: list[str], position: int) -> bool:
    following = next((lines[each] for each in range(position + 1, len(lines)) if lines[each].strip()), "")
    return _indent(following) > _indent(lines[position])


def _numpy_end(lines: list[str], start: int) -> int:
    position = start
    while position < len(lines):
        if lines[position].strip() and _indent(lines[position]) == 0:
            if _is_numpy_title(lines, position) or _field(lines[position]) is not None:
                break
            # Prose after a blank line, not an entry, ends the section.
            if position > start and not lines[position - 1].strip() and not _NUMPY_ENTRY.match(lines[position].strip()):
                break
        position += 1
    return position


def _block_end(lines: list[str], start: int, indent: int) -> int:
    position = start
    while position < len(lines) and (not lines[position].strip() or _indent(lines[position]) > indent):
        position += 1
    return position


def _read_section(body: list[str], parameters: dict[str, list[str]]) -> None:
    margin = min((_indent(line) for line in body if line.strip()), default=0)
    current: list[list[str]] = []
    for line in body:
        entry = line.strip()
        if not entry or _indent(line) > margin:
            for part in current:
                part.append(entry)
            continue
        google = _GOOGLE_ENTRY.match(entry)
        numpy = _NUMPY_ENTRY.match(entry)
        if google is not None and margin > 0:
            current = [parameters.setdefault(google["name"], [])]
            current[0].append(google["text"] or "")
        elif numpy is not None and margin == 0:
            names = [name.strip().lstrip("*") for name in numpy["names"].split(",")]
            current = [parameters.setdefault(name, []) for name in names]
        else:
            # A continuation that forgot its indent.
            for part in current:
                part.append(entry)


def _field(line: str) -> tuple[str, str, str] | None:
    match = _FIELD.match(line.strip()) if line.lstrip().startswith((":", "@")) else None
    if match is None:
        return None
    kind = match["kind"].lower()
    if kind not in _PARAMETER_FIELDS and kind not in _OTHER_FIELDS:
        return None
    return kind, match["argument"].strip(), match["text"]


def _read_field(lines: list[str], position: int, field: tuple[str, str, str], parameters: dict[str, list[str]]) -> int:
    kind, argument, text = field
    end = position + 1
    indent = _indent(lines[position])
    while end < len(lines) and lines[end].strip() and _indent(lines[end]) > indent:
        end += 1
    if kind in _PARAMETER_FIELDS and argument:
        name = argument.split()[-1].lstrip("\\*")
        parameters.setdefault(name, []).extend([text, *(line.strip() for line in lines[position + 1 : end])])
    return end


def _joined(parts: list[str]) -> str:
    return " ".join(part for part in parts if part).strip()


def _prose(lines: list[str]) -> str:
    kept: list[str] = []
    for line in lines:
        if line.strip() or (kept and kept[-1]):
            kept.append(line)
    return "\n".join(kept).strip()
