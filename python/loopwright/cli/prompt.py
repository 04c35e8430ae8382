"""Lines of a person: with editing and the lines before on a terminal, as they come from a pipe.

A person who says nothing for a while is told of as well: whoever waits for a line may have something to look after.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from typing import TYPE_CHECKING, Any

from .screen import Style

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .screen import Screen

__all__ = ["Prompt"]

_MARK = "> "
_GO_ON = "\\"
"""A line that ends in it goes on in the next one."""


class Prompt:
    """Where the lines of a person come from.

    Args:
        screen: Where the person is.
        words: What the tabulator completes at the beginning of a line.
        idle: Seconds of silence after which `on_idle` is called, once for each line.
        on_idle: What is to be done then; it may write on the screen.
    """

    def __init__(self, screen: Screen, words: Sequence[str], idle: float, on_idle: Callable[[], None]) -> None:
        self._screen = screen
        self._idle = idle
        self._on_idle = on_idle
        self.asks = _is_terminal(sys.stdin)
        """Whether a person types."""
        self._readline = _line_editor(words) if self.asks else None

    def read(self) -> str | None:
        """What the person says; `None` at the end. Ctrl-C raises `KeyboardInterrupt`."""
        lines: list[str] = []
        while True:
            line = self._line(first=not lines)
            if line is None:
                return "\n".join(lines) or None
            lines.append(line.removesuffix(_GO_ON))
            if not line.endswith(_GO_ON):
                return "\n".join(lines)

    def _line(self, *, first: bool) -> str | None:
        if not self.asks:
            line = sys.stdin.readline()
            return _whole(line.rstrip("\r\n")) if line else None
        mark = _MARK if first else " " * len(_MARK)
        self._screen.ask("")
        try:
            with self._waking(mark):
                return _whole(input(self._shown(mark)))
        except EOFError:
            self._screen.say("")
            return None

    def _shown(self, mark: str) -> str:
        """The mark, bold where the editor can be told which of it takes no room."""
        styled = self._screen.styled(mark, Style.BOLD)
        if styled == mark or self._readline is None or not self._screen.err_is_live:
            return mark
        start, end = styled.split(mark)
        return f"\x01{start}\x02{mark}\x01{end}\x02"

    @contextlib.contextmanager
    def _waking(self, mark: str) -> Iterator[None]:
        """While this lasts, silence is noticed. A line that is being written is no silence."""
        if not hasattr(signal, "setitimer"):
            yield
            return

        def silent(_number: int, _frame: Any) -> None:
            if self._readline is not None and self._readline.get_line_buffer():
                signal.setitimer(signal.ITIMER_REAL, self._idle)
                return
            self._screen.erase_line()
            self._on_idle()
            self._screen.ask(mark)

        try:
            before = signal.signal(signal.SIGALRM, silent)
        except ValueError:
            # Not the main thread: no signal comes here.
            yield
            return
        signal.setitimer(signal.ITIMER_REAL, self._idle)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def _whole(text: str) -> str:
    """A line without halves of characters, which the locale could not decode."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _line_editor(words: Sequence[str]) -> Any:
    """The editor of lines, where Python has one: it keeps what was typed, in this process alone."""
    try:
        import readline
    except ImportError:
        return None

    def complete(text: str, state: int) -> str | None:
        found = [word for word in words if text.startswith("/") and word.startswith(text)]
        return found[state] if state < len(found) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n")
    is_libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")
    return readline
