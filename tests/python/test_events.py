"""Events are one typed stream: numbered, serialisable, the same in Rust, Python, journals and docs."""

from __future__ import annotations

import asyncio
import dataclasses
import importlib.util
import json
from pathlib import Path
from typing import Any, get_args

import pytest
from loopwright import Agent, Budget, Grounded, Messages, Result, SubAgent, events, tool
from loopwright.events import from_dict, to_dict
from loopwright.journal import diff, events_of
from loopwright.testing import ScriptedModel, call, fault, text
from ways import agent_at

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("event_page", ROOT / "tests" / "events.py")
assert spec is not None
assert spec.loader is not None
page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page)

WHAT_TO_DO = """{name} differs between Rust and Python. For an event of the machine: add a dataclass that derives from
`Told` to python/loopwright/events.py, put it into `Event` and `_NOTICES`, then run `make docs`."""


def test_d44_the_page_of_events_is_up_to_date() -> None:
    assert page.main(["--check"]) == 0, "docs/events.md is stale: run `make docs`"


def test_d44_every_event_has_the_same_name_and_fields_in_rust_and_python() -> None:
    told = {event.name: event for event in page.notices()}
    assert set(told) == set(events._NOTICES), WHAT_TO_DO.format(name="the list of events")
    for name, event in told.items():
        kind, names = events._NOTICES[name]
        assert kind.__name__ == event.cls, WHAT_TO_DO.format(name=name)
        assert set(names) == {field.name for field in event.fields}, WHAT_TO_DO.format(name=name)
        assert issubclass(kind, events.Told), WHAT_TO_DO.format(name=name)
        assert kind in get_args(events.Event), WHAT_TO_DO.format(name=name)
        assert kind.__name__ in events.__all__, WHAT_TO_DO.format(name=name)


@pytest.mark.parametrize("event", [*page.notices(), *page.ours()], ids=lambda event: event.name)
def test_d44_every_example_of_the_page_is_an_event(event: Any) -> None:
    given = page.example(event)
    if event.name == "run_finished":
        given["result"] = Agent(ScriptedModel(["x"])).run_sync("go").to_dict()
    found = from_dict(json.loads(json.dumps(given)))
    assert type(found).__name__ == event.cls
    assert found.event_id == given["event_id"]
    again = to_dict(found)
    assert {**given, **again} == again
    assert json.loads(json.dumps(again)) == again


def test_d44_what_is_unknown_survives() -> None:
    told = {"type": "from_the_future", "event_id": 7, "deep": {"list": [1, 2.5, None, "ü"]}}
    found = from_dict(told)
    assert isinstance(found, events.UnknownEvent)
    assert to_dict(found) == told
    more = {**to_dict(events.Reset(round=2)), "new_field": 1}
    assert from_dict(more) == events.Reset(round=2), "a field of a newer version is no reason to fail"


@tool(read_only=True)
def look(n: int) -> str:
    """Looks."""
    return f"saw {n}"


def test_d44_a_stream_is_numbered_and_its_journal_gives_the_same(tmp_path: Path, serve: Any) -> None:
    server = serve(fault.status(529), call("look", n=1), text("some words in pieces"))
    agent = agent_at(server, tools=[look], journal=tmp_path / "p.db", retry={"base": 0.01})

    async def main() -> tuple[list[Any], Result[Any]]:
        stream = agent.stream("go")
        heard = [event async for event in stream.events()]
        return heard, stream.result

    heard, result = asyncio.run(main())
    ids = [event.event_id for event in heard]
    assert ids == sorted(set(ids)), "numbers only grow"
    assert {type(event) for event in heard} > {events.TextDelta, events.Retry, events.ToolFinished, events.RunFinished}
    for event in heard:
        again = from_dict(json.loads(json.dumps(to_dict(event))))
        assert to_dict(again) == to_dict(event)
        assert again.event_id == event.event_id
    of_machine = [event for event in heard if isinstance(event, events.Told)]
    listed = events_of(tmp_path / "p.db", result.run_id)
    assert [(type(event), event.event_id) for event in listed] == [(type(e), e.event_id) for e in of_machine]
    assert listed[:-1] == of_machine[:-1]
    last = listed[-1].result
    assert (last.final, last.messages, last.usage) == (result.final, result.messages, result.usage)


def test_d44_numbers_go_on_after_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    script = [call("look", n=1), call("look", n=2), "done"]
    first: list[Any] = []
    Agent(ScriptedModel(list(script)), tools=[look]).run_sync("go", journal=path, on_event=first.append)
    lines = path.read_text().splitlines(keepends=True)
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(lines[:4]))
    before = events_of(cut)
    after: list[Any] = []
    Agent(ScriptedModel(script[1:]), tools=[look]).resume_sync(cut, on_event=after.append)
    ids = [event.event_id for event in [*before, *after]]
    assert ids == sorted(set(ids))
    told = [event for event in first if isinstance(event, events.Told)]
    assert [event.event_id for event in events_of(cut)] == [event.event_id for event in told]
    assert diff(cut, path) is None


