"""The work of commands: generators that return the event which answers them."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from loopwright import _core
from loopwright._effects import Beside, Raised, TimeUp, Within, given_of
from loopwright._suspend import person_of
from loopwright.events import ToolProgress
from loopwright.tools._context import RunContext
from loopwright.tools._run import Outcome, cancelled, misfit, returned, run, run_here, run_later, timed_out

from ._work import UNREADABLE, is_async, unreadable

_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)")
_DENIED = "do not try the same call again; find another way, or explain what is needed"
_BY_NAME = "name the path that it leads to, so that a person can be asked about that"

if TYPE_CHECKING:
    from collections.abc import Callable

    from loopwright._approval import Approval
    from loopwright._driver._generator import Driver
    from loopwright._effects import Work
    from loopwright.result import Messages
    from loopwright.tools import Tool
    from loopwright.tools._context import CancelFlag


def run_tool(driver: Driver, command_id: int, call: _core.Call, flag: CancelFlag) -> Work:
    """The event for what a tool gives, or functions around it."""
    try:
        arguments = call.arguments
    except UNREADABLE as error:
        return driver.executed(command_id, call, unreadable(error))
    if driver.plan.hooks.get("around_tool"):
        from ._around_tool import AroundTool

        around = AroundTool(driver, command_id, call)
        return (yield from around.work(arguments))
    return driver.executed(command_id, call, (yield from ran(driver, command_id, call, flag, arguments)))


def ran(driver: Driver, command_id: int, call: _core.Call, flag: CancelFlag, arguments: Any, attempt: int = 1) -> Work:
    """What a tool gives. A plain function is called in a thread, which it may hold up as it likes."""
    tool = driver.tool(command_id, call.name)
    led = where_led(driver, command_id, call) if driver.run.names_paths(command_id, call.call_id) else None
    if led is not None and led["stricter"] and (command_id >> 32, call.call_id) not in driver.agreed:
        return _forbidden(f"a path of the call is a link: {led['judged']['why']}", _BY_NAME)
    if driver.steps and not command_id >> 32 and (tool.answers is None or tool.answers["gives"]):
        decided = yield from _decided(driver, command_id, tool, call, arguments)
        if decided is not None:
            return decided
    if tool.hands_over is not None:
        if (wrong := misfit(tool, arguments)) is not None:
            return wrong
        if command_id >> 32 or driver.handoff is not None:
            whose = "a sub-agent does its task itself" if command_id >> 32 else "the run is handed over already"
            return _forbidden(whose, "answer with what you have")
        driver.handoff = tool.hands_over
        driver.ends.append("after_round")
    context = _context(driver, command_id, call, flag, attempt) if tool.context_parameter else None
    span = None if driver.observer is None else driver.observer.called(driver, command_id, call)
    if tool.is_async:
        there = partial(run, tool, arguments, context)
        sent = yield there() if span is None else span.awaited(there)
    else:
        ends = time.monotonic() + (tool.timeout or 0.0)
        here = partial(run_here, tool, arguments, context)
        if span is not None:
            here = partial(span.call, here)
        sent = yield _limited(tool, ends, flag, Beside(f"tool {tool.name}", here))
        if type(sent) is not Outcome and type(sent) is not Raised:
            # A plain function has handed out an awaitable: a decorator in between often does.
            later = run_later(tool, sent)
            sent = yield _limited(tool, ends, flag, later if span is None else span.awaited(lambda: later))
    return _given(driver, command_id, tool, call, sent if type(sent) is Outcome else _failed(tool, sent.error))


def _forbidden(why: str, hint: str) -> Outcome:
    return Outcome([], failure={"kind": "forbidden", "message": why, "hint": hint})


def _given(driver: Driver, command_id: int, tool: Any, call: _core.Call, outcome: Outcome) -> Outcome:
    """What a call has given; where that is the answer of the run, the object is kept."""
    if tool.answers is not None and tool.answers["gives"] and outcome.failure is None and not command_id >> 32:
        texts = [block["text"] for block in outcome.content if block["type"] == "text"]
        driver.given[call.call_id] = (texts[-1] if texts else "", outcome.value)
    return outcome


def _decided(driver: Driver, command_id: int, tool: Any, call: _core.Call, arguments: Any) -> Work:
    """What is given for a call that whoever goes through the run step by step has answered or denied; nothing where it
    is to run.
    """
    from loopwright.steps import ToolStep

    step = ToolStep(call.name, arguments, call.call_id, call.round)
    driver.tell(step)
    sent = yield step._decided
    if sent is None:
        return None
    if type(sent) is Raised:
        return _failed(tool, sent.error)
    kind, value = sent
    if kind == "deny":
        return Outcome([], failure={"kind": "denied", "message": f"the call was not allowed: {value}", "hint": _DENIED})
    return _given(driver, command_id, tool, call, returned(tool, value))


def where_led(driver: Driver, command_id: int, call: _core.Call) -> dict[str, Any] | None:
    """What the guard says of what a call reaches, if paths that it names are symbolic links or begin with a variable
    that is known. A link may have been made
    since the call was judged, so this is looked up where it is asked about and where it runs.
    """
    try:
        arguments = call.arguments
        variables = known_variables(driver.known_tool(command_id, call.name), arguments)
        said = driver.run.led(command_id, call.name, arguments, variables)
    except UNREADABLE:
        return None
    return None if said is None else json.loads(said)


def known_variables(tool: Any, arguments: Any) -> dict[str, str]:
    """The variables of a tool's commands that a line names and does not set itself, without secrets."""
    environment = getattr(tool, "environment", None)
    line = arguments.get("command") if isinstance(arguments, dict) and environment is not None else None
    if environment is None or not isinstance(line, str) or "$" not in line:
        return {}
    found = environment()
    names = set(_VARIABLE.findall(line))
    # `NAME=…`, `for NAME`, `read NAME`: by then it is another value.
    names = {name for name in names if not re.search(rf"(?<![\w${{]){name}(?!\w)", line)}
    return {name: found[name] for name in names if name in found and not _core.is_secret_variable(name, found[name])}


