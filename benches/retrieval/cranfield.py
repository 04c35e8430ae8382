"""The Cranfield collection: passages, questions, judgements."""

from __future__ import annotations

import math
from pathlib import Path

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "cranfield"
if not FOLDER.exists():
    FOLDER = Path(__file__).parents[2] / ".." / "shared" / "data" / "cranfield"


def records(name: str) -> list[str]:
    """Title and text of each record."""
    found: list[list[str]] = []
    keep = False
    for line in (FOLDER / name).read_text(errors="replace").splitlines():
        if line.startswith(".I "):
            found.append([])
            keep = False
        elif len(line) == 2 and line[0] == ".":
            keep = line in (".T", ".W")
        elif keep:
            found[-1].append(line)
    return ["\n".join(lines) for lines in found]


def judged() -> dict[int, set[int]]:
    """For each question the passages that are graded 1 to 4, all alike; the question's own paper (-1) is none."""
    found: dict[int, set[int]] = {}
    for line in (FOLDER / "cranqrel").read_text().splitlines():
        question, passage, grade = (int(field) for field in line.split()[:3])
        if grade > 0:
            found.setdefault(question - 1, set()).add(passage - 1)
    return found


def ndcg(ranked: list[int], wanted: set[int], k: int = 10) -> float:
    gains = sum(1 / math.log2(rank + 2) for rank, one in enumerate(ranked[:k]) if one in wanted)
    return gains / sum(1 / math.log2(rank + 2) for rank in range(min(k, len(wanted))))
