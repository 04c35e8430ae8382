"""Searches files for a regular expression, as a process of its own.

Python's regular expressions can run for ages on a few bytes, and nothing in the same process can stop them; a process
can be killed. Started by path with the open folder as a descriptor and the order as JSON; each hit is a line of JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import stat
import sys
from pathlib import Path
from typing import Any

_LARGEST = 20 * 1024 * 1024
_LONGEST_LINE = 100_000
_SHOWN = 300
_MEMORY = 2 * 1024 * 1024 * 1024


def main() -> None:
    """Search as the order says."""
    sys.path.insert(0, str(Path(__file__).parent))
    import _beneath  # type: ignore[import-not-found]
    import _glob  # type: ignore[import-not-found]

    order = json.loads(sys.argv[1])
    _limit(order["seconds"])
    try:
        expression = re.compile(order["pattern"], re.IGNORECASE if order["ignore_case"] else 0)
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        _say({"error": str(error) or type(error).__name__})
        return
    only = _glob.Pattern(order["glob"]) if order["glob"] else None
    left = order["most"]
    files = skipped = 0
    base = [order["file"]] if order["file"] else None
    if base is not None:
        found = [(order["file"], order["folder"])]
    else:
        found = (  # type: ignore[assignment]
            (each.path, order["folder"]) for each in _beneath.walk(order["folder"]) if stat.S_ISREG(each.mode)
        )
    for path, start in found:
        if only is not None and not (only.matches(path) or only.matches(path.rpartition("/")[2])):
            continue
        parent, _, name = path.rpartition("/")
        try:
            folder = _beneath.open_folder(start, parent.split("/") if parent else [])
            try:
                descriptor = _beneath.open_regular(folder, name)
            finally:
                os.close(folder)
        except OSError:
            skipped += 1
            continue
        with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
            data = file.read(_LARGEST + 1)
        if len(data) > _LARGEST or b"\0" in data[:8192]:
            skipped += 1
            continue
        files += 1
        left = _search(expression, data, path, left)
        if left < 0:
            _say({"more": True})
            break
    _say({"files": files, "skipped": skipped})


def _search(expression: re.Pattern[str], data: bytes, path: str, left: int) -> int:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    for number, line in enumerate(io.StringIO(text, newline="\n"), 1):
        match = expression.search(line[:_LONGEST_LINE].rstrip("\r\n"))
        if match is None:
            continue
        left -= 1
        if left < 0:
            break
        _say({"path": path, "line": number, "text": _around(line, match.start())})
    return left


def _around(line: str, position: int) -> str:
    line = line.rstrip("\r\n")
    if len(line) <= _SHOWN:
        return line
    begin = max(0, position - _SHOWN // 3)
    return f"{'…' if begin else ''}{line[begin : begin + _SHOWN]}…"


def _say(what: dict[str, Any]) -> None:
    # Escaped to ASCII: names of files may hold what UTF-8 can't.
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _limit(seconds: float) -> None:
    """If whoever started us dies first, the system ends us."""
    import resource

    for kind, amount in ((resource.RLIMIT_CPU, int(seconds) + 5), (resource.RLIMIT_AS, _MEMORY)):
        _, hard = resource.getrlimit(kind)
        # Some systems know a limit but do not let it be set; the starter's clock is the first guard anyway.
        with contextlib.suppress(ValueError, OSError):
            if hard == resource.RLIM_INFINITY or amount < hard:
                resource.setrlimit(kind, (amount, hard))


if __name__ == "__main__":
    main()
