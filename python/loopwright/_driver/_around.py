"""Functions around a request or a call of a tool: each is handed what calls the next, the innermost is the model or the
tool itself.

A function runs where hooks run: an async one in the run's loop, a plain one in a thread. What calls the next has the
run begin it where the run is driven, and waits there; nothing of it outlives the function that it was handed to.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from loopwright._effects import Beside, Raised, attempt, given_of
from loopwright._threads import drop
from loopwright._user_code import RAISED, log_raised
from loopwright.errors import HookError, UsageError
from loopwright.hooks._answers import clean
from loopwright.hooks._run import Late, asking, words

if TYPE_CHECKING:
    from loopwright import _core
    from loopwright._driver._generator import Driver
    from loopwright._driver._jobs import Job
    from loopwright._effects import Work
    from loopwright.hooks import Hook, HookContext

__all__ = ["Around", "Refused", "Step"]

_MOST = 100
"""Times that a function may call the next: one that tries again for ever does so in vain."""


class Refused(UsageError):
    """The next was called where it can't be."""

    default_code = "call_refused"


class Step:
    """One time that a function has called the next."""

    __slots__ = ("future", "job", "place", "subject")

    def __init__(self, place: int, subject: Any) -> None:
        self.place = place
        self.subject = subject
        # Carries what was given, or `Raised`: an exception of any kind gets through a future only as a value.
        self.future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        self.job: Job | None = None

    def settle(self, sent: Any) -> None:
        """It has come to an end, unless nobody waits for that any more."""
        if self.future.cancelled():
            return
        try:
            self.future.set_result(sent)
        except concurrent.futures.InvalidStateError:
            drop(sent)

    def wait(self) -> Any:
        """What was given; raises what was raised."""
        try:
            sent = self.future.result()
        except concurrent.futures.CancelledError:
            # Not an `Exception`: code that tries again would do so for ever.
            raise asyncio.CancelledError from None
        return given_of(sent)


