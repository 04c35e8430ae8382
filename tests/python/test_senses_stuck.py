"""Repetition and momentum, alone and in an agent."""

from __future__ import annotations

import doctest
import importlib.util
import json
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopwright import Agent, Budget, Monitor, UsageError, replay, tool
from loopwright.events import Assessed, TextDelta
from loopwright.monitor import (
    Breakpoint,
    Momentum,
    MomentumPolicy,
    Standing,
    StuckDetector,
    StuckPolicy,
    ToolRules,
    Verdict,
    _momentum,
    _stuck,
    continuation,
)
from loopwright.testing import Reply, ScriptedModel, call, text
from ways import agent_at, run

if TYPE_CHECKING:
    from types import ModuleType

DATA = Path(__file__).parents[2] / ".." / "shared" / "data" / "trajectories"


def found_at(records: Any, policy: StuckPolicy | None = None) -> tuple[int, Verdict] | None:
    detector = StuckDetector(policy)
    for at, (what, result) in enumerate(records, 1):
        verdict = detector.record(what, result)
        assert verdict == detector.verdict()
        if verdict is not None:
            return at, verdict
    return None


@pytest.mark.parametrize("module", [_stuck, _momentum])
def test_examples_run(module: Any) -> None:
    failed, tried = doctest.testmod(module)
    assert tried > 4
    assert failed == 0


@pytest.mark.parametrize(
    ("what", "result"),
    [
        (("ls", {"path": "."}), "a"),
        (("ls", '{"path":"."}'), {"content": "a", "is_error": False}),
        ({"name": "ls", "arguments": {"path": "."}}, "a"),
        ({"type": "tool_use", "id": "1", "name": "ls", "input": {"path": "."}}, {"content": [{"text": "a"}]}),
        ({"id": "1", "function": {"name": "ls", "arguments": '{"path": "."}'}}, {"role": "tool", "content": "a"}),
        (("ls", None), None),
        ("ls", {"files": ["a"]}),
        ("ls", b"bytes"),
        ("ls", 5),
        (("ls", {"path": "\ud800"}), "\ud800"),
    ],
)
def test_c25_calls_and_results_as_anybody_writes_them(what: Any, result: Any) -> None:
    found = found_at([(what, result)] * 5)
    assert found is not None
    at, verdict = found
    assert (at, verdict.pattern, verdict.rounds, verdict.first, verdict.last) == (3, "repeated_call", 3, 1, 3)
    assert verdict.members[0].tool == "ls"
    assert "ls" in verdict.sentence
    assert verdict.sentence in verdict.advice


def test_c25_the_same_error_class() -> None:
    errors = [FileNotFoundError(f"line {n}: no such file: /tmp/{n}/x") for n in range(3)]
    found = found_at([(("read", {"n": n * 1000}), error) for n, error in enumerate(errors)])
    assert found is not None
    assert (found[0], found[1].pattern) == (3, "repeated_error")
    told = found_at([(("sh", {"command": f"cat {name}"}), f"Exit code 1\nno file {n}") for n, name in enumerate("abc")])
    assert told is not None
    assert told[1].pattern == "repeated_error"
    nothing = [
        (("sh", {"command": f"grep {name} x"}), {"content": "Exit code 1", "is_error": True}) for name in "abcdef"
    ]
    assert found_at(nothing) is None, "nothing found is no error"


def test_x20_what_changes_is_work() -> None:
    assert found_at([("status", f"{n}% done") for n in range(100)]) is None
    work = [step for n in range(50) for step in ((("edit", {"to": f"v{n}"}), "ok"), ("test", "2 failed"))]
    assert found_at(work) is None
    detector = StuckDetector()
    assert not any(detector.record("test", "2 failed", state=f"commit {n}") for n in range(50))


def test_c25_no_change_of_state() -> None:
    detector = StuckDetector()
    found = [detector.record(("go", {"to": n}), f"room {n}", state={"score": 0}) for n in range(6)]
    assert [verdict.pattern if verdict else None for verdict in found] == [None] * 4 + ["no_change"] * 2
    assert detector.record("go", "room", state={"score": 1}) is None


@given(st.integers(1, 64), st.lists(st.integers(100, 10_000), unique=True, max_size=40), st.integers(0, 2**32))
def test_c25_cycles_are_found_with_their_third_round(period: int, tail: list[int], seed: int) -> None:
    steps = random.Random(seed).sample(range(100), period)  # noqa: S311 - no secret
    records = [(("f", {"i": step}), "ok") for step in [*tail, *steps * 3]]
    found = found_at(records)
    assert found is not None
    assert (found[0], len(found[1].members), found[1].rounds) == (len(records), period, 3)


