"""How much harm a call may do, and which part of it says so.

::

    risk = assess_risk("cd build && rm -rf ../*")
    print(risk.level, risk.rule, risk.part.text)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import total_ordering
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from loopwright import _core
from loopwright._dataclasses import dataclass, field
from loopwright._repr import redacted_repr
from loopwright.errors import UsageError

from ._commands import commands_of

if TYPE_CHECKING:
    import os

    from loopwright.tools import Tool

    from ._commands import Commands

__all__ = ["Part", "Risk", "RiskContext", "assess_risk"]

Level: TypeAlias = Literal["safe", "cautious", "confirm", "dangerous"]
"""How much harm, in order."""

_LEVELS: tuple[str, ...] = get_args(Level)


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a call that decided."""

    argument: str
    """The argument, as a path: `command`, `edits[0].path`. Empty for plain shell text."""
    span: tuple[int, int]
    """Its bytes in the UTF-8 of that argument's text."""
    text: str


@total_ordering
@dataclass(frozen=True, slots=True)
class Risk:
    """How much harm a call may do. Risks compare by their level, with each other and with a level's name.

    >>> assess_risk("git push --force") > assess_risk("git status")
    True
    >>> assess_risk("git status") < "confirm"
    True
    """

    level: Level
    rule: str
    """The id of the rule that decided, such as `shell.rm.recursive`."""
    why: str
    """A sentence for people."""
    part: Part | None = field(default=None)
    """The part that decided; `None` if it was the level that the tool declares."""
    loses: bool = field(default=False)
    """Whether one file is gone for good that nothing makes again, though the level is no more than `cautious`."""
    gated: bool = field(default=False)
    """Whether the gate asks about it under the rules that are shipped, though its level and `loses` do not say so."""

    @property
    def asks(self) -> bool:
        """Whether a person is asked before such a call runs, whatever the task says: what the gate does under the rules
        that are shipped.

        >>> assess_risk("rm notes.txt").level, assess_risk("rm notes.txt").asks
        ('cautious', True)
        """
        return self.gated or self.loses or self >= "confirm"

    def __lt__(self, other: Risk | str) -> bool:
        if isinstance(other, Risk):
            return _rank(self.level) < _rank(other.level)
        if isinstance(other, str):
            return _rank(self.level) < _rank(other)
        return NotImplemented

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return self.level == other
        if isinstance(other, Risk):
            mine = (self.level, self.rule, self.why, self.part)
            return mine == (other.level, other.rule, other.why, other.part)
        return NotImplemented

    def __le__(self, other: Risk | str) -> bool:
        return not self > other

    def __gt__(self, other: Risk | str) -> bool:
        level = other.level if isinstance(other, Risk) else other
        return _rank(self.level) > _rank(level)

    def __ge__(self, other: Risk | str) -> bool:
        return not self < other

    def __hash__(self) -> int:
        # As the name of the level has it, to which it is equal.
        return hash(self.level)


@dataclass(frozen=True)
class RiskContext:
    """What is known of the machine that a call runs on. All of it may be left out.

    >>> assess_risk(("write_file", {"path": "/srv/app/main.py"}), context=RiskContext(workspace="/srv/app")).asks
    False
    """

    workspace: str | None = None
    """The folder whose files may be worked on; without one, what is below the folder that commands start in."""
    cwd: str | None = None
    """The folder that commands start in; the workspace if not given."""
    home: str | None = None
    """The home folder."""
    temporary: Sequence[str] = ()
    """More folders for what nobody misses, besides `/tmp`, `/var/tmp` and `$TMPDIR`."""
    commands: Commands | str | os.PathLike[str] | None = None
    """What programs do that the guard does not know: a `Commands`, or the path of its TOML file."""

    def ground(self) -> _core.RiskGround:
        """As the core takes it; made once."""
        ground: _core.RiskGround | None = self.__dict__.get("_made")
        if ground is None:
            for name in ("workspace", "cwd", "home"):
                value = getattr(self, name)
                if value is not None and not str(value).startswith(("/", "~")) and ":" not in str(value):
                    message = f"{name}={value!r} is no absolute path"
                    raise UsageError(message, "invalid_value", "give the folder from the root on")
            workspace, cwd, home = (None if v is None else str(v) for v in (self.workspace, self.cwd, self.home))
            commands = commands_of(self.commands, "RiskContext.commands")
            folders = [str(folder) for folder in self.temporary]
            ground = _core.RiskGround(workspace, cwd, home, folders, None if commands is None else commands._core)  # noqa: SLF001
            self.__dict__["_made"] = ground
        return ground


