"""Cassettes: exchanges with a real model, written down once and played from then on by a server on this machine.

Requests go over a socket to that server in both cases. While it records, it hands each on to the provider and keeps
what came back; keys and headers stay out of the file.
"""

from __future__ import annotations

import base64
import json
import os
import threading
from functools import partial
from http.client import HTTPConnection, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from loopwright._dataclasses import replace
from loopwright.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest
    from typing_extensions import Self

    from loopwright import Model

__all__ = ["Cassette", "cassette_of", "changes"]

_FORMAT = 1
_CHANGES = 12
_LONG = 60
_PATIENCE = 300.0
_HOMES = {
    "anthropic": "https://api.anthropic.com",
    "deepseek": "https://api.deepseek.com",
    "gemini": "https://generativelanguage.googleapis.com",
    "groq": "https://api.groq.com/openai/v1",
    "mistral": "https://api.mistral.ai",
    "ollama": "http://localhost:11434",
    "openai": "https://api.openai.com",
    "openrouter": "https://openrouter.ai/api/v1",
}
"""Where requests go on to, of providers whose address nobody has to say."""
_NONE = object()
_LEFT_OUT = ("host", "connection", "content-length", "accept-encoding", "transfer-encoding", "proxy-connection")


class Cassette:
    """Gives models that are asked through it: `cassette.model("openai:gpt-5")`.

    `path` is its file, `recording` whether the real model is asked, `ignore` the members of requests that may differ
    (`cassette.ignore.add("metadata")`), `played` how many of its exchanges were used.
    """

    def __init__(self, path: Path, *, recording: bool) -> None:
        self.path = path
        self.recording = recording
        self.ignore: set[str] = set()
        self.played = 0
        self._exchanges: list[dict[str, Any]] = []
        self._homes: dict[str, str] = {}
        self._problems: list[str] = []
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None
        if not recording:
            self._exchanges = _read(path)

    def model(self, name: str | Model, *, base_url: str | None = None, api_key: Any = None, **options: Any) -> Model:
        """A `Model` whose answers are recorded or played, by its name or as it is asked elsewhere. `base_url` is where
        it really lives, if that is not its provider's own address; the key comes from the environment, and only while
        it records.
        """
        from loopwright import Model

        real: Callable[..., Model] = partial(Model, name)  # type: ignore[arg-type]
        if isinstance(name, Model):
            real, base_url, api_key = partial(replace, name), base_url or name.base_url, api_key or name.api_key
            name = name.name  # type: ignore[assignment]
        if not isinstance(name, str):
            message = f"a cassette holds answers of providers, not those of {type(name).__name__}"
            raise UsageError(message, "unknown_model", "give provider:model")
        provider = name.partition(":")[0]
        home = base_url or _HOMES.get(provider)
        if home is None:
            message = f"a cassette does not know where {provider!r} lives"
            raise UsageError(message, "unknown_provider", "give base_url, the address that requests go on to")
        there = urlsplit(home)
        place = f"{there.scheme}://{there.netloc}"
        with self._lock:
            at = next((at for at, known in self._homes.items() if known == place), f"/{len(self._homes)}")
            self._homes[at] = place
        key = api_key if self.recording else "a-cassette-needs-no-key"
        # The usual path of the wire is filled in for an address without one, which that of this server is not.
        path = there.path.rstrip("/") or _usual_path(provider)
        return real(base_url=f"{self.url}{at}{path}", api_key=key, **options)

    @property
    def url(self) -> str:
        """The address of its server."""
        if self._server is None:
            raise UsageError("the cassette is closed", "not_started", "use it within its test")
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._server = server = _Server(self)
        threading.Thread(target=server.serve_forever, args=(0.02,), name="loopwright cassette", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def close(self, *, passed: bool) -> None:
        """Writes what was recorded, or fails where what was asked is not what was recorded."""
        if self._problems:
            _fail("\n".join(self._problems))
        if not passed:
            return
        if self.recording:
            if self._exchanges:
                self._write()
        elif self.played < len(self._exchanges):
            left = len(self._exchanges) - self.played
            _fail(f"{left} of {len(self._exchanges)} exchanges of {self.path} were not asked for; {_AGAIN}")

    def _write(self) -> None:
        written = json.dumps(
            {"loopwright_cassette": _FORMAT, "exchanges": self._exchanges}, indent=1, ensure_ascii=False
        )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}.new")
        fresh.write_text(f"{written}\n", encoding="utf-8")
        fresh.replace(self.path)

    # ---- one request, in a thread of the server ----

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, str, bytes]:
        """The status, the type and the body of the answer to a request."""
        at, _, rest = path[1:].partition("/")
        home, asked = self._homes.get(f"/{at}"), {"method": method, "path": f"/{rest}", "body": _told(body)}
        if home is None:
            return _refused(f"nobody lives at {path}")
        if not self.recording:
            return self._play(asked)
        try:
            status, kind, given = _real(home, f"/{rest}", method, headers, body)
        except OSError as error:
            problem = f"{self.path} is to be recorded, and {home} could not be asked: {error}"
            with self._lock:
                # Each attempt of a run fails alike.
                if problem not in self._problems:
                    self._problems.append(problem)
            return _refused(problem, 502)
        secrets = [part for name, value in headers.items() if _may_be_secret(name) for part in value.split()]
        with self._lock:
            answer = {"status": status, "content_type": kind, **_kept(given)}
            self._exchanges.append(_without(secrets, {"request": asked, "response": answer}))
        return status, kind, given

    def _play(self, asked: dict[str, Any]) -> tuple[int, str, bytes]:
        with self._lock:
            at = self.played
            if at >= len(self._exchanges):
                problem = (
                    f"request {at + 1} is one more than {self.path} holds: {asked['method']} {asked['path']}; {_AGAIN}"
                )
                self._problems.append(problem)
                return _refused(problem)
            self.played += 1
            exchange = self._exchanges[at]
        apart = changes(exchange["request"], _without([], asked), self.ignore)
        if apart:
            problem = "\n".join([f"request {at + 1} is not the one of {self.path}:", *apart, _AGAIN])
            with self._lock:
                self._problems.append(problem)
            return _refused(problem)
        response = exchange["response"]
        packed = response.get("base64")
        given = base64.b64decode(packed) if packed is not None else response["body"].encode("utf-8", "surrogatepass")
        return response["status"], response["content_type"], given


