"""`loopwright doctor`: what this machine, this project and this build have, and what of it is off."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .exit_codes import OK
from .screen import Screen, Style
from .task_agent import named_model
from .text import clean, plural, wrap

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

__all__ = ["doctor"]

_COLUMN = 10
_NESTED = " "
"""The name of lines that are rows of their own."""
_PARTS = {
    "pydantic": (None, "types of answers and tools"),
    "rich": ("terminal", "Markdown on terminals"),
    "mcp": ("mcp", "servers of tools"),
    "opentelemetry-sdk": ("otel", "traces"),
}
"""Packages of others: the extra that brings each, and what it is for."""


def doctor(arguments: argparse.Namespace) -> int:
    """Says what is there; gives the exit code."""
    found = _found(arguments.workspace)
    model = named_model(arguments)
    if model is not None:
        found["model"] = _model(model)
    if arguments.commands is not None:
        found["commands"] = _records(arguments.commands)
    screen = Screen(bare=arguments.json)
    if arguments.json:
        screen.answer(json.dumps(found))
        return OK
    for name, text in _lines(found):
        margin = _COLUMN + 2 + (_COLUMN if name == _NESTED else 0)
        line = f"{name.strip():{_COLUMN}}  {clean(text)}"
        style = Style.RED if name == "fence" and not found["fence"]["on"] else None
        screen.answer(wrap(line, screen.columns, margin=margin) if screen.out_is_live else line, style=style)
    return OK


def _lines(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    fence, build = found["fence"], found["build"]
    landlock = "none" if fence["landlock"] is None else f"version {fence['landlock']}"
    yield "loopwright", f"{build['version']}, built as {build['profile']} by {build['compiler']}"
    yield "python", found["python"]
    yield "system", found["system"]
    for name, (extra, use) in _PARTS.items():
        there = found["packages"][name]
        yield "" if name != "pydantic" else "packages", _package(name, there, extra, use)
    yield "fence", _fence(fence)
    yield "", f"Landlock: {landlock}; filter of system calls: {'yes' if fence['seccomp'] else 'no'}"
    for gap in fence["gaps"]:
        yield "", f"left open: {gap}"
    keys = found["keys"]
    yield "keys", f"there: {', '.join(keys['there']) or 'none'}"
    yield "", f"none needed: {', '.join(keys['none_needed'])}"
    yield "", f"not set: {', '.join(dict.fromkeys(keys['missing'].values())) or 'none'}"
    store = found["store"]
    runs = "not there yet" if store["runs"] is None else plural(store["runs"], "run")
    yield "journals", f"{store['path']}, {runs}"
    yield "policies", ", ".join(found["policies"]) or "none of the usual places has one"
    yield "prices", f"as of {found['prices_as_of']}"
    if (model := found.get("model")) is not None:
        yield "model", model["name"]
        for what, told in model["rows"]:
            yield _NESTED, f"{what:<{_COLUMN}}{told}"
    if (records := found.get("commands")) is not None:
        programs = ", ".join(records["programs"]) or "none"
        yield "commands", f"{records['file']}: all examples hold, of {programs}"
        for program in records["replaced"]:
            yield "", f"in place of what is known of {program}"


def _package(name: str, version: str | None, extra: str | None, use: str) -> str:
    """A package, and how to have it."""
    if version is not None:
        return f"{name} {version}: {use}"
    return f"no {name}: {use}" + (f" (pip install 'loopwright[{extra}]')" if extra else "")


def _found(workspace: str) -> dict[str, Any]:
    from loopwright import prices
    from loopwright._core import build_info, fence_support
    from loopwright.guard import Policy

    landlock, seccomp, missing, gaps = fence_support()
    found_policy = Policy.discover(workspace)
    policy = found_policy.sandbox
    built = build_info()
    return {
        "build": {name: getattr(built, name) for name in ("version", "profile", "counts", "compiler", "commit")},
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "packages": {name: _version(name) for name in _PARTS},
        "fence": {
            "on": missing is None and policy is not False,
            "missing": missing,
            "policy": policy,
            "landlock": landlock,
            "seccomp": seccomp,
            "gaps": gaps,
        },
        "keys": _keys(),
        "store": _store(),
        "policies": sorted({rule.file for rule in found_policy.rules if not rule.file.startswith("<")}),
        "prices_as_of": prices.as_of(),
    }


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _keys() -> dict[str, Any]:
    """Which providers can be asked, by name alone: no key is shown."""
    from .model_facts import provider_state, providers

    states = [provider_state(name) for name in providers()]
    ready = [state for state in states if state.missing is None]
    at_home = {state.name for state in ready if state.wire == "offline" or (state.host or "").startswith("localhost:")}
    return {
        "there": [state.name for state in ready if state.name not in at_home],
        "none_needed": [state.name for state in ready if state.name in at_home],
        "missing": {state.name: state.missing.removesuffix(" is not set") for state in states if state.missing},
    }


def _store() -> dict[str, Any]:
    from loopwright import Journal
    from loopwright._journal_paths import project_store

    path = project_store()
    return {"path": path, "runs": len(Journal(path).runs()) if Path(path).is_file() else None}


def _model(name: str) -> dict[str, Any]:
    from .model_facts import facts_of
    from .models import rows_of

    facts = facts_of(name)
    return {"name": name, "rows": rows_of(facts), "replaced": facts.replaced}


def _records(path: str) -> dict[str, Any]:
    from loopwright.guard import Commands

    commands = Commands.load(path)
    return {"file": path, "programs": commands.programs, "replaced": commands.replaced}


def _fence(fence: dict[str, Any]) -> str:
    if fence["missing"] is not None:
        return f"none: {fence['missing']}; commands run as you do"
    if fence["policy"] is False:
        return "off, by a policy (sandbox = false); commands run as you do"
    return "on: commands write in the workspace, read nothing private, and have no network unasked"
