"""A run as it happens, for whoever sits in front of it.

On a terminal: a line at the bottom that says what goes on, the model's words as they come, a line for each tool when
it is done. Elsewhere: plain lines, and the answer when it is final.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopwright import events

from .answer_writer import AnswerWriter
from .narration import doing, excerpt
from .screen import Style
from .text import Cleaner, clean, one_line, plural, seconds
from .trace import PhaseTrace, summary

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from .screen import Screen

__all__ = ["Watcher"]

_LOOKED_AT = 1_000
_OF_CHILDREN = (
    events.ToolStarted,
    events.ToolFinished,
    events.CallJudged,
    events.Warned,
    events.ApprovalDecided,
    events.ChildText,
    events.RoundStarted,
)
_LAST_WORDS = 60


class Watcher:
    """Shows the events of a run; `on_event` of the run is this object.

    With `drafts` the model's words are dimmed and taken away again: another answer, the verified one, takes their
    place. Without, they are the answer. `tools` are the names of those that can be called, where they are known.
    """

    def __init__(self, screen: Screen, *, drafts: bool = False, tools: Collection[str] = ()) -> None:
        self._screen = screen
        self._drafts = drafts
        self._round = 0
        self._cycles = False
        self._running: dict[str, str] = {}
        self._told: list[str] = []
        self._cleaner = Cleaner()
        self._writer = AnswerWriter(screen)
        self._tools = tools
        # The names of this round's calls that nobody judged so far. Their ids may be others by then.
        self._unjudged: list[str] = []
        self._warned: set[str] = set()
        self._tokens = 0
        self._children: dict[str | None, str] = {}
        self.trace: list[PhaseTrace] = []
        # What is not here is not shown.
        self._handlers: dict[type[Any], Callable[[Any], None]] = {
            events.TextDelta: self._say,
            events.ReasoningDelta: lambda _: self._status("Thinking"),
            events.RoundStarted: self._round_started,
            events.RoundFinished: self._round_finished,
            events.Retry: self._retry,
            events.Reset: self._reset,
            events.ToolUseDelta: self._called,
            events.ToolStarted: self._tool_started,
            events.ToolProgress: lambda event: self._status(one_line(event.text[:_LOOKED_AT])),
            events.ToolFinished: self._tool_finished,
            events.SearchStarted: self._searches,
            events.SearchCompleted: self._searched,
            events.CallJudged: self._judged,
            events.ApprovalDecided: self._decided,
            events.Compacted: self._compacted,
            events.Warned: lambda event: self.warn(f"{event.code}: {event.message}"),
            events.PhaseStarted: self._phase_started,
            events.PhaseFinished: self._phase_finished,
            events.AgentStarted: self._agent_started,
            events.AgentFinished: self._agent_finished,
            events.ChildText: self._of_child,
            events.Paused: lambda _: self._note("Standing still: nothing new starts until it is resumed"),
            events.Resumed: lambda event: self._note(f"Going on after {seconds(event.after)}"),
            events.RunFinished: self._finished,
            events.Status: lambda event: self._note(one_line(event.text)),
        }

    def __call__(self, event: events.Event) -> None:
        """Shows one event."""
        handle = self._handlers.get(type(event))
        if handle is not None and getattr(event, "path", None) is not None:
            # What a sub-agent does is told in a line of its own; only its tools and its questions are.
            handle = self._of_child if isinstance(event, _OF_CHILDREN) else None
        if handle is not None:
            handle(event)

    def has_shown(self, answer: str) -> bool:
        """Whether the last words on stdout are this answer."""
        said = self._writer.text.strip()
        return bool(said) and said == clean(answer).strip()

    def finish(self) -> None:
        """Nothing comes any more: what was begun stays as far as it came."""
        self._writer.finish()

    def warn(self, message: str) -> None:
        """A warning, once."""
        message = one_line(message)
        if message not in self._warned:
            self._warned.add(message)
            self._screen.say(f"warning: {message}", style=Style.YELLOW)

    def _say(self, event: events.TextDelta) -> None:
        text = self._cleaner.feed(event.text)
        if self._drafts:
            self._screen.draft(text)
            return
        if text.strip() and not self._writer.text:
            self._status("Writing")
            if self._round > 1:
                self._screen.gap()
        self._writer.write(text)

    def _called(self, event: events.ToolUseDelta) -> None:
        self._unjudged.append(event.name)

    def _tell_unusable(self, failed: Collection[str] | None = None) -> None:
        """Calls that nobody judged could not be run at all; where it is known which have failed, those alone."""
        for name in self._unjudged:
            if failed is None or name in failed:
                unknown = bool(self._tools) and name not in self._tools
                why = "there is no such tool" if unknown else "its arguments can't be used"
                self._screen.note(f"Not run: {one_line(name)}, for {why}", style=Style.RED)
        self._unjudged.clear()

    def _round_started(self, event: events.RoundStarted) -> None:
        self._tell_unusable()
        self._round = event.round
        self._cleaner = Cleaner()
        self._writer.finish()
        self._writer = AnswerWriter(self._screen)
        self._told.clear()
        self._screen.drop_draft()
        self._status("Thinking" if event.round == 1 else "Thinking about what came back")

    def _round_finished(self, event: events.RoundFinished) -> None:
        self._tokens += event.usage.get("input", 0) + event.usage.get("output", 0)

    def _retry(self, event: events.Retry) -> None:
        self._note(f"No luck with the provider ({one_line(event.reason)}); trying again in {seconds(event.delay)}")

    def _judged(self, event: events.CallJudged) -> None:
        if event.name in self._unjudged:
            self._unjudged.remove(event.name)
        if event.verdict == "forbid":
            self._screen.note(f"Forbidden: {one_line(event.name)}: {one_line(event.why)}", style=Style.RED)

    def _compacted(self, event: events.Compacted) -> None:
        self._note(f"Made room in the conversation: {event.before} tokens became {event.after}")

    def _decided(self, event: events.ApprovalDecided) -> None:
        if not event.allowed:
            self._note(f"Not run: {one_line(event.reason)}")

    def _finished(self, event: events.RunFinished) -> None:
        self._writer.finish()
        self._tell_unusable({call.name for call in event.result.tool_calls if call.failure is not None})
        for warning in event.result.warnings:
            self.warn(warning)
        self._screen.status(None)

    def _reset(self, _: events.Reset) -> None:
        self._cleaner = Cleaner()
        self._unjudged.clear()
        if self._drafts:
            self._screen.drop_draft()
        elif self._writer.drop():
            self._note("(the answer broke off; here it is again from its beginning)")
        self._writer = AnswerWriter(self._screen)

    def _tool_started(self, event: events.ToolStarted) -> None:
        sentence = doing(event.name, event.arguments)
        self._running[event.call_id] = sentence
        self._told.append(sentence)
        self._writer.finish()
        self._screen.drop_draft()
        if self._screen.plain():
            self._screen.note(sentence)
        self._status(sentence)

    def _tool_finished(self, event: events.ToolFinished) -> None:
        sentence = self._running.pop(event.call_id, None) or doing(event.name, None)
        ended = "failed" if event.is_error else "done"
        name = one_line(event.name)
        columns = self._screen.columns
        style = Style.RED if event.is_error else None
        if self._screen.plain():
            self._screen.note(f"  {ended} ({name}, {seconds(event.duration)})")
        else:
            how = f" ({name}{' failed' if event.is_error else ''}, {seconds(event.duration)})"
            self._screen.note(excerpt(sentence, columns - len(how) - 1) + how, style=style)
        shown = excerpt(event.excerpt, columns - 5, is_error=event.is_error)
        if shown:
            self._screen.note(f"    {shown}", style=Style.RED if event.is_error else Style.DIM)
        left = list(self._running.values())
        self._status(left[-1] if left else "Thinking")

    def _agent_started(self, event: events.AgentStarted) -> None:
        self._note(f"Handing to {one_line(event.child)}: {one_line(event.task)}")
        self._status(f"Waiting for {one_line(event.child)}")

    def _agent_finished(self, event: events.AgentFinished) -> None:
        ended = f"gave up ({one_line(event.stop_reason)})" if event.is_error else "is back"
        used = f"{plural(event.requests, 'request')}, {seconds(event.duration)}"
        self._note(f"{one_line(event.child)} {ended} ({used})")

    def _of_child(self, event: Any) -> None:
        who = one_line(event.path)
        if isinstance(event, events.ToolStarted):
            sentence = doing(event.name, event.arguments)
            if self._screen.plain():
                self._note(f"  {who}: {sentence}")
            self._status(f"{who}: {sentence}")
        elif isinstance(event, events.ToolFinished) and event.is_error:
            shown = excerpt(event.excerpt, self._screen.columns - 5, is_error=True)
            self._note(f"  {who}: {one_line(event.name)} failed: {shown}")
        elif isinstance(event, events.CallJudged) and event.verdict == "forbid":
            self._note(f"  {who}: forbidden: {one_line(event.name)}: {one_line(event.why)}")
        elif isinstance(event, events.Warned):
            self.warn(f"{who}: {event.code}: {event.message}")
        elif isinstance(event, events.RoundStarted):
            self._children[event.path] = ""
        elif isinstance(event, events.ChildText):
            self._child_says(event, who)
        elif isinstance(event, events.ApprovalDecided) and not event.allowed:
            self._note(f"  {who}: not run: {one_line(event.reason)}")

    def _child_says(self, event: events.ChildText, who: str) -> None:
        """The last words of whoever spoke last: several may speak at once, and none of it is the answer."""
        if event.reasoning:
            self._status(f"{who}: thinking")
            return
        said = self._children[event.path] = (self._children.get(event.path, "") + event.text)[-_LOOKED_AT:]
        words = one_line(said).strip()
        if words:
            shown = words if len(words) <= _LAST_WORDS else "…" + words[-_LAST_WORDS:]
            self._status(f"{who}: {shown}")

    def _searches(self, event: events.SearchStarted) -> None:
        # A tool of ours that searches was told already.
        if event.call_id not in self._running:
            self._status(f"Searching{_for(event.query)}")

    def _searched(self, event: events.SearchCompleted) -> None:
        # A tool of ours that searches was told already.
        if not any(event.query in sentence for sentence in self._told):
            failed = f": {one_line(event.error)}" if event.error else ""
            self._note(f"{'A search failed' if failed else 'Searched'}{_for(event.query)}{failed}")

    def _phase_started(self, event: events.PhaseStarted) -> None:
        attempt = event.attempt
        self._cycles = self._cycles or event.phase == "setup"
        again = f", attempt {attempt}" if attempt > 1 else ""
        sentence = {
            "gather": "Looking through the files",
            "act": "Writing an answer" if attempt <= 1 else "Writing another answer",
            "verify": "Checking the answer against its sources",
        }.get(event.phase, one_line(event.phase).capitalize())
        if self._cycles:
            # A research: what counts are its cycles.
            sentence = {
                "setup": "Setting out",
                "plan": f"Planning cycle {attempt}",
                "act": f"Searching and reading, cycle {attempt}",
                "analyse": f"Weighing what was found, cycle {attempt}",
                "report": "Writing the report",
            }.get(event.phase, sentence)
        elif event.phase != "act":
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


def _for(query: str) -> str:
    return f" for “{one_line(query)}”" if query else ""
