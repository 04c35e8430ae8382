"""Runs within workflows of Restate, whose server remembers them: `pip install 'loopwright[restate]'`."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from loopwright.errors import LoopwrightError, UsageError

from ._drive import drive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopwright.agent import Agent
    from loopwright.result import Result

    from ._engine import Answer, Question, Work

__all__ = ["RestateEngine", "people", "run"]


_FOREVER = 10 * 365 * 86_400.0


@cache
def _restate() -> Any:
    try:
        import restate
    except ImportError as error:
        raise UsageError("no SDK of Restate is here", "missing_package", "pip install 'loopwright[restate]'") from error
    return restate


class RestateEngine:
    """What Restate does for a run: make one of the context of the workflow's main handler."""

    limit = 24 << 20

    def __init__(self, context: Any) -> None:
        self.context = context
        self.run_id: str = context.key()

    async def step(self, name: str, work: Work) -> str:
        return str(await self.context.run_typed(name, work))

    async def gather(self, steps: Sequence[tuple[str, Work]]) -> list[str]:
        begun = [self.context.run_typed(*each) for each in steps]
        await _restate().gather(*begun)
        return [str(await each) for each in begun]

    async def sleep(self, seconds: float) -> None:
        await self.context.sleep(timedelta(seconds=seconds))

    async def ask(self, question: Question, seconds: float | None) -> Answer | None:
        self.context.set("question", question)
        said = self.context.promise(_promise(question), type_hint=dict).value()
        late = self.context.sleep(timedelta(seconds=_FOREVER if seconds is None else seconds))
        which, answer = await _restate().select(answer=said, late=late)
        self.context.clear("question")
        return answer if which == "answer" else None

    async def tell(self, events: Sequence[Any]) -> None:
        """Restate has no streams."""


def _promise(question: Any) -> str:
    return f"answer {question['id']} {question['hash']}"


async def run(context: Any, agent: Agent[Any, Any], prompt: Any, **options: Any) -> Result[Any]:
    """`drive` in a main handler. What ends a run with an error ends the workflow, which is not tried again for ever."""
    try:
        return await drive(agent, prompt, engine=RestateEngine(context), **options)
    except LoopwrightError as error:
        raise _restate().TerminalError(str(error), 500, {"code": error.code}) from error


def people(workflow: Any) -> None:
    """Adds two handlers to a workflow: `question` gives the call that it waits with for a person, or nothing; `answer`
    takes what `answer_to` gives for that, and the `id` of the question.
    """

    async def question(context: Any) -> dict[str, Any]:
        return await context.get("question", type_hint=dict) or {}

    async def answer(context: Any, said: dict[str, Any]) -> bool:
        there = await context.get("question", type_hint=dict)
        if there is None or (there["id"], there["hash"]) != (said["id"], said["hash"]):
            # Late, twice, or for another call.
            return False
        await context.promise(_promise(there), type_hint=dict).resolve(said)
        return True

    workflow.handler("question")(question)
    workflow.handler("answer")(answer)
