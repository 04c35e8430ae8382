"""What a turn is made of: real results on the wire, one profile or the other, text in and out, and the states between."""

from __future__ import annotations

import dataclasses
import json
import threading
from typing import Any

import pytest
from loopwright import Agent, Approval, Budget, replay, tool
from loopwright.events import ApprovalDecided, ApprovalRequested, RoundFinished, RunFinished, ToolFinished, ToolStarted
from loopwright.machine import MachineEvent, TurnMachine
from loopwright.models import Call, Response
from loopwright.testing import ScriptedModel, call, calls, text
from ways import agent_at, forbids_tools, history_of, run


@tool(read_only=True)
def find(query: str) -> list[dict[str, Any]]:
    """Find places.

    Args:
        query: What to look for.
    """
    if not query:
        raise ValueError("nothing to look for")
    return [{"name": f"{query} kirke", "year": 1137, "note": 'says "ø\n…"'}, {"name": query[::-1], "year": None}]


def results_sent(body: dict[str, Any], wire: str) -> dict[str, str]:
    """The tool results of a request's body by the call's id, as each wire has them."""
    if wire == "chat":
        return {each["tool_call_id"]: _flat(each["content"]) for each in body["messages"] if each["role"] == "tool"}
    if wire == "responses":
        outputs = [each for each in body["input"] if each.get("type") == "function_call_output"]
        return {each["call_id"]: _flat(each["output"]) for each in outputs}
    if wire == "gemini":
        given = [part["functionResponse"] for _, part in history_of(body, wire) if "functionResponse" in part]
        return {each["id"]: str(each["response"].get("output", json.dumps(each["response"]))) for each in given}
    if wire == "bedrock":
        given = [part["toolResult"] for _, part in history_of(body, wire) if "toolResult" in part]
        return {each["toolUseId"]: _flat(each["content"]) for each in given}
    blocks = [block for each in body["messages"] if isinstance(each["content"], list) for block in each["content"]]
    return {block["tool_use_id"]: _flat(block["content"]) for block in blocks if block["type"] == "tool_result"}


