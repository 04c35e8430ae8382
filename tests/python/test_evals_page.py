"""The examples of docs/evaluations.md run as they stand, and its tables name what there is."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "evaluations.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SAID = {
    "pydantic_evals": "There are 120. True\n2 1 natural\n",
    "inspect_ai": "success 1.0\n['user', 'assistant', 'tool', 'assistant']\n",
    "loopwright": "How many bolts? There are 120.\n"
    'round 1: the call stock {"part": "bolts"} was allow, and is forbid now (event 2)\n',
}


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, *arguments],
        check=False,
        cwd=folder,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "", "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=100,
    )


@pytest.mark.parametrize(("at", "package"), [*enumerate(SAID)])
def test_the_examples_run_as_they_stand(tmp_path, at, package):
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    assert len(EXAMPLES) == len(SAID)
    (tmp_path / "example.py").write_text(EXAMPLES[at])
    done = run(tmp_path, "example.py")
    assert (done.stdout, done.stderr) == (SAID[package], "")


def test_the_file_of_cases_runs_from_the_command_line(tmp_path):
    pytest.importorskip("pydantic_evals")
    (cases,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "cases.yaml").write_text(cases)
    (tmp_path / "shop.py").write_text(EXAMPLES[0].split("dataset = ")[0])
    done = run(tmp_path, "-m", "loopwright", "eval", "cases.yaml", "shop.py:agent")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of 1 case passed" in done.stdout


def test_every_option_of_the_command_is_in_the_page_and_every_code_is_raised():
    helped = run(Path.cwd(), "-m", "loopwright", "eval", "--help").stdout
    assert helped
    for option in set(re.findall(r"--[a-z-]+", helped)) - {"--help"}:
        assert f"`{option}" in PAGE or f" {option}" in PAGE, option
    folder = Path(__file__).parents[2] / "python" / "loopwright"
    code = "".join(
        path.read_text(encoding="utf-8")
        for path in (*(folder / "evals").glob("*.py"), *(folder / "cli").glob("*.py"), folder / "_extras.py")
    )
    table = PAGE.split("## Errors")[1]
    named = {name for row in table.splitlines() if row.startswith("| `") for name in re.findall(r"`(\w+)`", row)}
    assert len(named) >= 7
    assert {name for name in named if f'"{name}"' not in code} == set()
