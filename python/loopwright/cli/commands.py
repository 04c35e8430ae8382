"""The commands: where each lives, what it does, and an example of it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["COMMANDS", "GROUPS", "Command"]


class Command(NamedTuple):
    """A command of the command line."""

    home: str
    """The module that has it."""
    function: str
    """Its function there."""
    summary: str
    """What it does, in a few words."""
    example: str
    """What is typed."""


GROUPS: dict[str, dict[str, Command]] = {
    "Work": {
        "chat": Command(
            "chat",
            "chat",
            "talk with a model that works with tools, and go on another day",
            "loopwright chat --model anthropic:NAME",
        ),
        "run": Command(
            "run",
            "run",
            "do a task with a model and the built-in tools",
            'loopwright run "Find out why the tests fail" --model anthropic:NAME',
        ),
        "ask": Command(
            "ask",
            "ask",
            "answer a question from the files of a folder, with sources; needs no key",
            'loopwright ask "When does the harbour open?" --in notes',
        ),
        "research": Command(
            "research",
            "research",
            "research a question in cycles, and write a report with sources",
            'loopwright research "How do tides work?" --in notes --out tides.html',
        ),
    },
    "Look back, and go on": {
        "runs": Command(
            "runs",
            "runs",
            "list the runs of the project; start, answer and cancel those of a Postgres",
            "loopwright runs",
        ),
        "show": Command(
            "page",
            "show",
            "show what happened in a run; with --html, as a page to look around in",
            "loopwright show RUN --html run.html",
        ),
        "resume": Command("past", "resume", "go on with a run that broke off", "loopwright resume RUN"),
        "answer": Command(
            "past",
            "answer",
            "answer what a run asked or paused for, and go on with it",
            'loopwright answer RUN "the second one"',
        ),
        "fork": Command(
            "past",
            "fork",
            "start a run that begins as another one did",
            'loopwright fork RUN --at 12 --prompt "Try it without the cache"',
        ),
        "diff": Command("past", "diff", "show where two runs part", "loopwright diff RUN OTHER"),
        "replay": Command(
            "replay", "replay", "feed a journal to a new machine and compare", "loopwright replay RUN --trace"
        ),
        "eval": Command(
            "eval",
            "evaluate",
            "run an agent on a file of cases, or on recorded runs, and say which pass",
            "loopwright eval cases.yaml shop.py:agent",
        ),
        "memory": Command(
            "memory",
            "memory",
            "show what is remembered, why, and what work follows turns",
            'loopwright memory why "the harbour"',
        ),
        "audit": Command("memory", "audit", "show what happened, from the store", "loopwright audit --last 2h"),
        "forget": Command(
            "forget",
            "forget",
            "delete the runs and memories of a user, so that no byte is left",
            "loopwright forget --user sam --dry-run",
        ),
    },
    "Set up": {
        "doctor": Command(
            "doctor",
            "doctor",
            "show what this machine has: keys, versions, the fence around commands",
            "loopwright doctor --model anthropic:NAME",
        ),
        "models": Command(
            "models", "models", "show what is known of models: windows, prices, keys", "loopwright models anthropic"
        ),
        "worker": Command(
            "worker",
            "worker",
            "carry out the runs that are queued in a Postgres",
            "loopwright worker shop.py:agent --journal postgresql://db/runs",
        ),
        "mcp": Command(
            "mcp",
            "mcp",
            "offer an agent, its tools and more to other programs, by MCP",
            "loopwright mcp serve app.py:agent",
        ),
        "serve": Command(
            "serve",
            "serve",
            "offer a model to clients of OpenAI and Anthropic, in any language",
            "loopwright serve anthropic:NAME --fallback openai:NAME",
        ),
        "help": Command("overview", "topic", "explain a command, exit codes, or files", "loopwright help exit-codes"),
    },
}
"""The commands in the order in which people need them."""

COMMANDS: dict[str, Command] = {name: each for group in GROUPS.values() for name, each in group.items()}
"""All of them, by name."""