def _flat(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def test_a08_results_on_the_wire_are_what_the_tools_gave(serve: Any, wire: str, way: str) -> None:
    wanted = [
        Call("find", {"query": "Oslo"}, "c1"),
        Call("find", {"query": ""}, "c2"),
        Call("find", {"query": "Bø"}, "c3"),
    ]
    server = serve(calls(*wanted), text("done"))
    result, _ = run(agent_at(server, wire, tools=[find]), "go", way)
    assert result.final == "done"
    sent = results_sent(server.requests[1]["body"], wire)
    assert list(sent) == ["c1", "c2", "c3"]
    for id, query in (("c1", "Oslo"), ("c3", "Bø")):
        assert json.loads(sent[id]) == find.function(query)
    # What failed says why; it is no empty or cheerful text.
    assert "nothing to look for" in sent["c2"]
    assert not any("completed" in each for each in sent.values())


@pytest.mark.parametrize("budget", [None, Budget(rounds=1)])
def test_a10_one_program_is_a_single_request_or_the_loop(
    serve: Any, wire: str, way: str, budget: Budget | None
) -> None:
    server = serve(calls(Call("find", {"query": "Oslo"}, "c1"), text="I look first."), text("Two places."))
    result, _ = run(agent_at(server, wire, tools=[find], budget=budget), "Which places?", way)
    if budget is None:
        assert [each.name for each in result.tool_calls] == ["find"]
        assert (result.final, result.stop_reason, len(server.requests)) == ("Two places.", "natural", 2)
        assert json.loads(results_sent(server.requests[1]["body"], wire)["c1"]) == find.function("Oslo")
    else:
        assert (result.final, result.stop_reason, len(server.requests)) == (None, "rounds", 1)
        assert result.best_draft == "I look first."
        assert result.warnings
        assert result.tool_calls == [], "nobody would read what the tool gives"
        assert server.pending == 1
    plain = serve("Oslo.")
    result, _ = run(agent_at(plain, wire, budget=budget), "Which place?", way)
    assert (result.final, result.stop_reason, result.rounds) == ("Oslo.", "natural", 1)


def test_a10_the_single_request_is_the_loops_first_without_calls(serve: Any, wire: str) -> None:
    bodies = []
    for budget in (Budget(), Budget(rounds=1)):
        server = serve("Oslo.")
        agent_at(server, wire, tools=[find], instructions="Be brief.", budget=budget).run_sync("Which place?")
        bodies.append(server.requests[0]["body"])
    loop, single = bodies
    if wire == "bedrock":
        # No word forbids calls: then no tools are told of.
        assert loop.pop("toolConfig") and "toolConfig" not in single
    else:
        assert forbids_tools(single)
        single.pop("toolConfig" if wire == "gemini" else "tool_choice")
    assert single == loop


@dataclasses.dataclass
class Verdict:
    passed: bool
    notes: str = ""


@pytest.mark.parametrize(
    ("answer", "notes"),
    [
        ('Here:\n\n```json\n{"passed": true, "notes": "fenced"}\n```\n\nSee [1] and {x}.', "fenced"),
        ('```\n{"passed": true, "notes": "no language"}\n```', "no language"),
        ('{"passed": true, "notes": "whole"}', "whole"),
        ('\n  {"passed": true, "notes": "```json {} ```"}\n', "```json {} ```"),
        ('I looked at {both} [twice]: {"passed": true, "notes": "embedded"}. Fine.', "embedded"),
        ('{"passed": maybe} is wrong, {"passed": true, "notes": "the one that fits"} is not', "the one that fits"),
        (
            'Not {"passed": true, "notes": "this"} but\n```json\n{"passed": true, "notes": "fenced first"}\n```',
            "fenced first",
        ),
    ],
)
def test_a20_text_goes_in_and_a_value_is_found_in_the_text_that_comes_out(
    serve: Any, wire: str, answer: str, notes: str
) -> None:
    server = serve(text(answer))
    prompt = "Is it fine?\n\n```\n{code}\n```\n ø \u2028 "
    result = agent_at(server, wire, output_type=Verdict).run_sync(prompt)
    assert result.output == Verdict(passed=True, notes=notes)
    assert result.final == answer
    assert result.rounds == 1
    assert result.messages[0].text == prompt
    last = history_of(server.requests[0]["body"], wire)[-1]
    assert _flat([last[1]] if isinstance(last, tuple) else last["content"]) == prompt


def test_a20_without_a_type_the_text_is_left_alone(serve: Any, wire: str, way: str) -> None:
    answer = 'So:\n```json\n{"passed": true}\n```\n'
    result, _ = run(agent_at(serve(text(answer)), wire), "go", way)
    assert result.final == result.output == answer


@tool(risk="confirm")
def send(to: str) -> str:
    """Send it."""
    return f"sent to {to}"


STATES = {"generate": "assess", "execute": "execute", "approve": "pause", "finish": "complete"}


def test_c11_each_state_leads_to_the_next_in_the_bare_machine() -> None:
    tools = [
        {"name": "find", "schema": {"type": "object"}, "read_only": True},
        {"name": "send", "schema": {"type": "object"}, "risk": "confirm"},
    ]
    machine = TurnMachine({"model": "any", "tools": tools})
    answers = [
        Response("", [Call("find", {"query": "a"}, "c1")]),
        Response("", [Call("send", {"to": "b"}, "c2")]),
        Response("", [Call("send", {"to": "c"}, "c3")]),
        Response("done"),
    ]
    decisions = ["allow", "deny"]
    event: MachineEvent | None = MachineEvent.start([{"role": "user", "content": [{"type": "text", "text": "go"}]}])
    states, ran, at = [], [], 0.0
    while event is not None:
        at += 1
        (command,) = [each for each in machine.step(event, at) if each.kind in STATES]
        states.append(STATES[command.kind])
        event = None
        if command.kind == "generate":
            assert not machine.finished
            event = MachineEvent.generated(command.id, answers.pop(0).to_json())
        elif command.kind == "execute":
            (each,) = command.calls
            ran.append(each.call_id)
            event = MachineEvent.executed(command.id, each.call_id, "seen")
        elif command.kind == "approve":
            event = MachineEvent.decided(command.id, command.hash, decisions.pop(0))
    assert states == ["assess", "execute", "assess", "pause", "execute", "assess", "pause", "assess", "complete"]
    assert ran == ["c1", "c2"], "what was denied does not run"
    assert machine.finished
    assert replay(machine.take_journal()).identical


def test_c11_each_state_leads_to_the_next_in_a_run() -> None:
    held, asked = threading.Event(), []

    def approve(question: Approval) -> bool:
        asked.append(question.name)
        assert not held.is_set(), "nothing runs while a person is asked"
        return True

    @tool(risk="confirm")
    def write(path: str) -> str:
        """Write it."""
        held.set()
        return path

    script = [call("find", query="a"), call("write", path="b"), "done"]
    _, events = run(Agent(ScriptedModel(script), tools=[find, write], guard=approve), "go", "stream")
    states = {
        RoundFinished: "assess",
        ToolStarted: "execute",
        ToolFinished: "executed",
        ApprovalRequested: "pause",
        ApprovalDecided: "go on",
        RunFinished: "complete",
    }
    told = [states[type(event)] for event in events if type(event) in states]
    assert told == [
        *("assess", "execute", "executed"),
        *("assess", "pause", "go on", "execute", "executed"),
        *("assess", "complete"),
    ]
    assert asked == ["write"]


def test_c11_a_question_back_pauses_and_the_answer_is_assessed_again(way: str) -> None:
    model = ScriptedModel([call("find", query="a"), "There are two. Which one do you mean?", "The first, then."])
    agent = Agent(model, tools=[find])
    paused, _ = run(agent, "Tell me about it.", way)
    assert paused.stop_reason == "ambiguous"
    done, _ = run(agent, "The first.", way, messages=paused.messages)
    assert (done.final, done.stop_reason) == ("The first, then.", "natural")
    assert [message.role for message in done.messages] == ["user", "assistant"] * 3
    model.assert_complete()
