"""Memory: how well it finds, and how fast, beside plain FTS5 (`OR`, stop words removed) from Python's own `sqlite3`.

    python benches/memory/run.py [--cranfield FOLDER] [--locomo FILE] [--facts 100000]

`--cranfield` is the folder of the Cranfield collection (`../shared/data/cranfield` by default, left out if absent).
`--locomo` is `locomo10.json` of the LoCoMo data set, which is not part of this project. Its turns are remembered one by
one; a question counts as answered by `any` if one of its evidence turns is among the first ten hits, by `mean` by the
share of them, by `all` if all are. Questions of its category 5 (those without an answer) are left out.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path

from loopwright import Memory
from loopwright.memory import hashing

STOP = frozenset(
    """
    a about above after again against all am an and any are as at be because been before being below between both
    but by can could did do does doing down during each few for from further had has have having he her here hers
    herself him himself his how i if in into is it its itself just me more most my myself no nor not now of off on
    once only or other our ours ourselves out over own same she should so some such than that the their theirs them
    themselves then there these they this those through to too under until up very was we were what when where which
    while who whom why will with would you your yours yourself yourselves s t
    """.split()  # noqa: SIM905  (a page of quotes reads worse)
)


class Plain:
    """FTS5 with `OR` and without stop words."""

    def __init__(self, tokenizer: str) -> None:
        self.db = sqlite3.connect(":memory:")
        self.db.execute(f"CREATE VIRTUAL TABLE f USING fts5 (text, tokenize='{tokenizer}')")

    def remember_many(self, texts: list[str]) -> list[int]:
        self.db.executemany("INSERT INTO f VALUES (?)", [(text,) for text in texts])
        return list(range(1, len(texts) + 1))

    def find(self, query: str) -> list[int]:
        words = dict.fromkeys(word for word in re.findall(r"\w+", query.lower()) if word not in STOP)
        match = " OR ".join(f'"{word}"' for word in words)
        rows = self.db.execute("SELECT rowid FROM f WHERE f MATCH ? ORDER BY rank LIMIT 10", (match,)) if match else ()
        return [row[0] for row in rows]


class Ours:
    def __init__(self, kind: str = "episodic", embedder=None) -> None:
        self.memory = Memory(embedder=embedder)
        self.kind = kind

    def remember_many(self, texts: list[str]) -> list[int]:
        return self.memory.remember_many([{"text": text, "kind": self.kind} for text in texts])

    def find(self, query: str) -> list[int]:
        return [hit.id for hit in self.memory.recall(query, limit=10)]


STORES = {
    "FTS5": lambda: Plain("unicode61"),
    "FTS5, stemmed": lambda: Plain("porter unicode61"),
    "Memory": Ours,
    "Memory, hashing": lambda: Ours(embedder=hashing),
}


def turns(talk: dict) -> list[tuple[str, str, str]]:
    """Each turn's id, date, and itself."""
    found = []
    number = 1
    while f"session_{number}_date_time" in talk:
        date = talk[f"session_{number}_date_time"]
        found += [(turn["dia_id"], date, turn) for turn in talk.get(f"session_{number}", [])]
        number += 1
    return found


def locomo(path: Path) -> None:
    talks = json.loads(path.read_text())
    shapes = {
        "text": lambda date, turn: turn["text"],
        "speaker: text": lambda date, turn: f"{turn['speaker']}: {turn['text']}",
        "[date] speaker: text": lambda date, turn: f"[{date}] {turn['speaker']}: {turn['text']}",
    }
    print("\n| LoCoMo, first 10 hits | turns as | any | mean | all | any, held out |")
    print("| --- | --- | --- | --- | --- | --- |")
    for shape, (name, make) in itertools.product(shapes, STORES.items()):
        results = []
        for at, talk in enumerate(talks):
            all_turns = turns(talk["conversation"])
            store = make()
            ids = store.remember_many([shapes[shape](date, turn) for _, date, turn in all_turns])
            turn_of = {number: turn[0] for number, turn in zip(ids, all_turns, strict=True)}
            known = {turn[0] for turn in all_turns}
            for asked in talk["qa"]:
                said = re.findall(r"D:?(\d+):(\d+)", " ".join(asked.get("evidence", [])))
                evidence = {f"D{int(a)}:{int(b)}" for a, b in said} & known
                if asked["category"] == 5 or not evidence:
                    continue
                share = len(evidence & {turn_of[hit] for hit in store.find(asked["question"])}) / len(evidence)
                results.append((at, share))
        shares = [share for _, share in results]
        held = [share > 0 for at, share in results if at % 2]
        figures = [
            statistics.mean(share > 0 for share in shares),
            statistics.mean(shares),
            statistics.mean(share == 1 for share in shares),
            statistics.mean(held),
        ]
        print(f"| {name} | {shape} | " + " | ".join(f"{100 * figure:.1f} %" for figure in figures) + " |", flush=True)
    print(f"\n{len(shares)} questions, {len(talks)} conversations; constants were chosen on those with even numbers.")


