"""Extraction: what a model wrote becomes tool calls, reasoning and clean prose, while it is still being written.

::

    from loopwright.extraction import extract

    found = extract('Let me look. <tool_call>{"name": "look", "arguments": {"x": 1}}</tool_call>')
    found.prose  # 'Let me look. '
    found.calls[0].arguments  # {'x': 1}

`extract` reads a whole text, `ToolCallParser` one that is still growing; both are the same code, and any split of the
text gives the same. Spans count bytes of UTF-8 from the beginning of the text. What a policy may say (all safe unless
you say otherwise):

- `quoted_calls`: `"ignore"` leaves calls in code fences, inline code, block quotes and quotation marks as text; `"run"`
  takes them.
- `reasoning_calls`: the same for calls inside reasoning.
- `unknown_tool`: `"text"` leaves calls of undeclared tools as text, `"call"` takes them; only where `tools` are given.
- `bare_json`: whether JSON without any markers counts, at the start of the reply or of a line.
- `starts_in_reasoning`: whether the text begins inside reasoning, because the prompt ended with its opening marker.
- `repair`: whether broken arguments are mended.
- `max_calls`, `max_argument_bytes`, `max_depth` (500 at most): limits; what is over them is a problem, never an error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, TypedDict
from weakref import WeakKeyDictionary

from . import _core
from ._core import (
    CallFinished,
    CallStarted,
    ExtractedCall,
    Extraction,
    FoundJson,
    Markup,
    Problem,
    Region,
    Repair,
    Repaired,
)
from ._core import ExtractedArguments as ArgumentsDelta
from ._core import ExtractedReasoning as ReasoningDelta
from ._core import ExtractedText as TextDelta
from ._renamed import read_under
from ._repr import brief
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from typing_extensions import Self, Unpack

    from .messages import ToolResult

read_under(ExtractedCall, id="call_id")

__all__ = [
    "ArgumentsDelta",
    "CallFinished",
    "CallStarted",
    "Event",
    "ExtractedCall",
    "Extraction",
    "FoundJson",
    "Markup",
    "Policy",
    "PreparedTools",
    "Problem",
    "ProblemKind",
    "ReasoningDelta",
    "Region",
    "Repair",
    "Repaired",
    "TextDelta",
    "ToolCallParser",
    "dialect_for",
    "dialects",
    "extract",
    "extract_json",
    "find_json",
    "reasoning_for",
    "render_call",
    "render_calls",
    "render_results",
    "repair_json",
    "strip_tool_markup",
]

_DEEPEST = 500
"""Half of what Python's own reader of JSON can take before it gives up, whose stack others stand on too."""

ProblemKind = Literal[
    "unknown_tool",
    "incomplete",
    "repaired",
    "malformed",
    "too_many_calls",
    "arguments_too_large",
    "too_deep",
    "wrong_type",
    "invalid_utf8",
    "tool_result",
    "unread",
]
"""What `Problem.kind` may be: a closed set, whose table is in `docs/extraction.md`."""

Event = TextDelta | ReasoningDelta | CallStarted | ArgumentsDelta | CallFinished | Markup | Problem
"""What a parser says. Each has the `span` of bytes that it came from."""


class Policy(TypedDict, total=False):
    """What a parser may take for a call; see the module."""

    quoted_calls: str
    reasoning_calls: str
    unknown_tool: str
    bare_json: bool
    starts_in_reasoning: bool
    repair: bool
    max_calls: int
    max_argument_bytes: int
    max_depth: int


