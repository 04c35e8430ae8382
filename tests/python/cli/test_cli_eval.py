"""`loopwright eval`: files of cases with both packages, recorded runs, and what is said when something is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from command_line import Ended, environment
from loopwright import Agent, tool
from loopwright.testing import ScriptedModel, call

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

APP = '''
from dataclasses import dataclass

from loopwright import Agent, tool
from loopwright.models import ModelFailure
from loopwright.testing import ScriptedModel, call


def answer(request):
    """Answers by the prompt, so that cases may come in any order."""
    asked = request.last_text
    if "gone" in asked:
        raise ModelFailure("no such model", "not_found")
    if request.turns:
        return f"There are {request.last_text}."
    return call("stock", part=asked.split()[2].strip("?"))


@tool(read_only=True)
def stock(part: str) -> int:
    "How many of a part there are."
    return {"bolts": 120, "nuts": 7}.get(part, 0)


agent = Agent(ScriptedModel([answer] * 40), tools=[stock], name="stores")
real = Agent("openai:gpt-5", tools=[stock])
strict = agent.clone(tools=[])
number = 7
try:
    from pydantic_evals.evaluators import Evaluator
except ImportError:
    pass
else:
    @dataclass
    class Polite(Evaluator):
        def evaluate(self, ctx) -> bool:
            return "please" in ctx.output
'''
YAML = """\
name: parts
cases:
  - name: bolts
    inputs: How many bolts?
    expected_output: There are 120.
    metadata: {topic: stock}
  - name: nuts
    inputs: How many nuts?
    expected_output: There are 8.
  - name: broken
    inputs: How many gone?
    expected_output: There are 1.
