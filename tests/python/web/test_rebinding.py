"""Names that resolve to something else when they are connected to: the address that is checked is the one connected to.

Over real sockets, with a name server of our own, in namespaces of their own; where the system allows none, it skips.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

WORLD = Path(__file__).with_name("world_of_names.py")
ALONE = ["unshare", "--map-root-user", "--net", "--mount"]


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What came of each case."""
    if shutil.which("unshare") is None or subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespaces of one's own are to be had here (unshare --net --mount)")
    proxies = {"http_proxy", "https_proxy", "all_proxy", "no_proxy"}
    environment = {name: value for name, value in os.environ.items() if name.lower() not in proxies}
    done = subprocess.run(
        [*ALONE, sys.executable, str(WORLD)], capture_output=True, text=True, timeout=120, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_world_has_a_public_site_and_a_private_one(told):
    assert "public site" in told["public"]["came"] and told["public"]["public"] == ["/robots.txt", "/x"]
    assert told["private, allowed"]["private"] == ["/x"], "so the others could have reached it"


@pytest.mark.parametrize(
    "case",
    [
        *["private", "mapped", "private after robots.txt", "redirected to private", "rebound while redirected"],
        "rebound at the second redirection",
    ],
)
def test_b18_a_name_that_turns_private_is_refused_when_it_is_connected_to(told, case):
    assert told[case]["came"] == "private_address", told[case]
    assert told[case]["private"] == []


def test_b18_a_name_of_a_link_local_address_is_refused_where_private_ones_are_allowed(told):
    assert told["link-local, private allowed"]["came"] == "private_address"
    assert told["link-local and private, allowed"]["private"] == ["/x"]


@pytest.mark.parametrize("case", ["both at once", "both families", "redirected to both"])
def test_b18_of_a_name_that_is_both_only_the_public_address_is_connected_to(told, case):
    assert "public site" in told[case]["came"], told[case]
    assert told[case]["private"] == []


def test_b18_what_was_looked_up_is_not_looked_up_again_before_connecting(told):
    assert "public site" in told["public, then private"]["came"]
    assert told["public, then private"]["lookups"] == 1 and told["public, then private"]["private"] == []


def test_b18_a_public_address_that_is_deaf_gives_no_way_to_the_private_one(told):
    assert told["both, the public one deaf"]["came"] == "connect"
    assert told["both, the public one deaf"]["private"] == []


def test_b18_a_research_is_told_and_goes_on(told):
    report, *problems = told["research"]["came"]
    assert "every 12 hours" in report
    assert any("private network" in problem for problem in problems), problems
    assert told["research"]["private"] == []


def test_the_built_in_tool_goes_by_the_same_addresses(told):
    assert "public site" in told["tool"]["came"]
    for case in ("tool, redirected to private", "tool, private"):
        assert told[case]["came"] == "private_address", told[case]
        assert told[case]["private"] == []
