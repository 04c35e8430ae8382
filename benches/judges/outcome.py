"""What a judge found: one row for each wire and case."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """One thing that a judge looked at. `wrong` is empty where it is content."""

    judge: str
    wire: str
    case: str
    wrong: list[str]
