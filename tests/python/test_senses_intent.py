"""The senses of words from Python: next step, signals of a reply, intent, drift."""

from __future__ import annotations

import asyncio
import doctest
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopwright import Agent, Message, UsageError, monitor
from loopwright.events import Event, IntentAssessed
from loopwright.monitor import GoalDrift, _drift, _intent, _signals, assess_intent, next_step, signals
from loopwright.testing import ScriptedModel

LABELLED = Path(__file__).parents[1] / "data" / "intent" / "requests.jsonl"
PAIRS = Path(__file__).parents[3] / "shared" / "data" / "intent" / "drift_pairs.jsonl"

PIECES = st.lists(
    st.sampled_from(
        [
            "I'll ",
            "let me ",
            "done",
            "delete ",
            "it ",
            "actually ",
            "? ",
            ". ",
            "\n",
            "`",
            '"',
            "\u2019",
            "é",
            "東京",
            "🙂",
            "> ",
            "- ",
            "```\n",
        ]
    )
    | st.text(max_size=5),
    max_size=40,
).map("".join)


def test_the_examples_in_the_docstrings_run() -> None:
    for module in (_signals, _intent, _drift):
        failed, tried = doctest.testmod(module)
        assert tried >= 5, module
        assert failed == 0, module


def test_every_name_is_there() -> None:
    for name in monitor.__all__:
        assert getattr(monitor, name) is not None


@given(PIECES)
def test_c20_c23_d31_places_are_in_characters(text: str) -> None:
    if step := next_step(text):
        for span in (step.step, step.cue, step.sentence):
            assert text[span.start : span.end] == span.text
    for signal in signals(text).found:
        assert signal.words.text == text[signal.words.start : signal.words.end]
        assert signal.words.text in signal.sentence.text or not signal.words.text
    intent = assess_intent(text)
    assert 0 <= intent.confidence <= 1
    for one in intent.evidence:
        assert one.words.text == text[one.words.start : one.words.end]


def test_c20_places_after_wide_characters() -> None:
    step = next_step("🙂 東京: ok. I'll read the file.")
    assert step is not None
    assert step.step.text == "read the file"


def test_d33_at_most_three_kinds_of_sub_agents_that_there_are() -> None:
    request = "Explore the codebase, figure out how sessions are stored and refactor the session module to use redis"
    assert assess_intent(request).sub_agents == ("explore", "code")
    assert assess_intent(request, sub_agents=["code"]).sub_agents == ("code",)
    alone = assess_intent(request, sub_agents=[])
    assert (alone.decision, alone.plan, alone.sub_agents) == ("direct", True, ())


def test_x25_history_of_any_kind_resolves_a_reference() -> None:
    assert assess_intent("Delete it.").decision == "ask_first"
    said = "I wrote /tmp/report.csv."
    for history in (
        [said],
        [Message.assistant(said)],
        [{"role": "assistant", "content": said}],
        [{"role": "assistant", "content": [{"type": "text", "text": said}]}],
    ):
        assert assess_intent("Delete it.", history).decision == "direct"
    with pytest.raises(UsageError, match="no message") as caught:
        assess_intent("Delete it.", [3])
    assert caught.value.code == "invalid_history"


@pytest.mark.parametrize(
    ("words", "decision"),
    [
        # A question mark is no ambiguity (X25); a missing target is.
        ("What does the parser return for an empty list?", "direct"),
        ("Delete it.", "ask_first"),
        # Words that destroy stop nothing where the target is named (X05); several steps of them want a plan.
        ("Delete all completed sessions.", "direct"),
        ("Drop the staging database, purge the cache and remove the old backups, then recreate everything.", "plan"),
        (
            "Refactor the auth module, then update every caller, add tests, run them, and write a changelog entry.",
            "plan",
        ),
        ("Fix the bug in the function parse_date.", "plan"),
    ],
)
def test_d35_words_in_a_task_lead_to_decisions(words: str, decision: str) -> None:
    found = assess_intent(words)
    assert found.decision.startswith(decision), found
    # What decided can be read, where it stands in the words.
    assert found.signals


def test_d36_an_unsure_direct_becomes_a_question() -> None:
    intent = assess_intent("banana")
    assert intent.escalated
    assert intent.decision == "ask_first"
    assert intent.question


@pytest.mark.parametrize("half", ["tuned", "held_out"])
def test_d32_labelled_requests(half: str) -> None:
    rows = [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["half"] == half]
    assert len(rows) > 100
    right = sum(assess_intent(row["message"], row.get("history")).decision == row["decision"] for row in rows)
    assert right / len(rows) >= 0.9


