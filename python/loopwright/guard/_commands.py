"""`Commands`: what a user says of programs, in records that are read from TOML files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright import _core
from loopwright.errors import UsageError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Commands"]


class Commands:
    """Records of programs beside those that the guard ships, as `Guard(commands=...)` and `RiskContext` take them.

    >>> commands = Commands.from_toml('''
    ... [[program]]
    ... names = "shipit"
    ... reads = ["= /", "status = -q --stage="]
    ... rules = ["confirm own.push: push -> puts the work before everybody"]
    ... safe = ["shipit status", "shipit status -q --stage=test"]
    ... cautious = ["shipit list"]
    ... confirm = ["shipit push"]
    ... ''')
    >>> commands.programs
    ('shipit',)

    The lines below `safe`, `cautious`, `confirm` and `dangerous` are examples: one that does not hold, or a record that
    can't be read, raises `UsageError` with file and line. A record of a program that is known already adds to what
    makes its calls worse; with `replaces = true` it counts in place of that one, and its programs stand in `replaced`.
    """

    __slots__ = ("_core",)

    def __init__(self, name: str, text: str) -> None:
        for what, given in (("name", name), ("text", text)):
            if not isinstance(given, str):
                message = f"{what} is {type(given).__name__}, not text"
                raise UsageError(message, "invalid_value", "give TOML text, and what errors should call it")
        self._core = _core.Commands(name, text)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The records of a file."""
        name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
        if not isinstance(name, str):
            message = f"the path of records can't be {path!r:.100}"
            raise UsageError(message, "invalid_value", "give a path as text or a pathlib.Path")
        try:
            # Line ends as in any text file: records are the same wherever they were written.
            text = Path(name).read_bytes().decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            message = f"{name}, line {line}: the byte 0x{error.object[error.start]:02x} is no UTF-8"
            raise UsageError(message, "records_unreadable", "save the file as UTF-8") from error
        except (OSError, ValueError) as error:
            # A name that no file can have.
            reason = getattr(error, "strerror", None) or str(error)
            message = f"{name}: the records can't be read: {reason}"
            raise UsageError(message, "records_unreadable", "give a TOML file") from error
        return cls(name, text)

    @classmethod
    def from_toml(cls, text: str, *, name: str = "<text>") -> Self:
        """The records of a text."""
        return cls(name, text)

    @property
    def programs(self) -> tuple[str, ...]:
        """The programs that it has records of."""
        return tuple(self._core.programs)

    @property
    def replaced(self) -> tuple[str, ...]:
        """The programs of which what the guard ships no longer counts: those of records with `replaces = true`."""
        return tuple(self._core.replaced)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Commands) and self.__reduce__() == other.__reduce__()

    def __hash__(self) -> int:
        return hash((self._core.name, self._core.text))

    def __repr__(self) -> str:
        replaced = f", replaces {' '.join(self.replaced)}" if self.replaced else ""
        return f"<Commands of {len(self.programs)} programs{replaced}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Commands, (self._core.name, self._core.text))


def commands_of(given: object, what: str) -> Commands | None:
    """What an option `commands` means."""
    if given is None or isinstance(given, Commands):
        return given
    if isinstance(given, (str, os.PathLike)):
        return Commands.load(given)
    message = f"{what} can't be {given!r:.100}"
    raise UsageError(message, "invalid_option", "give a loopwright.guard.Commands, or the path of a TOML file")
