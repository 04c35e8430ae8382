"""`loopwright serve`: a model for clients of OpenAI and Anthropic."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from loopwright.errors import UsageError

if TYPE_CHECKING:
    import argparse

__all__ = ["serve"]


def serve(arguments: argparse.Namespace) -> int:
    """Serves until it is interrupted; gives the exit code."""
    from loopwright.serve import serve as served

    served(
        _model(arguments),
        host=arguments.host,
        port=arguments.port,
        key=_key(arguments.key_env),
        context=arguments.context,
        policy=arguments.policy,
        whole=arguments.whole,
        on_ready=lambda url: _tell(f"serving at {url} (OpenAI: {url}/v1, Anthropic: {url})\n"),
    )
    return 0


def _model(arguments: argparse.Namespace) -> Any:
    """The model that is named, or what a variable of a file holds."""
    from loopwright import Model

    name, key = arguments.model, _key(arguments.api_key_env)
    if not name.rpartition(":")[0].endswith(".py"):
        return Model(name, base_url=arguments.base_url, api_key=key, fallback=arguments.fallback)
    for option in ("base_url", "api_key_env", "fallback"):
        if getattr(arguments, option):
            shown = f"--{option.replace('_', '-')}"
            raise UsageError(f"{shown} is about a model by its name", "invalid_option", f"say it in {name}")
    from .agent_file import load_value

    return load_value(name)


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    found = os.environ.get(variable, "")
    if not found.strip():
        message = f"the environment has no {variable}"
        raise UsageError(message, "no_key", "set the variable to the key, or name another one")
    return found


def _tell(words: str) -> None:
    sys.stderr.write(words)
    sys.stderr.flush()
