"""What a tool may know about the call it serves.

A parameter annotated `RunContext` or `RunContext[Deps]` is filled in by the engine, wherever it stands, and is never
shown to the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from loopwright._approval import Approval
    from loopwright.guard import Sandbox
    from loopwright.result import Messages

__all__ = ["CancelFlag", "RunContext"]

Deps = TypeVar("Deps")


class CancelFlag:
    """A flag that is raised once and never lowered. The engine raises it; tools read it as `RunContext.cancelled`."""

    __slots__ = ("_set",)

    def __init__(self) -> None:
        self._set = False

    def set(self) -> None:
        """Raise it."""
        self._set = True

    @property
    def is_set(self) -> bool:
        """Whether it is raised."""
        return self._set


class RunContext(Generic[Deps]):
    """One call of one tool in one run, or a run that is asked for instructions. Tools read it and report progress with
    `emit`; they can't change it.
    """

    __slots__ = ("_ask", "_cancel", "_command", "_emit", "_messages", "_sandbox", "attempt", "call_id", "deps", "round",
                 "run_id")  # fmt: skip

    deps: Deps
    """What the caller handed to the run: a database, a client, the user."""
    run_id: str
    """The run."""
    call_id: str
    """The model's id of this call; empty outside of tools."""
    round: int
    """How many rounds of tools came before, counted from 0."""
    attempt: int
    """Which attempt at this call it is, counted from 1."""

    def __init__(
        self,
        deps: Deps = None,  # type: ignore[assignment]
        *,
        run_id: str = "",
        call_id: str = "",
        round: int = 0,  # noqa: A002 - the name tools read
        attempt: int = 1,
        emit: Callable[[str], object] | None = None,
        cancel: CancelFlag | None = None,
        sandbox: bool | Sandbox | None = None,
        ask: Callable[[Approval], Awaitable[Any]] | None = None,
        messages: Callable[[], Messages] | None = None,
        command: int = 0,
    ) -> None:
        put = object.__setattr__
        put(self, "_command", command)
        put(self, "_ask", ask)
        put(self, "_messages", messages)
        put(self, "deps", deps)
        put(self, "run_id", run_id)
        put(self, "call_id", call_id)
        put(self, "round", round)
        put(self, "attempt", attempt)
        put(self, "_emit", emit)
        put(self, "_sandbox", sandbox)
        put(self, "_cancel", cancel if cancel is not None else CancelFlag())

    def emit(self, text: str) -> None:
        """Report progress. It reaches the consumers of the run's events, not the model. Safe from any thread."""
        emit: Callable[[str], object] | None = self._emit  # type: ignore[attr-defined]
        if emit is not None:
            emit(str(text))

    async def ask(self, question: Approval) -> Any:
        """Puts a question to whoever approves the run's calls, and gives what they say: `True`, `False`, an `Edit`, a
        reason why not; `None` where nobody is there to ask. The time of the call goes on meanwhile.
        """
        ask: Callable[[Approval], Awaitable[Any]] | None = self._ask  # type: ignore[attr-defined]
        return None if ask is None else await ask(question)

    @property
    def idempotency_key(self) -> str:
        """A name for this call that is the same in every attempt at it, in every process and after every restart, and
        that no other call has: what a service takes to do a thing once. Empty outside of tools.
        """
        if not self.call_id:
            return ""
        from hashlib import sha256

        command: int = self._command  # type: ignore[attr-defined]
        # A model may give two calls of a run one id; the machine never gives two commands one number.
        return sha256(f"{self.run_id}\n{command}\n{self.call_id}".encode(errors="replace")).hexdigest()[:32]

    @property
    def messages(self) -> Messages:
        """What was said so far in the run."""
        messages: Callable[[], Messages] | None = self._messages  # type: ignore[attr-defined]
        if messages is not None:
            return messages()
        from loopwright.result import Messages

        return Messages()

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the result any more. Tools that run long in a thread look at it now and then."""
        flag: CancelFlag = self._cancel  # type: ignore[attr-defined]
        return flag.is_set

    def __setattr__(self, name: str, value: object) -> NoReturn:
        message = f"a RunContext can't be changed: {name!r} is what the engine says"
        raise AttributeError(message)

    def __delattr__(self, name: str) -> NoReturn:
        message = f"a RunContext can't be changed: {name!r} stays"
        raise AttributeError(message)

    def __repr__(self) -> str:
        return (
            f"RunContext(run_id={self.run_id!r}, call_id={self.call_id!r}, round={self.round}, attempt={self.attempt})"
        )


def cancel_flag(context: RunContext[Any]) -> CancelFlag:
    """The flag of `context`."""
    flag: CancelFlag = context._cancel  # type: ignore[attr-defined]  # noqa: SLF001 - same module
    return flag


def sandbox_of(context: RunContext[Any]) -> bool | Sandbox | None:
    """What the agent of `context` says of the fence around commands."""
    sandbox: bool | Sandbox | None = context._sandbox  # type: ignore[attr-defined]  # noqa: SLF001 - same module
    return sandbox


def relayed(context: RunContext[Any], relay: Callable[[Callable[[], object]], object]) -> RunContext[Any]:
    """`context` for a tool in another thread: what it emits goes through `relay`."""
    emit: Callable[[str], object] | None = context._emit  # type: ignore[attr-defined]  # noqa: SLF001 - same module
    if emit is None:
        return context
    shown = emit
    return RunContext(
        context.deps,
        run_id=context.run_id,
        call_id=context.call_id,
        round=context.round,
        attempt=context.attempt,
        emit=lambda text: relay(lambda: shown(text)),
        cancel=cancel_flag(context),
        sandbox=sandbox_of(context),
        ask=context._ask,  # type: ignore[attr-defined]  # noqa: SLF001 - same module
        messages=context._messages,  # type: ignore[attr-defined]  # noqa: SLF001 - same module
        command=context._command,  # type: ignore[attr-defined]  # noqa: SLF001 - same module
    )
