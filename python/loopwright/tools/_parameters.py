"""A function's parameters, as a JSON schema for the model and as a check of what the model sends.

Type hints say what is allowed, docstrings and `Annotated` say what it means, pydantic does the work. This module
is imported when the first schema is needed: importing tools must not import pydantic.
"""

from __future__ import annotations

import enum
import functools
import inspect
import json
import re
import types
import typing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import (
    PydanticInvalidForJsonSchema,
    PydanticSchemaGenerationError,
    PydanticUndefinedAnnotation,
    PydanticUserError,
)
from pydantic.fields import FieldInfo
from pydantic_core import SchemaError as BadSchema

from loopwright._core import schema_fault
from loopwright._json import read as read_json
from loopwright.errors import ModelError, UsageError

from . import _docstring
from ._context import RunContext
from ._errors import InvalidArguments, SchemaError
from ._hints import modern
from ._json_mode import as_json, checked
from ._problems import is_json, problems_of, summary, without_titles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Parameters", "read"]

# What arrives as a string of JSON where a list or an object was wanted: models do that.
_WANTED_STRUCTURE = frozenset(
    {"list_type", "dict_type", "tuple_type", "set_type", "frozen_set_type", "model_type", "model_attributes_type"}
    | {"dataclass_type", "mapping_type", "iterable_type"}
)


class Parameters:
    """The parameters of one function that the model may fill, and the one that takes the context."""

    __slots__ = ("_always", "_fields", "_model", "_validator", "context", "description", "names", "schema")

    def __init__(
        self,
        model: type[BaseModel],
        fields: dict[str, str],
        context: str | None,
        description: str,
        schema: dict[str, Any],
    ) -> None:
        self._model = model
        self._validator = model.__pydantic_validator__
        self._fields = tuple(fields.items())
        # Fields that the function gets also where the model left them out.
        self._always = frozenset(
            field for field in fields if isinstance(model.model_fields[field].default_factory, _Given)
        )
        self.context = context
        self.description = description
        self.schema = schema
        self.names = tuple(fields.values())

    def bind(self, tool: str, arguments: object) -> dict[str, Any]:
        """The keyword arguments to call the function with: `arguments`, checked and converted."""
        if not isinstance(arguments, dict):
            problem = {"where": "arguments", "what": "must be a JSON object", "got": type(arguments).__name__}
            raise InvalidArguments(summary(f"the arguments of {tool!r} do not fit", [problem]), problems=[problem])
        try:
            # What nearly always fits is not asked any further.
            fitting: BaseModel = self._validator.validate_python(arguments)
        except ValidationError as error:
            fitting = self._looked_at(tool, arguments, error)
        values, given, always = fitting.__dict__, fitting.__pydantic_fields_set__, self._always
        return {name: values[field] for field, name in self._fields if field in given or field in always}

    def _looked_at(self, tool: str, arguments: dict[str, Any], error: ValidationError) -> BaseModel:
        try:
            fitting: BaseModel = as_json(self._validator, arguments, error)
        except ValidationError as closer:
            return self._second_look(tool, arguments, closer)
        return fitting

    def _second_look(self, tool: str, arguments: dict[str, Any], error: ValidationError) -> BaseModel:
        opened = dict(arguments)
        for problem in error.errors(include_url=False, include_context=False):
            name = problem["loc"][0] if problem["loc"] else None
            if problem["type"] in _WANTED_STRUCTURE and isinstance(name, str) and isinstance(arguments.get(name), str):
                try:
                    opened[name] = read_json(arguments[name], name)
                except ModelError:
                    continue
        if opened != arguments:
            try:
                fitting: BaseModel = checked(self._validator, opened)
            except ValidationError:
                pass
            else:
                return fitting
        problems = problems_of(error, arguments, known=self.names)
        hint = f"parameters: {', '.join(self.names)}" if self.names else "the tool takes no arguments"
        message = summary(f"the arguments of {tool!r} do not fit", problems)
        raise InvalidArguments(message, hint=hint, problems=problems) from error


class _Given:
    """A default written as `pydantic.Field(...)`: the function itself can't supply it, so binding does."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __call__(self) -> Any:
        return self._make()


def read(
    function: Callable[..., Any], *, label: str, skip_first: bool = False, namespace: Mapping[str, Any] | None = None
) -> Parameters:
    """The parameters of `function`. `label` names it in errors, with file and line."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        message = f"{label} has no signature that Python can read"
        raise SchemaError(message, hint="wrap it in a function with type hints") from error
    source = _source(function)
    fixed = _fixed_by_partial(function)
    documented = _docstring.read(_doc_of(function, source))

    context: str | None = None
    fields: dict[str, str] = {}
    definitions: dict[str, Any] = {}
    parameters = list(signature.parameters.values())[1 if skip_first else 0 :]
    for index, parameter in enumerate(parameters):
        name = parameter.name
        _refuse_kind(parameter, label)
        if name in fixed:
            continue
        if parameter.annotation is inspect.Parameter.empty:
            raise _no_hint(parameter, index, label)
        hint = modern(_evaluate(parameter.annotation, name, source, namespace, label))
        if _is_context(hint):
            if context is not None:
                message = f"{label} takes two contexts: {context!r} and {name!r}"
                raise SchemaError(message, hint="keep one of them")
            context = name
            continue
        field = f"parameter_{index}"
        fields[field] = name
        definitions[field] = _definition(parameter, hint, documented.parameters.get(name))

    model, schema = _build(definitions, fields, label)
    return Parameters(model, fields, context, documented.description, schema)


