"""What a run gives: the answer, how it came about, and why it ended."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, overload

from ._core import History, is_limit
from ._dataclasses import dataclass, field
from ._json import read
from ._renamed import renamed, under_new_names
from ._repr import redacted_repr, shown
from ._stop_reason import StopReason
from ._typed import Output
from ._words import also_called
from .messages import Message, ToolResult, ToolUse, checked, decoded, messages_json

if TYPE_CHECKING:
    from ._approval import Approval
    from ._cache import CacheEntry
    from ._core import Ended
    from ._trace import Trace
    from .children import ChildRun
    from .errors import LoopwrightError
    from .events import GoalDrifted, IntentAssessed
    from .roles import SanityResult, Summary

__all__ = ["Messages", "Result", "Source", "StopReason", "ToolCall", "Usage"]

Raised = Mapping[tuple["str | None", int, str], BaseException]
"""What tools raised, by the path of the sub-agent, the round and the call."""


@shown
class Messages(Sequence[Message]):
    """Messages in order, of a run or of anything else. They stay in Rust until one is looked at.

    Give them to another run as `messages=`, or keep them as text: `Messages.from_json(messages.to_json())`. Neither
    loses anything.
    """

    __slots__ = ("_history",)

    def __init__(self, messages: History | Iterable[Message | Mapping[str, Any]] = ()) -> None:
        if isinstance(messages, Messages):
            messages = messages._history
        self._history: History = messages if isinstance(messages, History) else History(messages_json(messages))

    @classmethod
    def from_json(cls, text: str | bytes) -> Messages:
        """Messages from the canonical form: a JSON list."""
        return cls(checked(History, decoded(text)))

    def to_json(self) -> str:
        """The canonical form, exactly as the journal holds it."""
        return self._history.to_json()

    def to_dicts(self) -> list[dict[str, Any]]:
        """The canonical form, parsed by Python."""
        found: list[dict[str, Any]] = read(self._history.to_json(), "the messages")
        return found

    def __add__(self, other: Iterable[Message | Mapping[str, Any]]) -> Messages:
        text = other.to_json() if isinstance(other, Messages) else messages_json(other)
        return Messages(self._history.extended(text))

    def _after(self, begun: int) -> Messages:
        """The messages from one on; none is looked at."""
        if begun <= 0:
            return self
        texts = [self._history.json(at) for at in range(begun, len(self._history))]
        return Messages(History(f"[{','.join(texts)}]"))

    def __len__(self) -> int:
        return len(self._history)

    @overload
    def __getitem__(self, at: int) -> Message: ...

    @overload
    def __getitem__(self, at: slice) -> list[Message]: ...

    def __getitem__(self, at: int | slice) -> Message | list[Message]:
        if isinstance(at, slice):
            return [self[index] for index in range(*at.indices(len(self)))]
        length = len(self._history)
        if not -length <= at < length:
            message = f"there are {length} messages, none at {at}"
            raise IndexError(message)
        return Message.from_json(self._history.json(at % length))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Messages):
            return bool(self._history == other._history)
        if isinstance(other, Sequence):
            return list(self) == list(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return (Messages.from_json, (self.to_json(),))


@renamed(
    input="input_tokens",
    output="output_tokens",
    cache_read="cache_read_tokens",
    cache_write="cache_write_tokens",
    cache_write_hour="cache_write_hour_tokens",
    reasoning="reasoning_tokens",
    total="total_tokens",
)
@also_called(
    **dict.fromkeys(("prompt_tokens", "request_tokens"), "input_tokens"),
    **dict.fromkeys(("completion_tokens", "response_tokens"), "output_tokens"),
    cached_tokens="cache_read_tokens",
    requests="rounds of the Result",
)
@dataclass(frozen=True)
class Usage:
    """Tokens. Those of the input hold the cached ones too, those of the output the reasoning."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    provider_tool_uses: int = 0
    cache_write_hour_tokens: int = 0
    """Those of `cache_write_tokens` that are kept for an hour."""

    @property
    def total_tokens(self) -> int:
        """All tokens."""
        return self.input_tokens + self.output_tokens


