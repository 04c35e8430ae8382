"""What providers refuse, by their documentation: rules over the bodies of requests, each with its source.

`WireServer(strict="anthropic")` answers with the provider's own error where a rule is broken. What is documented
nowhere is not refused.
"""

# ruff: noqa: PLR2004 - the numbers are the documented ones, and stand nowhere else.

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING, Any

from ._strict_anthropic import LONG_NAME, anthropic, vertex_claude
from ._strict_schemas import Refused, anthropic_schema, documented, openai_schema, refuse

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PROVIDERS", "RULES", "Refused", "refusal"]

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
CALL_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}\Z")

# Where rules stand that several providers share.
OPENAI_SPEC = "openai/openai-openapi: openapi.yaml"
CONVERSE = "boto/botocore: botocore/data/bedrock-runtime/2023-09-30/service-2.json"
GOOGLE_TYPES = "googleapis/python-genai: google/genai/types.py"
RECORDED = "pydantic/pydantic-ai: tests/models/cassettes"


# ---- OpenAI Chat Completions and Responses ----


@documented(f"{OPENAI_SPEC} (FunctionObject, ResponseFormatJsonSchema)")
def _chat_names(body: dict[str, Any]) -> None:
    """Names of 64 letters, digits, `_` and `-`, of schemas and of tools."""
    output = body.get("response_format", {}).get("json_schema")
    refuse(output is not None and not NAME.match(output["name"]), "response_format.json_schema.name: pattern")
    for at, tool in enumerate(body.get("tools", ())):
        kind = tool.get("type", "function")
        refuse(not NAME.match(tool[kind]["name"]), f"tools[{at}].{kind}.name: pattern")


@documented("evalstate/fast-agent#314, aliasrobotics/cai#111, BerriAI/litellm#10083")
def _chat_pairs(messages: list[dict[str, Any]]) -> None:
    """A tool's message answers a call of the message before it, and all calls are answered before anything else."""
    open_: list[str] = []
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            refuse(
                message["tool_call_id"] not in open_,
                f"messages[{at}]: 'tool' must follow its 'tool_calls'",
                source="prism-php/prism#175, simonw/llm#937",
            )
            open_.remove(message["tool_call_id"])
            continue
        refuse(open_, f"messages[{at}]: tool_call_ids {open_} did not have response messages")
        open_ = [call["id"] for call in message.get("tool_calls") or ()]
    refuse(open_, "messages: tool_calls without answers")


@documented(OPENAI_SPEC)
def openai_chat(body: dict[str, Any]) -> None:
    """What Chat Completions refuses: schemas, names and ids, options without tools, and calls without answers."""
    output = body.get("response_format", {}).get("json_schema")
    if output is not None and output.get("strict"):
        openai_schema(output["schema"], "response_format")
    for at, tool in enumerate(body.get("tools", ())):
        if tool["type"] == "function" and tool["function"].get("strict"):
            openai_schema(tool["function"]["parameters"], f"tools[{at}]")
    _chat_names(body)
    for key in ("tool_choice", "parallel_tool_calls"):
        refuse(
            key in body and not body.get("tools"),
            f"'{key}' is only allowed when 'tools' are specified.",
            param=key,
            source="openai/swarm#30, writer/writer-framework#1013",
        )
    stops = body.get("stop")
    refuse(
        isinstance(stops, list) and len(stops) > 4,
        "Invalid 'stop': array too long. Expected an array with maximum length 4.",
        param="stop",
        source=f"{OPENAI_SPEC} (StopConfiguration: maxItems); continuedev/continue#2461",
    )
    _openai_model(body)
    empty = "cssxsh/mirai-openai-plugin#43, JetBrains/koog#786"
    refuse(body.get("tools", ...) == [], "[] is too short - 'tools'", param="tools", source=empty)
    _chat_parts(body["messages"])
    for at, message in enumerate(body["messages"]):
        calls, content = message.get("tool_calls") or (), message.get("content")
        bare = f"{OPENAI_SPEC} (ChatCompletionRequestAssistantMessage: required unless there are tool_calls; minItems)"
        refuse(content == [] or (content is None and not calls), f"messages[{at}]: content is missing", source=bare)
        for call in calls:
            refuse(
                not 0 < len(call["id"]) <= 40,
                f"messages[{at}].tool_calls.id: string too long. Expected a string with maximum length 40",
                source="vercel/ai#5171, microsoft/autogen#6377",
            )
    _chat_pairs(body["messages"])


