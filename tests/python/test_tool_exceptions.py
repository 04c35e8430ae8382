"""N3: what a tool raises is logged and kept with its traceback, and stays out of what the model and the journal get."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import pickle
import traceback
import weakref
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, RunContext, ToolError, UsageError, replay, tool
from loopwright.events import RunFinished, ToolFinished
from loopwright.hooks import Hook
from loopwright.models import Call, Response
from loopwright.result import Result
from loopwright.testing import ScriptedModel, call, calls
from ways import run

SECRET = "sk-live-1234567890abcdef"  # what a local variable holds


@tool
def plain(order: str) -> str:
    """Look an order up."""
    return {}[order]  # the line that the traceback names


@tool
async def later(order: str) -> str:
    """Look an order up."""
    try:
        return plain(order)
    except KeyError as error:
        raise RuntimeError(f"no order {order}") from error


@tool(timeout=30)
def timed(order: str, context: RunContext[Any]) -> str:
    """Look an order up, in a thread that somebody watches."""
    raise ValueError(order)


@tool
def refuses(order: str) -> str:
    """Refuse."""
    raise ToolError("not today", code="closed")


@tool
async def gives_up(order: str) -> str:
    """Take part in a cancellation that nobody asked for."""
    raise asyncio.CancelledError(order)


@tool
def hands_out(order: str) -> Any:
    """The same, as a plain function that hands out a coroutine."""
    return gives_up.function(order)


@tool
def quits(order: str) -> str:
    """Try to end the process."""
    raise SystemExit(order)


@pytest.mark.parametrize(
    ("raises", "kind", "line"),
    [
        (plain, KeyError, "return {}[order]"),
        (later, RuntimeError, "raise RuntimeError("),
        (timed, ValueError, "raise ValueError(order)"),
        (quits, SystemExit, "raise SystemExit(order)"),
        (gives_up, asyncio.CancelledError, "raise asyncio.CancelledError(order)"),
        (hands_out, asyncio.CancelledError, "raise asyncio.CancelledError(order)"),
        (refuses, ToolError, 'raise ToolError("not today"'),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_n3_what_a_tool_raises_is_logged_and_kept(
    raises: Any, kind: type[BaseException], line: str, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "loopwright.tool")
    model = ScriptedModel([call(raises.name, order="A-7"), "It failed."])
    result, _ = run(Agent(model, tools=[raises], journal=True), "Look.", way)
    assert (result.stop_reason, result.tool_calls[0].failure is None) == ("natural", False)
    error = result.tool_calls[0].error
    assert type(error) is kind
    assert line in "".join(traceback.format_exception(type(error), error, error.__traceback__))
    logged = [record for record in caplog.records if record.name == "loopwright.tool"]
    assert [record.exc_info[1] for record in logged if record.exc_info] == [error]
    assert raises.name in logged[0].getMessage()
    assert logged[0].levelno == (logging.INFO if kind is ToolError else logging.WARNING)
    # Words for the model and for journals.
    told = result.messages.to_json() + (result.journal or "")
    assert "Traceback" not in told
    assert replay(result.journal or "").identical


def test_n3_events_have_what_was_raised_too(way: str) -> None:
    events: list[Any] = []
    options = {} if way == "stream" else {"on_event": events.append}
    result, seen = run(Agent(ScriptedModel([call("plain", order="x"), "Done."]), tools=[plain]), "Go.", way, **options)
    finished = [event for event in (events or seen) if isinstance(event, ToolFinished)]
    assert [event.error for event in finished] == [result.tool_calls[0].error]
    assert isinstance(finished[0].error, KeyError)
    assert "exception" not in finished[0].to_dict()


def test_n3_each_call_has_its_own(way: str) -> None:
    # The same id in two rounds, calls at once, one that works, one with wrong arguments, and one of no tool.
    @tool
    def check(order: str) -> str:
        """Check."""
        if order == "fine":
            return "ok"
        raise ValueError(order)

    model = ScriptedModel(
        [
            calls(
                Call("check", {"order": "a"}, "1"),
                Call("check", {"order": "fine"}, "2"),
                Call("check", {"order": "b"}, "3"),
            ),
            calls(Call("check", {"order": "c"}, "1")),
            calls(Call("check", {"nonsense": 1}, "4"), Call("nothing", {}, "5")),
            "Done.",
        ]
    )
    result, _ = run(Agent(model, tools=[check]), "Check all.", way)
    kept = [made.error for made in result.tool_calls]
    assert [str(error) if error else None for error in kept[:4]] == ["a", None, "b", "c"]
    assert getattr(kept[4], "code", None) == "invalid_arguments"
    assert kept[5] is None


def test_n3_of_sub_agents_too(way: str) -> None:
    helper = Agent(ScriptedModel([call("plain", order="x"), "I failed."]), tools=[plain], name="helper")
    model = ScriptedModel([call("spawn", agent="helper", task="Look."), "Done."])
    result, _ = run(Agent(model, agents=[helper]), "Go.", way)
    assert isinstance(result.children[0].result.tool_calls[0].error, KeyError)
    assert result.tool_calls[0].error is None


def test_n3_an_exception_that_is_kept_keeps_no_data_in_memory(way: str) -> None:
    class Table:
        """A large one."""

    tables: list[weakref.ref[Table]] = []

    @tool
    def load() -> str:
        """Load a table."""
        table = Table()
        tables.append(weakref.ref(table))
        try:
            raise OSError("first")
        except OSError as error:
            raise ValueError("second") from error

    result, _ = run(Agent(ScriptedModel([call("load"), "Done."]), tools=[load]), "Go.", way)
    assert str(result.tool_calls[0].error) == "second"
    assert [ref() for ref in tables] == [None]


def test_n3_results_are_copied_and_written_without_it(way: str) -> None:
    class Odd(Exception):
        def __init__(self) -> None:
            super().__init__("odd")
            self.lock = iter(lambda: SECRET, None)  # what can be neither copied nor written

    @tool
    def odd() -> str:
        """Raise."""
        raise Odd

    result, _ = run(Agent(ScriptedModel([call("odd"), "Done."]), tools=[odd]), "Go.", way)
    assert isinstance(result.tool_calls[0].error, Odd)
    assert "Odd" not in repr(result.tool_calls[0]).replace("odd", "")
    again = Result.from_dict(json.loads(json.dumps(result.to_dict())))
    for other in (again, copy.deepcopy(result), pickle.loads(pickle.dumps(result))):  # noqa: S301
        assert other.tool_calls == result.tool_calls
        assert other.tool_calls[0].error is None
    finished = RunFinished(result)
    assert pickle.loads(pickle.dumps(finished)).result.tool_calls == result.tool_calls  # noqa: S301


def test_n3_an_exception_that_is_kept_holds_no_journal(way: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    result, _ = run(Agent(ScriptedModel([call("timed", order="x"), "Done."]), tools=[timed]), "Go.", way, journal=path)
    assert result.tool_calls[0].error is not None
    with pytest.raises(UsageError) as caught:
        Agent(ScriptedModel([]), tools=[timed]).resume_sync(path)
    assert caught.value.code == "run_finished"


def test_n3_what_an_approver_or_a_hook_raises_is_logged_too(way: str, caplog: pytest.LogCaptureFixture) -> None:
    @tool(risk="confirm")
    def pay() -> str:
        """Pay."""
        return "paid"

    def approve(question: Any) -> bool:
        raise LookupError("no such person")

    def look(context: Any) -> None:
        raise ArithmeticError("no such number")

    model = ScriptedModel([call("pay"), "Not allowed."])
    result, _ = run(Agent(model, tools=[pay], guard=approve, hooks=[Hook("pre_tool", look)]), "Pay.", way)
    assert result.stop_reason == "natural"
    logged = {record.name: record.exc_info[1] for record in caplog.records if record.exc_info}
    assert {name: type(error) for name, error in logged.items()} == {
        "loopwright.approval": LookupError,
        "loopwright.hooks": ArithmeticError,
    }
    for line in ('raise LookupError("no such person")', 'raise ArithmeticError("no such number")'):
        assert line in caplog.text


@tool(read_only=True)
def echo(text: str) -> str:
    """Says it again."""
    return f"{text}!"


def test_n3_a_call_has_what_the_model_read_of_it() -> None:
    twice = [Response(calls=[Call("echo", {"text": each}, "same")]) for each in ("one", "two")]
    first = Agent(ScriptedModel([*twice, "done"]), tools=[echo]).run_sync("Go.")
    assert [made.result for made in first.tool_calls] == ["one!", "two!"]
    # The history holds results of an earlier run under the same id.
    again = Agent(ScriptedModel([Response(calls=[Call("echo", {"text": "three"}, "same")]), "done"]), tools=[echo])
    second = again.run_sync("And again.", messages=first.messages)
    assert [made.result for made in second.tool_calls] == ["three!"]
    assert [made.result for made in Result.from_dict(second.to_dict()).tool_calls] == ["three!"]
    assert [made.result for made in pickle.loads(pickle.dumps(first)).tool_calls] == ["one!", "two!"]  # noqa: S301 - ours


def test_n3_a_failed_call_has_the_words_of_its_failure() -> None:
    result = Agent(ScriptedModel([call("nowhere"), "done"]), tools=[echo]).run_sync("Go.")
    assert "unknown_tool" in (result.tool_calls[0].result or "")
