"""What follows a turn: what is kept of it, in the background, queued in the store before it starts.

::

    >>> from loopwright import Agent, Memory
    >>> from loopwright.testing import ScriptedModel
    >>> memory = Memory(":memory:")
    >>> agent = Agent(ScriptedModel(["Nice!", "Biscuit."]), memory=memory)
    >>> agent.run_sync("My dog is called Biscuit.").final
    'Nice!'
    >>> agent.drain_sync(10)
    []
    >>> [hit.text for hit in memory.recall("What is the name of the dog?", kinds=["semantic"])]
    ['My dog is called Biscuit.']
    >>> sorted({work.state for work in agent.work()})
    ['done']
"""

from __future__ import annotations

import atexit
import contextlib
import inspect
import json
import logging
import os
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

# The driver's end of the process has to come after ours: what is registered last is called first.
from . import _core, _driver  # noqa: F401
from ._dataclasses import dataclass
from ._fields import each_of
from ._user_code import RAISED, log_raised
from .errors import LoopwrightError, UsageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from .memory import Memory

__all__ = ["AfterTurn", "Audited", "Episode", "Reflection", "Work", "WorkEnded", "audit_types"]

Reflector: TypeAlias = "Callable[[str], Any]"
"""Takes instructions and the turn as text; gives JSON text, or a list of dicts with `pattern` and `confidence`."""
Kept: TypeAlias = "tuple[list[int], str | None]"
"""The numbers of what was kept, and what went wrong where rules did the work of a model."""
State: TypeAlias = Literal["queued", "running", "done", "failed"]

_LEASE = 300.0
"""Seconds for which a process holds a piece of work."""
_LOOK_BACK = 60.0
"""Seconds that a reflector has for one look."""
_MOST_KNOWN = 2_000
"""The settings of so many runs are known."""
_MOST_PENDING = 100
"""So many turns are kept in a process whose store is busy."""
_IDLE = 5.0
"""Seconds after which a thread without work ends."""
_PROMPTLY = 0.25
"""Seconds between two looks at work that others may hold."""
_EXIT = 5.0
"""Seconds that a process waits for its work when it ends."""


@dataclass(frozen=True)
class AfterTurn:
    """What follows a turn."""

    episodes: bool = True
    """Its summary, and what was asked."""
    entities: bool = True
    """Facts that were stated, and who has to do with whom."""
    preferences: bool = True
    """How the user likes things."""
    reflection: bool = False
    """What can be learned from it, and a second, adversarial look for what was missed."""
    skills: bool = True
    """How something was done, with the arguments left out."""
    audit: bool = True
    """What happened."""
    memory_file: str | os.PathLike[str] | None = None
    """A file, say `MEMORY.md`, in which preferences stand for people to edit."""
    consolidate_every: float | None = 3600.0
    """Consolidates when the last time is so many seconds ago; `None`: only when asked to."""
    reflector: Reflector | None = None
    """What looks back on turns: a function, sync or async, that asks a model. Without one, rules do."""
    on_end: Callable[[WorkEnded], Any] | None = None
    """Hears of each piece of work that is done, failed, or will be tried again; called in the work's thread."""

    def _as_json(self) -> dict[str, Any]:
        from pathlib import Path

        file = None if self.memory_file is None else str(Path(os.fspath(self.memory_file)).expanduser().absolute())
        names = ("episodes", "entities", "preferences", "reflection", "skills", "audit")
        return {**{name: bool(getattr(self, name)) for name in names}, "memory_file": file}


@dataclass(frozen=True, slots=True)
class Work:
    """A piece of work after a turn."""

    id: int
    kind: str
    """`turn`, `reflection`, `file` or `consolidation`."""
    name: str
    """The run that it follows."""
    state: State
    queued_at: float
    due_at: float
    started_at: float | None
    ended_at: float | None
    attempts: int
    error: str | None
    """What went wrong last."""
    own: bool = False
    """Whether it is this process that is at it."""