@renamed(id="call_id", input="arguments", iteration="round")
@also_called(args="arguments", tool_name="name", tool_call_id="call_id", output="result", content="result")
@dataclass(frozen=True)
class ToolCall:
    """A call that the model asked for. `failure` names what went wrong, if something did; times in seconds."""

    call_id: str
    name: str
    arguments: Any
    round: int
    at: float
    duration: float
    failure: str | None = None

    @property
    def result(self) -> str | None:
        """What the model read of it: the text of its result, or the words of its failure. `None` where no result stands
        in the messages.
        """
        return self.__dict__.get("_result")

    @property
    def error(self) -> BaseException | None:
        """What was raised in the call, with its traceback, for people and logs; `None` where nothing was.

        It stays in this process: the model reads its words alone, and no journal and no copy of the result has it.
        """
        return self.__dict__.get("_exception")

    def __getstate__(self) -> dict[str, Any]:
        """The call as copies and other processes get it."""
        return {each: value for each, value in self.__dict__.items() if each != "_exception"}


@dataclass(frozen=True)
class Source:
    """What an answer may rest on: lines `line` to `end_line` of `reference`."""

    kind: str
    reference: str
    line: int
    end_line: int
    text: str
    score: float
    heading: str = ""

    def __str__(self) -> str:
        return f"{self.reference}:{self.line}"


class _Answer:
    """`Result.output`: what is there, or an error that says why nothing is."""

    def __get__(self, result: Any, _: Any = None) -> Any:
        if result is None:
            return self
        value = result.__dict__.get("output")
        if value is None and (result.final is None or "output" not in result.__dict__):
            raise _no_output(result)
        return value

    def __set__(self, result: Any, value: Any) -> None:
        result.__dict__["output"] = value


def _no_output(result: Any) -> Exception:
    from .errors import NoOutput

    why = "its answer is not of the type that was asked for"
    if result.final is None:
        why = f"it ended with {result.stop_reason!r}"
    hint = "look at result.stop_reason and result.message; result.best_draft is what there is"
    error = NoOutput(f"the run has no answer: {why}", hint=hint)
    error.result = result
    return error


