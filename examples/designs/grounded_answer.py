"""Gather, act, verify: answers that their sources bear out, one that they do not hold, and one that never passes.

Quotes need no model; the last model is a script that will not stop guessing.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from loopwright import Grounded, Result
from loopwright.events import Draft, Event, PhaseFinished
from loopwright.messages import Message
from loopwright.testing import ScriptedModel

PAGES = {
    "net.md": "# Retries\n\nA failed request is tried again up to 3 times. The wait doubles from 200 milliseconds.\n",
    "ports.md": "# Ports\n\nThe service listens on port 8080. Metrics are on port 9090.\n",
}
HISTORY = [Message.user("Our service is called Heron."), Message.assistant("Noted: Heron.")]


def tell(event: Event) -> None:
    match event:
        case PhaseFinished(phase=phase, attempt=attempt, duration=seconds, output=output):
            print(f"  {phase} {attempt}, {seconds:.3f} s: {output}")
        case Draft(text=text, attempt=attempt, verified=verified):
            print(f"  draft {attempt}, verified {verified}: {text}")


def show(result: Result[str]) -> None:
    print(f"{result.final or '(' + str(result.best_draft) + ')'}")
    print(f"[{result.stop_reason} after {result.attempts} attempts: {result.message}]")
    for source in result.sources:
        print(f"  {source.kind} {source}: {source.text[:60]!r}")


with tempfile.TemporaryDirectory() as folder:
    pages = Path(folder, "pages")
    pages.mkdir()
    for name, text in PAGES.items():
        (pages / name).write_text(text, encoding="utf-8")
    docs = Grounded("offline:extractive", sources=[pages], journal=folder)
    show(docs.run_sync("How often is a failed request tried again?", on_event=tell))
    show(docs.run_sync("What is our service called?", history=HISTORY))
    silent = docs.run_sync("Which database does the service use?")
    show(silent)
    show(docs.resume_sync(str(silent.journal), answer="On which port are its metrics, then?"))
    guess = ScriptedModel(["It is port 8081. [ports.md:3]", "Port 8081, surely. [ports.md:3]", "8081! [ports.md:3]"])
    show(Grounded(guess, sources=[pages]).run_sync("On which port does the service listen?", on_event=tell))
    print(docs.stats)
