"""Carrying out `hook` and `choose` commands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import _core
from .hooks._hook import AROUND
from .hooks._models import ModelContext, choice_of
from .hooks._run import Asked, asking, asking_all, timed, words
from .messages import Message

if TYPE_CHECKING:
    from ._driver import Driver
    from ._effects import Work
    from .hooks import Hook

__all__ = ["begin_choice", "begin_hooks"]

_BESIDE = {stage: around for around, stages in AROUND.items() for stage in stages}
"""Around what functions stand whose stages these are."""


def begin_hooks(driver: Driver, command: _core.Command) -> None:
    """Asks the hooks of a command."""
    variables = driver.variables
    asked = _asked(driver, command) if variables is None else variables.copy().run(_asked, driver, command)
    if asked.next is None:
        driver.inbox.append(_ended(driver, asked))
    else:
        driver.start(command.id or 0, f"hooks {command.stage}", _rest, driver, asked)


def _asked(driver: Driver, command: _core.Command) -> Asked:
    hooks = driver.plan.hooks.get(command.stage or "", [])
    if ours := _ours(driver, command):
        hooks = [*hooks, ours]
    asked = Asked(command, hooks, driver.run_id, driver.deps, driver.run.now, driver.who(command.id))
    around = _BESIDE.get(command.stage or "")
    if around is not None and around in driver.plan.hooks:
        _of_around(driver, command, asked)
    # Those that may be called right here are.
    while (hook := asked.next) is not None and hook.inline:
        asked.take(hook, timed(hook, asked.context()))
    return asked


def _of_around(driver: Driver, command: _core.Command, asked: Asked) -> None:
    """At the stages beside a request or a call with functions around it: those are shown what was spent before it, and
    what became of them is told after it.
    """
    machine = (command.id or 0) >> 32
    key = (machine, "") if command.stage in ("pre_llm", "post_llm") else (machine, asked.context().subject.call_id)
    if command.stage in ("pre_llm", "pre_tool"):
        driver.before[key] = command
        return
    driver.before.pop(key, None)
    replies, error = driver.became.pop(key, ([], None))
    asked.replies.extend(replies)
    if error is not None:
        asked.error, asked.place = error, len(asked.hooks)


def _ours(driver: Driver, command: _core.Command) -> Hook | None:
    """What the package itself is asked at a stage: which tools there are, and whether a person decides about a call."""
    if command.stage == "pre_llm" and driver.each_round is not None:
        return driver.each_round.hook(driver, command.id)
    if command.stage == "pre_tool":
        name = json.loads(command.subject or "{}")["call"]["call"]["name"]
        tool = driver.known_tool(command.id, name)
        if tool is not None and callable(tool.asks):
            from .tools._asking import asking_about

            return asking_about(tool)
    return None


def _rest(driver: Driver, asked: Asked) -> Work:
    yield from asking_all(asked)
    return _ended(driver, asked)


def _ended(driver: Driver, asked: Asked) -> _core.Event:
    if asked.error is not None:
        driver.hook_error = asked.error
    return asked.event()


# ---- which model ----


def begin_choice(driver: Driver, command: _core.Command) -> None:
    """Asks who chooses the model."""
    if driver.plan.chooser is None:
        driver.inbox.append(_core.Event.chosen(command.id or 0))
    else:
        driver.start(command.id or 0, "choice of the model", _choice, driver, command)


def _choice(driver: Driver, command: _core.Command) -> Work:
    prompt = Message.from_json(command.subject or "{}")
    context = ModelContext(prompt, command.model or "", driver.run_id, driver.deps)
    return _chosen(driver, command.id or 0, (yield from asking(driver.plan.chooser, context)))  # type: ignore[arg-type]


def _chosen(driver: Driver, command_id: int, value: Any) -> _core.Event:
    """The event for what was chosen; a model that can't be reached is none."""
    try:
        if isinstance(value, BaseException):
            raise value
        choice = choice_of(value)
        if choice is None:
            return _core.Event.chosen(command_id)
        model, price, settings = driver.plan.chosen(choice.model)
    except BaseException as error:  # noqa: BLE001 - whatever goes wrong, the run goes on with its own model
        return _core.Event.chosen(command_id, error=words(error))
    confidence = float(choice.confidence)
    return _core.Event.chosen(command_id, model, confidence, choice.reason, None, price, settings)
