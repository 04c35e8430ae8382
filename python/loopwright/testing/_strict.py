"""What providers refuse, by their documentation: rules over the bodies of requests, each with its source.

`WireServer(strict="anthropic")` answers with the provider's own error where a rule is broken. What is documented
nowhere is not refused.
"""

# ruff: noqa: PLR2004 - the numbers are the documented ones, and stand nowhere else.

from __future__ import annotations

import functools
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["PROVIDERS", "RULES", "Refused", "refusal"]

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}


class Refused(Exception):
    """What a provider says against a request, and the page that says it will."""

    def __init__(self, words: str, source: str = "", *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(words)
        self.source = source
        self.param = param
        self.code = code


def refuse(wrong: object, words: str, **fields: Any) -> None:
    if wrong:
        raise Refused(words, **fields)


def documented(source: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Names the page on which what a rule refuses is documented."""

    def of_rule(rule: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(rule)
        def checked(*given: Any) -> None:
            try:
                rule(*given)
            except Refused as refused:
                refused.source = refused.source or source
                raise
            except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
                words = f"the request is not of the documented shape: {type(error).__name__}: {error}"
                raise Refused(words, source) from error

        return checked

    return of_rule


# ---- schemas ----


def _walk(schema: dict[str, Any], defs: dict[str, Any], where: str) -> Iterator[tuple[dict[str, Any], str]]:
    refuse(not isinstance(schema, dict), f"{where}: a schema must be an object, not {schema!r}")
    yield schema, where
    for name, inner in schema.get("properties", {}).items():
        yield from _walk(inner, defs, f"{where}.{name}")
    for key in ("anyOf", "allOf"):
        for at, inner in enumerate(schema.get(key, [])):
            yield from _walk(inner, defs, f"{where}.{key}[{at}]")
    if "items" in schema:
        yield from _walk(schema["items"], defs, f"{where}[]")
    for key in ("$defs", "definitions"):
        for name, inner in schema.get(key, {}).items():
            yield from _walk(inner, defs, f"{where}.{key}.{name}")


def _definitions(schema: dict[str, Any]) -> dict[str, Any]:
    return {f"#/{key}/{name}": each for key in ("$defs", "definitions") for name, each in schema.get(key, {}).items()}


def _circles(schema: dict[str, Any], defs: dict[str, Any]) -> bool:
    def spoken(one: dict[str, Any]) -> set[str]:
        bare = {key: value for key, value in one.items() if key not in ("$defs", "definitions")}
        return {part["$ref"] for part, _ in _walk(bare, defs, "") if "$ref" in part}

    def visit(name: str, above: tuple[str, ...]) -> bool:
        return name in above or any(visit(next_, (*above, name)) for next_ in spoken(defs[name]))

    return "#" in spoken(schema) or any(visit(name, ()) for name in spoken(schema))


STRUCTURE = {"type", "enum", "const", "anyOf", "$ref", "$defs", "definitions", "title", "description"}


@documented("platform.claude.com/docs/en/build-with-claude/structured-outputs")
def anthropic_schema(schema: dict[str, Any], where: str) -> None:
    """The limitations that Anthropic documents for structured outputs and strict tools."""
    defs = _definitions(schema)
    optional = unions = 0
    for part, at in _walk(schema, defs, where):
        if "$ref" in part:
            refuse(part["$ref"] not in defs, f"{at}: external $ref is not supported")
            refuse(len(part) > 1, f"{at}: nothing may stand beside $ref")
            continue
        kind = part.get("type")
        refuse(not {"type", "enum", "const", "anyOf", "allOf"} & part.keys(), f"{at}: a schema must have a type")
        refuse(
            kind is not None
            and kind not in ("object", "array", "string", "integer", "number", "boolean", "null")
            and not isinstance(kind, list),
            f"{at}: unknown type {kind}",
        )
        allowed = STRUCTURE | {"allOf", "default"}
        if kind == "object":
            allowed |= {"properties", "required", "additionalProperties"}
            refuse(
                part.get("additionalProperties") is not False,
                f"{at}: For 'object' type, 'additionalProperties' must be explicitly set to false",
            )
            missing = set(part.get("required", ())) - set(part.get("properties", ()))
            refuse(missing, f"{at}: required names unknown properties {missing}")
            optional += len(set(part.get("properties", ())) - set(part.get("required", ())))
        elif kind == "array":
            allowed |= {"items", "minItems"}
            refuse(
                part.get("minItems", 0) not in (0, 1),
                f"{at}: For 'array' type, 'minItems' values other than 0 or 1 are not supported",
            )
        elif kind == "string" or (isinstance(kind, list) and "string" in kind):
            allowed |= {"format", "pattern"}
            refuse("format" in part and part["format"] not in FORMATS, f"{at}: format {part.get('format')}")
            refuse(re.search(r"\(\?|\\[bB1-9]", part.get("pattern", "")), f"{at}: pattern {part.get('pattern')}")
        for key in part:
            refuse(key not in allowed, f"{at}: For '{kind}' type, property '{key}' is not supported")
        plain = [*part.get("enum", ()), *([part["const"]] if "const" in part else [])]
        refuse(any(isinstance(value, (dict, list)) for value in plain), f"{at}: complex values in enum")
        unions += "anyOf" in part or isinstance(kind, list)
        refuse("allOf" in part and any("$ref" in one for one in part["allOf"]), f"{at}: allOf with $ref")
    refuse(_circles(schema, defs), f"{where}: recursive schemas are not supported")
    refuse(optional > 24, f"{where}: too many optional parameters ({optional})")
    refuse(unions > 16, f"{where}: too many union types ({unions})")


@documented("developers.openai.com/api/docs/guides/structured-outputs")
def openai_schema(schema: dict[str, Any], where: str) -> None:
    """The subset that OpenAI documents for strict schemas."""
    defs = _definitions(schema)
    refuse(schema.get("type") != "object", f"Invalid schema for {where}: schema must be of type object")
    properties = values = 0
    for part, at in _walk(schema, defs, where):
        if "$ref" in part:
            refuse(part["$ref"] not in defs and part["$ref"] != "#", f"{at}: reference can't be resolved")
            refuse(len(part) > 1, f"{at}: $ref cannot have keywords {sorted(part)}")
            continue
        kind = part.get("type")
        allowed = set(STRUCTURE)
        refuse(not {"type", "enum", "const", "anyOf"} & part.keys(), f"{at}: schema must have a 'type' key")
        if kind == "object":
            allowed |= {"properties", "required", "additionalProperties"}
            refuse(
                part.get("additionalProperties") is not False,
                f"{at}: 'additionalProperties' is required to be supplied and to be false",
            )
            refuse(
                sorted(part.get("required", ())) != sorted(part.get("properties", ())),
                f"{at}: 'required' is required to be supplied and to be an array including every key in properties",
            )
            properties += len(part.get("properties", ()))
        elif kind == "array":
            allowed |= {"items", "minItems", "maxItems"}
            refuse("items" not in part, f"{at}: array schema missing items")
        elif kind == "string":
            allowed |= {"format", "pattern"}
            refuse("format" in part and part["format"] not in FORMATS - {"uri"}, f"{at}: format")
            refuse("(?" in part.get("pattern", ""), f"{at}: lookaround is not supported")
        elif kind in ("integer", "number"):
            allowed |= {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
        for key in part:
            refuse(key not in allowed, f"{at}: '{key}' is not permitted")
        values += len(part.get("enum", ()))
    refuse(properties > 5000 or values > 1000, f"{where}: too large")


# ---- requests ----

ANTHROPIC_FIELDS = {
    "model", "messages", "max_tokens", "system", "tools", "tool_choice", "temperature", "top_p", "top_k",
    "stop_sequences", "stream", "metadata", "thinking", "output_config", "cache_control", "service_tier", "container",
    "context_management", "mcp_servers", "inference_geo",
}  # fmt: skip


def _marks(value: Any) -> int:
    """How many cache breakpoints stand in a part of a body; what a schema is called is none."""
    if isinstance(value, list):
        return sum(_marks(each) for each in value)
    if not isinstance(value, dict):
        return 0
    return ("cache_control" in value and value["cache_control"] is not None) + _marks(value.get("content"))


@documented("platform.claude.com/docs/en/api/messages")
def anthropic(body: dict[str, Any]) -> None:
    """What `/v1/messages` documents: schemas, the pairing of uses and results, ids, names, text that says something."""
    output = body.get("output_config", {}).get("format")
    if output is not None:
        refuse(output.keys() - {"type", "schema"}, f"output_config.format: extra inputs {sorted(output)}")
        anthropic_schema(output["schema"], "output_config.format.schema")
    for at, tool in enumerate(body.get("tools", ())):
        refuse(not NAME.match(tool["name"]), f"tools.{at}.name: String should match pattern")
        if tool.get("strict"):
            anthropic_schema(tool["input_schema"], f"tools.{at}.input_schema")
    for at, block in enumerate(body["system"] if isinstance(body.get("system"), list) else ()):
        refuse(not block["text"].strip(), f"system.{at}: text content blocks must contain non-whitespace text")
    refuse("max_tokens" not in body, "max_tokens: Field required")
    refuse(not 0 <= (body.get("temperature") or 0) <= 1, "temperature: range: 0..1")
    marks = sum(_marks(body.get(key)) for key in ("tools", "system", "messages")) + bool(body.get("cache_control"))
    refuse(marks > 4, f"A maximum of 4 blocks with cache_control may be provided. Found {marks}.")
    for key in sorted(body.keys() - ANTHROPIC_FIELDS):
        refuse(True, f"{key}: Extra inputs are not permitted")
    names = [tool["name"] for tool in body.get("tools", ())]
    refuse(len(set(names)) < len(names), "tools: Tool names must be unique.")
    refuse("tool_choice" in body and not names, "tool_choice: may only be specified while providing `tools`")
    _anthropic_messages(body["messages"])
    _anthropic_media(body["messages"])
    _anthropic_server_tools(body["messages"])
    _anthropic_thinking(body["messages"])


def _blocks(messages: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The blocks of messages, those of results after the result that holds them, each with its place."""
    for at, message in enumerate(messages):
        for place, block in enumerate(message["content"] if isinstance(message["content"], list) else ()):
            yield f"messages.{at}.content.{place}", block
            inner = block.get("content") if block["type"] == "tool_result" else None
            for part in inner if isinstance(inner, list) else ():
                yield f"messages.{at}.content.{place}.tool_result.content", part


@documented("platform.claude.com/docs/en/build-with-claude/vision and /pdf-support")
def _anthropic_media(messages: list[dict[str, Any]]) -> None:
    types = {
        "image": {"image/jpeg", "image/png", "image/gif", "image/webp"},
        "document": {"application/pdf", "text/plain"},
    }
    for where, block in _blocks(messages):
        if block["type"] not in types or block["source"]["type"] not in ("base64", "text"):
            continue
        source = block["source"]
        refuse(source["media_type"] not in types[block["type"]], f"{where}.source.media_type: {source['media_type']}")
        refuse(not source["data"], f"{where}.source.data: must not be empty")


@documented("github.com/anthropics/claude-code/issues/64383")
def _anthropic_server_tools(messages: list[dict[str, Any]]) -> None:
    for at, message in enumerate(messages):
        used: set[str] = set()
        for block in message["content"] if isinstance(message["content"], list) else ():
            kind = block["type"]
            if kind == "server_tool_use":
                used.add(block["id"])
            refuse(
                kind.endswith("_tool_result") and kind != "mcp_tool_result" and block["tool_use_id"] not in used,
                f"messages.{at}: unexpected `tool_use_id` found in `{kind}` blocks. Each `{kind}` block must have a "
                "corresponding `server_tool_use` block before it.",
            )


@documented("github.com/tailcallhq/forgecode/issues/2107")
def _anthropic_thinking(messages: list[dict[str, Any]]) -> None:
    for at, message in enumerate(messages):
        last = message["content"][-1] if isinstance(message["content"], list) else {}
        refuse(
            message["role"] == "assistant" and last.get("type") in ("thinking", "redacted_thinking"),
            f"messages.{at}: The final block in an assistant message cannot be `thinking`.",
        )


def _anthropic_messages(messages: list[dict[str, Any]]) -> None:
    refuse(not messages or messages[0]["role"] != "user", 'messages: first message must use the "user" role')
    open_: list[str] = []
    seen: set[str] = set()
    for at, message in enumerate(messages):
        refuse(message["role"] not in ("user", "assistant"), f"messages.{at}: role {message['role']}")
        content = message["content"]
        refuse(not content, f"messages.{at}: must have non-empty content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        first = [block["type"] for block in blocks][: len(results)]
        refuse(set(first) - {"tool_result"}, f"messages.{at}: tool_result blocks must come first")
        refuse(
            sorted(results) != sorted(open_),
            f"messages.{at}: tool_use ids {open_} were found without tool_result blocks immediately after",
        )
        open_ = []
        for block in blocks:
            refuse(
                block["type"] == "thinking" and not block.get("signature"),
                f"messages.{at}.thinking.signature: Field required",
            )
            if block["type"] == "text":
                refuse(
                    not block["text"].strip(), f"messages.{at}: text content blocks must contain non-whitespace text"
                )
            if block["type"] == "tool_use":
                refuse(
                    not NAME.match(block["name"]), f"messages.{at}.tool_use.name: String should match pattern {NAME}"
                )
                refuse(not re.match(r"[a-zA-Z0-9_-]+\Z", block["id"]), f"messages.{at}.tool_use.id: pattern")
                refuse(block["id"] in seen, f"messages.{at}: tool_use ids must be unique")
                seen.add(block["id"])
                open_.append(block["id"])
    refuse(open_, "messages: tool_use without tool_result")
    last = messages[-1]
    if last["role"] == "assistant":
        text = last["content"] if isinstance(last["content"], str) else last["content"][-1].get("text", "")
        refuse(text != text.rstrip(), "messages: final assistant content cannot end with trailing whitespace")


@documented("docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude")
def vertex_claude(body: dict[str, Any]) -> None:
    """What Vertex documents of Claude: the address names the model, the body the version of the wire."""
    refuse("model" in body, "model: Extra inputs are not permitted")
    refuse(body.get("anthropic_version") != "vertex-2023-10-16", "anthropic_version: Field required")
    # langchain-google#1612, claude-code#37746.
    for key in ("cache_control", "output_config"):
        refuse(key in body, f"{key}: Extra inputs are not permitted")
    anthropic({key: value for key, value in body.items() if key != "anthropic_version"})


@documented("developers.openai.com/api/reference/resources/chat")
def openai_chat(body: dict[str, Any]) -> None:
    """What Chat Completions documents: a tool's message answers a call before it, and all are answered."""
    output = body.get("response_format", {}).get("json_schema")
    if output is not None:
        refuse(not NAME.match(output["name"]), "response_format.json_schema.name: pattern")
        if output.get("strict"):
            openai_schema(output["schema"], "response_format")
    for at, tool in enumerate(body.get("tools", ())):
        kind = tool["type"]
        refuse(not NAME.match(tool[kind]["name"]), f"tools[{at}].{kind}.name: pattern")
        if kind == "function" and tool["function"].get("strict"):
            openai_schema(tool["function"]["parameters"], f"tools[{at}]")
    for key in ("tool_choice", "parallel_tool_calls"):
        refuse(key in body and not body.get("tools"), f"'{key}' is only allowed when 'tools' are specified.", param=key)
    refuse(body.get("tools", ...) == [], "[] is too short - 'tools'", param="tools")
    _chat_parts(body["messages"])
    open_: list[str] = []
    for at, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            refuse(message["tool_call_id"] not in open_, f"messages[{at}]: 'tool' must follow its 'tool_calls'")
            refuse(not isinstance(message.get("content"), (str, list)), f"messages[{at}]: content")
            open_.remove(message["tool_call_id"])
            continue
        refuse(open_, f"messages[{at}]: tool_call_ids {open_} did not have response messages")
        calls = message.get("tool_calls", ())
        refuse(not message.get("content") and not calls, f"messages[{at}]: content is empty")
        for call in calls:
            refuse(not NAME.match(call["function"]["name"]), f"messages[{at}].tool_calls.function.name: pattern")
            refuse(not 0 < len(call["id"]) <= 40, f"messages[{at}].tool_calls.id: string too long")
            json.loads(call["function"]["arguments"])
            open_.append(call["id"])
        refuse(len(set(open_)) < len(open_), f"messages[{at}]: an id stands twice")
    refuse(open_, "messages: tool_calls without answers")


CHAT_PARTS = {
    "user": {"text", "image_url", "input_audio", "file"},
    "assistant": {"text", "refusal"},
    "system": {"text"},
    "developer": {"text"},
    "tool": {"text"},
}


@documented("developers.openai.com/api/reference/resources/chat")
def _chat_parts(messages: list[dict[str, Any]]) -> None:
    """The kinds of parts that a message of each role may hold, and pictures at an address or as data."""
    for at, message in enumerate(messages):
        content = message.get("content")
        for place, part in enumerate(content if isinstance(content, list) else ()):
            where, known = f"messages[{at}].content[{place}]", CHAT_PARTS.get(message["role"], {part["type"]})
            refuse(part["type"] not in known, f"{where}: Invalid value: '{part['type']}'. Supported: {sorted(known)}")
            url = part["image_url"]["url"] if part["type"] == "image_url" else "data:image/"
            refuse(not url.startswith(("http://", "https://", "data:image/")), f"{where}.image_url.url: no address")


@documented("developers.openai.com/api/reference/resources/responses")
def openai_responses(body: dict[str, Any]) -> None:
    """What Responses documents: each call has its output, names and ids of a pattern and length."""
    output = body.get("text", {}).get("format")
    if output is not None and output.get("strict"):
        openai_schema(output["schema"], "text.format")
    for at, tool in enumerate(body.get("tools", ())):
        if tool.get("strict"):
            openai_schema(tool["parameters"], f"tools[{at}]")
    called: set[str] = set()
    answered: set[str] = set()
    given = body["input"]
    for at, item in enumerate([{"role": "user", "content": given}] if isinstance(given, str) else given):
        kind = item.get("type", "message")
        if kind == "function_call":
            refuse(not NAME.match(item["name"]), f"input[{at}].name: expected a string that matches the pattern")
            refuse(not 0 < len(item["call_id"]) <= 64, f"input[{at}].call_id: string too long")
            refuse(item["call_id"] in called, f"input[{at}]: call_id stands twice")
            called.add(item["call_id"])
        elif kind == "function_call_output":
            # What goes on from an answer that is kept there answers its calls.
            kept = body.get("previous_response_id") is not None
            refuse(
                item["call_id"] not in called and not kept, f"input[{at}]: No tool call found for function call output"
            )
            answered.add(item["call_id"])
        elif kind == "message":
            refuse(item["content"] in ("", []), f"input[{at}].content is empty")
    for key in ("tool_choice", "parallel_tool_calls"):
        refuse(key in body and not body.get("tools"), f"'{key}' is only allowed when 'tools' are specified.", param=key)
    if not isinstance(given, str):
        _response_parts(given)
        _response_ids(given)
        _response_reasoning(given)
    refuse(called - answered, f"No tool output found for function call {called - answered}")


@documented("github.com/jeremychone/rust-genai/pull/119")
def _response_parts(items: list[dict[str, Any]]) -> None:
    for at, item in enumerate(items):
        kind, content = item.get("type", "message"), item.get("content", item.get("output"))
        if kind not in ("message", "function_call_output") or isinstance(content, str):
            continue
        said = kind == "message" and item["role"] == "assistant"
        known = ["output_text", "refusal"] if said else ["input_text", "input_image", "input_file"]
        for place, part in enumerate(content or ()):
            refuse(
                part["type"] not in known,
                f"Invalid value: '{part['type']}'. Supported values are: {known}.",
                param=f"input[{at}].content[{place}]",
            )


@documented("github.com/nodetool-ai/nodetool/pull/4252")
def _response_ids(items: list[dict[str, Any]]) -> None:
    begins = {"function_call": "fc", "message": "msg", "reasoning": "rs"}
    for at, item in enumerate(items):
        start = begins.get(item.get("type", "message"))
        refuse(
            start and item.get("id") is not None and not item["id"].startswith(start),
            f"Invalid 'input[{at}].id': '{item.get('id')}'. Expected an ID that begins with '{start}'.",
            param=f"input[{at}].id",
        )


@documented("github.com/openai/openai-node/issues/1567 and newo-ether/Agora/issues/141")
def _response_reasoning(items: list[dict[str, Any]]) -> None:
    """Reasoning has a summary, if an empty one, and something of the model's behind it."""
    for at, item in enumerate(items):
        if item.get("type") != "reasoning":
            continue
        refuse(
            "summary" not in item, f"Missing required parameter: 'input[{at}].summary'.", param=f"input[{at}].summary"
        )
        after = items[at + 1] if at + 1 < len(items) else {"type": "function_call_output"}
        others = after.get("type", "message") == "message" and after["role"] != "assistant"
        refuse(
            others or after.get("type") == "function_call_output",
            f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item.",
            param="input",
        )


@documented("github.com/mistralai/mistral-common: protocol/instruct/validator.py")
def mistral(body: dict[str, Any]) -> None:
    """The order of roles that Mistral's validation documents, with its rules for names."""
    follows = {
        None: {"system", "user", "assistant"},
        "system": {"system", "user", "assistant"},
        "user": {"user", "assistant", "system"},
        "assistant": {"assistant", "user", "tool"},
        "tool": {"assistant", "tool"},
    }
    openai_chat(body)
    before = None
    for message in body["messages"]:
        role = message["role"]
        refuse(role not in follows[before], f"Unexpected role '{role}' after role '{before}'")
        before = role
    refuse(before not in ("user", "tool"), f"Expected last role User or Tool for serving but got {before}")


FUNCTION = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}\Z")


@documented("ai.google.dev/gemini-api/docs/structured-output")
def gemini_schema(schema: dict[str, Any], where: str) -> None:
    """The subset that the Gemini API documents for `responseJsonSchema`."""
    defs = _definitions(schema)
    allowed = STRUCTURE | {"format", "items", "prefixItems", "minItems", "maxItems", "minimum", "maximum", "oneOf"}
    allowed |= {"properties", "required", "additionalProperties"}
    for part, at in _walk(schema, defs, where):
        refuse("$ref" in part and part["$ref"] not in defs, f"{at}: reference can't be resolved")
        refuse(part.keys() - allowed, f"{at}: unknown names {sorted(part.keys() - allowed)}")
        refuse(part.get("format", "date") not in ("date-time", "date", "time"), f"{at}: format")


@documented("ai.google.dev/api/generate-content")
def gemini(body: dict[str, Any]) -> None:
    """What `generateContent` documents: turns that alternate and begin with the user's, results behind their calls."""
    output = body.get("generationConfig", {}).get("responseJsonSchema")
    if output is not None:
        gemini_schema(output, "generation_config.response_json_schema")
    for at, declared in enumerate(
        one for each in body.get("tools", ()) for one in each.get("functionDeclarations", ())
    ):
        refuse(
            not FUNCTION.match(declared["name"]), f"tools[0].function_declarations[{at}].name: Invalid function name"
        )
    contents = body["contents"]
    refuse(not contents or contents[0]["role"] != "user", "the first content must be of the user")
    called: list[tuple[Any, Any]] = []
    before = None
    for at, content in enumerate(contents):
        refuse(content["role"] not in ("user", "model"), "Please use a valid role: user, model.")
        refuse(content["role"] == before, f"contents[{at}]: roles must alternate")
        before, parts = content["role"], content["parts"]
        refuse(not parts, f"contents[{at}].parts must not be empty.")
        refuse(any(part.get("text") == "" for part in parts), f"contents[{at}].parts must have text")
        given = [part["functionResponse"] for part in parts if "functionResponse" in part]
        refuse(any("functionResponse" not in part for part in parts[: len(given)]), f"contents[{at}]: results first")
        refuse(any(not isinstance(one["response"], dict) for one in given), f"contents[{at}]: response is no Struct")
        refuse(
            [(one.get("id"), one["name"]) for one in given] != called,
            f"contents[{at}]: the number of function response parts is not equal to that of the function call parts",
        )
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        refuse(any(not FUNCTION.match(one["name"]) for one in calls), f"contents[{at}]: Invalid function name")
        refuse(any(not isinstance(one["args"], dict) for one in calls), f"contents[{at}]: args is no Struct")
        called = [(one.get("id"), one["name"]) for one in calls]
    refuse(called, "function calls without function responses")


@documented("ai.google.dev/gemini-api/docs/thought-signatures")
def gemini_signatures(contents: list[dict[str, Any]]) -> None:
    """What the models from Gemini 3 on check in the turn that is under way: each step's first call is signed."""
    step = 0
    for at, content in enumerate(contents):
        if content["role"] == "user" and not any("functionResponse" in part for part in content["parts"]):
            step = at
    for at, content in enumerate(contents[step:], step):
        first = next((part for part in content["parts"] if "functionCall" in part), None)
        refuse(
            first is not None and not first.get("thoughtSignature"),
            f"contents[{at}]: Function call is missing a thought_signature in functionCall parts.",
        )


@documented("console.groq.com/docs/openai")
def groq(body: dict[str, Any]) -> None:
    """What Groq says that it does not support of Chat Completions, and that JSON mode takes no tools."""
    openai_chat(body)
    for key in ("logprobs", "logit_bias", "top_logprobs"):
        refuse(body.get(key), f"property '{key}' is unsupported", param=key)
    refuse(body.get("n", 1) != 1, "'n' : number must be at most 1", param="n")
    for at, message in enumerate(body["messages"]):
        refuse("name" in message, f"'messages.{at}' : property 'name' is unsupported")
    kind = body.get("response_format", {}).get("type")
    refuse(
        kind in ("json_object", "json_schema") and body.get("tools"),
        "json mode cannot be combined with tool/function calling",
        param="response_format",
    )


@documented("api-docs.deepseek.com/api/create-chat-completion")
def deepseek(body: dict[str, Any]) -> None:
    """What DeepSeek documents: four roles, and answers as text or as any object of JSON."""
    openai_chat(body)
    roles = {"system", "user", "assistant", "tool"}
    for at, message in enumerate(body["messages"]):
        refuse(
            message["role"] not in roles,
            f"messages[{at}].role: unknown variant `{message['role']}`, expected one of `system`, `user`, `assistant`, "
            "`tool`",
        )
    kind = body.get("response_format", {}).get("type", "text")
    refuse(kind not in ("text", "json_object"), "This response_format type is unavailable now", param="response_format")


CALL_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}\Z")


@documented("docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html")
def bedrock(body: dict[str, Any]) -> None:
    """What `Converse` documents, and its service model: turns that alternate, results behind calls, no blank text."""
    refuse(body.keys() & {"model", "modelId", "stream"}, "the model and the stream belong to the address")
    schema = body.get("outputConfig", {}).get("textFormat")
    if schema is not None:
        anthropic_schema(json.loads(schema["structure"]["jsonSchema"]["schema"]), "outputConfig.textFormat")
    tools = [each["toolSpec"] for each in body.get("toolConfig", {"tools": []})["tools"] if "toolSpec" in each]
    refuse("toolConfig" in body and not tools, "toolConfig.tools: expected minimum item count: 1")
    refuse(any(not NAME.match(each["name"]) for each in tools), "toolConfig.tools: name failed the pattern")
    refuse(any(each.get("description") == "" for each in tools), "toolConfig.tools: description must not be empty")
    blank = any(each.get("text", "x").strip() == "" for each in body.get("system", ()))
    refuse(blank, "The text field in the system block is blank")
    messages = body["messages"]
    refuse(not messages or messages[0]["role"] != "user", "A conversation must start with a user message.")
    called: list[str] = []
    before = None
    for at, message in enumerate(messages):
        refuse(message["role"] == before, "A conversation must alternate between user and assistant roles.")
        before, content = message["role"], message["content"]
        refuse(not content, f"The content field in the Message object at messages.{at} is empty.")
        refuse(any(each.get("text", "x").strip() == "" for each in content), f"messages.{at}: the text field is blank")
        refuse(any(len(each) != 1 for each in content), f"messages.{at}: a content block is a union")
        # What has a type is of a tool that the provider runs.
        results = [each["toolResult"] for each in content if "type" not in each.get("toolResult", {"type": None})]
        refuse(
            sorted(each["toolUseId"] for each in results) != sorted(called),
            f"messages.{at}: toolResult blocks and toolUse blocks of previous turn do not match.",
        )
        refuse(any("toolResult" not in each for each in content[: len(results)]), f"messages.{at}: results first")
        inner = [part for each in results for part in each["content"]]
        refuse(any(not each["content"] for each in results), f"messages.{at}: a result is empty")
        refuse(any(part.get("text", "x").strip() == "" for part in inner), f"messages.{at}: a result is blank")
        calls = [each["toolUse"] for each in content if "type" not in each.get("toolUse", {"type": None})]
        refuse(any(not CALL_ID.match(each["toolUseId"]) for each in calls), f"messages.{at}: toolUseId")
        refuse(any(not NAME.match(each["name"]) for each in calls), f"messages.{at}: name failed the pattern")
        refuse(any(not isinstance(each["input"], dict) for each in calls), f"messages.{at}: input is no document")
        # What Anthropic refuses is refused of its models here too: github.com/tailcallhq/forgecode/issues/2107.
        thinks = message["role"] == "assistant" and "reasoningContent" in content[-1]
        refuse(thinks, f"messages.{at}: The final block in an assistant message cannot be `thinking`.")
        refuse(calls and not tools, "The toolConfig field must be defined when using toolUse and toolResult blocks.")
        called = [each["toolUseId"] for each in calls]
    refuse(called, "Expected toolResult blocks for the toolUse blocks of the last turn")
    _bedrock_media(messages)
    points = [each for message in messages for each in message["content"] if "cachePoint" in each]
    points += [
        each for each in [*body.get("system", ()), *body.get("toolConfig", {}).get("tools", ())] if "cachePoint" in each
    ]
    refuse(len(points) > 4, f"There are {len(points)} cachePoint blocks; at most 4 may be given")


@documented("docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html and _Message.html")
def _bedrock_media(messages: list[dict[str, Any]]) -> None:
    formats = {
        "image": {"png", "jpeg", "gif", "webp"},
        "document": {"pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"},
    }
    for at, message in enumerate(messages):
        given = message["content"]
        inner = [part for each in given if "toolResult" in each for part in each["toolResult"]["content"]]
        for kind, known in formats.items():
            for block in (each[kind] for each in [*given, *inner] if kind in each):
                refuse(block["format"] not in known, f"messages.{at}.{kind}.format: {block['format']}")
        for document in (each["document"] for each in [*given, *inner] if "document" in each):
            name = document["name"]
            legal = re.fullmatch(r"[a-zA-Z0-9\s()\[\]-]{1,200}", name) and not re.search(r"\s\s", name)
            refuse(not legal, f"messages.{at}.document.name: {name}")
        lacks = any("document" in each for each in given) and not any("text" in each for each in given)
        refuse(lacks, f"messages.{at}: a text block must be included when a document is")


# ---- providers ----

WIRES = {
    "/messages": "anthropic",
    "/chat/completions": "chat",
    "/responses": "responses",
    ":generateContent": "gemini",
    ":streamGenerateContent": "gemini",
    "/converse": "bedrock",
    "/converse-stream": "bedrock",
    ":rawPredict": "vertex_claude",
    ":streamRawPredict": "vertex_claude",
}
RULES: dict[str, Callable[..., None]] = {
    "anthropic": anthropic,
    "chat": openai_chat,
    "responses": openai_responses,
    "gemini": gemini,
    "bedrock": bedrock,
    "vertex_claude": vertex_claude,
}
PROVIDERS: dict[str, dict[str, Callable[..., None]]] = {
    "anthropic": {"anthropic": anthropic},
    "openai": {"chat": openai_chat, "responses": openai_responses},
    "azure": {"chat": openai_chat, "responses": openai_responses},
    "mistral": {"chat": mistral},
    "groq": {"chat": groq},
    "deepseek": {"chat": deepseek},
    "gemini": {"gemini": gemini},
    "bedrock": {"bedrock": bedrock},
    "vertex": {"gemini": gemini, "vertex_claude": vertex_claude},
    "any": RULES,
}
"""For each provider the rules of the wires that it speaks; `any` goes by the path alone."""


def refusal(provider: str, path: str, body: Any) -> tuple[int, dict[str, Any], Refused] | None:
    """The status, the body and the reason with which a provider refuses a request; `None` if it takes it."""
    bare, _, query = path.partition("?")
    wire = next((wire for end, wire in WIRES.items() if bare.endswith(end)), None)
    try:
        if provider == "azure":
            _azure_path(bare, query)
        rule = PROVIDERS[provider].get(wire or "")
        if rule is None:
            refused = Refused(f"there is nothing at {bare}")
            return 404, shape(provider, wire, refused), refused
        rule(body)
        if wire == "gemini" and bare.rpartition("/")[2].startswith("gemini-3"):
            gemini_signatures(body["contents"])
    except Refused as refused:
        return 404 if refused.code == "404" else 400, shape(provider, wire, refused), refused
    return None


@documented("learn.microsoft.com/azure/ai-foundry/openai/reference")
def _azure_path(path: str, query: str) -> None:
    deployed = "/openai/deployments/" in path
    refuse(not deployed and "/openai/v1/" not in path, "Resource not found", code="404")
    refuse(deployed and "api-version=" not in query, "Resource not found", code="404")


def shape(provider: str, wire: str | None, refused: Refused) -> dict[str, Any]:
    """The body of an error, as the provider writes it."""
    words = str(refused)
    if provider == "mistral":
        kind = "invalid_request_message_order" if "role" in words else "invalid_request_error"
        return {"object": "error", "message": words, "type": kind, "param": None, "code": "3230"}
    if wire in ("anthropic", "vertex_claude"):
        return {"type": "error", "error": {"type": "invalid_request_error", "message": words}, "request_id": "req_1"}
    if wire == "bedrock":
        return {"__type": "ValidationException", "message": words}
    if wire == "gemini":
        return {"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}}
    error = {"message": words, "type": "invalid_request_error", "param": refused.param, "code": refused.code}
    return {"error": error}
