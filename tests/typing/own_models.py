"""Models of one's own and doubles, as type checkers see them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from loopwright import Agent
from loopwright.models import Call, Request, Responds, Response, Streams
from loopwright.testing import ScriptedModel, WireServer, call, calls, no_real_requests


class Plain:
    def respond(self, request: Request) -> Response:
        return Response(request.last_text)


class Later:
    async def respond(self, request: Request) -> str:
        return request.last_text


class Pieces:
    def stream(self, request: Request) -> Iterator[str | Call]:
        yield from ("One ", "moment. ", Call("stock", {"part": request.last_text}))


class PiecesLater:
    async def stream(self, request: Request) -> AsyncIterator[str | Response]:
        yield request.last_text
        yield Response(output_tokens=1)


responds: list[Responds] = [Plain(), Later(), ScriptedModel(["x"])]
streams: list[Streams] = [Pieces(), PiecesLater(), ScriptedModel(["x"])]
model = ScriptedModel([call("stock", part="bolts"), calls(call("a"), Call("b")), [Call("c")], "done"], piece=4)
again: ScriptedModel = ScriptedModel.from_journal("run.jsonl")
server = WireServer([call("a"), Call("b"), [Call("c")], "done"])

with no_real_requests():
    result = Agent(model).run_sync("x")
