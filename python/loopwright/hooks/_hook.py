"""`Hook` and `Hooks`: who is asked where, in what order, for how long."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from loopwright.errors import HookError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["STAGES", "Hook", "HookError", "Hooks"]

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

_LONGEST = 3600.0


@dataclass(frozen=True, eq=False)
class Hook:
    """A function that is asked at a stage.

    Args:
        stage: One of `STAGES`.
        function: Takes a `HookContext`, gives `None`, `Continue()`, `Replace(...)`, `Veto(...)` or `AddContext(...)`;
            sync or async.
        timeout: Seconds it may take.
        on_error: What becomes of the run when it fails or is late: `"skip"` goes on without it, `"stop"` ends the run
            with the stop reason `hook_failed`.
        name: What events call it; by default the function's own name.
        inline: A plain function that never waits may be called right where the run is stepped, which saves the way to
            a thread and back. Its time limit can't be enforced then, only noticed.
    """

    stage: str
    function: Callable[[Any], Any]
    timeout: float = 5.0
    on_error: str = "skip"
    name: str = ""
    inline: bool = False
    is_async: bool = field(init=False, default=False)
    """Whether it has to be awaited."""

    def __post_init__(self) -> None:
        if self.stage not in STAGES:
            message = f"there is no stage named {self.stage!r:.100}"
            raise UsageError(message, "unknown_stage", f"use one of {', '.join(STAGES)}")
        if not callable(self.function):
            message = f"a hook is a function, not {type(self.function).__name__}"
            raise UsageError(message, "invalid_hook", "give a function that takes a HookContext")
        number = isinstance(self.timeout, (int, float)) and not isinstance(self.timeout, bool)
        if not number or not 0 < self.timeout <= _LONGEST:
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

    @property
    def stops(self) -> bool:
        """Whether the run stops when it fails."""
        return self.on_error == "stop"


Function = TypeVar("Function", bound="Callable[[Any], Any]")


class Hooks(Iterable[Hook]):
    """Hooks in order, by stage.

    >>> hooks = Hooks()
    >>> @hooks.on("post_tool", timeout=1.0)
    ... def shorter(context):
    ...     return None
    >>> [hook.name for hook in hooks.at("post_tool")]
    ['shorter']
    """

    def __init__(self, hooks: object = ()) -> None:
        self._hooks: list[Hook] = list(flattened(hooks))

    def on(
        self, stage: str, *, timeout: float = 5.0, on_error: str = "skip", name: str = "", inline: bool = False
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
        return [stage for stage in STAGES if any(hook.stage == stage for hook in self._hooks)]

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
