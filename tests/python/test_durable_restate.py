"""Runs within workflows of Restate: the real server, whose worker is killed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("restate")
pytest.importorskip("hypercorn")

ROOT = Path(__file__).parents[2]
SERVER = os.environ.get("RESTATE_SERVER") or shutil.which("restate-server")

PROGRAM = """
import json, sys, pathlib
sys.path.insert(0, sys.argv[1])
import kill, restate_worker
place = pathlib.Path(sys.argv[3])
engine = kill.OnRestate(sys.argv[2], place)
try:
    found = kill.killed(engine, place, 6, 7)
    # An answer that is late decides nothing.
    late = {"id": 11, "hash": "x", "decision": "allow", "reason": None, "arguments": None}
    said = restate_worker.asked("http://127.0.0.1:8180/Shop/run-0/answer", late)
    print(json.dumps({**found, "late": said}))
finally:
    engine.close()
"""


@pytest.mark.skipif(SERVER is None, reason="no restate-server here: RESTATE_SERVER names it")
@pytest.mark.timeout(300)
def test_a_worker_that_is_killed_at_random_moments_does_nothing_twice(tmp_path: Path) -> None:
    path = os.pathsep.join([str(ROOT / "python"), str(Path(__file__).parent)])
    command = [sys.executable, "-c", PROGRAM, str(ROOT / "benches" / "durable"), str(SERVER), str(tmp_path)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(done.stdout)
    assert said["kills before the end of a run"] == 6
    assert said["notes and payments done twice"] == 0
    assert said["different final histories, `unknown` aside"] == 1
    assert said["runs that ended with the answer"] == int(said["runs"].split()[0])
    assert said["late"] is False
