"""Errors in the shape of each vendor, with the status that their clients know."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from loopwright.errors import LoopwrightError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["error_body", "error_event", "headers_of", "status_of", "typed"]

_LOG = logging.getLogger("loopwright.serve")
_STATUS: Mapping[str, int] = {
    "unauthorized": 401,
    "origin": 403,
    "no_route": 404,
    "unknown_model": 404,
    "no_method": 405,
    "too_large": 413,
    "rate_limited": 429,
    "overloaded": 529,
    "breaker_open": 503,
    "timeout": 504,
    "bad_request": 400,
    "context_too_long": 400,
    "context_window": 400,
    "quota": 429,
}
"""By code. What a caller did is 400 otherwise, what a provider did 502: whoever asks has no say in its key."""
_OPENAI: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "invalid_request_error",
    403: "invalid_request_error",
    404: "invalid_request_error",
    405: "invalid_request_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
}
_ANTHROPIC: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def typed(error: BaseException) -> LoopwrightError:
    """The error as one of ours; what is none is a fault of this server, and its log has it."""
    if isinstance(error, LoopwrightError):
        return error
    _LOG.error("a request failed", exc_info=error)
    return LoopwrightError("this server failed; its log says how", "internal")


def status_of(error: LoopwrightError) -> int:
    """The HTTP status."""
    known = _STATUS.get(error.code)
    if known is not None:
        return known
    if isinstance(error, UsageError) and error.result is None:
        return 400
    return 500 if error.code == "internal" else 502


def headers_of(error: LoopwrightError) -> list[tuple[bytes, bytes]]:
    """Headers: a client need not try again, the engine has done so; it may later, where a provider said when."""
    found = [(b"x-should-retry", b"false")]
    if error.retry_after is not None:
        found.append((b"retry-after", str(max(1, round(error.retry_after))).encode()))
    return found


def error_body(wire: str, error: LoopwrightError) -> dict[str, Any]:
    """The body. The words are without secrets."""
    status = status_of(error)
    if wire == "anthropic":
        about = {"type": _ANTHROPIC.get(status, "api_error"), "message": str(error)}
        return {"type": "error", "error": about, "request_id": None}
    named = error.message.partition(":")[0] if error.code == "unsupported_field" else None
    told = {"message": str(error), "type": _OPENAI.get(status, "server_error"), "param": named, "code": error.code}
    return {"error": told}


def error_event(wire: str, error: LoopwrightError, number: int) -> bytes:
    """The event that ends a stream which has begun."""
    body = error_body(wire, error)
    if wire == "openai_responses":
        about = body["error"]
        told = {name: about[name] for name in ("message", "code", "param")}
        body = {"type": "error", "sequence_number": number, **told}
    data = json.dumps(body, ensure_ascii=False)
    return (f"data: {data}\n\n" if wire == "openai_chat" else f"event: error\ndata: {data}\n\n").encode()
