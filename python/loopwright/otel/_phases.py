"""The spans of phases: a grounded answer is gathered for, acted on and verified; a research has phases of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopwright._conventions import table

from . import _content

if TYPE_CHECKING:
    from ._spans import Open, RunSpans

__all__ = ["Phases"]

_SAID = frozenset({"question", "feedback"})
"""Facts that hold what was said."""


class Phases:
    """The phases of a run, and what one hands to the next."""

    def __init__(self, spans: RunSpans) -> None:
        self._spans = spans
        self._facts: dict[str, Any] = {}
        self.question: str | None = None

    @property
    def current(self) -> Open | None:
        """The phase that is under way; the newest of several."""
        found = None
        for key, opened in self._spans.open.items():
            if key[0] == "phase":
                found = opened
        return found

    def started(self, event: Any) -> None:
        """A phase begins."""
        spans, names = self._spans, self._spans.names
        self._facts |= {"question": self.question, "attempt": event.attempt}
        about = {names["phase"]: event.phase, names["attempt"]: event.attempt}
        told = self._told(event.phase, "input")
        if told:
            about[names["phase_input"]] = _content.shown(told)
        root = spans.root
        if root is None:
            return
        name = f"{spans.telemetry.spans['phase']}{event.phase}"
        opened = spans.open_below(root, name, {**about, **_flat(told)})
        spans.open["phase", event.phase, event.attempt] = opened

    def finished(self, event: Any) -> None:
        """A phase is done."""
        opened = self._spans.open.pop(("phase", event.phase, event.attempt), None)
        output = event.output if isinstance(event.output, dict) else {}
        self._facts |= output
        if event.phase == "gather":
            self._facts["gathered"] = output.get("sources")
        if event.phase == "verify":
            # What the next attempt is told.
            issues = output.get("issues") or []
            self._facts["feedback"] = "; ".join(str(each.get("message")) for each in issues) or None
            if not self._spans.telemetry.tells:
                self._facts["issues"] = [each.get("code") for each in issues]
        if opened is None:
            return
        told = self._told(event.phase, "output")
        if not told:
            # Phases of other machines: their numbers.
            told = {name: value for name, value in output.items() if isinstance(value, (bool, int, float))}
        if told:
            shown = {self._spans.names["phase_output"]: _content.shown(told), **_flat(told)}
            opened.span.set_attributes(shown)
        opened.span.end()

    def streamed(self, request: Open) -> None:
        """An answer has come that was shown while it came."""
        spans = self._spans
        root, first = spans.root, request.first
        if first is None or root is None or request.path is not None or spans.agent._called != "grounded":
            return
        about = {spans.names["attempt"]: self._facts.get("attempt", 1)}
        name = spans.telemetry.spans["streaming"]
        spans.open_below(root, name, about, first).span.end()

    def _told(self, phase: str, side: str) -> dict[str, Any]:
        """What the table wants of a phase, where it is known and may be told."""
        wanted = table()["phases"].get(phase, {}).get(side, {})
        tells = self._spans.telemetry.tells
        found = {name: self._facts.get(fact) for name, fact in wanted.items() if tells or fact not in _SAID}
        return {name: value for name, value in found.items() if value is not None}


def _flat(told: dict[str, Any]) -> dict[str, Any]:
    """Facts as attributes: numbers and names as they are, texts without secrets."""
    found: dict[str, Any] = {}
    for name, value in told.items():
        if isinstance(value, (bool, int, float)):
            found[name] = value
        elif isinstance(value, str):
            found[name] = _content.plain(value)
        elif all(isinstance(each, str) for each in value):
            found[name] = tuple(value)
        else:
            found[name] = _content.shown(value)
    return found
