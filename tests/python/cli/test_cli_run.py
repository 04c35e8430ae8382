"""`loopwright run` against a server that speaks the providers' protocols."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from command_line import COMMAND, environment
from loopwright import Journal
from loopwright.models import Call, Response
from loopwright.testing import WireServer, call, calls, fault, response, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEY = "sk-ant-very-secret-0123456789"


def to(server: WireServer, *more: str) -> list[str]:
    return ["--model", "anthropic:some-model", "--base-url", server.url, *more]


def test_without_a_model_it_says_how_to_name_one(loopwright: Callable) -> None:
    ended = loopwright("run", "hello")
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith("error: run needs a model (give --model PROVIDER:NAME or set LOOPWRIGHT_MODEL")
    assert ended.err.count("\n") == 1


def test_the_model_may_come_from_the_environment(loopwright: Callable) -> None:
    with WireServer([text("Hello.")]) as server:
        ended = loopwright("run", "hello", "--base-url", server.url, LOOPWRIGHT_MODEL="anthropic:from-the-environment")
        assert server.requests[0]["body"]["model"] == "from-the-environment"
    assert (ended.code, ended.out) == (0, "Hello.\n")


def test_c31_tools_run_in_the_workspace_and_are_told_in_sentences(loopwright: Callable, tmp_path: Path) -> None:
    work = tmp_path / "a folder with spaces"
    work.mkdir()
    (work / "a note.txt").write_text("the tide is high\n")
    with WireServer([call("read_file", path="a note.txt"), text("It says that the tide is high.")]) as server:
        ended = loopwright("run", "What does the note say?", *to(server, "--workspace", str(work)))
        sent = server.requests[1]["body"]["messages"][-1]["content"][0]
    assert "the tide is high" in json.dumps(sent)
    assert (ended.code, ended.out) == (0, "It says that the tide is high.\n")
    assert "Reading a note.txt\n" in ended.err
    assert "the tide is high" in ended.err
    assert "\x1b" not in ended.out + ended.err
    assert "TOOL" not in ended.err


def test_d15_without_a_terminal_a_risky_call_is_refused(loopwright: Callable, tmp_path: Path) -> None:
    with WireServer([call("shell", command="touch made; rm -r old"), text("I was not allowed to.")]) as server:
        ended = loopwright("run", "make it", *to(server))
    assert ended.code == 0
    assert not (tmp_path / "made").exists()
    assert "Not run: there is no terminal to ask a person on" in ended.err


def test_json_is_one_object_with_everything(loopwright: Callable, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("x\n")
    with WireServer([call("read_file", path="x.txt"), text("It holds \x1b[31mx\x1b[0m — done.")]) as server:
        ended = loopwright("run", "look", *to(server, "--json"))
    found = json.loads(ended.out)
    assert ended.out.count("\n") == 1
    assert ended.out.isascii()
    assert "\x1b" not in ended.out
    assert ended.err == ""
    assert found["final"] == "It holds \x1b[31mx\x1b[0m — done."
    assert (found["stop_reason"], found["exit_code"], found["rounds"], found["tool_rounds"]) == ("natural", 0, 2, 1)
    assert found["tool_calls"][0]["name"] == "read_file"
    assert found["usage"]["total_tokens"] == found["usage"]["input_tokens"] + found["usage"]["output_tokens"] > 0
    assert [message["role"] for message in found["messages"]] == ["user", "assistant", "user", "assistant"]
    assert (tmp_path / found["journal"]).is_file()
    assert found["error"] is None


def test_what_a_model_or_a_tool_writes_can_not_steer_the_terminal(loopwright: Callable, tmp_path: Path) -> None:
    (tmp_path / "evil.txt").write_text("\x1b]0;owned\x07\x1b[2Jtext\x9b31m\u202egnp.exe\n")
    steps = [
        calls(Call("read_file", {"path": "evil.txt"}), Call("no\x1b[31mtool", {"a": "\x1b[5mb"}), text="See \x1b[2J"),
        text("A\x1b[1;31mB\x1b]8;;http://x\x07C\x1b\\D\u202eE\rF\x08\x00G\x85H"),
    ]
    with WireServer(steps) as server:
        ended = loopwright("run", "look", *to(server))
    assert ended.out == "ABCDE\nFG\nH\n"
    shown = ended.out + ended.err
    assert not [letter for letter in shown if ord(letter) < 32 and letter != "\n"], repr(shown)
    assert not set(shown) & {"\x7f", "\x85", "\x9b", "\u202e"}
    assert "owned" not in shown


def test_calls_that_fail_or_can_not_be_run_are_told(loopwright: Callable, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("a line\n")
    first = calls(
        Call("read_file", {"path": "missing.txt"}),
        Call("weather\x1b[2J", {"city": "Oslo"}),
        Call("list_folder", {"depth": "deep"}),
        Call("read_file", "no json"),
    )
    with WireServer([first, call("read_file", path="x.txt"), text("Over.")]) as server:
        ended = loopwright("run", "look", *to(server))
    lines = ended.err.splitlines()
    assert "Not run: weather, for there is no such tool" in lines
    assert [line for line in lines if line.startswith("Not run: ")][1:] == [
        "Not run: read_file, for its arguments can't be used"
    ]
    failed = sorted(line for line in lines if line.startswith("  failed ("))
    assert [line.partition(",")[0] for line in failed] == ["  failed (list_folder", "  failed (read_file"]
    assert any("'missing.txt' does not exist" in line for line in lines)
    assert "\x1b" not in ended.err


@pytest.mark.parametrize(
    ("steps", "more", "code", "reason"),
    [
        ([text("done")], [], 0, "natural"),
        ([call("list_folder"), call("list_folder", depth=2), text("x")], ["--max-rounds", "1"], 5, "tool_rounds"),
        ([response(Response("I won't.", stop="refusal"))], [], 6, "refusal"),
        ([response(Response("cut", stop="max_tokens"))], [], 5, "output_limit"),
        ([text("late").after(20)], ["--max-time", "0.4"], 5, "wall_time"),
        ([fault.status(400, message="no such thing")], [], 1, "error"),
    ],
)
def test_the_exit_code_says_how_it_ended(
    loopwright: Callable, steps: list, more: list[str], code: int, reason: str
) -> None:
    with WireServer(steps) as server:
        ended = loopwright("run", "do it", *to(server, "--json", *more))
    assert ended.code == code
    found = json.loads(ended.out)
    assert (found["stop_reason"], found["exit_code"]) == (reason, code)


def test_going_round_in_circles_has_a_code_of_its_own(loopwright: Callable) -> None:
    with WireServer([call("list_folder", path=".")], repeat_last=True) as server:
        ended = loopwright("run", "do it", *to(server, "--json"))
    assert ended.code == 8
    assert json.loads(ended.out)["stop_reason"] in ("no_progress", "low_momentum", "repeated_failures")


def test_errors_are_one_line_and_the_key_is_nowhere(loopwright: Callable, tmp_path: Path) -> None:
    with WireServer([text("never")], key="another key") as server:
        ended = loopwright("run", "hello", *to(server), ANTHROPIC_API_KEY=KEY)
        as_json = loopwright("run", "hello", *to(server, "--json"), ANTHROPIC_API_KEY=KEY)
    assert ended.code == 1
    lines = [line for line in ended.err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1
    assert "Traceback" not in ended.err
    found = json.loads(as_json.out)
    assert (found["exit_code"], found["error"]["code"]) == (1, "auth")
    written = "".join(path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*.db*"))
    assert written
    for place in (ended.out, ended.err, as_json.out, as_json.err, written):
        assert KEY not in place
        assert "very-secret" not in place


def test_a_server_that_is_not_there(loopwright: Callable) -> None:
    ended = loopwright(
        "run", "hello", "--model", "anthropic:m", "--base-url", "http://127.0.0.1:9", "--max-time", "3s", "--quiet"
    )
    assert ended.code in (1, 5)
    assert "Traceback" not in ended.err
    assert len(ended.err.strip().splitlines()) <= 3


@pytest.mark.parametrize(
    "arguments",
    [
        ["run"],
        ["run", " ", "--model", "anthropic:m"],
        ["run", "x", "--model", "no-provider"],
        ["run", "x", "--model", "nobody:m"],
        ["run", "x", "--model", "ollama:m", "--workspace", "/there/is/no/such/folder"],
        ["run", "x", "--model", "ollama:m", "--max-time", "soon"],
        ["run", "x", "--model", "ollama:m", "--max-rounds", "0"],
        ["run", "x", "--model", "ollama:m", "--base-url", "not a url"],
        ["run", "x", "--model", "openai:m"],
        ["walk"],
    ],
)
def test_wrong_usage_is_2(loopwright: Callable, arguments: list[str]) -> None:
    ended = loopwright(*arguments)
    assert ended.code == 2, ended.err
    assert ended.out == ""
    assert "error: " in ended.err
    assert "Traceback" not in ended.err


def test_debug_shows_the_traceback(loopwright: Callable) -> None:
    ended = loopwright("run", "x", "--model", "nobody:m", LOOPWRIGHT_DEBUG="1")
    assert "Traceback" in ended.err


def test_no_shell_leaves_it_out(loopwright: Callable) -> None:
    with WireServer([text("a"), text("b")]) as server:
        loopwright("run", "x", *to(server))
        loopwright("run", "x", *to(server, "--no-shell", "--system", "Be brief."))
        first, second = ({tool["name"] for tool in request["body"]["tools"]} for request in server.requests)
        assert "Be brief." in json.dumps(server.requests[1]["body"]["system"])
    assert first - second == {"shell"}
    assert {"read_file", "list_folder", "glob_files", "search_files", "write_file", "edit_file", "fetch"} == second


def test_journals_are_kept_out_of_repositories_and_can_be_left_out(loopwright: Callable, tmp_path: Path) -> None:
    with WireServer([text("a"), text("b"), text("c")]) as server:
        assert loopwright("run", "x", *to(server, "--no-journal")).code == 0
        assert list(tmp_path.iterdir()) == []
        assert loopwright("run", "x", *to(server, "--journal", "my journals")).code == 0
        assert len(list((tmp_path / "my journals").glob("*.jsonl"))) == 1
        assert loopwright("run", "x", *to(server)).code == 0
    assert (tmp_path / ".loopwright" / ".gitignore").read_text() == "*\n"
    assert len(Journal(tmp_path / ".loopwright" / "journal.db").runs()) == 1


def test_a_journal_may_be_a_file_of_json_lines(loopwright: Callable, tmp_path: Path) -> None:
    with WireServer([text("a"), text("b")]) as server:
        ended = loopwright("run", "x", *to(server, "--journal", "my runs/one.jsonl"))
        assert (ended.code, ended.out) == (0, "a\n"), ended.err
        assert (tmp_path / "my runs" / "one.jsonl").is_file()
        assert loopwright("replay", "my runs/one.jsonl").code == 0
        again = loopwright("run", "x", *to(server, "--journal", "my runs/one.jsonl"))
        assert again.code == 2
        assert "one.jsonl" in again.err
        assert len(server.requests) == 1


def test_without_a_place_for_journals_it_goes_on(loopwright: Callable, tmp_path: Path) -> None:
    (tmp_path / ".loopwright").write_text("a file is in the way")
    with WireServer([text("a"), text("b")]) as server:
        ended = loopwright("run", "x", *to(server))
        assert (ended.code, ended.out) == (0, "a\n")
        assert "warning: no journal" in ended.err
        named = loopwright("run", "x", *to(server, "--journal", ".loopwright/there"))
        assert named.code == 2
        assert "error: no journal can be written" in named.err


def test_nobody_reading_is_no_drama(tmp_path: Path) -> None:
    with WireServer([text(" ".join(f"word-{at:x}" for at in range(50_000)))]) as server:
        process = subprocess.Popen(
            [*COMMAND, "run", "x", *to(server)],
            cwd=tmp_path,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        told = process.stderr.read().decode()
        process.stderr.close()
        assert process.wait(30) == 141
    assert "Traceback" not in told
    assert "BrokenPipe" not in told


def test_nobody_reading_progress_is_no_reason_to_stop(tmp_path: Path) -> None:
    with WireServer([call("list_folder"), text("done")]) as server:
        process = subprocess.Popen(
            [*COMMAND, "run", "x", *to(server)],
            cwd=tmp_path,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stderr is not None
        process.stderr.close()
        assert process.stdout is not None
        told = process.stdout.read()
        process.stdout.close()
        code = process.wait(30)
    assert (told, code) == (b"done\n", 0)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_locale_without_utf_8_is_no_reason_to_fail(loopwright: Callable, encoding: str) -> None:
    with WireServer([text("Grüße, 世界 …")]) as server:
        ended = loopwright("run", "x", *to(server), PYTHONIOENCODING=encoding)
    assert ended.code == 0
    assert "Traceback" not in ended.err
    if encoding == "ascii":
        assert ended.out == "Gr??e, ?? ...\n"
        assert "natural - anthropic:some-model - 1 request" in ended.err
    if encoding == "utf-8":
        assert ended.out == "Grüße, 世界 …\n"


@pytest.mark.parametrize(("presses", "seconds", "reason"), [(1, 1.0, "user_interrupt"), (2, 20.0, "cancelled")])
def test_ctrl_c_stops_after_the_round_and_again_at_once(
    tmp_path: Path, presses: int, seconds: float, reason: str
) -> None:
    with WireServer([call("list_folder").after(seconds)], repeat_last=True) as server:
        process = subprocess.Popen(
            [*COMMAND, "run", "x", *to(server, "--json")],
            cwd=tmp_path,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + 20
        while not server.requests and time.monotonic() < deadline:
            time.sleep(0.02)
        for _ in range(presses):
            os.kill(process.pid, signal.SIGINT)
            time.sleep(0.3)
        out, err = process.communicate(timeout=15)
    assert process.returncode == 130, (out, err)
    assert json.loads(out)["stop_reason"] == reason
    assert "Ctrl-C again" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("name", ["run.jsonl", "p.db"])
@pytest.mark.parametrize("way", [["--json"], []])
def test_d46_a_full_disk_is_an_error_and_nobody_s_interruption(tmp_path: Path, name: str, way: list[str]) -> None:
    import resource

    for n in range(40):
        words = random.Random(n).choices(["tide", "moon", "harbour", "gull", "rope", "fog", "lamp"], k=6_000)  # noqa: S311
        (tmp_path / f"{n}.txt").write_text("\n".join(words), encoding="utf-8")
    with WireServer([call("read_file", path=f"{n}.txt") for n in range(40)], by_turn=True) as server:
        process = subprocess.run(
            [*COMMAND, "run", "x", *to(server, "--journal", name, *way)],
            cwd=tmp_path,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (160_000, 160_000)),
        )
    assert process.returncode == 1, (process.stdout, process.stderr)
    assert "Traceback" not in process.stderr
    assert "Cancelled" not in process.stderr
    assert "error: " in process.stderr
    if way:
        told = json.loads(process.stdout)
        assert told["exit_code"] == 1
        assert told["error"]["code"] in ("journal_full", "store_unavailable")
        assert told["error"]["hint"]
        assert len(told["tool_calls"]) >= 2


def test_an_error_as_json_says_what_the_provider_answered(loopwright: Callable) -> None:
    refused = fault.status(401, message="no such key")
    with WireServer([refused]) as server:
        ended = loopwright("run", "hello", *to(server, "--json"), ANTHROPIC_API_KEY=KEY)
    error = json.loads(ended.out)["error"]
    assert (ended.code, error["code"], error["status"]) == (1, "auth", 401), ended
    assert (error["retry_after"], error["request_id"]) == (None, "req_1")
    assert KEY not in ended.out + ended.err

    # Longer than it waits for.
    busy = fault.status(429, retry_after=3_600)
    with WireServer([busy]) as server:
        ended = loopwright("run", "hello", *to(server, "--json"), ANTHROPIC_API_KEY=KEY)
    error = json.loads(ended.out)["error"]
    assert (error["code"], error["status"], error["retry_after"]) == ("rate_limited", 429, 3_600), ended
    assert error["request_id"].startswith("req_")


def test_an_error_that_nobody_answered_has_the_same_keys_as_json(loopwright: Callable) -> None:
    ended = loopwright("run", "hello", "--json", "--model", "nosuch:model")
    error = json.loads(ended.out)["error"]
    assert (ended.code, error["kind"]) == (2, "UsageError")
    assert (error["status"], error["retry_after"], error["request_id"]) == (None, None, None)
