"""What a memory makes of conversations: preferences that stand in every later request, facts that are the current ones.

`python benches/memory/exam.py tests/data/memory/exam_1.jsonl.gz`: each conversation is held by an agent with a memory
and a double in the model's place, which says what the file has it say. Judged is what requests hold and what `recall`
gives, never what a model would make of it. How the conversations are labelled stands beside them.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright import Agent, Memory
from loopwright.memory import MemoryPolicy
from loopwright.testing import ScriptedModel, text

if TYPE_CHECKING:
    from collections.abc import Callable


def plain(words: str) -> str:
    """Words as they are compared: without case, white space and marks."""
    return re.sub(r"\W+", " ", words.casefold()).strip()


def near(entry: str, label: str, turn: str) -> bool:
    """Whether an entry is a labelled wish: one holds the other, or both lie in one sentence of the turn."""
    entry, label = plain(entry), plain(label)
    if entry in label or label in entry:
        return True
    sentences = [plain(each) for each in re.split(r"(?<=[.!?])\s+", turn)]
    return any(entry in sentence and label in sentence for sentence in sentences)


def held(
    conversation: dict[str, Any], folder: Path, probe: Callable[[Memory, dict[str, Any]], None]
) -> tuple[list[str], list[list[str]]]:
    """The instructions of each request of a conversation, and the preferences after each turn; asks in between."""
    turns = conversation["turns"]
    model = ScriptedModel([text(turn["assistant"]) for turn in turns])
    history: Any = None
    after: list[list[str]] = []
    with Memory(folder / f"{conversation['id']}.db") as memory:
        agent = Agent(model, memory=MemoryPolicy(memory))
        for at, turn in enumerate(turns):
            history = agent.run_sync(turn["text"], messages=history, user="u", session="s").messages
            memory.drain()
            after.append([each.text for each in memory.preferences("u")])
            for each in conversation["probes"]:
                if each["after_turn"] == at:
                    probe(memory, each)
    return [str(request.system or "") for request in model.requests], after


def examined(conversation: dict[str, Any], folder: Path, count: Counter[str], said: list[str]) -> None:
    """Counts what a conversation came to, and notes what was wrong."""
    turns, name = conversation["turns"], conversation["id"]

    def probe(memory: Memory, asked: dict[str, Any]) -> None:
        hits = memory.recall(asked["ask"], user="u", limit=3)
        words = [plain(hit.text) for hit in hits]
        current = plain(asked["current"])
        found = any(current in each for each in words)
        # A hit with `superseded_by` tells that it is outdated; the others state what they say as current.
        told = [plain(hit.text) for hit in hits if hit.superseded_by is None]
        stale = any(current not in each and plain(old) in each for each in told for old in asked["outdated"])
        count["facts asked for"] += 1
        count["current among the first three"] += found
        count["facts that changed"] += bool(asked["outdated"])
        count["outdated stated as current"] += stale
        if not found or stale:
            said.append(f"{name} {asked['ask']} wanted {asked['current']}: {[each[:70] for each in words]}")

    systems, after = held(conversation, folder, probe)
    where = {label: turn["text"] for turn in turns for label in turn["preferences_now"] if label in turn["text"]}
    for at in range(1, len(turns)):
        for label in turns[at - 1]["preferences_now"]:
            stands = any(near(entry, label, where.get(label, "")) for entry in after[at - 1])
            count["wanted in a request"] += 1
            count["stands in it"] += stands and any(plain(entry) in plain(systems[at]) for entry in after[at - 1])
    everything = {label for turn in turns for label in turn["preferences_now"]}
    force = turns[-1]["preferences_now"]
    for label in force:
        hit = any(near(entry, label, where.get(label, "")) for entry in after[-1])
        count["in force at the end"] += 1
        count["kept"] += hit
        if not hit:
            said.append(f"{name} missed: {label}")
    for entry in after[-1]:
        if any(near(entry, label, where.get(label, "")) for label in force):
            continue
        old = any(near(entry, label, where.get(label, "")) for label in everything)
        count["outdated preferences" if old else "false alarms"] += 1
        said.append(f"{name} {'outdated' if old else 'false alarm'}: {entry}")


def main(file: str) -> None:
    """Prints the counts of a file of conversations, and what was wrong."""
    held = Path(file).read_bytes()
    lines = (gzip.decompress(held) if file.endswith(".gz") else held).decode().splitlines()
    conversations = [json.loads(line) for line in lines]
    count: Counter[str] = Counter()
    said: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for conversation in conversations:
            examined(conversation, Path(folder), count, said)
    print(*said, sep="\n")
    print(f"{len(conversations)} conversations")
    for what, number in count.items():
        print(f"{number:6d} {what}")


if __name__ == "__main__":
    main(sys.argv[1])
