"""How the extension module is built: what `make profile` shows the compiler, and what a module says of its build."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import loopwright
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_what_the_compiler_is_shown_runs_to_its_end() -> None:
    train = ROOT / "benches" / "profile" / "train.py"
    done = subprocess.run([sys.executable, str(train), "10"], capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_module_says_how_it_was_built() -> None:
    info = loopwright.machine.build_info()
    assert info.version == loopwright.__version__ and info.features == ["pdf"]
    assert info.profile in {"fast", "release", "dist", "dev", "debug"} and info.compiler.startswith("rustc 1.")
    assert info.commit is None or re.fullmatch("[0-9a-f]{40}", info.commit)
    assert repr(info).startswith(f"BuildInfo(version='{loopwright.__version__}', profile='{info.profile}'")


def wheel(folder: Path, *, tools: Path) -> str:
    """What `make wheel` runs with the programs of one folder and the usual ones, in a copy of this folder's Makefile."""
    env = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    command = ["make", "-n", "wheel"]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


@pytest.mark.skipif(shutil.which("make") is None or shutil.which("rustc") is None, reason="needs make and rustc")
def test_counts_are_made_by_the_compiler_that_uses_them(tmp_path: Path) -> None:
    folder, tools = tmp_path / "a stranger's clone", tmp_path / "tools"
    (folder / "benches" / "profile").mkdir(parents=True)
    tools.mkdir()
    rustc = os.environ.get("RUSTC") or "rustc"
    told = subprocess.run([rustc, "-vV"], cwd=folder, capture_output=True, text=True, timeout=60, check=True).stdout
    about = dict(line.split(": ", 1) for line in told.splitlines() if ": " in line)
    shutil.copy(ROOT / "Makefile", folder)
    for name in ("pyproject.toml", "benches/profile/train.py", "build.rs", "Cargo.toml", "Cargo.lock"):
        (folder / name).touch()
    if shutil.which("llvm-profdata") is None and "llvm-profdata" not in wheel(folder, tools=tools):
        (tools / "llvm-profdata").write_text("#!/bin/sh\n")
        (tools / "llvm-profdata").chmod(0o755)
    own = folder / "target" / "profile" / f"{about['release']}-{about['commit-hash'][:9]}-{about['host']}.profdata"
    # They are counted first, and once.
    assert "-Cprofile-generate=" in wheel(folder, tools=tools)
    own.parent.mkdir(parents=True)
    own.touch()
    again = wheel(folder, tools=tools)
    assert f"-Cprofile-use={own}" in again


COUNTS = sorted((ROOT / "target" / "profile").glob("*.profdata"))
WHEELS = sorted((ROOT / "target" / "wheels").glob("*.whl"))


def profdata() -> str | None:
    """The program that reads counts: the toolchain's own, or one that is installed."""
    if shutil.which("rustc"):
        told = subprocess.run(
            ["rustc", "--print", "target-libdir"], capture_output=True, text=True, check=True, cwd=ROOT
        )
        own = Path(told.stdout.strip()).parent / "bin" / "llvm-profdata"
        if own.exists():
            return str(own)
    return shutil.which("llvm-profdata") or shutil.which("llvm-profdata-19")


@pytest.mark.skipif(not COUNTS or not WHEELS or profdata() is None, reason="needs what `make wheel` builds with counts")
def test_what_was_counted_stands_in_the_wheel(tmp_path: Path) -> None:
    """A function whose name changed loses its counts, and nothing says so: most of the module's must have some."""
    with zipfile.ZipFile(WHEELS[-1]) as wheel:
        inside = next(name for name in wheel.namelist() if name.endswith(".so"))
        module = Path(wheel.extract(inside, tmp_path))
    shown = subprocess.run(
        [str(profdata()), "show", "--all-functions", str(COUNTS[-1])], capture_output=True, text=True, check=True
    ).stdout
    counted = set(re.findall(r"^  (\S+):$", shown, re.MULTILINE))
    symbols = subprocess.run(["nm", "--defined-only", str(module)], capture_output=True, text=True, check=True).stdout
    ours = {name for name in re.findall(r" [tT] (\S+)$", symbols, re.MULTILINE) if "loopwright" in name}
    assert len(ours) > 1_000
    named = {name.partition(".llvm.")[0] for name in ours}
    assert len(named & counted) > 0.8 * len(named), f"{len(named & counted)} of {len(named)} were counted"
