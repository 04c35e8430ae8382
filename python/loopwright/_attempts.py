"""The attempts of a run: one, and further ones while its answer is not of the type that was asked for.

An answer that is not is sent back to the model; what the attempts before it used counts. Whoever drives them says how:
in an event loop or without one.
"""

from __future__ import annotations

from collections import deque
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ._journal_paths import beside
from ._remember import Following
from ._suspend import Answers
from ._typed import Output
from .errors import LoopwrightError, UsageError
from .messages import Message, prompt_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from . import _core
    from ._continue import Begun
    from ._driver import Driver
    from ._handoff import Handoff
    from ._instrument import Observer
    from ._plan import Plan
    from ._running import Running
    from .budget import Budget
    from .events import Event, HandedOff, RunFinished
    from .result import Result
    from .tools._offered import Offered

__all__ = ["Attempts", "Progress"]

Drives = TypeVar("Drives", bound="Driver")

_MOST = 3
_ANSWERED = ("natural", "no_tool_use", "needs_user_input", "ambiguous")


def _handed_off() -> type[HandedOff]:
    from .events import HandedOff

    return HandedOff


@cache
def _run_finished() -> type[RunFinished]:
    """Loaded by the first run; an import costs thousands of instructions each time, even of what is there."""
    from .events import RunFinished

    return RunFinished


class Progress(Generic[Drives, Output]):
    """How far a run has come; its attempts write it down, and its stream tells."""

    __slots__ = ("bare", "driver", "lines", "observer", "over", "path", "result", "said", "steps")

    def __init__(self, observer: Observer | None = None) -> None:
        self.observer = observer
        self.result: Result[Output] | None = None
        self.driver: Drives | None = None
        self.path: str | None = None
        self.lines: str | None = None
        self.over = False
        # Whether it is under way, or ended only because nobody was there to read on.
        self.bare = False
        # What the person says meanwhile, and whether that person decides on each call.
        self.said: deque[Message] = deque()
        self.steps = False

    def say(self, words: Any) -> None:
        """The person says something more, from any thread. Raises a `UsageError` once the run has ended."""
        message = prompt_of(words)
        if not message.text.strip() and len(message.content) < 2:  # noqa: PLR2004 - a text alone
            raise UsageError("the message is empty", "empty_prompt", "say something")
        if message.role != "user":
            wrong = f"what the person says is no message of the role {message.role!r}"
            raise UsageError(wrong, "invalid_prompt", "give text, or a message of the user")
        if self.result is not None:
            wrong = "the run has ended, and nobody reads what is said now"
            raise UsageError(wrong, "run_ended", "begin another one with messages=result.messages")
        self.said.append(message)
        driver = self.driver
        if driver is not None:
            driver.soon(driver.go)

    @property
    def state(self) -> str:
        """`running`, `pausing`, `paused` or `done`."""
        if self.driver is not None:
            return self.driver.run.state
        return "done" if self.over else "running"

    @property
    def journal(self) -> str | None:
        """Where the journal is, or its lines where it is kept in memory."""
        if self.path is not None:
            return self.path
        return self.lines if self.driver is None else self.driver.run.journal


