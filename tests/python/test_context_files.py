"""Files that were changed stand in what is left of a history, or in its summary, while there is room for their names."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from loopwright import UsageError
from loopwright.context import compress, estimate

GO = {"role": "user", "content": "Fix src/main.rs and never touch tests/."}


def said(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def changing(rng: random.Random, exchanges: int, shape: str) -> tuple[list[dict[str, Any]], set[str]]:
    """A history that reads and changes files, and the files that it changes."""
    history: list[dict[str, Any]] = [GO]
    files: list[str] = []
    for at in range(exchanges):
        body = "\n".join(
            f"line {rng.randrange(9_999)} of text_{rng.randrange(99)}" for _ in range(rng.randrange(1, 40))
        )
        path = rng.choice(
            [f"src/mod_{rng.randrange(60)}/file_{rng.randrange(99)}.rs", "Makefile", f"été_{rng.randrange(9)}.md",
             f"my notes {rng.randrange(9)}.txt", f"a{rng.randrange(99)}.py", f"./b/{rng.randrange(99)}.py"]
        )  # fmt: skip
        script = f"src/s_{rng.randrange(99)}.rs"
        name, given, changed = rng.choice(
            [
                ("write_file", {"path": path, "content": body}, path),
                ("edit", {"file_path": path, "old": "x", "new": body[:200]}, path),
                ("bash", {"command": f"sed -i s/a/b/ {script}"}, script),
                ("read", {"path": f"src/r_{rng.randrange(99)}.rs"}, None),
                ("bash", {"command": "cargo test"}, None),
            ]
        )
        files += [changed] if changed else []
        result = "ok" if changed else body
        if shape == "anthropic":
            history.append(said([{"type": "tool_use", "id": f"c{at}", "name": name, "input": given}]))
            answer = {"type": "tool_result", "tool_use_id": f"c{at}", "content": result}
            history.append({"role": "user", "content": [answer]})
        else:
            function = {"name": name, "arguments": json.dumps(given, ensure_ascii=False)}
            history.append(said(None, tool_calls=[{"id": f"c{at}", "type": "function", "function": function}]))
            history.append({"role": "tool", "tool_call_id": f"c{at}", "content": result})
        if rng.random() < 0.05:
            history.append({"role": "user", "content": "go on " + body[:100]})
    return history, set(files)


@pytest.mark.parametrize("shape", ["anthropic", "openai_chat"])
def test_c26_files_that_were_changed_are_named_while_there_is_room(shape: str) -> None:
    seen = 0
    for seed in range(40):
        rng = random.Random(seed)  # noqa: S311 - no secret
        history, files = changing(rng, rng.choice([6, 15, 40, 120]), shape)
        total = estimate(history, shape=shape)
        for share in (0.15, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9):
            budget = int(total * share)
            try:
                done = compress(history, budget, shape=shape)
            except UsageError as error:
                if error.code != "budget_too_small":
                    raise
                continue
            here = json.dumps(done.messages, ensure_ascii=False)
            gone = [file for file in files if file not in here]
            if gone:
                need = min(estimate([{"role": "user", "content": file}], shape=shape) for file in gone)
                # How a summary begins, too, takes its room.
                head = 0 if "[Summary of what left" in here else 60
                assert done.report.after <= budget < done.report.after + need + head + 2, (seed, share, gone)
            seen += not gone
    assert seen > 100