def extract(
    text: str | bytes | bytearray | memoryview,
    tools: Iterable[Any] | Mapping[str, Any] | None = None,
    dialects: str | Iterable[str] = "auto",
    **policy: Unpack[Policy],
) -> Extraction:
    """What a whole text holds.

    Args:
        text: What the model wrote.
        tools: The tools that the model was told of: tools of `@tool`, functions, definitions as OpenAI, Anthropic or
            MCP write them, names with their JSON schemas, or bare names. Values in XML-like dialects are typed by
            their schemas, and calls of other tools stay text. `None` takes any name. A schema that is none raises
            `UsageError` (`invalid_tool`), which names the tool and the place in its schema.
        dialects: `"auto"` for all, or names from `dialects()`.
        policy: What counts as a call; see the module.

    >>> found = extract('Hi <tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>!')
    >>> found.prose, found.calls[0].name, found.calls[0].arguments
    ('Hi !', 'f', {'x': 1})
    """
    parser = _core.ToolCallParser(_compiled(tools), _named(dialects), **(_checked(policy) if policy else {}))
    return parser.whole(text)


class PreparedTools(_core.PreparedTools):
    """Tools whose schemas are read once, for `extract` and `ToolCallParser`, for as many replies as there are.

    It takes what these take as `tools`, and is given in place of it; an `Agent` takes it too, since it holds the tools
    that it was given. A schema that is changed afterwards changes nothing.

    >>> prepared = PreparedTools([{"name": "f", "input_schema": {"properties": {"x": {"type": "integer"}}}}])
    >>> prepared.names
    ('f',)
    >>> extract('<tool_call>f<arg_key>x</arg_key><arg_value>1</arg_value></tool_call>', prepared).calls[0].arguments
    {'x': 1}
    """

    def __new__(cls, tools: Iterable[Any] | Mapping[str, Any]) -> Self:
        given = tuple((_told_tools(tools)).items() if isinstance(tools, Mapping) else _told_tools(tools))
        return super().__new__(cls, _declared(given), given)


class ToolCallParser(_core.ToolCallParser):
    """Reads a reply while it is written. Its arguments are those of `extract`.

    Deltas are published as early as they are certain; an event is never taken back, but for this: a `malformed`
    problem that has a `call` and no `dropped` says that this call isn't complete, though it was told so before.
    `finish` must be called.

    >>> parser = ToolCallParser()
    >>> for event in [*parser.feed('<tool_call>{"name": "f", "argum'), *parser.feed('ents": {}}</tool_call>')]:
    ...     print(event.type)
    call_started
    arguments
    call_finished
    >>> parser.finish()
    []
    """

    def __new__(
        cls,
        tools: Iterable[Any] | Mapping[str, Any] | None = None,
        dialects: str | Iterable[str] = "auto",
        **policy: Unpack[Policy],
    ) -> Self:
        return super().__new__(cls, _compiled(tools), _named(dialects), **_checked(policy))


def strip_tool_markup(
    text: str | bytes | bytearray | memoryview,
    tools: Iterable[Any] | Mapping[str, Any] | None = None,
    dialects: str | Iterable[str] = "auto",
    **policy: Unpack[Policy],
) -> str:
    """Only what is for people: no calls, no reasoning, no echoed results, no markers.

    For a last look before text is shown, wherever it comes from.

    >>> strip_tool_markup('<think>hm</think>Done.<tool_call>{"name": "f", "arguments": {}}</tool_call>')
    'Done.'
    """
    return extract(text, tools, dialects, **policy).prose


def extract_json(text: str, schema: Any = None) -> Any:
    r"""The JSON value in a model's answer: the whole of it, in a code fence, or within prose; mended if it must be.

    With a `schema` (a JSON schema, or a pydantic model) the first value that fits is taken. Raises `ModelError`
    (`no_json`), which says what is missing, where there is none. `find_json` tells where it stood and what was mended.

    >>> extract_json('Here you are:\n```json\n{"score": 4, "why": "clear",}\n```')
    {'score': 4, 'why': 'clear'}
    """
    return find_json(text, schema).value


