"""One call of a tool: arguments checked, the function called, the result or the failure put into words.

An async function runs in the caller's own task. Any other runs in a daemon thread of its own: it can't block the
event loop, and one that hangs neither starves other calls nor keeps the process from ending.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import threading
import traceback
from typing import TYPE_CHECKING, Any

from loopwright._clean_error import for_logs, without_keys

from ._context import RunContext, cancel_flag, relayed
from ._errors import LoopwrightError, NotSerialisable, ToolTimeout
from ._result import DEFAULT_MAX_OUTPUT, limit_text, to_content

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ._tool import Tool

__all__ = ["Outcome", "call", "run"]

_LONGEST_FAILURE = 4000
_LONGEST_HINT = 1000
_GRACE = 1.0
_MOST_GROUPED = 10
CANCELLED = {"kind": "exception", "message": "CancelledError: the call was cancelled, and not by the run"}
"""The failure of a call whose task was cancelled from outside."""
TAKEN = "The answer is taken."
"""What a call gives that is the answer of its run, where the model has nothing to read."""
_LOG = logging.getLogger("loopwright.tool")
_GENERATOR = 0x20 | 0x200  # inspect.CO_GENERATOR, inspect.CO_ASYNC_GENERATOR


class Outcome:
    """What a call gave, in the form of a message's tool result."""

    __slots__ = ("content", "error", "failure", "truncated", "value")

    def __init__(
        self,
        content: list[dict[str, Any]],
        *,
        value: object = None,
        failure: dict[str, Any] | None = None,
        error: BaseException | None = None,
        truncated: bool = False,
    ) -> None:
        self.content = content
        """Blocks for the model."""
        self.value = value
        """What the function returned."""
        self.failure = failure
        """Why it failed: `kind`, `message`, and `hint` where there is one."""
        self.error = error
        """What was raised, with its traceback; the local variables of its frames are let go."""
        self.truncated = truncated
        """Whether the model sees less than there was."""

    @property
    def is_error(self) -> bool:
        """Whether it failed."""
        return self.failure is not None

    @property
    def text(self) -> str:
        """All text of the content."""
        return "".join(block["text"] for block in self.content if block["type"] == "text")

    def __repr__(self) -> str:
        state = f"failed: {self.failure['kind']}" if self.failure else "done"
        return f"<Outcome {state}, {len(self.content)} blocks>"


class _Exit(Exception):
    """A tool tried to end the process."""


_ENDING = (SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration, StopAsyncIteration)


async def call(
    tool: Tool[..., Any, Any],
    arguments: object,
    context: RunContext[Any] | None,
    finish: Callable[[Any], Any] | None = None,
) -> Any:
    """Check, call, and wait no longer than the tool's timeout.

    `finish` is applied to what the function gave, in the very thread that it ran in: a huge result holds up no loop.
    """
    bound = tool.bind(arguments)
    own: RunContext[Any] = context if context is not None else RunContext()
    try:
        if tool.timeout is None:
            return await _invoke(tool, bound, own, finish)
        return await _in_time(tool, bound, own, tool.timeout, finish)
    except asyncio.CancelledError:
        cancel_flag(own).set()
        raise


async def _in_time(
    tool: Tool[..., Any, Any],
    bound: dict[str, Any],
    context: RunContext[Any],
    timeout: float,
    finish: Callable[[Any], Any] | None,
) -> Any:
    """Not `asyncio.wait_for`: that waits for ever on a tool that swallows its cancellation."""
    task = asyncio.ensure_future(_invoke(tool, bound, context, finish))
    try:
        await asyncio.wait({task}, timeout=timeout)
        if task.done():
            return task.result()
        cancel_flag(context).set()
        raise _late(tool)
    finally:
        if not task.done():
            cancel_flag(context).set()
            task.cancel()
            task.add_done_callback(_forget)
            await asyncio.wait({task}, timeout=_GRACE)


def _forget(task: asyncio.Task[Any]) -> None:
    """Nobody waits for it any more; what it raised is no news."""
    if not task.cancelled():
        task.exception()


