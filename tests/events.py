"""Writes docs/events.md: what a run tells while it goes on. `--check` only says whether it is up to date.

The list is read off the enum `Notice` of the machine, its fields and their doc comments, and off the classes for what
drivers tell themselves. A new variant appears by itself; one with a field of a type that is not known here stops the
script and says what to do.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "events.md"
NOTICES = ROOT / "crates" / "machine" / "src" / "notice.rs"
STUB = ROOT / "python" / "loopwright" / "_core.pyi"
CLASSES = ROOT / "python" / "loopwright" / "events.py"

# Types that stand for themselves: how they are called in the page, and what an example has there.
PLAIN: dict[str, tuple[str, Any]] = {
    "String": ("string", "…"),
    "&'static str": ("string", "…"),
    "bool": ("boolean", False),
    "u8": ("integer", 1), "u16": ("integer", 1), "u32": ("integer", 1), "u64": ("integer", 1), "usize": ("integer", 1),
    "i64": ("integer", 1), "Id": ("integer", 2),
    "f32": ("number", 0.5), "f64": ("number", 0.5),
    "serde_json::Value": ("anything", {}), "Value": ("anything", {}), "Raw": ("anything", {}),
    "Time": ("integer: microseconds since the start", 1_500_000),
    "Range<usize>": ("object: `start`, `end`", {"start": 0, "end": 4}),
}  # fmt: skip
# Where a type stands whose name others have too.
HOMES = {"Verdict": "crates/guard/src/policy/mod.rs"}
# What reads better in an example than the bare type does. By field, or by event and field.
EXAMPLES: dict[str, Any] = {
    "call_id": "call_1", "name": "search_files", "model": "claude-sonnet-4-5", "arguments": {"query": "breaker"},
    "query": "breaker", "phase": "gather", "text": "The breaker opens after 3 failures.", "excerpt": "3 hits",
    "retry.reason": "overloaded: the provider is overloaded", "approval_decided.reason": "approved",
    "approval_decided.allowed": True, "compacted.reason": "full", "assessed.decision": "complete",
    "goal_drifted.state": "drifted", "goal_drifted.goal": "Find out when the breaker opens.",
    "intent_assessed.decision": "direct", "warned.code": "text_calls",
    "provider_delta.kind": "web_search", "provider_delta.name": "web_search",
    "handed_off.by": "front", "handed_off.to": "billing",
    "request_held.host": "api.openai.com:443",
    "request_held.reason": "requests_per_minute", "request_held.seconds": 12.5,
}  # fmt: skip


# What Python calls otherwise than the machine and its journals do.
NAMED = {
    "ApprovalAsked": "ApprovalRequested",
    "ChildStarted": "AgentStarted",
    "ChildFinished": "AgentFinished",
    "Warning": "Warned",
}
# What a sub-agent tells travels in it; in Python the event inside says with `agent` and `path` whose it is.
ENVELOPE = "Child"


class Field(NamedTuple):
    name: str
    kind: str
    says: str
    example: Any


class Event(NamedTuple):
    name: str
    cls: str
    says: str
    fields: list[Field]


def snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def body(source: str, head: str) -> str | None:
    """What stands between the braces of an item."""
    found = re.search(re.escape(head) + r"(?:<[^>{]*>)?\s*\{\n", source)
    if found is None:
        return None
    depth, at = 1, found.end()
    while depth:
        depth += {"{": 1, "}": -1}.get(source[at], 0)
        at += 1
    return source[found.end() : at - 1]


def members(text: str) -> list[tuple[str, str, str, list[str]]]:
    """Members of a struct or of a variant: name, type, doc, attributes."""
    found, doc, attributes = [], [], []
    for line in map(str.strip, text.splitlines()):
        if line.startswith("///"):
            doc.append(line[3:].strip())
        elif line.startswith("#["):
            attributes.append(line)
        elif entry := re.match(r"(?:pub(?:\([a-z]+\))? )?(\w+): (.+?),?$", line):
            # What is never written has no place in an event.
            if not any(re.search(r"serde\(skip[,)]", attribute) for attribute in attributes):
                found.append((entry[1], entry[2].rstrip(","), " ".join(doc), attributes))
            doc, attributes = [], []
    return found


def item(name: str) -> tuple[str, str] | None:
    """The body of a struct or an enum of the core that is written as JSON, and which of the two it is."""
    head = re.compile(
        r"#\[derive\([^\]]*\bSerialize\b[^\]]*\)\]\n(?:#\[.*\n)*pub (struct|enum) " + name + r"\b[^;{]*\{"
    )
    found = {}
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        if path.relative_to(ROOT / "crates").parts[0] in ("drive", "store"):
            continue
        source = path.read_text(encoding="utf-8")
        if match := head.search(source):
            found[path] = match[1], body(source[match.start() :], f"pub {match[1]} {name}") or ""
    if name in HOMES:
        found = {path: there for path, there in found.items() if path == ROOT / HOMES[name]}
    if len(found) > 1:
        places = ", ".join(str(path.relative_to(ROOT)) for path in found)
        raise SystemExit(f"tests/events.py: {name} is more than one type: {places}. Say in HOMES which is meant.")
    return next(iter(found.values()), None)


def described(kind: str, where: str) -> tuple[str, Any]:
    """How a Rust type is called in the page, and an example of it."""
    kind = kind.strip()
    if kind in PLAIN:
        return PLAIN[kind]
    if inner := re.fullmatch(r"(?:Box|Arc)<(.+)>", kind):
        return described(inner[1], where)
    if inner := re.fullmatch(r"Option<(.+)>", kind):
        return described(inner[1], where)[0] + ", or null", None
    if inner := re.fullmatch(r"Vec<(.+)>", kind):
        name, example = described(inner[1], where)
        return f"list of {name}", [example]
    if inner := re.fullmatch(r"BTreeMap<String, (.+)>", kind):
        name, example = described(inner[1], where)
        return f"object of {name}", {"…": example}
    if inner := re.fullmatch(r"\((.+)\)", kind):
        parts = [described(part, where) for part in inner[1].split(", ")]
        return f"pair of {', '.join(name for name, _ in parts)}", [example for _, example in parts]
    found = item(kind.rpartition("::")[2])
    if found is None:
        raise SystemExit(
            f"tests/events.py: the type `{kind}` of {where} is not known. Say in PLAIN how it is called and what an "
            "example looks like, or make it a struct or enum of the rooms whose fields are."
        )
    if found[0] == "enum":
        names = [snake(name) for name in re.findall(r"^    (\w+)(?: = \d+)?,$", found[1], re.MULTILINE)]
        return "one of " + ", ".join(f"`{name}`" for name in names), names[0] if names else {}
    fields = [(name, *described(kind, f"{where}.{name}")) for name, kind, _, _ in members(found[1])]
    return "object: " + ", ".join(f"`{name}`" for name, _, _ in fields), {name: given for name, _, given in fields}


def of_variant(cls: str, says: str, text: str) -> Event:
    told = NAMED.get(cls, cls)
    event, fields = snake(told), []
    for name, kind, doc, attributes in members(text):
        where = f"Notice::{cls}.{name}"
        if any("flatten" in attribute for attribute in attributes):
            inner = item(kind.rpartition("::")[2])
            if inner is None:
                raise SystemExit(f"tests/events.py: {where} is flattened, and its struct is not in the rooms")
            found = members(inner[1])
        else:
            found = [(name, kind, doc, attributes)]
        for inner_name, inner_kind, inner_doc, _ in found:
            called, example = described(inner_kind, f"{where}.{inner_name}")
            example = EXAMPLES.get(f"{event}.{inner_name}", EXAMPLES.get(inner_name, example))
            fields.append(Field(inner_name, called, inner_doc, example))
    return Event(event, told, says, fields)


def notices() -> list[Event]:
    """What machines tell, in the order of the enum."""
    text = body(NOTICES.read_text(encoding="utf-8"), "pub enum Notice")
    if text is None:
        raise SystemExit(f"tests/events.py: there is no `pub enum Notice` in {NOTICES.relative_to(ROOT)} any more")
    found, doc, lines = [], [], text.splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("    ///"):
            doc.append(line.strip()[3:].strip())
        elif variant := re.fullmatch(r"    (\w+) \{", line):
            end = lines.index("    },", at)
            if variant[1] != ENVELOPE:
                found.append(of_variant(variant[1], " ".join(doc), "\n".join(lines[at + 1 : end])))
            doc, at = [], end
        elif variant := re.fullmatch(r"    (\w+),", line):
            found.append(Event(snake(variant[1]), variant[1], " ".join(doc), []))
            doc = []
        at += 1
    return found


def ours() -> list[Event]:
    """What drivers tell without the machine: pieces of answers, progress of tools, the end."""
    found = []
    for path, wanted in (
        (STUB, ("TextDelta", "ReasoningDelta", "ToolUseDelta", "ArgumentsDelta", "ProviderDelta")),
        (CLASSES, ("ToolProgress", "RequestHeld", "HandedOff", "RunFinished")),
    ):
        classes = {
            node.name: node
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.ClassDef) and node.name in wanted
        }
        for cls in wanted:
            node, fields = classes[cls], []
            for place, part in enumerate(node.body):
                name = ""
                if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                    behind = node.body[place + 1] if place + 1 < len(node.body) else None
                    said = behind.value if isinstance(behind, ast.Expr) else None
                    says = inspect.cleandoc(str(said.value)) if isinstance(said, ast.Constant) else ""
                    name, kind, says = part.target.id, ast.unparse(part.annotation), says.replace("\n", " ")
                elif isinstance(part, ast.FunctionDef) and part.returns is not None:
                    name, kind, says = part.name, ast.unparse(part.returns), ast.get_docstring(part) or ""
                if not name or name.startswith("_") or name in ("type", "event_id") or kind == "None":
                    continue
                plain = {"str": "string", "int": "integer", "float | None": "number, or null"}
                called = plain.get(kind, "object: a `Result`")
                example: Any = {"string": "…", "integer": 0, "number, or null": None}.get(called, {"final": "…"})
                example = EXAMPLES.get(f"{snake(cls)}.{name}", EXAMPLES.get(name, example))
                fields.append(Field(name, called, says, example))
            found.append(Event(snake(cls), cls, (ast.get_docstring(node) or "").replace("\n", " "), fields))
    return found


def example(event: Event, number: int = 3_145_728) -> dict[str, Any]:
    """An example of an event, as `to_dict` gives it."""
    return {"type": event.name, "event_id": number, **{field.name: field.example for field in event.fields}}


HEAD = """\
# Events