@dataclass(frozen=True, slots=True)
class WorkEnded:
    """A piece of work is done, has failed, or will be tried again."""

    id: int
    kind: str
    name: str
    state: Literal["done", "failed", "queued"]
    attempts: int
    error: str | None
    """What went wrong; of work that is done, why the rules did it in place of a model."""
    memories: tuple[int, ...]
    """What came of it."""


@dataclass(frozen=True, slots=True)
class Episode:
    """A turn that was kept."""

    id: int
    session: str
    run: str
    user: str | None
    summary: str
    topics: tuple[str, ...]
    entities: tuple[str, ...]
    started_at: float
    ended_at: float
    turn_count: int
    """How many prompts the conversation had by then."""
    importance: float
    access_count: int
    """How often a run was given it."""
    consolidated: bool
    expires: float | None
    sensitivity: str
    embedded: bool


@dataclass(frozen=True, slots=True)
class Reflection:
    """A pattern that was learned from looking back."""

    id: int
    pattern: str
    category: str
    """`reflection` or `adversarial`."""
    confidence: float
    """The mean of all."""
    supporting_events: tuple[str, ...]
    """The runs in which it was seen."""
    seen: int
    first_at: float
    last_at: float
    stale: bool
    """Whether it was not seen for fourteen days."""
    session: str
    user: str | None


@dataclass(frozen=True, slots=True)
class Audited:
    """An event of the audit."""

    id: int
    at: float
    session: str
    turn: str | None
    """The run."""
    user: str | None
    type: str
    detail: Any


def audit_types() -> dict[str, str]:
    """The types of events of the audit, and what each says."""
    return dict(_core.MemoryStore.audit_types())


def works(memory: Memory, state: State | None = None) -> list[Work]:
    """The work that a memory knows of."""
    return [Work(**one) for one in json.loads(memory._core.work(state))]


def left(memory: Memory) -> list[Work]:
    """The work that waits or is under way."""
    return [one for one in works(memory) if one.state in ("queued", "running")]


def episodes(memory: Memory, session: str | None, limit: int) -> list[Episode]:
    """The episodes of a memory, newest first."""
    found = json.loads(memory._core.episodes(session, limit))
    return list(each_of(Episode, found))


def reflections(memory: Memory, category: str | None, stale: bool | None) -> list[Reflection]:  # noqa: FBT001
    """The reflections of a memory, surest first."""
    found = json.loads(memory._core.reflections(category))
    all_of_them = list(each_of(Reflection, found))
    return [one for one in all_of_them if stale is None or one.stale is stale]


def audited(memory: Memory, wanted: Mapping[str, Any]) -> list[Audited]:
    """What the audit of a memory holds."""
    asked = json.dumps({name: value for name, value in wanted.items() if value is not None})
    return [Audited(**{**one, "detail": json.loads(one["detail"])}) for one in json.loads(memory._core.audit(asked))]


