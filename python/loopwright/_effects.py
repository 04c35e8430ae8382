"""What a generator of ours asks for, and how it is told what came of it.

Work that waits for others is written as a plain generator: it yields what it waits for and is sent what that gave, by
an event loop or by threads. It yields an awaitable, a function that is called `Beside`, or one of them `Within` a time.
What was raised instead is sent as `Raised`, never thrown: whoever throws `GeneratorExit` into a generator closes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._threads import in_thread, in_worker

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from .tools._context import CancelFlag

    Work = Generator[Any, Any, Any]
    """Yields effects, is sent what they gave, and returns what came of it all."""

__all__ = ["AGAIN", "Again", "Beside", "Raised", "TimeUp", "Within", "attempt", "given_of"]


class TimeUp(Exception):
    """What was waited for `Within` a time did not come."""


class Raised:
    """What is sent where something was raised."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Beside:
    """A plain function that is called in a thread, which sees the caller's context variables: one of its own with this
    name, or without a name one that is kept for a moment and used again.
    """

    __slots__ = ("function", "name")

    def __init__(self, name: str | None, function: Callable[[], Any]) -> None:
        self.name = name
        self.function = function

    def begin(self, done: Callable[[Any], None]) -> None:
        """Calls it; `done` hears what it gave, in that thread."""
        if self.name is None:
            in_worker(self._given, done)
        else:
            in_thread(self.name, self._given, done)

    def _given(self) -> Any:
        return attempt(self.function)


class Again:
    """A turn for others, before whoever asks goes on."""

    __slots__ = ()


AGAIN = Again()


class Within:
    """Something else that is waited for so many seconds at most; then it is told to end, and `TimeUp` is raised. A tool
    is told by its flag before anything else.
    """

    __slots__ = ("effect", "flag", "seconds")

    def __init__(self, seconds: float, effect: Any, flag: CancelFlag | None = None) -> None:
        self.seconds = max(0.0, seconds)
        self.effect = effect
        self.flag = flag

    def lapse(self) -> Raised:
        """Its time is up."""
        if self.flag is not None:
            self.flag.set()
        return Raised(TimeUp())


def attempt(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives; `Raised` where it raises."""
    try:
        return function(*arguments)
    except BaseException as error:  # noqa: BLE001 - handed to who waits
        return Raised(error)


def given_of(sent: Any) -> Any:
    """What was given; raises what was raised."""
    if type(sent) is Raised:
        raise sent.error
    return sent
