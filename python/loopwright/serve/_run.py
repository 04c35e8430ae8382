"""The application in a server: uvicorn, at one address."""

from __future__ import annotations

import ipaddress
import socket
import sys
from typing import TYPE_CHECKING, Any

from loopwright._extras import need
from loopwright.errors import UsageError

from ._app import app

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from loopwright._run_options import ModelLike

__all__ = ["serve"]


def serve(
    model: ModelLike | Mapping[str, ModelLike],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    key: str | None = None,
    on_ready: Callable[[str], None] | None = None,
    **options: Any,
) -> None:
    """Serves a model, or several by name, until it is interrupted.

    Args:
        model: What `app` takes.
        host: The address to listen at. Others than those of this machine need a `key`: whoever reaches the port asks
            at your cost.
        port: The port; 0 for one that is free.
        key: The key that clients must have.
        on_ready: Is told the address, once clients may connect.
        options: Further options of `app`.
    """
    need("uvicorn", "loopwright.serve", extra="serve", oldest="0.30", below="1")
    import uvicorn

    if key is None and not _is_of_this_machine(host):
        message = f"at {host} others could ask at your cost, and no key is wanted of them"
        raise UsageError(message, "no_key", "give a key that clients must have, or leave the host at 127.0.0.1")
    made = app(model, key=key, **options)
    config = uvicorn.Config(
        made,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    listening = _listening(host, port)
    with listening:
        shown = f"[{host}]" if ":" in host else host
        if on_ready is not None:
            on_ready(f"http://{shown}:{listening.getsockname()[1]}")
        uvicorn.Server(config).run(sockets=[listening])


def _is_of_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens, so that clients may connect before the server runs."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        found = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise UsageError(
            f"nobody can listen at {host}: {error}", "no_address", "give an address of this machine"
        ) from None
    try:
        if sys.platform != "win32":
            # Elsewhere it would let two servers have one port.
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(2048)
    except OSError as error:
        found.close()
        message = f"nobody can listen at {host}:{port}: {error.strerror or error}"
        raise UsageError(message, "no_address", "give another port") from None
    return found