async def _invoke(
    tool: Tool[..., Any, Any],
    bound: dict[str, Any],
    context: RunContext[Any],
    finish: Callable[[Any], Any] | None,
) -> Any:
    name = tool.context_parameter
    try:
        if tool.is_async:
            if name is not None:
                bound[name] = context
            value = await tool.function(**bound)
        else:
            value = await _in_thread(tool, bound, name, context, finish)
            if not hasattr(value, "__await__"):
                return value
            # A plain function may hand out a coroutine: a decorator in between often does.
            value = await value
        return value if finish is None else finish(value)
    except _ENDING as error:
        # As they are, these would end the event loop or hang it; a tool may do neither.
        message = f"the tool raised {_said(error)}"
        raise _Exit(message) from error


async def _in_thread(
    tool: Tool[..., Any, Any],
    bound: dict[str, Any],
    name: str | None,
    context: RunContext[Any],
    finish: Callable[[Any], Any] | None,
) -> Any:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

    def relay(function: Callable[[], object]) -> None:
        # Without a loop there is nobody left who could hear.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(function)

    if name is not None:
        bound[name] = relayed(context, relay)

    def settle(value: Any, error: BaseException | None) -> None:
        if not done.done():
            done.set_result((value, error))

    def work() -> None:
        value, error = None, None
        try:
            value = tool.function(**bound)
            if finish is not None and not hasattr(value, "__await__"):
                value = finish(value)
        except BaseException as raised:  # noqa: BLE001 - handed to who waits
            error = raised
        relay(lambda: settle(value, error))

    variables = contextvars.copy_context()
    threading.Thread(target=variables.run, args=(work,), name=f"tool {tool.name}", daemon=True).start()
    value, error = await done
    if error is not None:
        raise error
    return value


async def run(tool: Tool[..., Any, Any], arguments: object, context: RunContext[Any] | None) -> Outcome:
    """`call`, with everything that can go wrong turned into words for the model."""
    try:
        if tool.timeout is None and tool.is_async:
            # The usual case, without a coroutine around a coroutine for each thing that others need.
            bound = tool.bind(arguments)
            name = tool.context_parameter
            if name is not None:
                bound[name] = context if context is not None else RunContext()
            return returned(tool, await tool.function(**bound))
        outcome: Outcome = await call(tool, arguments, context, lambda value: returned(tool, value))
    except asyncio.CancelledError:
        if context is not None:
            cancel_flag(context).set()
        raise
    except BaseException as error:  # noqa: BLE001 - whatever a tool raises, the model may go on
        return raised(tool, error)
    return outcome


def _late(tool: Tool[..., Any, Any]) -> ToolTimeout:
    return ToolTimeout(f"{tool.name!r} gave no result within {tool.timeout:g} s", hint="ask for less at once")


def timed_out(tool: Tool[..., Any, Any]) -> Outcome:
    """The outcome of a call whose time is up."""
    return raised(tool, _late(tool))


def run_here(tool: Tool[..., Any, Any], arguments: object, context: RunContext[Any] | None) -> Outcome | Awaitable[Any]:
    """Run a plain function's tool in the calling thread, without an event loop; nobody here minds its timeout.

    If the function hands out an awaitable, so does this: `run_later` goes on from there, in an event loop.
    """
    try:
        bound = tool.bind(arguments)
        if tool.context_parameter is not None:
            bound[tool.context_parameter] = context if context is not None else RunContext()
        value = tool.function(**bound)
    except BaseException as error:  # noqa: BLE001 - a tool may not end the thread it runs in
        return raised(tool, error)
    if hasattr(value, "__await__"):
        awaitable: Awaitable[Any] = value
        return awaitable
    return returned(tool, value)


async def run_later(tool: Tool[..., Any, Any], awaitable: Awaitable[Any]) -> Outcome:
    """What a plain function's tool gives that handed out an awaitable."""
    try:
        value = await awaitable
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever a tool raises, the model may go on
        return raised(tool, error)
    return returned(tool, value)


def outcome_of(tool: Tool[..., Any, Any], value: object) -> Outcome:
    """What a call gives whose work was done elsewhere; an exception is a failure."""
    return raised(tool, value) if isinstance(value, BaseException) else returned(tool, value)


def misfit(tool: Tool[..., Any, Any], arguments: Any) -> Outcome | None:
    """The failure of a call whose arguments do not fit its tool."""
    try:
        tool.bind(arguments)
    except Exception as error:  # noqa: BLE001 - whatever checks arguments, the model may go on
        return raised(tool, error)
    return None


