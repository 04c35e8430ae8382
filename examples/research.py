"""A research over a folder, without key and network: rules plan it, and the report is made of quotes.

With a model the same class plans, writes and reviews: `python examples/research.py anthropic:claude-sonnet-4-5`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from loopwright import Research
from loopwright.events import PhaseFinished, Status

NOTES = {
    "moon.md": """# The moon

The moon causes most of the tide. Its pull raises the sea on the near side and on the far side. High water comes every
12 hours and 25 minutes on most coasts.
""",
    "sun.md": """# The sun

The sun raises tides of 46 percent of the height that the moon raises. At new moon both pull together, and spring tides
are highest.
""",
    "husum.md": """# Husum

The tidal range in the harbour of Husum is 3.5 metres on average. Storms from the west push the water higher.
""",
    "almanac.md": """# Almanac

The tidal range in the harbour of Husum is 4.1 metres on average. The almanac was printed in 1911.
""",
}


def tell(event: object) -> None:
    if isinstance(event, Status):
        print(f"[{event.cycle}] {event.text}")
    elif isinstance(event, PhaseFinished) and event.phase == "analyse":
        print(f"    kept {event.output['accepted']} passages, gain {event.output['gain']}")


def main() -> None:
    model = sys.argv[1] if len(sys.argv) > 1 else "offline:extractive"
    with tempfile.TemporaryDirectory() as folder:
        for name, text in NOTES.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        result = Research(model, corpus=folder).run_sync(
            "What causes the tides, and what is the tidal range in Husum?", on_event=tell
        )
    print(result.markdown)
    print(f"[{result.model}: {result.stop_reason}, {result.searches} searches, {result.state['cycles']} cycles]")


if __name__ == "__main__":
    main()
