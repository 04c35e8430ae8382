"""Questions on a terminal: only a clear yes is one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from loopwright.testing import WireServer, call, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer([call("shell", command="touch made\nrm -r old\necho \x1b[2Jtwo"), text("Over.")]) as server:
        yield server


def run(server: WireServer) -> list[str]:
    return ["run", "make it", "--model", "anthropic:m", "--base-url", server.url]


def test_d15_the_question_shows_what_would_run_and_yes_runs_it(
    terminal: Callable, server: WireServer, tmp_path: Path
) -> None:
    shown = terminal(*run(server))
    shown.until("The model wants to use shell (risk: confirm")
    shown.until("│ touch made\n")
    shown.until("│ rm -r old\n")
    shown.until("│ echo \\u{1b}[2Jtwo\n")
    shown.until("Run it? [y/N/e/?] ")
    assert not (tmp_path / "made").exists()
    shown.type("y\n")
    shown.until("Over.")
    assert shown.end() == 0
    assert (tmp_path / "made").exists()
    assert "\x1b[2J" not in shown.raw


@pytest.mark.parametrize("keys", ["n\n", "\n", "N\n", "no\n"])
def test_d15_no_is_the_default(terminal: Callable, server: WireServer, tmp_path: Path, keys: str) -> None:
    shown = terminal(*run(server))
    shown.until("Run it? [y/N/e/?] ")
    shown.type(keys)
    shown.until("Not run: the person said no")
    shown.until("Over.")
    assert shown.end() == 0
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("keys", ["yup\n", "ja\n", "yy\n", "allow\n", "1\n"])
def test_what_is_not_understood_is_asked_again(
    terminal: Callable, server: WireServer, tmp_path: Path, keys: str
) -> None:
    shown = terminal(*run(server))
    shown.until("Run it? [y/N/e/?] ")
    shown.type(keys)
    shown.until("Enter: don't")
    shown.until("Run it? [y/N/e/?] ")
    shown.type("\n")
    assert shown.end() == 0
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("keys", ["\x04", "\x03"])
def test_the_end_of_input_and_ctrl_c_stop_the_run(
    terminal: Callable, server: WireServer, tmp_path: Path, keys: str
) -> None:
    shown = terminal(*run(server))
    shown.until("Run it? [y/N/e/?] ")
    shown.type(keys)
    assert shown.end() == 130
    assert not (tmp_path / "made").exists()
    assert "Traceback" not in shown.raw
    assert server.pending == 1


def test_explain_shows_the_tool_and_all_arguments(terminal: Callable, tmp_path: Path) -> None:
    command = "true\n" + "\n".join(f"echo line {number}" for number in range(60)) + "\nrm -r old\ntouch made"
    with WireServer([call("shell", command=command), text("Over.")]) as server:
        shown = terminal(*run(server))
        shown.until("more characters: ? shows all")
        assert "│ touch made" not in shown.text
        shown.until("Run it? [y/N/e/?] ")
        shown.type("?\n")
        shown.until("What shell does: Run a shell command")
        shown.until("│ echo line 59\n")
        shown.until("│ touch made\n")
        shown.until("Run it? [y/N/e/?] ")
        shown.type("n\n")
        assert shown.end() == 0


def test_what_was_typed_before_the_question_is_no_answer(terminal: Callable, tmp_path: Path) -> None:
    with WireServer([call("shell", command="touch made; rm -r old").after(1.5), text("Over.")]) as server:
        shown = terminal(*run(server))
        shown.until("Thinking")
        shown.type("y\ny\ny\n")
        shown.until("Run it? [y/N/e/?] ")
        shown.type("\n")
        shown.until("Not run: the person said no")
        assert shown.end() == 0
    assert not (tmp_path / "made").exists()


def test_d15_silence_is_a_no() -> None:
    """With a short time, on a terminal of its own."""
    import os
    from dataclasses import replace
    from pathlib import Path

    from loopwright import Approval
    from loopwright.cli.screen import Screen
    from loopwright.cli.terminal_approval import TerminalApproval

    master, slave = os.openpty()
    question = Approval("shell", {"command": "true"}, "confirm", "it is a shell", "call_1", 0.2)
    with (
        os.fdopen(slave, "r", encoding="utf-8") as source,
        os.fdopen(os.dup(slave), "w", encoding="utf-8") as err,
        Path(os.devnull).open("w", encoding="utf-8") as out,
    ):
        approve = TerminalApproval(Screen(out, err, env={}), {}, source)
        assert approve(question) == "nobody answered within 200 ms"
        # Half an answer is none.
        os.write(master, b"y")
        assert approve(question) == "nobody answered within 200 ms"
        assert approve(replace(question, expires_in=0.0)) == "nobody answered within 0 ms"
    os.close(master)


def test_d15_nobody_is_asked_where_the_question_would_not_be_seen(tmp_path: Path) -> None:
    import os

    from loopwright import Approval
    from loopwright.cli.screen import Screen
    from loopwright.cli.terminal_approval import TerminalApproval

    master, slave = os.openpty()
    question = Approval("shell", {"command": "true"}, "confirm", "it is a shell", "call_1", 30.0)
    with (
        os.fdopen(slave, "r", encoding="utf-8") as source,
        (tmp_path / "err").open("w", encoding="utf-8") as err,
    ):
        approve = TerminalApproval(Screen(err, err, env={}), {}, source)
        assert approve(question) == "there is no terminal to ask a person on"
    os.close(master)
    assert "shell with command=true" in (tmp_path / "err").read_text()


def test_d15_the_part_that_decides_is_marked_and_what_it_touches_is_told(terminal: Callable, tmp_path: Path) -> None:
    with WireServer([call("shell", command="ls && rm -r old"), text("Over.")]) as server:
        shown = terminal(*run(server))
        shown.until("│ ls && rm -r old\n")
        shown.until("^^^")
        shown.until("Why you are asked: ")
        shown.until("It would touch ")
        shown.until("A y is kept. For one hour of this session")
        shown.until("Run it? [y/N/e/?] ")
        shown.type("?\n")
        shown.until("What decided that you are asked: risk:")
        shown.until("o: run it once")
        shown.type("n\n")
        assert shown.end() == 0


def test_d16_x10_a_yes_on_the_terminal_is_kept_and_once_is_not(terminal: Callable, tmp_path: Path) -> None:
    lines = ["rm -r a", "rm -r b", "rm -r c"]
    for key, questions in [("y", 1), ("o", 3)]:
        for name in "abc":
            (tmp_path / name).mkdir()
        with WireServer([*(call("shell", command=line) for line in lines), text("Over.")]) as server:
            shown = terminal(*run(server))
            for _ in range(questions):
                shown.until("Run it? [y/N/e/?] ")
                shown.type(f"{key}\n")
            shown.until("Over.")
            assert shown.end() == 0
        assert not any((tmp_path / name).exists() for name in "abc")


def test_d15_a_call_is_changed_on_the_terminal(terminal: Callable, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "older").mkdir()
    with WireServer([call("shell", command="rm -r old"), text("Over.")]) as server:
        shown = terminal(*run(server))
        shown.until("Run it? [y/N/e/?] ")
        shown.type("e\n")
        shown.until("Write the new command on one line (Enter: leave it): ")
        shown.type("\n")
        shown.until("Run it? [y/N/e/?] ")
        shown.type("e\n")
        shown.until("(Enter: leave it): ")
        shown.type("rm -r older\n")
        # The new call is asked about like any other.
        shown.until("│ rm -r older\n")
        shown.until("Run it? [y/N/e/?] ")
        shown.type("y\n")
        shown.until("Over.")
        assert shown.end() == 0
    assert (tmp_path / "old").exists()
    assert not (tmp_path / "older").exists()


FORBID = """
[[rule]]
id = "no-push"
verdict = "forbid"
why = "releases are made elsewhere"
shell = ["git", "push"]
examples.match = ["git push"]
examples.no_match = ["git status"]
"""


def test_d10_x08_the_policy_of_the_workspace_holds(loopwright: Callable, tmp_path: Path) -> None:
    (tmp_path / ".loopwright").mkdir()
    policy = tmp_path / ".loopwright/policy.toml"
    policy.write_text(FORBID)
    with WireServer([call("shell", command="git status; git push"), text("I can't.")]) as server:
        ended = loopwright(*run(server))
        assert ended.code == 0
        assert "Forbidden: shell: project:no-push forbids it: releases are made elsewhere" in ended.err
    policy.rename(tmp_path / "mine.toml")
    with WireServer([call("shell", command="git push"), text("I can't.")]) as server:
        assert "user:no-push" in loopwright(*run(server), "--policy", "mine.toml").err
    policy.write_text(FORBID.replace("forbid", "forbit"))
    with WireServer([text("Never.")]) as server:
        ended = loopwright(*run(server))
        assert ended.code == 2
        assert "policy.toml:4:11" in ended.err
        assert server.requests == []


def test_c14_x07_what_cautious_calls_need_is_an_option(loopwright: Callable, tmp_path: Path) -> None:
    for option, made in [((), False), (("--cautious", "run"), True), (("--cautious", "ask"), False)]:
        with WireServer([call("write_file", path="notes.txt", content="x"), text("Over.")]) as server:
            arguments = ["run", "What is here?", "--model", "anthropic:m", "--base-url", server.url, *option]
            assert loopwright(*arguments).code == 0
        assert (tmp_path / "notes.txt").exists() is made
        (tmp_path / "notes.txt").unlink(missing_ok=True)