@given(st.lists(st.text(max_size=30), max_size=30))
def test_c25_a_stream_is_read_the_same_in_any_pieces(pieces: list[str]) -> None:
    whole, cut = StuckDetector(), StuckDetector()
    text = "".join(pieces) * 20
    whole.feed(text)
    for at in range(0, len(text), 7):
        cut.feed(text[at : at + 7])
    assert whole.verdict() == cut.verdict()


def test_a_reply_that_repeats_itself_is_heard_while_it_streams() -> None:
    detector = StuckDetector()
    heard = next(n for n in range(100) if detector.feed("Let me think about that again.\n"))
    assert heard < 10
    verdict = detector.verdict()
    assert verdict is not None
    assert (verdict.pattern, verdict.members[0].arguments) == ("repeated_text", "Let me think about that again.")
    detector.end_reply()
    assert detector.verdict() is None
    assert detector.feed("| --- | --- |\n" * 30) is None


def test_c25_monologue_and_reset() -> None:
    detector = StuckDetector(monologue=2)
    assert detector.record_text("Hm.") is None
    verdict = detector.record_text("So.")
    assert verdict is not None
    assert verdict.pattern == "monologue"
    detector.reset()
    assert detector.verdict() is None


def test_rules_of_single_tools() -> None:
    waiting = [(("wait", {}), "not yet")] * 30
    assert found_at(waiting, StuckPolicy(tools={"wait": ToolRules(polling=True)})) is None
    assert found_at(waiting, StuckPolicy(tools={"wait": ToolRules(ignore=True)})) is None
    later = found_at(waiting, StuckPolicy(tools={"wait": ToolRules(repeats=20)}))
    assert later is not None
    assert later[0] == 20


def test_saved_and_loaded_the_rest_is_the_same() -> None:
    detector = StuckDetector(StuckPolicy(rounds=4))
    for n in range(9):
        detector.record(("f", {"i": n % 3}), "ok")
    again = StuckDetector.from_json(detector.to_json())
    for n in range(9, 12):
        assert detector.record(("f", {"i": n % 3}), "ok") == again.record(("f", {"i": n % 3}), "ok")
    assert again.verdict() is not None
    for wrong in ("", "{}", "[1]", "nul"):
        with pytest.raises(UsageError):
            StuckDetector.from_json(wrong)
    momentum = Momentum(MomentumPolicy(window=4))
    momentum.record(False)
    assert Momentum.from_json(momentum.to_json()).score == momentum.score
    with pytest.raises(UsageError):
        Momentum.from_json("{}")


def test_wrong_settings_are_named() -> None:
    for wrong in ({"repeats": 1}, {"errors": -1}, {"rounds": 2.5}, {"warn": 1}, {"tools": {"a": 1}}, {"nonsense": 1}):
        with pytest.raises(UsageError, match=next(iter(wrong))):
            StuckDetector(**wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="repeats"):
        StuckPolicy(tools={"a": ToolRules(repeats=1)})
    for momentum in ({"slow": 2.0}, {"window": 0}, {"pause": float("nan")}):
        with pytest.raises(UsageError):
            MomentumPolicy(**momentum)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no tool call"):
        StuckDetector().record(5, "x")
    with pytest.raises(UsageError):
        continuation({"nonsense": 1})
    # A text that tells of a failure would count as a success.
    for wrong in ("failed", None, object()):
        with pytest.raises(UsageError, match="succeeded is "):
            Momentum().record(wrong)  # type: ignore[arg-type]


def test_c18_x20_momentum() -> None:
    momentum = Momentum()
    assert (momentum.score, momentum.pace) == (1.0, "good")
    momentum.record(succeeded=False)
    assert not momentum.should_pause, "one failed first call never stops a run"
    for _ in range(2):
        momentum.record(succeeded=False)
    assert (momentum.score, momentum.pace, momentum.should_slow_down) == (0.4, "slow", True)
    for _ in range(2):
        momentum.record(succeeded=False)
    assert momentum.should_pause