def find_json(text: str, schema: Any = None) -> FoundJson:
    """`extract_json`, with where the value stood and what was repaired.

    >>> found = find_json('The score is {"score": 4}.')
    >>> found.value, found.place, found.span
    ({'score': 4}, 'embedded', (13, 25))
    """
    _told(text, "the text")
    if hasattr(schema, "model_json_schema"):
        schema = schema.model_json_schema()
    if not isinstance(schema, (Mapping, bool, type(None))):
        message = f"the schema of the answer is {brief(schema)}"
        raise UsageError(message, "invalid_schema", "give a JSON schema as a dict, or a pydantic model")
    return _core.find_json(text, None if schema is None else _dumped(schema, "the answer"))


def repair_json(text: str | bytes | bytearray | memoryview) -> Repaired:
    """Valid JSON made of what should be JSON, and what was done for it. Valid JSON stays byte for byte.

    Only the escape of half a surrogate pair, which JSON's grammar allows and UTF-8 can't carry, becomes that of U+FFFD.

    >>> mended = repair_json("{'a': True,}")
    >>> mended.json
    '{"a": true}'
    >>> [repair.what for repair in mended.repairs]
    ['put double quotes around a string', 'wrote a literal as JSON has it', 'left out a trailing comma']
    """
    return _core.repair_json(_told(text, "the text") if isinstance(text, str) else text)


def render_call(call: Any, dialect: str) -> str:
    """A call as models of `dialect` write it, for histories and prompts; `extract` gives it back.

    `call` is one that `extract` found, a `ToolUse` of `loopwright.messages`, or a dict with `name` and `arguments`.
    Raises `UsageError` (`unwritable`) where the dialect has no way to write it.

    >>> render_call({"name": "f", "arguments": {"x": 1}}, "mistral")
    '[TOOL_CALLS]f[ARGS]{"x":1}'
    """
    return render_calls([call], dialect)


def render_calls(calls: Sequence[Any], dialect: str) -> str:
    """The calls of one reply, as models of `dialect` write them together."""
    _told(dialect, "the dialect")
    return _core.render_calls(f"[{','.join(_call_json(call) for call in _listed(calls, 'calls'))}]", dialect)


def render_results(results: ToolResult | Sequence[ToolResult | Mapping[str, Any]], dialect: str | None = None) -> str:
    """Tool results as the models of `dialect` are given them.

    Where nothing is known of the dialect, or none is given, as `<tool_result>` elements: named, labelled as not to be
    trusted, failures as `{"error": {"kind", "message", "hint"}}`. Nothing that a result holds can end its element.

    A result is a `ToolResult` of `loopwright.messages`, or a dict with `name`, `content` and, where there is one, `id`
    and `error`.
    """
    from .messages import ToolResult

    several: Iterable[Any] = [results] if isinstance(results, ToolResult) else _listed(results, "results")
    if dialect is not None:
        _told(dialect, "the dialect")
    made = [_told(_result_json(result), f"result {at}") for at, result in enumerate(several)]
    return _core.render_results(f"[{','.join(made)}]", dialect)


def dialect_for(model: str) -> str | None:
    """The name of the dialect that a model is known to write; `None` if nothing is known.

    >>> dialect_for("Qwen/Qwen3-Coder-480B-A35B-Instruct")
    'qwen3-coder'
    """
    return _core.dialect_for(_told(model, "the model"))


def reasoning_for(model: str) -> bool:
    """Whether a model's raw reply is known to begin inside reasoning, as the prompt ended with its opener.

    It says what `starts_in_reasoning` should be for such a text. Servers that tell reasoning apart have taken it out.

    >>> reasoning_for("Qwen/Qwen3-4B-Thinking-2507"), reasoning_for("Qwen/Qwen3-4B")
    (True, False)
    """
    return _core.reasoning_for(_told(model, "the model"))


def dialects() -> dict[str, str]:
    """Every dialect by name, with an example of a call."""
    return {name: example for name, _, example in _core.dialects()}