def _build(definitions: dict[str, Any], fields: dict[str, str], label: str) -> tuple[type[BaseModel], dict[str, Any]]:
    try:
        model = create_model(
            "Arguments",
            __config__=ConfigDict(extra="forbid", allow_inf_nan=False, defer_build=False),
            **definitions,
        )
        schema = model.model_json_schema(by_alias=True, mode="validation")
    except PydanticUndefinedAnnotation as error:
        message = f"{label}: the type {error.name!r} is named in a hint but not defined"
        raise SchemaError(message, hint="define it at module level, before the schema is used") from error
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema, PydanticUserError) as error:
        culprit = _culprit(definitions, fields)
        message = f"{label}{culprit}: {_first_line(error)}"
        raise SchemaError(
            message, hint="use types that JSON can carry: plain types, Literal, Enum, dataclass, TypedDict, BaseModel"
        ) from error
    except Exception as error:
        # Types may bring code of their own that makes their schema.
        message = f"{label}{_culprit(definitions, fields)}: {_first_line(error)}"
        raise SchemaError(message, hint="check the type hints and the constraints in Field(...)") from error
    clean = without_titles(schema)
    clean.pop("description", None)
    clean.setdefault("properties", {})
    clean["additionalProperties"] = False
    _judge(clean, label)
    return model, clean


def _judge(schema: dict[str, Any], label: str) -> None:
    """Refuse what is no JSON schema: types may bring one of their own."""
    try:
        fault = schema_fault(json.dumps(schema, allow_nan=False))
    except (TypeError, ValueError, RecursionError, UsageError) as error:
        message = f"{label}: the schema of its parameters can't be written as JSON: {_first_line(error)}"
        raise SchemaError(message, hint="a schema is a dict of plain data") from error
    if fault is not None:
        at, what, hint = fault
        message = f"{label}: the schema of its parameters is no JSON schema: at {at}: {what}"
        raise SchemaError(message, hint=hint)


def _culprit(definitions: dict[str, Any], fields: dict[str, str]) -> str:
    for field, definition in definitions.items():
        try:
            create_model("Probe", **{field: definition}).model_json_schema()
        except Exception:  # noqa: BLE001 - whatever failed before fails again here; we only look where
            return f", parameter {fields[field]!r}"
    return ""


