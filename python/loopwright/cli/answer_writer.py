"""An answer on a terminal while it comes: what is whole is shown for good, what follows as a draft below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .markdown import renderer_of

if TYPE_CHECKING:
    from .screen import Screen

__all__ = ["AnswerWriter", "show_answer"]


class AnswerWriter:
    """Shows an answer piece by piece, where stdout is a terminal; elsewhere nothing: the whole comes in the end."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._renderer = renderer_of(screen) if screen.streams else None
        self._rest = ""
        self._shown: list[str] = []

    @property
    def text(self) -> str:
        """What was written so far, as it came."""
        return "".join(self._shown) + self._rest

    def write(self, text: str) -> None:
        """More of the answer."""
        if self._renderer is None or not text:
            return
        self._rest += text
        whole = self._renderer.whole(self._rest)
        if not whole:
            self._screen.draft(text, tail=True)
            return
        self._show(whole)
        self._screen.draft(self._rest, tail=True)

    def finish(self) -> None:
        """The answer is whole."""
        if self._renderer is not None and self._rest.strip():
            self._rest = self._rest.rstrip()
            self._show(len(self._rest))
        else:
            self._screen.drop_draft()

    def drop(self) -> bool:
        """What follows is another answer; says whether something of this one stays on the screen."""
        self._rest = ""
        self._screen.drop_draft()
        return bool(self._shown)

    def _show(self, count: int) -> None:
        part, self._rest = self._rest[:count], self._rest[count:]
        self._shown.append(part)
        self._screen.drop_draft()
        if self._renderer is not None:
            self._screen.answer(self._renderer.render(part, self._screen.columns).removesuffix("\n"))


def show_answer(screen: Screen, text: str) -> None:
    """A whole answer that was cleaned: rendered on a terminal, as it is elsewhere."""
    if screen.out_is_live:
        text = renderer_of(screen).render(text.strip("\n"), screen.columns)
    screen.answer(text)
