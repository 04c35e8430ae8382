"""The table of requirements is what the tests' names say."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("requirements", ROOT / "tests" / "requirements.py")
assert spec is not None
assert spec.loader is not None
requirements = importlib.util.module_from_spec(spec)
spec.loader.exec_module(requirements)


def test_the_page_is_up_to_date():
    assert requirements.main(["--check"]) == 0, "docs/requirements.md is stale: run `make docs`"


def test_every_row_has_a_title_and_no_id_is_left_out():
    sections = requirements.titles(requirements.TITLES.read_text(encoding="utf-8"))
    for letter, count in {"A": 21, "B": 32, "C": 33, "D": 49, "E": 26, "X": 25}.items():
        ids = [key for key in sections[letter] if key != "title"]
        assert ids == [f"{letter}{number:02}" for number in range(1, count + 1)]


def test_names_are_read_from_rust_and_python(tmp_path):
    (tmp_path / "crates").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "crates" / "a.rs").write_text(
        "    #[test]\n    fn a04_x13_done() {}\n    fn a05(x: u8) {}\n    fn helper_a06_x() {}\n"
    )
    (tmp_path / "tests" / "test_b.py").write_text("async def test_a04_again():\n    pass\ndef a07_no():\n    pass\n")
    assert requirements.tests(tmp_path) == {
        "A04": ["crates/a.rs: a04_x13_done", "tests/test_b.py: a04_again"],
        "X13": ["crates/a.rs: a04_x13_done"],
    }


def test_an_unknown_id_and_a_broken_table_are_told():
    with pytest.raises(SystemExit, match=r"A99, which requirements\.toml does not know"):
        requirements.page({"A": {"title": "T", "A01": "x"}}, {"A99": ["f: a99_x"]})
    with pytest.raises(SystemExit, match=r"requirements\.toml:2: can't be read"):
        requirements.titles("[A]\nA01: x\n")


def test_a_page_says_what_holds():
    page = requirements.page({"A": {"title": "T", "A01": "one", "A02": "two"}}, {"A01": ["f.rs: a01_x"]})
    assert "| A01 | one | yes: `f.rs: a01_x` |\n| A02 | two | not yet |\n" in page
    assert "\n1 of 2 hold.\n" in page
