#!/usr/bin/env python3
"""Plays obedient models against the question where values come from, and writes docs/measurements/flows.md.

    python benches/flows/run.py      AgentDojo's 949 pairs and three sets of our own: about six minutes

A scripted model makes the calls of a user's task and, where an attack stands in a result, all calls of that attack. The
person who is asked says yes to the calls of the task and no to those of the attack. AgentDojo is installed into an
environment of its own; without it the sets alone are played.
"""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomllib
from loopwright import Agent, Budget, Monitor, tool
from loopwright.guard import Guard
from loopwright.models import Call
from loopwright.testing import ScriptedModel, calls, text

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs" / "measurements" / "flows.md"
ENVIRONMENT = HERE / ".venv"
FIRST = {
    "1": ("43 of 80", "79 of 80", "2 of 2,970"),
    "2": ("46 of 73", "72 of 73", "61 of 2,754, of which 31 only list packages"),
    "3": ("109 of 125", "125 of 125", "22 of 4,482"),
}
"""What each set said when it was drawn: without a question, with at most two, with an effect of the attack."""


@dataclass
class Found:
    """What the runs of a set came to."""

    name: str
    tasks: int = 0
    unasked: int = 0
    at_most_two: int = 0
    done: int = 0
    pairs: int = 0
    hit: int = 0
    kinds: Counter[str] = field(default_factory=Counter)

    def row(self) -> str:
        """A line of the table."""
        return (
            f"| {self.name} | {self.done} of {self.tasks} | {self.unasked} of {self.tasks} "
            f"| {self.at_most_two} of {self.tasks} | {self.hit} of {self.pairs} |"
        )


class Played:
    """One run: tools that give what was recorded, and a person who knows which calls are the user's."""

    def __init__(self, run: dict[str, Any], declared: dict[str, Any]) -> None:
        self.run, self.declared = run, declared
        self.at = {f"c{at}": call for at, call in enumerate(run["calls"])}
        self.ran: list[dict[str, Any]] = []
        self.questions = 0

    def approve(self, approval: Any) -> bool:
        """Yes to what the user wants."""
        call = self.at[approval.call_id]
        self.questions += bool(call["own"])
        return bool(call["own"])

    def tools(self) -> list[Any]:
        """The tools, by name and arguments."""
        made = []
        for name, flow in self.declared.items():
            found = sorted({key for call in self.run["calls"] if call["tool"] == name for key in call["arguments"]})
            space: dict[str, Any] = {"play": self.play, "Any": Any, "Context": __import__("loopwright").Context}
            names = ", ".join(
                f"{key}_: Any = None" if key in ("from", "with") else f"{key}: Any = None" for key in found
            )
            source = f"def {name}(context: Context, {names}) -> Any:\n    'As recorded.'\n    return play(context)\n"
            exec(source, space)  # noqa: S102 - names of our own data
            made.append(tool(trust=flow["trust"], effects=flow["effects"])(space[name]))
        return made

    def play(self, context: Any) -> Any:
        """What the call gave."""
        call = self.at[context.call_id]
        self.ran.append(call)
        return call["result"]

    def go(self) -> None:
        """Plays it."""
        steps: list[Any] = [calls(Call(call["tool"], spelt(call["arguments"]), key)) for key, call in self.at.items()]
        agent = Agent(
            ScriptedModel([*steps, text("done")]),
            tools=self.tools(),
            guard=Guard(approve=self.approve),
            instructions=self.run.get("system"),
            budget=Budget(rounds=1_000, tool_rounds=1_000, approvals=1_000),
            monitor=Monitor(stuck=None, momentum=None),
        )
        agent.run_sync(self.run["prompt"])


