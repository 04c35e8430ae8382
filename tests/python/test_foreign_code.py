"""Models, judges, sources, searches and embedders of somebody else's: whatever they do, the run goes on and says so."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from handbook import GOOD, QUESTION, TIDES, Raises
from loopwright import Agent, Budget, Grounded, LoopwrightError, Model, Research, UsageError, tool
from loopwright.analysis import StopPolicy, enough, gain, trend
from loopwright.events import Warned
from loopwright.retrieve import Index, fuse
from loopwright.search import as_search
from loopwright.testing import ScriptedModel

OFFLINE = "offline:extractive"
QUESTION_OF_TIDES = "What causes the tides of the sea?"
FAST = {"attempts": 1}

WAYS = ["sync", "async"]


def run(made: Any, question: str, way: str, **options: Any) -> Any:
    return asyncio.run(made.run(question, **options)) if way == "async" else made.run_sync(question, **options)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("error", [ValueError("no line"), ConnectionError("down"), SystemExit(3), KeyError("verdict")])
def test_e25_a_judge_that_raises_is_told_and_the_answer_stands(
    docs: Path, way: str, later: bool, error: BaseException
) -> None:
    judge = Raises(error, later=later)
    grounded = Grounded(Model(ScriptedModel([GOOD]), retry=FAST), sources=docs, judge=judge)
    result = run(grounded, QUESTION, way)
    assert result.verified and result.final == GOOD
    told = [warning for warning in result.warnings if warning.startswith("judge_failed")]
    assert told and type(error).__name__ in told[0], result.warnings


@pytest.mark.parametrize("way", WAYS)
def test_e20_a_model_that_raises_in_a_later_attempt_leaves_the_draft(docs: Path, way: str) -> None:
    class Twice:
        name = "twice"
        asked = 0

        def respond(self, request: Any) -> Any:
            self.asked += 1
            if self.asked == 1:
                return "It is tried 9 times. [net.md:3]"
            raise OSError("the line is cut")

    with pytest.raises(LoopwrightError, match="the line is cut") as caught:
        run(Grounded(Model(Twice(), retry=FAST), sources=docs), QUESTION, way)
    assert caught.value.result is not None
    assert caught.value.result.best_draft == "It is tried 9 times. [net.md:3]"


@pytest.mark.parametrize("way", WAYS)
def test_b01_a_model_that_raises_now_and_then_ends_no_research(way: str) -> None:
    class Moody:
        name = "moody"
        asked = 0

        def respond(self, request: Any) -> Any:
            self.asked += 1
            if self.asked == 1:
                return '{"queries": ["tides of the sea"]}'
            raise RuntimeError("not in the mood")

    result = run(Research(Model(Moody(), retry=FAST), corpus=[TIDES]), QUESTION_OF_TIDES, way)
    assert result.report["sections"] and result.verified
    assert any("not in the mood" in warning for warning in result.warnings), result.warnings
    assert any("not in the mood" in problem for problem in result.state["problems"])


def test_what_a_model_of_an_agent_raises_is_raised_as_it_is() -> None:
    with pytest.raises(ValueError, match="a bug of mine"):
        Agent(Raises(ValueError("a bug of mine"))).run_sync("go")


def broken(question: str) -> str:
    raise RuntimeError("no line \udc80 there")


def leaving(question: str) -> str:
    raise SystemExit("bye")


def stopping(question: str) -> str:
    raise StopIteration("over")


def late(question: str) -> Iterator[str]:
    yield "one"
    raise KeyError("gone")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("source", [broken, leaving, stopping, late, lambda question: [{"txt": 1}], lambda q: [b"x"]])
def test_e05_a_source_that_fails_is_among_the_warnings_of_the_result(docs: Path, way: str, source: Any) -> None:
    told: list[Any] = []
    grounded = Grounded(ScriptedModel([GOOD]), sources=[docs, source])
    result = run(grounded, QUESTION, way, on_event=told.append)
    assert result.verified
    assert len([warning for warning in result.warnings if warning.startswith("source_failed")]) == 1, result.warnings
    assert [event.code for event in told if isinstance(event, Warned)] == ["source_failed"]


def test_e05_failed_sources_stand_in_the_journal(docs: Path, tmp_path: Path) -> None:
    from loopwright import replay

    path = tmp_path / "run.jsonl"
    result = Grounded(ScriptedModel([GOOD]), sources=[docs, broken]).run_sync(QUESTION, journal=path)
    again = replay(path)
    assert again.identical, again
    assert any(warning.startswith("source_failed") for warning in result.warnings)


@pytest.mark.parametrize("way", WAYS)
def test_generators_are_sources_however_long_they_go_on(docs: Path, way: str) -> None:
    def some(question: str) -> Iterator[str]:
        yield "A failed request waits 7 seconds."
        yield "A failed request is logged."

    def endless(question: str) -> Iterator[str]:
        return (f"A failed request of number {n} is retried." for n in itertools.count())

    def huge(question: str) -> Iterator[str]:
        return itertools.repeat("retried request " * 100_000)

    async def flowing(question: str) -> Any:
        for n in itertools.count():
            yield f"A failed request of the stream {n}."

    good = "A failed request is retried. [endless#1]"
    started = time.monotonic()
    result = run(Grounded(ScriptedModel([good]), sources=[docs, some, endless, huge, flowing]), QUESTION, way)
    assert result.verified, result.warnings
    assert not [warning for warning in result.warnings if warning.startswith("source_failed")]
    assert time.monotonic() - started < 30


def test_a_slow_generator_holds_up_neither_the_loop_nor_the_end(docs: Path) -> None:
    code = f"""
