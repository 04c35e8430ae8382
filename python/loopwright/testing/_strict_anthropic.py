"""What Anthropic's Messages refuse, at home and on Vertex: rules over the bodies of requests, each with its source."""

# ruff: noqa: PLR2004 - the numbers are the documented ones, and stand nowhere else.

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ._strict_schemas import anthropic_schema, documented, refuse

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LONG_NAME", "anthropic", "vertex_claude"]

LONG_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
CLAUDE_TYPES = "anthropics/anthropic-sdk-python: src/anthropic/types"

ANTHROPIC_FIELDS = {
    "model", "messages", "max_tokens", "system", "tools", "tool_choice", "temperature", "top_p", "top_k",
    "stop_sequences", "stream", "metadata", "thinking", "output_config", "cache_control", "service_tier", "container",
    "context_management", "mcp_servers", "inference_geo", "diagnostics", "fallback_credit_token", "fallbacks",
    "output_format", "speed",
}  # fmt: skip


def _marks(value: Any) -> int:
    """How many cache breakpoints stand in a part of a body; what a schema is called is none."""
    if isinstance(value, list):
        return sum(_marks(each) for each in value)
    if not isinstance(value, dict):
        return 0
    return ("cache_control" in value and value["cache_control"] is not None) + _marks(value.get("content"))


@documented(f"{CLAUDE_TYPES}/message_create_params.py and beta/message_create_params.py")
def anthropic(body: dict[str, Any]) -> None:
    """What `/v1/messages` refuses: schemas, names, marks and members, and messages that do not belong together."""
    output = body.get("output_config", {}).get("format")
    if output is not None:
        extra, types = sorted(output.keys() - {"type", "schema"}), f"{CLAUDE_TYPES}/json_output_format_param.py"
        refuse(extra, f"output_config.format: extra inputs {extra}", source=types)
        anthropic_schema(output["schema"], "output_config.format.schema")
    names = [tool["name"] for tool in body.get("tools", ())]
    for at, tool in enumerate(body.get("tools", ())):
        refuse(
            not LONG_NAME.match(tool["name"]),
            f"tools.{at}.name: String should match pattern",
            source="home-assistant/core#147760, anthropics/claude-code#96152",
        )
        if tool.get("strict"):
            anthropic_schema(tool["input_schema"], f"tools.{at}.input_schema")
    for at, block in enumerate(body["system"] if isinstance(body.get("system"), list) else ()):
        _anthropic_text(block["text"], f"system.{at}")
    refuse("max_tokens" not in body, "max_tokens: Field required")
    refuse(not 0 <= (body.get("temperature") or 0) <= 1, "temperature: range: 0..1")
    _anthropic_sampling(body)
    _anthropic_search(body.get("tools", ()))
    marks = sum(_marks(body.get(key)) for key in ("tools", "system", "messages")) + bool(body.get("cache_control"))
    refuse(
        marks > 4,
        f"A maximum of 4 blocks with cache_control may be provided. Found {marks}.",
        source="aakshintala/fiber: research/anthropic-messages-probe/README.md",
    )
    for key in sorted(body.keys() - ANTHROPIC_FIELDS):
        refuse(True, f"{key}: Extra inputs are not permitted")
    refuse(len(set(names)) < len(names), "tools: Tool names must be unique.", source="danny-avila/LibreChat#13162")
    refuse(
        body.get("tool_choice", {}).get("type") in ("any", "tool") and not names,
        "tool_choice: may only be specified while providing tools",
        source="aakshintala/fiber: research/anthropic-messages-probe/README.md",
    )
    _anthropic_messages(body["messages"])
    _anthropic_media(body["messages"])
    _anthropic_server_tools(body["messages"])
    _anthropic_thinking(body["messages"])
    _anthropic_thought(body)