@documented(f"{OPENAI_SPEC} (StopConfiguration, ReasoningEffort); BerriAI/litellm#15244, huggingface/smolagents#1868")
def _openai_model(body: dict[str, Any]) -> None:
    """Models that reason take no stop, others no effort of reasoning."""
    model = str(body.get("model", ""))
    effort = "reasoning_effort" in body or "effort" in (body.get("reasoning") or {})
    reasons = re.match(r"o[134]|gpt-[5-9](?!-chat)", model)
    later = reasons and not model.startswith("o1")
    words = "Unsupported parameter: 'stop' is not supported with this model."
    refuse(body.get("stop") and later, words, param="stop")
    plain = re.match(r"gpt-[34]|chatgpt", model)
    words = "Unsupported parameter: 'reasoning_effort' is not supported with this model."
    refuse(effort and plain, words, param="reasoning_effort", source="BoundaryML/baml#2708, AAswordman/Operit#1048")


CHAT_PARTS = {
    "user": {"text", "image_url", "input_audio", "file"},
    "assistant": {"text", "refusal"},
    "system": {"text"},
    "developer": {"text"},
    "tool": {"text"},
}


@documented(f"{OPENAI_SPEC} (ChatCompletionRequest…MessageContentPart)")
def _chat_parts(messages: list[dict[str, Any]]) -> None:
    """The kinds of parts that a message of each role may hold, and pictures at an address or as data."""
    for at, message in enumerate(messages):
        content = message.get("content")
        for place, part in enumerate(content if isinstance(content, list) else ()):
            where, known = f"messages[{at}].content[{place}]", CHAT_PARTS.get(message["role"], {part["type"]})
            refuse(part["type"] not in known, f"{where}: Invalid value: '{part['type']}'. Supported: {sorted(known)}")
            url = part["image_url"]["url"] if part["type"] == "image_url" else "data:image/"
            refuse(not url.startswith(("http://", "https://", "data:image/")), f"{where}.image_url.url: no address")


@documented("continuedev/continue#10092, bytedance/trae-agent#245")
def _response_pairs(body: dict[str, Any]) -> None:
    """Each call has its output; what goes on from an answer that is kept there answers its calls."""
    kept = body.get("previous_response_id") is not None or body.get("conversation") is not None
    called: set[str] = set()
    wanted: set[str] = set()
    for at, item in enumerate(body["input"]):
        kind, call_id = item.get("type", "message"), item.get("call_id")
        if kind.endswith("_call") and call_id:
            called.add(call_id)
            wanted |= {call_id} if kind == "function_call" else set()
        elif kind == "function_call_output":
            refuse(call_id not in called and not kept, f"input[{at}]: No tool call found for function call output")
            wanted.discard(call_id)
    refuse(wanted, f"No tool output found for function call {wanted}")


@documented(f"{OPENAI_SPEC} (FunctionToolParam, FunctionCallOutputItemParam)")
def openai_responses(body: dict[str, Any]) -> None:
    """What Responses refuses: schemas, names and ids of another form, calls without output, reasoning on its own."""
    output = body.get("text", {}).get("format")
    if output is not None and output.get("strict"):
        openai_schema(output["schema"], "text.format")
    for at, tool in enumerate(body.get("tools", ())):
        if tool["type"] == "function":
            refuse(not LONG_NAME.match(tool["name"]), f"tools[{at}].name: expected a string that matches the pattern")
            if tool.get("strict"):
                openai_schema(tool["parameters"], f"tools[{at}]")
    _openai_model(body)
    if isinstance(body["input"], str):
        return
    for at, item in enumerate(body["input"]):
        if item.get("type") == "function_call":
            named = LONG_NAME.match(item["name"])
            refuse(not named, f"input[{at}].name: expected a string that matches the pattern")
            refuse(
                not 0 < len(item["call_id"]) <= 64,
                f"input[{at}].call_id: string too long. Expected a string with maximum length 64",
                source="AnswerDotAI/fastllm#45, HKUDS/nanobot#1623",
            )
    _response_parts(body["input"])
    _response_ids(body["input"])
    _response_reasoning(body["input"])
    _response_pairs(body)