import asyncio, itertools, time
from loopwright import Grounded, _gather
from loopwright.testing import ScriptedModel
_gather._PATIENCE = 0.5
def dripping(question):
    for n in itertools.count():
        time.sleep(0.05)
        yield f"drop {{n}}"
def hanging(question):
    time.sleep(3600)
async def main():
    ticks = []
    async def tick():
        while True:
            ticks.append(1)
            await asyncio.sleep(0.01)
    task = asyncio.create_task(tick())
    result = await Grounded(ScriptedModel([{GOOD!r}]), sources=[{str(docs)!r}, dripping, hanging]).run({QUESTION!r})
    task.cancel()
    assert len(ticks) > 10, len(ticks)
    assert sum(w.startswith("source_failed") for w in result.warnings) == 2, result.warnings
asyncio.run(main())
print("done")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "done\n", done.stderr


@pytest.mark.parametrize("way", WAYS)
def test_b18_searches_may_be_generators_and_bad_hits_hide_no_good_ones(way: str) -> None:
    def endless(query: str, k: int) -> Iterator[Any]:
        yield {"title": "no url"}
        yield TIDES
        for n in itertools.count():
            yield {**TIDES, "url": f"https://example.org/{n}", "text": f"{TIDES['text']} Number {n}."}

    async def flowing(query: str) -> Any:
        for n in itertools.count():
            yield {**TIDES, "url": f"https://example.com/{n}"}

    def fails(query: str, k: int) -> Any:
        raise OSError("no search today")

    result = run(Research(search=[endless, flowing, fails]), QUESTION_OF_TIDES, way)
    assert result.verified and result.state["sources"]
    assert any("no search today" in warning for warning in result.warnings), result.warnings
    hits = as_search(lambda query, k: (each for each in itertools.repeat(TIDES))).search_sync("tides", 3)
    assert [hit.url for hit in hits] == [TIDES["url"]] * 3


@pytest.mark.parametrize(
    "vectors",
    [
        lambda texts: itertools.repeat([1.0, 0.0]),
        lambda texts: ([float(n) for n in range(3)] for _ in texts),
        lambda texts: [itertools.count() for _ in texts],
    ],
)
def test_embedders_may_be_generators_and_are_bounded(vectors: Any) -> None:
    started = time.monotonic()
    with contextlib.suppress(LoopwrightError):
        Research(corpus=[TIDES], embedder=vectors, budget=Budget(research_cycles=1)).run_sync(QUESTION_OF_TIDES)
    assert time.monotonic() - started < 60