class Worker:
    """Does the work of one memory in one thread, which ends when there is none.

    All of it is in the store: whatever becomes of this object, another one, here or in another process, goes on.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.after = AfterTurn()
        self._afters: dict[str, AfterTurn] = {}
        # What stands around the work of a run: its hooks.
        self._around: dict[str, Callable[[Callable[[], Kept]], Kept]] = {}
        self.ended: list[WorkEnded] = []
        """What ended since somebody last asked; the newest hundred."""
        self.trouble: BaseException | None = None
        """What keeps the thread from the store, if something does."""
        self._pending: list[tuple[str, str, float]] = []
        self._expected: list[tuple[str, str | None, str, str]] = []
        self._lock = threading.Condition()
        self._thread: threading.Thread | None = None
        self._wanted = False
        self._busy = False
        self._patient = 0
        self._stopped = False
        self._process = os.getpid()

    def wake(self, after: AfterTurn | None = None, name: str | None = None) -> None:
        """There may be work; that of the run `name` is done as `after` says."""
        with self._lock:
            if after is not None:
                self.after = after
                if name is not None:
                    while len(self._afters) >= _MOST_KNOWN:
                        del self._afters[next(iter(self._afters))]
                    self._afters[name] = after
            self._wanted = True
            self._lock.notify_all()
            if self._stopped or (self._thread is not None and self._process == os.getpid()):
                return
            self._process = os.getpid()
            self._thread = threading.Thread(target=self._run, name="loopwright after the turn", daemon=True)
            # A process that is ending starts no threads; the next one goes on.
            with contextlib.suppress(RuntimeError):
                self._thread.start()
                _WORKERS.add(self)
                return
            self._thread = None

    def surround(self, name: str, around: Callable[[Callable[[], Kept]], Kept]) -> None:
        """The work of the run `name` is done inside of `around`, in this process."""
        with self._lock:
            while len(self._around) >= _MOST_KNOWN:
                del self._around[next(iter(self._around))]
            self._around[name] = around

    def keep(self, name: str, turn: str, after: AfterTurn) -> bool:
        """Keeps a turn that could not be queued, as long as this process lives; whether there was room."""
        with self._lock:
            if len(self._pending) >= _MOST_PENDING:
                return False
            self._pending.append((name, turn, time.time()))
        self.wake(after, name)
        return True

    def drop(self, user: str) -> None:
        """Drops what waits in this process for a user who is to be forgotten."""
        with self._lock:
            self._pending = [one for one in self._pending if json.loads(one[1]).get("user") != user]
            self._expected = [one for one in self._expected if json.loads(one[3]).get("user") != user]

    def expect(self, noted: tuple[str, str | None, str, str]) -> None:
        """Notes a run down as soon as the store is free."""
        with self._lock:
            self._expected = [*self._expected[1 - _MOST_PENDING :], noted]
        self.wake()

    def left(self) -> list[Work]:
        """The work that waits or is under way."""
        with self._lock:
            pending = [
                Work(0, "turn", name, "queued", at, at, None, None, 0, "the store was busy")
                for name, _, at in self._pending
            ]
        try:
            return [*left(self.memory), *pending]
        except LoopwrightError:
            return pending

    def drain(self, timeout: float, *, own: bool = False) -> list[Work]:
        """Waits until nothing waits or is under way, so many seconds at most; gives what is left. With `own`, what
        other processes are at is theirs.
        """
        end = time.monotonic() + max(0.0, timeout)
        self.wake()
        with self._lock:
            self._patient += 1
            self._lock.notify_all()
        try:
            while True:
                rest = [one for one in self.left() if not own or one.own or one.state == "queued"]
                now = time.monotonic()
                with self._lock:
                    # What was done may have led to more, until the thread has looked and found nothing.
                    quiet = self._thread is None or not (self._busy or self._wanted)
                if (quiet and not rest) or now >= end or self._process != os.getpid():
                    return rest
                with self._lock:
                    self._lock.wait(max(0.001, min(_PROMPTLY, end - now)))
                if rest:
                    self.wake()
        finally:
            with self._lock:
                self._patient -= 1

    def stop(self, patience: float = _EXIT) -> None:
        """Takes no more work; what is under way has so many seconds to end."""
        with self._lock:
            self._stopped = True
            self._lock.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread() and self._process == os.getpid():
            thread.join(max(0.0, patience))

    def heard(self) -> list[WorkEnded]:
        """What ended since this was last asked."""
        with self._lock:
            ended, self.ended = self.ended, []
        return ended

    def _run(self) -> None:
        idle = 0.0
        # The first recall of a large store finds it read.
        with contextlib.suppress(Exception):
            self.memory._core.recall('{"text": "", "limit": 1}')
        with contextlib.suppress(Exception):
            from ._orphans import find

            find(self.memory)
        while True:
            with self._lock:
                self._wanted, self._busy = False, True
            try:
                worked = self._work()
                self.trouble = None
                due = self.memory._core.work_due() if not worked else 0.0
            except RAISED as error:
                self.trouble, worked, due = error, False, _PROMPTLY if self._pending or self._expected else None
            with self._lock:
                self._busy = worked
                self._lock.notify_all()
                if worked and not self._stopped:
                    idle = 0.0
                    continue
                wait = _IDLE if due is None else min(_IDLE, max(0.01, due))
                if not self._stopped and not self._wanted:
                    # Work that others hold is looked for again while somebody waits for it.
                    self._lock.wait(min(wait, _PROMPTLY) if self._patient else wait)
                waits = self._wanted or due is not None or bool(self._pending or self._expected)
                idle = 0.0 if waits else idle + wait
                if self._stopped or (idle >= _IDLE and not self._wanted):
                    self._thread, self._busy = None, False
                    self._lock.notify_all()
                    return

    def _work(self) -> bool:
        """Does one piece of work; whether there was one."""
        core = self.memory._core
        while expected := self._expected[:1]:
            core.expect_turn(*expected[0])
            with self._lock:
                self._expected = [one for one in self._expected if one is not expected[0]]
        while pending := self._pending[:1]:
            core.queue_turn(pending[0][1])
            with self._lock:
                self._pending = [one for one in self._pending if one is not pending[0]]
        said = core.claim(_LEASE)
        if said is None:
            every = self.after.consolidate_every
            return every is not None and core.queue_consolidation(every)
        job = json.loads(said)
        try:
            around = self._around.get(job["name"]) if job["kind"] == "turn" else None
            kept, problem = self._do(said, job) if around is None else around(lambda: self._do(said, job))
            self._around.pop(job["name"], None)
        except RAISED as error:
            if _ENDING.is_set() or (isinstance(error, LoopwrightError) and error.code == "work_taken"):
                # Somebody else does it; what fails because this process ends is done by the next one.
                return not _ENDING.is_set()
            log_raised("after", f"the work {job['name']}", error)
            shown = str(error) if isinstance(error, LoopwrightError) else f"{type(error).__name__}: {error}"
            state = core.work_failed(said, shown, isinstance(error, UsageError) and error.code in _HOPELESS)
            if state is not None:
                self._tell(
                    WorkEnded(job["id"], job["kind"], job["name"], json.loads(state), job["attempts"], shown, ())
                )
            return True
        self._tell(WorkEnded(job["id"], job["kind"], job["name"], "done", job["attempts"], problem, tuple(kept)))
        return True

    def _do(self, said: str, job: Mapping[str, Any]) -> Kept:
        """Does a piece of work: what is kept of it, and what went wrong where the rules did it in a model's place."""
        core = self.memory._core
        problem = None
        reflector = self._afters.get(job["name"], self.after).reflector
        if job["kind"] == "reflection" and reflector is not None:
            thoughts = self._thoughts(said, reflector)
            if isinstance(thoughts, Unused):
                problem = f"the rules reflected, as no model did: {thoughts}"
                logging.getLogger("loopwright.after").warning("%s: %s", job["name"], _core.redact(str(problem)))
                kept = core.perform(said)
            else:
                kept = core.reflect(said, json.dumps(thoughts))
        else:
            kept = core.perform(said)
        embedder = self.memory._embedder
        if embedder is not None and kept:
            # Without vectors they are found by their words: no reason to call the work failed.
            with contextlib.suppress(Exception):
                missing = core.without_vectors(kept)
                if missing:
                    vectors = self.memory._embed([text for _, text in missing])
                    pairs = [(number, vector) for (number, _), vector in zip(missing, vectors, strict=True)]
                    core.keep_vectors(self.memory._embedder_name, pairs)
        return kept, problem

    def _thoughts(self, said: str, reflector: Reflector) -> list[dict[str, Any]] | Unused:
        """What the reflector thinks of a turn, in two looks; or why that can't be used: rules do it then."""
        found: list[dict[str, Any]] = []
        for adversarial in (False, True):
            in_object = bool(getattr(reflector, "in_object", False))
            prompt = _core.MemoryStore.reflection_prompt(said, adversarial, in_object)
            answer = _asked(reflector, prompt)
            thoughts = _understood(answer)
            if thoughts is None and not in_object:
                again = f"{prompt}\n\nYour last answer was no JSON list of that form. Answer with the list alone."
                thoughts = _understood(_asked(reflector, again))
            if thoughts is None:
                return answer if isinstance(answer, Unused) else Unused("its answer was no JSON list of that form")
            category = "adversarial" if adversarial else "reflection"
            found.extend({**thought, "category": category} for thought in thoughts)
        return found

    def _tell(self, ended: WorkEnded) -> None:
        with self._lock:
            self.ended = [*self.ended[-99:], ended]
        on_end = self._afters.get(ended.name, self.after).on_end
        if on_end is not None:
            # Whoever listens does not hold the work up.
            with contextlib.suppress(Exception):
                on_end(ended)


