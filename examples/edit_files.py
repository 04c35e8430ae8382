"""An agent that mends a program: it reads, edits, and runs the tests. Somebody is asked about each command.

python examples/edit_files.py                 a script plays the model, and a rule the person; no key, no network
python examples/edit_files.py anthropic:claude-sonnet-4-5 ~/project "Make the tests pass."     you are asked
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from loopwright import Agent, Approval, Budget
from loopwright.events import ApprovalDecided, Event, TextDelta, ToolFinished, ToolStarted
from loopwright.guard import Guard
from loopwright.testing import ScriptedModel, call, text
from loopwright.tools import builtin_tools

PROGRAM = "def mean(numbers):\n    return sum(numbers) / len(numbers) + 1\n"
TESTS = "from stats import mean\n\nassert mean([1, 2, 3]) == 2, mean([1, 2, 3])\nprint('all is well')\n"
SCRIPT = [
    call("shell", command="python3 -B check.py"),
    call("read_file", path="stats.py"),
    call("edit_file", path="stats.py", old_text=" + 1\n", new_text="\n"),
    call("shell", command="python3 -B check.py"),
    call("shell", command="git push --force"),
    text("The mean was one too high; the tests pass now. I may not push."),
]


def rule(question: Approval) -> bool | str:
    """Stands for a person: tests may run, nothing else."""
    command = question.arguments["command"]
    return command == "python3 -B check.py" or "only the tests may run"


def person(question: Approval) -> bool | str:
    """Asks at the prompt. Silence, for a minute, is a no."""
    print(f"\n{question.name}: {question.arguments}\n  {question.risk}: {question.why}")
    answer = input("may it? [y, or why not] ")
    return answer == "y" or answer or "no"


def tell(event: Event) -> None:
    """What can be watched."""
    match event:
        case TextDelta():
            print(event.text, end="", flush=True)
        case ToolStarted():
            print(f"* {event.name} {event.arguments}")
        case ApprovalDecided(allowed=False):
            print(f"  refused: {event.reason}")
        case ToolFinished():
            print(f"  {event.excerpt.strip()[:100]}")
        case _:
            pass


def main() -> None:
    with tempfile.TemporaryDirectory() as made:
        folder, task = Path(made), "Make check.py pass, and push."
        (folder / "stats.py").write_text(PROGRAM, encoding="utf-8")
        (folder / "check.py").write_text(TESTS, encoding="utf-8")
        model: str | ScriptedModel = ScriptedModel(SCRIPT)
        if len(sys.argv) > 1:
            model = sys.argv[1]
            folder, task = (Path(sys.argv[2]).expanduser(), sys.argv[3]) if len(sys.argv) > 3 else (folder, task)
        agent = Agent(
            model,
            instructions="Mend the program. Run its tests before and after.",
            tools=builtin_tools(folder),
            guard=Guard(approve=person if len(sys.argv) > 1 else rule, workspace=folder),
            budget=Budget.by_progress(cost=1.00),
        )
        result = agent.run_sync(task, on_event=tell)
        print(f"\n[{result.stop_reason}: {result.rounds} rounds, {len(result.tool_calls)} calls]")


if __name__ == "__main__":
    main()
