"""`Hook` and `Hooks`: who is asked where, in what order, for how long."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from loopwright._dataclasses import dataclass, field
from loopwright.errors import HookError, UsageError

from ._context import (
    AnswerSubject,
    AssessmentSubject,
    CallSubject,
    DecisionSubject,
    PromptSubject,
    RequestSubject,
    ResponseSubject,
    ResultSubject,
    RoundSubject,
)
from ._stages import (
    AroundStage,
    CallModel,
    CallModelAsync,
    CallTool,
    CallToolAsync,
    Changes,
    Decides,
    Gives,
    Hears,
    Looks,
    ModelAnswer,
    Stage,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["AROUND", "STAGES", "Hook", "HookError", "Hooks"]

STAGES = (
    "pre_assess",
    "post_assess",
    "pre_reason",
    "pre_llm",
    "post_llm",
    "post_reason",
    "pre_tool",
    "post_tool",
    "pre_output",
    "post_output",
    "pre_reflect",
    "post_reflect",
)
"""The stages, in the order in which a run passes them."""
AROUND = {"around_model": ("pre_llm", "post_llm"), "around_tool": ("pre_tool", "post_tool")}
"""What functions may stand around, each request to the model and each call of a tool, and the stages beside that."""

_LONGEST = 3600.0
_USUAL = 5.0


@dataclass(frozen=True, eq=False)
class Hook:
    """A function that is asked at a stage, or stands around a request or a call.

    Args:
        stage: One of `STAGES` or `AROUND`.
        function: Takes a `HookContext`, gives `None`, `Continue()`, `Replace(...)`, `Veto(...)` or `AddContext(...)`;
            sync or async. One of `AROUND` takes what calls the next as well, and gives the answer or the result.
        timeout: Seconds it may take: 5 at a stage, no limit of its own around something.
        on_error: What becomes of the run when it fails or is late: `"skip"` goes on without it, `"stop"` ends the run
            with the stop reason `hook_failed`.
        name: What events call it; by default the function's own name.
        inline: A plain function that never waits may be called right where the run is stepped, which saves the way to
            a thread and back. Its time limit can't be enforced then, only noticed.
    """

    stage: str
    function: Callable[[Any], Any] | Callable[[Any, Any], Any]
    timeout: float | None = None
    on_error: str = "skip"
    name: str = ""
    inline: bool = False
    is_async: bool = field(init=False, default=False)
    """Whether it has to be awaited."""

    def __post_init__(self) -> None:
        around = self.stage in AROUND
        if self.stage not in STAGES and not around:
            message = f"there is no stage named {self.stage!r:.100}"
            raise UsageError(message, "unknown_stage", f"use one of {', '.join((*STAGES, *AROUND))}")
        if not callable(self.function):
            message = f"a hook is a function, not {type(self.function).__name__}"
            raise UsageError(message, "invalid_hook", "give a function that takes a HookContext")
        if self.timeout is None and not around:
            object.__setattr__(self, "timeout", _USUAL)
        number = isinstance(self.timeout, (int, float)) and not isinstance(self.timeout, bool)
        if not (self.timeout is None or (number and 0 < self.timeout <= _LONGEST)):
            message = f"the timeout of a hook can't be {self.timeout!r:.100}"
            raise UsageError(message, "invalid_option", f"give seconds above 0, at most {_LONGEST:g}")
        if self.on_error not in ("skip", "stop"):
            message = f"on_error can't be {self.on_error!r:.100}"
            raise UsageError(message, "invalid_option", "use 'skip' or 'stop'")
        if not self.name:
            found = getattr(self.function, "__name__", None) or type(self.function).__name__
            object.__setattr__(self, "name", str(found))
        call = getattr(self.function, "__call__", None)  # noqa: B004 - an object may be async to call
        is_async = inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(call)
        object.__setattr__(self, "is_async", is_async)
        if is_async and self.inline:
            message = f"the hook {self.name!r} is async, and can't run inline"
            raise UsageError(message, "invalid_hook", "leave inline out, or give a plain function")
        if around and self.inline:
            message = f"the hook {self.name!r} stands around what it waits for, and can't run inline"
            raise UsageError(message, "invalid_hook", "leave inline out")
        _check_parameters(self, ("context", "call_next") if around else ("context",))

    @property
    def stops(self) -> bool:
        """Whether the run stops when it fails."""
        return self.on_error == "stop"


def _check_parameters(hook: Hook, given: tuple[str, ...]) -> None:
    """Says at once what would fail in each run: a function that does not take what it is given."""
    try:
        signature = inspect.signature(hook.function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*given)
    except TypeError as error:
        message = f"the hook {hook.name!r} takes {signature}, and is given ({', '.join(given)}): {error}"
        raise UsageError(message, "invalid_hook", f"write def {hook.name}({', '.join(given)})") from None


Function = TypeVar("Function", bound="Callable[..., Any]")
Decorator = TypeVar("Decorator")


class _At(Generic[Decorator]):
    """The decorator of a stage, under the stage's name."""

    def __init__(self, kind: Callable[[Any, str], Decorator]) -> None:
        self.kind = kind

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, hooks: Any, owner: type) -> Decorator:
        return self if hooks is None else self.kind(hooks, self.name)  # type: ignore[return-value]


