"""Histories as other libraries and providers write them: plain dicts of Chat Completions, Anthropic's Messages, the
Responses API or Gemini, beside our own form.

One history is of one form. What none of them has is an error that names the message and the key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .errors import LoopwrightError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .messages import Message

__all__ = ["countable", "foreign", "in_form", "of_any", "readable", "texts_of"]

_OURS = frozenset({"role", "content", "form", "extra", "host"})
_MEMBERS: Mapping[str, frozenset[str]] = {
    "openai_chat": frozenset(
        {
            "role",
            "content",
            "name",
            "tool_calls",
            "tool_call_id",
            "function_call",
            "refusal",
            "audio",
            "annotations",
            "reasoning",
            "reasoning_content",
            "reasoning_details",
        }
    ),
    "anthropic": frozenset(
        {
            "role",
            "content",
            "cache_control",
            "id",
            "type",
            "model",
            "stop_reason",
            "stop_sequence",
            "stop_details",
            "usage",
            "container",
            "context_management",
        }
    ),
    "gemini": frozenset({"role", "parts"}),
}
"""The members of a message, by the form that it is in. Items of the Responses API are of many kinds."""
_RESPONSES: Mapping[str, frozenset[str]] = {
    "message": frozenset({"type", "role", "content", "id", "status", "phase"}),
    "function_call": frozenset({"type", "id", "call_id", "name", "arguments", "status", "namespace", "caller"}),
    "function_call_output": frozenset({"type", "id", "call_id", "output", "status", "caller"}),
}
"""The members of those items of the Responses API that every history has."""
_PARTS = frozenset(
    {
        "text",
        "functionCall",
        "functionResponse",
        "inlineData",
        "fileData",
        "executableCode",
        "codeExecutionResult",
        "toolCall",
        "toolResponse",
        "thoughtSignature",
    }
)
"""What a part of Gemini's is told by."""
_KINDS: Mapping[str, str] = {
    "input_text": "openai_responses",
    "output_text": "openai_responses",
    "input_image": "openai_responses",
    "input_file": "openai_responses",
    "image_url": "openai_chat",
    "input_audio": "openai_chat",
    "refusal": "openai_chat",
}
"""Blocks of content that one form alone has."""
_OF_ANTHROPIC = frozenset(
    {
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "image",
        "document",
        "search_result",
        "container_upload",
        "server_tool_use",
        "mcp_tool_use",
        "mcp_tool_result",
        "web_search_tool_result",
        "web_fetch_tool_result",
        "code_execution_tool_result",
        "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result",
    }
)
"""Blocks that are called so in our form, too; beside content that is text they are Anthropic's."""
_SENT = frozenset({"role", "content", "cache_control"})
"""What of an answer of Anthropic's its next request holds."""
_LISTS = {"openai_responses": "input", "gemini": "contents"}
_ITEMS = frozenset({"message", "reasoning", "item_reference", "compaction"})
"""Items of the Responses API, beside those that are a call or what came of one."""
_ROLES = ("system", "developer", "user", "assistant", "tool", "function", "model")
_OURS_NAME = "ours"
_NAMES = {
    _OURS_NAME: "our own",
    "openai_chat": "Chat Completions",
    "anthropic": "Anthropic",
    "openai_responses": "Responses",
    "gemini": "Gemini",
}


def of_any(messages: Iterable[Any]) -> list[Any]:
    """Messages, each a `Message` or a dict of our own form, from whichever form they are in."""
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable) or hasattr(messages, "role"):
        message = f"messages are a list of messages, not {type(messages).__name__}"
        raise UsageError(message, "invalid_messages", "put it into a list")
    given = list(messages)
    return foreign(given) or given


def texts_of(messages: Iterable[Any], read: Callable[[Any], Message]) -> Iterator[str]:
    """The JSON text of each message; what is wrong with one is said with its index."""
    for at, message in enumerate(messages):
        try:
            yield read(message).to_json()
        except UsageError as error:
            raise UsageError(f"message {at}: {error.message}", "invalid_messages", error.hint) from None


