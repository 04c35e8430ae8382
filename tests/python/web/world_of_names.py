"""A world of its own for names that change their minds: a network with one public address, and its own name server.

Run by `test_rebinding.py` inside new namespaces (`unshare --map-root-user --net --mount`). It serves a public site, a
private one on the same port, and a name server whose answers are scripted; it fetches, and prints what came of it.
"""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import json
import socket
import struct
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loopwright import LoopwrightError, Research
from loopwright.tools import ToolSet, builtin_tools
from loopwright.web import fetch_page_sync

PUBLIC, DEAF, PRIVATE, PORT = "93.184.216.34", "93.184.216.35", "127.0.0.1", 8080
TEXT = "The tide of the public site comes every 12 hours. The moon makes it. It is high at noon. It is low at six."
A, AAAA = 1, 28


def network() -> None:
    """The loopback interface with public addresses, and our name server."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for name, address in ((b"lo", PRIVATE), (b"lo:1", PUBLIC), (b"lo:2", DEAF)):
            packed = struct.pack("16sH2s4s8s", name, socket.AF_INET, b"", socket.inet_aton(address), b"")
            fcntl.ioctl(control, 0x8916, packed)  # SIOCSIFADDR
            fcntl.ioctl(control, 0x8914, struct.pack("16sH14s", name, 0x41, b""))  # SIOCSIFFLAGS: up and running
    libc = ctypes.CDLL(None, use_errno=True)
    with tempfile.NamedTemporaryFile("w", delete=False) as file:
        file.write(f"nameserver {PRIVATE}\noptions timeout:1 attempts:1\n")
    target = str(Path("/etc/resolv.conf").resolve()).encode()
    if libc.mount(file.name.encode(), target, None, 4096, None) != 0:  # MS_BIND
        raise OSError(ctypes.get_errno(), "resolv.conf can't be replaced")


class Names:
    """Answers each question about a name with what comes next for it; the last answer stays."""

    def __init__(self) -> None:
        self.answers: dict[str, list[list[str]]] = {}
        self.asked: list[str] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((PRIVATE, 53))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            question, client = self._socket.recvfrom(4096)
            labels, at = [], 12
            while question[at]:
                labels.append(question[at + 1 : at + 1 + question[at]].decode())
                at += 1 + question[at]
            name, (kind,) = ".".join(labels).lower(), struct.unpack_from(">H", question, at + 1)
            script = self.answers.get(name, [])
            found = script[0] if script else []
            if kind == A:
                self.asked.append(name)
                if len(script) > 1:
                    script.pop(0)
            records = b""
            for address in found:
                family = socket.AF_INET6 if ":" in address else socket.AF_INET
                if kind == (AAAA if ":" in address else A):
                    packed = socket.inet_pton(family, address)
                    records += b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(packed)) + packed
            count = records.count(b"\xc0\x0c")
            head = question[:2] + struct.pack(">HHHHH", 0x8580 if script else 0x8583, 1, count, 0, 0)
            self._socket.sendto(head + question[12 : at + 5] + records, client)


class Site:
    """A site at one address; says which one it is."""

    def __init__(self, address: str, text: str) -> None:
        self.asked: list[str] = []
        self.moved: dict[str, str] = {}
        self._text = text
        self._socket = socket.create_server((address, PORT))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            path = connection.recv(65536).decode().split(" ")[1]
            self.asked.append(path)
            status, extra = "200 OK", ""
            if path == "/robots.txt":
                status = "404 Not Found"
            elif path in self.moved:
                status, extra = "302 Found", f"Location: {self.moved[path]}\r\n"
            body = f"<html><title>A site</title><p>{self._text}</p></html>"
            head = (
                f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
            )
            connection.sendall(f"{head}{extra}\r\n{body}".encode())


def main() -> None:
    network()
    names, public, private = Names(), Site(PUBLIC, TEXT), Site(PRIVATE, "secret")
    told: dict[str, Any] = {}

    def case(name: str, answers: dict[str, list[list[str]]], do: Callable[[], Any]) -> None:
        names.answers, names.asked = answers, []
        public.asked.clear()
        private.asked.clear()
        try:
            came = do()
        except LoopwrightError as error:
            came = error.code
        told[name] = {"came": came, "lookups": len(names.asked), "public": public.asked[:], "private": private.asked[:]}

    def fetch(host: str = "a.example.org", path: str = "/x", **options: Any) -> Callable[[], str]:
        def do() -> str:
            options.setdefault("timeout", 10)
            return fetch_page_sync(f"http://{host}:{PORT}{path}", **options).text

        return do

    one = "a.example.org"
    case("public", {one: [[PUBLIC]]}, fetch())
    case("private", {one: [[PRIVATE]]}, fetch())
    case("private, allowed", {one: [[PRIVATE]]}, fetch(allow_private=True))
    link = "169.254.7.7"
    case("link-local, private allowed", {one: [[link]]}, fetch(allow_private=True, robots=False))
    case("link-local and private, allowed", {one: [[link, PRIVATE]]}, fetch(allow_private=True, robots=False))
    case("public, then private", {one: [[PUBLIC], [PRIVATE]]}, fetch(robots=False))
    case("private after robots.txt", {"b.example.org": [[PUBLIC], [PRIVATE]]}, fetch("b.example.org"))
    case("both at once", {one: [[PRIVATE, PUBLIC]]}, fetch(robots=False))
    case("both families", {one: [["::1", PUBLIC]]}, fetch(robots=False))
    case("mapped", {one: [["::ffff:127.0.0.1"]]}, fetch(robots=False))
    case("both, the public one deaf", {one: [[DEAF, PRIVATE]]}, fetch(robots=False))
    public.moved = {
        "/away": f"http://c.example.org:{PORT}/x",
        "/again": f"http://{one}:{PORT}/x",
        "/twice": f"http://{one}:{PORT}/away",
    }
    case("redirected to private", {one: [[PUBLIC]], "c.example.org": [[PRIVATE]]}, fetch(path="/away"))
    case("redirected to both", {one: [[PUBLIC]], "c.example.org": [[PRIVATE, PUBLIC]]}, fetch(path="/away"))
    case("rebound while redirected", {one: [[PUBLIC], [PRIVATE]]}, fetch(path="/again", robots=False))
    case(
        "rebound at the second redirection",
        {one: [[PUBLIC]], "c.example.org": [[PRIVATE]]},
        fetch(path="/twice", robots=False),
    )

    def tool(path: str) -> Callable[[], str]:
        def do() -> str:
            fetch = ToolSet(builtin_tools(tempfile.gettempdir()))["fetch"]
            outcome = asyncio.run(fetch.run({"url": f"http://{one}:{PORT}{path}"}))
            return outcome.failure["kind"] if outcome.failure else outcome.text

        return do

    case("tool", {one: [[PUBLIC]]}, tool("/x"))
    case("tool, redirected to private", {one: [[PUBLIC]], "c.example.org": [[PRIVATE]]}, tool("/away"))
    case("tool, private", {"a.example.org": [[PRIVATE]]}, tool("/x"))

    def research() -> list[str]:
        hits = [{"title": "A", "url": f"http://{host}.example.org:{PORT}/x", "snippet": "tide"} for host in ("a", "d")]
        result = Research(search=[lambda query: hits]).run_sync("How often does the tide come?")
        return [result.markdown, *result.state["problems"]]

    case("research", {one: [[PUBLIC]], "d.example.org": [[PUBLIC], [PRIVATE]]}, research)
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
