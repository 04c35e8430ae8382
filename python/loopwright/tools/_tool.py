"""`@tool`: a function that a model may call, and that stays callable by people.

The decorator does next to nothing, so that importing a module of tools is cheap: type hints, docstring and schema are
read when the schema is first needed, and then kept.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Iterable
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
    get_args,
    overload,
)

from loopwright._repr import shown
from loopwright._words import unknown

from ._errors import InvalidToolName, SchemaError, ToolDefinitionError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from loopwright._handoff import Handoff

    from ._context import RunContext
    from ._parameters import Parameters
    from ._run import Outcome

__all__ = ["Effect", "PlainFunction", "RiskLevel", "Tool", "ToolDeps", "Trust", "as_tool", "tool"]

P = ParamSpec("P")
R = TypeVar("R")
D = TypeVar("D")
if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultedTypeVar

    ToolDeps = DefaultedTypeVar("ToolDeps", default=object, contravariant=True)  # noqa: PLC0105
    """What a tool wants as `context.deps`: any, unless it takes a `RunContext` of something."""
    Enabled: TypeAlias = bool | Callable[[RunContext[Any]], bool | Awaitable[bool]]
else:
    ToolDeps = TypeVar("ToolDeps", contravariant=True)  # noqa: PLC0105

RiskLevel = Literal["safe", "cautious", "confirm", "dangerous"]
"""How much care a call needs, from none to a person's eyes."""

Trust = Literal["trusted", "untrusted"]
"""Who can have written what a tool gives: only the user and their own systems, or others, too."""
Effect = Literal["reads", "writes", "deletes", "sends", "publishes", "shares", "pays"]
"""What a call does: it only reads; makes or changes something that stays; removes or cancels; tells somebody; tells
everybody; gives somebody access; spends money or books."""

_RISKS: tuple[str, ...] = get_args(RiskLevel)
_TRUSTS: tuple[str, ...] = get_args(Trust)
_EFFECTS: tuple[str, ...] = get_args(Effect)
_MOST = 1e12
"""No number of seconds or characters is larger; what says "for ever" is `None`."""
_LONGEST_NAME = 64
_WITHOUT_DEPS = 2
_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_OPTIMIZED = 0x1  # inspect.CO_OPTIMIZED: the code of a function, not of a class body
_COROUTINE = 0x80  # inspect.CO_COROUTINE
_GENERATOR = 0x20 | 0x200  # inspect.CO_GENERATOR, inspect.CO_ASYNC_GENERATOR


