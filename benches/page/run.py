"""How long the page of a run of 10,000 events takes to open in chromium: `python benches/page/run.py [TIMES]`.

Needs `pip install --group browser` and a chromium. The time runs from the address to the second picture that is drawn.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from loopwright import Agent, Budget, Monitor, replay, tool
from loopwright.models import Call, Response
from loopwright.page.site import page_of
from loopwright.testing import ScriptedModel
from playwright.sync_api import sync_playwright

DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


@tool(read_only=True)
def look(query: str) -> str:
    """Looks."""
    return f"what is known of {query}: " + "words and more words " * 8


def journal(path: Path, rounds: int, calls: int) -> None:
    """A run of so many rounds with so many calls each."""
    asked = [[Call("look", {"query": f"thing {at}.{each}"}) for each in range(calls)] for at in range(rounds)]
    model = ScriptedModel([*(Response("Looking.", each) for each in asked), "Done."], keep_requests=False)
    budget = Budget(rounds=9_000, tool_rounds=9_000, wall_time=3_000)
    agent = Agent(model, tools=[look], budget=budget, monitor=Monitor(stuck=None, momentum=None))
    agent.run_sync("Look at all.", journal=path)


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, rounds, calls in (("tall", 5_000, 1), ("wide", 1_000, 9)):
            path, page = Path(folder, f"{name}.jsonl"), Path(folder, f"{name}.html")
            journal(path, rounds, calls)
            begun = time.perf_counter()
            page.write_text(page_of(path), encoding="utf-8")
            made = time.perf_counter() - begun
            took = []
            for _ in range(times):
                tab = browser.new_page()
                begun = time.perf_counter()
                tab.goto(page.as_uri())
                tab.locator("details.row").first.wait_for()
                tab.evaluate(DRAWN)
                took.append(time.perf_counter() - begun)
                tab.close()
            size = page.stat().st_size / 1e6
            events = replay(path).events
            print(f"{name}: {events} events, {size:.1f} MB, made in {made:.1f} s; "
                  f"opened in {min(took):.2f} to {max(took):.2f} s")  # fmt: skip
        browser.close()


if __name__ == "__main__":
    main()
