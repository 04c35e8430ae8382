"""`loopwright ask`: offline, and with a model behind a socket."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from command_line import COMMAND, environment
from loopwright.testing import WireServer, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OFFLINE = "offline-extractive (not an LLM)"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder with spaces in its name and in those of its files."""
    folder = tmp_path / "harbour notes"
    (folder / "old ones").mkdir(parents=True)
    (folder / "opening hours.md").write_text(
        "# Opening hours\n\nThe harbour opens at seven in the morning. It closes when the last boat is in.\n"
    )
    (folder / "old ones" / "tide.md").write_text("# Tide\n\nThe tide is high at noon on Fridays.\n")
    return folder


def test_it_answers_with_sources_and_says_what_it_is(loopwright: Callable, notes: Path) -> None:
    ended = loopwright("ask", "When does the harbour open?", "--in", str(notes))
    assert ended.code == 0
    answer, _, sources = ended.out.partition("\n\nSources\n")
    assert "opens at seven in the morning" in answer
    assert "opening hours.md:3]" in answer
    assert "opening hours.md:3  The harbour opens at seven" in sources
    assert OFFLINE in ended.err
    assert "Looking through the files…" in ended.err
    assert "Looked through 2 files" in ended.err
    assert "\x1b" not in ended.out + ended.err


def test_the_trace_shows_each_phase(loopwright: Callable, notes: Path, tmp_path: Path) -> None:
    ended = loopwright("ask", "When is the tide high?", "--in", str(notes), "--trace")
    trace = ended.out.partition("\nTrace\n")[2].splitlines()
    assert [line.split()[0] for line in trace] == ["gather", "act", "verify", "ended", "journal"]
    assert "looked through 2 files" in trace[0]
    assert OFFLINE in trace[1]
    assert "passed" in trace[2]
    assert "verified after 1 attempt" in trace[3]
    journal, _, run = trace[4].split(maxsplit=1)[1].partition(", run ")
    assert loopwright("replay", run).out == loopwright("replay", str(tmp_path / journal)).out
    replayed = loopwright("replay", run)
    assert (replayed.code, "identical" in replayed.out) == (0, True)


def test_json_holds_sources_and_trace(loopwright: Callable, notes: Path) -> None:
    ended = loopwright("ask", "When is the tide high?", "--in", str(notes), "--json")
    found = json.loads(ended.out)
    assert (ended.code, ended.err) == (0, "")
    assert (found["stop_reason"], found["verified"], found["model"]) == ("verified", True, OFFLINE)
    assert any(source["reference"].endswith("tide.md") and source["line"] == 3 for source in found["sources"])
    assert [phase["phase"] for phase in found["trace"]] == ["gather", "act", "verify"]


def test_what_is_not_there_is_named_and_has_a_code(loopwright: Callable, notes: Path) -> None:
    ended = loopwright("ask", "Who wrote the Brandenburg concertos?", "--in", str(notes))
    assert ended.code == 3
    assert "Brandenburg" in ended.out
    assert "Sources" not in ended.out
    assert json.loads(loopwright("ask", "Brandenburg?", "--in", str(notes), "--json").out)["exit_code"] == 3


def test_a_folder_of_pictures_says_why_nothing_was_read(loopwright: Callable, tmp_path: Path) -> None:
    folder = tmp_path / "my pictures"
    folder.mkdir()
    for name in ("a boat.png", "a ship.bin"):
        (folder / name).write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    ended = loopwright("ask", "When does the harbour open?", "--in", str(folder))
    assert ended.code == 3
    assert "none of 2 files was read, each holds no text: a boat.png, a ship.bin" in ended.err
    ended = loopwright("ask", "When does the harbour open?", "--in", str(folder), "--json")
    assert "each holds no text" in json.dumps(json.loads(ended.out)["warnings"])


