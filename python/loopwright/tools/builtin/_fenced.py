"""The fence around commands: made for each, told of where there is none, and what it refused put into words."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from loopwright import _core
from loopwright.tools._context import sandbox_of
from loopwright.tools._errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loopwright.guard import Sandbox
    from loopwright.tools._context import RunContext

    from ._workspace import Workspace

__all__ = ["Fencing"]

_OPENED = ("network", "sockets")
"""What is let through the fence by a word, not by a path."""
_WORDS = {
    "read": "reading {path} (private)",
    "write": "writing {path} (outside the workspace)",
    "network": "the network",
    "sockets": "a socket of another program",
    "signal": "a signal to a process that the command did not start",
    "privileges": "the rights of another user",
}
_MOST_ASKED = 20


class Fencing:
    """The fence around the commands of one shell, and what was let through it in this session."""

    def __init__(self, workspace: Workspace, sandbox: bool | Sandbox) -> None:  # noqa: FBT001 - as the option is
        self._workspace = workspace
        self._sandbox = sandbox
        self._read: list[str] = []
        self._write: list[str] = []
        self._opened: set[str] = set()
        self._temporary: str | None = None
        self._told = False

    def around(
        self, command: str, env: Mapping[str, str], asked: Sequence[str], context: RunContext[Any] | None
    ) -> tuple[_core.Fence | None, Mapping[str, str]]:
        """The fence for a command that may run, and its variables. Without a fence where it is switched off, where
        there is none, and for programs that can't work behind one.
        """
        chosen = sandbox_of(context) if context is not None else None
        sandbox = self._sandbox if chosen is None else chosen
        if sandbox is False:
            return None, env
        _, _, missing, _ = _core.fence_support()
        if missing is not None:
            self._tell_none(missing, context)
            return None, env
        self._let_through(asked)
        env = {**env, "TMPDIR": self._own_folder()}
        beyond: Any = None if sandbox is True else sandbox
        home = os.path.expanduser("~")  # noqa: PTH111 - pathlib is not loaded otherwise
        fence = _core.Fence(
            self._workspace.root,
            env["TMPDIR"],
            home=home if home.startswith("/") else None,
            env=env,
            read=[*self._read, *(beyond.read if beyond else ())],
            write=[*self._write, *(beyond.write if beyond else ())],
            network="network" in self._opened or bool(beyond and beyond.network),
            sockets="sockets" in self._opened or bool(beyond and beyond.sockets),
        )
        caches, unfenced = fence.grant(command)
        for folder in caches:
            with suppress(OSError):
                os.makedirs(folder, exist_ok=True)  # noqa: PTH103
        return (None if unfenced else fence), env

    def refused(self, fence: _core.Fence, output: str, context: RunContext[Any] | None) -> str:
        """What the fence seems to have refused, for the model; the person hears it too. Empty if there is nothing."""
        found = fence.refusals(output)
        if not found:
            return ""
        what = "; ".join(_WORDS[kind].format(path=path) for kind, path in found)
        said = f"the fence seems to have refused: {what}"
        if context is not None:
            context.emit(said)
        asked = (str(path) if path is not None else kind for kind, path in found if kind in _ASKABLE)
        # Below /proc each process finds another: there is nothing there to let one of them through to.
        wanted = [each for each in asked if not each.startswith("/proc/")]
        if not wanted:
            return f"[{said}]"
        import json

        return (
            f"[{said}. Where the task needs that, call again with beyond_fence={json.dumps(wanted)}: a person is asked]"
        )

    def _let_through(self, asked: Sequence[str]) -> None:
        """Takes down, for this session, what a person has let through the fence."""
        if len(asked) > _MOST_ASKED:
            message = f"beyond_fence names {len(asked)} things"
            raise ToolError(message, code="invalid_arguments", hint=f"at most {_MOST_ASKED}")
        for each in asked:
            if each in _OPENED:
                self._opened.add(each)
                continue
            path = os.path.join(self._workspace.root, os.path.expanduser(each))  # noqa: PTH111, PTH118
            self._write.append(_there(os.path.realpath(path), each))

    def _own_folder(self) -> str:
        """The folder for temporary files of commands; it goes with the shell."""
        if self._temporary is None or not os.path.isdir(self._temporary):  # noqa: PTH112
            import shutil
            import tempfile
            import weakref

            self._temporary = os.path.realpath(tempfile.mkdtemp(prefix="loopwright-"))
            weakref.finalize(self, shutil.rmtree, self._temporary, ignore_errors=True)
        return self._temporary

    def _tell_none(self, missing: str, context: RunContext[Any] | None) -> None:
        """Says once that there is no fence: to the log of this process, and to whoever follows a run."""
        _log_none(missing)
        if not self._told and context is not None:
            self._told = True
            context.emit(f"commands run without a fence: {missing}")


_ASKABLE = ("read", "write", *_OPENED)


@cache
def _log_none(missing: str) -> None:
    message = "commands run without a fence: %s; Guard(sandbox=False) says that this is meant"
    logging.getLogger("loopwright.tool").warning(message, missing)


def _there(path: str, asked: str) -> str:
    """A path that can be let through: it is there, or the folder is in which it would be made."""
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111
    while not os.path.exists(path):  # noqa: PTH110
        path = os.path.dirname(path)  # noqa: PTH120
    if path in ("/", "/proc") or path.startswith("/proc/") or f"{home}/".startswith(f"{path}/"):
        message = f"{asked!r} can't be let through the fence alone: that would be all of {path}"
        raise ToolError(message, code="too_wide", hint="work in the workspace, or name a folder that is there")
    return path
