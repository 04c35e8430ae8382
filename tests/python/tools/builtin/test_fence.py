"""The fence around commands of the shell: honest work is done, the rest is refused and told.

Where the kernel has no Landlock, tests of what it holds are skipped; that there is none is told all the same.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from loopwright import Agent, _core
from loopwright.guard import Guard, Policy, PolicyError, Sandbox, assess_risk
from loopwright.testing import ScriptedModel, call
from loopwright.tools import builtin_tools
from loopwright.tools.builtin import _fenced

LANDLOCK, SECCOMP, MISSING, _ = _core.fence_support()
PYTHON = shlex.quote(sys.executable)
fenced = pytest.mark.skipif(
    not (LANDLOCK and LANDLOCK >= 6 and SECCOMP), reason=f"the whole fence is needed: {MISSING or LANDLOCK}"
)


def has(*programs: str) -> Any:
    missing = [name for name in programs if shutil.which(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is needed")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a key, beside the workspace."""
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id").write_text("key of the user\n")
    (home / "notes").mkdir()
    (home / "notes" / "one").write_text("a note\n")
    monkeypatch.setenv("HOME", str(home))
    for name in ("CARGO_HOME", "RUSTUP_HOME", "PYENV_ROOT"):
        real = Path(os.environ.get(name, Path("~root").expanduser() / f".{name.split('_')[0].lower()}"))
        monkeypatch.setenv(name, str(real))
    return home


def done(text: str) -> bool:
    """Whether the command ended well."""
    return text.splitlines()[-1].startswith("[exit code 0")


@fenced
@pytest.mark.parametrize(
    "command",
    [
        "ls -la / ~ .",
        'f=$(mktemp) && echo x > "$f" && cat "$f" && rm "$f"',
        f"{PYTHON} -c 'import tempfile; tempfile.NamedTemporaryFile().write(b\"x\"); print(1)'",
        f"{PYTHON} -c 'import multiprocessing as m; print(m.get_context(\"fork\").Pool(2).map(abs, [-1]))'",
        f"{PYTHON} -c 'import socket; socket.socketpair(); print(1)'",
        "printf 'b\\na\\n' | sort | tee sorted | wc -l",
        "sleep 0.01 & wait; echo done",
        "cat ~/notes/one",
        "cat /proc/self/status | head -1",
        "echo x > /dev/shm/loopwright-$$ && rm /dev/shm/loopwright-$$",
        "LC_ALL=C.UTF-8 date && locale",
        "mkdir -p a/b && cd a/b && touch c && cd .. && mv b d && cp -r d e && rm -r d e",
        "echo err >&2; echo out > /dev/stdout; (exit 0)",
    ],
)
def test_honest_work_is_done(box: Any, home: Path, command: str) -> None:
    text = box.ok("shell", command=command)
    assert done(text) and "fence" not in text, text


@fenced
@has("git")
def test_git_works_in_the_workspace(box: Any, home: Path) -> None:
    who = "-c user.name=a -c user.email=a@b.example"
    command = f"git init -q . && echo x > f && git add f && git {who} commit -qm one && git status --short && git log --oneline"
    text = box.ok("shell", command=command)
    assert done(text) and " one" in text, text
    assert box.ok("shell", command="git clone -q . copy && git -C copy fetch && ls copy").startswith("f\n")


@fenced
@has("make", "gcc")
def test_make_and_a_compiler_work(box: Any, home: Path) -> None:
    (box.root / "a.c").write_text("int main(void) { return 0; }\n")
    (box.root / "Makefile").write_text("a: a.c\n\tgcc -o a a.c\n\nrun: a\n\t./a && echo ran\n")
    text = box.ok("shell", command="make --no-print-directory run")
    assert "ran\n[exit code 0]" in text, text


@fenced
@has("cargo")
def test_cargo_builds(box: Any, home: Path) -> None:
    (box.root / "src").mkdir()
    (box.root / "src" / "main.rs").write_text('fn main() { println!("built"); }\n')
    (box.root / "Cargo.toml").write_text('[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\n')
    text = box.ok("shell", command="cargo run -q --offline", timeout_seconds=100)
    assert "built\n[exit code 0]" in text, text


@fenced
def test_pytest_and_pip_work(box: Any, home: Path) -> None:
    (box.root / "test_a.py").write_text("def test_a(tmp_path):\n    (tmp_path / 'x').write_text('x')\n")
    text = box.ok("shell", command=f"{PYTHON} -m pytest -q test_a.py")
    assert "1 passed" in text and done(text), text
    (box.root / "pyproject.toml").write_text('[project]\nname = "a"\nversion = "1"\n')
    (box.root / "a.py").write_text("")
    venv = f"{PYTHON} -m venv --without-pip env"
    assert done(box.ok("shell", command=venv))
    text = box.ok("shell", command=f"{PYTHON} -m pip --python env/bin/python list", timeout_seconds=60)
    assert done(text), text


