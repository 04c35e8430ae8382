"""Exit codes: every way to end has one, and the documentation tells the truth."""

from __future__ import annotations

import re
from pathlib import Path

from loopwright.cli.exit_codes import TABLE, exit_code

ROOT = Path(__file__).parents[3]


def test_every_stop_reason_has_a_code() -> None:
    source = (ROOT / "crates" / "machine" / "src" / "outcome.rs").read_text(encoding="utf-8")
    names = re.findall(r'Self::\w+ => "([a-z_]+)"', source)
    assert len(names) > 15
    for name in names:
        assert exit_code(name) != 1 or name in ("error", "hook_failed")
    assert exit_code("something new") == 1


def test_the_documentation_has_the_same_codes() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| [^|]* \|([^|]*)\|$", page, re.MULTILINE)
    told = {name: int(code) for code, names in rows for name in re.findall(r"`(\w+)`", names)}
    assert len(told) > 15
    assert all(exit_code(name) == code for name, code in told.items())
    assert {int(code) for code, _ in rows} == {int(code) for code in re.findall(r"^ +(\d+) ", TABLE, re.MULTILINE)}