def test_c19_what_to_say_next() -> None:
    standing: dict[str, Any] = {"next_step": "read a.py", "succeeded": True, "failure": "disk full", "stuck": True}
    said = []
    for key, value in (("next_step", None), ("succeeded", False), ("succeeded", None), ("stuck", False), ("", None)):
        said.append(continuation(Standing(**standing)))
        if key:
            standing[key] = value
    assert said[0] == "Proceed with: read a.py"
    assert said[1] == "Continue."
    assert "disk full" in (said[2] or "")
    assert "step back" in (said[3] or "")
    assert said[4] is None


def test_c21_nine_breakpoints() -> None:
    reasons = {
        "user_interrupt": "user_interrupt",
        "destructive_operation": "destructive_operation",
        "rounds": "max_iterations",
        "no_progress": "no_progress",
        "low_momentum": "low_momentum",
        "repeated_failures": "repeated_failures",
        "natural": "task_complete",
        "needs_user_input": "needs_user_input",
        "ambiguous": "ambiguous",
    }
    assert {point.value for point in Breakpoint} == set(reasons.values())
    for reason, name in reasons.items():
        assert Breakpoint.of(reason) is Breakpoint(name)
    assert Breakpoint.of("cost") is None
    with pytest.raises(UsageError):
        Breakpoint.of("nonsense")


@tool(read_only=True)
def look(page: int) -> str:
    """Look at a page."""
    return f"page {page}"


def test_c25_d04_an_agent_is_told_once_and_then_stopped(way: str, tmp_path: Path) -> None:
    model = ScriptedModel([call("look", page=1)] * 9)
    events: list[Any] = []
    options = {} if way == "stream" else {"on_event": events.append}
    result, seen = run(Agent(model, tools=[look]), "go", way, journal=tmp_path, **options)
    assert (result.stop_reason, result.rounds) == ("no_progress", 4)
    assert "called 3 times" in json.dumps([message.to_dict() for message in result.messages])
    told = [event for event in (events or seen) if isinstance(event, Assessed)]
    assert ("tell", "repeated_call") in [(event.decision, event.rule) for event in told]
    assert (told[-1].decision, told[-1].rule) == ("stuck", "repeated_call")
    assert "look" in told[-1].saw
    assert replay(result.journal or "").identical


def test_c25_an_agent_s_senses_can_be_set(way: str) -> None:
    def reason(**options: Any) -> str:
        agent = Agent(ScriptedModel([call("look", page=1)] * 9), tools=[look], budget=Budget(tool_rounds=6), **options)
        return run(agent, "go", way)[0].stop_reason

    assert reason() == "no_progress"
    assert reason(monitor=Monitor(stuck=None)) == "tool_rounds"
    assert reason(monitor=Monitor(stuck=StuckPolicy(tools={"look": ToolRules(polling=True)}))) == "tool_rounds"
    assert reason(monitor=Monitor(stuck=StuckPolicy(repeats=2, warn=False))) == "no_progress"


def test_c18_c21_low_momentum_can_be_turned_off(way: str) -> None:
    @tool
    def flaky(word: str) -> str:
        """Fail."""
        raise RuntimeError(word)

    def reason(**options: Any) -> str:
        words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
        script = [*[call("flaky", word=word) for word in words], "done"]
        agent = Agent(ScriptedModel(script), tools=[flaky], monitor=Monitor(stuck=None, **options))
        return run(agent, "go", way)[0].stop_reason

    assert reason() == "low_momentum"
    assert reason(momentum=None) == "natural"
    assert reason(momentum=MomentumPolicy(pause=0.0)) == "natural"


def test_c29_an_agent_pauses_for_a_check_in(way: str) -> None:
    agent = Agent(
        ScriptedModel([call("look", page=n) for n in range(5)] + ["done"]), tools=[look], monitor=Monitor(pause_every=3)
    )
    result, _ = run(agent, "go", way)
    assert (result.stop_reason, result.rounds) == ("check_in", 3)
    again, _ = run(agent, "go on", way, messages=result.messages)
    assert (again.stop_reason, again.final) == ("natural", "done")


RIGHT = {
    "CodeTracer-build-pmars-E722qnQ": [(8, "repeated_call")],
    "CodeTracer-openssl-selfsigned-cert-6aDSXLS": [(4, "repeated_error"), (7, "repeated_call")],
    "CodeTracer-path-tracing-HT7ugSj": [(19, "repeated_error")],
    "mini-swe-agent-marshmallow-code-marshmallow-1343": [],
    "pi-mono-large-session": [],
    "tau-bench-tau-airline-25-3": [],
}