@fenced
@has("npm", "node")
def test_npm_runs_the_tests_of_a_project(box: Any, home: Path) -> None:
    (home / ".npmrc").write_text("fund=false\n")
    (box.root / "package.json").write_text(
        '{"name": "a", "version": "1.0.0", "scripts": {"test": "node -e 0 && echo ran"}}'
    )
    text = box.ok("shell", command="npm test", timeout_seconds=60)
    assert "\nran\n" in text and done(text), text
    assert (home / ".npm").is_dir()


@fenced
@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("cat ~/.ssh/id", "reading {home}/.ssh/id (private)"),
        ("cat ../home/.ssh/id", "reading {home}/.ssh/id (private)"),
        ("bash -c 'echo x > ~/notes/new'", "writing {home}/notes/new (outside the workspace)"),
        ('cd ..; f=new; touch "$PWD/$f"', "writing {outside}/new (outside the workspace)"),
        (f'{PYTHON} -c \'open("../new", "w")\'', "writing {outside}/new (outside the workspace)"),
    ],
)
def test_what_is_refused_is_told_by_path_and_reason(box: Any, home: Path, command: str, told: str) -> None:
    # As a script, so that the line itself names nothing that a person could have said yes to.
    (box.root / "step.sh").write_text(command)
    text = box.ok("shell", command="bash step.sh")
    assert told.format(home=home, outside=box.root.parent) in text, text
    assert "key of the user" not in text and "beyond_fence=[" in text
    assert (home / "notes" / "one").read_text() == "a note\n" and not (box.root.parent / "new").exists()


