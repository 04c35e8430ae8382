"""A question, researched in a spiral: plans of a strategist, gain and coverage told, and a report that is checked.

The model is played by a few lines; a name such as `anthropic:claude-sonnet-4-5` would stand in the same place.
"""

from __future__ import annotations

import json
import re
from typing import Any

from loopwright import Research
from loopwright.events import Event, PhaseFinished, Status

NOTES = {
    "moon.md": "# The moon\n\nThe moon causes most of the tide. Its pull raises the sea on the near and the far side.",
    "sun.md": "# The sun\n\nThe sun raises tides of 46 percent of the moon's. Spring tides come at new and full moon.",
    "surge.md": "# Storm surges\n\nWest wind presses the sea on the coast. The surge of 1962 stood 3 metres too high.",
}
TOPICS = [{"topic": "The pull of the moon", "subtopics": ["far side"]}, {"topic": "The sun", "subtopics": ["spring"]}]
SUN = {"action": "SEARCH", "query": "sun spring tides", "target_outline_topic": "The sun"}
STORMS = {"action": "ADD_TO_OUTLINE", "topic": "Storm surges", "subtopics": ["wind"]}
WIND = {"action": "SEARCH", "query": "storm surge of the west wind", "target_outline_topic": "Storm surges"}
ANSWERS: dict[str, list[dict[str, object]]] = {
    "queries": [{"queries": ["pull of the moon", "raised on the far side", "near side"]}],
    "outline": [{"outline": TOPICS}],
    "verdict": [{"verdict": "NONE", "critique": "It is fine."}],
    "plan": [
        {"critique": "The sun has no support yet.", "thought": "One topic at a time.", "plan": [SUN]},
        {"critique": "Storms raise the sea as well.", "thought": "The outline lacks them.", "plan": [STORMS, WIND]},
        {"critique": "Nothing is missing.", "thought": "An empty plan ends it.", "plan": []},
    ],
}


class Strategist:
    """Answers in the form that is asked for; sections are quotes, and one sentence that no note holds."""

    name = "strategist"

    def respond(self, request: Any) -> str:
        asked = json.loads(request.to_json())
        for field in ANSWERS.keys() & asked.get("output", {}).get("schema", {}).get("properties", {}).keys():
            return json.dumps(ANSWERS[field].pop(0) if len(ANSWERS[field]) > 1 else ANSWERS[field][0])
        found = re.findall(r"^\[(\d+)].*\n\| (.+?)\.", asked["messages"][-1]["content"][0]["text"], re.MULTILINE)
        return " ".join(f"{words} [{n}]." for n, words in found) + " The sea is 99 miles deep [1]."


def tell(event: Event) -> None:
    if isinstance(event, Status):
        print(f"[{event.cycle}] {event.text}")
    elif isinstance(event, PhaseFinished) and event.phase in ("analyse", "plan"):
        made = {name: event.output[name] for name in ("critique", "accepted", "gain", "trend") if name in event.output}
        print("   ", made)


if __name__ == "__main__":
    result = Research(Strategist(), corpus=NOTES, limits={"hits": 1}).run_sync("What raises the tides?", on_event=tell)
    print(result.markdown, f"[{result.message}]", *result.report["sections"][0]["dropped"], sep="\n")
    print([(one["name"], round(one["covered"], 2)) for one in result.state["last_coverage_vector"]])
