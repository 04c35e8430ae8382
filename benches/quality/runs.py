"""Real agent runs, and the facts in them that the rest of a run uses again."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT.parent / "shared" / "data" / "trajectories"

# What counts as a fact. Written for this bench alone: the package has its own idea of names.
_FACTS = {
    "path": re.compile(r"(?:[\w.~-]+)?(?:/[\w.-]+)+"),
    "identifier": re.compile(
        r"\b[A-Za-z_][A-Za-z0-9_]*(?:_[A-Za-z0-9]+|[a-z][A-Z][A-Za-z0-9]*|[A-Za-z][0-9]+)[A-Za-z0-9_]*\b"
    ),
    "number": re.compile(r"\b[0-9]{3,}(?:\.[0-9]+)?\b"),
    "error": re.compile(r"\b\w*(?:Error|Exception): [^\n]{8,80}"),
}


def load():
    """Each run's name and its messages in the shape of Chat Completions."""
    for path in sorted(FOLDER.glob("*.json")):
        run = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(run, dict):
            yield path.stem, [_message(message) for message in run["messages"]]


def _message(message):
    out = {"role": message["role"], "content": message.get("content") or ""}
    if message["role"] == "tool":
        out["tool_call_id"] = message["tool_call_id"]
    calls = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["arguments"], ensure_ascii=False)},
        }
        for call in message.get("tool_calls") or ()
    ]
    if calls:
        out["tool_calls"] = calls
    return out


def text_of(messages) -> str:
    parts = []
    for message in messages:
        parts.append(message["content"] or "")
        for call in message.get("tool_calls") or ():
            parts.append(f"{call['function']['name']}({unquoted(call['function']['arguments'])})")  # noqa: PERF401 - names and arguments need more than one line
    return "\n".join(parts)


def unquoted(arguments: str) -> str:
    """Arguments as the tool sees them: line breaks and quotes inside JSON strings are what they stand for."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return arguments
    found, queue = [], [value]
    while queue:
        value = queue.pop()
        if isinstance(value, dict):
            queue.extend(value.values())
        elif isinstance(value, list):
            queue.extend(value)
        else:
            found.append(str(value))  # noqa: PERF401 - the queue grows meanwhile
    return "\n".join(found)


def facts(text: str) -> dict[str, str]:
    """The facts in a text, with their kinds."""
    found = {}
    for kind, pattern in _FACTS.items():
        for match in pattern.findall(text):
            fact = match.rstrip(".-")
            if 3 <= len(fact) <= 120:
                found.setdefault(fact, kind)
    return found


def needed(messages, part: float):
    """The run up to `part` of it, and the facts there which the model writes again afterwards."""
    cut = int(len(messages) * part)
    while cut < len(messages) and messages[cut]["role"] != "assistant":
        cut += 1
    past, rest = messages[:cut], messages[cut:]
    before = facts(text_of(past))
    after = facts(text_of(message for message in rest if message["role"] == "assistant"))
    return past, {fact: kind for fact, kind in before.items() if fact in after}


def survives(text: str, fact: str) -> bool:
    at = text.find(fact)
    while at >= 0:
        end = at + len(fact)
        if not (at and _word(text[at - 1]) and _word(fact[0])) and not (end < len(text) and _word(text[end])):
            return True
        at = text.find(fact, at + 1)
    return False


def _word(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")
