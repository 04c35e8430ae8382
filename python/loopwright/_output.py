"""The type that a run's answer must have: a schema for the model, a check of what it wrote.

Any type that pydantic knows will do. Providers want an object at the top, so other types travel as `{"value": …}`.
Models wrap JSON in prose and fences; the first thing that fits is taken. pydantic is imported when first needed.
"""

from __future__ import annotations

import json
import types
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast

from ._json import read
from .errors import ModelError, UsageError
from .tools._errors import InvalidOutput, SchemaError
from .tools._problems import problems_of, shown, summary, without_titles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydantic import TypeAdapter

__all__ = ["Output", "OutputType", "output_of"]

T = TypeVar("T")

_WRAP = "value"
_LONGEST = 4_000_000
_LONGEST_REASON = 300


class Output:
    """How an output is asked for: `output_type=Annotated[City, Output(attempts=2)]`.

    Args:
        mode: `"native"` and `"auto"` give the schema to the provider, where it takes one; `"tool"` asks for a call of
            a tool, whose arguments are the answer; `"text"` says the schema in the instructions alone.
        attempts: How often the model may answer until its answer is of the type.
        name: What the schema is called, for the model; by default the name of the type, of a tool `final_answer`.
        call: A function that makes the output: the model answers with its arguments, `result.output` is what it gives.
            It is written as a tool is, and may be one; where it raises `ToolError`, the model answers again.
    """

    __slots__ = ("attempts", "call", "mode", "name")

    def __init__(
        self,
        *,
        mode: Literal["auto", "native", "tool", "text"] = "auto",
        attempts: int = 3,
        name: str | None = None,
        call: Callable[..., Any] | None = None,
    ) -> None:
        if mode not in ("auto", "native", "tool", "text"):
            raise UsageError(f"mode of an Output can't be {mode!r:.100}", "invalid_option", _MODES)
        if call is not None and not callable(call):
            message = f"call of an Output can't be {call!r:.100}"
            raise UsageError(message, "invalid_option", "give a function, or what @tool makes of it")
        if call is not None and mode not in ("auto", "tool"):
            message = f"a function is answered by a call of it, and the mode is {mode!r}"
            raise UsageError(message, "invalid_option", "leave mode out, or say 'tool'")
        if isinstance(attempts, bool) or not isinstance(attempts, int) or not 1 <= attempts <= _MOST_ATTEMPTS:
            message = f"attempts of an Output can't be {attempts!r:.100}"
            raise UsageError(message, "invalid_option", f"give a whole number from 1 to {_MOST_ATTEMPTS}")
        if name is not None and not isinstance(name, str):
            raise UsageError(f"name of an Output can't be {name!r:.100}", "invalid_option", "give text")
        self.mode, self.attempts, self.name, self.call = mode, attempts, name, call

    @property
    def by_call(self) -> bool:
        """Whether the answer is a call of a tool."""
        return self.mode == "tool" or self.call is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Output) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        call = "" if self.call is None else f", call={self.call!r}"
        return f"Output(mode={self.mode!r}, attempts={self.attempts}, name={self.name!r}{call})"


_MOST_ATTEMPTS = 100
_MODES = "give 'auto', 'native', 'tool' or 'text'"


def output_of(annotation: Any) -> OutputType[Any]:
    """The type of answers that an annotation says, and how it is asked for."""
    said = next((each for each in getattr(annotation, "__metadata__", ()) if isinstance(each, Output)), Output())
    found: OutputType[Any] = OutputType(annotation)
    found.asked = said
    if said.name is not None:
        found.name = said.name
    elif hasattr(annotation, "__metadata__"):
        found.name = getattr(annotation.__origin__, "__name__", None) or str(annotation.__origin__)
    return found


