"""What `loopwright doctor` says: what this machine and this build have, and whether the fence stands."""

from __future__ import annotations

import json
import platform
from typing import TYPE_CHECKING

from loopwright import _core
from loopwright.cli import doctor
from loopwright.machine import build_info

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_it_names_the_build_the_python_the_system_and_the_fence(loopwright: Callable, tmp_path: Path) -> None:
    ended = loopwright("doctor", "--workspace", str(tmp_path))
    assert (ended.code, ended.err) == (0, "")
    for part in (build_info().version, build_info().profile, platform.python_version(), platform.release(), "Landlock"):
        assert part in ended.out, part
    told = json.loads(loopwright("doctor", "--json", "--workspace", str(tmp_path)).out)
    landlock, seccomp, missing, gaps = _core.fence_support()
    fence = told["fence"]
    assert (fence["landlock"], fence["seccomp"], fence["missing"], fence["gaps"]) == (landlock, seccomp, missing, gaps)
    assert fence["on"] == (missing is None and fence["policy"] is not False)


def test_it_says_why_the_fence_does_not_stand() -> None:
    fence = {"missing": None, "policy": False}
    assert doctor._fence(fence).startswith("off, by a policy")
    assert doctor._fence({**fence, "missing": "the kernel has no Landlock"}).startswith("none: the kernel has no")


def test_it_follows_the_policies_of_the_workspace(loopwright: Callable, tmp_path: Path) -> None:
    (tmp_path / ".loopwright").mkdir()
    (tmp_path / ".loopwright" / "policy.toml").write_text("sandbox = false\n")
    ended = loopwright("doctor", "--workspace", str(tmp_path))
    assert ended.code == 2 and "can't take the fence away" in ended.err


def test_it_checks_records_of_programs(loopwright: Callable, tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text("[[program]]\nnames = 'terraform'\nreplaces = true\nreads = ['= *']\nsafe = ['terraform apply']\n")
    ended = loopwright("doctor", "--workspace", str(tmp_path), "--commands", str(path))
    assert (ended.code, ended.err) == (0, "")
    assert "in place of what is known of terraform" in ended.out
    told = json.loads(loopwright("doctor", "--json", "--workspace", str(tmp_path), "--commands", str(path)).out)
    assert told["commands"] == {"file": str(path), "programs": ["terraform"], "replaced": ["terraform"]}
    path.write_text("[[program]]\nnames = 'mine'\nsafe = ['mine x']\n")
    ended = loopwright("doctor", "--workspace", str(tmp_path), "--commands", str(path))
    assert ended.code == 2 and "line 3: the example" in ended.err