"""

needs_pydantic_evals = pytest.mark.skipif(find_spec("pydantic_evals") is None, reason="pydantic-evals is not installed")
needs_inspect = pytest.mark.skipif(find_spec("inspect_ai") is None, reason="inspect-ai is not installed")
BOTH = [
    pytest.param("pydantic-evals", marks=needs_pydantic_evals),
    pytest.param("inspect", marks=needs_inspect),
]


@pytest.fixture
def loopwright(tmp_path: Path) -> Callable[..., Ended]:
    """The command line as everybody runs it: inspect leaves streams behind, which `-W error` complains about."""

    def run(*arguments: str, **more: str) -> Ended:
        done = subprocess.run(
            [sys.executable, "-m", "loopwright", *arguments],
            cwd=tmp_path,
            env=environment(**more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=100,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def app(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "cases.yaml").write_text(YAML)
    return tmp_path


@pytest.fixture
def runs(app: Path) -> str:
    """A store with two runs of the agent of the file."""

    @tool(read_only=True)
    def stock(part: str) -> int:
        "How many of a part there are."
        return 120 if part == "bolts" else 7

    script = [call("stock", part="bolts"), "There are 120.", call("stock", part="nuts"), "There are 7."]
    agent = Agent(ScriptedModel(script), tools=[stock], journal=app / "runs.db")
    return [agent.run_sync(f"How many {part}?").run_id for part in ("bolts", "nuts")]


@pytest.mark.parametrize("runner", BOTH)
def test_a_file_of_cases_is_run_and_told(loopwright: Callable, app: Path, runner: str) -> None:
    ended = loopwright("eval", "cases.yaml", "app.py:agent", "--with", runner)
    assert ended.code == 1, ended.err
    lines = ended.out.splitlines()
    assert lines[0].split()[:2] == ["case", "result"]
    assert [line.split()[:2] for line in lines if line.split()[:1] in (["bolts"], ["nuts"], ["broken"])] == [
        ["bolts", "passed"],
        ["nuts", "failed"],
        ["broken", "error"],
    ]
    assert "expected “There are 8.”, got “There are 7.”" in ended.out
    assert "no such model" in ended.out
    assert "1 of 3 cases passed" in ended.out
    assert "Traceback" not in ended.out + ended.err


@pytest.mark.parametrize("runner", BOTH)
def test_json_holds_each_case_with_its_figures(loopwright: Callable, app: Path, runner: str) -> None:
    ended = loopwright("eval", "cases.yaml", "app.py:agent", "--with", runner, "--json")
    told = json.loads(ended.out)
    assert (told["passed"], told["total"], told["exit_code"]) == (1, 3, 1)
    bolts, nuts, broken = told["cases"]
    assert bolts["passed"] is True
    assert bolts["output"] == "There are 120."
    assert bolts["metrics"]["requests"] == 2
    assert bolts["metrics"]["tool_calls"] == 1
    assert bolts["metrics"]["input_tokens"] > 0
    assert bolts["attributes"]["stop_reason"] == "natural"
    assert nuts["expected"] == "There are 8."
    assert not nuts["passed"]
    assert "no such model" in broken["error"]


@pytest.mark.parametrize("runner", BOTH)
def test_all_passed_is_code_0(loopwright: Callable, app: Path, runner: str) -> None:
    ended = loopwright("eval", "cases.yaml", "app.py:agent", "--case", "bolts", "--with", runner)
    assert ended.code == 0, ended.out + ended.err
    assert "1 of 1 case passed" in ended.out


@pytest.mark.parametrize("runner", BOTH)
def test_evaluators_of_the_file_judge(loopwright: Callable, app: Path, runner: str) -> None:
    pytest.importorskip("pydantic_evals")
    (app / "cases.json").write_text(
        json.dumps(
            {
                "cases": [
                    {"name": "bolts", "inputs": "How many bolts?", "evaluators": [{"Contains": {"value": "120"}}]},
                    {"name": "nuts", "inputs": "How many nuts?", "evaluators": ["Polite", {"MaxDuration": 0.0}]},
                    {"name": "exact", "inputs": "How many bolts?", "expected_output": "There are 8."},
                ]
            }
        )
    )
    told = json.loads(loopwright("eval", "cases.json", "app.py:agent", "--with", runner, "--json").out)
    assert [case["passed"] for case in told["cases"]] == [True, False, False]
    assert told["cases"][1]["reasons"] == ["Polite: no", "MaxDuration(0.0): no"]
    assert told["cases"][2]["reasons"] == ["expected “There are 8.”, got “There are 120.”"]


@needs_pydantic_evals
def test_lines_of_json_are_cases(loopwright: Callable, app: Path) -> None:
    (app / "cases.jsonl").write_text(
        '{"name": "bolts", "inputs": "How many bolts?", "expected_output": "There are 120."}\n'
        "\n"
        '{"inputs": "How many nuts?", "expected_output": "There are 7."}\n'
    )
    ended = loopwright("eval", "cases.jsonl", "app.py:agent")
    assert ended.code == 0, ended.out + ended.err
    assert "2 of 2 cases passed" in ended.out


@needs_pydantic_evals
def test_a_file_that_pydantic_evals_wrote_is_read(loopwright: Callable, app: Path) -> None:
    from pydantic_evals import Case, Dataset
    from pydantic_evals.evaluators import Contains, EqualsExpected

    case = Case(name="bolts", inputs="How many bolts?", expected_output="There are 120.", evaluators=[Contains("120")])
    dataset = Dataset[str, str, Any](name="parts", cases=[case], evaluators=[EqualsExpected()])
    for name in ("written.yaml", "written.json"):
        dataset.to_file(app / name)
        ended = loopwright("eval", name, "app.py:agent", "--json")
        assert ended.code == 0, ended.out + ended.err


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("bad.json", '{"cases": [', "bad.json, line 1"),
        ("bad.json", '{"cases": {}}', "`cases`"),
        ("bad.json", "[]", "bad.json"),
        ("bad.json", '{"cases": [{"inputs": "a"}, 7]}', "case 2"),
        ("bad.json", '{"cases": [{"name": "a"}]}', "case 1 ('a'"),
        ("bad.json", '{"cases": [{"inputs": "a", "expected": "b"}]}', "`expected`"),
        ("bad.json", '{"cases": [{"name": 7, "inputs": "a"}]}', "`name`"),
        ("bad.json", '{"cases": [{"name": "a", "inputs": "a"}, {"name": "a", "inputs": "b"}]}', "'a'"),
        ("bad.jsonl", '{"inputs": "a"}\n{"inputs": \n', "bad.jsonl, line 2"),
        ("bad.jsonl", '{"inputs": "a"}\n{"input": "a"}\n', "line 2"),
        ("bad.txt", "hello", ".yaml"),
        ("bad.json", '{"cases": []}', "no case"),
    ],
)
def test_a_malformed_file_is_said_with_its_place(
    loopwright: Callable, app: Path, name: str, text: str, words: str
) -> None:
    (app / name).write_text(text)
    ended = loopwright("eval", name, "app.py:agent")
    assert ended.code == 2
    assert words in ended.err
    assert "Traceback" not in ended.err
    assert ended.out == ""


@needs_pydantic_evals
def test_a_malformed_case_of_yaml_is_said_with_its_line(loopwright: Callable, app: Path) -> None:
    (app / "bad.yaml").write_text(YAML.replace("expected_output: There are 8.", "expected: There are 8."))
    ended = loopwright("eval", "bad.yaml", "app.py:agent")
    assert ended.code == 2
    assert "case 2 ('nuts', line 7)" in ended.err
    assert "`expected`" in ended.err
    assert "expected_output" in ended.err
    (app / "bad.yaml").write_text("cases: [\n  a: b")
    assert "bad.yaml, line 2" in loopwright("eval", "bad.yaml", "app.py:agent").err


@needs_pydantic_evals
def test_an_evaluator_that_nobody_knows_is_said(loopwright: Callable, app: Path) -> None:
    (app / "bad.json").write_text('{"cases": [{"name": "a", "inputs": "b", "evaluators": ["Kind"]}]}')
    ended = loopwright("eval", "bad.json", "app.py:agent")
    assert ended.code == 2
    assert "Kind" in ended.err
    assert "'a'" in ended.err


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("nowhere.py:agent", "there is no file 'nowhere.py'"),
        ("app.py:nobody", "there is no 'nobody'"),
        ("app.py:number", "int"),
        ("app.py", "names no agent"),
        ("raises.py:agent", "ValueError: not today"),
        ("wrong.py:agent", "SyntaxError"),
    ],
)
def test_an_agent_that_cannot_be_imported_is_said(loopwright: Callable, app: Path, agent: str, words: str) -> None:
    (app / "raises.py").write_text("a = 1\nraise ValueError('not today')\n")
    (app / "wrong.py").write_text("def :\n")
    (app / "cases.json").write_text('{"cases": [{"inputs": "a"}]}')
    ended = loopwright("eval", "cases.json", agent)
    assert ended.code == 2
    assert words in ended.err
    assert "Traceback" not in ended.err


def test_a_file_that_is_not_there_is_said(loopwright: Callable, app: Path) -> None:
    ended = loopwright("eval", "none.yaml", "app.py:agent", "--json")
    assert ended.code == 2
    assert json.loads(ended.out)["error"]["code"] == "cases_not_found"


def test_cases_without_an_agent_say_that_one_is_needed(loopwright: Callable, app: Path) -> None:
    (app / "cases.json").write_text('{"cases": [{"inputs": "a"}]}')
    ended = loopwright("eval", "cases.json")
    assert ended.code == 2
    assert "FILE:NAME" in ended.err


@pytest.mark.parametrize("runner", BOTH)
def test_a_key_that_is_missing_is_said_once_before_anything_runs(loopwright: Callable, app: Path, runner: str) -> None:
    ended = loopwright("eval", "cases.yaml", "app.py:real", "--with", runner)
    assert ended.code == 2
    assert "OPENAI_API_KEY" in ended.err
    assert ended.out == ""


def test_a_case_that_there_is_not_is_said(loopwright: Callable, app: Path) -> None:
    (app / "cases.json").write_text('{"cases": [{"name": "bolts", "inputs": "a"}]}')
    ended = loopwright("eval", "cases.json", "app.py:agent", "--case", "bolt")
    assert ended.code == 2
    assert "bolts" in ended.err


@pytest.mark.parametrize("package", ["pydantic-evals", "inspect-ai"])
def test_a_package_that_is_missing_or_of_another_version_is_said(loopwright: Callable, app: Path, package: str) -> None:
    (app / "cases.json").write_text('{"cases": [{"inputs": "a"}]}')
    runner, extra = ("inspect", "inspect") if package == "inspect-ai" else ("pydantic-evals", "evals")
    for version, words in ((None, "is not installed"), ("0.0.1", "0.0.1 is installed")):
        # What the interpreter loads first tells of the packages; that is not ours.
        (app / "sitecustomize.py").write_text(
            "from importlib import metadata\n"
            "real = metadata.version\n"
            "def version(name):\n"
            f"    if name == {package!r}:\n"
            f"        {'raise metadata.PackageNotFoundError(name)' if version is None else f'return {version!r}'}\n"
            "    return real(name)\n"
            "metadata.version = version\n"
        )
        ended = loopwright(
            "eval", "cases.json", "app.py:agent", "--with", runner, PYTHONPATH=":".join([str(app), *sys.path])
        )
        assert ended.code == 2
        assert words in ended.err
        assert f"pip install 'loopwright[{extra}]'" in ended.err


def test_recorded_runs_are_replayed_without_an_agent(loopwright: Callable, app: Path, runs: list[str]) -> None:
    ended = loopwright("eval", "runs.db")
    assert ended.code == 0, ended.out + ended.err
    assert "2 of 2 cases passed" in ended.out
    assert all(run in ended.out for run in runs)


def test_recorded_runs_are_played_with_the_agent_of_today(loopwright: Callable, app: Path, runs: list[str]) -> None:
    ended = loopwright("eval", "runs.db", "app.py:agent", "--json")
    assert ended.code == 0, ended.out + ended.err
    told = json.loads(ended.out)
    assert [case["name"] for case in told["cases"]] == runs
    assert [case["output"] for case in told["cases"]] == ["There are 120.", "There are 7."]


def test_the_first_decision_that_changed_is_named(loopwright: Callable, app: Path, runs: list[str]) -> None:
    ended = loopwright("eval", "runs.db", "app.py:strict", "--case", runs[1])
    assert ended.code == 1
    assert "0 of 1 case passed" in ended.out
    assert "round 1: " in ended.out
    assert "(event 2)" in ended.out


def test_recorded_runs_are_run_live(loopwright: Callable, app: Path, runs: list[str]) -> None:
    ended = loopwright("eval", "runs.db", "app.py:agent", "--live", "--at-once", "1")
    assert ended.code == 0, ended.out + ended.err


def test_a_journal_that_replays_otherwise_is_a_case_that_failed(
    loopwright: Callable, app: Path, runs: list[str]
) -> None:
    from loopwright import Journal

    lines = Journal(app / "runs.db").text(runs[0]).splitlines(keepends=True)
    (app / "cut").mkdir()
    (app / "cut" / "one.jsonl").write_text("".join(lines).replace('"rule":"tool_calls"', '"rule":"tool_call5"'))
    ended = loopwright("eval", "cut")
    assert ended.code == 1
    assert "damaged" in ended.out


def test_a_store_without_a_run_that_ended_is_said(loopwright: Callable, app: Path) -> None:
    (app / "empty").mkdir()
    ended = loopwright("eval", "empty", "app.py:agent")
    assert ended.code == 2
    assert "no run" in ended.err
