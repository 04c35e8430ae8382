"""`loopwright doctor`: what this machine and this build have, and what of it is off."""

from __future__ import annotations

import json
import platform
from typing import TYPE_CHECKING, Any

from .exit_codes import OK
from .screen import Screen, Style
from .text import one_line

if TYPE_CHECKING:
    import argparse

__all__ = ["doctor"]

_COLUMN = 10


def doctor(arguments: argparse.Namespace) -> int:
    """Says what is there; gives the exit code."""
    found = _found(arguments.workspace)
    if arguments.commands is not None:
        found["commands"] = _records(arguments.commands)
    screen = Screen(bare=arguments.json)
    if arguments.json:
        screen.answer(json.dumps(found))
        return OK
    fence, build = found["fence"], found["build"]
    landlock = "none" if fence["landlock"] is None else f"version {fence['landlock']}"
    lines = [
        ("loopwright", f"{build['version']}, built as {build['profile']} by {build['compiler']}"),
        ("python", found["python"]),
        ("system", found["system"]),
        ("fence", _fence(fence)),
        ("", f"Landlock: {landlock}; filter of system calls: {'yes' if fence['seccomp'] else 'no'}"),
        *(("", f"left open: {gap}") for gap in fence["gaps"]),
    ]
    if (records := found.get("commands")) is not None:
        programs = ", ".join(records["programs"]) or "none"
        lines.append(("commands", f"{records['file']}: all examples hold, of {programs}"))
        lines += [("", f"in place of what is known of {program}") for program in records["replaced"]]
    for name, text in lines:
        line = f"{name:{_COLUMN}}  {one_line(text)}"
        screen.answer(line, style=Style.RED if name == "fence" and not fence["on"] else None)
    return OK


def _found(workspace: str) -> dict[str, Any]:
    from loopwright._core import build_info, fence_support
    from loopwright.guard import Policy

    landlock, seccomp, missing, gaps = fence_support()
    policy = Policy.discover(workspace).sandbox
    built = build_info()
    return {
        "build": {name: getattr(built, name) for name in ("version", "profile", "counts", "compiler", "commit")},
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "fence": {
            "on": missing is None and policy is not False,
            "missing": missing,
            "policy": policy,
            "landlock": landlock,
            "seccomp": seccomp,
            "gaps": gaps,
        },
    }


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
