"""Symbolic links in a run: a question shows where a path leads, a yes is for that, and what leads out of the workspace
does not run as if it stayed in it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from loopwright import Agent, Approval
from loopwright.guard import Approvals, Guard, Policy
from loopwright.testing import ScriptedModel, call
from loopwright.tools import builtin_tools

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with links, below a home folder that holds other things as well."""
    home = tmp_path / "home"
    work = home / "work"
    (work / "src").mkdir(parents=True)
    (home / "other").mkdir()
    (home / "other" / "kept").write_text("kept")
    (work / "src" / "kept").write_text("kept")
    (work / "out").symlink_to(home / "other")
    (work / "in").symlink_to(work / "src")
    (home / ".ssh").mkdir()
    (work / "keys").symlink_to(home / ".ssh")
    (work / "gone").symlink_to(home / ".ssh" / "config")
    monkeypatch.setenv("HOME", str(home))
    return work


def ran(agent: Agent, task: str) -> list[str | None]:
    """How each call failed, in order."""
    return [call.failure for call in agent.run_sync(task).tool_calls]


def agent_of(place: Path, calls: list[Any], ask: Any = None) -> Agent:
    tools = builtin_tools(place, sandbox=False)
    approvals = Approvals(ask) if ask is not None else None
    return Agent(ScriptedModel([*calls, "Done."]), tools=tools, guard=Guard(policy=Policy(), approve=approvals))


def test_a_question_shows_where_a_path_leads(place: Path) -> None:
    asked: list[Approval] = []

    def ask(question: Approval) -> bool:
        asked.append(question)
        return True

    lines = ["rm -r out/kept", "rm -r out/more", "rm -r in/kept"]
    agent = agent_of(place, [call("shell", command=line) for line in lines], ask)
    assert ran(agent, "tidy") == [None] * 3
    first, *_, last = asked
    real = str(place.parent / "other" / "kept")
    assert any("out/kept" in touched and real in touched for touched in first.touches), first.touches
    assert "leads to" in first.why
    assert first.links == {str(place / "out"): str(place.parent / "other")}
    assert "in the workspace" in (last.keeps or "")
    assert "in the workspace" not in (first.keeps or "")
    assert not (place.parent / "other" / "kept").exists(), "a yes was given"


def test_a_yes_for_the_workspace_is_none_for_where_a_link_leads(place: Path) -> None:
    asked: list[str] = []

    def ask(question: Approval) -> bool | str:
        asked.append(question.arguments["command"])
        return len(asked) == 1 or "no"

    lines = ["rm -r src/kept", "rm -r in/a", "rm -r out/kept"]
    ran(agent_of(place, [call("shell", command=line) for line in lines], ask), "tidy")
    assert asked == ["rm -r src/kept", "rm -r out/kept"]
    assert (place.parent / "other" / "kept").exists()


def test_what_leads_out_does_not_run_as_if_it_stayed_within(place: Path) -> None:
    calls = [
        call("shell", command="touch in/a"),
        call("shell", command="cp src/kept keys/copied"),
        call("shell", command="cd keys && cp ../src/kept there"),
        call("shell", command="echo a > gone"),
        call("shell", command="cat in/../src/kept"),
    ]
    task = "touch a, copy src/kept to copied, echo into gone: use touch, cp, cat and echo"
    failed = ran(agent_of(place, calls), task)
    assert (place / "src" / "a").exists()
    assert list((place.parent / ".ssh").iterdir()) == []
    assert failed == [None, "forbidden", "forbidden", "forbidden", None]


def test_links_that_were_not_there_when_it_was_asked_are_seen(place: Path) -> None:
    def ask(question: Approval) -> bool:
        (place / "later").symlink_to(place.parent / ".ssh")
        return True

    calls = [call("shell", command="rm -r src/none"), call("shell", command="cp src/kept later/copied")]
    ran(agent_of(place, calls, ask), "copy src/kept to later/copied with cp")
    assert list((place.parent / ".ssh").iterdir()) == []


def test_variables_of_the_shell_are_shown_with_what_they_stand_for(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Approval] = []

    def ask(question: Approval) -> bool:
        asked.append(question)
        return False

    monkeypatch.setenv("KEPT_AT", str(place / "out"))
    lines = ['rm -r "$KEPT_AT/kept"', "rm -r ${NO_SUCH_NAME}/kept", "KEPT_AT=$(pwd); rm -r $KEPT_AT/kept"]
    ran(agent_of(place, [call("shell", command=line) for line in lines], ask), "tidy")
    known, unknown, own = asked
    assert any(str(place.parent / "other" / "kept") in touched for touched in known.touches), known.touches
    assert unknown.links == {}
    assert own.links == {}, "the line says otherwise"
