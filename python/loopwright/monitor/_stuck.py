"""Repetition: the same call with the same result, the same error, cycles, words without deeds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from loopwright import _core
from loopwright._dataclasses import asdict, dataclass, field
from loopwright._repr import redacted_repr
from loopwright.errors import UsageError

__all__ = ["Action", "Member", "Pattern", "StuckDetector", "StuckPolicy", "ToolRules", "Verdict"]

Pattern = Literal[
    "repeated_call", "near_duplicate", "repeated_error", "cycle", "no_change", "monologue", "repeated_text"
]
"""What a run may do again and again."""
Action = Literal["warn", "end", "tell"]
"""What happens then."""


def names_of(given: Any, option: str, owner: str) -> tuple[str, ...]:
    """Names of values in results."""
    listed = isinstance(given, Iterable) and not isinstance(given, (str, bytes))
    names = tuple(given) if listed else ()
    if not listed or not all(isinstance(name, str) and name.strip() for name in names):
        raise _wrong(option, given, 'names, such as ["messageId"]', owner)
    return names


@dataclass(frozen=True)
class ToolRules:
    """What differs for one tool."""

    ignore: bool = False
    """Its calls are not looked at."""
    polling: bool = False
    """It waits for something: the same call with the same result is no repetition, alone or in a cycle."""
    repeats: int | None = None
    """So many repeats instead of the policy's; 0 for any number."""
    acts: bool = False
    """It does something: a new id of a request is news. An agent knows it of its tools that are not `read_only`."""
    volatile: Sequence[str] = ()
    """Names of values in its results that are new at every call and say nothing of what the call has come to, beside
    those that are known: ids of messages and requests, clocks, numbers of processes."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "volatile", names_of(self.volatile, "volatile", "ToolRules"))


@dataclass(frozen=True)
class StuckPolicy:
    """Thresholds of the detector. 0 turns a pattern off; 1 makes no sense.

    >>> StuckPolicy(repeats=5, tools={"wait": ToolRules(polling=True)}).repeats
    5
    """

    repeats: int = 3
    """So often the same call with the same result."""
    errors: int = 3
    """So often the same class of error."""
    rounds: int = 3
    """So many rounds of a cycle of 2 to 64 calls."""
    no_change: int = 5
    """So many rounds without a change of state."""
    monologue: int = 3
    """So many replies in a row without a call."""
    text: int = 8
    """So often the same piece of text in one reply; short pieces need more."""
    warn: bool = True
    """Whether an agent's model is told once before the run ends."""
    on: Mapping[Pattern, Action] = field(default_factory=dict)
    """What happens where a pattern is found, by its name, if not what `warn` says: `"warn"` tells the model once, and
    ends the run if it goes on; `"end"` ends it at once; `"tell"` tells the model, and never ends the run."""
    tools: Mapping[str, ToolRules] = field(default_factory=dict)
    """What differs for single tools, by name."""

    def __post_init__(self) -> None:
        if not isinstance(self.tools, Mapping):
            raise _wrong("tools", self.tools, "a dict of names to ToolRules")
        if not isinstance(self.on, Mapping):
            raise _wrong("on", self.on, "a dict of patterns to actions")
        for pattern, action in self.on.items():
            if pattern not in get_args(Pattern):
                raise _wrong("on", pattern, f"one of the patterns {', '.join(get_args(Pattern))}")
            if action not in get_args(Action):
                raise _wrong(f"on[{pattern!r}]", action, f"one of {', '.join(get_args(Action))}")
        for name, rules in self.tools.items():
            if not isinstance(name, str) or not isinstance(rules, ToolRules):
                raise _wrong(f"tools[{name!r}]", rules, "ToolRules")
        try:
            policy = json.dumps({"stuck": self.as_dict()})
        except (TypeError, ValueError) as error:
            raise UsageError(f"invalid StuckPolicy: {error}", "invalid_option", "give numbers") from error
        _core.check_options(policy)

    def as_dict(self) -> dict[str, Any]:
        """The policy in the form of a machine's configuration."""
        plain = {name: value for name, value in vars(self).items() if name not in ("on", "tools")}
        plain["on"] = dict(self.on)
        return {**plain, "tools": {name: asdict(rules) for name, rules in self.tools.items()}}


