"""Functions around a request to the model.

What was returned is the answer, for the machine and in the journal. Its tokens are those that were really used: of all
answers that the model has given to this request, and what a `Response` of a function's own says of itself.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from loopwright import _core
from loopwright._effects import Raised
from loopwright._user_code import RAISED
from loopwright.errors import UsageError
from loopwright.events import Reset
from loopwright.hooks._answers import Replace, spoken
from loopwright.hooks._context import HookContext, RequestSubject
from loopwright.models import ModelFailure, Response, answer_json
from loopwright.wire import Response as Answer

from ._around import Around, Refused, Step
from ._models import Asker, failed, tell_whole

if TYPE_CHECKING:
    from loopwright._driver._generator import Driver
    from loopwright._effects import Work

_MEMBERS = "system, messages, max_tokens, temperature, top_p, stop, effort"
_NOTHING = {
    "id": "",
    "message": {"role": "assistant", "content": []},
    "stop": "end_turn",
    "usage": {"input": 0, "output": 0},
}


def _money(price: dict[str, Any], used: dict[str, int]) -> float:
    """What tokens cost."""
    from loopwright.prices import Price

    counted = ("input", "output", "cache_read", "cache_write", "cache_write_hour")
    asked = Price(price["input"], price["output"], price.get("cache_read"), price.get("cache_write"))
    return asked.cost(**{name: used.get(name, 0) for name in counted})


class Inner(Asker):
    """A request as the innermost of the functions has it sent."""

    __slots__ = ("_key", "_step", "around", "call", "repeated")

    def __init__(self, around: AroundModel, step: Step, *, shows: bool) -> None:
        super().__init__(around.driver, step.subject)
        self.around = around
        self.shows = shows
        self.repeated = around.asked > 1
        self.call: Any = None
        self._step = step
        self._key: int | None = None

    @property
    def key(self) -> int:
        if self._key is None:
            self._key = self.driver.hear(self.heard)
        return self._key

    def heard(self, item: Any) -> None:
        """Something has arrived: pieces of the answer, news of a request that waits, or the end."""
        if isinstance(item, list) or type(item) is tuple:
            self.show(item)
        else:
            self.give(item)

    def give(self, event: _core.Event) -> None:
        self.ended(event)

    def start(self, what: str, function: Any, *arguments: Any, now: bool = False) -> None:
        command_id = self.around.command_id
        self._step.job = self.driver.start(command_id, what, self.carried, function, *arguments, now=now)

    def carried(self, function: Any, *arguments: Any) -> Work:
        """Hears what work gives, or raises."""
        try:
            event = yield from function(*arguments)
        except (Exception, SystemExit, asyncio.CancelledError) as error:  # noqa: BLE001 - for the function around it
            event = Raised(error)
        self.ended(event)

    def ended(self, sent: Any) -> None:
        """The request has ended: with an event, or `Raised` by a model of one's own."""
        self.close()
        self.around.answered(self, self._step, sent)

    def keep(self, call: Any) -> None:
        self.call = call

    def show(self, deltas: Any) -> None:
        # News of a request that waits show nothing of it.
        self.around.visible |= type(deltas) is list or type(deltas[1]) is list
        self.driver.arrived(deltas)

    def tell(self, event: _core.Event, request: Any) -> None:
        if self.shows:
            self.around.visible = True
            tell_whole(self.driver, self.command.id, event, request)

    def close(self) -> None:
        """Nothing of it is heard any more."""
        if self._key is not None:
            self.driver.hear_no_more(self._key)


