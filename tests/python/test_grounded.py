"""Grounded answers through the public API: the offline model over real folders, and models of one's own."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from handbook import GOOD, QUESTION, Scripted
from loopwright import Budget, Grounded, Model, ProviderError, UsageError, replay, tool
from loopwright.events import Draft, PhaseFinished, PhaseStarted, RunFinished, TextDelta
from loopwright.models import Call, Response
from loopwright.run import Signal
from loopwright.testing import WireServer, fault

HANDBOOK = Path(__file__).parent.parent / "data" / "handbook"
OFFLINE = "offline:extractive"
SNAPSHOT = "How often does the server write a snapshot?"


def texts(request: dict[str, Any]) -> list[str]:
    return [
        "".join(block.get("text", "") for block in message["content"] if block["type"] == "text")
        for message in request["messages"]
    ]


def test_e01_e04_the_offline_model_answers_from_the_handbook() -> None:
    result = Grounded(OFFLINE, sources=[HANDBOOK]).run_sync(SNAPSHOT)
    assert (result.stop_reason, result.verified, result.attempts) == ("verified", True, 1)
    assert result.final is not None and "every 6 hours" in result.final
    cited = result.sources[0]
    assert (cited.reference, cited.line, cited.end_line) == ("operations.md", 5, 6)
    assert cited.text == "\n".join((HANDBOOK / "operations.md").read_text().splitlines()[4:6])
    assert str(result) == result.final == result.output
    assert result.model == "offline-extractive (not an LLM)"


def test_e01_the_phases_are_told_with_what_came_of_them() -> None:
    events: list[Any] = []
    asyncio.run(Grounded(OFFLINE, sources=str(HANDBOOK)).run(SNAPSHOT, on_event=events.append))
    phases = [(event.phase, event.attempt) for event in events if isinstance(event, PhaseStarted)]
    assert phases == [("gather", 1), ("act", 1), ("verify", 1)]
    ended = {event.phase: event for event in events if isinstance(event, PhaseFinished)}
    assert ended["gather"].output["files_seen"] == 4 and ended["gather"].output["sources"] > 0
    assert ended["gather"].duration > 0
    assert ended["verify"].output == {"passed": True, "issues": ended["verify"].output["issues"]}
    assert isinstance(events[-1], RunFinished)


def test_e02_e18_an_answer_that_fails_is_asked_for_again_with_the_reasons(docs: Path) -> None:
    model = Scripted("It is tried 5 times. [net.md:3]", "It is tried often. [other.md:9]", GOOD)
    result = Grounded(model, sources=[docs]).run_sync(QUESTION)
    assert (result.stop_reason, result.attempts, result.final) == ("verified", 3, GOOD)
    assert len(texts(model.requests[0])) == 1
    prompt, draft, feedback = texts(model.requests[1])
    assert prompt.startswith("Context:\n[1] net.md:1-3") and prompt.endswith(f"User Question: {QUESTION}")
    assert draft == "It is tried 5 times. [net.md:3]"
    assert feedback.startswith("[Previous attempt feedback: Please fix: UNSUPPORTED: ")
    assert "CITATION_UNKNOWN: [other.md:9]" in texts(model.requests[2])[-1]
    assert "Not found in the sources: <what>" in json.dumps(model.requests[0]["system"])
    assert result.transcript.count("It is tried") == 2


def test_e20_nothing_unverified_passes_for_an_answer(docs: Path) -> None:
    model = Scripted("Up to 7 times.", "It is tried 5 times. [net.md:3]", "8 times. [4]\n\nOr 9. [5]")
    result = Grounded(model, sources=[docs]).run_sync(QUESTION)
    assert (result.stop_reason, result.verified, result.attempts) == ("unverified", False, 3)
    assert (result.final, result.ok, result.sources) == (None, False, [])
    assert result.best_draft == "It is tried 5 times. [net.md:3]"
    assert result.message is not None and "3 attempts" in result.message and result.message.count("•") > 2
    assert str(result) == result.message
    assert any(warning.startswith("UNSUPPORTED") for warning in result.warnings)


def test_x01_attempts_share_the_budget(docs: Path) -> None:
    model = Scripted("Often.", "Very often.", GOOD)
    result = Grounded(model, sources=[docs], budget=Budget(rounds=2)).run_sync(QUESTION)
    assert (result.stop_reason, result.hit_ceiling, result.rounds) == ("rounds", True, 2)
    assert result.final is None and result.best_draft == "Very often."
    one = Grounded(Scripted("Often."), sources=[docs], budget=Budget(verify_attempts=1)).run_sync(QUESTION)
    assert (one.stop_reason, one.attempts) == ("unverified", 1)


def test_x04_drafts_stream_and_are_called_drafts(docs: Path) -> None:
    async def watch() -> list[Any]:
        stream = Grounded(Scripted("Often.", GOOD), sources=[docs]).stream(QUESTION)
        events = [event async for event in stream]
        assert stream.result.final == GOOD
        return events

    events = asyncio.run(watch())
    drafts = [(event.text, event.attempt, event.verified) for event in events if isinstance(event, Draft)]
    assert drafts == [("Often.", 1, False), (GOOD, 2, False)]

    async def offline() -> str:
        stream = Grounded(OFFLINE, sources=[HANDBOOK]).stream(SNAPSHOT)
        shown = "".join([event.text async for event in stream if isinstance(event, TextDelta)])
        assert shown == stream.result.final
        return shown

    assert "6 hours" in asyncio.run(offline())


def test_e07_an_empty_folder_holds_nothing(tmp_path: Path) -> None:
    result = Grounded(OFFLINE, sources=[tmp_path]).run_sync(SNAPSHOT)
    assert (result.stop_reason, result.verified, result.sources) == ("abstained", True, [])
    assert result.final is not None and result.final.startswith("I found nothing about")


def test_e07_a_missing_folder_is_an_error_that_names_it(tmp_path: Path) -> None:
    missing = tmp_path / "none"
    with pytest.raises(UsageError, match=str(missing)) as caught:
        Grounded(OFFLINE, sources=[HANDBOOK, missing]).run_sync(SNAPSHOT)
    assert caught.value.code == "folder_not_found"
    assert caught.value.result is not None and caught.value.result.stop_reason == "error"


def test_e07_paths_with_spaces_and_other_letters(tmp_path: Path) -> None:
    folder = tmp_path / "my docs, ä"
    (folder / "sub folder").mkdir(parents=True)
    shutil.copy(HANDBOOK / "operations.md", folder / "sub folder" / "the operations, (new).md")
    result = Grounded(OFFLINE, sources=folder).run_sync(SNAPSHOT)
    assert result.stop_reason == "verified", result
    assert result.sources[0].reference == "sub folder/the operations, (new).md"
    assert result.sources[0].line == 5


def test_e07_several_folders_are_told_apart(docs: Path) -> None:
    result = Grounded(OFFLINE, sources=[docs, HANDBOOK]).run_sync(SNAPSHOT)
    assert result.sources[0].reference == "handbook/operations.md"
    assert "[handbook/operations.md:5-6]" in (result.final or "")
    file = Grounded(OFFLINE, sources=docs / "net.md").run_sync(QUESTION)
    assert file.sources[0].reference == "net.md"


def test_e11_tools_are_sources_and_run_once(tmp_path: Path) -> None:
    ran: list[str] = []

    @tool(read_only=True)
    def tide(place: str) -> str:
        "When the tide is high."
        ran.append(place)
        return f"High tide in {place} is at 14:20."

    model = Scripted(
        Response(calls=[Call("tide", {"place": "Husum"})]),
        "High tide in Husum is at 15:20 today, as far as is known. [tide]",
        "High tide in Husum is at 14:20 today, as far as is known. [tide:1]",
    )
    result = Grounded(model, sources=[tmp_path], tools=[tide]).run_sync("When is high tide in Husum?")
    assert (result.stop_reason, result.attempts, ran) == ("verified", 2, ["Husum"])
    assert [(source.kind, source.reference) for source in result.sources] == [("tool", "tide")]
    assert [call.name for call in result.tool_calls] == ["tide"]


def test_e11_a_later_attempt_never_repeats_a_side_effect(tmp_path: Path) -> None:
    paid: list[tuple[int, str]] = []
    read: list[str] = []

    def pay(amount: int, to: str) -> str:
        """Pays."""
        paid.append((amount, to))
        if to == "Nobody":
            raise ValueError(to)
        return f"paid {amount} to {to}"

    @tool(read_only=True)
    def balance(of: str) -> str:
        """Reads a balance."""
        read.append(of)
        return f"{of} has 7"

    def asked(*calls: Call) -> Response:
        return Response(calls=list(calls))

    bo, nobody, look = (
        Call("pay", {"amount": 5, "to": "Bo"}),
        Call("pay", {"amount": 1, "to": "Nobody"}),
        Call("balance", {"of": "Bo"}),
    )
    model = Scripted(
        asked(bo, nobody, look),
        "Bo got 6. [pay]",
        # Once more, the arguments in another order; what failed and what only reads, too.
        asked(Call("pay", {"to": "Bo", "amount": 5}), nobody, look),
        "Bo got 6. [pay]",
        asked(bo, Call("pay", {"amount": 2, "to": "Bo"})),
        "Bo got 5. [pay]",
    )
    journal = tmp_path / "run.jsonl"
    result = Grounded(model, sources=[], tools=[pay, balance]).run_sync("What did Bo get?", journal=journal)
    assert (result.stop_reason, result.attempts) == ("verified", 3)
    assert paid == [(5, "Bo"), (1, "Nobody"), (1, "Nobody"), (2, "Bo")]
    assert read == ["Bo", "Bo"], "what only reads may read again"
    assert [call.arguments["amount"] for call in result.tool_calls if call.name == "pay" and not call.failure] == [5, 2]
    assert sum("not_repeated" in warning for warning in result.warnings) >= 1
    assert result.messages.to_json().count("paid 5 to Bo") == 3, "the model is given the result that there is"
    assert replay(journal).divergence is None


def test_e06_the_conversation_is_searched_and_goes_on(docs: Path) -> None:
    said = ["The codename of the release is Halibut."]
    result = Grounded(OFFLINE, sources=[docs]).run_sync("What is the codename of the release?", said)
    assert result.stop_reason == "verified"
    assert (result.sources[0].kind, result.sources[0].reference) == ("thread", "thread#1")
    model = Scripted(GOOD, "It is tried again up to 3 times, as was said before, and no more. [net.md:3]")
    grounded = Grounded(model, sources=[docs])
    first = grounded.run_sync(QUESTION)
    second = grounded.run_sync("And is the request tried again after that?", first.messages)
    assert second.stop_reason == "verified" and len(model.requests[1]["messages"]) == 3


def test_e14_the_slack_profile(docs: Path) -> None:
    model = Scripted(f"**So**: {GOOD}", GOOD)
    result = Grounded(model, sources=[docs], profile="slack").run_sync(QUESTION)
    assert result.attempts == 2 and "MARKDOWN_BOLD" in texts(model.requests[1])[-1]


def test_e03_who_asks_stands_in_the_journal_which_replays(docs: Path, tmp_path: Path) -> None:
    grounded = Grounded(Scripted("Often.", GOOD), sources=[docs])
    result = grounded.run_sync(QUESTION, context={"user": "U1", "thread": "t.9"}, journal=tmp_path / "run.jsonl")
    journal = (tmp_path / "run.jsonl").read_text()
    assert json.loads(journal.splitlines()[0])["machine"]["grounded"]["labels"] == {"user": "U1", "thread": "t.9"}
    again = replay(tmp_path / "run.jsonl")
    assert again.divergence is None
    assert result.final == GOOD


def test_wrong_settings_are_told_at_once(docs: Path) -> None:
    with pytest.raises(UsageError, match="slick"):
        Grounded(OFFLINE, sources=[docs], profile="slick")
    with pytest.raises(UsageError, match="file_source"):
        Grounded(OFFLINE, sources=[docs], gather={"file_source": 3})
    with pytest.raises(UsageError, match="output_type"):
        Grounded(OFFLINE, sources=[docs], output_type=int)
    with pytest.raises(UsageError) as caught:
        Grounded(OFFLINE, sources=[docs], budget=Budget(verify_attempts=0))
    assert caught.value.code == "invalid_budget"
    with pytest.raises(UsageError):
        Grounded(OFFLINE, sources=[docs]).run_sync("  ")


def test_e10_gather_limits(docs: Path) -> None:
    for at in range(6):
        (docs / f"{at}.md").write_text("A failed request is retried. " * 40)
    events: list[Any] = []
    limits = {"file_sources": 2, "per_file": 1, "source_chars": 100}
    Grounded(OFFLINE, sources=[docs], gather=limits).run_sync(QUESTION, on_event=events.append)
    gathered = next(event for event in events if isinstance(event, PhaseFinished))
    assert gathered.output["sources"] == 2


def test_cancel_keeps_what_was_used(docs: Path) -> None:
    signal = Signal()

    @tool(read_only=True)
    def look() -> str:
        "Looks."
        signal.cancel()
        return "seen"

    class Slow:
        name = "slow"
        asked = 0

        async def respond(self, request: Any) -> Any:
            self.asked += 1
            if self.asked == 1:
                return Response(calls=[Call("look")], input_tokens=7)
            await asyncio.sleep(30)
            return Response("late")

    grounded = Grounded(Slow(), sources=[docs], tools=[look])
    result = asyncio.run(grounded.run(QUESTION, signal=signal))
    assert (result.stop_reason, result.final, result.verified) == ("cancelled", None, False)
    assert result.usage.input_tokens == 7 and [call.name for call in result.tool_calls] == ["look"]


def test_e26_errors_are_typed_by_guilt_and_say_what_to_do(docs: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as missing:
        Grounded(OFFLINE, sources=[tmp_path / "nowhere"]).run_sync(SNAPSHOT)
    assert (missing.value.code, missing.value.hint) == ("folder_not_found", "check the path of the folder")
    with pytest.raises(UsageError) as empty:
        Grounded(OFFLINE, sources=[docs]).run_sync(" ")
    assert empty.value.code == "empty_prompt"
    with pytest.raises(UsageError) as profile:
        Grounded(OFFLINE, sources=[docs], profile="fax")
    assert profile.value.code == "invalid_value"
    with WireServer([fault.status(500)] * 9) as server, pytest.raises(ProviderError) as broken:
        Grounded(
            Model("anthropic:any", base_url=server.url, api_key="k", retry={"attempts": 2, "base": 0.01}),
            sources=[docs],
        ).run_sync("How often is a failed request tried again?")
    # What the run had until then comes with the error.
    assert broken.value.result is not None
    assert broken.value.result.stop_reason == "error"
    assert broken.value.result.final is None
    with WireServer([fault.status(401)]) as server, pytest.raises(UsageError) as key:
        Grounded(Model("anthropic:any", base_url=server.url, api_key="k"), sources=[docs]).run_sync(SNAPSHOT)
    assert key.value.code == "auth"


def test_repr_shows_the_model_and_the_folders(docs: Path) -> None:
    grounded = Grounded(OFFLINE, sources=[docs])
    assert repr(grounded) == f"<Grounded offline-extractive (not an LLM) sources=[{os.fspath(docs)!r}]>"


def test_e06_a_follow_up_is_gathered_with_its_thread(tmp_path: Path) -> None:
    (tmp_path / "leave.md").write_text("Vacation is signed off by the line manager.\n")
    asked: list[str] = []

    def board(question: str) -> list[str]:
        asked.append(question)
        return []

    model = Scripted("Vacation is signed off by the line manager. [leave.md:1]")
    said = ["How much vacation do I get?", "You get 25 days."]
    result = Grounded(model, sources=[tmp_path, board]).run_sync("And who does that?", said)
    assert any(source.reference == "leave.md" for source in result.sources), result
    assert "vacation" in asked[0] and asked[0].endswith("And who does that?")


def test_e24_a_draft_that_failed_is_void(docs: Path) -> None:
    async def watch() -> list[str]:
        return [
            type(event).__name__ async for event in Grounded(Scripted("Often.", GOOD), sources=[docs]).stream(QUESTION)
        ]

    told = asyncio.run(watch())
    assert told.count("Reset") == 1
    assert told.index("Draft") < told.index("Reset") < len(told) - 1 - told[::-1].index("Draft")
