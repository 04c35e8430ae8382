"""The journals in `tests/data/journals` replay: recorded once, held against the rules of every later version.

Where changed rules decide otherwise, `divergences.toml` beside them names the journal, the event and the reason; each of
those opens as a fork. `tests/record_journals.py` says how they were recorded.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, Journal, UsageError, replay, tool
from loopwright.journal import Replay
from loopwright.models import Call, Response
from loopwright.testing import ScriptedModel, call

FOLDER = Path(__file__).parent.parent / "data" / "journals"
FILES = sorted(FOLDER.glob("*.jsonl"))


def divergences() -> dict[str, tuple[int, str]]:
    """The journals that are decided otherwise today: the event's number, and why. Without a reader of TOML before 3.11."""
    found = {}
    entry = re.compile(r'\[(\w+)\]\nevent = (\d+)\nreason = "([^"]+)"')
    for name, event, reason in entry.findall((FOLDER / "divergences.toml").read_text(encoding="utf-8")):
        found[name] = (int(event), reason)
    return found


DIVERGENCES = divergences()


def held(name: str, found: Replay) -> None:
    assert found.damage is None
    if name not in DIVERGENCES:
        assert found.divergence is None, f"{name}: event {found.divergence}"
        return
    event, reason = DIVERGENCES[name]
    assert found.divergence is not None, f"{name} is decided as it was: take it out of divergences.toml"
    assert found.divergence["seq"] == event
    assert reason
    assert "changed since" in found.divergence["reason"]


