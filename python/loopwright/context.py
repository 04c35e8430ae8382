"""Histories made to fit: a request that never overflows and never forgets what matters.

::

    fitted = compress(messages, budget=100_000)
    answer = client.chat(messages=fitted.messages, tools=[*tools, fitted.recall_tool()])

Messages may be ours, Anthropic's dicts or Chat Completions' dicts; they come back in the same shape, and those that
stand as they were are the very same objects. Dicts of the Responses API and of Gemini come back as `Message` objects.
Nothing is lost: what left is in `archive`, and the model gets it back with the tool `recall`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _core
from ._any_messages import of_any
from ._dataclasses import dataclass, field
from ._json import read as parsed
from ._json import written as dumped
from ._repr import shown
from ._shapes import known_shape, read_in, writer_of, written_in
from .errors import UsageError
from .messages import Message, checked

if TYPE_CHECKING:
    from .roles import RoleLike
    from .tools import Tool

__all__ = [
    "Archive",
    "Assembled",
    "Compressed",
    "ContextPolicy",
    "ContextWindow",
    "Entry",
    "Report",
    "assemble",
    "compress",
    "estimate",
    "recall_tool",
    "window_of",
]

Count: TypeAlias = Callable[[str], int] | _core.TokenCounter
"""A function that gives the tokens of a text, or a `TokenCounter`."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What became of one message."""

    message: int
    """Its index in the history given."""
    fate: str
    """`kept`, `shortened`, `referenced`, `summarised` or `dropped`."""
    why: str
    before: int
    """Its tokens before."""
    after: int
    """Its tokens now."""
    at: int | None
    """Its index among the messages before Chat Completions splits any, where it still stands."""
    handle: str | None
    """Its handle in the archive, unless it stands as it was."""
    salience: float
    tier: str
    """`focus`, `recent`, `memory` or `project`."""


@shown
class Report:
    """What was done, message by message."""

    __slots__ = ("_core", "_entries")

    def __init__(self, core: _core.ContextReport) -> None:
        self._core = core
        self._entries: list[Entry] | None = None

    @property
    def entries(self) -> list[Entry]:
        """What became of each message given, in order."""
        if self._entries is None:
            # Of a long history that is much, so it is made when it is first looked at.
            self._entries = [Entry(*told) for told in self._core.entries()]
        return self._entries

    @property
    def repairs(self) -> list[tuple[int, str]]:
        """What a provider would have refused: the message's index, and what was done."""
        return self._core.repairs

    @property
    def before(self) -> int:
        """Tokens before."""
        return self._core.before

    @property
    def after(self) -> int:
        """Tokens now."""
        return self._core.after

    @property
    def budget(self) -> int:
        """The budget."""
        return self._core.budget

    @property
    def first_changed(self) -> int | None:
        """The first message of the new history that is not as it was given.

        Up to there a provider's cache still hits; in a window up to the summary of the compaction before, if that
        stood earlier and is gone.
        """
        return self._core.first_changed

    def to_json(self) -> str:
        """The report as text, for `from_json`."""
        return self._core.to_json()

    @classmethod
    def from_json(cls, text: str) -> Report:
        """A report that was saved."""
        return cls(checked(_core.ContextReport.from_json, text))

    def __eq__(self, other: object) -> bool:
        return self.to_json() == other.to_json() if isinstance(other, Report) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.before, self.after, self.budget))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Report.from_json, (self.to_json(),))

    def __str__(self) -> str:
        head = f"{self.before} tokens became {self.after}, budget {self.budget}"
        lines = [
            f"{entry.message:>5} {entry.fate:<10} {entry.before:>7} -> {entry.after:<7} {entry.why}"
            for entry in self.entries
        ]
        return "\n".join([head, *lines, *(f"{at:>5} repaired: {what}" for at, what in self.repairs)])


