"""What became of grounded answers, for whoever watches many of them: log lines, and rates over the last hundred.

The log is `loopwright.grounded`. Spans are made by `loopwright.otel`, as of all runs.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from ._dataclasses import dataclass

if TYPE_CHECKING:
    from .result import Result

__all__ = ["GroundedStats", "Observer"]

_LOG = logging.getLogger("loopwright.grounded")
_WINDOW = 100
_ENOUGH = 20
_TARGET = 0.9


@dataclass(frozen=True, slots=True)
class GroundedStats:
    """Rates over the last hundred answers; `None` where there is nothing to count."""

    answers: int
    verified_first_time: float | None
    """The share that passed at the first attempt."""
    verified: float | None
    """The share that passed at all."""
    cited: float | None
    """The share of those that are no abstentions which cite their sources."""
    abstained: int

    @property
    def low(self) -> tuple[str, ...]:
        """The rates that are below 0.9, once there are 20 answers."""
        if self.answers < _ENOUGH:
            return ()
        rates = {"verified_first_time": self.verified_first_time, "cited": self.cited}
        return tuple(name for name, rate in rates.items() if rate is not None and rate < _TARGET)


class Observer:
    """Counts, logs and traces the answers of one `Grounded`. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: deque[tuple[bool, bool, bool | None]] = deque(maxlen=_WINDOW)
        self._low: tuple[str, ...] = ()

    @property
    def stats(self) -> GroundedStats:
        """The rates so far."""
        with self._lock:
            answers = list(self._answers)
        cited = [cites for _, _, cites in answers if cites is not None]

        def rate(hits: list[bool]) -> float | None:
            return sum(hits) / len(hits) if hits else None

        return GroundedStats(
            len(answers),
            rate([first for first, _, _ in answers]),
            rate([verified for _, verified, _ in answers]),
            rate(cited),
            len(answers) - len(cited),
        )

    def ended(self, result: Result[Any]) -> None:
        """A run has ended."""
        if result.stop_reason in ("cancelled", "user_interrupt", "error"):
            # Nobody's answer was judged.
            self._tell(result)
            return
        verified = result.verified is True
        uncited = any(warning.startswith(("UNCITED:", "NO_SOURCES")) for warning in result.warnings)
        cited = None if result.stop_reason == "abstained" else verified and not uncited
        with self._lock:
            self._answers.append((verified and result.attempts == 1, verified, cited))
        self._tell(result)
        low = self.stats.low
        with self._lock:
            new, self._low = tuple(name for name in low if name not in self._low), low
        for name in new:
            rate = getattr(self.stats, name)
            _LOG.warning("of the last answers only %.0f %% are %s", rate * 100, name, extra={"event": "rate_low"})

    def _tell(self, result: Result[Any]) -> None:
        if _LOG.isEnabledFor(logging.WARNING):
            _log(result)


def _log(result: Result[Any]) -> None:
    from .guard import redact_json

    def say(level: int, event: str, message: str, **more: Any) -> None:
        _LOG.log(level, message, extra={"event": event, "run_id": result.run_id, **more})

    say(logging.INFO, "agent_start", "the answer begins")
    for phase in result.phases:
        name, attempt, output = phase["phase"], phase["attempt"], phase["output"]
        if name == "gather":
            counts = {f"gathered_{key}": value for key, value in output.items()}
            say(logging.INFO, "context_gathered", "sources were gathered", duration=phase["duration"], **counts)
        elif name == "act":
            say(logging.INFO, "agent_loop_attempt", f"attempt {attempt}", attempt=attempt)
        elif not output.get("passed"):
            issues = output.get("issues") or output.get("problems") or []
            told = json.loads(redact_json(json.dumps(issues)))
            # What comes of it is told where it matters: as a verified answer, or as an error below.
            said = f"attempt {attempt} did not pass the check of its sources"
            say(logging.INFO, "verification_failed", said, attempt=attempt, issues=told)
    if result.verified:
        say(logging.INFO, "agent_loop_success", "the answer is verified", attempts=result.attempts)
    elif result.stop_reason == "unverified":
        say(logging.ERROR, "agent_loop_exhausted", "no attempt passed", attempts=result.attempts)
    done = {"duration": result.duration, "verified": result.verified, "attempts": result.attempts}
    say(logging.INFO, "agent_complete", f"the answer ended: {result.stop_reason}", **done)
