"""The agent of `run` and `chat`: a model, the built-in tools in a folder, and a person on the terminal who is asked."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from loopwright.errors import UsageError

from .journals import journal_place
from .terminal_approval import TerminalApproval

if TYPE_CHECKING:
    import argparse

    from loopwright import Agent, Model, Monitor

    from .screen import Screen

__all__ = ["Task", "chosen_model", "located", "named_model", "task_agent"]

_SYSTEM = (
    "You work in the folder {folder} with the tools you are given; paths are relative to it. "
    "Look before you change something, and check what you did. "
    "When the task is done, say briefly what you did and what you found."
)
_SECONDS = 900.0


class Task(NamedTuple):
    """An agent, and what it was made of."""

    agent: Agent[Any, Any]
    settled: dict[str, Any]
    """Its options as they are settled, for the journal, which keeps how it was made."""
    approval: TerminalApproval
    """Who asks the person."""


def task_agent(arguments: argparse.Namespace, screen: Screen, monitor: Monitor | None = None) -> Task:
    """The agent of a task or a conversation."""
    from loopwright import Agent, Budget
    from loopwright.guard import Approvals, Guard, Policy
    from loopwright.tools import builtin_tools

    model = chosen_model(arguments)
    if not os.environ.get("LOOPWRIGHT_DEBUG"):
        # What a tool raised is told in words; its traceback would break into the screen.
        logging.getLogger("loopwright.tool").addHandler(logging.NullHandler())
    tools = builtin_tools(arguments.workspace)
    if arguments.no_shell:
        tools = [tool for tool in tools if tool.name != "shell"]
    folder = Path(arguments.workspace).absolute()
    policy = Policy.discover(folder)
    rules = [str(Path(path).absolute()) for path in arguments.policy or ()]
    for path in rules:
        policy = policy.with_file(path)
    rounds = arguments.max_rounds
    approval = TerminalApproval(screen, {tool.name: tool for tool in tools})
    agent: Agent[Any, Any] = Agent(
        located(model, arguments.base_url),
        tools=tools,
        instructions=arguments.system if arguments.system is not None else _SYSTEM.format(folder=folder),
        budget=Budget.by_progress(
            tool_rounds=rounds,
            rounds=None if rounds is None else rounds + 2,
            wall_time=_SECONDS if arguments.max_time is None else arguments.max_time,
        ),
        guard=Guard(
            approve=Approvals(approval),
            policy=policy,
            on_cautious=arguments.cautious or "intent",
            workspace=folder,
        ),
        journal=journal_place(arguments.journal, screen, wanted=not arguments.no_journal),
        memory=arguments.memory,
        monitor=monitor,
    )
    return Task(agent, {"model": model, "workspace": str(folder), "policy": rules}, approval)


def located(model: str, base_url: str | None) -> str | Model:
    """The model, at another server than its provider's own where one was named."""
    from loopwright import Model

    return model if base_url is None else Model(model, base_url=base_url)


def named_model(arguments: argparse.Namespace) -> str | None:
    """The model that was named, here or in the environment; `None` where none was."""
    return arguments.model or os.environ.get("LOOPWRIGHT_MODEL", "").strip() or None


def chosen_model(arguments: argparse.Namespace) -> str:
    """The model that was named; without one a `UsageError`."""
    model = named_model(arguments)
    if model is None:
        message = f"{arguments.command} needs a model"
        hint = (
            "give --model PROVIDER:NAME or set LOOPWRIGHT_MODEL: anthropic:NAME, openai:NAME and openrouter:NAME need "
            "their key in the environment, ollama:NAME a local server; loopwright ask needs no model"
        )
        raise UsageError(message, "no_model", hint)
    return model
