"""The names of spans, attributes and metrics, from one table (`otel/conventions.json`), and whether OpenTelemetry is
there to take them. Reading the table imports nothing of OpenTelemetry.
"""

from __future__ import annotations

import json
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any

from .errors import UsageError

__all__ = ["known_versions", "names_of", "need_opentelemetry", "table"]

_LEAST = (1, 20)
_HINT = "pip install 'loopwright[otel]'"


@cache
def table() -> dict[str, Any]:
    """The table of names, as it stands in the file."""
    path = Path(__file__).parent / "otel" / "conventions.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def known_versions() -> list[str]:
    """The versions of the conventions whose names there are, the newest first."""
    return [table()["version"], *table()["older"]]


@cache
def names_of(version: str) -> dict[str, str]:
    """The names of attributes in that version, by the words that this package has for them."""
    return {**table()["attributes"], **table()["older"].get(version, {})}


def need_opentelemetry(*, events: bool = False) -> None:
    """Raises a `UsageError` where OpenTelemetry is missing (`missing_package`) or too old (`wrong_version`), for log
    events too where they are wanted.
    """
    try:
        from opentelemetry import metrics, trace
    except ImportError as error:
        message = "tracing needs the package opentelemetry-api, which is not installed"
        raise UsageError(message, "missing_package", _HINT) from error
    if not hasattr(trace, "get_tracer") or not hasattr(metrics, "get_meter") or _installed() < _LEAST:
        found, least = ".".join(map(str, _installed())), ".".join(map(str, _LEAST))
        message = f"tracing needs opentelemetry-api {least} or newer, and {found} is installed"
        raise UsageError(message, "wrong_version", f"pip install --upgrade 'opentelemetry-api>={least}'")
    if events and not _takes_events():
        message = "content='events' needs an opentelemetry-api whose loggers take events"
        raise UsageError(message, "wrong_version", "pip install --upgrade opentelemetry-sdk, or give content='spans'")


def _takes_events() -> bool:
    """Whether loggers of the installed version take the name of an event."""
    try:
        from opentelemetry._logs import Logger
    except ImportError:
        return False
    return "event_name" in signature(Logger.emit).parameters


def _installed() -> tuple[int, ...]:
    """The version of OpenTelemetry's API; none where nothing says it."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version("opentelemetry-api")
    except PackageNotFoundError:
        return _LEAST
    return tuple(int(part) for part in found.split(".")[:2] if part.isdigit())
