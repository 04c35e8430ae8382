"""The stub of the compiled module says what is in it, and the public API has the types that people expect."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*command: str, cwd: Path = ROOT) -> tuple[int, str]:
    environment = {**os.environ, "MYPY_CACHE_DIR": str(ROOT / ".mypy_cache" / "tests")}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.timeout(300)
def test_the_stub_describes_the_compiled_module():
    code, said = run("mypy.stubtest", "loopwright._core", "--allowlist", "tests/stubtest-allowlist.txt")
    assert code == 0, said


@pytest.mark.timeout(300)
def test_the_public_api_has_the_types_that_people_expect(tmp_path):
    code, said = run("mypy", "--strict", "--config-file", os.devnull, str(ROOT / "tests" / "typing"), cwd=tmp_path)
    assert code == 0, said


@pytest.mark.timeout(300)
def test_a_wrong_use_of_the_public_api_is_found(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from loopwright import Agent, tool\n"
        "@tool\n"
        "def double(number: int) -> int:\n"
        "    return 2 * number\n"
        'double("two")\n'
        'Agent("offline:extractive", output_type=int).run_sync("?").output.upper()\n'
    )
    code, said = run("mypy", "--strict", "--config-file", os.devnull, str(wrong), cwd=tmp_path)
    assert code == 1, said
    assert 'wrong.py:5: error: Argument 1 to "__call__" of "Tool" has incompatible type "str"' in said
    assert 'wrong.py:6: error: "int" has no attribute "upper"' in said


def pyright(folder: Path, *files: Path) -> list[tuple[str, int, str]]:
    """What pyright says in its strict mode about files that somebody wrote: file, line and rule."""
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("pyright is not installed: pip install --group dev")
    for file in files:
        (folder / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}', encoding="utf-8")
    _, said = run("pyright", "--outputjson", "--pythonpath", sys.executable, "--project", str(folder))
    found = json.loads(said[said.index("{") : said.rindex("}") + 1])
    assert found["summary"]["filesAnalyzed"] > 0, said
    return [
        (Path(each["file"]).name, each["range"]["start"]["line"] + 1, each.get("rule", ""))
        for each in found["generalDiagnostics"]
    ]


@pytest.mark.timeout(300)
def test_n2_pyright_finds_the_same_types_in_its_strict_mode(tmp_path):
    assert pyright(tmp_path, *sorted((ROOT / "tests" / "typing").glob("*.py"))) == []


@pytest.mark.timeout(300)
def test_n2_pyright_finds_a_wrong_use_of_the_public_api(tmp_path):
    (tmp_path / "wrong.py").write_text(
        "from loopwright import Agent\n"
        "def stock(part: str) -> int:\n"
        "    return len(part)\n"
        'agent = Agent("offline:extractive", tools=[stock])\n'
        'agent.run_sync("?").output.bit_length()\n'
        'Agent("offline:extractive", output_type=int | None).run_sync("?").output.bit_length()\n'
        'Agent("offline:extractive", tools=[3])\n'
    )
    found = pyright(tmp_path)
    assert {line for _, line, rule in found if rule} == {5, 6, 7}, found


def test_everything_compiled_is_documented():
    from loopwright import _core

    stub = (ROOT / "python" / "loopwright" / "_core.pyi").read_text(encoding="utf-8")
    assert all(name in stub for name in _core.__all__)
    for name in _core.__all__:
        thing = getattr(_core, name)
        if isinstance(thing, type):
            assert thing.__doc__, name
            for member, value in vars(thing).items():
                if not member.startswith("_") and member != "type":
                    assert getattr(value, "__doc__", None) or member in NO_DOC, f"{name}.{member}"


NO_DOC = {"text", "block", "call_id", "name", "kind", "to_json"}
"""Fields of deltas, whose documentation stands in the stub."""


@pytest.mark.timeout(300)
def test_w20_a_wrong_setting_of_a_model_is_found_by_its_key(tmp_path):
    (tmp_path / "wrong.py").write_text(
        "from loopwright import Agent, Model\n"
        'Model("ollama:m", settings={"temprature": 0.2})\n'
        'Model("ollama:m", settings={"effort": "extreme"})\n'
        'Model("ollama:m", base="http://x")\n'
        "Agent(Model)\n"
    )
    code, said = run("mypy", "--strict", "--config-file", os.devnull, "wrong.py", cwd=tmp_path)
    assert code == 1, said
    assert 'wrong.py:2: error: Extra key "temprature" for TypedDict "ModelSettings"' in said
    assert all(f"wrong.py:{line}: error" in said for line in (3, 4, 5)), said
    assert {line for _, line, _ in pyright(tmp_path)} == {2, 3, 4, 5}
