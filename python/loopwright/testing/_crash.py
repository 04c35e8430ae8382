"""Runs that are killed at each of their steps, each in a process of its own, and resumed in another.

A run is killed behind each step of its machine, which its journal holds by then, and at the end of each call of a tool:
after it took effect and before the journal says so.
"""

from __future__ import annotations

import json
import os
import signal
import traceback
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

from loopwright._dataclasses import dataclass, field
from loopwright.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from loopwright import Agent

__all__ = ["CrashEverywhere", "CrashPoint", "CrashReport"]

_MOST = 500
"""Points of a run at most: one that is so long is tried in part elsewhere."""
_PATIENCE = 60.0
_HINT = "a double that a resumed run asks goes by the history: ScriptedModel(..., by_turn=True)"


@dataclass(frozen=True)
class CrashPoint:
    """A run that was killed and resumed."""

    where: str
    """After which step, or at the end of which call."""
    stop_reason: str
    """How it ended after that; empty where it did not."""
    twice: list[str] = field(default_factory=list)
    """Effects that happened more often than in the run that nobody killed."""
    missing: list[str] = field(default_factory=list)
    """Effects that did not happen: nobody could know whether the call that was under way had taken effect."""
    error: str = ""
    """Why it did not go on, or does not replay."""

    @property
    def ok(self) -> bool:
        """Whether the run went on to its end, and nothing happened twice."""
        return not self.twice and not self.error

    def __str__(self) -> str:
        said = "ok" if self.ok else "WRONG"
        more = [f"{len(self.twice)} twice: {', '.join(self.twice)}"] if self.twice else []
        more += [f"{len(self.missing)} not known to have happened"] if self.missing else []
        more += [self.error] if self.error else []
        return f"{said:<6} {self.where}: {self.stop_reason or 'no end'}{''.join(f'; {each}' for each in more)}"


@dataclass(frozen=True)
class CrashReport:
    """What became of a run at each point."""

    points: list[CrashPoint]
    effects: list[str]
    """What happens where nobody kills it."""

    @property
    def ok(self) -> bool:
        """Whether all of them went well."""
        return all(point.ok for point in self.points)

    def __str__(self) -> str:
        wrong = sum(not point.ok for point in self.points)
        head = f"{len(self.points)} points, {len(self.effects)} effects, {wrong} wrong"
        return "\n".join([head, *map(str, self.points)])


class CrashEverywhere:
    """Kills and resumes a run at each of its steps; see the fixture `crash_everywhere`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(
        self,
        make: Callable[[Path], tuple[Agent[Any], Any]],
        *,
        effects: Callable[[Path], Sequence[str]] | None = None,
    ) -> CrashReport:
        """Runs the agent and the prompt that `make` gives, which is called in each process with a folder for what
        tools do; an agent's doubles must go by the history (`by_turn=True`). By default each line of each file in the
        folder is an effect; `effects` tells them in another way. Raises `AssertionError` where one happened twice, or
        where a run did not go on.
        """
        if not hasattr(os, "fork"):
            import pytest

            pytest.skip("crash_everywhere needs processes that fork")
        told = _lines if effects is None else effects
        whole = self._place("whole")
        first = _in_process(lambda: _run(make, whole, None))
        if "error" in first or first.get("killed"):
            message = f"the run does not end by itself: {first.get('error', 'it was killed')}"
            raise UsageError(message, "no_end", "make it end without a crash first")
        expected = Counter(told(whole / "effects"))
        moments = [("step", n) for n in range(1, first["steps"])] + [("call", n) for n in range(1, first["calls"] + 1)]
        if len(moments) > _MOST:
            message = f"the run has {len(moments)} points at which it can be killed"
            raise UsageError(message, "too_many_points", f"take one with {_MOST} at most")
        report = CrashReport(
            [self._at(make, told, expected, kind, n) for kind, n in moments], sorted(expected.elements())
        )
        assert report.ok, f"{report}\n{_HINT}"  # noqa: S101 - it asserts for a test
        return report

    def _at(
        self,
        make: Callable[[Path], tuple[Agent[Any], Any]],
        told: Callable[[Path], Sequence[str]],
        expected: Counter[str],
        kind: str,
        n: int,
    ) -> CrashPoint:
        where = f"after step {n}" if kind == "step" else f"at the end of call {n}"
        place = self._place(f"{kind}-{n}")
        killed = _in_process(lambda: _run(make, place, (kind, n)))
        if not killed.get("killed"):
            return CrashPoint(where, "", error=f"it was not killed: {killed.get('error', 'it ended before')}")
        resumed = _in_process(lambda: _resumed(make, place))
        found = Counter(told(place / "effects"))
        twice, missing = sorted((found - expected).elements()), sorted((expected - found).elements())
        error = str(resumed.get("error", "it was killed" if resumed.get("killed") else ""))
        return CrashPoint(where, str(resumed.get("stop_reason", "")), twice, missing, error)

    def _place(self, name: str) -> Path:
        place = self._folder / name
        (place / "effects").mkdir(parents=True)
        return place


def _lines(folder: Path) -> list[str]:
    """Each line of each file."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [line for path in files for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if line]


# ---- in a process of its own ----


def _run(make: Callable[[Path], tuple[Agent[Any], Any]], place: Path, at: tuple[str, int] | None) -> dict[str, Any]:
    agent, prompt = make(place / "effects")
    counted = _killing(at)
    result = agent.run_sync(prompt, journal=place / "run.jsonl")
    return {"stop_reason": str(result.stop_reason), **counted}


def _killing(at: tuple[str, int] | None) -> dict[str, int]:
    """Has this process killed at a point; counts how many there are."""
    from loopwright._driver._generator import Driver

    counted = {"steps": 0, "calls": 0}
    step, executed = Driver.step, Driver.executed

    def reached(kind: str, count: str) -> None:
        counted[count] += 1
        if at == (kind, counted[count]):
            os.kill(os.getpid(), signal.SIGKILL)

    def stepping(self: Any, event: Any) -> None:
        step(self, event)
        reached("step", "steps")

    def ending(self: Any, *arguments: Any) -> Any:
        # The call is over, and its result is in no journal.
        reached("call", "calls")
        return executed(self, *arguments)

    setattr(Driver, "step", stepping)  # noqa: B010 - in a process of its own
    setattr(Driver, "executed", ending)  # noqa: B010
    return counted


def _resumed(make: Callable[[Path], tuple[Agent[Any], Any]], place: Path) -> dict[str, Any]:
    from loopwright import replay

    agent, _ = make(place / "effects")
    journal = str(place / "run.jsonl")
    result = agent.resume_sync(journal)
    found = replay(journal)
    if not found.identical:
        return {"stop_reason": str(result.stop_reason), "error": f"its journal does not replay: {found.divergence}"}
    return {"stop_reason": str(result.stop_reason)}


def _in_process(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What `work` gives in a process of its own; that it was killed, or why it failed."""
    heard, told = os.pipe()
    with warnings.catch_warnings():
        # Threads of this process are not those of the other one, and nothing of theirs is used there.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _work(work, told)
    os.close(told)
    with os.fdopen(heard, "rb") as file:
        said = file.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return {"killed": True}
    found: dict[str, Any] = json.loads(said or b'{"error": "it said nothing"}')
    return found


def _work(work: Callable[[], dict[str, Any]], told: int) -> None:
    """The other process: it never comes back."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(int(_PATIENCE))
    try:
        try:
            said = work()
        except BaseException as error:  # noqa: BLE001 - told to who waits
            said = {"error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        os.write(told, json.dumps(said)[:60_000].encode())
    finally:
        os._exit(0)
