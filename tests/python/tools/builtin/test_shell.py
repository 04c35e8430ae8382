"""Commands: their output, their limits, and that nothing of them is left."""

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest
from loopwright.tools.builtin._shell import without_secrets


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def gone(file: Path) -> bool:
    for _ in range(100):
        if file.exists() and (text := file.read_text().strip()) and not alive(int(text)):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("echo hello", "hello\n[exit code 0]"),
        ("true", "[exit code 0; no output]"),
        ("echo oops >&2; exit 3", "oops\n[exit code 3]"),
        ("kill -9 $$", "[killed by SIGKILL; no output]"),
        ("absent_command_x 2>/dev/null", "[exit code 127; no output]"),
        ("printf 'a\\r\\nb'", "a\nb\n[exit code 0]"),
        ("printf '\\033[31mred\\033[0m \\033]0;title\\007x'", "red x\n[exit code 0]"),
        ("printf '\\377\\n'", "\ufffd\n[exit code 0]"),
        ("cat", "[exit code 0; no output]"),
        ("tty", "not a tty\n[exit code 1]"),
        ("echo 'größe 天'", "größe 天\n[exit code 0]"),
    ],
)
def test_output_and_exit_code(box: Any, command: str, text: str) -> None:
    assert box.ok("shell", command=command) == text


def test_runs_in_the_workspace(box: Any) -> None:
    assert box.ok("shell", command="pwd").startswith(str(box.root))
    box.ok("shell", command="echo x > 'a b'")
    assert (box.root / "a b").read_text() == "x\n"


@pytest.mark.parametrize("command", ["", "  \n", "a\0b", "x" * 200_000])
def test_commands_that_are_none(box: Any, command: str) -> None:
    assert box.fails("shell", command=command)["kind"] == "invalid_command"


def test_timeout_ends_the_whole_group(box: Any) -> None:
    command = "echo before; (trap '' TERM; sh -c 'echo $$ > inner; trap \"\" TERM; sleep 60; sleep 60') & sleep 60"
    began = time.monotonic()
    failure = box.fails("shell", command=command, timeout_seconds=0.4)
    assert time.monotonic() - began < 5
    assert failure["kind"] == "timeout"
    assert "before" in failure["message"]
    assert gone(box.root / "inner")


def test_background_processes_end_with_the_command(box: Any) -> None:
    began = time.monotonic()
    assert "started" in box.ok("shell", command="sleep 60 & echo $! > pid; echo started")
    assert time.monotonic() - began < 5
    assert gone(box.root / "pid")


def test_endless_output_does_not_fill_memory(box: Any) -> None:
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    failure = box.fails("shell", command="yes", timeout_seconds=20)
    assert failure["kind"] == "output_limit"
    assert len(failure["message"]) < 5_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_long_output_keeps_head_and_tail(box: Any) -> None:
    text = box.ok("shell", command="echo first; seq 1 200000; echo last")
    assert text.startswith("first\n1\n")
    assert text.endswith("200000\nlast\n[exit code 0]")
    assert "bytes left out" in text
    assert len(text) < 32_000


def test_cancelling_ends_the_group(box: Any) -> None:
    async def main() -> None:
        task = asyncio.ensure_future(box.tools["shell"].run({"command": "sh -c 'echo $$ > pid; sleep 60' & sleep 60"}))
        while not (box.root / "pid").exists():  # noqa: ASYNC110 - a file has no event
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    began = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - began < 5
    assert gone(box.root / "pid")


def test_a_child_that_escapes_and_keeps_the_pipe_does_not_hold_us(box: Any) -> None:
    began = time.monotonic()
    assert "out" in box.ok("shell", command="setsid sleep 3 & echo out")
    assert time.monotonic() - began < 2.5


def test_many_at_once(box: Any) -> None:
    async def main() -> set[str]:
        runs = (box.tools["shell"].run({"command": "sleep 0.1; echo done"}) for _ in range(20))
        return {each.text for each in await asyncio.gather(*runs)}

    assert asyncio.run(main()) == {"done\n[exit code 0]"}


