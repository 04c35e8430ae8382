"""One generator drives a run, with an event loop and without one: which command leads to what, in which order, and who
is told of it. It steps when it is asked to go on, and asks for what it can't do itself.

It yields `Job`s, which begin; `TURN`, to hear whether what was put off may begin now; a list of events for whoever
reads, who is `ASKED` again for what comes next; and `WAIT` where nothing is to be told. There it goes on when something
has `ARRIVED`, and when work shall `BEGIN` whose announcement is being looked at.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from typing import TYPE_CHECKING, Any

from loopwright import _core
from loopwright._suspend import leave
from loopwright.errors import UsageError
from loopwright.events import RequestHeld
from loopwright.tools._run import CANCELLED, Outcome

from ._commands import begin_work, carry_out, reopen
from ._jobs import Job, cancelled_from_outside
from ._models import Requests
from ._questions import Questions
from ._told import Told
from ._works import run_tool

if TYPE_CHECKING:
    import contextvars
    from collections.abc import Callable, Generator, Sequence

    from loopwright._handoff import Handoff
    from loopwright._instrument import Observer
    from loopwright._plan import Plan
    from loopwright.children import AgentPlan
    from loopwright.messages import Message
    from loopwright.tools import Tool
    from loopwright.tools._context import CancelFlag
    from loopwright.tools._each_round import EachRound

ASKED, ARRIVED, BEGIN = "asked", "arrived", "begin"
"""Why the generator goes on."""
WAIT, TURN, OVER = "wait", "turn", "over"
"""Where it stands, beside jobs and events."""


class Driver:
    """A run, what is under way for it, and what is to be told. How something is carried out, and what waits meanwhile,
    is for each of the two drivers to say.
    """

    hub: _core.Hub
    # Under which the hub hands out what arrives for this run.
    key: int = 0
    # The thread that drives it, and whether that has an event loop, which plain code of others must not hold up.
    thread: int = 0
    in_loop = False
    # Whether its journal takes its time, and whether what the machine wants waits for that now.
    holds = held = False
    # In which plain code of others is called that the run waits for; `None` for those that are there.
    variables: contextvars.Context | None = None

    def __init__(
        self, plan: Plan, run: _core.Run, run_id: str, deps: Any, *, watch: bool, after: Driver | None = None
    ) -> None:
        self.plan = plan
        self.run = run
        self.run_id = run_id
        self.deps = deps
        self.watch = watch
        self.told = Told(run, after)
        self.requests = Requests(run)
        self.questions = Questions()
        # The calls that a person has agreed to, who saw where their links lead: the machine's number and the call's.
        self.agreed: set[tuple[int, str]] = set()
        self.generator: Generator[Any, Any, None] | None = None
        # Whether it is under way here and now, and whether some work was done where it began since then.
        self.pumping = self.hurried = False
        self.inbox: deque[_core.Event] = deque()
        # How somebody wants the run to end; filled from any thread.
        self.ends: deque[str] = deque()
        self.begun = False
        # Whether whoever reads waits for what comes next, and does not look at something that was told.
        self.reading = True
        # What it waits with, in an event loop: a task that was cancelled while it waits has not heard of it yet.
        self.waker: asyncio.Future[None] | None = None
        # Work that is under way, by its command; of that, what has not begun yet.
        self.jobs: dict[int, dict[Job, None]] = {}
        self.starts: deque[Job] = deque()
        self.timers: dict[int, float] = {}
        self.outcome: _core.Ended | None = None
        self.fatal: BaseException | None = None
        # Whether the run has a journal in a file.
        self.is_kept = False
        # Somebody else goes on with the run.
        self.left = False
        # What tools raised, by the path of the sub-agent, the round and the call.
        self.raised: dict[tuple[str | None, int, str], BaseException] = {}
        # Who hears what happens, beside whoever reads.
        self.observer: Observer | None = None
        # What a hook raised that ended the run.
        self.hook_error: BaseException | None = None
        # Of functions around requests and calls, by machine and call: the command of the hooks before them, and what is
        # to be told of them after: their replies, and what one raised that must not fail.
        self.before: dict[tuple[int, str], _core.Command] = {}
        self.became: dict[tuple[int, str], tuple[list[tuple[str, str, str, bool]], BaseException | None]] = {}
        # What the function gave whose calls are the answer, and the text of that, by call.
        self.given: dict[str, tuple[str, Any]] = {}
        # What the person says while the run goes on, until the machine is told; filled from any thread.
        self.said: deque[Message] = deque()
        # Whether whoever reads decides on each call before it runs.
        self.steps = False
        # Who is asked for tools before each request.
        self.each_round: EachRound | None = None
        if plan.each_round:
            from loopwright.tools._each_round import EachRound

            self.each_round = EachRound(plan.each_round)
        # To whom the model has handed the run over, once the round is done.
        self.handoff: Handoff[Any, Any] | None = None

    # ---- for each of the two drivers to say ----

    def begin(self, job: Job) -> None:
        """Begins work; what comes of it is told by `ended` or `failed`."""
        raise NotImplementedError

    def stop(self, job: Job) -> None:
        """Nobody waits any more for work that has begun."""
        raise NotImplementedError

    def soon(self, function: Callable[[], None]) -> None:
        """Calls `function` where the run is driven; from any thread."""
        raise NotImplementedError

    def hear(self, deliver: Callable[[Any], None]) -> int:
        """The key under which `deliver` is called with what arrives in the hub."""
        raise NotImplementedError

    def hear_no_more(self, key: int) -> None:
        """Nothing is delivered under a key any more."""
        raise NotImplementedError

    def noticed(self) -> None:
        """There may be something for whoever reads; from any thread."""
        raise NotImplementedError

    def may_begin(self) -> bool:
        """Whether work begins at once whose announcement was read; if not, `BEGIN` follows."""
        return True

    # ---- the generator ----

    def turns(self, start: _core.Event | list[_core.Command], signal: Any = None) -> Generator[Any, Any, None]:
        """Runs to the end, from its start or from the open commands of a run that broke off."""
        # After the start, before any answer to it, comes a signal that was given before the run began.
        listener = signal.attach(self.interrupt_soon) if signal is not None else None
        told, asked = self.told, True
        try:
            if isinstance(start, list):
                reopen(self, start)
            else:
                self.inbox.append(start)
            while True:
                yield from self.feed()
                effect: Any = WAIT
                if asked:
                    if told.items:
                        effect = told.batch()
                        if not effect:
                            if told.next_work() is None:
                                continue
                            if self.outcome is not None or self.fatal is not None or (yield TURN):
                                self.begin_put_off()
                                continue
                            effect = WAIT
                    elif self.fatal is not None:
                        raise self.fatal
                    elif self.outcome is not None:
                        return
                    self.reading = effect is WAIT
                why = yield effect
                asked = why is ASKED
                if asked:
                    self.reading = True
                elif why is BEGIN:
                    self.begin_put_off()
        except BaseException:
            self.give_up()
            raise
        finally:
            if listener is not None:
                listener()

    def feed(self) -> Generator[Job, None, None]:
        """Feeds the machine with all that is there, and begins what comes of it."""
        starts, inbox = self.starts, self.inbox
        try:
            while True:
                while starts:
                    yield starts.popleft()
                if self.outcome is not None or self.held or not (inbox or self.ends or self.said):
                    return
                # Once it has begun and nobody says anything, what comes first is next: a call less for each event.
                event = self.next_event() if self.ends or self.said or not self.begun else inbox.popleft()
                if event is None:
                    return
                self.step(event)
                if self.questions.open or self.questions.elsewhere:
                    self.stand_still()
        except GeneratorExit:
            raise
        except BaseException as error:  # noqa: BLE001 - raised where the run is awaited
            self.fatal = error

    def stand_still(self) -> None:
        """A person is to answer later: nothing new begins, and when all has ended, the run is left."""
        state = self.run.state
        if state == "paused":
            leave(self)
        elif state == "running" and not self.ends:
            self.ends.append("pause")

    def pump(self, why: str | None = ARRIVED) -> Any:
        """Lets the generator go on as far as it can, and gives where it stands then."""
        generator = self.generator
        if self.pumping or generator is None:
            return WAIT
        self.pumping, self.hurried = True, False
        try:
            effect = generator.send(why)
            while True:
                sent = None
                try:
                    if effect is TURN:
                        sent = self.may_begin()
                    elif type(effect) is not Job:
                        return effect
                    elif effect.dropped:
                        self.lost(effect)
                    else:
                        self.begin(effect)
                except BaseException as error:  # noqa: BLE001 - the generator decides
                    effect = generator.throw(error)
                else:
                    effect = generator.send(sent)
        except StopIteration:
            return OVER
        finally:
            self.pumping = False

    def go(self, why: str = ARRIVED) -> None:
        """Something has arrived."""
        self.pump(why)
        if self.told.items or self.outcome is not None or self.fatal is not None:
            self.noticed()

    def arrived(self, item: Any) -> None:
        """Something came from Rust, from work, a timer or a person: an event, or deltas."""
        if isinstance(item, list):
            if self.observer is not None:
                self.observer.shown(None)
            self.told.tell_deltas(item)
            self.noticed()
        elif type(item) is tuple:
            command_id, heard = item
            if self.observer is not None and type(heard) is not dict:
                self.observer.shown(command_id)
            agent, path = self.who(command_id)
            if type(heard) is dict:
                held = RequestHeld(**heard, agent=agent, path=path)
                if self.observer is not None:
                    self.observer.heard(held)
                self.tell(held)
            else:
                self.told.tell_pieces((agent, path), heard)
                self.noticed()
        else:
            self.inbox.append(item)
            if not self.pumping:
                self.go()

    def interrupt_soon(self, how: str) -> None:
        """Ends the run, from any thread."""
        self.ends.append(how)
        self.soon(self.go)

    def told_to_leave(self) -> bool:
        """Whether whoever waits for what comes next is to leave: nothing begins any more."""
        return self.waker is not None and self.waker.cancelled()

    def next_event(self) -> _core.Event | None:
        """What the machine is fed next, if there is anything. After the start, a wish to end goes before any answer:
        what a tool asks for in its last line holds before its result leads to another request.
        """
        # Who wants a pause before the start wants no request at all.
        if self.ends and (self.begun or self.ends[0] in {"pause", "resume"}):
            how = self.ends.popleft()
            if how in {"pause", "resume"}:
                return _core.Event.pause() if how == "pause" else _core.Event.resume()
            if how == "leave":
                self.left = True
                self.run.close()
                message = "the run was suspended"
                raise UsageError(message, "suspended", "go on with Agent.resume and its journal")
            return self.requests.interrupted(self, how)
        if self.said and self.begun:
            return _core.Event.from_json(f'{{"said":{{"message":{self.said.popleft().to_json()}}}}}')
        if not self.inbox:
            return None
        self.begun = True
        return self.inbox.popleft()

    def step(self, event: _core.Event) -> None:
        """Feeds the machine and carries out what it wants."""
        self.told.seq += 1
        observer = self.observer
        if observer is None:
            carry_out(self, self.run.step(event, self.watch))
        else:
            observer.stepping(event)
            carry_out(self, self.run.step(event, True))

    def hold(self, commands: Sequence[_core.Command]) -> None:
        """The journal has to have all so far before these are carried out. Nothing is fed to the machine meanwhile."""

        def kept(error: Exception | None) -> None:
            self.soon(lambda: self.go_on(commands, error))

        self.held = True
        run: Any = self.run
        run.when_kept(kept)

    def go_on(self, commands: Sequence[_core.Command], error: Exception | None) -> None:
        """The journal has all that was said before these commands; or it can't be written any more."""
        if not self.held:
            return
        self.held = False
        if error is not None:
            self.broken(error)
        elif self.generator is not None and self.fatal is None:
            try:
                carry_out(self, commands, kept=True)
                if self.questions.open or self.questions.elsewhere:
                    self.stand_still()
            except BaseException as wrong:  # noqa: BLE001 - raised where the run is awaited
                self.fatal = wrong
        self.go()
        self.noticed()

    def begin_put_off(self) -> None:
        """All before it was taken: the work that was put off first begins, if anybody still wants it."""
        command = self.told.taken_work()
        if command is None or self.outcome is not None or self.fatal is not None:
            return
        try:
            begin_work(self, command.kind, command)
        except BaseException as error:  # noqa: BLE001 - raised where the run is awaited
            self.fatal = error

    def give_up(self) -> None:
        """The driver itself ends early: the journal says so, and the history stays legal. Nothing begins any more."""
        self.reading = False
        if self.outcome is None and not self.left:
            # What stopped the driver is what its caller hears of, not what else fails on the way out.
            with contextlib.suppress(Exception):
                self.step(self.requests.interrupted(self, "cancel"))
            self.held = False
            # It may have ended with the very event that could not be written.
            if self.outcome is None:
                self.outcome = self.run.ended

    def let_go(self) -> None:
        """Stops all that is under way, and gives the journal back."""
        self.held = False
        # Whoever keeps an exception keeps its frames, and with them the driver.
        self.run.close()
        self.questions.line.clear()
        self.requests.close()
        self.timers.clear()
        for command_id in list(self.jobs):
            self.abort(command_id)

    # ---- timers and jobs ----

    def ring(self, early: float = 0.0) -> bool:
        """Timers that are due; whether there were any. They may be so many seconds early."""
        now = self.run.now() + early
        due = [command_id for command_id, at in self.timers.items() if at <= now]
        for command_id in due:
            if self.timers.pop(command_id, None) is not None:
                self.arrived(self.requests.fired(self, command_id))
        return bool(due)

    def start(
        self,
        command_id: int,
        what: str,
        function: Any,
        *arguments: Any,
        flag: CancelFlag | None = None,
        now: bool = False,
    ) -> Job:
        """Has work begun; what the generator `function` returns is the event that answers the command. With `now` it
        may be over at once.
        """
        job = Job(command_id, what, function, arguments, flag, now=now)
        self.jobs.setdefault(command_id, {})[job] = None
        self.starts.append(job)
        return job

    def forget(self, job: Job) -> bool:
        """Work has ended; whether anybody still waits for what it gives."""
        jobs = self.jobs.get(job.command_id)
        if jobs is None or job not in jobs:
            return False
        del jobs[job]
        if not jobs:
            del self.jobs[job.command_id]
        return True

    def ended(self, job: Job, event: _core.Event | None) -> None:
        """Work has ended with an event, or with none where another follows."""
        if self.forget(job) and event is not None:
            self.arrived(event)

    def failed(self, job: Job, error: BaseException) -> None:
        """Work has failed by a fault that is no tool's."""
        if self.forget(job):
            self.broken(error)

    def broken(self, error: BaseException) -> None:
        """What is raised where the run is awaited."""
        self.fatal = cancelled_from_outside(error)
        self.noticed()

    def lost(self, job: Job) -> None:
        """Work is over that never took its first step. Of a tool that is a failure, as where it is cancelled while it
        runs.
        """
        job.close()
        self.questions.next_in_line(self, job.command_id)
        if not self.forget(job):
            return
        if job.function == run_tool:
            self.arrived(self.executed(job.command_id, job.arguments[2], Outcome([], failure=CANCELLED)))
        else:
            self.broken(asyncio.CancelledError())

    def abort(self, command_id: int) -> None:
        """Nobody wants the answer to a command any more."""
        self.timers.pop(command_id, None)
        if self.observer is not None:
            self.observer.aborted(command_id)
        self.questions.unasked(self, command_id)
        self.requests.abort(command_id)
        for job in self.jobs.pop(command_id, ()):
            self._stopped(job)

    def drop(self, job: Job) -> None:
        """Nobody wants any more what some work gives."""
        if self.forget(job):
            self._stopped(job)

    def _stopped(self, job: Job) -> None:
        job.dropped = True
        if job.flag is not None:
            job.flag.set()
        self.stop(job)

    # ---- whose it is, and who is told ----

    def at(self, command_id: int | None) -> Plan | AgentPlan:
        """Where the model and the tools of a command are: those of the run, or of the sub-agent that gave it."""
        place = self._place(command_id)
        return self.plan if place is None else self.plan.agents[place[0]]

    def tool(self, command_id: int | None, name: str) -> Tool[..., Any, Any]:
        """A tool of the turn that gave a command. Raises a `KeyError` where it has none of that name."""
        found = self.known_tool(command_id, name)
        if found is None:
            raise KeyError(name)
        return found

    def known_tool(self, command_id: int | None, name: str) -> Tool[..., Any, Any] | None:
        """A tool of the turn that gave a command; `None` for one of the engine's."""
        found = self.at(command_id).tools.get(name)
        if found is None and self.each_round is not None:
            found = self.each_round.tool(self, command_id, name)
        return found

    def kind_of(self, command_id: int | None) -> str:
        """The kind of the sub-agent that gave a command; `""` is the run itself."""
        place = self._place(command_id)
        return "" if place is None else place[0]

    def who(self, command_id: int | None) -> tuple[str | None, str | None]:
        """The name and the path of the sub-agent that gave a command."""
        place = self._place(command_id)
        return (None, None) if place is None else (place[1], place[2])

    def _place(self, command_id: int | None) -> tuple[str, str, str] | None:
        """The kind, the name and the path of the sub-agent that gave a command."""
        if self.plan.agents and command_id is not None and command_id >> 32:
            return self.run.agent_of(command_id)
        return None

    def tell(self, event: Any) -> None:
        """Something for whoever watches, from any thread: a tool may report from one that it started."""
        if self.watch:
            self.told.tell(event)
            self.noticed()

    def executed(self, command_id: int, call: _core.Call, outcome: Outcome) -> _core.Event:
        """The event for what a tool gave. What it raised is kept here: a journal holds words."""
        failure, call_id = outcome.failure, call.call_id
        if failure is not None:
            if outcome.error is not None:
                self.raised[self.who(command_id)[1], call.round, call_id] = outcome.error
            said = failure["kind"], failure["message"], failure.get("hint")
            return _core.Event.tool_failed(command_id, call_id, *said)
        content = outcome.content
        if len(content) == 1 and content[0]["type"] == "text":
            return _core.Event.executed(command_id, call_id, content[0]["text"])
        return _core.Event.executed(command_id, call_id, content)

    def numbered(self, event: Any) -> Any:
        """The last event, which the driver does not tell itself."""
        return self.told.numbered(event)
