"""Numbers of events: the same while a run goes on and when its journal is read.

The number of an event is made of the journal's event that it belongs to, and of its place behind that: what a machine
tells in one step comes first, in order, and pieces of answers and progress of tools come after. So numbers only grow,
also over a crash and a resume, and those of what a machine tells can be had from the journal again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import _core
from .events import RunFinished, from_notice

if TYPE_CHECKING:
    from .events import Event, UnknownEvent
    from .result import Named

__all__ = ["PLACES", "EventIds", "events_of"]

PLACES = 1 << 20
"""Numbers for each event of the journal. A number stays exact wherever JSON is read, for 8 billion events."""


class EventIds:
    """Gives events their numbers, in the order in which they are told.

    What is told comes through here together with marks (plain ints): the number of the journal's event that was fed.
    """

    __slots__ = ("_base", "_next")

    def __init__(self, after: int = 0, base: int = 0) -> None:
        self._base = base
        # What was told behind an event before a crash is not known: what is told behind it now has the upper half.
        self._next = base + after * PLACES + (PLACES // 2 if after else 0)

    def follow(self, earlier: EventIds) -> None:
        """Begins behind those of another run, which the same people watch."""
        self._base = -(-earlier._next // PLACES) * PLACES
        self._next += self._base

    def of(self, item: Any) -> Any:
        """The event with its number; `None` for a mark."""
        if type(item) is int:
            self._next = max(self._next, self._base + item * PLACES)
            return None
        number = self._next
        self._next = number + 1
        try:
            object.__setattr__(item, "event_id", number)
        except AttributeError:
            # A piece of an answer is an object of the compiled part.
            item.event_id = number
        return item


def events_of(journal: str) -> list[Event | UnknownEvent]:
    """What a run told, from the lines of its journal."""
    from .result import Named, from_outcome

    run, model, found = _core.journal_told(journal)
    events: list[Event | UnknownEvent] = []
    numbers = EventIds()
    noted: list[dict[str, Any]] = []
    for seq, text in found:
        numbers.of(seq)
        event: Event | UnknownEvent
        if text.startswith('{"finish"'):
            _, messages, _ = _core.replay(journal, None)
            (_, finish), *_ = _core.json_members(text)
            result = from_outcome(
                _core.Ended.from_json(dict(_core.json_members(finish))["outcome"]),
                messages=messages,
                run_id=run,
                named=Named(model),
                journal=None,
                models=_models(journal),
                noted=noted,
            )
            event = RunFinished(result)
        else:
            notice = json.loads(text)["emit"]["notice"]
            event = from_notice(notice)
            if notice["type"] in ("intent_assessed", "goal_drifted"):
                noted.append(notice)
        events.append(numbers.of(event))
    return events


def _models(journal: str) -> dict[str, Named]:
    """The models of the sub-agents of a run, by their kinds, as its journal names them."""
    _, _, machine = _core.journal_head(journal)
    config = json.loads(machine)
    from .result import Named

    found: dict[str, Named] = {}
    waiting = [("", config.get("turn") or next(iter(config.values()))["turn"])]
    while waiting:
        above, turn = waiting.pop()
        for agent in turn.get("children", {}).get("agents", ()):
            kind = f"{above}{agent['name']}"
            found[kind] = Named(agent["turn"]["model"])
            waiting.append((f"{kind}/", agent["turn"]))
    return found