class Archive:
    """What left a request, under handles. It can be saved, and several requests may share one."""

    __slots__ = ("_core",)

    def __init__(self) -> None:
        self._core = _core.ContextArchive()

    def get(self, handle: str) -> Message | None:
        """The message under `handle`, as it was."""
        text = self._core.get(_words(handle, "a handle"))
        return None if text is None else Message.from_json(text)

    def recall(self, handle: str = "", *, find: str = "", from_line: int = 1, limit: int = 16_000) -> str:
        """What is under `handle`, from a line on; or the lines of all messages that hold the words `find`.

        Lines of more than 512 bytes count as several.
        """
        from_line, limit = _number(from_line, "from_line"), _number(limit, "limit")
        return self._core.answer(
            _words(handle, "a handle"), _words(find, "what to find"), max(1, from_line), max(0, limit)
        )

    @property
    def handles(self) -> list[str]:
        """All handles, in the order the messages came."""
        return self._core.handles()

    def to_json(self) -> str:
        """The archive as text, for `from_json`."""
        return self._core.to_json()

    @classmethod
    def from_json(cls, text: str) -> Archive:
        """An archive that was saved."""
        archive = cls.__new__(cls)
        archive._core = checked(_core.ContextArchive.from_json, _words(text, "an archive"))
        return archive

    def __len__(self) -> int:
        return len(self._core)

    def __contains__(self, handle: object) -> bool:
        return isinstance(handle, str) and _words(handle, "a handle") in self._core

    def __repr__(self) -> str:
        return f"<Archive of {len(self)} messages>"


