"""What a hook may answer. `None` is `Continue()`."""

from __future__ import annotations

import json
from typing import Any

from loopwright._dataclasses import dataclass
from loopwright.errors import UsageError

__all__ = ["AddContext", "Continue", "Replace", "Veto", "clean", "spoken"]


@dataclass(frozen=True)
class Continue:
    """Go on as if nothing had been asked."""


@dataclass(frozen=True)
class Replace:
    """Something else in the place of what was shown.

    A prompt takes text or a `Message`; a request a dict of some of `system`, `messages`, `max_tokens`, `temperature`,
    `top_p`, `stop`, `effort`; an answer of the model text or a `Message`; a call its arguments, which the guard judges
    anew; a result text, or blocks of `loopwright.messages`; the answer of the run text.
    """

    value: Any


@dataclass(frozen=True)
class Veto:
    """No, and why.

    A vetoed call is denied and the model reads why; a vetoed result is withheld from it. Of anything else a veto ends
    the run with the stop reason `hook_veto`; a vetoed answer stays in `result.best_draft`, `result.final` is `None`.
    """

    reason: str


@dataclass(frozen=True)
class AddContext:
    """Words for the model, in the next request. They are never taken for the user's words."""

    text: str


@dataclass(frozen=True)
class Offer:
    """The tools that are asked for before each request, as JSON. Only the package itself answers so."""

    tools: str


@dataclass(frozen=True)
class Ask:
    """A person is asked about the call. Only the package itself answers so."""

    reason: str


def spoken(answer: object) -> tuple[str, str]:
    """The answer's kind and its text, as a machine takes it."""
    if answer is None or isinstance(answer, Continue):
        return "continue", ""
    if isinstance(answer, Veto):
        return "veto", _text("the reason of a Veto", answer.reason)
    if isinstance(answer, Offer):
        return "offer", answer.tools
    if isinstance(answer, Ask):
        return "ask", _text("the reason of an Ask", answer.reason)
    if isinstance(answer, AddContext):
        return "add_context", _text("the text of an AddContext", answer.text)
    if isinstance(answer, Replace):
        return "replace", clean(json.dumps(_plain(answer.value), default=_default, ensure_ascii=False))
    message = f"a hook can't answer {answer!r:.100}"
    raise UsageError(message, "invalid_answer", "return None, Continue(), Replace(...), Veto(...) or AddContext(...)")


def _text(what: str, value: object) -> str:
    if isinstance(value, str):
        return clean(value)
    message = f"{what} is text, not {type(value).__name__}"
    raise UsageError(message, "invalid_answer", "give a str")


def clean(text: str) -> str:
    """The text without halves of characters, which no UTF-8 can carry."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _plain(value: Any) -> Any:
    if isinstance(value, (str, dict, list, tuple, int, float, bool)) or value is None:
        return value
    return _default(value)


def _default(value: Any) -> Any:
    """Messages and blocks of ours, wherever they stand in a replacement."""
    for name in ("to_dict", "to_dicts", "to_block"):
        make = getattr(value, name, None)
        if callable(make):
            return make()
    message = f"{type(value).__name__} can't take the place of anything in a run"
    raise UsageError(message, "invalid_answer", "give text, dicts, lists, messages or blocks")
