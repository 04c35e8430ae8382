"""Whether the official `mcp` package is there, and of a version that is known to work; and errors in its words.

The package is an extra: whoever uses no servers installs nothing for them, and importing `loopwright`
imports nothing of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopwright._extras import need
from loopwright.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["McpError", "check_installed", "failure_of", "leaves"]

_CLOSED = -32000
_WRONG_VERSION = -32022
_NO_METHOD = -32601
_TIMED_OUT = -32001
_LONGEST = 500


class McpError(ToolError):
    """A server of tools failed, or the way to it. `code` says how: `refused`, `unreachable`, `closed`, `timeout`,
    `wrong_era`, `unauthorized`, `too_large`, `malformed`, `tool_changed`, `tool_gone`, `tool_failed`, `protocol`.
    """

    default_code = "mcp"


def check_installed() -> None:
    """Raises a `UsageError` that says what to install: `missing_extra`, or `wrong_version` of the other package."""
    need("mcp", "loopwright.mcp", extra="mcp", oldest="2.3", below="3")


def leaves(error: BaseException) -> Iterator[BaseException]:
    """What a group of errors is made of, however deep; and what they were raised from."""
    left, seen = [error], set[int]()
    while left and len(seen) < 100:  # noqa: PLR2004 - nobody reads more
        each = left.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        inner = getattr(each, "exceptions", None)
        if isinstance(inner, tuple):
            left[:0] = inner
        else:
            yield each
        if each.__cause__ is not None:
            left.append(each.__cause__)


def failure_of(error: BaseException, server: str, last_words: str = "") -> McpError:
    """What went wrong between a server and us, in our words: which server, what happened, what to do."""
    from mcp import MCPError
    from pydantic import ValidationError

    found = list(leaves(error))
    ours = next((each for each in found if isinstance(each, McpError)), None)
    if ours is not None:
        return ours
    said = next((each for each in found if isinstance(each, MCPError)), None)
    if said is not None:
        return _told(said, server, last_words)
    first = found[0] if found else error
    name, text = type(first).__name__, str(first)[:_LONGEST]
    behind = f"; the last it wrote: {last_words}" if last_words else ""
    if isinstance(first, ValidationError):
        message = f"the server {server!r} sent what the protocol does not know ({first.error_count()} faults)"
        return McpError(message, "malformed", "the server is at fault: tell whoever runs it")
    if isinstance(first, (FileNotFoundError, PermissionError)):
        message = f"the server {server!r} can't be started: {text}"
        return McpError(message, "unreachable", "check the command, and that it is installed")
    if isinstance(first, ConnectionRefusedError) or "Connect" in name:
        message = f"nobody answers for the server {server!r}: {text or name}"
        return McpError(message, "refused", "check the address, and that the server runs")
    if isinstance(first, TimeoutError) or "Timeout" in name:
        message = f"the server {server!r} did not answer in time{behind}"
        return McpError(message, "timeout", "ask for less, or give it more time")
    if any(word in name for word in ("Closed", "Broken", "EndOfStream", "Protocol", "Read", "Write", "Network")):
        message = f"the connection to the server {server!r} broke: {text or name}{behind}"
        return McpError(message, "closed", "the next call connects anew; find out whether this one took effect")
    return McpError(f"the server {server!r} failed: {name}: {text}{behind}", "protocol", "look into its log")


def _told(error: object, server: str, last_words: str) -> McpError:
    code, text = getattr(error, "code", 0), str(getattr(error, "message", ""))[:_LONGEST]
    behind = f"; the last it wrote: {last_words}" if last_words else ""
    if code == _CLOSED:
        message = f"the server {server!r} closed the connection: {text}{behind}"
        return McpError(message, "closed", "the next call connects anew; find out whether this one took effect")
    if code == _TIMED_OUT or "timed out" in text.lower():
        return McpError(f"the server {server!r} did not answer in time{behind}", "timeout", "ask for less at once")
    if code == _WRONG_VERSION:
        message = f"the server {server!r} speaks no version of the protocol that we do: {text}"
        return McpError(message, "wrong_era", "leave era= out, or update the server")
    if code == _NO_METHOD:
        message = f"the server {server!r} does not know the method: {text}"
        return McpError(message, "wrong_era", "leave era= out; or the server offers no tools")
    if "401" in text or "403" in text or "nauthorized" in text:
        message = f"the server {server!r} does not let us in: {text}"
        return McpError(message, "unauthorized", "give headers= with a token, or auth=")
    hint = 'give era="2025-11-25": the server asks back' if "back-channel" in text else "change what is asked for"
    return McpError(f"the server {server!r} says: {text} (code {code})", "protocol", hint)