def raised(tool: Tool[..., Any, Any], error: BaseException) -> Outcome:
    """The outcome of a call that raised. The log has the traceback: the model reads only the error's words.

    Errors of the package say what was meant for the model, wrong arguments for one; any other is a fault of the tool.
    """
    meant = isinstance(error, LoopwrightError)
    cause = error.__cause__ if isinstance(error, _Exit) and error.__cause__ is not None else error
    message = "the tool %s failed" if meant else "the tool %s raised an exception"
    _LOG.log(logging.INFO if meant else logging.WARNING, message, tool.name, exc_info=for_logs(cause))
    _clear_frames(cause)
    if isinstance(error, LoopwrightError):
        return _failed(tool, error.code, error.message, error.hint, error)
    if isinstance(cause, _ENDING):
        return _failed(tool, "exception", f"the tool raised {_said(cause)}", None, cause)
    return _failed(tool, "exception", _said(error), None, error)


def cancelled(tool: Tool[..., Any, Any], error: asyncio.CancelledError) -> Outcome:
    """The outcome of a call that let a cancellation escape which was not the run's; the model may go on without it."""
    _LOG.warning("the tool %s raised an exception", tool.name, exc_info=for_logs(error))
    _clear_frames(error)
    return Outcome([], failure=CANCELLED, error=error)


def _clear_frames(error: BaseException) -> None:
    """Lets go of what the frames of a traceback hold: an exception that is kept keeps no data of a tool in memory."""
    left: list[BaseException | None] = [error]
    seen: set[int] = set()
    while left:
        each = left.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        for frame, _ in traceback.walk_tb(each.__traceback__):
            # A generator may be suspended, and would be closed.
            if not frame.f_code.co_flags & _GENERATOR:
                with contextlib.suppress(RuntimeError):
                    frame.clear()
        left += (each.__cause__, each.__context__, *_grouped(each))


def returned(tool: Tool[..., Any, Any], value: object) -> Outcome:
    """The outcome of a call that gave something."""
    try:
        content, truncated = to_content(value, max_output=tool.max_output or DEFAULT_MAX_OUTPUT)
    except NotSerialisable as error:
        if tool.answers is not None:
            # An answer is for the program: no model has to read it.
            return Outcome([{"type": "text", "text": TAKEN}], value=value)
        message = "the result of the tool %s is of no form that a model can read"
        _LOG.warning(message, tool.name, exc_info=for_logs(error))
        return _failed(tool, "not_serialisable", error.message, error.hint, error, value=value)
    except BaseException as error:  # noqa: BLE001 - what is written is the tool's own, and may raise whatever it likes
        return raised(tool, error)
    return Outcome(content, value=value, truncated=truncated)


def _said(error: BaseException) -> str:
    """The kind of an error and its text, which may be anything, even another error; a group says what is in it."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a tool's class, a tool's mistake
        text = ""
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return "; ".join([said, *(_said(each) for each in _grouped(error))])


def _grouped(error: BaseException) -> list[BaseException]:
    """The first errors in a group of them, however deep; none where it is no group."""
    found: list[BaseException] = []
    left = [error]
    while left and len(found) < _MOST_GROUPED:
        each = left.pop()
        inner = getattr(each, "exceptions", None) if type(each).__name__.endswith("ExceptionGroup") else None
        if isinstance(inner, tuple):
            left.extend(part for part in reversed(inner) if isinstance(part, BaseException))
        elif each is not error:
            found.append(each)
    return found


def _failed(
    tool: Tool[..., Any, Any],
    kind: str,
    message: str,
    hint: str | None,
    error: BaseException,
    *,
    value: object = None,
) -> Outcome:
    import json

    from loopwright._core import without_own_keys

    from ._result import clean_text

    # Before it is cut: of a key that was cut nobody knows what it is.
    message, hint = without_own_keys(message), hint and without_own_keys(hint)
    error = without_keys(error)
    short, truncated = limit_text(clean_text(message), min(tool.max_output or _LONGEST_FAILURE, _LONGEST_FAILURE))
    failure = {"kind": kind, "message": short}
    if hint:
        failure["hint"] = limit_text(clean_text(hint), _LONGEST_HINT)[0]
    text = json.dumps({"error": failure}, ensure_ascii=False, separators=(",", ":"))
    return Outcome([{"type": "text", "text": text}], value=value, failure=failure, error=error, truncated=truncated)