@documented(f"{OPENAI_SPEC} (InputContent, OutputMessageContent); jeremychone/rust-genai#119")
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


@documented("nodetool-ai/nodetool#4252, openai/codex#33176, jlcodes99/cockpit-tools#2090")
def _response_ids(items: list[dict[str, Any]]) -> None:
    begins = {"function_call": "fc", "message": "msg", "reasoning": "rs"}
    for at, item in enumerate(items):
        start = begins.get(item.get("type", "message"))
        refuse(
            start and item.get("id") is not None and not item["id"].startswith(start),
            f"Invalid 'input[{at}].id': '{item.get('id')}'. Expected an ID that begins with '{start}'.",
            param=f"input[{at}].id",
        )


@documented(f"{RECORDED}/test_openai_responses/test_openai_responses_thinking_with_modified_history.yaml")
def _response_reasoning(items: list[dict[str, Any]]) -> None:
    """Reasoning has a summary, if an empty one, and something of the model's behind it, which has its id too."""
    for at, item in enumerate(items):
        if item.get("type") != "reasoning":
            continue
        refuse(
            "summary" not in item,
            f"Missing required parameter: 'input[{at}].summary'.",
            param=f"input[{at}].summary",
            source=f"{OPENAI_SPEC} (ReasoningItem)",
        )
        after = items[at + 1] if at + 1 < len(items) else {"type": "function_call_output"}
        said = after.get("type", "message") == "message"
        refuse(
            (said and (after["role"] != "assistant" or (item.get("id") and not after.get("id"))))
            or after.get("type") == "function_call_output",
            f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item.",
            param="input",
        )


# ---- hosts that speak Chat Completions ----

VALIDATOR = "mistralai/mistral-common: src/mistral_common/protocol/instruct/validator.py"


@documented(VALIDATOR)
def mistral(body: dict[str, Any]) -> None:
    """What Mistral's validation refuses: names, ids of nine letters, an order of roles, calls without answers."""
    follows = {
        None: {"system", "user", "assistant"},
        "system": {"system", "user", "assistant"},
        "user": {"user", "assistant", "system"},
        "assistant": {"assistant", "user", "tool"},
        "tool": {"assistant", "tool"},
    }
    _chat_names(body)
    before = None
    for at, message in enumerate(body["messages"]):
        role, calls = message["role"], message.get("tool_calls") or ()
        refuse(
            role not in follows[before],
            f"Unexpected role '{role}' after role '{before}'",
            source=f"{VALIDATOR}; datapizza-labs/datapizza-ai#98, BerriAI/litellm#17761",
        )
        before = role
        refuse(
            role == "assistant" and not message.get("content") and not calls,
            f"messages[{at}]: Assistant message must have either content or tool_calls",
            source=f"{VALIDATOR}; pydantic/pydantic-ai: pydantic_ai_slim/pydantic_ai/models/mistral.py",
        )
        for call in calls:
            name, call_id = call["function"]["name"], call["id"]
            refuse(not NAME.match(name), f"messages[{at}]: Function name was {name}")
            refuse(not re.match(r"[a-zA-Z0-9]{9}\Z", call_id), f"messages[{at}]: Tool call id was {call_id}")
        ids = [call["id"] for call in calls]
        refuse(len(set(ids)) < len(ids), f"messages[{at}]: Duplicate tool call id in assistant message")
    refuse(before not in ("user", "tool"), f"Expected last role User or Tool for serving but got {before}")
    _mistral_pairs(body["messages"])


@documented(VALIDATOR)
def _mistral_pairs(messages: list[dict[str, Any]]) -> None:
    wanted: set[str] = set()
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            refuse(
                message["tool_call_id"] not in wanted,
                f"messages[{at}]: Unexpected tool call id {message['tool_call_id']} in tool results",
            )
            wanted.discard(message["tool_call_id"])
        elif message["role"] == "assistant":
            refuse(wanted, "Not the same number of function calls and responses")
            wanted = {call["id"] for call in message.get("tool_calls") or ()}
    refuse(wanted, "Not the same number of function calls and responses")


