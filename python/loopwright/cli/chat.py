"""`loopwright chat`: a conversation on the terminal, each turn a run that can be taken back, forked and resumed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopwright._journal_paths import is_store, project_store
from loopwright.errors import LoopwrightError, UsageError

from .answer_writer import show_answer
from .conduct import conduct
from .conversation import AFTER, Conversation, Past, Turn, last_chat
from .exit_codes import ERROR, INTERRUPTED, NEEDS_INPUT, OK, USAGE, exit_code
from .journals import found
from .past import kept_arguments, labels
from .prompt import Prompt
from .report import error_line, figures
from .screen import Screen, Style
from .show import Watcher
from .slash import NAMES, Commands
from .task_agent import task_agent
from .text import clean, one_line, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from loopwright import Monitor, Result

__all__ = ["chat"]


def chat(arguments: argparse.Namespace) -> int:
    """Talks with a person until they end it; gives the exit code."""
    if arguments.journal is not None and not is_store(arguments.journal):
        message = f"a conversation can't be kept in {arguments.journal!r}"
        raise UsageError(message, "invalid_option", "give a store, whose name ends in .db, or --no-journal")
    screen = Screen(quiet=arguments.quiet)
    last = _resumed(arguments)
    talk = Talk(arguments, screen, last)
    commands = Commands(talk, screen)
    prompt = Prompt(screen, NAMES, arguments.idle, lambda: commands.idle(arguments.idle))
    if prompt.asks:
        talk.greet()
    try:
        _converse(talk, commands, prompt, screen)
    finally:
        screen.close()
    if prompt.asks:
        talk.part()
    return OK if prompt.asks else talk.code


def _converse(talk: Talk, commands: Commands, prompt: Prompt, screen: Screen) -> None:
    while True:
        try:
            said = prompt.read()
        except KeyboardInterrupt:
            screen.say("")
            screen.note("Ctrl-D or /quit ends the conversation.", style=Style.DIM)
            continue
        if said is None:
            return
        if not said.strip():
            continue
        try:
            if not commands.take(said):
                talk.say(said.strip())
        except LoopwrightError as error:
            screen.say(error_line(error), style=Style.RED)
            talk.code = USAGE if isinstance(error, UsageError) else ERROR
        except KeyboardInterrupt:
            # Pressed twice, or while nothing was under way.
            screen.say("Broken off.", style=Style.YELLOW)
            talk.code = INTERRUPTED
        if commands.over:
            return


class Talk:
    """A conversation under way: who is asked, and what was said."""

    def __init__(self, arguments: argparse.Namespace, screen: Screen, last: Past | None) -> None:
        self._screen = screen
        self._arguments = arguments
        task = task_agent(arguments, screen, _monitor(arguments.idle))
        self._agent, self._settled, self._approval = task
        # A key that is missing is said before a word is.
        self._agent.check()
        self.conversation = Conversation()
        self.note: str | None = None
        """What a check found, for the model to hear with the next words."""
        self.code = OK
        """How the last answer ended."""
        if last is not None:
            self.go_to(last)

    @property
    def model(self) -> str:
        """Who answers."""
        return self._agent.model

    @property
    def store(self) -> str | None:
        """The store that keeps it."""
        return None if self._agent.journal is None else str(self._agent.journal)

    def greet(self) -> None:
        """Says who is there and how to end it."""
        turns = len(self.conversation.turns)
        so_far = f", {plural(turns, 'turn')} so far" if turns else ""
        self._screen.note(f"{clean(self.model)}{so_far}. /help shows what there is, Ctrl-D ends it.", style=Style.DIM)
        kept = "nothing is kept" if self.store is None else f"kept in {one_line(self.store)}"
        folder = one_line(str(self._settled["workspace"]))
        self._screen.note(f"Tools work in {folder}; the conversation: {kept}.", style=Style.DIM)

    def part(self) -> None:
        """Says how to come back."""
        if self.conversation.head is not None and self.store is not None:
            self._screen.note(f"To go on: {self.way_back()}", style=Style.DIM)

    def way_back(self) -> str:
        """What is typed to go on from here."""
        place = "" if self._arguments.journal is None else f" --journal {self._arguments.journal}"
        return f"loopwright chat --resume {self.conversation.head}{place}"

    def say(self, words: str) -> None:
        """Says something to the model, and shows what it answers."""
        conversation = self.conversation
        options: dict[str, Any] = {
            "messages": conversation.messages,
            "metadata": {**labels(self._arguments, **self._settled), AFTER: conversation.head},
        }
        if self.note is not None:
            options["instructions"] = self.note

        def go(watcher: Watcher, stop: Any) -> Result[Any]:
            return self._agent.run_sync(words, on_event=watcher, signal=stop, **options)

        result, before = self._run(go), len(conversation.messages or ())
        if len(result.messages) > before + 1:
            conversation.turns.append(Turn.of(words, result))
            self.note = None
        else:
            self._screen.say("That was not answered, and is no part of the conversation.", style=Style.YELLOW)

    def go_to(self, last: Past) -> None:
        """Goes on with the conversation that this turn is the last of."""
        if not last.has_ended:
            self._screen.note("The last answer broke off; here it goes on.")

            def go(watcher: Watcher, stop: Any) -> Result[Any]:
                resumed: Result[Any] = self._agent.resume_sync(
                    last.place.path or "", run=last.place.run, on_event=watcher, signal=stop
                )
                return resumed

            self._run(go)
            last = Past(last.place)
        self.conversation = Conversation.of(last)
        self.note = None

    def _run(self, go: Callable[[Watcher, Any], Result[Any]]) -> Result[Any]:
        screen = self._screen
        watcher = Watcher(screen, tools=self._agent.tools.names)
        try:
            result, failure = conduct(screen, lambda stop: go(watcher, stop), one_of_many=True)
        finally:
            self._approval.withdraw()
        self.code = exit_code(result.stop_reason, failure)
        words = result.final if result.final is not None else result.best_draft
        if words is not None and not watcher.has_shown(words):
            screen.gap()
            show_answer(screen, clean(words))
        if failure is not None:
            screen.say(error_line(failure), style=Style.RED)
        elif self.code == INTERRUPTED:
            screen.note("Stopped.", style=Style.YELLOW)
        elif self.code not in (OK, NEEDS_INPUT) or result.final is None:
            screen.say(clean(result.message or result.stop_reason), style=Style.YELLOW)
        screen.gap()
        screen.note(figures(result), style=Style.DIM)
        return result


def _resumed(arguments: argparse.Namespace) -> Past | None:
    """The turn that the conversation goes on behind. Its options hold again unless others are given."""
    if arguments.resume is None:
        return None
    store = arguments.journal or project_store()
    last = Past(found(arguments.resume, arguments.journal)) if arguments.resume else last_chat(store)
    if not last.is_chat:
        message = f"{last.place.name} is no conversation"
        raise UsageError(message, "unknown_agent", "loopwright resume and answer go on with other runs")
    kept = kept_arguments(last.labels)
    if arguments.model is None:
        arguments.model = kept["model"]
        arguments.base_url = arguments.base_url or kept["base_url"]
    for name, usual in (
        ("workspace", "."),
        ("system", None),
        ("memory", None),
        ("max_rounds", None),
        ("policy", []),
        ("cautious", "intent"),
        ("max_time", None),
    ):
        if getattr(arguments, name) == usual and kept[name] is not None:
            setattr(arguments, name, kept[name])
    arguments.no_shell = arguments.no_shell or bool(kept["no_shell"])
    return last


def _monitor(idle: float) -> Monitor:
    """Who looks after an answer: rules, which tell the model what they found and end nothing."""
    from loopwright import Monitor
    from loopwright.roles import Sanity, Trigger

    triggers = [each for each in Trigger.defaults() if each.name != "user_idle"]
    return Monitor(sanity=Sanity("rules", triggers=[*triggers, Trigger.user_idle(idle)], pause=False, abort=False))
