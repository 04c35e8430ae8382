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


EXAMPLE = """
import json, os, pathlib, subprocess, sys, time
sys.path.insert(0, sys.argv[1])
import restate_worker
from kill import OnRestate
from loopwright.durable import answer_to
place = pathlib.Path(sys.argv[3])
engine = OnRestate(sys.argv[2], place)
example = subprocess.Popen([sys.executable, sys.argv[4], "127.0.0.1:9193"])
asked = restate_worker.asked
try:
    while asked("http://127.0.0.1:9170/deployments", {"uri": "http://127.0.0.1:9193"}, timeout=10) is None:
        time.sleep(0.1)
    run = "http://127.0.0.1:8180/Payroll/payroll-1"
    asked(run + "/main/send", "Pay Ann 50.")
    while not (question := asked(run + "/question")):
        time.sleep(0.05)
    said = [asked(run + "/answer", {"id": question["id"], **answer_to(question, True)}) for _ in range(2)]
    ended = asked("http://127.0.0.1:8180/restate/workflow/Payroll/payroll-1/attach", method="GET", timeout=60)
    print(json.dumps([question["arguments"], said[0], ended]), flush=True)
finally:
    example.kill()
    engine.close()
"""


@pytest.mark.skipif(SERVER is None, reason="no restate-server here: RESTATE_SERVER names it")
@pytest.mark.timeout(300)
def test_the_example_waits_for_a_person_and_ends(tmp_path: Path) -> None:
    example = str(ROOT / "examples" / "engines" / "on_restate.py")
    said = json.loads(printed(EXAMPLE, str(tmp_path), example))
    assert said == [{"name": "Ann", "amount": 50}, True, "Done."]


def printed(program: str, *arguments: str) -> str:
    path = os.pathsep.join([str(ROOT / "python"), str(Path(__file__).parent)])
    command = [sys.executable, "-c", program, str(ROOT / "benches" / "durable"), str(SERVER), *arguments]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(SERVER is None, reason="no restate-server here: RESTATE_SERVER names it")
@pytest.mark.timeout(300)
def test_a_worker_that_is_killed_at_random_moments_does_nothing_twice(tmp_path: Path) -> None:
    said = json.loads(printed(PROGRAM, str(tmp_path)))
    assert said["kills before the end of a run"] == 6
    assert said["notes and payments done twice"] == 0
    assert said["different final histories, `unknown` aside"] == 1
    assert said["runs that ended with the answer"] == int(said["runs"].split()[0])
    assert said["late"] is False
