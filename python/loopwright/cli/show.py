"""A run as it happens, for whoever sits in front of it.

On a terminal: a line at the bottom that says what goes on, the model's words as they come, a line for each tool when
it is done. Elsewhere: plain lines, and the answer when it is final.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopwright import events

from .narration import doing, excerpt
from .screen import Style
from .text import Cleaner, clean, one_line, plural, seconds
from .trace import PhaseTrace, summary

if TYPE_CHECKING:
    from .screen import Screen

__all__ = ["Watcher"]

_LOOKED_AT = 1_000


class Watcher:
    """Shows the events of a run; `on_event` of the run is this object.

    With `drafts` the model's words are dimmed and taken away again: another answer, the verified one, takes their
    place. Without, they are the answer.
    """

    def __init__(self, screen: Screen, *, drafts: bool = False) -> None:
        self._screen = screen
        self._drafts = drafts
        self._round = 0
        self._running: dict[str, str] = {}
        self._told: list[str] = []
        self._cleaner = Cleaner()
        self._said: list[str] = []
        self._warned: set[str] = set()
        self._tokens = 0
        self.trace: list[PhaseTrace] = []

    def __call__(self, event: events.Event) -> None:
        """Shows one event."""
        match event:
            case events.TextDelta(text=text):
                self._say(text)
            case events.RoundStarted(round=number):
                self._round_started(number)
            case events.RoundFinished(usage=usage):
                self._tokens += usage.get("input", 0) + usage.get("output", 0)
            case events.ReasoningDelta():
                self._status("Thinking")
            case events.ToolStarted(id=call_id, name=name, input=arguments):
                self._tool_started(call_id, name, arguments)
            case events.ToolProgress(text=text):
                self._status(one_line(text[:_LOOKED_AT]))
            case events.ToolFinished():
                self._tool_finished(event)
            case events.SearchCompleted(query=query):
                self._searched(query)
            case events.Retry(delay=delay, reason=reason):
                self._note(f"No luck with the provider ({one_line(reason)}); trying again in {seconds(delay)}")
            case events.Reset():
                self._reset()
            case events.ApprovalDecided(allowed=False, reason=reason):
                self._note(f"Not run: {one_line(reason)}")
            case events.Warning(message=message):
                self.warn(message)
            case events.PhaseStarted(phase=phase, attempt=attempt):
                self._phase_started(phase, attempt)
            case events.PhaseFinished():
                self._phase_finished(event)
            case events.RunFinished(result=result):
                for warning in result.warnings:
                    self.warn(warning)
                self._screen.status(None)
            case _:
                pass

    def has_shown(self, answer: str) -> bool:
        """Whether the last words on stdout are this answer."""
        return bool(self._said) and "".join(self._said).strip() == clean(answer).strip()

    def warn(self, message: str) -> None:
        """A warning, once."""
        message = one_line(message)
        if message not in self._warned:
            self._warned.add(message)
            self._screen.say(f"warning: {message}", style=Style.YELLOW)

    def _say(self, text: str) -> None:
        text = self._cleaner.feed(text)
        if self._drafts:
            self._screen.draft(text)
            return
        if text.strip() and self._round > 1 and not self._said:
            self._screen.gap()
        if self._screen.stream(text):
            self._said.append(text)

    def _round_started(self, number: int) -> None:
        self._round = number
        self._cleaner = Cleaner()
        self._said.clear()
        self._told.clear()
        self._screen.drop_draft()
        self._status("Thinking" if number == 1 else "Thinking about what came back")

    def _reset(self) -> None:
        self._cleaner = Cleaner()
        if self._drafts:
            self._screen.drop_draft()
        elif self._said:
            self._note("(the answer broke off; here it is again from its beginning)")
        self._said.clear()

    def _tool_started(self, call_id: str, name: str, arguments: Any) -> None:
        sentence = doing(name, arguments)
        self._running[call_id] = sentence
        self._told.append(sentence)
        self._screen.drop_draft()
        if self._screen.plain():
            self._screen.note(sentence)
        self._status(sentence)

    def _tool_finished(self, event: events.ToolFinished) -> None:
        sentence = self._running.pop(event.id, None) or doing(event.name, None)
        ended = "failed" if event.is_error else "done"
        name = one_line(event.name)
        columns = self._screen.columns
        if self._screen.plain():
            self._screen.note(f"  {ended} ({name}, {seconds(event.duration)})")
        else:
            how = f" ({name}{' failed' if event.is_error else ''}, {seconds(event.duration)})"
            self._screen.note(excerpt(sentence, columns - len(how) - 1) + how)
        shown = excerpt(event.excerpt, columns - 5, is_error=event.is_error)
        if shown:
            self._screen.note(f"    {shown}", style=Style.RED if event.is_error else Style.DIM)
        left = list(self._running.values())
        self._status(left[-1] if left else "Thinking")

    def _searched(self, query: str) -> None:
        # A tool of ours that searches was told already.
        if not any(query in sentence for sentence in self._told):
            self._note(f"Searched for “{one_line(query)}”")

    def _phase_started(self, phase: str, attempt: int) -> None:
        again = f", attempt {attempt}" if attempt > 1 else ""
        sentence = {
            "gather": "Looking through the files",
            "act": "Writing an answer" if attempt <= 1 else "Writing another answer",
            "verify": "Checking the answer against its sources",
        }.get(phase, one_line(phase).capitalize())
        if phase != "act":
            sentence += again
        if self._screen.plain():
            self._screen.note(f"{sentence}…")
        self._status(sentence)

    def _phase_finished(self, event: events.PhaseFinished) -> None:
        done = PhaseTrace(event.phase, event.attempt, event.duration, event.output, self._tokens)
        self._tokens = 0
        self.trace.append(done)
        told = summary(done)
        if event.phase == "verify":
            self._screen.drop_draft()
            if isinstance(event.output, dict) and event.output.get("passed") is False:
                self._note(f"The draft {told}")
        elif event.phase == "gather":
            self._note(told[:1].upper() + told[1:])

    def _status(self, sentence: str) -> None:
        about = [plural(len(self._running), "tool") + " at work"] if len(self._running) > 1 else []
        if self._round > 1:
            about.insert(0, f"round {self._round}")
        self._screen.status(" · ".join([f"{sentence}…", *about]))

    def _note(self, text: str) -> None:
        self._screen.note(text, style=Style.DIM)