@shown
@dataclass(frozen=True)
class Result(Generic[Output]):
    """What a run gives.

    `final` is the answer (verified, where the machine verifies), or `None`; `best_draft` is the best there is where
    `final` is missing; `transcript` is all prose of the run. `stop_reason` says why it ended.
    """

    final: str | None
    output: Output = field(compare=False)
    """The answer as `output_type`, or its text. Raises `NoOutput` where the run has none: a limit ended it, it was
    refused, paused or cancelled."""
    transcript: str
    best_draft: str | None
    messages: Messages
    usage: Usage
    cost: float | None
    """Money for the tokens; `None` where the price of a model that answered is not known (see `known_cost`)."""
    stop_reason: StopReason
    tool_calls: list[ToolCall]
    rounds: int
    """Requests to the model."""
    tool_rounds: int
    duration: float
    """Seconds."""
    run_id: str
    model: str
    """Who acted: the last one, where another model took over."""
    verified: bool | None = None
    message: str | None = field(default_factory=lambda: None)
    """What happened, why, and what to do next, for people: for every end and every pause."""
    attempts: int = 0
    sources: list[Source] = field(default_factory=list)
    searches: int = 0
    warnings: list[str] = field(default_factory=list)
    iterations: list[dict[str, Any]] = field(default_factory=list)
    """Seconds and attempts of each request."""
    error: LoopwrightError | None = None
    journal: str | None = None
    """Where the journal is, or its lines where it was kept in memory."""
    dropped: int = 0
    """Answers that came late or twice."""
    children: list[ChildRun] = field(default_factory=list)
    """The runs of sub-agents, in the order in which they ended."""
    plans: list[IntentAssessed] = field(default_factory=list)
    """How the request was taken up: decision, confidence, signals, sub-agents, and whether the policy was asked."""
    drifts: list[GoalDrifted] = field(default_factory=list)
    """When the conversation left its goal, and came back."""
    phases: list[dict[str, Any]] = field(default_factory=list)
    """The phases of a grounded answer: `phase`, `attempt`, `at`, `duration`, `input` and `output` of each."""
    roles: dict[str, Any] = field(default_factory=dict)
    """What the roles found and used, as journals hold it: `summaries`, `summary`, `sanity`, `supervised`, `spent`."""
    known_cost: float | None = field(default_factory=lambda: None)
    """Money for the tokens of those models whose price is known; all of it where `cost` is there."""
    asked_model: str | None = None
    """The model that was named, where another one took over: one that was chosen, a fallback, a stronger one."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What is made when it is first asked for."""
            if name == "output" and "final" in self.__dict__:
                # What `_Answer` raises is an `AttributeError`, too.
                raise _no_output(self)
            later = self.__dict__.get("_later")
            if later is None or name not in _LATER:
                message = f"{type(self).__name__!r} object has no attribute {name!r}"
                if name in _WORDS:
                    message = f"{message}: here it is {_WORDS[name]}"
                raise AttributeError(message, name=name, obj=self)
            value = self.__dict__[name] = later.member(name)
            return value

    def __dir__(self) -> list[str]:
        """What is made later is a member, too: notebooks complete it."""
        return sorted({*super().__dir__(), *self.__dataclass_fields__})

    def __getstate__(self) -> dict[str, Any]:
        """All of it, for copies and for other processes."""
        if "_later" in self.__dict__:
            for name in _LATER:
                getattr(self, name)
            del self.__dict__["_later"]
        return self.__dict__

    def _travels(self) -> bool:
        """Whether another process can have it: an output, or what a tool raised, may be what no pickle holds."""
        import pickle

        bare: Result[Any] = object.__new__(type(self))
        bare.__dict__.update({**self.__getstate__(), "error": None})
        try:
            pickle.dumps(bare)
        except Exception:  # noqa: BLE001 - code of others is asked
            return False
        return True

    @property
    def text(self) -> str | None:
        """The answer's text; `None` where the run has none."""
        return self.final

    @property
    def ok(self) -> bool:
        """Whether there is an answer."""
        return self.final is not None and self.error is None

    @property
    def new_messages(self) -> Messages:
        """What was said from the prompt of this run on."""
        return self.messages._after(self.__dict__.get("_began", 0))

    @property
    def agent(self) -> str | None:
        """The name of the agent that ended the run: the last one that it was handed over to."""
        return self.__dict__.get("_agent")

    @property
    def pending(self) -> list[Approval]:
        """The calls that wait for a person, of a run that was left (`stop_reason` is `suspended`); `Agent.resume` takes
        an answer to each by its `call_id`.
        """
        return list(self.__dict__.get("_pending", ()))

    @property
    def summaries(self) -> list[Summary]:
        """The exchanges, summed up, in order."""
        from .roles import Summary

        return [Summary._of(each["summary"], each["by"], each["round"]) for each in self.roles.get("summaries", ())]

    @property
    def summary(self) -> Summary | None:
        """All that was summed up, in one; `None` without a summarizer."""
        from .roles import Summary

        found = self.roles.get("summaries", ())
        return Summary._of(self.roles.get("summary", {}), found[-1]["by"], found[-1]["round"]) if found else None

    @property
    def sanity(self) -> list[SanityResult]:
        """The checks of the run's sanity, in order."""
        from .roles import SanityResult

        return [SanityResult._of(each) for each in self.roles.get("sanity", ())]

    @property
    def hit_ceiling(self) -> bool:
        """Whether a limit of the budget ended the run."""
        return is_limit(self.stop_reason)

    @property
    def partial(self) -> bool:
        """Whether there is no answer, only what was said so far."""
        return self.final is None

    def trace(self) -> Trace:
        """The debug trace of each round, from the run's journal."""
        from ._trace import trace_of

        return trace_of(self.journal, self.run_id)

    @property
    def cache(self) -> list[CacheEntry]:
        """What the provider's cache gave of each request, and what kept it from more, from the run's journal."""
        from ._cache import cache_of

        return cache_of(self.journal, self.run_id)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data for JSON. `output` is left out where it is `final` or of a type that JSON lacks."""
        from ._dataclasses import fields, is_dataclass

        told: dict[str, Any] = {}
        for each in fields(self):
            value: Any = vars(self).get("output") if each.name == "output" else getattr(self, each.name)
            if each.name == "messages":
                told.update(_plain_messages(value))
                continue
            if each.name == "error":
                value = None if value is None else {"kind": type(value).__name__, **_said(value)}
            elif each.name == "output":
                if callable(getattr(value, "model_dump", None)):
                    value = value.model_dump()
                if value == self.final or not _is_json(value):
                    continue
            elif each.name in ("children", "plans", "drifts"):
                value = [item.to_dict() for item in value]
            elif isinstance(value, list):
                value = [_fields_of(item) if is_dataclass(item) else item for item in value]
            elif is_dataclass(value):
                value = vars(value)
            told[each.name] = value
        return {**told, **_asking(self.pending)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Result[Any]:
        """The result that `to_dict` gave as plain data. An output of a type of its own is plain data then."""
        from . import errors
        from ._dataclasses import fields

        known = {each.name for each in fields(cls)}
        given = {name: value for name, value in data.items() if name in known}
        error = given.get("error")
        if error is not None:
            kind = getattr(errors, error["kind"], errors.LoopwrightError)
            given["error"] = kind(error["message"], error["code"], error["hint"])
            for name in _ANSWERED:
                setattr(given["error"], name, error.get(name))
        made: Result[Any] = Result(
            **{
                "output": given["final"],
                **given,
                "messages": _messages_of(data),
                "usage": Usage(**under_new_names(Usage, given["usage"])),
                "tool_calls": _calls_of(data),
                "sources": [Source(**source) for source in given["sources"]],
                **_told_of(given),
            }
        )
        if data.get("pending"):
            from ._approval import approval_of

            made.__dict__["_pending"] = [approval_of(each) for each in data["pending"]]
        return made

    def __str__(self) -> str:
        """The answer; without one, what was said last and the words for people. A draft that was to be verified, or
        that a hook withheld, is not shown.
        """
        if self.final:
            return self.final
        withheld = self.verified is not None or self.stop_reason in ("hook_veto", "hook_failed")
        draft = None if withheld else self.best_draft
        return "\n\n".join(text for text in (draft, self.message) if text)


def _plain_messages(messages: Messages) -> dict[str, Any]:
    """Messages as plain data; and as they were written, where these are not the same: Python reads 1.50 as 1.5."""
    plain = messages.to_dicts()
    same = Messages.from_json(json.dumps(plain)) == messages
    return {"messages": plain} if same else {"messages": plain, "messages_json": messages.to_json()}


def _messages_of(data: Mapping[str, Any]) -> Messages:
    """The messages as they were written, where the plain data still are what was made of that."""
    written = data.get("messages_json")
    if written is not None:
        found = Messages.from_json(written)
        if found.to_dicts() == data["messages"]:
            return found
    return Messages.from_json(json.dumps(data["messages"]))


def _calls_of(data: Mapping[str, Any]) -> list[ToolCall]:
    calls = [ToolCall(**under_new_names(ToolCall, call)) for call in data["tool_calls"]]
    return _with_results(calls, _messages_of(data))


def _asking(pending: Iterable[Approval]) -> dict[str, Any]:
    """The questions of a run that was left, as plain data."""
    asked = [_fields_of(each) for each in pending]
    return {"pending": asked} if asked else {}


def _told_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """Sub-agents, plans and drifts from plain data; results of earlier versions have none."""
    from .children import ChildRun
    from .events import from_dict

    return {
        "children": [ChildRun.from_dict(child) for child in data.get("children", ())],
        "plans": [from_dict(event) for event in data.get("plans", ())],
        "drifts": [from_dict(event) for event in data.get("drifts", ())],
    }


_ANSWERED = ("status", "retry_after", "request_id")
"""What an error tells of a provider's answer; results of earlier versions have none of it."""