class PlainFunction(Protocol):
    """A function as it stands. A `Tool` is none for type checkers: what deps it wants is looked at."""

    @property
    def __code__(self) -> types.CodeType:
        """What it runs."""
        ...

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs it."""
        ...


@shown
class Tool(Generic[P, R, ToolDeps]):
    """A function with a name, a description, a schema and a risk.

    Calling it calls the function. `run` is what the engine does: check the arguments, call, convert the result.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_bound_to",
        "_description",
        "_is_async",
        "_is_static",
        "_namespace",
        "_own",
        "_parameters",
        "effects",
        "function",
        "idempotent",
        "max_output",
        "name",
        "read_only",
        "risk",
        "timeout",
        "trust",
    )

    if not TYPE_CHECKING:

        def __class_getitem__(cls, given: Any) -> Any:
            # What it wants as deps may be left out, as for type checkers.
            given = given if isinstance(given, tuple) else (given,)
            return super().__class_getitem__(given if len(given) != _WITHOUT_DEPS else (*given, object))

    function: Callable[P, R]
    """What it calls."""
    name: str
    """What the model calls it."""
    risk: RiskLevel
    """How much care a call needs."""
    read_only: bool
    """Whether it changes nothing."""
    idempotent: bool
    """Whether a second call with the same arguments does no more than the first."""
    timeout: float | None
    """Seconds after which nobody waits for it; `None` leaves it to the engine."""
    max_output: int | None
    """Characters of a result that the model gets to see; `None` leaves it to the engine."""
    trust: Trust | None
    """Who can have written what it gives; `None` leaves it to its name."""
    effects: frozenset[Effect] | None
    """What its calls do; `None` leaves it to its name."""

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        description: str | None = None,
        risk: RiskLevel | None = None,
        read_only: bool = False,
        idempotent: bool | None = None,
        timeout: float | None = None,
        max_output: int | None = None,
        trust: Trust | None = None,
        effects: Iterable[Effect] | None = None,
        volatile: Iterable[str] = (),
        deferred: bool = False,
        enabled: Enabled = True,
        namespace: Mapping[str, Any] | None = None,
    ) -> None:
        # Whether its work is done elsewhere: it is never called here.
        self.is_deferred = bool(deferred)
        # Whether requests hold it: a function of a `RunContext` is asked before each.
        self.enabled = _switch(enabled)
        # Names of values in its results that are new at every call, and say nothing.
        self.volatile = _names(volatile)
        # Whether requests hold it only when the model has found it.
        self.is_found = False
        # Whether a person is asked before each call; or who says it of one, from a `RunContext` and the call.
        self.asks: bool | Callable[..., Any] = False
        # To whom a call of it hands the run over.
        self.hands_over: Handoff[Any, Any] | None = None
        # Where a call of it is the answer of the run: how often the model may try, and whether what it gives counts.
        self.answers: dict[str, Any] | None = None
        self._is_async: bool | None = None
        self._is_static = isinstance(function, staticmethod)
        if isinstance(function, staticmethod):
            function = function.__func__
        self.function = function
        label = describe(function)
        _check_callable(function, label)
        self.name = _checked_name(name, function, label)
        if risk is not None and risk not in _RISKS:
            message = f"{label}: {risk!r} is no risk"
            raise ToolDefinitionError(message, hint=f"one of {', '.join(_RISKS)}")
        self.read_only = bool(_one_of(read_only, bool, "read_only", "True or False", label))
        self.risk = risk or ("safe" if read_only else "cautious")
        same = _one_of(idempotent, bool, "idempotent", "True or False", label) is None
        self.idempotent = read_only if same else bool(idempotent)
        self.timeout = _positive(timeout, "timeout", "seconds", label)
        self.max_output = _positive(max_output, "max_output", "characters", label, whole=True)
        self.trust = _checked_trust(trust, label)
        self.effects = _checked_effects(effects, label, read_only=self.read_only)
        self._description: str | None = _one_of(description, str, "description", "text", label)
        self._namespace = namespace
        self._bound_to: Tool[Any, Any] | None = None
        self._parameters: dict[bool, Parameters] = {}
        # Those of its own function, once they were read.
        self._own: Parameters | None = None
        plain = function.__func__ if isinstance(function, classmethod) else function
        for attribute in ("__module__", "__qualname__", "__name__", "__doc__"):
            value = getattr(plain, attribute, None)
            if isinstance(value, str):
                self.__dict__[attribute] = value
        self.__dict__["__wrapped__"] = plain

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """What the function gives, as if there were no decorator."""
        return self.function(*args, **kwargs)

    @property
    def description(self) -> str:
        """What it does, for the model: as given, or the docstring without its sections about parameters."""
        if self._description is not None:
            return self._description
        return self._read().description

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the arguments, made when first asked for. Do not change it: it is shared."""
        return self._read().schema

    @property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function. The others run in a thread of their own."""
        known = self._is_async
        if known is None:
            known = self._is_async = _flags(self.function) & _COROUTINE != 0 or _marked_coroutine(self.function)
        return known

    @property
    def location(self) -> str:
        """Where it is defined: `file:line`."""
        return location(self.function)

    @property
    def context_parameter(self) -> str | None:
        """The parameter that takes the `RunContext`."""
        return (self._own or self._read()).context

    def definition(self) -> dict[str, Any]:
        """What a model is told: name, description, schema."""
        return {"name": self.name, "description": self.description, "schema": self.schema}

    def bind(self, arguments: object) -> dict[str, Any]:
        """The keyword arguments for the function: `arguments` checked and converted.

        Raises `InvalidArguments`, which names each wrong field.
        """
        return (self._own or self._read()).bind(self.name, arguments)

    async def call(self, arguments: object, context: RunContext[Any] | None = None) -> Any:
        """Check `arguments` and call the function with them. What it raises is raised.

        A function that is not async runs in a thread, in a copy of the caller's context variables. When the caller is
        cancelled or the timeout passes, nobody waits for that thread any more, and `context.cancelled` becomes true.
        """
        from ._run import call

        return await call(self, arguments, context)

    async def run(self, arguments: object, context: RunContext[Any] | None = None) -> Outcome:
        """`call`, with the result or the failure in the form that goes into a message. Only cancellation is raised."""
        from ._run import run

        return await run(self, arguments, context)

    def __get__(self, instance: object, owner: type | None = None) -> Tool[..., R, ToolDeps]:
        """The tool of an instance, where the function is a method."""
        function: Any = self.function
        if isinstance(function, (types.FunctionType, classmethod)) and not self._is_static:
            if instance is None and isinstance(function, types.FunctionType):
                return self
            return self._with(function.__get__(instance, owner))
        return self

    def __copy__(self) -> Any:
        other: Any = type(self).__new__(type(self))
        for kind in type(self).__mro__:
            for name in vars(kind).get("__slots__", ()):
                if name not in ("__weakref__", "__dict__") and hasattr(self, name):
                    setattr(other, name, getattr(self, name))
        getattr(other, "__dict__", {}).update(getattr(self, "__dict__", {}))
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        # A function that was decorated has its name no more: the tool is what stands there.
        module, name = getattr(self.function, "__module__", None), getattr(self.function, "__qualname__", "")
        there = _standing(module, name) if module is not None and "<" not in name else None
        if there is self:
            return (_standing, (module, name))
        options = {each: getattr(self, each) for each in _GIVEN}
        function = there if isinstance(there, Tool) and there.function is self.function else self.function
        return (_made, (type(self), function, {**options, "description": self._description}))

    def _with(self, function: Callable[..., R]) -> Tool[..., R, ToolDeps]:
        bound: Tool[..., R, ToolDeps] = Tool(
            function,
            name=self.name,
            description=self._description,
            risk=self.risk,
            read_only=self.read_only,
            idempotent=self.idempotent,
            timeout=self.timeout,
            max_output=self.max_output,
            trust=self.trust,
            effects=self.effects,
            volatile=self.volatile,
            namespace=self._namespace,
        )
        bound._bound_to = cast("Tool[Any, Any]", self)
        return bound

    def _read(self, *, skip_first: bool = False) -> Parameters:
        if self._bound_to is not None:
            # One schema for all instances.
            shared = self._bound_to._read(skip_first=True)  # noqa: SLF001 - the same class
            self._own = shared
            return shared
        parameters = self._parameters.get(skip_first)
        if parameters is None:
            from ._parameters import read

            function: Any = self.function
            parameters = read(
                function.__func__ if isinstance(function, classmethod) else function,
                label=describe(function),
                skip_first=skip_first,
                namespace=self._namespace,
            )
            self._parameters[skip_first] = parameters
        if not skip_first:
            self._own = parameters
        return parameters


