"""The requests to models that a run has under way: those that are called, and models of one's own."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from loopwright import _core
from loopwright._clean_error import for_logs
from loopwright._effects import Beside, Raised, attempt, given_of
from loopwright._plan import ASIDES
from loopwright._real_requests import check_host
from loopwright._user_code import RAISED, stopping
from loopwright.errors import ModelError, UsageError
from loopwright.models import ModelFailure, answer_event, streams

from ._own import Streamed
from ._work import is_async

if TYPE_CHECKING:
    from loopwright._driver._generator import Driver
    from loopwright._effects import Work
    from loopwright._instrument import Entered
    from loopwright.models import Responds

    from ._around_model import AroundModel

    UnderWay: TypeAlias = "_core.ModelCall | _core.OwnAnswer | AroundModel"


class Asker:
    """Who asks a model, and hears what comes of it: the machine."""

    __slots__ = ("aside", "command", "driver", "shows")

    repeated = False
    """Whether the same command has asked before."""

    def __init__(self, driver: Driver, command: _core.Command) -> None:
        self.driver = driver
        self.command = command
        self.aside = command.purpose in ASIDES
        # Whether whoever watches is shown the answer on its way.
        self.shows = driver.watch and not self.aside

    @property
    def key(self) -> int:
        """Under which the hub hands out what arrives for it."""
        return self.driver.key

    def give(self, event: _core.Event) -> None:
        """The end of the request."""
        self.driver.inbox.append(event)

    def start(self, what: str, function: Any, *arguments: Any, now: bool = False) -> None:
        """Has work begun that returns the end of the request."""
        self.driver.start(self.command.id, what, function, *arguments, now=now)  # type: ignore[arg-type]

    def keep(self, call: _core.ModelCall | _core.OwnAnswer) -> None:
        """A call is under way for it."""
        self.driver.requests.keep(self.command, call, aside=self.aside)

    def show(self, deltas: Any) -> None:
        """Pieces of the answer have come: deltas, or the number of the command and deltas."""
        self.driver.arrived(deltas)

    def tell(self, event: _core.Event, request: Any) -> None:
        """An answer has come in one piece."""
        if self.driver.watch:
            tell_whole(self.driver, self.command.id, event, request)


class Requests:
    """The model calls of a run, by their commands."""

    __slots__ = ("asides", "calls", "kept", "run")

    def __init__(self, run: _core.Run) -> None:
        self.run = run
        self.calls: dict[int, UnderWay] = {}
        # Calls of roles, which nobody watches and nothing is kept of.
        self.asides: dict[int, _core.ModelCall | _core.OwnAnswer] = {}
        # Answers that the provider has kept, and the next requests of this run go on from.
        self.kept: _core.Continuation | None = None

    def generate(self, driver: Driver, command: _core.Command) -> None:
        """Asks a model, through the functions that stand around requests."""
        if driver.plan.hooks.get("around_model") and command.purpose == "executor":
            from ._around_model import AroundModel

            AroundModel(driver, command).start()
        else:
            self.ask(Asker(driver, command), command)

    def ask(self, asker: Asker, command: _core.Command) -> None:
        """Asks a model: one that is called, or a model of one's own."""
        driver, aside = asker.driver, asker.aside
        plan = driver.at(command.id) if driver.plan.agents else driver.plan
        endpoint, model = plan.serving(command)
        command_id: int = command.id  # type: ignore[assignment]
        if endpoint is not None:
            if endpoint.provider != "offline":
                check_host(endpoint.host, f"the model {endpoint.provider}:{endpoint.model}")
            apart, repeats = plan is not driver.plan, driver.plan.config.repeats
            run = batch = None
            if endpoint.batch and not asker.repeated:
                # A request of a run that broke off may be in a batch already.
                run, batch = driver.run_id, self.run.batch_of(command_id)
            if endpoint.continued and self.kept is None:
                self.kept = _core.Continuation()
            kept = self.kept if endpoint.continued else None
            if driver.observer is not None:
                driver.observer.asked(driver, command, endpoint.provider, endpoint.host)
            shows = asker.shows
            asker.keep(driver.hub.generate(asker.key, command, endpoint, shows, apart, repeats, run, batch, kept))
            return
        if model is None:
            message = f"the agent has no model {command.place} for the {command.purpose}"
            asker.give(_core.Event.failed(command_id, "not_found", message))
            return
        request: Any = command.request
        span = None if driver.observer is None else driver.observer.asked(driver, command, "", "")
        contained = plan is not driver.plan or driver.plan.contains(request.model)
        if streams(model, watched=asker.shows):
            own = _core.OwnAnswer(command_id, request) if asker.shows else None
            streamed = Streamed(asker, model, request, own, span, apart=plan is not driver.plan)
            if own is not None:
                asker.keep(own)
            self.stream(asker, streamed, request, contained)
            return
        if aside:
            asker.start(str(command.purpose), ask_aside, command_id, model, request, span)
            return
        if driver.in_loop and not (getattr(model, "inline", False) or is_async(model.respond)):
            here = partial(model.respond, request)
            beside = Beside(None, here if span is None else partial(span.call, here))
            asker.start("model", ask_model, asker, beside, request, contained, span, now=True)
            return
        try:
            answer = model.respond(request) if span is None else span.call(partial(model.respond, request))
            if inspect.isawaitable(answer):
                if span is not None:
                    asked, within = answer, span
                    answer = within.awaited(lambda: asked)
                asker.start("model", ask_model, asker, answer, request, contained, None, now=True)
                return
            event = _answered(asker, answer, request)
        except (*RAISED, SystemExit) as error:
            event = _raised(command_id, error, contained=contained)
        asker.give(event)

    def stream(self, asker: Asker, streamed: Streamed, request: Any, contained: bool) -> None:  # noqa: FBT001
        """Asks a model of one's own for pieces."""
        command_id: int = asker.command.id  # type: ignore[assignment]
        sent = streamed.here()
        if sent is not None:
            asker.give(_streamed(command_id, sent, request, streamed, contained=contained, aside=asker.aside))
            return
        what = str(asker.command.purpose) if asker.aside else "model"
        asker.start(what, ask_stream, command_id, streamed, request, contained, asker.aside, now=True)

    def keep(self, command: _core.Command, call: UnderWay, *, aside: bool = False) -> None:
        """A call is under way; those that have ended are forgotten."""
        calls: dict[int, Any] = self.asides if aside else self.calls
        if calls:
            for command_id, known in list(calls.items()):
                if known.done:
                    del calls[command_id]
        calls[command.id] = call  # type: ignore[index]

    def abort(self, command_id: int) -> None:
        """Nobody wants the answer to a command any more."""
        call = self.calls.pop(command_id, None) or self.asides.pop(command_id, None)
        if call is not None:
            call.abort()

    def abort_all(self) -> _core.Event | None:
        """Stops all; gives what one of them had shown."""
        partial = None
        for command_id, call in self.calls.items():
            if self._unheard(command_id, call):
                partial = call.abort()
        self.calls.clear()
        for call in self.asides.values():
            call.abort()
        self.asides.clear()
        return partial

    def forget(self) -> None:
        """Those that are on their way end by themselves, and are heard of nowhere."""
        self.calls.clear()
        self.asides.clear()
        self._let_go()

    def close(self) -> None:
        """Stops all, and closes what is held open for the next requests."""
        self.abort_all()
        self._let_go()

    def _let_go(self) -> None:
        """Closes what is held open for the next requests; nothing goes on from it any more."""
        if self.kept is not None:
            self.kept.close()

    def _unheard(self, command_id: int, call: UnderWay) -> bool:
        """Whether the machine has not heard the end of a call: it is under way, or its answer is on its way here."""
        return not call.done or self.run.asks(command_id)

    def fired(self, driver: Driver, command_id: int) -> _core.Event:
        """The event of a timer, with what a model call that is under way has shown."""
        if driver.plan.agents:
            shown = {each: call.peek() for each, call in self.calls.items() if self._unheard(each, call)}
            if any(each >> 32 != command_id >> 32 for each in shown):
                # It may end the sub-agents, too.
                driver.inbox.append(_core.Event.partials(list(shown.values())))
            own = [event for each, event in shown.items() if each >> 32 == command_id >> 32]
            return _core.Event.fired(command_id, own[-1] if own else None)
        under_way = [call for each, call in self.calls.items() if self._unheard(each, call)]
        return _core.Event.fired(command_id, under_way[-1].peek() if under_way else None)

    def interrupted(self, driver: Driver, how: str) -> _core.Event:
        """The event that ends the run: `cancel` at once, `after_round` when the running tools are done."""
        if how == "cancel" and driver.plan.agents:
            shown = {each: call.abort() for each, call in self.calls.items() if self._unheard(each, call)}
            self.calls.clear()
            if any(each >> 32 for each in shown):
                driver.step(_core.Event.partials(list(shown.values())))
            own = [event for each, event in shown.items() if not each >> 32]
            return _core.Event.interrupt(how, own[-1] if own else None)
        partial = self.abort_all() if how == "cancel" else None
        return _core.Event.interrupt(how, partial)


