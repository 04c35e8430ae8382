#!/usr/bin/env python3
"""Runs the tests of evaluations at two versions of each package, in environments of their own, and prints a table.

    python3 benches/evals/run.py              all of them: set up once, about a gigabyte
    python3 benches/evals/run.py inspect-ai   those of one package

It ends with 1 where a test fails, with 3 where the packages can't be had from here.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / "target" / "evals"
VERSIONS = {
    "pydantic-evals": {
        "2.0.0": ["pydantic-evals==2.0.0", "pydantic-ai-slim==2.0.0", "opentelemetry-sdk"],
        "2.62.0": ["pydantic-evals==2.62.0", "opentelemetry-sdk"],
    },
    "inspect-ai": {
        "0.3.240": ["inspect-ai==0.3.240", "pydantic-evals==2.62.0"],
        "0.3.285": ["inspect-ai==0.3.285", "pydantic-evals==2.62.0"],
    },
}
TESTS = {
    "pydantic-evals": [
        "test_evals_pydantic.py",
        "test_evals_recorded.py",
        "test_evals_page.py",
        "cli/test_cli_eval.py",
    ],
    "inspect-ai": ["test_evals_inspect.py", "test_evals_page.py", "cli/test_cli_eval.py"],
}


def python_of(package: str, version: str) -> Path:
    """The Python of an environment, which is made where it is missing."""
    folder = ENVIRONMENTS / f"{package}-{version}"
    python, made = folder / "bin" / "python", folder / "made"
    if not made.exists():
        print(f"== an environment for {package} {version}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        wanted = [*VERSIONS[package][version], "pytest", "pytest-timeout", "hypothesis"]
        command = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *wanted]
        subprocess.run(command, check=True)
        made.touch()
    return python


def run(package: str, version: str) -> tuple[int, int, int]:
    """How many tests passed, failed and were left out."""
    command = [str(python_of(package, version)), "-m", "pytest", "-p", "no:cacheprovider"]
    command += [f"tests/python/{name}" for name in TESTS[package]]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    said = re.findall(r"^[.sFEx]+(?= +\[ *\d+%\]$)", done.stdout, re.MULTILINE)
    marks = "".join(said)
    failed = marks.count("F") + marks.count("E")
    if done.returncode not in (0, 5):
        print(done.stdout, done.stderr)
        failed = max(failed, 1)
    return marks.count("."), failed, marks.count("s")


def main() -> int:
    """Runs what was asked for."""
    packages = sys.argv[1:] or [*VERSIONS]
    wrong = 0
    rows = []
    for package in packages:
        for version in VERSIONS[package]:
            try:
                passed, failed, skipped = run(package, version)
            except subprocess.CalledProcessError as error:
                print(f"{package} {version} can't be had from here: {error}", file=sys.stderr)
                return 3
            wrong += failed
            rows.append(f"| {package} {version} | {passed} | {failed} | {skipped} |")
    print("| package | passed | failed | not for it |\n| --- | --- | --- | --- |", *rows, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
