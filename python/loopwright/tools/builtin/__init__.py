"""Tools that come with the package: files, search, a shell, web pages.

All are bound to a workspace: a folder that files are read from and written to, and that commands run in. Paths that
lead out of it, by `..` or by a symbolic link, are refused. What the shell starts is held by a fence of the kernel where
there is one (`docs/guard.md`); its risk is "confirm" all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from loopwright.guard import Sandbox
    from loopwright.tools import Tool

__all__ = ["builtin_tools"]


def builtin_tools(
    workspace: str | Path,
    *,
    allow_outside: bool = False,
    allow_private: bool = False,
    env: Mapping[str, str] | None = None,
    sandbox: bool | Sandbox = True,
) -> list[Tool[..., Any, Any]]:
    """The built-in tools for `workspace`, a folder that exists.

    `allow_outside` lifts the fence around it. `allow_private` lets `fetch` ask hosts of this machine and of private
    networks. `env` is what commands find as their environment, all of it; without it they get this process's own, less
    the variables that the guard takes for secrets: passwords, tokens, keys, addresses with a password in them.
    `sandbox` is the fence around commands, where their agent's `Guard` says nothing of it: `False` for none, or a
    `loopwright.guard.Sandbox` with what they may do beyond it.
    """
    from loopwright.guard._guard import checked

    from ._edit import Writing
    from ._fetch import Fetching
    from ._read import Reading
    from ._search import Searching
    from ._shell import Shell
    from ._workspace import Workspace

    place = Workspace(workspace, allow_outside=allow_outside)
    reading, searching, writing, shell = (
        Reading(place),
        Searching(place),
        Writing(place),
        Shell(place, env, checked(sandbox, "sandbox")),
    )
    tools: list[Tool[..., Any, Any]] = [
        reading.read_file,
        reading.list_folder,
        searching.glob_files,
        searching.search_files,
        writing.write_file,
        writing.edit_file,
        shell.shell,
        Fetching(allow_private=allow_private).fetch,
    ]
    for tool in tools[:-1]:
        # For whoever judges calls: where relative paths start, and whether the arguments say all.
        tool.workspace = place.root  # type: ignore[attr-defined]
        # What they do is judged by the paths and the lines that they are given.
        tool.effects = frozenset()
    tools[-2].by_arguments = True  # type: ignore[attr-defined]
    # Where the variables of its lines lead, for whoever is asked.
    tools[-2].environment = shell.environment  # type: ignore[attr-defined]
    return tools
