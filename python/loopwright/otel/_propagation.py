"""Contexts of traces that come in and go out: headers of HTTP, and `_meta` of MCP."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from opentelemetry import context, propagate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["from_headers", "from_meta", "to_headers", "to_meta"]


@contextmanager
def from_headers(headers: Mapping[str, str]) -> Iterator[None]:
    """Runs that begin within are part of the trace that an HTTP request names.

    ::

        with from_headers(request.headers):
            result = await agent.run(question)

    Args:
        headers: The headers, whatever the case of their names; `traceparent`, `tracestate` and `baggage` are looked at,
            or what else the program's propagator reads. Where they name no trace, or one that can't be read, a run
            begins its own.
    """
    carrier = {str(name).lower(): str(value) for name, value in headers.items()}
    token = context.attach(propagate.extract(carrier))
    try:
        yield
    finally:
        context.detach(token)


def to_headers(headers: Mapping[str, str] | None = None) -> dict[str, str]:
    """Headers with the trace that is current, for an HTTP request to somebody else: within a tool, that of its span.

    ::

        httpx.get(url, headers=to_headers({"accept": "application/json"}))

    Gives a new dict: `headers`, and `traceparent` where a span is current.
    """
    carrier = dict(headers) if headers is not None else {}
    propagate.inject(carrier)
    return carrier


@contextmanager
def from_meta(meta: Mapping[str, Any] | None) -> Iterator[None]:
    """Runs that begin within are part of the trace that the `_meta` of an MCP request names.

    ::

        with from_meta(request["params"].get("_meta")):
            result = await agent.run(question)

    `None`, or a `_meta` that names no trace, changes nothing but that a run begins its own trace.
    """
    words = {name: value for name, value in (meta or {}).items() if isinstance(value, str)}
    with from_headers(words):
        yield


def to_meta(meta: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The `_meta` of an MCP request with the trace that is current.

    ::

        params = {"name": "search", "arguments": {"q": "x"}, "_meta": to_meta()}

    Gives a new dict: `meta`, and `traceparent` where a span is current.
    """
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return {**(meta or {}), **carrier}
