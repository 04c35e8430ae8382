"""The command line as a whole: which command runs, and what becomes of errors and streams."""

from __future__ import annotations

import contextlib
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from .arguments import parser
from .commands import COMMANDS
from .exit_codes import BROKEN_PIPE, ERROR, INTERRUPTED, USAGE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; gives the exit code."""
    _stand_in()
    try:
        try:
            return _main(argv)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _silence()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED


def _main(argv: Sequence[str] | None) -> int:
    arguments = parser().parse_args(argv)
    try:
        # Loaded when it is wanted.
        wanted = COMMANDS[arguments.command or "help"]
        command: Callable[[argparse.Namespace], int] = getattr(
            import_module(f".{wanted.home}", __package__), wanted.function
        )
        return command(arguments)
    except BrokenPipeError:
        raise
    except Exception as error:
        if os.environ.get("LOOPWRIGHT_DEBUG"):
            raise
        return _failed(error, json=arguments.json)


def _somewhere() -> bool:
    """Whether the working folder is still there."""
    try:
        Path.cwd()
    except OSError:
        return False
    return True


def _failed(error: Exception, *, json: bool) -> int:
    from loopwright.errors import InternalError, LoopwrightError, UsageError

    from .report import error_line, failure_json
    from .screen import Screen, Style

    if isinstance(error, FileNotFoundError) and not _somewhere():
        error = UsageError("the working folder is gone", "no_folder", "go to a folder that is there")
    elif not isinstance(error, LoopwrightError):
        error = InternalError(f"{type(error).__name__}: {error}", hint="LOOPWRIGHT_DEBUG=1 shows where")
    code = USAGE if isinstance(error, UsageError) else ERROR
    screen = Screen(bare=json)
    if json:
        screen.answer(failure_json(error, code))
    screen.say(error_line(error), style=Style.RED)
    return code


def _stand_in() -> None:
    """Where a stream is closed (`>&-`), Python has none: what is written there goes nowhere, and no file that is opened
    later gets its number.
    """
    if sys.stdin is not None and sys.stdout is not None and sys.stderr is not None:
        return
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free.
            os.open(os.devnull, os.O_RDWR)
    nowhere = (os.open(os.devnull, os.O_RDWR) for _ in range(3))
    sys.stdin = sys.stdin or os.fdopen(next(nowhere), encoding="utf-8")
    sys.stdout = sys.stdout or os.fdopen(next(nowhere), "w", encoding="utf-8")
    sys.stderr = sys.stderr or os.fdopen(next(nowhere), "w", encoding="utf-8")


def _silence() -> None:
    """Python flushes stdout when it ends; whoever read it is gone."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