@documented("console.groq.com/docs/openai")
def groq(body: dict[str, Any]) -> None:
    """What Groq says that it does not support of Chat Completions, and that JSON mode takes no tools."""
    for at, tool in enumerate(body.get("tools", ())):
        named = tool["type"] != "function" or NAME.match(tool["function"]["name"])
        types = "groq/groq-python: src/groq/types/shared_params/function_definition.py"
        refuse(not named, f"'tools.{at}.function.name' : pattern", source=types)
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
        source="agno-agi/agno#1065, vercel/ai#16540",
    )


@documented("api-docs.deepseek.com/api/create-chat-completion; earendil-works/pi#1048, EKKOLearnAI/hermes-studio#1926")
def deepseek(body: dict[str, Any]) -> None:
    """What DeepSeek refuses: other roles, answers by a schema, and calls without answers."""
    roles = {"system", "user", "assistant", "tool", "latest_reminder"}
    for at, message in enumerate(body["messages"]):
        refuse(
            message["role"] not in roles,
            f"messages[{at}].role: unknown variant `{message['role']}`, expected one of `system`, `user`, `assistant`, "
            "`tool`, `latest_reminder`",
        )
    refuse(
        body.get("response_format", {}).get("type", "text") not in ("text", "json_object"),
        "This response_format type is unavailable now",
        param="response_format",
        source="ItzCrazyKns/Vane#969",
    )
    _deepseek_pairs(body["messages"])


@documented("langgenius/dify#32222, smallmain/vscode-unify-chat-provider#248")
def _deepseek_pairs(messages: list[dict[str, Any]]) -> None:
    _chat_pairs(messages)


@documented(f"{RECORDED}/test_deepseek_responses/test_deepseek_responses_rejects_interleaved_function_calls.yaml")
def deepseek_responses(body: dict[str, Any]) -> None:
    """What DeepSeek refuses over Responses: something of the model's between a call and the outputs of its turn."""
    open_: list[str] = []
    for item in body["input"] if isinstance(body["input"], list) else ():
        kind = item.get("type", "message")
        if kind == "function_call":
            open_.append(item["call_id"])
        elif kind == "function_call_output":
            open_ = [call_id for call_id in open_ if call_id != item["call_id"]]
        else:
            refuse(open_, f"No tool output found for tool call {open_[:1]}.")
    refuse(open_, f"No tool output found for tool call {open_[:1]}.")


@documented("vm0-ai/vm0#15388")
def deepseek_claude(body: dict[str, Any]) -> None:
    """What DeepSeek refuses over the wire of Anthropic: other roles than two."""
    for at, message in enumerate(body["messages"]):
        refuse(
            message["role"] not in ("user", "assistant"),
            f"messages[{at}].role: unknown variant `{message['role']}`, expected `user` or `assistant`",
        )


# ---- Gemini ----

FUNCTION = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}\Z")


def _parts(content: dict[str, Any], *names: str) -> list[Any]:
    """What the parts of a content hold under one of these names: the API takes both ways to write them."""
    return [part[name] for part in content["parts"] for name in names if name in part]


@documented(f"{GOOGLE_TYPES} (Content, FunctionCall, FunctionResponse)")
def gemini(body: dict[str, Any]) -> None:
    """What `generateContent` refuses: tools of two kinds unasked, and what it refuses on Vertex too."""
    _gemini_tools(body)
    _generate_content(body)


@documented("strands-agents/harness-sdk#3646, ag2ai/ag2#3145")
def vertex_gemini(body: dict[str, Any]) -> None:
    """What Vertex refuses of Gemini: a member of `toolConfig` that the Gemini API alone has."""
    config = body.get("toolConfig") or body.get("tool_config") or {}
    name = "includeServerSideToolInvocations"
    refuse(name in config, f"Invalid JSON payload received. Unknown name \"{name}\" at 'tool_config'")
    _generate_content(body)


