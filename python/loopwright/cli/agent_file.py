"""The agent that `FILE:NAME` or `MODULE:NAME` names."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright.errors import UsageError

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["load_agent", "load_module", "load_value"]


def load_agent(where: str) -> Any:
    """The agent. Raises a `UsageError` that says what is not there, or what was raised."""
    from loopwright.agent import Agent

    found = load_value(where)
    if not isinstance(found, Agent):
        message = f"{where!r} is a {type(found).__name__}, no Agent"
        raise UsageError(message, "invalid_agent", "name a variable that holds an Agent")
    return found


def load_value(where: str) -> Any:
    """What the variable holds. Raises a `UsageError`, as `load_agent` does."""
    place, name = _parts(where)
    try:
        return getattr(load_module(where), name)
    except AttributeError:
        raise UsageError(f"there is no {name!r} in {place!r}", "invalid_agent", "name a variable of it") from None


def load_module(where: str) -> ModuleType:
    """The module of the agent, loaded once. Raises a `UsageError`, as `load_agent` does."""
    place, _ = _parts(where)
    path = Path(place)
    if path.suffix == ".py" and not path.is_file():
        raise UsageError(f"there is no file {place!r}", "invalid_agent", "name the file that holds the agent")
    try:
        return _from_file(path) if path.suffix == ".py" else _by_name(place)
    except (Exception, SystemExit) as error:
        if isinstance(error, UsageError) and error.code == "invalid_agent":
            raise
        last = next((each for each in reversed(traceback.extract_tb(error.__traceback__)) if each.filename), None)
        line = f", line {last.lineno} of {Path(last.filename).name}" if last is not None else ""
        message = f"{place!r} can't be loaded: {type(error).__name__}: {error}{line}"
        raise UsageError(message, "invalid_agent", "mend it; python shows the traceback") from error


def _parts(where: str) -> tuple[str, str]:
    place, _, name = where.rpartition(":")
    if not place or not name:
        raise UsageError(f"{where!r} names no agent", "invalid_agent", "write FILE:NAME, such as shop.py:agent")
    return place, name


def _by_name(place: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        raise UsageError(f"there is no module {place!r}: {error}", "invalid_agent", "name a file or module") from None


def _from_file(path: Path) -> ModuleType:
    known = sys.modules.get(path.stem)
    if known is not None and getattr(known, "__file__", None) == str(path.resolve()):
        return known
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    assert spec is not None, "it is a file of Python"  # noqa: S101 - a fault of ours
    assert spec.loader is not None, "it is a file of Python"  # noqa: S101 - a fault of ours
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(path.stem, None)
        raise
    return module
