"""The tools of a server as tools of a run.

A description is text of others: characters that nobody can see are taken out, and it grants nothing. A hint may make a
tool stricter than its name does, and never laxer; what the user of the server says of a tool holds.
"""

from __future__ import annotations

import hashlib
import json
import logging
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, get_args

from loopwright import _core
from loopwright.cli.text import clean
from loopwright.tools._declared import DeclaredTool
from loopwright.tools._offered import free_name
from loopwright.tools._problems import without_titles
from loopwright.tools._result import limit_text
from loopwright.tools._tool import RiskLevel, suggest_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from loopwright.tools import Context, Trust

__all__ = ["Rules", "digest_of", "tools_of"]

_LOG = logging.getLogger("loopwright.mcp")
_RISKS: tuple[RiskLevel, ...] = get_args(RiskLevel)
_LONGEST = 4_000
_LARGEST = 65_536
"""Bytes of a schema: a larger one is no tool that a model could call."""
_DEEPEST = 60
_DATA = frozenset({"default", "const", "enum", "examples", "required"})


class Rules:
    """What the user of a server says of its tools."""

    def __init__(
        self,
        only: Sequence[str] | None,
        read_only: Sequence[str],
        risk: RiskLevel,
        trust: Trust,
        timeout: float,
        max_output: int | None,
    ) -> None:
        self.only, self.read_only = only, read_only
        self.risk: RiskLevel = risk
        self.trust: Trust = trust
        self.timeout, self.max_output = timeout, max_output

    def wants(self, name: str) -> bool:
        """Whether a tool is offered."""
        return self.only is None or any(fnmatchcase(name, pattern) for pattern in self.only)

    def vouches(self, name: str) -> bool:
        """Whether the user says that a tool changes nothing."""
        return any(fnmatchcase(name, pattern) for pattern in self.read_only)


def digest_of(tool: Any) -> str:
    """What a tool is: its name, description, schemas and hints. Another digest is another tool."""
    told = tool.model_dump(mode="json", by_alias=True, exclude={"icons", "meta"})
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode("utf-8", "replace")).hexdigest()


def tools_of(
    server: str,
    listed: Sequence[Any],
    rules: Rules,
    changed: Callable[[str, str], bool],
    serve: Callable[[str, str], Callable[[dict[str, Any], Context[Any]], Awaitable[Any]]],
) -> list[DeclaredTool]:
    """Tools in the order of their names. Of two of one name the first counts; what can't be called is left out.

    `changed` says of a name and a digest whether this was another tool before: such a tool is asked about from now on.
    """
    found: list[DeclaredTool] = []
    names: set[str] = set()
    seen: set[str] = set()
    for tool in sorted(listed, key=lambda each: each.name):
        if not rules.wants(tool.name) or tool.name in seen:
            continue
        seen.add(tool.name)
        schema = _schema_of(server, tool)
        if schema is None:
            continue
        name = free_name(suggest_name(clean(tool.name)), names)
        names.add(name)
        digest = digest_of(tool)
        risk, read_only, effects = _judged(tool, rules, known=not changed(tool.name, digest))
        found.append(
            DeclaredTool(
                serve(tool.name, digest),
                name=name,
                description=_description_of(tool),
                schema=schema,
                risk=risk,
                read_only=read_only,
                timeout=rules.timeout,
                max_output=rules.max_output,
                trust=rules.trust,
                effects=effects,
                origin=f"the server {server!r}",
            )
        )
    return found


def _judged(tool: Any, rules: Rules, *, known: bool) -> tuple[RiskLevel, bool, list[Any]]:
    """The risk, whether it only reads, and its effects: by its name, and what hints add to that."""
    hints = tool.annotations
    destructive = hints is not None and hints.destructive_hint is True and hints.read_only_hint is not True
    vouched = rules.vouches(tool.name) and not destructive and known
    effects = set(_core.tool_flow(tool.name, vouched, rules.trust, ["reads"] if vouched else None)["effects"])
    if vouched:
        return "safe", True, sorted(effects)
    if hints is not None:
        # What a server admits counts; that a tool is harmless is for the user to say.
        if destructive:
            effects.add("deletes")
        if hints.read_only_hint is False:
            effects = (effects - {"reads"}) or {"writes"}
            if hints.open_world_hint is True:
                effects.add("sends")
    least: list[RiskLevel] = [rules.risk]
    if destructive or not known:
        least.append("confirm")
    return max(least, key=_RISKS.index), False, sorted(effects)


def _description_of(tool: Any) -> str:
    said = tool.description or tool.title or (tool.annotations.title if tool.annotations is not None else None)
    return limit_text(clean(said or tool.name).strip(), _LONGEST)[0] or tool.name


def _schema_of(server: str, tool: Any) -> dict[str, Any] | None:
    """The schema of its arguments without characters that nobody can see; `None` if no model could go by it."""
    try:
        if _depth(tool.input_schema) > _DEEPEST:
            why: str | None = "its schema is too deep"
        elif len(json.dumps(tool.input_schema, allow_nan=False)) > _LARGEST:
            why = f"its schema has more than {_LARGEST:,} bytes"
        else:
            schema: dict[str, Any] = without_titles(_cleaned(tool.input_schema))
            schema.setdefault("type", "object")
            schema.setdefault("properties", {})
            fault = _core.schema_fault(json.dumps(schema))
            why = None if fault is None else f"{fault[0]} of its schema: {fault[1]}"
            if schema["type"] != "object":
                why = "its schema is of no object"
            if why is None:
                return schema
    except (ValueError, RecursionError) as error:
        why = str(error)
    _LOG.warning("the tool %r of the server %s is left out: %s", tool.name, server, why)
    return None


def _depth(value: Any) -> int:
    deepest, left = 0, [(value, 1)]
    while left and deepest <= _DEEPEST:
        each, depth = left.pop()
        deepest = max(deepest, depth)
        inner = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        left.extend((one, depth + 1) for one in inner if isinstance(one, (dict, list)))
    return deepest


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    if not isinstance(value, dict):
        return value
    if any(clean(key) != key for key in value):
        message = "a name in its schema holds characters that nobody can see"
        raise ValueError(message)
    return {key: each if key in _DATA else _cleaned(each) for key, each in value.items()}
