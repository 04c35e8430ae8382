"""The approach of OpenHands' first detector, transcribed, beside ours: what one question costs after so many events.

    python benches/senses/openhands.py

It filters the whole history for each question and compares the last four pairs, three errors, three messages and six
steps of two; events are dataclasses here, which is the cheapest they can be.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

from loopwright.monitor import StuckDetector


@dataclass
class Event:
    source: str
    kind: str
    text: str
    id: int


def equal(a: Event, b: Event) -> bool:
    return a.kind == b.kind and a.text == b.text


def is_stuck(history: list[Event]) -> bool:
    kept = [
        event for event in history if event.kind != "null" and not (event.source == "user" and event.kind == "message")
    ]
    if len(kept) < 3:
        return False
    actions, observations = [], []
    for event in reversed(kept):
        if event.kind == "action" and len(actions) < 4:
            actions.append(event)
        elif event.kind == "observation" and len(observations) < 4:
            observations.append(event)
        if len(actions) == 4 and len(observations) == 4:
            break
    if len(actions) == 4 and len(observations) == 4:
        if all(equal(actions[0], one) for one in actions) and all(equal(observations[0], one) for one in observations):
            return True
        if all(equal(actions[0], one) for one in actions[:3]) and all("error" in one.text for one in observations[:3]):
            return True
    messages = [(at, event) for at, event in enumerate(kept) if event.kind == "message" and event.source == "agent"]
    if len(messages) >= 3 and all(equal(messages[-1][1], one) for _, one in messages[-3:]):
        return True
    last = [event for event in kept if event.kind in ("action", "observation")][-12:]
    actions = [event for event in last if event.kind == "action"]
    return len(actions) == 6 and all(equal(actions[at], actions[at + 2]) for at in range(4))


def best(work, times: int) -> float:
    lowest = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(times):
            work()
        lowest = min(lowest, (time.perf_counter() - start) / times)
    return lowest * 1e6


def main() -> None:
    print("| events before | the transcription, us | `StuckDetector.record` from Python, us |\n| --- | --- | --- |")
    for count in (100, 1_000, 10_000):
        history, detector = filled(count)
        theirs = best(partial(is_stuck, history), max(5, 20_000 // count))
        ours = best(partial(detector.record, ("bash", {"command": "cat file"}), "text"), 2_000)
        print(f"| {count:,} | {theirs:.1f} | {ours:.1f} |")


def filled(count: int) -> tuple[list[Event], StuckDetector]:
    history: list[Event] = []
    detector = StuckDetector()
    for n in range(count // 2):
        history += [Event("agent", "action", f"cat file{n}", n), Event("environment", "observation", f"text {n}", n)]
        detector.record(("bash", {"command": f"cat file{n}"}), f"text {n}")
    return history, detector


if __name__ == "__main__":
    main()
