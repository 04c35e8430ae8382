"""In how many of some recorded requests the provider reports more than `upper_bound`, for each provider.

    python benches/tokens/bounds.py ../shared/data/recorded [-v]

The folder holds a folder for each wire, of JSON files with the requests and answers in order. The reported tokens are
all of the prompt, read from a cache or not. What is in no request can't be counted before: requests with the provider's
own search, its own tools, files uploaded before, or a conversation that it keeps are told apart.
"""

from __future__ import annotations

import collections
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "python"))

from loopwright.tokens import TokenCounter  # noqa: E402

APART = (
    "web_search",
    "web_fetch",
    "file_search",
    "code_interpreter",
    "code_execution",
    "computer_",
    "advisor",
    "tool_search",
    "image_generation",
    '"mcp',
    "previous_response_id",
    '"conversation"',
    '"file_id"',
    '"type": "file"',
    '"compact',
    "container",
    '"store": true',
    "connector",
)


def usage_of(response: Any) -> dict[str, Any] | None:
    """What an answer says that its prompt took."""
    if isinstance(response, dict):
        found = response.get("usage")
        return found if isinstance(found, dict) else None
    last = None
    for line in response.splitlines() if isinstance(response, str) else ():
        if not line.startswith("data:"):
            continue
        try:
            said = json.loads(line[5:])
        except ValueError:
            continue
        if isinstance(said, dict):
            inner = next((said[key] for key in ("message", "response") if isinstance(said.get(key), dict)), said)
            if isinstance(inner.get("usage"), dict) and (last is None or said.get("type") != "message_delta"):
                last = inner["usage"]
    return last


def prompt_of(usage: dict[str, Any]) -> int:
    """All of the prompt, read from a cache or not."""
    if "prompt_tokens" in usage:
        return int(usage["prompt_tokens"] or 0)
    kinds = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return sum(int(usage.get(kind) or 0) for kind in kinds)


def vendor(wire: str, model: str) -> str:
    """Who serves the model, as far as its name says so."""
    name = model.lower()
    for part, whose in (
        ("claude", "Anthropic"),
        ("gpt", "OpenAI"),
        ("o1", "OpenAI"),
        ("o3", "OpenAI"),
        ("o4", "OpenAI"),
    ):
        if part in name:
            return f"{whose}, {wire}" + (" (open weights)" if "gpt-oss" in name else "")
    return f"others, {wire}"


def main() -> None:
    folder, verbose = Path(sys.argv[1]), "-v" in sys.argv
    rows: dict[tuple[str, bool], list[tuple[bool, float]]] = collections.defaultdict(list)
    for path in sorted(folder.glob("*/*.json")):
        for at, one in enumerate(json.loads(path.read_text(encoding="utf-8"))):
            request = one.get("request")
            usage = usage_of(one.get("response"))
            if not isinstance(request, dict) or not usage or not prompt_of(usage):
                continue
            if not {"messages", "input"} & set(request) or str(one.get("path")).endswith("/compact"):
                continue
            model, told = str(request.get("model")), prompt_of(usage)
            text = json.dumps(request)
            apart = any(word in text for word in APART)
            found = TokenCounter(model).count(request)
            rows[vendor(path.parent.name, model), apart].append((found.upper_bound < told, found.upper_bound / told))
            if verbose and found.upper_bound < told:
                print(f"  above: {path.name} {at} {model}: {told}, counted {found}" + (" (apart)" if apart else ""))
    print("| provider, wire | requests | above the bound | share | bound / reported, median |")
    print("| --- | --- | --- | --- | --- |")
    for (whose, apart), own in sorted(rows.items()):
        above, slack = sum(row[0] for row in own), sorted(row[1] for row in own)
        also = ", with what is in no request" if apart else ""
        print(f"| {whose}{also} | {len(own)} | {above} | {above / len(own):.1%} | {slack[len(own) // 2]:.2f} |")


if __name__ == "__main__":
    main()
