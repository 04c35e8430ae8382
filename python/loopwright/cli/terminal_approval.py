"""Asking on the terminal whether a call may run. The default is no; without a terminal nothing is asked and the
answer is no. What was typed before the question was there is no answer to it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, TextIO

from loopwright._json import read
from loopwright.errors import ModelError

from .narration import arguments_of
from .screen import Style
from .text import one_line, seconds, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from loopwright import Approval
    from loopwright.guard import Edit
    from loopwright.tools import Tool

    from .screen import Screen

__all__ = ["TerminalApproval"]

_RISKS = {
    "safe": "changes nothing",
    "cautious": "changes what can be undone",
    "confirm": "may change things for good",
    "dangerous": "may do harm that can't be undone",
}
_KEYS = (
    "y: run it · o: run it once · n or Enter: don't · e: edit it first · ?: explain · Ctrl-C or Ctrl-D: stop the run"
)
_LINES = 30
_TOUCHES = 6
_CHARACTERS = 2_000
_LONGEST_LINE = 4_096


class TerminalApproval:
    """The `approve` of an agent on a terminal."""

    def __init__(self, screen: Screen, tools: Mapping[str, Tool[..., Any, Any]], source: TextIO | None = None) -> None:
        self._screen = screen
        self._tools = tools
        self._source = sys.stdin if source is None else source
        self._asking = threading.Lock()
        # What is written into the one end is read at the other by whoever waits for an answer.
        self._withdrawn, self._withdraw = os.pipe()

    def withdraw(self) -> None:
        """Nobody waits for an answer any more: a question that stands is taken back."""
        if self._asking.locked() and sys.platform != "win32":
            os.write(self._withdraw, b"x")
            with self._asking:
                os.read(self._withdrawn, 1)

    def __call__(self, question: Approval) -> bool | str | Edit:
        """`True`, `"once"`, a reason why not, `"abort"`, or the changed call."""
        if not self._can_ask():
            what, how = _seen(question.name), arguments_of(question.arguments)
            self._screen.note(f"The model wants to use {what}" + (f" with {how}" if how else ""))
            return "there is no terminal to ask a person on"
        with self._asking, self._screen.hold(), _interruptible():
            try:
                return self._ask(question)
            except (KeyboardInterrupt, EOFError):
                self._screen.say("")
                return "abort"

    def _can_ask(self) -> bool:
        try:
            return self._screen.asks and self._source.isatty()
        except (AttributeError, ValueError):
            return False

    def _ask(self, question: Approval) -> bool | str | Edit:
        until = time.monotonic() + (question.expires_in or 0.0)
        self._show(question, _LINES, _CHARACTERS)
        _forget_typed(self._source)
        while True:
            self._screen.ask("Run it? [y/N/e/?] ")
            key = self._read(until)
            if key is None:
                self._screen.say("")
                return f"nobody answered within {seconds(question.expires_in or 0.0)}"
            key = key.strip().lower()
            if key in ("y", "yes"):
                return True
            if key in ("o", "once"):
                return "once"
            if key in ("", "n", "no"):
                return "the person said no"
            if key in ("e", "edit"):
                changed = self._edit(question, until)
                if changed is not None:
                    return changed
            elif key == "?":
                self._explain(question)
                self._screen.say(_KEYS)
            else:
                self._screen.say(_KEYS)

    def _show(self, question: Approval, lines: int, characters: int) -> None:
        say = self._screen.say
        risk = one_line(question.risk)
        say("")
        say(f"The model wants to use {_seen(question.name)} (risk: {risk}, {_RISKS.get(risk, 'unknown')}):")
        for line in _told(question.arguments, lines, characters):
            say(f"  │ {line}", style=Style.YELLOW, whole=True)
        if question.part:
            for line in _marked(question, self._screen.columns - 4):
                say(f"  {line}", style=Style.RED, whole=True)
        if question.why:
            say(f"  Why you are asked: {one_line(question.why)}")
        for touched in question.touches[:_TOUCHES]:
            say(f"  It would touch {one_line(touched)}")
        if len(question.touches) > _TOUCHES:
            say(f"  … and {len(question.touches) - _TOUCHES} more: ? shows all")
        if question.keeps:
            say(f"  A y is kept. {one_line(question.keeps)}", style=Style.DIM)
        if question.expires_in:
            say(f"  No answer within {seconds(question.expires_in)} is a no.", style=Style.DIM)

    def _explain(self, question: Approval) -> None:
        tool = self._tools.get(question.name)
        if tool is not None:
            self._screen.say(f"What {_seen(question.name)} does: {one_line(tool.description)}")
        if question.rules:
            self._screen.say(f"What decided that you are asked: {one_line(', '.join(question.rules))}")
        for touched in question.touches:
            self._screen.say(f"It would touch {one_line(touched)}")
        self._screen.say("All of its arguments:")
        for line in _told(question.arguments, sys.maxsize, sys.maxsize):
            self._screen.say(f"  │ {line}", style=Style.YELLOW, whole=True)

    def _edit(self, question: Approval, until: float) -> Edit | None:
        """The call as the person writes it; `None` if nothing was written."""
        from loopwright.guard import Edit

        name = _line_of(question.arguments)
        what = f"the new {name}" if name else "all arguments as JSON"
        self._screen.ask(f"Write {what} on one line (Enter: leave it): ")
        typed = self._read(until)
        text = (typed or "").strip()
        if not text:
            return None
        if name:
            return Edit({**question.arguments, name: text})
        try:
            changed = read(text, "it")
        except ModelError as error:
            self._screen.say(f"That is no JSON: {one_line(error.message)}")
            return None
        if not isinstance(changed, dict):
            self._screen.say("That is no JSON object.")
            return None
        return Edit(changed)

    def _read(self, until: float) -> str | None:
        """A line of the person, or `None` when the time is up. `EOFError` at the end."""
        descriptor = self._source.fileno()
        typed = b""
        while not typed.endswith((b"\n", b"\r")) and len(typed) < _LONGEST_LINE:
            found = _wait([descriptor, self._withdrawn], until)
            if not found:
                return None
            if self._withdrawn in found:
                raise EOFError
            piece = os.read(descriptor, 1024)
            if not piece:
                raise EOFError
            typed += piece
        return typed.decode("utf-8", "replace")


def _seen(text: str) -> str:
    """A text on one line, with what nobody can see written out."""
    return " ".join(visible(text).split())


def _line_of(arguments: Any) -> str | None:
    """The argument that a person would rewrite as a line, where there is one."""
    if not isinstance(arguments, dict):
        return None
    texts = [name for name, value in arguments.items() if isinstance(value, str)]
    for name in ("command", "cmd", "code", "url", "path"):
        if name in texts and "\n" not in arguments[name]:
            return name
    return texts[0] if len(arguments) == 1 and texts else None


def _marked(question: Approval, columns: int) -> Iterator[str]:
    """The part that decides, under the line it stands in where that fits, else by itself."""
    part = question.part or ""
    if question.span is not None and isinstance(question.arguments, dict):
        start, end = question.span
        for value in question.arguments.values():
            line = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else b""
            if b"\n" in line or line[start:end] != part.encode("utf-8", "surrogatepass"):
                continue
            before = visible(line[:start].decode("utf-8", "replace"))
            shown = visible(part)
            if len(before) + len(shown) <= columns and part != value:
                yield "│ " + " " * len(before) + "^" * max(1, len(shown))
                return
    shown = _seen(part)
    yield f"The part that decides: {shown[:_CHARACTERS]}"


def _told(arguments: Any, lines: int, characters: int) -> Iterator[str]:
    """The arguments, everything visible, at most so much of them; what is left out is said."""
    if isinstance(arguments, dict) and len(arguments) == 1 and isinstance(next(iter(arguments.values())), str):
        name, value = next(iter(arguments.items()))
        text = value if name in ("command", "code", "url", "path") else f"{name}: {value}"
    elif isinstance(arguments, dict):
        text = "\n".join(f"{name}: {_value(value)}" for name, value in arguments.items())
    else:
        text = _value(arguments)
    shown = visible(text)
    cut = "\n".join(shown[:characters].split("\n")[:lines])
    yield from cut.split("\n")
    if len(cut) < len(shown):
        yield f"… and {len(shown) - len(cut):,} more characters: ? shows all"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _wait(descriptors: list[int], until: float) -> list[int]:
    """Waits for something to read, at most until then. Gives where it is."""
    if sys.platform == "win32":
        return descriptors[:1]  # a console can't be waited for; the read does it
    import select

    left = until - time.monotonic()
    return select.select(descriptors, [], [], left)[0] if left > 0 else []


def _forget_typed(source: TextIO) -> None:
    if sys.platform == "win32":
        return
    import termios

    with contextlib.suppress(termios.error, OSError, ValueError):
        termios.tcflush(source.fileno(), termios.TCIFLUSH)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C raises here, whatever it does elsewhere."""
    try:
        before: Callable[..., Any] | int | None = signal.signal(signal.SIGINT, signal.default_int_handler)
    except ValueError:
        yield  # not the main thread: Ctrl-C does not come here
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