class OutputType(Generic[T]):
    """A type of answers."""

    __slots__ = ("_adapter", "_schema", "_wrapped", "annotation", "asked", "name", "tool")

    def __init__(self, annotation: type[T] | Any) -> None:
        self.annotation = annotation
        self.name: str = getattr(annotation, "__name__", None) or str(annotation)
        self._adapter: TypeAdapter[T] | None = None
        self._schema: dict[str, Any] | None = None
        self._wrapped = False
        self.asked = Output()
        # The tool that the answer is a call of.
        self.tool: str | None = None

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of an object. Made when first asked for; do not change it."""
        self._prepare()
        return cast("dict[str, Any]", self._schema)

    @property
    def wrapped(self) -> bool:
        """Whether the value travels as `{"value": …}`, since it is no object itself."""
        self._prepare()
        return self._wrapped

    def parse(self, text: str) -> T:
        """The value that `text` holds: JSON alone, in a fence, or the first in prose that fits, mended if it must be.

        Raises `InvalidOutput`, whose `feedback` tells the model what to change.
        """
        return self.parsed(text)[0]

    def parsed(self, text: str) -> tuple[T, object]:
        """The same beside the plain data that it was made of."""
        if len(text) > _LONGEST:
            message = f"the answer has {len(text):,} characters, more than an answer may have"
            raise InvalidOutput(message, code="output_too_long", hint="answer shorter")
        first: InvalidOutput | None = None
        schema = self.schema
        # As it was asked for, then bare, then whatever stands there, so that the model is told what is wrong with it.
        schemas = [schema, _bare(schema), None] if self.wrapped else [schema, None]
        for value, mended in _found(text, schemas):
            try:
                return self.check(value), self._opened(value)
            except InvalidOutput as error:
                # Of JSON that is broken the model is told where, not what became of it.
                first = first or (None if mended else error)
        if self.wrapped:
            # A bare word is a fair answer where a word was asked for.
            try:
                return self.check(text.strip()), text.strip()
            except InvalidOutput:
                pass
        raise first or self._no_json(text)

    def check(self, value: object) -> T:
        """`value`, parsed JSON, as the type."""
        from pydantic import ValidationError

        from .tools._json_mode import checked

        adapter = self._prepare()
        opened = self._opened(value)
        try:
            return cast("T", checked(adapter.validator, opened))
        except ValidationError as error:
            problems = problems_of(error, opened, whole="answer")
            hint = "answer again with JSON that fits the schema, and nothing else"
            message = summary(f"the answer does not fit {self.name}", problems)
            raise InvalidOutput(message, hint=hint, problems=problems) from error
        except Exception as error:
            # A validator may raise what it likes; all that is sure is that it did not take the value.
            what = f"was refused by a check that raised {type(error).__name__}"
            words = " ".join(str(error).split())[:_LONGEST_REASON]
            if words:
                what = f"{what}: {words}"
            problem = {"where": "answer", "what": what, "got": shown(opened)}
            hint = "answer again with values that the check takes"
            message = summary(f"the answer does not fit {self.name}", [problem])
            raise InvalidOutput(message, hint=hint, problems=[problem]) from error

    def fitting(self, data: object) -> T | None:
        """Plain data as the type, and nothing where it does not fit, or not yet."""
        from .tools._json_mode import checked

        try:
            return cast("T", checked(self._prepare().validator, data))
        except Exception:  # noqa: BLE001 - a validator may raise what it likes
            return None

    def _opened(self, value: object) -> object:
        """What travels within `{"value": …}`."""
        return value[_WRAP] if self._wrapped and isinstance(value, dict) and set(value) == {_WRAP} else value

    def _no_json(self, text: str) -> InvalidOutput:
        problem = {"where": "answer", "what": "must be JSON", "got": shown(text.strip()) if text.strip() else "nothing"}
        broken = _why_broken(text)
        if broken:
            problem["what"] = f"must be JSON, but {broken}"
        hint = "answer again with JSON that fits the schema, and nothing else"
        return InvalidOutput(summary(f"the answer does not fit {self.name}", [problem]), hint=hint, problems=[problem])

    def _prepare(self) -> TypeAdapter[T]:
        if self._adapter is None:
            from pydantic import TypeAdapter
            from pydantic.errors import PydanticSchemaGenerationError

            from .tools._hints import modern

            if (hint := _no_type(self.annotation)) is not None:
                message = f"no schema can be made of {self.annotation!r}, which is no type"
                raise SchemaError(message, hint=hint)
            try:
                adapter: TypeAdapter[T] = TypeAdapter(modern(self.annotation))
                schema = without_titles(adapter.json_schema(mode="validation"))
            except Exception as error:
                # Types may bring code of their own that makes their schema.
                words = str(error).strip() or type(error).__name__
                # What pydantic says of a class that it does not know is about its own settings.
                if isinstance(error, PydanticSchemaGenerationError):
                    words = "nothing says which fields it, or a type inside it, has"
                message = f"no schema can be made of {self.name}: {words.splitlines()[0]}"
                raise SchemaError(message, hint=_KINDS) from error
            self._wrapped = not _is_object(schema)
            self._schema = _wrap(schema) if self._wrapped else _inlined(schema)
            self._adapter = adapter
        return self._adapter

    def __repr__(self) -> str:
        return f"OutputType({self.name})"


_KINDS = "give a dataclass, a TypedDict, a pydantic model or a plain type"


def _no_type(annotation: object) -> str | None:
    """What to write instead of what is no type; of a function, pydantic would check the calls."""
    if isinstance(annotation, (types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
        return _KINDS
    if isinstance(annotation, (list, tuple, set)):
        names = [getattr(each, "__name__", str(each)) for each in annotation]
        return f"for one of them write {' | '.join(names)}, for several list[{' | '.join(names)}]"
    if isinstance(annotation, str):
        return f"give the type itself, not its name: output_type={annotation}"
    if isinstance(annotation, (int, float, bytes, dict)):
        return _KINDS
    return None


def _is_object(schema: dict[str, Any]) -> bool:
    return _target(schema).get("type") == "object"


def _target(schema: dict[str, Any]) -> dict[str, Any]:
    """What a reference at the top points to."""
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        found = schema.get("$defs", {}).get(reference.removeprefix("#/$defs/"), {})
        return cast("dict[str, Any]", found)
    return schema


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """Recursive types come as a reference at the top, which providers refuse."""
    target = _target(schema)
    return schema if target is schema else {**target, "$defs": schema["$defs"]}


def _wrap(schema: dict[str, Any]) -> dict[str, Any]:
    inner = dict(schema)
    definitions = inner.pop("$defs", None)
    outer: dict[str, Any] = {
        "type": "object",
        "properties": {_WRAP: inner},
        "required": [_WRAP],
        "additionalProperties": False,
    }
    if definitions:
        outer["$defs"] = definitions
    return outer


def _bare(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of what a wrapper holds."""
    inner = dict(schema["properties"][_WRAP])
    return {**inner, "$defs": schema["$defs"]} if "$defs" in schema else inner


def _found(text: str, schemas: list[dict[str, Any] | None]) -> Iterator[tuple[object, bool]]:
    """The JSON value in `text` that fits each of `schemas`, and whether it had to be mended; none that was cut off.

    For `None` it is the one that looks most like the answer.
    """
    from .extraction import find_json

    for schema in schemas:
        try:
            found = find_json(text, schema)
            value = read(found.json, "the answer")
        except ModelError:
            continue
        if found.complete:
            yield value, bool(found.repairs)


def _why_broken(text: str) -> str | None:
    starts = [each for each in (text.find("{"), text.find("[")) if each >= 0]
    if not starts:
        return None
    start = min(starts)
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
        read(text[start:end], "it")
    except json.JSONDecodeError as error:
        return f"{error.msg[:1].lower()}{error.msg[1:]} at line {error.lineno}, column {error.colno}"
    except ModelError as error:
        return error.message
    except (ValueError, RecursionError):
        return "it is nested too deeply or holds a number that is too long"
    return None