_HOPELESS = (
    "hook_veto",
    "read_only_store",
    "unknown_work",
    "damaged_store",
    "newer_store",
    "store_closed",
    "store_forked",
)
_WORKERS: weakref.WeakSet[Worker] = weakref.WeakSet()
_ENDING = threading.Event()
"""The process is ending: it starts no threads any more."""


class Unused(str):
    """Why nothing of what a reflector said can be used."""

    __slots__ = ()


def _asked(reflector: Reflector, prompt: str) -> Any:
    """What a reflector says, within its time."""
    if _ENDING.is_set():
        # Whoever ends the process waits for a moment only, whatever becomes of this.
        answer = reflector(prompt)
        return _awaited(answer) if inspect.isawaitable(answer) else answer
    box: list[Any] = []

    def ask() -> None:
        try:
            answer = reflector(prompt)
            box.append(_awaited(answer) if inspect.isawaitable(answer) else answer)
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            box.append(error)

    thread = threading.Thread(target=ask, name="loopwright reflector", daemon=True)
    thread.start()
    thread.join(_LOOK_BACK)
    if not box:
        message = f"the reflector gave no answer within {_LOOK_BACK:g} s"
        raise UsageError(message, "reflector_timeout", "give it a limit of its own")
    if isinstance(box[0], BaseException):
        raise box[0]
    return box[0]


