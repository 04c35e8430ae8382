"""Writes docs/requirements.md: which requirement holds, by which tests. `--check` only says whether it is up to date.

A requirement holds when a test carries its id: `fn a04_x13_…` in Rust, `def test_a04_…` in Python. Whether the tests
pass is the test runner's to say; this only joins names.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TITLES = ROOT / "docs" / "requirements.toml"
PAGE = ROOT / "docs" / "requirements.md"

_NAMES = {
    ".rs": re.compile(r"^\s*(?:async )?fn ((?:[a-ex]\d\d_)+\w*)\(", re.MULTILINE),
    ".py": re.compile(r"^\s*(?:async )?def test_((?:[a-ex]\d\d_)+\w*)\(", re.MULTILINE),
}
_IDS = re.compile(r"[a-ex]\d\d(?=_)")
_HEAD = """\
# Requirements

What the engine is held to, and the tests that show it. Written by `make docs` from `docs/requirements.toml` and the
names of the tests; do not edit it by hand. "Not yet" means that no test carries the id, whatever the code may do.
"""


def titles(text: str) -> dict[str, dict[str, str]]:
    """The sections by letter: titles by id, and the section's own under `title`. TOML of the plainest kind."""
    sections: dict[str, dict[str, str]] = {}
    current: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        if section := re.fullmatch(r"\[([A-EX])\]", line):
            current = sections.setdefault(section[1], {})
        elif entry := re.fullmatch(r'(title|[A-EX]\d\d) = "([^"\\|]+)"', line):
            if entry[1] in current:
                raise SystemExit(f"{TITLES.name}:{number}: {entry[1]} stands there twice")
            current[entry[1]] = entry[2]
        else:
            raise SystemExit(f"{TITLES.name}:{number}: can't be read: {line}")
    return sections


def tests(root: Path) -> dict[str, list[str]]:
    """For each id the tests that carry it, as `file: name`."""
    found: dict[str, list[str]] = {}
    files = [*(root / "crates").rglob("*.rs"), *(root / "tests").rglob("*.py")]
    for path in sorted(files):
        for name in _NAMES[path.suffix].findall(path.read_text(encoding="utf-8")):
            for held in _IDS.findall(re.match(r"(?:[a-ex]\d\d_)+", name)[0]):  # type: ignore[index]
                found.setdefault(held.upper(), []).append(f"{path.relative_to(root).as_posix()}: {name}")
    return found


def page(sections: dict[str, dict[str, str]], held: dict[str, list[str]]) -> str:
    """The page."""
    known = [key for section in sections.values() for key in section if key != "title"]
    unknown = sorted(set(held) - set(known))
    if unknown:
        raise SystemExit(f"{held[unknown[0]][0]} carries {unknown[0]}, which {TITLES.name} does not know")
    holding = sum(key in held for key in known)
    lines = [_HEAD, f"{holding} of {len(known)} hold.", ""]
    for section in sections.values():
        keys = [key for key in section if key != "title"]
        lines += [f"## {section['title']}", "", f"{sum(key in held for key in keys)} of {len(keys)} hold.", ""]
        lines += ["| id | requirement | holds |", "| --- | --- | --- |"]
        for key in keys:
            by = "<br>".join(f"`{test}`" for test in held.get(key, ()))
            lines.append(f"| {key} | {section[key]} | {'yes: ' + by if by else 'not yet'} |")
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def current() -> str:
    """The page as it should be."""
    return page(titles(TITLES.read_text(encoding="utf-8")), tests(ROOT))


def main(arguments: list[str]) -> int:
    wanted = current()
    if "--check" in arguments:
        return 0 if PAGE.exists() and PAGE.read_text(encoding="utf-8") == wanted else 1
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