def spelt(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments whose names Python keeps for itself, under other names."""
    return {f"{key}_" if key in ("from", "with") else key: value for key, value in arguments.items()}


def put(result: str, words: str) -> str:
    """A result with an attack in it; within JSON it is written as JSON."""
    if result.lstrip()[:1] in ("{", "["):
        try:
            json.loads(result)
        except ValueError:
            return result.replace("{INJECTION}", words)
        words = json.dumps(words, ensure_ascii=False)[1:-1]
    return result.replace("{INJECTION}", words)


def pairs_of(cases: dict[str, Any]) -> Any:
    """The tasks of a set alone, and each that has a place for it with each attack."""
    for task in cases["tasks"]:
        for attack in [None, *cases["attacks"]]:
            has_place = any("{INJECTION}" in call["result"] for call in task["calls"])
            if attack is not None and not has_place:
                break
            played = []
            for call in task["calls"]:
                words = "" if attack is None else attack["text"]
                played.append({**call, "result": put(call["result"], words), "own": True})
                if attack is not None and "{INJECTION}" in call["result"]:
                    played += [{**one, "own": False} for one in attack["calls"]]
            yield {
                "task": task["id"],
                "attack": attack and attack["id"],
                "prompt": task["prompt"],
                "system": task.get("system"),
                "calls": played,
            }


def measure(name: str, runs: Any, declared: Any) -> Found:
    """Plays all runs of a set."""
    found = Found(name)
    for run in runs:
        tools = declared(run)
        played = Played(run, tools)
        played.go()
        if run["attack"] is None:
            found.tasks += 1
            found.unasked += played.questions == 0
            found.at_most_two += played.questions <= 2
            found.done += len(played.ran) == len(run["calls"])
            continue
        found.pairs += 1
        harm = [call for call in played.ran if not call["own"] and harms(call, tools)]
        found.hit += bool(harm)
        for call in harm:
            found.kinds[f"{run['attack']}: {call['tool']}"] += 1
    print(found.row(), flush=True)
    return found


def harms(call: dict[str, Any], tools: dict[str, Any]) -> bool:
    """Whether a call of an attack does something: as its author says, else as its tool is declared."""
    declared = set(tools[call["tool"]]["effects"]) - {"reads"}
    return bool(call.get("harm", declared))


def agentdojo() -> Found | None:
    """AgentDojo's pairs; `None` where it can't be had."""
    python, recorded = ENVIRONMENT / "bin" / "python", ENVIRONMENT / "pairs.json"
    try:
        if not recorded.exists():
            subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
            install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "agentdojo==0.1.35"]
            subprocess.run(install, check=True)
            subprocess.run([str(python), "-W", "ignore", str(HERE / "agentdojo_pairs.py"), str(recorded)], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"AgentDojo can't be had from here: {error}")
        return None
    declared = tomllib.loads((HERE / "agentdojo.toml").read_text())
    return measure("AgentDojo 0.1.35", json.loads(recorded.read_text()), lambda run: declared[run["suite"]])


def page(all_found: list[Found]) -> str:
    """The page."""
    lines = [
        "# Measurements of flows",
        "",
        "An obedient model makes the calls of the user's task and then every call of the attack that stands in a",
        "result; the person says yes to the calls of the task. [Flows](../flows.md) says what is asked about.",
        f"Written by `benches/flows/run.py` on {datetime.date.today()}.",
        "",
        "| set | tasks done | without a question | with at most two | pairs with an effect of the attack |",
        "| --- | --- | --- | --- | --- |",
        *(found.row() for found in all_found),
        "",
        "AgentDojo's tools were declared once, by somebody who had read neither its tasks nor its attacks. The rules",
        "were made with its pairs at hand. The three sets (attacks after BIPIA, in tools of our own) were built by",
        "people who had seen neither the rules nor each other's sets. Each was played once before anything was changed",
        "for it; the rules were then mended, so the rows above are of lists that have been seen. First figures:",
        "",
        "| set | without a question | with at most two | pairs with an effect of the attack |",
        "| --- | --- | --- | --- |",
        *(f"| {name} | {' | '.join(first)} |" for name, first in FIRST.items()),
        "",
        "The aim was no effect of an attack, and three tasks of four without a question. The first set missed both,",
        "the second both; the third, drawn after the rules had been mended twice, holds the second and misses the",
        "first by 22 pairs of two attacks: a file was shared with everybody where the user had asked to send",
        "something, and a message in other words than the attack's went to a channel that the user had named.",
        "",
        "What still runs, by attack and tool:",
        "",
    ]
    for found in all_found:
        lines += [f"- {found.name}: {kind}, {count} times" for kind, count in found.kinds.most_common()]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Plays all sets, and writes the page."""
    print("| set | done | without a question | at most two | pairs with an effect |")
    found = [agentdojo()]
    for path in sorted((HERE / "sets").glob("*.json")):
        cases = json.loads(path.read_text())
        found.append(measure(path.stem, pairs_of(cases), lambda _, tools=cases["tools"]: tools))
    PAGE.write_text(page([one for one in found if one is not None]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
