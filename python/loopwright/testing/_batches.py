"""Batches of a double: files and batches as OpenAI has them, batches as Anthropic has them.

Requests of a batch are answered by the script when the batch is made; who looks at it learns of that later.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal

from loopwright._dataclasses import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Batch", "BatchDesk", "Batches"]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_ID = re.compile(r".*/(batches|files)/([^/]+)(/content|/results|/cancel)?\Z")

Way = Literal["expired", "canceled", "lost", "invalid"]
"""How a request of a batch ends without an answer: `lost` has no line among the results, and `invalid` keeps the whole
batch from being begun, as OpenAI does it."""


@dataclass(frozen=True)
class Batches:
    """How a `WireServer` treats batches: `polls` looks find one in progress, and requests end as `ends` says, by their
    numbers over all batches, from 0. Those that it does not name are answered by the script, faults among them.
    """

    polls: int = 1
    ends: Mapping[int, Way] = field(default_factory=dict)


@dataclass
class Batch:
    """A batch that a `WireServer` was given."""

    id: str
    names: list[str]
    """The names of its requests, their `custom_id`."""
    results: list[tuple[str, int, Any]] = field(default_factory=list, repr=False)
    polls: int = 0
    """How often somebody looked at it."""
    cancelled: bool = False
    ends: dict[str, Way] = field(default_factory=dict)

    def status(self, polls: int) -> str:
        """Its status, as OpenAI names it."""
        ends = self.ends.values()
        if "invalid" in ends:
            return "failed"
        if self.cancelled or "canceled" in ends:
            return "cancelled"
        if self.polls <= polls:
            return "in_progress"
        return "expired" if "expired" in ends else "completed"


def _refused(message: str, status: int = 400) -> tuple[int, str]:
    error = {"type": "invalid_request_error", "message": message}
    return status, json.dumps({"type": "error", "error": error})


class BatchDesk:
    """The batches of one server."""

    def __init__(self, rules: Batches, answer: Callable[[str, str], tuple[int, str]]) -> None:
        self.rules = rules
        self.made: list[Batch] = []
        self._answer = answer
        self._files: dict[str, str] = {}
        self._count = 0

    def answered(self, path: str, body: str) -> tuple[int, str] | None:
        """The status and the body for a request about batches; `None` if it is about something else."""
        if path.endswith("/files"):
            return self._upload(body)
        if path.endswith("/messages/batches"):
            asked = [(each["custom_id"], "/v1/messages", each["params"]) for each in json.loads(body)["requests"]]
            return self._make("msgbatch_", asked)
        if path.endswith("/batches"):
            return self._begin(json.loads(body))
        found = _ID.match(path)
        if found is None:
            return None
        kind, name, rest = found.groups()
        if kind == "files":
            return (200, self._files[name]) if name in self._files else _refused(f"no such file: {name}", 404)
        batch = next((each for each in self.made if each.id == name), None)
        if batch is None:
            return _refused(f"no such batch: {name}", 404)
        if rest == "/results":
            return 200, "".join(json.dumps(line) + "\n" for line in self._of_anthropic(batch))
        if rest == "/cancel":
            batch.cancelled = True
        else:
            batch.polls += 1
        return 200, json.dumps(self._shown(batch))

    def _upload(self, body: str) -> tuple[int, str]:
        mark = body.partition("\r\n")[0]
        parts = [part.partition("\r\n\r\n") for part in body.split(mark)]
        found = {
            match[1]: text.removesuffix("\r\n")
            for head, _, text in parts
            if (match := re.search(r'; name="(\w+)"', head))
        }
        if found.get("purpose") != "batch" or not found.get("file"):
            return _refused("a file of requests has the purpose batch")
        name = f"file-{len(self._files) + 1}"
        self._files[name] = found["file"]
        return 200, json.dumps({"id": name, "object": "file", "purpose": "batch", "bytes": len(found["file"])})

    def _begin(self, asked: dict[str, Any]) -> tuple[int, str]:
        lines = [json.loads(line) for line in self._files[asked["input_file_id"]].splitlines() if line]
        if any(line["url"] != asked["endpoint"] or line["method"] != "POST" for line in lines):
            return _refused("the requests are not for the endpoint of the batch")
        if len({line["body"].get("model") for line in lines}) != 1 or asked["completion_window"] != "24h":
            return _refused("a batch has one model, and a window of 24h")
        return self._make("batch_", [(line["custom_id"], line["url"], line["body"]) for line in lines])

    def _make(self, start: str, asked: list[tuple[str, str, Any]]) -> tuple[int, str]:
        names = [name for name, _, _ in asked]
        if len(set(names)) < len(names) or not all(map(_NAME.match, names)):
            return _refused("each custom_id is another, of 1 to 64 letters, digits, - and _")
        if any(body.get("stream") for _, _, body in asked):
            return _refused("a request of a batch can't stream")
        batch = Batch(f"{start}{len(self.made) + 1}", names)
        self.made.append(batch)
        for name in names:
            end = self.rules.ends.get(self._count)
            self._count += 1
            if end is not None:
                batch.ends[name] = end
        for name, path, body in asked if "invalid" not in batch.ends.values() else ():
            if name not in batch.ends:
                status, said = self._answer(path, json.dumps(body))
                batch.results.append((name, status, json.loads(said or "null")))
        # They come in another order than they went.
        batch.results.reverse()
        return 200, json.dumps(self._shown(batch))

    def _shown(self, batch: Batch) -> dict[str, Any]:
        status = batch.status(self.rules.polls)
        if batch.id.startswith("msgbatch_"):
            ended = status != "in_progress"
            shown = "ended" if ended else "in_progress"
            url = f"https://api.anthropic.com/v1/messages/batches/{batch.id}/results" if ended else None
            return {"id": batch.id, "type": "message_batch", "processing_status": shown, "results_url": url}
        found: dict[str, Any] = {"id": batch.id, "object": "batch", "status": status}
        if status == "failed":
            lines = [at for at, name in enumerate(batch.names, 1) if batch.ends.get(name) == "invalid"]
            errors = [{"code": "invalid_request", "message": "this line is none", "line": line} for line in lines]
            return {**found, "errors": {"object": "list", "data": errors}}
        if status in ("completed", "expired", "cancelled"):
            for file, good in (("output_file_id", True), ("error_file_id", False)):
                written = [json.dumps(line) for line in self._of_openai(batch, good=good)]
                found[file] = f"{batch.id}-{file}" if written else None
                self._files[f"{batch.id}-{file}"] = "\n".join(written)
        return found

    def _of_openai(self, batch: Batch, *, good: bool) -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = [
            {"custom_id": name, "response": {"status_code": status, "body": body}, "error": None}
            for name, status, body in batch.results
            if (status < 300) is good  # noqa: PLR2004 - HTTP
        ]
        late = {"code": "batch_expired", "message": "This request could not be executed before the window expired."}
        ends = [] if good else [name for name, end in batch.ends.items() if end == "expired"]
        return lines + [{"custom_id": name, "response": None, "error": late} for name in ends]

    def _of_anthropic(self, batch: Batch) -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = []
        for name, status, body in batch.results:
            good = status < 300  # noqa: PLR2004 - HTTP
            result = {"type": "succeeded", "message": body} if good else {"type": "errored", "error": body}
            lines.append({"custom_id": name, "result": result})
        ends = [(name, end) for name, end in batch.ends.items() if end in ("expired", "canceled")]
        return lines + [{"custom_id": name, "result": {"type": end}} for name, end in ends]
