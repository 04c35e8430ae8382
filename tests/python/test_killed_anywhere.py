"""Runs with sub-agents, background roles, questions to a person, pauses and memory, killed at random moments.

Whatever was under way: the run goes on to its end, no call takes effect twice, the journal replays bit for bit, and its
turn is remembered once.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from killing import killed_at_moments, killed_until_it_ends
from loopwright import Agent, Budget, Memory, Monitor, SubAgent, tool
from loopwright.context import ContextPolicy
from loopwright.models import Call, Response
from loopwright.result import Messages
from loopwright.run import Signal


def results_in(request: Any) -> int:
    return sum(len(message.tool_results) for message in Messages(request.messages))


class Parent:
    """Starts two sub-agents at once, then writes twice at once; then it is done."""

    name = "parent"

    def respond(self, request: Any) -> Any:
        time.sleep(0.001)
        done = results_in(request)
        if done == 0:
            return Response(calls=[Call("spawn", {"agent": "worker", "task": f"task {n}"}) for n in "AB"])
        return Response(calls=[Call("note", {"what": f"parent {n}"}) for n in "AB"]) if done < 4 else "done"


class Child:
    """Writes three times."""

    name = "child"

    def respond(self, request: Any) -> Any:
        time.sleep(0.001)
        said = " ".join(message.text for message in Messages(request.messages))
        task = "A" if "task A" in said else "B"
        done = results_in(request)
        return Response(calls=[Call("note", {"what": f"child {task} {done}"})]) if done < 3 else f"wrote {task}"


class Background:
    """Takes longer than a round."""

    name = "background"

    def respond(self, request: Any) -> Any:
        time.sleep(0.004)
        return "no JSON at all"


def approve(question: Any) -> Any:
    time.sleep(0.002)
    return "may have taken effect" not in question.why or "it may have been done"


def agent_of(folder: Path) -> Agent[Any, Any]:
    @tool(risk="dangerous")
    def note(what: str) -> str:
        """Notes something."""
        with (folder / "effects").open("a") as file:
            file.write(f"{what}\n")
        time.sleep(0.001)
        return f"noted {what}"

    return Agent(
        Parent(),
        tools=[note],
        agents=[SubAgent("worker", "writes", tools=[note], model=Child())],
        context=ContextPolicy(summarizer=Background()),
        monitor=Monitor(sanity=Background(), stuck=None, momentum=None),
        guard=approve,
        memory=folder / "memory.db",
        budget=Budget(rounds=100, tool_rounds=50),
    )


def work(folder: Path, journal: Path, *, begins: bool, seed: int) -> None:
    sign, rng = Signal(), random.Random(seed)  # noqa: S311 - moments, no secrets

    def pauses() -> None:
        while True:
            time.sleep(rng.uniform(0.0, 0.02))
            sign.pause()
            time.sleep(rng.uniform(0.0, 0.005))
            sign.resume()

    threading.Thread(target=pauses, daemon=True).start()
    agent = agent_of(folder)
    prompt = "My cat is called Pixel."
    if seed % 2:
        asyncio.run(agent.run(prompt, journal=journal, signal=sign) if begins else agent.resume(journal, signal=sign))
    elif begins:
        agent.run_sync(prompt, journal=journal, signal=sign)
    else:
        agent.resume_sync(journal, signal=sign)


def killed_again_and_again(folder: Path, seed: int, name: str) -> int:
    """A run that is killed at most five times; gives how often it was."""

    def goes(journal: Path, begins: bool, seed: int) -> None:
        work(folder, journal, begins=begins, seed=seed)

    return killed_until_it_ends(folder, seed, name, goes, most=5, longest=0.08)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run.jsonl", "project.db"])
def test_c28_d46_x18_killed_with_children_questions_roles_and_pauses(tmp_path: Path, name: str) -> None:
    killed_at_moments("test_killed_anywhere", tmp_path, name, kills=60, timeout=110)
    for folder in tmp_path.iterdir():
        # The next process that uses the memory.
        with Memory(folder / "memory.db") as memory:
            agent = Agent(Background(), memory=memory)
            assert agent.drain_sync(30) == []
            assert len(memory.episodes()) == 1, folder
            assert [hit.text for hit in memory.newest(kinds=["semantic"])].count("My cat is called Pixel.") == 1
