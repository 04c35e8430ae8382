"""The stages as decorators of `Hooks`, with the types of what a function is shown, calls and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias, TypedDict, TypeVar, overload

from loopwright.errors import UsageError

from ._answers import AddContext, Continue, Replace, Veto

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from typing_extensions import Unpack

    from loopwright.messages import Message
    from loopwright.models import Response as Written
    from loopwright.result import Messages
    from loopwright.wire import Response

    from ._context import HookContext
    from ._hook import Hooks

__all__ = [
    "AroundStage",
    "CallModel",
    "CallModelAsync",
    "CallTool",
    "CallToolAsync",
    "Changes",
    "Decides",
    "Gives",
    "Hears",
    "Looks",
    "ModelAnswer",
    "RequestChanges",
    "Stage",
]

Looks: TypeAlias = Continue | Veto | AddContext | None
"""What a hook may answer where there is nothing to replace."""
Changes: TypeAlias = Continue | Veto | AddContext | Replace | None
"""What it may answer where it may do all."""
Gives: TypeAlias = Continue | Veto | Replace | None
"""What it may answer about the answer of the run, behind which the model reads nothing."""
Decides: TypeAlias = Continue | Veto | None
"""What it may answer before the work after the answer."""
Hears: TypeAlias = Continue | None
"""What it may answer when all is over."""


class RequestChanges(TypedDict, total=False):
    """What a function around a request may change in it: the rest stays."""

    system: str
    messages: Messages | Sequence[Message | Mapping[str, Any]]
    max_tokens: int
    """Tokens of the answer; a budget's own limit stands."""
    temperature: float
    top_p: float
    stop: Sequence[str]
    effort: Literal["low", "medium", "high"]


ModelAnswer: TypeAlias = "Response | Written | Message | str"
"""What a function around a request gives: what `call_next` gave, a `loopwright.models.Response`, a message or text."""


class CallModel(Protocol):
    """Sends the request on, with these changes, and gives the answer. Raises `ModelFailure` where the model fails."""

    def __call__(self, **changes: Unpack[RequestChanges]) -> Response: ...


class CallModelAsync(Protocol):
    """`CallModel`, to be awaited."""

    def __call__(self, **changes: Unpack[RequestChanges]) -> Awaitable[Response]: ...


class CallTool(Protocol):
    """Runs the call, and gives what the tool returns. Raises what the tool raises."""

    def __call__(self) -> Any: ...


class CallToolAsync(Protocol):
    """`CallTool`, to be awaited."""

    def __call__(self) -> Awaitable[Any]: ...


Shown = TypeVar("Shown")
Answer = TypeVar("Answer")
Next = TypeVar("Next")
NextAsync = TypeVar("NextAsync")


class _Decorator:
    """A decorator that adds functions to hooks at a stage, alone or with the options of a `Hook`."""

    def __init__(self, hooks: Hooks, name: str, options: Mapping[str, Any] | None = None) -> None:
        self._hooks = hooks
        self._name = name
        self._options = options or {}

    def __repr__(self) -> str:
        return f"<{self._name} of {self._hooks!r}>"

    def _called(self, functions: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """What it gives that is called: the function it was given, or itself with options."""
        if len(functions) > 1:
            message = f"{self._name} is given {len(functions)} arguments, and decorates one function"
            raise UsageError(message, "invalid_hook", "give options by their names: timeout, on_error, name, inline")
        options = {**self._options, **options}
        if not functions:
            return type(self)(self._hooks, self._name, options)
        return self._hooks.on(self._name, **options)(functions[0])


class Stage(_Decorator, Generic[Shown, Answer]):
    """A stage of `Hooks`: a decorator, alone or with the options of a `Hook`."""

    @overload
    def __call__(
        self, function: Callable[[HookContext[Shown]], Awaitable[Answer]], /
    ) -> Callable[[HookContext[Any]], Awaitable[Answer]]: ...
    @overload
    def __call__(self, function: Callable[[HookContext[Shown]], Answer], /) -> Callable[[HookContext[Any]], Answer]: ...
    @overload
    def __call__(
        self,
        *,
        timeout: float | None = None,
        on_error: Literal["skip", "stop"] = "skip",
        name: str = "",
        inline: bool = False,
    ) -> Stage[Shown, Answer]: ...
    def __call__(self, *functions: Any, **options: Any) -> Any:
        """Adds the function below it, which stays as it is."""
        return self._called(functions, options)


class AroundStage(_Decorator, Generic[Shown, Next, NextAsync, Answer]):
    """Around what the run waits for: a decorator, alone or with the options of a `Hook`. The function gets the context
    and what calls the next.
    """

    @overload
    def __call__(
        self, function: Callable[[HookContext[Shown], NextAsync], Awaitable[Answer]], /
    ) -> Callable[[HookContext[Shown], NextAsync], Awaitable[Answer]]: ...
    @overload
    def __call__(
        self, function: Callable[[HookContext[Shown], Next], Answer], /
    ) -> Callable[[HookContext[Shown], Next], Answer]: ...
    @overload
    def __call__(
        self, *, timeout: float | None = None, on_error: Literal["skip", "stop"] = "skip", name: str = ""
    ) -> AroundStage[Shown, Next, NextAsync, Answer]: ...
    def __call__(self, *functions: Any, **options: Any) -> Any:
        """Adds the function below it, which stays as it is."""
        return self._called(functions, options)
