"""Runs whose every text wants to be more than text: HTML, script, links, markers of templates and of Markdown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from loopwright import Agent, Grounded, Research, Result, tool
from loopwright.grounded import Source
from loopwright.models import Call, Response
from loopwright.testing import ScriptedModel

PAYLOADS: list[str] = json.loads((Path(__file__).parents[1] / "data/page/hostile.json").read_text(encoding="utf-8"))
ALL = "\n".join(PAYLOADS)
SECRET = "ghp_" + "x9K2mQ7vLp4RzT8wB3" + "nYc6HdF1sJg5UeA0Xo"
JOURNALS = Path(__file__).parents[1] / "data" / "journals"


@tool(read_only=True)
def look(query: str) -> str:
    """Looks."""
    if query == PAYLOADS[0]:
        raise ValueError(ALL)
    return ALL


def turn(**options: Any) -> Result[Any]:
    """A run with payloads as prompt, reasoning, text, names of tools, names and values of arguments, and results."""
    calls = [Call("look", {"query": each}) for each in PAYLOADS[:3]]
    unknown = [Call(each, {each: each, "password": "hunter2hunter2"}) for each in PAYLOADS]
    steps = [Response(ALL, calls, reasoning=ALL), Response(ALL, unknown), Response(f"{ALL}\n{SECRET}")]
    return Agent(ScriptedModel(steps), tools=[look]).run_sync(f"{ALL}\n{SECRET}", **options)


def grounded(**options: Any) -> Result[Any]:
    """An answer whose sources are called as payloads are."""
    sources = [Source("file", each, 1, 1, f"The pump was built in 1931. {each}", 1.0) for each in PAYLOADS]
    cites = " ".join(f"The pump was built in 1931 by hand, as they say. [{n}]" for n in range(1, 21))
    wide = {"file_sources": 100, "total_chars": 60_000}
    agent = Grounded(ScriptedModel([cites] * 3), sources=[lambda _: sources], gather=wide)
    return agent.run_sync(f"When was the pump built? {ALL}", **options)


def research(**options: Any) -> Result[Any]:
    """A research whose pages are called as payloads are."""
    words = "The moon causes most of the tide. High water comes about every 12 hours on most coasts of the world."
    pages = [{"title": each, "url": f"https://pages.example/{n}?{each}", "text": f"{words} {each}"}
             for n, each in enumerate(PAYLOADS)]  # fmt: skip
    return Research("offline:extractive", corpus=pages, **options).run_sync("What causes the tides?")


def unsealed(text: str) -> str:
    """A journal as versions without sums wrote them: what is in it can be changed."""
    return re.sub(r',"sum":"[0-9a-f]{16}"', "", text).replace('"loopwright":2', '"loopwright":1')


def poisoned(text: str) -> str:
    """A journal all of whose notices say payloads instead of words."""
    head, *lines = unsealed(text).removesuffix("\n").split("\n")
    told = []
    for line in lines:
        found = json.loads(line)
        found = json.loads(found["escaped"]) if "escaped" in found else found
        for command in found["commands"]:
            if isinstance(command, dict) and "emit" in command:
                command["emit"]["notice"] = _poisoned(command["emit"]["notice"], len(told))
        told.append(json.dumps(found))
    return "\n".join([head, *told, ""])


def _poisoned(value: Any, seed: int) -> Any:
    if isinstance(value, str):
        return PAYLOADS[(seed + len(value)) % len(PAYLOADS)]
    if isinstance(value, list):
        return [_poisoned(each, seed) for each in value]
    if isinstance(value, dict):
        kept = ("type", "id", "path", "told")
        return {name: each if name in kept else _poisoned(each, seed) for name, each in value.items()}
    return value
