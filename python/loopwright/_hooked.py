"""Carrying out `hook` and `choose` commands, in an event loop and without one."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from . import _core
from .hooks._models import ModelContext, choice_of
from .hooks._run import Asked, asked_all, drop, in_worker, late, timed, tried, words
from .hooks._run import ask as ask_one
from .messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._driver import AsyncDriver, Driver, SyncDriver
    from .hooks._hook import Hook

__all__ = ["ask_async", "ask_sync", "choose_async", "choose_sync"]


def _asked(driver: Driver, command: _core.Command) -> Asked:
    hooks = driver.plan.hooks.get(command.stage or "", [])
    asked = Asked(command, hooks, driver.run_id, driver.deps, driver.run.now, driver.who(command.id))
    # Those that may be called right here are.
    while (hook := asked.next) is not None and hook.inline:
        asked.take(hook, timed(hook, asked.context()))
    return asked


def _ended(driver: Driver, asked: Asked) -> _core.Event:
    if asked.error is not None:
        driver.hook_error = asked.error
    return asked.event()


def ask_async(driver: AsyncDriver, command: _core.Command) -> None:
    """Asks the hooks of a command, in the run's own loop."""
    asked = driver.variables.copy().run(_asked, driver, command)
    if asked.next is None:
        driver.inbox.append(_ended(driver, asked))
        return

    async def rest() -> _core.Event:
        await asked_all(asked)
        return _ended(driver, asked)

    driver.start(command.id, f"hooks {command.stage}", None, rest)  # type: ignore[arg-type]


def ask_sync(driver: SyncDriver, command: _core.Command) -> None:
    """Asks the hooks of a command, beside the thread that steps the run."""
    asked = _asked(driver, command)
    driver.asked[command.id or 0] = asked
    _ask_next(driver, asked)


def _ask_next(driver: SyncDriver, asked: Asked) -> None:
    hook = asked.next
    while hook is not None and hook.inline:
        asked.take(hook, timed(hook, asked.context()))
        hook = asked.next
    if hook is None:
        asked.token = None
        if driver.asked.pop(asked.command.id or 0, None) is not None:
            driver.arrived(_ended(driver, asked))
        return
    _Ask(driver, asked, hook, lambda value: _heard(driver, asked, hook, value)).begin(asked.context())


def _heard(driver: SyncDriver, asked: Asked, hook: Hook, value: Any) -> None:
    asked.take(hook, value)
    _ask_next(driver, asked)


class _Ask:
    """One hook that is asked; `done` hears its answer, or what went wrong, in the driver's thread, and once."""

    def __init__(self, driver: SyncDriver, asked: Asked, hook: Hook, done: Callable[[Any], None]) -> None:
        self.driver = driver
        self.asked = asked
        self.hook = hook
        self.done = done
        self.command_id = asked.command.id or 0
        asked.token = self

    @property
    def waits(self) -> bool:
        """Whether anybody still wants the answer."""
        return self.asked.token is self and self.command_id in self.driver.asked and not self.driver.closed

    def begin(self, context: Any) -> None:
        driver, hook = self.driver, self.hook
        driver.limits.append((driver.run.now() + hook.timeout, self.lapse))
        if hook.is_async:
            self.heard(tried(hook.function, context))
        else:
            in_worker(lambda: tried(hook.function, context), self.told)

    def settle(self, value: Any) -> None:
        if self.waits:
            self.asked.token = None
            self.driver.limits = [limit for limit in self.driver.limits if limit[1] != self.lapse]
            self.done(value)
        else:
            drop(value)

    async def wait(self, answer: Any) -> None:
        try:
            value = await answer
        except BaseException as error:
            if self.command_id not in self.driver.asked:
                raise
            value = error
        self.driver.soon(lambda: self.settle(value))

    def heard(self, value: Any) -> None:
        if inspect.isawaitable(value) and self.waits:
            self.driver.start(self.command_id, self.wait(value))
        else:
            self.settle(value)

    def told(self, value: Any) -> None:
        """The same from a thread."""
        if self.driver.closed:
            drop(value)
        else:
            self.driver.soon(lambda: self.heard(value))

    def lapse(self) -> None:
        """Its time is over."""
        if self.waits:
            for cancel in self.driver.tasks.pop(self.command_id, ()):
                cancel()
            self.settle(late(self.hook))


# ---- which model ----


def _chooser(driver: Driver, command: _core.Command) -> tuple[Hook | None, ModelContext]:
    prompt = Message.from_json(command.subject or "{}")
    return driver.plan.chooser, ModelContext(prompt, command.model or "", driver.run_id, driver.deps)


def _chosen(driver: Driver, command_id: int, value: Any) -> _core.Event:
    """The event for what was chosen; a model that can't be reached is none."""
    try:
        if isinstance(value, BaseException):
            raise value
        choice = choice_of(value)
        if choice is None:
            return _core.Event.chosen(command_id)
        price = driver.plan.price_of(choice.model)
    except BaseException as error:  # noqa: BLE001 - whatever goes wrong, the run goes on with its own model
        return _core.Event.chosen(command_id, error=words(error))
    return _core.Event.chosen(command_id, choice.model, float(choice.confidence), choice.reason, None, price)


def choose_async(driver: AsyncDriver, command: _core.Command) -> None:
    """Asks who chooses the model, in the run's own loop."""
    hook, context = _chooser(driver, command)
    if hook is None:
        driver.inbox.append(_core.Event.chosen(command.id or 0))
        return

    async def ask() -> _core.Event:
        return _chosen(driver, command.id or 0, await ask_one(hook, context))

    driver.start(command.id, "choice of the model", None, ask)  # type: ignore[arg-type]


def choose_sync(driver: SyncDriver, command: _core.Command) -> None:
    """Asks who chooses the model, beside the thread that steps the run."""
    hook, context = _chooser(driver, command)
    command_id = command.id or 0
    if hook is None:
        driver.inbox.append(_core.Event.chosen(command_id))
        return
    asked = Asked(command, [hook], driver.run_id, driver.deps, driver.run.now)
    driver.asked[command_id] = asked

    def done(value: Any) -> None:
        driver.asked.pop(command_id, None)
        driver.arrived(_chosen(driver, command_id, value))

    _Ask(driver, asked, hook, done).begin(context)
