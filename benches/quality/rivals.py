"""The others, each set as well as it can be: of all settings that fit, the one that keeps most facts."""

from __future__ import annotations

import asyncio
import json
import warnings

warnings.simplefilter("ignore")


def truncation(messages, budget, count, tokens):
    """The newest messages that fit; the one at the seam is cut."""
    kept, used = [], 0
    for message in reversed(messages):
        size = tokens([message])
        if used + size > budget:
            room = budget - used - 24
            if room > 0 and not message.get("tool_calls"):
                ids = count.encode(message["content"])
                kept.append({**message, "content": count.decode(ids[-room:])})
            break
        kept.append(message)
        used += size
    yield list(reversed(kept))


def drop_oldest(messages, budget, count, tokens):
    """Instructions and the first words stay, then the newest messages that fit."""
    head = next((at for at, message in enumerate(messages) if message["role"] == "assistant"), 0)
    sizes = [tokens([message]) for message in messages]
    used, start = sum(sizes[:head]), len(messages)
    while start > head and used + sizes[start - 1] <= budget:
        start -= 1
        used += sizes[start]
    while start < len(messages) and messages[start]["role"] == "tool":
        start += 1
    yield [*messages[:head], *messages[start:]]


# LangChain


def _chain(messages):
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

    out = []
    for message in messages:
        role, text = message["role"], message["content"]
        if role == "system":
            out.append(SystemMessage(text))
        elif role == "user":
            out.append(HumanMessage(text))
        elif role == "tool":
            out.append(ToolMessage(text, tool_call_id=message["tool_call_id"]))
        else:
            calls = [
                {"id": call["id"], "name": call["function"]["name"], "args": json.loads(call["function"]["arguments"])}
                for call in message.get("tool_calls") or ()
            ]
            out.append(AIMessage(text, tool_calls=calls))
    return out


def _unchain(messages):
    roles = {"system": "system", "human": "user", "ai": "assistant", "tool": "tool"}
    out = []
    for message in messages:
        one = {"role": roles[message.type], "content": message.content}
        if message.type == "tool":
            one["tool_call_id"] = message.tool_call_id
        if getattr(message, "tool_calls", None):
            one["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": json.dumps(call["args"], ensure_ascii=False)},
                }
                for call in message.tool_calls
            ]
        out.append(one)
    return out


def trim_messages(messages, budget, count, tokens):
    from langchain_core.messages import trim_messages as trim

    def counter(some):
        return sum(tokens([message]) for message in _unchain(some))

    chain = _chain(messages)
    for system in (True, False):
        for partial in (False, True):
            yield _unchain(
                trim(
                    chain,
                    max_tokens=budget,
                    token_counter=counter,
                    strategy="last",
                    include_system=system,
                    allow_partial=partial,
                    start_on=("human", "ai"),
                )
            )


def clear_tool_uses(messages, budget, count, tokens):
    """Results cleared as far as needed; where that is not enough, `trim_messages` does the rest."""
    from langchain.agents.middleware import ClearToolUsesEdit
    from langchain_core.messages import trim_messages as trim

    def counter(some):
        return sum(tokens([message]) for message in _unchain(some))

    results = sum(message["role"] == "tool" for message in messages)
    for inputs in (False, True):
        for keep in sorted({0, 1, 3, 5, 10, 20, 40, 80, results // 2, results * 3 // 4}):
            chain = [message.model_copy(deep=True) for message in _chain(messages)]
            ClearToolUsesEdit(trigger=0, keep=keep, clear_tool_inputs=inputs).apply(chain, count_tokens=counter)
            if counter(chain) > budget:
                chain = trim(
                    chain,
                    max_tokens=budget,
                    token_counter=counter,
                    strategy="last",
                    include_system=True,
                    start_on=("human", "ai"),
                )
            yield _unchain(chain)


# pydantic-ai-harness


def _native(messages):
    from pydantic_ai import messages as m

    names, out = {}, []
    for message in messages:
        role, text = message["role"], message["content"]
        if role == "assistant":
            parts = [m.TextPart(text)] if text else []
            for call in message.get("tool_calls") or ():
                names[call["id"]] = call["function"]["name"]
                parts.append(m.ToolCallPart(call["function"]["name"], call["function"]["arguments"], call["id"]))
            out.append(m.ModelResponse(parts))
            continue
        if role == "tool":
            part = m.ToolReturnPart(names.get(message["tool_call_id"], ""), text, message["tool_call_id"])
            # All results of one answer stand in one request, as the framework itself writes them.
            if out and isinstance(out[-1], m.ModelRequest) and isinstance(out[-1].parts[-1], m.ToolReturnPart):
                out[-1].parts.append(part)
                continue
        else:
            part = (m.SystemPromptPart if role == "system" else m.UserPromptPart)(text)
        out.append(m.ModelRequest([part]))
    return out


def _unnative(messages):
    from pydantic_ai import messages as m

    out = []
    for message in messages:
        if isinstance(message, m.ModelResponse):
            text = "".join(part.content for part in message.parts if isinstance(part, m.TextPart))
            one = {"role": "assistant", "content": text}
            calls = [part for part in message.parts if isinstance(part, m.ToolCallPart)]
            if calls:
                one["tool_calls"] = [
                    {
                        "id": call.tool_call_id,
                        "type": "function",
                        "function": {"name": call.tool_name, "arguments": call.args_as_json_str()},
                    }
                    for call in calls
                ]
            out.append(one)
            continue
        for part in message.parts:
            if isinstance(part, m.ToolReturnPart):
                out.append({"role": "tool", "content": part.model_response_str(), "tool_call_id": part.tool_call_id})
            else:
                role = "system" if isinstance(part, m.SystemPromptPart) else "user"
                out.append({"role": role, "content": str(part.content)})
    return out


def _file_key(call):
    """What a call reads, as the harness wants to be told: the path among its arguments."""
    try:
        arguments = call.args_as_dict()
    except Exception:
        return None
    for name in ("path", "file_path", "filename"):
        if isinstance(arguments.get(name), str):
            return arguments[name]
    return None


def harness(messages, budget, count, tokens):
    """Its tiers without a model: reads deduplicated, results cleared, parts clamped, the oldest dropped."""
    from pydantic_ai import RunContext
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.usage import RunUsage
    from pydantic_ai_harness.compaction import (
        ClampOversizedMessages,
        ClearToolResults,
        DeduplicateFileReads,
        SlidingWindowCompaction,
        TieredCompaction,
    )

    native = _native(messages)
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    size = count.count
    for clamp in (None, 4_000, 1_000):
        for keep in (3, 10, 30, 0):
            for floor in (1.0, 0.9, 0.75, 0.6, 0.45, 0.3, 0.15):
                tiers = [DeduplicateFileReads(file_key=_file_key, max_tokens=1)]
                if clamp:
                    tiers.append(ClampOversizedMessages(max_part_chars=clamp))
                tiers.append(ClearToolResults(max_tokens=1, keep_pairs=keep, tokenizer=size))
                tiers.append(SlidingWindowCompaction(max_tokens=1, keep_tokens=int(budget * floor), tokenizer=size))
                tiered = TieredCompaction(tiers=tiers, target_tokens=int(budget * 0.98), tokenizer=size)
                out = _unnative(asyncio.run(tiered.compact(list(native), context)))
                if tokens(out) <= budget:
                    yield out
                    break


RIVALS = {
    "plain truncation": truncation,
    "drop the oldest": drop_oldest,
    "LangChain `trim_messages`": trim_messages,
    "LangChain `ClearToolUsesEdit`": clear_tool_uses,
    "pydantic-ai-harness tiers": harness,
}