def recall_tool(archive: Archive | Callable[[], Archive]) -> Tool[..., str, Any]:
    """The tool with which a model gets back what left."""
    from .tools import tool

    def recall(handle: str = "", find: str = "", from_line: int = 1) -> str:
        """Gives back what was shortened or left out of this conversation.

        In shortened outputs `[…37]` stands for 37 lines left out and `[=12]` for 12 lines that a later output repeats.

        Args:
            handle: A handle from a note such as `recall("k3f9qab")`.
            find: Words to look for in everything that left; or, with a handle, in that.
            from_line: The first line wanted.
        """
        kept = archive if isinstance(archive, Archive) else archive()
        return kept.recall(handle, find=find, from_line=from_line)

    return tool(recall, read_only=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPolicy:
    """How an agent's requests are held inside the model's window: `Agent(..., context=ContextPolicy(window=64_000))`.

    Without any of it the window is that of the model's name (`window_of`), less room for an answer; of a model that
    nobody knows it is taken for 32,768 tokens, and a warning says so when that matters.
    """

    budget: int | None = None
    """Tokens that a request takes at most: instructions, tools and messages."""
    window: int | None = None
    """Tokens of the model's window, where there is no `budget`: an answer must fit in, too."""
    high: float = 0.85
    """A compaction begins when the request is larger than this share of the budget, …"""
    low: float = 0.6
    """… and takes it down to this."""
    recall: bool = True
    """Whether the model gets a tool for what left."""
    policy: Mapping[str, Any] | None = None
    """Shares, limits and weights to change, as for `compress`."""
    summarizer: RoleLike | None = None
    """Who sums up each exchange in the background: `"rules"`, a model, or a `loopwright.roles.Role`."""

    def __post_init__(self) -> None:
        for name in ("budget", "window"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                message = f"{name} is a number of tokens above 0, not {value!r}"
                hint = "give a whole number above 0, or None for what the model has"
                raise UsageError(message, "invalid_option", hint)
        for name in ("high", "low"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                message = f"{name} is a share of the budget, not {value!r}"
                raise UsageError(message, "invalid_option", "give a number between 0 and 1")
        if not 0 < self.low < self.high <= 1:
            message = f"high is {self.high} and low is {self.low}"
            raise UsageError(message, "invalid_option", "give shares of the budget: 0 < low < high <= 1")
        if self.policy is not None and not isinstance(self.policy, Mapping):
            message = f"policy is a dict of what to change, not {type(self.policy).__name__}"
            raise UsageError(message, "invalid_option", "give a dict such as {'pin': [0]}, or None")

    def _config(self, wire: str | None) -> dict[str, Any]:
        """As the machine wants it."""
        most, own = 1 << 62, _changes(self.policy)
        if wire in {"anthropic", "openai_chat", "openai_responses", "gemini", "bedrock"}:
            own.setdefault("wire", wire)
        return {
            "budget": None if self.budget is None else min(self.budget, most),
            "window": None if self.window is None else min(self.window, most),
            "policy": own,
        } | {"high": self.high, "low": self.low, "recall": bool(self.recall)}


def window_of(model: str) -> int | None:
    """The tokens of a model's window, where its name is known; with or without the provider before it.

    >>> window_of("openai:gpt-4o"), window_of("a-model-of-my-own")
    (128000, None)
    """
    return _core.window_of(model)


@dataclass(frozen=True, slots=True)
class Assembled:
    """A request put together in its fixed order."""

    system: str
    """Instructions and memory. On Chat Completions and in our own form they also are the first message."""
    messages: list[Any]
    """Goal, plan and what was gathered, then the history, in the history's shape."""
    report: Report | None
    """What became of each message, where there was a budget."""
    archive: Archive
    """What left."""

    def recall_tool(self) -> Tool[..., str, Any]:
        """The tool with which a model gets back what left."""
        return recall_tool(self.archive)


def assemble(
    history: Iterable[Any] = (),
    *,
    system: str = "",
    memory: str = "",
    goal: str = "",
    plan: str = "",
    gathered: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    budget: int | None = None,
    policy: Mapping[str, Any] | None = None,
    count: Count | None = None,
    model: str | None = None,
    tools: Iterable[Any] = (),
    shape: str | None = None,
    archive: Archive | None = None,
) -> Assembled:
    """Puts a request together: instructions, trusted memory, goal and plan, gathered context, history.

    What changes least stands first, so that a provider's cache holds as much as it can. What was gathered is fenced:
    nobody vouches for it, and its text can't close the fence. With a `budget` the history is made to fit behind the
    rest, which stays as it is.

    >>> found = assemble(
    ...     [{"role": "user", "content": "Why does it fail?"}],
    ...     system="Be brief.",
    ...     goal="Find the fault.",
    ...     gathered={"a.log": "error 7"},
    ... )
    >>> found.system, [message["role"] for message in found.messages]
    ('Be brief.', ['user', 'user'])

    Args:
        history: What was said and done: messages in any shape that `compress` takes.
        system: Instructions.
        memory: What is remembered and may be trusted.
        goal: What is to be done.
        plan: How.
        gathered: Texts by their source: files, pages, results of searches.
        budget: Tokens of the whole request.
        policy: As for `compress`.
        count: As for `compress`.
        model: As for `compress`.
        tools: Tools that go with it: their tokens count as well.
        shape: The history's shape, where it can't be told.
        archive: Where to keep what leaves; a new one without.
    """
    given, shape = read_in(history, shape)
    pairs = list(gathered.items()) if isinstance(gathered, Mapping) else list(gathered)
    for name, text in (("system", system), ("memory", memory), ("goal", goal), ("plan", plan)):
        if not isinstance(text, str):
            message = f"{name} is text, not {type(text).__name__}"
            raise UsageError(message, "invalid_value", "give a str; decode bytes first")
    for pair in pairs:
        if not (isinstance(pair, (tuple, list)) and len(pair) == _PAIR and all(isinstance(each, str) for each in pair)):
            message = f"gathered holds pairs of a source and its text, not {pair!r:.100}"
            raise UsageError(message, "invalid_value", "give pairs such as ('notes.md', 'its text'), or a dict of them")
    ours = isinstance(given[0], Message) if given else shape == "canonical"
    instructions, texts = checked(
        _core.assemble_context, system, memory, goal, plan, [(source, text) for source, text in pairs], shape
    )
    head = [element for text in texts for element in _elements(text, ours=ours)]
    whole = [*head, *given]
    kept = _kept(archive)
    if budget is None:
        return Assembled(instructions, whole, None, kept)
    own = _changes(policy)
    pins = own.get("pin", ())
    if not isinstance(pins, (list, tuple)) or not all(isinstance(at, int) for at in pins):
        message = f"pin is a list of messages, by index, not {pins!r}"
        raise UsageError(message, "invalid_policy", "give the indexes of messages, say pin=[0, 3]")
    for at in pins:
        if not 0 <= at < len(given):
            message = f"pin {at} names no message: the history has {len(given)}, from 0 on"
            raise UsageError(message, "invalid_policy", "pin messages of the history given, by index")
    own["pin"] = [*range(len(head)), *(at + len(head) for at in pins)]
    if instructions and shape == "anthropic":
        # They stand beside the messages there, and cost the same.
        aside = [{"role": "user", "content": instructions}]
        own["reserve"] = own.get("reserve", 0) + estimate(aside, count, model, shape=shape)
    fitted = compress(whole, budget, own, count, model, tools=tools, shape=shape, archive=kept)
    return Assembled(instructions, fitted.messages, fitted.report, kept)


_PAIR = 2


@shown
@dataclass(frozen=True, slots=True)
class Compressed:
    """A history that fits."""

    messages: list[Any]
    """The history, in the shape it was given in."""
    report: Report
    archive: Archive
    """What left."""
    shape: str = "canonical"
    """The shape: one of `SHAPES`."""
    _ours: bool = field(default=True, repr=False, compare=False)

    def expand(self, archive: Archive | None = None) -> list[Any]:
        """The history as it was given: what stands as it was, and everything else from the archive.

        >>> history = [{"role": "user", "content": f"{n} " * 90} for n in range(9)]
        >>> fitted = compress(history, 500)
        >>> len(fitted.messages) < 9, fitted.expand() == history
        (True, True)
        """
        kept = self.archive if archive is None else archive
        out: list[Any] = []
        for entry in self.report.entries:
            if entry.handle is None:
                assert entry.at is not None  # noqa: S101 - what has no handle stands as it was
                out.append(self.messages[entry.at])
                continue
            message = kept.get(entry.handle)
            if message is None:
                text = f"nothing is kept under {entry.handle!r}"
                raise UsageError(text, "unknown_handle", "give the archive that this was compressed with")
            if self._ours:
                out.append(message)
            elif self.shape == "canonical":
                out.append(message.to_dict())
            else:
                out.extend(_parsed(message.to_wire(self.shape)))
        return out

    def recall_tool(self) -> Tool[..., str, Any]:
        """The tool with which a model gets back what left."""
        return recall_tool(self.archive)


def compress(
    messages: Iterable[Any],
    budget: int,
    policy: Mapping[str, Any] | None = None,
    count: Count | None = None,
    model: str | None = None,
    *,
    tools: Iterable[Any] = (),
    shape: str | None = None,
    archive: Archive | None = None,
) -> Compressed:
    """Makes a history fit.

    Args:
        messages: `Message` objects, Anthropic's dicts or Chat Completions' dicts.
        budget: Tokens that the result costs at most. A `UsageError` of code `budget_too_small` says which parts that
            must stay do not fit.
        policy: Shares, limits and weights to change: `{"keep_last": 3, "pin": [4]}`.
        count: A function that gives the tokens of a text, instead of the model's own way of counting; or a
            `TokenCounter`, which counts as its model does and remembers what it counted.
        model: The model that will read it. Tokens are exact where its vocabulary is public (`o200k_base` without a
            model) and an upper bound where it is not, so that the result never exceeds the budget.
        tools: Tools that go with the messages, or their definitions as dicts: their tokens count as well.
        shape: The messages' shape, where it can't be told: one of `SHAPES`.
        archive: Where to keep what leaves; a new one without.
    """
    given, shape = read_in(messages, shape)
    kept = _kept(archive)
    own = _policy(policy, tools, count, model)
    ours = bool(given) and isinstance(given[0], Message)
    out, report = checked(
        _core.compress_context,
        given,
        shape,
        _budget(budget),
        own,
        _counter(count),
        _named(model),
        kept._core,
        writer_of(given, shape),
        _made if ours else _parsed,
    )
    return Compressed(out, Report(report), kept, shape, ours)


def estimate(
    messages: Iterable[Any],
    count: Count | None = None,
    model: str | None = None,
    *,
    tools: Iterable[Any] = (),
    shape: str | None = None,
) -> int:
    """The tokens of a history (with its tools), as `compress` counts them."""
    given, shape = read_in(messages, shape)
    beside = _tools(tools, count, model)
    return checked(_core.count_context, given, shape, _counter(count), _named(model), writer_of(given, shape)) + beside


class ContextWindow:
    """The live view of a history that grows.

    ::

        window = ContextWindow(budget=100_000)
        window.append(message)
        client.chat(messages=window.messages)

    Appending costs what is new. Between compactions the view only grows, so a provider's cache keeps hitting; above
    `high` (a share of the budget) one compaction takes it down to `low`. Threads may share one: each call waits for the
    one before.
    """

    __slots__ = ("_core", "_lock", "_made", "_ours", "_shape", "_view")

    def __init__(
        self,
        budget: int,
        model: str | None = None,
        *,
        tools: Iterable[Any] = (),
        shape: str = "canonical",
        policy: Mapping[str, Any] | None = None,
        count: Count | None = None,
        high: float = 0.85,
        low: float = 0.6,
    ) -> None:
        self._shape = known_shape(shape)
        for name, value in (("high", high), ("low", low)):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1:
                message = f"{name} is a share of the budget, not {value!r}"
                raise UsageError(message, "invalid_value", "give 0 < low <= high <= 1")
        if low > high:
            message = f"low is {low!r} and high is {high!r}"
            raise UsageError(message, "invalid_value", "give 0 < low <= high <= 1")
        own = _policy(policy, tools, count, model)
        self._core = checked(_core.Window, _budget(budget), self._shape, own, _counter(count), _named(model), high, low)
        self._lock = threading.RLock()
        self._ours = self._shape == "canonical"
        self._view: list[Any] = []
        # Chat Completions wants some messages in pieces, so this is no length of the view.
        self._made = 0

    def append(self, *messages: Any) -> None:
        """Adds messages at the end. The view is made to fit when it is next looked at."""
        with self._lock:
            for message in self._taken(messages):
                if isinstance(message, Message) and not self._ours:
                    for element in _parsed(message.to_wire(self._shape)):
                        self._core.append(element, written_in)
                else:
                    self._core.append(message, written_in)

    def _taken(self, messages: Iterable[Any]) -> list[Any]:
        """Messages as the window holds them. One of our own form takes what any provider writes."""
        if self._ours:
            return of_any(messages)
        return read_in(messages, self._shape, len(self._core))[0]

    def replay(self, messages: Iterable[Any]) -> None:
        """Fills an empty window with a history that went through requests before.

        The view is as if the window had been there from the beginning: one compaction, where the last one would have
        been. So a conversation that goes on in another process keeps the beginning of its requests.
        """
        given = self._taken(messages)
        if given and isinstance(given[0], Message) and not self._ours:
            given = [element for each in given for element in _elements(each.to_wire(self._shape), ours=False)]
        with self._lock:
            if len(self._core):
                message = "the window has messages already"
                raise UsageError(message, "invalid_messages", "replay a history into a new window")
            self._core.replay(given, writer_of(given, self._shape))
            self._forget()

    def reported(self, input_tokens: int) -> None:
        """What the provider counted for the request that `messages` just was: `usage.input_tokens` of its answer.

        From now on the window goes by that, and counts only what comes after. What is far from anything that the count
        allows for is not believed.
        """
        with self._lock:
            self._core.reported(_budget(input_tokens))

    @property
    def messages(self) -> list[Any]:
        """What the next request is made of, in the window's shape."""
        with self._lock:
            self.settle()
            # Only what is new is written; between compactions the objects stay the same.
            for text in self._core.view(self._made):
                self._view.extend(_elements(text, ours=self._ours))
                self._made += 1
            return list(self._view)

    def settle(self) -> bool:
        """Makes the view fit if it is above the high mark, as `messages` does, without making a list of it.

        Gives whether it had to.
        """
        with self._lock:
            settled = self._core.settle()
            if settled:
                self._forget()
            return settled

    def _forget(self) -> None:
        self._view = []
        self._made = 0

    def compact(self) -> Report:
        """Makes the view anew, down to the low mark, where there is time for it."""
        with self._lock:
            self._core.compact()
            self._forget()
            report = self.report
        assert report is not None  # noqa: S101 - a compaction leaves one
        return report

    @property
    def report(self) -> Report | None:
        """What the last compaction did."""
        with self._lock:
            report = self._core.report()
        return None if report is None else Report(report)

    @property
    def tokens(self) -> int:
        """Tokens of the view."""
        with self._lock:
            return self._core.tokens

    @property
    def expected(self) -> int:
        """What the view takes of the budget: its tokens, or by what the provider reported where it did.

        After a compaction a view counts for the low mark at least.
        """
        with self._lock:
            return self._core.expected

    @property
    def budget(self) -> int:
        """The budget."""
        with self._lock:
            return self._core.budget

    @property
    def compactions(self) -> int:
        """How many compactions there were."""
        with self._lock:
            return self._core.compactions

    @property
    def repairs(self) -> list[tuple[int, str]]:
        """What a provider would have refused of what was appended: the message's index, and what was done.

        It is done at once, and nothing that stands before changes for it. What a compaction does beside is in `report`.
        """
        with self._lock:
            return self._core.repairs

    @property
    def archive(self) -> Archive:
        """What left the view so far."""
        archive = Archive.__new__(Archive)
        with self._lock:
            archive._core = self._core.archive()
        return archive

    def recall_tool(self) -> Tool[..., str, Any]:
        """The tool with which a model gets back what left."""
        return recall_tool(lambda: self.archive)

    def summarise(self, words: str | None) -> None:
        """Words of a summarizer about what came before, for the next compaction."""
        if words is not None:
            words = _words(words, "a summary")
        with self._lock:
            self._core.set_summary(words)

    def to_json(self) -> str:
        """The window as text, for `from_json`."""
        with self._lock:
            return self._core.to_json()

    @classmethod
    def from_json(
        cls, text: str, model: str | None = None, *, shape: str = "canonical", count: Count | None = None
    ) -> ContextWindow:
        """A window that was saved. Give the model, shape and count that it was made with."""
        window = cls.__new__(cls)
        window._shape = known_shape(shape)
        window._core = checked(_core.Window.from_json, _words(text, "a window"), shape, _counter(count), _named(model))
        window._lock = threading.RLock()
        window._ours = shape == "canonical"
        window._forget()
        return window

    def __len__(self) -> int:
        with self._lock:
            return len(self._core)

    def __repr__(self) -> str:
        return f"<ContextWindow {self.tokens} of {self.budget} tokens>"


def _words(text: str, what: str) -> str:
    """Text; halves of characters, which nothing here holds, are question marks."""
    if isinstance(text, str):
        return text.encode("utf-8", "replace").decode()
    message = f"{what} is text, not {type(text).__name__}"
    raise UsageError(message, "invalid_value", "give a str")


def _number(number: int, what: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int):
        message = f"{what} is a whole number, not {number!r}"
        raise UsageError(message, "invalid_value", "give a whole number")
    return min(number, 1 << 62)


def _budget(budget: int) -> int:
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:
        message = f"a budget is a number of tokens, not {budget!r}"
        raise UsageError(message, "invalid_value", "give a whole number of tokens from 0 up")
    return min(budget, 1 << 62)


def _policy(
    policy: Mapping[str, Any] | None, tools: Iterable[Any], count: Count | None, model: str | None
) -> str | None:
    own = _changes(policy)
    beside = _tools(tools, count, model)
    if beside:
        own["reserve"] = own.get("reserve", 0) + beside
    return dumped(own, "the policy") if own else None


def _changes(policy: Mapping[str, Any] | None) -> dict[str, Any]:
    if policy is None:
        return {}
    if not isinstance(policy, Mapping):
        message = f"policy is a dict of what to change, not {type(policy).__name__}"
        raise UsageError(
            message, "invalid_policy", "give a dict such as {'pin': [0]}; the fields are in docs/context.md"
        )
    return dict(policy)


def _tools(tools: Iterable[Any], count: Count | None, model: str | None) -> int:
    """Tokens of the definitions of tools."""
    if not _is_some(tools):
        return 0
    given = [tool.definition() if hasattr(tool, "definition") else _definition(tool) for tool in tools]
    return checked(_core.count_tools, dumped(given, "the tools"), _counter(count), _named(model)) if given else 0


def _is_some(tools: Iterable[Any] | None) -> bool:
    if tools is None:
        return False
    if isinstance(tools, (str, bytes, Mapping)) or not isinstance(tools, Iterable):
        message = f"tools are a list of tools, not {type(tools).__name__}"
        raise UsageError(message, "invalid_value", "give a list of tools, or of their definitions as dicts")
    return True


def _definition(tool: Any) -> dict[str, Any]:
    if isinstance(tool, Mapping):
        return dict(tool)
    message = f"a tool is a Tool or a dict, not {type(tool).__name__}"
    raise UsageError(message, "invalid_value", "give tools, or their definitions as dicts")


def _named(model: str | None) -> str | None:
    if model is None or (isinstance(model, str) and _is_whole(model)):
        return model
    wrong = "which holds half of a character" if isinstance(model, str) else f"of type {type(model).__name__}"
    message = f"a model is a name, not {model!r:.100}, {wrong}"
    raise UsageError(message, "invalid_value", "give the model's name, such as 'gpt-4o', or leave it out")


def _is_whole(text: str) -> bool:
    """Whether UTF-8 can carry it: a lone surrogate it can't."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _kept(archive: Archive | None) -> Archive:
    if archive is None:
        return Archive()
    if isinstance(archive, Archive):
        return archive
    message = f"archive is an Archive, not {type(archive).__name__}"
    raise UsageError(message, "invalid_value", "give an Archive, or leave it out")


def _counter(count: Count | None) -> Count | None:
    if count is None or callable(count) or isinstance(count, _core.TokenCounter):
        return count
    message = f"count is a function of a text or a TokenCounter, not {type(count).__name__}"
    raise UsageError(
        message, "invalid_value", "give a function that takes a text and gives its number of tokens, or leave it out"
    )


def _made(text: str) -> list[Any]:
    return [Message.from_json(text)]


def _parsed(text: str) -> list[Any]:
    found: list[Any] = parsed(f"[{text}]", "a message")
    return found


def _elements(text: str, *, ours: bool) -> list[Any]:
    return _made(text) if ours else _parsed(text)
