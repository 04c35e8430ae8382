"""Each room of the house is a crate, and Cargo holds the floors. Here stands what Cargo can't know: which floors they are."""

from __future__ import annotations

import re
from pathlib import Path

CRATES = Path(__file__).parents[2] / "crates"
# Rooms that have no clock, socket, file, thread or random source.
CORE = {
    "base",
    "lexicon",
    "models",
    "tokens",
    "extract",
    "wire",
    "retrieve",
    "verify",
    "monitor",
    "guard",
    "context",
    "machine",
}
# Which rooms each of the others stands on.
BELOW = {
    "base": set(),
    "lexicon": {"base"},
    "models": {"base"},
    "tokens": {"base", "models"},
    "extract": {"base", "models"},
    "retrieve": {"base", "lexicon"},
    "wire": {"base", "models", "extract", "retrieve"},
    "verify": {"base", "lexicon", "retrieve"},
    "monitor": {"base", "lexicon"},
    "guard": {"base", "lexicon"},
    "context": {"base", "models", "tokens", "wire"},
    "machine": CORE - {"machine"},
    "drive": CORE,
    "store": CORE,
    "fence": {"base"},
    "testing": set(),
}
ALLOWS = re.compile(r"#!\[allow\([^)]*clippy::disallowed_methods")
FORBIDS = "#![warn(clippy::disallowed_methods, clippy::disallowed_types)]"


def needs(room: str) -> set[str]:
    """What a room is built with, without what its tests need."""
    manifest = (CRATES / room / "Cargo.toml").read_text(encoding="utf-8")
    section = manifest.split("\n[dependencies]\n")[1].split("\n[")[0] if "\n[dependencies]\n" in manifest else ""
    return set(re.findall(r"^([\w-]+)[ .]", section, re.MULTILINE))


def test_every_room_stands_on_the_rooms_below_it_alone():
    rooms = {path.parent.name for path in CRATES.glob("*/Cargo.toml")}
    assert rooms == set(BELOW)
    for room in rooms:
        ours = {name.removeprefix("loopwright-") for name in needs(room) if name.startswith("loopwright-")}
        assert ours <= BELOW[room], room


def test_core_knows_no_driver_no_runtime_and_no_python():
    for room in CORE:
        assert not needs(room) & {"tokio", "reqwest", "hyper", "rustls", "pyo3", "rusqlite", "mio"}, room


def test_only_one_room_names_python():
    for room in BELOW:
        assert "pyo3" not in needs(room), room


def test_only_one_room_names_sqlite():
    assert [room for room in sorted(BELOW) if "rusqlite" in needs(room)] == ["store"]


def test_only_the_rooms_of_input_and_output_lift_the_ban_on_it():
    allow = [path for path in CRATES.glob("*/src/**/*.rs") if ALLOWS.search(path.read_text(encoding="utf-8"))]
    roots = [f"{room}/src/lib.rs" for room in ("drive", "fence", "store")]
    assert sorted(path.relative_to(CRATES).as_posix() for path in allow) == roots
    for room in CORE:
        assert FORBIDS in (CRATES / room / "src" / "lib.rs").read_text(encoding="utf-8"), room


def test_no_room_is_built_with_what_is_for_tests():
    for room in BELOW:
        assert not needs(room) & {"loopwright-testing", "proptest", "loom"}, room


def test_the_root_has_no_default_members():
    """With them maturin finds no PyO3 and builds a module of another kind."""
    assert not re.search(r"^default-members", (CRATES.parent / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)
