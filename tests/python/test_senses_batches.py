"""K1: honest batch work goes on, whatever its values look like; loops that differ only in what is made up for each try end."""

from __future__ import annotations

import datetime as dt
import hashlib
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopwright import Agent, Budget, Monitor, Tool, replay, tool
from loopwright.models import Call
from loopwright.monitor import StuckDetector, StuckPolicy, ToolRules
from loopwright.testing import ScriptedModel, call, calls
from ways import run

START = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.timezone.utc)
SPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")

VALUES: dict[str, Any] = {
    "uuid": lambda n: str(uuid.uuid5(SPACE, str(n))),
    "sha1": lambda n: hashlib.sha1(str(n).encode()).hexdigest(),  # noqa: S324 - no secret
    "short sha": lambda n: hashlib.sha256(str(n).encode()).hexdigest()[:8],
    "ObjectId": lambda n: f"507f1f77bcf86cd7994390{n:02x}",
    "ulid": lambda n: f"01ARZ3NDEKTSV4RRFFQ69G5F{n:02d}",
    "time": lambda n: (START + dt.timedelta(seconds=n)).isoformat(),
    "clock": lambda n: f"03:04:{n:02d}",
    "epoch": lambda n: 1_700_000_000 + n,
    "epoch in ms": lambda n: str(1_700_000_000_000 + n),
    "log": lambda n: f"run{n}.log",
    "temporary file": lambda n: f"/tmp/tmpa{n}b7c9d1/out_{n}.txt",
    "e-mail": lambda n: f"sam{n}@example.org",
    "ip": lambda n: f"10.0.0.{n}",
    "colour": lambda n: f"#00ff{n:02x}",
    "address": lambda n: f"0x7f00aa1{n}",
    "attempt": lambda n: f"attempt-{n}.txt",
    "counted": lambda n: f"try #{n}",
    "stripe": lambda n: f"req_0{n}ABC9xyz2",
    "duration": lambda n: f"{n}.5s",
    "command": lambda n: f"curl -H 'X-Request-Id: {uuid.uuid5(SPACE, str(n))}' http://localhost/approve",
    "list": lambda n: [str(uuid.uuid5(SPACE, str(n)))],
    "object": lambda n: {"order": {"id": str(uuid.uuid5(SPACE, str(n)))}, "attempt": 1},
    "items": lambda n: [{"request_id": f"R-{n}", "decision": "yes"}],
}
PLACES = ["order", "uuid", "id", "at", "timestamp", "path", "command", "request_id", "seq"]


@tool
def approve(
    order: Any = None,
    uuid: Any = None,
    id: Any = None,
    at: Any = None,
    timestamp: Any = None,
    path: Any = None,
    command: Any = None,
    request_id: Any = None,
    seq: Any = None,
) -> str:
    """Approve one."""
    return "ok"


@pytest.mark.parametrize("place", [place for place in PLACES if place != "command"])
@pytest.mark.parametrize("kind", list(VALUES))
def test_k1_eight_approvals_go_on(kind: str, place: str) -> None:
    script = [call("approve", **{place: VALUES[kind](n)}) for n in range(8)]
    result = Agent(ScriptedModel([*script, "All are approved."]), tools=[approve]).run_sync("Approve all of them.")
    assert (result.stop_reason, result.final, len(result.tool_calls)) == ("natural", "All are approved.", 8)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", list(VALUES))
def test_k1_the_sense_alone_hears_news(kind: str, place: str) -> None:
    detector = StuckDetector()
    assert not any(detector.record(("approve", {place: VALUES[kind](n)}), "ok") for n in range(10))


def test_k1_in_each_way_to_run(way: str) -> None:
    script = [call("approve", order=VALUES["uuid"](n)) for n in range(8)]
    result, _ = run(Agent(ScriptedModel([*script, "Done."]), tools=[approve]), "Approve all of them.", way)
    assert (result.stop_reason, len(result.tool_calls)) == ("natural", 8)


@given(st.lists(st.text(min_size=1, max_size=40).map(str.strip), min_size=3, max_size=12, unique=True))
def test_k1_any_values_that_are_new_are_news(values: list[str]) -> None:
    detector = StuckDetector()
    assert not any(detector.record(("approve", {"what": value}), "ok") for value in values)
    detector = StuckDetector()
    assert not any(detector.record_round([(("approve", {"what": [{"id": value}]}), "ok")]) for value in values)


@pytest.mark.parametrize(
    "made_up",
    [
        lambda n: {"attempt": n},
        lambda n: {"retry_count": str(n)},
        lambda n: {"X-Request-Id": VALUES["uuid"](n)},
        lambda n: {"traceId": VALUES["sha1"](n)},
        lambda n: {"idempotency_key": f"key {n}", "attempt_number": n},
        lambda n: {"nonce": n, "thought": f"I try for the {n}th time."},
        lambda n: {"now": VALUES["time"](n)},
    ],
)
def test_k1_what_is_made_up_for_each_try_is_no_news(made_up: Any, way: str) -> None:
    @tool
    def search(q: str, **more: Any) -> str:
        """Search."""
        return "the same hits"

    detector = StuckDetector()
    found = [detector.record(("search", {"q": "orders", **made_up(n)}), "the same hits") for n in range(3)]
    assert [verdict.pattern if verdict else None for verdict in found] == [None, None, "near_duplicate"]