@documented(f"{GOOGLE_TYPES} (Content, FunctionCall, FunctionResponse)")
def _generate_content(body: dict[str, Any]) -> None:
    """Other roles, no parts, names, and calls whose results do not follow them."""
    tools = body.get("tools", ())
    for each in [tools] if isinstance(tools, dict) else tools:
        for declared in each.get("functionDeclarations") or each.get("function_declarations") or ():
            refuse(
                not FUNCTION.match(declared["name"]),
                f"tools[0].function_declarations.name: Invalid function name {declared['name']}",
                source="kaitranntt/ccs#25, google-gemini/gemini-cli#7869",
            )
    stops = (body.get("generationConfig") or {}).get("stopSequences") or ()
    refuse(
        len(stops) > 5,
        "GenerateContentRequest.generation_config.stop_sequences: the number of stop_sequences must not exceed 5.",
        source="BerriAI/litellm#18921",
    )
    contents = body["contents"]
    refuse(not contents, "contents is not specified", source="NousResearch/hermes-agent#57942")
    orphan = "google-gemini/gemini-cli#26956 and #27170"
    refuse(
        contents[0].get("role") == "model" and _parts(contents[0], "functionCall", "function_call"),
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
        source=orphan,
    )
    for at, content in enumerate(contents):
        refuse(
            content.get("role", "user") not in ("user", "model"),
            "Please use a valid role: user, model.",
            source="the-open-agent/openagent#1666, genkit-ai/genkit#5782",
        )
        refuse(
            not content["parts"],
            f"contents[{at}].parts: contents.parts must not be empty.",
            source="vercel/ai#3775, egoist/chatwise-releases#250",
        )
        given = _parts(content, "functionResponse", "function_response")
        refuse(any(not isinstance(one["response"], dict) for one in given), f"contents[{at}]: response is no Struct")
        calls = _parts(content, "functionCall", "function_call")
        refuse(any(not isinstance(one.get("args", {}), dict) for one in calls), f"contents[{at}]: args is no Struct")
    _gemini_pairs(contents)


def _kinds(body: dict[str, Any]) -> tuple[set[str], set[str]]:
    """The kinds of tools in a body: those that declare functions, and the provider's own."""
    tools = body.get("tools") or ()
    kinds = {key for each in ([tools] if isinstance(tools, dict) else tools) for key in each}
    calls = kinds & {"functionDeclarations", "function_declarations"}
    return calls, kinds - calls


@documented("cloudwego/eino-ext#761, strands-agents/harness-sdk#3646; ai.google.dev/gemini-api/docs/tool-combination")
def _gemini_tools(body: dict[str, Any]) -> None:
    """Tools of the provider beside functions are to be asked for, and a choice is one among functions."""
    calls, others = _kinds(body)
    config = body.get("toolConfig") or body.get("tool_config") or {}
    asked = config.get("includeServerSideToolInvocations") or config.get("include_server_side_tool_invocations")
    refuse(
        calls and others and not asked,
        "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling.",
    )
    choice = config.get("functionCallingConfig") or config.get("function_calling_config")
    refuse(
        choice and not calls,
        "Function calling config is set without function_declarations.",
        source="UKGovernmentBEIS/inspect_ai#2462, pydantic/pydantic-ai#5791",
    )


@documented("withceleste/celeste-python#197, snailyp/gemini-balance#17")
def gemini_older(body: dict[str, Any]) -> None:
    """What the models before Gemini 3 refuse: tools of the provider beside functions, however asked for."""
    calls, others = _kinds(body)
    refuse(calls and others, "Tool use with function calling is unsupported by the model.")


@documented("google-gemini/gemini-cli#5443 and #16984")
def _gemini_pairs(contents: list[dict[str, Any]]) -> None:
    """The results of a turn are as many as the calls of the turn before, by name; contents of one role are one turn."""
    words = (
        "Please ensure that the number of function response parts is equal to the number of function call parts of the "
        "function call turn."
    )
    called: list[str] = []
    for role, turn in itertools.groupby(contents, key=lambda content: content.get("role", "user")):
        parts = {"parts": [part for content in turn for part in content["parts"]]}
        if role == "user":
            given = [one["name"] for one in _parts(parts, "functionResponse", "function_response")]
            refuse(sorted(given) != sorted(called), words)
        called = [one["name"] for one in _parts(parts, "functionCall", "function_call")]
    refuse(called, words)


@documented(
    "ai.google.dev/gemini-api/docs/thought-signatures; microsoft/copilot-intellij-feedback#1381; "
    "pydantic/pydantic-ai: pydantic_ai_slim/pydantic_ai/models/google.py"
)
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


# ---- Bedrock Converse ----


def _bedrock_text(block: dict[str, Any], where: str) -> None:
    refuse(
        block.get("text") == "",
        f"The text field in the ContentBlock object at {where} is blank. Add text to the text field, and try again.",
        source="OpenHands/OpenHands#5339, boto/botocore#3525",
    )