def _said(error: LoopwrightError) -> dict[str, Any]:
    answered = {name: getattr(error, name) for name in _ANSWERED}
    return {"message": error.message, "code": error.code, "hint": error.hint, **answered}


def _fields_of(item: Any) -> dict[str, Any]:
    from ._dataclasses import fields

    return {each.name: getattr(item, each.name) for each in fields(item)}


def _is_json(value: object) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


def _with_results(calls: list[ToolCall], messages: Sequence[Message]) -> list[ToolCall]:
    """Calls with what the model read of each. An id may come again: the results have the order of the calls, and those
    of this run stand last. Nothing stands before the message that asks for the first call.
    """
    found: dict[str, list[str]] = {}
    unseen: dict[str, int] = {}
    for call in calls:
        unseen[call.call_id] = unseen.get(call.call_id, 0) + 1
    for message in reversed(messages):
        if not unseen:
            break
        for block in reversed(message.content):
            if isinstance(block, ToolResult):
                found.setdefault(block.call_id, []).append(block.text)
            elif isinstance(block, ToolUse) and block.call_id in unseen:
                unseen[block.call_id] -= 1
                if unseen[block.call_id] == 0:
                    del unseen[block.call_id]
    for call in reversed(calls):
        if found.get(call.call_id):
            call.__dict__["_result"] = found[call.call_id].pop(0)
    return calls


