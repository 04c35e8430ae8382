#!/usr/bin/env python3
"""What `loopwright serve` costs: CPU of its process for a request, and memory for a stream that is open.

    .venv/bin/python benches/serve/run.py          about a minute; the upstream is a double in this process

The server runs by itself, so that what is measured is all of it: HTTP on both sides, the run, its answer. Beside it
stands an application that answers the same bytes at once in the same server.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from loopwright.testing import WireServer, fault, text  # noqa: E402

REQUESTS, STREAMS, TURNS = 400, 200, 50
SERVED = """
import sys
from loopwright import Model
from loopwright.serve import serve
model = Model("openai-chat:test", base_url=sys.argv[1], api_key="k")
serve(model, port=0, on_ready=lambda url: print(url, flush=True))
"""
BARE = """
import socket, sys, uvicorn
async def app(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    body = b'{"choices": [{"message": {"content": "Hello there."}}]}'
    head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": body})
opened = socket.socket()
opened.bind(("127.0.0.1", 0))
opened.listen()
print(f"http://127.0.0.1:{opened.getsockname()[1]}", flush=True)
config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off")
uvicorn.Server(config).run(sockets=[opened])
"""


@contextlib.contextmanager
def server(program: str, *arguments: str) -> Iterator[tuple[int, str]]:
    """The number and the address of a server."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    command = [sys.executable, "-c", program, *arguments]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.pid, process.stdout.readline().strip()
        finally:
            process.terminate()


def spent(pid: int) -> float:
    """Seconds of CPU of a process, all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> int:
    """Bytes of memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def body(*, stream: bool, turns: int = 0) -> bytes:
    said = [{"role": "user", "content": "hi"}]
    for at in range(turns):
        said += [{"role": "assistant", "content": f"Words of answer {at}."}, {"role": "user", "content": f"And {at}?"}]
    return json.dumps({"model": "m", "messages": said, "stream": stream}).encode()


def cost(pid: int, url: str, sent: bytes, count: int = REQUESTS) -> float:
    """Milliseconds of CPU for a request, over one connection."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"))

    def ask() -> None:
        connection.request("POST", "/v1/chat/completions", sent, {"content-type": "application/json"})
        answer = connection.getresponse()
        assert (answer.status, bool(answer.read())) == (200, True)

    for _ in range(50):
        ask()
    before = spent(pid)
    for _ in range(count):
        ask()
    return (spent(pid) - before) / count * 1000


def held(pid: int, url: str) -> float:
    """Kilobytes for a stream that is open, with words of it at the client."""
    host, port = url.removeprefix("http://").split(":")
    sent = body(stream=True)
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(sent)}\r\n\r\n".encode()
    streams: list[socket.socket] = []

    def opened(count: int) -> None:
        new = [socket.create_connection((host, int(port))) for _ in range(count)]
        for each in new:
            each.sendall(head + sent)
        for each in new:
            while b"some" not in each.recv(65536):
                pass
        streams.extend(new)

    opened(20)
    before = resident(pid)
    opened(STREAMS)
    found = (resident(pid) - before) / STREAMS / 1024
    for each in streams:
        each.close()
    return found


def main() -> None:
    with server(BARE) as (pid, url):
        print(f"the bare server, a request:         {cost(pid, url, body(stream=False)):.2f} ms CPU")
    with WireServer([text("Hello there.")], repeat_last=True) as upstream, server(SERVED, upstream.url) as (pid, url):
        print(f"served, whole:                      {cost(pid, url, body(stream=False)):.2f} ms CPU")
        print(f"served, streamed:                   {cost(pid, url, body(stream=True)):.2f} ms CPU")
        long = body(stream=False, turns=TURNS)
        print(f"served, whole, {TURNS} turns before:      {cost(pid, url, long, 100):.2f} ms CPU")
    with WireServer([fault.stalls(after=3)], repeat_last=True) as upstream, server(SERVED, upstream.url) as (pid, url):
        print(f"an open stream:                     {held(pid, url):.0f} KB")


if __name__ == "__main__":
    main()
