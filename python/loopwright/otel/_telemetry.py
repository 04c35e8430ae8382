"""The tracer, the instruments and the names that runs of an `Instrumentation` share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry import metrics, trace

from loopwright import _core
from loopwright._conventions import names_of, table

if TYPE_CHECKING:
    from loopwright._instrument import Instrumentation

__all__ = ["Telemetry", "telemetry_of"]


class Telemetry:
    """What spans and metrics are made with."""

    def __init__(self, instrument: Instrumentation) -> None:
        found = table()
        version = instrument.names if instrument.names != "latest" else found["version"]
        scope, about = found["scope"], f"https://opentelemetry.io/schemas/{version}"
        self.names = names_of(version)
        self.operations: dict[str, str] = found["operations"]
        self.spans: dict[str, str] = found["spans"]
        self.tracer = trace.get_tracer(scope, _core.__version__, instrument.tracer_provider, about)
        meter = metrics.get_meter(scope, _core.__version__, instrument.meter_provider, about)
        self.content = instrument.content in (True, "spans")
        self.details = instrument.content == "events"
        self.logger: Any = None
        if self.details:
            from opentelemetry import _logs

            self.logger = _logs.get_logger(scope, _core.__version__, instrument.logger_provider, about)
        self.metrics = {name: _made(meter, each) for name, each in found["metrics"].items()}

    @property
    def tells(self) -> bool:
        """Whether anything that was said is told."""
        return self.content or self.details


def _made(meter: metrics.Meter, told: dict[str, Any]) -> Any:
    words = {"unit": told["unit"], "description": told["description"]}
    if told["kind"] == "counter":
        return meter.create_counter(told["name"], **words)
    try:
        return meter.create_histogram(told["name"], **words, explicit_bucket_boundaries_advisory=told["bounds"])
    except TypeError:
        # Before 1.28 there was no such advice.
        return meter.create_histogram(told["name"], **words)


def telemetry_of(instrument: Instrumentation) -> Telemetry:
    """What an `Instrumentation` leads to; made once."""
    kept: Telemetry | None = instrument.__dict__.get("_telemetry")
    if kept is None:
        kept = Telemetry(instrument)
        object.__setattr__(instrument, "_telemetry", kept)
    return kept
