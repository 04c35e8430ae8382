"""How fast passages are taken in and searched: a release build, one core.

    python benches/retrieval/speed.py

The passages are made of Cranfield's words, drawn by how often they stand there, so that they are as long and as
repetitive as real ones.
"""

from __future__ import annotations

import os
import random
import time

from cranfield import records
from loopwright import _core
from loopwright.retrieve import Index


def main() -> None:
    passages, questions = records("cran.all.1400"), records("cran.qry")
    text = " ".join(passages).split()
    draw = random.Random(7)  # noqa: S311 (words for a benchmark)
    many = [" ".join(draw.choices(text, k=90)) for _ in range(100_000)]
    size = sum(len(one.encode()) for one in many)
    core = _core.RetrieveIndex()
    before = time.process_time()
    core.add(many)
    taken = time.process_time() - before
    rate = size / 1e6 / taken
    print(f"load {os.getloadavg()[0]:.1f}; indexing {size / 1e6:.0f} MB in {taken:.1f} s of one core: {rate:.1f} MB/s")
    index = Index()
    index._core, index._texts = core, many
    before = time.process_time()
    index.prepare()
    print(f"directions of {len(many):,} passages: {time.process_time() - before:.1f} s, once")
    times = []
    for question in questions[:100]:
        start = time.process_time()
        index.search(question)
        times.append(time.process_time() - start)
    times.sort()
    print(f"a query over {len(many):,}: median {times[50] * 1e3:.1f} ms, 95th of a hundred {times[95] * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
