"""The wires, the three ways to run, and servers that are gone after the test."""

from __future__ import annotations

import functools
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

# Programs that tests start use no name of ours by its place before, as the tests themselves: `filterwarnings` says so.
os.environ["PYTHONWARNINGS"] = "error:loopwright.:DeprecationWarning"


# The tests of the package that speak of a room, for `make quick ROOM=...`: by the beginnings of their files' names.
ROOMS = {
    "base": ("errors", "messages", "faults"),
    "context": ("assemble", "context", "window"),
    "drive": (
        "cancel",
        "clouds",
        "folders",
        "keys",
        "left_streams",
        "limits",
        "live_search",
        "rebinding",
        "strict_providers",
        "web",
    ),
    "extract": ("content_blocks", "extraction", "quotations", "text_calls", "written"),
    "fence": ("cli_doctor", "fence", "shell"),
    "guard": ("approval", "guard", "sensitivity"),
    "lexicon": ("stop_words", "retrieve"),
    "machine": ("hooks_stages", "machine", "pause", "recorded_journals", "rules", "stopping", "turn"),
    "models": ("model_choice", "prices"),
    "monitor": ("monitor", "senses"),
    "retrieve": ("analysis", "retrieve"),
    "store": ("erase", "journal", "memory", "saved_runs"),
    "tokens": ("context_counts", "tokens"),
    "verify": ("claims", "grounded", "support"),
    "wire": ("answers_alike", "halves", "wire"),
    "testing": (),
}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leaves out the files that do not speak of the room that `ROOM` names, where it does: reading them all takes long."""
    room = os.environ.get("ROOM")
    if not room or not collection_path.name.startswith("test_") or collection_path.suffix != ".py":
        return None
    return not collection_path.name.startswith(tuple(f"test_{name}" for name in ROOMS[room])) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Brings the larger files forward where two runs share the tests."""
    if os.environ.get("SHARE"):
        items.sort(key=lambda item: (-item.path.stat().st_size, item.path))


def _mine(items: list[pytest.Item], share: Path) -> Iterator[pytest.Item]:
    """The tests of the files that no other run has taken yet: whoever makes the file of that name first has it."""
    mine, last = False, None
    for item in items:
        if item.path != last:
            last = item.path
            try:
                (share / str(last.relative_to(Path(__file__).parent)).replace(os.sep, "+")).touch(exist_ok=False)
                mine = True
            except FileExistsError:
                mine = False
        if mine:
            yield item


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Runs what no other run has taken, where several share the tests: `SHARE` is a folder that they all know."""
    share = os.environ.get("SHARE")
    if (
        not share
        or session.config.option.collectonly
        or (session.testsfailed and not session.config.option.continue_on_collection_errors)
    ):
        return None
    waiting = _mine(session.items, Path(share))
    item = next(waiting, None)
    while item is not None:
        after = next(waiting, None)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        item = after
    return True


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Has every wire server refuse what the wire of its address documents to refuse, and no test end with a refusal.

    A test that means what a wire refuses switches it off and says why: `strict=None`.
    """
    plain, started = WireServer.__init__, []

    @functools.wraps(plain)
    def checked(server: WireServer, *args: Any, **options: Any) -> None:
        plain(server, *args, **{"strict": "any", **options})
        if "strict" not in options:
            started.append(server)

    monkeypatch.setattr(WireServer, "__init__", checked)
    yield
    assert [(str(each), each.source) for server in started for each in server.refusals] == []


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