What a run tells while it goes on: `async for event in stream` of an `agent.stream(…)`, `for event in stream` of an
`agent.stream_sync(…)` (`stream.events()` is the same), and `on_event` of a run. Written by `make docs` from the source; do
not edit it by hand.

```python
import json
from loopwright import Agent
from loopwright.events import from_dict, to_dict
from loopwright.journal import events_of
from loopwright.testing import ScriptedModel

agent = Agent(ScriptedModel(["Hello."]), journal="project.db")
heard = []
result = agent.run_sync("Say hello.", on_event=heard.append)
assert [event.event_id for event in heard] == sorted({event.event_id for event in heard})
assert from_dict(json.loads(json.dumps(to_dict(heard[0])))) == heard[0]
assert events_of("project.db", result.run_id)[-1].result.final == "Hello."
```

- Names and fields are the same in Rust (`Notice`), in Python (`loopwright.events`) and here. Journals (`emit`) write
  `call_id` as `id`, the `arguments` of a call as `input`, and the `stop_reason` of a sub-agent as `stop`; the types
  `approval_requested`, `agent_started`, `agent_finished` and `warned` stand there as `approval_asked`, `child_started`,
  `child_finished` and `warning`. `from_dict` takes both.
- `event_id` only grows within a run, over a crash and a resume too. It is the number of the journal's event times
  1,048,576, and the place behind that.