def test_k1_polling_with_a_counter_of_tries_ends(way: str) -> None:
    @tool
    def get_status(attempt: int) -> str:
        """Ask for the status."""
        return "pending"

    script = [call("get_status", attempt=n) for n in range(1, 10)]
    result, _ = run(Agent(ScriptedModel(script), tools=[get_status]), "Wait for it.", way)
    assert (result.stop_reason, result.rounds) == ("no_progress", 4)


IDS = {
    "number": lambda n: f"R-{n}",
    "bare number": lambda n: 4000 + n,
    "name": lambda n: f"order of {chr(97 + n)}",
    "uuid": VALUES["uuid"],
    "ObjectId": VALUES["ObjectId"],
}


@pytest.mark.parametrize("told", ["by a result", "by the user", "by nobody"])
@pytest.mark.parametrize("kind", list(IDS))
def test_k1_requests_and_attempts_that_are_worked_on_are_news(kind: str, told: str, way: str) -> None:
    ids = [IDS[kind](n) for n in range(8)]
    listed = str([{"request_id": value, "attempt": n} for n, value in enumerate(ids)])
    marked = told != "by nobody"

    @tool(read_only=True)
    def pending() -> str:
        """What waits."""
        return listed

    @tool
    def decide(request_id: Any, decision: str) -> str:
        """Decide on one."""
        return "recorded"

    @tool
    def grade(attempt: int, mark: str) -> str:
        """Grade one."""
        return "recorded"

    first = [call("pending")] if told == "by a result" else []
    script = first + [call("decide", request_id=value, decision="approve") for value in ids]
    script += [call("grade", attempt=n if marked else 300 + n, mark="pass") for n in range(8)]
    budget = Budget(tool_rounds=40, rounds=40)
    agent = Agent(ScriptedModel([*script, "Done."]), tools=[pending, decide, grade], budget=budget)
    result, _ = run(agent, f"Decide on {listed}." if told == "by the user" else "Decide on all.", way)
    assert (result.stop_reason, len(result.tool_calls)) == ("natural", 16 + len(first))


def test_k1_a_batch_that_begins_anew_is_a_cycle() -> None:
    detector = StuckDetector()
    found = [detector.record(("approve", {"order": VALUES["uuid"](n % 4)}), "ok") for n in range(12)]
    assert [verdict.pattern for verdict in found if verdict] == ["cycle"]
    assert found[-1] is not None


# ---- the names under which values come, beside other arguments ----

NAMES = [
    "id",
    "request_id",
    "trace_id",
    "correlation_id",
    "nonce",
    "invoice",
    "sha",
    "commit",
    "object_id",
    "time",
    "timestamp",
    "path",
    "name",
]
KINDS = ["uuid", "sha1", "short sha", "ObjectId", "time", "epoch", "log"]


def answering(answer: str, name: str, *, called: str, read_only: bool = False) -> Tool[Any, Any]:
    """A tool that takes a word and one value under `name`; `{}` in its answer stands for the value."""

    def work(what: str, value: Any) -> str:
        return answer.format(value)

    # What a model knows of a parameter is its name.
    named: Any = eval(f"lambda what, {name}: work(what, {name})", {"work": work})  # noqa: S307 - names of ours
    named.__annotations__ = {"what": str, name: Any, "return": str}
    named.__doc__ = "Work on one."
    return tool(named, name=called, read_only=read_only)