class Around:
    """The functions around one request, or one call of a tool."""

    stage = ""
    """Where they stand."""

    def __init__(self, driver: Driver, command_id: int, key: tuple[int, str]) -> None:
        self.driver = driver
        self.command_id = command_id
        self.key = key
        self.hooks: list[Hook] = driver.plan.hooks[self.stage]
        # Of calls of the next, which may come from any thread.
        self.lock = threading.Lock()
        self.over = False
        self.replies: list[tuple[str, str, str, bool]] = []
        # What a function raised that must not fail: the run ends.
        self.error: BaseException | None = None

    # ---- for the two kinds to say ----

    def context(self, subject: Any) -> HookContext[Any]:
        """What a function is shown."""
        raise NotImplementedError

    def changed(self, subject: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The subject of the next, as the arguments of the call want it."""
        raise NotImplementedError

    def innermost(self, step: Step) -> None:
        """Begins what all of it is around."""
        raise NotImplementedError

    def refusal(self) -> Refused | None:
        """Why what all of it is around can't begin again."""
        raise NotImplementedError

    def unwanted(self, step: Step) -> None:
        """Nobody waits any more for what was begun."""
        if step.job is not None:
            self.driver.drop(step.job)

    def checked(self, value: Any) -> Any:
        """What a function gave, as whoever is around it gets it. Raises where it is no answer."""
        raise NotImplementedError

    def means(self, error: BaseException) -> bool:
        """Whether an exception of a function's own says that the model or the tool has failed."""
        raise NotImplementedError

    def event(self, sent: Any) -> _core.Event:
        """The event for what came of it all."""
        raise NotImplementedError

    # ---- the functions ----

    def work(self, subject: Any) -> Work:
        """The event that answers the command."""
        try:
            sent = yield from self.layer(0, subject)
            self.driver.became[self.key] = self.replies, self.error
            return self.event(sent)
        finally:
            self.over = True

    def layer(self, place: int, subject: Any) -> Work:
        """What comes of a subject from one function on, or `Raised`."""
        hook = self.hooks[place]
        call_next = Next(self, place + 1, subject)
        try:
            sent = yield from asking(hook, self.context(subject), call_next)
            # From here on it calls nothing any more; one that is late may still try.
            call_next.end(returned=not isinstance(sent, Late))
            if isinstance(sent, BaseException):
                if self.means(sent) or call_next.raised(sent):
                    return Raised(sent)
            else:
                taken = attempt(self.checked, sent)
                if type(taken) is not Raised:
                    self.replies.append((clean(hook.name), "continue", "", False))
                    return taken
                drop(sent)
                sent = taken.error
            return (yield from self.without(hook, call_next, sent))
        finally:
            call_next.close()

    def without(self, hook: Hook, call_next: Next, error: BaseException) -> Work:
        """A function has failed: what it was around counts as it came, or comes now."""
        if not isinstance(error, Late):
            log_raised("hooks", f"the hook {clean(hook.name)}", error)
        self.replies.append((clean(hook.name), "failed", words(error), hook.stops))
        if hook.stops:
            self.error = self.error or error
            message = f"the hook {hook.name!r} at {self.stage} failed, and the run ends: {words(error)}"
            halted = HookError(message, hint='mend the hook, or let it be skipped with on_error="skip"')
            halted.__cause__ = error
            return Raised(halted)
        step = call_next.best()
        if step is None and not call_next.steps:
            step = call_next.begin(call_next.subject)
        if step is None:
            return Raised(error)
        # In a thread: the run goes on with others meanwhile, with an event loop and without one.
        return attempt(step.wait) if step.future.done() else (yield Beside(None, step.wait))

    # ---- the next ----

    def begin(self, step: Step) -> None:
        """Begins what a function has called, where the run is driven."""
        if self.over or self.command_id not in self.driver.jobs:
            step.future.cancel()
        if step.future.cancelled():
            return
        try:
            if step.place < len(self.hooks):
                what = f"hook {self.hooks[step.place].name}"
                step.job = self.driver.start(self.command_id, what, self.carried, step, now=True)
            elif (refused := self.refusal()) is not None:
                step.settle(Raised(refused))
            else:
                self.innermost(step)
        except (*RAISED, SystemExit) as error:
            step.settle(Raised(error))
        self.driver.go()

    def carried(self, step: Step) -> Work:
        """Carries out the next function."""
        step.settle((yield from self.layer(step.place, step.subject)))

    def left(self, step: Step, future: concurrent.futures.Future[Any]) -> None:
        """A step has ended; what was begun for one that is not waited for any more is stopped."""
        if future.cancelled():
            self.driver.soon(partial(self.unwanted, step))


class Next:
    """What a function calls to go on: it waits in a thread, and gives something to await in an event loop."""

    __slots__ = ("around", "ended", "place", "returned", "steps", "subject")

    def __init__(self, around: Around, place: int, subject: Any) -> None:
        self.around = around
        self.place = place
        self.subject = subject
        self.steps: list[Step] = []
        self.ended = self.returned = False

    def __call__(self, *given: Any, **named: Any) -> Any:
        """What comes of the next, or what it raises."""
        subject = self.around.changed(self.subject, given, named)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self.begun(subject).wait()
        return self.later(subject)

    async def later(self, subject: Any) -> Any:
        """The same, awaited."""
        # Code that goes on after it was cancelled holds up nobody.
        await asyncio.sleep(0)
        return given_of(await asyncio.wrap_future(self.begun(subject).future))

    def begun(self, subject: Any) -> Step:
        """Has it begun, from any thread, where the function may still do so."""
        with self.around.lock:
            if self.returned:
                message = f"call_next was called when the function at {self.around.stage} had returned"
                raise Refused(message, hint="call it, and await it, before the function returns")
            if self.ended or self.around.over:
                # Not an `Exception`: code that tries again would do so for ever.
                raise asyncio.CancelledError
            refused = self.around.refusal() if self.place == len(self.around.hooks) else None
            if len(self.steps) >= _MOST:
                message = f"call_next was called {_MOST} times by one function at {self.around.stage}"
                refused = Refused(message, hint="give up earlier, and raise what was raised")
            if refused is not None:
                raise refused
            return self.begin(subject)

    def begin(self, subject: Any) -> Step:
        """Has it begun where the run is driven."""
        step = Step(self.place, subject)
        self.steps.append(step)
        step.future.add_done_callback(partial(self.around.left, step))
        self.around.driver.soon(partial(self.around.begin, step))
        return step

    def raised(self, error: BaseException) -> bool:
        """Whether an exception is what the next has raised, and no fault of the function."""
        found = [step for step in self.steps if _error_of(step) is error]
        # Who calls again what can't run again has what came of the first time.
        return bool(found) and (not isinstance(error, Refused) or self.best() is None)

    def best(self) -> Step | None:
        """The step whose end counts where the function has failed: one under way, or the last that came to an end."""
        for step in self.steps:
            if not step.future.done():
                return step
        ended = [step for step in self.steps if not step.future.cancelled()]
        real = [step for step in ended if not isinstance(_error_of(step), Refused)]
        return real[-1] if real else None

    def end(self, *, returned: bool = False) -> None:
        """The function has returned, or is not waited for any more."""
        with self.around.lock:
            self.ended, self.returned = True, self.returned or returned

    def close(self) -> None:
        """What it has begun is not waited for any more either."""
        self.end()
        for step in self.steps:
            step.future.cancel()


def _error_of(step: Step) -> BaseException | None:
    """What a step has raised, once it has."""
    if not step.future.done() or step.future.cancelled():
        return None
    sent = step.future.result()
    return sent.error if type(sent) is Raised else None
