"""Runs within workflows of DBOS, which records them in SQLite or Postgres: `pip install 'loopwright[dbos]'`."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING, Any

from loopwright.errors import UsageError

from ._engine import answer_to

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._engine import Answer, Question, Work

__all__ = ["DBOSEngine", "answer", "pending"]

_FOREVER = 10 * 365 * 86_400.0


@cache
def _dbos() -> Any:
    try:
        from dbos import DBOS
    except ImportError as error:
        message = "DBOS is not installed"
        raise UsageError(message, "missing_package", "pip install 'loopwright[dbos]'") from error
    return DBOS


class DBOSEngine:
    """What DBOS does for a run: make one in the workflow. With `stream` what happens is written to that stream."""

    limit = 32 << 20

    def __init__(self, *, stream: str | None = None) -> None:
        self.run_id: str = _dbos().workflow_id or ""
        self.stream = stream

    async def step(self, name: str, work: Work) -> str:
        given: str = await _dbos().run_step_async({"name": name}, _unless_cancelled, self.run_id, work)
        return given

    async def gather(self, steps: Sequence[tuple[str, Work]]) -> list[str]:
        return await asyncio.gather(*(self.step(*each) for each in steps))

    async def sleep(self, seconds: float) -> None:
        await _dbos().sleep_async(seconds)

    async def ask(self, question: Question, seconds: float | None) -> Answer | None:
        await _dbos().set_event_async("question", question)
        said: Answer | None = await _dbos().recv_async(
            f"answer {question['id']}", _FOREVER if seconds is None else seconds
        )
        await _dbos().set_event_async("question", None)
        return said

    async def tell(self, events: Sequence[Any]) -> None:
        if self.stream is not None:
            await _dbos().write_stream_async(self.stream, [event.to_dict() for event in events])


async def _unless_cancelled(run_id: str, work: Work) -> str:
    """Does the work of a step; a workflow that is cancelled meanwhile, from wherever, ends it within a second."""
    task = asyncio.ensure_future(work())
    try:
        while not (await asyncio.wait([task], timeout=1.0))[0]:
            status = await _dbos().get_workflow_status_async(run_id)
            if status is not None and status.status == "CANCELLED":
                raise UsageError(f"the run {run_id!r} was cancelled", "cancelled", "nobody waits for it any more")
        return task.result()
    finally:
        task.cancel()


async def pending(run_id: str, seconds: float = 0.0) -> Question | None:
    """The call that a run waits with for a person; it is waited for so many seconds."""
    found: Question | None = await _dbos().get_event_async(run_id, "question", seconds)
    return found


async def answer(question: Question, said: Any) -> None:
    """Answers a call from any process: `True`, `False`, the reason of a no, or `Edit({...})`."""
    await _dbos().send_async(question["run_id"], answer_to(question, said), f"answer {question['id']}")
