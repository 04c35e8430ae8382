"""Whether the offline model (not an LLM) answers what its sources hold and is silent about what they do not.

    python benches/retrieval/abstention.py

Answerable: the questions of Cranfield over its passages. Foreign: as many questions that people ask assistants
(CLINC150) over the same passages. The first half of each chose the threshold, the second is held out.
"""

from __future__ import annotations

import json

from cranfield import FOLDER, records
from loopwright.retrieve import Index


def coverages(index: Index, questions: list[str]) -> list[float]:
    """The support of each answer; 0 where there is none at any threshold."""
    return [said.coverage if said else 0.0 for said in (index.quote(one, least_support=0.0) for one in questions)]


def main() -> None:
    index = Index(records("cran.all.1400"))
    own = records("cran.qry")
    pairs = (FOLDER.parent / "intent" / "drift_pairs.jsonl").read_text().splitlines()
    seen: dict[str, None] = {}
    for line in pairs:
        pair = json.loads(line)
        seen.update({pair["before"]: None, pair["after"]: None})
    texts = list(seen)
    foreign = texts[:: max(1, len(texts) // len(own))][: len(own)]
    scores = [coverages(index, own), coverages(index, foreign)]
    print("| threshold | answerable, chosen on | held out | foreign answered, chosen on | held out |")
    print("| --- | --- | --- | --- | --- |")
    for step in range(20, 91, 4):
        cut = step / 100
        row = [sum(score >= cut for score in half) / len(half) for all_ in scores for half in (all_[::2], all_[1::2])]
        print(f"| {cut:.2f} | " + " | ".join(f"{share:.1%}" for share in row) + " |")


if __name__ == "__main__":
    main()
