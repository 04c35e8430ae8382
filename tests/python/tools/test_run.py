"""One call: threads, timeouts, cancellation, contexts, and tools that misbehave."""

import asyncio
import contextvars
import json
import sys
import threading
import time
from typing import Any

import pytest
from loopwright.tools import CancelFlag, Context, Outcome, Tool, ToolError, ToolTimeout, tool


def run(made: Tool[..., Any], arguments: Any = None, context: Any = None) -> Outcome:
    return asyncio.run(made.run(arguments or {}, context))


def shown(outcome: Outcome) -> dict[str, str]:
    """The error as the model reads it."""
    assert outcome.is_error
    assert outcome.text == json.dumps({"error": outcome.failure}, ensure_ascii=False, separators=(",", ":"))
    error: dict[str, str] = json.loads(outcome.text)["error"]
    return error


def test_result_and_structured_error() -> None:
    @tool
    def divide(a: int, b: int) -> float:
        """Divide."""
        return a / b

    done = run(divide, {"a": 1, "b": 2})
    assert (done.is_error, done.text, done.value, done.failure) == (False, "0.5", 0.5, None)
    failed = run(divide, {"a": 1, "b": 0})
    assert shown(failed) == {"kind": "exception", "message": "ZeroDivisionError: division by zero"}
    assert isinstance(failed.error, ZeroDivisionError)
    assert failed.error.__traceback__ is not None
    assert shown(run(divide, {"a": 1}))["kind"] == "invalid_arguments"
    assert "b: is required" in shown(run(divide, {"a": 1}))["message"]


def test_a_tool_says_itself_why() -> None:
    @tool
    def city() -> None:
        raise ToolError("no such city", code="unknown_city", hint="use the English name")

    assert shown(run(city)) == {"kind": "unknown_city", "message": "no such city", "hint": "use the English name"}


def test_sync_tools_run_beside_the_loop_and_each_other() -> None:
    barrier = threading.Barrier(20, timeout=5)

    @tool
    def meet() -> str:
        barrier.wait()
        return threading.current_thread().name

    async def main() -> list[Outcome]:
        return await asyncio.gather(*(meet.run({}) for _ in range(20)))

    assert {each.text for each in asyncio.run(main())} == {"tool meet"}


def test_async_tools_run_in_the_callers_task() -> None:
    task: Any = None

    @tool
    async def here() -> bool:
        return asyncio.current_task() is task

    async def main() -> Outcome:
        nonlocal task
        task = asyncio.current_task()
        return await here.run({})

    assert asyncio.run(main()).value is True


def test_context_variables_reach_the_thread() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")

    @tool
    def read() -> str:
        return variable.get()

    async def main() -> str:
        variable.set("set")
        return (await read.run({})).text

    assert asyncio.run(main()) == "set"


def test_timeout_of_an_async_tool() -> None:
    ended = []

    @tool(timeout=0.05)
    async def slow() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    assert shown(run(slow))["kind"] == "timeout"
    assert ended == [True]
    with pytest.raises(ToolTimeout):
        asyncio.run(slow.call({}))


def test_timeout_of_a_thread_raises_the_flag_and_does_not_wait() -> None:
    stopped = threading.Event()

    @tool(timeout=0.05)
    def slow(context: Context[None]) -> None:
        while not context.cancelled:
            time.sleep(0.01)
        stopped.set()

    began = time.monotonic()
    assert shown(run(slow))["kind"] == "timeout"
    assert time.monotonic() - began < 2
    assert stopped.wait(5)


def test_a_tool_that_swallows_its_cancellation_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    from loopwright.tools import _run

    monkeypatch.setattr(_run, "_GRACE", 0.05)

    async def main() -> None:
        release = asyncio.Event()

        @tool(timeout=0.05)
        async def stubborn() -> None:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue
            raise ValueError("nobody hears it")

        began = time.monotonic()
        assert shown(await stubborn.run({}))["kind"] == "timeout"
        assert time.monotonic() - began < 2
        release.set()
        await asyncio.sleep(0.01)

    asyncio.run(main())


def test_a_tools_own_timeout_is_not_ours() -> None:
    @tool(timeout=5)
    async def asks() -> None:
        raise asyncio.TimeoutError("the database")

    assert "database" in shown(run(asks))["message"]
    assert shown(run(asks))["kind"] == "exception"


@pytest.mark.parametrize("in_thread", [True, False])
def test_cancellation_is_raised_and_flagged(in_thread: bool) -> None:
    flag = CancelFlag()

    async def main() -> None:
        started = asyncio.Event()
        loop = asyncio.get_running_loop()

        @tool
        def slow_thread(context: Context[None]) -> None:
            loop.call_soon_threadsafe(started.set)
            while not context.cancelled:
                time.sleep(0.005)

        @tool
        async def slow() -> None:
            started.set()
            await asyncio.sleep(60)

        task = asyncio.ensure_future((slow_thread if in_thread else slow).run({}, Context(cancel=flag)))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert flag.is_set


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, StopIteration, StopAsyncIteration, GeneratorExit])
def test_what_would_end_the_loop_becomes_a_failure(kind: type[BaseException], is_async: bool) -> None:
    @tool(timeout=5)
    def leave() -> None:
        raise kind("bye")

    @tool(timeout=5)
    async def leave_later() -> None:
        if kind is StopIteration or kind is StopAsyncIteration:
            next(iter([]))
        raise kind("bye")

    failure = shown(run(leave_later if is_async else leave))
    assert failure["kind"] == "exception"