class _Decorates(Protocol):
    """What `@tool(...)` is."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[RunContext[D], P], R], /
    ) -> Tool[Concatenate[RunContext[D], P], R, D]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Tool[P, R, object]: ...


_OPTIONS = (
    "name",
    "description",
    "risk",
    "read_only",
    "idempotent",
    "timeout",
    "max_output",
    "trust",
    "effects",
    "volatile",
    "deferred",
    "enabled",
)
_WORDS = {
    "is_enabled": "enabled",
    **dict.fromkeys(("confirm", "needs_approval", "requires_approval", "require_confirmation"), 'risk="confirm"'),
    **dict.fromkeys(("readonly", "pure", "safe"), "read_only"),
    **dict.fromkeys(("name_override", "tool_name"), "name"),
    **dict.fromkeys(("description_override", "doc"), "description"),
    **dict.fromkeys(("args_schema", "params_json_schema"), "said by the type hints of the function"),
}
"""What other frameworks call options of a tool, and what they are called here."""


@overload
def tool(
    function: Callable[Concatenate[RunContext[D], P], R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    risk: RiskLevel | None = None,
    read_only: bool = False,
    idempotent: bool | None = None,
    timeout: float | None = None,
    max_output: int | None = None,
    trust: Trust | None = None,
    effects: Iterable[Effect] | None = None,
    volatile: Iterable[str] = (),
    deferred: bool = False,
    enabled: Enabled = True,
) -> Tool[Concatenate[RunContext[D], P], R, D]: ...


@overload
def tool(
    function: Callable[P, R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    risk: RiskLevel | None = None,
    read_only: bool = False,
    idempotent: bool | None = None,
    timeout: float | None = None,
    max_output: int | None = None,
    trust: Trust | None = None,
    effects: Iterable[Effect] | None = None,
    volatile: Iterable[str] = (),
    deferred: bool = False,
    enabled: Enabled = True,
) -> Tool[P, R, object]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    risk: RiskLevel | None = None,
    read_only: bool = False,
    idempotent: bool | None = None,
    timeout: float | None = None,
    max_output: int | None = None,
    trust: Trust | None = None,
    effects: Iterable[Effect] | None = None,
    volatile: Iterable[str] = (),
    deferred: bool = False,
    enabled: Enabled = True,
) -> _Decorates: ...


def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    risk: RiskLevel | None = None,
    read_only: bool = False,
    idempotent: bool | None = None,
    timeout: float | None = None,
    max_output: int | None = None,
    trust: Trust | None = None,
    effects: Iterable[Effect] | None = None,
    volatile: Iterable[str] = (),
    deferred: bool = False,
    enabled: Enabled = True,
    **others: Any,
) -> Any:
    """Make a function a tool: `@tool`, `@tool(risk="confirm")` or `tool(function, name="search")`.

    Args:
        name: What the model calls it; the function's own name otherwise.
        description: What it does, for the model; the docstring otherwise.
        risk: How much care a call needs. "cautious" unless said; "safe" where `read_only`.
        read_only: Whether it changes nothing.
        idempotent: Whether it may simply be called again after a crash. As `read_only` unless said.
        timeout: Seconds after which nobody waits for it.
        max_output: Characters of a result that the model gets to see.
        trust: Who can have written what it gives: "untrusted" where others can (pages, mail, tickets), else "trusted".
            By its name unless said: `docs/policy.md`.
        effects: What its calls do: any of "reads", "writes", "deletes", "sends", "publishes", "shares", "pays"; `()`
            for what stays inside the program. By its name unless said. A call with an effect whose target or content
            comes from untrusted results is asked about.
        volatile: Names of values in its results that are new at every call and say nothing of what it has come to (a
            receipt, a counter of visitors): a call is repeated whatever they are. Ids of messages and requests, clocks
            and the like are known.
        deferred: Whether its work is done elsewhere: the function is not called, the run is left in its journal, and
            goes on with `agent.resume(result, {call_id: Returned(value)})`.
        enabled: Whether the model is offered it; or a function, plain or async, that says so of a `RunContext` before
            each request.
    """
    for option in others:
        # No wrapper checks it: the frame behind this one has to be the caller's.
        raise unknown("@tool", option, _OPTIONS, _WORDS)
    frame = sys._getframe(1)  # noqa: SLF001 - hints may name what only the caller's scope knows

    def decorate(decorated: Callable[P, R]) -> Tool[P, R, Any]:
        if isinstance(decorated, Tool):
            message = f"{decorated.name!r} is a tool already"
            raise ToolDefinitionError(message, hint="decorate it once")
        return Tool(
            decorated,
            name=name,
            description=description,
            risk=risk,
            read_only=read_only,
            idempotent=idempotent,
            timeout=timeout,
            max_output=max_output,
            trust=trust,
            effects=effects,
            volatile=volatile,
            deferred=deferred,
            enabled=enabled,
            namespace=namespace,
        )

    if function is not None:
        namespace = _names_in_hints(function, _scope(frame))
        return decorate(function)

    scope = _scope(frame)

    def decorate_later(decorated: Callable[P, R]) -> Tool[P, R, Any]:
        nonlocal namespace
        namespace = _names_in_hints(decorated, scope)
        return decorate(decorated)

    namespace = None
    return decorate_later


_GIVEN = ("name", "risk", "read_only", "idempotent", "timeout", "max_output", "trust", "effects", "volatile")


def _standing(module: str, name: str) -> Any:
    """What stands under a name in a module."""
    from importlib import import_module

    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _made(kind: type[Tool[..., Any, Any]], function: Any, options: dict[str, Any]) -> Tool[..., Any, Any]:
    return kind(function.function if isinstance(function, Tool) else function, **options)


def as_tool(value: object) -> Tool[..., Any, Any]:
    """`value` as a tool: it is one, holds one, or is a function."""
    if isinstance(value, Tool):
        return value
    if isinstance(value, types.MethodType) and isinstance(value.__func__, Tool):
        # What `@classmethod` over `@tool` gives.
        inner = cast("Tool[..., Any, Any]", value.__func__)
        return inner._with(types.MethodType(inner.function, value.__self__))  # noqa: SLF001 - the same module
    if callable(value):
        return Tool(value)
    message = f"{value!r} is no tool" if len(repr(value)) < 100 else f"a {type(value).__name__} is no tool"  # noqa: PLR2004
    raise ToolDefinitionError(message, hint="give functions, or what @tool makes of them")


def describe(function: object) -> str:
    """The function's name with file and line, for errors."""
    plain = _plain(function)
    name = getattr(plain, "__qualname__", None) or type(plain).__name__
    return f"tool function {name!r} ({location(function)})"