class Attempts(Generic[Drives, Output]):
    """Attempts, each within `with`, one after the other while there are `more`."""

    begun: tuple[_core.Run, Plan, str, str | None, Result[Any] | None]

    def __init__(
        self,
        agent: Running[Any, Output],
        kind: type[Drives],
        conversation: _core.History | None,
        deps: Any,
        limits: Budget,
        journal: Any,
        *,
        begin: Callable[[Plan], Begun] | None,
        progress: Progress[Drives, Output],
        watch: bool,
    ) -> None:
        self.agent = agent
        self.kind = kind
        self.conversation = conversation
        self.deps = deps
        self.limits = limits
        self.journal = journal
        self.begin = begin
        self.progress = progress
        self.watch = watch
        # The tools that toolsets offer to all attempts of an agent, and the toolsets that have not been asked yet.
        self.offered: Offered | None = None
        self.unlisted = agent._places if begin is None else None
        self.made = self.tries = 0
        # Stops looking for a cancel by the run's name.
        self.unwatch: Callable[[bool], None] | None = None
        # Who has handed the run over to the agent, in order.
        self.handed: list[str] = list(agent._labels.get("handed_off_to", ()))
        self.handed_by: str | None = None
        self.more = True
        self.prompt_at = None if conversation is None else len(conversation) - 1
        # Of the last attempt.
        self.driver: Drives | None = None
        self.following: Following | None = None
        # Of all that have ended.
        self.earlier: Result[Any] | None = None

    def list_tools(self) -> None:
        """Asks toolsets for what they offer."""
        if self.unlisted:
            from .tools._offered import offer_sync

            self.offered, self.unlisted = offer_sync(self.unlisted, self.deps), None

    async def alist_tools(self) -> None:
        """Asks toolsets for what they offer, in an event loop."""
        if self.unlisted:
            from .tools._offered import offer

            self.offered, self.unlisted = await offer(self.unlisted, self.deps), None

    def __enter__(self) -> tuple[Drives, _core.Event | list[_core.Command]]:
        """An attempt is under way: its driver, and what that begins with."""
        agent, progress = self.agent, self.progress
        plan = agent._plan(self.limits, stream=self.watch, offered=self.offered)
        begin, self.begin = self.begin, None
        if self.conversation is not None and progress.said:
            said = [progress.said.popleft().to_json() for _ in range(len(progress.said))]
            self.conversation = self.conversation.extended(f"[{','.join(said)}]")
        begun = begin(plan) if begin is not None else agent._begun(plan, self.journal, self.made, self.conversation)
        self.made, self.tries = self.made + begun.made, self.tries + begun.made
        if begun.plan is not None:
            plan, self.offered = begun.plan, begun.offered
        if begin is not None and self.journal is None and begun.path is not None:
            # Where it is gone on in further attempts.
            self.journal = beside(begun.path)
        suspends = isinstance(plan.approve, Answers) and plan.approve.rest is None
        if begun.path is None and (suspends or plan.defers):
            begun.run.close()
            what = "a person decides" if suspends else "the work of a call is done elsewhere"
            message = f"a run is left in its journal while {what}, and this one has none in a file"
            raise UsageError(message, "no_journal", "give the agent or the run journal=, the path of a store")
        self.begun = begun.run, plan, begun.name, begun.path, self.earlier
        try:
            driver = self.kind(plan, begun.run, begun.name, self.deps, watch=self.watch, after=self.driver)
            self.driver = progress.driver = driver
            driver.said, driver.steps = progress.said, progress.steps
            driver.is_kept = begun.path is not None
            if (held := getattr(begun.run, "held", None)) is not None:
                driver.holds = True
                held.on_lost = lambda error: driver.soon(lambda: driver.broken(error))
            self._watch(driver, begun)
            if progress.observer is not None:
                progress.observer.begin(driver)
                driver.observer = progress.observer
            if self.handed_by is not None:
                driver.tell(_handed_off()(self.handed_by, self.handed[-1]))
                self.handed_by = None
            progress.path = begun.path
            self.following = Following(agent._remember, driver, self.prompt_at, begun.path, self.following)
        except BaseException:
            self._over()
            raise
        progress.bare = True
        return driver, begun.start

    def _watch(self, driver: Drives, begun: Begun) -> None:
        """A run of a chosen name may be cancelled by it, wherever that is said."""
        name = self.agent._run_name
        if begun.path is not None and name is not None:
            from ._cancelled import watch

            self.unwatch = watch(begun.path, name, driver.interrupt_soon)

    # No generator with `contextmanager`: whoever collects it in a circle would go on with it anywhere.
    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        driver, following = self.driver, self.following
        self.progress.bare = self.progress.bare and isinstance(error, GeneratorExit)
        assert driver is not None, "it was entered"  # noqa: S101 - a fault of ours
        assert following is not None, "it was entered"  # noqa: S101 - a fault of ours
        try:
            following.__exit__(kind, error, trace)
            if isinstance(error, LoopwrightError):
                self.agent._explain(error, driver, *self.begun)
            elif error is not None and driver.outcome is not None:
                self.progress.result = self.agent._finish(driver, *self.begun)[0]
        finally:
            self._over()
            if error is not None and self.progress.observer is not None:
                self.progress.observer.end(getattr(error, "result", None) or self.progress.result, error)
        if error is None:
            self._ended(driver)

    def _over(self) -> None:
        """Nobody is there to be paused any more. The journal is free, however long a traceback holds the run."""
        progress, run = self.progress, self.begun[0]
        unwatch, self.unwatch = self.unwatch, None
        if unwatch is not None:
            unwatch(run.ended is not None)
        progress.driver, progress.lines, progress.over = None, run.journal, True
        run.close()

    def _ended(self, driver: Drives) -> None:
        """An attempt has ended by itself: either its result will do, or the model is told what is wrong with it."""
        result, feedback = self.agent._finish(driver, *self.begun)
        if self.prompt_at is not None:
            object.__setattr__(result, "_began", self.prompt_at)
        if result.error is not None and driver.hook_error is not None:
            # An error that a hook has made says what the hook raised.
            result.error.__cause__ = driver.hook_error
        self.made, self.tries = self.made + 1, self.tries + 1
        output, handoff = self.agent._output, driver.handoff
        self.more = feedback is not None and self.tries < (_MOST if output is None else output.asked.attempts)
        if feedback is not None and self.more:
            self.conversation = result.messages._history.extended(f"[{Message.user(feedback).to_json()}]")
            self.limits = _left(result, self.earlier, self.limits, driver)
        elif handoff is not None and result.stop_reason == "user_interrupt":
            self._hand_over(handoff, result, driver)
        elif self.progress.said and result.error is None and result.stop_reason in _ANSWERED:
            self._say(result, driver)
        self.earlier = result

    def _say(self, result: Result[Any], driver: Driver) -> None:
        """The person has said something more to the answer: the run goes on with that."""
        self.conversation, self.tries, self.more = result.messages._history, 0, True
        self.limits = _left(result, self.earlier, self.limits, driver)

    def _hand_over(self, handoff: Handoff[Any, Any], result: Result[Any], driver: Driver) -> None:
        """Another agent goes on with what is left."""
        from ._handoff import said_to, segment_of

        by = self.agent
        self.agent, self.tries, self.more = segment_of(by, handoff), 0, True
        self.handed_by, self.handed = by.name or "agent", [*self.handed, str(handoff.name)]
        more = {"handed_off_from": result.run_id, "handed_off_to": self.handed}
        self.agent._labels = {**self.agent._labels, **more}
        self.conversation, self.prompt_at = said_to(handoff, result, self.prompt_at)
        self.limits = _left(result, self.earlier, self.limits, driver)
        self.offered, self.unlisted = None, self.agent._places

    def end(self) -> tuple[Result[Output], Following]:
        """The result, after which more begins in the background; and who has its turn remembered."""
        assert self.earlier is not None, "an attempt was made"  # noqa: S101 - a fault of ours
        assert self.following is not None, "an attempt was made"  # noqa: S101 - a fault of ours
        if self.progress.observer is not None:
            self.progress.observer.end(self.earlier)
        if self.earlier.stop_reason != "suspended":
            self.agent._reflect(self.earlier, self.deps)
        return self.earlier, self.following

    def last(self, result: Result[Output], warned: list[Any]) -> list[Event]:
        """The last events: what whoever called should know, and the end."""
        event = _run_finished()(result)
        if self.driver is not None:
            self.driver.numbered(event)
        self.progress.result = result
        return [*warned, event]


def _left(result: Result[Any], earlier: Result[Any] | None, budget: Budget, driver: Driver) -> Budget:
    """What the last attempt left of the budget."""

    def spent(of: Callable[[Result[Any]], Any]) -> Any:
        return of(result) - (0 if earlier is None else of(earlier))

    # Without an outcome nobody knows how many questions there were.
    asked = driver.outcome["spent"].get("approvals", 0) if driver.outcome else float("inf")
    return budget.less(
        rounds=spent(lambda result: result.rounds),
        tool_rounds=spent(lambda result: result.tool_rounds),
        wall_time=spent(lambda result: result.duration),
        approvals=asked,
        tokens=spent(lambda result: result.usage.total_tokens),
        cost=spent(lambda result: result.known_cost or 0.0),
    )
