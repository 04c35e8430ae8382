#!/usr/bin/env python3
"""Makes `crates/monitor/src/data/words.bin`: how rare a word is, and 64 small numbers that say what it is about.

Frequencies: SymSpell's `frequency_dictionary_en_82_765.txt` (Google Books Ngram, CC BY 3.0, cut with SCOWL).
Numbers: each word alone through all-MiniLM-L6-v2 (Apache 2.0), 384 numbers turned to 64, four bits each. Words of
software, which books know little of, are added by hand (`software.txt`). No pair of requests was looked at to make it.

    pack.py frequency_dictionary_en_82_765.txt

The format: "LWWORDS1", count (u16), then each word in order: length (u8), bytes, rarity (u8, in quarters of a bit
below the commonest possible), 32 bytes of two numbers each, the first in the low half, 8 is zero.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from minilm import MiniLM

HERE = Path(__file__).resolve().parent
OUT = HERE.parent.parent / "crates" / "monitor" / "src" / "data" / "words.bin"
WORDS, NUMBERS = 12_000, 64
RARE = 19.0
"""Bits of rarity of a word that books do not know."""

SOFTWARE = (HERE / "software.txt").read_text(encoding="utf-8").split()


def terms(lines: list[str]) -> list[list[str]]:
    """The terms of each line, as the core makes them."""
    target = os.environ.get("CARGO_TARGET_DIR", str(HERE / "target"))
    program = Path(target) / "debug" / "loopwright-bench-senses-intent"
    if not program.exists():
        subprocess.run(["cargo", "build", "-q"], cwd=HERE, check=True)
    done = subprocess.run([program, "stems"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    return [line.split() for line in done.stdout.split("\n")[: len(lines)]]


def main() -> None:
    rows = [line.split() for line in Path(sys.argv[1]).read_text(encoding="utf-8-sig").splitlines()]
    total = sum(int(count) for _, count in rows)
    names = [word for word, _ in rows]
    frequency: dict[str, int] = {}
    surface: dict[str, str] = {}
    for at, ((word, count), stems) in enumerate(zip(rows, terms(names), strict=True)):
        if len(stems) == 1:
            frequency[stems[0]] = frequency.get(stems[0], 0) + int(count)
            if at < WORDS:
                surface.setdefault(stems[0], word)
    for word, stems in zip(SOFTWARE, terms(SOFTWARE), strict=True):
        if len(stems) == 1:
            surface.setdefault(stems[0], word)
    keys = sorted(surface)
    vectors = MiniLM().encode([surface[key] for key in keys]).astype(np.float64)
    vectors -= vectors.mean(0)
    _, _, axes = np.linalg.svd(vectors, full_matrices=False)
    small = vectors @ axes[:NUMBERS].T
    small /= np.linalg.norm(small, axis=1, keepdims=True)
    small = np.clip(np.round(small * 7 / np.percentile(np.abs(small), 99.5)), -7, 7).astype(int) + 8
    out = bytearray(b"LWWORDS1") + len(keys).to_bytes(2, "little")
    for key, numbers in zip(keys, small, strict=True):
        count = frequency.get(key)
        # Books undercount words of software: none of them is rarer than a word that books do not know.
        bits = RARE if count is None else min(RARE, -math.log2(count / total))
        out += bytes([len(key)]) + key.encode() + bytes([round(4 * bits)])
        out += bytes(int(a) | int(b) << 4 for a, b in zip(numbers[::2], numbers[1::2], strict=True))
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_bytes(out)
    print(f"{len(keys)} words, {len(out)} bytes")


if __name__ == "__main__":
    main()
