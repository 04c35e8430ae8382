"""Functions around a call of a tool.

The call is as it was judged, and runs as often as its tool may run: what the guard and a person have said of it holds
for these arguments and for one run, unless running again changes nothing (`idempotent`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from loopwright._effects import Raised
from loopwright.errors import ToolError
from loopwright.hooks._context import CallSubject, HookContext
from loopwright.tools._context import CancelFlag
from loopwright.tools._result import to_content
from loopwright.tools._run import Outcome, raised, returned

from ._around import Around, Refused, Step
from ._works import ran

if TYPE_CHECKING:
    from loopwright import _core
    from loopwright._driver._generator import Driver
    from loopwright._effects import Work

_UNCHANGED = (str, bytes, int, float, bool, type(None), Iterator)
"""What is the same when it is given again, or can't be read twice."""


class AroundTool(Around):
    """The functions around one call."""

    stage = "around_tool"

    def __init__(self, driver: Driver, command_id: int, call: _core.Call) -> None:
        super().__init__(driver, command_id, (command_id >> 32, call.call_id))
        self.call = call
        self.tool = driver.at(command_id).tools[call.name]
        self.runs = 0
        # What the tool has given, each time, with what was raised of it.
        self.outcomes: list[tuple[Outcome, BaseException | None]] = []

    def context(self, _: Any) -> HookContext[CallSubject]:
        driver, call = self.driver, self.call
        agent, path = driver.who(self.command_id)
        return HookContext(
            self.stage,
            driver.run_id,
            driver.deps,
            command=driver.before.get(self.key),
            # Of their own: whoever changes them changes nothing that runs.
            subject=CallSubject(call.call_id, call.name, call.arguments),
            clock=driver.run.now,
            agent=agent,
            path=path,
            round=call.round,
        )

    def changed(self, subject: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if given or named:
            message = f"call_next takes nothing: the arguments of {self.call.name!r} are judged, and run as they are"
            raise Refused(message, "arguments_are_judged", "change them at pre_tool, where they are judged anew")
        return subject

    def checked(self, value: Any) -> Any:
        if not any(value is outcome.value for outcome, _ in self.outcomes):
            to_content(value)
        return value

    def means(self, error: BaseException) -> bool:
        return isinstance(error, ToolError)

    def refusal(self) -> Refused | None:
        if not self.runs or self.tool.idempotent:
            return None
        message = f"call_next has run {self.call.name!r} for this call, and a second time may take effect twice"
        return Refused(message, "runs_once", "say @tool(idempotent=True), or leave it to the model to call again")

    def innermost(self, step: Step) -> None:
        self.runs += 1
        flag = CancelFlag()
        what = f"tool {self.call.name}"
        step.job = self.driver.start(self.command_id, what, self.once, step, flag, self.runs, flag=flag, now=True)

    def once(self, step: Step, flag: CancelFlag, attempt: int) -> Work:
        """Runs the tool."""
        outcome = yield from ran(self.driver, self.command_id, self.call, flag, step.subject, attempt)
        failure, error = outcome.failure, outcome.error
        if failure is not None and error is None:
            error = ToolError(failure["message"], failure["kind"], failure.get("hint"))
        self.outcomes.append((outcome, error))
        step.settle(outcome.value if error is None else Raised(error))

    def event(self, sent: Any) -> _core.Event:
        return self.driver.executed(self.command_id, self.call, self.outcome(sent))

    def outcome(self, sent: Any) -> Outcome:
        """What the model reads of it."""
        if type(sent) is Raised:
            for outcome, error in self.outcomes:
                if error is sent.error:
                    return outcome
            return raised(self.tool, sent.error)
        for outcome, error in self.outcomes:
            if error is None and outcome.value is sent and isinstance(sent, _UNCHANGED):
                return outcome
        return returned(self.tool, sent)