def test_a_working_folder_that_is_gone_is_named(notes: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    command = ["sh", "-c", script, "sh", str(gone), *COMMAND, "ask", "When?", "--in", str(notes)]
    ended = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert "the working folder is gone (go to a folder that is there)" in ended.stderr


def test_an_empty_folder_holds_no_answer(loopwright: Callable, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ended = loopwright("ask", "When does the harbour open?", "--in", "empty")
    assert ended.code == 3
    assert "Traceback" not in ended.err


def test_a_folder_that_is_not_there_is_wrong_usage(loopwright: Callable, notes: Path) -> None:
    here = ["--in", str(notes)]
    for folders in (
        ["--in", "no such folder"],
        [*here, "--in", "no such folder"],
        [],
        [*here, "--base-url", "http://x"],
    ):
        ended = loopwright("ask", "When does the harbour open?", *folders)
        assert ended.code == 2
        assert ended.out == ""
        assert "error: " in ended.err
        assert "Traceback" not in ended.err


def test_several_folders_are_one_place_to_look(loopwright: Callable, notes: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "boats.txt").write_text("The boat Seagull has a green sail.\n")
    for question, place in (
        ("What colour is the sail of the Seagull?", "boats.txt:1"),
        ("When is the tide high?", "tide.md:3"),
    ):
        ended = loopwright("ask", question, "--in", str(notes), "--in", str(other))
        assert ended.code == 0, ended
        assert place in ended.out


def test_a_key_alone_never_chooses_a_model(loopwright: Callable, notes: Path) -> None:
    key = "sk-proj-not-to-be-shown"
    ended = loopwright("ask", "When is the tide high?", "--in", str(notes), OPENAI_API_KEY=key)
    assert ended.code == 0
    hints = [line for line in ended.err.splitlines() if "--model" in line]
    assert hints == ["OPENAI_API_KEY is set; no model is used unless you name one: --model openai:NAME"]
    assert OFFLINE in ended.err
    assert key not in ended.out + ended.err


def test_with_a_model_it_is_the_same_command(loopwright: Callable, notes: Path) -> None:
    with WireServer([text("The tide is high at noon on Fridays. [old ones/tide.md:3]")]) as server:
        ended = loopwright(
            "ask",
            "When is the tide high?",
            "--in",
            str(notes),
            "--base-url",
            server.url,
            LOOPWRIGHT_MODEL="openai-chat:m",
        )
        assert "The tide is high at noon" in json.dumps(server.requests[0]["body"]["messages"])
    assert ended.code == 0, ended
    assert "tide.md:3  The tide is high at noon" in ended.out
    assert OFFLINE not in ended.err


def test_x04_a_draft_that_does_not_pass_is_never_on_stdout(loopwright: Callable, notes: Path) -> None:
    wrong = "The tide is high at midnight, says the book. [old ones/tide.md:77]"
    with WireServer([text(wrong)], repeat_last=True) as server:
        to = ["--model", "anthropic:m", "--base-url", server.url, "--attempts", "2"]
        ended = loopwright("ask", "When is the tide high?", "--in", str(notes), *to)
        as_json = loopwright("ask", "When is the tide high?", "--in", str(notes), *to, "--json")
        assert len(server.requests) == 4
    assert ended.code == as_json.code == 4
    assert ended.out == ""
    assert "The best draft, which is not verified:" in ended.err
    assert ended.err.count("The draft did not pass") == 2
    found = json.loads(as_json.out)
    assert (found["final"], found["best_draft"], found["verified"]) == (None, wrong, False)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_x04_drafts_are_dimmed_and_give_way_to_the_answer(terminal: Callable, notes: Path) -> None:
    steps = [
        text("It is high at midnight, I am sure of it. [old ones/tide.md:77]").slowly(0.05),
        text("The tide is high at noon on Fridays. [old ones/tide.md:3]").slowly(0.05),
    ]
    with WireServer(steps) as server:
        shown = terminal(
            "ask", "When is the tide high?", "--in", str(notes), "--model", "anthropic:m", "--base-url", server.url
        )
        assert shown.end() == 0
    assert "\x1b[2mIt is high" in shown.raw
    at = shown.raw.index("The draft did not pass")
    assert "\r\x1b[J" in shown.raw[:at], "the draft is taken from the screen"
    assert "\r\x1b[J" in shown.raw[at:]
    final = shown.raw[shown.raw.rindex("\x1b[J") :]
    assert "The tide is high at noon on Fridays. [old ones/tide.md:3]\r\n" in final
    assert "midnight" not in final


def test_quiet_leaves_the_answer(loopwright: Callable, notes: Path) -> None:
    ended = loopwright("ask", "When is the tide high?", "--in", str(notes), "--quiet")
    assert ended.code == 0
    assert ended.out.startswith("The tide is high at noon")
    assert ended.err == ""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_ctrl_c_twice_ends_it_at_once(terminal: Callable, notes: Path) -> None:
    with WireServer([text("late").after(20)]) as server:
        to = ["--model", "anthropic:m", "--base-url", server.url]
        shown = terminal("ask", "When is the tide high?", "--in", str(notes), *to)
        shown.until("Thinking")
        shown.type("\x03")
        shown.until("Ctrl-C again stops at once")
        shown.type("\x03")
        assert shown.end(8) == 130
    assert "Traceback" not in shown.raw


def test_hostile_files_and_names_can_not_steer_the_terminal(loopwright: Callable, tmp_path: Path) -> None:
    folder = tmp_path / "hostile"
    folder.mkdir()
    (folder / "a\x1b[31mb.md").write_text("The harbour opens at \x1b[2J\x9b31mseven\u202e in the morning.\n")
    ended = loopwright("ask", "When does the harbour open in the morning?", "--in", str(folder), "--trace")
    shown = ended.out + ended.err
    assert "Traceback" not in shown
    assert not [letter for letter in shown if ord(letter) < 32 and letter != "\n"], repr(shown)
    assert not set(shown) & {"\x7f", "\x9b", "\u202e"}


def test_a_warning_is_said_once(loopwright: Callable, notes: Path) -> None:
    with WireServer([text("late").after(20)]) as server:
        to = ["--model", "anthropic:m", "--base-url", server.url, "--max-time", "0.4"]
        ended = loopwright("ask", "When is the tide high?", "--in", str(notes), *to)
    assert (ended.code, ended.out) == (5, "")
    assert ended.err.count("the time of the run was up") == 1


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of files are text there")
def test_bytes_that_are_no_text_are_no_reason_to_fail(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    with open(folder + b"/m\xe9nu.txt", "w", encoding="utf-8") as file:
        file.write("The soup of the day is pumpkin.\n")
    for more in ([], [b"--trace"], [b"--json"]):
        done = subprocess.run(
            [*map(os.fsencode, COMMAND), b"ask", b"Which soup is it at the caf\xe9 pumpkin?", b"--in", folder, *more],
            cwd=tmp_path,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode in (0, 3, 4), done
        assert b"Traceback" not in done.stderr
        done.stdout.decode("utf-8")