# ---- models of one's own ----


def tell_whole(driver: Driver, command_id: int | None, event: _core.Event, request: Any) -> None:
    """Shows an answer in one piece to whoever watches."""
    pieces = _core.answer_deltas(event, request)
    agent, path = driver.who(command_id)
    if agent is None:
        driver.told.tell_deltas(pieces)
    else:
        driver.told.tell_pieces((agent, path), pieces)


def _answered(asker: Asker, answer: object, request: Any) -> _core.Event:
    """The event for the answer of a model of one's own, which is seen in one piece by whoever watches."""
    event = answer_event(asker.command.id, answer, request.turns)  # type: ignore[arg-type]
    asker.tell(event, request)
    return event


def ask_model(
    asker: Asker,
    answer: Any,
    request: Any,
    contained: bool,  # noqa: FBT001
    span: Entered | None,
) -> Work:
    """The event for what a model of one's own gives, which has been asked, or is called beside the run."""
    command_id: int = asker.command.id  # type: ignore[assignment]
    sent = yield answer
    if type(answer) is Beside and inspect.isawaitable(sent):
        # A plain function has handed out an awaitable: a decorator in between often does.
        asked = sent
        sent = yield asked if span is None else span.awaited(lambda: asked)
    try:
        return _answered(asker, given_of(sent) if type(sent) is Raised else sent, request)
    except asyncio.CancelledError as error:
        if not contained:
            raise
        return _raised(command_id, error, contained=True)
    except (*RAISED, SystemExit) as error:
        return _raised(command_id, error, contained=contained)


