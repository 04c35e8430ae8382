"""`loopwright run`: a task, a model, and the built-in tools in a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright._run_options import varied
from loopwright.errors import UsageError

from .conduct import conduct
from .exit_codes import exit_code
from .journals import journal_place
from .past import labels
from .report import error_line, result_json, show_ending, show_words
from .screen import Screen, Style
from .show import Watcher
from .terminal_approval import TerminalApproval
from .text import clean

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from loopwright import Result

__all__ = ["run"]

_SYSTEM = (
    "You work in the folder {folder} with the tools you are given; paths are relative to it. "
    "Look before you change something, and check what you did. "
    "When the task is done, say briefly what you did and what you found."
)
_ROUNDS = 30
_SECONDS = 900.0


def run(arguments: argparse.Namespace, past: Callable[[Any, Any, Any], Result[Any]] | None = None) -> int:
    """Runs a task, or goes on with one that has a `past`; gives the exit code."""
    from loopwright import Agent, Budget, Model, builtin_tools
    from loopwright.guard import Approvals, Guard, Policy

    screen = Screen(quiet=arguments.quiet, bare=arguments.json)
    model = chosen_model(arguments)
    tools = builtin_tools(arguments.workspace)
    if arguments.no_shell:
        tools = [tool for tool in tools if tool.name != "shell"]
    folder = Path(arguments.workspace).absolute()
    policy = Policy.discover(folder)
    rules = [str(Path(path).absolute()) for path in arguments.policy or ()]
    for path in rules:
        policy = policy.with_file(path)
    rounds = _ROUNDS if arguments.max_rounds is None else arguments.max_rounds
    agent: Agent[Any, Any] = Agent(
        model if arguments.base_url is None else Model(model, base_url=arguments.base_url),
        tools=tools,
        instructions=arguments.system if arguments.system is not None else _SYSTEM.format(folder=folder),
        budget=Budget(
            tool_rounds=rounds,
            rounds=rounds + 2,
            wall_time=_SECONDS if arguments.max_time is None else arguments.max_time,
        ),
        guard=Guard(
            approve=Approvals(TerminalApproval(screen, {tool.name: tool for tool in tools})),
            policy=policy,
            on_cautious=arguments.cautious or "intent",
            workspace=folder,
        ),
        journal=journal_place(arguments.journal, screen, wanted=not arguments.no_journal),
        memory=arguments.memory,
    )
    about = labels(arguments, model=model, workspace=str(folder), policy=rules)
    agent = varied(agent, {"metadata": about})
    watcher = Watcher(screen)

    def go(stop: Any) -> Result[Any]:
        if past is not None:
            return past(agent, watcher, stop)
        return agent.run_sync(arguments.task, on_event=watcher, signal=stop)

    result, failure = conduct(screen, go)
    code = exit_code(result.stop_reason, failure)
    if arguments.json:
        screen.answer(result_json(result, failure))
    elif result.final is not None:
        if not watcher.has_shown(result.final):
            screen.gap()
            screen.answer(clean(result.final))
    elif result.best_draft and not watcher.has_shown(result.best_draft):
        screen.note("There is no final answer. What was said last:")
        screen.note(clean(result.best_draft))
    if failure is not None:
        screen.say(error_line(failure), style=Style.RED)
    show_words(result, screen, failure)
    show_ending(result, screen)
    return code


def chosen_model(arguments: argparse.Namespace) -> str:
    """The model that was named, here or in the environment."""
    model = arguments.model or os.environ.get("LOOPWRIGHT_MODEL", "").strip()
    if not model:
        message = "run needs a model"
        hint = (
            "give --model PROVIDER:NAME or set LOOPWRIGHT_MODEL: anthropic:NAME, openai:NAME and openrouter:NAME need "
            "their key in the environment, ollama:NAME a local server; loopwright ask needs no model"
        )
        raise UsageError(message, "no_model", hint)
    return str(model)
