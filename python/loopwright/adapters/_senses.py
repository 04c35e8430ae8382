"""Compaction and stuck detection for agents of others: what they are shown is a history, and nothing else."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from loopwright import ModelError, UsageError
from loopwright.context import ContextWindow
from loopwright.monitor import StuckDetector

from ._history import bare

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from loopwright import ContextPolicy, Message, Tool
    from loopwright.context import Archive
    from loopwright.messages import ToolResult, ToolUse
    from loopwright.monitor import StuckPolicy, Verdict

_CONVERSATIONS = 256

__all__ = ["View", "Views", "advice_for", "checked_policy"]


def checked_policy(policy: ContextPolicy | int) -> ContextPolicy:
    """A policy whose budget is known: nobody here knows the window of somebody else's model."""
    from loopwright import ContextPolicy

    found = ContextPolicy(budget=policy) if isinstance(policy, int) else policy
    if isinstance(found, ContextPolicy) and found.budget is not None:
        return found
    message = "the budget of a request is not known"
    raise UsageError(message, "invalid_option", "say it: ContextPolicy(budget=100_000)")


class View:
    """What of one conversation a model is shown. Between compactions it only grows, so that caches hold."""

    def __init__(self, policy: ContextPolicy, model: str | None = None) -> None:
        self._policy, self._model = checked_policy(policy), model
        self._given: list[Message] = []
        self._window = self._new()

    def _new(self) -> ContextWindow:
        policy = self._policy
        assert policy.budget is not None  # noqa: S101 - looked at before
        return ContextWindow(policy.budget, self._model, policy=policy.policy, high=policy.high, low=policy.low)

    def goes_on(self, given: Sequence[Message]) -> bool:
        """Whether a history goes on where the last one ended: with all of it, or with what was shown of it."""
        return self._before(bare(given)) is not None

    def _before(self, given: list[Message]) -> int | None:
        """How many messages of a history, which hold nothing of any framework, the window has; `None` for another one.
        Some frameworks keep the history, others what was shown of it.
        """
        histories = (self._given, bare(self._window.messages))
        return next((len(each) for each in histories if given[: len(each)] == each), None)

    def of(self, messages: Sequence[Message]) -> list[Message]:
        """The view of a history. One that does not go on where the last one ended is another conversation."""
        given = bare(messages)
        before = self._before(given)
        if before is None:
            self._window, before = self._new(), 0
        self._window.append(*messages[before:])
        self._given = given
        return list(self._window.messages)

    @property
    def archive(self) -> Archive:
        """What left."""
        return self._window.archive

    @property
    def recall(self) -> Tool[..., str, object] | None:
        """The tool for what left; nothing where the policy wants none."""
        from loopwright.context import recall_tool

        return recall_tool(lambda: self._window.archive) if self._policy.recall else None


class Views:
    """The views of the conversations that go on at once; those that were not looked at for longest are dropped."""

    def __init__(self, policy: ContextPolicy, model: str | None = None) -> None:
        self._policy, self._model = policy, model
        self._lock = threading.Lock()
        self._views: list[View] = []

    def of(self, messages: Sequence[Message]) -> list[Message]:
        """The view of a history."""
        with self._lock:
            view = self._found(messages) or View(self._policy, self._model)
            self._views = [*[each for each in self._views if each is not view][-_CONVERSATIONS:], view]
            return view.of(messages)

    def recall(self, messages: Sequence[Message], **asked: Any) -> str:
        """What left of the conversation with this history."""
        with self._lock:
            view = self._found(messages)
        return "nothing has left this conversation" if view is None else view.archive.recall(**asked)

    def _found(self, messages: Sequence[Message]) -> View | None:
        return next((each for each in reversed(self._views) if each.goes_on(messages)), None)


def advice_for(messages: Sequence[Message], policy: StuckPolicy | None) -> str | None:
    """What to tell a model that repeats itself. Raises a `ModelError` (`no_progress`) where it was told that before."""
    found = list(_verdicts(messages, policy))
    verdict = found[-1] if found else None
    if verdict is None:
        return None
    if sum(each is not None for each in found) > 1:
        raise ModelError(verdict.sentence, "no_progress", "change what is asked for, or the tools")
    return f"{verdict.sentence} {verdict.advice}"


def _verdicts(messages: Sequence[Message], policy: StuckPolicy | None) -> Iterator[Verdict | None]:
    """What each round is found to be, since the user spoke last."""
    detector = StuckDetector(policy)
    asked: dict[str, ToolUse] = {}
    pairs: list[tuple[ToolUse, ToolResult]] = []
    rounds: list[Verdict | None] = []
    for message in messages:
        if message.role == "assistant":
            if pairs:
                rounds.append(detector.record_round(pairs))
            asked, pairs = {use.call_id: use for use in message.tool_uses}, []
        elif message.role == "user" and not message.tool_results:
            detector, pairs, rounds = StuckDetector(policy), [], []
        pairs.extend((asked[each.call_id], each) for each in message.tool_results if each.call_id in asked)
    yield from rounds
    if pairs:
        yield detector.record_round(pairs)