@documented("platform.claude.com/docs/en/build-with-claude/effort; Vali-98/ChatterUI#564, comet-ml/opik#3728")
def _anthropic_sampling(body: dict[str, Any]) -> None:
    """One of two parameters of sampling, an effort for the models that have one, and stops that can be seen."""
    model = str(body.get("model", ""))
    # From Opus 4.1 on; Opus 4 and Sonnet 4 have a date behind their number.
    newer = re.match(r"claude-(opus-4-[1-9]\b|(sonnet|haiku)-4-[5-9]\b|(opus|sonnet|haiku)-[5-9])", model)
    both = body.get("temperature") is not None and body.get("top_p") is not None
    refuse(both and newer, "`temperature` and `top_p` cannot both be specified for this model. Please use only one.")
    effort = (body.get("output_config") or {}).get("effort")
    without = re.match(r"claude-([23]|instant|opus-4-([01]\b|\d{8})|sonnet-4-([05]\b|\d{8})|haiku-4)", model)
    refuse(effort is not None and without, "This model does not support the effort parameter.")
    refuse(
        any(not stop.strip() for stop in body.get("stop_sequences") or ()),
        "stop_sequences: each stop sequence must contain non-whitespace",
        source="BerriAI/litellm#3286",
    )


@documented("microsoft/vscode#314275, anthropics/claude-code#19131")
def _anthropic_search(tools: list[dict[str, Any]]) -> None:
    for at, tool in enumerate(tools):
        lists = [key for key in ("allowed_domains", "blocked_domains") if tool.get(key) is not None]
        refuse(len(lists) > 1, f"tools.{at}: Cannot specify both allowed_domains and blocked_domains")
        empty = "CherryHQ/cherry-studio#10374"
        refuse(any(tool[key] == [] for key in lists), f"tools.{at}: Empty list of domains is ambiguous.", source=empty)