def location(function: object) -> str:
    """Where a function is defined: `file:line`."""
    code = _code(function)
    if code is None:
        module = getattr(_plain(function), "__module__", None)
        return str(module or "built in")
    return f"{code.co_filename}:{code.co_firstlineno}"


def suggest_name(name: str) -> str:
    """A name that providers accept, near to `name`."""
    import re
    import unicodedata

    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r"[^a-zA-Z0-9_-]+", "_", plain).strip("_")[:_LONGEST_NAME].rstrip("_")
    return plain or "my_tool"


def is_valid_name(name: str) -> bool:
    """Whether all providers accept it."""
    return 0 < len(name) <= _LONGEST_NAME and _NAME_CHARACTERS.issuperset(name)


def _checked_name(name: str | None, function: object, label: str) -> str:
    plain = _plain(function)
    found = name if name is not None else getattr(plain, "__name__", None)
    if found is None:
        kind = type(plain).__name__
        found = "".join(f"_{each.lower()}" if each.isupper() else each for each in kind).lstrip("_")
    if found == "<lambda>":
        message = f"{label}: a lambda has no name"
        raise InvalidToolName(message, hint='give one: tool(lambda: ..., name="answer")')
    if not isinstance(found, str) or not is_valid_name(found):
        message = f"{label}: {found!r} is no name for a tool: 1 to 64 letters, digits, '_' and '-'"
        raise InvalidToolName(message, hint=f"try name={suggest_name(str(found))!r}")
    return found


