"""What a person says to the conversation itself: lines that begin with a slash."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from loopwright._journal_paths import project_store
from loopwright.errors import UsageError
from loopwright.guard import redact

from .conversation import Conversation, Past
from .journals import found
from .screen import Style
from .text import fit, one_line, plural, seconds, wrap

if TYPE_CHECKING:
    from collections.abc import Callable

    from .chat import Talk
    from .conversation import Turn
    from .screen import Screen

__all__ = ["NAMES", "Commands"]

_SAID = re.compile(r"(/[a-z]+)(?:\s+(.*))?", re.DOTALL)
_HELP = {
    "/help": "what there is",
    "/sanity [WORDS]": "check whether the conversation is on its way; the model hears of it with your next words",
    "/undo [N]": "take back the last turn, or the last N; what tools changed stays changed",
    "/fork [N]": "go on in another conversation behind turn N, by default behind the last; this one stays",
    "/resume [RUN]": "go to another conversation; without a name, list them",
    "/cost": "what was used, turn by turn",
    "/new": "begin another conversation; this one stays",
    "/quit": "end it; so does Ctrl-D",
}
NAMES = [line.split()[0] for line in _HELP]
"""The commands, as they are typed."""
_LISTED = 10


class Commands:
    """The commands of a conversation."""

    def __init__(self, talk: Talk, screen: Screen) -> None:
        self._talk = talk
        self._screen = screen
        self._others: list[Conversation] = []
        """Conversations that were left, for those that no store keeps."""
        self.over = False
        """Whether the person has ended it."""
        self._commands: dict[str, Callable[[str], None]] = {
            "/help": self._help,
            "/sanity": self._sanity,
            "/undo": self._undo,
            "/fork": self._fork,
            "/resume": self._resume,
            "/cost": self._cost,
            "/new": self._new,
            "/quit": self._quit,
        }

    def take(self, said: str) -> bool:
        """Does what a line says, if it is said to the conversation; a blank before the slash makes it the model's."""
        match = _SAID.fullmatch(said.rstrip())
        if match is None:
            return False
        command = self._commands.get(match[1])
        if command is None:
            message = f"there is no {match[1]}"
            raise UsageError(message, "unknown_command", "/help shows what there is; a blank before it says it as is")
        command((match[2] or "").strip())
        return True

    def idle(self, silence: float) -> None:
        """Nobody has said anything for a while: the conversation is checked, and what was found is told."""
        if self._talk.conversation.turns:
            self._screen.note(f"Nothing said for {seconds(silence)}; the conversation was checked:", style=Style.DIM)
            self._check()

    def _help(self, _: str) -> None:
        for line, what in _HELP.items():
            self._screen.answer(wrap(f"  {line:<17}{what}", self._screen.columns, margin=19))

    def _sanity(self, words: str) -> None:
        self._check()
        if words:
            self._talk.say(words)

    def _check(self) -> None:
        from loopwright.roles import check_sanity

        messages = self._talk.conversation.messages
        if messages is None:
            self._screen.answer("Nothing was said yet.")
            return
        found = check_sanity(messages)
        on = "on its way" if found.on_track else "not on its way"
        self._screen.answer(
            f"It is {on} (confidence {found.confidence:.0%}, progress {found.progress:.0%}).",
            style=None if found.on_track else Style.YELLOW,
        )
        lines = [str(concern) for concern in found.concerns] + [f"try: {each}" for each in found.suggestions]
        for line in lines:
            self._screen.answer(wrap(f"  {one_line(line)}", self._screen.columns, margin=4))
        self._talk.note = None
        if lines:
            told = "\n".join(f"- {one_line(line)}" for line in lines)
            self._talk.note = f"A check of the conversation so far found:\n{told}"

    def _undo(self, count: str) -> None:
        taken = self._talk.conversation.undo(_number(count, 1))
        if not taken:
            self._screen.answer("There is nothing to take back.")
            return
        self._talk.note = None
        before = len(self._talk.conversation.messages or ())
        used_tools = any(message.tool_uses for message in taken[0].messages[before:])
        for turn in taken:
            self._screen.answer(f"Taken back: {fit(_words(turn.prompt), self._screen.columns - 13)}")
        if used_tools:
            self._screen.answer(self._screen.styled("What tools changed stays changed.", Style.DIM))

    def _fork(self, at: str) -> None:
        now = self._talk.conversation
        turn = _number(at, len(now.turns), least=0)
        if turn > len(now.turns):
            message = f"there is no turn {turn}: there are {len(now.turns)}"
            raise UsageError(message, "no_such_turn", "/cost lists them")
        back = self._leave()
        self._talk.conversation = now.fork(turn)
        behind = f"behind turn {turn}: {_words(now.turns[turn - 1].prompt)}" if turn else "from the beginning"
        self._screen.answer(fit(f"Now in another conversation, {behind}", self._screen.columns))
        if back:
            self._screen.answer(self._screen.styled(f"The first one: /resume {back}", Style.DIM))

    def _new(self, _: str) -> None:
        back = self._leave()
        self._talk.conversation = Conversation()
        self._screen.answer("A new conversation.")
        if back:
            self._screen.answer(self._screen.styled(f"The one before: /resume {back}", Style.DIM))

    def _leave(self) -> str | None:
        """Lays the conversation aside; gives its name."""
        now = self._talk.conversation
        self._talk.note = None
        if now.turns:
            self._others = [each for each in self._others if each.head != now.head] + [now]
        return now.head

    def _resume(self, run: str) -> None:
        if not run:
            self._list()
            return
        here = [each for each in self._others if (each.head or "").startswith(run)]
        if len(here) == 1:
            self._leave()
            self._talk.conversation = here[0]
        else:
            last = Past(found(run, self._talk.store))
            if not last.is_chat:
                raise UsageError(f"{last.place.name} is no conversation", "unknown_agent", "/resume lists them")
            self._leave()
            self._talk.go_to(last)
        turns = self._talk.conversation.turns
        self._screen.answer(f"{plural(len(turns), 'turn')} so far; the last one:")
        self._screen.answer(fit(f"  {_words(turns[-1].prompt)}", self._screen.columns) if turns else "  nothing")

    def _list(self) -> None:
        from loopwright import Journal

        named = {each.head: each.turns[-1].prompt for each in self._others}
        store = self._talk.store or project_store()
        for run in Journal(store).runs() if self._talk.store is not None else ():
            if len(named) >= _LISTED:
                break
            if run.id not in named and Past(found(run.id, store)).is_chat:
                named[run.id] = run.prompt
        named.pop(self._talk.conversation.head, None)
        if not named:
            self._screen.answer("There is no other conversation.")
        for run_id, prompt in named.items():
            self._screen.answer(fit(f"  {run_id}  {_words(prompt)}", self._screen.columns))

    def _cost(self, _: str) -> None:
        turns = self._talk.conversation.turns
        if not turns:
            self._screen.answer("Nothing was used yet.")
            return
        width = self._screen.columns
        self._screen.answer(f"  {'turn':>4}  {'tokens':>9}  {'cached':>9}  {'cost':>8}  {'time':>8}", style=Style.BOLD)
        for number, turn in enumerate(turns, start=1):
            self._screen.answer(fit(_row(str(number), [turn]) + f"  {_words(turn.prompt)}", width))
        self._screen.answer(_row("all", turns), style=Style.BOLD)
        if any(turn.cost is None for turn in turns):
            self._screen.answer(self._screen.styled("Where the cost is ?, no table has the price.", Style.DIM))

    def _quit(self, _: str) -> None:
        self.over = True


def _words(prompt: str) -> str:
    """What somebody said, on one line, without secrets."""
    return redact(one_line(prompt))


def _row(name: str, turns: list[Turn]) -> str:
    costs = [turn.cost for turn in turns if turn.cost is not None]
    cost = f"{sum(costs):.4f}" if len(costs) == len(turns) else "?"
    tokens = sum(turn.usage.total_tokens for turn in turns)
    cached = sum(turn.usage.cache_read_tokens for turn in turns)
    took = seconds(sum(turn.duration for turn in turns))
    return f"  {name:>4}  {tokens:>9,}  {cached:>9,}  {cost:>8}  {took:>8}"


def _number(text: str, usual: int, least: int = 1) -> int:
    if not text:
        return usual
    number = int(text) if text.isdecimal() and text.isascii() and len(text) <= 6 else -1
    if number < least:
        raise UsageError(f"{one_line(text)!r} is no number of turns", "invalid_option", "write a number, like 2")
    return number