def _blocks(messages: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The blocks of messages, those of results after the result that holds them, each with its place."""
    for at, message in enumerate(messages):
        for place, block in enumerate(message["content"] if isinstance(message["content"], list) else ()):
            yield f"messages.{at}.content.{place}", block
            inner = block.get("content") if block["type"] == "tool_result" else None
            for part in inner if isinstance(inner, list) else ():
                yield f"messages.{at}.content.{place}.tool_result.content", part


@documented("anthropics/claude-code#23369 and #59812")
def _anthropic_text(text: str, where: str) -> None:
    refuse(not text.strip(), f"{where}: text content blocks must contain non-whitespace text")


@documented(f"{CLAUDE_TYPES}/base64_image_source_param.py, base64_pdf_source_param.py and plain_text_source_param.py")
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


@documented("anthropics/claude-code#64383 and #80439")
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


@documented("tailcallhq/forgecode#2107, NousResearch/hermes-agent#16921")
def _anthropic_thinking(messages: list[dict[str, Any]]) -> None:
    for at, message in enumerate(messages):
        last = message["content"][-1] if isinstance(message["content"], list) else {}
        refuse(
            message["role"] == "assistant" and last.get("type") in ("thinking", "redacted_thinking"),
            f"messages.{at}: The final block in an assistant message cannot be `thinking`.",
        )


@documented("n8n-io/n8n#22550, langchain-ai/langchain-aws#844; CopilotKit/aimock: src/messages.ts")
def _anthropic_thought(body: dict[str, Any]) -> None:
    """With a budget for thinking, the turn whose calls were answered last begins with its thinking."""
    turns = _turns(body["messages"])
    if (body.get("thinking") or {}).get("type") != "enabled" or len(turns) < 2:
        return
    (at, _, said), (_, _, results) = turns[-2:]
    found = said[0]["type"]
    refuse(
        any(block["type"] == "tool_result" for block in results) and found not in ("thinking", "redacted_thinking"),
        f"messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`.",
    )


def _turns(messages: list[dict[str, Any]]) -> list[tuple[int, str, list[dict[str, Any]]]]:
    """The turns of messages: those of one role that follow each other are one, with the place of its last message."""
    turns: list[tuple[int, str, list[dict[str, Any]]]] = []
    for at, message in enumerate(messages):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if turns and turns[-1][1] == message["role"]:
            turns[-1] = (at, message["role"], [*turns[-1][2], *blocks])
        else:
            turns.append((at, message["role"], blocks))
    return turns


PAIRS = (
    "anthropics/anthropic-sdk-python: tests/lib/tools/__inline_snapshot__/test_runners/TestSyncRunTools; "
    "platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls"
)


@documented(PAIRS)
def _anthropic_messages(messages: list[dict[str, Any]]) -> None:
    for at, message in enumerate(messages):
        roles = f"{CLAUDE_TYPES}/message_param.py"
        refuse(message["role"] not in ("user", "assistant", "system"), f"messages.{at}.role", source=roles)
        empty = "anthropics/claude-code#59812"
        refuse(not message["content"], f"messages.{at}: must have non-empty content", source=empty)
        if isinstance(message["content"], str):
            _anthropic_text(message["content"], f"messages.{at}")
    open_: list[str] = []
    for at, role, blocks in _turns(messages):
        if role == "system":
            continue
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        first = [block["type"] for block in blocks][: len(results)]
        refuse(set(first) - {"tool_result"}, f"messages.{at}: tool_result blocks must come first")
        refuse(
            sorted(results) != sorted(open_),
            f"messages.{at}: tool_use ids {open_} were found without tool_result blocks immediately after",
        )
        for block in blocks:
            _anthropic_block(block, f"messages.{at}")
        open_ = [block["id"] for block in blocks if block["type"] == "tool_use"]
        twice = "anthropics/claude-code#20901, BerriAI/litellm#23510"
        refuse(len(set(open_)) < len(open_), f"messages.{at}: tool_use ids must be unique", source=twice)
    refuse(open_, "messages: tool_use without tool_result")
    last = messages[-1]
    if last["role"] == "assistant":
        text = last["content"] if isinstance(last["content"], str) else last["content"][-1].get("text", "")
        refuse(
            text != text.rstrip(),
            "messages: final assistant content cannot end with trailing whitespace",
            source="langchain-ai/langchain-aws: libs/aws/langchain_aws/utils.py; "
            "BerriAI/litellm: litellm/litellm_core_utils/prompt_templates/factory.py",
        )


def _anthropic_block(block: dict[str, Any], where: str) -> None:
    refuse(
        block["type"] == "thinking" and not block.get("signature"),
        f"{where}.thinking.signature: Field required",
        source=f"{CLAUDE_TYPES}/thinking_block_param.py; JohnnyZ93/oai-compatible-copilot#217",
    )
    if block["type"] == "text":
        _anthropic_text(block["text"], where)
    if block["type"] == "tool_use":
        refuse(
            not 0 < len(block["name"]) <= 200,
            f"{where}.tool_use.name: String should have at most 200 characters",
            source="anthropics/claude-code#2673",
        )
        refuse(
            not re.match(r"[a-zA-Z0-9_-]+\Z", block["id"]),
            f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
            source="anomalyco/opencode#1279, HKUDS/nanobot#4356",
        )


@documented("docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude")
def vertex_claude(body: dict[str, Any]) -> None:
    """What Vertex refuses of Claude: the address names the model, the body the version of the wire."""
    moved = "anthropics/anthropic-sdk-python: src/anthropic/lib/vertex/_client.py"
    refuse("model" in body, "model: Extra inputs are not permitted", source=moved)
    refuse(body.get("anthropic_version") != "vertex-2023-10-16", "anthropic_version: Field required", source=moved)
    refused = {
        "cache_control": "langchain-ai/langchain-google#1612",
        "output_config": "anthropics/claude-code#37746 and #52312, BerriAI/litellm#21407",
    }
    for key, source in refused.items():
        refuse(key in body, f"{key}: Extra inputs are not permitted", source=source)
    anthropic({key: value for key, value in body.items() if key != "anthropic_version"})