def _check_callable(function: object, label: str) -> None:
    if isinstance(function, type):
        message = f"{label} is a class"
        raise SchemaError(message, hint="decorate a function that makes one")
    if not callable(function) and not isinstance(function, classmethod):
        message = f"a {type(function).__name__} can't be called"
        raise ToolDefinitionError(message, hint="give a function")
    if _flags(function) & _GENERATOR:
        message = f"{label} is a generator: a tool gives one result"
        raise SchemaError(message, hint="return a list; report progress with RunContext.emit")


def _one_of(value: Any, kind: type, name: str, words: str, label: str) -> Any:
    if value is not None and not isinstance(value, kind):
        message = f"{label}: {name}={value!r} must be {words}"
        raise ToolDefinitionError(message, hint=f"give {words}, or leave {name} out")
    return value


def _checked_trust(trust: Any, label: str) -> Any:
    if trust is not None and trust not in _TRUSTS:
        message = f"{label}: trust={trust!r:.100} must be one of {', '.join(_TRUSTS)}"
        raise ToolDefinitionError(message, hint="leave trust out to go by the tool's name")
    return trust


def _switch(given: Any) -> Enabled:
    """Whether requests hold a tool."""
    if not isinstance(given, bool) and not callable(given):
        message = f"enabled can't be {given!r:.100}"
        raise ToolDefinitionError(
            message, hint="give True, False, or a function of a RunContext that gives one of them"
        )
    said: Enabled = given
    return said


