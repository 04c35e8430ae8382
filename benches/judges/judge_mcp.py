"""The official conformance suite of the Model Context Protocol: both frozen sets of requirements, client and server.

Only what a set scores is counted; the suite runs more, and says of it that it is not scored.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

from outcome import Cell

HERE = Path(__file__).resolve().parent
SUITE = HERE / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
SETS = ("2025-11-25", "2026-07-28")
RESULT = re.compile(r"^[✓✗] (\S+): (\d+) passed, (\d+) failed", re.MULTILINE)
UNSCORED = re.compile(r"^\s+[✓✗] (\S+) \(", re.MULTILINE)


def cells() -> list[Cell]:
    found = []
    for requirements in SETS:
        found += judged("client", requirements, "--command", f"{sys.executable} {HERE / 'mcp_client.py'}")
        with serving() as url:
            found += judged("server", requirements, "--url", url)
    return found


def judged(side: str, requirements: str, *arguments: str) -> list[Cell]:
    command = [os.environ["NODE"], str(SUITE), side, *arguments, "--requirements", requirements]
    # Two dozen clients at once on a small machine: their time is their own.
    more = ["--timeout", "90000"] if side == "client" else []
    done = subprocess.run([*command, *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    summary = done.stdout.rpartition("SUMMARY ===")[2]
    unscored = set(UNSCORED.findall(summary.partition("Not scored")[2]))
    if os.environ.get("MCP_VERBOSE"):
        sys.stderr.write(summary)
    found = []
    for scenario, _, failed in RESULT.findall(summary):
        if scenario not in unscored:
            wrong = [f"{failed} checks failed"] if int(failed) else []
            found.append(Cell("mcp", f"{side} {requirements}", scenario, wrong))
    return found or [Cell("mcp", f"{side} {requirements}", "the suite", [done.stdout[-300:] or "no result"])]


@contextlib.contextmanager
def serving() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(HERE / "mcp_server.py"), str(fixture()), str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        ends = time.monotonic() + 30
        while time.monotonic() < ends:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
                break
            time.sleep(0.1)
        yield f"http://localhost:{port}/mcp"
    finally:
        process.kill()
        process.wait()


def fixture() -> Path:
    """The official package's own fixture, which only its source has."""
    folder = HERE / ".venv" / "mcp-source"
    if not folder.exists():
        download = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "mcp==2.3.0"]
        subprocess.run([*download, "--dest", str(folder)], check=True)
    with tarfile.open(next(folder.glob("mcp-*.tar.gz"))) as source:
        inside = "/examples/servers/everything-server/"
        wanted = [each for each in source.getmembers() if inside in each.name]
        source.extractall(folder, members=wanted, filter="data")
    return folder / wanted[0].name.partition("/")[0] / inside.strip("/")
