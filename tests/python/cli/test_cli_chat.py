"""`loopwright chat`: a conversation over a real socket, on a terminal and through a pipe."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from command_line import COMMAND, Ended, environment
from loopwright import Journal
from loopwright.testing import WireServer, call, fault, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

needs_terminal = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")


def to(server: WireServer, *more: str) -> list[str]:
    return ["chat", "--model", "anthropic:some-model", "--base-url", server.url, *more]


def piped(folder: Path, lines: list[str], arguments: list[str]) -> Ended:
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        env=environment(),
        input="".join(f"{line}\n" for line in lines).encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


def said(server: WireServer, at: int) -> list[str]:
    """Who said what, in a request."""
    return [
        f"{message['role']}: {block['text']}"
        for message in server.requests[at]["body"]["messages"]
        for block in ([{"text": message["content"]}] if isinstance(message["content"], str) else message["content"])
        if "text" in block
    ]


def test_each_line_of_a_pipe_is_a_turn_and_answers_are_plain(tmp_path: Path) -> None:
    with WireServer([text("It **opens** at six."), text("At eight.")]) as server:
        ended = piped(tmp_path, ["When does it open?", "", "And when\\", "does it close?"], to(server))
        assert said(server, 1) == [
            "user: When does it open?",
            "assistant: It **opens** at six.",
            "user: And when\ndoes it close?",
        ]
    assert (ended.code, ended.out) == (0, "It **opens** at six.\nAt eight.\n")


def test_a_pipe_ends_as_its_last_answer_does(tmp_path: Path) -> None:
    with WireServer([text("Yes."), fault.status(400, message="no such thing"), text("Again.")]) as server:
        broken = piped(tmp_path, ["one", "two"], to(server))
        assert (broken.code, broken.out) == (1, "Yes.\n")
        assert "no such thing" in broken.err
        assert "is no part of the conversation" in broken.err
        mended = piped(tmp_path, ["three"], to(server, "--resume"))
        assert said(server, 2) == ["user: one", "assistant: Yes.", "user: three"]
    assert (mended.code, mended.out) == (0, "Again.\n")


def test_a_conversation_is_resumed_with_its_model_and_its_turns(tmp_path: Path) -> None:
    with WireServer([text("Hello, Sam."), text("You are Sam."), text("Other.")]) as server:
        piped(tmp_path, ["I am Sam."], to(server))
        again = piped(tmp_path, ["Who am I?", "/cost"], ["chat", "--resume"])
        assert said(server, 1) == ["user: I am Sam.", "assistant: Hello, Sam.", "user: Who am I?"]
        assert server.requests[1]["body"]["model"] == "some-model"
        first = Journal(tmp_path / ".loopwright" / "journal.db").runs()[-1].id
        piped(tmp_path, ["Else?"], ["chat", "--resume", first[:10]])
        assert said(server, 2)[-1] == "user: Else?"
        assert len(said(server, 2)) == 3
    rows = [line.split() for line in again.out.splitlines()]
    assert [row[0] for row in rows if row] == ["You", "turn", "1", "2", "all", "Where"]
    assert (again.code, rows[2][-3:], rows[3][-3:]) == (0, ["I", "am", "Sam."], ["Who", "am", "I?"])


def test_an_answer_that_broke_off_is_finished_first(tmp_path: Path) -> None:
    with WireServer([text("One."), text("never seen again"), text("Two."), text("Three.")]) as server:
        piped(tmp_path, ["first", "second"], to(server))
        store = Journal(tmp_path / ".loopwright" / "journal.db")
        last = store.runs()[0].id
        cut = tmp_path / "cut.jsonl"
        cut.write_text("".join(store.text(last).splitlines(keepends=True)[:2]))
        store.delete(last)
        store.import_run(cut)
        store.close()
        ended = piped(tmp_path, ["third"], ["chat", "--resume", last])
        assert said(server, 3) == [
            "user: first",
            "assistant: One.",
            "user: second",
            "assistant: Two.",
            "user: third",
        ]
    assert ended.out == "Two.\nThree.\n"
    assert "broke off; here it goes on" in ended.err


def test_undo_takes_turns_back_and_says_what_stays(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("a line\n")
    with WireServer([text("One."), call("read_file", path="x.txt"), text("Two."), text("Three.")]) as server:
        ended = piped(tmp_path, ["first", "second", "/undo", "third", "/undo 9", "/undo"], to(server))
        assert said(server, 3) == ["user: first", "assistant: One.", "user: third"]
    assert ended.out.splitlines() == [
        "One.",
        "Two.",
        "Taken back: second",
        "What tools changed stays changed.",
        "Three.",
        "Taken back: third",
        "Taken back: first",
        "There is nothing to take back.",
    ]


@pytest.mark.parametrize("kept", [True, False])
def test_a_fork_leaves_the_conversation_as_it_is(tmp_path: Path, kept: bool) -> None:
    answers = ["One.", "Two.", "Other.", "Third."]
    with WireServer([text(each) for each in answers]) as server:
        more = [] if kept else ["--no-journal"]
        process = subprocess.Popen(
            [*COMMAND, *to(server, *more)],
            cwd=tmp_path,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("first\nsecond\n/fork 1\n")
        process.stdin.flush()
        lines = [process.stdout.readline().strip() for _ in range(4)]
        assert lines[:3] == ["One.", "Two.", "Now in another conversation, behind turn 1: first"]
        back = lines[3].removeprefix("The first one: ")
        out, _ = process.communicate(f"differently\n{back}\ngo on\n", timeout=60)
        assert said(server, 2) == ["user: first", "assistant: One.", "user: differently"]
        assert said(server, 3)[2:] == ["user: second", "assistant: Two.", "user: go on"]
    assert process.returncode == 0
    assert out.splitlines() == ["Other.", "2 turns so far; the last one:", "  second", "Third."]


def test_c08_sanity_is_checked_when_asked_for_and_the_model_hears_of_it(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("a line\n")
    steps = [call("read_file", path=f"no-{number}.txt") for number in range(3)]
    with WireServer([*steps, text("I can't find it."), text("I will look elsewhere.")]) as server:
        ended = piped(tmp_path, ["/sanity", "find the file", "/sanity What now?"], to(server))
        checked = ended.out.splitlines()
        assert checked[0] == "Nothing was said yet."
        assert re.fullmatch(r"It is .*on its way \(confidence \d+%, progress \d+%\)\.", checked[2])
        concerns = [line.strip() for line in checked[3:] if line.startswith("  ")]
        assert concerns
        heard = json.dumps(server.requests[-1]["body"])
        assert "A check of the conversation so far found" in heard
    assert checked[-1] == "I will look elsewhere."


def test_what_is_no_command_is_said_and_a_blank_says_it_to_the_model(tmp_path: Path) -> None:
    with WireServer([text("A folder.")]) as server:
        ended = piped(tmp_path, ["/etc", " /etc is what?", "/fork 7", "/undo x"], to(server))
        assert said(server, 0) == ["user: /etc is what?"]
    assert "there is no /etc (" in ended.err
    assert "there is no turn 7: there are 1" in ended.err
    assert "'x' is no number of turns" in ended.err
    assert ended.out == "A folder.\n"


def test_wrong_usage_of_a_chat_is_2(loopwright: Callable, tmp_path: Path) -> None:
    assert loopwright("chat").code == 2
    assert "OPENAI_API_KEY is not set" in loopwright("chat", "--model", "openai:m").err
    assert "a conversation can't be kept in 'x.jsonl'" in loopwright("chat", "--journal", "x.jsonl").err
    assert "holds no conversation" in loopwright("chat", "--resume").err
    assert "no run of that name" in loopwright("chat", "--resume", "cafe").err
    with WireServer([text("done")]) as server:
        found = json.loads(loopwright("run", "x", *to(server)[1:], "--json").out)
    assert "is no conversation" in loopwright("chat", "--resume", found["run_id"]).err


def test_resume_finishes_a_turn_of_a_chat_by_itself(loopwright: Callable, tmp_path: Path) -> None:
    with WireServer([text("never seen again"), text("Finished.")]) as server:
        piped(tmp_path, ["go"], to(server, "--journal", "one.db"))
        store = Journal(tmp_path / "one.db")
        (tmp_path / "cut.jsonl").write_text("".join(store.text().splitlines(keepends=True)[:2]))
        ended = loopwright("resume", "cut.jsonl")
    assert (ended.code, ended.out) == (0, "Finished.\n")


@needs_terminal
def test_a_conversation_on_a_terminal(terminal: Callable, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    steps = [text("Hello \x1b[2Jthere."), call("shell", command="rm -r old"), text("It is gone.")]
    with WireServer(steps) as server:
        shown = terminal(*to(server))
        shown.until("/help shows what there is")
        shown.until("> ")
        shown.type("hello\n")
        shown.until("Hello there.")
        shown.until("> ")
        shown.type("remove old\n")
        shown.until("Run it? [y/N/e/?] ")
        shown.type("y\n")
        shown.until("Running rm -r old (shell, ")
        shown.until("It is gone.")
        shown.until("> ")
        shown.type("\x04")
        shown.until("To go on: loopwright chat --resume ")
        assert shown.end() == 0
    assert not (tmp_path / "old").exists()
    assert "\x1b[2J" not in shown.raw


@needs_terminal
def test_ctrl_c_ends_an_answer_and_not_the_conversation(terminal: Callable) -> None:
    slow = text("Once upon a time, there was a tide that came and went and never stopped.").slowly(0.2)
    with WireServer([slow, text("Fine.")]) as server:
        shown = terminal(*to(server))
        shown.until("> ")
        shown.type("tell me\n")
        shown.until("Once upon")
        shown.type("\x03")
        shown.until("Stopped.")
        shown.until("> ")
        # Python hears of a signal that comes between the prompt and its wait for keys with the next key alone.
        time.sleep(0.5)
        shown.type("\x03")
        shown.until("Ctrl-D or /quit ends the conversation.")
        shown.until("> ")
        shown.type("enough\n")
        shown.until("Fine.")
        shown.until("> ")
        shown.type("/quit\n")
        assert shown.end() == 0
        assert said(server, 1)[0] == "user: tell me"
        assert said(server, 1)[1].startswith("assistant: Once upon")
    assert "Traceback" not in shown.raw


@needs_terminal
def test_ctrl_c_at_a_question_ends_the_answer_alone(terminal: Callable, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    with WireServer([call("shell", command="rm -r old"), text("As you like.")]) as server:
        shown = terminal(*to(server))
        shown.until("> ")
        shown.type("remove old\n")
        shown.until("Run it? [y/N/e/?] ")
        shown.type("\x03")
        shown.until("Stopped.")
        shown.until("> ")
        shown.type("keep it\n")
        shown.until("As you like.")
        shown.until("> ")
        shown.type("\x04")
        assert shown.end() == 0
    assert (tmp_path / "old").exists()


@needs_terminal
def test_c08_a_person_who_says_nothing_has_the_conversation_checked(terminal: Callable) -> None:
    with WireServer([text("Hello.")]) as server:
        shown = terminal(*to(server, "--idle", "0.5"))
        shown.until("> ")
        shown.type("hello\n")
        shown.until("Hello.")
        shown.until("Nothing said for 500 ms; the conversation was checked:")
        shown.until("It is on its way")
        shown.until("> ")
        shown.type("/quit\n")
        assert shown.end() == 0
        assert len(server.requests) == 1
