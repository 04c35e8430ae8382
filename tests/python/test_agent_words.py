"""`Grounded` and `Research` have the words of an `Agent`: its options, `clone`, `override`, `check`, `RunOptions`."""

from __future__ import annotations

import asyncio
import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
from loopwright import Budget, Grounded, Model, Research, UsageError, tool
from loopwright._words import UnknownOption
from loopwright.models import Response
from loopwright.testing import ScriptedModel, call

ROOF = "The roof of the pump house was built in 1950 of slate."
ANSWER = "The roof was built in 1950 [roof.md:1]."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "roof.md").write_text(ROOF, encoding="utf-8")
    return tmp_path / "docs"


class Judge:
    """A model of one's own that passes everything."""

    asked = 0

    def respond(self, request: Any) -> Response:
        Judge.asked += 1
        return Response('{"passed": true}')


def made(kind: str, folder: Path, **options: Any) -> Any:
    model = Model("anthropic:claude-sonnet-4-5", api_key=lambda: "none")
    if kind == "grounded":
        return Grounded(model, sources=[folder], **options)
    return Research(model, corpus={"roof.md": ROOF}, **options)


BOTH = pytest.mark.parametrize("kind", ["grounded", "research"])
WRONG = {
    "system_prompt": "here it is instructions",
    "temperature": 'here it is settings={"temperature": ...}',
    "max_turns": "here it is budget=Budget(rounds=...)",
    "instrctions": "did you mean instructions?",
}


@BOTH
@pytest.mark.parametrize("word", WRONG)
def test_an_unknown_option_gets_the_right_word_when_made_and_when_cloned(kind: str, word: str, folder: Path) -> None:
    for attempt in (lambda: made(kind, folder, **{word: 1}), lambda: made(kind, folder).clone(**{word: 1})):
        with pytest.raises(UnknownOption) as caught:
            attempt()
        assert caught.value.hint == WRONG[word]


@BOTH
@pytest.mark.parametrize("way", ["run_sync", "stream_sync", "stream", "resume_sync", "fork_sync"])
def test_an_unknown_option_of_a_run_gets_the_right_word(kind: str, way: str, folder: Path) -> None:
    asked: tuple[Any, ...] = ("x", 1) if way == "fork_sync" else ("x",)
    with pytest.raises(UnknownOption, match="has no option max_turns") as caught:
        getattr(made(kind, folder), way)(*asked, max_turns=3)
    assert caught.value.hint == "here it is budget=Budget(rounds=...)"


@BOTH
@pytest.mark.parametrize("option", ["output_type", "handoffs", "session", "after"])
def test_what_is_an_agents_alone_is_refused(kind: str, option: str, folder: Path) -> None:
    with pytest.raises(UsageError, match=f"{option} is for an Agent") as caught:
        made(kind, folder, **{option: [int]})
    assert caught.value.code == ("invalid_handoff" if option == "handoffs" else "invalid_option")
    assert caught.value.hint
    with pytest.raises(UnknownOption, match="has no option session"):
        made(kind, folder).run_sync("x", session="sam")


def test_override_and_clone_of_a_grounded_change_that_alone(folder: Path) -> None:
    Judge.asked = 0
    docs = made("grounded", folder, judge=Judge(), instructions="Be brief.")
    with docs.override(model=ScriptedModel([ANSWER] * 3)):
        assert docs.run_sync("When was the roof built?").verified
        assert docs.run_sync("When was the roof built?", context={"user": "sam"}).verified
        with docs.stream_sync("When was the roof built?") as stream:
            assert list(stream)[-1].type == "run_finished"
    assert Judge.asked == 0
    model = ScriptedModel([ANSWER])
    other = docs.clone(model=model, judge=None, profile="markdown")
    assert other.run_sync("When was the roof built?").final == ANSWER
    assert "Be brief." in model.requests[0].to_json()
    assert (docs.model, other.model) == ("anthropic:claude-sonnet-4-5", "scripted")
    assert other.sources == docs.sources


def test_options_of_a_run_hold_for_it_alone(folder: Path, tmp_path: Path) -> None:
    @tool(read_only=True)
    def year(of: str) -> str:
        """The year of a thing."""
        return f"{of}: 1950"

    docs = made("grounded", folder)
    model = ScriptedModel([call("year", of="roof"), ANSWER])
    seen: list[Any] = []
    found = docs.run_sync(
        "When was the roof built?",
        model=model,
        tools=[year],
        instructions="Say the year.",
        user="sam",
        metadata={"ticket": 7},
        journal=tmp_path / "runs.db",
        run_id="roof",
        budget=Budget(rounds=4),
        on_event=seen.append,
    )
    assert (found.final, found.run_id, [each.name for each in found.tool_calls]) == (ANSWER, "roof", ["year"])
    assert seen[-1].type == "run_finished"
    assert docs.tools.names == ()
    with pytest.raises(UsageError, match="history and messages"):
        docs.run_sync("x", ["before"], messages=found.messages)
    again = asyncio.run(docs.fork(tmp_path / "runs.db", 1, run="roof", tools=[year], model=ScriptedModel([ANSWER])))
    assert again.final == ANSWER


def test_a_research_is_done_by_rules_or_by_a_model_as_the_run_says(folder: Path) -> None:
    research = made("research", folder)
    with research.override(model="offline:extractive"):
        quoted = research.run_sync("When was the roof built?")
    assert "1950" in quoted.markdown
    assert (quoted.stop_reason, research.model) == ("verified", "anthropic:claude-sonnet-4-5")
    assert research.clone(model="offline:extractive").run_sync("When was the roof built?").report == quoted.report
    summary = research.run_sync("When was the roof built?", "summary", model="offline:extractive")
    assert summary.style == "summary"


@BOTH
def test_copies_ask_as_the_first_one_does(kind: str, folder: Path) -> None:
    options: dict[str, Any] = {"corpus": {"roof.md": ROOF}} if kind == "research" else {"sources": iter([folder])}
    first = (Research if kind == "research" else Grounded)("offline:extractive", **options)
    first.about({"ticket": 7})
    for other in (pickle.loads(pickle.dumps(first)), copy.deepcopy(first), first.clone(name="docs")):  # noqa: S301
        assert other.model == first.model
        assert "1950" in str(other.run_sync("When was the roof built?"))


@BOTH
def test_check_finds_the_key_that_is_not_there(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    docs = made(kind, folder).clone(model="anthropic:claude-sonnet-4-5")
    with pytest.raises(UsageError) as caught:
        docs.check()
    assert caught.value.code == "missing_key"
    with docs.override(model="offline:extractive"):
        assert docs.check() == docs.clone(model="offline:extractive").check()