def readable(given: list[Any]) -> list[Any]:
    """A history of one form, which has all that it holds; of the Responses API and Gemini, as `Message` objects."""
    dicts = _dicts(given)
    if not dicts:
        return given
    form = _form_of(dicts)
    _check_members(dicts, form)
    return foreign(given) or given if form in _LISTS else given


def countable(given: Any) -> Any:
    """Messages, one of them, or a request, to be counted: blocks may be of kinds that only a provider knows."""
    if isinstance(given, Mapping) and "role" not in given:
        return _countable_request(given)
    if isinstance(given, Mapping) or hasattr(given, "role"):
        given = [given]
    if not isinstance(given, Iterable):
        message = f"messages are a list of messages, not {type(given).__name__}"
        raise UsageError(message, "invalid_messages", "give text, a list of messages, or a request")
    listed = list(given)
    for at, each in enumerate(listed):
        if not isinstance(each, Mapping) and not hasattr(each, "role"):
            hint = "give Message objects, or dicts with role and content"
            raise UsageError(f"message {at} is {each!r:.100}", "invalid_messages", hint)
    for at, each in _dicts(listed):
        _check_countable(at, each)
    return readable(listed)


def _countable_request(given: Mapping[Any, Any]) -> Mapping[Any, Any]:
    name = next((name for name in ("messages", "input", "contents") if name in given), None)
    if name is None and not {"system", "tools"} & given.keys():
        message = f"a request has messages, and this one has {', '.join(map(repr, given))[:100] or 'nothing'}"
        raise UsageError(message, "invalid_messages", 'give text, a list of messages, or {"messages": [...]}')
    if name is None or isinstance(given[name], str):
        return given
    messages = [each if isinstance(each, Mapping) else each.to_dict() for each in countable(given[name])]
    return {**{key: each for key, each in given.items() if key != name}, "messages": messages}


def _check_countable(at: int, each: Mapping[Any, Any]) -> None:
    role, content = each.get("role"), each.get("content")
    if isinstance(role, str) and role not in _ROLES:
        raise _wrong(at, f" has the role {role!r:.100}", f"there are {', '.join(_ROLES)}")
    _check_form(at, content)
    for place, block in enumerate(content if isinstance(content, (list, tuple)) else ()):
        if isinstance(block, Mapping) and block.get("type") == "text" and not isinstance(block.get("text"), str):
            raise _wrong(at, f": block {place} of its content has no text", 'give {"type": "text", "text": "…"}')


def in_form(given: Sequence[Any], form: str, first: int = 0) -> None:
    """Raises a `UsageError` for what messages hold that none of a form does; the first has the index `first`."""
    _check_members([(first + at, each) for at, each in _dicts(given)], None if form == "canonical" else form)


def _dicts(given: Sequence[Any]) -> list[tuple[int, Mapping[Any, Any]]]:
    return [(at, each) for at, each in enumerate(given) if isinstance(each, Mapping)]


def foreign(given: Sequence[Any]) -> list[Any] | None:
    """The messages of a history of dicts in the form of a provider; `None` where all of it is in our own form."""
    dicts = _dicts(given)
    if not dicts:
        return None
    form = _form_of(dicts)
    _check(dicts, form)
    if form is None:
        return None
    if form == _OURS_NAME:
        return [_with_blocks(each) if isinstance(each, Mapping) else each for each in given]
    from .messages import Message

    found: list[Message] = []
    run: list[Any] = []
    for each in [*given, None]:
        if isinstance(each, Mapping):
            run.append(each)
            continue
        if run:
            found.extend(_decoded(form, run))
            run = []
        if isinstance(each, Message):
            found.append(each)
        elif each is not None:
            message = f"messages hold {each!r:.100}"
            raise UsageError(message, "invalid_messages", "give Message objects, or dicts")
    return found