def _checked(policy: Policy) -> Policy:
    for knob in ("max_calls", "max_argument_bytes", "max_depth"):
        limit = policy.get(knob, 0)
        if not isinstance(limit, int) or isinstance(limit, bool) or not 0 <= limit < 1 << 63:
            message = f"{knob} is {brief(limit)}"
            raise UsageError(message, "invalid_value", "give a whole number from 0 up")
    if policy.get("max_depth", 0) > _DEEPEST:
        message = f"max_depth is {policy['max_depth']}, deeper than Python reads JSON"
        raise UsageError(message, "invalid_value", f"give {_DEEPEST} at most")
    for knob in ("quoted_calls", "reasoning_calls", "unknown_tool"):
        _told(policy.get(knob, ""), knob)
    for knob in ("bare_json", "starts_in_reasoning", "repair"):
        choice = policy.get(knob, False)
        if not isinstance(choice, bool):
            message = f"{knob} is {brief(choice)}"
            raise UsageError(message, "invalid_value", "give True or False")
    return policy


def _told(value: Any, place: str) -> str:
    """Text that UTF-8 can carry."""
    if not isinstance(value, str):
        message = f"{place} is {type(value).__name__}, not str"
        raise UsageError(message, "invalid_value", "give text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        message = f"{place} holds half a surrogate pair at {error.start}, which UTF-8 can't carry"
        raise UsageError(message, "invalid_value", "replace it, as by U+FFFD") from error
    return value


def _listed(values: Any, place: str) -> Iterable[Any]:
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__iter__"):
        message = f"{place} are a list, not {type(values).__name__}"
        raise UsageError(message, "invalid_value", f"give a list of {place}")
    several: Iterable[Any] = values
    return several


def _named(dialects: str | Iterable[str]) -> list[str] | None:
    if isinstance(dialects, str):
        return None if dialects == "auto" else [_told(dialects, "dialects")]
    return [_told(name, "a name in dialects") for name in _listed(dialects, "dialects")]


_PLAIN = (dict, str, tuple)
_MOST_LISTS = 8
"""How many lists of tools are remembered."""
_MOST_VALUES = 50_000
"""How many values and thousands of characters one of them may hold."""

_remembered: tuple[tuple[Any, _core.PreparedTools], ...] = ()
"""What lists of tools said, and what was compiled of it, the latest first."""


def _compiled(tools: Iterable[Any] | Mapping[str, Any] | None) -> _core.PreparedTools | None:
    """Tools with their schemas compiled; those of the last lists are found again by what they say now."""
    global _remembered  # noqa: PLW0603 - one for the process, replaced as a whole
    if tools is None or isinstance(tools, _core.PreparedTools):
        return tools
    if isinstance(_told_tools(tools), Mapping):
        plain: Any = dict(tools)
    else:
        plain = [tool if type(tool) in _PLAIN else _pair(tool) for tool in tools]
    try:
        for said, prepared in _remembered:
            if said == plain:
                return prepared
        said = _snapshot(plain, [_MOST_VALUES])
    except Exception:  # noqa: BLE001 - what can't be compared, however it says so, is compiled anew
        said = None
    prepared = _core.PreparedTools(_declared(plain), ())
    # Another thread may have changed the list meanwhile.
    if said is not None and said == plain:
        _remembered = ((said, prepared), *_remembered)[:_MOST_LISTS]
    return prepared


class _Number:
    """A number or truth value of its own type: elsewhere `1`, `1.0` and `True` are equal."""

    __slots__ = ("value",)

    def __init__(self, value: float) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self.value) and other == self.value

    __hash__ = None  # type: ignore[assignment]


def _snapshot(value: Any, left: list[int]) -> Any:
    """Plain data as it is now, equal to what says the same. Raises `TypeError` for all else."""
    kind = type(value)
    left[0] -= 1 + (len(value) >> 10 if kind is str else 0)
    if left[0] >= 0:
        if kind is str or value is None:
            return value
        if kind is bool or kind is int or kind is float:
            return _Number(value)
        if kind is list or kind is tuple:
            return kind(_snapshot(item, left) for item in value)
        if kind is dict and all(type(key) is str for key in value):
            return {key: _snapshot(item, left) for key, item in value.items()}
    raise TypeError