class AroundModel(Around):
    """The functions around one request. For the run it is a call that is under way."""

    stage = "around_model"

    def __init__(self, driver: Driver, command: _core.Command) -> None:
        command_id: int = command.id  # type: ignore[assignment]
        super().__init__(driver, command_id, (command_id >> 32, ""))
        self.command = command
        self.request: Any = command.request
        # Those under way, and the one of them that whoever watches is shown.
        self.under_way: dict[Step, Inner] = {}
        self.showing: Inner | None = None
        # How many have begun; whether anything is shown that is not void, and the whole answer that it belongs to.
        self.asked = 0
        self.visible = False
        self.shown: Answer | None = None
        self.usage: dict[str, int] = {"input": 0, "output": 0}
        # The last answer, and its tokens.
        self.last: Answer | None = None
        self.used: dict[str, int] = {}
        # What the model's answers and failures were told by, and whether they were shown.
        self.events: list[tuple[object, _core.Event, bool]] = []
        # What a model of one's own raised that ends the run.
        self.broken: list[BaseException] = []

    def start(self) -> None:
        """Asks the functions."""
        self.driver.requests.keep(self.command, self)
        self.driver.start(self.command_id, "model", self.work, self.command, now=True)

    # ---- a call that is under way ----

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self.over

    def peek(self) -> _core.Event:
        """What it has shown so far, as the event of a call that is cancelled now."""
        call = self.showing.call if self.showing is not None else None
        if call is None:
            call = _core.OwnAnswer(self.command_id, self.request)
            if self.shown is not None:
                # The whole answer was shown, and the function has not returned yet.
                call.text(self.shown.message.text)
        return call.peek()

    def abort(self) -> _core.Event:
        """The same; nobody waits for it any more."""
        shown = self.peek()
        self.over = True
        for inner in list(self.under_way.values()):
            self._stop(inner)
        self.under_way.clear()
        return shown

    def _stop(self, inner: Inner) -> None:
        inner.close()
        if inner.call is not None:
            inner.call.abort()

    # ---- what a function is shown, calls and gives ----

    def context(self, subject: _core.Command) -> HookContext[RequestSubject]:
        driver = self.driver
        agent, path = driver.who(self.command_id)
        return HookContext(
            self.stage,
            driver.run_id,
            driver.deps,
            command=driver.before.get(self.key),
            subject=RequestSubject(subject.request),  # type: ignore[arg-type]
            clock=driver.run.now,
            agent=agent,
            path=path,
        )

    def changed(self, subject: _core.Command, given: tuple[Any, ...], named: dict[str, Any]) -> _core.Command:
        if given:
            message = "call_next takes what shall change in the request by its name, and nothing else"
            raise UsageError(message, "invalid_replacement", f"name some of {_MEMBERS}: call_next(temperature=0.2)")
        return subject.after(*spoken(Replace(named))) if named else subject

    def checked(self, value: Any) -> Answer:
        if any(value is answer for answer, _, _ in self.events):
            return value  # type: ignore[no-any-return]
        answer = Answer.from_json(answer_json(value, self.request.turns))
        if isinstance(value, Response):
            self.add({"input": value.input_tokens, "output": value.output_tokens})
        if answer.message.role != "assistant":
            message = f"an answer of the model is a message of the assistant, not of the {answer.message.role}"
            raise UsageError(message, "invalid_answer", "give what call_next gave, a Response, or text")
        return answer

    def means(self, error: BaseException) -> bool:
        return isinstance(error, ModelFailure)

    # ---- the model ----

    def refusal(self) -> Refused | None:
        if self.last is None:
            return None
        config = next(iter(json.loads(self.driver.plan.config.to_json()).values()))
        budget, price = config.get("budget") or {}, config.get("price")
        before = self.driver.before.get(self.key)
        spent = (before.spent if before is not None else None) or {}
        # Another request is not likely to use less than the last one.
        used = [spent.get("usage", {}), self.usage, self.used]
        tokens, most = sum(each.get("input", 0) + each.get("output", 0) for each in used), budget.get("tokens")
        cost, dearest = spent.get("cost") or 0.0, budget.get("cost")
        if price is not None:
            cost += _money(price, self.usage) + _money(price, self.used)
        if (most is None or tokens <= most) and (dearest is None or cost <= dearest):
            return None
        message = "another request would go beyond the budget of the run"
        return Refused(message, "over_budget", "return the answer that there is, or give the run a larger budget")

    def innermost(self, step: Step) -> None:
        # Of several at once one is shown; what was shown before is void when the next begins.
        shows = self.driver.watch and self.showing is None
        self.asked += 1
        inner = self.under_way[step] = Inner(self, step, shows=shows)
        if shows:
            self.reset()
            self.showing = inner
        try:
            self.driver.requests.ask(inner, step.subject)
        except (*RAISED, SystemExit) as error:
            inner.ended(Raised(error))

    def unwanted(self, step: Step) -> None:
        inner = self.under_way.pop(step, None)
        if inner is not None:
            self._stop(inner)
            if self.driver.observer is not None:
                self.driver.observer.aborted(self.command_id)
            if self.showing is inner:
                self.showing = None
        super().unwanted(step)

    def reset(self) -> None:
        """What was shown is void."""
        self.shown = None
        if self.visible:
            self.visible = False
            agent, path = self.driver.who(self.command_id)
            asked = self.driver.before.get(self.key)
            self.driver.tell(Reset((asked.round or 0) if asked is not None else 0, agent=agent, path=path))

    def answered(self, inner: Inner, step: Step, sent: Any) -> None:
        """The model has answered, has failed, or was a model of one's own that raised."""
        self.under_way.pop(step, None)
        shown = self.showing is inner
        if shown:
            self.showing = None
        if type(sent) is Raised:
            self.broken.append(sent.error)
            step.settle(sent)
            return
        if self.driver.observer is not None:
            self.driver.observer.stepping(sent)
        kind, told = _core.json_members(sent.to_json())[0]
        members = dict(_core.json_members(told))
        if kind == "generated":
            answer = self.last = Answer.from_json(members["response"])
            self.used = json.loads(dict(_core.json_members(members["response"]))["usage"])
            self.add(self.used)
            self.events.append((answer, sent, shown))
            if shown:
                self.shown = answer
            step.settle(answer)
            return
        said = json.loads(members["failure"])
        failure = ModelFailure(said["message"], said["kind"], retry_after=said.get("retry_after"))
        self.events.append((failure, sent, shown))
        step.settle(Raised(failure))

    def add(self, used: dict[str, int]) -> None:
        """Tokens were used for the request."""
        for name, count in used.items():
            self.usage[name] = self.usage.get(name, 0) + count

    # ---- what came of it ----

    def event(self, sent: Any) -> _core.Event:
        if self.error is not None:
            # The hooks behind the answer are told, and end the run.
            sent = self.last or Answer.from_json(json.dumps(_NOTHING))
        # Of those that nobody waits for any more nothing is shown behind the answer.
        for step in list(self.under_way):
            self.unwanted(step)
        if type(sent) is Raised:
            return self.failed(sent.error)
        answer: Answer = sent
        same = [event for known, event, _ in self.events if known is answer]
        event = same[0] if same and len(self.events) == 1 else self.generated(answer)
        if self.driver.watch and answer != self.shown:
            self.reset()
            tell_whole(self.driver, self.command_id, event, self.request)
        return event

    def generated(self, answer: Answer) -> _core.Event:
        """The event for an answer, with the tokens that were used for it."""
        members = dict(_core.json_members(answer.to_json()))
        members["usage"] = json.dumps(self.usage)
        text = ",".join(f"{json.dumps(name)}:{value}" for name, value in members.items())
        return _core.Event.generated(self.command_id, f"{{{text}}}")

    def failed(self, error: BaseException) -> _core.Event:
        """The event for a failure. What a model of one's own raised ends the run, as it does without functions."""
        if any(error is each for each in self.broken):
            raise error
        for known, event, shown in self.events:
            # Its own event says more: what had come of the answer.
            if known is error and (shown or not self.visible):
                return event
        return failed(self.command_id, error, visible=self.visible)
