"""Servers of tools that speak the Model Context Protocol: theirs for our agents, ours for other programs.

    from loopwright import Agent, mcp

    agent = Agent("openai:gpt-5", tools=[mcp.http("https://mcp.example.com/mcp"), mcp.stdio("uvx", "some-server")])

It needs the extra: `pip install 'loopwright[mcp]'`. Importing this imports nothing of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

from loopwright.errors import UsageError
from loopwright.tools import RiskLevel, Trust

from ._installed import McpError, check_installed
from ._server import McpServer

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from ._serve import AgentServer

__all__ = ["AgentServer", "Era", "McpError", "McpServer", "check_installed", "http", "stdio"]

Era = Literal["2025-11-25", "2026-07-28"]
"""Versions of the protocol: with a handshake and a session, and without."""

_LARGEST = 16 * 1024 * 1024
_STARTERS = frozenset({"bun", "bunx", "deno", "docker", "node", "npx", "pipx", "pnpm", "py", "uv", "uvx"})


def http(
    url: str,
    *,
    name: str | None = None,
    headers: Mapping[str, str] | Callable[[], Mapping[str, str]] | None = None,
    auth: Any = None,
    only: Sequence[str] | None = None,
    read_only: Sequence[str] = (),
    risk: RiskLevel = "cautious",
    trust: Trust = "untrusted",
    era: Era | None = None,
    timeout: float = 60.0,
    connect_timeout: float = 30.0,
    max_output: int | None = None,
    max_message: int = _LARGEST,
    required: bool = False,
) -> McpServer:
    """The server at an address, over streamable HTTP. Nothing is contacted before a run begins.

    ::

        github = mcp.http("https://mcp.example.com/mcp", name="gh", headers={"Authorization": f"Bearer {token}"})
        result = Agent("openai:gpt-5", tools=[github]).run_sync("Which issues are open?")

    Args:
        url: Its address: `http` or `https`.
        name: What it is called; its host otherwise.
        headers: Headers of each request, or a function that gives them before each.
        auth: How to authenticate: what the `mcp` package makes, such as `mcp.client.auth.OAuthClientProvider`.
        only: Names of tools that are offered, or patterns (`"get_*"`); all otherwise.
        read_only: Names or patterns of tools that you know to change nothing: they run without a word. What a server
            says of itself never makes a tool laxer.
        risk: The least risk of its tools.
        trust: Who can have written its results: "untrusted" where others than you can, which is where one starts.
        era: The version of the protocol; found out otherwise.
        timeout: Seconds for one call, a question to a person included.
        connect_timeout: Seconds to connect, and to list its tools.
        max_output: Characters of a result that the model gets to see.
        max_message: Bytes of one message: what is larger ends the connection.
        required: Whether a run fails before it begins where the server can't be reached. Otherwise it begins without
            its tools, and the model is told.

    Raises a `UsageError`: `missing_extra`, `wrong_version`, or `invalid_option`.
    """
    check_installed()
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        host = parts.hostname if parts.scheme in ("http", "https") else None
    except ValueError:
        host = None
    if host is None:
        raise _wrong("url", url, "an address that begins with https:// or http://")
    given = {} if headers is None else headers
    if not callable(given):
        from loopwright._options import names

        given = dict(names(given))

    def way(words: Any) -> Any:
        from ._web import web

        return web(url, given, auth, max_message, connect_timeout, words)

    rules = _rules(only, read_only, risk, trust, timeout, max_output)
    _check(era, connect_timeout, max_message)
    # What is before the @ may be a key.
    where = f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"
    return McpServer(
        _named(name, host), where, way, rules, era=era, connect_timeout=connect_timeout, required=bool(required)
    )


def stdio(
    command: str,
    *arguments: str,
    name: str | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    only: Sequence[str] | None = None,
    read_only: Sequence[str] = (),
    risk: RiskLevel = "cautious",
    trust: Trust = "untrusted",
    era: Era | None = None,
    timeout: float = 60.0,
    connect_timeout: float = 30.0,
    max_output: int | None = None,
    max_message: int = _LARGEST,
    required: bool = False,
) -> McpServer:
    """The server that a program is, over its standard streams. It is started when a run begins, and ended with us.

    ::

        files = mcp.stdio("uvx", "mcp-server-files", "/srv/data", read_only=["read_*", "list_*"])
        result = Agent("openai:gpt-5", tools=[files]).run_sync("What is in there?")

    Args:
        command: The program.
        arguments: Its arguments. No shell reads them.
        name: What it is called; by the program otherwise.
        env: Environment variables for it. Beside them it sees `PATH`, `HOME` and the like, and no keys of ours.
        cwd: The folder that it works in.
        only: As in `http`, and so are all further options.
        read_only: Tools that you know to change nothing.
        risk: The least risk of its tools.
        trust: Who can have written its results.
        era: The version of the protocol; found out otherwise.
        timeout: Seconds for one call.
        connect_timeout: Seconds to start, and to list its tools.
        max_output: Characters of a result that the model gets to see.
        max_message: Bytes of one message.
        required: Whether a run fails before it begins where the server can't be started.

    Raises a `UsageError`: `missing_extra`, `wrong_version`, or `invalid_option`.
    """
    check_installed()
    import os

    line = [command, *arguments]
    if not command or not all(isinstance(each, str) and "\0" not in each for each in line):
        raise _wrong("command", line, "a program and its arguments, each a text")
    if env is not None and not (isinstance(env, Mapping) and all(isinstance(each, str) for each in env.values())):
        raise _wrong("env", type(env).__name__, "a dict of text to text")
    folder = None if cwd is None else os.fspath(cwd)
    variables = None if env is None else dict(env)

    def way(words: Any) -> Any:
        from ._pipes import pipes

        return pipes(line, variables, folder, max_message, words)

    rules = _rules(only, read_only, risk, trust, timeout, max_output)
    _check(era, connect_timeout, max_message)
    return McpServer(
        _named(name, _program(line)),
        command,
        way,
        rules,
        era=era,
        connect_timeout=connect_timeout,
        required=bool(required),
    )


def _program(line: Sequence[str]) -> str:
    """What a command runs: `some-server` of `uvx some-server`, `server` of `python server.py`."""
    from pathlib import PurePath

    stem = PurePath(line[0]).stem
    if stem in _STARTERS or stem.startswith("python"):
        further = [each for each in line[1:] if not each.startswith("-") and each not in ("run", "exec", "x")]
        return PurePath(further[0]).stem if further else stem
    return stem


def _named(name: str | None, usual: str) -> str:
    from loopwright.tools._tool import is_valid_name, suggest_name

    if name is None:
        return suggest_name(usual)
    if not isinstance(name, str) or not is_valid_name(name):
        raise _wrong("name", name, f"1 to 64 letters, digits, '_' and '-', such as {suggest_name(str(name))!r}")
    return name


def _rules(
    only: Sequence[str] | None,
    read_only: Sequence[str],
    risk: RiskLevel,
    trust: Trust,
    timeout: float,
    max_output: int | None,
) -> Any:
    from loopwright._options import texts

    from ._definitions import Rules

    if risk not in get_args(RiskLevel):
        raise _wrong("risk", risk, f"one of {', '.join(get_args(RiskLevel))}")
    if trust not in get_args(Trust):
        raise _wrong("trust", trust, f"one of {', '.join(get_args(Trust))}")
    _positive("timeout", timeout)
    if max_output is not None:
        _positive("max_output", max_output)
    chosen = None if only is None else texts("only", only)
    return Rules(chosen, texts("read_only", read_only), risk, trust, timeout, max_output)


def _check(era: str | None, connect_timeout: float, max_message: int) -> None:
    if era is not None and era not in get_args(Era):
        raise _wrong("era", era, f"one of {', '.join(get_args(Era))}, or leave it out")
    _positive("connect_timeout", connect_timeout)
    _positive("max_message", max_message)


def _positive(option: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not (0 < value < math.inf):
        raise _wrong(option, value, "a finite number above 0")


def _wrong(option: str, value: object, wanted: str) -> UsageError:
    return UsageError(f"{option} can't be {value!r:.100}", "invalid_option", f"give {wanted}")


if not TYPE_CHECKING:
    # Seen by a type checker, it would make each misspelt name an `Any`.

    def __getattr__(name: str) -> Any:
        if name == "AgentServer":
            check_installed()
            from ._serve import AgentServer

            return AgentServer
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