def _context(driver: Driver, command_id: int, call: _core.Call, flag: CancelFlag, attempt: int) -> RunContext[Any]:
    """What a tool may know about its call."""
    emit = None
    if driver.watch:
        call_id, name = call.call_id, call.name
        agent, path = driver.who(command_id)
        clean = _core.without_own_keys
        emit = lambda text: driver.tell(ToolProgress(call_id, name, clean(text), agent=agent, path=path))  # noqa: E731
    return RunContext(
        driver.deps,
        run_id=driver.run_id,
        call_id=call.call_id,
        round=call.round,
        attempt=attempt,
        emit=emit,
        cancel=flag,
        sandbox=driver.plan.sandbox,
        ask=None if (person := person_of(driver.plan.approve)) is None else partial(_asked, driver, person),
        messages=partial(_messages, driver),
        command=command_id,
    )


def _messages(driver: Driver) -> Messages:
    from loopwright.result import Messages

    return Messages(driver.run.messages)


async def _asked(driver: Driver, ask: Callable[[Any], Any], question: Approval) -> Any:
    """What a person says to a question of a tool. One who sees one question at a time answers those before it first."""

    def put() -> Any:
        with driver.questions.asking:
            return ask(question)

    if is_async(ask):
        return await ask(question)
    said = await asyncio.to_thread(put)
    return await said if inspect.isawaitable(said) else said


def recall(driver: Driver, command: _core.Command) -> None:
    """Asks memory, in a thread: a file may take its time."""
    remember = driver.plan.remember
    if remember is None:
        missing = _core.Event.recall_failed(command.id, "no_memory", "the agent has no memory")  # type: ignore[arg-type]
        driver.inbox.append(missing)
    else:
        driver.start(command.id, "memory", _recalled, partial(remember.recalled, command))  # type: ignore[arg-type]


def gather(driver: Driver, command: _core.Command) -> Work:
    """Asks memory and functions, and hands what they gave to the search of the folders, which answers."""
    from loopwright._gather import collect

    others, failures = given_of((yield collect(driver.plan.gatherers, command.question or "")))
    folders = list(driver.plan.folders)
    driver.requests.keep(command, driver.hub.search(driver.key, command, folders, others, failures))


def look_up(driver: Driver, command: _core.Command) -> Work:
    """The event that answers a fetch, an embedding, a question to a search or to a part of one's own; what goes
    wrong is an answer too.
    """
    from loopwright._lookups import Lookups, look_up

    lookups = driver.plan.lookups or Lookups()
    sent = yield look_up(lookups, command.kind, command.id, command.wanted)  # type: ignore[arg-type]
    return _core.Event.from_json(given_of(sent))


def _limited(tool: Tool[..., Any, Any], ends: float, flag: CancelFlag, effect: Any) -> Any:
    """What a tool does, within its time."""
    return effect if tool.timeout is None else Within(ends - time.monotonic(), effect, flag)


def _failed(tool: Tool[..., Any, Any], error: BaseException) -> Outcome:
    """The outcome of a call that was cancelled by somebody else, came too late or could not be read."""
    if isinstance(error, asyncio.CancelledError):
        return cancelled(tool, error)
    if isinstance(error, TimeUp):
        return timed_out(tool)
    if isinstance(error, UNREADABLE):
        return unreadable(error)
    raise error


def _recalled(recall: Callable[[], _core.Event]) -> Work:
    """The event for what memory holds."""
    return given_of((yield Beside("memory", recall)))
