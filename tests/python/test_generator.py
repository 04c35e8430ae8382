"""One generator drives runs, whatever carries its wishes out: it steps when it is asked, and begins nothing before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from loopwright import Agent, Budget, UsageError, _core, tool
from loopwright._driver._generator import ARRIVED, ASKED, OVER, WAIT, Driver
from loopwright._effects import Beside, Raised, attempt
from loopwright.events import RoundStarted, ToolFinished, ToolStarted
from loopwright.testing import ScriptedModel, call


class ByHand(Driver):
    """Carries out what a run wants where it stands, without a loop and without threads."""

    def __init__(self, agent: Agent[Any, Any]) -> None:
        plan = agent._plan(Budget(), stream=True)
        begun = agent._begun(plan, None, 0, agent._conversation("go", None))
        super().__init__(plan, begun.run, begun.name, None, watch=True)
        self.begun_work: list[str] = []
        self.hub = _core.Hub(wakes=False)
        self.generator = self.turns(begun.start)

    def begin(self, job: Any) -> None:
        self.begun_work.append(job.what)
        job.work = work = job.function(*job.arguments)
        sent = None
        while True:
            try:
                effect = work.send(sent)
            except StopIteration as end:
                return self.ended(job, end.value)
            except BaseException as error:
                return self.failed(job, error)
            sent = attempt(effect.function) if type(effect) is Beside else asyncio.run(effect)

    def soon(self, function: Callable[[], None]) -> None:
        function()

    def noticed(self) -> None:
        pass


def agent_of(*replies: Any) -> tuple[Agent[Any, Any], list[int]]:
    ran: list[int] = []

    @tool
    def plain(n: int) -> str:
        """Works."""
        ran.append(n)
        return str(n)

    @tool
    async def later(n: int) -> str:
        """Works."""
        ran.append(n)
        return str(n)

    return Agent(ScriptedModel(list(replies)), tools=[plain, later]), ran


@pytest.mark.parametrize("name", ["plain", "later"])
def test_a_run_driven_by_hand_begins_nothing_that_was_not_asked_for(name: str) -> None:
    agent, ran = agent_of(call(name, n=1), call(name, n=2), "done")
    driver = ByHand(agent)
    told: list[Any] = []
    effect = driver.pump(None)
    while effect is not OVER:
        if effect is not WAIT:
            told += effect
            before = list(ran), list(driver.begun_work)
            # Whatever arrives meanwhile: what was told last has not been heard.
            assert driver.pump(ARRIVED) is WAIT
            assert (ran, driver.begun_work) == before
            finished = sum(isinstance(event, ToolFinished) for event in told)
            assert len(ran) == finished
        effect = driver.pump(ASKED)
    assert ran == [1, 2]
    assert driver.begun_work == [f"tool {name}"] * 2
    assert driver.outcome is not None and driver.outcome["stop"] == "natural"
    # It is over, and stays so.
    assert driver.pump(ASKED) is OVER and driver.pump(ARRIVED) is OVER


@pytest.mark.parametrize("until", [RoundStarted, ToolStarted])
def test_closing_the_generator_ends_the_run_and_begins_nothing(until: type) -> None:
    agent, ran = agent_of(call("plain", n=1), "done")
    driver = ByHand(agent)
    effect = driver.pump(None)
    while not (isinstance(effect, list) and any(isinstance(event, until) for event in effect)):
        effect = driver.pump(ASKED)
    assert driver.generator is not None
    driver.generator.close()
    assert driver.outcome is not None and driver.outcome["stop"] == "cancelled"
    assert ran == [] and driver.pump(ASKED) is OVER


def test_a_wish_to_end_is_heard_while_an_event_is_looked_at() -> None:
    agent, ran = agent_of(call("plain", n=1), "done")
    driver = ByHand(agent)
    driver.pump(None)
    driver.interrupt_soon("cancel")
    assert driver.outcome is not None and driver.outcome["stop"] == "cancelled" and ran == []
    other = ByHand(agent_of(call("plain", n=1), "done")[0])
    other.pump(None)
    other.interrupt_soon("leave")
    with pytest.raises(UsageError) as caught:
        while other.pump(ASKED) is not OVER:
            pass
    assert caught.value.code == "suspended"


def test_what_could_not_begin_breaks_the_run_off_as_it_was_raised() -> None:
    agent, ran = agent_of(call("plain", n=1), "done")
    driver = ByHand(agent)
    fault = OSError("no more threads")

    def begin(job: Any) -> None:
        raise fault

    driver.begin = begin  # type: ignore[method-assign]
    driver.pump(None)
    with pytest.raises(OSError, match="no more threads") as caught:
        while driver.pump(ASKED) is not OVER:
            pass
    assert caught.value is fault and ran == []
    assert driver.outcome is not None and driver.outcome["stop"] == "cancelled"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_was_told_before_a_model_raised_is_heard(asynchronous: bool) -> None:
    class Model:
        def respond(self, request: Any) -> Any:
            raise ValueError("no")

    heard: list[type] = []

    def hear(event: Any) -> None:
        heard.append(type(event))

    with pytest.raises(ValueError, match="no") as caught:
        if asynchronous:
            asyncio.run(Agent(Model()).run("go", on_event=hear))
        else:
            Agent(Model()).run_sync("go", on_event=hear)
    assert RoundStarted in heard
    assert caught.value.__context__ is None


def test_what_is_raised_is_sent_and_never_thrown() -> None:
    for error in (ValueError(), StopIteration(), GeneratorExit(), KeyboardInterrupt()):

        def fails(error: BaseException = error) -> None:
            raise error

        sent = attempt(fails)
        assert type(sent) is Raised and sent.error is error