@pytest.mark.parametrize(
    "call",
    [
        lambda: gain({"a": math.nan}, {"a": 0.5}),
        lambda: gain({"a": 0.1}, {"a": math.inf}),
        lambda: gain({"a": "x"}, {"a": 0.5}),
        lambda: gain({1: 0.1}, {1: 0.2}),
        lambda: gain([0.1], {"a": 0.2}),
        lambda: trend([0.1, math.nan]),
        lambda: trend("01"),
        lambda: trend(None),
        lambda: enough([math.nan, 0.1]),
        lambda: enough([0.1, -math.inf]),
        lambda: enough([0.1], accepted=-1),
        lambda: enough([0.1], accepted=0.5),
        lambda: enough([0.1], claims=True),
        lambda: enough([0.1], StopPolicy(epsilon=math.nan)),
        lambda: fuse([[1, 2], ["x"]]),
        lambda: fuse([[1.5]]),
        lambda: fuse([[-1]]),
        lambda: fuse([[1 << 70]]),
        lambda: fuse(3),
        lambda: fuse([[1]], k=-1),
        lambda: fuse([[1]], k="3"),
        lambda: fuse([[1]], weights=[math.nan]),
        lambda: fuse([[1]], weights=["x"]),
        lambda: fuse([[1]], weights=[1, 2]),
        lambda: Index(3),
        lambda: Index([3]),
        lambda: Index({"a": "b"}),
        lambda: Index(["a"]).search(3),
        lambda: Index(["a"]).search("a", k=-1),
        lambda: Index(["a"]).search("a", k="3"),
        lambda: Index(["a"]).support(None),
        lambda: Index(["a"]).missing(b"a"),
        lambda: Index(["a"]).quote(3),
        lambda: Index(["a"], embedder=lambda texts: [["x"]]),
        lambda: Index(["a"], embedder=lambda texts: [[math.nan]]),
        lambda: Index(["a"], embedder=lambda texts: None),
        lambda: Index(["a", "b"], embedder=lambda texts: [[1.0]] * len(texts)[:1] if False else [[1.0], [1.0, 2.0]]),
    ],
)
def test_what_is_no_number_or_no_text_is_an_error_of_usage(call: Any) -> None:
    with pytest.raises(UsageError) as caught:
        call()
    assert caught.value.code


@pytest.mark.parametrize("name", ["a]b.md", "[draft] x.md", "x[1].md", "a]b].md", "a, b.md", "größe (1).md", "a:3.md"])
def test_x16_files_of_any_name_can_be_cited(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("# Retries\n\nA failed request is tried again up to 3 times.\n")
    result = Grounded(OFFLINE, sources=tmp_path).run_sync(QUESTION)
    assert result.verified, (result.final, result.best_draft, result.warnings)
    assert f"[{name}:3]" in str(result.final)
    assert result.sources[0].reference == name


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "object", "properties": {"answer": {"type": "text"}}}, "$.properties.answer.type"),
        ({"type": "objekt"}, "$.type"),
        ({"type": "array", "items": {"type": "str"}}, "$.items.type"),
        ({"type": "object", "required": "answer"}, "$.required"),
    ],
)
def test_x15_a_wrong_schema_is_refused_by_its_place_before_anything_runs(
    docs: Path, schema: dict[str, Any], place: str
) -> None:
    model = ScriptedModel([])
    with pytest.raises(UsageError) as caught:
        Grounded(model, sources=docs, profile=schema).run_sync(QUESTION)
    assert place in str(caught.value) and caught.value.code == "invalid_schema"


SCOUT = '{"queries": ["tides of the sea"]}'
DONE = '{"critique": "c", "thought": "t", "plan": []}'


class Caller:
    """A model that calls a tool in the act phase, and otherwise answers like a researcher."""

    name = "caller"

    def __init__(self, *calls: Any) -> None:
        self.calls = list(calls)
        self.told: list[str] = []

    def respond(self, request: Any) -> Any:
        import json

        from loopwright.models import Response

        found = json.loads(request.to_json())
        system = found["system"]["content"][0]["text"]
        if "gather facts" in system:
            self.told.append(found["messages"][0]["content"][0]["text"])
            if self.calls:
                return Response(calls=[self.calls.pop(0)])
            return "DONE. The sea is 99 miles deep."
        if "three broad" in system:
            return SCOUT
        if "strategist" in system:
            return DONE
        if "draft the outline" in system:
            return '{"outline": [{"topic": "Tides", "subtopics": []}]}'
        if "one section" in system:
            head = found["messages"][-1]["content"][0]["text"].partition("(tool:gauge#")[0]
            number = head.rpartition("[")[2].partition("]")[0]
            return f"The tide at Husum stands at 417 centimetres above the mark [{number}]. It is 99 miles deep [1]."
        return "no answer"


@tool
def gauge(place: str) -> str:
    """The height of the water at a place.

    Args:
        place: where.
    """
    return f"The tide at {place} stands at 417 centimetres above the mark."


@pytest.mark.parametrize("way", WAYS)
def test_b01_tools_find_what_the_report_cites(way: str) -> None:
    from loopwright.models import Call

    model = Caller(Call("gauge", {"place": "Husum"}))
    research = Research(model, tools=[gauge], corpus=[TIDES], select={"least": None, "relevance": 0.0})
    result = run(research, "How high is the tide at Husum?", way)
    assert [call.name for call in result.tool_calls] == ["gauge"]
    urls = [source["url"] for source in result.state["sources"]]
    assert "tool:gauge#1" in urls, result.state["results"]
    assert "417" in result.markdown and "99 miles" not in result.markdown
    assert "Called before" not in model.told[0]


