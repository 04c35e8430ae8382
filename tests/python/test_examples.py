"""The examples run without a key and without a network, and say what they promise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

SAYS = {
    "quickstart.py": ["Glazes are mixed on Wednesday evening", "offline-extractive (not an LLM)"],
    "pure_asyncio_driver.py": ["717,710 people live in Oslo.", "5 lines of journal"],
    "sub_agents.py": [
        "clays begins: Which clays",
        "the run stands still",
        "Two glazes and two clays. [natural; 6 requests of 8]",
    ],
    "research.py": ["The moon causes most of the tide [", "contradict each other", "offline-extractive (not an LLM)"],
    "streaming.py": ["broke off", "[what stood here is void]", "Take a coat.\n[natural;"],
    "tools.py": ["I have ordered 100 nuts.", "'number': 500}) denied", "screws'}) unknown_part", "[rounds;"],
}


def printed(program: Path) -> str:
    """What a program prints that runs without a key, where warnings are errors."""
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_the_example_runs(name):
    said = printed(EXAMPLES / name)
    for words in SAYS.get(name, []):
        assert words in said, said