def _wrong(name: str, value: object, wanted: str, owner: str = "StuckPolicy") -> UsageError:
    return UsageError(f"{name} of a {owner} can't be {value!r:.100}", "invalid_option", f"give {wanted}")


@dataclass(frozen=True)
class Member:
    """A call that belongs to a pattern."""

    tool: str
    """Its name; empty where the pattern is made of text."""
    arguments: str
    """The beginning of its arguments, or of the text."""


@dataclass(frozen=True)
class Verdict:
    """What was found."""

    pattern: str
    """`repeated_call`, `near_duplicate`, `repeated_error`, `cycle`, `no_change`, `monologue` or `repeated_text`."""
    members: tuple[Member, ...]
    """The calls of one round, in order."""
    rounds: int
    """How often it came."""
    first: int
    """The record with which it began, from 1."""
    last: int
    """The record with which it was found, from 1."""
    sentence: str
    """For people."""
    advice: str
    """For the model."""

    def __str__(self) -> str:
        return self.sentence


class StuckDetector:
    """Finds repetition in what a run does and says.

    A call counts only together with its result. What changes (polling with news, paging, a test after an edit) is not
    stuck. A record costs the same after ten and after a million; memory is bounded; the same records give the same
    verdicts everywhere.

    >>> detector = StuckDetector()
    >>> for _ in range(3):
    ...     verdict = detector.record(("ls", {"path": "."}), "a.txt")
    >>> verdict.pattern, verdict.rounds
    ('repeated_call', 3)
    >>> print(verdict)
    The tool `ls` was called 3 times in a row with the same arguments, and gave the same result.
    >>> detector.record(("ls", {"path": "."}), "a.txt b.txt") is None
    True
    """

    def __init__(self, policy: StuckPolicy | None = None, **thresholds: Any) -> None:
        """`policy`, or its fields as keywords."""
        if policy is None:
            try:
                policy = StuckPolicy(**thresholds)
            except TypeError:
                known = set(StuckPolicy.__dataclass_fields__)
                name = next(iter(set(thresholds) - known), "")
                message = f"there is no threshold named {name!r}"
                raise UsageError(message, "invalid_option", f"use {', '.join(sorted(known))}") from None
        elif thresholds or not isinstance(policy, StuckPolicy):
            message = f"a policy is a StuckPolicy alone, not {type(policy).__name__}"
            raise UsageError(message, "invalid_option", "give StuckPolicy(...), or its fields as keywords")
        self._core = _core.StuckDetector(json.dumps(policy.as_dict()))

    def record(self, call: Any, result: Any, state: Any = None, *, is_error: bool | None = None) -> Verdict | None:
        """Takes a call and its result; gives the verdict, if there is one.

        Args:
            call: A name, `(name, arguments)`, a dict as any provider writes it, or an object with `name` and
                `arguments` or `input`.
            result: Text, an exception (a failure), a dict as any provider writes it, an object with `content`, or
                anything else that is data.
            state: Anything that changes when the run gets on: a hash of the workspace, a score. With a new state
                nothing repeats; with the same for `no_change` records it is stuck.
            is_error: Whether it failed, where the result does not say.
        """
        name, arguments = _call(call)
        text, failed, kind = _result(result, is_error=is_error)
        return _verdict(self._core.record(name, arguments, text, failed, kind, _state(state)))

    def record_round(self, pairs: Iterable[tuple[Any, Any]], state: Any = None) -> Verdict | None:
        """Takes the calls that a model asked for at once, with their results.

        Their order says nothing, and those that ended alike count once. Without a `state`, rounds that bring nothing
        new are rounds without a change.
        """
        round_ = [(*_call(call), *_result(result, is_error=None)) for call, result in pairs]
        return _verdict(self._core.record_round(round_, _state(state)))

    def record_text(self, text: str) -> Verdict | None:
        """Takes a reply that holds no call."""
        return _verdict(self._core.record_text(text))

    def feed(self, delta: str) -> Verdict | None:
        """Takes a piece of a reply as it streams; gives a verdict as soon as the reply repeats itself.

        >>> detector = StuckDetector()
        >>> next(n for n in range(1, 99) if detector.feed("I will look at it once more. "))
        8
        """
        return _verdict(self._core.feed(delta))

    def end_reply(self) -> None:
        """The reply that streamed has ended."""
        self._core.end_reply()

    def verdict(self) -> Verdict | None:
        """What was found with the last record."""
        return _verdict(self._core.verdict())

    def reset(self) -> None:
        """Forgets everything: the person said something new."""
        self._core.reset()

    def to_json(self) -> str:
        """All it knows, as JSON text."""
        return self._core.to_json()

    @classmethod
    def from_json(cls, text: str) -> StuckDetector:
        """A detector that goes on where another was saved."""
        detector = cls.__new__(cls)
        detector._core = _core.StuckDetector.from_json(text)  # noqa: SLF001 - its own
        return detector

    def __repr__(self) -> str:
        found = self.verdict()
        return f"<StuckDetector {found.pattern if found else 'fine'}>"