def _told_tools(tools: Any) -> Any:
    """What may hold tools."""
    if isinstance(tools, (str, bytes)) or not hasattr(tools, "__iter__"):
        message = f"tools are a list, not {type(tools).__name__}"
        raise UsageError(message, "invalid_tool", f"write [{brief(tools)}]")
    if isinstance(tools, Mapping) and isinstance(tools.get("name", tools.get("type")), str):
        message = f"tools are a list, and this is one of them: {brief(dict(tools))}"
        raise UsageError(message, "invalid_tool", "put it into a list: [{...}]")
    return tools


def _declared(tools: Iterable[Any] | Mapping[str, Any]) -> list[tuple[str, str]]:
    pairs: Iterable[Any] = tools.items() if isinstance(tools, Mapping) else (_pair(tool) for tool in tools)
    return [(_name(name), _schema(schema, name)) for name, schema in pairs]


def _schema(schema: Any, name: str) -> str:
    if not isinstance(schema, (Mapping, bool, type(None))):
        message = f"the schema of {brief(name)} is {brief(schema)}"
        raise UsageError(message, "invalid_tool", "a schema is a dict of plain data")
    return _dumped({} if schema is None else schema, name)


_SCHEMAS = ("parameters", "input_schema", "inputSchema", "schema")
"""Where a tool's definition may hold its schema."""


def _pair(tool: Any) -> tuple[Any, Any]:
    """The name and schema of one tool, in whichever way it is written."""
    if type(tool) is _tool_class():
        return tool.name, tool.schema
    if isinstance(tool, str):
        return tool, {}
    if isinstance(tool, tuple) and len(tool) == 2:  # noqa: PLR2004 - a name and its schema
        return tool
    if isinstance(tool, Mapping):
        inner = next((tool[key] for key in ("function", "toolSpec") if isinstance(tool.get(key), Mapping)), tool)
        if "name" in inner:
            schemas = (inner.get(key) for key in _SCHEMAS)
            schema: Any = next((schema for schema in schemas if schema is not None), {})
            # Bedrock's puts it one deeper.
            deeper = isinstance(schema, Mapping) and list(schema) == ["json"]
            return inner["name"], schema["json"] if deeper else schema
    elif isinstance(getattr(tool, "name", None), str):
        # Ours, and what clients of MCP and of the providers make; `schema` is a method of some.
        schemas = (getattr(tool, key, None) for key in _SCHEMAS)
        found = next((schema for schema in schemas if isinstance(schema, (Mapping, bool))), None)
        if found is not None:
            return tool.name, found
        if hasattr(tool, "schema"):
            return tool.name, tool.schema
    elif callable(tool):
        return _function(tool)
    message = f"{brief(tool)} is no tool"
    raise UsageError(message, "invalid_tool", "give tools of @tool, definitions with a name and a schema, or names")


def _tool_class() -> Any:
    """The class of what `@tool` makes; `None` as long as nothing imported it."""
    return getattr(sys.modules.get("loopwright.tools"), "Tool", None)


_FUNCTIONS: WeakKeyDictionary[FunctionType, tuple[Any, tuple[str, Any]]] = WeakKeyDictionary()
"""What plain functions are as tools, and of what that was read."""


