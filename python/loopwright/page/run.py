"""A run as plain data for its page, read from the lines of its journal.

Rows stand in the order of time: each request to a model, and each phase, with all that was told until the next one of
its lane; a lane is the run itself or one of its sub-agents. Nothing is known here of the classes of events: what a
journal tells is taken as it stands, and what a newer version tells is shown with all its fields.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from loopwright import _core, prices
from loopwright._cache import entries
from loopwright._json import read
from loopwright.errors import LoopwrightError

from .pending import pending_of
from .words import arguments_of, counted, number

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RunReader"]

_SHIFT = 32
_MAIN = "run"
_TOLD = {
    # What it is about, how it is called, what it says, whether that is good or bad.
    "approval_asked": ("approval", "A person is asked", "{name}: {risk}", "warn"),
    "approval_requested": ("approval", "A person is asked", "{name}: {risk}", "warn"),
    "approval_decided": ("approval", "Decided", "{reason}", ""),
    "assessed": ("decision", "Decision", "{decision} by {rule}: {saw}", ""),
    "child_started": ("agent", "Handed to a sub-agent", "{child}: {task}", ""),
    "child_finished": ("agent", "A sub-agent is back", "{child}: {stop} after {requests} requests", ""),
    "compacted": ("context", "Context made smaller", "{before} tokens became {after}, budget {budget}", "warn"),
    "draft": ("answer", "Draft", "attempt {attempt}", ""),
    "goal_drifted": ("drift", "Goal", "{state}: {anchor:.2f} from “{goal}”", "warn"),
    "hook_answered": ("hook", "Hook", "{stage} {name}: {answer}", ""),
    "hook_failed": ("hook", "Hook failed", "{stage} {name}: {error}", "bad"),
    "intent_assessed": ("plan", "Plan", "{decision}, confidence {confidence:.2f}", ""),
    "memory_recalled": ("memory", "Recalled", "{hits} memories, {characters} characters", ""),
    "model_chosen": ("model", "Model", "{model} instead of {instead_of}: {reason}", ""),
    "paused": ("note", "Paused", "", "warn"),
    "phase_finished": ("phase", "Phase done", "{phase} {attempt}, {duration:.2f} s", ""),
    "reset": ("warning", "Answer void", "it comes again from its beginning", "warn"),
    "resumed": ("note", "Going on", "after {after:.1f} s", ""),
    "retry": ("warning", "Retry", "attempt {attempt} failed: {reason}; again in {delay:.2f} s", "warn"),
    "role_failed": ("warning", "Role failed", "{role} {model}: {reason}; next {next}", "bad"),
    "sanity_checked": ("critique", "Sanity", "by {by}, confidence {confidence:.2f}, progress {progress:.2f}", ""),
    "search_started": ("search", "Search", "{query}", ""),
    "search_completed": ("search", "Searched", "{query}", ""),
    "status": ("note", "Status", "{text}", ""),
    "summarized": ("context", "Summed up", "by {by}", ""),
    "supervised": ("critique", "Supervisor", "{name}: {reason}", ""),
    "tools_loaded": ("note", "Tools found", "{names}", ""),
    "warning": ("warning", "Warning", "{code}: {message}", "warn"),
}
_FIELD = re.compile(r"{(\w+)")
_SILENT = {"round_started", "round_finished", "tool_progress"}
_FATES = ("kept", "shortened", "referenced", "summarised", "dropped")
_FED = {"failed": "warning", "recalled": "memory", "interrupt": "warning", "found": "search", "fetched": "search"}
"""Events that tell what no command does."""


class RunReader:
    """Reads a journal. `data` is what the page shows."""

    def __init__(self, text: str) -> None:
        name, _, machine = _core.journal_head(text)
        replayed, _, _ = _core.replay(text, None)
        self.rows: list[dict[str, Any]] = []
        self.lanes: list[str] = [_MAIN]
        self._whole = replayed["events"]
        self._cache = _cached(text)
        self._machines: dict[int, int] = {0: 0}
        self._asked: dict[int, dict[str, Any]] = {}
        self._open: dict[int, dict[str, Any]] = {}
        self._calls: dict[tuple[int, str], dict[str, Any]] = {}
        self._native: dict[int, dict[str, Any]] = {}
        """The calls that the last answer of a lane made in its provider's own way."""
        self._approvals: dict[int, dict[str, Any]] = {}
        self._queries: dict[int, dict[str, Any]] = {}
        self._rounds: dict[int, dict[str, Any]] = {}
        self._count: dict[int, int] = {}
        self._announced = 0
        self._price = _price(machine)
        self.prompt = ""
        self.last = 0.0
        for event, commands in self._steps(text):
            self._fed(event)
            for command in commands:
                if isinstance(command, dict):
                    self._command(command, event["at"] / 1e6)
        self.data = self._data(name, replayed, text, machine)

    def _steps(self, text: str) -> Iterator[tuple[dict[str, Any], list[Any]]]:
        for seq, line in enumerate(text.split("\n")[1 : self._whole + 1], 1):
            found = read(line, f"line {seq + 1} of the journal")
            found = read(found["escaped"], f"line {seq + 1} of the journal") if "escaped" in found else found
            self.last = found["event"]["at"] / 1e6
            yield found["event"], found["commands"]

    def _data(self, name: str, replayed: dict[str, Any], text: str, machine: str) -> dict[str, Any]:
        outcome = replayed["outcome"] or {}
        spent = outcome.get("spent", {})
        usage = spent.get("usage", {})
        same = "damaged" if replayed["damage"] else "diverged" if replayed["divergence"] else "identical"
        pending = [] if outcome or same != "identical" else pending_of(text, replayed["events"], machine)
        waits = [each["said"] for each in pending]
        state = "waits for an answer" if pending else "broke off, or is under way"
        cost = spent.get("cost")
        figures = [
            ("ended", outcome["stop"]) if outcome else ("state", state),
            ("verified", _VERIFIED[outcome.get("verified")]),
            ("time", f"{self.last:.2f} s"),
            ("rounds", spent.get("iterations")),
            ("tokens in", usage.get("input")),
            ("from the cache", usage.get("cache_read")),
            ("tokens out", usage.get("output")),
            ("money", None if cost is None else number(float(cost))),
            ("calls", len(outcome["tool_calls"]) if outcome else None),
            ("models", ", ".join(dict.fromkeys(row["model"] for row in self.rows if "model" in row)) or None),
            ("replay", f"{same}, {counted(replayed['events'], 'event')}"),
        ]
        return {
            "run": name,
            "prompt": self.prompt,
            "good": outcome.get("final") is not None,
            "answer": outcome.get("final") or outcome.get("best_draft") or "",
            "message": outcome.get("message") or "\n".join(["It waits for:", *waits] if waits else []),
            "pending": pending,
            "figures": [
                (what, number(said) if isinstance(said, int) else said) for what, said in figures if said is not None
            ],
            "sources": [
                [f"{each['reference']}:{each['line']}", each["text"]] for each in outcome.get("sources", ())
            ],
            "last": self.last,
            "lanes": self.lanes,
            "rows": self.rows,
        }  # fmt: skip

    def _lane(self, path: str | None) -> int:
        path = path or _MAIN
        if path not in self.lanes:
            self.lanes.append(path)
        return self.lanes.index(path)

    def _row(self, lane: int, kind: str, title: str, at: float) -> dict[str, Any]:
        row: dict[str, Any] = {"lane": lane, "kind": kind, "title": title, "at": at, "took": 0.0, "parts": []}
        self.rows.append(row)
        self._open[lane] = row
        return row

    def _part(self, lane: int, at: float, kind: str, title: str, **more: Any) -> dict[str, Any]:
        row = self._open.get(lane) or self._row(lane, "start", "before the first request", at)
        part = {"kind": kind, "title": title, "at": at, **more}
        row["parts"].append(part)
        return part

    def _fed(self, event: dict[str, Any]) -> None:
        at, kind = event["at"] / 1e6, event["kind"]
        name, told = next(iter(kind.items())) if isinstance(kind, dict) else (kind, {})
        lane = self._machines.get(told.get("id", 0) >> _SHIFT, 0)
        if name == "start":
            texts = [block.get("text", "") for block in told["messages"][-1]["content"]]
            self.prompt = "\n".join(text for text in texts if text)
        elif name == "generated":
            self._answered(told, at)
        elif name == "executed":
            self._call(lane, told["result"]["id"], "", at)["result"] = _text_of(told["result"]["content"])
        elif name == "decided" and told["id"] in self._approvals:
            self._approvals[told["id"]]["fields"].append(("answered", told["decision"]))
        elif name == "hits":
            hits = told["hits"].get("Ok") or told["hits"]
            listed = [[str(hit.get("title")), str(hit.get("url"))] for hit in hits] if isinstance(hits, list) else []
            asked = str(self._queries.get(told["id"], {}).get("query", ""))
            fields = [] if listed else [("error", hits)]
            self._part(lane, at, "search", "Found", said=asked, pairs=listed, fields=fields)
        elif name in _FED:
            told = {key: value for key, value in told.items() if key != "id"}
            self._part(lane, at, _FED[name], name.capitalize(), said="", fields=list(told.items()))

    def _answered(self, told: dict[str, Any], at: float) -> None:
        row = self._asked.get(told["id"])
        if row is None:
            return
        response = told["response"]
        blocks, usage, stop = response["message"]["content"], response["usage"], response["stop"]
        row["took"] = at - row["at"]
        row["stop"] = stop if isinstance(stop, str) else next(iter(stop.values()))
        row["text"] = "\n".join(block["text"] for block in blocks if block["type"] == "text")
        row["thought"] = "\n".join(block.get("text", "") for block in blocks if block["type"] == "thinking")
        row["tokens"] = [usage.get(each, 0) for each in ("input", "output", "cache_read", "cache_write")]
        price = self._price or prices.of(row["model"])
        if price is not None:
            names = ("input", "output", "cache_read", "cache_write", "cache_write_hour")
            row["money"] = number(price.cost(**{each: usage.get(each, 0) for each in names}))
        entry = self._cache.get(told["id"])
        if entry is not None:
            row["cache"] = f"{entry.why}{f' at {entry.changed}' if entry.changed else ''}"
            row["again"] = entry.again_tokens
        self._native[row["lane"]] = {block["id"]: block["input"] for block in blocks if block["type"] == "tool_use"}

    def _command(self, command: dict[str, Any], at: float) -> None:
        name, told = next(iter(command.items()))
        machine = told.get("id", 0) >> _SHIFT
        if name == "emit":
            self._told(told["notice"], at, 0)
        elif name == "generate":
            self._generate(told, machine, at)
        elif name == "execute":
            for each in told["calls"]:
                use = each["tool_use"]
                _given(self._call(self._machines.get(machine, 0), use["id"], use["name"], at), use["input"])
        elif name == "approve":
            call = self._call(self._machines.get(machine, 0), told["call"]["id"], told["call"]["name"], at)
            call["fields"] += [("asked why", told["why"]), ("risk of the call", told["risk"])]
            self._approvals[told["id"]] = call
        elif name == "query":
            self._queries[told["id"]] = told

    def _generate(self, told: dict[str, Any], machine: int, at: float) -> None:
        entry = self._cache.get(told["id"])
        lane = self._machines.setdefault(
            machine, self._announced if entry is None or machine == 0 else self._lane(entry.agent)
        )
        row = self._rounds.get(lane)
        if told["attempt"] > 1 and row is not None:
            row["tries"] = told["attempt"]
        else:
            self._count[lane] = self._count.get(lane, 0) + 1
            row = self._rounds[lane] = self._row(lane, "round", f"round {self._count[lane]}", at)
            row["messages"] = told["messages"]
        row.update(model=told["model"], purpose=told["purpose"])
        self._asked[told["id"]] = row

    def _call(self, lane: int, call_id: str, name: str, at: float) -> dict[str, Any]:
        """The call of that id that was made last."""
        call = self._calls.get((lane, call_id))
        if call is None or (name and "ended" in call):
            call = self._part(lane, at, "call", name or "a call", said="", fields=[])
            native = self._native.get(lane, {})
            if call_id in native:
                _given(call, native[call_id])
            elif lane in self._native:
                call["fields"].append(("came as", "text of the answer"))
            self._calls[lane, call_id] = call
        return call

    def _told(self, notice: dict[str, Any], at: float, lane: int) -> None:
        kind = str(notice.get("type"))
        if kind == "child":
            self._told(notice["told"], at, self._lane(notice["path"]))
        elif kind == "round_started":
            self._announced = lane
        elif kind == "phase_started":
            self._row(lane, "phase", f"{notice['phase']} {notice['attempt']}", at)
        elif kind == "call_judged":
            call = self._call(lane, notice["id"], notice["name"], at)
            call["verdict"] = notice["verdict"]
            call["tone"] = {"forbid": "bad", "ask": "warn"}.get(notice["verdict"], "")
            call["fields"] += [(each, notice[each]) for each in _JUDGED if notice.get(each)]
        elif kind == "tool_started":
            _given(self._call(lane, notice["id"], notice["name"], at), notice["input"])
        elif kind == "tool_finished":
            call = self._call(lane, notice["id"], "", at)
            call.update(ended=True, took=notice["duration"])
            call.setdefault("result", notice["excerpt"])
            if notice["is_error"]:
                call.update(tone="bad", verdict=f"{call.get('verdict', '')}, failed".strip(", "))
        elif kind not in _SILENT:
            self._note(kind, notice, at, lane)

    def _note(self, kind: str, notice: dict[str, Any], at: float, lane: int) -> None:
        about, title, template, tone = _TOLD.get(kind, ("note", kind.replace("_", " "), "", ""))
        try:
            words = template.format_map(notice)
        except (KeyError, ValueError, TypeError):
            words = ""
        told = {"type", "id", *_FIELD.findall(template if words else "")}
        fields = [(name, value) for name, value in notice.items() if name not in told and _worth(value)]
        part = self._part(lane, at, about, title, said=words, fields=fields, tone=tone)
        if kind == "phase_finished":
            self._phase(part, notice, lane)
        elif kind == "compacted":
            part["fields"] = [(name, notice[name]) for name in ("reason", "first_changed", "repaired")]
            part["pairs"] = [
                [fate, f"{counted(each['messages'], 'message')}, {each['before']:,} → {each['after']:,} tokens"]
                for fate in _FATES
                if (each := notice[fate])["messages"]
            ]
        elif kind == "sanity_checked":
            part["tone"] = "" if notice["on_track"] else "bad"
        elif kind == "approval_decided":
            part["title"] = "Allowed" if notice["allowed"] else "Denied"
            part["tone"] = "good" if notice["allowed"] else "bad"
        elif notice.get("error") or notice.get("is_error"):
            part["tone"] = "bad"

    def _phase(self, part: dict[str, Any], notice: dict[str, Any], lane: int) -> None:
        row, output = self._open[lane], notice["output"]
        row["took"] = max(row["took"], notice["duration"]) if row["kind"] == "phase" else row["took"]
        output = output if isinstance(output, dict) else {"output": output}
        part["fields"] = list(output.items())
        if "issues" in output or "critique" in output:
            part["kind"], part["title"] = "critique", "Critique"
            part["said"] = str(output.get("critique") or ("passed" if output.get("passed") else "did not pass"))
            part["tone"] = "bad" if output.get("passed") is False else "good" if output.get("passed") else ""


_VERIFIED = {True: "yes", False: "no", None: None}
_JUDGED = ("risk", "by", "why", "rules", "part", "touches", "secret")


def _given(call: dict[str, Any], arguments: Any) -> None:
    call["said"], call["arguments"] = arguments_of(arguments, 120), arguments


def _worth(value: object) -> bool:
    return value is not None and value not in ("", [], {})


def _text_of(content: list[dict[str, Any]]) -> str:
    return "\n".join(str(block.get("text", f"({block.get('type')})")) for block in content)


def _cached(text: str) -> dict[int, Any]:
    try:
        return entries(text)
    except LoopwrightError:
        # Of a damaged journal; what is whole is shown all the same.
        return {}


def _price(machine: str) -> prices.Price | None:
    config = json.loads(machine)
    turn = config.get("turn") or next((each.get("turn") for each in config.values() if isinstance(each, dict)), None)
    return prices.Price(**turn["price"]) if turn and turn.get("price") else None
