"""The screen: stdout for answers, stderr for all else, and one line at the bottom that says what goes on.

Both may be the same terminal, so whatever is written passes here: the status line is taken away first and put back
after. Without a terminal there are plain lines. Nobody reading stderr is no reason to stop.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from loopwright.guard import redact

from .text import fit, width, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Screen", "Style"]

# For terminals that know no more than ASCII.
_PLAIN = str.maketrans({"…": "...", "·": "-", "“": '"', "”": '"', "│": "|", "•": "*", "▌": "|", "─": "-", "━": "-"})
_USUAL = (80, 24)
_ERASE = "\r\x1b[2K"


class Style:
    """The few looks there are."""

    DIM = "2"
    BOLD = "1"
    RED = "31"
    YELLOW = "33"


class Screen:
    """Where things are shown.

    Args:
        out: For answers.
        err: For progress, questions and errors.
        quiet: No progress.
        bare: Nothing on stdout but what `answer` gives it; no progress either unless stderr is a terminal.

    `asks` says whether a question on stderr would be seen by a person; `out_is_live` and `err_is_live` whether there is
    a terminal that knows cursor movements.
    """

    def __init__(
        self,
        out: TextIO | None = None,
        err: TextIO | None = None,
        *,
        quiet: bool = False,
        bare: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._out = sys.stdout if out is None else out
        self._err = sys.stderr if err is None else err
        env = os.environ if env is None else env
        capable = env.get("TERM", "") != "dumb" and (sys.platform != "win32" or "WT_SESSION" in env)
        self.asks = _is_terminal(self._err)
        self.out_is_live = _is_terminal(self._out) and capable and not bare
        self.err_is_live = self.asks and capable
        self._colour = not env.get("NO_COLOR")
        self._tells = not quiet and (not bare or self.err_is_live)
        self._quiet = quiet
        self._lock = threading.RLock()
        self._status: str | None = None
        self._shown = False
        self._started = time.monotonic()
        self._mid_line = False
        self._held = 0
        self._draft = ""
        self._closed = threading.Event()
        self._clock: threading.Thread | None = None
        for stream in (self._out, self._err):
            _forgive(stream)

    # What is shown

    def answer(self, text: str, *, style: str | None = None) -> None:
        """A line, or several, on stdout."""
        with self._lock:
            self._make_room()
            self._write(self._out, self._styled(text, style, live=self.out_is_live) + "\n")
            self._restore()

    def styled(self, text: str, style: str) -> str:
        """A part of a line for `answer`."""
        return self._styled(text, style, live=self.out_is_live)

    def gap(self) -> None:
        """An empty line between progress and answer, where people see both."""
        if self.err_is_live and self.out_is_live:
            self.note("")

    def note(self, text: str, *, style: str | None = None) -> None:
        """A line of progress on stderr."""
        if self._tells:
            self.say(text, style=style)

    def say(self, text: str, *, style: str | None = None, whole: bool = False) -> None:
        """A line on stderr that is said even to the quiet: warnings, errors, questions.

        On a terminal it is broken between words unless it shall stay `whole`. Secrets are left out.
        """
        text = redact(text)
        if self.err_is_live and not whole:
            text = wrap(text, self.columns)
        with self._lock:
            self._make_room()
            self._tell(self._styled(text, style, live=self.err_is_live) + "\n")
            self._restore()

    def ask(self, prompt: str) -> None:
        """The beginning of a line on stderr; the person writes the rest."""
        with self._lock:
            self._make_room()
            self._tell(self._styled(prompt, Style.BOLD, live=self.err_is_live))

    def erase_line(self) -> None:
        """Takes the line that a person has not begun to write; without a terminal it ends."""
        with self._lock:
            self._tell(_ERASE if self.err_is_live else "\n")

    @property
    def streams(self) -> bool:
        """Whether an answer is shown while it comes."""
        return self.out_is_live and not self._quiet

    @property
    def has_colour(self) -> bool:
        """Whether colours are wanted."""
        return self._colour

    def draft(self, text: str, *, tail: bool = False) -> None:
        """Text that may not last, dimmed, where stderr is a terminal; `drop_draft` takes it away.

        Of one that grows beyond half of the screen the `tail` alone stays, so that all of it can be taken away.
        """
        if not (self._tells and self.err_is_live) or not text:
            return
        with self._lock:
            whole = self._draft + text
            if tail and self._rows(whole) > self._size()[1] // 2:
                self.drop_draft()
                text = "…" + whole.rstrip("\n").rpartition("\n")[2][-self.columns // 2 :]
            self._hide()
            self._tell(self._styled(text, Style.DIM, live=True))
            self._draft += text
            self._mid_line = not text.endswith("\n")
            self._restore()

    def drop_draft(self) -> None:
        """Takes the draft from the screen; what has scrolled away stays there, and a rule ends it."""
        with self._lock:
            draft, self._draft = self._draft, ""
            if not draft:
                return
            self._hide()
            self._mid_line = False
            rows = self._rows(draft)
            if rows < self._size()[1] - 1:
                self._tell((f"\x1b[{rows}A" if rows else "") + "\r\x1b[J")
            else:
                self._tell("\n" + self._styled("(end of the draft)", Style.DIM, live=True) + "\n")
            self._restore()

    def status(self, text: str | None) -> None:
        """What goes on now, on the line at the bottom; `None` for nothing."""
        if not (self._tells and self.err_is_live):
            return
        with self._lock:
            self._hide()
            self._status = text if text is None else redact(text)
            self._restore()
        if text is not None and self._clock is None:
            self._clock = threading.Thread(target=self._tick, name="loopwright status line", daemon=True)
            self._clock.start()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """While this lasts there is no status line: a person is asked."""
        with self._lock:
            self._make_room()
            self._held += 1
        try:
            yield
        finally:
            with self._lock:
                self._held -= 1
                self._restore()

    def plain(self) -> bool:
        """Whether progress is told in lines, because there is no terminal for a status line."""
        return self._tells and not self.err_is_live

    @property
    def columns(self) -> int:
        """The width for one line."""
        return max(20, self._size()[0])

    def begin(self) -> None:
        """Something begins whose time the status line tells."""
        self._started = time.monotonic()

    def close(self) -> None:
        """The status line goes for good."""
        self._closed.set()
        with self._lock:
            self._make_room()
            self._status = None

    # How

    def _rows(self, text: str) -> int:
        """How far down a text goes that is broken at the end of the screen."""
        lines = text.split("\n")
        return sum(max(0, width(line.expandtabs()) - 1) // self._size()[0] for line in lines) + len(lines) - 1

    def _size(self) -> tuple[int, int]:
        """Columns and lines of the terminal that is written to, or what is usual."""
        for stream in (self._err, self._out):
            with suppress(OSError, ValueError, AttributeError):
                size = os.get_terminal_size(stream.fileno())
                if size.columns > 0 and size.lines > 0:
                    return size.columns, size.lines
        return _USUAL

    def _tick(self) -> None:
        while not self._closed.wait(1.0):
            with self._lock:
                self._restore()

    def _restore(self) -> None:
        if self._status is None or self._mid_line or self._held or self._closed.is_set():
            return
        elapsed = f" · {int(time.monotonic() - self._started)} s"
        columns = self.columns - 1
        line = fit(self._status, columns - len(elapsed)) + elapsed
        self._tell(_ERASE + self._styled(line, Style.DIM, live=True))
        self._shown = True

    def _hide(self) -> None:
        if self._shown:
            self._tell(_ERASE)
            self._shown = False

    def _make_room(self) -> None:
        """Something lasting comes: no status line, no half line, and a draft before it stays."""
        self._hide()
        if self._mid_line:
            self._tell("\n")
            self._mid_line = False
        self._draft = ""

    def _styled(self, text: str, style: str | None, *, live: bool) -> str:
        if style is None or not live or not self._colour or not text:
            return text
        return f"\x1b[{style}m{text}\x1b[0m"

    def _tell(self, text: str) -> None:
        try:
            self._write(self._err, text)
        except (OSError, ValueError):
            # Nobody listens any more; the work goes on.
            self._tells = False
            self.asks = self.err_is_live = False

    def _write(self, stream: TextIO, text: str) -> None:
        try:
            text.encode(stream.encoding or "utf-8")
        except UnicodeEncodeError:
            text = text.translate(_PLAIN)
        stream.write(text)
        stream.flush()


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def _forgive(stream: TextIO) -> None:
    """What the locale can't write becomes `?`, not an exception."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        with suppress(OSError, ValueError):
            reconfigure(errors="replace")
