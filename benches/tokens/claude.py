"""How near counts for Claude are, and whether upper bounds hold, on traffic that nothing was fitted to.

    python benches/tokens/claude.py [--samples=corpus-expected.json] name=folder …

Folders hold recordings of requests to Anthropic (VCR cassettes, YAML) as many public projects keep them beside their
tests: the provider's own `usage` says what a request took. Samples are texts with the provider's count of each, as
bpe-lite (MIT) keeps them. What is in no request (a provider's own search, files uploaded before) is left out.
"""

from __future__ import annotations

import base64
import collections
import gzip
import json
import sys
import zlib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "python"))

from loopwright.tokens import TokenCounter, count_tokens  # noqa: E402

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
UNKNOWABLE = ("web_search", "web_fetch", '"type": "file"', '"compact_', "very very long system prompt")
SERVER = ("code_execution", "mcp_servers", "computer_", "text_editor", '"memory_', "tool_search", "advisor")


def plain(body: object) -> bytes:
    """The bytes of a body, however a recorder kept it."""
    if isinstance(body, dict):
        if body.get("base64_string"):
            return base64.b64decode(body["base64_string"])
        body = body.get("string") or b""
    raw = body.encode("utf-8", "replace") if isinstance(body, str) else (body or b"")
    for unpack in (gzip.decompress, zlib.decompress):
        try:
            return unpack(raw)
        except (OSError, zlib.error, EOFError):
            continue
    return raw


def answer(raw: bytes) -> tuple[str | None, dict] | None:
    """The model and the usage that an answer tells."""
    text = raw.decode("utf-8", "replace")
    try:
        if text.lstrip().startswith("{"):
            said = json.loads(text)
            return (said.get("model"), said["usage"]) if said.get("usage") else None
        for line in text.splitlines():
            if line.startswith("data:") and '"message_start"' in line:
                said = json.loads(line[5:])["message"]
                return said.get("model"), said["usage"]
    except (ValueError, KeyError):
        return None
    return None


def recordings(folder: Path):
    seen = set()
    for path in sorted([*folder.rglob("*.yaml"), *folder.rglob("*.yml")]):
        raw = path.read_bytes()
        if b"anthropic" not in raw or len(raw) > 8_000_000:
            continue
        try:
            tape = yaml.load(raw, Loader=LOADER)  # noqa: S506 - a safe loader, in C where there is one
        except yaml.YAMLError:
            continue
        for each in (tape.get("interactions") or tape.get("http_interactions") or []) if isinstance(tape, dict) else []:
            asked, told = each.get("request") or {}, each.get("response") or {}
            if "anthropic.com" not in str(asked.get("uri", "")):
                continue
            try:
                request = asked.get("parsed_body") or json.loads(plain(asked.get("body")))
            except ValueError:
                continue
            found = answer(
                json.dumps(told["parsed_body"]).encode() if told.get("parsed_body") else plain(told.get("body"))
            )
            key = json.dumps(request, sort_keys=True)
            if not found or not isinstance(request, dict) or "messages" not in request or key in seen:
                continue
            seen.add(key)
            kinds = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
            real = sum(found[1].get(kind) or 0 for kind in kinds)
            if real > 0 and not any(word in key for word in UNKNOWABLE):
                yield path.name, found[0] or request.get("model"), request, key, real


def kind_of(key: str, request: dict) -> str:
    if any(word in key for word in SERVER):
        return "tools of the provider"
    if "application/pdf" in key:
        return "PDF"
    if '"image"' in key:
        return "pictures"
    if '"enabled": true' in key and "citations" in key:
        return "sources to cite"
    if "tool_result" in key:
        return "tools and results"
    return "tools" if request.get("tools") else "text"


def main() -> None:
    rows = collections.defaultdict(list)
    for argument in sys.argv[1:]:
        if argument.startswith("--"):
            continue
        name, folder = argument.split("=", 1)
        for path, model, request, key, real in recordings(Path(folder)):
            found = TokenCounter(model).count(request)
            row = (
                found.tokens / real - 1,
                found.upper_bound < real,
                abs(found.tokens - real) <= found.margin,
                found.upper_bound / real,
            )
            rows[kind_of(key, request)].append(row)
            rows["all"].append(row)
            if row[1]:
                print(f"  above the bound: {name} {path} {model}: {real}, counted {found}", file=sys.stderr)
    print("| requests | | error: median, p95 | above the bound | within the margin | bound / real |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind, own in sorted(rows.items(), key=lambda item: -len(item[1])):
        errors = sorted(abs(row[0]) for row in own)
        slack = sorted(row[3] for row in own)
        print(
            f"| {kind} | {len(own)} | {errors[len(own) // 2]:.1%}, {errors[int(len(own) * 0.95)]:.1%} | "
            f"{sum(row[1] for row in own)} | {sum(row[2] for row in own)} | {slack[len(own) // 2]:.2f} |"
        )
    samples = next((a.split("=", 1)[1] for a in sys.argv[1:] if a.startswith("--samples=")), None)
    if samples is None:
        return
    told = json.loads(Path(samples).read_text(encoding="utf-8"))
    counter = TokenCounter(told["model"])
    by = collections.defaultdict(list)
    for each in told["samples"]:
        found, exact = counter.count(each["text"]), count_tokens(each["text"])
        # As a part of something long: without the few tokens that every bound adds.
        by[each["category"]].append((each["expected"], found.tokens, found.upper_bound - 16, found.upper_bound, exact))
    print("\n| samples | tokens | by o200k_base | counted | bound, as a part of a long text | above the bound |")
    print("| --- | --- | --- | --- | --- | --- |")
    for category, own in by.items():
        real = sum(row[0] for row in own)
        shares = [f"{sum(row[at] for row in own) / real:.2f}" for at in range(5)]
        above = sum(row[3] < row[0] for row in own)
        print(f"| {category} | {real} | {shares[4]} | {shares[1]} | {shares[2]} | {above} of {len(own)} |")


if __name__ == "__main__":
    main()