def cranfield(folder: Path) -> None:
    def records(name: str) -> list[str]:
        found: list[str] = []
        keep = False
        for line in (folder / name).read_text(encoding="latin-1").splitlines():
            if line.startswith(".I "):
                found.append("")
                keep = False
            elif re.fullmatch(r"\.[A-Z]", line):
                keep = line in (".T", ".W")
            elif keep:
                found[-1] += line + "\n"
        return found

    documents, queries = records("cran.all.1400"), records("cran.qry")
    wanted: dict[int, set[int]] = {}
    for line in (folder / "cranqrel").read_text().splitlines():
        query, document, grade = map(int, line.split())
        wanted.setdefault(query, set())
        if grade > 0:
            wanted[query].add(document)
    order = list(range(len(documents)))
    random.Random(5).shuffle(order)  # noqa: S311
    stores = {**STORES, "Memory, facts": lambda: Ours("semantic")}
    print("\n| Cranfield, shuffled | nDCG@10 | recall@10 |\n| --- | --- | --- |")
    for name, make in stores.items():
        store = make()
        ids = store.remember_many([documents[at] or "-" for at in order])
        number = {found: at + 1 for at, found in zip(reversed(order), reversed(ids), strict=True)}
        gain = recall = 0.0
        for at, query in enumerate(queries, 1):
            hits = [number[hit] for hit in store.find(query)]
            best = sum(1 / math.log2(rank + 2) for rank in range(min(10, len(wanted[at]))))
            gain += sum(1 / math.log2(rank + 2) for rank, hit in enumerate(hits) if hit in wanted[at]) / best
            recall += len(wanted[at] & set(hits)) / len(wanted[at])
        print(f"| {name} | {gain / len(queries):.3f} | {recall / len(queries):.3f} |", flush=True)


def speed(count: int) -> None:
    draw = random.Random(3)  # noqa: S311
    words = [
        "".join(draw.choice("bcdfghklmnprstvw") + draw.choice("aeiou") for _ in range(draw.randint(2, 4)))
        for _ in range(30_000)
    ]
    weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(len(words))))

    def text(length: int) -> str:
        return " ".join(draw.choices(words, cum_weights=weights, k=length))

    facts, queries = [text(18) for _ in range(count)], [text(7) for _ in range(200)]

    def each(work, arguments) -> list[float]:
        times = []
        for argument in arguments:
            start = time.process_time()
            work(argument)
            times.append(1000 * (time.process_time() - start))
        return sorted(times)

    print(f"\n| {count:,} facts of 18 words, words as frequent as in language | CPU time |\n| --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.db"
        memory = Memory(path)
        print(f"| remember_many, all at once | {each(memory.remember_many, [facts])[0] / 1000:.2f} s |")
        memory.close()
        start = time.process_time()
        memory = Memory(path)
        print(f"| open | {1000 * (time.process_time() - start):.1f} ms |")
        print(f"| first recall, which reads the file | {each(memory.recall, ['x'])[0]:.0f} ms |")
        times = each(lambda query: memory.recall(query, 10), queries)
        print(f"| recall, questions of 7 words: median / p95 | {times[100]:.2f} / {times[190]:.2f} ms |")
        times = each(memory.remember, [text(18) for _ in range(300)])
        print(f"| remember, one by one: median / p95 | {times[150]:.2f} / {times[285]:.2f} ms |")
        print(f"| recall after that | {each(memory.recall, queries[:1])[0]:.2f} ms |")
        memory.close()
    plain = Plain("porter unicode61")
    plain.remember_many(facts)
    times = each(plain.find, queries)
    print(f"| FTS5, stemmed, the same questions: median / p95 | {times[100]:.2f} / {times[190]:.2f} ms |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cranfield", type=Path, default=Path(__file__).parents[2] / "../shared/data/cranfield")
    parser.add_argument("--locomo", type=Path)
    parser.add_argument("--facts", type=int, default=100_000)
    options = parser.parse_args()
    if options.cranfield.exists():
        cranfield(options.cranfield)
    else:
        print("skipped: the Cranfield collection is absent", file=sys.stderr)
    if options.locomo:
        locomo(options.locomo)
    speed(options.facts)


if __name__ == "__main__":
    main()
