"""All errors of the package, one tree, by guilt: who has to act.

::

    LoopwrightError
    ├── UsageError       you: a wrong argument, a missing key, an illegal event
    ├── ModelError       the model: an answer that can't be used
    ├── ToolError        a tool
    ├── ProviderError    the provider, or the way to it
    └── InternalError    us; please report it

Each says what was wrong, where, and what to do. An error that ends a run carries what the run had reached in
`result`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from .result import Result

__all__ = [
    "HookError",
    "InternalError",
    "LoopwrightError",
    "ModelError",
    "NoOutput",
    "ProviderError",
    "ToolError",
    "UsageError",
]


class LoopwrightError(Exception):
    """The root: a stable `code` for programs, a `message` for people, a `hint` that says what to do."""

    guilt: ClassVar[str] = "usage"
    default_code: ClassVar[str] = "error"

    code: str
    message: str
    hint: str | None
    result: Result[Any] | None
    """What the run had reached, where the error ended one."""
    status: int | None = None
    """The HTTP status, where a provider answered with an error."""
    retry_after: float | None = None
    """Seconds that the provider asks to wait."""
    request_id: str | None = None
    """The provider's id of the request."""

    def __init__(self, message: str, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.hint = hint
        self.result = None

    def __str__(self) -> str:
        return _redacted(f"{self.message} ({self.hint})" if self.hint else self.message)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_redacted(self.message)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # The state carries what a subclass adds, and the result where all that is in it can be pickled.
        state = dict(self.__dict__)
        if self.result is not None and not self.result._travels():
            state["result"] = None
        return (_rebuild, (type(self), self.message), state)


def _redacted(text: str) -> str:
    """What tools, providers and pages said may be in an error: logs and tracebacks get it without secrets."""
    from .guard import redact

    return redact(text)


def _rebuild(kind: type[LoopwrightError], message: str) -> LoopwrightError:
    return kind.__new__(kind, message)


class UsageError(LoopwrightError):
    """Something that the caller did."""


class HookError(UsageError):
    """A hook failed that must not fail, and ended the run. `__cause__` is what it raised, where that is known."""

    default_code = "hook_failed"


class ModelError(LoopwrightError):
    """The model gave an answer that can't be used."""

    guilt = "model"
    default_code = "model_failed"


class NoOutput(ModelError, AttributeError):
    """The run has no answer: a limit ended it, or it was refused, paused or cancelled. `stop_reason` says which.

    It is an `AttributeError`, too: `getattr(result, "output", None)` asks for what may not be there.
    """

    default_code = "no_output"


class ToolError(LoopwrightError):
    """A tool could not do what it was asked for; the model reads why and may try something else.

    Tools raise it themselves: `raise ToolError("no such city", code="unknown_city", hint="use the English name")`.
    """

    guilt = "tool"
    default_code = "tool_failed"

    details: dict[str, Any]

    def __init__(
        self,
        message: str,
        code: str | None = None,
        hint: str | None = None,
        *,
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message, code, hint)
        self.details = details or {}


class ProviderError(LoopwrightError):
    """The provider failed, or the way to it.

    `code` says how: `rate_limited`, `overloaded`, `server`, `timeout`, `cut`, `tls`, `auth` and the like.
    """

    guilt = "provider"
    default_code = "provider_failed"


class InternalError(LoopwrightError):
    """A fault of ours. It never looks like a tool's mistake."""

    guilt = "internal"
    default_code = "internal"