def test_context_is_injected_wherever_it_stands() -> None:
    @tool
    def first(context: Context[str], a: int) -> str:
        return f"{context.deps}{a}"

    @tool
    async def last(a: int, *, context: Context[str]) -> str:
        return f"{context.deps}{a}{context.call_id}"

    context = Context("deps", call_id="c1")
    assert run(first, {"a": 1}, context).text == "deps1"
    assert run(last, {"a": 1}, context).text == "deps1c1"
    # A model can't hand in its own.
    assert shown(run(first, {"a": 1, "context": {}}, context))["kind"] == "invalid_arguments"


def test_emit_from_a_thread_arrives_on_the_loop_before_the_result() -> None:
    heard: list[tuple[str, str]] = []

    @tool
    def work(context: Context[None]) -> str:
        for step in ("one", "two"):
            context.emit(step)
        return "done"

    async def main() -> None:
        context: Context[None] = Context(emit=lambda text: heard.append((text, threading.current_thread().name)))
        await work.run({}, context)
        assert [text for text, _ in heard] == ["one", "two"]

    asyncio.run(main())
    assert {name for _, name in heard} == {threading.main_thread().name}


def test_thread_that_outlives_the_loop_is_harmless() -> None:
    release = threading.Event()
    threads: list[threading.Thread] = []

    @tool(timeout=0.02)
    def slow(context: Context[None]) -> None:
        threads.append(threading.current_thread())
        release.wait(5)
        context.emit("too late")

    async def main() -> None:
        await slow.run({}, Context(emit=lambda _: None))

    asyncio.run(main())
    release.set()
    threads[0].join(5)
    assert not threads[0].is_alive()


def test_result_that_can_not_be_shown() -> None:
    @tool
    def odd() -> Any:
        return {"items": [1, object()]}

    failure = shown(run(odd))
    assert failure["kind"] == "not_serialisable"
    assert "result['items'][1] is an object" in failure["message"]


def test_output_limit_of_a_tool() -> None:
    @tool(max_output=100)
    def long() -> str:
        return "a" * 5_000 + "END"

    outcome = run(long)
    assert outcome.truncated
    assert outcome.text.endswith("END")
    assert len(outcome.text) < 160
    assert outcome.value == "a" * 5_000 + "END"


@pytest.mark.parametrize("text", ["\ud800", "x" * 1_000_000, "a\0b", ""])
def test_hostile_exceptions_stay_short_and_encodable(text: str) -> None:
    @tool
    def fails() -> None:
        raise ValueError(text)

    outcome = run(fails)
    outcome.text.encode()
    assert len(outcome.text) < 5_000


def test_exception_whose_text_raises() -> None:
    class Awful(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    @tool
    def fails() -> None:
        raise Awful

    assert shown(run(fails)) == {"kind": "exception", "message": "Awful"}


if sys.version_info >= (3, 11):

    def test_tools_in_a_task_group_fail_alone() -> None:
        @tool
        async def fails(n: int) -> int:
            return 1 // n

        async def main() -> list[bool]:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(fails.run({"n": n})) for n in (0, 1)]
            return [task.result().is_error for task in tasks]

        assert asyncio.run(main()) == [True, False]


def test_a_group_of_exceptions_says_what_is_in_it() -> None:
    group = type("MyExceptionGroup", (Exception,), {})
    inner = group("inner")
    inner.exceptions = (KeyError("deep"), group("empty"))
    outer = group("some failed")
    outer.exceptions = (ValueError("first"), inner)

    @tool
    async def fails() -> str:
        """Fail."""
        raise outer

    said = shown(run(fails))["message"]
    assert said.startswith("MyExceptionGroup: some failed; ValueError: first; KeyError: 'deep'")


@pytest.mark.parametrize("in_thread", [True, False])
def test_whatever_a_tool_raises_is_a_failure_of_the_tool(in_thread: bool) -> None:
    class Odd(BaseException):
        pass

    def plain() -> str:
        """Fail."""
        raise Odd("mine")

    async def other() -> str:
        """Fail."""
        raise Odd("mine")

    assert shown(run(tool(plain if in_thread else other))) == {"kind": "exception", "message": "Odd: mine"}


def test_a_huge_result_of_a_plain_function_does_not_hold_up_the_loop() -> None:
    threads: list[int] = []

    class Watched(dict[str, int]):
        def items(self) -> Any:
            threads.append(threading.get_ident())
            return super().items()

    @tool
    def many() -> dict[str, int]:
        """Many."""
        return Watched(a=1)

    assert run(many).text == '{"a":1}'
    assert threads
    assert threading.get_ident() not in threads
