import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from loopwright.tools import Outcome, ToolSet
from loopwright.tools.builtin import builtin_tools
from sites import Site


class Box:
    """A workspace with its tools, called as a model calls them."""

    def __init__(self, root: Path, **settings: Any) -> None:
        self.root = root
        self.tools = ToolSet(builtin_tools(root, **settings))

    def run(self, name: str, **arguments: Any) -> Outcome:
        outcome = asyncio.run(self.tools[name].run(arguments))
        outcome.text.encode()
        return outcome

    def ok(self, name: str, **arguments: Any) -> str:
        outcome = self.run(name, **arguments)
        assert not outcome.is_error, outcome.text
        return outcome.text

    def fails(self, name: str, **arguments: Any) -> dict[str, str]:
        outcome = self.run(name, **arguments)
        assert outcome.failure is not None, outcome.text
        return outcome.failure


@pytest.fixture
def box(tmp_path: Path) -> Box:
    root = tmp_path / "work space"
    root.mkdir()
    return Box(root)


@pytest.fixture
def make_box() -> Callable[..., Box]:
    return Box


@pytest.fixture
def site() -> Iterator[Site]:
    """A site on a real socket of this machine."""
    site = Site()
    yield site
    site.stop()


@pytest.fixture
def net(box: Box) -> Box:
    """A workspace whose tools may ask this machine for pages."""
    return Box(box.root, allow_private=True)