@fenced
def test_the_network_is_closed_until_a_line_needs_it(box: Any, home: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        reach = f"import socket; socket.create_connection(('127.0.0.1', {port})); print('there')"
        (box.root / "reach.py").write_text(reach)
        text = box.ok("shell", command=f"{PYTHON} reach.py")
        assert "PermissionError" in text and not done(text), text
        assert "the network" in text and "beyond_fence=" in text, text
        text = box.ok("shell", command=f"{PYTHON} reach.py", beyond_fence=["network"])
        assert "there\n[exit code 0]" in text, text
        assert done(box.ok("shell", command=f"{PYTHON} reach.py")), "it holds for the session"


@fenced
def test_a_path_is_let_through_for_the_session(box: Any, home: Path) -> None:
    (box.root / "step.sh").write_text("echo x > ~/notes/new && cat ~/.ssh/id")
    text = box.ok("shell", command="bash step.sh", beyond_fence=["~/notes/new"])
    assert (home / "notes" / "new").exists() and "key of the user" not in text
    assert "key of the user" in box.ok("shell", command="bash step.sh", beyond_fence=[str(home / ".ssh")])
    assert "key of the user" in box.ok("shell", command="bash step.sh")
    for wide in ("/", "~", "~/absent", str(home.parent), "/proc/self/mem", "../../../.."):
        assert box.fails("shell", command="true", beyond_fence=[wide])["kind"] == "too_wide"


@fenced
def test_a_line_may_do_what_it_names(box: Any, home: Path) -> None:
    for command in (
        "echo x > ~/notes/new",
        "cp ~/notes/new ~/notes/copy",
        "rm ~/notes/copy",
        "mkdir -p ~/notes/deep/er",
    ):
        text = box.ok("shell", command=command)
        assert done(text), f"{command}: {text}"
    assert "key of the user" in box.ok("shell", command="cat ~/.ssh/id")
    (box.root / "step.sh").write_text("echo x > ~/notes/new; cat ~/.ssh/id")
    assert "key of the user" not in box.ok("shell", command="bash step.sh")


@fenced
def test_processes_outside_are_left_alone(box: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (box.root / "step.sh").write_text(f"kill -0 {os.getpid()}; tr '\\0' '\\n' < /proc/{os.getpid()}/environ")
    text = box.ok("shell", command="bash step.sh")
    assert "a signal to a process that the command did not start" in text, text
    assert "PATH=" not in text


def test_to_be_let_through_is_asked_about() -> None:
    shell = {"command": "ls", "beyond_fence": ["network"]}
    risk = assess_risk(("shell", shell), "safe")
    assert (risk.level, risk.rule, risk.part.text) == ("dangerous", "fence.beyond", "network")
    decision = Policy().decide("shell", shell, risk="confirm", by_arguments=True)
    assert decision.verdict == "ask" and "let through the fence" in decision.why
    rule = '[[rule]]\nid = "ls"\nverdict = "allow"\nshell = ["ls"]\nexamples.match = ["ls"]\nexamples.no_match = ["rm"]'
    allowing = Policy.from_toml(rule, tier="admin")
    assert allowing.decide("shell", {"command": "ls"}, risk="confirm").verdict == "allow"
    assert allowing.decide("shell", shell, risk="confirm").verdict == "ask", "an allowed line opens no fence"
    for nothing in ([], None, ""):
        assert assess_risk(("shell", {"command": "ls", "beyond_fence": nothing}), "safe").level == "safe"


@fenced
def test_a_person_lets_it_through_and_sees_for_what(box: Any, home: Path) -> None:
    (box.root / "step.sh").write_text("echo x > ~/notes/new && echo wrote")
    asked: list[Any] = []
    for yes in (False, True):
        model = ScriptedModel(
            [
                call("shell", command="bash step.sh"),
                call("shell", command="bash step.sh", beyond_fence=["~/notes"]),
                call("shell", command="bash step.sh"),
                "done",
            ]
        )

        def approve(approval: Any, yes: bool = yes) -> bool:
            asked.append(approval)
            return "beyond_fence" not in approval.arguments or yes

        agent = Agent(model, tools=builtin_tools(box.root), guard=Guard(approve=approve, workspace=box.root))
        agent.run_sync("run step.sh with bash")
        told = [str(request.messages[-1].to_dict()) for request in model.requests[1:]]
        assert [("wrote" in each) for each in told] == [False, yes, yes], told
        assert f"writing {home}/notes/new" in told[0]
    assert any("let through the fence" in each.why and "~/notes" in each.why for each in asked)


# ---- off, and absent ----


def writing(guard: Guard | None, root: Path, **settings: Any) -> str:
    """What comes of a command that a script hides, in a run of an agent."""
    (root / "step.sh").write_text("echo x > ../outside && echo wrote")
    model = ScriptedModel([call("shell", command="bash step.sh"), "done"])
    guard = dataclasses.replace(guard or Guard(), approve=lambda _: True, workspace=str(root))
    agent = Agent(model, tools=builtin_tools(root, **settings), guard=guard)
    result = agent.run_sync("run step.sh with bash")
    (root.parent / "outside").unlink(missing_ok=True)
    return str([message.to_dict() for message in result.messages])


@fenced
def test_a_guard_or_a_policy_takes_the_fence_away(box: Any) -> None:
    root = box.root
    assert "outside the workspace" in writing(None, root)
    assert "wrote" in writing(Guard(sandbox=False), root)
    assert "wrote" in writing(None, root, sandbox=False)
    assert "outside the workspace" in writing(Guard(sandbox=True), root, sandbox=False)
    assert "wrote" in writing(Guard(sandbox=Sandbox(write=[root.parent])), root)
    off = Policy.from_toml("sandbox = false")
    assert (off.sandbox, Policy().sandbox) == (False, None)
    assert "wrote" in writing(Guard(policy=off), root)
    admin = Policy.from_toml("sandbox = true", tier="admin")
    assert "outside the workspace" in writing(Guard(policy=admin, sandbox=False), root)


def test_a_sub_agent_has_the_fence_of_the_run() -> None:
    from loopwright import UsageError

    child = Agent(ScriptedModel(["x"]), name="child", description="helps", guard=Guard(sandbox=False))
    with pytest.raises(UsageError, match="says of the fence"):
        Agent(ScriptedModel(["x"]), agents=[child])
    Agent(ScriptedModel(["x"]), agents=[child], guard=Guard(sandbox=False))


def test_a_file_of_the_workspace_takes_no_fence_away() -> None:
    with pytest.raises(PolicyError) as caught:
        Policy.from_toml("sandbox = false", tier="project", name="policy.toml")
    assert (caught.value.code, caught.value.line) == ("invalid_setting", 1)
    with pytest.raises(PolicyError, match="true or false"):
        Policy.from_toml('sandbox = "off"')
    assert Policy.from_toml("sandbox = true", tier="project").sandbox is True


def test_where_there_is_no_fence_it_is_said_once(
    make_box: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_fenced._core, "fence_support", lambda: (None, False, "the kernel has no Landlock", []))
    _fenced._log_none.cache_clear()
    box = make_box(tmp_path)
    emitted: list[str] = []

    async def main() -> list[str]:
        from loopwright.tools import Context

        shell = box.tools["shell"]
        return [(await shell.run({"command": "echo x"}, Context(emit=emitted.append))).text for _ in range(3)]

    with caplog.at_level(logging.WARNING, "loopwright.tool"):
        assert asyncio.run(main()) == ["x\n[exit code 0]"] * 3
    assert [record.getMessage() for record in caplog.records] == [
        "commands run without a fence: the kernel has no Landlock; Guard(sandbox=False) says that this is meant"
    ]
    assert emitted == ["commands run without a fence: the kernel has no Landlock"]


def test_options_that_are_none_are_refused() -> None:
    from loopwright import UsageError

    for wrong in (lambda: Guard(sandbox="off"), lambda: Sandbox(write="/srv"), lambda: Sandbox(network=1)):  # type: ignore[arg-type]
        with pytest.raises(UsageError):
            wrong()
    with pytest.raises(UsageError, match="guard can't be"):
        Agent(ScriptedModel(["x"]), guard=False)  # type: ignore[arg-type]
