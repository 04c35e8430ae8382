"""`Approvals`: who is asked before a call runs, until when, and which yeses are kept."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import json
import secrets
import threading
import time
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from loopwright import _core
from loopwright._approval import Edit, Remembered, Returned
from loopwright._dataclasses import dataclass, field
from loopwright._renamed import renamed, under_new_names
from loopwright._repr import redacted_repr
from loopwright.errors import UsageError

from ._guard import NO_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from loopwright._approval import Approval

__all__ = ["Approvals", "Edit", "Kept", "Request", "Returned"]

Answer: TypeAlias = Literal["allow", "once", "deny", "abort", "edit"]

_SLACK = 0.05
"""Seconds by which two clocks that watch one deadline may differ."""


@renamed(tool="name", input="arguments")
@dataclass(frozen=True)
class Request:
    """A call that waits for a person, or has waited in vain."""

    id: int
    name: str
    arguments: Any
    risk: str
    why: str
    asked: float
    """When it was asked, by the clock of its `Approvals`."""
    deadline: float
    """Until when somebody may decide."""
    standing: Literal["pending", "expired"]
    keeps: str | None
    """What a yes would be kept for, in words; `None` where it is for this call alone."""
    hash: str | None = field(default=None, repr=False)
    secret: bool = False


@dataclass(frozen=True)
class Kept:
    """A yes that is kept."""

    words: str
    ceiling: str
    """The highest risk that it answers for."""
    until: float


class Approvals:
    """Requests to a person: open ones with their deadlines, and the yeses of this session.

    ::

        approvals = Approvals(ask)          # any function, sync or async, that takes an Approval
        agent = Agent("…", tools=[…], guard=Guard(approve=approvals))

    `ask` gives `True` (yes, and kept for calls of the same shape), `"once"`, `False` or a reason why not, `"abort"`,
    or `Edit(arguments)`: the changed call is judged anew. Without `ask` the requests wait in `pending` until somebody
    calls `decide`, from any thread: a web page, for one.

    A yes is kept for an hour of the session, under what `describe` says in words. Never kept: a no, a yes to a
    dangerous call, a yes to what holds a secret. Silence until the deadline is a no for this call; the request stays
    listed in `expired`, and `again` lets the same call run when it comes again.

    Args:
        ask: Who is asked.
        session: What the yeses belong to; by default this object alone.
        timeout: Seconds to decide.
        ttl: Seconds that a yes is kept; 0 keeps none.
        clock: What says the time, in seconds.
    """

    def __init__(
        self,
        ask: Callable[[Approval], Any] | None = None,
        *,
        session: str | None = None,
        timeout: float = 60.0,
        ttl: float = 3600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if ask is not None and not callable(ask):
            message = f"ask can't be {ask!r:.100}"
            raise UsageError(message, "invalid_option", "give a function that takes an Approval")
        if session is not None and not isinstance(session, str):
            message = f"session is {type(session).__name__}, not text"
            raise UsageError(message, "invalid_option", "give the name of a session, or nothing")
        for name, seconds in (("timeout", timeout), ("ttl", ttl)):
            if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
                message = f"{name} is {type(seconds).__name__}, not a number"
                raise UsageError(message, "invalid_option", "give seconds")
        if not callable(clock):
            message = f"clock can't be {clock!r:.100}"
            raise UsageError(message, "invalid_option", "give a function that gives seconds")
        self.session = session if session is not None else secrets.token_hex(8)
        self.timeout = timeout
        self._ttl = ttl
        self._front_end = ask
        self._clock = clock
        self._desk = _core.ApprovalDesk(self.session, timeout, ttl)
        self._waiting: dict[int, tuple[asyncio.AbstractEventLoop, asyncio.Future[Any]]] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process asks as this one does; no yes of a person goes there, and no open question.
        options: dict[str, Any] = {
            "session": self.session,
            "timeout": self.timeout,
            "ttl": self._ttl,
            "clock": self._clock,
        }
        return (functools.partial(type(self), **options), (self._front_end,))

    def __repr__(self) -> str:
        return f"<Approvals of {self.session!r}: {len(self.pending)} pending, {len(self.kept)} kept>"

    @property
    def one_at_a_time(self) -> bool:
        """Whether whoever is asked sees one question at a time: a plain function blocks until it is answered. Another
        question waits for its turn, and its time to answer begins then.
        """
        return self._front_end is not None and not _is_async(self._front_end)

    async def __call__(self, question: Approval) -> Any:
        """Asks about a call; gives what an `approve` of an agent gives."""
        from loopwright._dataclasses import replace

        began = self._clock()
        seconds = min(question.expires_in or self.timeout, NO_TIMEOUT)
        home, workspace = question.around
        loop = asyncio.get_running_loop()
        decided: asyncio.Future[Any] = loop.create_future()
        # Whoever sees the request can decide about it: somebody waits for the answer by then.
        with self._lock:
            request, words = self._desk.ask(
                question.name,
                question.arguments,
                risk=question.risk,
                why=question.why,
                hash=question.hash,
                secret=question.secret,
                home=home,
                workspace=workspace,
                now=began,
                timeout=seconds,
                links=dict(question.links),
            )
            if request is None:
                return Remembered(words or "")
            self._waiting[request] = (loop, decided)
        asked: asyncio.Future[Any] | None = None
        try:
            wanted = {decided}
            if self._front_end is not None:
                shown = replace(question, request_id=request, keeps=self._desk.describe(_number(request)))
                asked = asyncio.ensure_future(_answer(self._front_end, shown))
                wanted.add(asked)
            await asyncio.wait(wanted, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if decided.done():
                return decided.result()
            if asked is not None and asked.done():
                return self._settle(request, question, asked.result())
            self._desk.lapse(request)
            return "nobody answered in time"
        except asyncio.CancelledError:
            # The run has stopped waiting: because the time was up, or because it ended.
            if self._clock() >= began + seconds - _SLACK:
                self._desk.lapse(request)
            raise
        finally:
            with self._lock:
                self._waiting.pop(request, None)
            self._desk.withdraw(request)
            if asked is not None and not asked.done():
                asked.cancel()

    def _settle(self, request: int, question: Approval, answer: Any) -> Any:
        """Books what a front end said."""
        kind: Answer = "deny"
        if answer is True or answer == "allow":
            kind = "allow"
        elif answer == "once":
            kind = "once"
        elif isinstance(answer, Edit):
            kind = "edit"
        elif answer == "abort":
            kind = "abort"
        self._desk.decide(request, kind, question.hash, self._clock())
        return True if kind in ("allow", "once") else answer

    def decide(
        self,
        request: int,
        decision: Answer | bool,  # noqa: FBT001 - a yes or a no
        *,
        reason: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        hash: str | None = None,  # noqa: A002 - what it is called everywhere
    ) -> str | None:
        """Decides about a request: `"allow"` or `True`, `"once"`, `"deny"` or `False`, `"abort"`, or `"edit"` with
        `arguments`. Gives what the yes is kept for, in words, if it is.

        Raises a `UsageError` with the code `approval_gone` or `approval_expired` if nobody waits for it any more, and
        `approval_changed` if `hash` is not that of the call.
        """
        if not isinstance(decision, (str, bool)):
            message = f"{decision!r:.100} is no decision"
            raise UsageError(message, "invalid_value", 'give "allow", "once", "deny", "abort" or "edit", or a bool')
        if hash is not None and not isinstance(hash, str):
            message = f"hash is {type(hash).__name__}, not text"
            raise UsageError(message, "invalid_value", "give the hash of the request, or nothing")
        kind: Answer = decision if isinstance(decision, str) else ("allow" if decision else "deny")
        answer: Any = {"allow": True, "once": True, "abort": "abort"}.get(kind, False)
        if kind == "edit":
            answer = Edit(_object(arguments))
        if kind == "deny" and reason is not None:
            answer = reason
        request = _number(request)
        with self._lock:
            kept = self._desk.decide(request, kind, hash, self._clock())
            loop, decided = self._waiting.get(request, (None, None))
        if loop is not None and decided is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_set, decided, answer)
        return kept

    def describe(self, request: int) -> str:
        """What a yes to a request would be kept for, in words."""
        return self._desk.describe(_number(request))

    def again(self, request: int) -> str:
        """For an expired request: lets the same call run when it comes again. Gives what is kept, in words."""
        return self._desk.again(_number(request), self._clock())

    def forget(self) -> None:
        """Forgets every yes."""
        self._desk.forget()

    @property
    def pending(self) -> tuple[Request, ...]:
        """The requests that somebody may decide about."""
        return self._requests("pending")

    @property
    def expired(self) -> tuple[Request, ...]:
        """The requests that nobody decided about in time, the last of them."""
        return self._requests("expired")

    @property
    def kept(self) -> tuple[Kept, ...]:
        """The yeses that are kept."""
        return tuple(Kept(**kept) for kept in json.loads(self._desk.kept(self._clock())))

    def _requests(self, standing: str) -> tuple[Request, ...]:
        found = json.loads(self._desk.requests(self._clock()))
        return tuple(
            Request(**under_new_names(Request, request)) for request in found if request["standing"] == standing
        )


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


async def _answer(front_end: Callable[[Approval], Any], question: Approval) -> Any:
    if _is_async(front_end):
        return await _heard(front_end(question))
    from loopwright._awaited import awaited
    from loopwright._effects import Beside, Raised

    # One that blocks (`input()`) holds up neither the loop nor the deadline.
    answer = await awaited(Beside("approval", functools.partial(front_end, question)))
    if type(answer) is Raised:
        raise _failure(answer.error)
    return await _heard(answer) if inspect.isawaitable(answer) else answer


async def _heard(answer: Any) -> Any:
    """What a front end says in the end. One that means to end the process ends neither the run nor the loop."""
    try:
        return await answer
    except (KeyboardInterrupt, SystemExit) as error:
        raise _failure(error) from error


def _failure(error: BaseException) -> Exception:
    """What a front end raised, as an error that ends nothing but its question."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")


def _set(decided: asyncio.Future[Any], answer: Any) -> None:
    if not decided.done():
        decided.set_result(answer)


def _number(request: object) -> int:
    """The number of a request; a front end may well have it as text."""
    if isinstance(request, str) and request.isdecimal() and request.isascii() and len(request) <= 18:  # noqa: PLR2004
        return int(request)
    if isinstance(request, int) and not isinstance(request, bool) and 0 <= request < 2**63:
        return request
    message = f"there is no request {request!r:.100}"
    raise UsageError(message, "approval_gone", "the requests that are open are listed in pending")


def _object(arguments: object) -> dict[str, Any]:
    if not isinstance(arguments, dict):
        message = f"the arguments of a call are a dict, not {type(arguments).__name__}"
        raise UsageError(message, "invalid_value", "give all arguments of the changed call")
    return arguments


redacted_repr(Request, Kept)
