"""The command line as people use it: a process of its own, with pipes or with a terminal."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

COMMAND = [sys.executable, "-W", "error", "-m", "loopwright"]
ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


def environment(**more: str) -> dict[str, str]:
    """This process's, without what would steer the command line."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not re.search(
            r"_API_KEY$|^LOOPWRIGHT_|_BASE_URL$|^OLLAMA_HOST$|^NO_COLOR$|^(LC_|LANG)|_proxy$", name, re.IGNORECASE
        )
    }
    return {**kept, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "ANTHROPIC_API_KEY": "", **more}


@dataclass
class Ended:
    code: int
    out: str
    err: str


def display(raw: str, columns: int) -> list[str]:
    """The lines that stay on a terminal of such width, as high as it has to be; a letter takes one column."""
    rows, row, column = [""], 0, 0
    for piece in re.findall(r"\x1b\[[0-?]*[ -/]*[@-~]|.", raw, re.DOTALL):
        if piece == "\n":
            row += 1
        elif piece == "\r":
            column = 0
        elif piece == "\x1b[J":
            rows[row] = rows[row][:column]
            del rows[row + 1 :]
        elif piece == "\x1b[2K":
            rows[row] = ""
        elif len(piece) > 1:
            # Colours change nothing here; the rest goes up.
            row -= int(piece[2:-1]) if piece.endswith("A") else 0
        else:
            row, column = (row + 1, 0) if column >= columns else (row, column)
            rows += [""] * (row + 1 - len(rows))
            rows[row] = rows[row][:column].ljust(column) + piece + rows[row][column + 1 :]
            column += 1
        rows += [""] * (row + 1 - len(rows))
    return rows


class Terminal:
    """The command line on a terminal of its own."""

    def __init__(self, arguments: Sequence[str], cwd: Path, env: dict[str, str], columns: int = 80) -> None:
        import fcntl
        import struct
        import termios

        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.raw = ""
        self._seen = 0

        def own_terminal() -> None:
            # As a shell starts it, whatever of Ctrl-C whoever started the tests does not hear.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=cwd,
            env=env,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            preexec_fn=own_terminal,
        )
        os.close(slave)

    @property
    def text(self) -> str:
        """What was written, without escapes."""
        return ESCAPE.sub("", self.raw).replace("\r\n", "\n")

    def until(self, words: str, seconds: float = 20.0) -> None:
        """Waits until this comes, after what was waited for last."""
        deadline = time.monotonic() + seconds
        while (found := self.text.find(words, self._seen)) < 0:
            left = deadline - time.monotonic()
            if left <= 0 or not self._read(left):
                pytest.fail(f"{words!r} did not come; this did: {self.raw!r}")
        self._seen = found + len(words)

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def end(self, seconds: float = 20.0) -> int:
        """Waits for the end; gives the exit code."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and self._read(left):
            pass
        return self.process.wait(max(1.0, deadline - time.monotonic()))

    def _read(self, seconds: float) -> bool:
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            piece = os.read(self._master, 65_536)
        except OSError:
            return False
        self.raw += piece.decode("utf-8", "replace")
        return bool(piece)

    def close(self) -> None:
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait(10)
        os.close(self._master)