@pytest.mark.parametrize("name", list(RIGHT))
def test_c25_real_runs(name: str) -> None:
    path = DATA / f"{name}.json"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    import runpy

    room = runpy.run_path(str(Path(__file__).parents[2] / "benches" / "senses" / "trajectories.py"))
    found = room["verdicts"](json.loads(path.read_text(encoding="utf-8"))["messages"])
    assert [(at, verdict.pattern) for at, _, verdict in found][: max(len(RIGHT[name]), 1)] == RIGHT[name]


def test_c18_c19_c21_what_is_none_is_a_typed_error() -> None:
    for wrong in (lambda: Momentum("fast"), lambda: continuation(None), lambda: Breakpoint.of(None)):  # type: ignore[arg-type]
        with pytest.raises(UsageError):
            wrong()


LOOP = "I will now look at the file once more. "


@pytest.mark.timeout(30)
def test_d04_an_answer_that_repeats_itself_is_cut_while_it_streams(serve: Any, wire: str) -> None:
    # The server stalls long before its text is over: only a cut gets past it.
    endless = Reply({"text": LOOP * 400}, chunk=64, fault={"stall_after": {"events": 200}})
    server = serve(endless, text("It is 4."))
    seen: list[Any] = []
    result = agent_at(server, wire).run_sync("What is it?", on_event=seen.append)
    assert (result.stop_reason, result.final) == ("natural", "It is 4.")
    shown = "".join(event.text for event in seen if isinstance(event, TextDelta))
    assert shown.count(LOOP) < 100
    told = [event for event in seen if isinstance(event, Assessed) and event.rule == "repeated_text"]
    assert [event.decision for event in told] == ["tell"]
    assert LOOP.strip() in told[0].saw
    assert "says the same" in result.messages[-2].text


def test_d04_an_answer_that_goes_on_repeating_ends_the_run(serve: Any, wire: str) -> None:
    server = serve(*[Reply({"text": LOOP * 60})] * 2)
    result = agent_at(server, wire).run_sync("What is it?", on_event=lambda _: None)
    assert result.stop_reason == "no_progress"
    assert len(server.requests) == 2


def test_d04_who_turns_it_off_hears_all_of_it(serve: Any, wire: str) -> None:
    server = serve(Reply({"text": LOOP * 60}))
    agent = agent_at(server, wire, monitor=Monitor(stuck=StuckPolicy(text=0)))
    result = agent.run_sync("Say it sixty times.", on_event=lambda _: None)
    assert (result.stop_reason, result.final) == ("natural", (LOOP * 60))


def _trajectories() -> ModuleType:
    path = Path(__file__).parents[2] / "benches" / "senses" / "trajectories.py"
    spec = importlib.util.spec_from_file_location("trajectories", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_c25_the_verdicts_on_real_runs_are_those_that_were_judged() -> None:
    """Each row of the table in `docs/measurements/senses.md` was read and judged by hand: it must be what the code says."""
    if not DATA.is_dir():
        pytest.skip(f"{DATA} is not there")
    table = (
        (Path(__file__).parents[2] / "docs" / "measurements" / "senses.md")
        .read_text(encoding="utf-8")
        .split("### Real runs")[1]
        .split("### Speed")[0]
    )
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")
    ]
    judged = {}
    for name, calls, verdicts, _judgement in rows[2:]:
        told = re.findall(r"((?:\d+(?: and )?)+) `(\w+)`", verdicts)
        found = sorted((int(at), pattern) for places, pattern in told for at in places.split(" and "))
        assert found or verdicts == "none", verdicts
        judged[name] = (int(calls), found)
    script = _trajectories()
    runs = [path for path in sorted(DATA.glob("*.json")) if path.name != "index.json"]
    assert len(runs) == len(judged) > 0
    for path in runs:
        messages = json.loads(path.read_text(encoding="utf-8"))["messages"]
        calls = sum(len(pairs) for kind, pairs in script.rounds(messages) if kind == "round")
        said = sorted((at, verdict.pattern) for at, _, verdict in script.verdicts(messages))
        words = {name: name.split(",")[0].split() for name in judged}
        names = [name for name, parts in words.items() if all(part in path.stem for part in parts)]
        names = [name for name in names if judged[name][0] == calls]
        assert len(names) == 1, (path.stem, names)
        assert judged[names[0]] == (calls, said), path.stem
