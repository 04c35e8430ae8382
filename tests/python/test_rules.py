"""The rules of a turn as a program meets them: how a run ends, what is asked, and what the result holds."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import Any

import pytest
from loopwright import Agent, Approval, Budget, RunContext, tool
from loopwright.events import ApprovalRequested, Assessed, Compacted, Retry, RunFinished, TextDelta
from loopwright.models import Call, Response
from loopwright.run import Signal
from loopwright.testing import ScriptedModel, call, calls, fault, response, text
from ways import agent_at, forbids_tools, model_of, run, streams, tools_of


@tool(read_only=True)
def look(page: int) -> str:
    """Look at a page."""
    return f"page {page}"


@tool(risk="confirm")
def remove(path: str) -> str:
    """Remove a file."""
    return f"{path} is gone"


@tool
def flaky(n: int) -> str:
    """Fails in a way of its own each time."""
    raise RuntimeError(f"fault number {n} {'x' * n}")


@tool
def down(n: int) -> str:
    """Fails always in the same way."""
    raise RuntimeError("disk full")


TOOLS = [look, remove, flaky, down]


def test_a04_the_providers_word_ends_it(serve: Any, wire: str, way: str) -> None:
    server = serve(text("4"))
    result, _ = run(agent_at(server, wire, tools=[look]), "2 + 2?", way)
    assert (result.final, result.stop_reason, result.best_draft) == ("4", "natural", None)
    assert not result.hit_ceiling
    assert not result.partial


def test_a05_without_a_call_it_is_done(serve: Any, way: str) -> None:
    server = serve(response(Response("4", stop="stop_sequence")))
    result, _ = run(agent_at(server, "anthropic", tools=[look]), "2 + 2?", way)
    assert (result.final, result.stop_reason, result.rounds) == ("4", "no_tool_use", 1)


def test_a06_the_limit_gives_what_there_is_and_warns(serve: Any, wire: str, way: str) -> None:
    script = [calls(Call("look", {"page": n}), text=f"Part {n}.") for n in range(3)]
    result, _ = run(agent_at(serve(*script), wire, tools=[look], budget=Budget(rounds=3)), "go", way)
    assert (result.stop_reason, result.final, result.best_draft) == ("rounds", None, "Part 2.")
    assert [f"Part {n}." in result.transcript for n in range(3)] == [True] * 3
    assert any(warning.startswith("rounds") for warning in result.warnings), result.warnings


@pytest.mark.parametrize(("complexity", "most"), [("simple", 3), ("moderate", 5), ("complex", 10), ("breaking", 15)])
def test_a14_the_limit_follows_the_complexity(complexity: Any, most: int) -> None:
    model = ScriptedModel([call("look", page=n) for n in range(20)])
    budget = Budget.for_complexity(complexity, tool_rounds=50)
    result = Agent(model, tools=[look], budget=budget).run_sync("go")
    assert (result.stop_reason, result.rounds, len(model.requests)) == ("rounds", most, most)


def test_c12_c13_only_what_is_at_or_above_confirm_asks(way: str) -> None:
    ran: list[str] = []

    def of(risk: Any) -> Any:
        @tool(name=risk, risk=risk)
        def act() -> str:
            """Act."""
            ran.append(risk)
            return "done"

        return act

    risks = ["dangerous", "confirm", "cautious", "safe"]
    asked: list[tuple[str, str]] = []

    def approve(question: Approval) -> bool:
        asked.append((question.name, question.risk))
        return question.name == "confirm"

    model = ScriptedModel([calls(*[Call(risk) for risk in risks]), "done"])
    result, _ = run(Agent(model, tools=[of(risk) for risk in risks], guard=approve), "go", way)
    assert asked == [("dangerous", "dangerous"), ("confirm", "confirm")]
    assert ran == ["confirm", "cautious", "safe"]
    assert [each.failure for each in result.tool_calls] == ["denied", None, None, None]


ENDS: dict[str, tuple[list[Any], str]] = {
    "complete": (["done"], "natural"),
    "continue": ([call("look", page=1), "done"], "natural"),
    "pause for input": ([call("look", page=1), "There are two. Could you clarify which one?"], "needs_user_input"),
    "pause for confirm": ([call("remove", path="a"), "done"], "destructive_operation"),
    "pause check": ([call("flaky", n=n) if n % 2 else call("down", n=n) for n in range(12)], "low_momentum"),
    "limit of iterations": ([call("look", page=n) for n in range(20)], "rounds"),
    "limit of tool rounds": ([call("look", page=n) for n in range(20)], "tool_rounds"),
    "stuck on a call": ([call("look", page=1)] * 9, "no_progress"),
    "stuck on an error": ([call("down", n=n) for n in range(9)], "repeated_failures"),
}


@pytest.mark.parametrize("name", list(ENDS))
def test_c21_c24_each_decision_has_its_reason(name: str, way: str) -> None:
    script, reason = ENDS[name]
    budget = {"limit of iterations": Budget(rounds=4), "limit of tool rounds": Budget(tool_rounds=2)}.get(name)
    agent = Agent(ScriptedModel(script), tools=TOOLS, guard=lambda _: "abort", budget=budget)
    result, _ = run(agent, "go", way)
    assert result.stop_reason == reason


def test_c23_completion_and_questions_are_told_apart() -> None:
    said = {
        "It is 4. Is there anything else?": "natural",
        "Which file? Please provide the path.": "needs_user_input",
        "Done.": "natural",
    }
    for words, reason in said.items():
        result = Agent(ScriptedModel([words]), tools=TOOLS).run_sync("go")
        assert (result.final, result.stop_reason) == (words, reason)


def test_c22_x13_words_beside_a_call_decide_nothing(serve: Any, wire: str, way: str) -> None:
    for words, stop in (("All done. The task is complete.", "end_turn"), ("Could you clarify which one?", None)):
        server = serve(response(Response(words, [Call("look", {"page": 7}, "c1")], stop=stop)), text("Seen."))
        result, _ = run(agent_at(server, wire, tools=[look]), "go", way)
        assert (result.final, result.stop_reason) == ("Seen.", "natural")
        assert [each.name for each in result.tool_calls] == ["look"]
        assert "page 7" in json.dumps(server.requests[1]["body"])


def test_c22_x13_nobody_is_asked_about_a_call_that_will_not_run() -> None:
    asked: list[str] = []

    def approve(question: Approval) -> bool:
        asked.append(question.call_id)
        return True

    model = ScriptedModel([call("remove", path="a")])
    result = Agent(model, tools=TOOLS, guard=approve, budget=Budget(rounds=1)).run_sync("go")
    assert (result.stop_reason, asked) == ("rounds", [])


def test_x03_one_nudge_and_no_more(serve: Any, wire: str, way: str) -> None:
    server = serve("I'll look at page 1.", call("look", page=1), text("Let me check page 2."), repeat_last=True)
    result, _ = run(agent_at(server, wire, tools=[look]), "go", way)
    assert (result.final, result.stop_reason) == ("Let me check page 2.", "natural")
    assert (len(server.requests), len(result.tool_calls)) == (3, 1)
    assert "Proceed with: look at page 1" in json.dumps(server.requests[1]["body"])
    plain = serve("I'll look at page 1.", repeat_last=True)
    assert run(agent_at(plain, wire), "go", way)[0].rounds == 1


def test_c27_x19_reads_at_once_writes_alone_results_as_called(serve: Any, wire: str, way: str) -> None:
    running: set[str] = set()
    beside: dict[str, set[str]] = {}
    lock = threading.Lock()
    pair = threading.Barrier(2)

    def act(name: str) -> str:
        with lock:
            running.add(name)
            for each in running:
                beside.setdefault(each, set()).update(running - {each})
        if name[0] == "r":
            # However busy the machine: it waits for the other one.
            pair.wait(30)
        time.sleep(0.12 if name == "r1" else 0.04)
        with lock:
            running.discard(name)
        return f"{name} done"

    @tool(read_only=True)
    def read(name: str) -> str:
        """Read."""
        return act(name)

    @tool(risk="safe")
    def write(name: str) -> str:
        """Write."""
        return act(name)

    names = ["r1", "r2", "w1", "w2", "r3", "r4"]
    wanted = [Call("read" if name[0] == "r" else "write", {"name": name}, name) for name in names]
    server = serve(calls(*wanted), text("done"))
    result, _ = run(agent_at(server, wire, tools=[read, write]), "go", way)
    assert beside == {"r1": {"r2"}, "r2": {"r1"}, "w1": set(), "w2": set(), "r3": {"r4"}, "r4": {"r3"}}
    sent = json.dumps(server.requests[1]["body"])
    places = [sent.index(f"{name} done") for name in names]
    assert places == sorted(places)
    assert result.final == "done"


def test_d02_each_option_arrives(serve: Any, wire: str) -> None:
    seen: list[Any] = []

    @tool
    def who(context: RunContext[dict[str, str]]) -> str:
        """Who asks."""
        seen.append((context.deps["user"], context.run_id))
        return "known"

    server = serve("Noted.", call("who"), text("Hello, Ada."))
    agent = agent_at(
        server, wire, tools=[who], instructions="Be kind.", settings={"effort": "low", "max_tokens": 500, "stop": ()}
    )
    first = agent.run_sync("I am Ada.")
    events: list[Any] = []
    blocks = ["Who am I?", {"type": "text", "text": "Say it."}]
    options = {"messages": first.messages, "deps": {"user": "ada"}, "budget": Budget(rounds=4)}
    result = agent.run_sync(blocks, on_event=events.append, signal=Signal(), journal=True, **options)
    assert result.final == "Hello, Ada."
    assert seen == [("ada", result.run_id)]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Hello, Ada."
    assert isinstance(events[-1], RunFinished)
    assert result.journal is not None
    body = server.requests[1]["body"]
    shown = json.dumps(body)
    assert (model_of(server.requests[1]), streams(server.requests[1])) == ("test", True)
    for words in ("Be kind.", "I am Ada.", "Noted.", "Who am I?", "Say it.", "low"):
        assert words in shown, words
    assert [message.role for message in result.messages] == ["user", "assistant"] * 3


def test_d18_with_a_round_left_the_model_is_told(serve: Any, wire: str, way: str) -> None:
    server = serve(*[call("look", page=n) for n in range(3)], text("So far: three pages."))
    result, _ = run(agent_at(server, wire, tools=[look], budget=Budget(tool_rounds=3)), "Read it.", way)
    assert (result.final, result.stop_reason, result.tool_rounds) == ("So far: three pages.", "natural", 3)
    bodies = [request["body"] for request in server.requests]
    told = [
        [words in json.dumps(body) for body in bodies]
        for words in ("One tool round is left", "No tool rounds are left")
    ]
    assert told[0][:3] == [False, False, True]
    assert told[1] == [False, False, False, True]
    # Bedrock has no word that forbids calls, and wants the tools of those that stand in a history.
    assert [forbids_tools(body) for body in bodies] == [False, False, False, wire != "bedrock"]
    assert all(tools_of(body) == tools_of(bodies[0]) for body in bodies)


def test_d45_cancelled_it_keeps_what_was_said(serve: Any, wire: str) -> None:
    words = "one two three four five six seven eight nine ten " * 8
    server = serve(calls(Call("look", {"page": 1}), text="First a look."), text(words).slowly(0.05))
    signal = Signal()

    def watch(event: Any) -> None:
        if isinstance(event, TextDelta) and "two" in event.text:
            signal.cancel()

    began = time.monotonic()
    result = agent_at(server, wire, tools=[look]).run_sync("go", on_event=watch, signal=signal)
    assert time.monotonic() - began < 1.5
    assert (result.stop_reason, result.final) == ("cancelled", None)
    assert result.best_draft is not None
    assert words.startswith(result.best_draft.strip())
    assert "First a look." in result.transcript
    assert [each.failure for each in result.tool_calls] == [None]
    server.push("Well then.")
    again = agent_at(server, wire, tools=[look]).run_sync("Go on.", messages=result.messages)
    assert again.final == "Well then."


def test_d49_the_result_holds_what_the_run_took(serve: Any, wire: str, way: str) -> None:
    script = [Response("", [Call("look", {"page": n})], input_tokens=100, output_tokens=10) for n in range(2)]
    server = serve(
        *[response(each) for each in script], fault.status(529), response(Response("done", input_tokens=300))
    )
    agent = agent_at(server, wire, tools=[look], price={"input": 2.0, "output": 20.0}, retry={"base": 0.01})
    result, events = run(agent, "go", way)
    assert (result.final, result.rounds, result.tool_rounds, result.hit_ceiling) == ("done", 3, 2, False)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (500, 20)
    assert result.cost == pytest.approx(500 * 2e-6 + 20 * 20e-6)
    assert [(each.name, each.arguments, each.round) for each in result.tool_calls] == [
        ("look", {"page": 0}, 1),
        ("look", {"page": 1}, 2),
    ]
    assert 0 < sum(each["duration"] for each in result.iterations) <= result.duration < 10
    assert [each["attempts"] for each in result.iterations] == [1, 1, 2]
    assert len(result.run_id) >= 8
    if way == "stream":
        assert sum(isinstance(event, Retry) for event in events) == 1
    limited, _ = run(Agent(ScriptedModel(script), tools=[look], budget=Budget(rounds=1)), "go", way)
    assert limited.hit_ceiling


def test_c21_silence_and_interrupts_have_reasons_of_their_own() -> None:
    signal = Signal()

    @tool
    async def work() -> str:
        """Work."""
        signal.interrupt()
        await asyncio.sleep(0)
        return "half"

    result = Agent(ScriptedModel([call("work"), "never"]), tools=[work]).run_sync("go", signal=signal)
    assert (result.stop_reason, result.tool_calls[0].failure) == ("user_interrupt", None)
    agent = Agent(ScriptedModel([call("remove", path="a"), "then not"]), tools=TOOLS)
    _, events = run(agent, "go", "stream")
    assert [event.name for event in events if isinstance(event, ApprovalRequested)] == ["remove"]


@pytest.mark.parametrize("kind", ["async", "plain"])
@pytest.mark.parametrize(("how", "reason"), [("interrupt", "user_interrupt"), ("cancel", "cancelled")])
def test_c21_what_a_tool_asks_for_in_its_last_line_holds(way: str, how: str, reason: str, kind: str) -> None:
    signal = Signal()

    @tool(name="last")
    async def last() -> str:
        """Work."""
        getattr(signal, how)()
        return "all of it"

    @tool(name="last")
    def plain() -> str:
        """Work."""
        getattr(signal, how)()
        return "all of it"

    model = ScriptedModel([call("last"), "never asked for"])
    agent = Agent(model, tools=[last if kind == "async" else plain])
    result, _ = run(agent, "go", way, signal=signal)
    assert (result.stop_reason, len(model.requests)) == (reason, 1)


def test_c33_risk_continuation_stuck_momentum_tiers_and_parallel_calls_stand_in_one_run(serve: Any) -> None:
    pair = threading.Barrier(2)
    asked: list[str] = []

    @tool(read_only=True)
    def peek(name: str) -> str:
        """Look."""
        # Two at once, or neither comes through.
        pair.wait(30)
        return f"{name}: " + "nothing new. " * 400

    @tool(read_only=True)
    def probe(name: str) -> str:
        """Probe."""
        raise ValueError(f"no {name} there")

    server = serve(
        "I'll look at page 1.",
        calls(Call("peek", {"name": "a"}), Call("peek", {"name": "b"})),
        calls(Call("remove", {"path": "a"})),
        calls(Call("probe", {"name": "c"})),
        repeat_last=True,
    )
    agent = agent_at(
        server,
        "anthropic",
        tools=[peek, probe, remove],
        guard=lambda question: asked.append(question.risk) or False,
        budget=Budget(rounds=30, tool_rounds=30),
        context=1_500,
    )
    result, events = run(agent, "go", "stream")
    # Continuation: the stated step was asked for. Risk: one question, answered no. Parallel: both came through.
    assert "Proceed with: look at page 1" in json.dumps(server.requests[1]["body"])
    assert asked == ["confirm"]
    assert [call.name for call in result.tool_calls[:3]] == ["peek", "peek", "remove"]
    assert result.tool_calls[2].failure == "denied"
    # Tiers: what is old went out in a shorter form. Stuck and momentum: the same failure again and again ended it.
    assert any(isinstance(event, Compacted) for event in events)
    assert result.stop_reason in ("repeated_failures", "no_progress", "low_momentum")
    assert result.rounds < 12
    assert any(isinstance(event, Assessed) for event in events)
