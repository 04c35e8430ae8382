"""The site of the docs: every page has its place, those that are read are few, and every public name is explained once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import loopwright
from loopwright._moved import MOVED

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
READ = ("Loopwright", "Learn", "Coming from", "Guides")
# What is looked up, not read.
BESIDE = ("Reference", "API", "How it is built", "Measurements")


def sections() -> dict[str, list[str]]:
    """The pages of the site by section, as `mkdocs.yml` lists them."""
    found: dict[str, list[str]] = {}
    for line in (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1].splitlines():
        entry = re.fullmatch(r"( +)- (?:([^:]+):)? ?(\S+\.md)?", line)
        assert entry is not None, line
        if len(entry[1]) == 2:
            title = entry[2]
            found[title] = []
        if entry[3]:
            found[title].append(entry[3])
    return found


def explained() -> list[str]:
    """All that the pages of the API name."""
    return [
        name
        for page in sorted((DOCS / "api").glob("*.md"))
        for name in re.findall(r"^::: loopwright\.([\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    ]


def test_every_page_has_one_place_in_the_site():
    placed = [page for pages in sections().values() for page in pages]
    assert sorted(placed) == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


def test_n1_at_most_25_pages_are_read_and_six_are_for_learners():
    found = sections()
    assert tuple(found) == READ + BESIDE
    assert len(found["Learn"]) == 6
    assert sum(len(found[name]) for name in READ) <= 25


def test_every_public_name_stands_on_one_page_of_the_api():
    names = explained()
    assert len(names) == len(set(names))
    modules = {each.name for each in iter_modules(loopwright.__path__)}
    assert {name for name in names if "." not in name} - modules == set(loopwright.__all__) - {"__version__"}
    assert set(MOVED.values()) <= set(names)


def test_what_the_api_explains_is_there():
    for name in explained():
        home, _, last = f"loopwright.{name}".rpartition(".")
        module = import_module(home)
        assert hasattr(module, last) or import_module(f"{home}.{last}"), name


def test_an_environment_that_cannot_be_made_is_said_and_is_no_failure(tmp_path):
    # The script looks for its packages at an address where nobody is.
    (tmp_path / "tests").mkdir()
    for name in ("pyproject.toml", "tests/make_site.py"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    done = subprocess.run(
        [sys.executable, str(tmp_path / "tests" / "make_site.py")],
        env={
            "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_RETRIES": "0",
            "PIP_NO_CACHE_DIR": "1",
        },
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert "the site can't be made here" in done.stderr