@documented(CONVERSE)
def bedrock(body: dict[str, Any]) -> None:
    """What `Converse` refuses, by its service model and its own errors: turns that alternate, results behind calls."""
    refuse(body.keys() & {"model", "modelId", "stream"}, "the model and the stream belong to the address")
    schema = body.get("outputConfig", {}).get("textFormat")
    if schema is not None:
        _bedrock_schema(json.loads(schema["structure"]["jsonSchema"]["schema"]))
    tools = [each["toolSpec"] for each in body.get("toolConfig", {"tools": []})["tools"] if "toolSpec" in each]
    refuse("toolConfig" in body and not body["toolConfig"]["tools"], "toolConfig.tools: minimum item count: 1")
    refuse(any(not NAME.match(each["name"]) for each in tools), "toolConfig.tools: name failed the pattern")
    refuse(any(each.get("description") == "" for each in tools), "toolConfig.tools: description must not be empty")
    blank = any(each.get("text") == "" for each in body.get("system", ()))
    refuse(blank, "The text field in the system block is blank")
    _bedrock_messages(body["messages"], tools=bool(tools))
    _bedrock_media(body["messages"])
    points = [each for message in body["messages"] for each in message["content"] if "cachePoint" in each]
    points += [
        each for each in [*body.get("system", ()), *body.get("toolConfig", {}).get("tools", ())] if "cachePoint" in each
    ]
    refuse(
        len(points) > 4,
        f"There are {len(points)} cachePoint blocks; at most 4 may be given",
        source="docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html (checkpoints of a request)",
    )


@documented("docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html")
def _bedrock_schema(schema: dict[str, Any]) -> None:
    anthropic_schema(schema, "outputConfig.textFormat", {"minLength"})


@documented(CONVERSE)
def _bedrock_messages(messages: list[dict[str, Any]], *, tools: bool) -> None:
    alternate = "langchain-ai/langchain-aws#130 and #192, microsoft/semantic-kernel#10281"
    empty, counts = "earendil-works/pi#3443", "pydantic/pydantic-ai#2327, langgenius/dify-official-plugins#765"
    called: list[str] = []
    before = None
    for at, message in enumerate(messages):
        content = message["content"]
        refuse(
            message["role"] == before,
            "A conversation must alternate between user and assistant roles.",
            source=alternate,
        )
        before = message["role"]
        refuse(not content, f"The content field in the Message object at messages.{at} is empty.", source=empty)
        refuse(any(len(each) != 1 for each in content), f"messages.{at}: a content block is a union")
        # What has a type is of a tool that the provider runs.
        results = [each["toolResult"] for each in content if "type" not in each.get("toolResult", {"type": None})]
        refuse(
            sorted(each["toolUseId"] for each in results) != sorted(called),
            f"messages.{at}: toolResult blocks and toolUse blocks of previous turn do not match.",
            source=counts,
        )
        for part in [*content, *(part for each in results for part in each["content"])]:
            _bedrock_text(part, f"messages.{at}.content")
        calls = [each["toolUse"] for each in content if "type" not in each.get("toolUse", {"type": None})]
        refuse(any(not CALL_ID.match(each["toolUseId"]) for each in calls), f"messages.{at}: toolUseId")
        refuse(any(not NAME.match(each["name"]) for each in calls), f"messages.{at}: name failed the pattern")
        refuse(any(not isinstance(each["input"], dict) for each in calls), f"messages.{at}: input is no document")
        refuse(
            calls and not tools,
            "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
            source="langgenius/dify#17545, vxcontrol/pentagi#196",
        )
        called = [each["toolUseId"] for each in calls]
    refuse(called, "Expected toolResult blocks for the toolUse blocks of the last turn", source=counts)


@documented(f"{CONVERSE} (ImageBlock, DocumentBlock, Message)")
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
    "deepseek": {"chat": deepseek, "responses": deepseek_responses, "anthropic": deepseek_claude},
    "gemini": {"gemini": gemini},
    "bedrock": {"bedrock": bedrock},
    "vertex": {"gemini": vertex_gemini, "vertex_claude": vertex_claude},
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
        elif wire == "gemini" and bare.rpartition("/")[2].startswith(("gemini-1", "gemini-2")):
            gemini_older(body)
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
