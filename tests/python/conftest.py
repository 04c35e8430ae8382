"""The three wires, the three ways to run, and servers that are gone after the test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from handbook import PAGE
from hypothesis import settings
from loopwright.testing import WireServer
from ways import WIRES

# The same cases every time; set another profile to search for new ones.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keeps the files of one part, where `PART` says which: `1/2` and `2/2` together are all of them."""
    part, _, parts = os.environ.get("PART", "").partition("/")
    if not parts:
        return
    weights = [0] * int(parts)
    mine = set()
    for path in sorted({item.path for item in items}, key=lambda path: (-path.stat().st_size, path)):
        lightest = weights.index(min(weights))
        weights[lightest] += path.stat().st_size
        if lightest == int(part) - 1:
            mine.add(path)
    config.hook.pytest_deselected(items=[item for item in items if item.path not in mine])
    items[:] = [item for item in items if item.path in mine]


@pytest.fixture(params=list(WIRES))
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["run", "stream", "run_sync"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder with a handbook of one page."""
    folder = tmp_path / "my docs"
    folder.mkdir()
    (folder / "net.md").write_text(PAGE)
    return folder


@pytest.fixture
def serve() -> Iterator[Callable[..., WireServer]]:
    """Starts wire servers that are gone after the test."""
    servers: list[WireServer] = []

    def start(*replies: Any, **options: Any) -> WireServer:
        server = WireServer(replies, **options).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.stop()