_AGAIN = "if that is meant, record it again: pytest --loopwright-record"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, cassette: Cassette) -> None:
        self.cassette = cassette
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, *_: Any) -> None:
        """A client that has gone away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    # An answer goes out in one piece, not head and body one behind the other.
    wbufsize = -1

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        status, kind, given = self.server.cassette.answer(self.command, self.path, dict(self.headers.items()), body)
        self.send_response_only(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(given)))
        self.end_headers()
        self.wfile.write(given)
        self.wfile.flush()

    do_GET = do_POST  # noqa: N815 - as the base class calls it

    def log_message(self, *_: Any) -> None:
        """Nobody reads along."""


def cassette_of(request: pytest.FixtureRequest) -> Cassette:
    """The cassette of a test, which plays or records."""
    config, node = request.config, request.node
    said = config.getini("loopwright_cassettes")
    folder = config.rootpath / said if said else Path(request.path).parent / "cassettes"
    kept = node.nodeid.partition("::")[2].replace("::", ".")
    name = "".join(letter if letter.isalnum() or letter in "._-[]" else "_" for letter in kept)
    path = folder / f"{Path(request.path).stem}.{name}.json"
    recording = bool(config.getoption("--loopwright-record"))
    if not recording and not path.exists():
        if os.environ.get("CI", "").lower() not in ("", "0", "false"):
            _fail(f"there is no cassette {path}, and CI records none: run pytest on your machine, and commit the file")
        recording = True
    return Cassette(path, recording=recording)


def changes(
    recorded: dict[str, Any], asked: dict[str, Any], ignore: set[str] | frozenset[str] = frozenset()
) -> list[str]:
    """What changed of a request, member by member: `body.messages[1].content: 'a' became 'b'`."""
    found = list(_differences("", recorded, asked, ignore))
    return [*found[:_CHANGES], *([f"... and {len(found) - _CHANGES} more"] if len(found) > _CHANGES else [])]


def _differences(place: str, old: Any, new: Any, ignore: set[str] | frozenset[str]) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        keys = [key for key in dict.fromkeys((*old, *new)) if key not in ignore]
        pairs = [(f"{place}.{key}" if place else key, old.get(key, _NONE), new.get(key, _NONE)) for key in keys]
    elif isinstance(old, list) and isinstance(new, list):
        both = zip_longest(old, new, fillvalue=_NONE)
        pairs = [(f"{place}[{at}]", before, now) for at, (before, now) in enumerate(both)]
    else:
        if old != new or type(old) is not type(new):
            yield f"  {place}: {_short(old)} became {_short(new)}"
        return
    for where, before, now in pairs:
        if now is _NONE:
            yield f"  {where}: {_short(before)} is gone"
        elif before is _NONE:
            yield f"  {where}: {_short(now)} is new"
        else:
            yield from _differences(where, before, now, ignore)


def _short(value: Any) -> str:
    said = json.dumps(value, ensure_ascii=False)
    return said if len(said) <= _LONG else f"{said[: _LONG - 1]}…"


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["loopwright_cassette"] != _FORMAT:
            message = f"{path} is a cassette of format {found['loopwright_cassette']}, this version reads {_FORMAT}"
            raise UsageError(message, "invalid_cassette", "record it again: pytest --loopwright-record")
        exchanges: list[dict[str, Any]] = found["exchanges"]
        for each in exchanges:
            _ = each["request"]["path"], each["response"]["status"], each["response"]["content_type"]
    except (ValueError, KeyError, TypeError) as error:
        message = f"{path} is no cassette: {type(error).__name__}: {error}"
        raise UsageError(message, "invalid_cassette", "record it again: pytest --loopwright-record") from error
    return exchanges


def _real(home: str, path: str, method: str, headers: dict[str, str], body: bytes) -> tuple[int, str, bytes]:
    """Asks the provider."""
    place = urlsplit(home)
    connection = (HTTPSConnection if place.scheme == "https" else HTTPConnection)(place.netloc, timeout=_PATIENCE)
    try:
        sent = {name: value for name, value in headers.items() if name.lower() not in _LEFT_OUT}
        connection.request(method, path, body, sent)
        answer = connection.getresponse()
        return answer.status, answer.getheader("content-type") or "application/json", answer.read()
    finally:
        connection.close()


def _told(body: bytes) -> Any:
    """The body of a request: JSON where it is some."""
    try:
        return json.loads(body) if body else None
    except ValueError:
        return body.decode("utf-8", "replace")


def _kept(given: bytes) -> dict[str, str]:
    """The body of an answer as a file holds it."""
    try:
        return {"body": given.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(given).decode("ascii")}


def _may_be_secret(name: str) -> bool:
    return "key" in name.lower() or "auth" in name.lower() or "token" in name.lower()


def _without(secrets: list[str], value: Any) -> Any:
    """A value of JSON without secrets: those that headers held, and what looks like one."""
    from loopwright.guard import redact

    if isinstance(value, str):
        for secret in secrets:
            if len(secret) >= 8:  # noqa: PLR2004 - shorter ones are words
                value = value.replace(secret, "***")
        return redact(value)
    if isinstance(value, dict):
        return {key: value if key == "base64" else _without(secrets, value) for key, value in value.items()}
    if isinstance(value, list):
        return [_without(secrets, each) for each in value]
    return value


def _refused(why: str, status: int = 400) -> tuple[int, str, bytes]:
    said = {"type": "error", "error": {"type": "invalid_request_error", "code": status, "message": why}}
    return status, "application/json", json.dumps(said).encode()


def _usual_path(provider: str) -> str:
    return {"anthropic": "", "gemini": "/v1beta"}.get(provider, "/v1")


def _fail(why: str) -> NoReturn:
    import pytest

    pytest.fail(why, pytrace=False)
