"""How the extension module is built: what `make profile` shows the compiler, and who is given what it saw."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_what_the_compiler_is_shown_runs_to_its_end() -> None:
    train = ROOT / "benches" / "profile" / "train.py"
    done = subprocess.run([sys.executable, str(train), "10"], capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def flags(folder: Path) -> str:
    """What `make wheel` gives the compiler, in a copy of this folder's Makefile."""
    done = subprocess.run(["make", "-n", "wheel"], cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    return next(line for line in done.stdout.splitlines() if "maturin build" in line)


@pytest.mark.skipif(shutil.which("make") is None or shutil.which("rustc") is None, reason="needs make and rustc")
def test_a_profile_is_for_the_compiler_that_made_it(tmp_path: Path) -> None:
    folder = tmp_path / "a stranger's clone"
    profiles = folder / "benches" / "profile"
    profiles.mkdir(parents=True)
    rustc = os.environ.get("RUSTC") or "rustc"
    told = subprocess.run([rustc, "-vV"], cwd=folder, capture_output=True, text=True, timeout=60, check=True).stdout
    about = dict(line.split(": ", 1) for line in told.splitlines() if ": " in line)
    commit = about["commit-hash"][:9]
    shutil.copy(ROOT / "Makefile", folder)
    (folder / "pyproject.toml").touch()
    own = profiles / f"{about['release']}-{commit}-{about['host']}.profdata"
    for other in (f"1.2.3-{commit}-{about['host']}", f"{about['release']}-unknown-{about['host']}"):
        profile = profiles / f"{other}.profdata"
        profile.touch()
        assert "profile-use" not in flags(folder)
        profile.unlink()
    own.touch()
    assert f"-Cprofile-use={own}" in flags(folder)
