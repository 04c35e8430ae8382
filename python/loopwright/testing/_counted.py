"""What a double of a provider counts and embeds: tokens of requests, and vectors of texts that share words."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

from loopwright import _core

__all__ = ["counted", "embedded"]

_WIDTH = 64


def counted(path: str, body: dict[str, Any]) -> dict[str, Any] | None:
    """The answer to a question for the tokens of a request; `None` if the path asks none."""
    if path.endswith("/messages/count_tokens"):
        return {"input_tokens": _tokens(body, "tools", "system", "messages")}
    if path.endswith("/responses/input_tokens"):
        return {"object": "response.input_tokens", "input_tokens": _tokens(body, "tools", "instructions", "input")}
    if path.endswith(":countTokens"):
        asked = body.get("generateContentRequest", body)
        return {"totalTokens": _tokens(asked, "tools", "systemInstruction", "contents")}
    return None


def _tokens(body: dict[str, Any], *keys: str) -> int:
    written = (json.dumps(body[key], ensure_ascii=False, separators=(",", ":")) for key in keys if body.get(key))
    return sum(_core.count_tokens(each) for each in written)


def embedded(path: str, body: dict[str, Any]) -> dict[str, Any] | None:
    """The answer to a request for vectors; `None` if the path asks for none."""
    if path.endswith("/embeddings"):
        given = body["input"]
        texts = [given] if isinstance(given, str) else given
        width = body.get("dimensions") or _WIDTH
        data = [
            {"object": "embedding", "index": at, "embedding": _vector(text, width)} for at, text in enumerate(texts)
        ]
        used = sum(_core.count_tokens(text) for text in texts)
        usage = {"prompt_tokens": used, "total_tokens": used}
        return {"object": "list", "data": data, "model": body.get("model", ""), "usage": usage}
    if path.endswith(":embedContent"):
        return {"embedding": {"values": _of_gemini(body)}}
    if path.endswith(":batchEmbedContents"):
        return {"embeddings": [{"values": _of_gemini(each)} for each in body["requests"]]}
    return None


def _of_gemini(body: dict[str, Any]) -> list[float]:
    text = " ".join(part.get("text", "") for part in body["content"]["parts"])
    return _vector(text, body.get("outputDimensionality") or _WIDTH)


def _vector(text: str, width: int) -> list[float]:
    """A vector of length 1: each word adds one at a place of its own, so texts that share words are near."""
    found = [0.0] * width
    for word in text.lower().split() or [""]:
        digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
        found[int.from_bytes(digest[:4], "big") % width] += 1 if digest[4] & 1 else -1
    length = math.sqrt(sum(value * value for value in found)) or 1.0
    return [value / length for value in found]
