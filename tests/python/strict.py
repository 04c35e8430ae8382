"""Providers that refuse what their documentation says they refuse, over a real socket, before a wire server answers.

The rules are those of `loopwright.testing`; a test may give one of its own.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from loopwright.testing._strict import WIRES, Refused, mistral, shape
from typing_extensions import Self

Rule = Callable[[dict[str, Any]], "str | None"]


class Strict:
    """A provider in front of a wire server; a context manager."""

    def __init__(self, server: Any, rule: Rule, *, words_alone: bool = False, names_parameter: bool = False) -> None:
        """A server that says in words alone what it refuses, or one whose words are the parameter's name."""
        self.refusals: list[str] = []
        target = urlsplit(server.url)
        refusals = self.refusals

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["content-length"]))
                try:
                    rule(json.loads(raw))
                except Refused as refused:
                    refusals.append(str(refused))
                    told = self.error(refused)
                    if words_alone:
                        told = {"error": {"message": str(refused), "type": "invalid_request_error"}}
                    elif names_parameter:
                        told["error"] |= {"param": str(refused), "code": "unsupported_parameter"}
                    self.give(400, "application/json", json.dumps(told).encode())
                    return
                onward = http.client.HTTPConnection(target.hostname or "", target.port)
                headers = {"content-type": "application/json", "authorization": "Bearer k"}
                # Whoever asked may have gone.
                with contextlib.closing(onward), contextlib.suppress(ConnectionError):
                    onward.request("POST", self.path, raw, headers)
                    answer = onward.getresponse()
                    self.give(answer.status, answer.headers["content-type"], answer.read())

            def error(self, refused: Refused) -> dict[str, Any]:
                wire = next((wire for end, wire in WIRES.items() if self.path.partition("?")[0].endswith(end)), None)
                return shape("mistral" if rule is mistral else "any", wire, refused)

            def give(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
