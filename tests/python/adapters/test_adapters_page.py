"""The examples of docs/adapters.md run as they stand, where their packages are."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "adapters.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^## ([\w -]+)\n\n```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
PACKAGES = {"pydantic-ai": "pydantic_ai", "LangChain": "langchain", "OpenAI Agents SDK": "agents", "litellm": "litellm"}


@pytest.mark.parametrize(("title", "example"), EXAMPLES, ids=[title for title, _ in EXAMPLES])
def test_an_example_runs_as_it_stands(tmp_path: Path, title: str, example: str) -> None:
    if find_spec(PACKAGES[title]) is None:
        pytest.skip(f"{title} is not installed")
    (tmp_path / "program.py").write_text(example)
    environment = {"PYTHONPATH": ":".join(sys.path), "PATH": ""}
    command = [sys.executable, "program.py"]
    done = subprocess.run(command, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_each_framework_has_an_example() -> None:
    assert [title for title, _ in EXAMPLES] == list(PACKAGES)