- `event.type` is the name that stands here, and `type` in the plain data; `if event.type == "text_delta"` and
  `match event.type` tell events apart, for type checkers too.
- `to_dict` and `from_dict` keep all of an event. What a newer version tells becomes an `UnknownEvent`, which keeps its
  type and its data.
- `events_of(journal, run)` lists the events of a run from its journal again, with the numbers they had: all that
  machines tell, and `run_finished`. Pieces of answers and progress of tools are in no journal.
- What a sub-agent tells has two more fields: its name as `agent`, and as `path` which of the run's children it is. Journals
  hold such an event inside of a `child`: `{"type": "child", "agent": "…", "path": "…", "told": {…}}`.
- Text that streams is a draft: it is void after a `reset`. An answer that comes whole (a model of one's own, a server that
  does not stream) is one `text_delta`. `stream.text()`, `outputs()` and `items()` put it together. The last event is always `run_finished`.
"""


def table(event: Event) -> str:
    lines = [f"### `{event.name}`", "", f"`{event.cls}`. {event.says}", ""]
    if event.fields:
        lines += ["| field | type | |", "| --- | --- | --- |"]
        lines += [f"| `{field.name}` | {field.kind} | {field.says} |" for field in event.fields]
        lines.append("")
    lines += ["```json", json.dumps(example(event), ensure_ascii=False), "```"]
    return "\n".join(lines) + "\n"


def page() -> str:
    told, own = notices(), ours()
    parts = [HEAD, f"## Of the machine\n\n{len(told)} events. They stand in the journal.\n", *map(table, told)]
    parts += [f"## Of the driver\n\n{len(own)} events. They stand in no journal.\n", *map(table, own)]
    return "\n".join(parts)


def main(arguments: list[str]) -> int:
    written = page()
    if "--check" in arguments:
        return int(not PAGE.exists() or PAGE.read_text(encoding="utf-8") != written)
    PAGE.write_text(written, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
