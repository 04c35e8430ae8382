"""nDCG@10 on Cranfield: with words alone, and with MiniLM where its package is installed.

    python benches/retrieval/quality.py [--minilm]

The method was chosen with all questions in sight; `docs/measurements/retrieval.md` says how much that flatters.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cranfield import judged, ndcg, records
from loopwright.retrieve import Index

sys.path.append(str(Path(__file__).parents[1] / "senses_intent"))


def table(name: str, index: Index, questions: list[str], wanted: dict[int, set[int]]) -> None:
    each = [ndcg([hit.id for hit in index.search(text)], wanted[at]) for at, text in enumerate(questions)]
    halves = [sum(each[start::2]) / len(each[start::2]) for start in (0, 1)]
    print(f"| {name} | {halves[0]:.4f} | {halves[1]:.4f} | {sum(each) / len(each):.4f} |", flush=True)


def main() -> None:
    passages, questions, wanted = records("cran.all.1400"), records("cran.qry"), judged()
    print("| ranking | even (113) | odd (112) | all (225) |\n| --- | --- | --- | --- |")
    for name, feedback, lsa in [
        ("BM25", False, False),
        ("BM25 + RM3", True, False),
        ("BM25 + LSA", False, True),
        ("BM25 + RM3 + LSA (the default)", True, True),
    ]:
        table(name, Index(passages, feedback=feedback, lsa=lsa), questions, wanted)
    if "--minilm" in sys.argv:
        from minilm import MiniLM

        table("the default with MiniLM", Index(passages, embedder=MiniLM()), questions, wanted)


if __name__ == "__main__":
    main()
