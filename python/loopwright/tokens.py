"""How many tokens a text is: exactly where the vocabulary is public, with a stated margin where it is not.

::

    >>> count_tokens("Hello, world!", model="gpt-4o")
    4

Everything happens on this machine. See `docs/tokens.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core
from ._core import TokenCount, TokenCounter, decode_tokens, encode_tokens, estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .messages import Message
    from .models import Request

__all__ = ["TokenCount", "TokenCounter", "count_tokens", "decode_tokens", "encode_tokens", "estimate_tokens"]


def count_tokens(
    text_or_messages: str | Iterable[Message | Mapping[str, Any]] | Mapping[str, Any] | Message | Request,
    model: str | None = None,
    encoding: str | None = None,
    upper_bound: bool = False,  # noqa: FBT001, FBT002 - as it was from the beginning
) -> int:
    """How many tokens a text is, or messages are: exact for models of OpenAI, an estimate for others.

    Messages are a list (ours, or dicts of Chat Completions, Anthropic, Responses or Gemini), a single one, or a whole
    request; they cost what a provider adds for roles, tools, pictures and results. With `upper_bound`, an estimate is
    too low less than once in a hundred times. No network, ever. Raises a `UsageError` (`invalid_messages`) that names
    the message and the key for what is none.
    """
    given: Any = text_or_messages
    if not isinstance(given, (str, bytes)) and type(given).__name__ != "Request":
        from ._any_messages import countable

        given = countable(given)
    return _core.count_tokens(given, model, encoding, upper_bound)