def _with_blocks(each: Mapping[Any, Any]) -> dict[Any, Any]:
    """A message of our own form whose content is text, as it should be."""
    content = each.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    return {**each, "content": blocks}


def _form_of(dicts: list[tuple[int, Mapping[Any, Any]]]) -> str | None:
    """The form that these messages are in; `None` for our own."""
    seen: dict[str, int] = {}
    plain = blocks = False
    for at, each in dicts:
        content = each.get("content")
        plain = plain or content is None or isinstance(content, str)
        parts = [part for part in content if isinstance(part, Mapping)] if isinstance(content, (list, tuple)) else []
        blocks = blocks or any(part.get("type") in _OF_ANTHROPIC for part in parts)
        for form in (*_of_message(each), *(form for part in parts if (form := _of_block(part)) is not None)):
            seen.setdefault(form, at)
    if len(seen) > 1:
        (one, first), (other, second) = list(seen.items())[:2]
        message = f"message {first} is in the form of {_NAMES[one]}, message {second} in that of {_NAMES[other]}"
        if first == second:
            message = f"message {first} holds what {_NAMES[one]} has, and what {_NAMES[other]} has"
        raise UsageError(
            message, "invalid_messages", "give one history in one form; Messages(...) turns each into ours"
        )
    if blocks and "openai_chat" in seen:
        message = f"message {seen['openai_chat']} is in the form of Chat Completions, others hold blocks of Anthropic's"
        hint = "give one history in one form; Messages(...) turns each into ours"
        raise UsageError(message, "invalid_messages", hint)
    if seen:
        return next(iter(seen))
    if not plain:
        return None
    return "anthropic" if blocks else "openai_chat"


def _of_message(each: Mapping[Any, Any]) -> list[str]:
    """The forms that the members of a message speak for."""
    found = ["gemini"] if "parts" in each else []
    if "cache_control" in each:
        found.append("anthropic")
    kind = each.get("type")
    if kind == "message" and "model" in each:
        found.append("anthropic")
    elif isinstance(kind, str) and (kind in _ITEMS or kind.endswith(("_call", "_call_output"))):
        found.append("openai_responses")
    if "form" in each or "host" in each or "extra" in each:
        found.append(_OURS_NAME)
    if each.get("role") == "tool" or "tool_calls" in each or "tool_call_id" in each:
        found.append("openai_chat")
    return found


def _of_block(block: Mapping[Any, Any]) -> str | None:
    """The form that a block of content speaks for."""
    kind = block.get("type")
    if isinstance(kind, str) and kind in _KINDS:
        return _KINDS[kind]
    if kind == "thinking" and "text" in block:
        return _OURS_NAME
    if kind == "tool_result" and "id" in block and "tool_use_id" not in block:
        return _OURS_NAME
    source = block.get("source")
    if isinstance(source, Mapping):
        return "anthropic" if "type" in source else _OURS_NAME
    return "anthropic" if "tool_use_id" in block or "cache_control" in block else None


def _check(dicts: list[tuple[int, Mapping[Any, Any]]], form: str | None) -> None:
    """Raises a `UsageError` for what of a message the form does not have, or lacks."""
    _check_members(dicts, form)
    for at, each in dicts:
        if form == "gemini":
            _check_parts(at, each)
        elif form != "openai_responses" or each.get("type", "message") == "message":
            _check_content(at, each)
        if form == "openai_chat":
            _check_calls(at, each)


def _wrong(at: int, what: str, hint: str) -> UsageError:
    return UsageError(f"message {at}{what}", "invalid_messages", hint)


def _check_form(at: int, content: object) -> None:
    if content is not None and not isinstance(content, (str, list, tuple)):
        raise _wrong(at, f": its content is {content!r:.100}", "give text, or a list of blocks")