def ask_stream(command_id: int, streamed: Streamed, request: Any, contained: bool, aside: bool) -> Work:  # noqa: FBT001
    """The event for what the stream of a model of one's own comes to."""
    sent = yield from streamed.work()
    return _streamed(command_id, sent, request, streamed, contained=contained, aside=aside)


def _streamed(
    command_id: int, sent: Any, request: Any, streamed: Streamed, *, contained: bool, aside: bool
) -> _core.Event:
    """The event for what a stream came to, whose pieces were told on the way."""
    try:
        return answer_event(command_id, given_of(sent), request.turns)
    except asyncio.CancelledError as error:
        if not contained:
            raise
        return _raised(command_id, error, contained=True, visible=streamed.visible)
    except (*RAISED, SystemExit) as error:
        if aside:
            return failed(command_id, error)
        return _raised(command_id, error, contained=contained, visible=streamed.visible)


def ask_aside(command_id: int, model: Responds, request: Any, span: Entered | None = None) -> Work:
    """The event for what a role's own model gives, asked beside the run: one that blocks holds nothing up."""
    if is_async(model.respond):
        sent = attempt(model.respond, request)
    else:
        here = partial(model.respond, request)
        sent = yield Beside("role", here if span is None else partial(span.call, here))
    if inspect.isawaitable(sent):
        asked = sent
        sent = yield asked if span is None else span.awaited(lambda: asked)
        if type(sent) is Raised and not isinstance(sent.error, (asyncio.CancelledError, *RAISED)):
            raise sent.error
    if type(sent) is Raised:
        return failed(command_id, sent.error)
    try:
        return answer_event(command_id, sent, request.turns)
    except RAISED as error:
        return failed(command_id, error)


def failed(command_id: int, error: BaseException, *, visible: bool = False) -> _core.Event:
    """Something failed in place of a model, in whatever way: that ends no run."""
    if isinstance(error, ModelFailure):
        with contextlib.suppress(UsageError):
            return _failed(command_id, error, visible=visible)
    return _core.Event.failed(command_id, "server", f"{type(error).__name__}: {error}"[:400], visible=visible)


def _failed(command_id: int, error: ModelFailure, *, visible: bool) -> _core.Event:
    """A model of one's own failed as providers fail."""
    after = error.retry_after
    return _core.Event.failed(command_id, error.code, error.message, retry_after=after, visible=visible)


def _raised(command_id: int, error: BaseException, *, contained: bool, visible: bool = False) -> _core.Event:
    """A model of one's own raised. Where others can go on without its answer it has failed; else the run breaks off
    with what it raised.
    """
    # A script that is used up is a fault of its test.
    if contained and getattr(error, "code", None) != "unexpected_request":
        if not isinstance(error, ModelFailure):
            logging.getLogger("loopwright.model").info("a model of one's own raised", exc_info=for_logs(error))
        return failed(command_id, error, visible=visible)
    if isinstance(error, ModelFailure):
        return _failed(command_id, error, visible=visible)
    stop = stopping(error)
    if stop is not None:
        # As it is, a generator would take it for its own end, and so would whoever iterates over the events.
        text = f": {stop}" if str(stop) else ""
        message = f"the model raised {type(stop).__name__}{text}"
        raise ModelError(message, "model_raised", "raise another exception") from error
    raise error
