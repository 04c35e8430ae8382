"""Requests over the network, which tests may forbid: to models, for vectors, to search engines and for pages.

Each of them is begun by the package in one of few places, and all of these ask here first.
"""

from __future__ import annotations

import os
import threading

from .errors import UsageError

__all__ = ["Forbidden", "RealRequest", "check_host", "check_url", "forbidden"]

_VARIABLE = "LOOPWRIGHT_NO_REQUESTS"
_NO = ("", "0", "false", "no", "off")

_lock = threading.Lock()
_blocks: list[Forbidden] = []


class RealRequest(UsageError):
    """A request would have left this machine where that is forbidden."""

    default_code = "real_request"


class Forbidden:
    """A block of code in which requests are forbidden, and those that were tried in it, in any thread."""

    __slots__ = ("refused",)

    def __init__(self) -> None:
        self.refused: list[RealRequest] = []

    def begin(self) -> None:
        with _lock:
            _blocks.append(self)

    def end(self) -> None:
        with _lock:
            _blocks.remove(self)


def forbidden() -> bool:
    """Whether requests are forbidden now."""
    return bool(_blocks) or os.environ.get(_VARIABLE, "").strip().lower() not in _NO


def check_host(host: str, what: str) -> None:
    """Raises `RealRequest` where requests are forbidden and `host` (`name:port`) is not this machine."""
    if not (_blocks or _VARIABLE in os.environ) or not forbidden() or _is_here(host):
        return
    message = f"{what} would have sent a real request to {host}"
    where = "loopwright.testing.no_real_requests()" if _blocks else f"{_VARIABLE} of the environment"
    hint = (
        f"{where} forbids that: answer with `agent.override(model=ScriptedModel([...]))`, or with a WireServer "
        "of loopwright.testing as base_url"
    )
    error = RealRequest(message, hint=hint)
    with _lock:
        for block in _blocks:
            block.refused.append(error)
    raise error


def check_url(url: str, what: str) -> None:
    """The same for an address."""
    if _blocks or _VARIABLE in os.environ:
        from urllib.parse import urlsplit

        try:
            host = urlsplit(url).netloc.rpartition("@")[2]
        except ValueError:
            # It is said elsewhere what is wrong with it.
            return
        if host:
            check_host(host, what)


def _is_here(host: str) -> bool:
    """Whether a host is this machine itself, by its address or by a name that always is."""
    from ipaddress import ip_address

    name = host[1:].partition("]")[0] if host.startswith("[") else host.rpartition(":")[0] or host
    name = name.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
