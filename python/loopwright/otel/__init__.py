"""OpenTelemetry: spans and metrics of runs, by the conventions for generative AI.

    from loopwright.otel import instrument_all

    instrument_all()

Spans go where the program's own `TracerProvider` sends them; nothing is exported here. Where no SDK is set up, they go
nowhere. `pip install 'loopwright[otel]'` installs what it takes. The names of all attributes stand in one table,
`conventions.json` beside this file.
"""

from __future__ import annotations

from loopwright._conventions import known_versions, need_opentelemetry
from loopwright._instrument import Instrumentation, instrument_all

need_opentelemetry()

from ._propagation import from_headers, from_meta, to_headers, to_meta  # noqa: E402 - says first what is missing

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
