"""The packages that run evaluations: whether they are there, and of a version that is known to work."""

from __future__ import annotations

import sys

from loopwright._extras import need
from loopwright.errors import UsageError

__all__ = ["need_inspect", "need_pydantic_evals"]

_PYTHON = (3, 11)


def need_pydantic_evals(room: str = "loopwright.evals.task") -> None:
    """Raises a `UsageError` (`missing_extra`, `wrong_version`) where `pydantic-evals` can't be used."""
    _need("pydantic-evals", room, "evals", "2", "3")


def need_inspect(room: str = "loopwright.evals.solver") -> None:
    """Raises a `UsageError` (`missing_extra`, `wrong_version`) where `inspect-ai` can't be used."""
    _need("inspect-ai", room, "inspect", "0.3.240", "0.4")


def _need(package: str, room: str, extra: str, oldest: str, below: str) -> None:
    if sys.version_info < _PYTHON:
        least = ".".join(map(str, _PYTHON))
        found = ".".join(map(str, sys.version_info[:2]))
        message = f"{room} needs Python {least}, as {package} does; this is {found}"
        raise UsageError(message, "wrong_version", f"run it with Python {least} or newer")
    need(package, room, extra=extra, oldest=oldest, below=below)
