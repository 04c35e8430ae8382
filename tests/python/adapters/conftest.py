"""Servers' wires that adapters are held against, and what packages of others warn of."""

from __future__ import annotations

import warnings

import pytest
from adapter_cases import ASKED, FAULTS

# What others' packages warn of while they are imported is theirs.
warnings.filterwarnings("ignore")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ours are errors in all other tests; here they stand in what others wrote."""
    for item in items:
        if "adapters" in item.path.parts:
            item.add_marker(pytest.mark.filterwarnings("default"))
            item.add_marker(pytest.mark.filterwarnings("error:.*:DeprecationWarning:loopwright"))


@pytest.fixture(params=["anthropic", "chat", "responses"])
def wire(request: pytest.FixtureRequest) -> str:
    """A wire that the model speaks."""
    return str(request.param)


@pytest.fixture(params=list(FAULTS))
def struck(request: pytest.FixtureRequest) -> str:
    """The name of a fault."""
    return str(request.param)


@pytest.fixture(autouse=True)
def _nothing_asked() -> None:
    ASKED.clear()
