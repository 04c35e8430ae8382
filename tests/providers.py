"""Writes the tables of docs/providers.md. `--check` only says whether they are up to date.

They are read off `crates/models/src/providers.toml` and `profile_fields.toml`, which decide what is sent: each table
stands between two comments of the page that bear its name, and all else of the page is written by hand.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "providers.md"
SOURCE = ROOT / "crates" / "models" / "src" / "providers.toml"
FIELDS = ROOT / "crates" / "models" / "src" / "profile_fields.toml"

WIRES = {
    "anthropic": "Anthropic Messages",
    "openai_responses": "OpenAI Responses",
    "openai_chat": "OpenAI Chat Completions",
    "gemini": "Gemini `generateContent`",
    "bedrock": "Bedrock Converse",
    "offline": "none",
}
FORMS = {"bytes": "inline", "address": "at an address", "file": "by file id"}
OUTPUT = {"schema": "schema", "json": "JSON mode"}
SEARCH = {
    "free": "yes", "max_uses": "`max_uses`", "allowed_domains": "`allowed_domains`", "blocked_domains": "`blocked_domains`",
    "beside_tools": "beside tools",
}  # fmt: skip
KINDS = {
    "text": "text", "texts": "list of texts", "flag": "true or false", "count": "whole number", "wire": "a wire",
    "fields": "table", "tables": "list of tables",
}  # fmt: skip


def profile(tables: dict[str, Any], provider: dict[str, Any]) -> dict[str, Any]:
    """What a provider takes at its own address, as `Provider::profile_with` has it."""
    wire = tables["wire"][provider["wire"]]
    own = provider.get("takes", {})
    return {**wire, **own, "refuses": [*own.get("refuses", ()), *wire.get("refuses", ())]}


def code(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def head(*cells: str) -> list[str]:
    return [row(*cells), row(*["---"] * len(cells))]


def addresses(tables: dict[str, Any]) -> list[str]:
    lines = head("provider", "protocol", "address", "variable for the address", "variables for the key")
    for name, provider in sorted(tables["provider"].items()):
        wire = WIRES.get(provider["wire"], provider["wire"])
        if elsewhere := provider.get("elsewhere"):
            wire += "" if elsewhere == provider["wire"] else f"; elsewhere {WIRES.get(elsewhere, elsewhere)}"
        own = provider.get("address", {}).get("example")
        base = f"yours, as `{own}`" if own else f"`{provider['base']}`" if provider["base"] else "none"
        variable = code([provider["base_variable"]] if "base_variable" in provider else [])
        lines.append(row(f"`{name}`", wire, base, variable, code(provider.get("keys", []))))
    return lines


def forms(takes: dict[str, Any], kind: str) -> str:
    found = [FORMS[form] for form in takes.get(f"{kind}s", [])]
    named = [each for each in takes.get("media_types", []) if each.startswith("image/") == (kind == "picture")]
    types = [each.partition("/")[2] for each in named if len(each) < 32]
    return (", ".join(found) + (f" ({', '.join(types)})" if types and "inline" in found else "")) or "no"


def takes(tables: dict[str, Any]) -> list[str]:
    lines = head(
        "provider",
        "answer of a schema, by",
        "pictures",
        "documents",
        "web search",
        "left out",
        "asked for otherwise",
        "roles",
    )
    for name, provider in sorted(tables["provider"].items()):
        if provider["wire"] == "offline":
            continue
        found = profile(tables, provider)
        wire = tables["wire"][provider["wire"]]
        output = [OUTPUT[form] for form in found.get("output", [])] + ["instructions"]
        if found.get("schema_models"):
            output[0] += f" ({', '.join(found['schema_models'])})"
        if "JSON mode" in output and not found.get("json_with_tools", True):
            output[output.index("JSON mode")] += " (without tools)"
        refused = [*found["refuses"], *([] if found.get("seed") else ["seed"])]
        other = [
            f"`{found[field]}`" for field in ("limit", "effort") if found.get(field, wire.get(field)) != wire.get(field)
        ]
        if found.get("seed", "seed") != "seed":
            other.append(f"seed as `{found['seed']}`")
        if found.get("call_id"):
            other.append(f"ids of calls of {found['call_id']} letters")
        strict = not (found["user_behind_result"] and found["instructions_inside"])
        lines.append(
            row(
                f"`{name}`",
                ", ".join(output),
                forms(found, "picture"),
                forms(found, "document"),
                ", ".join(SEARCH[form] for form in found.get("search", [])) or "no",
                code(refused) if refused else "",
                "; ".join(other),
                "strict" if strict else "any",
            )
        )
    return lines


def meanings(text: str, after: str) -> dict[str, str]:
    """What the comments at the head of a section say of its fields."""
    block = text.split(after, 1)[1]
    found: dict[str, str] = {}
    names: list[str] = []
    for line in block.splitlines():
        if not line.startswith("#"):
            if found:
                break
            continue
        if entry := re.match(r"# ((?:\w+, )*\w+)\s{2,}(.+)", line):
            names = entry[1].split(", ")
            found.update(dict.fromkeys(names, entry[2]))
        elif (entry := re.match(r"#\s{6,}(\S.*)", line)) and names:
            found.update({name: f"{found[name]} {entry[1]}" for name in names})
    return found


def fields(section: str, text: str, after: str) -> list[str]:
    known = tomllib.loads(FIELDS.read_text(encoding="utf-8"))[section]
    told = meanings(text, after)
    lines = head("field", "is", "")
    for name, (kind, *values) in known.items():
        of = f" of {code(values)}" if values else ""
        lines.append(row(f"`{name}`", KINDS[kind] + of, told[name]))
    return lines


def written(page: str) -> str:
    """The page with its tables."""
    text = SOURCE.read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    for name, lines in {
        "addresses": addresses(tables),
        "takes": takes(tables),
        "fields of a profile": fields("takes", text, "# What a wire takes unless"),
        "fields of a provider": fields("provider", text, "# Providers that are known by name"),
    }.items():
        begin, end = f"<!-- {name}: written by `make docs` -->", f"<!-- end of {name} -->"
        if page.count(begin) != 1 or page.count(end) != 1:
            raise SystemExit(f"tests/providers.py: {PAGE.name} must have {begin} and {end} once")
        before, rest = page.split(begin)
        page = "\n".join([f"{before}{begin}", "", *lines, "", f"{end}{rest.split(end)[1]}"])
    return page


def main(arguments: list[str]) -> int:
    page = PAGE.read_text(encoding="utf-8")
    if "--check" in arguments:
        return int(written(page) != page)
    PAGE.write_text(written(page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