class Named(NamedTuple):
    """How the models are called that may act in a run."""

    model: str
    chain: Sequence[str] = ()
    """Those that take over, in their order."""
    own: Collection[str] = ()
    """Those that are known by a bare name."""

    def acting(self, acted: Mapping[str, Any]) -> str:
        """Who took over, by its place in the chain or by the name that requests hold."""
        place, name = int(acted["place"]), str(acted["model"])
        if 0 < place <= len(self.chain):
            return str(self.chain[place - 1])
        provider, apart, _ = self.model.partition(":")
        # A bare name is that of another model of the same provider.
        return f"{provider}:{name}" if apart and not place and ":" not in name and name not in self.own else name


def from_outcome(
    outcome: Ended,
    *,
    messages: History,
    run_id: str,
    named: Named,
    journal: str | None,
    models: Mapping[str, Named] | None = None,
    noted: Sequence[dict[str, Any]] | str = (),
    raised: Raised | None = None,
    path: str | None = None,
) -> Any:
    """The result for how a machine ended.

    `noted` is what was told of plans and drifts, parsed or as JSON; `raised` is what tools raised, and `path` the
    sub-agent whose run it was.
    """
    said = outcome["final"]
    acted = outcome.get("acted")
    said_all = Messages(messages)
    result: Result[Any] = object.__new__(Result)
    result.__dict__.update(
        final=said,
        output=said,
        messages=said_all,
        stop_reason=outcome["stop"],
        run_id=run_id,
        model=named.model if acted is None else named.acting(acted),
        verified=outcome["verified"],
        attempts=outcome["attempts"],
        searches=outcome["searches"],
        journal=journal,
        dropped=outcome["dropped"],
        asked_model=None if acted is None else named.model,
        _later=_Later(outcome, run_id, models, noted, raised or {}, path, said_all),
    )
    return result


class _Later:
    """What a result is asked for now and then, made when it is."""

    __slots__ = ("messages", "models", "noted", "outcome", "path", "raised", "run_id")

    def __init__(
        self,
        outcome: Ended,
        run_id: str,
        models: Mapping[str, Named] | None,
        noted: Sequence[dict[str, Any]] | str,
        raised: Raised,
        path: str | None,
        messages: Messages,
    ) -> None:
        self.messages = messages
        self.raised = raised
        self.path = path
        self.outcome = outcome
        self.run_id = run_id
        self.models = models
        self.noted = noted

    def member(self, name: str) -> Any:
        """A member of the result."""
        make = _MADE_LATER.get(name)
        return self.outcome[name] if make is None else make(self)

    def children(self) -> list[ChildRun]:
        if not self.outcome.get("children"):
            return []
        from .children import children_of

        return children_of(self.outcome, run_id=self.run_id, models=self.models or {}, raised=self.raised)

    def tool_calls(self) -> list[ToolCall]:
        calls = [ToolCall(**under_new_names(ToolCall, call)) for call in self.outcome["tool_calls"]]
        for call in calls if self.raised else ():
            call.__dict__["_exception"] = self.raised.get((self.path, call.round, call.call_id))
        return _with_results(calls, self.messages)

    def told(self, *, plans: bool) -> list[Any]:
        if isinstance(self.noted, str):
            self.noted = json.loads(self.noted)
        if not self.noted:
            return []
        from .events import from_notice

        told = [from_notice(notice) for notice in self.noted]  # type: ignore[arg-type]
        return [each for each in told if hasattr(each, "decision") is plans]