def test_secrets_stay_out_of_the_environment(box: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "hidden")
    monkeypatch.setenv("GITHUB_TOKEN", "hidden")
    monkeypatch.setenv("HARMLESS", "shown")
    text = box.ok("shell", command="env")
    assert "hidden" not in text
    assert "HARMLESS=shown" in text
    assert set(without_secrets({"db_password": "", "PATH": "", "KEYBOARD": ""})) == {"PATH", "KEYBOARD"}


SECRETS = {
    "DATABASE_URL": "postgres://app:{}@db.internal/orders",
    "CELERY_BROKER_URL": "amqp://worker:{}@queue:5672//",
    "CACHE_URL": "redis://:{}@cache:6379/0",
    "HTTPS_PROXY": "http://bob:{}@proxy.corp:3128",
    "MYSQL_PWD": "{}",
    "PGPASSWORD": "{}",
    "LDAPPASS": "{}",
    "BORG_PASSPHRASE": "{}",
    "GITHUB_PAT": "{}",
    "OPENAI_KEY": "{}",
    "DEPLOY_KEY": "{}",
    "CURSOR_API_KEY": "{}",
    "NEXT_AUTH_SECRET": "{}",
    "FB_PAGE_ACCESS_TOKEN": "{}",
    "REDISCLI_AUTH": "{}",
    "apiKey": "{}",
    "SETTINGS": "Server=db;User Id=app;Password={};",
}
HARMLESS = {
    "MAX_TOKENS": "4096",
    "TOKENIZERS_PARALLELISM": "false",
    "KEYBOARD": "us",
    "MONKEY": "george",
    "SSH_AUTH_SOCK": "/tmp/ssh-XXXXabcdef/agent.1234",
    "XDG_SESSION_ID": "2",
    "CARGO_HOME": "/root/.cargo",
    "VIRTUAL_ENV": "/opt/venv",
    "AUTH_MODE": "ldap",
    "PASSWORD_MIN_LENGTH": "12",
    "TOKEN_URL": "https://login.example.com/oauth/token",
    "REPOSITORY": "https://git@github.com/a/b",
}


@pytest.mark.parametrize("value", ["Tr0ub4dor-3x", "swordfish", "1234567"], ids=["mixed", "word", "digits"])
def test_g9_commands_get_no_variable_that_opens_something(
    box: Any, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    for name, form in SECRETS.items():
        monkeypatch.setenv(name, form.format(value))
    monkeypatch.setenv("WHATEVER", "ghp_R7dK2mXq9LbT4vWn8ZsY1cJf6HgP3aEu5oQi")
    lines = box.ok("shell", command="env").splitlines()
    assert not [line for line in lines if value in line or "ghp_" in line]
    assert not {line.partition("=")[0] for line in lines} & {*SECRETS, "WHATEVER"}


def test_g9_commands_get_every_other_variable(box: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in HARMLESS.items():
        monkeypatch.setenv(name, value)
    lines = set(box.ok("shell", command="env").splitlines())
    assert {f"{name}={value}" for name, value in HARMLESS.items()} <= lines
    assert any(line.startswith("PATH=") for line in lines)


def test_variables_that_are_no_text_are_handed_on(box: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD", os.fsdecode(b"a\xffb"))
    monkeypatch.setenv("ODD_TOKEN", os.fsdecode(b"a\xffb"))
    text = box.ok("shell", command='printf %s "$ODD" | od -An -tx1; echo "[$ODD_TOKEN]"')
    assert "61 ff 62" in text and "[]" in text


def test_own_environment(make_box: Any, tmp_path: Path) -> None:
    box = make_box(tmp_path, env={"PATH": os.environ["PATH"], "MY_TOKEN": "wanted"})
    assert "MY_TOKEN=wanted" in box.ok("shell", command="env")


def test_workspace_that_is_gone(box: Any) -> None:
    box.root.rmdir()
    assert box.fails("shell", command="true")["kind"] == "cannot_start"
    assert box.fails("list_folder")["kind"] == "file_not_found"
