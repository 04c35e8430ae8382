"""Every Python example in the README and in each page of the docs runs when it is pasted alone: it imports what it uses,
and needs no network. Those of the README and of the path for learners need no key either.
"""

from __future__ import annotations

import codeop
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from test_stubs import pyright
from test_stubs import run as checker

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LEARN = sorted((ROOT / "docs" / "learn").glob("*.md"))
ADAPTERS = ROOT / "docs" / "adapters.md"
"""What it shows needs packages of others, where `adapters/test_adapters_page.py` runs it."""
KEYLESS = (Path("README.md"), *(page.relative_to(ROOT) for page in LEARN))
TYPED = (*KEYLESS, *(page.relative_to(ROOT) for page in PAGES if page.parent.name == "coming-from"))
# What not every environment has: the page has a test of its own (test_evals_page.py), which `make evals` runs.
BESIDE = ("inspect_ai", "pydantic_evals")
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "LOOPWRIGHT_MODEL")


def examples() -> list[object]:
    found = []
    for page in PAGES:
        if page == ADAPTERS:
            continue
        text = page.read_text(encoding="utf-8")
        for block in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            line = text[: block.start()].count("\n") + 2
            name = page.relative_to(ROOT)
            lacks = [each for each in BESIDE if f"from {each}" in block.group(1) and find_spec(each) is None]
            marks = [pytest.mark.skip(reason=f"{each} is not installed") for each in lacks]
            found.append(pytest.param(name, line, block.group(1), id=f"{name}:{line}", marks=marks))
    return found


def test_the_readme_has_one_example():
    assert sum(example.values[0] == Path("README.md") for example in examples()) == 1


def test_n1_the_six_pages_for_learners_have_examples():
    assert len(LEARN) == 6
    for page in KEYLESS:
        assert any(example.values[0] == page for example in examples()), page


def test_n1_all_python_in_pages_is_run():
    # What others run on has its own mark, in pages for those who come from there; nothing else hides from these tests.
    for page in PAGES:
        marks = re.findall(r"^ *(?:```+|~~~+)([^`\n]*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        for mark in marks[::2]:
            theirs = mark.startswith("py title=") and page.parent.name == "coming-from"
            assert theirs or mark == "python" or not mark.startswith(("py", "Py", "{")), f"{page.name}: {mark}"


def runs(arguments, page, line, folder, said=None):
    """Runs Python without a key or a network, warnings being errors; the example of that page must end well."""
    # Nothing leaves this machine: there is no such proxy.
    environment = {name: value for name, value in os.environ.items() if name not in KEYS}
    environment |= {"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}
    if page not in KEYLESS:
        # What the other pages take for granted.
        environment |= dict.fromkeys(KEYS[:3], "no-key-at-all")
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        input=said,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"{page}:{line}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize(("page", "line", "code"), examples())
def test_n1_examples_run_when_pasted_alone(page, line, code, tmp_path):
    # Nothing but its own text, at the line where it stands on its page.
    script = tmp_path / "example.py"
    script.write_text("\n" * (line - 1) + code, encoding="utf-8")
    runs([str(script)], page, line, tmp_path)


@pytest.mark.timeout(300)
def test_n1_the_first_examples_run_in_an_interactive_session(tmp_path):
    # As somebody types them, or pastes them into a prompt: line by line, without a file.
    for page, line, code in (example.values for example in examples() if example.values[0] in KEYLESS):
        folder = tmp_path / f"{page.stem}-{line}"
        folder.mkdir()
        environment = {name: value for name, value in os.environ.items() if name not in KEYS}
        done = subprocess.run(
            [sys.executable, "-i", "-q"],
            input=f"{code}\nprint('came', 'to its end')\n",
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert "came to its end" in done.stdout, f"{page}:{line}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr, f"{page}:{line}\n{done.stdout}{done.stderr}"
        assert "SyntaxError" not in done.stderr, f"{page}:{line}\n{done.stdout}{done.stderr}"


def test_n1_examples_can_be_pasted_into_a_prompt():
    # A prompt takes one statement at a time, and wants a blank line behind a block and none inside.
    for page, line, code in (example.values for example in examples()):
        taken: list[str] = []
        for at, words in enumerate(code.splitlines(), line):
            taken.append(words)
            try:
                if codeop.compile_command("\n".join(taken), f"{page}:{at}", "single") is not None:
                    taken.clear()
            except SyntaxError as error:
                pytest.fail(f"{page}:{at}: {error}")
        # What the last empty line of the prompt ends.
        assert codeop.compile_command("\n".join([*taken, "", ""]), f"{page}:{line}", "single") is not None


CELL = """
import ast, asyncio, inspect, sys

async def notebook(code):
    made = eval(compile(code, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), {"__name__": "__main__"})
    if inspect.iscoroutine(made):
        await made

asyncio.run(notebook(sys.stdin.read()))
"""


@pytest.mark.parametrize(("page", "line", "code"), [one for one in examples() if "run" in one.values[2]])
def test_n1_examples_run_in_a_notebook_whose_loop_is_running(page, line, code, tmp_path):
    # What has to be written otherwise there says so on its line.
    code = re.sub(r"^(.*)asyncio\.run\(.*# in a notebook: (.*)$", r"\2", code, flags=re.MULTILINE)
    runs(["-c", CELL], page, line, tmp_path, said=code)


@pytest.mark.timeout(300)
def test_n2_the_first_examples_are_clean_in_the_strict_modes_of_type_checkers(tmp_path):
    for page, line, code in (example.values for example in examples() if example.values[0] in TYPED):
        (tmp_path / f"{page.stem.replace('-', '_')}_{line}.py").write_text(code, encoding="utf-8")
    code, said = checker("mypy", "--strict", "--config-file", os.devnull, str(tmp_path), cwd=tmp_path)
    assert code == 0, said
    assert pyright(tmp_path) == []


def test_links_lead_somewhere():
    for page in PAGES:
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
            assert target.startswith("https://") or (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_demo_finds_its_answer_in_the_docs(tmp_path):
    question = re.search(r'loopwright ask "([^"]+)" --in docs', (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert question is not None
    done = subprocess.run(
        [sys.executable, "-m", "loopwright", "ask", question[1], "--in", str(ROOT / "docs"), "--json"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name not in KEYS},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert found["verified"] is True
    assert "3 failures in a row" in found["final"]
    assert "30 seconds" in found["final"]
    cited = {source["reference"] for source in found["sources"]}
    assert "transport.md" in cited
