"""The rules that hold an answer against its sources, as a program meets them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from loopwright import Budget, Grounded
from loopwright.events import PhaseFinished
from loopwright.testing import ScriptedModel

QUESTION = "How often is a failed request tried again, and what happens to it in the end?"
GOOD = (
    "A failed request is tried again up to 3 times, and then it is given up for good; nothing is kept of it. [net.md:3]"
)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "net.md").write_text(
        "# Retries\n\nA failed request is tried again up to 3 times, and then it is given up for good; nothing is kept of it.\n"
    )
    (tmp_path / "other.md").write_text("# Cook\n\nThe soup is pumpkin.\n")
    return tmp_path


def verified(docs: Path, *answers: str, attempts: int = 1, **options: Any) -> tuple[Any, list[dict[str, Any]]]:
    """The result, and what each check found."""
    events: list[Any] = []
    grounded = Grounded(ScriptedModel(answers), sources=[docs], budget=Budget(verify_attempts=attempts), **options)
    result = grounded.run_sync(QUESTION, on_event=events.append)
    return result, [event.output for event in events if isinstance(event, PhaseFinished) and event.phase == "verify"]


def test_e08_what_was_gathered_is_counted_and_timed(docs: Path) -> None:
    events: list[Any] = []
    result = Grounded("offline:extractive", sources=[docs]).run_sync(QUESTION, on_event=events.append)
    (gathered,) = [event for event in events if isinstance(event, PhaseFinished) and event.phase == "gather"]
    assert gathered.output["files_seen"] == 2
    assert gathered.output["sources"] == 1
    assert 0 < gathered.duration <= result.duration
    (source,) = result.sources
    assert (source.kind, source.reference, source.line, source.heading) == ("file", "net.md", 3, "Retries")
    assert source.text == (docs / "net.md").read_text().splitlines()[2]
    assert source.score > 0


@pytest.mark.parametrize("empty", ["…", "**", "[net.md:3]"])
def test_e12_an_answer_without_words_never_passes(docs: Path, empty: str) -> None:
    result, checks = verified(docs, empty, GOOD, attempts=2)
    assert (result.final, result.attempts) == (GOOD, 2)
    assert [check["passed"] for check in checks] == [False, True]
    assert "EMPTY" in str(checks[0]["issues"])
    assert verified(docs, empty)[0].stop_reason == "unverified"


def test_e13_short_for_a_long_question_is_a_warning(docs: Path) -> None:
    result, checks = verified(docs, "A failed request is tried 3 times. [net.md:3]")
    assert (result.stop_reason, result.attempts) == ("verified", 1)
    assert "MINIMUM_LENGTH" in str(checks[0]["issues"])
    assert any("MINIMUM_LENGTH" in warning for warning in result.warnings)
    assert not any("MINIMUM_LENGTH" in warning for warning in verified(docs, GOOD)[0].warnings)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (GOOD.removesuffix(" [net.md:3]"), "UNCITED"),
        (GOOD.replace("net.md:3", "net.md:300"), "CITATION_UNKNOWN"),
        (GOOD.replace("net.md:3", "source"), "UNCITED"),
        (GOOD.replace("3 times", "7 times"), "UNSUPPORTED"),
    ],
)
def test_e16_sources_are_named_and_the_names_are_checked(docs: Path, answer: str, code: str) -> None:
    result, checks = verified(docs, answer)
    assert (result.stop_reason, result.final, result.best_draft) == ("unverified", None, answer)
    assert code in str(checks[0]["issues"])
    assert verified(docs, GOOD)[0].final == GOOD


def test_e17_an_answer_beside_the_question_is_told(docs: Path) -> None:
    beside = (docs / "net.md").read_text().splitlines()[2]
    grounded = Grounded(ScriptedModel([f"{beside} [net.md:3]"]), sources=[docs])
    result = grounded.run_sync("Which pumpkin soup request recipes?")
    assert "ADDRESSES_QUESTION" not in str(result.warnings)
    grounded = Grounded(
        ScriptedModel(["The soup is pumpkin, and nothing else is known about any of it. [other.md:3]"]), sources=[docs]
    )
    result = grounded.run_sync("Does anybody cook breakfast?")
    assert "ADDRESSES_QUESTION" in str(result.warnings)
    assert result.stop_reason == "verified"


def test_e19_warnings_do_not_keep_an_answer_back(docs: Path) -> None:
    result, checks = verified(docs, "A failed request is tried 3 times. [net.md:3]", "never asked for", attempts=3)
    assert (result.stop_reason, result.verified, result.attempts) == ("verified", True, 1)
    assert checks[0]["passed"] is True
    assert checks[0]["issues"]
    assert all(issue["severity"] == "warning" for issue in checks[0]["issues"]), checks
