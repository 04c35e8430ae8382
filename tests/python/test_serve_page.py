"""The example of docs/serve.md runs as it stands, its routes are those that there are, and importing imports nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from loopwright import UsageError, _extras
from loopwright.serve import serve
from loopwright.serve._app import _ANSWERS, _COUNTS
from loopwright.testing import ScriptedModel

PAGE = (Path(__file__).parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")


def test_the_example_runs_as_it_stands(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    # A program would go on; this one ends with the answer.
    (tmp_path / "program.py").write_text(f"{example}\nimport time\ntime.sleep(60)\n")
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-u", "program.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": ""},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        answer = json.loads(process.stdout.readline())
        process.kill()
    assert answer["choices"][0]["message"]["content"] == "Hello."


def test_the_page_tells_each_route() -> None:
    told = set(re.findall(r"`(?:/v1)?(/[a-z_/]+)`", PAGE.split("## What comes")[0]))
    assert told == {*_ANSWERS, *_COUNTS, "/models"}


@pytest.mark.parametrize("version", [None, "0.1.0", "99.1"])
def test_a_server_that_is_missing_is_said_with_what_to_install(monkeypatch: Any, version: str | None) -> None:
    def found(package: str) -> str:
        if version is None:
            raise metadata.PackageNotFoundError(package)
        return version

    _extras.need.cache_clear()
    monkeypatch.setattr(metadata, "version", found)
    with pytest.raises(UsageError) as caught:
        serve(ScriptedModel(["a"]))
    _extras.need.cache_clear()
    assert caught.value.code == ("missing_extra" if version is None else "wrong_version")
    assert "pip install 'loopwright[serve]'" in (caught.value.hint or "")


def test_importing_imports_no_server() -> None:
    code = (
        "import sys, loopwright.serve; print([each for each in ('uvicorn', 'h11', 'pydantic') if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