def _check_content(at: int, each: Mapping[Any, Any]) -> None:
    content = each.get("content")
    _check_form(at, content)
    for place, block in enumerate(content if isinstance(content, (list, tuple)) else ()):
        if isinstance(block, Mapping) and isinstance(block.get("type"), str):
            continue
        if isinstance(block, Mapping):
            hint = 'say what it is: {"type": "text", "text": "…"}'
            raise _wrong(at, f": block {place} of its content has no type", hint)
        if not hasattr(block, "to_dict") and not hasattr(block, "kind"):
            hint = 'give a dict, as {"type": "text", "text": "…"}'
            raise _wrong(at, f": block {place} of its content is {block!r:.100}", hint)
    if "role" not in each:
        raise _wrong(at, " has no role", "give it its role")
    if content is None and each["role"] in ("user", "system", "developer"):
        raise _wrong(at, " has no content", "give it text, or a list of blocks")


def _check_calls(at: int, each: Mapping[Any, Any]) -> None:
    if each["role"] == "tool" and not isinstance(each.get("tool_call_id"), str):
        raise _wrong(at, " has no tool_call_id", "give it the id of the call whose result it is")
    asked = each.get("tool_calls") or ()
    if not isinstance(asked, (list, tuple)):
        raise _wrong(at, f": its tool_calls are {asked!r:.100}", "give a list of calls")
    for place, call in enumerate(asked):
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(call, Mapping) and call.get("type", "function") != "function":
            continue
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            hint = 'give {"id": "…", "type": "function", "function": {"name": "…", "arguments": "{}"}}'
            raise _wrong(at, f": call {place} of its tool_calls names no function", hint)


def _check_parts(at: int, each: Mapping[Any, Any]) -> None:
    if each.get("role") not in (None, "user", "model", "function", "system"):
        raise _wrong(at, f" has the role {each['role']!r:.100}", "Gemini's roles are user and model")
    parts = each.get("parts")
    if not isinstance(parts, (list, tuple)):
        raise _wrong(at, " has no parts", 'give a list: [{"text": "…"}]')
    for place, part in enumerate(parts):
        if not isinstance(part, Mapping) or _PARTS.isdisjoint(part):
            raise _wrong(at, f": part {place} is {part!r:.100}", f"a part has one of {', '.join(sorted(_PARTS))}")


def _check_members(dicts: list[tuple[int, Mapping[Any, Any]]], form: str | None) -> None:
    """Raises a `UsageError` for the first member that no message of the form has."""
    for at, each in dicts:
        members = _MEMBERS.get(form or _OURS_NAME, _OURS)
        if form == "openai_responses":
            kind = each.get("type", "message")
            if kind not in _RESPONSES:
                # Its items are of many kinds, and there will be more.
                continue
            members = _RESPONSES[kind]
        wrong = next((key for key in each if key not in members), None)
        if wrong is None:
            continue
        from difflib import get_close_matches

        near = get_close_matches(str(wrong), sorted(members), 1)
        whose = f"one of {_NAMES[form or _OURS_NAME]}"
        hint = f"did you mean {near[0]}?" if near else f"{whose} has {', '.join(sorted(members))}"
        raise UsageError(f"message {at} has a member {str(wrong)[:100]!r}", "invalid_messages", hint)


def _decoded(form: str, run: list[Any]) -> list[Message]:
    """Messages of a form, by the reader of its wire."""
    from . import wire

    body: dict[str, Any] = {"model": "any", _LISTS.get(form, "messages"): run}
    if form == "anthropic":
        body["max_tokens"] = 1
        body["messages"] = [{name: each[name] for name in each if name in _SENT} for each in run]
    try:
        request = wire.decode_request(form, body)
    except LoopwrightError as error:
        message = f"the messages are none of {_NAMES[form]}: {error.message}"
        raise UsageError(message, "invalid_messages", error.hint or "give them as its API takes them") from error
    system = [] if request.system is None else [request.system]
    return [*system, *request.messages]