class Hooks(Iterable[Hook]):
    """Hooks in order, by stage. Each stage is a decorator of its name, alone or with options; `on` takes that name as
    text.

    >>> hooks = Hooks()
    >>> @hooks.post_tool(timeout=1.0)
    ... def shorter(context):
    ...     return None
    >>> [hook.name for hook in hooks.at("post_tool")]
    ['shorter']
    """

    pre_assess = _At(Stage[PromptSubject, Changes])
    """The prompt is taken up."""
    post_assess = _At(Stage[AssessmentSubject, Looks])
    """Its intent was assessed."""
    pre_reason = _At(Stage[RoundSubject, Looks])
    """A round begins."""
    pre_llm = _At(Stage[RequestSubject, Changes])
    """A request goes out, each attempt."""
    post_llm = _At(Stage[ResponseSubject, Changes])
    """An answer came; nothing is made of it yet."""
    post_reason = _At(Stage[DecisionSubject, Looks])
    """It was decided what to do with it."""
    pre_tool = _At(Stage[CallSubject, Changes])
    """A call is to run; nobody was asked about it yet."""
    post_tool = _At(Stage[ResultSubject, Changes])
    """A call ran; nobody saw the result yet."""
    pre_output = _At(Stage[AnswerSubject, Gives])
    """The answer is to be given."""
    post_output = _At(Stage[AnswerSubject, Gives])
    """The answer is fixed."""
    pre_reflect = _At(Stage[AnswerSubject, Decides])
    """Before the work after the answer."""
    post_reflect = _At(Stage[AnswerSubject, Hears])
    """After that work."""
    around_model = _At(AroundStage[RequestSubject, CallModel, CallModelAsync, ModelAnswer])
    """Around each request to the model: the function calls the next as often as it likes, and gives the answer."""
    around_tool = _At(AroundStage[CallSubject, CallTool, CallToolAsync, Any])
    """Around each call of a tool that runs: the function gives what a tool may return."""

    def __init__(self, hooks: object = ()) -> None:
        self._hooks: list[Hook] = list(flattened(hooks))

    def on(
        self,
        stage: str,
        *,
        timeout: float | None = None,
        on_error: str = "skip",
        name: str = "",
        inline: bool = False,
    ) -> Callable[[Function], Function]:
        """Adds the function below it; the function itself stays as it is."""

        def add(function: Function) -> Function:
            self._hooks.append(Hook(stage, function, timeout, on_error, name, inline))
            return function

        return add

    def add(self, hook: Hook) -> Hooks:
        """Adds a hook at the end."""
        self._hooks.extend(flattened(hook))
        return self

    def at(self, stage: str) -> list[Hook]:
        """The hooks of a stage, in order."""
        return [hook for hook in self._hooks if hook.stage == stage]

    @property
    def stages(self) -> list[str]:
        """The stages that have hooks."""
        return [stage for stage in (*STAGES, *AROUND) if any(hook.stage == stage for hook in self._hooks)]

    def __iter__(self) -> Iterator[Hook]:
        return iter(self._hooks)

    def __len__(self) -> int:
        return len(self._hooks)

    def __repr__(self) -> str:
        return f"<Hooks {', '.join(f'{hook.stage}:{hook.name}' for hook in self._hooks)}>"


def flattened(hooks: object) -> Iterator[Hook]:
    """The hooks of a hook, of a collection, or of a list of either."""
    if isinstance(hooks, Hook):
        yield hooks
        return
    if isinstance(hooks, (str, bytes)) or not isinstance(hooks, Iterable):
        message = f"hooks can't be {hooks!r:.100}"
        raise UsageError(message, "invalid_option", "give a list of Hook and Hooks")
    for each in hooks:
        yield from flattened(each)
