"""OpenTelemetry: spans and metrics of runs, by the conventions for generative AI.

    from loopwright.otel import instrument_all

    instrument_all()

Spans go where the program's own `TracerProvider` sends them; nothing is exported here. Where no SDK is set up, they go
nowhere. `pip install 'loopwright[otel]'` installs what it takes. The names of all attributes stand in one table,
`conventions.json` beside this file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopwright._conventions import known_versions, need_opentelemetry
from loopwright._instrument import Instrumentation, instrument_all

if TYPE_CHECKING:
    from ._propagation import from_headers, from_meta, to_headers, to_meta

__all__ = [
    "VERSION",
    "Instrumentation",
    "from_headers",
    "from_meta",
    "instrument_all",
    "to_headers",
    "to_meta",
]

VERSION: str = known_versions()[0]
"""The version of OpenTelemetry's semantic conventions whose names spans bear."""


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in ("from_headers", "from_meta", "to_headers", "to_meta"):
            need_opentelemetry()
            from . import _propagation

            return getattr(_propagation, name)
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
