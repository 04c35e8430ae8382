"""A site on a real socket for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sites import Site


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.stop()
