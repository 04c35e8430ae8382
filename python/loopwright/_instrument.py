"""Whether runs are traced, and how: `Agent(instrument=…)` for one agent, `instrument_all` for those that say nothing.

Nothing here imports OpenTelemetry: that is done by the first run that is traced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

from ._dataclasses import dataclass, field
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from . import _core
    from ._driver import Driver
    from ._running import Running
    from .result import Result

__all__ = ["Instrumentation", "instrument_all", "observing", "reaches_global"]


@dataclass(frozen=True)
class Instrumentation:
    """How runs are traced by OpenTelemetry: where spans and metrics go, and what they say.

    >>> Instrumentation(content=True)
    Instrumentation(content=True)

    Args:
        tracer_provider: An OpenTelemetry `TracerProvider`; by default the program's own (`trace.set_tracer_provider`).
        meter_provider: A `MeterProvider`, in the same way.
        logger_provider: A `LoggerProvider`, in the same way, for `content="events"`.
        content: Whether prompts, answers, arguments and results are told. `False` tells none of it. `True` or `"spans"`
            writes them as attributes of spans, `"events"` as log events beside them. Secrets are redacted in all of it.
        names: The version of the conventions whose names attributes bear: `"latest"` (`loopwright.otel.VERSION`),
            `"1.36.0"` (`gen_ai.system`) or `"1.26.0"` (`gen_ai.usage.prompt_tokens`, `gen_ai.prompt`, …).

    Raises a `UsageError` with the code `invalid_option` for a value that is none of these.
    """

    tracer_provider: Any = field(default=None, repr=False)
    meter_provider: Any = field(default=None, repr=False)
    logger_provider: Any = field(default=None, repr=False)
    content: bool | Literal["spans", "events"] = False
    names: str = field(default="latest", repr=False)

    def __post_init__(self) -> None:
        if self.content not in (False, True, "spans", "events"):
            message = f"content of an Instrumentation can't be {self.content!r:.100}"
            raise UsageError(message, "invalid_option", "give False, True, 'spans' or 'events'")
        for name, method in (
            ("tracer_provider", "get_tracer"),
            ("meter_provider", "get_meter"),
            ("logger_provider", "get_logger"),
        ):
            given = getattr(self, name)
            if given is not None and not callable(getattr(given, method, None)):
                message = f"{name} of an Instrumentation can't be {type(given).__name__}: it has no {method}"
                raise UsageError(message, "invalid_option", f"give what the SDK of OpenTelemetry calls a {name}")
        if self.names != "latest":
            from ._conventions import known_versions

            if self.names not in known_versions():
                message = f"names of an Instrumentation can't be {self.names!r:.100}"
                raise UsageError(message, "invalid_option", f"give 'latest', or one of {', '.join(known_versions())}")


class Entered(Protocol):
    """A span that is the current one where code of others runs."""

    def call(self, function: Callable[[], Any]) -> Any:
        """What `function` gives, called within the span."""

    def awaited(self, function: Callable[[], Any]) -> Coroutine[Any, Any, Any]:
        """What the awaitable gives that `function` gives, awaited within the span."""


class Observer(Protocol):
    """Hears what a run does, as plain data. Whatever it raises itself, the run is none the worse for it."""

    wanted: frozenset[str]
    """The notices of the machine that it hears where nobody else does."""

    def begin(self, driver: Driver) -> None:
        """An attempt of the run begins."""

    def stepping(self, event: _core.Event) -> None:
        """The machine is fed with an event."""

    def heard(self, event: Any) -> None:
        """The machine tells an event of `loopwright.events`."""

    def asked(self, driver: Driver, command: _core.Command, provider: str, host: str) -> Entered | None:
        """A request to a model goes out."""

    def shown(self, command_id: int | None) -> None:
        """A piece of an answer has come; without a number it is one of the run's own."""

    def called(self, driver: Driver, command_id: int, call: _core.Call) -> Entered | None:
        """A tool is called."""

    def aborted(self, command_id: int) -> None:
        """Nobody wants the answer to a command any more."""

    def end(self, result: Result[Any] | None, error: BaseException | None = None) -> None:
        """The run has ended, or was left."""


_every: list[Instrumentation] = []
"""The one that holds for all agents that say nothing, if there is one."""


def instrument_all(instrument: Instrumentation | bool = True) -> None:  # noqa: FBT001, FBT002 - a switch
    """Has the runs of all agents traced that say nothing of it themselves, those that exist already among them.

    ::

        from loopwright import Instrumentation
        from loopwright.otel import instrument_all

        instrument_all()                                   # spans and metrics by the program's own providers
        instrument_all(Instrumentation(content=True))      # with prompts, answers, arguments and results, redacted
        instrument_all(False)                              # none any more

    An `Agent(instrument=False)` is never traced, one with an `Instrumentation` of its own always in that way. Runs that
    are under way go on as they began.

    Raises a `UsageError`: `missing_package` without OpenTelemetry (`pip install 'loopwright[otel]'`), `wrong_version`
    where it is too old, `invalid_option` for anything else than an `Instrumentation` or a bool.
    """
    chosen = checked(instrument)
    _every[:] = [chosen] if chosen else []


def checked(instrument: Any) -> Instrumentation | Literal[False] | None:
    """What was given as `instrument`, if it will do and OpenTelemetry is there: `None` says nothing of it."""
    if instrument is None or instrument is False:
        return instrument
    if instrument is True:
        instrument = Instrumentation()
    if not isinstance(instrument, Instrumentation):
        message = f"instrument can't be {instrument!r:.100}"
        raise UsageError(message, "invalid_option", "give a loopwright.Instrumentation, True, False or None")
    from ._conventions import need_opentelemetry

    need_opentelemetry(events=instrument.content == "events")
    return instrument


def observing(agent: Running[Any, Any]) -> Observer | None:
    """Who hears of the next run of an agent; nobody where it is not traced."""
    chosen = _chosen(agent)
    if not chosen:
        return None
    from .otel._spans import observer

    return observer(chosen, agent)


def _chosen(agent: Running[Any, Any]) -> Instrumentation | Literal[False] | None:
    chosen = agent._instrument
    return _every[0] if chosen is None and _every else chosen


def reaches_global(agent: Running[Any, Any]) -> bool:
    """Whether spans of the agent go to the program's own `TracerProvider`, and that one takes them."""
    chosen = _chosen(agent)
    if not chosen:
        return False
    from opentelemetry.trace import get_tracer_provider

    provider = get_tracer_provider()
    return chosen.tracer_provider in (None, provider) and hasattr(provider, "add_span_processor")