def test_d39_x24_drift_and_its_events() -> None:
    told = []
    drift = GoalDrift("Refactor the authentication module to use signed tokens", on_change=told.append)
    assert drift.observe("yes, go on").event is None
    seen = drift.observe("Actually, what should I cook for dinner with chicken and rice?")
    assert seen.event is not None
    assert [phrase.text for phrase in seen.phrases] == ["Actually"]
    assert (seen.event.before, seen.event.after, seen.event.message) == ("on_goal", "drifted", 2)
    assert told == drift.events == [seen.event]
    again = GoalDrift.from_json(drift.to_json())
    assert (again.state, again.goal) == ("drifted", drift.goal)
    drift.revise("Plan a dinner for six")
    assert drift.former_goals == ["Refactor the authentication module to use signed tokens"]
    assert drift.state == "on_goal"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"goal": " "}, "empty_goal"),
        ({"goal": "x", "enter": 0.2}, "invalid_thresholds"),
        ({"goal": "x", "embedder": lambda _: [[1.0]]}, "invalid_vectors"),
    ],
)
def test_d39_bad_input_is_a_typed_error(arguments: dict[str, object], code: str) -> None:
    with pytest.raises(UsageError) as caught:
        GoalDrift(**arguments)  # type: ignore[arg-type]
    assert caught.value.code == code


def toy(text: str) -> list[float]:
    """Counts letters."""
    return [float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"]


def test_x24_embedders_of_one_text_and_of_many() -> None:
    def many(texts: Sequence[str]) -> list[list[float]]:
        assert not isinstance(texts, str)
        return [toy(text) for text in texts]

    def one(text: str) -> list[float]:
        return toy(text.lower())

    def lazy(texts: Sequence[str]) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(toy(text)) for text in texts)

    scores = []
    for embedder in (many, one, lazy):
        drift = GoalDrift("zebras in the zoo", embedder=embedder)
        scores.append([drift.observe(text).anchor for text in ("zebras of the zoo", "quick brown fox jumping")])
    assert scores[0] == scores[1] == scores[2]
    assert scores[0][0] < scores[0][1]


@pytest.mark.skipif(not PAIRS.exists(), reason=f"no {PAIRS}")
def test_d39_pairs_of_requests_by_words_alone() -> None:
    pairs = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    held_out = pairs[len(pairs) // 2 :]
    scores: dict[str, list[float]] = {}
    alarms = 0
    for pair in held_out:
        seen = GoalDrift(pair["before"]).observe(pair["after"])
        scores.setdefault(pair["relation"], []).append(seen.anchor)
        alarms += pair["relation"] == "same" and seen.state == "drifted"
    wins = sum((a > b) + (a == b) / 2 for a in scores["different"] for b in scores["same"])
    assert wins / (len(scores["different"]) * len(scores["same"])) >= 0.9
    assert alarms / len(scores["same"]) <= 0.12


def test_d31_a_run_tells_the_intent_and_goes_on() -> None:
    async def watch() -> list[Event]:
        return [event async for event in Agent(ScriptedModel(["Done."])).stream("Delete it.")]

    seen = asyncio.run(watch())
    told = [event for event in seen if isinstance(event, IntentAssessed)]
    assert [event.decision for event in told] == ["ask_first"]
    assert ["destructive", "Delete"] in [list(pair) for pair in told[0].evidence]


def test_c20_c23_d31_x24_what_is_no_text_is_a_typed_error() -> None:
    drift = GoalDrift("Refactor the authentication module")
    for given_ in (None, 5, b"text", ["text"]):
        for sense in (next_step, signals, assess_intent, GoalDrift, drift.observe, drift.revise):
            with pytest.raises(UsageError, match="not a text"):
                sense(given_)  # type: ignore[operator]
    for history in (5, "one text", {"role": "user"}, [5]):
        with pytest.raises(UsageError) as error:
            assess_intent("fix it", history)  # type: ignore[arg-type]
        assert error.value.code == "invalid_history"
    with pytest.raises(UsageError, match="embedder"):
        GoalDrift("a goal", embedder=5)  # type: ignore[arg-type]


def test_halves_of_characters_move_no_place() -> None:
    text = "\ud83d I'll run the tests."
    step = next_step(text)
    assert step is not None
    assert text[step.step.start : step.step.end] == step.step.text == "run the tests"
    assert signals("\udc00 Done.").complete
    assert assess_intent("Delete it \ud800", ["\ud800"]).decision
    assert GoalDrift("a \ud800 goal").observe("\udfff").state == "on_goal"
