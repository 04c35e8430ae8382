"""Whether the offline model (not an LLM) answers what its sources hold and is silent about what they do not.

    python benches/retrieval/abstention.py [xquad.en.json]

Answerable: the questions of Cranfield over its passages. Foreign: as many questions that people ask assistants
(CLINC150) over the same passages. With XQuAD's English file (github.com/google-deepmind/xquad): its articles in two
halves, the questions about one half answerable over it, those about the other foreign; as an index of paragraphs, and
as a folder of files that `Grounded` answers from, where the marked answer is looked for in what was quoted.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from cranfield import FOLDER, records
from loopwright import Grounded
from loopwright.retrieve import Index


def thresholds(name: str, index: Index, own: list[str], foreign: list[str]) -> None:
    scores = [[index.support(one) for one in questions] for questions in (own, foreign)]
    print(f"\n{name}: {len(own)} answerable, {len(foreign)} foreign, even and odd places\n")
    print("| threshold | answerable, even | odd | foreign answered, even | odd |\n| --- | --- | --- | --- | --- |")
    for step in range(28, 49, 2):
        cut = step / 100
        row = [sum(score >= cut for score in half) / len(half) for all_ in scores for half in (all_[::2], all_[1::2])]
        print(f"| {cut:.2f} | " + " | ".join(f"{share:.1%}" for share in row) + " |", flush=True)


def grounded(name: str, folder: Path, own: list[dict[str, Any]], foreign: list[dict[str, Any]]) -> None:
    model = Grounded("offline:extractive", sources=[folder])
    answered = held = strange = 0
    for each in own:
        result = model.run_sync(each["question"])
        if result.final and result.stop_reason != "abstained":
            answered += 1
            held += any(answer["text"].lower() in result.final.lower() for answer in each["answers"])
    for each in foreign:
        result = model.run_sync(each["question"])
        strange += bool(result.final) and result.stop_reason != "abstained"
    print(
        f"{name}: answered {answered / len(own):.1%} of {len(own)}, the marked answer quoted {held / len(own):.1%}; "
        f"foreign ones answered {strange / len(foreign):.1%} of {len(foreign)}",
        flush=True,
    )


def main() -> None:
    own = records("cran.qry")
    pairs = (FOLDER.parent / "intent" / "drift_pairs.jsonl").read_text().splitlines()
    seen: dict[str, None] = {}
    for line in pairs:
        pair = json.loads(line)
        seen.update({pair["before"]: None, pair["after"]: None})
    foreign = list(seen)[:: max(1, len(seen) // len(own))][: len(own)]
    thresholds("Cranfield and CLINC150", Index(records("cran.all.1400")), own, foreign)
    if len(sys.argv) < 2:  # noqa: PLR2004
        return
    articles = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["data"]
    halves = [articles[0::2], articles[1::2]]
    asked = [[each for article in half for part in article["paragraphs"] for each in part["qas"]] for half in halves]
    for at, half in enumerate(halves):
        texts = [part["context"] for article in half for part in article["paragraphs"]]
        questions = [[each["question"] for each in some] for some in (asked[at], asked[1 - at])]
        thresholds(f"XQuAD, half {at + 1}", Index(texts), *questions)
        with tempfile.TemporaryDirectory() as folder:
            for article in half:
                title = article["title"].replace("/", "_")
                body = "\n\n".join(part["context"] for part in article["paragraphs"])
                Path(folder, f"{title}.md").write_text(f"# {title.replace('_', ' ')}\n\n{body}\n", encoding="utf-8")
            grounded(f"XQuAD as a folder, half {at + 1}", Path(folder), asked[at][::6], asked[1 - at][::6])


if __name__ == "__main__":
    main()
