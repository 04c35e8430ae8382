"""How many right and wrong everyday answers pass the check of a grounded answer: `python benches/answers/exam.py FILE`.

A line of the file is a case: question, documents, thread, profile, answer, and whether it is right. Each is answered by
a model that writes just that answer, with one attempt. Cases were written by somebody who had not read the rules.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from loopwright import Budget, Grounded
from loopwright.messages import Message
from loopwright.testing import ScriptedModel, text


def passes(case: dict) -> tuple[bool, list[str]]:
    """Whether the answer passes, and what was told of it."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in case["documents"].items():
            (Path(folder) / name).write_text(content, encoding="utf-8")
        grounded = Grounded(
            ScriptedModel([text(case["answer"])] * 2),
            sources=[folder],
            profile=case["profile"],
            budget=Budget(verify_attempts=1),
        )
        thread = [Message("user", said) for said in case["thread"]]
        result = grounded.run_sync(case["question"], history=thread)
        return bool(result.verified), result.warnings


def main(path: str) -> None:
    """Prints each case that is judged wrongly, and the shares."""
    counts: Counter[tuple[str, bool]] = Counter()
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        passed, told = passes(case)
        counts[case["wrong_in"] or "right", passed] += 1
        if passed != case["right"]:
            print(case["id"], case["profile"], case["wrong_in"] or "right", "passes" if passed else "fails", told[:2])
    for kind in dict.fromkeys(kind for kind, _ in counts):
        print(f"{kind:10} {counts[kind, True]:3} of {counts[kind, True] + counts[kind, False]:3} pass")
    for right in (True, False):
        mine = {key: count for key, count in counts.items() if (key[0] == "right") is right}
        passed = sum(count for (_, passed), count in mine.items() if passed)
        print(f"{'right' if right else 'wrong'} ones: {passed} of {sum(mine.values())} pass")


if __name__ == "__main__":
    main(sys.argv[1])
