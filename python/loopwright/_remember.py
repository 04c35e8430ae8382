"""Memory in a run: what it is asked before the first request, and what is queued when the run has ended."""

from __future__ import annotations

import json
import math
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from . import _core
from ._dataclasses import dataclass, replace
from ._plan import core_of
from ._user_code import RAISED, log_raised
from .errors import LoopwrightError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from . import events
    from ._driver import Driver
    from ._endpoints import ProviderEndpoint
    from .after import AfterTurn
    from .memory import Memory
    from .result import Result
    from .roles import Role, Roles

__all__ = ["Following", "Remembering", "recall_config", "remembering"]


@dataclass(frozen=True)
class Remembering:
    """The memory of an agent, for whom it remembers, and what follows a turn."""

    memory: Memory
    user: str | None
    session: str | None
    after: AfterTurn | None

    def whom(self, user: str | None, session: str | None) -> Remembering:
        """The same memory for somebody else."""
        return replace(self, user=user, session=session)

    def recalled(self, command: _core.Command) -> _core.Event:
        """The event that answers a `recall`: whatever goes wrong is told by it, and stops nothing."""
        number, query, shape = command.id, command.question, command.shape
        assert number is not None  # noqa: S101 - a recall has all of these
        assert query is not None  # noqa: S101
        assert shape is not None  # noqa: S101
        try:
            self._read_file()
            asked = self.memory._asked(query, shape[0], {"user": self.user or ""})
            return _core.Event.recalled(number, self.memory._core.recollect(asked, *shape))
        except LoopwrightError as error:
            return _core.Event.recall_failed(number, error.code, error.message)
        except RAISED as error:
            log_raised("memory", "the recall", error)
            return _core.Event.recall_failed(number, "memory_failed", f"{type(error).__name__}: {error}")

    def _read_file(self) -> None:
        """What a person wrote into the file of preferences stands in the next request."""
        path = None if self.after is None else self.after._as_json()["memory_file"]
        if path is None or self.after is None or not self.after.preferences:
            return
        # What follows the turn reads it again, and tells what is wrong with it.
        with suppress(LoopwrightError):
            self.memory._read_file(path, self.user)

    def begin(self, run: _core.Run) -> float:
        """A run begins; gives the time."""
        if self.after is not None and self.after.audit:
            run.keep_notices()
        return time.time()

    def about(self, name: str, began: float, prompt_at: int | None) -> dict[str, Any]:
        """What is known of a run before it ends."""
        assert self.after is not None  # noqa: S101 - asked for by the callers
        return {
            "run": name,
            "session": self.session if self.session is not None else self.memory.session,
            "user": self.user,
            "started_at": began,
            "prompt_at": prompt_at,
            "after": self.after._as_json(),
        }

    def expect(self, about: Mapping[str, Any], journal: str, instead: str | None) -> None:
        """A run begins whose journal is at `journal`: should this process die before its turn is queued, another one
        finds it there. Nobody waits for that.
        """
        # Other processes start elsewhere.
        noted = (about["run"], instead, os.path.abspath(journal), json.dumps(about))  # noqa: PTH100 - links stay
        try:
            self.memory._core.expect_turn(*noted)
        except LoopwrightError as error:
            if error.code == "store_busy":
                self.memory._after.expect(noted)

    def end(self, run: _core.Run, about: Mapping[str, Any]) -> tuple[str, str] | None:
        """A run has ended: what follows is queued, and started in the background. Gives what the caller should know."""
        if self.after is None:
            return None
        worker, name = self.memory._after, about["run"]
        about = {**about, "ended_at": time.time()}
        try:
            turn = _core.MemoryStore.turn(core_of(run), json.dumps(about))
            self.memory._core.queue_turn(turn)
        except LoopwrightError as error:
            if error.code == "store_busy" and worker.keep(name, turn, self.after):
                return "remembered_later", f"what follows the turn waits in this process: {error.message}"
            code = error.code if error.code == "queue_full" else "not_remembered"
            return code, f"what follows the turn was not queued ({error.code}): {error.message}"
        worker.wake(self.after, name)
        return None


