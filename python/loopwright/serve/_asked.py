"""A client's request, in our words. A field that can't be carried is an error that names it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from loopwright import wire as wires
from loopwright._dataclasses import dataclass
from loopwright._json import read as parsed
from loopwright.adapters._request import Definition
from loopwright.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from loopwright import Message

__all__ = ["Asked", "asked_of", "canonical", "parsed_body", "refused"]

_ANSWERED_HERE: Mapping[str, frozenset[str]] = {
    "openai_chat": frozenset(
        {"max_completion_tokens", "seed", "metadata", "user", "safety_identifier", "prompt_cache_key"}
    ),
    "anthropic": frozenset({"metadata"}),
    "openai_responses": frozenset({"store", "include", "metadata", "user", "safety_identifier", "prompt_cache_key"}),
}
"""Fields that have their place in our words, or that say nothing about the answer."""
_NEUTRAL: Mapping[str, Any] = {
    "n": 1,
    "logprobs": False,
    "background": False,
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "logit_bias": {},
    "modalities": ["text"],
    "response_format": {"type": "text"},
    "thinking": {"type": "disabled"},
    "truncation": "disabled",
    "service_tier": "auto",
}
"""Values that ask for nothing: what is so by itself."""
_OTHER_ANSWERS = frozenset(
    {
        "audio",
        "background",
        "conversation",
        "logprobs",
        "modalities",
        "n",
        "previous_response_id",
        "top_logprobs",
        "functions",
        "function_call",
        "mcp_servers",
        "container",
    }
)
"""Fields that ask for an answer which has no form here, whoever is asked."""
_READ = frozenset(
    {"temperature", "top_p", "max_tokens", "stop", "stop_sequences", "stream", "tools", "tool_choice", "stream_options"}
)
"""Fields that the codec reads where they are as the API documents them."""
_THINKING = ((4_000, "low"), (16_000, "medium"))
"""Efforts that are less than so many tokens of thinking."""


@dataclass(frozen=True)
class Asked:
    """A request: what is said, with which tools, how."""

    model: str
    messages: list[Message]
    tools: list[Definition]
    settings: dict[str, Any]
    schema: dict[str, Any] | None
    stream: bool
    usage: bool
    """Whether a stream of Chat Completions ends with the tokens used."""


def refused(field: str, why: str, hint: str) -> UsageError:
    """The error for a field that can't be carried."""
    return UsageError(f"{field}: {why}", "unsupported_field", hint)


def parsed_body(body: bytes) -> dict[str, Any]:
    """The object that a body is. Raises a `UsageError` (`invalid_body`) for any other."""
    hint = "send a JSON object, as the API documents it"
    try:
        found = parsed(body.decode("utf-8"), "the body")
    except UnicodeDecodeError as error:
        raise UsageError(f"the body is no UTF-8: {error}", "invalid_body", hint) from None
    if not isinstance(found, dict):
        message = f"the body is {type(found).__name__}, no object"
        raise UsageError(message, "invalid_body", hint)
    return found


def canonical(wire: str, body: bytes) -> dict[str, Any]:
    """The request of a wire in the canonical form. Marks for caches are left out: the engine sets its own, so that
    there are never more than a provider takes.
    """
    if b'"cache_control"' not in body:
        return wires.decode_request(wire, body).to_dict()
    return wires.decode_request(wire, _unmarked(parsed_body(body))).to_dict()


def _unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmarked(each) for each in value]
    if not isinstance(value, dict):
        return value
    # What a call is given, and the schema of a tool, are the client's own.
    own = ("input", "input_schema", "arguments")
    return {name: each if name in own else _unmarked(each) for name, each in value.items() if name != "cache_control"}


def asked_of(wire: str, body: bytes, upstream: str | None) -> Asked:
    """The request that a body of `wire` holds, for a model that speaks `upstream`."""
    from loopwright import Messages

    told = canonical(wire, body)
    said = [told["system"]] if told.get("system") else []
    messages = list(Messages.from_json(json.dumps([*said, *told["messages"]])))
    if not told["messages"] or messages[-1].role == "assistant":
        hint = "let a user or a tool have the last word"
        raise refused(
            "messages", "the last one is no user's and no tool's, and answers can't be begun for a model", hint
        )
    fields = (told.get("extra") or {}).get("fields") or {}
    settings = _settings(wire, told, fields, upstream)
    output = told.get("output")
    return Asked(
        model=told["model"],
        messages=messages,
        tools=[_definition(at, each) for at, each in enumerate(told.get("tools") or ())],
        settings=settings,
        schema=None if output is None else output["schema"],
        stream=bool(told.get("stream")),
        usage="@no_usage" not in fields,
    )


def _definition(at: int, tool: Mapping[str, Any]) -> Definition:
    function = tool.get("function")
    if function is None:
        raise refused(f"tools[{at}]", "it runs at a provider", "give functions, or ask that provider itself")
    return Definition(function["name"], function.get("description") or "", function["schema"])


def _settings(wire: str, told: Mapping[str, Any], fields: Mapping[str, Any], upstream: str | None) -> dict[str, Any]:
    names = ("temperature", "top_p", "max_tokens", "effort", "parallel_tool_calls")
    found = {name: told[name] for name in names if told.get(name) is not None}
    if told.get("stop"):
        found["stop"] = told["stop"]
    choice = told.get("tool_choice")
    if choice is not None:
        found["tool_choice"] = choice["tool"] if isinstance(choice, dict) else choice
    if fields.get("seed") is not None:
        found["seed"] = fields["seed"]
    through: dict[str, Any] = {}
    for name, value in fields.items():
        if value is None or name[:1] in "$@" or name in _ANSWERED_HERE[wire] or _NEUTRAL.get(name) == value:
            continue
        if name == "thinking" and wire != upstream and isinstance(value, dict):
            found.setdefault("effort", _effort(value.get("budget_tokens")))
        else:
            through[name] = _carried(name, value, wire, upstream)
    return {**found, "extra_body": through} if through else found


def _carried(name: str, value: Any, wire: str, upstream: str | None) -> Any:
    """The value of a field that goes as it is to a model which speaks the same."""
    if name in _READ:
        raise refused(name, f"it can't be {json.dumps(value)[:100]}", "give it as the API documents it")
    if name in _OTHER_ANSWERS:
        raise refused(name, "it asks for what can't be given here", "leave it out")
    if wire != upstream:
        speaks = "is a program's own" if upstream is None else f"speaks {upstream}"
        raise refused(name, f"the model behind this server {speaks}, and has no such field", "leave it out")
    return value


def _effort(tokens: object) -> str:
    if not isinstance(tokens, int):
        return "medium"
    return next((effort for most, effort in _THINKING if tokens < most), "high")
