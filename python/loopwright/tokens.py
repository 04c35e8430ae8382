"""How many tokens a text is: exactly where the vocabulary is public, with a stated margin where it is not.

::

    >>> count_tokens("Hello, world!", model="gpt-4o")
    4

Everything happens on this machine. See `docs/tokens.md`.
"""

from __future__ import annotations

from ._core import TokenCount, TokenCounter, count_tokens, decode_tokens, encode_tokens, estimate_tokens

__all__ = ["TokenCount", "TokenCounter", "count_tokens", "decode_tokens", "encode_tokens", "estimate_tokens"]