def test_b01_tools_alone_are_enough_and_a_failing_one_is_told() -> None:
    from loopwright.models import Call

    @tool
    def fails(place: str) -> str:
        """Fails.

        Args:
            place: where.
        """
        raise OSError("the gauge is dry")

    model = Caller(Call("fails", {"place": "Husum"}), Call("gauge", {"place": "Husum"}))
    result = Research(model, tools=[gauge, fails]).run_sync("How high is the tide at Husum?")
    assert "417" in result.markdown
    assert any("the gauge is dry" in warning for warning in result.warnings)
    assert not any("nothing to search" in warning for warning in result.warnings)


def test_b01_tools_of_a_research_ask_for_approval_and_count_in_its_budget(tmp_path: Path) -> None:
    from loopwright import replay
    from loopwright.models import Call

    wiped: list[str] = []

    @tool(risk="confirm")
    def wipe(place: str) -> str:
        """Wipes a place.

        Args:
            place: where.
        """
        wiped.append(place)
        return "done"

    calls = [Call("wipe", {"place": "/"}), *[Call("gauge", {"place": f"Husum {n}"}) for n in range(40)]]
    path = tmp_path / "run.jsonl"
    budget = Budget(rounds=12, tool_rounds=2)
    result = Research(Caller(*calls), tools=[wipe, gauge], budget=budget).run_sync(QUESTION_OF_TIDES, journal=path)
    assert wiped == []
    assert result.rounds <= 12
    assert replay(path).identical


def test_tools_without_a_model_are_an_error_of_usage() -> None:
    with pytest.raises(UsageError, match="without a model"):
        Research(OFFLINE, tools=[gauge], corpus=[TIDES])


class Steady(Caller):
    """The same, deciding by what stands in the request alone."""

    def respond(self, request: Any) -> Any:
        from loopwright.models import Call

        self.calls = [] if '"tool_result"' in request.to_json() else [Call("gauge", {"place": "Husum"})]
        return super().respond(request)


def test_x04_a_research_with_tools_that_was_cut_anywhere_goes_on_to_the_same_report(tmp_path: Path) -> None:
    question = "How high is the tide at Husum?"
    whole = tmp_path / "whole.jsonl"
    result = Research(Steady(), tools=[gauge], corpus=[TIDES]).run_sync(question, journal=whole)
    assert "417" in result.markdown
    lines = whole.read_text().splitlines(keepends=True)
    assert any("gather facts" in line or "gauge" in line for line in lines)
    for cut in range(2, len(lines), max(1, len(lines) // 14)):
        path = tmp_path / f"cut-{cut}.jsonl"
        path.write_text("".join(lines[:cut]))
        again = Research(Steady(), tools=[gauge], corpus=[TIDES], guard=lambda question: True).resume_sync(path)
        assert again.report == result.report, cut
        assert [call.name for call in again.tool_calls] == ["gauge"], cut


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"select": {"relevance": math.nan}}, "select.relevance"),
        ({"select": {"least": {"z": math.nan}}}, "select.least.z"),
        ({"limits": {"repeated": math.inf}}, "limits.repeated"),
        ({"limits": 3}, "limits"),
        ({"stop": {"epsilon": {"cosine": math.nan}}}, "stop.epsilon.cosine"),
        ({"stop": [1]}, "stop"),
        ({"tools": 3}, "tools"),
        ({"search": itertools.repeat(print)}, "search"),
        ({"corpus": 3}, "corpus"),
    ],
)
def test_options_of_a_research_that_can_not_be_are_named(options: dict[str, Any], place: str) -> None:
    with pytest.raises(UsageError, match=place):
        Research(**{"corpus": [TIDES], **options})


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"gather": 3}, "gather"),
        ({"gather": {"total_chars": math.nan}}, "gather.total_chars"),
        ({"lengths": 3}, "lengths"),
        ({"profile": 3}, "profile"),
        ({"profile": [1]}, "profile"),
        ({"judge": 3}, "judge"),
        ({"tools": 3}, "tools"),
        ({"sources": itertools.repeat("docs")}, "sources"),
    ],
)
def test_options_of_a_grounded_answer_that_can_not_be_are_named(options: dict[str, Any], place: str) -> None:
    with pytest.raises(UsageError, match=place):
        Grounded(OFFLINE, **{"sources": ".", **options})
