"""The examples run without a key and without a network, say what they promise, and are clean in the strict mode of mypy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_stubs import run as checker

EXAMPLES = Path(__file__).parents[2] / "examples"
# The eight programs, and what each prints.
SAYS = {
    "edit_files.py": [
        "'old_text': ' + 1\\n'",
        "  all is well",
        "refused: only the tests may run",
        "[natural: 6 rounds",
    ],
    "extract_invoices.py": [
        '"total": 12.5}, "why": "2 rounds"',
        '"about": "the kiln is fired on Thursday."}',
        '"found": null, "why": "invalid_output"',
    ],
    "research.py": ["The moon causes most of the tide [", "contradict each other", "offline-extractive (not an LLM)"],
    "resume_after_kill.py": ["ended with -9", "is broken off", "20}: no, it is in the book", "Ann 50\nBen 20\nCy 30\n"],
    "streaming.py": ["broke off", "[what stood here is void]", "Take a coat.\n[natural;"],
    "sub_agents.py": [
        "clays begins: Which clays",
        "the run stands still",
        "Two glazes and two clays. [natural; 6 requests of 8]",
    ],
    "test_shop.py": [],
    "tool_server.py": ["* store_stock: 120", "? store_take", "100 bolts are left", "screws are not kept"],
}


def printed(program: Path, *arguments: str) -> str:
    """What a program prints that runs without a key, where warnings are errors."""
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments, str(program)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_programs_are_eight():
    assert sorted(path.name for path in EXAMPLES.glob("*.py")) == sorted(SAYS)
    assert len(SAYS) == 8


@pytest.mark.parametrize("name", sorted(SAYS.keys() - {"test_shop.py"}))
def test_the_example_runs(name):
    said = printed(EXAMPLES / name)
    for words in SAYS[name]:
        assert words in said, said


def test_the_suite_of_the_example_passes():
    said = printed(EXAMPLES / "test_shop.py", "-m", "pytest", "-p", "no:cacheprovider", "-o", "addopts=")
    assert "6 passed" in said


def test_the_bare_machine_runs_under_a_driver_of_its_own():
    said = printed(EXAMPLES / "machine" / "pure_asyncio_driver.py")
    assert "717,710 people live in Oslo." in said
    assert "5 lines of journal" in said


@pytest.mark.timeout(300)
def test_n2_the_examples_are_clean_in_the_strict_mode_of_mypy():
    code, said = checker("mypy", "--strict", "--config-file", os.devnull, str(EXAMPLES))
    assert code == 0, said