def _function(function: Any) -> tuple[str, Any]:
    from .tools import Tool

    read_of = None
    # Annotations and defaults may run code of others; what is wrong with them, `Tool` says.
    with suppress(Exception):
        if type(function) is FunctionType:
            code = (function.__code__, function.__defaults__, function.__kwdefaults__, function.__doc__)
            read_of = code, function.__name__, dict(function.__annotations__)
        known = _FUNCTIONS.get(function)
        if known is not None and known[0] == read_of:
            return known[1]
    made = Tool(function)
    pair = made.name, made.schema
    if read_of is not None:
        _FUNCTIONS[function] = read_of, pair
    return pair


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name:
        message = f"{brief(name)} is no name of a tool"
        raise UsageError(message, "invalid_tool", "a name is a string that isn't empty")
    return _told(name, f"the tool's name {brief(name)}")


def _dumped(value: Any, name: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        message = f"the schema of {brief(name)} can't be written as JSON: {error}"
        raise UsageError(message, "invalid_tool", "a schema is a dict of plain data") from error


def _call_json(call: Any) -> str:
    if isinstance(call, ExtractedCall):
        name, arguments, call_id = call.name, call.arguments_json, call.call_id
    elif isinstance(call, Mapping):
        inner = call["function"] if isinstance(call.get("function"), Mapping) else call
        if "name" not in inner:
            message = f"{brief(call)} is no call: it has no name"
            raise UsageError(message, "invalid_value", 'write {"name": ..., "arguments": {...}}')
        given: Any = next((inner[key] for key in ("arguments", "input", "parameters") if key in inner), {})
        # As in OpenAI's shape: arguments that are text are JSON already.
        arguments = given if isinstance(given, str) else _plain_json(given, "the arguments")
        name, call_id = inner["name"], call.get("id")
    elif hasattr(call, "arguments_json"):
        name, arguments, call_id = call.name, call.arguments_json, call.call_id
    else:
        message = f"{brief(call)} is no call"
        raise UsageError(message, "invalid_value", "give what extract found, a ToolUse, or a dict")
    _told(name, "a call's name")
    _told("" if call_id is None else call_id, f"the id of the call of {brief(name)}")
    _core.check_json(_told(arguments, f"the arguments of {brief(name)}"), f"the arguments of {brief(name)}")
    return f'{{"id":{json.dumps(call_id or "")},"name":{json.dumps(name)},"input":{arguments}}}'


def _result_json(result: Any) -> str:
    from .messages import Text, ToolFailure, ToolResult, block_to_json

    if isinstance(result, ToolResult):
        try:
            return block_to_json(result)
        except UnicodeEncodeError as broken:
            message = f"the result of {brief(result.name)} holds half a surrogate pair, which UTF-8 can't carry"
            raise UsageError(message, "invalid_value", "replace it, as by U+FFFD") from broken
    if not isinstance(result, Mapping):
        message = f"{brief(result)} is no result"
        raise UsageError(message, "invalid_value", "give a ToolResult, or a dict with name and content")

    if "content" not in result and result.get("error") is None:
        message = f"{brief(result)} is no result: it has neither content nor an error"
        raise UsageError(message, "invalid_value", 'write {"name": ..., "content": ...}')
    call_id = _word(result, "id", _word(result, "tool_call_id", ""))
    name = _word(result, "name", "")
    error = result.get("error")
    if error is not None:
        message = str(error) if isinstance(error, Exception) else error
        words = error if isinstance(error, Mapping) else {"message": message}
        hint = _word(words, "hint", "")
        failure = ToolFailure(_word(words, "kind", "exception"), _word(words, "message", ""), hint or None)
        return _result_json(ToolResult.failed(call_id, name, failure))
    content = result.get("content", "")
    text = content if isinstance(content, str) else _plain_json(content, "the content")
    return _result_json(ToolResult(call_id, name, (Text(text),)))


def _word(words: Mapping[str, Any], key: str, usual: str) -> str:
    """What stands under `key` in a result or in its error; `None` is as good as nothing."""
    word = words.get(key)
    return usual if word is None else _told(word, f"a result's {key}")


def _plain_json(value: Any, what: str) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        message = f"{what} can't be written as JSON: {error}"
        raise UsageError(message, "invalid_value", "give plain data") from error
