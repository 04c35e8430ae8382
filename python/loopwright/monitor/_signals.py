"""What a reply says: its next step, a claim to be done, a question to the reader."""

from __future__ import annotations

from typing import Literal, TypeAlias

from loopwright import _core
from loopwright._dataclasses import dataclass

from ._words import wanted_text

__all__ = ["NextStep", "Signal", "SignalKind", "Signals", "Span", "next_step", "signals"]

SignalKind: TypeAlias = Literal["completion", "unfinished", "clarification", "offer", "rhetorical", "courtesy"]
"""What a signal says: done, not (yet) done, a question that needs an answer, "shall I?", a question that needs none, a
courtesy such as "anything else?"."""


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a text: `text[start:end]`, in characters."""

    start: int
    end: int
    text: str

    @classmethod
    def at(cls, text: str, place: tuple[int, int]) -> Span:
        """The span of a place."""
        return cls(*place, text[place[0] : place[1]])

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class NextStep:
    """What a model says it will do next."""

    step: Span
    """What it will do, in its own words."""
    cue: Span
    """The words that announce it."""
    sentence: Span
    """Their sentence."""

    def __str__(self) -> str:
        return self.step.text


@dataclass(frozen=True, slots=True)
class Signal:
    """A finding."""

    kind: SignalKind
    rule: str
    """The rule that found it."""
    words: Span
    """The words that decided."""
    sentence: Span
    """Their sentence."""


@dataclass(frozen=True, slots=True)
class Signals:
    """All that a reply signals."""

    complete: bool
    """It claims that the work is done, and says nothing to the contrary behind it."""
    asks: bool
    """It ends by asking the reader for something."""
    found: tuple[Signal, ...]
    """The findings, in the order of the text."""

    def of(self, kind: SignalKind) -> list[Signal]:
        """The findings of one kind."""
        return [signal for signal in self.found if signal.kind == kind]


def next_step(text: str) -> NextStep | None:
    """What the model says it will do next; `None` where it says nothing of that kind, or went on to something else.

    Offers, conditions on the reader, refusals, habits, the past and questions are no steps, nor is what stands in code
    or quotations.

    >>> step = next_step("The tests fail. Let me look at the fixtures.")
    >>> step.step.text
    'look at the fixtures'
    >>> step.cue.text
    'Let me'
    >>> next_step("Let me know if you want me to go on.") is None
    True
    >>> next_step("I'll read it. It says 4.") is None
    True
    """
    found = _core.find_next_step(wanted_text(text, "text"))
    if found is None:
        return None
    sentence, cue, step = (Span.at(text, place) for place in found)
    return NextStep(step, cue, sentence)


def signals(text: str) -> Signals:
    """Whether a reply claims to be done, and whether it asks the reader for something, with the words that decided.

    >>> seen = signals("I've fixed the bug. Should I commit it?")
    >>> seen.complete, seen.asks
    (True, True)
    >>> [(signal.kind, signal.words.text) for signal in seen.found]
    [('completion', "I've fixed"), ('offer', 'Should I')]
    >>> signals("Once this is done, I'll restart the server.").complete
    False
    >>> signals("Why does it fail? Because the index starts at 1.").asks
    False
    """
    complete, asks, found = _core.reply_signals(wanted_text(text, "text"))
    all_of_them = tuple(
        Signal(kind, rule, Span.at(text, words), Span.at(text, sentence))  # type: ignore[arg-type]
        for kind, rule, words, sentence in found
    )
    return Signals(complete, asks, all_of_them)
