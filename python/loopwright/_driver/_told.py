"""What is told of a run, in order, and the work that waits until all before it was heard."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from loopwright import _core
from loopwright._event_ids import EventIds
from loopwright.events import ArgumentsDelta, ChildText, ReasoningDelta, TextDelta, ToolProgress

if TYPE_CHECKING:
    from loopwright._driver._generator import Driver

_PIECES = frozenset({TextDelta, ReasoningDelta, ArgumentsDelta})
_FAR_BEHIND = 1000
"""Events that wait for whoever reads them, beyond which they come in larger pieces."""
_LONG_PIECE = 4000


class Told:
    """Events that wait for whoever reads, with marks between them that number them, and with the commands that begin
    work only when all before them was taken.
    """

    __slots__ = ("first", "items", "lock", "marked", "numbers", "put_off", "run", "seq")

    def __init__(self, run: _core.Run, after: Driver | None) -> None:
        self.run = run
        self.items: deque[Any] = deque()
        self.lock = threading.Lock()
        self.put_off: dict[int, _core.Command] = {}
        # Events of the journal so far, and up to which of them what is told was marked.
        self.seq = self.marked = run.seq
        # The number of the step that whoever reads has asked for by asking for anything at all.
        self.first = self.seq + 1
        self.numbers = EventIds(self.seq)
        if after is not None:
            self.numbers.follow(after.told.numbers)

    def mark(self) -> None:
        """What is told from here on belongs to the newest event of the journal."""
        if self.marked != self.seq:
            self.marked = self.seq
            self.items.append(self.seq)

    def tell(self, event: Any) -> None:
        """An event, from any thread. Where whoever reads is far behind, news of a tool's progress takes the place of
        what it said before.
        """
        items = self.items
        with self.lock:
            last = items[-1] if len(items) > _FAR_BEHIND else None
            if type(last) is type(event) is ToolProgress and last.call_id == event.call_id:
                object.__setattr__(last, "text", event.text)
                return
            self.mark()
            items.append(event)

    def tell_deltas(self, deltas: list[Any]) -> None:
        """Pieces of an answer. Where whoever reads is far behind, pieces of a block are joined: what waits to be read
        takes hardly more room than the answer itself.
        """
        self.mark()
        items = self.items
        if len(items) <= _FAR_BEHIND:
            items.extend(deltas)
            return
        with self.lock:
            for delta in deltas:
                last, kind = items[-1], type(delta)
                goes_on = kind is type(last) and kind in _PIECES and last.block == delta.block
                if goes_on and len(last.text) < _LONG_PIECE:
                    items[-1] = kind(last.text + delta.text, delta.block)
                else:
                    items.append(delta)

    def tell_pieces(self, who: tuple[str | None, str | None], deltas: list[Any]) -> None:
        """Pieces of what a sub-agent says."""
        agent, path = who
        self.mark()
        for delta in deltas:
            kind = type(delta)
            if kind is TextDelta or kind is ReasoningDelta:
                thinks = kind is ReasoningDelta
                self.items.append(ChildText(delta.text, delta.block, thinks, agent=agent, path=path))

    def numbered(self, event: Any) -> Any:
        """The last event, which is told elsewhere."""
        self.numbers.of(self.seq)
        return self.numbers.of(event)

    def put_off_start(self, command: _core.Command) -> None:
        """Work waits until all that was told before it has been taken: whoever leaves by then has it not begin. The
        clock stands still meanwhile, for a slow reader is no slow run.
        """
        if not self.put_off:
            self.run.hold()
        self.put_off[command.id] = command  # type: ignore[index]
        self.items.append(command)

    def read_on(self) -> None:
        """Whoever has looked at something wants what comes next: the clock goes on, unless work waits for that."""
        if not self.put_off:
            self.run.go_on()

    def next_work(self) -> Any:
        """The work that is next, if nothing is to be told before it."""
        return self.items[0] if self.items and type(self.items[0]) is _core.Command else None

    def taken_work(self) -> _core.Command | None:
        """All before it was taken: the work that was put off first, if anybody still wants it."""
        command = self.items.popleft()
        return command if self.unwanted(command.id) else None

    def unwanted(self, command_id: int) -> bool:
        """Work is put off no longer; whether it was."""
        if self.put_off.pop(command_id, None) is None:
            return False
        if not self.put_off:
            self.run.go_on()
        return True

    def batch(self) -> list[Any]:
        """What is to be told next, with its numbers, up to work that was put off; nothing where such work is first."""
        items, number = self.items, self.numbers.of
        batch: list[Any] = []
        # Threads may tell meanwhile.
        for _ in range(len(items)):
            if self.put_off and type(items[0]) is _core.Command:
                break
            item = items.popleft()
            if type(item) is not _core.Command and (event := number(item)) is not None:
                batch.append(event)
        return batch