_NOTHING = RiskContext()


def assess_risk(
    call: str | tuple[str, Mapping[str, Any]] | Any,
    tool: Tool[..., Any, Any] | Level | None = None,
    context: RiskContext | None = None,
) -> Risk:
    """How much harm a call may do: what the tool declares, raised by what the arguments say, never lowered.

    `call` is shell text, a name with arguments, a dict as any provider writes it, or anything with `name` and
    `arguments` (or `input`), such as a `ToolCall`. `tool` is the tool, or the level that it declares; nothing declared
    counts as `cautious`.

    >>> assess_risk("rm -rf ~/projects").level
    'confirm'
    >>> risk = assess_risk(("bash", {"command": "echo done; X=rm; $X -rf /"}))
    >>> risk.level, risk.rule, risk.part.argument, risk.part.text
    ('dangerous', 'shell.rm.recursive', 'command', '/')
    >>> assess_risk(("population", {"city": "Oslo"}), "safe").level
    'safe'
    """
    if context is not None and not isinstance(context, RiskContext):
        message = f"context is {type(context).__name__}, not a RiskContext"
        raise UsageError(message, "invalid_value", "give RiskContext(workspace=...), or nothing")
    ground = (context or _NOTHING).ground()
    if isinstance(call, str):
        found = _core.assess_shell(_whole(call), ground)
        if tool is None or _by_arguments(tool):
            return _risk(found)
        declared = _risk(_core.assess_arguments("shell", "{}", _declared(tool), False, ground))
        return max(_risk(found), declared, key=lambda risk: (_rank(risk.level), risk.asks))
    name, arguments = _taken_apart(call)
    name, arguments = _whole(name), _whole(arguments)
    level = None if tool is None else _declared(tool)
    return _risk(_core.assess_arguments(name, arguments, level, _by_arguments(tool), ground))


def _rank(level: str) -> int:
    try:
        return _LEVELS.index(level)
    except ValueError:
        message = f"there is no level named {level!r}"
        raise UsageError(message, "unknown_level", f"one of {', '.join(_LEVELS)}") from None


def _by_arguments(tool: Any) -> bool:
    """Whether a tool's arguments say all there is to know, as the line of the built-in shell does."""
    return bool(getattr(tool, "by_arguments", False))


def _declared(tool: Any) -> str:
    level = tool if isinstance(tool, str) else getattr(tool, "risk", None)
    if not isinstance(level, str):
        message = f"{type(tool).__name__} is neither a tool nor a level"
        raise UsageError(message, "invalid_tool", f"give a tool, or one of {', '.join(_LEVELS)}")
    _rank(level)
    return level


_HALVES = re.compile("[\ud800-\udfff]")


def _whole(value: Any) -> Any:
    """Data with halves of characters replaced: as many bytes, so that spans stay what they are."""
    if isinstance(value, str):
        return value if value.isascii() else _HALVES.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {_whole(key): _whole(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_whole(item) for item in value]
    return value


def _taken_apart(call: Any) -> tuple[str, Any]:
    match call:
        case (str() as name, arguments):
            pass
        case {"function": {"name": str() as name} as inner}:
            arguments = inner.get("arguments", {})
        case {"name": str() as name}:
            arguments = call.get("arguments", call.get("input", {}))
        case object(name=str() as name):
            arguments = getattr(call, "arguments", None)
            arguments = getattr(call, "input", {}) if arguments is None else arguments
        case _:
            message = f"{type(call).__name__} is no call"
            raise UsageError(message, "invalid_call", "give shell text, (name, arguments), or an object with a name")
    if isinstance(arguments, str):
        # JSON text goes as it is; what is no JSON is judged as text that a model wrote.
        return name, arguments
    return name, dict(arguments) if isinstance(arguments, Mapping) else {"input": arguments}


def _risk(found: _core.AssessedRisk) -> Risk:
    part = found.part
    shown = None if part is None else Part(part[0], (part[1], part[2]), part[3])
    known = found.loses or _rank(found.level) >= _rank("confirm")
    return Risk(found.level, found.rule, found.why, shown, found.loses, found.asks and not known)


redacted_repr(Part, Risk)
