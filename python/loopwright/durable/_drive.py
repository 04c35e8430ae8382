"""A run on an engine: the machine decides, the engine remembers, and the agent carries out.

What the engine has recorded decides all that happens: no clock, no random number and no file is read in here, so that a
run that is played again after a crash comes to the same place, and its journal is the same byte for byte.
"""

from __future__ import annotations

import json
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from loopwright import _core
from loopwright._run_options import overridden_deps, varied
from loopwright._stream import _checked
from loopwright.errors import UsageError
from loopwright.machine import apart_from_host, config_from_json, turn_of

from ._turn import Turn

if TYPE_CHECKING:
    from loopwright.agent import Agent
    from loopwright.budget import Budget
    from loopwright.result import Result

    from ._engine import Engine

__all__ = ["drive"]

_ATTEMPTS = 3
"""Attempts at an answer of the type that was asked for."""


async def drive(
    agent: Agent[Any, Any],
    prompt: Any,
    *,
    engine: Engine,
    run_id: str | None = None,
    deps: Any = None,
    messages: Any = None,
    budget: Budget | None = None,
    machine: str | None = None,
) -> Result[Any]:
    """Runs `agent` on `prompt` within a workflow of an engine, and gives what `Agent.run` gives.

    Requests, calls, hooks and what else is work are steps, which the engine records. Where a worker dies, another one
    that calls this again goes on behind the last step. A call that may have taken effect and was not recorded is never
    made again, unless its tool is `idempotent`: the model is told that nobody knows (`unknown`).

    A person is asked by the engine where the agent's guard names nobody, or `"suspend"`; the time until an answer
    counts for no budget. `result.journal` holds the lines of the run's journal.

    Args:
        agent: The same on each worker: its models, tools and hooks are taken from here.
        prompt: As for `Agent.run`.
        engine: What records, waits and asks: `loopwright.durable.dbos.DBOSEngine` and the like.
        run_id: The name of the run; by default that of the engine's workflow.
        deps: What tools get as `context.deps`.
        messages: What was said before.
        budget: What the run may use, instead of the agent's budget.
        machine: `agent.machine().to_json()`, where that is the workflow's input. Without it the first step records it:
            a run goes on as it began, on each host and under each later version of the program.
    """
    agent = varied(agent, {})
    _fits(agent)
    agent._keyed()
    run = _Driven(agent, engine, run_id or engine.run_id, overridden_deps(agent, deps))
    return await run.to_the_end(prompt, messages, budget, machine)


def _fits(agent: Any) -> None:
    """Raises `not_durable` for what would be lost, or done again, where another worker goes on."""
    remember = agent._remember
    around = [stage for stage in agent._hooks if stage.startswith("around_") or stage.endswith("_reflect")]
    lost = {
        "handoffs": agent._given.get("handoffs"),
        "toolsets": agent._places or agent._each_round,
        f"hooks at {', '.join(around)}": around,
        "a memory that keeps something after the turn": remember is not None and remember.after is not None,
        "tools whose work is done elsewhere": agent._plan(agent.budget, stream=False).defers,
    }
    found = [what for what, there in lost.items() if there]
    if found:
        message = f"an agent with {' and '.join(found)} does not run on an engine"
        raise UsageError(
            message, "not_durable", "leave it out, or run it with a journal: run_id=, on_existing='resume'"
        )


class _Driven:
    """The runs of one call of `drive`: one, and further ones while the answer is not of the type that was asked for."""

    def __init__(self, agent: Any, engine: Engine, run_id: str, deps: Any) -> None:
        self.agent, self.engine, self.run_id, self.deps = agent, engine, run_id, deps
        # Of this execution: whoever finds another one recorded comes after a crash.
        self.attempt = os.urandom(16).hex()

    async def to_the_end(self, prompt: Any, messages: Any, budget: Budget | None, machine: str | None) -> Result[Any]:
        agent = self.agent
        limits = agent._limits(prompt, budget)
        conversation = agent._conversation(prompt, messages)
        if machine is None:

            async def config() -> str:
                return apart_from_host(agent._plan(limits, stream=False).config.to_json())

            machine = await self.engine.step("machine", config)
        config_from_json(machine)
        output, earlier, tries = agent._output, None, 0
        while True:
            name = self.run_id if tries == 0 else f"{self.run_id}-{tries + 1}"
            plan = agent._plan(limits, stream=False)
            configured = _configured(machine, name, limits if tries else None)
            turn = Turn(self.engine, plan, configured, name=name, attempt=self.attempt, deps=self.deps)
            ended = await turn.to_the_end(_core.Event.start(conversation))
            result, feedback = self._finish(turn, ended, earlier)
            tries += 1
            most = _ATTEMPTS if output is None else output.asked.attempts
            if feedback is None or tries >= most:
                return _checked(result)
            from loopwright._attempts import _left
            from loopwright.messages import Message

            conversation = result.messages._history.extended(f"[{Message.user(feedback).to_json()}]")
            limits = _left(result, earlier, limits, cast("Any", SimpleNamespace(outcome=ended)))
            earlier = result

    def _finish(self, turn: Turn, ended: _core.Ended, earlier: Any) -> tuple[Result[Any], str | None]:
        past = turn.past()
        run = SimpleNamespace(messages=turn.machine.messages, journal=turn.lines, noted_json=past.noted_json)
        questions = SimpleNamespace(pending=[])
        driver = SimpleNamespace(outcome=ended, raised={}, questions=questions, given={})
        found: tuple[Result[Any], str | None] = self.agent._finish(driver, run, turn.plan, turn.name, None, earlier)
        return found


def _configured(machine: str, name: str, limits: Budget | None) -> _core.MachineConfig:
    """The configuration of a run: its jitter follows from its name; further attempts have what is left."""
    config = json.loads(machine)
    if limits is not None:
        turn_of(config)["budget"] = limits._config()
    # A run that has only begun and ended writes down the seed that its name gives.
    seeded = _core.Run(name, config_from_json(json.dumps(config)), keep=True)
    seeded.step(_core.Event.interrupt("cancel"))
    return config_from_json(_core.journal_head(seeded.journal or "")[2])
