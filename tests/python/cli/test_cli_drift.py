"""`loopwright replay --drift`: when the conversation left its goal."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from loopwright import Agent
from loopwright.testing import ScriptedModel

GOAL = "Write a parser for the configuration files of the billing service in Rust."
OTHER = "Forget about that. Instead plan a birthday party with cake, balloons and music."


def replayed(*arguments: str) -> str:
    line = [sys.executable, "-m", "loopwright", "replay", *arguments, "--drift"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_d40_drift_is_shown_from_the_journal(tmp_path: Path) -> None:
    agent = Agent(ScriptedModel(["ok", "ok"]))
    first = agent.run_sync(GOAL, journal=tmp_path / "first run.jsonl")
    agent.run_sync(OTHER, messages=first.messages, journal=tmp_path / "second run.jsonl")
    assert "kept to its goal" in replayed(str(tmp_path / "first run.jsonl"))
    shown = replayed(str(tmp_path / "second run.jsonl"))
    assert "left its goal" in shown
    assert "billing service" in shown
    [drift] = json.loads(replayed(str(tmp_path / "second run.jsonl"), "--json"))["drifts"]
    assert drift["state"] == "drifted"
    assert drift["event"] == 1