def _first_line(error: BaseException) -> str:
    lines = [line.strip().rstrip(".") for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    # The core reports from the outside in.
    return lines[-1] if isinstance(error, BadSchema) else lines[0]


def _definition(parameter: inspect.Parameter, hint: Any, documented: str | None) -> tuple[Any, Any]:
    default = parameter.default
    given = None
    if isinstance(default, FieldInfo):
        given, default = default, inspect.Parameter.empty
    description = _described(hint, given) or documented
    if default is None and not _allows_none(hint):
        hint = typing.Optional[hint]  # noqa: UP045 - a hint at run time, on 3.10 too
    settings: dict[str, Any] = {"alias": parameter.name, "validation_alias": parameter.name}
    if description is not None:
        settings["description"] = description
    if given is not None:
        if given.metadata:
            noted: Any = (hint, *given.metadata)
            hint = Annotated[noted]
        if not given.is_required():
            settings["default_factory"] = _Given(functools.partial(given.get_default, call_default_factory=True))
            if given.default_factory is None and _is_plain(given.default):
                settings["json_schema_extra"] = {"default": given.default}
    elif default is not inspect.Parameter.empty:
        if _is_plain(default):
            settings["default"] = default
        else:
            settings["default_factory"] = lambda: default
    return hint, Field(**settings)


def _is_plain(value: object) -> bool:
    """Whether pydantic can show it as a default without guessing; the others stay hidden from the schema."""
    return is_json(value.value if isinstance(value, enum.Enum) else value)


def _described(hint: Any, given: FieldInfo | None) -> str | None:
    """What `Annotated` or `Field` say about a parameter; it wins over the docstring."""
    for note in reversed(getattr(hint, "__metadata__", ())):
        if isinstance(note, str):
            return note
        text = getattr(note, "description", None) if isinstance(note, FieldInfo) else None
        text = text or getattr(note, "documentation", None)
        if isinstance(text, str):
            return text
    return given.description if given is not None else None


def _allows_none(hint: Any) -> bool:
    while typing.get_origin(hint) is Annotated:
        hint = typing.get_args(hint)[0]
    if hint in (None, type(None), Any, object):
        return True
    if typing.get_origin(hint) is typing.Literal:
        return None in typing.get_args(hint)
    return any(_allows_none(each) for each in typing.get_args(hint)) if _is_union(hint) else False


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def _is_context(hint: Any) -> bool:
    while typing.get_origin(hint) is Annotated:
        hint = typing.get_args(hint)[0]
    if _is_union(hint):
        return any(_is_context(each) for each in typing.get_args(hint))
    plain = typing.get_origin(hint) or hint
    return isinstance(plain, type) and issubclass(plain, RunContext)


def _refuse_kind(parameter: inspect.Parameter, label: str) -> None:
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        message = f"{label} takes *{parameter.name}: a model fills named parameters only"
        raise SchemaError(message, hint=f"take a list instead: {parameter.name}: list[str]")
    if parameter.kind is inspect.Parameter.VAR_KEYWORD:
        message = f"{label} takes **{parameter.name}: a model can't know which names are allowed"
        raise SchemaError(message, hint=f"name the parameters, or take {parameter.name}: dict[str, str]")
    if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
        message = f"{label}, parameter {parameter.name!r} is positional-only: a model fills named parameters only"
        raise SchemaError(message, hint="remove the '/' from the signature")


def _no_hint(parameter: inspect.Parameter, index: int, label: str) -> SchemaError:
    if index == 0 and parameter.name in ("self", "cls"):
        message = f"{label} is a method without its object"
        return SchemaError(message, hint="take the tool from an instance: instance.method")
    message = f"{label}, parameter {parameter.name!r} has no type hint"
    return SchemaError(message, hint=f"write one, e.g. {parameter.name}: str")


def _source(function: Any) -> Any:
    """The function that holds the hints' namespace: below partials, methods and decorators."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif inspect.ismethod(function):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif not inspect.isroutine(function) and hasattr(type(function), "__call__"):  # noqa: B004
            call = type(function).__call__
            if not inspect.isfunction(call):
                return function
            function = call
        else:
            return function


def _doc_of(function: Any, source: Any) -> str | None:
    own = getattr(function, "__doc__", None)
    if isinstance(function, functools.partial) or not own:
        own = source.__doc__
    if not inspect.isroutine(function) and not isinstance(function, functools.partial):
        own = source.__doc__ or own
    return own if isinstance(own, str) else None


def _fixed_by_partial(function: Any) -> frozenset[str]:
    fixed: set[str] = set()
    while isinstance(function, functools.partial):
        fixed.update(function.keywords)
        function = function.func
    return frozenset(fixed)


def _evaluate(
    annotation: Any,
    name: str,
    source: Any,
    namespace: Mapping[str, Any] | None,
    label: str,
) -> Any:
    """The hint itself, where it was written as a string or holds strings."""
    if isinstance(annotation, str) and re.fullmatch(r"\s*(\w+\.)*(Run)?Context\s*(\[.*\])?\s*", annotation):
        # Often imported for type checkers alone, as are the deps.
        found = _try_evaluate(annotation, source, namespace)
        return RunContext if found is None else found
    try:
        return _hints({name: annotation}, source, namespace)[name]
    except NameError as error:
        missing = getattr(error, "name", None) or str(error)
        message = f"{label}, parameter {name!r}: the hint {annotation!r} names {missing!r}, which is not defined there"
        raise SchemaError(
            message,
            hint="import it at module level and not under TYPE_CHECKING, or define it before the tool",
        ) from error
    except Exception as error:
        message = f"{label}, parameter {name!r}: the hint {annotation!r} can't be read: {_first_line(error)}"
        raise SchemaError(message, hint="check the type hint") from error


def _try_evaluate(annotation: str, source: Any, namespace: Mapping[str, Any] | None) -> Any:
    try:
        return _hints({"hint": annotation}, source, namespace)["hint"]
    except Exception:  # noqa: BLE001 - any reason why a string is no hint
        return None


def _hints(annotations: dict[str, Any], source: Any, namespace: Mapping[str, Any] | None) -> dict[str, Any]:
    scope = dict(namespace or {})
    scope.update(_closure(source))
    carrier = SimpleNamespace(__annotations__=annotations)
    return typing.get_type_hints(
        carrier, globalns=getattr(source, "__globals__", {}), localns=scope, include_extras=True
    )


def _closure(source: Any) -> dict[str, Any]:
    """The names of enclosing functions that the function itself uses."""
    found: dict[str, Any] = {}
    code = getattr(source, "__code__", None)
    for name, cell in zip(getattr(code, "co_freevars", ()), getattr(source, "__closure__", None) or ()):  # noqa: B905
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found