class Following:
    """A run whose turn is to be remembered, if there is a memory: what follows is queued once, however the run ends.

    `journal` is where the run's journal is; `before`, the attempt that this one is made after.
    """

    __slots__ = ("_about", "_driver", "_remember")

    def __init__(
        self,
        remember: Remembering | None,
        driver: Driver,
        prompt_at: int | None,
        journal: str | None = None,
        before: Following | None = None,
    ) -> None:
        self._remember = remember
        self._driver = driver
        self._about: dict[str, Any] = {}
        if remember is not None:
            began = remember.begin(driver.run)
            if remember.after is not None:
                self._about = remember.about(driver.run_id, began, prompt_at)
                if journal is not None:
                    remember.expect(self._about, journal, None if before is None else before._about.get("run"))

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, *_: object) -> None:
        # A run that was broken off from outside has no caller who would wait for its end.
        if kind is not None and self._driver.outcome is not None:
            self._end()

    def end(self, result: Result[Any]) -> list[events.Warned]:
        """The run has ended; gives what its caller should know."""
        return self._told(result, self._end())

    async def aend(self, result: Result[Any]) -> list[events.Warned]:
        """The same, in a thread: a store that is locked holds up whoever waits for this answer, and nobody else."""
        if self._remember is None:
            return []
        from asyncio import to_thread

        return self._told(result, await to_thread(self._end))

    def _end(self) -> tuple[str, str] | None:
        # A run that was left has not ended.
        if self._remember is None or self._driver.left:
            return None
        return self._remember.end(self._driver.run, self._about)

    def _told(self, result: Result[Any], told: tuple[str, str] | None) -> list[events.Warned]:
        if told is None:
            return []
        from . import events

        result.warnings.append(": ".join(told))
        event: events.Warned = self._driver.numbered(events.Warned(*told))
        return [event]


def remembering(
    memory: object,
    after: object,
    roles: Roles | None,
    homes: Sequence[ProviderEndpoint] = (),
) -> Remembering | None:
    """The memory of an agent, from its options; the reflector among its roles looks back on its turns."""
    if memory is None and not after:
        return None
    from .memory import Memory

    if isinstance(memory, (str, os.PathLike)):
        memory = Memory(memory)
    elif not isinstance(memory, Memory):
        raise _wrong("memory", memory, "a Memory, or the path of its file")
    found = Remembering(memory, None, None, _reflecting(_after(after), after, roles, homes))
    if found.after is not None:
        # What a process before this one left behind is taken up.
        memory._after.wake(found.after)
    return found


_PATTERNS = {
    "type": "object",
    "properties": {
        "patterns": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"pattern": {"type": "string"}, "confidence": {"type": "number"}},
                "required": ["pattern", "confidence"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["patterns"],
    "additionalProperties": False,
}


def _reflecting(
    after: AfterTurn | None, given: object, roles: Roles | None, homes: Sequence[ProviderEndpoint]
) -> AfterTurn | None:
    """What follows a turn, with the reflector of the roles where none is given. Naming one turns reflection on."""
    role = roles.role("reflector") if roles is not None else None
    if after is None or role is None:
        return after
    if given is None or given is True:
        after = replace(after, reflection=True)
    if after.reflector is not None or role.model == "rules":
        return after

    return replace(after, reflector=_LookBack(role, homes))


class _LookBack:
    """The reflector that a role is. It is asked for an object, as providers' schemas are of one, and mends by itself
    what is none.
    """

    in_object = True

    def __init__(self, role: Role, homes: Sequence[ProviderEndpoint]) -> None:
        self._role = role
        self._homes = homes

    def __call__(self, prompt: str) -> Any:
        """Where no model of the role gave anything that can be used, why: the rules look back then."""
        from ._endpoints import with_endpoints
        from .after import Unused
        from .roles import ask_sync

        answer = ask_sync(with_endpoints(self._role, self._homes), prompt, _PATTERNS)
        return Unused("; ".join(answer.problems)[:2_000]) if answer.value is None else answer.value


def _after(given: object) -> AfterTurn | None:
    """What follows a turn, looked at."""
    from .after import AfterTurn

    if given is None or given is True:
        return AfterTurn()
    if given is False:
        return None
    if not isinstance(given, AfterTurn):
        raise _wrong("after", given, "an AfterTurn, True or False")
    for option in ("reflector", "on_end"):
        value = getattr(given, option)
        if value is not None and not callable(value):
            raise _wrong(option, value, "a function")
    every = given.consolidate_every
    if every is not None and not (isinstance(every, (int, float)) and every > 0):
        raise _wrong("consolidate_every", every, "seconds above 0, or None")
    if given.memory_file is not None and not isinstance(given.memory_file, (str, os.PathLike)):
        raise _wrong("memory_file", given.memory_file, "the path of a file")
    return given


def recall_config(remember: Remembering | None, recall: Mapping[str, Any] | bool) -> dict[str, Any]:  # noqa: FBT001
    """How memory is asked, as the machine wants it."""
    if isinstance(recall, bool):
        return {"recall": {}} if recall and remember is not None else {}
    if not isinstance(recall, dict) or not {"hits", "characters", "timeout"} >= set(recall):
        raise _wrong("recall", recall, "a dict with hits, characters and timeout, True or False")
    if not all(isinstance(value, (int, float)) and math.isfinite(value) for value in recall.values()):
        raise _wrong("recall", recall, "finite numbers")
    if remember is None:
        message = "recall is about memory, and there is none"
        raise UsageError(message, "invalid_option", "give memory=Memory(...) or a path")
    return {"recall": dict(recall)}


def _wrong(option: str, value: object, wanted: str) -> UsageError:
    return UsageError(f"{option} can't be {value!r:.100}", "invalid_option", f"give {wanted}")
