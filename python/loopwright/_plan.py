"""What an agent's runs have in common: the machine's configuration, the model, the tools, the person who is asked."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .models import Model
    from .tools import Tool

__all__ = ["Plan", "model_name", "new_run", "run_id"]


@dataclass
class Plan:
    """What a driver needs to carry commands out."""

    config: _core.MachineConfig
    endpoint: _core.Endpoint | None
    model: Model | None
    tools: Mapping[str, Tool[..., Any]]
    approve: Callable[[Any], Any] | None
    folders: tuple[str, ...] = ()
    """Where searches look for sources."""
    durable: bool = False
    around: tuple[str | None, str | None] = (None, None)
    """The home folder and the workspace, for those who look at calls."""

    @property
    def model_name(self) -> str:
        """How the model is shown."""
        return model_name(self.endpoint, self.model)


def model_name(endpoint: _core.Endpoint | None, model: Model | None) -> str:
    """How a model is shown; never holds a key."""
    if endpoint is None:
        return str(getattr(model, "name", None) or type(model).__name__)
    if endpoint.provider == "offline":
        return "offline-extractive (not an LLM)"
    return f"{endpoint.provider}:{endpoint.model}"


def run_id() -> str:
    """A name for a run that no other run has."""
    return secrets.token_hex(8)


def new_run(
    plan: Plan,
    name: str,
    journal: str | os.PathLike[str] | bool | None,  # noqa: FBT001 - a place, or `True` for memory
    attempt: int = 0,
) -> tuple[_core.Run, str | None]:
    """A run, and the path of its journal.

    `journal` is a file to make, a folder in which a file of the run's name is made, `True` to keep the lines in
    memory, or nothing. Where a run needs further attempts, their files are numbered.
    """
    if journal is None or journal is False:
        return _core.Run(name, plan.config), None
    if journal is True:
        return _core.Run(name, plan.config, keep=True), None
    path = os.fspath(journal)
    if not path.endswith(".jsonl"):
        path = f"{path}{os.sep}{name}.jsonl"
    elif attempt:
        path = f"{path.removesuffix('.jsonl')}-{attempt + 1}.jsonl"
    try:
        try:
            return _core.Run(name, plan.config, journal=path), path
        except FileNotFoundError:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            return _core.Run(name, plan.config, journal=path), path
    except OSError as error:
        message = f"the journal {path!r} can't be made: {error.strerror or error}"
        raise UsageError(message, "journal", "give a folder that can be written to, or a new file") from error