@pytest.mark.parametrize("answer", ["ok", "{} is approved"])
@pytest.mark.parametrize("shown", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_k1_eight_approvals_by_any_name_go_on(name: str, kind: str, shown: bool, answer: str) -> None:
    values = [VALUES[kind](n) for n in range(8)]
    script = [calls(Call("approve", {"what": "yes", name: value})) for value in values]
    agent = Agent(ScriptedModel([*script, "Done."]), tools=[answering(answer, name, called="approve")])
    result = agent.run_sync(f"Approve {values}." if shown else "Approve all of them.")
    assert (result.stop_reason, result.final, len(result.tool_calls)) == ("natural", "Done.", 8)
    assert "in a row" not in str([message.to_dict() for message in result.messages]), "nor is the model told of a loop"


def test_k1_a_sanity_check_lets_approvals_go_on(way: str) -> None:
    script = [call("approve", what="yes", request_id=VALUES["uuid"](n)) for n in range(8)]
    tools = [answering("ok", "request_id", called="approve")]
    agent = Agent(ScriptedModel([*script, "Done."]), tools=tools, monitor=Monitor(sanity="rules"))
    result, _ = run(agent, "Approve all of them.", way, journal=True)
    assert (result.stop_reason, len(result.tool_calls)) == ("natural", 8)
    assert replay(result.journal or "").identical
    assert result.sanity
    assert all("loop" not in str(found) for found in result.sanity)


def test_k1_a_detector_is_told_which_tools_act() -> None:
    def found(policy: StuckPolicy) -> list[str | None]:
        detector = StuckDetector(policy)
        made = [("decide", {"what": "yes", "request_id": VALUES["uuid"](n)}) for n in range(8)]
        verdicts = [detector.record(each, "ok") for each in made]
        return [verdict.pattern for verdict in verdicts if verdict]

    assert found(StuckPolicy()) == ["near_duplicate"] * 6
    assert found(StuckPolicy(tools={"decide": ToolRules(acts=True)})) == []


def _fails(request_id: str, what: str) -> str:
    """Fail."""
    raise RuntimeError(f"{request_id} is not there")


# Each with the tools, the calls, and the calls that were made before the run ended.
LOOPS: dict[str, tuple[list[Tool[Any, Any]], Any, str, int]] = {
    "the same call": (
        [answering("ok", "request_id", called="approve")],
        lambda n: Call("approve", {"what": "yes", "request_id": VALUES["uuid"](0)}),
        "no_progress",
        4,
    ),
    "the same call, which says its id": (
        [answering("{} is approved", "nonce", called="approve")],
        lambda n: Call("approve", {"what": "yes", "nonce": VALUES["uuid"](0)}),
        "no_progress",
        4,
    ),
    "two calls in turn": (
        [answering("a", "path", called="open"), answering("b", "path", called="close")],
        lambda n: Call(["open", "close"][n % 2], {"what": "it", "path": "run0.log"}),
        "no_progress",
        7,
    ),
    "two readers in turn, each with a new id": (
        [answering("a", "trace_id", called="get_a"), answering("b", "trace_id", called="get_b")],
        lambda n: Call(["get_a", "get_b"][n % 2], {"what": "it", "trace_id": VALUES["sha1"](n)}),
        "no_progress",
        7,
    ),
    "a poll that fails, each with a new id": (
        [tool(_fails, name="ask")],
        lambda n: Call("ask", {"what": "it", "request_id": VALUES["uuid"](n)}),
        "repeated_failures",
        4,
    ),
    "a poll that counts": (
        [answering("pending", "attempt", called="ask")],
        lambda n: Call("ask", {"what": "it", "attempt": n + 1}),
        "no_progress",
        4,
    ),
}


@pytest.mark.parametrize("loop", list(LOOPS))
def test_k1_true_loops_end(loop: str, way: str) -> None:
    tools, make, reason, rounds = LOOPS[loop]
    script = [calls(make(n)) for n in range(9)]
    result, _ = run(
        Agent(ScriptedModel(script), tools=tools, monitor=Monitor(momentum=None)), "Go on.", way, journal=True
    )
    assert (result.stop_reason, result.rounds) == (reason, rounds)
    assert replay(result.journal or "").identical


@pytest.mark.parametrize("answer", ["the same text", "{}: the same text"])
@pytest.mark.parametrize("reader", [("search", False), ("getText", False), ("work", True)])
@pytest.mark.parametrize("kind", ["uuid", "sha1", "ObjectId", "ulid"])
@pytest.mark.parametrize("name", ["request_id", "trace_id", "correlation_id", "nonce", "idempotency_key"])
def test_k1_a_reader_with_new_ids_and_the_same_text_ends(
    name: str, kind: str, reader: tuple[str, bool], answer: str
) -> None:
    called, read_only = reader
    script = [calls(Call(called, {"what": "it", name: VALUES[kind](n)})) for n in range(9)]
    tools = [answering(answer, name, called=called, read_only=read_only)]
    result = Agent(ScriptedModel(script), tools=tools).run_sync("Read it.")
    assert (result.stop_reason, result.rounds) == ("no_progress", 4)


def test_k1_a_reader_whose_text_is_new_goes_on() -> None:
    ids = [VALUES["uuid"](n) for n in range(8)]

    @tool(read_only=True)
    def look(what: str, request_id: str) -> str:
        """Look at one."""
        return f"Order {ids.index(request_id) * 7} waits."

    script = [call("look", what="state", request_id=value) for value in ids]
    result = Agent(ScriptedModel([*script, "Done."]), tools=[look]).run_sync("Look at all.")
    assert (result.stop_reason, len(result.tool_calls)) == ("natural", 8)


def test_k1_ids_that_the_instructions_name_are_known() -> None:
    ids = [VALUES["uuid"](n) for n in range(8)]
    script = [call("look", what="state", trace_id=value) for value in ids]
    tools = [answering("fine", "trace_id", called="look", read_only=True)]
    agent = Agent(ScriptedModel([*script, "Done."]), tools=tools, instructions=f"The traces are {', '.join(ids)}.")
    result = agent.run_sync("Look at all.")
    assert (result.stop_reason, len(result.tool_calls)) == ("natural", 8)