def _names(given: Any) -> tuple[str, ...]:
    """Names of values."""
    if not given:
        return ()
    from loopwright.monitor._stuck import names_of

    return names_of(given, "volatile", "a tool")


def _checked_effects(effects: Any, label: str, *, read_only: bool) -> Any:
    if effects is None:
        return None
    given = (effects,) if isinstance(effects, str) else tuple(effects) if isinstance(effects, Iterable) else (effects,)
    unknown = [effect for effect in given if effect not in _EFFECTS]
    if unknown:
        message = f"{label}: {unknown[0]!r:.100} is no effect"
        raise ToolDefinitionError(message, hint=f"give any of {', '.join(_EFFECTS)}")
    if read_only and not {"reads"}.issuperset(given):
        message = f"{label}: read_only says that it changes nothing, and its effects are {', '.join(sorted(given))}"
        raise ToolDefinitionError(message, hint="leave one of them out")
    return frozenset(given)


def _positive(value: Any, name: str, unit: str, label: str, *, whole: bool = False) -> Any:
    kinds = int if whole else (int, float)
    if value is not None and (isinstance(value, bool) or not isinstance(value, kinds) or not 0 < value <= _MOST):
        message = f"{label}: {name}={value!r} must be a {'whole ' if whole else ''}number of {unit} above 0, or None"
        raise ToolDefinitionError(message, hint=f"leave {name} out to let the engine decide")
    return value


def _plain(function: Any) -> Any:
    """The function below partials, methods and class methods."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, (classmethod, staticmethod, types.MethodType)):
            function = function.__func__
        elif isinstance(function, Tool):
            function = function.function
        else:
            return function


def _code(function: object) -> types.CodeType | None:
    plain = _plain(function)
    while hasattr(plain, "__wrapped__"):
        plain = plain.__wrapped__
    code = getattr(plain, "__code__", None)
    if code is None:
        code = getattr(_call_of(plain), "__code__", None)
    return code if isinstance(code, types.CodeType) else None


def _call_of(plain: object) -> object:
    """What calling an object that is no function runs."""
    return next((vars(each)["__call__"] for each in type(plain).__mro__ if "__call__" in vars(each)), None)


def _flags(function: object) -> int:
    plain = _plain(function)
    code = getattr(plain, "__code__", None)
    if code is None and not isinstance(plain, type):
        code = getattr(_call_of(plain), "__code__", None)
    return code.co_flags if isinstance(code, types.CodeType) else 0


def _marked_coroutine(function: object) -> bool:
    import inspect

    return inspect.iscoroutinefunction(_plain(function))


def _scope(frame: types.FrameType) -> dict[str, Any]:
    """The local names that a decorator's caller sees: its own, and around a class body those of the function."""
    scopes = []
    current: types.FrameType | None = frame
    while current is not None and current.f_locals is not current.f_globals:
        scopes.append(dict(current.f_locals))
        if current.f_code.co_flags & _OPTIMIZED:
            break
        current = current.f_back
    return {name: value for scope in reversed(scopes) for name, value in scope.items()}


def _names_in_hints(function: object, scope: Mapping[str, Any]) -> dict[str, Any] | None:
    """Of a local scope, what the hints name as strings: the rest of the caller's locals must not be kept alive."""
    plain = _plain(function)
    if "<locals>" not in (getattr(plain, "__qualname__", None) or ""):
        return None
    hints = [hint for hint in (getattr(plain, "__annotations__", None) or {}).values() if isinstance(hint, str)]
    if not hints:
        return None
    import re

    names = {name for hint in hints for name in re.findall(r"\w+", hint)}
    return {name: scope[name] for name in names if name in scope}
