"""Exchanges that a suite of others recorded with the real providers: read and written again without loss.

A request or a whole answer is decoded and encoded, and must be the JSON that it was; a stream must give one answer in
whatever pieces it comes, and that answer the same again. The recordings stand beside the project, in
`../shared/data/recorded`; where there are none there is nothing to judge.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from loopwright import LoopwrightError, wire
from outcome import Cell

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data" / "recorded"
WIRES = {
    "/messages": "anthropic",
    "/messages/count_tokens": "anthropic",
    "/chat/completions": "openai_chat",
    "/responses": "openai_responses",
}


def of_request(name: str, exchange: dict[str, Any]) -> list[str]:
    sent = exchange["request"]
    again = json.loads(wire.encode_request(name, wire.decode_request(name, sent)))
    return [] if again == sent else ["the request is another one"]


def of_stream(name: str, text: str) -> list[str]:
    data = text.encode()

    def read(pieces: Iterable[bytes]) -> wire.Response:
        decoder = wire.StreamDecoder(name)
        for piece in pieces:
            decoder.feed(piece)
        return decoder.finish()

    whole = read([data])
    same = read(data[at : at + 1] for at in range(len(data)))
    again = wire.decode_response(name, wire.encode_response(name, whole))
    wrong = [] if same.to_json() == whole.to_json() else ["byte by byte the answer is another one"]
    return wrong if again.to_json() == whole.to_json() else [*wrong, "written whole it is another one"]


def of_answer(name: str, exchange: dict[str, Any]) -> list[str]:
    found = exchange["response"]
    if exchange["status"] != 200:
        error = wire.decode_error(exchange["status"], json.dumps(found))
        words = found["error"]["message"]
        return [] if words in str(error) else [f"the refusal does not say {words!r:.80}"]
    if isinstance(found, str):
        return of_stream(name, found) if "data:" in found else []
    again = json.loads(wire.encode_response(name, wire.decode_response(name, found)))
    return [] if again == found else ["the answer is another one"]


def cells() -> Iterator[Cell]:
    for file in sorted(FOLDER.glob("*/*.json")):
        for at, exchange in enumerate(json.loads(file.read_text())):
            place = exchange["path"]
            name = next((wire for end, wire in WIRES.items() if place.endswith(end)), None)
            if name is None:
                continue
            wrong = []
            for look in (of_request,) if place.endswith("count_tokens") else (of_request, of_answer):
                try:
                    wrong += look(name, exchange)
                except (LoopwrightError, KeyError, ValueError) as error:
                    wrong.append(f"{type(error).__name__}: {error}")
            yield Cell("recorded", name, f"{file.stem} {at}", wrong)
