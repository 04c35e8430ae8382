"""A site on a real socket that does whatever a test wants."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

Serve = Callable[["Request"], None]


class Request:
    """A request as it came, and the socket to answer on."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        head = b""
        while b"\r\n\r\n" not in head and len(head) < 1 << 20:
            piece = connection.recv(65536)
            if not piece:
                break
            head += piece
        head, _, self.body = head.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.path, *_ = [*lines[0].split(" "), "", ""]
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        while len(self.body) < int(self.headers.get("content-length") or 0):
            self.body += connection.recv(65536)

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def answer(self, body: bytes | str = b"", status: str = "200 OK", **headers: str) -> None:
        body = body.encode() if isinstance(body, str) else body
        names = {"content_type": "text/html", "content_length": str(len(body)), "connection": "close", **headers}
        head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in names.items() if value is not None)
        self.send(f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body)


class Site:
    """Paths and what they do; requests are kept."""

    def __init__(self) -> None:
        self.paths: dict[str, Serve] = {"/robots.txt": lambda request: request.answer("", "404 Not Found")}
        self.requests: list[Request] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._stopped = False
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def on(self, path: str, serve: Serve | bytes | str, status: str = "200 OK", **headers: str) -> str:
        """Lets a path do something; gives its address."""
        if callable(serve):
            self.paths[path] = serve
        else:
            self.paths[path] = lambda request: request.answer(serve, status, **headers)
        return self.url + path

    def asked(self, path: str) -> int:
        return sum(request.path == path for request in self.requests)

    def _accept(self) -> None:
        while not self._stopped:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            request = Request(connection)
            self.requests.append(request)
            serve = self.paths.get(request.path) or self.paths.get(request.path.partition("?")[0])
            if serve is None:
                request.answer("no such page", "404 Not Found")
            else:
                serve(request)

    def stop(self) -> None:
        self._stopped = True
        # A thread in `accept` is not woken by closing.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