_MADE_LATER: dict[str, Callable[[_Later], Any]] = {
    "usage": lambda later: Usage(**under_new_names(Usage, later.outcome["spent"]["usage"])),
    "cost": lambda later: None if later.outcome["spent"].get("partial") else later.outcome["spent"]["cost"],
    "known_cost": lambda later: later.outcome["spent"]["cost"],
    "tool_calls": _Later.tool_calls,
    "rounds": lambda later: later.outcome["spent"]["iterations"],
    "tool_rounds": lambda later: later.outcome["spent"]["tool_rounds"],
    "sources": lambda later: [Source(**source) for source in later.outcome["sources"]],
    "children": _Later.children,
    "plans": lambda later: later.told(plans=True),
    "drifts": lambda later: later.told(plans=False),
    "message": lambda later: later.outcome["message"],
    "phases": lambda later: later.outcome.get("phases", []),
    "roles": lambda later: later.outcome.get("roles", {}),
}
_WORDS = {
    **dict.fromkeys(("data", "final_output", "content", "structured_response", "value"), "output (or text)"),
    **dict.fromkeys(("all_messages", "history", "to_input_list"), "messages"),
    **dict.fromkeys(("interruptions", "approvals", "deferred"), "pending"),
    **dict.fromkeys(("finish_reason", "status"), "stop_reason"),
    **dict.fromkeys(("total_cost", "cost_usd"), "cost"),
    "last_agent": "agent",
    "new_items": "new_messages",
    "tokens": "usage.total_tokens",
}
"""Members of other frameworks' results, and what they are called here."""
_LATER = frozenset({*_MADE_LATER, "transcript", "best_draft", "duration", "warnings", "iterations"})
"""What is not made before somebody asks for it."""


def added(earlier: Result[Any], result: Result[Any]) -> Any:
    """The result of an attempt that went on where an earlier one ended: all that both of them used."""
    from ._dataclasses import asdict, replace

    usage = asdict(result.usage)
    # One that asked no model cost nothing.
    whole = all(each.cost is not None or not each.rounds for each in (earlier, result))
    known = [each.known_cost for each in (earlier, result) if each.known_cost is not None]
    return replace(
        result,
        output=vars(result).get("output"),
        transcript="\n\n".join(text for text in (earlier.transcript, result.transcript) if text),
        usage=Usage(**{name: count + getattr(earlier.usage, name) for name, count in usage.items()}),
        cost=sum(known) if known and whole else None,
        known_cost=sum(known) if known else None,
        tool_calls=[*earlier.tool_calls, *result.tool_calls],
        rounds=earlier.rounds + result.rounds,
        tool_rounds=earlier.tool_rounds + result.tool_rounds,
        duration=earlier.duration + result.duration,
        sources=[*earlier.sources, *result.sources],
        searches=earlier.searches + result.searches,
        warnings=[*earlier.warnings, *result.warnings],
        iterations=[*earlier.iterations, *result.iterations],
        dropped=earlier.dropped + result.dropped,
        children=[*earlier.children, *result.children],
        plans=[*earlier.plans, *result.plans],
        drifts=[*earlier.drifts, *result.drifts],
        roles=_roles(earlier.roles, result.roles),
    )


def _roles(earlier: dict[str, Any], later: dict[str, Any]) -> dict[str, Any]:
    if not earlier:
        return later
    from .roles import merged

    return merged(earlier, later)


def error_of(outcome: Mapping[str, Any] | Ended) -> LoopwrightError | None:
    """The error that ended a run, as an exception."""
    error = outcome["error"]
    if error is None:
        return None
    from . import errors

    kinds = {
        "usage": errors.UsageError,
        "model": errors.ModelError,
        "tool": errors.ToolError,
        "provider": errors.ProviderError,
    }
    kind = kinds.get(error["guilt"], errors.InternalError)
    if error["code"] == "hook_failed":
        kind = errors.HookError
    found = kind(error["message"], error["code"], error.get("hint"))
    if error["code"] == "invalid_output":
        from .tools import InvalidOutput

        found = InvalidOutput(error["message"], hint=error.get("hint"))
    for name, value in (error.get("answered") or {}).items():
        setattr(found, name, value)
    return found


Result.output = _Answer()  # type: ignore[misc]
redacted_repr(ToolCall, Source)
