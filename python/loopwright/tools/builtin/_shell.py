"""A shell command, run in the workspace with limits on time and output."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING, Annotated, Any

from loopwright.tools._context import RunContext  # noqa: TC001 - hints are read when the schema is made
from loopwright.tools._errors import ToolError
from loopwright.tools._tool import tool

from . import _process
from ._fenced import Fencing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from loopwright.guard import Sandbox

    from ._workspace import Workspace

__all__ = ["Shell", "without_secrets"]

_KEPT = 30_000
_MOST = 64 * 1024 * 1024
_LONGEST_COMMAND = 100_000
# Colours, cursor movements, window titles: a terminal's business, and a way to hide text from readers.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,1000}(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class Shell:
    """The shell of a workspace."""

    def __init__(
        self,
        workspace: Workspace,
        env: Mapping[str, str] | None = None,
        sandbox: bool | Sandbox = True,  # noqa: FBT001, FBT002 - as the option is
    ) -> None:
        self._workspace = workspace
        self._env = env
        self._fencing = Fencing(workspace, sandbox)

    def environment(self) -> dict[str, str]:
        """The variables that commands find."""
        env = without_secrets(os.environ) if self._env is None else dict(self._env)
        return {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", **env}

    @tool(risk="confirm", max_output=_KEPT + 2_000)
    async def shell(
        self,
        command: Annotated[str, "the command line, for bash or sh"],
        timeout_seconds: Annotated[float, "after this time it is ended with all that it started; at most 600"] = 120,
        beyond_fence: Annotated[
            list[str], 'what the fence refused before and this needs: paths, "network", "sockets"; a person is asked'
        ] = [],  # noqa: B006 - never changed
        context: RunContext[Any] | None = None,
    ) -> str:
        """Run a shell command in the workspace and give its output and exit code.

        There is no terminal and no input. Processes left in the background end with the command. A fence may stand
        around it: it writes in the workspace and in $TMPDIR, and has the network where its line plainly needs it.
        """
        if not command.strip() or "\0" in command or len(command) > _LONGEST_COMMAND:
            message = "there is no command" if not command.strip() else "the command is too long or holds a NUL"
            raise ToolError(message, code="invalid_command", hint="give one command line")
        limit = min(max(timeout_seconds, 0.1), 600.0)
        env = self.environment()
        fence, variables = self._fencing.around(command, env, beyond_fence, context)
        try:
            finished = await _process.run(
                [_shell_path(), "-c", command],
                cwd=self._workspace.root,
                env=variables,
                fence=fence,
                timeout=limit,
                keep=_KEPT,
                most=_MOST,
            )
        except OSError as error:
            message = f"the command could not start: {error.strerror or error}"
            raise ToolError(message, code="cannot_start", hint="try again, or with a shorter command") from error
        text = _text(finished)
        refused = self._fencing.refused(fence, text, context) if fence is not None else ""
        text = "\n".join(part for part in (text, refused) if part)
        if finished.stopped == "timeout":
            message = f"the command did not end within {limit:g} s and was ended with all it started\n{text}".rstrip()
            raise ToolError(message, code="timeout", hint="give it more time, or do less at once")
        if finished.stopped == "output":
            message = f"the command was ended after {finished.total:,} bytes of output\n{text[:4000]}".rstrip()
            raise ToolError(message, code="output_limit", hint="write to a file, or filter with head, tail or grep")
        return f"{text}\n[{_ending(finished.returncode)}]" if text else f"[{_ending(finished.returncode)}; no output]"


def without_secrets(env: Mapping[str, str]) -> dict[str, str]:
    """`env` less what a model must not get to see, as the guard judges names and values."""
    from loopwright._core import is_secret_variable

    return {name: value for name, value in env.items() if not is_secret_variable(name, value)}


def _shell_path() -> str:
    return next((path for path in ("/bin/bash", "/usr/bin/bash") if os.access(path, os.X_OK)), "/bin/sh")


def _text(finished: _process.Finished) -> str:
    if finished.left_out:
        gap = f"\n[… {finished.left_out:,} bytes left out …]\n"
        text = _decoded(finished.head) + gap + _decoded(finished.tail)
    else:
        text = _decoded(finished.head + finished.tail)
    return text.rstrip()


def _decoded(data: bytes) -> str:
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    return _CONTROLS.sub("", _ESCAPES.sub("", text)).replace("\r", "\n")


def _ending(code: int | None) -> str:
    if code is None:
        return "ended"
    if code < 0:
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"
    return f"exit code {code}"