def _verdict(found: Any) -> Verdict | None:
    if found is None:
        return None
    pattern, members, rounds, first, last, sentence, advice = found
    return Verdict(pattern, tuple(Member(*member) for member in members), rounds, first, last, sentence, advice)


def _dumped(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        return repr(value)


def _clean(text: str) -> str:
    """Text with lone surrogates, which Rust can't take, as escapes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def _call(call: Any) -> tuple[str, str]:
    arguments: Any = None
    if isinstance(call, str):
        name: Any = call
    elif isinstance(call, (tuple, list)) and len(call) == 2:  # noqa: PLR2004
        name, arguments = call
    elif isinstance(call, Mapping):
        inner = call.get("function")
        source = inner if isinstance(inner, Mapping) else call
        name = source.get("name") or source.get("tool")
        arguments = next((source[key] for key in ("arguments", "input", "args") if key in source), None)
    else:
        name = getattr(call, "name", None)
        keys = ("arguments", "input", "args")
        arguments = next((value for key in keys if (value := getattr(call, key, None)) is not None), None)
    if not isinstance(name, str):
        message = f"{call!r:.100} is no tool call"
        raise UsageError(message, "invalid_value", "give a name, (name, arguments), or a dict or object that has both")
    if arguments is None:
        return _clean(name), "{}"
    return _clean(name), _clean(arguments if isinstance(arguments, str) else _dumped(arguments))


_ENVELOPE = frozenset(
    {"type", "role", "id", "name", "tool_use_id", "tool_call_id", "call_id", "content", "output", "is_error", "failure"}
)


def _result(result: Any, *, is_error: bool | None) -> tuple[str, bool, str | None]:
    failed: Any = None
    kind: str | None = None
    content: Any = result
    if isinstance(result, BaseException):
        failed, kind, content = True, type(result).__name__, str(result)
    elif isinstance(result, Mapping):
        failed = result.get("is_error")
        if failed is None:
            failed = bool(result.get("error")) or result.get("success") is False
        if ("content" in result or "output" in result) and set(result) <= _ENVELOPE:
            content = result.get("content", result.get("output"))
    elif hasattr(result, "content") and not isinstance(result, type):
        content = result.content
        failed = getattr(result, "is_error", None)
    failed = bool(failed) if is_error is None else bool(is_error)
    if content is None:
        text = ""
    elif isinstance(content, str):
        text = content
    elif isinstance(content, bytes):
        text = content.decode("utf-8", "backslashreplace")
    elif isinstance(content, (list, tuple)) and all(isinstance(part, Mapping) and "text" in part for part in content):
        text = "".join(str(part["text"]) for part in content)
    else:
        text = _dumped(content)
    return _clean(text), failed, kind


def _state(state: Any) -> str | None:
    if state is None:
        return None
    return _clean(f"{type(state).__name__}:{state if isinstance(state, (str, int)) else _sorted(state)}")


def _sorted(value: object) -> str:
    try:
        return json.dumps(value, sort_keys=True, default=repr)
    except (TypeError, ValueError):
        return repr(value)


redacted_repr(Member, Verdict)