def test_there_are_journals_of_both_kinds_of_store_and_every_divergence_is_one_of_theirs() -> None:
    assert len(FILES) >= 30
    assert (FOLDER / "store_two_runs.db").exists()
    assert set(DIVERGENCES) <= {path.stem for path in FILES} | {"store_two_runs"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_recorded_journal_replays_or_its_divergence_is_named(path: Path) -> None:
    held(path.stem, replay(path))


def test_recorded_runs_of_a_store_replay(tmp_path: Path) -> None:
    store = Journal(shutil.copy(FOLDER / "store_two_runs.db", tmp_path))
    runs = store.runs()
    assert len(runs) == 2
    for run in runs:
        held("store_two_runs", replay(store, run.id))


def test_a_journal_names_the_rules_that_decided_it() -> None:
    result = Agent(ScriptedModel(["Hello."])).run_sync("Say hello.", journal=True)
    head = json.loads((result.journal or "").splitlines()[0])
    assert head["rules"] >= 1
    recorded = json.loads((FOLDER / "plain.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert "rules" not in recorded


# ---- a run that is decided otherwise goes on as a fork ----


@tool
def write(n: int) -> str:
    """Writes."""
    return f"wrote {n}"


def unsummed(journal: str) -> str:
    """A journal of the first format, which has no sums, so that a line can be changed."""
    return re.sub(r',"sum":"[0-9a-f]{16}"', "", journal).replace('"loopwright":2', '"loopwright":1')


def decided_otherwise(path: Path, *, lines: int) -> Path:
    """The journal of a run with two writes, as if the rules then had asked nobody but told of it at event 2."""
    steps = [call("write", n=1), call("write", n=2), "done"]
    result = Agent(ScriptedModel(steps), tools=[write]).run_sync("go", journal=True)
    kept = unsummed(result.journal or "").replace('"rules":2', '"rules":1').splitlines(keepends=True)
    assert '"execute"' in kept[2]
    kept[2] = kept[2].replace('"commands":[', '"commands":["persist",', 1)
    path.write_text("".join(kept[:lines]), encoding="utf-8")
    return path


@pytest.mark.parametrize("way", ["run_sync", "run"])
def test_a_diverging_journal_is_an_error_with_event_and_reason_and_opens_as_a_fork(tmp_path: Path, way: str) -> None:
    path = decided_otherwise(tmp_path / "old.jsonl", lines=5)
    before = path.read_bytes()

    def resumed(agent: Agent[Any, Any], **options: Any) -> Any:
        return agent.resume_sync(path, **options) if way == "run_sync" else asyncio.run(agent.resume(path, **options))

    with pytest.raises(UsageError, match="event 2 .*changed since") as caught:
        resumed(Agent(ScriptedModel([]), tools=[write]))
    assert caught.value.code == "journal_diverged"
    made: list[int] = []

    @tool(name="write")
    def counted(n: int) -> str:
        """Writes."""
        made.append(n)
        return f"wrote {n}"

    # The old journal holds the result of the first write and the start of the second, behind the event that diverges.
    model = ScriptedModel([call("write", n=3), "done"])
    result = resumed(Agent(model, tools=[counted]), on_divergence="fork")
    assert result.final == "done"
    assert made == [3], "what the old run has written is not written again"
    assert [found.failure for found in result.tool_calls] == [None, None]
    assert path.read_bytes() == before
    assert result.journal is not None
    assert Path(result.journal).parent == tmp_path
    assert result.journal != str(path)
    assert replay(result.journal).identical
    head = json.loads(Path(result.journal).read_text(encoding="utf-8").splitlines()[0])
    assert head["about"]["forked_at"] == 2
    with pytest.raises(UsageError) as caught:
        resumed(Agent(model, tools=[counted]), on_divergence="fork")
    assert caught.value.code == "already_forked"
    assert "changed since" in head["about"]["forked_because"]


def test_a_call_that_took_effect_is_neither_made_nor_asked_about_again_under_another_id(tmp_path: Path) -> None:
    lines = (FOLDER / "shell_lines.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "old.jsonl"
    path.write_text("".join(lines[:13]), encoding="utf-8")
    made, asked = [], []

    @tool(name="shell", risk="confirm")
    def shell(command: str) -> str:
        """Runs a command."""
        made.append(command)
        return "ran"

    again = ("cat out/a.txt | wc -l", "rm -rf out")
    steps = [Response(calls=[Call("shell", {"command": line}, f"new-{line[:2]}")]) for line in again]
    names = [each["name"] for each in json.loads(lines[0])["machine"]["turn"]["tools"]]
    others = [tool(name=name)(lambda: "") for name in names if name != "shell"]
    agent = Agent(
        ScriptedModel([*steps, "done"]), tools=[shell, *others], guard=lambda question: asked.append(question)
    )
    result = agent.resume_sync(path, on_divergence="fork")
    assert result.final == "done"
    assert (made, asked) == ([], [])
    assert replay(result.journal or "").identical


def test_a_call_that_was_under_way_behind_the_divergence_is_not_made_again(tmp_path: Path) -> None:
    path = decided_otherwise(tmp_path / "old.jsonl", lines=3)
    made: list[int] = []

    @tool(name="write")
    def counted(n: int) -> str:
        """Writes."""
        made.append(n)
        return f"wrote {n}"

    result = Agent(ScriptedModel(["done"]), tools=[counted]).resume_sync(path, on_divergence="fork")
    assert made == []
    assert [found.failure for found in result.tool_calls] == ["unknown"]
    assert replay(result.journal or "").identical


def test_a_run_that_ended_is_not_opened_as_a_fork_and_other_words_are_refused(tmp_path: Path) -> None:
    path = decided_otherwise(tmp_path / "old.jsonl", lines=9)
    agent = Agent(ScriptedModel([]), tools=[write])
    with pytest.raises(UsageError) as caught:
        agent.resume_sync(path, on_divergence="fork")
    assert caught.value.code == "run_finished"
    with pytest.raises(UsageError) as caught:
        agent.resume_sync(path, on_divergence="maybe")  # type: ignore[arg-type]
    assert caught.value.code == "invalid_value"


def test_a_run_of_a_store_is_opened_as_a_fork_in_the_same_store(tmp_path: Path) -> None:
    store = Journal(tmp_path / "runs.db")
    name = store.import_run(decided_otherwise(tmp_path / "old.jsonl", lines=4))
    result = Agent(ScriptedModel(["done"]), tools=[write]).resume_sync(store, run=name, on_divergence="fork")
    assert result.final == "done"
    assert {run.id for run in store.runs()} == {name, result.run_id}
    assert replay(store, result.run_id).identical
