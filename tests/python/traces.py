"""What is left of words that were erased, and whoever is in the way of erasing them."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path


def forms(word: str) -> set[bytes]:
    """How a word may stand in a file: as it is or in small letters, and as JSON texts hold it, or JSON texts in these."""
    found = {word, word.lower()}
    for _ in range(2):
        found |= {json.dumps(each, ensure_ascii=plain)[1:-1] for each in found for plain in (True, False)}
    # Bytes are compared in small letters; others than those of ASCII stay as they are.
    return {each.encode().lower() for each in found}


def copies(folder: Path, *words: str) -> dict[str, int]:
    """How often words stand in the files of a folder, in any of their forms."""
    found: dict[str, int] = {}
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        data = path.read_bytes().lower()
        for word in words:
            count = sum(data.count(form) for form in forms(word))
            if count:
                found[f"{path.name}: {word}"] = count
    return found


READER = """
    import sqlite3, sys
    file = sqlite3.connect(sys.argv[1], isolation_level=None)
    file.execute("BEGIN")
    file.execute("SELECT count(*) FROM sqlite_master").fetchall()
    print("reading", flush=True)
    sys.stdin.readline()
"""


def reader(path: Path) -> subprocess.Popen[str]:
    """Another process that reads a store as it is now."""
    command = [sys.executable, "-c", textwrap.dedent(READER), str(path)]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "reading\n"
    return other