def _awaited(answer: Awaitable[Any]) -> Any:
    import asyncio

    async def wait() -> Any:
        return await answer

    return asyncio.run(wait())


def _understood(answer: Any) -> list[dict[str, Any]] | None:
    """The patterns in what a reflector said; nothing if they can't be found."""
    if isinstance(answer, Unused):
        return None
    if isinstance(answer, str):
        from .extraction import extract_json

        try:
            answer = extract_json(answer)
        except LoopwrightError:
            return None
        answer = getattr(answer, "value", answer)
    if isinstance(answer, dict):
        lists = [value for value in answer.values() if isinstance(value, list)]
        answer = [answer] if "pattern" in answer else lists[0] if len(lists) == 1 else None
    if not isinstance(answer, (list, tuple)):
        return None
    found = []
    for one in answer:
        thought = {"pattern": one} if isinstance(one, str) else one
        if not isinstance(thought, dict) or not isinstance(thought.get("pattern"), str):
            return None
        confidence = thought.get("confidence", 0.5)
        number = isinstance(confidence, (int, float)) and not isinstance(confidence, bool)
        if thought["pattern"].strip():
            found.append({"pattern": thought["pattern"], "confidence": float(confidence) if number else 0.5})
    return found[:10]


def _forked() -> None:
    """A child has none of the threads, and has to open its stores anew."""
    for worker in list(_WORKERS):
        worker._lock = threading.Condition()
        worker._thread, worker._stopped, worker._pending = None, True, []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


@atexit.register
def _drain_all() -> None:
    """A process that ends waits for its work a little; the next one does the rest."""
    _ENDING.set()
    end = time.monotonic() + _EXIT
    for worker in list(_WORKERS):
        with contextlib.suppress(Exception):
            worker.drain(end - time.monotonic(), own=True)
            worker.stop(end - time.monotonic())
