"""Each room of the house knows only the rooms below it. Clippy forbids calls; here it is imports."""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"


def code(path: Path) -> str:
    """The file without comments."""
    return re.sub(r"//.*", "", path.read_text(encoding="utf-8"))


def offenders(room: str, pattern: str) -> list[str]:
    files = sorted((SOURCE / room).rglob("*.rs"))
    assert files
    return [str(path.relative_to(SOURCE)) for path in files if re.search(pattern, code(path))]


def test_core_knows_no_driver_no_runtime_and_no_python():
    assert offenders("core", r"\b(crate::(drive|python|store)|tokio|reqwest|hyper|rustls|pyo3|rusqlite)\b") == []


def test_only_one_room_names_python():
    assert offenders("drive", r"\b(crate::python|pyo3)\b") == []


def test_the_store_knows_no_driver_and_no_python():
    assert offenders("store", r"\b(crate::(drive|python)|tokio|reqwest|hyper|rustls|pyo3)\b") == []


def test_only_one_room_names_sqlite():
    for room in ("drive", "python"):
        assert offenders(room, r"\brusqlite\b") == []


def test_only_the_rooms_of_input_and_output_lift_the_ban_on_it():
    allows = r"#!\[allow\([^)]*clippy::disallowed_methods"
    assert offenders(".", allows) == ["drive/mod.rs", "python/mod.rs", "store/mod.rs"]
