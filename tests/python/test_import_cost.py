"""Importing the package is cheap: names are loaded when they are first used."""

from __future__ import annotations

import subprocess
import sys


def loaded_after(code: str) -> set[str]:
    """What a new process has loaded after running `code`, beyond what Python itself loads."""
    script = f"import sys\nbefore = set(sys.modules)\n{code}\nprint(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    return set(done.stdout.split())


def test_the_package_alone_loads_next_to_nothing() -> None:
    loaded = loaded_after("import loopwright")
    assert "loopwright" in loaded
    assert len(loaded) <= 4, loaded


def test_an_agent_needs_no_heavy_modules() -> None:
    loaded = loaded_after("from loopwright import Agent\nAgent('offline:extractive')")
    for heavy in ("asyncio", "pydantic", "pydantic_core", "ssl", "http", "httpx", "email", "socket", "urllib.request"):
        assert heavy not in loaded, heavy
    assert "loopwright._driver" not in loaded


def test_the_bare_machine_needs_the_compiled_part_alone() -> None:
    loaded = loaded_after("from loopwright.machine import MachineEvent, TurnMachine\nTurnMachine({'model': 'x'})")
    assert "loopwright._core" in loaded
    for other in ("asyncio", "pydantic", "loopwright.agent", "loopwright._driver", "loopwright.tools"):
        assert other not in loaded, other


def test_a_room_brings_no_more_than_what_is_asked_of_it() -> None:
    counting = loaded_after("import loopwright\nloopwright.tokens.count_tokens('Hello')")
    assert {each for each in counting if each.startswith("loopwright.")} <= {
        "loopwright._core", "loopwright._moved", "loopwright.tokens"
    }  # fmt: skip
    for code in ("from loopwright.run import Signal", "from loopwright.memory import Recall"):
        loaded = loaded_after(code)
        assert not {"asyncio", "loopwright.handle", "loopwright.after"} & loaded, code


def test_all_names_are_there_and_no_others() -> None:
    import loopwright

    for name in loopwright.__all__:
        assert getattr(loopwright, name) is not None
    assert not hasattr(loopwright, "no_such_name")


def test_importing_starts_no_thread() -> None:
    code = "import loopwright._core, loopwright._driver, os\nassert len(os.listdir('/proc/self/task')) == 1"
    loaded_after(code)