def test_d44_numbers_only_grow_where_an_answer_is_asked_for_again() -> None:
    from typing import TypedDict

    class Number(TypedDict):
        n: int

    heard: list[Any] = []
    agent = Agent(ScriptedModel(["no json", '{"n": 1}']), output_type=Number)
    result = agent.run_sync("go", on_event=heard.append)
    assert result.output == {"n": 1}
    ids = [event.event_id for event in heard]
    assert ids == sorted(set(ids))
    assert len([event for event in heard if isinstance(event, events.RoundStarted)]) == 2


def test_a_result_survives_as_plain_data() -> None:
    result = Agent(ScriptedModel([call("look", n=1), "done"]), tools=[look]).run_sync("go", journal=True)
    again = Result.from_dict(json.loads(json.dumps(result.to_dict())))
    for field in dataclasses.fields(Result):
        assert getattr(again, field.name) == getattr(result, field.name), field.name
    assert isinstance(again.messages, Messages)


def test_e21_e22_the_phases_of_a_grounded_answer_are_events_with_durations(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("The breaker opens after 3 failures.\n", encoding="utf-8")
    grounded = Grounded("offline:extractive", sources=[tmp_path / "notes"])
    result = grounded.run_sync("When does the breaker open?", journal=tmp_path / "p.db")
    assert result.verified
    listed = events_of(tmp_path / "p.db", result.run_id)
    spans: dict[tuple[str, int], Any] = {}
    for event in listed:
        if isinstance(event, events.PhaseStarted):
            assert (event.phase, event.attempt) not in spans, "a phase of an attempt begins once"
            spans[event.phase, event.attempt] = None
        elif isinstance(event, events.PhaseFinished):
            assert spans[event.phase, event.attempt] is None, "and ends once, after it began"
            assert event.duration >= 0
            spans[event.phase, event.attempt] = event.output
    assert [phase for phase, _ in spans] == ["gather", "act", "verify"]
    assert all(output is not None for output in spans.values())
    assert listed[0].event_id < listed[-1].event_id
    assert isinstance(listed[-1], events.RunFinished)


def test_e22_attempts_failures_of_verification_and_the_end_of_attempts_are_events(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("The breaker opens after 3 failures.\n", encoding="utf-8")
    made_up = "The breaker opens after 17 failures and closes on Tuesdays [1]."
    grounded = Grounded(ScriptedModel([made_up] * 20, by_turn=True), sources=[tmp_path / "notes"])
    result = grounded.run_sync("When does the breaker open?", journal=True)
    assert not result.verified
    listed = events_of(result.journal or "")
    verified = [e for e in listed if isinstance(e, events.PhaseFinished) and e.phase == "verify"]
    assert [event.attempt for event in verified] == [1, 2, 3]
    assert all(event.output for event in verified)
    assert [event.attempt for event in listed if isinstance(event, events.Draft)] == [1, 2, 3]
    assert listed[-1].result.stop_reason == result.stop_reason


def test_d43_d44_the_journal_names_the_models_of_sub_agents(tmp_path: Path) -> None:
    def named(name: str, *steps: Any) -> ScriptedModel:
        model = ScriptedModel(steps, by_turn=True)
        model.name = name
        return model

    inner = SubAgent("inner", "looks", model=named("deep", "seen"))
    outer = SubAgent(
        "outer", "leads", model=named("wide", call("spawn", agent="inner", task="see"), "led"), agents=[inner]
    )
    top = named("top", call("spawn", agent="outer", task="lead"), "done")
    for place in ("one.jsonl", "p.db"):
        result = Agent(top, agents=[outer], budget=Budget(depth=2)).run_sync("go", journal=tmp_path / place)
        listed = events_of(tmp_path / place, result.run_id if place == "p.db" else None)[-1].result

        def models(found: Result[Any]) -> Any:
            return found.model, [models(child.result) for child in found.children]

        assert models(listed) == models(result) == ("top", [("wide", [("deep", [])])])


@pytest.mark.parametrize("kind", get_args(events.Event), ids=lambda kind: kind.__name__)
def test_every_event_says_its_type_as_its_data_does(kind: Any) -> None:
    assert kind.type == page.snake(kind.__name__)
    one = kind.__new__(kind, *("x" for _ in kind.__match_args__[:-1])) if kind.__module__.endswith("_core") else None
    if one is not None:
        assert to_dict(one)["type"] == one.type == kind.type
        assert from_dict(to_dict(one)).type == kind.type
    assert "type" not in {field.name for field in dataclasses.fields(kind)} if one is None else True


def test_what_a_run_tells_is_told_apart_by_type() -> None:
    heard: list[Any] = []
    Agent(ScriptedModel([call("look", n=1), "done"]), tools=[look]).run_sync("go", on_event=heard.append)
    for event in heard:
        assert to_dict(event)["type"] == event.type
        assert from_dict(to_dict(event)).type == event.type
    assert [event.text for event in heard if event.type == "text_delta"] == ["done"]
    assert heard[-1].type == "run_finished"
    assert from_dict({"type": "from_the_future", "n": 1}).type == "from_the_future"
